/*
 * Unit tests of what ptgc knows about ONNX: the operator table, the kernels of ONNX Runtime, and
 * types, dims and integers of the results of single nodes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "onnx/onnx.h"
#include "target/target.h"
#include "ops/ops.h"

static struct ctx *fresh_ctx(int opset)
{
	struct ctx *cx = ctx_new();
	assert_non_null(cx);
	if (setjmp(cx->oom))
		fail_msg("out of memory");
	dims_init(cx);
	assert_non_null(source_add(cx, "t.ptg", NULL, "text", 4));
	cx->opt.opset = opset;
	return cx;
}

/* --- tables --- */

static void test_every_name(void **state)
{
	const char *const *names;
	size_t n = onnx_names(&names), found = 0;

	(void)state;
	assert_true(n >= 198);
	for (size_t i = 0; i < n; i++) {
		assert_true(!i || strcmp(names[i - 1], names[i]) < 0);
		enum onnx_id id = onnx_named(names[i]);
		assert_int_equal(id, i + 1);
		assert_non_null(onnx_nearest(id, MAX_OPSET));
		for (int opset = MIN_OPSET; opset <= MAX_OPSET; opset++) {
			const struct onnx_op *op = onnx_find(id, opset);
			if (!op)
				continue;
			found++;
			assert_int_equal(op->id, id);
			assert_string_equal(op->name, names[i]);
			assert_in_range(opset, op->since, op->until);
		}
	}
	assert_in_range(found, 170 * OPSETS, n * OPSETS);
}

static void test_versions(void **state)
{
	(void)state;
	assert_int_equal(onnx_find(ONNX_Add, 13)->since, 13);
	assert_int_equal(onnx_find(ONNX_Add, 14)->since, 14);
	assert_int_equal(onnx_find(ONNX_Add, MAX_OPSET)->since, 14);
	assert_null(onnx_find(ONNX_Gelu, 19));
	assert_non_null(onnx_find(ONNX_Gelu, 20));
	assert_int_equal(onnx_nearest(ONNX_Gelu, 13)->since, 20);
	assert_int_equal(onnx_nearest(ONNX_DFT, 13)->since, 17);
	assert_int_equal(onnx_nearest(ONNX_DFT, MAX_OPSET)->since, 20);
	assert_int_equal(onnx_named("Upsample"), ONNX_NONE); /* deprecated */
	assert_int_equal(onnx_named("NoSuchOp"), ONNX_NONE);
	assert_int_equal(onnx_named(""), ONNX_NONE);
	assert_null(onnx_find(ONNX_NONE, 18));
	assert_null(onnx_find(ONNX_CumProd, 25));
	assert_non_null(onnx_find(ONNX_CumProd, MAX_OPSET));

	const struct onnx_op *op = onnx_find(ONNX_ReduceSum, 18);
	assert_int_equal(op->nin, 2);
	assert_int_equal(op->in[1].repeat, '?');
	assert_string_equal(op->in[1].type, "int64");
	assert_string_equal(op->attrs[0].name, "keepdims");
	assert_string_equal(op->attrs[0].value, "1");
	assert_int_equal(op->attrs[0].kind, AT_INT);
	assert_true(op->constraints[0].dtypes >> DT_FLOAT64 & 1);
	assert_false(op->constraints[0].dtypes >> DT_INT8 & 1);
}

static struct ctx *cx_of_kernels; /* of the newest release alone */

static bool runs(enum onnx_id id, int opset, enum dtype a, enum dtype b, enum dtype c, enum dtype r)
{
	const enum dtype in[] = {a, b, c}, result[] = {r};
	const struct onnx_op *op = onnx_find(id, opset);

	assert_non_null(op);
	return kernel_exists(cx_of_kernels, op, in, c ? 3 : b ? 2 : 1, result, 1);
}

