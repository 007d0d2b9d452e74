/*
 * update.h: x[...].set(y) and x[...].inc(y), shared by incsubtensor.c, which looks for the cheapest
 * way, and the files with the ways.
 */
#ifndef PTGC_LOWER_OPS_UPDATE_H
#define PTGC_LOWER_OPS_UPDATE_H

#include "lower/ops/index.h"

struct update {
	struct value *x, *y; /* of one dtype */
	struct index ix[MAX_RANK];
	uint32_t rank;
	bool add, once;      /* add: inc(); once: of duplicate indices only the last is added */
	struct value *given; /* x in its own dtype */
};

/* update_fit.c: y with the lengths of x[...], `to`. `place`, where it is not NULL, is x[...]. */
/* May length y be 1 at run time, and broadcast to another length `to` of x[...]? */
bool may_broadcast(struct build *b, dim y, dim to);
/* v, the result of an operator that broadcasts y with x[...], in a run that fails where y does not
 * fit; shape: that of x[...], may be NULL */
struct value *check_fits(struct build *b, struct value *v, struct value *y, const dim *to,
			 uint32_t rank, struct value *shape);
/* place + y */
struct value *add_update(struct build *b, struct value *place, struct value *y, const dim *to);
/* Is each dim a constant or the size of an axis, so that no arithmetic computes it? */
bool all_sizes(struct build *b, const dim *dims, uint32_t rank);
/* Expands the axes of y that may be 1. The result may be longer than `to` where y is. */
struct value *expand_update(struct build *b, struct value *y, const dim *to, struct value *place);
/* y expanded to exactly these lengths */
struct value *fit_update(struct build *b, struct value *y, const dim *to, struct value *place);
/* x[...] has no elements: the result is x. A y that does not fit fails all the same. */
struct value *update_empty(struct build *b, struct value *x, struct value *y, const dim *to,
			   uint32_t rank);

/* update_slices.c: slices and numbers as indices; NULL: not in this way */
/* A position between elements of an axis: 0 is before the first, -1 before the last; end: after the
 * last. */
struct cut {
	int64_t at;
	bool end;
};
/* *lo, *hi = the positions of an index, or slice of step 1, of an axis. false: they may be outside
 * of the axis, or the step is not 1 */
bool cuts_of_index(struct build *b, struct index *ix, dim size, struct cut *lo, struct cut *hi);
dim cut_dim(struct build *b, struct cut c, dim size);
struct value *update_by_pad(struct build *b, struct update *u);
struct value *update_by_padded_sum(struct build *b, struct update *u);
/* These take the only axis that is indexed. */
struct value *update_by_concat(struct build *b, struct update *u, uint32_t axis);
struct value *update_by_slices(struct build *b, struct update *u, uint32_t axis);
struct value *update_half(struct build *b, struct update *u, uint32_t axis);

#endif
