/*
 * pad.c: lowers Pad. Out: one ONNX Pad if it computes the same. Modes that copy elements (reflect,
 * symmetric, wrap) become a Gather for each axis. For the other modes the borders are computed and
 * joined, axis after axis as in PyTensor, so that the corners come from the later axes. If an axis
 * may be empty at run time, and PyTensor's result is another one then, an If on the number of
 * elements has a branch for that.
 */
#include <string.h>

#include "ops/rules.h"
#include "lower/ops/index.h"
#include "lower/ops/lowerings.h"

#define MAX_WIDTH ((int64_t)1 << 53) /* sums of widths fit int64 */

struct pad {
	const char *mode;
	struct value *x;
	int64_t axis;
	uint32_t rank;
	bool filled; /* x has one element 0 in each empty axis; `dims` are the lengths without */
	const dim *dims;
	struct value *width[MAX_RANK][2]; /* int64[] */
	struct value *value[MAX_RANK][2]; /* constant, linear_ramp: 0-d */
};

static bool is_zero_width(struct build *b, struct value *width)
{
	int64_t k;

	return known_int(b->cx, width, 0, &k) && k == 0;
}

static struct value *const_pair(struct build *b, const struct tensor *v, uint32_t axis,
				uint32_t side)
{
	struct tensor *t = tensor_new(b->cx, (enum dtype)v->dtype, 0, NULL);
	uint64_t cols = v->rank ? (uint64_t)v->shape[v->rank - 1] : 1;
	uint64_t at = cols > 1 ? side : 0;

	if (v->rank == 2 && v->shape[0] > 1)
		at += axis * cols;
	t->data = tensor_element(v, at);
	return const_tensor(b, t);
}

/* out[axis][side] = the elements of v broadcast to [rank, 2], as 0-d values of dtype t */
static void read_pairs(struct build *b, struct value *v, enum dtype t, uint32_t rank,
		       struct value *out[][2])
{
	bool single = is_single(b->cx, &v->type);

	v = cast(b, v, t);
	if (v->data && v->data->count && v->data->rank <= 2) {
		for (uint32_t i = 0; i < 2 * rank; i++)
			out[i / 2][i % 2] = const_pair(b, v->data, i / 2, i % 2);
		return;
	}
	if (single) {
		v = reshape(b, v, NULL, 0);
	} else {
		v = emit_(b, ONNX_Expand, v, const_ints(b, (int64_t[]){rank, 2}, 2));
		v = emit_(b, ONNX_Reshape, v, const_ints(b, (int64_t[]){2 * (int64_t)rank}, 1));
	}
	for (uint32_t i = 0; i < 2 * rank; i++)
		out[i / 2][i % 2] = single ? v : emit_(b, ONNX_Gather, v, const_int(b, i));
}

static bool read_widths(struct build *b, struct node *n, struct pad *p)
{
	int64_t k;
	struct value *v = low(b, n->in[1]), *flat[MAX_RANK][2];

	for (uint32_t i = 0; i < 2 * p->rank; i++) {
		if (!pad_width_at(n, i / 2, i % 2, &k))
			break;
		p->width[i / 2][i % 2] = const_int(b, k);
		if (k < 0 || k > MAX_WIDTH) {
			raises(b, k < 0 ? "a width is negative"
					: "a width is more than any memory holds");
			return false;
		}
		if (i + 1 == 2 * p->rank)
			return true;
	}
	if (!p->rank)
		return true;
	v = cast(b, v, DT_INT64);
	b->scope->shared->small_ints = true;
	int axes[2] = {0, 1};
	struct value *least = reduce(b, ONNX_ReduceMin, v, axes, v->type.rank, false);
	b->scope->shared->small_ints = false;
	v = check(b, v, emit_(b, ONNX_GreaterOrEqual, least, const_int(b, 0)),
		  "widths of a border must not be negative");
	read_pairs(b, v, DT_INT64, p->rank, flat);
	memcpy(p->width, flat, sizeof(flat[0]) * p->rank);
	return true;
}

