/*
 * careduce.c: reductions beside those of reduce.c: LogSumExp. In: a
 * typed node. Out: ONNX values. ReduceLogSumExp subtracts the maximum as PyTensor does, and gives
 * -inf for nothing at all.
 */
#include "low.h"
#include "lower.h"

bool lower_logsumexp(struct build *b, struct node *n)
{
	struct value *x = cast(b, low(b, n->in[0]), (enum dtype)n->out[0]->type.dtype);
	int axes[MAX_RANK], k = prop_axes(b->cx, n, "axes", x->type.rank, axes, true);
	bool keep = prop_bool(b->cx, n, "keepdims");

	if (k < 0)
		return false;
	if (k)
		x = reduce(b, "ReduceLogSumExp", x, axes, k, keep);
	lowered(b, n, 0, x);
	return true;
}
