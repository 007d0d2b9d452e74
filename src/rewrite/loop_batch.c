/*
 * loop_batch.c: a node of a loop's body for all steps at once. In: the node, and for its inputs the
 * stacked values of all steps, where the steps differ. Out: a node outside of the body whose result
 * has a new axis 0, that of the steps. Operators on elements, reductions, products of matrices and
 * what moves axes can do that.
 */
#include <string.h>

#include "ops/ops.h"
#include "rewrite/loops.h"
#include "target/target.h"

#define SMALL      (1 << 20) /* elements that are stacked where there were none */
#define SMALL_STEP 64        /* of one step */
#define MAX_INPUTS 8         /* of an operator on elements */
#define MAX_GROWTH 8         /* of what is stacked, where lengths are not known */

int64_t element_count(struct ctx *cx, const struct type *t)
{
	int64_t n = 1, d;

	for (uint32_t i = 0; i < t->rank; i++) {
		if (!dim_is_const(cx, t->dims[i], &d))
			return -1;
		n = d && n > INT32_MAX / d ? INT32_MAX : n * d;
	}
	return n;
}

bool is_small(struct ctx *cx, const struct type *t)
{
	int64_t n = element_count(cx, t);

	return n >= 0 && n <= SMALL_STEP;
}

bool stacks_small(struct ctx *cx, const struct type *t, dim trips)
{
	int64_t n = element_count(cx, t), steps;

	if (n < 0)
		return false;
	return dim_is_const(cx, trips, &steps) ? !steps || n <= SMALL / steps : n <= SMALL_STEP;
}

bool grows_little(struct ctx *cx, const struct type *from, const struct type *to)
{
	int64_t n = 1, m = 1, k;
	uint32_t used = 0;

	for (uint32_t i = 0; i < from->rank; i++)
		if (dim_is_const(cx, from->dims[i], &k) && m <= INT32_MAX)
			m *= k;
	for (uint32_t i = 0, j; i < to->rank && n <= INT32_MAX; i++) {
		if (dim_is_const(cx, to->dims[i], &k)) {
			n *= k;
			continue;
		}
		for (j = 0; j < from->rank; j++)
			if (!(used >> j & 1) && from->dims[j] == to->dims[i])
				break;
		if (j == from->rank)
			return false;
		used |= 1u << j;
	}
	return n <= m * MAX_GROWTH;
}

/* Is an operator on elements no slower for all steps at once? It is one node, and a node of a body
 * takes about twice as long as another one; but what all steps give together may not fit the cache.
 */
static bool is_fast_at_once(struct batch *at, const struct node *n)
{
	const struct type *t = &n->out[0]->type;
	int64_t count = element_count(at->b->cx, t), steps, all;

	if (!onnx_facts[operator_of(n)].each || count < 0 ||
	    !dim_is_const(at->b->cx, at->trips, &steps))
		return true;
	return !__builtin_mul_overflow(count, steps, &all) &&
	       cost_of(ONNX_Add, (enum dtype)t->dtype, all) <=
		       2 * (double)steps * cost_of(ONNX_Add, (enum dtype)t->dtype, count);
}

/* Is what n gives not much larger than what differs between the steps? */
static bool keeps_size(struct batch *at, const struct node *n)
{
	struct ctx *cx = at->b->cx;
	int64_t to = element_count(cx, &n->out[0]->type);

	if (!is_fast_at_once(at, n))
		return false;
	if (stacks_small(cx, &n->out[0]->type, at->trips))
		return true;
	for (uint32_t i = 0; i < n->nin; i++) {
		if (!at->all[i])
			continue;
		int64_t from = element_count(cx, &n->in[i]->type);
		if ((to >= 0 && from >= to) ||
		    (to < 0 && grows_little(cx, &n->in[i]->type, &n->out[0]->type)))
			return true;
	}
	return false;
}

static struct value *with_rows(struct batch *at, struct value *v, const struct type *t)
{
	dim *dims = new_array(at->b->cx->arena, dim, t->rank + 1u);

	if (!v)
		return NULL;
	dims[0] = at->trips;
	if (t->rank)
		memcpy(dims + 1, t->dims, t->rank * sizeof(dim));
	return with_dims(v, dims);
}

static struct value *emit_again(struct batch *at, const struct node *n, struct value **in)
{
	struct value *out = NULL;

