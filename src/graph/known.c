/*
 * known.c: integers that are known while compiling. An integer value of rank 0 or 1 may carry its
 * elements as dims (value->known): those of a Shape, of a constant, of arithmetic on them. Rules
 * for PyTensor's ops are in ops/rules_known.c, for ONNX's operators in onnx/infer_known.c.
 */
#include "graph/graph.h"

bool can_be_known(const struct type *t)
{
	return t->rank <= 1 && is_discrete((enum dtype)t->dtype);
}

int known_count(struct ctx *cx, const struct type *t)
{
	int64_t n = 1;
	if (!can_be_known(t) || (t->rank && !dim_is_const(cx, t->dims[0], &n)))
		return -1;
	return n >= 0 && n <= MAX_KNOWN ? (int)n : -1;
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
		if (!tensor_int(v->data, i, &x))
			return NULL;
		k->at[i] = dim_const(cx, x);
	}
	return v->known = k;
}

bool known_int(struct ctx *cx, const struct value *v, uint64_t i, int64_t *k)
{
	if (v->data)
		return tensor_int(v->data, i, k);
	return v->known && i < v->known->n && v->known->at[i] &&
	       dim_is_const(cx, v->known->at[i], k);
}

dim known_at(struct ctx *cx, const struct value *v, uint32_t i)
{
	int64_t k;

	if (v->known && i < v->known->n)
		return v->known->at[i];
	return known_int(cx, v, i, &k) ? dim_const(cx, k) : DIM_NONE;
}

dim known_broadcast(struct ctx *cx, struct value *v, uint32_t i)
{
	const struct known *k = known_of(cx, v);

	return k ? known_at(cx, v, k->n == 1 ? 0 : i) : DIM_NONE;
}

void known_set(struct ctx *cx, struct value *v, struct known *k)
{
	for (uint32_t i = 0; i < k->n; i++)
		if (!known_holds(cx, (enum dtype)v->type.dtype, k->at[i]))
			return;
	v->known = k;
}

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

bool known_may_wrap(struct ctx *cx, dim d, bool ordered)
{
	struct dim_view v = dim_view(cx, d);

	if (v.form == DIM_CONST || v.form == DIM_ATOM || !(dim_sources(cx, d, false) & FROM_VALUE))
		return false;
	if (ordered || (v.form != DIM_SUM && v.form != DIM_PRODUCT))
		return true;
	for (uint32_t i = 0; i < v.nterms; i++)
		if (known_may_wrap(cx, v.term[i], ordered))
			return true;
	return false;
}

bool known_minmax_wraps(struct ctx *cx, dim d)
{
	return known_may_wrap(cx, d, true) && dim_view(cx, d).form == DIM_SUM;
}

bool known_leaves_int64(struct ctx *cx, dim a, dim b)
{
	int64_t x = 0, y = 0, most = INT32_MAX;
	bool a_const = dim_is_const(cx, a, &x), b_const = dim_is_const(cx, b, &y);

	return a_const != b_const && (x > most || x < -most || y > most || y < -most);
}
