/*
 * Unit tests of graphs: walk() meets blocks and nodes in the order that graph.h says, nodes can be
 * taken out of a block and put back, and verify_typed() stops a compiler that broke one of its
 * rules.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "typed/typed.h"
#include "graph_of.h"

static const char nested[] = "ptg 1\n"
			     "graph g(x: float64[n], c: bool[]) -> (y, z) {\n"
			     "  y = loop (v in x, s = 0.0) -> (s) {\n"
			     "    r = if c { r = Exp(v) } else { r = -v }\n"
			     "    next s = s + r\n"
			     "  }\n"
			     "  z = Tanh(x)\n"
			     "}\n";

/* The events of a walk, a word each: ( ) for blocks, the op before and /op behind a node */
static const char *events_of(struct ctx *cx, struct block *b, unsigned events)
{
	struct strbuf out = {.arena = cx->arena};

	sb_str(&out, "");
	for (struct walk w = {.root = b}; walk(&w, events);)
		switch (w.event) {
		case WALK_ENTER:
			sb_str(&out, "( ");
			break;
		case WALK_LEAVE:
			sb_str(&out, ") ");
			break;
		default:
			sb_printf(&out, "%s%s ", w.event == WALK_AFTER ? "/" : "",
				  w.at.node->op->name);
		}
	return out.s;
}

static void test_order(void **state)
{
	struct ctx *cx = fresh_ctx();
	struct graph *g = graph_of(cx, nested);
	(void)state;

	assert_string_equal(
		events_of(cx, g->block, WALK_ENTER | WALK_BEFORE | WALK_AFTER | WALK_LEAVE),
		"( dim /dim loop ( Subtensor /Subtensor if ( Exp /Exp ) ( Neg /Neg ) /if Add /Add "
		") "
		"/loop Tanh /Tanh ) ");
	assert_string_equal(events_of(cx, g->block, WALK_BEFORE),
			    "dim loop Subtensor if Exp Neg Add Tanh ");
	assert_string_equal(events_of(cx, g->block, WALK_AFTER),
			    "/dim /Subtensor /Exp /Neg /if /Add /loop /Tanh ");
	ctx_free(cx);
}

/* Nodes are taken out of a block one by one; those of two blocks become one block's. */
static void test_taken(void **state)
{
	struct ctx *cx = fresh_ctx();
	struct block *b = graph_of(cx, nested)->block, front = {0}, back = {0};
	uint32_t nnodes = b->nnodes, taken = 0;
	const char *before = events_of(cx, b, WALK_BEFORE);
	(void)state;

	for (struct node *nodes = take_nodes(b), *n; (n = next_taken(&nodes)) != NULL;) {
		assert_null(n->next);
		assert_int_equal(b->nnodes, 0);
		graph_append(taken++ ? &back : &front, n);
	}
	assert_int_equal(taken, nnodes);
	assert_null(b->first);
	assert_null(b->last);
	graph_append_all(b, &front);
	graph_append_all(b, &front);
	graph_append_all(b, &back);
	assert_int_equal(b->nnodes, nnodes);
	assert_null(back.first);
	assert_null(b->last->next);
	assert_string_equal(events_of(cx, b, WALK_BEFORE), before);
	ctx_free(cx);
}

static void test_no_nodes(void **state)
{
	struct ctx *cx = fresh_ctx();
	struct block empty = {0};
	(void)state;

	graph_of(cx, nested);
	assert_string_equal(events_of(cx, &empty, WALK_ENTER | WALK_BEFORE | WALK_LEAVE), "( ) ");
	assert_string_equal(events_of(cx, &empty, WALK_BEFORE), "");
	ctx_free(cx);
}

static void test_past(void **state)
{
	struct ctx *cx = fresh_ctx();
	struct graph *g = graph_of(cx, nested);
	struct walk w = {.root = g->block};
	(void)state;

	assert_true(walk(&w, WALK_BEFORE));
	assert_true(walk(&w, WALK_BEFORE));
	assert_string_equal(w.at.node->op->name, "loop");
	walk_past(&w);
	assert_true(walk(&w, WALK_BEFORE));
	assert_string_equal(w.at.node->op->name, "Tanh");
	assert_string_equal(w.at.before->op->name, "loop");
	assert_false(walk(&w, WALK_BEFORE));
	ctx_free(cx);
}

/* Does verify_typed() stop with these words? It stops by abort(), so a child runs it. */
static void stops(struct ctx *cx, struct graph *g, const char *words)
{
	char said[512] = "";
	int pipes[2], status;

	assert_int_equal(pipe(pipes), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (!child) {
		dup2(pipes[1], 2);
		signal(SIGABRT, SIG_DFL);
		verify_typed(cx, g);
		_exit(0);
	}
	close(pipes[1]);
	ssize_t n;
	for (size_t at = 0; (n = read(pipes[0], said + at, sizeof(said) - 1 - at)) > 0;)
		at += (size_t)n;
	close(pipes[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (!words)
		assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	else if (!WIFSIGNALED(status) || !strstr(said, words))
		fail_msg("expected \"%s\", not \"%s\"", words, said);
}

static void test_verify_typed(void **state)
{
	struct ctx *cx = fresh_ctx();
	struct graph *g = graph_of(cx, nested);
	struct node *loop = g->block->first->next, *tanh = loop->next, *add = loop->blocks[0]->last;
	struct value *x = tanh->in[0], *y = tanh->out[0];
	(void)state;

	stops(cx, g, NULL);
	tanh->in[0] = y;
	stops(cx, g, "Tanh reads a value that is not defined before it");
	tanh->in[0] = add->out[0];
	stops(cx, g,
	      "Tanh reads a value that is not defined before it"); /* of a block that ended */
	tanh->in[0] = x;
	y->type.dtype = DT_FLOAT32;
	stops(cx, g, "result 0 of Tanh is float32[n], not float64[n]");
	y->type.dtype = DT_NONE;
	stops(cx, g, "a result of Tanh has no type");
	y->type.dtype = DT_FLOAT64;
	tanh->out[0] = x;
	stops(cx, g, "a result of Tanh is defined twice");
	tanh->out[0] = y;
	stops(cx, g, NULL);
	ctx_free(cx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),        cmocka_unit_test(test_taken),
		cmocka_unit_test(test_no_nodes),     cmocka_unit_test(test_past),
		cmocka_unit_test(test_verify_typed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
