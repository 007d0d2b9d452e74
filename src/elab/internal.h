/*
 * internal.h: shared by the files of this folder alone. The elaborator walks the statements in
 * order, and evaluates expressions with a stack machine over the post-order AST. The meaning of a
 * name is its current binding, sym->value or sym->dim.
 */
#ifndef PTGC_ELAB_INTERNAL_H
#define PTGC_ELAB_INTERNAL_H

#include "syntax/syntax.h"
#include "elab/elab.h"

/* One meaning of a name. It is visible only in the frame that bound it, so the body of a fn does
 * not see the names of its caller. */
struct binding {
	struct sym *sym;
	struct binding *hidden; /* the binding of the name before this one */
	struct binding *prev;   /* the next older binding of the scope */
	struct scope *scope;
	struct span span;
	uint32_t state; /* the number of the state, from 1; 0: it is no state */
	uint8_t kind;   /* value namespace: enum cv_kind */
	bool used : 1, is_rest : 1;
	bool weak : 1;    /* CV_VALUE: see struct cv */
	bool open : 1;    /* dim namespace: a ?n of the header, which equations may set */
	bool result : 1;  /* it is a result of the graph */
	bool unread : 1;  /* an input of the graph whose name no expression has used yet */
	bool missing : 1; /* the name has no definition, which was reported */
	bool later : 1;   /* a const that was not evaluated yet */
	union {
		struct value *v; /* CV_VALUE */
		struct cv *cv;   /* the other kinds: see binding_cv() */
		dim d;           /* dim namespace */
		struct rest *rest;
	} u;
};
struct rest { /* the dims that a '...b' stands for */
	const dim *at;
	uint32_t n;
};

/* What a name in the types of a fn stands for in one call: a dtype, a dim, or the dims of '...b'.
 * What an integer in the header of a 'for' is in a step: text */
struct meaning {
	struct meaning *before;
	const struct sym *name;
	const struct rest *rest;
	const char *text;
	dim d;
	enum dtype dtype;
};

struct scope {
	struct scope *outer;
	struct frame *frame;
	struct binding *values, *dims; /* newest first */
};

struct frame { /* one expansion of a fn, or the graph */
	struct fn *fn;
	struct span
		call; /* of a fn of the library: nodes and errors get this place of the user's */
	bool library;
	uint32_t depth;
	/* A statement may define a wrong name: then one name is defined twice (taken) and another
	 * is not defined (missing). The first of the two errors; the second becomes a note of it.
	 */
	struct diag *taken, *missing;
	uint32_t nameless; /* the number of statements whose targets the parser could not read */
};

struct carried {
	struct sym *name;
	struct span span;
	struct value *init, *param, *next;
	struct cv now, then; /* of a for: the value in this step, and in the next one */
	bool given;          /* then is set */
	bool decimal;        /* float64 as a number alone is: s = 0.5, without a type */
};
struct loop_state { /* the loop whose body is being elaborated */
	struct loop_state *outer;
	struct block *block;
	struct carried *carried;
	uint32_t ncarried;
	struct value *until;             /* bool[], NULL when there is none */
	bool fixed_condition;            /* 'while' reads nothing that is carried */
	const struct aloop *written_out; /* of a for; NULL: of a loop */
	bool stepwise;                   /* its steps are elaborated one by one, this one now: */
	uint32_t step;
};

/* Names that stand outside of graphs and fns, of all files, found by what sees them and by name */
enum global_kind {
	GLOBAL_FN,    /* of a module */
	GLOBAL_CONST, /* of a file */
	GLOBAL_ALIAS, /* of a file */
	GLOBAL_TEXT,  /* what was made of a source: for a module, or as a module (of NULL) */
	GLOBAL_ARRAY, /* what a long list is as an array of a dtype, as a const is used often */
};
struct global {
	enum global_kind kind;
	const void *in, *name;
	union {
		struct fn *fn;
		struct binding *constant;
		struct ause *use;
		struct file *file;
		struct tensor *array;
	} u;
};

