/*
 * share.c: Gammaln(a), Gammaln(b) and Gammaln(c) become Split(Gammaln(Join(a, b, c))). In: the
 * typed graph, without complex numbers. Out: the same function. Lowering expands a call such as
 * Gammaln into some fifty nodes, and a node on a small array costs as much as one on a smaller
 * array. So one call on the joined arguments takes little longer than any of them. Three calls of
 * Gammaln on arrays of open length become one that takes half of the time for up to 100 numbers
 * each, as long for 10,000, and 1.4 times as long for 100,000, which do not fit the cache together.
 *
 * Two calls of Eigh on small matrices become one of the fn that the op's row names as `.pair`: its
 * loop takes the steps of both together.
 *
 * Calls are joined if none depends on another. The level of a value is the number of calls of the
 * op on the longest way to it; so calls of one level are independent. Their block is put in the
 * order of levels, behind the nodes of each level the joined call.
 */
#include <stdlib.h>
#include <string.h>

#include "elab/elab.h"
#include "ops/rules.h"
#include "target/target.h"
#include "typed/typed.h"

#define MAX_DIM_TERMS 200 /* lowering follows no longer expressions */
#define MIN_NODES     16  /* nodes of an op that is worth the look */
#define MAX_VIEWS     4   /* of an argument, one behind the other, that are looked through */

/* What is known of a value. level is that of round `round`. */
struct mark {
	bool constant; /* computed from constants alone: runtimes do it before they run a model */
	uint32_t round, level;
	struct value *called; /* of an argument: the result of the call, in this round */
};

struct kind { /* of calls: an op on a dtype */
	const struct op *op;
	enum dtype dtype;
	uint32_t nodes; /* that a call becomes */
	uint32_t calls; /* in the block that is looked at */
};

struct call {
	struct node *node;
	uint32_t level;
};

struct share {
	struct ctx *cx;
	struct costs costs;
	struct mark *marks; /* by the value's id */
	uint32_t nmarks;
	const bool *needed; /* by the value's id, of the values that there were at first */
	uint32_t nneeded;
	uint32_t round; /* a kind in a block */
	vec(struct kind) kinds;
};

static struct mark *mark_of(struct share *s, const struct value *v)
{
	uint32_t n = s->nmarks;

	if (v->id >= n) {
		n = v->id + v->id / 2 + 64;
		s->marks = arena_grow(s->cx->scratch, s->marks, s->nmarks * sizeof(*s->marks),
				      mul_size(s->cx->scratch, n, sizeof(*s->marks)));
		s->nmarks = n;
	}
	struct mark *m = &s->marks[v->id];
	if (m->round != s->round) {
		m->round = s->round;
		m->level = 0;
		m->called = NULL;
	}
	return m;
}

/* ---- which calls ---- */

/* Is n a call on a small matrix and on nothing else, of an op that takes two of them together? */
static bool is_half_of_pair(struct share *s, const struct node *n)
{
	const struct type *t = &n->in[0]->type;
	int64_t rows;

	for (uint32_t i = 1; i < n->nin; i++)
		if (n->in[i])
			return false;
	return t->rank == 2 && dim_is_const(s->cx, t->dims[0], &rows) && rows >= 1 &&
	       rows <= SIZE_PAIRED_ROWS && dim_eq(s->cx, t->dims[0], t->dims[1]) &&
	       prop_bool(s->cx, n, "lower");
}

/* The kind of call that n is, by its number; -1: none that is worth the look */
static int kind_of(struct share *s, const struct node *n)
{
	uint32_t i = 0;

	if (n->op->pair
		    ? !is_half_of_pair(s, n)
		    : n->nin != 1 || n->nout != 1 || !n->op->lib || n->op->shape != sh_broadcast)
		return -1;
	enum dtype t = (enum dtype)n->in[0]->type.dtype;
	if (!is_float(t) || n->out[0]->type.dtype != t)
		return -1;
	while (i < s->kinds.len && (s->kinds.at[i].op != n->op || s->kinds.at[i].dtype != t))
		i++;
	if (i == s->kinds.len)
		*vec_push(s->cx->scratch, &s->kinds) = (struct kind){
			.op = n->op,
			.dtype = t,
			.nodes = n->op->pair ? MIN_NODES : cost_of_call(&s->costs, n).nodes};
	return s->kinds.at[i].nodes < MIN_NODES ? -1 : (int)i;
}

