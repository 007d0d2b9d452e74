/*
 * verify.c: checks the final ONNX graph before it is emitted. In: the graph. Out: nothing, or a
 * message. A graph that breaks one of these rules shows a bug of the compiler, and bug() says so:
 *	a value is defined before it is read, in the block of its reader or in an outer block, by
 *	a node that was not dropped;
 *	a value that a node or a block defines has a dtype;
 *	a result of an inner block is defined in that block, and is no constant.
 * A node for which the target has no kernel is the error PTG0503, as a raw node of the text may be
 * one. Nodes of other domains than ONNX's are not looked up.
 */
#include "graph/uses.h"
#include "onnx/onnx.h"
#include "rewrite/rewrite.h"
#include "target/target.h"

struct verify {
	struct ctx *cx;
	uint32_t *seen; /* by value id: depth + 1 of the block that defines it */
};

static void define(struct verify *v, struct value *x, const struct block *b, const char *what)
{
	if (!x->type.dtype)
		bug("a result of %s has no type", what);
	v->seen[x->id] = b->depth + 1;
}

/* Nodes after the inner block b do not see the values that b defines. */
static void forget(struct verify *v, const struct block *b)
{
	for (uint32_t i = 0; i < b->params.len; i++)
		v->seen[b->params.at[i]->id] = 0;
	for (const struct node *n = b->first; n; n = n->next)
		for (uint32_t i = 0; i < n->nout; i++)
			v->seen[n->out[i]->id] = 0;
}

static void check_kernel(struct verify *v, struct node *n)
{
	if (n->onnx->domain[0]) /* another domain: nothing is known about its kernels */
		return;
	if (!node_has_kernel(v->cx, n))
		error(v->cx, n->span, E_UNSUPPORTED, "the target has no kernel for ONNX %s of %s",
		      n->onnx->name,
		      n->nin ? dtypes[n->in[0] ? n->in[0]->type.dtype : DT_NONE].name : "nothing");
}

static void verify_block(struct verify *v, struct block *b, bool inner)
{
	for (uint32_t i = 0; i < b->params.len; i++)
		define(v, b->params.at[i], b, "a parameter");
	for (struct node *n = b->first; n; n = n->next) {
		for (uint32_t i = 0; i < n->nin; i++)
			if (n->in[i] && !n->in[i]->data && !v->seen[n->in[i]->id])
				bug("input %u of %s is not defined before it", i, n->onnx->name);
		for (uint32_t i = 0; i < n->nin && !n->dead; i++)
			if (n->in[i] && n->in[i]->def && n->in[i]->def->dead)
				bug("input %u of %s was dropped", i, n->onnx->name);
		for_bodies (inner_block, n)
			verify_block(v, inner_block, true);
		for (uint32_t i = 0; i < n->nout; i++)
			define(v, n->out[i], b, n->onnx->name);
		check_kernel(v, n);
	}
	for (uint32_t i = 0; i < b->results.len; i++) {
		struct value *r = b->results.at[i];
		if (!r->data && !v->seen[r->id])
			bug("result %u of a block is never defined", i);
		if (r->def && r->def->dead)
			bug("result %u of a block was dropped", i);
		if (inner && (r->data || v->seen[r->id] != b->depth + 1))
			bug("result %u of an inner block comes from outside", i);
	}
	if (inner)
		forget(v, b);
}

void verify(struct ctx *cx, struct graph *g)
{
	struct verify v = {.cx = cx, .seen = new_array(cx->scratch, uint32_t, cx->next_id + 1)};

	verify_block(&v, g->block, false);
}

void verify_uses(struct ctx *cx, const struct graph *g)
{
	if (!flag_is_on(cx, FLAG_VERIFY_EACH))
		return;
	uint32_t *uses = new_array(cx->scratch, uint32_t, cx->next_id);
	for (struct use_walk w = {.root = g->block}; next_use(&w);) {
		const struct value *v = resolve(w.value);
		if (w.use.node && w.use.node->dead)
			continue;
		if (++uses[v->id] > v->uses || (!w.use.node && !v->is_result))
			bug("a value has more uses than it counts");
	}
}
