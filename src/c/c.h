/*
 * c.h: an ONNX graph as C: one file and its header, without a runtime.
 */
#ifndef PTGC_C_C_H
#define PTGC_C_C_H

#include "graph/graph.h"

/* The text of the file, and of the header that its callers include. The file includes that by the
 * name that the options say; if they say none, it has the header's text itself. Stops after an
 * error. */
void print_c(struct ctx *cx, const struct graph *g, struct strbuf *file, struct strbuf *header);

#endif
