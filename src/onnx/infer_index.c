/*
 * infer_index.c: rules of ONNX inference: indexing, slicing, selecting, and operators that
 * resize or rearrange space. In and out: see internal.h.
 */
#include <math.h>
#include <string.h>

#include "onnx/internal.h"

/* --- gather --- */

enum onnx_infer_result onnx_gather(struct infer *f)
{
	struct type t = type_in(f, 0), index = type_in(f, 1);
	uint32_t axis, rank = 0;

	if (!axis_in(f, int_attr(f, "axis"), t.rank, &axis))
		return ONNX_ERROR;
	dim *d = dims_alloc(f, t.rank + index.rank);
	for (uint32_t i = 0; i < axis; i++)
		d[rank++] = t.dims[i];
	for (uint32_t i = 0; i < index.rank; i++)
		d[rank++] = index.dims[i];
	for (uint32_t i = axis + 1; i < t.rank; i++)
		d[rank++] = t.dims[i];
	return out(f, 0, rank, d);
}

enum onnx_infer_result onnx_like_indices(struct infer *f)
{
	struct type t = type_in(f, 0);
	uint32_t a;

	if (!axis_in(f, int_attr(f, "axis"), t.rank, &a) || !want_in_rank(f, 1, t.rank, t.rank))
		return ONNX_ERROR;
	return out_like(f, 0, type_in(f, 1));
}

enum onnx_infer_result onnx_gather_nd(struct infer *f)
{
	struct type t = type_in(f, 0), index = type_in(f, 1);
	int64_t batch = int_attr(f, "batch_dims"), last;
	uint32_t rank = 0;

	if (!want_in_rank(f, 0, 1, MAX_RANK) || !want_in_rank(f, 1, 1, MAX_RANK))
		return ONNX_ERROR;
	if (!dim_is_const(f->cx, index.dims[index.rank - 1], &last))
		return ONNX_NO_RULE;
	if (batch < 0 || batch >= index.rank || last > t.rank - batch || last < 1) {
		infer_error(f, E_SHAPE, "indices %s do not fit %s with batch_dims %lld",
			    type_str(f->cx, index), type_str(f->cx, t), (long long)batch);
		return ONNX_ERROR;
	}
	for (uint32_t i = 0; i < batch; i++)
		if (dim_ne(f->cx, t.dims[i], index.dims[i])) {
			infer_error(f, E_SHAPE, "axis %u of %s and of %s must be the same", i,
				    type_str(f->cx, t), type_str(f->cx, index));
			return ONNX_ERROR;
		}
	dim *d = dims_alloc(f, t.rank + index.rank);
	for (uint32_t i = 0; i + 1 < index.rank; i++)
		d[rank++] = i < batch ? pick(f, index.dims[i], t.dims[i]) : index.dims[i];
	for (uint32_t i = (uint32_t)(batch + last); i < t.rank; i++)
		d[rank++] = t.dims[i];
	return out(f, 0, rank, d);
}

/* --- slice --- */

#define FAR ((int64_t)1 << 62) /* beyond any dim: slices write INT64_MAX, INT32_MAX and such */

/* Where bound b of a slice lies in an axis of n elements, between lo and n + hi; 0: not known */
static dim slice_bound(struct infer *f, dim b, dim n, int64_t lo, int64_t hi)
{
	struct ctx *cx = f->cx;
	dim low = num(f, lo), high = hi ? dim_add(cx, n, num(f, hi)) : n;
	int64_t v;

	if (dim_is_const(cx, b, &v)) {
		if (v >= FAR)
			return high;
		if (v <= -FAR)
			return lo < 0 ? low : dim_min(cx, low, high);
		if (v == -1 && hi < 0)
			return high;
		if (v == 0 && hi == 0)
			return low;
	}
	if (dim_le(cx, b, -1))
		b = dim_add(cx, b, n);
	else if (!dim_ge(cx, b, 0))
		return DIM_NONE;
	return dim_min(cx, dim_max(cx, b, low), high);
}

static dim slice_size(struct infer *f, dim n, dim start, dim stop, int64_t step)
{
	struct ctx *cx = f->cx;
	int64_t size = step > 0 ? step : -step;
	dim a, b, d;

	a = step > 0 ? slice_bound(f, start, n, 0, 0) : slice_bound(f, start, n, 0, -1);
	b = step > 0 ? slice_bound(f, stop, n, 0, 0) : slice_bound(f, stop, n, -1, -1);
	if (!a || !b)
		return DIM_NONE;
	d = step > 0 ? dim_sub(cx, b, a) : dim_sub(cx, a, b);
	if (size > 1)
		d = dim_floordiv(cx, dim_add(cx, d, num(f, size - 1)), num(f, size));
	return dim_max(cx, d, num(f, 0));
}

