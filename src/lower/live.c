/*
 * live.c: which ONNX values the results of a graph need. In: values. Out: a flag for each value,
 * by its number: is it one of them, or computed on the way to one, blocks of loops and ifs
 * included?
 */
#include "low.h"

struct live {
	struct arena *arena;
	bool *seen;
	vec(struct value *) todo;
};

static void need(struct live *l, struct value *v)
{
	if (!v || l->seen[v->id])
		return;
	l->seen[v->id] = true;
	*vec_push(l->arena, &l->todo) = v;
}

const bool *live_values(struct build *b, struct value **from, uint32_t count)
{
	struct live l = {.arena = b->cx->scratch};

	l.seen = new_array(b->cx->scratch, bool, b->cx->next_id + 1);
	for (uint32_t i = 0; i < count; i++)
		need(&l, from[i]);
	while (l.todo.len) {
		const struct node *n = l.todo.at[--l.todo.len]->def;
		for (uint32_t i = 0; n && i < n->nin; i++)
			need(&l, n->in[i]);
		for (uint32_t i = 0; n && i < n->nattrs; i++) {
			struct block *k = n->attrs[i].kind == AT_GRAPH ? n->attrs[i].u.block : NULL;
			for (uint32_t j = 0; k && j < k->results.len; j++)
				need(&l, k->results.at[j]);
		}
	}
	return l.seen;
}
