/*
 * arena.c: memory that lives as long as a compilation, growing text, and interned names.
 * In: sizes and bytes. Out: zeroed, 8-aligned memory that is freed with its arena only.
 * Holds: a block of more than LARGE bytes is a malloc block of its own (so growing it is a
 * realloc, which moves pages and leaves no copy behind), a smaller one lies in a chunk.
 * No memory: longjmp to the place that the arena was made with.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "all.h"

#ifdef ARENA_EXACT /* for fuzzing: each piece is a block of its own, so sanitizers know its end */
#define LARGE ((size_t)0)
#else
#define LARGE ((size_t)64 << 10)
#endif
#define CHUNK     ((size_t)256 << 10)
#define BIG_CHUNK ((size_t)8 << 20) /* once an arena has grown large: whole huge pages */
#define HUGE_PAGE ((size_t)2 << 20)

struct chunk {
	struct chunk *next;
	size_t size; /* bytes of a mapping; 0: from calloc. Keeps data[] 16-aligned */
	char data[];
};

struct large {
	struct large *next, **link;
	size_t size;
	size_t pad;
	char data[];
};

struct arena {
	struct chunk *chunks;
	struct large *larges;
	char *at, *end; /* free part of the newest chunk; all zero */
	size_t total;
	jmp_buf *oom;
};

NORETURN static void out_of_memory(struct arena *a)
{
	longjmp(*a->oom, 1);
}

struct arena *arena_new(jmp_buf *oom)
{
	struct arena *a = calloc(1, sizeof(*a));
	if (a)
		a->oom = oom;
	return a;
}

void arena_free(struct arena *a)
{
	if (!a)
		return;
	for (struct chunk *c = a->chunks, *next; c; c = next) {
		next = c->next;
		if (c->size)
			munmap(c, c->size);
		else
			free(c);
	}
	for (struct large *l = a->larges, *next; l; l = next) {
		next = l->next;
		free(l);
	}
	free(a);
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
	if (size > PTRDIFF_MAX - sizeof(struct large) - 8)
		out_of_memory(a);
	return (size + 7) & ~(size_t)7;
}

/* Asks for huge pages from data[from] on; what is there already stays as it is. */
static void use_huge_pages(struct large *l, size_t from, size_t size)
{
	uintptr_t first = ((uintptr_t)l->data + from + 4095) & ~(uintptr_t)4095;
	uintptr_t end = (uintptr_t)l->data + size;
	if (end > first && end - first >= 2 * HUGE_PAGE)
		madvise((void *)first, end - first, MADV_HUGEPAGE);
}

static void *alloc_large(struct arena *a, size_t size)
{
	struct large *l = calloc(1, sizeof(*l) + size);
	if (!l)
		out_of_memory(a);
	l->size = size;
	l->next = a->larges;
	l->link = &a->larges;
	if (l->next)
		l->next->link = &l->next;
	a->larges = l;
	a->total += size;
	use_huge_pages(l, 0, size);
	return l->data;
}

/* Fresh pages in huge pages where the system gives them: clearing small ones one by one, each by
 * a fault of its own, was half of the time of a large compilation. */
