/*
 * maths.c: functions of numbers that become constants of a model. The C library's differ in the
 * last place from machine to machine, and a model must not. Only what C or IEEE 754 say to the bit
 * is used here: + - * / and sqrt(), fma(), frexp(), ldexp(). Numbers are sums of two doubles, of
 * some 100 bits, so that what is rounded at the end is nearly always the double next to the true
 * result.
 */
#include <math.h>

#include "base/base.h"

struct pair { /* hi + lo, where hi is the double nearest to the sum */
	double hi, lo;
};

static const struct pair LN2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
static const struct pair LN10 = {0x1.26bb1bbb55516p+1, -0x1.f48ad494ea3e9p-53};
static const struct pair QUARTER_PI = {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55};
static const struct pair HALF_PI = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
static const struct pair PI = {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53};
static const struct pair TWO_BY_ROOT_PI = {0x1.20dd750429b6dp+0, 0x1.1ae3a914fed80p-56};
static const struct pair HALF_LN_2PI = {0x1.d67f1c864beb5p-1, -0x1.65b5a1b7ff5dfp-55};
static const struct pair EULER = {0x1.2788cfc6fb619p-1, -0x1.6cb90701fbfabp-58};

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

/* 2 * atanh(s), which is log((1 + s) / (1 - s)), for |s| < 0.18 */
static struct pair twice_atanh(struct pair s)
{
	struct pair square = times(s, s), sum = number(0);

	for (int i = 47; i > 0; i -= 2)
		sum = plus(over(number(1), number(i)), times(square, sum));
	return times(sum, times(s, number(2)));
}

/* of x > 0, which is m * 2 ** *e: the logarithm of m, which is between sqrt(1 / 2) and sqrt(2) */
static struct pair log_of_part(struct pair x, int *e)
{
	struct pair m = {frexp(x.hi, e), 0};

	m.lo = ldexp(x.lo, -*e);
	if (m.hi < 0x1.6a09e667f3bcdp-1) { /* sqrt(1 / 2) */
		m = (struct pair){2 * m.hi, 2 * m.lo};
		--*e;
	}
	return twice_atanh(over(plus(m, number(-1)), plus(m, number(1))));
}

static struct pair log_of_pair(struct pair x)
{
	int e;
	struct pair part = log_of_part(x, &e);

	return plus(times(LN2, number(e)), part);
}

static struct pair log_of(double x)
{
	return log_of_pair(number(x));
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

/* sin a or cos a for |a| <= pi / 4 */
static struct pair turn_of(struct pair a, bool sine)
{
	struct pair square = times(a, a), r = number(1);

	for (int i = 28 + sine; i > 1;
	     i -= 2) /* 1 - a * a / (1 * 2) * (1 - a * a / (3 * 4) * (...)) */
		r = plus(number(1), times(r, over(square, number(-i * (i - 1)))));
	return sine ? times(a, r) : r;
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
	return (double)sign * turn_of(times(QUARTER_PI, part), by_sine).hi;
}

/* ---- functions of literals ---- */

/* Below this size what a function adds to its first term is lost in rounding, or would underflow.
 */
#define TINY 0x1p-60

static struct pair scaled(struct pair a, int scale)
{
	return (struct pair){ldexp(a.hi, scale), ldexp(a.lo, scale)};
}

static struct pair minus(struct pair a)
{
	return (struct pair){-a.hi, -a.lo};
}

static struct pair exp_of_pair(struct pair x) /* |x| < 700 */
{
	int scale;
	struct pair r = exp_of(x, &scale);

	return scaled(r, scale);
}

static struct pair expm1_of(struct pair x)
{
	struct pair r = number(1);

	if (fabs(x.hi) > 0.5)
		return plus(exp_of_pair(x), number(-1));
	for (int i = 28; i > 1; i--) /* x * (1 + x / 2 * (1 + x / 3 * (...))) */
		r = plus(number(1), times(r, over(x, number(i))));
	return times(x, r);
}

static struct pair log1p_of(struct pair x) /* x > -1 */
{
	if (fabs(x.hi) < 0.25)
		return twice_atanh(over(x, plus(x, number(2))));
	return log_of_pair(plus(x, number(1)));
}

static struct pair sqrt_of(struct pair x)
{
	double root = sqrt(x.hi);
	struct pair rest = plus(x, times(number(-root), number(root)));

