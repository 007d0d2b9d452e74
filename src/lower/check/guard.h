/*
 * guard.h: equations that are checked when a model runs, as guard.c, which knows when and where,
 * and guard_node.c, which makes the nodes, see them.
 */
#ifndef PTGC_LOWER_CHECK_GUARD_H
#define PTGC_LOWER_CHECK_GUARD_H

#include "lower/build.h"

/* One equation: int64[1] on both sides, and the axes that they are the sizes of (NULL: computed) */
struct side {
	struct value *v, *of, *from; /* from: what `of` was typed as */
	uint32_t axis;
	dim d;
	const char *text; /* "axis 0 of x" */
};

/* Equations to be checked together: x.at[i] is y.at[i]. */
struct sides {
	vec(struct side) x, y;
};

/* guard_node.c: a side that is v, the length d; its text. */
struct side computed_side(struct build *b, dim d, struct value *v);
/* x = y, assumed at s, unless it holds anyway; if it cannot hold, that is reported */
void add_sides(struct build *b, struct sides *to, struct side x, struct side y, struct span s);
/* "axis 0 of b must be n, axis 1 of c must be m" */
const char *what_must_hold(struct build *b, const struct side *x, const struct side *y, uint32_t n);
/* v, or a failing run; v itself if there is nothing to check */
struct value *guard_equal(struct build *b, struct value *v, const struct sides *s);
/* guard.c: an input that was checked */
bool is_guarded_input(struct build *b, const struct value *v);
/* Is what the type of an input says of that axis left to a product? */
bool is_left_to_product(struct build *b, const struct value *v, uint32_t axis);
/* product.c: is d the length that the matrices which n multiplies add along? */
bool is_inner_length(struct build *b, const struct node *n, dim d);
/* The MatMul or Gemm behind v, of what n was made of, that fails unless x = y; NULL: none */
struct value *product_that_checks(struct build *b, const struct node *n, struct value *v,
				  const struct side *x, const struct side *y);

#endif
