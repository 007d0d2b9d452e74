/* lowerings.c: the lowering of each op, as ops.def names it. */
#include "lower/ops/lowerings.h"

lower_fn_t *const lowerings[OP_COUNT] = {
#define GROUP(heading)
#define OP(id, sig, body, ...) [OP_##id] = body,
#define ONNX(expression)       NULL
#define LIB(name)              NULL
#define LOWER(function)        function
#define EXPAND(function)       NULL
#define ON_PARTS               NULL
#define TODO(reason)           NULL
#define UNSUPPORTED(reason)    NULL
#include "ops/ops.def"
};
