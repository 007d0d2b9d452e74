/*
 * select.c: Switch, and what may be -0. In: a condition and two values. Out: exactly the one or the
 * other, on ONNX Runtime too. Its Where selects each side with +0 for the rest and then merges the
 * two by "what is not zero wins", so a -0 of the side that is asked first becomes +0. That is the
 * first one, or the second where condition and second value are one element along the innermost
 * axis and the first is not (measured for all ways in which three shapes broadcast).
 * Must hold: sign_of_results() saw every node that was appended.
 */
#include <math.h>
#include <string.h>

#include "lower/build.h"
#include "lower/lower.h"

/* Constants up to this many elements are looked at. */
#define SCAN_LIMIT 65536

/* How the sign of a result follows from those of the inputs. */
enum sign_rule {
	RULE_POSITIVE,   /* the sign bit is never set, NaN apart */
	RULE_NO_ZERO,    /* never -0 */
	RULE_FIRST,      /* as the first input */
	RULE_FIRST_ONLY, /* positive if the first input is */
	RULE_ALL,        /* what holds for all inputs */
	RULE_BRANCHES,   /* what holds for all inputs but the first */
	RULE_PRODUCT,    /* positive if all inputs are */
};

static const struct {
	enum onnx_id op;
	enum sign_rule rule;
} rules[] = {
	{ONNX_Abs, RULE_POSITIVE},
	{ONNX_Exp, RULE_POSITIVE},
	{ONNX_Sigmoid, RULE_POSITIVE},
	{ONNX_Softplus, RULE_POSITIVE},
	{ONNX_Softmax, RULE_POSITIVE},
	{ONNX_ReduceL1, RULE_POSITIVE},
	{ONNX_ReduceL2, RULE_POSITIVE},
	{ONNX_ReduceSumSquare, RULE_POSITIVE},
	{ONNX_Log, RULE_NO_ZERO},
	{ONNX_Cos, RULE_NO_ZERO},
	{ONNX_Identity, RULE_FIRST},
	{ONNX_Reshape, RULE_FIRST},
	{ONNX_Transpose, RULE_FIRST},
	{ONNX_Squeeze, RULE_FIRST},
	{ONNX_Unsqueeze, RULE_FIRST},
	{ONNX_Slice, RULE_FIRST},
	{ONNX_Gather, RULE_FIRST},
	{ONNX_GatherND, RULE_FIRST},
	{ONNX_Expand, RULE_FIRST},
	{ONNX_GatherElements, RULE_FIRST},
	{ONNX_Tile, RULE_FIRST},
	{ONNX_Split, RULE_FIRST},
	{ONNX_Compress, RULE_FIRST},
	{ONNX_Trilu, RULE_FIRST},
	{ONNX_Sqrt, RULE_FIRST},
	{ONNX_Sign, RULE_FIRST},
	{ONNX_Floor, RULE_FIRST},
	{ONNX_Tanh, RULE_FIRST},
	{ONNX_ReduceSum, RULE_FIRST},
	{ONNX_ReduceMax, RULE_FIRST},
	{ONNX_ReduceMin, RULE_FIRST},
	{ONNX_CumSum, RULE_FIRST},
	{ONNX_Ceil, RULE_FIRST_ONLY},
	{ONNX_Round, RULE_FIRST_ONLY},
	{ONNX_Pow, RULE_FIRST_ONLY},
	{ONNX_Reciprocal, RULE_FIRST_ONLY},
	{ONNX_Cast, RULE_FIRST_ONLY},
	{ONNX_ReduceMean, RULE_FIRST_ONLY},
	{ONNX_ReduceProd, RULE_FIRST_ONLY},
	{ONNX_Concat, RULE_ALL},
	{ONNX_Max, RULE_ALL},
	{ONNX_Min, RULE_ALL},
	{ONNX_Where, RULE_BRANCHES},
	{ONNX_Mul, RULE_PRODUCT},
	{ONNX_Div, RULE_PRODUCT},
	{ONNX_MatMul, RULE_PRODUCT},
	{ONNX_Gemm, RULE_PRODUCT},
};

