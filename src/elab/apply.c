/*
 * apply.c: an op applied to values. In: the op, its properties, arguments that may be literals or
 * sizes. Out: its node with the dtypes that its arguments take, and the results; or what the op is
 * expanded to.
 */
#include <string.h>

#include "elab/internal.h"

static bool is_bool_cv(const struct cv *v)
{
	return v->kind == CV_BOOL || (v->kind == CV_VALUE && v->u.v->type.dtype == DT_BOOL);
}

/* The common dtype of the arguments that are not weak: literals and sizes take it. */
static enum dtype strong_dtype(struct elab *e, const struct op *op, const struct cv *args,
			       uint32_t nargs)
{
	enum dtype t = DT_NONE;

	for (uint32_t i = op->cast == CAST_REST ? 1 : 0; i < nargs; i++) {
		enum dtype u = DT_NONE;
		if (args[i].kind == CV_VALUE && (!args[i].weak || is_bool_cv(&args[i])))
			u = args[i].u.v->type.dtype;
		else if (args[i].kind == CV_BOOL)
			u = DT_BOOL;
		if (u)
			t = t ? dtype_upcast(t, u) : u;
	}
	for (uint32_t i = 0; !t && i < nargs; i++) { /* [0.5, 1] * n */
		if (args[i].kind == CV_LIST || args[i].kind == CV_DATA)
			t = weak_dtype(e, &args[i], DT_NONE);
		t = is_float(t) ? t : DT_NONE;
	}
	return t;
}

/* If the last argument is a list of tensors, and the op takes one: replaces it by None and the
 * items of the list, see list_input(). Literals in the list take the dtype of the tensors. false:
 * reported
 */
static bool flatten_list_argument(struct elab *e, const struct op *op, struct cv **args,
				  uint32_t *nargs, struct span s)
{
	const struct op_sig *sig = op_sig(e->cx, op);
	uint32_t k = sig->ninputs;

	if (!takes_list(e->cx, op) || *nargs < k)
		return true;
	if (*nargs > k)
		return op_takes(e->cx, op, *nargs, node_span(e, s));
	const struct cv *list = &(*args)[k - 1];
	enum dtype t = list->kind == CV_LIST ? list_values_dtype(list) : DT_NONE;
	if (!t)
		return true;
	struct cv *all = new_array(e->cx->arena, struct cv, k + list->n);
	memcpy(all, *args, k * sizeof(*all));
	all[k - 1] = (struct cv){.kind = CV_NONE, .span = list->span};
	for (uint32_t i = 0; i < list->n; i++) {
		struct cv *x = &all[k + i];
		*x = list->u.items[i];
		if (!cv_is_weak(x))
			continue;
		struct value *v = to_value(e, x, weak_dtype(e, x, t));
		if (!v)
			return false;
		*x = cv_value(v, x->span);
	}
	*args = all;
	*nargs = k + list->n;
	return true;
}

/* Is keepdims=True among the properties? It is False in a copy of them then. */
static bool take_keepdims(struct elab *e, const struct op *op, struct cv **props)
{
	const struct op_sig *sig = op->keepdims ? op_sig(e->cx, op) : NULL;
	uint32_t k = 0;

	if (!sig)
		return false;
	while (strcmp(sig->props[k].name->s, "keepdims") != 0)
		k++;
	if (!(*props)[k].u.b)
		return false;
	struct cv *copy = new_array(e->cx->arena, struct cv, sig->nprops);
	memcpy(copy, *props, sig->nprops * sizeof(*copy));
	copy[k].u.b = false;
	*props = copy;
	return true;
}

/* The result r of the reduction n, with its axes put back as axes of length 1 */
static struct cv put_back_axes(struct elab *e, const struct node *n, struct cv r, struct span s)
{
	const struct op *op = op_named(e->cx, "ExpandDims");
	struct prop_arg arg = {.name = intern_str(e->cx, "axes"), .span = s};
	int axes[MAX_RANK];

	int count = r.kind == CV_VALUE
			    ? prop_axes(e->cx, n, "axes", n->in[0]->type.rank, axes, true)
			    : 0;
	if (count <= 0)
		return r;
	arg.value = (struct cv){.kind = CV_TUPLE, .span = s, .n = (uint32_t)count};
	arg.value.u.items = new_array(e->cx->arena, struct cv, (uint32_t)count);
	for (int i = 0; i < count; i++)
		arg.value.u.items[i] = cv_int(axes[i], s);
	struct cv *props = bind_props(e->cx, op, s, &arg, 1);
	return props ? call_op(e, op, props, &r, 1, s) : poison(s);
}

