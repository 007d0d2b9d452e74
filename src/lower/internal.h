/* internal.h: what the files share that make nodes and constants. */
#ifndef PTGC_LOWER_INTERNAL_H
#define PTGC_LOWER_INTERNAL_H

#include "lower/build.h"

/* Do nodes go into a graph that was lowered, as they are asked for? See build_at() */
static inline bool inserts(const struct build *b)
{
	return !b->scope;
}
/* node.c */
struct attr *attr_add(struct build *b, const char *name,
		      enum attr_kind kind); /* of the next node */
struct node *bare_node(struct build *b, const struct onnx_op *op, struct value **in, uint32_t nin,
		       uint32_t nout);
/* n stands for `gone`, too, which is equal: what either must keep it keeps, and what holds for both
 * holds for it. */
void serve_also(struct node *n, const struct node *gone);
/* constants.c */
/* The data of the constant v with other dims */
struct value *const_reshaped(struct build *b, struct value *v, const int64_t *shape, uint32_t rank);
/* reshape.c: what reshape() tries before, and after, it looks whether the result is a Tile */
struct value *reshape_if_simple(struct build *b, struct value *v, const dim *dims,
				uint32_t rank); /* NULL: it is not */
struct value *reshape_node(struct build *b, struct value *v, const dim *dims, uint32_t rank);
/* scopes.c */
void set_defining_block(struct build *b, const struct value *v); /* v is in b->block */
/* A node equal to `key`, whose node_hash() is given, in this block or one around it; NULL: none */
struct node *cse_find(struct build *b, const struct node *key, uint32_t hash);
void cse_add(struct build *b, struct node *n, uint32_t hash);
/* The small constant that is equal to t; if there is none, v becomes that one (NULL: a new one). */
struct value *shared_constant(struct build *b, const struct tensor *t, struct value *v);

#endif
