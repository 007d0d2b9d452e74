/*
 * nest.c: elements of values, and the loops that store them. In: values whose node the walk has
 * met. Out: expressions; statements of the body; arrays in the workspace, whose offsets placed()
 * fills in when it is known how long each is in use.
 */
#include <string.h>

#include "c/ops.h"

#define LONG_TEXT 90                 /* bytes of an expression that gets a variable */
#define MAX_COUNT ((int64_t)1 << 48) /* elements: no array has more */

/* --- elements --- */

const char *linear(struct printer *p, const char *const *dims, uint32_t rank, const char **ix)
{
	const char *all = "0";

	for (uint32_t i = 0; i < rank; i++)
		if (strcmp(dims[i], "1"))
			all = plus(p, times(p, all, dims[i]), ix[i]);
	return all;
}

const char *constant_array(struct printer *p, const struct value *v)
{
	struct held *h = held(p, v);

	if (h->name)
		return h->name;
	h->name = fresh_in_file(p, v->name ? v->name->s : "c");
	*vec_push(p->cx->arena, &p->constants) = (struct constant){.v = v};
	return h->name;
}

static const char *of_constant(struct printer *p, const struct value *v, const char **ix)
{
	const char *dims[MAX_RANK], *where;
	const struct tensor *t = v->data;
	int64_t i;

	if (held(p, v)->transposed)
		return of_constant(p, held(p, v)->transposed, (const char *[]){ix[1], ix[0]});
	if (!t->count) /* no element of it is read */
		return textf(p, "(%s)0", number_type(t->dtype));
	if (is_uniform(t))
		return literal(p, t, 0);
	for (uint32_t k = 0; k < v->type.rank; k++)
		dims[k] = number_text(p, t->shape[k]);
	where = linear(p, dims, v->type.rank, ix);
	if (p->array) {
		*p->array = constant_array(p, v);
		return where;
	}
	if (is_number_text(where, &i) && i >= 0 && (uint64_t)i < t->count)
		return literal(p, t, (uint64_t)i);
	return loaded(p, t->dtype, textf(p, "%s[%s]", constant_array(p, v), where));
}

/* Characters of s, but for the digits of names: where a formula is cut must not depend on them, so
 * that the same loops are one function */
static size_t text_length(const char *s)
{
	size_t n = 0;

	for (size_t len; *s; s += len ? len : 1) {
		len = word_length(s);
		n += len && !is_digit(*s) ? strcspn(s, "0123456789") < len ? 3 : len : len + !len;
	}
	return n;
}

static const char *of_formula(struct printer *p, const struct value *v, const char **ix)
{
	const struct node *n = v->def;
	const struct c_op *op = op_of(p, n);
	struct strbuf key = {.arena = p->cx->arena};
	uint32_t i = 0;

	for (uint32_t k = 0; k < v->type.rank; k++)
		sb_printf(&key, "%s;", ix[k]);
	for (uint32_t k = 0; k < p->once.len; k++)
		if (p->once.at[k].v == v && !strcmp(p->once.at[k].key, key.s ? key.s : ""))
			return p->once.at[k].name;
	while (n->out[i] != v)
		i++;
	const char *s = op->at(p, n, i, ix);
	if (op->view || (!v->name && text_length(s) < LONG_TEXT && held(p, v)->readers < 2))
		return s;
	const char *name = fresh_for(p, v, "t");
	show_line(p, n);
	line(p, "const %s %s = %s;", number_type(v->type.dtype), name, s);
	*vec_push(p->cx->arena, &p->once) =
		(struct once){.v = v, .key = key.s ? key.s : "", .name = name};
	return name;
}

static const char *of_slice(struct printer *p, const struct value *v, const char **ix)
{
	const struct held *h = held(p, v);
	const char *all[MAX_RANK + 1];

	for (uint32_t i = 0, k = 0; i < h->of->type.rank; i++)
		all[i] = i == h->axis ? h->index : ix[k++];
	return at(p, h->of, all);
}

