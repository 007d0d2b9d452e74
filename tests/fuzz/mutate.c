/*
 * mutate.c: texts that are almost .ptg. In: a text, another one to take pieces from, a seed. Out:
 * the first text with one to four changes of whole tokens, lines or bracketed parts. Holds: the
 * same seed gives the same text on every machine.
 */
#include <ctype.h>
#include <string.h>

#include "fuzz.h"

struct piece {
	const char *at;
	size_t len;
};

/* A generator of random numbers of its own (splitmix64): that of the C library is not the same
 * everywhere. */
uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static size_t below(uint64_t *state, size_t n)
{
	return n ? (size_t)(next_random(state) % n) : 0;
}

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* The word, string, number, run of blanks or single character that `at` lies in or begins. */
static struct piece token_at(const char *text, size_t len, size_t at)
{
	size_t begin = at, end = at;

	if (at >= len)
		return (struct piece){text + len, 0};
	if (in_word(text[at])) {
		while (begin && in_word(text[begin - 1]))
			begin--;
		while (end < len && in_word(text[end]))
			end++;
	} else if (text[at] == '"') {
		for (end++; end < len && text[end] != '"' && text[end] != '\n'; end++)
			;
		end += end < len;
	} else {
		for (end++; end < len && text[at] == ' ' && text[end] == ' '; end++)
			;
	}
	return (struct piece){text + begin, end - begin};
}

static struct piece line_at(const char *text, size_t len, size_t at)
{
	size_t begin = at < len ? at : len, end = begin;

	while (begin && text[begin - 1] != '\n')
		begin--;
	while (end < len && text[end] != '\n')
		end++;
	return (struct piece){text + begin, end - begin + (end < len)};
}

/* From the first opening bracket behind `at` to the one that closes it. */
static struct piece bracket_at(const char *text, size_t len, size_t at)
{
	size_t depth = 0, begin = at;

	while (begin < len && !strchr("([{", text[begin]))
		begin++;
	for (size_t i = begin; i < len; i++) {
		if (text[i] && strchr("([{", text[i]))
			depth++;
		else if (text[i] && strchr(")]}", text[i]) && !--depth)
			return (struct piece){text + begin, i + 1 - begin};
	}
	return (struct piece){text + len, 0};
}

static struct piece any_piece(const char *text, size_t len, uint64_t *r)
{
	size_t at = below(r, len);

	switch (below(r, 8)) {
	case 0:
	case 1:
		return line_at(text, len, at);
	case 2:
		return bracket_at(text, len, at);
	default:
		return token_at(text, len, at);
	}
}

static struct piece odd_piece(uint64_t *r)
{
	static const char *const odd[] = {
		"0",
		"-1",
		"1",
		"2",
		"64",
		"65",
		"0.0",
		"-0.0",
		"1e308",
		"1e-320",
		"nan",
		"inf",
		"infj",
		"9223372036854775807",
		"-9223372036854775808",
		"18446744073709551615",
		"0x1p-3",
		"None",
		"True",
		"[]",
		"()",
		"(1,)",
		"[0, 1]",
		",",
		":",
		"::-1",
		"...",
		"?",
		"n",
		"n-1",
		"2*n+1",
		"\"",
		"\"x\"",
		"#",
		"\n",
		"`",
		"\\",
		"=",
		"==",
		"->",
		"**",
		"//",
		"@",
		"-",
		"~",
		".T",
		".set(1)",
		".inc(x)",
		"{axis=0}",
		"{axis=-2}",
		"{dtype=int8}",
		"dtype(x)",
		"rank(x)",
		"file(\"x.npy\")",
		"bytes(\"AAAA\")",
		"in",
		"while",
		"until",
		"next",
		"loop",
		"if",
		"else",
		"graph",
		"fn",
		"use",
		"const",
		"rule",
		"for",
		"as",
		"0:3",
		"bool",
		"int8",
		"uint64",
		"float16",
		"float32",
		"complex64",
		"complex128",
		"\xc3\xa9",
		"\xff",
	};
	const char *s = odd[below(r, sizeof(odd) / sizeof(odd[0]))];

	return (struct piece){s, strlen(s)};
}

/* Replaces a piece of the text by n copies of another, as long as these fit. */
static size_t splice(char *text, size_t len, size_t max, struct piece old, struct piece new,
		     size_t n)
{
	static char copy[MAX_TEXT];
	size_t at = (size_t)(old.at - text), tail = len - at - old.len;

	if (new.len > sizeof(copy) || at + n *new.len + tail > max)
		return len;
	memcpy(copy, new.at, new.len);
	memmove(text + at + n * new.len, old.at + old.len, tail);
	for (size_t i = 0; i < n; i++)
		memcpy(text + at + i * new.len, copy, new.len);
	return at + n * new.len + tail;
}

/* Puts up to 100 brackets around a piece, some with a comma before they close. */
static size_t wrap(char *text, size_t len, size_t max, struct piece p, uint64_t *r)
{
	static const char *const pairs[] = {"()", "[]", "{}"};
	const char *pair = pairs[below(r, 3)];
	size_t n = 1 + below(r, below(r, 4) ? 3 : 100), comma = below(r, 2 * n),
	       at = (size_t)(p.at - text);
	struct piece after = {text + at + p.len, 0};

	for (size_t i = 0; i < n && len + 3 <= max; i++) {
		len = splice(text, len, max, after, (struct piece){pair + 1, 1}, 1);
		if (i == comma)
			len = splice(text, len, max, after, (struct piece){",", 1}, 1);
		len = splice(text, len, max, (struct piece){text + at, 0}, (struct piece){pair, 1},
			     1);
		after.at += 2 + (i == comma);
	}
	return len;
}

size_t mutate(char *text, size_t len, size_t max, const char *other, size_t other_len,
	      uint64_t seed)
{
	for (size_t changes = 1 + below(&seed, 4); changes; changes--) {
		struct piece old = any_piece(text, len, &seed), gap = {old.at, 0};
		switch (below(&seed, 10)) {
		case 0: /* drop */
			len = splice(text, len, max, old, gap, 0);
			break;
		case 1: /* double, or more */
			len = splice(text, len, max, gap, old,
				     below(&seed, 8) ? 1 : below(&seed, 200));
			break;
		case 2:
			len = wrap(text, len, max, old, &seed);
			break;
		case 3:
			len = splice(text, len, max, old, odd_piece(&seed), 1);
			break;
		case 4:
			len = splice(text, len, max, gap, odd_piece(&seed), 1);
			break;
		case 5: /* what stands elsewhere in the text */
			len = splice(text, len, max, old, any_piece(text, len, &seed), 1);
			break;
		case 6:
			len = splice(text, len, max, gap, any_piece(other, other_len, &seed), 1);
			break;
		case 7: /* a byte */
			if (old.len && old.at < text + len)
				text[old.at - text] = (char)next_random(&seed);
			break;
		default: /* what stands in the other text */
			len = splice(text, len, max, old, any_piece(other, other_len, &seed), 1);
		}
	}
	return len;
}
