/*
 * Unit tests of running out of memory: the n-th request fails, for n = 1, 2, ... 128 and larger
 * ones, while texts are compiled and formatted. Each time the library says so, and everything that
 * it took is given back. (Linked with --wrap, see the Makefile, so that all requests come through
 * here.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ptgc.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void __real_free(void *p);
void *__real_mmap(void *p, size_t size, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *p, size_t size);
void *__real_mremap(void *old, size_t old_size, size_t size, int flags, ...);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void __wrap_free(void *p);
void *__wrap_mmap(void *p, size_t size, int prot, int flags, int fd, off_t offset);
int __wrap_munmap(void *p, size_t size);
void *__wrap_mremap(void *old, size_t old_size, size_t size, int flags, ...);

static struct {
	long requests, fail_at; /* 0: none fails */
	bool for_ever;          /* those behind it fail too */
	long blocks;            /* that are held */
	long pages;             /* mapped, less those given back */
	bool failed;
} memory;

static bool refused(void)
{
	memory.requests++;
	bool fails = memory.fail_at && (memory.requests == memory.fail_at ||
					(memory.for_ever && memory.requests > memory.fail_at));
	memory.failed |= fails;
	if (fails)
		errno = ENOMEM;
	return fails;
}

void *__wrap_malloc(size_t size)
{
	void *p = refused() ? NULL : __real_malloc(size);
	memory.blocks += p != NULL;
	return p;
}

void *__wrap_calloc(size_t n, size_t size)
{
	void *p = refused() ? NULL : __real_calloc(n, size);
	memory.blocks += p != NULL;
	return p;
}

void *__wrap_realloc(void *old, size_t size)
{
	void *p = refused() ? NULL : __real_realloc(old, size);
	memory.blocks += p && !old;
	return p;
}

void __wrap_free(void *p)
{
	memory.blocks -= p != NULL;
	__real_free(p);
}

static long pages(size_t size)
{
	return (long)((size + 4095) / 4096);
}

void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	void *p = refused() ? MAP_FAILED : __real_mmap(at, size, prot, flags, fd, offset);
	memory.pages += p != MAP_FAILED ? pages(size) : 0;
	return p;
}

int __wrap_munmap(void *p, size_t size)
{
	memory.pages -= pages(size);
	return __real_munmap(p, size);
}

void *__wrap_mremap(void *old, size_t old_size, size_t size, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	void *at = flags & MREMAP_FIXED ? va_arg(ap, void *) : NULL;
	va_end(ap);
	void *p = refused() ? MAP_FAILED
		  : at      ? __real_mremap(old, old_size, size, flags, at)
			    : __real_mremap(old, old_size, size, flags);
	if (p != MAP_FAILED) /* what was mapped at a fixed place is gone */
		memory.pages += at ? -pages(old_size) : pages(size) - pages(old_size);
	return p;
}

/* Everything that takes memory of its own: names, loops, fns, the library, files, long lists. */
static const char program[] =
	"use \"more.ptg\"\n"
	"fn Half(x: F) -> (y) { y = x * 0.5 }\n"
	"graph g(x: float64[n, 4], m: float64[4, 4], i: int64[k]) -> (a, b, c, d, e, f) {\n"
	"  w = file(\"big.npy\")\n"
	"  v = file(\"small.npy\")\n"
	"  a, b = loop (r in x, s: float64[4] = float64[4](0)) -> (s, [t]) {\n"
	"    t = Tanh(s + r @ m)\n"
	"    next s = t\n"
	"  }\n"
	"  c = if n > 3 { c = Sum(x) } else { c = Cholesky(m)[0, 0] }\n"
	"  d = Half(Twice(x))[1:, ::-1].set(Erfcx(v[0]))\n"
	"  e = Gammaln(x[i]) + w[0, 0]\n"
	"  f = Softmax{axis=1}(x) / Sum{axis=[1]}(x)[:, None]\n"
	"}\n";

static const char wrong[] = "graph g(x: float64[n]) -> (y, z) {\n"
			    "  y = Nonsense{a=1}(x) + x[\n"
			    "  y = undefined\n"
			    "}\n";

static char folder[] = "/tmp/ptgc-oom-XXXXXX";

static void write_npy(const char *name, unsigned rows)
{
	char path[64], head[128];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	memset(head, ' ', sizeof(head));
	memcpy(head, "\x93NUMPY\x01\x00\x76\x00", 10);
	int n = snprintf(head + 10, 118,
			 "{'descr': '<f8', 'fortran_order': False, 'shape': (%u, 4), }", rows);
	head[10 + n] = ' ';
	head[127] = '\n';
	assert_int_equal(fwrite(head, 1, 128, f), 128);
	double row[4] = {1, 2, 3, 4};
	for (unsigned i = 0; i < rows; i++)
		assert_int_equal(fwrite(row, 8, 4, f), 4);
	assert_int_equal(fclose(f), 0);
}

