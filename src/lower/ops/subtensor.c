/*
 * subtensor.c: lowers x[...]: Subtensor and AdvancedSubtensor; and reads an idx_list into the form
 * of index.h, also for incsubtensor.c. Out: one Slice for all slices, Gather for one index,
 * GatherND for several index arrays. ONNX's Slice clamps bounds as Python does, and ONNX Runtime's
 * Gather fails for an index out of range, as PyTensor does.
 */
#include <string.h>

#include "lower/ops/index.h"
#include "lower/ops/lowerings.h"

/* A scalar index or a bound as int64. A uint64 beyond int64 becomes INT64_MAX, not negative. */
static struct value *index_as_int64(struct build *b, struct value *v)
{
	if (v->type.dtype == DT_UINT64 && !known_at(b->cx, v, 0))
		v = emit_(b, ONNX_Min, v, const_int_of(b, DT_UINT64, INT64_MAX));
	return cast(b, v, DT_INT64);
}

/* Is v -(1 % size), as in pt.roll(x, 1)? As a bound it is the same as -1, for any length. */
static bool is_minus_one_mod(struct build *b, const struct value *v, dim size)
{
	while (v->def &&
	       (is_call(v->def, OP_ScalarFromTensor) || is_call(v->def, OP_TensorFromScalar)))
		v = v->def->in[0];
	if (!is_call(v->def, OP_Neg) || v->type.dtype != DT_INT64)
		return false;
	v = v->def->in[0];
	if (!is_call(v->def, OP_Mod))
		return false;
	const struct known *one = known_of(b->cx, v->def->in[0]),
			   *by = known_of(b->cx, v->def->in[1]);
	return one && by && one->n == 1 && by->n == 1 && one->at[0] && by->at[0] &&
	       dim_is(b->cx, one->at[0], 1) && dim_eq(b->cx, by->at[0], size);
}

/* A bound or step of a slice; NULL: it is left out. size: the length of the axis; DIM_NONE for a
 * step
 */
static struct value *read_bound(struct build *b, struct node *n, uint32_t first,
				const struct cv *item, dim size)
{
	if (item->kind == CV_NONE)
		return NULL;
	if (item->kind != CV_INT || first + item->u.i >= n->nin)
		bug("%s: an idx_list that does not fit its inputs", n->op->name);
	if (size && is_minus_one_mod(b, n->in[first + item->u.i], size))
		return const_int(b, -1);
	return index_as_int64(b, low(b, n->in[first + item->u.i]));
}

/* Does the slice take the whole axis of length `size`, in order? */
static bool takes_all(struct build *b, const struct index *ix, dim size)
{
	int64_t k;

	if (ix->v[2] && !(known_int(b->cx, ix->v[2], 0, &k) && k == 1))
		return false;
	if (ix->v[0] && !(known_int(b->cx, ix->v[0], 0, &k) && k == 0))
		return false;
	if (!ix->v[1])
		return true;
	dim stop = known_at(b->cx, ix->v[1], 0);
	return stop && (dim_eq(b->cx, stop, size) ||
			(dim_is_const(b->cx, stop, &k) && k >= 0 && dim_le(b->cx, size, k)));
}

/* Sets ix[] to the rows of NonZero(mask): an index vector for each axis of the mask. */
static void mask_indices(struct build *b, struct value *mask, struct index *ix)
{
	uint32_t r = mask->type.rank;
	struct value *rows[MAX_RANK], *all = emit_(b, ONNX_NonZero, mask);

	if (r == 1) {
		rows[0] = all;
	} else {
		split(b, all, 0, NULL, rows, r);
	}
	for (uint32_t i = 0; i < r; i++)
		ix[i] = (struct index){.kind = IX_ARRAY,
				       .v = {squeeze(b, rows[i], &(int64_t){0}, 1)},
				       .unique = true};
}

