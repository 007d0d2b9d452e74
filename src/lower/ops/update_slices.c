/*
 * update_slices.c: x[...].set(y) and x[...].inc(y) where the indices are slices of step 1, or
 * numbers. The places between elements where a slice begins and ends cut x into parts: zeros[1:3]
 * .set(y) is Pad(y), x[1:3].inc(y) is x + Pad(y), x[1:3].set(y) is Concat(x[:1], y, x[3:]).
 */
#include <string.h>

#include "lower/ops/lowerings.h"
#include "lower/ops/update.h"

/* *cut = the position of a bound of a slice. false: it may be outside of the axis */
static bool cut_of_bound(struct build *b, struct value *bound, struct cut otherwise, dim size,
			 struct cut *cut)
{
	int64_t k, n;

	*cut = otherwise;
	if (!bound)
		return true;
	dim d = known_at(b->cx, bound, 0);
	if (d && dim_eq(b->cx, d, size)) {
		cut->end = true;
		return true;
	}
	if (!known_int(b->cx, bound, 0, &k) || k == INT64_MIN)
		return false;
	if (dim_is_const(b->cx, size, &n)) {
		k = from_front(k, n);
		k = k < 0 ? 0 : k > n ? n : k;
		*cut = (struct cut){k, k == n};
		return true;
	}
	*cut = (struct cut){k, false};
	return dim_ge(b->cx, size, k < 0 ? -k : k);
}

dim cut_dim(struct build *b, struct cut c, dim size)
{
	if (c.end)
		return size;
	dim k = dim_const(b->cx, c.at);
	return c.at < 0 ? dim_add(b->cx, size, k) : k;
}

static struct value *slice_cuts(struct build *b, struct value *x, uint32_t axis, struct cut from,
				struct cut to)
{
	struct value *stop = const_int(b, to.end ? INT64_MAX : to.at);

	return slice_axis(b, x, (int)axis, const_int(b, from.at), stop, NULL);
}

bool cuts_of_index(struct build *b, struct index *ix, dim size, struct cut *lo, struct cut *hi)
{
	int64_t k;

	*lo = (struct cut){0, false};
	*hi = (struct cut){0, true};
	if (ix->kind == IX_FULL)
		return true;
	if (ix->kind == IX_SLICE)
		return (!ix->v[2] || (known_int(b->cx, ix->v[2], 0, &k) && k == 1)) &&
		       cut_of_bound(b, ix->v[0], *lo, size, lo) &&
		       cut_of_bound(b, ix->v[1], *hi, size, hi);
	if (ix->v[0]->type.rank || !known_int(b->cx, ix->v[0], 0, &k) || k == INT64_MIN ||
	    k == INT64_MAX)
		return false;
	struct value *next = k == -1 ? NULL : const_int(b, k + 1);
	return dim_ge(b->cx, size, k < 0 ? -k : k + 1) &&
	       cut_of_bound(b, ix->v[0], *lo, size, lo) && !lo->end &&
	       cut_of_bound(b, next, *hi, size, hi);
}

/* Inserts an axis of length 1 into y for an integer index. The axis is counted from the end, as y
 * may have fewer axes than x[...]. */
static struct value *insert_index_axis(struct build *b, struct value *y, uint32_t from_end)
{
	if (y->type.rank < from_end)
		return y;
	return unsqueeze(b, y, &(int64_t){y->type.rank - from_end}, 1);
}

/* Is x +0 in all places, as in the gradient of x[...]? */
static bool is_zeros(const struct value *x)
{
	const struct node *n = x->def;

	if (is_onnx(n, ONNX_ConstantOfShape))
		return n->nattrs == 1 && n->attrs[0].kind == AT_TENSOR &&
		       is_plus_zero(n->attrs[0].u.t);
	return is_plus_zero(constant_data(behind_moves(x)));
}

/* y with an axis for each axis of x, expanded to the lengths `to` of x[...]. */
static struct value *align_update(struct build *b, struct update *u, const dim *to)
{
	uint32_t rank = u->x->type.rank;
	struct value *y = u->y;

	for (uint32_t i = rank; i-- > 0;)
		if (u->ix[i].kind == IX_ARRAY)
			y = insert_index_axis(b, y, rank - 1 - i);
	return fit_update(b, pad_rank(b, y, rank), to, NULL);
}

/* zeros[...].set(y): Pad(y). NULL: not with these indices */
struct value *update_by_pad(struct build *b, struct update *u)
{
	struct type t = u->x->type;
	struct cut lo[MAX_RANK], hi[MAX_RANK];
	dim *pads = new_array(b->cx->arena, dim, 2 * t.rank), to[MAX_RANK];

