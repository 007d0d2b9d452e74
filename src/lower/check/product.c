/*
 * product.c: what a matrix product checks by itself. MatMul and Gemm fail where the lengths that
 * they add along differ, so such an equation needs no guard. In: the equation, and the product.
 * Out: the node that compares these very lengths, or NULL. Must hold: the factors have them by
 * their own nature, not by a computed shape, which may have been computed from the other side.
 */
#include "lower/check/guard.h"

/* The argument of n that is the left matrix of a product; the right one follows it. Negative: n is
 * lowered to no such product. */
int left_factor(const struct node *n)
{
	if (!n->op || n->op < op_table || n->op >= op_table + op_count)
		return -1;
	switch ((int)(n->op - op_table)) {
	case OP_Gemm:
	case OP_Gemv:
	case OP_CGemv:
		return 2;
	case OP_Dot:
	case OP_Matmul:
	case OP_BatchedDot:
	case OP_Dot22:
	case OP_Dot22Scalar:
		return 0;
	}
	return -1;
}

#define MAX_STEPS 64 /* nodes that are looked at */

static uint32_t inner_axis(const struct type *t, bool left)
{
	return left || t->rank == 1 ? t->rank - 1u : t->rank - 2u;
}

bool is_inner_length(struct build *b, const struct node *n, dim d)
{
	int left = left_factor(n);

	if (left < 0 || !n->in[left]->type.rank || !n->in[left + 1]->type.rank)
		return false;
	struct type x = n->in[left]->type;
	return dim_eq(b->cx, d, x.dims[inner_axis(&x, true)]);
}

/* What is given: no length of it was computed. */
static bool is_given(struct build *b, const struct value *v)
{
	return v->data || !v->def || is_guarded_input(b, v);
}

/* A length on its way back to where it comes from. */
struct trace {
	struct value *v;
	uint32_t axis;
	const struct side *is; /* what it is compared with */
	bool found;            /* a given value beside it, whose length it must have, is that */
	bool beside;           /* there is such a value, this or another */
};

/* From one axis of a broadcast to the first input that has it; false: another one may stretch it.
 */
static bool step_broadcast(struct build *b, const struct node *n, struct trace *t)
{
	uint32_t rank = n->out[0]->type.rank, at = t->axis;

	t->v = NULL;
	for (uint32_t i = 0; i < n->nin; i++) {
		struct value *v = n->in[i];
		uint32_t lost = rank - v->type.rank;
		if (at < lost || dim_eq(b->cx, v->type.dims[at - lost], dim_const(b->cx, 1)))
			continue;
		if (!t->v) {
			t->v = v;
			t->axis = at - lost;
		} else if (is_given(b, v) && !is_left_to_product(b, v, at - lost)) {
			t->beside = true;
			t->found |= v == t->is->of && at - lost == t->is->axis;
		} else {
			return false;
		}
	}
	return t->v != NULL;
}

/* From one axis behind an Unsqueeze, which is none of those that it adds. */
static bool step_unsqueeze(const struct node *n, struct trace *t)
{
	const struct tensor *axes = n->in[1]->data;
	int64_t rank = n->out[0]->type.rank, axis, before = 0;

	for (uint64_t i = 0; axes && i < axes->count; i++) {
		if (!tensor_int(axes, axes->splat ? 0 : i, &axis))
			return false;
		axis = axis < 0 ? axis + rank : axis;
		if (axis == t->axis)
			return false;
		before += axis < t->axis;
	}
	t->axis -= (uint32_t)before;
	t->v = n->in[0];
	return axes != NULL;
}

/* From one axis of n's result to the value that it has it from. */
static bool step(struct build *b, const struct node *n, struct trace *t)
{
	enum onnx_lengths kind = onnx_lengths(n->onnx);

	if (kind == ONNX_BROADCAST_LENGTHS)
		return step_broadcast(b, n, t);
	if (is_onnx(n, ONNX_MatMul) && n->in[0]->type.rank == 2 && n->in[1]->type.rank == 2) {
		t->v = n->in[t->axis];
		return true;
	}
	if (is_onnx(n, ONNX_Unsqueeze))
		return step_unsqueeze(n, t);
	if (is_onnx(n, ONNX_Transpose) && n->nattrs == 1)
		t->axis = (uint32_t)n->attrs[0].u.ints[t->axis];
	else if (kind != ONNX_FIRST_LENGTHS)
		return false;
	t->v = n->in[0];
	return true;
}

/* Is it sure that what stood beside has the length of what was found? Not if the very equation, or
 * one that another product checks, says so: two products would rely on each other. */
static bool is_sure(struct build *b, const struct trace *t)
{
	return !t->beside || !is_left_to_product(b, t->v, t->axis);
}

/* Is s the length of that axis of v? */
static bool has_length(struct build *b, struct value *v, uint32_t axis, const struct side *s)
{
	struct trace t = {.v = v, .axis = axis, .is = s};

	for (uint32_t i = 0; i < MAX_STEPS; i++) {
		if (t.v == s->of)
			return t.axis == s->axis && is_sure(b, &t);
		if (is_given(b, t.v))
			return is_sure(b, &t) &&
			       (t.found ||
				(s->v->data && dim_eq(b->cx, t.v->type.dims[t.axis], s->d)));
		const struct node *n = t.v->def;
		if (!n->onnx || n->out[0] != t.v || !step(b, n, &t))
			return false;
	}
	return false;
}

/* Does node n compare the two? */
static bool compares(struct build *b, const struct node *n, const struct side *x,
		     const struct side *y)
{
	struct value *l = n->in[0], *r = n->in[1];
	uint32_t i = inner_axis(&l->type, true), j = inner_axis(&r->type, false);

	return (has_length(b, l, i, x) && has_length(b, r, j, y)) ||
	       (has_length(b, l, i, y) && has_length(b, r, j, x));
}

struct value *product_that_checks(struct build *b, const struct node *n, struct value *v,
				  const struct side *x, const struct side *y)
{
	vec(struct value *) todo = {0};

	*vec_push(b->cx->scratch, &todo) = v;
	for (uint32_t seen = 0; todo.len && seen < MAX_STEPS; seen++) {
		const struct node *d = todo.at[--todo.len]->def;
		if (!d || d->span.begin != n->span.begin || d->span.end != n->span.end)
			continue;
		if (is_onnx(d, ONNX_MatMul) || is_onnx(d, ONNX_Gemm))
			return compares(b, d, x, y) ? d->out[0] : NULL;
		for (uint32_t i = 0; i < d->nin; i++)
			if (d->in[i])
				*vec_push(b->cx->scratch, &todo) = d->in[i];
	}
	return NULL;
}
