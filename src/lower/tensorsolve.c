/*
 * tensorsolve.c: TensorSolve. In: a typed node, whose result is a matrix. Out: a with the axes that
 * are named behind the others as a square matrix, and Solve on it. Must hold: the two sides of a
 * have the same number of elements, which inference saw to.
 */
#include "low.h"
#include "lower.h"
#include "rules.h"

bool lower_tensorsolve(struct build *b, struct node *n)
{
	const struct op *solve = &op_table[OP_Solve];
	struct prop_arg arg = {.name = intern_str(b->cx, "b_ndim"), .span = b->span};
	const dim *d = n->out[0]->type.dims;
	dim *square = new_dims(b->cx, 2); /* a type keeps it */
	int64_t order[MAX_RANK];
	struct value *r;

	square[0] = square[1] = dim_mul(b->cx, d[0], d[1]);
	if (!tensorsolve_order(b->cx, n, order))
		return false;
	arg.value = (struct cv){.kind = CV_INT, .span = b->span, .u.i = 1};
	struct cv *props = bind_props(b->cx, solve, b->span, &arg, 1);
	struct value *in[2] = {
		reshape(b, transpose(b, low(b, n->in[0]), order), square, 2),
		reshape(b, low(b, n->in[1]), square, 1),
	};
	if (!props || !lower_as(b, solve, props, in, 2, &r, 1))
		return false;
	lowered(b, n, 0, reshape(b, r, d, 2));
	return true;
}
