/*
 * loop_logsum.c: loops that add up the probabilities of ways, as a hidden Markov model does: its
 * state of w elements becomes s'[j] = log(sum over i of exp(s[i] + d[i, j])) + v[j]. In: the new
 * nodes of such a body, where d and v may be rows of sequences. Out: no loop over the steps.
 * Several steps together are of that form too, where d + v is the w x w matrix
 * c[i, j] = log(sum over k of exp(a[i, k] + b[k, j])) of the steps a and b. So rounds compute all
 * states, each for twice as many steps as the one before. Sums are added in another order:
 * -fno-associative leaves the loop.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "rewrite/loops.h"

struct logsum {
	struct loop_exit *c;
	struct loop_pass *m;
	struct loop_scope *f;
	struct value *state, *next;
	struct value *d, *v; /* what is added before and after; NULL: nothing */
	uint32_t which;      /* state of the loop */
	int64_t width, steps;
	int axis;    /* of s + d that is summed up */
	bool column; /* s + d is of rank 2, with the next state along the other axis */
	dim rest;    /* steps that a round changes */
	enum dtype t;
};

/* x + y, where x depends on states and y is loop-invariant or a row: gives x, *other = y.
 * NULL: it is not such a sum */
static struct value *own_part(struct logsum *l, struct value *sum, struct value **other)
{
	if (!is_onnx(sum->def, ONNX_Add))
		return NULL;
	for (int i = 0; i < 2; i++) {
		if (!is_own(l->m, l->f, sum->def->in[i]) || is_own(l->m, l->f, sum->def->in[1 - i]))
			continue;
		*other = sum->def->in[1 - i];
		return sum->def->in[i];
	}
	return NULL;
}

/* What v has the elements of, in other axes of length 1 */
static struct value *behind_own_reshapes(struct logsum *l, struct value *v)
{
	while (is_own(l->m, l->f, v) && onnx_facts[operator_of(v->def)].reshapes)
		v = v->def->in[0];
	return v;
}

/* The axis that n, a reduction, takes away or keeps, 0 or 1; -1: it is not one axis */
static int one_axis(const struct node *n)
{
	int axes[MAX_RANK], count = onnx_reduced_axes(n, axes);

	return count == 1 && axes[0] < 2 ? axes[0] : -1;
}

static struct value *input_of(const struct value *v, enum onnx_id op, uint32_t i)
{
	return is_onnx(v->def, op) ? v->def->in[i] : NULL;
}

/* x of Log(Sum(Exp(x - max))) + max, as LogSumExp is lowered; NULL: it is none */
static struct value *logsumexp_of(struct logsum *l, struct value *v)
{
	struct value *max = input_of(v, ONNX_Add, 1), *log = input_of(v, ONNX_Add, 0);
	struct value *sum = log ? input_of(log, ONNX_Log, 0) : NULL;
	struct value *e = sum ? input_of(sum, ONNX_ReduceSum, 0) : NULL;
	struct value *less = e ? input_of(e, ONNX_Exp, 0) : NULL;
	struct value *x = less ? input_of(less, ONNX_Sub, 0) : NULL;
	struct value *most = max ? input_of(max, ONNX_Clip, 0) : NULL;

	if (!x || !most || less->def->in[1] != max || input_of(most, ONNX_ReduceMax, 0) != x)
		return NULL;
	l->axis = one_axis(sum->def);
	return l->axis >= 0 && one_axis(most->def) == l->axis ? x : NULL;
}

/* Is v of one element, or of w along the last axis alone? */
static bool is_like_state(struct logsum *l, const struct value *v)
{
	int64_t n = element_count(l->m->cx, &v->type);

	return v->type.dtype == l->t && v->type.rank <= 2 &&
	       (n == 1 ||
		(n == l->width && dim_is(l->m->cx, v->type.dims[v->type.rank - 1], l->width)));
}

