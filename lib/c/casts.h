/* Floats to integers. In: any number. Out: what is before the point, and of NaN, infinities and
   what is out of range x86-64's values, which are NumPy's and ONNX Runtime's: types of up to 32
   bits have the low bits of the int32_t, which is its least one if out of range; uint32_t those of
   the int64_t, likewise; uint64_t of negative numbers wraps. No branches. */
#ifndef PTGC_C_CASTS_H
#define PTGC_C_CASTS_H

#include <stdint.h>

static inline int32_t ptgc_to_i32(double x)
{
	const double low = -2147483648.0;
	return (int32_t)(((x > -2147483649.0) & (x < 2147483648.0)) ? x : low);
}

static inline int16_t ptgc_to_i16(double x)
{
	return (int16_t)ptgc_to_i32(x);
}

static inline int8_t ptgc_to_i8(double x)
{
	return (int8_t)ptgc_to_i32(x);
}

static inline uint16_t ptgc_to_u16(double x)
{
	return (uint16_t)ptgc_to_i32(x);
}

static inline uint8_t ptgc_to_u8(double x)
{
	return (uint8_t)ptgc_to_i32(x);
}

static inline int64_t ptgc_to_i64(double x)
{
	const double low = -9223372036854775808.0;
	return (int64_t)(((x >= low) & (x < 9223372036854775808.0)) ? x : low);
}

static inline uint32_t ptgc_to_u32(double x)
{
	return (uint32_t)ptgc_to_i64(x);
}

static inline uint64_t ptgc_to_u64(double x)
{
	const double half = 9223372036854775808.0;
	const int high = x >= half;
	const uint64_t u = (uint64_t)ptgc_to_i64(high ? x - half : x);
	return high ? u ^ (uint64_t)1 << 63 : u;
}

#endif
