/*
 * strbuf.c: text that grows, and printf() into it. In: pieces of text; formats and arguments as the
 * C library's printf() takes them. Out: text in an arena. The C library needs several times as long
 * for names and integers, which are nearly all that is printed; it prints the floats.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

#define FIRST_CAP  64
#define MAX_DIGITS 64  /* of an integer, with the zeros before it */
#define MAX_FLOAT  400 /* bytes of one as %.0f */

static __attribute__((noinline)) void grow(struct strbuf *b, size_t more)
{
	size_t cap = b->cap < FIRST_CAP ? FIRST_CAP : b->cap + b->cap / 2;
	if (cap - b->len <= more)
		cap = more < PTRDIFF_MAX - b->len ? b->len + more + 1 : SIZE_MAX;
	b->s = arena_grow(b->arena, b->s, b->cap, cap);
	b->cap = cap;
}

void sb_add(struct strbuf *b, const char *s, size_t len)
{
	if (b->cap - b->len <= len)
		grow(b, len);
	if (len)
		memcpy(b->s + b->len, s, len);
	b->len += len;
	b->s[b->len] = 0;
}

/* --- printf --- */

struct directive { /* such as %-24s, %.*s, %04x or %llu */
	bool left, zeros;
	int width, precision; /* precision -1: there is none */
	char size;            /* of an integer: 'l', 'q' for ll, 'z', or 0 */
	char what;
};

static int read_number(const char **fmt, va_list *args)
{
	int n = 0;

	if (**fmt == '*') {
		++*fmt;
		return va_arg(*args, int);
	}
	for (; **fmt >= '0' && **fmt <= '9'; ++*fmt)
		n = 10 * n + (**fmt - '0');
	return n;
}

/* What stands behind a %, up to where *fmt is then */
static struct directive read_directive(const char **fmt, va_list *args)
{
	struct directive d = {.precision = -1};

	for (; **fmt == '-' || **fmt == '0'; ++*fmt)
		*(**fmt == '-' ? &d.left : &d.zeros) = true;
	d.width = read_number(fmt, args);
	if (d.width < 0) {
		d.left = true;
		d.width = -d.width;
	}
	if (**fmt == '.') {
		++*fmt;
		d.precision = read_number(fmt, args);
	}
	for (; **fmt == 'l' || **fmt == 'z'; ++*fmt)
		d.size = d.size == 'l' ? 'q' : **fmt;
	d.what = *(*fmt)++;
	return d;
}

static void add_padded(struct strbuf *b, const struct directive *d, const char *s, size_t len)
{
	size_t pad = len < (size_t)d->width ? (size_t)d->width - len : 0;

	if (!d->left)
		for (size_t i = 0; i < pad; i++)
			sb_add(b, " ", 1);
	sb_add(b, s, len);
	if (d->left)
		for (size_t i = 0; i < pad; i++)
			sb_add(b, " ", 1);
}

static void add_integer(struct strbuf *b, const struct directive *d, uint64_t v, bool negative)
{
	const char *digits = d->what == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
	char text[MAX_DIGITS], *end = text + sizeof(text), *s = end;
	uint32_t bits = d->what == 'o' ? 3 : 4;

	if (d->what == 'd' || d->what == 'u')
		for (; v; v /= 10)
			*--s = (char)('0' + v % 10);
	else
		for (; v; v >>= bits)
			*--s = digits[v & ((1u << bits) - 1)];
	if (s == end)
		*--s = '0';
	while (d->zeros && end - s + negative < d->width && s > text + 1)
		*--s = '0';
	if (negative)
		*--s = '-';
	add_padded(b, d, s, (size_t)(end - s));
}

static int64_t signed_argument(const struct directive *d, va_list *args)
{
	switch (d->size) {
	case 'q':
		return va_arg(*args, long long);
	case 'l':
		return va_arg(*args, long);
	case 'z':
		return va_arg(*args, ptrdiff_t);
	default:
		return va_arg(*args, int);
	}
}

static uint64_t unsigned_argument(const struct directive *d, va_list *args)
{
	switch (d->size) {
	case 'q':
		return va_arg(*args, unsigned long long);
	case 'l':
		return va_arg(*args, unsigned long);
	case 'z':
		return va_arg(*args, size_t);
	default:
		return va_arg(*args, unsigned int);
	}
}

static void add_float(struct strbuf *b, const struct directive *d, double v)
{
	char text[MAX_FLOAT];
	const char *fmt = d->what == 'a' ? "%.*a" : d->what == 'f' ? "%.*f" : "%.*g";

	snprintf(text, sizeof(text), fmt, d->precision, v);
	add_padded(b, d, text, strlen(text));
}

static void add_directive(struct strbuf *b, const struct directive *d, va_list *args)
{
	const char *s;
	int64_t v;
	char c;

	switch (d->what) {
	case 's':
		s = va_arg(*args, const char *);
		add_padded(b, d, s,
			   d->precision < 0 ? strlen(s) : strnlen(s, (size_t)d->precision));
		return;
	case 'c':
		c = (char)va_arg(*args, int);
		add_padded(b, d, &c, 1);
		return;
	case 'd':
		v = signed_argument(d, args);
		add_integer(b, d, v < 0 ? -(uint64_t)v : (uint64_t)v, v < 0);
		return;
	case 'u':
	case 'x':
	case 'X':
	case 'o':
		add_integer(b, d, unsigned_argument(d, args), false);
		return;
	case 'a':
	case 'f':
	case 'g':
		add_float(b, d, va_arg(*args, double));
		return;
	case '%':
		sb_add(b, "%", 1);
		return;
	default: /* no format of ptgc's has another one */
		abort();
	}
}

void sb_vprintf(struct strbuf *b, const char *fmt, va_list args)
{
	va_list rest; /* a pointer to args is of another type: it may be an array */

	va_copy(rest, args);
	for (;;) {
		size_t n = (size_t)(strchrnul(fmt, '%') - fmt);
		if (n || !b->s)
			sb_add(b, fmt, n);
		fmt += n;
		if (!*fmt++)
			break;
		if (*fmt == 's') { /* as most are */
			sb_str(b, va_arg(rest, const char *));
			fmt++;
			continue;
		}
		struct directive d = read_directive(&fmt, &rest);
		add_directive(b, &d, &rest);
	}
	va_end(rest);
}

void sb_printf(struct strbuf *b, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	sb_vprintf(b, fmt, args);
	va_end(args);
}

char *arena_vprintf(struct arena *a, const char *fmt, va_list args)
{
	struct strbuf b = {.arena = a};

	sb_vprintf(&b, fmt, args);
	arena_trim(a, b.s, b.cap, b.len + 1);
	return b.s;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	char *s = arena_vprintf(a, fmt, args);
	va_end(args);
	return s;
}
