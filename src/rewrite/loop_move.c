/*
 * loop_move.c: nodes that need not be computed in every step of a loop. In: the graph of ONNX
 * nodes. Out: the same function, where
 *	what is loop-invariant is computed before the loop (hoist);
 *	what only reads rows of sequences is computed before the loop for all steps at once (batch);
 *	what only stacked results need is computed after the loop for all steps at once, and so are
 *	sums (push-out);
 *	a Loop of a known number of steps, at least one, is a Scan (scan): ONNX Runtime takes less
 *	time for a step of it, rows of sequences need no Gather there, and what is stacked no copy.
 *
 * The graph is built again in its order. A node of a body goes into the outermost block where it
 * can stand. A value of a body that is known for all steps at once (`row`) gets a node in the body
 * only if one reads it there: a Gather of the step's row, or a parameter of the Scan. What might
 * fail is computed outside only if the loop runs a step at least, and nothing leaves a branch of
 * an If.
 */
#include <string.h>

#include "graph/uses.h"
#include "ops/ops.h"
#include "rewrite/loops.h"

#define MAX_COUNT 256       /* steps whose numbers are a constant */
#define MAX_TRIPS INT32_MAX /* more are not worked out at once: there is no room for all */

struct value_info *value_info(struct loop_pass *m, const struct value *v)
{
	if (v->id >= m->ninfo) {
		uint32_t n = v->id + v->id / 2 + 64;
		m->info = arena_grow(m->cx->scratch, m->info, m->ninfo * sizeof(*m->info),
				     mul_size(m->cx->scratch, n, sizeof(*m->info)));
		m->ninfo = n;
	}
	return &m->info[v->id];
}

static struct row *row_of(struct loop_pass *m, const struct value *v)
{
	return v && v->id < m->ninfo ? m->info[v->id].row : NULL;
}

bool is_row_of(struct loop_pass *m, const struct loop_scope *f, const struct value *v)
{
	const struct row *r = row_of(m, v);

	return r && r->body == f;
}

bool is_own(struct loop_pass *m, const struct loop_scope *f, const struct value *v)
{
	return !is_outer(m, f, v) && !is_row_of(m, f, v);
}

void set_row(struct loop_pass *m, const struct value *v, struct row r)
{
	struct row *to = new (m->cx->scratch, struct row);

	*to = r;
	value_info(m, v)->row = to;
}

/* ---- where nodes go ---- */

struct insertion_point enter(struct loop_pass *m, const struct loop_scope *f)
{
	struct insertion_point was = {m->b.scope, m->b.block};

	m->b.scope = f->scope;
	m->b.block = f->block;
	return was;
}

void leave(struct loop_pass *m, struct insertion_point was)
{
	m->b.scope = was.scope;
	m->b.block = was.block;
}

static bool is_pending(struct loop_pass *m, const struct value *v)
{
	const struct row *r = v->data ? NULL : row_of(m, v);

	return r && r->pending;
}

/* Does v come from outside of the block of f? */
bool is_outer(struct loop_pass *m, const struct loop_scope *f, const struct value *v)
{
	if (v->data)
		return true;
	if (is_pending(m, v))
		return row_of(m, v)->body->block->depth < f->block->depth;
	return defining_block(&m->b, v)->depth < f->block->depth;
}

/* v is read in place of old from now on, or an Identity of v that is a result as old is. */
void replace_value(struct loop_pass *m, struct value *old, struct value *v)
{
	bool result = value_info(m, old)->result;
	bool taken = v->name || value_info(m, v)->result || !v->def ||
		     defining_block(&m->b, v) != m->b.block;

	if (result ? taken : old->name && !v->def)
		v = identity(&m->b, v);
	if (result)
		value_info(m, v)->result = true;
	if (value_info(m, old)->kept)
		value_info(m, v)->kept = true;
	take_place(old, v);
}

/* ---- rows ---- */

static struct value *count_steps(struct loop_pass *m, struct loop_scope *f, int64_t first)
{
	struct build *b = &m->b;
	struct insertion_point was = enter(m, f->outer);
	int64_t n;
	struct value *v;

