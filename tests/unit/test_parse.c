/*
 * Unit tests of the front end: what texts become as ASTs, messages with their places, folded lists,
 * limits, and the printer as the inverse of the grammar.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph_of.h"

static const char *all_messages(struct ctx *cx)
{
	struct strbuf b = {.arena = cx->arena};

	sb_str(&b, "");
	diag_render(cx, &b, false);
	return b.s;
}

/* The AST of `y = <expr>` as text. */
static void check_expr(const char *expr, const char *want)
{
	struct ctx *cx = fresh_ctx();
	const char *text = arena_printf(cx->arena, "graph g() -> (y) {\ny = %s\n}\n", expr);
	struct file *f = parse_text(cx, text);
	struct strbuf b = {.arena = cx->arena};
	char *start, *end;

	assert_string_equal(all_messages(cx), "");
	dump_ast(cx, f, &b);
	start = strstr(b.s, "\n  y = ");
	assert_non_null(start);
	start += strlen("\n  y = ");
	end = strchr(start, '\n');
	*end = '\0';
	assert_string_equal(start, want);
	ctx_free(cx);
}

/* The first message of a text, and how many there are. */
static void check_error(const char *text, unsigned errors, const char *want)
{
	struct ctx *cx = fresh_ctx();
	const char *got;

	parse_text(cx, text);
	got = all_messages(cx);
	if (strncmp(got, want, strlen(want)) != 0)
		fail_msg("got  %s\nwant %s\nfor  %s", got, want, text);
	assert_int_equal(cx->errors, errors);
	ctx_free(cx);
}

static void check_body_error(const char *body, unsigned errors, const char *want)
{
	size_t len = strlen(body) + 64;
	char *text = malloc(len);

	assert_non_null(text);
	snprintf(text, len, "graph g() -> (y) {\n%s\n}\n", body);
	check_error(text, errors, want);
	free(text);
}

static void test_precedence(void **state)
{
	(void)state;
	check_expr("a + b * c", "(+ a (* b c))");
	check_expr("-2 ** 2", "(- (** 2 2))");
	check_expr("2 ** -1", "(** 2 -1)");
	check_expr("2 ** -x ** 2", "(** 2 (- (** x 2)))");
	check_expr("a ** b ** c", "(** a (** b c))");
	check_expr("a - b - c", "(- (- a b) c)");
	check_expr("- -3", "(- -3)");
	check_expr("-(3)", "(- (paren 3))");
	check_expr("a | b ^ c & d + e", "(| a (^ b (& c (+ d e))))");
	check_expr("~a == b", "(== (~ a) b)");
	check_expr("(a < b) & c", "(& (paren (< a b)) c)");
	check_expr("-x[0]", "(- (index x 0))");
	check_expr("a @ b // c % d / e", "(/ (% (// (@ a b) c) d) e)");
}

static void test_calls(void **state)
{
	(void)state;
	check_expr("f()", "(call f 0)");
	check_expr("Sum{axis=0, int64, a -> b}(x, y)",
		   "(call Sum 3 (prop axis 0) (prop int64) (prop (arrow a b)) x y)");
	check_expr("B{Cholesky{lower=True}}(x)",
		   "(call B 1 (prop (op Cholesky 1 (prop lower True))) x)");
	check_expr("S{a:b, ::2}(x)", "(call S 2 (prop (slice a:b a b)) (prop (slice ::c 2)) x)");
	check_expr("onnx.Gelu(x)", "(call onnx.Gelu 0 x)");
	check_expr("-x.T.T ** 2", "(- (** (attribute T (attribute T x)) 2))");
	check_expr("`a.b`.T", "(attribute T `a.b`)");
	check_expr("(x).T @ x[0].T", "(@ (attribute T (paren x)) (attribute T (index x 0)))");
	check_expr("x[0].sum(1).T", "(attribute T (method sum x 0 1))");
	check_expr("a.`b c`.D(x)", "(call `a.b c.D` 0 x)");
	check_expr("float64(0)", "(construct float64 0 0)");
	check_expr("`float64`(0)", "(call `float64` 0 0)");
	check_expr("F(0)", "(call F 0 0)");
	check_expr("F[n, 2](0)", "(construct[] F 2 n 2 0)");
	check_expr("F[](0)", "(construct[] F 0 0)");
	check_expr("float32[3](f(x), 1)", "(construct[] float32 1 3 (call f 0 x) 1)");
	check_expr("()", "(tuple)");
	check_expr("(a,)", "(tuple a)");
	check_expr("(a, b,)", "(tuple a b)");
	check_expr("(f(a), b[0], c)", "(tuple (call f 0 a) (index b 0) c)");
}

