/*
 * infer_nn.c: rules of ONNX inference: products, convolutions and pools, norms, recurrent
 * networks, transforms. In and out: see internal.h.
 */
#include <string.h>

#include "onnx/internal.h"

/* --- products --- */

static bool check_inner(struct infer *f, struct type a, struct type b, dim x, dim y)
{
	if (!dim_ne(f->cx, x, y))
		return true;
	infer_error(f, E_SHAPE, "%s and %s do not fit: %s against %s", type_str(f->cx, a),
		    type_str(f->cx, b), dim_str(f->cx, x), dim_str(f->cx, y));
	return false;
}

static enum onnx_infer_result matmul(struct infer *f, struct type a, struct type b)
{
	struct type lead[2] = {a, b};
	dim *d = dims_alloc(f, MAX_RANK);
	uint32_t rank;

	if (!a.rank || !b.rank) {
		infer_error(f, E_RANK, "takes no scalars, got %s and %s", type_str(f->cx, a),
			    type_str(f->cx, b));
		return ONNX_ERROR;
	}
	if (!check_inner(f, a, b, a.dims[a.rank - 1], b.dims[b.rank > 1 ? b.rank - 2 : 0]))
		return ONNX_ERROR;
	lead[0].rank = a.rank > 2 ? a.rank - 2 : 0;
	lead[1].rank = b.rank > 2 ? b.rank - 2 : 0;
	rank = lead[0].rank > lead[1].rank ? lead[0].rank : lead[1].rank;
	if (!broadcast_types(f, lead, 2, d, rank))
		return ONNX_ERROR;
	if (a.rank > 1)
		d[rank++] = a.dims[a.rank - 2];
	if (b.rank > 1)
		d[rank++] = b.dims[b.rank - 1];
	return out(f, 0, rank, d);
}

enum onnx_infer_result onnx_matmul(struct infer *f)
{
	return matmul(f, type_in(f, 0), type_in(f, 1));
}

enum onnx_infer_result onnx_qmatmul(struct infer *f)
{
	return matmul(f, type_in(f, 0), type_in(f, 3));
}

enum onnx_infer_result onnx_gemm(struct infer *f)
{
	bool ta = int_attr(f, "transA"), tb = int_attr(f, "transB");
	dim *d = dims_alloc(f, 2);

	if (!want_in_rank(f, 0, 2, 2) || !want_in_rank(f, 1, 2, 2) || !want_in_rank(f, 2, 0, 2))
		return ONNX_ERROR;
	struct type a = type_in(f, 0), b = type_in(f, 1);
	if (!check_inner(f, a, b, a.dims[!ta], b.dims[tb]))
		return ONNX_ERROR;
	d[0] = a.dims[ta];
	d[1] = b.dims[!tb];
	for (uint32_t i = 0; input(f, 2) && i < type_in(f, 2).rank; i++) {
		struct type c = type_in(f, 2);
		dim x = c.dims[c.rank - 1 - i], y = d[1 - i];
		int64_t v;
		if (!dim_ne(f->cx, x, y) || (dim_is_const(f->cx, x, &v) && v == 1))
			continue;
		infer_error(f, E_SHAPE, "C is %s, which does not broadcast to (%s, %s)",
			    type_str(f->cx, c), dim_str(f->cx, d[0]), dim_str(f->cx, d[1]));
		return ONNX_ERROR;
	}
	return out(f, 0, 2, d);
}

/* Einsum: what each letter stands for, and the dims of the ellipsis. */
struct einsum {
	dim letter[128];
	uint32_t count[128];
	dim dots[MAX_RANK]; /* aligned on the right: dots[MAX_RANK - ndots ...] */
	uint32_t ndots;
};

static bool einsum_dim(struct infer *f, struct type t, dim *have, dim d)
{
	if (!*have) {
		*have = d;
		return true;
	}
	if (broadcast_dim(f, *have, d, 0, have))
		return true;
	infer_error(f, E_SHAPE, "%s does not fit the operands before it", type_str(f->cx, t));
	return false;
}

