/*
 * pieces.c: x[1:] of x = Concat(first, trace) may be just trace: then there is no need for the
 * Concat and the Slice. x[-1] is an item of trace, if that has one, and that is what the loop ends
 * with; an item of a Transpose or an Expand is one of what was transposed or expanded. In: x, the
 * index of each axis. Out: the tensor to read from instead of x, and the changed index.
 */
#include "lower/ops/index.h"

#define MAX_PARTS    4 /* that were joined: of more, a slice is not joined again */
#define MAX_FROM_END 64

/* A bound of a slice; one that counts from the end as it counts from the start */
static dim bound_from_start(struct build *b, struct value *v, dim size)
{
	dim d = known_at(b->cx, v, 0);
	int64_t k;

	return d && dim_is_const(b->cx, d, &k) && k < 0 && k >= -MAX_FROM_END &&
			       dim_ge(b->cx, size, -k)
		       ? dim_add(b->cx, size, d)
		       : d;
}

/* The index of an axis as from:to. false: not known, or with a step */
static bool read_range(struct build *b, const struct index *ix, dim size, dim *from, dim *to)
{
	struct ctx *cx = b->cx;
	int64_t k;

	if (ix->kind == IX_ARRAY) {
		if (ix->v[0]->type.rank || !known_int(b->cx, ix->v[0], 0, &k) || k < 0)
			return false;
		*from = dim_const(cx, k);
		*to = dim_const(cx, k + 1);
		return true;
	}
	if (ix->kind != IX_SLICE || (ix->v[2] && !(known_int(b->cx, ix->v[2], 0, &k) && k == 1)))
		return false;
	*from = ix->v[0] ? bound_from_start(b, ix->v[0], size) : dim_const(cx, 0);
	*to = ix->v[1] ? bound_from_start(b, ix->v[1], size) : size;
	return *from && *to && dim_ge(cx, *from, 0) && dim_ge(cx, *to, 0);
}

/* The input of a Concat along `axis` that covers from:to, or a Concat of some that do; NULL: none
 */
static struct value *concat_piece(struct build *b, const struct node *n, dim from, dim to,
				  uint32_t axis)
{
	dim start = dim_const(b->cx, 0);
	uint32_t first = n->nin;

	for (uint32_t i = 0; i < n->nin; i++) {
		dim stop = dim_add(b->cx, start, n->in[i]->type.dims[axis]);
		if (first == n->nin && dim_eq(b->cx, start, from))
			first = i;
		if (first < n->nin && dim_eq(b->cx, stop, to)) {
			if (i == first)
				return n->in[i];
			if (n->nin > MAX_PARTS)
				return NULL;
			attr_int(b, "axis", axis);
			return emit(b, ONNX_Concat, n->in + first, i - first + 1);
		}
		start = stop;
	}
	return NULL;
}

/* The input of a Concat that element `at` along `axis`, which may count from the end, is in as it
 * counts there; NULL: it is not known to be */
static struct value *concat_part(struct build *b, const struct node *n, int64_t at, uint32_t axis)
{
	struct value *v = n->in[at < 0 ? n->nin - 1u : 0];

	return dim_ge(b->cx, v->type.dims[axis], at < 0 ? -at : at + 1) ? v : NULL;
}

/* The input of a Pad of `axis` alone, if it covers from:to; NULL: it does not */
static struct value *pad_piece(struct build *b, const struct node *n, dim from, dim to,
			       uint32_t axis)
{
	struct value *v = n->in[0];

	if (n->nattrs || n->nin > 3 || !v->type.rank)
		return NULL;
	for (uint32_t i = 0; i < v->type.rank; i++) {
		dim before = known_at(b->cx, n->in[1], i);
		if (!before ||
		    (i != axis && (!dim_eq(b->cx, before, dim_const(b->cx, 0)) ||
				   !dim_eq(b->cx, v->type.dims[i], n->out[0]->type.dims[i]))))
			return NULL;
		if (i == axis && (!dim_eq(b->cx, before, from) ||
				  !dim_eq(b->cx, dim_add(b->cx, before, v->type.dims[i]), to)))
			return NULL;
	}
	return v;
}

