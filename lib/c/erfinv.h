/* erfinv, erfcinv, ndtri_exp and their float forms. No branches, but in ndtri_exp, most of whose
   formulas few numbers need.
   Method: x P(9/16 - x^2)/Q(9/16 - x^2) up to 3/4; in the tails of r = sqrt(-log(q)), where q is
   the erfc that is asked for: r - P(1/r)/Q(1/r). ndtri_exp(x), the normal quantile of exp(x),
   beyond that by the asymptotic series of erfc (7.12.1 of https://dlmf.nist.gov). The fits are
   those of lib/special/erf.ptg. Bounds: see the table in README.md. */
#ifndef PTGC_C_ERFINV_H
#define PTGC_C_ERFINV_H

#include "exp.h"
#include "log.h"

/* fit_c.py: erfinv_p */
PTGC_INLINE double ptgc_fit_erfinv_p(double x)
{
	const double x2 = x * x, x4 = x2 * x2;
	const double a0 = 305.7384521461493 + 1888.7330369170982 * x;
	const double a1 = 4355.563446381099 + 4641.257883379017 * x;
	const double a2 = 2289.3831317666863 + 454.5163553679503 * x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + 23.86458953349147 * x2;
	return b0 + b1 * x4;
}

/* fit_c.py: erfinv_q */
PTGC_INLINE double ptgc_fit_erfinv_q(double x)
{
	const double x2 = x * x, x4 = x2 * x2;
	const double a0 = 281.900963920226 + 1887.7099050431214 * x;
	const double a1 = 4820.621088305789 + 5875.101122573025 * x;
	const double a2 = 3495.0923940013267 + 924.8089657175119 * x;
	const double a3 = 83.16421426023727 + x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + a3 * x2;
	return b0 + b1 * x4;
}

/* fit_c.py: erfcinv_near_p */
PTGC_INLINE double ptgc_fit_erfcinv_near_p(double x)
{
	const double x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
	const double a0 = 1.7552628175261358e-06 + 0.0017263799308540274 * x;
	const double a1 = 0.07215505472033984 + 0.7004051750635727 * x;
	const double a2 = 2.1410376293376125 + 2.5769155902383707 * x;
	const double a3 = 1.7312486755113607 + 0.9900629243978121 * x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + a3 * x2;
	const double c0 = b0 + b1 * x4;
	return c0 + 0.0008877534831094664 * x8;
}

/* fit_c.py: erfcinv_near_q */
PTGC_INLINE double ptgc_fit_erfcinv_near_q(double x)
{
	const double x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
	const double a0 = 0.0006039731088730524 + 0.03734194072402819 * x;
	const double a1 = 0.5296582899436962 + 2.525896177568535 * x;
	const double a2 = 5.121573881477771 + 5.820752335624264 * x;
	const double a3 = 5.0095538504701125 + 2.566251334191731 * x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + a3 * x2;
	const double c0 = b0 + b1 * x4;
	return c0 + x8;
}

/* fit_c.py: erfcinv_far_p */
PTGC_INLINE double ptgc_fit_erfcinv_far_p(double x)
{
	const double x2 = x * x, x4 = x2 * x2;
	const double a0 = 3.0713197608804216e-10 + 1.6153995851255048e-06 * x;
	const double a1 = 0.00032258706527557904 + 0.015463475969124377 * x;
	const double a2 = 0.2311838484461135 + 1.0615257607738946 * x;
	const double a3 = 1.0302414433375666 - 0.04371213481920578 * x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + a3 * x2;
	return b0 + b1 * x4;
}

/* fit_c.py: erfcinv_far_q */
PTGC_INLINE double ptgc_fit_erfcinv_far_q(double x)
{
	const double x2 = x * x, x4 = x2 * x2;
	const double a0 = 4.5027545050655063e-07 + 0.0001208057294925328 * x;
	const double a1 = 0.0075179637750620535 + 0.15147657951311286 * x;
	const double a2 = 1.0627753868424838 + 2.4238080756091605 * x;
	const double a3 = 1.6782659727709255 + x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + a3 * x2;
	return b0 + b1 * x4;
}

