/*
 * promise.c: names that stand for any size. In: an equation l == 0 between dims. Out: whether it
 * would break what the header of the graph promises of its names. Holds: an equation with an atom
 * that is no such name breaks nothing, as the run may find a size that solves it; nor does one that
 * infinitely many sizes of one name satisfy, as n % 3 == 0 and max(n - m, 0) == 0.
 */
#include "dims/internal.h"

typedef __int128 wide;

#define FIRST_LARGE ((int64_t)1 << 50) /* sizes from here on stand for all large ones */
#define MAX_TRIED   (1 << 16)          /* atoms that are computed to try sizes */
#define MAX_NAMES   16                 /* of an equation that is looked into */
#define MAX_SIZE    ((wide)1 << 100)   /* of a number on the way, so that nothing overflows */

void dim_promise(struct ctx *cx, dim name, struct span s)
{
	struct form *f = form_of(cx->dims, name);

	f->promised = true;
	f->header = s;
}

/* The names of an equation, and the sizes that are tried for them. */
struct names {
	dim at[MAX_NAMES];
	int64_t size[MAX_NAMES];
	uint32_t n, atoms;
	int64_t period; /* with which remainders and quotients repeat for sizes of one name */
	bool ok;        /* false: there is something else than promised names, or too much */
};

static void add_name(struct names *s, dim d)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->at[i] == d)
			return;
	s->ok = s->n < MAX_NAMES;
	if (s->ok)
		s->at[s->n++] = d;
}

/* MAX_WEIGHT bounds the recursion. */
static void add_names(const struct dims *t, struct names *s, dim d)
{
	const struct form *f = form_of(t, d);

	s->atoms++;
	if (f->frozen || (f->kind == K_BASE && !f->promised))
		s->ok = false;
	else if (f->kind == K_BASE)
		add_name(s, d);
	for (uint32_t i = 0; i < f->n && s->ok; i++)
		add_names(t, s, f->term[i]);
}

static int64_t common_multiple(int64_t a, int64_t b)
{
	int64_t x = a, y = b;

	while (y) {
		int64_t r = x % y;
		x = y;
		y = r;
	}
	return __builtin_mul_overflow(a / x, b, &a) ? INT64_MAX : a;
}

static wide value_of(const struct dims *t, struct names *s, dim d);

static wide divide(struct names *s, enum form_kind kind, wide a, wide m)
{
	if (m <= 0 || m > INT64_MAX) { /* a division by 0 may have any value */
		s->ok = false;
		return 0;
	}
	if (m < FIRST_LARGE) /* a larger one is the size that is tried, or contains it */
		s->period = common_multiple(s->period, (int64_t)m);
	wide r = a % m;
	r += r < 0 ? m : 0;
	return kind == K_MOD ? r : (a - r) / m;
}

static wide combine(struct names *s, enum form_kind kind, wide a, wide b)
{
	switch (kind) {
	case K_MAX:
		return a > b ? a : b;
	case K_MIN:
		return a < b ? a : b;
	case K_FLOORDIV:
	case K_MOD:
		return divide(s, kind, a, b);
	default: /* K_PRODUCT */
		s->ok &= (a < 0 ? -a : a) < ((wide)1 << 62) && (b < 0 ? -b : b) < ((wide)1 << 62);
		return s->ok ? a * b : 0;
	}
}

static wide sum_of(const struct dims *t, struct names *s, int64_t c, uint32_t n,
		   const int64_t *coef, const dim *term)
{
	wide r = c;

	for (uint32_t i = 0; i < n && s->ok; i++) {
		wide v = value_of(t, s, term[i]);
		s->ok &= (v < 0 ? -v : v) < ((wide)1 << 62);
		r += s->ok ? v * coef[i] : 0;
		s->ok &= r < MAX_SIZE && r > -MAX_SIZE;
	}
	return r;
}

/* d, for the sizes of the names in s. MAX_WEIGHT bounds the recursion. */
static wide value_of(const struct dims *t, struct names *s, dim d)
{
	const struct form *f = form_of(t, d);

	if (f->kind == K_LINEAR)
		return sum_of(t, s, f->c, f->n, f->coef, f->term);
	if (f->kind == K_BASE) {
		uint32_t i = 0;
		while (s->at[i] != d)
			i++;
		return s->size[i];
	}
	wide r = value_of(t, s, f->term[0]);
	for (uint32_t i = 1; i < f->n && s->ok; i++)
		r = combine(s, f->kind, r, value_of(t, s, f->term[i]));
	return r;
}

