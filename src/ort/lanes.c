/*
 * lanes.c: loops over many short arrays at once, as those of a model at 64 points are, whose state
 * is [points, 2]. ONNX Runtime's kernels go row by row along short last axes: of [64, 2, 2], an
 * Exp(x - Max(x)) along axis 1 takes 8 microseconds, of [2, 2, 64] along axis 0 it takes 3. In: a
 * graph of ONNX nodes, after all rewrites. Out: the same, in which bodies of such Scans have axis 0
 * of each array behind all others (a turned array). Transposes before and after the loop turn what
 * goes in and out.
 */
#include <string.h>

#include "onnx/onnx.h"
#include "ort/ort.h"
#include "rewrite/rewrite.h"

#define SHORT  8  /* elements of a last axis that is short */
#define ROW    64 /* elements behind axis 0, at most */
#define POINTS 16 /* along axis 0, at least */
#define STEPS  4  /* fewer are not worth the Transposes */

enum layout { OUTSIDE, AS_IT_IS, TURNED }; /* a value that is made in the body, or is not */

enum reads { READ_NOT, READ_BY_SUMS, READ };

struct copy {
	struct value *v; /* NULL: there is none */
	struct block *in;
	uint32_t rank; /* of what it is for */
};
struct lanes {
	struct ctx *cx;
	uint32_t n;        /* values that there were at first */
	uint8_t *read;     /* by value id: enum reads */
	uint8_t *place;    /* by value id: enum layout */
	struct copy *copy; /* by value id: the turned value */
	struct block *outer, *body;
	struct node *before; /* new nodes of the outer block go behind it */
	struct node *inside; /* and those of the body behind this one */
	dim points;
	bool pays;
};

static struct type turned_type(struct ctx *cx, struct type t, uint32_t from)
{
	struct type r = t;

	r.dims = new_array(cx->arena, dim, t.rank + 1u);
	for (uint32_t i = 0; i < t.rank; i++)
		r.dims[i] = t.dims[i < from ? i : i + 1u < t.rank ? i + 1 : from];
	return r;
}

static void set_attrs(struct lanes *l, struct node *n, const char *name, uint8_t kind,
		      uint32_t count, const int64_t *v)
{
	struct attr *all = new_array(l->cx->arena, struct attr, n->nattrs + 1u), *a = all;

	for (uint32_t i = 0; i < n->nattrs; i++)
		if (strcmp(n->attrs[i].name, name) != 0)
			*a++ = n->attrs[i];
	a->name = name;
	a->kind = kind;
	if (kind == AT_INT) {
		a->u.i = v[0];
	} else {
		a->n = count;
		a->u.ints =
			memcpy(new_array(l->cx->arena, int64_t, count + 1u), v, count * sizeof(*v));
	}
	n->attrs = all;
	n->nattrs = (uint16_t)(a - all + 1);
}

static struct value *int_list(struct lanes *l, const int64_t *v, uint32_t n, struct span span)
{
	struct tensor *t = tensor_new(l->cx, DT_INT64, 1, &(int64_t){n});

	t->data = memcpy(new_array(l->cx->arena, int64_t, n + 1u), v, n * sizeof(*v));
	return graph_constant(l->cx, t, span);
}

/* A Transpose of v behind *before, which moves axis `from` behind all others or, back, the last
 * axis there */
static struct node *turn(struct lanes *l, struct block *b, struct node **before, struct value *v,
			 uint32_t from, bool back)
{
	uint32_t rank = v->type.rank;
	int64_t perm[MAX_RANK];

	for (uint32_t i = 0; i < rank; i++)
		perm[i] = back           ? i < from     ? i
					    : i == from ? rank - 1
							: i - 1
			  : i < from     ? i
			  : i + 1 < rank ? i + 1
					 : from;
	*before = insert_node(l->cx, b, *before, ONNX_Transpose, &v, 1,
			      turned_type(l->cx, v->type, from), v->span);
	set_attrs(l, *before, "perm", AT_INTS, rank, perm);
	return *before;
}

static enum layout place_of(const struct lanes *l, const struct value *v)
{
	return v && v->id < l->n ? (enum layout)l->place[v->id] : OUTSIDE;
}

static bool is_turned(const struct lanes *l, const struct value *v)
{
	return place_of(l, v) == TURNED;
}

/* ---- can the body be turned? ---- */

static int64_t attr_axis(const struct node *n, uint32_t rank)
{
	const struct attr *a = find_attr(n, "axis");
	int64_t axis = a ? a->u.i : 0;

	return axis < 0 ? axis + rank : axis;
}

/* Does n name axes, and not axis 0? */
static bool spares_points(const int *axes, int count)
{
	for (int i = 0; i < count; i++)
		if (axes[i] <= 0)
			return false;
	return count > 0;
}

