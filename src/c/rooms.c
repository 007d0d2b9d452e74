/*
 * rooms.c: room for arrays whose lengths only the run knows. In: the lines of run(), in
 * which such arrays lie at numbers of their buffers. Out: the text, in which they lie at variables,
 * with lines that set these. All rooms whose lengths are known at one place are taken there, at
 * once: so a loop takes none for what its steps make. Arrays of as many parts that are not in use
 * at the same time have the same room, which is that of the largest.
 *
 * The place is behind what sets the last of the lengths. It is outside of loops in which no length
 * changes, but in the branch of an if in which the array is: the branch may be for small ones.
 */
#include <string.h>

#include "c/internal.h"

struct scope { /* lines between { and } */
	uint32_t parent;
	uint32_t header, end; /* the lines with { and } */
	uint32_t begin;       /* the first line between */
	uint32_t otherwise;   /* the scope of the else behind it; 0: there is none */
	bool branch;
};
struct setting { /* a variable gets a value */
	uint32_t scope;
	uint32_t to;     /* the line before which it has it */
	uint32_t before; /* the setting of the same variable before it, + 1; 0: none */
};
struct spot {
	uint32_t scope;
	uint32_t at; /* before this line */
};
struct array {
	bool is_made;
	struct spot at;   /* where it is */
	const char *room; /* the variable where it begins */
};
struct growing_loop {
	struct spot from; /* from here on `top` is for it */
	uint32_t scope;   /* of its steps; 0: there is none */
};
struct room {
	const char *name; /* of the variable: where it begins */
	const char *count;
	uint32_t size; /* of a part, in bytes */
	uint32_t free_from;
};
struct frame { /* rooms that are taken together, before a line */
	vec(struct room) rooms;
};
struct taking {
	struct printer *p;
	const struct body *b;
	vec(struct scope) scopes;
	struct words names; /* in counts of parts */
	vec(struct setting) changes;
	uint32_t *last; /* by number of a name: its last setting, + 1; 0: none */
	vec(struct growing_loop) grows;
	struct frame **frames; /* by line; NULL: nothing is taken before it */
	struct array *arrays;  /* by buffer */
};

static bool begins(const struct taking *t, uint32_t line, const char *with)
{
	const char *s = line < t->b->lines.len ? t->b->lines.at[line].text : "";

	return begins_with(s, with);
}

/* The buffer that the line places, if only the run knows its length; 0: none */
static uint32_t buffer_in(const struct printer *p, const struct code_line *l)
{
	const char *mark = memchr(l->text, PLACE[0], l->len);
	uint32_t i = 0;

	if (!mark)
		return 0;
	for (mark++; *mark != PLACE[0]; mark++)
		i = i * 10 + (uint32_t)(*mark - '0');
	return p->buffers.at[i - 1].open ? i : 0;
}

/* What the line, of the scope `in`, gives a value. A loop counts its rounds inside of it. */
static void read_changes(struct taking *t, uint32_t line, uint32_t in, uint32_t opened)
{
	const struct code_line *l = &t->b->lines.at[line];
	struct arena *a = t->p->cx->arena;
	bool counts = begins(t, line, "for (") && opened;

	for (uint32_t i = 0; i < l->names.len; i++) {
		const struct mention *m = &l->names.at[i];
		uint32_t k = m->changed || m->address ? sym_number(&t->names, m->name) : UINT32_MAX;
		if (k == UINT32_MAX)
			continue;
		*vec_push(a, &t->changes) = (struct setting){
			.scope = counts ? opened : in, .to = line + 1, .before = t->last[k]};
		t->last[k] = t->changes.len;
	}
	if (begins(t, line, "const size_t base"))
		*vec_push(a, &t->grows) = (struct growing_loop){.from = {.scope = in, .at = line}};
}

/* The scope that the line begins, in the scope `now`, and behind the scope `closed`; 0: it begins
 * none */
