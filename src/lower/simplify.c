/*
 * simplify.c: cheaper inputs for a node that emit() is about to make. Leading axes of
 * length 1 are dropped, as broadcasting adds them by itself: Add(Unsqueeze(v), matrix) is
 * Add(v, matrix). And a comparison of row numbers with column numbers, as pt.tri makes it, is a
 * Trilu.
 */
#include <string.h>

#include "lower/build.h"

#define MAX_BEHIND 4 /* operators that are looked at on the way to a reduction */

/* v before an Unsqueeze that only adds leading axes; NULL: v is no such thing */
static struct value *without_leading_axes(const struct value *v)
{
	const struct node *n = v->def;
	uint64_t axes = is_onnx(n, ONNX_Unsqueeze) ? onnx_axis_bits(n, v->type.rank) : 0;

	return axes && !(axes & (axes + 1)) ? n->in[0] : NULL;
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

/* Have these axes of v, as bits, length 1? */
static bool axes_are_ones(struct build *b, const struct value *v, uint64_t axes)
{
	for (uint32_t i = 0; i < v->type.rank; i++)
		if (axes >> i & 1 && !dim_is(b->cx, v->type.dims[i], 1))
			return false;
	return true;
}

/* The value that v is but for axes of length 1, which are set in *axes: v is an Unsqueeze of it, or
 * the Reshape that one of a vector is made (as_column() in build.c). NULL: v is no such thing */
static struct value *behind_axes(struct build *b, const struct value *v, uint64_t *axes)
{
	const struct node *n = v->def;
	int64_t len = 0, rank = v->type.rank;
	bool reshapes = is_onnx(n, ONNX_Reshape) && n->in[0]->type.rank == 1 && rank > 1;

	*axes = 0;
	if ((!is_onnx(n, ONNX_Unsqueeze) && !reshapes) || !n->in[1]->data || rank > 63)
		return NULL;
	if (reshapes) {
		uint32_t at = 0;
		while (at < rank && dim_is(b->cx, v->type.dims[at], 1))
			at++;
		if (at == rank || !dim_is_const(b->cx, n->in[0]->type.dims[0], &len) ||
		    !dim_eq(b->cx, v->type.dims[at], n->in[0]->type.dims[0]))
			return NULL;
		*axes = ((UINT64_C(1) << rank) - 1) & ~(UINT64_C(1) << at);
		return axes_are_ones(b, v, *axes) ? n->in[0] : NULL;
	}
	*axes = onnx_axis_bits(n, v->type.rank);
	return *axes ? n->in[0] : NULL;
}

/* v without those axes, which have length 1 */
static struct value *drop_axes(struct build *b, struct value *v, uint64_t axes)
{
	int64_t list[MAX_RANK];
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->type.rank; i++)
		if (axes >> i & 1)
			list[n++] = i;
	return squeeze(b, v, list, n);
}

/* Is v a reduction, or made of one element by element? It can keep its axes, so that giving them
 * back takes no node. */
static bool is_reduced(const struct value *v)
{
	uint32_t rank = v->type.rank;

	for (int steps = 0; steps < MAX_BEHIND && v && v->def; steps++) {
		const struct node *n = v->def;
		if (onnx_lengths(n->onnx) == ONNX_REDUCED_LENGTHS)
			return true;
		v = NULL;
		for (uint32_t i = n->nin; i-- > 0 && onnx_facts[operator_of(n)].each;)
			if (n->in[i] && !n->in[i]->data && n->in[i]->type.rank == rank)
				v = n->in[i];
	}
	return false;
}

/* The axes, as bits, that inputs of the result's rank got by Unsqueeze or, if they are constants,
 * that have length 1; 0: there are none */
static uint64_t common_axes(struct build *b, struct value **in, uint32_t nin, uint32_t rank)
{
	uint64_t axes = 0, own;
	bool computed = false;

	for (uint32_t i = 0; i < nin; i++) {
		computed |= !in[i]->data;
		if (in[i]->type.rank != rank || in[i]->data)
			continue;
		const struct value *bare = behind_axes(b, in[i], &own);
		if (!bare || (axes && own != axes) || (own & (own + 1) && is_reduced(bare)) ||
		    defining_block(b, in[i]) != b->block)
			return 0;
		axes = own;
	}
	/* constant numbers alone give the result its axes */
	computed &= is_float((enum dtype)in[nin - 1]->type.dtype);
	return axes ? axes : !computed || rank > 63 ? 0 : (UINT64_C(1) << rank) - 1;
}

/* If Unsqueeze gave the same axes to all inputs of the result's rank, the operator is cheaper
 * without them and the result gets them: Add(Unsqueeze(x), Unsqueeze(y)) is Unsqueeze(Add(x, y)).
 * Returns these axes, as bits, and in `to` the inputs without them. 0: this does not apply. */
