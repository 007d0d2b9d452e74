/*
 * infer_attention.c: rules of ONNX inference: attention with its caches, rotary embedding,
 * losses. In and out: see internal.h.
 */
#include <string.h>

#include "onnx/internal.h"

/* Do axis i of input a and axis k of input b have lengths that may be the same? false: reported */
static bool same_length(struct infer *f, uint32_t a, uint32_t i, uint32_t b, uint32_t k)
{
	struct type x = type_in(f, a), y = type_in(f, b);

	if (!dim_ne(f->cx, x.dims[i], y.dims[k]))
		return true;
	infer_error(f, E_SHAPE, "axis %u of %s and axis %u of %s must be the same", i,
		    type_str(f->cx, x), k, type_str(f->cx, y));
	return false;
}

/* --- attention --- */

struct heads {
	dim batch, q, kv, length, keys, size, value_size;
};

/* [batch, length, heads * size] */
static bool joined_heads(struct infer *f, struct heads *h)
{
	struct type q = type_in(f, 0), v = type_in(f, 2);
	int64_t heads = int_attr(f, "q_num_heads"), groups = int_attr(f, "kv_num_heads");

	if (!heads || !groups) {
		infer_error(f, E_PROPERTY,
			    "inputs of 3 dims need the attributes q_num_heads and "
			    "kv_num_heads");
		return false;
	}
	h->q = num(f, heads);
	h->kv = num(f, groups);
	h->length = q.dims[1];
	h->keys = v.dims[1];
	h->size = dim_floordiv(f->cx, q.dims[2], h->q);
	h->value_size = dim_floordiv(f->cx, v.dims[2], h->kv);
	return true;
}

/* [batch, heads, length, size] */
static bool separate_heads(struct infer *f, struct heads *h)
{
	struct type q = type_in(f, 0), v = type_in(f, 2);

	if (has_attr(f, "q_num_heads") || has_attr(f, "kv_num_heads")) {
		infer_error(f, E_PROPERTY, "q_num_heads and kv_num_heads are for inputs of 3 dims");
		return false;
	}
	h->q = q.dims[1];
	h->kv = v.dims[1];
	h->length = q.dims[2];
	h->keys = v.dims[2];
	h->size = q.dims[3];
	h->value_size = v.dims[3];
	return true;
}

/* Has a cache (which may be missing) so many heads of that size? false: reported */
static bool past_fits(struct infer *f, uint32_t i, dim heads, dim size)
{
	if (!input(f, i) || (!dim_ne(f->cx, type_in(f, i).dims[1], heads) &&
			     !dim_ne(f->cx, type_in(f, i).dims[3], size)))
		return true;
	infer_error(f, E_SHAPE, "%s is %s for %s heads of size %s",
		    i == 4 ? "past_key" : "past_value", type_str(f->cx, type_in(f, i)),
		    dim_str(f->cx, heads), dim_str(f->cx, size));
	return false;
}

static bool read_heads(struct infer *f, struct heads *h)
{
	uint32_t rank = type_in(f, 0).rank;

	if (!want_in_rank(f, 1, rank, rank) || !want_in_rank(f, 2, rank, rank) ||
	    !same_length(f, 0, 0, 1, 0) || !same_length(f, 0, 0, 2, 0) ||
	    !same_length(f, 1, rank - 2, 2, rank - 2))
		return false;
	h->batch = type_in(f, 0).dims[0];
	if (!input(f, 4) != !input(f, 5)) {
		infer_error(f, E_ARITY, "past_key and past_value come together");
		return false;
	}
	for (uint32_t i = 4; i < 6 && input(f, i); i++)
		if (!same_length(f, 0, 0, i, 0) || !same_length(f, 4, 2, i, 2))
			return false;
	if (f->n->nout == 2) {
		infer_error(f, E_ARITY, "present_key and present_value come together");
		return false;
	}
	if (!(rank == 3 ? joined_heads(f, h) : separate_heads(f, h)))
		return false;
	return past_fits(f, 4, h->kv, h->size) && past_fits(f, 5, h->kv, h->value_size);
}

static void out4(struct infer *f, uint32_t i, dim a, dim b, dim c, dim d)
{
	dim *to = dims_alloc(f, 4);

	to[0] = a;
	to[1] = b;
	to[2] = c;
	to[3] = d;
	out(f, i, 4, to);
}

enum onnx_infer_result onnx_attention(struct infer *f)
{
	struct type q = type_in(f, 0);
	struct heads h = {0};

	if (!read_heads(f, &h))
		return ONNX_ERROR;
	dim total = input(f, 4) ? dim_add(f->cx, type_in(f, 4).dims[2], h.keys) : h.keys;
	dim *d = dims_copy(f, q);
	d[q.rank - 1] = q.rank == 4 ? h.value_size : dim_mul(f->cx, h.q, h.value_size);
	out4(f, 1, h.batch, h.kv, total, h.size);
	out4(f, 2, h.batch, h.kv, total, h.value_size);
	out4(f, 3, h.batch, h.q, h.length, total);
	return out(f, 0, q.rank, d);
}

enum onnx_infer_result onnx_rotary(struct infer *f)
{
	if (type_in(f, 0).rank == 3 && int_attr(f, "num_heads") < 1) {
		infer_error(f, E_PROPERTY, "an input of 3 dims needs the attribute num_heads");
		return ONNX_ERROR;
	}
	return onnx_same(f);
}

enum onnx_infer_result onnx_tensor_scatter(struct infer *f)
{
	struct type t = type_in(f, 0);
	uint32_t axis;

	if (!want_in_rank(f, 1, t.rank, t.rank) || !axis_in(f, int_attr(f, "axis"), t.rank, &axis))
		return ONNX_ERROR;
	for (uint32_t i = 0; i < t.rank; i++)
		if (i != axis && !same_length(f, 0, i, 1, i))
			return ONNX_ERROR;
	if (input(f, 2) && !same_length(f, 0, 0, 2, 0))
		return ONNX_ERROR;
	return out_like(f, 0, t);
}

/* --- losses --- */

enum onnx_infer_result onnx_loss(struct infer *f)
{
	struct type x = type_in(f, 0);
	bool whole = f->op->id == ONNX_SoftmaxCrossEntropyLoss;
	int64_t n;

	if (!want_in_rank(f, 1, x.rank - 1u, x.rank - 1u) || !same_length(f, 0, 0, 1, 0))
		return ONNX_ERROR;
	for (uint32_t i = 2; i < x.rank; i++)
		if (!same_length(f, 0, i, 1, i - 1))
			return ONNX_ERROR;
	if (input(f, 2) && !same_length(f, 0, 1, 2, 0))
		return ONNX_ERROR;
	for (uint32_t i = 0; whole && i < x.rank; i++)
		if (dim_is_const(f->cx, x.dims[i], &n) && !n) {
			infer_error(f, E_SHAPE, "%s has no elements", type_str(f->cx, x));
			return ONNX_ERROR;
		}
	out_like(f, 1, x);
	if (str_attr_is(f, "reduction", "none"))
		return out_like(f, 0, type_in(f, 1));
	return out(f, 0, 0, dims_alloc(f, 0));
}
