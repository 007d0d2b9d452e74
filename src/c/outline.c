/*
 * outline.c: loops of a long body as functions. In: the lines of run(). Out: the lines with calls
 * in the places of loops, and the functions. Loops that differ in names alone are one function.
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
#define NAME_IN_KEY       '\4' /* a byte that no line has */

/* Pieces that differ in names alone */
struct kind {
	double work;    /* of all of them: see work_of() */
	double rounds;  /* of the loops of run() around one: the most */
	uint32_t count; /* how many there are */
	uint32_t lines;
	enum tier tier;
};
struct name_in_code {
	const struct sym *name;
	const char *type; /* of the parameter; NULL: the code defines it */
};
struct code { /* lines that are, or may be, those of a function */
	vec(const struct code_line *) lines;
	vec(struct name_in_code) names; /* in their order */
	const struct sym *result;       /* the variable that it changes; NULL: none */
	/* The lines with numbers for their names, and the types of these: what makes the function
	 * that it is */
	const struct sym *key;
};
enum item_is {
	PIECE,
	STORE,      /* a line that writes to an array: it may be in a group */
	DEFINITION, /* one that reads no array: it may stand earlier; or a comment */
	LINE,       /* it stays where it is */
};
struct item {               /* of the body */
	uint32_t from, end; /* its lines */
	enum item_is is;
	const struct code *code; /* of a piece or a store */
	uint32_t kind;           /* of a piece */
	bool repeated; /* it and a neighbour stand side by side, in this order, elsewhere, too */
};
struct function {
	const char *name, *text;
	enum tier tier;
};
/* A loop of run() that is no function, as it makes room, and is not at its end yet */
struct open_loop {
	size_t tabs;
	double rounds;
};
/* Where a name was last met */
struct meeting {
	uint32_t code;   /* number of it */
	uint32_t number; /* of the name there, + 1; 0: it has none yet */
	bool own;        /* the code defines it */
};
struct outline {
	struct printer *p;
	const struct body *b;
	uint32_t *end_of; /* by line that a piece may begin with: the line behind it */
	/* By number of a name: fresh() has given all names of variables by now */
	const char **types; /* as `defines` of a line */
	struct meeting *met;
	uint32_t codes;    /* that were read */
	struct strbuf key; /* of the last one */
	const struct sym *bad, *top;
	struct words sizes; /* of inputs */
	vec(struct item) items;
	struct words kind_keys;
	vec(struct kind) kinds; /* by number of a key */
	struct words keys;      /* of functions */
	vec(struct function) made;
	struct words rows;  /* of code, from which functions were made, and what these begin with:
			       see row_with() */
	vec(bool) is_whole; /* by number of a row: a function does it, and no more */
	vec(struct open_loop) around;
	double work;      /* of what stays in run() */
	bool run_is_cold; /* that is little */
};

/* --- what is known of names --- */

static void know(struct outline *o, const struct sym *name, const char *type)
{
	if (!o->types[name->number])
		o->types[name->number] = type;
}

static void know_text(struct outline *o, const char *name, const char *type)
{
	know(o, intern_str(o->p->cx, name), type);
}

/* Arrays of constants, what the caller gives, and what lines define */
static void know_all(struct outline *o, const struct interface *f)
{
	struct printer *p = o->p;

	for (uint32_t i = 0; i < p->constants.len; i++) {
		const struct value *v = p->constants.at[i].v;
		know_text(o, held(p, v)->name, textf(p, "const %s *", memory_type(v->data->dtype)));
	}
	for (uint32_t i = 0; i < f->sizes.len; i++) {
		know_text(o, f->sizes.at[i].name, "int64_t ");
		add_word(p, &o->sizes, f->sizes.at[i].name, strlen(f->sizes.at[i].name));
	}
	for (uint32_t i = 0; i < p->known.len; i++)
		know_text(o, p->known.at[i].name, "int64_t ");
	for (uint32_t i = 0; i < f->in.len; i++) {
		const struct type *t = &f->in.at[i].v->type;
		know_text(o, f->in.at[i].name,
			  t->rank ? textf(p, "const %s *", memory_type(t->dtype))
				  : textf(p, "%s ", number_type(t->dtype)));
	}
	if (p->flags)
		know(o, o->bad, "int *");
	for (uint32_t i = 0; i < o->b->lines.len; i++) {
		const struct code_line *l = &o->b->lines.at[i];
		if (l->defines)
			know(o, l->names.at[0].name, l->defines);
	}
}

