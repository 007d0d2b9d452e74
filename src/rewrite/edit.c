/*
 * edit.c: nodes that are put into a graph of ONNX nodes after lowering, and their attributes. As
 * build.c does before, it alone knows what differs between opsets.
 */
#include <string.h>

#include "graph/uses.h"
#include "ops/ops.h"
#include "rewrite/rewrite.h"

struct node *insert_node(struct ctx *cx, struct block *b, struct node *after, enum onnx_id op,
			 struct value **in, uint32_t nin, struct type t, struct span s)
{
	struct node *n = new (cx->arena, struct node);

	n->op = &op_onnx;
	n->onnx = onnx_find(op, cx->opt.opset);
	n->span = s;
	struct value **copy = new_array(cx->arena, struct value *, nin + 1);
	set_inputs(n, memcpy(copy, in, nin * sizeof(*in)), nin);
	node_results(cx, n, 1);
	n->out[0]->type = t;
	n->next = after ? after->next : b->first;
	if (after)
		after->next = n;
	else
		b->first = n;
	b->nnodes++;
	return n;
}

struct node *insert_same_shape(struct ctx *cx, struct block *b, struct node *after, struct value *v)
{
	uint32_t rank = v->type.rank;
	int64_t same[MAX_RANK] = {0}; /* 0: the length is kept */
	struct value *in[] = {v, graph_ints(cx, same, rank, v->span)};

	return insert_node(cx, b, after, ONNX_Reshape, in, 2, v->type, v->span);
}

static struct attr *new_attr(struct ctx *cx, struct node *n, const char *name, enum attr_kind kind)
{
	struct attr *all = new_array(cx->arena, struct attr, n->nattrs + 1u), *a = all;

	for (uint32_t i = 0; i < n->nattrs; i++)
		if (strcmp(n->attrs[i].name, name) != 0)
			*a++ = n->attrs[i];
	*a = (struct attr){.name = name, .kind = (uint8_t)kind};
	n->attrs = all;
	n->nattrs = (uint16_t)(a - all + 1);
	return a;
}

void set_int(struct ctx *cx, struct node *n, const char *name, int64_t v)
{
	new_attr(cx, n, name, AT_INT)->u.i = v;
}

void set_ints(struct ctx *cx, struct node *n, const char *name, const int64_t *v, uint32_t count)
{
	struct attr *a = new_attr(cx, n, name, AT_INTS);

	a->n = count;
	a->u.ints = memcpy(new_array(cx->arena, int64_t, count + 1u), v, count * sizeof(*v));
}

void set_axes(struct ctx *cx, struct node *n, const int64_t *axes, uint32_t count)
{
	if (n->onnx->nin < 2) {
		set_ints(cx, n, "axes", axes, count);
		return;
	}
	struct value **in = new_array(cx->arena, struct value *, 2);
	in[0] = n->in[0];
	in[1] = graph_ints(cx, axes, count, n->span);
	in[1]->uses++;
	n->in = in;
	n->nin = 2;
}
