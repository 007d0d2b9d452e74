/*
 * layout_graph.c: short arrays of many points. A model that takes 64 points computes with arrays
 * such as [64, 5, 4], and ONNX Runtime's kernels go row by row along the last axes: [5, 4, 64] /
 * [5, 1, 64] has longer rows than [64, 5, 4] / [64, 5, 1] and takes less time; a Slice or Concat
 * along a last axis copies row by row too. In: a graph of ONNX nodes, after all rewrites. Out: the
 * same, in which nodes outside of loops compute with axis 0 behind all others (batch-last arrays,
 * batch_last.h), where that takes less time than the Transposes on either side of them
 * (target/costs_layout.def). Only an axis that is expected to be long (--expect, batch="chains")
 * counts: for few points the Transposes take longer.
 */
#include <string.h>

#include "graph/uses.h"
#include "onnx/onnx.h"
#include "ort/ort.h"
#include "ort/batch_last.h"
#include "rewrite/rewrite.h"
#include "target/target.h"

#define ROUNDS 6  /* of looking for nodes that had better change sides */
#define MAX_IN 32 /* operands of a node that takes part */

struct readers {
	uint32_t batch_last, others;
};
struct graph_layouts {
	struct layouts l;
	struct node **nodes; /* that can compute on batch-last arrays, in order */
	bool *batch_last;    /* by index in nodes: the side of the Transposes that it is on */
	uint32_t count;
	uint32_t *group;      /* by index in nodes: the first of what was joined */
	uint32_t *index;      /* by id of a first result: one more than the index in nodes */
	struct readers *read; /* by value id: of the main block */
	bool *multiplied;     /* by value id: is it an operand of a MatMul? */
};

/* Does v have an axis of points, with others behind it? */
static bool has_points(const struct graph_layouts *p, const struct value *v)
{
	return v && v->id < p->l.n && v->type.rank > 1 &&
	       dim_eq(p->l.cx, v->type.dims[0], p->l.points);
}

/* Is it an array of points alone or, if `any`, with any axes behind that of the points? */
static bool is_of_points(const struct graph_layouts *p, const struct value *v, bool any)
{
	return v && v->type.rank && (any || v->type.rank == 1) &&
	       dim_eq(p->l.cx, v->type.dims[0], p->l.points);
}

/* ---- what nodes take ---- */

static double length(const struct graph_layouts *p, const struct type *t, uint32_t axis)
{
	return (double)dim_expected(p->l.cx, t->dims[axis], OPEN_LENGTH);
}

static double elements(const struct graph_layouts *p, const struct type *t)
{
	return expected_elements(p->l.cx, t, OPEN_LENGTH);
}

/* The length of axis i of an operand, as the result with `rank` axes counts them, batch-last or not
 */
static double aligned(const struct graph_layouts *p, const struct type *t, uint32_t i,
		      uint32_t rank, bool batch_last)
{
	if (batch_last)
		i = i + 1 < rank ? i + 1 : 0;
	return i + t->rank < rank ? 1 : length(p, t, i + t->rank - rank);
}

/* The stretches of elements in which no operand is repeated */
static double runs(const struct graph_layouts *p, const struct node *n, bool batch_last)
{
	const struct type *out = &n->out[0]->type;
	uint32_t found = 0, rank = out->rank;
	double run = 1;
	bool any = false;

	for (uint32_t i = rank; i-- > 0;) {
		double k = aligned(p, out, i, rank, batch_last);
		uint32_t ones = 0;
		for (uint32_t j = 0; j < n->nin; j++)
			if (n->in[j] && !is_single(p->l.cx, &n->in[j]->type) &&
			    aligned(p, &n->in[j]->type, i, rank, batch_last) == 1)
				ones |= 1u << (j < 31 ? j : 31);
		if (k == 1)
			continue;
		if (any && ones != found)
			return elements(p, out) / run;
		found = ones;
		any = true;
		run *= k;
	}
	return 0;
}

