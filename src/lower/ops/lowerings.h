/*
 * lowerings.h: the functions that LOWER(...) and BATCHED(...) name in ops.def; each family of ops
 * has a file here. A lowering emits ONNX nodes for a typed PyTensor node, and says with
 * set_lowered() which values hold the node's results; false: reported.
 */
#ifndef PTGC_LOWER_OPS_LOWERINGS_H
#define PTGC_LOWER_OPS_LOWERINGS_H

#include "lower/build.h"
#include "lower/lower.h"

#define OP(id, sig, body, ...) body
#define LOWER(function)        lower_fn_t function;
#define BATCHED(function)      batch_fn_t function;
#define NO_BODY
#include "ops/ops.def"

/* --- what lowerings of one family lend to others, by file --- */

/* extra_ops.c: 0, 1, ... n-1 */
struct value *iota(struct build *b, dim n);
/* batched.c: a Blockwise node by an op on the whole batch, without a Loop; rank: of the batch.
 * false: there is no such way. *ok: false: reported */
bool lower_by_batched_op(struct build *b, struct node *n, const struct opref *core,
			 const uint32_t *ranks, uint32_t rank, bool *ok);
/* batched.c: x[items, ...], int64, without its first axis: all items must be equal. Of no items:
 * zeros */
struct value *same_for_all(struct build *b, struct value *x);
/* batched_block.c: the same of a node with a block that does one item */
bool lower_block_of_batch(struct build *b, struct node *n, const uint32_t *ranks, uint32_t rank,
			  bool *ok);
/* choose.c: element i of a vector of lengths, int64[] */
struct value *length_at(struct build *b, struct value *dims, uint32_t i);
/* einsum_int.c: integers, added up exactly */
bool lower_integer_einsum(struct build *b, struct node *n);
/* dot.c: x @ y, as NumPy's matmul */
struct value *matmul(struct build *b, struct value *x, struct value *y);
/* reduce.c: the largest or smallest integer of a dtype */
struct value *dtype_limit(struct build *b, enum dtype t, bool largest);
/* x with an item more at the beginning of each of these axes, made of the number. OpenVINO pads
 * with the largest int32 as if it were the smallest one. */
struct value *prepend_number(struct build *b, struct value *x, uint64_t axes, struct value *number);
/* ReduceMax or ReduceMin of int64 by kernels that compare exactly; axes are in order */
struct value *reduce_int64(struct build *b, struct value *x, const int *axes, int naxes, bool max,
			   bool keepdims);
/* shape.c: Reshape of x to a shape that may not fit; k: its lengths as far as they are known, or
 * NULL */
struct value *reshape_computed(struct build *b, struct value *x, const struct known *k,
			       struct value *shape, struct type t);
struct value *reshape_known(struct build *b, struct value *x, const struct known *asked,
			    struct type t, bool *fails);

#endif
