/*
 * subtensor.c: reading by index: Subtensor, AdvancedSubtensor; and index.h's view of an idx_list,
 * which incsubtensor.c shares. In: a typed node x, [y], indices, with idx_list saying which input
 * is what. Out: one Slice for all slices, Gather for an index, GatherND for several arrays. ONNX
 * Runtime's Slice clamps as Python does, and its Gathers refuse what is out of range, as PyTensor
 * does.
 */
#include <string.h>

#include "lower/ops/index.h"
#include "lower/ops/lowerings.h"

/* A single index or a bound as int64. What does not fit is beyond the end of any axis, not
 * negative.
 */
static struct value *position(struct build *b, struct value *v)
{
	if (v->type.dtype == DT_UINT64 && !known_at(b, v, 0))
		v = emit_(b, ONNX_Min, v, const_int_of(b, DT_UINT64, INT64_MAX));
	return cast(b, v, DT_INT64);
}

/* Is v -(1 % size), as pt.roll by one has it? As a bound that is -1 for any length: of one element
 * and of none both give the same. */
static bool is_last(struct build *b, const struct value *v, dim size)
{
	while (v->def && (v->def->op == &op_table[OP_ScalarFromTensor] ||
			  v->def->op == &op_table[OP_TensorFromScalar]))
		v = v->def->in[0];
	if (!v->def || v->def->op != &op_table[OP_Neg] || v->type.dtype != DT_INT64)
		return false;
	v = v->def->in[0];
	if (!v->def || v->def->op != &op_table[OP_Mod])
		return false;
	const struct known *one = known_of(b->cx, v->def->in[0]),
			   *by = known_of(b->cx, v->def->in[1]);
	return one && by && one->n == 1 && by->n == 1 && one->at[0] && by->at[0] &&
	       dim_eq(b->cx, one->at[0], dim_const(b->cx, 1)) && dim_eq(b->cx, by->at[0], size);
}

/* size: of the axis; DIM_NONE: for a step */
static struct value *bound(struct build *b, struct node *n, uint32_t first, const struct cv *item,
			   dim size)
{
	if (item->kind == CV_NONE)
		return NULL;
	if (item->kind != CV_INT || first + item->u.i >= n->nin)
		bug("%s: an idx_list that does not fit its inputs", n->op->name);
	if (size && is_last(b, n->in[first + item->u.i], size))
		return const_int(b, -1);
	return position(b, low(b, n->in[first + item->u.i]));
}

/* Does start:stop:step take all of an axis of this length, in order? */
static bool takes_all(struct build *b, const struct index *ix, dim size)
{
	int64_t k;

	if (ix->v[2] && !(const_int_at(b, ix->v[2], 0, &k) && k == 1))
		return false;
	if (ix->v[0] && !(const_int_at(b, ix->v[0], 0, &k) && k == 0))
		return false;
	if (!ix->v[1])
		return true;
	dim stop = known_at(b, ix->v[1], 0);
	return stop && (dim_eq(b->cx, stop, size) ||
			(dim_is_const(b->cx, stop, &k) && k >= 0 && dim_le(b->cx, size, k)));
}

/* The rows of NonZero: one index vector for each axis of the mask. */
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
				ix[axis].v[j] = bound(b, n, first, &c->u.items[j],
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
		ix[axis++].v[0] = in->type.rank ? cast(b, at, DT_INT64) : position(b, at);
	}
	return true;
}

/* int64[n] of 0-d values; constants side by side become one. */
struct value *int_vector(struct build *b, struct value **v, uint32_t n)
{
	struct value *part[MAX_RANK];
	int64_t run[MAX_RANK];
	uint32_t parts = 0, k = 0;