static uint32_t open_scope(struct taking *t, uint32_t line, uint32_t now, uint32_t closed)
{
	const struct code_line *l = &t->b->lines.at[line];
	uint32_t opened = t->scopes.len;

	if (!l->len || l->text[l->len - 1] != '{')
		return 0;
	*vec_push(t->p->cx->arena, &t->scopes) =
		(struct scope){.parent = now,
			       .header = line,
			       .begin = line + 1,
			       .branch = begins(t, line, "if (") || begins(t, line, "} else")};
	if (begins(t, line, "} else"))
		t->scopes.at[closed].otherwise = opened;
	struct growing_loop *last = t->grows.len ? &t->grows.at[t->grows.len - 1] : NULL;
	if (last && last->from.scope == now && !last->scope && begins(t, line, "for (int64_t step"))
		last->scope = opened;
	return opened;
}

/* Finds where arrays are made, and what gives a value to what their lengths are made of */
static void read_scopes(struct taking *t)
{
	uint32_t now = 0;

	*vec_push(t->p->cx->arena, &t->scopes) = (struct scope){.end = t->b->lines.len};
	for (uint32_t i = 0; i < t->b->lines.len; i++) {
		const struct code_line *l = &t->b->lines.at[i];
		uint32_t closed = now, buffer = buffer_in(t->p, l);
		if (*l->text == '/')
			continue;
		if (*l->text == '}') {
			t->scopes.at[now].end = i;
			now = t->scopes.at[now].parent;
		}
		uint32_t opened = open_scope(t, i, now, closed);
		read_changes(t, i, now, opened);
		if (buffer)
			t->arrays[buffer] =
				(struct array){.is_made = true, .at = {.scope = now, .at = i}};
		now = opened ? opened : now;
	}
}

/* The line behind scope k, and behind the branches that follow it */
static uint32_t line_behind(const struct taking *t, uint32_t k)
{
	while (t->scopes.at[k].otherwise)
		k = t->scopes.at[k].otherwise;
	return t->scopes.at[k].end + 1;
}

/* The scope in `outer` that scope k is, or is in; 0: none */
static uint32_t scope_in(const struct taking *t, uint32_t k, uint32_t outer)
{
	while (k > outer && t->scopes.at[k].parent > outer)
		k = t->scopes.at[k].parent;
	return k > outer && t->scopes.at[k].parent == outer ? k : 0;
}

/* The first place from which on the variable has the value that it has at `u` */
static struct spot set_before(const struct taking *t, uint32_t name, struct spot u)
{
	for (;;) {
		uint32_t last = 0;
		bool changes = false;
		for (uint32_t i = t->last[name]; i; i = t->changes.at[i - 1].before) {
			const struct setting *c = &t->changes.at[i - 1];
			uint32_t child = scope_in(t, c->scope, u.scope);
			if (c->scope != u.scope && !child)
				continue;
			uint32_t to = c->scope == u.scope ? c->to : line_behind(t, child);
			changes = true;
			last = to <= u.at && to > last ? to : last;
		}
		const struct scope *s = &t->scopes.at[u.scope];
		if (last || changes || s->branch || !u.scope)
			return (struct spot){.scope = u.scope, .at = last ? last : s->begin};
		u = (struct spot){.scope = s->parent, .at = s->header};
	}
}

/* Not within what a loop needs that grows: the end of the workspace, from `base` to where it ends.
 * Either in the loop, if u is in it, or behind it. */
static struct spot outside_of_growth(const struct taking *t, struct spot at, struct spot u)
{
	for (uint32_t i = 0; i < t->grows.len; i++) {
		const struct growing_loop *g = &t->grows.at[i];
		if (g->from.scope != at.scope || g->from.at >= at.at || !g->scope ||
		    line_behind(t, g->scope) <= at.at)
			continue;
		if (u.scope == g->scope || scope_in(t, u.scope, g->scope))
			return (struct spot){.scope = g->scope, .at = t->scopes.at[g->scope].begin};
		at.at = line_behind(t, g->scope);
	}
	return at;
}

/* Where room is taken for the array that is made at u */
static struct spot spot_of(const struct taking *t, const struct buffer *b, struct spot u)
{
	struct spot at = {.scope = 0, .at = 0};
	const char *count = b->count, *end = count + strlen(count);
	size_t len = 0;

	if (strchr(count, '[')) /* elements get values in ways that setting has no eye for */
		return u;
	for (const char *n = count; (n = next_identifier(n, end, &len)) != NULL; n += len) {
		struct spot set = set_before(t, word_number(t->p, &t->names, n, len), u);
		if (set.scope > at.scope || (set.scope == at.scope && set.at > at.at))
			at = set;
	}
	at = outside_of_growth(t, at, u);
	/* lengths are looked at first; what is taken in a step is given back after it */
	for (;;)
		if (begins(t, at.at, "const size_t top"))
			at.at++;
		else if (begins(t, at.at, "if (") && begins(t, at.at + 1, "return"))
			at.at += 2;
		else
			return at;
}

