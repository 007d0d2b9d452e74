/*
 * edit.c: nodes of a graph of ONNX nodes that are changed where they stand. In: a node. Out: the
 * same node with another operator, other inputs, attributes or results; uses are counted. New nodes
 * are made by a builder (build_at() of lower/build.h).
 */
#include <string.h>

#include "graph/uses.h"
#include "rewrite/rewrite.h"

void turn_into(struct ctx *cx, struct node *n, enum onnx_id op)
{
	n->onnx = onnx_find(op, cx->opt.opset);
}

void become_(struct ctx *cx, struct node *n, enum onnx_id op, uint32_t nin, struct value *const *in)
{
	struct value **copy = new_array(cx->arena, struct value *, nin);

	turn_into(cx, n, op);
	n->nattrs = 0;
	set_inputs(n, memcpy(copy, in, nin * sizeof(*in)), nin);
}

struct value *part_result(struct ctx *cx, struct node *n, uint32_t i)
{
	struct value *v = graph_value(cx, n->out[i]->type, n->out[i]->span);

	v->def = n;
	return n->out[i] = v;
}

void take_over(const struct build *b, struct value *old)
{
	old->def = b->after;
	b->after->out[0] = old;
}

void put_barrier(struct build b, struct node *n, uint32_t i)
{
	b.span = n->in[i]->span;
	set_input(n, i, barrier(&b, n->in[i]));
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

void set_block(struct ctx *cx, struct node *n, const char *name, struct block *v)
{
	new_attr(cx, n, name, AT_GRAPH)->u.block = v;
}

void set_axes(struct ctx *cx, struct node *n, const int64_t *axes, uint32_t count)
{
	if (!takes_axes(n->onnx)) {
		set_ints(cx, n, "axes", axes, count);
		return;
	}
	struct value **in = new_array(cx->arena, struct value *, 2);
	in[0] = n->in[0];
	in[1] = graph_ints(cx, axes, count, n->span);
	set_inputs(n, in, 2);
}