struct drawn { /* a generator that a random variable took */
	const struct value *generator;
	const struct block *block;
	struct span span; /* of the draw */
};
struct narrower { /* a value that would be float64 if sizes were int64 */
	const struct value *value;
	const char *size; /* that it is computed from; NULL: its type is written */
};
struct elab {
	struct ctx *cx;
	expand_fn_t *const *expansions;
	struct file *file; /* the file of the current statement */
	struct graph *graph;
	struct block *block; /* new nodes are appended to it */
	struct scope *scope;
	struct frame *frame;
	struct loop_state *loop;
	vec(struct cv) stack; /* of the expression machine */
	/* expansions of fns from within fns, and what the user's statements in them consist of */
	uint64_t nested;
	uint32_t fors;        /* that are open, also in the callers of a fn */
	uint32_t written_out; /* statements of all steps of all fors */
	uint64_t joined;      /* bytes of strings that were joined */
	bool limited;         /* a limit of the expansion of fns was reported */
	vec(struct file *) used;
	bool header; /* the types of the graph's parameters are read */
	vec(struct global) globals;
	struct hash_table global_index;
	bool broken;                /* a file has mistakes of syntax */
	const struct sym *in_const; /* the const whose value is evaluated */
	bool fns_missing;           /* a file of a `use` could not be read */
	/* a body is checked whose parameters are not known: all branches of its static ifs are
	 * walked, and calls of what is not known are looked at as far as they can be */
	bool checking;
	bool in_dim; /* a length of a type is evaluated */
	bool trying; /* a fn is expanded for made-up arguments, of which a call may know more */
	struct sym *underscore;
	struct prop_arg no_props;         /* of calls without properties */
	vec(const struct astr *) strings; /* the strings that were reported to be no tensors */
	/* The statement `a, b = onnx.X(...)`: the node of the whole right side in root_file, the
	 * number of targets, and the types written for them (NULL: not for all). A raw ONNX node
	 * takes the types that cannot be inferred from there. */
	uint32_t root, nroot;
	struct file *root_file;
	const struct type *wanted;
	/* values that would be float64 if sizes were int64, in the order of their ids */
	vec(struct narrower) narrower;
	vec(struct drawn) drawn; /* the first time, for blocks that cannot both be run */
	vec(struct span) warned; /* where fns of the user have mistakes: a place is shown once */
	bool wanted_wrong;       /* a written type is wrong, which was reported */
};

#define MAX_FN_DEPTH       200
#define MAX_EXPANSION      1000000
#define MAX_WRITTEN_OUT    100000 /* statements of fors */
#define MAX_JOINED         (1 << 24)
#define MAX_LEAVES         (1 << 20) /* of a list that is made of lists */
#define MAX_FILES          10000     /* a file counts for each module that it is in */
#define MAX_BLOCK_DEPTH    30
#define MAX_CARRIED        1000 /* values of a loop */
#define MAX_HINTS          50   /* errors with "did you mean" */
#define MAX_MEANINGS_SHOWN 10   /* names of a fn that a message says the meaning of */
#define MAX_SOLVE_ROUNDS   16   /* passes of solve_dims() */

expand_fn_t elab_scan, elab_scalar_loop, elab_if_else, elab_lazy_if_else, elab_from_graph;

/* cv.c: what an expression is at compile time, and what is reported about it */
struct diag *elab_error(struct elab *e, struct span s, enum diag_code code, const char *fmt, ...)
	PRINTF(4, 5);
/* s with the calls that led there; in the library, the user's call of it */
struct span node_span(struct elab *e, struct span s);
struct cv poison(struct span s);
struct cv cv_value(struct value *v, struct span s);
struct cv cv_float(double f, struct span s);
struct cv cv_bool(bool b, struct span s);
double cv_number(const struct cv *v); /* of an integer or float literal */
struct cv cv_dim(dim d, struct span s);
struct cv node_result(struct elab *e, struct node *n, struct span s);
bool cv_as_dim(struct elab *e, const struct cv *v, dim *d); /* an int, dim or known int64 scalar */
bool cv_is_weak(const struct cv *v);
bool cv_is_int(const struct cv *v); /* an integer literal, a size or an integer function of sizes */
bool keeps_weak(const struct cv *v);          /* a statement binds it as it is, not as a value */
const char *cv_kind_name(const struct cv *v); /* "a string", "a tensor", ... */
/* Is this the first report of a string that stands where it cannot? */
bool string_is_new(struct elab *e, const struct astr *s);

/* literals.c: arithmetic of literals and sizes */
/* clang-format off */
extern const struct operator { /* a row of syntax/operators.def */
	const char *text, *op, *onnx, *bits;
} operators[OPR_COUNT];
/* clang-format on */
/* CV_NONE: not known while compiling */
struct cv static_binary(struct elab *e, enum opr op, const struct cv *a, const struct cv *b,
			struct span s);
