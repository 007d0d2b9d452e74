/*
 * build.c: the helpers of lowerings that make casts, shapes, slices and reductions. This is the
 * only file that knows what differs between opsets. In and out: ONNX values; constants are folded.
 * Must hold: dims given to reshape() and expand() are those that the result really has.
 */
#include <inttypes.h>
#include <string.h>

#include "lower/build.h"

/* Casts of constants up to this many elements are done here. */
#define MAX_CONSTANT 4096 /* elements of constants that are cast or joined at compile time */

/* The same data with other dims. */
static struct value *const_reshaped(struct build *b, struct value *v, const int64_t *shape,
				    uint32_t rank)
{
	struct tensor *t = tensor_new(b->cx, (enum dtype)v->type.dtype, (int)rank, shape);

	if (t->count != v->data->count)
		bug("a constant of %" PRIu64 " elements is to have %" PRIu64, v->data->count,
		    t->count);
	t->data = v->data->data;
	t->splat = v->data->splat;
	return const_tensor(b, t);
}

static bool const_dims(struct ctx *cx, const dim *dims, uint32_t rank, int64_t *out)
{
	for (uint32_t i = 0; i < rank; i++)
		if (!dim_is_const(cx, dims[i], &out[i]))
			return false;
	return true;
}

/* The same integers, in a dtype that holds all of the other's. */
static void pass_known(struct value *to, const struct value *from)
{
	const struct dtype_info *t = &dtypes[to->type.dtype], *f = &dtypes[from->type.dtype];

	if (!to->known && to != from && is_int((enum dtype)to->type.dtype) &&
	    is_discrete((enum dtype)from->type.dtype) && to->type.rank <= 1 && t->bits >= f->bits &&
	    !(t->kind == KIND_UINT && f->kind == KIND_INT) && !to->data)
		to->known = from->known;
}

bool cast_folds(const struct value *v, enum dtype t)
{
	return is_constant(v) && (v->data->splat || v->data->count <= MAX_CONSTANT) &&
	       dtypes[t].size && dtypes[v->type.dtype].size && t != DT_BFLOAT16 &&
	       v->type.dtype != DT_BFLOAT16;
}

enum dtype wide_float(const struct build *b)
{
	return b->target == PTGC_PORTABLE ? DT_FLOAT32 : DT_FLOAT64;
}

struct value *cast(struct build *b, struct value *v, enum dtype t)
{
	enum dtype from = (enum dtype)v->type.dtype;

	if (from == t)
		return v;
	if (cast_folds(v, t)) {
		uint64_t n = v->data->splat && v->data->count ? 1 : v->data->count;
		struct tensor *x = tensor_new(b->cx, t, v->data->rank, v->data->shape);
		void *data =
			arena_alloc(b->cx->arena, mul_size(b->cx->arena, n + 1, dtypes[t].size));
		x->splat = v->data->splat;
		x->data = data;
		if (tensor_convert(t, data, from, v->data->data, n))
			return const_tensor(b, x);
	}
	struct value *r = triangle_of_dtype(b, v, t);
	if (r)
		return r;
	attr_int(b, "to", dtypes[t].onnx);
	r = emit_(b, ONNX_Cast, v);
	pass_known(r, v);
	return r;
}

/* float64 to float16 is rounded once, as NumPy does; the runtime's Cast goes through float32. */
struct value *cast_once(struct build *b, struct value *v, enum dtype t)
{
	struct fn *f;
	struct value *out;

	if (v->type.dtype != DT_FLOAT64 || t != DT_FLOAT16 || cast_folds(v, t) ||
	    b->target == PTGC_ONNX || b->cx->opt.excess_precision)
		return cast(b, v, t);
	f = lib_fn(b->cx, "_To_half");
	if (!f)
		bug("the library has no _To_half");
	return call_fn(b, f, NULL, NULL, &v, 1, &out, 1) ? out : dummy(b, type_of(t, 0, NULL));
}

/* Shapes */

struct value *shape_slice(struct build *b, struct value *v, int begin, int end)
{
	int64_t ends[MAX_RANK];

