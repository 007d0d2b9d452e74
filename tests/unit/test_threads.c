/*
 * Unit tests of the library from eight threads at once: each has its own texts, and all get what
 * one thread alone gets. Built and run again with -fsanitize=thread by 'make check-tsan'.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptgc.h"

#define THREADS 8
#define ROUNDS  20

static const char *const texts[] = {
	"graph g(x: float64[n, 4]) -> (y) { y = Softmax{axis=1}(x) @ float64[4, 2](0.5) }",
	"graph g(x: float32[n, n]) -> (l) { l = Cholesky(x) }",
	"graph g(x: float64[n]) -> (a, b) {\n"
	"  a, b = loop (e in x, s: float64[] = 0) -> (s, [t]) {\n"
	"    t = s + Gammaln(e)\n"
	"    next s = t\n"
	"  }\n"
	"}",
	"graph g(x: int8[n]) -> (y) { y = x[::-1].set(1) // 3 }",
	"fn F(a: T) -> (b) { b = Erfcx(a) * a }\ngraph g(x: float64[]) -> (y) { y = F(F(x)) }",
	"graph g(x: float64[n]) -> (y) { y = Sume(x) + z + int8(300) }",
	"graph g(x: float64[",
	"\xff\xfe",
};

struct answer {
	enum ptgc_status status;
	size_t size, said;
	uint64_t hash;
};

static uint64_t hash(const void *data, size_t n, uint64_t h)
{
	for (const unsigned char *p = data; n--; p++)
		h = (h ^ *p) * 0x100000001b3u;
	return h;
}

static struct answer ask(size_t i)
{
	struct ptgc_options opt = PTGC_OPTIONS_INIT;
	struct answer a;
	ptgc_opsets(NULL, i % 2 ? NULL : &opt.opset, i % 2 ? &opt.opset : NULL);
	struct ptgc_result *r = ptgc_compile(texts[i], strlen(texts[i]), &opt);
	struct ptgc_result *f = ptgc_format(texts[i], strlen(texts[i]), NULL);
	const void *model = ptgc_model(r, &a.size);
	const char *said = ptgc_messages(r, true);
	a.status = ptgc_status(r);
	a.said = strlen(said);
	a.hash = hash(model, a.size, hash(said, a.said, 1));
	model = ptgc_model(f, &a.size);
	a.hash = hash(model, a.size, a.hash);
	ptgc_free(r);
	ptgc_free(f);
	return a;
}

static struct answer alone[sizeof(texts) / sizeof(texts[0])];

/* NULL: all was as it is alone. */
static void *work(void *first)
{
	size_t n = sizeof(texts) / sizeof(texts[0]);
	for (size_t i = 0; i < ROUNDS; i++) {
		size_t k = ((size_t)first + i) % n;
		struct answer a = ask(k);
		if (memcmp(&a.hash, &alone[k].hash, sizeof(a.hash)) || a.status != alone[k].status)
			return (void *)texts[k];
	}
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t threads[THREADS];
	void *wrong;
	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		alone[i] = ask(i);
		assert_int_equal(alone[i].status, i < 5 ? PTGC_OK : PTGC_REJECTED);
	}
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)i), 0);
	for (size_t i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		if (wrong)
			fail_msg("not what one thread gets: %s", (const char *)wrong);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
