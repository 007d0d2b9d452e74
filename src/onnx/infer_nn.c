/*
 * infer_nn.c: rules of ONNX inference: neural networks: convolutions, pools, images, norms,
 * recurrent networks, attention, losses, quantization. In and out: see internal.h.
 */
#include <math.h>
#include <string.h>

#include "onnx/internal.h"

/* --- windows that slide over the spatial axes --- */

/* How many windows of k elements there are on spatial axis i of n elements; DIM_NONE: not known,
 * -1: the window is larger than the axis */
static dim window_count(struct infer *f, dim n, int64_t k, uint32_t i, uint32_t spatial)
{
	int64_t stride = ints_attr(f, "strides", i, 1), dilation = ints_attr(f, "dilations", i, 1),
		v;
	int64_t before = ints_attr(f, "pads", i, 0), after = ints_attr(f, "pads", i + spatial, 0);
	struct ctx *cx = f->cx;

	if (stride < 1 || stride > INT32_MAX || dilation < 1 || dilation > INT32_MAX || k < 1 ||
	    k > INT32_MAX || before < 0 || before > INT32_MAX || after < 0 || after > INT32_MAX)
		return DIM_NONE;
	if (str_attr_is(f, "auto_pad", "SAME_UPPER") || str_attr_is(f, "auto_pad", "SAME_LOWER"))
		return dim_over(cx, dim_plus(cx, n, stride - 1), stride);
	if (str_attr_is(f, "auto_pad", "VALID"))
		before = after = 0;
	dim room = dim_add(cx, n, const_dim(f, before + after - (k - 1) * dilation - 1));
	if (dim_le(cx, room, -1))
		return const_dim(f, -1);
	/* implementations differ on whether the last, incomplete window may start in the padding */
	if (int_attr(f, "ceil_mode") && (!dim_is_const(cx, room, &v) || v % stride))
		return DIM_NONE;
	return dim_at_least(cx, dim_plus(cx, dim_over(cx, room, stride), 1), 0);
}

static bool set_windows(struct infer *f, struct type x, const int64_t *k, dim *d)
{
	for (uint32_t i = 0; i + 2 < x.rank; i++) {
		dim n = k[i] < 0 ? DIM_NONE : window_count(f, x.dims[i + 2], k[i], i, x.rank - 2u);
		d[i + 2] = n ? n : unknown_dim(f, 0, i + 2);
		if (!dim_le(f->cx, d[i + 2], -1))
			continue;
		infer_error(f, E_SHAPE, "the window is larger than axis %u of %s", i + 2,
			    type_str(f->cx, x));
		return false;
	}
	return true;
}

/* Does the list attribute `name`, if it is given, have n numbers? false: reported */
static bool check_count(struct infer *f, const char *name, uint32_t n)
{
	const struct attr *a = find_attr(f->n, name);

	if (!a || a->n == n || (a->n == n + 2 && !strcmp(name, "output_shape")))
		return true;
	infer_error(f, E_PROPERTY, "attribute '%s' has %u numbers where %u are needed for %s", name,
		    a->n, n, type_str(f->cx, input_type(f, 0)));
	return false;
}

/* Do the list attributes have a number for each spatial axis? false: reported */
static bool check_window_attrs(struct infer *f)
{
	uint32_t spatial = input_type(f, 0).rank - 2u;

	return check_count(f, "kernel_shape", spatial) && check_count(f, "strides", spatial) &&
	       check_count(f, "dilations", spatial) && check_count(f, "pads", 2 * spatial) &&
	       check_count(f, "output_padding", spatial) && check_count(f, "output_shape", spatial);
}

/* k[i]: kernel_shape, or else the size of the weights w on spatial axis i; -1: not known */
static void kernel_sizes(struct infer *f, struct type w, uint32_t spatial, int64_t *k)
{
	for (uint32_t i = 0; i < spatial; i++) {
		k[i] = ints_attr(f, "kernel_shape", i, -1);
		if (k[i] < 0 &&
		    (w.rank != spatial + 2 || !dim_is_const(f->cx, w.dims[i + 2], &k[i])))
			k[i] = -1;
	}
}

