/*
 * outline.c: loops of a long body as functions. In: the body of run(). Out: the body with calls in
 * the places of loops, and the functions. Loops that differ in names alone are one function.
 * Compilers take time for each loop, and for a long function more than for its parts.
 *
 * A piece is a loop whose text no statement leaves and that makes no room, or what in_lanes() has
 * marked. It gets what it reads as parameters, and returns the variable that it changes, if any.
 */
#include <stdlib.h>
#include <string.h>

#include "c/internal.h"

#define LONG_BODY   580  /* lines: gcc takes nearly a second for so many */
#define HEAVY_LINES 120  /* of the functions that do the most: gcc -O3 takes 0.1 s for so many */
#define COLD_SHARE  0.01 /* of all work: what functions that are not optimised may do together */
#define RUN_SHARE   0.05 /* and what run() may do itself that is not */

struct function {
	const char *name, *text;
	double work;   /* of all its calls: see work_of() */
	double rounds; /* of the loops of run() around a call: the most */
	enum tier tier;
};
/* A loop of run() that is no function, as it makes room, and is not at its end yet */
struct open_loop {
	size_t tabs;
	double rounds;
};
struct outline {
	struct printer *p;
	struct variables known;
	struct words sizes;        /* of inputs */
	struct words keys;         /* texts of pieces in which names are numbers */
	vec(struct function) made; /* by number of a key */
	vec(struct open_loop) around;
	double work; /* of what stays in run() */
	bool idle;   /* that is little */
};
struct piece {
	const char *s, *end;
	struct words names; /* in their order */
	vec(bool) own;      /* by number of a name: the piece defines it */
	const char *result; /* the variable that it changes; NULL: none */
};

static const char *const types[] = {
	"bool",   "double", "float",    "int",      "int16_t",  "int32_t", "int64_t",
	"int8_t", "size_t", "uint16_t", "uint32_t", "uint64_t", "uint8_t",
};
/* What a piece may say beside names, numbers and types: find_variables() refuses a piece with any
 * other word, such as return, while, w or top. */
static const char *const plain_words[] = {
	"INFINITY", "INT16_MAX", "INT16_MIN", "INT32_MAX", "INT32_MIN",  "INT64_MAX",  "INT64_MIN",
	"INT8_MAX", "INT8_MIN",  "NAN",       "UINT8_MAX", "UINT16_MAX", "UINT32_MAX", "UINT64_MAX",
	"const",    "else",      "false",     "for",       "if",         "sizeof",     "true",
};

static bool is_one_of(const char *const *words, size_t count, const char *s, size_t len)
{
	for (size_t i = 0; i < count; i++)
		if (!strncmp(words[i], s, len) && !words[i][len])
			return true;
	return false;
}

static bool is_type(const char *s, size_t len)
{
	return is_one_of(types, countof(types), s, len);
}

static const char *line_end(const char *s)
{
	return s + strcspn(s, "\n");
}

static bool is_comment(const char *s)
{
	return s[strspn(s, "\t")] == '/';
}

/* The variable that the line at s defines, with its type as that of a parameter; NULL: none */
static const char *defined_in(struct printer *p, const char *s, size_t *len, const char **type)
{
	s += strspn(s, "\t");
	s += strncmp(s, "for (", 5) ? 0 : 5;
	const char *from = s;
	s += strncmp(s, "const ", 6) ? 0 : 6;
	size_t n = word_length(s);
	if (!is_type(s, n) || s[n] != ' ')
		return NULL;
	const char *element = s, *name = s + n + 1;
	bool points = *name == '*';
	name += points;
	name += points && !strncmp(name, "const ", 6) ? 6 : 0;
	*len = word_length(name);
	if (!*len || !strchr(" ;[", name[*len]))
		return NULL;
	if (name[*len] == '[')
		*type = "";
	else if (points)
		*type = textf(p, "%.*s *", (int)(element + n - from), from);
	else
		*type = textf(p, "%.*s ", (int)n, element);
	return name;
}

static void know(struct outline *o, const char *name, size_t len, const char *type)
{
	struct printer *p = o->p;

	if (has_word(p, &o->known.words, name, len))
		return;
	add_word(p, &o->known.words, name, len);
	*vec_push(p->cx->arena, &o->known.at) =
		(struct variable){.name = textf(p, "%.*s", (int)len, name), .type = type};
}

