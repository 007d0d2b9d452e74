/*
 * pad.c: Pad. In: a typed node. Out: one ONNX Pad where it says the same; else border by border,
 * axis after axis, as PyTensor does (so that corners come from the later axes), or, for modes that
 * copy elements, one Gather an axis. Static widths and lengths make constants.
 */
#include <string.h>

#include "../rules.h"
#include "index.h"
#include "lower.h"

/* Elements of an axis: sums of such widths fit int64. */
#define MAX_WIDTH ((int64_t)1 << 53)

struct pad {
	const char *mode;
	struct value *x;
	int64_t axis;
	uint32_t rank;
	struct value *width[MAX_RANK][2]; /* int64[] */
	struct value *value[MAX_RANK][2]; /* of constant and linear_ramp, 0-d */
};

static bool is_zero(struct build *b, struct value *width)
{
	int64_t k;

	return const_int_at(b, width, 0, &k) && k == 0;
}

static struct value *const_pair(struct build *b, const struct tensor *v, uint32_t axis,
				uint32_t side)
{
	struct tensor *t = tensor_new(b->cx, (enum dtype)v->dtype, 0, NULL);
	uint64_t cols = v->rank ? (uint64_t)v->shape[v->rank - 1] : 1;
	uint64_t at = cols > 1 ? side : 0;

	if (v->rank == 2 && v->shape[0] > 1)
		at += axis * cols;
	t->data = (const char *)v->data + (v->splat ? 0 : at * dtypes[v->dtype].size);
	return const_tensor(b, t);
}

/* The elements of v, broadcast to [rank, 2], as 0-d values of dtype t */
static void pairs(struct build *b, struct value *v, enum dtype t, uint32_t rank,
		  struct value *out[][2])
{
	int64_t one = 1;
	bool single = true;

	v = cast(b, v, t);
	if (v->data && v->data->count && v->data->rank <= 2) {
		for (uint32_t i = 0; i < 2 * rank; i++)
			out[i / 2][i % 2] = const_pair(b, v->data, i / 2, i % 2);
		return;
	}
	for (uint32_t i = 0; i < v->type.rank; i++)
		single &= dim_is_const(b->cx, v->type.dims[i], &one) && one == 1;
	if (single)
		v = reshape(b, v, NULL, 0);
	else
		v = emit_(b, "Reshape",
			  emit_(b, "Expand", v, const_ints(b, (int64_t[]){rank, 2}, 2)),
			  const_ints(b, (int64_t[]){2 * (int64_t)rank}, 1));
	for (uint32_t i = 0; i < 2 * rank; i++)
		out[i / 2][i % 2] = single ? v : emit_(b, "Gather", v, const_int(b, i));
}

static bool widths(struct build *b, struct node *n, struct pad *p)
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
	b->cse->shared->small_ints = true;
	int axes[2] = {0, 1};
	struct value *least = reduce(b, "ReduceMin", v, axes, v->type.rank, false);
	b->cse->shared->small_ints = false;
	v = labelled(b, checked(b, v, emit_(b, "GreaterOrEqual", least, const_int(b, 0))),
		     "widths of a border must not be negative");
	pairs(b, v, DT_INT64, p->rank, flat);
	memcpy(p->width, flat, sizeof(flat[0]) * p->rank);
	return true;
}

