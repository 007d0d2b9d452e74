/*
 * dim.c: symbolic dims: sums, products and the like of them, and comparisons.
 * In: dims in any form. Out: canonical dims under all equations (unify.c), as find() gives them: in
 * an expression each atom that an equation replaced is replaced.
 */
#include "dims/internal.h"

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

void dim_call(struct ctx *cx, dim d, struct sym *name)
{
	struct form *f = form_of(cx->dims, dim_find(cx, d));

	if (f->kind == K_BASE && !f->name)
		f->name = name;
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
	if ((f->kind != K_BASE && !f->closed) || f->source != SOURCE_NONE || kind == SOURCE_NONE ||
	    (t->only_ask && d + 1 < t->forms.len)) /* only atoms of its own */
		return;
	f->source = (uint8_t)kind;
	f->value = v;
	f->at = at;
	if (kind == SOURCE_SIZE && f->own.lo < 0) {
		f->own.lo = 0;
		t->age += d + 1 < t->forms.len; /* no memo depends on the newest atom */
	}
}

struct value **dim_next_source(struct ctx *cx, uint32_t *next)
{
	const struct dims *t = cx->dims;

	while (*next < t->forms.len) {
		struct form *f = t->forms.at[(*next)++];
		if (f && f->value)
			return &f->value;
	}
	return NULL;
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
	a = find(cx->dims, a);
	b = find(cx->dims, b);
	return make_add(cx->dims, a, b);
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
	a = find(cx->dims, a);
	b = find(cx->dims, b);
	return make_mul(cx->dims, a, b);
}

dim dim_floordiv(struct ctx *cx, dim a, dim b)
{
	a = find(cx->dims, a);
	b = find(cx->dims, b);
	return make_floordiv(cx->dims, a, b);
}

dim dim_mod(struct ctx *cx, dim a, dim b)
{
	a = find(cx->dims, a);
	b = find(cx->dims, b);
	return make_mod(cx->dims, a, b);
}

dim dim_max(struct ctx *cx, dim a, dim b)
{
	a = find(cx->dims, a);
	b = find(cx->dims, b);
	return make_minmax(cx->dims, K_MAX, (dim[]){a, b}, 2);
}

dim dim_min(struct ctx *cx, dim a, dim b)
{
	a = find(cx->dims, a);
	b = find(cx->dims, b);
	return make_minmax(cx->dims, K_MIN, (dim[]){a, b}, 2);
}

dim dim_plus(struct ctx *cx, dim d, int64_t k)
{
	return dim_add(cx, d, dim_const(cx, k));
}

dim dim_over(struct ctx *cx, dim d, int64_t k)
{
	return dim_floordiv(cx, d, dim_const(cx, k));
}

dim dim_at_least(struct ctx *cx, dim d, int64_t k)
{
	return dim_max(cx, d, dim_const(cx, k));
}

dim dims_product(struct ctx *cx, const dim *d, uint32_t n)
{
	dim r = dim_const(cx, 1);

	for (uint32_t i = 0; i < n; i++)
		r = dim_mul(cx, r, d[i]);
	return r;
}

bool dims_same_product(struct ctx *cx, const dim *a, uint32_t na, const dim *b, uint32_t nb)
{
	dim product = dims_product(cx, b, nb);

	return dim_eq(cx, dims_product(cx, a, na), product);
}

dim dims_missing(struct ctx *cx, const dim *all, uint32_t nall, const dim *d, uint32_t n,
		 uint32_t at)
{
	dim left[MAX_RANK], right[MAX_RANK];
	uint32_t nleft = nall, nright = 0;
	int64_t a, b;

	for (uint32_t i = 0; i < nall; i++)
		left[i] = all[i];
	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = 0;
		if (i == at)
			continue;
		if (dim_is(cx, d[i], 0))
			return DIM_NONE;
		while (k < nleft && !dim_eq(cx, left[k], d[i]))
			k++;
		if (k < nleft)
			left[k] = left[--nleft];
		else
			right[nright++] = d[i];
	}
	dim num = dims_product(cx, left, nleft), den = dims_product(cx, right, nright);
	if (dim_says_one(cx, den))
		return num;
	if (dim_is_const(cx, num, &a) && dim_is_const(cx, den, &b) && a % b)
		return DIM_NONE;
	return dim_floordiv(cx, num, den);
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

