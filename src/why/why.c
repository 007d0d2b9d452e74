/*
 * why.c: the answer of `ptgc why`. In: the values that were asked for, and the graph, whose text
 * may have errors. Out: the type of each, and where its dtype and its sizes come from.
 */
#include <string.h>

#include "why/internal.h"

#define SHOWN_ANSWERS 4 /* of one name in a fn, which is called more often */

/* "  in 'Scale', line 20, with F = float32", for each of the calls that led to a place */
static void say_calls(struct ctx *cx, uint32_t call, bool tried, struct strbuf *out)
{
	for (; call; call = call_of(cx, call)->outer) {
		const struct fn_call *c = call_of(cx, call);
		const char *with = cx->meanings_text(cx, c);
		if (tried && !c->outer) {
			sb_printf(out, "  in '%s', which nothing calls%s%s\n", c->fn,
				  with ? "; tried with " : "", with ? with : "");
			return;
		}
		if (c->fn)
			sb_printf(out, "  in '%s', called in line", c->fn);
		else
			sb_printf(out, "  in step %u of the 'for' of line", c->step);
		sb_printf(out, " %u%s%s\n", source_place(cx, c->at.begin).line,
			  with ? ", with " : "", with ? with : "");
	}
}

static void say_type(struct origins *o, struct ctx *cx, const struct value *v, struct strbuf *out)
{
	sb_printf(out, "%s\n", type_str(cx, v->type));
	if (is_rng((enum dtype)v->type.dtype))
		return;
	origin_of_dtype(o, v);
	for (uint32_t k = 0; k < v->type.rank; k++) {
		bool said = false;
		for (uint32_t i = 0; i < k; i++)
			said |= dim_find(cx, v->type.dims[i]) == dim_find(cx, v->type.dims[k]) &&
				!dim_is(cx, v->type.dims[k], 1);
		if (!said)
			origin_of_length(o, v, k);
	}
}

static void say_answer(struct origins *o, struct ctx *cx, const struct answer *a,
		       struct strbuf *out)
{
	const struct cv *v = &a->value;
	struct dims *dims = cx->dims;
	uint32_t call;

	cx->dims = a->tried ? a->tried : dims;
	text_place(cx, a->at, &call);
	origins_of(o, a->at);
	sb_printf(out, "%s%s: ", a->next ? "next " : "", a->name->s);
	if (v->kind == CV_VALUE && v->u.v->type.dtype)
		say_type(o, cx, v->u.v, out);
	else if (v->kind == CV_POISON || v->kind == CV_VALUE)
		sb_str(out, "no type, because of an error\n");
	else if (v->kind == CV_DTYPE)
		sb_printf(out, "%s\n", dtypes[v->u.dtype].name);
	else if (v->kind == CV_DIM) {
		sb_printf(out, "the size %s\n", dim_str(cx, v->u.d));
		origin_of_size(o, v->u.d);
	} else
		sb_printf(out, "%s of the text\n", cv_kind_name(v));
	say_calls(cx, call, a->tried != NULL, out);
	cx->dims = dims;
}

/* Where the text of an answer stands; len 0: it has none. */
struct said {
	size_t at, len;
};

/* Says the text of answer i what that of another place with this name says? An if and its branches
 * give one name the same type. */
static bool is_said(struct ctx *cx, const struct strbuf *out, const struct answer *list,
		    const struct said *said, uint32_t i)
{
	uint32_t call, begin = text_place(cx, list[i].at, &call).begin;

	for (uint32_t k = 0; k < i; k++)
		if (list[k].name == list[i].name && said[k].len == said[i].len &&
		    text_place(cx, list[k].at, &call).begin != begin &&
		    !memcmp(out->s + said[k].at, out->s + said[i].at, said[i].len))
			return true;
	return false;
}

bool why_answer(struct ctx *cx, const struct graph *g, struct strbuf *out)
{
	struct origins *o = origins_new(cx, g->block, why_tried(cx), out);
	const struct answer *list;
	uint32_t n = why_answers(cx, &list);
	struct said *said = new_array(cx->arena, struct said, n + 1u);
	bool failed = false;

	for (uint32_t i = 0; i < n; i++) {
		const struct answer *a = &list[i];
		uint32_t call, same = 0, more = 0;
		struct span at = text_place(cx, a->at, &call);
		for (uint32_t k = 0; k < n; k++) {
			bool is = text_place(cx, list[k].at, &call).begin == at.begin &&
				  list[k].name == a->name;
			same += is && k < i;
			more += is && k > i;
		}
		if (same < SHOWN_ANSWERS) {
			said[i].at = out->len;
			say_answer(o, cx, a, out);
			said[i].len = out->len - said[i].at;
			if (is_said(cx, out, list, said, i)) {
				out->len = said[i].at;
				out->s[out->len] = 0;
				said[i].len = 0;
			}
		}
		if (same + 1 == SHOWN_ANSWERS && more)
			sb_printf(out, "  and %u more calls\n", more);
		failed |= a->value.kind == CV_POISON;
	}
	return !failed;
}
