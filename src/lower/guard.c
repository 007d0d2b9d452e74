/*
 * guard.c: run-time checks. In: the equations between dims that inference assumed. Out: nodes that
 * make the run fail where one does not hold. ONNX Runtime checks neither dim names nor PyTensor's
 * rule that only lengths known to be 1 are stretched.
 *
 * A guard is Reshape(v, t) on a value v that is used, where t is 0 for each axis (0 keeps the
 * length) if both sides are equal, and -2 (which no Reshape takes) if not. Reshape moves no data. A
 * v of rank 0 goes through a Gather instead, at 0 or out of range. What only depends on inputs is
 * checked at the start, all of it at once; the rest on the result of the node that assumed it.
 *
 * An input of one open length, which another size says, needs no comparison: Reshape to that size
 * fails by itself, because the number of elements is another one.
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

/* One equation: int64[1] on both sides, and the axes that they are the sizes of (NULL: computed) */
struct side {
	struct value *v, *of, *from; /* from: what `of` was typed as */
	uint32_t axis;
	dim d;
};

static struct side computed_side(struct build *b, dim d, struct value *v)
{
	struct dim_view w = dim_view_raw(b->cx, d);
	bool size = w.form == DIM_ATOM && w.kind == SOURCE_SIZE && w.source && !w.source->data;

	if (!size)
		return (struct side){.v = v, .d = d};
	return (struct side){.v = v, .of = w.source->low, .from = w.source, .axis = w.at, .d = d};
}

/* Both sides as int64[1]; false: they are one and the same. */
static bool sides(struct build *b, dim dx, dim dy, struct side *x, struct side *y)
{
	loosen(b, dx);
	loosen(b, dy);
	b->cse->shared->raw_dims = true;
	*x = computed_side(b, dx, dim_vector(b, dx));
	*y = computed_side(b, dy, dim_vector(b, dy));
	b->cse->shared->raw_dims = false;
	return x->v != y->v && !(x->v->data && y->v->data);
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

/* How many sides from s[0] on are consecutive axes of one value. */
static uint32_t run_of_axes(const struct side *s, uint32_t n)
{
	uint32_t k = 1;

	while (s[0].of && k < n && s[k].of == s[0].of && s[k].axis == s[0].axis + k)
		k++;
	return k;
}

static struct value *sizes(struct build *b, const struct side *s, uint32_t n)
{
	if (n == 1)
		return s[0].v;
	b->cse->shared->raw_dims = true;
	struct value *r = shape_slice(b, s[0].of, (int)s[0].axis, (int)(s[0].axis + n));
	b->cse->shared->raw_dims = false;
	return r;
}

static struct value *joined(struct build *b, const struct side *s, uint32_t n)
{
	struct value *part[2 * MAX_KNOWN];
	uint32_t count = 0;

	for (uint32_t i = 0, k; i < n; i += k) {
		k = run_of_axes(s + i, n - i);
		part[count++] = sizes(b, s + i, k);
	}
	return concat(b, 0, part, count);
}

/* Bools, of which each must be true: `rank` or one of them if that is not dearer. */
static struct value *all_equal(struct build *b, const struct side *x, const struct side *y,
			       uint32_t n, uint32_t rank, uint32_t *count)
{
	struct value *equal[3] = {NULL}, *r;
	uint32_t parts = 0;

	*count = 1;
	for (uint32_t i = 0, k; i < n; i += k) {
		uint32_t kx = run_of_axes(x + i, n - i), ky = run_of_axes(y + i, n - i);
		k = kx < ky ? kx : ky;
		if (parts == countof(equal) || (k != 1 && k != rank)) {
			*count = n;
			return emit_(b, "Equal", joined(b, x, n), joined(b, y, n));
		}
		equal[parts++] = emit_(b, "Equal", sizes(b, x + i, k), sizes(b, y + i, k));
		*count = k > *count ? k : *count;
	}
	r = equal[0];
	for (uint32_t i = 1; i < parts; i++)
		r = emit_(b, "And", r, equal[i]);
	return r;
}

/* v, or a failing run */
static struct value *guarded(struct build *b, struct value *v, const struct side *x,
			     const struct side *y, uint32_t n)
{
	uint32_t count;
	struct value *equal = all_equal(b, x, y, n, v->type.rank, &count), *r;
	const dim *dims = v->type.dims;

	b->cse->shared->small_ints = true;
	if (v->type.rank) {
		r = emit_(b, "Reshape", v, shape_or_error(b, equal, count, v->type.rank));
		b->cse->shared->small_ints = false;
		return with_dims(r, dims);
	}
	r = emit_(b, "Where", equal, full(b, 0, 1), full(b, 1, 1));
	r = scalar_of(b, count == 1 ? r : reduce(b, "ReduceMax", r, &(int){0}, 1, true));
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
static uint32_t param_sides(struct build *b, struct block *k, struct side *x, struct side *y)
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
				y[n] = computed_side(b, d, dim_vector(b, d));
				x[n] = (struct side){.of = p->low, .from = p, .axis = j};
				x[n].v = shape_slice(b, p->low, (int)j, (int)j + 1);
				n += x[n].v != y[n].v;
			}
			b->cse->shared->raw_dims = false;
		}
	}
	return n;
}