static bool can_turn_elements(struct lanes *l, const struct node *n)
{
	uint32_t rank = n->out[0]->type.rank;
	bool signs = is_onnx(n, ONNX_Where) && n->exact && l->cx->opt.signed_zeros;
	bool first = onnx_lengths(n->onnx) == ONNX_FIRST_LENGTHS;

	if (signs || (!first && onnx_lengths(n->onnx) != ONNX_BROADCAST_LENGTHS))
		return false;
	for (uint32_t i = 0; i < n->nin; i++) {
		const struct value *v = n->in[i];
		if (v && (first && i ? v->type.rank > 0 : is_turned(l, v) && v->type.rank != rank))
			return false;
	}
	return true;
}

static bool can_turn_reshape(struct lanes *l, const struct node *n)
{
	const struct type *from = &n->in[0]->type, *to = &n->out[0]->type;

	return from->rank == to->rank && from->rank && n->in[1]->data && n->in[1]->data->data &&
	       !n->in[1]->data->splat && dim_eq(l->cx, from->dims[0], to->dims[0]);
}

/* Can n, which reads a turned array, compute on it? */
static bool can_turn(struct lanes *l, const struct node *n)
{
	int axes[MAX_RANK];
	const struct attr *perm;
	uint32_t rank = n->nin && n->in[0] ? n->in[0]->type.rank : 0;

	if (n->as_written || n->nout < 1)
		return false;
	if (onnx_facts[n->onnx->id].each)
		return can_turn_elements(l, n);
	for (uint32_t i = !is_onnx(n, ONNX_Concat); i < n->nin; i++)
		if (is_turned(l, n->in[i]) && !is_onnx(n, ONNX_Concat))
			return false;
	if (onnx_lengths(n->onnx) == ONNX_REDUCED_LENGTHS)
		return spares_points(axes, onnx_reduced_axes(n, axes));
	switch (n->onnx->id) {
	case ONNX_Unsqueeze:
		return spares_points(axes, onnx_axes(n, n->out[0]->type.rank, axes));
	case ONNX_Squeeze:
		return spares_points(axes, onnx_axes(n, rank, axes));
	case ONNX_Transpose:
		perm = find_attr(n, "perm");
		return perm && !perm->u.ints[0];
	case ONNX_Concat:
	case ONNX_Split:
	case ONNX_Gather:
		return attr_axis(n, rank) > 0;
	case ONNX_Reshape:
		return can_turn_reshape(l, n);
	default:
		return false;
	}
}

static bool is_short(struct lanes *l, const struct type *t)
{
	int64_t n = 1, k = 1;

	if (t->rank < 2 || !dim_eq(l->cx, t->dims[0], l->points))
		return false;
	for (uint32_t i = 1; i < t->rank && n <= ROW; i++)
		n = dim_is_const(l->cx, t->dims[i], &k) && k <= ROW ? n * k : ROW + 1;
	return n > 1 && n <= ROW && k <= SHORT;
}

/* Does n go row by row along short axes? */
static bool is_slow(struct lanes *l, const struct node *n)
{
	bool reduces = onnx_lengths(n->onnx) == ONNX_REDUCED_LENGTHS;

	if (reduces)
		return is_short(l, &n->in[0]->type);
	if (onnx_lengths(n->onnx) != ONNX_BROADCAST_LENGTHS || !is_short(l, &n->out[0]->type))
		return false;
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && !is_single(l->cx, &n->in[i]->type) &&
		    !same_dims(l->cx, n->in[i]->type, n->out[0]->type))
			return true;
	return false;
}

/* The axis of the states that the body spares: the first of a state with short rows */
static bool find_points(struct lanes *l, uint32_t states)
{
	for (uint32_t i = 0; i < states; i++) {
		struct type t = l->body->params.at[i]->type;
		if (!t.rank)
			continue;
		l->points = t.dims[0];
		if (is_short(l, &t))
			return dim_expected(l->cx, l->points, POINTS) >= POINTS;
	}
	return false;
}

static void set_place(struct lanes *l, const struct value *v, enum layout p)
{
	if (v && v->id < l->n)
		l->place[v->id] = p;
}

/* Says for each value of the body whether it is turned. */
static bool find_places(struct lanes *l, uint32_t states)
{
	struct block *body = l->body;

	for (uint32_t i = 0; i < body->params.len; i++) {
		struct value *v = body->params.at[i];
		bool has = v->type.rank && dim_eq(l->cx, v->type.dims[0], l->points);
		set_place(l, v, has ? TURNED : AS_IT_IS);
	}
	for (struct node *n = body->first; n; n = n->next) {
		bool any = onnx_has_blocks(n->onnx);
		if (any)
			return false;
		for (uint32_t i = 0; i < n->nin; i++)
			any |= is_turned(l, n->in[i]);
		if (any && !can_turn(l, n))
			return false;
		for (uint32_t i = 0; i < n->nout; i++)
			set_place(l, n->out[i], any ? TURNED : AS_IT_IS);
		l->pays |= any && is_slow(l, n);
	}
	for (uint32_t i = 0; i < body->results.len; i++) {
		bool param = i < states && is_turned(l, body->params.at[i]);
		if (i < states && param != is_turned(l, body->results.at[i]))
			return false;
	}
	return l->pays;
}