uint64_t common_given_axes(struct build *b, const struct onnx_op *op, struct value **in,
			   uint32_t nin, struct value **to)
{
	uint32_t rank = 0, rest = 0, left;
	uint64_t axes, own;

	if (!nin || nin > 3 || !(nin == 1 ? onnx_facts[op->id].each : broadcasts(op)) ||
	    (nin > 1 && b->nattrs))
		return 0;
	for (uint32_t i = 0; i < nin; i++)
		rank = in[i]->type.rank > rank ? in[i]->type.rank : rank;
	axes = rank ? common_axes(b, in, nin, rank) : 0;
	if (!axes)
		return 0;
	left = rank - (uint32_t)__builtin_popcountll(axes);
	bool leading = !(axes & (axes + 1)); /* the lowest bits */
	for (uint32_t i = 0; i < nin; i++) {
		bool full = in[i]->type.rank == rank;
		if (full && in[i]->data && !axes_are_ones(b, in[i], axes))
			return 0;
		if (!full && in[i]->type.rank > left && !leading)
			return 0;
		if (!full && in[i]->type.rank && !leading && !axes_are_ones(b, in[i], UINT64_MAX))
			return 0;
		if (full && is_weight(in[i]) && leading)
			return 0;
	}
	for (uint32_t i = 0; i < nin; i++) {
		to[i] = in[i];
		if (in[i]->type.rank == rank)
			to[i] = in[i]->data ? drop_axes(b, in[i], axes)
					    : behind_axes(b, in[i], &own);
		rest = to[i]->type.rank > rest ? to[i]->type.rank : rest;
	}
	/* an input of a lower rank has the last of the leading axes: they stay */
	return leading ? (UINT64_C(1) << (rank - rest)) - 1 : axes;
}

/* If v is start, start + 1, ... along one axis and has length 1 along the others: the vector of
 * these numbers, and *start. NULL: v is no such thing. */
static const struct value *steps_of_one(struct build *b, const struct value *v, int64_t *start)
{
	int64_t step;

	const struct node *n = counted_by(b->cx, v, start, &step);

	return n && n->in[0]->type.dtype == DT_INT64 && step == 1 ? n->out[0] : NULL;
}

/* The result of comparing a column 0, 1, ... with a row k, k + 1, ..., as pt.tri does, is a
 * triangle of ones. NULL: the inputs are no such things, or more than one Shape says their lengths.
 */
struct value *triangle(struct build *b, struct value **in)
{
	struct value *row = in[0], *column = in[1];
	dim dims[2];
	int64_t from, at;

	if (row->type.rank != 2 || !column->type.rank || column->type.rank > 2 ||
	    !dim_is(b->cx, row->type.dims[1], 1) ||
	    (column->type.rank == 2 && !dim_is(b->cx, column->type.dims[0], 1)) ||
	    !steps_of_one(b, row, &from) || from || !steps_of_one(b, column, &at) ||
	    at == INT64_MIN || !has_op(b, ONNX_Trilu))
		return NULL;
	if (defining_block(b, row) !=
	    b->block) /* the comparison is made once, outside of this loop */
		return NULL;
	dims[0] = row->type.dims[0];
	dims[1] = column->type.dims[column->type.rank - 1];
	if (!dims_are_lengths_of_one_value(b, dims, 2))
		return NULL;
	dim *to = memcpy(new_array(b->cx->arena, dim, 2), dims, sizeof(dims));
	struct value *ones = filled_to(b, DT_BOOL, dims_vector(b, to, 2), to, 2, 1);
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
	struct value *r = filled_to(b, t, ones->in[0], v->type.dims, 2, 1);
	attr_int(b, "upper", n->attrs[0].u.i);
	return with_dims(emit_(b, ONNX_Trilu, r, n->nin > 1 ? n->in[1] : NULL), v->type.dims);
}

/* Have x and y as many elements? */
static bool has_as_many(struct ctx *cx, const struct value *x, const struct value *y)
{
	return dims_same_product(cx, x->type.dims, x->type.rank, y->type.dims, y->type.rank);
}

struct value *reduced_without_ones(struct build *b, enum onnx_id op, struct value *v, int naxes,
				   bool keepdims)
{
	uint64_t axes;
	int all[MAX_RANK];
	struct value *bare = v->def ? behind_axes(b, v, &axes) : NULL;

	if (is_onnx(v->def, ONNX_Squeeze) && has_as_many(b->cx, v->def->in[0], v))
		bare = v->def->in[0];
	if (!bare || !bare->type.rank || naxes != v->type.rank || keepdims)
		return NULL;
	for (int i = 0; i < bare->type.rank; i++)
		all[i] = i;
	return reduce(b, op, bare, all, bare->type.rank, false);
}
