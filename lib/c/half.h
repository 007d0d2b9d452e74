/* float16 as 16 bits, and numbers rounded to it, to nearest, ties to even. In C float16 is computed
   in float and rounded by ptgc_f16_round() where the text rounds. No branches. */
#ifndef PTGC_C_HALF_H
#define PTGC_C_HALF_H

#include "bits.h"

PTGC_INLINE float ptgc_f16_get(uint16_t h)
{
	const uint32_t a = (uint32_t)(h & 0x7fff) << 13;
	/* 2^112: the exponents' biases; a product also makes normal numbers of subnormal ones */
	const float f = ptgc_from_bitsf(a) * 5192296858534827628530496329220096.0f;
	const uint32_t ends = (h & 0x7c00) == 0x7c00 ? 0x7f800000 | a : ptgc_bitsf(f);
	return ptgc_from_bitsf(ends | (uint32_t)(h & 0x8000) << 16);
}

PTGC_INLINE uint16_t ptgc_f16_bits(float x)
{
	const uint32_t all = ptgc_bitsf(x), a = all & 0x7fffffff, sign = all >> 16 & 0x8000;
	const uint32_t rounded = ((a + 0xfff + (a >> 13 & 1)) >> 13) - (112 << 10);
	/* a sum with 1/2, whose last bit is 2^-24 */
	const uint32_t small = ptgc_bitsf(ptgc_from_bitsf(a) + 0.5f) - 0x3f000000;
	const uint32_t usual = a < 0x38800000 ? small : rounded;
	const uint32_t most = a >= 0x477ff000 ? 0x7c00 : usual; /* from 65520 on */
	return (uint16_t)(sign | (a > 0x7f800000 ? 0x7e00 : most));
}

PTGC_INLINE uint16_t ptgc_f16_bits_of_f64(double x)
{
	const uint64_t all = ptgc_bits(x), a = all & ~((uint64_t)1 << 63),
		       sign = all >> 48 & 0x8000;
	const uint64_t rounded =
		((a + UINT64_C(0x1ffffffffff) + (a >> 42 & 1)) >> 42) - (1008 << 10);
	/* a sum with 2^28, whose last bit is 2^-24 */
	const uint64_t small =
		ptgc_bits(ptgc_from_bits(a) + 268435456.0) - UINT64_C(0x41b0000000000000);
	const uint64_t usual = a < UINT64_C(0x3f10000000000000) ? small : rounded;
	const uint64_t most = a >= UINT64_C(0x40effe0000000000) ? 0x7c00 : usual;
	return (uint16_t)(sign | (a > UINT64_C(0x7ff0000000000000) ? 0x7e00 : most));
}

PTGC_INLINE float ptgc_f16_round(float x)
{
	return ptgc_f16_get(ptgc_f16_bits(x));
}

PTGC_INLINE float ptgc_f16_of_f64(double x)
{
	return ptgc_f16_get(ptgc_f16_bits_of_f64(x));
}

#endif
