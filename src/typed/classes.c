/*
 * classes.c: Sum(Switch(mask, f(k), g(k))) with a constant mask is Sum(f(k1)) + Sum(g(k2)), where
 * k1 are the elements of k at which the mask holds, and k2 the others. In: a block, and the regions
 * that repeats.c found in it. Out: the classes of each region. Places along the axis of a region
 * are of one class if all masks of its Switches are the same there. In a class, a Switch by a mask
 * is one of its arguments, and what only the other one needs is not computed.
 *
 * An argument of Switch may be shorter than the result: a number, or one that is the same for all
 * places. What is computed from such may be shorter, too, as long as ops stretch it. A sum needs
 * all of its elements, unless they are 0.
 */
#include <string.h>

#include "target/target.h"
#include "typed/repeats.h"

#define MAX_VIEWS 4 /* of a constant */

static struct region *region_of(struct repeats *r, const struct node *n)
{
	uint32_t region = n->nout ? r->place[n->out[0]->id].region : 0;
	struct region *g = region ? &r->regions.at[region - 1] : NULL;

	return g && !g->failed && is_needed(r->needed, n) ? g : NULL;
}

/* ---- masks ---- */

/* The constant that v is, perhaps with axes of length 1 before; NULL: it is none */
static const struct tensor *constant_behind(const struct value *v)
{
	for (int i = 0; i < MAX_VIEWS && is_call(v->def, OP_ExpandDims); i++)
		v = v->def->in[0];
	return constant_data(v);
}

/* The constant bools that n, of region g, chooses by for each place; NULL: it is no such Switch */
static const uint8_t *mask_of(struct repeats *r, const struct region *g, struct node *n)
{
	const struct tensor *t = is_call(n, OP_Switch) ? constant_behind(n->in[0]) : NULL;
	int64_t length;

	if (!t || t->dtype != DT_BOOL || t->splat || t->count != (uint64_t)g->length)
		return NULL;
	int a = axis_of(r->cx, n, 0, (int)r->place[n->out[0]->id].axis);
	bool along = a >= 0 && dim_is_const(r->cx, n->in[0]->type.dims[a], &length);
	return along && length == g->length ? t->data : NULL;
}

/* Which of the masks of g is it? Behind the last one: none */
static uint32_t find_mask(const struct region *g, const uint8_t *mask)
{
	uint32_t i = 0;

	while (i < g->nmasks && g->mask[i] != mask)
		i++;
	for (uint32_t k = 0; i == g->nmasks && k < g->nmasks; k++)
		if (!memcmp(g->mask[k], mask, (size_t)g->length))
			return k;
	return i;
}

static void note_mask(struct region *g, const uint8_t *mask)
{
	uint32_t i = find_mask(g, mask);

	if (i == g->nmasks && i < MAX_MASKS)
		g->mask[g->nmasks++] = mask;
}

static uint32_t class_key(const struct region *g, int64_t place)
{
	uint32_t key = 0;

	for (uint32_t i = 0; i < g->nmasks; i++)
		key |= (uint32_t)(g->mask[i][place] != 0) << i;
	return key;
}

/* Parts the places of g, which are one class so far. */
static void part(struct repeats *r, struct region *g)
{
	const struct class all = g->class[0];
	uint32_t keys[MAX_CLASSES], n = 0;

	for (int64_t j = 0; j < all.distinct; j++) {
		uint32_t i = 0, key = class_key(g, all.first[j]);
		while (i < n && keys[i] != key)
			i++;
		if (i == MAX_CLASSES)
			return;
		if (i == n)
			keys[n++] = key;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct class *c = &g->class[i];
		c->distinct = 0;
		c->first = new_array(r->cx->scratch, int64_t, all.distinct);
		c->count = new_array(r->cx->scratch, double, all.distinct);
		for (int64_t j = 0; j < all.distinct; j++) {
			if (class_key(g, all.first[j]) != keys[i])
				continue;
			c->first[c->distinct] = all.first[j];
			c->count[c->distinct++] = all.count[j];
		}
	}
	g->nclasses = n;
}

uint32_t choice_in(struct repeats *r, struct node *n, uint32_t c)
{
	const struct region *g = &r->regions.at[r->place[n->out[0]->id].region - 1];
	const uint8_t *mask = g->nclasses > 1 ? mask_of(r, g, n) : NULL;
	uint32_t i = mask ? find_mask(g, mask) : 0;

	return !mask || i == g->nmasks ? 0 : mask[g->class[c].first[0]] ? 1 : 2;
}

/* ---- what values are in a class ---- */

/* Is v the number 0, perhaps with axes of length 1 before? */
static bool is_zero_behind_axes(const struct value *v)
{
	double k;

	return single_number(constant_behind(v), &k) && k == 0;
}

static enum in_class state_of(const struct repeats *r, const struct region *g,
			      const struct value *v, uint32_t c)
{
	const struct spot *p = &r->place[v->id];

	return p->region && &r->regions.at[p->region - 1] == g ? r->state[v->id * MAX_CLASSES + c]
							       : AS_BEFORE;
}

static enum in_class chosen_state(struct repeats *r, struct region *g, struct node *n, uint32_t i,
				  uint32_t c)
{
	const struct value *v = n->in[i], *out = n->out[0];
	enum in_class s = state_of(r, g, v, c);

	g->mixed |= v->type.rank != out->type.rank;
	if (s >= SHORTER)
		return s;
	if (!g->mixed && same_dims(r->cx, v->type, out->type))
		return CHOSEN;
	return is_zero_behind_axes(v) ? ZERO : SHORTER;
}

