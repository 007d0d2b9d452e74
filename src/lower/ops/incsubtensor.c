/*
 * incsubtensor.c: lowers x[...].set(y) and x[...].inc(y): SetSubtensor, IncSubtensor and their
 * Advanced forms. Out: Where for a mask and one value, x + Pad(y), Concat of y and the parts of x
 * around a slice, else ScatterND on x with its indexed axes first. With duplicate indices the last
 * set wins and increments add up, as ScatterND does. Before opset 16, ScatterND cannot add: then
 * the elements are read, added to and written back.
 */
#include <string.h>

#include "lower/ops/index.h"
#include "lower/ops/lowerings.h"

#define MAX_CONSTANT_INDEX 64 /* the longest constant list of indices for a slice */

struct update {
	struct value *x, *y; /* of one dtype */
	struct index ix[MAX_RANK];
	uint32_t rank;
	bool add, once;      /* add: inc(); once: of duplicate indices only the last is added */
	struct value *given; /* x in its own dtype */
};

static bool is_const(struct build *b, dim d, int64_t k)
{
	int64_t v;

	return dim_is_const(b->cx, d, &v) && v == k;
}

/* y with leading axes of length 1, up to the rank. */
static struct value *pad_rank(struct build *b, struct value *y, uint32_t rank)
{
	int64_t axes[MAX_RANK];

	for (uint32_t i = 0; i + y->type.rank < rank; i++)
		axes[i] = i;
	return y->type.rank < rank ? unsqueeze(b, y, axes, rank - y->type.rank) : y;
}

/* The label of nodes that fail if y does not broadcast to x[...]. */
static const char misfit[] = "the value must fit the place that it is put at";

/* May length y be 1 at run time, and broadcast to another length `to` of x[...]? */
static bool may_broadcast(struct build *b, dim y, dim to)
{
	return !to || (!dim_eq(b->cx, y, to) && !dim_ge(b->cx, y, 2) && !is_const(b, y, 0));
}

/*
 * v is the result of an ONNX operator that broadcasts y with x[...], of lengths `to`. ONNX
 * broadcasts both ways: if an axis of x[...] may have length 1 and y be longer, a Reshape of v to
 * `shape`, that of x[...] (may be NULL), makes the run fail.
 */
static struct value *check_fits(struct build *b, struct value *v, struct value *y, const dim *to,
				uint32_t rank, struct value *shape)
{
	bool sure = true;

	for (uint32_t i = 1; i <= y->type.rank && i <= rank; i++) {
		dim d = y->type.dims[y->type.rank - i];
		sure &= is_const(b, d, 1) || !may_broadcast(b, d, to[rank - i]) ||
			dim_ge(b->cx, to[rank - i], 2);
	}
	if (sure)
		return v;
	dim *dims = memcpy(new_array(b->cx->arena, dim, rank + 1), to, rank * sizeof(dim));
	v = with_dims(emit_(b, ONNX_Reshape, v, shape ? shape : dims_vector(b, dims, rank)), dims);
	return labelled(b, v, misfit);
}

/* place + y, where place is x[...], of lengths `to` */
static struct value *add_update(struct build *b, struct value *place, struct value *y,
				const dim *to)
{
	struct value *r = emit_(b, ONNX_Add, place, y);

	return check_fits(b, r, y, to, place->type.rank, shape_of(b, place));
}

/* Is each dim a constant or the size of an axis, so that no arithmetic computes it? */
static bool all_sizes(struct build *b, const dim *dims, uint32_t rank)
{
	for (uint32_t i = 0; i < rank; i++) {
		struct dim_view v = dim_view(b->cx, dims[i]);
		if (v.form != DIM_CONST && (v.form != DIM_ATOM || !dim_available(b, dims[i])))
			return false;
	}
	return true;
}

/* Expands the axes of y that may be 1 to the lengths `to`. place, if not NULL, is x[...], which has
 * the lengths `to`. The result may be longer than `to` where y is. */
static struct value *expand_update(struct build *b, struct value *y, const dim *to,
				   struct value *place)
{
	uint32_t rank = y->type.rank;
	dim dims[MAX_RANK + 1], *all = new_array(b->cx->arena, dim, rank + 1);
	bool any = false, open = false, computed = false;
	int64_t k;

