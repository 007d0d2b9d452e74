/*
 * mistakes.c: warnings about calls that are legal and hardly meant. In: a node that a statement of
 * the graph makes. Out: nothing but warnings. What a fn calls is not looked at: a length that is 1
 * at one of its calls is another one at the next.
 */
#include "elab/internal.h"

/* Is the value float64 because its numbers were stored so? Not one number: that was written so. */
static bool is_float64_tensor(const struct value *v)
{
	return v && v->data && v->type.rank && v->type.dtype == DT_FLOAT64;
}

/* Do all float inputs of the graph have the dtype float32? */
static bool takes_float32(const struct elab *e)
{
	bool found = false;

	for (uint32_t i = 0; i < e->graph->block->params.len; i++) {
		enum dtype t = e->graph->block->params.at[i]->type.dtype;
		if (t == DT_FLOAT64 || is_complex(t))
			return false;
		found |= t == DT_FLOAT32;
	}
	return found;
}

static void warn_float64(struct elab *e, const struct node *n, struct span s)
{
	const struct value *weight = NULL, *single = NULL;

	for (uint32_t i = 0; i < n->nin; i++) {
		weight = is_float64_tensor(n->in[i]) ? n->in[i] : weight;
		single = n->in[i] && n->in[i]->type.dtype == DT_FLOAT32 ? n->in[i] : single;
	}
	if (weight && single && n->nout == 1 && n->out[0]->type.dtype == DT_FLOAT64 &&
	    takes_float32(e))
		warn(e->cx, s, W_FLOAT64,
		     "%s and %s give float64, and so does what follows; for a float32 model "
		     "convert the "
		     "weight, Cast{float32}(...), or write it as float32([...])",
		     type_str(e->cx, single->type), type_str(e->cx, weight->type));
}

static bool reduces(const struct op *op)
{
	switch (op - op_table) {
	case OP_Sum:
	case OP_Prod:
	case OP_Mean:
	case OP_Max:
	case OP_Min:
	case OP_Argmax:
	case OP_LogSumExp:
	case OP_Softmax:
	case OP_LogSoftmax:
		return true;
	default:
		return false;
	}
}

/* Does the op make axes of length 1 by intent? */
static bool makes_ones(const struct op *op)
{
	switch (op - op_table) {
	case OP_Subtensor:
	case OP_AdvancedSubtensor:
	case OP_ExpandDims:
	case OP_DimShuffle:
	case OP_Reshape:
	case OP_Alloc:
		return true;
	default:
		return false;
	}
}

static void warn_length_one(struct elab *e, const struct node *n, struct span s)
{
	const struct value *x = n->nin ? n->in[0] : NULL;
	int axes[MAX_RANK];

	if (!x || (x->def && makes_ones(x->def->op)) || !reduces(n->op) ||
	    prop_is_none(e->cx, n, "axes"))
		return;
	int count = prop_axes(e->cx, n, "axes", x->type.rank, axes, true);
	for (int i = 0; i < count; i++)
		if (!dim_is_one(e->cx, x->type.dims[axes[i]]))
			return;
	if (count > 0)
		warn(e->cx, s, W_LENGTH_ONE, "%s along axis %d of %s: its length is 1", n->op->name,
		     axes[0], type_str(e->cx, x->type));
}

void warn_mistakes(struct elab *e, const struct node *n, struct span s)
{
	if (!e->frame->fn || !e->frame->fn->is_graph || !n->nout || !n->out[0]->type.dtype)
		return;
	warn_float64(e, n, s);
	warn_length_one(e, n, s);
}
