/*
 * loop_close.c: what a loop gives back. In: the new nodes of the body, in its block. Out: the
 * results of the body and the loop itself, as a Loop or a Scan, and what is computed after it for
 * all steps at once: operators on elements that only stacked results need, and the sums of states
 * that only add.
 */
#include <string.h>

#include "graph/uses.h"
#include "rewrite/loops.h"

#define MAX_INPUTS 8 /* of a node that is computed after the loop */

/* Reads by nodes and by the results of inner blocks; those of the body itself are looked at apart.
 */
static void count_reads(struct loop_pass *m, const struct block *body)
{
	for (struct use_walk w = {.root = body}; next_use(&w);)
		if (w.use.node || w.use.block != body)
			value_info(m, w.value)->reads++;
}

static void clear_reads(struct loop_pass *m, const struct block *body)
{
	for (struct walk w = {.root = body}; walk(&w, WALK_ENTER | WALK_BEFORE);) {
		const struct block *k = w.at.block;
		const struct node *n = w.at.node;
		for (uint32_t i = 0; w.event == WALK_ENTER && i < k->params.len; i++)
			value_info(m, k->params.at[i])->reads = 0;
		for (uint32_t i = 0; w.event == WALK_BEFORE && i < n->nin; i++)
			if (n->in[i])
				value_info(m, n->in[i])->reads = 0;
		for (uint32_t i = 0; w.event == WALK_BEFORE && i < n->nout; i++)
			value_info(m, n->out[i])->reads = 0;
	}
}

/* The results as they are now. Those that are rows need not be stacked by the loop. */
static void find_results(struct loop_exit *c)
{
	struct loop_scope *f = c->f;
	struct block *body = f->block;
	bool batches = false;

	for (uint32_t k = 0; k < f->pending.len; k++)
		if (value_info(c->m, f->pending.at[k])->kept) {
			materialise(c->m, resolve(f->pending.at[k]));
			f->checked = true;
		}
	batches = f->counted && !f->checked && flag_is_on(c->m->cx, FLAG_BATCH);
	c->result = new_array(c->m->cx->scratch, struct value *, body->results.len);
	for (uint32_t i = f->scan; i < body->results.len; i++) {
		struct value *v = behind_identity(resolve(body->results.at[i]));
		if (!(i > c->nstates && batches && is_row_of(c->m, f, v)))
			v = behind_identity(materialise(c->m, v));
		c->result[i] = v;
	}
	clear_reads(c->m, body);
	count_reads(c->m, body);
	for (uint32_t i = f->scan; i <= c->nstates; i++)
		value_info(c->m, c->result[i])->reads++;
}

static bool is_inside(struct loop_exit *c, const struct value *v)
{
	return v->def && !is_outer(c->m, c->f, v) && defining_block(&c->m->b, v) == c->f->block;
}

static void need(struct loop_exit *c, struct value *v)
{
	struct value_info *a = value_info(c->m, v);

	if (a->marked || (is_row_of(c->m, c->f, v) && !c->f->checked))
		return;
	a->marked = true;
	*vec_push(c->m->cx->scratch, &c->to_stack) = v;
}

/* ---- sums ---- */

static bool read_once(struct loop_exit *c, const struct value *v)
{
	return value_info(c->m, v)->reads == 1 && !value_info(c->m, v)->kept;
}

/* x.inc(y) at a place that is the same in all steps */
static bool adds_at(struct loop_exit *c, const struct node *n)
{
	if (!is_onnx(n, ONNX_ScatterND) || !is_outer(c->m, c->f, n->in[1]))
		return false;
	const struct attr *a = find_attr(n, "reduction");
	return a && a->u.s.len == 3 && !memcmp(a->u.s.s, "add", 3);
}

static bool is_own_sum(struct loop_exit *c, const struct value *v)
{
	return is_inside(c, v) && read_once(c, v) &&
	       (is_onnx(v->def, ONNX_Add) || adds_at(c, v->def));
}

/* Which input of a sum is what was added up so far? The last one is what is added. */
static uint32_t sum_so_far(struct loop_exit *c, const struct node *n, const struct value *x)
{
	return is_onnx(n, ONNX_ScatterND) || n->in[0] == x ||
			       (n->in[1] != x && is_own_sum(c, n->in[0]))
		       ? 0
		       : 1;
}

