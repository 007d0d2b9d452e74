/*
 * guards.c: choices that only NaN decides. In: a graph of ONNX nodes. Out: the same without
 * Where(s >= 0, x, -inf) of an s that is never below 0, where what is computed from the choice is
 * NaN all the same if s is: as in Where(...) + Log(s). Where results need not be NaN where
 * PyTensor's are (-fno-nans), such a choice goes in any case.
 */
#include "graph/uses.h"
#include "rewrite/rewrite.h"

#define MAX_STEPS 64

struct guards {
	struct ctx *cx;
	struct uses uses;
};

/* Is all that is computed from v NaN if `source` is, or, if that is no single number, element by
 * element? */
static bool ends_in_nan(const struct guards *g, const struct value *v, const struct value *source)
{
	bool aligned = !is_single(g->cx, &source->type);

	for (int steps = 0; steps < MAX_STEPS; steps++) {
		const struct node *n = only_reader(&g->uses, v);
		if (!n || n->nout != 1 || !n->onnx || !is_float((enum dtype)n->out[0]->type.dtype))
			return false;
		bool sum = is_onnx(n, ONNX_Add) || is_onnx(n, ONNX_Sub) || is_onnx(n, ONNX_Mul) ||
			   is_onnx(n, ONNX_Div);
		bool each = sum || onnx_facts[operator_of(n)].each;
		if (!each && !is_onnx(n, ONNX_Unsqueeze) && !is_onnx(n, ONNX_Squeeze) &&
		    (aligned || onnx_lengths(n->onnx) != ONNX_REDUCED_LENGTHS))
			return false;
		if (aligned && !same_long_dims(g->cx, n->out[0]->type, source->type))
			return false;
		for (int i = 0; sum && i < 2; i++)
			if (n->in[i] != v && is_nan_if(g->cx, n->in[i], source, aligned))
				return true;
		v = n->out[0];
	}
	return false;
}

/* Does n choose x whatever is not NaN? */
static bool is_guard(const struct guards *g, const struct node *n)
{
	const struct value *s, *source, *cond = n->in[0], *test = cond;

	if (!is_onnx(n, ONNX_Where) || !same_dims(g->cx, n->in[1]->type, n->out[0]->type))
		return false;
	while (is_onnx(test->def, ONNX_Unsqueeze) || is_onnx(test->def, ONNX_Squeeze))
		test = test->def->in[0];
	s = only_false_for_nan(test);
	if (!s || !g->cx->opt.nans)
		return s != NULL;
	source = nan_source(s);
	return (is_single(g->cx, &s->type) || (same_dims(g->cx, cond->type, n->out[0]->type) &&
					       same_long_dims(g->cx, s->type, n->out[0]->type) &&
					       same_long_dims(g->cx, s->type, source->type))) &&
	       ends_in_nan(g, n->out[0], source);
}

static bool drop_in_block(struct guards *g, struct block *b)
{
	bool dropped = false;

	for (struct walk w = {.root = b}; walk(&w, WALK_BEFORE);) {
		struct node *n = w.at.node;
		if (is_guard(g, n)) {
			become(g->cx, n, ONNX_Identity, n->in[1]);
			dropped = true;
		}
	}
	return dropped;
}

bool drop_guards(struct ctx *cx, struct graph *graph)
{
	struct guards g = {.cx = cx};

	if (!has_operator(graph, ONNX_Where))
		return false;
	g.uses = find_uses(cx, graph);
	return drop_in_block(&g, graph->block);
}