bool parse_index(struct build *b, struct node *n, uint32_t first, struct index *ix)
{
	const struct cv *list = prop(b->cx, n, "idx_list");
	struct type t = n->in[0]->type;
	uint32_t axis = 0;

	memset(ix, 0, MAX_RANK * sizeof(*ix));
	for (uint32_t i = 0; i < list->n; i++) {
		const struct cv *c = &list->u.items[i];
		if (axis >= t.rank)
			bug("%s: more indices than axes", n->op->name);
		if (c->kind == CV_SLICE) {
			for (int j = 0; j < 3; j++)
				ix[axis].v[j] = read_bound(b, n, first, &c->u.items[j],
							   j < 2 ? t.dims[axis] : DIM_NONE);
			ix[axis].kind = takes_all(b, &ix[axis], t.dims[axis]) ? IX_FULL : IX_SLICE;
			axis++;
			continue;
		}
		struct value *in = n->in[first + c->u.i];
		if (in->type.dtype == DT_BOOL) {
			if (!in->type.rank) {
				unsupported(b, "an index that is a single bool");
				return false;
			}
			mask_indices(b, low(b, in), &ix[axis]);
			axis += in->type.rank;
			continue;
		}
		ix[axis].kind = IX_ARRAY;
		ix[axis].unique = in->type.rank == 0;
		struct value *at = low(b, in);
		ix[axis++].v[0] = in->type.rank ? cast(b, at, DT_INT64) : index_as_int64(b, at);
	}
	return true;
}

/* int64[n] from n scalars; runs of constants become one constant. */
struct value *int_vector(struct build *b, struct value **v, uint32_t n)
{
	struct value *part[MAX_RANK];
	int64_t run[MAX_RANK];
	uint32_t parts = 0, k = 0;

	for (uint32_t i = 0; i <= n; i++) {
		if (i < n && known_int(b->cx, v[i], 0, &run[k])) {
			k++;
			continue;
		}
		if (k)
			part[parts++] = const_ints(b, run, k);
		k = 0;
		if (i < n)
			part[parts++] = vector_of(b, v[i]);
	}
	return parts ? concat(b, 0, part, parts) : const_ints(b, NULL, 0);
}

/* 1: positive, -1: negative, 0: not known */
static int step_sign(struct build *b, const struct index *ix)
{
	dim d = ix->v[2] ? known_at(b->cx, ix->v[2], 0) : dim_const(b->cx, 1);

	if (!d)
		return 0;
	return dim_ge(b->cx, d, 1) ? 1 : dim_le(b->cx, d, -1) ? -1 : 0;
}

/* The constant `up` for a positive step, `down` for a negative one. */
static struct value *choose_by_sign(struct build *b, int sign, struct value *step, int64_t up,
				    int64_t down)
{
	if (sign)
		return const_int(b, sign > 0 ? up : down);
	struct value *negative = emit_(b, ONNX_Less, step, const_int(b, 0));
	struct value *below = const_int(b, down);
	return emit_(b, ONNX_Where, negative, below, const_int(b, up));
}

/* A stop with which a negative step takes no element. (For INT64_MAX, ONNX Runtime takes one.) */
#define STOP_BEHIND ((int64_t)1 << 62)

/*
 * A start before the first element gives nothing when stepping down, but Slice moves it to the
 * first element: then the stop becomes one that gives nothing.
 */
static struct value *fix_stop_for_start(struct build *b, const struct index *ix, struct value *stop,
					int sign, dim size)
{
	dim start = ix->v[0] ? known_at(b->cx, ix->v[0], 0) : DIM_NONE;

	if (!ix->v[0] || sign > 0)
		return stop;
	if (start && (dim_ge(b->cx, start, 0) || dim_ge(b->cx, dim_add(b->cx, start, size), 0)))
		return stop;
	struct value *first =
		emit_(b, ONNX_Neg, dim_value(b, size)); /* a sum with the start may wrap */
	struct value *none = emit_(b, ONNX_Less, ix->v[0], first);
	if (!sign)
		none = emit_(b, ONNX_And, none, emit_(b, ONNX_Less, ix->v[2], const_int(b, 0)));
	return emit_(b, ONNX_Where, none, const_int(b, STOP_BEHIND), stop);
}

/* ONNX Runtime takes INT32_MAX and INT64_MAX for a stop that is left out. With a negative step that
 * is another slice. */
static struct value *fix_large_stop(struct build *b, struct value *stop, int sign)
{
	dim d = known_at(b->cx, stop, 0);
	enum dtype given = is_onnx(stop->def, ONNX_Cast) ? stop->def->in[0]->type.dtype : DT_INT64;
	int64_t k;

