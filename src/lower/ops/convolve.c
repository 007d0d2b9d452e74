/*
 * convolve.c: lowers Convolve1d and Convolve2d. Out: Conv, where the target has it for the dtype;
 * else Gather takes the windows of the first input, and MatMul multiplies them with the second one,
 * exactly for integers and with the rounding of a dot product for floats. If it is not known which
 * input is longer, the "valid" part is a Slice of the "full" result.
 */
#include <math.h>
#include <string.h>

#include "lower/ops/lowerings.h"
#include "target/target.h"

#define MAX_CONSTANT 16384 /* most window indices of a constant */

/* at[o, j] = o + k - 1 - j: the kernel runs backwards */
static struct value *window_indices(struct build *b, dim out, dim k)
{
	int64_t rows, cols;

	if (dim_is_const(b->cx, out, &rows) && dim_is_const(b->cx, k, &cols) && rows > 0 &&
	    cols > 0 && rows <= MAX_CONSTANT / cols) {
		struct tensor *t = tensor_new(b->cx, DT_INT64, 2, (int64_t[]){rows, cols});
		int64_t *v = new_array(b->cx->arena, int64_t, (size_t)(rows * cols));
		for (int64_t i = 0; i < rows * cols; i++)
			v[i] = i / cols + cols - 1 - i % cols;
		t->data = v;
		return const_tensor(b, t);
	}
	struct value *last = dim_value(b, dim_sub(b->cx, k, dim_const(b->cx, 1)));
	struct value *back = emit_(b, ONNX_Sub, last, counting(b, k));
	return emit_(b, ONNX_Add, unsqueeze(b, counting(b, out), &(int64_t){1}, 1), back);
}

static struct value *check_not_empty(struct build *b, struct value *v)
{
	struct value *size = emit_(b, ONNX_Size, v);

	for (uint32_t i = 0; i < v->type.rank; i++)
		if (!dim_ge(b->cx, v->type.dims[i], 1))
			return check(b, v, emit_(b, ONNX_Greater, size, const_int(b, 0)),
				     "the inputs of a convolution must not be empty");
	return v;
}

/* Are all elements finite, so that 0 times each is 0? */
static bool is_finite(const struct value *k)
{
	const struct tensor *t = k->data;

	if (!is_float((enum dtype)k->type.dtype))
		return true;
	if (!t || !t->data || t->splat || t->count > MAX_CONSTANT)
		return false;
	for (int64_t i = 0; i < (int64_t)t->count; i++)
		if (!isfinite(tensor_float(t, i)))
			return false;
	return true;
}

/* Which elements of the windows are not in the padding of an axis: bool[outputs, k], and for the
 * first of two axes [outputs, k, 1, 1] */
static struct value *is_not_padding(struct build *b, struct value *at, dim k, dim length,
				    bool first)
{
	dim edge = dim_sub(b->cx, k, dim_const(b->cx, 1));
	struct value *from = dim_value(b, edge), *to = dim_value(b, dim_add(b->cx, edge, length));
	struct value *on = emit_(b, ONNX_And, emit_(b, ONNX_GreaterOrEqual, at, from),
				 emit_(b, ONNX_Less, at, to));

	return first ? unsqueeze(b, on, (int64_t[]){2, 3}, 2) : on;
}

/* The windows of a padded x times k, without products with the padding: 0 times inf or NaN would be
 * NaN, and NumPy has no padding. If `with` (may be NULL) is true, the products are kept. float16 is
 * rounded at the end. */
static struct value *inner_sums(struct build *b, struct value *windows, struct value *const at[2],
				struct value *k, const dim *lengths, struct value *with)
{
	enum dtype t = (enum dtype)k->type.dtype, wide = t == DT_FLOAT16 ? DT_FLOAT32 : t;
	uint32_t rank = k->type.rank;
	struct value *on = is_not_padding(b, at[0], k->type.dims[0], lengths[0], rank > 1), *p;

