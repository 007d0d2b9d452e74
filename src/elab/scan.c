/*
 * scan.c: turns PyTensor's Scan{fn=step, ...}(n_steps, ...) into a loop node. The arguments are in
 * PyTensor's order: n_steps, sequences, buffers (mit_mot, mit_sot, sit_sot), values of
 * untraced_sit_sot, lengths of nit_sot, then other arguments of the step.
 *
 * PyTensor's step k reads and writes rows k + tap of buffers, where taps are counted from the
 * oldest. The loop does not carry whole buffers. Let o be the next out tap above in tap t. The row
 * that step k reads at t is the row that step k - (o - t) wrote at o: so the loop carries the last
 * o - t rows that were written at o. If there is no out tap above t, no step has changed the row
 * yet: the loop reads it from the initial buffer. The written rows are stacked, and the buffer that
 * Scan returns is joined from them after the loop.
 */
#include "elab/internal.h"

enum trace_kind {
	MIT_MOT, /* several in and out taps; the result has all rows of the buffer */
	SIT_SOT, /* one out tap, after all in taps; the result has the last rows, missing ones are 0
		  */
	NIT_SOT, /* as SIT_SOT, without in taps and buffer */
};
struct trace {
	enum trace_kind kind;
	struct value *buffer;
	dim length;        /* rows of the result */
	int64_t *in, *out; /* taps from 0; out is in the order of the step's results */
	uint32_t nin, nout;
	uint32_t *depth;   /* of each out tap: how many of its writes are carried */
	uint32_t *carried; /* the first of them, the newest; those of out[0] are inputs `carried` on
			    */
	uint32_t stacked;  /* of out[0], among the stacked results */
};
struct scan {
	struct elab *e;
	struct span span;
	const struct opref *step;
	dim steps;
	struct value *nsteps;
	bool as_while;
	struct value **seq;
	uint32_t nseq;
	struct trace *traces;
	uint32_t ntraces;
	uint32_t nuntraced;
	const struct cv *rest; /* non-sequences */
	uint32_t nrest;
	struct value **init, **param, **next; /* carried: those of traces, then untraced ones */
	uint32_t ncarried, nstacked, ninner;
};

/* ---- reading the properties ---- */

static const struct cv *scan_prop(struct scan *s, const struct op *op, struct cv *props,
				  const char *name)
{
	const struct node n = {.op = op, .props = props};

	return prop(s->e->cx, &n, name);
}

static bool read_taps(struct scan *s, const struct cv *v, int64_t **taps, uint32_t *n)
{
	*taps = new_array(s->e->cx->arena, int64_t, v->n + 1);
	*n = v->kind == CV_LIST ? v->n : 0;
	for (uint32_t i = 0; i < *n; i++) {
		const struct cv *t = &v->u.items[i];
		if (t->kind != CV_INT || t->u.i > INT32_MAX) {
			elab_error(s->e, t->span, E_PROPERTY, "a tap of Scan is a small integer");
			return false;
		}
		(*taps)[i] = t->neg ? -(int64_t)t->u.i : (int64_t)t->u.i;
		for (uint32_t k = 0; k < i; k++)
			if ((*taps)[k] == (*taps)[i]) {
				elab_error(s->e, t->span, E_PROPERTY,
					   "a tap of Scan is given twice");
				return false;
			}
	}
	if (v->kind == CV_LIST && v->n)
		return true;
	elab_error(s->e, v->span, E_PROPERTY, "expected tuples of taps, one for each buffer");
	return false;
}

/* Taps count from the oldest one; without out taps the step writes just after the newest. */
static bool count_taps(struct scan *s, struct trace *t, struct span span)
{
	int64_t oldest = 0;

	for (uint32_t i = 0; i < t->nin; i++)
		oldest = !i || t->in[i] < oldest ? t->in[i] : oldest;
	if (t->kind != MIT_MOT) {
		t->out = new (s->e->cx->arena, int64_t);
		t->nout = 1;
	}
	bool ok = t->kind == MIT_MOT || oldest < 0 || !t->nin;
	for (uint32_t i = 0; i < t->nin; i++) {
		t->in[i] -= oldest;
		ok &= t->kind == MIT_MOT || t->in[i] < -oldest;
	}
	for (uint32_t i = 0; i < t->nout; i++) {
		t->out[i] -= oldest;
		ok &= t->out[i] >= 0;
	}
	if (!ok)
		elab_error(s->e, span, E_PROPERTY,
			   "Scan: these taps read a value that no step has computed yet");
	t->depth = new_array(s->e->cx->arena, uint32_t, t->nout);
	t->carried = new_array(s->e->cx->arena, uint32_t, t->nout);
	return ok;
}

