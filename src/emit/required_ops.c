/*
 * required_ops.c: the operators of a graph and of its blocks, as the file that a reduced build of
 * ONNX Runtime takes: "ai.onnx;18;Add,MatMul", a line for each domain. In: an ONNX graph. Out: the
 * text.
 */
#include <stdlib.h>
#include <string.h>

#include "emit/emit.h"
#include "onnx/onnx.h"

static int by_domain(const void *pa, const void *pb)
{
	const struct onnx_op *a = *(const struct onnx_op *const *)pa;
	const struct onnx_op *b = *(const struct onnx_op *const *)pb;
	int order = strcmp(a->domain, b->domain);
	return order ? order : strcmp(a->name, b->name);
}

void dump_required_ops(struct ctx *cx, const struct graph *g, struct strbuf *out)
{
	vec(const struct onnx_op *) ops = {0};

	sb_str(out, "");
	for (struct walk w = {.root = g->block}; walk(&w, WALK_BEFORE);)
		if (w.at.node->dead)
			walk_past(&w);
		else
			*vec_push(cx->scratch, &ops) = w.at.node->onnx;
	if (ops.len)
		qsort(ops.at, ops.len, sizeof(*ops.at), by_domain);
	for (uint32_t i = 0; i < ops.len; i++) {
		const struct onnx_op *op = ops.at[i], *before = i ? ops.at[i - 1] : NULL;
		bool same = before && !strcmp(before->domain, op->domain);
		if (same && !strcmp(before->name, op->name))
			continue;
		if (same)
			sb_printf(out, ",%s", op->name);
		else
			sb_printf(out, "%s%s;%d;%s", before ? "\n" : "",
				  op->domain[0] ? op->domain : "ai.onnx",
				  op->domain[0] ? (op->since ? op->since : 1) : cx->opt.opset,
				  op->name);
	}
	sb_str(out, ops.len ? "\n" : "");
}
