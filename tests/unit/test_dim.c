/*
 * Unit tests of symbolic dims: text and equality of normal forms, bounds, equations, limits, and a
 * randomized comparison of expressions and claims with plain arithmetic.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dims/dims.h"

static const struct span nowhere = {0, 0};

static struct ctx *fresh_ctx(void)
{
	struct ctx *cx = ctx_new();
	assert_non_null(cx);
	if (setjmp(cx->oom))
		fail_msg("out of memory");
	dims_init(cx);
	return cx;
}

static dim named(struct ctx *cx, const char *name, uint32_t at)
{
	dim d = dim_name(cx, intern_str(cx, name));
	dim_set_source(cx, d, SOURCE_SIZE, NULL, at);
	return d;
}

static dim plus(struct ctx *cx, dim a, int64_t k)
{
	return dim_add(cx, a, dim_const(cx, k));
}

static dim times(struct ctx *cx, dim a, int64_t k)
{
	return dim_mul(cx, a, dim_const(cx, k));
}

static dim over(struct ctx *cx, dim a, int64_t k)
{
	return dim_floordiv(cx, a, dim_const(cx, k));
}

static dim at_least_0(struct ctx *cx, dim a)
{
	return dim_max(cx, a, dim_const(cx, 0));
}

#define assert_dim(d, text) assert_string_equal(dim_str(cx, d), text)

static void test_text(void **state)
{
	struct ctx *cx = fresh_ctx();
	dim n = named(cx, "n", 0), m = named(cx, "m", 1), o = dim_fresh(cx, SOURCE_SIZE, NULL, 2);
	(void)state;
	assert_dim(dim_const(cx, -7), "-7");
	assert_dim(plus(cx, times(cx, n, 2), 1), "2*n+1");
	assert_dim(dim_sub(cx, dim_const(cx, 5), n), "5-n");
	assert_dim(plus(cx, dim_neg(cx, n), -5), "-n-5");
	assert_dim(at_least_0(cx, plus(cx, n, -1)), "max(n-1, 0)");
	assert_dim(at_least_0(cx, plus(cx, times(cx, n, 4), -4)), "4*max(n-1, 0)");
	assert_dim(dim_min(cx, times(cx, n, 2), dim_const(cx, 6)), "2*min(n, 3)");
	assert_dim(dim_max(cx, times(cx, n, 2), dim_const(cx, 5)), "max(2*n, 5)");
	assert_dim(over(cx, n, 2), "n//2");
	assert_dim(over(cx, plus(cx, n, 1), 2), "(n+1)//2");
	assert_dim(times(cx, over(cx, n, 2), 3), "3*(n//2)");
	assert_dim(dim_mul(cx, n, m), "n*m");
	assert_dim(dim_mul(cx, m, plus(cx, n, 1)), "m+n*m");
	assert_dim(dim_mod(cx, n, dim_const(cx, 3)), "n%3");
	/* a minus binds tighter than // and %: -n//2 is (-n)//2 */
	assert_dim(plus(cx, dim_neg(cx, over(cx, n, 2)), -1), "-(n//2)-1");
	assert_dim(dim_neg(cx, over(cx, plus(cx, n, 1), 2)), "-((n+1)//2)");
	assert_dim(dim_sub(cx, m, dim_mod(cx, n, dim_const(cx, 3))), "m-n%3");
	assert_dim(dim_neg(cx, dim_mod(cx, n, dim_const(cx, 3))), "-(n%3)");
	assert_dim(dim_neg(cx, dim_mul(cx, n, m)), "-n*m");
	assert_dim(dim_add(cx, n, o), "n+?");
	assert_dim(dim_name(cx, intern_str(cx, "a b`")), "`a b```");
	dim dims[] = {n, dim_const(cx, 3)};
	assert_string_equal(type_str(cx, (struct type){DT_FLOAT64, 2, dims}), "float64[n, 3]");
	assert_string_equal(type_str(cx, (struct type){DT_INT8, 0, NULL}), "int8[]");
	ctx_free(cx);
}

