/*
 * maths.c: functions of numbers that become constants of a model. The C library's differ in the
 * last place from machine to machine, and a model must not. Only what C or IEEE 754 say to the bit
 * is used here: + - * / and fma(), frexp(), ldexp(). Numbers are sums of two doubles, of some 100
 * bits, so that what is rounded at the end is nearly always the double next to the true result.
 */
#include <math.h>

#include "base/base.h"

struct pair { /* hi + lo, where hi is the double nearest to the sum */
	double hi, lo;
};

static const struct pair LN2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
static const struct pair QUARTER_PI = {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55};

static struct pair pair_of(double a, double b) /* a + b */
{
	double hi = a + b, rest = hi - a;

	return (struct pair){hi, (a - (hi - rest)) + (b - rest)};
}

static struct pair plus(struct pair a, struct pair b)
{
	struct pair hi = pair_of(a.hi, b.hi), lo = pair_of(a.lo, b.lo);

	hi = pair_of(hi.hi, hi.lo + lo.hi);
	return pair_of(hi.hi, hi.lo + lo.lo);
}

static struct pair times(struct pair a, struct pair b)
{
	double hi = a.hi * b.hi;

	return pair_of(hi, fma(a.hi, b.hi, -hi) + (a.hi * b.lo + a.lo * b.hi));
}

static struct pair over(struct pair a, struct pair b)
{
	double q = a.hi / b.hi;
	struct pair rest = times(b, (struct pair){-q, 0});

	rest = plus(a, rest);
	return pair_of(q, rest.hi / b.hi);
}

static struct pair number(double a)
{
	return (struct pair){a, 0};
}

/* e to the power x, for |x| < 2000, as r * 2 ** *scale */
static struct pair exp_of(struct pair x, int *scale)
{
	double k = nearbyint(x.hi / LN2.hi);
	struct pair r = number(1);

	*scale = (int)k;
	x = plus(x, times(LN2, number(-k)));
	for (int i = 28; i; i--) /* 1 + x / 1 * (1 + x / 2 * (1 + ...)) */
		r = plus(number(1), times(r, over(x, number(i))));
	return r;
}

/* of x > 0: 2 * atanh((m - 1) / (m + 1)) + e * ln 2, where x is m * 2 ** e */
static struct pair log_of(double x)
{
	int e;
	double m = frexp(x, &e);

	if (m < 0x1.6a09e667f3bcdp-1) { /* sqrt(1 / 2) */
		m *= 2;
		e--;
	}
	struct pair s = over(number(m - 1), pair_of(m, 1)), square = times(s, s), sum = number(0);
	for (int i = 47; i > 0; i -= 2)
		sum = plus(over(number(1), number(i)), times(square, sum));
	sum = times(sum, times(s, number(2)));
	return plus(times(LN2, number(e)), sum);
}

double portable_exp(double x)
{
	int scale;

	if (isnan(x))
		return x;
	if (fabs(x) > 800)
		return x > 0 ? INFINITY : 0;
	struct pair r = exp_of(number(x), &scale);
	return ldexp(r.hi, scale);
}

double portable_log(double x)
{
	if (!(x > 0) || isinf(x))
		return x == 0 ? -INFINITY : x > 0 ? x : NAN;
	return log_of(x).hi;
}

static bool is_odd(double y)
{
	return fabs(y) < 0x1p53 && fmod(y, 2) != 0 && fmod(y, 1) == 0;
}

double portable_pow(double x, double y)
{
	double sign = signbit(x) && is_odd(y) ? -1 : 1;
	int scale;

	if (y == 0 || x == 1)
		return 1;
	if (isnan(x) || isnan(y) || (x < 0 && isfinite(x) && isfinite(y) && fmod(y, 1) != 0))
		return NAN;
	x = fabs(x);
	if (x == 1)
		return sign;
	if (x == 0 || isinf(x) || isinf(y))
		return (x > 1) == (y > 0) ? sign * INFINITY : sign * 0;
	if (y == 2)
		return x * x;
	struct pair r = log_of(x);
	if (fabs(r.hi * y) > 800)
		return r.hi * y > 0 ? sign * INFINITY : sign * 0;
	r = exp_of(times(r, number(y)), &scale);
	return sign * ldexp(r.hi, scale);
}

/* The angle is brought to at most pi / 4, so cos(pi / 2) is exactly 0. */
double cos_of_turn(int64_t k, int64_t n)
{
	int64_t j = 8 * (k % n), sign = 1;

	if (j > 4 * n)
		j = 8 * n - j;
	if (j > 2 * n) {
		j = 4 * n - j;
		sign = -1;
	}
	bool by_sine = j > n;
	struct pair part = over(number((double)(by_sine ? 2 * n - j : j)), number((double)n));
	struct pair a = times(QUARTER_PI, part), square = times(a, a), r = number(1);
	for (int i = 28 + by_sine; i > 1;
	     i -= 2) /* 1 - a * a / (1 * 2) * (1 - a * a / (3 * 4) * (...)) */
		r = plus(number(1), times(r, over(square, number(-i * (i - 1)))));
	return (double)sign * (by_sine ? times(a, r).hi : r.hi);
}