/* The room of the frame for an array of parts of that many bytes: of those that are free from
 * `from` on the smallest that is large enough, or else the largest; the number of rooms: none is
 * free */
static uint32_t free_room(const struct frame *f, const struct buffer *b)
{
	uint32_t best = f->rooms.len;

	for (uint32_t k = 0; k < f->rooms.len; k++) {
		const struct room *r = &f->rooms.at[k];
		if (r->free_from >= b->from || strcmp(r->count, b->count))
			continue;
		uint32_t size = best < f->rooms.len ? f->rooms.at[best].size : 0;
		if (size < b->size ? r->size > size : r->size >= b->size && r->size < size)
			best = k;
	}
	return best;
}

static void take_room(struct taking *t, uint32_t number, struct spot at)
{
	struct printer *p = t->p;
	struct buffer *b = &p->buffers.at[number - 1];
	struct frame **frame = &t->frames[at.at];

	if (!*frame)
		*frame = new (p->cx->arena, struct frame);
	uint32_t k = free_room(*frame, b);
	if (k == (*frame)->rooms.len) {
		struct room r = {.name = fresh(p, "o"), .count = b->count};
		*vec_push(p->cx->arena, &(*frame)->rooms) = r;
	}
	struct room *r = &(*frame)->rooms.at[k];
	r->size = r->size < b->size ? b->size : r->size;
	r->free_from = b->to;
	t->arrays[number].room = r->name;
}

static void print_frame(const struct frame *f, uint32_t tabs, struct strbuf *to)
{
	const struct room *r = f->rooms.at, *last = &f->rooms.at[f->rooms.len - 1];

	add_tabs(to, tabs);
	sb_printf(to, "const size_t %s = top;\n", r->name);
	for (; r < last; r++) {
		add_tabs(to, tabs);
		sb_printf(to, "const size_t %s = ptgc_room(%s, %s, %u);\n", r[1].name, r->name,
			  r->count, r->size);
	}
	add_tabs(to, tabs);
	if (f->rooms.len > 1) {
		sb_printf(to, "top = %s;\n", last->name);
		add_tabs(to, tabs);
	}
	sb_printf(to, "if (!ptgc_take_room(&top, %s, %u, bytes, need))\n", last->count, last->size);
	add_tabs(to, tabs);
	sb_str(to, "\treturn PTGC_MORE;\n");
}

static void put_line(const struct taking *t, const struct code_line *l, struct strbuf *to)
{
	uint32_t buffer = buffer_in(t->p, l);
	const char *s = l->text - l->tabs;

	if (buffer) {
		const char *mark = strchr(s, PLACE[0]);
		sb_add(to, s, (size_t)(mark - s));
		sb_str(to, t->arrays[buffer].room);
		s = strchr(mark + 1, PLACE[0]) + 1;
	}
	sb_add(to, s, (size_t)(l->text + l->len + 1 - s));
}

const char *with_rooms(struct printer *p, const struct body *b)
{
	struct taking t = {.p = p, .b = b};
	struct strbuf out = {.arena = p->cx->arena};

	for (uint32_t i = 0; i < p->buffers.len; i++)
		if (p->buffers.at[i].open)
			add_names(p, &t.names, p->buffers.at[i].count);
	t.last = new_array(p->cx->arena, uint32_t, t.names.at.len);
	t.arrays = new_array(p->cx->arena, struct array, p->buffers.len + 1u);
	t.frames = new_array(p->cx->arena, struct frame *, b->lines.len + 1u);
	read_scopes(&t);
	for (uint32_t i = 1; i <= p->buffers.len; i++)
		if (t.arrays[i].is_made)
			take_room(&t, i, spot_of(&t, &p->buffers.at[i - 1], t.arrays[i].at));
	for (uint32_t i = 0; i < b->lines.len; i++) {
		const struct code_line *l = &b->lines.at[i];
		if (t.frames[i])
			print_frame(t.frames[i], l->tabs, &out);
		put_line(&t, l, &out);
	}
	return out.s ? out.s : "";
}
