/*
 * kernels.c: operators that have loops of their own and are no reductions: joined and padded
 * arrays, factors of matrices and equations with triangular ones, words of random streams, sums so
 * far. In: elements of the inputs. Out: statements that fill an array.
 */
#include <stdio.h>
#include <string.h>

#include "c/ops.h"

/* --- Concat, Pad --- */

void concat_shape(struct printer *p, const struct node *n)
{
	const struct value *y = n->out[0];
	uint32_t axis = onnx_axis(n, 0);
	const char *known[MAX_RANK];

	for (uint32_t k = 0; k < y->type.rank; k++) {
		known[k] = k == axis ? "0" : length(p, n->in[0], k);
		for (uint32_t i = 0; k == axis && i < n->nin; i++)
			known[k] = plus(p, known[k], length(p, n->in[i], k));
	}
	set_lengths(p, y, known);
	for (uint32_t i = 0; i < n->nin; i++)
		for (uint32_t k = 0; k < y->type.rank; k++)
			if (k != axis && !dim_eq(p->cx, n->in[i]->type.dims[k], y->type.dims[k]))
				must_equal(p, length(p, n->in[i], k), held(p, y)->dims[k],
					   "lengths do not fit");
}

/* Is an element of v one that lies in memory, or a number? Then it takes no time to compute. */
static bool is_only_read(const struct printer *p, const struct value *v)
{
	while (held(p, v)->where == FORMULA && op_of(p, v->def)->view)
		v = v->def->in[0];
	return v->data || held(p, v)->where != FORMULA;
}

/* Input x of a Concat, from `from` on along the axis. The loops of the axes before are open, with
 * the indices ix, if `open` is true. */
static void put_part(struct printer *p, const struct node *n, const struct value *x,
		     const char *from, bool open, const char **ix)
{
	const struct value *y = n->out[0];
	uint32_t axis = onnx_axis(n, 0), mark = p->once.len, loops;
	const char *dims[MAX_RANK];
	bool rows = !x->data; /* does x follow what is there? */

	for (uint32_t k = 0; k < x->type.rank; k++)
		dims[k] = length(p, x, k);
	for (uint32_t k = 0; k < axis; k++)
		rows &= !strcmp(held(p, y)->dims[k], "1");
	if (open)
		loops = open_loops(p, dims + axis, x->type.rank - axis, ix + axis);
	else
		loops = rows ? loops_over(p, x, x, ix) : open_loops(p, dims, x->type.rank, ix);
	const char *s = to_store(p, x->type.dtype, at(p, x, ix));
	ix[axis] = plus(p, from, ix[axis]);
	line(p, "%s[%s] = %s;", held(p, y)->name, linear(p, held(p, y)->dims, y->type.rank, ix), s);
	close_loops(p, loops);
	p->once.len = mark;
}

/* One loop over rows fills what is only read of all inputs. What is computed has loops of its own:
 * gcc makes vectors of these. */
void concat_put(struct printer *p, const struct node *n)
{
	const struct value *y = n->out[0];
	uint32_t axis = onnx_axis(n, 0), loops = 0, together = 0;
	const char *ix[MAX_RANK], **from = new_array(p->cx->arena, const char *, n->nin + 1u);

	make_array(p, y);
	from[0] = "0";
	for (uint32_t i = 0; i < n->nin; i++) {
		from[i + 1] = plus(p, from[i], length(p, n->in[i], axis));
		together += is_only_read(p, n->in[i]);
	}
	if (together > 1)
		loops = open_loops(p, held(p, y)->dims, axis, ix);
	for (uint32_t i = 0; i < n->nin && loops; i++)
		if (is_only_read(p, n->in[i]))
			put_part(p, n, n->in[i], from[i], true, ix);
	close_loops(p, loops);
	for (uint32_t i = 0; i < n->nin; i++)
		if (!loops || !is_only_read(p, n->in[i]))
			put_part(p, n, n->in[i], from[i], false, ix);
}

