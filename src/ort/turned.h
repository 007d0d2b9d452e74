/*
 * turned.h: arrays whose axis 0, that of the points of a model or of the items of a batch, lies
 * behind all others (turned arrays), and nodes that compute on them. lanes.c turns bodies of loops,
 * points.c what is outside of them.
 */
#ifndef PTGC_ORT_TURNED_H
#define PTGC_ORT_TURNED_H

#include "onnx/onnx.h"

enum layout { OUTSIDE, AS_IT_IS, TURNED }; /* a value that is made in the body, or is not */

struct copy {
	struct value *v; /* NULL: there is none */
	struct block *in;
	uint32_t rank; /* of what it is for */
};
struct lanes {
	struct ctx *cx;
	uint32_t n;        /* values that there were at first */
	uint8_t *read;     /* by value id: enum reads */
	uint8_t *place;    /* by value id: enum layout */
	struct copy *copy; /* by value id: the turned value */
	struct block *outer, *body;
	struct node *before; /* new nodes of the outer block go behind it */
	struct node *inside; /* and those of the body behind this one */
	dim points;
	bool pays;
	bool apart; /* ONNX Runtime may move Transposes: a Reshape stops it */
};

/* t with axis `from` behind all others */
struct type turned_type(struct ctx *cx, struct type t, uint32_t from);
/* A Transpose of v behind *before, which moves axis `from` behind all others or, back, the last
 * axis there */
struct node *turn(struct lanes *l, struct block *b, struct node **before, struct value *v,
		  uint32_t from, bool back);
void set_attrs(struct lanes *l, struct node *n, const char *name, uint8_t kind, uint32_t count,
	       const int64_t *v);
bool is_turned(const struct lanes *l, const struct value *v);
void set_place(struct lanes *l, const struct value *v, enum layout p);
/* Can n, which reads a turned array, compute on it? */
bool can_turn(struct lanes *l, const struct node *n);
/* Lets n compute on turned arrays. */
void turn_node(struct lanes *l, struct node *n);
/* v, which is not turned, as a node of the body reads it, whose result has `rank` axes and is
 * turned */
struct value *as_turned(struct lanes *l, struct value *v, uint32_t rank);

#endif
