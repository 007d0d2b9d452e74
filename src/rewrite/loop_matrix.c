/*
 * loop_matrix.c: linear states of a loop as products of matrices. In: a loop as loop_linear.c found
 * it. Out: a Scan that computes z' = z M_t + f_t, where z holds all states and the M_t and f_t are
 * computed before the loop, for all steps at once; what else the body computed comes after the
 * loop, for all steps at once. That is 3 nodes a step. Sums are added in another order, so
 * -freassociate must be on. What is infinite may be NaN some steps earlier than in the loop: 0
 * times it is NaN. Where a step may leave out a state or an element, as s' = Switch(c, 0, s) does,
 * the loop is run as it was written if a state is not finite.
 *
 * M_t and f_t come from the body itself: f_t is what it computes from states that are 0, and a row
 * of M_t is what its linear part computes from states of which one element is 1.
 *
 * One state whose elements go their own ways, x' = a_t x + b_t, takes no matrix, and needs no loop
 * if the number of steps is known: several steps together are of that form too. -fno-associative
 * leaves the Scan. Where a product of several a_t is large, what rounds add may cancel, as for x' =
 * 3 x - 2 and x = 1: unless all numbers have one sign, or with -flarge-terms, the loop then goes
 * step by step. Nor do states that do not depend on those before need a loop.
 */
#include <math.h>
#include <string.h>

#include "rewrite/loop_linear.h"

#define TRIP 4 /* steps of one trip of a Scan that walks no sequence */

struct rows {
	struct value **at;
	uint32_t len, cap;
};

/* ---- the coefficients ---- */

/* 0 in each element but the k-th, which is 1 */
static struct value *unit(struct linear *l, const struct type *t, int64_t k)
{
	struct build *b = &l->m->b;
	enum dtype dtype = (enum dtype)t->dtype;
	int64_t shape[MAX_RANK], n = element_count(l->m->cx, t);
	size_t size = dtypes[dtype].size;
	const double one = 1;

	for (uint32_t i = 0; i < t->rank; i++)
		dim_is_const(l->m->cx, t->dims[i], &shape[i]);
	struct tensor *x = tensor_new(l->m->cx, dtype, t->rank, shape);
	char *data = arena_alloc(l->m->cx->arena, (size_t)n * size);
	tensor_convert(dtype, data + (size_t)k * size, DT_FLOAT64, &one, 1);
	x->data = data;
	return const_tensor(b, x);
}

static struct at at_of(struct linear *l, const struct value *v)
{
	return l->at[value_info(l->m, v)->number];
}

static void set_at(struct linear *l, const struct value *v, struct at to)
{
	struct value_info *a = value_info(l->m, v);

	if (!a->number)
		a->number = ++l->numbers;
	l->at[a->number] = to;
}

/* Is input i of n added, so that it counts only if the states are 0? */
static bool is_term(const struct node *n, uint32_t i)
{
	return is_onnx(n, ONNX_Add) || is_onnx(n, ONNX_Sub) || (is_onnx(n, ONNX_Where) && i);
}

/* n at the chosen states. homogeneous: without what does not depend on them. false: it cannot be
 * computed outside */
