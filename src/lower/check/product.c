/*
 * product.c: equations that a matrix product checks by itself. MatMul and Gemm fail where the
 * lengths that they add along differ, so such an equation needs no node. In: the final graph, and
 * the equation. Must hold: the product surely runs, and both factors have these very lengths by
 * their own nature, not by a computed shape, which may have been computed from the other side.
 *
 * A factor x + c has the length of x only where c has it too. That is another equation, which is
 * relied on then: it gets nodes, or a product found before checks it, but not one that is found
 * later, as two products could rely on each other.
 */
#include <stdlib.h>

#include "lower/check/internal.h"

#define MAX_STEPS    64   /* nodes that are looked at on the way from a factor */
#define MAX_ADDED    8    /* values that were broadcast on the way */
#define MAX_PRODUCTS 8    /* products of one length that are tried */
#define MAX_CHECKS   1024 /* equations that are looked through */

bool is_product(const struct node *n)
{
	if (computes(n, ONNX_MatMul))
		return n->in[0]->type.rank && n->in[1]->type.rank;
	return computes(n, ONNX_Gemm) && !n->nattrs; /* without transA, transB */
}

static int by_length(const void *x, const void *y)
{
	const struct product *a = x, *b = y;

	return a->inner < b->inner ? -1 : a->inner > b->inner;
}

void find_products(struct ctx *cx, struct products *p, const struct block *k)
{
	for (struct walk w = {.root = k}; walk(&w, WALK_BEFORE);) {
		struct node *n = w.at.node;
		if (n->dead) {
			walk_past(&w);
		} else if (is_product(n) && p->needed[n->out[0]->id]) {
			const struct type *t = &n->in[0]->type;
			dim inner = dim_find(cx, t->dims[summed_axis(n, 0)]);
			*vec_push(cx->scratch, &p->list) =
				(struct product){.inner = inner, .node = n, .block = w.at.block};
		}
	}
	if (p->list.len)
		qsort(p->list.at, p->list.len, sizeof(*p->list.at), by_length);
}

/* What is given: no length of it was computed. */
static bool is_given(const struct value *v)
{
	return v->data || !v->def;
}

/* An axis on its way back to where it has its length from. */
struct trace {
	struct value *v;
	uint32_t axis;
	struct side added[MAX_ADDED]; /* given values that were broadcast with it: of, axis */
	uint32_t n;
};

/* From one axis of a broadcast to the first input that has it; false: another one may stretch it.
 */
static bool step_broadcast(struct build *b, const struct node *n, struct trace *t)
{
	uint32_t rank = n->out[0]->type.rank, at = t->axis;

	t->v = NULL;
	for (uint32_t i = 0; i < n->nin; i++) {
		struct value *v = n->in[i];
		uint32_t lost = rank - v->type.rank;
		if (at < lost || dim_is(b->cx, v->type.dims[at - lost], 1))
			continue;
		if (!t->v) {
			t->v = v;
			t->axis = at - lost;
		} else if (is_given(v) && t->n < MAX_ADDED) {
			t->added[t->n++] = (struct side){.of = v, .axis = at - lost};
		} else {
			return false;
		}
	}
	return t->v != NULL;
}

/* From one axis behind an Unsqueeze, which is none of those that it adds. */
static bool step_unsqueeze(const struct node *n, struct trace *t)
{
	uint64_t added = onnx_axis_bits(n, n->out[0]->type.rank);
	uint32_t before = 0;

	for (uint32_t i = 0; i < t->axis; i++)
		before += added >> i & 1;
	if (!added || added >> t->axis & 1)
		return false;
	t->axis -= before;
	t->v = n->in[0];
	return true;
}

/* From one axis of n's result to the value that it has it from. */
static bool step(struct build *b, const struct node *n, struct trace *t)
{
	enum onnx_lengths kind = onnx_lengths(n->onnx);

	if (kind == ONNX_BROADCAST_LENGTHS)
		return step_broadcast(b, n, t);
	if (is_product(n) && n->in[0]->type.rank == 2 && n->in[1]->type.rank == 2) {
		t->v = n->in[t->axis];
		return true;
	}
	if (computes(n, ONNX_Unsqueeze))
		return step_unsqueeze(n, t);
	if (computes(n, ONNX_Transpose))
		t->axis = onnx_perm(n, t->axis);
	else if (kind != ONNX_FIRST_LENGTHS)
		return false;
	t->v = n->in[0];
	return true;
}

