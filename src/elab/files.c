/*
 * files.c: the files of a model, and the names that stand outside of graphs and fns.
 * In: the file that is compiled. Out: all files that it uses, the fns, consts and aliases of each.
 * A module is the compiled file, or a file that is used with an alias, together with the files that
 * it uses without one: fns of a module see each other. A file that is in two modules is read once
 * and parsed for each, as its names mean other things there.
 */
#include <string.h>

#include "elab/internal.h"

bool uses_library(struct elab *e, const char *library)
{
	for (uint32_t i = 0; i < e->used.len; i++)
		for (struct ause *u = e->used.at[i]->uses; u; u = u->next)
			if (e->used.at[i]->module == e->file->module && u->library && !u->alias &&
			    !strcmp(u->library->s, library))
				return true;
	return false;
}

/* ---- m.Act, m.k ---- */

static void report_not_in(struct elab *e, const struct ause *u, const char *name, bool consts,
			  struct span s)
{
	vec(const char *) names = {0};

	for (size_t i = 0; u->library && i < lib_count; i++)
		if (lib_texts[i].of && !strcmp(lib_texts[i].of, u->library->s))
			*vec_push(e->cx->arena, &names) = lib_texts[i].name;
	for (struct fn *f = u->file ? u->file->fns : NULL; f; f = f->next)
		*vec_push(e->cx->arena, &names) = f->name->s;
	for (struct aconst *c = u->file && consts ? u->file->consts : NULL; c; c = c->next)
		*vec_push(e->cx->arena, &names) = c->name->s;
	const char *near = did_you_mean(name, names.at, names.len);
	elab_error(e, s, E_UNKNOWN_OP, "%s%s%s, which is '%s' here, has no fn%s '%s'%s%s%s%s%s",
		   u->library ? "<" : "", u->library ? u->library->s : u->file->source->name,
		   u->library ? ">" : "", u->alias->s, consts ? " and no const" : "", name,
		   near ? "; did you mean '" : "", near ? u->alias->s : "", near ? "." : "",
		   near ? near : "", near ? "'?" : "");
}

/* The fn of the file or library itself, not of what the file uses; NULL: there is none */
static struct fn *fn_of_use(struct elab *e, const struct ause *u, struct sym *name)
{
	if (u->library) {
		const char *of = lib_of(name->s);
		return of && !strcmp(of, u->library->s) ? lib_fn(e->cx, name->s) : NULL;
	}
	struct global *g = u->file ? find_global(e, GLOBAL_FN, u->file, name) : NULL;
	return g && g->u.fn->file == u->file ? g->u.fn : NULL;
}

bool find_through_alias(struct elab *e, const struct anode *n, struct fn **fn)
{
	const char *name = n->u.sym->s, *dot = strchr(name, '.');
	const struct source *text = dot ? source_of(e->cx, n->at) : NULL;
	struct ause *u = NULL;

	*fn = NULL;
	if (dot && text->text[n->at.begin - text->base] != '`')
		u = find_alias(e, intern(e->cx, name, (size_t)(dot - name)));
	if (!u)
		return false;
	*fn = fn_of_use(e, u, intern_str(e->cx, dot + 1));
	if (!*fn && (u->file || u->library))
		report_not_in(e, u, dot + 1, false, n->at);
	return true;
}

struct cv alias_attribute(struct elab *e, const struct ause *u, struct sym *name, struct span s)
{
	struct binding *b = u->file ? find_const(e, u->file, name) : NULL;
	struct cv v = {.kind = CV_SYM, .span = s};

	if (b && b->later) {
		elab_error(e, s, E_UNDEFINED,
			   "'%s.%s' has no value yet: the consts of these files need each other",
			   u->alias->s, name->s);
		return poison(s);
	}
	if (b) {
		v = binding_cv(b);
		if (v.kind != CV_FLOAT)
			v.span = s;
		return v;
	}
	v.fn = fn_of_use(e, u, name);
	if (v.fn) {
		v.u.sym = intern_str(e->cx,
				     arena_printf(e->cx->arena, "%s.%s", u->alias->s, name->s));
		return v;
	}
	if (u->file || u->library)
		report_not_in(e, u, name->s, true, s);
	return poison(s);
}

/* ---- files ---- */

const char *aliased_name(struct elab *e, struct sym *fn)
{
	for (struct ause *u = e->file->uses; u; u = u->next)
		if (u->alias && fn_of_use(e, u, fn))
			return arena_printf(e->cx->arena, "%s.%s", u->alias->s, fn->s);
	return NULL;
}