	if (b->target == PTGC_ONNX || sign > 0 || dtypes[given].size < 4)
		return stop;
	if (known_int(b->cx, stop, 0, &k))
		return k < INT32_MAX ? stop : const_int(b, STOP_BEHIND);
	if (d && (dim_is_size(b, d) || dim_le(b->cx, d, INT32_MAX - 1)))
		return stop;
	struct value *small = emit_(b, ONNX_Less, stop, const_int(b, INT32_MAX));
	return emit_(b, ONNX_Where, small, stop, const_int(b, STOP_BEHIND));
}

/*
 * Clamps a constant step to the length of the axis: a larger step takes one element as well. ONNX's
 * shape inference runs out of memory for steps beyond 32 bits, and ONNX Runtime negates -2^63.
 */
static struct value *clamp_step(struct build *b, struct value *step, dim size)
{
	int64_t k, most = (int64_t)1 << 53; /* elements of an axis */

	if (dim_is_const(b->cx, size, &most) && most < 1)
		most = 1;
	if (!known_int(b->cx, step, 0, &k) || (k >= -most && k <= most))
		return step;
	return const_int(b, k < 0 ? -most : most);
}

/* x with all slices of ix[], by one Slice. */
struct value *apply_slices(struct build *b, struct value *x, const struct index *ix)
{
	struct value *start[MAX_RANK], *stop[MAX_RANK], *step[MAX_RANK];
	int64_t axes[MAX_RANK], k;
	uint32_t n = 0;
	bool steps = false, down = false;

	for (uint32_t i = 0; i < x->type.rank; i++) {
		if (ix[i].kind != IX_SLICE)
			continue;
		int sign = step_sign(b, &ix[i]);
		down |= sign <= 0;
		step[n] = ix[i].v[2] ? ix[i].v[2] : const_int(b, 1);
		if (known_int(b->cx, step[n], 0, &k) && k == 0) {
			raises(b, "the step of a slice is 0");
			return x;
		}
		step[n] = clamp_step(b, step[n], x->type.dims[i]);
		steps |= !known_int(b->cx, step[n], 0, &k) || k != 1;
		start[n] = ix[i].v[0] ? ix[i].v[0] : choose_by_sign(b, sign, step[n], 0, INT64_MAX);
		stop[n] = ix[i].v[1] ? fix_large_stop(b, ix[i].v[1], sign)
				     : choose_by_sign(b, sign, step[n], INT64_MAX, INT64_MIN);
		stop[n] = fix_stop_for_start(b, &ix[i], stop[n], sign, x->type.dims[i]);
		axes[n++] = i;
	}
	if (!n)
		return x;
	/* ONNX's data propagation takes a stop of a vector that is not known for 0, and infers a
	 * wrong length; for axis -1 it does not. */
	if (down && x->type.rank == 1 && x->type.dtype == DT_INT64 && !stop[0]->data)
		axes[0] = -1;
	struct value *by = steps ? int_vector(b, step, n) : NULL, *to = int_vector(b, stop, n);
	return slice(b, x, axes, n, int_vector(b, start, n), to, by);
}

/* Does the index select the only element of an axis of length 1? */
static bool selects_only(struct build *b, struct value *x, uint32_t axis, struct value *at)
{
	int64_t k;

	return !at->type.rank && known_int(b->cx, at, 0, &k) && (!k || k == -1) &&
	       dim_is(b->cx, x->type.dims[axis], 1);
}

/* If x is Cast(shape, float64) and the element of the shape is known as a dim: the dim as a float,
 * so that only one element is cast. NULL: it is not */
static struct value *element_of_shape(struct build *b, struct value *x, const struct index *ix)
{
	int64_t at;

	if (x->type.rank != 1 || !is_onnx(x->def, ONNX_Cast) || x->type.dtype != DT_FLOAT64 ||
	    x->def->in[0]->type.dtype != DT_INT64 || ix[0].kind != IX_ARRAY ||
	    ix[0].v[0]->type.rank || !known_int(b->cx, ix[0].v[0], 0, &at) || at < 0)
		return NULL;
	dim d = at < MAX_KNOWN ? known_at(b->cx, x->def->in[0], (uint32_t)at) : DIM_NONE;
	if (!d || !dim_available(b, d) || !dim_is_size(b, d))
		return NULL;
	return cast(b, dim_value(b, d), (enum dtype)x->type.dtype);
}

