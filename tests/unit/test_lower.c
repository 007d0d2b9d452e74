/*
 * Unit tests of lowering: nodes are made once, constants too, scopes hide what is in them, rows of
 * missing_kernels.def do what they promise at every opset, shapes take as few nodes as they can,
 * and what is inserted stands where it is put, as it is asked for.
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

#include "graph/uses.h"
#include "lower/build.h"
#include "ort/ort.h"
#include "rewrite/rewrite.h"
#include "graph_of.h"

/* A builder in an empty block. `cx` is returned in b.cx. */
static const char some_graph[] = "graph t(x: bool[]) -> (y) { y = x }";

static int runtime = DEFAULT_RELEASE; /* the least release that fresh() makes models for */

static struct build *fresh(int opset, enum ptgc_target target)
{
	struct ctx *cx = fresh_ctx();
	cx->opt.opset = opset;
	cx->opt.runtime =
		runtime > least_release_of_opset(opset) ? runtime : least_release_of_opset(opset);
	cx->opt.target = target;
	const struct graph *g = graph_of(cx, some_graph); /* for the fns that rows name */
	struct build *b = new (cx->arena, struct build);
	*b = (struct build){.cx = cx, .opset = opset, .target = target, .rules = &emit_rules};
	b->span = g->block->results.at[0]->span;
	scope_open(b, block_new(b));
	b->scope->shared = new (cx->arena, struct shared);
	b->scope->shared->of_op = lowerings;
	b->scope->shared->names = new (cx->arena, struct given_names);
	return b;
}

static struct value *param(struct build *b, enum dtype t, uint32_t rank, const dim *dims)
{
	dim *d = new_array(b->cx->arena, dim, rank + 1);
	for (uint32_t i = 0; i < rank; i++)
		d[i] = dims[i];
	struct value *v = block_param(b, b->block, type_of(t, rank, d));
	for (uint32_t i = 0; i < rank; i++)
		if (!dim_view(b->cx, d[i]).source)
			dim_set_source(b->cx, d[i], SOURCE_SIZE, v, i);
	dims_record(b, v);
	return v;
}

#define PARAM(b, t, ...)                                                                           \
	param(b, t, sizeof((dim[]){__VA_ARGS__}) / sizeof(dim), (dim[]){__VA_ARGS__})

static dim size(struct build *b, const char *name)
{
	return dim_name(b->cx, intern_str(b->cx, name));
}

#define K(b, n) dim_const((b)->cx, n)

static uint32_t count(const struct build *b)
{
	uint32_t n = 0;
	for (const struct node *i = b->block->first; i; i = i->next)
		n++;
	return n;
}

static bool made_by(const struct value *v, enum onnx_id op)
{
	return is_onnx(v->def, op);
}

/* --- nodes and constants are made once --- */

static void test_same_node(void **state)
{
	struct build *b = fresh(18, PTGC_ORT_CPU);
	struct value *x = PARAM(b, DT_FLOAT32, size(b, "n")),
		     *y = PARAM(b, DT_FLOAT32, size(b, "n"));

	(void)state;
	struct value *e = emit_(b, ONNX_Exp, x);
	assert_ptr_equal(emit_(b, ONNX_Exp, x), e);
	assert_ptr_not_equal(emit_(b, ONNX_Exp, y), e);
	assert_ptr_not_equal(emit_(b, ONNX_Sqrt, x), e);
	assert_ptr_not_equal(emit_(b, ONNX_Sub, x, y), emit_(b, ONNX_Sub, y, x));
	assert_int_equal(count(b), 5);
	attr_int(b, "to", dtypes[DT_FLOAT64].onnx);
	struct value *c = emit_(b, ONNX_Cast, x);
	attr_int(b, "to", dtypes[DT_INT32].onnx);
	assert_ptr_not_equal(emit_(b, ONNX_Cast, x), c);
	attr_int(b, "to", dtypes[DT_FLOAT64].onnx);
	assert_ptr_equal(emit_(b, ONNX_Cast, x), c);
	assert_ptr_equal(cast(b, x, DT_FLOAT64), c);
	assert_ptr_equal(cast(b, x, DT_FLOAT32), x);
	assert_int_equal(count(b), 7);
	/* the detour of the legaliser too: Neg of uint8 is three nodes once */
	struct value *u = PARAM(b, DT_UINT8, size(b, "n")), *v = emit_(b, ONNX_Neg, u);
	assert_int_equal(v->type.dtype, DT_UINT8);
	assert_int_equal(count(b), 10);
	assert_ptr_equal(emit_(b, ONNX_Neg, u), v);
	assert_int_equal(count(b), 10);
	ctx_free(b->cx);
}

