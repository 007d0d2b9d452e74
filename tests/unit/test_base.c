/*
 * Unit tests of the base: arenas, vectors, names, texts and places, diagnostics, dtypes, halves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/data.h"

static struct ctx *fresh_ctx(void)
{
	struct ctx *cx = ctx_new();
	assert_non_null(cx);
	if (setjmp(cx->oom))
		fail_msg("out of memory");
	return cx;
}

static bool all_zero(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

/* One block grown through all sizes, others between: contents stay, tails are zero. */
static void test_arena(void **state)
{
	struct ctx *cx = fresh_ctx();
	(void)state;
	for (size_t start = 1; start < 200000; start = start * 3 + 5) {
		size_t size = start;
		char *p = arena_alloc(cx->arena, size);
		assert_true(all_zero(p, size));
		memset(p, 7, size);
		while (size < 1000000) {
			size_t more = size + size / 2 + 3;
			if (size % 2)
				memset(arena_alloc(cx->arena, size % 1000), 9, size % 1000);
			p = arena_grow(cx->arena, p, size, more);
			assert_int_equal((uintptr_t)p % 8, 0);
			assert_true(p[0] == 7 && p[size - 1] == 7 &&
				    all_zero(p + size, more - size));
			memset(p, 7, more);
			size = more;
		}
	}
	assert_true(arena_size(cx->arena) >= 1000000);
	assert_string_equal(arena_printf(cx->arena, "%d-%s", 5, "x"), "5-x");
	assert_string_equal(arena_strdup(cx->arena, "abc", 2), "ab");
	ctx_free(cx);
}

/* What one arena gave back serves the other, as zeroes, in pieces of any size. */
static void test_spare(void **state)
{
	enum { MB = 1 << 20 };
	struct ctx *cx = fresh_ctx();
	(void)state;
	for (int round = 0; round < 4; round++) {
		size_t size = (size_t)MB / 2, most = (size_t)(round + 1) * 9 * MB;
		char *p = memset(arena_alloc(cx->scratch, size), 3, size);
		for (; size < most; size += size / 2) {
			p = arena_grow(cx->scratch, p, size, size + size / 2);
			assert_true(p[0] == 3 && p[size - 1] == 3);
			assert_true(all_zero(p + size, size / 2));
			memset(p + size, 3, size / 2);
		}
		for (size_t n = 1; n < 10000; n++) {
			char *q = arena_alloc(n % 2 ? cx->arena : cx->scratch, n % 999);
			assert_true(all_zero(q, n % 999));
			memset(q, 5, n % 999);
		}
		char *q = arena_alloc(cx->arena, 3 * MB);
		assert_true(all_zero(q, 3 * MB));
		memset(q, 7, 3 * MB);
		arena_empty(cx->scratch);
		assert_int_equal(arena_size(cx->scratch), 0);
		assert_true(q[0] == 7 && q[3 * MB - 1] == 7);
	}
	ctx_free(cx);
}

static void test_out_of_memory(void **state)
{
	jmp_buf oom;
	struct spare spare = {0};
	(void)state;
	struct arena *a = arena_new(&oom, &spare);
	switch (setjmp(oom)) {
	case 0:
		arena_alloc(a, SIZE_MAX - 3);
		fail_msg("no memory of that size exists");
	}
	if (!setjmp(oom)) {
		mul_size(a, SIZE_MAX / 2, 3);
		fail_msg("overflow");
	}
	arena_free(a);
}

static void test_vec_strbuf(void **state)
{
	struct ctx *cx = fresh_ctx();
	vec(uint32_t) v = {0};
	struct strbuf b = {.arena = cx->arena};
	(void)state;
	for (uint32_t i = 0; i < 1000000; i++)
		*vec_push(cx->arena, &v) = i;
	for (uint32_t i = 0; i < v.len; i++)
		assert_int_equal(v.at[i], i);
	/* a large vector is moved, not copied: far less than twice its size is taken */
	assert_true(arena_size(cx->arena) < 9u << 20);
	for (int i = 0; i < 10000; i++)
		sb_printf(&b, "%d,", i);
	sb_add(&b, "x", 0);
	assert_int_equal(b.len, strlen(b.s));
	assert_string_equal(b.s + b.len - 10, "9998,9999,");
	ctx_free(cx);
}

#define SAME(...)                                                                                  \
	snprintf(expected, sizeof(expected), __VA_ARGS__);                                         \
	assert_string_equal(arena_printf(cx->arena, __VA_ARGS__), expected)

