/*
 * target.h: which kernels the runtime has that a model is for, and what they take. What to do where
 * there is none: lower/missing_kernels.def; where there is a wrong one: src/ort.
 */
#ifndef PTGC_TARGET_TARGET_H
#define PTGC_TARGET_TARGET_H

#include "onnx/onnx.h"

/* Has the target a kernel for the op with these dtypes of inputs and outputs (DT_NONE: left out)?
 */
bool kernel_exists(enum ptgc_target target, const struct onnx_op *op, const enum dtype *in,
		   uint32_t nin, const enum dtype *out, uint32_t nout);
/* The operator of the model's opset, if the target has a kernel for nin inputs and a result of
 * dtype t; else NULL */
const struct onnx_op *find_kernel(struct ctx *cx, enum onnx_id id, enum dtype t, uint32_t nin);

/* costs.c: nanoseconds that a node takes whose inputs have dtype t, on the machine where ONNX
 * Runtime was measured; only comparisons say something. elements: of the result; of Loop and Scan
 * the steps, of If the results, without the nodes in them. */
double cost_of(enum onnx_id op, enum dtype t, int64_t elements);
/* The same; an operator that was not measured is taken for Add. */
double cost_of_any(enum onnx_id op, enum dtype t, int64_t elements);
/* Kernels of operators on elements go run by run, a run being a stretch of elements in which no
 * operand is repeated: what each takes, its elements apart */
double cost_of_run(enum dtype t);

#endif