static bool compute_at(struct linear *l, struct node *n, bool homogeneous)
{
	struct build *b = &l->m->b;
	struct ctx *cx = l->m->cx;
	struct at in[MAX_IN] = {{0}};
	bool any = false, rows = false, full = false;
	struct value *all[MAX_IN] = {0}, *now[MAX_IN] = {0};
	bool terms = is_term(n, 1);

	for (uint32_t i = 0; i < n->nin; i++) {
		struct value *x = n->in[i];
		if (!x)
			continue;
		if (is_own(l->m, l->f, x))
			in[i] = at_of(l, x);
		else if (is_row_of(l->m, l->f, x))
			in[i] = (struct at){all_of(l->m, x), true, false};
		else
			in[i] = (struct at){x, false, false};
		if (homogeneous && is_term(n, i) && !is_own(l->m, l->f, x))
			in[i].v = NULL;
		full = full || (in[i].v && !in[i].one && same_dims(cx, x->type, n->out[0]->type));
		any |= in[i].v && (is_own(l->m, l->f, x) || is_term(n, i));
	}
	if (!any) {
		set_at(l, n->out[0], (struct at){NULL, false, false});
		return true;
	}
	if (terms && !is_onnx(n, ONNX_Where))
		for (uint32_t i = 0; i < 2; i++)
			if (!in[i].v && same_dims(cx, n->in[1 - i]->type, n->out[0]->type) &&
			    (i == 1 || is_onnx(n, ONNX_Add))) {
				set_at(l, n->out[0], in[1 - i]);
				return true;
			}
	for (uint32_t i = 0; i < n->nin; i++) {
		if (!n->in[i])
			continue;
		now[i] = in[i].v ? in[i].v : filled(l, &n->in[i]->type, 0);
		if (in[i].one && !full)
			now[i] = filled(l, &n->in[i]->type, 1);
		all[i] = in[i].v && in[i].row ? in[i].v : NULL;
		rows |= all[i] != NULL;
		if (all[i])
			now[i] = n->in[i];
	}
	struct node like = *n;
	struct value *out = NULL;
	like.in = now;
	if (rows) {
		struct batch at = {b, l->f->trips, all, true};
		out = batch_node(&at, &like);
	} else {
		emit_like(b, &like, now, &out);
	}
	set_at(l, n->out[0], (struct at){out, rows, false});
	return out != NULL;
}

/* v, which holds state j, with the axes of l->item behind `first` axes: [first, 1, size] in a
 * matrix */
static struct value *as_item(struct linear *l, struct value *v, uint32_t j, dim first, bool stacked)
{
	dim *dims = new_array(l->m->cx->arena, dim, l->item.rank + 1u);

	dims[0] = first;
	memcpy(dims + stacked, l->item.dims, l->item.rank * sizeof(dim));
	if (!l->each && l->item.rank)
		dims[stacked + 1] = dim_const(l->m->cx, l->size[j]);
	return reshape(&l->m->b, v, dims, l->item.rank + stacked);
}

static bool is_stacked(struct linear *l, const struct value *v)
{
	return dim_eq(l->m->cx, v->type.dims[0], l->f->trips);
}

/* v for all of the steps, where it is the same in each */
static struct value *repeated(struct linear *l, struct value *v)
{
	struct ctx *cx = l->m->cx;
	if (is_stacked(l, v))
		return v;
	dim *dims = memcpy(new_array(cx->arena, dim, v->type.rank), v->type.dims,
			   v->type.rank * sizeof(dim));

	dims[0] = l->f->trips;
	return expand(&l->m->b, v, dims, v->type.rank);
}

/* All next states, stacked: [steps, ...], or [1, ...] where they are the same in all steps. NULL:
 * they cannot be computed outside of the loop */
static struct value *next_at(struct linear *l, bool homogeneous)
{
	struct build *b = &l->m->b;
	struct ctx *cx = l->m->cx;
	struct value **part = new_array(cx->scratch, struct value *, l->n);
	bool stacked = false;

	for (struct node *n = l->f->block->first; n; n = n->next)
		if (!n->dead && n->nout == 1 && value_info(l->m, n->out[0])->leads_on &&
		    !compute_at(l, n, homogeneous))
			return NULL;
	for (uint32_t j = 0; j < l->n; j++) {
		struct value *x = l->next[j];
		struct at v = {x, false, false};
		if (is_own(l->m, l->f, x))
			v = at_of(l, x);
		else if (is_row_of(l->m, l->f, x))
			v = (struct at){all_of(l->m, x), true, false};
		if (homogeneous && !is_own(l->m, l->f, x))
			v = (struct at){NULL, false, false};
		if (!v.v || v.one)
			v.v = filled(l, &x->type, v.one);
		part[j] = as_item(l, v.v, j, v.row ? l->f->trips : dim_const(cx, 1), true);
		stacked |= v.row;
	}
	for (uint32_t j = 0; j < l->n && stacked; j++)
		part[j] = repeated(l, part[j]);
	return concat(b, 2, part, l->n);
}