/* What is printed is what the C library prints. */
static void test_printf(void **state)
{
	struct ctx *cx = fresh_ctx();
	char expected[1000];
	(void)state;
	SAME("%s", "");
	SAME("%s and %s, 100%%", "a name", "");
	SAME("%.*s|%.2s|%.9s|%.0s|%.*s", 3, "abcdef", "abc", "abc", "abc", -1, "abc");
	SAME("%5s|%-5s|%*s|%-*s|%*s|%2s|%-6.3s|", "abc", "abc", 6, "abc", 6, "abc", -6, "abc",
	     "abc", "abcdef");
	SAME("%c%c|%3c|", 'x', '"', 'y');
	SAME("%d %d %d %d %d", 0, 7, -10, INT_MAX, INT_MIN);
	SAME("%5d|%-5d|%05d|%05d|%5d|%2d", 42, 42, 42, -42, -42, 12345);
	SAME("%u %u %lu %zu", 0u, UINT_MAX, ULONG_MAX, SIZE_MAX);
	SAME("%lld %lld %ld %llu", LLONG_MIN, LLONG_MAX, LONG_MIN, ULLONG_MAX);
	SAME("%" PRId64 " %" PRIu64 " %" PRIx64, INT64_MIN, UINT64_MAX, UINT64_MAX);
	SAME("%02x %04X %x %03o %o %0*llx", 10u, 0xbeefu, 0u, 7u, 0777u, 16, 0xfedcull);
	SAME("%g %.9g %.17g %.*g", 0.1, 0.1, 0.1, 3, 1234.5);
	SAME("%.0f %.0f %a %g %g", 2.5, DBL_MAX, 0.1, -HUGE_VAL, 1e300);
	ctx_free(cx);
}

/* The fewest digits of v, as the C library alone finds them */
static const char *digits_of(double v, bool single)
{
	static char text[40];
	int n = single ? FLT_DIG : DBL_DIG, most = single ? FLT_DECIMAL_DIG : DBL_DECIMAL_DIG;

	for (; n <= most; n++) {
		snprintf(text, sizeof(text), "%.*g", n, v);
		if (single ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v)
			break;
	}
	return text;
}

static void check_digits(struct ctx *cx, double v)
{
	for (int single = 0; single < 2; single++)
		for (int sign = -1; sign < 2; sign += 2) {
			double x = single ? (double)(float)v * sign : v * sign;
			struct strbuf b = {.arena = cx->scratch};
			sb_float(&b, x, single);
			assert_string_equal(b.s, digits_of(x, single));
		}
	arena_empty(cx->scratch);
}

static void test_digits(void **state)
{
	struct ctx *cx = fresh_ctx();
	uint64_t seed = 1;
	(void)state;
	for (int e = -40; e < 60; e++) /* powers, and their neighbours */
		for (int base = 2; base <= 10; base += 8) {
			double v = pow(base, e / (base == 2 ? 1 : 2));
			check_digits(cx, v);
			check_digits(cx, nextafter(v, 0));
			check_digits(cx, nextafter(v, HUGE_VAL));
			check_digits(cx, (double)nextafterf((float)v, 0));
			check_digits(cx, (double)nextafterf((float)v, HUGE_VALF));
		}
	for (int i = 0; i < 20000; i++) { /* of few digits, of few bits, and others */
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		double v = (double)(seed >> 11) * 0x1p-53;
		check_digits(cx, ldexp(v, (int)(seed % 140) - 60));
		check_digits(cx, ldexp(floor(v * 1024), (int)(seed % 60) - 40));
		check_digits(cx, floor(v * 1e6) / pow(10, (double)(seed % 16)));
		check_digits(cx, floor(v * 1e15) / pow(10, (double)(seed % 22)));
	}
	check_digits(cx, 0);
	check_digits(cx, DBL_MAX);
	check_digits(cx, DBL_TRUE_MIN);
	check_digits(cx, FLT_TRUE_MIN);
	ctx_free(cx);
}

