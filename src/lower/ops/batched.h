/*
 * batched.h: what the functions that BATCHED(...) names in ops.def say a Blockwise by; batched.c.
 */
#ifndef PTGC_LOWER_OPS_BATCHED_H
#define PTGC_LOWER_OPS_BATCHED_H

#include "lower/ops/lowerings.h"

/* A Blockwise node, and the nodes on the whole batch that a batch_x() finds for it */
struct batched {
	struct build *b;
	struct node *n; /* Blockwise */
	const struct opref *core;
	const uint32_t *ranks; /* of the core inputs */
	uint32_t rank;         /* of the batch */
	struct block *body;    /* the nodes that do it */
	struct node *made;     /* the last one of them: its results are those of n */
};

/* the last result so far: that of the op on these arguments */
struct value *new_node(struct batched *m, enum op_id op, struct cv *props, struct value **in,
		       uint32_t nin);
struct cv *new_cv(struct batched *m, struct cv v);
struct cv *new_int(struct batched *m, int64_t i);
struct cv *new_ints(struct batched *m, const int64_t *v, uint32_t n);
enum op_id core_id(const struct batched *m);
/* Blockwise of an op */
struct value *of_each_item(struct batched *m, enum op_id op, struct cv *props,
			   const char *signature, struct value **in, uint32_t nin);
/* v with `count` new axes of length 1 before axis `at` */
struct value *with_axes(struct batched *m, struct value *v, uint32_t at, uint32_t count);
/* The number of dims of the batch that input i has */
uint32_t own_rank(const struct batched *m, uint32_t i);
/* Input i without the batch; NULL: its items may differ */
struct value *one_for_all(struct batched *m, uint32_t i);
/* The properties of the core op with its axes behind the batch. core: the rank of its first input
 */
struct cv *props_behind(struct batched *m, uint32_t core);
/* Input i, lowered, as [items, core dims] */
struct value *flat_items(struct batched *m, uint32_t i);
/* Input i without the batch: lengths, which must be the same for all items */
struct value *common_lengths(struct batched *m, uint32_t i);
/* Input i with all dims of the batch, those that its type says to be 1 as they are */
struct value *padded(struct batched *m, uint32_t i);
/* Input i with the whole batch */
struct value *whole_batch(struct batched *m, uint32_t i);
/* batched_index.c: x[:, at] of each item, x having `core` dims and a vector `at` being the index of
 * axis `axis`. false: too many dims */
bool take_rows(struct batched *m, struct value *x, struct value *at, uint32_t core, uint32_t axis);

#endif
