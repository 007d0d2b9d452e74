/*
 * place.c: makes the nodes of what was recorded. In: the graph after all other passes. Out: the
 * same, with nodes that fail.
 *
 * An equation is checked in the innermost block that computes one of its lengths, unless a matrix
 * product there fails by itself. What only needs inputs is checked first, on inputs, so that a node
 * further on does not fail before, whose name says less: all on one input, but for an input of one
 * open length, which another length says. That one is a Reshape to the other length, which fails
 * because the number of elements is not that. The length of an input that says n + n is checked on
 * that input as soon as nodes have computed n. All else is checked on a result of the block; a node
 * before that broadcasts the two lengths fails earlier, so it is called what must hold as well.
 */
#include <string.h>

#include "graph/uses.h"
#include "lower/check/check.h"
#include "lower/check/internal.h"

#define MAX_LOOK 64 /* checks that are compared with one */

struct placing {
	struct build *b;
	struct ctx *cx;
	struct graph *graph;
	const bool *needed;     /* by value id: are its elements? */
	uint32_t *order;        /* by value id: the number of its node; 0: an input */
	uint32_t nodes, walked; /* number of the last node; of the last that was walked over */
	uint32_t nvalues;       /* those with greater ids were made here */
	struct value **instead; /* by id of an input: what its readers read */
	uint32_t *last_reader;  /* by id of an input: the number of the last node that reads it */
	vec(struct checking) broadcasts;
	struct products products;
	uint32_t conditions, lengths; /* how many a node checks */
};

static void note_order(struct placing *p, struct value *v)
{
	p->order[v->id] = p->nodes;
}

/* Numbers the nodes, those of bodies before the node that has them. */
static void find_order(struct placing *p)
{
	for (struct walk w = {.root = p->graph->block}; walk(&w, WALK_ENTER | WALK_AFTER);) {
		struct block *k = w.at.block;
		if (w.event == WALK_AFTER) {
			p->nodes++;
			for (uint32_t i = 0; i < w.at.node->nin; i++)
				if (w.at.node->in[i] && needs_elements(w.at.node))
					p->last_reader[resolve(w.at.node->in[i])->id] = p->nodes;
			for (uint32_t i = 0; i < w.at.node->nout; i++)
				note_order(p, w.at.node->out[i]);
			continue;
		}
		for (uint32_t i = 0; i < k->params.len; i++)
			note_order(p, k->params.at[i]);
		for (uint32_t i = 0; i < k->checks.len; i++)
			if (k->checks.at[i].cond && !k->checks.at[i].cond->data)
				k->checks.at[i].cond = lowered_value(p->b, k->checks.at[i].cond);
	}
}

/* Behind which node can c be checked, and in which block? NULL: something that it needs is gone. */
static struct block *home_of(struct placing *p, const struct check *c, uint32_t *order)
{
	struct block *k = p->graph->block, *home;
	struct dim_walk w = {.round = 1};

	*order = c->cond && !c->cond->data ? p->order[c->cond->id] : 0;
	if (c->cond)
		return k;
	*vec_push(p->cx->scratch, &w.todo) = c->a;
	*vec_push(p->cx->scratch, &w.todo) = c->b;
	for (dim d; (d = next_atom(p->b, &w));) {
		struct value *v = dim_view_as_made(p->cx, d).source;
		if (!v || v->data || (v->lowered && v->lowered->data))
			continue;
		v = lowered_value(p->b, v);
		if (!v || !(home = defining_block(p->b, v)))
			return NULL;
		if (v->data)
			continue;
		if (v->id >= p->nvalues) /* made for a check of inputs, in place of an equal node */
			continue;
		k = home->depth > k->depth ? home : k;
		*order = p->order[v->id] > *order ? p->order[v->id] : *order;
	}
	return k;
}

/* Which equations need nodes, and in which block? */
static void settle(struct placing *p)
{
	struct block *top = p->graph->block, *k;
	uint32_t n = top->checks.len, order, kept = 0;
	struct check *all = top->checks.at;

	for (uint32_t i = 0; i < n; i++)
		if (!all[i].cond)
			*vec_push(p->cx->scratch, &p->products.checks) = &all[i];
	if (p->products.checks.len)
		find_products(p->cx, &p->products, top);
	for (uint32_t i = 0; i < n; i++) {
		k = all[i].cond ? top : home_of(p, &all[i], &order);
		all[i].by_product =
			k && !all[i].cond && product_checks(p->b, &p->products, &all[i], k);
		if (k && k != top && !all[i].by_product)
			*vec_push(p->cx->arena, &k->checks) = all[i];
		all[i].by_product |= k != top;
	}
	for (uint32_t i = 0; i < n; i++)
		if (!all[i].by_product)
			all[kept++] = all[i];
	top->checks.len = kept;
}

