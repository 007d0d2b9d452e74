/*
 * plan.c: how the values of a graph are read, before the first is printed: by how many nodes, from
 * inside of loops, element by element or as an array. In: the graph. Out: struct held of each
 * value, as far as it says that.
 */
#include <string.h>

#include "c/ops.h"

static char reads_of(const struct c_op *op, uint32_t i)
{
	size_t n = op->reads ? strlen(op->reads) : 0;

	return !n ? '1' : op->reads[i < n ? i : n - 1];
}

/* Are there more elements of the result than of x, so that some are read several times? */
static bool stretches(struct printer *p, const struct value *x, const struct value *result)
{
	uint32_t more = result->type.rank - x->type.rank;

	if (x->type.rank > result->type.rank)
		return false;
	for (uint32_t i = 0; i < result->type.rank; i++) {
		bool one = dim_is(p->cx, result->type.dims[i], 1);
		if (i < more ? !one : !dim_eq(p->cx, x->type.dims[i - more], result->type.dims[i]))
			return true;
	}
	return false;
}

bool only_units(struct printer *p, const struct node *n)
{
	const struct type *x = &n->in[0]->type, *y = &n->out[0]->type;
	uint32_t i = 0, j = 0;

	for (;; i++, j++) {
		while (i < x->rank && dim_is(p->cx, x->dims[i], 1))
			i++;
		while (j < y->rank && dim_is(p->cx, y->dims[j], 1))
			j++;
		if (i == x->rank || j == y->rank)
			return i == x->rank && j == y->rank;
		if (!dim_eq(p->cx, x->dims[i], y->dims[j]))
			return false;
	}
}

static void read_value(struct printer *p, const struct value *v, char how, const struct block *k)
{
	struct held *h = held(p, v);

	if (how == '-' || v->data)
		return;
	if (how == 'k' && known_integers(p, v))
		return;
	h->readers++;
	h->again |= how == 'm' || how == 's';
	h->stored |= how == 's' || (how == 'k' && v->type.rank);
	h->inner |= h->home != k;
}

static void plan_node(struct printer *p, const struct node *n, const struct block *k)
{
	const struct c_op *op = op_of(p, n);

	if (n->onnx->id == ONNX_NONE || (!op->at && !op->put))
		cannot(p, n, "has no such operator");
	held(p, n->out[0])->each = op->shape == each_shape && op->reads[0] == '1' && !op->view;
	for (uint32_t i = 0; i < n->nin; i++) {
		if (!n->in[i])
			continue;
		char how = reads_of(op, i);
		if (how == '1' && op->at && stretches(p, n->in[i], n->out[0]) && !op->view)
			how = 'm';
		if (how == '1' && n->onnx->id == ONNX_Expand)
			how = 'm';
		if (i == 0 && (n->onnx->id == ONNX_Reshape || n->onnx->id == ONNX_Flatten) &&
		    !only_units(p, n))
			how = 's';
		read_value(p, n->in[i], how, k);
	}
}

/* The nodes of k were planned: now what it gives, and what it checks */
static void plan_results(struct printer *p, struct block *k)
{
	for (uint32_t i = 0; i < k->results.len; i++)
		read_value(p, k->results.at[i], '1', k);
	for (uint32_t i = 0; i < k->checks.len; i++) {
		struct check *c = &k->checks.at[i];
		c->cond = resolve(c->cond);
		if (c->cond && !c->cond->data && !held(p, c->cond)->home)
			bug("c: what a check reads is gone");
		if (c->cond && !c->cond->data)
			read_value(p, c->cond, '1', k);
	}
}

bool is_cheap(const struct printer *p, const struct value *v)
{
	const struct held *h = held(p, v);

	return v->data || h->where == NUMBER || h->where == MEMORY || h->where == SLICE ||
	       (h->where == FORMULA && op_of(p, v->def)->view);
}

void plan(struct printer *p)
{
	const struct graph *g = p->g;

	for (uint32_t i = 0; i < g->states.len; i++) {
		held(p, g->states.at[i].param)->home = g->block;
		if (g->states.at[i].next)
			read_value(p, g->states.at[i].next, '1', g->block);
	}
	for (struct walk w = {.root = g->block}; walk(&w, WALK_ENTER | WALK_BEFORE | WALK_LEAVE);) {
		const struct node *n = w.at.node;
		struct block *k = w.at.block;
		if (w.event == WALK_ENTER)
			for (uint32_t i = 0; i < k->params.len; i++)
				held(p, k->params.at[i])->home = k;
		if (w.event == WALK_LEAVE)
			plan_results(p, k);
		if (w.event != WALK_BEFORE)
			continue;
		for (uint32_t i = 0; i < n->nout; i++)
			held(p, n->out[i])->home = k;
		plan_node(p, n, k);
	}
}
