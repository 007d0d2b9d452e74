/*
 * Unit tests of what ptgc.h tells about the language: ops, names, dtypes, targets, opsets, causes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "elab/elab.h"
#include "syntax/syntax.h"

static bool compiles(const char *text)
{
	struct ptgc_result *r = ptgc_compile(text, strlen(text), NULL);
	bool ok = ptgc_ok(r);
	ptgc_free(r);
	return ok;
}

static void test_op_signatures(void **state)
{
	bool ready = false;
	(void)state;
	assert_string_equal(ptgc_op_signature("Sum", &ready),
			    "x; axes:axes=None, dtype:dtype=None, acc_dtype:dtype=None, "
			    "keepdims:bool=False");
	assert_true(ready);
	assert_non_null(ptgc_op_signature("AllocEmpty", NULL));
	assert_null(ptgc_op_signature("sum", &ready));
	assert_null(ptgc_op_signature("", NULL));
}

/* A name is plain if and only if the language takes it as it is for a value, and as a dim, and
 * other names do with backquotes. */
static void test_plain_names(void **state)
{
	static const char *const plain[] = {
		"x",    "x1",   "X_y",      "_x",        "__",
		"Exp",  "file", "rank",     "iff",       "int5",
		"infx", "Ptg",  "\xce\xbc", "x\xc2\xb2", "\xe5\x90\x8d\xe5\x89\x8d",
	};
	static const char *const quoted[] = {
		"if",
		"else",
		"None",
		"True",
		"False",
		"inf",
		"nan",
		"nanj",
		"and",
		"where",
		"int4",
		"bool",
		"for",
		"as",
		"float64",
		"string",
		"float8e5m2",
		"complex64",
		"1a",
		"a b",
		"a.b",
		"a-b",
		"x[0]",
		"1",
		"\xc2\xa0",
		"a\xe2\x80\x8b",
		"a\tb",
		"\xc2\xad",
		"`",
		"a`b",
		"x,",
		"#",
		"\xef\xbb\xbf",
	};
	static const char *const soft[] = {
		"ptg",  "graph", "fn",   "use",   "const", "rule", "state",
		"next", "until", "loop", "while", "in",    "_",
	};
	char text[200];
	(void)state;
	for (size_t i = 0; i < countof(plain); i++) {
		assert_true(ptgc_plain_name(plain[i]));
		snprintf(text, sizeof(text), "graph g(%s: float64[%s]) -> (y) { y = %s }", plain[i],
			 plain[i], plain[i]);
		assert_true(compiles(text));
	}
	for (size_t i = 0; i < countof(quoted); i++) {
		assert_false(ptgc_plain_name(quoted[i]));
		snprintf(text, sizeof(text), "graph g(a: float64[]) -> (y) {\n%s = a\ny = %s\n}",
			 quoted[i], quoted[i]);
		assert_false(compiles(text));
	}
	for (size_t i = 0; i < countof(soft); i++)
		assert_false(ptgc_plain_name(soft[i]));
	for (size_t i = 0; i < countof(quoted) + countof(soft); i++) {
		const char *name = i < countof(quoted) ? quoted[i] : soft[i - countof(quoted)];
		if (strchr(name, '`'))
			continue;
		snprintf(text, sizeof(text), "graph g(`%s`: float64[n]) -> (y) { y = `%s` }", name,
			 name);
		assert_true(compiles(text));
	}
	assert_false(ptgc_plain_name(""));
	assert_false(ptgc_plain_name(NULL));
	assert_false(ptgc_plain_name("a\xff"));
	assert_false(ptgc_plain_name("\xc3"));
	assert_false(ptgc_plain_name("\xed\xa0\x80")); /* half of a character of UTF-16 */
}

static void test_op_names(void **state)
{
	static const char *const yes[] = {"Exp",   "True_div", "Scan", "file",
					  "bytes", "dtype",    "rank"};
	static const char *const no[] = {"exp", "", "float64", "x", "onnx.Exp"};
	(void)state;
	for (size_t i = 0; i < countof(yes); i++)
		assert_true(ptgc_op_name(yes[i]));
	for (size_t i = 0; i < countof(no); i++)
		assert_false(ptgc_op_name(no[i]));
	assert_false(ptgc_op_name(NULL));
}