struct cv static_unary(struct elab *e, enum opr op, const struct cv *v, struct span s);
struct cv from_wide(struct elab *e, __int128 v, struct span s); /* an integer; poison: reported */
struct cv too_large(struct elab *e, struct span s); /* reports a number beyond 64 bits: poison */

/* scope.c: what names mean, in the fn that is expanded */
struct scope *push_scope(struct elab *e);
void pop_scope(struct elab *e);
struct binding *bind_value(struct elab *e, struct sym *name, struct cv v, struct span s);
void bind_missing(struct elab *e, struct sym *name, struct span s);
struct binding *bind_dim(struct elab *e, struct sym *name, dim d, struct span s);
struct binding *bind_rest(struct elab *e, struct sym *name, struct rest *rest, struct span s);
struct binding *find_local(struct elab *e, const struct sym *name); /* not a const */
struct binding *find_value(struct elab *e, struct sym *name);
struct binding *find_dim(struct elab *e, struct sym *name);
struct cv binding_cv(const struct binding *b);
enum dtype written_dtype(struct elab *e, struct expr x); /* of a type; DT_NONE: no dtype's name */
bool generic_name(const struct sym *s); /* can s be a generic dtype of a fn, such as F or T1? */
bool is_for_item(const struct elab *e, const struct sym *name); /* of the for around it */
/* Messages about the fn or step that is expanded say what the name stands for. */
void note_meaning(struct elab *e, struct meaning m);
const char *meanings_text(struct ctx *cx, const struct fn_call *c); /* of struct ctx */
/* ... in a file: a fn, a const, an alias, a list as an array; NULL: nothing */
struct global *find_global(struct elab *e, enum global_kind kind, const void *in, const void *name);
struct global *add_global(struct elab *e, enum global_kind kind, const void *in, const void *name);
struct fn *find_fn(struct elab *e, struct sym *name);
struct binding *find_const(struct elab *e, const struct file *f, const struct sym *name);
struct ause *find_alias(struct elab *e, const struct sym *name);
struct tensor **array_of_list(struct elab *e, const void *list, enum dtype t); /* a place for it */
const char *aliased_const(struct elab *e, struct sym *name); /* "m.k" of k, or NULL */
const char *near_alias(struct elab *e, const char *domain); /* an alias of that spelling, or NULL */
/* ... and in the language: its functions; NULL ends */
extern const char *const builtins[];

/* undefined.c: names that mean nothing */
void report_undefined(struct elab *e, const struct cv *v); /* v is a name */
/* ": ..." of a name with a letter like an operator or a quote, as a minus of U+2212; or NULL */
const char *operator_in_name(struct elab *e, const struct sym *name);
bool all_defined(struct elab *e, const struct cv *items, uint32_t n); /* false: reported */
const char *near_name(struct elab *e, const struct sym *name);        /* of a value, or NULL */

/* elab.c: statements */
bool exec_block(struct elab *e, struct ablock *b);
/* Gives the user's name to what a statement or a header of the graph computed. */
void keep_name(struct elab *e, struct value *v, struct sym *name);
void mark_read_in_branches(struct elab *e, const struct aif *a, const struct aif *chosen);
void warn_unread(struct elab *e);
bool bind_target(struct elab *e, struct target *t, struct cv v);
void define_known(struct ctx *cx, struct value *v);

/* files.c: the files of a model */
bool use_files(struct elab *e, struct file *main);      /* false: a file has mistakes of syntax */
void eval_consts(struct elab *e);                       /* of all files */
bool uses_library(struct elab *e, const char *library); /* without an alias */
/* What m.Act names, for `name` "m.Act": a fn in *fn. false: there is no alias m, so it is an
 * operator of a domain. true with NULL in *fn: reported */
bool find_through_alias(struct elab *e, const struct anode *n, struct fn **fn);
const char *aliased_name(struct elab *e, struct sym *fn); /* "m.Act" of Act, or NULL */
struct cv alias_attribute(struct elab *e, const struct ause *u, struct sym *name, struct span s);

