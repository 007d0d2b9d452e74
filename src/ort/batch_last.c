/* batch_last.c: nodes of batch-last arrays (batch_last.h). */
#include <string.h>

#include "graph/uses.h"
#include "ort/batch_last.h"
#include "rewrite/rewrite.h"

#define MAX_MASK 64 /* rows and columns of a matrix whose triangle is taken by a mask */

struct type batch_last_type(struct ctx *cx, struct type t, uint32_t from)
{
	struct type r = t;

	r.dims = new_array(cx->arena, dim, t.rank + 1u);
	for (uint32_t i = 0; i < t.rank; i++)
		r.dims[i] = t.dims[i < from ? i : i + 1u < t.rank ? i + 1 : from];
	return r;
}

struct value *transpose_batch(struct build *b, struct value *v, uint32_t from, bool back)
{
	uint32_t rank = v->type.rank;
	int64_t perm[MAX_RANK];

	for (uint32_t i = 0; i < rank; i++)
		perm[i] = back           ? i < from     ? i
					    : i == from ? rank - 1
							: i - 1
			  : i < from     ? i
			  : i + 1 < rank ? i + 1
					 : from;
	b->span = v->span;
	return transpose(b, v, perm);
}

static enum layout layout_of(const struct layouts *l, const struct value *v)
{
	return v && v->id < l->n ? (enum layout)l->layout[v->id] : OUTSIDE;
}

bool is_batch_last(const struct layouts *l, const struct value *v)
{
	return layout_of(l, v) == BATCH_LAST;
}

void set_layout(struct layouts *l, const struct value *v, enum layout p)
{
	if (v && v->id < l->n)
		l->layout[v->id] = p;
}

/* Does n name axes, and not axis 0? */
static bool spares_points(const int *axes, int count)
{
	for (int i = 0; i < count; i++)
		if (axes[i] <= 0)
			return false;
	return count > 0;
}

static bool can_be_batch_last_elements(struct layouts *l, const struct node *n)
{
	uint32_t rank = n->out[0]->type.rank;
	bool signs = is_onnx(n, ONNX_Where) && n->zero_sign_counts && l->cx->opt.signed_zeros;
	bool first = onnx_lengths(n->onnx) == ONNX_FIRST_LENGTHS;

	if (signs || (!first && onnx_lengths(n->onnx) != ONNX_BROADCAST_LENGTHS))
		return false;
	for (uint32_t i = 0; i < n->nin; i++) {
		const struct value *v = n->in[i];
		if (v &&
		    (first && i ? v->type.rank > 0 : is_batch_last(l, v) && v->type.rank != rank))
			return false;
	}
	return true;
}

/* Are all lengths of t but the first known and not 0? */
static bool knows_rows(struct layouts *l, const struct type *t)
{
	int64_t k;

	for (uint32_t i = 1; i < t->rank; i++)
		if (!dim_is_const(l->cx, t->dims[i], &k) || !k)
			return false;
	return t->rank > 0;
}

/* Does v hold lengths that are known or those of arrays, and no more? A check may be part of
 * others. */
static bool is_plain_shape(const struct value *v)
{
	bool plain = v->data || is_onnx(v->def, ONNX_Shape);

	for (uint32_t i = 0; !plain && is_onnx(v->def, ONNX_Concat); i++) {
		if (i == v->def->nin)
			return true;
		if (!v->def->in[i]->data && !is_onnx(v->def->in[i]->def, ONNX_Shape))
			return false;
	}
	return plain;
}

/* A Reshape that leaves axis 0 alone */
static bool can_be_batch_last_shape(struct layouts *l, const struct node *n)
{
	const struct type *from = &n->in[0]->type, *to = &n->out[0]->type;

	return is_plain_shape(n->in[1]) && knows_rows(l, from) && knows_rows(l, to) &&
	       dim_eq(l->cx, from->dims[0], to->dims[0]);
}

