/*
 * fn.c: expands calls of fns. The body is elaborated in a frame of its own, with its parameters
 * bound to the values of the caller. Generic dtypes, ranks and dims are those of the call. The
 * library in lib/ and the bodies of ops/ops.def are fns like those of users.
 */
#include <stdlib.h>
#include <string.h>

#include "elab/internal.h"

bool check_recursion(struct elab *e, struct fn *f, struct span call)
{
	if (f->active)
		elab_error(e, call, E_RECURSION, "fn '%s' uses itself; write a loop", f->name->s);
	return !f->active;
}

/* Is a limit reached, or does f call itself? true: reported */
static bool exceeds_limits(struct elab *e, struct fn *f, struct span call)
{
	uint32_t depth = e->frame ? e->frame->depth + 1 : 1;

	if (!check_recursion(e, f, call))
		return true;
	if (depth > MAX_FN_DEPTH || (depth > 1 && ++e->nested > MAX_EXPANSION)) {
		if (!e->limited)
			elab_error(e, call, E_LIMIT,
				   depth > MAX_FN_DEPTH
					   ? "fns nest deeper than %d"
					   : "fns inside fns expand to more than %d calls, "
					     "names, numbers and operators",
				   depth > MAX_FN_DEPTH ? MAX_FN_DEPTH : MAX_EXPANSION);
		e->limited = true;
		return true;
	}
	return e->limited;
}

/* ---- properties ---- */

static bool is_param(const struct fn *f, const struct sym *name)
{
	for (uint32_t i = 0; i < f->nparams; i++)
		if (f->params[i].name == name)
			return true;
	return false;
}

/* As of ops, `axis` and `axes` are the same property, unless the fn has both. */
static int find_decl(struct fn *f, struct sym *name)
{
	const char *other = !strcmp(name->s, "axis")   ? "axes"
			    : !strcmp(name->s, "axes") ? "axis"
						       : "";
	int found = -1;

	for (uint32_t i = 0; i < f->ndecls; i++) {
		if (f->decls[i].name == name)
			return (int)i;
		if (!strcmp(f->decls[i].name->s, other))
			found = (int)i;
	}
	return found;
}

static void report_no_property(struct elab *e, const struct fn *f, const struct prop_arg *a)
{
	bool argument = a->name && is_param(f, a->name);

	elab_error(e, a->span, E_PROPERTY, "fn '%s' has no property %s%s%s%s", f->name->s,
		   a->name ? arena_printf(e->cx->arena, "'%s'", a->name->s) : "without a name",
		   argument ? "; it is an argument: " : "", argument ? f->name->s : "",
		   argument ? arena_printf(e->cx->arena, "(%s=...)", a->name->s) : "");
}

struct cv *given_props(struct elab *e, struct fn *f, const struct prop_arg *props, uint32_t nprops)
{
	struct cv *out = new_array(e->cx->arena, struct cv, f->ndecls + 1);
	bool ok = true;

	for (uint32_t i = 0, positional = 0; i < nprops; i++) {
		int k = props[i].name ? find_decl(f, props[i].name) : (int)positional++;
		if (k >= 0 && (uint32_t)k < f->ndecls && out[k].kind == CV_POISON) {
			out[k] = props[i].value;
			continue;
		}
		if (k >= 0 && (uint32_t)k < f->ndecls)
			elab_error(e, props[i].span, E_PROPERTY, "property '%s' is given twice",
				   f->decls[k].name->s);
		else
			report_no_property(e, f, &props[i]);
		ok = false;
	}
	return ok ? out : NULL;
}

static bool prop_kind_fits(const struct sym *type, const struct cv *v)
{
	if (type->dtype == DT_BOOL)
		return v->kind == CV_BOOL || (v->kind == CV_VALUE && v->u.v->type.dtype == DT_BOOL);
	if (type->dtype)
		return v->kind == CV_INT || v->kind == CV_FLOAT || v->kind == CV_BOOL ||
		       v->kind == CV_VALUE;
	if (!strcmp(type->s, "int"))
		return v->kind == CV_INT || v->kind == CV_DIM;
	if (!strcmp(type->s, "float"))
		return v->kind == CV_INT || v->kind == CV_FLOAT;
	if (!strcmp(type->s, "str"))
		return v->kind == CV_STR || v->kind == CV_SYM;
	if (!strcmp(type->s, "fn"))
		return v->kind == CV_OP;
	return strcmp(type->s, "dtype") || v->kind == CV_DTYPE;
}