/* What was computed in float32 because of a size, as float16 */
static struct cv half_result(struct elab *e, const struct cv *wide, const char *size, struct span s)
{
	struct value *v = cast_value(e, wide->u.v, DT_FLOAT16, s);

	if (v && size)
		*vec_push(e->cx->arena, &e->narrower) = (struct narrower){v, size};
	return cv_value(v, s);
}

struct cv call_op(struct elab *e, const struct op *op, struct cv *props, struct cv *args,
		  uint32_t nargs, struct span s)
{
	if (!flatten_list_argument(e, op, &args, &nargs, s))
		return poison(s);
	struct value *few[8],
		**in = nargs <= countof(few) ? few : new_array(e->cx->arena, struct value *, nargs);
	uint32_t errors = e->cx->errors;
	enum dtype number = number_dtype(e, op, props, args, nargs, s);
	enum dtype strong = number                  ? number
			    : op->cast == CAST_NONE ? DT_NONE
						    : strong_dtype(e, op, args, nargs);
	/* a size may be beyond 65504: what float16 and a size give is rounded once, at the end */
	bool half = strong == DT_FLOAT16 && outgrows_float16(e, args, nargs);
	const char *size = NULL;
	bool ok = true;

	if (e->cx->errors != errors || !check_input_count(e, nargs, s))
		return poison(s);
	if (op->expanded)
		return op_takes(e->cx, op, nargs, node_span(e, s))
			       ? e->expansions[op - op_table](e, op, props, args, nargs, s)
			       : poison(s);
	for (uint32_t i = 0; i < nargs; i++) {
		bool elementwise = op->cast != CAST_NONE && !(op->cast == CAST_REST && i == 0);
		/* an omitted optional input, or a list for an op that is not converted anyway */
		if (args[i].kind == CV_NONE || (args[i].kind == CV_LIST && !op->shape)) {
			in[i] = NULL;
			continue;
		}
		enum dtype want = elementwise && cv_is_weak(&args[i])
					  ? weak_dtype(e, &args[i], half ? DT_FLOAT32 : strong)
					  : DT_NONE;
		in[i] = to_value(e, &args[i], want);
		if (want && !size && (args[i].kind == CV_DIM || args[i].kind == CV_VALUE))
			size = size_text(e, &args[i]);
		if (half && in[i] && in[i]->type.dtype == DT_FLOAT16)
			in[i] = cast_value(e, in[i], DT_FLOAT32, s);
		ok &= in[i] != NULL;
	}
	if (!ok)
		return poison(s);
	bool keepdims = take_keepdims(e, op, &props);
	struct node *n = graph_node(e->cx, e->block, op, props, in, nargs, node_span(e, s));
	if (!n->nout)
		return poison(s);
	warn_mistakes(e, n, s);
	note_narrower(e, op, in, nargs, size, n->out[0]);
	/* the types are known: the rest is checked as well */
	if (op->unsupported && n->out[0]->type.dtype)
		elab_error(e, s, E_UNSUPPORTED, "%s: %s", call_label(e->cx, n), op->unsupported);
	struct cv r = node_result(e, n, s);
	if (half && r.kind == CV_VALUE && r.u.v->type.dtype == DT_FLOAT32)
		r = half_result(e, &r, size, s);
	r.weak = number && r.kind == CV_VALUE;
	return keepdims ? put_back_axes(e, n, r, s) : r;
}

/* Calls an op with default properties: a + b is a call of Add. */
struct cv call_named(struct elab *e, const char *name, struct cv *args, uint32_t nargs,
		     struct span s)
{
	const struct op *op = op_named(e->cx, name);
	struct cv *props = bind_props(e->cx, op, s, NULL, 0);

	return props ? call_op(e, op, props, args, nargs, s) : poison(s);
}

struct value *cast_value(struct elab *e, struct value *v, enum dtype t, struct span s)
{
	const struct op *op = op_named(e->cx, "Cast");
	struct prop_arg arg = {.name = intern_str(e->cx, "dtype"), .span = s};

	arg.value = (struct cv){.kind = CV_DTYPE, .span = s, .u.dtype = t};
	struct cv *props = bind_props(e->cx, op, s, &arg, 1);
	struct cv in = cv_value(v, s), r = props ? call_op(e, op, props, &in, 1, s) : poison(s);
	return r.kind == CV_VALUE ? r.u.v : NULL;
}

/* ---- built-ins ---- */
