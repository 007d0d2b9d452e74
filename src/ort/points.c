/*
 * points.c: short arrays of many points. A model that takes 64 points computes with arrays such as
 * [64, 5, 4], and ONNX Runtime's kernels go row by row along the last axes: [64, 5, 4] / [64, 5, 1]
 * takes 2.7 microseconds, [5, 4, 64] / [5, 1, 64] takes 0.9; a Slice or Concat along a last axis
 * copies row by row too. In: a graph of ONNX nodes, after all rewrites. Out: the same, in which
 * nodes outside of loops compute with axis 0 behind all others (turned arrays, turned.h), where
 * that takes less time than the Transposes on either side of them. Only an axis that is expected to
 * be long (--expect, batch="chains") counts: for few points the Transposes take longer.
 */
#include <string.h>

#include "graph/uses.h"
#include "onnx/onnx.h"
#include "ort/ort.h"
#include "ort/turned.h"
#include "rewrite/rewrite.h"

#define LEAST    16   /* points: fewer are not worth it */
#define ROUNDS   6    /* of looking for nodes that had better change sides */
#define MAX_IN   32   /* operands of a node that takes part */
#define MIN_GAIN 1000 /* nanoseconds that a group of nodes has to save */
/* nanoseconds of kernels of ONNX Runtime 1.31.1 */
#define RUN          9 /* of elementwise kernels: a stretch in which no operand is repeated */
#define PIECE        3 /* that is copied: of a row in Concat, Split, Slice, Pad, Gather */
#define NODE         250
#define TURN         450 /* a Transpose and the Reshape beside it */
#define TURN_ELEMENT 0.45

struct readers {
	uint32_t turned, others;
};
struct points {
	struct lanes l;
	struct node **nodes; /* that can compute on turned arrays, in order */
	bool *turned;        /* by index in nodes: the side of the Transposes that it is on */
	uint32_t count;
	uint32_t *group;      /* by index in nodes: the first of what was joined */
	uint32_t *index;      /* by id of a first result: one more than the index in nodes */
	struct readers *read; /* by value id: of the main block */
	bool *multiplied;     /* by value id: is it an operand of a MatMul? */
};

/* Does v have an axis of points, with others behind it? */
static bool has_points(const struct points *p, const struct value *v)
{
	return v && v->id < p->l.n && v->type.rank > 1 &&
	       dim_eq(p->l.cx, v->type.dims[0], p->l.points);
}

/* Is it an array of points alone or, if `any`, with any axes behind that of the points? */
static bool is_of_points(const struct points *p, const struct value *v, bool any)
{
	return v && v->type.rank && (any || v->type.rank == 1) &&
	       dim_eq(p->l.cx, v->type.dims[0], p->l.points);
}

/* ---- what nodes take ---- */

static double length(const struct points *p, const struct type *t, uint32_t axis)
{
	return (double)dim_expected(p->l.cx, t->dims[axis], OPEN_LENGTH);
}

static double elements(const struct points *p, const struct type *t)
{
	double n = 1;

	for (uint32_t i = 0; i < t->rank; i++)
		n *= length(p, t, i);
	return n;
}

/* The length of axis i of an operand, as the result with `rank` axes counts them, turned or not */
static double aligned(const struct points *p, const struct type *t, uint32_t i, uint32_t rank,
		      bool turned)
{
	if (turned)
		i = i + 1 < rank ? i + 1 : 0;
	return i + t->rank < rank ? 1 : length(p, t, i + t->rank - rank);
}