static uint8_t sign_of_constant(const struct tensor *t)
{
	uint64_t n = t->splat && t->count ? 1 : t->count;
	uint8_t sign = SIGN_POSITIVE;

	if (n > SCAN_LIMIT)
		return SIGN_ANY;
	for (uint64_t i = 0; i < n; i++) {
		double x = tensor_float(t, i);
		if (!signbit(x) || isnan(x))
			continue;
		if (x == 0)
			return SIGN_ANY;
		sign = SIGN_NO_ZERO;
	}
	return sign;
}

static uint8_t sign_of(const struct value *v)
{
	enum dtype t = (enum dtype)v->type.dtype;

	if (t == DT_BOOL || dtypes[t].kind == KIND_UINT)
		return SIGN_POSITIVE;
	if (!is_float(t))
		return SIGN_NO_ZERO;
	return v->data ? sign_of_constant(v->data) : v->sign;
}

bool may_be_minus_zero(struct build *b, const struct value *v)
{
	return b->cx->opt.signed_zeros && is_float((enum dtype)v->type.dtype) &&
	       !(sign_of(v) & SIGN_NO_ZERO);
}

static uint8_t sign_of_inputs(const struct node *n, uint32_t first, uint32_t end)
{
	uint8_t sign = SIGN_POSITIVE;

	for (uint32_t i = first; i < end; i++)
		if (n->in[i])
			sign &= sign_of(n->in[i]);
	return sign;
}

static uint8_t positive(uint8_t sign)
{
	return sign == SIGN_POSITIVE ? SIGN_POSITIVE : SIGN_ANY;
}

/* Sums are -0 only where all terms are; x - y only where x is -0. */
static uint8_t sign_of_sum(const struct node *n, bool minus)
{
	uint8_t x = sign_of(n->in[0]), y = sign_of(n->in[1]);

	if (minus)
		return x & SIGN_NO_ZERO;
	return (x & y) == SIGN_POSITIVE ? SIGN_POSITIVE : (x | y) & SIGN_NO_ZERO;
}

static uint8_t sign_of_node(const struct node *n)
{
	enum onnx_id op = n->onnx->id;

	if (n->onnx->domain[0] || !n->nin || !n->in[0])
		return SIGN_ANY;
	if (op == ONNX_Add || op == ONNX_Sub)
		return sign_of_sum(n, op == ONNX_Sub);
	if (op == ONNX_Mul && n->in[0] == n->in[1])
		return SIGN_POSITIVE;
	if (op == ONNX_Gemm && n->nattrs) /* its factors may be negative */
		return SIGN_ANY;
	if (op == ONNX_Cast &&
	    (!is_float((enum dtype)n->in[0]->type.dtype) ||
	     dtypes[n->out[0]->type.dtype].size >= dtypes[n->in[0]->type.dtype].size))
		return sign_of(n->in[0]);
	for (size_t i = 0; i < countof(rules); i++) {
		if (op != rules[i].op)
			continue;
		switch (rules[i].rule) {
		case RULE_POSITIVE:
			return SIGN_POSITIVE;
		case RULE_NO_ZERO:
			return SIGN_NO_ZERO;
		case RULE_FIRST:
			return sign_of(n->in[0]);
		case RULE_FIRST_ONLY:
			return positive(sign_of(n->in[0]));
		case RULE_ALL:
			return sign_of_inputs(n, 0, n->nin);
		case RULE_BRANCHES:
			return sign_of_inputs(n, 1, n->nin);
		case RULE_PRODUCT:
			return positive(sign_of_inputs(n, 0, n->nin));
		}
	}
	return SIGN_ANY;
}

void sign_of_results(struct node *n)
{
	if (!n->nout || !is_float((enum dtype)n->out[0]->type.dtype))
		return;
	uint8_t sign = sign_of_node(n);
	for (uint32_t i = 0; i < n->nout; i++)
		n->out[i]->sign = sign;
}

/* The length of v's axis number i from behind; 1 where it has none. -1: not known */
static int64_t behind(struct build *b, const struct value *v, uint32_t i)
{
	int64_t k;

	if (i >= v->type.rank)
		return 1;
	return dim_is_const(b->cx, v->type.dims[v->type.rank - 1u - i], &k) ? k : -1;
}