static bool known_kind(const struct sym *type)
{
	static const char *const kinds[] = {"int", "float", "str", "dtype", "fn"};

	for (size_t i = 0; i < countof(kinds); i++)
		if (!strcmp(type->s, kinds[i]))
			return true;
	return type->dtype || generic_name(type);
}

/* Is v of the kind of the declared property d? false: reported */
static bool check_kind(struct elab *e, struct fn *f, const struct param *d, struct cv *v)
{
	const struct anode *t = &e->file->nodes.at[d->type.first + d->type.len - 1];
	bool real = v->kind == CV_FLOAT && !strcmp(t->u.sym->s, "int");

	if (!strcmp(t->u.sym->s, "fn") && read_opref(e->cx, v) && v->kind == CV_POISON)
		return false;
	if (!known_kind(t->u.sym))
		elab_error(e, t->at, E_UNKNOWN_DTYPE,
			   "unknown kind '%s' of a property: int, float, bool, str, dtype, fn, or "
			   "the dtype of a value",
			   t->u.sym->s);
	else if (!prop_kind_fits(t->u.sym, v))
		elab_error(e, v->span, E_PROPERTY,
			   "property '%s' of '%s': expected %s but got %s%s%s%s", d->name->s,
			   f->name->s, strcmp(t->u.sym->s, "fn") ? t->u.sym->s : "the name of a fn",
			   cv_kind_name(v), real ? "; a fn that takes any number declares " : "",
			   real ? d->name->s : "", real ? ": float" : "");
	else
		return true;
	return false;
}

/* Binds the properties in the callee's frame; defaults are evaluated there. */
static bool bind_decls(struct elab *e, struct fn *f, const struct cv *given, struct span call)
{
	for (uint32_t i = 0; i < f->ndecls; i++) {
		struct param *d = &f->decls[i];
		struct cv v = given[i];
		if (v.kind == CV_POISON) {
			if (!d->value.len) {
				elab_error(e, call, E_PROPERTY, "fn '%s' needs the property '%s'",
					   f->name->s, d->name->s);
				return false;
			}
			v = eval(e, d->value);
			if (v.kind == CV_POISON)
				return false;
		}
		if (d->type.len && !check_kind(e, f, d, &v))
			return false;
		if (v.kind ==
		    CV_SYM) { /* a name without a value stands for the string of its letters */
			struct astr *s = new (e->cx->arena, struct astr);
			*s = (struct astr){v.u.sym->s, v.u.sym->len};
			v = (struct cv){.kind = CV_STR, .span = v.span, .u.str = s};
		}
		bind_value(e, d->name, v, d->span)->used = true;
	}
	return true;
}

/* ---- parameters and results ---- */

static bool bind_param(struct elab *e, struct param *p, struct cv *arg, struct span call)
{
	struct cv v = *arg;

	if (v.kind == CV_NONE) { /* an omitted optional input */
		bind_value(e, p->name, v, p->span)->used = true;
		return true;
	}
	struct value *x = to_value(e, &v, cv_is_weak(&v) ? written_dtype(e, p->type) : DT_NONE);
	if (!x || !x->type.dtype)
		return false;
	struct frame *callee = e->frame;
	struct span at = callee->library ? call : v.span;
	if (!match_type(e, p->type, x, MATCH_SETS, "argument", p->name, at, NULL))
		return false;
	bind_value(e, p->name, cv_value(x, p->span), p->span)->used = true;
	return true;
}

/* The default of parameter i, in the callee's frame: it sees properties, dims, generic dtypes, and
 * the parameters before it. */