static void test_indexing(void **state)
{
	(void)state;
	check_expr("x[1:n, ::-1, i, None, ...]",
		   "(index x (slice a:b 1 n) (slice ::c -1) i None ...)");
	check_expr("x[:, 1:, :2, a::]",
		   "(index x (slice :) (slice a: 1) (slice :b 2) (slice a:: a))");
	check_expr("x[0][1]", "(index (index x 0) 1)");
	check_expr("x[1:3, 0].set(v + 1)", "(set x (slice a:b 1 3) 0 (+ v 1))");
	check_expr("x[...].inc(v)[0]", "(index (inc x ... v) 0)");
	check_expr("f(x)[0]", "(index (call f 0 x) 0)");
}

static void test_literals(void **state)
{
	(void)state;
	check_expr("18446744073709551615", "18446744073709551615");
	check_expr("1_000", "1000");
	check_expr("0xff", "255");
	check_expr("int8(-128)", "(construct int8 0 -128)");
	check_expr("0x1.8p3", "0x1.8p+3");
	check_expr("-0.0", "-0x0p+0");
	check_expr("1_0.5", "0x1.5p+3");
	check_expr(".5 + 1.", "(+ 0x1p-1 0x1p+0)");
	check_expr("1.5 - 0j", "(- 0x1.8p+0 0x0p+0j)");
	check_expr("-infj", "-infj");
	check_expr("0.1", "0x1.999999999999ap-4");
	check_expr("123456789012345678e-5", "0x1.1f71fb04cb74fp+40");
	check_expr("'it\\'s' + \"\\u00e9\\n\"", "(+ \"it's\" \"é\\x0a\")");
	check_expr("`a``b`", "`a\\`b`");
	check_expr("None", "None");
}

static void test_lists(void **state)
{
	(void)state;
	check_expr("[]", "(data 0)");
	check_expr("[1, -2.5, True]", "(data 3 1 -0x1.4p+1 True)");
	check_expr("[[1, 2], [3, 4], [5, 6],]", "(data 3x2 1 2 3 4 5 6)");
	check_expr("[[[1], [2]]]", "(data 1x2x1 1 2)");
	check_expr("[[], []]", "(data 2x0)");
	check_expr("[[1, 2], [3]]", "(list (data 2 1 2) (data 1 3))");
	check_expr("[1, x, 2]", "(list 1 x 2)");
	check_expr("[1, [2]]", "(list 1 (data 1 2))");
	check_expr("[[1], 2]", "(list (data 1 1) 2)");
	check_expr("[x, [1]]", "(list x (data 1 1))");
	check_expr("[(1), 2]", "(list (paren 1) 2)");
	check_expr("[1, 2j]", "(list 1 0x1p+1j)");
	check_expr("f([1], [[2], [3]], [4])", "(call f 0 (data 1 1) (data 2x1 2 3) (data 1 4))");
}

