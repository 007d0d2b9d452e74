/*
 * node_arithmetic.c: rewrites of arithmetic to fewer or cheaper nodes: A @ B + c is a Gemm, 1 / x a
 * Reciprocal, max(x, 0) a Relu, x + 0 is x. What lowering can see when it makes a node is in
 * lower/algebra.c; here stand rewrites that need to know who else reads an input, or that come
 * about by other rewrites.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "rewrite/nodes.h"
#include "target/target.h"

/* MatMul of matrices + C is one Gemm. */
struct value *make_gemm(struct ctx *cx, struct node *n)
{
	const struct type *t = &n->out[0]->type;

	if (t->rank != 2 || (t->dtype != DT_FLOAT32 && t->dtype != DT_FLOAT64))
		return NULL;
	for (int i = 0; i < 2; i++) {
		struct value *m = n->in[i], *c = n->in[1 - i];
		if (!same_type(cx, &m->type, t) || !is_op(m, ONNX_MatMul) || !is_used_once(m))
			continue;
		struct value *a = resolve(m->def->in[0]), *b = resolve(m->def->in[1]);
		if (a->type.rank != 2 || b->type.rank != 2 || c->type.dtype != t->dtype ||
		    !broadcasts_to(cx, &c->type, t))
			continue;
		if (find_kernel(cx, ONNX_Gemm, t->dtype, 3))
			become(cx, n, ONNX_Gemm, a, b, c);
		return NULL;
	}
	return NULL;
}

/* What a weight was before it got other dims, as the runtime will see it. */
static const struct value *behind_dims(const struct value *v)
{
	for (int steps = 0; steps < 8; steps++) {
		if (!onnx_facts[operator_of(v->def)].reshapes && !is_op(v, ONNX_Expand) &&
		    !is_op(v, ONNX_Cast))
			break;
		v = resolve(v->def->in[0]);
	}
	return v;
}

/* 1 / x is Reciprocal: of (1 / x) * y ONNX Runtime would make y / x, which rounds differently. */
struct value *make_reciprocal(struct ctx *cx, struct node *n)
{
	enum dtype t = n->in[1]->type.dtype;
	double one;

	if (!is_float(t) || !uniform_number(behind_dims(n->in[0])->data, &one) || one != 1 ||
	    !same_type(cx, &n->in[1]->type, &n->out[0]->type))
		return NULL;
	if (find_kernel(cx, ONNX_Reciprocal, t, 1))
		become(cx, n, ONNX_Reciprocal, n->in[1]);
	return NULL;
}

/* Is v the float 0 or -0, perhaps in other dims? */
static bool is_float_zero_in_any_dims(const struct value *v)
{
	double k;

	return constant_float(behind_dims(v), &k) && k == 0;
}

/* x + 0 and x - 0, and 0 - x, which is Neg: what a choice is that was left out, for one */
struct value *drop_zero(struct ctx *cx, struct node *n)
{
	bool sum = is_onnx(n, ONNX_Add);
	enum dtype t = (enum dtype)n->out[0]->type.dtype;

	if (cx->opt.signed_zeros)
		return NULL;
	for (int i = 0; i < 2; i++) {
		struct value *x = n->in[1 - i];
		if (!is_float_zero_in_any_dims(n->in[i]) ||
		    !same_type(cx, &x->type, &n->out[0]->type))
			continue;
		if (sum || i == 1)
			return x;
		if (find_kernel(cx, ONNX_Neg, t, 1))
			become(cx, n, ONNX_Neg, x);
		return NULL;
	}
	return NULL;
}

/* x + -y is x - y, -y + x too, and x - -y is x + y, where nothing else reads the negative. */
struct value *drop_negative(struct ctx *cx, struct node *n)
{
	bool sum = is_onnx(n, ONNX_Add);
	enum dtype t = (enum dtype)n->out[0]->type.dtype;
	enum onnx_id op = sum ? ONNX_Sub : ONNX_Add;
	bool exists = find_kernel(cx, op, t, 2) != NULL;

