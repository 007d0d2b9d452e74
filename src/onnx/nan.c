/*
 * nan.c: what NaN does to a graph. In: ONNX values. Out: which conditions are false for NaN alone,
 * and which values are NaN if another one is. A guard like Where(s >= 0, f(s), -inf) of a scale
 * s = Exp(x) is one.
 */
#include <math.h>

#include "onnx/internal.h"

#define MAX_SEEN 64 /* values that are looked at */

bool constant_float(const struct value *v, double *k)
{
	return is_float((enum dtype)v->type.dtype) && single_number(constant_data(v), k);
}

/* The value that n, which has one number among two inputs, has besides; *at: which input it is */
static const struct value *beside_number(const struct node *n, uint32_t *at, double *k)
{
	for (*at = 0; n->nin == 2 && *at < 2; ++*at)
		if (constant_float(n->in[1 - *at], k))
			return n->in[*at];
	return NULL;
}

static bool is_never_negative(const struct value *v)
{
	return is_float((enum dtype)v->type.dtype) && sign_of(v) == SIGN_NON_NEGATIVE;
}

const struct value *only_false_for_nan(const struct value *cond)
{
	const struct node *n = cond->def;
	uint32_t at;
	double k;

	if (!n)
		return NULL;
	const struct value *v = beside_number(n, &at, &k);
	if (!v)
		return NULL;
	bool least = is_onnx(n, at ? ONNX_LessOrEqual : ONNX_GreaterOrEqual);
	bool most = is_onnx(n, at ? ONNX_GreaterOrEqual : ONNX_LessOrEqual);
	if (isinf(k))
		return (k < 0 ? least : most) ? v : NULL;
	return (least && k <= 0 && is_never_negative(v)) || (most && k >= 1 && is_at_most_one(v))
		       ? v
		       : NULL;
}

const struct value *nan_source(const struct value *v)
{
	for (int steps = 0; steps < MAX_SEEN && v->def; steps++) {
		const struct node *n = v->def;
		const struct value *x, *e;
		uint32_t at;
		double k;
		if (is_onnx(n, ONNX_Exp) || is_onnx(n, ONNX_Neg) || is_onnx(n, ONNX_Abs) ||
		    is_onnx(n, ONNX_Sigmoid) || is_onnx(n, ONNX_Unsqueeze) ||
		    is_onnx(n, ONNX_Squeeze) || is_onnx(n, ONNX_Reciprocal) ||
		    (is_onnx(n, ONNX_Mul) && n->in[0] == n->in[1])) {
			v = n->in[0];
			continue;
		}
		/* with a finite number, not 0 */
		x = beside_number(n, &at, &k);
		if (x && isfinite(k) && k != 0 &&
		    (is_onnx(n, ONNX_Add) || is_onnx(n, ONNX_Sub) || is_onnx(n, ONNX_Mul) ||
		     is_onnx(n, ONNX_Div) || is_onnx(n, ONNX_Min) || is_onnx(n, ONNX_Max))) {
			v = x;
			continue;
		}
		/* e / (e + 1) of an e = Exp(Min(x, 50)), which is not infinite */
		e = is_onnx(n, ONNX_Div) ? n->in[0] : NULL;
		if (!e || !is_onnx(e->def, ONNX_Exp) || !is_onnx(n->in[1]->def, ONNX_Add))
			return v;
		x = beside_number(n->in[1]->def, &at, &k);
		if (x != e || !(k > 0 && isfinite(k)) || !is_onnx(e->def->in[0]->def, ONNX_Min))
			return v;
		x = beside_number(e->def->in[0]->def, &at, &k);
		if (!x || k > 80)
			return v;
		v = x;
	}
	return v;
}

#define SCAN_LIMIT 65536 /* elements of a constant that are looked at */

static bool may_hold_nan(const struct tensor *t)
{
	uint64_t n = stored_elements(t);

	for (uint64_t i = 0; i < n && i < SCAN_LIMIT; i++)
		if (isnan(tensor_float(t, i)))
			return true;
	return n > SCAN_LIMIT;
}

/* The first of n's inputs, and how many from it on, whose elements the result has, or functions of
 * them that are NaN for NaN alone; 0: there are none. */
static uint32_t elements_from(const struct node *n, uint32_t *first)
{
	static const enum onnx_id ids[] = {
		ONNX_Abs, ONNX_Neg,  ONNX_Ceil,    ONNX_Floor, ONNX_Round, ONNX_Sign, ONNX_Relu,
		ONNX_Exp, ONNX_Tanh, ONNX_Sigmoid, ONNX_Atan,  ONNX_Erf,   ONNX_Cast};

	*first = is_onnx(n, ONNX_Where);
	if (*first)
		return 2;
	if (is_onnx(n, ONNX_Max) || is_onnx(n, ONNX_Min) || is_onnx(n, ONNX_Concat))
		return n->nin;
	if (onnx_facts[operator_of(n)].moves)
		return 1;
	for (size_t i = 0; i < countof(ids); i++)
		if (is_onnx(n, ids[i]))
			return 1;
	return is_onnx(n, ONNX_Sqrt) && is_never_negative(n->in[0]);
}

bool never_nan(const struct value *v)
{
	const struct value *todo[MAX_SEEN] = {v};
	uint32_t n = 1, seen = 0, first;

	while (n) {
		v = todo[--n];
		if (!is_float((enum dtype)v->type.dtype))
			continue;
		if (v->data && may_hold_nan(v->data))
			return false;
		if (v->data)
			continue;
		uint32_t from = v->def ? elements_from(v->def, &first) : 0;
		if (!from || ++seen == MAX_SEEN || n + from > MAX_SEEN)
			return false;
		for (uint32_t i = 0; i < from; i++)
			todo[n++] = v->def->in[first + i];
	}
	return true;
}

/* Is an element of n's result NaN where one of its inputs is? */
static bool passes_nan(const struct node *n)
{
	static const enum onnx_id ids[] = {ONNX_Add,  ONNX_Sub,       ONNX_Mul,     ONNX_Div,
					   ONNX_Neg,  ONNX_Exp,       ONNX_Log,     ONNX_Sqrt,
					   ONNX_Abs,  ONNX_Unsqueeze, ONNX_Squeeze, ONNX_Reciprocal,
					   ONNX_Tanh, ONNX_Sigmoid,   ONNX_Identity};

	for (size_t i = 0; i < countof(ids); i++)
		if (is_onnx(n, ids[i]))
			return true;
	return false;
}

bool is_nan_if(struct ctx *cx, const struct value *v, const struct value *source, bool aligned)
{
	const struct value *todo[MAX_SEEN] = {v};
	uint32_t n = 1, seen = 0;

	while (n && seen++ < MAX_SEEN) {
		v = todo[--n];
		if (v == source)
			return true;
		if (!v->def || !passes_nan(v->def) ||
		    (aligned && !same_long_dims(cx, v->type, source->type)))
			continue;
		uint32_t nin = v->def->nin > 2 || is_onnx(v->def, ONNX_Unsqueeze) ||
					       is_onnx(v->def, ONNX_Squeeze)
				       ? 1
				       : v->def->nin;
		for (uint32_t i = 0; i < nin && n < countof(todo); i++)
			todo[n++] = v->def->in[i];
	}
	return false;
}
