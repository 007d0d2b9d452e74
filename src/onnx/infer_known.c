/*
 * infer_known.c: known integers of the results of ONNX nodes. In: a node whose results are
 * typed. Out: the elements of integer results of rank 0 or 1 as dims, where they are proved. Dims
 * have no overflow, but ONNX's integers wrap. So an int32 or narrower element is known only
 * if it is a constant of that dtype, and what a runtime computes in float64 is known only up to
 * 2^53.
 *
 * Each rule known_x() of facts.def returns element i of the result, or DIM_NONE if it is not
 * known.
 */
#include "onnx/internal.h"

/* Several results (of Split) are numbered as if they were joined: the rule is asked for elements
 * 0, 1 of a first result of two elements, then for 2, 3, ... */
void set_known_results(struct infer *f, dim (*rule)(struct infer *f, uint32_t i))
{
	uint32_t before = 0;

	for (uint32_t r = 0; r < f->n->nout && f->n->out[r]; r++) {
		int n = known_count(f->cx, &f->n->out[r]->type);
		if (n < 0)
			return;
		struct known *k = known_new(f->cx, (uint32_t)n);
		for (uint32_t i = 0; i < k->n; i++)
			if (!(k->at[i] = rule(f, before + i)))
				return;
		/* Reshape(x, [0]) has no elements, but fails if x has some: the result is not known
		 * if x is not */
		if (!k->n && rule == known_copy && !input_known(f, 0))
			return;
		before += k->n;
		known_set(f->cx, f->n->out[r], k);
	}
}

/* Element i of input `in`, where a single element broadcasts; DIM_NONE: not known */
static dim input_element(struct infer *f, uint32_t in, uint32_t i)
{
	struct value *v = input(f, in);

	return v ? known_broadcast(f->cx, v, i) : DIM_NONE;
}

dim known_none(struct infer *f, uint32_t i)
{
	(void)f;
	(void)i;
	return DIM_NONE;
}

/* --- arithmetic --- */

dim known_unary(struct infer *f, uint32_t i)
{
	dim a = input_element(f, 0, i);
	int64_t v;

	if (!a || dim_is(f->cx, a, INT64_MIN) || known_may_wrap(f->cx, a, f->op->id != ONNX_Neg))
		return DIM_NONE;
	if (f->op->id == ONNX_Neg)
		return dim_neg(f->cx, a);
	if (f->op->id == ONNX_Relu)
		return dim_max(f->cx, a, const_dim(f, 0));
	if (f->op->id == ONNX_Not)
		return dim_is_const(f->cx, a, &v) ? const_dim(f, !v) : DIM_NONE;
	if (f->op->id == ONNX_Abs)
		return dim_abs(f->cx, a);
	return dim_sign(f->cx, a);
}

/* *r = a op b. false: the result would wrap, or is a division by 0 */
static bool fold_binary(const struct infer *f, int64_t a, int64_t b, int64_t *r)
{
	if (f->op->id == ONNX_Add || f->op->id == ONNX_Sum)
		return !__builtin_add_overflow(a, b, r);
	if (f->op->id == ONNX_Sub)
		return !__builtin_sub_overflow(a, b, r);
	if (f->op->id == ONNX_Mul)
		return !__builtin_mul_overflow(a, b, r);
	if (f->op->id == ONNX_Max || f->op->id == ONNX_Min) {
		*r = (a > b) == (f->op->id == ONNX_Max) ? a : b;
		return true;
	}
	if (b == 0 || (a == INT64_MIN && b == -1))
		return false;
	if (f->op->id == ONNX_Div) {
		*r = a / b;
		return true;
	}
	int64_t m = a % b; /* the result has the sign of the divisor, with fmod of the dividend */
	*r = m && !int_attr(f, "fmod") && (m < 0) != (b < 0) ? m + b : m;
	return true;
}

/* DIM_NONE: a or b may be the result of an addition that wraps */
static dim known_minmax(struct infer *f, dim a, dim b, bool max)
{
	struct ctx *cx = f->cx;

	if (known_may_wrap(cx, a, true) || known_may_wrap(cx, b, true))
		return DIM_NONE;
	dim d = max ? dim_max(cx, a, b) : dim_min(cx, a, b);
	return known_minmax_wraps(cx, d) ? DIM_NONE : d;
}

