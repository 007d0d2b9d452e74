/*
 * elab.c: turns the AST of a file into a graph of PyTensor-level nodes, in one walk over the
 * statements: names are resolved, fns expanded at their calls, types inferred node by node.
 * In: a parsed file. Out: a graph whose values all have types; NULL: errors were reported.
 * The results of the graph's block have the names of the outputs, each name once.
 */
#include <string.h>

#include "elab/internal.h"

/* Gives an int64 scalar or short vector without known elements a new dim for each element. */
void define_known(struct ctx *cx, struct value *v)
{
	int64_t n = 1;

	if (v->type.dtype != DT_INT64 || v->type.rank > 1 || v->known)
		return;
	if (v->type.rank && (!dim_is_const(cx, v->type.dims[0], &n) || n > MAX_KNOWN || n < 1))
		return;
	v->known = arena_alloc(cx->arena, sizeof(struct known) + (size_t)n * sizeof(dim));
	v->known->n = (uint32_t)n;
	for (int64_t i = 0; i < n; i++)
		v->known->at[i] = dim_fresh(cx, SOURCE_VALUE, v, (uint32_t)i);
}

/* ---- statements ---- */

/* "x.1.0" of x in step 0 of the second step around it, of loops that are written out */
static struct sym *name_in_steps(struct elab *e, struct sym *name)
{
	struct strbuf b = {.arena = e->cx->scratch};
	uint32_t at[MAX_BLOCK_DEPTH], n = 0;

	for (struct loop_state *l = e->loop; l && n < MAX_BLOCK_DEPTH; l = l->outer)
		if (l->stepwise)
			at[n++] = l->step;
	if (!n)
		return name;
	sb_str(&b, name->s);
	while (n)
		sb_printf(&b, ".%u", at[--n]);
	return intern(e->cx, b.s, b.len);
}

void keep_name(struct elab *e, struct value *v, struct sym *name)
{
	if (e->frame->fn && e->frame->fn->is_graph && !v->name && !e->frame->library)
		v->name = name_in_steps(e, name);
}

bool bind_target(struct elab *e, struct target *t, struct cv v)
{
	bool ok = v.kind != CV_POISON, discard = !t->quoted && t->name == e->underscore;
	enum dtype want = written_dtype(e, t->type);

	if (ok && (t->type.len || !keeps_weak(&v))) {
		struct value *x = to_value(e, &v, cv_is_weak(&v) ? want : DT_NONE);
		if (x && !discard) /* of a type that is not the written one, too */
			why_note(e, t->name, cv_value(x, t->span), t->span, false);
		ok = x && x->type.dtype &&
		     match_type(e, t->type, x, MATCH_PROVES, "", t->name, t->span, NULL);
		if (ok && want)
			type_is_written(e, x);
		if (ok && !discard)
			keep_name(e, x, t->name);
		v = ok ? cv_value(x, t->span) : poison(t->span);
	}
	if (!discard)
		bind_value(e, t->name, v, t->span)->used |= !ok;
	return ok;
}

/* The types written for all targets of a call of a raw ONNX operator; NULL: not all have one. */
static const struct type *wanted_types(struct elab *e, struct stmt *s)
{
	const struct anode *root = &e->file->nodes.at[s->u.value.first + s->u.value.len - 1];
	struct type *t;

	if (root->kind != A_CALL || !strchr(root->u.sym->s, '.'))
		return NULL;
	for (uint32_t i = 0; i < s->ntargets; i++)
		if (!s->targets[i].type.len)
			return NULL;
	t = new_array(e->cx->arena, struct type, s->ntargets);
	for (uint32_t i = 0; i < s->ntargets; i++)
		if (!make_type(e, s->targets[i].type, NULL, &t[i])) {
			e->wanted_wrong = true;
			return NULL;
		}
	return t;
}

static bool cannot_convert(const struct cv *v)
{
	const struct node *n = v->kind == CV_VALUE ? v->u.v->def : NULL;

	return n && n->op->unsupported;
}

/* " of Two (p, q)": what a call gives, as a message about its results says it */
static const char *results_in_words(struct elab *e, struct expr x)
{
	const struct anode *n = &e->file->nodes.at[x.first + x.len - 1];
	const struct fn *f = n->kind == A_CALL && !e->frame->library ? find_fn(e, n->u.sym) : NULL;
	struct strbuf b = {.arena = e->cx->arena};

	if (n->kind != A_CALL)
		return "";
	sb_printf(&b, " of %s", n->u.sym->s);
	for (uint32_t i = 0; f && i < f->nresults; i++)
		sb_printf(&b, "%s%s", i ? ", " : " (", f->results[i].name->s);
	sb_str(&b, f && f->nresults ? ")" : "");
	return b.s;
}