static void choose_states(struct linear *l, int64_t one)
{
	int64_t at = 0;

	for (uint32_t j = 0; j < l->n; j++) {
		struct at v = {NULL, false, false};
		if (one >= 0 && l->each)
			v = (struct at){const_of(&l->m->b, (enum dtype)l->item.dtype, 1), false,
					true};
		else if (one >= at && one < at + l->size[j])
			v.v = unit(l, &l->state[j]->type, one - at);
		set_at(l, l->state[j], v);
		at += l->size[j];
	}
}

/* ---- the loop ---- */

/* All states as one value */
static struct value *first_states(struct linear *l)
{
	struct value **part = new_array(l->m->cx->scratch, struct value *, l->n);

	for (uint32_t j = 0; j < l->n; j++)
		part[j] = as_item(l, l->c->init[l->of[j]], j, 0, false);
	return concat(&l->m->b, 1, part, l->n);
}

/* The parts of v, which holds all states, in their shapes; stacked: of all steps */
static void take_apart(struct linear *l, struct value *v, bool stacked, struct value **part)
{
	struct ctx *cx = l->m->cx;
	struct build *b = &l->m->b;

	if (l->n > 1)
		split(b, v, stacked ? 2 : 1, const_ints(b, l->size, l->n), part, l->n);
	else
		part[0] = v;
	for (uint32_t j = 0; j < l->n; j++) {
		const struct type *t = &l->state[j]->type;
		dim *dims = new_array(cx->arena, dim, t->rank + 1u);
		dims[0] = l->f->trips;
		if (t->rank)
			memcpy(dims + stacked, t->dims, t->rank * sizeof(dim));
		part[j] = reshape(b, part[j], dims, t->rank + stacked);
	}
}

static void set_item(struct linear *l)
{
	struct type t = l->state[0]->type;

	if (!l->each) {
		t.rank = l->width == 1 ? 0 : 2;
		t.dims = new_array(l->m->cx->arena, dim, 2);
		t.dims[0] = dim_const(l->m->cx, 1);
		t.dims[1] = dim_const(l->m->cx, l->width);
	}
	l->item = t;
}

/* The type of v, an item or a matrix, in each step */
static struct type type_of_row(const struct value *v)
{
	return type_of((enum dtype)v->type.dtype, v->type.rank - 1u, v->type.dims + 1);
}

/* v[from:to] */
static struct value *part_of(struct linear *l, struct value *v, int64_t from, int64_t to)
{
	struct build *b = &l->m->b;

	return slice_ints(b, v, 0, from, to);
}

/* z after a step */
static struct value *step(struct linear *l, struct value *z, struct value *m, struct value *f)
{
	struct build *b = &l->m->b;
	bool matrix = l->width > 1 && !l->each;
	struct value *r = emit_(b, ONNX_Add, emit_(b, matrix ? ONNX_MatMul : ONNX_Mul, z, m), f);

	return l->times ? emit_(b, ONNX_Mul, z, r) : r;
}

/* The Scan whose trips take `steps` steps each; its results are z at the end, and z before the
 * first step of all trips, before the second one, ... */
