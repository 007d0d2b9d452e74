/*
 * lowerings.h: the lowerings that LOWER(...) names in ops.def; each family of ops has a file here.
 * A lowering emits ONNX nodes for a typed PyTensor node, and says with lowered() which values hold
 * the node's results; false: reported.
 */
#ifndef PTGC_LOWER_OPS_LOWERINGS_H
#define PTGC_LOWER_OPS_LOWERINGS_H

#include "lower/build.h"
#include "lower/lower.h"

#define GROUP(heading)
#define OP(id, sig, body, ...) body
#define ONNX(expression)
#define LIB(name)
#define LOWER(function) lower_fn_t function;
#define EXPAND(function)
#define ON_PARTS
#define TODO(reason)
#define UNSUPPORTED(reason)
#include "ops/ops.def"

#endif