static void test_normal_forms(void **state)
{
	struct ctx *cx = fresh_ctx();
	dim n = named(cx, "n", 0), m = named(cx, "m", 1), k = named(cx, "k", 2);
	(void)state;
	assert_int_equal(dim_mul(cx, plus(cx, n, 1), m), dim_add(cx, dim_mul(cx, m, n), m));
	assert_int_equal(dim_mul(cx, dim_mul(cx, n, m), k), dim_mul(cx, n, dim_mul(cx, k, m)));
	assert_int_equal(over(cx, times(cx, n, 2), 2), n);
	assert_int_equal(over(cx, plus(cx, n, 2), 2), plus(cx, over(cx, n, 2), 1));
	assert_int_equal(over(cx, over(cx, n, 2), 3), over(cx, n, 6));
	assert_int_equal(over(cx, dim_mod(cx, n, dim_const(cx, 4)), 4), dim_const(cx, 0));
	assert_int_equal(dim_floordiv(cx, dim_mul(cx, n, m), m), n);
	assert_int_equal(dim_mod(cx, dim_mul(cx, n, m), m), dim_const(cx, 0));
	/* ceil(n / 2), written in two ways */
	assert_int_equal(dim_neg(cx, over(cx, dim_neg(cx, n), 2)), over(cx, plus(cx, n, 1), 2));
	assert_true(dim_eq(cx, n, dim_add(cx, over(cx, n, 2), over(cx, plus(cx, n, 1), 2))));
	dim mod = dim_mod(cx, n, dim_const(cx, 3));
	assert_true(dim_eq(cx, n, dim_add(cx, mod, times(cx, over(cx, n, 3), 3))));
	/* x[:3] and x[-3:], then sizes of strided slices and convolutions */
	assert_true(dim_eq(cx, dim_min(cx, n, dim_const(cx, 3)),
			   dim_sub(cx, n, at_least_0(cx, plus(cx, n, -3)))));
	assert_true(
		dim_eq(cx, dim_add(cx, dim_max(cx, n, m), dim_min(cx, n, m)), dim_add(cx, n, m)));
	assert_int_equal(plus(cx, over(cx, plus(cx, n, -1), 2), 1), over(cx, plus(cx, n, 1), 2));
	assert_int_equal(at_least_0(cx, over(cx, plus(cx, n, 1), 2)), over(cx, plus(cx, n, 1), 2));
	/* x[1:][1:] */
	dim once = at_least_0(cx, plus(cx, n, -1)), twice = at_least_0(cx, plus(cx, once, -1));
	assert_int_equal(twice, at_least_0(cx, plus(cx, n, -2)));
	assert_int_equal(dim_max(cx, n, dim_const(cx, 0)), n);
	assert_int_equal(dim_max(cx, n, plus(cx, n, 1)), plus(cx, n, 1));
	assert_int_equal(dim_min(cx, n, dim_min(cx, n, m)), dim_min(cx, m, n));
	assert_int_equal(dim_max(cx, plus(cx, n, 1), plus(cx, m, 1)),
			 plus(cx, dim_max(cx, n, m), 1));
	assert_int_equal(dim_max(cx, times(cx, n, 6), times(cx, m, 4)),
			 times(cx, dim_max(cx, times(cx, n, 3), times(cx, m, 2)), 2));
	/* rows in panels of 4, at least one: as the first panel and the others, and at once */
	dim panels = plus(cx, at_least_0(cx, plus(cx, over(cx, plus(cx, n, 3), 4), -1)), 1);
	assert_int_equal(at_least_0(cx, times(cx, panels, 4)), times(cx, panels, 4));
	assert_int_equal(over(cx, times(cx, dim_max(cx, n, m), 2), 3),
			 dim_max(cx, over(cx, times(cx, n, 2), 3), over(cx, times(cx, m, 2), 3)));
	ctx_free(cx);
}

