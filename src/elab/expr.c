/*
 * expr.c: expressions. In: a range of the post-order AST. Out: a compile-time value (struct cv).
 * A loop over the nodes keeps the operands on a stack, so nothing recurses on the depth of an
 * expression. Arithmetic on literals and dims is computed at once; other operations become nodes.
 */
#include <math.h>
#include <string.h>

#include "elab/internal.h"

struct cv poison(struct span s)
{
	return (struct cv){.kind = CV_POISON, .span = s};
}

struct cv cv_value(struct value *v, struct span s)
{
	return v ? (struct cv){.kind = CV_VALUE, .span = s, .u.v = v} : poison(s);
}

struct cv cv_int(int64_t v, struct span s)
{
	uint64_t m = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

	return (struct cv){.kind = CV_INT, .neg = v < 0, .span = s, .u.i = m};
}

struct cv cv_dim(dim d, struct span s)
{
	return (struct cv){.kind = CV_DIM, .span = s, .u.d = d};
}

static struct cv cv_bool(bool b, struct span s)
{
	return (struct cv){.kind = CV_BOOL, .span = s, .u.b = b};
}

struct cv cv_float(double f, struct span s)
{
	return (struct cv){.kind = CV_FLOAT, .span = {s.begin, s.begin}, .u.f = f};
}

bool cv_as_dim(struct elab *e, const struct cv *v, dim *d)
{
	switch (v->kind) {
	case CV_INT:
		if (v->u.i > INT64_MAX)
			return false;
		*d = dim_const(e->cx, v->neg ? -(int64_t)v->u.i : (int64_t)v->u.i);
		return true;
	case CV_DIM:
		*d = v->u.d;
		return true;
	case CV_VALUE: {
		const struct known *k = known_of(e->cx, v->u.v);
		if (!k || v->u.v->type.rank || !is_int(v->u.v->type.dtype))
			return false;
		*d = k->at[0];
		return true;
	}
	default:
		return false;
	}
}

/* ---- arithmetic at compile time ---- */

static double cv_number(const struct cv *v)
{
	if (v->kind == CV_FLOAT)
		return v->u.f;
	return v->neg ? -(double)v->u.i : (double)v->u.i;
}

static struct cv too_large(struct elab *e, struct span s)
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

/* ---- strings ---- */

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
			   "a string is joined with strings and with integers that are known when "
			   "it is compiled, but this is %s",
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

const struct operator operators[] = {
#define OPERATOR(id, text, op, onnx, bits) [OPR_##id] = {text, op, onnx, bits},
#include "syntax/operators.def"
};

/* Calls the op of an infix operator whose value is not known at compile time. */
static struct cv call_operator(struct elab *e, const struct anode *n, struct cv *args,
			       uint32_t nargs)
{
	const char *name = operators[n->op].onnx;
	bool bools = false;

	if (!e->file->infix_onnx)
		return call_named(e, operators[n->op].op, args, nargs, n->at);
	if (!name) {
		elab_error(e, n->at, E_EXPRESSION,
			   "ONNX has no operator for '%s', which infix=onnx in the header of the "
			   "file asks for: write %s(a, b)",
			   operators[n->op].text, operators[n->op].op);
		return poison(n->span);
	}
	for (uint32_t i = 0; i < nargs; i++)
		bools |= args[i].kind == CV_BOOL ||
			 (args[i].kind == CV_VALUE && args[i].u.v->type.dtype == DT_BOOL);
	if (operators[n->op].bits && !bools)
		name = operators[n->op].bits;
	struct cv r = call_onnx_operator(e, name, args, nargs, n);
	if (n->op == OPR_NE && r.kind != CV_POISON)
		r = call_onnx_operator(e, "onnx.Not", &r, 1, n);
	return r;
}

/* x == None in a graph, where it cannot hold; in a fn, x may be a parameter that is left out. true:
 * reported */
static bool never_none(struct elab *e, const struct anode *n, struct cv *args)
{
	bool none = args[0].kind == CV_NONE, other = args[1].kind == CV_NONE;

	if (none == other || (n->op != OPR_EQ && n->op != OPR_NE))
		return false;
	if (!all_defined(e, args, 2))
		return true;
	if (!e->frame->fn->is_graph)
		return false;
	elab_error(e, n->span, E_EXPRESSION,
		   "'%s None' is always %s here: only a parameter or property of a fn may be None; "
		   "Isnan(x) tells where x is NaN",
		   operators[n->op].text, n->op == OPR_EQ ? "False" : "True");
	return true;
}