	if (rank > 1) {
		p = is_not_padding(b, at[1], k->type.dims[1], lengths[1], false);
		on = emit_(b, ONNX_And, on, p);
		k = unsqueeze(b, k, &(int64_t){1}, 1);
	}
	if (with)
		on = emit_(b, ONNX_Or, on, with);
	p = emit_(b, ONNX_Mul, cast(b, windows, wide), cast(b, k, wide));
	p = emit_(b, ONNX_Where, on, p, const_int_of(b, wide, 0));
	return cast(b, reduce(b, ONNX_ReduceSum, p, (int[]){1, 3}, (int)rank, false), t);
}

/* k backwards along all of its axes */
static struct value *reversed(struct build *b, struct value *k)
{
	static const int64_t axes[2] = {0, 1}, last[2] = {-1, -1},
			     first[2] = {-INT64_MAX, -INT64_MAX};
	const struct tensor *from = k->data;
	uint32_t rank = k->type.rank;

	if (!from || !from->data || from->splat || from->count > MAX_CONSTANT)
		return slice(b, k, axes, rank, const_ints(b, last, rank),
			     const_ints(b, first, rank), const_ints(b, last, rank));
	struct tensor *t = tensor_new(b->cx, from->dtype, from->rank, from->shape);
	size_t size = dtypes[from->dtype].size, n = (size_t)from->count;
	uint8_t *to = arena_alloc(b->cx->arena, n * size + 1);
	for (size_t i = 0; i < n; i++)
		memcpy(to + i * size, (const uint8_t *)from->data + (n - 1 - i) * size, size);
	t->data = to;
	return const_tensor(b, t);
}

/* The same by Conv, which takes a kernel in the order of the input, and a batch of images with
 * channels. */
static struct value *conv(struct build *b, struct value *x, struct value *k, bool full,
			  const dim *out)
{
	static const int64_t axes[2] = {0, 1};
	uint32_t rank = x->type.rank;
	int64_t pads[4], n;
	dim edges[4];
	bool known = true;

	for (uint32_t i = 0; full && i < rank; i++) {
		edges[i] = edges[rank + i] = dim_sub(b->cx, k->type.dims[i], dim_const(b->cx, 1));
		known &= dim_is_const(b->cx, edges[i], &n);
		pads[i] = pads[rank + i] = n;
	}
	if (!known)
		x = emit_(b, ONNX_Pad, x, dims_vector(b, edges, 2 * rank));
	x = unsqueeze(b, x, axes, 2);
	k = unsqueeze(b, reversed(b, k), axes, 2);
	if (full && known)
		attr_ints(b, "pads", pads, 2 * rank);
	return with_dims(squeeze(b, emit_(b, ONNX_Conv, x, k), axes, 2), out);
}

/* The windows of x times k. full: x is padded; inner: as inner_sums() does it */
static struct value *windows_times(struct build *b, struct value *x, struct value *k, bool full,
				   bool inner, struct value *with)
{
	struct ctx *cx = b->cx;
	uint32_t rank = x->type.rank;
	struct value *at[2];
	dim lengths[2], pads[4], one = dim_const(cx, 1), *out = new_array(cx->arena, dim, rank);

	for (uint32_t i = 0; i < rank; i++) {
		dim edge = dim_sub(cx, k->type.dims[i], one);
		pads[i] = pads[rank + i] = edge;
		lengths[i] = x->type.dims[i];
		out[i] = full ? dim_add(cx, x->type.dims[i], edge)
			      : dim_sub(cx, x->type.dims[i], edge);
	}
	if (find_kernel(b->cx, ONNX_Conv, (enum dtype)x->type.dtype, 2) &&
	    !(full && inner && !is_finite(k)))
		return conv(b, x, k, full, out);
	if (full)
		x = emit_(b, ONNX_Pad, x, dims_vector(b, pads, 2 * rank));
	for (uint32_t i = 0; i < rank; i++) {
		at[i] = window_indices(b, out[i], k->type.dims[i]);
		if (i)
			attr_int(b, "axis", 2 * i);
		x = emit_(b, ONNX_Gather, x, at[i]);
	}
	if (full && inner && !is_finite(k))
		return with_dims(inner_sums(b, x, at, k, lengths, with), out);
	if (rank == 1)
		return with_dims(matmul(b, x, k), out);
	dim *d = new_array(cx->arena, dim, 3), *flat = new (cx->arena, dim);
	d[0] = out[0];
	d[1] = out[1];
	d[2] = *flat = dims_product(cx, k->type.dims, 2);
	x = transpose(b, x, (int64_t[]){0, 2, 1, 3});
	x = reshape_to(b, x, dims_vector(b, d, 3), d, 3);
	return with_dims(matmul(b, x, reshape(b, k, flat, 1)), out);
}

