/*
 * index.c: elements that indices choose, and indices that conditions choose. In: arrays of indices,
 * negative ones counted from the end. An index that is out of range sets `bad`, and reads or writes
 * nothing. Out: expressions and arrays, of which some have a length that only the run knows.
 */
#include <string.h>

#include "c/ops.h"

#define NOT_EARLY UINT32_MAX

/* The index `i` into an axis of that length, from the front and in range; 0 if it is not. It may be
 * looked up early, where no element is read: outside of all loops, which may have no rounds, but
 * `loops`. */
static const char *in_range(struct printer *p, const struct node *n, const char *i, const char *len,
			    uint32_t loops)
{
	int64_t k, size;
	bool number = is_number_text(i, &k);

	if (!strcmp(len, "1")) { /* there is no choice, but there may be a mistake */
		p->flags = true;
		if (!(number && (k == 0 || k == -1)))
			line(p, "(void)ptgc_index(%s, 1, %u, &bad);", i,
			     failure(p, n, "an index is out of range"));
		return "0";
	}

	if (number && is_number_text(len, &size) && k >= -size && k < size)
		return number_text(p, from_front(k, size));
	p->flags = true;
	const char *found = textf(p, "ptgc_index(%s, %s, %u, &bad)", i, len,
				  failure(p, n, "an index is out of range"));
	if (loops != NOT_EARLY)
		return number_in_loops(p, "at", found, loops);
	const char *name = fresh(p, "at");
	line(p, "const int64_t %s = %s;", name, found);
	return name;
}

/* Is i the number of a step of a loop that has no more steps than x is long? */
static bool counts_within_axis(struct printer *p, const struct value *i, const struct value *x,
			       uint32_t axis)
{
	dim below = held(p, i)->below;

	return below != DIM_NONE && dim_ge(p->cx, dim_sub(p->cx, x->type.dims[axis], below), 0);
}

/* An element of x, or 0 if an axis that was indexed may be empty */
static const char *guarded(struct printer *p, const struct value *x, uint32_t axis, const char *s)
{
	if (dim_ge(p->cx, x->type.dims[axis], 1))
		return s;
	return textf(p, "%s > 0 ? %s : (%s)0", in_parens(p, length(p, x, axis)), in_parens(p, s),
		     number_type(x->type.dtype));
}

/* --- Gather --- */

/* Where the rows of x are empty, no element asks whether the indices are in range. */
static void check_unread(struct printer *p, const struct node *n, uint32_t axis)
{
	const struct value *x = n->in[0], *i = n->in[1];
	const char *empty = NULL, *ix[MAX_RANK], *dims[MAX_RANK];
	uint32_t mark = p->once.len;
	int64_t number;

	for (uint32_t k = 0; k < x->type.rank; k++) {
		if (k == axis || dim_ge(p->cx, x->type.dims[k], 1))
			continue;
		const char *none = textf(p, "%s == 0", in_parens(p, length(p, x, k)));
		empty = empty ? textf(p, "%s || %s", empty, none) : none;
	}
	if (!empty || (!i->type.rank && is_number_text(element(p, i, 0), &number) &&
		       dim_ge(p->cx, x->type.dims[axis], number < 0 ? -number : number + 1)))
		return;
	line(p, "if (%s) {", empty);
	p->indent++;
	for (uint32_t k = 0; k < i->type.rank; k++)
		dims[k] = length(p, i, k);
	uint32_t loops = open_loops(p, dims, i->type.rank, ix);
	p->flags = true;
	const char *index = i->type.rank ? at(p, i, ix) : element(p, i, 0);
	uint32_t failed = failure(p, n, "an index is out of range");
	line(p, "(void)ptgc_index(%s, %s, %u, &bad);", index, length(p, x, axis), failed);
	close_loops(p, loops);
	p->once.len = mark;
	p->indent--;
	line(p, "}");
}