static dim known_pair(struct infer *f, dim a, dim b)
{
	struct ctx *cx = f->cx;
	bool ordered = f->op->id == ONNX_Div || f->op->id == ONNX_Mod;
	int64_t x, y, r;

	if (dim_is_const(cx, a, &x) && dim_is_const(cx, b, &y))
		return fold_binary(f, x, y, &r) ? const_dim(f, r) : DIM_NONE;
	if (f->op->id == ONNX_Max || f->op->id == ONNX_Min)
		return known_minmax(f, a, b, f->op->id == ONNX_Max);
	if (known_may_wrap(cx, a, ordered) || known_may_wrap(cx, b, ordered))
		return DIM_NONE;
	if (!ordered && known_leaves_int64(cx, a, b))
		return DIM_NONE;
	if (f->op->id == ONNX_Add || f->op->id == ONNX_Sum)
		return dim_add(cx, a, b);
	if (f->op->id == ONNX_Sub)
		return dim_sub(cx, a, b);
	if (f->op->id == ONNX_Mul)
		return dim_mul(cx, a, b);
	if (!dim_ge(cx, b, 1) || !dim_ge(cx, a, 0)) /* Div truncates, dims round down */
		return DIM_NONE;
	return f->op->id == ONNX_Div ? dim_floordiv(cx, a, b) : dim_mod(cx, a, b);
}

dim known_binary(struct infer *f, uint32_t i)
{
	dim d = input_element(f, 0, i);

	for (uint32_t k = 1; k < f->n->nin && d; k++) {
		dim e = input_element(f, k, i);
		d = e ? known_pair(f, d, e) : DIM_NONE;
	}
	return d;
}

dim known_logic(struct infer *f, uint32_t i)
{
	dim a = input_element(f, 0, i), b = input_element(f, 1, i);
	int64_t x, y;

	if (!a || !b || !dim_is_const(f->cx, a, &x) || !dim_is_const(f->cx, b, &y))
		return DIM_NONE;
	return const_dim(f, f->op->id == ONNX_And  ? x && y
			    : f->op->id == ONNX_Or ? x || y
						   : !x != !y);
}

dim known_compare(struct infer *f, uint32_t i)
{
	dim a = input_element(f, 0, i), b = input_element(f, 1, i);
	struct ctx *cx = f->cx;

	if (!a || !b || known_may_wrap(cx, a, f->op->id != ONNX_Equal) ||
	    known_may_wrap(cx, b, f->op->id != ONNX_Equal))
		return DIM_NONE;
	if (f->op->id == ONNX_Equal)
		return dim_eq(cx, a, b)   ? const_dim(f, 1)
		       : dim_ne(cx, a, b) ? const_dim(f, 0)
					  : DIM_NONE;
	bool less = f->op->id == ONNX_Less || f->op->id == ONNX_LessOrEqual;
	bool equal = f->op->id == ONNX_LessOrEqual || f->op->id == ONNX_GreaterOrEqual;
	dim d = less ? dim_sub(cx, a, b) : dim_sub(cx, b, a); /* the result is d < 0, or d <= 0 */
	if (dim_le(cx, d, equal ? 0 : -1))
		return const_dim(f, 1);
	return dim_ge(cx, d, equal ? 1 : 0) ? const_dim(f, 0) : DIM_NONE;
}

dim known_where(struct infer *f, uint32_t i)
{
	dim c = input_element(f, 0, i);
	int64_t v;

	return c && dim_is_const(f->cx, c, &v) ? input_element(f, v ? 1 : 2, i) : DIM_NONE;
}

/* Clip is min(max(x, low), high), also where low > high. */
dim known_clip(struct infer *f, uint32_t i)
{
	dim d = input_element(f, 0, i);

	for (uint32_t k = 1; k < 3 && d; k++) {
		if (!input(f, k))
			continue;
		dim e = input_element(f, k, 0);
		d = e ? known_minmax(f, d, e, k == 1) : DIM_NONE;
	}
	return d;
}

/* ONNX Runtime computes ReduceProd and ReduceSum of integers in float64, exact up to 2^53. */
dim known_reduce(struct infer *f, uint32_t i)
{
	const struct known *k = input_known(f, 0);
	bool prod = f->op->id == ONNX_ReduceProd, sum = f->op->id == ONNX_ReduceSum;

	if (!k || i || known_count(f->cx, &f->n->out[0]->type) != 1 || (!k->n && !prod && !sum))
		return DIM_NONE;
	if (input_type(f, 0).rank && int_attr(f, "noop_with_empty_axes") &&
	    !find_attr(f->n, "axes") && input_count(f, 1) <= 0)
		return DIM_NONE;
	dim d = k->n ? k->at[0] : const_dim(f, prod);
	for (uint32_t j = 1; d && j < k->n; j++)
		d = (prod || sum) && known_leaves_int64(f->cx, d, k->at[j]) ? DIM_NONE
		    : prod ? dim_mul(f->cx, d, k->at[j])
		    : sum  ? dim_add(f->cx, d, k->at[j])
			   : known_minmax(f, d, k->at[j], f->op->id == ONNX_ReduceMax);
	int64_t v;
	bool inexact = d && (prod || sum) && dim_is_const(f->cx, d, &v) &&
		       (v > (int64_t)1 << 53 || v < -((int64_t)1 << 53));
	return inexact ? DIM_NONE : d;
}

