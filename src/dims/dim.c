/*
 * dim.c: symbolic dims: the API, the equations found so far.
 * In: dims in any form. Out: canonical dims under all equations.
 * Holds: an equation replaces one base atom by an expression of other base atoms that are not
 * replaced, so replacing ends; atoms with operands are never replaced, as rebuilding one could
 * bring it back. An equation that replaces nothing is a fact that dim_eq looks up. A replacement
 * never costs a value its place at run time: see may_replace().
 */
#include <string.h>

#include "dims/internal.h"

static dim pairs(struct dims *t, enum form_kind kind, dim a, dim b)
{
	return make_extreme(t, kind, (dim[]){a, b}, 2);
}

struct dims *dims_new(struct ctx *cx)
{
	struct dims *t = new (cx->arena, struct dims);
	t->arena = cx->arena;
	t->age = 1;
	*vec_push(t->arena, &t->forms) = new (t->arena, struct form); /* DIM_NONE */
	return t;
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
		return make_extreme(t, f->kind, ops, f->n);
	}
}

static void found(struct dims *t, dim d, dim r)
{
	form_of(t, r)->found = r;
	form_of(t, r)->found_age = t->age;
	form_of(t, d)->found = r;
	form_of(t, d)->found_age = t->age;
}

/* The first replaced base atom in d whose replacement is not up to date; DIM_NONE if none. */
static dim stale(const struct dims *t, dim d)
{
	const struct form *f = form_of(t, d);
	if (f->found_age == t->age)
		return DIM_NONE;
	if (f->kind == K_BASE)
		return f->subst ? d : DIM_NONE;
	for (uint32_t i = 0; i < f->n && !f->frozen; i++) {
		dim s = stale(t, f->term[i]);
		if (s)
			return s;
	}
	return DIM_NONE;
}

/* Chains of replacements may be as long as the input: an explicit stack, and paths get short. */
static void follow(struct dims *t, dim d)
{
	uint32_t bottom = t->todo.len;
	*vec_push(t->arena, &t->todo) = d;
	while (t->todo.len > bottom) {
		dim top = t->todo.at[t->todo.len - 1], next = stale(t, form_of(t, top)->subst);
		if (next) {
			*vec_push(t->arena, &t->todo) = next;
			continue;
		}
		form_of(t, top)->subst = find(t, form_of(t, top)->subst);
		found(t, top, form_of(t, top)->subst);
		t->todo.len--;
	}
}

dim find(struct dims *t, dim d)
{
	struct form *f = form_of(t, d);
	if (f->found_age == t->age)
		return f->found;
	if (!d)
		bug("a dim that is none is used");
	if (f->kind == K_BASE && f->subst)
		follow(t, d);
	else if (f->kind == K_BASE || f->frozen)
		found(t, d, d);
	else
		found(t, d, f->kind == K_LINEAR ? rebuild_sum(t, f) : rebuild_atom(t, f));
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
		/* a new atom is in nobody's memo */
		t->age += d + 1 < t->forms.len;
	}
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
	return pairs(cx->dims, K_MAX, find(cx->dims, a), find(cx->dims, b));
}

