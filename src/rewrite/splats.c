/*
 * splats.c: large constants that are one number throughout become a ConstantOfShape, which takes
 * a few bytes of the model where they would take all of theirs. In: the rewritten graph. Out: the
 * same with such nodes at its start. Weights, which have a name that others may look for, stay.
 */
#include "onnx/onnx.h"
#include "rewrite/rewrite.h"
#include "target/target.h"

#define LARGEST 1024u /* bytes that a constant may take */

static struct value *constant_of_shape(struct ctx *cx, struct block *b, const struct value *v)
{
	const struct tensor *t = v->data;
	struct tensor *one = tensor_new(cx, (enum dtype)t->dtype, 1, &(int64_t){1});
	struct attr *value = new (cx->arena, struct attr);
	struct value *in = graph_ints(cx, t->shape, t->rank, v->span);

	one->data = t->data;
	struct node *n = insert_node(cx, b, NULL, ONNX_ConstantOfShape, &in, 1, v->type, v->span);
	*value = (struct attr){.name = "value", .kind = AT_TENSOR, .u.t = one};
	n->out[0]->name = v->name;
	n->attrs = value;
	n->nattrs = 1;
	return n->out[0];
}

static bool is_large(const struct ctx *cx, const struct value *v)
{
	const struct tensor *t = constant_data(v);
	enum dtype in = DT_INT64, out;

	if (!t || !t->splat || tensor_size(t) <= LARGEST)
		return false;
	out = (enum dtype)t->dtype;
	return kernel_exists(cx, onnx_find(ONNX_ConstantOfShape, cx->opt.opset), &in, 1, &out, 1);
}

static void splat_block(struct ctx *cx, struct block *top)
{
	for (struct walk w = {.root = top}; walk(&w, WALK_BEFORE);) {
		struct node *n = w.at.node;
		for (uint32_t i = 0; i < n->nin; i++) {
			struct value *v = n->in[i];
			if (!v || !is_large(cx, v))
				continue;
			if (!v->forward)
				v->forward = constant_of_shape(cx, top, v);
			n->in[i] = v->forward;
		}
	}
}

void splats(struct ctx *cx, struct graph *g)
{
	if (g->has_splats)
		splat_block(cx, g->block);
}
