/*
 * expr.c: normal forms of dims.
 * In: canonical expressions (results of find()). Out: the canonical expression of their sum,
 * product, ..., hash-consed, so that the same index means the same dim. Holds: each rule is true of
 * all integers within the known bounds of the atoms; a division by 0 may have any value. What
 * passes a limit of internal.h becomes a frozen atom, never a wrong expression.
 */
#include <stdlib.h>
#include <string.h>

#include "dims/internal.h"

static int64_t gcd(int64_t a, int64_t b) /* both >= 0 */
{
	while (b) {
		int64_t r = a % b;
		a = b;
		b = r;
	}
	return a;
}

/*
 * Linear expressions under construction.
 */
void lin_load(const struct dims *t, struct lin *l, dim d)
{
	const struct form *f = form_of(t, d);
	if (f->kind != K_LINEAR) {
		l->c = 0;
		l->n = 1;
		l->coef[0] = 1;
		l->term[0] = d;
		return;
	}
	l->c = f->c;
	l->n = f->n;
	for (uint32_t i = 0; i < f->n; i++) {
		l->coef[i] = f->coef[i];
		l->term[i] = f->term[i];
	}
}

static bool add_term(struct lin *l, dim term, int64_t k)
{
	uint32_t i = l->n;
	while (i && l->term[i - 1] > term)
		i--;
	if (i && l->term[i - 1] == term) {
		if (__builtin_add_overflow(l->coef[i - 1], k, &l->coef[i - 1]))
			return false;
		if (!l->coef[i - 1]) {
			l->n--;
			memmove(l->coef + i - 1, l->coef + i, (l->n - i + 1) * sizeof(*l->coef));
			memmove(l->term + i - 1, l->term + i, (l->n - i + 1) * sizeof(*l->term));
		}
		return true;
	}
	if (l->n == MAX_TERMS)
		return false;
	memmove(l->coef + i + 1, l->coef + i, (l->n - i) * sizeof(*l->coef));
	memmove(l->term + i + 1, l->term + i, (l->n - i) * sizeof(*l->term));
	l->coef[i] = k;
	l->term[i] = term;
	l->n++;
	return true;
}

bool lin_add(const struct dims *t, struct lin *l, dim d, int64_t k)
{
	const struct form *f = form_of(t, d);
	int64_t v;
	if (!k)
		return true;
	if (f->kind != K_LINEAR)
		return add_term(l, d, k);
	if (__builtin_mul_overflow(f->c, k, &v) || __builtin_add_overflow(l->c, v, &l->c))
		return false;
	for (uint32_t i = 0; i < f->n; i++)
		if (__builtin_mul_overflow(f->coef[i], k, &v) || !add_term(l, f->term[i], v))
			return false;
	return true;
}

bool lin_scale(struct lin *l, int64_t k) /* k != 0 */
{
	bool over = __builtin_mul_overflow(l->c, k, &l->c);
	for (uint32_t i = 0; i < l->n; i++)
		over |= __builtin_mul_overflow(l->coef[i], k, &l->coef[i]);
	return !over;
}

bool lin_sub_const(struct lin *l, int64_t k)
{
	return !__builtin_sub_overflow(l->c, k, &l->c);
}

bool lin_can_negate(const struct lin *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (l->coef[i] == INT64_MIN)
			return false;
	return l->c != INT64_MIN;
}

/* The gcd of g and the coefficients, none of which is INT64_MIN */
static int64_t gcd_with(int64_t g, const struct lin *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		g = gcd(g, llabs(l->coef[i]));
	return g;
}

static void lin_divide(struct lin *l, int64_t g) /* g divides the coefficients */
{
	l->c /= g;
	for (uint32_t i = 0; i < l->n; i++)
		l->coef[i] /= g;
}

bool lin_replace(const struct dims *t, struct lin *l, uint32_t i, dim by)
{
	int64_t k = l->coef[i];
	return k != INT64_MIN && lin_add(t, l, l->term[i], -k) && lin_add(t, l, by, k);
}

/*
 * The hash table of forms.
 */
static uint32_t mix(uint32_t h, uint64_t v)
{
	uint64_t x = (h ^ v) * 0x9e3779b97f4a7c15u;
	return (uint32_t)(x >> 32) ^ (uint32_t)x * 31;
}