	memcpy(all, to, rank * sizeof(dim));
	for (uint32_t i = 0; i < rank; i++) {
		bool grow = may_broadcast(b, y->type.dims[i], to[i]);
		dims[i] = grow ? to[i] : dim_const(b->cx, 1);
		any |= grow;
		open |= grow && !is_const(b, y->type.dims[i], 1);
		computed |= grow && !dim_is_const(b->cx, to[i], &k);
	}
	if (!any)
		return y;
	for (uint32_t i = 0; i < rank; i++)
		if (is_const(b, to[i], 0)) /* for ONNX Runtime's Expand, 0 means "no change" */
			return const_shape(b, (enum dtype)y->type.dtype, dims_vector(b, all, rank),
					   all, rank, 0);
	bool plain = !open && (!place || !computed || all_sizes(b, dims, rank));
	struct value *shape = plain || !computed ? dims_vector(b, dims, rank)
			      : place            ? shape_of(b, place)
						 : dims_vector(b, all, rank);
	y = with_dims(emit_(b, ONNX_Expand, y, shape), all);
	return open ? labelled(b, y, misfit) : y;
}

/* y expanded to exactly the lengths `to` */
static struct value *fit_update(struct build *b, struct value *y, const dim *to,
				struct value *place)
{
	struct value *shape = place ? shape_of(b, place) : NULL;

	return check_fits(b, expand_update(b, y, to, place), y, to, y->type.rank, shape);
}

/* x[...] of lengths `to` has no elements: the result is x. A y that does not broadcast to these
 * lengths fails all the same. */
static struct value *update_empty(struct build *b, struct value *x, struct value *y, const dim *to,
				  uint32_t rank)
{
	struct value *fits = NULL;

	for (uint32_t i = 1; i <= y->type.rank && i <= rank; i++) {
		int axis = y->type.rank - (int)i;
		dim d = y->type.dims[axis], place = to[rank - i];
		bool empty = is_const(b, place, 0);
		if (is_const(b, d, 1) || dim_eq(b->cx, d, place) ||
		    (empty ? dim_le(b->cx, d, 1) : !dim_available(b, place)))
			continue;
		struct value *n = scalar_of(b, shape_slice(b, y, axis, axis + 1));
		struct value *one = emit_(b, ONNX_LessOrEqual, n, const_int(b, 1));
		if (!empty)
			one = emit_(b, ONNX_Or, emit_(b, ONNX_Equal, n, const_int(b, 1)),
				    emit_(b, ONNX_Equal, n, dim_value(b, place)));
		fits = fits ? emit_(b, ONNX_And, fits, one) : one;
	}
	return fits ? check(b, x, fits, misfit) : x;
}

/* x[:].set(y) */
static struct value *update_all(struct build *b, struct update *u)
{
	struct type t = u->x->type;

	if (u->add)
		return with_dims(add_update(b, u->x, u->y, t.dims), t.dims);
	return fit_update(b, pad_rank(b, u->y, t.rank), t.dims, u->x);
}

/* x[mask].set(y), where y has no axis for the mask's elements: Where(mask, y, x). NULL: y has one
 */
static struct value *update_by_where(struct build *b, struct node *n, struct update *u)
{
	const struct cv *list = prop(b->cx, n, "idx_list");
	struct type xt = u->x->type;
	int64_t axes[MAX_RANK];

	if (list->n != 1 || list->u.items[0].kind != CV_INT)
		return NULL;
	struct value *mask = n->in[2 + list->u.items[0].u.i], *y = u->y;
	uint32_t rest = xt.rank - mask->type.rank;
	if (mask->type.dtype != DT_BOOL || !mask->type.rank)
		return NULL;
	for (uint32_t i = 0; i < mask->type.rank; i++)
		if (!dim_eq(b->cx, mask->type.dims[i], xt.dims[i]))
			return NULL;
	while (y->type.rank > rest && is_const(b, y->type.dims[0], 1))
		y = squeeze(b, y, &(int64_t){0}, 1);
	if (y->type.rank > rest)
		return NULL;
	for (uint32_t i = 0; i < rest; i++)
		axes[i] = mask->type.rank + i;
	struct value *one = u->add ? emit_(b, ONNX_Add, u->x, y) : y;
	struct value *r = where(b, unsqueeze(b, low(b, mask), axes, rest), one, u->x);
	return with_dims(check_fits(b, r, y, xt.dims, xt.rank, shape_of(b, u->x)), xt.dims);
}

