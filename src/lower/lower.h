/*
 * lower.h: lowering as a pass: a graph of PyTensor nodes becomes one of ONNX nodes. build.h has
 * what the lowerings of single ops are written with.
 */
#ifndef PTGC_LOWER_LOWER_H
#define PTGC_LOWER_LOWER_H

#include "ops/ops.h"

struct build;

/* Emits ONNX nodes for a typed PyTensor node, and says with lowered() which values hold the node's
 * results; false: reported. */
typedef bool lower_fn_t(struct build *b, struct node *n);
/* by op: those that ops.def names, NULL for the others; ops/lowerings.c */
extern lower_fn_t *const lowerings[OP_COUNT];

/* NULL: there were errors */
struct graph *lower(struct ctx *cx, struct graph *g, lower_fn_t *const *of_op);

#endif