/* Do the sequences that the loop walks take as much memory as v of all steps? */
static bool is_like_a_row(struct loop_exit *c, const struct value *v)
{
	for (uint32_t k = 0; k < c->f->params.len; k++)
		if (grows_little(c->m->cx, &c->f->params.at[k]->type, &v->type))
			return true;
	return false;
}

/* Is x' = x + a, or (x + a) + b, or x.inc(a) at a fixed place, all that is done with state j? */
static bool only_adds(struct loop_exit *c, uint32_t j)
{
	struct ctx *cx = c->m->cx;
	const struct value *x = c->f->block->params.at[2 + j];
	struct value *v = c->result[1 + j];
	enum dtype t = (enum dtype)x->type.dtype;
	bool sums = ((t == DT_FLOAT32 || t == DT_FLOAT64) && cx->opt.reassociate) ||
		    t == DT_INT32 || t == DT_INT64;
	uint32_t n = 0;

	if (!sums || !read_once(c, x))
		return false;
	for (; v != x; n++) {
		if (n == MAX_TERMS || !is_own_sum(c, v) || value_info(c->m, v)->marked)
			return false;
		const struct node *sum = v->def;
		uint32_t at = sum_so_far(c, sum, x), last = sum->nin - 1u;
		struct value *term = sum->in[at == last ? 0 : last];
		if (term == x || is_outer(c->m, c->f, term) ||
		    (!stacks_small(cx, &term->type, c->f->trips) && !is_like_a_row(c, term)))
			return false;
		v = sum->in[at];
		c->sum[j][n] = sum;
		c->term[j][n] = term;
	}
	return n > 0;
}

static void find_sums(struct loop_exit *c)
{
	for (uint32_t j = 0; j < c->nstates; j++) {
		if (!only_adds(c, j)) {
			c->term[j][0] = NULL;
			continue;
		}
		for (uint32_t i = 0; i < MAX_TERMS && c->term[j][i]; i++) {
			c->sum[j][i]->out[0]->def->dead = true;
			for (uint32_t k = 0; k < c->sum[j][i]->nin; k++)
				value_info(c->m, c->sum[j][i]->in[k])->reads--;
			need(c, c->term[j][i]);
		}
	}
}

/* ---- what only stacked results need ---- */

/* Can v be computed after the loop, of values of which at most one is stacked for that alone? */
static bool is_for_later(struct loop_exit *c, const struct value *v)
{
	const struct node *n = v->def;
	const struct value *more = NULL;
	bool row[MAX_INPUTS];

	if (!is_inside(c, v) || value_info(c->m, v)->reads || value_info(c->m, v)->kept ||
	    n->nin > MAX_INPUTS)
		return false;
	for (uint32_t i = 0; i < n->nin; i++) {
		const struct value *x = n->in[i];
		row[i] = x && !is_outer(c->m, c->f, x);
		if (!row[i] || is_row_of(c->m, c->f, x) || value_info(c->m, x)->marked || x == more)
			continue;
		if (more)
			return false;
		more = x;
	}
	return can_batch_elements(n, row);
}

static void move_behind(struct loop_exit *c, bool push)
{
	struct arena *a = c->m->cx->scratch;
	uint32_t left = 0;

	for (uint32_t k = 0; k < c->to_stack.len; k++) {
		struct value *v = c->to_stack.at[k];
		if (!push || !value_info(c->m, v)->marked || !is_for_later(c, v))
			continue;
		value_info(c->m, v)->marked = false;
		v->def->dead = true;
		*vec_push(a, &c->later) = v->def;
		for (uint32_t i = 0; i < v->def->nin; i++) {
			struct value *x = v->def->in[i];
			if (!x || x->data)
				continue;
			value_info(c->m, x)->reads--;
			if (is_outer(c->m, c->f, x) || is_row_of(c->m, c->f, x))
				continue;
			value_info(c->m, x)->marked = true;
			*vec_push(a, &c->to_stack) =
				x; /* maybe once more, as it has one reader less */
		}
	}
	for (uint32_t k = 0; k < c->to_stack.len; k++) {
		struct value *v = c->to_stack.at[k];
		if (value_info(c->m, v)->marked)
			c->to_stack.at[left++] = v;
		value_info(c->m, v)->marked = false;
	}
	c->to_stack.len = left;
}

