/*
 * base.h: what the C of --target=c calls beside elementary functions. A file has those that it
 * uses: they are taken chunk by chunk, a chunk being what stands between empty lines.
 */
#ifndef PTGC_BASE_H
#define PTGC_BASE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "ints.h"

/* Where the next array begins, behind one of n elements; SIZE_MAX if no memory can hold it */
static inline size_t ptgc_room(size_t at, int64_t n, size_t size)
{
	const size_t most = SIZE_MAX / 4;
	if (n < 0 || at > most || (uint64_t)n > (most - at) / size)
		return most;
	return (at + (size_t)n * size + 15) & ~(size_t)15;
}

/* What to ask for, if `top` bytes are needed and only the run knows what follows. A run that gets more
   room begins anew, so it asks for more than would do. Pages that nobody touches cost nothing, but
   a machine may refuse room that it does not have. */
static inline size_t ptgc_more_room(size_t top)
{
	const size_t large = (size_t)1 << 28;
	return top < large ? 8 * top : 2 * top;
}

/* Room for n elements behind *top, which moves behind them; false if `bytes` are too few */
static inline bool ptgc_take_room(size_t *top, int64_t n, size_t size, size_t bytes, size_t *need)
{
	*top = ptgc_room(*top, n, size);
	if (*top <= bytes)
		return true;
	*need = ptgc_more_room(*top);
	return false;
}

static inline int64_t ptgc_times(int64_t a, int64_t b)
{
	if (a <= 0 || b <= 0)
		return a < 0 || b < 0 ? -1 : 0;
	return a > INT64_MAX / b ? INT64_MAX : a * b;
}

/* The sum, or what is nearest to it */
static inline int64_t ptgc_plus(int64_t a, int64_t b)
{
	if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b)
		return b > 0 ? INT64_MAX : INT64_MIN;
	return a + b;
}

/* The product, or what is nearest to it; not below -INT64_MAX */
static inline int64_t ptgc_near_times(int64_t a, int64_t b)
{
	const int64_t x = a < -INT64_MAX ? INT64_MAX : a < 0 ? -a : a;
	const int64_t y = b < -INT64_MAX ? INT64_MAX : b < 0 ? -b : b;

	return (a < 0) != (b < 0) ? -ptgc_times(x, y) : ptgc_times(x, y);
}

/* An integer that should be a length, cut to 2^48 and -2^48. No array has 2^48 elements, so what was
   cut is no length before or after; sums of such numbers do not overflow. */
static inline int64_t ptgc_near_length(int64_t n)
{
	const int64_t most = (int64_t)1 << 48;

	return n > most ? most : n < -most ? -most : n;
}

/* A length that Reshape may give as -1, where `others` is the product of all lengths; -1 if the
   others do not say what it is */
static inline int64_t ptgc_open_length(int64_t n, int64_t all, int64_t others)
{
	if (n != -1)
		return n;
	return others < 0 ? all / -others : -1;
}

/* Slices as ONNX has them: a start in front of the array is its first element, for a negative step
   too */
static inline int64_t ptgc_slice_start(int64_t start, int64_t n, int64_t step)
{
	const int64_t first = start < 0 ? ptgc_max_i64(start + n, 0) : start;
	return ptgc_min_i64(first, step > 0 ? n : n - 1);
}

static inline int64_t ptgc_slice_length(int64_t start, int64_t end, int64_t n, int64_t step)
{
	const int64_t from = ptgc_slice_start(start, n, step);
	const int64_t last = end < 0 ? (end < -n ? -1 : end + n) : end;
	const int64_t to = step > 0 ? (last < 0   ? 0
				       : last > n ? n
						  : last)
				    : (last < -1      ? -1
				       : last > n - 1 ? n - 1
						      : last);
	if (step > 0)
		return to > from ? (to - from - 1) / step + 1 : 0;
	return from > to ? (int64_t)((uint64_t)(from - to - 1) / (0 - (uint64_t)step)) + 1 : 0;
}

/* How many steps it takes from `low` up to `high`, or beyond; the greatest number if there are more
 */
static inline int64_t ptgc_steps(int64_t low, int64_t high, uint64_t step)
{
	const uint64_t n = ((uint64_t)high - (uint64_t)low - 1) / step + 1;
	return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

static inline int64_t ptgc_range_i64(int64_t start, int64_t limit, int64_t step)
{
	if (step > 0)
		return limit > start ? ptgc_steps(start, limit, (uint64_t)step) : 0;
	return step < 0 && limit < start ? ptgc_steps(limit, start, 0 - (uint64_t)step) : 0;
}

static inline int64_t ptgc_range_f64(double start, double limit, double step)
{
	const double n = ceil((limit - start) / step);
	return n > 0 ? (n < 9e18 ? (int64_t)n : INT64_MAX) : 0;
}

/* Elements of that size; none if n is not above 0 */
static inline void ptgc_copy(void *to, const void *from, int64_t n, size_t size)
{
	if (n > 0)
		memcpy(to, from, (size_t)n * size);
}

/* An index that may count from the end; one that is out of range is noted in *bad, as `number` */
static inline int64_t ptgc_index(int64_t i, int64_t n, int number, int *bad)
{
	const int64_t k = i < 0 ? i + n : i;
	if (k >= 0 && k < n)
		return k;
	*bad = number;
	return 0;
}

static inline int64_t ptgc_edge(int64_t i, int64_t n)
{
	return i < 0 ? 0 : i < n ? i : n - 1;
}

static inline int64_t ptgc_reflect(int64_t i, int64_t n)
{
	const int64_t round = n > 1 ? 2 * (n - 1) : 1;
	const int64_t k = ptgc_mod_i64(i, round);
	return k < n ? k : round - k;
}

static inline int64_t ptgc_wrap(int64_t i, int64_t n)
{
	return ptgc_mod_i64(i, n);
}

/* The order of TopK: NaN is the greatest */
static inline bool ptgc_above(double a, double b)
{
	return a > b || (a != a && b == b);
}

static inline bool ptgc_below(double a, double b)
{
	return a < b || (b != b && a == a);
}

static inline bool ptgc_above_i64(int64_t a, int64_t b)
{
	return a > b;
}

static inline bool ptgc_below_i64(int64_t a, int64_t b)
{
	return a < b;
}

static inline bool ptgc_above_u64(uint64_t a, uint64_t b)
{
	return a > b;
}

static inline bool ptgc_below_u64(uint64_t a, uint64_t b)
{
	return a < b;
}

#endif
