/* The functions of lib/c beside libquadmath's, which have 113 bits. Prints a table of the largest
   errors in units in the last place and exits with 1 where a bound does not hold, or where the ends
   of a function are not as C99's annex F has them.
   maths [points]: how many random points of each function; each range also has its ends, and the
   neighbours of simple numbers. */
#include <float.h>
#include <inttypes.h>
#include <quadmath.h>
#include <stdio.h>
#include <stdlib.h>
#include "all.h"

typedef __float128 quad;

static uint64_t state = 88172645463325252u;
static int failed;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

/* a number from a to b: half of the time all numbers are alike, else all exponents are */
static double between(double a, double b)
{
	const double u = (double)(next() >> 11) * 0x1p-53;
	if (next() & 1)
		return a + (b - a) * u;
	if (a >= 0 || b <= 0) {
		const double lo = fabs(a) < fabs(b) ? a : b, hi = fabs(a) < fabs(b) ? b : a;
		const uint64_t l = ptgc_bits(lo), n = ptgc_bits(hi) - l;
		return ptgc_from_bits(l + (n ? next() % n : 0));
	}
	return next() & 1 ? between(0, b) : between(a, -0.0);
}

static double pick_near(double a, double b)
{
	static const double special[] = {0x1p-1074,
					 0x1p-1022,
					 1e-300,
					 1e-17,
					 0x1p-54,
					 0x1p-53,
					 0x1p-27,
					 1e-8,
					 0.125,
					 0.25,
					 0.34657359027997264,
					 0.41421356237309503,
					 0.46875,
					 0.5,
					 0.69314718055994529,
					 0.70710678118654757,
					 0.75,
					 1,
					 1.4142135623730951,
					 1.5,
					 2,
					 2.5,
					 3,
					 1.5707963267948966,
					 3.1415926535897931,
					 7.5,
					 8,
					 10,
					 20,
					 40,
					 700,
					 1e6,
					 0x1p52,
					 0x1p53,
					 1e100,
					 1e300,
					 DBL_MAX};
	double x = special[next() % (sizeof special / sizeof *special)];
	int n = (int)(next() % 9) - 4;
	x = ptgc_from_bits(ptgc_bits(x) + (uint64_t)n);
	if (next() & 1)
		x = -x;
	return x >= a && x <= b ? x : between(a, b);
}

/* |y - right| in units in the last place of `right` as a double */
static double ulps(double y, quad right)
{
	const double d = (double)right;
	if (d != d)
		return y != y ? 0 : HUGE_VAL;
	if (isinf(d) || isinf(y)) {
		if (d == y)
			return 0;
		/* the largest number for infinity, or the other way round, may be one unit */
		const quad most = DBL_MAX, unit = 0x1p971Q;
		const quad a = isinf(y) ? (y > 0 ? most + unit : -most - unit) : (quad)y;
		return fabs((double)((a - right) / unit));
	}
	int e;
	frexp(d, &e);
	e = e < -1021 ? -1021 : e;
	return fabs((double)scalbnq((quad)y - right, 53 - e));
}

static double ulpsf(float y, quad right)
{
	const float d = (float)right;
	if (d != d)
		return y != y ? 0 : HUGE_VAL;
	if (isinf(d) || isinf(y))
		return d == y ? 0 : HUGE_VAL;
	int e;
	frexpf(d, &e);
	e = e < -125 ? -125 : e;
	return fabs((double)scalbnq((quad)y - right, 24 - e));
}

static void report(const char *name, double worst, double x, double y, double bound)
{
#ifdef PTGC_LIBM /* of which lib/c promises nothing: is it the same function? */
	bound += 3;
#endif
	const int bad = !(worst <= bound);
	failed |= bad;
	printf("%-12s %6.2f %5.1f  at %.17g", name, worst, bound, x);
	if (y == y)
		printf(", %.17g", y);
	puts(bad ? "  FAILED" : "");
}