/* ---- the loop ---- */

static void unlink_dead(struct block *k)
{
	for (struct node *nodes = take_nodes(k), *n; (n = next_taken(&nodes)) != NULL;)
		if (!n->dead)
			graph_append(k, n);
}

/* A value outside, for those of the body that are stacked */
static struct value *stacked(struct loop_exit *c, const struct value *v)
{
	struct ctx *cx = c->m->cx;
	struct type t = {v->type.dtype, (uint8_t)(v->type.rank + 1u), NULL};

	t.dims = new_array(cx->arena, dim, t.rank);
	t.dims[0] = c->f->trips;
	if (v->type.rank)
		memcpy(t.dims + 1, v->type.dims, v->type.rank * sizeof(dim));
	struct value *to = graph_value(cx, t, v->span);
	to->def = c->f->loop;
	return to;
}

/* Does the body, or a check, read this parameter? */
static bool reads_param(struct loop_exit *c, const struct value *param)
{
	return value_info(c->m, param)->reads || value_info(c->m, param)->kept;
}

/* Sets inputs and results of the loop, and the parameters and results of its body. */
static void set_results(struct loop_exit *c)
{
	struct loop_pass *m = c->m;
	struct loop_scope *f = c->f;
	struct block *body = f->block;
	struct node *loop = f->loop;
	struct arena *a = m->cx->arena;
	vec(struct value *) in = {0}, out = {0}, params = {0};

	body->results.len = 0;
	if (!f->scan) {
		*vec_push(a, &in) = loop->in[0];
		*vec_push(a, &in) = loop->in[1];
		*vec_push(a, &params) = f->iteration;
		*vec_push(a, &params) = f->go;
		block_result(&m->b, c->result[0], NULL, false);
	}
	for (uint32_t j = 0; j < c->nstates; j++) {
		if (c->term[j][0])
			continue;
		*vec_push(a, &in) = loop->in[2 + j];
		*vec_push(a, &out) = loop->out[j];
		*vec_push(a, &params) = body->params.at[2 + j];
		block_result(&m->b, c->result[1 + j], c->result[1 + j]->type.dims, false);
	}
	for (uint32_t k = 0; k < c->to_stack.len; k++) {
		struct value *v = c->to_stack.at[k];
		struct value *all = stacked(c, v);
		*vec_push(a, &out) = all;
		set_row(m, v, (struct row){.body = f, .all = all});
		block_result(&m->b, v, v->type.dims, false);
	}
	uint32_t states = in.len;
	for (uint32_t k = 0; k < f->rows.len; k++) {
		if (!reads_param(c, f->params.at[k]) && (in.len > states || k + 1 < f->rows.len))
			continue; /* a Scan walks one sequence at least */
		*vec_push(a, &in) = f->rows.at[k];
		*vec_push(a, &params) = f->params.at[k];
	}
	loop->in = in.at;
	loop->nin = (uint16_t)in.len;
	loop->out = out.at;
	loop->nout = (uint16_t)out.len;
	memcpy(&body->params, &params, sizeof(params));
	if (!f->scan)
		return;
	turn_into(m->cx, loop, ONNX_Scan);
	set_int(m->cx, loop, "num_scan_inputs", loop->nin - states); /* beside "body" */
}

/* The results of a loop that runs as long as it likes stay. */
static void keep_results(struct loop_exit *c)
{
	struct block *body = c->f->block;
	uint32_t n = body->results.len;

	body->results.len = 0;
	for (uint32_t i = 0; i < n; i++)
		block_result(&c->m->b, c->result[i], c->result[i]->type.dims, false);
}

/* What is stacked for sums or to be broadcast gets the lengths of its type, which it may lack where
 * there is no step. */
