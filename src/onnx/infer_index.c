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
	struct type t = input_type(f, 0), index = input_type(f, 1);
	uint32_t axis, rank = 0;

	if (!resolve_axis(f, int_attr(f, "axis"), t.rank, &axis))
		return ONNX_ERROR;
	dim *d = dims_alloc(f, t.rank + index.rank);
	for (uint32_t i = 0; i < axis; i++)
		d[rank++] = t.dims[i];
	for (uint32_t i = 0; i < index.rank; i++)
		d[rank++] = index.dims[i];
	for (uint32_t i = axis + 1; i < t.rank; i++)
		d[rank++] = t.dims[i];
	return set_result(f, 0, rank, d);
}

enum onnx_infer_result onnx_like_indices(struct infer *f)
{
	struct type t = input_type(f, 0);
	uint32_t a;

	if (!resolve_axis(f, int_attr(f, "axis"), t.rank, &a) ||
	    !check_input_rank(f, 1, t.rank, t.rank))
		return ONNX_ERROR;
	return set_result_like(f, 0, input_type(f, 1));
}

enum onnx_infer_result onnx_gather_nd(struct infer *f)
{
	struct type t = input_type(f, 0), index = input_type(f, 1);
	int64_t batch = int_attr(f, "batch_dims"), last;
	uint32_t rank = 0;

	if (!check_input_rank(f, 0, 1, MAX_RANK) || !check_input_rank(f, 1, 1, MAX_RANK))
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
		d[rank++] = i < batch ? prefer_const(f, index.dims[i], t.dims[i]) : index.dims[i];
	for (uint32_t i = (uint32_t)(batch + last); i < t.rank; i++)
		d[rank++] = t.dims[i];
	return set_result(f, 0, rank, d);
}

/* --- slice --- */

#define FAR ((int64_t)1 << 62) /* a bound this large means the end of any axis */