	if (!is_zeros(u->x) || 2 * t.rank > MAX_RANK)
		return NULL;
	for (uint32_t i = 0; i < t.rank; i++) {
		if (!cuts_of_index(b, &u->ix[i], t.dims[i], &lo[i], &hi[i]))
			return NULL;
		pads[i] = cut_dim(b, lo[i], t.dims[i]);
		pads[t.rank + i] = dim_sub(b->cx, t.dims[i], cut_dim(b, hi[i], t.dims[i]));
		to[i] = dim_sub(b->cx, cut_dim(b, hi[i], t.dims[i]), pads[i]);
		if (!dim_ge(b->cx, to[i], 0) || dim_is(b->cx, to[i], 0))
			return NULL;
	}
	if (u->add && minus_zero_counts(b, u->y)) { /* 0 + -0 is 0 */
		b->zero_sign_counts = true;
		u->y = emit_(b, ONNX_Add, u->y, const_int_of(b, (enum dtype)t.dtype, 0));
		b->zero_sign_counts = false;
	}
	struct value *y = align_update(b, u, to);
	return with_dims(emit_(b, ONNX_Pad, y, dims_vector(b, pads, 2u * t.rank)), t.dims);
}

/* Is the index x[1:], x[:-1] or x[:]? *before, *after: how many elements it leaves out. An empty
 * axis has no element to leave out, but then Pad(y) has length 1 and broadcasts. */
static bool leaves_out_one(struct build *b, const struct index *ix, int64_t *before, int64_t *after)
{
	int64_t lo = 0, hi = INT64_MAX, step = 1;

	if (ix->kind == IX_ARRAY)
		return false;
	if (ix->kind == IX_SLICE && ((ix->v[0] && !known_int(b->cx, ix->v[0], 0, &lo)) ||
				     (ix->v[1] && !known_int(b->cx, ix->v[1], 0, &hi)) ||
				     (ix->v[2] && !known_int(b->cx, ix->v[2], 0, &step))))
		return false;
	*before = lo;
	*after = hi == INT64_MAX ? 0 : 1;
	return step == 1 && (hi == INT64_MAX || hi == -1) && lo >= 0 && lo <= 1 - *after;
}

/* x[...].inc(y): x + Pad(y), with a border of -0 for floats, which changes nothing. NULL: not with
 * these indices, y may broadcast, or the border is not constant */
struct value *update_by_padded_sum(struct build *b, struct update *u)
{
	struct type t = u->x->type;
	enum dtype type = (enum dtype)t.dtype;
	int64_t pads[MAX_RANK];
	dim to[MAX_RANK];

	if (!u->add || 2 * t.rank > MAX_RANK || type == DT_BOOL || type == DT_INT16 ||
	    type == DT_UINT16)
		return NULL;
	for (uint32_t i = 0; i < t.rank; i++) {
		int64_t *before = &pads[i], *after = &pads[t.rank + i];
		struct cut lo, hi;
		to[i] = t.dims[i];
		if (leaves_out_one(b, &u->ix[i], before, after)) {
			dim left = dim_sub(b->cx, t.dims[i], dim_const(b->cx, *before + *after));
			to[i] = dim_max(b->cx, left, dim_const(b->cx, 0));
			continue;
		}
		if (!cuts_of_index(b, &u->ix[i], t.dims[i], &lo, &hi))
			return NULL;
		dim end = cut_dim(b, hi, t.dims[i]), start = cut_dim(b, lo, t.dims[i]);
		to[i] = dim_sub(b->cx, end, start);
		if (!dim_is_const(b->cx, start, before) || !dim_ge(b->cx, to[i], 0) ||
		    !dim_is_const(b->cx, dim_sub(b->cx, t.dims[i], end), after))
			return NULL;
	}
	uint32_t arrays = 0;
	for (uint32_t i = 0; i < t.rank; i++)
		arrays += u->ix[i].kind == IX_ARRAY;
	if (u->y->type.rank + arrays != t.rank)
		return NULL;
	for (uint32_t i = 0, j = 0; i < t.rank; i++)
		if (u->ix[i].kind != IX_ARRAY && may_broadcast(b, u->y->type.dims[j++], to[i]))
			return NULL;
	struct value *zero = is_float(type) ? const_of(b, type, -0.0) : NULL;
	struct value *y = align_update(b, u, to);
	y = emit_(b, ONNX_Pad, y, const_ints(b, pads, 2u * t.rank), zero);
	return with_dims(emit_(b, ONNX_Add, u->x, y), t.dims);
}

/* One slice of step 1, or one constant index, on one axis: Concat of what is before it, y, and what
 * is after it. NULL: not with this index */
struct value *update_by_concat(struct build *b, struct update *u, uint32_t axis)
{
	struct index *ix = &u->ix[axis];
	struct type t = u->x->type;
	dim size = t.dims[axis], *to = new_array(b->cx->arena, dim, t.rank);
	struct cut lo, hi;
	struct value *part[3], *y = u->y;
	uint32_t n = 0;

