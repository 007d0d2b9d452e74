/*
 * where.c: Where, and the sign of a zero. ONNX Runtime's Where selects each side with +0 for the
 * rest and then merges the two by "what is not zero wins", so a -0 of the side that is asked first
 * becomes +0. That is the first one, or the second where condition and second value are one element
 * along the innermost axis and the first is not (measured for all ways in which three shapes
 * broadcast). The innermost axis is the last one that is not 1 for all three. It is looked for
 * among the axes that both sides have; a side without axes counts as one with an axis of length 1.
 * In: a Where for which the sign of a zero counts. Out: the same, as the runtime keeps it.
 */
#include "lower/build.h"
#include "ort/ort.h"

/* Does c say that x is not 0 where it is taken, as in x > 0 ? x : 0.1 * x? */
static bool is_nonzero_where(const struct value *c, bool holds, const struct value *x)
{
	const struct node *n = c->def;

	if (!n || n->nin != 2)
		return false;
	bool mirrored = n->in[0]->data != NULL;
	const struct value *v = n->in[mirrored], *k = n->in[!mirrored];
	if (v != x && !(computes(x->def, ONNX_Neg) && x->def->in[0] == v))
		return false;
	double edge;
	if (!is_float((enum dtype)k->type.dtype) || !single_number(k->data, &edge))
		return false;
	if (computes(c->def, ONNX_Equal))
		return holds ? edge != 0 : edge == 0;
	if (!holds)
		return false;
	if (computes(c->def, ONNX_GreaterOrEqual) || computes(c->def, ONNX_LessOrEqual))
		return mirrored == computes(c->def, ONNX_GreaterOrEqual) ? edge < 0 : edge > 0;
	if (computes(c->def, ONNX_Greater) || computes(c->def, ONNX_Less))
		return mirrored == computes(c->def, ONNX_Greater) ? edge <= 0 : edge >= 0;
	return false;
}

/* Can x be -0 where c holds, or does not hold? */
static bool is_minus_zero_where(const struct value *c, bool holds, const struct value *x)
{
	return !(sign_of(x) & SIGN_NO_NEGATIVE_ZERO) && !is_nonzero_where(c, holds, x);
}

/* Can Where(c, x, y) take a zero with the wrong sign? */
static bool loses_sign(struct ctx *cx, const struct value *c, bool holds, const struct value *x,
		       const struct value *y)
{
	bool may[2] = {is_minus_zero_where(c, holds, x), is_minus_zero_where(c, !holds, y)};

	if (!is_float((enum dtype)x->type.dtype) || !(may[0] || may[1]))
		return false;
	uint32_t nfirst = c->type.rank > x->type.rank ? c->type.rank : x->type.rank;
	uint32_t nsecond = c->type.rank > y->type.rank ? c->type.rank : y->type.rank;
	uint32_t shared = nfirst < nsecond ? nfirst : nsecond;
	for (uint32_t i = 0; i < (shared ? shared : 1); i++) {
		int64_t nc = length_behind(cx, c, i), nx = length_behind(cx, x, i),
			ny = length_behind(cx, y, i);
		bool second = nc == 1 && ny == 1 && nx != 1;
		if (nc == 1 && nx == 1 && ny == 1)
			continue;
		if (may[second])
			return true;
		if (nc > 1 || nx > 1 || ny > 1)
			return false; /* this axis decides */
	}
	return may[0];
}

/* ONNX Runtime makes Where(c, y, x) of Where(Not(c), x, y); it leaves this alone. */
static struct value *opposite_that_stays(struct build *b, struct value *c)
{
	return emit_(b, ONNX_Equal, c, const_int_of(b, DT_BOOL, 0));
}

bool where_is_right(struct ctx *cx, const struct node *n)
{
	return !is_onnx(n, ONNX_Where) || !n->zero_sign_counts || !cx->opt.signed_zeros ||
	       !is_float((enum dtype)n->out[0]->type.dtype) ||
	       !(computes(n->in[0]->def, ONNX_Not) ||
		 loses_sign(cx, n->in[0], true, n->in[1], n->in[2]));
}

struct value *where_with_signs(struct build *b, const struct node *n)
{
	struct value *c = n->in[0], *x = n->in[1], *y = n->in[2];

	while (computes(c->def, ONNX_Not)) {
		struct value *t = x;
		c = c->def->in[0];
		x = y;
		y = t;
	}
	if (!loses_sign(b->cx, c, true, x, y))
		return emit_(b, ONNX_Where, c, x, y);
	struct value *other = opposite_that_stays(b, c);
	if (!loses_sign(b->cx, c, false, y, x))
		return emit_(b, ONNX_Where, other, y, x);
	struct value *one = const_int_of(b, (enum dtype)x->type.dtype, 1);
	struct value *or_x = emit_(b, ONNX_Where, other, one, x);
	struct value *r = emit_(b, ONNX_Mul, or_x, emit_(b, ONNX_Where, c, one, y));
	r->sign = sign_of(x) & sign_of(y);
	return r;
}