/* --- copies --- */

/* Reshape, Squeeze, ...: input and result have rank 0 or 1, so the order stays. */
dim known_copy(struct infer *f, uint32_t i)
{
	const struct known *k = input_known(f, 0);

	return k && k->n == (uint32_t)known_count(f->cx, &f->n->out[0]->type) ? k->at[i] : DIM_NONE;
}

dim known_cast(struct infer *f, uint32_t i)
{
	bool to_bool = f->n->out[0]->type.dtype == DT_BOOL && input_type(f, 0).dtype != DT_BOOL;
	return to_bool ? DIM_NONE : known_copy(f, i);
}

/* Expand or Tile of one element, or to the length that the input has */
dim known_spread(struct infer *f, uint32_t i)
{
	const struct known *k = input_known(f, 0);

	return k && (k->n == 1 || k->n == (uint32_t)known_count(f->cx, &f->n->out[0]->type))
		       ? input_element(f, 0, i)
		       : DIM_NONE;
}

/* --- shapes and vectors --- */

dim known_shape(struct infer *f, uint32_t i)
{
	struct type t = input_type(f, 0);
	int64_t start = int_attr(f, "start");

	start = from_front(start, t.rank);
	return t.dims[(start < 0 ? 0 : start) + i];
}

dim known_size(struct infer *f, uint32_t i)
{
	struct type t = input_type(f, 0);

	(void)i;
	return dims_product(f->cx, t.dims, t.rank);
}

dim known_filled(struct infer *f, uint32_t i)
{
	const struct attr *a = find_attr(f->n, "value");
	int64_t v;

	(void)i;
	return a && tensor_int(a->u.t, 0, &v) ? const_dim(f, v) : DIM_NONE;
}

dim known_range(struct infer *f, uint32_t i)
{
	dim start = input_element(f, 0, 0), step = input_element(f, 2, 0);

	return start && step ? dim_add(f->cx, start, dim_mul(f->cx, step, const_dim(f, i)))
			     : DIM_NONE;
}

dim known_gather(struct infer *f, uint32_t i)
{
	const struct known *k = input_known(f, 0);
	dim at = input_element(f, 1, i);
	int64_t v;

	if (!k || input_type(f, 0).rank != 1 || !at || !dim_is_const(f->cx, at, &v))
		return DIM_NONE;
	v = from_front(v, k->n);
	return v >= 0 && v < k->n ? k->at[v] : DIM_NONE;
}

static int64_t clamp_int(int64_t v, int64_t low, int64_t high)
{
	return v < low ? low : v > high ? high : v;
}

dim known_slice(struct infer *f, uint32_t i)
{
	const struct known *k = input_known(f, 0);
	int64_t start, step = 1;

	if (!k || input_type(f, 0).rank != 1 || !input_const(f, 1, 0, &start) ||
	    (input(f, 4) && !input_const(f, 4, 0, &step)))
		return DIM_NONE;
	start = clamp_int(start, -(int64_t)MAX_KNOWN - 1, MAX_KNOWN);
	start = clamp_int(from_front(start, k->n), 0, (int64_t)k->n - (step < 0));
	step = clamp_int(step, -(int64_t)MAX_KNOWN - 1, MAX_KNOWN + 1);
	start += step * i;
	return start >= 0 && start < k->n ? k->at[start] : DIM_NONE;
}

dim known_concat(struct infer *f, uint32_t i)
{
	for (uint32_t in = 0; in < f->n->nin; in++) {
		const struct known *k = input_known(f, in);
		if (!k)
			return DIM_NONE;
		if (i < k->n)
			return k->at[i];
		i -= k->n;
	}
	return DIM_NONE;
}

dim known_split(struct infer *f, uint32_t i)
{
	const struct known *all = input_known(f, 0);

	return all && i < all->n ? all->at[i] : DIM_NONE;
}
