/*
 * Unit tests of uses: next_use() meets each of them once, in order, and the table of find_uses()
 * has the same ones by value; the counts of values are kept while nodes change.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "graph/uses.h"
#include "graph_of.h"

static const char nested[] = "ptg 1\n"
			     "graph g(x: float64[n], c: bool[]) -> (y, z) {\n"
			     "  t = Tanh(x)\n"
			     "  y = loop (v in x, s = 0.0) -> (s) {\n"
			     "    r = if c { r = Exp(v) } else { r = -v }\n"
			     "    next s = s + r\n"
			     "  }\n"
			     "  z = t * t - Sum(t)\n"
			     "}\n";

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
	struct ctx *cx = fresh_ctx();
	struct graph *g = graph_of(cx, nested);
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
	struct ctx *cx = fresh_ctx();
	struct graph *g = graph_of(cx, nested);
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
	struct ctx *cx = fresh_ctx();
	struct graph *g = graph_of(cx, nested);
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

/* ---- counts ---- */

struct small { /* a = f(x), b = f(a), c = f(a, b) */
	struct value x, a, b, c;
	struct node nodes[3];
	struct value *in[4], *out[3];
};

static void make_small(struct small *s)
{
	*s = (struct small){
		.x.uses = 1, .a.uses = 2, .b.uses = 1, .c = {.uses = 1, .is_result = true}};
	struct value *in[] = {&s->x, &s->a, &s->a, &s->b}, *out[] = {&s->a, &s->b, &s->c};
	for (int i = 0; i < 4; i++)
		s->in[i] = in[i];
	for (int i = 0; i < 3; i++) {
		s->out[i] = out[i];
		out[i]->def = &s->nodes[i];
		s->nodes[i] = (struct node){.in = &s->in[i], .out = &s->out[i], .nout = 1};
		s->nodes[i].nin = i == 2 ? 2 : 1;
	}
}

static void test_set_input(void **state)
{
	struct small s;
	(void)state;

	make_small(&s);
	assert_true(is_used_once(&s.b));
	assert_false(is_used_once(&s.a));
	assert_false(is_used_once(&s.c)); /* a block gives it back */
	set_input(&s.nodes[2], 1, &s.x);  /* c = f(a, x): b has no reader, nor has a a second one */
	assert_int_equal(s.b.uses, 0);
	assert_true(s.nodes[1].dead);
	assert_int_equal(s.a.uses, 1);
	assert_int_equal(s.x.uses, 2);
	assert_false(s.nodes[0].dead);
	set_input(&s.nodes[2], 0, &s.x); /* c = f(x, x) */
	assert_true(s.nodes[0].dead);
	assert_int_equal(s.x.uses, 2);
	set_input(&s.nodes[2], 0, &s.x); /* the same again changes nothing */
	assert_int_equal(s.x.uses, 2);
}

static void test_set_inputs(void **state)
{
	struct small s;
	(void)state;

	make_small(&s);
	struct value *in[] = {&s.a, NULL, &s.a};
	set_inputs(&s.nodes[2], in, 3); /* what it read before and reads again stays */
	assert_int_equal(s.a.uses, 2);
	assert_false(s.nodes[0].dead);
	assert_true(s.nodes[1].dead);
	set_inputs(&s.nodes[2], NULL, 0);
	assert_int_equal(s.a.uses, 0);
	assert_true(s.nodes[0].dead);
	assert_int_equal(s.x.uses, 0);
}

/* A node that was dropped gave up what it read: it reads and gives up nothing any more. */
static void test_dead(void **state)
{
	struct small s;
	struct value *in[] = {&s.a, &s.a};
	(void)state;

	make_small(&s);
	drop_node(&s.nodes[1]); /* b = f(a) */
	assert_int_equal(s.a.uses, 1);
	set_input(&s.nodes[1], 0, &s.x);
	set_inputs(&s.nodes[1], in, 2);
	drop_node(&s.nodes[1]);
	assert_int_equal(s.a.uses, 1);
	assert_int_equal(s.x.uses, 1);
	assert_false(s.nodes[0].dead);
}