	if (dim_is_const(m->cx, f->trips, &n) && n <= MAX_COUNT) {
		struct tensor *t = tensor_new(m->cx, DT_INT64, 1, &n);
		int64_t *to = new_array(m->cx->arena, int64_t, (size_t)n + 1);
		for (int64_t i = 0; i < n; i++)
			to[i] = first + i;
		t->data = to;
		v = const_tensor(b, t);
	} else {
		struct value *from = const_int(b, first), *to = f->trip_count;
		to = first ? emit_(b, ONNX_Add, to, from) : to;
		v = emit_(b, ONNX_Range, from, to, const_int(b, 1));
		v = with_dims(v, memcpy(new (m->cx->arena, dim), &f->trips, sizeof(dim)));
	}
	leave(m, was);
	return v;
}

struct value *all_of(struct loop_pass *m, struct value *v)
{
	struct row *r = row_of(m, v);

	if (!r->all)
		r->all = count_steps(m, r->body, r->first);
	return r->all;
}

static void materialise_inputs(struct loop_pass *m, struct node *n);

/* Does the node of a row take no longer in the body than a Gather of the row? */
static bool is_cheap_inside(struct loop_pass *m, const struct row *r)
{
	const struct node *n = r->node;

	if (r->counts || (is_onnx(n, ONNX_Gather) && n->in[0] == r->all))
		return true;
	if ((!onnx_facts[operator_of(n)].each && !is_onnx(n, ONNX_Unsqueeze)) ||
	    !is_small(m->cx, &n->out[0]->type))
		return false;
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && is_pending(m, resolve(n->in[i])) &&
		    !row_of(m, resolve(n->in[i]))->counts)
			return false;
	return true;
}

/* The row as a value of its body */
struct value *materialise(struct loop_pass *m, struct value *v)
{
	struct row *r = row_of(m, v);
	struct build *b = &m->b;
	struct value *to;

	if (!is_pending(m, v))
		return resolve(v);
	struct loop_scope *f = r->body;
	struct insertion_point was = enter(m, f);
	r->pending = false;
	if (f->scan) {
		to = block_param(b, f->block, v->type);
		f->block->params.len--; /* it comes behind the states */
		struct value *all = all_of(m, v);
		*vec_push(m->cx->arena, &f->rows) = all;
		*vec_push(m->cx->arena, &f->params) = to;
		to->name = v->name;
		to->known = v->known;
		to->sign = v->sign;
		replace_all_uses(v, to);
		if (value_info(m, v)->kept)
			value_info(m, to)->kept = true;
	} else if (r->node && is_cheap_inside(m, r)) {
		materialise_inputs(m, r->node);
		append_again(b, r->node);
		to = resolve(v);
	} else {
		attr_int(b, "axis", 0);
		to = emit_(b, ONNX_Gather, all_of(m, v), f->iteration);
		to = with_dims(to, v->type.dims);
		replace_value(m, v, to);
		to = resolve(v);
	}
	leave(m, was);
	if (!row_of(m, to))
		set_row(m, to, *r);
	return to;
}

static void materialise_inputs(struct loop_pass *m, struct node *n)
{
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i])
			n->in[i] = materialise(m, resolve(n->in[i]));
}

static void make_row(struct loop_pass *m, struct loop_scope *f, struct node *n, struct value *all)
{
	struct value *v = n->out[0];

	set_row(m, v, (struct row){.body = f, .all = all, .node = n, .pending = true});
	*vec_push(m->cx->scratch, &f->pending) = v;
}

/* The constant that is every row of v; NULL: rows differ, or that is not known. */
static struct value *one_row(struct loop_pass *m, const struct value *v, const struct type *t)
{
	const struct tensor *x = constant_data(v);
	int64_t shape[MAX_RANK];

	if (!x || !x->splat || !x->count)
		return NULL;
	for (uint32_t i = 0; i < t->rank; i++)
		shape[i] = x->shape[i + 1];
	struct tensor *row = tensor_new(m->cx, (enum dtype)x->dtype, t->rank, shape);
	row->data = x->data;
	row->splat = t->rank && row->count > 1;
	return const_tensor(&m->b, row);
}

