/*
 * conditions.c: ifs whose condition is computed from constants alone. While it loads a model, ONNX
 * Runtime puts the branch that is taken in the place of the if, and crashes if ifs nest (1.31, as
 * in a draw of poisson_rv with constant means). In: a graph of ONNX nodes. Out: the same, in which
 * such a condition is `condition or Size(x) < 0` of an input x: that is never true, but ONNX
 * Runtime does not know it. A graph without inputs is left as it is.
 */
#include "graph/uses.h"
#include "lower/build.h"
#include "ort/ort.h"

struct conditions {
	struct ctx *cx;
	struct graph *graph;
	struct value *never; /* Size(x) < 0; NULL: not made yet */
};

static struct value *never(struct conditions *c)
{
	struct build b = build_at(c->cx, c->graph->block, NULL);
	struct value *x = c->graph->block->params.at[0], *size;

	if (c->never)
		return c->never;
	b.span = x->span;
	size = emit_(&b, ONNX_Size, x);
	return c->never = emit_(&b, ONNX_Less, size, const_int(&b, 0));
}

static void hide_in_block(struct conditions *c, struct block *main)
{
	for (struct walk w = {.root = main}; walk(&w, WALK_AFTER);) {
		struct build b = build_at(c->cx, w.at.block, w.at.before);
		struct node *n = w.at.node;
		if (n->dead || n->as_written ||
		    !computes(n->nout ? n->out[0]->def : NULL, ONNX_If) ||
		    !from_constants(c->cx, n->in[0], NULL))
			continue;
		struct value *no = never(c);
		if (!b.after && b.block == c->graph->block)
			b.after = no->def;
		b.span = n->span;
		set_input(n, 0, emit_(&b, ONNX_Or, n->in[0], no));
	}
}

void hide_conditions(struct ctx *cx, struct graph *g)
{
	struct conditions c = {.cx = cx, .graph = g};

	if (g->block->params.len && has_operator(g, ONNX_If))
		hide_in_block(&c, g->block);
}