/* Axes as numbers: those of input `in`, or 0, 1, ... false: they are not known */
static bool axis_list(struct infer *f, uint32_t in, int64_t n, int64_t *axes)
{
	bool known = n >= 0 && n <= MAX_RANK;

	for (uint32_t i = 0; known && i < n; i++) {
		axes[i] = i;
		known = !input(f, in) || const_in(f, in, i, &axes[i]);
	}
	return known;
}

static bool slice_axes(struct infer *f, struct type t, int64_t n, const int64_t *given,
		       uint32_t *axes)
{
	bool seen[MAX_RANK] = {false};

	for (uint32_t i = 0; i < n; i++) {
		if (!axis_in(f, given[i], t.rank, &axes[i]))
			return false;
		if (seen[axes[i]]) {
			infer_error(f, E_RANGE, "axis %u is given twice", axes[i]);
			return false;
		}
		seen[axes[i]] = true;
	}
	return true;
}

enum onnx_infer_result onnx_slice(struct infer *f)
{
	struct type t = type_in(f, 0);
	const struct known *start = known_in(f, 1), *stop = known_in(f, 2);
	int64_t n = const_count(f, 1), m = const_count(f, 2);
	int64_t given[MAX_RANK];
	uint32_t axes[MAX_RANK];
	bool known;

	n = n < 0 ? m : n;
	if (n > t.rank || (n >= 0 && m >= 0 && n != m)) {
		infer_error(f, E_RANK, "%lld starts and %lld ends for %s", (long long)n,
			    (long long)m, type_str(f->cx, t));
		return ONNX_ERROR;
	}
	for (uint32_t i = 3; i < 5; i++)
		if (input(f, i) && n >= 0 && const_count(f, i) >= 0 && const_count(f, i) != n) {
			infer_error(f, E_RANK, "%lld %s for %lld starts",
				    (long long)const_count(f, i), i == 3 ? "axes" : "steps",
				    (long long)n);
			return ONNX_ERROR;
		}
	known = axis_list(f, 3, n, given);
	if (known && !slice_axes(f, t, n, given, axes))
		return ONNX_ERROR;
	dim *d = dims_copy(f, t);
	for (uint32_t i = 0; i < t.rank && !known; i++)
		d[i] = fresh(f, 0, i);
	for (uint32_t i = 0; known && i < n; i++) {
		int64_t step = 1;
		bool fixed = !input(f, 4) || const_in(f, 4, i, &step);
		if (fixed && (step == 0 || step == INT64_MIN)) {
			infer_error(f, E_RANGE, "the step of axis %u cannot be %lld", axes[i],
				    (long long)step);
			return ONNX_ERROR;
		}
		dim size = fixed && start && stop && i < start->n && i < stop->n
				   ? slice_size(f, t.dims[axes[i]], start->at[i], stop->at[i], step)
				   : DIM_NONE;
		d[axes[i]] = size ? size : fresh(f, 0, axes[i]);
	}
	return out(f, 0, t.rank, d);
}

/* --- pads --- */

enum onnx_infer_result onnx_pad(struct infer *f)
{
	struct type t = type_in(f, 0);
	const struct known *pads = known_in(f, 1);
	int64_t n = input(f, 3) ? const_count(f, 3) : t.rank, axes[MAX_RANK];
	bool known = axis_list(f, 3, n, axes) && pads;
	uint32_t axis;

	dim *d = dims_copy(f, t);
	if (pads && n >= 0 && pads->n != 2 * n) {
		infer_error(f, E_SHAPE, "expected %lld pads for %s but got %u", (long long)(2 * n),
			    type_str(f->cx, t), pads->n);
		return ONNX_ERROR;
	}
	for (uint32_t i = 0; i < t.rank && !known; i++)
		d[i] = fresh(f, 0, i);
	for (uint32_t i = 0; known && i < n; i++) {
		if (!axis_in(f, axes[i], t.rank, &axis))
			return ONNX_ERROR;
		d[axis] = dim_add(f->cx, d[axis], dim_add(f->cx, pads->at[i], pads->at[i + n]));
		if (!dim_le(f->cx, d[axis], -1))
			continue;
		infer_error(f, E_SHAPE, "axis %u of %s gets a negative size", axis,
			    type_str(f->cx, t));
		return ONNX_ERROR;
	}
	return out(f, 0, t.rank, d);
}

