/*
 * check.c: checks the fns of the user's files, whether they are called or not. In: parsed files.
 * Out: messages. First each body is evaluated with parameters of which nothing is known, in all
 * branches of its static ifs: this finds names that nothing defines, unknown ops, properties and
 * numbers of arguments. Then a fn that was never called is expanded once for made-up arguments, if
 * its header says their ranks. Its mistakes count if no choice of dtypes for its generic names is
 * free of them, be sizes known or not, as a fn may be for integers or for small matrices alone. A
 * body is also evaluated where it was called, so that a message may be made twice: it is kept once.
 */
#include "elab/internal.h"

#define MAX_GENERICS 3 /* a fn with more is not expanded */

/* The dtypes that a generic name may stand for */
static const enum dtype choices[] = {DT_FLOAT32, DT_FLOAT64, DT_INT64, DT_BOOL};

/* Binds what a written type defines where it stands first: generic dtypes, dims. */
static void declare_type(struct elab *e, struct expr x)
{
	for (uint32_t i = x.first; i < x.first + x.len; i++) {
		const struct anode *n = &e->file->nodes.at[i];
		if (n->kind == A_TYPE && generic_name(n->u.sym) && !find_value(e, n->u.sym)) {
			struct cv t = {.kind = CV_DTYPE, .span = n->at, .u.dtype = DT_FLOAT64};
			bind_value(e, n->u.sym, t, n->at)->used = true;
		} else if ((n->kind == A_NAME || (n->kind == A_ANY && n->u.sym)) &&
			   !find_dim(e, n->u.sym) && !find_value(e, n->u.sym)) {
			bind_dim(e, n->u.sym, dim_name(e->cx, n->u.sym), n->span);
		} else if (n->kind == A_ELLIPSIS && n->u.sym && !find_dim(e, n->u.sym)) {
			struct binding *b = bind_dim(e, n->u.sym, DIM_NONE, n->span);
			b->is_rest = true;
			b->u.rest = new (e->cx->arena, struct rest);
			*b->u.rest = (struct rest){NULL, 0};
		}
	}
}

/* The same for all types that stand in a block. Blocks nest to a limit. */
static void declare_types(struct elab *e, const struct ablock *b)
{
	for (const struct stmt *s = b->first; s; s = s->next) {
		for (uint32_t i = 0; i < s->ntargets; i++)
			declare_type(e, s->targets[i].type);
		if (s->kind == S_LOOP || s->kind == S_FOR) {
			for (const struct aitem *it = s->u.loop->items; it; it = it->next)
				declare_type(e, it->type);
			declare_types(e, &s->u.loop->body);
		} else if (s->kind == S_IF || s->kind == S_STATIC_IF) {
			for (const struct aif *a = s->u.cond; a; a = a->next)
				declare_types(e, &a->body);
		}
	}
}

static void bind_unknown(struct elab *e, const struct param *p)
{
	declare_type(e, p->type);
	if (p->value.len)
		eval(e, p->value);
	bind_value(e, p->name, poison(p->span), p->span)->used = true;
}

static void check_result(struct elab *e, struct fn *f, const struct param *r)
{
	if (!find_value(e, r->name) && !f->file->lost)
		elab_error(e, r->span, E_NO_OUTPUT, "fn '%s' never defines its result '%s'",
			   f->name->s, r->name->s);
}

/* Evaluates the body of f for parameters of which nothing is known. */
static void check_body(struct elab *e, struct fn *f)
{
	struct frame frame = {.fn = f, .depth = 1};
	struct elab outer;

	enter_body(e, f, &frame, &outer);
	e->checking = true;
	for (uint32_t i = 0; i < f->ndecls; i++) {
		if (f->decls[i].value.len)
			eval(e, f->decls[i].value);
		bind_value(e, f->decls[i].name, poison(f->decls[i].span), f->decls[i].span)->used =
			true;
	}
	for (uint32_t i = 0; i < f->nparams; i++)
		bind_unknown(e, &f->params[i]);
	for (uint32_t i = 0; i < f->nresults; i++)
		declare_type(e, f->results[i].type);
	declare_types(e, &f->body);
	exec_block(e, &f->body);
	for (uint32_t i = 0; i < f->nresults; i++)
		check_result(e, f, &f->results[i]);
	leave_body(e, f, &outer);
}