static bool is_such_scan(struct lanes *l, const struct node *n, uint32_t *states)
{
	const struct attr *body = find_attr(n, "body"), *count = find_attr(n, "num_scan_inputs");
	int64_t steps;

	if (!is_onnx(n, ONNX_Scan) || n->as_written || n->nattrs != 2 || !body || !count)
		return false;
	l->body = body->u.block;
	l->pays = false;
	*states = n->nin - (uint32_t)count->u.i;
	const struct type *t = &n->in[*states]->type;
	return !l->body->checks.len &&
	       !(dim_is_const(l->cx, t->dims[0], &steps) && steps < STEPS) &&
	       find_points(l, *states) && find_places(l, *states);
}

/* ---- then turn it ---- */

/* v, which is not turned, as n reads it, whose result has `rank` axes and is turned */
static struct value *as_turned(struct lanes *l, struct value *v, uint32_t rank)
{
	bool outside = place_of(l, v) == OUTSIDE;
	struct node **before = outside ? &l->before : &l->inside;
	struct block *b = outside ? l->outer : l->body;
	struct copy *c = v->id < l->n ? &l->copy[v->id] : NULL;

	if (is_turned(l, v) || is_single(l->cx, &v->type))
		return v;
	if (c && c->v && c->in == b && c->rank == rank)
		return c->v;
	if (v->type.rank == rank) {
		turn(l, b, before, v, 0, false);
	} else {
		struct type t = v->type;
		int64_t axis = t.rank++;
		t.dims = new_array(l->cx->arena, dim, t.rank);
		memcpy(t.dims, v->type.dims, (size_t)axis * sizeof(dim));
		t.dims[axis] = dim_const(l->cx, 1);
		bool input = onnx_find(ONNX_Unsqueeze, l->cx->opt.opset)->nin > 1;
		struct value *in[2] = {v, int_list(l, &axis, 1, v->span)};
		*before = insert_node(l->cx, b, *before, ONNX_Unsqueeze, in, input ? 2 : 1, t,
				      v->span);
		if (!input)
			set_attrs(l, *before, "axes", AT_INTS, 1, &axis);
	}
	if (c)
		*c = (struct copy){(*before)->out[0], b, rank};
	return (*before)->out[0];
}

/* The axes that n names count one less. */
static void lower_axes(struct lanes *l, struct node *n, const int *axes, int count)
{
	int64_t list[MAX_RANK];

	for (int i = 0; i < count; i++)
		list[i] = axes[i] - 1;
	if (find_attr(n, "axes"))
		set_attrs(l, n, "axes", AT_INTS, (uint32_t)count, list);
	else
		n->in[1] = int_list(l, list, (uint32_t)count, n->span);
}

static void turn_node(struct lanes *l, struct node *n)
{
	uint32_t rank = n->in[0] ? n->in[0]->type.rank : 0, to = n->out[0]->type.rank;
	int64_t list[MAX_RANK];
	int axes[MAX_RANK];

	n->in = memcpy(new_array(l->cx->arena, struct value *, n->nin + 1u), n->in,
		       n->nin * sizeof(struct value *));
	if (onnx_facts[n->onnx->id].each || is_onnx(n, ONNX_Concat))
		for (uint32_t i = 0; i < n->nin; i++)
			n->in[i] = n->in[i] ? as_turned(l, n->in[i], to) : NULL;
	if (onnx_lengths(n->onnx) == ONNX_REDUCED_LENGTHS)
		lower_axes(l, n, axes, onnx_reduced_axes(n, axes));
	switch (n->onnx->id) {
	case ONNX_Unsqueeze:
		lower_axes(l, n, axes, onnx_axes(n, to, axes));
		break;
	case ONNX_Squeeze:
		lower_axes(l, n, axes, onnx_axes(n, rank, axes));
		break;
	case ONNX_Transpose:
		for (uint32_t i = 0; i < rank; i++)
			list[i] = i + 1 < rank ? find_attr(n, "perm")->u.ints[i + 1] - 1 : i;
		set_attrs(l, n, "perm", AT_INTS, rank, list);
		break;
	case ONNX_Concat:
	case ONNX_Split:
	case ONNX_Gather:
		list[0] = attr_axis(n, rank) - 1;
		set_attrs(l, n, "axis", AT_INT, 1, list);
		break;
	case ONNX_Reshape:
		for (uint32_t i = 0; i < rank; i++)
			tensor_int(n->in[1]->data, (i + 1) % rank, &list[i]);
		n->in[1] = int_list(l, list, rank, n->span);
		break;
	default:
		break;
	}
	for (uint32_t i = 0; i < n->nout; i++)
		n->out[i]->type = turned_type(l->cx, n->out[i]->type, 0);
}

