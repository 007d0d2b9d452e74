/*
 * fusion.c: ONNX Runtime folds a constant factor next to a float64 MatMul into an attribute of
 * FusedMatMul, which is float32: 0.1 * (a @ b) is then off by 1.5e-8. In: a graph of ONNX nodes.
 * Out: the same, with such a MatMul written as Gemm (matrices) or Einsum, which it does not fold.
 * The same for transposes that it would fold into a product of nothing. Factors that float32 holds
 * exactly lose nothing and stay.
 */
#include <math.h>
#include <string.h>

#include "onnx/onnx.h"
#include "ort/ort.h"

struct fusion {
	struct ctx *cx;
	uint64_t *fixed; /* bit per value id: computed from constants alone, so at load */
};

static bool is_fixed(const struct fusion *f, const struct value *v)
{
	return v->data || f->fixed[v->id / 64] >> v->id % 64 & 1;
}

/* Marks the results of a node that the runtime can replace by constants. */
static void mark_fixed(struct fusion *f, const struct node *n)
{
	if (!onnx_is_pure(n->onnx))
		return;
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && !is_fixed(f, n->in[i]))
			return;
	for (uint32_t i = 0; i < n->nout; i++)
		f->fixed[n->out[i]->id / 64] |= UINT64_C(1) << n->out[i]->id % 64;
}

static bool is_single(struct ctx *cx, const struct value *v)
{
	int64_t one;

	for (uint32_t i = 0; i < v->type.rank; i++)
		if (!dim_is_const(cx, v->type.dims[i], &one) || one != 1)
			return false;
	return true;
}

/* The constant that n multiplies or divides by; NULL: none, or more than one element */
static const struct value *factor(const struct fusion *f, const struct node *n)
{
	if (!is_onnx(n, ONNX_Mul) && !is_onnx(n, ONNX_Div))
		return NULL;
	for (int i = 1; i >= 0; i--)
		if (is_fixed(f, n->in[i]) && is_single(f->cx, n->in[i]))
			return n->in[i];
	return NULL;
}

/* Is a product wrong with n's factor as an attribute? It is where float32 cannot hold that (Div
 * turns it into its reciprocal first), and where it is 0 or inf, which NaN can come from. */
static bool is_inexact(const struct fusion *f, const struct node *n)
{
	const struct value *v = factor(f, n);

	if (!v || (v->type.dtype != DT_FLOAT64 && v->type.dtype != DT_FLOAT32))
		return false;
	const struct tensor *t = v->data;
	if (!t)
		return true;
	double x = tensor_float(t, 0), y = is_onnx(n, ONNX_Div) ? 1 / x : x;
	if (!isfinite(y) || y == 0)
		return true;
	return t->dtype == DT_FLOAT64 && ((float)y != y || (is_onnx(n, ONNX_Div) && (float)x != x));
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
		if (is_onnx(n, ids[i]))
			return n->in[0];
	return NULL;
}

/* The MatMul that v comes from through such ops, and is any factor on the way inexact? */
static struct node *behind(const struct fusion *f, struct value *v, bool *inexact)
{
	for (uint32_t steps = 0; v && v->def && steps < 16; steps++) {
		struct node *n = v->def;
		*inexact |= is_inexact(f, n);
		if (is_onnx(n, ONNX_MatMul))
			return n;
		v = passed(f, n);
	}
	return NULL;
}

/* "...ij,...jk->...ik" for MatMul; `...` must stand for as many axes on both sides, so those that
 * only one of them has get letters. */
static char *equation(struct ctx *cx, uint32_t x, uint32_t y)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefgh";
	uint32_t xb = x > 2 ? x - 2 : 0, yb = y > 2 ? y - 2 : 0;
	int more_x = (int)(xb > yb ? xb - yb : 0), more_y = (int)(yb > xb ? yb - xb : 0);
	const char *dots = xb && yb ? "..." : "";

	if (more_x > (int)sizeof(letters) - 1 || more_y > (int)sizeof(letters) - 1)
		return NULL;
	return arena_printf(cx->arena, "%.*s%s%sj,%.*s%sj%s->%.*s%.*s%s%s%s", more_x, letters, dots,
			    x > 1 ? "i" : "", more_y, letters, dots, y > 1 ? "k" : "", more_x,
			    letters, more_y, letters, dots, x > 1 ? "i" : "", y > 1 ? "k" : "");
}

static void replace(struct ctx *cx, struct node *n)
{
	uint32_t x = n->in[0]->type.rank, y = n->in[1]->type.rank;

	if (x == 2 && y == 2) {
		n->onnx = onnx_find(ONNX_Gemm, cx->opt.opset);
		return;
	}
	char *text = equation(cx, x, y);
	if (!text)
		return;
	n->onnx = onnx_find(ONNX_Einsum, cx->opt.opset);
	n->attrs = new (cx->arena, struct attr);
	*n->attrs = (struct attr){.name = "equation", .kind = AT_STR};
	n->attrs->u.s.s = text;
	n->attrs->u.s.len = (uint32_t)strlen(text);
	n->nattrs = 1;
}

static bool fuses(const struct node *n)
{
	return is_onnx(n, ONNX_MatMul) &&
	       (n->out[0]->type.dtype == DT_FLOAT64 || n->out[0]->type.dtype == DT_FLOAT32);
}

static bool is_transposed(const struct fusion *f, const struct value *v)
{
	for (uint32_t steps = 0; v && v->def && steps < 16; steps++) {
		if (is_onnx(v->def, ONNX_Transpose))
			return true;
		v = passed(f, v->def);
	}
	return false;
}

/* With a vector on its right FusedMatMul gives wrong numbers. */
static bool is_transpose(const struct value *v)
{
	while (is_onnx(v->def, ONNX_Cast) || is_onnx(v->def, ONNX_Identity))
		v = v->def->in[0];
	return is_onnx(v->def, ONNX_Transpose);
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
	int64_t one;

	for (uint32_t i = 0; i + 2 < x->rank; i++) {
		uint32_t end = x->rank - i; /* counted from the last axis */
		bool alone = end > y->rank ||
			     (dim_is_const(f->cx, y->dims[y->rank - end], &one) && one == 1);
		if (alone && !dim_ge(f->cx, x->dims[i], 1))
			return is_transposed(f, n->in[0]);
	}
	return false;
}

/* Blocks nest as the user's loops and ifs do. */
static void prevent(struct fusion *f, struct block *k)
{
	for (struct node *n = k->first; n; n = n->next) {
		mark_fixed(f, n);
		bool inexact = false;
		struct node *m = factor(f, n) ? behind(f, n->out[0], &inexact) : NULL;
		if (m && inexact && fuses(m))
			replace(f->cx, m);
		inexact = false;
		if (fuses(n)) {
			behind(f, n->in[0], &inexact);
			behind(f, n->in[1], &inexact);
			bool vector = n->in[1]->type.rank == 1 && is_transpose(n->in[0]);
			if (inexact || vector || unset_if_empty(f, n) || fails_if_empty(f, n))
				replace(f->cx, n);
		}
		for (uint32_t i = 0; i < n->nattrs; i++)
			if (n->attrs[i].kind == AT_GRAPH)
				prevent(f, n->attrs[i].u.block);
	}
}

void prevent_fusion(struct ctx *cx, struct graph *g)
{
	struct fusion f = {.cx = cx};

	f.fixed = new_array(cx->scratch, uint64_t, cx->next_id / 64 + 1);
	prevent(&f, g->block);
}