static struct node *scan(struct linear *l, struct value *m, struct value *f, dim trips,
			 uint32_t steps)
{
	struct build *b = &l->m->b;
	struct arena *a = l->m->cx->arena;
	struct block *outer = b->block, *body = block_new(b);
	struct value *in[3] = {first_states(l), m, f};
	struct value *z[TRIP + 1] = {block_param(b, body, l->item)};
	int64_t count;

	if (steps == 1) {
		m = block_param(b, body, type_of_row(m));
		f = block_param(b, body, type_of_row(f));
	} else if (dim_is_const(l->m->cx, trips, &count)) { /* a Scan walks one sequence at least */
		struct tensor *t = tensor_new(l->m->cx, DT_BOOL, 1, &count);
		t->data = new_array(a, bool, (size_t)count + 1);
		in[1] = const_tensor(b, t);
		block_param(b, body, type_of_row(in[1]));
	}
	scope_open(b, body);
	for (uint32_t k = 0; k < steps; k++)
		z[k + 1] = step(l, z[k], m, f);
	block_result(b, z[steps], l->item.dims, false);
	for (uint32_t k = 0; k < steps; k++)
		block_result(b, z[k], l->item.dims, false);
	scope_close(b, outer);
	attr_block(b, "body", body);
	attr_int(b, "num_scan_inputs", steps == 1 ? 2 : 1);
	struct node *n = onnx_node(b, ONNX_Scan, in, steps == 1 ? 3 : 2, steps + 1);
	n->span = l->f->loop->span;
	n->label = l->f->loop->label;
	n->out[0]->type = l->item;
	for (uint32_t k = 1; k <= steps; k++) {
		n->out[k]->type = type_of((enum dtype)l->item.dtype, l->item.rank + 1u, NULL);
		n->out[k]->type.dims = new_array(a, dim, l->item.rank + 1u);
		n->out[k]->type.dims[0] = trips;
		memcpy(n->out[k]->type.dims + 1, l->item.dims, l->item.rank * sizeof(dim));
	}
	append(b, n);
	return n;
}

/* The Scan of z' = z M + f; gives z at the end, and before each step. Where M and f are the same in
 * all steps, a trip takes several; what the last one takes too many is cut off. */
static void by_steps(struct linear *l, struct value *m, struct value *f, struct value **out)
{
	struct ctx *cx = l->m->cx;
	struct build *b = &l->m->b;
	int64_t steps, zero = 0;

	if (l->each || is_stacked(l, m) || is_stacked(l, f) ||
	    !dim_is_const(cx, l->f->trips, &steps)) {
		f = repeated(l, f);
		struct node *n = scan(l, repeated(l, m), f, l->f->trips, 1);
		out[0] = n->out[0];
		out[1] = n->out[1];
		return;
	}
	int64_t trips = (steps + TRIP - 1) / TRIP;
	dim times = dim_const(cx, trips);
	f = squeeze(b, f, &zero, 1);
	struct node *n = scan(l, squeeze(b, m, &zero, 1), f, times, TRIP);
	struct value *part[TRIP], *all;
	dim *dims = new_array(cx->arena, dim, l->item.rank + 1u);
	dims[0] = dim_const(cx, trips * TRIP);
	memcpy(dims + 1, l->item.dims, l->item.rank * sizeof(dim));
	for (uint32_t k = 0; k < TRIP; k++)
		part[k] = l->item.rank ? n->out[k + 1]
				       : unsqueeze(b, n->out[k + 1], (int64_t[]){1}, 1);
	all = reshape(b, concat(b, 1, part, TRIP), dims, l->item.rank + 1u);
	out[0] = n->out[0];
	out[1] = all;
	if (trips * TRIP == steps)
		return;
	out[0] = squeeze(b, part_of(l, all, steps, steps + 1), &zero, 1);
	out[1] = part_of(l, all, 0, steps);
}

/* v behind `rows` rows of 0 */
static struct value *after_zeros(struct linear *l, struct value *v, int64_t rows)
{
	int64_t pads[2 * MAX_RANK] = {rows};

	return emit_(&l->m->b, ONNX_Pad, v, const_ints(&l->m->b, pads, 2u * v->type.rank));
}

