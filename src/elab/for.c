/*
 * for.c: the statement for, a loop whose steps are written out one after the other while compiling.
 * In: its header, whose items are known then. Out: the nodes of all steps in the block around it,
 * and the names that the statement defines. What is carried is bound as a statement binds it:
 * numbers, strings and dtypes stay what they are, and types may change from step to step.
 */
#include "elab/internal.h"

struct items {          /* what `name in ...` has in each step */
	struct cv list; /* a list or tuple; CV_NONE: the integers from start on, by step */
	int64_t start, by;
	uint64_t n;
};
struct steps {
	struct items *items; /* in the order of the header */
	struct cv **rows;    /* rows[r][k]: what stacked result r has in step k */
	uint32_t n;
};

static struct cv undefined(struct sym *name, struct span s)
{
	return (struct cv){.kind = CV_SYM, .span = s, .u.sym = name};
}

static struct span word_span(const struct aloop *a)
{
	return (struct span){a->span.begin, a->span.begin + 3};
}

bool count_statement(struct elab *e, struct span s)
{
	if (e->frame->library || e->limited)
		return !e->limited;
	if (++e->written_out > MAX_WRITTEN_OUT || e->nested > MAX_EXPANSION) {
		if (e->written_out > MAX_WRITTEN_OUT)
			elab_error(e, s, E_LIMIT,
				   "'for' is written out into more than %d statements: write loop",
				   MAX_WRITTEN_OUT);
		else
			elab_error(
				e, s, E_LIMIT,
				"'for' is written out into more than %d calls, names, numbers and "
				"operators: write loop",
				MAX_EXPANSION);
		e->limited = true;
	}
	return !e->limited;
}

/* ---- the header ---- */

/* *k = a bound of i in start:stop:step. false: reported */
static bool for_bound(struct elab *e, struct expr x, int64_t *k)
{
	struct cv v = eval(e, x);
	dim d;

	if (v.kind == CV_POISON || !all_defined(e, &v, 1))
		return false;
	if (cv_as_dim(e, &v, &d) && dim_is_const(e->cx, d, k))
		return true;
	bool known_in_run =
		v.kind == CV_DIM || (v.kind == CV_VALUE && is_int((enum dtype)v.u.v->type.dtype));
	if (known_in_run && e->trying) /* a caller may know it */
		return false;
	if (known_in_run)
		elab_error(e, v.span, E_STATEMENT,
			   "a bound of a 'for' must be known at compile time, but only the run "
			   "knows this one: write loop (i in 0:n, ...)");
	else if (v.kind == CV_INT)
		elab_error(e, v.span, E_LITERAL, "a bound of a 'for' is an int64");
	else if (v.kind != CV_VALUE || v.u.v->type.dtype)
		elab_error(e, v.span, E_STATEMENT,
			   "a bound of a 'for' must be an integer but is %s",
			   v.kind == CV_VALUE ? type_str(e->cx, v.u.v->type) : cv_kind_name(&v));
	return false;
}

static bool for_range(struct elab *e, const struct aitem *it, struct items *x)
{
	int64_t stop = 0;

	x->by = 1;
	bool ok = for_bound(e, it->value, &x->start);
	ok = for_bound(e, it->stop, &stop) && ok;
	ok = (!it->step.len || for_bound(e, it->step, &x->by)) && ok;
	if (ok && !x->by)
		elab_error(e, it->span, E_RANGE, "the step of a 'for' cannot be 0");
	if (!ok || !x->by)
		return false;
	if (x->by > 0 ? stop > x->start : stop < x->start) {
		uint64_t by = x->by > 0 ? (uint64_t)x->by : 0 - (uint64_t)x->by;
		uint64_t from = (uint64_t)x->start, to = (uint64_t)stop;
		x->n = ((x->by > 0 ? to - from : from - to) - 1) / by + 1;
	}
	return true;
}

