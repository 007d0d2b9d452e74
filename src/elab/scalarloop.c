/*
 * scalarloop.c: PyTensor's ScalarLoop{fn=step, is_while=..}(n_steps, states..., constants...), a
 * loop for each element, becomes one loop over whole tensors. Each round is a step of all elements.
 * Elements that are done keep their states, and the loop ends when all are done:
 *
 *	loop (i, states, done = False, active = n_steps > 0) while Any(active) {
 *		*new, stop = step(states, constants)
 *		next states = Switch(active, new, states)
 *		next done = Switch(active, stop, done)
 *		next active = ~done & (i + 1 < n_steps)
 *	}
 *
 * where `active` is left out if all elements end after the same number of steps, and `done` if
 * there is no `stop`. The last result is `done`: PyTensor's is False where no step was run.
 */
#include "elab/internal.h"

struct lanes {
	struct elab *e;
	struct span span;
	const struct cv *fn;
	bool is_while;
	struct cv steps;   /* n_steps */
	bool same_steps;   /* n_steps is one number */
	struct type shape; /* of all arguments broadcast together; its dtype means nothing */
	struct value *init[MAX_CARRIED + 2]; /* states, done, active */
	uint32_t nstates, ncarried;
	struct cv *args; /* of the step: states, constants */
	uint32_t nargs;
};

static struct value *call(struct lanes *l, const char *op, struct cv a, struct cv b)
{
	struct cv args[2] = {a, b};
	struct cv r = call_named(l->e, op, args, b.kind == CV_POISON ? 1 : 2, l->span);

	return r.kind == CV_VALUE && r.u.v->type.dtype ? r.u.v : NULL;
}

static struct cv lane_cv(struct lanes *l, struct value *v)
{
	return v ? cv_value(v, l->span) : poison(l->span);
}

/* v, broadcast to the shape of the loop; NULL: reported */
static struct value *stretch(struct lanes *l, struct value *v)
{
	const struct type *t = &l->shape;
	bool same = v && v->type.rank == t->rank;
	struct cv args[MAX_RANK + 1];

	for (uint32_t i = 0; same && i < t->rank; i++)
		same = dim_eq(l->e->cx, v->type.dims[i], t->dims[i]);
	if (same || !v)
		return v;
	args[0] = cv_value(v, l->span);
	for (uint32_t i = 0; i < t->rank; i++)
		args[i + 1] = cv_dim(t->dims[i], l->span);
	struct cv r = call_named(l->e, "Alloc", args, t->rank + 1u, l->span);
	return r.kind == CV_VALUE ? r.u.v : NULL;
}

/* n; the run fails where n is negative, as PyTensor's does. NULL: reported */
static struct value *never_negative(struct lanes *l, struct value *n)
{
	static const char message[] = "ScalarLoop does not have a termination condition.";
	const struct op *op = op_named(l->e->cx, "Assert");
	struct astr *text = new (l->e->cx->arena, struct astr);
	struct prop_arg arg = {.name = intern_str(l->e->cx, "msg"), .span = l->span};
	struct value *ok = call(l, "Ge", cv_value(n, l->span), cv_int(0, l->span));

	*text = (struct astr){message, sizeof message - 1};
	arg.value = (struct cv){.kind = CV_STR, .span = l->span, .u.str = text};
	if (!ok || !(ok = call(l, "All", cv_value(ok, l->span), poison(l->span))))
		return NULL;
	struct cv args[2] = {cv_value(n, l->span), cv_value(ok, l->span)};
	struct cv *props = bind_props(l->e->cx, op, l->span, &arg, 1);
	struct cv r = props ? call_op(l->e, op, props, args, 2, l->span) : poison(l->span);
	return r.kind == CV_VALUE ? r.u.v : NULL;
}

