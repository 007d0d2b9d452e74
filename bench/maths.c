/* The functions of lib/c beside libm's: nanoseconds an element of loops over 1,000 numbers of the
   usual size, the least of 200 rounds; first libm, then lib/c, then their quotient.
   cc -O3 -march=native -ffp-contract=off -Ilib/c -Itests/c
   bench/maths.c -lm */
#include <stdio.h>
#include <time.h>
#include "all.h"

#define N 1000
double x[N], y[N]; /* not static, so that what is stored counts */
float xf[N], yf[N];

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#define LEAST(result, loop)                                                                        \
	do {                                                                                       \
		result = 1e30;                                                                     \
		for (int round = 0; round < 200; round++) {                                        \
			const double start = now();                                                \
			for (int i = 0; i < N; i++)                                                \
				loop;                                                              \
			__asm__ volatile("" ::: "memory");                                         \
			const double took = (now() - start) / N;                                   \
			result = took < result ? took : result;                                    \
		}                                                                                  \
	} while (0)

#define BENCH(name, libm, low, high)                                                               \
	do {                                                                                       \
		double a, b, c, d;                                                                 \
		for (int i = 0; i < N; i++)                                                        \
			xf[i] = (float)(x[i] = (low) + ((high) - (low)) * i / N);                  \
		LEAST(a, y[i] = libm(x[i]));                                                       \
		LEAST(b, y[i] = ptgc_##name(x[i]));                                                \
		LEAST(c, yf[i] = libm##f(xf[i]));                                                  \
		LEAST(d, yf[i] = ptgc_##name##f(xf[i]));                                           \
		printf("%-10s %6.2f %6.2f %5.2f   float %6.2f %6.2f %5.2f\n", #name, a, b, a / b,  \
		       c, d, c / d);                                                               \
	} while (0)

int main(void)
{
	BENCH(exp, exp, -10, 10);
	BENCH(expm1, expm1, -3, 3);
	BENCH(exp2, exp2, -10, 10);
	BENCH(log, log, 0.1, 50);
	BENCH(log1p, log1p, -0.9, 5);
	BENCH(log2, log2, 0.1, 50);
	BENCH(log10, log10, 0.1, 50);
	BENCH(tanh, tanh, -3, 3);
	BENCH(sinh, sinh, -3, 3);
	BENCH(cosh, cosh, -3, 3);
	BENCH(sin, sin, -10, 10);
	BENCH(cos, cos, -10, 10);
	BENCH(tan, tan, -10, 10);
	BENCH(asin, asin, -1, 1);
	BENCH(acos, acos, -1, 1);
	BENCH(atan, atan, -3, 3);
	BENCH(asinh, asinh, -3, 3);
	BENCH(acosh, acosh, 1, 9);
	BENCH(atanh, atanh, -1, 1);
	BENCH(erf, erf, -3, 3);
	BENCH(erfc, erfc, -3, 8);
	return 0;
}