/* Are all arguments of n that are no conditions 0, and the result too? */
static bool keeps_zero(struct repeats *r, const struct region *g, const struct node *n, uint32_t c)
{
	static const enum op_id ops[] = {OP_Add, OP_Sub, OP_Mul, OP_Neg, OP_Identity, OP_Switch};
	bool is = is_one_of(n->op, ops, countof(ops));

	for (uint32_t i = is_call(n, OP_Switch); i < n->nin; i++)
		is &= state_of(r, g, n->in[i], c) == ZERO || is_zero_behind_axes(n->in[i]);
	return is;
}

static enum in_class new_state(struct repeats *r, struct region *g, struct node *n, uint32_t c)
{
	uint32_t choice = choice_in(r, n, c);
	bool shorter = false, full = false;

	if (choice)
		return chosen_state(r, g, n, choice, c);
	for (uint32_t i = 0; i < n->nin; i++) {
		enum in_class s = state_of(r, g, n->in[i], c);
		shorter |= s >= SHORTER;
		full |= s < SHORTER && same_dims(r->cx, n->in[i]->type, n->out[0]->type) &&
			n->in[i]->type.rank == n->out[0]->type.rank;
	}
	if (!shorter)
		return AS_BEFORE;
	if (is_view_or_check(n))
		return state_of(r, g, n->in[0], c);
	g->mixed |= n->op->shape != sh_broadcast;
	if (keeps_zero(r, g, n, c))
		return ZERO;
	return full ? AS_BEFORE : SHORTER;
}

static void set_states(struct repeats *r, struct region *g, struct node *n)
{
	for (uint32_t c = 0; c < g->nclasses && !g->mixed; c++) {
		enum in_class s = new_state(r, g, n, c);
		for (uint32_t i = 0; i < n->nout; i++)
			r->state[n->out[i]->id * MAX_CLASSES + c] = s;
	}
}

/* A reduction takes elements as before, or is a sum of zeros in some classes. */
static void set_end(struct repeats *r, const struct end *end)
{
	const struct value *v = end->node->in[0];
	struct region *g = &r->regions.at[r->place[v->id].region - 1];
	bool any = false;

	for (uint32_t c = 0; c < g->nclasses; c++) {
		enum in_class s = state_of(r, g, v, c);
		g->mixed |= s == SHORTER || (s == ZERO && !is_call(end->node, OP_Sum));
		any |= s < SHORTER;
		r->live[v->id * MAX_CLASSES + c] = s < SHORTER;
	}
	g->mixed |= !any;
	enum dtype t = (enum dtype)v->type.dtype; /* each class has a reduction */
	g->cost[1] += (g->nclasses - 1) *
		      (cost_of_any(ONNX_ReduceSum, t, 1) + cost_of_any(ONNX_Add, t, 1));
}

/* ---- what is needed, and what it takes ---- */

static void set_live(struct repeats *r, struct region *g, struct node *n)
{
	int64_t all = 0;

	for (uint32_t c = 0; c < g->nclasses; c++) {
		bool live = false;
		uint32_t choice = choice_in(r, n, c);
		enum in_class s = state_of(r, g, n->out[0], c);
		for (uint32_t i = 0; i < n->nout; i++)
			live |= r->live[n->out[i]->id * MAX_CLASSES + c];
		for (uint32_t i = 0; i < n->nout; i++)
			r->live[n->out[i]->id * MAX_CLASSES + c] = live;
		for (uint32_t i = 0; i < n->nin && live && s != ZERO; i++)
			if (!choice || i == choice)
				r->live[n->in[i]->id * MAX_CLASSES + c] = true;
		if (live && s != ZERO && !choice)
			g->cost[1] += cost_in(r, n, g->class[c].distinct);
		all += g->class[c].distinct;
	}
	g->cost[0] += cost_in(r, n, all);
}

static void join_classes(struct repeats *r, struct region *g)
{
	struct class all = {.first = new_array(r->cx->scratch, int64_t, g->length),
			    .count = new_array(r->cx->scratch, double, g->length)};

	for (uint32_t c = 0; c < g->nclasses; c++)
		for (int64_t j = 0; j < g->class[c].distinct; j++) {
			all.first[all.distinct] = g->class[c].first[j];
			all.count[all.distinct++] = g->class[c].count[j];
		}
	g->class[0] = all;
	g->nclasses = 1;
}

void part_regions(struct repeats *r, struct block *b)
{
	struct node **all = new_array(r->cx->scratch, struct node *, b->nnodes + 1);
	uint32_t count = 0, masks = 0;
	struct region *g;

	for (struct node *n = b->first; n; n = n->next) {
		const uint8_t *mask = (g = region_of(r, n)) ? mask_of(r, g, n) : NULL;
		if (mask)
			note_mask(g, mask);
		masks += mask != NULL;
	}
	for (uint32_t i = 0; i < r->regions.len && masks; i++)
		if (!r->regions.at[i].failed && r->regions.at[i].nmasks)
			part(r, &r->regions.at[i]);
	for (struct node *n = b->first; n && masks; n = n->next) {
		all[count++] = n;
		if ((g = region_of(r, n)) && g->nclasses > 1)
			set_states(r, g, n);
	}
	for (uint32_t i = 0; i < r->found.len && masks; i++)
		set_end(r, &r->found.at[i]);
	while (count--)
		if ((g = region_of(r, all[count])) && g->nclasses > 1)
			set_live(r, g, all[count]);
	for (uint32_t i = 0; i < r->regions.len; i++) {
		g = &r->regions.at[i];
		if (g->nclasses > 1 && (g->mixed || g->cost[1] > g->cost[0]))
			join_classes(r, g);
		g->failed |= g->nclasses == 1 && !g->repeats;
	}
}
