/*
 * Unit tests of hostile texts: what fuzzing found, each in a block of memory that ends with it, so
 * that sanitizers see a look beyond the end. Nothing crashes, and what is rejected says why.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptgc.h"

/* Compiles and formats; the status of compiling. */
static enum ptgc_status try(const char *text, size_t len, const char *want)
{
	char *copy = malloc(len ? len : 1);
	assert_non_null(copy);
	memcpy(copy, text, len);
	struct ptgc_result *r = ptgc_compile(copy, len, NULL), *f = ptgc_format(copy, len, NULL);
	enum ptgc_status status = ptgc_status(r);
	assert_int_not_equal(status, PTGC_FAILED);
	assert_int_not_equal(ptgc_status(f), PTGC_FAILED);
	if (status == PTGC_REJECTED) {
		assert_true(ptgc_diagnostic_count(r) > 0);
		assert_true(strlen(ptgc_messages(r, false)) < 100000);
	}
	if (want && !strstr(ptgc_messages(r, false), want))
		fail_msg("\"%s\" is not in: %s", want, ptgc_messages(r, false));
	ptgc_free(r);
	ptgc_free(f);
	free(copy);
	return status;
}

static void test_findings(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"", "PTG"},
		{"\n", "PTG"},
		{"#", "PTG"},
		{"ptg", "PTG"},
		{"ptg 1", "PTG"},
		{"`", "PTG"},
		{"\"", "PTG"},
		{"graph g(x: float64[n,\nnext i", "PTG"}, /* 'in' was looked for beyond the end */
		{"graph g(x: float64[n,\nnext in", "PTG"},
		{"graph g(x: t[]) -> () { y = if {\ny",
		 "PTG"}, /* no condition, and no message of y */
		{"graph g(x:t[])->(){y=if{y", "PTG"},
		{"graph g(x: complex64[n]) -> (y) { y = Erf(x) }", "PTG0503"},
		{"graph g(x: complex64[n]) -> (y) { y = Prod{dtype=float32}(x) }", "PTG0503"},
		{"graph g(x: float32[3, 2]) -> (a, b, c) { a, b, c = QR{mode=\"raw\"}(x) }",
		 "PTG0503"},
		{"graph g(x: float32[3, 2]) -> (a, b) { a, b = QR{mode=\"r\", pivoting=True}(x) }",
		 "PTG0503"},
		{"graph g(x: float64[0]) -> (y) { y = x[int64([0, -1])] }", "PTG0306"},
		{"graph g(x: float64[1]) -> (y) { y = x[[0, 1]] }", "PTG0306"},
		{"graph g(x: float64[1]) -> (y) { y = x[int64([[0], [-2]])].set(1) }", "PTG0306"},
		{"graph g(a: float64[2, 3, 6], b: float64[2]) -> (y) {\n"
		 " y = TensorSolve{axes=[0, 1, 2, 0]}(a, b)\n}\n",
		 "axes are distinct"},
		{"graph g(a: float64[6, 2, 3], b: float64[6]) -> (y) {\n"
		 " y = TensorSolve{axes=[-1]}(a, b)\n}\n",
		 "axes are distinct"},
		{"fn F{p: flot = 1}(x: T) -> (y) { y = x }\n"
		 "graph g(x: float64[]) -> (y) { y = F(x) }\n",
		 "unknown kind 'flot'"},
		{"graph g(x: float32[]) -> (y) { y = onnx.LeakyRelu{alpha=1e300}(x) }",
		 "float32 does not hold"},
		{"graph g(x: float32[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]) "
		 "-> "
		 "(y) {\n y = onnx.Einsum{equation=\"...->... ... ... ... ... ... ... ... ... ... "
		 "... ... ... ...\"}(x)\n}\n",
		 "one '...' each"},
		{"graph g(x: float32[2, 3, 4]) -> (y) {\n"
		 " y = onnx.Einsum{equation=\"...i...->i\"}(x)\n}\n",
		 "one '...' each"},
		{"graph g(x: float32[2]) -> (y) {\n y = onnx.Einsum{equation=\".\"}(x)\n}\n",
		 "no other dots"},
		{"graph g(x: float64[2]) -> (y) {\n"
		 " y = AllocDiag{offset=-9223372036854775808}(x)\n}\n",
		 "more than NumPy takes"},
		{"graph g(x: float64[2, 2]) -> (y) {\n"
		 " y = ExtractDiag{offset=2147483648}(x)\n}\n",
		 "more than NumPy takes"},
		{"graph g(x: float64[3]) -> (y) {\n y = Pad{pad_mode=\"constant\"}(x, "
		 "[[9223372036854775807, 9223372036854775807]], 0)\n}\n",
		 "no array is as long"},
		{"graph g() -> (y) { y = float64(0 ** -1) }", "division by zero"},
		{"graph g() -> (y) { y = +\"a\" }", "expected a tensor but got a string"},
		{"graph g() -> (y) { y = +z }", "'z' is not defined"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(try(cases[i].text, strlen(cases[i].text), cases[i].want),
				 PTGC_REJECTED);
}

