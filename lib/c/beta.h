/* betainc(a, b, x), the regularised incomplete beta function, betaincinv(a, b, p), its inverse in
   x, and their float forms. Method: a continued fraction (8.17.22 of https://dlmf.nist.gov, its
   even part) on the side of the mean on which x is, under x^a (1 - x)^b gamma(a + b)/(gamma(a)
   gamma(b)). Each element ends by itself. The inverse is by Halley's method for the logarithm as a
   function of log(x/(1 - x)), which is concave. As lib/special/incomplete_beta.ptg. Bounds: see the
   table in README.md. */
#ifndef PTGC_C_BETA_H
#define PTGC_C_BETA_H

#include "incomplete.h"

/* x^a y^b gamma(a + b)/(gamma(a) gamma(b)), y = 1 - x, by Stirling's formula for a + 1, b + 1 and a
   + b + 1. What is to the powers a and b is (1 + r)^a (1 + s)^b, r and s small near the peak. */
static inline double ptgc_beta_weight(double a, double b, double x, double y)
{
	const double c = a + b, c1 = c + 1;
	const double u = 1 / (a + 1), v = 1 / (b + 1);
	const double f = ptgc_gamma_factor(u), g = ptgc_gamma_factor(v);
	const double h = ptgc_gamma_factor(1 / c1);
	const double p = x * b, q = y * a;
	const double r = (p - q - y) * u, s = (q - p - x) * v;
	const double k = c1 * u, n = c1 * v;
	const double l = fabs(r) < 0.4 ? ptgc_log1pmx_near(r) : ptgc_log(x * k) - r;
	const double m = fabs(s) < 0.4 ? ptgc_log1pmx_near(s) : ptgc_log(y * n) - s;
	const double e = ptgc_exp(a * l + b * m + (1 - p * u - q * v));
	return e * (h / (f * g)) * (sqrt(k * v) * (a / c * b));
}

/* weight/I(a, b, x) for x <= (a + 1)/(a + b + 2), by Lentz's method: h is the product of the steps,
   c and d are quotients of successive numerators and denominators */
static inline double ptgc_beta_fraction(double a, double b, double x, double y)
{
	const double l = a * y - b * x + 1, c0 = a + b - 1;
	double c = a * l / (a + 1), d = 0, h = c;
	for (double j = 1; j <= 300000; j += 1) {
		const double n = j - 1, m = a + (n + j); /* a + 2 j - 1 */
		const double u = j * x * (b - j) / m;
		const double p = u * x * ((a + n) * (c0 + j) / m);
		const double q = u + j + (a + j) * (l + (2 - x) * j) / (m + 2);
		d = 1 / (p * d + q);
		c = q + p / c;
		const double step = c * d;
		h *= step;
		if (!(fabs(step - 1) > 2.3e-16))
			return h;
	}
	return (double)NAN;
}

/* I(a, b, x), y = 1 - x */
static inline double ptgc_incomplete_beta(double a, double b, double x, double y)
{
	const int zero = a == 0 || b == HUGE_VAL, one = b == 0 || a == HUGE_VAL;
	if (!(a >= 0 && b >= 0 && x >= 0 && y >= 0) || (zero && one))
		return (double)NAN;
	if (zero || one || x == 0 || y == 0) /* all is at 0, or at 1 */
		return x == 0 || (one && y > 0) ? 0 : 1;
	if (x * (a + b + 2) > a + 1)
		return 1 - ptgc_beta_weight(b, a, y, x) / ptgc_beta_fraction(b, a, y, x);
	return ptgc_beta_weight(a, b, x, y) / ptgc_beta_fraction(a, b, x, y);
}

static inline double ptgc_betainc(double a, double b, double x)
{
	return ptgc_incomplete_beta(a, b, x, 1 - x);
}

/* log(x/y) of a start: for a, b > 1 by Cornish and Fisher's expansion (26.5.22 in Abramowitz and
   Stegun); else the integral on either side of a/(a + b) is taken as if one factor were constant */
static inline double ptgc_betaincinv_start(double h, double k, double t)
{
	const double f = ptgc_log(h / (h + k)), g = ptgc_log(k / (h + k));
	if (h <= 1 || k <= 1) {
		const double left = ptgc_exp(h * f) / h, right = ptgc_exp(k * g) / k;
		const double part = left / (left + right);
		const double below = f + ptgc_log(t / part) / h; /* log(x) up to a/(a + b) */
		const double above = g + ptgc_log((1 - t) / (1 - part)) / k; /* log(y) beyond */
		return t < part ? below - ptgc_log(1 - ptgc_exp(below))
				: ptgc_log(1 - ptgc_exp(above)) - above;
	}
	const double u = 1 / (h * 2 - 1), v = 1 / (k * 2 - 1);
	const double z = ptgc_normal_quantile(t, 1 - t);
	const double l = z * z / 6 - 0.5, m = (u + v) * 0.5;
	/* log(x/y)/2 + log(b/a)/2 */
	const double w =
		z * sqrt((1 / m + l) * (m * m)) + (v - u) * (l + 0.8333333333333334 - m / 1.5);
	return f - g + w + w;
}

static inline double ptgc_betaincinv(double a, double b, double p)
{
	const int high = p > 0.5;
	const double h = high ? b : a, k = high ? a : b, t = high ? 1 - p : p;
	if (a > 0 && b > 0 && (p == 0 || p == 1))
		return p;
	if (!(a > 0 && b > 0 && a < HUGE_VAL && b < HUGE_VAL && p > 0 && p < 1))
		return (double)NAN;
	const double logit = ptgc_betaincinv_start(h, k, t);
	const double e = ptgc_exp(-fabs(logit)), d = 1 / (e + 1);
	double x = logit > 0 ? d : e * d, y = logit > 0 ? e * d : d;
	if (!(fabs(logit) < 740))
		return high ? y : x;
	for (int n = 0; n < 100; n++) {
		const double i = ptgc_incomplete_beta(h, k, x, y);
		const double r = ptgc_beta_weight(h, k, x, y) / i;
		const double q = h * y - k * x - r;
		const double s = ptgc_log(i / t) / r;
		const double bend = 1 - s * q * 0.5;
		const double step = -s / (bend > 0.5 ? bend : 0.5);
		/* far from x, where nothing is left of I */
		const double most = step > 30 ? 30 : step < -30 ? -30 : step;
		const double big = ptgc_exp(step == step ? most : 0.5);
		const double sum = 1 / (y + x * big);
		x *= big * sum;
		y *= sum;
		if (fabs(step) * (fabs(q) + 1) < 1e-05)
			return high ? y : x;
	}
	return (double)NAN;
}

static inline float ptgc_betaincf(float a, float b, float x)
{
	return (float)ptgc_betainc((double)a, (double)b, (double)x);
}

static inline float ptgc_betaincinvf(float a, float b, float p)
{
	return (float)ptgc_betaincinv((double)a, (double)b, (double)p);
}

#endif
