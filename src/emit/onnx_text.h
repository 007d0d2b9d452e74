/* onnx_text.h: pieces of ONNX's text syntax that onnx_text.c and read_model.c both print. */
#ifndef PTGC_EMIT_ONNX_TEXT_H
#define PTGC_EMIT_ONNX_TEXT_H

#include "base/ctx.h"

/* a name, in quotes where it is no plain identifier */
void text_name(struct strbuf *b, const char *s, size_t len);
const char *text_dtype(int onnx); /* by TensorProto.DataType; NULL: unknown */
void text_float(struct strbuf *b, double v, bool single); /* the shortest that reads back */
/* element i of little-endian data; half: as the bits that the syntax wants, else as a number */
void text_element(struct strbuf *b, enum dtype t, const void *data, uint64_t i, bool bits);

#endif