/* 1: x is as long as k or longer on each axis; -1: the other way round; 0: not known */
static int compare_lengths(struct build *b, const struct value *x, const struct value *k)
{
	bool more = true, less = true;

	for (uint32_t i = 0; i < x->type.rank; i++) {
		dim d = dim_sub(b->cx, x->type.dims[i], k->type.dims[i]);
		more &= dim_ge(b->cx, d, 0);
		less &= dim_le(b->cx, d, 0);
	}
	return more ? 1 : less ? -1 : 0;
}

static struct value *min_or_max(struct build *b, enum onnx_id op, struct value *x, struct value *y)
{
	b->cse->shared->small_ints = true;
	struct value *r = emit_(b, op, x, y);
	b->cse->shared->small_ints = false;
	return r;
}

/* whole[shorter - 1 : longer], or all of `whole` if `full` (may be NULL) is true */
static struct value *valid_part(struct build *b, struct value *whole, struct value *x,
				struct value *k, struct value *full)
{
	uint32_t rank = x->type.rank;
	struct value *nx = shape_of(b, x), *nk = shape_of(b, k);
	struct value *start = emit_(b, ONNX_Sub, min_or_max(b, ONNX_Min, nx, nk), const_int(b, 1));
	struct value *stop = min_or_max(b, ONNX_Max, nx, nk);

	if (full) {
		start = emit_(b, ONNX_Where, full, const_int(b, 0), start);
		stop = emit_(b, ONNX_Where, full, const_int(b, INT64_MAX), stop);
	}
	return slice(b, whole, (int64_t[]){0, 1}, rank, start, stop, NULL);
}

/* Makes the run fail if one input is longer on one axis and shorter on the other: there is no valid
 * part, and SciPy raises. */
static struct value *check_comparable(struct build *b, struct value *r, struct value *x,
				      struct value *k, struct value *full)
{
	if (x->type.rank < 2 || !b->cx->opt.check_dims || b->target == PTGC_ONNX)
		return r;
	struct value *nx = shape_of(b, x), *nk = shape_of(b, k), *zero = const_int(b, 0);

	b->cse->shared->small_ints = true;
	struct value *more =
		reduce(b, ONNX_ReduceMax, emit_(b, ONNX_Sub, nx, nk), &(int){0}, 1, false);
	struct value *less =
		reduce(b, ONNX_ReduceMax, emit_(b, ONNX_Sub, nk, nx), &(int){0}, 1, false);
	struct value *crossed = emit_(b, ONNX_Greater, emit_(b, ONNX_Min, more, less), zero);
	b->cse->shared->small_ints = false;
	struct value *ok = emit_(b, ONNX_Not, crossed);
	return check(b, r, full ? emit_(b, ONNX_Or, full, ok) : ok,
		     "what is convolved must be at least as long on all axes, or on none");
}

/* 1: x has no fewer elements than k; -1: it has; 0: not known */
static int compare_sizes(struct build *b, const struct value *x, const struct value *k)
{
	dim more = dim_sub(b->cx, dims_product(b->cx, x->type.dims, x->type.rank),
			   dims_product(b->cx, k->type.dims, k->type.rank));

	return dim_ge(b->cx, more, 0) ? 1 : dim_le(b->cx, more, -1) ? -1 : 0;
}

/* SciPy pads the input with more elements, and multiplies the padding with the other one. Here x is
 * padded. If k has more elements, inf and NaN would spoil other sums than in SciPy: the run fails.
 */
