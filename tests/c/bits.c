/* Prints a line of each function of lib/c: its name and a hash of the bits of its results at the
   same numbers everywhere, in double and in float. The lines are the same from all compilers and
   machines. bits [points] */
#include <stdio.h>
#include <stdlib.h>
#include "all.h"

#define MOST 4096
static double x[MOST], y[MOST], z[MOST];
static float xf[MOST], yf[MOST], zf[MOST];
static uint64_t state = 88172645463325252u;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

/* of all exponents, or of the usual size */
static void numbers(double *v, float *f)
{
	for (int i = 0; i < MOST; i++) {
		const double u = (double)(int64_t)next() * 0x1p-58;
		v[i] = i & 1 ? u : ptgc_from_bits(next());
		f[i] = i & 1 ? (float)u : ptgc_from_bitsf((uint32_t)(next() >> 32));
	}
}

static uint64_t mix(uint64_t h, uint64_t bits)
{
	return (h ^ bits) * 0x9e3779b97f4a7c15u + (h >> 29);
}

static uint64_t hash(uint64_t h)
{
	for (int i = 0; i < MOST; i++) {
		h = mix(h, z[i] == z[i] ? ptgc_bits(z[i]) : 1);
		h = mix(h, zf[i] == zf[i] ? ptgc_bitsf(zf[i]) : 1);
	}
	return h;
}

/* Loops, so that compilers vectorise them */
#define ONE(name)                                                                                  \
	static void loop_##name(void)                                                              \
	{                                                                                          \
		for (int i = 0; i < MOST; i++)                                                     \
			z[i] = ptgc_##name(x[i]);                                                  \
		for (int i = 0; i < MOST; i++)                                                     \
			zf[i] = ptgc_##name##f(xf[i]);                                             \
	}
#define TWO(name)                                                                                  \
	static void loop_##name(void)                                                              \
	{                                                                                          \
		for (int i = 0; i < MOST; i++)                                                     \
			z[i] = ptgc_##name(x[i], y[i]);                                            \
		for (int i = 0; i < MOST; i++)                                                     \
			zf[i] = ptgc_##name##f(xf[i], yf[i]);                                      \
	}
/* Of the usual size, and fewer */
#define SERIES2(name)                                                                              \
	static void loop_##name(void)                                                              \
	{                                                                                          \
		for (int i = 1; i < MOST; i += 8)                                                  \
			z[i] = ptgc_##name(x[i], y[i]);                                            \
		for (int i = 1; i < MOST; i += 8)                                                  \
			zf[i] = ptgc_##name##f(xf[i], yf[i]);                                      \
	}
#define SERIES3(name)                                                                              \
	static void loop_##name(void)                                                              \
	{                                                                                          \
		for (int i = 1; i < MOST; i += 8)                                                  \
			z[i] = ptgc_##name(fabs(x[i]), fabs(y[i]), fabs(x[i]) / 32);               \
		for (int i = 1; i < MOST; i += 8)                                                  \
			zf[i] = ptgc_##name##f(fabsf(xf[i]), fabsf(yf[i]), fabsf(xf[i]) / 32);     \
	}
#define SERIES4(name)                                                                              \
	static void loop_##name(void)                                                              \
	{                                                                                          \
		for (int i = 1; i < MOST; i += 8)                                                  \
			z[i] = ptgc_##name(x[i], y[i], fabs(x[i]) + 1, 1 - fabs(y[i]) / 8);        \
		for (int i = 1; i < MOST; i += 8)                                                  \
			zf[i] = ptgc_##name##f(xf[i], yf[i], fabsf(xf[i]) + 1,                     \
					       1 - fabsf(yf[i]) / 8);                              \
	}
#include "functions.def"

static const struct {
	const char *name;
	void (*loop)(void);
} functions[] = {
#define ONE(name)     {#name, loop_##name},
#define TWO(name)     {#name, loop_##name},
#define SERIES2(name) {#name, loop_##name},
#define SERIES3(name) {#name, loop_##name},
#define SERIES4(name) {#name, loop_##name},
#include "functions.def"
};

int main(int argc, char **argv)
{
	const long rounds = (argc > 1 ? atol(argv[1]) : 20000) / MOST + 1;
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		uint64_t h = 0;
		state = 88172645463325252u;
		for (long k = 0; k < rounds; k++) {
			numbers(x, xf);
			numbers(y, yf);
			functions[i].loop();
			h = hash(h);
		}
		printf("%-12s %016llx\n", functions[i].name, (unsigned long long)h);
	}
	return 0;
}