static bool exec_assign(struct elab *e, struct stmt *s)
{
	bool ok = true;

	if (e->frame->depth > 1 && !e->fors && !e->frame->library)
		e->nested += s->u.value.len;
	e->root = s->u.value.first + s->u.value.len - 1;
	e->root_file = e->file;
	e->nroot = s->ntargets;
	e->wanted_wrong = false;
	e->wanted = wanted_types(e, s);
	struct cv v = eval(e, s->u.value);
	e->root_file = NULL;
	e->wanted = NULL;
	e->wanted_wrong = false;
	if (v.kind == CV_SYM) {
		to_value(e, &v, DT_NONE);
		v = poison(v.span);
	}
	if (v.kind == CV_MULTI && v.n > s->ntargets && cannot_convert(&v.u.items[0])) {
		v.n = s->ntargets; /* lowering reports the op */
	} else if (v.kind != CV_POISON && (v.kind == CV_MULTI ? v.n : 1) != s->ntargets) {
		struct diag *d = elab_error(
			e, s->targets->span, E_ARITY, "%u name%s on the left for %u result%s%s%s",
			s->ntargets, s->ntargets == 1 ? "" : "s", v.kind == CV_MULTI ? v.n : 1,
			v.kind == CV_MULTI ? "s" : "", results_in_words(e, s->u.value),
			v.kind == CV_MULTI && s->ntargets < v.n
				? "; '_' takes one that is not needed"
				: "");
		if (v.kind == CV_MULTI && v.u.items[0].kind == CV_VALUE &&
		    is_rng((enum dtype)v.u.items[0].u.v->type.dtype))
			note(e->cx, d, (struct span){0, 0},
			     "the first result is the next generator: r2, x = ...");
		if (v.kind == CV_VALUE && v.u.v->type.rank && !*results_in_words(e, s->u.value))
			note(e->cx, d, (struct span){0, 0},
			     "the elements of a tensor are x[0], x[1], ...");
		v = poison(v.span);
	}
	for (uint32_t i = 0; i < s->ntargets; i++)
		ok = bind_target(e, &s->targets[i], v.kind == CV_MULTI ? v.u.items[i] : v) && ok;
	return ok;
}

/* Binds the names that the branches define to poison, so that they are not reported as undefined.
 */
static bool fail_static_if(struct elab *e, struct stmt *s)
{
	for (struct aif *a = s->u.cond; a; a = a->next)
		for (struct stmt *t = a->body.first; t; t = t->next) {
			if (t->kind == S_STATIC_IF)
				fail_static_if(e, t);
			for (uint32_t i = 0; i < t->ntargets; i++)
				if (!find_local(e, t->targets[i].name))
					bind_value(e, t->targets[i].name,
						   poison(t->targets[i].span), t->targets[i].span);
		}
	return false;
}

/* The names that the expression reads are not unused, though it is not evaluated. */
static void mark_read(struct elab *e, struct expr x)
{
	for (uint32_t i = x.first; i < x.first + x.len; i++) {
		const struct anode *n = &e->file->nodes.at[i];
		struct binding *b = n->kind == A_NAME ? find_local(e, n->u.sym) : NULL;
		if (b)
			b->used = true;
	}
}

/* The same for those that a block reads. Blocks nest to a limit. */
static void mark_read_in(struct elab *e, const struct ablock *b)
{
	for (const struct stmt *s = b->first; s; s = s->next) {
		if (s->kind == S_LOOP || s->kind == S_FOR) {
			for (const struct aitem *it = s->u.loop->items; it; it = it->next) {
				mark_read(e, it->value);
				mark_read(e, it->stop);
				mark_read(e, it->step);
			}
			mark_read(e, s->u.loop->condition);
			mark_read_in(e, &s->u.loop->body);
		} else if (s->kind == S_IF || s->kind == S_STATIC_IF) {
			mark_read_in_branches(e, s->u.cond, NULL);
		} else {
			mark_read(e, s->u.value);
		}
	}
}

/* The same for those that the branches from a on read, but for `chosen` */
void mark_read_in_branches(struct elab *e, const struct aif *a, const struct aif *chosen)
{
	for (; a; a = a->next)
		if (a != chosen) {
			mark_read(e, a->cond);
			mark_read_in(e, &a->body);
		}
}