/* Has v of rank 2 the lengths r and k? */
static bool is_matrix_of(struct logsum *l, const struct value *v, int64_t r, int64_t k)
{
	int64_t n[2];

	return v->type.rank == 2 && dim_is_const(l->m->cx, v->type.dims[0], &n[0]) &&
	       dim_is_const(l->m->cx, v->type.dims[1], &n[1]) && n[0] == r && n[1] == k;
}

static bool find_form(struct logsum *l)
{
	struct value *sum = own_part(l, l->next, &l->v);
	int64_t w = l->width;

	sum = behind_own_reshapes(l, sum ? sum : l->next);
	struct value *x = logsumexp_of(l, sum), *s = x ? own_part(l, x, &l->d) : NULL;
	if (!s || !is_matrix_of(l, x, w, w) || behind_own_reshapes(l, s) != l->state)
		return false;
	if (l->axis ? !(is_matrix_of(l, s, 1, w) || s == l->state) : !is_matrix_of(l, s, w, 1))
		return false;
	return l->d->type.rank <= 2 && l->d->type.dtype == l->t &&
	       (!l->v || is_like_state(l, l->v));
}

static bool is_logsum(struct logsum *l)
{
	struct loop_exit *c = l->c;
	struct ctx *cx = l->m->cx;
	bool row;

	if (!l->f->scan || l->f->checked || !cx->opt.associative || !cx->opt.reassociate ||
	    !flag_is_on(cx, FLAG_LINEAR) || !dim_is_const(cx, l->f->trips, &l->steps) ||
	    l->steps < SIZE_LOGSUM_STEPS)
		return false;
	for (uint32_t j = 0; j < c->nstates; j++) {
		if (c->term[j][0])
			continue;
		if (l->state)
			return false;
		l->which = j;
		l->state = l->f->block->params.at[2 + j];
		l->next = c->result[1 + j];
	}
	if (!l->state || l->state->type.rank != 1)
		return false;
	l->t = (enum dtype)l->state->type.dtype;
	l->width = element_count(cx, &l->state->type);
	if ((l->t != DT_FLOAT32 && l->t != DT_FLOAT64) || l->width < 2 ||
	    l->width > SIZE_LOGSUM_WIDTH || !is_own(l->m, l->f, l->next) || !find_form(l))
		return false;
	row = is_row_of(l->m, l->f, l->d) || (l->v && is_row_of(l->m, l->f, l->v));
	for (uint32_t k = 0; k < c->to_stack.len; k++) {
		struct value *v = c->to_stack.at[k];
		if (v != l->next && v != l->state && !is_row_of(l->m, l->f, v))
			return false;
	}
	return row;
}

/* ---- before the loop ---- */

static dim *dims_of(struct logsum *l, const dim *from, uint32_t n)
{
	return memcpy(new_array(l->m->cx->arena, dim, n), from, n * sizeof(dim));
}

static struct value *log_sum_exp(struct logsum *l, struct value *x, int axis)
{
	struct build *b = &l->m->b;
	double most = l->t == DT_FLOAT64 ? DBL_MAX : FLT_MAX;
	struct value *max = reduce(b, ONNX_ReduceMax, x, &axis, 1, true);

	struct value *least = const_of(b, l->t, -most);
	max = emit_(b, ONNX_Clip, max, least, const_of(b, l->t, most));
	x = emit_(b, ONNX_Exp, emit_(b, ONNX_Sub, x, max));
	x = emit_(b, ONNX_Log, reduce(b, ONNX_ReduceSum, x, &axis, 1, true));
	return squeeze(b, emit_(b, ONNX_Add, x, max), &(int64_t){axis}, 1);
}

/* x, which a step adds, as [steps or 1, w or 1, w or 1]: from element i of the state to j of the
 * next */
static struct value *as_ways(struct logsum *l, struct value *x, bool after)
{
	struct build *b = &l->m->b;
	struct ctx *cx = l->m->cx;
	bool row = is_row_of(l->m, l->f, x);
	dim one = dim_const(cx, 1), dims[3] = {row ? l->f->trips : one, one, one};
	uint32_t rank = x->type.rank;

