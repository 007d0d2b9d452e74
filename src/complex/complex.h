/*
 * complex.h: complex numbers, of which ONNX's operators take no tensors. One pass over the graph of
 * PyTensor ops, between elaboration and lowering.
 */
#ifndef PTGC_COMPLEX_COMPLEX_H
#define PTGC_COMPLEX_COMPLEX_H

#include "graph/graph.h"

/* Afterwards no value of g is complex. Ops that cannot be converted are reported. */
void split_complex(struct ctx *cx, struct graph *g);

#endif