static void test_dtypes(void **state)
{
	int onnx = 0, seen = 0;
	size_t n = 0;
	(void)state;
	for (const char *name; (name = ptgc_dtype(n, &onnx)); n++) {
		assert_int_equal(onnx, dtypes[dtype_named(name)].onnx);
		assert_false(ptgc_plain_name(name));
		seen += !strcmp(name, "float64") && onnx == 11;
		seen += !strcmp(name, "bool") && onnx == 9;
	}
	assert_int_equal(n, DT_COUNT - 1);
	assert_int_equal(seen, 2);
	assert_string_equal(ptgc_dtype(0, NULL), "bool");
	assert_null(ptgc_dtype(SIZE_MAX, &onnx));
}

static void test_generators_of_seeds(void **state)
{
	static const uint32_t small[] = {42}, large[] = {5, 0, 1}, seven[] = {7}, second = 1;
	/* what NumPy says of bit_generator.state */
	static const struct {
		enum ptgc_generator kind;
		const uint32_t *seed;
		size_t nseed;
		const uint32_t *key; /* of what spawn() gives */
		uint64_t words[PTGC_MAX_GENERATOR_WORDS];
	} rows[] = {
		/* default_rng(42) */
		{PTGC_PCG64,
		 small,
		 1,
		 NULL,
		 {0xcea44f6798798f2a, 0xacbc7c9d68860ac8, 0xfa505436c9a8416e, 0x66caf2e28d25abff}},
		/* the second that a PCG64DXSM(2 ** 64 + 5) spawns */
		{PTGC_PCG64DXSM,
		 large,
		 3,
		 &second,
		 {0xef2bd3508f1668ad, 0x7ce7386a5269e1e1, 0xc5a33d5aeaf64c66, 0x3986f20b68cd74d1}},
		/* Philox(7) */
		{PTGC_PHILOX,
		 seven,
		 1,
		 NULL,
		 {0, 0, 0, 0, 0xead0f7017c326e58, 0x879c4f0f97e037a, 0, 0, 0, 0, 4}},
	};
	(void)state;
	for (size_t i = 0; i < countof(rows); i++) {
		uint64_t w[PTGC_MAX_GENERATOR_WORDS] = {0};
		size_t n = rows[i].kind == PTGC_PHILOX ? 13 : 6;
		assert_int_equal(ptgc_seed_generator(rows[i].kind, rows[i].seed, rows[i].nseed,
						     rows[i].key, rows[i].key != NULL, w),
				 n);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(w[k], rows[i].words[k]);
	}
	uint64_t w[PTGC_MAX_GENERATOR_WORDS];
	assert_int_equal(ptgc_seed_generator(PTGC_PHILOX + 1, small, 1, NULL, 0, w), 0);
}

static void test_words_of_options(void **state)
{
	struct ptgc_options opt = PTGC_OPTIONS_INIT;
	const char *text = "graph g(x: float64[]) -> (y) { y = Exp(x) }";
	int least = 0, greatest = 0, usual = 0;
	(void)state;
	assert_string_equal(ptgc_target(PTGC_ORT_CPU), "ort-cpu");
	assert_string_equal(ptgc_target(PTGC_ONNX), "onnx");
	assert_string_equal(ptgc_target(PTGC_PORTABLE), "portable");
	assert_string_equal(ptgc_target(PTGC_C), "c");
	assert_null(ptgc_target(PTGC_C + 1));
	assert_string_equal(ptgc_math(PTGC_STANDARD), "standard");
	assert_string_equal(ptgc_math(PTGC_EXACT), "exact");
	assert_string_equal(ptgc_math(PTGC_NATIVE), "native");
	assert_null(ptgc_math(PTGC_NATIVE + 1));
	ptgc_opsets(NULL, NULL, NULL);
	ptgc_opsets(&least, &greatest, &usual);
	assert_true(least < usual && usual < greatest);
	for (opt.opset = least - 1; opt.opset <= greatest + 1; opt.opset++) {
		struct ptgc_result *r = ptgc_compile(text, strlen(text), &opt);
		assert_int_equal(ptgc_ok(r), opt.opset >= least && opt.opset <= greatest);
		ptgc_free(r);
	}
}