static bool read_steps(struct lanes *l, struct cv *args)
{
	struct cv none = poison(l->span);
	struct value *n = to_value(l->e, &args[0], DT_INT64);

	if (!n || !n->type.dtype)
		return false;
	if (!is_int(n->type.dtype)) {
		elab_error(l->e, args[0].span, E_DTYPE,
			   "the number of steps of ScalarLoop is an integer, but this is %s",
			   type_str(l->e->cx, n->type));
		return false;
	}
	l->same_steps = is_single(l->e->cx, &n->type);
	if (l->same_steps && n->type.rank && !(n = call(l, "Max", cv_value(n, l->span), none)))
		return false;
	if (!l->is_while && !(n = never_negative(l, n)))
		return false;
	l->steps = cv_value(n, l->span);
	return true;
}

/* The arguments as values, and their common shape */
static bool read_args(struct lanes *l, struct cv *args, uint32_t nargs)
{
	uint32_t nresults = l->fn->u.op->fn ? l->fn->u.op->fn->nresults : 1;

	if (nresults > MAX_CARRIED || nresults < (uint32_t)l->is_while + 1 ||
	    nargs < nresults - l->is_while + 1) {
		elab_error(
			l->e, l->span, E_ARITY,
			"ScalarLoop: a fn with %u results needs %u states and a number of steps, "
			"not %u arguments",
			nresults, nresults - l->is_while, nargs);
		return false;
	}
	l->nstates = nresults - l->is_while;
	l->nargs = nargs - 1;
	l->args = new_array(l->e->cx->arena, struct cv, nargs);
	for (uint32_t i = 0; i < l->nargs; i++) {
		struct value *v = to_value(l->e, &args[i + 1], DT_NONE);
		if (!v || !v->type.dtype)
			return false;
		l->args[i] = cv_value(v, l->span);
	}
	if (!read_steps(l, args))
		return false;
	struct cv *all = new_array(l->e->cx->arena, struct cv, nargs);
	all[0] = l->steps;
	for (uint32_t i = 0; i < l->nargs; i++)
		all[i + 1] = l->args[i];
	struct cv sum = call_named(l->e, "Add", all, nargs, l->span); /* only its shape is read */
	if (sum.kind != CV_VALUE || !sum.u.v->type.dtype)
		return false;
	l->shape = sum.u.v->type;
	return true;
}

/* The first values of what the loop carries */
static bool first_values(struct lanes *l)
{
	struct cv no = cv_bool(false, l->span), zero = cv_int(0, l->span);

	for (uint32_t i = 0; i < l->nstates; i++)
		l->init[i] = stretch(l, l->args[i].u.v);
	l->ncarried = l->nstates;
	if (l->is_while)
		l->init[l->ncarried++] = stretch(l, to_value(l->e, &no, DT_BOOL));
	if (!l->same_steps)
		l->init[l->ncarried++] = stretch(l, call(l, "Gt", l->steps, zero));
	for (uint32_t i = 0; i < l->ncarried; i++)
		if (!l->init[i])
			return false;
	return true;
}

/* Switch(active, next, now) of the dtype and shape of now; NULL: reported */
static struct value *keep_where_done(struct lanes *l, struct cv active, struct cv next,
				     struct value *now)
{
	struct value *v = to_value(l->e, &next, now->type.dtype);

	if (!v || !v->type.dtype)
		return NULL;
	if (v->type.dtype != now->type.dtype) {
		elab_error(l->e, l->span, E_DTYPE,
			   "ScalarLoop: a state is %s but its next value is %s",
			   type_str(l->e->cx, now->type), type_str(l->e->cx, v->type));
		return NULL;
	}
	if (active.kind == CV_POISON)
		return stretch(l, v);
	struct cv args[3] = {active, cv_value(v, l->span), cv_value(now, l->span)};
	struct cv r = call_named(l->e, "Switch", args, 3, l->span);
	return r.kind == CV_VALUE && r.u.v->type.dtype ? stretch(l, r.u.v) : NULL;
}

/* The elements that take another step after step i; NULL: reported */
static struct value *still_active(struct lanes *l, struct value *i, struct value *done)
{
	struct cv none = poison(l->span), one = cv_int(1, l->span);
	struct value *go = NULL, *more = NULL;

