/*
 * literals.c: arithmetic of literals and sizes, at compile time. In: what the operands are there.
 * Out: the same of the result, as Python and NumPy compute it; CV_NONE: it is not known.
 */
#include <math.h>
#include <string.h>

#include "elab/internal.h"

/* clang-format off */
const struct operator operators[] = {
#define OPERATOR(id, text, op, onnx, bits) [OPR_##id] = {text, op, onnx, bits},
#include "syntax/operators.def"
};
/* clang-format on */

struct cv too_large(struct elab *e, struct span s)
{
	elab_error(e, s, E_LITERAL, "the number does not fit 64 bits");
	return poison(s);
}

struct cv from_wide(struct elab *e, __int128 v, struct span s)
{
	bool neg = v < 0;
	unsigned __int128 m = neg ? -(unsigned __int128)v : (unsigned __int128)v;

	if (m > UINT64_MAX || (neg && m > (uint64_t)INT64_MAX + 1))
		return too_large(e, s);
	return (struct cv){.kind = CV_INT, .neg = neg, .span = s, .u.i = (uint64_t)m};
}

static struct cv division_by_zero(struct elab *e, struct span s)
{
	elab_error(e, s, E_LITERAL, "division by zero");
	return poison(s);
}

static struct cv int_power(struct elab *e, const struct cv *a, const struct cv *b, struct span s)
{
	__int128 base = a->neg ? -(__int128)a->u.i : (__int128)a->u.i, r = 1;

	if (b->neg)
		return a->u.i ? cv_float(portable_pow(cv_number(a), cv_number(b)), s)
			      : division_by_zero(e, s);
	if (a->u.i < 2) {
		bool odd = b->u.i & 1;
		return cv_int(!b->u.i ? 1 : !a->u.i ? 0 : a->neg && odd ? -1 : 1, s);
	}
	for (uint64_t i = 0; i < b->u.i; i++) {
		if ((r < 0 ? -r : r) > (__int128)(UINT64_MAX / a->u.i)) /* 64 bits overflow */
			return too_large(e, s);
		r *= base;
	}
	return from_wide(e, r, s);
}

static struct cv int_binary(struct elab *e, enum opr op, const struct cv *a, const struct cv *b,
			    struct span s)
{
	__int128 x = a->neg ? -(__int128)a->u.i : (__int128)a->u.i;
	__int128 y = b->neg ? -(__int128)b->u.i : (__int128)b->u.i;
	__int128 q;

	switch (op) {
	case OPR_ADD:
		return from_wide(e, x + y, s);
	case OPR_SUB:
		return from_wide(e, x - y, s);
	case OPR_MUL: /* a product beyond 64 bits may not fit 128 signed bits */
		if (a->u.i && b->u.i > UINT64_MAX / a->u.i)
			return too_large(e, s);
		return from_wide(e, x * y, s);
	case OPR_INTDIV:
	case OPR_MOD:
		if (!y)
			return division_by_zero(e, s);
		q = x / y;
		if (x % y && (x < 0) != (y < 0))
			q--;
		return from_wide(e, op == OPR_INTDIV ? q : x - q * y, s);
	case OPR_POW:
		return int_power(e, a, b, s);
	case OPR_EQ:
		return cv_bool(x == y, s);
	case OPR_NE:
		return cv_bool(x != y, s);
	case OPR_LT:
		return cv_bool(x < y, s);
	case OPR_LE:
		return cv_bool(x <= y, s);
	case OPR_GT:
		return cv_bool(x > y, s);
	case OPR_GE:
		return cv_bool(x >= y, s);
	case OPR_AND:
		return from_wide(e, x & y, s);
	case OPR_OR:
		return from_wide(e, x | y, s);
	case OPR_XOR:
		return from_wide(e, x ^ y, s);
	default:
		return (struct cv){.kind = CV_NONE};
	}
}

/* As Python and NumPy: the remainder has the sign of y, also where it is 0. */
static double float_mod(double x, double y)
{
	double r = fmod(x, y);

	return r == 0 ? copysign(0, y) : (r < 0) != (y < 0) ? r + y : r;
}

static double float_floordiv(double x, double y)
{
	double r = fmod(x, y), q = (x - r) / y;

	q = nearbyint(r != 0 && (r < 0) != (y < 0) ? q - 1 : q);
	return q == 0 ? copysign(0, x / y) : q;
}