/* Does an attribute (which may be missing) name no axis twice? false: reported */
static bool distinct_axes(struct infer *f, const struct attr *a, uint32_t rank)
{
	bool seen[MAX_RANK] = {false};
	uint32_t axis;

	for (uint32_t i = 0; a && i < a->n; i++) {
		if (!axis_in(f, a->u.ints[i], rank, &axis))
			return false;
		if (seen[axis]) {
			infer_error(f, E_RANGE, "axis %u is given twice", axis);
			return false;
		}
		seen[axis] = true;
	}
	return true;
}

enum onnx_infer_result onnx_reverse_sequence(struct infer *f)
{
	struct type t = type_in(f, 0);
	int64_t batch = int_attr(f, "batch_axis");

	if (batch == int_attr(f, "time_axis")) {
		infer_error(f, E_PROPERTY, "batch_axis and time_axis are both %lld",
			    (long long)batch);
		return ONNX_ERROR;
	}
	if (dim_ne(f->cx, t.dims[batch], type_in(f, 1).dims[0])) {
		infer_error(f, E_SHAPE, "%s lengths for axis %lld of %s",
			    dim_str(f->cx, type_in(f, 1).dims[0]), (long long)batch,
			    type_str(f->cx, t));
		return ONNX_ERROR;
	}
	return out_like(f, 0, t);
}

enum onnx_infer_result onnx_center_crop_pad(struct infer *f)
{
	struct type t = type_in(f, 0);
	const struct known *k = known_in(f, 1);
	const struct attr *axes = attr_of(f, "axes");
	uint32_t n = axes ? axes->n : t.rank, axis;

	if (const_count(f, 1) >= 0 && const_count(f, 1) != n) {
		infer_error(f, E_SHAPE, "shape has %lld numbers for %u axes",
			    (long long)const_count(f, 1), n);
		return ONNX_ERROR;
	}
	if (!distinct_axes(f, axes, t.rank))
		return ONNX_ERROR;
	dim *d = dims_copy(f, t);
	for (uint32_t i = 0; i < n; i++) {
		if (!axis_in(f, axes ? axes->u.ints[i] : (int64_t)i, t.rank, &axis))
			return ONNX_ERROR;
		d[axis] = k && i < k->n ? k->at[i] : fresh(f, 0, axis);
	}
	return out(f, 0, t.rank, d);
}

/* --- selecting --- */

enum onnx_infer_result onnx_compress(struct infer *f)
{
	struct type t = type_in(f, 0);
	uint32_t axis = 0, rank = 1;
	dim *d = dims_alloc(f, 1);

	if (!want_in_rank(f, 1, 1, 1))
		return ONNX_ERROR;
	if (has_attr(f, "axis")) {
		if (!axis_in(f, int_attr(f, "axis"), t.rank, &axis))
			return ONNX_ERROR;
		d = dims_copy(f, t);
		rank = t.rank;
	}
	d[axis] = fresh(f, 0, axis);
	return out(f, 0, rank, d);
}

enum onnx_infer_result onnx_unique(struct infer *f)
{
	struct type t = type_in(f, 0);
	dim *y = dims_alloc(f, 1), *count = dims_alloc(f, 1), *inverse = dims_alloc(f, 1);
	uint32_t axis = 0, rank = 1;

	inverse[0] = num(f, 1);
	for (uint32_t i = 0; i < t.rank; i++)
		inverse[0] = dim_mul(f->cx, inverse[0], t.dims[i]);
	if (has_attr(f, "axis")) {
		if (!axis_in(f, int_attr(f, "axis"), t.rank, &axis))
			return ONNX_ERROR;
		y = dims_copy(f, t);
		inverse[0] = t.dims[axis];
		rank = t.rank;
	}
	uint32_t found = 0; /* the result that tells how many there are */
	while (found < f->n->nout && (found == 2 || !f->n->out[found]))
		found++;
	y[axis] = count[0] = fresh(f, found, found == 0 ? axis : 0);
	enum onnx_infer_result r = out(f, 0, rank, y);
	if (r == ONNX_INFERRED) {
		out(f, 1, 1, count);
		out(f, 2, 1, inverse);
		out(f, 3, 1, count);
	}
	return r;
}

/* NonZero of a scalar: the specification says 0 rows, NumPy 1. */
enum onnx_infer_result onnx_nonzero(struct infer *f)
{
	uint32_t rank = type_in(f, 0).rank;
	dim *d = dims_alloc(f, 2);

	d[0] = rank ? num(f, rank) : fresh(f, 0, 0);
	d[1] = fresh(f, 0, 1);
	return out(f, 0, 2, d);
}