static void test_random_nodes_are_not_shared(void **state)
{
	struct build *b = fresh(18, PTGC_ONNX);
	struct value *shape = const_ints(b, (int64_t[]){3}, 1);
	struct value *x = PARAM(b, DT_FLOAT32, size(b, "n"));

	(void)state;
	(void)shape;
	struct value *first = emit_(b, ONNX_RandomUniformLike, x);
	assert_ptr_not_equal(emit_(b, ONNX_RandomUniformLike, x), first);
	ctx_free(b->cx);
}

static void test_same_constant(void **state)
{
	struct build *b = fresh(18, PTGC_ORT_CPU);

	(void)state;
	assert_ptr_equal(const_int(b, 3), const_int(b, 3));
	assert_ptr_not_equal(const_int(b, 3), const_int(b, 4));
	assert_ptr_not_equal(const_int(b, 3), const_ints(b, (int64_t[]){3}, 1));
	assert_ptr_not_equal(const_of(b, DT_FLOAT32, 0.0), const_of(b, DT_FLOAT32, -0.0));
	assert_ptr_not_equal(const_of(b, DT_FLOAT32, 1), const_of(b, DT_FLOAT64, 1));
	assert_ptr_equal(cast(b, const_of(b, DT_FLOAT32, 1), DT_FLOAT64),
			 const_of(b, DT_FLOAT64, 1));
	assert_ptr_equal(const_ints(b, (int64_t[]){1, 2}, 2), const_ints(b, (int64_t[]){1, 2}, 2));
	assert_int_equal(count(b), 0);
	ctx_free(b->cx);
}

static void test_scopes(void **state)
{
	struct build *b = fresh(18, PTGC_ORT_CPU);
	struct value *x = PARAM(b, DT_FLOAT32, size(b, "n"));
	struct block *outer = b->block;

	(void)state;
	struct value *e = emit_(b, ONNX_Exp, x);
	scope_open(b, block_new(b));
	assert_ptr_equal(emit_(b, ONNX_Exp, x), e);
	struct value *s = emit_(b, ONNX_Sqrt, x);
	assert_true(visible(b, s));
	assert_int_equal(count(b), 1);
	scope_close(b, outer);
	assert_false(visible(b, s));
	assert_true(visible(b, e));
	assert_ptr_not_equal(emit_(b, ONNX_Sqrt, x), s);
	assert_int_equal(count(b), 2);
	ctx_free(b->cx);
}

/* An If in b, whose branches give the square root of x; what the first one gives */
static struct value *branches(struct build *b, struct value *x, struct value *condition)
{
	struct block *outer = b->block, *inner[2];
	struct value *first = NULL;

	for (int i = 0; i < 2; i++) {
		inner[i] = block_new(b);
		scope_open(b, inner[i]);
		struct value *v = emit_(b, ONNX_Sqrt, x);
		*vec_push(b->cx->arena, &inner[i]->results) = v;
		first = first ? first : v;
		scope_close(b, outer);
	}
	attr_block(b, "then_branch", inner[0]);
	attr_block(b, "else_branch", inner[1]);
	struct node *n = onnx_node(b, ONNX_If, &condition, 1, 1);
	n->out[0]->type = x->type;
	append(b, n);
	return first;
}

