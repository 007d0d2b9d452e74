/*
 * needed.c: which values the results, the next states, or nodes without results, such as checks,
 * are computed from.
 */
#include "typed/typed.h"

/* Blocks nest as deep as loops and ifs of the input, which has a limit: this may recurse. */
static void mark_block(struct ctx *cx, const struct block *b, bool *needed)
{
	struct node **all = new_array(cx->scratch, struct node *, b->nnodes + 1);
	uint32_t count = 0;

	for (uint32_t i = 0; i < b->results.len; i++)
		needed[b->results.at[i]->id] = true;
	for (struct node *n = b->first; n; n = n->next)
		all[count++] = n;
	while (count--) {
		const struct node *n = all[count];
		bool read = is_needed(needed, n);
		for (uint32_t i = 0; read && i < n->nin; i++)
			if (n->in[i])
				needed[n->in[i]->id] = true;
		if (read)
			for_bodies (inner, n)
				mark_block(cx, inner, needed);
	}
}

bool *needed_values(struct ctx *cx, const struct graph *g)
{
	bool *needed = new_array(cx->scratch, bool, cx->next_id);

	for (uint32_t i = 0; i < g->states.len; i++)
		if (g->states.at[i].next)
			needed[g->states.at[i].next->id] = true;
	mark_block(cx, g->block, needed);
	return needed;
}
