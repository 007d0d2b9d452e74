/*
 * type.c: matches written types with types of values. A written dtype is the name of a dtype or, in
 * a fn, a generic name that its first use binds. A written dim is a number, a name that its first
 * use binds, an expression of names, '?', '?n' in the header of a graph, or '...' for any number of
 * dims. What is written of a result must be proved; what is written of a parameter makes it so.
 */
#include <string.h>

#include "elab/internal.h"

static const char *source_text(struct elab *e, struct span s)
{
	const struct source *src = source_of(e->cx, s);

	return arena_strdup(e->cx->arena, src->text + (s.begin - src->base), s.end - s.begin);
}

static struct expr child_expr(struct elab *e, uint32_t root)
{
	uint32_t size = e->file->nodes.at[root].size;

	return (struct expr){root - size + 1, size};
}

static void unknown_dtype(struct elab *e, const struct anode *t)
{
	const char *near = near_dtype(t->u.sym->s);

	struct diag *d =
		elab_error(e, t->at, E_UNKNOWN_DTYPE, "unknown dtype '%s'%s%s%s", t->u.sym->s,
			   near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	if (!near && !e->frame->fn->is_graph)
		note(e->cx, d, (struct span){0, 0},
		     "a generic dtype begins with a capital letter: x: F[n]");
}

/* The dtype of a written type. A generic name without a binding is bound to `actual`, unless that
 * is DT_NONE. DT_NONE: reported */
static enum dtype type_dtype(struct elab *e, const struct anode *t, enum dtype actual)
{
	if (t->u.sym->dtype)
		return t->u.sym->dtype;
	struct binding *b = find_value(e, t->u.sym);
	if (b && b->kind == CV_DTYPE) {
		b->used = true;
		return b->u.cv->u.dtype;
	}
	if (generic_name(t->u.sym) && !e->frame->fn->is_graph && actual) {
		struct cv v = {.kind = CV_DTYPE, .span = t->at, .u.dtype = actual};
		bind_value(e, t->u.sym, v, t->at)->used = true;
		return actual;
	}
	unknown_dtype(e, t);
	return DT_NONE;
}

/* Binds the name to a new dim. In the header of a graph the name promises any size, unless the node
 * is ?n. */
static dim new_dim(struct elab *e, const struct anode *n)
{
	dim d = dim_name(e->cx, n->u.sym);

	bind_dim(e, n->u.sym, d, n->span)->open = n->kind == A_ANY;
	if (e->header && n->kind != A_ANY)
		dim_promise(e->cx, d, n->span);
	return d;
}

static bool is_new_dim(struct elab *e, const struct anode *n)
{
	return n->kind == A_NAME && !find_dim(e, n->u.sym) && !find_value(e, n->u.sym);
}

/* Binds the unbound names of a dim expression to new dims. */
static void bind_new_dims(struct elab *e, struct expr x)
{
	for (uint32_t i = x.first; i < x.first + x.len; i++) {
		const struct anode *n = &e->file->nodes.at[i];
		bool aliased = i + 1 < x.first + x.len && n[1].kind == A_ATTRIBUTE; /* m.k */
		if (!aliased && is_new_dim(e, n))
			new_dim(e, n);
	}
}

#define UNKNOWN_SIZE ": a size that only a run knows is '?', or a name such as n"

/* *d = a written dim; unbound names are new dims. false: reported */
static bool eval_dim(struct elab *e, struct expr x, dim *d)
{
	const struct anode *root = &e->file->nodes.at[x.first + x.len - 1];
	int64_t k;

	bind_new_dims(e, x);
	struct binding *b = root->kind == A_NAME ? find_dim(e, root->u.sym) : NULL;
	if (b && !b->is_rest) { /* in a type, dims come before values */
		*d = b->u.d;
		return true;
	}
	e->in_dim = true;
	struct cv v = eval(e, x);
	e->in_dim = false;
	if (v.kind == CV_POISON)
		return false;
	if (!cv_as_dim(e, &v, d)) {
		elab_error(e, root->span, E_EXPRESSION, "expected a dim but got %s%s",
			   cv_kind_name(&v),
			   v.kind == CV_NONE  ? UNKNOWN_SIZE
			   : v.kind == CV_STR ? ": a name of a size has no quotes"
					      : "");
		return false;
	}
	if (dim_is_const(e->cx, *d, &k) && k < 0) {
		elab_error(e, root->span, E_SHAPE, "a dim cannot be negative%s",
			   k == -1 ? UNKNOWN_SIZE : "");
		return false;
	}
	return true;
}

struct pattern {
	const struct anode *root;
	uint32_t *kids, n;
	int rest; /* index of '...' among the kids, -1: none */
};

static bool read_pattern(struct elab *e, struct expr x, struct pattern *p)
{
	uint32_t at = x.first + x.len - 1;

	p->root = &e->file->nodes.at[at];
	p->n = p->root->n;
	p->kids = new_array(e->cx->arena, uint32_t, p->n + 1);
	p->rest = -1;
	elab_children(e, at, p->kids);
	for (uint32_t i = 0; i < p->n; i++) {
		const struct anode *d = &e->file->nodes.at[p->kids[i]];
		if (d->kind != A_ELLIPSIS)
			continue;
		if (p->rest >= 0) {
			elab_error(e, d->span, E_EXPRESSION, "a type can have one '...' only");
			return false;
		}
		p->rest = (int)i;
	}
	if (p->n - (p->rest >= 0) > MAX_RANK) {
		elab_error(e, p->root->span, E_LIMIT, "more than %d dims", MAX_RANK);
		return false;
	}
	return true;
}

/* A written type that is matched with the type of v. */
struct match {
	struct pattern p;
	struct value *v;
	enum match_rule rule;
	const char *what; /* v in messages: "result" 'y' */
	struct sym *name;
	struct span span;
};

static const char *described(struct elab *e, const struct match *m)
{
	return arena_printf(e->cx->arena, "%s%s%s%s%s", m->what, m->name && *m->what ? " " : "",
			    m->name ? "'" : "", m->name ? m->name->s : "", m->name ? "'" : "");
}

/* The types do not prove what is written, but do not disprove it either: writes the statement that
 * asserts it. */
static void note_assertion(struct elab *e, const struct match *m, struct diag *d)
{
	struct strbuf lengths = {.arena = e->cx->arena};
	const struct type *t = &m->v->type;

	if (m->p.rest >= 0 || m->p.n != t->rank || !m->name)
		return;
	for (uint32_t i = 0; i < m->p.n; i++) {
		const struct anode *k = &e->file->nodes.at[m->p.kids[i]];
		dim is;
		if (k->kind == A_ANY || is_new_dim(e, k)) {
			sb_str(&lengths, ", None");
			continue;
		}
		if (!eval_dim(e, child_expr(e, m->p.kids[i]), &is) || dim_ne(e->cx, is, t->dims[i]))
			return;
		sb_printf(&lengths, ", %s", source_text(e, k->span));
	}
	bool input = !m->v->def && m->v->name;
	note(e->cx, d, (struct span){0, 0},
	     "if it holds in every run, this asserts it: %s = SpecifyShape(%s%s)", m->name->s,
	     input ? m->v->name->s : "...", lengths.s);
}

static bool type_clash(struct elab *e, const struct match *m)
{
	const struct anode *root = m->p.root;
	const struct type *t = &m->v->type;
	struct diag *d =
		elab_error(e, m->span, E_ANNOTATION, "%s: expected %s but got %s", described(e, m),
			   source_text(e, root->span), type_str(e->cx, *t));

	explain_promise(e->cx, d, NULL, 0);
	if (t->rank == 0 && root->n && root->u.sym->dtype == t->dtype)
		note(e->cx, d, (struct span){0, 0}, "one number for all elements is %s(...)",
		     source_text(e, root->span));
	else if (m->rule == MATCH_PROVES && type_dtype(e, root, DT_NONE) == t->dtype)
		note_assertion(e, m, d);
	return false;
}

/* Is a length that is written as `is` certainly one of `d`? n-1 is read as max(n-1, 0). */
static bool holds(struct elab *e, dim d, dim is)
{
	return dim_eq(e->cx, d, is) || dim_eq(e->cx, d, dim_at_least(e->cx, is, 0));
}

/* Do names say the size d, so that it needs no new one? MAX_WEIGHT of dims bounds the recursion. */
static bool has_names_only(struct elab *e, dim d)
{
	struct dim_view v = dim_view(e->cx, d);

	if (v.form == DIM_CONST)
		return false;
	if (v.form == DIM_ATOM)
		return v.name;
	for (uint32_t i = 0; i < v.nterms; i++) {
		int64_t k;
		if (!dim_is_const(e->cx, v.term[i], &k) && !has_names_only(e, v.term[i]))
			return false;
	}
	return true;
}

/* The name that the frame has for the size d, or what d is called elsewhere */
static const char *name_of_size(struct elab *e, dim d)
{
	for (struct scope *s = e->scope; s && s->frame == e->frame; s = s->outer)
		for (struct binding *b = s->dims; b; b = b->prev)
			if (!b->is_rest && dim_eq(e->cx, b->u.d, d))
				return b->sym->s;
	return dim_str(e->cx, d);
}

/* May the new name stand for the length of that axis? Only for one that has none. */
static bool may_name(struct elab *e, struct match *m, struct sym *name, uint32_t axis)
{
	dim d = m->v->type.dims[axis];

	if (m->rule == MATCH_SETS || !has_names_only(e, d))
		return true;
	const char *is = name_of_size(e, d);
	if (did_you_mean(name->s, &is, 1))
		elab_error(e, m->span, E_ANNOTATION,
			   "%s: no size is called '%s'; did you mean '%s'?", described(e, m),
			   name->s, is);
	else
		elab_error(e, m->span, E_ANNOTATION,
			   "%s: no size is called '%s', and axis %u is %s long: write that, or ?",
			   described(e, m), name->s, axis, is);
	return false;
}

/* Matches '...' or '...b' with n dims. */
static bool match_rest(struct elab *e, struct match *m, const struct anode *p, const dim *dims,
		       uint32_t n)
{
	struct binding *b;

	if (!p->u.sym)
		return true;
	b = find_dim(e, p->u.sym);
	if (!b) {
		struct rest *rest = new (e->cx->arena, struct rest);
		*rest = (struct rest){dims, n};
		b = bind_rest(e, p->u.sym, rest, p->span);
		return true;
	}
	if (!b->is_rest || b->u.rest->n != n)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (m->rule == MATCH_PROVES ? !dim_eq(e->cx, b->u.rest->at[i], dims[i])
					    : !dim_unify(e->cx, b->u.rest->at[i], dims[i], m->span))
			return false;
	return true;
}

/* Is d a name that types of raw nodes were written with, and that nothing has defined yet? */
static bool is_undefined(struct elab *e, dim d)
{
	struct dim_view v = dim_view(e->cx, d);

	return v.form == DIM_ATOM && v.name && v.kind == SOURCE_NONE;
}

/* An axis of v has length d, as is written. MATCH_SETS: records it, also in the type of v. */
static bool match_dim(struct elab *e, struct match *m, uint32_t axis, dim d)
{
	struct value *v = m->v;
	struct type *t = &v->type;
	dim met = t->dims[axis], *dims;
	bool raw = v->def && v->def->op == &op_onnx;
	int64_t k;

	if (m->rule == MATCH_PROVES && !holds(e, met, d)) {
		/* of a raw node the annotation says what ptgc does not know */
		if (!raw || has_names_only(e, met) || dim_is_const(e->cx, met, &k))
			return false;
	} else if (m->rule == MATCH_PROVES && !dim_is_const(e->cx, d, &k)) {
		return true;
	}
	if (!dim_meet(e->cx, &met, d, m->span))
		return false;
	if (met == dim_find(e->cx, t->dims[axis]))
		return true;
	dims = new_array(e->cx->arena, dim, t->rank);
	memcpy(dims, t->dims, t->rank * sizeof(dim));
	dims[axis] = met;
	t->dims = dims;
	return true;
}

static bool no_open_name(struct elab *e, const struct anode *k)
{
	elab_error(e, k->span, E_ANNOTATION,
		   "'?%s' belongs in the types of a graph's parameters: write %s, or ?",
		   k->u.sym->s, k->u.sym->s);
	return false;
}

/* Are the names in the expression of a length defined? An annotation defines those that stand
 * alone. false: reported */
static bool all_sizes_defined(struct elab *e, const struct match *m, struct expr x)
{
	for (uint32_t i = x.first; i < x.first + x.len; i++) {
		const struct anode *n = &e->file->nodes.at[i];
		if (!is_new_dim(e, n))
			continue;
		elab_error(e, n->span, E_ANNOTATION, "%s: no size is called '%s'", described(e, m),
			   n->u.sym->s);
		return false;
	}
	return true;
}

static bool match_axis(struct elab *e, struct match *m, uint32_t kid, uint32_t axis)
{
	const struct anode *k = &e->file->nodes.at[kid];
	dim d, is = m->v->type.dims[axis];

	if (is_new_dim(e, k)) {
		if (!may_name(e, m, k->u.sym, axis))
			return false;
		bind_dim(e, k->u.sym, is, k->span);
		if (e->frame->fn->is_graph)
			dim_call(e->cx, is, k->u.sym);
		return true;
	}
	if (m->rule == MATCH_PROVES && !all_sizes_defined(e, m, child_expr(e, kid)))
		return false;
	if (!eval_dim(e, child_expr(e, kid), &d))
		return false;
	if (k->kind == A_NAME && is_undefined(e, d) && !dim_eq(e->cx, d, is))
		return may_name(e, m, k->u.sym, axis) && dim_unify(e->cx, d, is, m->span);
	return match_dim(e, m, axis, d);
}

static bool match_dims(struct elab *e, struct match *m, uint64_t *loose)
{
	const struct type *t = &m->v->type;
	const struct pattern *p = &m->p;
	uint32_t skip = p->rest < 0 ? 0 : t->rank - (p->n - 1);

	if (p->rest < 0 ? t->rank != p->n : t->rank + 1u < p->n)
		return false;
	for (uint32_t i = 0, axis = 0; i < p->n; i++) {
		const struct anode *k = &e->file->nodes.at[p->kids[i]];
		if ((int)i == p->rest) {
			if (!match_rest(e, m, k, t->dims + axis, skip))
				return false;
			axis += skip;
		} else if (k->kind == A_ANY && k->u.sym) {
			return no_open_name(e, k);
		} else if (k->kind == A_ANY) {
			if (loose)
				*loose |= (uint64_t)1 << axis;
			axis++;
		} else if (!match_axis(e, m, p->kids[i], axis++)) {
			return false;
		}
	}
	return true;
}

/* Has v the type written at x? Binds generic dtypes and new dims. The message names v by `what` and
 * `name`. *loose (may be NULL) gets a bit for each axis written '?'. */
bool match_type(struct elab *e, struct expr x, struct value *v, enum match_rule rule,
		const char *what, struct sym *name, struct span s, uint64_t *loose)
{
	struct match m = {.v = v, .rule = rule, .what = what, .name = name, .span = s};
	uint32_t errors = e->cx->errors;

	if (e->frame->library)
		m.rule = MATCH_SETS;
	if (!x.len || !v->type.dtype)
		return true;
	if (!read_pattern(e, x, &m.p))
		return false;
	enum dtype t = type_dtype(e, m.p.root, v->type.dtype);
	if (!t)
		return false;
	if (t != v->type.dtype)
		return type_clash(e, &m);
	if (!(m.p.root->flags & AF_DIMS) && !is_rng(m.p.root->u.sym->dtype))
		return true;
	return match_dims(e, &m, loose) || (e->cx->errors == errors && type_clash(e, &m));
}

/* ---- types of new values: parameters of graphs, states, results of raw nodes ---- */

/* *t = the written type. '?' becomes an unknown, a size of v (may be NULL). false: reported */
bool make_type(struct elab *e, struct expr x, struct value *v, struct type *t)
{
	struct pattern p;

	if (!read_pattern(e, x, &p))
		return false;
	t->dtype = (uint8_t)type_dtype(e, p.root, DT_NONE);
	if (!t->dtype)
		return false;
	if ((!(p.root->flags & AF_DIMS) && !is_rng((enum dtype)t->dtype)) || p.rest >= 0) {
		elab_error(e, p.root->span, E_ANNOTATION,
			   p.rest >= 0 ? "'...' needs a value to match: only fns take any rank"
				       : "the rank must be known here: write %s[] for a scalar, "
					 "%s[n] for a vector",
			   dtypes[t->dtype].name, dtypes[t->dtype].name);
		t->dtype = DT_NONE;
		return false;
	}
	t->rank = (uint8_t)p.n;
	t->dims = new_array(e->cx->arena, dim, p.n + 1);
	for (uint32_t i = 0; i < p.n; i++) {
		const struct anode *k = &e->file->nodes.at[p.kids[i]];
		if (k->kind == A_ANY && k->u.sym && !e->header) {
			no_open_name(e, k);
			*t = (struct type){0};
			return false;
		}
		if (k->kind == A_ANY && k->u.sym)
			t->dims[i] = find_dim(e, k->u.sym)->u.d;
		else if (k->kind == A_ANY)
			t->dims[i] = dim_fresh(e->cx, v ? SOURCE_SIZE : SOURCE_NONE, v, i);
		else if (!eval_dim(e, child_expr(e, p.kids[i]), &t->dims[i])) {
			*t = (struct type){0};
			return false;
		}
	}
	return true;
}

/* First pass over the parameters of a graph: binds the dims that are plain names, with axes of v as
 * their source. The expressions of other dims may then use the names of any parameter. */
void declare_dims(struct elab *e, struct expr x, struct value *v)
{
	struct pattern p;

	if (!x.len || !read_pattern(e, x, &p))
		return;
	for (uint32_t i = 0; i < p.n; i++) {
		const struct anode *k = &e->file->nodes.at[p.kids[i]];
		if ((k->kind != A_NAME && k->kind != A_ANY) || !k->u.sym ||
		    (k->kind == A_NAME && find_value(e, k->u.sym))) /* a const */
			continue;
		struct binding *b = find_dim(e, k->u.sym);
		if (!b)
			dim_set_source(e->cx, new_dim(e, k), SOURCE_SIZE, v, i);
		else if (k->kind == A_ANY && !b->open)
			error2(e->cx, k->span, b->span, E_ANNOTATION,
			       "'%s' is any size where it stands first: write %s here, or ?%s "
			       "there for a size that ptgc may set",
			       k->u.sym->s, k->u.sym->s, k->u.sym->s);
	}
}