static void know_all_in(struct outline *o, const char *text)
{
	const char *type, *name;
	size_t len;

	for (const char *s = text; *s; s = *line_end(s) ? line_end(s) + 1 : line_end(s))
		if ((name = defined_in(o->p, s, &len, &type)) != NULL)
			know(o, name, len, type);
}

/* Arrays of constants, and what the caller gives */
static void know_inputs(struct outline *o, const struct interface *f)
{
	struct printer *p = o->p;

	for (uint32_t i = 0; i < p->constants.len; i++) {
		const struct value *v = p->constants.at[i].v;
		const char *name = held(p, v)->name;
		know(o, name, strlen(name), textf(p, "const %s *", memory_type(v->data->dtype)));
	}
	for (uint32_t i = 0; i < f->sizes.len; i++) {
		const char *name = f->sizes.at[i].name;
		know(o, name, strlen(name), "int64_t ");
		add_word(p, &o->sizes, name, strlen(name));
	}
	for (uint32_t i = 0; i < p->known.len; i++)
		know(o, p->known.at[i].name, strlen(p->known.at[i].name), "int64_t ");
	for (uint32_t i = 0; i < f->in.len; i++) {
		const struct type *t = &f->in.at[i].v->type;
		know(o, f->in.at[i].name, strlen(f->in.at[i].name),
		     t->rank ? textf(p, "const %s *", memory_type(t->dtype))
			     : textf(p, "%s ", number_type(t->dtype)));
	}
	if (p->flags)
		know(o, "bad", 3, "int *");
}

/* The next name of a variable at s, or before the end; NULL: there is none */
static const char *next_name(const char *s, const char *end, size_t *len)
{
	for (bool first = true; s < end; first = false) {
		if ((first || s[-1] == '\n') && is_comment(s)) {
			s = line_end(s) + 1;
			continue;
		}
		size_t n = word_length(s);
		bool member = n && (s[-1] == '.' || s[-1] == '>');
		if (n && !member && !(*s >= '0' && *s <= '9') && strncmp(s, "ptgc_", 5) &&
		    !is_type(s, n) && !is_one_of(plain_words, countof(plain_words), s, n)) {
			*len = n;
			return s;
		}
		s += n ? n : 1;
	}
	return NULL;
}

/* Has the piece all that a function needs? */
static bool find_variables(struct outline *o, struct piece *c)
{
	struct printer *p = o->p;
	struct words own = {.at = {0}};
	const char *type;
	size_t len;

	for (const char *s = c->s; s < c->end; s = line_end(s) + 1) {
		const char *name = defined_in(p, s, &len, &type);
		if (name)
			add_word(p, &own, name, len);
	}
	for (const char *s = c->s; (s = next_name(s, c->end, &len)) != NULL; s += len) {
		bool mine = has_word(p, &own, s, len);
		uint32_t k = mine ? 0 : word_number(p, &o->known.words, s, len);
		if (!mine && (k == UINT32_MAX || !o->known.at.at[k].type[0]))
			return false;
		const struct variable *v = mine ? NULL : &o->known.at.at[k];
		if (v && !strcmp(v->name, "bad") != (s[-1] == '&'))
			return false;
		if (v && is_changed(s, len)) {
			if (strchr(v->type, '*') || (c->result && strcmp(c->result, v->name)))
				return false;
			c->result = v->name;
		}
		if (has_word(p, &c->names, s, len))
			continue;
		add_word(p, &c->names, s, len);
		*vec_push(p->cx->arena, &c->own) = mine;
	}
	return true;
}

/* The variable that name k of the piece is outside; NULL: it is the piece's own */
static const struct variable *parameter(const struct outline *o, const struct piece *c, uint32_t k)
{
	const struct sym *s = c->names.at.at[k];

	return c->own.at[k] ? NULL
			    : &o->known.at.at[word_number(o->p, &o->known.words, s->s, s->len)];
}

/* The text of a piece with numbers for its names, and their types: what makes it the function that
 * it is */
