/*
 * expansions.c: the ops that become other nodes as soon as they are called, as they run fns.
 */
#include "elab/internal.h"

expand_fn_t *const expansions[OP_COUNT] = {
#define OP(id, sig, body, ...) [OP_##id] = body,
#define EXPAND(function)       function
#define NO_BODY                NULL
#include "ops/ops.def"
};
