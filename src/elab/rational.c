/*
 * rational.c: rational(x, [3, 2, 1], [1, 4]) is (3 x^2 + 2 x + 1)/(x + 4) by Horner's rule; with
 * more such triples, rational(x, p, q, y, u, v), there is a result for each. In: float values and
 * lists of coefficients. Out: nodes of ONNX. For values of few elements all polynomials are
 * computed at once, along new first axes, [2] or, of n triples, [2, n]: a node costs the same for
 * so few numbers and for some more. Larger arrays would no longer fit the cache. For single numbers
 * and the like, polynomials are sums of coefficients times powers, along a new last axis: 4 nodes
 * for any degree.
 */
#include <math.h>

#include <string.h>

#include "elab/internal.h"
#include "target/target.h"

struct rational {
	struct elab *e;
	struct span span;
	uint32_t n; /* triples */
	struct triple {
		struct value *x;
		const struct tensor *part[2]; /* coefficients, highest power first */
	} * of;
};

static struct value *binary(struct rational *r, enum onnx_id op, struct value *a, struct value *b)
{
	return append_onnx(r->e, op, (struct value *[]){a, b}, 2, NULL, r->span);
}

/* About how many elements x has; INFINITY: too many axes for polynomials that are computed at once
 */
static double count_of(const struct rational *r, const struct value *x)
{
	return x->type.rank + 2 > MAX_RANK ? INFINITY
					   : expected_elements(r->e->cx, &x->type, INT64_MAX);
}

/* The coefficient of x^power in a polynomial */
static double coefficient(const struct tensor *t, int64_t power)
{
	int64_t at = t->shape[0] - 1 - power;

	return at < 0 ? 0 : tensor_float(t, (uint64_t)at);
}

/* A constant of rank `rank` whose first axes are those of `shape`, and all others of length 1 */
static struct value *constant(struct rational *r, enum dtype t, const double *c, uint32_t rank,
			      const int64_t *shape, uint32_t axes)
{
	struct ctx *cx = r->e->cx;
	int64_t dims[MAX_RANK], count = 1;

	for (uint32_t i = 0; i < rank; i++) {
		dims[i] = i < axes ? shape[i] : 1;
		count *= dims[i];
	}
	struct tensor *x = tensor_new(cx, t, (int)rank, dims);
	void *data = new_array(cx->arena, double, (size_t)count);
	tensor_convert(t, data, DT_FLOAT64, c, (uint64_t)count);
	x->data = data;
	return graph_constant(cx, x, r->span);
}

/* One polynomial in x */
static struct value *horner(struct rational *r, struct value *x, const struct tensor *t)
{
	enum dtype type = (enum dtype)x->type.dtype;
	int64_t degree = t->shape[0] - 1;
	double c = coefficient(t, degree);
	bool monic = degree && c == 1;
	struct value *y = monic ? x : constant(r, type, &c, 0, NULL, 0);

	for (int64_t power = degree; power--;) {
		if (power + 1 < degree || !monic)
			y = binary(r, ONNX_Mul, y, x);
		c = coefficient(t, power);
		y = binary(r, ONNX_Add, y, constant(r, type, &c, 0, NULL, 0));
	}
	return y;
}

/* Of two Gathers ONNX Runtime would make a Split and two Squeezes. */
static struct value *row(struct rational *r, struct value *rows, uint32_t i)
{
	const double at = i;

	return binary(r, ONNX_GatherND, rows, constant(r, DT_INT64, &at, 1, (int64_t[]){1}, 1));
}

/* The arguments of n triples along a new first axis, or the only one as it is; NULL: there are more
 * than two */
static struct value *arguments(struct rational *r, const struct triple *of, uint32_t n)
{
	double *first = new_array(r->e->cx->arena, double, n);
	struct value *x = of[0].x, *y = x;

