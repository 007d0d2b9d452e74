/*
 * literal.c: texts of literals -> values. In: text that the scanner's patterns matched; out:
 * values, rounded once.
 */
#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "syntax/internal.h"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool literal_int(const char *s, size_t len, uint64_t *v)
{
	bool hex = len > 1 && (s[1] == 'x' || s[1] == 'X');
	unsigned base = hex ? 16 : 10;
	uint64_t sum = 0;

	for (size_t i = hex ? 2 : 0; i < len; i++) {
		int digit = hex_digit(s[i]);
		if (digit < 0)
			continue; /* an underscore */
		if (sum > (UINT64_MAX - (unsigned)digit) / base)
			return false;
		sum = sum * base + (unsigned)digit;
	}
	*v = sum;
	return true;
}

/* The text as strtod takes it: 0-terminated, without underscores. */
static char *plain_number(struct arena *a, char *small, size_t size, const char *s, size_t len)
{
	char *buf = len < size ? small : arena_alloc(a, len + 1);
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		if (s[i] != '_')
			buf[n++] = s[i];
	buf[n] = '\0';
	return buf;
}

/* Up to 15 digits, and a power of ten up to 22: doubles hold both exactly, so that only the
 * division rounds. */
static bool short_decimal(const char *s, size_t len, double *v)
{
	static const double tens[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
				      1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
	uint64_t digits = 0;
	size_t dot = len;

	if (len > 16)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (s[i] == '.')
			dot = i + 1;
		else if (s[i] >= '0' && s[i] <= '9')
			digits = digits * 10 + (uint64_t)(s[i] - '0');
		else
			return false;
	}
	if (digits >= UINT64_C(1) << 53 || len - dot > 15)
		return false;
	*v = (double)digits / tens[len - dot];
	return true;
}

double literal_double(struct arena *a, const char *s, size_t len)
{
	char small[64];
	double v;

	if (short_decimal(s, len, &v))
		return v;
	return strtod(plain_number(a, small, sizeof(small), s, len), NULL);
}

static bool number_char(const char *s, const char *start, const char *end)
{
	bool hex = end - start > 1 && (start[1] == 'x' || start[1] == 'X');

	if (s >= end)
		return false;
	if (hex_digit(*s) >= 0 || *s == '.' || *s == '_' || *s == 'x' || *s == 'X' || *s == 'p' ||
	    *s == 'P')
		return true;
	return (*s == '+' || *s == '-') && s > start &&
	       (hex ? s[-1] == 'p' || s[-1] == 'P' : s[-1] == 'e' || s[-1] == 'E');
}

/* The beginning of the next number after signs, brackets, blanks and comments; NULL: there is
 * none. */
static const char *next_number(const char *at, const char *end)
{
	for (; at < end; at++) {
		if (*at == '#') {
			while (at + 1 < end && at[1] != '\n')
				at++;
		} else if (*at == '.' || (*at >= '0' && *at <= '9')) {
			return at;
		} else if (!strchr("-+(), \t\r\n\f", *at)) {
			return NULL;
		}
	}
	return NULL;
}

/* The double that equals the number, or else of its two neighbours the one with an odd last bit.
 * Rounding that double further gives what rounding the number itself would give. false: `value` is
 * not the nearest double. */
static bool round_to_odd(struct ctx *cx, const char *at, size_t len, double value, double *odd)
{
	char small[64], *text = plain_number(cx->arena, small, sizeof(small), at, len);
	int mode = fegetround();
	uint64_t bits;

	if (fesetround(FE_DOWNWARD))
		return false;
	double low = strtod(text, NULL);
	fesetround(FE_UPWARD);
	double high = strtod(text, NULL);
	fesetround(mode);
	memcpy(&bits, &low, 8);
	*odd = bits & 1 ? low : high;
	return value == low || value == high;
}

/* s.end is not needed for the first number: a folded list keeps the beginnings of its numbers
 * alone. */