	emit_like(at->b, n, in, &out);
	return out;
}

/* Does any input of n differ between the steps? If not, n for all steps has no axis of steps. */
static bool reads_rows(const struct node *n, const bool *row)
{
	for (uint32_t i = 0; i < n->nin; i++)
		if (row[i])
			return true;
	return false;
}

/* May n be another node, of all steps? */
static bool may_change(const struct node *n)
{
	return n->nout == 1 && !n->as_written && onnx_is_pure(n->onnx) && !onnx_has_blocks(n->onnx);
}

bool can_batch_elements(const struct node *n, const bool *row)
{
	enum onnx_lengths lengths = onnx_lengths(n->onnx);

	if (!may_change(n) || !onnx_facts[operator_of(n)].each || n->nin > MAX_INPUTS ||
	    n->out[0]->type.rank + 1u > MAX_RANK || lengths == ONNX_OTHER_LENGTHS ||
	    !reads_rows(n, row))
		return false;
	for (uint32_t i = 1; i < n->nin; i++)
		if (row[i] && lengths != ONNX_BROADCAST_LENGTHS)
			return false;
	return true;
}

/* Axes of length 1 behind that of the steps make the ranks equal. */
static struct value *elements(struct batch *at, const struct node *n)
{
	struct value *in[MAX_INPUTS] = {0};
	bool row[MAX_INPUTS];
	int64_t axes[MAX_RANK];

	for (uint32_t i = 0; i < n->nin && i < MAX_INPUTS; i++)
		row[i] = at->all[i] != NULL;
	if (!can_batch_elements(n, row))
		return NULL;
	for (uint32_t k = 0; k < MAX_RANK; k++)
		axes[k] = 1 + k;
	for (uint32_t i = 0; i < n->nin; i++) {
		in[i] = row[i] ? at->all[i] : n->in[i];
		if (row[i] && n->in[i]->type.rank < n->out[0]->type.rank)
			in[i] = unsqueeze(at->b, in[i], axes,
					  n->out[0]->type.rank - n->in[i]->type.rank);
	}
	return emit_again(at, n, in);
}

static struct value *reduction(struct batch *at, const struct node *n)
{
	uint32_t rank = n->in[0]->type.rank;
	int axes[MAX_RANK], count = onnx_reduced_axes(n, axes);

	if (count < 0 || rank + 1 > MAX_RANK || !rank)
		return NULL;
	for (int i = 0; i < count; i++)
		axes[i]++;
	return reduce(at->b, operator_of(n), at->all[0], axes, count,
		      int_of_attr(n, "keepdims", 1));
}

static struct value *moved_axes(struct batch *at, const struct node *n)
{
	bool more = is_onnx(n, ONNX_Unsqueeze);
	uint32_t rank = more ? n->out[0]->type.rank : n->in[0]->type.rank;
	int64_t axes[MAX_RANK];
	int at_axis[MAX_RANK], count = onnx_axes(n, rank, at_axis);

	if (count <= 0 || rank + 1 > MAX_RANK)
		return NULL;
	for (int i = 0; i < count; i++)
		axes[i] = at_axis[i] + 1;
	return more ? unsqueeze(at->b, at->all[0], axes, (uint32_t)count)
		    : squeeze(at->b, at->all[0], axes, (uint32_t)count);
}

static struct value *transposition(struct batch *at, const struct node *n)
{
	uint32_t rank = n->out[0]->type.rank;
	int64_t perm[MAX_RANK] = {0};

	if (rank + 1 > MAX_RANK)
		return NULL;
	for (uint32_t i = 0; i < rank; i++)
		perm[i + 1] = 1 + (int64_t)onnx_perm(n, i);
	return transpose(at->b, at->all[0], perm);
}

static struct value *reshaped(struct batch *at, const struct node *n)
{
	const struct type *t = &n->out[0]->type;
	dim *dims = new_array(at->b->cx->arena, dim, t->rank + 1u);

	if (at->all[1] || t->rank + 1 > MAX_RANK || element_count(at->b->cx, t) <= 0 ||
	    element_count(at->b->cx, t) != element_count(at->b->cx, &n->in[0]->type))
		return NULL;
	dims[0] = at->trips;
	if (t->rank)
		memcpy(dims + 1, t->dims, t->rank * sizeof(dim));
	return reshape(at->b, at->all[0], dims, t->rank + 1u);
}

