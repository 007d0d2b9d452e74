/*
 * conditions.c: ifs whose condition is computed from constants alone. While it loads a model, ONNX
 * Runtime puts the branch that is taken in the place of the if, and crashes if ifs nest (1.31, as
 * in a draw of poisson_rv with constant means). In: a graph of ONNX nodes. Out: the same, in which
 * such a condition is `condition or Size(x) < 0` of an input x: that is never true, but ONNX
 * Runtime does not know it. A graph without inputs is left as it is.
 */
#include "lower/build.h"
#include "onnx/onnx.h"
#include "ort/ort.h"
#include "rewrite/rewrite.h"

struct conditions {
	struct build *b;
	struct graph *graph;
	struct value *never; /* Size(x) < 0; NULL: not made yet */
};

static struct value *never(struct conditions *c)
{
	struct ctx *cx = c->b->cx;
	struct block *k = c->graph->block;
	struct type count = type_of(DT_INT64, 0, NULL), flag = type_of(DT_BOOL, 0, NULL);
	struct value *x = k->params.at[0];

	if (c->never)
		return c->never;
	struct node *size = insert_node(cx, k, NULL, ONNX_Size, &x, 1, count, x->span);
	struct value *in[2] = {size->out[0], graph_number(cx, DT_INT64, 0, x->span)};
	return c->never = insert_node(cx, k, size, ONNX_Less, in, 2, flag, x->span)->out[0];
}

static void hide_in_block(struct conditions *c, struct block *main)
{
	bool open;

	for (struct walk w = {.root = main}; walk(&w, WALK_AFTER);) {
		struct block *k = w.at.block;
		struct node *n = w.at.node, *before = w.at.before;
		if (n->dead || n->as_written ||
		    !computes(n->nout ? n->out[0]->def : NULL, ONNX_If) ||
		    !from_constants(c->b, n->in[0], &open))
			continue;
		struct value *in[2] = {n->in[0], never(c)};
		struct type t = n->in[0]->type;
		struct node *after = before || k != c->graph->block ? before : in[1]->def;
		n->in[0] = insert_node(c->b->cx, k, after, ONNX_Or, in, 2, t, n->span)->out[0];
	}
}

void hide_conditions(struct ctx *cx, struct graph *g)
{
	struct build b = {.cx = cx};
	struct conditions c = {&b, g, NULL};

	if (g->block->params.len && has_operator(g, ONNX_If))
		hide_in_block(&c, g->block);
}
