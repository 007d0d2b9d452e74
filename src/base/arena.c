/*
 * arena.c: memory that lives as long as a compilation.
 * In: sizes and bytes. Out: zeroed memory, aligned to 8 bytes, which is freed with its arena only.
 * More than LARGE bytes are a block of their own; less is cut from a chunk. Blocks and chunks of
 * MAPPED bytes or more are mappings that begin at a huge page: to grow one, the system moves its
 * pages and copies nothing. An emptied arena keeps a chunk, and its mappings for the next chunks
 * and blocks, as the system needs longer to find and clear a page than ptgc needs to fill it.
 * When memory runs out, the arena jumps (longjmp) to the place that arena_new() was given.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/base.h"

#define PAGE      ((size_t)4 << 10)
#define HUGE_PAGE ((size_t)2 << 20)
#ifdef ARENA_EXACT /* each piece is a block, whose end the fuzzer and valgrind know */
#define LARGE  ((size_t)0)
#define REUSES SIZE_MAX
#define MAPPED SIZE_MAX
#else
#define LARGE  ((size_t)64 << 10)
#define REUSES (HUGE_PAGE / 4) /* blocks from here on take spare mappings, if there are any */
#define MAPPED HUGE_PAGE       /* or else are mappings of their own; smaller ones are from malloc */
#endif
#define CHUNK       ((size_t)256 << 10)
#define MANY_CHUNKS ((size_t)2 << 20) /* from here on, chunks are PARTs of huge pages */
#define PART        (HUGE_PAGE / 4)
#define CLEAR       ((size_t)32 << 10) /* used memory is cleared in steps that fit the cache */

struct chunk {
	struct chunk *next;
	size_t mapped; /* bytes of its mapping; 0: from calloc */
	bool fresh;    /* spare: what is behind this struct is zero */
	_Alignas(16) char data[];
};

struct large {
	struct large *next, **link;
	size_t size;
	size_t mapped; /* as above */
	bool used;     /* what is behind the block in its mapping may not be zero */
	_Alignas(16) char data[];
};

struct arena {
	struct chunk *chunks;
	struct large *larges;
	char *at, *end; /* free part of the newest chunk: all zero */
	char *limit;    /* [end, limit) is free too, but was used before */
	size_t total;
	struct spare *spare;
	jmp_buf *oom;
};

NORETURN static void out_of_memory(struct arena *a)
{
	longjmp(*a->oom, 1);
}

struct arena *arena_new(jmp_buf *oom, struct spare *spare)
{
	struct arena *a = calloc(1, sizeof(*a));
	if (a) {
		a->oom = oom;
		a->spare = spare;
	}
	return a;
}

/* A mapping of huge pages, if the system has them: small pages are cleared one by one, each at a
 * page fault, which took half of the time of a large compilation. */
static void *map_pages(size_t size)
{
	char *p = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	size_t head = (HUGE_PAGE - (uintptr_t)p % HUGE_PAGE) % HUGE_PAGE;
	if (head)
		munmap(p, head);
	munmap(p + head + size, HUGE_PAGE - head);
	madvise(p + head, size, MADV_HUGEPAGE);
	return p + head;
}

static void join(struct chunk *c)
{
	struct chunk *next = c->next;
	if ((char *)c + c->mapped != (char *)next)
		return;
	c->mapped += next->mapped;
	c->next = next->next;
	c->fresh &= next->fresh;
	*next = (struct chunk){0};
}

/* The spare mappings are in the order of their addresses; neighbours become one. */
static void keep(struct spare *s, void *pages, size_t size, bool fresh)
{
	struct chunk *c = pages, *before = NULL, *behind = s->chunks;
	while (behind && behind < c) {
		before = behind;
		behind = behind->next;
	}
	*c = (struct chunk){.next = behind, .mapped = size, .fresh = fresh};
	*(before ? &before->next : &s->chunks) = c;
	join(c);
	if (before)
		join(before);
}

/* Takes `size` bytes of the smallest spare mapping that has them; NULL: there is none. What `fresh`
 * says holds for them, too. */
static struct chunk *take(struct spare *s, size_t size)
{
	struct chunk **best = NULL;
	for (struct chunk **link = &s->chunks; *link; link = &(*link)->next)
		if ((*link)->mapped >= size && (!best || (*link)->mapped < (*best)->mapped))
			best = link;
	if (!best)
		return NULL;
	struct chunk *c = *best, *rest = (struct chunk *)((char *)c + size);
	if (c->mapped > size)
		*rest = (struct chunk){c->next, c->mapped - size, c->fresh};
	*best = c->mapped > size ? rest : c->next;
	return c;
}