bool lower_subtensor(struct build *b, struct node *n)
{
	struct value *x = low(b, n->in[0]), *at[MAX_RANK];
	struct index ix[MAX_RANK];
	uint32_t ints = 0, leading = 0, kept = 0;
	int64_t k;

	if (!parse_index(b, n, 1, ix))
		return false;
	x = piece_of(b, x, ix);
	struct value *found = element_of_shape(b, x, ix);
	if (!found)
		found = item_of_expand(b, x, ix);
	if (!found)
		found = last_of_loop(b, x, ix);
	if (found) {
		set_lowered(b, n, 0, found);
		return true;
	}
	bool constant = true;
	for (uint32_t i = 0; i < x->type.rank; i++) {
		if (ix[i].kind != IX_ARRAY)
			continue;
		leading += ints == i;
		at[ints++] = ix[i].v[0];
		constant &= known_int(b->cx, ix[i].v[0], 0, &k);
	}
	if (ints > 1 && leading == ints && constant) {
		x = emit_(b, ONNX_GatherND, x, int_vector(b, at, ints));
	} else {
		for (uint32_t i = x->type.rank; i-- > 0;) {
			if (ix[i].kind != IX_ARRAY)
				continue;
			if (selects_only(b, x, i, ix[i].v[0])) {
				x = squeeze(b, x, &(int64_t){i}, 1);
				continue;
			}
			if (i)
				attr_int(b, "axis", i);
			x = emit_(b, ONNX_Gather, x, ix[i].v[0]);
		}
	}
	for (uint32_t i = 0; i < n->in[0]->type.rank; i++)
		if (ix[i].kind != IX_ARRAY)
			ix[kept++] = ix[i];
	x = apply_slices(b, x, ix);
	check_lengths(b, n, x, n->out[0]->type.dims);
	set_lowered(b, n, 0, with_dims(x, n->out[0]->type.dims));
	return true;
}

/* The label of nodes that fail if index arrays do not broadcast. */
static const char arrays_label[] = "index arrays must broadcast together";

/* The broadcast length of all index arrays on axis j; DIM_NONE: not known */
static dim broadcast_length(struct build *b, struct value **v, uint32_t n, uint32_t j,
			    uint32_t rank)
{
	dim open = DIM_NONE;
	bool many = false;
	int64_t k;

	for (uint32_t i = 0; i < n; i++) {
		if (j + v[i]->type.rank < rank)
			continue;
		dim d = v[i]->type.dims[j + v[i]->type.rank - rank];
		if (dim_ge(b->cx, d, 2) || dim_le(b->cx, d, 0))
			return d;
		if (dim_is_const(b->cx, d, &k))
			continue;
		many |= open && !dim_eq(b->cx, open, d);
		open = open ? open : d;
	}
	return many ? DIM_NONE : open ? open : dim_const(b->cx, 1);
}

/* Index tuples of arrays whose lengths may differ: Where broadcasts them, or fails. (Concat would
 * ignore an empty array.) */
static struct value *broadcast_tuples(struct build *b, struct value **v, uint32_t n)
{
	struct value *r = unsqueeze(b, v[n - 1], &(int64_t){v[n - 1]->type.rank}, 1);
	int64_t length = n;

	for (uint32_t i = n - 1; i-- > 0;) {
		struct tensor *t = tensor_new(b->cx, DT_BOOL, 1, &length);
		char *mask = arena_alloc(b->cx->arena, n);
		for (uint32_t j = 0; j < n; j++)
			mask[j] = j <= i;
		t->data = mask;
		struct value *at = unsqueeze(b, v[i], &(int64_t){v[i]->type.rank}, 1);
		r = labelled(b, emit_(b, ONNX_Where, const_tensor(b, t), at, r), arrays_label);
	}
	return r;
}

/* The index arrays, broadcast together, as index tuples [..., n] for GatherND and ScatterND. */
struct value *index_tuples(struct build *b, struct value **arrays, uint32_t n, uint32_t rank)
{
	dim *dims = new_array(b->cx->arena, dim, rank + 1);
	struct value *part[MAX_RANK], *v[MAX_RANK];
	int64_t lengths[MAX_RANK];
	bool open = false, same = true;

