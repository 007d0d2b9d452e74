/*
 * blockwise.c: an op for each of a batch. In: a typed node whose core op works on the last dims of
 * its inputs; src/complex/ gives the node a block that does one item in place of the core op. Out:
 * one MatMul for a product; the core op itself for an elementwise op, for a view, and where there
 * is no batch; the body of the core op, once, if the body takes a batch; another op of the batch,
 * as batched.c finds one; the nodes of the block, on the batch; else a Loop over the flattened
 * batch.
 *
 * Which bodies take a batch? Those of ops whose row says .batch. All dims of the batch are
 * flattened to one, which each argument has in front of its core dims, or not at all: an argument
 * that is the same for all items, as one triangle for many right sides, stays as it is. So a body
 * sees two ranks of each argument, and reads axes from the end: a fn of the library says
 *
 *	fn Cholesky(a: F[...b, n, n])               one argument, [n, n] or [batch, n, n]
 *	fn _Product(a: F[...b, n, k], b: F[...c, k, m])
 *
 * with a name of its own for the leading dims of each argument that may have none, and asks
 * `if rank(a) == 2` where a single matrix has a faster form. A C function finds one more dim in the
 * types of the node. Each result has the batch in front if any argument has. A batch may be empty.
 */
#include <string.h>

#include "lower/ops/lowerings.h"

/* ranks[i] = the number of core dims of input i */
static void find_core_ranks(struct build *b, struct node *n, uint32_t *ranks)
{
	if (!n->blocks && !read_core_ranks(b->cx, n, ranks))
		bug("a Blockwise was typed whose signature says nothing");
	for (uint32_t i = 0; n->blocks && i < n->nin; i++)
		ranks[i] = n->blocks[0]->params.at[i]->type.rank;
}

struct batch {
	const struct opref *core;
	uint32_t *ranks;  /* of the core inputs */
	uint32_t rank;    /* of the batch */
	const dim *dims;  /* of the batch */
	struct value **x; /* inputs: flattened batch + core dims, or core dims alone */
	bool *each;       /* inputs that have a batch */
};

/* Reshapes v from [batch..., core...] to [flat, core...]; if it has no batch (*each is false), to
 * [core...]. */
static struct value *flatten_batch(struct build *b, const struct batch *t, struct value *v,
				   uint32_t core, bool *each)
{
	uint32_t own = v->type.rank - core, rank = t->rank + core;
	const dim *tail = v->type.dims + own;
	dim *full = new_array(b->cx->arena, dim, rank + 2), *flat = full + t->rank - 1;

	*each = !dims_are_ones(b->cx, v->type.dims, own) || t->core->op->batch == BATCH_ALL;
	if (!*each)
		return reshape(b, v, tail, core);
	memcpy(full, t->dims, t->rank * sizeof(dim));
	memcpy(full + t->rank, tail, core * sizeof(dim));
	v = expand(b, v, full, rank);
	if (t->rank == 1)
		return v;
	flat = memcpy(new_array(b->cx->arena, dim, core + 1), flat, (core + 1) * sizeof(dim));
	flat[0] = dims_product(b->cx, t->dims, t->rank);
	return reshape(b, v, flat, core + 1);
}

/* The core op, or the block that stands for it, on one item of each input */
static bool lower_item(struct build *b, struct node *n, const struct batch *t, struct value **in,
		       struct value **out)
{
	struct block *body = n->blocks ? n->blocks[0] : NULL;

	for (uint32_t i = 0; i < n->nin; i++) {
		if (body)
			body->params.at[i]->lowered = in[i];
		in[i] = held_by(b, in[i], in[i]->type, n->in[i]->span);
	}
	return body ? lower_inlined(b, body, body->results.at, n->nout, b->span, out)
		    : lower_as(b, t->core->op, t->core->props, in, n->nin, out, n->nout);
}