/* One operand of the left side, up to a comma or the end. */
static bool einsum_operand(struct infer *f, struct einsum *e, struct type t, const char *s,
			   const char *end)
{
	uint32_t letters = 0, at = 0;

	for (const char *p = s; p < end; p++)
		letters += *p != ' ' && *p != '.';
	bool dots = memchr(s, '.', (size_t)(end - s)) != NULL;
	if (letters > t.rank || (!dots && letters != t.rank)) {
		infer_error(f, E_RANK, "'%.*s' does not fit %s", (int)(end - s), s,
			    type_str(f->cx, t));
		return false;
	}
	for (const char *p = s; p < end; p++) {
		uint32_t n = t.rank - letters;
		if (*p == ' ')
			continue;
		if (*p == '.') {
			for (uint32_t i = 0; i < n; i++)
				if (!einsum_dim(f, t, &e->dots[MAX_RANK - n + i], t.dims[at + i]))
					return false;
			e->ndots = n > e->ndots ? n : e->ndots;
			at += n;
			p += 2;
			continue;
		}
		unsigned char c = (unsigned char)*p;
		if (!einsum_dim(f, t, &e->letter[c], t.dims[at++]))
			return false;
		e->count[c]++;
	}
	return true;
}

/* Of the operands and of the result: at most one "...", and no other dots. false: reported */
static bool einsum_dots(struct infer *f, const char *s, const char *end)
{
	uint32_t n = 0;

	for (const char *p = s; p < end; p++) {
		n = *p == ',' || *p == '-' ? 0 : n;
		if (*p != '.')
			continue;
		if (end - p < 3 || p[1] != '.' || p[2] != '.' || n++) {
			infer_error(f, E_PROPERTY,
				    "an operand and the result have one '...' each "
				    "at most, and no other dots");
			return false;
		}
		p += 2;
	}
	return true;
}

static enum onnx_infer_result einsum_result(struct infer *f, struct einsum *e, const char *s,
					    const char *end)
{
	dim *d = dims_alloc(f, MAX_RANK + 128);
	uint32_t rank = 0;

	for (const char *p = s; p < end; p++) {
		if (*p == ' ')
			continue;
		if (*p == '.') {
			for (uint32_t i = MAX_RANK - e->ndots; i < MAX_RANK; i++)
				d[rank++] = e->dots[i];
			p += 2;
			continue;
		}
		if (rank >= MAX_RANK || !e->letter[(unsigned char)*p]) {
			infer_error(f, E_PROPERTY, "'%c' of the result is in no operand", *p);
			return ONNX_ERROR;
		}
		d[rank++] = e->letter[(unsigned char)*p];
	}
	return out(f, 0, rank, d);
}

/* Without "->": the ellipsis, then the letters that occur once, in the order of the alphabet. */
static enum onnx_infer_result einsum_implicit(struct infer *f, struct einsum *e)
{
	char text[3 + 128];
	size_t n = 0;

	if (e->ndots)
		n = 3, memcpy(text, "...", 3);
	for (int c = 'A'; c <= 'z'; c++)
		if (e->count[c] == 1)
			text[n++] = (char)c;
	return einsum_result(f, e, text, text + n);
}

enum onnx_infer_result onnx_einsum(struct infer *f)
{
	const struct attr *a = attr_of(f, "equation");
	struct einsum *e = new (f->cx->arena, struct einsum);