static bool for_list(struct elab *e, const struct aitem *it, struct items *x)
{
	if (counts_by_call(e, it))
		return false;
	struct cv v = x->list = eval(e, it->value);

	if (v.kind == CV_POISON || !all_defined(e, &v, 1))
		return false;
	if (v.kind == CV_LIST || v.kind == CV_TUPLE || v.kind == CV_DATA) {
		x->n = v.kind == CV_DATA ? v.u.data->shape[0] : v.n;
		return v.kind == CV_DATA || all_defined(e, v.u.items, v.n);
	}
	if (v.kind != CV_VALUE)
		elab_error(e, v.span, E_EXPRESSION,
			   "a 'for' walks a list, [...], or counts, i in 0:3; this is %s",
			   cv_kind_name(&v));
	else if (v.u.v->type.dtype)
		elab_error(e, v.span, E_EXPRESSION,
			   "a 'for' walks a list that is written out, but this is a tensor: write "
			   "i in 0:3 and index the tensor by i, or loop (x in xs, ...)");
	return false;
}

/* As a statement binds it: what is no number, string or dtype becomes a value of the graph, which
 * must have the type that the header writes, if any. */
static struct cv as_bound(struct elab *e, const struct aitem *it, struct cv v)
{
	enum dtype want = written_dtype(e, it->type);

	if (v.kind == CV_POISON || (!it->type.len && keeps_weak(&v)))
		return v;
	struct value *x = to_value(e, &v, cv_is_weak(&v) ? want : DT_NONE);
	uint64_t loose = 0;
	bool ok = x && x->type.dtype &&
		  match_type(e, it->type, x, MATCH_PROVES, "carried value", it->name, it->span,
			     &loose);
	return ok ? cv_value(x, v.span) : poison(v.span);
}

/* Reads the header. *n is the number of steps, that of the shortest item. false: reported */
static bool for_header(struct elab *e, const struct aloop *a, struct loop_state *l,
		       struct steps *st)
{
	uint64_t n = UINT64_MAX;
	uint32_t k = 0;
	bool ok = true;

	for (const struct aitem *it = a->items; it; it = it->next) {
		if (!it->in) {
			struct carried *c = &l->carried[l->ncarried++];
			c->name = it->name;
			c->span = it->span;
			struct cv v = eval(e, it->value);
			c->now = all_defined(e, &v, 1) ? as_bound(e, it, v) : poison(it->span);
			ok = ok && c->now.kind != CV_POISON;
			continue;
		}
		struct items *x = &st->items[k++];
		x->list.kind = CV_NONE;
		ok = (it->range ? for_range(e, it, x) : for_list(e, it, x)) && ok;
		n = x->n < n ? x->n : n;
	}
	if (ok && !k)
		elab_error(e, word_span(a), E_STATEMENT,
			   "this 'for' never ends: write 'i in 0:3' in its header");
	if (ok && k && n > MAX_WRITTEN_OUT) {
		e->written_out = MAX_WRITTEN_OUT;
		return count_statement(e, word_span(a));
	}
	st->n = (uint32_t)n;
	return ok && k;
}

/* ---- steps ---- */

static struct cv item_at(struct elab *e, const struct items *x, uint32_t k, struct span s)
{
	if (x->list.kind == CV_NONE)
		return cv_int((int64_t)((uint64_t)x->start + k * (uint64_t)x->by), s);
	return x->list.kind == CV_DATA ? data_row(e, x->list.u.data, k, x->list.span)
				       : x->list.u.items[k];
}

bool next_in_for(struct elab *e, struct stmt *s, struct carried *c)
{
	const struct aitem *it = e->loop->written_out->items;

	if (c->given && !e->checking) {
		elab_error(e, s->targets[0].span, E_DUPLICATE,
			   "the next value of '%s' is given twice", c->name->s);
		return false;
	}
	while (it->in || it->name != c->name)
		it = it->next;
	struct cv v = eval(e, s->u.value);
	c->given = true;
	c->then = all_defined(e, &v, 1) ? as_bound(e, it, v) : poison(s->span);
	return c->then.kind != CV_POISON;
}

