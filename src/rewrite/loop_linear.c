/*
 * loop_linear.c: loops whose states are linear in the states before, as those of gradients are:
 * x' = x * a_t + b_t, y' = x * c_t - y. In: the new nodes of such a body. Out: what struct linear
 * says of it, so that loop_matrix.c can make a Scan that computes z' = z M_t + f_t, where z holds
 * all states.
 *
 * The same goes for states that are multiplied by what is linear, as those of an epidemic are: s' =
 * s - k s i and i' = i + k s i - r i are s (1 - k i) and i (1 + k s - r), and z' = z (z M_t + f_t).
 * The quotients s'/s and i'/i are new nodes of the body.
 *
 * A product of a sum, k (x - y), becomes k x - k y, which loses digits where x and y cancel: such
 * loops stay, but with -flarge-terms.
 */
#include "rewrite/loop_linear.h"
#include "target/target.h"

#define OPEN_SIZE 64 /* elements of a state of unknown size, as is taken */

enum form { CONSTANT, LINEAR, OTHER }; /* in the states */

static enum form form_of(struct linear *l, const struct value *v)
{
	return is_own(l->m, l->f, v) ? (enum form)value_info(l->m, v)->form : CONSTANT;
}

/* The states that v depends on, as bits */
static uint8_t states_of(struct linear *l, const struct value *v)
{
	return is_own(l->m, l->f, v) ? value_info(l->m, v)->states : 0;
}

static enum form form_of_node(struct linear *l, const struct node *n)
{
	enum form form[MAX_IN] = {CONSTANT}, all = CONSTANT;

	if (n->nin > MAX_IN || n->nout != 1)
		return OTHER;
	for (uint32_t i = 0; i < n->nin; i++) {
		form[i] = n->in[i] ? form_of(l, n->in[i]) : CONSTANT;
		all = form[i] > all ? form[i] : all;
	}
	if (all != LINEAR)
		return OTHER; /* if it depended on no state, it would be a row */
	switch (operator_of(n)) {
	case ONNX_Add:
	case ONNX_Sub:
	case ONNX_Neg:
	case ONNX_ReduceSum:
	case ONNX_Unsqueeze:
	case ONNX_Squeeze:
	case ONNX_Reshape:
	case ONNX_Transpose:
		return LINEAR;
	case ONNX_Mul:
	case ONNX_MatMul:
		return form[0] == LINEAR && form[1] == LINEAR ? OTHER : LINEAR;
	case ONNX_Div:
		return form[1] == LINEAR ? OTHER : LINEAR;
	case ONNX_Where:
		/* 0 times what is not taken may be NaN */
		l->selects |= states_of(l, n->in[1]) != states_of(l, n->in[2]);
		return form[0] == LINEAR ? OTHER : LINEAR;
	default:
		return OTHER;
	}
}

/* Is n, which is linear in states, a sum of several terms? */
static bool is_sum(struct linear *l, const struct node *n)
{
	bool adds = is_onnx(n, ONNX_Add) || is_onnx(n, ONNX_Sub) || is_onnx(n, ONNX_ReduceSum) ||
		    is_onnx(n, ONNX_MatMul);

	for (uint32_t i = 0; i < n->nin && !adds; i++)
		adds = n->in[i] && is_own(l->m, l->f, n->in[i]) && value_info(l->m, n->in[i])->adds;
	return adds;
}

/* Does n, which leads to a next state, multiply a sum? */
static bool multiplies_sum(struct linear *l, const struct node *n)
{
	bool sum = false;

	if (!is_onnx(n, ONNX_Mul) && !is_onnx(n, ONNX_Div) && !is_onnx(n, ONNX_MatMul))
		return false;
	for (uint32_t i = 0; i < n->nin; i++)
		sum |= is_own(l->m, l->f, n->in[i]) && value_info(l->m, n->in[i])->adds;
	return sum;
}

/* ---- is it such a loop? ---- */

/* The states that next state j depends on at once */
static uint8_t read_by(struct linear *l, uint32_t j)
{
	return states_of(l, l->next[j]) | (l->times ? (uint8_t)(1u << j) : 0);
}

/* Does each state depend on all others, at once or after some steps? If x does not depend on y, an
 * infinite y must not reach x, but 0 times it is NaN in a product of matrices. The same goes for
 * the elements of states. */
