/*
 * dim.c: symbolic dims: their API, and the equations between them.
 * In: dims in any form. Out: canonical dims under all equations.
 * Holds: an equation replaces one base atom by an expression of base atoms that are not replaced
 * themselves, so find() ends. Atoms with operands are never replaced: rebuilding them could bring
 * the replaced atom back. An equation that can replace no atom is kept in dims.zeros, where
 * dim_eq() looks it up. A dim that can be computed at run time before a replacement can be computed
 * after it: see may_replace().
 */
#include <stdlib.h>
#include <string.h>

#include "dims/internal.h"

#define MAX_EXPECTED       (INT64_C(1) << 31)
#define MAX_EXPECTED_TERMS 64 /* of a longer expression nothing is expected */

void dims_init(struct ctx *cx)
{
	struct dims *t = cx->dims = new (cx->arena, struct dims);
	t->arena = cx->arena;
	t->age = 1;
	*vec_push(t->arena, &t->forms) = new (t->arena, struct form); /* DIM_NONE */
}

/*
 * find
 */
static dim rebuild_sum(struct dims *t, const struct form *f)
{
	struct lin l;
	dim d;
	l.c = f->c;
	l.n = 0;
	bool fits = true;
	for (uint32_t i = 0; i < f->n && fits; i++)
		fits = lin_add(t, &l, find(t, f->term[i]), f->coef[i]);
	if (fits && (d = lin_dim(t, &l)))
		return d;
	d = make_const(t, f->c);
	for (uint32_t i = 0; i < f->n; i++)
		d = make_add(t, d, make_scale(t, find(t, f->term[i]), f->coef[i]));
	return d;
}

static dim rebuild_atom(struct dims *t, const struct form *f)
{
	dim ops[MAX_OPS] = {0}, d;
	for (uint32_t i = 0; i < f->n; i++)
		ops[i] = find(t, f->term[i]);
	switch (f->kind) {
	case K_FLOORDIV:
		return make_floordiv(t, ops[0], ops[1]);
	case K_MOD:
		return make_mod(t, ops[0], ops[1]);
	case K_PRODUCT:
		d = ops[0];
		for (uint32_t i = 1; i < f->n; i++)
			d = make_mul(t, d, ops[i]);
		return d;
	default:
		return make_minmax(t, f->kind, ops, f->n);
	}
}

static void memoize_find(struct dims *t, dim d, dim r)
{
	form_of(t, r)->found = r;
	form_of(t, r)->found_age = t->age;
	form_of(t, d)->found = r;
	form_of(t, d)->found_age = t->age;
}

/* The first replaced base atom in d whose find() is not memoized; DIM_NONE if there is none. */
static dim stale_atom(const struct dims *t, dim d)
{
	const struct form *f = form_of(t, d);
	if (f->found_age == t->age)
		return DIM_NONE;
	if (f->kind == K_BASE)
		return f->subst ? d : DIM_NONE;
	for (uint32_t i = 0; i < f->n && !f->frozen; i++) {
		dim s = stale_atom(t, f->term[i]);
		if (s)
			return s;
	}
	return DIM_NONE;
}

/* Finds what replaces the base atom d, with path compression. A chain of replacements may be as
 * long as the input, so the stack is explicit. */
static void resolve_chain(struct dims *t, dim d)
{
	uint32_t bottom = t->todo.len;
	*vec_push(t->arena, &t->todo) = d;
	while (t->todo.len > bottom) {
		dim top = t->todo.at[t->todo.len - 1], next = stale_atom(t, form_of(t, top)->subst);
		if (next) {
			*vec_push(t->arena, &t->todo) = next;
			continue;
		}
		form_of(t, top)->subst = find(t, form_of(t, top)->subst);
		memoize_find(t, top, form_of(t, top)->subst);
		t->todo.len--;
	}
}