static enum onnx_infer_result conv(struct infer *f, uint32_t weights)
{
	struct type x = input_type(f, 0), w = input_type(f, weights);
	int64_t k[MAX_RANK], group = int_attr(f, "group");

	if (!check_input_rank(f, 0, 3, MAX_RANK) || !check_input_rank(f, weights, x.rank, x.rank) ||
	    !check_window_attrs(f))
		return ONNX_ERROR;
	if (group < 1 ||
	    !check_dims_match(f, x, w, x.dims[1], dim_mul(f->cx, w.dims[1], const_dim(f, group))))
		return ONNX_ERROR;
	dim *d = dims_copy(f, x);
	d[1] = w.dims[0];
	kernel_sizes(f, w, x.rank - 2u, k);
	return set_windows(f, x, k, d) ? set_result(f, 0, x.rank, d) : ONNX_ERROR;
}

enum onnx_infer_result onnx_conv(struct infer *f)
{
	return conv(f, 1);
}

enum onnx_infer_result onnx_qconv(struct infer *f)
{
	return conv(f, 3);
}

/* Is each pad below the window, so that no window lies in the padding alone? false: reported */
static bool check_pads(struct infer *f, const int64_t *k, uint32_t spatial)
{
	for (uint32_t i = 0; i < 2 * spatial; i++) {
		if (ints_attr(f, "pads", i, 0) < k[i % spatial] || k[i % spatial] < 0)
			continue;
		infer_error(f, E_PROPERTY,
			    "attribute 'pads' has %lld, which is not below the window of %lld",
			    (long long)ints_attr(f, "pads", i, 0), (long long)k[i % spatial]);
		return false;
	}
	return true;
}

enum onnx_infer_result onnx_pool(struct infer *f)
{
	struct type x = input_type(f, 0);
	int64_t k[MAX_RANK];

	if (!check_input_rank(f, 0, 3, MAX_RANK) || !check_window_attrs(f))
		return ONNX_ERROR;
	dim *d = dims_copy(f, x);
	kernel_sizes(f, (struct type){0}, x.rank - 2u, k);
	if (!check_pads(f, k, x.rank - 2u) || !set_windows(f, x, k, d))
		return ONNX_ERROR;
	if (f->n->nout > 1)
		bind_result_dtype(f, 1, DT_INT64);
	set_result(f, 1, x.rank, d);
	return set_result(f, 0, x.rank, d);
}

enum onnx_infer_result onnx_global_pool(struct infer *f)
{
	struct type x = input_type(f, 0);

	if (!check_input_rank(f, 0, 2, MAX_RANK))
		return ONNX_ERROR;
	dim *d = dims_copy(f, x);
	for (uint32_t i = 2; i < x.rank; i++)
		d[i] = const_dim(f, 1);
	return set_result(f, 0, x.rank, d);
}

/* The inverse of window_count(): the length of an axis on which n windows of k elements stand. */
static dim covered_length(struct infer *f, dim n, int64_t k, uint32_t i, uint32_t spatial)
{
	int64_t stride = ints_attr(f, "strides", i, 1), dilation = ints_attr(f, "dilations", i, 1);
	int64_t pads = ints_attr(f, "pads", i, 0) + ints_attr(f, "pads", i + spatial, 0);
	int64_t extra = ints_attr(f, "output_padding", i, 0);
	struct ctx *cx = f->cx;

	if (k < 1 || k > INT32_MAX || dilation < 1 || dilation > INT32_MAX)
		return DIM_NONE;
	if (str_attr_is(f, "auto_pad", "SAME_UPPER") || str_attr_is(f, "auto_pad", "SAME_LOWER"))
		return DIM_NONE; /* the runtime and the specification differ on output_padding */
	if (str_attr_is(f, "auto_pad", "VALID"))
		pads = 0;
	dim by = const_dim(f, stride), size = dim_mul(cx, dim_plus(cx, n, -1), by);
	return dim_at_least(cx, dim_plus(cx, size, extra + (k - 1) * dilation + 1 - pads), 0);
}

