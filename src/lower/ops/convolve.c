/*
 * convolve.c: lowers Convolve1d and Convolve2d. Out: Conv, where the target has it for the dtype;
 * else Gather takes the windows of the first input, and MatMul multiplies them with the second one,
 * exactly for integers and with the rounding of a dot product for floats. If it is not known which
 * input is longer, the "valid" part is a Slice of the "full" result. Either input may have a batch
 * in front: windows are those of all items, and Conv takes items as images, or as channels that
 * have kernels of their own.
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
	struct value *back = emit_(b, ONNX_Sub, last, iota(b, k));
	return emit_(b, ONNX_Add, unsqueeze(b, iota(b, out), &(int64_t){1}, 1), back);
}

/* v without the dim of a batch: the type of one item, which has `rank` dims */
static struct type item_type(const struct value *v, uint32_t rank)
{
	return type_of((enum dtype)v->type.dtype, rank, v->type.dims + (v->type.rank - rank));
}

/* The lengths of an item */
static struct value *item_shape(struct build *b, struct value *v, uint32_t rank)
{
	return shape_slice(b, v, (int)(v->type.rank - rank), (int)v->type.rank);
}

/* The number of elements of an item */
static struct value *item_size(struct build *b, struct value *v, uint32_t rank)
{
	if (v->type.rank == rank)
		return emit_(b, ONNX_Size, v);
	return reduce(b, ONNX_ReduceProd, item_shape(b, v, rank), (int[]){0}, 1, false);
}

static struct value *check_not_empty(struct build *b, struct value *v, uint32_t rank)
{
	struct type t = item_type(v, rank);

	if (!may_be_empty(b->cx, &t))
		return v;
	struct value *size = item_size(b, v, rank);
	return check(b, v, emit_(b, ONNX_Greater, size, const_int(b, 0)),
		     "the inputs of a convolution must not be empty");
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
	struct value *on = emit_(b, ONNX_GreaterOrEqual, at, from);
	on = emit_(b, ONNX_And, on, emit_(b, ONNX_Less, at, to));

	return first ? unsqueeze(b, on, (int64_t[]){2, 3}, 2) : on;
}

/* The windows of a padded x times k, without products with the padding: 0 times inf or NaN would be
 * NaN, and NumPy has no padding. If `with` (may be NULL) is true, the products are kept. float16 is
 * rounded at the end. */
static struct value *inner_sums(struct build *b, struct value *windows, struct value *const at[2],
				struct value *k, uint32_t rank, const dim *lengths,
				struct value *with)
{
	enum dtype t = (enum dtype)k->type.dtype, wide = t == DT_FLOAT16 ? DT_FLOAT32 : t;
	uint32_t lead = k->type.rank - rank, all = windows->type.rank - 2 * rank;
	const dim *d = k->type.dims + lead;
	struct value *on = is_not_padding(b, at[0], d[0], lengths[0], rank > 1), *p;
	int axes[2];

	if (rank > 1) {
		p = is_not_padding(b, at[1], d[1], lengths[1], false);
		on = emit_(b, ONNX_And, on, p);
	}
	k = unsqueeze(b, k, (int64_t[]){1, lead ? 3 : 1}, rank - 1 + lead);
	if (with)
		on = emit_(b, ONNX_Or, on, with);
	windows = cast(b, windows, wide);
	p = emit_(b, ONNX_Mul, windows, cast(b, k, wide));
	p = emit_(b, ONNX_Where, on, p, const_int_of(b, wide, 0));
	for (uint32_t i = 0; i < rank; i++)
		axes[i] = (int)((lead > all ? lead : all) + 2 * i + 1);
	return cast(b, reduce(b, ONNX_ReduceSum, p, axes, (int)rank, false), t);
}

/* k backwards along all axes of an item */
static struct value *reverse_axes(struct build *b, struct value *k, uint32_t rank)
{
	static const int64_t last[2] = {-1, -1}, first[2] = {-INT64_MAX, -INT64_MAX};
	const struct tensor *from = k->data;
	uint32_t lead = k->type.rank - rank;

	if (lead || !from || !from->data || from->splat || from->count > MAX_CONSTANT) {
		struct value *minus_one = const_ints(b, last, rank);
		struct value *stops = const_ints(b, first, rank);
		return slice(b, k, (int64_t[]){lead, lead + 1}, rank, minus_one, stops, minus_one);
	}
	struct tensor *t = tensor_new(b->cx, from->dtype, from->rank, from->shape);
	size_t size = dtypes[from->dtype].size, n = (size_t)from->count;
	uint8_t *to = arena_alloc(b->cx->arena, n * size + 1);
	for (size_t i = 0; i < n; i++)
		memcpy(to + i * size, (const uint8_t *)from->data + (n - 1 - i) * size, size);
	t->data = to;
	return const_tensor(b, t);
}

