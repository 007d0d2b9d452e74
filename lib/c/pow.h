/* pow and its float form.
   Method: |x|^y = exp(y log|x|), where log|x| has two parts, 1e-19 relative; then the signs, zeros
   and infinities as C99 (annex F) has them. No branches. Bound: see the table in README.md. */
#ifndef PTGC_C_POW_H
#define PTGC_C_POW_H

#include "exp.h"
#include "log.h"

PTGC_INLINE double ptgc_pow(double x, double y)
{
	const struct ptgc_wide log2 = {0.6931471805599453, 2.3190468138462996e-17};
	const double a = fabs(x), b = fabs(y);
	const double v = y > 1e30 ? 1e30 : y; /* more would overflow on the way */
	const double w = v < -1e30 ? -1e30 : v;
	const struct ptgc_wide whole_y = {w, 0};
	double n;
	const struct ptgc_wide l = ptgc_log_parts(a, &n);
	const struct ptgc_wide whole_n = {n, 0};
	const struct ptgc_wide t = ptgc_wide_sum(ptgc_wide_product(whole_n, log2), l);
	const struct ptgc_wide p = ptgc_wide_product(whole_y, t);
	const double high = p.high > 800 ? 800 : p.high;
	const double more = high < -800 ? -800 : high;
	const double usual = ptgc_exp_wide(more, fabs(p.high) > 800 ? 0 : p.low);

	/* an integer keeps its low bit above 2^52; an odd one has it set */
	const double shifted = b + 4503599627370496.0;
	const int large = b >= 4503599627370496.0;
	const int integer = large | (shifted - 4503599627370496.0 == b);
	const uint64_t bits = ptgc_bits(large ? b : shifted);
	const int odd = integer & (int)(bits & 1) & (b < 9007199254740992.0);

	/* what |x| of 0 and of infinity give */
	const int up = (a > 1) == (y > 0);
	const double end = up ? HUGE_VAL : 0;
	const double sized = ((a == 0) | (a == HUGE_VAL)) ? end : usual;
	const double whole = ((x < 0) & !integer & (a < HUGE_VAL)) ? (double)NAN : sized;
	const double signs = (odd & (int)(ptgc_bits(x) >> 63)) ? -whole : whole;
	const double known = ((x != x) | (y != y)) ? x + y : signs;
	return ((x == 1) | (y == 0)) ? 1 : known;
}

PTGC_INLINE float ptgc_powf(float x, float y)
{
	return (float)ptgc_pow((double)x, (double)y);
}

#endif