	return root == 0 ? number(0) : pair_of(root, rest.hi / (2 * root));
}

double portable_exp2(double x)
{
	double whole = nearbyint(x);

	if (!(fabs(x) < 1100))
		return isnan(x) ? x : x > 0 ? INFINITY : 0;
	return ldexp(exp_of_pair(times(LN2, number(x - whole))).hi, (int)whole);
}

double portable_expm1(double x)
{
	if (isnan(x) || fabs(x) < TINY)
		return x;
	return x > 80 ? portable_exp(x) : x < -80 ? -1 : expm1_of(number(x)).hi;
}

double portable_log2(double x)
{
	int e;

	if (!(x > 0) || isinf(x))
		return portable_log(x);
	struct pair part = log_of_part(number(x), &e);
	return plus(number(e), over(part, LN2)).hi;
}

double portable_log10(double x)
{
	return !(x > 0) || isinf(x) ? portable_log(x) : over(log_of(x), LN10).hi;
}

double portable_log1p(double x)
{
	if (!(x > -1) || isinf(x))
		return x == -1 ? -INFINITY : x > 0 ? x : NAN;
	return fabs(x) < TINY ? x : log1p_of(number(x)).hi;
}

/* log(1 - e ** x) */
double portable_log1mexp(double x)
{
	if (!(x < 0))
		return x == 0 ? -INFINITY : NAN;
	if (x < -80)
		return -portable_exp(x);
	if (x < -0.5)
		return log1p_of(minus(exp_of_pair(number(x)))).hi;
	return x > -TINY ? log_of(-x).hi : log_of_pair(minus(expm1_of(number(x)))).hi;
}

double portable_sigmoid(double x)
{
	int scale;

	if (isnan(x) || fabs(x) > 750)
		return isnan(x) ? x : x > 0 ? 1 : 0;
	struct pair small = exp_of(number(-fabs(x)), &scale);
	struct pair sum = plus(number(1), scaled(small, scale));
	return x < 0 ? ldexp(over(small, sum).hi, scale) : over(number(1), sum).hi;
}

/* log(1 + e ** x) */
double portable_softplus(double x)
{
	if (isnan(x) || x > 80)
		return x;
	if (x < -80)
		return portable_exp(x);
	struct pair rest = log1p_of(exp_of_pair(number(-fabs(x))));
	return x > 0 ? plus(number(x), rest).hi : rest.hi;
}

double portable_sinh(double x)
{
	int scale;

	if (isnan(x) || fabs(x) < TINY)
		return x;
	if (fabs(x) > 80) {
		struct pair r = exp_of(number(fabs(x) > 800 ? 800 : fabs(x)), &scale);
		return copysign(ldexp(r.hi, scale - 1), x);
	}
	return plus(expm1_of(number(x)), minus(expm1_of(number(-x)))).hi / 2;
}

double portable_cosh(double x)
{
	if (isnan(x) || fabs(x) > 80)
		return isnan(x) ? x : fabs(portable_sinh(x));
	struct pair r = plus(exp_of_pair(number(x)), exp_of_pair(number(-x)));
	return r.hi / 2;
}

double portable_tanh(double x)
{
	if (isnan(x) || fabs(x) < TINY)
		return x;
	if (fabs(x) > 40)
		return copysign(1, x);
	struct pair r = expm1_of(number(2 * x));
	return over(r, plus(r, number(2))).hi;
}

double portable_asinh(double x)
{
	double a = fabs(x);
	struct pair r;

	if (!(a >= TINY) || isinf(x))
		return x;
	if (a > 0x1p100) {
		r = plus(log_of(a), LN2);
	} else {
		struct pair square = times(number(a), number(a));
		struct pair root = sqrt_of(plus(square, number(1)));
		r = log1p_of(plus(number(a), over(square, plus(root, number(1)))));
	}
	return copysign(r.hi, x);
}

double portable_acosh(double x)
{
	if (!(x >= 1) || isinf(x))
		return x > 0 && isinf(x) ? x : NAN;
	if (x > 0x1p100)
		return plus(log_of(x), LN2).hi;
	struct pair t = pair_of(x, -1);
	return log1p_of(plus(t, sqrt_of(times(t, plus(t, number(2)))))).hi;
}

double portable_atanh(double x)
{
	double a = fabs(x);

	if (isnan(x) || a < TINY || a >= 1)
		return a > 1 ? NAN : a == 1 ? copysign(INFINITY, x) : x;
	struct pair r = log1p_of(over(number(2 * a), pair_of(1, -a)));
	return copysign(r.hi / 2, x);
}

/* The first bits of 2 / pi, 64 in each word */
static const uint64_t two_by_pi[] = {
	0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
	0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
	0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
	0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
	0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d,
	0xa9e391615ee61b08, 0x6599855f14a06840,
};

#define WORDS 5 /* of two_by_pi, that a product takes */

/* The word of bits [at, at + 64) of a number, its least word first; bits beyond it are 0. */
static uint64_t bits_at(const uint64_t *word, int count, int at)
{
	int k = at >= 0 ? at / 64 : -((63 - at) / 64), shift = at - 64 * k;
	uint64_t low = k >= 0 && k < count ? word[k] : 0;
	uint64_t high = k + 1 >= 0 && k + 1 < count ? word[k + 1] : 0;

	return shift ? low >> shift | high << (64 - shift) : low;
}

/* x is *quarter quarters of a turn and an angle of at most pi / 4, which is returned: x * 2 / pi is
 * multiplied out in integers, but for multiples of 4. For finite x >= 0. */
static struct pair reduce_angle(double x, unsigned *quarter)
{
	int e;
	uint64_t m = (uint64_t)ldexp(frexp(x, &e), 53), product[WORDS + 1] = {0};