	if (!a || a->kind != AT_STR)
		return ONNX_NO_RULE;
	const char *s = a->u.s.s, *end = s + a->u.s.len, *arrow = end;
	for (const char *p = s; p < end; p++) {
		if (p + 1 < end && p[0] == '-' && p[1] == '>' && arrow == end)
			arrow = p++;
		else if (!(*p >= 'a' && *p <= 'z') && !(*p >= 'A' && *p <= 'Z') && *p != '.' &&
			 *p != ',' && *p != ' ') {
			infer_error(f, E_PROPERTY, "'%c' has no meaning in an equation", *p);
			return ONNX_ERROR;
		}
	}
	if (!einsum_dots(f, s, end))
		return ONNX_ERROR;
	for (uint32_t i = 0; i < f->n->nin; i++) {
		const char *comma = memchr(s, ',', (size_t)(arrow - s));
		if ((comma == NULL) != (i + 1 == f->n->nin)) {
			infer_error(f, E_ARITY, "the equation does not name %u operands",
				    f->n->nin);
			return ONNX_ERROR;
		}
		if (!einsum_operand(f, e, type_in(f, i), s, comma ? comma : arrow))
			return ONNX_ERROR;
		s = comma ? comma + 1 : arrow;
	}
	return arrow == end ? einsum_implicit(f, e) : einsum_result(f, e, arrow + 2, end);
}

enum onnx_infer_result onnx_det(struct infer *f)
{
	struct type t = type_in(f, 0);

	if (!want_in_rank(f, 0, 2, MAX_RANK) ||
	    !check_inner(f, t, t, t.dims[t.rank - 2], t.dims[t.rank - 1]))
		return ONNX_ERROR;
	return out(f, 0, t.rank - 2, t.dims);
}

/* --- windows that slide over space --- */

/* Where a window of k elements can stand on axis i of n elements; DIM_NONE: not known */
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
		return dim_floordiv(cx, dim_add(cx, n, num(f, stride - 1)), num(f, stride));
	if (str_attr_is(f, "auto_pad", "VALID"))
		before = after = 0;
	dim room = dim_add(cx, n, num(f, before + after - (k - 1) * dilation - 1));
	if (dim_le(cx, room, -1))
		return num(f, -1);
	/* rounding up, and whether the last window may start in the padding, is not one rule */
	if (int_attr(f, "ceil_mode") && (!dim_is_const(cx, room, &v) || v % stride))
		return DIM_NONE;
	return dim_max(cx, dim_add(cx, dim_floordiv(cx, room, num(f, stride)), num(f, 1)),
		       num(f, 0));
}

static bool set_windows(struct infer *f, struct type x, const int64_t *k, dim *d)
{
	for (uint32_t i = 0; i + 2 < x.rank; i++) {
		dim n = k[i] < 0 ? DIM_NONE : window_count(f, x.dims[i + 2], k[i], i, x.rank - 2u);
		d[i + 2] = n ? n : fresh(f, 0, i + 2);
		if (!dim_le(f->cx, d[i + 2], -1))
			continue;
		infer_error(f, E_SHAPE, "the window is larger than axis %u of %s", i + 2,
			    type_str(f->cx, x));
		return false;
	}
	return true;
}

/* Is a list given that has not n numbers? Then it was reported. */
static bool wrong_count(struct infer *f, const char *name, uint32_t n)
{
	const struct attr *a = attr_of(f, name);

	if (!a || a->n == n || (a->n == n + 2 && !strcmp(name, "output_shape")))
		return false;
	infer_error(f, E_PROPERTY, "attribute '%s' has %u numbers where %u are needed for %s", name,
		    a->n, n, type_str(f->cx, type_in(f, 0)));
	return true;
}

/* Attributes of windows have a number an axis. false: reported */
static bool windows_fit(struct infer *f)
{
	uint32_t spatial = type_in(f, 0).rank - 2u;

	return !wrong_count(f, "kernel_shape", spatial) && !wrong_count(f, "strides", spatial) &&
	       !wrong_count(f, "dilations", spatial) && !wrong_count(f, "pads", 2 * spatial) &&
	       !wrong_count(f, "output_padding", spatial) &&
	       !wrong_count(f, "output_shape", spatial);
}

