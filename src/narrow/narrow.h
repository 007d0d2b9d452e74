/*
 * narrow.h: --float32, for runtimes without float64. One pass over the graph of PyTensor's ops,
 * between elaboration and the split of complex numbers.
 */
#ifndef PTGC_NARROW_NARROW_H
#define PTGC_NARROW_NARROW_H

#include "graph/graph.h"

/* Afterwards what was float64 in g is float32, what was complex128 is complex64. */
void narrow_floats(struct ctx *cx, struct graph *g);
/* Reports inputs and outputs that are float64, for a target that has none. */
void refuse_float64(struct ctx *cx, const struct graph *g);

#endif
