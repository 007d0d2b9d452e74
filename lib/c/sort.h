/* Orders. Numbers become keys, unsigned integers in the same order, in which -0 is 0 and NaN the
   greatest; keys are sorted by one digit of 8 bits after the other. What has equal keys keeps its
   order, so that rows are sorted by one column after the other, from the last one. */
#ifndef PTGC_C_SORT_H
#define PTGC_C_SORT_H

#include <string.h>

#include "bits.h"

static inline uint64_t ptgc_key(double x)
{
	const uint64_t u = ptgc_bits(x + 0), top = (uint64_t)1 << 63;

	return x != x ? UINT64_MAX : (u & top) ? ~u : (u | top);
}

static inline uint64_t ptgc_key_i64(int64_t x)
{
	return (uint64_t)x ^ ((uint64_t)1 << 63);
}

static inline uint64_t ptgc_key_u64(uint64_t x)
{
	return x;
}

/* One digit: keys and what stands at them, to where their digits say */
static inline void ptgc_sort_digit(const uint64_t *keys, const int64_t *at, uint64_t *to,
				   int64_t *to_at, int64_t n, int64_t *place, int shift)
{
	int64_t next = 0;

	for (int digit = 0; digit < 256; ++digit) {
		const int64_t count = place[digit];
		place[digit] = next;
		next += count;
	}
	for (int64_t i = 0; i < n; ++i) {
		const int64_t k = place[keys[i] >> shift & 255]++;
		to[k] = keys[i];
		to_at[k] = at[i];
	}
}

/* Sorts n keys, upwards, and `at`, which moves with them. `room` is as long as both together. */
static inline void ptgc_sort(uint64_t *keys, int64_t *at, int64_t *room, int64_t n)
{
	int64_t place[256];
	uint64_t *const other = (uint64_t *)room;

	if (n < 64) {
		for (int64_t i = 1; i < n; ++i) {
			const uint64_t key = keys[i];
			const int64_t which = at[i];
			int64_t k = i;
			for (; k > 0 && keys[k - 1] > key; --k) {
				keys[k] = keys[k - 1];
				at[k] = at[k - 1];
			}
			keys[k] = key;
			at[k] = which;
		}
		return;
	}
	for (int shift = 0; shift < 64; shift += 8) {
		memset(place, 0, sizeof place);
		for (int64_t i = 0; i < n; ++i)
			++place[keys[i] >> shift & 255];
		if (place[keys[0] >> shift & 255] == n)
			continue; /* all have the same digit */
		ptgc_sort_digit(keys, at, other, room + n, n, place, shift);
		memcpy(keys, other, (size_t)n * sizeof *keys);
		memcpy(at, room + n, (size_t)n * sizeof *at);
	}
}

#endif