static struct cv eval_binary(struct elab *e, const struct anode *n, const struct cv *items)
{
	struct cv args[2] = {items[0], items[1]};

	if (args[0].kind == CV_POISON || args[1].kind == CV_POISON) {
		all_defined(e, args, 2);
		return poison(n->span);
	}
	if (never_none(e, n, args))
		return poison(n->span);
	struct cv r = static_binary(e, n->op, &args[0], &args[1], n->span);
	if (r.kind != CV_NONE)
		return r;
	if (!all_defined(e, args, 2))
		return poison(n->span);
	for (int i = 0; i < 2; i++)
		if (args[i].kind == CV_DTYPE || args[i].kind == CV_STR || args[i].kind == CV_NONE) {
			report_no_tensor(e, &args[i]);
			return poison(n->span);
		}
	return call_operator(e, n, args, 2);
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

/* +x is x, for numbers and tensors. */
static struct cv eval_plus(struct elab *e, const struct anode *n, const struct cv *v)
{
	if (cv_is_weak(v) || v->kind == CV_VALUE)
		return *v;
	if (all_defined(e, v, 1))
		report_no_tensor(e, v);
	return poison(n->span);
}

static struct cv eval_unary(struct elab *e, const struct anode *n, const struct cv *items)
{
	struct cv v = items[0];

	if (v.kind == CV_POISON)
		return v;
	if (n->op == OPR_POS)
		return eval_plus(e, n, &v);
	struct cv r = static_unary(e, n->op, &v, n->span);
	return r.kind != CV_NONE ? r : call_operator(e, n, &v, 1);
}

/* ---- leaves ---- */

/* Warns that a value hides the dim of the same name, unless both are the same number. */
static void warn_shadowed_dim(struct elab *e, const struct binding *value, struct span s)
{
	struct binding *b = find_dim(e, value->sym);
	const struct known *k;

	if (!b || b->is_rest || e->frame->library)
		return;
	k = value->kind == CV_VALUE ? known_of(e->cx, value->u.v) : NULL;
	if (k && !value->u.v->type.rank && dim_eq(e->cx, k->at[0], b->u.d))
		return;
	warn(e->cx, s, W_SHADOW_DIM, "'%s' is the value here, not the dim of that name",
	     value->sym->s);
}

static struct cv eval_name(struct elab *e, const struct anode *n)
{
	struct sym *sym = n->u.sym;
	struct binding *b;

	/* a generator may be called rng, as in r, x = normal_rv(rng, None, mu, sigma) */
	bool value = is_rng((enum dtype)sym->dtype) && find_value(e, sym);
	if (sym->dtype && !value && !(n->flags & AF_QUOTED))
		return (struct cv){.kind = CV_DTYPE, .span = n->span, .u.dtype = sym->dtype};
	b = find_value(e, sym);
	if (b && b->later) {
		bool self = e->in_const == sym;
		elab_error(e, n->span, E_UNDEFINED,
			   self ? "'%s' is the const that stands here: a const uses those above it"
				: "'%s' is a const that stands below: a const uses those above it",
			   sym->s);
		return poison(n->span);
	}
	if (b) {
		struct cv v = binding_cv(b);
		if (!b->used && sym->dim)
			warn_shadowed_dim(e, b, n->span);
		b->used = true;
		b->unread = false;
		if (v.kind != CV_FLOAT) /* a float keeps the span of its digits */
			v.span = n->span;
		return v;
	}
	b = find_dim(e, sym);
	if (b && !b->is_rest) {
		b->used = true;
		return cv_dim(b->u.d, n->span);
	}
	return (struct cv){.kind = CV_SYM, .span = n->span, .u.sym = sym, .fn = find_fn(e, sym)};
}

static struct cv eval_leaf(struct elab *e, const struct anode *n)
{
	struct cv v = {.span = n->span};