/* The body: the core op on item i of each input; `out` gets the core results' types. */
static bool loop_body(struct build *b, struct node *n, const struct batch *t, struct block *body,
		      struct type *out)
{
	struct block *outer = b->block;
	struct value **in = new_array(b->cx->arena, struct value *, n->nin);
	struct value **r = new_array(b->cx->arena, struct value *, n->nout);
	struct value *i = block_param(b, body, type_of(DT_INT64, 0, NULL));
	struct value *go = block_param(b, body, type_of(DT_BOOL, 0, NULL));

	scope_open(b, body);
	for (uint32_t k = 0; k < n->nin; k++) {
		in[k] = t->x[k];
		if (t->each[k])
			in[k] = with_dims(emit_(b, ONNX_Gather, in[k], i), in[k]->type.dims + 1);
	}
	bool ok = lower_item(b, n, t, in, r);
	block_result(b, go, NULL, false);
	for (uint32_t k = 0; ok && k < n->nout; k++) {
		struct type type = n->out[k]->type;
		out[k] = type_of((enum dtype)type.dtype, type.rank - t->rank, type.dims + t->rank);
		block_result(b, r[k], out[k].dims, false);
	}
	scope_close(b, outer);
	return ok;
}

/* Reshapes v from [flat, core...] to [batch..., core...]. If the loop makes no trip, v does not
 * have the core dims: they are written into the shape. */
static struct value *unflatten_batch(struct build *b, const struct batch *t, struct value *v,
				     struct type type)
{
	struct value *part[MAX_RANK + 1];
	uint32_t k = 0;
	int64_t c;
	bool fixed = t->rank == 1;

	for (uint32_t i = 1; i < type.rank && fixed; i++)
		fixed = dim_is_const(b->cx, type.dims[i], &c);
	if (fixed)
		return with_dims(v, type.dims);
	part[k++] = dims_vector(b, t->dims, t->rank);
	for (uint32_t i = t->rank; i < type.rank; i++) {
		int at = (int)(i - t->rank) + 1;
		bool known = dim_available(b, type.dims[i]);
		part[k++] = known ? dim_vector(b, type.dims[i]) : shape_slice(b, v, at, at + 1);
	}
	return reshape_to(b, v, concat(b, 0, part, k), type.dims, type.rank);
}

static bool lower_batch(struct build *b, struct node *n, struct batch *t)
{
	struct block *body = block_new(b);
	struct type *types = new_array(b->cx->arena, struct type, n->nout + 1);
	struct value *count = dim_value(b, dims_product(b->cx, t->dims, t->rank));

	for (uint32_t i = 0; i < n->nin; i++)
		t->x[i] = flatten_batch(b, t, low(b, n->in[i]), t->ranks[i], &t->each[i]);
	if (!loop_body(b, n, t, body, types))
		return false;
	for (uint32_t i = 0; i < n->nout; i++) {
		dim *d = new_array(b->cx->arena, dim, types[i].rank + 1);
		d[0] = t->rank == 1 ? t->dims[0] : dims_product(b->cx, t->dims, t->rank);
		memcpy(d + 1, types[i].dims, types[i].rank * sizeof(dim));
		types[i] = type_of((enum dtype)types[i].dtype, types[i].rank + 1u, d);
	}
	struct node *r = loop_node(b, body, (struct value *[]){count, NULL}, 2, types, n->nout);
	for (uint32_t i = 0; i < n->nout; i++)
		set_lowered(b, n, i, unflatten_batch(b, t, r->out[i], n->out[i]->type));
	return true;
}

/* The body of the core op takes the whole batch. */
static bool lower_whole(struct build *b, struct node *n, struct batch *t)
{
	struct node *core = node_new(b->cx, t->core->op, n->span);
	dim flat = dims_product(b->cx, t->dims, t->rank);

	core->props = t->core->props;
	core->nin = n->nin;
	core->in = t->x;
	for (uint32_t i = 0; i < n->nin; i++) {
		struct value *v = low(b, n->in[i]);
		v = flatten_batch(b, t, v, t->ranks[i], &t->each[i]);
		core->in[i] = held_by(b, v, v->type, n->in[i]->span);
	}
	node_results(b->cx, core, n->nout);
	for (uint32_t i = 0; i < n->nout; i++) {
		struct type type = n->out[i]->type;
		uint32_t rank = type.rank - t->rank;
		dim *d = new_array(b->cx->arena, dim, rank + 1);
		d[0] = flat;
		memcpy(d + 1, type.dims + t->rank, rank * sizeof(dim));
		core->out[i]->type = type_of((enum dtype)type.dtype, rank + 1, d);
	}
	if (!lower_typed(b, core))
		return false;
	for (uint32_t i = 0; i < n->nout; i++) {
		struct value *v = core->out[i]->lowered;
		set_lowered(b, n, i,
			    t->rank == 1 ? with_dims(v, n->out[i]->type.dims)
					 : unflatten_batch(b, t, v, n->out[i]->type));
	}
	return true;
}