/* fn.c: calls of fns */
/* what `b` holds, as the result r of a fn or graph; NULL: reported */
struct value *declared_result(struct elab *e, const struct param *r, const struct binding *b);
/* The body of f is elaborated in `frame`, in a scope of its own; leave_body() restores *outer. */
void enter_body(struct elab *e, struct fn *f, struct frame *frame, struct elab *outer);
void leave_body(struct elab *e, struct fn *f, const struct elab *outer);
bool check_arity(struct elab *e, const struct fn *f, uint32_t nargs, struct span call);
bool check_recursion(struct elab *e, struct fn *f, struct span call); /* false: reported */
/* a value for each property of f, poison for one that is not given; NULL: reported */
struct cv *given_props(struct elab *e, struct fn *f, const struct prop_arg *props, uint32_t nprops);
/* given: of given_props(); NULL: no property is given */
bool expand_call(struct elab *e, struct fn *f, struct span call, const struct cv *given,
		 struct cv *args, uint32_t nargs, struct cv *results);

/* expr.c */
struct cv eval(struct elab *e, struct expr x);

/* value.c: compile-time values -> values */
/* want: the dtype of a literal, DT_NONE: its default. NULL: reported */
struct value *to_value(struct elab *e, const struct cv *v, enum dtype want);
void report_no_tensor(struct elab *e, const struct cv *v);
struct value *dim_to_value(struct elab *e, dim d, struct span s);
struct value *constant_of(struct elab *e, const struct cv *v, enum dtype t, struct span s);
enum dtype weak_dtype(struct elab *e, const struct cv *v, enum dtype other);
struct cv data_row(struct elab *e, const struct adata *d, uint32_t k, struct span s);
enum dtype list_values_dtype(const struct cv *v); /* of the values in a list; DT_NONE: none */

/* construct.c: float32[2](0.5), rng(42) */
struct cv elab_construct(struct elab *e, enum dtype t, const struct cv *dims, uint32_t ndims,
			 bool has_dims, struct cv *args, uint32_t nargs, struct span s);

/* call.c */
struct cv eval_call(struct elab *e, uint32_t at, struct cv *items);
struct cv eval_opref(struct elab *e, uint32_t at, struct cv *items);

/* apply.c */
struct cv call_op(struct elab *e, const struct op *op, struct cv *props, struct cv *args,
		  uint32_t nargs, struct span s);
struct value *cast_value(struct elab *e, struct value *v, enum dtype t, struct span s);
struct cv call_named(struct elab *e, const char *op, struct cv *args, uint32_t nargs,
		     struct span s);

/* arguments.c: arguments of calls, those with names, as in Sc(x, k=3), and misplaced ones */
void elab_children(struct elab *e, uint32_t at, uint32_t *out);    /* the indices of node at's */
bool check_input_count(struct elab *e, uint32_t n, struct span s); /* false: reported */
bool has_names(struct elab *e, uint32_t at);
/* The arguments of a call of f in the order of its parameters; poison: the default. NULL: reported
 */
struct cv *named_args(struct elab *e, const struct fn *f, uint32_t at, const struct cv *items);
/* Sum{axis=0}(x) for the call np.sum(x, 0) or x.sum(0); NULL: it is not known */
const char *meant_call(struct elab *e, uint32_t at);
const char *method_instead(struct elab *e,
			   uint32_t at);        /* what to write for x.sum(0) and x.shape */
bool refuse_names(struct elab *e, uint32_t at); /* false: what is called is not known either */
/* Softmax(x, 1), Join([x, y]), Eye(3): what is written instead. true: reported */
bool misplaced_arguments(struct elab *e, const struct op *op, uint32_t at, const struct cv *items);
bool counts_by_call(struct elab *e, const struct aitem *it); /* i in range(3): reported */
const char *params_text(struct elab *e, const struct fn *f); /* "x, k" */
void report_arity(struct elab *e, const struct fn *f, uint32_t nargs, struct span s);

/* numbers.c: functions of literals and sizes */
/* op of literals alone, a literal; CV_NONE: it is not computed while compiling */
struct cv function_of_literals(struct elab *e, const struct op *op, const struct cv *args,
			       uint32_t nargs, struct span s);
/* The dtype in which a call of op whose arguments are literals and sizes alone is computed;
 * DT_NONE: they are not, or op is no function of each element. */
enum dtype number_dtype(struct elab *e, const struct op *op, struct cv *props,
			const struct cv *args, uint32_t nargs, struct span s);
/* Is there a size among the arguments that float16 may not hold? */
bool outgrows_float16(struct elab *e, const struct cv *args, uint32_t nargs);

/* why.c: a name got a value, or (next) its next value; s: the place */
void why_note(struct elab *e, struct sym *name, struct cv v, struct span s, bool next);
/* From here on what is noted is of f, which nothing calls, in the block of made-up arguments.
 * typed: f is expanded; else its header does not say the types. NULL: no longer */