	for (uint32_t i = 0; i <= n; i++) {
		if (i < n && const_int_at(b, v[i], 0, &run[k])) {
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

/* 1: positive, -1: negative, 0: only known at run time */
static int step_sign(struct build *b, const struct index *ix)
{
	dim d = ix->v[2] ? known_at(b, ix->v[2], 0) : dim_const(b->cx, 1);

	if (!d)
		return 0;
	return dim_ge(b->cx, d, 1) ? 1 : dim_le(b->cx, d, -1) ? -1 : 0;
}

static struct value *by_sign(struct build *b, int sign, struct value *step, int64_t up,
			     int64_t down)
{
	if (sign)
		return const_int(b, sign > 0 ? up : down);
	struct value *negative = emit_(b, ONNX_Less, step, const_int(b, 0));
	return emit_(b, ONNX_Where, negative, const_int(b, down), const_int(b, up));
}

/* A stop that leaves nothing when stepping down; for INT64_MAX the runtime gives one element. */
#define STOP_BEHIND ((int64_t)1 << 62)

/*
 * A start before the first element gives nothing when stepping down, but Slice moves it to the
 * first element: then the stop becomes one that gives nothing.
 */
static struct value *stop_below(struct build *b, const struct index *ix, struct value *stop,
				int sign, dim size)
{
	dim start = ix->v[0] ? known_at(b, ix->v[0], 0) : DIM_NONE;

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

/* The runtime takes the largest int32 and int64 for a stop that is left out, which stepping down is
 * another one. */
static struct value *stop_given(struct build *b, struct value *stop, int sign)
{
	dim d = known_at(b, stop, 0);
	enum dtype given = is_onnx(stop->def, ONNX_Cast) ? stop->def->in[0]->type.dtype : DT_INT64;
	int64_t k;

	if (b->target != PTGC_ORT_CPU || sign > 0 || dtypes[given].size < 4)
		return stop;
	if (const_int_at(b, stop, 0, &k))
		return k < INT32_MAX ? stop : const_int(b, STOP_BEHIND);
	if (d && (dim_is_size(b, d) || dim_le(b->cx, d, INT32_MAX - 1)))
		return stop;
	struct value *small = emit_(b, ONNX_Less, stop, const_int(b, INT32_MAX));
	return emit_(b, ONNX_Where, small, stop, const_int(b, STOP_BEHIND));
}

/*
 * Steps beyond the axis all take one element. ONNX's own inference runs out of memory on such as do
 * not fit into 32 bits, and the runtime takes the negative of -2^63.
 */
static struct value *within(struct build *b, struct value *step, dim size)
{
	int64_t k, most = (int64_t)1 << 53; /* elements of an axis */

	if (dim_is_const(b->cx, size, &most) && most < 1)
		most = 1;
	if (!const_int_at(b, step, 0, &k) || (k >= -most && k <= most))
		return step;
	return const_int(b, k < 0 ? -most : most);
}

/* All slices at once. */
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
		if (const_int_at(b, step[n], 0, &k) && k == 0) {
			raises(b, "the step of a slice is 0");
			return x;
		}
		step[n] = within(b, step[n], x->type.dims[i]);
		steps |= !const_int_at(b, step[n], 0, &k) || k != 1;
		start[n] = ix[i].v[0] ? ix[i].v[0] : by_sign(b, sign, step[n], 0, INT64_MAX);
		stop[n] = ix[i].v[1] ? stop_given(b, ix[i].v[1], sign)
				     : by_sign(b, sign, step[n], INT64_MAX, INT64_MIN);
		stop[n] = stop_below(b, &ix[i], stop[n], sign, x->type.dims[i]);
		axes[n++] = i;
	}
	if (!n)
		return x;
	/* ONNX's own inference of what is in a vector takes a stop that it does not know for 0, and
	 * finds a wrong length; along axis -1 it leaves that alone. */
	if (down && x->type.rank == 1 && x->type.dtype == DT_INT64 && !stop[0]->data)
		axes[0] = -1;
	return slice(b, x, axes, n, int_vector(b, start, n), int_vector(b, stop, n),
		     steps ? int_vector(b, step, n) : NULL);
}

/* Is the index that of the one element there is along the axis? */
static bool is_only(struct build *b, struct value *x, uint32_t axis, struct value *at)
{
	int64_t k;

	return !at->type.rank && const_int_at(b, at, 0, &k) && (!k || k == -1) &&
	       dim_eq(b->cx, x->type.dims[axis], dim_const(b->cx, 1));
}

/* An element of integers that are known, as floats: it alone becomes one. NULL: it is none */
static struct value *element_of_shape(struct build *b, struct value *x, const struct index *ix)
{
	int64_t at;

	if (x->type.rank != 1 || !is_onnx(x->def, ONNX_Cast) || x->type.dtype != DT_FLOAT64 ||
	    x->def->in[0]->type.dtype != DT_INT64 || ix[0].kind != IX_ARRAY ||
	    ix[0].v[0]->type.rank || !const_int_at(b, ix[0].v[0], 0, &at) || at < 0)
		return NULL;
	dim d = at < MAX_KNOWN ? known_at(b, x->def->in[0], (uint32_t)at) : DIM_NONE;
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
	struct value *size = element_of_shape(b, x, ix);
	if (size) {
		lowered(b, n, 0, size);
		return true;
	}
	bool constant = true;
	for (uint32_t i = 0; i < x->type.rank; i++) {
		if (ix[i].kind != IX_ARRAY)
			continue;
		leading += ints == i;
		at[ints++] = ix[i].v[0];
		constant &= const_int_at(b, ix[i].v[0], 0, &k);
	}
	if (ints > 1 && leading == ints && constant) {
		x = emit_(b, ONNX_GatherND, x, int_vector(b, at, ints));
	} else {
		for (uint32_t i = x->type.rank; i-- > 0;) {
			if (ix[i].kind != IX_ARRAY)
				continue;
			if (is_only(b, x, i, ix[i].v[0])) {
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
	lowered(b, n, 0, with_dims(x, n->out[0]->type.dims));
	return true;
}

/* What a node is called that fails where index arrays do not broadcast. */
static const char together[] = "index arrays must broadcast together";

/* The length of all arrays together on axis j: one that is surely not 1, or the only one there is.
 * DIM_NONE: that is found at run time. */
static dim length_of_all(struct build *b, struct value **v, uint32_t n, uint32_t j, uint32_t rank)
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

static bool all_const(struct build *b, const dim *dims, uint32_t rank)
{
	int64_t k;

	for (uint32_t i = 0; i < rank; i++)
		if (!dim_is_const(b->cx, dims[i], &k))
			return false;
	return true;
}

/* Arrays that are not all of these lengths: a choice between them broadcasts, where Concat would
 * skip an empty one without a word. */
static struct value *chosen_tuples(struct build *b, struct value **v, uint32_t n)
{
	struct value *r = unsqueeze(b, v[n - 1], &(int64_t){v[n - 1]->type.rank}, 1);
	int64_t length = n;

	for (uint32_t i = n - 1; i-- > 0;) {
		struct tensor *t = tensor_new(b->cx, DT_BOOL, 1, &length);
		char *mine = arena_alloc(b->cx->arena, n);
		for (uint32_t j = 0; j < n; j++)
			mine[j] = j <= i;
		t->data = mine;
		struct value *at = unsqueeze(b, v[i], &(int64_t){v[i]->type.rank}, 1);
		r = labelled(b, emit_(b, ONNX_Where, const_tensor(b, t), at, r), together);
	}
	return r;
}

/* Index arrays, broadcast against each other: [B..., number of arrays] for GatherND and ScatterND.
 */
struct value *index_tuples(struct build *b, struct value **arrays, uint32_t n, uint32_t rank)
{
	dim *dims = new_array(b->cx->arena, dim, rank + 1);
	struct value *part[MAX_RANK], *v[MAX_RANK];
	bool open = false, same = true;

	memcpy(v, arrays, n * sizeof(*v));
	for (uint32_t j = 0; j < rank; j++) {
		dims[j] = length_of_all(b, v, n, j, rank);
		open |= !dims[j];
	}
	for (uint32_t i = 0; i < n && !open; i++) {
		if (v[i]->data && v[i]->data->count == 1 && all_const(b, dims, rank))
			v[i] = expand(b, v[i], dims, rank);
		same &= same_dims(b->cx, v[i]->type, type_of(DT_INT64, rank, dims));
	}
	if (open || (!same && n > 1)) {
		struct value *r = chosen_tuples(b, v, n);
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

/* x[mask] where the mask's axes are x's leading ones: Compress needs no index. */
static struct value *by_mask(struct build *b, struct node *n)
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
	b->exact = true;
	x = emit_(b, ONNX_Gather, x, at);
	b->exact = false;
	return x;
}

/* Arrays that each have axes of their own among those of the result, in order, as x[i[:, None], j]
 * or x[i, 0]: one Gather each. NULL: they are not such. `at` is the first axis of x that is
 * indexed; the arrays stand side by side. */
static struct value *gathered_apart(struct build *b, struct value *x, struct value **v, uint32_t n,
				    uint32_t brank, uint32_t at)
{
	int64_t put[MAX_RANK][MAX_RANK];
	uint32_t drop[MAX_RANK] = {0}, next = 0;
	bool constant = true;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t lead = brank - v[i]->type.rank;
		constant &= v[i]->data != NULL;
		for (uint32_t j = 0; j < v[i]->type.rank; j++) {
			if (dim_eq(b->cx, v[i]->type.dims[j], dim_const(b->cx, 1)))
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

/* Is v 0, 1, ... along one axis of the result, as long as that axis of x? */
static bool counts_along(struct build *b, const struct value *v, uint32_t brank, uint32_t axis,
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
		if (!tensor_int(v->data, v->data->splat ? 0 : i, &k) || k != (int64_t)i)
			return false;
	if (v->data)
		return true;
	const struct node *n = v->def;
	while (is_onnx(n, ONNX_Unsqueeze) || is_onnx(n, ONNX_Reshape))
		n = n->in[0]->def;
	return is_onnx(n, ONNX_Range) && const_int_at(b, n->in[0], 0, &first) && !first &&
	       const_int_at(b, n->in[2], 0, &step) && step == 1;
}

/* x[i, at] where i counts the rows, as pt.take_along_axis has it: GatherElements. NULL: it is not.
 */
static struct value *gathered_along(struct build *b, struct value *x, struct value **v, uint32_t n,
				    uint32_t brank)
{
	uint32_t axis = n;

	if (n != x->type.rank || brank != n)
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		if (counts_along(b, v[i], brank, i, x->type.dims[i]))
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

bool lower_advsubtensor(struct build *b, struct node *n)
{
	struct value *x = by_mask(b, n), *r = NULL, *v[MAX_RANK];
	struct index ix[MAX_RANK];
	uint32_t axes[MAX_RANK], brank, k;
	int64_t perm[MAX_RANK];
	bool adjacent;

	if (x) {
		lowered(b, n, 0, with_dims(x, n->out[0]->type.dims));
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
		r = gathered_apart(b, x, v, k, brank, axes[0]);
	if (k > 1 && !r)
		r = gathered_along(b, x, v, k, brank);
	if (r) {
		x = r;
	} else if (k > 1) {
		for (uint32_t i = 0; i < rank; i++)
			if (ix[i].kind == IX_ARRAY)
				perm[from++] = i;
			else
				perm[k + left++] = i;
		x = emit_(b, ONNX_GatherND, transpose(b, x, perm), index_tuples(b, v, k, brank));
		if (adjacent && axes[0]) { /* the arrays' axes go back to where they stood */
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
	lowered(b, n, 0, with_dims(x, n->out[0]->type.dims));
	return true;
}
