/* lgamma, gamma, digamma (psi), trigamma and their float forms. No branches.
   Method: at 1 + v, v >= 0, by rational functions up to v = 3 and Stirling's series beyond (5.11.1,
   5.11.2, 5.11.3 of https://dlmf.nist.gov); from 0 to 1 by the recurrence (5.5.1, 5.5.2), below 0
   by reflection (5.5.3, 5.5.4, 5.15.6). Where a rational function is near a number, it is what is
   to be added to that. Bounds: see the table in README.md. */
#ifndef PTGC_C_GAMMA_H
#define PTGC_C_GAMMA_H

#include "basic.h"
#include "exp.h"
#include "log.h"
#include "trig.h"

/* fit_c.py: lgamma_less_p */
PTGC_INLINE double ptgc_fit_lgamma_less_p(double x)
{
	const double x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
	const double a0 = 7563.246867477469 + 13036.528073521367 * x;
	const double a1 = -1134.9048041194683 - 15109.136322812597 * x;
	const double a2 = -11639.570513536664 - 3681.7873756881877 * x;
	const double a3 = -518.1673918557453 - 28.81486628896013 * x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + a3 * x2;
	const double c0 = b0 + b1 * x4;
	return c0 - 0.4317242394201544 * x8;
}

/* fit_c.py: lgamma_less_q */
PTGC_INLINE double ptgc_fit_lgamma_less_q(double x)
{
	const double x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
	const double a0 = 54133.13441129027 + 188330.7314813372 * x;
	const double a1 = 262242.0388309878 + 187282.34146988177 * x;
	const double a2 = 73168.08176707808 + 15481.374343967753 * x;
	const double a3 = 1651.868405148803 + 75.57683305020642 * x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + a3 * x2;
	const double c0 = b0 + b1 * x4;
	return c0 + x8;
}

/* fit_c.py: stirling_p */
PTGC_INLINE double ptgc_fit_stirling_p(double x)
{
	const double x2 = x * x, x4 = x2 * x2;
	const double a0 = 0.10123981587471538 + 0.8666896475285424 * x;
	const double a1 = 1.825206016932552 + 0.94869498095926 * x;
	const double b0 = a0 + a1 * x2;
	return b0 + 0.06236080620839644 * x4;
}

/* fit_c.py: stirling_q */
PTGC_INLINE double ptgc_fit_stirling_q(double x)
{
	const double x2 = x * x, x4 = x2 * x2;
	const double a0 = 1.214877790496585 + 10.44077169669172 * x;
	const double a1 = 22.238927661951994 + 12.034879112689614 * x;
	const double b0 = a0 + a1 * x2;
	return b0 + x4;
}

/* fit_c.py: gamma_rest_p */
PTGC_INLINE double ptgc_fit_gamma_rest_p(double x)
{
	const double x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
	const double a0 = 0.5887025305601122 + 3.110733872295375 * x;
	const double a1 = 9.093067135485216 + 15.157237923694206 * x;
	const double a2 = 15.527597345822738 + 8.935281878148588 * x;
	const double a3 = 2.460667927686065 + 0.11577975415539138 * x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + a3 * x2;
	const double c0 = b0 + b1 * x4;
	return c0 - 0.0012699000155974732 * x8;
}

/* fit_c.py: gamma_rest_q */
PTGC_INLINE double ptgc_fit_gamma_rest_q(double x)
{
	const double x2 = x * x, x4 = x2 * x2;
	const double a0 = 2.818299960236943 + 14.774610011816298 * x;
	const double a1 = 43.00637992671383 + 71.25357165951198 * x;
	const double a2 = 72.76442075896215 + 42.01380178939722 * x;
	const double a3 = 12.169885323368133 + x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + a3 * x2;
	return b0 + b1 * x4;
}

/* fit_c.py: psi_less_p */
PTGC_INLINE double ptgc_fit_psi_less_p(double x)
{
	const double x2 = x * x, x4 = x2 * x2;
	const double a0 = 79501.32423323282 + 45180.34766513445 * x;
	const double a1 = -40564.684681986124 - 38148.79941365103 * x;
	const double a2 = -10798.153414383374 - 1272.1036965140363 * x;
	const double a3 = -58.69870813007076 - 0.7447958378767457 * x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + a3 * x2;
	return b0 + b1 * x4;
}

/* fit_c.py: psi_less_q */
PTGC_INLINE double ptgc_fit_psi_less_q(double x)
{
	const double x2 = x * x, x4 = x2 * x2;
	const double a0 = 158881.85456340533 + 361676.2543444165 * x;
	const double a1 = 297781.71199084166 + 115394.06865125202 * x;
	const double a2 = 22447.373251928533 + 2125.0259674985105 * x;
	const double a3 = 85.40938181930719 + x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + a3 * x2;
	return b0 + b1 * x4;
}