static void test_results(void **state)
{
	struct ctx *cx = fresh_ctx();
	struct block inner = {.depth = 1};
	struct value x = {0}, y = {0}, z = {0};
	(void)state;

	add_result(cx, &inner, 0, &y);
	add_result(cx, &inner, 0, &x);
	assert_int_equal(inner.results.len, 2);
	assert_true(inner.results.at[0] == &x && inner.results.at[1] == &y);
	put_result(&inner, 1, &z);
	assert_ptr_equal(inner.results.at[1], &z);
	assert_int_equal(z.uses, 1);
	assert_true(z.is_result && z.is_inner_result);
	ctx_free(cx);
}

static void test_drop_node(void **state)
{
	struct small s;
	struct value other = {.uses = 1};
	struct value *both[] = {&s.a, &other};
	(void)state;

	make_small(&s);
	s.nodes[0].out = both; /* a node of two results, of which one is still read */
	s.nodes[0].nout = 2;
	other.def = &s.nodes[0];
	drop_node(&s.nodes[2]);
	assert_true(s.nodes[2].dead && s.nodes[1].dead);
	assert_false(s.nodes[0].dead);
	assert_int_equal(s.a.uses, 0);
	assert_int_equal(s.x.uses, 1);
}

static void test_replace(void **state)
{
	struct small s;
	(void)state;

	make_small(&s);
	replace_all_uses(&s.a, &s.x);
	drop_node(&s.nodes[0]);
	assert_int_equal(s.x.uses, 2);
	assert_int_equal(s.a.uses, 0);
	assert_ptr_equal(resolve(s.nodes[1].in[0]), &s.x);
	drop_node(&s.nodes[2]); /* its inputs still say a: that is x */
	assert_int_equal(s.x.uses, 0);
	assert_true(s.nodes[1].dead);
}

/* However long the way back: a count that stays too high does no harm. */
static void test_long_way(void **state)
{
	enum { MANY = 10000 };
	static struct value v[MANY + 1], *in[MANY], *out[MANY];
	static struct node n[MANY];
	(void)state;

	for (int i = 0; i < MANY; i++) {
		in[i] = &v[i];
		out[i] = &v[i + 1];
		n[i] = (struct node){.in = &in[i], .nin = 1, .out = &out[i], .nout = 1};
		v[i].uses = 1;
		v[i + 1].def = &n[i];
	}
	drop_node(&n[MANY - 1]);
	for (int i = 0; i < MANY; i++)
		assert_true(n[i].dead && !v[i].uses);
}

/* One value, read by all nodes: the table is linear in the uses. */
static void test_many(void **state)
{
	struct strbuf text = {0};
	struct ctx *cx = fresh_ctx();
	(void)state;

	text.arena = cx->arena;
	sb_str(&text, "ptg 1\ngraph g(x: float64[n]) -> (y) {\n  v0 = x\n");
	for (int i = 1; i <= 5000; i++)
		sb_printf(&text, "  v%d = v%d + x\n", i, i - 1);
	sb_str(&text, "  y = v5000\n}\n");
	struct graph *g = graph_of(cx, text.s);
	struct uses uses = find_uses(cx, g);
	assert_int_equal(count_uses(&uses, g->block->params.at[0]), 5001);
	ctx_free(cx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),     cmocka_unit_test(test_held),
		cmocka_unit_test(test_table),     cmocka_unit_test(test_many),
		cmocka_unit_test(test_set_input), cmocka_unit_test(test_set_inputs),
		cmocka_unit_test(test_drop_node), cmocka_unit_test(test_replace),
		cmocka_unit_test(test_long_way),  cmocka_unit_test(test_dead),
		cmocka_unit_test(test_results),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