/* ---- on inputs ---- */

static struct value *read_now(struct placing *p, struct value *input)
{
	return p->instead[input->id] ? p->instead[input->id] : input;
}

/* Is s an axis of an input whose elements are needed, and its only open length? */
static bool is_open_input(struct placing *p, const struct side *s, bool vector)
{
	const struct value *v = s->of;
	int64_t c;

	if (!v || v->def || v->data || !p->needed[v->id] || (vector && v->type.rank > 1))
		return false;
	for (uint32_t j = 0; j < v->type.rank; j++)
		if (j != s->axis && (!dim_is_const(p->cx, v->type.dims[j], &c) || c < 1))
			return false;
	return true;
}

/* The input at x in the shape that y says: another number of elements fails the run. */
static void reshape_input(struct placing *p, const struct side *x, const struct side *y)
{
	struct build *b = p->b;
	struct type t = x->of->type;
	struct value *shape = y->v;
	int64_t known[MAX_RANK], n = t.rank;
	bool *here = arena_alloc(p->cx->arena, MAX_RANK);
	struct sides one = {{0}, {0}};

	for (uint32_t i = 0; i < t.rank; i++) {
		here[i] = i == x->axis;
		known[i] = 1;
		dim_is_const(p->cx, t.dims[i], &known[i]);
	}
	if (n > 1) {
		struct tensor *mask = tensor_new(p->cx, DT_BOOL, 1, &n);
		mask->data = here;
		struct value *is_here = const_tensor(b, mask);
		shape = emit_(b, ONNX_Where, is_here, shape, const_ints(b, known, t.rank));
	}
	attr_int(b, "allowzero", 1);
	struct value *v = emit_(b, ONNX_Reshape, read_now(p, x->of), shape);
	*vec_push(p->cx->arena, &one.x) = *x;
	*vec_push(p->cx->arena, &one.y) = *y;
	v = with_dims(v, t.dims);
	p->instead[x->of->id] = labelled(b, v, what_must_hold(b, &one));
}

static bool is_length(struct build *b, const struct side *s)
{
	int budget = 32;

	return s->of || dim_is_sum_of_sizes(b, s->d, &budget);
}

/* Pairs that one Reshape checks are done here; the others stay, from the front on. With more than
 * one axis the shape has to be made: that pays for a single pair only. */
static void by_reshape(struct placing *p, struct sides *s, bool vectors)
{
	struct side *x = s->x.at, *y = s->y.at;
	uint32_t left = 0, n = s->x.len;

	if (!zero_means_zero(p->b) || (!vectors && n != 1))
		return;
	for (uint32_t i = 0; i < n; i++) {
		if (is_open_input(p, &x[i], vectors) && is_length(p->b, &y[i])) {
			reshape_input(p, &x[i], &y[i]);
		} else if (is_open_input(p, &y[i], vectors) && is_length(p->b, &x[i])) {
			reshape_input(p, &y[i], &x[i]);
		} else {
			x[left] = x[i];
			y[left++] = y[i];
		}
	}
	s->x.len = s->y.len = left;
}

/* The last input of rank 1 and more whose elements are needed; one of open lengths, if any */
static struct value *input_to_check_on(struct placing *p)
{
	struct block *k = p->graph->block;
	struct value *found = NULL;
	int64_t c;
	bool open = false;

	for (uint32_t i = 0; i < k->params.len; i++) {
		struct value *v = k->params.at[i];
		bool is_open = false;
		for (uint32_t j = 0; j < v->type.rank; j++)
			is_open |= !dim_is_const(p->cx, v->type.dims[j], &c);
		if (!p->needed[v->id] || !v->type.rank || (open && !is_open))
			continue;
		found = v;
		open = is_open;
	}
	return found;
}

