/*
 * short_axes.c: kernels that go row by row along a short last axis. In: a graph of ONNX nodes,
 * after all rewrites. Out: the same, in which such a node works on the transposed array, as a
 * Transpose that swaps the last two axes takes 0.25 ns an element. Microseconds for [64, 60, 3]:
 * Pad of the last axis 27, of the middle one 1; ReduceSum along the middle one 12, along the last
 * less than 1; a Transpose 2 to 3. Gather of 60 elements along the last axis of [64, 5] takes 10,
 * of [5, 64] along the first one 1. ONNX Runtime would merge Transposes again, so a Reshape to the
 * same shape, which moves no data, stands on either side.
 */
#include <string.h>

#include "onnx/onnx.h"
#include "ort/ort.h"
#include "rewrite/rewrite.h"

#define SHORT       8    /* elements of a last axis that is short */
#define LONG        16   /* elements along which a sum is worth a Transpose */
#define LARGE_ARRAY 2000 /* elements of an array: of fewer, more nodes take as long */
#define BLOCKS      32   /* [k, n] of floats, in which sums along k are worth it: 0.1 us each */

struct transposing {
	struct ctx *cx;
	struct block *block;
	struct node *before; /* new nodes go behind it */
};

static struct type permuted(struct ctx *cx, const struct type *t, const int64_t *perm)
{
	struct type r = *t;

	r.dims = new_array(cx->arena, dim, t->rank + 1u);
	for (uint32_t i = 0; i < t->rank; i++)
		r.dims[i] = t->dims[perm[i]];
	return r;
}

static void swap_last(int64_t *perm, uint32_t rank)
{
	for (uint32_t i = 0; i < rank; i++)
		perm[i] = i;
	perm[rank - 1] = rank - 2;
	perm[rank - 2] = rank - 1;
}

/* v with its last two axes swapped, parted from what reads it and, as other Transposes may lie
 * behind elementwise operators, from what made it */
static struct value *transposed(struct transposing *t, struct value *v, struct span span)
{
	int64_t perm[MAX_RANK];

	swap_last(perm, v->type.rank);
	t->before = insert_same_shape(t->cx, t->block, t->before, v);
	v = t->before->out[0];
	t->before = insert_node(t->cx, t->block, t->before, ONNX_Transpose, &v, 1,
				permuted(t->cx, &v->type, perm), span);
	set_ints(t->cx, t->before, "perm", perm, v->type.rank);
	t->before = insert_same_shape(t->cx, t->block, t->before, t->before->out[0]);
	return t->before->out[0];
}

/* n becomes a Transpose of x that swaps the last two axes. */
static void transpose_back(struct transposing *t, struct node *n, struct value *x)
{
	int64_t perm[MAX_RANK];

	n->onnx = onnx_find(ONNX_Transpose, t->cx->opt.opset);
	n->in = new (t->cx->arena, struct value *);
	n->in[0] = x;
	n->nin = 1;
	n->nattrs = 0;
	swap_last(perm, x->type.rank);
	set_ints(t->cx, n, "perm", perm, x->type.rank);
}

static bool has_short_rows(struct ctx *cx, const struct value *v)
{
	int64_t last, wide = dtypes[v->type.dtype].size >= 4;

	return v->type.rank > 1 && wide &&
	       dim_is_const(cx, v->type.dims[v->type.rank - 1], &last) && last > 1 &&
	       last <= SHORT && assumed_size(cx, v) >= LARGE_ARRAY;
}

