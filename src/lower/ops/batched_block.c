/*
 * batched_block.c: Blockwise of an op on complex numbers, of which src/complex made a block that
 * does one item with real numbers. Out: the nodes of the block, one after the other, on the whole
 * batch: elementwise ones as they are, others as Blockwise of their op. What does not depend on the
 * batch stays one for all items.
 */
#include <string.h>

#include "lower/ops/lowerings.h"
#include "ops/rules.h"

/* Has each node of the block a form for the batch? Those without are loops, operators of ONNX that
 * are not elementwise, and nodes that were refused. */
static bool widens(struct build *b, const struct block *body)
{
	for (const struct node *k = body->first; k; k = k->next) {
		bool of_table = k->op >= op_table && k->op < op_table + op_count;
		if (k->op == &op_dim) {
			if (!dim_available(b, k->props[0].u.d))
				return false;
		} else if (k->op == &op_onnx) {
			if (!onnx_facts[operator_of(k)].each || k->nout != 1)
				return false;
		} else if (!of_table || k->blocks || is_call(k, OP_Blockwise) ||
			   k->nout > UINT8_MAX || is_poisoned(k)) {
			return false;
		}
		for (uint32_t i = 0; i < k->nin; i++)
			if (!k->in[i])
				return false;
	}
	return true;
}

/* The ONNX values of the whole batch in the place of the block's values, of those that depend on
 * it. They are not what the values are lowered to: dims of an item are read from these. */
struct widened {
	uint32_t batch; /* its rank */
	struct hash_table table;
	vec(struct value *) items, wide;
};

/* NULL: v is one for all items */
static struct value *wide_of(const struct widened *w, const struct value *v)
{
	struct probe at = {.hash = hash_id(v)};

	while (hash_next(&w->table, &at))
		if (w->items.at[at.number] == v)
			return w->wide.at[at.number];
	return NULL;
}

static void set_wide(struct build *b, struct widened *w, struct value *v, struct value *wide)
{
	hash_add(b->cx->scratch, &w->table, hash_id(v), w->items.len);
	*vec_push(b->cx->scratch, &w->items) = v;
	*vec_push(b->cx->scratch, &w->wide) = wide;
}

/* The signature of a Blockwise by the ranks of a node's inputs and results */
static struct cv core_signature(struct build *b, const struct node *k)
{
	struct astr *s = new (b->cx->arena, struct astr);
	char *to = arena_alloc(b->cx->arena, (k->nin + k->nout) * (2u * MAX_RANK + 4u) + 4u);
	struct cv v = {.kind = CV_STR, .u.str = s};

	s->s = to;
	for (uint32_t i = 0; i < k->nin + k->nout; i++) {
		const struct value *x = i < k->nin ? k->in[i] : k->out[i - k->nin];
		const char *between = i == k->nin ? "->" : i ? "," : "";
		to = stpcpy(stpcpy(to, between), "(");
		for (uint32_t r = 0; r < x->type.rank; r++)
			to = stpcpy(to, r ? ",k" : "k");
		to = stpcpy(to, ")");
	}
	s->len = (uint32_t)(to - s->s);
	return v;
}

/* A node of the block, of which an input at least is wide: elementwise ops as they are, others by
 * Blockwise. false: reported */
static bool lower_wide(struct build *b, const struct node *k, const struct widened *w,
		       struct value **out)
{
	struct value **in = new_array(b->cx->arena, struct value *, k->nin);
	struct opref *core = new (b->cx->arena, struct opref);
	struct cv *props = new_array(b->cx->arena, struct cv, 3);
	bool each = k->op == &op_onnx || (k->op->shape == op_table[OP_Add].shape && k->nout == 1);
	uint32_t rank = 0, batch = w->batch;

	for (uint32_t i = 0; i < k->nin; i++)
		rank = k->in[i]->type.rank > rank ? k->in[i]->type.rank : rank;
	for (uint32_t i = 0; i < k->nin; i++) {
		struct value *v = k->in[i], *x = wide_of(w, v);
		int64_t axes[MAX_RANK];
		in[i] = k->op == &op_onnx && !x ? low(b, v) : v;
		if (!x)
			continue;
		for (uint32_t r = v->type.rank; r < rank; r++)
			axes[r - v->type.rank] = batch + r - v->type.rank;
		if (each)
			x = unsqueeze(b, x, axes, rank - v->type.rank);
		in[i] = k->op == &op_onnx ? x : held_by(b, x, x->type, b->span);
	}
	if (k->op == &op_onnx) {
		emit_like(b, k, in, out);
		return true;
	}
	if (each) {
		if (!lower_as(b, k->op, k->props, in, k->nin, out, 1))
			return false;
		struct type to = k->out[0]->type; /* Second(x, x) may stretch x */
		dim *d = new_dims(b->cx, batch + rank);
		bool known = true;
		memcpy(d, (*out)->type.dims, batch * sizeof(dim));
		for (uint32_t i = 0; i < rank; i++) {
			d[batch + i] = to.dims[i];
			known &= dim_available(b, to.dims[i]);
		}
		*out = known ? expand(b, *out, d, batch + rank) : *out;
		return true;
	}
	*core = (struct opref){.op = k->op, .props = k->props};
	props[0] = (struct cv){.kind = CV_OP, .u.op = core};
	props[1] = core_signature(b, k);
	props[2] = (struct cv){.kind = CV_NONE};
	return lower_as(b, &op_table[OP_Blockwise], props, in, k->nin, out, k->nout);
}

