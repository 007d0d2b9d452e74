/* erf, erfc, erfcx and their float forms. No branches.
   Method: erf(x) = x + x P(x^2) up to 1. Beyond, erfc(x) = exp(-x^2) erfcx(x), x^2 in two parts,
   and erfcx(x) = (9/8 + T(t))/(1 + 2 x), t = (x - 3)/(x + 3). P, T: fit_c.py. Bounds: see the table
   in README.md. */
#ifndef PTGC_C_ERF_H
#define PTGC_C_ERF_H

#include "exp.h"

/* fit_c.py: erf_small */
PTGC_INLINE double ptgc_fit_erf_small(double x)
{
	const double x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
	const double a0 = 0.1283791670955126 - 0.3761263890318375 * x;
	const double a1 = 0.11283791670954879 - 0.026866170645076792 * x;
	const double a2 = 0.0052239776248180145 - 0.000854832698083379 * x;
	const double a3 = 0.0001205533111164271 - 1.4925595266831182e-05 * x;
	const double a4 = 1.6461000484121368e-06 - 1.6350312701054695e-07 * x;
	const double a5 = 1.4659775274047436e-08 - 1.1372848856791674e-09 * x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + a3 * x2;
	const double b2 = a4 + a5 * x2;
	const double c0 = b0 + b1 * x4;
	const double c1 = b2 + 5.957176147748911e-11 * x4;
	return c0 + c1 * x8;
}

/* fit_c.py: erfcx_bent */
PTGC_INLINE double ptgc_fit_erfcx_bent(double x)
{
	const double x2 = x * x, x4 = x2 * x2, x8 = x4 * x4, x16 = x8 * x8;
	const double a0 = 0.12800805826972966 - 0.13562110612458117 * x;
	const double a1 = -0.04756229435345087 + 0.1296451587027606 * x;
	const double a2 = -0.11927366341530699 + 0.06830802734397848 * x;
	const double a3 = -0.023770514918645888 + 0.002529391816066239 * x;
	const double a4 = 0.0018886903591561553 - 0.0007798322721083991 * x;
	const double a5 = -0.00010515979981501177 + 0.00012509935235563107 * x;
	const double a6 = 4.949484992570595e-06 - 2.0100567931289227e-05 * x;
	const double a7 = -7.315105164159062e-07 + 3.472414602875686e-06 * x;
	const double a8 = 3.5683839153992204e-07 - 6.166496077604353e-07 * x;
	const double a9 = -1.4160064940265987e-07 + 1.0187000600072885e-07 * x;
	const double a10 = 4.180784698845582e-08 - 1.3326364813003834e-08 * x;
	const double a11 = -8.500397929772615e-09 + 9.885798831139365e-10 * x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + a3 * x2;
	const double b2 = a4 + a5 * x2;
	const double b3 = a6 + a7 * x2;
	const double b4 = a8 + a9 * x2;
	const double b5 = a10 + a11 * x2;
	const double c0 = b0 + b1 * x4;
	const double c1 = b2 + b3 * x4;
	const double c2 = b4 + b5 * x4;
	const double d0 = c0 + c1 * x8;
	const double d1 = c2 + 8.864219016427092e-10 * x8;
	return d0 + d1 * x16;
}

/* exp(-a^2) erfcx(a), or with `scaled` erfcx(a), for a >= 0 */
PTGC_INLINE double ptgc_erfc_far(double a, int scaled)
{
	const double b = a > 30 ? 30 : a;
	const double c = scaled ? a : b;
	const double t = c > 1e17 ? 1 : (c - 3) / (c + 3);
	const double r = ptgc_fit_erfcx_bent(t);
	const struct ptgc_wide n = ptgc_fast_sum(1.125, r);
	const struct ptgc_wide d = ptgc_two_sum(2 * c, 1);
	const struct ptgc_wide square = ptgc_two_product(b, b);
	double k;
	uint64_t bits;
	const struct ptgc_wide q = ptgc_exp_parts(-square.high, -square.low, &k, &bits);
	/* n (1 + q) */
	const struct ptgc_wide e = ptgc_fast_sum(n.high, n.high * q.high);
	const double e_low = e.low + (n.low + n.low * q.high + n.high * q.low);
	const double high = scaled ? n.high : e.high, low = scaled ? n.low : e_low;
	const double y = high / d.high;
	const double z = y + (low - y * d.low) / d.high;
	return scaled ? z : ptgc_scale(z, bits);
}

PTGC_INLINE double ptgc_erf(double x)
{
	const double a = fabs(x);
	const double b = a > 1 ? 1 : a;
	const double near = b + b * ptgc_fit_erf_small(b * b);
	const double far = 1 - ptgc_erfc_far(a > 6 ? 6 : a, 0);
	return ptgc_signed(a > 1 ? far : near, x);
}

PTGC_INLINE double ptgc_erfc(double x)
{
	const double a = fabs(x);
	const double b = a > 1 ? 1 : a;
	const double r = b * ptgc_fit_erf_small(b * b);
	const struct ptgc_wide u = ptgc_two_sum(1, -(x < 0 ? -b : b));
	const double near = u.high + (u.low - (x < 0 ? -r : r));
	const double e = ptgc_erfc_far(a, 0);
	const double far = x < 0 ? 2 - e : e;
	return a < 0.5 ? near : far;
}

/* exp(x^2) erfc(x); of negative x 2 exp(x^2) - erfcx(-x) */
PTGC_INLINE double ptgc_erfcx(double x)
{
	const double a = fabs(x), b = a > 27 ? 27 : a;
	const struct ptgc_wide square = ptgc_two_product(b, b);
	const double far = 0.5641895835477563 / a; /* where a squared is beyond all numbers, too */
	const double r = a > 1e100 ? far : ptgc_erfc_far(a, 1);
	const double e = 2 * ptgc_exp_wide(square.high, square.low) - r;
	const double y = x < 0 ? e : r;
	return a == HUGE_VAL ? (x < 0 ? a : 0) : y;
}

PTGC_INLINE float ptgc_erff(float x)
{
	return (float)ptgc_erf((double)x);
}

PTGC_INLINE float ptgc_erfcf(float x)
{
	return (float)ptgc_erfc((double)x);
}

PTGC_INLINE float ptgc_erfcxf(float x)
{
	return (float)ptgc_erfcx((double)x);
}

#endif