static bool are_coupled(struct linear *l)
{
	uint8_t from[MAX_STATE];

	for (uint32_t j = 0; j < l->n; j++)
		from[j] = read_by(l, j);
	for (uint32_t k = 0; k < l->n; k++)
		for (uint32_t j = 0; j < l->n; j++)
			if (from[j] >> k & 1)
				from[j] |= from[k];
	for (uint32_t j = 0; j < l->n; j++)
		if (from[j] != (1u << l->n) - 1)
			return false;
	return true;
}

/* Is each next state what no state before says? */
static bool are_forgotten(struct linear *l)
{
	uint8_t from = 0;

	for (uint32_t j = 0; j < l->n; j++)
		from |= states_of(l, l->next[j]);
	return !from && !l->times;
}

static bool find_states(struct linear *l)
{
	struct loop_exit *c = l->c;
	struct arena *a = l->m->cx->scratch;
	enum dtype t = DT_NONE;

	l->state = new_array(a, struct value *, c->nstates + 1u);
	l->next = new_array(a, struct value *, c->nstates + 1u);
	l->of = new_array(a, uint32_t, c->nstates + 1u);
	l->size = new_array(a, int64_t, c->nstates + 1u);
	for (uint32_t j = 0; j < c->nstates; j++) {
		struct value *x = l->f->block->params.at[2 + j];
		if (c->term[j][0])
			continue;
		t = t ? t : (enum dtype)x->type.dtype;
		int64_t n = element_count(l->m->cx, &x->type);
		if (x->type.dtype != t || (t != DT_FLOAT32 && t != DT_FLOAT64) || l->n == MAX_STATE)
			return false;
		l->width += n < 1 || n > MAX_STATE ? MAX_STATE + 1 : n;
		value_info(l->m, x)->form = LINEAR;
		value_info(l->m, x)->states = (uint8_t)(1u << l->n);
		l->state[l->n] = x;
		l->next[l->n] = c->result[1 + j];
		l->size[l->n] = n;
		l->of[l->n++] = j;
	}
	return l->n > 0;
}

static bool may_be_batched(struct linear *l, const struct node *n)
{
	bool row[MAX_IN];

	if (n->nin > MAX_IN)
		return false;
	for (uint32_t i = 0; i < n->nin; i++)
		row[i] = n->in[i] && !is_outer(l->m, l->f, n->in[i]);
	return can_batch(l->m->cx, n, row);
}

/* Marks the nodes that v is computed from in the body by `to`; false: they are more than one can
 * compute outside. */
static bool mark_needed_nodes(struct linear *l, bool next)
{
	struct block *body = l->f->block;
	struct node **all = new_array(l->m->cx->scratch, struct node *, body->nnodes + 1u);
	uint32_t len = 0;

	for (struct node *n = body->first; n; n = n->next)
		if (!n->dead)
			all[len++] = n;
	while (len-- > 0) {
		struct node *n = all[len];
		bool wanted = false;
		for (uint32_t i = 0; i < n->nout; i++)
			wanted |= next ? value_info(l->m, n->out[i])->leads_on
				       : value_info(l->m, n->out[i])->wanted;
		if (!wanted)
			continue;
		enum form form = n->nout ? (enum form)value_info(l->m, n->out[0])->form : OTHER;
		l->spreads |= next && multiplies_sum(l, n);
		l->mixes |= next && (is_onnx(n, ONNX_MatMul) || is_onnx(n, ONNX_ReduceSum));
		if ((next && form != LINEAR) || !may_be_batched(l, n))
			return false;
		l->each = l->each &&
			  (!next || (onnx_facts[operator_of(n)].each &&
				     same_dims(l->m->cx, n->out[0]->type, l->state[0]->type)));
		for (uint32_t i = 0; i < n->nin; i++) {
			if (!n->in[i] || !is_own(l->m, l->f, n->in[i]))
				continue;
			if (next)
				value_info(l->m, n->in[i])->leads_on = true;
			else
				value_info(l->m, n->in[i])->wanted = true;
		}
	}
	return true;
}

struct value *filled(struct linear *l, const struct type *t, double k)
{
	return expand(&l->m->b, const_of(&l->m->b, (enum dtype)t->dtype, k), t->dims, t->rank);
}