/* What the Scan gives is turned now: a Transpose behind it gives the result. ONNX Runtime would
 * move that to where it takes longer, but for sums, which take less before it: a Reshape stops it.
 */
static void turn_result(struct lanes *l, struct node *scan, struct node **behind, uint32_t i,
			uint32_t from)
{
	struct value *old = scan->out[i];

	if (old->type.rank < from + 2u || !l->read[old->id])
		return;
	struct value *v = graph_value(l->cx, turned_type(l->cx, old->type, from), old->span);
	v->def = scan;
	scan->out[i] = v;
	turn(l, l->outer, behind, v, from, true)->out[0]->type = old->type;
	if (from && l->read[old->id] == READ)
		*behind = insert_same_shape(l->cx, l->outer, *behind, (*behind)->out[0]);
	old->def = *behind;
	(*behind)->out[0] = old;
}

/* Gives the last node that is new. */
static struct node *turn_scan(struct lanes *l, struct node *scan, uint32_t states)
{
	struct block *body = l->body;
	struct node *behind = scan;

	for (uint32_t i = 0; i < body->params.len; i++) {
		struct value *v = body->params.at[i];
		if (!is_turned(l, v))
			continue;
		uint32_t from = i >= states;
		v->type = turned_type(l->cx, v->type, 0);
		if (v->type.rank > 1)
			scan->in[i] =
				turn(l, l->outer, &l->before, scan->in[i], from, false)->out[0];
	}
	l->inside = NULL;
	for (struct node *n = body->first; n; l->inside = n, n = n->next) {
		bool any = false;
		for (uint32_t i = 0; i < n->nin; i++)
			any |= is_turned(l, n->in[i]);
		if (any)
			turn_node(l, n);
	}
	for (uint32_t i = 0; i < body->results.len; i++)
		if (is_turned(l, body->results.at[i]))
			turn_result(l, scan, &behind, i, i >= states);
	return behind;
}

static void note_read(struct lanes *l, const struct value *v, bool sums)
{
	if (v && v->id < l->n)
		l->read[v->id] = sums && l->read[v->id] != READ ? READ_BY_SUMS : READ;
}

/* Blocks nest as deep as loops and ifs of the input, which has a limit: these may recurse. */
static void find_reads(struct lanes *l, const struct block *b)
{
	for (uint32_t i = 0; i < b->results.len; i++)
		note_read(l, b->results.at[i], false);
	for (uint32_t i = 0; i < b->checks.len; i++)
		note_read(l, b->checks.at[i].cond, false);
	for (const struct node *n = b->first; n; n = n->next) {
		for (uint32_t i = 0; i < n->nin; i++)
			note_read(l, n->in[i], onnx_lengths(n->onnx) == ONNX_REDUCED_LENGTHS);
		for (uint32_t i = 0; i < n->nattrs; i++)
			if (n->attrs[i].kind == AT_GRAPH)
				find_reads(l, n->attrs[i].u.block);
	}
}

static void turn_block(struct lanes *l, struct block *b)
{
	struct node *before = NULL;
	uint32_t states;

	for (struct node *n = b->first; n; before = n, n = n->next) {
		for (uint32_t i = 0; i < n->nattrs; i++)
			if (n->attrs[i].kind == AT_GRAPH)
				turn_block(l, n->attrs[i].u.block);
		if (!is_such_scan(l, n, &states))
			continue;
		l->outer = b;
		l->before = before;
		n->in = memcpy(new_array(l->cx->arena, struct value *, n->nin + 1u), n->in,
			       n->nin * sizeof(struct value *));
		n = turn_scan(l, n, states);
	}
}

void turn_lanes(struct ctx *cx, struct graph *g)
{
	struct lanes l = {.cx = cx, .n = cx->next_id};

	if (!rewrite_is_on(cx, PASS_STRETCH) || !has_operator(g, ONNX_Scan))
		return;
	l.read = new_array(cx->scratch, uint8_t, l.n);
	l.place = new_array(cx->scratch, uint8_t, l.n);
	l.copy = new_array(cx->scratch, struct copy, l.n);
	find_reads(&l, g->block);
	for (uint32_t i = 0; i < g->states.len; i++)
		note_read(&l, g->states.at[i].next, false);
	for (uint32_t i = 0; i < g->kept.len; i++)
		note_read(&l, g->kept.at[i], false);
	turn_block(&l, g->block);
}