static void test_kernels(void **state)
{
	const enum dtype bools[] = {DT_BOOL, DT_BOOL, DT_BOOL};

	(void)state;
	cx_of_kernels = fresh_ctx(18);
	cx_of_kernels->opt.runtime = newest_release();
	assert_false(runs(ONNX_Erf, 18, DT_FLOAT64, 0, 0, DT_FLOAT64));
	assert_true(runs(ONNX_Erf, 18, DT_FLOAT32, 0, 0, DT_FLOAT32));
	assert_false(runs(ONNX_Add, 13, DT_INT8, DT_INT8, 0, DT_INT8));
	assert_true(runs(ONNX_Add, 14, DT_INT8, DT_INT8, 0, DT_INT8));
	assert_false(runs(ONNX_Add, 18, DT_INT8, DT_INT16, 0, DT_INT8));
	assert_false(runs(ONNX_Add, 18, DT_BOOL, DT_BOOL, 0, DT_BOOL));
	assert_true(runs(ONNX_Where, 18, DT_BOOL, DT_FLOAT64, DT_FLOAT64, DT_FLOAT64));
	assert_false(runs(ONNX_Where, 18, DT_BOOL, DT_BOOL, DT_BOOL, DT_BOOL));
	assert_false(
		runs(ONNX_Softplus, 18, DT_FLOAT64, 0, 0, DT_FLOAT64)); /* a body that overflows */
	assert_true(runs(ONNX_ReduceMax, 20, DT_BOOL, 0, 0, DT_BOOL));
	assert_false(runs(ONNX_ReduceMax, 18, DT_BOOL, 0, 0, DT_BOOL));
	assert_true(runs(ONNX_OneHot, 18, DT_INT64, DT_INT64, DT_FLOAT32, DT_FLOAT32));
	assert_false(runs(ONNX_OneHot, 18, DT_INT32, DT_INT64, DT_FLOAT32, DT_FLOAT32));
	assert_false(runs(ONNX_OneHot, 18, DT_INT64, DT_INT64, DT_FLOAT64, DT_FLOAT64));
	assert_true(runs(ONNX_Equal, 18, DT_INT64, DT_INT64, 0, DT_BOOL));
	assert_true(runs(ONNX_Cast, 18, DT_FLOAT64, 0, 0, DT_INT8));
	assert_false(runs(ONNX_Cast, 18, DT_COMPLEX64, 0, 0, DT_FLOAT32));
	assert_true(runs(ONNX_Pow, 18, DT_FLOAT64, DT_INT32, 0, DT_FLOAT64));
	for (int opset = MIN_OPSET; opset <= MAX_OPSET; opset++)
		assert_int_equal(kernel_exists(cx_of_kernels, onnx_find(ONNX_RandomNormal, opset),
					       NULL, 0, (enum dtype[]){DT_FLOAT32}, 1),
				 opset < 22);
	assert_true(runs(ONNX_Cos, 18, DT_FLOAT64, 0, 0, DT_FLOAT64));
	cx_of_kernels->opt.runtime = 17;
	assert_false(runs(ONNX_Cos, 18, DT_FLOAT64, 0, 0, DT_FLOAT64));
	assert_true(runs(ONNX_Cos, 18, DT_FLOAT32, 0, 0, DT_FLOAT32));
	cx_of_kernels->opt.target = PTGC_ONNX;
	assert_true(kernel_exists(cx_of_kernels, onnx_find(ONNX_Where, 18), bools, 3, bools, 1));
	ctx_free(cx_of_kernels);
}

static void test_releases(void **state)
{
	(void)state;
	assert_int_equal(oldest_release(), 17);
	assert_int_equal(find_release(17)->opset, 20);
	assert_null(find_release(newest_release() + 1));
	assert_null(find_release(16));
	assert_int_equal(least_release_of_opset(13), 17);
	assert_int_equal(least_release_of_opset(21), 18);
	assert_int_equal(least_release(releases_from(29)), 29);
	assert_int_equal(least_release(releases_from(17)), 17);
	assert_int_equal(least_release(~(release_set)0), 17);
	assert_int_equal(least_release(releases_from(29) | RELEASES(20, 25)), 29);
	assert_int_equal(least_release(RELEASES(17, 20)), newest_release() + 1);
	for (int n = oldest_release(); n < newest_release(); n++) {
		assert_non_null(find_release(n));
		assert_true(find_release(n)->opset <= find_release(n + 1)->opset);
	}
}