/* Numbers 0 ... n-1 under hashes that are alike in their low bits, at all sizes of the table. */
static void test_hash(void **state)
{
	static const uint32_t strides[] = {0, 1, 63, 64, 0x10000, 0x9e3779b1, UINT32_MAX};
	struct ctx *cx = fresh_ctx();
	(void)state;
	for (size_t k = 0; k < countof(strides); k++) {
		struct hash_table t = {0};
		uint32_t n = strides[k] ? 20000 : 500, first = UINT32_MAX - n / 2;
		struct probe none = {.hash = first};
		assert_false(hash_next(&t, &none));
		for (uint32_t i = 0; i < n; i++) {
			hash_add(cx->arena, &t, first + i * strides[k], i);
			if (i & (i + 1) && i + 1 < n) /* all are there at the powers of 2 */
				continue;
			for (uint32_t j = 0; j <= i; j++) {
				struct probe p = {.hash = first + j * strides[k]};
				while (hash_next(&t, &p) && p.number != j)
					assert_int_equal(first + p.number * strides[k], p.hash);
				assert_int_equal(p.number, j);
			}
			struct probe p = {.hash = first - 1};
			while (strides[k] && hash_next(&t, &p))
				assert_int_equal(first + p.number * strides[k], p.hash);
		}
		assert_int_equal(t.count, n);
		assert_true(t.nslots < 3 * n && (t.nslots & (t.nslots - 1)) == 0);
	}
	ctx_free(cx);
}

static void test_intern(void **state)
{
	enum { N = 300000 };
	struct ctx *cx = fresh_ctx();
	struct sym **syms = calloc(N, sizeof(*syms));
	char name[32];
	(void)state;
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < N; i++) {
			int len = snprintf(name, sizeof(name), "v%d", i);
			struct sym *s = intern(cx, name, (size_t)len);
			if (!round)
				syms[i] = s;
			assert_ptr_equal(s, syms[i]);
			assert_string_equal(s->s, name);
		}
	assert_ptr_equal(intern_str(cx, "abc"), intern(cx, "abcd", 3));
	assert_ptr_not_equal(intern(cx, "a\0b", 3), intern(cx, "a\0c", 3));
	assert_int_equal(intern_str(cx, "float32")->dtype, DT_FLOAT32);
	assert_int_equal(intern_str(cx, "Float32")->dtype, DT_NONE);
	free(syms);
	ctx_free(cx);
}

static void test_places(void **state)
{
	struct ctx *cx = fresh_ctx();
	const char *one = "\xef\xbb\xbf"
			  "a\r\nbc\n\nd",
		   *two = "", *three = "x\n";
	(void)state;
	struct source *f = source_add(cx, "one", NULL, one, strlen(one));
	struct source *g = source_add(cx, "two", NULL, two, 0);
	struct source *h = source_add(cx, "three", NULL, three, 2);
	assert_int_equal(f->len, 8);
	struct place p = source_place(cx, f->base + 4);
	assert_true(p.source == f && p.line == 2 && p.col == 2 && p.len == 2 && *p.text == 'b');
	p = source_place(cx, f->base);
	assert_true(p.line == 1 && p.col == 1 && p.len == 1);
	p = source_place(cx, f->base + f->len);
	assert_true(p.source == f && p.line == 4 && p.col == 2);
	assert_ptr_equal(source_of(cx, (struct span){g->base, g->base}), g);
	p = source_place(cx, h->base + 2);
	assert_true(p.source == h && p.line == 2 && p.col == 1 && p.len == 0);
	assert_null(source_place(cx, 0).source);
	assert_null(source_place(cx, h->base + 3).source);
	ctx_free(cx);
}

static void refused(const char *text, size_t len, const char *message)
{
	struct ctx *cx = fresh_ctx();
	struct strbuf b = {.arena = cx->arena};
	assert_null(source_add(cx, "f.ptg", NULL, text, len));
	assert_int_equal(cx->errors, 1);
	diag_render(cx, &b, false);
	assert_non_null(strstr(b.s, message));
	ctx_free(cx);
}

static const char *no_text(struct ctx *cx, const struct fn_call *c)
{
	(void)cx, (void)c;
	return NULL;
}