	e -= 53; /* x is m * 2 ** e */
	int first = e > 66 ? (e - 2) / 64 : 0, point = 64 * (first + WORDS) - e;
	*quarter = 0;
	if (x < QUARTER_PI.hi)
		return number(x);
	for (int i = 0; i < WORDS; i++) { /* the least word of the product first */
		unsigned __int128 t =
			(unsigned __int128)m * two_by_pi[first + WORDS - 1 - i] + product[i];
		product[i] = (uint64_t)t;
		product[i + 1] = (uint64_t)(t >> 64);
	}
	uint64_t part[3]; /* 192 bits behind the point, the highest first */
	for (int i = 0; i < 3; i++)
		part[i] = bits_at(product, WORDS + 1, point - 64 * (i + 1));
	*quarter = bits_at(product, WORDS + 1, point) & 3;
	bool above = part[0] >> 63; /* half a quarter: counted from the next one */
	*quarter = (*quarter + above) & 3;
	struct pair r = number(0);
	for (int i = 2; i >= 0; i--) {
		uint64_t w = above ? ~part[i] : part[i]; /* 1 - r, but for the last of 192 bits */
		r = plus(number(ldexp((double)(w & 0xffffffff), -64 * (i + 1))), r);
		r = plus(number(ldexp((double)(w >> 32), -64 * i - 32)), r);
	}
	r = times(r, HALF_PI);
	return above ? minus(r) : r;
}

/* The sine (cosine: one quarter further) of x */
static struct pair sine_of(double x, unsigned quarters)
{
	unsigned quarter;
	struct pair a = reduce_angle(fabs(x), &quarter);
	bool negative = signbit(x) && !quarters; /* the cosine is even */

	quarter = (quarter + quarters) & 3;
	struct pair r = turn_of(a, !(quarter & 1));
	return (quarter >= 2) != negative ? minus(r) : r;
}

double portable_sin(double x)
{
	return isinf(x) ? NAN : !(fabs(x) >= TINY) ? x : sine_of(x, 0).hi;
}

double portable_cos(double x)
{
	return isinf(x) || isnan(x) ? NAN : sine_of(x, 1).hi;
}

double portable_tan(double x)
{
	return isinf(x) ? NAN : !(fabs(x) >= TINY) ? x : over(sine_of(x, 0), sine_of(x, 1)).hi;
}

/* of x >= 0: halved three times, atan x is 2 * atan(x / (1 + sqrt(1 + x * x))), then a series */
static struct pair atan_of(struct pair x)
{
	bool large = x.hi > 1;
	struct pair r = number(0);