/* ---- expansions for made-up arguments ---- */

/* The generic names in the types of the parameters; count: all of them, also beyond max */
static uint32_t generics_of(struct elab *e, const struct fn *f, struct sym **names, uint32_t max)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < f->nparams; i++) {
		struct expr x = f->params[i].type;
		struct sym *s = e->file->nodes.at[x.first + x.len - 1].u.sym;
		bool seen = !generic_name(s);
		for (uint32_t k = 0; k < count && k < max; k++)
			seen |= names[k] == s;
		if (!seen && count < max)
			names[count] = s;
		count += !seen;
	}
	return count;
}

/* Does the header say the rank of each argument, and a value for each property? */
static bool can_try(struct elab *e, const struct fn *f)
{
	for (uint32_t i = 0; i < f->ndecls; i++)
		if (!f->decls[i].value.len)
			return false;
	for (uint32_t i = 0; i < f->nparams; i++) {
		struct expr x = f->params[i].type;
		if (!x.len || !(e->file->nodes.at[x.first + x.len - 1].flags & AF_DIMS))
			return false;
		for (uint32_t k = x.first; k < x.first + x.len; k++)
			if (e->file->nodes.at[k].kind == A_ELLIPSIS)
				return false;
	}
	return true;
}

/* What the arguments are made of: generic name k is chosen[k], a name of a size any size or 4. */
struct trial {
	struct sym *names[MAX_GENERICS];
	enum dtype chosen[MAX_GENERICS];
	uint32_t n;
	bool numbers;
};

static void bind_numbers(struct elab *e, struct expr x)
{
	for (uint32_t i = x.first; i < x.first + x.len; i++) {
		const struct anode *n = &e->file->nodes.at[i];
		if (n->kind == A_NAME && !find_dim(e, n->u.sym))
			bind_dim(e, n->u.sym, dim_const(e->cx, 4), n->span);
	}
}

/* Values of the types in the header. false: reported */
static bool make_arguments(struct elab *e, struct fn *f, const struct trial *t, struct cv *args)
{
	struct frame frame = {.fn = f, .depth = 1};
	bool ok = true;

	e->frame = &frame;
	e->scope = NULL;
	push_scope(e);
	for (uint32_t k = 0; k < t->n; k++) {
		struct cv d = {.kind = CV_DTYPE, .span = f->name_span, .u.dtype = t->chosen[k]};
		bind_value(e, t->names[k], d, f->name_span)->used = true;
	}
	for (uint32_t i = 0; i < f->nparams && ok; i++) {
		struct param *p = &f->params[i];
		if (t->numbers)
			bind_numbers(e, p->type);
		struct value *v = graph_value(e->cx, (struct type){0}, p->span);
		ok = make_type(e, p->type, v, &v->type);
		define_known(e->cx, v);
		v->name = p->name;
		args[i] = cv_value(v, p->span);
	}
	pop_scope(e);
	e->frame = NULL;
	return ok;
}

/* The lengths of a made-up argument are its own, as those of an input of a graph are. */
static void name_lengths(struct ctx *cx, struct value *v)
{
	for (uint32_t k = 0; k < v->type.rank; k++)
		dim_set_source(cx, v->type.dims[k], SOURCE_SIZE, v, k);
}