/* ONNX's Pad of axes [first, last); sides: 1 before, 2 after, 3 both */
static struct value *onnx_pad(struct build *b, const struct pad *p, uint32_t first, uint32_t last,
			      int sides, const char *mode, struct value *value)
{
	struct value *pads[2 * MAX_RANK];
	bool any = false;

	for (uint32_t i = 0; i < 2 * p->rank; i++) {
		uint32_t axis = i % p->rank, side = i / p->rank;
		bool in = axis >= first && axis < last && sides & (1 << side);
		pads[i] = in ? p->width[axis][side] : const_int(b, 0);
		any |= !is_zero_width(b, pads[i]);
	}
	if (!any)
		return p->x;
	struct value *all = int_vector(b, pads, 2 * p->rank);
	if (strcmp(mode, "constant") != 0)
		attr_str(b, "mode", mode);
	return emit_(b, ONNX_Pad, p->x, all, value);
}

static struct value *pad_constant(struct build *b, struct pad *p)
{
	struct value *v = p->rank ? p->value[0][0] : NULL;
	bool same = true;

	for (uint32_t i = 0; i < 2 * p->rank; i++)
		same &= p->value[i / 2][i % 2] == v;
	if (same)
		return onnx_pad(b, p, 0, p->rank, 3, "constant", v);
	for (uint32_t i = 0; i < p->rank; i++) {
		bool both = p->value[i][0] == p->value[i][1];
		p->x = onnx_pad(b, p, i, i + 1, both ? 3 : 1, "constant", p->value[i][0]);
		if (!both)
			p->x = onnx_pad(b, p, i, i + 1, 2, "constant", p->value[i][1]);
	}
	return p->x;
}

/* v, of length 1 along the axis, expanded to `width` */
static struct value *expand_border(struct build *b, const struct pad *p, struct value *v,
				   struct value *width)
{
	struct value *shape[MAX_RANK];

	for (uint32_t i = 0; i < p->rank; i++)
		shape[i] = i == p->axis ? width : const_int(b, 1);
	return emit_(b, ONNX_Expand, v, int_vector(b, shape, p->rank));
}

static struct value *slice_x(struct build *b, const struct pad *p, int64_t begin, int64_t end)
{
	return slice_ints(b, p->x, p->axis, begin, end);
}

/* The maximum, minimum or mean of the axis, or of its first or last `length` elements */
static struct value *statistic(struct build *b, const struct pad *p, int side, int64_t length)
{
	const struct op *op = &op_table[!strcmp(p->mode, "maximum")   ? OP_Max
					: !strcmp(p->mode, "minimum") ? OP_Min
								      : OP_Mean];
	struct value *x = p->x, *r = NULL;
	struct prop_arg arg = {.name = intern_str(b->cx, "axes"),
			       .value = cv_ints(b->cx->arena, &(int64_t){p->axis}, 1, b->span),
			       .span = b->span};

	if (length > 0)
		x = side ? slice_x(b, p, -length, INT64_MAX) : slice_x(b, p, 0, length);
	struct cv *props = bind_props(b->cx, op, b->span, &arg, 1);
	if (!props || !lower_as(b, op, props, &x, 1, &r, 1))
		return p->x;
	return unsqueeze(b, r, &p->axis, 1);
}

/* end - i * (end - edge) / width for i = 0, 1, ... before x; after x in reverse order. PyTensor
 * computes end + i * (edge - end) / width: the same, but if the end is 0, ONNX Runtime drops the
 * Add, and a -0 would stay -0. */
