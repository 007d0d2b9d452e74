/* tanh, sinh, cosh, sigmoid, softplus, log1mexp and their float forms, by exp, expm1 and log.
   No branches. Bounds: see the table in README.md. */
#ifndef PTGC_C_TANH_H
#define PTGC_C_TANH_H

#include "exp.h"
#include "log.h"

/* e/(e + 2), e = exp(2 |x|) - 1, with the sign of x */
PTGC_INLINE double ptgc_tanh(double x)
{
	const double a = fabs(x);
	const struct ptgc_wide e = ptgc_expm1_wide(2 * (a > 20 ? 20 : a));
	struct ptgc_wide d = ptgc_two_sum(2, e.high);
	d.low += e.low;
	const double y = ptgc_wide_quotient(e, d).high;
	return ptgc_signed(a < 1e-17 ? a : y, x);
}

/* exp(x)/2, which overflows later than exp(x) */
PTGC_INLINE double ptgc_half_exp(double x)
{
	double k;
	uint64_t bits;
	const struct ptgc_wide q = ptgc_exp_parts(x > 800 ? 800 : x, 0, &k, &bits);
	return ptgc_scale(1 + q.high, bits - 1);
}

/* (e + e/(e + 1))/2, e = exp(|x|) - 1, with the sign of x; of large x exp(|x|)/2 */
PTGC_INLINE double ptgc_sinh(double x)
{
	const double a = fabs(x);
	const struct ptgc_wide e = ptgc_expm1_wide(a > 40 ? 40 : a);
	const double near = 0.5 * (e.high + (e.low + e.high / (e.high + 1)));
	const double far = ptgc_half_exp(a);
	const double y = a > 40 ? far : near;
	return ptgc_signed(a < 1e-17 ? a : y, x);
}

PTGC_INLINE double ptgc_cosh(double x)
{
	const double h = ptgc_half_exp(fabs(x));
	return h + 0.25 / h;
}

/* 1/(1 + e) or e/(1 + e), e = exp(-|x|) in two parts */
PTGC_INLINE double ptgc_sigmoid(double x)
{
	double k;
	uint64_t bits;
	const double a = fabs(x);
	const struct ptgc_wide q = ptgc_exp_parts(a > 800 ? -800 : -a, 0, &k, &bits);
	const struct ptgc_wide p = ptgc_fast_sum(1, q.high);
	const double e = ptgc_scale(p.high, bits), e_low = ptgc_scale(p.low + q.low, bits);
	const struct ptgc_wide d = ptgc_fast_sum(1, e);
	const double n = x < 0 ? e : 1, n_low = x < 0 ? e_low : 0;
	const double y = n / d.high;
	return y + (n_low - y * (d.low + e_low));
}

/* log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)) */
PTGC_INLINE double ptgc_softplus(double x)
{
	const double e = ptgc_exp(-fabs(x));
	const double m = x > 0 ? x : 0;
	return m + ptgc_log1p(e);
}

/* log(1 - exp(x)): the logarithm of -expm1(x) above -log(2), log(1 - exp(x)) as log1p below */
PTGC_INLINE double ptgc_log1mexp(double x)
{
	const double e = ptgc_exp(x);
	const double m = -ptgc_expm1(x);
	const struct ptgc_wide u = ptgc_two_sum(1, -e);
	const int near = x > -0.6931471805599453;
	const double v = near ? m : u.high;
	const double lost = near ? 0 : u.low / u.high;
	/* subnormal m is left to log() */
	const double l = ptgc_log(v) + lost;
	return e < 1e-8 ? -(e + 0.5 * e * e) : l;
}

PTGC_INLINE float ptgc_tanhf(float x)
{
	double s;
	const double a = fabs((double)x);
	const double q = ptgc_exp_near(2 * (a > 20 ? 20 : a), &s);
	const double e = (s - 1) + s * q;
	return (float)ptgc_signed(e / (e + 2), (double)x);
}

PTGC_INLINE float ptgc_sinhf(float x)
{
	return (float)ptgc_sinh((double)x);
}

PTGC_INLINE float ptgc_coshf(float x)
{
	return (float)ptgc_cosh((double)x);
}

PTGC_INLINE float ptgc_sigmoidf(float x)
{
	double s;
	const double a = fabs((double)x);
	const double q = ptgc_exp_near(a > 200 ? -200 : -a, &s);
	const double e = s + s * q;
	return (float)((x < 0 ? e : 1) / (1 + e));
}

PTGC_INLINE float ptgc_softplusf(float x)
{
	double s;
	const double a = fabs((double)x);
	const double q = ptgc_exp_near(a > 200 ? -200 : -a, &s);
	return (float)((x > 0 ? (double)x : 0) + ptgc_log1p(s + s * q));
}

PTGC_INLINE float ptgc_log1mexpf(float x)
{
	return (float)ptgc_log1mexp((double)x);
}

#endif