	memcpy(v, arrays, n * sizeof(*v));
	for (uint32_t j = 0; j < rank; j++) {
		dims[j] = broadcast_length(b, v, n, j, rank);
		open |= !dims[j];
	}
	for (uint32_t i = 0; i < n && !open; i++) {
		if (v[i]->data && v[i]->data->count == 1 &&
		    dims_are_const(b->cx, dims, rank, lengths))
			v[i] = expand(b, v[i], dims, rank);
		same &= same_dims(b->cx, v[i]->type, type_of(DT_INT64, rank, dims));
	}
	if (open || (!same && n > 1)) {
		struct value *r = broadcast_tuples(b, v, n);
		dims[rank] = dim_const(b->cx, n);
		return open ? r : with_dims(r, dims);
	}
	for (uint32_t i = 0; i < n; i++)
		part[i] = unsqueeze(b, v[i], &(int64_t){rank}, 1);
	return concat(b, (int)rank, part, n);
}

uint32_t index_arrays(const struct index *ix, uint32_t rank, struct value **v, uint32_t *axes,
		      uint32_t *brank, bool *adjacent)
{
	uint32_t n = 0;

	*brank = 0;
	*adjacent = true;
	for (uint32_t i = 0; i < rank; i++) {
		if (ix[i].kind != IX_ARRAY)
			continue;
		*adjacent &= n == 0 || axes[n - 1] + 1 == i;
		axes[n] = i;
		v[n++] = ix[i].v[0];
		if (ix[i].v[0]->type.rank > *brank)
			*brank = ix[i].v[0]->type.rank;
	}
	return n;
}

/* x[mask] by Compress; NULL: the mask is not on the leading axes of x alone */
static struct value *compress_by_mask(struct build *b, struct node *n)
{
	const struct cv *list = prop(b->cx, n, "idx_list");
	struct value *x = low(b, n->in[0]), *mask;

	if (list->n != 1 || list->u.items[0].kind != CV_INT)
		return NULL;
	mask = n->in[1 + list->u.items[0].u.i];
	if (mask->type.dtype != DT_BOOL)
		return NULL;
	uint32_t rank = mask->type.rank;
	for (uint32_t i = 0; i < rank; i++)
		if (!dim_eq(b->cx, mask->type.dims[i], x->type.dims[i]))
			return NULL;
	if (rank == 1) {
		attr_int(b, "axis", 0);
		return emit_(b, ONNX_Compress, x, low(b, mask));
	}
	if (rank != x->type.rank)
		return NULL;
	dim *flat = new (b->cx->arena, dim);
	*flat = dims_product(b->cx, mask->type.dims, rank);
	return emit_(b, ONNX_Compress, x, reshape(b, low(b, mask), flat, 1));
}

static struct value *gather(struct build *b, struct value *x, struct value *at, uint32_t axis)
{
	if (axis)
		attr_int(b, "axis", axis);
	b->index_may_fail = true;
	x = emit_(b, ONNX_Gather, x, at);
	b->index_may_fail = false;
	return x;
}

/* Adjacent index arrays of which each has its own axes in the result, in order, as in x[i[:, None],
 * j] or x[i, 0]: one Gather for each. at: the first indexed axis of x. NULL: they share axes */
static struct value *gather_one_by_one(struct build *b, struct value *x, struct value **v,
				       uint32_t n, uint32_t brank, uint32_t at)
{
	int64_t put[MAX_RANK][MAX_RANK];
	uint32_t drop[MAX_RANK] = {0}, next = 0;
	bool constant = true;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t lead = brank - v[i]->type.rank;
		constant &= v[i]->data != NULL;
		for (uint32_t j = 0; j < v[i]->type.rank; j++) {
			if (dim_is(b->cx, v[i]->type.dims[j], 1))
				put[i][drop[i]++] = j;
			else if (lead + j != next++)
				return NULL;
		}
	}
	if (constant || next != brank)
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		x = gather(b, x, squeeze(b, v[i], put[i], drop[i]), at);
		at += v[i]->type.rank - drop[i];
	}
	return x;
}