static const char *piece_key(const struct outline *o, const struct piece *c)
{
	struct strbuf key = {.arena = o->p->cx->arena};
	const char *s = c->s, *name;
	size_t len;

	for (; (name = next_name(s, c->end, &len)) != NULL; s = name + len) {
		sb_add(&key, s, (size_t)(name - s));
		sb_printf(&key, "#%u", word_number(o->p, &c->names, name, len));
	}
	sb_add(&key, s, (size_t)(c->end - s));
	for (uint32_t k = 0; k < c->names.at.len; k++) {
		const struct variable *v = parameter(o, c, k);
		sb_printf(&key, "%s%s", v ? v->type : ";",
			  v && c->result == v->name ? "result" : "");
	}
	return key.s;
}

/* The lines of the piece, `deep` tabs less deep. &bad is a parameter there. */
static void add_lines(struct strbuf *to, const struct piece *c, size_t deep)
{
	for (const char *s = c->s; s < c->end; s = line_end(s) + 1) {
		const char *end = line_end(s);
		size_t tabs = strspn(s, "\t");
		s += tabs < deep ? tabs : deep;
		if (is_piece_mark(s))
			continue;
		for (const char *at = s; at < end; at++)
			if (!strncmp(at, "&bad", 4) && !is_word(at[4])) {
				sb_add(to, s, (size_t)(at - s));
				s = at + 1;
			}
		sb_add(to, s, (size_t)(end + 1 - s));
	}
}

static void make_function(struct outline *o, const struct piece *c, size_t tabs)
{
	struct printer *p = o->p;
	struct strbuf text = {.arena = p->cx->arena}, *to = &text;
	const char *name = fresh_in_file(p, "loop"), *type = "void ";
	uint32_t n = 0;

	for (uint32_t k = 0; k < c->names.at.len; k++) {
		const struct variable *v = parameter(o, c, k);
		type = v && c->result == v->name ? v->type : type;
	}
	sb_printf(to, "PTGC_CALL %s%s(", type, name);
	for (uint32_t k = 0; k < c->names.at.len; k++) {
		const struct variable *v = parameter(o, c, k);
		if (v)
			sb_printf(to, "%s%s%s", n++ ? ", " : "", v->type, v->name);
	}
	sb_str(to, n ? ")\n{\n" : "void)\n{\n");
	add_lines(to, c, tabs - 1);
	if (c->result)
		sb_printf(to, "\treturn %s;\n", c->result);
	sb_str(to, "}\n\n");
	*vec_push(p->cx->arena, &o->made) = (struct function){.name = name, .text = text.s};
}

static double rounds_around(const struct outline *o)
{
	double n = 1;

	for (uint32_t i = 0; i < o->around.len; i++)
		n *= o->around.at[i].rounds;
	return n;
}

/* A call in the place of the piece; false: it can be no function */
static bool put_call(struct outline *o, struct piece *c, struct strbuf *to)
{
	struct printer *p = o->p;
	size_t tabs = strspn(c->s, "\t");
	uint32_t n = 0;

	if (!find_variables(o, c))
		return false;
	const char *key = piece_key(o, c);
	if (!has_word(p, &o->keys, key, strlen(key))) {
		add_word(p, &o->keys, key, strlen(key));
		make_function(o, c, tabs);
	}
	struct function *f = &o->made.at[word_number(p, &o->keys, key, strlen(key))];
	double rounds = rounds_around(o);
	f->rounds = rounds > f->rounds ? rounds : f->rounds;
	f->work += rounds * work_of(p, &o->sizes, c->s, c->end);
	sb_add(to, c->s, tabs);
	if (c->result)
		sb_printf(to, "%s = ", c->result);
	sb_printf(to, "%s(", f->name);
	for (uint32_t k = 0; k < c->names.at.len; k++) {
		const struct variable *v = parameter(o, c, k);
		if (v)
			sb_printf(to, "%s%s%s", n++ ? ", " : "", strcmp(v->name, "bad") ? "" : "&",
				  v->name);
	}
	sb_str(to, ");\n");
	return true;
}

/* Where the piece that begins with the line at s ends: behind its last line; NULL: none begins */
static const char *piece_end(const char *s)
{
	size_t tabs = strspn(s, "\t");
	bool marked = s[tabs] == PIECE[0];

	if (!marked && (strncmp(s + tabs, "for (int64_t ", 13) || line_end(s)[-1] != '{'))
		return NULL;
	for (s = line_end(s) + 1; *s; s = line_end(s) + 1)
		if (strspn(s, "\t") == tabs && s[tabs] == (marked ? PIECE_END[0] : '}'))
			return line_end(s) + 1;
	return NULL;
}