static bool bind_default(struct elab *e, struct fn *f, uint32_t i, struct span call)
{
	struct cv v = eval(e, f->params[i].value);

	return v.kind != CV_POISON && bind_param(e, &f->params[i], &v, call);
}

/* Typed arguments first: they bind the generic dtypes, which weak literals then take. Defaults
 * last: they may use what the arguments bind. */
static bool bind_params(struct elab *e, struct fn *f, struct cv *args, struct span call)
{
	bool ok = true;

	for (int weak = 0; weak < 2; weak++)
		for (uint32_t i = 0; i < f->nparams; i++)
			if (args[i].kind != CV_POISON && cv_is_weak(&args[i]) == (weak != 0))
				ok = bind_param(e, &f->params[i], &args[i], call) && ok;
	for (uint32_t i = 0; i < f->nparams && ok; i++)
		if (args[i].kind == CV_POISON)
			ok = bind_default(e, f, i, call);
	return ok;
}

struct value *declared_result(struct elab *e, const struct param *r, const struct binding *b)
{
	struct cv cv = binding_cv(b);

	why_note(e, r->name, cv, r->span, false);
	if (cv.kind == CV_POISON)
		return NULL;
	struct value *v = to_value(e, &cv, cv_is_weak(&cv) ? written_dtype(e, r->type) : DT_NONE);
	return v && v->type.dtype && !report_made_dtype(e, r, v) &&
			       match_type(e, r->type, v, MATCH_PROVES, "result", r->name, r->span,
					  NULL)
		       ? v
		       : NULL;
}

static bool fn_result(struct elab *e, struct fn *f, struct param *r, struct cv *out)
{
	struct binding *b = find_local(e, r->name);

	if (!b && f->file->lost)
		return false;
	if (!b) {
		elab_error(e, r->span, E_NO_OUTPUT, "fn '%s' never defines its result '%s'",
			   f->name->s, r->name->s);
		return false;
	}
	b->used = true;
	struct value *v = declared_result(e, r, b);
	if (!v)
		return false;
	*out = cv_value(v, r->span);
	return true;
}

static bool run_fn(struct elab *e, struct fn *f, const struct cv *given, struct cv *args,
		   struct span call, struct cv *results)
{
	bool ok = bind_decls(e, f, given, call) && bind_params(e, f, args, call);

	ok = ok && exec_block(e, &f->body);
	for (uint32_t i = 0; i < f->nresults && ok; i++)
		ok = fn_result(e, f, &f->results[i], &results[i]);
	if (ok)
		warn_unread(e);
	return ok;
}

void enter_body(struct elab *e, struct fn *f, struct frame *frame, struct elab *outer)
{
	*outer = *e;
	e->frame = frame;
	e->file = f->file;
	e->scope = NULL;
	e->loop = NULL;
	e->root_file = NULL;
	e->wanted = NULL;
	e->checking = false;
	f->active = true;
	push_scope(e);
}

void leave_body(struct elab *e, struct fn *f, const struct elab *outer)
{
	pop_scope(e);
	f->active = false;
	e->frame = outer->frame;
	e->file = outer->file;
	e->scope = outer->scope;
	e->loop = outer->loop;
	e->root = outer->root;
	e->nroot = outer->nroot;
	e->root_file = outer->root_file;
	e->wanted = outer->wanted;
	e->checking = outer->checking;
}

/* Expands f in a new frame. given, args: a value for each property and parameter; poison: the
 * default
 */
static bool enter_fn(struct elab *e, struct fn *f, struct span call, const struct cv *given,
		     struct cv *args, struct cv *results)
{
	struct frame frame = {.fn = f, .call = node_span(e, call)};
	struct elab saved;
	uint32_t outer = e->cx->call;

	frame.depth = e->frame ? e->frame->depth + 1 : 1;
	frame.library = f->file->source->lib; /* not so: a fn of the user, which a property names */
	if (!frame.library) {
		e->cx->call = call_add(e->cx, f->name->s, 0, frame.call);
		call_of(e->cx, e->cx->call)->trial = !e->frame; /* see check.c */
	}
	f->used = true;
	enter_body(e, f, &frame, &saved);
	bool ok = run_fn(e, f, given, args, call, results);
	leave_body(e, f, &saved);
	e->cx->call = outer;
	return ok;
}