/* A span for a place and a call gives both back; one place in two calls is two spans. */
static void test_calls(void **state)
{
	(void)state;
	struct ctx *cx = fresh_ctx();
	struct source *f = source_add(cx, "f.ptg", NULL, "one\ntwo\n", 8);
	struct span a = {f->base, f->base + 3}, b = {f->base + 4, f->base + 7}, s[2000];
	uint32_t call, outer = call_add(cx, "A", 0, a), inner;

	cx->meanings_text = no_text;
	assert_int_equal(place_in_call(cx, a, 0).begin, a.begin);
	assert_int_equal(text_place(cx, a, &call).begin, a.begin);
	assert_int_equal(call, 0);
	inner = call_add(cx, "B", 0, place_in_call(cx, b, outer));
	assert_int_equal(call_of(cx, inner)->outer, outer);
	assert_int_equal(call_of(cx, inner)->depth, 2);
	assert_int_equal(call_of(cx, inner)->at.begin, b.begin);
	for (uint32_t i = 0; i < countof(s); i++)
		s[i] = place_in_call(cx, i % 2 ? a : b, call_add(cx, "C", i, a));
	for (uint32_t i = 0; i < countof(s); i++) {
		struct span at = text_place(cx, s[i], &call);
		assert_int_equal(at.begin, i % 2 ? a.begin : b.begin);
		assert_int_equal(at.end, i % 2 ? a.end : b.end);
		assert_int_equal(call_of(cx, call)->step, i);
		assert_ptr_equal(source_of(cx, s[i]), f);
		assert_int_equal(place_in_call(cx, at, call).begin, s[i].begin);
		assert_int_equal(place_in_call(cx, s[i], outer).begin, s[i].begin);
		assert_true(s[i].begin > text_limit(cx));
	}
	/* a message about one place is there once, with the first call */
	struct diag *d = error(cx, s[1], E_SHAPE, "wrong");
	error(cx, s[3], E_SHAPE, "wrong");
	assert_int_equal(cx->errors, 1);
	assert_int_equal(d->span.begin, a.begin);
	assert_string_equal(d->notes->text, "in 'C', which is called here");
	note(cx, d, b, "a hint");
	assert_string_equal(d->notes->text, "a hint");
	assert_null(d->notes->next->next);
	ctx_free(cx);
}

static void test_encoding(void **state)
{
	struct ctx *cx = fresh_ctx();
	static const char *const bad[] = {"\x80",
					  "\xc0\x80",
					  "\xc3",
					  "\xe0\x80\x80",
					  "\xed\xa0\x80",
					  "\xf4\x90\x80\x80",
					  "\xf8\x88\x80\x80\x80",
					  "\xe2\x82"};
	const char *good = "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbd\xed\x9f\xbf";
	char text[64];
	(void)state;
	assert_non_null(source_add(cx, "g", NULL, good, strlen(good)));
	for (size_t i = 0; i < countof(bad); i++)
		for (int pad = 0; pad < 17; pad++) {
			snprintf(text, sizeof(text), "%.*s%sxxxxxxxxx", pad, "aaaaaaaaaaaaaaaaa",
				 bad[i]);
			char want[32];
			snprintf(want, sizeof(want), "f.ptg:1:%d: error: byte 0x", pad + 1);
			refused(text, strlen(text), want);
		}
	refused("ab\0c", 4, "f.ptg:1:3: error: a 0 byte");
	refused("\xff\xfex\0", 4, "UTF-16");
	assert_null(source_add(cx, "big", NULL, good, (size_t)1 << 31));
	assert_int_equal(cx->errors, 1);
	ctx_free(cx);
}

static struct span find_span(const struct source *f, const char *what)
{
	const char *p = strstr(f->text, what);
	uint32_t at = f->base + (uint32_t)(p - f->text);
	return (struct span){at, at + (uint32_t)strlen(what)};
}

static void test_render(void **state)
{
	struct ctx *cx = fresh_ctx();
	struct strbuf b = {.arena = cx->arena};
	const char *text = "graph f(x: float32[n]) {\n\t\xc3\xa9 = Sub(x, b)\n  z = x\n}\n";
	(void)state;
	struct source *f = source_add(cx, "f.ptg", NULL, text, strlen(text));
	struct span sub = find_span(f, "Sub"), b_arg = find_span(f, "b)");
	b_arg.end--;
	warn(cx, find_span(f, "z"), W_UNUSED, "z is unused");
	struct diag *d = error2(cx, sub, b_arg, E_SHAPE, "Sub: shapes do not %s", "broadcast");
	note(cx, d, find_span(f, "float32"), "x comes from here");
	note(cx, d, (struct span){0, 0}, "no place");
	note(cx, error2(cx, sub, b_arg, E_SHAPE, "again"), sub, "lost");
	error2(cx, find_span(f, "z"), find_span(f, "graph"), E_DTYPE, "far");
	error(cx, (struct span){0, 0}, E_NO_GRAPH, "nowhere\x1b[1m");
	diag_render(cx, &b, false);
	assert_string_equal(b.s, "f.ptg: error: nowhere?[1m [PTG0203]\n"
				 "f.ptg:2:7: error: Sub: shapes do not broadcast [PTG0301]\n"
				 "    2 | \t\xc3\xa9 = Sub(x, b)\n"
				 "      | \t    ^~~    ~\n"
				 "f.ptg:1:12: note: x comes from here\n"
				 "    1 | graph f(x: float32[n]) {\n"
				 "      |            ^~~~~~~\n"
				 "note: no place\n"
				 "f.ptg:3:3: warning: z is unused [PTG0900, -Wunused]\n"
				 "    3 |   z = x\n"
				 "      |   ^\n"
				 "f.ptg:3:3: error: far [PTG0300]\n"
				 "    3 |   z = x\n"
				 "      |   ^\n"
				 "    1 | graph f(x: float32[n]) {\n"
				 "      | ~~~~~\n");
	assert_true(cx->errors == 3 && cx->warnings == 1);
	b.len = 0;
	diag_render(cx, &b, true);
	assert_non_null(strstr(b.s, "\033[1;31merror: \033[0m"));
	ctx_free(cx);
}