	switch (n->kind) {
	case A_NAME:
		return eval_name(e, n);
	case A_INT:
		v.kind = CV_INT;
		v.neg = n->flags & AF_NEGATIVE && n->u.integer;
		v.u.i = n->u.integer;
		if (v.neg && v.u.i > (uint64_t)INT64_MAX + 1)
			return too_large(e, n->span);
		return v;
	case A_FLOAT:
		v.kind = CV_FLOAT;
		v.u.f = n->u.real;
		return v;
	case A_IMAG:
		v.kind = CV_COMPLEX;
		v.u.f = n->u.real;
		return v;
	case A_STR:
		v.kind = CV_STR;
		v.u.str = n->u.str;
		return v;
	case A_NONE:
		v.kind = CV_NONE;
		return v;
	case A_TRUE:
	case A_FALSE:
		return cv_bool(n->kind == A_TRUE, n->span);
	case A_DATA:
		v.kind = CV_DATA;
		v.u.data = n->u.data;
		return v;
	case A_ELLIPSIS:
		v.kind = CV_ELLIPSIS;
		v.u.sym = n->u.sym;
		return v;
	default:
		elab_error(e, n->span, E_EXPRESSION,
			   "? stands for a dim in a type, not for a value");
		return poison(n->span);
	}
}

/* ---- inner nodes ---- */

static struct cv make_sequence(struct elab *e, enum cv_kind kind, const struct anode *n,
			       const struct cv *items)
{
	struct cv v = {.kind = kind, .span = n->span, .n = n->n};

	v.u.items = new_array(e->cx->arena, struct cv, n->n ? n->n : 1);
	if (n->n)
		memcpy(v.u.items, items, n->n * sizeof(*items));
	for (uint32_t i = 0; i < n->n; i++) {
		bool list = items[i].kind == CV_LIST || items[i].kind == CV_TUPLE;
		uint32_t leaves = list                       ? items[i].leaves
				  : items[i].kind == CV_DATA ? items[i].u.data->count
							     : 1;
		if (items[i].kind == CV_POISON)
			return poison(n->span);
		if (list && items[i].depth >= v.depth)
			v.depth = items[i].depth + 1;
		v.leaves += leaves;
		if (v.leaves > MAX_LEAVES || v.depth > MAX_RANK) {
			elab_error(e, n->span, E_LIMIT,
				   v.depth > MAX_RANK ? "a list nests deeper than %d"
						      : "the list has more than %d elements",
				   v.depth > MAX_RANK ? MAX_RANK : MAX_LEAVES);
			return poison(n->span);
		}
	}
	return v;
}

static struct cv eval_slice(struct elab *e, const struct anode *n, const struct cv *items)
{
	static const int flags[] = {AF_START, AF_STOP, AF_STEP};
	struct cv v = {.kind = CV_SLICE, .span = n->span, .n = 3};
	uint32_t k = 0;

	v.u.items = new_array(e->cx->arena, struct cv, 3);
	for (int i = 0; i < 3; i++) {
		v.u.items[i] = n->flags & flags[i] ? items[k++]
						   : (struct cv){.kind = CV_NONE, .span = n->span};
		if (v.u.items[i].kind == CV_POISON)
			return poison(n->span);
	}
	return v;
}

static struct cv eval_construct(struct elab *e, uint32_t at, struct cv *items)
{
	const struct anode *n = &e->file->nodes.at[at];
	struct sym *sym = n->u.sym;
	enum dtype t = sym->dtype;

	if (has_names(e, at)) {
		refuse_names(e, at);
		return poison(n->span);
	}
	if (!t) {
		struct binding *b = find_value(e, sym);
		if (!b || b->kind != CV_DTYPE) {
			elab_error(e, n->at, E_UNKNOWN_DTYPE, "'%s' is no dtype here", sym->s);
			return poison(n->span);
		}
		b->used = true;
		t = b->u.cv->u.dtype;
	}
	return elab_construct(e, t, items, n->nprops, n->flags & AF_DIMS || n->nprops,
			      items + n->nprops, n->n - n->nprops, n->span);
}

/* x.T is a transposed; a value has no other attribute, and no methods. */
static struct cv eval_attribute(struct elab *e, uint32_t at, struct cv *items)
{
	const struct anode *n = &e->file->nodes.at[at];
	struct cv *x = &items[0];
	const char *name = n->u.sym->s;

