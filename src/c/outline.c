/*
 * outline.c: loops of a long body as functions. In: the body of run(). Out: the body with calls in
 * the places of loops, and the functions. Loops that differ in names alone are one function.
 * Compilers take time for each loop, for each function, and for a long function more than for its
 * parts.
 *
 * A piece is a loop whose text no statement leaves and that makes no room, or what in_lanes() has
 * marked. Its function gets what it reads as parameters, and returns the variable that it changes,
 * if any. Pieces that follow one another, but for lines that make room for arrays, are a group:
 * one function.
 */
#include <stdlib.h>
#include <string.h>

#include "c/internal.h"

#define LONG_BODY         580 /* lines: gcc takes nearly a second for so many */
#define HEAVY_LINES       120 /* of the functions that do the most: gcc -O3 takes 0.1 s for so many */
#define GROUP_LINES       80  /* of a function that is a group */
#define LINES_OF_FUNCTION 4   /* around its code */
#define MOST_PARAMETERS   100 /* C compilers must take 127 */
#define COLD_SHARE        0.01 /* of all work: what functions that are not optimised may do together */
#define RUN_SHARE         0.05 /* and what run() may do itself that is not */

/* Pieces that differ in names alone */
struct kind {
	double work;    /* of all of them: see work_of() */
	double rounds;  /* of the loops of run() around one: the most */
	uint32_t count; /* how many there are */
	uint32_t lines;
	enum tier tier;
	vec(uint32_t) groups; /* the functions that begin with one */
};
enum item_is {
	PIECE,
	STORE,      /* a line that writes to an array: it may be in a group */
	DEFINITION, /* one that reads no array: it may stand earlier; or a comment */
	LINE,       /* it stays where it is */
};
struct item { /* of the body */
	const char *s, *end;
	const struct code *code; /* NULL: it is none */
	enum item_is is;
	uint32_t kind; /* of a piece */
	bool result;   /* the piece changes a variable */
	bool repeated; /* it and a neighbour stand side by side, in this order, elsewhere, too */
};
struct function {
	const char *name, *text;
	const char *key; /* see piece_key() */
	enum tier tier;
	vec(struct item) items; /* of code: the first that it was made of */
};
/* A loop of run() that is no function, as it makes room, and is not at its end yet */
struct open_loop {
	size_t tabs;
	double rounds;
};
struct outline {
	struct printer *p;
	struct variables known;
	struct words sizes; /* of inputs */
	vec(struct item) items;
	struct words kind_keys; /* texts of pieces in which names are numbers */
	vec(struct kind) kinds; /* by number of a key */
	struct words keys;      /* the same of functions */
	vec(struct function) made;
	vec(struct open_loop) around;
	double work;      /* of what stays in run() */
	bool run_is_cold; /* that is little */
};
struct use { /* of a name in code */
	const char *at;
	uint32_t len, number;
};
struct code {
	const char *s, *end;
	struct words names; /* in their order */
	vec(bool) own;      /* by number of a name: the piece defines it */
	vec(struct use) uses;
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

static bool is_word_of(const char *const *words, size_t count, const char *s, size_t len)
{
	for (size_t i = 0; i < count; i++)
		if (words[i][0] == *s && !strncmp(words[i], s, len) && !words[i][len])
			return true;
	return false;
}

static bool is_type(const char *s, size_t len)
{
	return is_word_of(types, countof(types), s, len);
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

	for (const char *s = text; *s; s = *line_end(s) ? next_line(s) : line_end(s))
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
	for (; (s = next_identifier(s, end, len)) != NULL; s += *len)
		if (!is_type(s, *len) && !is_word_of(plain_words, countof(plain_words), s, *len))
			return s;
	return NULL;
}

/* Has the piece all that a function needs? */
static bool find_variables(struct outline *o, struct code *c)
{
	struct printer *p = o->p;
	struct words own = {.at = {0}};
	const char *type;
	size_t len;

	for (const char *s = c->s; s < c->end; s = next_line(s)) {
		const char *name = defined_in(p, s, &len, &type);
		if (name)
			add_word(p, &own, name, len);
	}
	for (const char *s = c->s; (s = next_name(s, c->end, &len)) != NULL; s += len) {
		const struct sym *name = intern(p->cx, s, len);
		bool mine = sym_number(&own, name) != UINT32_MAX;
		uint32_t k = mine ? 0 : sym_number(&o->known.words, name);
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
		uint32_t number = add_sym(p, &c->names, name);
		if (number == c->own.len)
			*vec_push(p->cx->arena, &c->own) = mine;
		*vec_push(p->cx->arena, &c->uses) = (struct use){s, (uint32_t)len, number};
	}
	return true;
}

/* The variable that name k of the piece is outside; NULL: it is the piece's own */
static const struct variable *parameter(const struct outline *o, const struct code *c, uint32_t k)
{
	const struct sym *s = c->names.at.at[k];

	return c->own.at[k] ? NULL : &o->known.at.at[sym_number(&o->known.words, s)];
}

/* The text from s to before end, with its lines `deep` tabs less deep */
static void add_less_deep(struct strbuf *to, const char *s, const char *end, size_t deep)
{
	for (size_t skipped = deep; s < end; s++) {
		if (*s == '\t' && skipped < deep) {
			skipped++;
			continue;
		}
		skipped = *s == '\n' ? 0 : deep;
		sb_add(to, s, 1);
	}
}

/* The text of a piece with numbers for its names, and their types: what makes it the function that
 * it is */
static const char *piece_key(const struct outline *o, const struct code *c)
{
	struct strbuf key = {.arena = o->p->cx->arena};
	size_t deep = strspn(c->s, "\t");
	const char *s = c->s + deep;

	for (uint32_t i = 0; i < c->uses.len; i++) {
		const struct use *u = &c->uses.at[i];
		add_less_deep(&key, s, u->at, deep);
		sb_printf(&key, "#%u", u->number);
		s = u->at + u->len;
	}
	add_less_deep(&key, s, c->end, deep);
	for (uint32_t k = 0; k < c->names.at.len; k++) {
		const struct variable *v = parameter(o, c, k);
		sb_printf(&key, "%s%s", v ? v->type : ";",
			  v && c->result == v->name ? "result" : "");
	}
	return key.s;
}

/* The lines of the piece, `deep` tabs less deep. &bad is a parameter there. */
static void add_lines(struct strbuf *to, const struct code *c, size_t deep)
{
	for (const char *s = c->s; s < c->end; s = next_line(s)) {
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

static struct function *make_function(struct outline *o, const struct code *c, const char *key,
				      enum tier tier)
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
	add_lines(to, c, strspn(c->s, "\t") - 1);
	if (c->result)
		sb_printf(to, "\treturn %s;\n", c->result);
	sb_str(to, "}\n\n");
	struct function *f = vec_push(p->cx->arena, &o->made);
	*f = (struct function){.name = name, .text = text.s, .key = key, .tier = tier};
	return f;
}

static double rounds_around(const struct outline *o)
{
	double n = 1;

	for (uint32_t i = 0; i < o->around.len; i++)
		n *= o->around.at[i].rounds;
	return n;
}

/* Where the piece that begins with the line at s ends: behind its last line; NULL: none begins */
static const char *piece_end(const char *s)
{
	size_t tabs = strspn(s, "\t");
	bool marked = s[tabs] == PIECE_BEGIN[0];

	if (!marked && (strncmp(s + tabs, "for (int64_t ", 13) || line_end(s)[-1] != '{'))
		return NULL;
	for (s = next_line(s); *s; s = next_line(s))
		if (strspn(s, "\t") == tabs && s[tabs] == (marked ? PIECE_END[0] : '}'))
			return next_line(s);
	return NULL;
}

bool is_piece_mark(const char *s)
{
	s += strspn(s, "\t");
	return *s == PIECE_BEGIN[0] || *s == PIECE_END[0];
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

static int by_work(const void *a, const void *b)
{
	const struct kind *f = *(const struct kind *const *)a, *g = *(const struct kind *const *)b;

	return f->work != g->work ? (f->work < g->work ? 1 : -1) : (f > g) - (f < g);
}

/* Says of each kind which tier it is in. Heavy are those that do the most, as many as there is
 * room for; cold are those outside of all loops of run() that do the least. */
static void find_tiers(struct outline *o)
{
	vec(struct kind *) order = {0};
	uint32_t lines = 0, n;
	double all = o->work, cold = 0;

	for (uint32_t i = 0; i < o->kinds.len; i++) {
		*vec_push(o->p->cx->arena, &order) = &o->kinds.at[i];
		all += o->kinds.at[i].work;
	}
	if (order.len)
		qsort(order.at, order.len, sizeof(*order.at), by_work);
	for (n = 0; n < order.len && lines < HEAVY_LINES; n++) {
		order.at[n]->tier = HEAVY;
		lines += order.at[n]->lines + LINES_OF_FUNCTION;
	}
	for (uint32_t i = order.len; i-- > n;)
		if (order.at[i]->rounds <= 1 && (cold += order.at[i]->work) <= all * COLD_SHARE)
			order.at[i]->tier = COLD;
	o->run_is_cold = o->work <= all * RUN_SHARE;
}

/* --- the items of the body --- */

/* `a[3] = b[i];` or a call of ptgc_copy() */
static bool is_store(const char *s)
{
	s += strspn(s, "\t");
	size_t n = word_length(s);
	return !strncmp(s, "ptgc_copy(", 10) || (n && s[n] == '[' && find_in_line(s, "] = "));
}

/* `const int64_t n = b * 2;` or `double *const a = (double *)(w + o);` */
static bool is_definition(const struct outline *o, const char *s)
{
	const char *end = line_end(s), *type, *name;
	size_t len;

	if (find_in_line(s, " *const ") && find_in_line(s, " *)(w + "))
		return true;
	if (strncmp(s + strspn(s, "\t"), "const ", 6) || !defined_in(o->p, s, &len, &type))
		return false;
	for (; (name = next_name(s, end, &len)) != NULL; s = name + len) {
		uint32_t k = word_number(o->p, &o->known.words, name, len);
		bool top = len == 3 && !memcmp(name, "top", 3);
		if (k == UINT32_MAX ? !top : strchr(o->known.at.at[k].type, '*') != NULL)
			return false;
	}
	return true;
}

/* A line that stays in run(). Those that make room for an array, or copy one, take no more time if
 * they are not optimised. */
static void add_work_of(struct outline *o, const char *s)
{
	const char *end = line_end(s);

	if (!find_in_line(s, " *const ") && !find_in_line(s, "ptgc_take_room(") &&
	    !find_in_line(s, "ptgc_copy("))
		o->work += rounds_around(o) * work_of(o->p, &o->sizes, s, end);
}

static uint32_t kind_of(struct outline *o, const struct code *c)
{
	struct printer *p = o->p;
	const char *key = piece_key(o, c);
	double rounds = rounds_around(o);

	if (!has_word(p, &o->kind_keys, key, strlen(key))) {
		add_word(p, &o->kind_keys, key, strlen(key));
		const char *text = textf(p, "%.*s", (int)(c->end - c->s), c->s);
		*vec_push(p->cx->arena, &o->kinds) =
			(struct kind){.lines = count_lines(text), .tier = LIGHT};
	}
	uint32_t number = word_number(p, &o->kind_keys, key, strlen(key));
	struct kind *k = &o->kinds.at[number];
	k->count++;
	k->rounds = rounds > k->rounds ? rounds : k->rounds;
	k->work += rounds * work_of(p, &o->sizes, c->s, c->end);
	return number;
}

static const struct code *keep_code(struct outline *o, const struct code *c)
{
	struct code *kept = new (o->p->cx->arena, struct code);

	*kept = *c;
	return kept;
}

/* The item that begins with the line at s */
static struct item item_at(struct outline *o, const char *s)
{
	struct code c = {.s = s, .end = piece_end(s)}, one = {.s = s, .end = next_line(s)};

	if (c.end && find_variables(o, &c))
		return (struct item){
			s, c.end, keep_code(o, &c), PIECE, kind_of(o, &c), c.result != NULL, false};
	struct item line = {.s = s, .end = one.end, .is = LINE};
	if (is_store(s) && find_variables(o, &one) && !one.result) {
		line.is = STORE;
		line.code = keep_code(o, &one);
	} else if (is_comment(s) || is_definition(o, s))
		line.is = DEFINITION;
	follow_loop(o, s);
	if (!is_piece_mark(s))
		add_work_of(o, s);
	return line;
}

/* --- groups --- */

static bool is_code(const struct item *i)
{
	return i->is == PIECE || i->is == STORE;
}

/* The next item of code behind i, if only what may stand before it is between; NULL: there is none
 */
static const struct item *next_code(const struct outline *o, const struct item *i)
{
	const struct item *end = o->items.at + o->items.len;

	for (i++; i < end && !is_code(i); i++)
		if (i->is == LINE)
			return NULL;
	return i < end ? i : NULL;
}

/* The code from `first` to `last`, as one piece */
static struct code joined(struct outline *o, const struct item *first, const struct item *last)
{
	struct strbuf text = {.arena = o->p->cx->arena};

	if (first == last)
		return *first->code;
	for (const struct item *i = first; i <= last; i++)
		if (is_code(i))
			sb_add(&text, i->s, (size_t)(i->end - i->s));
	struct code c = {.s = text.s, .end = text.s + text.len};
	if (!find_variables(o, &c))
		bug("c: loops that are functions make none together");
	return c;
}

/* The last item of the code from `first` on that is what the function f does; NULL: it is not */
static const struct item *end_of_same(struct outline *o, const struct item *first,
				      const struct function *f)
{
	const struct item *i = first;

	for (uint32_t k = 0; k < f->items.len; k++, i = k < f->items.len ? next_code(o, i) : i)
		if (!i || i->is != f->items.at[k].is || i->kind != f->items.at[k].kind)
			return NULL;
	if (i == first)
		return i;
	struct code c = joined(o, first, i);
	return !strcmp(piece_key(o, &c), f->key) ? i : NULL;
}

/* The last item of the longest row from `first` on that a function made earlier does; NULL: none
 * does any */
static const struct item *end_of_known(struct outline *o, const struct item *first)
{
	const struct kind *k = &o->kinds.at[first->kind];
	const struct item *last = NULL;

	for (uint32_t i = 0; i < k->groups.len; i++) {
		const struct item *end = end_of_same(o, first, &o->made.at[k->groups.at[i]]);
		last = end && (!last || end > last) ? end : last;
	}
	return last;
}

/* Marks the pieces of rows of loops that are there several times. */
static void find_repeated(struct outline *o)
{
	struct printer *p = o->p;
	struct words pairs = {.at = {0}}, twice = {.at = {0}};

	for (int pass = 0; pass < 2; pass++)
		for (uint32_t k = 0; k < o->items.len; k++) {
			struct item *i = &o->items.at[k];
			const struct item *next = i->is == PIECE ? next_code(o, i) : NULL;
			if (!next || next->is != PIECE)
				continue;
			const char *pair = textf(p, "%u %u", i->kind, next->kind);
			if (!pass)
				add_word(p,
					 has_word(p, &pairs, pair, strlen(pair)) ? &twice : &pairs,
					 pair, strlen(pair));
			else if (has_word(p, &twice, pair, strlen(pair)))
				i->repeated = o->items.at[next - o->items.at].repeated = true;
		}
}

/* May the code `next` be in a new group that begins with `first`? What is there once is in no group
 * with a row of loops that is there several times: the groups of such a row can be the same
 * functions. So a group ends, too, where one begins that is there already. */
static bool may_join(struct outline *o, const struct item *first, const struct item *next)
{
	if (next->is == STORE)
		return true;
	const struct kind *a = &o->kinds.at[first->kind], *b = &o->kinds.at[next->kind];
	return !next->result && a->tier == b->tier && first->repeated == next->repeated &&
	       (b->count == 1 || !end_of_known(o, next));
}

/* The last item of the group that begins with the piece `first` */
static const struct item *end_of_group(struct outline *o, const struct item *first)
{
	const struct item *last = end_of_known(o, first);
	uint32_t lines = 0;

	if (last)
		return last;
	last = first;
	if (first->result || o->kinds.at[first->kind].tier == HEAVY)
		return last;
	for (const struct item *i = first; i && lines < GROUP_LINES; i = next_code(o, i)) {
		if (i != first && !may_join(o, first, i))
			break;
		lines += i->is == STORE ? 1 : o->kinds.at[i->kind].lines;
		last = i;
	}
	return last;
}

static uint32_t parameter_count(const struct outline *o, const struct code *c)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < c->names.at.len; k++)
		n += parameter(o, c, k) != NULL;
	return n;
}

/* The function for the code c, which is that from `first` to `last` */
static const struct function *function_of(struct outline *o, const struct code *c,
					  const struct item *first, const struct item *last)
{
	struct printer *p = o->p;
	const char *key = first == last ? o->kind_keys.at.at[first->kind]->s : piece_key(o, c);
	uint32_t number = word_number(p, &o->keys, key, strlen(key));

	if (number != UINT32_MAX)
		return &o->made.at[number];
	add_word(p, &o->keys, key, strlen(key));
	struct kind *k = &o->kinds.at[first->kind];
	*vec_push(p->cx->arena, &k->groups) = o->made.len;
	struct function *f = make_function(o, c, key, k->tier);
	for (const struct item *i = first; i <= last; i++)
		if (is_code(i))
			*vec_push(p->cx->arena, &f->items) = *i;
	return f;
}

/* A call of the function f in the place of the code c */
static void put_call(struct outline *o, const struct code *c, const struct function *f,
		     struct strbuf *to)
{
	uint32_t n = 0;