dim dim_min(struct ctx *cx, dim a, dim b)
{
	return pairs(cx->dims, K_MIN, find(cx->dims, a), find(cx->dims, b));
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

/* l += k * (r - atom), where the atom equals r */
static bool swap(struct dims *t, struct lin *l, dim atom, dim r, int64_t k)
{
	return k != INT64_MIN && lin_add(t, l, atom, -k) && lin_add(t, l, r, k);
}

/* a // 2 for a == x + 1: x - x // 2 */
static dim settled_floordiv(struct dims *t, const struct form *f)
{
	const struct form *a = form_of(t, f->term[0]);
	int64_t m;
	if (!form_const(t, f->term[1], &m) || m != 2 || a->kind != K_LINEAR || a->c != 1)
		return DIM_NONE;
	dim x = make_add(t, f->term[0], make_const(t, -1));
	return make_add(t, x, make_scale(t, make_floordiv(t, x, f->term[1]), -1));
}

/* a % m: a - m * (a // m) */
static dim settled_mod(struct dims *t, const struct form *f)
{
	int64_t m;
	if (!form_const(t, f->term[1], &m) || m == INT64_MIN)
		return DIM_NONE;
	dim q = make_floordiv(t, f->term[0], f->term[1]);
	return make_add(t, f->term[0], make_scale(t, q, -m));
}

/* max and min of a and b: with max(d, 0) alone, where d is a-b or b-a and leads positive */
static dim settled_extreme(struct dims *t, const struct form *f)
{
	dim zero = make_const(t, 0), a = f->term[0], b = f->n == 2 ? f->term[1] : a, d;
	struct lin l;
	lin_load(t, &l, a);
	if (f->n != 2 || !lin_add(t, &l, b, -1) || !l.n)
		return DIM_NONE;
	bool flip = l.coef[0] < 0;
	if (f->kind == K_MAX && b == zero && !flip)
		return DIM_NONE; /* it is settled */
	if ((flip && !lin_scale(&l, -1)) || !(d = lin_dim(t, &l)))
		return DIM_NONE;
	d = pairs(t, K_MAX, d, zero);
	if (f->kind == K_MAX)
		return make_add(t, flip ? a : b, d);
	return make_add(t, flip ? b : a, make_scale(t, d, -1));
}

/* Rewrites l so that equal things that have several normal forms meet. */
static bool settle(struct dims *t, struct lin *l)
{
	for (uint32_t i = 0, steps = 0; i < l->n && steps < 64; i++) {
		const struct form *f = form_of(t, l->term[i]);
		dim r = DIM_NONE;
		if (f->frozen)
			continue;
		if (f->kind == K_FLOORDIV)
			r = settled_floordiv(t, f);
		else if (f->kind == K_MOD)
			r = settled_mod(t, f);
		else if (f->kind == K_MAX || f->kind == K_MIN)
			r = settled_extreme(t, f);
		if (!r)
			continue;
		if (!swap(t, l, l->term[i], r, l->coef[i]))
			return false;
		i = (uint32_t)-1;
		steps++;
	}
	return true;
}

/* l / g with a positive first coefficient; false: no integers make it 0 */
static bool primitive(struct lin *l)
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

/* a - b: primitive, and settled besides; not ok where int64 or the limits are too small. */
struct difference {
	struct lin plain, settled;
	bool ok;
};

static bool is_zero(const struct dims *t, dim d)
{
	for (uint32_t i = 0; i < t->zeros.len && d; i++)
		if (t->zeros.at[i].d == d)
			return true;
	return false;
}

static bool negatable(const struct lin *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (l->coef[i] == INT64_MIN)
			return false;
	return l->c != INT64_MIN;
}

/* Compares canonical a and b; d is set when the answer is UNKNOWN. */
static enum truth compare(struct dims *t, dim a, dim b, struct difference *d)
{
	struct lin *l = &d->plain, *s = &d->settled;
	d->ok = false;
	if (a == b)
		return EQUAL;
	lin_load(t, l, a);
	if (!lin_add(t, l, b, -1) || !negatable(l))
		return UNKNOWN;
	*s = *l;
	if (!settle(t, s) || !negatable(s))
		*s = *l;
	if (!s->n)
		return s->c ? DIFFERENT : EQUAL;
	if (!primitive(l) || !primitive(s))
		return DIFFERENT;
	d->ok = true;
	if (t->ones.len && range_lin(t, l).lo == 0 && range_lin(t, l).hi == 0)
		return EQUAL;
	return t->zeros.len && is_zero(t, lin_dim(t, s)) ? EQUAL : UNKNOWN;
}

/* Can l, not known to be 0, be 0 at all? */
static bool never_zero(struct dims *t, const struct lin *l)
{
	struct lin n = *l;
	return prove_ge(t, l, 1) || (lin_scale(&n, -1) && prove_ge(t, &n, 1));
}

bool dim_eq(struct ctx *cx, dim a, dim b)
{
	struct dims *t = cx->dims;
	struct difference d;
	return compare(t, find(t, a), find(t, b), &d) == EQUAL;
}

bool dim_ne(struct ctx *cx, dim a, dim b)
{
	struct dims *t = cx->dims;
	struct difference d;
	enum truth r = compare(t, find(t, a), find(t, b), &d);
	return r == DIFFERENT || (r == UNKNOWN && d.ok && never_zero(t, &d.plain));
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

/*
 * Equations.
 */
static const struct form *source_form(const struct dims *t, const struct form *f)
{
	while (f->source == SOURCE_NONE && f->alias)
		f = form_of(t, f->alias);
	return f;
}

/* Does x stand in d, or anything that is never looked into? */
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
static bool grounded(const struct dims *t, dim d)
{
	const struct form *f = form_of(t, d);
	if (f->kind == K_BASE || f->closed)
		return source_form(t, f)->source != SOURCE_NONE;
	if (f->frozen)
		return true; /* a deep one is not walked; dim_value() finds out */
	for (uint32_t i = 0; i < f->n; i++)
		if (!grounded(t, f->term[i]))
			return false;
	return true;
}

/* l = k * x + rest, k is 1 or -1: may x be replaced by rest? */
static bool may_replace(const struct dims *t, const struct lin *l, uint32_t i)
{
	bool rest_grounded = true, x_grounded = grounded(t, l->term[i]);
	if (form_of(t, l->term[i])->kind != K_BASE || (l->coef[i] != 1 && l->coef[i] != -1))
		return false;
	for (uint32_t j = 0; j < l->n; j++) {
		if (j == i)
			continue;
		if (occurs(t, l->term[i], l->term[j]))
			return false;
		rest_grounded &= grounded(t, l->term[j]);
	}
	/* x == y: then y is found at run time where x was */
	bool alias = l->n == 2 && !l->c && l->coef[0] == -l->coef[1] &&
		     form_of(t, l->term[!i])->kind == K_BASE;
	return alias || !x_grounded || rest_grounded;
}

/* How gladly is it replaced? Unknowns before names, what has no place before what has one. */
static int eagerness(const struct dims *t, const struct lin *l, uint32_t i)
{
	const struct form *f = form_of(t, l->term[i]);
	bool pair = l->n == 2 && !l->c;
	return 2 * (!f->name) + (!pair && !grounded(t, l->term[i])) * 4;
}

/* max(x, y) == v where y < v always: x == v (min alike) */
static bool peel(struct dims *t, struct lin *l)
{
	for (uint32_t i = 0; i < l->n; i++) {
		const struct form *f = form_of(t, l->term[i]);
		int64_t k = l->coef[i];
		if (f->frozen || (f->kind != K_MAX && f->kind != K_MIN) || (k != 1 && k != -1))
			continue;
		/* k*max(..) + rest == 0, so max(..) - op == -k*rest - op */
		dim left = DIM_NONE;
		uint32_t nleft = 0;
		for (uint32_t j = 0; j < f->n; j++) {
			struct lin r = *l;
			int64_t sign = f->kind == K_MAX ? 1 : -1;
			bool out = lin_add(t, &r, l->term[i], -k) && lin_scale(&r, -k * sign) &&
				   lin_add(t, &r, f->term[j], -sign) && prove_ge(t, &r, 1);
			if (!out) {
				left = f->term[j];
				nleft++;
			}
		}
		struct lin r = *l;
		if (nleft == 1 && lin_add(t, &r, l->term[i], -k) && lin_add(t, &r, left, k)) {
			*l = r;
			return true;
		}
	}
	return false;
}

/* x, within its own range, is e now: so e is within it as well */
static void keep_bound(struct dims *t, const struct lin *e, int64_t low)
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
		*vec_push(t->arena, &t->bounds) = (struct fact){d, low};
}

static void keep_bounds(struct dims *t, const struct form *x, const struct lin *e)
{
	struct lin n = *e;
	bool size = x->source == SOURCE_SIZE || (x->name && x->source != SOURCE_NONE);
	if (!size) /* nothing at run time holds it to its range */
		return;
	keep_bound(t, e, x->own.lo);
	if (x->own.hi != NO_HIGH && lin_scale(&n, -1))
		keep_bound(t, &n, -x->own.hi);
}

/* Facts in terms of the atoms that are left; without their own help, which would be circular. */
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
		dim d = find(t, t->zeros.at[i].d);
		t->zeros.at[i].d = zero; /* it must not prove itself */
		if (compare(t, d, zero, &e) == UNKNOWN && e.ok)
			t->zeros.at[i].d = lin_dim(t, &e.settled);
	}
}

