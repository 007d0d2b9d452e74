/*
 * rules.c: what comes in the place of a node that is asked for, in the order in which it is tried:
 * the Cast of a triangle, folding, algebra, reversals; cheaper inputs and nodes (-fsimplify); the
 * legaliser. emit() and reduce() find all of it by struct emit_rules.
 */
#include "lower/build.h"

/* Casts the triangle x. The attribute of the Cast that was asked for is used up by that. */
static struct value *cast_triangle(struct build *b, struct value *x)
{
	uint32_t nattrs = b->nattrs;

	b->nattrs = 0;
	struct value *r = triangle_of_dtype(b, x, dtype_of_onnx(b->attrs[0].u.i));
	if (!r)
		b->nattrs = nattrs;
	return r;
}

static struct value *shortcut(struct build *b, const struct onnx_op *op, struct value **in,
			      uint32_t nin)
{
	struct value *r = op->id == ONNX_Cast && b->nattrs == 1 ? cast_triangle(b, in[0]) : NULL;

	r = r ? r : fold(b, op, in, nin);
	r = r ? r : by_algebra(b, op, in, nin);
	return r ? r : reversed_later(b, op, in, nin);
}

/* The operator on inputs without axes of length 1. Its result gets them, and may not need them:
 * its readers are made in the same way. */
static struct value *with_axes_later(struct build *b, const struct onnx_op *op, struct value **in,
				     uint32_t nin)
{
	struct value *bare[3];
	int64_t axes[MAX_RANK];
	uint32_t n = 0;
	uint64_t given = common_given_axes(b, op, in, nin, bare);

	if (!given)
		return NULL;
	struct value *r = emit(b, op->id, bare, nin);
	for (uint32_t i = 0; given >> i; i++)
		if (given >> i & 1)
			axes[n++] = i;
	return unsqueeze(b, r, axes, n);
}

static struct value *simpler(struct build *b, const struct onnx_op *op, struct value ***in,
			     uint32_t nin, struct value **room)
{
	struct value *r = with_axes_later(b, op, *in, nin), **x;

	if (r)
		return r;
	x = drop_leading_axes(op, *in, nin, room);
	if (nin == 2 && op->id == ONNX_Expand)
		x = drop_leading_axes_of_expand(b, x, room);
	*in = x;
	r = op->id == ONNX_GreaterOrEqual ? triangle(b, x) : NULL;
	bool column = nin == 2 && op->id == ONNX_Unsqueeze && x[1]->data;
	return r || !column ? r : as_column(b, x[0], x[1]->data);
}

static struct value *reduced(struct build *b, enum onnx_id op, struct value *v, const int *axes,
			     int naxes, bool keepdims)
{
	struct value *r = reduced_without_ones(b, op, v, naxes, keepdims);

	if (!r && op == ONNX_ReduceSum)
		r = sum_by_algebra(b, v, axes, naxes, keepdims);
	return r ? r : reduced_reversed(b, op, v, axes, naxes, keepdims);
}

const struct emit_rules emit_rules = {shortcut, simpler, reduced, legalise};