/* Does verify() stop a compiler whose nodes read this value behind its block? */
static void test_verify(void **state)
{
	(void)state;
	for (int inner = 0; inner < 2; inner++) {
		struct build *b = fresh(18, PTGC_ORT_CPU);
		struct value *x = PARAM(b, DT_FLOAT32, size(b, "n"));
		struct value *v = branches(b, x, param(b, DT_BOOL, 0, NULL));
		struct graph g = {.block = b->block};
		int status;
		emit_(b, ONNX_Exp, inner ? v : x);
		pid_t child = fork();
		assert_true(child >= 0);
		if (!child) {
			if (!freopen("/dev/null", "w", stderr))
				_exit(1);
			verify(b->cx, &g);
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, inner);
		ctx_free(b->cx);
	}
}

/* --- what differs between opsets --- */

static void test_opsets(void **state)
{
	(void)state;
	for (int opset = MIN_OPSET; opset <= MAX_OPSET; opset++) {
		struct build *b = fresh(opset, PTGC_ORT_CPU);
		struct value *x = PARAM(b, DT_FLOAT32, size(b, "n"), K(b, 4), size(b, "m"));
		struct value *r = reduce(b, ONNX_ReduceMax, x, (int[]){1}, 1, false);
		assert_int_equal(r->type.rank, 2);
		assert_int_equal(r->def->nin, opset >= 18 ? 2 : 1);
		r = reduce(b, ONNX_ReduceSum, x, (int[]){0, 2}, 2, true);
		assert_int_equal(r->type.rank, 3);
		assert_int_equal(r->def->nin, 2);
		struct value *parts[2];
		split(b, x, 1, NULL, parts, 2);
		assert_int_equal(parts[0]->def->nattrs, opset >= 18 ? 2 : 1);
		r = shape_slice(b, x, 2, 3);
		assert_true(made_by(r, opset >= 15 ? ONNX_Shape : ONNX_Gather));
		r = shape_slice(b, x, 1, 3);
		assert_true(made_by(r, opset >= 15 ? ONNX_Shape : ONNX_Slice));
		assert_true(shape_slice(b, x, 1, 2)->data != NULL);
		assert_int_equal(b->cx->errors, 0);
		ctx_free(b->cx);
	}
}

/* --- shapes --- */

static void test_dims_vector(void **state)
{
	struct build *b = fresh(18, PTGC_ORT_CPU);
	dim n = size(b, "n"), m = size(b, "m"), six = K(b, 6);
	struct value *x = PARAM(b, DT_FLOAT32, n, m, six), *v;

	(void)state;
	assert_true(dims_vector(b, (dim[]){six, six}, 2)->data != NULL);
	assert_int_equal(dims_vector(b, NULL, 0)->data->count, 0);
	assert_int_equal(count(b), 0);
	/* axes that lie side by side are one Shape */
	assert_true(made_by(dims_vector(b, (dim[]){n, m, six}, 3), ONNX_Shape));
	assert_ptr_equal(dims_vector(b, x->type.dims, 3), shape_of(b, x));
	assert_int_equal(count(b), 1);
	assert_true(made_by(dims_vector(b, (dim[]){n, m}, 2), ONNX_Shape));
	assert_true(made_by(dims_vector(b, &m, 1), ONNX_Shape));
	assert_int_equal(count(b), 3);
	/* others are put together: the constant, Shape[1:2], Shape[0:1] */
	v = dims_vector(b, (dim[]){six, m, n}, 3);
	assert_true(made_by(v, ONNX_Concat));
	assert_int_equal(v->def->nin, 3);
	assert_int_equal(count(b), 5);
	/* and known: reading them again takes no node */
	assert_int_equal(v->known->n, 3);
	assert_true(dim_eq(b->cx, v->known->at[2], n));
	/* arithmetic: a sum is one node more than its size */
	v = dim_vector(b, dim_add(b->cx, n, K(b, 1)));
	assert_true(made_by(v, ONNX_Add));
	assert_int_equal(count(b), 6);
	assert_ptr_equal(dim_vector(b, dim_add(b->cx, K(b, 1), n)), v);
	ctx_free(b->cx);
}

