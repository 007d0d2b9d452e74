/* asin, acos, atan, atan2, asinh, acosh, atanh and their float forms. No branches.
   Method: asin(x) = x + x^3 P(x^2) up to 1/2; beyond, acos(x) = 2 asin(sqrt((1 - x)/2)). atan(x) =
   x - x^3 R(x^2) up to 1, beyond pi/2 - atan(1/x). asinh(x) = log(x + sqrt(x^2 + 1)), acosh(x) =
   log(x + sqrt(x^2 - 1)) and atanh(x) = log((1 + x)/(1 - x))/2 are of arguments in two parts.
   P, R: fit_c.py. Bounds: see the table in README.md. */
#ifndef PTGC_C_ARC_H
#define PTGC_C_ARC_H

#include "log.h"

/* fit_c.py: asin */
PTGC_INLINE double ptgc_fit_asin(double x)
{
	const double x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
	const double a0 = 0.16666666666666669 + 0.07499999999998433 * x;
	const double a1 = 0.04464285714635543 + 0.030381944138531247 * x;
	const double a2 = 0.02237217294214989 + 0.017352392720869973 * x;
	const double a3 = 0.013971212973552933 + 0.011479177415184906 * x;
	const double a4 = 0.01032281435018578 + 0.005457506718640358 * x;
	const double a5 = 0.01740087944269402 - 0.014851887071247204 * x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + a3 * x2;
	const double b2 = a4 + a5 * x2;
	const double c0 = b0 + b1 * x4;
	const double c1 = b2 + 0.028757851367421566 * x4;
	return c0 + c1 * x8;
}

/* fit_c.py: atan_p */
PTGC_INLINE double ptgc_fit_atan_p(double x)
{
	const double x2 = x * x, x4 = x2 * x2;
	const double a0 = 368.73483141989175 + 834.4664694484876 * x;
	const double a1 = 662.6593681844653 + 219.51871121457668 * x;
	const double a2 = 27.81154719677217 + 0.9010085663220628 * x;
	const double b0 = a0 + a1 * x2;
	return b0 + a2 * x4;
}

/* fit_c.py: atan_q */
PTGC_INLINE double ptgc_fit_atan_q(double x)
{
	const double x2 = x * x, x4 = x2 * x2;
	const double a0 = 1106.2044942596754 + 3167.1221049012343 * x;
	const double a1 = 3414.1637270995548 + 1718.4511562990385 * x;
	const double a2 = 405.307543922349 + 38.98043874341672 * x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + x2;
	return b0 + b1 * x4;
}

/* The angle in [0, pi/2] of which the sine is a <= 1, or of which the cosine is a */
PTGC_INLINE double ptgc_arc_sine(double a, int cosine)
{
	const int far = a > 0.5;
	const double half = 0.5 * (1 - a); /* exact where a is far */
	const double z = far ? half : a * a;
	const double root = sqrt(z);
	const struct ptgc_wide p = ptgc_two_product(root, root);
	const double lost = ((z - p.high) - p.low) / (root + root);
	const double s = far ? root : a, s_low = (far & (root > 0)) ? lost : 0;
	const double rest = s_low + s * z * ptgc_fit_asin(z);
	/* pi/2 - angle, or 2 angle */
	const double angle = far ? 2 * (s + rest) : s + rest;
	const struct ptgc_wide u = ptgc_two_sum(1.5707963267948966, -(far ? 2 * s : s));
	const double other = u.high + (u.low + (6.123233995736766e-17 - (far ? 2 * rest : rest)));
	return far == (cosine != 0) ? angle : other;
}

PTGC_INLINE double ptgc_asin(double x)
{
	return ptgc_signed(ptgc_arc_sine(fabs(x), 0), x);
}

PTGC_INLINE double ptgc_acos(double x)
{
	const double a = fabs(x);
	const double angle = ptgc_arc_sine(a, 1);
	const double sum = 3.141592653589793 - (angle - 1.2246467991473532e-16);
	const double small = 1.5707963267948966 + (ptgc_arc_sine(a, 0) + 6.123233995736766e-17);
	const double below = a > 0.5 ? sum : small;
	return x < 0 ? below : angle;
}

/* The angle of which a >= 0 is the tangent, or `cotangent` */
PTGC_INLINE double ptgc_arc_tangent(double t, double t_low, int cotangent)
{
	const double z = t * t;
	const double rest = t_low - t * (z * (ptgc_fit_atan_p(z) / ptgc_fit_atan_q(z)));
	const double near = t + rest;
	const struct ptgc_wide u = ptgc_two_sum(1.5707963267948966, -t);
	const double far = u.high + (u.low + (6.123233995736766e-17 - rest));
	return cotangent ? far : near;
}