/* A position between elements of an axis: 0 is before the first, -1 before the last; end: after the
 * last. */
struct cut {
	int64_t at;
	bool end;
};

/* *cut = the position of a bound of a slice. false: it may be outside of the axis */
static bool cut_of_bound(struct build *b, struct value *bound, struct cut otherwise, dim size,
			 struct cut *cut)
{
	int64_t k, n;

	*cut = otherwise;
	if (!bound)
		return true;
	dim d = known_at(b, bound, 0);
	if (d && dim_eq(b->cx, d, size)) {
		cut->end = true;
		return true;
	}
	if (!const_int_at(b, bound, 0, &k) || k == INT64_MIN)
		return false;
	if (dim_is_const(b->cx, size, &n)) {
		k = k < 0 ? k + n : k;
		k = k < 0 ? 0 : k > n ? n : k;
		*cut = (struct cut){k, k == n};
		return true;
	}
	*cut = (struct cut){k, false};
	return dim_ge(b->cx, size, k < 0 ? -k : k);
}

static dim cut_dim(struct build *b, struct cut c, dim size)
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

/* *lo, *hi = the positions of an index, or slice of step 1, of an axis. false: they may be outside
 * of the axis, or the step is not 1 */
static bool cuts_of_index(struct build *b, struct index *ix, dim size, struct cut *lo,
			  struct cut *hi)
{
	int64_t k;

	*lo = (struct cut){0, false};
	*hi = (struct cut){0, true};
	if (ix->kind == IX_FULL)
		return true;
	if (ix->kind == IX_SLICE)
		return (!ix->v[2] || (const_int_at(b, ix->v[2], 0, &k) && k == 1)) &&
		       cut_of_bound(b, ix->v[0], *lo, size, lo) &&
		       cut_of_bound(b, ix->v[1], *hi, size, hi);
	if (ix->v[0]->type.rank || !const_int_at(b, ix->v[0], 0, &k) || k == INT64_MIN ||
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

static bool is_one_zero(const struct tensor *t)
{
	const unsigned char *p = t->data;
	size_t n = t->count && (t->splat || t->count == 1) ? dtypes[t->dtype].size : 0, i = 0;

	while (i < n && !p[i])
		i++;
	return n && i == n;
}

/* Is x zeros, as in the gradient of x[...]? */
static bool is_zeros(const struct value *x)
{
	const struct node *n = x->def;

	if (x->data)
		return !is_weight(x) && is_one_zero(x->data);
	if (is_onnx(n, ONNX_ConstantOfShape))
		return n->nattrs == 1 && n->attrs[0].kind == AT_TENSOR &&
		       is_one_zero(n->attrs[0].u.t);
	if (!is_onnx(n, ONNX_Expand))
		return false;
	x = n->in[0];
	return x->data && !is_weight(x) && is_one_zero(x->data);
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
static struct value *update_by_pad(struct build *b, struct update *u)
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
		if (!dim_ge(b->cx, to[i], 0) || is_const(b, to[i], 0))
			return NULL;
	}
	if (u->add && may_be_minus_zero(b, u->y)) { /* 0 + -0 is 0 */
		b->exact = true;
		u->y = emit_(b, ONNX_Add, u->y, const_int_of(b, (enum dtype)t.dtype, 0));
		b->exact = false;
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
	if (ix->kind == IX_SLICE && ((ix->v[0] && !const_int_at(b, ix->v[0], 0, &lo)) ||
				     (ix->v[1] && !const_int_at(b, ix->v[1], 0, &hi)) ||
				     (ix->v[2] && !const_int_at(b, ix->v[2], 0, &step))))
		return false;
	*before = lo;
	*after = hi == INT64_MAX ? 0 : 1;
	return step == 1 && (hi == INT64_MAX || hi == -1) && lo >= 0 && lo <= 1 - *after;
}

/* x[...].inc(y): x + Pad(y), with a border of -0 for floats, which changes nothing. NULL: not with
 * these indices, y may broadcast, or the border is not constant */
static struct value *update_by_padded_sum(struct build *b, struct update *u)
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
	struct value *y =
		emit_(b, ONNX_Pad, align_update(b, u, to), const_ints(b, pads, 2u * t.rank), zero);
	return with_dims(emit_(b, ONNX_Add, u->x, y), t.dims);
}

/* One slice of step 1, or one constant index, on one axis: Concat of what is before it, y, and what
 * is after it. NULL: not with this index */
static struct value *update_by_concat(struct build *b, struct update *u, uint32_t axis)
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
	to[axis] = dim_sub(b->cx, cut_dim(b, hi, size), cut_dim(b, lo, size));
	if (!dim_ge(b->cx, to[axis], 0) || is_const(b, to[axis], 0))
		return is_const(b, to[axis], 0) ? update_empty(b, u->x, y, to, t.rank) : NULL;
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
static struct value *update_by_slices(struct build *b, struct update *u, uint32_t axis)
{
	struct index *ix = &u->ix[axis];
	struct type t = u->x->type;
	struct value *part[3], *x = u->x, *y = u->y;
	int64_t lo = 0, hi = INT64_MAX, step = 1;
	uint32_t n = 0;