/* Does c say that x is not 0 where it is taken, as in x > 0 ? x : 0.1 * x? */
static bool is_nonzero_where(const struct value *c, bool holds, const struct value *x)
{
	const struct node *n = c->def;

	if (!n || n->nin != 2)
		return false;
	bool mirrored = n->in[0]->data != NULL;
	const struct value *v = n->in[mirrored], *k = n->in[!mirrored];
	if (v != x && !(is_onnx(x->def, ONNX_Neg) && x->def->in[0] == v))
		return false;
	if (!k->data || k->data->count != 1 || !is_float((enum dtype)k->type.dtype))
		return false;
	double edge = tensor_float(k->data, 0);
	if (is_onnx(c->def, ONNX_Equal))
		return holds ? edge != 0 : edge == 0;
	if (!holds)
		return false;
	if (is_onnx(c->def, ONNX_GreaterOrEqual) || is_onnx(c->def, ONNX_LessOrEqual))
		return mirrored == is_onnx(c->def, ONNX_GreaterOrEqual) ? edge < 0 : edge > 0;
	if (is_onnx(c->def, ONNX_Greater) || is_onnx(c->def, ONNX_Less))
		return mirrored == is_onnx(c->def, ONNX_Greater) ? edge <= 0 : edge >= 0;
	return false;
}

/* Can x be -0 where c holds, or does not hold? */
static bool is_minus_zero_where(const struct value *c, bool holds, const struct value *x)
{
	return !(sign_of(x) & SIGN_NO_ZERO) && !is_nonzero_where(c, holds, x);
}

/* Can Where(c, x, y) take a zero with the wrong sign? */
static bool loses_sign(struct build *b, struct value *c, bool holds, struct value *x,
		       struct value *y)
{
	bool may[2] = {is_minus_zero_where(c, holds, x), is_minus_zero_where(c, !holds, y)};

	if (!is_float((enum dtype)x->type.dtype) || !(may[0] || may[1]))
		return false;
	for (uint32_t i = 0; i < c->type.rank || i < x->type.rank || i < y->type.rank; i++) {
		int64_t nc = behind(b, c, i), nx = behind(b, x, i), ny = behind(b, y, i);
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
static struct value *opposite(struct build *b, struct value *c)
{
	return emit_(b, ONNX_Equal, c, const_int_of(b, DT_BOOL, 0));
}

/* Is v one bool, on no more axes than c? *is: which */
static bool one_bool(const struct value *v, const struct value *c, int64_t *is)
{
	return v->type.dtype == DT_BOOL && v->data && v->data->count == 1 &&
	       v->type.rank <= c->type.rank && tensor_int(v->data, 0, is);
}

static struct value *negated(struct build *b, struct value *c)
{
	return is_onnx(c->def, ONNX_Not) ? c->def->in[0] : emit_(b, ONNX_Not, c);
}

/* x where c holds, else y: the sign of a zero included */
struct value *where(struct build *b, struct value *c, struct value *x, struct value *y)
{
	int64_t is;

	if (one_bool(y, c, &is))
		return is ? emit_(b, ONNX_Or, negated(b, c), x) : emit_(b, ONNX_And, c, x);
	if (one_bool(x, c, &is))
		return is ? emit_(b, ONNX_Or, c, y) : emit_(b, ONNX_And, negated(b, c), y);
	if (b->target != PTGC_ORT_CPU || !b->cx->opt.signed_zeros ||
	    !is_float((enum dtype)x->type.dtype))
		return emit_(b, ONNX_Where, c, x, y);
	while (is_onnx(c->def, ONNX_Not)) {
		struct value *t = x;
		c = c->def->in[0];
		x = y;
		y = t;
	}
	if (!loses_sign(b, c, true, x, y))
		return emit_(b, ONNX_Where, c, x, y);
	struct value *other = opposite(b, c);
	if (!loses_sign(b, c, false, y, x))
		return emit_(b, ONNX_Where, other, y, x);
	struct value *one = const_int_of(b, (enum dtype)x->type.dtype, 1);
	struct value *r = emit_(b, ONNX_Mul, emit_(b, ONNX_Where, other, one, x),
				emit_(b, ONNX_Where, c, one, y));
	if (r->def)
		r->sign = sign_of(x) & sign_of(y);
	return r;
}

bool lower_switch(struct build *b, struct node *n)
{
	struct value *c = cast(b, low(b, n->in[0]), DT_BOOL);

	lowered(b, n, 0, where(b, c, low(b, n->in[1]), low(b, n->in[2])));
	return true;
}