/* Row `step + first` of a sequence. Does n read that? */
static bool reads_row(struct loop_pass *m, struct loop_scope *f, struct node *n)
{
	struct build *b = &m->b;
	struct value *of = n->in[0], *all = of;
	const struct row *r = row_of(m, n->in[1]);

	if (int_of_attr(n, "axis", 0) || !of->type.rank || !r || r->body != f || !r->counts ||
	    r->first < 0 || !is_outer(m, f, of) || is_pending(m, of))
		return false;
	dim length = of->type.dims[0], last = dim_add(m->cx, f->trips, dim_const(m->cx, r->first));
	if (!dim_ge(m->cx, dim_sub(m->cx, length, last), 0))
		return false;
	struct value *constant = one_row(m, of, &n->out[0]->type);
	if (constant) {
		replace_value(m, n->out[0], constant);
		return true;
	}
	if (r->first || !dim_eq(m->cx, length, f->trips)) {
		struct insertion_point was = enter(m, f->outer);
		struct value *stop = NULL;
		if (dim_eq(m->cx, length, last))
			stop = const_ints(b, &(int64_t){INT64_MAX}, 1);
		else if (dim_available(b, last))
			stop = dim_vector(b, last);
		if (stop) {
			dim *dims = new_array(m->cx->arena, dim, of->type.rank);
			memcpy(dims, of->type.dims, of->type.rank * sizeof(dim));
			dims[0] = f->trips;
			all = slice(b, of, &(int64_t){0}, 1, const_ints(b, &r->first, 1), stop,
				    NULL);
			all = with_dims(all, dims);
		}
		leave(m, was);
		if (!stop)
			return false;
	}
	make_row(m, f, n, all);
	return true;
}

/* The number of the step plus a constant. Does n compute that? */
static bool counts_steps(struct loop_pass *m, struct loop_scope *f, struct node *n)
{
	int64_t k;

	if (!is_onnx(n, ONNX_Add) || n->out[0]->type.rank)
		return false;
	for (int i = 0; i < 2; i++) {
		const struct row *r = row_of(m, n->in[i]);
		if (!r || r->body != f || !r->counts || !single_int(n->in[1 - i]->data, &k) ||
		    k < INT16_MIN || k > INT16_MAX)
			continue;
		int64_t first = r->first + k;
		make_row(m, f, n, NULL);
		row_of(m, n->out[0])->counts = true;
		row_of(m, n->out[0])->first = first;
		return true;
	}
	return false;
}

struct value *batch(struct loop_pass *m, struct loop_scope *f, struct node *n, bool any_size)
{
	struct batch at = {&m->b, f->trips, NULL, any_size};
	struct insertion_point was = enter(m, f->outer);

	at.all = new_array(m->cx->scratch, struct value *, n->nin + 1u);
	for (uint32_t i = 0; i < n->nin; i++)
		if (is_row_of(m, f, n->in[i]))
			at.all[i] = all_of(m, n->in[i]);
		else if (n->in[i])
			n->in[i] = materialise(m, n->in[i]);
	struct value *all = batch_node(&at, n);
	leave(m, was);
	return all;
}

/* Does the loop carry and stack values of the shape of n's result? */
static bool stacks_like(struct loop_pass *m, const struct loop_scope *f, const struct node *n)
{
	const struct block *body = f->block;
	uint32_t states = f->loop->nin - 2u;
	bool carries = false, stacks = false;

	for (uint32_t i = 0; i < f->loop->nout; i++)
		if (same_dims(m->cx, body->results.at[1 + i]->type, n->out[0]->type))
			*(i < states ? &carries : &stacks) = true;
	return carries && stacks;
}

/* Is n a row, all of which are computed outside from now on? */
static bool becomes_row(struct loop_pass *m, struct loop_scope *f, struct node *n)
{
	bool any = false;

	if (!f->counted || n->nout != 1 || n->as_written)
		return false;
	for (uint32_t i = 0; i < n->nin; i++) {
		bool row = is_row_of(m, f, n->in[i]);
		any |= row;
		if (n->in[i] && !row && !is_outer(m, f, n->in[i]))
			return false;
	}
	if (!any)
		return false;
	if (counts_steps(m, f, n) || (is_onnx(n, ONNX_Gather) && reads_row(m, f, n)))
		return true;
	if (!flag_is_on(m->cx, FLAG_BATCH))
		return false;
	struct value *all = batch(m, f, n, stacks_like(m, f, n));
	if (all)
		make_row(m, f, n, all);
	return all != NULL;
}

/* ---- nodes ---- */

static bool divides_integers(const struct node *n)
{
	return (is_onnx(n, ONNX_Div) || is_onnx(n, ONNX_Mod)) &&
	       !is_float((enum dtype)n->out[0]->type.dtype);
}

/* Does n give a result for all inputs of its types? What they say of lengths holds: that is
 * checked. */