static double time_of_sum(const struct graph_layouts *p, const struct node *n, bool batch_last)
{
	const struct layout_costs *cost = &layout_costs;
	const struct type *t = &n->in[0]->type;
	int axes[MAX_RANK], count = onnx_reduced_axes(n, axes), last = t->rank - 1;
	double all = elements(p, t);
	bool ends = false, first = true;

	for (int i = 0; i < count; i++)
		ends |= axes[i] == last;
	for (int i = 1; i < (count ? axes[0] : 1); i++)
		first &= length(p, t, (uint32_t)i) == 1;
	if (batch_last)
		return all * (first ? cost->sum_first : cost->sum_middle);
	return ends ? cost->sum_last * all + cost->sum_last_result * elements(p, &n->out[0]->type)
		    : cost->sum_inner * all;
}

/* Pieces that a node which goes along one axis copies */
static double pieces(const struct graph_layouts *p, const struct node *n, uint32_t axis,
		     uint32_t parts, bool batch_last)
{
	const struct type *t = &n->in[0]->type;
	double k = 1;

	for (uint32_t i = batch_last; i < axis && i < t->rank; i++)
		k *= length(p, t, i);
	return k * parts;
}

/* The axes of a Transpose whose operand or result is batch-last; true: it has nothing to do */
static bool batch_last_perm(const struct node *n, bool in, bool out, int64_t *perm)
{
	uint32_t rank = n->in[0]->type.rank;
	bool same = true;

	for (uint32_t i = 0; i < rank; i++) {
		int64_t k = onnx_perm(n, out ? (i + 1) % rank : i);
		perm[i] = in ? (k ? k : rank) - 1 : k;
		same &= perm[i] == i;
	}
	return same;
}

static bool reads_batch_last(const struct graph_layouts *p, const struct node *n)
{
	return !is_onnx(n, ONNX_Transpose) || has_points(p, n->in[0]);
}

static bool gives_batch_last(const struct graph_layouts *p, const struct node *n)
{
	return !is_onnx(n, ONNX_Transpose) || has_points(p, n->out[0]);
}

/* What is said of times here need only tell which of two sides is faster: the time that both take
 * is left out. */
static double time_of(const struct graph_layouts *p, const struct node *n, bool batch_last)
{
	const struct layout_costs *cost = &layout_costs;
	double all = elements(p, &n->out[0]->type);
	uint32_t rank = n->in[0] ? n->in[0]->type.rank : 0;
	int64_t perm[MAX_RANK];

	if (onnx_lengths(n->onnx) == ONNX_BROADCAST_LENGTHS)
		return runs(p, n, batch_last) *
		       (is_onnx(n, ONNX_Where) ? 2 * cost->run : cost->run);
	if (onnx_lengths(n->onnx) == ONNX_REDUCED_LENGTHS)
		return time_of_sum(p, n, batch_last);
	switch (operator_of(n)) {
	case ONNX_Transpose:
		if (batch_last) {
			bool out = gives_batch_last(p, n);
			if (batch_last_perm(n, reads_batch_last(p, n), out, perm))
				return 0;
		}
		return cost->node + all * cost->transposed;
	case ONNX_Softmax:
		return batch_last ? 4 * cost->node + cost->softmax * all : cost->softmax * all;
	case ONNX_Trilu:
		return batch_last ? 2 * cost->node + cost->masked * all : 0;
	case ONNX_Expand:
		return batch_last ? all / OPEN_LENGTH : all / 4;
	case ONNX_Concat:
	case ONNX_Split:
	case ONNX_Gather:
		return cost->piece * pieces(p, n, onnx_axis(n, 0),
					    n->nin > n->nout ? n->nin : n->nout, batch_last);
	case ONNX_Slice:
	case ONNX_Pad:
		return cost->piece * pieces(p, n, rank - 1u, 1, batch_last);
	default:
		return 0;
	}
}

static double time_to_transpose(const struct graph_layouts *p, const struct value *v)
{
	return layout_costs.transpose + layout_costs.transposed * elements(p, &v->type);
}

/* ---- which side of the Transposes nodes are on ---- */