static bool is_axis(const struct side *s, const struct value *v, uint32_t axis)
{
	return s->of == v && s->axis == axis;
}

/* Another equation than c that makes the two lengths, of given values, equal: `relied` is set to it
 * if that is one which needs nodes. */
static bool axes_are_equal(struct build *b, struct products *p, const struct check *c,
			   const struct side *s, const struct side *t, struct check **relied)
{
	dim d = s->of->type.dims[s->axis], e = t->of->type.dims[t->axis];
	int64_t k;

	*relied = NULL;
	if (dim_is_const(b->cx, d, &k) && dim_eq(b->cx, d, e)) /* their types say that */
		return true;
	for (uint32_t i = 0; i < p->checks.len && i < MAX_CHECKS; i++) {
		struct check *other = p->checks.at[i];
		struct side x, y;
		sides_of(b, other, &x, &y);
		if (other != c && ((is_axis(&x, s->of, s->axis) && is_axis(&y, t->of, t->axis)) ||
				   (is_axis(&y, s->of, s->axis) && is_axis(&x, t->of, t->axis)))) {
			*relied = other;
			return true;
		}
	}
	return false;
}

/* Has that axis of v the length s for sure? What is relied on for that is added to `relied`. */
static bool surely_has_length(struct build *b, struct products *p, const struct check *c,
			      struct value *v, uint32_t axis, const struct side *s,
			      struct check **relied, uint32_t *n)
{
	struct trace t = {.v = v, .axis = axis};
	bool found = false;

	for (uint32_t i = 0; i < MAX_STEPS && t.v != s->of && !is_given(t.v); i++) {
		const struct node *d = t.v->def;
		if (!d->onnx || d->out[0] != t.v || !step(b, d, &t))
			return false;
	}
	struct side last = {.of = t.v, .axis = t.axis};
	if (t.v == s->of)
		found = t.axis == s->axis;
	else if (!is_given(t.v))
		return false;
	else if (!s->of)
		found = dim_view_as_made(b->cx, s->d).form == DIM_CONST &&
			dim_eq(b->cx, t.v->type.dims[t.axis], s->d);
	for (uint32_t i = 0; i < t.n; i++) {
		found |= is_axis(s, t.added[i].of, t.added[i].axis);
		if (!axes_are_equal(b, p, c, &last, &t.added[i], &relied[*n]))
			return false;
		*n += relied[*n] != NULL;
	}
	return found;
}

static bool compares(struct build *b, struct products *p, const struct check *c,
		     const struct node *n, const struct side *x, const struct side *y)
{
	struct value *l = n->in[0], *r = n->in[1];
	uint32_t i = summed_axis(n, 0), j = summed_axis(n, 1), count = 0;
	struct check *relied[2 * MAX_ADDED + 1];

	if (!surely_has_length(b, p, c, l, i, x, relied, &count) ||
	    !surely_has_length(b, p, c, r, j, y, relied, &count))
		return false;
	while (count)
		relied[--count]->relied_on = true;
	return true;
}

/* The node fails for each equation that it checks, and has all of them as its name. */
static void note_sides(struct build *b, struct products *p, struct node *n, const struct side *x,
		       const struct side *y)
{
	struct checking *c = NULL;

	for (uint32_t i = 0; i < p->found.len && !c; i++)
		c = p->found.at[i].node == n ? &p->found.at[i] : NULL;
	if (!c) {
		c = vec_push(b->cx->scratch, &p->found);
		*c = (struct checking){.node = n};
	}
	*vec_push(b->cx->arena, &c->sides.x) = *x;
	*vec_push(b->cx->arena, &c->sides.y) = *y;
}

bool product_checks(struct build *b, struct products *p, struct check *c, const struct block *k)
{
	dim d = dim_find(b->cx, c->a);
	uint32_t lo = 0, hi = p->list.len;
	struct side x, y;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;
		if (p->list.at[mid].inner < d)
			lo = mid + 1;
		else
			hi = mid;
	}
	sides_of(b, c, &x, &y);
	for (uint32_t i = lo; i < p->list.len && i < lo + MAX_PRODUCTS && !c->relied_on; i++) {
		const struct product *m = &p->list.at[i];
		if (m->inner != d)
			return false;
		if (m->block == k &&
		    (compares(b, p, c, m->node, &x, &y) || compares(b, p, c, m->node, &y, &x))) {
			note_sides(b, p, m->node, &x, &y);
			return true;
		}
	}
	return false;
}