/* --- code --- */

/* Is the name that the code does not define one that a function may have as a parameter? What the
 * code changes must be the one result. */
static bool may_be_parameter(const struct outline *o, struct code *c, const struct mention *m)
{
	const char *type = o->types[m->name->number];

	if (!type || !*type || (m->name == o->bad) != m->address)
		return false;
	if (!m->changed)
		return true;
	if (strchr(type, '*') || (c->result && c->result != m->name))
		return false;
	c->result = m->name;
	return true;
}

/* The number of the name in the code; UINT32_MAX: no function can have it */
static uint32_t number_in(struct outline *o, struct code *c, const struct mention *m)
{
	struct meeting *met = &o->met[m->name->number];

	if (met->code != o->codes)
		*met = (struct meeting){.code = o->codes};
	if (!met->own && !may_be_parameter(o, c, m))
		return UINT32_MAX;
	if (!met->number) {
		const char *type = met->own ? NULL : o->types[m->name->number];
		*vec_push(o->p->cx->arena, &c->names) = (struct name_in_code){m->name, type};
		met->number = c->names.len;
	}
	return met->number - 1;
}

/* Finds the names of the code, by its lines, and its key; false: no function can have them */
static bool read_code(struct outline *o, struct code *c)
{
	struct strbuf *key = &o->key;
	uint32_t deep = c->lines.at[0]->tabs;

	key->len = 0;
	o->codes++;
	for (uint32_t i = 0; i < c->lines.len; i++)
		if (c->lines.at[i]->defines)
			o->met[c->lines.at[i]->names.at[0].name->number] =
				(struct meeting){.code = o->codes, .own = true};
	for (uint32_t i = 0; i < c->lines.len; i++) {
		const struct code_line *l = c->lines.at[i];
		const char *s = l->text;
		add_tabs(key, l->tabs > deep ? l->tabs - deep : 0);
		for (uint32_t k = 0; k < l->names.len; k++) {
			const struct mention *m = &l->names.at[k];
			uint32_t number = number_in(o, c, m);
			if (number == UINT32_MAX)
				return false;
			const char name[] = {NAME_IN_KEY, (char)number, (char)(number >> 8),
					     (char)(number >> 16)};
			sb_add(key, s, (size_t)(l->text + m->at - s));
			sb_add(key, name, sizeof(name));
			s = l->text + m->at + m->name->len;
		}
		sb_add(key, s, (size_t)(l->text + l->len + 1 - s));
	}
	for (uint32_t k = 0; k < c->names.len; k++) {
		sb_str(key, c->names.at[k].type ? c->names.at[k].type : ";");
		if (c->names.at[k].name == c->result)
			sb_str(key, "result");
	}
	c->key = intern(o->p->cx, key->s, key->len);
	return true;
}

static void add_lines(struct outline *o, struct code *c, uint32_t from, uint32_t end)
{
	for (; from < end; from++)
		*vec_push(o->p->cx->arena, &c->lines) = &o->b->lines.at[from];
}

/* --- functions --- */

static bool is_piece_mark(const struct code_line *l)
{
	return *l->text == PIECE_BEGIN[0] || *l->text == PIECE_END[0];
}

/* The line of a function, `deep` tabs less deep. &bad is a parameter there. */
static void put_line_of(const struct outline *o, struct strbuf *to, const struct code_line *l,
			uint32_t deep)
{
	const char *s = l->text;

	add_tabs(to, l->tabs > deep ? l->tabs - deep : 0);
	for (uint32_t k = 0; k < l->names.len; k++)
		if (l->names.at[k].name == o->bad) {
			const char *at = l->text + l->names.at[k].at;
			sb_add(to, s, (size_t)(at - 1 - s));
			s = at;
		}
	sb_add(to, s, (size_t)(l->text + l->len + 1 - s));
}