static struct chunk *map_chunk(size_t *size)
{
	char *p = mmap(NULL, BIG_CHUNK + HUGE_PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	size_t head = (HUGE_PAGE - (uintptr_t)p % HUGE_PAGE) % HUGE_PAGE;
	if (head)
		munmap(p, head);
	if (HUGE_PAGE - head)
		munmap(p + head + BIG_CHUNK, HUGE_PAGE - head);
	madvise(p + head, BIG_CHUNK, MADV_HUGEPAGE);
	*size = BIG_CHUNK;
	struct chunk *c = (struct chunk *)(p + head);
	c->size = BIG_CHUNK;
	return c;
}

static void add_chunk(struct arena *a)
{
	/* calloc: fresh pages are zero already, so nothing is cleared by hand */
	size_t size = CHUNK;
	struct chunk *c = a->total < BIG_CHUNK ? calloc(1, CHUNK) : map_chunk(&size);
	if (!c)
		out_of_memory(a);
	c->next = a->chunks;
	a->chunks = c;
	a->at = c->data;
	a->end = (char *)c + size;
	a->total += size;
}

void *arena_alloc(struct arena *a, size_t size)
{
	size = round_up(a, size);
	if (size > LARGE)
		return alloc_large(a, size);
	if ((size_t)(a->end - a->at) < size || !a->at)
		add_chunk(a);
	void *p = a->at;
	a->at += size;
	return p;
}

static void *grow_large(struct arena *a, void *p, size_t old_size, size_t size)
{
	struct large *l = (struct large *)((char *)p - offsetof(struct large, data));
	l = realloc(l, sizeof(*l) + size);
	if (!l) /* the old block is still linked */
		out_of_memory(a);
	*l->link = l;
	if (l->next)
		l->next->link = &l->next;
	use_huge_pages(l, old_size, size);
	memset(l->data + old_size, 0, size - old_size);
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
	if ((char *)p + old == a->at && size <= LARGE && size - old <= (size_t)(a->end - a->at)) {
		memset((char *)p + old_size, 0, old - old_size);
		a->at += size - old;
		return p;
	}
	void *q = arena_alloc(a, new_size);
	memcpy(q, p, old_size);
	return q;
}

void *vec_more(struct arena *a, void *at, uint32_t *cap, size_t elem)
{
	uint64_t old = *cap;
	uint64_t more = old < 8 ? 8 : old * elem < LARGE ? old * 2 : old + old / 2;
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

PRINTF(3, 0) static char *print(struct arena *a, size_t *len, const char *fmt, va_list args)
{
	va_list again;
	va_copy(again, args);
	int n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0)
		out_of_memory(a);
	char *s = arena_alloc(a, (size_t)n + 1);
	vsnprintf(s, (size_t)n + 1, fmt, args);
	*len = (size_t)n;
	return s;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	size_t len;
	va_list args;
	va_start(args, fmt);
	char *s = print(a, &len, fmt, args);
	va_end(args);
	return s;
}

static void sb_reserve(struct strbuf *b, size_t more)
{
	if (b->cap - b->len > more)
		return;
	size_t cap = b->cap < 64 ? 64 : b->cap + b->cap / 2;
	if (cap - b->len <= more) {
		if (more > PTRDIFF_MAX - b->len)
			out_of_memory(b->arena);
		cap = b->len + more + 1;
	}
	b->s = arena_grow(b->arena, b->s, b->cap, cap);
	b->cap = cap;
}

void sb_add(struct strbuf *b, const char *s, size_t len)
{
	sb_reserve(b, len);
	if (len)
		memcpy(b->s + b->len, s, len);
	b->len += len;
	b->s[b->len] = 0;
}

void sb_str(struct strbuf *b, const char *s)
{
	sb_add(b, s, strlen(s));
}

void sb_vprintf(struct strbuf *b, const char *fmt, va_list args)
{
	va_list again;
	va_copy(again, args);
	int n = vsnprintf(NULL, 0, fmt, args);
	if (n < 0)
		out_of_memory(b->arena);
	sb_reserve(b, (size_t)n);
	vsnprintf(b->s + b->len, (size_t)n + 1, fmt, again);
	va_end(again);
	b->len += (size_t)n;
}

void sb_printf(struct strbuf *b, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	sb_vprintf(b, fmt, args);
	va_end(args);
}

/* Interned names: chains in a table that doubles in place, as bucket i splits into i and i + n. */
struct entry {
	struct sym sym;
	struct entry *next;
	char text[];
};

struct intern {
	struct entry **bucket;
	uint32_t nbuckets; /* a power of two */
	uint32_t count;
};

struct intern *intern_new(struct ctx *cx)
{
	struct intern *t = new (cx->arena, struct intern);
	t->nbuckets = 1024;
	t->bucket = new_array(cx->arena, struct entry *, t->nbuckets);
	cx->names = t;
	for (enum dtype d = DT_NONE + 1; d < DT_COUNT; d++)
		intern_str(cx, dtypes[d].name)->dtype = (uint8_t)d;
	return t;
}

static uint32_t hash_bytes(const char *s, size_t len)
{
	uint64_t h = len * 0x9e3779b97f4a7c15u, w;
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
	return (uint32_t)(h >> 32);
}

static void split_buckets(struct arena *a, struct intern *t)
{
	uint32_t n = t->nbuckets;
	size_t size = mul_size(a, n, sizeof(*t->bucket));
	t->bucket = arena_grow(a, t->bucket, size, 2 * size);
	t->nbuckets = 2 * n;
	for (uint32_t i = 0; i < n; i++) {
		struct entry **low = &t->bucket[i], **high = &t->bucket[i + n];
		for (struct entry *e = *low; e; e = e->next) {
			struct entry ***list = e->sym.hash & n ? &high : &low;
			**list = e;
			*list = &e->next;
		}
		*low = *high = NULL;
	}
}

struct sym *intern(struct ctx *cx, const char *s, size_t len)
{
	struct intern *t = cx->names;
	uint32_t hash = hash_bytes(s, len);
	for (struct entry *e = t->bucket[hash & (t->nbuckets - 1)]; e; e = e->next)
		if (e->sym.hash == hash && e->sym.len == len && !memcmp(e->text, s, len))
			return &e->sym;
	if (t->count == t->nbuckets && t->nbuckets < (uint32_t)1 << 31)
		split_buckets(cx->arena, t);
	struct entry *e = arena_alloc(cx->arena, sizeof(*e) + len + 1);
	memcpy(e->text, s, len);
	e->sym.s = e->text;
	e->sym.len = (uint32_t)len;
	e->sym.hash = hash;
	struct entry **b = &t->bucket[hash & (t->nbuckets - 1)];
	e->next = *b;
	*b = e;
	t->count++;
	return &e->sym;
}

struct sym *intern_str(struct ctx *cx, const char *s)
{
	return intern(cx, s, strlen(s));
}