static int make_files(void **state)
{
	char path[64];
	(void)state;
	assert_non_null(mkdtemp(folder));
	write_npy("small.npy", 3);
	write_npy("big.npy", 4096);
	snprintf(path, sizeof(path), "%s/more.ptg", folder);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs("fn Twice(x: F) -> (y) { y = x + x }\n", f);
	return fclose(f);
}

static int remove_files(void **state)
{
	static const char *const names[] = {"small.npy", "big.npy", "more.ptg"};
	char path[64];
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	return rmdir(folder);
}

/* One run with the n-th request refused; false: it had no n-th. */
static bool run(struct ptgc_result *(*call)(const char *, size_t, const struct ptgc_options *),
		const char *text, enum ptgc_status without, long n, bool for_ever)
{
	struct ptgc_options opt = PTGC_OPTIONS_INIT;
	long blocks = memory.blocks, mapped = memory.pages;
	opt.directory = folder;
	opt.external_threshold = 4096;
	opt.external_name = "x.data";
	memory.requests = 0;
	memory.failed = false;
	memory.for_ever = for_ever;
	memory.fail_at = n;
	struct ptgc_result *r = call(text, strlen(text), &opt);
	enum ptgc_status status = ptgc_status(r);
	const char *said = ptgc_messages(r, false);
	bool failed = memory.failed;
	memory.fail_at = 0;
	/* without memory for the list of diagnostics there still is the verdict */
	if (!failed || status != PTGC_FAILED)
		assert_int_equal(status, without);
	else
		assert_non_null(strstr(said, "out of memory"));
	ptgc_free(r);
	assert_int_equal(memory.blocks, blocks);
	assert_int_equal(memory.pages, mapped);
	return failed;
}

static void all(struct ptgc_result *(*call)(const char *, size_t, const struct ptgc_options *),
		const char *text, enum ptgc_status without)
{
	for (int for_ever = 0; for_ever < 2; for_ever++) {
		long n = 1;
		while (run(call, text, without, n, for_ever))
			n += n > 128 ? n / 8 : 1;
		assert_true(n > 4);
	}
}

static void test_compile(void **state)
{
	(void)state;
	all(ptgc_compile, program, PTGC_OK);
}

static struct ptgc_result *compile_to_c(const char *text, size_t len,
					const struct ptgc_options *given)
{
	struct ptgc_options opt = *given;
	opt.target = PTGC_C;
	return ptgc_compile(text, len, &opt);
}

static void test_c(void **state)
{
	(void)state;
	all(compile_to_c, program, PTGC_OK);
}

static void test_rejected(void **state)
{
	(void)state;
	all(ptgc_compile, wrong, PTGC_REJECTED);
}

static void test_format(void **state)
{
	(void)state;
	all(ptgc_format, program, PTGC_OK);
}

static struct ptgc_result *why(const char *text, size_t len, const struct ptgc_options *options)
{
	return ptgc_why(text, len, "2", options);
}

static void test_why(void **state)
{
	(void)state;
	all(why, program, PTGC_OK);
}

/* Large enough for blocks and mappings of their own. */
static void test_large(void **state)
{
	size_t cap = (size_t)4 << 20, len = 0;
	char *text = malloc(cap);
	(void)state;
	assert_non_null(text);
	len += (size_t)snprintf(text, cap, "graph g(x: float64[n]) -> (v20000) {\nv0 = Exp(x)\n");
	for (int i = 1; i <= 20000; i++)
		len += (size_t)snprintf(text + len, cap - len, "v%d = Add(v%d, x)\n", i, i - 1);
	len += (size_t)snprintf(text + len, cap - len, "a = float64([");
	for (int i = 0; i < 20000; i++)
		len += (size_t)snprintf(text + len, cap - len, "%d, ", i);
	snprintf(text + len, cap - len, "])\n}\n");
	all(ptgc_compile, text, PTGC_OK);
	all(ptgc_format, text, PTGC_OK);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compile),  cmocka_unit_test(test_c),
		cmocka_unit_test(test_rejected), cmocka_unit_test(test_format),
		cmocka_unit_test(test_why),      cmocka_unit_test(test_large),
	};
	return cmocka_run_group_tests(tests, make_files, remove_files);
}