/* kernel_shape, or the sizes of the weights; -1 where they are not known */
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
	struct type x = type_in(f, 0), w = type_in(f, weights);
	int64_t k[MAX_RANK], group = int_attr(f, "group");

	if (!want_in_rank(f, 0, 3, MAX_RANK) || !want_in_rank(f, weights, x.rank, x.rank) ||
	    !windows_fit(f))
		return ONNX_ERROR;
	if (group < 1 || !check_inner(f, x, w, x.dims[1], dim_mul(f->cx, w.dims[1], num(f, group))))
		return ONNX_ERROR;
	dim *d = dims_copy(f, x);
	d[1] = w.dims[0];
	kernel_sizes(f, w, x.rank - 2u, k);
	return set_windows(f, x, k, d) ? out(f, 0, x.rank, d) : ONNX_ERROR;
}

enum onnx_infer_result onnx_conv(struct infer *f)
{
	return conv(f, 1);
}

enum onnx_infer_result onnx_qconv(struct infer *f)
{
	return conv(f, 3);
}

/* A window must not stand in the padding alone. */
static bool pads_fit(struct infer *f, const int64_t *k, uint32_t spatial)
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
	struct type x = type_in(f, 0);
	int64_t k[MAX_RANK];

	if (!want_in_rank(f, 0, 3, MAX_RANK) || !windows_fit(f))
		return ONNX_ERROR;
	dim *d = dims_copy(f, x);
	kernel_sizes(f, (struct type){0}, x.rank - 2u, k);
	if (!pads_fit(f, k, x.rank - 2u) || !set_windows(f, x, k, d))
		return ONNX_ERROR;
	if (f->n->nout > 1)
		bind_result(f, 1, DT_INT64);
	out(f, 1, x.rank, d);
	return out(f, 0, x.rank, d);
}

enum onnx_infer_result onnx_global_pool(struct infer *f)
{
	struct type x = type_in(f, 0);

	if (!want_in_rank(f, 0, 2, MAX_RANK))
		return ONNX_ERROR;
	dim *d = dims_copy(f, x);
	for (uint32_t i = 2; i < x.rank; i++)
		d[i] = num(f, 1);
	return out(f, 0, x.rank, d);
}

/* What a window of k elements makes of axis i of n elements, the other way round. */
static dim spread_size(struct infer *f, dim n, int64_t k, uint32_t i, uint32_t spatial)
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
	dim size = dim_mul(cx, dim_sub(cx, n, num(f, 1)), num(f, stride));
	return dim_max(cx, dim_add(cx, size, num(f, extra + (k - 1) * dilation + 1 - pads)),
		       num(f, 0));
}

enum onnx_infer_result onnx_conv_transpose(struct infer *f)
{
	struct type x = type_in(f, 0), w = type_in(f, 1);
	const struct attr *shape = attr_of(f, "output_shape");
	int64_t k[MAX_RANK];

	if (!want_in_rank(f, 0, 3, MAX_RANK) || !want_in_rank(f, 1, x.rank, x.rank) ||
	    !windows_fit(f) || !check_inner(f, x, w, x.dims[1], w.dims[0]))
		return ONNX_ERROR;
	uint32_t spatial = x.rank - 2u;
	dim *d = dims_copy(f, x);
	d[1] = dim_mul(f->cx, w.dims[1], num(f, int_attr(f, "group")));
	kernel_sizes(f, w, spatial, k);
	for (uint32_t i = 0; i < spatial; i++) {
		/* output_shape may also have the batch and channels */
		dim n = shape && shape->n >= spatial
				? num(f, shape->u.ints[shape->n - spatial + i])
				: spread_size(f, x.dims[i + 2], k[i], i, spatial);
		if (n && dim_le(f->cx, n, 0) && dim_ge(f->cx, x.dims[i + 2], 1)) {
			infer_error(f, E_SHAPE, "the padding leaves nothing of axis %u", i + 2);
			return ONNX_ERROR;
		}
		d[i + 2] = n ? n : fresh(f, 0, i + 2);
	}
	return out(f, 0, x.rank, d);
}

