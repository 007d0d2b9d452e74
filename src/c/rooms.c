/*
 * rooms.c: room for arrays whose lengths only the run knows. In: the body of run(), where such
 * arrays lie at numbers of their buffers. Out: the body, in which they lie at variables, and the
 * lines that set these. All rooms whose lengths are known at one place are taken there, at once: so
 * a loop takes none for what its steps make. Arrays of as many parts that are not in use at the
 * same time have the same room, which is that of the largest.
 *
 * The place is behind what sets the last of the lengths. It is outside of loops in which no length
 * changes, but in the branch of an if in which the array is: the branch may be for small ones.
 */
#include <string.h>

#include "c/internal.h"

struct scope { /* lines between { and } */
	uint32_t parent, tabs;
	const char *header, *begin, *end; /* the lines with { and }, and the first one between */
	bool branch;
};
struct setting { /* a variable gets a value */
	uint32_t name, scope;
	const char *to; /* the line before which it has it */
};
struct spot {
	uint32_t scope;
	const char *at; /* before this line */
};
struct room {
	const char *name; /* of the variable: where it begins */
	const char *count;
	uint32_t size; /* of a part, in bytes */
	uint32_t free_from;
};
struct frame { /* rooms that are taken together */
	struct spot place;
	vec(struct room) rooms;
};
struct taking {
	struct printer *p;
	vec(struct scope) scopes;
	struct words names; /* in counts of parts */
	vec(struct setting) changes;
	vec(struct spot) grows; /* lines from which on `top` is for a loop that grows */
	vec(struct frame) frames;
	const char **names_of; /* of rooms, by buffer */
};

static const char *find_in(const char *s, const char *text)
{
	return memmem(s, (size_t)(line_end(s) - s), text, strlen(text));
}

static bool begins(const char *line, const char *with)
{
	line += strspn(line, "\t");
	return !strncmp(line, with, strlen(with));
}

/* The buffer that the line places, if only the run knows its length; 0: none */
static uint32_t buffer_in(const struct printer *p, const char *line)
{
	const char *mark = find_in(line, PLACE);
	uint32_t i = 0;

	if (!mark)
		return 0;
	for (mark++; *mark != PLACE[0]; mark++)
		i = i * 10 + (uint32_t)(*mark - '0');
	return p->buffers.at[i - 1].open ? i : 0;
}

/* What the line, of the scope `in`, gives a value. A loop counts its rounds inside of it. */
static void read_changes(struct taking *t, const char *line, uint32_t in, uint32_t opened)
{
	struct printer *p = t->p;
	const char *end = next_line(line);
	bool counts = begins(line, "for (") && opened;
	size_t len = 0;

	for (const char *n = line; (n = next_identifier(n, end, &len)) != NULL; n += len) {
		uint32_t k = word_number(p, &t->names, n, len);
		if (k == UINT32_MAX || !(is_changed(n, len) || n[-1] == '&'))
			continue;
		*vec_push(p->cx->arena, &t->changes) =
			(struct setting){.name = k, .scope = counts ? opened : in, .to = end};
	}
	if (begins(line, "const size_t base"))
		*vec_push(p->cx->arena, &t->grows) = (struct spot){.scope = in, .at = line};
}

/* The places of arrays, by buffer, and what gives a value to what their lengths are made of */
static struct spot *find_arrays(struct taking *t, const char *body)
{
	struct printer *p = t->p;
	struct spot *arrays = new_array(p->cx->arena, struct spot, p->buffers.len + 1u);
	uint32_t now = 0, i;

	*vec_push(p->cx->arena, &t->scopes) =
		(struct scope){.tabs = 1, .begin = body, .end = body + strlen(body)};
	for (const char *s = body; *s; s = next_line(s)) {
		uint32_t opened = 0;
		if (is_comment(s))
			continue;
		if (begins(s, "}")) {
			t->scopes.at[now].end = s;
			now = t->scopes.at[now].parent;
		}
		if (next_line(s)[-2] == '{') {
			opened = t->scopes.len;
			*vec_push(p->cx->arena, &t->scopes) =
				(struct scope){.parent = now,
					       .tabs = (uint32_t)strspn(s, "\t") + 1,
					       .header = s,
					       .begin = next_line(s),
					       .branch = begins(s, "if (") || begins(s, "} else")};
		}
		read_changes(t, s, now, opened);
		if ((i = buffer_in(p, s)) != 0)
			arrays[i] = (struct spot){.scope = now, .at = s};
		now = opened ? opened : now;
	}
	return arrays;
}

