/*
 * live.c: which ONNX values results need. In: values of the open block. Out: a mark on each value
 * that is one of them, or computed on the way to one, blocks of loops and ifs included; of an inner
 * block only its own values and those of blocks in it are looked at.
 */
#include "lower/build.h"

static void need(struct build *b, struct value *v)
{
	struct live *l = &b->cse->shared->live;

	while (v && l->round_of.len <= v->id)
		*vec_push(b->cx->scratch, &l->round_of) = 0;
	if (!v || l->round_of.at[v->id] == l->round)
		return;
	l->round_of.at[v->id] = l->round;
	*vec_push(b->cx->scratch, &l->todo) = v;
}

/* Is v made outside of the block that is open? */
static bool is_outer(struct build *b, const struct value *v)
{
	struct shared *s = b->cse->shared;
	struct block *home = v->id < s->nhome ? s->home[v->id] : NULL;

	return b->cse->outer && home && home->depth < b->block->depth;
}

void mark_live(struct build *b, struct value **from, uint32_t count)
{
	struct live *l = &b->cse->shared->live;

	l->round++;
	for (uint32_t i = 0; i < count; i++)
		need(b, from[i]);
	while (l->todo.len) {
		const struct value *v = l->todo.at[--l->todo.len];
		const struct node *n = is_outer(b, v) ? NULL : v->def;
		for (uint32_t i = 0; n && i < n->nin; i++)
			need(b, n->in[i]);
		for (uint32_t i = 0; n && i < n->nattrs; i++) {
			struct block *k = n->attrs[i].kind == AT_GRAPH ? n->attrs[i].u.block : NULL;
			for (uint32_t j = 0; k && j < k->results.len; j++)
				need(b, k->results.at[j]);
		}
	}
}

bool is_live(struct build *b, const struct value *v)
{
	const struct live *l = &b->cse->shared->live;

	return v->id < l->round_of.len && l->round_of.at[v->id] == l->round;
}