enum onnx_infer_result onnx_max_unpool(struct infer *f)
{
	struct type x = type_in(f, 0);
	const struct known *shape = known_in(f, 2);
	int64_t k[MAX_RANK];

	if (!want_in_rank(f, 1, x.rank, x.rank) || !windows_fit(f))
		return ONNX_ERROR;
	for (uint32_t i = 0; i < x.rank; i++)
		if (!check_inner(f, x, type_in(f, 1), x.dims[i], type_in(f, 1).dims[i]))
			return ONNX_ERROR;
	if (const_count(f, 2) >= 0 && input(f, 2) && const_count(f, 2) != x.rank) {
		infer_error(f, E_SHAPE, "output_shape has %lld numbers for %s",
			    (long long)const_count(f, 2), type_str(f->cx, x));
		return ONNX_ERROR;
	}
	dim *d = dims_copy(f, x);
	kernel_sizes(f, (struct type){0}, x.rank - 2u, k);
	for (uint32_t i = 0; i < x.rank; i++) {
		dim n = DIM_NONE;
		if (input(f, 2))
			n = shape && shape->n == x.rank ? shape->at[i] : DIM_NONE;
		else
			n = i < 2 ? d[i] : spread_size(f, d[i], k[i - 2], i - 2, x.rank - 2u);
		d[i] = n ? n : fresh(f, 0, i);
	}
	return out(f, 0, x.rank, d);
}

enum onnx_infer_result onnx_roi(struct infer *f)
{
	bool align = f->op->id == ONNX_RoiAlign;
	dim *d = dims_alloc(f, 4);

	if (!want_in_rank(f, 0, 4, 4) || !want_in_rank(f, 1, 2, 2))
		return ONNX_ERROR;
	struct type rois = type_in(f, 1);
	if (align && !check_inner(f, rois, type_in(f, 2), rois.dims[0], type_in(f, 2).dims[0]))
		return ONNX_ERROR;
	d[0] = rois.dims[0];
	d[1] = type_in(f, 0).dims[1];
	d[2] = num(f, align ? int_attr(f, "output_height") : ints_attr(f, "pooled_shape", 0, 1));
	d[3] = num(f, align ? int_attr(f, "output_width") : ints_attr(f, "pooled_shape", 1, 1));
	return out(f, 0, 4, d);
}

enum onnx_infer_result onnx_col2im(struct infer *f)
{
	struct type x = type_in(f, 0);
	const struct known *image = known_in(f, 1), *block = known_in(f, 2);
	int64_t n = const_count(f, 1);
	dim size = num(f, 1);

	if (!want_in_rank(f, 0, 3, 3))
		return ONNX_ERROR;
	for (uint32_t i = 0; block && i < block->n; i++)
		if (dim_le(f->cx, block->at[i], 0)) {
			infer_error(f, E_RANGE, "block_shape has %s", dim_str(f->cx, block->at[i]));
			return ONNX_ERROR;
		}
	if (n < 1 || n > MAX_RANK - 2)
		return ONNX_NO_RULE;
	if (const_count(f, 2) >= 0 && const_count(f, 2) != n) {
		infer_error(f, E_SHAPE, "block_shape has %lld numbers, image_shape %lld",
			    (long long)const_count(f, 2), (long long)n);
		return ONNX_ERROR;
	}
	if (wrong_count(f, "strides", (uint32_t)n) || wrong_count(f, "dilations", (uint32_t)n) ||
	    wrong_count(f, "pads", 2 * (uint32_t)n))
		return ONNX_ERROR;
	dim *d = dims_alloc(f, (uint32_t)n + 2);
	d[0] = x.dims[0];
	for (uint32_t i = 0; block && i < block->n; i++)
		size = dim_mul(f->cx, size, block->at[i]);
	d[1] = block && dim_ge(f->cx, size, 1) ? dim_floordiv(f->cx, x.dims[1], size)
					       : fresh(f, 0, 1);
	for (uint32_t i = 0; i < n; i++)
		d[i + 2] = image && i < image->n ? image->at[i] : fresh(f, 0, i + 2);
	return out(f, 0, (uint32_t)n + 2, d);
}