/* An element, as a number. Formulas are at most MAX_FORMULA deep, so this may recurse. */
const char *at(struct printer *p, const struct value *v, const char **ix)
{
	const struct held *h = held(p, v);

	if (v->data)
		return of_constant(p, v, ix);
	switch (h->where) {
	case NUMBER:
		return h->name;
	case MEMORY:
		if (h->buffer)
			p->buffers.at[h->buffer - 1].to = p->statement;
		if (p->array) {
			*p->array = h->name;
			return linear(p, h->dims, v->type.rank, ix);
		}
		return loaded(p, v->type.dtype,
			      textf(p, "%s[%s]", h->name, linear(p, h->dims, v->type.rank, ix)));
	case FORMULA:
		return of_formula(p, v, ix);
	case SLICE:
		return of_slice(p, v, ix);
	default:
		bug("c: a value is read that has no place");
	}
}

const char *place_at(struct printer *p, const struct value *v, const char **ix, const char **array)
{
	const struct value *from = v;
	const char *s;

	while (!from->data && held(p, from)->where != MEMORY) {
		const struct held *h = held(p, from);
		if (h->where == SLICE)
			from = h->of;
		else if (h->where == FORMULA && op_of(p, from->def)->view)
			from = from->def->in[0];
		else
			return NULL;
	}
	if (from->data && is_uniform(from->data))
		return NULL;
	p->array = array;
	s = at(p, v, ix);
	p->array = NULL;
	return s;
}

/* --- the workspace --- */

/* The product of the lengths that are no numbers, which stops at the greatest number, so that no
 * workspace is large enough; NULL: all are. *number is the product of the others. */
static const char *product_of_open(struct printer *p, const char *const *dims, uint32_t rank,
				   const char **number)
{
	const char *all = NULL;
	int64_t c;

	*number = "1";
	for (uint32_t i = 0; i < rank; i++)
		if (is_number_text(dims[i], &c))
			*number = times(p, *number, dims[i]);
		else
			all = all ? textf(p, "ptgc_times(%s, %s)", all, dims[i]) : dims[i];
	return strcmp(*number, "0") ? all : NULL;
}

const char *room_for(struct printer *p, const char *const *dims, uint32_t rank)
{
	const char *number, *all = product_of_open(p, dims, rank, &number);

	if (!all || !strcmp(number, "1"))
		return all ? all : number;
	return textf(p, "ptgc_times(%s, %s)", all, number);
}

/* The room for an array of elements of *size bytes, as a number of parts, of *size bytes each */
static const char *parts_of_room(struct printer *p, const char *const *dims, uint32_t rank,
				 uint32_t *size)
{
	const char *number, *all = product_of_open(p, dims, rank, &number);
	int64_t n;

	if (!all || !is_number_text(number, &n) || n > INT32_MAX / *size)
		return room_for(p, dims, rank);
	*size *= (uint32_t)n;
	return all;
}

/* `declared` points to elements of the C type `memory`, in `count` parts of `size` bytes. Their
 * number is known when run() starts, or when rooms.c takes room for it. The number of its buffer */
static uint32_t declare_room(struct printer *p, const char *declared, const char *count,
			     const char *memory, uint32_t size, bool start)
{
	*vec_push(p->cx->arena, &p->buffers) = (struct buffer){.count = count,
							       .size = size,
							       .open = !start,
							       .from = p->statement,
							       .to = p->statement};
	p->dynamic |= !start;
	line(p, "%s = (%s *)(w + " PLACE "%u" PLACE ");", declared, memory, p->buffers.len);
	return p->buffers.len;
}

void make_room(struct printer *p, const struct value *v, const char *declared, const char *name)
{
	struct held *h = held(p, v);
	uint32_t size = dtypes[v->type.dtype].size;
	const char *count = parts_of_room(p, h->dims, v->type.rank, &size);

	h->where = MEMORY;
	h->name = name;
	h->buffer = declare_room(p, declared, count, memory_type(v->type.dtype), size, h->start);
}

