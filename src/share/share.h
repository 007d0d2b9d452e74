/*
 * share.h: one pass over the graph of PyTensor ops, between elaboration and lowering: calls that
 * become many nodes each are made once.
 */
#ifndef PTGC_SHARE_SHARE_H
#define PTGC_SHARE_SHARE_H

#include "graph/graph.h"

/* Calls of one op of the library, such as Gammaln, on small arrays of a block become one call on
 * all of them, joined. -fno-share-calls leaves them. */
void share_calls(struct ctx *cx, struct graph *g);

#endif