/* How much is added before, or behind (end), axis k of a Pad */
static const char *padding(struct printer *p, const struct node *n, uint32_t k, bool end)
{
	uint32_t rank = n->in[0]->type.rank;
	int64_t count = rank, axis;

	if (n->nin < 4 || !n->in[3])
		return element(p, n->in[1], k + (end ? rank : 0));
	if (!n->in[3]->data || !dim_is_const(p->cx, n->in[3]->type.dims[0], &count))
		cannot(p, n, "needs axes that are known while compiling");
	for (int64_t i = 0; i < count; i++)
		if (tensor_int(n->in[3]->data, (uint64_t)i, &axis) &&
		    (uint32_t)from_front(axis, rank) == k)
			return element(p, n->in[1], i + (end ? count : 0));
	return "0";
}

/* Where elements are repeated, those that are there must be enough: of what negative paddings
 * leave, one, or for "reflect" one more than are added. */
static void check_repeated(struct printer *p, const struct node *n, uint32_t k)
{
	const struct attr *mode = find_attr(n, "mode");
	const char *len = length(p, n->in[0], k), *left = len;
	const char *add[2];
	bool reflects = mode && mode->u.s.s[0] == 'r';
	dim d = n->in[0]->type.dims[k];

	if (!mode || mode->u.s.s[0] == 'c')
		return;
	for (int i = 0; i < 2; i++) {
		int64_t number;
		add[i] = padding(p, n, k, i == 1);
		if (!is_number_text(add[i], &number))
			left = textf(p, "ptgc_plus(%s, ptgc_min_i64(%s, 0))", left, add[i]);
		else if (number < 0)
			left = textf(p, "ptgc_plus(%s, %s)", left, add[i]);
	}
	for (int i = 0; i < 2; i++) {
		int64_t number;
		bool is_number = is_number_text(add[i], &number);
		if (is_number && (number == 0 || (left == len && number > 0 &&
						  dim_ge(p->cx, d, reflects ? number + 1 : 1))))
			continue;
		fail_if(p, "there are too few elements to repeat", "%s != 0 && %s <= %s",
			in_parens(p, add[i]), left,
			reflects ? textf(p, "ptgc_max_i64(%s, 0)", add[i]) : "0");
	}
}

void pad_shape(struct printer *p, const struct node *n)
{
	const char *known[MAX_RANK];

	for (uint32_t k = 0; k < n->out[0]->type.rank; k++) {
		const char *len = length(p, n->in[0], k);
		const char *before = padding(p, n, k, false), *behind = padding(p, n, k, true);
		int64_t number;
		bool numbers = is_number_text(before, &number) && is_number_text(behind, &number);
		known[k] =
			numbers ? plus(p, len, plus(p, before, behind))
				: textf(p, "ptgc_plus(%s, ptgc_plus(%s, %s))", before, behind, len);
	}
	set_lengths(p, n->out[0], known);
	for (uint32_t k = 0; k < n->out[0]->type.rank; k++)
		check_repeated(p, n, k);
}

void pad_put(struct printer *p, const struct node *n)
{
	const struct value *x = n->in[0], *y = n->out[0];
	const struct attr *mode = find_attr(n, "mode");
	const char *ix[MAX_RANK], *own[MAX_RANK], *none[1] = {"0"}, *inside = NULL, *fill;
	uint32_t mark = p->once.len, rank = y->type.rank;
	int64_t before;
	bool constant = !mode || mode->u.s.s[0] == 'c';

	make_array(p, y);
	fill = n->nin > 2 && n->in[2] ? at(p, n->in[2], none) : "0";
	uint32_t loops = open_loops(p, held(p, y)->dims, rank, ix);
	for (uint32_t k = 0; k < rank; k++) {
		const char *add = padding(p, n, k, false), *len = length(p, x, k);
		bool number = is_number_text(add, &before);
		const char *minus = number ? textf(p, "%lld", (long long)-before)
					   : textf(p, "-%s", in_parens(p, add));
		own[k] = plus(p, ix[k], minus);
		bool none_added = number && before == 0 && !strcmp(held(p, y)->dims[k], len);
		if (constant && !none_added) {
			const char *here = textf(p, "%s >= 0 && %s < %s", in_parens(p, own[k]),
						 in_parens(p, own[k]), in_parens(p, len));
			inside = inside ? textf(p, "%s && %s", inside, here) : here;
		} else if (!constant) {
			own[k] = textf(p, "ptgc_%s(%s, %s)",
				       mode->u.s.s[0] == 'e'   ? "edge"
				       : mode->u.s.s[0] == 'r' ? "reflect"
							       : "wrap",
				       own[k], len);
		}
	}
	const char *to =
		textf(p, "%s[%s]", held(p, y)->name, linear(p, held(p, y)->dims, rank, ix));
	if (inside) {
		line(p, "if (!(%s)) {", inside);
		line(p, "\t%s = %s;", to, to_store(p, y->type.dtype, fill));
		line(p, "} else {");
		p->indent++;
	}
	line(p, "%s = %s;", to, to_store(p, y->type.dtype, at(p, x, own)));
	if (inside) {
		p->indent--;
		line(p, "}");
	}
	close_loops(p, loops);
	p->once.len = mark;
}