enum onnx_infer_result onnx_conv_transpose(struct infer *f)
{
	struct type x = input_type(f, 0), w = input_type(f, 1);
	const struct attr *shape = find_attr(f->n, "output_shape");
	int64_t k[MAX_RANK];

	if (!check_input_rank(f, 0, 3, MAX_RANK) || !check_input_rank(f, 1, x.rank, x.rank) ||
	    !check_window_attrs(f) || !check_dims_match(f, x, w, x.dims[1], w.dims[0]))
		return ONNX_ERROR;
	uint32_t spatial = x.rank - 2u;
	dim *d = dims_copy(f, x);
	d[1] = dim_mul(f->cx, w.dims[1], const_dim(f, int_attr(f, "group")));
	kernel_sizes(f, w, spatial, k);
	for (uint32_t i = 0; i < spatial; i++) {
		/* output_shape may also have the batch and channels */
		dim n = shape && shape->n >= spatial
				? const_dim(f, shape->u.ints[shape->n - spatial + i])
				: covered_length(f, x.dims[i + 2], k[i], i, spatial);
		if (n && dim_le(f->cx, n, 0) && dim_ge(f->cx, x.dims[i + 2], 1)) {
			infer_error(f, E_SHAPE, "the padding leaves nothing of axis %u", i + 2);
			return ONNX_ERROR;
		}
		d[i + 2] = n ? n : unknown_dim(f, 0, i + 2);
	}
	return set_result(f, 0, x.rank, d);
}

enum onnx_infer_result onnx_max_unpool(struct infer *f)
{
	struct type x = input_type(f, 0);
	const struct known *shape = input_known(f, 2);
	int64_t k[MAX_RANK];

	if (!check_input_rank(f, 1, x.rank, x.rank) || !check_window_attrs(f))
		return ONNX_ERROR;
	for (uint32_t i = 0; i < x.rank; i++)
		if (!check_dims_match(f, x, input_type(f, 1), x.dims[i], input_type(f, 1).dims[i]))
			return ONNX_ERROR;
	if (input_count(f, 2) >= 0 && input(f, 2) && input_count(f, 2) != x.rank) {
		infer_error(f, E_SHAPE, "output_shape has %lld numbers for %s",
			    (long long)input_count(f, 2), type_str(f->cx, x));
		return ONNX_ERROR;
	}
	dim *d = dims_copy(f, x);
	kernel_sizes(f, (struct type){0}, x.rank - 2u, k);
	for (uint32_t i = 0; i < x.rank; i++) {
		dim n = DIM_NONE;
		if (input(f, 2))
			n = shape && shape->n == x.rank ? shape->at[i] : DIM_NONE;
		else
			n = i < 2 ? d[i] : covered_length(f, d[i], k[i - 2], i - 2, x.rank - 2u);
		d[i] = n ? n : unknown_dim(f, 0, i);
	}
	return set_result(f, 0, x.rank, d);
}

enum onnx_infer_result onnx_roi(struct infer *f)
{
	bool align = f->op->id == ONNX_RoiAlign;
	dim *d = dims_alloc(f, 4);

	if (!check_input_rank(f, 0, 4, 4) || !check_input_rank(f, 1, 2, 2))
		return ONNX_ERROR;
	struct type rois = input_type(f, 1);
	if (align &&
	    !check_dims_match(f, rois, input_type(f, 2), rois.dims[0], input_type(f, 2).dims[0]))
		return ONNX_ERROR;
	d[0] = rois.dims[0];
	d[1] = input_type(f, 0).dims[1];
	d[2] = const_dim(f,
			 align ? int_attr(f, "output_height") : ints_attr(f, "pooled_shape", 0, 1));
	d[3] = const_dim(f,
			 align ? int_attr(f, "output_width") : ints_attr(f, "pooled_shape", 1, 1));
	return set_result(f, 0, 4, d);
}

