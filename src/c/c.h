/*
 * c.h: an ONNX graph as C: one file and its header, without a runtime.
 */
#ifndef PTGC_C_C_H
#define PTGC_C_C_H

#include "data/data.h"
#include "graph/graph.h"

/* The text of the file, and of the header that its callers include. The file includes that by the
 * name that the options say; if they say none, it has the header's text itself. Large
 * constants go to `weights` if the options name a file for them, whose name then has its hash.
 * Stops after an error. */
void print_c(struct ctx *cx, const struct graph *g, struct strbuf *file, struct strbuf *header,
	     struct weights *weights);

#endif