static void check_reshape(struct value *r, uint32_t rank, const int64_t *want)
{
	int64_t v;

	assert_true(made_by(r, ONNX_Reshape));
	assert_non_null(r->def->in[1]->data);
	assert_int_equal(r->def->in[1]->data->count, rank);
	for (uint32_t i = 0; i < rank; i++) {
		assert_true(tensor_int(r->def->in[1]->data, i, &v));
		assert_int_equal(v, want[i]);
	}
}

/* A shape with one size that is not known needs no Shape: it is -1, or 0 for "as it was". */
static void test_reshape(void **state)
{
	struct build *b = fresh(18, PTGC_ORT_CPU);
	dim n = size(b, "n"), m = size(b, "m");
	struct value *x = PARAM(b, DT_FLOAT32, n, K(b, 2), K(b, 3));
	struct value *y = PARAM(b, DT_FLOAT32, dim_mul(b->cx, m, K(b, 6)));

	(void)state;
	check_reshape(reshape(b, x, (dim[]){n, K(b, 6)}, 2), 2, (int64_t[]){0, 6});
	check_reshape(reshape(b, x, (dim[]){n, K(b, 3), K(b, 2)}, 3), 3, (int64_t[]){0, 3, 2});
	check_reshape(reshape(b, x, (dim[]){dim_mul(b->cx, n, K(b, 6))}, 1), 1, (int64_t[]){-1});
	check_reshape(reshape(b, x, (dim[]){K(b, 6), n}, 2), 2, (int64_t[]){6, -1});
	check_reshape(reshape(b, y, (dim[]){m, K(b, 6)}, 2), 2, (int64_t[]){-1, 6});
	assert_int_equal(count(b), 5);
	assert_ptr_equal(reshape(b, x, x->type.dims, 3), x);
	assert_int_equal(count(b), 5);
	/* axes of length 1 come and go by their own operators */
	struct value *u = reshape(b, x, (dim[]){n, K(b, 1), K(b, 2), K(b, 3)}, 4);
	assert_true(made_by(u, ONNX_Unsqueeze));
	assert_true(made_by(reshape(b, u, x->type.dims, 3), ONNX_Squeeze));
	ctx_free(b->cx);
}

static void test_noops(void **state)
{
	struct build *b = fresh(18, PTGC_ORT_CPU);
	struct value *x = PARAM(b, DT_FLOAT32, size(b, "n"), size(b, "m"));

	(void)state;
	assert_ptr_equal(transpose(b, x, (int64_t[]){0, 1}), x);
	assert_ptr_equal(expand(b, x, x->type.dims, 2), x);
	assert_ptr_equal(squeeze(b, x, NULL, 0), x);
	assert_ptr_equal(unsqueeze(b, x, NULL, 0), x);
	assert_ptr_equal(concat(b, 0, &x, 1), x);
	assert_int_equal(count(b), 0);
	ctx_free(b->cx);
}

/* --- the legaliser --- */

static const struct row {
	const char *name;
	enum onnx_id op;
	uint32_t dtypes;
	const char *how;
} rows[] = {
#define LEGAL(op, dtypes, ...) {#op, ONNX_##op, dtypes, #__VA_ARGS__},
#include "lower/missing_kernels.def"
};

/* The type variable that the row is about: that of the result, or of the first input. */
static const char *key_of(const struct onnx_op *op)
{
	for (uint32_t i = 0; i < op->nin; i++)
		if (!strcmp(op->in[i].type, op->out[0].type))
			return op->in[i].type;
	return op->in[0].type;
}

