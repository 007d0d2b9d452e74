/*
 * graph_of.h: a compilation, the syntax tree of a text, and its graph of PyTensor's ops, for unit
 * tests. Include it after cmocka.h. A test in which memory runs out fails.
 */
#ifndef PTGC_TESTS_GRAPH_OF_H
#define PTGC_TESTS_GRAPH_OF_H

#include <string.h>

#include "elab/elab.h"
#include "syntax/syntax.h"
#include "target/target.h"

static inline struct ctx *fresh_ctx(void)
{
	struct ctx *cx = ctx_new();

	assert_non_null(cx);
	if (setjmp(cx->oom))
		fail_msg("out of memory");
	cx->opt.runtime = DEFAULT_RELEASE;
	dims_init(cx);
	ops_init(cx);
	return cx;
}

static inline struct file *parse_text(struct ctx *cx, const char *text)
{
	struct source *src = source_add(cx, "t.ptg", NULL, text, strlen(text));

	assert_non_null(src);
	return parse(cx, src);
}

/* of a text without mistakes */
static inline struct graph *graph_of(struct ctx *cx, const char *text)
{
	struct graph *g = elaborate(cx, parse_text(cx, text), expansions, false);

	assert_non_null(g);
	assert_int_equal(cx->errors, 0);
	return g;
}

#endif