/* Notes for each value of the body whether it is linear in the states, and which it depends on.
 * Gives the number of nodes. */
static uint32_t find_forms(struct linear *l)
{
	uint32_t nodes = 0;

	for (struct node *n = l->f->block->first; n; n = n->next) {
		if (n->dead)
			continue;
		nodes++;
		uint8_t states = 0;
		for (uint32_t i = 0; i < n->nin; i++)
			states |= n->in[i] ? states_of(l, n->in[i]) : 0;
		for (uint32_t i = 0; i < n->nout; i++) {
			struct value_info *a = value_info(l->m, n->out[i]);
			a->form = (uint8_t)form_of_node(l, n);
			a->states = states;
			a->adds = a->form == LINEAR && is_sum(l, n);
			a->leads_on = a->wanted = false;
		}
	}
	return nodes;
}

static bool are_linear(struct linear *l)
{
	for (uint32_t j = 0; j < l->n; j++)
		if (form_of(l, l->next[j]) == OTHER)
			return false;
	return true;
}

/* ---- states times what is linear ---- */

/* n divided by a state, as a new node; q: its inputs divided by that, NULL where they are no
 * multiples. NULL: nor is n */
static struct value *quotient(struct linear *l, const struct node *n, struct value **q)
{
	struct build *b = &l->m->b;

	switch (operator_of(n)) {
	case ONNX_Add:
	case ONNX_Sub:
		return q[0] && q[1] ? emit_(b, operator_of(n), q[0], q[1]) : NULL;
	case ONNX_Neg:
		return q[0] ? emit_(b, ONNX_Neg, q[0]) : NULL;
	case ONNX_Mul:
	case ONNX_Div:
		if (q[0])
			return emit_(b, operator_of(n), q[0], n->in[1]);
		return q[1] && is_onnx(n, ONNX_Mul) ? emit_(b, ONNX_Mul, n->in[0], q[1]) : NULL;
	default:
		return NULL;
	}
}

/* v, a new value of the body, where it depends on no state: outside, or for all steps at once */
static struct value *without_states(struct linear *l, struct value *v)
{
	bool row = false;

	if (!is_own(l->m, l->f, v) || !v->def)
		return v;
	for (uint32_t i = 0; i < v->def->nin; i++) {
		if (is_own(l->m, l->f, v->def->in[i]))
			return v;
		row |= is_row_of(l->m, l->f, v->def->in[i]);
	}
	if (row) {
		struct value *all = batch(l->m, l->f, v->def, true);
		set_row(l->m, v, (struct row){.body = l->f, .all = all});
		return all ? v : NULL;
	}
	struct insertion_point was = enter(l->m, l->f->outer);
	emit_like(&l->m->b, v->def, v->def->in, &v);
	leave(l->m, was);
	return v;
}

/* Makes next[j] the next state divided by the state, in new nodes of the body, which stand behind
 * `last`. false: it is no multiple */
static bool divide_by_state(struct linear *l, uint32_t j, const struct node *last)
{
	struct value *x = l->state[j], **q;
	uint32_t count = 0;

	q = new_array(l->m->cx->scratch, struct value *, l->f->block->nnodes + 2u);
	value_info(l->m, x)->number = ++count;
	q[count] = filled(l, &x->type, 1);
	for (struct node *n = l->f->block->first; n; n = n == last ? NULL : n->next) {
		struct value *in[2] = {0}, *r;
		if (n->dead || n->nin > 2 || n->nout != 1 ||
		    !same_dims(l->m->cx, n->out[0]->type, x->type))
			continue;
		for (uint32_t i = 0; i < n->nin; i++)
			in[i] = is_own(l->m, l->f, n->in[i]) ? q[value_info(l->m, n->in[i])->number]
							     : NULL;
		r = quotient(l, n, in);
		r = r ? without_states(l, r) : NULL;
		if (!r || !same_dims(l->m->cx, r->type, x->type))
			continue;
		value_info(l->m, n->out[0])->number = ++count;
		q[count] = r;
	}
	struct value *r =
		is_own(l->m, l->f, l->next[j]) ? q[value_info(l->m, l->next[j])->number] : NULL;
	l->next[j] = r ? r : l->next[j];
	value_info(l->m, x)->number = 0;
	for (struct node *n = l->f->block->first; n; n = n == last ? NULL : n->next)
		for (uint32_t i = 0; i < n->nout; i++)
			value_info(l->m, n->out[i])->number = 0;
	return r != NULL;
}

