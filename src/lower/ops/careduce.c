/*
 * careduce.c: lowers LogSumExp, and CAReduce by And, Or, Xor of integers. LogSumExp is not ONNX's
 * ReduceLogSumExp: ONNX Runtime takes 0 for the maximum if the first number is -inf, and loses a
 * NaN if there is an inf.
 */
#include <float.h>

#include "lower/ops/lowerings.h"

/* As in PyTensor, the maximum is subtracted first; if it is infinite, the largest finite number
 * instead, for which the exponentials of all other numbers are 0. */
bool lower_logsumexp(struct build *b, struct node *n)
{
	enum dtype t = (enum dtype)n->out[0]->type.dtype;
	struct value *x = cast(b, low(b, n->in[0]), t);
	int axes[MAX_RANK], k = prop_axes(b->cx, n, "axes", x->type.rank, axes, true);
	int64_t gone[MAX_RANK];
	double most = t == DT_FLOAT64 ? DBL_MAX : FLT_MAX;

	if (k < 0)
		return false;
	bool keep = prop_bool(b->cx, n, "keepdims"), leading = !keep;
	for (int i = 0; i < k; i++)
		leading &= axes[i] == i; /* broadcasting aligns what is left of them */
	if (k) {
		struct value *max = reduce(b, ONNX_ReduceMax, x, axes, k, !leading);
		struct value *least = const_of(b, t, -most);
		max = emit_(b, ONNX_Clip, max, least, const_of(b, t, most));
		x = emit_(b, ONNX_Exp, emit_(b, ONNX_Sub, x, max));
		x = emit_(b, ONNX_Log, reduce(b, ONNX_ReduceSum, x, axes, k, !leading));
		x = emit_(b, ONNX_Add, x, max);
	}
	for (int i = 0; i < k; i++)
		gone[i] = axes[i];
	if (k && !keep && !leading)
		x = squeeze(b, x, gone, (uint32_t)k);
	set_lowered(b, n, 0, x);
	return true;
}

static struct value *merged_first(struct build *b, struct value *x, const int *axes, int naxes)
{
	int64_t perm[MAX_RANK];
	uint32_t k = (uint32_t)naxes;
	dim *dims = new_array(b->cx->arena, dim, x->type.rank + 1), first = dim_const(b->cx, 1);

	for (int i = 0, j = 0; i < x->type.rank; i++) {
		if (j < naxes && axes[j] == i) {
			first = dim_mul(b->cx, first, x->type.dims[i]);
			perm[j++] = i;
		} else {
			dims[k - (uint32_t)naxes + 1] = x->type.dims[i];
			perm[k++] = i;
		}
	}
	dims[0] = first;
	return reshape(b, transpose(b, x, perm), dims, x->type.rank - (uint32_t)naxes + 1);
}

/* And, Or, Xor of integers, by a loop over rows in the library */
static bool reduce_bits(struct build *b, struct node *n, const struct op *op)
{
	const char *name = op == &op_table[OP_And]  ? "_All_bits"
			   : op == &op_table[OP_Or] ? "_Any_bits"
						    : "_Odd_bits";
	struct fn *f = lib_fn(b->cx, name);
	struct value *x = low(b, n->in[0]), *r;
	int axes[MAX_RANK], k = prop_axes(b->cx, n, "axes", x->type.rank, axes, true);

	if (!f)
		bug("the library has no %s", name);
	if (k < 0)
		return false;
	x = merged_first(b, x, axes, k);
	if (!call_fn(b, f, NULL, NULL, &x, 1, &r, 1))
		return false;
	set_lowered(b, n, 0, cast(b, r, (enum dtype)n->out[0]->type.dtype));
	return true;
}

static bool odd_bools(struct build *b, struct node *n)
{
	struct value *x = cast(b, low(b, n->in[0]), DT_INT64);
	int axes[MAX_RANK], k = prop_axes(b->cx, n, "axes", x->type.rank, axes, true);

	if (k < 0)
		return false;
	x = reduce(b, ONNX_ReduceSum, x, axes, k, false);
	x = emit_(b, ONNX_Mod, x, const_int(b, 2));
	set_lowered(b, n, 0, cast(b, cast(b, x, DT_BOOL), (enum dtype)n->out[0]->type.dtype));
	return true;
}

bool lower_careduce(struct build *b, struct node *n)
{
	const struct op *op = prop(b->cx, n, "scalar_op")->u.op->op;
	struct cv *props;
	const struct op *whole = careduce_as(b->cx, n, &props);
	bool bits = op == &op_table[OP_And] || op == &op_table[OP_Or] || op == &op_table[OP_Xor];
	struct value *in = low(b, n->in[0]), *r;

	if (bits && n->in[0]->type.dtype != DT_BOOL)
		return reduce_bits(b, n, op);
	if (bits && op == &op_table[OP_Xor])
		return odd_bools(b, n);
	if (!whole) {
		unsupported(b, "reductions by this op are not converted");
		return false;
	}
	if (whole == &op_table[OP_Max] || whole == &op_table[OP_Min]) {
		enum dtype acc = prop_dtype(b->cx, n, "acc_dtype");
		in = acc ? cast(b, in, acc) : in;
	}
	if (!lower_as(b, whole, props, &in, 1, &r, 1))
		return false;
	set_lowered(b, n, 0, cast(b, r, (enum dtype)n->out[0]->type.dtype));
	return true;
}