	if (!b->cse->shared->raw_dims &&
	    const_dims(b->cx, v->type.dims + begin, (uint32_t)(end - begin), ends))
		return const_ints(b, ends, (uint32_t)(end - begin));
	bool all = begin == 0 && end == v->type.rank;
	struct value *r;
	if (b->opset >= 15 && !all) {
		if (begin)
			attr_int(b, "start", begin);
		if (end != v->type.rank)
			attr_int(b, "end", end);
		r = emit_(b, ONNX_Shape, v);
	} else {
		r = emit_(b, ONNX_Shape, v);
		if (!all && end == begin + 1) {
			r = emit_(b, ONNX_Gather, r, const_ints(b, &(int64_t){begin}, 1));
		} else if (!all) {
			struct value *start = const_ints(b, &(int64_t){begin}, 1);
			r = emit_(b, ONNX_Slice, r, start, const_ints(b, &(int64_t){end}, 1));
		}
	}
	if (!r->known) {
		struct known *k =
			arena_alloc(b->cx->arena, sizeof(*k) + (size_t)(end - begin) * sizeof(dim));
		k->n = (uint32_t)(end - begin);
		memcpy(k->at, v->type.dims + begin, k->n * sizeof(dim));
		r->known = k;
	}
	return r;
}

struct value *shape_of(struct build *b, struct value *v)
{
	return shape_slice(b, v, 0, v->type.rank);
}

struct value *scalar_of(struct build *b, struct value *v)
{
	return squeeze(b, v, &(int64_t){0}, 1);
}

struct value *vector_of(struct build *b, struct value *v)
{
	return v->type.rank ? v : unsqueeze(b, v, &(int64_t){0}, 1);
}

/*
 * onnx's shape inference takes a vector of known length for a shape, through Unsqueeze too, and
 * refuses sums of such "shapes" of unlike lengths: x[:, None] + y. Not through Reshape, which is
 * what Unsqueeze of such a vector is made here. NULL: v is none, or the last axis is not a new one.
 */
struct value *as_column(struct build *b, struct value *v, const struct tensor *axes)
{
	const struct node *n = v->def;
	bool row = is_onnx(n, ONNX_Unsqueeze);
	struct value *vector = row ? n->in[0] : v;
	int64_t shape[MAX_RANK], len, axis, rank = v->type.rank + (int64_t)axes->count;
	bool put[MAX_RANK] = {false};

	if (vector->type.rank != 1 || rank > MAX_RANK ||
	    !dim_is_const(b->cx, vector->type.dims[0], &len) || len == 1)
		return NULL;
	if (dim_view_raw(b->cx, vector->type.dims[0]).form != DIM_CONST)
		return NULL; /* it has to be that: a check may compare it */
	for (uint64_t i = 0; i < axes->count; i++) {
		if (!tensor_int(axes, i, &axis) || axis < -rank || axis >= rank)
			return NULL;
		put[axis < 0 ? axis + rank : axis] = true;
	}
	if (!put[rank - 1])
		return NULL;
	for (int64_t i = 0, from = 0; i < rank; i++) {
		if (put[i])
			shape[i] = 1;
		else if (!dim_is_const(b->cx, v->type.dims[from++], &shape[i]))
			shape[i] = len; /* of a row, whose type does not say it */
	}
	struct value *to = const_ints(b, shape, (uint32_t)rank);
	if (!len) /* 0 would copy a length */
		return const_zeros(b, (enum dtype)v->type.dtype, to);
	return emit_(b, ONNX_Reshape, vector, to);
}

struct value *unsqueeze(struct build *b, struct value *v, const int64_t *axes, uint32_t n)
{
	int64_t shape[MAX_RANK] = {0};
	bool put[MAX_RANK] = {false};
	uint32_t rank = v->type.rank + n, from = 0;