PTGC_INLINE double ptgc_atan(double x)
{
	const double a = fabs(x);
	const int far = a > 1;
	const double y = ptgc_arc_tangent(far ? 1 / a : a, 0, far);
	return ptgc_signed(y, x);
}

/* the angle of the point (x, y) */
PTGC_INLINE double ptgc_atan2(double y, double x)
{
	const double a = fabs(y), b = fabs(x);
	const int far = a > b;
	const double low = far ? b : a, high = far ? a : b;
	/* by 2^-200 or 2^800, far from overflow and subnormal numbers */
	const double scale = high > 1e300    ? 6.223015277861142e-61
			     : high < 1e-250 ? 6.668014432879854e+240
					     : 1;
	const double l = low * scale, h = high * scale;
	const double q = l / h;
	const struct ptgc_wide p = ptgc_two_product(q, h);
	const double lost = ((l - p.high) - p.low) / h;
	const int even = low == high;
	const double ones = low > 0 ? 1 : low; /* zeros, infinities and NaN too */
	const double t = even ? ones : q;
	const double more = (even | !(l > 1e-250) | !(h < HUGE_VAL)) ? 0 : lost;
	const double near = ptgc_arc_tangent(t, more, far);
	const struct ptgc_wide u = ptgc_two_sum(3.141592653589793, -near);
	const double back = u.high + (u.low + 1.2246467991473532e-16);
	const double angle = (ptgc_bits(x) >> 63) ? back : near;
	return ((x != x) | (y != y)) ? x + y : ptgc_signed(angle, y);
}

/* log of u, whose low part counts where the high one is near 1, plus n log(2) */
PTGC_INLINE double ptgc_log_of_wide(struct ptgc_wide u, double n)
{
	double k;
	const double m = ptgc_log_reduce(u.high, &k);
	return ptgc_log_sum(m - 1, k + n, u.low / u.high);
}

PTGC_INLINE double ptgc_asinh(double x)
{
	const double a = fabs(x);
	const int far = a > 1e9;
	const double b = far ? 1 : a;
	const struct ptgc_wide p = ptgc_two_product(b, b);
	const struct ptgc_wide one = {1, 0}, self = {b, 0}, itself = {a, 0};
	const struct ptgc_wide sum = ptgc_wide_sum(self, ptgc_wide_sqrt(ptgc_wide_sum(one, p)));
	struct ptgc_wide u;
	u.high = far ? itself.high : sum.high;
	u.low = far ? 0 : sum.low;
	const double y = ptgc_log_of_wide(u, far ? 1 : 0);
	const double z = a < 1e-8 ? a : y;
	return ptgc_signed(a < HUGE_VAL ? z : a, x);
}

PTGC_INLINE double ptgc_acosh(double x)
{
	const int far = x > 1e9;
	const double b = far ? 2 : x;
	const struct ptgc_wide p = ptgc_two_product(b, b);
	const struct ptgc_wide minus = {-1, 0}, self = {b, 0};
	const struct ptgc_wide sum = ptgc_wide_sum(self, ptgc_wide_sqrt(ptgc_wide_sum(p, minus)));
	struct ptgc_wide u;
	u.high = far ? x : sum.high;
	u.low = far ? 0 : sum.low;
	const double y = ptgc_log_of_wide(u, far ? 1 : 0);
	const double z = x < HUGE_VAL ? y : x;
	const double w = x == 1 ? 0 : z;
	return x < 1 ? (double)NAN : w;
}

PTGC_INLINE double ptgc_atanh(double x)
{
	const double a = fabs(x);
	const struct ptgc_wide above = ptgc_two_sum(1, a), below = ptgc_two_sum(1, -a);
	const double y = 0.5 * ptgc_log_of_wide(ptgc_wide_quotient(above, below), 0);
	const double z = a < 1e-8 ? a : y;
	const double w = a == 1 ? HUGE_VAL : z;
	return a > 1 ? (double)NAN : ptgc_signed(w, x);
}

PTGC_INLINE float ptgc_asinf(float x)
{
	return (float)ptgc_asin((double)x);
}

PTGC_INLINE float ptgc_acosf(float x)
{
	return (float)ptgc_acos((double)x);
}

PTGC_INLINE float ptgc_atanf(float x)
{
	return (float)ptgc_atan((double)x);
}

PTGC_INLINE float ptgc_atan2f(float y, float x)
{
	return (float)ptgc_atan2((double)y, (double)x);
}

PTGC_INLINE float ptgc_asinhf(float x)
{
	return (float)ptgc_asinh((double)x);
}

PTGC_INLINE float ptgc_acoshf(float x)
{
	return (float)ptgc_acosh((double)x);
}

PTGC_INLINE float ptgc_atanhf(float x)
{
	return (float)ptgc_atanh((double)x);
}

#endif
