/*
 * scope.c: what names mean. In: names. Out: what they are bound to: in the scopes of the fn that is
 * expanded, in the file, or in the language. A name that a fn binds means nothing in the fns that
 * it calls.
 */
#include <ctype.h>
#include <string.h>

#include "elab/internal.h"

/* ---- names in fns and graphs ---- */

struct scope *push_scope(struct elab *e)
{
	struct scope *s = new (e->cx->arena, struct scope);

	s->outer = e->scope;
	s->frame = e->frame;
	e->scope = s;
	return s;
}

void pop_scope(struct elab *e)
{
	for (struct binding *b = e->scope->values; b; b = b->prev)
		b->sym->value = b->hidden;
	for (struct binding *b = e->scope->dims; b; b = b->prev)
		b->sym->dim = b->hidden;
	e->scope = e->scope->outer;
}

struct binding *find_local(struct elab *e, const struct sym *name)
{
	struct binding *b = name->value;

	return b && b->scope->frame == e->frame ? b : NULL;
}

struct binding *find_value(struct elab *e, struct sym *name)
{
	struct binding *b = find_local(e, name);

	return b ? b : find_const(e, e->file, name);
}

struct binding *find_dim(struct elab *e, struct sym *name)
{
	struct binding *b = name->dim;

	return b && b->scope->frame == e->frame ? b : NULL;
}

/* The dtype of a written type, for a weak literal; DT_NONE: a generic name without a binding */
enum dtype written_dtype(struct elab *e, struct expr x)
{
	if (!x.len)
		return DT_NONE;
	const struct anode *t = &e->file->nodes.at[x.first + x.len - 1];
	if (t->u.sym->dtype)
		return t->u.sym->dtype;
	struct binding *b = find_value(e, t->u.sym);
	return b && b->kind == CV_DTYPE ? b->u.cv->u.dtype : DT_NONE;
}

struct cv binding_cv(const struct binding *b)
{
	switch (b->kind) {
	case CV_VALUE:
		return (struct cv){
			.kind = CV_VALUE, .weak = b->weak, .span = b->span, .u.v = b->u.v};
	case CV_POISON:
		return poison(b->span);
	default:
		return *b->u.cv;
	}
}

static struct binding *new_binding(struct elab *e, struct sym *name, struct span s)
{
	struct binding *b = new (e->cx->scratch, struct binding);

	b->sym = name;
	b->scope = e->scope;
	b->span = s;
	return b;
}

/* Is it, of the scope of the statement, the value that the loop around it carries by this name? */
static bool is_carried(const struct elab *e, const struct binding *b)
{
	for (uint32_t i = 0; e->loop && i < e->loop->ncarried; i++)
		if (e->loop->carried[i].name == b->sym)
			return true;
	return false;
}

bool is_for_item(const struct elab *e, const struct sym *name)
{
	const struct aloop *a = e->loop ? e->loop->written_out : NULL;

	for (const struct aitem *it = a ? a->items : NULL; it; it = it->next)
		if (it->in && it->name == name)
			return true;
	return false;
}

bool generic_name(const struct sym *s)
{
	return isupper((unsigned char)s->s[0]) && !s->dtype;
}

struct binding *bind_value(struct elab *e, struct sym *name, struct cv v, struct span s)
{
	struct binding *b = find_local(e, name);

	if (b && b->scope == e->scope && !b->missing) {
		struct diag *d = e->frame->missing;
		e->frame->missing = NULL;
		if (d)
			note(e->cx, d, s, "and '%s' is already defined", name->s);
		else
			d = e->frame->taken = elab_error(
				e, s, E_DUPLICATE,
				is_carried(e, b) ? "the loop carries '%s': write next %s = ..."
				: is_for_item(e, name) ? "'%s' is already defined: the header of "
							 "the 'for' sets it in each step, so give "
							 "the value another name"
						       : "'%s' is already defined: each value has "
							 "a name of its own",
				name->s, name->s);
		note(e->cx, d, b->span, "the first definition is here");
		return b;
	}
	why_note(e, name, v, s, false);
	b = new_binding(e, name, s);
	b->kind = v.kind;
	if (v.kind == CV_DTYPE && generic_name(name))
		note_meaning(e, (struct meaning){.name = name, .dtype = v.u.dtype});
	if (v.kind == CV_VALUE) {
		b->u.v = v.u.v;
		b->weak = v.weak;
	} else if (v.kind != CV_POISON) {
		b->u.cv = new (e->cx->scratch, struct cv);
		*b->u.cv = v;
	}
	b->hidden = name->value;
	name->value = b;
	b->prev = e->scope->values;
	e->scope->values = b;
	return b;
}

/* Binds an undefined name to poison in the outermost scope of the frame: it is reported once. */
void bind_missing(struct elab *e, struct sym *name, struct span s)
{
	struct scope *inner = e->scope;

	while (e->scope->outer && e->scope->outer->frame == e->frame)
		e->scope = e->scope->outer;
	struct binding *b = bind_value(e, name, poison(s), s);
	b->missing = b->used = true;
	e->scope = inner;
}

static struct binding *new_dim_binding(struct elab *e, struct sym *name, struct span s)
{
	struct binding *b = new_binding(e, name, s);

	b->hidden = name->dim;
	name->dim = b;
	b->prev = e->scope->dims;
	e->scope->dims = b;
	return b;
}