enum onnx_infer_result onnx_col2im(struct infer *f)
{
	struct type x = input_type(f, 0);
	const struct known *image = input_known(f, 1), *block = input_known(f, 2);
	int64_t n = input_count(f, 1);
	dim size = const_dim(f, 1);

	if (!check_input_rank(f, 0, 3, 3))
		return ONNX_ERROR;
	for (uint32_t i = 0; block && i < block->n; i++)
		if (dim_le(f->cx, block->at[i], 0)) {
			infer_error(f, E_RANGE, "block_shape has %s", dim_str(f->cx, block->at[i]));
			return ONNX_ERROR;
		}
	if (n < 1 || n > MAX_RANK - 2)
		return ONNX_NO_RULE;
	if (input_count(f, 2) >= 0 && input_count(f, 2) != n) {
		infer_error(f, E_SHAPE, "block_shape has %lld numbers, image_shape %lld",
			    (long long)input_count(f, 2), (long long)n);
		return ONNX_ERROR;
	}
	if (!check_count(f, "strides", (uint32_t)n) || !check_count(f, "dilations", (uint32_t)n) ||
	    !check_count(f, "pads", 2 * (uint32_t)n))
		return ONNX_ERROR;
	dim *d = dims_alloc(f, (uint32_t)n + 2);
	d[0] = x.dims[0];
	for (uint32_t i = 0; block && i < block->n; i++)
		size = dim_mul(f->cx, size, block->at[i]);
	d[1] = block && dim_ge(f->cx, size, 1) ? dim_floordiv(f->cx, x.dims[1], size)
					       : unknown_dim(f, 0, 1);
	for (uint32_t i = 0; i < n; i++)
		d[i + 2] = image && i < image->n ? image->at[i] : unknown_dim(f, 0, i + 2);
	return set_result(f, 0, (uint32_t)n + 2, d);
}

/* --- images --- */

enum onnx_infer_result onnx_depth_to_space(struct infer *f)
{
	int64_t b = int_attr(f, "blocksize"), c;

	if (!check_input_rank(f, 0, 4, 4))
		return ONNX_ERROR;
	dim *d = dims_copy(f, input_type(f, 0));
	if (b < 1 || b > 1 << 15 || (dim_is_const(f->cx, d[1], &c) && c % (b * b))) {
		infer_error(f, E_SHAPE, "%s does not divide by blocksize %lld",
			    type_str(f->cx, input_type(f, 0)), (long long)b);
		return ONNX_ERROR;
	}
	d[1] = dim_floordiv(f->cx, d[1], const_dim(f, b * b));
	d[2] = dim_mul(f->cx, d[2], const_dim(f, b));
	d[3] = dim_mul(f->cx, d[3], const_dim(f, b));
	return set_result(f, 0, 4, d);
}

enum onnx_infer_result onnx_space_to_depth(struct infer *f)
{
	int64_t b = int_attr(f, "blocksize"), h, w;

	if (!check_input_rank(f, 0, 4, 4))
		return ONNX_ERROR;
	dim *d = dims_copy(f, input_type(f, 0));
	if (b < 1 || b > 1 << 15 || (dim_is_const(f->cx, d[2], &h) && h % b) ||
	    (dim_is_const(f->cx, d[3], &w) && w % b)) {
		infer_error(f, E_SHAPE, "%s does not divide by blocksize %lld",
			    type_str(f->cx, input_type(f, 0)), (long long)b);
		return ONNX_ERROR;
	}
	d[1] = dim_mul(f->cx, d[1], const_dim(f, b * b));
	d[2] = dim_floordiv(f->cx, d[2], const_dim(f, b));
	d[3] = dim_floordiv(f->cx, d[3], const_dim(f, b));
	return set_result(f, 0, 4, d);
}

