/*
 * splats.c: large constants that are one number throughout become a ConstantOfShape, which takes
 * a few bytes of the model where they would take all of theirs. In: the rewritten graph. Out: the
 * same with such nodes at its start. Weights, which have a name that others may look for, stay.
 */
#include "graph/uses.h"
#include "rewrite/rewrite.h"
#include "target/target.h"

#define LARGEST 1024u /* bytes that a constant may take */

static struct value *constant_of_shape(struct ctx *cx, struct block *b, const struct value *v)
{
	const struct tensor *t = v->data;
	struct tensor *one = tensor_new(cx, (enum dtype)t->dtype, 1, &(int64_t){1});
	struct build at = build_at(cx, b, NULL);

	one->data = t->data;
	at.span = v->span;
	attr_tensor(&at, "value", one);
	struct value *r = emit_(&at, ONNX_ConstantOfShape, const_ints(&at, t->shape, t->rank));
	r->name = v->name;
	return with_dims(r, v->type.dims);
}

static bool is_large(const struct ctx *cx, const struct value *v)
{
	const struct tensor *t = constant_data(v);
	enum dtype in = DT_INT64, out;

	if (!t || !t->splat || tensor_size(t) <= LARGEST)
		return false;
	out = (enum dtype)t->dtype;
	return has_kernel(cx, ONNX_ConstantOfShape, &in, 1, &out, 1);
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
				replace_all_uses(v, constant_of_shape(cx, top, v));
			n->in[i] = v->forward;
		}
	}
}

void splats(struct ctx *cx, struct graph *g)
{
	if (g->has_splats)
		splat_block(cx, g->block);
}