/* A number of arguments; what is above the limit is more than there are. */
static uint32_t count_prop(struct scan *s, const struct op *op, struct cv *props, const char *name)
{
	const struct cv *v = scan_prop(s, op, props, name);

	return v->neg || v->u.i > UINT16_MAX ? UINT16_MAX : (uint32_t)v->u.i;
}

static uint32_t list_length(const struct cv *v)
{
	return v->kind == CV_LIST ? v->n : 0;
}

static bool read_traces(struct scan *s, const struct op *op, struct cv *props)
{
	struct arena *a = s->e->cx->arena;
	const struct cv *in = scan_prop(s, op, props, "mit_mot_in_slices");
	const struct cv *out = scan_prop(s, op, props, "mit_mot_out_slices");
	const struct cv *mit = scan_prop(s, op, props, "mit_sot_in_slices");
	uint32_t nmot = list_length(in), nmit = list_length(mit);
	uint32_t nsit = count_prop(s, op, props, "n_sit_sot");
	uint32_t nnit = count_prop(s, op, props, "n_nit_sot");
	bool ok = true;

	if (list_length(out) != nmot) {
		elab_error(s->e, out->span, E_PROPERTY,
			   "mit_mot_in_slices is for %u buffers, mit_mot_out_slices for %u", nmot,
			   list_length(out));
		return false;
	}
	s->ntraces = nmot + nmit + nsit + nnit;
	s->traces = new_array(a, struct trace, s->ntraces + 1);
	for (uint32_t i = 0; i < s->ntraces && ok; i++) {
		struct trace *t = &s->traces[i];
		struct span span = s->span;
		t->kind = i < nmot ? MIT_MOT : i < nmot + nmit + nsit ? SIT_SOT : NIT_SOT;
		if (i < nmot) {
			span = in->u.items[i].span;
			ok = read_taps(s, &in->u.items[i], &t->in, &t->nin) &&
			     read_taps(s, &out->u.items[i], &t->out, &t->nout);
		} else if (i < nmot + nmit) {
			span = mit->u.items[i - nmot].span;
			ok = read_taps(s, &mit->u.items[i - nmot], &t->in, &t->nin);
		} else if (t->kind == SIT_SOT) {
			t->in = new (a, int64_t);
			t->in[0] = -1;
			t->nin = 1;
		}
		ok = ok && count_taps(s, t, span);
		s->nstacked += t->nout;
		s->ninner += t->nin;
	}
	return ok;
}

/* ---- arguments ---- */

static struct value *leading_axis(struct scan *s, const struct cv *arg, const char *what)
{
	struct value *v = to_value(s->e, arg, DT_NONE);

	if (!v || !v->type.dtype)
		return NULL;
	if (v->type.rank)
		return v;
	elab_error(s->e, arg->span, E_RANK, "%s of Scan has a leading axis to walk, but this is %s",
		   what, type_str(s->e->cx, v->type));
	return NULL;
}

static bool read_args(struct scan *s, const struct cv *args, uint32_t nargs)
{
	uint64_t need = 1 + (uint64_t)s->nseq + s->ntraces + s->nuntraced;
	uint32_t at = 1;

	if (nargs < need) {
		elab_error(s->e, s->span, E_ARITY,
			   "Scan: these properties need %llu arguments at least but there are %u",
			   (unsigned long long)need, nargs);
		return false;
	}
	if (!bound_dim(s->e, &args[0], &s->steps))
		return false;
	dim least = dim_max(s->e->cx, s->steps, dim_const(s->e->cx, 0));
	if (!dim_unify(s->e->cx, s->steps, least, s->span)) {
		elab_error(s->e, args[0].span, E_RANGE, "the number of steps of Scan is negative");
		return false;
	}
	s->seq = new_array(s->e->cx->arena, struct value *, s->nseq + 1);
	for (uint32_t i = 0; i < s->nseq; i++)
		if (!(s->seq[i] = leading_axis(s, &args[at++], "a sequence")))
			return false;
	for (uint32_t i = 0; i < s->ntraces; i++) {
		struct trace *t = &s->traces[i];
		if (t->kind == NIT_SOT)
			continue;
		if (!(t->buffer = leading_axis(s, &args[at++], "a buffer")))
			return false;
		t->length = t->buffer->type.dims[0];
	}
	s->init = new_array(s->e->cx->arena, struct value *, s->nuntraced + 1);
	for (uint32_t i = 0; i < s->nuntraced; i++) {
		s->init[i] =
			to_value(s->e, &args[at], args[at].kind == CV_INT ? DT_INT64 : DT_NONE);
		at++;
		if (!s->init[i] || !s->init[i]->type.dtype)
			return false;
	}
	for (uint32_t i = 0; i < s->ntraces; i++)
		if (s->traces[i].kind == NIT_SOT &&
		    !bound_dim(s->e, &args[at++], &s->traces[i].length))
			return false;
	s->rest = args + at;
	s->nrest = nargs - at;
	s->ninner += s->nseq + s->nuntraced + s->nrest;
	return true;
}