dim find(struct dims *t, dim d)
{
	struct form *f = form_of(t, d);
	if (f->found_age == t->age)
		return f->found;
	if (!d)
		bug("DIM_NONE is used as a dim");
	if (f->kind == K_BASE && f->subst)
		resolve_chain(t, d);
	else if (f->kind == K_BASE || f->frozen)
		memoize_find(t, d, d);
	else
		memoize_find(t, d, f->kind == K_LINEAR ? rebuild_sum(t, f) : rebuild_atom(t, f));
	return f->found;
}

dim dim_find(struct ctx *cx, dim d)
{
	return find(cx->dims, d);
}

/*
 * Making dims.
 */
dim dim_const(struct ctx *cx, int64_t v)
{
	return make_const(cx->dims, v);
}

dim dim_name(struct ctx *cx, struct sym *name)
{
	return make_base(cx->dims, name, (struct range){0, NO_HIGH});
}

dim dim_fresh(struct ctx *cx, enum dim_source_kind kind, struct value *v, uint32_t at)
{
	dim d = make_base(cx->dims, NULL, (struct range){NO_LOW, NO_HIGH});
	dim_set_source(cx, d, kind, v, at);
	return d;
}

void dim_set_source(struct ctx *cx, dim d, enum dim_source_kind kind, struct value *v, uint32_t at)
{
	struct dims *t = cx->dims;
	struct form *f = form_of(t, d);
	if ((f->kind != K_BASE && !f->closed) || f->source != SOURCE_NONE || kind == SOURCE_NONE)
		return;
	f->source = (uint8_t)kind;
	f->value = v;
	f->at = at;
	if (kind == SOURCE_SIZE && f->own.lo < 0) {
		f->own.lo = 0;
		t->age += d + 1 < t->forms.len; /* no memo depends on the newest atom */
	}
}

void dim_bound(struct ctx *cx, dim d, int64_t lo, int64_t hi)
{
	struct form *f = form_of(cx->dims, d);

	if (f->own.lo < lo)
		f->own.lo = lo;
	if (f->own.hi > hi)
		f->own.hi = hi;
	cx->dims->age++;
}

dim dim_add(struct ctx *cx, dim a, dim b)
{
	return make_add(cx->dims, find(cx->dims, a), find(cx->dims, b));
}

dim dim_neg(struct ctx *cx, dim a)
{
	return make_scale(cx->dims, find(cx->dims, a), -1);
}

dim dim_sub(struct ctx *cx, dim a, dim b)
{
	struct dims *t = cx->dims;
	struct lin l;
	dim d;
	a = find(t, a);
	b = find(t, b);
	lin_load(t, &l, a);
	if (lin_add(t, &l, b, -1) && (d = lin_dim(t, &l)))
		return d;
	return make_add(t, a, make_scale(t, b, -1));
}

dim dim_mul(struct ctx *cx, dim a, dim b)
{
	return make_mul(cx->dims, find(cx->dims, a), find(cx->dims, b));
}

dim dim_floordiv(struct ctx *cx, dim a, dim b)
{
	return make_floordiv(cx->dims, find(cx->dims, a), find(cx->dims, b));
}

dim dim_mod(struct ctx *cx, dim a, dim b)
{
	return make_mod(cx->dims, find(cx->dims, a), find(cx->dims, b));
}

dim dim_max(struct ctx *cx, dim a, dim b)
{
	return make_minmax(cx->dims, K_MAX, (dim[]){find(cx->dims, a), find(cx->dims, b)}, 2);
}

dim dim_min(struct ctx *cx, dim a, dim b)
{
	return make_minmax(cx->dims, K_MIN, (dim[]){find(cx->dims, a), find(cx->dims, b)}, 2);
}

dim dims_product(struct ctx *cx, const dim *d, uint32_t n)
{
	dim r = dim_const(cx, 1);

	for (uint32_t i = 0; i < n; i++)
		r = dim_mul(cx, r, d[i]);
	return r;
}

/*
 * Questions.
 */
