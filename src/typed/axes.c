/*
 * axes.c: how ops take axes, for repeats.c. In: a call of an op, and an axis of its results. Out:
 * the axis of an argument, each place along which one place of the results is computed from.
 */
#include "typed/repeats.h"

#define MAX_COUNTED (1 << 16) /* numbers 0, 1, 2, ... that are looked at */

bool has_axis(const int *axes, int count, int axis)
{
	for (int i = 0; i < count; i++)
		if (axes[i] == axis)
			return true;
	return false;
}

/* Of an op whose property `axes` names axes of its argument, which the result lacks (drops) or has
 * too: the axis of the argument that is axis a of the result, if each place along it is computed by
 * itself */
static int kept_axis(struct ctx *cx, const struct node *n, int a, bool drops)
{
	int axes[MAX_RANK], rank = n->in[0]->type.rank, b = 0;
	int count = prop_axes(cx, n, "axes", rank, axes, true);

	if (count < 0)
		return REFUSED;
	if (!drops)
		return has_axis(axes, count, a) ? REFUSED : a;
	for (; b < rank; b++)
		if (!has_axis(axes, count, b) && !a--)
			return b;
	return REFUSED;
}

static bool are_known(struct ctx *cx, const struct node *n, uint32_t from)
{
	for (uint32_t i = from; i < n->nin; i++)
		if (!scalar_dim(cx, n->in[i]))
			return false;
	return true;
}

static bool counts_to(const struct value *v, int64_t n)
{
	const struct tensor *t = constant_data(v);

	if (!t || t->splat || n > MAX_COUNTED || t->count != (uint64_t)n ||
	    !is_int((enum dtype)t->dtype))
		return false;
	for (int64_t i = 0, k; i < n; i++)
		if (!tensor_int(t, (uint64_t)i, &k) || k != i)
			return false;
	return true;
}

/* The same as argument_axis() for x[:, k, l, :], integer arrays k and l being next to each other.
 * At the axes of k and l, places of x are chosen by constants: x is the same for all places of x[:,
 * k], and place i of x[:, [0, 1, ...], k] is computed from place i of x. data[i] is argument i, or
 * a batch of it. */
static int indexed_axis(struct ctx *cx, const struct node *n, struct value **data, uint32_t i,
			int a)
{
	const struct cv *list = prop(cx, n, "idx_list");
	int before = 0, rank = 0, taken = 0;
	int64_t length;

	for (uint32_t k = 0; k < list->n; k++) {
		const struct cv *c = &list->u.items[k];
		if (c->kind == CV_SLICE) {
			for (uint32_t j = 0; j < 3; j++)
				if (c->u.items[j].kind != CV_NONE)
					return REFUSED;
			before += !taken;
			continue;
		}
		const struct type *t = &n->in[1 + c->u.i]->type;
		if (!is_int((enum dtype)t->dtype) || before + taken != (int)k)
			return REFUSED;
		rank = t->rank > rank ? t->rank : rank;
		taken++;
	}
	if (a < before)
		return i ? NO_AXIS : a;
	if (a >= before + rank)
		return i ? NO_AXIS : a - rank + taken;
	if (!dim_is_const(cx, n->out[0]->type.dims[a], &length))
		return REFUSED;
	for (int k = before; k < before + taken; k++) {
		uint32_t at = 1 + (uint32_t)list->u.items[k].u.i;
		const struct type *t = &n->in[at]->type;
		int b = a - before - (rank - t->rank);
		if (b < 0 || !counts_to(data[at], length) || !dim_is(cx, t->dims[b], length) ||
		    !dim_is(cx, n->in[0]->type.dims[k], length))
			continue;
		if (!i || i == at)
			return i ? COUNTED : k;
		break;
	}
	int b = i ? a - before - (rank - n->in[i]->type.rank) : NO_AXIS;
	return b < 0 ? NO_AXIS : b;
}

