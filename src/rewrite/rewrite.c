/*
 * rewrite.c: rewrites of the ONNX graph. In: the lowered graph. Out: the same function with fewer
 * nodes; types, places and the names of outputs stay. One row a rewrite; each can be switched by
 * -f[no-]name (base/flags.def). A rewrite of a node (node_*.c) gives the value that stands for its
 * result, or changes the node in place. Values that were replaced point to their replacement by
 * `forward`.
 */
#include <string.h>

#include "ops/ops.h"
#include "rewrite/nodes.h"

static const struct rewrite {
	enum flag flag;
	enum onnx_id op;
	struct value *(*apply)(struct ctx *cx, struct node *n);
} rewrites[] = {
	{FLAG_IDENTITY, ONNX_Identity, drop_identity},
	{FLAG_IDENTITY, ONNX_Slice, drop_slice},
	{FLAG_IDENTITY, ONNX_And, drop_repeated},
	{FLAG_IDENTITY, ONNX_Or, drop_repeated},
	{FLAG_CAST, ONNX_Cast, merge_casts},
	{FLAG_TRANSPOSE, ONNX_Transpose, merge_transposes},
	{FLAG_TRANSPOSE, ONNX_Transpose, concat_in_place},
	{FLAG_TRANSPOSE, ONNX_Transpose, transpose_factors},
	{FLAG_CONCAT, ONNX_Concat, merge_concats},
	{FLAG_RESHAPE, ONNX_Reshape, merge_reshapes},
	{FLAG_SQUEEZE, ONNX_Squeeze, undo_axes},
	{FLAG_SQUEEZE, ONNX_Unsqueeze, undo_axes},
	{FLAG_KEEPDIMS, ONNX_Unsqueeze, keep_axes},
	{FLAG_KEEPDIMS, ONNX_Reshape, keep_axes},
	{FLAG_EXPAND, ONNX_Expand, drop_expand},
	{FLAG_EXPAND, ONNX_Slice, slice_before_expand},
	{FLAG_GEMM, ONNX_Add, make_gemm},
	{FLAG_ZERO, ONNX_Add, drop_zero},
	{FLAG_ZERO, ONNX_Sub, drop_zero},
	{FLAG_ZERO, ONNX_Add, join_choices},
	{FLAG_NEGATIVE, ONNX_Add, drop_negative},
	{FLAG_NEGATIVE, ONNX_Sub, drop_negative},
	{FLAG_RECIPROCAL, ONNX_Div, make_reciprocal},
	{FLAG_FINITE, ONNX_Not, make_finite},
	{FLAG_LOG, ONNX_Equal, compare_before_log},
	{FLAG_RELU, ONNX_Max, make_relu},
	{FLAG_SUM_OF_EXP, ONNX_Exp, divide_by_sum},
	{FLAG_SPLIT, ONNX_Split, split_concat},
	{FLAG_SPLIT, ONNX_Split, cut_before_padding},
};

/* ---- the walk ---- */

/* The node of v gives `result`, a result of the outermost block, from now on; what read v reads
 * that. */
static void give_result(struct value *v, struct value *result)
{
	for (uint32_t i = 0; i < v->def->nout; i++)
		if (v->def->out[i] == v)
			v->def->out[i] = result;
	result->def = v->def;
	result->sign = v->sign;
	result->is_result = true;
	if (!result->known)
		result->known = v->known;
	replace_all_uses(v, result);
}

/* Replaces result 0 of n by v. A result of a block keeps its name and place: v's node makes it, or
 * an Identity. */
static bool replace(struct ctx *cx, struct node *n, struct value *v)
{
	struct value *out = n->out[0];

	if (v == out)
		return false;
	if (out->is_result && (out->is_inner_result || v->is_result || !v->def || v->def->dead)) {
		become(cx, n, ONNX_Identity, v);
		return false;
	}
	if (out->is_result) {
		give_result(v, out);
	} else {
		replace_all_uses(out, v);
		if (!v->name && v->def)
			v->name = out->name;
	}
	drop_node(n);
	return true;
}

/* n as it is now, to be compared with what a rewrite makes of it */
static struct node remembered(struct ctx *cx, const struct node *n)
{
	struct node was = *n;

	was.in = new_array(cx->scratch, struct value *, n->nin + 1u);
	memcpy(was.in, n->in, n->nin * sizeof(*n->in));
	return was;
}

static bool is_as_it_was(const struct node *n, const struct node *was)
{
	return n->onnx == was->onnx && n->attrs == was->attrs && n->nin == was->nin &&
	       !memcmp(n->in, was->in, n->nin * sizeof(*n->in));
}