/* An integer that a scalar input says, whatever its dtype. */
static dim scalar_size(struct infer *f, uint32_t i)
{
	const struct known *k = known_in(f, i);
	const struct tensor *t = f->n->in[i]->data;

	if (k && k->n == 1)
		return k->at[0];
	if (!t || t->count != 1 || !is_float((enum dtype)t->dtype))
		return DIM_NONE;
	double v = tensor_float(t, 0);
	return v == floor(v) && fabs(v) < 0x1p53 ? num(f, (int64_t)v) : DIM_NONE;
}

enum onnx_infer_result onnx_one_hot(struct infer *f)
{
	struct type t = type_in(f, 0);
	uint32_t axis;

	if (!axis_in(f, int_attr(f, "axis"), t.rank + 1u, &axis))
		return ONNX_ERROR;
	dim *d = dims_alloc(f, t.rank + 1u), depth = scalar_size(f, 1);
	for (uint32_t i = 0, j = 0; i <= t.rank; i++)
		d[i] = i != axis ? t.dims[j++] : depth ? depth : fresh(f, 0, axis);
	return out(f, 0, t.rank + 1u, d);
}

enum onnx_infer_result onnx_window(struct infer *f)
{
	dim *d = dims_alloc(f, 1), size = scalar_size(f, 0);

	d[0] = size ? size : fresh(f, 0, 0);
	bind_result(f, 0, dtype_of_onnx(int_attr(f, "output_datatype")));
	return out(f, 0, 1, d);
}

enum onnx_infer_result onnx_mel(struct infer *f)
{
	dim *d = dims_alloc(f, 2), bins = scalar_size(f, 0), length = scalar_size(f, 1);

	d[0] = length ? dim_add(f->cx, dim_floordiv(f->cx, length, num(f, 2)), num(f, 1))
		      : fresh(f, 0, 0);
	d[1] = bins ? bins : fresh(f, 0, 1);
	bind_result(f, 0, dtype_of_onnx(int_attr(f, "output_datatype")));
	return out(f, 0, 2, d);
}

enum onnx_infer_result onnx_nms(struct infer *f)
{
	dim *d = dims_alloc(f, 2);

	d[0] = fresh(f, 0, 0);
	d[1] = num(f, 3);
	return out(f, 0, 2, d);
}

/* --- space --- */

enum onnx_infer_result onnx_depth_to_space(struct infer *f)
{
	int64_t b = int_attr(f, "blocksize"), c;

	if (!want_in_rank(f, 0, 4, 4))
		return ONNX_ERROR;
	dim *d = dims_copy(f, type_in(f, 0));
	if (b < 1 || b > 1 << 15 || (dim_is_const(f->cx, d[1], &c) && c % (b * b))) {
		infer_error(f, E_SHAPE, "%s does not divide by blocksize %lld",
			    type_str(f->cx, type_in(f, 0)), (long long)b);
		return ONNX_ERROR;
	}
	d[1] = dim_floordiv(f->cx, d[1], num(f, b * b));
	d[2] = dim_mul(f->cx, d[2], num(f, b));
	d[3] = dim_mul(f->cx, d[3], num(f, b));
	return out(f, 0, 4, d);
}

enum onnx_infer_result onnx_space_to_depth(struct infer *f)
{
	int64_t b = int_attr(f, "blocksize"), h, w;

	if (!want_in_rank(f, 0, 4, 4))
		return ONNX_ERROR;
	dim *d = dims_copy(f, type_in(f, 0));
	if (b < 1 || b > 1 << 15 || (dim_is_const(f->cx, d[2], &h) && h % b) ||
	    (dim_is_const(f->cx, d[3], &w) && w % b)) {
		infer_error(f, E_SHAPE, "%s does not divide by blocksize %lld",
			    type_str(f->cx, type_in(f, 0)), (long long)b);
		return ONNX_ERROR;
	}
	d[1] = dim_mul(f->cx, d[1], num(f, b * b));
	d[2] = dim_floordiv(f->cx, d[2], num(f, b));
	d[3] = dim_floordiv(f->cx, d[3], num(f, b));
	return out(f, 0, 4, d);
}

/* n * scale rounded down, where float32 and float64 agree on it */
static dim scaled(struct infer *f, dim n, double scale, uint32_t axis)
{
	int64_t v;

	if (scale == 1)
		return n;
	if (scale == floor(scale) && scale >= 0 && scale < 0x1p20)
		return dim_mul(f->cx, n, num(f, (int64_t)scale));
	if (!dim_is_const(f->cx, n, &v) || !(scale >= 0 && scale < 0x1p20) || v >= 1 << 24)
		return fresh(f, 0, axis);
	float single = floorf((float)v * (float)scale);
	return (double)single == floor((double)v * scale) ? num(f, (int64_t)single)
							  : fresh(f, 0, axis);
}

