/*
 * assert.c: Assert and CheckAndRaise. In: a typed node. Out: its first argument as it is, and a
 * check of the conditions.
 */
#include "lower/ops/lowerings.h"

/* All conditions that can be false, as one bool; NULL: none can. */
static struct value *all_conditions(struct build *b, struct node *n)
{
	struct value *all = NULL;

	for (uint32_t i = 1; i < n->nin; i++) {
		struct value *c = cast(b, low(b, n->in[i]), DT_BOOL);
		if (!c->data || !c->data->count)
			all = all ? emit_(b, ONNX_And, all, c) : c;
		else if (tensor_float(c->data, 0) == 0)
			raises(b, "the condition is false in every run");
	}
	return all;
}

bool lower_assert(struct build *b, struct node *n)
{
	struct value *cond = all_conditions(b, n);

	if (b->scope->shared->failed)
		return false;
	set_lowered(b, n, 0, low(b, n->in[0]));
	if (!cond)
		return true;
	if (b->target == PTGC_ONNX)
		warn(b->cx, b->span, W_ASSERT_DROPPED,
		     "%s: the check is left out of the model: ONNX has no operator that fails on "
		     "purpose",
		     op_label(b->cx, n));
	else if (prop_is_none(b->cx, n, "msg"))
		check_always(b, cond, "a condition that must be true is false");
	else /* the library says what NumPy says of bad arguments */
		check_always(b, cond,
			     arena_printf(b->cx->arena, "%s%s",
					  b->scope->shared->expanding ? "" : "assertion failed: ",
					  prop_str(b->cx, n, "msg")));
	return true;
}
