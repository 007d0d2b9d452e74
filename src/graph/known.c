/*
 * known.c: integers that are known while compiling. A value of integers of rank 0 or 1 may carry
 * its elements as dims (value->known): those of a Shape, of a constant, of arithmetic on them.
 */
#include "graph/graph.h"

bool can_be_known(const struct type *t)
{
	return t->rank <= 1 && is_discrete((enum dtype)t->dtype);
}

struct known *known_new(struct ctx *cx, uint32_t n)
{
	struct known *k = arena_alloc(cx->arena, sizeof(*k) + n * sizeof(dim));
	k->n = n;
	return k;
}

const struct known *known_of(struct ctx *cx, struct value *v)
{
	if (v->known || !v->data || !can_be_known(&v->type) || v->data->count > MAX_KNOWN)
		return v->known;
	struct known *k = known_new(cx, (uint32_t)v->data->count);
	for (uint32_t i = 0; i < k->n; i++) {
		int64_t x;
		if (!tensor_int(v->data, v->data->splat ? 0 : i, &x))
			return NULL;
		k->at[i] = dim_const(cx, x);
	}
	return v->known = k;
}

/* Beside int64 only constants in range are kept: others could wrap. */
bool known_holds(struct ctx *cx, enum dtype t, dim d)
{
	int64_t v;
	if (d == DIM_NONE)
		return false;
	if (!dim_is_const(cx, d, &v))
		return t == DT_INT64;
	if (t == DT_BOOL)
		return v == 0 || v == 1;
	return dtype_holds_int(t, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, v < 0);
}

/* Is there an element of an integer value in d, which may be any of 2^64 numbers? */
static bool has_element(struct ctx *cx, dim d)
{
	return dim_sources(cx, d, false) & FROM_VALUE;
}

/* Sums and products of elements wrap, dims do not. As long as all is sums and products that is the
 * same, but not once something asks which number is the larger one, nor for what dims make of a
 * sum or product of such answers. */
bool known_may_wrap(struct ctx *cx, dim d, bool ordered)
{
	struct dim_view v = dim_view(cx, d);

	if (v.form == DIM_CONST || v.form == DIM_ATOM || !has_element(cx, d))
		return false;
	if (ordered || (v.form != DIM_SUM && v.form != DIM_PRODUCT))
		return true;
	for (uint32_t i = 0; i < v.nterms; i++)
		if (known_may_wrap(cx, v.term[i], ordered))
			return true;
	return false;
}

/* max(k, 5) is max(k - 5, 0) + 5 to dims: not what k is close to its limits */
bool known_extreme_wraps(struct ctx *cx, dim d)
{
	return known_may_wrap(cx, d, true) && dim_view(cx, d).form == DIM_SUM;
}

/* A length beside a number so large that their sum or product may wrap, which a dim does not. */
bool known_leaves_int64(struct ctx *cx, dim a, dim b)
{
	int64_t x = 0, y = 0, most = INT32_MAX;
	bool fixed = dim_is_const(cx, a, &x), too = dim_is_const(cx, b, &y);

	return fixed != too && (x > most || x < -most || y > most || y < -most);
}
