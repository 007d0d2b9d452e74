/*
 * tensorsolve.c: lowers MatrixInverse, TensorInv and TensorSolve. The tensor a is reshaped to a
 * square matrix, with the named axes last, and solved by elimination in the library. The run fails
 * if a pivot is 0, as NumPy raises then. (Solve gives NaN, as in PyTensor.) Must hold: inference
 * has checked that the matrix is square.
 */
#include "lower/ops/lowerings.h"
#include "ops/rules.h"

/* Calls a fn of the library that returns x and pivots, for the matrices in[0]. For a pivot of 0,
 * Gather reads an item that does not exist, which makes the run fail; not for matrices with a NaN,
 * which the search for a pivot may pass over. */
static struct value *eliminate(struct build *b, const char *name, struct value **in, uint32_t nin)
{
	struct value *out[2] = {NULL};

	if (!call_fn(b, lib_fn(b->cx, name), NULL, NULL, in, nin, out, 2))
		return NULL;
	struct value *x = out[0], *pivots = out[1];
	struct value *zero = const_of(b, (enum dtype)pivots->type.dtype, 0);
	struct value *nan = emit_(b, ONNX_Mul, low(b, in[0]), zero); /* of NaN and inf */
	int last = nan->type.rank - 1;
	nan = reduce(b, ONNX_ReduceSum, nan, (int[]){last - 1, last}, 2, false);
	struct value *zeros = cast(b, emit_(b, ONNX_Equal, pivots, nan), DT_INT64);
	zeros = reduce_all(b, ONNX_ReduceSum, zeros, false);
	const dim *dims = x->type.dims;
	x = unsqueeze(b, x, &(int64_t){0}, 1);
	x = with_dims(emit_(b, ONNX_Gather, x, zeros), dims);
	return labelled(b, x, "a matrix must not be singular");
}

bool lower_inverse(struct build *b, struct node *n)
{
	struct value *x = eliminate(b, "_Inverse", n->in, 1);

	if (x)
		set_lowered(b, n, 0, x);
	return x != NULL;
}

/* A typed value for the ONNX value v, as an argument of a fn */
static struct value *typed_value(struct build *b, struct value *v)
{
	struct value *r = graph_value(b->cx, v->type, b->span);

	r->lowered = v;
	return r;
}

/* `lead` is 1 where a and b have a batch in front, of which each item has the result of its own. */
bool lower_tensorsolve(struct build *b, struct node *n)
{
	const dim *d = n->out[0]->type.dims;
	uint32_t lead = n->out[0]->type.rank - 2u, rank = n->in[0]->type.rank - lead;
	dim *square = new_dims(b->cx, 3), *column = new_dims(b->cx, 3); /* a type keeps them */
	int64_t order[MAX_RANK] = {0};
	struct type item = type_of((enum dtype)n->in[0]->type.dtype, rank, NULL);
	struct value *first = graph_value(b->cx, item, b->span);
	struct node core = {.op = n->op, .props = n->props, .in = &first, .span = n->span};

	square[0] = column[0] = d[0];
	square[lead] = square[lead + 1] = column[lead] = dim_mul(b->cx, d[lead], d[lead + 1]);
	column[lead + 1] = dim_const(b->cx, 1);
	if (!tensorsolve_order(b->cx, &core, order + lead))
		return false;
	for (uint32_t i = 0; i < rank; i++)
		order[lead + i] += lead;
	struct value *x = transpose(b, low(b, n->in[0]), order);
	struct value *in[2];
	in[0] = typed_value(b, reshape(b, x, square, lead + 2));
	in[1] = typed_value(b, reshape(b, low(b, n->in[1]), column, lead + 2));
	struct value *r = eliminate(b, "_Solve_pivots", in, 2);
	if (r)
		set_lowered(b, n, 0, reshape(b, r, d, lead + 2));
	return r != NULL;
}