static bool never_fails(struct ctx *cx, const struct node *n)
{
	if (onnx_facts[operator_of(n)].each)
		return !divides_integers(n);
	switch (operator_of(n)) {
	case ONNX_ReduceMax:
	case ONNX_ReduceMin:
		return !may_be_empty(cx, &n->in[0]->type);
	case ONNX_ReduceSum:
	case ONNX_ReduceMean:
	case ONNX_ReduceProd:
	case ONNX_ReduceL1:
	case ONNX_Shape:
	case ONNX_Size:
	case ONNX_Transpose:
	case ONNX_Unsqueeze:
	case ONNX_MatMul:
		return true;
	default:
		return false;
	}
}

static bool may_leave(struct loop_pass *m, const struct loop_scope *f, const struct node *n)
{
	if (!f->loop || !flag_is_on(m->cx, FLAG_HOIST) || n->as_written || !onnx_is_pure(n->onnx) ||
	    n->onnx->domain[0] || (!f->certain && !never_fails(m->cx, n)))
		return false;
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && !is_outer(m, f, n->in[i]))
			return false;
	return true;
}

/* x, for x + 0 where x is never -0 */
static struct value *without_zero(struct loop_pass *m, const struct node *n)
{
	if (!is_onnx(n, ONNX_Add))
		return NULL;
	for (int i = 0; i < 2; i++) {
		struct value *x = n->in[1 - i];
		double k;
		if (!uniform_number(constant_data(n->in[i]), &k) || k != 0 ||
		    !is_float((enum dtype)n->in[i]->type.dtype) || x->data || is_pending(m, x) ||
		    !same_dims(m->cx, x->type, n->out[0]->type) || minus_zero_counts(&m->b, x))
			continue;
		return x;
	}
	return NULL;
}

static void rebuild_loop(struct loop_pass *m, struct loop_scope *f, struct node *n);
static void rebuild_nodes(struct loop_pass *m, struct loop_scope *f);

static struct value *result_of_body(struct loop_pass *m, struct value *v)
{
	return own_result(&m->b, is_pending(m, v) ? materialise(m, v) : v);
}

static void rebuild_branch(struct loop_pass *m, struct loop_scope *outer, struct block *k)
{
	struct block *was = m->b.block;
	struct loop_scope f = {.outer = outer, .block = k};

	scope_open(&m->b, k);
	f.scope = m->b.scope;
	rebuild_nodes(m, &f);
	for (uint32_t i = 0; i < k->results.len; i++)
		put_result(k, i, result_of_body(m, k->results.at[i]));
	scope_close(&m->b, was);
}

/* A check reads v, which is in the block of f or around it. */
static void keep(struct loop_pass *m, struct loop_scope *f, const struct value *v)
{
	value_info(m, v)->kept = true;
	for (; f; f = f->outer)
		f->checked |= !is_outer(m, f, v);
}

/* Adds n to the block of f, or to one around it. */
static void place_node(struct loop_pass *m, struct loop_scope *f, struct node *n)
{
	struct value *x;

	for (uint32_t i = 0; i < n->nin; i++)
		n->in[i] = resolve(n->in[i]);
	m->b.span = n->span;
	if (onnx_has_blocks(n->onnx)) {
		materialise_inputs(m, n);
		if (is_onnx(n, ONNX_Loop)) {
			rebuild_loop(m, f, n);
			return;
		}
		for_bodies (branch, n)
			rebuild_branch(m, f, branch);
		append_again(&m->b, n);
		return;
	}
	while (may_leave(m, f, n))
		f = f->outer;
	struct insertion_point was = enter(m, f);
	if (f->loop && (x = without_zero(m, n))) {
		replace_value(m, n->out[0], x);
	} else if (!f->loop || !becomes_row(m, f, n)) {
		materialise_inputs(m, n);
		append_again(&m->b, n);
		for (uint32_t i = 0; i < n->nout; i++)
			if (value_info(m, n->out[i])->kept)
				keep(m, f, resolve(n->out[i]));
		if (n->nout == 1 && !n->dead && onnx_facts[n->onnx->id].signs)
			n->out[0]->sign |= onnx_facts[n->onnx->id].signs(n);
	} else if (value_info(m, n->out[0])->kept) {
		materialise(m, n->out[0]); /* here, as a loop further on may have the check */
	}
	leave(m, was);
}