	if (!n)
		return v;
	if (rank > MAX_RANK) {
		unsupported(b, "a step of it has %u dims: at most %d are possible", rank, MAX_RANK);
		return v;
	}
	for (uint32_t i = 0; i < n; i++)
		put[axes[i] < 0 ? axes[i] + rank : axes[i]] = true;
	if (v->data && !is_weight(v)) {
		for (uint32_t i = 0; i < rank; i++)
			shape[i] = put[i] ? 1 : v->data->shape[from++];
		return const_reshaped(b, v, shape, rank);
	}
	struct value *r = emit_(b, ONNX_Unsqueeze, v, const_ints(b, axes, n));
	pass_known(r, v);
	return r;
}

struct value *squeeze(struct build *b, struct value *v, const int64_t *axes, uint32_t n)
{
	int64_t shape[MAX_RANK] = {0};
	bool drop[MAX_RANK] = {false};
	uint32_t rank = 0;

	if (!n)
		return v;
	for (uint32_t i = 0; i < n; i++)
		drop[axes[i] < 0 ? axes[i] + v->type.rank : axes[i]] = true;
	if (v->data && !is_weight(v)) {
		for (uint32_t i = 0; i < v->type.rank; i++)
			if (!drop[i])
				shape[rank++] = v->data->shape[i];
		return const_reshaped(b, v, shape, rank);
	}
	struct value *r = emit_(b, ONNX_Squeeze, v, const_ints(b, axes, n));
	if (!r->type.rank)
		pass_known(r, v);
	return r;
}

struct value *transpose(struct build *b, struct value *v, const int64_t *perm)
{
	uint32_t i = 0;

	while (i < v->type.rank && perm[i] == (int64_t)i)
		i++;
	if (i == v->type.rank)
		return v;
	attr_ints(b, "perm", perm, v->type.rank);
	return emit_(b, ONNX_Transpose, v);
}

/* If `to` is v's shape with dims of 1 added, or taken away, but not both: which axes. */
static int ones_moved(struct ctx *cx, const dim *big, uint32_t nbig, const dim *small,
		      uint32_t nsmall, int64_t *axes)
{
	uint32_t j = 0, n = 0;

	for (uint32_t i = 0; i < nbig; i++) {
		if (j < nsmall && dim_eq(cx, big[i], small[j]))
			j++;
		else if (dim_is(cx, big[i], 1))
			axes[n++] = i;
		else
			return -1;
	}
	return j == nsmall ? (int)n : -1;
}

/* A Reshape without reading shapes: constants, 0 (the same axis of v) and one -1. NULL: not
 * possible. */
static struct value *reshape_static(struct build *b, struct value *v, const dim *dims,
				    uint32_t rank)
{
	int64_t shape[MAX_RANK] = {0};
	int unknown = -1;
	bool zero = false, maybe_zero = false;

	for (uint32_t i = 0; i < rank; i++)
		if (dim_is_const(b->cx, dims[i], &shape[i]) && shape[i] == 0)
			zero = true;
	for (uint32_t i = 0; i < rank; i++) {
		if (dim_is_const(b->cx, dims[i], &shape[i]))
			continue;
		if (!zero && i < v->type.rank && dim_eq(b->cx, dims[i], v->type.dims[i])) {
			shape[i] = 0;
			maybe_zero |= !dim_ge(b->cx, dims[i], 1);
		} else if (unknown < 0) {
			unknown = (int)i;
			shape[i] = -1;
		} else {
			return NULL;
		}
	}
	if (unknown >= 0 && (zero || maybe_zero ||
			     !dims_same_product(b->cx, dims, rank, v->type.dims, v->type.rank)))
		return NULL;
	if (zero && b->opset < 14)
		return NULL;
	if (zero)
		attr_int(b, "allowzero", 1);
	return with_dims(emit_(b, ONNX_Reshape, v, const_ints(b, shape, rank)), dims);
}

/* The branch of a shape with a 0: empty, unless v is not, which fails as it does in PyTensor. */
static struct value *reshape_empty(struct build *b, struct value *v, struct value *shape,
				   struct value *size, const dim *dims, uint32_t rank)
{
	enum dtype t = (enum dtype)v->type.dtype;
	struct value *r = const_shape(b, t, shape, NULL, rank, 0);
	struct value *zero = emit_(b, ONNX_Equal, shape, const_int(b, 0));