/* ONNX's Pad with the widths of axes [first, last), of sides `sides` (1: before, 2: after) */
static struct value *onnx_pad(struct build *b, const struct pad *p, uint32_t first, uint32_t last,
			      int sides, const char *mode, struct value *value)
{
	struct value *pads[2 * MAX_RANK];
	bool any = false;

	for (uint32_t i = 0; i < 2 * p->rank; i++) {
		uint32_t axis = i % p->rank, side = i / p->rank;
		bool in = axis >= first && axis < last && sides & (1 << side);
		pads[i] = in ? p->width[axis][side] : const_int(b, 0);
		any |= !is_zero(b, pads[i]);
	}
	if (!any)
		return p->x;
	struct value *all = int_vector(b, pads, 2 * p->rank);
	if (strcmp(mode, "constant") != 0)
		attr_str(b, "mode", mode);
	return emit_(b, "Pad", p->x, all, value);
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

/* v, of length 1 along the axis, `width` times */
static struct value *stretched(struct build *b, const struct pad *p, struct value *v,
			       struct value *width)
{
	struct value *shape[MAX_RANK];

	for (uint32_t i = 0; i < p->rank; i++)
		shape[i] = i == p->axis ? width : const_int(b, 1);
	return emit_(b, "Expand", v, int_vector(b, shape, p->rank));
}

static struct value *part(struct build *b, const struct pad *p, int64_t begin, int64_t end)
{
	return slice(b, p->x, &p->axis, 1, const_ints(b, &begin, 1), const_ints(b, &end, 1), NULL);
}

/* The maximum, minimum or mean of the axis, or of its first or last elements */
static struct value *statistic(struct build *b, const struct pad *p, int side, int64_t length)
{
	const struct op *op = &op_table[!strcmp(p->mode, "maximum")   ? OP_Max
					: !strcmp(p->mode, "minimum") ? OP_Min
								      : OP_Mean];
	struct value *x = p->x, *r = NULL;
	struct cv axis = {.kind = CV_INT, .u.i = (uint64_t)p->axis, .span = b->span};
	struct prop_arg arg = {
		.name = intern_str(b->cx, "axes"),
		.value = {.kind = CV_LIST, .n = 1, .u.items = &axis, .span = b->span},
		.span = b->span};

	if (length > 0)
		x = side ? part(b, p, -length, INT64_MAX) : part(b, p, 0, length);
	struct cv *props = bind_props(b->cx, op, b->span, &arg, 1);
	if (!props || !lower_as(b, op, props, &x, 1, &r, 1))
		return p->x;
	return unsqueeze(b, r, &p->axis, 1);
}

/* end - i * (end - edge) / width for i = 0, 1, ...; behind x the other way round. The sum, which
 * PyTensor computes, is the same but where i is 0: the runtime takes away an end of +0, and with it
 * what makes a -0 a +0. */
static struct value *ramp(struct build *b, const struct pad *p, int side)
{
	enum dtype t = (enum dtype)p->x->type.dtype;
	struct value *width = p->width[p->axis][side], *end = p->value[p->axis][side];
	if (p->axis)
		attr_int(b, "axis", p->axis);
	/* a Gather fails where there is none, a Slice would be stretched to nothing */
	struct value *edge = emit_(b, "Gather", p->x, const_ints(b, &(int64_t){-side}, 1));
	struct value *i = emit_(b, "Range", const_int(b, 0), width, const_int(b, 1));
	int64_t axes[MAX_RANK], n = 0, k;

	if (const_int_at(b, width, 0, &k))
		i = counting(b, dim_const(b->cx, k));
	if (side)
		i = emit_(b, "Sub", emit_(b, "Sub", width, const_int(b, 1)), i);
	for (int64_t j = p->axis + 1; j < p->rank; j++)
		axes[n++] = j - p->axis;
	i = cast(b, unsqueeze(b, i, axes, (uint32_t)n), DT_FLOAT64);
	struct value *delta = cast(b, emit_(b, "Sub", cast(b, end, t), edge), DT_FLOAT64);
	struct value *r = emit_(b, "Div", emit_(b, "Mul", i, delta), cast(b, width, DT_FLOAT64));
	return cast(b, emit_(b, "Sub", cast(b, end, DT_FLOAT64), r), t);
}

/* Borders made from x, put before and behind it, axis after axis */
static struct value *pad_made(struct build *b, struct pad *p, struct value *lengths[][2])
{
	bool is_ramp = !strcmp(p->mode, "linear_ramp");

	for (p->axis = 0; p->axis < p->rank; p->axis++) {
		struct value *all[3], *made[2] = {NULL, NULL};
		uint32_t k = 0;
		for (int side = 0; side < 2; side++) {
			int64_t length = 0;
			if (is_zero(b, p->width[p->axis][side]))
				continue;
			if (lengths &&
			    (!const_int_at(b, lengths[p->axis][side], 0, &length) || length < 1)) {
				unsupported(b, "stat_length must be a constant above 0");
				return p->x;
			}
			made[side] = is_ramp ? ramp(b, p, side)
					     : stretched(b, p, statistic(b, p, side, length),
							 p->width[p->axis][side]);
		}
		if (made[0])
			all[k++] = made[0];
		all[k++] = p->x;
		if (made[1])
			all[k++] = made[1];
		p->x = concat(b, (int)p->axis, all, k);
	}
	return p->x;
}

/* Which element of n stands at place `at` (0 is the first one of x) */
static int64_t source_at(const char *mode, int64_t at, int64_t n)
{
	int64_t period = mode[0] == 'w' ? n : mode[0] == 's' ? 2 * n : 2 * n - 2;

	if (period < 1)
		period = 1;
	int64_t f = at % period;
	if (f < 0)
		f += period;
	return f < n ? f : mode[0] == 's' ? period - 1 - f : period - f;
}

static struct value *constant_sources(struct build *b, const struct pad *p, int64_t n)
{
	int64_t before, after;
	struct value **w = (struct value **)p->width[p->axis];

	if (!const_int_at(b, w[0], 0, &before) || !const_int_at(b, w[1], 0, &after) ||
	    before > 4096 || after > 4096 || n > 4096)
		return NULL;
	int64_t total = before + n + after,
		*at = new_array(b->cx->arena, int64_t, (size_t)total + 1);
	for (int64_t i = 0; i < total; i++)
		at[i] = source_at(p->mode, i - before, n);
	return const_ints(b, at, (uint32_t)total);
}

static struct value *sources(struct build *b, const struct pad *p)
{
	dim size = p->x->type.dims[p->axis];
	struct value *const *w = p->width[p->axis], *n = dim_value(b, size), *period;
	struct value *total = emit_(b, "Add", emit_(b, "Add", w[0], n), w[1]);
	struct value *at = emit_(b, "Range", const_int(b, 0), total, const_int(b, 1));

	at = emit_(b, "Sub", at, w[0]);
	if (p->mode[0] == 'w')
		return emit_(b, "Mod", at, n);
	period = emit_(b, "Mul", n, const_int(b, 2));
	if (p->mode[0] == 'r') {
		b->cse->shared->small_ints = true;
		period = emit_(b, "Max", emit_(b, "Sub", period, const_int(b, 2)), const_int(b, 1));
		b->cse->shared->small_ints = false;
	}
	at = emit_(b, "Mod", at, period);
	struct value *top = period;
	if (p->mode[0] == 's')
		top = emit_(b, "Sub", period, const_int(b, 1));
	return emit_(b, "Where", emit_(b, "Less", at, n), at, emit_(b, "Sub", top, at));
}

/* Does ONNX's Pad do it: a reflection within the lengths? */
static bool reflects(struct build *b, const struct pad *p)
{
	int64_t k;

	for (uint32_t i = 0; i < 2 * p->rank; i++)
		if (!const_int_at(b, p->width[i / 2][i % 2], 0, &k) ||
		    (k && !dim_ge(b->cx, p->x->type.dims[i / 2], k + 1)))
			return false;
	return p->mode[0] == 'r';
}

static struct value *pad_copied(struct build *b, struct pad *p)
{
	int64_t n;

	if (reflects(b, p))
		return onnx_pad(b, p, 0, p->rank, 3, "reflect", NULL);
	for (p->axis = 0; p->axis < p->rank; p->axis++) {
		struct value *const *w = p->width[p->axis], *at = NULL;
		if (is_zero(b, w[0]) && is_zero(b, w[1]))
			continue;
		if (dim_is_const(b->cx, p->x->type.dims[p->axis], &n))
			at = constant_sources(b, p, n);
		if (!at)
			at = sources(b, p);
		if (p->axis)
			attr_int(b, "axis", p->axis);
		p->x = emit_(b, "Gather", p->x, at);
	}
	return p->x;
}

/* The first axis of length 0 that gets a border, which there is nothing to make of; -1: none. */
static int empty_axis(struct build *b, const struct pad *p)
{
	for (uint32_t i = 0; i < p->rank; i++)
		if (dim_le(b->cx, p->x->type.dims[i], 0) &&
		    !(is_zero(b, p->width[i][0]) && is_zero(b, p->width[i][1])))
			return (int)i;
	return -1;
}

bool lower_pad(struct build *b, struct node *n)
{
	if (has_complex(n))
		return lower_complex_pad(b, n);
	struct type t = n->out[0]->type;
	struct pad p = {.mode = prop_str(b->cx, n, "pad_mode"),
			.x = cast(b, low(b, n->in[0]), (enum dtype)t.dtype),
			.rank = t.rank};
	struct value *lengths[MAX_RANK][2], *r,
		*more = n->nin > 2 && n->in[2] ? low(b, n->in[2]) : NULL;
	bool constant = !strcmp(p.mode, "constant"), is_ramp = !strcmp(p.mode, "linear_ramp");

	if (p.rank > MAX_RANK / 2 || !strcmp(p.mode, "median")) {
		unsupported(b, p.rank > MAX_RANK / 2 ? "it takes at most 32 dims"
						     : "PyTensor has no median borders");
		return false;
	}
	if (!widths(b, n, &p))
		return false;
	if (strcmp(p.mode, "mean") != 0 && !constant && empty_axis(b, &p) >= 0) {
		unsupported(b, "axis %d is empty, there is nothing to make borders of",
			    empty_axis(b, &p));
		return false;
	}
	if (constant || is_ramp)
		pairs(b, more ? more : const_int_of(b, (enum dtype)t.dtype, 0), (enum dtype)t.dtype,
		      p.rank, p.value);
	if (!constant && !is_ramp && more)
		pairs(b, more, DT_INT64, p.rank, lengths);
	if (constant)
		r = pad_constant(b, &p);
	else if (!strcmp(p.mode, "edge"))
		r = onnx_pad(b, &p, 0, p.rank, 3, "edge", NULL);
	else if (strchr("rsw", p.mode[0]))
		r = pad_copied(b, &p);
	else
		r = pad_made(b, &p, more && !is_ramp ? lengths : NULL);
	lowered(b, n, 0, with_dims(r, t.dims));
	return true;
}
