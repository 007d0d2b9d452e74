/*
 * dot.c: lowers products of matrices and vectors. Out: MatMul, or Gemm if its constants fit.
 * Integers wrap as in PyTensor: MatMul of int32 and wider ones does, narrow ones are cast.
 */
#include <string.h>

#include "lower/ops/lowerings.h"

/*
 * ONNX Runtime's MatMul takes 12 to 50 times as long where its right operand has rank 1 as for the
 * same numbers as a column, or with the vector on the left. Such a node also computes wrong numbers
 * for Transpose(x) @ vector, and fails for a matrix without rows or columns. So none is made, but
 * for the target c.
 * What else MatMul gets wrong:
 * - x @ y, where x must be broadcast to the leading dims of y: if the inner length is 0, x is not
 *   broadcast; if a leading dim is 0, the run fails.
 */

/* Is v @ transpose(x) the faster form of x @ v, and right? It takes one node less at a run. */
static bool may_transpose(struct build *b, const struct type *x)
{
	int64_t count = 1, n;

	for (uint32_t i = 0; i < x->rank; i++) {
		if (!dim_is_const(b->cx, x->dims[i], &n) || n < 1 || n > INT32_MAX)
			return false;
		count *= n;
	}
	return x->rank == 2 && (x->dtype != DT_FLOAT64 || count <= SIZE_TRANSPOSED_FACTOR);
}

static bool repeats_left(struct build *b, const struct type *x, const struct type *y)
{
	for (uint32_t i = 3; i <= y->rank; i++) {
		dim d = y->dims[y->rank - i];
		bool same = i <= x->rank && dim_eq(b->cx, x->dims[x->rank - i], d);
		if (same || dim_is(b->cx, d, 1))
			continue;
		if (!dim_ge(b->cx, d, 1) || !dim_ge(b->cx, x->dims[x->rank - 1], 1))
			return true;
	}
	return false;
}

/* The same for broadcasting y, if it has leading dims of its own. */
static bool repeats_right(struct build *b, const struct type *x, const struct type *y)
{
	bool leading = false, empty = false;

	for (uint32_t i = 3; i <= y->rank; i++)
		leading |= !dim_is(b->cx, y->dims[y->rank - i], 1);
	for (uint32_t i = 3; i <= x->rank; i++)
		empty |= !dim_ge(b->cx, x->dims[x->rank - i], 1) &&
			 (i > y->rank || dim_is(b->cx, y->dims[y->rank - i], 1));
	return leading && empty;
}

/* x broadcast to the leading dims of y. */
static struct value *broadcast_leading(struct build *b, struct value *x, const struct type *y)
{
	uint32_t rank = x->type.rank > y->rank ? x->type.rank : y->rank;
	dim *dims = new_array(b->cx->arena, dim, rank);

	for (uint32_t i = 1; i <= rank; i++) {
		dim d = i <= x->type.rank ? x->type.dims[x->type.rank - i] : DIM_NONE;
		bool one = i <= y->rank && (!d || dim_is(b->cx, d, 1));
		dims[rank - i] = i > 2 && one ? y->dims[y->rank - i] : d;
	}
	return expand(b, x, dims, rank);
}

/* If v is a vector with an axis of length 1 inserted: the vector; else NULL. */
static struct value *vector_behind(struct build *b, const struct value *v, int axis)
{
	const struct node *n = v->def;

	if ((!is_onnx(n, ONNX_Unsqueeze) && !is_onnx(n, ONNX_Reshape)) || v->type.rank != 2 ||
	    n->in[0]->type.rank != 1 || !dim_is(b->cx, v->type.dims[axis], 1))
		return NULL;
	return n->in[1]->data ? n->in[0] : NULL;
}

/* x @ v of a matrix and a vector of floats; NULL: it takes a column */
static struct value *matrix_by_vector(struct build *b, struct value *x, struct value *v)
{
	if (is_onnx(x->def, ONNX_Transpose) && x->type.rank == 2)
		return emit_(b, ONNX_MatMul, v, x->def->in[0]);
	if (!may_transpose(b, &x->type))
		return b->cx->opt.target == PTGC_C ? emit_(b, ONNX_MatMul, x, v) : NULL;
	return emit_(b, ONNX_MatMul, v, transpose(b, x, (int64_t[]){1, 0}));
}

