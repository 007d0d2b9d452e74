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
	const struct ptgc_wide whole_y = {y, 0};
	double n;
	const struct ptgc_wide l = ptgc_log_parts(a, &n);
	const struct ptgc_wide whole_n = {n, 0};
	const struct ptgc_wide t = ptgc_wide_sum(ptgc_wide_product(whole_n, log2), l);
	const struct ptgc_wide p = ptgc_wide_product(whole_y, t);

	/* beyond 800 the power is 0 or infinite; there, and where |x| is 1, p may be no number */
	const double end = a == HUGE_VAL ? HUGE_VAL : t.high;
	const double about = y * (a == 0 ? -HUGE_VAL : end);
	const double moves = b * (a == 1 ? 0 : 1);
	const double high = about > 800 ? 800 : p.high;
	const double more = about < -800 ? -800 : high;
	const double low = fabs(about) > 800 ? 0 : p.low;
	const double usual = ptgc_exp_wide(moves > 0 ? more : 0, moves > 0 ? low : 0);

	/* an integer keeps its low bit above 2^52; an odd one has it set */
	const double shifted = b + 4503599627370496.0;
	const int large = b >= 4503599627370496.0;
	const int integer = large | (shifted - 4503599627370496.0 == b);
	const uint64_t whole_bits = ptgc_bits(large ? b : shifted);
	const int odd = integer & (int)(whole_bits & 1) & (b < 9007199254740992.0);

	/* Conditions on x alone and on y alone are numbers, and what both say is their product: loops
	   where one of both stays the same vectorise too. */
	const double below = ((x < 0) & (a < HUGE_VAL)) ? 1 : 0, fraction = integer ? 0 : 1;
	const double sign = ptgc_from_bits((ptgc_bits(x) & ((uint64_t)1 << 63)) | ptgc_bits(1.0));
	const double unlike_1 = x == 1 ? 0 : 1, unlike_0 = y == 0 ? 0 : 1;
	const double nan_x = x != x ? x : -0.0, nan_y = y != y ? y : -0.0;
	const double whole = below * fraction > 0 ? (double)NAN : usual;
	const double signs = sign * (odd ? 1 : 0) < 0 ? -whole : whole;
	/* gcc would branch around all else where the exponent stays the same, and not vectorise */
	return ptgc_pick(unlike_1 * unlike_0 > 0, signs + (nan_x + nan_y), 1);
}

PTGC_INLINE float ptgc_powf(float x, float y)
{
	return (float)ptgc_pow((double)x, (double)y);
}

#endif
