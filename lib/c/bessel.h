/* kve(v, x) = exp(x) K(v, x) and ive(v, x) = exp(-|x|) I(v, x), modified Bessel functions of real
   order, and their float forms. Method: integrals along the path of steepest descent (10.32.9 of
   https://dlmf.nist.gov) by the trapezoidal rule; of I with few terms the power series (10.25.2).
   Each element ends by itself. As lib/special/bessel.ptg. Bounds: see the table in README.md. */
#ifndef PTGC_C_BESSEL_H
#define PTGC_C_BESSEL_H

#include "arc.h"
#include "gamma.h"
#include "pow.h"

/* r = sqrt(v^2 + x^2), and v p - (r - x), where sinh(p) = v/x */
static inline double ptgc_bessel_saddle(double v, double x, double *r)
{
	const double low = v < x ? v : x, high = v < x ? x : v, q = low / high;
	*r = high * sqrt(q * q + 1);
	return v * (ptgc_asinh(v / x) - v / (*r + x));
}

/* exp(x) K(v, x) for v >= 0, x > 0 is exp(e)/2 times the integral of exp(-r (cosh(t) - 1) - v
   (sinh(t)
   - t)), from 0 in both directions until a step adds nothing. s, c and decay are sinh(t/2),
   cosh(t/2) and exp(-t). Far to the left, r (cosh(t) - 1) is taken apart: r - v is x^2/(r + v). */
static inline double ptgc_kve_inside(double v, double x)
{
	double r;
	const double e = ptgc_bessel_saddle(v, x, &r);
	const double width = 0.5 / sqrt(r), h = width < 0.2 ? width : 0.2;
	const double d = ptgc_expm1(h * 0.5);
	const double s1 = (d + d / (d + 1)) * 0.5, c1 = sqrt(s1 * s1 + 1);
	const double decay1 = ptgc_exp(-h), g = x / (r + v) * x * 2;
	double s = s1, c = c1, decay = decay1, sum = 0.5;
	for (int k = 1; k < 20000; k++) {
		const double t = h * k;
		const double square = s * s, z = square < 1e308 ? square : 1e308;
		const double b = z * (r * -2);
		const double rest = 2 * s * c - t;
		const double w = v * (rest < 1e308 ? rest : 1e308);
		const double left = t > 1 ? v * (1 - decay - t) - z * g : b + w;
		const double f = (ptgc_exp(b - w) + ptgc_exp(left)) * 0.5;
		const double next = s * c1 + c * s1;
		c = c * c1 + s * s1;
		s = next;
		decay *= decay1;
		sum += f;
		if (!(f > sum * 1e-17))
			return ptgc_exp(e) * (h * sum);
	}
	return (double)NAN;
}

static inline double ptgc_kve(double v, double x)
{
	const double a = fabs(v);
	if (x > 0 && x < HUGE_VAL && a < HUGE_VAL)
		return ptgc_kve_inside(a, x);
	return x == 0 ? HUGE_VAL : (double)NAN;
}

/* exp(-x) I(v, x) for v >= 0, x > 0: counted from the middle of the path the integral is exp(-e)/pi
   times that of exp(-r (1 - cos(t))) cos(v (t - sin(t))) from 0 */
static inline double ptgc_ive_inside(double v, double x)
{
	double r, sum;
	const double e = ptgc_bessel_saddle(v, x, &r);
	if (r < 25) {
		const double z = x * x * 0.25;
		double term = 1;
		sum = 1;
		for (double k = 1; term > sum * 1e-17; k += 1) {
			term *= z / (k * (k + v));
			sum += term;
		}
		return ptgc_pow(x * 0.5, v) * ptgc_exp(-x) / ptgc_gamma(v + 1) * sum;
	}
	const double h = 0.5 / sqrt(r);
	sum = 0.5;
	for (int i = 1; i < 19; i++) {
		const double t = h * i;
		const double s = ptgc_sin_near(t * 0.5);
		const double w = v * (t - ptgc_sin_near(t));
		sum += ptgc_exp(r * -2 * (s * s)) * ptgc_cos(w);
	}
	return ptgc_exp(-e) * (h * sum * 0.3183098861837907);
}

/* I(-v, x) is I(v, x) + 2/pi sin(pi v) K(v, x) (10.27.2); I(v, -x) is (-1)^v I(v, x) for integers
   v, and not real for others */
static inline double ptgc_ive(double v, double x)
{
	const double a = fabs(v), m = fabs(x), n = ptgc_round(a);
	const int whole = a == n, odd = n - 2 * ptgc_floor(0.5 * n) > 0;
	double y;
	if (v != v || x != x || !(a < HUGE_VAL) || m == HUGE_VAL || (x < 0 && !whole))
		return (double)NAN;
	if (m == 0)
		return v == 0 ? 1 : v < 0 && !whole ? (double)NAN : 0;
	y = ptgc_ive_inside(a, m);
	if (v < 0 && !whole) {
		const double s = ptgc_turn_sin(ptgc_turn_pi(a - n), 0) * (odd ? -1 : 1);
		y += s * 0.6366197723675814 * ptgc_kve_inside(a, m) * ptgc_exp(m * -2);
	}
	return x < 0 && odd ? -y : y;
}

static inline float ptgc_kvef(float v, float x)
{
	return (float)ptgc_kve((double)v, (double)x);
}

static inline float ptgc_ivef(float v, float x)
{
	return (float)ptgc_ive((double)v, (double)x);
}

#endif