/* x @ v[:, None] becomes (x @ v)[:, None], and v[None] @ y becomes (v @ y)[None]: later rewrites
 * may drop the axis of the result. NULL: it is no such product */
static struct value *multiply_vector(struct build *b, struct value *x, struct value *y)
{
	struct value *row = vector_behind(b, x, 0), *column = vector_behind(b, y, 1), *r = NULL;

	if (x->type.rank != 2 || y->type.rank != 2 || !is_float((enum dtype)x->type.dtype))
		return NULL;
	if (column)
		r = matrix_by_vector(b, x, column);
	if (r)
		return unsqueeze(b, r, &(int64_t){1}, 1);
	return row ? unsqueeze(b, emit_(b, ONNX_MatMul, row, y), &(int64_t){0}, 1) : NULL;
}

/* x @ y, of which y is a vector */
static struct value *by_vector(struct build *b, struct value *x, struct value *y)
{
	int64_t last = (int64_t)x->type.rank - 1, n = INT64_MAX;
	bool real = is_float((enum dtype)x->type.dtype);
	struct value *r = last == 1 && real ? matrix_by_vector(b, x, y) : NULL;

	if (r)
		return r;
	if (last) {
		y = unsqueeze(b, y, &(int64_t){1}, 1);
		return squeeze(b, emit_(b, ONNX_MatMul, x, y), &last, 1);
	}
	/* lengths that may differ are compared by MatMul */
	dim_is_const(b->cx, x->type.dims[0], &n);
	if (n < SIZE_SUMMED_PRODUCT || x->type.dims[0] != y->type.dims[0])
		return emit_(b, ONNX_MatMul, x, y);
	return reduce(b, ONNX_ReduceSum, emit_(b, ONNX_Mul, x, y), (int[]){0}, 1, false);
}

/* NumPy's matmul, also of empty matrices; integers wrap. */
struct value *matmul(struct build *b, struct value *x, struct value *y)
{
	enum dtype t = (enum dtype)x->type.dtype;
	int64_t last = (int64_t)x->type.rank - 1;
	struct value *r = multiply_vector(b, x, y);

	if (r)
		return r;
	/* MatMul of uint32 and uint64 fails on an inner length of 0; int64 has the same bits */
	if ((t == DT_UINT32 || t == DT_UINT64) && !dim_ge(b->cx, x->type.dims[last], 1)) {
		y = cast(b, y, DT_INT64);
		x = matmul(b, cast(b, x, DT_INT64), y);
		return cast(b, x, t);
	}
	if (y->type.rank == 1 && (is_float(t) || last > 0))
		return by_vector(b, x, y);
	if (repeats_right(b, &x->type, &y->type))
		y = broadcast_leading(b, y, &x->type);
	if (!repeats_left(b, &x->type, &y->type))
		return emit_(b, ONNX_MatMul, x, y);
	if (last > 0)
		return emit_(b, ONNX_MatMul, broadcast_leading(b, x, &y->type), y);
	int64_t row = y->type.rank - 2;
	x = broadcast_leading(b, unsqueeze(b, x, &(int64_t){0}, 1), &y->type);
	return squeeze(b, emit_(b, ONNX_MatMul, x, y), &row, 1);
}

bool lower_matmul(struct build *b, struct node *n)
{
	struct value *y = low(b, n->in[1]);

	set_lowered(b, n, 0, matmul(b, low(b, n->in[0]), y));
	return true;
}

bool lower_dot(struct build *b, struct node *n)
{
	struct value *x = low(b, n->in[0]), *y = low(b, n->in[1]);

	if (x->type.rank == 0 || y->type.rank == 0)
		set_lowered(b, n, 0, emit_(b, ONNX_Mul, x, y));
	else
		set_lowered(b, n, 0, matmul(b, x, y));
	return true;
}

static struct value *scale(struct build *b, struct value *v, struct value *by)
{
	double k;

	return uniform_number(constant_data(by), &k) && k == 1 ? v : emit_(b, ONNX_Mul, by, v);
}