/* The transform of each item along an axis: that of the batch along a later one. The lengths must
 * be the same for all items. */
static bool lower_wide_fourier(struct build *b, struct node *k, const struct widened *w,
			       struct value **out)
{
	struct value *x = wide_of(w, k->in[0]), *length = wide_of(w, k->in[1]), *in[3];
	uint32_t batch = w->batch;
	struct node copy = *k;
	const struct type *r = &k->out[0]->type;
	int64_t axis = 0;
	dim *d = new_dims(b->cx, batch + r->rank);

	if (!x) {
		x = low(b, k->in[0]);
		dim *one = new_dims(b->cx, batch + x->type.rank);
		for (uint32_t i = 0; i < batch; i++)
			one[i] = dim_const(b->cx, 1);
		memcpy(one + batch, x->type.dims, x->type.rank * sizeof(dim));
		x = reshape(b, x, one, batch + x->type.rank);
	}
	if (!length) {
		length = low(b, k->in[1]);
	} else {
		dim *flat = new_dims(b->cx, 1);
		*flat = dims_product(b->cx, length->type.dims, length->type.rank);
		length = same_for_all(b, reshape(b, cast(b, length, DT_INT64), flat, 1));
	}
	known_int(b->cx, low(b, k->in[2]), 0, &axis);
	axis = from_front(axis, r->rank - 1);
	memcpy(d, x->type.dims, (batch + r->rank - 1u) * sizeof(dim));
	d[batch + axis] = r->dims[axis];
	struct type whole = type_of((enum dtype)r->dtype, batch + r->rank, d);
	struct value *to = graph_value(b->cx, whole, b->span);
	if (!dim_available(b, d[batch + axis]))
		d[batch + axis] = dim_fresh(b->cx, SOURCE_SIZE, to, (uint32_t)(batch + axis));
	d[batch + r->rank - 1u] = dim_const(b->cx, 2);
	in[0] = held_by(b, x, x->type, b->span);
	in[1] = held_by(b, length, length->type, b->span);
	in[2] = const_int(b, axis + batch);
	in[2] = held_by(b, in[2], in[2]->type, b->span);
	copy.in = in;
	copy.out = &to;
	if (!lower_typed(b, &copy))
		return false;
	*out = to->lowered;
	return true;
}

/* The nodes of the block, one after the other: on the whole batch, if they depend on it */
static bool lower_nodes(struct build *b, struct node *n, const uint32_t *ranks, uint32_t rank)
{
	struct block *body = n->blocks[0];
	struct widened w = {.batch = rank};
	struct value *out[UINT8_MAX];

	for (uint32_t i = 0; i < n->nin; i++) {
		struct value *v = low(b, n->in[i]);
		uint32_t own = v->type.rank - ranks[i];
		int64_t axes[MAX_RANK];
		for (uint32_t k = own; k < rank; k++)
			axes[k - own] = k - own;
		if (own)
			set_wide(b, &w, body->params.at[i], unsqueeze(b, v, axes, rank - own));
		else
			body->params.at[i]->lowered = v;
	}
	for (struct node *k = body->first; k; k = k->next) {
		bool wide = false, ok = true;
		for (uint32_t i = 0; i < k->nin; i++)
			wide |= wide_of(&w, k->in[i]) != NULL;
		if (!wide) {
			if (!lower_typed(b, k))
				return false;
			continue;
		}
		struct value *x = wide_of(&w, k->in[0]);
		if (is_call(k, OP_Shape_i)) {
			uint32_t axis = rank + prop_axis(b->cx, k, "i");
			k->out[0]->lowered = dim_value(b, x->type.dims[axis]);
			continue;
		}
		if (is_call(k, OP_Shape)) {
			k->out[0]->lowered = shape_slice(b, x, (int)rank, x->type.rank);
			continue;
		}
		if (is_call(k, OP_Fourier))
			ok = lower_wide_fourier(b, k, &w, out);
		else
			ok = lower_wide(b, k, &w, out);
		for (uint32_t i = 0; i < k->nout && ok; i++)
			set_wide(b, &w, k->out[i], out[i]);
		if (!ok)
			return false;
	}
	for (uint32_t i = 0; i < n->nout; i++) {
		struct value *r = wide_of(&w, body->results.at[i]);
		struct type to = n->out[i]->type;
		dim *d = new_dims(b->cx, to.rank);
		uint32_t core = body->results.at[i]->type.rank;
		r = r ? r : low(b, body->results.at[i]);
		memcpy(d, n->out[0]->type.dims, rank * sizeof(dim));
		memcpy(d + rank, r->type.dims + (r->type.rank - core), core * sizeof(dim));
		set_lowered(b, n, i, with_dims(expand(b, r, d, to.rank), to.dims));
	}
	return true;
}

bool lower_block_of_batch(struct build *b, struct node *n, const uint32_t *ranks, uint32_t rank,
			  bool *ok)
{
	if (!widens(b, n->blocks[0]))
		return false;
	*ok = lower_nodes(b, n, ranks, rank);
	return true;
}