void gather_shape(struct printer *p, const struct node *n)
{
	const struct value *x = n->in[0], *i = n->in[1];
	uint32_t axis = onnx_axis(n, 0), k = 0;
	const char *known[MAX_RANK];

	for (uint32_t j = 0; j < axis; j++)
		known[k++] = length(p, x, j);
	for (uint32_t j = 0; j < i->type.rank; j++)
		known[k++] = length(p, i, j);
	for (uint32_t j = axis + 1; j < x->type.rank; j++)
		known[k++] = length(p, x, j);
	set_lengths(p, n->out[0], known);
	check_unread(p, n, axis);
}

const char *gather_at(struct printer *p, const struct node *n, uint32_t r, const char **ix)
{
	const struct value *x = n->in[0], *i = n->in[1];
	uint32_t axis = onnx_axis(n, 0);
	const char *own[MAX_RANK], *index;
	int64_t k;

	(void)r;
	index = i->type.rank == 0 && !is_float(i->type.dtype) ? element(p, i, 0)
							      : at(p, i, ix + axis);
	if (x->type.rank == 1 && known_of(p->cx, (struct value *)x) && is_number_text(index, &k)) {
		int64_t count;
		if (dim_is_const(p->cx, x->type.dims[0], &count) && k >= -count && k < count &&
		    held(p, x)->where == UNSEEN)
			return element(p, x, from_front(k, count));
	}
	bool within = counts_within_axis(p, i, x, axis);
	/* without rounds of the loops over i there is no index */
	uint32_t loops = may_be_empty(p->cx, &i->type) ? loops_of(p, ix + axis, i->type.rank) : 0;
	for (uint32_t j = 0; j < axis; j++)
		own[j] = ix[j];
	own[axis] = within ? index : in_range(p, n, index, length(p, x, axis), loops);
	for (uint32_t j = axis + 1; j < x->type.rank; j++)
		own[j] = ix[j + i->type.rank - 1u];
	const char *s = at(p, x, own);
	return within ? s : guarded(p, x, axis, s);
}

/* The indices may not be longer than the array along the other axes. */
static void check_within(struct printer *p, const struct value *i, const struct value *x,
			 uint32_t axis)
{
	for (uint32_t k = 0; k < i->type.rank; k++)
		if (k != axis && !dim_eq(p->cx, i->type.dims[k], x->type.dims[k]))
			fail_if(p, "lengths do not fit", "%s > %s", in_parens(p, length(p, i, k)),
				in_parens(p, length(p, x, k)));
}

void gather_elements_shape(struct printer *p, const struct node *n)
{
	const char *known[MAX_RANK];

	for (uint32_t k = 0; k < n->in[1]->type.rank; k++)
		known[k] = length(p, n->in[1], k);
	set_lengths(p, n->out[0], known);
	check_within(p, n->in[1], n->in[0], onnx_axis(n, 0));
}

/* Are all axes of x from that one on known to have elements? */
static bool has_elements(struct printer *p, const struct value *x, uint32_t axis)
{
	for (; axis < x->type.rank; axis++)
		if (!dim_ge(p->cx, x->type.dims[axis], 1))
			return false;
	return true;
}

const char *gather_elements_at(struct printer *p, const struct node *n, uint32_t r, const char **ix)
{
	const struct value *x = n->in[0];
	uint32_t axis = onnx_axis(n, 0);
	const char *own[MAX_RANK];
	uint32_t loops = may_be_empty(p->cx, &n->in[1]->type) ? NOT_EARLY : 0;

	(void)r;
	memcpy(own, ix, x->type.rank * sizeof(*own));
	own[axis] = in_range(p, n, at(p, n->in[1], ix), length(p, x, axis), loops);
	return guarded(p, x, axis, at(p, x, own));
}

static uint32_t tuple_length(struct printer *p, const struct node *n)
{
	const struct value *i = n->in[1];
	int64_t k;

	if (!i->type.rank || !dim_is_const(p->cx, i->type.dims[i->type.rank - 1u], &k))
		cannot(p, n, "needs a number of indices that is known while compiling");
	return (uint32_t)k;
}