static void test_long_lines(void **state)
{
	struct ctx *cx = fresh_ctx();
	char text[1001];
	(void)state;
	memset(text, 'a', 1000);
	text[1000] = 0;
	struct source *f = source_add(cx, "f.ptg", NULL, text, 1000);
	for (uint32_t at = 0; at <= 1000; at += 50) {
		struct strbuf b = {.arena = cx->arena};
		cx->diags = NULL;
		cx->diag_tail = &cx->diags;
		error(cx, (struct span){f->base + at, f->base + 1000}, E_SYNTAX, "here");
		diag_render(cx, &b, false);
		const char *line = strchr(b.s, '\n') + 1, *marks = strchr(line, '\n') + 1;
		assert_true(strcspn(line, "\n") <= 8 + 160);
		assert_true(strcspn(marks, "\n") <= 8 + 160);
		const char *caret = strchr(marks, '^');
		assert_non_null(caret);
		if (at < 1000)
			assert_int_equal(line[caret - marks], 'a');
	}
	ctx_free(cx);
}

static void test_many(void **state)
{
	struct ctx *cx = fresh_ctx();
	struct strbuf b = {.arena = cx->arena};
	struct diag *const *list;
	char text[2000];
	(void)state;
	memset(text, 'a', sizeof(text));
	struct source *f = source_add(cx, "f.ptg", NULL, text, sizeof(text));
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 900; i++) {
			uint32_t at = f->base + i * 7 % 900;
			error(cx, (struct span){at, at + 1}, E_SYNTAX, "bad");
		}
	assert_int_equal(diag_sorted(cx, &list), 900);
	for (uint32_t i = 0; i < 900; i++)
		assert_int_equal(list[i]->span.begin, f->base + i);
	diag_render(cx, &b, false);
	assert_string_equal(b.s + b.len - 16, "880 more errors\n");
	ctx_free(cx);
}

static void test_options(void **state)
{
	struct ctx *cx = fresh_ctx();
	(void)state;
	assert_true(diag_option(cx, "no-unused"));
	assert_non_null(warn(cx, (struct span){0, 0}, W_UNUSED, "off"));
	assert_true(cx->warnings == 0 && !cx->diags);
	assert_true(diag_option(cx, "error"));
	assert_int_equal(cx->severity[W_UNUSED], PTGC_NOTE);
	assert_true(diag_option(cx, "unused"));
	warn(cx, (struct span){0, 0}, W_UNUSED, "on");
	assert_int_equal(cx->errors, 1);
	assert_true(diag_option(cx, "no-error=unused"));
	assert_int_equal(cx->severity[W_UNUSED], PTGC_WARNING);
	assert_false(diag_option(cx, "no-syntax"));
	assert_false(diag_option(cx, "unusde"));
	assert_ptr_equal(diag_find("PTG0900"), &diag_infos[W_UNUSED]);
	assert_ptr_equal(diag_find("500"), &diag_infos[E_UNKNOWN_OP]);
	assert_null(diag_find("PTG0001"));
	assert_null(diag_find("W_UNUSED"));
	for (int i = 0; i < DIAG_COUNT; i++)
		for (int j = 0; j < i; j++) {
			assert_int_not_equal(diag_infos[i].number, diag_infos[j].number);
			assert_string_not_equal(diag_infos[i].name, diag_infos[j].name);
		}
	ctx_free(cx);
}

static void test_did_you_mean(void **state)
{
	static const char *const ops[] = {"Softmax",    "Softplus", "Sum", "Sub", "Mul",
					  "ExpandDims", "Exp",      "sum", "x",   "DimShuffle"};
#define NEAR(name, want) assert_string_equal(did_you_mean(name, ops, countof(ops)), want)
	(void)state;
	NEAR("softmax", "Softmax");
	NEAR("Sofptlus", "Softplus");
	NEAR("Expand_dims", "ExpandDims");
	NEAR("SUM", "Sum");
	NEAR("Sbu", "Sub");
	NEAR("dimshufle", "DimShuffle");
	NEAR("X", "x");
	assert_null(did_you_mean("q", ops, countof(ops)));
	assert_null(did_you_mean("Convolve", ops, countof(ops)));
	assert_null(did_you_mean("", ops, countof(ops)));
}

