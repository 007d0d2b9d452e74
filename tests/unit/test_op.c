/*
 * Unit tests of the op table and of inference: every row, properties as written, dtypes, shapes and
 * known integers of nodes that are made by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "graph_of.h"

static struct ctx *ctx_with_source(void)
{
	struct ctx *cx = fresh_ctx();

	assert_non_null(source_add(cx, "t.ptg", NULL, "text", 4));
	return cx;
}

/* --- making values and nodes --- */

static struct value *value(struct ctx *cx, enum dtype t, uint32_t rank, const dim *d)
{
	struct value *v = new (cx->arena, struct value);
	v->type.dtype = (uint8_t)t;
	v->type.rank = (uint8_t)rank;
	v->type.dims = new_array(cx->arena, dim, rank + 1);
	for (uint32_t i = 0; i < rank; i++)
		v->type.dims[i] = d[i];
	return v;
}

static dim size(struct ctx *cx, const char *name)
{
	dim d = dim_name(cx, intern_str(cx, name));
	dim_set_source(cx, d, SOURCE_SIZE, new (cx->arena, struct value), 0);
	return d;
}

#define VALUE(cx, t, ...)                                                                          \
	value(cx, t, sizeof((dim[]){__VA_ARGS__}) / sizeof(dim), (dim[]){__VA_ARGS__})
#define SCALAR(cx, t) value(cx, t, 0, NULL)
#define K(n)          dim_const(cx, n)

static struct value *ints(struct ctx *cx, enum dtype t, uint32_t n, const int64_t *v, bool scalar)
{
	int64_t shape[1] = {n};
	struct tensor *data = tensor_new(cx, t, scalar ? 0 : 1, shape);
	int64_t *copy = new_array(cx->arena, int64_t, n + 1);
	assert_true(tensor_convert(t, copy, DT_INT64, v, n));
	data->data = copy;
	dim d = dim_const(cx, n);
	struct value *r = value(cx, t, scalar ? 0 : 1, &d);
	r->data = data;
	return r;
}

static struct value *one_int(struct ctx *cx, int64_t v)
{
	return ints(cx, DT_INT64, 1, &v, true);
}

static struct cv number(int64_t v)
{
	return (struct cv){.kind = CV_INT, .neg = v < 0, .u.i = (uint64_t)(v < 0 ? -v : v)};
}

static struct cv text(struct ctx *cx, const char *s)
{
	struct astr *a = new (cx->arena, struct astr);
	*a = (struct astr){s, (uint32_t)strlen(s)};
	return (struct cv){.kind = CV_STR, .u.str = a};
}

static struct cv list(struct ctx *cx, uint8_t kind, uint32_t n, const struct cv *items)
{
	struct cv v = {.kind = kind, .n = n};
	v.u.items = new_array(cx->arena, struct cv, n + 1);
	memcpy(v.u.items, items, n * sizeof(*items));
	return v;
}

static struct cv symbol(struct ctx *cx, const char *s)
{
	return (struct cv){.kind = CV_SYM, .u.sym = intern_str(cx, s)};
}

static struct cv *props(struct ctx *cx, const char *op, const char *name, struct cv v)
{
	struct prop_arg a = {.value = v, .span = {0, 1}};
	a.name = name ? intern_str(cx, name) : NULL;
	return bind_props(cx, op_named(cx, op), (struct span){0, 1}, &a, 1);
}

static struct cv *no_props(struct ctx *cx, const char *op)
{
	return bind_props(cx, op_named(cx, op), (struct span){0, 1}, NULL, 0);
}

static struct node *node(struct ctx *cx, const char *op, struct cv *p, struct value **in,
			 uint32_t n)
{
	struct node *r = new (cx->arena, struct node);
	assert_non_null(p);
	r->op = op_named(cx, op);
	assert_non_null(r->op);
	r->props = p;
	r->span = (struct span){0, 1};
	r->in = new_array(cx->arena, struct value *, n + 1);
	memcpy(r->in, in, n * sizeof(*in));
	r->nin = (uint16_t)n;
	r->nout = (uint16_t)op_results(cx, r);
	r->out = new_array(cx->arena, struct value *, r->nout + 1u);
	for (uint32_t i = 0; i < r->nout; i++)
		r->out[i] = new (cx->arena, struct value);
	return r;
}