static bool on_batch_last_side(const struct graph_layouts *p, const struct node *n)
{
	uint32_t i = n->nout && n->out[0]->id < p->l.n ? p->index[n->out[0]->id] : 0;

	return i && p->batch_last[i - 1];
}

/* Does a node give v batch-last? */
static bool is_given_batch_last(const struct graph_layouts *p, const struct value *v)
{
	return v->def && on_batch_last_side(p, v->def) && gives_batch_last(p, v->def);
}

static double time_between(const struct graph_layouts *p, const struct value *v, bool batch_last)
{
	const struct readers *r = &p->read[v->id];

	return (batch_last ? r->others : r->batch_last) ? time_to_transpose(p, v) : 0;
}

static bool reads_before(const struct node *n, uint32_t i)
{
	for (uint32_t j = 0; j < i && n->nin <= MAX_IN; j++)
		if (n->in[j] == n->in[i])
			return true;
	return false;
}

/* Counts n, or no longer, as a reader on its side. */
static void count_reader(struct graph_layouts *p, const struct node *n, bool batch_last, int by)
{
	for (uint32_t i = 0; i < n->nin; i++) {
		if (!has_points(p, n->in[i]) || reads_before(n, i))
			continue;
		struct readers *r = &p->read[n->in[i]->id];
		*(batch_last && reads_batch_last(p, n) ? &r->batch_last : &r->others) +=
			(uint32_t)by;
	}
}

/* What n, its operands and its results take as things are */
static double time_around(struct graph_layouts *p, const struct node *n)
{
	double t = time_of(p, n, on_batch_last_side(p, n));

	for (uint32_t i = 0; i < n->nin; i++)
		if (has_points(p, n->in[i]) && !reads_before(n, i))
			t += time_between(p, n->in[i], is_given_batch_last(p, n->in[i]));
	for (uint32_t i = 0; i < n->nout; i++)
		if (has_points(p, n->out[i]))
			t += time_between(p, n->out[i], is_given_batch_last(p, n->out[i]));
	return t;
}

static void change_side(struct graph_layouts *p, const struct node *n)
{
	bool batch_last = on_batch_last_side(p, n);

	count_reader(p, n, batch_last, -1);
	p->batch_last[p->index[n->out[0]->id] - 1] = !batch_last;
	count_reader(p, n, !batch_last, 1);
}

static bool improve(struct graph_layouts *p, const struct node *n)
{
	double before = time_around(p, n);

	change_side(p, n);
	if (time_around(p, n) < before)
		return true;
	change_side(p, n);
	return false;
}

static uint32_t first_of(struct graph_layouts *p, uint32_t i)
{
	while (p->group[i] != i)
		i = p->group[i] = p->group[p->group[i]];
	return i;
}

/* Groups of nodes that pass batch-last arrays on go back as a whole, where that saves too little.
 */
static void drop_groups(struct graph_layouts *p)
{
	double *gain = new_array(p->l.cx->scratch, double, p->count + 1u);

	for (uint32_t i = 0; i < p->count; i++)
		p->group[i] = i;
	for (uint32_t i = 0; i < p->count; i++) {
		const struct node *n = p->nodes[i];
		for (uint32_t j = 0; j < n->nin && on_batch_last_side(p, n); j++)
			if (has_points(p, n->in[j]) && is_given_batch_last(p, n->in[j])) {
				uint32_t to = first_of(p, p->index[n->in[j]->def->out[0]->id] - 1);
				p->group[first_of(p, i)] = to;
			}
	}
	for (uint32_t i = 0; i < p->count; i++) {
		const struct node *n = p->nodes[i];
		if (!on_batch_last_side(p, n))
			continue;
		double *g = &gain[first_of(p, i)];
		double before = time_of(p, n, false);
		*g += before - time_of(p, n, true);
		for (uint32_t j = 0; j < n->nin; j++)
			if (has_points(p, n->in[j]) && !is_given_batch_last(p, n->in[j]))
				*g -= time_to_transpose(p, n->in[j]) /
				      p->read[n->in[j]->id].batch_last;
		for (uint32_t j = 0; j < n->nout; j++)
			if (has_points(p, n->out[j]) && is_given_batch_last(p, n->out[j]))
				*g -= time_between(p, n->out[j], true);
	}
	for (uint32_t i = 0; i < p->count; i++)
		if (on_batch_last_side(p, p->nodes[i]) &&
		    gain[first_of(p, i)] < layout_costs.group_gain)
			change_side(p, p->nodes[i]);
}

