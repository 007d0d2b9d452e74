/*
 * ort.h: what is done to a finished graph because of ONNX Runtime alone: its kernels that are
 * wrong, and what its optimiser would change. The target --target=onnx gets none of that.
 */
#ifndef PTGC_ORT_ORT_H
#define PTGC_ORT_ORT_H

#include "target/target.h"

struct build;

/* defend.c: nodes that ONNX Runtime computes wrongly become others; false: there are none */
bool replace_wrong_nodes(struct ctx *cx, struct graph *g);
/* For nodes that are made later: the results of n made of other nodes; false: there is no need */
bool ort_instead(struct build *b, struct node *n, struct value **out);

/* folding.c: is n the same after ONNX Runtime's optimiser, which may replace it? */
bool folds_correctly(struct build *b, const struct node *n);
struct value *unfolded(struct build *b, const struct node *n);
/* where.c: Where may lose the sign of a zero; is that of no matter for n? */
bool where_is_right(struct ctx *cx, const struct node *n);
struct value *where_with_signs(struct build *b, const struct node *n);
/* wrong_kernels.c: does ONNX Runtime's kernel compute what the operator says? */
bool has_right_kernel(struct ctx *cx, const struct node *n);
/* The releases of ONNX Runtime in which it does not */
release_set wrong_releases(struct ctx *cx, const struct node *n);
/* if not: the results of n by other operators; false: reported */
bool by_other_kernels(struct build *b, struct node *n, struct value **out);
/* fusion.c: products whose factors or transposes would be folded wrongly; false: there are none */
#define LAST_WITHOUT_FUSED 26 /* the last release without a FusedMatMul of float64 */
bool prevent_fusion(struct ctx *cx, struct graph *g);
/* casts.c: keeps Casts apart that would be merged wrongly */
void part_casts(struct ctx *cx, struct graph *g);
/* stretch.c: operands that are broadcast along short axes get the shape of the result before */
void stretch_operands(struct ctx *cx, struct graph *g);
/* The length of v's axis number i from behind; 1 where v has none, 0: not known, or 0 */
int64_t length_behind(struct ctx *cx, const struct value *v, uint32_t i);
/* layout_loops.c: loops over many short arrays have their axis 0 last */
void layout_loops(struct ctx *cx, struct graph *g);
/* layout_graph.c: short arrays of many points have their axis 0 last */
void layout_graph(struct ctx *cx, struct graph *g);
/* short_axes.c: kernels that go row by row along a short last axis work on the transposed array */
void transpose_short_axes(struct ctx *cx, struct graph *g);
/* columns.c: constant numbers beside columns get as many axes */
void number_columns(struct ctx *cx, struct graph *g);
/* conditions.c: ifs whose conditions are computed from constants */
void hide_conditions(struct ctx *cx, struct graph *g);
/* least_runtime.c: tells from which release of ONNX Runtime on the model is right:
 * cx->least_runtime, and the metadata least_runtime */
void note_least_runtime(struct ctx *cx, const struct graph *g);
/* branches.c: choices of one bool become ifs: after place_checks(), as nodes go into branches */
void decide_by_ifs(struct ctx *cx, struct graph *g);
/* What v is made of by nodes that the runtime may remove: v * 1, v + 0 and the like, and
 * `casts`. */
const struct value *behind_removable(const struct value *v, bool casts);
/* Is v a float16 that is rounded by a Cast, which the runtime drops before a cast of its own? */
bool rounding_is_lost(const struct value *v);

#endif