/* --- inference --- */

static struct value *value(struct ctx *cx, enum dtype t, uint32_t rank, const dim *d)
{
	struct value *v = new (cx->arena, struct value);

	v->type.dtype = (uint8_t)t;
	v->type.rank = (uint8_t)rank;
	v->type.dims = new_array(cx->arena, dim, rank + 1);
	memcpy(v->type.dims, d, rank * sizeof(*d));
	return v;
}

#define VALUE(t, ...) value(cx, t, sizeof((dim[]){__VA_ARGS__}) / sizeof(dim), (dim[]){__VA_ARGS__})
#define SCALAR(t)     value(cx, t, 0, (dim[]){0})
#define K(n)          dim_const(cx, n)
#define INTS(...)                                                                                  \
	ints(cx, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})
#define NODE(op, nout, ...)                                                                        \
	node(cx, ONNX_##op, nout,                                                                  \
	     sizeof((struct value *[]){__VA_ARGS__}) / sizeof(struct value *),                     \
	     (struct value *[]){__VA_ARGS__})

static dim size(struct ctx *cx, const char *name)
{
	dim d = dim_name(cx, intern_str(cx, name));

	dim_set_source(cx, d, SOURCE_SIZE, new (cx->arena, struct value), 0);
	return d;
}

static struct value *ints(struct ctx *cx, uint32_t n, const int64_t *v)
{
	int64_t shape[1] = {n};
	struct tensor *t = tensor_new(cx, DT_INT64, 1, shape);
	struct value *r = VALUE(DT_INT64, K(n));
	int64_t *copy = new_array(cx->arena, int64_t, n);

	memcpy(copy, v, n * sizeof(*v));
	t->data = copy;
	r->data = t;
	return r;
}

static struct node *node(struct ctx *cx, enum onnx_id op, uint32_t nout, uint32_t nin,
			 struct value **in)
{
	struct node *n = new (cx->arena, struct node);

	n->op = &op_onnx;
	n->onnx = onnx_find(op, cx->opt.opset);
	assert_non_null(n->onnx);
	n->in = new_array(cx->arena, struct value *, nin + 1);
	memcpy(n->in, in, nin * sizeof(*in));
	n->nin = (uint16_t)nin;
	n->nout = (uint16_t)nout;
	n->out = new_array(cx->arena, struct value *, nout + 1);
	for (uint32_t i = 0; i < nout; i++) {
		n->out[i] = new (cx->arena, struct value);
		n->out[i]->def = n;
	}
	n->attrs = new_array(cx->arena, struct attr, 4);
	return n;
}

static void set_int(struct node *n, const char *name, int64_t v)
{
	n->attrs[n->nattrs++] = (struct attr){.name = name, .kind = AT_INT, .u.i = v};
}

static void set_ints(struct node *n, const char *name, uint32_t count, const int64_t *v)
{
	n->attrs[n->nattrs++] =
		(struct attr){.name = name, .kind = AT_INTS, .n = count, .u.ints = v};
}

static void gives(struct ctx *cx, struct node *n, uint32_t i, const char *type)
{
	enum onnx_infer_result r = onnx_infer(cx, n);

	if (cx->diags)
		fail_msg("%s", cx->diags->text);
	assert_int_equal(r, ONNX_INFERRED);
	assert_string_equal(type_str(cx, n->out[i]->type), type);
}

static void refuses(struct ctx *cx, struct node *n, enum diag_code code)
{
	cx->diags = NULL;
	cx->diag_tail = &cx->diags;
	assert_int_equal(onnx_infer(cx, n), ONNX_ERROR);
	assert_non_null(cx->diags);
	assert_int_equal(cx->diags->code, code);
	cx->diags = NULL;
	cx->diag_tail = &cx->diags;
}