	if (large)
		x = over(number(1), x);
	for (int i = 0; i < 3; i++)
		x = over(x, plus(number(1), sqrt_of(plus(number(1), times(x, x)))));
	struct pair square = times(x, x);
	for (int i = 35; i > 0; i -= 2)
		r = plus(over(number(1), number(i)), minus(times(square, r)));
	r = times(times(x, r), number(8));
	return large ? plus(HALF_PI, minus(r)) : r;
}

double portable_atan(double x)
{
	if (!(fabs(x) >= TINY))
		return x;
	return copysign(fabs(x) > 0x1p100 ? HALF_PI.hi : atan_of(number(fabs(x))).hi, x);
}

/* The angle of the point (x, y) */
double portable_atan2(double y, double x)
{
	double a = fabs(y), b = fabs(x), r;
	int i, k;

	if (isnan(x) || isnan(y))
		return NAN;
	a = frexp(isinf(a) ? isinf(b) : a, &i);
	b = frexp(isinf(b) ? isinf(y) : b, &k);
	bool steep = y != 0 && (x == 0 || (isinf(y) && !isinf(x)) || (!isinf(x) && i - k > 100));
	bool flat = y == 0 || (isinf(x) && !isinf(y)) || (!steep && !isinf(x) && k - i > 100);
	if (steep) {
		r = HALF_PI.hi;
	} else if (flat) {
		r = signbit(x) ? PI.hi : y == 0 || isinf(x) ? 0 : ldexp(a / b, i - k);
	} else {
		struct pair angle = atan_of(over(number(ldexp(a, i - k)), number(b)));
		r = signbit(x) ? plus(PI, minus(angle)).hi : angle.hi;
	}
	return copysign(r, y);
}

static struct pair other_side(double a) /* sqrt(1 - a * a) */
{
	return sqrt_of(times(pair_of(1, -a), pair_of(1, a)));
}

double portable_asin(double x)
{
	double a = fabs(x);

	if (!(a >= TINY) || a >= 1)
		return a > 1 ? NAN : a == 1 ? copysign(HALF_PI.hi, x) : x;
	return copysign(atan_of(over(number(a), other_side(a))).hi, x);
}

double portable_acos(double x)
{
	double a = fabs(x);

	if (!(a <= 1))
		return NAN;
	struct pair r = a < TINY ? HALF_PI : atan_of(over(other_side(a), number(a)));
	return x < 0 ? plus(PI, minus(r)).hi : r.hi;
}

/* of 0 <= x < 7: 2 / sqrt(pi) * exp(-x * x) * (x + x * 2xx/3 + x * 2xx/3 * 2xx/5 + ...) */
static struct pair erf_of(double x)
{
	struct pair square = times(number(x), number(x)), term = number(x), sum = term;

	for (int i = 3; term.hi > 0x1p-110 * sum.hi; i += 2) {
		term = times(term, over(times(square, number(2)), number(i)));
		sum = plus(sum, term);
	}
	return times(times(sum, exp_of_pair(minus(square))), TWO_BY_ROOT_PI);
}

/* of x >= 2: exp(x * x) * erfc(x), a continued fraction */
static struct pair erfcx_of(double x)
{
	struct pair f = number(x);

	for (int i = 250; i; i--)
		f = plus(number(x), over(number(i / 2.0), f));
	return over(times(TWO_BY_ROOT_PI, number(0.5)), f);
}

/* exp(c * x * x) * f, for c of 1 or -1 */
static double by_square(double x, double c, struct pair f)
{
	int scale;
	struct pair square = times(number(x), number(c * x)), r = exp_of(square, &scale);

	return ldexp(times(r, f).hi, scale);
}

double portable_erf(double x)
{
	if (isnan(x) || fabs(x) > 6)
		return isnan(x) ? x : copysign(1, x);
	if (fabs(x) < TINY)
		return x * TWO_BY_ROOT_PI.hi;
	return copysign(erf_of(fabs(x)).hi, x);
}

double portable_erfc(double x)
{
	if (isnan(x) || x < -6 || x > 30)
		return isnan(x) ? x : x < 0 ? 2 : 0;
	if (x >= 2)
		return by_square(x, -1, erfcx_of(x));
	struct pair r = erf_of(fabs(x));
	return plus(number(1), x < 0 ? r : minus(r)).hi;
}

/* exp(x * x) * erfc(x) */
double portable_erfcx(double x)
{
	if (isnan(x) || x < -30)
		return isnan(x) ? x : INFINITY;
	if (x >= 2)
		return erfcx_of(x).hi;
	struct pair r = x < -6 ? number(1) : erf_of(fabs(x));
	return by_square(x, 1, plus(number(1), x < 0 ? r : minus(r)));
}

/* log gamma(x) for x > 0: Stirling's series at x + n, less log(x * (x + 1) * ...) */
static struct pair gammaln_of(struct pair x)
{
	static const double bernoulli[][2] = {
		/* B(2k) / (2k * (2k - 1)) */
		{1, 12},         {-1, 360},         {1, 1260},     {-1, 1680},
		{1, 1188},       {-691, 360360},    {1, 156},      {-3617, 122400},
		{43867, 244188}, {-174611, 125400}, {77683, 5796}, {-236364091, 1506960},
		{657931, 300}};
	struct pair product = number(1), series = number(0);

