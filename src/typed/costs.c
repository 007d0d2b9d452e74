/*
 * costs.c: what calls of PyTensor's ops take, for a choice between two forms of a graph that is not
 * lowered yet. In: a call. Out: the sum of cost_of() over the nodes that its op becomes; for that
 * the body of the op is expanded, once for an op and a dtype.
 */
#include "elab/elab.h"
#include "ops/rules.h"
#include "target/target.h"
#include "typed/typed.h"

#define MAX_INPUTS 8
#define CACHED_ELEMENTS                                                                            \
	1000 /* elements of an array that the cache holds, to tell what one of them takes */

static void add_node(struct call_cost *c, enum onnx_id id, enum dtype t, bool number)
{
	double node = cost_of_any(id, t, 1);

	c->nodes++;
	c->node += node;
	c->element += number ? 0 : (cost_of_any(id, t, CACHED_ELEMENTS) - node) / CACHED_ELEMENTS;
}

/* Adds what the nodes of a block take; of loops, one step. Fns of the library do not call
 * themselves, and blocks nest as deep as they say: this may recurse. */
static void add_block(struct costs *c, struct call_cost *sum, const struct block *b)
{
	for (const struct node *n = b->first; n; n = n->next) {
		if (n->op == &op_onnx) {
			const struct type *t = n->nin && n->in[0] ? &n->in[0]->type : NULL;
			add_node(sum, n->onnx->id, t ? (enum dtype)t->dtype : DT_FLOAT64,
				 n->nout && !n->out[0]->type.rank);
		} else if (n->nout && n->op != &op_dim) {
			struct call_cost one = cost_of_call(c, n);
			sum->nodes += one.nodes;
			sum->node += one.node;
			sum->element += n->out[0]->type.rank ? one.element : 0;
		}
		for_bodies (inner, n)
			add_block(c, sum, inner);
	}
}

static void add_body(struct costs *c, struct call_cost *sum, const struct node *n)
{
	struct ctx *cx = c->cx;
	struct fn *f = op_body(cx, n->op);
	enum onnx_id id = fn_as_node(f);
	struct block *body = new (cx->scratch, struct block);
	struct value *in[MAX_INPUTS], *r;
	bool any_number = op_sig(cx, n->op)->max == UINT32_MAX; /* the body has two: a + b */
	uint32_t nin = any_number ? 2 : n->nin, times = any_number ? n->nin - 1 : 1;

	if (id == ONNX_Identity || n->nin < nin)
		return;
	if (id != ONNX_NONE) {
		while (times--)
			add_node(sum, id, sum->dtype, false);
		return;
	}
	for (uint32_t i = 0; i < nin; i++) {
		in[i] = graph_value(cx, n->in[i]->type, n->span);
		in[i]->type.dtype = (uint8_t)sum->dtype; /* lowering casts it */
	}
	if (expand_fn(cx, body, f, n->op, n->props, in, nin, &r, 1, n->span))
		while (times--)
			add_block(c, sum, body);
}

struct call_cost cost_of_call(struct costs *c, const struct node *n)
{
	const struct op *op = n->op;
	enum dtype t = (enum dtype)n->out[0]->type.dtype;
	bool expands = (op->lib || op->onnx) &&
		       (op->cast == CAST_RESULT || op->cast == CAST_REST) && is_float(t) &&
		       n->nout == 1 && n->nin <= MAX_INPUTS;
	uint32_t numbers = 0;

	for (uint32_t i = 0; i < n->nin && i < MAX_INPUTS; i++) {
		expands &= n->in[i] != NULL;
		numbers |= (uint32_t)(n->in[i] && !n->in[i]->type.rank) << i;
	}
	for (uint32_t i = 0; i < c->known.len; i++) {
		const struct call_cost *k = &c->known.at[i];
		if (k->op == op && k->dtype == t && k->nin == n->nin && k->numbers == numbers)
			return *k;
	}
	struct call_cost sum = {.op = op, .dtype = t, .nin = n->nin, .numbers = numbers};
	if (expands)
		add_body(c, &sum, n);
	else
		add_node(&sum, is_call(n, OP_Switch) ? ONNX_Where : ONNX_Add, t, false);
	if (op->shape != sh_broadcast) /* Softmax, Join: row by row */
		sum.element += cost_of_run(t);
	*vec_push(c->cx->scratch, &c->known) = sum;
	return sum;
}
