/*
 * loop_linear.h: what loop_linear.c, which finds out whether the states of a loop are linear in
 * those before, tells loop_matrix.c, which computes them as products of matrices.
 */
#ifndef PTGC_REWRITE_LOOP_LINEAR_H
#define PTGC_REWRITE_LOOP_LINEAR_H

#include "rewrite/loops.h"

#define MAX_STATE 8 /* elements of all states */
#define MAX_IN    8

/* A value of the body at one of the chosen states */
struct at {
	struct value *v; /* NULL: it is 0 */
	bool row;        /* v is stacked */
	bool one;        /* v is a number that stands for 1 in each element */
};
struct linear {
	struct loop_exit *c;
	struct loop_pass *m;
	struct loop_scope *f;
	struct value **state; /* parameters */
	struct value **next;
	uint32_t *of, n; /* which states, as others only add; how many */
	int64_t *size;
	int64_t width;   /* elements of all states; more than MAX_STATE: too many for a matrix */
	bool each;       /* one state, and what leads to it works on its elements */
	bool spreads;    /* what leads to a next state multiplies a sum, as k in k * (x - y) */
	bool mixes;      /* what leads to a next state joins elements of a state */
	bool selects;    /* what leads to a next state may leave out states */
	bool falls_back; /* states that are not finite get the loop itself: 0 * inf would give NaN
			  */
	bool forgets;    /* the next states depend on no state */
	bool by_rounds;
	bool times;        /* what is linear is multiplied by the states */
	struct node *last; /* of the body; what stands behind that are quotients */
	struct type item;  /* of all states as one value */
	struct at *at;     /* by value_info()->number */
	uint32_t numbers;
};

/* k in each element of a value of type t */
struct value *filled(struct linear *l, const struct type *t, double k);
/* Is it such a loop, and is it worth the while? Fills *l. */
bool is_linear(struct linear *l);
/* Drops the quotients, if there are some, as the loop stays as it was; false. */
bool drop_quotients(struct linear *l);

#endif
