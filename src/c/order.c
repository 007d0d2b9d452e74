/*
 * order.c: elements in order: the greatest k, and those that differ. In: elements of the inputs.
 * Out: statements that fill arrays. Of equals the first comes first.
 */
#include <string.h>

#include "c/ops.h"

#define FEW 16 /* so many are found faster one by one than by sorting all */

/* A call of lib/c/sort.h: the key of an element */
static const char *sort_key(struct printer *p, enum dtype t, const char *number)
{
	return textf(p, "ptgc_key%s(%s)",
		     is_float(t)                                   ? ""
		     : t == DT_BOOL || dtypes[t].kind == KIND_UINT ? "_u64"
								   : "_i64",
		     number);
}

/* Where an order of `count` elements is made: their keys, what stands at them, and as much again.
 */
struct order {
	const char *keys, *at, *room, *count;
};

static struct order make_order(struct printer *p, const struct value *x, const char *count)
{
	struct order o = {.count = count};
	int64_t c;
	bool number = is_number_text(count, &c);
	const char *all = number ? times(p, "4", count) : textf(p, "ptgc_times(4, %s)", count);
	const char *room = make_scratch(p, all, number || held(p, x)->start);

	o.keys = fresh(p, "keys");
	o.at = fresh(p, "order");
	o.room = fresh(p, "other");
	count = in_parens(p, count);
	line(p, "uint64_t *const %s = (uint64_t *)%s;", o.keys, room);
	line(p, "int64_t *const %s = %s + %s, *const %s = %s + 2 * %s;", o.at, room, count, o.room,
	     room, count);
	return o;
}

static void sort(struct printer *p, const struct order *o)
{
	line(p, "ptgc_sort(%s, %s, %s, %s);", o->keys, o->at, o->room, o->count);
}

void topk_shape(struct printer *p, const struct node *n)
{
	const struct value *x = n->in[0];
	uint32_t axis = onnx_axis(n, -1);
	const char *known[MAX_RANK];

	for (uint32_t i = 0; i < 2; i++) {
		for (uint32_t k = 0; k < x->type.rank; k++)
			known[k] = k == axis ? element(p, n->in[1], 0) : length(p, x, k);
		set_lengths(p, n->out[i], known);
	}
	const char *taken = held(p, n->out[0])->dims[axis], *all = length(p, x, axis);
	if (strcmp(taken, all) != 0) {
		line(p, "if (%s > %s)", in_parens(p, taken), in_parens(p, all));
		line(p, "\treturn %u;", failure(p, n, "there are fewer elements"));
	}
}

/* The greatest few: element by element into its place among those found so far */
static void put_few(struct printer *p, const struct node *n)
{
	const struct value *x = n->in[0], *v = n->out[0], *w = n->out[1];
	enum dtype t = x->type.dtype;
	uint32_t axis = onnx_axis(n, -1), loops = 0, mark = p->once.len;
	bool largest = int_of_attr(n, "largest", 1);
	const char *ix[MAX_RANK], *to[MAX_RANK], *one[1];
	const char *count = held(p, v)->dims[axis], *len = length(p, x, axis);
	const char *i = fresh(p, "i"), *at_ = fresh(p, "at"), *found = fresh(p, "found");
	const char *now = fresh(p, "now");

	for (uint32_t k = 0; k < x->type.rank; k++) {
		one[0] = length(p, x, k);
		if (k != axis)
			loops += open_loops(p, one, 1, &ix[k]);
		to[k] = k != axis ? ix[k] : "0";
	}
	line(p, "int64_t %s = 0;", found);
	line(p, "for (int64_t %s = 0; %s < %s; ++%s) {", i, i, in_parens(p, len), i);
	p->indent++;
	ix[axis] = i;
	line(p, "const %s %s = %s;", number_type(t), now, at(p, x, ix));
	line(p, "int64_t %s = %s;", at_, found);
	to[axis] = textf(p, "(%s - 1)", at_);
	const char *before = linear(p, held(p, v)->dims, v->type.rank, to);
	to[axis] = at_;
	const char *here = linear(p, held(p, v)->dims, v->type.rank, to);
	line(p, "while (%s > 0 && ptgc_%s%s(%s, %s)) {", at_, largest ? "above" : "below",
	     is_float(t)                   ? ""
	     : dtypes[t].kind == KIND_UINT ? "_u64"
					   : "_i64",
	     now, loaded(p, t, textf(p, "%s[%s]", held(p, v)->name, before)));
	line(p, "\tif (%s < %s) {", at_, in_parens(p, count));
	line(p, "\t\t%s[%s] = %s[%s];", held(p, v)->name, here, held(p, v)->name, before);
	line(p, "\t\t%s[%s] = %s[%s];", held(p, w)->name, here, held(p, w)->name, before);
	line(p, "\t}");
	line(p, "\t--%s;", at_);
	line(p, "}");
	line(p, "if (%s < %s) {", at_, in_parens(p, count));
	line(p, "\t%s[%s] = %s;", held(p, v)->name, here, to_store(p, t, now));
	line(p, "\t%s[%s] = %s;", held(p, w)->name, here, i);
	line(p, "}");
	line(p, "%s += %s < %s;", found, found, in_parens(p, count));
	p->indent--;
	line(p, "}");
	close_loops(p, loops);
	p->once.len = mark;
}

