/*
 * branches.c: choices that one bool decides. A Where takes ONNX Runtime as long as three or four
 * additions, and all that leads to both of its values is computed; an If takes as long as a Where,
 * whatever it chooses, and computes one side. In: a graph of ONNX nodes, after all else. Out: the
 * same, where several Wheres of one bool are an If with that many results, and what only they need
 * is in its branches. That bool is one number: the points of a batch have their own.
 */
#include <string.h>

#include "graph/uses.h"
#include "lower/build.h"
#include "ort/ort.h"
#include "rewrite/rewrite.h"
#include "target/target.h"

#define MAX_IFS    32        /* each looks at all nodes */
#define MAX_INPUTS 8         /* of a node that goes into a branch */
#define MAX_FILLED (1 << 12) /* elements of a constant that a number becomes */

struct choice { /* what there is to say about a node */
	struct node *n;
	bool chosen;  /* a Where that becomes a result of the If */
	bool depends; /* on a result of it */
	int8_t side;  /* the branch that it goes to; -1: none */
};
struct branches {
	struct ctx *cx;
	struct block *block;
	struct choice *all; /* nodes in their order */
	uint32_t n, last;   /* how many; place of the last Where that was chosen */
	uint32_t *reads;    /* by value id: how often it is read */
	uint32_t *inside;   /* how often by a branch */
	bool *depends;      /* by value id */
	bool *own;          /* by value id: may it be a result of the branch that is being made? */
};

static bool reads_dependent(const struct branches *x, const struct node *n)
{
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && x->depends[n->in[i]->id])
			return true;
	return false;
}

/* Results of a body are values of its nodes: these are all that is to be looked at. */
static bool depends(const struct branches *x, const struct node *n)
{
	if (reads_dependent(x, n))
		return true;
	for_bodies (k, n)
		for (struct walk w = {.root = k}; walk(&w, WALK_BEFORE);)
			if (reads_dependent(x, w.at.node))
				return true;
	return false;
}

/* Can v be one side of a choice that gives a value of type t? */
static bool can_be_branch(struct branches *x, const struct value *v, const struct type *t)
{
	int64_t k, size = 1;

	if (same_dims(x->cx, v->type, *t))
		return true;
	if (!v->data || !v->data->data || v->data->count != 1)
		return false;
	for (uint32_t i = 0; i < t->rank && size <= MAX_FILLED; i++)
		size = dim_is_const(x->cx, t->dims[i], &k) && k <= MAX_FILLED ? size * k
									      : MAX_FILLED + 1;
	return size <= MAX_FILLED;
}

static bool is_choice(struct branches *x, const struct node *n)
{
	return is_onnx(n, ONNX_Where) && !n->in[0]->data && is_single(x->cx, &n->in[0]->type) &&
	       can_be_branch(x, n->in[1], &n->out[0]->type) &&
	       can_be_branch(x, n->in[2], &n->out[0]->type);
}

/* Is n elementwise, of floats or bools, on operands that broadcast whatever the lengths? Then it
 * cannot fail, and runs in a branch as it does outside. */
static bool can_be_inside(struct branches *x, const struct node *n)
{
	const struct type *t = &n->out[0]->type;

	if (!onnx_facts[operator_of(n)].each || n->nout != 1 || n->label || n->nin > MAX_INPUTS ||
	    !(is_float((enum dtype)t->dtype) || t->dtype == DT_BOOL))
		return false;
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && !broadcasts_to(x->cx, &n->in[i]->type, t))
			return false;
	return true;
}

/* Chooses Wheres of cond of which none depends on another; how many */
static uint32_t choose(struct branches *x, const struct value *cond)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < x->n; i++) {
		struct choice *c = &x->all[i];
		*c = (struct choice){.n = c->n, .side = -1};
		c->depends = depends(x, c->n);
		c->chosen = c->n->in && c->n->nin && c->n->in[0] == cond && !c->depends &&
			    is_choice(x, c->n);
		count += c->chosen;
		x->last = c->chosen ? i : x->last;
		for (uint32_t k = 0; k < c->n->nout; k++)
			x->depends[c->n->out[k]->id] = c->depends || c->chosen;
	}
	return count;
}

/* Marks the nodes that only the chosen Wheres need on this side; how many */
static uint32_t fill(struct branches *x, int side)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i <= x->last; i++)
		for (uint32_t k = 0; k < x->all[i].n->nin; k++)
			if (x->all[i].n->in[k])
				x->inside[x->all[i].n->in[k]->id] = 0;
	for (uint32_t i = x->last + 1; i-- > 0;) {
		struct choice *c = &x->all[i];
		uint32_t id = c->n->nout ? c->n->out[0]->id : 0;
		if (c->chosen) {
			x->inside[c->n->in[1 + side]->id]++;
			continue;
		}
		if (!c->n->nout || !x->inside[id] || x->inside[id] != x->reads[id] ||
		    !can_be_inside(x, c->n))
			continue;
		c->side = (int8_t)side;
		count++;
		for (uint32_t k = 0; k < c->n->nin; k++)
			if (c->n->in[k])
				x->inside[c->n->in[k]->id]++;
	}
	return count;
}

/* k, one number, as a constant of this type */
static struct value *filled(struct branches *x, struct value *k, const struct type *t)
{
	int64_t shape[MAX_RANK];