static void make_function(struct outline *o, const struct code *c, enum tier tier)
{
	struct printer *p = o->p;
	struct strbuf text = {.arena = p->cx->arena}, *to = &text;
	const char *name = fresh_in_file(p, "loop");
	uint32_t n = 0;

	sb_printf(to, "PTGC_CALL %s%s(", c->result ? o->types[c->result->number] : "void ", name);
	for (uint32_t k = 0; k < c->names.len; k++)
		if (c->names.at[k].type) {
			sb_str(to, n++ ? ", " : "");
			sb_str(to, c->names.at[k].type);
			sb_str(to, c->names.at[k].name->s);
		}
	sb_str(to, n ? ")\n{\n" : "void)\n{\n");
	for (uint32_t i = 0; i < c->lines.len; i++)
		if (!is_piece_mark(c->lines.at[i]))
			put_line_of(o, to, c->lines.at[i], c->lines.at[0]->tabs - 1);
	if (c->result)
		sb_printf(to, "\treturn %s;\n", c->result->s);
	sb_str(to, "}\n\n");
	*vec_push(p->cx->arena, &o->made) =
		(struct function){.name = name, .text = text.s, .tier = tier};
}

/* A call of the function f in the place of the code c */
static void put_call(struct outline *o, const struct code *c, const struct function *f,
		     struct body *to)
{
	struct strbuf call = {.arena = o->p->cx->arena};
	uint32_t n = 0;

	add_tabs(&call, c->lines.at[0]->tabs);
	if (c->result)
		sb_printf(&call, "%s = ", c->result->s);
	sb_printf(&call, "%s(", f->name);
	for (uint32_t k = 0; k < c->names.len; k++)
		if (c->names.at[k].type) {
			sb_str(&call, n++ ? ", " : "");
			sb_str(&call, c->names.at[k].name == o->bad ? "&" : "");
			sb_str(&call, c->names.at[k].name->s);
		}
	sb_str(&call, ");\n");
	struct code_line l = read_line(o->p, call.s);
	*vec_push(o->p->cx->arena, &to->lines) = l;
}

/* --- work --- */

static double rounds_around(const struct outline *o)
{
	double n = 1;

	for (uint32_t i = 0; i < o->around.len; i++)
		n *= o->around.at[i].rounds;
	return n;
}

/* Loops that begin or end with the line, which stays in run() */
static void follow_loop(struct outline *o, const struct code_line *l)
{
	if (o->around.len && *l->text == '}' && o->around.at[o->around.len - 1].tabs == l->tabs)
		o->around.len--;
	if (!l->len || l->text[l->len - 1] != '{' || !begins_with(l->text, "for ("))
		return;
	struct open_loop loop = {.tabs = l->tabs, .rounds = rounds_of(o->p, &o->sizes, l)};
	*vec_push(o->p->cx->arena, &o->around) = loop;
}

/* `double *const a = ...` */
static bool defines_pointer(const struct code_line *l)
{
	return l->defines && strchr(l->defines, '*');
}

/* A line that stays in run(). Those that make room for an array, or copy one, take no more time if
 * they are not optimised. */