static void put_many(struct printer *p, const struct node *n)
{
	const struct value *x = n->in[0], *v = n->out[0], *w = n->out[1];
	enum dtype t = x->type.dtype;
	uint32_t axis = onnx_axis(n, -1), loops = 0, mark = p->once.len;
	bool largest = int_of_attr(n, "largest", 1);
	const char *ix[MAX_RANK], *one[1];
	struct order o = make_order(p, x, length(p, x, axis));

	for (uint32_t k = 0; k < x->type.rank; k++) {
		one[0] = length(p, x, k);
		if (k != axis)
			loops += open_loops(p, one, 1, &ix[k]);
	}
	one[0] = o.count;
	uint32_t inner = open_loops(p, one, 1, &ix[axis]);
	line(p, "%s[%s] = %s%s;", o.keys, ix[axis], largest ? "~" : "",
	     sort_key(p, t, at(p, x, ix)));
	p->once.len = mark;
	line(p, "%s[%s] = %s;", o.at, ix[axis], ix[axis]);
	close_loops(p, inner);
	sort(p, &o);
	one[0] = held(p, v)->dims[axis];
	inner = open_loops(p, one, 1, &ix[axis]);
	const char *to = linear(p, held(p, v)->dims, v->type.rank, ix);
	const char *from = textf(p, "%s[%s]", o.at, ix[axis]);
	line(p, "%s[%s] = %s;", held(p, w)->name, to, from);
	ix[axis] = from;
	line(p, "%s[%s] = %s;", held(p, v)->name, to, to_store(p, t, at(p, x, ix)));
	p->once.len = mark;
	close_loops(p, inner);
	close_loops(p, loops);
}

void topk_put(struct printer *p, const struct node *n)
{
	int64_t k;

	make_array(p, n->out[0]);
	make_array(p, n->out[1]);
	if (is_number_text(held(p, n->out[0])->dims[onnx_axis(n, -1)], &k) && k <= FEW)
		put_few(p, n);
	else
		put_many(p, n);
}

/* --- Unique --- */

/* What Unique compares: `rows` of `row` elements each, which lie behind one another in `array` */
struct rows {
	const char *array, *rows, *row;
	enum dtype dtype;
};

static struct rows rows_of(struct printer *p, const struct node *n)
{
	const struct value *x = n->in[0];
	const char *dims[MAX_RANK];
	bool flat = !find_attr(n, "axis");

	if (!int_of_attr(n, "sorted", 1) || (!flat && onnx_axis(n, 0) != 0))
		cannot(p, n, "sorts, along the first axis or the elements of all");
	for (uint32_t k = 0; k < x->type.rank; k++)
		dims[k] = length(p, x, k);
	return (struct rows){
		.array = array_at(p, x, "0"),
		.rows = flat ? product(p, dims, x->type.rank) : dims[0],
		.row = flat ? "1" : product(p, dims + 1, x->type.rank - 1u),
		.dtype = x->type.dtype,
	};
}

static const char *element_of_row(struct printer *p, const struct rows *r, const char *row,
				  const char *column)
{
	const char *i = plus(p, times(p, row, r->row), column);

	return loaded(p, r->dtype, textf(p, "%s[%s]", r->array, i));
}