	for (int i = 1; i >= !sum && exists; i--) {
		struct value *y = n->in[i];
		if (!is_op(y, ONNX_Neg) || !is_used_once(y))
			continue;
		become(cx, n, op, n->in[1 - i], resolve(y->def->in[0]));
		return NULL;
	}
	return NULL;
}

/* x & x and x | x are x. */
struct value *drop_repeated(struct ctx *cx, struct node *n)
{
	(void)cx;
	return n->in[0] == n->in[1] ? n->in[0] : NULL;
}

/* Where(c, x, 0) + Where(c, 0, y) is Where(c, x, y): a diagonal and what is beside it, for one. */
struct value *join_choices(struct ctx *cx, struct node *n)
{
	const struct type *t = &n->out[0]->type;
	const struct node *w[2];

	for (int i = 0; i < 2; i++) {
		w[i] = n->in[i]->def;
		if (!is_op(n->in[i], ONNX_Where) || !is_used_once(n->in[i]) ||
		    !same_type(cx, &n->in[i]->type, t))
			return NULL;
	}
	struct value *c = resolve(w[0]->in[0]);
	if (cx->opt.signed_zeros || c != resolve(w[1]->in[0]) || !same_dims(cx, c->type, *t))
		return NULL;
	for (int i = 0; i < 2; i++) {
		if (!is_float_zero_in_any_dims(resolve(w[i]->in[2])) ||
		    !is_float_zero_in_any_dims(resolve(w[1 - i]->in[1])))
			continue;
		become(cx, n, ONNX_Where, c, resolve(w[i]->in[1]), resolve(w[1 - i]->in[2]));
		return NULL;
	}
	return NULL;
}

/* Neither NaN nor infinite is what lies below infinity: Less(Abs(x), inf). */
struct value *make_finite(struct ctx *cx, struct node *n)
{
	struct value *either = n->in[0], *x[2];
	struct node *m = either->def;

	if (!is_op(either, ONNX_Or) || !is_used_once(either))
		return NULL;
	x[0] = resolve(m->in[0]);
	x[1] = resolve(m->in[1]);
	int nan = is_op(x[0], ONNX_IsNaN) ? 0 : 1;
	if (!is_op(x[nan], ONNX_IsNaN) || !is_op(x[1 - nan], ONNX_IsInf) || x[1 - nan]->def->nattrs)
		return NULL;
	struct value *v = resolve(x[nan]->def->in[0]);
	if (v != resolve(x[1 - nan]->def->in[0]))
		return NULL;
	enum dtype types[2] = {v->type.dtype, v->type.dtype}, result[1] = {DT_BOOL};
	if (!find_kernel(cx, ONNX_Abs, types[0], 1) ||
	    !has_kernel(cx, ONNX_Less, types, 2, result, 1))
		return NULL;
	become(cx, m, ONNX_Abs, v);
	either->type = v->type;
	become(cx, n, ONNX_Less, either, graph_number(cx, types[0], INFINITY, n->span));
	return NULL;
}

/* Is v a constant that is, but for the sign, the largest finite number or infinite? */
static bool is_huge(const struct value *v, double largest)
{
	double k;

	return single_number(constant_data(v), &k) && fabs(k) >= largest;
}

/* Do the axes, which are sorted, come before all others? Then broadcasting aligns what is left. */
static bool are_leading(const int *axes, int n)
{
	return axes[n - 1] == n - 1;
}

/*
 * Is m the maximum of x along the axes along which s is the sum of e? For NaN m may be what is NaN,
 * and for infinities the largest finite number: Where(IsNaN(q), q, Clip(ReduceMax(x), -k, k))
 */
