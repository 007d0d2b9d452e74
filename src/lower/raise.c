/*
 * raise.c: Assert and CheckAndRaise, and checks of other lowerings. In: a value, and conditions of
 * which each is a bool. Out: the value, made so that the run fails where a condition is false: by a
 * Reshape to a shape that none has, or a Gather out of range (see guard.c). Must hold: the check is
 * on a value that is used; where only the known integers of a result may be used, it goes to an
 * output of the graph.
 */
#include "low.h"
#include "lower.h"

/* v, or a failing run where cond (0-d) is false */
struct value *checked(struct build *b, struct value *v, struct value *cond)
{
	const dim *dims = v->type.dims;
	int64_t yes[MAX_RANK], no[MAX_RANK];

	for (uint32_t i = 0; i < v->type.rank; i++) {
		yes[i] = 0; /* keeps the length */
		no[i] = -2;
	}
	if (v->type.rank) {
		struct value *shape = emit_(b, "Where", cond, const_ints(b, yes, v->type.rank),
					    const_ints(b, no, v->type.rank));
		return with_dims(emit_(b, "Reshape", v, shape), dims);
	}
	struct value *at = emit_(b, "Where", cond, const_int(b, 0), const_int(b, 1));
	return emit_(b, "Gather", vector_of(b, v), at);
}

/* What a constant condition says: 1 true, 0 false; -1: it is not constant. */
static int constant(const struct value *cond)
{
	return cond->data && cond->data->count ? tensor_float(cond->data, 0) != 0 : -1;
}

/* All conditions that can be false, as one bool; NULL: none can. */
static struct value *all_conditions(struct build *b, struct node *n)
{
	struct value *all = NULL;

	for (uint32_t i = 1; i < n->nin; i++) {
		struct value *c = cast(b, low(b, n->in[i]), DT_BOOL);
		if (c->type.rank) {
			unsupported(b, "a condition is a single bool, this one has %u dims",
				    c->type.rank);
			return NULL;
		}
		if (constant(c) == 0) {
			raises(b, "the condition is false on every run");
			return NULL;
		}
		if (constant(c) < 0)
			all = all ? emit_(b, "And", all, c) : c;
	}
	return all;
}

static const char *assert_label(struct build *b, const struct node *n)
{
	if (prop_is_none(b->cx, n, "msg"))
		return "a condition that must be true is false";
	return arena_printf(b->cx->arena, "assertion failed: %s", prop_str(b->cx, n, "msg"));
}

bool lower_assert(struct build *b, struct node *n)
{
	struct shared *s = b->cse->shared;
	struct value *v = low(b, n->in[0]), *cond = all_conditions(b, n);
	bool outside = b->cse->outer == NULL;

	if (s->failed)
		return false;
	lowered(b, n, 0, v);
	if (!cond)
		return true;
	if (b->target == PTGC_ONNX || (n->out[0]->known && !outside)) {
		warn(b->cx, b->span, W_ASSERT_DROPPED, "%s: the check is left out of the model%s",
		     op_label(b->cx, n),
		     b->target == PTGC_ONNX ? ": ONNX has no operator that fails on purpose" : "");
		return true;
	}
	if (n->out[0]->known)
		*vec_push(b->cx->arena, &s->checks) =
			(struct check){cond, assert_label(b, n), n->span};
	else
		lowered(b, n, 0, labelled(b, checked(b, v, cond), assert_label(b, n)));
	return true;
}

/* Checks that no value could carry, on a result of the graph. Each keeps its place, as it is what a
 * failing run is told by. */
struct value *checks_rest(struct build *b, struct value *v)
{
	struct shared *s = b->cse->shared;
	struct span span = b->span;

	for (uint32_t i = 0; i < s->checks.len; i++) {
		b->span = s->checks.at[i].span;
		v = labelled(b, checked(b, v, s->checks.at[i].cond), s->checks.at[i].label);
	}
	s->checks.len = 0;
	b->span = span;
	return v;
}
