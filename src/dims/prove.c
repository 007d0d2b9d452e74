/*
 * prove.c: bounds of dims.
 * In: canonical expressions. Out: ranges, and proofs of l >= k; false means "not proved".
 * Holds: what is proved is true for all integers within the ranges of the base atoms. A bound that
 * int64 cannot hold counts as no bound.
 */
#include "dims/internal.h"

typedef __int128 wide;

static int64_t clamp(wide v)
{
	return v < INT64_MIN ? INT64_MIN : v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

static struct range range_scale(struct range r, int64_t k)
{
	if (k < 0)
		return (struct range){r.hi == NO_HIGH ? NO_LOW : clamp((wide)k * r.hi),
				      r.lo == NO_LOW ? NO_HIGH : clamp((wide)k * r.lo)};
	return (struct range){r.lo == NO_LOW ? NO_LOW : clamp((wide)k * r.lo),
			      r.hi == NO_HIGH ? NO_HIGH : clamp((wide)k * r.hi)};
}

static struct range range_add(struct range a, struct range b)
{
	return (struct range){a.lo == NO_LOW || b.lo == NO_LOW ? NO_LOW : clamp((wide)a.lo + b.lo),
			      a.hi == NO_HIGH || b.hi == NO_HIGH ? NO_HIGH
								 : clamp((wide)a.hi + b.hi)};
}

static struct range range_mul(struct range a, struct range b)
{
	if (a.lo == a.hi)
		return range_scale(b, a.lo);
	if (b.lo == b.hi)
		return range_scale(a, b.lo);
	if (a.lo >= 0 && b.lo >= 0)
		return (struct range){clamp((wide)a.lo * b.lo), a.hi == NO_HIGH || b.hi == NO_HIGH
									? NO_HIGH
									: clamp((wide)a.hi * b.hi)};
	return (struct range){NO_LOW, NO_HIGH};
}

static struct range range_floordiv(struct range a, struct range b)
{
	struct range r = {NO_LOW, NO_HIGH};
	if (b.lo < 1 || b.hi < b.lo) /* equations that contradict each other empty a range */
		return r;
	if (a.lo != NO_LOW)
		r.lo = a.lo < 0 ? floor_div(a.lo, b.lo) : b.hi == NO_HIGH ? 0 : a.lo / b.hi;
	if (a.hi != NO_HIGH)
		r.hi = a.hi >= 0 ? a.hi / b.lo : b.hi == NO_HIGH ? -1 : floor_div(a.hi, b.hi);
	return r;
}

static struct range range_mod(struct range a, struct range b)
{
	if (b.lo < 1)
		return (struct range){NO_LOW, NO_HIGH};
	int64_t hi = b.hi == NO_HIGH ? NO_HIGH : b.hi - 1;
	return (struct range){0, a.lo >= 0 && a.hi < hi ? a.hi : hi};
}

static struct range range_pair(enum form_kind kind, struct range a, struct range b)
{
	switch (kind) {
	case K_MAX:
		return (struct range){a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
	case K_MIN:
		return (struct range){a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
	case K_FLOORDIV:
		return range_floordiv(a, b);
	case K_MOD:
		return range_mod(a, b);
	case K_FROZEN_ADD:
		return range_add(a, b);
	default: /* products */
		return range_mul(a, b);
	}
}

static struct range range_of(struct dims *t, dim d);

struct range range_atom(struct dims *t, enum form_kind kind, const dim *ops, uint32_t n)
{
	struct range r = range_of(t, ops[0]);
	for (uint32_t i = 1; i < n; i++)
		r = range_pair(kind, r, range_of(t, ops[i]));
	return r;
}

struct range range_lin(struct dims *t, const struct lin *l)
{
	struct range r = {l->c, l->c};
	for (uint32_t i = 0; i < l->n; i++)
		r = range_add(r, range_scale(range_of(t, l->term[i]), l->coef[i]));
	return r;
}

/* MAX_WEIGHT bounds the recursion. */
static struct range range_of(struct dims *t, dim d)
{
	struct form *f = form_of(t, d);
	if (f->kind == K_BASE || f->frozen)
		return f->own;
	if (f->range_age == t->age)
		return f->range;
	struct range r = {f->c, f->c};
	if (f->kind == K_LINEAR)
		for (uint32_t i = 0; i < f->n; i++)
			r = range_add(r, range_scale(range_of(t, f->term[i]), f->coef[i]));
	else
		r = range_atom(t, f->kind, f->term, f->n);
	f->range = r;
	f->range_age = t->age;
	return r;
}

struct proof {
	struct dims *t;
	uint32_t fuel; /* steps left, over all branches */
	uint32_t depth;
};
static bool prove(struct proof *p, const struct lin *l, int64_t k);

static bool prove_minmax(struct proof *p, const struct lin *l, uint32_t i, int64_t k)
{
	const struct form *f = form_of(p->t, l->term[i]);
	/* max(a, b) >= k if any operand is >= k; -max(a, b) >= k only if all of -a, -b are */
	bool any = (f->kind == K_MAX) == (l->coef[i] > 0);
	for (uint32_t j = 0; j < f->n; j++) {
		struct lin r = *l;
		bool proved = lin_replace(p->t, &r, i, f->term[j]) && prove(p, &r, k);
		if (proved == any)
			return any;
	}
	return !any;
}

/* With a - m + 1 <= m * (a // m) <= a: proves l * m >= k * m. */
static bool prove_floordiv(struct proof *p, const struct lin *l, uint32_t i, int64_t k)
{
	const struct form *f = form_of(p->t, l->term[i]);
	int64_t m, km, low, c = l->coef[i];
	struct lin r = *l;
	if (!form_const(p->t, f->term[1], &m) || m < 1 || c == INT64_MIN)
		return false;
	if (!lin_add(p->t, &r, l->term[i], -c) || !lin_scale(&r, m) ||
	    !lin_add(p->t, &r, f->term[0], c) || __builtin_mul_overflow(k, m, &km))
		return false;
	if (c > 0 && (__builtin_mul_overflow(c, m - 1, &low) || !lin_sub_const(&r, low)))
		return false;
	return prove(p, &r, km);
}

/* With a % m <= a for a >= 0 and m >= 1. */
static bool prove_mod(struct proof *p, const struct lin *l, uint32_t i, int64_t k)
{
	const struct form *f = form_of(p->t, l->term[i]);
	struct lin r = *l;
	return l->coef[i] < 0 && range_of(p->t, f->term[1]).lo >= 1 &&
	       range_of(p->t, f->term[0]).lo >= 0 && lin_replace(p->t, &r, i, f->term[0]) &&
	       prove(p, &r, k);
}

static bool prove_step(struct proof *p, const struct lin *l, int64_t k)
{
	for (uint32_t i = 0; i < l->n; i++) {
		const struct form *f = form_of(p->t, l->term[i]);
		bool proved = false;
		if (f->frozen)
			continue;
		if (f->kind == K_MAX || f->kind == K_MIN)
			proved = prove_minmax(p, l, i, k);
		else if (f->kind == K_FLOORDIV)
			proved = prove_floordiv(p, l, i, k);
		else if (f->kind == K_MOD)
			proved = prove_mod(p, l, i, k);
		if (proved)
			return true;
	}
	return false;
}

static bool prove(struct proof *p, const struct lin *l, int64_t k)
{
	if (range_lin(p->t, l).lo >= k)
		return true;
	if (!p->fuel || p->depth > 6)
		return false;
	p->fuel--;
	p->depth++;
	bool r = prove_step(p, l, k);
	p->depth--;
	return r;
}

bool prove_ge(struct dims *t, const struct lin *l, int64_t k)
{
	struct proof p = {t, 64, 0};
	if (prove(&p, l, k))
		return true;
	/* l >= k follows from l - d >= k - low for a recorded bound d >= low */
	for (uint32_t i = 0; i < t->bounds.len && l->n; i++) {
		const struct lower_bound *b = &t->bounds.at[i];
		struct lin r = *l;
		int64_t rest;
		if (!__builtin_sub_overflow(k, b->low, &rest) && lin_add(t, &r, b->d, -1) &&
		    range_lin(t, &r).lo >= rest)
			return true;
	}
	return false;
}
