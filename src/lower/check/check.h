/*
 * check.h: makes nodes that fail where what was recorded while lowering (check() in build.h) does
 * not hold.
 */
#ifndef PTGC_LOWER_CHECK_CHECK_H
#define PTGC_LOWER_CHECK_CHECK_H

#include "lower/build.h"

/* In: a graph of ONNX nodes after all other passes, as nodes that fail by themselves need no check.
 * A failure anywhere fails the whole run, so the new nodes stand where they take the fewest: on
 * inputs and on results of blocks. `instead` makes nodes in another way where that is needed.
 * false: there is nothing to check. */
bool place_checks(struct ctx *cx, struct graph *g, instead_fn_t *instead);

#endif