/* Few lines that ask for much: steps, strings and lists that double. */
static void test_written_out(void **state)
{
	static const char *const cases[] = {
		"graph g(x: float64[n]) -> (y) {\n"
		"  y = for (i in 0:9223372036854775807, y = x) -> (y) { next y = y + i }\n}\n",
		"graph g(x: float64[n]) -> (y) {\n  y = for (i in 0:1000, y = x) -> (y) {\n"
		"    z = for (j in 0:1000, z = y) -> (z) { next z = z + j }\n    next y = z\n  "
		"}\n}\n",
		"graph g(x: float64[n]) -> (y) {\n"
		"  y, s = for (i in 0:99, y = x, s = \"a\") -> (y, s) { next s = s + s }\n}\n",
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(try(cases[i], strlen(cases[i]), "PTG0600"), PTGC_REJECTED);
}

static void test_accepted(void **state)
{
	static const char *const texts[] = {
		"graph g(x: float64[m, m, 0]) -> (y) { y = SplitDims{axis=-2}(x, int64([2, 2])) }",
		"graph g(x: float16[3, 3]) -> (a, b) { a, b = SLogDet(x) }",
		"graph g(x: int8[3, 3], y: float16[3]) -> (a) { a = Solve{b_ndim=1}(x, y) }",
		"graph g(x: int8[3, 3]) -> (q, r) { q, r = QR(x) }",
		"graph g() -> (y) { y = Prod{axes=[], dtype=complex64}(3) }",
		/* 2^61 indices of rows of 8: their product is 0 in 64 bits */
		"graph g(x: float64[]) -> (y) {\n"
		"  y = (float64([[1, 2, 3, 4, 5, 6, 7, 8]])[int64[2305843009213693952](0)])[0] * "
		"x\n"
		"}\n",
		/* more rounds than a number of 64 bits can be doubled */
		"graph g(x: float64[]) -> (y) {\n"
		"  y = loop (i in 0:9223372036854775807, s = x) -> (s) {\n"
		"    next s = s * 0.5 + 1\n"
		"  }\n"
		"}\n",
	};
	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(try(texts[i], strlen(texts[i]), NULL), PTGC_OK);
}

/* Lines of bytes that only continue characters, as long as what is shown of a line and longer. */
static void test_stray_bytes(void **state)
{
	char text[700];
	(void)state;
	for (int byte = 0x80; byte < 0x100; byte += 0x15) {
		memset(text, byte, sizeof(text));
		memcpy(text, "graph g(x: float64[n]) -> (y) {\n  y = x + ", 42);
		for (size_t len = 43; len < sizeof(text); len += 7)
			assert_int_equal(try(text, len, "PTG"), PTGC_REJECTED);
	}
}

/* Every beginning of a text that has a bit of everything. */
static void test_beginnings(void **state)
{
	static const char text[] =
		"ptg 1 floatX=float32\n# comment\nfn F{k: int = 3}(x: T[n, ...b], y) -> (z: T[n]) "
		"{\n"
		"  if rank(x) == 1 { z = x * y } else { z = Sum{axis=k}(x) }\n}\n"
		"graph g(x: float64[n, 4], `a ``b`: bool[2*n+1]) -> (q, r) {\n"
		"  state w: float32[3] = float32([1, -2.5, 0x1p-3])\n  next w = w + 1_000\n"
		"  q, r = loop (e in x, s: float64[4] = float64[4](bytes(\"AAAA\"))) while s > 0 "
		"-> (s, [t]) {\n"
		"    t = onnx.Gelu{approximate=\"ta\\x41nh\"}(s) ** -e // 3\n    next s = t\n"
		"    until t[0, ..., None, ::-1].set(inf) != nan\n  }\n"
		"  z = if q { z = 1 } else if r { z = infj } else { z = file(\"a.npy\", 'b') "
		"}\n}\n";
	(void)state;
	for (size_t len = 0; len < sizeof(text); len++)
		try(text, len, NULL);
}

/* Options that make no sense are told as a text's mistakes are. */
static void test_options(void **state)
{
	static const char text[] = "graph g(x: float64[n]) -> (y) { y = Exp(x) }";
	static const char *const unknown[] = {"Wno-such-thing", NULL};
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct ptgc_options opt = PTGC_OPTIONS_INIT;
		if (i == 0)
			opt.opset = 12;
		else if (i == 1)
			opt.target = (enum ptgc_target)17;
		else if (i == 2)
			opt.flags = unknown;
		else
			opt.ntensors = 3;
		struct ptgc_result *r = ptgc_compile(text, sizeof(text) - 1, &opt);
		assert_int_equal(ptgc_status(r), PTGC_FAILED);
		assert_non_null(strstr(ptgc_messages(r, false), "PTG0440"));
		assert_null(ptgc_model(r, NULL));
		ptgc_free(r);
	}
}