/* Equations of the block that can be computed where the walk is; `all`: there is no later place */
static void collect(struct placing *p, struct block *k, bool all, struct sides *to)
{
	uint32_t kept = 0, order;

	for (uint32_t i = 0; i < k->checks.len; i++) {
		struct check c = k->checks.at[i];
		struct side x, y;
		bool now = !c.cond && home_of(p, &c, &order) && order <= p->walked;
		if (c.cond || (!now && !all)) {
			k->checks.at[kept++] = c;
		} else if (now && dim_available(p->b, c.a) && dim_available(p->b, c.b)) {
			sides_of(p->b, &c, &x, &y);
			p->b->span = c.span;
			add_sides(p->b, to, x, y);
		}
	}
	k->checks.len = kept;
}

static void place_on_inputs(struct placing *p)
{
	struct block *k = p->graph->block;
	struct sides s = {{0}, {0}};
	struct value *v = input_to_check_on(p);

	if (!v)
		return;
	collect(p, k, false, &s);
	p->lengths += s.x.len;
	by_reshape(p, &s, true);
	by_reshape(p, &s, false);
	if (s.x.len)
		p->instead[v->id] = fail_unless_equal(p->b, read_now(p, v), &s);
}

/* The length of an input that the node which was walked over last has computed, as n + n of
 * float32[2*n], is checked on that input, if it is read further on. */
static void place_on_computed(struct placing *p, struct block *k)
{
	uint32_t kept = 0, order;

	for (uint32_t i = 0; i < k->checks.len; i++) {
		struct check c = k->checks.at[i];
		struct value *v = c.param ? lowered_value(p->b, c.param) : NULL;
		struct sides s = {{0}, {0}};
		struct side x, y;
		if (!v || v->def || !v->type.rank || home_of(p, &c, &order) != k ||
		    order != p->walked || p->last_reader[v->id] <= p->walked) {
			k->checks.at[kept++] = c;
			continue;
		}
		sides_of(p->b, &c, &x, &y);
		p->b->span = c.span;
		add_sides(p->b, &s, x, y);
		p->lengths += s.x.len;
		if (s.x.len)
			p->instead[v->id] = fail_unless_equal(p->b, read_now(p, v), &s);
	}
	k->checks.len = kept;
}

static bool is_length_of(const struct side *s, const struct value *v, uint32_t axis)
{
	return s->d == v->type.dims[axis] || (s->of == v && s->axis == axis);
}

/* Adds the equation of block k that axis i of v and axis j of w are equally long, if it has one. */
static void add_equation(struct placing *p, const struct block *k, const struct value *v,
			 uint32_t i, const struct value *w, uint32_t j, struct sides *to)
{
	struct side x, y;

	for (uint32_t e = 0; e < k->checks.len && e < MAX_LOOK; e++) {
		if (k->checks.at[e].cond)
			continue;
		sides_of(p->b, &k->checks.at[e], &x, &y);
		if (!(is_length_of(&x, v, i) && is_length_of(&y, w, j)) &&
		    !(is_length_of(&y, v, i) && is_length_of(&x, w, j)))
			continue;
		*vec_push(p->cx->arena, &to->x) = x;
		*vec_push(p->cx->arena, &to->y) = y;
		return;
	}
}

/* Notes what must hold for the product n to run, which fails before a check of the same lengths. */
static void note_product(struct placing *p, struct node *n)
{
	struct checking found = {.node = n};
	const struct value *v = n->in[0], *w = n->in[1];
	uint32_t i = summed_axis(n, 0), j = summed_axis(n, 1);
	struct side x = {.d = v->type.dims[i], .axis = i}, y = {.d = w->type.dims[j], .axis = j};

	if (dim_eq(p->cx, x.d, y.d))
		return;
	*vec_push(p->cx->arena, &found.sides.x) = x;
	*vec_push(p->cx->arena, &found.sides.y) = y;
	*vec_push(p->cx->scratch, &p->broadcasts) = found;
}

/* Notes what must hold for n to run: it broadcasts lengths that block k is to check behind it. */
static void note_broadcast(struct placing *p, const struct block *k, struct node *n)
{
	struct checking found = {.node = n};

	if (is_product(n))
		note_product(p, n);
	if (n->nin != 2 || onnx_lengths(n->onnx) != ONNX_BROADCAST_LENGTHS)
		return;
	const struct value *v = n->in[0], *w = n->in[1];
	for (uint32_t i = v->type.rank, j = w->type.rank; i-- && j--;)
		if (v->type.dims[i] != w->type.dims[j])
			add_equation(p, k, v, i, w, j, &found.sides);
	if (found.sides.x.len)
		*vec_push(p->cx->scratch, &p->broadcasts) = found;
}

