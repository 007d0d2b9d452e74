/*
 * products.c: sums of products along one axis (-fno-fold and -fno-reassociate turn it off). In: a
 * product of floats that is summed up along an axis, before the sum is made. Out: the sum as a
 * MatMul, where one factor has the rows and the other the columns, as in sum(x[:, :, None] * y[:,
 * None, :], axis=0); a constant that is the same all along the axis multiplies the sum. Gradients
 * of linear algebra on many right sides are such sums. The order of the additions changes.
 */
#include <math.h>

#include "lower/build.h"

#define LARGE   1024      /* lengths beyond are taken for this one */
#define CHECKED (1 << 16) /* elements of a constant that are compared */
#define LEAST   0x1p-30   /* of the numbers of such a constant, 0 apart, with -flarge-terms */
#define MOST    0x1p+30

/* The axis of v, a factor, that is this axis of a product of rank `rank` */
static uint32_t behind(const struct value *v, uint32_t rank, uint32_t axis)
{
	return axis - (rank - v->type.rank);
}

/* Are the numbers of the constant t, 0 apart, so large that x adds up to no more than GROWTH times
 * what t * x does, and not huge? */
static bool may_go_behind(struct build *b, const struct tensor *t)
{
	double least = b->cx->opt.large_terms ? LEAST : 1.0 / GROWTH;

	if (!t->count || t->count > CHECKED)
		return false;
	for (uint64_t i = 0; i < stored_elements(t); i++) {
		double x = fabs(tensor_float(t, i));
		if (x != 0 && !(x >= least && x <= MOST))
			return false;
	}
	return true;
}

/* Is the constant t the same all along this axis? */
static bool is_same_along(const struct tensor *t, uint32_t axis)
{
	uint64_t inner = 1, length = (uint64_t)t->shape[axis];

	for (uint32_t i = axis + 1; i < (uint32_t)t->rank; i++)
		inner *= (uint64_t)t->shape[i];
	for (uint64_t i = 0; i < t->count && !t->splat; i++)
		if (tensor_float(t, i) != tensor_float(t, i - i / inner % length * inner))
			return false;
	return true;
}

/* The constant without this axis or, to keep it, with length 1 */
static struct value *flattened(struct build *b, struct value *c, uint32_t axis, bool keep)
{
	const struct tensor *t = c->data;
	int64_t shape[MAX_RANK];
	uint32_t rank = 0;
	uint64_t inner = 1, outer, length = (uint64_t)t->shape[axis], size = dtypes[t->dtype].size;

	for (uint32_t i = 0; i < (uint32_t)t->rank; i++) {
		if (i > axis)
			inner *= (uint64_t)t->shape[i];
		if (i != axis || keep)
			shape[rank++] = i == axis ? 1 : t->shape[i];
	}
	outer = t->count / inner / length;
	struct tensor *r = tensor_new(b->cx, (enum dtype)t->dtype, (int)rank, shape);
	char *data = arena_alloc(b->cx->arena, mul_size(b->cx->arena, outer * inner, size));
	for (uint64_t i = 0; i < outer * inner; i++) {
		double x = tensor_float(t, i / inner * inner * length + i % inner);
		tensor_convert((enum dtype)t->dtype, data + i * size, DT_FLOAT64, &x, 1);
	}
	r->data = data;
	return const_tensor(b, r);
}

/* The sum of x * c, c a constant, is that of x times c. */
static struct value *factor_out(struct build *b, const struct value *v, uint32_t axis, bool keep)
{
	uint32_t rank = v->type.rank;

	for (uint32_t i = 0; i < 2; i++) {
		struct value *c = v->def->in[i], *x = v->def->in[1 - i];
		if (!is_constant(c) || !c->type.rank || c->type.rank > rank ||
		    x->type.rank != rank || !may_go_behind(b, c->data) ||
		    !dim_eq(b->cx, x->type.dims[axis], v->type.dims[axis]))
			continue;
		bool has = axis >= rank - c->type.rank;
		if (has && !is_same_along(c->data, behind(c, rank, axis)))
			continue;
		c = has ? flattened(b, c, behind(c, rank, axis), keep) : c;
		return emit_(b, ONNX_Mul, c,
			     reduce(b, ONNX_ReduceSum, x, (int[]){(int)axis}, 1, keep));
	}
	return NULL;
}