/* Expand of a constant along axis 0 and others, or of what has axis 0 along others */
static bool can_be_batch_last_expand(struct layouts *l, const struct node *n)
{
	const struct value *v = n->in[0];
	uint32_t rank = n->out[0]->type.rank;

	return is_plain_shape(n->in[1]) && n->in[1]->type.rank == 1 &&
	       dim_eq(l->cx, n->in[1]->type.dims[0], dim_const(l->cx, rank)) &&
	       (v->data ? is_constant(v) && v->type.rank <= rank &&
				  (v->type.rank < rank || dim_is(l->cx, v->type.dims[0], 1))
			: v->type.rank == rank && is_batch_last(l, v));
}

/* The integers of a constant; false: v is none, or there are more than `most` */
static bool ints_of(const struct value *v, int64_t *list, uint32_t most)
{
	if (!v || !v->data || !v->data->data || v->data->count > most)
		return false;
	for (uint64_t i = 0; i < v->data->count; i++)
		if (!tensor_int(v->data, i, &list[i]))
			return false;
	return true;
}

/* The axes that a Slice names, none of which is axis 0; 0: not known */
static uint32_t sliced_axes(const struct node *n, int64_t *axes)
{
	if (n->nin < 4 || !ints_of(n->in[3], axes, MAX_RANK))
		return 0;
	for (uint32_t i = 0; i < n->in[3]->data->count; i++) {
		axes[i] = from_front(axes[i], n->in[0]->type.rank);
		if (axes[i] <= 0)
			return 0;
	}
	return (uint32_t)n->in[3]->data->count;
}

static bool can_be_batch_last_pad(const struct node *n)
{
	uint32_t rank = n->in[0]->type.rank;
	int64_t pads[2 * MAX_RANK];

	return n->nin <= 3 && ints_of(n->in[1], pads, 2 * MAX_RANK) && !pads[0] && !pads[rank];
}

/* Trilu works on the last two axes: of a batch-last array, a Where with a mask does the same. */
static bool can_be_batch_last_trilu(struct layouts *l, const struct node *n)
{
	const struct type *t = &n->out[0]->type;
	int64_t rows, columns, k;

	return t->rank > 2 && is_float((enum dtype)t->dtype) && dtypes[t->dtype].size >= 4 &&
	       !l->cx->opt.signed_zeros && dim_is_const(l->cx, t->dims[t->rank - 2], &rows) &&
	       dim_is_const(l->cx, t->dims[t->rank - 1], &columns) && rows <= MAX_MASK &&
	       columns <= MAX_MASK && (n->nin < 2 || !n->in[1] || ints_of(n->in[1], &k, 1));
}

/* Can n, which reads a batch-last array, compute on it? */
bool can_be_batch_last(struct layouts *l, const struct node *n)
{
	int axes[MAX_RANK];
	int64_t list[MAX_RANK];
	uint32_t rank = n->nin && n->in[0] ? n->in[0]->type.rank : 0;

	if (n->as_written || n->nout < 1)
		return false;
	if (onnx_facts[operator_of(n)].each)
		return can_be_batch_last_elements(l, n);
	for (uint32_t i = !is_onnx(n, ONNX_Concat); i < n->nin; i++)
		if (is_batch_last(l, n->in[i]) && !is_onnx(n, ONNX_Concat))
			return false;
	if (onnx_lengths(n->onnx) == ONNX_REDUCED_LENGTHS)
		return spares_points(axes, onnx_reduced_axes(n, axes));
	switch (operator_of(n)) {
	case ONNX_Unsqueeze:
		return spares_points(axes, onnx_axes(n, n->out[0]->type.rank, axes));
	case ONNX_Squeeze:
		return spares_points(axes, onnx_axes(n, rank, axes));
	case ONNX_Transpose:
		return !onnx_perm(n, 0);
	case ONNX_Concat:
	case ONNX_Split:
	case ONNX_Gather:
		return onnx_axis(n, 0) > 0;
	case ONNX_Softmax:
		return onnx_axis(n, -1) > 0 && dtypes[n->out[0]->type.dtype].size >= 4;
	case ONNX_Reshape:
		return can_be_batch_last_shape(l, n);
	case ONNX_Expand:
		return can_be_batch_last_expand(l, n);
	case ONNX_Slice:
		return sliced_axes(n, list) > 0;
	case ONNX_Pad:
		return can_be_batch_last_pad(n);
	case ONNX_Trilu:
		return can_be_batch_last_trilu(l, n);
	default:
		return false;
	}
}