/* The stretches of elements in which no operand is repeated */
static double runs(const struct points *p, const struct node *n, bool turned)
{
	const struct type *out = &n->out[0]->type;
	uint32_t found = 0, rank = out->rank;
	double run = 1;
	bool any = false;

	for (uint32_t i = rank; i-- > 0;) {
		double k = aligned(p, out, i, rank, turned);
		uint32_t ones = 0;
		for (uint32_t j = 0; j < n->nin; j++)
			if (n->in[j] && !is_single(p->l.cx, &n->in[j]->type) &&
			    aligned(p, &n->in[j]->type, i, rank, turned) == 1)
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

static double time_of_sum(const struct points *p, const struct node *n, bool turned)
{
	const struct type *t = &n->in[0]->type;
	int axes[MAX_RANK], count = onnx_reduced_axes(n, axes), last = t->rank - 1;
	double all = elements(p, t);
	bool ends = false, first = true;

	for (int i = 0; i < count; i++)
		ends |= axes[i] == last;
	for (int i = 1; i < (count ? axes[0] : 1); i++)
		first &= length(p, t, (uint32_t)i) == 1;
	if (turned)
		return all * (first ? 0.4 : 0.6);
	return ends ? 0.15 * all + elements(p, &n->out[0]->type) : 1.2 * all;
}

/* Pieces that a node which goes along one axis copies */
static double pieces(const struct points *p, const struct node *n, uint32_t axis, uint32_t parts,
		     bool turned)
{
	const struct type *t = &n->in[0]->type;
	double k = 1;

	for (uint32_t i = turned; i < axis && i < t->rank; i++)
		k *= length(p, t, i);
	return k * parts;
}

static bool is_transpose(const struct node *n)
{
	return is_onnx(n, ONNX_Transpose) && find_attr(n, "perm");
}

/* The axes of a Transpose whose operand or result is turned; true: it has nothing to do */
static bool turned_perm(const struct node *n, bool in, bool out, int64_t *perm)
{
	uint32_t rank = n->in[0]->type.rank;
	const int64_t *old = find_attr(n, "perm")->u.ints;
	bool same = true;

	for (uint32_t i = 0; i < rank; i++) {
		int64_t k = old[out ? (i + 1) % rank : i];
		perm[i] = in ? (k ? k : rank) - 1 : k;
		same &= perm[i] == i;
	}
	return same;
}

static bool reads_turned(const struct points *p, const struct node *n)
{
	return !is_transpose(n) || has_points(p, n->in[0]);
}

static bool gives_turned(const struct points *p, const struct node *n)
{
	return !is_transpose(n) || has_points(p, n->out[0]);
}

/* What is said of times here need only tell which of two sides is faster: the time that both take
 * is left out. */
static double time_of(const struct points *p, const struct node *n, bool turned)
{
	double all = elements(p, &n->out[0]->type);
	uint32_t rank = n->in[0] ? n->in[0]->type.rank : 0;
	const struct attr *a;
	int64_t perm[MAX_RANK];
	int axes[MAX_RANK];

	if (onnx_lengths(n->onnx) == ONNX_BROADCAST_LENGTHS)
		return runs(p, n, turned) * (is_onnx(n, ONNX_Where) ? 2 * RUN : RUN);
	if (onnx_lengths(n->onnx) == ONNX_REDUCED_LENGTHS)
		return time_of_sum(p, n, turned);
	switch (operator_of(n)) {
	case ONNX_Transpose:
		if (turned) {
			bool out = gives_turned(p, n);
			if (turned_perm(n, reads_turned(p, n), out, perm))
				return 0;
		}
		return NODE + all * TURN_ELEMENT;
	case ONNX_Softmax:
		return turned ? 4 * NODE + 2 * all : 2 * all;
	case ONNX_Trilu:
		return turned ? 2 * NODE + 0.6 * all : 0;
	case ONNX_Expand:
		return turned ? all / OPEN_LENGTH : all / 4;
	case ONNX_Concat:
	case ONNX_Split:
	case ONNX_Gather:
		a = find_attr(n, "axis");
		axes[0] = a ? (int)a->u.i : 0;
		return PIECE * pieces(p, n, (uint32_t)(axes[0] < 0 ? axes[0] + (int)rank : axes[0]),
				      n->nin > n->nout ? n->nin : n->nout, turned);
	case ONNX_Slice:
	case ONNX_Pad:
		return PIECE * pieces(p, n, rank - 1u, 1, turned);
	default:
		return 0;
	}
}

static double time_to_turn(const struct points *p, const struct value *v)
{
	return TURN + TURN_ELEMENT * elements(p, &v->type);
}

/* ---- which side of the Transposes nodes are on ---- */

static bool on_turned_side(const struct points *p, const struct node *n)
{
	uint32_t i = n->nout && n->out[0]->id < p->l.n ? p->index[n->out[0]->id] : 0;

	return i && p->turned[i - 1];
}

/* Does a node give v turned? */
static bool is_given_turned(const struct points *p, const struct value *v)
{
	return v->def && on_turned_side(p, v->def) && gives_turned(p, v->def);
}

static double time_between(const struct points *p, const struct value *v, bool turned)
{
	const struct readers *r = &p->read[v->id];

	return (turned ? r->others : r->turned) ? time_to_turn(p, v) : 0;
}

static bool reads_before(const struct node *n, uint32_t i)
{
	for (uint32_t j = 0; j < i && n->nin <= MAX_IN; j++)
		if (n->in[j] == n->in[i])
			return true;
	return false;
}

/* Counts n, or no longer, as a reader on its side. */
static void count_reader(struct points *p, const struct node *n, bool turned, int by)
{
	for (uint32_t i = 0; i < n->nin; i++) {
		if (!has_points(p, n->in[i]) || reads_before(n, i))
			continue;
		struct readers *r = &p->read[n->in[i]->id];
		*(turned && reads_turned(p, n) ? &r->turned : &r->others) += (uint32_t)by;
	}
}

/* What n, its operands and its results take as things are */
static double time_around(struct points *p, const struct node *n)
{
	double t = time_of(p, n, on_turned_side(p, n));

	for (uint32_t i = 0; i < n->nin; i++)
		if (has_points(p, n->in[i]) && !reads_before(n, i))
			t += time_between(p, n->in[i], is_given_turned(p, n->in[i]));
	for (uint32_t i = 0; i < n->nout; i++)
		if (has_points(p, n->out[i]))
			t += time_between(p, n->out[i], is_given_turned(p, n->out[i]));
	return t;
}

static void change_side(struct points *p, const struct node *n)
{
	bool turned = on_turned_side(p, n);

	count_reader(p, n, turned, -1);
	p->turned[p->index[n->out[0]->id] - 1] = !turned;
	count_reader(p, n, !turned, 1);
}

static bool improve(struct points *p, const struct node *n)
{
	double before = time_around(p, n);

	change_side(p, n);
	if (time_around(p, n) < before)
		return true;
	change_side(p, n);
	return false;
}

static uint32_t first_of(struct points *p, uint32_t i)
{
	while (p->group[i] != i)
		i = p->group[i] = p->group[p->group[i]];
	return i;
}

/* Groups of nodes that pass turned arrays on go back as a whole, where that saves too little. */
static void drop_groups(struct points *p)
{
	double *gain = new_array(p->l.cx->scratch, double, p->count + 1u);

	for (uint32_t i = 0; i < p->count; i++)
		p->group[i] = i;
	for (uint32_t i = 0; i < p->count; i++) {
		const struct node *n = p->nodes[i];
		for (uint32_t j = 0; j < n->nin && on_turned_side(p, n); j++)
			if (has_points(p, n->in[j]) && is_given_turned(p, n->in[j])) {
				uint32_t to = first_of(p, p->index[n->in[j]->def->out[0]->id] - 1);
				p->group[first_of(p, i)] = to;
			}
	}
	for (uint32_t i = 0; i < p->count; i++) {
		const struct node *n = p->nodes[i];
		if (!on_turned_side(p, n))
			continue;
		double *g = &gain[first_of(p, i)];
		double before = time_of(p, n, false);
		*g += before - time_of(p, n, true);
		for (uint32_t j = 0; j < n->nin; j++)
			if (has_points(p, n->in[j]) && !is_given_turned(p, n->in[j]))
				*g -= time_to_turn(p, n->in[j]) / p->read[n->in[j]->id].turned;
		for (uint32_t j = 0; j < n->nout; j++)
			if (has_points(p, n->out[j]) && is_given_turned(p, n->out[j]))
				*g -= time_between(p, n->out[j], true);
	}
	for (uint32_t i = 0; i < p->count; i++)
		if (on_turned_side(p, p->nodes[i]) && gain[first_of(p, i)] < MIN_GAIN)
			change_side(p, p->nodes[i]);
}

/* ---- the graph ---- */

static bool find_points(struct points *p, const struct block *b)
{
	int64_t k;

	for (uint32_t i = 0; i < b->params.len; i++) {
		const struct type *t = &b->params.at[i]->type;
		if (!t->rank || dim_is_const(p->l.cx, t->dims[0], &k))
			continue;
		p->l.points = t->dims[0];
		return dim_expected(p->l.cx, t->dims[0], 0) >= LEAST;
	}
	return false;
}

static bool can_take_part(struct points *p, const struct node *n)
{
	bool wide = n->nin && has_points(p, n->in[0]);

	for (uint32_t i = 0; i < n->nout; i++)
		wide |= has_points(p, n->out[i]);
	if (!wide || n->nin > MAX_IN || n->as_written || onnx_has_blocks(n->onnx) || !n->in[0])
		return false;
	if (is_transpose(n)) /* the runtime makes one node of that and a product */
		return !p->multiplied[n->out[0]->id];
	for (uint32_t i = 0; i < n->nout; i++)
		if (!n->out[i]->type.rank || !dim_eq(p->l.cx, n->out[i]->type.dims[0], p->l.points))
			return false;
	bool any = is_onnx(n, ONNX_Expand);
	for (uint32_t i = 0; i < n->nin; i++)
		any |= is_turned(&p->l, n->in[i]);
	return any && can_turn(&p->l, n);
}

static void find_readers(struct points *p, struct graph *g)
{
	for (struct use_walk w = {.root = g->block, .graph = g}; next_use(&w);)
		if ((!w.use.node || w.use.block != g->block) && has_points(p, w.value))
			p->read[w.value->id].others++;
	for (const struct node *n = g->block->first; n; n = n->next)
		count_reader(p, n, on_turned_side(p, n), 1);
}

/* Sets the place of all values of the main block: with `all` axes of points behind any others,
 * without only those of which there are no others, which are the same on either side. */
static void set_places(struct points *p, struct graph *g, bool all)
{
	memset(p->l.place, AS_IT_IS, p->l.n);
	for (uint32_t i = 0; i < g->block->params.len; i++)
		if (is_of_points(p, g->block->params.at[i], all))
			set_place(&p->l, g->block->params.at[i], TURNED);
	for (struct node *n = g->block->first; n; n = n->next)
		for (uint32_t i = 0; i < n->nout; i++)
			if (is_of_points(p, n->out[i], all))
				set_place(&p->l, n->out[i], TURNED);
}

/* Finds the nodes that had better compute on turned arrays; false: there are none. */
static bool find_sides(struct points *p, struct graph *g)
{
	bool any = false, changed = true;

	set_places(p, g, true);
	for (struct node *n = g->block->first; n; n = n->next)
		for (uint32_t i = 0; i < n->nin && is_onnx(n, ONNX_MatMul); i++)
			if (n->in[i]->id < p->l.n)
				p->multiplied[n->in[i]->id] = true;
	for (struct node *n = g->block->first; n; n = n->next)
		if (can_take_part(p, n)) {
			p->turned[p->count] = true;
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
		any |= on_turned_side(p, p->nodes[i]);
	return any;
}

/* ---- then turn them ---- */

/* v, which n gives turned, is read as it was: a Transpose gives that again. Gives the last new
 * node. */
static struct node *turn_back(struct points *p, struct block *b, struct node *last, struct node *n,
			      uint32_t i, struct type old)
{
	struct value *v = n->out[i], *to = graph_value(p->l.cx, v->type, v->span);

	to->def = n;
	n->out[i] = to;
	p->l.copy[v->id] = (struct copy){to, b, old.rank};
	last = insert_same_shape(p->l.cx, b, last, to);
	turn(&p->l, b, &last, last->out[0], 0, true);
	v->type = old;
	v->def = last;
	last->out[0] = v;
	return last;
}

/* Gives the last new node. A Reshape parts a Transpose from turned arrays on one side of it. */
static struct node *turn_transpose(struct points *p, struct block *b, struct node *n)
{
	struct lanes *l = &p->l;
	bool in = has_points(p, n->in[0]) || is_turned(&p->l, n->in[0]);
	bool out = has_points(p, n->out[0]);
	int64_t perm[MAX_RANK];
	bool same = turned_perm(n, in, out, perm);

	n->in = memcpy(new_array(p->l.cx->arena, struct value *, 2), n->in, sizeof(*n->in));
	if (in)
		n->in[0] = as_turned(&p->l, n->in[0], n->in[0]->type.rank);
	if (out)
		n->out[0]->type = turned_type(p->l.cx, n->out[0]->type, 0);
	if (same) {
		n->onnx = onnx_find(ONNX_Identity, l->cx->opt.opset);
		n->nattrs = 0;
		return n;
	}
	set_attrs(l, n, "perm", AT_INTS, n->in[0]->type.rank, perm);
	if (in && !out) {
		l->inside = insert_same_shape(l->cx, b, l->inside, n->in[0]);
		n->in[0] = l->inside->out[0];
	}
	if (in || !out)
		return n;
	struct value *v = n->out[0];
	n->out[0] = graph_value(l->cx, v->type, v->span);
	n->out[0]->def = n;
	struct node *parted = insert_same_shape(l->cx, b, n, n->out[0]);
	parted->out[0] = v;
	v->def = parted;
	return parted;
}

static void turn_all(struct points *p, struct block *b)
{
	for (struct node *n = b->first, *last; n; p->l.inside = last, n = last->next) {
		last = n;
		if (!on_turned_side(p, n))
			continue;
		struct type *old = new_array(p->l.cx->scratch, struct type, n->nout);
		for (uint32_t i = 0; i < n->nout; i++)
			old[i] = n->out[i]->type;
		bool gives = gives_turned(p, n);
		if (is_transpose(n))
			last = turn_transpose(p, b, n);
		else
			turn_node(&p->l, n);
		struct node *maker = last;
		for (uint32_t i = 0; gives && i < maker->nout; i++) {
			if (old[i].rank < 2)
				continue;
			if (p->read[maker->out[i]->id].others)
				last = turn_back(p, b, last, maker, i, old[i]);
			else
				set_place(&p->l, maker->out[i], TURNED);
		}
	}
}

void turn_points(struct ctx *cx, struct graph *g)
{
	struct points p = {.l = {.cx = cx, .n = cx->next_id, .apart = true}};
	uint32_t n = p.l.n, nodes = g->block->nnodes + 1;

	if (!find_points(&p, g->block))
		return;
	p.l.place = new_array(cx->scratch, uint8_t, n);
	p.l.copy = new_array(cx->scratch, struct copy, n);
	p.index = new_array(cx->scratch, uint32_t, n);
	p.read = new_array(cx->scratch, struct readers, n);
	p.nodes = new_array(cx->scratch, struct node *, nodes);
	p.multiplied = new_array(cx->scratch, bool, n);
	p.turned = new_array(cx->scratch, bool, nodes);
	p.group = new_array(cx->scratch, uint32_t, nodes);
	p.l.body = p.l.outer = g->block;
	if (!find_sides(&p, g))
		return;
	set_places(&p, g, false);
	turn_all(&p, g->block);
}