/* The type of the first result, or the message of the first error. */
static const char *infer(struct ctx *cx, struct node *n)
{
	if (n->nout && infer_node(cx, n)) {
		assert_int_equal(cx->errors, 0);
		return type_str(cx, n->out[0]->type);
	}
	assert_non_null(cx->diags);
	return cx->diags->text;
}

#define INFER(cx, op, p, ...)                                                                      \
	infer(cx, node(cx, op, p, (struct value *[]){__VA_ARGS__},                                 \
		       sizeof((struct value *[]){__VA_ARGS__}) / sizeof(struct value *)))
#define assert_type(e, s) assert_string_equal(e, s)

/* The known integers of the first result as text. */
static const char *known(struct ctx *cx, struct node *n)
{
	struct strbuf b = {.arena = cx->arena};
	infer(cx, n);
	const struct known *k = known_of(cx, n->out[0]);
	for (uint32_t i = 0; k && i < k->n; i++)
		sb_printf(&b, "%s%s", i ? ", " : "", dim_str(cx, k->at[i]));
	return k ? b.s ? b.s : "" : "unknown";
}

#define KNOWN(cx, op, p, ...)                                                                      \
	known(cx, node(cx, op, p, (struct value *[]){__VA_ARGS__},                                 \
		       sizeof((struct value *[]){__VA_ARGS__}) / sizeof(struct value *)))

/* --- the table --- */

static void test_rows(void **state)
{
	(void)state;
	struct ctx *cx = ctx_with_source();
	for (uint32_t i = 0; i < op_count; i++) {
		const struct op *op = &op_table[i];
		const struct op_sig *sig = op_sig(cx, op);
		int bodies =
			!!op->onnx + !!op->in_c + !!op->lib + !!op->expanded + !!op->unsupported;
		if (op->complex && strncmp(op->complex, "each", 4)) {
			assert_non_null(lib_fn(cx, op->complex));
			bodies += !bodies; /* Complex never is without */
		}
		if (bodies != 1)
			fail_msg("%s has %d bodies", op->name, bodies);
		if (!op->doc || !op->doc[0] || strlen(op->doc) > 64)
			fail_msg("%s: its line of documentation", op->name);
		if (!op->shape && (op->onnx || op->in_c || op->lib || op->dtype))
			fail_msg("%s has no shape rule", op->name);
		if (op->nout == 255 && op->shape && !op->results)
			fail_msg("%s: how many results?", op->name);
		if (op->results && op->nout != 255)
			fail_msg("%s has .results, but not .nout = 255", op->name);
		if (op->core && !strstr(op->core, "->"))
			fail_msg("%s: core %s", op->name, op->core);
		assert_ptr_equal(op_named(cx, op->name), op);
		assert_true(op_group(op)[0]);
		for (uint32_t k = 0; k < sig->nprops; k++)
			assert_true(sig->props[k].name->len > 0);
		for (uint32_t k = 0; k + 1 < sig->ninputs; k++)
			assert_true(!sig->inputs[k].repeat || sig->inputs[k].repeat == '?');
	}
	assert_int_equal(cx->errors, 0);
	assert_null(op_named(cx, "Nothing"));
	ctx_free(cx);
}

static void test_signatures(void **state)
{
	(void)state;
	struct ctx *cx = ctx_with_source();
	const struct op_sig *s = op_sig(cx, op_named(cx, "IncSubtensor"));
	assert_int_equal(s->min, 2);
	assert_true(s->max == UINT32_MAX);
	assert_int_equal(s->props[0].type, P_SLICES);
	assert_true(s->props[0].required);
	assert_false(s->props[1].required);
	s = op_sig(cx, op_named(cx, "Join"));
	assert_int_equal(s->min, 1);
	assert_int_equal(s->props[0].value.kind, CV_INT);
	s = op_sig(cx, op_named(cx, "SearchsortedOp"));
	assert_int_equal(s->min, 2);
	assert_int_equal(s->max, 3);
	assert_int_equal(s->props[0].type, P_ENUM);
	assert_string_equal(s->props[0].choices, "left|right");
	s = op_sig(
		cx,
		op_named(cx, "Choose")); /* "index choices[]": two arguments, one may be a list */
	assert_int_equal(s->min, 2);
	assert_int_equal(s->max, 2);
	assert_string_equal(s->inputs[1].name->s, "choices");
	assert_int_equal(s->inputs[1].repeat, '[');
	ctx_free(cx);
}

/* --- properties --- */