static struct value *ramp(struct build *b, const struct pad *p, int side)
{
	enum dtype t = (enum dtype)p->x->type.dtype;
	struct value *width = p->width[p->axis][side], *end = p->value[p->axis][side];
	enum dtype wide = dtype_upcast((enum dtype)end->type.dtype, t);
	if (p->axis)
		attr_int(b, "axis", p->axis);
	/* of an empty axis, a Gather fails; a Slice would be empty and broadcast */
	struct value *edge = emit_(b, ONNX_Gather, p->x, const_ints(b, &(int64_t){-side}, 1));
	struct value *i = iota_of(b, width);
	int64_t axes[MAX_RANK], n = 0, k;

	if (known_int(b->cx, width, 0, &k))
		i = iota(b, dim_const(b->cx, k));
	if (side)
		i = emit_(b, ONNX_Sub, emit_(b, ONNX_Sub, width, const_int(b, 1)), i);
	for (int64_t j = p->axis + 1; j < p->rank; j++)
		axes[n++] = j - p->axis;
	/* of integers, float32 would not round where NumPy does */
	enum dtype calc = is_float(t) ? wide_float(b) : DT_FLOAT64;
	i = cast(b, unsqueeze(b, i, axes, (uint32_t)n), calc);
	struct value *delta = cast(b, end, wide);
	delta = cast(b, emit_(b, ONNX_Sub, delta, cast(b, edge, wide)), calc);
	struct value *r = emit_(b, ONNX_Mul, i, delta);
	r = emit_(b, ONNX_Div, r, cast(b, width, calc));
	return cast(b, emit_(b, ONNX_Sub, cast(b, end, calc), r), t);
}

/* x without the element that fills an empty axis. */
static struct value *remove_filling(struct build *b, const struct pad *p)
{
	struct value *n = dim_vector(b, p->dims[p->axis]);

	return slice(b, p->x, &p->axis, 1, const_ints(b, &(int64_t){0}, 1), n, NULL);
}

/* Computes the borders and joins them with x, axis after axis. lengths: stat_length, or NULL */
static struct value *pad_computed(struct build *b, struct pad *p, struct value *lengths[][2])
{
	bool is_ramp = !strcmp(p->mode, "linear_ramp");

	for (p->axis = 0; p->axis < p->rank; p->axis++) {
		struct value *all[3], *border[2] = {NULL, NULL};
		uint32_t k = 0;
		for (int side = 0; side < 2; side++) {
			int64_t length = 0;
			if (is_zero_width(b, p->width[p->axis][side]))
				continue;
			if (lengths &&
			    (!known_int(b->cx, lengths[p->axis][side], 0, &length) || length < 1)) {
				unsupported(b, "stat_length must be a constant above 0");
				return p->x;
			}
			border[side] = is_ramp ? ramp(b, p, side)
					       : expand_border(b, p, statistic(b, p, side, length),
							       p->width[p->axis][side]);
		}
		if (border[0])
			all[k++] = border[0];
		all[k++] = p->filled ? remove_filling(b, p) : p->x;
		if (border[1])
			all[k++] = border[1];
		p->x = concat(b, (int)p->axis, all, k);
	}
	return p->x;
}

/* The index in x, of length n, of the element that is copied to position `at`; x begins at 0. */
static int64_t source_index(const char *mode, int64_t at, int64_t n)
{
	int64_t period = mode[0] == 'w' ? n : mode[0] == 's' ? 2 * n : 2 * n - 2;

	if (period < 1)
		period = 1;
	int64_t f = at % period;
	if (f < 0)
		f += period;
	return f < n ? f : mode[0] == 's' ? period - 1 - f : period - f;
}

/* The indices for the Gather, as a constant; NULL: lengths or widths are not known, or are large */
static struct value *constant_source_indices(struct build *b, const struct pad *p, int64_t n)
{
	int64_t before, after;
	struct value **w = (struct value **)p->width[p->axis];

	if (!known_int(b->cx, w[0], 0, &before) || !known_int(b->cx, w[1], 0, &after) ||
	    before > 4096 || after > 4096 || n > 4096)
		return NULL;
	int64_t total = before + n + after,
		*at = new_array(b->cx->arena, int64_t, (size_t)total + 1);
	for (int64_t i = 0; i < total; i++)
		at[i] = source_index(p->mode, i - before, n);
	return const_ints(b, at, (uint32_t)total);
}

