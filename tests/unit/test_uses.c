/*
 * Unit tests of uses: next_use() meets each of them once, in order, and the table of find_uses()
 * has the same ones by value.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "elab/elab.h"
#include "graph/uses.h"
#include "syntax/syntax.h"
#include "target/target.h"

static const char nested[] = "ptg 1\n"
			     "graph g(x: float64[n], c: bool[]) -> (y, z) {\n"
			     "  t = Tanh(x)\n"
			     "  y = loop (v in x, s = 0.0) -> (s) {\n"
			     "    r = if c { r = Exp(v) } else { r = -v }\n"
			     "    next s = s + r\n"
			     "  }\n"
			     "  z = t * t - Sum(t)\n"
			     "}\n";

static struct graph *graph_of(struct ctx **to, const char *text)
{
	struct ctx *cx = ctx_new();

	assert_non_null(cx);
	if (setjmp(cx->oom))
		fail_msg("out of memory");
	cx->opt.runtime = DEFAULT_RELEASE;
	dims_init(cx);
	ops_init(cx);
	struct graph *g =
		elaborate(cx, parse(cx, source_add(cx, "g.ptg", NULL, text, strlen(text))), false);
	assert_non_null(g);
	assert_int_equal(cx->errors, 0);
	*to = cx;
	return g;
}

static struct node *find(const struct graph *g, const char *op)
{
	for (struct walk w = {.root = g->block}; walk(&w, WALK_BEFORE);)
		if (!strcmp(w.at.node->op->name, op))
			return w.at.node;
	fail_msg("no %s", op);
	return NULL;
}

/* The uses in b, a word each: an input "Op.0", a result of a block of depth d "result.d.0" */
static const char *uses_in(struct ctx *cx, const struct block *b)
{
	struct strbuf out = {.arena = cx->arena};

	sb_str(&out, "");
	for (struct use_walk w = {.root = b}; next_use(&w);)
		if (w.use.node)
			sb_printf(&out, "%s.%u ", w.use.node->op->name, w.use.index);
		else
			sb_printf(&out, "result.%u.%u ", w.use.block->depth, w.use.index);
	return out.s;
}

static void test_order(void **state)
{
	struct ctx *cx;
	struct graph *g = graph_of(&cx, nested);
	struct block empty = {0};
	(void)state;

	assert_string_equal(uses_in(cx, g->block),
			    "Tanh.0 loop.0 loop.2 Subtensor.0 Subtensor.1 if.0 Exp.0 result.2.0 "
			    "Neg.0 result.2.0 Add.0 Add.1 result.1.0 result.1.1 Mul.0 Mul.1 Sum.0 "
			    "Sub.0 Sub.1 result.0.0 result.0.1 ");
	assert_string_equal(uses_in(cx, &empty), "");
	ctx_free(cx);
}

/* What the graph holds comes last; omitted inputs and states that stay are no uses. */
static void test_held(void **state)
{
	struct ctx *cx;
	struct graph *g = graph_of(&cx, nested);
	struct value *x = g->block->params.at[0], *t = find(g, "Tanh")->out[0];
	uint32_t held = 0;
	(void)state;

	*vec_push(cx->arena, &g->states) = (struct state){.param = x};
	*vec_push(cx->arena, &g->states) = (struct state){.param = x, .next = t};
	*vec_push(cx->arena, &g->kept) = x;
	find(g, "Tanh")->in[0] = NULL;
	for (struct use_walk w = {.root = g->block, .graph = g}; next_use(&w);) {
		assert_non_null(w.value);
		assert_true(!w.use.node || w.use.node->op != find(g, "Tanh")->op);
		if (w.use.block)
			assert_int_equal(held, 0);
		else
			assert_ptr_equal(w.value, held++ ? x : t);
	}
	assert_int_equal(held, 2);
	ctx_free(cx);
}

static void test_table(void **state)
{
	struct ctx *cx;
	struct graph *g = graph_of(&cx, nested);
	struct uses uses = find_uses(cx, g);
	struct value *t = find(g, "Tanh")->out[0], *x = g->block->params.at[0];
	struct value *product = find(g, "Mul")->out[0], *exp = find(g, "Exp")->out[0];
	const char *readers[] = {"Mul", "Mul", "Sum"};
	uint32_t n = 0;
	(void)state;

	for_uses(u, &uses, t)
	{
		assert_string_equal(u->node->op->name, readers[n++]);
		assert_ptr_equal(u->node->in[u->index], t);
		assert_ptr_equal(u->block, g->block);
	}
	assert_int_equal(n, 3);
	assert_int_equal(count_uses(&uses, t), 3);
	assert_null(only_reader(&uses, t));
	assert_false(escapes(&uses, t));

	assert_ptr_equal(only_reader(&uses, product), find(g, "Sub"));
	assert_int_equal(count_uses(&uses, exp), 1);
	assert_null(only_reader(&uses, exp));
	assert_true(escapes(&uses, exp)); /* a block gives it back */
	assert_int_equal(count_uses(&uses, x), 2);
	assert_true(escapes(&uses, x)); /* a node of the loop reads it */
	assert_int_equal(count_uses(&uses, g->block->results.at[0]), 1);
	ctx_free(cx);
}

/* One value, read by all nodes: the table is linear in the uses. */
static void test_many(void **state)
{
	struct strbuf text = {0};
	struct ctx *cx, *own = ctx_new();
	(void)state;

	assert_non_null(own);
	text.arena = own->arena;
	sb_str(&text, "ptg 1\ngraph g(x: float64[n]) -> (y) {\n  v0 = x\n");
	for (int i = 1; i <= 5000; i++)
		sb_printf(&text, "  v%d = v%d + x\n", i, i - 1);
	sb_str(&text, "  y = v5000\n}\n");
	struct graph *g = graph_of(&cx, text.s);
	struct uses uses = find_uses(cx, g);
	assert_int_equal(count_uses(&uses, g->block->params.at[0]), 5001);
	ctx_free(cx);
	ctx_free(own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
