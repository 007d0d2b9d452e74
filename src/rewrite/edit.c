/* edit.c: nodes that are put into a graph of ONNX nodes after lowering. */
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
