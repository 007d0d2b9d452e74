/* gammainc(a, x), the regularised incomplete gamma function P, gammaincc(a, x) = 1 - P, their
   inverses in x, gammaincinv(a, p) and gammainccinv(a, q), and their float forms. Method: series
   (8.7.1 of https://dlmf.nist.gov) for x < a + 1, a continued fraction (8.9.2) beyond, both times
   x^a exp(-x)/gamma(a + 1); Temme's expansion (8.12.3) from a = 1e6 on. Each element ends by
   itself. The inverses are by Halley's method for the logarithm of the smaller of P and Q as a
   function of log(x), which is concave. As lib/special/incomplete_gamma.ptg. Bounds: see the table
   in README.md.
 */
#ifndef PTGC_C_INCOMPLETE_H
#define PTGC_C_INCOMPLETE_H

#include "erf.h"
#include "gamma.h"
#include "pow.h"

/* fit_c.py: atanh_p */
PTGC_INLINE double ptgc_fit_atanh_p(double x)
{
	const double x2 = x * x;
	const double a0 = -4.38980880041189 + 5.329377128998267 * x;
	const double a1 = -1.4368554242593876 + 0.01614407847236098 * x;
	return a0 + a1 * x2;
}

/* fit_c.py: atanh_q */
PTGC_INLINE double ptgc_fit_atanh_q(double x)
{
	const double x2 = x * x;
	const double a0 = -6.584713200617834 + 11.944893613867412 * x;
	const double a1 = -6.500199361423391 + x;
	return a0 + a1 * x2;
}

/* fit_c.py: temme */
PTGC_INLINE double ptgc_fit_temme(double x)
{
	const double x2 = x * x, x4 = x2 * x2;
	const double a0 = -0.3333333333333333 + 0.08333333333332961 * x;
	const double a1 = -0.014814814814817985 + 0.0011574074193406458 * x;
	const double a2 = 0.00035273369621034625 - 0.00017876469402674424 * x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + 3.918451784817143e-05 * x2;
	return b0 + b1 * x4;
}

/* log(1 + t) - t for |t| < 0.4 without cancellation: log(1 + t) is 2 artanh(h), h = t/(t + 2), and
   2 h - t is -h t */
static inline double ptgc_log1pmx_near(double t)
{
	const double h = t / (t + 2), z = h * h;
	return h * (z * (ptgc_fit_atanh_p(z) / ptgc_fit_atanh_q(z)) - t);
}

/* x^a exp(-x)/gamma(a + 1) for a <= 165: with t = a + 1 it is (x/t)^a exp(t - x)/(sqrt(t) F(1/t)),
   F of gamma.h. The exponent may be large, so it has two parts. That t is rounded does no harm: the
   exponent less log(gamma(t)) is flat in t. */
static inline double ptgc_gamma_weight_few(double a, double x)
{
	const struct ptgc_wide log2 = {0.6931471805599453, 2.3190468138462996e-17};
	if (x == 0)
		return 0;
	const double most = x > 2000 ? 2000 : x; /* from there on exp(-x) is 0 */
	const int tiny = x < 1e-280;
	const double u = tiny ? most * 1267650600228229401496703205376.0 : most; /* 2^100 */
	const double t = a + 1;
	const double q = u / t;
	const struct ptgc_wide p = ptgc_two_product(q, t);
	double n;
	struct ptgc_wide l = ptgc_log_parts(q, &n);
	l.low += ((u - p.high) - p.low) / u;
	const struct ptgc_wide whole = {tiny ? n - 100 : n, 0}, power = {a, 0};
	const struct ptgc_wide log_q = ptgc_wide_sum(ptgc_wide_product(whole, log2), l);
	const struct ptgc_wide e =
		ptgc_wide_sum(ptgc_wide_product(power, log_q), ptgc_two_sum(t, -most));
	if (e.high < -800)
		return 0;
	return ptgc_exp_wide(e.high, e.low) / (sqrt(t) * ptgc_gamma_factor(1 / t));
}

/* The same. For large a near x, with w = 1/a and t = (x - a)/a, it is exp(a (log(x/a) - t) - w
   S(w^2)) sqrt(w/(2 pi)), S Stirling's series. */
