/*
 * unify.c: equations between dims. In: two dims that are equal from now on, as n and m + 1. Out:
 * one atom is replaced by an expression, n by m + 1, wherever find() meets it; or false, if they
 * cannot be equal, or if a name that the header of the graph calls any size would no longer be one
 * (promise.c). Holds: an equation replaces one base atom by an expression of base atoms that
 * are not replaced themselves, so find() ends. Atoms with operands are never replaced: rebuilding
 * them could bring the replaced atom back. An equation that can replace no atom is kept in
 * dims.zeros, where dim_eq() looks it up. A dim that can be computed at run time before a
 * replacement can be computed after it: see may_replace().
 */
#include "dims/internal.h"

#define MAX_CHAIN 16 /* atoms that dim_equation_span() follows */

/* f, or the first of the atoms that f has replaced which has a source */
struct form *form_with_source(const struct dims *t, struct form *f)
{
	while (f->source == SOURCE_NONE && f->alias)
		f = form_of(t, f->alias);
	return f;
}

/* The occurs check of unification. A frozen atom may contain any x. */
static bool occurs(const struct dims *t, dim x, dim d)
{
	const struct form *f = form_of(t, d);
	if (d == x || f->frozen)
		return true;
	for (uint32_t i = 0; i < f->n; i++)
		if (occurs(t, x, f->term[i]))
			return true;
	return false;
}

/* Can d be computed at run time? */
static bool is_computable(const struct dims *t, dim d)
{
	struct form *f = form_of(t, d);
	if (f->kind == K_BASE || f->closed)
		return form_with_source(t, f)->source != SOURCE_NONE;
	if (f->frozen)
		return true; /* a frozen atom may be deep: dim_value() of lowering decides */
	for (uint32_t i = 0; i < f->n; i++)
		if (!is_computable(t, f->term[i]))
			return false;
	return true;
}

/* l = k * x + rest == 0, where k is 1 or -1 and x is term i: may x be replaced by -k * rest? Not if
 * x can be computed at run time and rest cannot, nor if x is promised to be any size. */
static bool may_replace(const struct dims *t, const struct lin *l, uint32_t i, bool asserted)
{
	bool rest_computable = true, x_computable = is_computable(t, l->term[i]);
	const struct form *x = form_of(t, l->term[i]);
	if (x->kind != K_BASE || (x->promised && !asserted) ||
	    (l->coef[i] != 1 && l->coef[i] != -1))
		return false;
	for (uint32_t j = 0; j < l->n; j++) {
		if (j == i)
			continue;
		if (occurs(t, l->term[i], l->term[j]))
			return false;
		rest_computable &= is_computable(t, l->term[j]);
	}
	/* x == y: replace_atom() gives y the source of x */
	bool alias = l->n == 2 && !l->c && l->coef[0] == -l->coef[1] &&
		     form_of(t, l->term[!i])->kind == K_BASE;
	return alias || !x_computable || rest_computable;
}

/* The atom with the highest rank is replaced: unknowns before names, atoms that cannot be computed
 * at run time before those that can. */
static int replacement_rank(const struct dims *t, const struct lin *l, uint32_t i)
{
	const struct form *f = form_of(t, l->term[i]);
	bool pair = l->n == 2 && !l->c;
	return 2 * (!f->name) + (!pair && !is_computable(t, l->term[i])) * 4;
}

/* max(x, y) == v, where y < v is proved: rewrites the equation l == 0 to x == v (min alike). */
static bool drop_minmax(struct dims *t, struct lin *l)
{
	for (uint32_t i = 0; i < l->n; i++) {
		const struct form *f = form_of(t, l->term[i]);
		int64_t k = l->coef[i];
		if (f->frozen || (f->kind != K_MAX && f->kind != K_MIN) || (k != 1 && k != -1))
			continue;
		/* k*max(..) + rest == 0 and k*k == 1, so max(..) - op == -k*rest - op. An operand
		 * for which this is at least 1 cannot be the maximum. */
		dim candidate = DIM_NONE;
		uint32_t ncandidates = 0;
		for (uint32_t j = 0; j < f->n; j++) {
			struct lin r = *l;
			int64_t sign = f->kind == K_MAX ? 1 : -1;
			bool out = lin_add(t, &r, l->term[i], -k) && lin_scale(&r, -k * sign) &&
				   lin_add(t, &r, f->term[j], -sign) && prove_ge(t, &r, 1);
			if (!out) {
				candidate = f->term[j];
				ncandidates++;
			}
		}
		struct lin r = *l;
		if (ncandidates == 1 && lin_replace(t, &r, i, candidate)) {
			*l = r;
			return true;
		}
	}
	return false;
}