static void test_axes(void **state)
{
	(void)state;
	struct ctx *cx = ctx_with_source();
	struct cv two[] = {number(0), number(-1)};
	struct cv *a = props(cx, "Sum", "axis", number(1));
	assert_int_equal(a[0].kind, CV_LIST);
	assert_int_equal(a[0].u.items[0].u.i, 1);
	assert_int_equal(props(cx, "Sum", "axes", list(cx, CV_TUPLE, 2, two))[0].n, 2);
	assert_int_equal(props(cx, "Sum", NULL, list(cx, CV_LIST, 2, two))[0].n, 2);
	assert_int_equal(no_props(cx, "Sum")[0].kind, CV_NONE);
	struct cv none = {.kind = CV_NONE};
	assert_int_equal(props(cx, "Sum", "axes", none)[0].kind, CV_NONE);
	assert_int_equal(cx->errors, 0);
	assert_null(props(cx, "Sum", "axes", text(cx, "a")));
	assert_null(props(cx, "ExpandDims", "axes", none));
	assert_null(no_props(cx, "ExpandDims"));
	assert_null(props(cx, "Sum", "axess", number(0)));
	assert_int_equal(cx->errors, 4);
	ctx_free(cx);
}

static void test_kinds(void **state)
{
	(void)state;
	struct ctx *cx = ctx_with_source();
	struct cv t = {.kind = CV_DTYPE, .u.dtype = DT_FLOAT32};
	assert_int_equal(props(cx, "Cast", NULL, t)[0].u.dtype, DT_FLOAT32);
	assert_int_equal(props(cx, "Cast", "dtype", text(cx, "int8"))[0].u.dtype, DT_INT8);
	assert_int_equal(props(cx, "Sum", "acc", t)[2].u.dtype, DT_FLOAT32);
	assert_int_equal(props(cx, "Max", NULL, symbol(cx, "initial"))[1].u.b, true);
	assert_int_equal(props(cx, "Gemm", NULL, symbol(cx, "no_inplace"))[0].u.b, false);
	assert_string_equal(props(cx, "QR", "mode", symbol(cx, "r"))[1].u.str->s, "r");
	assert_ptr_equal(props(cx, "Blockwise", NULL, symbol(cx, "Cholesky"))[0].u.op->op,
			 op_named(cx, "Cholesky"));
	assert_int_equal(cx->errors, 0);
	assert_null(props(cx, "QR", "mode", symbol(cx, "q")));
	assert_null(props(cx, "Join", "axis", t));
	assert_null(props(cx, "Exp", NULL, number(1)));
	assert_null(props(cx, "Cast", "dtype", text(cx, "int9")));
	struct prop_arg twice[2] = {{intern_str(cx, "axis"), number(0), {0, 1}},
				    {intern_str(cx, "axes"), number(0), {1, 2}}};
	assert_null(bind_props(cx, op_named(cx, "Sum"), (struct span){0, 1}, twice, 2));
	assert_int_equal(cx->errors, 5);
	ctx_free(cx);
}

static struct cv slice(struct ctx *cx, struct cv a, struct cv b, struct cv c)
{
	struct cv parts[] = {a, b, c};
	return list(cx, CV_SLICE, 3, parts);
}

static void test_slices(void **state)
{
	(void)state;
	struct ctx *cx = ctx_with_source();
	struct cv none = {.kind = CV_NONE};
	struct prop_arg a[] = {
		{NULL, slice(cx, symbol(cx, "start"), symbol(cx, "stop"), none), {0, 1}},
		{NULL, symbol(cx, "i"), {1, 2}},
		{NULL, slice(cx, none, none, symbol(cx, "step")), {2, 3}}};
	struct cv *p = bind_props(cx, op_named(cx, "Subtensor"), (struct span){0, 1}, a, 3);
	assert_non_null(p);
	assert_int_equal(p[0].n, 3);
	assert_int_equal(p[0].u.items[0].u.items[1].u.i, 1);
	assert_int_equal(p[0].u.items[1].u.i, 2);
	assert_int_equal(p[0].u.items[2].u.items[2].u.i, 3);
	struct node n = {.op = op_named(cx, "Subtensor"), .props = p};
	assert_string_equal(op_label(cx, &n), "Subtensor{start:stop, i, ::step}");
	n.op = op_named(cx, "Sum");
	n.props = props(cx, "Sum", "axis", number(1));
	assert_string_equal(op_label(cx, &n), "Sum{axis=1}");
	assert_int_equal(cx->errors, 0);
	ctx_free(cx);
}