static inline double ptgc_gamma_weight(double a, double x)
{
	const double t = (x - a) / a;
	if (a < 10 || (t < -0.4 && a <= 165))
		return ptgc_gamma_weight_few(a, x);
	const double w = 1 / a, s = w * w;
	const double c = ptgc_fit_stirling_p(s) / ptgc_fit_stirling_q(s);
	const double l = fabs(t) < 0.4 ? ptgc_log1pmx_near(t) : ptgc_log(x / a) - t;
	return ptgc_exp(a * l - w * c) * sqrt(w * 0.15915494309189535);
}

/* P or Q for large a around x = a: with r^2/2 = t - log(1 + t), of the sign of t, Q is erfc(r
   sqrt(a/2))/2 + weight (C(r) + D(r)/a); D also makes good for a factor of the weight. */
static inline double ptgc_incomplete_gamma_large(double a, double x, double weight, int upper)
{
	const double t = (x - a) / a;
	const double l = fabs(t) < 0.4 ? ptgc_log1pmx_near(t) : ptgc_log1p(t) - t;
	const double r = ptgc_signed(sqrt(l * -2), t);
	const double z = r * sqrt(a * 0.5);
	const double s = r > 0.05 ? 0.05 : r < -0.05 ? -0.05 : r; /* outside, the weight is 0 */
	const double d =
		((-0.000893775720164609 * s + 0.0014109347442680777) * s + 0.003472222222222222) *
			s -
		0.02962962962962963;
	const double rest = weight * (ptgc_fit_temme(s) + d / a);
	return upper ? ptgc_erfc(z) * 0.5 + rest : ptgc_erfc(-z) * 0.5 - rest;
}

/* P/weight for x < a + 1 */
static inline double ptgc_incomplete_gamma_series(double a, double x)
{
	double t = 1, sum = 1;
	for (double n = 1; t > sum * 1e-17; n += 1) {
		t *= x / (a + n);
		sum += t;
	}
	return sum;
}

/* Q/(weight a) for x >= a + 1, by Lentz's method: h is the product of the steps, c and d are
   quotients of successive numerators and denominators */
static inline double ptgc_incomplete_gamma_fraction(double a, double x)
{
	const double b0 = x + 1 - a;
	double c = 1e300, d = 1 / b0, h = d;
	for (double j = 1; j < 300000; j += 1) {
		const double f = j * (a - j), b = b0 + j * 2;
		d = 1 / (f * d + b);
		c = b + f / c;
		const double step = c * d;
		h *= step;
		if (!(fabs(step - 1) > 2.3e-16))
			return h;
	}
	return (double)NAN;
}

/* Q for small a and x, where 1 - P would lose digits: 1 - exp(e) - a exp(e) (-x/(a + 1) + x^2/(2!
   (a + 2)) - ...), e = log(x^a/gamma(a + 1)) */
static inline double ptgc_incomplete_gamma_small(double a, double x)
{
	const double e = a * ptgc_log(x) - ptgc_lgamma1p(a);
	double v = 1, rest = 0;
	for (double j = 1; fabs(v) > 1e-18; j += 1) {
		v *= x / -j;
		rest += v / (a + j);
	}
	return -ptgc_expm1(e) - a * ptgc_exp(e) * rest;
}

/* P or Q for finite a > 0 and x >= 0, `weight` of a and x */
static inline double ptgc_incomplete_gamma_of(double a, double x, double weight, int upper)
{
	if (a >= 1000000)
		return ptgc_incomplete_gamma_large(a, x, weight, upper);
	if (x < a + 1) {
		const double p = weight * ptgc_incomplete_gamma_series(a, x);
		return upper ? 1 - p : p;
	}
	const double q = weight * a * ptgc_incomplete_gamma_fraction(a, x);
	return upper ? q : 1 - q;
}

static inline int ptgc_is_incomplete_gamma_small(double a, double x)
{
	return x <= 1.1 && a <= (x <= 0.5 ? -0.4 / ptgc_log(x) : x * 1.1);
}

static inline double ptgc_incomplete_gamma(double a, double x, int upper)
{
	if (!(a >= 0 && x >= 0) || (a == HUGE_VAL && x == HUGE_VAL) || (a == 0 && x == 0))
		return (double)NAN;
	if (x == HUGE_VAL || a == 0)
		return upper ? 0 : 1;
	if (a == HUGE_VAL)
		return upper ? 1 : 0;
	if (upper && ptgc_is_incomplete_gamma_small(a, x))
		return ptgc_incomplete_gamma_small(a, x);
	return ptgc_incomplete_gamma_of(a, x, ptgc_gamma_weight(a, x), upper);
}