static bool has_open_length(struct share *s, const struct type *t)
{
	int64_t lengths[MAX_RANK];

	return !dims_are_const(s->cx, t->dims, t->rank, lengths);
}

/* Is an array of this type so small that it gains by a copy? One of open lengths may be. Empty ones
 * cost nothing alone. */
static bool may_be_small(struct share *s, const struct type *t)
{
	double n = expected_elements(s->cx, t, OPEN_LENGTH);

	return has_open_length(s, t) || (n > 0 && n <= SIZE_JOINED);
}

/* Is n a call that may be joined with others? Its kind, or -1 */
static int sharable(struct share *s, const struct node *n)
{
	int kind = kind_of(s, n);

	bool needed = false;

	for (uint32_t i = 0; i < n->nout; i++)
		needed |= n->out[i]->id < s->nneeded && s->needed[n->out[i]->id];
	if (kind < 0 || n->dead || !needed || n->in[0]->data || mark_of(s, n->in[0])->constant ||
	    !may_be_small(s, &n->in[0]->type))
		return -1;
	return kind;
}

/* ---- axes of length 1 ---- */

/* Is v an array of a lower or higher rank with the same elements? */
static bool is_same_but_axes(struct share *s, const struct value *v)
{
	const struct node *n = v->def;

	if (!n || (!is_call(n, OP_ExpandDims) && !is_call(n, OP_Squeeze)))
		return false;
	const struct type *from = &n->in[0]->type,
			  *small = from->rank < v->type.rank ? from : &v->type;
	const struct type *large = small == from ? &v->type : from;
	uint32_t j = 0;
	for (uint32_t i = 0; i < large->rank; i++)
		if (!dim_is(s->cx, large->dims[i], 1) || small->rank - j == large->rank - i)
			j++;
	return j == small->rank && from->dtype == v->type.dtype;
}

/* Gammaln(ExpandDims(x)) is ExpandDims(Gammaln(x)), so that Gammaln and Psi of x and of
 * ExpandDims(x) have one argument. */
static void move_axes_behind_calls(struct share *s, struct block *main)
{
	for (struct walk w = {.root = main}; walk(&w, WALK_AFTER);) {
		struct block *b = w.at.block;
		struct node *n = w.at.node, *before = w.at.before;
		for (int i = 0; i < MAX_VIEWS && kind_of(s, n) >= 0 && !n->op->pair &&
				is_same_but_axes(s, n->in[0]);
		     i++) {
			const struct node *view = n->in[0]->def;
			struct block made = {0};
			struct node *call =
				graph_node(s->cx, &made, n->op, n->props, view->in, 1, n->span);
			call->next = n;
			*(before ? &before->next : &b->first) = call;
			b->nnodes++;
			n->op = view->op;
			n->props = view->props;
			n->in = new (s->cx->arena, struct value *);
			n->in[0] = call->out[0];
			n = call;
		}
	}
}

/* ---- once for the graph: what values are needed, and which are constant */

static void mark_constants(struct share *s, struct block *b)
{
	for (struct walk w = {.root = b}; walk(&w, WALK_BEFORE);) {
		struct node *n = w.at.node;
		bool constant = n->nin && !n->blocks;
		for (uint32_t i = 0; i < n->nin; i++)
			constant &= !n->in[i] || n->in[i]->data || mark_of(s, n->in[i])->constant;
		for (uint32_t i = 0; i < n->nout; i++)
			mark_of(s, n->out[i])->constant = constant;
	}
}