	for (uint32_t i = 0; i < n; i++) {
		first[i] = of[i].x == x;
		if (first[i] || of[i].x == y)
			continue;
		if (x != y)
			return NULL;
		y = of[i].x;
	}
	if (x == y)
		return x;
	struct value *in[3] = {constant(r, DT_BOOL, first, x->type.rank + 1u, (int64_t[]){n}, 1), x,
			       y};
	return append_onnx(r->e, ONNX_Where, in, 3, NULL, r->span);
}

/* The numbers c along the first axes, of these lengths, and the last one, behind an axis of length
 * 1 for each of x */
static struct value *around(struct rational *r, const struct value *x, const double *c,
			    const int64_t *shape, uint32_t axes, int64_t last)
{
	uint32_t rank = axes + x->type.rank;
	int64_t dims[MAX_RANK], count = last;

	for (uint32_t i = 0; i < rank; i++) {
		dims[i] = i < axes ? shape[i] : 1;
		count *= dims[i];
	}
	dims[rank] = last;
	struct tensor *t = tensor_new(r->e->cx, (enum dtype)x->type.dtype, (int)rank + 1, dims);
	void *data = new_array(r->e->cx->arena, double, (size_t)count);
	tensor_convert((enum dtype)x->type.dtype, data, DT_FLOAT64, c, (uint64_t)count);
	t->data = data;
	return graph_constant(r->e->cx, t, r->span);
}

/* The polynomials of n triples: [2, ...], or [2, n, ...] for n > 1. What a triple has no
 * coefficient for is 0 times the power 0: others may overflow. */
static struct value *by_powers(struct rational *r, const struct triple *of, uint32_t n,
			       struct value *x, int64_t length)
{
	double *c = new_array(r->e->cx->arena, double, 2 * (size_t)n * (size_t)length);
	double *power = new_array(r->e->cx->arena, double, (size_t)n *(size_t)length);
	int64_t shape[2] = {2, n}, axis = of[0].x->type.rank + (n > 1 ? 1 : 0);
	const double last = (double)axis, sum = last + 1;

	for (uint32_t i = 0; i < 2 * n; i++)
		for (int64_t k = 0; k < length; k++) {
			const struct tensor *t = of[i % n].part[i / n];
			c[i * length + k] = coefficient(t, k);
			if (k < t->shape[0])
				power[i % n * length + k] = (double)k;
		}
	x = binary(r, ONNX_Unsqueeze, x, constant(r, DT_INT64, &last, 1, NULL, 0));
	x = binary(r, ONNX_Pow, x, around(r, of[0].x, power, shape + 1, n > 1, length));
	x = binary(r, ONNX_Mul, x, around(r, of[0].x, c, shape, n > 1 ? 2 : 1, length));
	struct attr *keep = new (r->e->cx->arena, struct attr);
	*keep = (struct attr){.name = "keepdims", .kind = AT_INT, .u.i = 0};
	struct value *in[2] = {x, constant(r, DT_INT64, &sum, 1, NULL, 0)};
	return append_onnx(r->e, ONNX_ReduceSum, in, 2, keep, r->span);
}

/* The quotients of n triples, whose arguments are x; [n, ...] for n > 1 */
static struct value *at_once(struct rational *r, const struct triple *of, uint32_t n,
			     struct value *x)
{
	int64_t length = 0, shape[2] = {2, n};
	double count = count_of(r, of[0].x), *c = new_array(r->e->cx->arena, double, 2 * (size_t)n);
	uint32_t axes = n > 1 ? 2 : 1, rank = of[0].x->type.rank + axes;
	struct value *y = NULL;

	for (uint32_t i = 0; i < 2 * n; i++) {
		int64_t k = of[i % n].part[i / n]->shape[0];
		length = k > length ? k : length;
	}
	if (length >= SIZE_HORNER && count * n * (double)length <= SIZE_POWERS &&
	    rank + 1 < MAX_RANK)
		y = by_powers(r, of, n, x, length);
	for (int64_t power = y ? 0 : length; power--;) {
		for (uint32_t i = 0; i < 2 * n; i++)
			c[i] = coefficient(of[i % n].part[i / n], power);
		struct value *k = constant(r, (enum dtype)x->type.dtype, c, rank, shape, axes);
		y = y ? binary(r, ONNX_Add, binary(r, ONNX_Mul, y, x), k) : k;
	}
	struct value *below = row(r, y, 1);
	return binary(r, ONNX_Div, row(r, y, 0), below);
}