/* Do infinitely many sizes of the name `which` satisfy l == 0, if the others are some sizes? What
 * dims are made of repeats for large sizes, but for what grows: one period is tried. Where that is
 * too much work the answer is yes. */
static bool many_satisfy(const struct dims *t, struct names *s, const struct lin *l, uint32_t which)
{
	static const uint8_t others[MAX_NAMES] = {101, 103, 107, 109, 113, 127, 131, 137,
						  139, 149, 151, 157, 163, 167, 173, 179};
	uint64_t work = 0;

	for (uint32_t i = 0; i < s->n; i++)
		s->size[i] = others[i];
	s->period = 1;
	for (int64_t k = 0; k <= s->period; k++) {
		s->size[which] = FIRST_LARGE + k;
		bool zero = !sum_of(t, s, l->c, l->n, l->coef, l->term);
		if (!s->ok || zero || (work += s->atoms) > MAX_TRIED)
			return true;
	}
	return false;
}

/* Writes the equation as name == rest where l has a name with the coefficient 1 or -1 that the rest
 * does not contain. */
static void solve_for_name(struct dims *t, const struct lin *l, struct broken *b)
{
	for (uint32_t i = l->n; i-- > 0 && !b->solved;) {
		const struct form *f = form_of(t, l->term[i]);
		int64_t k = l->coef[i];
		struct lin rest = *l;
		struct names inside = {.ok = true};
		if (f->kind != K_BASE || (k != 1 && k != -1) ||
		    !lin_add(t, &rest, l->term[i], -k) || !lin_scale(&rest, -k))
			continue;
		for (uint32_t j = 0; j < rest.n; j++)
			add_names(t, &inside, rest.term[j]);
		bool contains = !inside.ok;
		for (uint32_t j = 0; j < inside.n; j++)
			contains |= inside.at[j] == l->term[i];
		dim d = contains ? DIM_NONE : lin_dim(t, &rest);
		if (d && prove_ge(t, &rest, 0)) {
			b->a = l->term[i];
			b->b = d;
			b->solved = true;
		}
	}
}

bool breaks_promise(struct ctx *cx, const struct lin *l, const dim made[2], dim a, dim b)
{
	struct dims *t = cx->dims;
	struct names s = {.ok = true};
	struct broken *broken = &t->broken;

	for (uint32_t i = 0; i < l->n && s.ok; i++)
		add_names(t, &s, l->term[i]);
	if (!s.ok)
		return false;
	for (uint32_t i = 0; i < s.n; i++)
		if (many_satisfy(t, &s, l, i))
			return false;
	*broken = (struct broken){.a = a, .b = b};
	solve_for_name(t, l, broken);
	for (int i = 0; i < 2 && !broken->replaced; i++)
		broken->replaced =
			made[i] != (i ? b : a) && dim_equation_span(cx, made[i], &broken->why);
	for (uint32_t i = 0; i < s.n; i++) { /* the name that must be something first */
		bool first = s.at[i] == broken->a;
		struct promise p = {s.at[i], form_of(t, s.at[i])->header};
		if (first && broken->n)
			broken->of[MAX_PROMISES - 1] = broken->of[0];
		if (first || broken->n < MAX_PROMISES)
			broken->of[first ? 0 : broken->n] = p;
		broken->n += broken->n < MAX_PROMISES;
	}
	return true;
}

bool dim_keeps_promises(struct ctx *cx, dim a, dim b)
{
	struct dims *t = cx->dims;
	struct names s = {.ok = true};
	struct difference d;
	const dim made[2] = {a, b};

	a = find(t, a);
	b = find(t, b);
	add_names(t, &s, a);
	if (s.ok)
		add_names(t, &s, b);
	if (!s.ok || !s.n)
		return true;
	enum truth r = compare_dims(t, a, b, &d);
	return r == EQUAL || (r != DIFFERENT && !d.ok) ||
	       (d.ok && !breaks_promise(cx, &d.plain, made, a, b));
}

bool dim_broken(struct ctx *cx, struct broken *b)
{
	if (!cx->dims->broken.n)
		return false;
	*b = cx->dims->broken;
	cx->dims->broken.n = 0;
	return true;
}
