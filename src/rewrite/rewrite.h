/* rewrite.h: what is done to a graph of ONNX nodes before it is emitted. */
#ifndef PTGC_REWRITE_REWRITE_H
#define PTGC_REWRITE_REWRITE_H

#include "onnx/onnx.h"

/* Rewrites of the whole graph, as bits of opt.rewrites_off: those of single nodes count from 0 */
enum rewrite_pass {
	PASS_DEAD = 63,
	PASS_SPLAT = 62,
	PASS_GUARD = 61,
	PASS_STATES = 60,
	PASS_HOIST = 59,
	PASS_BATCH = 58,
	PASS_PUSH = 57,
	PASS_SCAN = 56,
	PASS_LINEAR = 55,
	PASS_STRETCH = 54,
	PASS_BRANCH = 53
};
bool rewrite_is_on(const struct ctx *cx, enum rewrite_pass pass);
/* loop_*.c: loops that carry and compute less in each step */
void rewrite_loops(struct ctx *cx, struct graph *g);
/* rewrite.c: rewrites of single nodes (node_*.c), each named and switchable */
void rewrite(struct ctx *cx, struct graph *g);
/* Drops nodes that nothing reads, counts who reads the others, and notes their operators. */
void drop_unread(struct ctx *cx, struct graph *g);
bool rewrite_option(struct ctx *cx, const char *name, bool on); /* -f[no-]name */
const char *rewrite_name(size_t i); /* all names, some twice in a row; NULL ends */
/* Is a Cast to `mid` and then to `to` a Cast to `to`? */
bool casts_merge(enum dtype from, enum dtype mid, enum dtype to);
/* edit.c: a new node of one result behind `after` (NULL: first) */
struct node *insert_node(struct ctx *cx, struct block *b, struct node *after, enum onnx_id op,
			 struct value **in, uint32_t nin, struct type t, struct span s);
/* a Reshape of v to its own shape: it moves no data, and no runtime merges what it parts */
struct node *insert_same_shape(struct ctx *cx, struct block *b, struct node *after,
			       struct value *v);
/* guards.c: choices that only NaN decides, where NaN comes out anyway; false: there are none */
bool drop_guards(struct ctx *cx, struct graph *g);
/* splats.c: large constants of one number take no room */
void splats(struct ctx *cx, struct graph *g);
/* scan_inputs.c: no Scan reads values of outer blocks, constants apart */
void close_scans(struct ctx *cx, struct graph *g);
/* verify.c: values are read behind where they are made and inside of that block, all have types,
 * every node a kernel; bug() where not */
void verify(struct ctx *cx, struct graph *g);

#endif