	for (uint32_t i = 0; i < rank && i < 2; i++)
		dims[2 - i] = x->type.dims[rank - 1 - i];
	if (after)
		dims[1] = one;
	x = row ? all_of(l->m, x) : materialise(l->m, x);
	x = reshape(b, x, dims_of(l, dims, 3), 3);
	return !after && l->axis ? transpose(b, x, (int64_t[]){0, 2, 1}) : x;
}

/* ---- the states ---- */

/* A round: what d steps do, next to what up to d steps before them do. ways: [w, w, steps + 1], in
 * each place of the last axis what the steps before do, up to 2^round of them */
static struct value *make_round(struct logsum *l, struct value *ways, struct value *d)
{
	struct build *b = &l->m->b;
	struct value *zero = const_ints(b, &(int64_t){0}, 1), *w, *left, *right;
	int64_t last = 2;

	right = slice(b, ways, &last, 1, d, const_ints(b, &(int64_t){INT64_MAX}, 1), NULL);
	dim *dims = dims_of(l, ways->type.dims, 3);
	dims[2] = right->type.dims[2];
	left = with_dims(slice(b, ways, &last, 1, zero, emit_(b, ONNX_Neg, d), NULL), dims);
	w = emit_(b, ONNX_Add, unsqueeze(b, left, &last, 1), right);
	w = log_sum_exp(l, w, 1);
	w = concat(b, 2, (struct value *[]){slice(b, ways, &last, 1, zero, d, NULL), w}, 2);
	return with_dims(w, ways->type.dims);
}

/* How far back a round looks: 1, 2, 4, ..., below `steps` + 1: [rounds, 1] */
static struct value *distances(struct logsum *l)
{
	int64_t shape[2] = {0, 1};

	for (int64_t d = 1; d <= l->steps; d *= 2)
		shape[0]++;
	struct tensor *x = tensor_new(l->m->cx, DT_INT64, 2, shape);
	int64_t *to = new_array(l->m->cx->arena, int64_t, (size_t)shape[0]);
	for (int64_t i = 0; i < shape[0]; i++)
		to[i] = INT64_C(1) << i;
	x->data = to;
	return const_tensor(&l->m->b, x);
}

static struct value *logsum_scan(struct logsum *l, struct block *body, struct value **in,
				 uint32_t nin, struct type t)
{
	struct build *b = &l->m->b;

	attr_block(b, "body", body);
	attr_int(b, "num_scan_inputs", (int64_t)nin - 1);
	struct node *n = onnx_node(b, ONNX_Scan, in, nin, body->results.len);
	n->span = l->f->loop->span;
	n->label = l->f->loop->label;
	for (uint32_t i = 0; i < n->nout; i++)
		n->out[i]->type = t;
	append(b, n);
	return n->out[0];
}

/* All states: [steps + 1, w] */
static struct value *states_by_rounds(struct logsum *l, struct value *first, struct value *d,
				      struct value *v)
{
	struct build *b = &l->m->b;
	struct ctx *cx = l->m->cx;
	struct block *outer = b->block, *body = block_new(b);
	dim w = dim_const(cx, l->width), one = dim_const(cx, 1);
	dim dims[3] = {l->f->trips, w, w};
	struct value *ways = expand(b, v ? emit_(b, ONNX_Add, d, v) : d, dims_of(l, dims, 3), 3);
	/* before all steps a way begins anywhere: row i is the first state for each i */
	struct value *start = reshape(b, first, dims_of(l, (dim[]){one, w, one}, 3), 3);

	start = expand(b, start, dims_of(l, (dim[]){w, w, one}, 3), 3);
	ways = transpose(b, ways, (int64_t[]){1, 2, 0});
	ways = concat(b, 2, (struct value *[]){start, ways}, 2);
	struct value *in[2] = {ways, distances(l)};
	struct value *state = block_param(b, body, ways->type);
	struct value *far = block_param(b, body, type_of(DT_INT64, 1, dims_of(l, &one, 1)));
	scope_open(b, body);
	block_result(b, make_round(l, state, far), state->type.dims, false);
	scope_close(b, outer);
	ways = logsum_scan(l, body, in, 2, ways->type);
	ways = slice_ints(b, ways, 0, 0, 1);
	return transpose(b, squeeze(b, ways, &(int64_t){0}, 1), (int64_t[]){1, 0});
}