/* ---- the graph ---- */

static bool find_points(struct graph_layouts *p, const struct block *b)
{
	int64_t k;

	for (uint32_t i = 0; i < b->params.len; i++) {
		const struct type *t = &b->params.at[i]->type;
		if (!t->rank || dim_is_const(p->l.cx, t->dims[0], &k))
			continue;
		p->l.points = t->dims[0];
		return dim_expected(p->l.cx, t->dims[0], 0) >= SIZE_BATCH;
	}
	return false;
}

static bool can_take_part(struct graph_layouts *p, const struct node *n)
{
	bool wide = n->nin && has_points(p, n->in[0]);

	for (uint32_t i = 0; i < n->nout; i++)
		wide |= has_points(p, n->out[i]);
	if (!wide || n->nin > MAX_IN || n->as_written || onnx_has_blocks(n->onnx) || !n->in[0])
		return false;
	if (is_onnx(n, ONNX_Transpose)) /* the runtime makes one node of that and a product */
		return !p->multiplied[n->out[0]->id];
	for (uint32_t i = 0; i < n->nout; i++)
		if (!n->out[i]->type.rank || !dim_eq(p->l.cx, n->out[i]->type.dims[0], p->l.points))
			return false;
	bool any = is_onnx(n, ONNX_Expand);
	for (uint32_t i = 0; i < n->nin; i++)
		any |= is_batch_last(&p->l, n->in[i]);
	return any && can_be_batch_last(&p->l, n);
}

static void find_readers(struct graph_layouts *p, struct graph *g)
{
	for (struct use_walk w = {.root = g->block, .graph = g}; next_use(&w);)
		if ((!w.use.node || w.use.block != g->block) && has_points(p, w.value))
			p->read[w.value->id].others++;
	for (const struct node *n = g->block->first; n; n = n->next)
		count_reader(p, n, on_batch_last_side(p, n), 1);
}

/* Sets the layout of all values of the main block: with `all` axes of points behind any others,
 * without only those of which there are no others, which are the same on either side. */
static void set_layouts(struct graph_layouts *p, struct graph *g, bool all)
{
	memset(p->l.layout, AS_WRITTEN, p->l.n);
	for (uint32_t i = 0; i < g->block->params.len; i++)
		if (is_of_points(p, g->block->params.at[i], all))
			set_layout(&p->l, g->block->params.at[i], BATCH_LAST);
	for (struct node *n = g->block->first; n; n = n->next)
		for (uint32_t i = 0; i < n->nout; i++)
			if (is_of_points(p, n->out[i], all))
				set_layout(&p->l, n->out[i], BATCH_LAST);
}

/* Finds the nodes that had better compute on batch-last arrays; false: there are none. */
static bool find_sides(struct graph_layouts *p, struct graph *g)
{
	bool any = false, changed = true;

	set_layouts(p, g, true);
	for (struct node *n = g->block->first; n; n = n->next)
		for (uint32_t i = 0; i < n->nin && is_onnx(n, ONNX_MatMul); i++)
			if (n->in[i]->id < p->l.n)
				p->multiplied[n->in[i]->id] = true;
	for (struct node *n = g->block->first; n; n = n->next)
		if (can_take_part(p, n)) {
			p->batch_last[p->count] = true;
			p->nodes[p->count++] = n;
			p->index[n->out[0]->id] = p->count;
		}
	find_readers(p, g);
	for (int round = 0; round < ROUNDS && changed; round++) {
		changed = false;
		for (uint32_t i = 0; i < p->count; i++)
			changed |= improve(p, p->nodes[round % 2 ? p->count - 1 - i : i]);
	}
	drop_groups(p);
	for (uint32_t i = 0; i < p->count; i++)
		any |= on_batch_last_side(p, p->nodes[i]);
	return any;
}