/* A piece of memory with its header: from malloc, or `mapped` bytes of pages. */
static void give_back(void *p, size_t mapped, struct spare *s)
{
	if (!mapped)
		free(p);
	else if (s)
		keep(s, p, mapped, false);
	else
		munmap(p, mapped);
}

static void free_all(struct arena *a, struct spare *s)
{
	for (struct chunk *c = a->chunks, *next; c; c = next) {
		next = c->next;
		give_back(c, c->mapped, s);
	}
	for (struct large *l = a->larges, *next; l; l = next) {
		next = l->next;
		give_back(l, l->mapped, s);
	}
}

void arena_free(struct arena *a)
{
	if (!a)
		return;
	free_all(a, NULL);
	free(a);
}

void spare_free(struct spare *s)
{
	for (struct chunk *c = s->chunks, *next; c; c = next) {
		next = c->next;
		give_back(c, c->mapped, NULL);
	}
	s->chunks = NULL;
}

size_t arena_size(const struct arena *a)
{
	return a->total;
}

size_t mul_size(struct arena *a, size_t n, size_t size)
{
	size_t r;
	if (__builtin_mul_overflow(n, size, &r))
		out_of_memory(a);
	return r;
}

static size_t round_up(struct arena *a, size_t size)
{
	if (size > PTRDIFF_MAX - 2 * HUGE_PAGE)
		out_of_memory(a);
	return (size + 7) & ~(size_t)7;
}

static size_t mapping_size(size_t size)
{
	return (sizeof(struct large) + size + PAGE - 1) & ~(PAGE - 1);
}

/* Spare pages with room for a block of `size` bytes, which are not cleared; NULL: there are none.
 */
static struct large *take_large(struct arena *a, size_t size)
{
	size_t mapped = mapping_size(size);
	struct chunk *c = size < REUSES ? NULL : take(a->spare, mapped);
	struct large *l = (struct large *)c;
	if (l)
		*l = (struct large){.mapped = mapped, .used = !c->fresh};
	return l;
}

/* Fresh pages, which are zero */
static struct large *map_large(size_t size)
{
	size_t mapped = mapping_size(size);
	struct large *l = map_pages(mapped);
	if (l)
		l->mapped = mapped;
	return l;
}

static void *alloc_large(struct arena *a, size_t size)
{
	struct large *l = take_large(a, size);
	if (l && l->used)
		memset(l->data, 0, size);
	else if (!l)
		l = size < MAPPED ? calloc(1, sizeof(*l) + size) : map_large(size);
	if (!l)
		out_of_memory(a);
	l->size = size;
	l->next = a->larges;
	l->link = &a->larges;
	if (l->next)
		l->next->link = &l->next;
	a->larges = l;
	a->total += size;
	return l->data;
}

/* A PART of spare pages, or of a new huge page, the rest of which becomes spare */
static struct chunk *take_part(struct arena *a)
{
	struct chunk *c = take(a->spare, PART);
	if (c || a->total < MANY_CHUNKS)
		return c;
	void *pages = map_pages(HUGE_PAGE);
	if (pages)
		keep(a->spare, pages, HUGE_PAGE, true);
	return take(a->spare, PART);
}

/* Takes what is free from c, the newest chunk, whose memory is zero if it is fresh. */
static void use_chunk(struct arena *a, struct chunk *c, bool fresh)
{
	c->next = a->chunks;
	a->chunks = c;
	a->at = c->data;
	a->limit = (char *)c + (c->mapped ? PART : CHUNK);
	a->end = fresh ? a->limit : a->at;
	a->total += (size_t)(a->limit - (char *)c);
}

static void add_chunk(struct arena *a)
{
	struct chunk *part = take_part(a), *c = part ? part : calloc(1, CHUNK);
	if (!c)
		out_of_memory(a);
	c->mapped = part ? PART : 0;
	use_chunk(a, c, !part || part->fresh);
}

void arena_empty(struct arena *a)
{
	struct chunk *kept = a->chunks && !a->chunks->mapped ? a->chunks : NULL;

	if (kept)
		a->chunks = kept->next;
	free_all(a, a->spare);
	*a = (struct arena){.spare = a->spare, .oom = a->oom};
	if (kept)
		use_chunk(a, kept, false);
}

/* Clears [at, at + size) of the newest chunk, which is that large. */
static void clear_more(struct arena *a, size_t size)
{
	size_t left = (size_t)(a->limit - a->end), n = size < CLEAR ? CLEAR : size;
	n = n < left ? n : left;
	memset(a->end, 0, n);
	a->end += n;
}