/* The indices for the Gather, computed at run time. */
static struct value *source_indices(struct build *b, const struct pad *p)
{
	dim size = p->x->type.dims[p->axis];
	struct value *const *w = p->width[p->axis], *n = dim_value(b, size), *period = n;
	int64_t k;
	struct value *total = emit_(b, ONNX_Add, emit_(b, ONNX_Add, w[0], n), w[1]);
	struct value *at = iota_of(b, total);

	at = emit_(b, ONNX_Sub, at, w[0]);
	if (p->mode[0] != 'w')
		period = emit_(b, ONNX_Mul, n, const_int(b, 2));
	/* if the axis is empty and both widths are known, one is above 0, and the division by the
	 * length 0 makes the run fail, as in PyTensor */
	b->scope->shared->small_ints = true;
	if (p->mode[0] == 'r')
		period = emit_(b, ONNX_Sub, period, const_int(b, 2));
	if (p->mode[0] == 'r' || (!dim_ge(b->cx, size, 1) && !(known_int(b->cx, w[0], 0, &k) &&
							       known_int(b->cx, w[1], 0, &k))))
		period = emit_(b, ONNX_Max, period, const_int(b, 1));
	b->scope->shared->small_ints = false;
	at = emit_(b, ONNX_Mod, at, period);
	if (p->mode[0] == 'w')
		return at;
	struct value *top = period;
	if (p->mode[0] == 's')
		top = emit_(b, ONNX_Sub, period, const_int(b, 1));
	struct value *ahead = emit_(b, ONNX_Less, at, n);
	return emit_(b, ONNX_Where, ahead, at, emit_(b, ONNX_Sub, top, at));
}

/* Is it a reflection with constant widths below the lengths? ONNX's Pad computes it. */
static bool is_onnx_reflection(struct build *b, const struct pad *p)
{
	int64_t k;

	for (uint32_t i = 0; i < 2 * p->rank; i++)
		if (!known_int(b->cx, p->width[i / 2][i % 2], 0, &k) ||
		    (k && !dim_ge(b->cx, p->x->type.dims[i / 2], k + 1)))
			return false;
	return p->mode[0] == 'r';
}

static struct value *pad_copied(struct build *b, struct pad *p)
{
	int64_t n;

	if (is_onnx_reflection(b, p))
		return onnx_pad(b, p, 0, p->rank, 3, "reflect", NULL);
	for (p->axis = 0; p->axis < p->rank; p->axis++) {
		struct value *const *w = p->width[p->axis], *at = NULL;
		if (is_zero_width(b, w[0]) && is_zero_width(b, w[1]))
			continue;
		if (dim_is_const(b->cx, p->x->type.dims[p->axis], &n))
			at = constant_source_indices(b, p, n);
		if (!at)
			at = source_indices(b, p);
		if (p->axis)
			attr_int(b, "axis", p->axis);
		p->x = emit_(b, ONNX_Gather, p->x, at);
	}
	return p->x;
}

static bool axis_may_be_empty(struct build *b, const struct pad *p, uint32_t i)
{
	return !dim_ge(b->cx, p->x->type.dims[i], 1);
}

static bool is_empty(struct build *b, const struct pad *p, uint32_t i)
{
	return dim_le(b->cx, p->x->type.dims[i], 0);
}

/* w[side] = the width of axis i; -1: not known */
static void known_widths(struct build *b, const struct pad *p, uint32_t i, int64_t w[2])
{
	for (int side = 0; side < 2; side++)
		if (!known_int(b->cx, p->width[i][side], 0, &w[side]))
			w[side] = -1;
}

static bool copies_elements(const struct pad *p)
{
	return strchr("rsw", p->mode[0]) != NULL;
}