	r = emit_(b, ONNX_Reshape, r, emit_(b, ONNX_Where, zero, size, shape));
	r->type = type_of(t, rank, (dim *)dims);
	return r;
}

/* At opset 13 a 0 in the shape copies a dim of v: such shapes have a branch of their own. */
static struct value *reshape_13(struct build *b, struct value *v, struct value *shape,
				const dim *dims, uint32_t rank)
{
	struct block *outer = b->block;
	struct block *branch[2];
	struct value *size = emit_(b, ONNX_Size, v);
	const struct known *k = known_of(b->cx, shape);
	for (uint32_t i = 0; k && i < k->n; i++)
		if (dim_eq(b->cx, k->at[i], dim_const(b->cx, 0)))
			return reshape_empty(b, v, shape, size, dims, rank);
	struct value *least = reduce(b, ONNX_ReduceProd, shape, (int[]){0}, 1, false);
	struct value *empty = emit_(b, ONNX_Equal, least, const_int(b, 0));

	for (int i = 0; i < 2; i++) {
		branch[i] = block_new(b);
		scope_open(b, branch[i]);
		struct value *r = i == 0 ? reshape_empty(b, v, shape, size, dims, rank)
					 : emit_(b, ONNX_Reshape, v, shape);
		block_result(b, r, dims, false);
		scope_close(b, outer);
	}
	return if_node(b, empty, branch[0], branch[1],
		       type_of((enum dtype)v->type.dtype, rank, (dim *)dims));
}

struct value *same_shape(struct build *b, struct value *v)
{
	int64_t same[MAX_RANK] = {0}; /* 0: the length is kept */
	struct value *r = emit_(b, ONNX_Reshape, v, const_ints(b, same, v->type.rank));

	return with_dims(r, v->type.dims);
}

/* From opset 14 on a 0 in a shape can mean 0. */
bool may_reshape_to_zero(struct build *b)
{
	return b->opset >= 14;
}

/* Reshape to a shape that is computed; its dims as far as they are known. No -1 in it. */
struct value *reshape_to(struct build *b, struct value *v, struct value *shape, const dim *dims,
			 uint32_t rank)
{
	bool zero = false;

	for (uint32_t i = 0; i < rank; i++)
		zero |= !dim_ge(b->cx, dims[i], 1);
	if (zero && b->opset < 14)
		return reshape_13(b, v, shape, dims, rank);
	if (zero)
		attr_int(b, "allowzero", 1);
	return with_dims(emit_(b, ONNX_Reshape, v, shape), dims);
}

/* The first axes as one, and the others: that reads no sizes. NULL: it is not that. */
static struct value *flatten(struct build *b, struct value *v, const dim *dims)
{
	uint32_t rank = v->type.rank;

	for (uint32_t axis = 1; axis < rank; axis++) {
		if (!dim_eq(b->cx, dims[0], dims_product(b->cx, v->type.dims, axis)) ||
		    !dim_eq(b->cx, dims[1], dims_product(b->cx, v->type.dims + axis, rank - axis)))
			continue;
		attr_int(b, "axis", axis);
		return with_dims(emit_(b, ONNX_Flatten, v), dims);
	}
	return NULL;
}

struct value *reshape(struct build *b, struct value *v, const dim *dims, uint32_t rank)
{
	struct type to = type_of((enum dtype)v->type.dtype, rank, (dim *)dims);
	int64_t axes[MAX_RANK];
	int n;

