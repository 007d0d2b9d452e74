/*
 * columns.c: numbers beside columns. ONNX Runtime's elementwise kernels go run by run (see
 * stretch.c), and to them each element of a [64, 1] beside a number of rank 0 or 1 is a run, where
 * with the number as [1, 1] all elements are one. In: a graph of ONNX nodes, after all rewrites.
 * Out: the same, in which constant numbers beside such columns have their rank.
 */
#include "graph/uses.h"
#include "onnx/onnx.h"
#include "ort/ort.h"
#include "rewrite/rewrite.h"

struct columns {
	struct ctx *cx;
	struct value **of; /* by value id: the number of a higher rank that was made of it last */
	uint32_t n;        /* ids that there were at first */
};

/* Is its last axis of length 1, and may it have some elements? */
static bool is_column(struct ctx *cx, const struct type *t)
{
	int64_t k, size = 1;

	if (t->rank < 2 || !dim_is(cx, t->dims[t->rank - 1], 1))
		return false;
	for (uint32_t i = 0; i < t->rank && size && size < SIZE_COLUMN; i++)
		size *= !dim_is_const(cx, t->dims[i], &k) || k > SIZE_COLUMN ? SIZE_COLUMN : k;
	return size >= SIZE_COLUMN;
}

static bool is_constant_number(const struct value *v)
{
	return is_constant(v) && v->data->count == 1;
}

static struct value *with_rank(struct columns *c, struct value *v, uint32_t rank)
{
	int64_t ones[MAX_RANK];

	if (v->id < c->n && c->of[v->id] && c->of[v->id]->type.rank == rank)
		return c->of[v->id];
	for (uint32_t i = 0; i < rank; i++)
		ones[i] = 1;
	struct tensor *t = tensor_new(c->cx, (enum dtype)v->type.dtype, (int)rank, ones);
	t->data = v->data->data;
	struct value *r = graph_constant(c->cx, t, v->span);
	if (v->id < c->n)
		c->of[v->id] = r;
	return r;
}

static void visit_block(struct columns *c, struct block *b)
{
	for (struct walk w = {.root = b}; walk(&w, WALK_AFTER);) {
		struct node *n = w.at.node;
		/* Where keeps the signs of zeros in some shapes only */
		bool signs =
			is_onnx(n, ONNX_Where) && n->zero_sign_counts && c->cx->opt.signed_zeros;
		if (n->as_written || n->nout != 1 || signs ||
		    onnx_lengths(n->onnx) != ONNX_BROADCAST_LENGTHS ||
		    !is_column(c->cx, &n->out[0]->type))
			continue;
		for (uint32_t i = 0; i < n->nin; i++)
			if (is_constant_number(n->in[i]) &&
			    n->in[i]->type.rank < n->out[0]->type.rank)
				set_input(n, i, with_rank(c, n->in[i], n->out[0]->type.rank));
	}
}

/* Can the graph have columns? They are inputs, or results of an operator on more than elements. */
static bool may_have_columns(struct ctx *cx, const struct graph *g)
{
	for (uint32_t i = 0; i < g->block->params.len; i++)
		if (is_column(cx, &g->block->params.at[i]->type))
			return true;
	for (int id = ONNX_NONE; id < ONNX_COUNT; id++)
		if (!onnx_facts[id].each && has_operator(g, (enum onnx_id)id))
			return true;
	return false;
}

void number_columns(struct ctx *cx, struct graph *g)
{
	struct columns c = {.cx = cx, .n = cx->next_id};

	if (!may_have_columns(cx, g))
		return;
	c.of = new_array(cx->scratch, struct value *, c.n);
	visit_block(&c, g->block);
}