void gather_nd_shape(struct printer *p, const struct node *n)
{
	const struct value *x = n->in[0], *i = n->in[1];
	uint32_t batch = (uint32_t)int_of_attr(n, "batch_dims", 0), count = tuple_length(p, n),
		 k = 0;
	const char *known[MAX_RANK];

	for (uint32_t j = 0; j + 1u < i->type.rank; j++)
		known[k++] = length(p, i, j);
	for (uint32_t j = batch + count; j < x->type.rank; j++)
		known[k++] = length(p, x, j);
	set_lengths(p, n->out[0], known);
	for (uint32_t j = 0; j < batch; j++)
		must_equal(p, length(p, i, j), length(p, x, j), "lengths do not fit");
}

const char *gather_nd_at(struct printer *p, const struct node *n, uint32_t r, const char **ix)
{
	const struct value *x = n->in[0], *i = n->in[1];
	uint32_t batch = (uint32_t)int_of_attr(n, "batch_dims", 0), count = tuple_length(p, n);
	const char *own[MAX_RANK], *of[MAX_RANK];
	uint32_t k = 0, before = i->type.rank - 1u;
	uint32_t loops = has_elements(p, x, batch + count) ? 0 : NOT_EARLY;

	(void)r;
	memcpy(of, ix, before * sizeof(*of));
	for (; k < batch; k++)
		own[k] = ix[k];
	for (uint32_t j = 0; j < count; j++, k++) {
		of[before] = textf(p, "%u", j);
		own[k] = in_range(p, n, at(p, i, of), length(p, x, k), loops);
	}
	for (uint32_t j = before; k < x->type.rank; j++, k++)
		own[k] = ix[j];
	const char *s = at(p, x, own);
	for (uint32_t j = batch; j < batch + count; j++)
		s = guarded(p, x, j, s);
	return s;
}

/* --- Scatter --- */

/* What becomes of an element that is there when x comes to it */
static const char *combined(struct printer *p, const struct node *n, const char *old, const char *x)
{
	const struct attr *a = find_attr(n, "reduction");
	enum dtype t = n->out[0]->type.dtype;
	const char *T = number_type(t), *U = unsigned_type(t), *f = t == DT_FLOAT64 ? "" : "f";

	if (!a || a->u.s.len == 0 || !strncmp(a->u.s.s, "none", 4))
		return x;
	bool add = !strncmp(a->u.s.s, "add", 3), mul = a->u.s.s[1] == 'u';
	x = in_parens(p, x);
	if ((add || mul) && t == DT_BOOL)
		return textf(p, "%s %s %s", old, add ? "||" : "&&", x);
	if ((add || mul) && is_float(t))
		return t == DT_FLOAT16
			       ? textf(p, "ptgc_f16_round(%s %s %s)", old, add ? "+" : "*", x)
			       : textf(p, "%s %s %s", old, add ? "+" : "*", x);
	if (add || mul)
		return textf(p, "(%s)((%s)%s %s (%s)%s)", T, U, old, add ? "+" : "*", U, x);
	bool most = a->u.s.s[1] == 'a';
	if (is_float(t))
		return textf(p, "ptgc_%s%s(%s, %s)", most ? "max" : "min", f, old, x);
	return textf(p, "(%s)(%s %s %s ? %s : %s)", T, x, most ? ">" : "<", old, x, old);
}

/* x goes to the element of the result whose indices are own[] */
static void put_reduced(struct printer *p, const struct node *n, const char **own, const char *x)
{
	const struct value *y = n->out[0];
	enum dtype t = y->type.dtype;
	const char *to = textf(p, "%s[%s]", held(p, y)->name,
			       linear(p, held(p, y)->dims, y->type.rank, own));

	if (t != DT_FLOAT16 && strlen(x) > 20) {
		const char *name = fresh(p, "t");
		line(p, "const %s %s = %s;", number_type(t), name, x);
		x = name;
	}
	line(p, "%s = %s;", to, to_store(p, t, combined(p, n, loaded(p, t, to), x)));
}

