/*
 * hash_sink.c: a sink that keeps nothing but a hash of what is written, XXH64 with the seed 0, by
 * which the files of weights are called. In: bytes in order. Out: 64 bits.
 */
#include <string.h>
#include <unistd.h>

#include "data/data.h"

#define P1    0x9E3779B185EBCA87u
#define P2    0xC2B2AE3D27D4EB4Fu
#define P3    0x165667B19E3779F9u
#define P4    0x85EBCA77C2B2AE63u
#define P5    0x27D4EB2F165667C5u
#define BLOCK 32u

static uint64_t rotate(uint64_t v, int n)
{
	return v << n | v >> (64 - n);
}

/* n bytes as a number, the lowest first on any machine */
static uint64_t load(const uint8_t *p, int n)
{
	uint64_t v = 0;
	for (int i = 0; i < n; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

static uint64_t mix(uint64_t lane, uint64_t v)
{
	return rotate(lane + v * P2, 31) * P1;
}

static void hash_block(struct hash_sink *h, const uint8_t *p)
{
	for (int i = 0; i < 4; i++)
		h->lanes[i] = mix(h->lanes[i], load(p + (ptrdiff_t)8 * i, 8));
}

static bool hash_write(struct sink *s, const void *data, size_t len)
{
	struct hash_sink *h = (struct hash_sink *)s;
	const uint8_t *p = data, *end = p + len;
	size_t had = s->written % BLOCK, more = BLOCK - had;
	s->written += len;
	if (had && len >= more) {
		memcpy(h->rest + had, p, more);
		hash_block(h, h->rest);
		p += more;
		had = 0;
	}
	for (; !had && (size_t)(end - p) >= BLOCK; p += BLOCK)
		hash_block(h, p);
	if (p < end)
		memcpy(h->rest + had, p, (size_t)(end - p));
	return true;
}

/* Reads the file rather than its mapping, whose pages would count as memory of the process. */
static size_t hash_copy(struct sink *s, int fd, uint64_t offset, size_t len)
{
	uint8_t buf[1 << 16];
	size_t done = 0;
	while (done < len) {
		size_t left = len - done;
		ssize_t n = pread(fd, buf, left < sizeof(buf) ? left : sizeof(buf),
				  (off_t)(offset + done));
		if (n <= 0)
			break;
		hash_write(s, buf, (size_t)n);
		done += (size_t)n;
	}
	return done;
}

void hash_sink_init(struct hash_sink *h)
{
	*h = (struct hash_sink){.sink = {.write = hash_write, .copy = hash_copy},
				.lanes = {P1 + P2, P2, 0, -P1}};
}

uint64_t hash_sink_end(const struct hash_sink *h)
{
	static const int turns[] = {1, 7, 12, 18};
	const uint8_t *p = h->rest, *end = p + h->sink.written % BLOCK;
	uint64_t v = P5;
	if (h->sink.written >= BLOCK) {
		v = 0;
		for (int i = 0; i < 4; i++)
			v += rotate(h->lanes[i], turns[i]);
		for (int i = 0; i < 4; i++)
			v = (v ^ mix(0, h->lanes[i])) * P1 + P4;
	}
	v += h->sink.written;
	for (; end - p >= 8; p += 8)
		v = rotate(v ^ mix(0, load(p, 8)), 27) * P1 + P4;
	for (; end - p >= 4; p += 4)
		v = rotate(v ^ load(p, 4) * P1, 23) * P2 + P3;
	for (; p < end; p++)
		v = rotate(v ^ *p * P5, 11) * P1;
	v = (v ^ v >> 33) * P2;
	v = (v ^ v >> 29) * P3;
	return v ^ v >> 32;
}

const char *name_with_hash(struct ctx *cx, const char *name, uint64_t hash)
{
	const char *star = strrchr(name, '*');

	return star ? arena_printf(cx->arena, "%.*s%0*llx%s", (int)(star - name), name, HASH_DIGITS,
				   (unsigned long long)hash, star + 1)
		    : name;
}