	if (ix->kind != IX_SLICE || (ix->v[0] && !const_int_at(b, ix->v[0], 0, &lo)) ||
	    (ix->v[1] && !const_int_at(b, ix->v[1], 0, &hi)) ||
	    (ix->v[2] && !const_int_at(b, ix->v[2], 0, &step)) || step != 1 || lo == INT64_MIN ||
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
		if (!is_const(b, d, 1) && !dim_eq(b->cx, d, place) &&
		    (rank - i != axis || !may_broadcast(b, d, place)))
			return false;
	}
	return true;
}

/* x[:k] or x[k:] for any k: Concat of y and the other part. NULL: it is another index */
static struct value *update_half(struct build *b, struct update *u, uint32_t axis)
{
	struct index *ix = &u->ix[axis];
	struct type t = u->x->type;
	struct value *part[2], *y;
	int64_t step = 1;

	if (ix->kind != IX_SLICE || !ix->v[0] == !ix->v[1] ||
	    (ix->v[2] && !const_int_at(b, ix->v[2], 0, &step)) || step != 1)
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

/* The indices of the elements of a slice: constants, or that slice of Range(size). */
static struct value *slice_indices(struct build *b, struct index *ix, dim size)
{
	int64_t at[MAX_CONSTANT_INDEX], v[3] = {0, INT64_MAX, 1}, n = INT64_MAX;
	struct index one[MAX_RANK];
	bool fixed = true;