static void register_fns(struct elab *e, struct file *f)
{
	for (struct fn *fn = f->fns; fn; fn = fn->next) {
		struct global *g = find_global(e, GLOBAL_FN, f->module, fn->name);
		fn->file = f;
		if (g) {
			struct diag *d = error(e->cx, fn->name_span, E_DUPLICATE,
					       "fn '%s' is already defined", fn->name->s);
			note(e->cx, d, g->u.fn->name_span, "the first definition is here");
			if (g->u.fn->file != f)
				note(e->cx, d, (struct span){0, 0},
				     "use \"...\" as m keeps the fns of a file apart: m.%s",
				     fn->name->s);
			continue;
		}
		if (fn->name->op)
			warn(e->cx, fn->name_span, W_SHADOW_OP, "fn '%s' hides the op of that name",
			     fn->name->s);
		add_global(e, GLOBAL_FN, f->module, fn->name)->u.fn = fn;
	}
}

static void register_consts(struct elab *e, struct file *f)
{
	for (struct aconst *c = f->consts; c; c = c->next) {
		struct global *g = find_global(e, GLOBAL_CONST, f, c->name);
		if (g || c->name == e->underscore) {
			struct diag *d = error(e->cx, c->span, E_DUPLICATE,
					       g ? "const '%s' is already defined"
						 : "'%s' discards a result: a const has a name",
					       c->name->s);
			if (g)
				note(e->cx, d, g->u.constant->span, "the first definition is here");
			continue;
		}
		struct binding *b = new (e->cx->scratch, struct binding);
		*b = (struct binding){.sym = c->name, .span = c->span, .later = true};
		b->kind = CV_POISON;
		add_global(e, GLOBAL_CONST, f, c->name)->u.constant = b;
	}
}

static void register_alias(struct elab *e, struct file *f, struct ause *u)
{
	static const char *const domains[] = {"onnx", "ai", "com"};
	struct global *g = find_global(e, GLOBAL_ALIAS, f, u->alias);

	for (size_t i = 0; i < countof(domains); i++)
		if (!strcmp(u->alias->s, domains[i])) {
			error(e->cx, u->alias_span, E_DUPLICATE,
			      "'%s' begins the names of ONNX's operators: a file needs another "
			      "name",
			      domains[i]);
			return;
		}
	if (g)
		error2(e->cx, u->alias_span, g->u.use->alias_span, E_DUPLICATE,
		       "'%s' is already the name of a file", u->alias->s);
	else
		add_global(e, GLOBAL_ALIAS, f, u->alias)->u.use = u;
}

/* The file of a `use` as a part of `module`, or as a module of its own if that is NULL. A new one
 * is read later, as one of e->used. NULL: reported, or it is not needed */
static struct file *use_file(struct elab *e, struct file *from, struct ause *u, struct file *module)
{
	uint32_t errors = e->cx->errors;
	const char *path = file_name(e->cx, &u->path, u->span);
	struct source *src = path ? file_source(e->cx, from->source, u->span, path) : NULL;

	e->fns_missing |= e->cx->errors > errors || !src;
	if (!src)
		return NULL;
	struct global *g = find_global(e, GLOBAL_TEXT, module, src);
	if (g)
		return g->u.file;
	if (e->used.len == MAX_FILES) {
		error(e->cx, u->span, E_LIMIT, "more than %d files are used", MAX_FILES);
		e->limited = true;
		return NULL;
	}
	if (find_global(e, GLOBAL_TEXT, &e->broken, src)) /* for another module; it is reported */
		return NULL;
	struct file *f = parse(e->cx, src);
	f->module = module ? module : f;
	if (!f->sound) {
		e->broken = true;
		add_global(e, GLOBAL_TEXT, &e->broken, src);
	}
	add_global(e, GLOBAL_TEXT, module, src)->u.file = f;
	*vec_push(e->cx->arena, &e->used) = f;
	return f;
}

/* use <mcmc>: the library has fns that are for this use */
static void check_library(struct elab *e, const struct ause *u)
{
	vec(const char *) names = {0};

	for (size_t i = 0; i < lib_count; i++) {
		if (!lib_texts[i].of)
			continue;
		if (!strcmp(lib_texts[i].of, u->library->s))
			return;
		*vec_push(e->cx->arena, &names) = lib_texts[i].of;
	}
	e->fns_missing = true;
	const char *near = did_you_mean(u->library->s, names.at, names.len);
	error(e->cx, u->span, E_UNKNOWN_OP, "there is no library <%s>%s%s%s", u->library->s,
	      near ? ", did you mean <" : "", near ? near : "", near ? ">?" : "");
}

bool use_files(struct elab *e, struct file *main)
{
	main->module = main;
	e->broken = !main->sound;
	add_global(e, GLOBAL_TEXT, main, main->source)->u.file = main;
	*vec_push(e->cx->arena, &e->used) = main;
	for (uint32_t i = 0; i < e->used.len && !e->limited; i++) {
		struct file *f = e->used.at[i];
		register_fns(e, f);
		register_consts(e, f);
		for (struct ause *u = f->uses; u; u = u->next) {
			if (u->alias)
				register_alias(e, f, u);
			if (u->library)
				check_library(e, u);
			else
				u->file = use_file(e, f, u, u->alias ? NULL : f->module);
		}
		if (i && f->graphs)
			warn(e->cx, f->graphs->name_span, W_UNUSED,
			     "a graph in a file that is 'use'd is ignored");
	}
	return !e->broken;
}