/* No batch, or a batch of length 1: the core op, and its results with leading axes of length 1. */
static bool lower_single(struct build *b, struct node *n, struct batch *t)
{
	struct value **r = new_array(b->cx->arena, struct value *, n->nout);

	for (uint32_t i = 0; i < n->nin; i++) {
		struct value *v = low(b, n->in[i]);
		uint32_t rank = t->ranks[i];
		t->x[i] = reshape(b, v, v->type.dims + (v->type.rank - rank), rank);
	}
	if (!lower_item(b, n, t, t->x, r))
		return false;
	for (uint32_t i = 0; i < n->nout; i++) {
		int64_t axes[MAX_RANK];
		for (uint32_t k = 0; k < t->rank; k++)
			axes[k] = k;
		set_lowered(b, n, i, unsqueeze(b, r[i], axes, t->rank));
	}
	return true;
}

/* The axes of the result of a view, as DimShuffle says them: the number of an axis of x, or -1 for
 * a new one. Returns how many; -1: the op is no such view. */
static int view_order(struct build *b, const struct opref *core, struct value *x, uint32_t rank,
		      int *order)
{
	struct node n = {.op = core->op, .props = core->props, .in = &x, .nin = 1};
	int axes[MAX_RANK], count = (int)x->type.rank, k = 0, at = 0;
	bool put[MAX_RANK] = {false};

	if (core->op == &op_table[OP_DimShuffle])
		return dimshuffle_order(b->cx, &n, order);
	for (int i = 0; i < count; i++)
		order[i] = i;
	if (core->op == &op_table[OP_MatrixTranspose]) {
		order[count - 1] = count - 2;
		order[count - 2] = count - 1;
		return count;
	}
	if (core->op == &op_table[OP_Transpose]) {
		const struct cv *list = prop(b->cx, &n, "axes");
		for (int i = 0; i < count; i++) {
			const struct cv *a = list->kind == CV_LIST ? &list->u.items[i] : NULL;
			order[i] = !a ? count - 1 - i : a->neg ? count - (int)a->u.i : (int)a->u.i;
		}
		return count;
	}
	bool expands = core->op == &op_table[OP_ExpandDims];
	if (!expands && core->op != &op_table[OP_Squeeze])
		return -1;
	if (expands || !prop_is_none(b->cx, &n, "axes"))
		k = prop_axes(b->cx, &n, "axes", expands ? (int)rank : count, axes, true);
	else
		for (int i = 0; i < count; i++)
			if (dim_is(b->cx, x->type.dims[i], 1))
				axes[k++] = i;
	for (int i = 0; i < k; i++)
		put[axes[i]] = true;
	for (int i = 0, from = 0; i < (expands ? (int)rank : count); i++)
		if (expands)
			order[at++] = put[i] ? -1 : from++;
		else if (!put[i])
			order[at++] = i;
	return k < 0 ? -1 : at;
}

