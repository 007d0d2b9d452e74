/*
 * node_pads.c: a part that is cut out of a sum of padded arrays is cut out of the arrays, where it
 * has none of what Pad put around them: Slice(Pad(x) - Pad(y)) is Slice(x) - Slice(y). Gradients of
 * differences have such nodes.
 */
#include <string.h>

#include "rewrite/nodes.h"

#define MAX_PADDED 8 /* nodes of the sum */

/* A sum of arrays, each of which is padded along an axis */
struct padded {
	struct value *nodes[MAX_PADDED]; /* Pad, and behind it Add, Sub and Neg */
	uint32_t n;
};

/* What a Pad puts before and behind x along this axis, if it pads no other one; false: it is no
 * such Pad, or others read it */
static bool pads_along(struct ctx *cx, const struct value *v, uint32_t axis, int64_t *before,
		       int64_t *length)
{
	uint32_t rank = v->type.rank;
	int64_t k;

	if (!is_op(v, ONNX_Pad) || !is_used_once(v) || v->def->nin > 3 || !v->def->in[1]->data ||
	    v->def->in[1]->data->count != 2 * (uint64_t)rank ||
	    !dim_is_const(cx, resolve(v->def->in[0])->type.dims[axis], length))
		return false;
	const struct attr *mode = find_attr(v->def, "mode");
	if (mode && (mode->u.s.len != 8 || memcmp(mode->u.s.s, "constant", 8)))
		return false;
	for (uint32_t i = 0; i < 2 * rank; i++) {
		if (!tensor_int(v->def->in[1]->data, i, &k) || k < 0 || (i % rank != axis && k))
			return false;
		if (i == axis)
			*before = k;
	}
	return true;
}

/* Are elements [start, end) of v, along the axis, those of arrays that v pads? */
static bool pads_all_around(struct ctx *cx, struct padded *p, struct value *v, uint32_t axis,
			    int64_t start, int64_t end)
{
	int64_t before, length;

	p->n = 0;
	p->nodes[p->n++] = v;
	for (uint32_t i = 0; i < p->n; i++) {
		v = p->nodes[i];
		if (pads_along(cx, v, axis, &before, &length)) {
			if (start < before || end > before + length)
				return false;
			continue;
		}
		if (!is_used_once(v) ||
		    (!is_op(v, ONNX_Add) && !is_op(v, ONNX_Sub) && !is_op(v, ONNX_Neg)) ||
		    p->n + v->def->nin > MAX_PADDED)
			return false;
		for (uint32_t k = 0; k < v->def->nin; k++) {
			struct value *x = resolve(v->def->in[k]);
			if (!same_type(cx, &x->type, &v->type))
				return false;
			p->nodes[p->n++] = x;
		}
	}
	return true;
}

/* Split of which only one part is read, of a sum of padded arrays, is the sum of parts of the
 * arrays: x[1:] - x[:-1] has a gradient that is padded, and then joined parts of it are cut off. */
struct value *cut_before_padding(struct ctx *cx, struct node *n)
{
	int64_t axis = onnx_axis(n, 0), start = 0, end = 0, size, before, length;
	struct value *part = NULL;
	struct padded p;

	if (n->nin < 2 || !n->in[1]->data)
		return NULL;
	for (uint32_t i = 0; i < n->nout; i++) {
		if (!tensor_int(n->in[1]->data, i, &size) ||
		    (n->out[i]->uses && (part || n->out[i]->is_result)))
			return NULL;
		part = n->out[i]->uses ? n->out[i] : part;
		start += part ? 0 : size;
		end = part == n->out[i] ? start + size : end;
	}
	if (!part || !pads_all_around(cx, &p, n->in[0], (uint32_t)axis, start, end))
		return NULL;
	for (uint32_t i = p.n; i--;) {
		struct value *v = p.nodes[i];
		struct node *m = v->def;
		dim *d = new_array(cx->arena, dim, v->type.rank);
		memcpy(d, v->type.dims, v->type.rank * sizeof(*d));
		d[axis] = part->type.dims[axis];
		v->type.dims = d;
		if (!pads_along(cx, v, (uint32_t)axis, &before, &length))
			continue;
		struct value *from = graph_ints(cx, &(int64_t){start - before}, 1, n->span);
		struct value *to = graph_ints(cx, &(int64_t){end - before}, 1, n->span);
		become(cx, m, ONNX_Slice, m->in[0], from, to,
		       graph_ints(cx, &(int64_t){axis}, 1, n->span));
	}
	replace_all_uses(part, n->in[0]);
	drop_node(n);
	return NULL;
}