/* floor(n * scale), which ONNX's own inference multiplies in float64 and ONNX Runtime in float32 */
static bool scale_dim(struct infer *f, double scale, uint32_t axis, dim *n)
{
	int64_t v;

	if (scale == 1)
		return true;
	if (scale == floor(scale) && scale >= 0 && scale < 0x1p20) {
		*n = dim_mul(f->cx, *n, const_dim(f, (int64_t)scale));
		return true;
	}
	if (!dim_is_const(f->cx, *n, &v) || !(scale >= 0 && scale < 0x1p20) || v >= 1 << 24) {
		*n = unknown_dim(f, 0, axis);
		return true;
	}
	float single = floorf((float)v * (float)scale);
	double wide = floor((double)v * scale);
	if ((double)single != wide) {
		infer_error(f, E_SHAPE,
			    "%lld times %.9g is %.0f in float64 and %.0f in float32, and runtimes "
			    "differ; give it sizes",
			    (long long)v, scale, wide, (double)single);
		return false;
	}
	*n = const_dim(f, (int64_t)single);
	return true;
}

enum onnx_infer_result onnx_resize(struct infer *f)
{
	struct type t = input_type(f, 0);
	const struct attr *axes = find_attr(f->n, "axes");
	const struct known *sizes = input_known(f, 3);
	const struct tensor *scales = input(f, 2) ? f->n->in[2]->data : NULL;
	uint32_t n = axes ? axes->n : t.rank, axis;
	bool plain = !str_attr_is(f, "coordinate_transformation_mode", "tf_crop_and_resize");

	if (find_attr(f->n, "keep_aspect_ratio_policy") &&
	    !str_attr_is(f, "keep_aspect_ratio_policy", "stretch"))
		plain = false;
	if (!check_distinct_axes(f, axes, t.rank))
		return ONNX_ERROR;
	bool by_scale = input(f, 2) && input_count(f, 2),
	     by_size = input(f, 3) && input_count(f, 3);
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
		if (!resolve_axis(f, axes ? axes->u.ints[i] : (int64_t)i, t.rank, &axis))
			return ONNX_ERROR;
		if (plain && sizes && sizes->n)
			d[axis] = sizes->at[i];
		else if (!plain || !scales || !scales->count)
			d[axis] = unknown_dim(f, 0, axis);
		else if (!scale_dim(f, tensor_float(scales, i), axis, &d[axis]))
			return ONNX_ERROR;
	}
	return set_result(f, 0, t.rank, d);
}

enum onnx_infer_result onnx_grid_sample(struct infer *f)
{
	struct type x = input_type(f, 0), grid = input_type(f, 1);
	int64_t last;

	if (!check_input_rank(f, 0, f->op->since < 20 ? 4 : 3, f->op->since < 20 ? 4 : MAX_RANK) ||
	    !check_input_rank(f, 1, x.rank, x.rank))
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
	return set_result(f, 0, x.rank, d);
}

enum onnx_infer_result onnx_affine_grid(struct infer *f)
{
	const struct known *k = input_known(f, 1);
	int64_t n = input_count(f, 1);

	if (!check_input_rank(f, 0, 3, 3))
		return ONNX_ERROR;
	if (n >= 0 && n != 4 && n != 5) {
		infer_error(f, E_SHAPE, "size has %lld numbers, not 4 or 5", (long long)n);
		return ONNX_ERROR;
	}
	if (n < 0)
		return ONNX_NO_RULE;
	dim *d = dims_alloc(f, (uint32_t)n);
	d[0] = k ? k->at[0] : unknown_dim(f, 0, 0);
	for (uint32_t i = 2; i < n; i++)
		d[i - 1] = k ? k->at[i] : unknown_dim(f, 0, i - 1);
	d[n - 1] = const_dim(f, n - 2);
	return set_result(f, 0, (uint32_t)n, d);
}
/* --- norms, recurrent networks, quantization --- */

enum onnx_infer_result onnx_batch_norm(struct infer *f)
{
	struct type x = input_type(f, 0);