	if (rank == v->type.rank && same_dims(b->cx, v->type, to))
		return v;
	if (v->data && !is_weight(v) && const_dims(b->cx, dims, rank, axes))
		return const_reshaped(b, v, axes, rank);
	for (uint32_t i = 0; i < rank; i++)
		if (dim_le(b->cx, dims[i], 0))
			return const_shape(b, (enum dtype)v->type.dtype, dims_vector(b, dims, rank),
					   dims, rank, 0);
	if (rank > v->type.rank) {
		n = ones_moved(b->cx, dims, rank, v->type.dims, v->type.rank, axes);
		if (n > 0)
			return with_dims(unsqueeze(b, v, axes, (uint32_t)n), dims);
	} else {
		n = ones_moved(b->cx, v->type.dims, v->type.rank, dims, rank, axes);
		if (n > 0)
			return with_dims(squeeze(b, v, axes, (uint32_t)n), dims);
	}
	struct value *r = reshape_as_tile(b, v, dims, rank);
	if (!r)
		r = reshape_static(b, v, dims, rank);
	if (!r && rank == 2)
		r = flatten(b, v, dims);
	return r ? r : reshape_to(b, v, dims_vector(b, dims, rank), dims, rank);
}

/* The shape that makes these dims of v: 1 stands for what it has already. */
static struct value *stretched(struct build *b, struct value *v, const dim *dims, uint32_t rank)
{
	dim to[MAX_RANK], one = dim_const(b->cx, 1);
	uint32_t lead = rank - v->type.rank, same = 0;
	int64_t ints[MAX_RANK], first = -1;

	for (uint32_t i = 0; i < rank; i++) {
		bool has = i >= lead && dim_eq(b->cx, v->type.dims[i - lead], dims[i]);
		to[i] = has ? one : dims[i];
		same += has && same == i;
	}
	/* without the first ones, unless it may go without an Unsqueeze for them */
	if (is_onnx(v->def, ONNX_Unsqueeze) && const_int_at(b, v->def->in[1], 0, &first) && !first)
		same = 0;
	if (lead || const_dims(b->cx, to, rank, ints))
		same = 0;
	if (dims_are_axes_of_one(b, dims, rank) &&
	    !dims_are_axes_of_one(b, to + same, rank - same) && !const_dims(b->cx, to, rank, ints))
		return dims_vector(b, dims, rank);
	return dims_vector(b, to + same, rank - same);
}

struct value *const_shape(struct build *b, enum dtype t, struct value *shape, const dim *dims,
			  uint32_t rank, int64_t v)
{
	int64_t one = 1;
	unsigned char *data = arena_alloc(b->cx->arena, 16);
	struct tensor *x = tensor_new(b->cx, t, 1, &one);

	if (!tensor_convert(t, data, DT_INT64, &v, 1)) {
		unsupported(b, "ONNX has no filled tensors of %s", dtypes[t].name);
		return dummy(b, type_of(t, rank, (dim *)dims));
	}
	x->data = data;
	if (rank == 0)
		return const_int_of(b, t, v);
	attr_tensor(b, "value", x);
	struct value *r = emit_(b, ONNX_ConstantOfShape, shape);
	return dims ? with_dims(r, dims) : r;
}

struct value *const_zeros(struct build *b, enum dtype t, struct value *shape)
{
	int64_t rank = 1;

	dim_is_const(b->cx, shape->type.dims[0], &rank);
	return const_shape(b, t, shape, NULL, (uint32_t)rank, 0);
}

struct value *expand(struct build *b, struct value *v, const dim *dims, uint32_t rank)
{
	if (rank == v->type.rank &&
	    same_dims(b->cx, v->type, type_of((enum dtype)v->type.dtype, rank, (dim *)dims)))
		return v;
	if (is_constant(v) && (v->data->splat || v->data->count == 1)) {
		int64_t shape[MAX_RANK];
		if (const_dims(b->cx, dims, rank, shape)) {
			struct tensor *t =
				tensor_new(b->cx, (enum dtype)v->type.dtype, (int)rank, shape);
			t->data = v->data->data;
			t->splat = true;
			return const_tensor(b, t);
		}
	}
	for (uint32_t i = 0; i < rank;
	     i++) /* the runtime takes a constant 0 here for "no change" */
		if (dim_le(b->cx, dims[i], 0))
			return const_shape(b, (enum dtype)v->type.dtype, dims_vector(b, dims, rank),
					   dims, rank, 0);
	return with_dims(emit_(b, ONNX_Expand, v, stretched(b, v, dims, rank)), dims);
}