/* true: n is gone. What a rewrite does is counted only if --print-after is to tell it. */
static bool apply(struct ctx *cx, const struct rewrite *r, struct node *n)
{
	struct node was = cx->rewritten ? remembered(cx, n) : *n;
	struct value *v = r->apply(cx, n);
	bool gone = v && replace(cx, n, v);

	if (cx->rewritten && (gone || !is_as_it_was(n, &was)))
		cx->rewritten[r->flag]++;
	return gone;
}

static void rewrite_node(struct ctx *cx, struct node *n)
{
	for (size_t i = 0; i < countof(rewrites) && !n->dead; i++)
		if (flag_is_on(cx, rewrites[i].flag) && is_onnx(n, rewrites[i].op) &&
		    apply(cx, &rewrites[i], n))
			return;
}

static void rewrite_block(struct ctx *cx, struct block *b)
{
	for (struct walk w = {.root = b}; walk(&w, WALK_BEFORE | WALK_AFTER);) {
		struct node *n = w.at.node;
		for (uint32_t i = 0; w.event == WALK_BEFORE && i < n->nin; i++)
			n->in[i] = resolve(n->in[i]);
		if (w.event == WALK_AFTER)
			rewrite_node(cx, n);
	}
}

/* ---- what is read ---- */

static bool has_uses(const struct node *n)
{
	for (uint32_t i = 0; i < n->nout; i++)
		if (n->out[i]->uses)
			return true;
	return false;
}

/* Begins all counts of b at 0, and turns its list of nodes round: the last one is the first. */
static void turn_round(struct block *b)
{
	struct node *before = NULL, *next;

	for (struct node *n = b->first; n; n = next) {
		for (uint32_t i = 0; i < n->nin && !n->dead; i++) {
			n->in[i] = resolve(n->in[i]);
			if (n->in[i])
				clear_uses(n->in[i]);
		}
		for (uint32_t i = 0; i < n->nout; i++)
			clear_uses(n->out[i]);
		if (!n->dead)
			for_bodies (inner, n)
				turn_round(inner);
		next = n->next;
		n->next = before;
		before = n;
	}
	b->first = before;
	for (uint32_t i = 0; i < b->results.len; i++)
		clear_uses(b->results.at[i]);
	for (uint32_t i = 0; i < b->params.len; i++) /* nothing may read them any more */
		clear_uses(b->params.at[i]);
}

/* Counts what b's results need, from the last node to the first, and drops nodes that nobody reads.
 * All readers of a value come after its node, so that its count is complete there. */
static void keep_needed(struct ctx *cx, struct graph *g, struct block *b)
{
	struct node *n = b->first, *next = NULL, *before;

	for (uint32_t i = 0; i < b->results.len; i++) {
		b->results.at[i]->uses++;
		b->results.at[i]->is_result = true;
		b->results.at[i]->is_inner_result |= b->depth > 0;
	}
	b->last = NULL;
	b->nnodes = 0;
	for (; n; n = before) {
		before = n->next;
		if (n->dead || (!has_uses(n) && flag_is_on(cx, FLAG_DEAD))) {
			n->dead = true;
			continue;
		}
		for (uint32_t i = 0; i < n->nin; i++) {
			if (!n->in[i])
				continue;
			n->in[i]->uses++;
			g->has_splats |= n->in[i]->data && n->in[i]->data->splat;
		}
		for_bodies (inner, n)
			keep_needed(cx, g, inner);
		g->operators[n->onnx->id / 64] |= UINT64_C(1) << n->onnx->id % 64;
		n->next = next;
		next = n;
		if (!b->last)
			b->last = n;
		b->nnodes++;
	}
	b->first = next;
}

void drop_unread(struct ctx *cx, struct graph *g)
{
	turn_round(g->block);
	for (uint32_t i = 0; i < g->kept.len; i++) { /* what checks will read counts as read */
		g->kept.at[i] = resolve(g->kept.at[i]);
		g->kept.at[i]->uses++;
	}
	memset(g->operators, 0, sizeof(g->operators));
	g->has_splats = false;
	keep_needed(cx, g, g->block);
}

void rewrite_nodes(struct ctx *cx, struct graph *g)
{
	cx->rewritten = cx->notes ? new_array(cx->scratch, uint32_t, FLAG_COUNT) : NULL;
	rewrite_block(cx, g->block);
	for (size_t i = 0; cx->rewritten && i < FLAG_COUNT; i++)
		if (cx->rewritten[i])
			print_note(cx, "%s %u", flag_infos[i].name, cx->rewritten[i]);
	cx->rewritten = NULL;
}