bool dim_is_const(struct ctx *cx, dim d, int64_t *v)
{
	d = find(cx->dims, d);
	if (form_of(cx->dims, d)->one)
		*v = 1;
	return form_of(cx->dims, d)->one || form_const(cx->dims, d, v);
}

bool dim_is_one(struct ctx *cx, dim d)
{
	int64_t v;

	return form_const(cx->dims, find(cx->dims, d), &v) && v == 1;
}

/* (x + 1) // 2 == x - x // 2; DIM_NONE: f has another form */
static dim expand_floordiv(struct dims *t, const struct form *f)
{
	const struct form *a = form_of(t, f->term[0]);
	int64_t m;
	if (!form_const(t, f->term[1], &m) || m != 2 || a->kind != K_LINEAR || a->c != 1)
		return DIM_NONE;
	dim x = make_add(t, f->term[0], make_const(t, -1));
	return make_add(t, x, make_scale(t, make_floordiv(t, x, f->term[1]), -1));
}

/* a % m == a - m * (a // m) */
static dim expand_mod(struct dims *t, const struct form *f)
{
	int64_t m;
	if (!form_const(t, f->term[1], &m) || m == INT64_MIN)
		return DIM_NONE;
	dim q = make_floordiv(t, f->term[0], f->term[1]);
	return make_add(t, f->term[0], make_scale(t, q, -m));
}

/* max(a, b) == b + max(a-b, 0) and min(a, b) == a - max(a-b, 0). The operand of the new max is
 * a-b or b-a, whichever has a positive first coefficient. */
static dim expand_minmax(struct dims *t, const struct form *f)
{
	dim zero = make_const(t, 0), a = f->term[0], b = f->n == 2 ? f->term[1] : a, d;
	struct lin l;
	lin_load(t, &l, a);
	if (f->n != 2 || !lin_add(t, &l, b, -1) || !l.n)
		return DIM_NONE;
	bool flip = l.coef[0] < 0;
	if (f->kind == K_MAX && b == zero && !flip)
		return DIM_NONE; /* f has this form already */
	if ((flip && !lin_scale(&l, -1)) || !(d = lin_dim(t, &l)))
		return DIM_NONE;
	d = make_minmax(t, K_MAX, (dim[]){d, zero}, 2);
	if (f->kind == K_MAX)
		return make_add(t, flip ? a : b, d);
	return make_add(t, flip ? b : a, make_scale(t, d, -1));
}

/* Some equal expressions have different normal forms: x % 2 + 2*(x//2) is x. Replaces the atoms of
 * l by the expressions above, so that more differences become 0. */
static bool expand_atoms(struct dims *t, struct lin *l)
{
	for (uint32_t i = 0, steps = 0; i < l->n && steps < 64; i++) {
		const struct form *f = form_of(t, l->term[i]);
		dim r = DIM_NONE;
		if (f->frozen)
			continue;
		if (f->kind == K_FLOORDIV)
			r = expand_floordiv(t, f);
		else if (f->kind == K_MOD)
			r = expand_mod(t, f);
		else if (f->kind == K_MAX || f->kind == K_MIN)
			r = expand_minmax(t, f);
		if (!r)
			continue;
		if (!lin_replace(t, l, i, r))
			return false;
		i = (uint32_t)-1; /* from the start again */
		steps++;
	}
	return true;
}

/* Divides l by the gcd of its coefficients, and makes the first one positive: l == 0 stays the same
 * equation. false: the gcd does not divide l->c, so no integers solve the equation. */
static bool make_primitive(struct lin *l)
{
	uint64_t g = 0;
	for (uint32_t i = 0; i < l->n; i++) {
		uint64_t k = l->coef[i] < 0 ? -(uint64_t)l->coef[i] : (uint64_t)l->coef[i], r;
		for (; k; k = r) {
			r = g % k;
			g = k;
		}
	}
	if (!g || g > INT64_MAX || l->c == INT64_MIN)
		return !l->c;
	if (l->c % (int64_t)g)
		return false;
	int64_t by = l->n && l->coef[0] < 0 ? -(int64_t)g : (int64_t)g;
	for (uint32_t i = 0; i < l->n; i++)
		l->coef[i] /= by;
	l->c /= by;
	return true;
}