/* --- inference --- */

static void test_elementwise(void **state)
{
	(void)state;
	struct ctx *cx = ctx_with_source();
	dim n = size(cx, "n"), m = size(cx, "m");
	struct value *a = VALUE(cx, DT_FLOAT32, n, K(3)), *b = VALUE(cx, DT_INT64, K(3));
	struct value *c = VALUE(cx, DT_FLOAT64, K(1), m), *u = VALUE(cx, DT_UINT64, K(3));
	assert_type(INFER(cx, "Add", no_props(cx, "Add"), a, b), "float64[n, 3]");
	assert_type(INFER(cx, "Exp", no_props(cx, "Exp"), b), "float64[3]");
	assert_type(INFER(cx, "Lt", no_props(cx, "Lt"), a, b), "bool[n, 3]");
	assert_type(INFER(cx, "Second", no_props(cx, "Second"), a, b), "int64[n, 3]");
	assert_type(INFER(cx, "Mul", no_props(cx, "Mul"), SCALAR(cx, DT_INT8), c), "float64[1, m]");
	assert_type(INFER(cx, "Mul", no_props(cx, "Mul"), a, c), "float64[n, 3]");
	assert_type(INFER(cx, "Add", no_props(cx, "Add"), a, VALUE(cx, DT_FLOAT32, K(5))),
		    "Add: float32[n, 3] and float32[5] do not broadcast");
	ctx_free(cx);
	cx = ctx_with_source();
	u = VALUE(cx, DT_UINT64, K(3));
	b = VALUE(cx, DT_INT64, K(3));
	assert_type(INFER(cx, "Lt", no_props(cx, "Lt"), u, b), "bool[3]");
	struct value *p = SCALAR(cx, DT_NONE);
	struct node *q = node(cx, "Add", no_props(cx, "Add"), (struct value *[]){p, b}, 2);
	assert_false(infer_node(cx, q));
	assert_int_equal(cx->errors, 0); /* silently */
	ctx_free(cx);
}

static void test_arity(void **state)
{
	(void)state;
	struct ctx *cx = ctx_with_source();
	struct value *x = SCALAR(cx, DT_FLOAT64);
	assert_type(INFER(cx, "Sub", no_props(cx, "Sub"), x),
		    "Sub: expected 2 arguments (a, b), got 1");
	ctx_free(cx);
	cx = ctx_with_source();
	x = SCALAR(cx, DT_FLOAT64);
	assert_type(INFER(cx, "Exp", no_props(cx, "Exp"), NULL),
		    "Exp: argument 1 (x) cannot be None");
	ctx_free(cx);
	cx = ctx_with_source();
	x = SCALAR(cx, DT_FLOAT64);
	INFER(cx, "QZ", no_props(cx, "QZ"), x, x);
	assert_int_equal(cx->diags->code, E_UNSUPPORTED);
	ctx_free(cx);
}

static void test_reductions(void **state)
{
	(void)state;
	struct ctx *cx = ctx_with_source();
	dim n = size(cx, "n");
	struct value *x = VALUE(cx, DT_INT8, n, K(3), K(4));
	assert_type(INFER(cx, "Sum", no_props(cx, "Sum"), x), "int64[]");
	assert_type(INFER(cx, "Sum", props(cx, "Sum", "axis", number(-1)), x), "int64[n, 3]");
	assert_type(INFER(cx, "Max", props(cx, "Max", "axis", number(0)), x), "int8[3, 4]");
	assert_type(INFER(cx, "Argmax", props(cx, "Argmax", "axis", number(1)), x), "int64[n, 4]");
	assert_type(INFER(cx, "Mean", no_props(cx, "Mean"), x), "float64[]");
	assert_type(INFER(cx, "Sum", props(cx, "Sum", "axis", number(3)), x),
		    "Sum: axis 3 is out of range for 3 dims");
	ctx_free(cx);
	cx = ctx_with_source();
	x = VALUE(cx, DT_FLOAT32, K(0));
	INFER(cx, "Max", no_props(cx, "Max"), x);
	assert_int_equal(cx->diags->code, E_RAISES);
	ctx_free(cx);
}