/* Records e >= low: as the range of an atom if e has only one, else in dims.bounds. */
static void record_bound(struct dims *t, const struct lin *e, int64_t low)
{
	const struct form *f = e->n ? form_of(t, e->term[0]) : NULL;
	int64_t k = e->n ? e->coef[0] : 0, v;
	if (!f || __builtin_sub_overflow(low, e->c, &v) || prove_ge(t, e, low))
		return;
	if (e->n == 1 && f->kind == K_BASE && k != INT64_MIN && v > -INT64_MAX) { /* k * f >= v */
		struct range *own = &form_of(t, e->term[0])->own;
		if (k > 0 && -floor_div(-v, k) > own->lo)
			own->lo = -floor_div(-v, k);
		else if (k < 0 && floor_div(-v, -k) < own->hi)
			own->hi = floor_div(-v, -k);
		t->age++;
		return;
	}
	dim d = lin_dim(t, e);
	if (d && t->bounds.len < 16)
		*vec_push(t->arena, &t->bounds) = (struct lower_bound){d, low};
}

/* The atom x is replaced by e: the range of x becomes bounds of e. */
static void record_bounds(struct dims *t, const struct form *x, const struct lin *e)
{
	struct lin n = *e;
	bool size = x->source == SOURCE_SIZE || (x->name && x->source != SOURCE_NONE);
	if (!size) /* at run time x may be any number */
		return;
	record_bound(t, e, x->own.lo);
	if (x->own.hi != NO_HIGH && lin_scale(&n, -1))
		record_bound(t, &n, -x->own.hi);
}

/* Rewrites dims.bounds and dims.zeros to the atoms that are not replaced. While an entry is
 * rewritten it is not in the list, so that it is not used to prove itself. */
static void refresh_facts(struct dims *t)
{
	uint32_t n = t->bounds.len;
	t->bounds.len = 0;
	for (uint32_t i = 0; i < n; i++)
		t->bounds.at[i].d = find(t, t->bounds.at[i].d);
	t->bounds.len = n;
	t->age++;
	dim zero = make_const(t, 0);
	for (uint32_t i = 0; i < t->zeros.len; i++) {
		struct difference e;
		dim d = find(t, t->zeros.at[i]);
		t->zeros.at[i] = zero;
		if (compare_dims(t, d, zero, &e) == UNKNOWN && e.ok)
			t->zeros.at[i] = lin_dim(t, &e.expanded);
	}
}

/* Replaces term i of l by what l == 0 says that it is. */
static void replace_atom(struct dims *t, const struct lin *l, uint32_t i)
{
	dim x = l->term[i];
	struct form *f = form_of(t, x);
	struct lin e = *l;
	int64_t k = l->coef[i];
	/* k*x + rest == 0 and k*k == 1: x == -k * rest */
	if (!lin_add(t, &e, x, -k) || !lin_scale(&e, -k) || !(f->subst = lin_dim(t, &e)))
		return;
	if (e.n == 1 && e.coef[0] == 1 && !e.c && form_of(t, e.term[0])->kind == K_BASE) {
		/* x == y: if y has no source of its own, it takes that of x */
		struct form *y = form_of(t, e.term[0]), *s = form_with_source(t, y);
		if (s->source == SOURCE_NONE)
			s->alias = x;
		y->one |= f->one;
	}
	t->age++;
	record_bounds(t, f, &e);
	refresh_facts(t);
}

/* If l == 0 says that an atom is 1, and dims.keep_ones is set: marks the atom instead of replacing
 * it. */
static bool mark_one(struct dims *t, const struct lin *l)
{
	struct form *f = form_of(t, l->term[0]);

	if (!t->keep_ones || l->n != 1 || l->coef[0] != 1 || l->c != -1 || f->kind != K_BASE)
		return false;
	f->one = true;
	f->own = (struct range){1, 1};
	*vec_push(t->arena, &t->ones) = l->term[0];
	refresh_facts(t);
	return true;
}

static void keep_zero(struct dims *t, const struct difference *diff)
{
	dim d = lin_dim(t, &diff->expanded);

	if (d && t->zeros.len < MAX_ZEROS)
		*vec_push(t->arena, &t->zeros) = d;
}

/* Makes diff == 0 true: replaces an atom, or adds an entry to dims.zeros. */
static void solve(struct dims *t, struct difference *diff, bool asserted)
{
	struct lin *l = &diff->plain;
	for (int limit = 8; limit && drop_minmax(t, l); limit--)
		;
	if (!l->n || !make_primitive(l) || mark_one(t, l))
		return;
	int best = -1, best_rank = -1;
	for (uint32_t i = 0; i < l->n; i++) { /* of equal ranks the newest atom, which is last */
		int rank = replacement_rank(t, l, i);
		if (rank >= best_rank && may_replace(t, l, i, asserted)) {
			best = (int)i;
			best_rank = rank;
		}
	}
	if (best >= 0) {
		replace_atom(t, l, (uint32_t)best);
		return;
	}
	keep_zero(t, diff);
}

