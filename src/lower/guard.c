/*
 * guard.c: run-time checks. In: the equations between dims that inference assumed. Out: nodes that
 * make the run fail where one does not hold. ONNX Runtime checks neither dim names nor PyTensor's
 * rule that only lengths known to be 1 are stretched.
 *
 * A guard is Reshape(v, t) on a value v that is used, where t is 0 for each axis (0 keeps the
 * length) if both sides are equal, and -2 (which no Reshape takes) if not. Reshape moves no data. A
 * v of rank 0 goes through a Gather instead, at 0 or out of range. What only depends on inputs is
 * checked at the start, all of it at once; the rest on the result of the node that assumed it.
 */
#include <stdlib.h>
#include <string.h>

#include "low.h"

struct guard {
	dim a, b;
	struct span span;
	uint32_t order;
	bool done;
};

struct guards {
	struct guard *at; /* sorted by place */
	uint32_t n, left;
};

static int by_place(const void *x, const void *y)
{
	const struct guard *a = x, *b = y;

	if (a->span.begin != b->span.begin)
		return a->span.begin < b->span.begin ? -1 : 1;
	if (a->span.end != b->span.end)
		return a->span.end < b->span.end ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

void guards_init(struct build *b)
{
	const struct equation *e;
	uint32_t n = dim_equations(b->cx, &e);
	struct guards *g = new (b->cx->arena, struct guards);

	b->cse->shared->guards = g;
	if (!b->cx->opt.check_dims || b->target == PTGC_ONNX)
		return;
	g->at = new_array(b->cx->arena, struct guard, n + 1);
	for (uint32_t i = 0; i < n; i++)
		g->at[i] = (struct guard){.a = e[i].a, .b = e[i].b, .span = e[i].span, .order = i};
	g->n = g->left = n;
	qsort(g->at, n, sizeof(*g->at), by_place);
}

/*
 * What a guard reads must not be said by the type that the guard is there to check: the runtime
 * would answer from that.
 */
static void loosen(struct build *b, dim d)
{
	struct dim_view v = dim_view_raw(b->cx, d);

	if (v.form != DIM_ATOM) {
		for (uint32_t i = 0; i < v.nterms; i++)
			loosen(b, v.term[i]);
		return;
	}
	struct value *x = v.source ? v.source->low : NULL;
	if (v.kind != SOURCE_SIZE || !x || !x->def)
		return;
	dim *dims = new_array(b->cx->arena, dim, x->type.rank);
	memcpy(dims, x->type.dims, x->type.rank * sizeof(dim));
	dims[v.at] = dim_fresh(b->cx, SOURCE_SIZE, x, v.at);
	x->type.dims = dims;
}

/* Both sides as int64[1]; false: they are one and the same. */
static bool sides(struct build *b, dim x, dim y, struct value **vx, struct value **vy)
{
	loosen(b, x);
	loosen(b, y);
	b->cse->shared->raw_dims = true;
	*vx = dim_vector(b, x);
	*vy = dim_vector(b, y);
	b->cse->shared->raw_dims = false;
	return *vx != *vy && !((*vx)->data && (*vy)->data);
}

static bool computable(struct build *b, const struct guard *g)
{
	b->cse->shared->raw_dims = true;
	bool ok = dim_available(b, g->a) && dim_available(b, g->b);
	b->cse->shared->raw_dims = false;
	return ok;
}

static struct value *full(struct build *b, int64_t k, uint32_t n)
{
	int64_t v[MAX_RANK] = {0};

	for (uint32_t i = 0; i < n; i++)
		v[i] = k;
	return const_ints(b, v, n);
}

/* 0 for each of v's axes where x equals y, something below -1 where not. (Of a Concat of one value
 * and constants ONNX Runtime would make a constant with a -1, and the check would be gone.) */
static struct value *shape_or_error(struct build *b, struct value *equal, uint32_t count,
				    uint32_t rank)
{
	if (count == 1 || count == rank)
		return emit_(b, "Where", equal, full(b, 0, rank), full(b, -2, rank));
	struct value *t = emit_(b, "Where", equal, full(b, 0, 1), full(b, 1, 1));
	t = reduce(b, "ReduceMax", t, &(int){0}, 1, true);
	return emit_(b, "Mul", t, full(b, -2, rank));
}

/* v, or a failing run */
static struct value *guarded(struct build *b, struct value *v, struct value **x, struct value **y,
			     uint32_t n)
{
	struct value *equal = emit_(b, "Equal", concat(b, 0, x, n), concat(b, 0, y, n)), *r;
	const dim *dims = v->type.dims;

	b->cse->shared->small_ints = true;
	if (v->type.rank) {
		r = emit_(b, "Reshape", v, shape_or_error(b, equal, n, v->type.rank));
		b->cse->shared->small_ints = false;
		return with_dims(r, dims);
	}
	r = emit_(b, "Where", equal, full(b, 0, 1), full(b, 1, 1));
	r = scalar_of(b, n == 1 ? r : reduce(b, "ReduceMax", r, &(int){0}, 1, true));
	b->cse->shared->small_ints = false;
	return emit_(b, "Gather", vector_of(b, v), r);
}

/* v, or a failing run where one of these axes has length 0 */
struct value *guard_nonempty(struct build *b, struct value *v, const int *axes, int n)
{
	struct value *lengths[MAX_RANK];
	uint32_t count = 0;

	if (!b->cx->opt.check_dims || b->target == PTGC_ONNX)
		return v;
	for (int i = 0; i < n; i++)
		if (!dim_ge(b->cx, v->type.dims[axes[i]], 1))
			lengths[count++] = dim_vector(b, v->type.dims[axes[i]]);
	if (!count)
		return v;
	struct value *some = emit_(b, "Greater", concat(b, 0, lengths, count), full(b, 0, 1));
	b->cse->shared->small_ints = true;
	struct value *shape = shape_or_error(b, some, count, v->type.rank);
	b->cse->shared->small_ints = false;
	const dim *dims = v->type.dims;
	return with_dims(emit_(b, "Reshape", v, shape), dims);
}

/* How often nodes read the data of graph parameters (their sizes do not count). */
static void count_uses(struct block *k)
{
	for (struct node *n = k->first; n; n = n->next) {
		if (n->op != &op_table[OP_Shape] && n->op != &op_table[OP_Shape_i])
			for (uint32_t i = 0; i < n->nin; i++)
				if (n->in[i])
					n->in[i]->uses++;
		if (n->blocks)
			for (uint32_t i = 0; i < (n->op == &op_if ? 2u : 1u); i++)
				count_uses(n->blocks[i]);
	}
	for (uint32_t i = 0; i < k->results.len; i++)
		k->results.at[i]->uses++;
}

/* A parameter that is used, which the check can go through: the last one of rank 1 and more. */
static struct value *carrier(struct block *k)
{
	struct value *scalar = NULL;

	for (uint32_t i = k->params.len; i-- > 0;) {
		struct value *p = k->params.at[i];
		if (p->uses && p->type.dtype && p->type.rank)
			return p;
		if (p->uses && p->type.dtype)
			scalar = p;
	}
	return scalar;
}

/* Does the type of an input say it already? Then ONNX Runtime checks it. */
static bool in_type(struct build *b, dim x, dim y)
{
	struct dim_view v = dim_view_raw(b->cx, x), w = dim_view_raw(b->cx, y);

	return (v.form == DIM_ATOM && v.kind == SOURCE_SIZE && w.form == DIM_CONST && v.source &&
		!v.source->def) ||
	       (w.form == DIM_ATOM && w.kind == SOURCE_SIZE && v.form == DIM_CONST && w.source &&
		!w.source->def);
}

/* Every axis of an input whose length is said by something else. */
static uint32_t param_sides(struct build *b, struct block *k, struct value **x, struct value **y)
{
	uint32_t n = 0;
	int64_t c;

	for (uint32_t i = 0; i < k->params.len; i++) {
		struct value *p = k->params.at[i];
		for (uint32_t j = 0; j < p->type.rank && n < MAX_KNOWN; j++) {
			dim d = p->type.dims[j];
			struct dim_view v = dim_view_raw(b->cx, d);
			if (dim_is_const(b->cx, d, &c) || !dim_available(b, d) ||
			    (v.form == DIM_ATOM && v.kind == SOURCE_SIZE && v.source == p &&
			     v.at == j))
				continue;
			b->cse->shared->raw_dims = true;
			if (dim_available(b, d)) {
				y[n] = dim_vector(b, d);
				x[n] = shape_slice(b, p->low, (int)j, (int)j + 1);
				n += x[n] != y[n];
			}
			b->cse->shared->raw_dims = false;
		}
	}
	return n;
}

/* What inputs alone decide, before anything else is computed. */
void guards_inputs(struct build *b, struct graph *from)
{
	struct guards *g = b->cse->shared->guards;
	struct value *x[2 * MAX_KNOWN], *y[2 * MAX_KNOWN], *p;

	if (!g->at)
		return;
	count_uses(from->block);
	uint32_t n = param_sides(b, from->block, x, y);
	for (uint32_t i = 0; i < g->n; i++) {
		if (n == countof(x) || !computable(b, &g->at[i]))
			continue;
		g->at[i].done = true;
		g->left--;
		b->span = g->at[i].span;
		n += !in_type(b, g->at[i].a, g->at[i].b) &&
		     sides(b, g->at[i].a, g->at[i].b, &x[n], &y[n]);
	}
	p = n ? carrier(from->block) : NULL;
	if (!p)
		return;
	p->low = guarded(b, p->low, x, y, n);
}

/* Those that were assumed at this place, on v. */
struct value *guards_at(struct build *b, struct span span, struct value *v)
{
	struct guards *g = b->cse->shared->guards;
	struct value *x[MAX_KNOWN], *y[MAX_KNOWN];
	uint32_t lo = 0, hi = g->n, n = 0;

	if (!g->left || v->data)
		return v;
	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;
		if (g->at[mid].span.begin < span.begin)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < g->n && g->at[lo].span.begin == span.begin && n < MAX_KNOWN; lo++) {
		struct guard *e = &g->at[lo];
		if (e->done || e->span.end != span.end || !computable(b, e))
			continue;
		e->done = true;
		g->left--;
		n += sides(b, e->a, e->b, &x[n], &y[n]);
	}
	return n ? guarded(b, v, x, y, n) : v;
}

/* The rest, on a result of the graph. */
struct value *guards_rest(struct build *b, struct value *v)
{
	struct guards *g = b->cse->shared->guards;
	struct value *x[MAX_KNOWN], *y[MAX_KNOWN];
	uint32_t n = 0;

	if (!g->left || v->data)
		return v;
	for (uint32_t i = 0; i < g->n && n < MAX_KNOWN; i++) {
		if (g->at[i].done || !computable(b, &g->at[i]))
			continue;
		g->at[i].done = true;
		g->left--;
		n += sides(b, g->at[i].a, g->at[i].b, &x[n], &y[n]);
	}
	return n ? guarded(b, v, x, y, n) : v;
}