/* y takes the place of x: it is found at run time where x is, unless it has a place of its own. */
static void add_alias(const struct dims *t, dim y, dim x)
{
	struct form *f = form_of(t, y);
	while (f->source == SOURCE_NONE && f->alias)
		f = form_of(t, f->alias);
	if (f->source == SOURCE_NONE)
		f->alias = x;
}

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
		add_alias(t, e.term[0], x);
		form_of(t, e.term[0])->one |= f->one;
	}
	t->age++;
	keep_bounds(t, f, &e);
	refresh_facts(t);
}

/* l == 0 says that an atom is 1, and that is to be left at that. */
static bool keep_one(struct dims *t, const struct lin *l)
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

static void solve(struct dims *t, struct difference *diff)
{
	struct lin *l = &diff->plain;
	for (int limit = 8; limit && peel(t, l); limit--)
		;
	if (!l->n || !primitive(l) || keep_one(t, l))
		return;
	int best = -1, best_eager = -1;
	for (uint32_t i = 0; i < l->n; i++) { /* at the same eagerness the newest, the last */
		int eager = eagerness(t, l, i);
		if (eager >= best_eager && may_replace(t, l, i)) {
			best = (int)i;
			best_eager = eager;
		}
	}
	if (best >= 0) {
		replace_atom(t, l, (uint32_t)best);
		return;
	}
	dim d = lin_dim(t, &diff->settled);
	if (d && t->zeros.len < MAX_FACTS)
		*vec_push(t->arena, &t->zeros) = (struct fact){d, 0};
}