void make_room_at_top(struct printer *p, const struct value *v, const char *declared,
		      const char *name)
{
	struct held *h = held(p, v);
	uint32_t size = dtypes[v->type.dtype].size;
	const char *count = parts_of_room(p, h->dims, v->type.rank, &size);

	h->where = MEMORY;
	h->name = name;
	h->buffer = 0;
	p->dynamic = true;
	line(p, "%s = (%s *)(w + top);", declared, memory_type(v->type.dtype));
	line(p, "if (!ptgc_take_room(&top, %s, %u, bytes, need))", count, size);
	line(p, "\treturn PTGC_MORE;");
}

const char *make_scratch(struct printer *p, const char *count, bool start)
{
	const char *name = fresh(p, "room");

	declare_room(p, textf(p, "int64_t *const %s", name), count, "int64_t", 8, start);
	return name;
}

static void declare_array(struct printer *p, const struct value *v)
{
	struct held *h = held(p, v);

	if (h->result) {
		h->where = MEMORY;
		line(p, "%s *const %s = out->%s;", memory_type(v->type.dtype), h->name, h->name);
		return;
	}
	const char *name = fresh_for(p, v, "a");
	make_room(p, v, textf(p, "%s *const %s", memory_type(v->type.dtype), name), name);
}

/* From the text of a loop over rows to that before it, or back */
static void change_text(struct printer *p)
{
	struct strbuf other = p->rows->outside;

	p->rows->outside = p->out;
	p->out = other;
}

void make_array(struct printer *p, const struct value *v)
{
	if (!p->rows) {
		declare_array(p, v);
		return;
	}
	change_text(p); /* each turn fills a part of it */
	p->indent--;
	declare_array(p, v);
	p->indent++;
	change_text(p);
}

void use_buffers(struct printer *p, uint32_t from)
{
	for (uint32_t i = 0; i < p->buffers.len; i++) {
		struct buffer *b = &p->buffers.at[i];
		if (b->from < from && b->to >= from)
			b->to = p->statement;
	}
}

/* --- loops --- */

static uint32_t open_loop(struct printer *p, const char *from, const char *to, const char **ix)
{
	const char **name = &p->loop_names[p->nloops];

	if (p->nloops >= MAX_NESTED)
		cannot(p, p->at, "has more than %d loops inside each other", MAX_NESTED);
	if (!*name)
		*name = fresh(p, p->nloops < 4 ? (const char *[]){"i", "j", "k", "l"}[p->nloops]
					       : "i");
	*ix = *name;
	p->loop_at[p->nloops] = p->out.len;
	line(p, "for (int64_t %s = %s; %s < %s; ++%s) {", *name, from, *name, in_parens(p, to),
	     *name);
	p->nloops++;
	p->indent++;
	return 1;
}

uint32_t open_loops(struct printer *p, const char *const *dims, uint32_t rank, const char **ix)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < rank; i++) {
		ix[i] = "0";
		if (strcmp(dims[i], "1"))
			n += open_loop(p, "0", dims[i], &ix[i]);
	}
	return n;
}

void close_loops(struct printer *p, uint32_t n)
{
	while (n-- > 0) {
		p->nloops--;
		p->indent--;
		line(p, "}");
	}
	uint32_t kept = 0;
	for (uint32_t i = 0; i < p->moved.len && p->nloops; i++)
		if (p->moved.at[i].loops <= p->nloops)
			p->moved.at[kept++] = p->moved.at[i];
	p->moved.len = kept;
}

/* Does the code give the array or variable that it names at s, len characters, a value? */
static bool is_written(const char *s, size_t len)
{
	const char *end = s + len;
	uint32_t deep = 0;

	if (is_changed(s, len))
		return true;
	if (*end != '[')
		return false;
	do {
		deep += *end == '[';
		deep -= *end == ']';
	} while (*++end && deep);
	return is_changed(end, 0);
}

/* Does the code define or change what `text` reads? */
static bool changes_what(const char *code, const char *text)
{
	size_t n;

	for (const char *s = code; *s; s += n ? n : 1) {
		n = word_length(s);
		for (const char *t = text; n && *t; t += word_length(t) ? word_length(t) : 1)
			if (word_length(t) == n && !memcmp(s, t, n) && is_written(s, n))
				return true;
	}
	return false;
}