/* --- norms, networks --- */

enum onnx_infer_result onnx_batch_norm(struct infer *f)
{
	struct type x = type_in(f, 0);

	if (!want_in_rank(f, 0, 1, MAX_RANK))
		return ONNX_ERROR;
	for (uint32_t i = 1; i < 5; i++)
		if (!want_in_rank(f, i, 1, 1) ||
		    (x.rank > 1 &&
		     !check_inner(f, x, type_in(f, i), x.dims[1], type_in(f, i).dims[0])))
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
		out_like(f, i, type_in(f, 3));
	return out_like(f, 0, x);
}

/* Scale and bias are of the channels; before opset 21, of the groups. */
enum onnx_infer_result onnx_group_norm(struct infer *f)
{
	struct type x = type_in(f, 0);
	int64_t groups = int_attr(f, "num_groups"), channels;
	dim each = f->op->since < 21 ? num(f, groups) : x.dims[1];

	for (uint32_t i = 1; i < 3; i++)
		if (!check_inner(f, x, type_in(f, i), each, type_in(f, i).dims[0]))
			return ONNX_ERROR;
	if (dim_is_const(f->cx, x.dims[1], &channels) && groups > 0 && channels % groups) {
		infer_error(f, E_SHAPE, "%lld channels do not divide into %lld groups",
			    (long long)channels, (long long)groups);
		return ONNX_ERROR;
	}
	return out_like(f, 0, x);
}

enum onnx_infer_result onnx_layer_norm(struct infer *f)
{
	struct type x = type_in(f, 0);
	uint32_t axis;

	if (!axis_in(f, int_attr(f, "axis"), x.rank, &axis))
		return ONNX_ERROR;
	dim *d = dims_copy(f, x);
	for (uint32_t i = axis; i < x.rank; i++)
		d[i] = num(f, 1);
	bind_result(f, 1, dtype_of_onnx(int_attr(f, "stash_type")));
	out(f, 1, x.rank, d);
	out(f, 2, x.rank, d);
	return out_like(f, 0, x);
}

enum onnx_infer_result onnx_rnn(struct infer *f)
{
	if (!want_in_rank(f, 0, 3, 3) || !want_in_rank(f, 1, 3, 3) || !want_in_rank(f, 2, 3, 3))
		return ONNX_ERROR;
	struct type x = type_in(f, 0), w = type_in(f, 1), r = type_in(f, 2);
	bool batch_first = int_attr(f, "layout");
	dim hidden = r.dims[2];
	if (int_attr(f, "hidden_size") &&
	    !check_inner(f, w, r, num(f, int_attr(f, "hidden_size")), hidden))
		return ONNX_ERROR;
	dim ways = num(f, str_attr_is(f, "direction", "bidirectional") ? 2 : 1);
	dim *y = dims_alloc(f, 4), *h = dims_alloc(f, 3);

	y[0] = x.dims[0];
	y[1] = batch_first ? x.dims[1] : ways;
	y[2] = batch_first ? ways : x.dims[1];
	y[3] = h[2] = hidden;
	h[0] = batch_first ? x.dims[0] : ways;
	h[1] = batch_first ? ways : x.dims[1];
	out(f, 1, 3, h);
	out(f, 2, 3, h);
	return out(f, 0, 4, y);
}

/* The integers' dtype is that of the zero point, or what output_dtype says, or uint8. */
enum onnx_infer_result onnx_quantize(struct infer *f)
{
	int64_t to = int_attr(f, "output_dtype");

	if (!input(f, 2) || to)
		bind_result(f, 0, to ? dtype_of_onnx(to) : DT_UINT8);
	return out_like(f, 0, type_in(f, 0));
}

enum onnx_infer_result onnx_dequantize(struct infer *f)
{
	int64_t to = int_attr(f, "output_dtype");