PTGC_INLINE double ptgc_erfinv_center(double x)
{
	const double z = 0.5625 - x * x;
	return x * (ptgc_fit_erfinv_p(z) / ptgc_fit_erfinv_q(z));
}

/* erfcinv(q) for q <= 1/4, r = sqrt(-log(q)) up to 27.35 */
PTGC_INLINE double ptgc_erfcinv_tail(double r)
{
	const double w = 1 / r;
	const int near = r < 6.25;
	const double p = near ? ptgc_fit_erfcinv_near_p(w) : ptgc_fit_erfcinv_far_p(w);
	const double q = near ? ptgc_fit_erfcinv_near_q(w) : ptgc_fit_erfcinv_far_q(w);
	return r - p / q;
}

PTGC_INLINE double ptgc_erfinv(double x)
{
	const double a = fabs(x);
	const double far = ptgc_erfcinv_tail(sqrt(-ptgc_log(1 - a)));
	const double end = a == 1 ? HUGE_VAL : far;
	const double tail = x < 0 ? -end : end;
	return a < 0.75 ? ptgc_erfinv_center(x) + 0.0 : tail;
}

PTGC_INLINE double ptgc_erfcinv(double z)
{
	const double d = z - 1, e = 2 - z;
	const double far = ptgc_erfcinv_tail(sqrt(-ptgc_log(z < e ? z : e)));
	const double end = ((z == 0) | (e == 0)) ? HUGE_VAL : far;
	const double tail = d < 0 ? end : -end;
	return fabs(d) < 0.75 ? -ptgc_erfinv_center(d) : tail;
}

/* erfcinv(q) for q < exp(-700), l = -log(q): s = erfcinv(q)^2 is l - log(pi s)/2 + log(1 - u + 3
   u^2
   - 15 u^3 + 105 u^4), u = 1/(2 s). Two steps of that, and one of Newton's method. */
PTGC_INLINE double ptgc_erfcinv_beyond(double l)
{
	const double m = l - 0.5723649429247001; /* log(pi)/2 */
	const double s0 = m - ptgc_log(l) * 0.5;
	const double s1 = m - ptgc_log(s0) * 0.5;
	const double u = 0.5 / s1;
	const double w = (((-105 * u + 15) * u - 3) * u + 1) * u;
	const double more = w * ((w * 0.3333333333333333 + 0.5) * w + 1); /* -log(1 - w) */
	const double s = s1 - (s1 - m + ptgc_log(s1) * 0.5 + more) / (1 + u - 2 * (u * u));
	const double y = sqrt(s);
	return l < HUGE_VAL ? y : l;
}

/* sqrt(2) erfinv(2 p - 1), p = exp(x); 2 p - 1 is exp(x + log(2)) - 1, log(2) in two parts */
static inline double ptgc_ndtri_exp(double x)
{
	const double root2 = 1.4142135623730951;
	if (x > -2.1 && x < -0.13) { /* all x of which |d| < 3/4 */
		const double d = ptgc_expm1(x + 0.6931471805599453 + 2.3190468138462996e-17);
		if (fabs(d) < 0.75)
			return ptgc_erfinv_center(d) * root2;
	}
	const int low = x < -1;
	const double l = low ? -0.6931471805599453 - x : -ptgc_log(-2 * ptgc_expm1(x));
	const double r = sqrt(l);
	const double t = r < 27.35 ? ptgc_erfcinv_tail(r) : ptgc_erfcinv_beyond(l);
	return (low ? -t : t) * root2;
}

PTGC_INLINE float ptgc_erfinvf(float x)
{
	return (float)ptgc_erfinv((double)x);
}

PTGC_INLINE float ptgc_erfcinvf(float x)
{
	return (float)ptgc_erfcinv((double)x);
}

PTGC_INLINE float ptgc_ndtri_expf(float x)
{
	return (float)ptgc_ndtri_exp((double)x);
}

#endif
