/*
 * constant.c: constants as numbers: what they hold, and new ones. In: tensors, or numbers. Out:
 * answers that are never a guess; tensors of the dtype that is asked for.
 */
#include <math.h>
#include <string.h>

#include "data/data.h"

/* Element 0, of a dtype of real numbers; false: there is none, or a double does not hold it. */
static bool first_number(const struct tensor *t, double *k)
{
	enum dtype d = (enum dtype)t->dtype;

	if (!t->data || !t->count || !(is_float(d) || is_discrete(d)))
		return false;
	*k = tensor_float(t, 0);
	return is_float(d) || fabs(*k) < 0x1p53;
}

bool single_number(const struct tensor *t, double *k)
{
	return t && t->count == 1 && first_number(t, k);
}

bool uniform_number(const struct tensor *t, double *k)
{
	return t && is_uniform(t) && first_number(t, k);
}

bool is_plus_zero(const struct tensor *t)
{
	double k;

	return uniform_number(t, &k) && k == 0 && !signbit(k);
}

bool single_int(const struct tensor *t, int64_t *k)
{
	return t && t->data && t->count == 1 && tensor_int(t, 0, k);
}

bool uniform_int(const struct tensor *t, int64_t *k)
{
	return t && t->data && is_uniform(t) && tensor_int(t, 0, k);
}

bool all_are(const struct tensor *t, double k, uint64_t most)
{
	double first;

	if (!t || stored_elements(t) > most)
		return false;
	for (uint64_t i = 0; i < stored_elements(t); i++)
		if (!first_number(t, &first) || tensor_float(t, i) != k)
			return false;
	return true;
}

bool tensor_equal(const struct tensor *a, const struct tensor *b)
{
	return a == b || (a->dtype == b->dtype && a->rank == b->rank && a->splat == b->splat &&
			  a->count == b->count &&
			  (!a->rank || !memcmp(a->shape, b->shape, a->rank * sizeof(int64_t))) &&
			  (a->data == b->data || !memcmp(a->data, b->data, stored_bytes(a))));
}

bool quickly_equal(const struct tensor *a, const struct tensor *b, uint64_t most)
{
	return a && b && (a == b || (stored_bytes(a) <= most && tensor_equal(a, b)));
}

const struct tensor *tensor_filled(struct ctx *cx, enum dtype t, int rank, const int64_t *shape,
				   double k)
{
	struct tensor *r = tensor_new(cx, t, rank, shape);
	void *data = arena_alloc(cx->arena, dtypes[t].size);

	if (!tensor_convert(t, data, DT_FLOAT64, &k, 1))
		bug("a number as %s", dtypes[t].name);
	r->data = data;
	r->splat = r->count != 1;
	return r;
}

const struct tensor *tensor_ints(struct ctx *cx, const int64_t *v, uint32_t n)
{
	struct tensor *r = tensor_new(cx, DT_INT64, 1, &(int64_t){n});
	void *data = new_array(cx->arena, int64_t, n + 1u);

	r->data = n ? memcpy(data, v, n * sizeof(*v)) : data;
	return r;
}
