/*
 * large.c: equations that only small sizes satisfy. In: two lengths that must be equal, as those of
 * x and x[1:], n and max(n-1, 0). Out: whether finitely many sizes alone make them so, and which.
 * Holds: what is said is proved. The lengths are compared for an atom of that size and above, with
 * all other atoms as open as they are: then they differ.
 */
#include "dims/internal.h"

#define LARGE     (INT64_C(1) << 40) /* a size that no array has */
#define MAX_ATOMS 8
#define MAX_TRIED 64 /* sizes that are tried one by one */

struct atoms {
	dim at[MAX_ATOMS];
	uint32_t n;
};

/* Lists the base atoms of d; false: there are too many, or some that cannot be seen. MAX_WEIGHT
 * bounds the recursion. */
static bool list_atoms(const struct dims *t, dim d, struct atoms *a)
{
	const struct form *f = form_of(t, d);

	if (f->frozen)
		return false;
	if (f->kind == K_BASE) {
		for (uint32_t i = 0; i < a->n; i++)
			if (a->at[i] == d)
				return true;
		if (a->n == MAX_ATOMS)
			return false;
		a->at[a->n++] = d;
		return true;
	}
	for (uint32_t i = 0; i < f->n; i++)
		if (!list_atoms(t, f->term[i], a))
			return false;
	return true;
}

/* What is known of a == b where lo <= atom <= hi. Frozen atoms that are made meanwhile take their
 * range from that, so it is taken from them again. */
static enum truth compare_within(struct dims *t, dim a, dim b, dim atom, int64_t lo, int64_t hi)
{
	struct form *f = form_of(t, atom);
	struct range own = f->own;
	uint32_t first = t->forms.len;
	struct difference d;
	struct range left;

	if (lo < own.lo)
		lo = own.lo;
	if (hi > own.hi)
		hi = own.hi;
	f->own = (struct range){lo, hi};
	t->age++;
	a = find(t, a);
	b = find(t, b);
	enum truth r = compare_dims(t, a, b, &d);
	if (r == UNKNOWN && d.ok) {
		left = range_lin(t, &d.plain);
		r = !left.lo && !left.hi ? EQUAL : prove_nonzero(t, &d.plain) ? DIFFERENT : UNKNOWN;
	}
	for (uint32_t i = first; i < t->forms.len; i++)
		if (form_of(t, i)->frozen)
			form_of(t, i)->own = (struct range){NO_LOW, NO_HIGH};
	f->own = own;
	t->age++;
	return r;
}

/* The least size from which on the lengths surely differ */
static int64_t first_large(struct dims *t, dim a, dim b, dim atom)
{
	int64_t lo = 0, hi = LARGE;

	while (lo < hi) {
		int64_t mid = lo + (hi - lo) / 2;
		if (compare_within(t, a, b, atom, mid, NO_HIGH) == DIFFERENT)
			hi = mid;
		else
			lo = mid + 1;
	}
	return hi;
}

/* "only for n = 0", "only for n <= 1", "for no n"; of an atom without a name NULL */
static const char *which_sizes(struct ctx *cx, dim a, dim b, dim atom)
{
	struct dims *t = cx->dims;
	int64_t end = first_large(t, a, b, atom), only = -1;
	const char *name = dim_str_as_made(cx, atom);
	uint32_t found = 0;

	if (end > 1 && compare_within(t, a, b, atom, 0, end - 1) == EQUAL)
		return arena_printf(cx->arena, "only for %s <= %lld", name, (long long)end - 1);
	if (end > MAX_TRIED)
		return arena_printf(cx->arena, "for no %s >= %lld", name, (long long)end);
	for (int64_t i = 0; i < end; i++) {
		if (compare_within(t, a, b, atom, i, i) != EQUAL)
			continue;
		found++;
		only = i;
	}
	if (!found)
		return arena_printf(cx->arena, "for no %s", name);
	if (found == 1)
		return arena_printf(cx->arena, "only for %s = %lld", name, (long long)only);
	return arena_printf(cx->arena, "for no %s > %lld", name, (long long)only);
}

/* Are a and b equal for finitely many sizes only? *names: they are made of promised names alone.
 * Where many atoms could each be large, the lengths differ however large each one is. */
static bool only_for_few(struct dims *t, dim a, dim b, struct atoms *l, bool *names)
{
	if (!list_atoms(t, a, l) || !list_atoms(t, b, l) || !l->n)
		return false;
	*names = true;
	for (uint32_t i = 0; i < l->n; i++) {
		const struct form *f = form_of(t, l->at[i]);
		*names &= f->promised;
		if (f->own.lo < 0 || f->own.hi != NO_HIGH || f->one ||
		    compare_within(t, a, b, l->at[i], LARGE, NO_HIGH) != DIFFERENT)
			return false;
	}
	return true;
}

/* Is d the atom less a number, as the length of a slice x[k:] or x[:-k] is? */
static bool is_less(const struct dims *t, dim d, dim atom, int64_t *less)
{
	const struct form *f = form_of(t, d);

	*less = 0;
	if (f->kind == K_MAX && f->n == 2) {
		int64_t zero;
		uint32_t i = form_const(t, f->term[0], &zero) ? 1 : 0;
		if (!form_const(t, f->term[!i], &zero) || zero)
			return false;
		f = form_of(t, d = f->term[i]);
	}
	if (f->kind == K_LINEAR && f->n == 1 && f->coef[0] == 1 && f->term[0] == atom)
		*less = -f->c;
	return (d == atom || *less > 0) && *less < INT32_MAX;
}