static uint32_t hash_form(const struct form *f)
{
	uint32_t h = mix(f->kind * 0x01000193u, (uint64_t)f->c);
	for (uint32_t i = 0; i < f->n; i++) {
		h = mix(h, f->term[i]);
		if (f->coef)
			h = mix(h, (uint64_t)f->coef[i]);
	}
	return h;
}

static bool same_form(const struct form *a, const struct form *b)
{
	return a->hash == b->hash && a->kind == b->kind && a->n == b->n && a->c == b->c &&
	       !memcmp(a->term, b->term, a->n * sizeof(*a->term)) &&
	       (!a->coef || !memcmp(a->coef, b->coef, a->n * sizeof(*a->coef)));
}

static uint32_t *slot_of(const struct dims *t, const struct form *f)
{
	uint32_t i = f->hash & (t->nslots - 1);
	while (t->slots[i] && !same_form(form_of(t, t->slots[i]), f))
		i = (i + 1) & (t->nslots - 1);
	return &t->slots[i];
}

static void grow_slots(struct dims *t)
{
	uint32_t *old = t->slots, n = t->nslots;
	t->nslots = n ? 2 * n : 256;
	t->slots = new_array(t->arena, uint32_t, t->nslots);
	for (uint32_t i = 0; i < n; i++)
		if (old[i])
			*slot_of(t, form_of(t, old[i])) = old[i];
}

static dim push_form(struct dims *t, const struct form *f)
{
	struct form *g = new (t->arena, struct form);
	*g = *f;
	if (f->n) {
		g->term = new_array(t->arena, dim, f->n);
		memcpy(g->term, f->term, f->n * sizeof(dim));
	}
	if (f->n && f->coef) {
		g->coef = new_array(t->arena, int64_t, f->n);
		memcpy(g->coef, f->coef, f->n * sizeof(int64_t));
	}
	*vec_push(t->arena, &t->forms) = g;
	return t->forms.len - 1;
}

/* The slot of the form with the content of f; the slot holds 0 if there is no such form yet. */
static uint32_t *look_up(struct dims *t, struct form *f)
{
	if (2 * t->nused >= t->nslots)
		grow_slots(t);
	f->hash = hash_form(f);
	return slot_of(t, f);
}

static dim insert(struct dims *t, uint32_t *slot, const struct form *f)
{
	*slot = push_form(t, f);
	t->nused++;
	return *slot;
}

/* Sets weight and depth of f from its terms. */
static void measure_form(const struct dims *t, struct form *f)
{
	for (uint32_t i = 0; i < f->n; i++) {
		const struct form *g = form_of(t, f->term[i]);
		f->weight += g->weight;
		f->depth = f->depth > g->depth ? f->depth : g->depth;
	}
}

dim lin_dim(struct dims *t, const struct lin *l)
{
	if (l->n == 1 && l->coef[0] == 1 && !l->c)
		return l->term[0];
	struct form f = {.kind = K_LINEAR,
			 .n = l->n,
			 .c = l->c,
			 .coef = (int64_t *)l->coef,
			 .term = (dim *)l->term};
	measure_form(t, &f);
	if (f.weight > MAX_WEIGHT)
		return DIM_NONE;
	uint32_t *slot = look_up(t, &f);
	return *slot ? *slot : insert(t, slot, &f);
}

dim make_base(struct dims *t, struct sym *name, struct range own)
{
	struct form f = {.kind = K_BASE, .name = name, .own = own, .weight = 1};
	return push_form(t, &f);
}

static dim make_atom(struct dims *t, enum form_kind kind, const dim *ops, uint32_t n, bool frozen)
{
	struct form f = {
		.kind = (uint8_t)kind, .n = n, .term = (dim *)ops, .weight = 1, .depth = 0};
	measure_form(t, &f);
	f.depth++;
	f.frozen = frozen || f.weight > MAX_WEIGHT;
	f.c = f.frozen; /* so that the frozen atom and the other one are two forms */
	uint32_t *slot = look_up(t, &f);
	if (*slot)
		return *slot;
	if (f.frozen) {
		f.weight = 1;
		f.own = range_atom(t, kind, ops, n);
		f.closed = f.depth > MAX_DEPTH;
		if (f.closed)
			f.depth = 0;
	}
	return insert(t, slot, &f);
}

/* a + b or a * b where the normal form has no room */
static dim make_frozen(struct dims *t, enum form_kind kind, dim a, dim b)
{
	dim ops[] = {a < b ? a : b, a < b ? b : a};
	return make_atom(t, kind, ops, 2, true);
}

/*
 * Sums and products.
 */
