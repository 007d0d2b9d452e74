/*
 * numbers.c: what ops are of numbers that the text writes, beside the functions of base/maths.c.
 * In: literals. Out: the literal. Only + - * / of IEEE 754, whose results are the same on all
 * machines.
 */
#include <math.h>

#include "ops/rules.h"

double nb_reciprocal(double x)
{
	return 1 / x;
}

double nb_square(double x)
{
	return x * x;
}

double nb_sign(double x)
{
	return isnan(x) ? x : (x > 0) - (x < 0);
}

double nb_deg2rad(double x)
{
	return x * 0.017453292519943295;
}

double nb_rad2deg(double x)
{
	return x * 57.29577951308232;
}

double nb_maximum(double a, double b)
{
	return isnan(a) || a > b ? a : b;
}

double nb_minimum(double a, double b)
{
	return isnan(a) || a < b ? a : b;
}

__int128 nb_abs(__int128 x)
{
	return x < 0 ? -x : x;
}

__int128 nb_sign_of_int(__int128 x)
{
	return (x > 0) - (x < 0);
}

/* A square beyond 128 bits is one beyond 64, which is reported. */
__int128 nb_square_of_int(__int128 x)
{
	__int128 a = nb_abs(x);

	return a > INT64_MAX ? (__int128)1 << 100 : a * a;
}

__int128 nb_maximum_of_ints(__int128 a, __int128 b)
{
	return a > b ? a : b;
}

__int128 nb_minimum_of_ints(__int128 a, __int128 b)
{
	return a < b ? a : b;
}