/* Do the indices of the Gather divide by the length of axis i? If it is 0, the run fails. */
static bool divides_by_length(struct build *b, const struct pad *p, uint32_t i)
{
	int64_t k;
	bool known = dim_is_const(b->cx, p->x->type.dims[i], &k);

	for (uint32_t j = 0; j < 2 * p->rank; j++)
		known &= known_int(b->cx, p->width[j / 2][j % 2], 0, &k);
	return p->mode[0] != 'r' && !known;
}

/* May another axis be empty when elements are copied along axis i? Then NumPy accepts an index that
 * is out of range, except along the first axis. */
static bool may_have_empty_axis(struct build *b, const struct pad *p, uint32_t i)
{
	bool any = false;

	for (uint32_t j = 0; j < p->rank; j++) {
		int64_t w[2];
		known_widths(b, p, j, w);
		any |= j != i && axis_may_be_empty(b, p, j) && (j > i || (w[0] < 1 && w[1] < 1));
	}
	return i && any && !divides_by_length(b, p, i);
}

/* The first axis of length 0 for which every run fails; -1: none */
static int failing_empty_axis(struct build *b, const struct pad *p)
{
	bool any = !strcmp(p->mode, "constant") || !strcmp(p->mode, "mean");

	for (uint32_t i = 0; i < p->rank && !any; i++) {
		int64_t w[2];
		known_widths(b, p, i, w);
		bool fails = p->mode[0] == 'm' || !w[0] || !w[1];
		if (copies_elements(p))
			fails = (w[0] > 0 || w[1] > 0) && !may_have_empty_axis(b, p, i);
		if (is_empty(b, p, i) && fails)
			return (int)i;
	}
	return -1;
}

/* May an axis be empty at run time, and would ONNX Runtime compute another result than PyTensor? */
static bool empty_differs(struct build *b, const struct pad *p)
{
	bool differs = false,
	     computed = !strcmp(p->mode, "edge") || !strcmp(p->mode, "linear_ramp");

	for (uint32_t i = 0; i < p->rank; i++) {
		int64_t w[2];
		known_widths(b, p, i, w);
		bool border = w[0] || w[1], one = !w[0] != !w[1];
		if (axis_may_be_empty(b, p, i))
			differs |= computed ? !one
					    : copies_elements(p) && border &&
						      may_have_empty_axis(b, p, i);
		differs |= (computed || copies_elements(p)) && is_empty(b, p, i);
	}
	return differs;
}

static struct value *width_vector(struct build *b, const struct pad *p, int side)
{
	struct value *w[MAX_RANK];

	for (uint32_t i = 0; i < p->rank; i++)
		w[i] = p->width[i][side];
	return int_vector(b, w, p->rank);
}

static const char nothing[] = "an axis without elements has nothing to make borders of";

/* v; the run fails if elements are copied along an empty axis. lengths: of x, padded: of the result
 */
static struct value *check_copies(struct build *b, const struct pad *p, struct value *v,
				  struct value *lengths, struct value *padded)
{
	struct value *none = const_int(b, 0), *bad = NULL;

	for (uint32_t i = 0; i < p->rank; i++) {
		int64_t w[2], mask[MAX_RANK] = {0};
		known_widths(b, p, i, w);
		if (!axis_may_be_empty(b, p, i) || (!w[0] && !w[1]))
			continue;
		struct value *most = emit_(b, ONNX_Max, p->width[i][0], p->width[i][1]);
		struct value *is = dim_value(b, p->x->type.dims[i]);
		is = emit_(b, ONNX_Less, is, const_int(b, 1));
		is = emit_(b, ONNX_And, is, emit_(b, ONNX_Greater, most, none));
		if (may_have_empty_axis(b, p, i)) {
			/* the lengths of the other axes at that time: 2 padded, 1 not yet padded */
			for (uint32_t j = 0; j < p->rank; j++)
				mask[j] = j < i ? 2 : j > i;
			struct value *m = const_ints(b, mask, p->rank);
			struct value *n =
				emit_(b, ONNX_Where, emit_(b, ONNX_Equal, m, const_int(b, 2)),
				      padded, lengths);
			struct value *skip = emit_(b, ONNX_Equal, m, none);
			n = emit_(b, ONNX_Where, skip, const_int(b, 1), n);
			n = reduce(b, ONNX_ReduceMin, n, (int[]){0}, 1, false);
			is = emit_(b, ONNX_And, is, emit_(b, ONNX_Greater, n, none));
		}
		bad = bad ? emit_(b, ONNX_Or, bad, is) : is;
	}
	return bad ? check(b, v, emit_(b, ONNX_Not, bad), nothing) : v;
}