/* The name of the index i along an axis of the result. An axis of no elements has none. */
static const char *put_index(struct printer *p, const struct node *n, const char *i, uint32_t axis)
{
	const struct value *y = n->out[0];
	const char *where = fresh(p, "to");

	line(p, "const int64_t %s = %s;", where, in_range(p, n, i, length(p, y, axis), NOT_EARLY));
	if (!dim_ge(p->cx, y->type.dims[axis], 1)) {
		line(p, "if (%s == 0)", in_parens(p, length(p, y, axis)));
		line(p, "\treturn bad;");
	}
	return where;
}

void scatter_elements_put(struct printer *p, const struct node *n)
{
	const struct value *i = n->in[1], *y = n->out[0];
	const char *ix[MAX_RANK], *own[MAX_RANK], *dims[MAX_RANK];
	uint32_t axis = onnx_axis(n, 0), mark;

	make_array(p, y);
	copy(p, y, n->in[0]);
	mark = p->once.len;
	for (uint32_t k = 0; k < i->type.rank; k++) {
		dims[k] = length(p, i, k);
		if (!dim_eq(p->cx, i->type.dims[k], n->in[2]->type.dims[k]))
			must_equal(p, dims[k], length(p, n->in[2], k), "lengths do not fit");
	}
	check_within(p, i, y, axis);
	uint32_t loops = open_loops(p, dims, i->type.rank, ix);
	memcpy(own, ix, y->type.rank * sizeof(*own));
	own[axis] = put_index(p, n, at(p, i, ix), axis);
	const char *x = at(p, n->in[2], ix);
	put_reduced(p, n, own, x);
	close_loops(p, loops);
	p->once.len = mark;
}

void scatter_nd_put(struct printer *p, const struct node *n)
{
	const struct value *i = n->in[1], *y = n->out[0];
	const char *ix[MAX_RANK], *own[MAX_RANK], *dims[MAX_RANK], *of[MAX_RANK];
	uint32_t count = tuple_length(p, n), before = i->type.rank - 1u, k = 0, mark;

	make_array(p, y);
	copy(p, y, n->in[0]);
	mark = p->once.len;
	for (uint32_t j = 0; j < before; j++)
		dims[k++] = length(p, i, j);
	for (uint32_t j = count; j < y->type.rank; j++)
		dims[k++] = length(p, y, j);
	for (uint32_t j = 0; j < k; j++)
		must_equal(p, dims[j], length(p, n->in[2], j), "lengths do not fit");
	uint32_t loops = open_loops(p, dims, before, ix);
	memcpy(of, ix, before * sizeof(*of));
	for (uint32_t j = 0; j < count; j++) {
		of[before] = textf(p, "%u", j);
		own[j] = put_index(p, n, at(p, i, of), j);
	}
	/* indices are checked where rows have no elements, too */
	loops += open_loops(p, dims + before, k - before, ix + before);
	for (uint32_t j = count; j < y->type.rank; j++)
		own[j] = ix[before + j - count];
	const char *x = at(p, n->in[2], ix);
	put_reduced(p, n, own, x);
	close_loops(p, loops);
	p->once.len = mark;
}

/* --- what conditions choose: counted first, so that there is room --- */

static uint32_t loops_over_axes(struct printer *p, const struct value *x, const char **ix)
{
	const char *dims[MAX_RANK];

	for (uint32_t k = 0; k < x->type.rank; k++)
		dims[k] = length(p, x, k);
	return open_loops(p, dims, x->type.rank, ix);
}

