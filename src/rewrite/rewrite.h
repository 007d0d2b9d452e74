/* rewrite.h: what is done to a graph of ONNX nodes before it is emitted. */
#ifndef PTGC_REWRITE_REWRITE_H
#define PTGC_REWRITE_REWRITE_H

#include "lower/build.h"

/* Loops that carry and compute less in each step. loop_states.c: fewer states and stacked results
 */
void loop_states(struct ctx *cx, struct graph *g);
/* loop_roots.c: states that are read as squares alone */
void loop_roots(struct ctx *cx, struct graph *g);
/* loop_terms.c: what states are multiplied by is worked out outside */
void loop_terms(struct ctx *cx, struct graph *g);
/* loop_move.c: nodes go out of bodies */
void loop_move(struct ctx *cx, struct graph *g);
/* rewrite.c: rewrites of single nodes (node_*.c), each switchable. In: all uses are counted. Out:
 * drop_unread() must follow, as nodes may read what was replaced. */
void rewrite_nodes(struct ctx *cx, struct graph *g);
/* Drops nodes that nothing reads, counts who reads the others, and notes their operators. */
void drop_unread(struct ctx *cx, struct graph *g);
/* Is a Cast to `mid` and then to `to` a Cast to `to`? */
bool casts_merge(enum dtype from, enum dtype mid, enum dtype to);
/* edit.c: n is op(inputs...) from now on, without attributes; its results stay. */
#define become(cx, n, op, ...)                                                                     \
	become_(cx, n, op, sizeof((struct value *[]){__VA_ARGS__}) / sizeof(struct value *),       \
		(struct value *[]){__VA_ARGS__})
void become_(struct ctx *cx, struct node *n, enum onnx_id op, uint32_t nin,
	     struct value *const *in);
/* n is that operator from now on, of the same inputs and attributes. */
void turn_into(struct ctx *cx, struct node *n, enum onnx_id op);
/* Gives result i of n to another node: n has a new value there from now on, which is returned. The
 * node that was inserted last at b gives what was read as that result, by take_over(). */
struct value *part_result(struct ctx *cx, struct node *n, uint32_t i);
void take_over(const struct build *b, struct value *old);
/* n reads its input i through a Reshape to its own shape, which is inserted at b. */
void put_barrier(struct build b, struct node *n, uint32_t i);
/* The attribute of this name is v from now on. */
void set_int(struct ctx *cx, struct node *n, const char *name, int64_t v);
void set_ints(struct ctx *cx, struct node *n, const char *name, const int64_t *v, uint32_t count);
void set_block(struct ctx *cx, struct node *n, const char *name, struct block *v);
/* n, an operator along axes, takes these: an input or, in older opsets, an attribute */
void set_axes(struct ctx *cx, struct node *n, const int64_t *axes, uint32_t count);
/* guards.c: choices that only NaN decides, where NaN comes out anyway; false: there are none */
bool drop_guards(struct ctx *cx, struct graph *g);
/* splats.c: large constants of one number take no room */
void splats(struct ctx *cx, struct graph *g);
/* scan_inputs.c: no Scan reads values of outer blocks, constants apart */
void close_scans(struct ctx *cx, struct graph *g);
/* verify.c: values are read behind where they are made and inside of that block, all have types,
 * every node a kernel; bug() where not */
void verify(struct ctx *cx, struct graph *g);
/* With -fverify-each: no value has more uses than value->uses says; bug() where not. Inputs may
 * still be what was replaced. */
void verify_uses(struct ctx *cx, const struct graph *g);

#endif