	if (!cuts_of_index(b, ix, size, &lo, &hi))
		return NULL;
	if (ix->kind == IX_ARRAY)
		y = insert_index_axis(b, y, t.rank - 1 - axis);
	memcpy(to, t.dims, t.rank * sizeof(dim));
	dim start = cut_dim(b, lo, size);
	to[axis] = dim_sub(b->cx, cut_dim(b, hi, size), start);
	if (!dim_ge(b->cx, to[axis], 0) || dim_is(b->cx, to[axis], 0))
		return dim_is(b->cx, to[axis], 0) ? update_empty(b, u->x, y, to, t.rank) : NULL;
	if (u->add)
		y = add_update(b, slice_cuts(b, u->x, axis, lo, hi), y, to);
	else
		y = fit_update(b, pad_rank(b, y, t.rank), to, NULL);
	if (lo.at || lo.end)
		part[n++] = slice_cuts(b, u->x, axis, (struct cut){0, false}, lo);
	part[n++] = y;
	if (!hi.end)
		part[n++] = slice_cuts(b, u->x, axis, hi, (struct cut){0, true});
	return with_dims(concat(b, (int)axis, part, n), t.dims);
}

/* The same for a slice with constant bounds, of an axis that may be shorter: ONNX's Slice clamps.
 */
struct value *update_by_slices(struct build *b, struct update *u, uint32_t axis)
{
	struct index *ix = &u->ix[axis];
	struct type t = u->x->type;
	struct value *part[3], *x = u->x, *y = u->y;
	int64_t lo = 0, hi = INT64_MAX, step = 1;
	uint32_t n = 0;

	if (ix->kind != IX_SLICE || (ix->v[0] && !known_int(b->cx, ix->v[0], 0, &lo)) ||
	    (ix->v[1] && !known_int(b->cx, ix->v[1], 0, &hi)) ||
	    (ix->v[2] && !known_int(b->cx, ix->v[2], 0, &step)) || step != 1 || lo == INT64_MIN ||
	    hi == INT64_MIN || (lo < 0 && hi >= 0 && hi != INT64_MAX))
		return NULL;
	dim *dims = memcpy(new_array(b->cx->arena, dim, t.rank), t.dims, t.rank * sizeof(dim));
	dims[axis] = dim_const(b->cx, 0);
	if ((lo < 0) == (hi < 0) && hi <= lo) /* no element */
		return update_empty(b, x, y, dims, t.rank);
	struct cut start = {0, false}, end = {0, true}, from = {lo, false},
		   to = {hi, hi == INT64_MAX};
	if (lo)
		part[n++] = slice_cuts(b, x, axis, start, from);
	if (lo > 0 && hi < 0) { /* the end may be before the start */
		x = slice_cuts(b, x, axis, from, end);
		from = start;
	}
	struct value *place = slice_cuts(b, x, axis, from, to);
	dims[axis] = place->type.dims[axis];
	y = u->add ? add_update(b, place, y, dims)
		   : fit_update(b, pad_rank(b, y, t.rank), dims, place);
	part[n++] = y;
	if (!to.end)
		part[n++] = slice_cuts(b, x, axis, to, end);
	return with_dims(concat(b, (int)axis, part, n), t.dims);
}

/* x[...] has lengths `to`, of which that of `axis` may be 0. Does y, once it is expanded, have
 * these lengths, or does the run fail? A check by Reshape accepts any lengths if there are no
 * elements, and Concat does not compare the lengths of an empty input. */
static bool fits_or_fails(struct build *b, const struct value *y, const dim *to, uint32_t rank,
			  uint32_t axis)
{
	for (uint32_t i = 1; i <= y->type.rank && i <= rank; i++) {
		dim d = y->type.dims[y->type.rank - i], place = to[rank - i];
		if (!dim_is(b->cx, d, 1) && !dim_eq(b->cx, d, place) &&
		    (rank - i != axis || !may_broadcast(b, d, place)))
			return false;
	}
	return true;
}

/* x[:k] or x[k:] for any k: Concat of y and the other part. NULL: it is another index */
struct value *update_half(struct build *b, struct update *u, uint32_t axis)
{
	struct index *ix = &u->ix[axis];
	struct type t = u->x->type;
	struct value *part[2], *y;
	int64_t step = 1;

	if (ix->kind != IX_SLICE || !ix->v[0] == !ix->v[1] ||
	    (ix->v[2] && !known_int(b->cx, ix->v[2], 0, &step)) || step != 1)
		return NULL;
	struct value *at = ix->v[0] ? ix->v[0] : ix->v[1];
	uint32_t mine = ix->v[0] != NULL;
	part[0] = slice_axis(b, u->x, (int)axis, const_int(b, 0), at, NULL);
	part[1] = slice_axis(b, u->x, (int)axis, at, const_int(b, INT64_MAX), NULL);
	dim *dims = memcpy(new_array(b->cx->arena, dim, t.rank), t.dims, t.rank * sizeof(dim));
	dims[axis] = part[mine]->type.dims[axis];
	if (!fits_or_fails(b, u->y, dims, t.rank, axis))
		return NULL;
	if (u->add)
		y = add_update(b, part[mine], u->y, dims);
	else
		y = fit_update(b, pad_rank(b, u->y, t.rank), dims, part[mine]);
	part[mine] = y;
	return with_dims(concat(b, (int)axis, part, 2), t.dims);
}