/* Bound b of a slice of an axis of n elements, clamped to [lo, n + hi]; DIM_NONE: not known */
static dim slice_bound(struct infer *f, dim b, dim n, int64_t lo, int64_t hi)
{
	struct ctx *cx = f->cx;
	dim low = const_dim(f, lo), high = hi ? dim_add(cx, n, const_dim(f, hi)) : n;
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

/* DIM_NONE: not known */
static dim slice_size(struct infer *f, dim n, dim start, dim stop, int64_t step)
{
	dim a = slice_bound(f, start, n, 0, step > 0 ? 0 : -1);
	dim b = step > 0 ? slice_bound(f, stop, n, 0, 0) : slice_bound(f, stop, n, -1, -1);

	return a && b ? count_steps(f, a, b, step) : DIM_NONE;
}

/* The n axes that input `in` lists; 0, 1, ..., n - 1 if it is not given. false: not known */
static bool input_axes(struct infer *f, uint32_t in, int64_t n, int64_t *axes)
{
	bool known = n >= 0 && n <= MAX_RANK;

	for (uint32_t i = 0; known && i < n; i++) {
		axes[i] = i;
		known = !input(f, in) || input_const(f, in, i, &axes[i]);
	}
	return known;
}

enum onnx_infer_result onnx_slice(struct infer *f)
{
	struct type t = input_type(f, 0);
	const struct known *start = input_known(f, 1), *stop = input_known(f, 2);
	int64_t n = input_count(f, 1), m = input_count(f, 2);
	int64_t given[MAX_RANK];
	uint32_t axes[MAX_RANK];
	bool seen[MAX_RANK] = {false}, known;

	n = n < 0 ? m : n;
	if (n > t.rank || (n >= 0 && m >= 0 && n != m)) {
		infer_error(f, E_RANK, "%lld starts and %lld ends for %s", (long long)n,
			    (long long)m, type_str(f->cx, t));
		return ONNX_ERROR;
	}
	for (uint32_t i = 3; i < 5; i++)
		if (input(f, i) && n >= 0 && input_count(f, i) >= 0 && input_count(f, i) != n) {
			infer_error(f, E_RANK, "%lld %s for %lld starts",
				    (long long)input_count(f, i), i == 3 ? "axes" : "steps",
				    (long long)n);
			return ONNX_ERROR;
		}
	known = input_axes(f, 3, n, given);
	for (uint32_t i = 0; known && i < n; i++)
		if (!resolve_new_axis(f, given[i], t.rank, seen, &axes[i]))
			return ONNX_ERROR;
	dim *d = dims_copy(f, t);
	for (uint32_t i = 0; i < t.rank && !known; i++)
		d[i] = unknown_dim(f, 0, i);
	for (uint32_t i = 0; known && i < n; i++) {
		int64_t step = 1;
		bool fixed = !input(f, 4) || input_const(f, 4, i, &step);
		if (fixed && (step == 0 || step == INT64_MIN)) {
			infer_error(f, E_RANGE, "the step of axis %u cannot be %lld", axes[i],
				    (long long)step);
			return ONNX_ERROR;
		}
		dim size = fixed && start && stop && i < start->n && i < stop->n
				   ? slice_size(f, t.dims[axes[i]], start->at[i], stop->at[i], step)
				   : DIM_NONE;
		d[axes[i]] = size ? size : unknown_dim(f, 0, axes[i]);
	}
	return set_result(f, 0, t.rank, d);
}

/* --- pads --- */

enum onnx_infer_result onnx_pad(struct infer *f)
{
	struct type t = input_type(f, 0);
	const struct known *pads = input_known(f, 1);
	int64_t n = input(f, 3) ? input_count(f, 3) : t.rank, axes[MAX_RANK];
	bool known = input_axes(f, 3, n, axes) && pads;
	uint32_t axis;

	dim *d = dims_copy(f, t);
	if (pads && n >= 0 && pads->n != 2 * n) {
		infer_error(f, E_SHAPE, "expected %lld pads for %s but got %u", (long long)(2 * n),
			    type_str(f->cx, t), pads->n);
		return ONNX_ERROR;
	}
	for (uint32_t i = 0; i < t.rank && !known; i++)
		d[i] = unknown_dim(f, 0, i);
	for (uint32_t i = 0; known && i < n; i++) {
		if (!resolve_axis(f, axes[i], t.rank, &axis))
			return ONNX_ERROR;
		d[axis] = dim_add(f->cx, d[axis], dim_add(f->cx, pads->at[i], pads->at[i + n]));
		if (!dim_le(f->cx, d[axis], -1))
			continue;
		infer_error(f, E_SHAPE, "axis %u of %s gets a negative size", axis,
			    type_str(f->cx, t));
		return ONNX_ERROR;
	}
	return set_result(f, 0, t.rank, d);
}

enum onnx_infer_result onnx_reverse_sequence(struct infer *f)
{
	struct type t = input_type(f, 0);
	int64_t batch = int_attr(f, "batch_axis");

	if (batch == int_attr(f, "time_axis")) {
		infer_error(f, E_PROPERTY, "batch_axis and time_axis are both %lld",
			    (long long)batch);
		return ONNX_ERROR;
	}
	if (dim_ne(f->cx, t.dims[batch], input_type(f, 1).dims[0])) {
		infer_error(f, E_SHAPE, "%s lengths for axis %lld of %s",
			    dim_str(f->cx, input_type(f, 1).dims[0]), (long long)batch,
			    type_str(f->cx, t));
		return ONNX_ERROR;
	}
	return set_result_like(f, 0, t);
}

enum onnx_infer_result onnx_center_crop_pad(struct infer *f)
{
	struct type t = input_type(f, 0);
	const struct known *k = input_known(f, 1);
	const struct attr *axes = find_attr(f->n, "axes");
	uint32_t n = axes ? axes->n : t.rank, axis;

	if (input_count(f, 1) >= 0 && input_count(f, 1) != n) {
		infer_error(f, E_SHAPE, "shape has %lld numbers for %u axes",
			    (long long)input_count(f, 1), n);
		return ONNX_ERROR;
	}
	if (!check_distinct_axes(f, axes, t.rank))
		return ONNX_ERROR;
	dim *d = dims_copy(f, t);
	for (uint32_t i = 0; i < n; i++) {
		if (!resolve_axis(f, axes ? axes->u.ints[i] : (int64_t)i, t.rank, &axis))
			return ONNX_ERROR;
		d[axis] = k && i < k->n ? k->at[i] : unknown_dim(f, 0, axis);
	}
	return set_result(f, 0, t.rank, d);
}

/* --- selecting --- */

enum onnx_infer_result onnx_compress(struct infer *f)
{
	struct type t = input_type(f, 0);
	uint32_t axis = 0, rank = 1;
	dim *d = dims_alloc(f, 1);

	if (!check_input_rank(f, 1, 1, 1))
		return ONNX_ERROR;
	if (find_attr(f->n, "axis")) {
		if (!resolve_axis(f, int_attr(f, "axis"), t.rank, &axis))
			return ONNX_ERROR;
		d = dims_copy(f, t);
		rank = t.rank;
	}
	d[axis] = unknown_dim(f, 0, axis);
	return set_result(f, 0, rank, d);
}

enum onnx_infer_result onnx_unique(struct infer *f)
{
	struct type t = input_type(f, 0);
	dim *y = dims_alloc(f, 1), *count = dims_alloc(f, 1), *inverse = dims_alloc(f, 1);
	uint32_t axis = 0, rank = 1;

	inverse[0] = const_dim(f, 1);
	for (uint32_t i = 0; i < t.rank; i++)
		inverse[0] = dim_mul(f->cx, inverse[0], t.dims[i]);
	if (find_attr(f->n, "axis")) {
		if (!resolve_axis(f, int_attr(f, "axis"), t.rank, &axis))
			return ONNX_ERROR;
		y = dims_copy(f, t);
		inverse[0] = t.dims[axis];
		rank = t.rank;
	}
	uint32_t found = 0; /* the first result whose length is the number of unique elements */
	while (found < f->n->nout && (found == 2 || !f->n->out[found]))
		found++;
	y[axis] = count[0] = unknown_dim(f, found, found == 0 ? axis : 0);
	enum onnx_infer_result r = set_result(f, 0, rank, y);
	if (r == ONNX_INFERRED) {
		set_result(f, 1, 1, count);
		set_result(f, 2, 1, inverse);
		set_result(f, 3, 1, count);
	}
	return r;
}

/* NonZero of a scalar has 0 rows by the specification, and 1 row in NumPy. */
enum onnx_infer_result onnx_nonzero(struct infer *f)
{
	uint32_t rank = input_type(f, 0).rank;
	dim *d = dims_alloc(f, 2);

	d[0] = rank ? const_dim(f, rank) : unknown_dim(f, 0, 0);
	d[1] = unknown_dim(f, 0, 1);
	return set_result(f, 0, 2, d);
}

/* The value of a scalar input, of any dtype, if it is a known integer; else DIM_NONE. */
static dim scalar_size(struct infer *f, uint32_t i)
{
	const struct known *k = input_known(f, i);
	const struct tensor *t = f->n->in[i]->data;

	if (k && k->n == 1)
		return k->at[0];
	if (!t || t->count != 1 || !is_float((enum dtype)t->dtype))
		return DIM_NONE;
	double v = tensor_float(t, 0);
	return v == floor(v) && fabs(v) < 0x1p53 ? const_dim(f, (int64_t)v) : DIM_NONE;
}

/* Are the depth one number, and the values the two of off and on? false: reported */
static bool check_one_hot(struct infer *f)
{
	int64_t depth = input_count(f, 1), values = input_count(f, 2);

	if (input_type(f, 1).rank == 1 && depth != 1 && depth != -1) {
		infer_error(f, E_SHAPE, "the depth must be one number, got %s",
			    type_str(f->cx, input_type(f, 1)));
		return false;
	}
	if (values != 2 && values != -1) {
		infer_error(f, E_SHAPE, "the values must be two, off and on, got %s",
			    type_str(f->cx, input_type(f, 2)));
		return false;
	}
	return true;
}

enum onnx_infer_result onnx_one_hot(struct infer *f)
{
	struct type t = input_type(f, 0);
	uint32_t axis;

	if (!check_one_hot(f))
		return ONNX_ERROR;
	if (!resolve_axis(f, int_attr(f, "axis"), t.rank + 1u, &axis))
		return ONNX_ERROR;
	dim *d = dims_alloc(f, t.rank + 1u), depth = scalar_size(f, 1);
	for (uint32_t i = 0, j = 0; i <= t.rank; i++)
		d[i] = i != axis ? t.dims[j++] : depth ? depth : unknown_dim(f, 0, axis);
	return set_result(f, 0, t.rank + 1u, d);
}

enum onnx_infer_result onnx_window(struct infer *f)
{
	dim *d = dims_alloc(f, 1), size = scalar_size(f, 0);

	d[0] = size ? size : unknown_dim(f, 0, 0);
	return choose_result_dtype(f, 0, dtype_of_onnx(int_attr(f, "output_datatype")),
				   "output_datatype")
		       ? set_result(f, 0, 1, d)
		       : ONNX_ERROR;
}

enum onnx_infer_result onnx_mel(struct infer *f)
{
	dim *d = dims_alloc(f, 2), bins = scalar_size(f, 0), length = scalar_size(f, 1);

	d[0] = length ? dim_plus(f->cx, dim_over(f->cx, length, 2), 1) : unknown_dim(f, 0, 0);
	d[1] = bins ? bins : unknown_dim(f, 0, 1);
	return choose_result_dtype(f, 0, dtype_of_onnx(int_attr(f, "output_datatype")),
				   "output_datatype")
		       ? set_result(f, 0, 2, d)
		       : ONNX_ERROR;
}

enum onnx_infer_result onnx_nms(struct infer *f)
{
	dim *d = dims_alloc(f, 2);

	d[0] = unknown_dim(f, 0, 0);
	d[1] = const_dim(f, 3);
	return set_result(f, 0, 2, d);
}