/* Is each state multiplied by what is linear in all? */
static bool is_linear_product(struct linear *l)
{
	struct node *last = l->f->block->last;
	bool ok = last && l->width <= MAX_STATE;

	for (uint32_t j = 0; j < l->n && ok; j++)
		ok = divide_by_state(l, j, last);
	find_forms(l);
	l->times = ok && are_linear(l);
	l->last = last;
	return l->times;
}

bool drop_quotients(struct linear *l)
{
	for (struct node *n = l->last ? l->last->next : NULL; n; n = n->next)
		n->dead = true;
	return false;
}

/* ---- rounds or steps? ---- */

/* Are rounds faster than a Scan? Each of by_rounds() computes all elements, a step of by_steps()
 * those of a state. */
static bool rounds_are_faster(struct linear *l, int64_t steps)
{
	const struct type *state = &l->state[0]->type;
	enum dtype t = (enum dtype)state->dtype;
	int64_t known = element_count(l->m->cx, state), size = known < 0 ? OPEN_SIZE : known, all;

	if (__builtin_mul_overflow(size, steps, &all))
		return false;
	double slice = cost_of(ONNX_Slice, t, all), mul = cost_of(ONNX_Mul, t, all);
	double add = cost_of(ONNX_Add, t, all), pad = cost_of(ONNX_Pad, t, all), rounds = 0;
	for (int64_t d = 1; d <= steps; d *= 2)
		rounds += slice + mul + pad + add + (2 * d <= steps ? slice + slice + mul : 0);
	double step = cost_of(ONNX_Mul, t, size) + cost_of(ONNX_Add, t, size);
	return rounds < cost_of(ONNX_Scan, t, steps) + (double)steps * step;
}

bool is_linear(struct linear *l)
{
	struct loop_exit *c = l->c;
	int64_t steps;
	uint32_t nodes;

	if (!l->f->scan || l->f->checked || !l->m->cx->opt.reassociate ||
	    !flag_is_on(l->m->cx, FLAG_LINEAR) ||
	    (dim_is_const(l->m->cx, l->f->trips, &steps) && steps < SIZE_LINEAR_STEPS) ||
	    !find_states(l))
		return false;
	nodes = find_forms(l);
	if (!are_linear(l) &&
	    (nodes + c->to_stack.len <= SIZE_LINEAR_NODES || !is_linear_product(l)))
		return false;
	for (uint32_t j = 0; j < l->n; j++)
		value_info(l->m, l->next[j])->leads_on = true;
	for (uint32_t k = 0; k < c->to_stack.len; k++)
		value_info(l->m, c->to_stack.at[k])->wanted = true;
	for (uint32_t k = 0; k < c->to_stack.len; k++)
		if (is_outer(l->m, l->f, c->to_stack.at[k]) ||
		    (!c->to_stack.at[k]->def && !value_info(l->m, c->to_stack.at[k])->form))
			return false;
	l->each = l->n == 1;
	if (!mark_needed_nodes(l, true) || !mark_needed_nodes(l, false))
		return false;
	if (l->spreads && !l->m->cx->opt.large_terms)
		return false;
	l->forgets = are_forgotten(l);
	if (l->m->cx->opt.nans && !l->forgets && !are_coupled(l))
		return false;
	l->by_rounds = l->m->cx->opt.associative && !l->times && !l->forgets &&
		       (l->each || l->width == 1) && dim_is_const(l->m->cx, l->f->trips, &steps) &&
		       rounds_are_faster(l, steps);
	/* elements that do not reach all others in one step */
	bool apart = !l->each && l->width > l->n && (l->n > 1 || !l->mixes);
	for (uint32_t j = 0; j < l->n; j++)
		apart |= read_by(l, j) != (1u << l->n) - 1;
	l->falls_back = l->m->cx->opt.nans && !l->forgets && (l->selects || apart);
	if (l->by_rounds || (l->forgets && l->each))
		return true;
	l->each = l->each && l->width > 1;
	return l->width <= MAX_STATE &&
	       (l->forgets || nodes + c->to_stack.len >= SIZE_LINEAR_NODES);
}