/* head, then `n` times `part` with %u for the number, then tail */
static char *repeated(const char *head, const char *part, unsigned n, const char *tail)
{
	size_t room = strlen(head) + n * (strlen(part) + 12) + strlen(tail) + 1;
	char *text = malloc(room), *at = text;
	assert_non_null(text);
	at += sprintf(at, "%s", head);
	for (unsigned i = 0; i < n; i++)
		for (const char *p = part; *p; p++)
			at += *p == '%' ? sprintf(at, "%u", i) : sprintf(at, "%c", *p);
	sprintf(at, "%s", tail);
	return text;
}

/* What is beyond a limit is a message; what could be slow or deep because of its number is neither.
 */
static void test_many(void **state)
{
	static const struct {
		const char *head, *part, *tail;
		unsigned n;
		const char *want; /* NULL: accepted */
	} cases[] = {
		{"graph g(x: float64[1]) -> (y) { y = onnx.Concat{axis=0}(x", ", x", ") }", 70000,
		 "70001 arguments"},
		{"graph g(c: bool[], x: float64[]) -> (y) { y = IfElse{n_outs=35000}(c", ", x",
		 ") }", 70000, "70001 arguments"},
		{"graph g(x: float64[]) -> (y) {\n y = loop (i in 0:3", ", a% = x",
		 ") -> (a0) {\n next a0 = a1\n }\n}\n", 1001, "carries at most 1000"},
		{"graph g(x: float64[", "1,", "]) -> (y) { y = x[0] }", 65, "more than 64 dims"},
		{"graph g(x: float64[1, 1]) -> (y) {\n y = SplitDims{axis=0}(x, [", "1,", "])\n}\n",
		 64, "more than 64 dims"},
		{"graph g(x: float64[", "1,",
		 "]) -> (y) { y = JoinDims{start_axis=0, n_axes=0}(x) }", 64, "more than 64 dims"},
		{"graph g(x: float64[", "1,",
		 "]) -> (y) {\n y = loop (i in 0:3, s = x) -> ([t]) {\n t = s\n next s = t\n "
		 "}\n}\n",
		 64, "cannot be stacked"},
		{"graph g(x: float64[3, 3]) -> (y) {\n y = ", "Blockwise{core_op=",
		 "Cholesky}(x) }", 30, "PTG"},
		{"graph g(x: float64[]) -> (y) { y = x", "}", "\n", 300000, "found '}'"},
		{"graph g(x: float64[]) -> (y) {\n y = if False { y = x }\n",
		 "else if False { y = x }\n", "else { y = x }\n}\n", 100000, NULL},
		{"graph g(x: float64[]) -> (y) {\n y = x\n",
		 " state w%: float64[] = 0\n next w% = x\n", "}\n", 50000, NULL},
		{"graph g(x: int8[3]) -> (y) {\n y = Einsum{subscripts=\"a", ",a", "->a\"}(x)\n}\n",
		 20000, "...\"}: the subscripts name more operands than are given"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = repeated(cases[i].head, cases[i].part, cases[i].n, cases[i].tail);
		enum ptgc_status want = cases[i].want ? PTGC_REJECTED : PTGC_OK;
		assert_int_equal(try(text, strlen(text), cases[i].want), want);
		free(text);
	}
}

/* Two parts that are many: outputs and their names in the header, operands and their letters. */
static void test_many_twice(void **state)
{
	static const struct {
		const char *head, *part, *middle, *part2, *tail;
		unsigned n;
	} cases[] = {
		{"graph g(x: float64[]) -> (", "y%, ", ") {\n", "y% = x + %\n", "}\n", 50000},
		{"graph g(x: int8[3]) -> (y) {\n y = Einsum{subscripts=\"", "a,", "a->a\"}(x",
		 ", x", ")\n}\n", 2000},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *head = repeated(cases[i].head, cases[i].part, cases[i].n, cases[i].middle);
		char *text = repeated(head, cases[i].part2, cases[i].n, cases[i].tail);
		assert_int_equal(try(text, strlen(text), NULL), PTGC_OK);
		free(head);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_findings),    cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_written_out), cmocka_unit_test(test_stray_bytes),
		cmocka_unit_test(test_beginnings),  cmocka_unit_test(test_options),
		cmocka_unit_test(test_many),        cmocka_unit_test(test_many_twice),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