	for (int i = 0; i < 3; i++)
		fixed &= !ix->v[i] || const_int_at(b, ix->v[i], 0, &v[i]);
	bool inside = fixed && v[0] >= 0 && v[1] >= 0 && v[2] > 0 && v[1] != INT64_MAX &&
		      dim_ge(b->cx, size, v[1]);
	if (inside || (fixed && v[2] > 0 && dim_is_const(b->cx, size, &n))) {
		int64_t len = 0, start = v[0] < 0 ? v[0] + n : v[0],
			stop = v[1] < 0 ? v[1] + n : v[1];
		start = start < 0 ? 0 : start;
		stop = stop > n ? n : stop;
		for (int64_t i = start; i < stop && len <= MAX_CONSTANT_INDEX; i += v[2]) {
			if (len++ < MAX_CONSTANT_INDEX)
				at[len - 1] = i;
			if (v[2] >= stop - i)
				break;
		}
		if (len <= MAX_CONSTANT_INDEX)
			return const_ints(b, at, (uint32_t)len);
	}
	dim *dims = new (b->cx->arena, dim);
	*dims = size;
	if (fixed && v[0] >= 0 && v[1] == INT64_MAX && v[2] > 0)
		return emit_(b, ONNX_Range, const_int(b, v[0]), dim_value(b, size),
			     const_int(b, v[2]));
	memset(one, 0, sizeof(one));
	one[0] = *ix;
	struct value *all =
		emit_(b, ONNX_Range, const_int(b, 0), dim_value(b, size), const_int(b, 1));
	return apply_slices(b, with_dims(all, dims), one);
}

/* Axes of x and of y: indexed by arrays, then by slices, then whole. */
struct layout {
	int64_t x[MAX_RANK], y[MAX_RANK], back[MAX_RANK];
	uint32_t arrays, slices, brank;
};

static void plan_layout(struct update *u, struct layout *l, const uint32_t *axes, bool adjacent)
{
	uint32_t k = 0, first = l->arrays ? axes[0] : 0, ny = 0, at[MAX_RANK];

	/* where each axis that is not an array's stands in y: before the arrays' axes or after them
	 */
	for (uint32_t i = 0, j = 0; i < u->rank; i++)
		if (u->ix[i].kind != IX_ARRAY) {
			at[i] = adjacent && i < first ? j : l->brank + j;
			j++;
		}
	for (uint32_t i = 0; i < l->arrays; i++)
		l->x[k++] = axes[i];
	for (uint32_t i = 0; i < l->brank; i++)
		l->y[ny++] = (adjacent ? first : 0) + i;
	for (int kind = IX_SLICE; kind >= IX_FULL; kind--)
		for (uint32_t i = 0; i < u->rank; i++)
			if ((int)u->ix[i].kind == kind) {
				l->x[k++] = i;
				l->y[ny++] = at[i];
			}
	for (uint32_t i = 0; i < u->rank; i++)
		l->back[l->x[i]] = i;
}

/* The indices for ScatterND: a tuple for each row that is written. */
static struct value *scatter_indices(struct build *b, struct update *u, struct layout *l,
				     struct value **v)
{
	uint32_t s = l->slices, n = l->arrays;
	int64_t axes[MAX_RANK];

	for (uint32_t i = 0; i < n && s; i++) {
		for (uint32_t j = 0; j < s; j++)
			axes[j] = v[i]->type.rank + j;
		v[i] = unsqueeze(b, v[i], axes, s);
	}
	for (uint32_t j = 0; j < s; j++) {
		uint32_t axis = (uint32_t)l->x[n + j];
		struct value *at = slice_indices(b, &u->ix[axis], u->x->type.dims[axis]);
		for (uint32_t i = 0; i + 1 + j < s; i++)
			axes[i] = 1 + i;
		v[n + j] = unsqueeze(b, at, axes, s - 1 - j);
	}
	return index_tuples(b, v, n + s, l->brank + s);
}

/* Transpose(y, order), after leading axes of length 1 up to the rank. */
static struct value *reorder_axes(struct build *b, struct value *y, const int64_t *order,
				  uint32_t rank)
{
	uint32_t ones = rank > y->type.rank ? rank - y->type.rank : 0, n = 0;
	int64_t axes[MAX_RANK], next = ones;

	for (uint32_t i = 0; i < rank; i++) {
		if (order[i] < ones)
			axes[n++] = i;
		else if (order[i] != next++)
			return transpose(b, pad_rank(b, y, rank), order);
	}
	return ones ? unsqueeze(b, y, axes, n) : y;
}

static struct value *update_by_scatter(struct build *b, struct update *u)
{
	struct value *v[MAX_RANK];
	struct layout l = {.slices = 0};
	uint32_t axes[MAX_RANK], rank;
	bool adjacent, unique = true;
	dim to[MAX_RANK];

