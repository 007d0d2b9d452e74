/*
 * internal.h: the names, types and constants that names.c gives an ONNX graph, in the order of the
 * graph, and that emit.c packs.
 */
#ifndef PTGC_EMIT_INTERNAL_H
#define PTGC_EMIT_INTERNAL_H

#include "onnx/onnx.h"
#include "emit/emit.h"

/* Readers of protobuf stop at 100 messages inside each other; a graph in a node takes 3 of them,
 * and the type of a value in the innermost one 6 more. */
#define MAX_GRAPH_DEPTH 31

struct onnx_dim {
	bool known; /* value is its size */
	int64_t value;
	struct astr name;
	bool made; /* the user gave none: not told of inputs and outputs */
};
struct onnx_type {
	uint8_t dtype, rank; /* dtype DT_NONE: unknown */
	const dim *dims;
	struct onnx_dim *at;
	struct astr packed[2]; /* emit.c: the TypeProto; [1]: of inputs and outputs */
};
struct onnx_value {
	struct astr name;
	uint32_t type; /* index in types */
	bool output;   /* of the graph that it stands in */
	bool input;
};
struct onnx_init {
	const struct value *value; /* whose name it has */
	const struct tensor *data;
};
struct onnx_import {
	const char *domain;
	int version;
};
struct onnx_model {
	struct ctx *cx;
	const struct graph *graph;
	int ir_version;
	uint32_t *index; /* by value->id: number in values, 0: not seen */
	uint32_t nids;
	vec(struct onnx_value) values; /* from 1 */
	vec(struct onnx_type) types;
	vec(const struct value *) inputs, outputs; /* of the main graph, states included */
	vec(struct onnx_init) inits;               /* in the order of first use */
	vec(struct onnx_import) imports;
	const struct node *too_deep; /* first node beyond MAX_GRAPH_DEPTH: the rest is not seen */
};
struct onnx_model *onnx_model(struct ctx *cx, const struct graph *g);
/* model_text.c: the fewest digits that read back as the number; single: as a float32 */
void put_float(struct strbuf *out, double v, bool single);
static inline const struct onnx_value *onnx_value(const struct onnx_model *m, const struct value *v)
{
	return &m->values.at[v ? m->index[v->id] : 0];
}
const char *onnx_graph_name(const struct onnx_model *m);

/* "file.ptg:12:3" of a place; before it, for a place in a fn, where the calls of it stand, the
 * outermost first. It remembers the last one, as neighbours share lines. */
#define MAX_PLACES 8 /* of a chain of calls the first and the last */
struct place_text {
	struct span span;
	const struct source *source;
	uint32_t line, begin, end; /* offsets of the line last found */
	uint32_t len;
	char text[(MAX_PLACES + 1) * 300];
};
void onnx_place(struct ctx *cx, struct place_text *p, struct span s); /* len 0: no place to tell */

#endif