/* The first states, and f behind them */
static struct value *after_first(struct linear *l, struct value *f)
{
	struct value *first = unsqueeze(&l->m->b, first_states(l), &(int64_t){0}, 1);

	return concat(&l->m->b, 0, (struct value *[]){first, f}, 2);
}

/* z before each step and at the end: [steps + 1, ...]. all[t] = z_t if all steps before the last d
 * are left out; from those, a round makes all[t] + a_t all[t - d] for twice as many, where a_t is
 * the product of d coefficients. */
static struct value *by_rounds(struct linear *l, struct value *a, struct value *f)
{
	struct build *b = &l->m->b;
	struct value *all = after_first(l, f);
	bool same = !is_stacked(l, a);
	int64_t steps = 0;

	dim_is_const(l->m->cx, l->f->trips, &steps);
	for (int64_t d = 1; d <= steps; d *= 2) {
		struct value *before = emit_(b, ONNX_Mul, part_of(l, all, 0, -d), a);
		all = emit_(b, ONNX_Add, all, after_zeros(l, before, d));
		if (2 * d > steps)
			break;
		struct value *after = same ? a : part_of(l, a, d, INT64_MAX);
		a = emit_(b, ONNX_Mul, after, same ? a : part_of(l, a, 0, -d));
	}
	return all;
}

/* v as a step of as_written() reads it. rows: the sequences so far, of which the parameters of the
 * body behind `first` ones are the rows */
static struct value *in_step(struct linear *l, struct block *body, uint32_t first,
			     struct rows *rows, struct value *v)
{
	uint32_t k = 0;

	if (is_own(l->m, l->f, v))
		return at_of(l, v).v;
	if (!is_row_of(l->m, l->f, v))
		return v;
	struct value *all = all_of(l->m, v);
	while (k < rows->len && rows->at[k] != all)
		k++;
	if (k == rows->len) {
		*vec_push(l->m->cx->scratch, rows) = all;
		block_param(&l->m->b, body, type_of_row(all));
	}
	return body->params.at[first + k];
}

/* The steps as the body says; gives the same as by_steps() */
static void as_written(struct linear *l, struct value *f, struct value **out)
{
	struct build *b = &l->m->b;
	struct arena *a = l->m->cx->scratch;
	struct block *outer = b->block, *body = block_new(b);
	struct value *end[MAX_STATE], *part[MAX_STATE], **in;
	struct rows rows = {0};

	for (uint32_t j = 0; j < l->n; j++) {
		struct value *z = block_param(b, body, l->state[j]->type);
		set_at(l, l->state[j], (struct at){z, false, false});
	}
	*vec_push(a, &rows) = f; /* a Scan walks one sequence at least */
	block_param(b, body, type_of_row(f));
	scope_open(b, body);
	for (struct node *n = l->f->block->first; n; n = n->next) {
		struct value *r, **now = new_array(a, struct value *, n->nin + 1u);
		if (n->dead || n->nout != 1 || !value_info(l->m, n->out[0])->leads_on)
			continue;
		for (uint32_t i = 0; i < n->nin; i++)
			now[i] = n->in[i] ? in_step(l, body, l->n, &rows, n->in[i]) : NULL;
		emit_like(b, n, now, &r);
		set_at(l, n->out[0], (struct at){r, false, false});
	}
	for (uint32_t j = 0; j < l->n; j++) {
		end[j] = in_step(l, body, l->n, &rows, l->next[j]);
		if (l->times)
			end[j] = emit_(b, ONNX_Mul, body->params.at[j], end[j]);
	}
	for (uint32_t j = 0; j < l->n; j++)
		block_result(b, end[j], l->state[j]->type.dims, false);
	for (uint32_t j = 0; j < l->n; j++)
		block_result(b, body->params.at[j], l->state[j]->type.dims, false);
	scope_close(b, outer);
	in = new_array(a, struct value *, l->n + rows.len);
	for (uint32_t j = 0; j < l->n; j++)
		in[j] = l->c->init[l->of[j]];
	memcpy(in + l->n, rows.at, rows.len * sizeof(*in));
	attr_block(b, "body", body);
	attr_int(b, "num_scan_inputs", rows.len);
	struct node *n = onnx_node(b, ONNX_Scan, in, l->n + rows.len, 2 * l->n);
	for (uint32_t j = 0; j < l->n; j++) {
		struct type t = l->state[j]->type;
		dim *dims = new_array(l->m->cx->arena, dim, t.rank + 1u);
		dims[0] = l->f->trips;
		memcpy(dims + 1, t.dims, t.rank * sizeof(dim));
		n->out[j]->type = t;
		n->out[l->n + j]->type = type_of((enum dtype)t.dtype, t.rank + 1u, dims);
	}
	n->span = l->f->loop->span;
	append(b, n);
	for (uint32_t j = 0; j < l->n; j++)
		part[j] = as_item(l, n->out[j], j, 0, false);
	out[0] = concat(b, 1, part, l->n);
	for (uint32_t j = 0; j < l->n; j++)
		part[j] = as_item(l, n->out[l->n + j], j, l->f->trips, true);
	out[1] = concat(b, 2, part, l->n);
}

