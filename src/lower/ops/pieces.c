/*
 * pieces.c: x[1:] of x = Concat(first, trace) may be just trace: then there is no need for the
 * Concat and the Slice. In: x, the index of each axis. Out: the tensor to read from instead of x,
 * and the changed index.
 */
#include "lower/ops/index.h"

/* The index of an axis as from:to. false: not known, or with a step */
static bool read_range(struct build *b, const struct index *ix, dim size, dim *from, dim *to)
{
	struct ctx *cx = b->cx;
	int64_t k;

	if (ix->kind == IX_ARRAY) {
		if (ix->v[0]->type.rank || !const_int_at(b, ix->v[0], 0, &k) || k < 0)
			return false;
		*from = dim_const(cx, k);
		*to = dim_const(cx, k + 1);
		return true;
	}
	if (ix->kind != IX_SLICE || (ix->v[2] && !(const_int_at(b, ix->v[2], 0, &k) && k == 1)))
		return false;
	*from = ix->v[0] ? known_at(b, ix->v[0], 0) : dim_const(cx, 0);
	*to = ix->v[1] ? known_at(b, ix->v[1], 0) : size;
	return *from && *to && dim_ge(cx, *from, 0) && dim_ge(cx, *to, 0);
}

static int64_t axis_of_concat(const struct node *n)
{
	return n->nattrs == 1 && n->attrs[0].kind == AT_INT ? n->attrs[0].u.i : 0;
}

/* The input of a Concat along `axis` that covers from:to; NULL: none */
static struct value *concat_piece(struct build *b, const struct node *n, dim from, dim to,
				  uint32_t axis)
{
	dim start = dim_const(b->cx, 0);

	for (uint32_t i = 0; i < n->nin; i++) {
		dim stop = dim_add(b->cx, start, n->in[i]->type.dims[axis]);
		if (dim_eq(b->cx, start, from) && dim_eq(b->cx, stop, to))
			return n->in[i];
		start = stop;
	}
	return NULL;
}

/* The input of a Pad of `axis` alone, if it covers from:to; NULL: it does not */
static struct value *pad_piece(struct build *b, const struct node *n, dim from, dim to,
			       uint32_t axis)
{
	struct value *v = n->in[0];

	if (n->nattrs || n->nin > 3 || !v->type.rank)
		return NULL;
	for (uint32_t i = 0; i < v->type.rank; i++) {
		dim before = known_at(b, n->in[1], i);
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

static bool take_piece(struct build *b, struct value **x, struct index *ix)
{
	const struct node *n = (*x)->def;
	dim from, to;

	bool concat = is_onnx(n, ONNX_Concat), pad = is_onnx(n, ONNX_Pad);
	for (uint32_t i = 0; (concat || pad) && i < (*x)->type.rank; i++) {
		if ((concat && axis_of_concat(n) != i) ||
		    !read_range(b, &ix[i], (*x)->type.dims[i], &from, &to))
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