bool form_const(const struct dims *t, dim d, int64_t *v)
{
	const struct form *f = form_of(t, d);
	if (f->kind != K_LINEAR || f->n)
		return false;
	*v = f->c;
	return true;
}

dim make_const(struct dims *t, int64_t v)
{
	struct lin l;
	l.c = v;
	l.n = 0;
	return lin_dim(t, &l);
}

dim make_add(struct dims *t, dim a, dim b)
{
	struct lin l;
	dim d;
	lin_load(t, &l, a);
	if (lin_add(t, &l, b, 1) && (d = lin_dim(t, &l)))
		return d;
	return make_frozen(t, K_FROZEN_ADD, a, b);
}

dim make_scale(struct dims *t, dim a, int64_t k)
{
	struct lin l;
	dim d;
	if (!k || k == 1)
		return k ? a : make_const(t, 0);
	lin_load(t, &l, a);
	if (lin_scale(&l, k) && (d = lin_dim(t, &l)))
		return d;
	return make_frozen(t, K_FROZEN_MUL, make_const(t, k), a);
}

/* Lists the factors of the atom d: those of a product, else d alone. self: where d is stored. */
static uint32_t list_factors(const struct dims *t, dim d, const dim **list, const dim *self)
{
	const struct form *f = form_of(t, d);
	bool product = f->kind == K_PRODUCT && !f->frozen;
	*list = product ? f->term : self;
	return product ? f->n : 1;
}

/* DIM_NONE: the product has too many factors. */
static dim multiply_atoms(struct dims *t, dim a, dim b)
{
	const dim *fa, *fb;
	uint32_t na = list_factors(t, a, &fa, &a), nb = list_factors(t, b, &fb, &b), n = 0;
	dim all[MAX_OPS];
	if (na + nb > MAX_OPS)
		return DIM_NONE;
	for (uint32_t i = 0, j = 0; i < na || j < nb;)
		all[n++] = j == nb || (i < na && fa[i] <= fb[j]) ? fa[i++] : fb[j++];
	return make_atom(t, K_PRODUCT, all, n, false);
}

/* r = a * b, term by term. Index n of each loop is the constant of a or b. */
static bool distribute(struct dims *t, struct lin *r, const struct lin *a, const struct lin *b)
{
	r->c = 0;
	r->n = 0;
	for (uint32_t i = 0; i <= a->n; i++) {
		int64_t ka = i < a->n ? a->coef[i] : a->c;
		for (uint32_t j = 0; j <= b->n; j++) {
			int64_t kb = j < b->n ? b->coef[j] : b->c, k;
			if (__builtin_mul_overflow(ka, kb, &k))
				return false;
			if (!k)
				continue;
			if (i == a->n && j == b->n) {
				if (__builtin_add_overflow(r->c, k, &r->c))
					return false;
				continue;
			}
			dim p = i == a->n   ? b->term[j]
				: j == b->n ? a->term[i]
					    : multiply_atoms(t, a->term[i], b->term[j]);
			if (!p || !add_term(r, p, k))
				return false;
		}
	}
	return true;
}

dim make_mul(struct dims *t, dim a, dim b)
{
	struct lin la, lb, r;
	int64_t k;
	dim d;
	if (form_const(t, a, &k))
		return make_scale(t, b, k);
	if (form_const(t, b, &k))
		return make_scale(t, a, k);
	lin_load(t, &la, a);
	lin_load(t, &lb, b);
	if (la.n * lb.n <= 16 && distribute(t, &r, &la, &lb) && (d = lin_dim(t, &r)))
		return d;
	return make_frozen(t, K_FROZEN_MUL, a, b);
}

/*
 * Floor division and remainder.
 */
/* l = m * q + r, where m > 0 and all coefficients of r are in [0, m) */
static void split_by_const(const struct lin *l, int64_t m, struct lin *q, struct lin *r)
{
	q->n = r->n = 0;
	q->c = floor_div(l->c, m);
	r->c = floor_mod(l->c, m);
	for (uint32_t i = 0; i < l->n; i++) {
		int64_t k = floor_div(l->coef[i], m), rest = floor_mod(l->coef[i], m);
		if (k)
			add_term(q, l->term[i], k);
		if (rest)
			add_term(r, l->term[i], rest);
	}
}

/* Divides r and m by the gcd of m and all coefficients, and returns it. *left is the remainder of
 * r->c, which the gcd need not divide. */