/* Is the size, as it is computed, below 0 for no input? Reshape takes -1 for any length. */
static bool never_negative(struct build *b, dim d, int *budget)
{
	struct dim_view v = dim_view_raw(b->cx, d);
	bool one = false, all = true;

	if (--*budget < 0 || v.form == DIM_CONST)
		return *budget >= 0 && v.constant >= 0;
	if (v.form == DIM_ATOM)
		return v.kind == SOURCE_SIZE;
	for (uint32_t i = 0; i < v.nterms; i++) {
		bool ok = never_negative(b, v.term[i], budget);
		one |= ok;
		all &= ok && (v.form != DIM_SUM || v.coef[i] >= 0);
	}
	return v.form == DIM_MAX ? one : all && (v.form != DIM_SUM || v.constant >= 0);
}

/* Is s an axis of a parameter whose data is used, and the only one that is open? */
static bool is_open_param(struct build *b, struct block *k, const struct side *s, bool vector)
{
	struct value *p = s->from;
	uint32_t i = 0;

	while (i < k->params.len && k->params.at[i] != p)
		i++;
	if (i == k->params.len || !p->uses || !p->type.dtype || (vector && p->type.rank > 1))
		return false;
	for (uint32_t j = 0; j < p->type.rank; j++) {
		int64_t c = 0;
		if (j != s->axis && (!dim_is_const(b->cx, p->type.dims[j], &c) || c < 1))
			return false;
	}
	return true;
}

/* The parameter at x in the shape that y says: another number of elements fails the run. */
static void reshape_param(struct build *b, const struct side *x, struct value *y)
{
	struct value *p = x->from;
	struct type t = p->type;
	int64_t shape[MAX_RANK], n = t.rank;
	bool *here = arena_alloc(b->cx->arena, MAX_RANK);

	for (uint32_t i = 0; i < t.rank; i++) {
		here[i] = i == x->axis;
		shape[i] = 1;
		dim_is_const(b->cx, t.dims[i], &shape[i]);
	}
	if (n > 1) {
		struct tensor *mask = tensor_new(b->cx, DT_BOOL, 1, &n);
		mask->data = here;
		y = emit_(b, "Where", const_tensor(b, mask), y, const_ints(b, shape, t.rank));
	}
	attr_int(b, "allowzero", 1);
	p->low = with_dims(emit_(b, "Reshape", p->low, y), t.dims);
}

static bool is_length(struct build *b, const struct side *s)
{
	int budget = 32;

	return s->of || never_negative(b, s->d, &budget);
}

/* Equations that one Reshape checks are done here; the others stay, from the front on. With more
 * than one axis the shape has to be made: that pays for a single equation only. */
static uint32_t by_reshape(struct build *b, struct block *k, struct side *x, struct side *y,
			   uint32_t n, bool vectors)
{
	uint32_t left = 0;

	if (!may_reshape_to_zero(b) || (!vectors && n != 1))
		return n;
	for (uint32_t i = 0; i < n; i++) {
		if (is_open_param(b, k, &x[i], vectors) && is_length(b, &y[i])) {
			reshape_param(b, &x[i], y[i].v);
		} else if (is_open_param(b, k, &y[i], vectors) && is_length(b, &x[i])) {
			reshape_param(b, &y[i], x[i].v);
		} else {
			x[left] = x[i];
			y[left++] = y[i];
		}
	}
	return left;
}

/* What inputs alone decide, before anything else is computed. */
void guards_inputs(struct build *b, struct graph *from)
{
	struct guards *g = b->cse->shared->guards;
	struct side x[2 * MAX_KNOWN], y[2 * MAX_KNOWN];
	struct value *p;

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
	n = by_reshape(b, from->block, x, y, n, true);
	n = by_reshape(b, from->block, x, y, n, false);
	p = n ? carrier(from->block) : NULL;
	if (!p)
		return;
	p->low = guarded(b, p->low, x, y, n);
}

/* Those that were assumed at this place, on v. */
struct value *guards_at(struct build *b, struct span span, struct value *v)
{
	struct guards *g = b->cse->shared->guards;
	struct side x[MAX_KNOWN], y[MAX_KNOWN];
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
	struct side x[MAX_KNOWN], y[MAX_KNOWN];
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