static void test_dtypes(void **state)
{
#define UP(a, b, c) assert_int_equal(dtype_upcast(DT_##a, DT_##b), DT_##c)
	(void)state;
	UP(INT8, UINT8, INT16);
	UP(INT64, UINT64, FLOAT64);
	UP(UINT32, INT8, INT64);
	UP(BOOL, UINT8, UINT8);
	UP(BOOL, FLOAT16, FLOAT16);
	UP(INT16, FLOAT16, FLOAT32);
	UP(INT8, FLOAT16, FLOAT16);
	UP(INT32, FLOAT32, FLOAT64);
	UP(INT32, COMPLEX64, COMPLEX128);
	UP(INT16, COMPLEX64, COMPLEX64);
	UP(FLOAT64, COMPLEX64, COMPLEX128);
	UP(STRING, FLOAT64, NONE);
	UP(NONE, FLOAT64, NONE);
	for (enum dtype a = DT_NONE; a < DT_COUNT; a++) {
		assert_int_equal(dtype_upcast(a, a), a);
		for (enum dtype b = DT_NONE; b < DT_COUNT; b++)
			assert_int_equal(dtype_upcast(a, b), dtype_upcast(b, a));
		if (a)
			assert_int_equal(dtype_named(dtypes[a].name), a);
	}
	assert_int_equal(dtype_named("float"), DT_NONE);
	assert_int_equal(dtype_to_float(DT_INT16), DT_FLOAT32);
	assert_int_equal(dtype_to_float(DT_BOOL), DT_FLOAT32);
	assert_int_equal(dtype_to_float(DT_UINT32), DT_FLOAT64);
	assert_int_equal(dtype_to_float(DT_FLOAT16), DT_FLOAT16);
}

static void test_holds_int(void **state)
{
	(void)state;
	assert_true(dtype_holds_int(DT_INT8, 128, true));
	assert_false(dtype_holds_int(DT_INT8, 128, false));
	assert_false(dtype_holds_int(DT_UINT8, 1, true));
	assert_true(dtype_holds_int(DT_UINT8, 0, true));
	assert_true(dtype_holds_int(DT_INT64, (uint64_t)1 << 63, true));
	assert_false(dtype_holds_int(DT_INT64, ((uint64_t)1 << 63) + 1, true));
	assert_true(dtype_holds_int(DT_UINT64, UINT64_MAX, false));
	assert_true(dtype_holds_int(DT_FLOAT32, 1 << 24, true));
	assert_false(dtype_holds_int(DT_FLOAT32, (1 << 24) + 1, false));
	assert_true(dtype_holds_int(DT_FLOAT32, (uint64_t)1 << 60, false));
	assert_true(dtype_holds_int(DT_FLOAT16, 65504, false));
	assert_false(dtype_holds_int(DT_FLOAT16, 65536, false));
	assert_true(dtype_holds_int(DT_BOOL, 1, false));
	assert_false(dtype_holds_int(DT_BOOL, 2, false));
}

/* The nearest half by search; ties to the even one. */
static uint16_t nearest_half(double v)
{
	uint16_t low = 0, high = 0x7c00;
	double a = fabs(v), max = half_to_double(0x7bff);
	if (a >= max + 16)
		return (uint16_t)(0x7c00 | (v < 0 ? 0x8000 : 0));
	while (high - low > 1) {
		uint16_t mid = (uint16_t)((low + high) / 2);
		if (half_to_double(mid) <= a)
			low = mid;
		else
			high = mid;
	}
	double above = high == 0x7c00 ? max + 32 : half_to_double(high);
	double down = a - half_to_double(low), up = above - a;
	uint16_t h = down < up || (down == up && !(low & 1)) ? low : high;
	return (uint16_t)(h | (signbit(v) ? 0x8000 : 0));
}

