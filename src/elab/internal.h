/*
 * internal.h: private to elab*.c. The elaborator walks statements in order with an expression stack
 * machine over the post-order AST; names mean what sym->value / sym->dim say at that moment.
 */
#ifndef PTGC_ELAB_INTERNAL_H
#define PTGC_ELAB_INTERNAL_H

#include "syntax/syntax.h"
#include "elab/elab.h"

/* One meaning of a name. Frames keep the caller's names out of a fn's body: a binding is visible
 * only in the frame that made it. */
struct binding {
	struct sym *sym;
	struct binding *hidden; /* what the name meant before */
	struct binding *prev;   /* in the scope */
	struct scope *scope;
	struct span span;
	uint8_t kind; /* value namespace: enum cv_kind of what it means */
	bool used, is_rest;
	bool result;    /* of the graph */
	uint32_t state; /* its number, from 1; 0: it is none */
	bool missing;   /* nothing defines it, which was reported */
	union {
		struct value *v; /* CV_VALUE */
		struct cv *cv;   /* the other kinds: see binding_cv() */
		dim d;           /* dim namespace */
		struct rest *rest;
	} u;
};
struct rest { /* ...b: the dims that it stands for */
	const dim *at;
	uint32_t n;
};

struct scope {
	struct scope *outer;
	struct frame *frame;
	struct binding *values, *dims; /* newest first */
};

struct frame { /* one expansion of a fn, or the graph */
	struct frame *caller;
	struct fn *fn;
	struct span call; /* where the caller calls */
	bool library;     /* nodes and errors take the place of the call */
	uint32_t depth;
	/* A definition that has another's name: two are of one name, and one is missing. What was
	 * said of the one, until the other is a note of it. */
	struct diag *taken, *missing;
	uint32_t headless; /* statements that could not be read, whose name is not known */
};

struct carried {
	struct sym *name;
	struct span span;
	struct value *init, *param, *next;
};
struct loop_state { /* the loop whose body is being elaborated */
	struct loop_state *outer;
	struct block *block;
	struct carried *carried;
	uint32_t ncarried;
	struct value *until; /* bool[], NULL when there is none */
};

struct elab {
	struct ctx *cx;
	struct file *file; /* whose AST the current statement is in */
	struct graph *graph;
	struct block *block; /* where nodes go */
	struct scope *scope;
	struct frame *frame;
	struct loop_state *loop;
	vec(struct cv) stack; /* of the expression machine */
	uint32_t nested;      /* expansions of fns from within fns */
	bool limited;         /* the limit was reported */
	vec(struct file *) used;
	bool fns_missing; /* a file that is `use`d could not be read */
	struct sym *underscore;
	struct prop_arg no_props;         /* of a call without any */
	vec(const struct astr *) strings; /* that were refused as values */
	uint32_t root,
		nroot; /* the call that is all of a statement's right side, and its targets */
	struct file *root_file;
	const struct type
		*wanted;   /* types written for the targets, for raw nodes; NULL: not all are */
	bool wanted_wrong; /* one of them makes no sense, which was reported */
};

#define MAX_FN_DEPTH     200
#define MAX_EXPANSIONS   200000
#define MAX_BLOCK_DEPTH  30
#define MAX_CARRIED      1000 /* values of a loop */
#define MAX_HINTS        50   /* errors that name what may be meant */
#define MAX_SOLVE_ROUNDS 16   /* names of dims that are only known from each other */

/* EXPAND of ops.def, for ops that run fns: what a call of the op is, without a node of its own */
typedef struct cv expand_fn_t(struct elab *e, const struct op *op, struct cv *props,
			      struct cv *args, uint32_t nargs, struct span s);
expand_fn_t elab_scan, elab_if_else, elab_lazy_if_else, elab_from_graph;

/* elab.c */
struct diag *elab_error(struct elab *e, struct span s, enum diag_code code, const char *fmt, ...)
	PRINTF(4, 5);
struct span node_span(struct elab *e, struct span s); /* the call's, inside the library */
struct scope *push_scope(struct elab *e);
void pop_scope(struct elab *e);
struct binding *bind_value(struct elab *e, struct sym *name, struct cv v, struct span s);
void bind_missing(struct elab *e, struct sym *name, struct span s);
struct binding *bind_dim(struct elab *e, struct sym *name, dim d, struct span s);
struct binding *find_value(struct elab *e, struct sym *name);
struct cv binding_cv(const struct binding *b);
struct binding *find_dim(struct elab *e, struct sym *name);
bool exec_block(struct elab *e, struct ablock *b);
bool bind_target(struct elab *e, struct target *t, struct cv v);
bool expand_call(struct elab *e, struct fn *f, struct span call, const struct prop_arg *props,
		 uint32_t nprops, struct cv *args, uint32_t nargs, struct cv *results);