static void unary(const char *name, double (*f)(double), quad (*right)(quad), double a, double b,
		  double bound, long points)
{
	double worst = -1, at = 0;
	for (long i = 0; i < points; i++) {
		const double x = i & 3 ? between(a, b) : pick_near(a, b);
		const double e = ulps(f(x), right(x));
		if (!(e <= worst))
			worst = e, at = x;
	}
	report(name, worst, at, (double)NAN, bound);
}

static void unaryf(const char *name, float (*f)(float), quad (*right)(quad), double a, double b,
		   double bound, long points)
{
	double worst = -1, at = 0;
	for (long i = 0; i < points; i++) {
		const float x = (float)(i & 3 ? between(a, b) : pick_near(a, b));
		const double e = ulpsf(f(x), right(x));
		if (!(e <= worst))
			worst = e, at = x;
	}
	report(name, worst, at, (double)NAN, bound);
}

static void binary(const char *name, double (*f)(double, double), quad (*right)(quad, quad),
		   const double *r, double bound, long points)
{
	double worst = -1, at = 0, beside = 0;
	for (long i = 0; i < points; i++) {
		const double x = i & 3 ? between(r[0], r[1]) : pick_near(r[0], r[1]);
		const double y = i & 3 ? between(r[2], r[3]) : pick_near(r[2], r[3]);
		const double e = ulps(f(x, y), right(x, y));
		if (!(e <= worst))
			worst = e, at = x, beside = y;
	}
	report(name, worst, at, beside, bound);
}

static quad exact_sigmoid(quad x)
{
	return x < 0 ? expq(x) / (1 + expq(x)) : 1 / (1 + expq(-x));
}

static quad exact_softplus(quad x)
{
	return (x > 0 ? x : 0) + log1pq(expq(-fabsq(x)));
}

static quad exact_log1mexp(quad x)
{
	return x > -0.5Q ? logq(-expm1q(x)) : log1pq(-expq(x));
}

/* logq of GCC 12 is off near 1 */
static quad exact_log(quad x)
{
	return x > 0.5Q && x < 2 ? log1pq(x - 1) : logq(x);
}

static quad exact_log2(quad x)
{
	return exact_log(x) / M_LN2q;
}

static quad exact_log10(quad x)
{
	return exact_log(x) / M_LN10q;
}

static const double everywhere = DBL_MAX;

