/*
 * tile.c: reshape(), which looks first whether its result is a Tile: what is stretched along new
 * axes and then reshaped, or a Gather where it is short (pt.tile and pt.repeat). Other reshapes:
 * reshape.c. In: a value, and the dims that it is reshaped to. Out: the same elements in the same
 * order. An Expand outside of a loop stays, as in the loop a Tile would be made in each step. Must
 * hold: the reshape was proved to fit.
 */
#include <string.h>

#include "lower/internal.h"

#define MAX_ROWS 1024 /* of a Gather: its indices are in the model */

/* The axes of an Expand, in order; those of length 1 that stay are left out. */
struct stretch {
	struct value *x; /* what is stretched, without new axes of length 1 */
	uint32_t n;
	dim len[MAX_RANK];
	bool again[MAX_RANK]; /* it says how often what stands behind it comes */
};

/* An axis of the result of the reshape: one axis or more of the Expand, or none */
struct span_of_axes {
	uint32_t from, to;
	dim kept, again; /* products of the two kinds */
	bool ordered;    /* those that say how often come first */
	bool checked;    /* no two negative numbers of `again` make one that is not */
};

static bool stretch_of(struct build *b, struct value *v, struct stretch *s)
{
	const struct node *n = v->def;
	struct value *x = is_onnx(n, ONNX_Expand) ? n->in[0] : NULL;

	if (!x || defining_block(b, v) != b->block || x->type.rank > v->type.rank)
		return false;
	uint32_t lead = v->type.rank - x->type.rank;
	for (uint32_t i = 0; i < v->type.rank; i++) {
		dim d = v->type.dims[i];
		bool one = i < lead || dim_is(b->cx, x->type.dims[i - lead], 1);
		if (!one && !dim_eq(b->cx, x->type.dims[i - lead], d))
			return false;
		if (dim_is(b->cx, d, 1))
			continue;
		s->len[s->n] = d;
		s->again[s->n++] = one;
	}
	while (is_onnx(x->def, ONNX_Unsqueeze))
		x = x->def->in[0];
	s->x = x;
	return true;
}

/* Which axes make up each axis of the result; false: that cannot be told */
static bool grouped(struct build *b, const struct stretch *s, const dim *dims, uint32_t rank,
		    struct span_of_axes *to)
{
	struct ctx *cx = b->cx;
	uint32_t at = 0;

	for (uint32_t i = 0; i < rank; i++) {
		struct span_of_axes g = {.from = at, .ordered = true, .checked = true};
		uint32_t weak = 0, small = 0;
		dim all = g.kept = g.again = dim_const(cx, 1);
		bool kept = false;
		while (!dim_eq(cx, all, dims[i])) {
			if (at == s->n)
				return false;
			dim d = s->len[at];
			all = dim_mul(cx, all, d);
			kept |= !s->again[at];
			if (s->again[at]) {
				g.again = dim_mul(cx, g.again, d);
				g.ordered &= !kept;
				weak += !dim_ge(cx, d, 0);
				small += !dim_ge(cx, d, 1);
			} else {
				g.kept = dim_mul(cx, g.kept, d);
			}
			at++;
		}
		g.checked = !weak || (weak == 1 && small == 1);
		g.to = at;
		to[i] = g;
	}
	return at == s->n;
}

static struct value *tile(struct build *b, struct value *x, const dim *times)
{
	uint32_t rank = x->type.rank;
	dim *dims = new_array(b->cx->arena, dim, rank + 1);
	bool sure = true;

	for (uint32_t i = 0; i < rank; i++) {
		dims[i] = dim_mul(b->cx, x->type.dims[i], times[i]);
		sure &= dim_ge(b->cx, times[i], 0);
	}
	struct value *r = emit_(b, ONNX_Tile, x, dims_vector(b, times, rank));
	return with_dims(sure ? r : labelled(b, r, "numbers of repeats must not be negative"),
			 dims);
}