	if (!check_input_rank(f, 0, 1, MAX_RANK))
		return ONNX_ERROR;
	for (uint32_t i = 1; i < 5; i++)
		if (!check_input_rank(f, i, 1, 1) ||
		    (x.rank > 1 && !check_dims_match(f, x, input_type(f, i), x.dims[1],
						     input_type(f, i).dims[0])))
			return ONNX_ERROR;
	if (f->op->since < 14 && f->n->nout != 1 && f->n->nout != 5) {
		infer_error(f, E_ARITY, "it has 1 result or 5, not %u", f->n->nout);
		return ONNX_ERROR;
	}
	if (f->op->since >= 14 && f->n->nout != (int_attr(f, "training_mode") ? 3 : 1)) {
		infer_error(f, E_ARITY,
			    "it has 3 results with training_mode=1 and 1 without, not %u",
			    f->n->nout);
		return ONNX_ERROR;
	}
	for (uint32_t i = 1; i < f->n->nout; i++)
		set_result_like(f, i, input_type(f, 3));
	return set_result_like(f, 0, x);
}

/* Scale and bias have an element for each channel; before opset 21, one for each group. */
enum onnx_infer_result onnx_group_norm(struct infer *f)
{
	struct type x = input_type(f, 0);
	int64_t groups = int_attr(f, "num_groups"), channels;
	dim each = f->op->since < 21 ? const_dim(f, groups) : x.dims[1];

	for (uint32_t i = 1; i < 3; i++)
		if (!check_dims_match(f, x, input_type(f, i), each, input_type(f, i).dims[0]))
			return ONNX_ERROR;
	if (dim_is_const(f->cx, x.dims[1], &channels) && groups > 0 && channels % groups) {
		infer_error(f, E_SHAPE, "%lld channels do not divide into %lld groups",
			    (long long)channels, (long long)groups);
		return ONNX_ERROR;
	}
	return set_result_like(f, 0, x);
}

enum onnx_infer_result onnx_layer_norm(struct infer *f)
{
	struct type x = input_type(f, 0);
	uint32_t axis;

	if (!resolve_axis(f, int_attr(f, "axis"), x.rank, &axis))
		return ONNX_ERROR;
	dim *d = dims_copy(f, x);
	for (uint32_t i = axis; i < x.rank; i++)
		d[i] = const_dim(f, 1);
	enum dtype stash = dtype_of_onnx(int_attr(f, "stash_type"));
	if (stash != DT_FLOAT32 && stash != DT_BFLOAT16) {
		infer_error(f, E_PROPERTY,
			    "stash_type is %lld; expected 1 (float32) or 16 (bfloat16)",
			    (long long)int_attr(f, "stash_type"));
		return ONNX_ERROR;
	}
	bind_result_dtype(f, 1, stash);
	set_result(f, 1, x.rank, d);
	set_result(f, 2, x.rank, d);
	return set_result_like(f, 0, x);
}

enum onnx_infer_result onnx_rnn(struct infer *f)
{
	if (!check_input_rank(f, 0, 3, 3) || !check_input_rank(f, 1, 3, 3) ||
	    !check_input_rank(f, 2, 3, 3))
		return ONNX_ERROR;
	struct type x = input_type(f, 0), w = input_type(f, 1), r = input_type(f, 2);
	bool batch_first = int_attr(f, "layout");
	dim hidden = r.dims[2];
	if (int_attr(f, "hidden_size") &&
	    !check_dims_match(f, w, r, const_dim(f, int_attr(f, "hidden_size")), hidden))
		return ONNX_ERROR;
	dim ways = const_dim(f, str_attr_is(f, "direction", "bidirectional") ? 2 : 1);
	dim *y = dims_alloc(f, 4), *h = dims_alloc(f, 3);

	y[0] = x.dims[0];
	y[1] = batch_first ? x.dims[1] : ways;
	y[2] = batch_first ? ways : x.dims[1];
	y[3] = h[2] = hidden;
	h[0] = batch_first ? x.dims[0] : ways;
	h[1] = batch_first ? ways : x.dims[1];
	set_result(f, 1, 3, h);
	set_result(f, 2, 3, h);
	return set_result(f, 0, 4, y);
}

/* The dtype of the result is that of the zero point, else output_dtype, else uint8. */
enum onnx_infer_result onnx_quantize(struct infer *f)
{
	int64_t to = int_attr(f, "output_dtype");