/* ---- on results ---- */

/* A value that is to fail: a result, or what a node reads on the way to one */
struct carrier {
	uint32_t result;
	struct node *reader; /* NULL: a result */
	uint32_t input;
};

/* 2: any Reshape may stand there; 0: a single number, which takes more nodes */
static int fitness(struct placing *p, const struct value *v)
{
	int64_t c;
	int fit = v->type.rank ? 1 : 0;

	for (uint32_t i = 0; i < v->type.rank; i++)
		if (!dim_is_const(p->cx, v->type.dims[i], &c))
			fit = 2;
	return fit;
}

/* On the way to a result that is a single number, the first that has axes, behind node `order` */
static bool find_reader(struct placing *p, const struct block *k, uint32_t order, struct carrier *c)
{
	const struct value *v = k->results.at[c->result], *next;

	for (int steps = 0; v && steps < 16; steps++, v = next) {
		struct node *n = v->def;
		if (!n || defining_block(p->b, v) != k || p->order[v->id] <= order)
			return false;
		next = NULL;
		for (uint32_t i = 0; i < n->nin; i++) {
			const struct value *x = n->in[i];
			if (!x || x->data)
				continue;
			next = next ? next : x;
			if (!x->type.rank || says_shape(n, i) || computes(n, ONNX_Shape) ||
			    computes(n, ONNX_Size) || computes(n, ONNX_Reshape) ||
			    computes(n, ONNX_Squeeze) || computes(n, ONNX_Unsqueeze))
				continue;
			c->reader = n;
			c->input = i;
			return true;
		}
	}
	return false;
}

/* Where to place what is left; false: there is nothing, or no result that is computed. */
static bool find_carrier(struct placing *p, const struct block *k, struct carrier *c)
{
	int best = -1;
	uint32_t order = 0, behind;

	*c = (struct carrier){.reader = NULL};
	for (uint32_t i = 0; i < k->results.len; i++) {
		const struct value *v = k->results.at[i];
		if (!v->data && (v->def || k->outer) && fitness(p, v) >= best) {
			best = fitness(p, v);
			c->result = i;
		}
	}
	for (uint32_t i = 0; i < k->checks.len; i++) {
		home_of(p, &k->checks.at[i], &behind);
		order = behind > order ? behind : order;
	}
	if (best == 0)
		find_reader(p, k, order, c);
	return best >= 0;
}

/* The condition of a check that has one: constants are in no block. */
static struct value *condition_of(struct placing *p, const struct check *c)
{
	return c->cond->data ? c->cond : lowered_value(p->b, c->cond);
}

/* The conditions of check i of block k and of later ones that say the same, as "sigma > 0" of two
 * normal distributions does: one node fails for all of them. These are `done`. */
static uint32_t take_conditions(struct placing *p, const struct block *k, uint32_t i, bool *done,
				struct value **conds)
{
	uint32_t n = 0;

	for (uint32_t j = i; j < k->checks.len && j - i < MAX_LOOK; j++) {
		struct value *cond = condition_of(p, &k->checks.at[j]);
		bool again = false;
		if (done[j] || strcmp(k->checks.at[j].message, k->checks.at[i].message))
			continue;
		done[j] = true;
		for (uint32_t l = 0; l < n; l++)
			again |= conds[l] == cond;
		if (!again)
			conds[n++] = cond;
	}
	return n;
}

/* v, which fails unless everything that is left in block k holds */
static struct value *place_on(struct placing *p, struct block *k, struct value *v)
{
	struct sides s = {{0}, {0}};
	struct value *conds[MAX_LOOK];
	bool *done = arena_alloc(p->cx->scratch, k->checks.len + 1u);

	collect(p, k, true, &s);
	p->lengths += s.x.len;
	if (s.x.len)
		v = fail_unless_equal(p->b, v, &s);
	for (uint32_t i = 0; i < k->checks.len; i++) {
		struct check *c = &k->checks.at[i];
		if (done[i])
			continue;
		p->b->span = c->span;
		uint32_t n = take_conditions(p, k, i, done, conds);
		p->conditions += n;
		v = fail_unless(p->b, v, conds, n, c->message);
	}
	return v;
}

