/*
 * select.c: a choice between two values, and which values may be -0. In: a condition and two
 * values. Out: a Where, or what is shorter for bools; the node says that the sign of a zero counts.
 */
#include "lower/build.h"

bool minus_zero_counts(struct build *b, const struct value *v)
{
	return b->cx->opt.signed_zeros && is_float((enum dtype)v->type.dtype) &&
	       !(sign_of(v) & SIGN_NO_NEGATIVE_ZERO);
}

/* Is v one bool, on no more axes than c? *is: which */
static bool one_bool(const struct value *v, const struct value *c, int64_t *is)
{
	return v->type.dtype == DT_BOOL && v->type.rank <= c->type.rank &&
	       single_int(constant_data(v), is);
}

struct value *opposite(struct build *b, struct value *c)
{
	return is_onnx(c->def, ONNX_Not) ? c->def->in[0] : emit_(b, ONNX_Not, c);
}

/* x where c holds, else y: the sign of a zero included */
struct value *where(struct build *b, struct value *c, struct value *x, struct value *y)
{
	int64_t is;

	if (one_bool(y, c, &is))
		return is ? emit_(b, ONNX_Or, opposite(b, c), x) : emit_(b, ONNX_And, c, x);
	if (one_bool(x, c, &is))
		return is ? emit_(b, ONNX_Or, c, y) : emit_(b, ONNX_And, opposite(b, c), y);
	b->zero_sign_counts = true;
	struct value *r = emit_(b, ONNX_Where, c, x, y);
	b->zero_sign_counts = false;
	return r;
}