	if (!input(f, 2) || to)
		bind_result_dtype(f, 0, to ? dtype_of_onnx(to) : DT_UINT8);
	return set_result_like(f, 0, input_type(f, 0));
}

enum onnx_infer_result onnx_dequantize(struct infer *f)
{
	int64_t to = int_attr(f, "output_dtype");

	bind_result_dtype(f, 0, to ? dtype_of_onnx(to) : (enum dtype)input_type(f, 1).dtype);
	return set_result_like(f, 0, input_type(f, 0));
}

enum onnx_infer_result onnx_dynamic_quantize(struct infer *f)
{
	bind_result_dtype(f, 0, DT_UINT8);
	set_result(f, 1, 0, dims_alloc(f, 0));
	set_result(f, 2, 0, dims_alloc(f, 0));
	return set_result_like(f, 0, input_type(f, 0));
}

/* --- attention --- */

/* Can axis i of input a and axis k of input b have the same length? false: reported */
static bool check_same_length(struct infer *f, uint32_t a, uint32_t i, uint32_t b, uint32_t k)
{
	struct type x = input_type(f, a), y = input_type(f, b);

	if (!dim_ne(f->cx, x.dims[i], y.dims[k]))
		return true;
	infer_error(f, E_SHAPE, "axis %u of %s and axis %u of %s must be the same", i,
		    type_str(f->cx, x), k, type_str(f->cx, y));
	return false;
}

struct heads {
	dim batch, q, kv;     /* q, kv: the numbers of heads */
	dim length, keys;     /* of the sequences of queries and of keys */
	dim size, value_size; /* of a head */
};

/* Inputs of 3 dims: [batch, length, heads * size]. false: reported */
static bool read_joined_heads(struct infer *f, struct heads *h)
{
	struct type q = input_type(f, 0), v = input_type(f, 2);
	int64_t heads = int_attr(f, "q_num_heads"), groups = int_attr(f, "kv_num_heads");

	if (!heads || !groups) {
		infer_error(f, E_PROPERTY,
			    "inputs of 3 dims need the attributes q_num_heads and "
			    "kv_num_heads");
		return false;
	}
	h->q = const_dim(f, heads);
	h->kv = const_dim(f, groups);
	h->length = q.dims[1];
	h->keys = v.dims[1];
	h->size = dim_floordiv(f->cx, q.dims[2], h->q);
	h->value_size = dim_floordiv(f->cx, v.dims[2], h->kv);
	return true;
}

/* Inputs of 4 dims: [batch, heads, length, size]. false: reported */
static bool read_separate_heads(struct infer *f, struct heads *h)
{
	struct type q = input_type(f, 0), v = input_type(f, 2);

	if (find_attr(f->n, "q_num_heads") || find_attr(f->n, "kv_num_heads")) {
		infer_error(f, E_PROPERTY, "q_num_heads and kv_num_heads are for inputs of 3 dims");
		return false;
	}
	h->q = q.dims[1];
	h->kv = v.dims[1];
	h->length = q.dims[2];
	h->keys = v.dims[2];
	h->size = q.dims[3];
	h->value_size = v.dims[3];
	return true;
}

/* Does the cache of input i, if it is given, have `heads` heads of that size? false: reported */
static bool check_past(struct infer *f, uint32_t i, dim heads, dim size)
{
	if (!input(f, i) || (!dim_ne(f->cx, input_type(f, i).dims[1], heads) &&
			     !dim_ne(f->cx, input_type(f, i).dims[3], size)))
		return true;
	infer_error(f, E_SHAPE, "%s is %s for %s heads of size %s",
		    i == 4 ? "past_key" : "past_value", type_str(f->cx, input_type(f, i)),
		    dim_str(f->cx, heads), dim_str(f->cx, size));
	return false;
}