/* ---- levels ---- */

static void raise_to(uint32_t *level, uint32_t to)
{
	*level = to > *level ? to : *level;
}

/* Raises the level to that of the values from which d is computed; of a longer expression, some. */
static void raise_to_sources(struct share *s, uint32_t *level, dim d, int *budget)
{
	const struct dim_view v = dim_view(s->cx, d);

	if (v.form == DIM_ATOM && v.kind != SOURCE_NONE && v.source)
		raise_to(level, mark_of(s, v.source)->level);
	for (uint32_t i = 0; v.form != DIM_ATOM && i < v.nterms && --*budget > 0; i++)
		raise_to_sources(s, level, v.term[i], budget);
}

/* The level of all that n reads, also inside of its blocks; results of n get it. */
static uint32_t set_level(struct share *s, struct node *n)
{
	uint32_t level = 0;
	int budget = MAX_DIM_TERMS;

	if (n->op == &op_dim)
		raise_to_sources(s, &level, n->props[0].u.d, &budget);
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i])
			raise_to(&level, mark_of(s, n->in[i])->level);
	for_bodies (b, n) {
		for (struct node *m = b->first; m; m = m->next)
			raise_to(&level, set_level(s, m));
		for (uint32_t j = 0; j < b->results.len; j++)
			raise_to(&level, mark_of(s, b->results.at[j])->level);
	}
	for (uint32_t i = 0; i < n->nout; i++)
		mark_of(s, n->out[i])->level = level;
	return level;
}

/* ---- the joined call ---- */

static struct cv *props_of(struct share *s, const struct cv *v, uint32_t n)
{
	return memcpy(new_array(s->cx->arena, struct cv, n + 1), v, n * sizeof(*v));
}

static struct value *as_vector(struct share *s, struct block *b, struct value *v)
{
	int64_t first = 0, any = -1;
	struct cv axis = cv_ints(s->cx->arena, &first, 1, v->span), ndim = cv_int(1, v->span);
	struct value *in[2] = {v, NULL};

	if (v->type.rank == 1)
		return v;
	if (!v->type.rank)
		return graph_node(s->cx, b, &op_table[OP_ExpandDims], props_of(s, &axis, 1), in, 1,
				  v->span)
			->out[0];
	in[1] = graph_ints(s->cx, &any, 1, v->span);
	return graph_node(s->cx, b, &op_table[OP_Reshape], props_of(s, &ndim, 1), in, 2, v->span)
		->out[0];
}

/* The lengths of v, int64[rank] */
static struct value *lengths(struct share *s, struct block *b, struct value *v)
{
	int64_t shape[MAX_RANK];

	if (!dims_are_const(s->cx, v->type.dims, v->type.rank, shape))
		return graph_node(s->cx, b, &op_table[OP_Shape], NULL, &v, 1, v->span)->out[0];
	return graph_ints(s->cx, shape, v->type.rank, v->span);
}

/* Result i of n is v, which other nodes read already. */
static void give(struct node *n, uint32_t i, struct value *v)
{
	v->def->dead = true;
	v->def = n;
	n->out[i] = v;
}

/* v is element `at` of the vector `from`. (Of several Gathers ONNX Runtime would make a Split and
 * a Squeeze for each.) */
static void take_element(struct share *s, struct block *b, struct value *from, int64_t at,
			 struct value *v)
{
	const struct onnx_op *op = onnx_find(ONNX_GatherND, s->cx->opt.opset);
	struct value *in[2] = {from, graph_ints(s->cx, &at, 1, v->span)};

	give(graph_onnx(s->cx, b, op, NULL, in, 2, v->span), 0, v);
}

/* v is the vector `from` in the dims of `like`. */
static void take_shape(struct share *s, struct block *b, struct value *from, struct value *like,
		       struct value *v)
{
	struct cv ndim = cv_int(v->type.rank, v->span);
	struct value *in[2] = {from, lengths(s, b, like)};