/* Where the line stands that is the first in k of the open loops */
static size_t begin_of(const struct printer *p, uint32_t k)
{
	if (!k)
		return p->loop_at[0];
	const char *header = strstr(p->out.s + p->loop_at[k - 1], "for (int64_t ");

	return (size_t)(next_line(header) - p->out.s);
}

/* The line `text`, first in k of the open loops */
static void insert_line(struct printer *p, uint32_t k, const char *text)
{
	size_t at = begin_of(p, k), tabs = strspn(p->out.s + p->loop_at[k ? k - 1 : 0], "\t");
	const char *rest = textf(p, "%s", p->out.s + at);

	p->out.len = at;
	p->out.s[at] = 0;
	for (size_t i = 0; i < tabs + (k > 0); i++)
		sb_str(&p->out, "\t");
	sb_printf(&p->out, "%s\n", text);
	for (uint32_t i = k; i < p->nloops; i++)
		p->loop_at[i] += p->out.len - at;
	sb_str(&p->out, rest);
}

uint32_t loops_of(const struct printer *p, const char *const *ix, uint32_t n)
{
	uint32_t loops = 0;

	for (uint32_t k = 0; k < p->nloops; k++)
		for (uint32_t i = 0; i < n; i++)
			if (mentions(ix[i], p->loop_names[k]))
				loops = k + 1;
	return loops;
}

/* An index is looked up once for a row, not for each of its elements: that takes longer than to
 * read an element, and gcc makes no vectors of it. */
const char *number_in_loops(struct printer *p, const char *base, const char *text, uint32_t loops)
{
	for (uint32_t k = loops; k <= p->nloops && p->nloops; k++) {
		const char *code = p->out.s + begin_of(p, k);
		if (strstr(code, "if (") || changes_what(code, text))
			continue;
		for (uint32_t i = 0; i < p->moved.len; i++)
			if (p->moved.at[i].loops == k && !strcmp(p->moved.at[i].text, text))
				return p->moved.at[i].name;
		const char *name = fresh(p, base);
		insert_line(p, k, textf(p, "const int64_t %s = %s;", name, text));
		*vec_push(p->cx->arena, &p->moved) =
			(struct moved){.text = text, .name = name, .loops = k};
		return name;
	}
	const char *name = fresh(p, base);
	line(p, "const int64_t %s = %s;", name, text);
	return name;
}

void begin_rows(struct printer *p, struct row_loop *r)
{
	r->from = fresh(p, "from");
	r->to = fresh(p, "to");
	r->outside = (struct strbuf){.arena = p->cx->arena};
	r->statement = ++p->statement;
	p->rows = r;
	change_text(p);
	p->indent++;
}

/* What a turn fills, the next one does too: no array has the place of another one until the end. */
static void use_rows(struct printer *p, uint32_t first)
{
	for (uint32_t i = 0; i < p->buffers.len; i++)
		if (p->buffers.at[i].from >= first)
			p->buffers.at[i].to = p->statement;
	use_buffers(p, first);
}

/* One turn at least: a sum of no rows is 0. */
void end_rows(struct printer *p, const char *count)
{
	const struct row_loop *r = p->rows;
	const char *from = r->from;

	count = in_parens(p, count);
	p->statement++;
	use_rows(p, r->statement);
	change_text(p);
	p->rows = NULL;
	p->indent--;
	line(p, "for (int64_t %s = 0; %s == 0 || %s < %s; %s += PTGC_BLOCK) {", from, from, from,
	     count, from);
	line(p, "\tconst int64_t %s = %s - %s < PTGC_BLOCK ? %s : %s + PTGC_BLOCK;", r->to, count,
	     from, count, from);
	sb_str(&p->out, r->outside.s);
	line(p, "}");
}

uint32_t open_rows(struct printer *p, const char **ix)
{
	return open_loop(p, p->rows->from, p->rows->to, ix);
}