	for (uint32_t i = 0; i < u->rank; i++) {
		l.slices += u->ix[i].kind == IX_SLICE;
		unique &= u->ix[i].kind != IX_ARRAY || u->ix[i].unique;
	}
	l.arrays = index_arrays(u->ix, u->rank, v, axes, &l.brank, &adjacent);
	plan_layout(u, &l, axes, adjacent);
	rank = l.brank + u->rank - l.arrays;
	struct value *at = scatter_indices(b, u, &l, v), *x = transpose(b, u->x, l.x);
	struct value *y = reorder_axes(b, u->y, l.y, rank);
	if (y->type.rank > rank) {
		unsupported(b, "the value has more axes than the indexed part of x");
		return u->x;
	}
	for (uint32_t i = 0; i < rank; i++)
		to[i] = i < l.brank + l.slices ? at->type.dims[i]
					       : x->type.dims[l.arrays + i - l.brank];
	for (uint32_t i = 0; i < rank; i++)
		if (is_const(b, to[i], 0))
			return update_empty(b, u->x, y, to, rank);
	struct value *place = NULL; /* x[...], if its Shape is cheaper than arithmetic on lengths */
	if (!l.arrays && x == u->x && !all_sizes(b, to, rank))
		place = apply_slices(b, x, u->ix);
	bool half = u->x->type.dtype == DT_FLOAT16;
	bool rounds = !b->cx->opt.excess_precision && (half || u->given != u->x);
	if (u->add && (u->once || (!scatter_adds(b) && unique))) {
		y = emit_(b, ONNX_Add, emit_(b, ONNX_GatherND, x, at), y);
		x = scatter_nd(b, x, at, y, false);
	} else if (!u->add) { /* ScatterND compares the lengths */
		x = scatter_nd(b, x, at, expand_update(b, y, to, place), false);
	} else if (!unique && rounds) { /* NumPy rounds after each addition */
		x = scatter_each(b, transpose(b, u->given, l.x), at, fit_update(b, y, to, NULL));
	} else {
		y = scatter_adds(b) ? expand_update(b, y, to, place) : fit_update(b, y, to, place);
		x = scatter_nd(b, half ? cast(b, x, DT_FLOAT32) : x, at,
			       half ? cast(b, y, DT_FLOAT32) : y, true);
		x = half ? cast(b, x, DT_FLOAT16) : x;
	}
	return transpose(b, x, l.back);
}

static struct value *update(struct build *b, struct update *u);

/* May a slice be empty? Then ScatterND has no index tuples, and finds no index out of range. */
static bool may_be_empty(struct build *b, struct update *u)
{
	bool may = false;

	for (uint32_t i = 0; i < u->rank; i++) {
		struct cut lo, hi;
		dim size = u->x->type.dims[i];
		if (u->ix[i].kind != IX_SLICE)
			continue;
		may |= !cuts_of_index(b, &u->ix[i], size, &lo, &hi) ||
		       !dim_ge(b->cx, dim_sub(b->cx, cut_dim(b, hi, size), cut_dim(b, lo, size)),
			       1);
	}
	return may;
}

/* x[i, a:b].set(y), where a:b may be empty: x[i, :] is read by Gather, updated at a:b, and written
 * back. The Gather fails for an i out of range. NULL: not with these indices */
static struct value *update_by_gather(struct build *b, struct update *u)
{
	struct update part = *u;
	uint32_t arrays = 0;

	for (uint32_t i = 0; i < u->rank; i++) {
		arrays += u->ix[i].kind == IX_ARRAY;
		if (u->ix[i].kind == IX_ARRAY && u->ix[i].v[0]->type.rank)
			return NULL;
	}
	if (!arrays || !may_be_empty(b, u))
		return NULL;
	for (uint32_t i = u->rank; i-- > 0;) {
		if (u->ix[i].kind != IX_ARRAY)
			continue;
		if (i)
			attr_int(b, "axis", i);
		part.x = emit_(b, ONNX_Gather, part.x, u->ix[i].v[0]);
	}
	part.given = u->given == u->x ? part.x : u->given;
	part.rank = 0;
	for (uint32_t i = 0; i < u->rank; i++) {
		if (u->ix[i].kind == IX_ARRAY)
			continue;
		part.ix[part.rank++] = u->ix[i];
		u->ix[i] = (struct index){.kind = IX_FULL};
	}
	u->y = update(b, &part);
	u->add = u->once = false;
	return update_by_scatter(b, u);
}

/* x[...].set(y) or .inc(y), in the cheapest way */
static struct value *update(struct build *b, struct update *u)
{
	struct value *r;
	uint32_t used = 0, axis = 0;
	bool one = u->x->type.dtype != DT_FLOAT16; /* is a single element updated? */