/* ---- then change the layout ---- */

/* v, which n gives batch-last, is read as it was: a Transpose gives that again. */
static void relayout_back(struct graph_layouts *p, struct build *behind, struct node *n, uint32_t i,
			  struct type old)
{
	struct value *v = n->out[i], *to = part_result(p->l.cx, n, i);

	p->l.copy[v->id] = (struct copy){to, behind->block, old.rank};
	behind->span = to->span;
	transpose_batch(behind, barrier(behind, to), 0, true);
	v->type = old;
	take_over(behind, v);
}

/* Gives the last new node. A Reshape parts a Transpose from batch-last arrays on one side of it. */
static struct node *relayout_transpose(struct graph_layouts *p, struct node *n)
{
	struct layouts *l = &p->l;
	bool in = has_points(p, n->in[0]) || is_batch_last(&p->l, n->in[0]);
	bool out = has_points(p, n->out[0]);
	int64_t perm[MAX_RANK];
	bool same = batch_last_perm(n, in, out, perm);

	if (in)
		set_input(n, 0, as_batch_last(&p->l, n->in[0], n->in[0]->type.rank));
	if (out)
		n->out[0]->type = batch_last_type(p->l.cx, n->out[0]->type, 0);
	if (same) {
		become(l->cx, n, ONNX_Identity, n->in[0]);
		return n;
	}
	set_ints(l->cx, n, "perm", perm, n->in[0]->type.rank);
	if (in && !out)
		put_barrier(l->body, n, 0);
	if (in || !out)
		return n;
	struct value *v = n->out[0];
	struct build behind = build_at(l->cx, l->body.block, n);
	behind.span = v->span;
	barrier(&behind, part_result(l->cx, n, 0));
	take_over(&behind, v);
	return behind.after;
}

static void relayout_all(struct graph_layouts *p, struct block *b)
{
	for (struct node *n = b->first, *last; n; p->l.body.after = last, n = last->next) {
		last = n;
		if (!on_batch_last_side(p, n))
			continue;
		struct type *old = new_array(p->l.cx->scratch, struct type, n->nout);
		for (uint32_t i = 0; i < n->nout; i++)
			old[i] = n->out[i]->type;
		bool gives = gives_batch_last(p, n);
		if (is_onnx(n, ONNX_Transpose))
			last = relayout_transpose(p, n);
		else
			make_batch_last(&p->l, n);
		struct node *maker = last;
		struct build behind = build_at(p->l.cx, b, maker);
		for (uint32_t i = 0; gives && i < maker->nout; i++) {
			if (old[i].rank < 2)
				continue;
			if (p->read[maker->out[i]->id].others)
				relayout_back(p, &behind, maker, i, old[i]);
			else
				set_layout(&p->l, maker->out[i], BATCH_LAST);
		}
		last = behind.after;
	}
}

void layout_graph(struct ctx *cx, struct graph *g)
{
	struct graph_layouts p = {.l = {.cx = cx, .n = cx->next_id, .apart = true}};
	uint32_t n = p.l.n, nodes = g->block->nnodes + 1;

	if (!find_points(&p, g->block))
		return;
	p.l.layout = new_array(cx->scratch, uint8_t, n);
	p.l.copy = new_array(cx->scratch, struct copy, n);
	p.index = new_array(cx->scratch, uint32_t, n);
	p.read = new_array(cx->scratch, struct readers, n);
	p.nodes = new_array(cx->scratch, struct node *, nodes);
	p.multiplied = new_array(cx->scratch, bool, n);
	p.batch_last = new_array(cx->scratch, bool, nodes);
	p.group = new_array(cx->scratch, uint32_t, nodes);
	p.l.body = p.l.outer = build_at(cx, g->block, NULL);
	if (!find_sides(&p, g))
		return;
	set_layouts(&p, g, false);
	relayout_all(&p, g->block);
}