/* ---- what the loop carries ---- */

/* The index of the next out tap above in tap t; nout: there is none */
static uint32_t next_out_tap(const struct trace *t, int64_t tap)
{
	uint32_t best = t->nout;

	for (uint32_t i = 0; i < t->nout; i++)
		if (t->out[i] > tap && (best == t->nout || t->out[i] < t->out[best]))
			best = i;
	return best;
}

/* Sets the initial carried values: rows of the buffers, then the untraced values. */
static bool plan_carried(struct scan *s)
{
	struct value **untraced = s->init;
	uint64_t n = s->nuntraced;

	for (uint32_t i = 0; i < s->ntraces; i++) {
		struct trace *t = &s->traces[i];
		for (uint32_t k = 0; k < t->nin; k++) {
			uint32_t w = next_out_tap(t, t->in[k]);
			if (w < t->nout && t->out[w] - t->in[k] > t->depth[w])
				t->depth[w] = (uint32_t)(t->out[w] - t->in[k]);
		}
		for (uint32_t w = 0; w < t->nout; w++)
			n += t->depth[w];
	}
	if (n > MAX_CARRIED) {
		elab_error(s->e, s->span, E_LIMIT, "Scan: more than %d values would be carried",
			   MAX_CARRIED);
		return false;
	}
	s->init = new_array(s->e->cx->arena, struct value *, n + 1);
	s->param = new_array(s->e->cx->arena, struct value *, n + 1);
	s->next = new_array(s->e->cx->arena, struct value *, n + 1);
	for (uint32_t i = 0; i < s->ntraces; i++)
		for (uint32_t w = 0; w < s->traces[i].nout; w++) {
			struct trace *t = &s->traces[i];
			t->carried[w] = s->ncarried;
			for (uint32_t j = 1; j <= t->depth[w]; j++) {
				struct value *v =
					element_of(s->e, t->buffer, cv_int(t->out[w] - j, s->span));
				if (!v)
					return false;
				s->init[s->ncarried++] = v;
			}
		}
	for (uint32_t i = 0; i < s->nuntraced; i++)
		s->init[s->ncarried++] = untraced[i];
	return true;
}

/* ---- one step ---- */

static struct cv add_const(struct scan *s, struct value *v, int64_t k)
{
	struct cv args[2] = {cv_value(v, s->span), cv_int(k, s->span)};

	return k ? call_named(s->e, "Add", args, 2, s->span) : args[0];
}

static bool step_args(struct scan *s, struct value *iteration, struct cv *args)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->nseq; i++) {
		struct value *v = element_of(s->e, s->seq[i], cv_value(iteration, s->span));
		if (!v)
			return false;
		args[n++] = cv_value(v, s->span);
	}
	for (uint32_t i = 0; i < s->ntraces; i++)
		for (uint32_t k = 0; k < s->traces[i].nin; k++) {
			struct trace *t = &s->traces[i];
			uint32_t w = next_out_tap(t, t->in[k]);
			struct value *v =
				w < t->nout ? s->param[t->carried[w] + t->out[w] - t->in[k] - 1]
					    : element_of(s->e, t->buffer,
							 add_const(s, iteration, t->in[k]));
			if (!v)
				return false;
			args[n++] = cv_value(v, s->span);
		}
	for (uint32_t i = 0; i < s->nuntraced; i++)
		args[n++] = cv_value(s->param[s->ncarried - s->nuntraced + i], s->span);
	for (uint32_t i = 0; i < s->nrest; i++)
		args[n++] = s->rest[i];
	return true;
}