/* Pad with numbers behind or before the elements of the last axis alone */
static void transpose_pad(struct transposing *t, struct node *n)
{
	struct value *x = n->in[0], *in[3] = {NULL};
	uint32_t rank = x->type.rank;
	int64_t pads[2 * MAX_RANK] = {0}, mode = n->nattrs;

	if (mode || n->nin > 3 || !has_short_rows(t->cx, x) || !n->in[1]->data ||
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
	in[0] = transposed(t, x, n->span);
	in[1] = graph_ints(t->cx, pads, 2 * rank, n->span);
	int64_t perm[MAX_RANK];
	swap_last(perm, rank);
	t->before = insert_node(t->cx, t->block, t->before, ONNX_Pad, in, n->nin,
				permuted(t->cx, &n->out[0]->type, perm), n->span);
	transpose_back(t, n, t->before->out[0]);
}

/* Do the sums along the axis before a short last one take longer than a Transpose? */
static bool sums_are_slow(struct ctx *cx, const struct value *x)
{
	uint32_t rank = x->type.rank;
	int64_t length, last, wide = dtypes[x->type.dtype].size >= 4;

	if (rank < 2 || !wide || !dim_is_const(cx, x->type.dims[rank - 1], &last) || last < 2 ||
	    last > SHORT)
		return false;
	if (!dim_is_const(cx, x->type.dims[rank - 2], &length) || length >= LONG)
		return assumed_size(cx, x) >= LARGE_ARRAY;
	return is_float((enum dtype)x->type.dtype) && length > 1 &&
	       assumed_size(cx, x) >= BLOCKS * length * last;
}

/* ReduceSum along the axis before a short last one */
static void transpose_sum(struct transposing *t, struct node *n)
{
	struct value *x = n->in[0], *in[2];
	const struct attr *keep = find_attr(n, "keepdims");
	int64_t perm[MAX_RANK], last = x->type.rank - 1;
	int axes[MAX_RANK];

	if (!keep || onnx_reduced_axes(n, axes) != 1 || axes[0] != last - 1 ||
	    !sums_are_slow(t->cx, x))
		return;
	in[0] = transposed(t, x, n->span);
	in[1] = graph_ints(t->cx, &last, 1, n->span);
	if (keep->u.i) {
		swap_last(perm, x->type.rank);
		t->before = insert_node(t->cx, t->block, t->before, ONNX_ReduceSum, in, n->nin,
					permuted(t->cx, &n->out[0]->type, perm), n->span);
		t->before->attrs = n->attrs;
		t->before->nattrs = n->nattrs;
		transpose_back(t, n, t->before->out[0]);
	} else {
		memcpy(n->in, in, n->nin * sizeof(*in));
	}
}

/* Gather of elements along the last axis copies them one by one, along the one before whole rows.
 */
static void transpose_gather(struct transposing *t, struct node *n)
{
	struct value *x = n->in[0], *in[2] = {NULL, n->in[1]};
	const struct attr *a = find_attr(n, "axis");
	int64_t last = x->type.rank - 1, axis = a ? a->u.i : 0, perm[MAX_RANK], k;

	/* of what is open along both axes, as in the library's loops, there may be little */
	if (last < 1 || (axis != last && axis != -1) || n->in[1]->type.rank != 1 ||
	    !dim_is_const(t->cx, n->out[0]->type.dims[last], &k) ||
	    dtypes[x->type.dtype].size < 4 || assumed_size(t->cx, n->out[0]) < LARGE_ARRAY ||
	    assumed_size(t->cx, n->out[0]) < assumed_size(t->cx, x) ||
	    dim_expected(t->cx, x->type.dims[last - 1], OPEN_LENGTH) < LONG)
		return;
	in[0] = transposed(t, x, n->span);
	swap_last(perm, x->type.rank);
	t->before = insert_node(t->cx, t->block, t->before, ONNX_Gather, in, 2,
				permuted(t->cx, &n->out[0]->type, perm), n->span);
	struct attr *attr = new (t->cx->arena, struct attr);
	*attr = (struct attr){.name = "axis", .kind = AT_INT, .u.i = last - 1};
	t->before->attrs = attr;
	t->before->nattrs = 1;
	t->before->exact = n->exact;
	t->before->small_ints = n->small_ints;
	t->before->label = n->label;
	transpose_back(t, n, t->before->out[0]);
}

static void transpose_block(struct ctx *cx, struct block *b)
{
	for (struct walk w = {.root = b}; walk(&w, WALK_AFTER);) {
		struct transposing t = {.cx = cx, .block = w.at.block, .before = w.at.before};
		struct node *n = w.at.node;
		if (is_onnx(n, ONNX_Pad))
			transpose_pad(&t, n);
		else if (is_onnx(n, ONNX_ReduceSum))
			transpose_sum(&t, n);
		else if (is_onnx(n, ONNX_Gather))
			transpose_gather(&t, n);
	}
}

void transpose_short_axes(struct ctx *cx, struct graph *g)
{
	transpose_block(cx, g->block);
}