static void test_bounds(void **state)
{
	struct ctx *cx = fresh_ctx();
	dim n = named(cx, "n", 0), m = named(cx, "m", 1);
	dim v = dim_fresh(cx, SOURCE_VALUE, NULL, 2);
	(void)state;
	assert_true(dim_ge(cx, n, 0));
	assert_false(dim_ge(cx, n, 1));
	assert_false(dim_ge(cx, v, 0));
	assert_true(dim_ge(cx, dim_mul(cx, n, m), 0));
	assert_true(dim_ge(cx, over(cx, n, 3), 0));
	assert_true(dim_le(cx, dim_sub(cx, over(cx, n, 2), n), 0));
	assert_true(dim_le(cx, dim_mod(cx, v, dim_const(cx, 3)), 2));
	assert_true(dim_ge(cx, dim_mod(cx, v, dim_const(cx, 3)), 0));
	assert_true(dim_le(cx, dim_sub(cx, dim_min(cx, n, m), m), 0));
	assert_true(dim_le(cx, dim_sub(cx, at_least_0(cx, plus(cx, n, -1)), n), 0));
	assert_true(dim_ne(cx, n, plus(cx, n, 1)));
	assert_true(dim_ne(cx, times(cx, n, 2), plus(cx, times(cx, v, 4), 1)));
	assert_true(dim_ne(cx, n, dim_const(cx, -1)));
	assert_false(dim_ne(cx, n, m));
	ctx_free(cx);
}

static void test_unify(void **state)
{
	struct ctx *cx = fresh_ctx();
	dim n = named(cx, "n", 0), m = named(cx, "m", 1), o = dim_fresh(cx, SOURCE_SIZE, NULL, 2);
	const struct equation *list;
	(void)state;
	dim tail = at_least_0(cx, plus(cx, n, -1));
	assert_false(dim_eq(cx, o, m));
	assert_true(dim_unify(cx, o, m, nowhere));
	assert_int_equal(dim_find(cx, o), m);
	assert_true(dim_unify(cx, m, o, nowhere)); /* known: not recorded */
	assert_int_equal(dim_equations(cx, &list), 1);
	assert_true(list[0].a == o && list[0].b == m);
	/* n == m + 1 makes n at least 1, so x[1:] has n-1 rows */
	assert_true(dim_unify(cx, n, plus(cx, m, 1), nowhere));
	assert_true(dim_ge(cx, n, 1));
	assert_true(dim_eq(cx, tail, plus(cx, n, -1)));
	assert_int_equal(dim_find(cx, tail), dim_find(cx, m));
	assert_false(dim_unify(cx, n, o, nowhere));
	assert_int_equal(dim_equations(cx, &list), 2);
	ctx_free(cx);
}

static void test_unify_more(void **state)
{
	struct ctx *cx = fresh_ctx();
	dim n = named(cx, "n", 0), m = named(cx, "m", 1), k = named(cx, "k", 2),
	    j = named(cx, "j", 3);
	const struct equation *list;
	int64_t v;
	(void)state;
	/* max(n-1, 0) == 3 solves n */
	assert_true(dim_unify(cx, at_least_0(cx, plus(cx, n, -1)), dim_const(cx, 3), nowhere));
	assert_true(dim_is_const(cx, n, &v) && v == 4);
	/* n*m == k*j replaces nothing and is known from then on */
	assert_true(dim_unify(cx, dim_mul(cx, m, k), dim_mul(cx, k, j), nowhere));
	assert_true(dim_eq(cx, dim_mul(cx, j, k), dim_mul(cx, m, k)));
	assert_false(dim_eq(cx, j, m));
	/* common divisors */
	assert_true(dim_unify(cx, times(cx, m, 2), times(cx, j, 2), nowhere));
	assert_int_equal(dim_find(cx, j), m);
	assert_false(dim_unify(cx, times(cx, m, 2), plus(cx, times(cx, k, 4), 1), nowhere));
	/* a name without a place is defined by its equation, and found where the other is */
	dim local = dim_name(cx, intern_str(cx, "local"));
	dim o = dim_fresh(cx, SOURCE_SIZE, NULL, 9);
	uint32_t before = dim_equations(cx, &list);
	assert_true(dim_unify(cx, o, local, nowhere));
	assert_dim(o, "local");
	assert_int_equal(dim_view(cx, local).at, 9);
	assert_int_equal(dim_equations(cx, &list), before);
	assert_int_equal(dim_view_as_made(cx, o).at, 9);
	ctx_free(cx);
}