/* The same by Conv, which takes a kernel in the order of the input, and images with channels. The
 * items of a batch are images or, where each has a kernel of its own, channels: `groups` of them,
 * or as many as there are kernels for one image. */
static struct value *conv(struct build *b, struct value *x, struct value *k, uint32_t rank,
			  int64_t groups, bool full, const dim *out)
{
	uint32_t many = x->type.rank - rank, kernels = k->type.rank - rank, lead = many | kernels;
	const dim *length = k->type.dims + kernels;
	int64_t pads[4], n, axes[2] = {0, 1};
	dim edges[6];
	bool known = true;

	for (uint32_t i = 0; full && i < rank; i++) {
		uint32_t at = many + i;
		edges[at] = edges[many + rank + at] =
			dim_sub(b->cx, length[i], dim_const(b->cx, 1));
		known &= dim_is_const(b->cx, edges[at], &n);
		pads[i] = pads[rank + i] = n;
	}
	if (many)
		edges[0] = edges[1 + rank] = dim_const(b->cx, 0);
	if (!known)
		x = emit_(b, ONNX_Pad, x, dims_vector(b, edges, 2 * (many + rank)));
	/* [1, 1, n], [batch, 1, n], or [1, batch, n]; kernels are [1, 1, n] or [batch, 1, n] */
	x = unsqueeze(b, x, many && !kernels ? axes + 1 : axes, 2 - many);
	k = unsqueeze(b, reverse_axes(b, k, rank), kernels ? axes + 1 : axes, 2 - kernels);
	if (full && known)
		attr_ints(b, "pads", pads, 2 * rank);
	if (groups > 1)
		attr_int(b, "group", groups);
	x = emit_(b, ONNX_Conv, x, k);
	return with_dims(squeeze(b, x, many && !kernels ? axes + 1 : axes, 2 - lead), out);
}

/* Sums of products: windows [batch, outputs..., kernel] and k [batch, kernel] with or without batch
 */
static struct value *sums_of_products(struct build *b, struct value *x, struct value *k)
{
	int64_t last = (int64_t)x->type.rank - 1;

	if (k->type.rank == 1)
		return matmul(b, x, k);
	if (x->type.rank == 2)
		return matmul(b, k, transpose(b, x, (int64_t[]){1, 0}));
	return squeeze(b, matmul(b, x, unsqueeze(b, k, &last, 1)), &last, 1);
}

/* The windows of x times k. full: x is padded; inner: as inner_sums() does it */
static struct value *windows_times(struct build *b, struct value *x, struct value *k, uint32_t rank,
				   bool full, bool inner, struct value *with)
{
	struct ctx *cx = b->cx;
	uint32_t many = x->type.rank - rank, kernels = k->type.rank - rank, lead = many | kernels;
	const dim *nx = x->type.dims + many, *nk = k->type.dims + kernels;
	struct value *at[2];
	dim one = dim_const(cx, 1), *out = new_array(cx->arena, dim, rank + 1), pads[6];
	int64_t groups = 1;

	if (lead)
		out[0] = many ? x->type.dims[0] : k->type.dims[0];
	if (many)
		pads[0] = pads[rank + 1] = dim_const(cx, 0);
	for (uint32_t i = 0; i < rank; i++) {
		dim edge = dim_sub(cx, nk[i], one);
		pads[many + i] = pads[2 * many + rank + i] = edge;
		out[lead + i] = full ? dim_add(cx, nx[i], edge) : dim_sub(cx, nx[i], edge);
	}
	bool whole = full && inner && !is_finite(k);
	bool takes = !kernels || (many ? dim_is_const(cx, out[0], &groups) && groups > 0
				       : dim_ge(cx, out[0], 1));
	if (takes && !whole && find_kernel(b->cx, ONNX_Conv, (enum dtype)x->type.dtype, 2))
		return conv(b, x, k, rank, groups, full, out);
	if (full)
		x = emit_(b, ONNX_Pad, x, dims_vector(b, pads, 2 * (many + rank)));
	for (uint32_t i = 0; i < rank; i++) {
		at[i] = window_indices(b, out[lead + i], nk[i]);
		if (many + i)
			attr_int(b, "axis", many + 2 * i);
		x = emit_(b, ONNX_Gather, x, at[i]);
	}
	if (whole)
		return with_dims(inner_sums(b, x, at, k, rank, nx, with), out);
	if (rank == 1)
		return with_dims(sums_of_products(b, x, k), out);
	/* [batch, o0, k0, o1, k1]: windows become rows, and with kernels of items one axis of them
	 */
	int64_t order[5] = {0, many, many + 2, many + 1, many + 3};
	dim *d = new_array(cx->arena, dim, 5), *flat = new_array(cx->arena, dim, 2);
	uint32_t r = 0;
	x = transpose(b, x, many ? order : order + 1);
	if (many)
		d[r++] = out[0];
	d[r++] = kernels ? dim_mul(cx, out[lead], out[lead + 1]) : out[lead];
	if (!kernels)
		d[r++] = out[lead + 1];
	flat[0] = k->type.dims[0];
	d[r++] = flat[kernels] = dims_product(cx, nk, 2);
	x = reshape_to(b, x, dims_vector(b, d, r), d, r);
	x = sums_of_products(b, x, reshape(b, k, flat, 1 + kernels));
	return kernels ? reshape(b, x, out, lead + 2) : with_dims(x, out);
}

