/* What C leaves open or undefined of integers. In: int64_t or uint64_t, to which shorter ones are
   extended; the caller cuts results to their type. Out: PyTensor's values. Sums, differences and
   products wrap by unsigned arithmetic in the caller.
   Divisions by 0 are 0, and the least integer divided by -1 wraps. */
#ifndef PTGC_C_INTS_H
#define PTGC_C_INTS_H

#include <stdint.h>

static inline int64_t ptgc_neg_i64(int64_t a)
{
	return (int64_t)(0 - (uint64_t)a);
}

static inline int64_t ptgc_abs_i64(int64_t a)
{
	return a < 0 ? ptgc_neg_i64(a) : a;
}

static inline uint64_t ptgc_abs_u64(uint64_t a)
{
	return a;
}

/* towards 0 */
static inline int64_t ptgc_div_i64(int64_t a, int64_t b)
{
	return b == 0 ? 0 : b == -1 ? ptgc_neg_i64(a) : a / b;
}

static inline uint64_t ptgc_div_u64(uint64_t a, uint64_t b)
{
	return b == 0 ? 0 : a / b;
}

/* the remainder of that, of the sign of a */
static inline int64_t ptgc_rem_i64(int64_t a, int64_t b)
{
	return b == 0 || b == -1 ? 0 : a % b;
}

static inline uint64_t ptgc_rem_u64(uint64_t a, uint64_t b)
{
	return b == 0 ? 0 : a % b;
}

/* the remainder of the sign of b */
static inline int64_t ptgc_mod_i64(int64_t a, int64_t b)
{
	const int64_t r = ptgc_rem_i64(a, b);
	return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static inline uint64_t ptgc_mod_u64(uint64_t a, uint64_t b)
{
	return ptgc_rem_u64(a, b);
}

/* down */
static inline int64_t ptgc_floor_div_i64(int64_t a, int64_t b)
{
	const int64_t r = ptgc_rem_i64(a, b);
	return ptgc_div_i64(a, b) - (r != 0 && (r < 0) != (b < 0));
}

static inline uint64_t ptgc_floor_div_u64(uint64_t a, uint64_t b)
{
	return ptgc_div_u64(a, b);
}

static inline int64_t ptgc_max_i64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static inline int64_t ptgc_min_i64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t ptgc_max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t ptgc_min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* b powers of a; wraps. 1 for b <= 0: negative exponents are refused by a check before */
static inline int64_t ptgc_pow_i64(int64_t a, int64_t b)
{
	uint64_t p = (uint64_t)a, r = 1;

	for (; b > 0; b >>= 1) {
		r *= b & 1 ? p : 1;
		p *= p;
	}
	return (int64_t)r;
}

static inline uint64_t ptgc_pow_u64(uint64_t a, uint64_t b)
{
	uint64_t p = a, r = 1;

	for (; b > 0; b >>= 1) {
		r *= b & 1 ? p : 1;
		p *= p;
	}
	return r;
}

/* Of a type of `bits` bits; all are shifted out where b is that and more */
static inline uint64_t ptgc_shift_left(uint64_t a, uint64_t b, unsigned bits)
{
	return b < bits ? a << b : 0;
}

static inline uint64_t ptgc_shift_right(uint64_t a, uint64_t b, unsigned bits)
{
	return b < bits ? a >> b : 0;
}

#endif