void nonzero_put(struct printer *p, const struct node *n)
{
	const struct value *x = n->in[0], *y = n->out[0];
	const char *ix[MAX_RANK], *known[2], *count = fresh(p, "count"), *next = fresh(p, "at");
	uint32_t mark = p->once.len;

	line(p, "int64_t %s = 0;", count);
	uint32_t loops = loops_over_axes(p, x, ix);
	line(p, "%s += %s != 0;", count, in_parens(p, at(p, x, ix)));
	close_loops(p, loops);
	p->once.len = mark;
	known[0] = textf(p, "%u", x->type.rank);
	known[1] = count;
	set_lengths(p, y, known);
	make_array(p, y);
	line(p, "int64_t %s = 0;", next);
	loops = loops_over_axes(p, x, ix);
	line(p, "if (%s != 0 && %s < %s) {", in_parens(p, at(p, x, ix)), next,
	     in_parens(p, held(p, y)->dims[1]));
	for (uint32_t k = 0; k < x->type.rank; k++)
		line(p, "\t%s[%s] = %s;", held(p, y)->name,
		     plus(p, times(p, textf(p, "%u", k), held(p, y)->dims[1]), next), ix[k]);
	line(p, "\t++%s;", next);
	line(p, "}");
	close_loops(p, loops);
	p->once.len = mark;
}

void compress_put(struct printer *p, const struct node *n)
{
	const struct value *x = n->in[0], *c = n->in[1], *y = n->out[0];
	const char *ix[MAX_RANK], *own[MAX_RANK], *known[MAX_RANK], *one[1], *test[1];
	const char *count = fresh(p, "count"), *next = fresh(p, "at"), *len, *all;
	bool flat = !find_attr(n, "axis");
	uint32_t axis = flat ? 0 : onnx_axis(n, 0), mark = p->once.len;

	for (uint32_t k = 0; k < x->type.rank; k++)
		known[k] = length(p, x, k);
	len = flat ? product(p, known, x->type.rank) : known[axis];
	all = length(p, c, 0);
	if (strcmp(all, len))
		all = textf(p, "ptgc_min_i64(%s, %s)", all, len);
	line(p, "int64_t %s = 0;", count);
	one[0] = all;
	uint32_t loops = open_loops(p, one, 1, test);
	line(p, "%s += %s;", count, in_parens(p, at(p, c, test)));
	close_loops(p, loops);
	p->once.len = mark;
	known[axis] = count;
	set_lengths(p, y, known);
	make_array(p, y);
	line(p, "int64_t %s = 0;", next);
	if (flat) {
		const char *k = fresh(p, "k");
		line(p, "int64_t %s = 0;", k);
		loops = loops_over_axes(p, x, ix);
		test[0] = k;
		const char *e = to_store(p, x->type.dtype, at(p, x, ix));
		line(p, "if (%s < %s && %s && %s < %s)", k, in_parens(p, all),
		     in_parens(p, at(p, c, test)), next, in_parens(p, held(p, y)->dims[0]));
		line(p, "\t%s[%s++] = %s;", held(p, y)->name, next, e);
		line(p, "++%s;", k);
		close_loops(p, loops);
		p->once.len = mark;
		return;
	}
	loops = open_loops(p, one, 1, test);
	line(p, "if (%s && %s < %s) {", in_parens(p, at(p, c, test)), next,
	     in_parens(p, held(p, y)->dims[axis]));
	p->indent++;
	uint32_t inner = 0;
	for (uint32_t k = 0; k < x->type.rank; k++) {
		one[0] = length(p, x, k);
		if (k == axis)
			ix[k] = test[0];
		else
			inner += open_loops(p, one, 1, &ix[k]);
		own[k] = k == axis ? next : ix[k];
	}
	const char *s = at(p, x, ix);
	line(p, "%s[%s] = %s;", held(p, y)->name, linear(p, held(p, y)->dims, y->type.rank, own),
	     to_store(p, x->type.dtype, s));
	close_loops(p, inner);
	line(p, "++%s;", next);
	p->indent--;
	line(p, "}");
	close_loops(p, loops);
	p->once.len = mark;
}