enum truth { UNKNOWN, EQUAL, DIFFERENT };

struct difference {
	struct lin plain;    /* a - b, primitive */
	struct lin expanded; /* a - b after expand_atoms(), primitive */
	bool ok;             /* false: int64 or a limit was too small */
};

static bool is_known_zero(const struct dims *t, dim d)
{
	for (uint32_t i = 0; i < t->zeros.len && d; i++)
		if (t->zeros.at[i] == d)
			return true;
	return false;
}

static bool can_negate(const struct lin *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (l->coef[i] == INT64_MIN)
			return false;
	return l->c != INT64_MIN;
}

/* Compares canonical a and b; d is set when the answer is UNKNOWN. */
static enum truth compare_dims(struct dims *t, dim a, dim b, struct difference *d)
{
	struct lin *l = &d->plain, *s = &d->expanded;
	d->ok = false;
	if (a == b)
		return EQUAL;
	lin_load(t, l, a);
	if (!lin_add(t, l, b, -1) || !can_negate(l))
		return UNKNOWN;
	*s = *l;
	if (!expand_atoms(t, s) || !can_negate(s))
		*s = *l;
	if (!s->n)
		return s->c ? DIFFERENT : EQUAL;
	if (!make_primitive(l) || !make_primitive(s))
		return DIFFERENT;
	d->ok = true;
	if (t->ones.len && range_lin(t, l).lo == 0 && range_lin(t, l).hi == 0)
		return EQUAL;
	return t->zeros.len && is_known_zero(t, lin_dim(t, s)) ? EQUAL : UNKNOWN;
}

static bool prove_nonzero(struct dims *t, const struct lin *l)
{
	struct lin n = *l;
	return prove_ge(t, l, 1) || (lin_scale(&n, -1) && prove_ge(t, &n, 1));
}

bool dim_eq(struct ctx *cx, dim a, dim b)
{
	struct dims *t = cx->dims;
	struct difference d;
	return compare_dims(t, find(t, a), find(t, b), &d) == EQUAL;
}

bool dim_ne(struct ctx *cx, dim a, dim b)
{
	struct dims *t = cx->dims;
	struct difference d;
	enum truth r = compare_dims(t, find(t, a), find(t, b), &d);
	return r == DIFFERENT || (r == UNKNOWN && d.ok && prove_nonzero(t, &d.plain));
}

bool dim_ge(struct ctx *cx, dim d, int64_t k)
{
	struct dims *t = cx->dims;
	struct lin l;
	lin_load(t, &l, find(t, d));
	return prove_ge(t, &l, k);
}

bool dim_le(struct ctx *cx, dim d, int64_t k)
{
	struct dims *t = cx->dims;
	struct lin l;
	lin_load(t, &l, find(t, d));
	return k != INT64_MIN && lin_scale(&l, -1) && prove_ge(t, &l, -k);
}

bool same_dims(struct ctx *cx, struct type a, struct type b)
{
	if (a.rank != b.rank)
		return false;
	for (uint32_t i = 0; i < a.rank; i++)
		if (!dim_eq(cx, a.dims[i], b.dims[i]))
			return false;
	return true;
}

#define MAX_SOURCE_WALK 64 /* parts of a dim that are looked at */