/* Long enough for nodes to be given up before the list ends; the last element decides. */
static void check_long_list(const char *element, uint32_t n, const char *last, bool folded,
			    uint32_t count)
{
	struct ctx *cx = fresh_ctx();
	struct strbuf b = {.arena = cx->arena};
	const struct anode *root;
	struct file *f;

	sb_str(&b, "graph g() -> (y) {\ny = [");
	for (uint32_t i = 0; i < n; i++)
		sb_printf(&b, "%s, ", element);
	sb_printf(&b, "%s]\n}\n", last);
	f = parse_text(cx, b.s);
	assert_string_equal(all_messages(cx), "");
	root = &f->nodes.at[f->nodes.len - 1];
	assert_int_equal(root->kind, folded ? A_DATA : A_LIST);
	if (folded) {
		assert_int_equal(root->u.data->count, count);
		assert_int_equal(root->u.data->shape[0], n + 1);
		assert_int_equal(root->u.data->at[count - 1].u.integer, 7);
	} else {
		assert_int_equal(root->n, n + 1);
		assert_int_equal(f->graphs->body.first->u.value.len, f->nodes.len);
	}
	ctx_free(cx);
}

static void test_long_lists(void **state)
{
	(void)state;
	check_long_list("1", 10000, "7", true, 10001);
	check_long_list("1", 10000, "x", false, 0);
	check_long_list("[1, 2]", 10000, "[3, 7]", true, 20002);
	check_long_list("[1, 2]", 10000, "[3]", false, 0);
	check_long_list("[[1], [2]]", 5000, "[[3], [7]]", true, 10002);
	check_long_list("1", 10000, "[1]", false, 0);
}

static void test_float32(void **state)
{
	struct ctx *cx = fresh_ctx();
	/* a little above the middle of two: by way of float64 the first would be 1 */
	struct file *f = parse_text(cx, "graph g() -> (y) {\ny = f(1.0000000596046447754, [- # c\n"
					"0.1, 1e-1], -inf, 0x1.8p1)\n}\n");
	const struct anode *n = f->nodes.at;

	(void)state;
	assert_string_equal(all_messages(cx), "");
	assert_true((float)literal_odd(cx, n[0].span, false, n[0].u.real) == 0x1.000002p0f);
	assert_true((float)n[0].u.real == 1.0f);
	for (uint32_t i = 0; i < 2; i++) {
		const struct adatum *d = &n[1].u.data->at[i];
		struct span s = {d->text, d->text + 1};
		const float tenth = i ? 0.1f : -0.1f; /* 0.1f itself may be the double, on s390x */
		assert_true((float)literal_odd(cx, s, false, d->u.real) == tenth);
	}
	assert_true((float)literal_odd(cx, n[2].span, false, n[2].u.real) == -INFINITY);
	assert_true((float)literal_odd(cx, n[3].span, false, n[3].u.real) == 3.0f);
	ctx_free(cx);
}

static void test_statements(void **state)
{
	struct ctx *cx = fresh_ctx();
	struct strbuf b = {.arena = cx->arena};
	struct file *f = parse_text(
		cx,
		"ptg 1 floatX=float32\nuse \"a.ptg\"\nuse <ode> as s\nconst k: int8 = 3\n"
		"fn My.Op{p: int = 3, q}(x: F[..., n]) -> (y: F) {\n"
		"  state w: int8 = 1\n  next w = 2\n  until w\n  a, _: F = f(x)\n"
		"  h, hs = loop (i in 0:n:2, z in x, s: F = a) while s > 0 -> (s, [t]) { t = s }\n"
		"  y = if a { y = 1 } else if b { y = 2 } else { y = 3 }\n"
		"  d = for (i in 0:3, s = a) -> (s) { }\n"
		"  if c { d = 1 }\n}\n");

	(void)state;
	assert_string_equal(all_messages(cx), "");
	dump_ast(cx, f, &b);
	assert_string_equal(
		b.s,
		"ptg 1 floatX=float32\nuse \"a.ptg\"\nuse <ode> as s\n"
		"const k (type int8) = 3\n"
		"fn My.Op decls p (type int) = 3, q params x (type[] F ... n) results y (type F)\n"
		"  w (type int8) state 1\n  w next 2\n  until w\n  a _ (type F) = (call f 0 x)\n"
		"  h hs = loop {range i 0 n 2} {in z x} {carry s (type F) a} while (> s 0) -> s "
		"[t]\n"
		"    t = s\n  end\n"
		"  y = if\n  case a\n    y = 1\n  end\n  case b\n    y = 2\n  end\n"
		"  otherwise\n    y = 3\n  end\n"
		"  d = for {range i 0 3} {carry s a} -> s\n  end\n"
		"  if\n  case c\n    d = 1\n  end\nend\n");
	assert_int_equal(f->floatx, DT_FLOAT32);
	ctx_free(cx);
}

