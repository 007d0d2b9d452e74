/* hyp2f1(a, b, c, z), Gauss's hypergeometric function, and its float form. Method: that of
   lib/special/hypergeometric.ptg, which says why: the power series (15.2.1 of
   https://dlmf.nist.gov) of the form that cancels least, continued by Taylor series of the solution
   of the differential equation (15.10.1). Each element ends by itself. Bounds: see the table in
   README.md. */
#ifndef PTGC_C_HYP2F1_H
#define PTGC_C_HYP2F1_H

#include "gamma.h"
#include "pow.h"

/* How many terms of the power series of F(p, q; c; w) have another sign than the term before */
static inline double ptgc_hyp2f1_signs(double p, double q, double c)
{
	const double x = p < 0 ? -p : 0, y = q < 0 ? -q : 0, v = c < 0 ? -c : 0;
	return 2 * (ptgc_min(ptgc_min(x, y), v) + ptgc_max(ptgc_max(x, y), v)) - (x + y + v);
}

static inline int ptgc_is_degree(double p)
{
	return p <= 0 && p == ptgc_round(p);
}

/* F(-n, q; c; x), y = 1 - x, by recurrence in n (15.5.11) */
static inline double ptgc_hyp2f1_polynomial(double n, double q, double c, double x, double y)
{
	double f = 1, last = 0;
	for (double k = 0; k < n && k < 300000; k += 1) {
		const double next = ((2 * k + c - (k + q) * x) * f - k * y * last) / (c + k);
		last = f;
		f = next;
	}
	return f;
}

/* F and its derivative times w, at w */
struct ptgc_hyp2f1_at {
	double f, g;
};

/* The power series of F(p, q; c; w), three terms a round */
static inline struct ptgc_hyp2f1_at ptgc_hyp2f1_series(double p, double q, double c, double w)
{
	struct ptgc_hyp2f1_at y = {1, 0};
	double t = 1;
	for (double n = 0; n < 300000; n += 3) {
		const double i = n + 1, j = n + 2;
		const double r = (p + j) * (q + j) * (w / (n + 3)) / (c + j);
		const double t1 = t * ((p + n) * (q + n) * (w / i) / (c + n));
		const double t2 = t1 * ((p + i) * (q + i) * (w / j) / (c + i));
		t = t2 * r;
		y.f += t1 + t2 + t;
		y.g += t1 * i + t2 * j + t * (n + 3);
		const int growing = fabs(r) >= 1 || c + n < -2;
		if (t == 0 || !(growing || fabs(t) > fabs(y.f) * 1e-17))
			break;
	}
	return y;
}

/* A Taylor series of a solution about w, by h further on: its sum, and its derivative times h */
static inline struct ptgc_hyp2f1_at ptgc_hyp2f1_taylor(double f, double g, double rh, double dr,
						       double pr, double ru, double re)
{
	struct ptgc_hyp2f1_at y = {f + g, g};
	double a = f, b = g;
	for (double n = 0; n < 3000; n += 4) {
		const double size = fabs(y.f);
		struct ptgc_hyp2f1_at four = {0, 0};
		for (double k = n; k < n + 4; k += 1) {
			const double m = k + 2, v = ((rh * k + dr) * k + pr) / ((k + 1) * m);
			const double t = v * a - (ru * k + re) / m * b;
			four.f += t;
			four.g += t * m;
			a = b;
			b = t;
		}
		y.f += four.f;
		y.g += four.g;
		if (!(fabs(a) + fabs(b) > size * 1e-17))
			break;
	}
	return y;
}

/* F(p, q; c; w), u = 1 - w, s = c - p - q >= 0, from f and g, F and its derivative at w1. Steps h
   are half of the way to 0 or 1 at most, and less where solutions grow or oscillate: l is twice the
   largest exponent of either. Where u is so small that in the equation all but its head is rounded
   away, F + c u^s is a constant. */
static inline double ptgc_hyp2f1_onwards(double p, double q, double c, double s, double w, double u,
					 double w1, double f, double g)
{
	const double d = p + q + 1, pq = p * q;
	const double least = 1 / ((fabs(pq) + fabs(d) + 1) * 1e18);
	const double goal = u > least ? u : least;
	double wk = w1, uk = 1 - w1;
	for (int i = 0; i < 10000; i++) {
		const double wu = wk * uk;
		const double e = wk > 0.5 ? s - 1 + d * uk : c - d * wk;
		const double l = fabs(e) + sqrt(fabs(e * e + pq * wu * 4));
		const double half = (wk < uk ? wk : uk) * 0.5, few = 5 * wu / l;
		const double most = half < few ? half : few;
		const double rest = w > 0.5 ? uk - goal : w - wk;
		const int done = rest <= most * 1.1;
		const double h = done ? rest : most;
		const double r = h / wu, rh = r * h;
		const struct ptgc_hyp2f1_at y = ptgc_hyp2f1_taylor(f, g * h, rh, (d - 1) * rh,
								   pq * rh, r * (uk - wk), r * e);
		f = y.f;
		g = y.g / h;
		wk += h;
		uk = done ? goal : uk - h;
		if (!done)
			continue;
		if (!(u < uk))
			return f;
		const double x = ptgc_log(u / uk);
		return f - uk * g * (s == 0 ? x : ptgc_expm1(s * x) / s);
	}
	return (double)NAN;
}