	if (same_dims(x->cx, k->type, *t))
		return k;
	for (uint32_t i = 0; i < t->rank; i++)
		dim_is_const(x->cx, t->dims[i], &shape[i]);
	struct tensor *r = tensor_new(x->cx, (enum dtype)t->dtype, t->rank, shape);
	size_t size = dtypes[t->dtype].size;
	char *data = arena_alloc(x->cx->arena, (size_t)r->count * size + 1);
	for (uint64_t i = 0; i < r->count; i++)
		memcpy(data + i * size, k->data->data, size);
	r->data = data;
	return graph_constant(x->cx, r, k->span);
}

static struct block *branch(struct branches *x, int side)
{
	struct block *k = new (x->cx->arena, struct block);

	k->outer = x->block;
	k->depth = x->block->depth + 1;
	for (uint32_t i = 0; i < x->last; i++)
		if (x->all[i].side == side) {
			graph_append(k, x->all[i].n);
			x->own[x->all[i].n->out[0]->id] = true;
		}
	for (uint32_t i = 0; i <= x->last; i++) {
		if (!x->all[i].chosen)
			continue;
		const struct node *n = x->all[i].n;
		struct value *v = n->in[1 + side];
		if (!x->own[v->id]) {
			v = v->data ? filled(x, v, &n->out[0]->type) : v;
			struct build b = build_at(x->cx, k, k->last);
			b.span = n->span;
			v = identity(&b, v);
			v->type = n->out[0]->type;
		}
		x->own[v->id] = false; /* a block has no value twice among its results */
		add_result(x->cx, k, k->results.len, v);
	}
	return k;
}

static void make_if(struct branches *x, struct value *cond, uint32_t count)
{
	struct block *k = x->block;
	struct build b = build_at(x->cx, k, NULL);
	struct node *n;
	uint32_t nout = 0;

	for (struct node *nodes = take_nodes(k); next_taken(&nodes);)
		; /* x->all has them */
	attr_block(&b, "then_branch", branch(x, 0));
	attr_block(&b, "else_branch", branch(x, 1));
	n = onnx_node(&b, ONNX_If, &cond, 1, count);
	for (uint32_t i = 0; i <= x->last; i++)
		if (!x->all[i].chosen && !x->all[i].depends && x->all[i].side < 0)
			graph_append(k, x->all[i].n);
	b.after = k->last;
	append(&b, n);
	for (uint32_t i = 0; i <= x->last; i++) {
		if (!x->all[i].chosen)
			continue;
		struct node *where = x->all[i].n;
		if (!nout)
			n->span = where->span;
		n->out[nout++] = where->out[0];
		where->out[0]->def = n;
		drop_node(where);
	}
	for (uint32_t i = 0; i < x->n; i++)
		if ((i > x->last || x->all[i].depends) && !x->all[i].chosen)
			graph_append(k, x->all[i].n);
}

static void list(struct branches *x)
{
	x->n = 0;
	for (struct node *n = x->block->first; n; n = n->next)
		x->all[x->n++].n = n;
}

/* An If of what cond decides; false: that would take longer */
static bool decide_once(struct branches *x, struct value *cond)
{
	uint32_t count = choose(x, cond), nodes, copies = 0;

	if (!count)
		return false;
	nodes = fill(x, 0);
	nodes += fill(x, 1);
	for (uint32_t i = 0; i <= x->last; i++)
		for (uint32_t k = 1; x->all[i].chosen && k < 3; k++)
			copies +=
				!x->all[i].n->in[k]->def || x->inside[x->all[i].n->in[k]->id] == 0;
	enum dtype t = (enum dtype)x->all[x->last].n->out[0]->type.dtype;
	double node = cost_of(ONNX_Add, t, 1) / 2; /* one side of two is computed */
	/* one choice is read more easily as such */
	double gain = layout_costs.if_gain * (count > 1 ? 1 : 2);
	if (count * cost_of(ONNX_Where, t, 1) + nodes * node <
	    cost_of(ONNX_If, t, count) + copies * node + gain)
		return false;
	make_if(x, cond, count);
	list(x);
	return true;
}

void decide_by_ifs(struct ctx *cx, struct graph *g)
{
	struct branches x = {.cx = cx, .block = g->block};
	struct value *seen[MAX_IFS];
	uint32_t nseen = 0;

	if (!has_operator(g, ONNX_Where))
		return;
	/* for each Where that becomes a result of an If there is one value more at most, and a
	 * constant and a copy in a branch */
	size_t ids = cx->next_id + 1u + 5 * (size_t)g->block->nnodes;
	x.all = new_array(cx->scratch, struct choice, g->block->nnodes + 1u);
	x.reads = new_array(cx->scratch, uint32_t, ids);
	x.inside = new_array(cx->scratch, uint32_t, ids);
	x.depends = new_array(cx->scratch, bool, ids);
	x.own = new_array(cx->scratch, bool, ids);
	for (struct use_walk w = {.root = g->block}; next_use(&w);)
		x.reads[w.value->id]++;
	list(&x);
	for (uint32_t i = 0; i < x.n && nseen < MAX_IFS; i++) {
		struct node *n = x.all[i].n;
		bool known = false;
		if (!is_choice(&x, n))
			continue;
		for (uint32_t k = 0; k < nseen; k++)
			known |= seen[k] == n->in[0];
		if (known || from_constants(cx, n->in[0], NULL))
			continue;
		seen[nseen++] = n->in[0];
		if (decide_once(&x, n->in[0]))
			i = 0;
	}
}