	give(graph_node(s->cx, b, &op_table[OP_Reshape], props_of(s, &ndim, 1), in, 2, v->span), 0,
	     v);
}

/* The nodes of one call for all of c[0..n), in b */
static void join_calls(struct share *s, struct block *b, struct call *c, uint32_t n)
{
	struct span span = c->node->span;
	struct value **in = new_array(s->cx->scratch, struct value *, n + 1);
	struct value **sizes = new_array(s->cx->scratch, struct value *, n + 1);
	struct cv axis = cv_int(0, span), split[2] = {axis, cv_int(n, span)};
	bool scalars = true;

	for (uint32_t i = 0; i < n; i++) {
		struct value *x = c[i].node->in[0];
		in[i] = as_vector(s, b, x);
		scalars &= !x->type.rank;
	}
	for (uint32_t i = 0; i < n && !scalars; i++)
		sizes[i] = lengths(s, b, in[i]);
	struct value *joined =
		graph_node(s->cx, b, &op_table[OP_Join], props_of(s, &axis, 1), in, n, span)
			->out[0];
	joined = graph_node(s->cx, b, c->node->op, c->node->props, &joined, 1, span)->out[0];
	if (scalars) {
		for (uint32_t i = 0; i < n; i++)
			take_element(s, b, joined, i, c[i].node->out[0]);
		return;
	}
	in[0] = joined;
	in[1] = graph_node(s->cx, b, &op_table[OP_Join], props_of(s, &axis, 1), sizes, n, span)
			->out[0];
	struct node *pieces =
		graph_node(s->cx, b, &op_table[OP_Split], props_of(s, split, 2), in, 2, span);
	for (uint32_t i = 0; i < n; i++) {
		struct value *y = c[i].node->out[0];
		if (y->type.rank == 1)
			give(pieces, i, y);
		else
			take_shape(s, b, pieces->out[i], c[i].node->in[0], y);
	}
}

/* The nodes of one call for both of c[0..2), in b */
static bool join_pair(struct share *s, struct block *b, struct call *c)
{
	const struct op *op = c->node->op;
	struct value *in[2] = {c[0].node->in[0], c[1].node->in[0]}, *r[4];
	uint32_t each = c->node->nout;

	if (!expand_fn(s->cx, b, lib_fn(s->cx, op->pair), op, c->node->props, in, 2, r, 2 * each,
		       c->node->span))
		return false;
	for (uint32_t i = 0; i < 2 * each; i++)
		give(graph_node(s->cx, b, &op_table[OP_Identity], NULL, &r[i], 1, r[i]->span), 0,
		     c[i / each].node->out[i % each]);
	return true;
}

/* Is t a vector, or a column, which is mostly a vector that an axis was given to? */
static bool is_vector_or_column(struct share *s, const struct type *t)
{
	uint32_t i = 1;

	while (i < t->rank && dim_is(s->cx, t->dims[i], 1))
		i++;
	return t->rank && i == t->rank;
}

/* Is one call cheaper? In nodes: on small arrays all take about the same time. */
static bool sharing_pays(struct share *s, const struct kind *k, const struct call *c, uint32_t n)
{
	uint64_t cost = 4; /* Join and Split */

	if (k->op->pair)
		return true;
	for (uint32_t i = 0; i < n; i++)
		cost += (is_vector_or_column(s, &c[i].node->in[0]->type) ? 1 : 4) +
			(has_open_length(s, &c[i].node->in[0]->type) ? 3 : 0);
	return (n - 1) * (uint64_t)k->nodes >= 2 * cost;
}

/* ---- a block ---- */

static int by_level(const void *a, const void *b)
{
	const struct call *x = a, *y = b;
	uint32_t i = x->node->in[0]->id, j = y->node->in[0]->id;

	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	return i < j ? -1 : i > j; /* Gammaln and Psi of a and b share Join(a, b) */
}