static struct cv float_binary(struct elab *e, enum opr op, double x, double y, struct span s)
{
	switch (op) {
	case OPR_ADD:
		return cv_float(x + y, s);
	case OPR_SUB:
		return cv_float(x - y, s);
	case OPR_MUL:
		return cv_float(x * y, s);
	case OPR_DIV:
		if (y == 0)
			return division_by_zero(e, s);
		return cv_float(x / y, s);
	case OPR_INTDIV:
	case OPR_MOD:
		if (y == 0)
			return division_by_zero(e, s);
		return cv_float(op == OPR_MOD ? float_mod(x, y) : float_floordiv(x, y), s);
	case OPR_POW:
		if (x == 0 && y < 0)
			return division_by_zero(e, s);
		return cv_float(portable_pow(x, y), s);
	case OPR_EQ:
		return cv_bool(x == y, s);
	case OPR_NE:
		return cv_bool(x != y, s);
	case OPR_LT:
		return cv_bool(x < y, s);
	case OPR_LE:
		return cv_bool(x <= y, s);
	case OPR_GT:
		return cv_bool(x > y, s);
	case OPR_GE:
		return cv_bool(x >= y, s);
	default:
		return (struct cv){.kind = CV_NONE};
	}
}

static bool is_dimlike(const struct cv *v)
{
	return v->kind == CV_DIM || (v->kind == CV_INT && v->u.i <= INT64_MAX);
}

/* CV_NONE: it is not known at compile time, or no int64 */
static struct cv dim_power(struct elab *e, dim a, dim b, struct span s)
{
	int64_t base, n, power = 1;

	if (!dim_is_const(e->cx, a, &base) || !dim_is_const(e->cx, b, &n) || n < 0 || n > 63)
		return (struct cv){.kind = CV_NONE};
	for (; n; n--)
		if (__builtin_mul_overflow(power, base, &power))
			return (struct cv){.kind = CV_NONE};
	return cv_dim(dim_const(e->cx, power), s);
}

/* CV_NONE: not known at compile time */
static struct cv dim_binary(struct elab *e, enum opr op, const struct cv *x, const struct cv *y,
			    struct span s)
{
	struct ctx *cx = e->cx;
	const struct cv undecided = {.kind = CV_NONE};
	int64_t k;
	dim a, b;

	cv_as_dim(e, x, &a);
	cv_as_dim(e, y, &b);
	switch (op) {
	case OPR_ADD:
		return cv_dim(dim_add(cx, a, b), s);
	case OPR_SUB:
		return cv_dim(dim_sub(cx, a, b), s);
	case OPR_MUL:
		return cv_dim(dim_mul(cx, a, b), s);
	case OPR_INTDIV:
	case OPR_MOD:
		if (e->in_dim && dim_is(cx, b, 0)) {
			elab_error(e, s, E_EXPRESSION, "a size cannot be divided by 0");
			return poison(s);
		}
		if (!dim_is_const(cx, b, &k) || k <= 0)
			return undecided;
		return cv_dim(op == OPR_MOD ? dim_mod(cx, a, b) : dim_floordiv(cx, a, b), s);
	case OPR_POW:
		return dim_power(e, a, b, s);
	case OPR_EQ:
	case OPR_NE:
		if (dim_eq(cx, a, b))
			return cv_bool(op == OPR_EQ, s);
		return dim_ne(cx, a, b) ? cv_bool(op == OPR_NE, s) : undecided;
	case OPR_LT: /* a < b is not a >= b */
	case OPR_GE: {
		dim d = dim_sub(cx, a, b);
		if (dim_ge(cx, d, 0))
			return cv_bool(op == OPR_GE, s);
		return dim_le(cx, d, -1) ? cv_bool(op == OPR_LT, s) : undecided;
	}
	case OPR_GT:
	case OPR_LE: {
		dim d = dim_sub(cx, a, b);
		if (dim_ge(cx, d, 1))
			return cv_bool(op == OPR_GT, s);
		return dim_le(cx, d, 0) ? cv_bool(op == OPR_LE, s) : undecided;
	}
	default:
		return undecided;
	}
}

static const char *text_of(const struct cv *v, uint32_t *len)
{
	if (v->kind == CV_STR) {
		*len = v->u.str->len;
		return v->u.str->s;
	}
	if (v->kind == CV_SYM) {
		*len = v->u.sym->len;
		return v->u.sym->s;
	}
	return NULL;
}

/* == and != of dtypes, strings, None; & | ^ of bools. CV_NONE: not known at compile time */
static struct cv other_binary(enum opr op, const struct cv *a, const struct cv *b, struct span s)
{
	uint32_t n = 0, m = 0;
	const char *p = text_of(a, &n), *q = text_of(b, &m);
	bool same;

	if (a->kind == CV_BOOL && b->kind == CV_BOOL) {
		if (op == OPR_AND)
			return cv_bool(a->u.b & b->u.b, s);
		if (op == OPR_OR)
			return cv_bool(a->u.b | b->u.b, s);
		if (op == OPR_XOR)
			return cv_bool(a->u.b ^ b->u.b, s);
	}
	if (op != OPR_EQ && op != OPR_NE)
		return (struct cv){.kind = CV_NONE};
	if (a->kind == CV_BOOL && b->kind == CV_BOOL)
		same = a->u.b == b->u.b;
	else if (a->kind == CV_DTYPE && b->kind == CV_DTYPE)
		same = a->u.dtype == b->u.dtype;
	else if (a->kind == CV_NONE || b->kind == CV_NONE)
		same = a->kind == b->kind;
	else if (p && q && (a->kind == CV_STR || b->kind == CV_STR))
		same = n == m && !memcmp(p, q, n);
	else
		return (struct cv){.kind = CV_NONE};
	return cv_bool(same == (op == OPR_EQ), s);
}

