/*
 * reshape.c: Reshape and Expand, without a shape that is computed where that is possible. In: ONNX
 * values, and dims. Out: the same elements. Must hold: the dims are those that the result really
 * has.
 */
#include "lower/internal.h"

/* If `big` is `small` with dims of 1 added: how many, and which axes of `big` they are; else -1 */
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

/* From opset 14 on a 0 in a shape can mean 0. */
bool zero_means_zero(struct build *b)
{
	return b->opset >= 14;
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
	if (zero && !zero_means_zero(b))
		return NULL;
	if (zero)
		attr_int(b, "allowzero", 1);
	return with_dims(emit_(b, ONNX_Reshape, v, const_ints(b, shape, rank)), dims);
}

/* For a shape with a 0: empty, unless v is not, which fails as it does in PyTensor. */
static struct value *reshape_empty(struct build *b, struct value *v, struct value *shape,
				   struct value *size, const dim *dims, uint32_t rank)
{
	enum dtype t = (enum dtype)v->type.dtype;
	struct value *r = filled_to(b, t, shape, NULL, rank, 0);
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

struct value *barrier(struct build *b, struct value *v)
{
	int64_t same[MAX_RANK] = {0}; /* 0: the length is kept */
	struct value *r = emit_(b, ONNX_Reshape, v, const_ints(b, same, v->type.rank));

	return with_dims(r, v->type.dims);
}

struct value *reshape_to_asked(struct build *b, struct value *v, struct value *shape,
			       const dim *dims, uint32_t rank, bool zero)
{
	if (zero && !zero_means_zero(b))
		return reshape_13(b, v, shape, dims, rank);
	if (zero)
		attr_int(b, "allowzero", 1);
	return with_dims(emit_(b, ONNX_Reshape, v, shape), dims);
}

/* Reshape to a shape that is computed; its dims as far as they are known. No -1 in it. */
struct value *reshape_to(struct build *b, struct value *v, struct value *shape, const dim *dims,
			 uint32_t rank)
{
	return reshape_to_asked(b, v, shape, dims, rank, dims_may_be_0(b->cx, dims, rank, rank));
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

struct value *reshape_if_simple(struct build *b, struct value *v, const dim *dims, uint32_t rank)
{
	struct type to = type_of((enum dtype)v->type.dtype, rank, (dim *)dims);
	int64_t axes[MAX_RANK];
	int n;

	if (rank == v->type.rank && same_dims(b->cx, v->type, to))
		return v;
	if (is_constant(v) && dims_are_const(b->cx, dims, rank, axes))
		return const_reshaped(b, v, axes, rank);
	for (uint32_t i = 0; i < rank; i++)
		if (dim_le(b->cx, dims[i], 0))
			return filled_to(b, (enum dtype)v->type.dtype, dims_vector(b, dims, rank),
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
	return NULL;
}

struct value *reshape_node(struct build *b, struct value *v, const dim *dims, uint32_t rank)
{
	struct value *r = reshape_static(b, v, dims, rank);

	if (!r && rank == 2)
		r = flatten(b, v, dims);
	return r ? r : reshape_to(b, v, dims_vector(b, dims, rank), dims, rank);
}

/* The shape with which Expand makes these dims of v: 1 stands for what it has already. */
static struct value *shape_to_expand(struct build *b, struct value *v, const dim *dims,
				     uint32_t rank)
{
	dim to[MAX_RANK], one = dim_const(b->cx, 1);
	uint32_t lead = rank - v->type.rank, same = 0;
	int64_t ints[MAX_RANK], first = -1;

	for (uint32_t i = 0; i < rank; i++) {
		bool has = i >= lead && dim_eq(b->cx, v->type.dims[i - lead], dims[i]);
		to[i] = has ? one : dims[i];
		same += has && same == i;
	}
	/* The leading dims of 1 are left out; but where v gets them by an Unsqueeze, that may go.
	 */
	if (is_onnx(v->def, ONNX_Unsqueeze) && known_int(b->cx, v->def->in[1], 0, &first) && !first)
		same = 0;
	if (lead || dims_are_const(b->cx, to, rank, ints))
		same = 0;
	if (dims_are_lengths_of_one_value(b, dims, rank) &&
	    !dims_are_lengths_of_one_value(b, to + same, rank - same) &&
	    !dims_are_const(b->cx, to, rank, ints))
		return dims_vector(b, dims, rank);
	return dims_vector(b, to + same, rank - same);
}

struct value *expand(struct build *b, struct value *v, const dim *dims, uint32_t rank)
{
	if (rank == v->type.rank &&
	    same_dims(b->cx, v->type, type_of((enum dtype)v->type.dtype, rank, (dim *)dims)))
		return v;
	if (is_constant(v) && is_uniform(v->data)) {
		int64_t shape[MAX_RANK];
		if (dims_are_const(b->cx, dims, rank, shape)) {
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
			return filled_to(b, (enum dtype)v->type.dtype, dims_vector(b, dims, rank),
					 dims, rank, 0);
	return with_dims(emit_(b, ONNX_Expand, v, shape_to_expand(b, v, dims, rank)), dims);
}