/* By the last column first: rows that are equal there keep the order that the next one gives. */
static void sort_rows(struct printer *p, const struct rows *r, const struct order *o)
{
	const char *one[1] = {r->rows}, *ix[1], *column = fresh(p, "column");

	uint32_t loops = open_loops(p, one, 1, ix);
	line(p, "%s[%s] = %s;", o->at, ix[0], ix[0]);
	close_loops(p, loops);
	line(p, "for (int64_t %s = %s; %s-- > 0;) {", column, r->row, column);
	p->indent++;
	loops = open_loops(p, one, 1, ix);
	const char *row = textf(p, "%s[%s]", o->at, ix[0]);
	line(p, "%s[%s] = %s;", o->keys, ix[0],
	     sort_key(p, r->dtype, element_of_row(p, r, row, column)));
	close_loops(p, loops);
	sort(p, o);
	p->indent--;
	line(p, "}");
}

/* room[i] says whether row i of the order differs from the one before. The number of rows that do.
 */
static const char *count_rows(struct printer *p, const struct rows *r, const struct order *o)
{
	const char *count = fresh(p, "count"), *i = fresh(p, "i"), *other = fresh(p, "differs");
	const char *column[1], *row[1] = {r->row};

	line(p, "int64_t %s = 0;", count);
	line(p, "for (int64_t %s = 0; %s < %s; ++%s) {", i, i, in_parens(p, r->rows), i);
	p->indent++;
	line(p, "bool %s = %s == 0;", other, i);
	uint32_t loops = open_loops(p, row, 1, column);
	const char *before = textf(p, "%s[%s > 0 ? %s - 1 : 0]", o->at, i, i);
	line(p, "%s = %s || %s != %s;", other, other, element_of_row(p, r, before, column[0]),
	     element_of_row(p, r, textf(p, "%s[%s]", o->at, i), column[0]));
	close_loops(p, loops);
	line(p, "%s[%s] = %s;", o->room, i, other);
	line(p, "%s += %s;", count, other);
	p->indent--;
	line(p, "}");
	return count;
}

/* Results: the rows, where each stands first, which of them a row of the input is, how often */
static void make_results(struct printer *p, const struct node *n, const char *rows,
			 const char *count)
{
	const struct value *x = n->in[0];
	const char *known[MAX_RANK];

	for (uint32_t i = 0; i < n->nout; i++) {
		if (!n->out[i])
			continue;
		for (uint32_t k = 0; k < n->out[i]->type.rank; k++)
			known[k] = k ? length(p, x, k) : i == 2 ? rows : count;
		set_lengths(p, n->out[i], known);
		make_array(p, n->out[i]);
	}
}

static void print_result(struct printer *p, const struct node *n, uint32_t i, const char *where,
			 const char *what)
{
	if (i < n->nout && n->out[i])
		line(p, "%s[%s]%s;", held(p, n->out[i])->name, where, what);
}

void unique_put(struct printer *p, const struct node *n)
{
	struct rows r = rows_of(p, n);
	struct order o = make_order(p, n->in[0], r.rows);
	const char *i = fresh(p, "i"), *last = fresh(p, "last"), *column[1], *row[1] = {r.row};

	sort_rows(p, &r, &o);
	make_results(p, n, r.rows, count_rows(p, &r, &o));
	line(p, "int64_t %s = -1;", last);
	line(p, "for (int64_t %s = 0; %s < %s; ++%s) {", i, i, in_parens(p, r.rows), i);
	p->indent++;
	const char *from = textf(p, "%s[%s]", o.at, i);
	line(p, "if (%s[%s]) {", o.room, i);
	p->indent++;
	line(p, "++%s;", last);
	print_result(p, n, 1, last, textf(p, " = %s", from));
	print_result(p, n, 3, last, " = 0");
	uint32_t loops = open_loops(p, row, 1, column);
	const char *e = to_store(p, r.dtype, element_of_row(p, &r, from, column[0]));
	print_result(p, n, 0, plus(p, times(p, last, r.row), column[0]), textf(p, " = %s", e));
	close_loops(p, loops);
	p->indent--;
	line(p, "}");
	print_result(p, n, 2, from, textf(p, " = %s", last));
	print_result(p, n, 3, last, " += 1");
	p->indent--;
	line(p, "}");
}
