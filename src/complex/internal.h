/* internal.h: private to src/complex/. */
#ifndef PTGC_COMPLEX_INTERNAL_H
#define PTGC_COMPLEX_INTERNAL_H

#include "elab/elab.h"

/* A complex value and the real ones that take its place. */
struct parts {
	struct value *of;
	struct value *part[2]; /* real and imaginary, of the same dims; NULL: see part() */
	struct value *whole;   /* both, along one more axis at the end; NULL: there is none yet */
};

struct split {
	struct ctx *cx;
	struct graph *graph;
	struct block *block;       /* where nodes go */
	vec(struct parts *) parts; /* of complex values */
	struct hash_table table;   /* of `parts`, by the value's id */
	const struct node *user;   /* the node that is replaced: what messages name */
	struct span span;          /* of new nodes */
	uint32_t inside;           /* what takes the place of `user` is split itself */
};

/* split.c */
static inline bool is_complex_value(const struct value *v)
{
	return v && is_complex((enum dtype)v->type.dtype);
}
struct type part_type(struct type t);                  /* t itself if it is real */
struct type whole_type(struct ctx *cx, struct type t); /* of both parts */
bool has_complex_input(const struct node *n);
struct value *constant(struct split *p, enum dtype t, double re, double im); /* of rank 0 */
/* the real (0) or imaginary (1) part of a complex value; both along a last axis of length 2 */
struct value *part(struct split *p, struct value *v, uint32_t i);
struct value *whole(struct split *p, struct value *v);
/* The complex value v has these parts, in whatever dtype they are; it is `pair`, taken apart. */
void set_parts(struct split *p, struct value *v, struct value *re, struct value *im);
void set_whole(struct split *p, struct value *v, struct value *pair);
/* v, real or complex, is r. */
void set_value(struct split *p, struct value *v, struct value *r);
/* A node of real values, whose results have their types */
void add_node(struct split *p, const struct op *op, struct cv *props, struct value **in,
	      uint32_t nin, struct value **out, uint32_t nout);
/* A block for nodes that take the place of one, and may have complex values; and its end */
struct block *open_body(struct split *p);
void close_body(struct split *p, struct block *body);
/* The parameters, nodes and results of an inner block; a node that has such blocks */
void split_block(struct split *p, struct block *k);
void split_control(struct split *p, struct node *n);
/* A fn of the library; n: its properties are those of the fn. false: reported */
bool call_lib(struct split *p, const char *name, const struct node *n, struct value **in,
	      uint32_t nin, struct value **out, uint32_t nout);
struct cv int_list(struct split *p, const int *at, int n);
/* The op of n on each part of its complex arguments */
void each_part(struct split *p, struct node *n);
/* "cannot be converted": n is poisoned. Always true */
bool refuse(struct split *p, struct node *n, const char *fmt, ...) PRINTF(3, 4);

/* rules.c: ops that are more than their row says. false: n is not one of those. */
bool split_by_rule(struct split *p, struct node *n);

#endif
