/*
 * update_fit.c: the y of x[...].set(y) and x[...].inc(y) with the lengths of x[...]. y may have
 * fewer axes and axes of length 1, as NumPy's assignment stretches them: x[1:3].set(0). ONNX's
 * operators stretch x[...] too, where y is longer, so that a run must be made to fail there.
 */
#include <string.h>

#include "lower/ops/update.h"

/* The label of nodes that fail if y does not broadcast to x[...]. */
static const char misfit[] = "the value must fit the place that it is put at";

bool may_broadcast(struct build *b, dim y, dim to)
{
	return !to || (!dim_eq(b->cx, y, to) && !dim_ge(b->cx, y, 2) && !dim_is(b->cx, y, 0));
}

/*
 * v is the result of an ONNX operator that broadcasts y with x[...], of lengths `to`. ONNX
 * broadcasts both ways: if an axis of x[...] may have length 1 and y be longer, a Reshape of v to
 * `shape`, that of x[...] (may be NULL), makes the run fail.
 */
struct value *check_fits(struct build *b, struct value *v, struct value *y, const dim *to,
			 uint32_t rank, struct value *shape)
{
	bool sure = true;

	for (uint32_t i = 1; i <= y->type.rank && i <= rank; i++) {
		dim d = y->type.dims[y->type.rank - i];
		sure &= dim_is(b->cx, d, 1) || !may_broadcast(b, d, to[rank - i]) ||
			dim_ge(b->cx, to[rank - i], 2);
	}
	if (sure)
		return v;
	dim *dims = memcpy(new_array(b->cx->arena, dim, rank + 1), to, rank * sizeof(dim));
	v = with_dims(emit_(b, ONNX_Reshape, v, shape ? shape : dims_vector(b, dims, rank)), dims);
	return labelled(b, v, misfit);
}

struct value *add_update(struct build *b, struct value *place, struct value *y, const dim *to)
{
	struct value *r = emit_(b, ONNX_Add, place, y);

	return check_fits(b, r, y, to, place->type.rank, shape_of(b, place));
}

bool all_sizes(struct build *b, const dim *dims, uint32_t rank)
{
	for (uint32_t i = 0; i < rank; i++) {
		struct dim_view v = dim_view(b->cx, dims[i]);
		if (v.form != DIM_CONST && (v.form != DIM_ATOM || !dim_available(b, dims[i])))
			return false;
	}
	return true;
}

struct value *expand_update(struct build *b, struct value *y, const dim *to, struct value *place)
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
		open |= grow && !dim_is(b->cx, y->type.dims[i], 1);
		computed |= grow && !dim_is_const(b->cx, to[i], &k);
	}
	if (!any)
		return y;
	for (uint32_t i = 0; i < rank; i++)
		if (dim_is(b->cx, to[i], 0)) /* for ONNX Runtime's Expand, 0 means "no change" */
			return filled_to(b, (enum dtype)y->type.dtype, dims_vector(b, all, rank),
					 all, rank, 0);
	bool plain = !open && (!place || !computed || all_sizes(b, dims, rank));
	struct value *shape = plain || !computed ? dims_vector(b, dims, rank)
			      : place            ? shape_of(b, place)
						 : dims_vector(b, all, rank);
	y = with_dims(emit_(b, ONNX_Expand, y, shape), all);
	return open ? labelled(b, y, misfit) : y;
}

struct value *fit_update(struct build *b, struct value *y, const dim *to, struct value *place)
{
	struct value *shape = place ? shape_of(b, place) : NULL;

	return check_fits(b, expand_update(b, y, to, place), y, to, y->type.rank, shape);
}

struct value *update_empty(struct build *b, struct value *x, struct value *y, const dim *to,
			   uint32_t rank)
{
	struct value *fits = NULL;

	for (uint32_t i = 1; i <= y->type.rank && i <= rank; i++) {
		int axis = y->type.rank - (int)i;
		dim d = y->type.dims[axis], place = to[rank - i];
		bool empty = dim_is(b->cx, place, 0);
		if (dim_is(b->cx, d, 1) || dim_eq(b->cx, d, place) ||
		    (empty ? dim_le(b->cx, d, 1) : !dim_available(b, place)))
			continue;
		struct value *n = scalar_of(b, shape_slice(b, y, axis, axis + 1));
		struct value *one = emit_(b, ONNX_LessOrEqual, n, const_int(b, 1));
		if (!empty) {
			one = emit_(b, ONNX_Equal, n, const_int(b, 1));
			one = emit_(b, ONNX_Or, one, emit_(b, ONNX_Equal, n, dim_value(b, place)));
		}
		fits = fits ? emit_(b, ONNX_And, fits, one) : one;
	}
	return fits ? check(b, x, fits, misfit) : x;
}
