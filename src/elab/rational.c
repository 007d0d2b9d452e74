/*
 * rational.c: rational(x, [3, 2, 1], [1, 4]) is (3 x^2 + 2 x + 1)/(x + 4) by Horner's rule. In: a
 * float value and two lists of coefficients. Out: nodes of ONNX. For an x of few elements both
 * polynomials are computed at once, along a new first axis of length 2: a node costs the same for
 * so few numbers and for twice as many. Larger arrays would no longer fit the cache.
 */
#include <string.h>

#include "elab/internal.h"

#define FEW 4096 /* elements */

struct rational {
	struct elab *e;
	struct span span;
	struct value *x;
	const struct tensor *part[2]; /* coefficients, highest power first */
};

static struct value *binary(struct rational *r, enum onnx_id op, struct value *a, struct value *b)
{
	return append_onnx(r->e, op, (struct value *[]){a, b}, 2, r->span);
}

/* How many elements x has is known, and they are few. */
static bool is_small(const struct rational *r)
{
	const struct type *t = &r->x->type;
	int64_t count = 1, length;

	for (uint32_t i = 0; i < t->rank; i++) {
		if (!dim_is_const(r->e->cx, t->dims[i], &length) || length > FEW)
			return false;
		count *= length;
		if (count > FEW)
			return false;
	}
	return t->rank < MAX_RANK;
}

/* The coefficient of x^power in a part */
static double coefficient(const struct rational *r, int part, int64_t power)
{
	const struct tensor *t = r->part[part];
	int64_t at = t->shape[0] - 1 - power;

	return at < 0 ? 0 : tensor_float(t, (uint64_t)at);
}

/* n coefficients of x^power, of the parts from `part` on: of shape [n, 1, ..., 1], or [] if n is 1
 */
static struct value *constant(struct rational *r, int part, uint32_t n, int64_t power)
{
	struct ctx *cx = r->e->cx;
	int64_t shape[MAX_RANK];
	double c[2] = {coefficient(r, part, power), n > 1 ? coefficient(r, part + 1, power) : 0};

	for (uint32_t i = 0; i <= r->x->type.rank; i++)
		shape[i] = i ? 1 : n;
	struct tensor *t = tensor_new(cx, (enum dtype)r->x->type.dtype,
				      n > 1 ? r->x->type.rank + 1 : 0, shape);
	void *data = arena_alloc(cx->arena, sizeof(c));
	tensor_convert((enum dtype)t->dtype, data, DT_FLOAT64, c, n);
	t->data = data;
	return graph_constant(cx, t, r->span);
}

/* n parts from `part` on, of this degree */
static struct value *horner(struct rational *r, int part, uint32_t n, int64_t degree)
{
	bool monic = n == 1 && degree && coefficient(r, part, degree) == 1;
	struct value *y = monic ? r->x : constant(r, part, n, degree);

	for (int64_t power = degree; power--;) {
		if (power + 1 < degree || !monic)
			y = binary(r, ONNX_Mul, y, r->x);
		y = binary(r, ONNX_Add, y, constant(r, part, n, power));
	}
	return y;
}

/* Of two Gathers ONNX Runtime would make a Split and two Squeezes. */
static struct value *row(struct rational *r, struct value *rows, int64_t i)
{
	struct ctx *cx = r->e->cx;
	int64_t one = 1;
	struct tensor *t = tensor_new(cx, DT_INT64, 1, &one);

	t->data = memcpy(new (cx->arena, int64_t), &i, sizeof(i));
	return binary(r, ONNX_GatherND, rows, graph_constant(cx, t, r->span));
}

struct cv call_rational(struct elab *e, struct cv *args, uint32_t nargs, struct span s)
{
	struct rational r = {.e = e, .span = s};
	struct value *part[2] = {NULL};

	r.x = nargs == 3 ? to_value(e, &args[0], DT_NONE) : NULL;
	if (nargs == 3 && (!r.x || !r.x->type.dtype))
		return poison(s);
	bool ok = r.x && is_float((enum dtype)r.x->type.dtype);
	for (uint32_t i = 0; ok && i < 2; i++) {
		part[i] = to_value(e, &args[i + 1], (enum dtype)r.x->type.dtype);
		if (!part[i] || !part[i]->type.dtype)
			return poison(s);
		r.part[i] = part[i]->data;
		ok = r.part[i] && r.part[i]->rank == 1 && r.part[i]->count &&
		     is_float((enum dtype)r.part[i]->dtype);
	}
	if (!ok || r.part[0]->count + r.part[1]->count < 3) {
		elab_error(e, s, E_ARITY,
			   "rational(...) takes a float value and two lists of coefficients, as in "
			   "rational(x, [0.5, 1], [1, 2.5])");
		return poison(s);
	}
	int64_t p = r.part[0]->shape[0] - 1, q = r.part[1]->shape[0] - 1;
	if (!is_small(&r))
		return cv_value(binary(&r, ONNX_Div, horner(&r, 0, 1, p), horner(&r, 1, 1, q)), s);
	struct value *both = horner(&r, 0, 2, p > q ? p : q);
	return cv_value(binary(&r, ONNX_Div, row(&r, both, 0), row(&r, both, 1)), s);
}