/* beta * z + alpha * xy. If beta is 0, z does not count, even if it holds NaN, as in BLAS. */
static struct value *add_product(struct build *b, struct value *z, struct value *alpha,
				 struct value *xy, struct value *beta)
{
	struct value *product = scale(b, xy, alpha);
	double k = 0;
	bool constant = uniform_number(constant_data(beta), &k);

	if (constant && k == 0)
		return product;
	struct value *sum = emit_(b, ONNX_Add, scale(b, z, beta), product);
	if (constant)
		return sum;
	struct value *zero = const_int_of(b, (enum dtype)z->type.dtype, 0);
	return where(b, emit_(b, ONNX_Equal, beta, zero), product, sum);
}

static bool fits_gemm(struct value *v, float *f)
{
	double k;

	if (!is_float((enum dtype)v->type.dtype) || v->type.dtype == DT_FLOAT16 ||
	    !uniform_number(constant_data(v), &k))
		return false;
	*f = (float)k;
	return *f == k;
}

/* A number, or one for each item of a batch, which multiplies items of `rank` dims */
static struct value *factor(struct build *b, struct value *v, uint32_t rank)
{
	return unsqueeze(b, v, (int64_t[]){1, 2}, v->type.rank ? rank : 0);
}

/* A vector, or those of a batch, as columns or rows */
static struct value *vectors_as(struct build *b, struct value *v, bool columns)
{
	return unsqueeze(b, v, &(int64_t){v->type.rank - !columns}, 1);
}

static void set_product(struct build *b, struct node *n, struct value *r)
{
	struct type t = n->out[0]->type; /* r may lack the batch, if a factor is 0 */

	set_lowered(b, n, 0, expand(b, r, t.dims, t.rank));
}

bool lower_gemm(struct build *b, struct node *n)
{
	struct value *in[5];
	float alpha, beta;

	for (int i = 0; i < 5; i++)
		in[i] = i == 1 || i == 4 ? factor(b, low(b, n->in[i]), 2) : low(b, n->in[i]);
	/* without columns of x Gemm forgets beta */
	if (n->out[0]->type.rank == 2 && fits_gemm(in[1], &alpha) && fits_gemm(in[4], &beta) &&
	    beta != 0 && (beta == 1 || dim_ge(b->cx, in[2]->type.dims[1], 1))) {
		attr_float(b, "alpha", alpha);
		attr_float(b, "beta", beta);
		set_lowered(b, n, 0, emit_(b, ONNX_Gemm, in[2], in[3], in[0]));
		return true;
	}
	struct value *xy = matmul(b, in[2], in[3]);
	set_product(b, n, add_product(b, in[0], in[1], xy, in[4]));
	return true;
}

bool lower_gemv(struct build *b, struct node *n)
{
	struct value *a = low(b, n->in[2]), *x = low(b, n->in[3]), *ax;

	if (x->type.rank == 1) {
		ax = matmul(b, a, x);
	} else {
		ax = matmul(b, a, vectors_as(b, x, true));
		ax = squeeze(b, ax, &(int64_t){2}, 1);
	}
	struct value *beta = factor(b, low(b, n->in[4]), 1);
	struct value *alpha = factor(b, low(b, n->in[1]), 1);
	ax = add_product(b, low(b, n->in[0]), alpha, ax, beta);
	set_product(b, n, ax);
	return true;
}

bool lower_ger(struct build *b, struct node *n)
{
	struct value *x = vectors_as(b, low(b, n->in[2]), true);
	struct value *xy = emit_(b, ONNX_Mul, x, vectors_as(b, low(b, n->in[3]), false));

	xy = scale(b, xy, factor(b, low(b, n->in[1]), 2));
	set_product(b, n, emit_(b, ONNX_Add, low(b, n->in[0]), xy));
	return true;
}

bool lower_dot22scalar(struct build *b, struct node *n)
{
	struct value *y = low(b, n->in[1]), *xy = matmul(b, low(b, n->in[0]), y);

	set_product(b, n, scale(b, xy, factor(b, low(b, n->in[2]), 2)));
	return true;
}
