/* exp and expm1, their float forms, and what others make of them.
   Method: x = k log(2) + r, |r| <= log(2)/2, k by adding 1.5 * 2^52, which rounds to an integer and
   leaves k in the low bits; exp(r) - 1 = r + r^2 P(r). The factor 2^k is two factors, so that
   results that overflow or are subnormal are rounded once. No branches.
   P: fit_c.py. Bounds, by tests/c/maths.c beside 113 bits: see the table in README.md. */
#ifndef PTGC_C_EXP_H
#define PTGC_C_EXP_H

#include "wide.h"

/* fit_c.py: exp */
PTGC_INLINE double ptgc_fit_exp(double x)
{
	const double x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
	const double a0 = 0.5000000000000001 + 0.16666666666666669 * x;
	const double a1 = 0.04166666666662413 + 0.008333333333330062 * x;
	const double a2 = 0.0013888888917213717 + 0.00019841269863053618 * x;
	const double a3 = 2.4801521295954376e-05 + 2.7557268459997064e-06 * x;
	const double a4 = 2.7620088445409746e-07 + 2.510038549551032e-08 * x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + a3 * x2;
	const double c0 = b0 + b1 * x4;
	return c0 + a4 * x8;
}

#define PTGC_ROUNDER 6755399441055744.0 /* 1.5 * 2^52 */

/* q and k of exp(x + low) = 2^k (1 + q); `low` is far below x; |x| < 2000. *bits has k in its low
   bits. */
PTGC_INLINE struct ptgc_wide ptgc_exp_parts(double x, double low, double *k, uint64_t *bits)
{
	const double t = x * 1.4426950408889634 + PTGC_ROUNDER;
	const double n = t - PTGC_ROUNDER;
	const double h = x - n * 0.6931471803691238; /* log(2), 33 bits; the product is exact */
	const double l = n * 1.9082149292705877e-10 - low;
	const double r = h - l;
	const double c = (h - r) - l;
	*k = n;
	*bits = ptgc_bits(t);
	return ptgc_fast_sum(r, c + r * r * ptgc_fit_exp(r));
}

/* y * 2^k for |k| < 2000, k in the low bits of `bits` */
PTGC_INLINE double ptgc_scale(double y, uint64_t bits)
{
	const uint64_t w = bits - UINT64_C(0x4338000000000000) + 4096;
	const uint64_t half = w >> 1;
	const double a = ptgc_from_bits((half - 2048 + 1023) << 52);
	const double b = ptgc_from_bits((w - half - 2048 + 1023) << 52);
	return y * a * b;
}

PTGC_INLINE double ptgc_exp_wide(double x, double low)
{
	double k;
	uint64_t bits;
	const struct ptgc_wide q = ptgc_exp_parts(x, low, &k, &bits);
	return ptgc_scale(1 + q.high, bits);
}

PTGC_INLINE double ptgc_exp(double x)
{
	const double a = x > 800 ? 800 : x;
	const double b = a < -800 ? -800 : a;
	return ptgc_exp_wide(b, 0);
}

/* exp(x) - 1 for |x| < 709.9, in two parts */
PTGC_INLINE struct ptgc_wide ptgc_expm1_wide(double x)
{
	double k;
	uint64_t bits;
	const struct ptgc_wide q = ptgc_exp_parts(x, 0, &k, &bits);
	/* half of 2^k, as 2^1024 is no number */
	const double s = ptgc_from_bits((bits - UINT64_C(0x4338000000000000) + 1022) << 52);
	struct ptgc_wide y = ptgc_two_sum(s - 0.5, q.high * s);
	y.high *= 2;
	y.low = (y.low + q.low * s) * 2;
	return y;
}

/* 2^x = 2^k exp((x - k) log(2)) */
PTGC_INLINE double ptgc_exp2(double x)
{
	const struct ptgc_wide log2 = {0.6931471805599453, 2.3190468138462996e-17};
	double k;
	uint64_t bits;
	const double a = x > 1100 ? 1100 : x;
	const double b = a < -1100 ? -1100 : a;
	const double t = b + PTGC_ROUNDER;
	const struct ptgc_wide p = ptgc_two_product(b - (t - PTGC_ROUNDER), log2.high);
	const double more = p.low + (b - (t - PTGC_ROUNDER)) * log2.low;
	const struct ptgc_wide q = ptgc_exp_parts(p.high, more, &k, &bits);
	/* the argument may be log(2)/2 and a bit, of which k is 1 */
	return ptgc_scale(1 + q.high, ptgc_bits(t) + bits - UINT64_C(0x4338000000000000));
}

PTGC_INLINE double ptgc_expm1(double x)
{
	const double a = x > 709.9 ? 709.9 : x;
	const struct ptgc_wide w = ptgc_expm1_wide(a < -40 ? -40 : a);
	const double y = w.high + w.low;
	const double z = fabs(x) < 1e-17 ? x : y;
	return x > 709.9 ? HUGE_VAL : z;
}

/* fit_c.py: exp_near */
PTGC_INLINE double ptgc_fit_exp_near(double x)
{
	const double x2 = x * x, x4 = x2 * x2;
	const double a0 = 0.500000001346581 + 0.16666666681623232 * x;
	const double a1 = 0.041666464925285904 + 0.0083333109254809 * x;
	const double a2 = 0.0013933649996309251 + 0.00019890990824673654 * x;
	const double b0 = a0 + a1 * x2;
	return b0 + a2 * x4;
}

/* q and s of exp(x) = s (1 + q), 1e-10 relative: for results that are rounded to float; |x| < 700
 */
PTGC_INLINE double ptgc_exp_near(double x, double *s)
{
	const double t = x * 1.4426950408889634 + PTGC_ROUNDER;
	const double r = x - (t - PTGC_ROUNDER) * 0.6931471805599453;
	*s = ptgc_from_bits((ptgc_bits(t) - UINT64_C(0x4338000000000000) + 1023) << 52);
	return r + r * r * ptgc_fit_exp_near(r);
}

PTGC_INLINE float ptgc_expf(float x)
{
	double s;
	const double a = x > 200 ? 200 : (double)x;
	const double q = ptgc_exp_near(a < -200 ? -200 : a, &s);
	return (float)(s + s * q);
}

PTGC_INLINE float ptgc_exp2f(float x)
{
	return (float)ptgc_exp2((double)x);
}

PTGC_INLINE float ptgc_expm1f(float x)
{
	double s;
	const double a = x > 200 ? 200 : (double)x;
	const double q = ptgc_exp_near(a < -200 ? -200 : a, &s);
	return x == 0 ? x : (float)((s - 1) + s * q);
}

#endif