/* A constant without axis 0, or with 1 there: its elements stay where they are. */
static struct value *batch_last_constant(struct layouts *l, struct value *v, uint32_t rank)
{
	struct tensor *t = new (l->cx->arena, struct tensor);
	uint32_t skip = v->type.rank == rank;

	*t = *v->data;
	t->rank = (uint8_t)(v->type.rank + !skip);
	t->shape = new_array(l->cx->arena, int64_t, t->rank + 1u);
	for (uint32_t i = 0; i + 1u < t->rank; i++)
		t->shape[i] = v->data->shape[i + skip];
	t->shape[t->rank - 1u] = 1;
	return graph_constant(l->cx, t, v->span);
}

/* v, which is not batch-last, as n reads it, whose result has `rank` axes and is batch-last */
struct value *as_batch_last(struct layouts *l, struct value *v, uint32_t rank)
{
	struct build *b = layout_of(l, v) == OUTSIDE ? &l->outer : &l->body;
	struct value *r;
	struct copy *c = v->id < l->n ? &l->copy[v->id] : NULL;

	if (is_batch_last(l, v) || is_single(l->cx, &v->type))
		return v;
	if (c && c->v && c->in == b->block && c->rank == rank)
		return c->v;
	if (is_constant(v) && (v->type.rank < rank || dim_is(l->cx, v->type.dims[0], 1))) {
		r = batch_last_constant(l, v, rank);
	} else if (v->type.rank == rank) {
		r = transpose_batch(b, v, 0, false);
		if (l->apart)
			r = barrier(b, r);
	} else {
		b->span = v->span;
		r = unsqueeze(b, v, &(int64_t){v->type.rank}, 1);
	}
	if (c)
		*c = (struct copy){r, b->block, rank};
	return r;
}

static void set_ints_input(struct layouts *l, struct node *n, uint32_t i, const int64_t *list,
			   uint32_t count)
{
	set_input(n, i, graph_ints(l->cx, list, count, n->span));
}

/* The axes that n names count one less. */
static void lower_axes(struct layouts *l, struct node *n, const int *axes, int count)
{
	int64_t list[MAX_RANK];

	for (int i = 0; i < count; i++)
		list[i] = axes[i] - 1;
	set_axes(l->cx, n, list, (uint32_t)count);
}

/* The lengths that an Expand is given, in another order */
static void relayout_lengths(struct layouts *l, struct node *n)
{
	uint32_t rank = n->out[0]->type.rank;
	int64_t list[MAX_RANK];

	for (uint32_t i = 0; i < rank; i++)
		list[i] = (i + 1) % rank;
	struct value *lengths = n->in[1], *order = const_ints(&l->body, list, rank);
	if (ints_of(lengths, list, rank)) {
		int64_t first = list[0];
		memmove(list, list + 1, (rank - 1u) * sizeof(*list));
		list[rank - 1u] = first;
		set_ints_input(l, n, 1, list, rank);
		return;
	}
	set_input(n, 1, emit_(&l->body, ONNX_Gather, lengths, order));
}

static void triangle_by_mask(struct layouts *l, struct node *n)
{
	const struct type *t = &n->out[0]->type;
	bool lower = !int_of_attr(n, "upper", 1);
	int64_t k = 0, shape[3] = {0, 0, 1};

	if (n->nin > 1 && n->in[1])
		ints_of(n->in[1], &k, 1);
	for (uint32_t i = 0; i < 2; i++)
		dim_is_const(l->cx, t->dims[t->rank - 2u + i], &shape[i]);
	struct tensor *mask = tensor_new(l->cx, DT_BOOL, 3, shape);
	uint8_t *taken = new_array(l->cx->arena, uint8_t, (size_t)(shape[0] * shape[1]) + 1u);
	for (int64_t i = 0; i < shape[0]; i++)
		for (int64_t j = 0; j < shape[1]; j++)
			taken[i * shape[1] + j] = lower ? j - i <= k : j - i >= k;
	mask->data = taken;
	struct value *where = graph_constant(l->cx, mask, n->span);
	struct value *zero = graph_number(l->cx, (enum dtype)t->dtype, 0, n->span);
	become(l->cx, n, ONNX_Where, where, n->in[0], zero);
}