#define D(name, right, a, b, bound) unary(#name, ptgc_##name, right, a, b, bound, points);
#define F(name, right, a, b, bound)                                                                \
	unaryf(#name "f", ptgc_##name##f, right, a, b, bound, points / 4);
#define BOTH(name, right, a, b, bound) D(name, right, a, b, bound) F(name, right, a, b, 1)

static void elementary(long points)
{
	const double most = everywhere;
	const double powers[] = {0, most, -300, 300}, small[] = {0.5, 2, -2000, 2000};
	const double everything[] = {-most, most, -most, most}, usual[] = {-5, 5, -5, 5};
	const double negative[] = {-20, 20, -64, 64};
	BOTH(exp, expq, -750, 711, 1)
	BOTH(exp, expq, -1, 1, 1)
	BOTH(expm1, expm1q, -50, 711, 1.5)
	BOTH(expm1, expm1q, -1, 1, 1.5)
	BOTH(log, exact_log, 0, most, 1)
	BOTH(log, exact_log, 0.5, 2, 1)
	BOTH(log1p, log1pq, -1, most, 1)
	BOTH(log1p, log1pq, -0.5, 1, 1)
	BOTH(log2, exact_log2, 0, most, 1)
	BOTH(log2, exact_log2, 0.5, 2, 1)
	BOTH(log10, exact_log10, 0, most, 1)
	BOTH(log10, exact_log10, 0.5, 2, 1)
	BOTH(tanh, tanhq, -20, 20, 2)
	BOTH(tanh, tanhq, -1, 1, 2)
	BOTH(sinh, sinhq, -711, 711, 2)
	BOTH(sinh, sinhq, -1, 1, 2)
	BOTH(cosh, coshq, -711, 711, 2)
	BOTH(cosh, coshq, -2, 2, 2)
	BOTH(sigmoid, exact_sigmoid, -750, 40, 2)
	BOTH(sigmoid, exact_sigmoid, -3, 3, 2)
	BOTH(softplus, exact_softplus, -750, 40, 2)
	BOTH(softplus, exact_softplus, -3, 3, 2)
	BOTH(log1mexp, exact_log1mexp, -40, -0.0, 2)
	BOTH(log1mexp, exact_log1mexp, -2, -0.0, 2)
	BOTH(sin, sinq, -10, 10, 1)
	BOTH(sin, sinq, -1e6, 1e6, 1)
	BOTH(sin, sinq, -most, most, 1)
	BOTH(cos, cosq, -10, 10, 1)
	BOTH(cos, cosq, -1e6, 1e6, 1)
	BOTH(cos, cosq, -most, most, 1)
	BOTH(tan, tanq, -10, 10, 1.5)
	BOTH(tan, tanq, -most, most, 1.5)
	BOTH(exp2, exp2q, -1080, 1025, 1)
	BOTH(exp2, exp2q, -1, 1, 1)
	BOTH(asin, asinq, -1, 1, 1)
	BOTH(acos, acosq, -1, 1, 1.2)
	BOTH(atan, atanq, -10, 10, 1.5)
	BOTH(atan, atanq, -most, most, 1.5)
	BOTH(asinh, asinhq, -10, 10, 1)
	BOTH(asinh, asinhq, -most, most, 1)
	BOTH(acosh, acoshq, 1, 10, 1)
	BOTH(acosh, acoshq, 1, most, 1)
	BOTH(atanh, atanhq, -1, 1, 1)
	BOTH(erf, erfq, -7, 7, 1.5)
	BOTH(erf, erfq, -1, 1, 1.5)
	BOTH(erfc, erfcq, -7, 28, 2)
	BOTH(erfc, erfcq, -2, 2, 2)
	binary("atan2", ptgc_atan2, atan2q, everything, 2, points);
	binary("atan2", ptgc_atan2, atan2q, usual, 2, points);
	binary("pow", ptgc_pow, powq, powers, 1.2, points);
	binary("pow", ptgc_pow, powq, small, 1.2, points);
	binary("pow", ptgc_pow, powq, negative, 1, points);
}

/* the same number, or both NaN; zeros have signs */
static int same(double a, double b)
{
	return a != a ? b != b : ptgc_bits(a) == ptgc_bits(b);
}

static void expect(const char *what, double x, double y, double right)
{
	if (same(y, right))
		return;
	failed = 1;
	printf("%s at %.17g is %.17g, not %.17g  FAILED\n", what, x, y, right);
}

/* What C99 (annex F) and IEEE 754 say of the ends: -inf, -0, 0, inf, and x beside them */
static void ends(void)
{
	const double inf = HUGE_VAL, nan = (double)NAN;
#define ENDS(name, minus_inf, minus_0, plus_0, plus_inf)                                           \
	expect(#name, -inf, ptgc_##name(-inf), minus_inf);                                         \
	expect(#name, -0.0, ptgc_##name(-0.0), minus_0);                                           \
	expect(#name, 0, ptgc_##name(0), plus_0);                                                  \
	expect(#name, inf, ptgc_##name(inf), plus_inf);                                            \
	expect(#name, nan, ptgc_##name(nan), nan);                                                 \
	expect(#name "f", -inf, ptgc_##name##f((float)-inf), minus_inf);                           \
	expect(#name "f", -0.0, ptgc_##name##f(-0.0f), minus_0);                                   \
	expect(#name "f", inf, ptgc_##name##f((float)inf), plus_inf);                              \
	expect(#name "f", nan, ptgc_##name##f((float)nan), nan);
	ENDS(exp, 0, 1, 1, inf)
	ENDS(expm1, -1, -0.0, 0, inf)
	ENDS(log, nan, -inf, -inf, inf)
	ENDS(log1p, nan, -0.0, 0, inf)
	ENDS(log2, nan, -inf, -inf, inf)
	ENDS(log10, nan, -inf, -inf, inf)
	ENDS(tanh, -1, -0.0, 0, 1)
	ENDS(sinh, -inf, -0.0, 0, inf)
	ENDS(cosh, inf, 1, 1, inf)
	ENDS(sigmoid, 0, 0.5, 0.5, 1)
	ENDS(log1mexp, -0.0, -inf, -inf, nan)
	ENDS(sin, nan, -0.0, 0, nan)
	ENDS(cos, nan, 1, 1, nan)
	ENDS(tan, nan, -0.0, 0, nan)
	ENDS(exp2, 0, 1, 1, inf)
	ENDS(asin, nan, -0.0, 0, nan)
	ENDS(asinh, -inf, -0.0, 0, inf)
	ENDS(acosh, nan, nan, nan, inf)
	ENDS(atanh, nan, -0.0, 0, nan)
	ENDS(erf, -1, -0.0, 0, 1)
	ENDS(erfc, 2, 1, 1, 0)
	ENDS(erfcx, inf, 1, 1, 0)
	ENDS(sqrt, nan, -0.0, 0, inf)
	ENDS(floor, -inf, -0.0, 0, inf)
	ENDS(ceil, -inf, -0.0, 0, inf)
	ENDS(round, -inf, -0.0, 0, inf)
	ENDS(trunc, -inf, -0.0, 0, inf)
	ENDS(round_away, -inf, -0.0, -0.0, inf)
	ENDS(sign, -1, 0, 0, 1)
	expect("softplus", -inf, ptgc_softplus(-inf), 0);
	expect("softplus", inf, ptgc_softplus(inf), inf);
	expect("softplus", nan, ptgc_softplus(nan), nan);
	expect("atan", inf, ptgc_atan(inf), 1.5707963267948966);
	expect("atan", -inf, ptgc_atan(-inf), -1.5707963267948966);
	expect("atan", -0.0, ptgc_atan(-0.0), -0.0);
	expect("atan", nan, ptgc_atan(nan), nan);
	expect("acos", 2, ptgc_acos(2), nan);
	expect("acos", -0.0, ptgc_acos(-0.0), 1.5707963267948966);
	expect("acos", -1, ptgc_acos(-1), 3.1415926535897931);
	expect("acos", 1, ptgc_acos(1), 0);
	expect("acosh", 1, ptgc_acosh(1), 0);
	expect("atanh", 1, ptgc_atanh(1), inf);
	expect("atanh", -1, ptgc_atanh(-1), -inf);
	expect("log1p", -1, ptgc_log1p(-1), -inf);
	expect("log1p", -2, ptgc_log1p(-2), nan);
	expect("log", -1, ptgc_log(-1), nan);
	expect("log", 1, ptgc_log(1), 0);
	for (int i = -1074; i < 1024; i++)
		expect("log2", scalbn(1, i), ptgc_log2(scalbn(1, i)), i);
	double ten = 1;
	for (int i = 0; i <= 22; i++, ten *= 10)
		expect("log10", ten, ptgc_log10(ten), i);
}

/* pow and atan2 as glibc's, which are right within 1 unit and have the ends of annex F */
static void two_ends(const char *name, double (*f)(double, double), double (*g)(double, double))
{
	static const double v[] = {0,
				   0.5,
				   1,
				   1.5,
				   2,
				   3,
				   0x1p52,
				   0x1p53,
				   0x1p53 + 2,
				   0x1p52 + 1,
				   0x1p51 + 0.5,
				   1e300,
				   0x1p-1074,
				   0x1p-1022,
				   DBL_MAX,
				   HUGE_VAL,
				   0.9999999999999999};
	const int n = (int)(sizeof v / sizeof *v);
	for (int i = -n; i <= n; i++)
		for (int k = -n; k <= n; k++) {
			const double x = i == n ? (double)NAN : i < 0 ? -v[-i - 1] : v[i];
			const double y = k == n ? (double)NAN : k < 0 ? -v[-k - 1] : v[k];
			const double p = f(x, y), q = g(x, y);
			if (fabs(p) > 0 && fabs(p) < HUGE_VAL && fabs(p - q) <= fabs(p) * 2.3e-16)
				continue;
			if (!same(p, q)) {
				failed = 1;
				printf("%s(%.17g, %.17g) is %.17g, not %.17g  FAILED\n", name, x, y,
				       q, p);
			}
		}
}

static void rounding(void)
{
	for (long i = 0; i < 400000; i++) {
		const double x =
			i & 1 ? between(-DBL_MAX, DBL_MAX) : (double)(int64_t)next() * 0x1p-42;
		const double h = floor(x * 2) * 0.5; /* ties */
		const double y = i & 2 ? x : h;
		expect("floor", y, ptgc_floor(y), floor(y));
		expect("ceil", y, ptgc_ceil(y), ceil(y));
		expect("round", y, ptgc_round(y), rint(y));
		expect("trunc", y, ptgc_trunc(y), trunc(y));
	}
}

/* The value of each float16, and each number half way between two and its neighbours */
static void halves(void)
{
	double before = 0;
	for (unsigned i = 0; i < 65536; i++) {
		const uint16_t h = (uint16_t)i;
		const int e = h >> 10 & 31;
		const double m = h & 1023, s = h >> 15 ? -1 : 1;
		const double v = e == 31 ? (m > 0 ? (double)NAN : s * HUGE_VAL)
				 : e     ? s * scalbn(1024 + m, e - 25)
					 : s * scalbn(m, -24);
		expect("f16_get", i, (double)ptgc_f16_get(h), v);
		if (v != v) {
			expect("f16 of NaN", i, ptgc_f16_bits(ptgc_f16_get(h)) & 0x7fff, 0x7e00);
			continue;
		}
		expect("f16_bits", v, ptgc_f16_bits((float)v), h);
		expect("f16_bits_of_f64", v, ptgc_f16_bits_of_f64(v), h);
		if (h & 0x7fff) {
			const double tie = e == 31 ? s * 65520 : (v + before) / 2;
			const uint16_t even = h & 1 ? (uint16_t)(h - 1) : h;
			const float f = (float)tie;
			const double up = nextafter(tie, s * HUGE_VAL), down = nextafter(tie, 0);
			expect("tie", tie, ptgc_f16_bits(f), even);
			expect("tie", tie, ptgc_f16_bits_of_f64(tie), even);
			expect("tie", tie, ptgc_f16_bits(nextafterf(f, (float)s * HUGE_VALF)), h);
			expect("tie", tie, ptgc_f16_bits(nextafterf(f, 0)), h - 1);
			expect("tie", tie, ptgc_f16_bits_of_f64(up), h);
			expect("tie", tie, ptgc_f16_bits_of_f64(down), h - 1);
		}
		before = v;
	}
}

static void integers(void)
{
	static const double v[] = {0.9,          -0.9,          300.7,  -300.7, 1e5,  -1e5,
				   2147483647.9, -2147483648.9, 3e9,    -3e9,   1e10, -1e10,
				   9.3e18,       -9.3e18,       1.8e19, 2e19,   1e30, -1e30,
				   HUGE_VAL,     -HUGE_VAL,     NAN};
	static const int64_t i32[] = {0, 0, 300, -300, 100000, -100000, INT32_MAX, INT32_MIN};
	static const int64_t i64[] = {0,          0,           300,         -300,
				      100000,     -100000,     2147483647,  -2147483648,
				      3000000000, -3000000000, 10000000000, -10000000000};
	static const uint64_t u64[] = {9300000000000000000u,
				       9223372036854775808u,
				       18000000000000000000u,
				       0,
				       0,
				       9223372036854775808u,
				       0,
				       9223372036854775808u,
				       9223372036854775808u};
	for (int i = 0; i < (int)(sizeof v / sizeof *v); i++) {
		const int32_t n = (int32_t)(i < 8 ? i32[i] : INT32_MIN);
		const int64_t m = i < 12 ? i64[i] : INT64_MIN;
		const uint64_t u = i < 12 ? (uint64_t)m : u64[i - 12];
		if (ptgc_to_i32(v[i]) != n || ptgc_to_i16(v[i]) != (int16_t)n ||
		    ptgc_to_i8(v[i]) != (int8_t)n || ptgc_to_u16(v[i]) != (uint16_t)n ||
		    ptgc_to_u8(v[i]) != (uint8_t)n || ptgc_to_i64(v[i]) != m ||
		    ptgc_to_u32(v[i]) != (uint32_t)m || ptgc_to_u64(v[i]) != u) {
			failed = 1;
			printf("casts of %g FAILED\n", v[i]);
		}
	}
	for (int64_t a = -128; a < 128; a++)
		for (int64_t b = -128; b < 128; b++) {
			const int64_t q = b ? (int64_t)floor((double)a / (double)b) : 0;
			const int64_t t = b ? (int64_t)trunc((double)a / (double)b) : 0;
			if (ptgc_floor_div_i64(a, b) != q || ptgc_div_i64(a, b) != t ||
			    ptgc_mod_i64(a, b) != (b ? a - q * b : 0) ||
			    ptgc_rem_i64(a, b) != (b ? a - t * b : 0)) {
				failed = 1;
				printf("%d divided by %d FAILED\n", (int)a, (int)b);
			}
		}
	expect("div", -1, (double)ptgc_div_i64(INT64_MIN, -1), -0x1p63);
	expect("rem", -1, (double)ptgc_rem_i64(INT64_MIN, -1), 0);
	expect("pow", 39, (double)(ptgc_pow_i64(3, 39) - 4052555153018976267), 0);
	expect("pow", 64, (double)ptgc_pow_i64(-2, 63), -0x1p63);
	expect("pow", 64, (double)ptgc_pow_i64(2, 64), 0);
	expect("shift", 8, (double)ptgc_shift_left(1, 8, 8), 0);
	expect("shift", 63, (double)ptgc_shift_left(1, 63, 64), 0x1p63);
	expect("shift", 64, (double)ptgc_shift_right(UINT64_MAX, 64, 64), 0);
	expect("max", 1, ptgc_max((double)NAN, 1), (double)NAN);
	expect("max", 1, ptgc_max(1, (double)NAN), (double)NAN);
	expect("min", 1, ptgc_min((double)NAN, 1), (double)NAN);
	expect("min", 1, ptgc_min(1, (double)NAN), (double)NAN);
	expect("quotient", 0.1, ptgc_quotient(1, 0.1), 9);
	expect("mod", -3, ptgc_mod(5, -3), -1);
	expect("mod", -3, ptgc_mod(6, -3), -0.0);
}

/* Few keys and many, so that some are equal: what stands at equal ones keeps its order. */
static void orders(void)
{
	enum { N = 3000 };
	static uint64_t keys[N];
	static int64_t at[N], room[2 * N];
	static const double v[] = {-HUGE_VAL, -3, -0x1p-1074, -0.0, 0x1p-1074, 2, HUGE_VAL, NAN};

	for (int i = 0; i + 1 < (int)(sizeof v / sizeof *v); i++)
		expect("key", v[i], ptgc_key(v[i]) < ptgc_key(v[i + 1]), 1);
	expect("key of -0", 0, ptgc_key(-0.0) == ptgc_key(0.0), 1);
	expect("key of -NaN", 0, ptgc_key(-(double)NAN) == UINT64_MAX, 1);
	expect("key of INT64_MIN", 0, ptgc_key_i64(INT64_MIN) < ptgc_key_i64(-1), 1);
	expect("key of -1", 0, ptgc_key_i64(-1) < ptgc_key_i64(0), 1);
	for (int n = 0; n <= N; n = 2 * n + 1)
		for (int bits = 0; bits < 64; bits += 9) {
			for (int i = 0; i < n; i++) {
				keys[i] = next() >> bits;
				at[i] = i;
			}
			ptgc_sort(keys, at, room, n);
			for (int i = 1; i < n; i++) {
				const int less = keys[i - 1] < keys[i];
				const int equal = keys[i - 1] == keys[i];
				expect("sort", i, less || (equal && at[i - 1] < at[i]), 1);
			}
		}
}

int main(int argc, char **argv)
{
	const long points = argc > 1 ? atol(argv[1]) : 20000;
	ends();
	two_ends("pow", pow, ptgc_pow);
	two_ends("atan2", atan2, ptgc_atan2);
	rounding();
	halves();
	integers();
	orders();
	elementary(points);
	return failed;
}
