/*
 * cv.c: what an expression is at compile time, struct cv, and what is reported about it. In:
 * values, numbers, dims. Out: a struct cv of them, and answers about one.
 */
#include "elab/internal.h"

/* Errors inside of the library point at the user's call. */
struct span node_span(struct elab *e, struct span s)
{
	return e->frame && e->frame->library ? e->frame->call
					     : place_in_call(e->cx, s, e->cx->call);
}

struct diag *elab_error(struct elab *e, struct span s, enum diag_code code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	const char *text = arena_vprintf(e->cx->arena, fmt, ap);
	va_end(ap);
	return error(e->cx, node_span(e, s), code, "%s", text);
}

struct cv poison(struct span s)
{
	return (struct cv){.kind = CV_POISON, .span = s};
}

struct cv cv_value(struct value *v, struct span s)
{
	return v ? (struct cv){.kind = CV_VALUE, .span = s, .u.v = v} : poison(s);
}

struct cv cv_dim(dim d, struct span s)
{
	return (struct cv){.kind = CV_DIM, .span = s, .u.d = d};
}

struct cv cv_bool(bool b, struct span s)
{
	return (struct cv){.kind = CV_BOOL, .span = s, .u.b = b};
}

double cv_number(const struct cv *v)
{
	if (v->kind == CV_FLOAT)
		return v->u.f;
	return v->neg ? -(double)v->u.i : (double)v->u.i;
}

struct cv cv_float(double f, struct span s)
{
	return (struct cv){.kind = CV_FLOAT, .span = {s.begin, s.begin}, .u.f = f};
}

struct cv node_result(struct elab *e, struct node *n, struct span s)
{
	if (n->nout == 1)
		return n->out[0]->type.dtype ? cv_value(n->out[0], s) : poison(s);
	struct cv v = {.kind = CV_MULTI, .n = n->nout, .span = s};
	v.u.items = new_array(e->cx->arena, struct cv, n->nout ? n->nout : 1);
	for (uint32_t i = 0; i < n->nout; i++)
		v.u.items[i] = cv_value(n->out[i], s);
	return v;
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

bool cv_is_weak(const struct cv *v)
{
	return v->kind == CV_INT || v->kind == CV_FLOAT || v->kind == CV_COMPLEX ||
	       v->kind == CV_LIST || v->kind == CV_DATA || v->kind == CV_DIM ||
	       (v->kind == CV_VALUE && v->weak);
}

bool keeps_weak(const struct cv *v)
{
	return v->kind == CV_INT || v->kind == CV_FLOAT || v->kind == CV_COMPLEX ||
	       v->kind == CV_BOOL || v->kind == CV_DIM || v->kind == CV_DTYPE ||
	       v->kind == CV_STR || v->kind == CV_NONE || (v->kind == CV_VALUE && v->weak);
}

bool cv_is_int(const struct cv *v)
{
	return v->kind == CV_INT || v->kind == CV_DIM ||
	       (v->kind == CV_VALUE && v->weak && is_int(v->u.v->type.dtype));
}

const char *cv_kind_name(const struct cv *v)
{
	static const char *const names[] = {
		[CV_POISON] = "nothing",
		[CV_VALUE] = "a tensor",
		[CV_INT] = "an integer",
		[CV_FLOAT] = "a number",
		[CV_COMPLEX] = "a complex number",
		[CV_BOOL] = "True or False",
		[CV_STR] = "a string",
		[CV_NONE] = "None",
		[CV_LIST] = "a list",
		[CV_TUPLE] = "a tuple",
		[CV_DATA] = "a list",
		[CV_DIM] = "a dim",
		[CV_DTYPE] = "a dtype",
		[CV_SYM] = "an undefined name",
		[CV_OP] = "an op that is not called",
		[CV_SLICE] = "a slice",
		[CV_ELLIPSIS] = "...",
		[CV_ARROW] = "a signature",
		[CV_BYTES] = "bytes",
		[CV_MULTI] = "several results",
	};

	return names[v->kind];
}

bool string_is_new(struct elab *e, const struct astr *s)
{
	for (uint32_t i = 0; i < e->strings.len; i++)
		if (e->strings.at[i] == s)
			return false;
	*vec_push(e->cx->arena, &e->strings) = s;
	return true;
}
