/*
 * seed.c: generators of random numbers from seeds, as np.random.default_rng(seed) makes them: a
 * SeedSequence mixes the words of the seed into a pool of four, and the bit generator takes its
 * state from this pool. In: the seed. Out: the words of the state, in the order of doc/random.md.
 */
#include <string.h>

#include "data/data.h"

#define POOL 4

const struct generator_kind *generator_kind(enum dtype kind)
{
	static const struct generator_kind kinds[] = {
		[DT_RNG - DT_RNG] = {"PCG64", "pcg64"},
		[DT_RNG_PCG64DXSM - DT_RNG] = {"PCG64DXSM", "pcg64dxsm"},
		[DT_RNG_PHILOX - DT_RNG] = {"Philox", "philox"},
	};

	return &kinds[kind - DT_RNG];
}

struct u128 {
	uint64_t hi, lo;
};

static uint32_t hash_mix(uint32_t v, uint32_t *c)
{
	v ^= *c;
	*c *= 0x931e8875;
	v *= *c;
	return v ^ v >> 16;
}

static uint32_t mix(uint32_t x, uint32_t y)
{
	uint32_t r = 0xca01f9dd * x - 0x4973f715 * y;

	return r ^ r >> 16;
}

/* Word i of the seed: a spawned one has at least four words, then the numbers of the spawns. */
static uint32_t seed_word(const uint32_t *entropy, size_t n, const uint32_t *spawn, size_t i)
{
	size_t own = spawn && n < POOL ? POOL : n;

	return i < n ? entropy[i] : i < own || !spawn ? 0 : spawn[i - own];
}

static void fill_pool(uint32_t pool[POOL], const uint32_t *entropy, size_t n, const uint32_t *spawn,
		      size_t nspawn)
{
	size_t all = nspawn ? (n < POOL ? POOL : n) + nspawn : n;
	uint32_t c = 0x43b0d7e5;

	spawn = nspawn ? spawn : NULL;
	for (size_t i = 0; i < POOL; i++)
		pool[i] = hash_mix(seed_word(entropy, n, spawn, i), &c);
	for (size_t from = 0; from < POOL; from++)
		for (size_t to = 0; to < POOL; to++)
			if (from != to)
				pool[to] = mix(pool[to], hash_mix(pool[from], &c));
	for (size_t i = POOL; i < all; i++)
		for (size_t to = 0; to < POOL; to++)
			pool[to] = mix(pool[to], hash_mix(seed_word(entropy, n, spawn, i), &c));
}

static void words_of_pool(const uint32_t pool[POOL], uint64_t *words, size_t n)
{
	uint32_t c = 0x8b51f9dd;

	for (size_t i = 0; i < 2 * n; i++) {
		uint32_t v = pool[i % POOL] ^ c;
		c *= 0x58f38ded;
		v *= c;
		v ^= v >> 16;
		words[i / 2] = i % 2 ? words[i / 2] | (uint64_t)v << 32 : v;
	}
}

static struct u128 add(struct u128 a, struct u128 b)
{
	uint64_t lo = a.lo + b.lo;

	return (struct u128){a.hi + b.hi + (lo < a.lo), lo};
}

static struct u128 multiply(struct u128 a, struct u128 b)
{
	uint64_t a0 = a.lo & UINT32_MAX, a1 = a.lo >> 32, b0 = b.lo & UINT32_MAX, b1 = b.lo >> 32;
	uint64_t low = a0 * b0, one = a0 * b1 + (low >> 32), two = a1 * b0 + (one & UINT32_MAX);

	return (struct u128){a1 * b1 + (one >> 32) + (two >> 32) + a.hi * b.lo + a.lo * b.hi,
			     two << 32 | (low & UINT32_MAX)};
}

uint32_t state_words(enum dtype kind)
{
	return dtypes[kind].size / sizeof(uint64_t);
}

void seed_words(enum dtype kind, const uint32_t *entropy, size_t n, const uint32_t *spawn,
		size_t nspawn, uint64_t words[MAX_STATE_WORDS])
{
	const struct u128 times = {0x2360ed051fc65da4, 0x4385df649fccf645};
	struct u128 state, inc;
	uint32_t pool[POOL];
	uint64_t seed[4];

	fill_pool(pool, entropy, n, spawn, nspawn);
	memset(words, 0, state_words(kind) * sizeof(*words));
	if (kind == DT_RNG_PHILOX) {
		words_of_pool(pool, words + 4, 2); /* the key; the counter is 0 */
		words[10] = 4;                     /* the buffer is used up */
		return;
	}
	words_of_pool(pool, seed, 4);
	inc = (struct u128){seed[2] << 1 | seed[3] >> 63, seed[3] << 1 | 1};
	state = add(inc, (struct u128){seed[0], seed[1]});
	state = add(multiply(state, times), inc);
	words[0] = state.hi;
	words[1] = state.lo;
	words[2] = inc.hi;
	words[3] = inc.lo;
}
