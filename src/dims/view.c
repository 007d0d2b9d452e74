/*
 * view.c: what others see of a dim: its parts, what it is computed from at run time, and about how
 * long it will be, as --expect says.
 */
#include <stdlib.h>
#include <string.h>

#include "dims/internal.h"

#define MAX_SOURCE_WALK    64 /* parts of a dim that are looked at */
#define MAX_EXPECTED       (INT64_C(1) << 31)
#define MAX_EXPECTED_TERMS 64 /* of a longer expression nothing is expected */

struct dim_view dim_view_as_made(struct ctx *cx, dim d)
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
	return dim_view_as_made(cx, find(cx->dims, d));
}

static unsigned collect_sources(struct ctx *cx, dim d, bool as_made, int *budget)
{
	struct dim_view v = as_made ? dim_view_as_made(cx, d) : dim_view(cx, d);
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
		bits |= collect_sources(cx, v.term[i], as_made, budget);
	return bits;
}

unsigned dim_sources(struct ctx *cx, dim d, bool as_made)
{
	int budget = MAX_SOURCE_WALK;

	return collect_sources(cx, d, as_made, &budget);
}

/* Is d, as it was made, a size, or a max() of a number that is not negative? */
static bool is_size_or_cut(struct ctx *cx, dim d)
{
	struct dim_view v = dim_view_as_made(cx, d);

	for (uint32_t i = 0; v.form == DIM_MAX && i < v.nterms; i++) {
		struct dim_view term = dim_view_as_made(cx, v.term[i]);
		if (term.form == DIM_CONST && term.constant >= 0)
			return true;
	}
	return v.form == DIM_ATOM && v.kind == SOURCE_SIZE;
}

bool dim_may_be_negative(struct ctx *cx, dim d)
{
	struct dim_view v = dim_view_as_made(cx, d);
	bool length = v.form == DIM_SUM ? v.constant >= 0 : is_size_or_cut(cx, d);

	for (uint32_t i = 0; v.form == DIM_SUM && i < v.nterms; i++)
		length &= v.coef[i] > 0 && is_size_or_cut(cx, v.term[i]);
	return !length && dim_sources(cx, d, true) & FROM_VALUE;
}

bool dim_is_length(struct ctx *cx, dim d)
{
	return dim_ge(cx, d, 0) && !dim_may_be_negative(cx, d);
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