struct cv poison(struct span s);
struct cv cv_value(struct value *v, struct span s);
void define_known(struct ctx *cx, struct value *v);

/* expr.c */
extern const struct operator { /* a row of syntax/operators.def */
	const char *text, *op, *onnx, *bits;
} operators[OPR_COUNT];
struct cv eval(struct elab *e, struct expr x);
struct cv cv_int(int64_t v, struct span s);
struct cv cv_dim(dim d, struct span s);
bool cv_as_dim(struct elab *e, const struct cv *v, dim *d); /* int, dim or known int64 scalar */
bool cv_is_weak(const struct cv *v);
const char *cv_kind_name(const struct cv *v); /* "a string", "a tensor", ... */

/* value.c: compile-time values -> values */
struct value *to_value(struct elab *e, const struct cv *v, enum dtype want); /* NULL: reported */
void no_tensor(struct elab *e, const struct cv *v);
const char *near_name(struct elab *e, const struct sym *name);        /* of a value, or NULL */
bool all_defined(struct elab *e, const struct cv *items, uint32_t n); /* false: reported */
struct value *dim_to_value(struct elab *e, dim d, struct span s);
struct value *constant_of(struct elab *e, const struct cv *v, enum dtype t, struct span s);
enum dtype weak_dtype(struct elab *e, const struct cv *v, enum dtype other);
enum dtype list_values(const struct cv *v); /* their common dtype; DT_NONE: there is none in it */
struct cv elab_construct(struct elab *e, enum dtype t, const struct cv *dims, uint32_t ndims,
			 bool has_dims, struct cv *args, uint32_t nargs, struct span s);

/* call.c */
struct cv eval_call(struct elab *e, uint32_t at, struct cv *items);
struct cv eval_opref(struct elab *e, uint32_t at, struct cv *items);
struct cv call_op(struct elab *e, const struct op *op, struct cv *props, struct cv *args,
		  uint32_t nargs, struct span s);
bool few_inputs(struct elab *e, uint32_t n, struct span s); /* false: reported */
struct value *cast_value(struct elab *e, struct value *v, enum dtype t, struct span s);
struct cv call_named(struct elab *e, const char *op, struct cv *args, uint32_t nargs,
		     struct span s);
struct cv node_result(struct elab *e, struct node *n, struct span s);
void elab_children(struct elab *e, uint32_t at,
		   uint32_t *out); /* indices of the n children, in order */

/* raw.c */
struct cv call_onnx(struct elab *e, uint32_t at, struct cv *items);
/* a + b in a file with infix=onnx; name: "onnx.Add", n: the expression */
struct cv call_onnx_operator(struct elab *e, const char *name, struct cv *args, uint32_t nargs,
			     const struct anode *n);

/* index.c */
struct cv eval_index(struct elab *e, uint32_t at, struct cv *items);
struct value *element_of(struct elab *e, struct value *x, struct cv i);
struct value *slice_of(struct elab *e, struct value *x, struct cv start, struct cv stop,
		       struct span s);

/* type.c */
bool generic_name(const struct sym *s); /* as a dtype in a fn: F, T1 */
bool match_type(struct elab *e, struct expr x, struct value *v, const char *what, struct sym *name,
		struct span s, uint64_t *loose);
enum dtype written_dtype(struct elab *e, struct expr x);
bool make_type(struct elab *e, struct expr x, struct value *v, struct type *t);
void declare_dims(struct elab *e, struct expr x, struct value *v);

/* if.c */
bool exec_if(struct elab *e, struct stmt *s);

/* flow.c */
bool fail_targets(struct elab *e, struct stmt *s);
/* A block's result as the outside sees it: dims that differ from `other`'s (which may be NULL), or
 * were made in the block, after `mark`, are not known. lead: new leading axes. */
struct type outside_type(struct elab *e, struct value *out, const struct type *in,
			 const struct type *other, dim mark, uint32_t lead);
struct loop_inputs {
	struct value *trips, *go; /* NULL: no limit, true */
	struct value **carried;
	const uint64_t *loose; /* axes of the carried ones whose sizes change; NULL: none */
	uint32_t n;
};
struct block *open_block(struct elab *e, struct span s);
void append_lost(struct elab *e, struct block *body, struct span s);
struct value *body_param(struct elab *e, struct block *b, struct type t, struct span s);
struct node *append_loop(struct elab *e, struct loop_inputs in, struct block *body, dim steps,
			 dim mark, struct span s);
struct value *condition(struct elab *e, const struct cv *c); /* bool[]; NULL: reported */
bool can_stack(struct elab *e, const struct value *v, struct span s);
bool bound_dim(struct elab *e, const struct cv *v, dim *d);
bool exec_loop(struct elab *e, struct stmt *s);
bool exec_next(struct elab *e, struct stmt *s);
bool exec_until(struct elab *e, struct stmt *s);
bool exec_state(struct elab *e, struct stmt *s);

#endif
