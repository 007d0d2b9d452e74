/* Words of NumPy's generators PCG64 and PCG64DXSM: 64 bits each, one after the other. A generator
   is six words: the halves of its state and of its increment, and two that are kept as they are.
   The halves stand high before low. */
#ifndef PTGC_C_STREAM_H
#define PTGC_C_STREAM_H

#include "bits.h"

struct ptgc_state { /* an integer modulo 2^128 */
	uint64_t high, low;
};

PTGC_INLINE struct ptgc_state ptgc_state_of(uint64_t high, uint64_t low)
{
	struct ptgc_state s;
	s.high = high;
	s.low = low;
	return s;
}

/* s m + a */
PTGC_INLINE struct ptgc_state ptgc_step(struct ptgc_state s, struct ptgc_state m,
					struct ptgc_state a)
{
	struct ptgc_state y;
	uint64_t low;
	const uint64_t high = ptgc_product128(s.low, m.low, &low);
	y.low = low + a.low;
	y.high = high + s.high * m.low + s.low * m.high + a.high + (y.low < low);
	return y;
}

/* n words of PCG64: the exclusive or of the halves of the state after a step, rotated right by its
   highest 6 bits */
static inline void ptgc_words_pcg64(const uint64_t *generator, int64_t n, uint64_t *words)
{
	const struct ptgc_state m =
		ptgc_state_of(UINT64_C(0x2360ed051fc65da4), UINT64_C(0x4385df649fccf645));
	const struct ptgc_state a = ptgc_state_of(generator[2], generator[3]);
	struct ptgc_state s = ptgc_state_of(generator[0], generator[1]);

	for (int64_t i = 0; i < n; ++i) {
		s = ptgc_step(s, m, a);
		const uint64_t x = s.high ^ s.low, r = s.high >> 58;
		words[i] = x >> r | x << ((64 - r) & 63);
	}
}

/* n words of PCG64DXSM: a product of the halves of the state before a step */
static inline void ptgc_words_pcg64dxsm(const uint64_t *generator, int64_t n, uint64_t *words)
{
	const uint64_t factor = UINT64_C(0xda942042e4dd58b5);
	const struct ptgc_state m = ptgc_state_of(0, factor);
	const struct ptgc_state a = ptgc_state_of(generator[2], generator[3]);
	struct ptgc_state s = ptgc_state_of(generator[0], generator[1]);

	for (int64_t i = 0; i < n; ++i) {
		const uint64_t x = (s.high ^ s.high >> 32) * factor;
		words[i] = (x ^ x >> 48) * (s.low | 1);
		s = ptgc_step(s, m, a);
	}
}

/* The generator after n words of a stream whose step is s m + a: that of 2^k steps is
   s m_k + a_k, where m_k = m_(k-1)^2 and a_k = a_(k-1) m_(k-1) + a_(k-1). */
static inline void ptgc_after(const uint64_t *generator, struct ptgc_state m, int64_t n,
			      uint64_t *next)
{
	const struct ptgc_state zero = ptgc_state_of(0, 0);
	struct ptgc_state a = ptgc_state_of(generator[2], generator[3]);
	struct ptgc_state s = ptgc_state_of(generator[0], generator[1]);

	for (; n > 0; n >>= 1) {
		if (n & 1)
			s = ptgc_step(s, m, a);
		a = ptgc_step(a, m, a);
		m = ptgc_step(m, m, zero);
	}
	next[0] = s.high;
	next[1] = s.low;
	for (int i = 2; i < 6; ++i)
		next[i] = generator[i];
}

static inline void ptgc_after_pcg64(const uint64_t *generator, int64_t n, uint64_t *next)
{
	ptgc_after(generator,
		   ptgc_state_of(UINT64_C(0x2360ed051fc65da4), UINT64_C(0x4385df649fccf645)), n,
		   next);
}

static inline void ptgc_after_pcg64dxsm(const uint64_t *generator, int64_t n, uint64_t *next)
{
	ptgc_after(generator, ptgc_state_of(0, UINT64_C(0xda942042e4dd58b5)), n, next);
}

#endif