static bool read_heads(struct infer *f, struct heads *h)
{
	uint32_t rank = input_type(f, 0).rank;

	if (!check_input_rank(f, 1, rank, rank) || !check_input_rank(f, 2, rank, rank) ||
	    !check_same_length(f, 0, 0, 1, 0) || !check_same_length(f, 0, 0, 2, 0) ||
	    !check_same_length(f, 1, rank - 2, 2, rank - 2))
		return false;
	h->batch = input_type(f, 0).dims[0];
	if (!input(f, 4) != !input(f, 5)) {
		infer_error(f, E_ARITY, "past_key and past_value come together");
		return false;
	}
	for (uint32_t i = 4; i < 6 && input(f, i); i++)
		if (!check_same_length(f, 0, 0, i, 0) || !check_same_length(f, 4, 2, i, 2))
			return false;
	if (f->n->nout == 2) {
		infer_error(f, E_ARITY, "present_key and present_value come together");
		return false;
	}
	if (!(rank == 3 ? read_joined_heads(f, h) : read_separate_heads(f, h)))
		return false;
	return check_past(f, 4, h->kv, h->size) && check_past(f, 5, h->kv, h->value_size);
}

static void set_result4(struct infer *f, uint32_t i, dim a, dim b, dim c, dim d)
{
	dim *dims = dims_alloc(f, 4);

	dims[0] = a;
	dims[1] = b;
	dims[2] = c;
	dims[3] = d;
	set_result(f, i, 4, dims);
}

enum onnx_infer_result onnx_attention(struct infer *f)
{
	struct type q = input_type(f, 0);
	struct heads h = {0};

	if (!read_heads(f, &h))
		return ONNX_ERROR;
	dim total = input(f, 4) ? dim_add(f->cx, input_type(f, 4).dims[2], h.keys) : h.keys;
	dim *d = dims_copy(f, q);
	d[q.rank - 1] = q.rank == 4 ? h.value_size : dim_mul(f->cx, h.q, h.value_size);
	set_result4(f, 1, h.batch, h.kv, total, h.size);
	set_result4(f, 2, h.batch, h.kv, total, h.value_size);
	set_result4(f, 3, h.batch, h.q, h.length, total);
	return set_result(f, 0, q.rank, d);
}

enum onnx_infer_result onnx_rotary(struct infer *f)
{
	if (input_type(f, 0).rank == 3 && int_attr(f, "num_heads") < 1) {
		infer_error(f, E_PROPERTY, "an input of 3 dims needs the attribute num_heads");
		return ONNX_ERROR;
	}
	return onnx_same(f);
}

enum onnx_infer_result onnx_tensor_scatter(struct infer *f)
{
	struct type t = input_type(f, 0);
	uint32_t axis;

	if (!check_input_rank(f, 1, t.rank, t.rank) ||
	    !resolve_axis(f, int_attr(f, "axis"), t.rank, &axis))
		return ONNX_ERROR;
	for (uint32_t i = 0; i < t.rank; i++)
		if (i != axis && !check_same_length(f, 0, i, 1, i))
			return ONNX_ERROR;
	if (input(f, 2) && !check_same_length(f, 0, 0, 2, 0))
		return ONNX_ERROR;
	return set_result_like(f, 0, t);
}

/* --- losses --- */

enum onnx_infer_result onnx_loss(struct infer *f)
{
	struct type x = input_type(f, 0);
	bool whole = f->op->id == ONNX_SoftmaxCrossEntropyLoss;

	if (!check_input_rank(f, 1, x.rank - 1u, x.rank - 1u) || !check_same_length(f, 0, 0, 1, 0))
		return ONNX_ERROR;
	for (uint32_t i = 2; i < x.rank; i++)
		if (!check_same_length(f, 0, i, 1, i - 1))
			return ONNX_ERROR;
	if (input(f, 2) && !check_same_length(f, 0, 1, 2, 0))
		return ONNX_ERROR;
	for (uint32_t i = 0; whole && i < x.rank; i++)
		if (dim_is(f->cx, x.dims[i], 0)) {
			infer_error(f, E_SHAPE, "%s has no elements", type_str(f->cx, x));
			return ONNX_ERROR;
		}
	set_result_like(f, 1, x);
	if (str_attr_is(f, "reduction", "none"))
		return set_result_like(f, 0, input_type(f, 1));
	return set_result(f, 0, 0, dims_alloc(f, 0));
}