/* Options that say something of ONNX models alone are refused for C, by their names. */
static void test_options_of_c(void **state)
{
	static const char *const meta[] = {"key=value", NULL}, *const none[] = {NULL};
	static const char text[] = "graph g(x: float64[]) -> (y) { y = Exp(x) }";
	(void)state;
	for (int i = 0; i < 7; i++) {
		struct ptgc_options opt = PTGC_OPTIONS_INIT;
		opt.target = PTGC_C;
		opt.opset = i == 0 ? 18 : 0;
		opt.ml_opset = i == 1;
		opt.doc_string = i == 2 ? "a model" : NULL;
		opt.model_version = i == 3 ? 2 : 1;
		opt.meta = i == 4 ? meta : none;
		opt.strip = i == 5;
		opt.header_name = i == 6 ? "m.h" : NULL;
		struct ptgc_result *r = ptgc_compile(text, sizeof(text) - 1, &opt);
		assert_int_equal(ptgc_status(r), i < 5 ? PTGC_FAILED : PTGC_OK);
		assert_int_equal(strstr(ptgc_messages(r, false), "is for ONNX models") != NULL,
				 i < 5);
		ptgc_free(r);
	}
}

/* The weights of C are a file if there is a name for it, and one is asked for or they are many. Its
 * name has the number at its end. */
static void test_weights_of_c(void **state)
{
	static double data[300];
	const int64_t shape[] = {300};
	const struct ptgc_tensor w = {"w", "float64", 1, shape, data};
	static const char text[] = "graph g(x: float64[300]) -> (y) { y = x * file(\"w\") }";
	(void)state;
	for (int i = 0; i < 300; i++)
		data[i] = i;
	for (int i = 0; i < 4; i++) {
		struct ptgc_options opt = PTGC_OPTIONS_INIT;
		size_t size, model_size;
		char digits[17] = "";
		opt.target = PTGC_C;
		opt.tensors = &w;
		opt.ntensors = 1;
		opt.external_name = i ? "g-*.data" : NULL;
		opt.external_threshold = i == 2 ? 2400 : i == 3 ? 2401 : 0;
		opt.model_limit = i == 1 ? 1000 : 0;
		struct ptgc_result *r = ptgc_compile(text, sizeof(text) - 1, &opt);
		assert_true(ptgc_ok(r));
		const uint8_t *weights = ptgc_external(r, &size);
		assert_int_equal(weights != NULL, i == 1 || i == 2);
		assert_non_null(ptgc_model(r, &model_size));
		if (weights) {
			assert_int_equal(size, 2408);
			assert_memory_equal(weights, data, 2400);
			for (int k = 0; k < 8; k++)
				snprintf(digits + (ptrdiff_t)2 * k, 3, "%02x", weights[2407 - k]);
			assert_memory_equal(ptgc_external_name(r) + 2, digits, 16);
			assert_string_equal(ptgc_external_name(r) + 18, ".data");
			assert_true(model_size < 4000);
		} else {
			assert_null(ptgc_external_name(r));
		}
		ptgc_free(r);
	}
}

/* What is proposed for names of other libraries compiles, without a warning. */
static void test_foreign_names(void **state)
{
	static const char *const flags[] = {"Wno-unused", NULL};
	struct ptgc_options opt = PTGC_OPTIONS_INIT;
	char text[600];
	(void)state;
	opt.flags = flags;
	for (const struct foreign_name *f = foreign_names; f->name; f++) {
		for (int i = 0; i < 2; i++) {
			const char *value = i ? f->second : f->first;
			if (!value)
				continue;
			snprintf(text, sizeof(text),
				 "graph g(x: float32[4, 4], y: float32[4, 4], v: float32[4], c: "
				 "bool[4, 4],\n"
				 "i: int64[4], n: int64[], image: float32[1, 4, 8, 8], w: "
				 "float32[4, 4, 3, 3]\n"
				 ") -> (r) {\nr = %s\n}",
				 value);
			struct ptgc_result *r = ptgc_compile(text, strlen(text), &opt);
			if (!ptgc_ok(r) || *ptgc_messages(r, false))
				fail_msg("%s: %s", f->name, ptgc_messages(r, false));
			ptgc_free(r);
		}
	}
}

