/*
 * fuzz.c: any bytes as a .ptg file. In: bytes. Holds: no crash, no leak, no hang; what is rejected
 * has a message, what formats formats to itself; what becomes ONNX becomes C, or is refused. Files
 * are off, so nothing but the text is read.
 * corpus.c runs this on texts that are always the same, libFuzzer (tools/fuzz.sh) on random ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ptgc.h"

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz: does not hold: %s\n", what);
	abort();
}

static void try_format(const char *text, size_t len)
{
	size_t n = 0, m = 0;
	struct ptgc_result *one = ptgc_format(text, len, NULL);
	if (ptgc_ok(one)) {
		const char *formatted = ptgc_model(one, &n);
		struct ptgc_result *two = ptgc_format(formatted, n, NULL);
		const char *again = ptgc_model(two, &m);
		must(ptgc_ok(two), "formatted text parses");
		must(n == m && !memcmp(formatted, again, n), "formatting twice is formatting once");
		ptgc_free(two);
	}
	ptgc_free(one);
}

/* Is there a model? */
static bool try_compile(const char *text, size_t len, enum ptgc_target target, int opset)
{
	struct ptgc_options opt = PTGC_OPTIONS_INIT;
	size_t size = 0;
	opt.target = target;
	opt.opset = opset;
	struct ptgc_result *r = ptgc_compile(text, len, &opt);
	must(ptgc_status(r) != PTGC_FAILED, "the input is compiled or rejected");
	bool ok = ptgc_ok(r);
	if (ok)
		must(ptgc_model(r, &size) && size, "a model has bytes");
	else
		must(ptgc_diagnostic_count(r) > 0, "a rejected input has a message");
	must(strlen(ptgc_messages(r, true)) > 0 || ok, "messages can be printed");
	ptgc_free(r);
	return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* a copy of its own, so that reading past the end is seen */
	char *text = malloc(size ? size : 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	try_format(text, size);
	if (try_compile(text, size, PTGC_ORT_CPU, size % 2 ? 0 : 13))
		try_compile(text, size, PTGC_C, 0);
	free(text);
	return 0;
}