static void test_axes_moved(void **state)
{
	(void)state;
	struct ctx *cx = ctx_with_source();
	dim n = size(cx, "n"), m = size(cx, "m");
	struct value *x = VALUE(cx, DT_FLOAT32, n, K(1), m);
	struct cv order[] = {number(2), text(cx, "x"), number(0)},
		  back[] = {number(2), number(0), number(1)};
	struct cv add[] = {number(0), number(-1)};
	assert_type(INFER(cx, "DimShuffle",
			  props(cx, "DimShuffle", "order", list(cx, CV_LIST, 3, order)), x),
		    "float32[m, 1, n]");
	assert_type(INFER(cx, "ExpandDims",
			  props(cx, "ExpandDims", "axes", list(cx, CV_LIST, 2, add)), x),
		    "float32[1, n, 1, m, 1]");
	assert_type(INFER(cx, "Squeeze", no_props(cx, "Squeeze"), x), "float32[n, m]");
	assert_type(INFER(cx, "Transpose", no_props(cx, "Transpose"), x), "float32[m, 1, n]");
	assert_type(INFER(cx, "Transpose",
			  props(cx, "Transpose", "axes", list(cx, CV_LIST, 3, back)), x),
		    "float32[m, n, 1]");
	assert_type(INFER(cx, "MatrixTranspose", no_props(cx, "MatrixTranspose"), x),
		    "float32[n, m, 1]");
	assert_type(INFER(cx, "Squeeze", props(cx, "Squeeze", "axis", number(0)),
			  VALUE(cx, DT_FLOAT32, K(2))),
		    "Squeeze{axis=0}: axis 0 of float32[2] is dropped, but its length is not 1");
	ctx_free(cx);
}

static void test_reshape(void **state)
{
	(void)state;
	struct ctx *cx = ctx_with_source();
	dim n = size(cx, "n");
	struct value *x = VALUE(cx, DT_FLOAT32, n, K(6));
	struct cv *p = no_props(cx, "Reshape");
#define TO(...)                                                                                    \
	ints(cx, DT_INT64, sizeof((int64_t[]){__VA_ARGS__}) / 8, (int64_t[]){__VA_ARGS__}, false)
	assert_type(INFER(cx, "Reshape", p, x, TO(-1)), "float32[6*n]");
	assert_type(INFER(cx, "Reshape", p, x, TO(-1, 3)), "float32[2*n, 3]");
	struct value *s = VALUE(cx, DT_INT64, K(2));
	assert_type(INFER(cx, "Reshape", p, x, s), "float32[?, ?]");
	struct node *shape = node(cx, "Shape", no_props(cx, "Shape"), &x, 1);
	infer(cx, shape);
	assert_type(INFER(cx, "Reshape", p, x, shape->out[0]), "float32[n, 6]");
	assert_type(INFER(cx, "Reshape", p, VALUE(cx, DT_INT8, K(7)), TO(2, 3)),
		    "Reshape: int8[7] cannot be reshaped to (2, 3)");
	ctx_free(cx);
}

/* The number of a dim whose atoms all are n. */
static int64_t number_of(struct ctx *cx, dim d, int64_t n)
{
	struct dim_view v = dim_view(cx, d);
	int64_t r = v.constant;
	if (v.form == DIM_ATOM)
		return n;
	for (uint32_t i = 0; i < v.nterms; i++) {
		int64_t x = number_of(cx, v.term[i], n);
		if (v.form == DIM_SUM)
			r += v.coef[i] * x;
		else if (i == 0)
			r = x;
		else if (v.form == DIM_MAX)
			r = x > r ? x : r;
		else if (v.form == DIM_MIN)
			r = x < r ? x : r;
		else if (v.form == DIM_FLOORDIV)
			r = r / x - (r % x < 0);
		else if (v.form == DIM_MOD)
			r = (r % x + x) % x;
		else
			r *= x;
	}
	return r;
}

#define NO INT64_MAX /* left out */

static struct node *slice_node(struct ctx *cx, struct value *x, int64_t a, int64_t b, int64_t c)
{
	struct cv parts[3];
	struct value *in[4] = {x};
	int64_t v[3] = {a, b, c};
	uint32_t n = 1;
	for (int i = 0; i < 3; i++) {
		parts[i] = (struct cv){.kind = CV_NONE};
		if (v[i] == NO)
			continue;
		parts[i] = number(n - 1);
		in[n++] = one_int(cx, v[i]);
	}
	struct cv *p = props(cx, "Subtensor", NULL, list(cx, CV_SLICE, 3, parts));
	return node(cx, "Subtensor", p, in, n);
}