static enum dtype other_type(const struct onnx_op *op, const char *type)
{
	for (const struct onnx_constraint *c = op->constraints; c && c->var; c++)
		for (int t = 1; t < DT_COUNT && !strcmp(c->var, type); t++)
			if (c->dtypes >> t & 1)
				return (enum dtype)t;
	return dtype_named(type);
}

/* An input of rank 2, or of the rank that the operator asks for there. */
static struct value *input_of(struct build *b, const struct onnx_op *op, uint32_t i, enum dtype t)
{
	bool range = op->id == ONNX_Range, first = i == 0;

	if (range ||
	    (!first && (op->id == ONNX_Clip || op->id == ONNX_CumSum || op->id == ONNX_CumProd)))
		return param(b, t, 0, NULL);
	if (!first && op->id == ONNX_TopK)
		return const_ints(b, (int64_t[]){1}, 1);
	if (!first && op->id == ONNX_Pad && t == DT_INT64)
		return const_ints(b, (int64_t[]){0, 1, 1, 0}, 4);
	if (!first && op->id == ONNX_DFT)
		return NULL;
	if (op->id == ONNX_DFT)
		return PARAM(b, t, K(b, 3), K(b, 3), K(b, 2));
	return PARAM(b, t, K(b, 3), K(b, 3));
}

static void emit_row(struct build *b, const struct onnx_op *op, enum dtype t, struct value **out)
{
	struct value *in[4];
	const char *key = key_of(op);
	uint32_t nin = 0;

	while (nin < op->nin &&
	       (!op->in[nin].repeat || op->in[nin].repeat == '+' || op->in[nin].repeat == '*')) {
		const char *type = op->in[nin].type;
		in[nin] = input_of(b, op, nin, strcmp(type, key) ? other_type(op, type) : t);
		nin++;
	}
	if (op->in[0].repeat) /* any number: two */
		in[nin++] = input_of(b, op, 1, t);
	if (op->id == ONNX_BitShift)
		attr_str(b, "direction", "LEFT");
	if (op->id == ONNX_Unique)
		attr_int(b, "axis", 0);
	emit_n(b, op->id, in, nin, out, op->nout);
}

static void check_kernels(const struct build *b, const char *op, enum dtype t)
{
	for (const struct node *n = b->block->first; n; n = n->next) {
		enum dtype in[8], out[8];
		for (uint32_t i = 0; i < n->nin; i++)
			in[i] = n->in[i] ? (enum dtype)n->in[i]->type.dtype : DT_NONE;
		for (uint32_t i = 0; i < n->nout; i++)
			out[i] = (enum dtype)n->out[i]->type.dtype;
		if (!kernel_exists(b->cx, n->onnx, in, n->nin, out, n->nout))
			fail_msg("%s of %s at opset %d: %s has no kernel", op, dtypes[t].name,
				 b->opset, n->onnx->name);
	}
}

static bool takes(const struct onnx_op *op, enum dtype t)
{
	for (const struct onnx_constraint *c = op->constraints; c && c->var; c++)
		if (!strcmp(c->var, key_of(op)))
			return c->dtypes >> t & 1;
	return true;
}

/* One row, dtype and opset; was the row needed? */
static bool check_row(const struct row *r, enum dtype t, int opset, enum ptgc_target target)
{
	struct build *b = fresh(opset, target);
	const struct onnx_op *op = onnx_nearest(r->op, opset);
	struct value *out[8] = {0};

	emit_row(b, op, t, out);
	/* nor does ONNX have it there; the portable target may lack more than the row's operator */
	if (b->cx->errors && (target == PTGC_PORTABLE || !takes(op, t))) {
		ctx_free(b->cx);
		return false;
	}
	if (b->cx->errors)
		fail_msg("%s of %s at opset %d, target %d: %s", r->name, dtypes[t].name, opset,
			 (int)target, b->cx->diags->text);
	check_kernels(b, r->name, t);
	for (uint32_t i = 0; i < op->nout; i++)
		if (!strcmp(op->out[i].type, key_of(op)))
			assert_int_equal(out[i]->type.dtype, t);
	bool needed = !out[0]->def || !made_by(out[0], r->op) || count(b) > 1;
	ctx_free(b->cx);
	return needed;
}