/* fit_c.py: psi_tail_p */
PTGC_INLINE double ptgc_fit_psi_tail_p(double x)
{
	const double x2 = x * x, x4 = x2 * x2;
	const double a0 = 0.03578735487643863 + 0.3564567841915011 * x;
	const double a1 = 0.8980902025083688 + 0.5785469307781196 * x;
	const double b0 = a0 + a1 * x2;
	return b0 + 0.04734081718077127 * x4;
}

/* fit_c.py: psi_tail_q */
PTGC_INLINE double ptgc_fit_psi_tail_q(double x)
{
	const double x2 = x * x, x4 = x2 * x2;
	const double a0 = 0.4294482585172649 + 4.320426236147051 * x;
	const double a1 = 11.188675137507161 + 7.877168406287719 * x;
	const double b0 = a0 + a1 * x2;
	return b0 + x4;
}

/* fit_c.py: trigamma_rest_p */
PTGC_INLINE double ptgc_fit_trigamma_rest_p(double x)
{
	const double x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
	const double a0 = 0.01267801744466122 + 0.14117349192746717 * x;
	const double a1 = 0.7605248960736974 + 2.489169562170554 * x;
	const double a2 = 5.325893246463624 + 7.56718735004896 * x;
	const double a3 = 6.971012629219429 + 3.8457334570818307 * x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + a3 * x2;
	const double c0 = b0 + b1 * x4;
	return c0 + 0.9999999041810984 * x8;
}

/* fit_c.py: trigamma_rest_q */
PTGC_INLINE double ptgc_fit_trigamma_rest_q(double x)
{
	const double x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
	const double a0 = 0.02535603488932244 + 0.2738949722251607 * x;
	const double a1 = 1.429751468072223 + 4.5034457039873255 * x;
	const double a2 = 9.168897589212744 + 12.172184853727295 * x;
	const double a3 = 10.171817094022733 + 4.845732364344194 * x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + a3 * x2;
	const double c0 = b0 + b1 * x4;
	return c0 + x8;
}

/* fit_c.py: cosecant */
PTGC_INLINE double ptgc_fit_cosecant(double x)
{
	const double x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
	const double a0 = 3.289868133696453 - 0.08579686512593614 * x;
	const double a1 = 0.47541994898877876 + 0.20416115029346335 * x;
	const double a2 = 0.07716697417841821 + 0.026692548183819886 * x;
	const double a3 = 0.008663745229862095 + 0.0027054151376881166 * x;
	const double a4 = 0.0007462228028887105 + 0.0003392468094868659 * x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + a3 * x2;
	const double c0 = b0 + b1 * x4;
	return c0 + a4 * x8;
}

/* |sin(pi x)|, 0 at integers */
PTGC_INLINE double ptgc_sinpi_size(double x)
{
	return fabs(ptgc_turn_sin(ptgc_turn_pi(x - ptgc_round(x)), 0));
}

/* log(gamma(1 + v)) for v >= 0 */
PTGC_INLINE double ptgc_lgamma1p(double v)
{
	const double r = ptgc_fit_lgamma_less_p(v) / ptgc_fit_lgamma_less_q(v);
	const double near = v * ((v - 1) * (0.4375 + r));
	const double w = 1 / v, s = w * w;
	const double b = w * (ptgc_fit_stirling_p(s) / ptgc_fit_stirling_q(s));
	/* (1 + log(2 pi))/2 */
	const double far = (v + 0.5) * (ptgc_log(v) - 1) + (b + 1.4189385332046727);
	const double y = v < 3 ? near : far;
	return v > 1e306 ? v * (ptgc_log(v) - 1) : y;
}

PTGC_INLINE double ptgc_lgamma(double x)
{
	const double z = x < -1e30 ? -1e30 : x;
	const double a = fabs(z);
	const double g = ptgc_lgamma1p(z >= 1 ? z - 1 : a);
	const double s = ptgc_sinpi_size(z) * 0.3183098861837907;
	const double least = z < 1 ? z : 1;
	const double l = ptgc_log(z < 0 ? s : least);
	const double y = (z < 0 ? -g : g) - l + 0.0; /* 0 at 1, not -0 */
	return x == -HUGE_VAL ? x : y;
}

/* gamma(t) exp(t) t^(1/2 - t) at t = 1/w, t >= 1 */
PTGC_INLINE double ptgc_gamma_factor(double w)
{
	const double rest = w * (ptgc_fit_gamma_rest_p(w) / ptgc_fit_gamma_rest_q(w));
	return 2.5066282746310007 + (rest - 1.8328579980459167e-16);
}

/* gamma(t) = sqrt(t)^(2 t - 1) exp(-t) F(1/t) for t >= 1: t is |x|, or |x| + 1 below 1. Of
   integers the result is rounded to an integer. */