/* ---- consts ---- */

/* May a const be v? Lists nest at most MAX_RANK deep. */
static bool may_be_const(const struct cv *v)
{
	switch (v->kind) {
	case CV_INT:
	case CV_FLOAT:
	case CV_COMPLEX:
	case CV_BOOL:
	case CV_STR:
	case CV_DTYPE:
	case CV_DATA:
		return true;
	case CV_VALUE:
		return v->u.v->data != NULL;
	case CV_LIST:
	case CV_TUPLE:
		for (uint32_t i = 0; i < v->n && !v->neg; i++) /* neg: the list is a const itself */
			if (!may_be_const(&v->u.items[i]))
				return false;
		return true;
	default:
		return false;
	}
}

/* The value of c, a literal, or a constant of the type that is written. Poison: reported */
static struct cv const_value(struct elab *e, const struct aconst *c)
{
	struct cv v = eval(e, c->value);

	if (v.kind == CV_POISON || !all_defined(e, &v, 1))
		return poison(c->span);
	if ((v.kind == CV_LIST || v.kind == CV_TUPLE) && !all_defined(e, v.u.items, v.n))
		return poison(c->span);
	if (!may_be_const(&v)) {
		if (v.kind == CV_VALUE || v.kind == CV_LIST || v.kind == CV_TUPLE ||
		    v.kind == CV_DIM)
			elab_error(e, v.span, E_EXPRESSION,
				   "a const must be known at compile time, but '%s' is computed in "
				   "the run: write it in the graph or in a fn",
				   c->name->s);
		else
			elab_error(
				e, v.span, E_EXPRESSION,
				"a const is a number, a bool, a string, a dtype or a list, not %s",
				cv_kind_name(&v));
		return poison(c->span);
	}
	if (!c->type.len)
		return v;
	struct value *x = to_value(e, &v, cv_is_weak(&v) ? written_dtype(e, c->type) : DT_NONE);
	bool ok = x && x->type.dtype &&
		  match_type(e, c->type, x, MATCH_PROVES, "const", c->name, c->span, NULL);
	return ok ? cv_value(x, c->span) : poison(c->span);
}

/* A file's tensor as a constant like those that the text writes. Passes may fold it; a weight,
 * which keeps its file's name, they leave as it is. */
static struct value *without_file(struct ctx *cx, struct value *v)
{
	if (!v->data || !v->data->name)
		return v;
	struct tensor *t = new (cx->arena, struct tensor);
	*t = *v->data;
	t->name = NULL;
	return graph_constant(cx, t, v->span);
}

/* Evaluates the consts of f in the order in which they are written. Nodes that their expressions
 * make are dropped with the block. */
static void eval_consts_of(struct elab *e, struct file *f)
{
	struct fn none = {.is_graph = true, .file = f};
	struct frame frame = {.fn = &none};
	struct block block = {0}, *outer = e->block;

	none.name = intern_str(e->cx, "const");
	e->frame = &frame;
	e->file = f;
	e->block = &block;
	push_scope(e);
	for (struct aconst *c = f->consts; c; c = c->next) {
		struct binding *b = find_const(e, f, c->name);
		if (!b || !b->later)
			continue;
		e->in_const = c->name;
		struct cv v = const_value(e, c);
		b->later = false;
		b->kind = v.kind;
		if (v.kind == CV_VALUE) {
			b->u.v = without_file(e->cx, v.u.v);
			b->weak = v.weak;
			if (!b->u.v->name)
				b->u.v->name = c->name;
		} else if (v.kind != CV_POISON) {
			b->u.cv = new (e->cx->scratch, struct cv);
			*b->u.cv = v;
			b->u.cv->neg |= v.kind == CV_LIST || v.kind == CV_TUPLE;
		}
	}
	pop_scope(e);
	e->in_const = NULL;
	e->block = outer;
	e->frame = NULL;
}

/* A const of a file may use those of the files that have an alias there, so these come first. Where
 * files use each other, one of them does. */
void eval_consts(struct elab *e)
{
	struct open {
		struct file *file;
		struct ause *next;
	};
	vec(struct open) stack = {0};

	for (uint32_t i = 0; i < e->used.len; i++) {
		struct file *f = e->used.at[i];
		if (!f->ordered)
			*vec_push(e->cx->scratch, &stack) = (struct open){f, f->uses};
		f->ordered = true;
		while (stack.len) {
			struct open *top = &stack.at[stack.len - 1];
			struct ause *u = top->next;
			if (!u) {
				if (top->file->consts)
					eval_consts_of(e, top->file);
				stack.len--;
				continue;
			}
			top->next = u->next;
			if (!u->alias || !u->file || u->file->ordered)
				continue;
			u->file->ordered = true;
			*vec_push(e->cx->scratch, &stack) = (struct open){u->file, u->file->uses};
		}
	}
	e->file = e->used.at[0];
}
