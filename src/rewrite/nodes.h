/*
 * nodes.h: rewrites of single nodes, which rewrite.c lists and applies, and what they share. Such a
 * rewrite gets a node of the operator that its row names, whose inputs are up to date. It gives the
 * value that stands for the node's only result from now on. Or it changes the node, and gives NULL;
 * it does so too where it finds nothing.
 *
 * Other operators and inputs are given to a node by become(), set_input() and set_inputs() alone,
 * which keep value->uses right (graph/uses.h).
 */
#ifndef PTGC_REWRITE_NODES_H
#define PTGC_REWRITE_NODES_H

#include "graph/uses.h"
#include "rewrite/rewrite.h"

/* Is v the result of a node of that operator, which is still there? */
static inline bool is_op(const struct value *v, enum onnx_id id)
{
	return is_onnx(v->def, id) && !v->def->dead;
}

/* node_shapes.c */
struct value *drop_identity(struct ctx *cx, struct node *n);
struct value *drop_slice(struct ctx *cx, struct node *n);
struct value *merge_casts(struct ctx *cx, struct node *n);
struct value *merge_transposes(struct ctx *cx, struct node *n);
struct value *concat_in_place(struct ctx *cx, struct node *n);
struct value *transpose_factors(struct ctx *cx, struct node *n);
struct value *merge_concats(struct ctx *cx, struct node *n);
struct value *merge_reshapes(struct ctx *cx, struct node *n);
struct value *undo_axes(struct ctx *cx, struct node *n);
struct value *slice_before_expand(struct ctx *cx, struct node *n);
struct value *drop_expand(struct ctx *cx, struct node *n);
struct value *split_concat(struct ctx *cx, struct node *n);
/* node_pads.c */
struct value *cut_before_padding(struct ctx *cx, struct node *n);
/* node_axes.c */
struct value *keep_axes(struct ctx *cx, struct node *n);
/* node_arithmetic.c */
struct value *make_gemm(struct ctx *cx, struct node *n);
struct value *make_reciprocal(struct ctx *cx, struct node *n);
struct value *drop_zero(struct ctx *cx, struct node *n);
struct value *drop_negative(struct ctx *cx, struct node *n);
struct value *drop_repeated(struct ctx *cx, struct node *n);
struct value *join_choices(struct ctx *cx, struct node *n);
struct value *compare_before_log(struct ctx *cx, struct node *n);
struct value *make_finite(struct ctx *cx, struct node *n);
struct value *divide_by_sum(struct ctx *cx, struct node *n);
struct value *make_relu(struct ctx *cx, struct node *n);

#endif