/* "layer" + i: what the operand adds to a string. NULL: it is no part of one, which was reported */
static const char *string_part(struct elab *e, const struct cv *v, uint32_t *len)
{
	int64_t k;
	const char *text = NULL;

	if (v->kind == CV_STR) {
		*len = v->u.str->len;
		return v->u.str->s;
	}
	if (v->kind == CV_INT)
		text = arena_printf(e->cx->arena, "%s%llu", v->neg ? "-" : "",
				    (unsigned long long)v->u.i);
	else if (v->kind == CV_DIM && dim_is_const(e->cx, v->u.d, &k))
		text = arena_printf(e->cx->arena, "%lld", (long long)k);
	else if (all_defined(e, v, 1))
		elab_error(e, v->span, E_EXPRESSION,
			   "only strings, and integers that are known at compile time, can be "
			   "joined to a string, but this is %s",
			   cv_kind_name(v));
	*len = text ? (uint32_t)strlen(text) : 0;
	return text;
}

static struct cv join_strings(struct elab *e, const struct cv *a, const struct cv *b, struct span s)
{
	uint32_t n = 0, m = 0;
	const struct cv *string = a->kind == CV_STR ? a : b, *other = a->kind == CV_STR ? b : a;

	if (other->kind == CV_VALUE && !string_is_new(e, string->u.str))
		return poison(s);
	const char *p = string_part(e, a, &n), *q = p ? string_part(e, b, &m) : NULL;

	if (!q)
		return poison(s);
	e->joined += (uint64_t)n + m;
	if (e->joined > MAX_JOINED) {
		if (!e->limited)
			elab_error(e, s, E_LIMIT,
				   "the strings that are joined have more than %d bytes",
				   MAX_JOINED);
		e->limited = true;
		return poison(s);
	}
	struct astr *str = new (e->cx->arena, struct astr);
	char *text = arena_alloc(e->cx->arena, (size_t)n + m + 1);
	memcpy(text, p, n);
	memcpy(text + n, q, m);
	text[n + m] = 0;
	*str = (struct astr){text, n + m};
	return (struct cv){.kind = CV_STR, .span = s, .u.str = str};
}

static bool is_real_literal(const struct cv *v)
{
	return v->kind == CV_INT || v->kind == CV_FLOAT;
}

struct cv static_binary(struct elab *e, enum opr op, const struct cv *a, const struct cv *b,
			struct span s)
{
	if (is_real_literal(a) && is_real_literal(b)) {
		struct cv r = {.kind = CV_NONE};
		if (a->kind == CV_INT && b->kind == CV_INT)
			r = int_binary(e, op, a, b, s);
		return r.kind != CV_NONE ? r : float_binary(e, op, cv_number(a), cv_number(b), s);
	}
	if (is_real_literal(a) && b->kind == CV_COMPLEX && b->re == 0 &&
	    (op == OPR_ADD || op == OPR_SUB)) {
		struct cv r = *b; /* 1+2j is one literal: no rounding, no -0 lost */
		r.re = cv_number(a);
		r.u.f = op == OPR_SUB ? -r.u.f : r.u.f;
		r.span = s;
		return r;
	}
	if (is_dimlike(a) && is_dimlike(b))
		return dim_binary(e, op, a, b, s);
	if (op == OPR_ADD && (a->kind == CV_STR || b->kind == CV_STR))
		return join_strings(e, a, b, s);
	return other_binary(op, a, b, s);
}

/* -x, ~x of a literal or size */
struct cv static_unary(struct elab *e, enum opr op, const struct cv *v, struct span s)
{
	struct cv r = *v;

	if (op == OPR_NEG && v->kind == CV_INT) {
		r.neg = !v->neg && v->u.i;
		r.span = s;
		return r.neg && v->u.i > (uint64_t)INT64_MAX + 1 ? too_large(e, s) : r;
	}
	if (op == OPR_NEG && (v->kind == CV_FLOAT || v->kind == CV_COMPLEX)) {
		r.re = -v->re;
		r.u.f = -v->u.f; /* the span stays that of the digits: value.c may read them again
				  */
		return r;
	}
	if (op == OPR_NEG && v->kind == CV_DIM)
		return cv_dim(dim_neg(e->cx, v->u.d), s);
	if (op == OPR_INVERT && v->kind == CV_BOOL)
		return cv_bool(!v->u.b, s);
	if (op == OPR_INVERT && v->kind == CV_INT)
		return from_wide(e, -(v->neg ? -(__int128)v->u.i : (__int128)v->u.i) - 1, s);
	return (struct cv){.kind = CV_NONE};
}