static void test_newlines(void **state)
{
	static const char *const same[] = {
		"graph g(x) -> (y) {\ny = x\n}\n",
		"\n\n# c\ngraph g(x) -> (y) { y = x }",
		"ptg 1\r\ngraph g(x\n) -> (y)\n\n{\n\ny = x # c\n\n\n}",
		"# c\nptg 1 # d\ngraph g(\nx,) -> (y,\n) # c\n# d\n{ y = x\n}# e",
	};
	char *first = NULL;

	(void)state;
	for (size_t i = 0; i < countof(same); i++) {
		struct ctx *cx = fresh_ctx();
		struct strbuf b = {.arena = cx->arena};
		struct file *f = parse_text(cx, same[i]);
		assert_string_equal(all_messages(cx), "");
		dump_ast(cx, f, &b);
		if (!first)
			first = strdup(b.s);
		assert_string_equal(b.s, first);
		ctx_free(cx);
	}
	free(first);
}

static void test_brackets(void **state)
{
	(void)state;
	check_body_error("  a = Add(x, (y\n  b = 1", 1,
			 "t.ptg:2:14: error: this '(' is never closed");
	check_body_error("  a = Add(x]", 1, "t.ptg:2:12: error: '(' is closed by ']'");
	check_body_error("  a = f(x[1)", 1, "t.ptg:2:10: error: this '[' is never closed");
	check_body_error("  a = f{b=1\n  c = 2", 1, "t.ptg:2:8: error: this '{' is never closed");
	check_body_error("  a = f(x\n  next b = 2", 1,
			 "t.ptg:2:8: error: this '(' is never closed");
	check_error("graph g(x: F[n -> (y) {\n y = x\n}\n", 1,
		    "t.ptg:1:13: error: this '[' is never closed");
	check_error("graph g(x: F[n] -> (y) {\n y = x\n}\n", 1,
		    "t.ptg:1:8: error: this '(' is never closed");
	check_error("graph g(x) -> (y {\n y = x\n}\n", 1,
		    "t.ptg:1:15: error: this '(' is never closed");
	check_error("graph g(x) -> (y) {\n y = f(x\n}\n", 1,
		    "t.ptg:2:7: error: this '(' is never closed");
	check_error("graph g(x) -> (y) {\n y = x\ngraph h() -> (z) {\n z = 1\n}\n", 1,
		    "t.ptg:1:19: error: this '{' is never closed");
	check_error("graph g(x) -> (y) {\n y = f(x\ngraph h() -> (z) {\n z = 1\n}\n", 1,
		    "t.ptg:2:7: error: this '(' is never closed");
	check_error("graph g(x) -> (y) {\n y = f([x", 1,
		    "t.ptg:2:8: error: this '[' is never closed");
	check_error("graph g(x) -> (y) {\n y = x", 1,
		    "t.ptg:1:19: error: this '{' is never closed");
	check_body_error("  y = Op {axis=0}(x)\n  z = +", 2,
			 "t.ptg:2:10: error: there must be no blank before '{'");
	check_body_error("  y = if c{\n  y = 1\n  z = 2\n  }\n  z = +", 2,
			 "t.ptg:2:11: error: a blank is missing before '{'");
	check_body_error("  y = if c{ y = 1 }\n  else { y = 2 }\n  z = +", 2,
			 "t.ptg:2:11: error: a blank is missing before '{'");
	check_body_error("  y = loop (x in xs -> (x) {\n    z = +\n  }", 2,
			 "t.ptg:2:12: error: this '(' is never closed");
}