static int64_t divide_by_gcd(struct lin *r, int64_t *m, int64_t *left)
{
	int64_t g = gcd_with(*m, r);
	*left = r->c % g;
	lin_divide(r, g);
	*m /= g;
	return g;
}

static dim floordiv_const(struct dims *t, dim a, int64_t m);

/* r // m for a remainder r of split_by_const(). The division moves into a single atom:
 * (x // k + c) // m == (x + c*k) // (k*m), and (2*max(x, y)) // m == max(2*x // m, 2*y // m). */
static dim floordiv_rest(struct dims *t, const struct lin *r, int64_t m)
{
	struct range in = range_lin(t, r);
	int64_t k, c;
	dim d = lin_dim(t, r);
	if (in.lo != NO_LOW && in.hi != NO_HIGH && floor_div(in.lo, m) == floor_div(in.hi, m))
		return make_const(t, floor_div(in.lo, m));
	const struct form *f = r->n == 1 ? form_of(t, r->term[0]) : NULL;
	if (f && !f->frozen && f->kind == K_FLOORDIV && r->coef[0] == 1 &&
	    form_const(t, f->term[1], &k) && k > 0 && !__builtin_mul_overflow(r->c, k, &c) &&
	    !__builtin_mul_overflow(k, m, &k))
		return floordiv_const(t, make_add(t, f->term[0], make_const(t, c)), k);
	if (f && !f->frozen && (f->kind == K_MAX || f->kind == K_MIN)) {
		dim ops[MAX_OPS];
		for (uint32_t i = 0; i < f->n; i++) {
			dim op = make_scale(t, f->term[i], r->coef[0]);
			ops[i] = floordiv_const(t, make_add(t, op, make_const(t, r->c)), m);
		}
		return make_minmax(t, f->kind, ops, f->n);
	}
	return make_atom(t, K_FLOORDIV, (dim[]){d, make_const(t, m)}, 2, false);
}

/* Is the first coefficient that m does not divide negative? -x // m is written -((x+m-1) // m). */
static bool leads_negative(const struct lin *l, int64_t m)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (l->coef[i] % m)
			return l->coef[i] < 0;
	return false;
}

static dim floordiv_const(struct dims *t, dim a, int64_t m) /* m > 0 */
{
	struct lin l, q, r;
	int64_t left;
	bool flip;
	lin_load(t, &l, a);
	flip = leads_negative(&l, m);
	if (flip && (!lin_scale(&l, -1) || !lin_sub_const(&l, 1 - m)))
		return make_atom(t, K_FLOORDIV, (dim[]){a, make_const(t, m)}, 2, true);
	split_by_const(&l, m, &q, &r);
	dim d = lin_dim(t, &q);
	if (r.n) { /* else r is a constant below m, and r // m is 0 */
		divide_by_gcd(&r, &m, &left);
		dim rest = lin_dim(t, &r) ? floordiv_rest(t, &r, m) : DIM_NONE;
		d = d && rest ? make_add(t, d, rest) : DIM_NONE;
	}
	if (!d)
		return make_atom(t, K_FLOORDIV, (dim[]){a, make_const(t, m)}, 2, true);
	return flip ? make_scale(t, d, -1) : d;
}

static dim mod_const(struct dims *t, dim a, int64_t m) /* m > 0 */
{
	struct lin l, q, r;
	int64_t left, m0 = m;
	lin_load(t, &l, a);
	struct range in = range_lin(t, &l);
	if (in.lo >= 0 && in.hi < m)
		return a;
	split_by_const(&l, m, &q, &r);
	if (!r.n)
		return make_const(t, r.c);
	in = range_lin(t, &r);
	dim d = lin_dim(t, &r);
	if (!d)
		return make_atom(t, K_MOD, (dim[]){a, make_const(t, m)}, 2, true);
	if (in.lo >= 0 && in.hi < m)
		return d;
	int64_t g = divide_by_gcd(&r, &m, &left);
	d = lin_dim(t, &r);
	if (!d)
		return make_atom(t, K_MOD, (dim[]){a, make_const(t, m0)}, 2, true);
	d = make_scale(t, make_atom(t, K_MOD, (dim[]){d, make_const(t, m)}, 2, false), g);
	return make_add(t, d, make_const(t, left));
}