static unsigned collect_sources(struct ctx *cx, dim d, bool raw, int *budget)
{
	struct dim_view v = raw ? dim_view_raw(cx, d) : dim_view(cx, d);
	unsigned bits = 0;

	if (--*budget < 0)
		return FROM_ANYTHING;
	if (v.form == DIM_ATOM)
		return v.kind == SOURCE_SIZE    ? FROM_SIZE
		       : v.kind == SOURCE_VALUE ? FROM_VALUE
						: FROM_NOWHERE;
	if (v.form == DIM_CONST)
		return v.constant > INT32_MAX || v.constant < INT32_MIN ? FROM_LARGE : 0;
	for (uint32_t i = 0; i < v.nterms; i++)
		bits |= collect_sources(cx, v.term[i], raw, budget);
	return bits;
}

unsigned dim_sources(struct ctx *cx, dim d, bool raw)
{
	int budget = MAX_SOURCE_WALK;

	return collect_sources(cx, d, raw, &budget);
}

/*
 * Equations.
 */
/* f, or the first of the atoms that f has replaced which has a source */
static struct form *form_with_source(const struct dims *t, struct form *f)
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
 * x can be computed at run time and rest cannot. */
static bool may_replace(const struct dims *t, const struct lin *l, uint32_t i)
{
	bool rest_computable = true, x_computable = is_computable(t, l->term[i]);
	if (form_of(t, l->term[i])->kind != K_BASE || (l->coef[i] != 1 && l->coef[i] != -1))
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
		*vec_push(t->arena, &t->bounds) = (struct bound){d, low};
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

/* Makes diff == 0 true: replaces an atom, or adds an entry to dims.zeros. */
static void solve(struct dims *t, struct difference *diff)
{
	struct lin *l = &diff->plain;
	for (int limit = 8; limit && drop_minmax(t, l); limit--)
		;
	if (!l->n || !make_primitive(l) || mark_one(t, l))
		return;
	int best = -1, best_rank = -1;
	for (uint32_t i = 0; i < l->n; i++) { /* of equal ranks the newest atom, which is last */
		int rank = replacement_rank(t, l, i);
		if (rank >= best_rank && may_replace(t, l, i)) {
			best = (int)i;
			best_rank = rank;
		}
	}
	if (best >= 0) {
		replace_atom(t, l, (uint32_t)best);
		return;
	}
	dim d = lin_dim(t, &diff->expanded);
	if (d && t->zeros.len < MAX_ZEROS)
		*vec_push(t->arena, &t->zeros) = d;
}

/* Warns if the equation a == b, which was just solved, holds for empty arrays alone: x + x[1:] is
 * legal, but hardly what the user meant. */
static void warn_empty(struct ctx *cx, dim a, dim b, struct span s)
{
	const struct form *x = form_of(cx->dims, a), *y = form_of(cx->dims, b);
	const struct source *at = source_of(cx, s);
	bool number = (x->kind == K_LINEAR && !x->n) || (y->kind == K_LINEAR && !y->n);
	int64_t k;

	if (!number && dim_is_const(cx, a, &k) && k == 0 && at && !at->lib)
		warn(cx, s, W_EMPTY, "the lengths %s and %s are equal only if they are 0",
		     dim_str_raw(cx, a), dim_str_raw(cx, b));
}

/* Warns if a == b makes two dims one to which the user gave different names. */
static void warn_names(struct ctx *cx, dim a, dim b, struct span s)
{
	const struct form *x = form_of(cx->dims, a), *y = form_of(cx->dims, b);

	if (x->kind == K_BASE && y->kind == K_BASE && x->name && y->name)
		warn(cx, s, W_JOINED_DIMS,
		     "this makes %s and %s one length: give both one name, unless another axis is "
		     "meant",
		     dim_str_raw(cx, a), dim_str_raw(cx, b));
}

bool dim_unify(struct ctx *cx, dim a, dim b, struct span s)
{
	struct dims *t = cx->dims;
	struct difference d;
	a = find(t, a);
	b = find(t, b);
	enum truth r = compare_dims(t, a, b, &d);
	if (r == EQUAL)
		return true;
	if (r == DIFFERENT || (d.ok && prove_nonzero(t, &d.plain)))
		return false;
	*vec_push(t->arena, &t->equations) = (struct equation){a, b, s};
	warn_names(cx, a, b, s);
	if (d.ok) {
		solve(t, &d);
		warn_empty(cx, a, b, s);
	}
	return true;
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
			solve(t, &d);
		}
	}
}