static void test_messages(void **state)
{
	(void)state;
	check_body_error("  y = a < b < c", 1, "t.ptg:2:13: error: comparisons do not chain");
	check_body_error("  y = a > 0 & b > 1", 1, "t.ptg:2:17: error: comparisons do not chain");
	check_body_error("  y = a > 0 & b", 1, "t.ptg:2:13: error: '&' binds tighter");
	check_body_error("  y = b | a == 0", 1, "t.ptg:2:9: error: '|' binds tighter");
	check_body_error("  y = x.set(v)", 1, "t.ptg:2:7: error: index first: x[...].set(v)");
	check_body_error("  y = x[0].set(v, v)", 1, "t.ptg:2:12: error: '.set' takes one value");
	check_body_error("  y = x[0](v)", 1, "t.ptg:2:7: error: only a dtype");
	check_body_error("  y = \"x\".T", 1, "t.ptg:2:10: error: a '.' stands in op names");
	check_body_error("  // y = x", 1, "t.ptg:2:3: error: a comment begins with '#'");
	check_body_error("  y = a and b", 1, "t.ptg:2:9: error: 'and' is reserved: write a & b");
	check_body_error("  y = 2x", 1, "t.ptg:2:7: error: '2x' is not a number");
	check_body_error("  y = 1e400", 1, "t.ptg:2:7: error: '1e400' is too large");
	check_body_error("  y = 1e-400", 1, "t.ptg:2:7: error: '1e-400' is too small");
	check_body_error("  y = 18446744073709551616", 1,
			 "t.ptg:2:7: error: '18446744073709551616'");
	check_body_error("  y = 007", 1, "t.ptg:2:7: error: '007' starts with a zero");
	check_body_error("  y = \"abc", 1, "t.ptg:2:7: error: the string is not closed");
	check_body_error("  y = f(x, [\"abc)", 1, "t.ptg:2:13: error: the string is not closed");
	check_body_error("  y = \"a\\q\"", 1, "t.ptg:2:9: error: unknown escape");
	check_body_error("  y = ``", 1, "t.ptg:2:7: error: a name cannot be empty");
	check_body_error("  y = `a", 1, "t.ptg:2:7: error: the quoted name is not closed");
	check_body_error("  y = a\xc2\xa0+ b", 1,
			 "t.ptg:2:8: error: U+00A0 is a blank of another kind");
	check_body_error("  y = f(_)", 1, "t.ptg:2:9: error: '_' discards a result");
	check_body_error("  y = 1; z = 2", 1, "t.ptg:2:8: error: ';' has no meaning here: every");
	check_body_error("  y += 1", 1, "t.ptg:2:5: error: '+=' has no meaning here: a value");
	check_body_error("  y = x z", 1,
			 "t.ptg:2:9: error: an operator is missing here: a product is a * b, and a "
			 "call F(x)");
	check_body_error("  y = f(x,, z)", 1,
			 "t.ptg:2:11: error: expected an expression or ')' but found ','");
	check_body_error("  if a = 3 {\n  }", 1,
			 "t.ptg:2:8: error: '=' cannot stand in a condition");
	check_error("x = 1\n", 1,
		    "t.ptg:1:1: error: statements stand in a graph or fn; a number that all of "
		    "them see is "
		    "a const: write const x = ... [PTG0100]");
	check_error("ptg 2\nwhat ever\n", 1,
		    "t.ptg:1:5: error: version 2 of the language is newer");
	check_error("ptg 1 floatX=int8\n", 1,
		    "t.ptg:1:14: error: floatX is float16, float32 or float64");
	check_error("ptg 1 speed=max\n", 1, "t.ptg:1:13: error: unknown setting 'speed'");
}