/* As axis_of(). data[i] is argument i, or a batch of it. */
static int argument_axis(struct ctx *cx, struct node *n, struct value **data, uint32_t i, int a)
{
	static const enum op_id reduce[] = {OP_Sum, OP_Prod, OP_Mean, OP_Max,
					    OP_Min, OP_All,  OP_Any};
	static const enum op_id along[] = {OP_Softmax, OP_LogSoftmax};
	static const enum op_id check[] = {OP_CheckAndRaise, OP_Assert};
	const struct type *x = &n->in[i]->type, *r = &n->out[0]->type;
	const struct op *op = n->op;
	int axes[MAX_RANK], b = a - (r->rank - x->rank);

	if (op->shape == sh_broadcast && n->nout == 1)
		return b < 0 ? NO_AXIS : b;
	if (is_one_of(op, check, countof(check)))
		return i ? NO_AXIS : a;
	if (is_one_of(op, reduce, countof(reduce)))
		return kept_axis(cx, n, a, true);
	if (is_call(n, OP_LogSumExp))
		return kept_axis(cx, n, a, !prop_bool(cx, n, "keepdims"));
	if (is_one_of(op, along, countof(along)))
		return kept_axis(cx, n, a, false);
	if (is_call(n, OP_ExpandDims)) {
		int count = prop_axes(cx, n, "axes", r->rank, axes, true);
		if (count < 0 || has_axis(axes, count, a))
			return REFUSED;
		for (int k = b = a; k >= 0; k--)
			b -= has_axis(axes, count, k);
		return b;
	}
	if (is_call(n, OP_Squeeze) && !prop_is_none(cx, n, "axes"))
		return kept_axis(cx, n, a, true);
	if (is_call(n, OP_AdvancedSubtensor))
		return indexed_axis(cx, n, data, i, a);
	if (is_call(n, OP_Join))
		return prop_axis(cx, n, "axis") == (uint32_t)a ? REFUSED : a;
	if (is_call(n, OP_Alloc) && are_known(cx, n, 1))
		return i || b < 0 ? NO_AXIS : b;
	if (is_call(n, OP_Split))
		return i ? NO_AXIS : prop_axis(cx, n, "axis") == (uint32_t)a ? REFUSED : a;
	return REFUSED;
}

/* The same for Blockwise, which computes each place along an axis of its batch by itself */
static int batch_axis(struct ctx *cx, struct node *n, uint32_t i, int a)
{
	static const enum op_id ops[] = {OP_LogSumExp, OP_Softmax, OP_LogSoftmax, OP_Split,
					 OP_AdvancedSubtensor};
	struct node *core = blockwise_core(cx, n);

	if (!core || !is_one_of(core->op, ops, countof(ops)))
		return REFUSED;
	int batch = n->out[0]->type.rank - core->out[0]->type.rank;
	int own = n->in[i]->type.rank - core->in[i]->type.rank;
	int b = a < batch ? a - (batch - own) : argument_axis(cx, core, n->in, i, a - batch);
	return b < 0 ? (a < batch ? NO_AXIS : b) : a < batch ? b : b + own;
}

bool is_view_or_check(const struct node *n)
{
	static const enum op_id ops[] = {OP_ExpandDims, OP_Squeeze, OP_CheckAndRaise, OP_Assert};

	return is_one_of(n->op, ops, countof(ops));
}

int axis_of(struct ctx *cx, struct node *n, uint32_t i, int a)
{
	bool batched = is_call(n, OP_Blockwise);
	const struct op *core = batched ? prop(cx, n, "core_op")->u.op->op : n->op;

	if (n->blocks || !n->in[i] || a >= n->out[0]->type.rank ||
	    (core == &op_table[OP_Split] && !n->in[1]->data))
		return REFUSED;
	return batched ? batch_axis(cx, n, i, a) : argument_axis(cx, n, n->in, i, a);
}