/* 1: x is as long as k or longer on each axis; -1: the other way round; 0: not known */
static int compare_lengths(struct build *b, const struct value *x, const struct value *k,
			   uint32_t rank)
{
	const struct type tx = item_type(x, rank), tk = item_type(k, rank);
	bool more = true, less = true;

	for (uint32_t i = 0; i < rank; i++) {
		dim d = dim_sub(b->cx, tx.dims[i], tk.dims[i]);
		more &= dim_ge(b->cx, d, 0);
		less &= dim_le(b->cx, d, 0);
	}
	return more ? 1 : less ? -1 : 0;
}

static struct value *min_or_max(struct build *b, enum onnx_id op, struct value *x, struct value *y)
{
	b->scope->shared->small_ints = true;
	struct value *r = emit_(b, op, x, y);
	b->scope->shared->small_ints = false;
	return r;
}

/* whole[shorter - 1 : longer], or all of `whole` if `full` (may be NULL) is true */
static struct value *valid_part(struct build *b, struct value *whole, struct value *x,
				struct value *k, uint32_t rank, struct value *full)
{
	struct value *nx = item_shape(b, x, rank), *nk = item_shape(b, k, rank);
	int64_t lead = whole->type.rank - rank;
	struct value *start = min_or_max(b, ONNX_Min, nx, nk);
	start = emit_(b, ONNX_Sub, start, const_int(b, 1));
	struct value *stop = min_or_max(b, ONNX_Max, nx, nk);

	if (full) {
		start = emit_(b, ONNX_Where, full, const_int(b, 0), start);
		stop = emit_(b, ONNX_Where, full, const_int(b, INT64_MAX), stop);
	}
	return slice(b, whole, (int64_t[]){lead, lead + 1}, rank, start, stop, NULL);
}

/* Makes the run fail if one input is longer on one axis and shorter on the other: there is no valid
 * part, and SciPy raises. */
static struct value *check_comparable(struct build *b, struct value *r, struct value *x,
				      struct value *k, uint32_t rank, struct value *full)
{
	if (rank < 2 || !b->cx->opt.check_dims || b->target == PTGC_ONNX)
		return r;
	struct value *nx = item_shape(b, x, rank), *nk = item_shape(b, k, rank);
	struct value *zero = const_int(b, 0);

	b->scope->shared->small_ints = true;
	struct value *more =
		reduce(b, ONNX_ReduceMax, emit_(b, ONNX_Sub, nx, nk), &(int){0}, 1, false);
	struct value *less =
		reduce(b, ONNX_ReduceMax, emit_(b, ONNX_Sub, nk, nx), &(int){0}, 1, false);
	struct value *crossed = emit_(b, ONNX_Greater, emit_(b, ONNX_Min, more, less), zero);
	b->scope->shared->small_ints = false;
	struct value *ok = emit_(b, ONNX_Not, crossed);
	return check(b, r, full ? emit_(b, ONNX_Or, full, ok) : ok,
		     "what is convolved must be at least as long on all axes, or on none");
}

/* 1: x has no fewer elements than k; -1: it has; 0: not known */
static int compare_sizes(struct build *b, const struct value *x, const struct value *k,
			 uint32_t rank)
{
	dim less = dims_product(b->cx, item_type(k, rank).dims, rank);
	dim more = dim_sub(b->cx, dims_product(b->cx, item_type(x, rank).dims, rank), less);

	return dim_ge(b->cx, more, 0) ? 1 : dim_le(b->cx, more, -1) ? -1 : 0;
}

/* SciPy pads the input with more elements, and multiplies the padding with the other one. Here x is
 * padded. If k has more elements, inf and NaN would spoil other sums than in SciPy: the run fails.
 */