static struct value *check_padded_is_larger(struct build *b, struct value *r, struct value *x,
					    struct value *k, struct value *full)
{
	if (!is_float((enum dtype)r->type.dtype) || (is_finite(x) && is_finite(k)) ||
	    !b->cx->opt.check_dims || b->target == PTGC_ONNX)
		return r;
	struct value *zero = const_int_of(b, (enum dtype)r->type.dtype, 0);
	struct value *none =
		reduce(b, ONNX_ReduceSum, emit_(b, ONNX_Mul, r, zero), (int[]){0, 1}, 2, false);
	struct value *ok = emit_(b, ONNX_Equal, none, zero);

	ok = emit_(b, ONNX_Or, ok,
		   emit_(b, ONNX_GreaterOrEqual, emit_(b, ONNX_Size, x), emit_(b, ONNX_Size, k)));
	if (full)
		ok = emit_(b, ONNX_Or, ok, emit_(b, ONNX_Not, full));
	return check(b, r, ok,
		     "the second input, if it is the larger one, convolves finite numbers alone");
}

/* false: every run would fail (reported) */
static bool check_static_sizes(struct build *b, const struct node *n, bool valid)
{
	const struct type *x = &n->in[0]->type, *k = &n->in[1]->type;
	bool more = false, less = false;
	int64_t p = 1, q = 1;

	for (uint32_t i = 0; i < x->rank; i++) {
		bool known = dim_is_const(b->cx, x->dims[i], &p);
		known &= dim_is_const(b->cx, k->dims[i], &q);
		if (p == 0 || q == 0) {
			raises(b, "the inputs of a convolution must not be empty");
			return false;
		}
		more |= known && p > q;
		less |= known && p < q;
	}
	if (valid && more && less)
		raises(b, "there is no valid part where neither is at least as long on all axes");
	return !valid || !more || !less;
}

bool lower_convolve(struct build *b, struct node *n)
{
	struct type t = n->out[0]->type;
	struct value *mode = cast(b, low(b, n->in[2]), DT_BOOL), *r;
	int64_t full;
	bool fixed = const_int_at(b, mode, 0, &full);

	if (!check_static_sizes(b, n, fixed && !full))
		return false;
	bool direct = n->op == &op_table[OP_Convolve2d] &&
		      !strcmp(prop_str(b->cx, n, "method"), "direct");
	if (direct && (t.dtype == DT_BOOL || t.dtype == DT_FLOAT16)) {
		raises(b, "SciPy's direct method does not take %s", dtypes[t.dtype].name);
		return false;
	}
	if (n->op == &op_table[OP_Convolve2d] && t.dtype == DT_BOOL) {
		unsupported(b, "SciPy makes bools of sums that are off by rounding");
		return false;
	}
	struct value *x = check_not_empty(b, cast(b, low(b, n->in[0]), (enum dtype)t.dtype));
	struct value *k = check_not_empty(b, cast(b, low(b, n->in[1]), (enum dtype)t.dtype));
	int side = compare_lengths(b, x, k), larger = compare_sizes(b, x, k);
	bool whole = fixed && full, flat = x->type.rank == 1;

	if (fixed && !full && side < 0)
		r = windows_times(b, k, x, false, false, NULL);
	else if (fixed && !full && side > 0)
		r = windows_times(b, x, k, false, false, NULL);
	else if (whole && !flat && larger < 0)
		r = windows_times(b, k, x, true, false, NULL);
	else
		r = windows_times(b, x, k, true, flat || !whole, flat || fixed ? NULL : mode);
	if (!fixed || (!full && !side))
		r = valid_part(b, r, x, k, fixed ? NULL : mode);
	if (!side && (!fixed || !full))
		r = check_comparable(b, r, x, k, fixed ? NULL : mode);
	if (!flat && (whole || !fixed) && (!larger || (!fixed && larger < 0)))
		r = check_padded_is_larger(b, r, x, k, fixed ? NULL : mode);
	lowered(b, n, 0, with_dims(r, t.dims));
	return true;
}
