/*
 * fusion.c: ONNX Runtime folds a constant factor next to a float64 MatMul into an attribute of
 * FusedMatMul, which is float32: 0.1 * (a @ b) is then off by 1.5e-8. In: a graph of ONNX nodes.
 * Out: the same, with such a MatMul of matrices written as Gemm, which it does not fold, and with a
 * Reshape that moves no data between any other one and the factor. The same for transposes that it
 * would fold into a product of nothing. Factors that float32 holds exactly lose nothing and stay.
 * A model with Clip(Relu(x), a, b) of float64 does not load, as it makes one Clip of floats of
 * both.
 */
#include <math.h>
#include <string.h>

#include "graph/uses.h"
#include "ort/ort.h"
#include "rewrite/rewrite.h"

struct fusion {
	struct ctx *cx;
	bool changed;
};

/* The constant that n multiplies or divides by; NULL: none, or more than one element */
static const struct value *factor(const struct fusion *f, const struct node *n)
{
	if (!computes(n, ONNX_Mul) && !computes(n, ONNX_Div))
		return NULL;
	for (int i = 1; i >= 0; i--)
		if (is_single(f->cx, &n->in[i]->type) && from_constants(f->cx, n->in[i], NULL))
			return n->in[i];
	return NULL;
}

/* Releases before 1.27 put a factor or a transpose of float64 into a FusedMatMul, which they have
 * no kernel for: the model does not load. */
static bool lacks_fused(const struct fusion *f, const struct node *n)
{
	return n->out[0]->type.dtype == DT_FLOAT64 &&
	       target_releases(f->cx) & RELEASES(17, LAST_WITHOUT_FUSED);
}

/* Is a product wrong with n's factor as an attribute? It is where float32 cannot hold that (Div
 * turns it into its reciprocal first), and where it is 0 or inf, which NaN can come from. */
static bool is_inexact(const struct fusion *f, const struct node *n)
{
	const struct value *v = factor(f, n);

	if (!v || (v->type.dtype != DT_FLOAT64 && v->type.dtype != DT_FLOAT32))
		return false;
	const struct tensor *t = v->data;
	if (!t || lacks_fused(f, n))
		return true;
	double x = tensor_float(t, 0), y = computes(n, ONNX_Div) ? 1 / x : x;
	if (!isfinite(y) || y == 0)
		return true;
	return t->dtype == DT_FLOAT64 &&
	       ((float)y != y || (computes(n, ONNX_Div) && (float)x != x));
}

/* Ops that may vanish, move or be folded with, between a factor and a MatMul: the value they pass
 * on */
static struct value *passed(const struct fusion *f, const struct node *n)
{
	static const enum onnx_id ids[] = {ONNX_Identity, ONNX_Transpose, ONNX_Reshape,
					   ONNX_Squeeze,  ONNX_Unsqueeze, ONNX_Expand,
					   ONNX_Cast};

	const struct value *k = factor(f, n);
	if (k)
		return n->in[n->in[0] == k ? 1 : 0];
	for (size_t i = 0; i < countof(ids); i++)
		if (computes(n, ids[i]))
			return n->in[0];
	return NULL;
}

/* Is n a Reshape that was put there to part two nodes? */
static bool is_barrier(const struct node *n)
{
	int64_t k = 0;

	if (!computes(n, ONNX_Reshape) || !n->in[1]->data ||
	    n->in[1]->data->count != n->in[0]->type.rank ||
	    n->out[0]->type.dims != n->in[0]->type.dims)
		return false;
	for (uint64_t i = 0; i < n->in[1]->data->count; i++)
		if (!tensor_int(n->in[1]->data, i, &k) || k)
			return false;
	return true;
}

/* The MatMul that v comes from through such ops, and *factor: an inexact factor on the way */
static struct node *behind(const struct fusion *f, struct value *v, struct node **factor)
{
	for (uint32_t steps = 0; v && v->def && steps < 16; steps++) {
		struct node *n = v->def;
		if (is_inexact(f, n))
			*factor = n;
		if (is_barrier(n) || computes(n, ONNX_Squeeze) || computes(n, ONNX_Unsqueeze))
			return NULL; /* what the runtime neither drops nor moves a factor over */
		if (computes(n, ONNX_MatMul))
			return n;
		v = passed(f, n);
	}
	return NULL;
}

static bool becomes_gemm(struct fusion *f, struct node *n)
{
	if (n->as_written || n->in[0]->type.rank != 2 || n->in[1]->type.rank != 2)
		return false;
	become(f->cx, n, ONNX_Gemm, n->in[0], n->in[1]);
	return f->changed = true;
}

/* What reads the result of n, of block k or one around it, reads a Reshape of it. */
static void part_behind(struct fusion *f, struct block *k, struct node *n)
{
	struct value *read = n->out[0];
	struct build b = build_at(f->cx, k, n);

	b.span = n->span;
	barrier(&b, part_result(f->cx, n, 0));
	take_over(&b, read);
	f->changed = true;
}

static bool fuses(const struct node *n)
{
	return computes(n, ONNX_MatMul) &&
	       (n->out[0]->type.dtype == DT_FLOAT64 || n->out[0]->type.dtype == DT_FLOAT32);
}

