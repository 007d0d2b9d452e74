/*
 * graph.c: ops that PyTensor writes as graphs of others, on complex numbers: XLogY,
 * XLog1PY, LogAddExp, LogSumExp, Softmax, LogSoftmax. In: a typed node with a complex argument.
 * Out: what its graph gives, node by node as PyTensor builds it, with the dtypes that it has there:
 * which turn of a logarithm comes out depends on it. Other ops that get here have their graph in
 * lib/.
 */
#include "lower/build.h"

struct graph_of {
	struct build *b;
	struct block *body;
};

static struct value *made(struct graph_of *g, enum op_id id, struct cv *props, struct value **in,
			  uint32_t nin)
{
	return graph_node(g->b->cx, g->body, &op_table[id], props, in, nin, g->b->span)->out[0];
}

static struct value *unary(struct graph_of *g, enum op_id id, struct value *x)
{
	return made(g, id, NULL, &x, 1);
}

static struct value *binary(struct graph_of *g, enum op_id id, struct value *x, struct value *y)
{
	return made(g, id, NULL, (struct value *[]){x, y}, 2);
}

/* c ? 0 : x */
static struct value *zero_where(struct graph_of *g, struct value *c, struct value *x)
{
	struct tensor *zero = tensor_new(g->b->cx, DT_INT8, 0, NULL);

	zero->data = "";
	struct value *in[] = {c, graph_constant(g->b->cx, zero, g->b->span), x};
	return made(g, OP_Switch, NULL, in, 3);
}

/* The property of axes that n has; NULL: reported */
static struct cv *axes_of(struct graph_of *g, struct node *n, enum op_id id, bool initial)
{
	struct ctx *cx = g->b->cx;
	int axes[MAX_RANK], k = prop_axes(cx, n, "axes", n->in[0]->type.rank, axes, true);
	struct cv *items = new_array(cx->arena, struct cv, MAX_RANK);
	struct prop_arg args[2] = {
		{.name = intern_str(cx, "axes"), .span = n->span},
		{.name = intern_str(cx, "initial"), .span = n->span},
	};

	if (k < 0)
		return NULL;
	for (int i = 0; i < k; i++)
		items[i] = (struct cv){.kind = CV_INT, .u.i = (uint64_t)axes[i], .span = n->span};
	args[0].value =
		(struct cv){.kind = CV_LIST, .n = (uint32_t)k, .u.items = items, .span = n->span};
	args[1].value = (struct cv){.kind = CV_BOOL, .u.b = true, .span = n->span};
	return bind_props(cx, &op_table[id], n->span, args, initial ? 2 : 1);
}

/* x reduced over the axes that n has, which stay; NULL: reported */
static struct value *reduced(struct graph_of *g, struct node *n, enum op_id id, struct value *x,
			     bool initial)
{
	struct cv *axes = axes_of(g, n, id, initial);
	struct cv *back = axes ? axes_of(g, n, OP_ExpandDims, false) : NULL;

	if (!back)
		return NULL;
	x = made(g, id, axes, &x, 1);
	return made(g, OP_ExpandDims, back, &x, 1);
}

static struct value *xlogy(struct graph_of *g, struct node *n)
{
	enum op_id log = n->op == &op_table[OP_XLogY] ? OP_Log : OP_Log1p;
	struct tensor *zero = tensor_new(g->b->cx, DT_INT8, 0, NULL);

	zero->data = "";
	struct value *none = binary(g, OP_Eq, n->in[0], graph_constant(g->b->cx, zero, g->b->span));
	return zero_where(g, none, binary(g, OP_Mul, n->in[0], unary(g, log, n->in[1])));
}

static struct value *logaddexp(struct graph_of *g, struct node *n)
{
	struct value **in = new_array(g->b->cx->arena, struct value *, n->nin), *max = n->in[0];

	for (uint32_t i = 1; i < n->nin; i++)
		max = binary(g, OP_Maximum, max, n->in[i]);
	max = zero_where(g, unary(g, OP_Isinf, max), max);
	for (uint32_t i = 0; i < n->nin; i++)
		in[i] = unary(g, OP_Exp, binary(g, OP_Sub, n->in[i], max));
	struct value *sum = n->nin > 1 ? made(g, OP_Add, NULL, in, n->nin) : in[0];
	return binary(g, OP_Add, unary(g, OP_Log, sum), max);
}

static struct value *logsumexp(struct graph_of *g, struct node *n)
{
	struct value *x = n->in[0], *max = reduced(g, n, OP_Max, x, true);

	if (!max)
		return NULL;
	max = zero_where(g, unary(g, OP_Isinf, max), max);
	x = unary(g, OP_Exp, binary(g, OP_Sub, x, max));
	x = binary(g, OP_Add, unary(g, OP_Log, reduced(g, n, OP_Sum, x, false)), max);
	if (prop_bool(g->b->cx, n, "keepdims"))
		return x;
	return made(g, OP_Squeeze, axes_of(g, n, OP_Squeeze, false), &x, 1);
}

static struct value *softmax(struct graph_of *g, struct node *n)
{
	struct value *max = reduced(g, n, OP_Max, n->in[0], false);

	if (!max)
		return NULL;
	struct value *x = binary(g, OP_Sub, n->in[0], max), *e = unary(g, OP_Exp, x);
	struct value *sum = reduced(g, n, OP_Sum, e, false);
	return n->op == &op_table[OP_Softmax] ? binary(g, OP_True_div, e, sum)
					      : binary(g, OP_Sub, x, unary(g, OP_Log, sum));
}

bool lower_complex_graph(struct build *b, struct node *n)
{
	static const struct {
		enum op_id op;
		struct value *(*make)(struct graph_of *g, struct node *n);
	} graphs[] = {
		{OP_XLogY, xlogy},         {OP_XLog1PY, xlogy},   {OP_LogAddExp, logaddexp},
		{OP_LogSumExp, logsumexp}, {OP_Softmax, softmax}, {OP_LogSoftmax, softmax},
	};
	struct graph_of g = {.b = b};
	struct value *r = NULL;
	uint32_t before = b->cx->errors;

	for (size_t i = 0; i < countof(graphs); i++) {
		if (n->op != &op_table[graphs[i].op])
			continue;
		g.body = block_new(b);
		r = graphs[i].make(&g, n);
		if (!r || b->cx->errors > before)
			return !(b->cse->shared->failed = true);
		if (!lower_inlined(b, g.body, &r, 1, b->span, &r))
			return false;
	}
	if (!r && !call_fn(b, lib_fn(b->cx, n->op->lib), n->op, n->props, n->in, n->nin, &r, 1))
		return false;
	lowered(b, n, 0, with_dims(r, low_type(b, n->out[0]->type).dims));
	return true;
}