enum onnx_infer_result onnx_resize(struct infer *f)
{
	struct type t = type_in(f, 0);
	const struct attr *axes = attr_of(f, "axes");
	const struct known *sizes = known_in(f, 3);
	const struct tensor *scales = input(f, 2) ? f->n->in[2]->data : NULL;
	uint32_t n = axes ? axes->n : t.rank, axis;
	bool plain = !str_attr_is(f, "coordinate_transformation_mode", "tf_crop_and_resize");

	if (has_attr(f, "keep_aspect_ratio_policy") &&
	    !str_attr_is(f, "keep_aspect_ratio_policy", "stretch"))
		plain = false;
	if (!distinct_axes(f, axes, t.rank))
		return ONNX_ERROR;
	bool by_scale = input(f, 2) && const_count(f, 2),
	     by_size = input(f, 3) && const_count(f, 3);
	if (by_scale == by_size) {
		infer_error(f, E_ARITY, "it needs scales or sizes, and not both");
		return ONNX_ERROR;
	}
	bool smooth = str_attr_is(f, "mode", "cubic") ||
		      (str_attr_is(f, "mode", "linear") && int_attr(f, "antialias"));
	if (int_attr(f, "exclude_outside") && !smooth) {
		infer_error(f, E_PROPERTY,
			    "exclude_outside=1 is for mode=\"cubic\", or \"linear\" with "
			    "antialias=1");
		return ONNX_ERROR;
	}
	if ((sizes && sizes->n != n && sizes->n) ||
	    (scales && scales->count != n && scales->count)) {
		infer_error(f, E_SHAPE, "expected %u scales or sizes for %s", n,
			    type_str(f->cx, t));
		return ONNX_ERROR;
	}
	dim *d = dims_copy(f, t);
	for (uint32_t i = 0; i < n; i++) {
		if (!axis_in(f, axes ? axes->u.ints[i] : (int64_t)i, t.rank, &axis))
			return ONNX_ERROR;
		if (plain && sizes && sizes->n)
			d[axis] = sizes->at[i];
		else if (plain && scales && scales->count)
			d[axis] = scaled(f, d[axis], tensor_float(scales, i), axis);
		else
			d[axis] = fresh(f, 0, axis);
	}
	return out(f, 0, t.rank, d);
}

enum onnx_infer_result onnx_grid_sample(struct infer *f)
{
	struct type x = type_in(f, 0), grid = type_in(f, 1);
	int64_t last;

	if (!want_in_rank(f, 0, f->op->since < 20 ? 4 : 3, f->op->since < 20 ? 4 : MAX_RANK) ||
	    !want_in_rank(f, 1, x.rank, x.rank))
		return ONNX_ERROR;
	if (dim_ne(f->cx, x.dims[0], grid.dims[0])) {
		infer_error(f, E_SHAPE, "axis 0 of %s and of %s must be the same",
			    type_str(f->cx, x), type_str(f->cx, grid));
		return ONNX_ERROR;
	}
	if (dim_is_const(f->cx, grid.dims[grid.rank - 1], &last) && last != x.rank - 2) {
		infer_error(f, E_SHAPE, "the last dim of the grid %s is not %u",
			    type_str(f->cx, grid), x.rank - 2u);
		return ONNX_ERROR;
	}
	dim *d = dims_copy(f, x);
	for (uint32_t i = 2; i < x.rank; i++)
		d[i] = grid.dims[i - 1];
	return out(f, 0, x.rank, d);
}

enum onnx_infer_result onnx_affine_grid(struct infer *f)
{
	const struct known *k = known_in(f, 1);
	int64_t n = const_count(f, 1);

	if (!want_in_rank(f, 0, 3, 3))
		return ONNX_ERROR;
	if (n >= 0 && n != 4 && n != 5) {
		infer_error(f, E_SHAPE, "size has %lld numbers, not 4 or 5", (long long)n);
		return ONNX_ERROR;
	}
	if (n < 0)
		return ONNX_NO_RULE;
	dim *d = dims_alloc(f, (uint32_t)n);
	d[0] = k ? k->at[0] : fresh(f, 0, 0);
	for (uint32_t i = 2; i < n; i++)
		d[i - 1] = k ? k->at[i] : fresh(f, 0, i - 1);
	d[n - 1] = num(f, n - 2);
	return out(f, 0, (uint32_t)n, d);
}