/* Do elements of v lie as those of `as` do, wherever v is read without a stretch? */
static bool lies_flat(struct printer *p, const struct value *v, const struct value *as)
{
	const struct held *h = held(p, v);

	if (is_single(p->cx, &v->type) || (v->data && v->data->splat))
		return true;
	if (v->type.rank != as->type.rank)
		return false;
	for (uint32_t i = 0; i < v->type.rank; i++)
		if (!dim_eq(p->cx, v->type.dims[i], as->type.dims[i]))
			return false;
	if (v->data || h->where == MEMORY)
		return true;
	if (h->where != FORMULA)
		return false;
	if (!h->each)
		return false;
	for (uint32_t i = 0; i < v->def->nin; i++)
		if (v->def->in[i] && !lies_flat(p, v->def->in[i], as))
			return false;
	return true;
}

/* The last axis that is not of length 1: an index of it alone counts all elements, with those of
 * the other axes 0. */
static uint32_t last_axis(struct printer *p, const struct value *v)
{
	uint32_t last = v->type.rank - 1u;

	while (last > 0 && !strcmp(held(p, v)->dims[last], "1"))
		last--;
	return last;
}

/* Is v an array whose lengths have the same texts as those of `as`? */
static bool is_array_like(struct printer *p, const struct value *v, const struct value *as)
{
	const struct held *h = held(p, v), *g = held(p, as);

	if (v->data || h->where != MEMORY || v->type.rank != as->type.rank)
		return false;
	for (uint32_t i = 0; i < v->type.rank; i++)
		if (strcmp(h->dims[i], g->dims[i]))
			return false;
	return true;
}

uint32_t loops_over(struct printer *p, const struct value *v, const struct value *read,
		    const char **ix)
{
	const char *all[1];
	uint32_t rank = v->type.rank;

	if (rank < 2 || !(lies_flat(p, read, v) || is_array_like(p, read, v)))
		return open_loops(p, held(p, v)->dims, rank, ix);
	all[0] = count_of(p, v);
	set_zeros(ix, rank);
	return open_loops(p, all, 1, &ix[last_axis(p, v)]);
}

/* Where loops were joined into one, its index counts all elements. */
static const char *place_of(struct printer *p, const struct value *v, const char **ix,
			    uint32_t loops)
{
	const struct held *h = held(p, v);
	uint32_t last = v->type.rank > 1 ? last_axis(p, v) : 0;
	bool joined = v->type.rank > 1 && loops == 1;

	for (uint32_t i = 0; joined && i < v->type.rank; i++)
		joined = i == last || !strcmp(ix[i], "0");
	if (joined && strcmp(ix[last], "0"))
		return ix[last];
	return linear(p, h->dims, v->type.rank, ix);
}

void keep(struct printer *p, const struct value *v)
{
	struct held *h = held(p, v);
	uint32_t mark = p->once.len, result = 0;
	const char *ix[MAX_RANK + 1];
	enum dtype t = v->type.dtype;

	h->where = FORMULA;
	while (v->def->out[result] != v)
		result++;
	if (is_single(p->cx, &v->type) && !h->stored) {
		set_zeros(ix, v->type.rank);
		const char *s = op_of(p, v->def)->at(p, v->def, result, ix);
		h->name = fresh_for(p, v, "t");
		line(p, "const %s %s = %s;", number_type(t), h->name, s);
		h->where = NUMBER;
		return;
	}
	make_array(p, v);
	struct held now = *h;
	h->where = FORMULA;
	uint32_t loops = p->rows ? open_rows(p, ix) : loops_over(p, v, v, ix);
	const char *s = op_of(p, v->def)->at(p, v->def, result, ix);
	*h = now;
	line(p, "%s[%s] = %s;", h->name, place_of(p, v, ix, loops), to_store(p, t, s));
	close_loops(p, loops);
	p->once.len = mark;
}