/* Where lengths meet, one result takes the number. */
static void test_meet(void **state)
{
	struct ctx *cx = fresh_ctx();
	dim n = named(cx, "n", 0), m = named(cx, "m", 1), half = over(cx, n, 2), d = half;
	int64_t v;
	(void)state;
	assert_true(dim_meet(cx, &d, dim_const(cx, 1), nowhere));
	assert_dim(d, "1");
	assert_dim(half, "n//2");
	assert_true(dim_eq(cx, half, d));
	d = dim_const(cx, 1);
	assert_true(dim_meet(cx, &d, half, nowhere));
	assert_dim(d, "1");
	assert_false(dim_meet(cx, &d, dim_const(cx, 2), nowhere));
	d = m;
	assert_true(dim_meet(cx, &d, dim_const(cx, 3), nowhere));
	assert_true(dim_is_const(cx, m, &v) && v == 3);
	ctx_free(cx);
}

/* What must be 1 is no 1 while they are kept, whatever it is called; then it is. */
static void test_keep_ones(void **state)
{
	struct ctx *cx = fresh_ctx();
	dim n = named(cx, "n", 0), m = named(cx, "m", 1), k = named(cx, "k", 2), d = n;
	int64_t v = 0;
	(void)state;
	dim_keep_ones(cx, true);
	assert_true(dim_meet(cx, &d, dim_const(cx, 1), nowhere));
	assert_true(dim_says_one(cx, d));
	assert_false(dim_says_one(cx, n));
	assert_true(dim_is_const(cx, n, &v) && v == 1);
	assert_true(dim_eq(cx, n, d) && dim_eq(cx, plus(cx, n, 1), dim_const(cx, 2)));
	assert_true(dim_unify(cx, n, m, nowhere));
	assert_true(dim_unify(cx, k, m, nowhere));
	assert_false(dim_says_one(cx, m) || dim_says_one(cx, k));
	assert_true(dim_is_const(cx, k, &v) && v == 1);
	assert_false(dim_unify(cx, k, dim_const(cx, 2), nowhere));
	dim_keep_ones(cx, false);
	assert_true(dim_says_one(cx, n) && dim_says_one(cx, m) && dim_says_one(cx, k));
	ctx_free(cx);
}

static void test_limits(void **state)
{
	struct ctx *cx = fresh_ctx();
	dim n = named(cx, "n", 0), big = dim_const(cx, INT64_MAX);
	int64_t v;
	(void)state;
	dim more = dim_add(cx, big, dim_const(cx, 1));
	assert_false(dim_is_const(cx, more, &v));
	assert_int_equal(dim_view(cx, more).form, DIM_SUM);
	assert_int_equal(dim_view(cx, dim_mul(cx, times(cx, n, INT64_MAX), dim_const(cx, 3))).form,
			 DIM_PRODUCT);
	dim_neg(cx, dim_const(cx, INT64_MIN));
	dim_floordiv(cx, dim_const(cx, INT64_MIN), dim_const(cx, -1));
	dim_mod(cx, times(cx, n, INT64_MIN), dim_const(cx, -3));
	dim_floordiv(cx, n, dim_const(cx, INT64_MIN));
	dim_floordiv(cx, n, dim_const(cx, 0));
	assert_false(dim_le(cx, n, INT64_MIN));
	dim sum = n, nest = n, chain = n;
	for (uint32_t i = 0; i < 3000; i++) {
		dim o = dim_fresh(cx, SOURCE_SIZE, NULL, i);
		sum = dim_add(cx, sum, o);
		nest = dim_max(cx, dim_add(cx, over(cx, nest, 2), n), dim_mul(cx, nest, o));
		chain = at_least_0(cx, plus(cx, chain, -1));
	}
	assert_dim(chain, "max(n-3000, 0)");
	assert_true(dim_ge(cx, sum, 0));
	assert_true(dim_eq(cx, sum, dim_add(cx, sum, dim_const(cx, 0))));
	dim_str(cx, nest);
	ctx_free(cx);
}

