/*
 * equal.c: calls that a text writes twice. In: the typed graph. Out: the same function; of calls of
 * one op with equal properties and arguments, the first is read by all, so that passes see one
 * value where a log density and its gradient compute the same. Nodes in bodies stay, and so do
 * results of the graph: lowering merges all that is equal.
 */
#include <string.h>

#include "data/data.h"
#include "typed/typed.h"

#define MAX_COMPARED 4096 /* bytes of constants that are compared; larger ones equal themselves */

struct equal {
	struct ctx *cx;
	struct value **first; /* by value id: what is read in its place; NULL: itself */
	bool *is_result;      /* by value id: of the graph, or a next state */
	struct hash_table found;
	vec(struct node *) nodes; /* in the order of their numbers in the table */
};

static bool is_compared(const struct value *v)
{
	return constant_data(v) && stored_bytes(v->data) <= MAX_COMPARED;
}

static bool same_argument(const struct value *a, const struct value *b)
{
	return a == b || quickly_equal(constant_data(a), constant_data(b), MAX_COMPARED);
}

static bool same_property(const struct cv *a, const struct cv *b)
{
	if (a->kind != b->kind)
		return false;
	switch ((enum cv_kind)a->kind) {
	case CV_NONE:
		return true;
	case CV_INT:
		return a->u.i == b->u.i && a->neg == b->neg;
	case CV_FLOAT:
		return !memcmp(&a->u.f, &b->u.f, sizeof(a->u.f));
	case CV_BOOL:
		return a->u.b == b->u.b;
	case CV_DTYPE:
		return a->u.dtype == b->u.dtype;
	case CV_STR:
		return a->u.str->len == b->u.str->len &&
		       !memcmp(a->u.str->s, b->u.str->s, a->u.str->len);
	case CV_LIST:
	case CV_TUPLE:
		for (uint32_t i = 0; i < a->n && a->n == b->n; i++)
			if (!same_property(&a->u.items[i], &b->u.items[i]))
				return false;
		return a->n == b->n;
	default:
		return false;
	}
}

static bool same_call(struct ctx *cx, const struct node *a, const struct node *b)
{
	uint32_t nprops = op_sig(cx, a->op)->nprops;

	if (a->op != b->op || a->nin != b->nin || a->nout != b->nout || !a->props != !b->props)
		return false;
	for (uint32_t i = 0; i < a->nin; i++)
		if (!same_argument(a->in[i], b->in[i]))
			return false;
	for (uint32_t i = 0; i < a->nout; i++) /* x[mask] has a new length each time */
		if (a->out[i]->type.rank != b->out[i]->type.rank ||
		    !same_dims(cx, a->out[i]->type, b->out[i]->type))
			return false;
	for (uint32_t i = 0; a->props && i < nprops; i++)
		if (!same_property(&a->props[i], &b->props[i]))
			return false;
	return true;
}

static uint64_t hash_bytes(uint64_t h, const void *from, size_t size)
{
	for (size_t at = 0; at < size; at += sizeof(h)) {
		uint64_t x = 0;
		memcpy(&x, (const uint8_t *)from + at,
		       size - at < sizeof(x) ? size - at : sizeof(x));
		h = hash_with(h, x);
	}
	return h;
}

/* Of what properties mostly differ in: a 'for' may write ExtractDiag{offset=i}(x) out, too. */
static uint64_t hash_property(uint64_t h, const struct cv *v)
{
	if (v->kind == CV_INT)
		return hash_with(h, v->u.i);
	if (v->kind == CV_FLOAT)
		return hash_bytes(h, &v->u.f, sizeof(v->u.f));
	if (v->kind == CV_STR)
		return hash_bytes(h, v->u.str->s, v->u.str->len);
	for (uint32_t i = 0; (v->kind == CV_LIST || v->kind == CV_TUPLE) && i < v->n; i++)
		h = hash_property(h, &v->u.items[i]);
	return hash_with(h, (uint64_t)v->kind);
}

static uint32_t hash_of_call(struct ctx *cx, const struct node *n)
{
	uint64_t h = (uint64_t)(n->op - op_table);

	for (uint32_t i = 0; i < n->nin; i++) {
		const struct value *v = n->in[i];
		/* Constants that differ must not have one hash: a 'for' may write x * i out for
		 * 100,000 i. */
		h = is_compared(v) ? hash_bytes(h, v->data->data, (size_t)stored_bytes(v->data))
				   : hash_with(h, v ? v->id + UINT64_C(1) : 0);
	}
	for (uint32_t i = 0, count = n->props ? op_sig(cx, n->op)->nprops : 0; i < count; i++)
		h = hash_property(h, &n->props[i]);
	return (uint32_t)(h >> 32);
}

/* Raw nodes, loops and ifs are no calls of PyTensor's ops. */
static bool may_merge(const struct equal *e, const struct node *n)
{
	bool ok = n->op >= op_table && n->op < op_table + OP_COUNT;

	for (uint32_t i = 0; i < n->nout; i++)
		ok &= !e->is_result[n->out[i]->id];
	return ok && n->nout;
}

static void look_at(struct equal *e, struct node *n)
{
	struct probe p = {.hash = hash_of_call(e->cx, n)};

	while (hash_next(&e->found, &p)) {
		const struct node *before = e->nodes.at[p.number];
		if (!same_call(e->cx, before, n))
			continue;
		for (uint32_t i = 0; i < n->nout; i++) {
			e->first[n->out[i]->id] = before->out[i];
			if (!before->out[i]->name) {
				before->out[i]->name = n->out[i]->name;
				n->out[i]->name = NULL;
			}
		}
		return;
	}
	hash_add(e->cx->scratch, &e->found, p.hash, e->nodes.len);
	*vec_push(e->cx->scratch, &e->nodes) = n;
}

void merge_equal_calls(struct ctx *cx, struct graph *g)
{
	struct equal e = {.cx = cx};

	e.first = new_array(cx->scratch, struct value *, cx->next_id);
	e.is_result = new_array(cx->scratch, bool, cx->next_id);
	for (uint32_t i = 0; i < g->block->results.len; i++)
		e.is_result[g->block->results.at[i]->id] = true;
	for (uint32_t i = 0; i < g->states.len; i++)
		if (g->states.at[i].next)
			e.is_result[g->states.at[i].next->id] = true;
	for (struct walk w = {.root = g->block}; walk(&w, WALK_BEFORE);) {
		struct node *n = w.at.node;
		for (uint32_t i = 0; i < n->nin; i++)
			if (n->in[i] && e.first[n->in[i]->id])
				n->in[i] = e.first[n->in[i]->id];
		if (w.at.block == g->block && may_merge(&e, n))
			look_at(&e, n);
	}
}
