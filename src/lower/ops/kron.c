/*
 * kron.c: lowers KroneckerProduct: a product with interleaved axes, a0 b0 a1 b1 ..., of which each
 * pair is merged. If an input has fewer axes, the leading ones are missing.
 */
#include "lower/ops/lowerings.h"

bool lower_kron(struct build *b, struct node *n)
{
	struct type t = n->out[0]->type;
	struct value *in[2];
	int64_t axes[2 * MAX_RANK];
	uint32_t rank = t.rank;

	for (uint32_t k = 0; k < 2; k++) {
		struct value *v = cast(b, low(b, n->in[k]), (enum dtype)t.dtype);
		uint32_t missing = rank - v->type.rank, at = 0;
		for (uint32_t i = 0; i < 2 * rank; i++) /* a has the even axes, b the odd ones */
			if (i % 2 != k || i / 2 < missing)
				axes[at++] = i;
		/* leading axes of length 1 are not needed for broadcasting */
		uint32_t skip = 0;
		while (skip < at && axes[skip] == skip)
			skip++;
		for (uint32_t i = skip; i < at; i++)
			axes[i - skip] = axes[i] - skip;
		in[k] = unsqueeze(b, v, axes, at - skip);
	}
	struct value *r = emit_(b, ONNX_Mul, in[0], in[1]);
	set_lowered(b, n, 0, reshape(b, r, t.dims, rank));
	return true;
}