/* Expands f into a block that nobody reads. false: reported */
static bool expand_once(struct elab *e, struct fn *f, const struct trial *t)
{
	struct cv *args = new_array(e->cx->arena, struct cv, f->nparams + 1);
	struct cv *results = new_array(e->cx->arena, struct cv, f->nresults + 1);
	uint32_t errors = e->cx->errors;
	struct why *why = e->cx->why;

	e->file = f->file;
	e->cx->why = NULL; /* the arguments are of no line */
	bool made = make_arguments(e, f, t, args);
	e->cx->why = why;
	for (uint32_t i = 0; why && made && i < f->nparams; i++)
		name_lengths(e->cx, args[i].u.v);
	if (made) {
		e->trying = true;
		expand_call(e, f, f->name_span, NULL, args, f->nparams, results);
		e->trying = false;
	}
	return e->cx->errors == errors;
}

/* *t has the generic names of f. false: f cannot be expanded without a call */
static bool begin_trial(struct elab *e, const struct fn *f, struct trial *t)
{
	*t = (struct trial){.n = 0};
	e->file = f->file;
	if (!can_try(e, f))
		return false;
	t->n = generics_of(e, f, t->names, MAX_GENERICS);
	for (uint32_t k = 0; k < t->n && k < MAX_GENERICS; k++)
		t->chosen[k] = choices[0];
	return t->n <= MAX_GENERICS;
}

/* Sets *t to what has no mistakes; else these are reported. */
static void check_types(struct elab *e, struct fn *f, struct trial *t)
{
	uint32_t combinations = 2;

	for (uint32_t k = 0; k < t->n; k++)
		combinations *= countof(choices);
	for (uint32_t c = 0; c <= combinations; c++) {
		uint32_t rest = c % combinations / 2; /* the last time as the first, to report */
		t->numbers = c % 2;
		for (uint32_t k = 0; k < t->n; k++, rest /= countof(choices))
			t->chosen[k] = choices[rest % countof(choices)];
		if (c == combinations) {
			expand_once(e, f, t);
			return;
		}
		struct diag_mark before = diag_mark(e->cx);
		bool ok = expand_once(e, f, t);
		diag_forget(e->cx, before);
		if (ok || e->limited)
			return;
	}
}

/* Notes for `ptgc why` what values f has, whose mistakes are reported already. */
static void answer_of(struct elab *e, struct fn *f, const struct trial *t)
{
	struct diag_mark before = diag_mark(e->cx);

	why_try(e, f, true);
	expand_once(e, f, t);
	why_try(e, NULL, true);
	diag_forget(e->cx, before);
}

static void check_fn(struct elab *e, struct fn *f, struct why *why)
{
	uint32_t errors = e->cx->errors;
	struct trial t;

	check_body(e, f);
	if (f->used || e->limited)
		return;
	bool typed = begin_trial(e, f, &t);
	if (typed && e->cx->errors == errors)
		check_types(e, f, &t);
	e->cx->why = why;
	if (why && typed && !e->limited)
		answer_of(e, f, &t);
	else if (why)
		why_try(e, f, false);
	e->cx->why = NULL;
}

/* Dims of the checks are of a table of their own: equations do not reach the graph. */
void check_fns(struct elab *e)
{
	struct ctx *cx = e->cx;
	struct elab saved = *e;
	struct dims *dims = cx->dims;
	struct pending *pending = cx->pending;
	struct why *why = cx->why;

	dims_init(cx);
	dim_keep_ones(cx, true);
	cx->pending = NULL;
	cx->why = NULL;
	e->block = new (cx->arena, struct block);
	e->loop = NULL;
	e->nested = e->written_out = 0;
	for (uint32_t i = 0; i < e->used.len; i++)
		/* a statement that could not be read would have defined names */
		for (struct fn *f = e->used.at[i]->lost ? NULL : e->used.at[i]->fns; f; f = f->next)
			check_fn(e, f, why);
	cx->dims = dims;
	cx->pending = pending;
	cx->why = why;
	e->block = saved.block;
	e->scope = saved.scope;
	e->file = saved.file;
	e->loop = saved.loop;
	e->limited = saved.limited;
	e->nested = saved.nested;
	e->written_out = saved.written_out;
}
