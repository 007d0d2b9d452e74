/*
 * target.h: which kernels the runtime has that a model is for, and what they take. What to do where
 * there is none: lower/missing_kernels.def; where there is a wrong one: src/ort.
 */
#ifndef PTGC_TARGET_TARGET_H
#define PTGC_TARGET_TARGET_H

#include "onnx/onnx.h"

/* releases.c: releases of ONNX Runtime, known by their minor numbers: 29 is 1.29 */
#define DEFAULT_RELEASE  29 /* the least one that a model is for if the caller names none */
#define PORTABLE_RELEASE 17 /* the same of the target portable */
enum {
#define RELEASE(n, ...) RELEASE_##n = n,
#include "target/releases.def"
	NEXT_RELEASE, /* one more than the newest */
	STILL = NEXT_RELEASE - 1
};
struct release {
	int n;
	const char *version;             /* the patch that was probed: "1.29.0" */
	int opset, ml_opset, ir_version; /* the newest that it knows */
};
const struct release *find_release(int n); /* NULL: it was not probed */
int oldest_release(void);
int newest_release(void);
int least_release_of_opset(int opset); /* that knows the opset; NEXT_RELEASE: none does */
/* A set of releases, a bit each */
typedef uint32_t release_set;
#define RELEASES(first, last) ((release_set)(((2ull << (last)) - (1ull << (first))) >> 8))
release_set releases_from(int n);
release_set target_releases(const struct ctx *cx);
/* The version of the domain ai.onnx.ml that a model names: as the options say, else the newest that
 * the target has. */
int ml_version(const struct ctx *cx);
int least_release_of_ml(int version); /* those that the model is for */
/* The release from which on all are in the set; the newest one and 1 if that is not */
int least_release(release_set set);

/* The releases whose CPU provider has a kernel for the op with these dtypes of inputs and outputs
 * (DT_NONE: left out) */
release_set kernel_releases(const struct onnx_op *op, const enum dtype *in, uint32_t nin,
			    const enum dtype *out, uint32_t nout);
/* Has the target a kernel for the op with these dtypes, in all releases that the model is for? */
bool kernel_exists(const struct ctx *cx, const struct onnx_op *op, const enum dtype *in,
		   uint32_t nin, const enum dtype *out, uint32_t nout);
/* The same for the operator of the model's opset, and for a node as its values are typed */
bool has_kernel(const struct ctx *cx, enum onnx_id id, const enum dtype *in, uint32_t nin,
		const enum dtype *out, uint32_t nout);
bool node_has_kernel(const struct ctx *cx, const struct node *n);
/* The operator of the model's opset, if the target has a kernel for nin inputs and a result of
 * dtype t; else NULL */
const struct onnx_op *find_kernel(struct ctx *cx, enum onnx_id id, enum dtype t, uint32_t nin);
/* The same for an operator of a row of onnx/own.def, if the target's kernel is that function */
const struct onnx_op *find_function(struct ctx *cx, enum onnx_id id, enum dtype t, uint32_t nin);

/* Do ReduceMax and ReduceMin let a NaN win, and compare int64 exactly? ONNX's specification leaves
 * it open. The target c does as NumPy does. Its ArgMax and ArgMin pass a NaN over, as those of ONNX
 * Runtime do. */
static inline bool extremes_are_numpys(enum ptgc_target t)
{
	return t == PTGC_C;
}

/* costs.c: nanoseconds that a node takes whose inputs have dtype t, on the machine and in the
 * release that costs_ort.def names; only comparisons say something. elements: of the result; of
 * Loop and Scan the steps, of If the results, without the nodes in them. */
double cost_of(enum onnx_id op, enum dtype t, int64_t elements);
/* The same; an operator that was not measured is taken for Add. */
double cost_of_any(enum onnx_id op, enum dtype t, int64_t elements);
/* Kernels of operators on elements go run by run, a run being a stretch of elements in which no
 * operand is repeated: what each takes, its elements apart */
double cost_of_run(enum dtype t);
/* Sizes at which one form gets faster than another: the rows of costs_sizes.def */
enum {
#define SIZE(name, number) SIZE_##name = number,
#include "target/costs_sizes.def"
};
/* How arrays lie: the rows of costs_layout.def */
extern const struct layout_costs {
#define LAYOUT(field, ...) double field;
#include "target/costs_layout.def"
} layout_costs;

#endif
