/*
 * layout_loops.c: loops over many short arrays at once, as those of a model at 64 points are, whose
 * state is [points, 2]. ONNX Runtime's kernels go row by row along short last axes: an Exp(x -
 * Max(x)) of [2, 2, 64] along axis 0 takes less time than of [64, 2, 2] along axis 1. In: a graph
 * of ONNX nodes, after all rewrites. Out: the same, in which bodies of such Scans have axis 0 of
 * each array behind all others (a batch-last array). Transposes before and after the loop transpose
 * what goes in and out.
 */
#include "graph/uses.h"
#include "onnx/onnx.h"
#include "ort/ort.h"
#include "ort/batch_last.h"
#include "rewrite/rewrite.h"

enum reads { READ_NOT, READ_BY_SUMS, READ };

/* ---- can the body be batch-last? ---- */

static bool is_short(struct layouts *l, const struct type *t)
{
	int64_t n = 1, k = 1;

	if (t->rank < 2 || !dim_eq(l->cx, t->dims[0], l->points))
		return false;
	for (uint32_t i = 1; i < t->rank && n <= SIZE_BATCH_ROW; i++)
		n = dim_is_const(l->cx, t->dims[i], &k) && k <= SIZE_BATCH_ROW ? n * k
									       : SIZE_BATCH_ROW + 1;
	return n > 1 && n <= SIZE_BATCH_ROW && k <= SIZE_SHORT_AXIS;
}

/* Does n go row by row along short axes? */
static bool is_slow(struct layouts *l, const struct node *n)
{
	bool reduces = onnx_lengths(n->onnx) == ONNX_REDUCED_LENGTHS;

	if (reduces)
		return is_short(l, &n->in[0]->type);
	if (onnx_lengths(n->onnx) != ONNX_BROADCAST_LENGTHS || !is_short(l, &n->out[0]->type))
		return false;
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && !is_single(l->cx, &n->in[i]->type) &&
		    !same_dims(l->cx, n->in[i]->type, n->out[0]->type))
			return true;
	return false;
}

/* The axis of the states that the body spares: the first of a state with short rows */
static bool find_point_axis(struct layouts *l, uint32_t states)
{
	for (uint32_t i = 0; i < states; i++) {
		struct type t = l->body.block->params.at[i]->type;
		if (!t.rank)
			continue;
		l->points = t.dims[0];
		if (is_short(l, &t))
			return dim_expected(l->cx, l->points, SIZE_BATCH) >= SIZE_BATCH;
	}
	return false;
}

/* Says for each value of the body whether it is batch-last. */
static bool find_layouts(struct layouts *l, uint32_t states)
{
	struct block *body = l->body.block;

	for (uint32_t i = 0; i < body->params.len; i++) {
		struct value *v = body->params.at[i];
		bool has = v->type.rank && dim_eq(l->cx, v->type.dims[0], l->points);
		set_layout(l, v, has ? BATCH_LAST : AS_WRITTEN);
	}
	for (struct node *n = body->first; n; n = n->next) {
		bool any = onnx_has_blocks(n->onnx);
		if (any)
			return false;
		for (uint32_t i = 0; i < n->nin; i++)
			any |= is_batch_last(l, n->in[i]);
		if (any && !can_be_batch_last(l, n))
			return false;
		for (uint32_t i = 0; i < n->nout; i++)
			set_layout(l, n->out[i], any ? BATCH_LAST : AS_WRITTEN);
		l->pays |= any && is_slow(l, n);
	}
	for (uint32_t i = 0; i < body->results.len; i++) {
		bool param = i < states && is_batch_last(l, body->params.at[i]);
		if (i < states && param != is_batch_last(l, body->results.at[i]))
			return false;
	}
	return l->pays;
}

static bool is_such_scan(struct layouts *l, const struct node *n, uint32_t *states)
{
	const struct attr *body = find_attr(n, "body"), *count = find_attr(n, "num_scan_inputs");
	int64_t steps;

	if (!is_onnx(n, ONNX_Scan) || n->nattrs != 2 || !body || !count)
		return false;
	l->body = build_at(l->cx, body->u.block, NULL);
	l->pays = false;
	*states = n->nin - (uint32_t)count->u.i;
	const struct type *t = &n->in[*states]->type;
	return !l->body.block->checks.len &&
	       !(dim_is_const(l->cx, t->dims[0], &steps) && steps < SIZE_BATCH_STEPS) &&
	       find_point_axis(l, *states) && find_layouts(l, *states);
}

/* ---- then change the layout ---- */

/* What the Scan gives is batch-last now: a Transpose behind it gives the result. ONNX Runtime would
 * move that to where it takes longer, but for sums, which take less before it: a Reshape stops it.
 */
static void relayout_result(struct layouts *l, struct node *scan, struct build *behind, uint32_t i,
			    uint32_t from)
{
	struct value *old = scan->out[i];

	if (old->type.rank < from + 2u || !l->read[old->id])
		return;
	struct value *v = part_result(l->cx, scan, i);
	v->type = batch_last_type(l->cx, old->type, from);
	v = transpose_batch(behind, v, from, true);
	if (from && l->read[old->id] == READ)
		barrier(behind, v);
	take_over(behind, old);
}

/* Gives the last node that is new. */
static struct node *relayout_scan(struct layouts *l, struct node *scan, uint32_t states)
{
	struct block *body = l->body.block;
	struct build behind = build_at(l->cx, l->outer.block, scan);

	for (uint32_t i = 0; i < body->params.len; i++) {
		struct value *v = body->params.at[i];
		if (!is_batch_last(l, v))
			continue;
		uint32_t from = i >= states;
		v->type = batch_last_type(l->cx, v->type, 0);
		if (v->type.rank > 1)
			set_input(scan, i, transpose_batch(&l->outer, scan->in[i], from, false));
	}
	for (struct node *n = body->first; n; l->body.after = n, n = n->next) {
		bool any = false;
		for (uint32_t i = 0; i < n->nin; i++)
			any |= is_batch_last(l, n->in[i]);
		if (any)
			make_batch_last(l, n);
	}
	for (uint32_t i = 0; i < body->results.len; i++)
		if (is_batch_last(l, body->results.at[i]))
			relayout_result(l, scan, &behind, i, i >= states);
	return behind.after;
}

static void find_reads(struct layouts *l, const struct graph *g)
{
	for (struct use_walk w = {.root = g->block, .graph = g}; next_use(&w);) {
		const struct node *n = w.use.node;
		uint8_t *read = &l->read[w.value->id];
		bool sums = n && onnx_lengths(n->onnx) == ONNX_REDUCED_LENGTHS;
		*read = sums && *read != READ ? READ_BY_SUMS : READ;
	}
}

static void relayout_block(struct layouts *l, struct block *main)
{
	uint32_t states;

	for (struct walk w = {.root = main}; walk(&w, WALK_AFTER);) {
		struct node *n = w.at.node;
		if (!is_such_scan(l, n, &states))
			continue;
		l->outer = build_at(l->cx, w.at.block, w.at.before);
		w.at.node = relayout_scan(l, n, states);
	}
}

void layout_loops(struct ctx *cx, struct graph *g)
{
	struct layouts l = {.cx = cx, .n = cx->next_id};

	if (!has_operator(g, ONNX_Scan))
		return;
	l.read = new_array(cx->scratch, uint8_t, l.n);
	l.layout = new_array(cx->scratch, uint8_t, l.n);
	l.copy = new_array(cx->scratch, struct copy, l.n);
	find_reads(&l, g);
	relayout_block(&l, g->block);
}
