/*
 * infer_sign.c: the rules for signs of facts.def: can an element of a float result be -0, or have
 * its sign bit set? In: a node whose inputs have signs. Out: enum sign. NaN does not count.
 */
#include <math.h>

#include "onnx/internal.h"

#define SCAN_LIMIT 65536 /* elements of a constant that are looked at */

static uint8_t sign_of_constant(const struct tensor *t)
{
	uint64_t n = stored_elements(t);
	uint8_t sign = SIGN_NON_NEGATIVE;

	if (n > SCAN_LIMIT)
		return SIGN_ANY;
	for (uint64_t i = 0; i < n; i++) {
		double x = tensor_float(t, i);
		if (!signbit(x) || isnan(x))
			continue;
		if (x == 0)
			return SIGN_ANY;
		sign = SIGN_NO_NEGATIVE_ZERO;
	}
	return sign;
}

uint8_t sign_of(const struct value *v)
{
	enum dtype t = (enum dtype)v->type.dtype;

	if (t == DT_BOOL || dtypes[t].kind == KIND_UINT)
		return SIGN_NON_NEGATIVE;
	if (!is_float(t))
		return SIGN_NO_NEGATIVE_ZERO;
	return v->data ? sign_of_constant(v->data) : v->sign;
}

static uint8_t sign_of_inputs(const struct node *n, uint32_t first)
{
	uint8_t sign = SIGN_NON_NEGATIVE;

	for (uint32_t i = first; i < n->nin; i++)
		if (n->in[i])
			sign &= sign_of(n->in[i]);
	return sign;
}

static uint8_t if_positive(uint8_t sign)
{
	return sign == SIGN_NON_NEGATIVE ? SIGN_NON_NEGATIVE : SIGN_ANY;
}

uint8_t sign_any(const struct node *n)
{
	(void)n;
	return SIGN_ANY;
}

/* Abs, Exp: never negative, nor -0 */
uint8_t sign_positive(const struct node *n)
{
	(void)n;
	return SIGN_NON_NEGATIVE;
}

/* Cos: never -0 */
uint8_t sign_no_negative_zero(const struct node *n)
{
	(void)n;
	return SIGN_NO_NEGATIVE_ZERO;
}

uint8_t sign_first(const struct node *n)
{
	return sign_of(n->in[0]);
}

/* Ceil: positive if the first input is; Ceil(-0.5) is -0 */
uint8_t sign_first_only(const struct node *n)
{
	return if_positive(sign_of(n->in[0]));
}

/* Concat: what holds for all inputs */
uint8_t sign_all(const struct node *n)
{
	return sign_of_inputs(n, 0);
}

/* Where: what holds for all inputs but the condition */
uint8_t sign_branches(const struct node *n)
{
	return sign_of_inputs(n, 1);
}

uint8_t sign_product(const struct node *n)
{
	return if_positive(sign_of_inputs(n, 0));
}

uint8_t sign_mul(const struct node *n)
{
	return n->in[0] == n->in[1] ? SIGN_NON_NEGATIVE : sign_product(n);
}

uint8_t sign_gemm(const struct node *n)
{
	return n->nattrs ? SIGN_ANY : sign_product(n); /* alpha and beta may be negative */
}

/* A sum is -0 only if all terms are -0. */
uint8_t sign_sum(const struct node *n)
{
	uint8_t x = sign_of(n->in[0]), y = sign_of(n->in[1]);

	return (x & y) == SIGN_NON_NEGATIVE ? SIGN_NON_NEGATIVE : (x | y) & SIGN_NO_NEGATIVE_ZERO;
}

/* Is no element less than 1? That is a number, or a number and what is not negative. */
static bool is_one_at_least(const struct value *v)
{
	double k;

	if (v->data)
		return uniform_number(constant_data(v), &k) && k >= 1;
	if (!v->def || !is_onnx(v->def, ONNX_Add))
		return false;
	for (uint32_t i = 0; i < 2; i++)
		if (v->def->in[i]->data && is_one_at_least(v->def->in[i]) &&
		    sign_of(v->def->in[1 - i]) == SIGN_NON_NEGATIVE)
			return true;
	return false;
}

bool is_at_most_one(const struct value *v)
{
	const struct node *n = v->def, *sum;
	double k;

	if (is_onnx(n, ONNX_Sigmoid) || is_onnx(n, ONNX_Tanh))
		return v->type.dtype != DT_FLOAT32;
	if (is_onnx(n, ONNX_Softmax))
		return true;
	if (is_onnx(n, ONNX_Reciprocal))
		return is_one_at_least(n->in[0]);
	if (is_onnx(n, ONNX_Sub))
		return uniform_number(constant_data(n->in[0]), &k) && k <= 1 &&
		       sign_of(n->in[1]) == SIGN_NON_NEGATIVE;
	sum = is_onnx(n, ONNX_Div) ? n->in[1]->def : NULL;
	return is_onnx(sum, ONNX_Add) && (n->in[0] == sum->in[0] || n->in[0] == sum->in[1]) &&
	       sign_of_inputs(sum, 0) == SIGN_NON_NEGATIVE;
}

/* x - y is -0 only if x is -0. 1 - y is not negative if y is at most 1, as a sigmoid is. */
uint8_t sign_difference(const struct node *n)
{
	const struct value *x = n->in[0], *y = n->in[1];

	if (is_float((enum dtype)x->type.dtype) && x->data && is_one_at_least(x) &&
	    is_at_most_one(y))
		return SIGN_NON_NEGATIVE;
	return sign_of(x) & SIGN_NO_NEGATIVE_ZERO;
}

/* A cast to a narrower float rounds a small negative number to -0. */
uint8_t sign_cast(const struct node *n)
{
	enum dtype from = (enum dtype)n->in[0]->type.dtype, to = (enum dtype)n->out[0]->type.dtype;

	return !is_float(from) || dtypes[to].size >= dtypes[from].size ? sign_first(n)
								       : sign_first_only(n);
}