	bind_result(f, 0, to ? dtype_of_onnx(to) : (enum dtype)type_in(f, 1).dtype);
	return out_like(f, 0, type_in(f, 0));
}

enum onnx_infer_result onnx_dynamic_quantize(struct infer *f)
{
	bind_result(f, 0, DT_UINT8);
	out(f, 1, 0, dims_alloc(f, 0));
	out(f, 2, 0, dims_alloc(f, 0));
	return out_like(f, 0, type_in(f, 0));
}

/* --- transforms --- */

static dim half_plus_one(struct infer *f, dim n)
{
	return dim_add(f->cx, dim_floordiv(f->cx, n, num(f, 2)), num(f, 1));
}

enum onnx_infer_result onnx_dft(struct infer *f)
{
	struct type x = type_in(f, 0);
	const struct known *length = known_in(f, 1);
	bool old = f->op->since < 20, half = int_attr(f, "onesided"), back = int_attr(f, "inverse");
	int64_t axis = old ? int_attr(f, "axis") : -2;
	uint32_t a;

	if (!want_in_rank(f, 0, 2, MAX_RANK))
		return ONNX_ERROR;
	if (!old && input(f, 2) && !const_in(f, 2, 0, &axis))
		return ONNX_NO_RULE;
	if (!axis_in(f, axis, x.rank, &a))
		return ONNX_ERROR;
	if (a + 1u == x.rank) {
		infer_error(f, E_RANGE, "axis %lld is that of the real and imaginary parts",
			    (long long)axis);
		return ONNX_ERROR;
	}
	dim parts = num(f, half && !back ? 1 : 2);
	if (half && dim_ne(f->cx, x.dims[x.rank - 1], parts)) {
		infer_error(f, E_SHAPE, "the last dim of %s must be %s %s", type_str(f->cx, x),
			    dim_str(f->cx, parts),
			    back ? "to go back to real numbers" : "where onesided=1: real numbers");
		return ONNX_ERROR;
	}
	dim *d = dims_copy(f, x);
	if (half && back)
		d[a] = dim_mul(f->cx, dim_sub(f->cx, d[a], num(f, 1)), num(f, 2));
	if (input(f, 1))
		d[a] = length && length->n == 1 ? length->at[0] : DIM_NONE;
	d[a] = !d[a] ? fresh(f, 0, a) : half && !back ? half_plus_one(f, d[a]) : d[a];
	d[x.rank - 1] = num(f, half && back ? 1 : 2);
	return out(f, 0, x.rank, d);
}

enum onnx_infer_result onnx_stft(struct infer *f)
{
	struct type x = type_in(f, 0);
	const struct known *step = known_in(f, 1), *length = known_in(f, 3);
	dim size = DIM_NONE;

	if (!want_in_rank(f, 0, 2, 3) || !want_in_rank(f, 2, 1, 1))
		return ONNX_ERROR;
	if (input(f, 3))
		size = length && length->n == 1 ? length->at[0] : DIM_NONE;
	if (size && dim_le(f->cx, size, 0)) {
		infer_error(f, E_RANGE, "frame_length is %s", dim_str(f->cx, size));
		return ONNX_ERROR;
	}
	if (!input(f, 3) && input(f, 2))
		size = type_in(f, 2).dims[0];
	dim *d = dims_alloc(f, 4);
	d[0] = x.dims[0];
	bool fixed = size && step && step->n == 1 && dim_ge(f->cx, step->at[0], 1) &&
		     dim_ge(f->cx, dim_sub(f->cx, x.dims[1], size), 0);
	d[1] = fixed ? dim_add(f->cx,
			       dim_floordiv(f->cx, dim_sub(f->cx, x.dims[1], size), step->at[0]),
			       num(f, 1))
		     : fresh(f, 0, 1);
	d[2] = !size ? fresh(f, 0, 2) : int_attr(f, "onesided") ? half_plus_one(f, size) : size;
	d[3] = num(f, 2);
	return out(f, 0, 4, d);
}