/* The kernel of Softmax works along the last axis, and would transpose its operand back. */
static void softmax_by_parts(struct layouts *l, struct node *n, int axis)
{
	struct build *b = &l->body;
	struct value *x = n->in[0], *max = reduce_node(b, ONNX_ReduceMax, x, &axis, 1, true);
	struct value *e = emit_(b, ONNX_Exp, emit_(b, ONNX_Sub, x, max));

	become(l->cx, n, ONNX_Div, e, reduce_node(b, ONNX_ReduceSum, e, &axis, 1, true));
}

static void read_batch_last(struct layouts *l, struct node *n, uint32_t i, uint32_t rank)
{
	if (n->in[i])
		set_input(n, i, as_batch_last(l, n->in[i], rank));
}

void make_batch_last(struct layouts *l, struct node *n)
{
	uint32_t rank = n->in[0] ? n->in[0]->type.rank : 0, to = n->out[0]->type.rank, count;
	int64_t list[2 * MAX_RANK], pads[2 * MAX_RANK];
	int axes[MAX_RANK];

	if (onnx_facts[operator_of(n)].each || is_onnx(n, ONNX_Concat))
		for (uint32_t i = 0; i < n->nin; i++)
			read_batch_last(l, n, i, to);
	else
		read_batch_last(l, n, 0, is_onnx(n, ONNX_Expand) ? to : rank);
	l->body.span = n->span;
	if (onnx_lengths(n->onnx) == ONNX_REDUCED_LENGTHS)
		lower_axes(l, n, axes, onnx_reduced_axes(n, axes));
	switch (operator_of(n)) {
	case ONNX_Unsqueeze:
		lower_axes(l, n, axes, onnx_axes(n, to, axes));
		break;
	case ONNX_Squeeze:
		lower_axes(l, n, axes, onnx_axes(n, rank, axes));
		break;
	case ONNX_Transpose:
		for (uint32_t i = 0; i < rank; i++)
			list[i] = i + 1 < rank ? onnx_perm(n, i + 1) - 1 : i;
		set_ints(l->cx, n, "perm", list, rank);
		break;
	case ONNX_Concat:
	case ONNX_Split:
	case ONNX_Gather:
		list[0] = (int64_t)onnx_axis(n, 0) - 1;
		set_int(l->cx, n, "axis", list[0]);
		break;
	case ONNX_Reshape:
		for (uint32_t i = 0; i + 1u < to; i++)
			dim_is_const(l->cx, n->out[0]->type.dims[i + 1], &list[i]);
		list[to - 1u] = -1;
		set_ints_input(l, n, 1, list, to);
		break;
	case ONNX_Expand:
		relayout_lengths(l, n);
		break;
	case ONNX_Trilu:
		triangle_by_mask(l, n);
		break;
	case ONNX_Softmax:
		softmax_by_parts(l, n, (int)onnx_axis(n, -1) - 1);
		break;
	case ONNX_Slice:
		count = sliced_axes(n, list);
		for (uint32_t i = 0; i < count; i++)
			list[i]--;
		set_ints_input(l, n, 3, list, count);
		break;
	case ONNX_Pad:
		ints_of(n->in[1], pads, 2 * MAX_RANK);
		for (uint32_t i = 0; i < 2 * rank; i++)
			list[i] = pads[i / rank * rank + (i % rank + 1u) % rank];
		set_ints_input(l, n, 1, list, 2 * rank);
		break;
	default:
		break;
	}
	for (uint32_t i = 0; i < n->nout; i++)
		n->out[i]->type = batch_last_type(l->cx, n->out[i]->type, 0);
}
