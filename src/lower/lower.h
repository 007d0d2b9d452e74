/*
 * lower.h: lowering as a pass: a graph of PyTensor nodes becomes one of ONNX nodes. build.h has
 * what the lowerings of single ops are written with.
 */
#ifndef PTGC_LOWER_LOWER_H
#define PTGC_LOWER_LOWER_H

#include "ops/ops.h"

struct build;
struct batched;
struct emit_rules;

/* Emits ONNX nodes for a typed PyTensor node, and says with set_lowered() which values hold the
 * node's results; false: reported. */
typedef bool lower_fn_t(struct build *b, struct node *n);
/* Says a Blockwise of an op as PyTensor's ops on the whole batch; false: there is no such way. */
typedef bool batch_fn_t(struct batched *m);
/* by op: those that ops.def names, NULL for the others; ops/lowerings.c */
extern const struct lowering {
	lower_fn_t *lower;
	batch_fn_t *batched;
} lowerings[OP_COUNT];

/* NULL: there were errors */
struct graph *lower(struct ctx *cx, struct graph *g, const struct lowering *of_op,
		    const struct emit_rules *rules);

#endif
