/*
 * typed.h: passes over the graph of PyTensor's ops, between elaboration and lowering.
 */
#ifndef PTGC_TYPED_TYPED_H
#define PTGC_TYPED_TYPED_H

#include "ops/ops.h"

/* narrow.c: --float32, for runtimes without float64. Afterwards what was float64 in g is float32,
 * what was complex128 is complex64. */
void narrow_floats(struct ctx *cx, struct graph *g);
/* Reports inputs and outputs that are float64, for a target that has none. */
void refuse_float64(struct ctx *cx, struct graph *g);
/* generators.c: generators of random numbers become the words of their states, which are uint64
 * along one more axis. */
void words_of_generators(struct ctx *cx, struct graph *g);
/* equal.c: what a text computes twice is one value for the passes below. -fno-cse leaves it. */
void merge_equal_calls(struct ctx *cx, struct graph *g);
/* needed.c: by value id, up to cx->next_id of now: do the results, a next state or a node without
 * results need the value? */
bool *needed_values(struct ctx *cx, const struct graph *g);
/* choices.c: of what constants choose from, and what is compared or guarded twice, one is computed.
 * -fno-choices leaves all. */
void choose_early(struct ctx *cx, struct graph *g);
/* covariance.c: gradients of Cholesky's factor by a log determinant and a quadratic form take the
 * inverse of the factor in place of two solves. -fno-reassociate leaves them. */
void invert_covariances(struct ctx *cx, struct graph *g);
/* repeats.c: what is summed up over the elements of constants is computed once for those that are
 * the same. -fno-repeats leaves all. */
void join_repeats(struct ctx *cx, struct graph *g);
/* costs.c: what a call takes in ONNX Runtime, in nanoseconds: `node`, and `element` for each
 * element of its result. Only comparisons of sums say something. */
struct call_cost {
	double node, element;
	uint32_t nodes; /* of ONNX that the call becomes */
	/* which calls: of the op, giving this dtype, of so many arguments, some of them numbers */
	const struct op *op;
	enum dtype dtype;
	uint32_t nin, numbers;
};
struct costs {
	struct ctx *cx;
	vec(struct call_cost) known;
};
struct call_cost cost_of_call(struct costs *c, const struct node *n);
/* axes.c. Axis a of the results of n is which axis of argument i? NO_AXIS: the argument is the same
 * for all places along a. REFUSED: places along a depend on other places, or n is another op.
 * COUNTED: the argument is a constant 0, 1, 2, ..., the numbers of the places. */
enum { NO_AXIS = -1, REFUSED = -2, COUNTED = -3 };
int axis_of(struct ctx *cx, struct node *n, uint32_t i, int a);
/* share.c: calls of one op of the library, such as Gammaln, on small arrays of a block become one
 * call on all of them, joined. -fno-share-calls leaves them. */
void share_calls(struct ctx *cx, struct graph *g);
/* verify.c: values are defined before they are read and have the types that the rules of their ops
 * give; bug() where not */
void verify_typed(struct ctx *cx, struct graph *g);

#endif
