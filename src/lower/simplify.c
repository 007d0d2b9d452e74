/*
 * simplify.c: cheaper inputs for a node that emit() in node.c is about to make. Leading axes of
 * length 1 are dropped, as broadcasting adds them by itself: Add(Unsqueeze(v), matrix) is
 * Add(v, matrix). And a comparison of row numbers with column numbers, as pt.tri makes it, is a
 * Trilu.
 */
#include <string.h>

#include "lower/build.h"

/* v before an Unsqueeze that only adds leading axes; NULL: v is no such thing */
static struct value *without_leading_axes(const struct value *v)
{
	const struct node *n = v->def;
	int64_t axis;

	if (!is_onnx(n, ONNX_Unsqueeze) || !n->in[1]->data)
		return NULL;
	for (uint64_t i = 0; i < n->in[1]->data->count; i++)
		if (!tensor_int(n->in[1]->data, i, &axis) || axis != (int64_t)i)
			return NULL;
	return n->in[0];
}

static bool broadcasts(const struct onnx_op *op)
{
	return onnx_lengths(op) == ONNX_BROADCAST_LENGTHS;
}

/* The inputs without leading axes that broadcasting adds. The inputs of a PyTensor op all have the
 * rank of the result; for ONNX one of them is enough. */
struct value **drop_leading_axes(const struct onnx_op *op, struct value **in, uint32_t nin,
				 struct value **to)
{
	uint32_t rank = 0, full = 0;

	if (nin < 2 || nin > 3 || !broadcasts(op))
		return in;
	for (uint32_t i = 0; i < nin; i++)
		rank = in[i]->type.rank > rank ? in[i]->type.rank : rank;
	for (uint32_t i = 0; i < nin; i++)
		full += in[i]->type.rank == rank;
	for (uint32_t i = 0; i < nin; i++) {
		struct value *v = without_leading_axes(in[i]);
		bool last = in[i]->type.rank == rank && full == 1;
		to[i] = v && !last ? v : in[i];
		full -= v && !last && in[i]->type.rank == rank;
	}
	return to;
}

/* The same for Expand, which adds leading axes until there are as many as the shape has numbers. */
struct value **drop_leading_axes_of_expand(struct build *b, struct value **in, struct value **to)
{
	struct value *v = without_leading_axes(in[0]);
	int64_t rank;

	if (!v || !dim_is_const(b->cx, in[1]->type.dims[0], &rank) || rank < in[0]->type.rank)
		return in;
	to[0] = v;
	to[1] = in[1];
	return to;
}

/* If Unsqueeze gave leading axes to all inputs of the result's rank, the operator is cheaper
 * without them and the result gets them: Add(Unsqueeze(a), Unsqueeze(b)) is Unsqueeze(Add(a, b)).
 * Returns how many axes, and in `to` the inputs without them. 0: this does not apply. */
uint32_t common_leading_axes(struct build *b, const struct onnx_op *op, struct value **in,
			     uint32_t nin, struct value **to)
{
	uint32_t rank = 0, rest = 0;

	if (!nin || nin > 3 || !(nin == 1 ? onnx_facts[op->id].each : broadcasts(op)))
		return 0;
	for (uint32_t i = 0; i < nin; i++)
		rank = in[i]->type.rank > rank ? in[i]->type.rank : rank;
	for (uint32_t i = 0; i < nin; i++) {
		bool full = in[i]->type.rank == rank;
		to[i] = full ? without_leading_axes(in[i]) : in[i];
		if (!to[i] || (full && b->cse->shared->home[in[i]->id] != b->block))
			return 0;
		rest = to[i]->type.rank > rest ? to[i]->type.rank : rest;
	}
	return rank - rest;
}

/* If v is start, start + 1, ... along one axis and has length 1 along the others: the vector of
 * these numbers, and *start. NULL: v is no such thing. */
static const struct value *steps_of_one(struct build *b, const struct value *v, int64_t *start)
{
	int64_t step;

	while (is_onnx(v->def, ONNX_Unsqueeze))
		v = v->def->in[0];
	const struct node *n = v->def;
	if (!is_onnx(n, ONNX_Range) || n->in[0]->type.dtype != DT_INT64 ||
	    !const_int_at(b, n->in[0], 0, start) || !const_int_at(b, n->in[2], 0, &step) ||
	    step != 1)
		return NULL;
	return v;
}

/* The result of comparing a column 0, 1, ... with a row k, k + 1, ..., as pt.tri does, is a
 * triangle of ones. NULL: the inputs are no such things, or more than one Shape says their lengths.
 */
struct value *triangle(struct build *b, struct value **in)
{
	struct value *row = in[0], *column = in[1];
	dim dims[2], one = dim_const(b->cx, 1);
	int64_t from, at;

	if (row->type.rank != 2 || !column->type.rank || column->type.rank > 2 ||
	    !dim_eq(b->cx, row->type.dims[1], one) ||
	    (column->type.rank == 2 && !dim_eq(b->cx, column->type.dims[0], one)) ||
	    !steps_of_one(b, row, &from) || from || !steps_of_one(b, column, &at) ||
	    at == INT64_MIN || !has_op(b, ONNX_Trilu))
		return NULL;
	if (b->cse->shared->home[row->id] !=
	    b->block) /* the comparison is made once, outside of this loop */
		return NULL;
	dims[0] = row->type.dims[0];
	dims[1] = column->type.dims[column->type.rank - 1];
	if (!dims_are_axes_of_one(b, dims, 2))
		return NULL;
	dim *to = memcpy(new_array(b->cx->arena, dim, 2), dims, sizeof(dims));
	struct value *ones = const_shape(b, DT_BOOL, dims_vector(b, to, 2), to, 2, 1);
	attr_int(b, "upper", 0);
	return with_dims(emit_(b, ONNX_Trilu, ones, at ? const_int(b, -at) : NULL), to);
}

/* If v is a triangle that triangle() made: the same in dtype t, without a Cast. NULL: it is not. */
struct value *triangle_of_dtype(struct build *b, const struct value *v, enum dtype t)
{
	const struct node *n = v->def;
	int64_t one;

	if (!is_onnx(n, ONNX_Trilu) || v->type.dtype != DT_BOOL ||
	    !is_onnx(n->in[0]->def, ONNX_ConstantOfShape) || n->in[0]->def->nattrs != 1 ||
	    !tensor_int(n->in[0]->def->attrs[0].u.t, 0, &one) || !one ||
	    (t != DT_FLOAT32 && t != DT_FLOAT64 && t != DT_INT32 && t != DT_INT64))
		return NULL;
	const struct node *ones = n->in[0]->def;
	struct value *r = const_shape(b, t, ones->in[0], v->type.dims, 2, 1);
	attr_int(b, "upper", n->attrs[0].u.i);
	return with_dims(emit_(b, ONNX_Trilu, r, n->nin > 1 ? n->in[1] : NULL), v->type.dims);
}
