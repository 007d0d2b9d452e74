/*
 * least_runtime.c: from which release of ONNX Runtime on a model is right. In: the final graph.
 * Out: cx->least_runtime, and an entry of the model's metadata for programs that choose a runtime.
 * A release is right if it knows the opset, and has a kernel for each node that computes what the
 * operator says. It may be older than the ones that the model was asked to be for.
 */
#include <string.h>

#include "ort/ort.h"

/* May an older release make a FusedMatMul of n, which prevent_fusion() did not see to? */
static bool may_fuse(struct ctx *cx, const struct node *n)
{
	return computes(n, ONNX_MatMul) && n->out[0]->type.dtype == DT_FLOAT64 &&
	       cx->opt.runtime > LAST_WITHOUT_FUSED;
}

static release_set releases_of_block(struct ctx *cx, const struct block *b)
{
	release_set all = ~(release_set)0;
	enum dtype in[64], out[64];

	for (struct walk w = {.root = b}; walk(&w, WALK_BEFORE);) {
		const struct node *n = w.at.node;
		uint32_t nin = n->nin < 64 ? n->nin : 64, nout = n->nout < 64 ? n->nout : 64;
		for (uint32_t i = 0; i < nin; i++)
			in[i] = n->in[i] ? (enum dtype)n->in[i]->type.dtype : DT_NONE;
		for (uint32_t i = 0; i < nout; i++)
			out[i] = (enum dtype)n->out[i]->type.dtype;
		all &= kernel_releases(n->onnx, in, nin, out, nout) & ~wrong_releases(cx, n);
		if (!strcmp(n->onnx->domain, ML_DOMAIN))
			all &= releases_from(least_release_of_ml(n->onnx->since));
		if (may_fuse(cx, n))
			all &= releases_from(LAST_WITHOUT_FUSED + 1);
	}
	return all;
}

void note_least_runtime(struct ctx *cx, const struct graph *g)
{
	if (cx->opt.target == PTGC_ONNX || cx->opt.target == PTGC_C || cx->errors)
		return;
	cx->least_runtime = least_release(releases_of_block(cx, g->block) &
					  releases_from(least_release_of_opset(cx->opt.opset)));
	add_meta(cx, arena_printf(cx->arena, "least_runtime=onnxruntime 1.%d", cx->least_runtime));
}