bool dim_unify(struct ctx *cx, dim a, dim b, struct span s)
{
	struct dims *t = cx->dims;
	struct difference d;
	a = find(t, a);
	b = find(t, b);
	enum truth r = compare(t, a, b, &d);
	if (r == EQUAL)
		return true;
	if (r == DIFFERENT || (d.ok && never_zero(t, &d.plain)))
		return false;
	*vec_push(t->arena, &t->equations) = (struct equation){a, b, s};
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
		if (lin_sub_const(&d.plain, 1) && primitive(&d.plain)) {
			d.settled = d.plain;
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
	const struct form *x = form_of(t, a), *y = form_of(t, b);
	if (x->kind != K_BASE || y->kind != K_BASE)
		return false;
	x = source_form(t, x);
	y = source_form(t, y);
	return x->source == y->source && x->value == y->value && x->at == y->at;
}

uint32_t dim_equations(struct ctx *cx, const struct equation **list)
{
	struct dims *t = cx->dims;
	struct equation *e = new_array(t->arena, struct equation, t->equations.len + 1);
	uint32_t n = 0;
	for (uint32_t i = 0; i < t->equations.len; i++) {
		dim a = t->equations.at[i].a, b = t->equations.at[i].b;
		/* a side without a place at run time was defined by its equation */
		if (grounded(t, a) && grounded(t, b) && !same_source(t, a, b))
			e[n++] = t->equations.at[i];
	}
	*list = e;
	return n;
}

/*
 * Views.
 */
struct dim_view dim_view_raw(struct ctx *cx, dim d)
{
	static const enum dim_form forms[] = {
		[K_LINEAR] = DIM_SUM,      [K_BASE] = DIM_ATOM,         [K_MAX] = DIM_MAX,
		[K_MIN] = DIM_MIN,         [K_FLOORDIV] = DIM_FLOORDIV, [K_MOD] = DIM_MOD,
		[K_PRODUCT] = DIM_PRODUCT, [K_LUMP_ADD] = DIM_SUM,      [K_LUMP_MUL] = DIM_PRODUCT,
	};
	static const int64_t ones[] = {1, 1};
	const struct form *f = form_of(cx->dims, d), *s = source_form(cx->dims, f);
	struct dim_view v = {.form = forms[f->kind], .nterms = f->n, .term = f->term};
	if (f->kind == K_LINEAR) {
		v.form = f->n ? DIM_SUM : DIM_CONST;
		v.constant = f->c;
		v.coef = f->coef;
	} else if (f->kind == K_LUMP_ADD) {
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