static void test_causes(void **state)
{
	(void)state;
	assert_int_equal(ptgc_cause("PTG0503"), PTGC_UNSUPPORTED);
	assert_int_equal(ptgc_cause("PTG0500"), PTGC_UNSUPPORTED);
	assert_int_equal(ptgc_cause("PTG0301"), PTGC_RAISES);
	assert_int_equal(ptgc_cause("PTG0505"), PTGC_RAISES);
	assert_int_equal(ptgc_cause("PTG0100"), PTGC_MISTAKE);
	assert_int_equal(ptgc_cause("PTG9999"), PTGC_MISTAKE);
	assert_int_equal(ptgc_cause(""), PTGC_MISTAKE);
	assert_string_equal(ptgc_explain("PTG0503"), diag_infos[E_UNSUPPORTED].explain);
	for (int i = 0; i < DIAG_COUNT; i++)
		assert_true(diag_infos[i].severity == PTGC_ERROR || !diag_infos[i].cause);
}

/* What ptgc_why() says of `where`, and how; the answer is NULL where nothing can be said. */
static void why_is(const char *text, const char *where, enum ptgc_status status, const char *answer)
{
	struct ptgc_options opt = PTGC_OPTIONS_INIT;
	struct ptgc_result *r = ptgc_why(text, strlen(text), where, &opt);

	assert_non_null(r);
	assert_int_equal(ptgc_status(r), status);
	if (answer)
		assert_string_equal(ptgc_answer(r), answer);
	else
		assert_null(ptgc_answer(r));
	assert_null(ptgc_model(r, NULL));
	ptgc_free(r);
}

static void test_why(void **state)
{
	static const char text[] = "graph g(x: float32[n, 4], m: bool[n]) -> (y, z) {\n"
				   "  y = Sum{axis=1}(x[m])\n"
				   "  z = Tahn(x)\n"
				   "}\n",
			  y[] = "y: float32[?]\n"
				"  float32: x: float32[n, 4], line 1\n"
				"  ?: made by AdvancedSubtensor{i}(float32[n, 4], bool[n]), "
				"line 2, a size that only a run knows\n",
			  fns[] = "fn F(x: F) -> (y) {\n  y = x\n}\n";

	(void)state;
	why_is(text, "2", PTGC_OK, y);
	why_is(text, "2:3", PTGC_OK, y);
	why_is(text, "y", PTGC_OK, y);
	why_is(text, "3", PTGC_REJECTED, "z: no type, because of an error\n");
	why_is(text, "4", PTGC_REJECTED, NULL);
	why_is(text, "nothing", PTGC_REJECTED, NULL);
	why_is(text, "", PTGC_REJECTED, NULL);
	why_is(text, NULL, PTGC_REJECTED, NULL);
	why_is(text, "99", PTGC_REJECTED, NULL);
	why_is(fns, "2", PTGC_REJECTED, NULL);
	why_is("graph", "1", PTGC_REJECTED, NULL);
	assert_null(ptgc_answer(NULL));
	struct ptgc_result *model = ptgc_compile(fns, strlen(fns), NULL);
	assert_null(ptgc_answer(model));
	ptgc_free(model);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_op_signatures), cmocka_unit_test(test_plain_names),
		cmocka_unit_test(test_op_names),      cmocka_unit_test(test_dtypes),
		cmocka_unit_test(test_causes),        cmocka_unit_test(test_generators_of_seeds),
		cmocka_unit_test(test_why),           cmocka_unit_test(test_words_of_options),
		cmocka_unit_test(test_foreign_names), cmocka_unit_test(test_options_of_c),
		cmocka_unit_test(test_weights_of_c),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