/* Has the next value of a state the type of the state? false: reported */
static bool check_state_type(struct scan *s, const struct value *now, const struct value *next)
{
	const struct type *a = &now->type, *b = &next->type;
	bool same = a->dtype == b->dtype && a->rank == b->rank;

	for (uint32_t i = 0; same && i < a->rank; i++)
		same = dim_unify(s->e->cx, a->dims[i], b->dims[i], s->span);
	struct diag *d = NULL;
	if (!same)
		d = elab_error(s->e, s->span, a->dtype != b->dtype ? E_DTYPE : E_SHAPE,
			       "Scan: a state is %s but its next value is %s",
			       type_str(s->e->cx, *a), type_str(s->e->cx, *b));
	explain_promise(s->e->cx, d, NULL, 0);
	return same;
}

/* Sets the results of the body from the results of the step: condition, next carried values, rows
 * to stack. */
static bool step_results(struct scan *s, struct block *body, struct cv *results)
{
	struct arena *a = s->e->cx->arena;
	uint32_t n = s->nstacked, at = 0;
	struct value *go = body->params.at[1];

	for (uint32_t i = 0; i < s->ntraces; i++)
		for (uint32_t w = 0; w < s->traces[i].nout; w++, at++) {
			struct trace *t = &s->traces[i];
			uint32_t c = t->carried[w];
			for (uint32_t j = 0; j < t->depth[w]; j++)
				s->next[c + j] = j ? s->param[c + j - 1] : results[at].u.v;
		}
	for (uint32_t i = 0; i < s->nuntraced; i++)
		s->next[s->ncarried - s->nuntraced + i] = results[n + i].u.v;
	if (s->as_while) {
		struct value *stop = condition(s->e, &results[n + s->nuntraced]);
		struct cv c = cv_value(stop, s->span);
		if (!stop || (c = call_named(s->e, "Invert", &c, 1, s->span)).kind != CV_VALUE)
			return false;
		go = c.u.v;
	}
	*vec_push(a, &body->results) = go;
	for (uint32_t i = 0; i < s->ncarried; i++) {
		if (!check_state_type(s, s->param[i], s->next[i]))
			return false;
		*vec_push(a, &body->results) = s->next[i];
	}
	for (uint32_t i = 0; i < n; i++) {
		if (!can_stack(s->e, results[i].u.v, s->span))
			return false;
		*vec_push(a, &body->results) = results[i].u.v;
	}
	return true;
}

static bool run_step(struct scan *s, struct block *body)
{
	struct arena *a = s->e->cx->arena;
	struct type counter = {.dtype = DT_INT64}, flag = {.dtype = DT_BOOL};
	struct cv *args = new_array(a, struct cv, s->ninner + 1);
	struct cv *results = new_array(a, struct cv, s->step->fn->nresults + 1);
	uint32_t want = s->nstacked + s->nuntraced + s->as_while;

	if (s->step->fn->nresults != want) {
		elab_error(s->e, s->span, E_ARITY,
			   "Scan: these properties need %u results of fn '%s' but it has %u", want,
			   s->step->fn->name->s, s->step->fn->nresults);
		return false;
	}
	struct value *iteration = body_param(s->e, body, counter, s->span);
	body_param(s->e, body, flag, s->span);
	for (uint32_t i = 0; i < s->ncarried; i++)
		s->param[i] = body_param(s->e, body, s->init[i]->type, s->span);
	return step_args(s, iteration, args) &&
	       expand_call(s->e, s->step->fn, s->span, s->step->props, args, s->ninner, results) &&
	       step_results(s, body, results);
}

/* ---- the buffers after the loop ---- */

static struct value *join_rows(struct scan *s, struct value **parts, uint32_t n)
{
	const struct op *op = op_named(s->e->cx, "Join");
	struct prop_arg arg = {.name = intern_str(s->e->cx, "axis"), .span = s->span};
	struct cv *args = new_array(s->e->cx->arena, struct cv, n);