void why_try(struct elab *e, const struct fn *f, bool typed);

/* mistakes.c */
const char *carried_as(struct elab *e, const struct carried *c, enum dtype dtype, uint64_t open);
void warn_integers(struct elab *e, const struct node *n, struct span s);
void warn_mistakes(struct elab *e, const struct node *n, struct span s);
/* A call of an op made r; size: an argument that is a size and took a float dtype; NULL: none */
void note_narrower(struct elab *e, const struct op *op, struct value **in, uint32_t nin,
		   const char *size, const struct value *r);
void type_is_written(struct elab *e, const struct value *v); /* for v, so its dtype is meant */
const char *size_text(struct elab *e, const struct cv *v);   /* n, of n or n / 2 */
/* Warns if the output v had another dtype when sizes were int64. */
void warn_old_dtype(struct elab *e, const struct param *r, const struct value *v);
/* Reports that the result r has another dtype than its header says, where that dtype was made. */
bool report_made_dtype(struct elab *e, const struct param *r, const struct value *v);

/* generator.c: rng(42), rng[4](42), rng([six words]), rng(w) */
struct cv elab_generator(struct elab *e, enum dtype t, const struct cv *dims, uint32_t ndims,
			 struct cv *args, uint32_t nargs, struct span s);

/* raw.c */
struct cv call_onnx(struct elab *e, uint32_t at, struct cv *items);
/* a + b in a file with infix=onnx; name: "onnx.Add", n: the expression */
struct cv call_onnx_operator(struct elab *e, const char *name, struct cv *args, uint32_t nargs,
			     const struct anode *n);

/* a node of this operator, of one result, with one attribute or none (NULL) */
struct value *append_onnx(struct elab *e, enum onnx_id op, struct value **in, uint32_t nin,
			  struct attr *attr, struct span s);

bool is_strings(const struct cv *v); /* a string, or a list of strings with some in it */
struct value *string_constant(struct elab *e, const struct cv *v,
			      struct span s); /* of is_strings() */

void check_attr_names(struct elab *e, uint32_t at); /* of a raw node whose inputs are not known */

/* check.c: checks all fns of the used files */
void check_fns(struct elab *e);

/* rational.c */
struct cv call_rational(struct elab *e, struct cv *args, uint32_t nargs, struct span s);

/* index.c */
struct cv eval_index(struct elab *e, uint32_t at, struct cv *items);
struct value *element_of(struct elab *e, struct value *x, struct cv i);
struct value *slice_of(struct elab *e, struct value *x, struct cv start, struct cv stop,
		       struct span s);

/* type.c */
enum match_rule {
	MATCH_SETS,  /* parameters of fns, states: makes it so, as an equation */
	MATCH_PROVES /* annotations: it must be so already; in the library they are as parameters */
};
bool match_type(struct elab *e, struct expr x, struct value *v, enum match_rule rule,
		const char *what, struct sym *name, struct span s, uint64_t *loose);
bool make_type(struct elab *e, struct expr x, struct value *v, struct type *t);
void declare_dims(struct elab *e, struct expr x, struct value *v);

/* if.c */
/* Calls the fn or op of a property. CV_MULTI: several results, poison: reported */
struct cv call_ref(struct elab *e, const struct cv *ref, struct cv *args, uint32_t nargs,
		   struct span s);
bool exec_if(struct elab *e, struct stmt *s);

/* for.c */
bool exec_for(struct elab *e, struct stmt *s);
bool next_in_for(struct elab *e, struct stmt *s, struct carried *c);
bool count_statement(struct elab *e, struct span s); /* of a for; false: too many, reported */

/* flow.c */
bool count_targets(struct elab *e, const struct stmt *s, uint32_t n);
struct value *stack_values(struct elab *e, struct value **v, uint32_t n, struct span s);
bool fail_targets(struct elab *e, struct stmt *s);
/* The type of `out`, a result of a loop or if, for the result of type *in of its block. A dim
 * becomes unknown if it differs from that of *other (the other branch, may be NULL), or if it was
 * created in the block, after `mark`. lead: the number of new leading axes. */
struct type outside_type(struct elab *e, struct value *out, const struct type *in,
			 const struct type *other, dim mark, uint32_t lead);
struct loop_inputs {
	struct value *trips, *go; /* trip count (NULL: no limit), first condition (NULL: true) */
	struct value **carried;
	const uint64_t *loose; /* bit k of loose[i]: the length of axis k of value i changes */
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