static void test_rows_name_operators(void **state)
{
	(void)state;
	for (size_t i = 0; i < countof(rows); i++) {
		assert_true(rows[i].dtypes != 0);
		const char *fn = strstr(rows[i].how, ".fn = \"");
		char name[64] = "";
		struct build *b = fresh(18, PTGC_ORT_CPU);
		if (fn && sscanf(fn, ".fn = \"%63[^\"]", name) == 1 && !lib_fn(b->cx, name))
			fail_msg("%s: the library has no fn %s", rows[i].name, name);
		ctx_free(b->cx);
		for (size_t k = 0; k < i; k++) /* one row only for an operator and a dtype */
			if (rows[k].op == rows[i].op)
				assert_int_equal(rows[k].dtypes & rows[i].dtypes, 0);
	}
}

/* Every row, for each of its dtypes at each opset (at which the operator is there, if it goes by
 * the same one): what comes out has kernels, and the dtype that is meant; and there is a dtype and
 * an opset at which it is needed. */
static void test_rows(void **state)
{
	int unused = 0;

	(void)state;
	for (size_t i = 0; i < countof(rows); i++) {
		bool needed = false;
		for (int t = 1; t < DT_COUNT; t++) {
			if (!(rows[i].dtypes >> t & 1))
				continue;
			for (int opset = MIN_OPSET; opset <= MAX_OPSET; opset++) {
				if (strstr(rows[i].how, ".via") && !onnx_find(rows[i].op, opset))
					continue;
				needed |= check_row(&rows[i], (enum dtype)t, opset, PTGC_ORT_CPU);
				check_row(&rows[i], (enum dtype)t, opset, PTGC_ONNX);
				needed |= check_row(&rows[i], (enum dtype)t, opset, PTGC_PORTABLE);
				runtime = oldest_release();
				if (opset <= find_release(runtime)->opset)
					needed |= check_row(&rows[i], (enum dtype)t, opset,
							    PTGC_ORT_CPU);
				runtime = DEFAULT_RELEASE;
			}
		}
		if (!needed && ++unused)
			print_error("row %zu, of %s, is never used\n", i + 1, rows[i].name);
	}
	assert_int_equal(unused, 0);
}

static void test_float16_goes_through_float32(void **state)
{
	struct build *b = fresh(18, PTGC_ORT_CPU);
	struct value *x = param(b, DT_FLOAT16, 0, NULL);

	(void)state;
	struct value *r = emit_(b, ONNX_Range, x, x, x);
	assert_int_equal(r->type.dtype, DT_FLOAT16);
	assert_true(made_by(r, ONNX_Cast));
	assert_int_equal(count(b), 3);
	ctx_free(b->cx);
}

/* The library's ReduceMax of int64 is the element at ArgMax, as ONNX Runtime's compares wrongly. */
static void test_reductions_of_int64(void **state)
{
	struct build *b = fresh(18, PTGC_ORT_CPU);
	dim n = size(b, "n");
	struct value *x = PARAM(b, DT_INT64, n, K(b, 3)), *out[1];

	(void)state;
	for (int axis = 0; axis < 2; axis++) {
		struct value *r = reduce(b, ONNX_ReduceMin, x, &axis, 1, axis);
		assert_true(made_by(r, ONNX_ReduceMin));
		assert_true(ort_instead(b, r->def, out));
		assert_int_equal(b->cx->errors, 0);
		assert_int_equal(out[0]->type.rank, r->type.rank);
		assert_true(dim_eq(b->cx, out[0]->type.dims[0], r->type.dims[0]));
		const struct node *at = axis ? out[0]->def : out[0]->def->in[0]->def;
		at = is_onnx(at, ONNX_Unsqueeze) ? at->in[0]->def->in[0]->def : at;
		assert_true(is_onnx(at, ONNX_GatherElements));
		assert_true(made_by(at->in[1], ONNX_ArgMin));
		/* of an empty axis it is the largest number */
		assert_int_equal(made_by(at->in[0], ONNX_Pad), axis == 0);
	}
	ctx_free(b->cx);
}