	if (done && !(go = call(l, "Invert", cv_value(done, l->span), none)))
		return NULL;
	if (l->same_steps)
		return go;
	struct value *after = call(l, "Add", cv_value(i, l->span), one);
	more = after ? call(l, "Lt", cv_value(after, l->span), l->steps) : NULL;
	if (!go || !more)
		return more;
	return call(l, "And", cv_value(go, l->span), cv_value(more, l->span));
}

static bool run_step(struct lanes *l, struct block *body)
{
	struct arena *a = l->e->cx->arena;
	struct type counter = {.dtype = DT_INT64}, flag = {.dtype = DT_BOOL};
	struct cv *args = new_array(a, struct cv, l->nargs + 1);
	struct value **now = new_array(a, struct value *, l->ncarried + 1);
	struct value *i = body_param(l->e, body, counter, l->span);
	struct value *go = body_param(l->e, body, flag, l->span), *done = NULL;
	struct cv none = poison(l->span), active = none;

	for (uint32_t k = 0; k < l->ncarried; k++)
		now[k] = body_param(l->e, body, l->init[k]->type, l->span);
	for (uint32_t k = 0; k < l->nargs; k++)
		args[k] = k < l->nstates ? cv_value(now[k], l->span) : l->args[k];
	if (!l->same_steps)
		active = cv_value(now[l->ncarried - 1], l->span);
	else if (l->is_while)
		active = lane_cv(l, call(l, "Invert", cv_value(now[l->nstates], l->span), none));
	struct cv r = call_ref(l->e, l->fn, args, l->nargs, l->span);
	struct cv *results = r.kind == CV_MULTI ? r.u.items : &r;
	if (r.kind == CV_POISON)
		return false;
	*vec_push(a, &body->results) = go;
	for (uint32_t k = 0; k < l->nstates + l->is_while; k++) {
		done = keep_where_done(l, active, results[k], now[k]);
		if (!done)
			return false;
		*vec_push(a, &body->results) = done;
	}
	if (l->is_while || !l->same_steps) {
		struct value *next = still_active(l, i, l->is_while ? done : NULL);
		if (!next || !(next = stretch(l, next)))
			return false;
		if (!l->same_steps)
			*vec_push(a, &body->results) = next;
		body->results.at[0] = call(l, "Any", cv_value(next, l->span), none);
	}
	return body->results.at[0] != NULL;
}

struct cv elab_scalar_loop(struct elab *e, const struct op *op, struct cv *props, struct cv *args,
			   uint32_t nargs, struct span span)
{
	struct lanes *l = new (e->cx->arena, struct lanes);
	const struct node n = {.op = op, .props = props};

	*l = (struct lanes){.e = e, .span = span, .fn = prop(e->cx, &n, "fn")};
	l->is_while = prop(e->cx, &n, "is_while")->u.b;
	if (!read_args(l, args, nargs) || !first_values(l))
		return poison(span);
	dim trips = DIM_NONE, zero = dim_const(e->cx, 0);
	struct loop_inputs in = {.carried = l->init, .n = l->ncarried};
	if (l->same_steps && !bound_dim(e, &l->steps, &trips))
		return poison(span);
	if (l->same_steps)
		in.trips = dim_to_value(e, dim_max(e->cx, trips, zero), span);
	else if (!(in.go = call(l, "Any", cv_value(l->init[l->ncarried - 1], span), poison(span))))
		return poison(span);
	struct block *outer = e->block;
	dim mark = dim_fresh(e->cx, SOURCE_NONE, NULL, 0);
	struct block *body = open_block(e, span);
	struct loop_state *loop = e->loop;
	e->loop = NULL;
	bool ok = body && run_step(l, body);
	e->loop = loop;
	e->block = outer;
	if (!ok && body)
		append_lost(e, body, span);
	if (!ok)
		return poison(span);
	struct node *done = append_loop(e, in, body, DIM_NONE, mark, span);
	uint32_t nout = l->nstates + l->is_while;
	struct cv v = {.kind = CV_MULTI, .n = nout, .span = span};
	v.u.items = new_array(e->cx->arena, struct cv, nout);
	for (uint32_t i = 0; i < nout; i++)
		v.u.items[i] = cv_value(done->out[i], span);
	return nout == 1 ? v.u.items[0] : v;
}
