/*
 * walk.c: over blocks and the bodies of their nodes. In: a graph of either level. Out: events, in
 * order. Loops and ifs nest as deep as the user writes them; where a walk has to go back to is
 * noted in the blocks, so that it needs no stack.
 */
#include "graph/graph.h"

struct block *body_after(const struct node *n, const struct block *k)
{
	bool found = !k;

	if (!n->onnx) {
		for (uint32_t i = 0; n->blocks && n->blocks[i]; i++) {
			if (found)
				return n->blocks[i];
			found = n->blocks[i] == k;
		}
		return NULL;
	}
	for (uint32_t i = 0; i < n->nattrs; i++) {
		if (n->attrs[i].kind != AT_GRAPH)
			continue;
		if (found)
			return n->attrs[i].u.block;
		found = n->attrs[i].u.block == k;
	}
	return NULL;
}

/* Goes into body k of w->at.node; NULL: there is none, the node is done. */
static void enter_body(struct walk *w, struct block *k)
{
	w->event = WALK_AFTER;
	if (!k)
		return;
	k->position = w->at;
	w->at = (struct position){.block = k};
	w->event = WALK_ENTER;
}

static void go_to(struct walk *w, struct node *before, struct node *n)
{
	w->at.before = before;
	w->at.node = n;
	w->event = n ? WALK_BEFORE : WALK_LEAVE;
}

static void step(struct walk *w)
{
	struct block *k = w->at.block;

	switch (w->event) {
	case WALK_ENTER:
		go_to(w, NULL, k->first);
		break;
	case WALK_BEFORE:
		enter_body(w, body_after(w->at.node, NULL));
		break;
	case WALK_AFTER:
		go_to(w, w->at.node, w->at.node->next);
		break;
	case WALK_LEAVE:
		if (k == w->root) {
			w->event = WALK_END;
			break;
		}
		w->at = k->position;
		enter_body(w, body_after(w->at.node, k));
		break;
	case WALK_END:
		break;
	default: /* it begins */
		w->at.block = (struct block *)w->root;
		w->event = WALK_ENTER;
	}
}

bool walk(struct walk *w, unsigned events)
{
	do
		step(w);
	while (!(w->event & (events | WALK_END)));
	return w->event != WALK_END;
}

void walk_past(struct walk *w)
{
	w->event = WALK_AFTER;
}