/* *quotient = a / by for atoms, if all factors of `by` are factors of a. DIM_NONE stands for 1. */
static bool divide_product(struct dims *t, dim a, dim by, dim *quotient)
{
	const dim *fa, *fb;
	uint32_t na = list_factors(t, a, &fa, &a), nb = list_factors(t, by, &fb, &by), n = 0, j = 0;
	dim rest[MAX_OPS];
	for (uint32_t i = 0; i < na; i++) {
		if (j < nb && fa[i] == fb[j])
			j++;
		else
			rest[n++] = fa[i];
	}
	*quotient = !n ? DIM_NONE : n == 1 ? rest[0] : make_atom(t, K_PRODUCT, rest, n, false);
	return j == nb;
}

/* a = b * q + r, where b is k * (product of atoms); false: b has another form */
static bool split_by_dim(struct dims *t, const struct lin *a, dim b, struct lin *q, struct lin *r)
{
	struct lin lb;
	lin_load(t, &lb, b);
	if (lb.n != 1 || lb.c)
		return false;
	q->n = r->n = 0;
	q->c = 0;
	r->c = a->c;
	for (uint32_t i = 0; i < a->n; i++) {
		dim rest;
		int64_t k = a->coef[i];
		bool over = lb.coef[0] == -1 && k == INT64_MIN;
		if (over || k % lb.coef[0] || !divide_product(t, a->term[i], lb.term[0], &rest))
			add_term(r, a->term[i], k);
		else if (rest)
			add_term(q, rest, k / lb.coef[0]);
		else
			q->c += k / lb.coef[0]; /* at most once: all terms differ */
	}
	return true;
}

/* Is a == k * b for a constant k? */
static bool is_multiple(struct dims *t, const struct lin *a, dim b, int64_t *k)
{
	struct lin lb, r = *a;
	lin_load(t, &lb, b);
	if (!lb.n || !a->n || lb.coef[0] == -1 || a->coef[0] % lb.coef[0])
		return false;
	*k = a->coef[0] / lb.coef[0];
	return *k != INT64_MIN && lin_add(t, &r, b, -*k) && !r.n && !r.c;
}

/* a // b or a % b, where b is no constant. The terms of a that b divides are divided: this is right
 * unless b is 0, and then the quotient has no value anyway. */
static dim divide_by_dim(struct dims *t, dim a, dim b, bool mod)
{
	struct lin l, q, r;
	int64_t k;
	dim dq, dr;
	enum form_kind kind = mod ? K_MOD : K_FLOORDIV;
	lin_load(t, &l, a);
	if (!l.n && !l.c)
		return a;
	if (is_multiple(t, &l, b, &k))
		return make_const(t, mod ? 0 : k);
	if (!split_by_dim(t, &l, b, &q, &r) || !(dq = lin_dim(t, &q)) || !(dr = lin_dim(t, &r)))
		return make_atom(t, kind, (dim[]){a, b}, 2, false);
	if (!r.n && !r.c)
		return mod ? dr : dq;
	dim rest = make_atom(t, kind, (dim[]){dr, b}, 2, false);
	return mod ? rest : make_add(t, dq, rest);
}

static dim divide_dims(struct dims *t, dim a, dim b, bool mod)
{
	int64_t m, v;
	if (!form_const(t, b, &m))
		return divide_by_dim(t, a, b, mod);
	if (!m || m == INT64_MIN || (m < 0 && form_const(t, a, &v) && v == INT64_MIN))
		return make_atom(t, mod ? K_MOD : K_FLOORDIV, (dim[]){a, b}, 2, true);
	if (m > 0)
		return mod ? mod_const(t, a, m) : floordiv_const(t, a, m);
	a = make_scale(t, a, -1); /* a // -m == -a // m, and a % -m == -(-a % m) */
	return mod ? make_scale(t, mod_const(t, a, -m), -1) : floordiv_const(t, a, -m);
}

dim make_floordiv(struct dims *t, dim a, dim b)
{
	return divide_dims(t, a, b, false);
}

dim make_mod(struct dims *t, dim a, dim b)
{
	return divide_dims(t, a, b, true);
}

/*
 * max and min. The normal form of max(a, b, ...) is g*max(x, y, ...) + k for constants g > 0 and k.
 * Its operands are sorted, and none dominates another: max(n, n+1) is n+1.
 */
struct operands {
	dim at[MAX_OPS];
	uint32_t n;
};

/* Rewrites one operand: max(.., k * max(x, y) + r) is max(.., k*x + r, k*y + r) for k > 0, and so
 * is max(.., k * min(x, y) + r) for k < 0. false: there is no such operand, or no room. */