/* z before each step and at the end, from what by_steps() gives */
static struct value *joined(struct linear *l, struct value **z)
{
	struct value *end = unsqueeze(&l->m->b, z[0], &(int64_t){0}, 1);

	return concat(&l->m->b, 0, (struct value *[]){z[1], end}, 2);
}

/* Do the numbers of v add up to less than k in magnitude? */
static struct value *sum_below(struct linear *l, struct value *v, double k)
{
	struct build *b = &l->m->b;

	struct value *sum = emit_(b, ONNX_Abs, reduce_all(b, ONNX_ReduceSum, v, false));
	return emit_(b, ONNX_Less, sum, const_of(b, (enum dtype)v->type.dtype, k));
}

/* Do rounds add nothing that may cancel, by the coefficients a and f? */
static bool rounds_add_up(struct linear *l, const struct value *a, const struct value *f)
{
	return l->m->cx->opt.large_terms ||
	       (sign_of(a) == SIGN_NON_NEGATIVE && sign_of(f) == SIGN_NON_NEGATIVE &&
		sign_of(l->c->init[l->of[0]]) == SIGN_NON_NEGATIVE);
}

/* Is each coefficient so small that products of several are below (1 + 1/n)^n < e for n steps? 1/n
 * is rounded to a power of two, which float32 has. */
static struct value *are_small(struct linear *l, struct value *a)
{
	struct build *b = &l->m->b;
	enum dtype t = (enum dtype)a->type.dtype;
	int64_t steps = 1;
	double more = 1;

	dim_is_const(l->m->cx, l->f->trips, &steps);
	while (more * (double)steps > 1 && more > 0x1p-23)
		more /= 2;
	if (element_count(l->m->cx, &a->type) == 1)
		return sum_below(l, a, 1 + more);
	struct value *large = emit_(b, ONNX_Abs, a);
	large = emit_(b, ONNX_GreaterOrEqual, large, const_of(b, t, 1 + more));
	return sum_below(l, cast(b, large, t), 1);
}

/* `all`, or, where that is not finite, step by step: a product of coefficients may overflow, and 0
 * times what is not finite is NaN. The same where what rounds add may cancel. */
static struct value *rounds_or_steps(struct linear *l, struct value *all, struct value *a,
				     struct value *f)
{
	struct build *b = &l->m->b;
	struct block *outer = b->block, *branch[2];
	struct value *ok = NULL;