/* All polynomials at once; false: that does not pay */
static bool all_at_once(struct rational *r, struct value **out)
{
	double total = 0;

	for (uint32_t i = 0; i < r->n; i++) {
		const struct type *t = &r->of[i].x->type, *first = &r->of[0].x->type;
		double count = count_of(r, r->of[i].x);
		if (count > SIZE_POLYNOMIALS || (total += count) > SIZE_ALL_POLYNOMIALS ||
		    t->rank != first->rank || t->dtype != first->dtype)
			return false;
		for (uint32_t k = 0; k < t->rank; k++)
			if (!dim_eq(r->e->cx, t->dims[k], first->dims[k]))
				return false;
	}
	struct value *x = r->n > 1 ? arguments(r, r->of, r->n) : NULL;
	if (!x)
		return false;
	x = at_once(r, r->of, r->n, x);
	for (uint32_t i = 0; i < r->n; i++)
		out[i] = row(r, x, i);
	return true;
}

/* The quotient of a triple that shares nothing with the others */
static struct value *alone(struct rational *r, struct triple *t)
{
	struct value *p;

	if (t->part[1]->count > 1 && count_of(r, t->x) <= SIZE_POLYNOMIALS)
		return at_once(r, t, 1, t->x);
	p = horner(r, t->x, t->part[0]);
	if (t->part[1]->count == 1 && coefficient(t->part[1], 0) == 1)
		return p;
	return binary(r, ONNX_Div, p, horner(r, t->x, t->part[1]));
}

/* false: it is no such triple; *lost: that was reported */
static bool read_triple(struct rational *r, struct cv *args, struct triple *t, bool *lost)
{
	t->x = to_value(r->e, &args[0], DT_NONE);
	*lost = !t->x || !t->x->type.dtype;
	if (*lost || !is_float((enum dtype)t->x->type.dtype))
		return false;
	for (uint32_t i = 0; i < 2; i++) {
		struct value *v = to_value(r->e, &args[i + 1], (enum dtype)t->x->type.dtype);
		*lost = !v || !v->type.dtype;
		if (*lost || !v->data || v->data->rank != 1 || !v->data->count ||
		    !is_float((enum dtype)v->data->dtype))
			return false;
		t->part[i] = v->data;
	}
	return t->part[0]->count + t->part[1]->count > 2;
}

struct cv call_rational(struct elab *e, struct cv *args, uint32_t nargs, struct span s)
{
	struct rational r = {.e = e, .span = s, .n = nargs / 3};
	bool lost = false, ok = nargs && nargs % 3 == 0;

	r.of = new_array(e->cx->arena, struct triple, r.n + 1);
	for (uint32_t i = 0; i < r.n && ok; i++)
		ok = read_triple(&r, args + 3 * i, &r.of[i], &lost);
	if (!ok && !lost)
		elab_error(e, s, E_ARITY,
			   "rational(...) takes a float value and two lists of coefficients, as in "
			   "rational(x, [0.5, 1], [1, 2.5])");
	if (!ok)
		return poison(s);
	struct value **out = new_array(e->cx->arena, struct value *, r.n);
	if (!all_at_once(&r, out))
		for (uint32_t i = 0; i < r.n; i++)
			out[i] = alone(&r, &r.of[i]);
	if (r.n == 1)
		return cv_value(out[0], s);
	struct cv many = {.kind = CV_MULTI, .n = r.n, .span = s};
	many.u.items = new_array(e->cx->arena, struct cv, r.n);
	for (uint32_t i = 0; i < r.n; i++)
		many.u.items[i] = cv_value(out[i], s);
	return many;
}
