/* lowerings.c: the lowering of each op, as ops.def names it. */
#include "lower/ops/lowerings.h"

lower_fn_t *const lowerings[OP_COUNT] = {
#define OP(id, sig, body, ...) [OP_##id] = body,
#define LOWER(function)        function
#define NO_BODY                NULL
#include "ops/ops.def"
};
