/* internal.h: private to lower/check: how the nodes of checks are made. */
#ifndef PTGC_LOWER_CHECK_INTERNAL_H
#define PTGC_LOWER_CHECK_INTERNAL_H

#include "lower/build.h"

/* equal.c: makes nodes of both sides and adds them, unless they are equal anyway. */
void add_sides(struct build *b, struct sides *to, struct side x, struct side y);
/* The bools that are true where all of them hold; `rank` elements each, or one, if that pays */
uint32_t sides_equal(struct build *b, const struct sides *s, uint32_t rank, struct value **conds);
#define MAX_EQUAL 3
/* d[i], of one element, is how much longer the one side of pair i is, times `by` */
void differences(struct build *b, const struct sides *s, int64_t by, struct value **d);

/* fail.c: v, by a node called `label`, which fails unless all elements of the conditions are true
 */
struct value *fail_unless(struct build *b, struct value *v, struct value **conds, uint32_t n,
			  const char *label);
struct value *fail_unless_equal(struct build *b, struct value *v, const struct sides *s);

/* product.c: the matrix products that surely run */
struct product {
	dim inner; /* the length that it adds along */
	struct node *node;
	const struct block *block;
};
/* A node that fails unless these are equal: a product, or one that broadcasts before the check */
struct checking {
	struct node *node;
	struct sides sides;
};
struct products {
	vec(struct product) list;   /* sorted by `inner` */
	vec(struct check *) checks; /* of lengths, of the whole graph */
	const bool *needed;         /* by value id */
	vec(struct checking) found; /* those that check an equation */
};
bool is_product(const struct node *n); /* MatMul, Gemm */
void find_products(struct ctx *cx, struct products *p, const struct block *k);
/* Does a product of that block fail unless c holds? */
bool product_checks(struct build *b, struct products *p, struct check *c, const struct block *k);

#endif
