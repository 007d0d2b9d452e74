/* The functions of lib/c as functions of a shared library, for special.py. */
#include "all.h"

#define ONE(name)                                                                                  \
	double test_##name(double x);                                                              \
	float test_##name##f(float x);                                                             \
	double test_##name(double x)                                                               \
	{                                                                                          \
		return ptgc_##name(x);                                                             \
	}                                                                                          \
	float test_##name##f(float x)                                                              \
	{                                                                                          \
		return ptgc_##name##f(x);                                                          \
	}
#define TWO(name)                                                                                  \
	double test_##name(double x, double y);                                                    \
	float test_##name##f(float x, float y);                                                    \
	double test_##name(double x, double y)                                                     \
	{                                                                                          \
		return ptgc_##name(x, y);                                                          \
	}                                                                                          \
	float test_##name##f(float x, float y)                                                     \
	{                                                                                          \
		return ptgc_##name##f(x, y);                                                       \
	}
#define SERIES2(name) TWO(name)
#define SERIES3(name)                                                                              \
	double test_##name(double x, double y, double z);                                          \
	float test_##name##f(float x, float y, float z);                                           \
	double test_##name(double x, double y, double z)                                           \
	{                                                                                          \
		return ptgc_##name(x, y, z);                                                       \
	}                                                                                          \
	float test_##name##f(float x, float y, float z)                                            \
	{                                                                                          \
		return ptgc_##name##f(x, y, z);                                                    \
	}
#define SERIES4(name)                                                                              \
	double test_##name(double x, double y, double z, double u);                                \
	float test_##name##f(float x, float y, float z, float u);                                  \
	double test_##name(double x, double y, double z, double u)                                 \
	{                                                                                          \
		return ptgc_##name(x, y, z, u);                                                    \
	}                                                                                          \
	float test_##name##f(float x, float y, float z, float u)                                   \
	{                                                                                          \
		return ptgc_##name##f(x, y, z, u);                                                 \
	}
#include "functions.def"
