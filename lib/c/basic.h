/* Functions of floats that take no series: signs, rounding, extremes, remainders. In and out: any
   numbers. Those of math.h here are exact everywhere. */
#ifndef PTGC_C_BASIC_H
#define PTGC_C_BASIC_H

#include "bits.h"

PTGC_INLINE int ptgc_is_nan(double x)
{
	return x != x;
}

PTGC_INLINE int ptgc_is_inf(double x)
{
	return fabs(x) == HUGE_VAL;
}

/* -1, 0 or 1; 0 of -0, as NumPy's and ONNX Runtime's; NaN as it is */
PTGC_INLINE double ptgc_sign(double x)
{
	return x != x ? x : (x > 0) - (x < 0);
}

PTGC_INLINE float ptgc_signf(float x)
{
	return x != x ? x : (float)((x > 0) - (x < 0));
}

/* NaN wins; of -0 and 0 the first */
PTGC_INLINE double ptgc_max(double a, double b)
{
	const double m = a < b ? b : a;
	return b != b ? b : m;
}

PTGC_INLINE float ptgc_maxf(float a, float b)
{
	const float m = a < b ? b : a;
	return b != b ? b : m;
}

PTGC_INLINE double ptgc_min(double a, double b)
{
	const double m = b < a ? b : a;
	return b != b ? b : m;
}

PTGC_INLINE float ptgc_minf(float a, float b)
{
	const float m = b < a ? b : a;
	return b != b ? b : m;
}

PTGC_INLINE double ptgc_relu(double x)
{
	return x < 0 ? 0 : x;
}

PTGC_INLINE float ptgc_reluf(float x)
{
	return x < 0 ? 0 : x;
}

PTGC_INLINE double ptgc_abs(double x)
{
	return fabs(x);
}

PTGC_INLINE float ptgc_absf(float x)
{
	return fabsf(x);
}

PTGC_INLINE double ptgc_sqrt(double x)
{
	return sqrt(x);
}

PTGC_INLINE float ptgc_sqrtf(float x)
{
	return sqrtf(x);
}

/* Ties to even, by a sum with 2^52, which leaves no bits behind the point: rint() is a call where
   the processor has no instruction. */
PTGC_INLINE double ptgc_round(double x)
{
	const double a = fabs(x), y = (a + 4503599627370496.0) - 4503599627370496.0;
	return a < 4503599627370496.0 ? ptgc_signed(y, x) : x;
}

PTGC_INLINE float ptgc_roundf(float x)
{
	return (float)ptgc_round((double)x);
}

PTGC_INLINE double ptgc_floor(double x)
{
	const double y = ptgc_round(x), less = y - 1;
	return ptgc_signed(y > x ? less : y, x);
}

PTGC_INLINE float ptgc_floorf(float x)
{
	return (float)ptgc_floor((double)x);
}

PTGC_INLINE double ptgc_ceil(double x)
{
	const double y = ptgc_round(x), more = y + 1;
	return ptgc_signed(y < x ? more : y, x);
}

PTGC_INLINE float ptgc_ceilf(float x)
{
	return (float)ptgc_ceil((double)x);
}

PTGC_INLINE double ptgc_trunc(double x)
{
	return ptgc_signed(ptgc_floor(fabs(x)), x);
}

PTGC_INLINE float ptgc_truncf(float x)
{
	return (float)ptgc_trunc((double)x);
}

/* PyTensor's: of the sum with 1/2 as rounded; -0 for 0 */
PTGC_INLINE double ptgc_round_away(double x)
{
	const double y = ptgc_floor(fabs(x) + 0.5);
	return x > 0 ? y : -y;
}

PTGC_INLINE float ptgc_round_awayf(float x)
{
	return (float)ptgc_round_away((double)x);
}

/* the remainder of the sign of a, exact */
PTGC_INLINE double ptgc_fmod(double a, double b)
{
	return fmod(a, b);
}

PTGC_INLINE float ptgc_fmodf(float a, float b)
{
	return fmodf(a, b);
}

/* the remainder of the sign of b, also where it is 0 */
PTGC_INLINE double ptgc_mod(double a, double b)
{
	const double m = fmod(a, b);
	const double r = (m < 0) != (b < 0) && m != 0 ? m + b : m;
	return ptgc_signed(r, b);
}

PTGC_INLINE float ptgc_modf(float a, float b)
{
	const float m = fmodf(a, b);
	const float r = (m < 0) != (b < 0) && m != 0 ? m + b : m;
	return (float)ptgc_signed((double)r, (double)b);
}

/* The quotient rounded down, NumPy's way from the remainder: 1 // 0.1 is 9 */
PTGC_INLINE double ptgc_quotient(double a, double b)
{
	const double m = fmod(a, b);
	const double d = (a - m) / b - (double)(m != 0 && (m < 0) != (b < 0));
	const double f = ptgc_floor(d);
	const double q = a / b;
	return b == 0 ? q : d == 0 ? 0 * q : f + (double)(d - f > 0.5);
}

PTGC_INLINE float ptgc_quotientf(float a, float b)
{
	const float m = fmodf(a, b);
	const float d = (a - m) / b - (float)(m != 0 && (m < 0) != (b < 0));
	const float f = ptgc_floorf(d);
	const float q = a / b;
	return b == 0 ? q : d == 0 ? 0 * q : f + (float)(d - f > 0.5f);
}

#endif