/* One message a mistake, and the statements between them are still read. */
static void test_recovery(void **state)
{
	(void)state;
	check_error("foo\ngraph a(b c) -> (d) {\n  d = 1 1\n  e = 2\n  f = * 3\n}\n"
		    "fn b() -> (c) {\n  c = loop (i n x) -> (c) {\n    d = = 1\n  }\n"
		    "  if {\n    e = [1\n  }\n}\n",
		    8, "t.ptg:1:1: error: expected 'graph'");
}

static void repeat(struct strbuf *b, const char *s, uint32_t n)
{
	while (n--)
		sb_str(b, s);
}

static void check_repeated(const char *open, const char *mid, const char *close, uint32_t n,
			   const char *want)
{
	struct ctx *cx = fresh_ctx();
	struct strbuf b = {.arena = cx->arena}, out = {.arena = cx->arena};
	struct file *f;

	sb_str(&b, "graph g() -> (y) {\ny = ");
	repeat(&b, open, n);
	sb_str(&b, mid);
	repeat(&b, close, n);
	sb_str(&b, "\n}\n");
	f = parse_text(cx, b.s);
	if (want) {
		assert_non_null(strstr(all_messages(cx), want));
		assert_int_equal(cx->errors, 1);
	} else {
		size_t len;
		struct source *src = source_add(cx, "u.ptg", NULL, b.s, b.len);
		assert_string_equal(all_messages(cx), "");
		dump_ast(cx, f, &out);
		assert_non_null(format(cx, src, op_has_axes, &len));
	}
	ctx_free(cx);
}

static void test_depth(void **state)
{
	(void)state;
	check_repeated("(", "x", ")", 990, NULL);
	check_repeated("(", "x", ")", 1000000, "nested too deeply: more than 1000");
	check_repeated("f(", "x", "", 2000, "nested too deeply: more than 1000");
	check_repeated("", "x", " + x", 300000, NULL);
	check_repeated("", "x", "[0]", 300000, NULL);
	check_repeated("-", "x", "", 5000, NULL);
	check_repeated("-", "x", "", 1000000, "nested too deeply");
	check_repeated("x ** ", "x", "", 1000000, "nested too deeply");
	check_repeated("", "if a {\n}", " else if b {\n}", 20000, NULL);
	check_repeated("a.", "b(x)", "", 20000, NULL);
}

static void check_format(const char *text, const char *want)
{
	struct ctx *cx = fresh_ctx();
	size_t len, again;
	char *s = format(cx, source_add(cx, "t.ptg", NULL, text, strlen(text)), op_has_axes, &len),
	     *t;

	assert_string_equal(all_messages(cx), "");
	assert_string_equal(s, want);
	assert_int_equal(len, strlen(want));
	t = format(cx, source_add(cx, "u.ptg", NULL, s, len), op_has_axes, &again);
	assert_string_equal(t, want);
	ctx_free(cx);
}

static void test_format(void **state)
{
	(void)state;
	check_format("", "ptg 1\n");
	check_format("# c", "ptg 1\n\n# c\n");
	check_format("\n\n#c \nptg 1", "#c\nptg 1\n");
	check_format(
		"ptg 1\n\n\n\ngraph g(x,)->(y,){y=- x [ 1 :n ]*Op{a = 'b'}( x,(1,),(1,2,))}",
		"ptg 1\n\ngraph g(x) -> (y) {\n  y = -x[1:n] * Op{a=\"b\"}(x, (1,), (1, 2))\n}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_precedence), cmocka_unit_test(test_calls),
		cmocka_unit_test(test_indexing),   cmocka_unit_test(test_literals),
		cmocka_unit_test(test_lists),      cmocka_unit_test(test_long_lists),
		cmocka_unit_test(test_float32),    cmocka_unit_test(test_statements),
		cmocka_unit_test(test_newlines),   cmocka_unit_test(test_brackets),
		cmocka_unit_test(test_messages),   cmocka_unit_test(test_recovery),
		cmocka_unit_test(test_depth),      cmocka_unit_test(test_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