static void rebuild_nodes(struct loop_pass *m, struct loop_scope *f)
{
	for (struct node *nodes = take_nodes(f->block), *n; (n = next_taken(&nodes)) != NULL;)
		place_node(m, f, n);
}

/* ---- loops ---- */

/* Do states keep their lengths? A Scan has room for no others. */
static bool has_fixed_states(struct loop_pass *m, const struct node *loop, const struct block *body)
{
	for (uint32_t j = 0; j + 2 < loop->nin; j++) {
		const struct type *t = &body->params.at[2 + j]->type;
		if (t->dtype == DT_NONE || !same_dims(m->cx, *t, loop->in[2 + j]->type) ||
		    !same_dims(m->cx, *t, body->results.at[1 + j]->type) ||
		    !same_dims(m->cx, *t, loop->out[j]->type))
			return false;
	}
	return true;
}

static void look_at_loop(struct loop_pass *m, struct loop_scope *f)
{
	struct node *loop = f->loop;
	struct block *body = f->block;
	int64_t trips;

	f->iteration = body->params.at[0];
	f->go = body->params.at[1];
	f->trip_count = loop->in[0];
	f->trips = loop->in[0] ? known_at(m->cx, loop->in[0], 0) : DIM_NONE;
	bool begins = !loop->in[1] || is_true(loop->in[1]);
	bool all = begins && stops_by_count(loop);
	bool some = f->trips != DIM_NONE && dim_ge(m->cx, f->trips, 1);
	f->counted = all && f->trips != DIM_NONE && dim_ge(m->cx, f->trips, 0) &&
		     !(dim_is_const(m->cx, f->trips, &trips) && trips > MAX_TRIPS);
	f->certain = begins && (!loop->in[0] || some);
	f->scan = f->counted && some && flag_is_on(m->cx, FLAG_SCAN) &&
		  has_kernel(m->cx, ONNX_Scan, NULL, 0, NULL, 0) && has_fixed_states(m, loop, body);
}

/* Never -0 at first nor after a step: never */
static void find_signs(struct loop_scope *f)
{
	for (uint32_t j = 0; j + 2 < f->loop->nin; j++) {
		struct value *x = f->block->params.at[2 + j];
		x->sign |= sign_of(f->loop->in[2 + j]) & sign_of(f->block->results.at[1 + j]);
	}
}

/* n, whose inputs are values of the new graph */
static void rebuild_loop(struct loop_pass *m, struct loop_scope *outer, struct node *n)
{
	struct loop_scope *f = new (m->cx->scratch, struct loop_scope);
	struct block *was = m->b.block;

	f->outer = outer;
	f->block = loop_body(n);
	f->loop = n;
	look_at_loop(m, f);
	find_signs(f);
	f->checked = has_checks(f->block);
	if (f->scan)
		replace_all_uses(f->go, const_int_of(&m->b, DT_BOOL, 1));
	scope_open(&m->b, f->block);
	f->scope = m->b.scope;
	if (f->scan || (f->counted && flag_is_on(m->cx, FLAG_BATCH))) {
		set_row(m, f->iteration,
			(struct row){.body = f, .counts = true, .pending = f->scan});
	}
	rebuild_nodes(m, f);
	close_loop(m, f, was);
}

static void mark_results(struct loop_pass *m, const struct block *k)
{
	for (struct walk w = {.root = k}; walk(&w, WALK_ENTER);)
		for (uint32_t i = 0; i < w.at.block->results.len; i++)
			value_info(m, w.at.block->results.at[i])->result = true;
}

void loop_move(struct ctx *cx, struct graph *g)
{
	struct loop_pass m = {.cx = cx};
	struct loop_scope top = {.block = g->block};

	build_reopen(&m.b, cx, g, &emit_rules, NULL);
	top.scope = m.b.scope;
	mark_results(&m, g->block);
	for (uint32_t i = 0; i < g->kept.len; i++)
		value_info(&m, resolve(g->kept.at[i]))->kept = true;
	rebuild_nodes(&m, &top);
	for (uint32_t i = 0; i < g->block->results.len; i++)
		put_result(g->block, i, result_of_body(&m, g->block->results.at[i]));
	for (uint32_t i = 0; i < g->states.len; i++)
		if (g->states.at[i].next)
			g->states.at[i].next = resolve(g->states.at[i].next);
}