/* Step k, in the block around the for. false: reported */
static bool run_step(struct elab *e, struct aloop *a, struct loop_state *l, struct steps *st,
		     uint32_t k)
{
	uint32_t item = 0, c = 0, r = 0;

	l->step = k;
	for (struct aitem *it = a->items; it; it = it->next) {
		struct cv v =
			it->in ? item_at(e, &st->items[item++], k, it->span) : l->carried[c++].now;
		if (it->in && v.kind == CV_INT)
			note_meaning(e, (struct meaning){
						.name = it->name,
						.text = arena_printf(e->cx->arena, "%s%llu",
								     v.neg ? "-" : "",
								     (unsigned long long)v.u.i)});
		bind_value(e, it->name, v, it->span)->used = true;
	}
	/* a step without statements counts too */
	bool ok = (a->body.first || count_statement(e, word_span(a))) && exec_block(e, &a->body);
	for (struct aresult *i = a->results; i && ok; i = i->next, r++) {
		struct binding *b = i->stacked ? find_value(e, i->name) : NULL;
		if (!i->stacked)
			continue;
		if (b)
			b->used = true;
		struct cv v = b ? binding_cv(b) : undefined(i->name, i->span);
		ok = v.kind != CV_POISON && all_defined(e, &v, 1);
		st->rows[r][k] = v;
	}
	for (uint32_t i = 0; i < l->ncarried; i++) {
		struct carried *x = &l->carried[i];
		if (x->given)
			x->now = x->then;
		x->given = false;
	}
	return ok;
}

/* ---- results ---- */

/* What a for stacks: a list if all rows are numbers, else a tensor of values that have one type. */
static struct cv stack_rows(struct elab *e, const struct aresult *r, struct cv *rows, uint32_t n,
			    struct span s)
{
	enum dtype t = DT_NONE;
	struct value **v = new_array(e->cx->arena, struct value *, n + 1);

	for (uint32_t k = 0; k < n && !t; k++)
		t = rows[k].kind == CV_VALUE ? (enum dtype)rows[k].u.v->type.dtype : DT_NONE;
	if (!n) {
		elab_error(e, r->span, E_SHAPE,
			   "this 'for' has no step, so the type of [%s] is not known", r->name->s);
		return poison(s);
	}
	if (!t)
		return (struct cv){
			.kind = CV_LIST, .n = n, .span = s, .u.items = rows, .leaves = n};
	for (uint32_t k = 0; k < n; k++) {
		v[k] = to_value(e, &rows[k],
				cv_is_weak(&rows[k]) ? weak_dtype(e, &rows[k], t) : DT_NONE);
		if (!v[k] || !v[k]->type.dtype || (!k && !can_stack(e, v[k], r->span)))
			return poison(s);
		const struct type *a = &v[0]->type, *b = &v[k]->type;
		bool same = a->dtype == b->dtype && a->rank == b->rank;
		for (uint32_t i = 0; same && i < a->rank; i++)
			same = dim_unify(e->cx, a->dims[i], b->dims[i], r->span);
		if (!same) {
			elab_error(
				e, r->span, a->dtype != b->dtype ? E_DTYPE : E_SHAPE,
				"[%s] stacks values of one type, but '%s' is %s in the first step "
				"and %s in step %u",
				r->name->s, r->name->s, type_str(e->cx, *a), type_str(e->cx, *b),
				k + 1);
			return poison(s);
		}
	}
	return cv_value(stack_values(e, v, n, s), s);
}

static struct cv for_result(struct elab *e, const struct aloop *a, const struct aresult *r,
			    const struct loop_state *l, struct steps *st, uint32_t at)
{
	if (r->stacked)
		return stack_rows(e, r, st->rows[at], st->n, a->span);
	for (uint32_t i = 0; i < l->ncarried; i++)
		if (l->carried[i].name == r->name)
			return l->carried[i].now;
	elab_error(e, r->span, E_UNDEFINED,
		   "'%s' is not carried by the 'for'; write [%s] to stack all its values",
		   r->name->s, r->name->s);
	return poison(r->span);
}

