/* lowerings.c: the functions of each op that ops.def names. */
#include "lower/ops/lowerings.h"

const struct lowering lowerings[OP_COUNT] = {
#define OP(id, sig, body, ...) [OP_##id] = {body},
#define LOWER(function)        function
#define BATCHED(function)      , .batched = function
#define NO_BODY                NULL
#include "ops/ops.def"
};
