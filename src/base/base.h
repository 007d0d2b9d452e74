/*
 * base.h: memory and containers, below everything else. Nothing here knows of a compilation.
 */
#ifndef PTGC_BASE_BASE_H
#define PTGC_BASE_BASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define countof(a)        (sizeof(a) / sizeof((a)[0]))
#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define NORETURN          __attribute__((noreturn))

/* arena.c: two lifetimes of memory, nothing freed piecemeal; running out unwinds to the API */
struct spare { /* pages of emptied arenas, for those that share it */
	struct chunk *chunks;
};
struct arena *arena_new(jmp_buf *oom, struct spare *spare); /* spare NULL: none */
void arena_empty(struct arena *a);
void arena_free(struct arena *a);
void spare_free(struct spare *s);
void *arena_alloc(struct arena *a, size_t size); /* zeroed, 8-aligned */
void *arena_grow(struct arena *a, void *p, size_t old_size, size_t new_size); /* tail zeroed */
size_t arena_size(const struct arena *a);
char *arena_strdup(struct arena *a, const char *s, size_t len);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF(2, 3);
size_t mul_size(struct arena *a, size_t n, size_t size); /* checked: overflow is out of memory */
/* clang-format off */
#define new(a, T)          ((T *)arena_alloc(a, sizeof(T)))
#define new_array(a, T, n) ((T *)arena_alloc(a, mul_size(a, n, sizeof(T))))
/* clang-format on */

/* growable array in an arena: struct { T *at; uint32_t len, cap; } */
#define vec(T)                                                                                     \
	struct {                                                                                   \
		T *at;                                                                             \
		uint32_t len, cap;                                                                 \
	}
#define vec_push(a, v) /* pointer to a zeroed new last element; invalidates older pointers */      \
	((v)->len == (v)->cap ? ((v)->at = vec_more(a, (v)->at, &(v)->cap, sizeof(*(v)->at)), 0)   \
			      : 0,                                                                 \
	 &(v)->at[(v)->len++])
void *vec_more(struct arena *a, void *at, uint32_t *cap, size_t elem);

/* strbuf: text under construction, always 0-terminated once something was added */
struct strbuf {
	struct arena *arena;
	char *s;
	size_t len, cap;
};
void sb_add(struct strbuf *b, const char *s, size_t len);
void sb_str(struct strbuf *b, const char *s);
void sb_printf(struct strbuf *b, const char *fmt, ...) PRINTF(2, 3);
void sb_vprintf(struct strbuf *b, const char *fmt, va_list ap);

/* text that may hold any byte, not 0-terminated */
struct astr {
	const char *s;
	uint32_t len;
};

/*
 * hash.c: an index of things that have numbers, by their hashes. A number is found with all the
 * others that have its hash; the caller compares:
 *
 *   struct probe p = {.hash = h};
 *   while (hash_next(&table, &p))
 *           if (same(things[p.number], thing))
 *                   return things[p.number];
 *   hash_add(arena, &table, h, number);
 */
struct hash_slot {
	uint32_t hash;
	uint32_t number; /* + 1; 0: free */
};
struct hash_table {
	struct hash_slot *slots;
	uint32_t nslots, count; /* nslots is a power of two */
};
struct probe {
	uint32_t hash, number;
	uint32_t step; /* slots seen so far */
};
bool hash_next(const struct hash_table *t, struct probe *p);
void hash_add(struct arena *a, struct hash_table *t, uint32_t hash, uint32_t number);

/* diag.c: for broken invariants only, never for input */
NORETURN void bug(const char *fmt, ...) PRINTF(1, 2);

#endif
