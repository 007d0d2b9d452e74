/*
 * fold_one.c: functions and views of one constant (-fno-fold turns it off). In: an operator, its
 * attributes and its constant inputs, before a node is made. Out: the constant that is the result;
 * NULL: the node has to be made.
 */
#include <math.h>
#include <string.h>

#include "lower/build.h"

#define MAX_ELEMENTS 1024 /* of a result that takes memory */

static bool compute(enum onnx_id op, double x, double *r)
{
	switch (op) {
	case ONNX_Neg:
		*r = -x;
		return true;
	case ONNX_Abs:
		*r = fabs(x);
		return true;
	case ONNX_Sqrt:
		*r = sqrt(x);
		return x >= 0;
	case ONNX_Reciprocal:
		*r = 1 / x;
		return x != 0;
	case ONNX_Exp:
		*r = portable_exp(x);
		return true;
	case ONNX_Log:
		*r = portable_log(x);
		return x > 0;
	case ONNX_Floor:
		*r = floor(x);
		return true;
	case ONNX_Ceil:
		*r = ceil(x);
		return true;
	case ONNX_Round:
		*r = rint(x);
		return true;
	default:
		return false;
	}
}

/* A function of each element of a float tensor */
static struct value *fold_function(struct build *b, enum onnx_id op, const struct tensor *x)
{
	uint64_t n = stored_elements(x);
	size_t size = dtypes[x->dtype].size;
	double y;

	if ((x->dtype != DT_FLOAT32 && x->dtype != DT_FLOAT64) || n > MAX_ELEMENTS ||
	    !compute(op, 1, &y)) /* none of these functions */
		return NULL;
	char *data = arena_alloc(b->cx->arena, n * size + 1);
	for (uint64_t i = 0; i < n; i++) {
		double from = tensor_float(x, i);
		if (isnan(from) || !compute(op, from, &y))
			return NULL;
		float single = (float)y;
		memcpy(data + i * size, size == 4 ? (void *)&single : (void *)&y, size);
	}
	struct tensor *r = tensor_new(b->cx, (enum dtype)x->dtype, x->rank, x->shape);
	r->splat = x->splat;
	r->data = data;
	return const_tensor(b, r);
}

static struct value *fold_not(struct build *b, const struct tensor *x)
{
	uint64_t n = stored_elements(x);
	int64_t k;

	if (x->dtype != DT_BOOL || n > MAX_ELEMENTS)
		return NULL;
	char *data = arena_alloc(b->cx->arena, n + 1);
	for (uint64_t i = 0; i < n; i++)
		data[i] = tensor_int(x, i, &k) && !k;
	struct tensor *r = tensor_new(b->cx, DT_BOOL, x->rank, x->shape);
	r->splat = x->splat;
	r->data = data;
	return const_tensor(b, r);
}

/* The same elements in another shape: they stay where they are. */
static struct value *fold_reshape(struct build *b, const struct tensor *x, const struct tensor *to)
{
	bool zero = b->nattrs == 1 && !strcmp(b->attrs[0].name, "allowzero") && b->attrs[0].u.i;
	int64_t shape[MAX_RANK], count = 1;
	int open = -1;

	if (to->count > MAX_RANK || b->nattrs > zero)
		return NULL;
	for (uint32_t i = 0; i < to->count; i++) {
		if (!tensor_int(to, i, &shape[i]) || shape[i] < -1 || (shape[i] < 0 && open >= 0) ||
		    (!shape[i] && !zero && i >= x->rank))
			return NULL;
		if (!shape[i] && !zero)
			shape[i] = x->shape[i];
		if (shape[i] < 0)
			open = (int)i;
		else if (__builtin_mul_overflow(count, shape[i], &count))
			return NULL;
	}
	if (open >= 0) {
		if (!count || x->count % (uint64_t)count)
			return NULL;
		shape[open] = (int64_t)(x->count / (uint64_t)count);
		count *= shape[open];
	}
	if ((uint64_t)count != x->count)
		return NULL;
	struct tensor *r = tensor_new(b->cx, (enum dtype)x->dtype, (int)to->count, shape);
	r->data = x->data;
	r->splat = x->splat;
	b->nattrs = 0;
	return const_tensor(b, r);
}