/* Warns of values of this scope that nothing reads, in this or another branch of a static if. */
void warn_unread(struct elab *e)
{
	for (struct binding *b = e->scope->values; b && !e->frame->library; b = b->prev)
		if (!b->used && b->kind != CV_POISON)
			warn(e->cx, b->span, W_UNUSED, "'%s' is never used%s", b->sym->s,
			     b->kind == CV_VALUE && is_rng((enum dtype)b->u.v->type.dtype)
				     ? ": a generator that is drawn from twice gives the same "
				       "numbers twice"
				     : "");
}

/* Walks all branches, of which only a call chooses one. */
static bool check_branches(struct elab *e, struct stmt *s)
{
	for (struct aif *a = s->u.cond; a; a = a->next) {
		if (a->cond.len)
			eval(e, a->cond);
		push_scope(e);
		exec_block(e, &a->body);
		pop_scope(e);
	}
	return fail_static_if(e, s);
}

/* A static if, without targets: the condition is known at compile time. Names of the chosen branch
 * are visible after it. */
static bool exec_static_if(struct elab *e, struct stmt *s)
{
	if (e->checking)
		return check_branches(e, s);
	for (struct aif *a = s->u.cond; a; a = a->next) {
		if (!a->cond.len) {
			mark_read_in_branches(e, s->u.cond, a);
			return exec_block(e, &a->body);
		}
		struct cv c = eval(e, a->cond);
		if (c.kind == CV_POISON)
			return fail_static_if(e, s);
		if (c.kind != CV_BOOL && e->trying) /* a caller may know it */
			return fail_static_if(e, s);
		if (c.kind != CV_BOOL) {
			elab_error(e, a->span, E_STATEMENT,
				   "this condition is known at run time only: write 'y = if ...', "
				   "which gives values");
			return fail_static_if(e, s);
		}
		if (c.u.b) {
			mark_read_in_branches(e, s->u.cond, a);
			return exec_block(e, &a->body);
		}
	}
	mark_read_in_branches(e, s->u.cond, NULL);
	return true;
}

/* The statement could not be parsed. Its targets are bound to poison, so that they are not reported
 * as undefined. The types of results read the names of sizes. */
static void bind_lost(struct elab *e, struct stmt *s)
{
	for (uint32_t i = 0; i < s->ntargets; i++)
		if (!find_local(e, s->targets[i].name) && !find_dim(e, s->targets[i].name))
			bind_missing(e, s->targets[i].name, s->span);
}

/* Goes on after a failure, so that one run reports all mistakes. */
bool exec_block(struct elab *e, struct ablock *b)
{
	bool ok = true;

	for (struct stmt *s = b->first; s; s = s->next) {
		if (s->next && s->next->kind == S_LOST && s->next->goes_on) {
			bind_lost(e, s);
			ok = false;
			continue;
		}
		if (e->fors && !count_statement(e, s->span))
			return false;
		switch ((enum stmt_kind)s->kind) {
		case S_ASSIGN:
			ok = exec_assign(e, s) && ok;
			break;
		case S_IF:
			ok = exec_if(e, s) && ok;
			break;
		case S_LOOP:
			ok = exec_loop(e, s) && ok;
			break;
		case S_FOR:
			ok = exec_for(e, s) && ok;
			break;
		case S_STATIC_IF:
			ok = exec_static_if(e, s) && ok;
			break;
		case S_STATE:
			ok = exec_state(e, s) && ok;
			break;
		case S_NEXT:
			ok = exec_next(e, s) && ok;
			break;
		case S_UNTIL:
			ok = exec_until(e, s) && ok;
			break;
		case S_LOST:
			bind_lost(e, s);
			e->frame->nameless += s->nameless;
			ok = false;
			break;
		}
	}
	return ok;
}

/* ---- graphs of a file ---- */

/* If axis `axis` of v has a length like 2*n+1, in which n alone has no source: n is computed from
 * the length, as max((length - 1) // 2, 0). A length that is no 2*n+1 is found by the check of this
 * equation at run time. */
static bool solve_dim(struct elab *e, struct value *v, uint32_t axis, struct span s)
{
	struct ctx *cx = e->cx;
	dim d = v->type.dims[axis], zero = dim_const(cx, 0);
	struct dim_view sum = dim_view(cx, d);
	uint32_t at = 0, unknown = 0;

	for (uint32_t k = 0; sum.form == DIM_SUM && k < sum.nterms; k++) {
		struct dim_view w = dim_view(cx, sum.term[k]);
		if (w.form != DIM_ATOM || w.kind != SOURCE_NONE)
			continue;
		at = k;
		unknown++;
	}
	if (unknown != 1 || sum.coef[at] == INT64_MIN)
		return false;
	int64_t c = sum.coef[at];
	dim n = sum.term[at], size = dim_fresh(cx, SOURCE_SIZE, v, axis);
	dim rest = dim_sub(cx, d, dim_mul(cx, dim_const(cx, c), n));
	dim times = c < 0 ? dim_sub(cx, rest, size) : dim_sub(cx, size, rest);
	dim is = dim_max(cx, dim_floordiv(cx, times, dim_const(cx, c < 0 ? -c : c)), zero);
	struct value *source = dim_to_value(e, is, s);
	source->known = NULL; /* n is read from this value: it must not be folded to `is` */
	dim_set_source(cx, n, SOURCE_VALUE, source, 0);
	return true;
}