static bool is_maximum(struct value *m, const struct value *x, const struct node *sum,
		       const struct value *e)
{
	double largest = x->type.dtype == DT_FLOAT64 ? DBL_MAX : FLT_MAX;
	int of_max[MAX_RANK], of_sum[MAX_RANK];

	if (is_op(m, ONNX_Where)) {
		struct value *is_nan = resolve(m->def->in[0]), *q = resolve(m->def->in[1]);
		if (!is_op(is_nan, ONNX_IsNaN) || resolve(is_nan->def->in[0]) != q)
			return false;
		m = resolve(m->def->in[2]);
	}
	if (is_op(m, ONNX_Clip)) {
		const struct node *clip = m->def;
		if (clip->nin != 3 || !is_huge(resolve(clip->in[1]), largest) ||
		    !is_huge(resolve(clip->in[2]), largest))
			return false;
		m = resolve(clip->in[0]);
	}
	if (!is_op(m, ONNX_ReduceMax) || resolve(m->def->in[0]) != x || resolve(sum->in[0]) != e)
		return false;
	bool keep = int_of_attr(sum, "keepdims", 1);
	int n = onnx_reduced_axes(m->def, of_max);
	return n > 0 && n == onnx_reduced_axes(sum, of_sum) &&
	       !memcmp(of_max, of_sum, (size_t)n * sizeof(*of_max)) &&
	       keep == int_of_attr(m->def, "keepdims", 1) && (keep || are_leading(of_max, n));
}

/*
 * exp(x - (log(s) + m)), where s is the sum of e = exp(x - m) and m the maximum of x, is e / s: the
 * gradient of LogSumExp takes one exponential then, of which each costs as much as ten additions,
 * and large numbers do not swallow log(s).
 * Where x has infinities or NaN both are NaN. Of another m, e could be infinite.
 */
struct value *divide_by_sum(struct ctx *cx, struct node *n)
{
	struct value *z = n->in[0], *all, *x, *terms[2], *e;

	if (!is_op(z, ONNX_Sub))
		return NULL;
	x = resolve(z->def->in[0]);
	all = resolve(z->def->in[1]);
	if (!is_op(all, ONNX_Add))
		return NULL;
	for (int i = 0; i < 2; i++) {
		terms[0] = resolve(all->def->in[i]);
		terms[1] = resolve(all->def->in[1 - i]);
		if (!is_op(terms[0], ONNX_Log))
			continue;
		struct value *s = resolve(terms[0]->def->in[0]);
		e = is_op(s, ONNX_ReduceSum) ? resolve(s->def->in[0]) : NULL;
		if (!e || !is_op(e, ONNX_Exp) || !same_type(cx, &s->type, &all->type) ||
		    !same_type(cx, &e->type, &n->out[0]->type))
			continue;
		const struct value *y = resolve(e->def->in[0]);
		if (!is_op(y, ONNX_Sub) || resolve(y->def->in[0]) != x ||
		    resolve(y->def->in[1]) != terms[1] || !is_maximum(terms[1], x, s->def, e))
			continue;
		become(cx, n, ONNX_Div, e, s);
		return NULL;
	}
	return NULL;
}

/* log(x) = -inf where x = 0, and there alone: a model may read the logarithm for that only. */
struct value *compare_before_log(struct ctx *cx, struct node *n)
{
	for (int i = 0; i < 2; i++) {
		struct value *log = n->in[i], *k = n->in[1 - i];
		const struct tensor *t = constant_data(k), *zero;
		double edge;
		if (!is_op(log, ONNX_Log) || !uniform_number(t, &edge) || edge != -INFINITY)
			continue;
		zero = tensor_filled(cx, (enum dtype)t->dtype, t->rank, t->shape, 0);
		struct value *x = resolve(log->def->in[0]);
		become(cx, n, ONNX_Equal, x, graph_constant(cx, zero, k->span));
		break;
	}
	return NULL;
}

/* max(x, 0) is Relu, which ONNX Runtime fuses with a Gemm or Conv before it. Of x = -0 it is -0. */
struct value *make_relu(struct ctx *cx, struct node *n)
{
	enum dtype t = n->out[0]->type.dtype;

	if (n->nin != 2 || !is_float(t) || cx->opt.signed_zeros ||
	    !find_kernel(cx, ONNX_Relu, t, 1))
		return NULL;
	for (int i = 0; i < 2; i++) {
		double zero;
		if (!uniform_number(constant_data(behind_dims(n->in[1 - i])), &zero) || zero != 0 ||
		    !same_type(cx, &n->in[i]->type, &n->out[0]->type))
			continue;
		become(cx, n, ONNX_Relu, n->in[i]);
		break;
	}
	return NULL;
}