static struct value *fold_transpose(struct build *b, const struct tensor *x)
{
	int64_t shape[MAX_RANK], stride[MAX_RANK], from[MAX_RANK];
	const struct attr *perm = b->nattrs ? &b->attrs[0] : NULL;
	size_t size = dtypes[x->dtype].size;
	int64_t step = 1;

	if (x->count > MAX_ELEMENTS || !size || b->nattrs > 1 || (perm && perm->n != x->rank))
		return NULL;
	for (int i = x->rank - 1; i >= 0; i--) {
		stride[i] = step;
		step *= x->shape[i];
	}
	for (int i = 0; i < x->rank; i++) {
		int64_t p = perm ? perm->u.ints[i] : x->rank - 1 - i;
		if (p < 0 || p >= x->rank)
			return NULL;
		shape[i] = x->shape[p];
		from[i] = stride[p];
	}
	struct tensor *r = tensor_new(b->cx, (enum dtype)x->dtype, x->rank, shape);
	char *data = arena_alloc(b->cx->arena, x->count * size + 1);
	for (uint64_t k = 0; k < x->count; k++) {
		uint64_t left = k, at = 0;
		for (int i = x->rank - 1; i >= 0; i--) {
			at += left % (uint64_t)shape[i] * (uint64_t)from[i];
			left /= (uint64_t)shape[i];
		}
		memcpy(data + k * size, tensor_element(x, at), size);
	}
	r->data = data;
	b->nattrs = 0;
	return const_tensor(b, r);
}

/* Slice: data, starts, ends, axes, steps */
static struct value *fold_slice(struct build *b, const struct tensor *x, struct value **in,
				uint32_t nin)
{
	int64_t shape[MAX_RANK], first[MAX_RANK] = {0}, step[MAX_RANK], k[4];
	size_t size = dtypes[x->dtype].size;
	uint64_t count = 1;

	if (nin < 4 || !size || b->nattrs)
		return NULL;
	for (int i = 0; i < x->rank; i++) {
		shape[i] = x->shape[i];
		step[i] = 1;
	}
	for (uint32_t i = 0; i < in[1]->data->count; i++) {
		k[3] = 1;
		for (uint32_t j = 1; j < nin; j++)
			if (!tensor_int(in[j]->data, i, &k[j - 1]))
				return NULL;
		int64_t axis = from_front(k[2], x->rank);
		if (axis < 0 || axis >= x->rank || k[3] < 1)
			return NULL; /* backwards: left to the node */
		int64_t n = x->shape[axis];
		for (int j = 0; j < 2; j++) {
			k[j] = k[j] < 0 ? (k[j] < -n ? 0 : k[j] + n) : k[j];
			k[j] = k[j] > n ? n : k[j];
		}
		first[axis] = k[0];
		step[axis] = k[3];
		shape[axis] = k[1] > k[0] ? (k[1] - k[0] - 1) / k[3] + 1 : 0;
	}
	for (int i = 0; i < x->rank; i++)
		if (shape[i] > MAX_ELEMENTS || (count *= (uint64_t)shape[i]) > MAX_ELEMENTS)
			return NULL;
	struct tensor *r = tensor_new(b->cx, (enum dtype)x->dtype, x->rank, shape);
	char *data = arena_alloc(b->cx->arena, count * size + 1);
	for (uint64_t e = 0; e < count; e++) {
		uint64_t left = e, at = 0, stride = 1;
		for (int i = x->rank - 1; i >= 0; i--) {
			uint64_t i_at = left % (uint64_t)shape[i] * (uint64_t)step[i];
			at += ((uint64_t)first[i] + i_at) * stride;
			stride *= (uint64_t)x->shape[i];
			left /= (uint64_t)shape[i];
		}
		memcpy(data + e * size, tensor_element(x, at), size);
	}
	r->data = data;
	return const_tensor(b, r);
}

struct value *fold_one(struct build *b, const struct onnx_op *op, struct value **in, uint32_t nin)
{
	const struct tensor *x = in[0]->data;

	if (op->id == ONNX_Reshape && nin == 2)
		return fold_reshape(b, x, in[1]->data);
	if (op->id == ONNX_Transpose)
		return fold_transpose(b, x);
	if (op->id == ONNX_Slice)
		return fold_slice(b, x, in, nin);
	if (b->nattrs || nin != 1)
		return NULL;
	return op->id == ONNX_Not ? fold_not(b, x) : fold_function(b, op->id, x);
}
