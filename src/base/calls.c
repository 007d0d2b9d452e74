/*
 * calls.c: places inside of fns, which are expanded at each call, and of a 'for', at each step.
 * In: a place in the text of a fn, and the call that is expanded. Out: a span for both, which nodes
 * and values carry as any other; and back. Holds: such a span is no offset of a text. It counts
 * down from the end of the space that texts fill from the front; where the two would meet, the
 * call is left out of further places.
 */
#include "base/base.h"

struct in_call {
	struct span at;
	uint32_t call;
};
struct calls {
	vec(struct fn_call) list; /* of a number from 1 */
	vec(struct in_call) places;
	struct hash_table index; /* of places */
};

struct fn_call *call_of(struct ctx *cx, uint32_t number)
{
	return number ? &cx->calls->list.at[number - 1] : NULL;
}

uint32_t call_add(struct ctx *cx, const char *fn, uint32_t step, struct span at)
{
	struct fn_call c = {.fn = fn, .step = step, .depth = 1};

	if (!cx->calls)
		cx->calls = new (cx->arena, struct calls);
	c.at = text_place(cx, at, &c.outer);
	if (c.outer)
		c.depth += call_of(cx, c.outer)->depth;
	*vec_push(cx->arena, &cx->calls->list) = c;
	return cx->calls->list.len;
}

uint32_t text_limit(const struct ctx *cx)
{
	return UINT32_MAX - 1 - (cx->calls ? cx->calls->places.len : 0);
}

static const struct in_call *find(const struct ctx *cx, struct span s)
{
	return s.end == UINT32_MAX && s.begin > text_limit(cx)
		       ? &cx->calls->places.at[UINT32_MAX - 1 - s.begin]
		       : NULL;
}

struct span place_in_call(struct ctx *cx, struct span s, uint32_t call)
{
	struct calls *t = cx->calls;
	const struct source *last = cx->sources.at[cx->sources.len - 1];

	if (!call || !s.begin || find(cx, s))
		return s;
	uint64_t h = ((uint64_t)s.begin << 32 | s.end) * 0x9e3779b97f4a7c15u;
	h = (h ^ h >> 32 ^ call) * 0xff51afd7ed558ccdu;
	struct probe p = {.hash = (uint32_t)(h >> 32)};
	while (hash_next(&t->index, &p)) {
		const struct in_call *i = &t->places.at[p.number];
		if (i->call == call && i->at.begin == s.begin && i->at.end == s.end)
			return (struct span){UINT32_MAX - 1 - p.number, UINT32_MAX};
	}
	if (text_limit(cx) <= (uint64_t)last->base + last->len + 1)
		return s;
	*vec_push(cx->arena, &t->places) = (struct in_call){s, call};
	hash_add(cx->arena, &t->index, p.hash, t->places.len - 1);
	return (struct span){UINT32_MAX - t->places.len, UINT32_MAX};
}

struct span text_place(struct ctx *cx, struct span s, uint32_t *call)
{
	const struct in_call *i = find(cx, s);

	*call = i ? i->call : 0;
	return i ? i->at : s;
}