static void test_chain(void **state)
{
	enum { N = 100000 };
	struct ctx *cx = fresh_ctx();
	dim *d = calloc(N, sizeof(*d));
	(void)state;
	for (uint32_t i = 0; i < N; i++)
		d[i] = named(cx, "n", i);
	for (uint32_t i = N - 1; i; i--) /* the longest chains of replacements */
		assert_true(dim_unify(cx, d[i], plus(cx, d[i - 1], 1), nowhere));
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(dim_find(cx, d[i]), plus(cx, d[0], i));
	free(d);
	ctx_free(cx);
}

/*
 * Random expressions: a value for each assignment is kept beside each dim.
 */
enum { ATOMS = 3, CONSTANTS = 7, FIRST = ATOMS + CONSTANTS, CASES = 60, POOL = FIRST + 18 };
struct sample {
	dim d;
	bool ok[CASES]; /* no division by 0 on the way */
	int64_t v[CASES];
};
static uint64_t seed;

static uint32_t rnd(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

static int64_t floordiv(int64_t a, int64_t b)
{
	return a / b - (a % b && (a < 0) != (b < 0));
}

static bool calculate(int op, int64_t a, int64_t b, int64_t *r)
{
	switch (op) {
	case 0:
		return !__builtin_add_overflow(a, b, r);
	case 1:
		return !__builtin_sub_overflow(a, b, r);
	case 2:
		return !__builtin_mul_overflow(a, b, r);
	case 3:
	case 4:
		if (!b)
			return false;
		*r = op == 3 ? floordiv(a, b) : a - b * floordiv(a, b);
		return true;
	}
	*r = (op == 5) == (a > b) ? a : b;
	return true;
}

static dim apply(struct ctx *cx, int op, dim a, dim b)
{
	static dim (*const ops[])(struct ctx *, dim, dim) = {
		dim_add, dim_sub, dim_mul, dim_floordiv, dim_mod, dim_max, dim_min};
	return ops[op](cx, a, b);
}

typedef struct dim_view view_fn(struct ctx *, dim);

static bool evaluate(struct ctx *cx, view_fn *view, dim d, const int64_t *atoms, int64_t *r)
{
	struct dim_view v = view(cx, d);
	int64_t x;
	switch (v.form) {
	case DIM_CONST:
		*r = v.constant;
		return true;
	case DIM_ATOM:
		assert_int_not_equal(v.kind, SOURCE_NONE);
		*r = atoms[v.at];
		return true;
	case DIM_SUM:
		*r = v.constant;
		for (uint32_t i = 0; i < v.nterms; i++)
			if (!evaluate(cx, view, v.term[i], atoms, &x) ||
			    __builtin_mul_overflow(x, v.coef[i], &x) ||
			    __builtin_add_overflow(*r, x, r))
				return false;
		return true;
	default:
		break;
	}
	int op = v.form == DIM_PRODUCT    ? 2
		 : v.form == DIM_FLOORDIV ? 3
		 : v.form == DIM_MOD      ? 4
		 : v.form == DIM_MAX      ? 5
					  : 6;
	if (!evaluate(cx, view, v.term[0], atoms, r))
		return false;
	for (uint32_t i = 1; i < v.nterms; i++)
		if (!evaluate(cx, view, v.term[i], atoms, &x) || !calculate(op, *r, x, r))
			return false;
	return true;
}

static void start(struct ctx *cx, struct sample *pool, int64_t (*cases)[ATOMS])
{
	static const int64_t numbers[CONSTANTS] = {-3, -1, 0, 1, 2, 4, 6};
	for (int c = 0; c < CASES; c++) {
		cases[c][0] = rnd(c < 40 ? 5 : 40);
		cases[c][1] = rnd(c < 40 ? 4 : 40);
		cases[c][2] = (int64_t)rnd(c < 40 ? 7 : 60) - (c < 40 ? 3 : 30);
	}
	pool[0].d = named(cx, "n", 0);
	pool[1].d = dim_fresh(cx, SOURCE_SIZE, NULL, 1);
	pool[2].d = dim_fresh(cx, SOURCE_VALUE, NULL, 2);
	for (int i = 0; i < FIRST; i++) {
		if (i >= ATOMS)
			pool[i].d = dim_const(cx, numbers[i - ATOMS]);
		for (int c = 0; c < CASES; c++) {
			pool[i].ok[c] = true;
			pool[i].v[c] = i < ATOMS ? cases[c][i] : numbers[i - ATOMS];
		}
	}
}

static void grow(struct ctx *cx, struct sample *pool, int i)
{
	const struct sample *a = &pool[rnd((uint32_t)i)], *b = &pool[rnd((uint32_t)i)];
	int op = (int)rnd(7);
	pool[i].d = apply(cx, op, a->d, b->d);
	for (int c = 0; c < CASES; c++)
		pool[i].ok[c] =
			a->ok[c] && b->ok[c] && calculate(op, a->v[c], b->v[c], &pool[i].v[c]);
}

static void check_values(struct ctx *cx, const struct sample *s, int64_t (*cases)[ATOMS],
			 const bool *live)
{
	for (int c = 0; c < CASES; c++) {
		int64_t v;
		if (live[c] && s->ok[c] && evaluate(cx, dim_view, s->d, cases[c], &v))
			assert_int_equal(v, s->v[c]);
	}
}

static uint64_t claims[5];

static void check_claims(struct ctx *cx, const struct sample *a, const struct sample *b,
			 const bool *live)
{
	bool eq = dim_eq(cx, a->d, b->d), ne = dim_ne(cx, a->d, b->d);
	int64_t k = (int64_t)rnd(9) - 4;
	bool ge = dim_ge(cx, a->d, k), le = dim_le(cx, a->d, k);
	claims[0] += eq;
	claims[1] += ne;
	claims[2] += ge;
	claims[3] += le;
	for (int c = 0; c < CASES; c++) {
		if (!live[c] || !a->ok[c])
			continue;
		assert_true(!ge || a->v[c] >= k);
		assert_true(!le || a->v[c] <= k);
		if (!b->ok[c])
			continue;
		assert_true(!eq || a->v[c] == b->v[c]);
		assert_true(!ne || a->v[c] != b->v[c]);
	}
}

/* Equates two dims; cases that break the equation are dead from then on. */
static void equate(struct ctx *cx, const struct sample *a, const struct sample *b, bool *live)
{
	bool can = dim_unify(cx, a->d, b->d, nowhere);
	claims[4] += !can;
	for (int c = 0; c < CASES; c++) {
		bool holds = a->ok[c] && b->ok[c] && a->v[c] == b->v[c];
		assert_true(can || !live[c] || !holds);
		if (can)
			live[c] &= holds;
	}
}

/* The recorded equations alone say which cases are left: guards are made from them. */
static void check_guards(struct ctx *cx, int64_t (*cases)[ATOMS], const bool *live,
			 const bool *known)
{
	const struct equation *e;
	uint32_t n = dim_equations(cx, &e);
	for (int c = 0; c < CASES; c++) {
		bool all = true;
		for (uint32_t i = 0; i < n; i++) {
			int64_t a, b;
			if (!evaluate(cx, dim_view_as_made, e[i].a, cases[c], &a) ||
			    !evaluate(cx, dim_view_as_made, e[i].b, cases[c], &b) || a != b)
				all = false;
		}
		if (known[c])
			assert_true(all == live[c]);
	}
}

static void test_random(void **state)
{
	const char *env = getenv("PTGC_TEST_ROUNDS");
	int rounds = env ? atoi(env) : 3000;
	(void)state;
	for (int round = 0; round < rounds; round++) {
		struct ctx *cx = fresh_ctx();
		struct sample pool[POOL];
		int64_t cases[CASES][ATOMS];
		bool live[CASES], known[CASES];
		seed = (uint64_t)round * 77 + 1;
		memset(live, 1, sizeof(live));
		memset(known, 1, sizeof(known));
		dim_keep_ones(cx, round % 4 == 0);
		start(cx, pool, cases);
		for (int i = FIRST; i < POOL; i++)
			grow(cx, pool, i);
		for (int step = 0; step < 4; step++) {
			for (int i = 0; i < POOL; i++)
				check_values(cx, &pool[i], cases, live);
			for (int i = 0; i < 60; i++)
				check_claims(cx, &pool[rnd(POOL)], &pool[rnd(POOL)], live);
			if (round % 2)
				break;
			if (step == 2)
				dim_keep_ones(cx, false);
			const struct sample *a = &pool[rnd(POOL)], *b = &pool[rnd(POOL)];
			equate(cx, a, b, live);
			for (int c = 0; c < CASES; c++)
				known[c] &= a->ok[c] && b->ok[c];
			check_guards(cx, cases, live, known);
		}
		ctx_free(cx);
	}
	print_message("claims: eq %llu ne %llu ge %llu le %llu, refused %llu\n",
		      (unsigned long long)claims[0], (unsigned long long)claims[1],
		      (unsigned long long)claims[2], (unsigned long long)claims[3],
		      (unsigned long long)claims[4]);
}

static dim promised(struct ctx *cx, const char *name, uint32_t at)
{
	dim d = named(cx, name, at);
	dim_promise(cx, d, nowhere);
	return d;
}

/* A promised name is not pinned, and what infinitely many sizes satisfy is an equation. */
static void test_promises(void **state)
{
	(void)state;
	struct ctx *cx = fresh_ctx();
	struct broken why;
	dim n = promised(cx, "n", 0), m = promised(cx, "m", 1), q = named(cx, "q", 2);
	dim zero = dim_const(cx, 0), five = dim_const(cx, 5), u = named(cx, "u", 3);
	const struct {
		dim a, b;
		bool may;
	} cases[] = {
		{n, five, false},
		{n, zero, false},
		{n, m, false},
		{n, times(cx, m, 2), false},
		{times(cx, n, 2), times(cx, m, 3), false},
		{dim_mul(cx, n, m), dim_const(cx, 12), false},
		{dim_add(cx, n, m), five, false},
		{dim_over(cx, n, 3), five, false},
		{dim_mod(cx, n, dim_const(cx, 7)), m, false},
		{dim_at_least(cx, plus(cx, n, -1), 0), m, false},
		{dim_at_least(cx, plus(cx, n, -1000), 0), five, false},
		{dim_mod(cx, n, dim_const(cx, 3)), zero, true},
		{dim_mod(cx, n, dim_const(cx, 1000)), dim_const(cx, 999), true},
		{dim_mod(cx, n, m), zero, true},
		{dim_min(cx, n, five), five, true},
		{dim_max(cx, dim_sub(cx, n, m), zero), zero, true},
		{times(cx, u, 2), n, true},
		{q, n, true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		bool did = dim_unify(cx, cases[i].a, cases[i].b, nowhere);
		if (did != cases[i].may)
			fail_msg("%s == %s: %d", dim_str_as_made(cx, cases[i].a),
				 dim_str_as_made(cx, cases[i].b), did);
		assert_int_equal(dim_broken(cx, &why), !did);
	}
	assert_int_equal(dim_find(cx, q), n);
	assert_int_equal(dim_find(cx, n), n);
	assert_false(dim_unify(cx, q, m, nowhere));
	assert_true(dim_broken(cx, &why) && why.solved && why.replaced && why.n == 2);
	assert_false(dim_broken(cx, &why));
	dim length = m;
	assert_true(dim_assert(cx, &length, five, nowhere));
	assert_true(dim_eq(cx, m, five));
	ctx_free(cx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),       cmocka_unit_test(test_normal_forms),
		cmocka_unit_test(test_bounds),     cmocka_unit_test(test_unify),
		cmocka_unit_test(test_unify_more), cmocka_unit_test(test_limits),
		cmocka_unit_test(test_chain),      cmocka_unit_test(test_random),
		cmocka_unit_test(test_meet),       cmocka_unit_test(test_keep_ones),
		cmocka_unit_test(test_promises),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
