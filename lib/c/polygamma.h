/* polygamma(n, x), the n-th derivative of psi, n an integer, and its float form.
   Method: (-1)^(n + 1) n! times the sum of (x + k)^-s over k >= 0, s = n + 1, term by term until x
   + k is s + 10; the rest by the formula of Euler and Maclaurin (25.11.7 of https://dlmf.nist.gov).
   As lib/special/gamma.ptg. Bound: see the table in README.md. */
#ifndef PTGC_C_POLYGAMMA_H
#define PTGC_C_POLYGAMMA_H

#include "gamma.h"
#include "pow.h"

static inline double ptgc_polygamma(double n, double x)
{
	/* Bernoulli numbers B2 to B16 divided by the factorials of 2 to 16 */
	static const double few[8] = {
		0.08333333333333333,    -0.001388888888888889,   3.306878306878307e-05,
		-8.267195767195768e-07, 2.08767569878681e-08,    -5.284190138687493e-10,
		1.3382536530684679e-11, -3.3896802963225827e-13,
	};
	const double s = n + 1;
	double v = x, sum = 0, term, tail = 0.5;
	if (s == 1)
		return ptgc_psi(x);
	const double sign = s - 2 * ptgc_floor(0.5 * s) > 0 ? -1 : 1;
	if (!(s >= 1) || !(x > -100000) || x - x != 0)
		return (x == HUGE_VAL && s >= 1) ? sign * 0.0 : (double)NAN;
	for (; v < s + 10; v += 1)
		sum += ptgc_pow(v, -s);
	const double w = 1 / v, c = w * w;
	term = s * w;
	for (int j = 0; j < 8; j++) {
		tail += term * few[j];
		term *= (s + (2 * j + 1)) * (s + (2 * j + 2)) * c;
	}
	const double zeta = sum + ptgc_pow(v, 1 - s) * (1 / (s - 1) + w * tail);
	return sign * ptgc_gamma(s) * zeta;
}

static inline float ptgc_polygammaf(float n, float x)
{
	return (float)ptgc_polygamma((double)n, (double)x);
}

#endif