/* Joins the calls of a kind in block b. */
static void share_kind(struct share *s, struct block *b, int kind)
{
	struct arena *a = s->cx->scratch;
	struct call *calls = new_array(a, struct call, s->kinds.at[kind].calls + 1);
	uint32_t *levels = new_array(a, uint32_t, b->nnodes + 1), ncalls = 0, count = 0, top = 0;
	bool joins = false;

	s->round++;
	for (struct node *n = b->first; n; n = n->next, count++) {
		levels[count] = set_level(s, n);
		raise_to(&top, levels[count]);
		if (sharable(s, n) != kind)
			continue;
		struct mark *m = mark_of(s, n->in[0]);
		if (m->called && n->nout > 1)
			continue;
		if (m->called) { /* called twice: the second time it is the first one's result */
			n->op = &op_table[OP_Identity];
			n->in = new (s->cx->arena, struct value *);
			n->in[0] = m->called;
			levels[count] = set_level(s, n);
			continue;
		}
		m->called = n->out[0];
		calls[ncalls++] = (struct call){n, levels[count]};
		for (uint32_t i = 0; i < n->nout; i++)
			mark_of(s, n->out[i])->level++;
		raise_to(&top, levels[count] + 1);
	}
	qsort(calls, ncalls, sizeof(*calls), by_level);
	struct block *parts = new_array(a, struct block, 2 * (size_t)top + 2);
	for (uint32_t i = 0, n; i < ncalls; i += n) {
		const struct kind *k = &s->kinds.at[kind];
		struct block *part = &parts[2 * calls[i].level + 1];
		for (n = 1; i + n < ncalls && calls[i + n].level == calls[i].level &&
			    (n < 2 || !k->op->pair);)
			n++;
		if (n < 2 || !sharing_pays(s, k, calls + i, n))
			continue;
		if (k->op->pair)
			joins |= join_pair(s, part, calls + i);
		else
			join_calls(s, part, calls + i, n);
		joins |= !k->op->pair;
	}
	if (!joins)
		return;
	count = 0;
	for (struct node *rest = take_nodes(b), *n; (n = next_taken(&rest)) != NULL; count++)
		if (!n->dead)
			graph_append(&parts[2 * levels[count]], n);
	for (uint32_t i = 0; i < 2 * top + 2; i++)
		graph_append_all(b, &parts[i]);
}

static void share_block(struct share *s, struct block *b)
{
	vec(int) found = {0};

	for (struct node *n = b->first; n; n = n->next)
		for_bodies (inner, n)
			share_block(s, inner);
	for (struct node *n = b->first; n; n = n->next) {
		int kind = sharable(s, n);
		if (kind < 0)
			continue;
		uint32_t i = 0;
		while (i < found.len && found.at[i] != kind)
			i++;
		if (i == found.len) {
			*vec_push(s->cx->scratch, &found) = kind;
			s->kinds.at[kind].calls = 0;
		}
		s->kinds.at[kind].calls++;
	}
	for (uint32_t i = 0; i < found.len; i++)
		if (s->kinds.at[found.at[i]].calls > 1)
			share_kind(s, b, found.at[i]);
}

/* Has the block two calls that may be joined, as far as their ops say? */
static bool has_calls(struct share *s, const struct block *b)
{
	uint32_t calls = 0;

	for (const struct node *n = b->first; n && calls < 2; n = n->next) {
		calls += kind_of(s, n) >= 0;
		for_bodies (inner, n)
			calls += calls < 2 && has_calls(s, inner) ? 2 : 0;
	}
	return calls > 1;
}

void share_calls(struct ctx *cx, struct graph *g)
{
	struct share s = {.cx = cx, .costs = {.cx = cx}, .round = 1};

	if (!has_calls(&s, g->block))
		return;
	move_axes_behind_calls(&s, g->block);
	s.nneeded = cx->next_id;
	s.needed = needed_values(cx, g);
	mark_constants(&s, g->block);
	share_block(&s, g->block);
}