/* v; the run fails if an empty axis gets no border on a side */
static struct value *check_empty_borders(struct build *b, const struct pad *p, struct value *v,
					 struct value *lengths)
{
	struct value *fewest[MAX_RANK];
	bool sure = true;

	for (uint32_t i = 0; i < p->rank; i++) {
		int64_t w[2];
		known_widths(b, p, i, w);
		if (w[0] >= 0 && w[1] >= 0)
			fewest[i] = const_int(b, w[0] < w[1] ? w[0] : w[1]);
		else
			fewest[i] = emit_(b, ONNX_Min, p->width[i][0], p->width[i][1]);
		sure &= !axis_may_be_empty(b, p, i) || (w[0] > 0 && w[1] > 0);
	}
	if (sure)
		return v;
	struct value *least = int_vector(b, fewest, p->rank);
	least = reduce(b, ONNX_ReduceMin, emit_(b, ONNX_Max, lengths, least), (int[]){0}, 1, false);
	return check(b, v, emit_(b, ONNX_Greater, least, const_int(b, 0)), nothing);
}

/* linear_ramp of an x without elements. PyTensor's ramps start from zeros: x gets one element 0 in
 * each empty axis. */
static struct value *pad_empty_ramp(struct build *b, struct pad p, struct value *lengths)
{
	struct value *none[MAX_RANK], *missing, *parts[2];
	dim *dims = new_array(b->cx->arena, dim, p.rank);

	p.dims = p.x->type.dims;
	p.filled = true;
	for (uint32_t i = 0; i < p.rank; i++) {
		none[i] = const_int(b, 0);
		dims[i] = dim_max(b->cx, p.dims[i], dim_const(b->cx, 1));
	}
	missing = cast(b, emit_(b, ONNX_Equal, lengths, const_int(b, 0)), DT_INT64);
	parts[0] = int_vector(b, none, p.rank);
	parts[1] = missing;
	p.x = with_dims(emit_(b, ONNX_Pad, p.x, concat(b, 0, parts, 2)), dims);
	return pad_computed(b, &p, NULL);
}

/* The result for an x without elements */
static struct value *pad_empty(struct build *b, const struct pad *p, const dim *dims)
{
	struct value *lengths = shape_of(b, p->x), *r, *n;
	bool check = b->cx->opt.check_dims && b->target != PTGC_ONNX;

	n = width_vector(b, p, 0);
	n = emit_(b, ONNX_Add, n, width_vector(b, p, 1));
	n = emit_(b, ONNX_Add, lengths, n);
	b->scope->shared->small_ints = true;
	if (!strcmp(p->mode, "linear_ramp"))
		r = pad_empty_ramp(b, *p, lengths);
	else
		r = filled_to(b, (enum dtype)p->x->type.dtype, n, dims, p->rank, 0);
	if (check && copies_elements(p))
		r = check_copies(b, p, r, lengths, n);
	else if (check)
		r = check_empty_borders(b, p, r, lengths);
	b->scope->shared->small_ints = false;
	return with_dims(r, dims);
}

/* Makes the run fail if an axis without a border is empty: an empty axis has no maximum. (For an
 * axis with a border, the reduction fails.) */