static const char *subtensor(struct ctx *cx, struct value *x, int64_t a, int64_t b, int64_t c)
{
	return infer(cx, slice_node(cx, x, a, b, c));
}

static const struct type *subtensor_type(struct ctx *cx, struct value *x, int64_t a, int64_t b,
					 int64_t c)
{
	struct node *n = slice_node(cx, x, a, b, c);
	infer(cx, n);
	return &n->out[0]->type;
}

static int64_t clamped(int64_t v, int64_t n, int64_t low, int64_t high)
{
	v += v < 0 ? n : 0;
	return v < low ? low : v > high ? high : v;
}

/* How many elements Python's a:b:c has of n. */
static int64_t slice_count(int64_t n, int64_t a, int64_t b, int64_t c)
{
	int64_t low = c < 0 ? -1 : 0, high = c < 0 ? n - 1 : n, count = 0;
	int64_t s = a == NO ? (c < 0 ? n - 1 : 0) : clamped(a, n, low, high);
	int64_t e = b == NO ? (c < 0 ? -1 : n) : clamped(b, n, low, high);
	for (; c > 0 ? s < e : s > e; s += c)
		count++;
	return count;
}

/* One slice of 7 elements, and of n elements for all small n. */
static void check_slice(struct ctx *cx, struct value *x, struct value *y, int64_t a, int64_t b,
			int64_t c)
{
	char want[32];
	snprintf(want, sizeof(want), "float32[%d]", (int)slice_count(7, a, b, c));
	assert_type(subtensor(cx, y, a, b, c), want);
	const struct type *t = subtensor_type(cx, x, a, b, c);
	for (int64_t n = 0; n < 12; n++)
		assert_int_equal(number_of(cx, t->dims[0], n), slice_count(n, a, b, c));
}

static void test_subtensor(void **state)
{
	(void)state;
	struct ctx *cx = ctx_with_source();
	dim n = size(cx, "n");
	struct value *x = VALUE(cx, DT_FLOAT32, n), *y = VALUE(cx, DT_FLOAT32, K(7));
	assert_type(subtensor(cx, x, 1, NO, NO), "float32[max(n-1, 0)]");
	assert_type(subtensor(cx, x, NO, -1, NO), "float32[max(n-1, 0)]");
	assert_type(subtensor(cx, x, NO, NO, -1), "float32[n]");
	assert_type(subtensor(cx, x, NO, 3, NO), "float32[min(n, 3)]");
	assert_type(subtensor(cx, x, -3, NO, NO), "float32[min(n, 3)]");
	for (int64_t a = -9; a <= 10; a++)
		for (int64_t b = -9; b <= 10; b++)
			for (int64_t c = -3; c <= 3; c++)
				if (c)
					check_slice(cx, x, y, a == 10 ? NO : a, b == 10 ? NO : b,
						    c);
	assert_type(subtensor(cx, y, NO, NO, 0), "Subtensor: the step of a slice is 0");
	ctx_free(cx);
	cx = ctx_with_source();
	y = VALUE(cx, DT_FLOAT32, K(7));
	struct cv *p = props(cx, "Subtensor", NULL, symbol(cx, "i"));
	assert_type(INFER(cx, "Subtensor", p, y, one_int(cx, -7)), "float32[]");
	assert_type(INFER(cx, "Subtensor", p, y, SCALAR(cx, DT_INT32)), "float32[]");
	assert_type(INFER(cx, "Subtensor", p, y, one_int(cx, 7)),
		    "Subtensor: index 7 is out of range for axis 0 of float32[7]");
	ctx_free(cx);
}

static struct cv *pattern(struct ctx *cx, const char *op, const char *s)
{
	struct prop_arg a[8] = {0};
	struct cv none = {.kind = CV_NONE};
	uint32_t n = 0;
	for (; *s; s++, n++)
		a[n].value = *s == ':' ? slice(cx, none, none, none) : symbol(cx, "i");
	return bind_props(cx, op_named(cx, op), (struct span){0, 1}, a, n);
}