double literal_odd(struct ctx *cx, struct span s, bool last, double value)
{
	struct source *src = source_of(cx, s);
	const char *end = src->text + src->len, *stop = end;
	const char *at = next_number(src->text + (s.begin - src->base), end);
	const char *span_end = last ? src->text + (s.end - src->base) : end;
	double odd;

	for (const char *next = at; next && next < span_end;) {
		at = next;
		for (stop = at; number_char(stop, at, end);)
			stop++;
		next = last ? next_number(stop, end) : NULL;
	}
	if (!at || !round_to_odd(cx, at, (size_t)(stop - at), fabs(value), &odd))
		return value;
	return signbit(value) ? -odd : odd;
}

uint32_t utf8_next(const char *s, size_t *i)
{
	static const uint8_t mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	unsigned char first = (unsigned char)s[*i];
	size_t n = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	uint32_t c = first & mask[n];

	for (size_t k = 1; k < n; k++)
		c = c << 6 | ((unsigned char)s[*i + k] & 0x3f);
	*i += n;
	return c;
}

/* Decodes the escape after a backslash at s. Returns the bytes read; 0: unknown. No escape is
 * longer in UTF-8 than in the source. */
static size_t decode_escape(const char *s, size_t left, char *to, size_t *put)
{
	static const char names[] = "\\\\\"\"''n\nr\rt\t";
	size_t digits = *s == 'x' ? 2 : *s == 'u' ? 4 : *s == 'U' ? 8 : 0;
	uint32_t c = 0;

	for (size_t i = 0; !digits && i + 1 < sizeof(names); i += 2) {
		if (names[i] == *s) {
			to[(*put)++] = names[i + 1];
			return 1;
		}
	}
	if (!digits || left <= digits)
		return 0;
	for (size_t i = 1; i <= digits; i++) {
		int d = hex_digit(s[i]);
		if (d < 0 || c > 0xfffffff)
			return 0;
		c = c << 4 | (uint32_t)d;
	}
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000) || (digits == 2 && c > 0x7f))
		return 0;
	*put += utf8_put(to + *put, c);
	return digits + 1;
}

/* s with its quotes. Without escapes the text of the source is the value. */
struct astr *literal_string(struct parse *p, const char *s, size_t len, struct span span)
{
	struct astr *str;
	char *to;
	size_t n = 0;

	str = new (p->arena, struct astr);
	if (!memchr(s, '\\', len)) {
		str->s = p->text + (span.begin - p->base) + 1;
		str->len = (uint32_t)len - 2;
		return str;
	}
	to = arena_alloc(p->arena, len);
	for (size_t i = 1; i + 1 < len;) {
		size_t used = 1;
		if (s[i] != '\\') {
			to[n++] = s[i++];
			continue;
		}
		used = decode_escape(s + i + 1, len - i - 2, to, &n);
		if (!used) {
			span.begin += (uint32_t)i;
			span.end = span.begin + 2;
			parse_error(p, span, E_STRING,
				    "unknown escape in a string (known are \\\\ "
				    "\\\" \\' \\n \\r \\t \\x00-\\x7f \\uHHHH \\UHHHHHHHH)");
			return NULL;
		}
		i += used + 1;
	}
	str->s = to;
	str->len = (uint32_t)n;
	return str;
}

bool name_too_long(struct parse *p, const char *s, size_t len, struct span span)
{
	if (len <= MAX_NAME)
		return false;
	parse_error(p, span, E_LIMIT, "the name '%.*s...' has %zu bytes: at most %d are possible",
		    shown_len(s, len, 20), s, len, MAX_NAME);
	return true;
}

/* A name in backquotes; doubled ones inside stand for one. NULL: reported. */
struct sym *literal_quoted(struct parse *p, const char *s, size_t len, struct span span)
{
	char *to;
	size_t n = 0;

	if (len == 2) {
		parse_error(p, span, E_QUOTE, "a name cannot be empty");
		return NULL;
	}
	if (name_too_long(p, s + 1, len - 2, span))
		return NULL;
	if (!memchr(s + 1, '`', len - 2))
		return intern(p->cx, s + 1, len - 2);
	to = arena_alloc(p->arena, len);
	for (size_t i = 1; i + 1 < len; i++) {
		to[n++] = s[i];
		i += s[i] == '`';
	}
	return intern(p->cx, to, n);
}