struct value *slice(struct build *b, struct value *v, const int64_t *axes, uint32_t n,
		    struct value *starts, struct value *stops, struct value *steps)
{
	return emit_(b, ONNX_Slice, v, starts, stops, const_ints(b, axes, n), steps);
}

struct value *slice_axis(struct build *b, struct value *v, int axis, struct value *start,
			 struct value *stop, struct value *step)
{
	step = step ? vector_of(b, step) : NULL;
	stop = vector_of(b, stop);
	return slice(b, v, &(int64_t){axis}, 1, vector_of(b, start), stop, step);
}

struct value *slice_ints(struct build *b, struct value *v, int64_t axis, int64_t start,
			 int64_t stop)
{
	struct value *to = const_ints(b, &stop, 1);

	return slice(b, v, &axis, 1, const_ints(b, &start, 1), to, NULL);
}

struct value *count_to(struct build *b, struct value *n)
{
	struct value *zero = const_int(b, 0);

	return emit_(b, ONNX_Range, zero, n, const_int(b, 1));
}

/* Constants one after the other; NULL: some are none, or they are many. */
static struct value *const_concat(struct build *b, int axis, struct value **in, uint32_t n)
{
	struct type t = in[0]->type;
	int64_t shape[MAX_RANK], rows = 1;
	uint64_t count = 0, size = dtypes[t.dtype].size, at = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!is_constant(in[i]) || in[i]->data->splat)
			return NULL;
		count += in[i]->data->count;
	}
	if (count > MAX_CONSTANT || !size)
		return NULL;
	memcpy(shape, in[0]->data->shape, t.rank * sizeof(int64_t));
	for (int i = 0; i < axis; i++)
		rows *= shape[i];
	for (uint32_t i = 1; i < n; i++)
		shape[axis] += in[i]->data->shape[axis];
	struct tensor *x = tensor_new(b->cx, (enum dtype)t.dtype, t.rank, shape);
	char *to = arena_alloc(b->cx->arena, (count + 1) * size);
	for (int64_t row = 0; row < rows; row++)
		for (uint32_t i = 0; i < n; i++) {
			uint64_t len = in[i]->data->count / (uint64_t)rows * size;
			memcpy(to + at, (const char *)in[i]->data->data + (uint64_t)row * len, len);
			at += len;
		}
	x->data = to;
	return const_tensor(b, x);
}

struct value *concat(struct build *b, int axis, struct value **in, uint32_t n)
{
	if (n == 1)
		return in[0];
	struct value *folded = axis >= 0 ? const_concat(b, axis, in, n) : NULL;
	if (folded)
		return folded;
	attr_int(b, "axis", axis);
	return emit(b, ONNX_Concat, in, n);
}

/* `sizes` NULL: n parts of one size, proved to divide the axis. */
struct value *split(struct build *b, struct value *v, int axis, struct value *sizes,
		    struct value **out, uint32_t n)
{
	if (n == 1 && !sizes)
		return out[0] = v;
	attr_int(b, "axis", axis);
	if (!sizes && b->opset >= 18)
		attr_int(b, "num_outputs", n);
	emit_n(b, ONNX_Split, (struct value *[]){v, sizes}, 2, out, n);
	return out[0];
}

/* Have x and y as many elements? */
static bool has_as_many(struct ctx *cx, const struct value *x, const struct value *y)
{
	return dims_same_product(cx, x->type.dims, x->type.rank, y->type.dims, y->type.rank);
}

struct value *reduce(struct build *b, enum onnx_id op, struct value *v, const int *axes, int naxes,
		     bool keepdims)
{
	if (naxes == 0) /* an empty list means all axes in ONNX */
		return v;
	struct value *bare = v->def ? without_ones(b, v) : NULL;
	if (is_onnx(v->def, ONNX_Squeeze) && has_as_many(b->cx, v->def->in[0], v))
		bare = v->def->in[0];
	if (bare && bare->type.rank && naxes == v->type.rank && !keepdims) {
		int all[MAX_RANK];
		for (int i = 0; i < bare->type.rank; i++)
			all[i] = i;
		return reduce(b, op, bare, all, bare->type.rank, false);
	}
	struct value *r = op == ONNX_ReduceSum ? sum_by_algebra(b, v, axes, naxes, keepdims) : NULL;
	r = r ? r : reduced_reversed(b, op, v, axes, naxes, keepdims);
	return r ? r : reduce_node(b, op, v, axes, naxes, keepdims);
}