static void test_advanced(void **state)
{
	(void)state;
	struct ctx *cx = ctx_with_source();
	dim n = size(cx, "n");
	struct value *x = VALUE(cx, DT_FLOAT32, K(4), K(5), K(6)), *i = VALUE(cx, DT_INT64, n);
	struct value *m = VALUE(cx, DT_BOOL, K(4), K(5)), *s = SCALAR(cx, DT_INT64);
	struct value *j = VALUE(cx, DT_INT64, K(2), K(1)), *y = VALUE(cx, DT_FLOAT32, n, K(6));
#define ADV(s, ...) INFER(cx, "AdvancedSubtensor", pattern(cx, "AdvancedSubtensor", s), __VA_ARGS__)
	assert_type(ADV("i", x, i), "float32[n, 5, 6]");
	assert_type(ADV(":ii", x, i, i), "float32[4, n]");
	assert_type(ADV("i:i", x, i, i), "float32[n, 5]");
	assert_type(ADV("i:i", x, s, i), "float32[n, 5]");
	assert_type(ADV(":i", x, j), "float32[4, 2, 1, 6]");
	assert_type(ADV("ii", x, j, i), "float32[2, n, 6]");
	assert_type(ADV("i", x, m), "float32[?, 6]");
#define SET(s, ...)                                                                                \
	INFER(cx, "AdvancedSetSubtensor", pattern(cx, "AdvancedSetSubtensor", s), __VA_ARGS__)
	assert_type(SET("ii", x, y, i, i), "float32[4, 5, 6]");
	assert_type(
		SET("ii", x, VALUE(cx, DT_FLOAT32, K(7)), i, i),
		"AdvancedSetSubtensor: float32[7] does not broadcast to the indexed shape (n, 6)");
	ctx_free(cx);
	cx = ctx_with_source();
	x = VALUE(cx, DT_FLOAT32, K(4));
	assert_type(ADV("ii", x, SCALAR(cx, DT_INT8), SCALAR(cx, DT_INT8)),
		    "AdvancedSubtensor: more indices than float32[4] has dims");
	ctx_free(cx);
}

static void test_products(void **state)
{
	(void)state;
	struct ctx *cx = ctx_with_source();
	dim n = size(cx, "n"), k = size(cx, "k");
	struct value *a = VALUE(cx, DT_FLOAT32, n, k), *b = VALUE(cx, DT_FLOAT64, k, K(3));
	struct value *v = VALUE(cx, DT_FLOAT32, k), *t = VALUE(cx, DT_FLOAT32, K(1), K(2), n, k);
	struct cv *p = no_props(cx, "Matmul");
	assert_type(INFER(cx, "Matmul", p, a, b), "float64[n, 3]");
	assert_type(INFER(cx, "Matmul", p, a, v), "float32[n]");
	assert_type(INFER(cx, "Matmul", p, v, v), "float32[]");
	assert_type(INFER(cx, "Matmul", p, t, b), "float64[1, 2, n, 3]");
	assert_type(INFER(cx, "Cholesky", no_props(cx, "Cholesky"), VALUE(cx, DT_INT8, n, n)),
		    "float32[n, n]");
	struct cv *q = props(cx, "QR", "mode", text(cx, "economic"));
	assert_type(INFER(cx, "QR", q, VALUE(cx, DT_FLOAT64, K(5), K(3))), "float64[5, 3]");
	struct cv *w = props(cx, "Blockwise", NULL, symbol(cx, "Cholesky"));
	assert_type(INFER(cx, "Blockwise", w, VALUE(cx, DT_FLOAT64, k, n, n)), "float64[k, n, n]");
	assert_type(INFER(cx, "Dot", no_props(cx, "Dot"), VALUE(cx, DT_INT8, K(2), K(3)),
			  VALUE(cx, DT_INT8, K(4), K(3))),
		    "Dot: int8[2, 3] and int8[4, 3] do not match: 3 is not 4");
	ctx_free(cx);
}