/* A name may need another name that a later parameter defines: passes until nothing changes. */
static void solve_dims(struct elab *e, struct fn *f, struct value **v)
{
	bool more = true;

	for (int round = 0; more && round < MAX_SOLVE_ROUNDS; round++) {
		more = false;
		for (uint32_t i = 0; i < f->nparams; i++)
			for (uint32_t k = 0; v[i]->type.dtype && k < v[i]->type.rank; k++)
				more |= solve_dim(e, v[i], k, f->params[i].span);
	}
}

static bool graph_param(struct elab *e, struct param *p, struct value *v)
{
	if (!p->type.len) {
		elab_error(e, p->span, E_ANNOTATION,
			   "a parameter of a graph needs a type: %s: float64[n]", p->name->s);
		return false;
	}
	if (!make_type(e, p->type, v, &v->type))
		return false;
	v->name = p->name;
	define_known(e->cx, v);
	return true;
}

static void graph_params(struct elab *e, struct fn *f)
{
	struct value **v = new_array(e->cx->arena, struct value *, f->nparams + 1);

	e->header = true;
	for (uint32_t i = 0; i < f->nparams; i++) {
		v[i] = graph_value(e->cx, (struct type){0}, f->params[i].span);
		declare_dims(e, f->params[i].type, v[i]);
	}
	for (uint32_t i = 0; i < f->nparams; i++) {
		struct param *p = &f->params[i];
		bool ok = graph_param(e, p, v[i]);
		struct binding *b = bind_value(

			e, p->name, ok ? cv_value(v[i], p->span) : poison(p->span), p->span);
		b->used = true;
		b->unread = ok;
		*vec_push(e->cx->arena, &e->graph->block->params) = v[i];
	}
	e->header = false;
	solve_dims(e, f, v);
	for (struct binding *b = e->scope->dims; b; b = b->prev)
		b->used = false; /* those in the header: see warn_unused() */
}

/* Gives v the name of an output. If v has a name already, the output is an Identity of v. */
static struct value *named_output(struct elab *e, struct value *v, struct sym *name, struct span s)
{
	if (v->name == name || (!v->name && v->def && v->def->op != &op_dim)) {
		v->name = name;
		return v;
	}
	struct value *in[1] = {v};
	const struct op *op = op_named(e->cx, "Identity");
	struct cv *props = bind_props(e->cx, op, s, NULL, 0);
	struct node *n = graph_node(e->cx, e->block, op, props, in, 1, s);
	n->out[0]->name = name;
	return n->out[0];
}

static bool graph_result(struct elab *e, struct fn *f, uint32_t i)
{
	struct param *r = &f->results[i];
	struct binding *b = find_local(e, r->name);

	if (b && b->result) {
		elab_error(e, r->span, E_DUPLICATE, "the result '%s' is named twice", r->name->s);
		return false;
	}
	if (e->file->lost &&
	    (!b || r->type.len)) /* what cannot be read may define it, or its sizes */
		return false;
	if (!b && e->frame->taken) {
		note(e->cx, e->frame->taken, r->span, "and the result '%s' is never defined",
		     r->name->s);
		e->frame->taken = NULL;
		return false;
	}
	if (!b) {
		const char *near = near_name(e, r->name);
		elab_error(e, r->span, E_NO_OUTPUT, "the result '%s' is never defined%s%s%s",
			   r->name->s, near ? "; did you mean '" : "", near ? near : "",
			   near ? "'?" : "");
		return false;
	}
	b->used = b->result = true;
	b->unread = false;
	struct value *v = declared_result(e, r, b);
	if (!v)
		return false;
	warn_old_dtype(e, r, v);
	v = named_output(e, v, r->name, r->span);
	*vec_push(e->cx->arena, &e->graph->block->results) = v;
	return true;
}