static void test_half(void **state)
{
	(void)state;
	for (uint32_t h = 0; h < 65536; h++) {
		double v = half_to_double((uint16_t)h);
		assert_int_equal(half_from_double(v), h);
		if (isnan(v) || isinf(v))
			continue;
		double next = half_to_double((uint16_t)(h + 1)), mid = v / 2 + next / 2;
		assert_int_equal(half_from_double(nextafter(v, 1e9)),
				 nearest_half(nextafter(v, 1e9)));
		if (isfinite(mid)) {
			assert_int_equal(half_from_double(mid), nearest_half(mid));
			double m = nextafter(mid, 1e9);
			assert_int_equal(half_from_double(m), nearest_half(m));
			m = nextafter(mid, -1e9);
			assert_int_equal(half_from_double(m), nearest_half(m));
		}
	}
	assert_int_equal(half_from_double(65520), 0x7c00);
	assert_int_equal(half_from_double(65519.99), 0x7bff);
	assert_int_equal(half_from_double(-1e300), 0xfc00);
	assert_int_equal(half_from_double(5e-324), 0);
	assert_int_equal(half_to_double(0x3555), half_to_double(0x3555));
	assert_true(half_to_double(0x3c00) == 1 && half_to_double(1) == 0x1p-24);
}

/* The doubles nearest to the true results */
static void test_maths(void **state)
{
	static const struct {
		double x, exp;
	} exps[] = {
		{1, 0x1.5bf0a8b145769p+1},
		{-1, 0x1.78b56362cef38p-2},
		{0.1, 0x1.1aec7b35a00d4p+0},
		{1e-10, 0x1.000000006df38p+0},
		{700.5, 0x1.8625c7d4f56c2p+1010},
		{-740, 0x0.0000000000055p-1022},
		{0, 1},
		{710, INFINITY},
		{-750, 0},
		{-INFINITY, 0},
	};
	static const struct {
		double x, log;
	} logs[] = {
		{2, 0x1.62e42fefa39efp-1},
		{3, 0x1.193ea7aad030bp+0},
		{0.1, -0x1.26bb1bbb55515p+1},
		{1.0000001, 0x1.ad7f2847b6492p-24},
		{0x1p-1074, -0x1.74385446d71c3p+9},
		{1e308, 0x1.62991d5d62a5ep+9},
		{1, 0},
		{0, -INFINITY},
		{INFINITY, INFINITY},
	};
	static const struct {
		double x, y, pow;
	} pows[] = {
		{2, 0.5, 0x1.6a09e667f3bcdp+0},
		{10, -3, 0x1.0624dd2f1a9fcp-10},
		{10, 22, 1e22},
		{1.5, 100.25, 0x1.8f9f20247e3a3p+58},
		{3, -0.1, 0x1.cabb11372e638p-1},
		{0.1, 300, 0x1.56e1fc2f8f3bdp-997},
		{2.5, 2.5, 9.882117688026186},
		{0x1.0000002p27, 2, 0x1.0000004p54},
		{-2, 3, -8},
		{0, 2, 0},
		{-0.0, 3, -0.0},
		{-0.0, -3, -INFINITY},
		{2, 1e300, INFINITY},
		{0.5, INFINITY, 0},
		{-1, INFINITY, 1},
	};
	static const struct {
		int64_t k, n;
		double cos;
	} turns[] = {
		{1, 7, 0x1.3f3a0e28bedd1p-1},
		{5, 7, -0x1.c7b90e3024582p-3},
		{1, 3, -0.5},
		{1, 8, 0x1.6a09e667f3bcdp-1},
		{7, 12, -0x1.bb67ae8584caap-1},
		{999, 1000, 0x1.fffd69aa0b99dp-1},
		{0, 5, 1},
		{1, 4, 0},
	};

	(void)state;
	for (size_t i = 0; i < countof(exps); i++)
		assert_true(portable_exp(exps[i].x) == exps[i].exp);
	for (size_t i = 0; i < countof(logs); i++)
		assert_true(portable_log(logs[i].x) == logs[i].log);
	for (size_t i = 0; i < countof(pows); i++) {
		double r = portable_pow(pows[i].x, pows[i].y);
		assert_true(r == pows[i].pow && !signbit(r) == !signbit(pows[i].pow));
	}
	for (size_t i = 0; i < countof(turns); i++)
		assert_true(cos_of_turn(turns[i].k, turns[i].n) == turns[i].cos);
	assert_true(isnan(portable_exp(NAN)) && isnan(portable_log(-1)));
	assert_true(isnan(portable_pow(-8, 1.0 / 3)) && portable_pow(NAN, 0) == 1);
}

