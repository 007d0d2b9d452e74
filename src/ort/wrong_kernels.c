/*
 * wrong_kernels.c: kernels of ONNX Runtime that are wrong (wrong_kernels.def). In: an ONNX node
 * that the runtime has a kernel for. Out: if that kernel is wrong, the same results made of other
 * nodes.
 */
#include "lower/ops/lowerings.h"
#include "ort/ort.h"

enum { ROUNDS_LATE = 1, UNROUNDED = 2, INT64_ORDER = 4 };

static const uint8_t faults[ONNX_COUNT] = {
#define FAULT(op, what) [ONNX_##op] = what,
#include "ort/wrong_kernels.def"
};

static bool reads_rounded(const struct node *n)
{
	bool rounded = false;

	for (uint32_t i = 0; i < n->nin; i++)
		rounded |= n->in[i] && rounding_is_lost(n->in[i]);
	return rounded;
}

bool kernel_is_right(struct ctx *cx, const struct node *n)
{
	bool rounds = !cx->opt.excess_precision;
	unsigned int what = faults[operator_of(n)];

	if (!what || !n->nin || !n->in[0])
		return true;
	enum dtype t = (enum dtype)n->in[0]->type.dtype;
	if (rounds && what & UNROUNDED && reads_rounded(n))
		return false;
	if (t == DT_FLOAT16)
		return !rounds || !(what & ROUNDS_LATE);
	return t != DT_INT64 || n->small_ints || !(what & INT64_ORDER);
}

/* Of int64 the comparisons are right, and ArgMax and ArgMin. */

/* Max or Min */
static struct value *extreme(struct build *b, struct node *n, enum onnx_id before)
{
	struct value *r = n->in[0];

	for (uint32_t i = 1; i < n->nin; i++)
		r = emit_(b, ONNX_Where, emit_(b, before, n->in[i], r), n->in[i], r);
	return r;
}

static struct value *clip_int64(struct build *b, struct node *n)
{
	struct value *r = n->in[0];

	if (n->nin > 1 && n->in[1])
		r = emit_(b, ONNX_Where, emit_(b, ONNX_Less, r, n->in[1]), n->in[1], r);
	if (n->nin > 2 && n->in[2])
		r = emit_(b, ONNX_Where, emit_(b, ONNX_Greater, r, n->in[2]), n->in[2], r);
	return r;
}

static struct value *sign_int64(struct build *b, struct node *n)
{
	struct value *zero = const_int(b, 0);
	struct value *above = cast(b, emit_(b, ONNX_Greater, n->in[0], zero), DT_INT64);

	struct value *below = emit_(b, ONNX_Less, n->in[0], zero);
	return emit_(b, ONNX_Where, below, const_int(b, -1), above);
}

/* ReduceMax or ReduceMin; NULL: the axes are not known */
static struct value *reduction_int64(struct build *b, struct node *n)
{
	const struct attr *keep = find_attr(n, "keepdims");
	int axes[MAX_RANK], count = onnx_reduced_axes(n, axes);

	return count < 0 ? NULL
			 : reduce_int64(b, n->in[0], axes, count, is_onnx(n, ONNX_ReduceMax),
					!keep || keep->u.i);
}

bool by_other_kernels(struct build *b, struct node *n, struct value **out)
{
	bool ints = n->in[0]->type.dtype == DT_INT64;

	if (ints && (is_onnx(n, ONNX_Max) || is_onnx(n, ONNX_Min)))
		out[0] = extreme(b, n, is_onnx(n, ONNX_Max) ? ONNX_Greater : ONNX_Less);
	else if (ints && is_onnx(n, ONNX_Clip))
		out[0] = clip_int64(b, n);
	else if (ints && is_onnx(n, ONNX_Sign))
		out[0] = sign_int64(b, n);
	else if (ints && (is_onnx(n, ONNX_ReduceMax) || is_onnx(n, ONNX_ReduceMin)) &&
		 (out[0] = reduction_int64(b, n)))
		return true;
	else
		return legalise(b, n, out);
	return true;
}
