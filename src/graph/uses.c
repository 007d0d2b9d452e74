/*
 * uses.c: who reads a value. In: a graph of either level. Out: its uses, one by one or as a table.
 */
#include "graph/uses.h"

#define MAX_DROPPED 64 /* nodes that wait to be dropped; others are, when nobody reads them */

/* What the graph itself holds */
static bool next_held(struct use_walk *w)
{
	const struct graph *g = w->graph;
	uint32_t states = g ? g->states.len : 0, all = g ? states + g->kept.len : 0;

	w->use = (struct use){0};
	while (w->held < all) {
		uint32_t i = w->held++;
		w->value = i < states ? g->states.at[i].next : g->kept.at[i - states];
		if (w->value)
			return true;
	}
	return false;
}

bool next_use(struct use_walk *w)
{
	struct walk *at = &w->walk;

	at->root = w->root;
	for (;;) {
		bool leaves = at->event == WALK_LEAVE;
		struct block *k = at->at.block;
		struct node *n = at->event == WALK_BEFORE ? at->at.node : NULL;
		uint32_t count = n ? n->nin : leaves ? k->results.len : 0;
		while (w->next < count) {
			uint32_t i = w->next++;
			w->value = n ? n->in[i] : k->results.at[i];
			w->use = (struct use){n, k, i};
			if (w->value)
				return true;
		}
		w->next = 0;
		if (!walk(at, WALK_BEFORE | WALK_LEAVE))
			return next_held(w);
	}
}

struct uses find_uses(struct ctx *cx, const struct graph *g)
{
	struct uses t = {.block = g->block, .nvalues = cx->next_id};
	uint32_t total = 0;

	/* first counts, two places further on, then the ends of the parts that are filled */
	t.first = new_array(cx->scratch, uint32_t, t.nvalues + 2u);
	for (struct use_walk w = {.root = g->block, .graph = g}; next_use(&w);)
		t.first[w.value->id + 2]++;
	for (uint32_t i = 2; i < t.nvalues + 2; i++)
		total = t.first[i] += total;
	t.at = new_array(cx->scratch, struct use, total + 1);
	for (struct use_walk w = {.root = g->block, .graph = g}; next_use(&w);)
		t.at[t.first[w.value->id + 1]++] = w.use;
	return t;
}

const struct use *first_use(const struct uses *t, const struct value *v)
{
	if (v->id >= t->nvalues)
		bug("a value has no uses yet");
	return t->at + t->first[v->id];
}

uint32_t count_uses(const struct uses *t, const struct value *v)
{
	if (v->id >= t->nvalues)
		bug("a value has no uses yet");
	return t->first[v->id + 1] - t->first[v->id];
}

struct node *only_reader(const struct uses *t, const struct value *v)
{
	return count_uses(t, v) == 1 ? first_use(t, v)->node : NULL;
}

bool escapes(const struct uses *t, const struct value *v)
{
	for_uses(u, t, v) if (!u->node || u->block != t->block) return true;
	return false;
}

/* ---- counts ---- */

/* v has a reader less. Was it the last of all results of its node? */
static bool lose_reader(struct value *v)
{
	struct node *n = v->def;

	if (v->uses)
		v->uses--;
	if (v->uses || !n || n->dead)
		return false;
	for (uint32_t i = 0; i < n->nout; i++)
		if (n->out[i]->uses)
			return false;
	return true;
}

static void lose_readers(struct value **in, uint32_t nin)
{
	struct node *todo[MAX_DROPPED];
	uint32_t len = 0;

	for (;;) {
		for (uint32_t i = 0; i < nin; i++) {
			struct value *v = resolve(in[i]);
			if (!v || !lose_reader(v) || len == MAX_DROPPED)
				continue;
			v->def->dead = true;
			todo[len++] = v->def;
		}
		if (!len)
			return;
		in = todo[--len]->in;
		nin = todo[len]->nin;
	}
}

void drop_node(struct node *n)
{
	if (n->dead)
		return;
	n->dead = true;
	lose_readers(n->in, n->nin);
}

void set_input(struct node *n, uint32_t i, struct value *v)
{
	struct value *old = n->in[i];

	n->in[i] = v;
	if (n->dead) /* what it read was given up when it was dropped */
		return;
	v->uses++;
	lose_readers(&old, 1);
}

void set_inputs(struct node *n, struct value **in, uint32_t nin)
{
	struct value **old = n->in;
	uint32_t nold = n->nin;

	n->in = in;
	n->nin = (uint16_t)nin;
	if (n->dead)
		return;
	for (uint32_t i = 0; i < nin; i++)
		if (in[i])
			in[i]->uses++;
	lose_readers(old, nold);
}

void reserve_use(struct value *v)
{
	v->uses++;
}

void put_result(struct block *b, uint32_t i, struct value *v)
{
	v->uses++;
	v->is_result = true;
	v->is_inner_result |= b->depth > 0;
	b->results.at[i] = v;
}

void add_result(struct ctx *cx, struct block *b, uint32_t i, struct value *v)
{
	vec_push(cx->arena, &b->results);
	for (uint32_t k = b->results.len - 1; k > i; k--)
		b->results.at[k] = b->results.at[k - 1];
	put_result(b, i, v);
}

void replace_all_uses(struct value *old, struct value *v)
{
	v = resolve(v); /* it may stand for another one by now, whose uses these are */
	v->uses += old->uses;
	old->uses = 0;
	old->forward = v;
}

void take_place(struct value *old, struct value *v)
{
	if (!v->name && v->def && old->name) {
		v->span = old->span;
		v->name = old->name;
	}
	if (!v->known)
		v->known = old->known;
	replace_all_uses(old, v);
}

void resolve_inputs(struct block *b)
{
	for (struct walk w = {.root = b}; walk(&w, WALK_BEFORE);)
		for (uint32_t i = 0; i < w.at.node->nin; i++)
			w.at.node->in[i] = resolve(w.at.node->in[i]);
}
