/*
 * short_axes.c: kernels that go row by row along a short last axis. In: a graph of ONNX nodes,
 * after all rewrites. Out: the same, in which such a node works on the transposed array. A
 * Transpose that swaps the last two axes is fast; Pad and Gather are slow along the last axis, and
 * ReduceSum along the one before it (target/costs_sizes.def has the times). ONNX Runtime would
 * merge Transposes again, so a Reshape to the same shape, which moves no data, stands on either
 * side.
 */
#include <string.h>

#include "graph/uses.h"
#include "lower/build.h"
#include "ort/ort.h"
#include "rewrite/rewrite.h"

static void swap_last(int64_t *perm, uint32_t rank)
{
	for (uint32_t i = 0; i < rank; i++)
		perm[i] = i;
	perm[rank - 1] = rank - 2;
	perm[rank - 2] = rank - 1;
}

/* v with its last two axes swapped, parted from what reads it and, as other Transposes may lie
 * behind elementwise operators, from what made it */
static struct value *transposed(struct build *b, struct value *v)
{
	int64_t perm[MAX_RANK];

	swap_last(perm, v->type.rank);
	return barrier(b, transpose(b, barrier(b, v), perm));
}

/* n becomes a Transpose of x that swaps the last two axes. */
static void transpose_back(struct ctx *cx, struct node *n, struct value *x)
{
	int64_t perm[MAX_RANK];

	swap_last(perm, x->type.rank);
	become(cx, n, ONNX_Transpose, x);
	set_ints(cx, n, "perm", perm, x->type.rank);
}

static bool has_short_rows(struct ctx *cx, const struct value *v)
{
	int64_t last, wide = dtypes[v->type.dtype].size >= 4;

	return v->type.rank > 1 && wide &&
	       dim_is_const(cx, v->type.dims[v->type.rank - 1], &last) && last > 1 &&
	       last <= SIZE_SHORT_AXIS &&
	       expected_elements(cx, &v->type, OPEN_LENGTH) >= SIZE_TRANSPOSED;
}

/* Pad with numbers behind or before the elements of the last axis alone */
static void transpose_pad(struct build *b, struct node *n)
{
	struct value *x = n->in[0], *in[3] = {NULL};
	uint32_t rank = x->type.rank;
	int64_t pads[2 * MAX_RANK] = {0}, mode = n->nattrs;

	if (mode || n->nin > 3 || !has_short_rows(b->cx, x) || !n->in[1]->data ||
	    !n->in[1]->data->data || n->in[1]->data->splat)
		return;
	for (uint32_t i = 0; i < 2 * rank; i++)
		if (!tensor_int(n->in[1]->data, i, &pads[i]) || pads[i] < 0 ||
		    (pads[i] && i % rank != rank - 1))
			return;
	for (uint32_t i = 0; i < 2; i++) {
		pads[i * rank + rank - 2] = pads[i * rank + rank - 1];
		pads[i * rank + rank - 1] = 0;
	}
	memcpy(in, n->in, n->nin * sizeof(*in));
	in[0] = transposed(b, x);
	in[1] = const_ints(b, pads, 2 * rank);
	transpose_back(b->cx, n, emit(b, ONNX_Pad, in, n->nin));
}

/* Do the sums along the axis before a short last one take longer than a Transpose? */
static bool sums_are_slow(struct ctx *cx, const struct value *x)
{
	uint32_t rank = x->type.rank;
	int64_t length, last, wide = dtypes[x->type.dtype].size >= 4;
	double size = expected_elements(cx, &x->type, OPEN_LENGTH);

	if (rank < 2 || !wide || !dim_is_const(cx, x->type.dims[rank - 1], &last) || last < 2 ||
	    last > SIZE_SHORT_AXIS)
		return false;
	if (!dim_is_const(cx, x->type.dims[rank - 2], &length) || length >= SIZE_SUMMED_AXIS)
		return size >= SIZE_TRANSPOSED;
	return is_float((enum dtype)x->type.dtype) && length > 1 &&
	       size >= (double)(SIZE_SUMMED_BLOCKS * length * last);
}

/* ReduceSum along the axis before a short last one */
static void transpose_sum(struct build *b, struct node *n)
{
	struct value *x = n->in[0];
	const struct attr *keep = find_attr(n, "keepdims");
	int axes[MAX_RANK], last = x->type.rank - 1;

	if (!keep || onnx_reduced_axes(n, axes) != 1 || axes[0] != last - 1 ||
	    !sums_are_slow(b->cx, x))
		return;
	x = transposed(b, x);
	if (keep->u.i) {
		x = reduce_node(b, ONNX_ReduceSum, x, &last, 1, true);
		transpose_back(b->cx, n, x);
	} else {
		set_input(n, 0, x);
		set_axes(b->cx, n, &(int64_t){last}, 1);
	}
}

/* Gather of elements along the last axis copies them one by one, along the one before whole rows.
 */
static void transpose_gather(struct build *b, struct node *n)
{
	struct ctx *cx = b->cx;
	struct value *x = n->in[0];
	int64_t last = x->type.rank - 1, k;
	double size = expected_elements(cx, &n->out[0]->type, OPEN_LENGTH);

	/* of what is open along both axes, as in the library's loops, there may be little */
	if (last < 1 || onnx_axis(n, 0) != last || n->in[1]->type.rank != 1 ||
	    !dim_is_const(cx, n->out[0]->type.dims[last], &k) || dtypes[x->type.dtype].size < 4 ||
	    size < SIZE_TRANSPOSED || size < expected_elements(cx, &x->type, OPEN_LENGTH) ||
	    dim_expected(cx, x->type.dims[last - 1], OPEN_LENGTH) < SIZE_SUMMED_AXIS)
		return;
	x = transposed(b, x);
	attr_int(b, "axis", last - 1);
	x = emit_(b, ONNX_Gather, x, n->in[1]);
	x->def->index_may_fail = n->index_may_fail;
	x->def->small_ints = n->small_ints;
	x->def->label = n->label;
	transpose_back(cx, n, x);
}

static void transpose_block(struct ctx *cx, struct block *b)
{
	for (struct walk w = {.root = b}; walk(&w, WALK_AFTER);) {
		struct build at = build_at(cx, w.at.block, w.at.before);
		struct node *n = w.at.node;
		at.span = n->span;
		if (is_onnx(n, ONNX_Pad))
			transpose_pad(&at, n);
		else if (is_onnx(n, ONNX_ReduceSum))
			transpose_sum(&at, n);
		else if (is_onnx(n, ONNX_Gather))
			transpose_gather(&at, n);
	}
}

void transpose_short_axes(struct ctx *cx, struct graph *g)
{
	transpose_block(cx, g->block);
}
