/*
 * defend.c: the pass that replaces single nodes which ONNX Runtime computes wrongly. In: a graph of
 * ONNX nodes, after all rewrites. Out: a graph in which there are none: others, made with the
 * builder of lowering, compute the same (wrong_kernels.c, where.c, folding.c). What several nodes
 * make wrong is for the passes after it: fusion.c, casts.c, conditions.c.
 */
#include "graph/uses.h"
#include "lower/build.h"
#include "ort/ort.h"
#include "rewrite/rewrite.h"

static bool is_right(struct build *b, const struct node *n)
{
	return folds_correctly(b, n) && where_is_right(b->cx, n) && has_right_kernel(b->cx, n);
}

bool ort_instead(struct build *b, struct node *n, struct value **out)
{
	if (!folds_correctly(b, n))
		out[0] = unfolded(b, n);
	else if (!where_is_right(b->cx, n))
		out[0] = where_with_signs(b, n);
	else
		return !has_right_kernel(b->cx, n) && by_other_kernels(b, n, out);
	return true;
}

static bool any_wrong(struct build *b, const struct block *k)
{
	for (struct walk w = {.root = k}; walk(&w, WALK_BEFORE);)
		if (!is_right(b, w.at.node))
			return true;
	return false;
}

/* v, or an Identity of it, is read in place of old from now on. */
static void read_instead(struct build *b, struct value *old, struct value *v)
{
	if (old->name && (v->name || !v->def))
		v = identity(b, v);
	if (!v->name && v->def)
		with_dims(v, old->type.dims);
	take_place(old, v);
}

/* Adds n to the open block, or the nodes that replace it. */
static void add_node(struct build *b, struct node *n)
{
	struct value **out = new_array(b->cx->arena, struct value *, n->nout + 1u);

	b->span = n->span;
	if (!ort_instead(b, n, out)) {
		append_again(b, n);
		return;
	}
	if (n->label && out[0]->def && !out[0]->def->label)
		out[0]->def->label = n->label;
	for (uint32_t i = 0; i < n->nout; i++)
		read_instead(b, n->out[i], out[i]);
}

static void rebuild_block(struct build *b, struct block *k)
{
	struct block *outer = b->block == k ? NULL : b->block;

	if (outer)
		scope_open(b, k);
	for (struct node *nodes = take_nodes(k), *n; (n = next_taken(&nodes)) != NULL;) {
		for (uint32_t i = 0; i < n->nin; i++)
			n->in[i] = resolve(n->in[i]);
		for_bodies (inner, n)
			rebuild_block(b, inner);
		add_node(b, n);
	}
	for (uint32_t i = 0; i < k->results.len; i++)
		put_result(k, i, own_result(b, k->results.at[i]));
	if (outer)
		scope_close(b, outer);
}

bool replace_wrong_nodes(struct ctx *cx, struct graph *g)
{
	struct build b = build_at(cx, g->block, NULL);

	if (!any_wrong(&b, g->block))
		return false;
	build_reopen(&b, cx, g, &emit_rules, ort_instead);
	rebuild_block(&b, g->block);
	if (cx->errors)
		stop(cx);
	for (uint32_t i = 0; i < g->states.len; i++)
		if (g->states.at[i].next)
			g->states.at[i].next = resolve(g->states.at[i].next);
	return true;
}
