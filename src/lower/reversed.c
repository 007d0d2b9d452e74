/*
 * reversed.c: x[::-1] as late as possible (-fno-fold turns it off). In: an operator and its inputs,
 * before a node is made. Out: x[::-1] * y[::-1] as (x * y)[::-1], so that one Slice is left of two
 * and x * y may be there already; x[::-1][::-1] as x; cumsum(x[::-1]) as the cumsum of x from its
 * end. Gradients of cumsum and of loops reverse what they read and what they give. The bits stay.
 */
#include "lower/build.h"

#define MAX_IN    3
#define FEW_ITEMS 256 /* of a constant that is reversed while compiling */

/* The one axis and the start of v = x[start::-1] along it */
static bool goes_back(const struct value *v, int64_t *axis, int64_t *start)
{
	const struct node *n = v->def;
	int64_t stop, step;

	return is_onnx(n, ONNX_Slice) && n->nin == 5 &&
	       single_int(constant_data(n->in[1]), start) &&
	       single_int(constant_data(n->in[2]), &stop) &&
	       single_int(constant_data(n->in[3]), axis) &&
	       single_int(constant_data(n->in[4]), &step) && step == -1 && stop == INT64_MIN &&
	       *axis >= 0;
}

/* x of v = x[::-1] along *axis; NULL: v is no such thing */
static struct value *behind_reversal(const struct value *v, int64_t *axis)
{
	int64_t start;

	return goes_back(v, axis, &start) && (start == INT64_MAX || start == -1) ? v->def->in[0]
										 : NULL;
}

static struct value *reverse(struct build *b, struct value *x, int64_t axis)
{
	int64_t start = INT64_MAX, stop = INT64_MIN, step = -1;
	struct value *by = const_ints(b, &step, 1), *to = const_ints(b, &stop, 1);

	return with_dims(slice(b, x, &axis, 1, const_ints(b, &start, 1), to, by), x->type.dims);
}

/* Is v the same all along the axis that has this number from behind? */
static bool broadcasts_along(struct build *b, const struct value *v, int64_t behind)
{
	return v->type.rank <= behind || dim_is(b->cx, v->type.dims[v->type.rank - 1 - behind], 1);
}

static struct value *of_elements(struct build *b, const struct onnx_op *op, struct value **in,
				 uint32_t nin)
{
	struct value *bare[MAX_IN], *x, *r;
	int64_t axis, behind = -1;
	uint32_t count = 0, rank = 0;
	bool computed = false; /* else all are constants, which the rewrites fold */

	if (nin > MAX_IN || nin < 2)
		return NULL;
	for (uint32_t i = 0; i < nin; i++) {
		rank = in[i]->type.rank > rank ? in[i]->type.rank : rank;
		if (behind < 0 && behind_reversal(in[i], &axis))
			behind = in[i]->type.rank - 1 - axis;
	}
	if (behind < 0)
		return NULL;
	for (uint32_t i = 0; i < nin; i++) {
		bare[i] = in[i];
		if (broadcasts_along(b, in[i], behind))
			continue;
		x = behind_reversal(in[i], &axis);
		if (x && in[i]->type.rank - 1 - axis == behind) {
			bare[i] = x;
			computed |= !is_constant(x);
		} else if (is_constant(in[i]) && in[i]->data->count <= FEW_ITEMS)
			bare[i] = reverse(b, in[i], in[i]->type.rank - 1 - behind);
		else
			return NULL;
		count++;
	}
	if (count < 2 || !computed)
		return NULL;
	r = emit(b, op->id, bare, nin);
	return r->type.rank == rank ? reverse(b, r, rank - 1 - behind) : NULL;
}

/* Items that a Concat stacked along this axis are stacked in the other order. An unrolled loop of
 * the library that goes from the last row to the first leaves such nodes. */
static struct value *of_stack(struct build *b, const struct value *v, int64_t axis)
{
	const struct node *n = v->def;

	if (!is_onnx(n, ONNX_Concat) || axis < 0 || onnx_axis(n, 0) != axis)
		return NULL;
	struct value **in = new_array(b->cx->arena, struct value *, n->nin);
	for (uint32_t i = 0; i < n->nin; i++) {
		if (!dim_is(b->cx, n->in[i]->type.dims[axis], 1))
			return NULL;
		in[n->nin - 1 - i] = n->in[i];
	}
	return with_dims(concat(b, (int)axis, in, n->nin), v->type.dims);
}

/* x[::-1][k::-1] */
static struct value *of_slice(struct build *b, struct value **in, uint32_t nin)
{
	int64_t axis, own, start, stop, step;
	struct value *x = behind_reversal(in[0], &axis);

	if (nin != 5 || !single_int(constant_data(in[1]), &start) ||
	    !single_int(constant_data(in[2]), &stop) || !single_int(constant_data(in[3]), &own) ||
	    !single_int(constant_data(in[4]), &step) || step != -1 || stop != INT64_MIN)
		return NULL;
	if (start == INT64_MAX || start == -1) {
		struct value *stack = of_stack(b, in[0], own);
		if (stack)
			return stack;
	}
	if (!x || own != axis)
		return NULL;
	if (start == INT64_MAX || start == -1)
		return x;
	if (start >= 0 || start == INT64_MIN)
		return NULL;
	start = -start - 1;
	stop = INT64_MAX;
	return slice_ints(b, x, axis, start, stop);
}

static struct value *of_cumsum(struct build *b, struct value **in, uint32_t nin)
{
	int64_t axis, own;
	struct value *x = behind_reversal(in[0], &axis);

	if (!x || nin != 2 || !single_int(constant_data(in[1]), &own) || own != axis)
		return NULL;
	attr_int(b, "reverse", 1);
	return reverse(b, emit_(b, ONNX_CumSum, x, in[1]), axis);
}

struct value *reversed_later(struct build *b, const struct onnx_op *op, struct value **in,
			     uint32_t nin)
{
	if (!flag_is_on(b->cx, FLAG_FOLD) || op->domain[0] || b->nattrs || !nin)
		return NULL;
	for (uint32_t i = 0; i < nin; i++)
		if (!in[i])
			return NULL;
	if (op->id == ONNX_Slice)
		return of_slice(b, in, nin);
	if (op->id == ONNX_CumSum)
		return of_cumsum(b, in, nin);
	return onnx_facts[op->id].each ? of_elements(b, op, in, nin) : NULL;
}

struct value *reduced_reversed(struct build *b, enum onnx_id op, struct value *v, const int *axes,
			       int n, bool keepdims)
{
	int64_t axis, before = 0;
	struct value *x = flag_is_on(b->cx, FLAG_FOLD) ? behind_reversal(v, &axis) : NULL;

	if (!x)
		return NULL;
	for (int i = 0; i < n; i++) {
		if (axes[i] == axis)
			return NULL; /* sums are added in their order */
		before += axes[i] < axis;
	}
	x = reduce(b, op, x, axes, n, keepdims);
	return reverse(b, x, keepdims ? axis : axis - before);
}
