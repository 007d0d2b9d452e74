/*
 * simplify.c: what a node does not need. In: an operator and its inputs, before a node is made.
 * Out: inputs without axes of length 1 that broadcasting adds by itself, or a triangle in place of
 * a comparison of counters. What is found is used by emit() in node.c.
 */
#include <string.h>

#include "lower/build.h"

/* v without leading axes of length 1 that an Unsqueeze put there: broadcasting adds them by itself.
 */
static struct value *unpadded(const struct value *v)
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
	return onnx_lengths(op) == ONNX_BROADCAST_LENGTHS && op->id != ONNX_BitShift &&
	       op->id != ONNX_BitwiseAnd && op->id != ONNX_BitwiseOr && op->id != ONNX_BitwiseXor;
}

/* PyTensor's inputs all have one rank, ONNX's need not: as long as one keeps it, no Unsqueeze. */
struct value **shortened(const struct onnx_op *op, struct value **in, uint32_t nin,
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
		struct value *v = unpadded(in[i]);
		bool last = in[i]->type.rank == rank && full == 1;
		to[i] = v && !last ? v : in[i];
		full -= v && !last && in[i]->type.rank == rank;
	}
	return to;
}

/* Expand adds leading axes by itself, up to the length of the shape. */
struct value **unpadded_expand(struct build *b, struct value **in, struct value **to)
{
	struct value *v = unpadded(in[0]);
	int64_t rank;

	if (!v || !dim_is_const(b->cx, in[1]->type.dims[0], &rank) || rank < in[0]->type.rank)
		return in;
	to[0] = v;
	to[1] = in[1];
	return to;
}

/* How many leading axes the result has only because Unsqueeze gave them to all inputs of full rank,
 * and to them alone; `to` are the inputs without. 0: none, or some cannot go. */
uint32_t padding(struct build *b, const struct onnx_op *op, struct value **in, uint32_t nin,
		 struct value **to)
{
	uint32_t rank = 0, rest = 0;

	if (!nin || nin > 3 || !(nin == 1 ? onnx_facts[op->id].each : broadcasts(op)))
		return 0;
	for (uint32_t i = 0; i < nin; i++)
		rank = in[i]->type.rank > rank ? in[i]->type.rank : rank;
	for (uint32_t i = 0; i < nin; i++) {
		bool full = in[i]->type.rank == rank;
		to[i] = full ? unpadded(in[i]) : in[i];
		if (!to[i] || (full && b->cse->shared->home[in[i]->id] != b->block))
			return 0;
		rest = to[i]->type.rank > rest ? to[i]->type.rank : rest;
	}
	return rank - rest;
}

/* start, start + 1, ... along one axis: v without its other axes; NULL: it is not. *start: where */
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

/* Rows against columns, as pt.tri compares them: a triangle of ones, where one Shape says how large
 * it is. NULL: it is none. */
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
	if (b->cse->shared->home[row->id] != b->block) /* made once outside of a loop */
		return NULL;
	dims[0] = row->type.dims[0];
	dims[1] = column->type.dims[column->type.rank - 1];
	if (!dims_are_shape(b, dims, 2))
		return NULL;
	dim *to = memcpy(new_array(b->cx->arena, dim, 2), dims, sizeof(dims));
	struct value *ones = const_shape(b, DT_BOOL, dims_vector(b, to, 2), to, 2, 1);
	attr_int(b, "upper", 0);
	return with_dims(emit_(b, ONNX_Trilu, ones, at ? const_int(b, -at) : NULL), to);
}

/* The same as numbers of dtype t; NULL: v is no such triangle */
struct value *triangle_of(struct build *b, const struct value *v, enum dtype t)
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
