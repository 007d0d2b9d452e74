/*
 * construct.c: constructors. In: a dtype, dims, and literals, bytes or strings. Out: a constant, a
 * filled array, or the state of a generator.
 */
#include "elab/internal.h"

/* float32[3, 3](0): one value for all elements, known or symbolic dims. */
static struct cv make_splat(struct elab *e, enum dtype t, const dim *dims, uint32_t ndims,
			    const struct cv *arg, struct span s)
{
	int64_t shape[MAX_RANK];
	struct value *one = constant_of(e, arg, t, s);

	if (!one)
		return poison(s);
	if (one->type.rank) {
		elab_error(e, arg->span, E_RANK,
			   "a list fills a constructor without dims: %s([...])", dtypes[t].name);
		return poison(s);
	}
	if (dims_are_const(e->cx, dims, ndims, shape)) {
		for (uint32_t i = 0; i < ndims; i++)
			if (shape[i] < 0) {
				elab_error(e, s, E_SHAPE, "a dim cannot be negative");
				return poison(s);
			}
		struct tensor *x = tensor_new(e->cx, t, (int)ndims, shape);
		x->data = one->data->data;
		x->splat = true;
		return cv_value(graph_constant(e->cx, x, node_span(e, s)), s);
	}
	struct cv *args = new_array(e->cx->arena, struct cv, ndims + 1);
	args[0] = cv_value(one, s);
	for (uint32_t i = 0; i < ndims; i++)
		args[i + 1] = cv_dim(dims[i], s);
	return call_named(e, "Alloc", args, ndims + 1, s);
}

static struct cv constant_from_bytes(struct elab *e, enum dtype t, const dim *dims, uint32_t ndims,
				     const struct cv *arg, struct span s)
{
	int64_t shape[MAX_RANK];

	if (!dtypes[t].size) {
		elab_error(e, s, E_DTYPE, "there are no constants of dtype %s", dtypes[t].name);
		return poison(s);
	}
	for (uint32_t i = 0; i < ndims; i++)
		if (!dim_is_const(e->cx, dims[i], &shape[i]) || shape[i] < 0) {
			elab_error(e, s, E_SHAPE, "bytes(...) needs dims that are known numbers");
			return poison(s);
		}
	struct tensor *x = tensor_new(e->cx, t, (int)ndims, shape);
	if (tensor_size(x) != arg->u.str->len) {
		elab_error(e, arg->span, E_LITERAL, "%s needs %llu bytes but bytes(...) holds %u",
			   type_str(e->cx, (struct type){(uint8_t)t, (uint8_t)ndims, (dim *)dims}),
			   (unsigned long long)tensor_size(x), arg->u.str->len);
		return poison(s);
	}
	x->data = little_endian(e->cx, t, arg->u.str->s, x->count);
	for (uint32_t i = 0; t == DT_BOOL && i < arg->u.str->len; i++)
		if ((unsigned char)arg->u.str->s[i] > 1) {
			elab_error(e, arg->span, E_LITERAL, "a bool is a byte 0 or 1");
			return poison(s);
		}
	return cv_value(graph_constant(e->cx, x, node_span(e, s)), s);
}

/* dtype(literal), dtype[dims](literal or bytes). */
struct cv elab_construct(struct elab *e, enum dtype t, const struct cv *dims, uint32_t ndims,
			 bool has_dims, struct cv *args, uint32_t nargs, struct span s)
{
	dim *d = new_array(e->cx->arena, dim, ndims + 1);

	if (is_rng(t) && !(nargs == 1 && args->kind == CV_BYTES))
		return elab_generator(e, t, dims, ndims, args, nargs, s);
	if (nargs != 1) {
		elab_error(e, s, E_ARITY, "%s(...) takes one value but got %u", dtypes[t].name,
			   nargs);
		return poison(s);
	}
	if (args->kind == CV_POISON)
		return poison(s);
	for (uint32_t i = 0; i < ndims; i++)
		if (!cv_as_dim(e, &dims[i], &d[i])) {
			if (dims[i].kind != CV_POISON)
				elab_error(e, dims[i].span, E_EXPRESSION,
					   "expected a dim but got %s", cv_kind_name(&dims[i]));
			return poison(s);
		}
	if (args->kind == CV_BYTES)
		return constant_from_bytes(e, t, d, ndims, args, s);
	if (args->kind == CV_SYM || args->kind == CV_DIM || args->kind == CV_VALUE) {
		int64_t k;
		if (args->kind == CV_SYM) {
			to_value(e, args, DT_NONE);
			return poison(s);
		}
		if (!has_dims && cv_is_weak(args) &&
		    (is_float(t) || is_complex(t) || (t == DT_INT64 && cv_is_int(args))))
			return cv_value(to_value(e, args, t), s); /* int64(n), float32(n / 2) */
		if (!(args->kind == CV_DIM && dim_is_const(e->cx, args->u.d, &k)) &&
		    !(args->kind == CV_VALUE && args->u.v->data && !args->u.v->type.rank)) {
			elab_error(e, args->span, E_EXPRESSION,
				   "%s(...) makes constants from literals; to convert a value "
				   "write Cast{%s}(...)",
				   dtypes[t].name, dtypes[t].name);
			return poison(s);
		}
	}
	if (t == DT_STRING && !has_dims && is_strings(args))
		return cv_value(string_constant(e, args, s), s);
	if (has_dims)
		return make_splat(e, t, d, ndims, args, s);
	struct value *v = constant_of(e, args, t, s);
	return v ? cv_value(v, s) : poison(s);
}