static void test_refused_by_name(void **state)
{
	struct build *b = fresh(18, PTGC_ORT_CPU);
	struct value *x = PARAM(b, DT_FLOAT64, size(b, "n"));

	(void)state;
	emit_(b, ONNX_Tan, x);
	assert_int_equal(b->cx->errors, 1);
	assert_non_null(strstr(b->cx->diags->text, "Tan"));
	assert_non_null(strstr(b->cx->diags->text, "float64"));
	assert_non_null(strstr(b->cx->diags->text, "opset 18"));
	ctx_free(b->cx);
}

static void test_insertion(void **state)
{
	struct build *b = fresh(13, PTGC_ORT_CPU);
	struct ctx *cx = b->cx;
	dim n = dim_const(cx, 5), m = dim_const(cx, 3);
	struct value *x = PARAM(b, DT_FLOAT32, n, m);
	struct value *y = emit_(b, ONNX_Exp, x), *z = emit_(b, ONNX_Tanh, y);
	struct build at = build_at(cx, b->block, y->def);
	(void)state;

	y->uses = 1;
	struct value *t = transpose(&at, y, (int64_t[]){1, 0});
	struct value *sum = reduce_node(&at, ONNX_ReduceMax, t, (int[]){0}, 1, true);
	assert_ptr_equal(y->def->next, t->def);
	assert_ptr_equal(t->def->next, sum->def);
	assert_ptr_equal(sum->def->next, z->def);
	assert_ptr_equal(at.after, sum->def);
	assert_int_equal(b->block->nnodes, 4);
	assert_true(dim_eq(cx, t->type.dims[0], m) && dim_eq(cx, sum->type.dims[1], n));
	assert_int_equal(sum->def->nin, 1); /* at opset 13 axes are an attribute */
	assert_non_null(find_attr(sum->def, "axes"));
	assert_int_equal(y->uses, 2);
	set_input(z->def, 0, t);
	assert_int_equal(y->uses, 1);
	assert_int_equal(t->uses, 2);

	/* as it is asked for: not folded, not shared */
	at = build_at(cx, b->block, NULL);
	struct value *k = const_of(&at, DT_FLOAT32, 2), *one = emit_(&at, ONNX_Neg, k);
	struct value *two = emit_(&at, ONNX_Neg, k);
	assert_ptr_equal(b->block->first, one->def);
	assert_ptr_equal(one->def->next, two->def);
	assert_int_equal(k->uses, 2);

	/* what read z reads a Reshape of it, which is the last node now */
	at = build_at(cx, b->block, z->def);
	struct value *bare = part_result(cx, z->def, 0);
	barrier(&at, bare);
	take_over(&at, z);
	assert_ptr_equal(b->block->last, z->def);
	assert_ptr_equal(z->def->in[0], bare);
	assert_true(is_onnx(bare->def, ONNX_Tanh) && is_onnx(z->def, ONNX_Reshape));
	verify(cx, &(struct graph){.block = b->block});
	ctx_free(cx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_insertion),
		cmocka_unit_test(test_same_node),
		cmocka_unit_test(test_random_nodes_are_not_shared),
		cmocka_unit_test(test_same_constant),
		cmocka_unit_test(test_scopes),
		cmocka_unit_test(test_verify),
		cmocka_unit_test(test_opsets),
		cmocka_unit_test(test_dims_vector),
		cmocka_unit_test(test_reshape),
		cmocka_unit_test(test_noops),
		cmocka_unit_test(test_rows_name_operators),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_float16_goes_through_float32),
		cmocka_unit_test(test_reductions_of_int64),
		cmocka_unit_test(test_refused_by_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