	arg.value = cv_int(0, s->span);
	for (uint32_t i = 0; i < n; i++)
		args[i] = cv_value(parts[i], s->span);
	if (n == 1)
		return parts[0];
	struct cv *props = bind_props(s->e->cx, op, s->span, &arg, 1);
	struct cv r = props ? call_op(s->e, op, props, args, n, s->span) : poison(s->span);
	return r.kind == CV_VALUE ? r.u.v : NULL;
}

/* v[from:to]; DIM_NONE: the bound is left out */
static struct value *slice_rows(struct scan *s, struct value *v, dim from, dim to)
{
	struct cv none = {.kind = CV_NONE, .span = s->span};

	return slice_of(s->e, v, from == DIM_NONE ? none : cv_dim(from, s->span),
			to == DIM_NONE ? none : cv_dim(to, s->span), s->span);
}

/* mit_mot: the rows before the lowest out tap and after the last written row are those of the
 * initial buffer. The rows of the lowest out tap follow; of a higher one only those that no lower
 * one wrote later. done: the number of steps that were run */
static struct value *join_buffer(struct scan *s, struct trace *t, struct value **written, dim done)
{
	struct ctx *cx = s->e->cx;
	struct value **part = new_array(cx->arena, struct value *, 2 * t->nout + 2);
	uint32_t n = 0;
	int64_t last = -1;
	bool ok = true;

	for (uint32_t k = 0; k < t->nout; k++) {
		uint32_t w = next_out_tap(t, last); /* the out taps in ascending order */
		int64_t tap = t->out[w];
		if (last < 0) {
			if (tap)
				ok &= (part[n++] = slice_rows(s, t->buffer, DIM_NONE,
							      dim_const(cx, tap))) != NULL;
			part[n++] = written[w];
		} else { /* if there are fewer steps than rows between the taps, some rows stay */
			if (!dim_ge(cx, done, tap - last)) {
				dim stop = dim_const(cx, tap), start = dim_plus(cx, done, last);
				part[n] = slice_rows(s, t->buffer, start, stop);
				ok &= part[n++] != NULL;
			}
			ok &= (part[n++] = slice_rows(s, written[w], dim_const(cx, last - tap),
						      DIM_NONE)) != NULL;
		}
		last = tap;
	}
	if (!dim_eq(cx, t->length, dim_plus(s->e->cx, done, last)))
		ok &= (part[n++] = slice_rows(s, t->buffer, dim_plus(s->e->cx, done, last),
					      DIM_NONE)) != NULL;
	return ok ? join_rows(s, part, n) : NULL;
}

static struct value *make_zeros(struct scan *s, const struct type *like, dim n)
{
	struct cv zero = cv_int(0, s->span);
	struct cv *args = new_array(s->e->cx->arena, struct cv, like->rank + 1u);
	struct value *v = constant_of(s->e, &zero, like->dtype, s->span);

	if (!v)
		return NULL;
	args[0] = cv_value(v, s->span);
	args[1] = cv_dim(n, s->span);
	for (uint32_t i = 1; i < like->rank; i++)
		args[i + 1] = cv_dim(like->dims[i], s->span);
	struct cv r = call_named(s->e, "Alloc", args, like->rank + 1u, s->span);
	return r.kind == CV_VALUE ? r.u.v : NULL;
}

/* Appends `missing` rows of zeros to v. If no step was run, the rows of the initial buffer follow
 * instead. */
static struct value *append_missing_rows(struct scan *s, struct trace *t, struct value *v,
					 dim missing)
{
	struct ctx *cx = s->e->cx;
	struct value *part[3] = {v};
	uint32_t n = 1;

	if (dim_ge(cx, s->steps, 1)) {
		part[n++] = make_zeros(s, &v->type, missing);
	} else {
		dim some = dim_min(cx, s->steps, dim_const(cx, 1)); /* 0 or 1 */
		part[n++] = make_zeros(s, &v->type, dim_mul(cx, missing, some));
		if (t->buffer)
			part[n++] = slice_rows(
				s, t->buffer, dim_plus(cx, dim_mul(cx, t->length, some), t->out[0]),
				DIM_NONE);
	}
	return part[1] && part[n - 1] ? join_rows(s, part, n) : NULL;
}

/* mit_sot, sit_sot, nit_sot: the last `length` of the initial and written rows. If the buffer is
 * longer (as for a truncated gradient), the others are 0; with as_while there are no others, as in
 * PyTensor's Numba backend. */