bool check_arity(struct elab *e, const struct fn *f, uint32_t nargs, struct span call)
{
	bool fits = nargs == f->nparams || (nargs < f->nparams && f->params[nargs].value.len);

	if (!fits)
		report_arity(e, f, nargs, call);
	return fits;
}

bool expand_call(struct elab *e, struct fn *f, struct span call, const struct cv *given,
		 struct cv *args, uint32_t nargs, struct cv *results)
{
	if (exceeds_limits(e, f, call))
		return false;
	if (e->in_const) {
		elab_error(e, call, E_EXPRESSION,
			   "a const is made of numbers and other consts: call fn '%s' in a graph "
			   "or a fn",
			   f->name->s);
		return false;
	}
	if (!check_arity(e, f, nargs, call))
		return false;
	if (nargs < f->nparams) { /* poison for those that are left out */
		struct cv *all = new_array(e->cx->arena, struct cv, f->nparams);
		if (nargs)
			memcpy(all, args, nargs * sizeof(*all));
		args = all;
	}
	return (given || (given = given_props(e, f, NULL, 0))) &&
	       enter_fn(e, f, call, given, args, results);
}

/* ---- the library ---- */

struct lib {             /* ctx->lib */
	struct fn **fns; /* as in lib_texts; NULL: not parsed yet */
};

/* Parses a text of the compiler itself, which has one fn and no errors. */
static struct fn *parse_fn(struct ctx *cx, const char *name, const char *text, size_t len)
{
	struct source *src = source_add(cx, name, NULL, text, len);
	uint32_t errors = cx->errors;

	if (!src)
		bug("%s is not text", name);
	src->lib = true;
	struct file *f = parse(cx, src);
	if (cx->errors != errors || !f->fns) {
		struct strbuf b = {.arena = cx->arena};
		diag_render(cx, &b, false);
		bug("%s does not parse:\n%s", name, b.s);
	}
	f->fns->file = f;
	return f->fns;
}

static int compare_names(const void *name, const void *text)
{
	return strcmp(name, ((const struct lib_text *)text)->name);
}

static const struct lib_text *find_lib_text(const char *name)
{
	return bsearch(name, lib_texts, lib_count, sizeof(*lib_texts), compare_names);
}

const char *lib_of(const char *name)
{
	const struct lib_text *t = find_lib_text(name);

	return t ? t->of : NULL;
}

struct fn *lib_fn(struct ctx *cx, const char *name)
{
	const struct lib_text *t = find_lib_text(name);

	if (!t)
		return NULL;
	if (!cx->lib) {
		cx->lib = new (cx->arena, struct lib);
		cx->lib->fns = new_array(cx->arena, struct fn *, lib_count);
	}
	struct fn **f = &cx->lib->fns[t - lib_texts];
	if (!*f)
		*f = parse_fn(cx, arena_printf(cx->arena, "<lib>/%s", name), t->text, t->len);
	return *f;
}

uint32_t fn_params(const struct fn *f)
{
	return f->nparams;
}

enum dtype fn_param_dtype(const struct fn *f, uint32_t i)
{
	struct expr x = i < f->nparams ? f->params[i].type : (struct expr){0};

	return x.len ? f->file->nodes.at[x.first + x.len - 1].u.sym->dtype : DT_NONE;
}

uint32_t fn_results(const struct fn *f)
{
	return f->nresults;
}

/* The body of an op: the fn of the library that .lib names, or .onnx as the body of a fn with the
 * inputs and properties of the row. For an op of any number of inputs, .onnx combines two: a and b.
 */
struct fn *op_body(struct ctx *cx, const struct op *op)
{
	const struct op_sig *sig = op_sig(cx, op);
	struct strbuf b = {.arena = cx->arena};

