/*
 * index.h: the index of one axis of x[...], shared by subtensor.c and incsubtensor.c.
 */
#ifndef PTGC_LOWER_OPS_INDEX_H
#define PTGC_LOWER_OPS_INDEX_H

#include "lower/build.h"

struct index {
	enum { IX_FULL, IX_SLICE, IX_ARRAY } kind;
	struct value *v[3]; /* ONNX values: start, stop, step (NULL: none), 0-d; IX_ARRAY: v[0] */
	bool unique;        /* IX_ARRAY: no index occurs twice */
};

/* Sets ix[] for each axis of x; first: the number of the first index input. false: reported */
bool parse_index(struct build *b, struct node *n, uint32_t first, struct index *ix);
/* pieces.c: if x is a Concat and the index reads one of its inputs, returns that input, and changes
 * the index; else x */
struct value *piece_of(struct build *b, struct value *x, struct index *ix);
/* x[ix] of an Expand x by that of what it expands; NULL: no way */
struct value *item_of_expand(struct build *b, struct value *x, const struct index *ix);
/* x[-1] of the states x that a Loop stacks: the last one, which it carries; NULL: x is none */
struct value *last_of_loop(struct build *b, struct value *x, const struct index *ix);
struct value *int_vector(struct build *b, struct value **v, uint32_t n);
struct value *apply_slices(struct build *b, struct value *x, const struct index *ix);
struct value *index_tuples(struct build *b, struct value **v, uint32_t n, uint32_t rank);
uint32_t index_arrays(const struct index *ix, uint32_t rank, struct value **v, uint32_t *axes,
		      uint32_t *brank, bool *adjacent);

#endif