static void restack(struct loop_exit *c)
{
	for (uint32_t j = 0; j < c->nstates; j++)
		for (uint32_t i = 0; i < MAX_TERMS && c->term[j][i]; i++)
			value_info(c->m, c->term[j][i])->marked = true;
	for (uint32_t k = 0; k < c->later.len; k++) { /* what reads a value comes before it */
		const struct node *n = c->later.at[k];
		bool counts = n->nin > 1;
		for (uint32_t i = 0; i < n->nout; i++)
			counts |= value_info(c->m, n->out[i])->marked;
		for (uint32_t i = 0; i < n->nin && counts; i++)
			if (n->in[i])
				value_info(c->m, n->in[i])->marked = true;
	}
	for (uint32_t k = 0; k < c->to_stack.len; k++) {
		struct value *v = c->to_stack.at[k], *all = all_of(c->m, v);
		if (!value_info(c->m, v)->marked)
			continue;
		all = restacked(&c->m->b, all, all->type);
		set_row(c->m, v, (struct row){.body = c->f, .all = all});
	}
}

static void compute_later(struct loop_exit *c, struct value **out)
{
	struct loop_pass *m = c->m;
	struct loop_scope *f = c->f;

	while (c->later.len) {
		struct node *n = c->later.at[--c->later.len];
		struct value *all = batch(m, f, n, true);
		if (!all)
			bug("%s cannot be computed after the loop", n->onnx->name);
		set_row(m, n->out[0], (struct row){.body = f, .all = all});
	}
	for (uint32_t j = 0; j < c->nstates; j++) {
		struct value *v = resolve(out[j]);
		if (!c->term[j][0])
			continue;
		v = c->init[j];
		struct value *terms = NULL; /* of one step: large ones may cancel */
		for (uint32_t i = 0; i < MAX_TERMS && c->term[j][i]; i++) {
			struct value *all = all_of(m, c->term[j][i]);
			const struct node *n = c->sum[j][i];
			if (is_onnx(n, ONNX_Add) &&
			    (!terms || same_dims(m->cx, terms->type, all->type))) {
				terms = terms ? emit_(&m->b, ONNX_Add, terms, all) : all;
				continue;
			}
			all = reduce(&m->b, ONNX_ReduceSum, all, (int[]){0}, 1, false);
			v = is_onnx(n, ONNX_Add) ? emit_(&m->b, ONNX_Add, v, all)
						 : scatter_nd(&m->b, v, n->in[1], all, true);
		}
		if (terms)
			v = emit_(&m->b, ONNX_Add, v,
				  reduce(&m->b, ONNX_ReduceSum, terms, (int[]){0}, 1, false));
		replace_value(m, out[j], v);
	}
	for (uint32_t i = c->nstates; i < c->nout; i++)
		replace_value(m, out[i], all_of(m, c->result[1 + i]));
}

void close_loop(struct loop_pass *m, struct loop_scope *f, struct block *outer)
{
	struct node *loop = f->loop;
	struct loop_exit c = {.m = m, .f = f, .nstates = loop->nin - 2u, .nout = loop->nout};
	struct value **out = loop->out;
	struct arena *a = m->cx->scratch;

	c.init = loop->in + 2;
	c.sum = arena_alloc(a, mul_size(a, c.nstates + 1u, sizeof(*c.sum)));
	c.term = arena_alloc(a, mul_size(a, c.nstates + 1u, sizeof(*c.term)));
	find_results(&c);
	if (f->counted) {
		bool push = !f->checked && flag_is_on(m->cx, FLAG_PUSH_OUT);
		if (push)
			find_sums(&c);
		for (uint32_t i = c.nstates; i < c.nout; i++)
			need(&c, c.result[1 + i]);
		if (linear_loop(&c, outer) || logsum_loop(&c, outer)) {
			compute_later(&c, out);
			return;
		}
		move_behind(&c, push);
		unlink_dead(f->block);
		if (f->scan && !f->rows.len)
			materialise(m, f->iteration);
		set_results(&c);
	} else {
		keep_results(&c);
	}
	scope_close(&m->b, outer);
	if (loop->nin == 2 && !f->scan && !loop->in[1])
		loop->in[1] = const_int_of(&m->b, DT_BOOL, 1);
	if (loop->nout)
		append(&m->b, loop);
	if (f->counted && !f->scan)
		restack(&c);
	if (f->counted)
		compute_later(&c, out);
}