static void known_are(struct ctx *cx, const struct value *v, const char *text)
{
	struct strbuf b = {.arena = cx->arena};

	assert_non_null(v->known);
	for (uint32_t i = 0; i < v->known->n; i++)
		sb_printf(&b, "%s%s", i ? " " : "", dim_str(cx, v->known->at[i]));
	assert_string_equal(b.len ? b.s : "", text);
}

/* --- facts.def --- */

static bool takes(const struct onnx_op *op, uint32_t i, enum dtype t)
{
	for (const struct onnx_constraint *c = op->constraints; c && c->var; c++)
		if (!strcmp(c->var, op->in[i].type))
			return c->dtypes >> t & 1;
	return !strcmp(op->in[i].type, dtypes[t].name);
}

/* Every row agrees with the schema of the operator's newest version; and what an operator on
 * elements gives is as long as its inputs together. */
static void test_facts(void **state)
{
	struct ctx *cx = fresh_ctx(MAX_OPSET);

	(void)state;
	assert_null(onnx_facts[ONNX_NONE].types);
	for (enum onnx_id id = ONNX_NONE + 1; id < ONNX_COUNT; id++) {
		const struct onnx_facts *f = &onnx_facts[id];
		const struct onnx_op *op = onnx_nearest(id, MAX_OPSET);
		bool variadic = op->nin && (op->in[op->nin - 1].repeat == '*' ||
					    op->in[op->nin - 1].repeat == '+');
		if (!f->types || !f->known || !f->signs)
			fail_msg("%s has no row in facts.def", op->name);
		for (uint32_t i = 0; i < 8; i++)
			if (f->shapes >> i & 1 &&
			    (i >= op->nin || !(takes(op, i, DT_INT64) || takes(op, i, DT_FLOAT32))))
				fail_msg("%s: input %u says no length", op->name, i);
		for (uint32_t i = 0; i < ONNX_MAX_RANKED; i++)
			if (f->ranks[i][1] && (i >= op->nin || f->ranks[i][0] >= f->ranks[i][1]))
				fail_msg("%s: what rank has input %u?", op->name, i);
		if (f->random || f->counts)
			assert_false(f->each);
		if (f->random || onnx_has_blocks(op))
			assert_false(onnx_is_pure(op));
		if (!f->each)
			continue;
		assert_true(onnx_lengths(op) == ONNX_FIRST_LENGTHS ||
			    onnx_lengths(op) == ONNX_BROADCAST_LENGTHS || id == ONNX_PRelu);
		dim n = size(cx, "n");
		struct value *in[4];
		uint32_t nin = variadic ? 2 : op->nin < 4 ? op->nin : 4;
		enum dtype t = takes(op, 0, DT_FLOAT32) ? DT_FLOAT32
			       : takes(op, 0, DT_UINT8) ? DT_UINT8
			       : takes(op, 0, DT_BOOL)  ? DT_BOOL
							: DT_STRING;
		for (uint32_t i = 0; i < nin; i++) {
			bool full = i == 0 || onnx_lengths(op) == ONNX_BROADCAST_LENGTHS;
			enum dtype own = variadic || takes(op, i, t) ? t : DT_FLOAT32;
			in[i] = full ? VALUE(own, K(i ? 1 : 2), n) : SCALAR(own);
		}
		struct node *x = node(cx, id, 1, nin, in);
		if (id == ONNX_Cast)
			set_int(x, "to", 1);
		assert_int_equal(onnx_infer(cx, x), ONNX_INFERRED);
		assert_int_equal(x->out[0]->type.rank, 2);
		assert_true(dim_eq(cx, x->out[0]->type.dims[0], K(2)));
		assert_true(dim_eq(cx, x->out[0]->type.dims[1], n));
	}
	ctx_free(cx);
}