PTGC_INLINE double ptgc_gamma(double x)
{
	const struct ptgc_wide log2 = {0.6931471805599453, 2.3190468138462996e-17};
	const double a = fabs(x);
	const int high = a >= 1;
	const struct ptgc_wide sum = ptgc_two_sum(a, 1);
	const double t_low = high ? 0 : sum.low, v = high ? a : sum.high;
	const double t = v > 200 ? 200 : v;
	const double w = 1 / t;
	const double p = ptgc_gamma_factor(w);
	/* (t - 1/2) log(t) - t */
	double n;
	const struct ptgc_wide l = ptgc_log_parts(t, &n);
	const struct ptgc_wide whole = {n, 0}, power = ptgc_two_sum(t, -0.5), less = {-t, 0};
	const struct ptgc_wide log_t = ptgc_wide_sum(ptgc_wide_product(whole, log2), l);
	const struct ptgc_wide e = ptgc_wide_sum(ptgc_wide_product(power, log_t), less);
	const double more = e.low + t_low * (log_t.high - 0.5 * w);
	const int positive = x > 0;
	const double y = ptgc_exp_wide(positive ? e.high : -e.high, positive ? more : -more);
	const double k = ptgc_round(a);
	const double r = a - k;
	const double g = y * p / (high ? 1 : a);
	const double above = ((r == 0) & (g < 4e15)) ? ptgc_round(g) : g;
	/* x = -(k + r), sin(pi x) = -(-1)^k sin(pi r) */
	const double s = ptgc_turn_sin(ptgc_turn_pi(r), 0) * (high ? a : 1) * p;
	const double odd = k - 2 * ptgc_floor(0.5 * k);
	const double below = 3.141592653589793 / s * y * (odd > 0 ? 1 : -1);
	const double poles = r == 0 ? (double)NAN : below;
	const double b = x > 0 ? above : poles;
	const double c = x > 200 ? HUGE_VAL : b;
	const double d = x == 0 ? 1 / x : c;
	return x != x ? x : d;
}

/* psi(1 + v) for v >= 0; the root is in two parts */
PTGC_INLINE double ptgc_psi1p(double v)
{
	const double r = 0.75 + ptgc_fit_psi_less_p(v) / ptgc_fit_psi_less_q(v);
	const double near = ((v - 0.46163214496836236) + 1.5522348162858677e-17) * r;
	const double w = 1 / v, s = w * w;
	const double d = ptgc_fit_psi_tail_p(s) / ptgc_fit_psi_tail_q(s);
	const double far = ptgc_log(v) + (w * 0.5 - s * d);
	return v < 3 ? near : far;
}

PTGC_INLINE double ptgc_psi(double x)
{
	const double g = ptgc_psi1p(x >= 1 ? x - 1 : fabs(x));
	const double r = x - ptgc_round(x);
	/* pi/tan(pi r), 0 at halves and NaN at the poles */
	const struct ptgc_turn turn = ptgc_turn_pi(r);
	const double cot = 3.141592653589793 * ptgc_turn_sin(turn, 1) / ptgc_turn_sin(turn, 0);
	const double pole = r == 0 ? (double)NAN : cot;
	const double reciprocal = 1 / x;
	const double less = x >= 1 ? 0 : reciprocal;
	return g - (x < 0 ? pole : less);
}

/* psi'(x) at t = x, or 1 + |x| below 1 */
PTGC_INLINE double ptgc_trigamma(double x)
{
	const double z = x < -1e300 ? -1e300 : x;
	const int low = z < 1, negative = z < 0;
	const double t = low ? fabs(z) + 1 : z;
	const double w = 1 / t;
	const double tail = ptgc_fit_trigamma_rest_p(w) / ptgc_fit_trigamma_rest_q(w);
	const double g = w + w * w * tail;
	/* (pi/sin(pi x))^2 = 1/s + C(s)/(1 - s)^2, s the square of x less the nearest integer */
	const double r = z - ptgc_round(z);
	const double s = r * r, d = 1 - s;
	const double c = ptgc_fit_cosecant(s) / (d * d);
	const double b = 1 / (negative ? r : z);
	const double more = negative ? c - g : g;
	const double below = b * b + more;
	return low ? below : g;
}

PTGC_INLINE float ptgc_lgammaf(float x)
{
	return (float)ptgc_lgamma((double)x);
}

PTGC_INLINE float ptgc_gammaf(float x)
{
	return (float)ptgc_gamma((double)x);
}

PTGC_INLINE float ptgc_psif(float x)
{
	return (float)ptgc_psi((double)x);
}

PTGC_INLINE float ptgc_trigammaf(float x)
{
	return (float)ptgc_trigamma((double)x);
}

#endif
