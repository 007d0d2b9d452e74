/*
 * elemwise.c: elementwise ops that are no one ONNX node. In: a typed node whose inputs are cast as
 * its row says. Out: ONNX values. (Most elementwise ops are expressions in ops.def or fns in lib/.)
 */
#include "low.h"
#include "lower.h"

bool lower_cast(struct build *b, struct node *n)
{
	lowered(b, n, 0, cast(b, low(b, n->in[0]), (enum dtype)n->out[0]->type.dtype));
	return true;
}

/* b in the shape of both: a is only read for its sizes. */
bool lower_second(struct build *b, struct node *n)
{
	struct type t = n->out[0]->type;
	struct value *v = cast(b, low(b, n->in[1]), (enum dtype)t.dtype);

	lowered(b, n, 0, expand(b, v, t.dims, t.rank));
	return true;
}