static bool run_steps(struct elab *e, struct aloop *a, struct loop_state *l, struct steps *st)
{
	struct span at = node_span(e, word_span(a));
	uint32_t outer = e->cx->call;
	bool ok = true;

	l->outer = e->loop;
	l->block = e->block;
	e->loop = l;
	e->fors++;
	for (uint32_t k = 0; k < st->n && ok; k++) {
		if (!e->frame->library)
			e->cx->call = call_add(e->cx, NULL, k + 1, at);
		push_scope(e);
		ok = run_step(e, a, l, st, k);
		if (ok)
			warn_unread(e);
		pop_scope(e);
	}
	e->cx->call = outer;
	e->fors--;
	e->loop = l->outer;
	return ok;
}

/* Looks at the body once, for items and carried values of which nothing is known: see check.c. */
static bool check_step(struct elab *e, struct stmt *s, struct loop_state *l)
{
	struct aloop *a = s->u.loop;

	for (const struct aitem *it = a->items; it; it = it->next) {
		const struct expr parts[3] = {it->value, it->stop, it->step};
		for (int i = 0; i < (it->range ? 3 : 1); i++) {
			struct cv v = parts[i].len ? eval(e, parts[i]) : poison(it->span);
			all_defined(e, &v, 1);
		}
		if (!it->in)
			l->carried[l->ncarried++] = (struct carried){
				.name = it->name, .span = it->span, .now = poison(it->span)};
	}
	l->outer = e->loop;
	l->block = e->block;
	e->loop = l;
	push_scope(e);
	for (const struct aitem *it = a->items; it; it = it->next)
		bind_value(e, it->name, poison(it->span), it->span)->used = true;
	exec_block(e, &a->body);
	for (const struct aresult *r = a->results; r; r = r->next) {
		struct cv v = undefined(r->name, r->span);
		if (r->stacked && !find_value(e, r->name))
			all_defined(e, &v, 1);
	}
	pop_scope(e);
	e->loop = l->outer;
	return fail_targets(e, s);
}

bool exec_for(struct elab *e, struct stmt *s)
{
	struct aloop *a = s->u.loop;
	struct loop_state l = {.written_out = a, .stepwise = true};
	struct steps st = {0};
	uint32_t nitems = 0, nresults = 0;

	for (const struct aitem *it = a->items; it; it = it->next)
		nitems++;
	for (const struct aresult *r = a->results; r; r = r->next)
		nresults++;
	if (e->fors >= MAX_BLOCK_DEPTH)
		elab_error(e, word_span(a), E_LIMIT, "'for's nest deeper than %d", MAX_BLOCK_DEPTH);
	if (e->fors >= MAX_BLOCK_DEPTH || !count_targets(e, s, nresults))
		return fail_targets(e, s);
	st.items = new_array(e->cx->arena, struct items, nitems + 1);
	l.carried = new_array(e->cx->arena, struct carried, nitems + 1);
	if (e->checking)
		return check_step(e, s, &l);
	bool ok = for_header(e, a, &l, &st);
	st.rows = new_array(e->cx->arena, struct cv *, nresults + 1);
	uint32_t k = 0;
	for (const struct aresult *r = a->results; r && ok; r = r->next, k++)
		st.rows[k] = r->stacked ? new_array(e->cx->arena, struct cv, st.n + 1) : NULL;
	if (!ok || !run_steps(e, a, &l, &st))
		return fail_targets(e, s);
	k = 0;
	for (const struct aresult *r = a->results; r; r = r->next, k++)
		ok = bind_target(e, &s->targets[k], for_result(e, a, r, &l, &st, k)) && ok;
	return ok;
}