static bool unify(struct ctx *cx, dim a, dim b, struct span s, bool asserted)
{
	struct dims *t = cx->dims;
	struct difference d;
	int64_t k;
	const dim made[2] = {a, b};
	a = find(t, a);
	b = find(t, b);
	enum truth r = compare_dims(t, a, b, &d);
	if (r == EQUAL) {
		if (a != b && t->few.len && !t->only_ask)
			report_few_again(cx, a, b, s);
		return true;
	}
	if (r == DIFFERENT || (d.ok && prove_nonzero(t, &d.plain)))
		return false;
	if (t->only_ask)
		return true;
	bool open = !form_const(t, a, &k) && !form_const(t, b, &k);
	bool few = d.ok && open && !asserted && report_few(cx, a, b, s);
	if (d.ok && !few && !asserted && breaks_promise(cx, &d.plain, made, a, b))
		return false;
	*vec_push(t->arena, &t->equations) = (struct equation){a, b, s};
	if (!d.ok)
		return true;
	uint32_t zeros = t->zeros.len;
	if (few)
		keep_zero(t, &d); /* no atom becomes a number that messages would show */
	else
		solve(t, &d, asserted);
	if (!open && !asserted && t->zeros.len > zeros)
		report_few(cx, a, b, s);
	return true;
}

bool dim_unify(struct ctx *cx, dim a, dim b, struct span s)
{
	return unify(cx, a, b, s, false);
}

const char *dim_asks(struct ctx *cx, const char *op)
{
	const char *before = cx->dims->asks;

	cx->dims->asks = op;
	return before;
}

void dim_keep_ones(struct ctx *cx, bool keep)
{
	struct dims *t = cx->dims;
	uint32_t n = t->ones.len;

	t->keep_ones = keep;
	for (t->ones.len = 0; n-- > 0;) {
		struct difference d = {.ok = true};
		form_of(t, t->ones.at[n])->one = false;
		dim one = find(t, t->ones.at[n]);
		form_of(t, one)->one = false;
		lin_load(t, &d.plain, one);
		if (lin_sub_const(&d.plain, 1) && make_primitive(&d.plain)) {
			d.expanded = d.plain;
			solve(t, &d, true);
		}
	}
}

void dim_only_ask(struct ctx *cx, bool only)
{
	struct dims *t = cx->dims;

	for (uint32_t i = t->first_asked; t->only_ask && i < t->forms.len; i++) {
		t->forms.at[i]->source = SOURCE_NONE; /* the results will be gone */
		t->forms.at[i]->value = NULL;
	}
	t->only_ask = only;
	t->first_asked = t->forms.len;
}

static bool meet(struct ctx *cx, dim *a, dim b, struct span s, bool asserted)
{
	int64_t k;

	if (!unify(cx, *a, b, s, asserted))
		return false;
	b = find(cx->dims, b);
	*a = form_const(cx->dims, b, &k) ? b : find(cx->dims, *a);
	return true;
}

bool dim_meet(struct ctx *cx, dim *a, dim b, struct span s)
{
	return meet(cx, a, b, s, false);
}

bool dim_assert(struct ctx *cx, dim *a, dim b, struct span s)
{
	return meet(cx, a, b, s, true);
}

/* ---- which equations there are ---- */

static bool same_source(const struct dims *t, dim a, dim b)
{
	struct form *x = form_of(t, a), *y = form_of(t, b);
	if (x->kind != K_BASE || y->kind != K_BASE)
		return false;
	x = form_with_source(t, x);
	y = form_with_source(t, y);
	return x->source == y->source && x->value == y->value && x->at == y->at;
}

uint32_t dim_equations(struct ctx *cx, const struct equation **list)
{
	struct dims *t = cx->dims;
	struct equation *e = new_array(t->arena, struct equation, t->equations.len + 1);
	uint32_t n = 0;
	for (uint32_t i = 0; i < t->equations.len; i++) {
		dim a = t->equations.at[i].a, b = t->equations.at[i].b;
		/* a side that cannot be computed was defined by the equation */
		if (is_computable(t, a) && is_computable(t, b) && !same_source(t, a, b))
			e[n++] = t->equations.at[i];
	}
	*list = e;
	return n;
}

static bool has_any_atom(const struct dims *t, dim d, const dim *atoms, uint32_t n)
{
	const struct form *f = form_of(t, d);

	for (uint32_t i = 0; i < n; i++) {
		if (d == atoms[i])
			return true;
		for (uint32_t k = 0; f->kind == K_LINEAR && k < f->n; k++)
			if (f->term[k] == atoms[i])
				return true;
	}
	return false;
}

static void add_atoms(const struct dims *t, dim d, dim *atoms, uint32_t *n)
{
	const struct form *f = form_of(t, d);

	if (f->kind != K_LINEAR && *n < MAX_CHAIN)
		atoms[(*n)++] = d;
	for (uint32_t k = 0; f->kind == K_LINEAR && k < f->n && *n < MAX_CHAIN; k++)
		atoms[(*n)++] = f->term[k];
}

bool dim_equation_span(struct ctx *cx, dim d, struct span *s)
{
	const struct dims *t = cx->dims;
	dim atoms[MAX_CHAIN];
	uint32_t n = 0;
	bool any = false;

	add_atoms(t, d, atoms, &n);
	for (uint32_t i = 0; i < t->equations.len; i++) {
		const struct equation *e = &t->equations.at[i];
		bool a = has_any_atom(t, e->a, atoms, n), b = has_any_atom(t, e->b, atoms, n);
		if (!a && !b)
			continue;
		add_atoms(t, a ? e->b : e->a, atoms, &n);
		*s = e->span;
		any = true;
	}
	return any;
}