static inline double ptgc_gammainc(double a, double x)
{
	return ptgc_incomplete_gamma(a, x, 0);
}

static inline double ptgc_gammaincc(double a, double x)
{
	return ptgc_incomplete_gamma(a, x, 1);
}

/* The quantile of the normal distribution with p below it and q above it, within 0.1 % */
static inline double ptgc_normal_quantile(double p, double q)
{
	const double t = sqrt(ptgc_log(p < q ? p : q) * -2);
	const double r =
		((0.0152397975 * t + 4.728222) * t + 20.40343) / ((t + 10.420769) * t + 8.438345);
	return p < q ? r - t : t - r;
}

/* A start: by Wilson and Hilferty's cube, or by the first term of P's series; for a < 1 and large
   p, log(1/q) is above x. */
static inline double ptgc_incomplete_gamma_start(double a, double p, double q)
{
	const int low = p <= 0.5, large = a >= 1;
	const double w = 1 / ((a > 1 ? a : 1) * 9);
	const double cube = 1 - w + ptgc_normal_quantile(p, q) * sqrt(w);
	const double l = ptgc_log(a);
	const double first = ptgc_log(p) + (large ? l * 0.5 + 0.9189385332046727 : 0);
	const double small = ptgc_exp(first / a + (large ? l - 1 : 0));
	const double middle = large ? a * cube * cube * cube : low ? 0 : -ptgc_log(q);
	if (low)
		return small > middle ? small : middle;
	return small > 0 ? middle : 0;
}

/* x of which P(a, x) is p and Q(a, x) is q = 1 - p. With g = a weight/P the first derivative of
   log(P) by log(x) is g, and the second one g (a - x - g); with g = -a weight/Q these are those of
   log(Q). */
static inline double ptgc_incomplete_gamma_inverse(double a, double p, double q)
{
	if (!(a >= 0 && p >= 0 && q >= 0))
		return (double)NAN;
	if (p == 0)
		return 0;
	if (q == 0)
		return HUGE_VAL;
	if (!(a > 0 && a < HUGE_VAL))
		return (double)NAN;
	const int low = p <= 0.5;
	const double sign = low ? 1 : -1;
	double x = ptgc_incomplete_gamma_start(a, p, q);
	if (!(x > 1e-320))
		return x;
	for (int n = 0; n < 100; n++) {
		const double weight = ptgc_gamma_weight(a, x);
		const double y = !low && ptgc_is_incomplete_gamma_small(a, x)
					 ? ptgc_incomplete_gamma_small(a, x)
					 : ptgc_incomplete_gamma_of(a, x, weight, !low);
		const double g = sign * a * weight / y;
		const double c = a - x - g;
		const double s = ptgc_log(y / (low ? p : q)) / g;
		const double bend = 1 - s * c * 0.5;
		const double step = -s / (bend > 0.5 ? bend : 0.5);
		/* far from x, where nothing is left of a probability, towards the median */
		const double most = step > 30 ? 30 : step < -30 ? -30 : step;
		x *= ptgc_exp(step == step ? most : sign * 0.5);
		if (fabs(step) * (fabs(c) + 1) < 1e-05)
			return x;
	}
	return (double)NAN;
}

static inline double ptgc_gammaincinv(double a, double p)
{
	return ptgc_incomplete_gamma_inverse(a, p, 1 - p);
}

static inline double ptgc_gammainccinv(double a, double q)
{
	return ptgc_incomplete_gamma_inverse(a, 1 - q, q);
}

static inline float ptgc_gammaincf(float a, float x)
{
	return (float)ptgc_gammainc((double)a, (double)x);
}

static inline float ptgc_gammainccf(float a, float x)
{
	return (float)ptgc_gammaincc((double)a, (double)x);
}

static inline float ptgc_gammaincinvf(float a, float p)
{
	return (float)ptgc_gammaincinv((double)a, (double)p);
}

static inline float ptgc_gammainccinvf(float a, float q)
{
	return (float)ptgc_gammainccinv((double)a, (double)q);
}

#endif