static void test_signs(void **state)
{
	struct ctx *cx = fresh_ctx(18);
	struct value *x = VALUE(DT_FLOAT32, K(2));

	(void)state;
	struct node *e = NODE(Exp, 1, x), *neg = NODE(Neg, 1, x);
	gives(cx, e, 0, "float32[2]");
	gives(cx, neg, 0, "float32[2]");
	assert_int_equal(sign_of(e->out[0]), SIGN_NON_NEGATIVE);
	assert_int_equal(sign_of(neg->out[0]), SIGN_ANY);
	struct node *sum = NODE(Add, 1, e->out[0], x), *square = NODE(Mul, 1, x, x);
	gives(cx, sum, 0, "float32[2]");
	gives(cx, square, 0, "float32[2]");
	assert_int_equal(sign_of(sum->out[0]), SIGN_NO_NEGATIVE_ZERO);
	assert_int_equal(sign_of(square->out[0]), SIGN_NON_NEGATIVE);
	struct node *less = NODE(Sub, 1, x, e->out[0]), *gone = NODE(Sub, 1, e->out[0], x);
	gives(cx, less, 0, "float32[2]");
	gives(cx, gone, 0, "float32[2]");
	assert_int_equal(sign_of(less->out[0]), SIGN_ANY);
	assert_int_equal(sign_of(gone->out[0]), SIGN_NO_NEGATIVE_ZERO);
	ctx_free(cx);
}

static void test_broadcast(void **state)
{
	struct ctx *cx = fresh_ctx(18);
	dim n = size(cx, "n"), m = size(cx, "m");

	(void)state;
	gives(cx, NODE(Add, 1, VALUE(DT_FLOAT32, n, K(3)), VALUE(DT_FLOAT32, K(1))), 0,
	      "float32[n, 3]");
	gives(cx, NODE(Mul, 1, VALUE(DT_FLOAT32, n), VALUE(DT_FLOAT32, K(4))), 0, "float32[4]");
	gives(cx, NODE(Less, 1, VALUE(DT_INT64, n), VALUE(DT_INT64, m)), 0, "bool[?]");
	gives(cx, NODE(Less, 1, VALUE(DT_INT64, n), VALUE(DT_INT64, K(0))), 0, "bool[0]");
	assert_int_equal(dim_equations(cx, &(const struct equation *){NULL}), 0);
	refuses(cx, NODE(Add, 1, VALUE(DT_FLOAT32, K(2)), VALUE(DT_FLOAT32, K(3))), E_SHAPE);
	refuses(cx, NODE(Add, 1, VALUE(DT_FLOAT32, n), VALUE(DT_FLOAT64, n)), E_DTYPE);
	refuses(cx, NODE(Erf, 1, VALUE(DT_STRING, n)), E_DTYPE);
	gives(cx, NODE(Where, 1, VALUE(DT_BOOL, n), SCALAR(DT_INT8), VALUE(DT_INT8, K(2), n)), 0,
	      "int8[2, n]");
	ctx_free(cx);
}

static void test_shapes(void **state)
{
	struct ctx *cx = fresh_ctx(18);
	dim n = size(cx, "n"), m = size(cx, "m");
	struct value *x = VALUE(DT_FLOAT32, n, K(3), m);
	struct node *s = NODE(Shape, 1, x);

	(void)state;
	gives(cx, s, 0, "int64[3]");
	known_are(cx, s->out[0], "n 3 m");
	struct node *g = NODE(Gather, 1, s->out[0], INTS(0, -1));
	gives(cx, g, 0, "int64[2]");
	known_are(cx, g->out[0], "n m");
	struct node *p = NODE(ReduceProd, 1, g->out[0]);
	set_int(p, "keepdims", 0);
	gives(cx, p, 0, "int64[]");
	known_are(cx, p->out[0], "n*m");
	struct node *c = NODE(Concat, 1, g->out[0], INTS(5));
	set_int(c, "axis", 0);
	gives(cx, c, 0, "int64[3]");
	struct node *cs = NODE(ConstantOfShape, 1, c->out[0]);
	gives(cx, cs, 0, "float32[n, m, 5]");
	gives(cx, NODE(Expand, 1, VALUE(DT_BOOL, K(1), K(5)), c->out[0]), 0, "bool[n, m, 5]");
	gives(cx, NODE(Reshape, 1, x, INTS(0, -1)), 0, "float32[n, 3*m]");
	gives(cx, NODE(Reshape, 1, x, INTS(-1)), 0, "float32[3*n*m]");
	refuses(cx, NODE(Reshape, 1, VALUE(DT_INT8, K(6)), INTS(4, -1)), E_SHAPE);
	refuses(cx, NODE(Reshape, 1, VALUE(DT_INT8, K(6)), INTS(4)), E_SHAPE);
	gives(cx, NODE(Unsqueeze, 1, x, INTS(0, -1)), 0, "float32[1, n, 3, m, 1]");
	gives(cx, NODE(Squeeze, 1, VALUE(DT_INT8, K(1), n, K(1)), INTS(-1)), 0, "int8[1, n]");
	refuses(cx, NODE(Squeeze, 1, VALUE(DT_INT8, K(2)), INTS(0)), E_SHAPE);
	assert_int_equal(onnx_infer(cx, NODE(Squeeze, 1, x)), ONNX_NO_RULE);
	gives(cx, NODE(Transpose, 1, x), 0, "float32[m, 3, n]");
	gives(cx, NODE(Tile, 1, x, INTS(2, 1, 3)), 0, "float32[2*n, 3, 3*m]");
	gives(cx, NODE(ReduceSum, 1, x, INTS(1)), 0, "float32[n, 1, m]");
	gives(cx, NODE(ReduceSum, 1, x, VALUE(DT_INT64, K(1))), 0, "float32[?, ?, ?]");
	refuses(cx, NODE(ReduceSum, 1, x, INTS(3)), E_RANGE);
	ctx_free(cx);
}

