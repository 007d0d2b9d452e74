/*
 * type.c: matches written types with types of values. A written dtype is the name of a dtype or, in
 * a fn, a generic name that its first use binds. A written dim is a number, a name that its first
 * use binds, a linear expression of names, '?', or '...' for any number of dims.
 */
#include <ctype.h>
#include <string.h>

#include "elab/internal.h"

bool generic_name(const struct sym *s)
{
	return isupper((unsigned char)s->s[0]) && !s->dtype;
}

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
	static const char *const of_c[][2] = {
		{"float", "float32"}, {"double", "float64"}, {"half", "float16"},
		{"int", "int64"},     {"long", "int64"},     {"uint", "uint64"},
		{"byte", "uint8"},    {"boolean", "bool"},   {"complex", "complex128"},
	};
	const char *names[DT_COUNT];
	size_t n = 0;

	for (int i = 1; i < DT_COUNT; i++)
		names[n++] = dtypes[i].name;
	const char *near = did_you_mean(t->u.sym->s, names, n);
	for (size_t i = 0; i < countof(of_c); i++)
		if (!strcmp(t->u.sym->s, of_c[i][0]))
			near = of_c[i][1];
	elab_error(e, t->at, E_UNKNOWN_DTYPE, "unknown dtype '%s'%s%s%s", t->u.sym->s,
		   near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
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

/* Binds the unbound names of a dim expression to new dims. */
static void bind_new_dims(struct elab *e, struct expr x)
{
	for (uint32_t i = x.first; i < x.first + x.len; i++) {
		const struct anode *n = &e->file->nodes.at[i];
		if (n->kind == A_NAME && !find_dim(e, n->u.sym) && !find_value(e, n->u.sym))
			bind_dim(e, n->u.sym, dim_name(e->cx, n->u.sym), n->span);
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
	struct cv v = eval(e, x);
	if (v.kind == CV_POISON)
		return false;
	if (!cv_as_dim(e, &v, d)) {
		elab_error(e, root->span, E_EXPRESSION, "expected a dim but got %s%s",
			   cv_kind_name(&v), v.kind == CV_NONE ? UNKNOWN_SIZE : "");
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

static bool type_clash(struct elab *e, struct expr x, const struct type *t, enum diag_code code,
		       const char *what, struct sym *name, struct span s)
{
	const struct anode *root = &e->file->nodes.at[x.first + x.len - 1];

	struct diag *d =
		elab_error(e, s, code, "%s%s%s%s%s: expected %s but got %s", what,
			   name && *what ? " " : "", name ? "'" : "", name ? name->s : "",
			   name ? "'" : "", source_text(e, root->span), type_str(e->cx, *t));
	if (d && t->rank == 0 && root->n && root->u.sym->dtype == t->dtype)
		note(e->cx, d, (struct span){0, 0}, "one number for all elements is %s(...)",
		     source_text(e, root->span));
	return false;
}

/* Matches '...' or '...b' with n dims. */
static bool match_rest(struct elab *e, const struct anode *p, const dim *dims, uint32_t n,
		       struct span s)
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
		if (!dim_unify(e->cx, b->u.rest->at[i], dims[i], s))
			return false;
	return true;
}

/* Records that an axis of v has length d, also in the type of v. */
static bool match_dim(struct elab *e, struct value *v, uint32_t axis, dim d, struct span s)
{
	struct type *t = &v->type;
	dim met = t->dims[axis], *dims;

	if (!dim_meet(e->cx, &met, d, s))
		return false;
	if (met == dim_find(e->cx, t->dims[axis]))
		return true;
	dims = new_array(e->cx->arena, dim, t->rank);
	memcpy(dims, t->dims, t->rank * sizeof(dim));
	dims[axis] = met;
	t->dims = dims;
	return true;
}

static bool match_dims(struct elab *e, const struct pattern *p, struct value *v, struct span s,
		       uint64_t *loose)
{
	const struct type *t = &v->type;
	uint32_t skip = p->rest < 0 ? 0 : t->rank - (p->n - 1);

	if (p->rest < 0 ? t->rank != p->n : t->rank + 1u < p->n)
		return false;
	for (uint32_t i = 0, axis = 0; i < p->n; i++) {
		const struct anode *k = &e->file->nodes.at[p->kids[i]];
		dim d;
		if ((int)i == p->rest) {
			if (!match_rest(e, k, t->dims + axis, skip, s))
				return false;
			axis += skip;
			continue;
		}
		if (k->kind == A_ANY) {
			if (loose)
				*loose |= (uint64_t)1 << axis;
			axis++;
			continue;
		}
		if (k->kind == A_NAME && !find_dim(e, k->u.sym) && !find_value(e, k->u.sym)) {
			bind_dim(e, k->u.sym, t->dims[axis++], k->span);
			continue;
		}
		if (!eval_dim(e, child_expr(e, p->kids[i]), &d))
			return false;
		if (!match_dim(e, v, axis++, d, s))
			return false;
	}
	return true;
}

/* Does v have the type written at x? Binds generic dtypes and new dims. The message names v by
 * `what` and `name`. *loose (may be NULL) gets a bit for each axis written '?'. */
bool match_type(struct elab *e, struct expr x, struct value *v, const char *what, struct sym *name,
		struct span s, uint64_t *loose)
{
	struct pattern p;
	uint32_t errors = e->cx->errors;

	if (!x.len || !v->type.dtype)
		return true;
	if (!read_pattern(e, x, &p))
		return false;
	enum dtype t = type_dtype(e, p.root, v->type.dtype);
	if (!t)
		return false;
	if (t != v->type.dtype)
		return type_clash(e, x, &v->type, E_ANNOTATION, what, name, s);
	if (!(p.root->flags & AF_DIMS) && !is_rng(p.root->u.sym->dtype))
		return true;
	if (!match_dims(e, &p, v, s, loose))
		return e->cx->errors == errors &&
		       type_clash(e, x, &v->type, E_ANNOTATION, what, name, s);
	return true;
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
		if (k->kind == A_ANY)
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
		if (k->kind != A_NAME || find_dim(e, k->u.sym))
			continue;
		dim d = dim_name(e->cx, k->u.sym);
		dim_set_source(e->cx, d, SOURCE_SIZE, v, i);
		bind_dim(e, k->u.sym, d, k->span);
	}
}