static bool flatten_operand(struct dims *t, enum form_kind kind, struct operands *o)
{
	for (uint32_t i = 0; i < o->n; i++) {
		struct lin l;
		lin_load(t, &l, o->at[i]);
		for (uint32_t j = 0; j < l.n; j++) {
			const struct form *f = form_of(t, l.term[j]);
			enum form_kind inner = l.coef[j] > 0 ? kind : kind == K_MAX ? K_MIN : K_MAX;
			if (f->kind != inner || f->frozen || o->n - 1 + f->n > MAX_OPS)
				continue;
			dim flat[MAX_OPS];
			uint32_t m = 0;
			for (; m < f->n; m++) {
				struct lin r = l;
				if (!lin_replace(t, &r, j, f->term[m]) ||
				    !(flat[m] = lin_dim(t, &r)))
					break;
			}
			if (m < f->n)
				continue;
			o->at[i] = flat[0];
			memcpy(o->at + o->n, flat + 1, (m - 1) * sizeof(dim));
			o->n += m - 1;
			return true;
		}
	}
	return false;
}

/* Is a >= b proved (for max; a <= b for min)? */
static bool dominates(struct dims *t, enum form_kind kind, dim a, dim b)
{
	struct lin l;
	dim big = kind == K_MAX ? a : b, small = kind == K_MAX ? b : a;
	lin_load(t, &l, big);
	return lin_add(t, &l, small, -1) && prove_ge(t, &l, 0);
}

static void drop_dominated(struct dims *t, enum form_kind kind, struct operands *o)
{
	for (uint32_t i = 0; i < o->n; i++)
		for (uint32_t j = 0; j < o->n; j++)
			if (i != j && dominates(t, kind, o->at[i], o->at[j])) {
				o->at[j] = o->at[--o->n];
				i = (uint32_t)-1; /* from the start again */
				break;
			}
}

/* The order of operands. Their terms differ: of two that differ by a constant, one dominates. A
 * constant operand is last. */
static bool sorts_before(const struct dims *t, dim a, dim b)
{
	struct lin x, y;
	lin_load(t, &x, a);
	lin_load(t, &y, b);
	for (uint32_t i = 0; i < x.n && i < y.n; i++) {
		if (x.term[i] != y.term[i])
			return x.term[i] < y.term[i];
		if (x.coef[i] != y.coef[i])
			return x.coef[i] < y.coef[i];
	}
	return x.n > y.n;
}

static void sort_operands(const struct dims *t, struct operands *o)
{
	for (uint32_t i = 1; i < o->n; i++)
		for (uint32_t j = i; j && sorts_before(t, o->at[j], o->at[j - 1]); j--) {
			dim d = o->at[j];
			o->at[j] = o->at[j - 1];
			o->at[j - 1] = d;
		}
}

/* Takes out of all operands a constant, that of the constant operand or else of the first one, and
 * then the gcd of all numbers: max(4*n-1, 3) is 4*max(n-1, 0) + 3. */
static dim factor_out_numbers(struct dims *t, enum form_kind kind, const struct operands *o)
{
	struct operands p = {.n = o->n};
	struct lin l;
	int64_t off, g = 0;
	lin_load(t, &l, o->at[0]);
	off = l.c;
	lin_load(t, &l, o->at[o->n - 1]);
	if (!l.n)
		off = l.c;
	for (uint32_t i = 0; i < o->n; i++) {
		lin_load(t, &l, o->at[i]);
		if (!lin_sub_const(&l, off) || !lin_can_negate(&l) || !(p.at[i] = lin_dim(t, &l)))
			return make_atom(t, kind, o->at, o->n, true);
		g = gcd_with(gcd(g, llabs(l.c)), &l);
	}
	for (uint32_t i = 0; i < o->n; i++) {
		lin_load(t, &l, p.at[i]);
		lin_divide(&l, g);
		p.at[i] = lin_dim(t, &l);
	}
	dim atom = make_scale(t, make_atom(t, kind, p.at, p.n, false), g);
	dim constant = make_const(t, off);
	return make_add(t, atom, constant);
}

dim make_minmax(struct dims *t, enum form_kind kind, const dim *ops, uint32_t n)
{
	struct operands o = {.n = n};
	memcpy(o.at, ops, n * sizeof(*ops));
	for (int limit = 16; limit && flatten_operand(t, kind, &o); limit--)
		;
	drop_dominated(t, kind, &o);
	if (o.n == 1)
		return o.at[0];
	sort_operands(t, &o);
	return factor_out_numbers(t, kind, &o);
}