/* One element along one axis, all along the others: is the index known? Then it is at *axis. */
static bool reads_item(struct build *b, const struct value *x, const struct index *ix,
		       uint32_t *axis)
{
	uint32_t found = 0;
	int64_t k;

	for (uint32_t i = 0; i < x->type.rank; i++) {
		if (ix[i].kind == IX_FULL)
			continue;
		if (found++ || ix[i].kind != IX_ARRAY || ix[i].v[0]->type.rank ||
		    !known_int(b->cx, ix[i].v[0], 0, &k))
			return false;
		*axis = i;
	}
	return found == 1;
}

/* An item of a Transpose may be one of what is transposed, if that is made of others. */
static bool read_before_transpose(struct build *b, struct value **x, struct index *ix)
{
	const struct node *n = (*x)->def;
	uint32_t rank = (*x)->type.rank, axis;
	int64_t last = -1;

	const struct node *made = n->in[0]->def;
	if ((!is_onnx(made, ONNX_Concat) && !is_onnx(made, ONNX_Expand)) ||
	    !reads_item(b, *x, ix, &axis))
		return false;
	for (uint32_t i = 0; i < rank; i++) {
		if (i == axis)
			continue;
		if (onnx_perm(n, i) < last)
			return false;
		last = onnx_perm(n, i);
	}
	struct index item = ix[axis];
	for (uint32_t i = 0; i < rank; i++)
		ix[i] = (struct index){.kind = IX_FULL};
	ix[onnx_perm(n, axis)] = item;
	*x = n->in[0];
	return true;
}

struct value *item_of_expand(struct build *b, struct value *x, const struct index *ix)
{
	const struct node *n = x->def;
	dim *dims = new_array(b->cx->arena, dim, x->type.rank + 1u);
	uint32_t axis, rank = 0;

	if (!is_onnx(n, ONNX_Expand) || !reads_item(b, x, ix, &axis))
		return NULL;
	struct value *v = n->in[0];
	if (v->type.rank != x->type.rank || !dim_eq(b->cx, v->type.dims[axis], x->type.dims[axis]))
		return NULL;
	for (uint32_t i = 0; i < x->type.rank; i++)
		if (i != axis)
			dims[rank++] = x->type.dims[i];
	if (axis)
		attr_int(b, "axis", axis);
	return expand(b, emit_(b, ONNX_Gather, v, ix[axis].v[0]), dims, rank);
}

struct value *last_of_loop(struct build *b, struct value *x, const struct index *ix)
{
	const struct node *n = x->def;
	const struct block *body = NULL;
	uint32_t axis, at = 0;
	int64_t k;

	if (!is_onnx(n, ONNX_Loop) || !reads_item(b, x, ix, &axis) || axis ||
	    !known_int(b->cx, ix[0].v[0], 0, &k) || k != -1 || !dim_ge(b->cx, x->type.dims[0], 1))
		return NULL;
	body = body_after(n, NULL);
	while (n->out[at] != x)
		at++;
	if (!body || at + 2u < n->nin) /* a state, itself */
		return NULL;
	for (uint32_t j = 0; j + 2u < n->nin; j++)
		if (behind_identity(body->results.at[1 + j]) ==
		    behind_identity(body->results.at[1 + at]))
			return n->out[j];
	return NULL;
}

static bool take_piece(struct build *b, struct value **x, struct index *ix)
{
	const struct node *n = (*x)->def;
	dim from, to;
	int64_t at;

	bool concat = is_onnx(n, ONNX_Concat), pad = is_onnx(n, ONNX_Pad);
	if (is_onnx(n, ONNX_Transpose))
		return read_before_transpose(b, x, ix);
	for (uint32_t i = 0; (concat || pad) && i < (*x)->type.rank; i++) {
		if (concat && onnx_axis(n, 0) != i)
			continue;
		if (concat && ix[i].kind == IX_ARRAY && !ix[i].v[0]->type.rank &&
		    known_int(b->cx, ix[i].v[0], 0, &at)) {
			struct value *part = concat_part(b, n, at, i);
			if (part) {
				*x = part;
				return true;
			}
		}
		if (!read_range(b, &ix[i], (*x)->type.dims[i], &from, &to))
			continue;
		struct value *v =
			concat ? concat_piece(b, n, from, to, i) : pad_piece(b, n, from, to, i);
		if (!v)
			continue;
		if (ix[i].kind == IX_ARRAY)
			ix[i].v[0] = const_int(b, 0);
		else
			ix[i] = (struct index){.kind = IX_FULL};
		*x = v;
		return true;
	}
	return false;
}

struct value *piece_of(struct build *b, struct value *x, struct index *ix)
{
	while (take_piece(b, &x, ix))
		;
	return x;
}
