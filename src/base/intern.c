/*
 * intern.c: names. In: bytes. Out: the one struct sym of that name.
 */
#include <string.h>

#include "base/base.h"

struct intern {
	struct hash_table table;
	vec(struct sym *) names;
};

struct intern *intern_new(struct ctx *cx)
{
	struct intern *t = new (cx->arena, struct intern);
	cx->names = t;
	for (enum dtype d = DT_NONE + 1; d < DT_COUNT; d++)
		intern_str(cx, dtypes[d].name)->dtype = (uint8_t)d;
	return t;
}

/* Names that differ in the last byte only, such as v1230 to v1239, get neighbouring hashes, as such
 * names are often looked up one after the other. */
static inline uint32_t hash_name(const char *s, size_t len)
{
	uint64_t h = len * 0x9e3779b97f4a7c15u, w;
	uint32_t last = len ? (uint8_t)s[--len] : 0;
	for (; len >= 8; s += 8, len -= 8) {
		memcpy(&w, s, 8);
		h = (h ^ w) * 0xff51afd7ed558ccdu;
		h ^= h >> 32;
	}
	w = 0;
	memcpy(&w, s, len);
	h = (h ^ w) * 0xff51afd7ed558ccdu;
	h ^= h >> 29;
	h *= 0xc4ceb9fe1a85ec53u;
	return (uint32_t)(h >> 32) + last;
}

static inline struct sym *find(const struct intern *t, uint32_t hash, const char *s, size_t len)
{
	struct probe p = {.hash = hash};
	while (hash_next(&t->table, &p)) {
		struct sym *found = t->names.at[p.number];
		if (found->len == len && !memcmp(found->s, s, len))
			return found;
	}
	return NULL;
}

const struct sym *interned(const struct ctx *cx, const char *s, size_t len)
{
	return find(cx->names, hash_name(s, len), s, len);
}

struct sym *intern(struct ctx *cx, const char *s, size_t len)
{
	struct intern *t = cx->names;
	uint32_t hash = hash_name(s, len);
	struct sym *found = find(t, hash, s, len);
	if (found)
		return found;
	struct sym *sym = arena_alloc(cx->arena, offsetof(struct sym, s) + len + 1);
	memcpy(sym->s, s, len);
	sym->len = (uint32_t)len;
	sym->number = t->names.len;
	*vec_push(cx->arena, &t->names) = sym;
	hash_add(cx->arena, &t->table, hash, t->names.len - 1);
	return sym;
}

struct sym *intern_str(struct ctx *cx, const char *s)
{
	return intern(cx, s, strlen(s));
}

uint32_t name_count(const struct ctx *cx)
{
	return cx->names->names.len;
}