	for (uint32_t i = 0; i < n->n; i++)
		if (items[i].kind == CV_POISON)
			return poison(n->span);
	if (has_names(e, at) && refuse_names(e, at))
		return poison(n->span);
	struct ause *used = NULL; /* m.k of a file; x.T where there is a value x is x transposed */
	if (n->kind == A_ATTRIBUTE && n[-1].kind == A_NAME && !(n[-1].flags & AF_QUOTED) &&
	    (x->kind == CV_SYM || strcmp(name, "T")))
		used = find_alias(e, n[-1].u.sym);
	if (n->kind == A_ATTRIBUTE && !used && !strcmp(name, "T"))
		return all_defined(e, x, 1) ? call_named(e, "Transpose", x, 1, n->span)
					    : poison(n->span);
	if (used)
		return alias_attribute(e, used, n->u.sym, n->span);
	bool module = x->kind == CV_SYM; /* np.pi */
	const char *instead = n->u.sym->dtype ? name
			      : module        ? op_instead(e->cx, name, true)
					      : method_instead(e, at);
	if (module && !instead && !all_defined(e, x, 1))
		return poison(n->span);
	elab_error(e, n->at, module ? E_UNDEFINED : E_EXPRESSION, "%s '%s'%s%s",
		   module                ? "there is no"
		   : n->kind == A_METHOD ? "values have no method"
					 : "values have no attribute",
		   module ? arena_printf(e->cx->arena, "%s.%s", x->u.sym->s, name) : name,
		   instead ? ": write " : "", instead ? instead : "");
	return poison(n->span);
}

static struct cv eval_inner(struct elab *e, uint32_t at, struct cv *items)
{
	const struct anode *n = &e->file->nodes.at[at];

	switch (n->kind) {
	case A_LIST:
		return make_sequence(e, CV_LIST, n, items);
	case A_TUPLE:
		return make_sequence(e, CV_TUPLE, n, items);
	case A_ARROW:
		return make_sequence(e, CV_ARROW, n, items);
	case A_PROP: /* a name may be a word there, but not one with other quotes */
		if (items[0].kind == CV_SYM && operator_in_name(e, items[0].u.sym))
			return all_defined(e, items, 1) ? items[0] : poison(n->span);
		return items[0];
	case A_PAREN:
	case A_NAMED:
		return items[0];
	case A_UNARY:
		return eval_unary(e, n, items);
	case A_BINARY:
		return eval_binary(e, n, items);
	case A_SLICE:
		return eval_slice(e, n, items);
	case A_CALL:
		return eval_call(e, at, items);
	case A_OPREF:
		return eval_opref(e, at, items);
	case A_INDEX:
	case A_SET:
	case A_INC:
		return eval_index(e, at, items);
	case A_ATTRIBUTE:
	case A_METHOD:
		return eval_attribute(e, at, items);
	case A_CONSTRUCT:
		return eval_construct(e, at, items);
	default:
		bug("expression node of kind %u", n->kind);
	}
}

static bool is_leaf(const struct anode *n)
{
	switch (n->kind) {
	case A_NAME:
	case A_INT:
	case A_FLOAT:
	case A_IMAG:
	case A_STR:
	case A_NONE:
	case A_TRUE:
	case A_FALSE:
	case A_DATA:
	case A_ELLIPSIS:
	case A_ANY:
		return true;
	default:
		return false;
	}
}

struct cv eval(struct elab *e, struct expr x)
{
	const uint32_t base = e->stack.len;
	struct cv few[8], *items, result;

	if (e->fors && !e->frame->library)
		e->nested += x.len;
	for (uint32_t i = x.first; i < x.first + x.len; i++) {
		const struct anode *n = &e->file->nodes.at[i];
		if (is_leaf(n)) {
			result = eval_leaf(e, n);
		} else {
			/* copied: calls evaluate other expressions on the same stack */
			items = n->n <= countof(few) ? few
						     : new_array(e->cx->arena, struct cv, n->n);
			e->stack.len -= n->n;
			if (n->n)
				memcpy(items, e->stack.at + e->stack.len, n->n * sizeof(*items));
			result = eval_inner(e, i, items);
		}
		*vec_push(e->cx->arena, &e->stack) = result;
	}
	result = e->stack.at[--e->stack.len];
	if (e->stack.len != base)
		bug("expression stack at %u, expected %u", e->stack.len, base);
	return result;
}