/* --expect nn=64, where no size is called nn */
static void warn_expected(struct elab *e)
{
	struct ctx *cx = e->cx;
	vec(const char *) names = {0};

	for (const struct binding *b = e->scope->dims; b; b = b->prev)
		*vec_push(cx->arena, &names) = b->sym->s;
	for (const char *const *x = cx->opt.expected; x && *x; x++) {
		struct sym *name = intern(cx, *x, (size_t)(strrchr(*x, '=') - *x));
		const char *near = did_you_mean(name->s, names.at, names.len);
		if (!find_dim(e, name))
			warn(cx, (struct span){0, 0}, W_EXPECTED,
			     "an expected length is given for '%s', but no size has that "
			     "name%s%s%s",
			     name->s, near ? "; did you mean '" : "", near ? near : "",
			     near ? "'?" : "");
	}
}

/* Does an expression use a size that the type of the input names? */
static bool uses_dims_of(struct elab *e, const struct param *p)
{
	for (uint32_t i = p->type.first; i < p->type.first + p->type.len; i++) {
		const struct anode *n = &e->file->nodes.at[i];
		struct binding *b = n->kind == A_NAME ? find_dim(e, n->u.sym) : NULL;
		if (b && b->used)
			return true;
	}
	return false;
}

static void warn_unused(struct elab *e, const struct fn *f)
{
	for (uint32_t i = 0; i < f->nparams; i++) {
		struct binding *b = find_value(e, f->params[i].name);
		if (b && b->unread && !uses_dims_of(e, &f->params[i]))
			warn(e->cx, b->span, W_UNUSED, "the input '%s' is never used", b->sym->s);
	}
	warn_unread(e);
}

/* Is there an update of a state? It is an output as well. */
static bool updates_state(const struct graph *g)
{
	for (uint32_t i = 0; i < g->states.len; i++)
		if (g->states.at[i].next)
			return true;
	return false;
}

static void run_graph(struct elab *e, struct fn *f)
{
	struct frame frame = {.fn = f};

	e->frame = &frame;
	push_scope(e);
	for (uint32_t i = 0; i < f->ndecls; i++)
		elab_error(e, f->decls[i].span, E_PROPERTY,
			   "a graph has no properties: only fns do");
	graph_params(e, f);
	e->graph->prologue = e->block->last;
	exec_block(e, &f->body);
	for (uint32_t i = 0; i < f->nresults; i++)
		if (!graph_result(e, f, i) && !e->cx->errors)
			bug("the result '%s' was lost without a message", f->results[i].name->s);
	if (!f->nresults && !updates_state(e->graph) &&
	    !e->cx->errors) /* else the mistake may be why */
		elab_error(e, f->name_span, E_NO_OUTPUT, "graph '%s' has no results", f->name->s);
	if (!e->cx->errors) {
		warn_unused(e, f);
		warn_expected(e);
	}
	pop_scope(e);
	e->frame = NULL;
}

/* ---- elaborate ---- */

static struct elab *elab_new(struct ctx *cx, expand_fn_t *const *expand)
{
	struct elab *e = new (cx->arena, struct elab);

	e->cx = cx;
	e->expansions = expand;
	e->underscore = intern_str(cx, "_");
	cx->meanings_text = meanings_text;
	cx->elab = e;
	return e;
}

struct graph *elaborate(struct ctx *cx, struct file *f, expand_fn_t *const *expand, bool fns_alone)
{
	struct elab *e = elab_new(cx, expand);
	struct graph *g = new (cx->arena, struct graph);

	ops_init(cx);
	e->file = f;
	e->graph = g;
	g->block = e->block = new (cx->arena, struct block);
	cx->floatx = f->floatx ? f->floatx : DT_FLOAT64;
	if (!cx->opt.ml_opset)
		cx->opt.ml_opset = f->ml_opset;
	if (!use_files(e, f))
		return NULL;
	if (!f->graphs) {
		eval_consts(e);
		check_fns(e);
		if (!cx->errors && !fns_alone && !cx->why)
			error(cx, f->header, E_NO_GRAPH, "the file defines no graph");
		return cx->why ? g : NULL;
	}
	for (struct fn *extra = f->graphs->next; extra; extra = extra->next)
		error2(cx, extra->name_span, f->graphs->name_span, E_STATEMENT,
		       "a file has one graph; '%s' is a second one", extra->name->s);
	g->name = f->graphs->name;
	f->graphs->file = f;
	dim_keep_ones(cx, true);
	eval_consts(e);
	run_graph(e, f->graphs);
	dim_keep_ones(cx, false);
	check_indices(cx);
	check_fns(e);
	e->file = NULL; /* the syntax tree is freed */
	return e->limited ? NULL : g;
}