bool is_piece_mark(const char *s)
{
	s += strspn(s, "\t");
	return *s == PIECE[0] || *s == PIECE_END[0];
}

/* Loops that begin or end with the line at s, which stays in run() */
static void follow_loop(struct outline *o, const char *s)
{
	size_t tabs = strspn(s, "\t");
	bool opens = line_end(s)[-1] == '{';

	s += tabs;
	if (o->around.len && *s == '}' && o->around.at[o->around.len - 1].tabs == tabs)
		o->around.len--;
	if (!opens || strncmp(s, "for (", 5))
		return;
	struct open_loop loop = {.tabs = tabs, .rounds = rounds_of(o->p, &o->sizes, s)};
	*vec_push(o->p->cx->arena, &o->around) = loop;
}

/* Does it call what gcc puts in the place of the call? That becomes long and slow without the
 * optimiser. */
static bool calls_maths(const char *s)
{
	while ((s = strstr(s, "ptgc_")) != NULL) {
		if (strncmp(s, "ptgc_copy(", 10) && strncmp(s, "ptgc_index(", 11))
			return true;
		s++;
	}
	return false;
}

static int by_work(const void *a, const void *b)
{
	const struct function *f = *(const struct function *const *)a,
			      *g = *(const struct function *const *)b;

	return f->work != g->work ? (f->work < g->work ? 1 : -1) : (f > g) - (f < g);
}

/* Says of each function which tier it is in. Heavy are those that do the most, as many as there is
 * room for; cold are those outside of all loops of run() that do the least. */
static void find_tiers(struct outline *o)
{
	vec(struct function *) order = {0};
	uint32_t lines = 0, n;
	double all = o->work, cold = 0;

	for (uint32_t i = 0; i < o->made.len; i++) {
		*vec_push(o->p->cx->arena, &order) = &o->made.at[i];
		o->made.at[i].tier = LIGHT;
		all += o->made.at[i].work;
	}
	if (order.len)
		qsort(order.at, order.len, sizeof(*order.at), by_work);
	for (n = 0; n < order.len && lines < HEAVY_LINES; n++) {
		order.at[n]->tier = HEAVY;
		lines += count_lines(order.at[n]->text);
	}
	for (uint32_t i = order.len; i-- > n;)
		if (order.at[i]->rounds <= 1 && !calls_maths(order.at[i]->text) &&
		    (cold += order.at[i]->work) <= all * COLD_SHARE)
			order.at[i]->tier = COLD;
	o->idle = o->work <= all * RUN_SHARE;
}

/* A line that stays in run(). Those that make room for an array, or copy one, take no more time if
 * they are not optimised. */
static void count_line(struct outline *o, const char *s)
{
	const char *end = line_end(s);

	if (!find_in_line(s, " *const ") && !find_in_line(s, "ptgc_take_room(") &&
	    !find_in_line(s, "ptgc_copy("))
		o->work += rounds_around(o) * work_of(o->p, &o->sizes, s, end);
}

struct loops loops_as_functions(struct printer *p, const struct interface *f, const char *body)
{
	struct outline o = {.p = p};
	struct strbuf out = {.arena = p->cx->arena}, tiers[TIERS];
	bool cuts = count_lines(body) > LONG_BODY;

	if (cuts) {
		know_inputs(&o, f);
		know_all_in(&o, body);
		body = with_copies(p, &o.known, body);
	}
	for (const char *s = body, *end; *s; s = end) {
		struct piece c = {.s = s, .end = cuts ? piece_end(s) : NULL};
		end = c.end ? c.end : line_end(s) + 1;
		if (c.end && put_call(&o, &c, &out))
			continue;
		end = line_end(s) + 1;
		follow_loop(&o, s);
		if (is_piece_mark(s))
			continue;
		count_line(&o, s);
		sb_add(&out, s, (size_t)(end - s));
	}
	find_tiers(&o);
	for (uint32_t i = 0; i < TIERS; i++)
		tiers[i] = (struct strbuf){.arena = p->cx->arena};
	for (uint32_t i = 0; i < o.made.len; i++)
		sb_str(&tiers[o.made.at[i].tier], o.made.at[i].text);
	struct loops l = {.run = out.s ? out.s : "", .run_is_cold = o.idle};
	for (uint32_t i = 0; i < TIERS; i++)
		l.functions[i] = tiers[i].s ? tiers[i].s : "";
	return l;
}