/* pt.repeat of an axis of few elements: false, it is not that */
static bool repeats_rows(struct build *b, const struct stretch *s, const struct span_of_axes *g,
			 const dim *dims, uint32_t rank, struct value **out)
{
	int64_t len, times, row[MAX_ROWS];
	uint32_t axis = rank;

	if (s->x->type.rank != rank)
		return false;
	for (uint32_t i = 0; i < rank; i++) {
		if (!dim_eq(b->cx, s->x->type.dims[i], g[i].kept) || (!g[i].ordered && axis < rank))
			return false;
		axis = g[i].ordered ? axis : i;
		if (g[i].ordered && !dim_is(b->cx, g[i].again, 1))
			return false;
	}
	if (axis == rank || g[axis].to != g[axis].from + 2 || s->again[g[axis].from] ||
	    !dim_is_const(b->cx, g[axis].kept, &len) ||
	    !dim_is_const(b->cx, g[axis].again, &times) || len > MAX_ROWS || times > MAX_ROWS ||
	    len * times > MAX_ROWS)
		return false;
	for (int64_t i = 0; i < len * times; i++)
		row[i] = i / times;
	if (axis)
		attr_int(b, "axis", axis);
	*out = emit_(b, ONNX_Gather, s->x, const_ints(b, row, (uint32_t)(len * times)));
	*out = with_dims(*out, dims);
	return true;
}

/* How often each axis of x comes: an axis of the Expand that says so stands before it. One more
 * number is for what stands behind the last one. */
static bool times_of_axes(struct build *b, const struct stretch *s, dim *times)
{
	const struct type *t = &s->x->type;
	uint32_t axis = 0;

	for (uint32_t i = 0; i <= t->rank; i++)
		times[i] = dim_const(b->cx, 1);
	for (uint32_t i = 0; i < s->n; i++) {
		if (s->again[i]) {
			if (!dim_is(b->cx, times[axis], 1) &&
			    !(dim_ge(b->cx, times[axis], 1) && dim_ge(b->cx, s->len[i], 1)))
				return false;
			times[axis] = dim_mul(b->cx, times[axis], s->len[i]);
			continue;
		}
		while (axis < t->rank && dim_is(b->cx, t->dims[axis], 1))
			axis++;
		if (axis == t->rank || !dim_eq(b->cx, t->dims[axis], s->len[i]))
			return false;
		axis++;
	}
	return true;
}

struct value *reshape_as_tile(struct build *b, struct value *v, const dim *dims, uint32_t rank)
{
	struct stretch s = {0};
	struct span_of_axes g[MAX_RANK];
	dim times[MAX_RANK + 1];
	bool ordered = true, kept = false;
	struct value *r;

	if (!stretch_of(b, v, &s) || !grouped(b, &s, dims, rank, g))
		return NULL;
	for (uint32_t i = 0; i < s.n; i++) {
		kept |= !s.again[i];
		if (!dim_available(b, s.len[i]))
			return NULL;
	}
	for (uint32_t i = 0; i < rank; i++)
		ordered &= g[i].ordered && g[i].checked;
	if (!kept)
		return NULL;
	if (ordered) {
		dim *base = new_array(b->cx->arena, dim, rank);
		for (uint32_t i = 0; i < rank; i++) {
			base[i] = g[i].kept;
			times[i] = g[i].again;
		}
		return with_dims(tile(b, reshape(b, s.x, base, rank), times), dims);
	}
	if (repeats_rows(b, &s, g, dims, rank, &r))
		return r;
	if (!times_of_axes(b, &s, times) || s.x->type.rank == MAX_RANK)
		return NULL;
	r = s.x;
	if (!dim_is(b->cx, times[r->type.rank], 1))
		r = unsqueeze(b, r, &(int64_t){r->type.rank}, 1);
	return reshape(b, tile(b, r, times), dims, rank);
}

struct value *reshape(struct build *b, struct value *v, const dim *dims, uint32_t rank)
{
	struct value *r = reshape_if_simple(b, v, dims, rank);

	r = r ? r : reshape_as_tile(b, v, dims, rank);
	return r ? r : reshape_node(b, v, dims, rank);
}
