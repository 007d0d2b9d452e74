/*
 * build.c: the helpers of lowerings that make casts, shapes, slices and reductions. In and out:
 * ONNX values; constants are folded. With reshape.c and scatter.c it alone knows what differs
 * between opsets.
 */
#include <string.h>

#include "lower/internal.h"

/* Casts of constants up to this many elements are done here. */
#define MAX_CONSTANT 4096 /* elements of constants that are cast or joined at compile time */

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
	return is_constant(v) && stored_elements(v->data) <= MAX_CONSTANT && dtypes[t].size &&
	       dtypes[v->type.dtype].size && t != DT_BFLOAT16 && v->type.dtype != DT_BFLOAT16;
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
		uint64_t n = stored_elements(v->data);
		struct tensor *x = tensor_new(b->cx, t, v->data->rank, v->data->shape);
		void *data =
			arena_alloc(b->cx->arena, mul_size(b->cx->arena, n + 1, dtypes[t].size));
		x->splat = v->data->splat;
		x->data = data;
		if (tensor_convert(t, data, from, v->data->data, n))
			return const_tensor(b, x);
	}
	attr_int(b, "to", dtypes[t].onnx);
	struct value *r = emit_(b, ONNX_Cast, v);
	pass_known(r, v);
	return r;
}

/* Shapes */

struct value *shape_slice(struct build *b, struct value *v, int begin, int end)
{
	int64_t ends[MAX_RANK];

	if (!b->scope->shared->dims_as_made &&
	    dims_are_const(b->cx, v->type.dims + begin, (uint32_t)(end - begin), ends))
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
	if (dim_view_as_made(b->cx, vector->type.dims[0]).form != DIM_CONST)
		return NULL; /* it has to be that: a check may compare it */
	for (uint64_t i = 0; i < axes->count; i++) {
		if (!tensor_int(axes, i, &axis) || axis < -rank || axis >= rank)
			return NULL;
		put[from_front(axis, rank)] = true;
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
		return zeros_to(b, (enum dtype)v->type.dtype, to);
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
		put[from_front(axes[i], rank)] = true;
	if (is_constant(v)) {
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
		drop[from_front(axes[i], v->type.rank)] = true;
	if (is_constant(v)) {
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

struct value *filled_to(struct build *b, enum dtype t, struct value *shape, const dim *dims,
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

struct value *zeros_to(struct build *b, enum dtype t, struct value *shape)
{
	int64_t rank = 1;

	dim_is_const(b->cx, shape->type.dims[0], &rank);
	return filled_to(b, t, shape, NULL, (uint32_t)rank, 0);
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

struct value *iota_of(struct build *b, struct value *n)
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

struct value *pad_rank(struct build *b, struct value *y, uint32_t rank)
{
	int64_t axes[MAX_RANK];

	for (uint32_t i = 0; i + y->type.rank < rank; i++)
		axes[i] = i;
	return y->type.rank < rank ? unsqueeze(b, y, axes, rank - y->type.rank) : y;
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

struct value *reduce(struct build *b, enum onnx_id op, struct value *v, const int *axes, int naxes,
		     bool keepdims)
{
	if (naxes == 0) /* an empty list means all axes in ONNX */
		return v;
	struct value *r = b->rules ? b->rules->reduced(b, op, v, axes, naxes, keepdims) : NULL;
	return r ? r : reduce_node(b, op, v, axes, naxes, keepdims);
}

struct value *reduce_all(struct build *b, enum onnx_id op, struct value *v, bool keepdims)
{
	int axes[MAX_RANK];

	for (int i = 0; i < v->type.rank; i++)
		axes[i] = i;
	return reduce(b, op, v, axes, v->type.rank, keepdims);
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