/* --- matrices that are triangular, one call of lib/c for each of a batch --- */

const char *array_at(struct printer *p, const struct value *v, const char *first)
{
	const struct held *h = held(p, v);
	const char *name = v->data ? constant_array(p, v) : h->name;

	if (!v->data && h->where != MEMORY)
		bug("c: an array is read that is none");
	if (h->buffer)
		p->buffers.at[h->buffer - 1].to = p->statement;
	return strcmp(first, "0") ? textf(p, "%s + %s", name, first) : name;
}

/* The first element of the matrix of v that the indices of the result's first axes choose */
static const char *matrix_at(struct printer *p, const struct value *v, const char **ix,
			     uint32_t batch)
{
	const char *dims[MAX_RANK], *own[MAX_RANK];
	uint32_t mine = v->type.rank - 2u;

	for (uint32_t k = 0; k < v->type.rank; k++)
		dims[k] = length(p, v, k);
	for (uint32_t k = 0; k < mine; k++)
		own[k] = !strcmp(dims[k], "1") ? "0" : ix[batch - mine + k];
	return array_at(
		p, v, times(p, linear(p, dims, mine, own), times(p, dims[mine], dims[mine + 1u])));
}

void cholesky_put(struct printer *p, const struct node *n)
{
	const struct value *a = n->in[0], *y = n->out[0];
	const char *ix[MAX_RANK];
	uint32_t batch = y->type.rank - 2u;

	make_array(p, y);
	if (!dim_eq(p->cx, a->type.dims[batch], a->type.dims[batch + 1u]))
		must_equal(p, length(p, a, batch), length(p, a, batch + 1u),
			   "the matrix is not square");
	uint32_t loops = open_loops(p, held(p, y)->dims, batch, ix);
	const char *from = matrix_at(p, a, ix, batch), *to = matrix_at(p, y, ix, batch);
	line(p, "ptgc_cholesky(%s, %s, %s, %d);", from, to, length(p, a, batch),
	     (int)int_of_attr(n, "lower", 0));
	close_loops(p, loops);
}

void solve_triangle_put(struct printer *p, const struct node *n)
{
	const struct value *a = n->in[0], *b = n->in[1], *x = n->out[0];
	const char *ix[MAX_RANK];
	uint32_t batch = x->type.rank - 2u, rank = a->type.rank;

	make_array(p, x);
	if (!dim_eq(p->cx, a->type.dims[rank - 2u], a->type.dims[rank - 1u]))
		must_equal(p, length(p, a, rank - 2u), length(p, a, rank - 1u),
			   "the matrix is not square");
	uint32_t loops = open_loops(p, held(p, x)->dims, batch, ix);
	const char *matrix = matrix_at(p, a, ix, batch), *right = matrix_at(p, b, ix, batch);
	const char *to = matrix_at(p, x, ix, batch);
	const char *rows = length(p, a, rank - 1u), *columns = length(p, b, b->type.rank - 1u);
	line(p, "ptgc_solve_triangle(%s, %s, %s, %s, %s, %d, %d);", matrix, right, to, rows,
	     columns, (int)int_of_attr(n, "lower", 0), (int)int_of_attr(n, "unit", 0));
	close_loops(p, loops);
}

/* --- words of random streams, one call of lib/c for each generator of a batch --- */

/* Which generator it is, as names of functions have it */
static const char *stream_of(struct printer *p, const struct node *n)
{
	const struct astr *kind = &find_attr(n, "kind")->u.s;

	return textf(p, "%.*s", (int)kind->len, kind->s);
}