static void check_axes(struct build *b, struct pad *p)
{
	int axes[MAX_RANK];
	dim *dims = new_array(b->cx->arena, dim, p->rank);
	bool needed = false;

	for (uint32_t i = 0; i < p->rank; i++) {
		int64_t w[2];
		known_widths(b, p, i, w);
		needed |= axis_may_be_empty(b, p, i) && !w[0] && !w[1];
		axes[i] = (int)i;
		dims[i] = dim_max(b->cx, p->x->type.dims[i], dim_const(b->cx, 1));
	}
	struct value *v = needed ? check_nonempty(b, p->x, axes, (int)p->rank) : p->x;
	if (v != p->x)
		p->x = with_dims(v, dims);
}

static struct value *pad_all(struct build *b, struct pad p, struct value *more)
{
	struct value *lengths[MAX_RANK][2];
	bool is_ramp = !strcmp(p.mode, "linear_ramp");

	if (!strcmp(p.mode, "constant"))
		return pad_constant(b, &p);
	if (!strcmp(p.mode, "edge"))
		return onnx_pad(b, &p, 0, p.rank, 3, "edge", NULL);
	if (copies_elements(&p))
		return pad_copied(b, &p);
	if (more && !is_ramp)
		read_pairs(b, more, DT_INT64, p.rank, lengths);
	if (!strcmp(p.mode, "maximum") || !strcmp(p.mode, "minimum"))
		check_axes(b, &p);
	return pad_computed(b, &p, more && !is_ramp ? lengths : NULL);
}

static struct value *pad_or_empty(struct build *b, const struct pad *p, struct value *more,
				  const dim *dims)
{
	struct type t = type_of((enum dtype)p->x->type.dtype, p->rank, (dim *)dims);
	struct value *any = cast(b, emit_(b, ONNX_Size, p->x), DT_BOOL);
	struct block *outer = b->block, *branch[2];

	for (int i = 0; i < 2; i++) {
		branch[i] = block_new(b);
		scope_open(b, branch[i]);
		struct value *r = i ? pad_empty(b, p, dims) : pad_all(b, *p, more);
		block_result(b, r, dims, false);
		scope_close(b, outer);
	}
	return if_node(b, any, branch[0], branch[1], t);
}

bool lower_pad(struct build *b, struct node *n)
{
	struct type t = n->out[0]->type;
	struct pad p = {.mode = prop_str(b->cx, n, "pad_mode"),
			.x = cast(b, low(b, n->in[0]), (enum dtype)t.dtype),
			.rank = t.rank};
	struct value *r, *more = n->nin > 2 && n->in[2] ? low(b, n->in[2]) : NULL;
	bool constant = !strcmp(p.mode, "constant"), is_ramp = !strcmp(p.mode, "linear_ramp"),
	     empty = false;

	if (p.rank > MAX_RANK / 2 || !strcmp(p.mode, "median")) {
		unsupported(b, p.rank > MAX_RANK / 2 ? "it takes at most 32 dims"
						     : "PyTensor has no median borders");
		return false;
	}
	if (!read_widths(b, n, &p))
		return false;
	if (failing_empty_axis(b, &p) >= 0) {
		unsupported(b, "axis %d is empty: it has no elements for a border",
			    failing_empty_axis(b, &p));
		return false;
	}
	if (constant || is_ramp) { /* the end values of a ramp keep their dtype */
		struct value *v = more ? more : const_int_of(b, (enum dtype)t.dtype, 0);
		enum dtype own = (enum dtype)(is_ramp ? v : p.x)->type.dtype;
		read_pairs(b, v, own, p.rank, p.value);
	}
	for (uint32_t i = 0; i < p.rank; i++)
		empty |= is_empty(b, &p, i);
	if (!empty_differs(b, &p))
		r = pad_all(b, p, more);
	else
		r = empty ? pad_empty(b, &p, t.dims) : pad_or_empty(b, &p, more, t.dims);
	set_lowered(b, n, 0, with_dims(r, t.dims));
	return true;
}