/* Softmax, LogSoftmax: the axis moves if it is counted from the front. */
static struct value *along_axis(struct batch *at, const struct node *n)
{
	int64_t axis = int_of_attr(n, "axis", -1);

	if (n->in[0]->type.rank + 1u > MAX_RANK)
		return NULL;
	attr_int(at->b, "axis", axis < 0 ? axis : axis + 1);
	return emit_(at->b, operator_of(n), at->all[0]);
}

bool can_batch(struct ctx *cx, const struct node *n, const bool *row)
{
	const struct type *from = &n->in[0]->type, *to = &n->out[0]->type;
	int axes[MAX_RANK];

	if (onnx_facts[operator_of(n)].each)
		return can_batch_elements(n, row);
	if (!may_change(n) || from->rank + 1u > MAX_RANK || to->rank + 1u > MAX_RANK ||
	    !reads_rows(n, row))
		return false;
	switch (operator_of(n)) {
	case ONNX_ReduceSum:
		return row[0] && from->rank && onnx_reduced_axes(n, axes) >= 0;
	case ONNX_Unsqueeze:
		return row[0] && onnx_axes(n, to->rank, axes) > 0;
	case ONNX_Squeeze:
		return row[0] && onnx_axes(n, from->rank, axes) > 0;
	case ONNX_Transpose:
	case ONNX_Softmax:
	case ONNX_LogSoftmax:
		return true;
	case ONNX_Reshape:
		return row[0] && !row[1] && element_count(cx, to) > 0 &&
		       element_count(cx, to) == element_count(cx, from);
	case ONNX_MatMul:
		if (row[0] && row[1])
			return from->rank >= 2 && from->rank == n->in[1]->type.rank;
		return (row[0] ? n->in[1]->type.rank : from->rank) == 2;
	default:
		return false;
	}
}

/* x @ W and W @ x, and products of matrices of every step */
static struct value *product(struct batch *at, const struct node *n)
{
	struct value *x = n->in[0], *y = n->in[1];
	uint32_t p = x->type.rank, q = y->type.rank;

	if (p + 1 > MAX_RANK || q + 1 > MAX_RANK)
		return NULL;
	if (at->all[0] && at->all[1])
		return p >= 2 && p == q ? emit_(at->b, ONNX_MatMul, at->all[0], at->all[1]) : NULL;
	if (at->all[0])
		return q == 2 ? emit_(at->b, ONNX_MatMul, at->all[0], y) : NULL;
	if (q == 1 && p == 2)
		return emit_(at->b, ONNX_MatMul, at->all[1],
			     transpose(at->b, x, (int64_t[]){1, 0}));
	return q >= 2 && p == 2 ? emit_(at->b, ONNX_MatMul, x, at->all[1]) : NULL;
}

/* Rows that every step takes from the same table */
static struct value *gathered(struct batch *at, const struct node *n)
{
	if (at->all[0] || onnx_axis(n, 0) != 0)
		return NULL;
	attr_int(at->b, "axis", 0);
	at->b->index_may_fail = true; /* as it may in a step */
	struct value *r = emit_(at->b, ONNX_Gather, n->in[0], at->all[1]);
	at->b->index_may_fail = false;
	return r;
}

static struct value *batched(struct batch *at, const struct node *n)
{
	if (onnx_facts[operator_of(n)].each)
		return elements(at, n);
	if (onnx_lengths(n->onnx) == ONNX_REDUCED_LENGTHS)
		return is_onnx(n, ONNX_ArgMax) || is_onnx(n, ONNX_ArgMin) ? NULL : reduction(at, n);
	switch (operator_of(n)) {
	case ONNX_Unsqueeze:
	case ONNX_Squeeze:
		return moved_axes(at, n);
	case ONNX_Transpose:
		return transposition(at, n);
	case ONNX_Reshape:
		return reshaped(at, n);
	case ONNX_MatMul:
		return product(at, n);
	case ONNX_Gather:
		return gathered(at, n);
	case ONNX_Softmax:
	case ONNX_LogSoftmax:
		return along_axis(at, n);
	default:
		return NULL;
	}
}

struct value *batch_node(struct batch *at, const struct node *n)
{
	if (!may_change(n) || (!at->any_size && !keeps_size(at, n)))
		return NULL;
	return with_rows(at, batched(at, n), &n->out[0]->type);
}
