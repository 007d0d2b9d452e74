/* log, log1p, log2, log10 and their float forms.
   Method: x = 2^k m, sqrt(1/2) <= m < sqrt(2), by the bits. With f = m - 1 and s = f/(2 + f),
   log(m) = 2 artanh(s) = f - (f^2/2 - s (f^2/2 + s^2 P(s^2))). Of log1p the part that rounding of
   1 + x lost is put back. log2 and log10 take log(m) in two parts, so that they are exact where the
   result is an integer. No branches.
   P: fit_c.py. Bounds: see the table in README.md. */
#ifndef PTGC_C_LOG_H
#define PTGC_C_LOG_H

#include "wide.h"

/* fit_c.py: log */
PTGC_INLINE double ptgc_fit_log(double x)
{
	const double x2 = x * x, x4 = x2 * x2;
	const double a0 = 0.666666666666667 + 0.3999999999989889 * x;
	const double a1 = 0.28571428626253836 + 0.22222211089379496 * x;
	const double a2 = 0.1818289243253687 + 0.15331611722055008 * x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + 0.14617807153417325 * x2;
	return b0 + b1 * x4;
}

/* fit_c.py: log_wide */
PTGC_INLINE double ptgc_fit_log_wide(double x)
{
	const double x2 = x * x, x4 = x2 * x2;
	const double a0 = 0.4 + 0.2857142857142937 * x;
	const double a1 = 0.22222222221652765 + 0.18181818336099848 * x;
	const double a2 = 0.1538459488700718 + 0.1333480879881234 * x;
	const double a3 = 0.11706126464563398 + 0.11724327060846747 * x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + a3 * x2;
	return b0 + b1 * x4;
}

/* m and k of a positive, finite, normal x */
PTGC_INLINE double ptgc_log_reduce(double x, double *k)
{
	const uint64_t root = UINT64_C(0x3fe6a09e667f3bcd); /* sqrt(1/2) */
	const uint64_t bits = ptgc_bits(x);
	const uint64_t e = (bits - root + ((uint64_t)1024 << 52)) >> 52;
	/* the double with the bits 2^52 + e */
	*k = ptgc_from_bits(UINT64_C(0x4330000000000000) | e) - 4503599627371520.0;
	return ptgc_from_bits(bits - ((e - 1024) << 52));
}

/* log(1 + f) + n log(2), and `more` that is far below */
PTGC_INLINE double ptgc_log_sum(double f, double n, double more)
{
	const double s = f / (2 + f);
	const double z = s * s;
	const double h = 0.5 * f * f;
	const double r = s * (h + z * ptgc_fit_log(z)) + (n * 1.9082149292705877e-10 + more);
	return n * 0.6931471803691238 - ((h - r) - f);
}

/* y, or the limits where x is 0, negative, infinite or NaN */
PTGC_INLINE double ptgc_log_ends(double x, double y)
{
	const double a = x < HUGE_VAL ? y : x;
	const double b = x == 0 ? -HUGE_VAL : a;
	return x < 0 ? (double)NAN : b;
}

PTGC_INLINE double ptgc_log(double x)
{
	double k;
	const int tiny = x < 2.2250738585072014e-308;
	const double scaled = x * 18014398509481984.0;
	const double m = ptgc_log_reduce(tiny ? scaled : x, &k);
	const double less = k - 54;
	return ptgc_log_ends(x, ptgc_log_sum(m - 1, tiny ? less : k, 0));
}

PTGC_INLINE double ptgc_log1p(double x)
{
	double k;
	const struct ptgc_wide u = ptgc_two_sum(1, x);
	const double m = ptgc_log_reduce(u.high, &k);
	const double y = ptgc_log_sum(m - 1, k, u.low / u.high);
	const double a = ptgc_log_ends(u.high, y);
	return fabs(x) < 1e-17 ? x : a;
}

/* log(x) = k log(2) + the result, 1e-19 relative to the larger of the two, for finite x > 0 */
PTGC_INLINE struct ptgc_wide ptgc_log_parts(double x, double *k)
{
	const int tiny = x < 2.2250738585072014e-308;
	const double scaled = x * 18014398509481984.0;
	double e;
	const double m = ptgc_log_reduce(tiny ? scaled : x, &e);
	const double less = e - 54;
	const double f = m - 1, g = 2 + f;
	const double g_low = f - (g - 2);
	/* s in two parts */
	const double q = f / g;
	const struct ptgc_wide p = ptgc_two_product(q, g);
	const double q_low = (((f - p.high) - p.low) - q * g_low) / g;
	const struct ptgc_wide s = ptgc_fast_sum(q, q_low);
	const struct ptgc_wide z = ptgc_two_product(s.high, s.high);
	const double z_low = z.low + 2 * s.high * s.low;
	/* 2 s^3/3 + s^5 P(s^2) */
	const struct ptgc_wide third = {0.6666666666666666, 3.700743415417188e-17};
	const struct ptgc_wide square = {z.high, z_low};
	struct ptgc_wide c = ptgc_wide_product(square, third);
	c = ptgc_fast_sum(c.high, c.low + z.high * z.high * ptgc_fit_log_wide(z.high));
	const struct ptgc_wide rest = ptgc_wide_product(s, c);
	const struct ptgc_wide twice = {2 * s.high, 2 * s.low};
	*k = tiny ? less : e;
	return ptgc_wide_sum(twice, rest);
}

PTGC_INLINE double ptgc_log2(double x)
{
	const struct ptgc_wide scale = {1.4426950408889634, 2.0355273740931033e-17};
	double k;
	const struct ptgc_wide l = ptgc_wide_product(ptgc_log_parts(x, &k), scale);
	const struct ptgc_wide y = ptgc_two_sum(k, l.high);
	return ptgc_log_ends(x, y.high + (y.low + l.low));
}

PTGC_INLINE double ptgc_log10(double x)
{
	const struct ptgc_wide scale = {0.4342944819032518, 1.098319650216765e-17};
	const struct ptgc_wide log2 = {0.3010299956639812, -2.8037281277851704e-18};
	double k;
	const struct ptgc_wide l = ptgc_wide_product(ptgc_log_parts(x, &k), scale);
	const struct ptgc_wide whole = {k, 0};
	const struct ptgc_wide y = ptgc_wide_sum(ptgc_wide_product(whole, log2), l);
	return ptgc_log_ends(x, y.high + y.low);
}

PTGC_INLINE float ptgc_logf(float x)
{
	return (float)ptgc_log((double)x);
}

PTGC_INLINE float ptgc_log1pf(float x)
{
	return (float)ptgc_log1p((double)x);
}

PTGC_INLINE float ptgc_log2f(float x)
{
	return (float)ptgc_log2((double)x);
}

PTGC_INLINE float ptgc_log10f(float x)
{
	return (float)ptgc_log10((double)x);
}

#endif