	sb_add(to, c->s, strspn(c->s, "\t"));
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
}

/* Prints the group that begins with the piece `first`; its last item */
static const struct item *put_group(struct outline *o, const struct item *first, struct strbuf *to)
{
	const struct item *last = end_of_group(o, first);
	struct code c = joined(o, first, last);

	if (parameter_count(o, &c) > MOST_PARAMETERS)
		c = joined(o, first, last = first);
	for (const struct item *i = first; i < last; i++)
		if (!is_code(i))
			sb_add(to, i->s, (size_t)(i->end - i->s));
	const struct function *f = function_of(o, &c, first, last);
	put_call(o, &c, f, to);
	return last;
}

struct loops loops_as_functions(struct printer *p, const struct interface *f, const char *body)
{
	struct outline o = {.p = p};
	struct strbuf out = {.arena = p->cx->arena}, tiers[TIERS];
	bool cuts = count_lines(body) > LONG_BODY;

	if (!cuts) {
		for (const char *s = body; *s; s = next_line(s))
			if (!is_piece_mark(s))
				sb_add(&out, s, (size_t)(next_line(s) - s));
		return (struct loops){.run = out.s ? out.s : "", .functions = {"", "", ""}};
	}
	know_inputs(&o, f);
	know_all_in(&o, body);
	body = with_copies(p, &o.known, body);
	for (const char *s = body; *s; s = o.items.at[o.items.len - 1].end) {
		struct item i = item_at(&o, s);
		*vec_push(p->cx->arena, &o.items) = i;
	}
	find_tiers(&o);
	find_repeated(&o);
	for (uint32_t k = 0; k < o.items.len;) {
		const struct item *i = &o.items.at[k];
		if (i->is == PIECE)
			i = put_group(&o, i, &out);
		else if (!is_piece_mark(i->s))
			sb_add(&out, i->s, (size_t)(i->end - i->s));
		k = (uint32_t)(i - o.items.at) + 1;
	}
	for (uint32_t i = 0; i < TIERS; i++)
		tiers[i] = (struct strbuf){.arena = p->cx->arena};
	for (uint32_t i = 0; i < o.made.len; i++)
		sb_str(&tiers[o.made.at[i].tier], o.made.at[i].text);
	struct loops l = {.run = out.s ? out.s : "", .run_is_cold = o.run_is_cold};
	for (uint32_t i = 0; i < TIERS; i++)
		l.functions[i] = tiers[i].s ? tiers[i].s : "";
	return l;
}