/* The same step by step, for what is infinite or NaN */
static struct value *states_by_steps(struct logsum *l, struct value *first, struct value *d,
				     struct value *v)
{
	struct build *b = &l->m->b;
	struct ctx *cx = l->m->cx;
	struct block *outer = b->block, *body = block_new(b);
	struct value *in[3] = {first}, **of[2] = {&d, &v};
	struct value *s = block_param(b, body, l->state->type), *next;
	uint32_t nin = 1;

	for (int i = 0; i < 2; i++) {
		struct value *x = *of[i];
		if (!x || !dim_eq(cx, x->type.dims[0], l->f->trips))
			continue; /* the same in all steps */
		in[nin++] = x;
		*of[i] = block_param(b, body, type_of(l->t, 2, x->type.dims + 1));
	}
	scope_open(b, body);
	next = emit_(b, ONNX_Add, unsqueeze(b, s, &(int64_t){1}, 1), d);
	next = log_sum_exp(l, next, next->type.rank - 2);
	if (v)
		next = emit_(b, ONNX_Add, next, v);
	next = reshape(b, next, s->type.dims, 1);
	block_result(b, next, s->type.dims, false);
	block_result(b, next, s->type.dims, false);
	scope_close(b, outer);
	dim dims[2] = {l->f->trips, s->type.dims[0]};
	next = logsum_scan(l, body, in, nin, s->type);
	next->def->out[1]->type = type_of(l->t, 2, dims_of(l, dims, 2));
	first = unsqueeze(b, first, &(int64_t){0}, 1);
	return concat(b, 0, (struct value *[]){first, next->def->out[1]}, 2);
}

/* states_by_rounds(), or, where that is not below inf, states_by_steps(): inf beside -inf is NaN */
static struct value *all_states(struct logsum *l, struct value *first)
{
	struct build *b = &l->m->b;
	struct block *outer = b->block, *branch[2];
	struct value *d = as_ways(l, l->d, false), *v = l->v ? as_ways(l, l->v, true) : NULL;
	struct value *all = states_by_rounds(l, first, d, v);

	if (!l->m->cx->opt.nans)
		return all;
	struct value *sum = reduce_all(b, ONNX_ReduceSum, all, false);
	struct value *below = emit_(b, ONNX_Less, sum, const_of(b, l->t, INFINITY));
	for (int i = 0; i < 2; i++) {
		branch[i] = block_new(b);
		scope_open(b, branch[i]);
		block_result(b, i ? states_by_steps(l, first, d, v) : all, all->type.dims, false);
		scope_close(b, outer);
	}
	return if_node(b, below, branch[0], branch[1], all->type);
}

bool logsum_loop(struct loop_exit *c, struct block *outer)
{
	struct logsum l = {.c = c, .m = c->m, .f = c->f};
	struct loop_pass *m = c->m;
	struct build *b = &m->b;

	if (!is_logsum(&l))
		return false;
	scope_close(b, outer);
	struct value *all = all_states(&l, c->init[l.which]);
	int64_t ends[2] = {1, -1};
	struct value *from = const_ints(b, &ends[0], 1), *to = const_ints(b, &ends[1], 1);
	struct value *zero = const_ints(b, &(int64_t){0}, 1);
	struct value *most = const_ints(b, &(int64_t){INT64_MAX}, 1);
	struct value *last = slice(b, all, &(int64_t){0}, 1, to, most, NULL);
	replace_value(m, c->f->loop->out[l.which], squeeze(b, last, &(int64_t){0}, 1));
	set_row(m, l.state,
		(struct row){.body = c->f, .all = slice(b, all, &(int64_t){0}, 1, zero, to, NULL)});
	set_row(m, l.next,
		(struct row){.body = c->f,
			     .all = slice(b, all, &(int64_t){0}, 1, from, most, NULL)});
	return true;
}