static struct value *take_last_rows(struct scan *s, struct trace *t, struct value *written,
				    dim done)
{
	struct ctx *cx = s->e->cx;
	int64_t first = t->out[0];
	struct value *part[2] = {written, written};
	dim all = dim_plus(s->e->cx, done, first), none = dim_const(cx, 0);

	if (first && !(part[0] = slice_rows(s, t->buffer, DIM_NONE, dim_const(cx, first))))
		return NULL;
	struct value *v = join_rows(s, part, first ? 2 : 1);
	if (!v || dim_eq(cx, t->length, dim_plus(s->e->cx, s->steps, first)))
		return v;
	dim over = dim_sub(cx, all, t->length);
	if (s->as_while && dim_ge(cx, dim_sub(cx, t->length, s->steps), first + 1)) {
		elab_error(s->e, s->span, E_UNSUPPORTED,
			   "Scan: with as_while a buffer has at most %lld rows more than n_steps, "
			   "but this one has %s and n_steps is %s",
			   (long long)first, dim_str(cx, t->length), dim_str(cx, s->steps));
		return NULL;
	}
	if (!dim_le(cx, over, 0) && !(v = slice_rows(s, v, dim_max(cx, over, none), DIM_NONE)))
		return NULL;
	if (s->as_while || dim_ge(cx, over, 0))
		return v;
	return append_missing_rows(s, t, v, dim_max(cx, dim_neg(cx, over), none));
}

static bool collect_results(struct scan *s, struct node *loop, struct cv *results)
{
	dim done = s->steps;
	uint32_t n = 0, at = s->ncarried;

	if (s->as_while && s->nstacked)
		done = loop->out[at]->type.dims[0];
	for (uint32_t i = at; i < loop->nout; i++) /* all stacked results have one length */
		loop->out[i]->type.dims[0] = done;
	for (uint32_t i = 0; i < s->ntraces; i++) {
		struct trace *t = &s->traces[i];
		struct value *v = t->kind == MIT_MOT ? join_buffer(s, t, loop->out + at, done)
						     : take_last_rows(s, t, loop->out[at], done);
		if (!v)
			return false;
		results[n++] = cv_value(v, s->span);
		at += t->nout;
	}
	for (uint32_t i = 0; i < s->nuntraced; i++)
		results[n++] = cv_value(loop->out[s->ncarried - s->nuntraced + i], s->span);
	return true;
}

static struct node *scan_loop(struct scan *s)
{
	struct elab *e = s->e;
	struct block *outer = e->block;
	dim mark = dim_fresh(e->cx, SOURCE_NONE, NULL, 0);
	struct block *body = open_block(e, s->span);
	struct loop_state *loop = e->loop;

	e->loop = NULL;
	bool ok = body && run_step(s, body);
	e->loop = loop;
	e->block = outer;
	if (!ok) {
		if (body)
			append_lost(e, body, s->span);
		return NULL;
	}
	struct loop_inputs in = {.carried = s->init, .n = s->ncarried};
	in.trips = dim_to_value(e, s->steps, s->span);
	return append_loop(e, in, body, s->as_while ? DIM_NONE : s->steps, mark, s->span);
}

struct cv elab_scan(struct elab *e, const struct op *op, struct cv *props, struct cv *args,
		    uint32_t nargs, struct span span)
{
	struct scan s = {.e = e, .span = span};
	const struct cv *fn = scan_prop(&s, op, props, "fn");

	s.step = fn->u.op;
	s.as_while = scan_prop(&s, op, props, "as_while")->u.b;
	s.nseq = count_prop(&s, op, props, "n_seqs");
	s.nuntraced = count_prop(&s, op, props, "n_untraced_sit_sot");
	if (!s.step->fn) {
		elab_error(e, fn->span, E_PROPERTY, "Scan: fn=%s is an op; name a fn",
			   fn->u.op->op->name);
		return poison(span);
	}
	if (!read_traces(&s, op, props) || !read_args(&s, args, nargs) || !plan_carried(&s))
		return poison(span);
	struct node *loop = scan_loop(&s);
	uint32_t n = s.ntraces + s.nuntraced;
	struct cv v = {.kind = CV_MULTI, .n = n, .span = span};
	v.u.items = new_array(e->cx->arena, struct cv, n + 1);
	if (!loop || !collect_results(&s, loop, v.u.items))
		return poison(span);
	return n == 1 ? v.u.items[0] : v;
}