/* The line behind scope k, and behind the branches that follow it */
static const char *line_behind(const struct taking *t, uint32_t k)
{
	const char *end = t->scopes.at[k].end;

	for (k++; k < t->scopes.len && begins(end, "} else"); k++)
		if (t->scopes.at[k].header == end)
			end = t->scopes.at[k].end;
	return next_line(end);
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
		const char *last = NULL;
		bool changes = false;
		for (uint32_t i = 0; i < t->changes.len; i++) {
			const struct setting *c = &t->changes.at[i];
			uint32_t child = scope_in(t, c->scope, u.scope);
			if (c->name != name || (c->scope != u.scope && !child))
				continue;
			const char *to = c->scope == u.scope ? c->to : line_behind(t, child);
			changes = true;
			last = to <= u.at && (!last || to > last) ? to : last;
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
		const struct spot *g = &t->grows.at[i];
		uint32_t k = 1;
		if (g->scope != at.scope || g->at >= at.at)
			continue;
		while (k < t->scopes.len &&
		       (t->scopes.at[k].parent != g->scope || t->scopes.at[k].header < g->at ||
			!begins(t->scopes.at[k].header, "for (int64_t step")))
			k++;
		if (k == t->scopes.len || line_behind(t, k) <= at.at)
			continue;
		if (u.scope == k || scope_in(t, u.scope, k))
			return (struct spot){.scope = k, .at = t->scopes.at[k].begin};
		at.at = line_behind(t, k);
	}
	return at;
}

/* Where room is taken for the array that is made at u */
static struct spot spot_of(const struct taking *t, const struct buffer *b, struct spot u)
{
	struct spot at = {.scope = 0, .at = t->scopes.at[0].begin};
	const char *count = b->count, *end = count + strlen(count);
	size_t len = 0;
	uint32_t k;

	if (strchr(count, '[')) /* elements get values in ways that setting has no eye for */
		return u;
	for (const char *n = count; (n = next_identifier(n, end, &len)) != NULL; n += len) {
		if ((k = word_number(t->p, &t->names, n, len)) == UINT32_MAX)
			continue;
		struct spot set = set_before(t, k, u);
		if (set.scope > at.scope || (set.scope == at.scope && set.at > at.at))
			at = set;
	}
	at = outside_of_growth(t, at, u);
	/* lengths are looked at first; what is taken in a step is given back after it */
	for (;;) {
		const char *next = next_line(at.at);
		if (begins(at.at, "const size_t top"))
			at.at = next;
		else if (begins(at.at, "if (") && begins(next, "return"))
			at.at = next_line(next);
		else
			return at;
	}
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
	uint32_t i = 0;

	while (i < t->frames.len && t->frames.at[i].place.at != at.at)
		i++;
	if (i == t->frames.len)
		*vec_push(p->cx->arena, &t->frames) = (struct frame){.place = at};
	struct frame *f = &t->frames.at[i];
	uint32_t k = free_room(f, b);
	if (k == f->rooms.len) {
		struct room r = {.name = fresh(p, "o"), .count = b->count};
		*vec_push(p->cx->arena, &f->rooms) = r;
	}
	struct room *r = &f->rooms.at[k];
	r->size = r->size < b->size ? b->size : r->size;
	r->free_from = b->to;
	t->names_of[number] = r->name;
}

static void print_frame(struct taking *t, const struct frame *f, struct strbuf *to)
{
	const char *tabs =
		textf(t->p, "%.*s", (int)t->scopes.at[f->place.scope].tabs,
		      "\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t");
	const struct room *r = f->rooms.at, *last = &f->rooms.at[f->rooms.len - 1];

	sb_printf(to, "%sconst size_t %s = top;\n", tabs, r->name);
	for (; r < last; r++)
		sb_printf(to, "%sconst size_t %s = ptgc_room(%s, %s, %u);\n", tabs, r[1].name,
			  r->name, r->count, r->size);
	if (f->rooms.len > 1)
		sb_printf(to, "%stop = %s;\n", tabs, last->name);
	sb_printf(to, "%sif (!ptgc_take_room(&top, %s, %u, bytes, need))\n%s\treturn PTGC_MORE;\n",
		  tabs, last->count, last->size, tabs);
}

const char *with_rooms(struct printer *p, const char *body)
{
	struct taking t = {.p = p};
	struct strbuf out = {.arena = p->cx->arena};
	size_t len = 0;

	for (uint32_t i = 0; i < p->buffers.len; i++) {
		const char *n = p->buffers.at[i].open ? p->buffers.at[i].count : "";
		const char *end = n + strlen(n);
		for (; (n = next_identifier(n, end, &len)) != NULL; n += len)
			if (!has_word(p, &t.names, n, len))
				add_word(p, &t.names, n, len);
	}
	t.names_of = new_array(p->cx->arena, const char *, p->buffers.len + 1u);
	struct spot *arrays = find_arrays(&t, body);
	for (uint32_t i = 1; i <= p->buffers.len; i++)
		if (arrays[i].at)
			take_room(&t, i, spot_of(&t, &p->buffers.at[i - 1], arrays[i]));
	for (const char *s = body; *s; s = next_line(s)) {
		for (uint32_t i = 0; i < t.frames.len; i++)
			if (t.frames.at[i].place.at == s)
				print_frame(&t, &t.frames.at[i], &out);
		uint32_t b = buffer_in(p, s);
		const char *from = b ? find_in(s, PLACE) : s;
		sb_add(&out, s, (size_t)(from - s));
		if (b) {
			sb_str(&out, t.names_of[b]);
			from = strchr(from + 1, PLACE[0]) + 1;
		}
		sb_add(&out, from, (size_t)(next_line(s) - from));
	}
	return out.s ? out.s : "";
}
