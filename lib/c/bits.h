/* The bits of floats as integers, and back. In: a number. Out: the same bits. */
#ifndef PTGC_C_BITS_H
#define PTGC_C_BITS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Loops vectorise only where all is part of them; compilers by themselves stop at some size. By
   default gcc also heeds floating-point traps and errno, of which nobody asks here. PTGC_CALL marks
   what has loops of its own that take long: a copy of it in each caller costs compilers much, and
   gains nothing. PTGC_RARE marks what is seldom called, so that compilers take no time for it.
   PTGC_APART marks ptgc_exp_call() and the like: where a long file asks gcc for less, it calls these
   and has no copies of ptgc_exp(). */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("no-trapping-math", "no-math-errno")
#endif
#ifdef __GNUC__
#ifdef PTGC_LIBM /* nothing may be left that calls what libm's functions replace */
#define PTGC_INLINE static inline __attribute__((always_inline, unused))
#else
#define PTGC_INLINE static inline __attribute__((always_inline))
#endif
#define PTGC_CALL static __attribute__((noinline, unused))
#define PTGC_RARE static __attribute__((noinline, cold, unused))
#else
#define PTGC_INLINE static inline
#define PTGC_CALL   static inline
#define PTGC_RARE   static inline
#endif
#if defined __GNUC__ && !defined __clang__ && !defined PTGC_O3
#define PTGC_APART PTGC_CALL
#else
#define PTGC_APART PTGC_INLINE
#endif

PTGC_INLINE uint64_t ptgc_bits(double x)
{
	uint64_t u;
	memcpy(&u, &x, sizeof u);
	return u;
}

PTGC_INLINE double ptgc_from_bits(uint64_t u)
{
	double x;
	memcpy(&x, &u, sizeof x);
	return x;
}

PTGC_INLINE uint32_t ptgc_bitsf(float x)
{
	uint32_t u;
	memcpy(&u, &x, sizeof u);
	return u;
}

PTGC_INLINE float ptgc_from_bitsf(uint32_t u)
{
	float x;
	memcpy(&x, &u, sizeof x);
	return x;
}

/* a b as two words; returns the high one */
static inline uint64_t ptgc_product128(uint64_t a, uint64_t b, uint64_t *low)
{
#ifdef __SIZEOF_INT128__
	__extension__ const unsigned __int128 p = (unsigned __int128)a * b;
	*low = (uint64_t)p;
	return (uint64_t)(p >> 64);
#else
	const uint64_t a1 = a >> 32, a0 = a & 0xffffffff, b1 = b >> 32, b0 = b & 0xffffffff;
	const uint64_t p = a0 * b0, q = a1 * b0 + (p >> 32), r = a0 * b1 + (q & 0xffffffff);
	*low = r << 32 | (p & 0xffffffff);
	return a1 * b1 + (q >> 32) + (r >> 32);
#endif
}

/* x with the sign of s */
PTGC_INLINE double ptgc_signed(double x, double s)
{
	const uint64_t sign = (uint64_t)1 << 63;
	return ptgc_from_bits((ptgc_bits(x) & ~sign) | (ptgc_bits(s) & sign));
}

/* Of a loop over an array: a where c is true, else b, of numbers that are both computed. Written
   with bits, as compilers take the other way of writing for a branch, which does not vectorise. */
PTGC_INLINE double ptgc_pick(int c, double a, double b)
{
	const uint64_t m = c ? ~(uint64_t)0 : 0;
	return ptgc_from_bits((ptgc_bits(a) & m) | (ptgc_bits(b) & ~m));
}

#endif
