/*
 * promise.c: what to say where an op would pin a size that the header of the graph calls any size.
 * In: the error of the op. Out: notes at the names in the header, and what to write instead.
 */
#include "graph/graph.h"

/* Has b the lengths of axes at, at + 1, ... of a? */
static bool lies_along(struct ctx *cx, const struct type *a, const struct type *b, uint32_t at)
{
	bool any = false;

	for (uint32_t i = 0; i < b->rank; i++) {
		if (!dim_says_one(cx, b->dims[i]) && !dim_eq(cx, a->dims[at + i], b->dims[i]))
			return false;
		any |= !dim_says_one(cx, b->dims[i]);
	}
	return any;
}

/* gamma of float32[c] beside x of float32[n, c, h, w]: gamma[:, None, None] */
static void suggest_axes(struct ctx *cx, struct diag *d, const struct value *a,
			 const struct value *b)
{
	uint32_t rank = a->type.rank, n = b->type.rank;
	struct strbuf index = {.arena = cx->arena};

	for (uint32_t at = 0; n && at + n < rank; at++) {
		if (!lies_along(cx, &a->type, &b->type, at))
			continue;
		for (uint32_t i = at; i < rank; i++)
			sb_printf(&index, "%s%s", i > at ? ", " : "", i < at + n ? ":" : "None");
		const char *what = b->name ? b->name->s : type_str(cx, b->type);
		note(cx, d, (struct span){0, 0}, "%s%s[%s] lies along %s %u of %s", what,
		     b->name ? "" : " followed by ", index.s, n > 1 ? "the axes from" : "axis", at,
		     type_str(cx, a->type));
		return;
	}
}

static bool is_name(struct ctx *cx, dim d)
{
	struct dim_view v = dim_view_as_made(cx, d);

	return v.form == DIM_ATOM && v.name;
}

static void note_header(struct ctx *cx, struct diag *d, const struct broken *b)
{
	const char *name = dim_str_as_made(cx, b->of[0].name), *x = dim_str_as_made(cx, b->a),
		   *y = dim_str_as_made(cx, b->b);
	bool empty = dim_is(cx, b->b, 0);
	bool same = b->solved && b->n == 2 && is_name(cx, b->b);

	if (empty)
		note(cx, d, b->of[0].span, "%s is any size, but must be 0 here", name);
	else if (b->solved && !same)
		note(cx, d, b->of[0].span,
		     "%s is any size, but must be %s here: write %s, or ?%s for a size that ptgc "
		     "may "
		     "set",
		     x, y, y, x);
	else if (b->n == 1)
		note(cx, d, b->of[0].span, "%s is any size, but no large one makes %s and %s equal",
		     name, x, y);
	else
		note(cx, d, b->of[0].span,
		     "%s and %s are any two sizes, but %s must be %s here: write one name for "
		     "both, "
		     "or ?%s for a size that ptgc may set",
		     name, dim_str_as_made(cx, b->of[1].name), x, y, name);
	if (b->n == 2 && (same || !b->solved))
		note(cx, d, b->of[1].span, "the other one");
	if (b->replaced)
		note(cx, d, b->why, "one of the lengths comes from here");
}

void explain_promise(struct ctx *cx, struct diag *d, struct value **in, uint32_t nin)
{
	struct broken b;

	if (!dim_broken(cx, &b) || !d)
		return;
	note_header(cx, d, &b);
	for (uint32_t i = 0; i < nin; i++)
		for (uint32_t j = 0; j < nin; j++)
			if (in[i]->type.rank > in[j]->type.rank)
				suggest_axes(cx, d, in[i], in[j]);
}