static void add_work_of(struct outline *o, const struct code_line *l)
{
	if (!defines_pointer(l) && !calls(l, "ptgc_take_room") && !calls(l, "ptgc_copy"))
		o->work += rounds_around(o) * work_of(o->p, &o->sizes, &l, 1);
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

/* Where the pieces end that may begin: loops, and what is marked */
static void find_ends(struct outline *o)
{
	vec(uint32_t) loops = {0}; /* by tabs: the line that begins one, + 1; 0: none does */
	uint32_t marked = 0;

	o->end_of = new_array(o->p->cx->arena, uint32_t, o->b->lines.len);
	for (uint32_t i = 0; i < o->b->lines.len; i++) {
		const struct code_line *l = &o->b->lines.at[i];
		while (loops.len <= l->tabs)
			vec_push(o->p->cx->arena, &loops);
		uint32_t *loop = &loops.at[l->tabs];
		if (*l->text == PIECE_BEGIN[0])
			marked = i;
		else if (*l->text == PIECE_END[0])
			o->end_of[marked] = i + 1;
		else if (begins_with(l->text, "for (int64_t ") && l->text[l->len - 1] == '{')
			*loop = i + 1;
		else if (*l->text == '}' && *loop) {
			o->end_of[*loop - 1] = i + 1;
			*loop = 0;
		}
	}
}

/* `a[3] = b[i];` or a call of ptgc_copy() */
static bool is_store(const struct code_line *l)
{
	const struct mention *m = l->names.at;

	return begins_with(l->text, "ptgc_copy(") ||
	       (l->names.len && !m->at && l->text[m->name->len] == '[' && find_in_line(l, "] = "));
}

/* `const int64_t n = b * 2;` or `double *const a = (double *)(w + o);` */
static bool is_definition(const struct outline *o, const struct code_line *l)
{
	if (defines_pointer(l) && find_in_line(l, " *)(w + "))
		return true;
	if (!l->defines || !begins_with(l->text, "const "))
		return false;
	for (uint32_t i = 0; i < l->names.len; i++) {
		const struct sym *name = l->names.at[i].name;
		const char *type = o->types[name->number];
		if (type ? strchr(type, '*') != NULL : name != o->top)
			return false;
	}
	return true;
}

static uint32_t kind_of(struct outline *o, const struct code *c)
{
	double rounds = rounds_around(o);
	uint32_t number = add_sym(o->p, &o->kind_keys, c->key);

	if (number == o->kinds.len)
		*vec_push(o->p->cx->arena, &o->kinds) =
			(struct kind){.lines = c->lines.len, .tier = LIGHT};
	struct kind *k = &o->kinds.at[number];
	k->count++;
	k->rounds = rounds > k->rounds ? rounds : k->rounds;
	k->work += rounds * work_of(o->p, &o->sizes, c->lines.at, c->lines.len);
	return number;
}

/* The lines from `from` to before `end`, if a function can have them; NULL: it cannot */
static const struct code *code_of(struct outline *o, uint32_t from, uint32_t end)
{
	struct code c = {.lines = {0}}, *kept;

	add_lines(o, &c, from, end);
	if (!read_code(o, &c))
		return NULL;
	kept = new (o->p->cx->arena, struct code);
	*kept = c;
	return kept;
}

/* The item that begins with line number `from` */
static struct item item_at(struct outline *o, uint32_t from)
{
	const struct code_line *l = &o->b->lines.at[from];
	struct item i = {.from = from, .end = o->end_of[from], .is = PIECE};

	if (i.end && (i.code = code_of(o, from, i.end))) {
		i.kind = kind_of(o, i.code);
		return i;
	}
	i = (struct item){.from = from, .end = from + 1, .is = LINE};
	if (is_store(l) && (i.code = code_of(o, from, i.end)) && !i.code->result)
		i.is = STORE;
	else if (*l->text == '/' || is_definition(o, l))
		i.is = DEFINITION;
	follow_loop(o, l);
	if (!is_piece_mark(l))
		add_work_of(o, l);
	return i;
}

/* --- groups --- */

static bool is_code(const struct item *i)
{
	return i->is == PIECE || i->is == STORE;
}

/* The next item of code behind i, if only what may stand before it is between; NULL: there is none
 */
static struct item *next_code(const struct outline *o, const struct item *i)
{
	uint32_t k = (uint32_t)(i - o->items.at) + 1;

	for (; k < o->items.len && o->items.at[k].is != LINE; k++)
		if (is_code(&o->items.at[k]))
			return &o->items.at[k];
	return NULL;
}

/* The code from `first` to `last` */
static struct code joined(struct outline *o, const struct item *first, const struct item *last)
{
	struct code c = {.lines = {0}};

	if (first == last)
		return *first->code;
	for (const struct item *i = first; i <= last; i++)
		if (is_code(i))
			add_lines(o, &c, i->from, i->end);
	if (!read_code(o, &c))
		bug("c: loops that are functions make none together");
	return c;
}

/* Which row of code it is that has i behind `row`: its number in o->rows. Row 0 has no code. */
static const struct sym *row_with(const struct outline *o, uint32_t row, const struct item *i)
{
	uint32_t longer[] = {row, i->is == PIECE ? i->kind : UINT32_MAX};

	return intern(o->p->cx, (const char *)longer, sizeof(longer));
}

/* The last item of the longest row from `first` on that a function made earlier does; NULL: none
 * does any */
static const struct item *end_of_known(struct outline *o, const struct item *first)
{
	const struct item *last = NULL;
	uint32_t row = 0;

	for (const struct item *i = first; i; i = next_code(o, i)) {
		if ((row = sym_number(&o->rows, row_with(o, row, i)) + 1) == 0)
			break;
		if (o->is_whole.at[row - 1] &&
		    sym_number(&o->keys, joined(o, first, i).key) != UINT32_MAX)
			last = i;
	}
	return last;
}

/* A function does the code from `first` to `last`. */
static void know_row(struct outline *o, const struct item *first, const struct item *last)
{
	uint32_t row = 0;

	for (const struct item *i = first; i <= last; i++)
		if (is_code(i)) {
			row = add_sym(o->p, &o->rows, row_with(o, row, i)) + 1;
			if (row > o->is_whole.len)
				vec_push(o->p->cx->arena, &o->is_whole);
		}
	o->is_whole.at[row - 1] = true;
}

/* Marks the pieces of rows of loops that are there several times. */
static void find_repeated(struct outline *o)
{
	struct printer *p = o->p;
	struct words pairs = {.at = {0}}, twice = {.at = {0}};

	for (int pass = 0; pass < 2; pass++)
		for (uint32_t k = 0; k < o->items.len; k++) {
			struct item *i = &o->items.at[k];
			struct item *next = i->is == PIECE ? next_code(o, i) : NULL;
			if (!next || next->is != PIECE)
				continue;
			uint32_t kinds[] = {i->kind, next->kind};
			const struct sym *pair = intern(p->cx, (const char *)kinds, sizeof(kinds));
			if (!pass)
				add_sym(p, sym_number(&pairs, pair) == UINT32_MAX ? &pairs : &twice,
					pair);
			else if (sym_number(&twice, pair) != UINT32_MAX)
				i->repeated = next->repeated = true;
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
	return !next->code->result && a->tier == b->tier && first->repeated == next->repeated &&
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
	if (first->code->result || o->kinds.at[first->kind].tier == HEAVY)
		return last;
	for (const struct item *i = first; i && lines < GROUP_LINES; i = next_code(o, i)) {
		if (i != first && !may_join(o, first, i))
			break;
		lines += i->code->lines.len;
		last = i;
	}
	return last;
}

static uint32_t parameter_count(const struct code *c)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < c->names.len; k++)
		n += c->names.at[k].type != NULL;
	return n;
}