/* The words of v, a row for each generator, at the row that the indices choose */
static const char *row_at(struct printer *p, const struct value *v, const char **ix)
{
	const char *dims[MAX_RANK];
	uint32_t batch = v->type.rank - 1u;

	for (uint32_t k = 0; k <= batch; k++)
		dims[k] = length(p, v, k);
	return array_at(p, v, times(p, linear(p, dims, batch, ix), dims[batch]));
}

void words_shape(struct printer *p, const struct node *n)
{
	const char *known[MAX_RANK];
	uint32_t batch = n->in[0]->type.rank - 1u;

	for (uint32_t k = 0; k < batch; k++)
		known[k] = length(p, n->in[0], k);
	known[batch] = element(p, n->in[1], 0);
	set_lengths(p, n->out[0], known);
}

void words_put(struct printer *p, const struct node *n)
{
	const struct value *s = n->in[0], *y = n->out[0];
	const char *ix[MAX_RANK];
	uint32_t batch = y->type.rank - 1u;

	make_array(p, y);
	uint32_t loops = open_loops(p, held(p, y)->dims, batch, ix);
	const char *from = row_at(p, s, ix), *to = row_at(p, y, ix);
	line(p, "ptgc_words_%s(%s, %s, %s);", stream_of(p, n), from, held(p, y)->dims[batch], to);
	close_loops(p, loops);
}

/* How many words were used, which may be a number for each generator */
void after_put(struct printer *p, const struct node *n)
{
	const struct value *s = n->in[0], *used = n->in[1], *y = n->out[0];
	const char *ix[MAX_RANK];
	uint32_t batch = y->type.rank - 1u, mark = p->once.len;

	make_array(p, y);
	uint32_t loops = open_loops(p, held(p, y)->dims, batch, ix);
	const char *from = row_at(p, s, ix), *to = row_at(p, y, ix);
	const char *count = at(p, used, ix + (batch - used->type.rank));
	line(p, "ptgc_after_%s(%s, %s, %s);", stream_of(p, n), from, count, to);
	p->once.len = mark;
	close_loops(p, loops);
}

/* --- along an axis --- */

void cumsum_put(struct printer *p, const struct node *n)
{
	const struct value *x = n->in[0], *y = n->out[0];
	enum dtype t = x->type.dtype;
	bool exclusive = int_of_attr(n, "exclusive", 0), reverse = int_of_attr(n, "reverse", 0);
	const char *ix[MAX_RANK], *one[1], *T = number_type(t), *U = unsigned_type(t);
	uint32_t loops = 0, mark = p->once.len;
	int64_t axis;

	if (!is_number_text(element(p, n->in[1], 0), &axis))
		cannot(p, n, "needs an axis that is known while compiling");
	axis = from_front(axis, x->type.rank);
	make_array(p, y);
	for (uint32_t i = 0; i < x->type.rank; i++) {
		one[0] = length(p, x, i);
		if (i != axis)
			loops += open_loops(p, one, 1, &ix[i]);
	}
	const char *sum = fresh(p, "sum");
	/* -0 stays -0, where the sum itself is not shown before its first term */
	line(p, "%s %s = %s;", T, sum, is_float(t) && !exclusive ? "-0.0f" : "0");
	one[0] = length(p, x, (uint32_t)axis);
	uint32_t in = open_loops(p, one, 1, &ix[axis]);
	if (reverse)
		ix[axis] = textf(p, "%s - 1 - %s", in_parens(p, one[0]), ix[axis]);
	const char *e = in_parens(p, at(p, x, ix));
	const char *to =
		textf(p, "%s[%s]", held(p, y)->name, linear(p, held(p, y)->dims, y->type.rank, ix));
	const char *next = is_float(t) ? textf(p, "%s + %s", sum, e)
				       : textf(p, "(%s)((%s)%s + (%s)%s)", T, U, sum, U, e);
	next = t == DT_FLOAT16 ? textf(p, "ptgc_f16_round(%s)", next) : next;
	const char *now = fresh(p, "next");
	line(p, "const %s %s = %s;", T, now, next);
	line(p, "%s = %s;", to, to_store(p, t, exclusive ? sum : now));
	line(p, "%s = %s;", sum, now);
	close_loops(p, in);
	close_loops(p, loops);
	p->once.len = mark;
}