struct value *reduce_node(struct build *b, enum onnx_id op, struct value *v, const int *axes,
			  int naxes, bool keepdims)
{
	bool all = naxes == v->type.rank, input = takes_axes(onnx_nearest(op, b->opset));
	int64_t at[MAX_RANK];

	for (int i = 0; i < naxes; i++)
		at[i] = axes[i];
	attr_int(b, "keepdims", keepdims);
	if (!all && !input)
		attr_ints(b, "axes", at, (uint32_t)naxes);
	struct value *list = !all && input ? const_ints(b, at, (uint32_t)naxes) : NULL;
	return emit_(b, op, v, list);
}

/* One update after the other is added, in their dtype, and rounded to that of v. `at` has a tuple a
 * row. */
struct value *scatter_each(struct build *b, struct value *v, struct value *at,
			   struct value *updates)
{
	struct block *outer = b->block, *body = block_new(b);
	struct type acc = v->type;
	uint32_t lead = at->type.rank - 1u, rest = updates->type.rank - lead;
	dim *to = new_array(b->cx->arena, dim, rest + 2);

	to[0] = dims_product(b->cx, at->type.dims, lead);
	to[1] = at->type.dims[lead];
	at = reshape(b, at, memcpy(new_array(b->cx->arena, dim, 2), to, 2 * sizeof(dim)), 2);
	memcpy(to + 1, updates->type.dims + lead, rest * sizeof(dim));
	updates = reshape(b, updates, to, rest + 1);
	struct value *count = scalar_of(b, shape_slice(b, at, 0, 1));

	struct value *i = block_param(b, body, type_of(DT_INT64, 0, NULL));
	struct value *go = block_param(b, body, type_of(DT_BOOL, 0, NULL));
	struct value *old = block_param(b, body, acc);
	scope_open(b, body);
	i = vector_of(b, i);
	struct value *place = emit_(b, ONNX_Gather, at, i), *u = emit_(b, ONNX_Gather, updates, i);
	struct value *sum = cast(b, emit_(b, ONNX_GatherND, old, place), (enum dtype)u->type.dtype);
	u = cast_once(b, emit_(b, ONNX_Add, sum, u), (enum dtype)acc.dtype);
	block_result(b, go, NULL, false);
	block_result(b, emit_(b, ONNX_ScatterND, old, place, u), acc.dims, false);
	scope_close(b, outer);
	return loop_node(b, body, (struct value *[]){count, NULL, v}, 3, &acc, 1)->out[0];
}

bool scatter_adds(struct build *b)
{
	return b->opset >= 16;
}

struct value *scatter_nd(struct build *b, struct value *v, struct value *at, struct value *updates,
			 bool add)
{
	if (add && !scatter_adds(b)) /* before opset 16 ScatterND cannot */
		return scatter_each(b, v, at, updates);
	if (add)
		attr_str(b, "reduction", "add");
	return emit_(b, ONNX_ScatterND, v, at, updates);
}

bool has_op(struct build *b, enum onnx_id op)
{
	return onnx_find(op, b->opset) != NULL;
}

/* Do ReduceMax and ReduceMin take bools? */
bool reduces_bools(struct build *b)
{
	return b->opset >= 20;
}

/* ONNX's DFT along one axis, which is an attribute before opset 20 and an input from there on. */
struct value *dft(struct build *b, struct value *x, struct value *length, int64_t axis,
		  bool onesided)
{
	struct value *at = b->opset >= 20 ? const_int(b, axis) : NULL;

	if (!at)
		attr_int(b, "axis", axis);
	if (onesided)
		attr_int(b, "onesided", 1);
	return emit_(b, ONNX_DFT, x, length, at);
}