static void test_made(void **state)
{
	(void)state;
	struct ctx *cx = ctx_with_source();
	dim n = size(cx, "n"), m = size(cx, "m");
	struct value *a = VALUE(cx, DT_INT8, n, K(3)), *b = VALUE(cx, DT_FLOAT32, m, K(3));
	assert_type(INFER(cx, "Join", no_props(cx, "Join"), a, b, a), "float32[2*n+m, 3]");
	struct node *r =
		node(cx, "Split", no_props(cx, "Split"), (struct value *[]){a, TO(1, 2)}, 2);
	assert_int_equal(r->nout, 2);
	assert_type(infer(cx, r), "int8[1, 3]");
	assert_type(type_str(cx, r->out[1]->type), "int8[2, 3]");
	assert_type(INFER(cx, "Alloc", no_props(cx, "Alloc"), SCALAR(cx, DT_INT8), one_int(cx, 2),
			  SCALAR(cx, DT_INT64)),
		    "int8[2, ?]");
	struct cv *p = no_props(cx, "ARange");
	assert_type(INFER(cx, "ARange", p, one_int(cx, 0), one_int(cx, 7), one_int(cx, 2)),
		    "int64[4]");
	assert_type(INFER(cx, "ARange", p, one_int(cx, 5), one_int(cx, 0), one_int(cx, -2)),
		    "int64[3]");
	assert_type(
		INFER(cx, "Alloc", no_props(cx, "Alloc"), VALUE(cx, DT_INT8, K(3)), one_int(cx, 2)),
		"Alloc: int8[3] does not broadcast to length 2 on axis 0");
	ctx_free(cx);
}

static void test_known(void **state)
{
	(void)state;
	struct ctx *cx = ctx_with_source();
	dim n = size(cx, "n");
	struct value *x = VALUE(cx, DT_FLOAT32, n, K(3)), *two = one_int(cx, 2);
	struct node *s = node(cx, "Shape", no_props(cx, "Shape"), &x, 1);
	assert_string_equal(known(cx, s), "n, 3");
	struct value *v = s->out[0];
	assert_string_equal(KNOWN(cx, "Add", no_props(cx, "Add"), v, two), "n+2, 5");
	assert_string_equal(KNOWN(cx, "Mul", no_props(cx, "Mul"), v, two), "2*n, 6");
	assert_string_equal(KNOWN(cx, "Prod", no_props(cx, "Prod"), v), "3*n");
	assert_string_equal(KNOWN(cx, "Sum", no_props(cx, "Sum"), v), "n+3");
	assert_string_equal(KNOWN(cx, "Join", no_props(cx, "Join"), v, TO(7)), "n, 3, 7");
	assert_string_equal(KNOWN(cx, "Subtensor", props(cx, "Subtensor", NULL, symbol(cx, "i")), v,
				  one_int(cx, -2)),
			    "n");
	struct cv *back = props(cx, "Subtensor", NULL,
				slice(cx, (struct cv){.kind = CV_NONE},
				      (struct cv){.kind = CV_NONE}, symbol(cx, "step")));
	assert_string_equal(KNOWN(cx, "Subtensor", back, v, one_int(cx, -1)), "3, n");
	int64_t big = INT64_MAX, h = 100;
	assert_string_equal(KNOWN(cx, "Add", no_props(cx, "Add"), one_int(cx, big), two),
			    "unknown");
	assert_string_equal(KNOWN(cx, "Add", no_props(cx, "Add"), ints(cx, DT_INT8, 1, &h, true),
				  ints(cx, DT_INT8, 1, &h, true)),
			    "unknown"); /* it wraps */
	assert_string_equal(KNOWN(cx, "Int_div", no_props(cx, "Int_div"), one_int(cx, -7), two),
			    "-4");
	assert_string_equal(KNOWN(cx, "Mod", no_props(cx, "Mod"), one_int(cx, -7), two), "1");
	assert_string_equal(KNOWN(cx, "Int_div", no_props(cx, "Int_div"), two, one_int(cx, 0)),
			    "0");
	struct node *lt =
		node(cx, "Lt", no_props(cx, "Lt"), (struct value *[]){two, one_int(cx, 3)}, 2);
	assert_string_equal(known(cx, lt), "1");
	assert_string_equal(
		KNOWN(cx, "Switch", no_props(cx, "Switch"), lt->out[0], two, SCALAR(cx, DT_INT64)),
		"2");
	assert_string_equal(
		KNOWN(cx, "ARange", no_props(cx, "ARange"), one_int(cx, 1), one_int(cx, 7), two),
		"1, 3, 5");
	ctx_free(cx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),       cmocka_unit_test(test_signatures),
		cmocka_unit_test(test_axes),       cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_slices),     cmocka_unit_test(test_elementwise),
		cmocka_unit_test(test_arity),      cmocka_unit_test(test_reductions),
		cmocka_unit_test(test_axes_moved), cmocka_unit_test(test_reshape),
		cmocka_unit_test(test_subtensor),  cmocka_unit_test(test_advanced),
		cmocka_unit_test(test_products),   cmocka_unit_test(test_made),
		cmocka_unit_test(test_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
