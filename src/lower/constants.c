/*
 * constants.c: constants of the model, and integers that are known while lowering. In: numbers.
 * Out: values that hold them; equal small ones are one value (scopes.c).
 */
#include <string.h>

#include <inttypes.h>

#include "lower/internal.h"

struct value *const_tensor(struct build *b, const struct tensor *t)
{
	return inserts(b) ? graph_constant(b->cx, t, b->span) : shared_constant(b, t, NULL);
}

static struct value *const_scalar(struct build *b, enum dtype t, const void *element)
{
	struct tensor *x = tensor_new(b->cx, t, 0, NULL);
	size_t size = dtypes[t].size;

	x->data = memcpy(arena_alloc(b->cx->arena, size), element, size);
	return const_tensor(b, x);
}

struct value *const_ints(struct build *b, const int64_t *v, uint32_t n)
{
	return const_tensor(b, tensor_ints(b->cx, v, n));
}

struct value *const_int(struct build *b, int64_t v)
{
	return const_scalar(b, DT_INT64, &v);
}

struct value *const_int_of(struct build *b, enum dtype t, int64_t v)
{
	unsigned char to[16] = {0};

	if (!tensor_convert(t, to, DT_INT64, &v, 1))
		bug("constant of dtype %s", dtypes[t].name);
	return const_scalar(b, t, to);
}

struct value *const_of(struct build *b, enum dtype t, double v)
{
	unsigned char to[16] = {0};
	double back = 0;

	if (!tensor_convert(t, to, DT_FLOAT64, &v, 1) ||
	    !tensor_convert(DT_FLOAT64, &back, t, to, 1) || (back != v && v == v))
		bug("%g is no exact %s", v, dtypes[t].name);
	return const_scalar(b, t, to);
}

struct value *const_reshaped(struct build *b, struct value *v, const int64_t *shape, uint32_t rank)
{
	struct tensor *t = tensor_new(b->cx, (enum dtype)v->type.dtype, (int)rank, shape);

	if (t->count != v->data->count)
		bug("a constant of %" PRIu64 " elements is to have %" PRIu64, v->data->count,
		    t->count);
	t->data = v->data->data;
	t->splat = v->data->splat;
	return const_tensor(b, t);
}

struct value *low_constant(struct build *b, struct value *v)
{
	bool own = v->name && v->data->name && !b->scope->shared->expanding;

	if (!v->lowered && !defining_block(b, v)) {
		v->lowered = own ? const_unshared(b, v->data) : const_tensor(b, v->data);
		name_value(b, v->lowered, v->name);
	}
	return v->lowered ? v->lowered : v;
}
