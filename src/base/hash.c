/*
 * hash.c: a table from hashes to numbers, for whatever is looked up by content: names, nodes.
 * In: hashes and the numbers of what has them. Out: the numbers with a given hash.
 * Open addressing. A slot holds the hash with the number, so that neither a search nor growing
 * reads the things themselves.
 */
#include "base/base.h"

bool hash_next(const struct hash_table *t, struct probe *p)
{
	uint32_t mask = t->nslots - 1;
	if (!t->nslots)
		return false;
	for (;;) {
		const struct hash_slot *s = &t->slots[(p->hash + p->step++) & mask];
		p->number = s->number - 1;
		if (!s->number || s->hash == p->hash)
			return s->number;
	}
}

static void put(struct hash_table *t, struct hash_slot s)
{
	uint32_t mask = t->nslots - 1, i = s.hash & mask;
	while (t->slots[i].number)
		i = (i + 1) & mask;
	t->slots[i] = s;
}

/*
 * Doubles the table in place, from n to 2n slots. Slot i moves to a place at or before i, or
 * at or before n + i in the upper half, so slots that are moved in order never meet one that is
 * still to be moved.
 * A run of used slots may go around the end of the table, so the order begins after a free slot.
 */
static void grow(struct arena *a, struct hash_table *t)
{
	uint32_t n = t->nslots, first = 0;
	size_t size = mul_size(a, n, sizeof(*t->slots));
	t->nslots = n ? 2 * n : 64;
	t->slots = arena_grow(a, t->slots, size, mul_size(a, t->nslots, sizeof(*t->slots)));
	while (first < n && t->slots[first].number)
		first++;
	for (uint32_t i = 0; i < n; i++) {
		struct hash_slot *at = &t->slots[(first + i) & (n - 1)], s = *at;
		if (!s.number)
			continue;
		*at = (struct hash_slot){0};
		put(t, s);
	}
}

void hash_add(struct arena *a, struct hash_table *t, uint32_t hash, uint32_t number)
{
	if (t->count >= t->nslots / 4 * 3)
		grow(a, t);
	put(t, (struct hash_slot){hash, number + 1});
	t->count++;
}