/* Is v arange(size) along one axis of the result, and of length 1 along the others? */
static bool is_arange_along(struct build *b, const struct value *v, uint32_t brank, uint32_t axis,
			    dim size)
{
	int64_t k, first = -1, step = -1;

	for (uint32_t j = 0; j < v->type.rank; j++) {
		dim want = j + brank - v->type.rank == axis ? size : dim_const(b->cx, 1);
		if (!dim_eq(b->cx, v->type.dims[j], want))
			return false;
	}
	if (v->type.rank < brank - axis)
		return false;
	for (uint64_t i = 0; v->data && i < v->data->count; i++)
		if (!tensor_int(v->data, i, &k) || k != (int64_t)i)
			return false;
	if (v->data)
		return true;
	return counted_by(b->cx, v, &first, &step) && !first && step == 1;
}

/* x[arange(n)[:, None], at], as pt.take_along_axis has it: GatherElements. NULL: another index */
static struct value *gather_along(struct build *b, struct value *x, struct value **v, uint32_t n,
				  uint32_t brank)
{
	uint32_t axis = n;

	if (n != x->type.rank || brank != n)
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		if (is_arange_along(b, v[i], brank, i, x->type.dims[i]))
			continue;
		if (axis < n || v[i]->type.rank != n)
			return NULL;
		axis = i;
	}
	for (uint32_t i = 0; i < n && axis < n; i++)
		if (i != axis && !dim_eq(b->cx, v[axis]->type.dims[i], x->type.dims[i]))
			return NULL;
	if (axis == n)
		return NULL;
	if (axis)
		attr_int(b, "axis", axis);
	return emit_(b, ONNX_GatherElements, x, v[axis]);
}

/* x[arange(n), at], an element of each row, as a cross entropy has it. ONNX Runtime takes fewer
 * rows than x has, and fails for more. NULL: another index */
static struct value *gather_in_rows(struct build *b, struct value *x, struct value **v, uint32_t n,
				    uint32_t brank)
{
	static const int64_t last = 1;

	if (n != 2 || x->type.rank != 2 || brank != 1 || v[1]->type.rank != 1 ||
	    !is_arange_along(b, v[0], 1, 0, v[1]->type.dims[0]) ||
	    ((b->target == PTGC_ONNX || b->target == PTGC_PORTABLE) &&
	     !dim_eq(b->cx, v[1]->type.dims[0], x->type.dims[0])))
		return NULL;
	struct value *column = unsqueeze(b, v[1], &last, 1);
	attr_int(b, "axis", last);
	return squeeze(b, emit_(b, ONNX_GatherElements, x, column), &last, 1);
}

bool lower_advsubtensor(struct build *b, struct node *n)
{
	struct value *x = compress_by_mask(b, n), *r = NULL, *v[MAX_RANK];
	struct index ix[MAX_RANK];
	uint32_t axes[MAX_RANK], brank, k;
	int64_t perm[MAX_RANK];
	bool adjacent;

	if (x) {
		set_lowered(b, n, 0, with_dims(x, n->out[0]->type.dims));
		return true;
	}
	if (!parse_index(b, n, 1, ix))
		return false;
	x = apply_slices(b, low(b, n->in[0]), ix);
	uint32_t rank = x->type.rank, from = 0, left = 0;
	k = index_arrays(ix, rank, v, axes, &brank, &adjacent);
	if (k == 1)
		r = gather(b, x, v[0], axes[0]);
	else if (k > 1 && adjacent)
		r = gather_one_by_one(b, x, v, k, brank, axes[0]);
	if (k > 1 && !r)
		r = gather_along(b, x, v, k, brank);
	if (k > 1 && !r)
		r = gather_in_rows(b, x, v, k, brank);
	if (r) {
		x = r;
	} else if (k > 1) {
		for (uint32_t i = 0; i < rank; i++)
			if (ix[i].kind == IX_ARRAY)
				perm[from++] = i;
			else
				perm[k + left++] = i;
		x = transpose(b, x, perm);
		x = emit_(b, ONNX_GatherND, x, index_tuples(b, v, k, brank));
		if (adjacent && axes[0]) { /* adjacent arrays: their axes stay in place */
			uint32_t out = 0;
			for (uint32_t i = 0; i < axes[0]; i++)
				perm[out++] = brank + i;
			for (uint32_t i = 0; i < brank; i++)
				perm[out++] = i;
			for (uint32_t i = axes[0]; i < left; i++)
				perm[out++] = brank + i;
			x = transpose(b, x, perm);
		}
	}
	set_lowered(b, n, 0, with_dims(x, n->out[0]->type.dims));
	return true;
}