static void test_slices(void **state)
{
	struct ctx *cx = fresh_ctx(18);
	dim n = size(cx, "n");
	struct value *x = VALUE(DT_FLOAT64, n);

	(void)state;
	gives(cx, NODE(Slice, 1, x, INTS(1), INTS(INT64_MAX)), 0, "float64[max(n-1, 0)]");
	gives(cx, NODE(Slice, 1, x, INTS(0), INTS(-1)), 0, "float64[max(n-1, 0)]");
	gives(cx, NODE(Slice, 1, x, INTS(-1), INTS(INT64_MIN), INTS(0), INTS(-1)), 0, "float64[n]");
	gives(cx, NODE(Slice, 1, x, INTS(0), INTS(INT64_MAX), INTS(0), INTS(2)), 0,
	      "float64[(n+1)//2]");
	gives(cx, NODE(Slice, 1, x, VALUE(DT_INT64, K(1)), INTS(2)), 0, "float64[?]");
	gives(cx, NODE(Slice, 1, VALUE(DT_INT8, K(5)), INTS(-3), INTS(-1)), 0, "int8[2]");
	gives(cx, NODE(Slice, 1, VALUE(DT_INT8, K(5)), INTS(9), INTS(-9), INTS(0), INTS(-2)), 0,
	      "int8[3]");
	refuses(cx, NODE(Slice, 1, x, INTS(0), INTS(1), INTS(1)), E_RANGE);
	refuses(cx, NODE(Slice, 1, x, INTS(0), INTS(1), INTS(0), INTS(0)), E_RANGE);
	struct node *s = NODE(Slice, 1, INTS(1, 2, 3, 4), INTS(3), INTS(-9), INTS(0), INTS(-2));
	gives(cx, s, 0, "int64[2]");
	known_are(cx, s->out[0], "4 2");
	ctx_free(cx);
}