bool dim_is(struct ctx *cx, dim d, int64_t k)
{
	int64_t v;

	return dim_is_const(cx, d, &v) && v == k;
}

bool dims_are_const(struct ctx *cx, const dim *d, uint32_t n, int64_t *v)
{
	for (uint32_t i = 0; i < n; i++)
		if (!dim_is_const(cx, d[i], &v[i]))
			return false;
	return true;
}

bool dims_may_be_0(struct ctx *cx, const dim *d, uint32_t n, uint32_t but)
{
	for (uint32_t i = 0; i < n; i++)
		if (i != but && !dim_ge(cx, d[i], 1))
			return true;
	return false;
}

dim dim_abs(struct ctx *cx, dim a)
{
	return dim_ge(cx, a, 0) ? a : dim_le(cx, a, 0) ? dim_neg(cx, a) : DIM_NONE;
}

dim dim_sign(struct ctx *cx, dim a)
{
	if (dim_ge(cx, a, 1) || dim_le(cx, a, -1))
		return dim_const(cx, dim_ge(cx, a, 1) ? 1 : -1);
	return dim_is(cx, a, 0) ? a : DIM_NONE;
}

bool dims_are_ones(struct ctx *cx, const dim *d, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!dim_is(cx, d[i], 1))
			return false;
	return true;
}

bool dim_says_one(struct ctx *cx, dim d)
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
bool make_primitive(struct lin *l)
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

static bool is_known_zero(const struct dims *t, dim d)
{
	for (uint32_t i = 0; i < t->zeros.len && d; i++)
		if (t->zeros.at[i] == d)
			return true;
	return false;
}

/* Compares canonical a and b; d is set when the answer is UNKNOWN. */
enum truth compare_dims(struct dims *t, dim a, dim b, struct difference *d)
{
	struct lin *l = &d->plain, *s = &d->expanded;
	d->ok = false;
	if (a == b)
		return EQUAL;
	lin_load(t, l, a);
	if (!lin_add(t, l, b, -1) || !lin_can_negate(l))
		return UNKNOWN;
	*s = *l;
	if (!expand_atoms(t, s) || !lin_can_negate(s))
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

bool prove_nonzero(struct dims *t, const struct lin *l)
{
	struct lin n = *l;
	return prove_ge(t, l, 1) || (lin_scale(&n, -1) && prove_ge(t, &n, 1));
}

bool dim_eq(struct ctx *cx, dim a, dim b)
{
	struct dims *t = cx->dims;
	struct difference d;
	a = find(t, a);
	b = find(t, b);
	return compare_dims(t, a, b, &d) == EQUAL;
}

bool dim_ne(struct ctx *cx, dim a, dim b)
{
	struct dims *t = cx->dims;
	struct difference d;
	a = find(t, a);
	b = find(t, b);
	enum truth r = compare_dims(t, a, b, &d);
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

bool same_type(struct ctx *cx, const struct type *a, const struct type *b)
{
	return a->dtype == b->dtype && same_dims(cx, *a, *b);
}

bool same_long_dims(struct ctx *cx, struct type a, struct type b)
{
	uint32_t i = 0, j = 0;

	for (;; i++, j++) {
		while (i < a.rank && dim_says_one(cx, a.dims[i]))
			i++;
		while (j < b.rank && dim_says_one(cx, b.dims[j]))
			j++;
		if (i == a.rank || j == b.rank)
			return i == a.rank && j == b.rank;
		if (!dim_eq(cx, a.dims[i], b.dims[j]))
			return false;
	}
}