/* A view of each item is a view of the batch. false: the op is no view */
static bool lower_view(struct build *b, struct node *n, const struct batch *t)
{
	struct value *v = low(b, n->in[0]);
	uint32_t core = t->ranks[0], rank = n->out[0]->type.rank - t->rank, k = 0, dropped = 0;
	struct type item = type_of((enum dtype)v->type.dtype, core, v->type.dims + t->rank);
	struct value *x = held_by(b, v, item, n->in[0]->span);
	int order[MAX_RANK], length = view_order(b, t->core, x, rank, order);
	int64_t perm[MAX_RANK], put[MAX_RANK], drop[MAX_RANK], at[MAX_RANK];
	bool used[MAX_RANK] = {false};
	uint32_t nput = 0;

	if (length < 0 || (uint32_t)length != rank)
		return false;
	for (; k < t->rank; k++)
		perm[k] = k;
	for (int i = 0; i < length; i++)
		if (order[i] >= 0)
			used[order[i]] = true;
		else
			put[nput++] = t->rank + i;
	for (uint32_t i = 0; i < core; i++) {
		at[i] = t->rank + i - dropped;
		if (!used[i])
			drop[dropped++] = t->rank + i;
	}
	for (int i = 0; i < length; i++)
		if (order[i] >= 0)
			perm[k++] = at[order[i]];
	v = transpose(b, squeeze(b, v, drop, dropped), perm);
	set_lowered(b, n, 0, with_dims(unsqueeze(b, v, put, nput), n->out[0]->type.dims));
	return true;
}

/* An elementwise op, with axes of length 1 between the batch and items of fewer dims, or a view: it
 * is that op of the batch. */
static bool lower_without_loop(struct build *b, struct node *n, const struct batch *t)
{
	const struct op *op = t->core->op;
	uint32_t rank = 0;
	struct value *out;

	if (op->shape != op_table[OP_Add].shape || n->nout != 1)
		return n->nin == 1 && n->nout == 1 && lower_view(b, n, t);
	struct value **in = new_array(b->cx->arena, struct value *, n->nin);
	for (uint32_t i = 0; i < n->nin; i++)
		rank = t->ranks[i] > rank ? t->ranks[i] : rank;
	for (uint32_t i = 0; i < n->nin; i++) {
		struct value *v = low(b, n->in[i]);
		uint32_t own = v->type.rank - t->ranks[i], k = 0;
		int64_t axes[MAX_RANK] = {0};
		for (; k < t->rank - own; k++)
			axes[k] = k;
		for (; v->type.rank + k < t->rank + rank; k++)
			axes[k] = own + k;
		v = unsqueeze(b, v, axes, k);
		in[i] = held_by(b, v, v->type, n->in[i]->span);
	}
	if (!lower_as(b, op, t->core->props, in, n->nin, &out, 1))
		return false;
	set_lowered(b, n, 0, with_dims(out, n->out[0]->type.dims));
	return true;
}

bool lower_blockwise(struct build *b, struct node *n)
{
	struct batch t = {.core = prop(b->cx, n, "core_op")->u.op};
	const struct op *op = t.core->op;

	t.ranks = new_array(b->cx->arena, uint32_t, n->nin);
	t.x = new_array(b->cx->arena, struct value *, n->nin);
	t.each = new_array(b->cx->arena, bool, n->nin);
	find_core_ranks(b, n, t.ranks);
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i]->type.rank - t.ranks[i] >= t.rank)
			t.rank = n->in[i]->type.rank - t.ranks[i];
	t.dims = n->out[0]->type.dims;
	if (dims_are_ones(b->cx, t.dims, t.rank))
		return lower_single(b, n, &t);
	if (!n->blocks &&
	    (op == &op_table[OP_Dot] || op == &op_table[OP_Matmul] || op == &op_table[OP_Dot22]) &&
	    n->nin == 2 && t.ranks[0] == 2 && t.ranks[1] == 2) {
		struct value *out;
		if (!lower_as(b, &op_table[OP_Matmul], NULL, n->in, 2, &out, 1))
			return false;
		set_lowered(b, n, 0, with_dims(out, n->out[0]->type.dims));
		return true;
	}
	bool ok;
	if (!n->blocks && lower_by_batched_op(b, n, t.core, t.ranks, t.rank, &ok))
		return ok;
	if (!n->blocks && op->batch)
		return lower_whole(b, n, &t);
	if (n->blocks && lower_block_of_batch(b, n, t.ranks, t.rank, &ok))
		return ok;
	return (!n->blocks && lower_without_loop(b, n, &t)) || lower_batch(b, n, &t);
}