static struct value *check_padded_is_larger(struct build *b, struct value *r, struct value *x,
					    struct value *k, uint32_t rank, struct value *full)
{
	if (!is_float((enum dtype)r->type.dtype) || (is_finite(x) && is_finite(k)) ||
	    !b->cx->opt.check_dims || b->target == PTGC_ONNX)
		return r;
	struct value *zero = const_int_of(b, (enum dtype)r->type.dtype, 0);
	struct value *none = emit_(b, ONNX_Mul, r, zero);
	none = reduce_all(b, ONNX_ReduceSum, none, false);
	struct value *ok = emit_(b, ONNX_Equal, none, zero);

	struct value *size = item_size(b, x, rank);
	ok = emit_(b, ONNX_Or, ok, emit_(b, ONNX_GreaterOrEqual, size, item_size(b, k, rank)));
	if (full)
		ok = emit_(b, ONNX_Or, ok, emit_(b, ONNX_Not, full));
	return check(b, r, ok,
		     "the second input, if it is the larger one, convolves finite numbers alone");
}

/* false: every run would fail (reported) */
static bool check_static_sizes(struct build *b, const struct node *n, uint32_t rank, bool valid)
{
	const struct type x = item_type(n->in[0], rank), k = item_type(n->in[1], rank);
	bool more = false, less = false;
	int64_t p = 1, q = 1;

	for (uint32_t i = 0; i < rank; i++) {
		bool known = dim_is_const(b->cx, x.dims[i], &p);
		known &= dim_is_const(b->cx, k.dims[i], &q);
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

/* The mode, which is the same for all items of a batch */
static struct value *mode_of_all(struct build *b, struct value *mode)
{
	if (!mode->type.rank)
		return cast(b, mode, DT_BOOL);
	struct value *full = cast(b, cast(b, mode, DT_BOOL), DT_INT64), *zero = const_int(b, 0);
	struct value *sum = reduce(b, ONNX_ReduceSum, full, (int[]){0}, 1, false);
	struct value *all = emit_(b, ONNX_Equal, sum, emit_(b, ONNX_Size, full));
	struct value *some = emit_(b, ONNX_Greater, sum, zero), *none = emit_(b, ONNX_Not, some);

	return check(b, some, emit_(b, ONNX_Or, all, none),
		     "the modes of a batch of convolutions must be equal");
}

bool lower_convolve(struct build *b, struct node *n)
{
	struct type t = n->out[0]->type;
	struct value *mode = mode_of_all(b, low(b, n->in[2])), *r;
	uint32_t rank = is_call(n, OP_Convolve1d) ? 1 : 2;
	int64_t full;
	bool fixed = known_int(b->cx, mode, 0, &full);

	if (!check_static_sizes(b, n, rank, fixed && !full))
		return false;
	bool direct = rank == 2 && !strcmp(prop_str(b->cx, n, "method"), "direct");
	if (direct && (t.dtype == DT_BOOL || t.dtype == DT_FLOAT16)) {
		raises(b, "SciPy's direct method does not take %s", dtypes[t.dtype].name);
		return false;
	}
	if (rank == 2 && t.dtype == DT_BOOL) {
		unsupported(b, "SciPy makes bools of sums that are off by rounding");
		return false;
	}
	struct value *x = check_not_empty(b, cast(b, low(b, n->in[0]), (enum dtype)t.dtype), rank);
	struct value *k = check_not_empty(b, cast(b, low(b, n->in[1]), (enum dtype)t.dtype), rank);
	int side = compare_lengths(b, x, k, rank), larger = compare_sizes(b, x, k, rank);
	bool whole = fixed && full, flat = rank == 1;

	if (fixed && !full && side < 0)
		r = windows_times(b, k, x, rank, false, false, NULL);
	else if (fixed && !full && side > 0)
		r = windows_times(b, x, k, rank, false, false, NULL);
	else if (whole && !flat && larger < 0)
		r = windows_times(b, k, x, rank, true, false, NULL);
	else
		r = windows_times(b, x, k, rank, true, flat || !whole, flat || fixed ? NULL : mode);
	if (!fixed || (!full && !side))
		r = valid_part(b, r, x, k, rank, fixed ? NULL : mode);
	if (!side && (!fixed || !full))
		r = check_comparable(b, r, x, k, rank, fixed ? NULL : mode);
	if (!flat && (whole || !fixed) && (!larger || (!fixed && larger < 0)))
		r = check_padded_is_larger(b, r, x, k, rank, fixed ? NULL : mode);
	set_lowered(b, n, 0, with_dims(r, t.dims));
	return true;
}
