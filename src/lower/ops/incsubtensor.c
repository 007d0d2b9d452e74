/*
 * incsubtensor.c: lowers x[...].set(y) and x[...].inc(y): SetSubtensor, IncSubtensor and their
 * Advanced forms. Out: Where for a mask and one value, what update_slices.c makes of slices, else
 * ScatterND on x with its indexed axes first. With duplicate indices the last set wins and
 * increments add up, as ScatterND does. Before opset 16, ScatterND cannot add: then the elements
 * are read, added to and written back.
 */
#include <string.h>

#include "lower/ops/lowerings.h"
#include "lower/ops/update.h"
#include "ops/rules.h"

#define MAX_CONSTANT_INDEX 64 /* the longest constant list of indices for a slice */

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
	while (y->type.rank > rest && dim_is(b->cx, y->type.dims[0], 1))
		y = squeeze(b, y, &(int64_t){0}, 1);
	if (y->type.rank > rest)
		return NULL;
	for (uint32_t i = 0; i < rest; i++)
		axes[i] = mask->type.rank + i;
	struct value *one = u->add ? emit_(b, ONNX_Add, u->x, y) : y;
	struct value *r = where(b, unsqueeze(b, low(b, mask), axes, rest), one, u->x);
	return with_dims(check_fits(b, r, y, xt.dims, xt.rank, shape_of(b, u->x)), xt.dims);
}

/* ---- ScatterND ---- */

/* The indices of the elements of a slice: constants, or that slice of Range(size). */
static struct value *slice_indices(struct build *b, struct index *ix, dim size)
{
	int64_t at[MAX_CONSTANT_INDEX], v[3] = {0, INT64_MAX, 1}, n = INT64_MAX;
	struct index one[MAX_RANK];
	bool fixed = true;

	for (int i = 0; i < 3; i++)
		fixed &= !ix->v[i] || known_int(b->cx, ix->v[i], 0, &v[i]);
	bool inside = fixed && v[0] >= 0 && v[1] >= 0 && v[2] > 0 && v[1] != INT64_MAX &&
		      dim_ge(b->cx, size, v[1]);
	if (inside || (fixed && v[2] > 0 && dim_is_const(b->cx, size, &n))) {
		int64_t len = 0, start = from_front(v[0], n), stop = from_front(v[1], n);
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
	if (fixed && v[0] >= 0 && v[1] == INT64_MAX && v[2] > 0) {
		struct value *first = const_int(b, v[0]), *many = dim_value(b, size);
		return emit_(b, ONNX_Range, first, many, const_int(b, v[2]));
	}
	memset(one, 0, sizeof(one));
	one[0] = *ix;
	struct value *all = iota_of(b, dim_value(b, size));
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
		if (dim_is(b->cx, to[i], 0))
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
		y = fit_update(b, y, to, NULL);
		x = scatter_each(b, transpose(b, u->given, l.x), at, y);
	} else {
		y = scatter_adds(b) ? expand_update(b, y, to, place) : fit_update(b, y, to, place);
		y = half ? cast(b, y, DT_FLOAT32) : y;
		x = scatter_nd(b, half ? cast(b, x, DT_FLOAT32) : x, at, y, true);
		x = half ? cast(b, x, DT_FLOAT16) : x;
	}
	return transpose(b, x, l.back);
}

/* ---- the cheapest way ---- */

static struct value *update(struct build *b, struct update *u);

/* May a slice be empty? Then ScatterND has no index tuples, and finds no index out of range. */
static bool slice_may_be_empty(struct build *b, struct update *u)
{
	bool may = false;

	for (uint32_t i = 0; i < u->rank; i++) {
		struct cut lo, hi;
		dim size = u->x->type.dims[i];
		if (u->ix[i].kind != IX_SLICE)
			continue;
		if (!cuts_of_index(b, &u->ix[i], size, &lo, &hi))
			return true;
		dim start = cut_dim(b, lo, size), stop = cut_dim(b, hi, size);
		may |= !dim_ge(b->cx, dim_sub(b->cx, stop, start), 1);
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
	if (!arrays || !slice_may_be_empty(b, u))
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
	hit.x = filled_to(b, DT_BOOL, dims_vector(b, t.dims, t.rank), t.dims, t.rank, 0);
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
		enum dtype both = add && is_float(t) ? narrowed(b->cx, n, dtype_upcast(t, y)) : t;
		u.x = cast(b, u.x, both);
		u.y = cast_once(b, low(b, n->in[1]), both);
		r = update_at_indices(b, n, &u, advanced);
		r = r ? cast_once(b, r, t) : NULL;
	}
	if (r)
		set_lowered(b, n, 0, with_dims(r, n->out[0]->type.dims));
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