/* Prints the group that begins with the piece `first`; its last item */
static const struct item *put_group(struct outline *o, const struct item *first, struct body *to)
{
	const struct item *last = end_of_group(o, first);
	struct code c = joined(o, first, last);

	if (parameter_count(&c) > MOST_PARAMETERS)
		c = *(last = first)->code;
	for (const struct item *i = first; i < last; i++)
		if (!is_code(i))
			*vec_push(o->p->cx->arena, &to->lines) = o->b->lines.at[i->from];
	uint32_t number = add_sym(o->p, &o->keys, c.key);
	if (number == o->made.len) {
		make_function(o, &c, o->kinds.at[first->kind].tier);
		know_row(o, first, last);
	}
	put_call(o, &c, &o->made.at[number], to);
	return last;
}

static void drop_marks(struct body *b)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->lines.len; i++)
		if (!is_piece_mark(&b->lines.at[i]))
			b->lines.at[n++] = b->lines.at[i];
	b->lines.len = n;
}

struct loops loops_as_functions(struct printer *p, const struct interface *f, struct body *b)
{
	struct outline o = {.p = p, .b = b, .key = {.arena = p->cx->arena}};
	struct loops l = {.functions = {"", "", ""}};
	struct body run = {{0}};
	struct strbuf tiers[TIERS];

	if (b->lines.len <= LONG_BODY) {
		drop_marks(b);
		return l;
	}
	o.bad = intern_str(p->cx, "bad");
	o.top = intern_str(p->cx, "top");
	o.types = new_array(p->cx->arena, const char *, name_count(p->cx));
	o.met = new_array(p->cx->arena, struct meeting, name_count(p->cx));
	know_all(&o, f);
	copies_as_calls(p, o.types, b);
	find_ends(&o);
	for (uint32_t i = 0; i < b->lines.len; i = o.items.at[o.items.len - 1].end) {
		struct item item = item_at(&o, i);
		*vec_push(p->cx->arena, &o.items) = item;
	}
	find_tiers(&o);
	find_repeated(&o);
	for (uint32_t k = 0; k < o.items.len; k++) {
		const struct item *i = &o.items.at[k];
		if (i->is == PIECE)
			k = (uint32_t)(put_group(&o, i, &run) - o.items.at);
		else
			*vec_push(p->cx->arena, &run.lines) = b->lines.at[i->from];
	}
	for (uint32_t i = 0; i < TIERS; i++)
		tiers[i] = (struct strbuf){.arena = p->cx->arena};
	for (uint32_t i = 0; i < o.made.len; i++)
		sb_str(&tiers[o.made.at[i].tier], o.made.at[i].text);
	for (uint32_t i = 0; i < TIERS; i++)
		l.functions[i] = tiers[i].s ? tiers[i].s : "";
	l.run_is_cold = o.run_is_cold;
	drop_marks(&run);
	*b = run;
	return l;
}