bool dim_meet(struct ctx *cx, dim *a, dim b, struct span s)
{
	int64_t k;

	if (!dim_unify(cx, *a, b, s))
		return false;
	b = find(cx->dims, b);
	*a = form_const(cx->dims, b, &k) ? b : find(cx->dims, *a);
	return true;
}

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

#define MAX_CHAIN 16 /* atoms that dim_equation_span() follows */

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

/*
 * Views.
 */
struct dim_view dim_view_raw(struct ctx *cx, dim d)
{
	static const enum dim_form forms[] = {
		[K_LINEAR] = DIM_SUM,
		[K_BASE] = DIM_ATOM,
		[K_MAX] = DIM_MAX,
		[K_MIN] = DIM_MIN,
		[K_FLOORDIV] = DIM_FLOORDIV,
		[K_MOD] = DIM_MOD,
		[K_PRODUCT] = DIM_PRODUCT,
		[K_FROZEN_ADD] = DIM_SUM,
		[K_FROZEN_MUL] = DIM_PRODUCT,
	};
	static const int64_t ones[] = {1, 1};
	struct form *f = form_of(cx->dims, d), *s = form_with_source(cx->dims, f);
	struct dim_view v = {.form = forms[f->kind], .nterms = f->n, .term = f->term};
	if (f->kind == K_LINEAR) {
		v.form = f->n ? DIM_SUM : DIM_CONST;
		v.constant = f->c;
		v.coef = f->coef;
	} else if (f->kind == K_FROZEN_ADD) {
		v.coef = ones;
	}
	if (f->kind == K_BASE || f->closed)
		v = (struct dim_view){.form = DIM_ATOM,
				      .kind = s->source,
				      .source = s->value,
				      .at = s->at,
				      .name = f->name};
	return v;
}

struct dim_view dim_view(struct ctx *cx, dim d)
{
	return dim_view_raw(cx, find(cx->dims, d));
}

static int64_t expected_name(struct ctx *cx, const struct sym *name)
{
	size_t len = name ? strlen(name->s) : 0;

	for (const char *const *e = cx->opt.expected; name && e && *e; e++)
		if (!strncmp(*e, name->s, len) && (*e)[len] == '=')
			return strtoll(*e + len + 1, NULL, 10);
	return 0;
}

/* The length, at most MAX_EXPECTED; 0: not known. depth: of the expression, as far as it counts */
static int64_t expected(struct ctx *cx, dim d, int depth)
{
	const struct dim_view v = dim_view(cx, d);
	int64_t r = v.form == DIM_PRODUCT ? 1 : v.constant, k;

	if (v.form == DIM_ATOM)
		return expected_name(cx, v.name);
	if (v.form != DIM_CONST && v.form != DIM_SUM && v.form != DIM_PRODUCT)
		return 0;
	for (uint32_t i = 0; i < v.nterms; i++) {
		k = depth && v.nterms <= MAX_EXPECTED_TERMS ? expected(cx, v.term[i], depth - 1)
							    : 0;
		if (!k || (v.coef && llabs(v.coef[i]) > MAX_EXPECTED))
			return 0;
		r = v.form == DIM_PRODUCT ? r * k : r + k * v.coef[i];
		if (llabs(r) > MAX_EXPECTED)
			return MAX_EXPECTED;
	}
	return r < 0 ? 0 : r > MAX_EXPECTED ? MAX_EXPECTED : r;
}

int64_t dim_expected(struct ctx *cx, dim d, int64_t otherwise)
{
	int64_t n;

	if (dim_is_const(cx, d, &n))
		return n;
	n = cx->opt.expected ? expected(cx, d, 4) : 0;
	return n > 0 ? n : otherwise;
}