/* Is d the atom or a number, whichever is less, as the length of x[:k] is? min(n, k) is written
 * min(n-k, 0)+k. */
static bool is_up_to(struct dims *t, dim d, dim atom, int64_t *most)
{
	const struct form *f = form_of(t, d);

	*most = d == atom ? NO_HIGH : f->kind == K_LINEAR ? f->c : 0;
	if (d == atom)
		return true;
	return *most > 0 && d == make_minmax(t, K_MIN, (dim[]){atom, make_const(t, *most)}, 2);
}

/* Which slices are as long as one another? */
static void note_slices(struct ctx *cx, struct diag *e, dim a, dim b, dim atom)
{
	struct dims *t = cx->dims;
	struct span none = {0, 0};
	int64_t p, q;

	if (is_less(t, a, atom, &p) && is_less(t, b, atom, &q)) {
		if (p > q) {
			int64_t k = p;
			p = q;
			q = k;
		}
		if (p)
			note(cx, e, none,
			     "[%lld:] and [:-%lld] remove %lld each, [%lld:] and [:-%lld] %lld",
			     (long long)p, (long long)p, (long long)p, (long long)q, (long long)q,
			     (long long)q);
		else
			note(cx, e, none, "[%lld:] and [:-%lld] remove %lld each", (long long)q,
			     (long long)q, (long long)q);
	} else if (is_up_to(t, a, atom, &p) && is_up_to(t, b, atom, &q)) {
		p = p < q ? p : q;
		note(cx, e, none, "[:%lld] of both takes %s", (long long)p,
		     dim_str_as_made(cx,
				     make_minmax(t, K_MIN, (dim[]){atom, make_const(t, p)}, 2)));
	}
}

bool report_few(struct ctx *cx, dim a, dim b, struct span s)
{
	struct dims *t = cx->dims;
	uint32_t call;
	const struct source *at = source_of(cx, text_place(cx, s, &call));
	struct atoms l = {.n = 0};
	bool names;

	if (!only_for_few(t, a, b, &l, &names) || !at || (at->lib && !names))
		return false;
	const char *which = l.n == 1 ? which_sizes(cx, a, b, l.at[0]) : "for no large sizes";
	const char *op = t->asks ? t->asks : "", *colon = t->asks ? ": " : "";
	const char *x = dim_str_as_made(cx, a), *y = dim_str_as_made(cx, b);
	struct diag *e = names ? error(cx, s, E_SHAPE, "%s%sthe lengths %s and %s are equal %s", op,
				       colon, x, y, which)
			       : warn(cx, s, W_EMPTY, "%s%sthe lengths %s and %s are equal %s", op,
				      colon, x, y, which);
	if (l.n == 1)
		note_slices(cx, e, a, b, l.at[0]);
	if (names && l.n == 1)
		note(cx, e, (struct span){0, 0},
		     "if %s is never another size, write ?%s in the header: a run checks that",
		     dim_str_as_made(cx, l.at[0]), dim_str_as_made(cx, l.at[0]));
	if (names)
		*vec_push(t->arena, &t->few) = (struct few){a, b, s};
	return names;
}

void report_few_again(struct ctx *cx, dim a, dim b, struct span s)
{
	const struct dims *t = cx->dims;
	bool reported = false, here = false;

	for (uint32_t i = 0; i < t->few.len; i++) {
		const struct few *f = &t->few.at[i];
		bool same = (f->a == a && f->b == b) || (f->a == b && f->b == a);
		reported |= same;
		here |= same && f->span.begin == s.begin && f->span.end == s.end;
	}
	if (reported && !here)
		report_few(cx, a, b, s);
}

/* Is d a sum of atoms, none less: n, m+2*k? It is 0 only if all of them are. */
static bool is_sum_of_sizes(struct dims *t, dim d)
{
	struct lin l;

	lin_load(t, &l, d);
	for (uint32_t i = 0; i < l.n; i++) {
		const struct form *f = form_of(t, l.term[i]);
		if (f->kind != K_BASE || f->own.lo < 0 || l.coef[i] < 0)
			return false;
	}
	return l.n && l.c >= 0;
}

enum change dim_changes(struct ctx *cx, dim from, dim to)
{
	struct dims *t = cx->dims;
	struct atoms l = {.n = 0};
	bool names = true;

	from = find(t, from);
	to = find(t, to);
	if (dim_eq(cx, from, to) || !list_atoms(t, from, &l) || !list_atoms(t, to, &l))
		return NO_CHANGE;
	for (uint32_t i = 0; i < l.n; i++)
		names &= form_of(t, l.at[i])->promised;
	if (!is_sum_of_sizes(t, dim_sub(cx, to, from)) && !only_for_few(t, from, to, &l, &names))
		return NO_CHANGE;
	return names ? CHANGE_OF_NAMES : CHANGE;
}