static void replace_result(struct placing *p, struct block *k, uint32_t i, struct value *v)
{
	struct value *old = k->results.at[i];

	v->type = old->type;
	v->name = old->name;
	old->name = NULL;
	k->results.at[i] = v;
	for (uint32_t j = 0; !k->outer && j < p->graph->states.len; j++)
		if (p->graph->states.at[j].next == old)
			p->graph->states.at[j].next = v;
}

/* What is copied where a result must be a value of its own: a node that fails makes one */
static struct value *copied(struct value *result)
{
	return is_onnx(result->def, ONNX_Identity) ? result->def->in[0] : result;
}

static void place_on_results(struct placing *p, struct block *k, const struct carrier *c)
{
	if (c && !c->reader) {
		struct value *old = copied(k->results.at[c->result]), *v = place_on(p, k, old);
		if (v != old)
			replace_result(p, k, c->result, v);
	}
	for (uint32_t i = 0; i < k->results.len; i++) {
		struct value *v = copied(k->results.at[i]);
		if (!v->data && v->id >= p->nvalues && !v->name && v != k->results.at[i] &&
		    defining_block(p->b, v) == k)
			replace_result(p, k, i, v);
	}
}

/* ---- the walk ---- */

/* What n reads: an input that is checked is read behind its check. */
static void redirect(struct placing *p, struct node *n)
{
	for (uint32_t i = 0; i < n->nin; i++) {
		struct value *v = n->in[i];
		if (!v || v->data)
			continue;
		v = n->in[i] = resolve(v);
		if (v->id < p->nvalues && p->instead[v->id] && needs_elements(n))
			n->in[i] = p->instead[v->id];
	}
}

/* Nested blocks are made anew inside out: this recurses as deep as they nest. */
static void place_block(struct placing *p, struct block *k)
{
	struct build *b = p->b;
	struct block *outer = b->block;
	struct node *nodes = take_nodes(k), *n;
	struct carrier c;

	if (k->outer)
		scope_open(b, k);
	else
		place_on_inputs(p);
	bool any = k->checks.len && find_carrier(p, k, &c);
	while ((n = next_taken(&nodes)) != NULL) {
		redirect(p, n);
		if (any && n == c.reader)
			n->in[c.input] = place_on(p, k, n->in[c.input]);
		for_bodies (inner, n)
			place_block(p, inner);
		p->walked++;
		append_again(b, n);
		if (k->checks.len) {
			note_broadcast(p, k, n);
			if (!k->outer)
				place_on_computed(p, k);
		}
	}
	place_on_results(p, k, any ? &c : NULL);
	for (uint32_t i = 0; i < k->results.len; i++)
		put_result(k, i, k->results.at[i]);
	if (k->outer)
		scope_close(b, outer);
}

bool place_checks(struct ctx *cx, struct graph *g, instead_fn_t *instead)
{
	struct build b;
	struct placing p = {.b = &b, .cx = cx, .graph = g, .nvalues = cx->next_id + 1};

	g->kept.len = 0;
	if (!g->checked || !has_checks(g->block))
		return false;
	build_reopen(&b, cx, g, &emit_rules, instead);
	b.scope->shared->dims_as_made = true;
	p.order = new_array(cx->scratch, uint32_t, p.nvalues);
	p.instead = new_array(cx->scratch, struct value *, p.nvalues);
	p.last_reader = new_array(cx->scratch, uint32_t, p.nvalues);
	find_order(&p);
	p.needed = p.products.needed = drop_needless_checks(cx, g->block, false);
	settle(&p);
	place_block(&p, g->block);
	for (uint32_t i = 0; i < p.products.found.len; i++) {
		const struct checking *c = &p.products.found.at[i];
		labelled(&b, c->node->out[0], what_must_hold(&b, &c->sides));
	}
	for (uint32_t i = 0; i < p.broadcasts.len; i++) { /* the nodes of checks come first */
		struct checking *w = &p.broadcasts.at[i];
		labelled(&b, w->node->out[0], what_must_hold(&b, &w->sides));
	}
	if (p.conditions)
		print_note(cx, "conditions %u", p.conditions);
	if (p.lengths)
		print_note(cx, "lengths %u", p.lengths);
	if (p.products.found.len)
		print_note(cx, "lengths in products %u", p.products.found.len);
	return true;
}