/* Functions of literals: rounded to the nearest double, on every machine */
static void functions_of_literals(void **state)
{
	static const struct {
		double (*function)(double);
		double x, y;
	} cases[] = {
		{portable_exp2, 0.1, 0x1.125fbee250664p+0},
		{portable_exp2, 3.7, 0x1.9fdf8bcce533ep+3},
		{portable_expm1, 0.1, 0x1.aec7b35a00d3ap-4},
		{portable_expm1, 3.7, 0x1.3b94144eeec81p+5},
		{portable_log2, 0.1, -0x1.a934f0979a371p+1},
		{portable_log2, 3.7, 0x1.e334db2c356bp+0},
		{portable_log10, 0.1, -0x1p+0},
		{portable_log10, 3.7, 0x1.22eb561ccc1p-1},
		{portable_log1p, 0.1, 0x1.8663f793c46c7p-4},
		{portable_log1p, 3.7, 0x1.8c2d0e7b73742p+0},
		{portable_log1mexp, -0.1, -0x1.2d13db2b6efa8p+1},
		{portable_log1mexp, -3.0, -0x1.a25bd5bf6fe6ap-5},
		{portable_sigmoid, 0.1, 0x1.0cca12729afb8p-1},
		{portable_sigmoid, 3.7, 0x1.f3a59f801f582p-1},
		{portable_softplus, 0.1, 0x1.7d218f1c8904fp-1},
		{portable_softplus, 3.7, 0x1.dcb9e347e162dp+1},
		{portable_sin, 1e+22, -0x1.b453ab76bf397p-1},
		{portable_sin, 3.0, 0x1.210386db6d55bp-3},
		{portable_cos, 1e+22, 0x1.0be2cef01c8f4p-1},
		{portable_cos, 3.0, -0x1.fae04be85e5d2p-1},
		{portable_tan, 1e+22, -0x1.a0f79c1b6b257p+0},
		{portable_tan, 1.5, 0x1.c33ed50b88777p+3},
		{portable_asin, 0.3, 0x1.380159e14f6ffp-2},
		{portable_asin, -1.0, -0x1.921fb54442d18p+0},
		{portable_acos, 0.3, 0x1.441f5ecbeef59p+0},
		{portable_acos, -0.9, 0x1.586476251e745p+1},
		{portable_atan, 0.1, 0x1.983e282e2cc4dp-4},
		{portable_atan, 3.7, 0x1.4e8c94dbf54e5p+0},
		{portable_sinh, 0.1, 0x1.9a487337b59b3p-4},
		{portable_sinh, 3.7, 0x1.4361720f61b9fp+4},
		{portable_cosh, 0.1, 0x1.0147f40224b38p+0},
		{portable_cosh, 3.7, 0x1.43c6b68e7bd63p+4},
		{portable_tanh, 0.1, 0x1.983d7795f413ap-4},
		{portable_tanh, 3.7, 0x1.ff5fdc948488cp-1},
		{portable_asinh, 0.1, 0x1.98eb9e7e5fc3ep-4},
		{portable_asinh, 3.7, 0x1.02772218247ccp+1},
		{portable_acosh, 1.5, 0x1.ecc2caec5160ap-1},
		{portable_acosh, 1e+200, 0x1.cd35cd6cad20fp+8},
		{portable_atanh, 0.3, 0x1.3cf2b50617c95p-2},
		{portable_atanh, -0.99, -0x1.52c581997cd85p+1},
		{portable_erf, 0.1, 0x1.cca5ea24fb334p-4},
		{portable_erf, 3.7, 0x1.fffffa642eefcp-1},
		{portable_erfc, 0.1, 0x1.c66b42bb60999p-1},
		{portable_erfc, 3.7, 0x1.66f44410e9e91p-23},
		{portable_erfcx, 0.1, 0x1.cafc68c67a05ep-1},
		{portable_erfcx, 3.7, 0x1.2df26665aa166p-3},
		{portable_gammaln, 0.1, 0x1.2058e35f3deeep+1},
		{portable_gammaln, 3.7, 0x1.6d9625e359b87p+0},
		{portable_gamma, 0.1, 0x1.306ea7b280d87p+3},
		{portable_gamma, 3.7, 0x1.0aebf5759a454p+2},
	};
	(void)state;
	for (size_t i = 0; i < countof(cases); i++)
		assert_true(cases[i].function(cases[i].x) == cases[i].y);
	assert_true(portable_atan2(3, -4) == 0x1.3fc176b7a8560p+1);
	assert_true(portable_sin(-0.0) == 0 && signbit(portable_sin(-0.0)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_literals),
		cmocka_unit_test(test_arena),
		cmocka_unit_test(test_spare),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_hash),
		cmocka_unit_test(test_vec_strbuf),
		cmocka_unit_test(test_printf),
		cmocka_unit_test(test_digits),
		cmocka_unit_test(test_intern),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_encoding),
		cmocka_unit_test(test_render),
		cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_did_you_mean),
		cmocka_unit_test(test_dtypes),
		cmocka_unit_test(test_holds_int),
		cmocka_unit_test(test_half),
		cmocka_unit_test(test_maths),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
