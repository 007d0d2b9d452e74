/*
 * libm.h: elementary functions of the C library under ptgc's names.
 */
#ifndef PTGC_LIBM_H
#define PTGC_LIBM_H
#include <math.h>

static inline double ptgc_asin(double x)
{
	return asin(x);
}

static inline float ptgc_asinf(float x)
{
	return asinf(x);
}

static inline double ptgc_acos(double x)
{
	return acos(x);
}

static inline float ptgc_acosf(float x)
{
	return acosf(x);
}

static inline double ptgc_atan(double x)
{
	return atan(x);
}

static inline float ptgc_atanf(float x)
{
	return atanf(x);
}

static inline double ptgc_asinh(double x)
{
	return asinh(x);
}

static inline float ptgc_asinhf(float x)
{
	return asinhf(x);
}

static inline double ptgc_acosh(double x)
{
	return acosh(x);
}

static inline float ptgc_acoshf(float x)
{
	return acoshf(x);
}

static inline double ptgc_atanh(double x)
{
	return atanh(x);
}

static inline float ptgc_atanhf(float x)
{
	return atanhf(x);
}

static inline float ptgc_erff(float x)
{
	return erff(x);
}

#endif