	for (; x.hi < 40; x = plus(x, number(1)))
		product = times(product, x);
	struct pair inverse = over(number(1), x), square = times(inverse, inverse);
	for (int i = countof(bernoulli) - 1; i >= 0; i--)
		series = plus(over(number(bernoulli[i][0]), number(bernoulli[i][1])),
			      times(square, series));
	struct pair r = times(plus(x, number(-0.5)), log_of_pair(x));
	r = plus(plus(r, minus(x)), plus(HALF_LN_2PI, times(series, inverse)));
	return plus(r, minus(log_of_pair(product)));
}

/* log gamma(1 + x), or of 2 + x, for |x| < 2 ** -20 */
static double gammaln_near(double x, bool two)
{
	static const double zeta[] = {0x1.a51a6625307d3p+0, 0x1.33ba004f00621p+0,
				      0x1.151322ac7d848p+0}; /* of 2, 3, 4 */
	double rest = 0;

	for (int k = 4; k > 1; k--) /* what log(1 + x) adds for 2 + x has the opposite signs */
		rest = x * ((k % 2 ? -1 : 1) * (zeta[k - 2] - two) / k + rest);
	struct pair first = plus(number(two), minus(EULER));
	return times(number(x), plus(first, number(rest))).hi;
}

/* |sin(pi * x)|, for x > 0 that is no integer */
static struct pair sine_of_turn(double x)
{
	double part = fabs(x - nearbyint(x)); /* at most 1 / 2, and exact */

	return part > 0.25 ? turn_of(times(PI, number(0.5 - part)), false)
			   : turn_of(times(PI, number(part)), true);
}

double portable_gammaln(double x)
{
	if (isnan(x) || isinf(x) || (x <= 0 && nearbyint(x) == x))
		return isnan(x) ? x : INFINITY;
	if (fabs(x - 1) < 0x1p-20 || fabs(x - 2) < 0x1p-20)
		return gammaln_near(x > 1.5 ? x - 2 : x - 1, x > 1.5);
	if (x > 0x1p100) {
		double r = times(number(x), plus(log_of(x), number(-1))).hi;
		return isnan(r) ? INFINITY : r; /* the product overflows */
	}
	if (x > 0)
		return x < TINY ? -log_of(x).hi : gammaln_of(number(x)).hi;
	if (x > -TINY)
		return -log_of(-x).hi;
	/* gamma(x) * gamma(1 - x) is pi / sin(pi * x) */
	struct pair r = log_of_pair(over(PI, sine_of_turn(-x)));
	return plus(r, minus(gammaln_of(pair_of(1, -x)))).hi;
}

double portable_gamma(double x)
{
	int scale;

	if (isnan(x) || x == 0 || (x < 0 && nearbyint(x) == x))
		return x == 0 ? copysign(INFINITY, x) : x < 0 || isnan(x) ? NAN : x;
	if (fabs(x) < TINY)
		return 1 / x;
	if (fabs(x) > 190)
		return x > 0 ? INFINITY : fmod(floor(x), 2) == 0 ? 0.0 : -0.0;
	struct pair r;
	if (x > 0) {
		r = exp_of(gammaln_of(number(x)), &scale);
		return nearbyint(x) == x && x < 24 ? nearbyint(ldexp(r.hi, scale))
						   : ldexp(r.hi, scale);
	}
	r = exp_of(minus(gammaln_of(pair_of(1, -x))), &scale);
	r = times(r, over(PI, sine_of_turn(-x)));
	return ldexp(fmod(floor(x), 2) == 0 ? r.hi : -r.hi, scale);
}

double portable_round_away(double x)
{
	return trunc(x) + (fabs(x - trunc(x)) >= 0.5 ? copysign(1, x) : 0);
}