	for (uint32_t i = 0; i < u->rank; i++) {
		one &= u->ix[i].kind == IX_ARRAY && !u->ix[i].v[0]->type.rank;
		if (u->ix[i].kind != IX_FULL) {
			used++;
			axis = i;
		}
	}
	if (!used)
		return update_all(b, u);
	r = update_by_pad(b, u);
	bool whole = axis || u->ix[0].kind == IX_SLICE;
	if (!r && whole && !(one && scatter_adds(b)))
		r = update_by_padded_sum(b, u);
	if (!r && used == 1 && whole)
		r = update_by_concat(b, u, axis);
	if (!r && used == 1)
		r = update_by_slices(b, u, axis);
	if (!r && used == 1)
		r = update_half(b, u, axis);
	if (!r)
		r = update_by_gather(b, u);
	return r ? r : update_by_scatter(b, u);
}

/* The same with the indices of node n; NULL: reported */
static struct value *update_at_indices(struct build *b, struct node *n, struct update *u,
				       bool advanced)
{
	struct value *r = advanced ? update_by_where(b, n, u) : NULL;

	u->rank = u->x->type.rank;
	if (r)
		return r;
	return parse_index(b, n, 2, u->ix) ? update(b, u) : NULL;
}

/*
 * x.inc(y) for int64 and uint64: their common dtype is float64, in which NumPy adds them, and then
 * converts the sums. The elements that no index selects keep their exact values.
 */
static struct value *update_in_float64(struct build *b, struct node *n, struct update *u)
{
	struct type t = u->x->type;
	struct update hit = {.y = const_ints(b, &(int64_t){1}, 1), .rank = t.rank};
	struct value *x = u->x, *r, *at;

	hit.y = cast(b, squeeze(b, hit.y, &(int64_t){0}, 1), DT_BOOL);
	hit.x = const_shape(b, DT_BOOL, dims_vector(b, t.dims, t.rank), t.dims, t.rank, 0);
	hit.given = hit.x;
	u->x = cast(b, x, DT_FLOAT64);
	u->y = cast(b, low(b, n->in[1]), DT_FLOAT64);
	r = update_at_indices(b, n, u, true);
	at = r ? update_at_indices(b, n, &hit, true) : NULL;
	return at ? emit_(b, ONNX_Where, at, cast(b, r, (enum dtype)t.dtype), x) : NULL;
}

static bool lower_update(struct build *b, struct node *n, bool add, bool advanced)
{
	struct update u = {.x = low(b, n->in[0]), .add = add};
	enum dtype t = (enum dtype)u.x->type.dtype, y = (enum dtype)n->in[1]->type.dtype;
	struct value *r;

	u.given = u.x;
	u.once = add && prop_bool(b->cx, n, "ignore_duplicates");
	if (add && advanced && is_int(t) && is_int(y) && dtype_upcast(t, y) == DT_FLOAT64) {
		r = update_in_float64(b, n, &u);
	} else {
		/* NumPy adds in the common dtype, and rounds once */
		enum dtype both = add && is_float(t) ? dtype_upcast(t, y) : t;
		u.x = cast(b, u.x, both);
		u.y = cast_once(b, low(b, n->in[1]), both);
		r = update_at_indices(b, n, &u, advanced);
		r = r ? cast_once(b, r, t) : NULL;
	}
	if (r)
		lowered(b, n, 0, with_dims(r, n->out[0]->type.dims));
	return r != NULL;
}

bool lower_setsubtensor(struct build *b, struct node *n)
{
	return lower_update(b, n, false, false);
}

bool lower_incsubtensor(struct build *b, struct node *n)
{
	return lower_update(b, n, true, false);
}

bool lower_advsetsubtensor(struct build *b, struct node *n)
{
	return lower_update(b, n, false, true);
}

bool lower_advincsubtensor(struct build *b, struct node *n)
{
	return lower_update(b, n, true, true);
}