/* The length, or what it is taken for: large enough to tell */
static int64_t length_of(struct build *b, dim d)
{
	int64_t n = dim_expected(b->cx, d, OPEN_LENGTH);

	return n < LARGE ? n : LARGE;
}

/* x, a factor, as matrices: without the axis `without`, and with the axis `moved` behind all others
 * or, for before = 1, before the last one */
static struct value *as_matrices(struct build *b, struct value *x, uint32_t without, uint32_t moved,
				 uint32_t before)
{
	int64_t perm[MAX_RANK];
	uint32_t rank = x->type.rank - 1u, n = 0, at = moved - (moved > without);

	x = squeeze(b, x, &(int64_t){without}, 1);
	for (uint32_t i = 0; i < rank; i++) {
		if (n == rank - 1 - before)
			perm[n++] = at;
		if (i != at)
			perm[n++] = i;
	}
	if (n < rank)
		perm[n] = at;
	return transpose(b, x, perm);
}

/* Is v the product of x, which has its rows, and y, which has its columns, and both its other axes?
 * Is a MatMul of them the faster way to sum it up along `axis`? For one of many small matrices,
 * what that takes is compared with the rows and the elements of the product. */
static bool are_matrices(struct build *b, const struct value *v, const struct value *x,
			 const struct value *y, uint32_t axis, uint32_t row, uint32_t column)
{
	const dim *dims = v->type.dims;
	bool many = false;

	for (uint32_t i = 0; i < v->type.rank; i++) {
		bool x1 = dim_is(b->cx, x->type.dims[i], 1), y1 = dim_is(b->cx, y->type.dims[i], 1);
		if (i == row ? x1 || !y1 : i == column && (!x1 || y1))
			return false;
		if (i == row || i == column)
			continue;
		if (!dim_eq(b->cx, x->type.dims[i], y->type.dims[i]))
			return false;
		many |= i != axis && !x1;
	}
	if (!many)
		return true;
	enum dtype t = (enum dtype)v->type.dtype;
	int64_t runs = length_of(b, dims[axis]) * length_of(b, dims[row]);
	double product = (double)runs * cost_of_run(t) +
			 cost_of(ONNX_Mul, t, runs * length_of(b, dims[column]));
	return product - cost_of(ONNX_Mul, t, 0) >=
	       cost_of(ONNX_MatMul, t, 1) - cost_of(ONNX_MatMul, t, 0);
}

static struct value *as_matmul(struct build *b, const struct value *v, uint32_t axis, bool keep)
{
	uint32_t rank = v->type.rank, column = rank - (axis == rank - 1u ? 2u : 1u);
	uint32_t row = column - (axis == column - 1u ? 2u : 1u);

	for (uint32_t i = 0; i < 2 && rank > 2; i++) {
		struct value *x = v->def->in[i], *y = v->def->in[1 - i];
		if (x->type.rank != rank || y->type.rank != rank ||
		    !are_matrices(b, v, x, y, axis, row, column))
			continue;
		x = as_matrices(b, x, column, axis, 0);
		y = as_matrices(b, y, row, axis, 1);
		struct value *r = emit_(b, ONNX_MatMul, x, y);
		return keep ? unsqueeze(b, r, &(int64_t){axis}, 1) : r;
	}
	return NULL;
}

struct value *sum_of_products(struct build *b, struct value *v, uint32_t axis, bool keep)
{
	enum dtype t = (enum dtype)v->type.dtype;

	if (!is_onnx(v->def, ONNX_Mul) || (t != DT_FLOAT32 && t != DT_FLOAT64) ||
	    dim_is(b->cx, v->type.dims[axis], 1))
		return NULL;
	struct value *r = factor_out(b, v, axis, keep);
	return r ? r : as_matmul(b, v, axis, keep);
}