void put_number(struct printer *p, const struct value *y, const char **ix, const char *number)
{
	enum dtype t = y->type.dtype;

	number = t == DT_FLOAT16 ? textf(p, "ptgc_f16_round(%s)", number) : number;
	line(p, "%s[%s] = %s;", held(p, y)->name, linear(p, held(p, y)->dims, y->type.rank, ix),
	     to_store(p, t, number));
}

/* Every element of `from` into `to`, whose array is there */
void copy(struct printer *p, const struct value *to, const struct value *from)
{
	uint32_t mark = p->once.len;
	const char *ix[MAX_RANK + 1];
	uint32_t loops = loops_over(p, to, from, ix);
	const char *s = at(p, from, ix);

	line(p, "%s[%s] = %s;", held(p, to)->name, place_of(p, to, ix, loops),
	     to_store(p, to->type.dtype, s));
	close_loops(p, loops);
	p->once.len = mark;
	if (held(p, to)->buffer)
		p->buffers.at[held(p, to)->buffer - 1].to = p->statement;
}

/* --- offsets --- */

struct slot {
	const char *count;
	int64_t bytes; /* -1: count says it */
	uint32_t size;
	uint32_t free_from;
};

/* Gives each buffer a slot: one that is free and has the same size, or a number of bytes as it has.
 */
static uint32_t find_slots(struct printer *p, struct slot *slots)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->buffers.len; i++) {
		struct buffer *b = &p->buffers.at[i];
		int64_t count, bytes = -1;
		uint32_t k;
		if (b->open)
			continue;
		if (is_number_text(b->count, &count) && count <= MAX_COUNT)
			bytes = (count * b->size + 15) & ~(int64_t)15;
		for (k = 0; k < n; k++)
			if (slots[k].free_from < b->from &&
			    (bytes >= 0 ? slots[k].bytes >= 0
					: slots[k].bytes < 0 && slots[k].size == b->size &&
						  !strcmp(slots[k].count, b->count)))
				break;
		if (k == n)
			slots[n++] = (struct slot){b->count, bytes, b->size, 0};
		slots[k].bytes = slots[k].bytes < bytes ? bytes : slots[k].bytes;
		slots[k].free_from = b->to;
		b->offset = k;
	}
	return n;
}

const char *placed(struct printer *p, const char *body)
{
	struct slot *slots = new_array(p->cx->arena, struct slot, p->buffers.len + 1u);
	struct strbuf out = {.arena = p->cx->arena};
	uint32_t n = find_slots(p, slots);
	const char **names = new_array(p->cx->arena, const char *, n + 2u);
	int64_t fixed = 0;
	const char *last;

	for (uint32_t i = 0; i < n; i++)
		if (slots[i].bytes >= 0) {
			names[i] = number_text(p, fixed);
			fixed += slots[i].bytes;
		}
	last = number_text(p, fixed);
	for (uint32_t i = 0; i < n; i++)
		if (slots[i].bytes < 0) {
			const char *next = fresh(p, "o");
			names[i] = last;
			sb_printf(&out, "\tconst size_t %s = ptgc_room(%s, %s, %u);\n", next, last,
				  slots[i].count, slots[i].size);
			last = next;
		}
	sb_printf(&out, "\t*need = %s;\n", last);
	sb_str(&out, "\tif (bytes < *need)\n\t\treturn PTGC_MORE;\n");
	if (n || p->dynamic)
		sb_str(&out, "\tchar *const w = (char *)work;\n");
	else
		sb_str(&out, "\t(void)work;\n");
	if (p->dynamic)
		sb_printf(&out, "\tsize_t top = %s;\n", last);
	for (const char *s = body, *mark; s; s = mark) {
		mark = strchr(s, PLACE[0]);
		if (!mark) {
			sb_str(&out, s);
			break;
		}
		sb_add(&out, s, (size_t)(mark - s));
		uint32_t i = 0;
		for (mark++; *mark != PLACE[0]; mark++)
			i = i * 10 + (uint32_t)(*mark - '0');
		sb_str(&out, names[p->buffers.at[i - 1].offset]);
		mark++;
	}
	return out.s;
}