/* (-1)^n where the gamma function has that sign */
static inline double ptgc_sign_of_gamma(double x)
{
	return x < 0 ? 1 - ptgc_fmod(fabs(ptgc_floor(x)), 2) * 2 : 1;
}

/* F(a, b; c; 1): gamma(c) gamma(s)/(gamma(c - a) gamma(c - b)), s = c - a - b > 0 (15.4.20); else F
   grows without bound, with the sign of gamma(c)/(gamma(a) gamma(b)) */
static inline double ptgc_hyp2f1_at_1(double a, double b, double c, double s)
{
	const double p = s > 0 ? c - a : a, q = s > 0 ? c - b : b;
	const double sign = ptgc_sign_of_gamma(c) * ptgc_sign_of_gamma(p) * ptgc_sign_of_gamma(q);
	const double size =
		s > 0 ? ptgc_exp(ptgc_lgamma(c) + ptgc_lgamma(s) - ptgc_lgamma(p) - ptgc_lgamma(q))
		      : HUGE_VAL;
	return sign * size;
}

/* F(p, q; c; w), u = 1 - w > 0, s = c - p - q, of which no form is a polynomial; n0 and n1 are the
   changes of signs of both forms */
static inline double ptgc_hyp2f1_sum(double p, double q, double c, double s, double w, double u,
				     double n0, double n1)
{
	const int alternates = ptgc_min(n0, n1) > 1 && c > 0;
	const double near = alternates ? ptgc_min(1.5 * c / fabs(p * q), 0.7) : 0.7;
	const double w1 = ptgc_min(w, alternates || c < 0 || s < 15 ? near : 1);
	const struct ptgc_hyp2f1_at y = ptgc_hyp2f1_series(p, q, c, w1);
	return w > w1 ? ptgc_hyp2f1_onwards(p, q, c, s, w, u, w1, y.f, y.g / w1) : y.f;
}

/* For finite arguments, z not 0 */
static inline double ptgc_hyp2f1_finite(double a, double b, double c, double z)
{
	const int whole = ptgc_is_degree(a) || ptgc_is_degree(b);
	const int left = z < 0 && !whole, beyond = z > 1;
	const double y = 1 - z, d = c - a - b;
	const double u = left ? 1 / y : y, w = left ? -z / y : z;
	const double q0 = left ? c - b : b, s0 = left ? b - a : d;
	const double n0 = ptgc_hyp2f1_signs(a, q0, c), n1 = ptgc_hyp2f1_signs(c - a, c - q0, c);
	const int pole = ptgc_is_degree(c);
	const int same = (a == c || b == c) && !pole;
	const int power = d <= -1 && d == ptgc_round(d);
	const int better = n1 < n0 || (n1 == n0 && s0 < 0);
	const int other = whole ? same : beyond ? power : better;
	const double p = other ? c - a : a, q = other ? c - q0 : q0;
	const double s = other ? -s0 : s0;
	const double exponent = left ? (other ? -b : -a) : other ? s0 : 0;
	const int pn = ptgc_is_degree(p), qn = ptgc_is_degree(q);
	const int first = pn && !(qn && q > p);
	const double degree = pn || qn ? -(first ? p : q) : 0;

	if (pole) {
		const int inside = fabs(z) < 1 || z == -1;
		const int fine = degree < -c || (a == -1 && c < 0) || (inside && b == c);
		if (!(whole && fine))
			return inside && a == c ? ptgc_pow(y, -b) : HUGE_VAL;
	}
	double f;
	if (pn || qn)
		f = ptgc_hyp2f1_polynomial(degree, first ? q : p, c, w, u);
	else if (z == 1)
		return ptgc_hyp2f1_at_1(a, b, c, d);
	else
		f = beyond ? HUGE_VAL : ptgc_hyp2f1_sum(p, q, c, s, w, u, n0, n1);
	return exponent == 0 ? f : f * ptgc_pow(y, exponent);
}

/* Where c is 0 or a negative integer, F is infinite, unless it is a polynomial of a lower degree;
   and for |z| < 1 SciPy takes the factor that c has in common with b, or with a, away. For z > 1 F
   is real only as a polynomial, or as one times a power of 1 - z. */
static inline double ptgc_hyp2f1(double a, double b, double c, double z)
{
	if (z == 0 || ((a == 0 || b == 0) && c != 0))
		return 1;
	if (!(fabs(a) < HUGE_VAL && fabs(b) < HUGE_VAL && fabs(c) < HUGE_VAL && fabs(z) < HUGE_VAL))
		return (double)NAN;
	return ptgc_hyp2f1_finite(a, b, c, z);
}

static inline float ptgc_hyp2f1f(float a, float b, float c, float z)
{
	return (float)ptgc_hyp2f1((double)a, (double)b, (double)c, (double)z);
}

#endif
