/* loops.h: what the rewrites of loops share. */
#ifndef PTGC_REWRITE_LOOPS_H
#define PTGC_REWRITE_LOOPS_H

#include "lower/build.h"
#include "rewrite/rewrite.h"

/* A value of a body that is known for all steps at once, outside of the loop */
struct row {
	struct loop_scope *body; /* whose value it is */
	struct value *all;       /* stacked; NULL: not made yet, it counts steps from `first` on */
	int64_t first;
	bool counts;       /* it is the number of the step, from 0, plus `first` */
	bool pending;      /* no node of the body makes it yet */
	struct node *node; /* the node of the body that computes it; NULL: a parameter */
};
/* A block that is being built */
struct loop_scope {
	struct loop_scope *outer;
	struct block *block;
	struct build_scope *scope;
	struct node *loop; /* NULL: nothing leaves this block */
	bool counted;      /* the loop runs `trips` steps */
	bool certain;      /* it runs one at least */
	bool scan;         /* it becomes a Scan */
	bool checked;      /* what a check reads is in the body: the loop must be run */
	dim trips;
	struct value *trip_count;
	struct value *iteration, *go;
	vec(struct value *) pending;      /* rows that may have no node in the body yet */
	vec(struct value *) rows, params; /* of the Scan: sequences, and the parameters for them */
};
struct value_info { /* a value */
	struct row *row;
	uint32_t reads; /* of a value of the body that is being closed */
	bool kept;      /* a check reads it */
	bool result;    /* a block gave it back at first */
	bool marked;    /* in loop_close.c: it is to be stacked; restack(): its length counts */
	/* loop_linear.c, loop_matrix.c */
	bool leads_on;   /* next states are computed from it */
	bool wanted;     /* what is to be stacked is computed from it */
	uint8_t form;    /* enum form */
	bool adds;       /* it is linear in states, and a sum */
	uint8_t states;  /* that it depends on, as bits */
	uint32_t number; /* 0: none yet */
};
struct loop_pass {
	struct ctx *cx;
	struct build b;
	struct value_info *info; /* by value id */
	uint32_t ninfo;
};
struct insertion_point {
	struct build_scope *scope;
	struct block *block;
};

static inline struct block *loop_body(const struct node *n) /* NULL: n has none */
{
	return body_after(n, NULL);
}
/* Does no step of the Loop decide whether it is the last one? */
static inline bool stops_by_count(const struct node *loop)
{
	const struct block *body = loop_body(loop);

	return behind_identity(body->results.at[0]) == body->params.at[1];
}
/* loop_move.c */
struct value_info *value_info(struct loop_pass *m, const struct value *v);
struct insertion_point enter(struct loop_pass *m, const struct loop_scope *f);
void leave(struct loop_pass *m, struct insertion_point was);
bool is_outer(struct loop_pass *m, const struct loop_scope *f, const struct value *v);
bool is_row_of(struct loop_pass *m, const struct loop_scope *f, const struct value *v);
/* Is v computed in the body, and known for no step outside: neither of these two? */
bool is_own(struct loop_pass *m, const struct loop_scope *f, const struct value *v);
void replace_value(struct loop_pass *m, struct value *old, struct value *v);
struct value *all_of(struct loop_pass *m, struct value *v);      /* the stacked value of a row */
struct value *materialise(struct loop_pass *m, struct value *v); /* a row as a value of its body */
/* n, of the body of f, for all steps at once; NULL: no */
struct value *batch(struct loop_pass *m, struct loop_scope *f, struct node *n, bool any_size);
void set_row(struct loop_pass *m, const struct value *v, struct row r);

#define MAX_TERMS 16 /* that a state adds in one step */
/* A loop while it is closed */
struct loop_exit {
	struct loop_pass *m;
	struct loop_scope *f;
	struct value **result; /* of the body, without Identities */
	uint32_t nstates;
	struct value *(*term)[MAX_TERMS]; /* by state: what it adds; the first NULL: it does more */
	const struct node *(*sum)[MAX_TERMS]; /* and the nodes that add */
	struct value **init;                  /* of the states */
	uint32_t nout;                        /* results of the loop, before */
	vec(struct value *) to_stack;         /* values of the body, for what reads all steps */
	vec(struct node *) later;             /* nodes for after the loop, the last first */
};
/* loop_matrix.c: as a linear recurrence, which opens the block around the loop again. false: it is
 * none, and nothing was done. */
bool linear_loop(struct loop_exit *c, struct block *outer);
/* loop_logsum.c: the same for a state that is a LogSumExp of itself */
bool logsum_loop(struct loop_exit *c, struct block *outer);

/* loop_close.c: what a loop gives back, and what is computed after it */
/* Opens the block around it again. */
void close_loop(struct loop_pass *m, struct loop_scope *f, struct block *outer);

/* loop_batch.c */
struct batch {
	struct build *b; /* open where the result goes */
	dim trips;
	/* by input: its values in all steps, stacked along a new axis 0; NULL: it is loop-invariant
	 */
	struct value **all;
	bool any_size; /* even if it takes much more memory */
};
/* n for all steps at once: its result in each step, stacked. NULL: there is no such node. */
struct value *batch_node(struct batch *at, const struct node *n);
/* Is n an operator on elements that batch_node() takes, row[i] saying which inputs are rows? */
bool can_batch_elements(const struct node *n, const bool *row);
/* The same of any operator */
bool can_batch(struct ctx *cx, const struct node *n, const bool *row);
int64_t element_count(struct ctx *cx, const struct type *t); /* -1: not known */
bool is_small(struct ctx *cx, const struct type *t);
bool stacks_small(struct ctx *cx, const struct type *t, dim trips); /* few elements in all */
/* Has `to` few elements for each of `from`, whatever the lengths that are not known? */
bool grows_little(struct ctx *cx, const struct type *from, const struct type *to);

#endif