static void test_known(void **state)
{
	struct ctx *cx = fresh_ctx(18);
	dim n = size(cx, "n");
	struct node *s = NODE(Shape, 1, VALUE(DT_INT8, n)), *d;

	(void)state;
	gives(cx, s, 0, "int64[1]");
	struct value *v = s->out[0];
	gives(cx, d = NODE(Div, 1, v, INTS(2)), 0, "int64[1]");
	known_are(cx, d->out[0], "n//2");
	struct node *neg = NODE(Neg, 1, v);
	gives(cx, neg, 0, "int64[1]");
	gives(cx, d = NODE(Div, 1, neg->out[0], INTS(2)), 0, "int64[1]");
	assert_null(d->out[0]->known); /* Div truncates */
	gives(cx, d = NODE(Div, 1, INTS(-7), INTS(2)), 0, "int64[1]");
	known_are(cx, d->out[0], "-3");
	gives(cx, d = NODE(Mul, 1, INTS(INT64_MAX), INTS(2)), 0, "int64[1]");
	assert_null(d->out[0]->known);
	gives(cx, d = NODE(Div, 1, INTS(1), INTS(0)), 0, "int64[1]");
	assert_null(d->out[0]->known);
	gives(cx, d = NODE(Mod, 1, INTS(-7), INTS(3)), 0, "int64[1]");
	known_are(cx, d->out[0], "2");
	d = NODE(Cast, 1, v);
	set_int(d, "to", 6);
	gives(cx, d, 0, "int32[1]");
	assert_null(d->out[0]->known); /* n may be beyond int32 */
	gives(cx, d = NODE(GreaterOrEqual, 1, v, INTS(0)), 0, "bool[1]");
	known_are(cx, d->out[0], "1");
	gives(cx, d = NODE(Where, 1, d->out[0], v, INTS(7)), 0, "int64[1]");
	known_are(cx, d->out[0], "n");
	struct node *r = NODE(Range, 1, SCALAR(DT_INT64), SCALAR(DT_INT64), SCALAR(DT_INT64));
	gives(cx, r, 0, "int64[?]");
	ctx_free(cx);
}

static void test_networks(void **state)
{
	struct ctx *cx = fresh_ctx(18);
	dim n = size(cx, "n"), m = size(cx, "m");
	static const int64_t two[] = {2, 2}, ones[] = {1, 1, 1, 1};
	struct value *x = VALUE(DT_FLOAT32, n, K(3), m, K(8));

	(void)state;
	struct node *c = NODE(Conv, 1, x, VALUE(DT_FLOAT32, K(6), K(3), K(3), K(3)));
	set_ints(c, "strides", 2, two);
	set_ints(c, "pads", 4, ones);
	gives(cx, c, 0, "float32[n, 6, (m+1)//2, 4]");
	refuses(cx, NODE(Conv, 1, x, VALUE(DT_FLOAT32, K(6), K(2), K(3), K(3))), E_SHAPE);
	struct node *p = NODE(MaxPool, 2, x);
	set_ints(p, "kernel_shape", 2, two);
	gives(cx, p, 1, "int64[n, 3, max(m-1, 0), 7]");
	gives(cx, NODE(MatMul, 1, VALUE(DT_FLOAT64, n, K(2), m), VALUE(DT_FLOAT64, m, K(4))), 0,
	      "float64[n, 2, 4]");
	refuses(cx, NODE(MatMul, 1, VALUE(DT_FLOAT64, K(2), K(3)), VALUE(DT_FLOAT64, K(4), K(3))),
		E_SHAPE);
	struct node *e = NODE(Einsum, 1, VALUE(DT_FLOAT64, n, K(2)), VALUE(DT_FLOAT64, K(2), m));
	e->attrs[e->nattrs++] =
		(struct attr){.name = "equation", .kind = AT_STR, .u.s = {"ij,jk->ki", 9}};
	gives(cx, e, 0, "float64[m, n]");
	struct node *t = NODE(TopK, 2, x, INTS(5));
	gives(cx, t, 0, "float32[n, 3, m, 5]");
	gives(cx, t, 1, "int64[n, 3, m, 5]");
	refuses(cx, NODE(TopK, 2, x, INTS(9)), E_RANGE);
	gives(cx, NODE(NonZero, 1, x), 0, "int64[4, ?]");
	assert_int_equal(onnx_infer(cx, NODE(SequenceConstruct, 1, x)), ONNX_NO_RULE);
	ctx_free(cx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_name), cmocka_unit_test(test_versions),
		cmocka_unit_test(test_kernels),    cmocka_unit_test(test_releases),
		cmocka_unit_test(test_facts),      cmocka_unit_test(test_signs),
		cmocka_unit_test(test_broadcast),  cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_slices),     cmocka_unit_test(test_known),
		cmocka_unit_test(test_networks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
