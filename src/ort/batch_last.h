/*
 * batch_last.h: arrays whose axis 0, that of the points of a model or of the items of a batch, lies
 * behind all others (batch-last arrays), and nodes that compute on them. layout_loops.c does
 * that to bodies of loops, layout_graph.c to what is outside of them.
 */
#ifndef PTGC_ORT_BATCH_LAST_H
#define PTGC_ORT_BATCH_LAST_H

#include "lower/build.h"

enum layout { OUTSIDE, AS_WRITTEN, BATCH_LAST }; /* a value that is made in the body, or is not */

struct copy {
	struct value *v; /* NULL: there is none */
	struct block *in;
	uint32_t rank; /* of the reader's result */
};
struct layouts {
	struct ctx *cx;
	uint32_t n;               /* values that there were at first */
	uint8_t *read;            /* by value id: enum reads */
	uint8_t *layout;          /* by value id: enum layout */
	struct copy *copy;        /* by value id: the batch-last value */
	struct build outer, body; /* where new nodes go: around the loop, and in its body */
	dim points;
	bool pays;
	bool apart; /* ONNX Runtime may move Transposes: a Reshape stops it */
};

/* t with axis `from` behind all others */
struct type batch_last_type(struct ctx *cx, struct type t, uint32_t from);
/* v with axis `from` moved behind all others or, back, the last axis moved there */
struct value *transpose_batch(struct build *b, struct value *v, uint32_t from, bool back);
bool is_batch_last(const struct layouts *l, const struct value *v);
void set_layout(struct layouts *l, const struct value *v, enum layout p);
/* Can n, which reads a batch-last array, compute on it? */
bool can_be_batch_last(struct layouts *l, const struct node *n);
/* Lets n compute on batch-last arrays. */
void make_batch_last(struct layouts *l, struct node *n);
/* v, which is not batch-last, as a node of the body reads it, whose result has `rank` axes and is
 * batch-last */
struct value *as_batch_last(struct layouts *l, struct value *v, uint32_t rank);

#endif