struct binding *bind_dim(struct elab *e, struct sym *name, dim d, struct span s)
{
	struct binding *b = new_dim_binding(e, name, s);

	b->u.d = d;
	note_meaning(e, (struct meaning){.name = name, .d = d});
	return b;
}

struct binding *bind_rest(struct elab *e, struct sym *name, struct rest *rest, struct span s)
{
	struct binding *b = new_dim_binding(e, name, s);

	b->is_rest = true;
	b->u.rest = rest;
	note_meaning(e, (struct meaning){.name = name, .rest = rest});
	return b;
}

/* ---- what messages say of names in types ---- */

/* Notes what a name of the fn or of the step that is expanded stands for. */
void note_meaning(struct elab *e, struct meaning m)
{
	struct fn_call *c = e->frame->library ? NULL : call_of(e->cx, e->cx->call);

	if (!c)
		return;
	struct meaning *kept = new (e->cx->arena, struct meaning);
	*kept = m;
	kept->before = c->meanings;
	c->meanings = kept;
}

/* "F = float32, n = 4, ...b = [2, k]", in the order of the fn's types */
const char *meanings_text(struct ctx *cx, const struct fn_call *c)
{
	const struct meaning *list[MAX_MEANINGS_SHOWN];
	struct strbuf s = {.arena = cx->arena};
	uint32_t n = 0, all = 0;

	for (const struct meaning *m = c->meanings; m; m = m->before)
		all++;
	for (const struct meaning *m = c->meanings; m; m = m->before)
		if (all-- <= MAX_MEANINGS_SHOWN)
			list[n++] = m;
	for (const char *comma = ""; n-- > 0; comma = ", ") {
		const struct meaning *m = list[n];
		sb_printf(&s, "%s%s%s = ", comma, m->rest ? "..." : "", m->name->s);
		if (m->rest)
			sb_str(&s, "[");
		for (uint32_t i = 0; m->rest && i < m->rest->n; i++)
			sb_printf(&s, "%s%s", i ? ", " : "", dim_str(cx, m->rest->at[i]));
		sb_str(&s, m->rest    ? "]"
			   : m->text  ? m->text
			   : m->dtype ? dtypes[m->dtype].name
				      : dim_str(cx, m->d));
	}
	return s.s;
}

/* ---- names of files, and of the language ---- */

static uint32_t hash_global(enum global_kind kind, const void *in, const void *name)
{
	uint64_t h = ((uint64_t)(uintptr_t)in * 31 + (uint64_t)(uintptr_t)name) * 4 + kind;

	h *= 0x9e3779b97f4a7c15;
	return (uint32_t)(h >> 32);
}

struct global *find_global(struct elab *e, enum global_kind kind, const void *in, const void *name)
{
	struct probe p = {.hash = hash_global(kind, in, name)};

	while (hash_next(&e->global_index, &p)) {
		struct global *g = &e->globals.at[p.number];
		if (g->kind == kind && g->in == in && g->name == name)
			return g;
	}
	return NULL;
}

struct global *add_global(struct elab *e, enum global_kind kind, const void *in, const void *name)
{
	struct global *g = vec_push(e->cx->scratch, &e->globals);

	*g = (struct global){.kind = kind, .in = in, .name = name};
	hash_add(e->cx->scratch, &e->global_index, hash_global(kind, in, name), e->globals.len - 1);
	return g;
}

struct tensor **array_of_list(struct elab *e, const void *list, enum dtype t)
{
	const void *dtype = &dtypes[t];
	struct global *g = find_global(e, GLOBAL_ARRAY, list, dtype);

	return &(g ? g : add_global(e, GLOBAL_ARRAY, list, dtype))->u.array;
}

struct fn *find_fn(struct elab *e, struct sym *name)
{
	const struct file *module = e->file ? e->file->module : NULL;
	struct global *g = module ? find_global(e, GLOBAL_FN, module, name) : NULL;

	return g ? g->u.fn : NULL;
}

struct binding *find_const(struct elab *e, const struct file *f, const struct sym *name)
{
	struct global *g = f && f->consts ? find_global(e, GLOBAL_CONST, f, name) : NULL;

	return g ? g->u.constant : NULL;
}

struct ause *find_alias(struct elab *e, const struct sym *name)
{
	struct global *g =
		e->file && e->file->uses ? find_global(e, GLOBAL_ALIAS, e->file, name) : NULL;

	return g ? g->u.use : NULL;
}

const char *aliased_const(struct elab *e, struct sym *name)
{
	for (struct ause *u = e->file->uses; u; u = u->next)
		if (u->alias && u->file && find_const(e, u->file, name))
			return arena_printf(e->cx->arena, "%s.%s", u->alias->s, name->s);
	return NULL;
}

const char *near_alias(struct elab *e, const char *domain)
{
	vec(const char *) names = {0};

	for (struct ause *u = e->file->uses; u && e->cx->errors < MAX_HINTS; u = u->next)
		if (u->alias)
			*vec_push(e->cx->arena, &names) = u->alias->s;
	return did_you_mean(domain, names.at, names.len);
}

const char *const builtins[] = {"file", "bytes",  "dtype",       "rank",     "constant",
				"flag", "native", "nonnegative", "rational", NULL};

bool is_builtin(const char *name)
{
	for (size_t i = 0; builtins[i]; i++)
		if (!strcmp(name, builtins[i]))
			return true;
	return false;
}
