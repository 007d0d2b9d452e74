/*
 * raise.c: Assert and CheckAndRaise, and checks of other lowerings. In: a value, and conditions of
 * which each is a bool. Out: the value, made so that the run fails where a condition is false: by a
 * Reshape to a shape that none has, or a Gather out of range (see guard.c). Must hold: the check is
 * on a value that is used; where only the known integers of a result may be used, it goes to an
 * output of the graph.
 */
#include <string.h>

#include "lower/build.h"

/* Conditions that are taken apart. */
#define MAX_CONDITIONS 32

/* The bools that v is true for if all of them are (see all_of() in lower/ops/reduce.c); NULL: it is
 * not. */
static struct value *all_in(struct value *v)
{
	struct value *r = is_onnx(v->def, ONNX_Cast) ? v->def->in[0] : v;

	if (v->type.rank || !is_onnx(r->def, ONNX_ReduceMin) || r->def->nin > 1)
		return NULL;
	r = r->def->in[0];
	r = is_onnx(r->def, ONNX_Cast) ? r->def->in[0] : r;
	return r->type.dtype == DT_BOOL ? r : NULL;
}

/* Single conditions, and arrays of which each element is one. */
struct conditions {
	struct value *one[MAX_CONDITIONS], *all[MAX_CONDITIONS];
	uint32_t ones, alls;
};

/* The parts of v: of And, of All, and of All of a vector that is made of single ones. */
static bool take_apart(struct value *cond, struct conditions *c)
{
	struct value *todo[MAX_CONDITIONS] = {cond};
	uint32_t n = 1;

	while (n) {
		struct value *v = todo[--n], *all = all_in(v);
		struct value *list = is_onnx(v->def, ONNX_And)               ? v
				     : all && is_onnx(all->def, ONNX_Concat) ? all
									     : NULL;
		bool single = list != NULL;
		for (uint32_t i = 0; single && i < list->def->nin; i++)
			single = !list->def->in[i]->type.rank ||
				 is_onnx(list->def->in[i]->def, ONNX_Unsqueeze);
		if (c->ones == MAX_CONDITIONS || c->alls == MAX_CONDITIONS)
			return false;
		if (!single) {
			if (all)
				c->all[c->alls++] = all;
			else
				c->one[c->ones++] = v;
			continue;
		}
		if (n + list->def->nin > MAX_CONDITIONS)
			return false;
		for (uint32_t i = list->def->nin; i-- > 0;) {
			struct value *x = list->def->in[i];
			todo[n] = x->type.rank ? x->def->in[0] : x;
			if (todo[n++]->type.rank)
				return false;
		}
	}
	return true;
}

/* Arrays of one shape are one array. */
static void merge(struct build *b, struct conditions *c)
{
	uint32_t n = 0;

	for (uint32_t i = 0, j; i < c->alls; i++) {
		for (j = 0; j < n && !same_dims(b->cx, c->all[j]->type, c->all[i]->type); j++)
			;
		if (j < n)
			c->all[j] = emit_(b, ONNX_And, c->all[j], c->all[i]);
		else
			c->all[n++] = c->all[i];
	}
	c->alls = n;
	for (uint32_t i = 1; i < c->ones; i++)
		c->one[0] = emit_(b, ONNX_And, c->one[0], c->one[i]);
	c->ones = c->ones ? 1 : 0;
}

/* 0 in each of n elements where cond holds, something else where not: `bad`, once or more often. */
static struct value *badness(struct build *b, struct value *cond, uint32_t n, int64_t bad)
{
	struct conditions c = {.ones = 0};
	int64_t good[MAX_RANK] = {0}, fill[MAX_RANK];
	struct value *r = NULL;

	for (uint32_t i = 0; i < n; i++)
		fill[i] = bad;
	struct value *yes = n ? const_ints(b, good, n) : const_int(b, 0);
	struct value *no = n ? const_ints(b, fill, n) : const_int(b, bad);
	if (!take_apart(cond, &c))
		return emit_(b, ONNX_Where, cond, yes, no);
	merge(b, &c);
	for (uint32_t i = 0; i < c.alls; i++) {
		struct value *each =
			emit_(b, ONNX_Where, c.all[i], const_int(b, 0), const_int(b, bad));
		int axes[MAX_RANK];
		for (int k = 0; k < each->type.rank; k++)
			axes[k] = k;
		each = reduce(b, ONNX_ReduceSum, each, axes, each->type.rank,
			      n == 1 && each->type.rank == 1);
		r = r ? emit_(b, ONNX_Add, r, each) : each;
	}
	if (c.ones) {
		struct value *one = emit_(b, ONNX_Where, c.one[0], yes, no);
		r = r ? emit_(b, ONNX_Add, r, one) : one;
	}
	return n && (!r->type.rank || (n > 1 && !c.ones)) ? emit_(b, ONNX_Add, r, yes) : r;
}

/* v, or a failing run where cond (0-d) is false */
struct value *checked(struct build *b, struct value *v, struct value *cond)
{
	struct value *bad = badness(b, cond, v->type.rank, v->type.rank ? -2 : 1);

	if (v->type.rank)
		return with_dims(emit_(b, ONNX_Reshape, v, bad), v->type.dims);
	return emit_(b, ONNX_Gather, vector_of(b, v), bad);
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
		if (constant(c) == 0) {
			raises(b, "the condition is false on every run");
			return NULL;
		}
		if (constant(c) < 0)
			all = all ? emit_(b, ONNX_And, all, c) : c;
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
	struct check c = {NULL, cond, assert_label(b, n), n->span};
	if (n->out[0]->known) {
		*vec_push(b->cx->arena, &s->checks) = c;
		return true;
	}
	c.on = labelled(b, checked(b, v, cond), c.label);
	if (c.on->id < s->nhome && s->home[c.on->id] == b->block) /* else there is one already */
		*vec_push(b->cx->arena, &s->placed) = c;
	lowered(b, n, 0, c.on);
	return true;
}

void checks_lost(struct build *b, struct value **results, uint32_t n)
{
	struct shared *s = b->cse->shared;
	uint32_t k = s->placed.len, at;
	struct span span = b->span;

	while (k && s->home[s->placed.at[k - 1].on->id]->depth >= b->block->depth)
		k--;
	if (k == s->placed.len || !n)
		return;
	mark_live(b, results, n);
	for (uint32_t i = k; i < s->placed.len; i++) {
		struct check c = s->placed.at[i];
		if (is_live(b, c.on) || s->home[c.on->id] != b->block)
			continue;
		if (!b->cse->outer) {
			*vec_push(b->cx->arena, &s->checks) = c;
			continue;
		}
		b->span = c.span;
		at = check_carrier(results, n);
		results[at] = labelled(b, checked(b, results[at], c.cond), c.label);
	}
	b->span = span;
	s->placed.len = k;
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