	if (op->lib) {
		struct fn *f = lib_fn(cx, op->lib);
		if (!f)
			bug("%s: the library has no fn '%s'", op->name, op->lib);
		return f;
	}
	sb_printf(&b, "ptg 1 infix=onnx\nfn %s", op->name);
	for (uint32_t i = 0; i < sig->nprops; i++)
		sb_printf(&b, "%s%s", i ? ", " : "{", sig->props[i].name->s);
	sb_str(&b, sig->nprops ? "}(" : "(");
	if (sig->max == UINT32_MAX)
		sb_str(&b, "a, b");
	for (uint32_t i = 0; sig->max != UINT32_MAX && i < sig->ninputs; i++)
		sb_printf(&b, "%s%s", i ? ", " : "", sig->inputs[i].name->s);
	sb_printf(&b, ") -> (result) {\nresult = %s\n}\n", op->onnx);
	return parse_fn(cx, arena_printf(cx->arena, "<ops>/%s", op->name), b.s, b.len);
}

/* "onnx.Add" of onnx.Add(...) and of an operator that is this node whatever the types are, or NULL
 */
static const char *node_of(const struct fn *f, const struct anode *a)
{
	if (a->kind == A_CALL)
		return a->nprops ? NULL : a->u.sym->s;
	if ((a->kind != A_BINARY && a->kind != A_UNARY) || !f->file->infix_onnx ||
	    operators[a->op].bits || a->op == OPR_NE || a->op == OPR_MOD)
		return NULL;
	return operators[a->op].onnx;
}

enum onnx_id fn_as_node(const struct fn *f)
{
	const struct stmt *s = f->body.first;

	if (!s || s->next || s->kind != S_ASSIGN || s->ntargets != 1 || f->nresults != 1 ||
	    s->targets[0].name != f->results[0].name || f->ndecls || f->nparams > 8)
		return ONNX_NONE;
	const struct anode *a = f->file->nodes.at + s->u.value.first;
	const struct anode *call = a + s->u.value.len - 1;
	if (call->kind == A_NAME && f->nparams == 1 && call->u.sym == f->params[0].name)
		return ONNX_Identity;
	const char *name = node_of(f, call);
	if (!name || strncmp(name, "onnx.", 5) || call->n != f->nparams ||
	    call->size != call->n + 1)
		return ONNX_NONE;
	for (uint32_t i = 0; i < call->n; i++)
		if (a[i].kind != A_NAME || a[i].u.sym != f->params[i].name)
			return ONNX_NONE;
	return onnx_named(name + 5);
}

bool expand_fn(struct ctx *cx, struct block *b, struct fn *f, const struct op *op, struct cv *props,
	       struct value **in, uint32_t nin, struct value **out, uint32_t nout, struct span s)
{
	struct elab *e = cx->elab;
	struct block *block = e->block;
	struct frame base = {.library = true, .call = s};
	struct cv *args = new_array(cx->arena, struct cv, f->nparams + 1);
	struct cv *given = new_array(cx->arena, struct cv, f->ndecls + 1);
	struct cv *results = new_array(cx->arena, struct cv, f->nresults + 1);
	const struct op_sig *sig = op ? op_sig(cx, op) : NULL;
	enum dtype floatx = cx->floatx;
	uint32_t outer = cx->call;

	if (nin > f->nparams || nout > f->nresults)
		bug("fn '%s' is expanded with %u inputs and %u results", f->name->s, nin, nout);
	for (uint32_t i = 0; i < f->nparams; i++)
		args[i] = i < nin && in[i] ? cv_value(in[i], s)
					   : (struct cv){.kind = CV_NONE, .span = s};
	for (uint32_t i = 0; sig && i < sig->nprops; i++) {
		int k = find_decl(f, sig->props[i].name);
		if (k >= 0)
			given[k] = props[i];
	}
	text_place(cx, s, &cx->call);
	e->frame = &base;
	e->block = b;
	e->scope = NULL;
	cx->floatx = f->file->floatx; /* of the library, whatever the user's header says */
	bool ok = enter_fn(e, f, s, given, args, results);
	cx->floatx = floatx;
	cx->call = outer;
	e->frame = NULL;
	e->block = block;
	for (uint32_t i = 0; ok && i < nout; i++)
		out[i] = results[i].u.v;
	return ok;
}