static bool is_transposed(const struct fusion *f, const struct value *v)
{
	for (uint32_t steps = 0; v && v->def && steps < 16; steps++) {
		if (computes(v->def, ONNX_Transpose))
			return true;
		v = is_barrier(v->def) ? NULL : passed(f, v->def);
	}
	return false;
}

/* A stack of products with a transposed side becomes a FusedMatMul, which leaves its result unset
 * where there is nothing to add up. */
static bool unset_if_empty(const struct fusion *f, const struct node *n)
{
	const struct type *x = &n->in[0]->type, *y = &n->in[1]->type;

	return (x->rank > 2 || y->rank > 2) && x->rank && !dim_ge(f->cx, x->dims[x->rank - 1], 1) &&
	       (is_transposed(f, n->in[0]) || is_transposed(f, n->in[1]));
}

/* Nor does it take an empty stack on the left, transposed, beside one matrix, which MatMul does. */
static bool fails_if_empty(const struct fusion *f, const struct node *n)
{
	const struct type *x = &n->in[0]->type, *y = &n->in[1]->type;

	for (uint32_t i = 0; i + 2 < x->rank; i++) {
		uint32_t end = x->rank - i; /* counted from the last axis */
		bool alone = end > y->rank || dim_is(f->cx, y->dims[y->rank - end], 1);
		if (alone && !dim_ge(f->cx, x->dims[i], 1))
			return is_transposed(f, n->in[0]);
	}
	return false;
}

/* The matrix that v is, transposed; NULL: v is none */
static struct value *matrix_behind_transpose(struct value *v)
{
	while (v->def && computes(v->def, ONNX_Identity))
		v = v->def->in[0];
	if (!computes(v->def, ONNX_Transpose) || !onnx_transposes_matrix(v->def))
		return NULL;
	return v->def->in[0];
}

/* Side i of the product n is parted from the Transpose that it comes from. Releases without a
 * kernel for the product of both move a Transpose over a Reshape of static lengths, and not over a
 * Max of one array. */
static void part_from_transpose(struct fusion *f, struct build b, struct node *n, uint32_t i)
{
	b.span = n->in[i]->span;
	if (lacks_fused(f, n))
		set_input(n, i, emit_(&b, ONNX_Max, n->in[i]));
	else
		put_barrier(b, n, i);
}

/* n, right behind `at`, is a MatMul. Is a factor or a transpose that one of its inputs comes from
 * folded wrongly? */
static void prevent_before(struct fusion *f, struct build at, struct node *n)
{
	bool never = unset_if_empty(f, n) || fails_if_empty(f, n) || lacks_fused(f, n);
	bool transposed[2] = {false, false};
	struct node *factors[2] = {NULL, NULL};
	struct value *matrix = n->in[1]->type.rank == 1 ? matrix_behind_transpose(n->in[0]) : NULL;

	if (matrix) { /* a.T @ v is v @ a, where there is nothing to fuse */
		become(f->cx, n, ONNX_MatMul, n->in[1], matrix);
		f->changed = true;
	}

	for (int i = 0; i < 2; i++) {
		behind(f, n->in[i], &factors[i]);
		transposed[i] = never && is_transposed(f, n->in[i]);
	}
	/* with a vector on its right FusedMatMul gives wrong numbers */
	transposed[0] |= n->in[1]->type.rank == 1 && is_transposed(f, n->in[0]);
	bool wrong = factors[0] || factors[1] || transposed[0] || transposed[1];
	if (!wrong || becomes_gemm(f, n))
		return;
	for (int i = 0; i < 2; i++) {
		/* a Transpose can be moved over the Reshape: it stands right behind the factor */
		if (factors[i])
			part_behind(f, at.block, factors[i]);
		if (transposed[i])
			part_from_transpose(f, at, n, (uint32_t)i);
	}
}

static bool clips_relu(const struct node *n)
{
	enum dtype t = (enum dtype)n->out[0]->type.dtype;

	return is_onnx(n, ONNX_Clip) && computes(n->in[0]->def, ONNX_Relu) && t != DT_FLOAT32 &&
	       t != DT_FLOAT16;
}

static void prevent(struct fusion *f, struct block *main)
{
	for (struct walk w = {.root = main}; walk(&w, WALK_BEFORE);) {
		struct build at = build_at(f->cx, w.at.block, w.at.before);
		struct node *n = w.at.node;
		struct node *wrong = NULL, *m = factor(f, n) ? behind(f, n->out[0], &wrong) : NULL;
		if (m && wrong && fuses(m) && !becomes_gemm(f, m))
			part_behind(f, w.at.block, m);
		if (fuses(n))
			prevent_before(f, at, n);
		if (clips_relu(n))
			put_barrier(at, n, 0);
	}
}

bool prevent_fusion(struct ctx *cx, struct graph *g)
{
	struct fusion f = {.cx = cx};

	if (!has_operator(g, ONNX_MatMul) && !has_operator(g, ONNX_Relu))
		return false;
	prevent(&f, g->block);
	return f.changed; /* a Transpose that a product read may be left */
}