	if (l->falls_back || l->m->cx->opt.nans)
		ok = sum_below(l, all, INFINITY);
	if (l->by_rounds && !rounds_add_up(l, a, f))
		ok = ok ? emit_(b, ONNX_And, ok, are_small(l, a)) : are_small(l, a);
	if (!ok)
		return all;
	for (int i = 0; i < 2; i++) {
		struct value *z[2];
		branch[i] = block_new(b);
		scope_open(b, branch[i]);
		if (i && l->falls_back)
			as_written(l, f, z);
		else if (i)
			by_steps(l, a, f, z);
		block_result(b, i ? joined(l, z) : all, all->type.dims, false);
		scope_close(b, outer);
	}
	return if_node(b, ok, branch[0], branch[1], all->type);
}

bool linear_loop(struct loop_exit *c, struct block *outer)
{
	struct linear l = {.c = c, .m = c->m, .f = c->f};
	struct loop_pass *m = c->m;
	struct arena *a = m->cx->scratch;
	struct value *row[MAX_STATE], *z[2], *part[MAX_STATE], *at_zero, *matrix = NULL,
									 *after = NULL;
	struct block *body = c->f->block;

	if (!is_linear(&l))
		return drop_quotients(&l);
	set_item(&l);
	l.at = new_array(a, struct at, 2 * (body->nnodes + body->params.len) + 1u);
	struct insertion_point was = enter(m, c->f->outer);
	choose_states(&l, -1);
	at_zero = next_at(&l, false);
	int64_t rows = l.forgets ? 0 : l.each ? 1 : l.width;
	for (int64_t i = 0; i < rows && at_zero; i++) {
		choose_states(&l, i);
		row[i] = next_at(&l, true);
		at_zero = row[i] ? at_zero : NULL;
	}
	leave(m, was);
	for (struct node *n = body->first; n; n = n->next)
		for (uint32_t i = 0; i < n->nout; i++)
			value_info(m, n->out[i])->number = 0;
	if (!at_zero)
		return drop_quotients(&l);
	scope_close(&m->b, outer);
	bool stacked = false;
	for (int64_t i = 0; i < rows; i++)
		stacked |= is_stacked(&l, row[i]);
	for (int64_t i = 0; i < rows && stacked; i++)
		row[i] = repeated(&l, row[i]);
	if (rows)
		matrix = concat(&m->b, 1, row, (uint32_t)rows);
	struct value *all = NULL;
	if (l.forgets) {
		all = after_first(&l, repeated(&l, at_zero));
	} else if (l.by_rounds) {
		at_zero = repeated(&l, at_zero);
		all = by_rounds(&l, matrix, at_zero);
	} else {
		by_steps(&l, matrix, at_zero, z);
		all = l.falls_back ? joined(&l, z) : NULL;
	}
	if (l.falls_back || l.by_rounds)
		all = rounds_or_steps(&l, all, matrix, repeated(&l, at_zero));
	if (all) {
		z[0] = squeeze(&m->b, part_of(&l, all, -1, INT64_MAX), &(int64_t){0}, 1);
		z[1] = part_of(&l, all, 0, -1);
		if (l.n == 1)
			take_apart(&l, part_of(&l, all, 1, INT64_MAX), true, &after);
	}
	take_apart(&l, z[0], false, part);
	for (uint32_t j = 0; j < l.n; j++)
		replace_value(m, c->f->loop->out[l.of[j]], part[j]);
	take_apart(&l, z[1], true, part);
	for (uint32_t j = 0; j < l.n; j++)
		set_row(m, l.state[j], (struct row){.body = c->f, .all = part[j]});
	for (struct node *n = body->first; n; n = n->next) {
		if (n->dead || n->nout != 1 || !value_info(m, n->out[0])->wanted)
			continue;
		if (after && n->out[0] == l.next[0]) {
			set_row(m, n->out[0], (struct row){.body = c->f, .all = after});
			continue;
		}
		all = batch(m, c->f, n, true);
		if (!all)
			bug("%s cannot be computed after the loop", n->onnx->name);
		set_row(m, n->out[0], (struct row){.body = c->f, .all = all});
	}
	return true;
}