void *arena_alloc(struct arena *a, size_t size)
{
	size = round_up(a, size);
	if (size > LARGE)
		return alloc_large(a, size);
	if ((size_t)(a->end - a->at) < size || !a->at) {
		if ((size_t)(a->limit - a->at) < size || !a->at)
			add_chunk(a);
		if ((size_t)(a->end - a->at) < size)
			clear_more(a, size);
	}
	void *p = a->at;
	a->at += size;
	return p;
}

/* Moves the pages of l to a new address: at a huge page, or anywhere if there is no such room.
 * NULL: there is no memory, or l consists of several mappings. */
static struct large *move_pages(struct large *l, size_t mapped)
{
	void *to = map_pages(mapped);
	void *p = to ? mremap(l, l->mapped, mapped, MREMAP_MAYMOVE | MREMAP_FIXED, to)
		     : mremap(l, l->mapped, mapped, MREMAP_MAYMOVE);
	if (p == MAP_FAILED) {
		if (to)
			munmap(to, mapped);
		return NULL;
	}
	l = p;
	l->mapped = mapped;
	return l;
}

/* Copies l to `to`, another block, and gives its memory back. */
static struct large *replace_large(struct arena *a, struct large *l, struct large *to)
{
	if (!to)
		return NULL;
	to->next = l->next;
	to->link = l->link;
	to->size = l->size;
	memcpy(to->data, l->data, l->size);
	give_back(l, l->mapped, a->spare);
	return to;
}

/* A block of `size` bytes with the contents of l. NULL: no memory, and l is unchanged. The bytes
 * after l->size are zero only if the block is a mapping that was not used before. */
static struct large *regrow(struct arena *a, struct large *l, size_t size)
{
	size_t mapped = mapping_size(size);
	if (mapped <= l->mapped)
		return l;
	struct large *to = take_large(a, size);
	if (to)
		return replace_large(a, l, to);
	if (l->mapped && (to = move_pages(l, mapped)))
		return to;
	if (!l->mapped && size < MAPPED)
		return realloc(l, sizeof(*l) + size);
	return replace_large(a, l, map_large(size));
}

static void *grow_large(struct arena *a, void *p, size_t old_size, size_t size)
{
	struct large *l = (struct large *)((char *)p - offsetof(struct large, data));
	l = regrow(a, l, size);
	if (!l) /* the old block is still linked */
		out_of_memory(a);
	*l->link = l;
	if (l->next)
		l->next->link = &l->next;
	size_t zero_from = l->mapped && !l->used ? l->size : size;
	memset(l->data + old_size, 0, zero_from - old_size);
	a->total += size - l->size;
	l->size = size;
	return l->data;
}

void *arena_grow(struct arena *a, void *p, size_t old_size, size_t new_size)
{
	if (!p)
		return arena_alloc(a, new_size);
	size_t old = round_up(a, old_size), size = round_up(a, new_size);
	if (size <= old) {
		if (new_size > old_size) /* the padding may have been written to */
			memset((char *)p + old_size, 0, new_size - old_size);
		return p;
	}
	if (old > LARGE)
		return grow_large(a, p, old_size, size);
	size_t more = size - old;
	if ((char *)p + old == a->at && size <= LARGE && more <= (size_t)(a->limit - a->at)) {
		if (more > (size_t)(a->end - a->at))
			clear_more(a, more);
		memset((char *)p + old_size, 0, old - old_size);
		a->at += more;
		return p;
	}
	void *q = arena_alloc(a, new_size);
	memcpy(q, p, old_size);
	return q;
}

void arena_trim(struct arena *a, void *p, size_t old_size, size_t new_size)
{
	size_t old = round_up(a, old_size);
	if (old <= LARGE && (char *)p + old == a->at)
		a->at = (char *)p + round_up(a, new_size);
}

void *vec_more(struct arena *a, void *at, uint32_t *cap, size_t elem)
{
	uint64_t old = *cap;
	uint64_t more = old < 8 ? 8 : old * elem <= LARGE ? old * 2 : old + old / 2;
	if (more > UINT32_MAX)
		more = UINT32_MAX;
	if (more == old)
		out_of_memory(a);
	at = arena_grow(a, at, mul_size(a, old, elem), mul_size(a, more, elem));
	*cap = (uint32_t)more;
	return at;
}

char *arena_strdup(struct arena *a, const char *s, size_t len)
{
	char *p = arena_alloc(a, len + 1);
	if (len)
		memcpy(p, s, len);
	return p;
}
