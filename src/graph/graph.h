/*
 * graph.h: nodes, values and blocks: what the elaborator makes, lowering turns into a graph of ONNX
 * nodes, and emission writes.
 */
#ifndef PTGC_GRAPH_GRAPH_H
#define PTGC_GRAPH_GRAPH_H

#include "data/data.h"
#include "dims/dims.h"

struct op;
struct onnx_op;
struct cv;

/* Known integers: the elements of an integer value of rank 0 or 1, as dims: all or none. */
#define MAX_KNOWN 64
struct known {
	uint32_t n;
	dim at[];
};

/*
 * Graphs. Both levels use the same structs: a node is an op of PyTensor or of ONNX. Raw nodes,
 * which a text writes as onnx.X(...), are ONNX operators at the PyTensor level. Every value belongs
 * to one block and is defined before it is used (blocks nest; an inner block may use values of
 * outer ones).
 */
#define MAX_VALUES (UINT32_C(1) << 30)
struct value {
	/* both levels */
	struct type type;          /* of no dtype: it failed, and what reads it stays silent */
	struct sym *name;          /* the user's name; NULL: unnamed */
	struct node *def;          /* whose result it is; NULL: a parameter or a constant. A raw
				      onnx.Constant has both this and `data`. */
	const struct tensor *data; /* of a constant or a weight: see is_constant(); else NULL */
	struct known *known;       /* the elements, as dims; NULL: not known. See known_of() */
	/* what stands for it, see resolve() */
	union {
		struct value *lowered; /* PyTensor level: the ONNX value that holds it, or NULL */
		struct value *forward; /* ONNX level: what took its place, or NULL */
	};
	struct span span;  /* of the text that it comes from */
	uint32_t id : 30;  /* number in creation order, unique in the compilation */
	uint32_t sign : 2; /* enum sign of a value that ONNX's operators and raw nodes compute, or
			      of a parameter; not of constants: ask sign_of() */
	/* ONNX level: who uses it, see uses.h */
	uint32_t uses : 30;           /* it has so many uses, or fewer */
	uint32_t is_result : 1;       /* a block gives it back: another value cannot stand for it */
	uint32_t is_inner_result : 1; /* and that block is not the graph's own */
};
/* of the elements of a float value; bits */
enum sign {
	SIGN_ANY = 0,
	SIGN_NO_NEGATIVE_ZERO = 1, /* none is -0 */
	SIGN_NON_NEGATIVE = 3,     /* none has its sign bit set, NaN apart */
};
struct node {
	const struct op *op;        /* PyTensor level; &op_onnx for raw and all ONNX nodes */
	const struct onnx_op *onnx; /* ONNX level and raw nodes */
	struct value **in;          /* NULL entries: omitted optional inputs */
	struct value **out;
	uint16_t nin, nout;
	uint16_t nattrs;
	bool dead; /* it stays in its block until drop_unread(), and counts for nothing */
	/* raw, of the library or of the compiler: dtypes outside of the schema are taken, as the
	 * legaliser decides about them, and axes may be an attribute or an input at each opset */
	bool lenient : 1;
	/* raw, of the user, with 'optimise' in the header or without it. Its lengths must keep what
	 * the header promises. */
	bool by_hand : 1;
	bool as_written : 1; /* by_hand without 'optimise': it stays as it is; see operator_of() */
	/* ONNX level. The first two are duties: who makes a node again on other inputs, or lets one
	 * stand for another, hands them on (emit_like(), serve_also()). */
	bool zero_sign_counts : 1; /* of Where and Add: -0 must come out as -0 */
	bool index_may_fail : 1;   /* of Gather: an index out of range fails the run */
	bool small_ints : 1;       /* its integers are sizes or the like, below 2^31 */
	bool kernel_is_right : 1;  /* what its kernel gets wrong cannot occur here, or is
				      mended around it */
	bool in_typed_arena : 1;   /* made by node_new(): drop_typed() takes its memory */
	union {
		struct cv *props;   /* PyTensor level: in the order of the op's signature */
		struct attr *attrs; /* ONNX level and raw nodes: nattrs of them */
	};
	union {
		struct block **blocks; /* PyTensor level: of op_loop 1, of op_if 2, of Blockwise
					  1 or none; NULL ends them */
		/* ONNX level: its name in the model, which is what a run says that fails here;
		 * NULL: that of a result */
		const char *label;
	};
	struct span span;
	struct node *next; /* in the block, dead ones too */
};
/* What must hold where a block runs, or the run fails: every element of `cond`, or, where that is
 * NULL, a = b. Lowering records it; nodes are made of it after the rewrites (lower/check). */
struct check {
	struct value *cond;  /* ONNX level, bools */
	struct value *on;    /* it is only checked if this value is needed; NULL: always */
	const char *message; /* what must hold; NULL: a and b say it */
	struct value *param; /* a is the length of axis `axis` of this input; NULL: computed */
	uint32_t axis;
	dim a, b;
	bool by_product; /* product.c: a matrix product fails where this does not hold */
	bool relied_on;  /* product.c: that another one does so follows from this */
	struct span span;
};
/* Where a node is. `before` NULL: it is the first of the block. */
struct position {
	struct block *block;
	struct node *before, *node;
};
struct block {
	struct block *outer;
	struct position position; /* of the node that it is in, as the last walk() found it */
	vec(struct value *) params;
	vec(struct value *) results;
	vec(struct check) checks;
	struct node *first, *last;
	uint32_t nnodes; /* from first to last */
	uint32_t depth;  /* 0: the graph's own */
};
struct state {
	struct value *param, *init, *next; /* next NULL: never updated */
};
struct replaced { /* a node of the user's that others took the place of */
	struct span span;
	const char *label; /* what messages call it */
};
#define MAX_OPS       512
#define MAX_OPERATORS 320
struct graph {
	struct sym *name;
	struct block *block;
	/* PyTensor level: up to here nodes only work out dims of the parameters; NULL: none */
	struct node *prologue;
	vec(struct state) states;
	vec(struct replaced) replaced;
	vec(struct value *) kept; /* ONNX level: rewrites leave them, as checks will read them; none
				     once these are placed */
	bool checked;             /* ONNX level: lowering left checks behind */
	/* ONNX level, of lower/report.c: the names that values or nodes were given */
	struct given_names *names;
	/* PyTensor level, as words_of_generators() found it: the ops of the nodes, as bits, and
	 * whether a value is complex. Later passes do not keep it. */
	uint64_t ops[MAX_OPS / 64];
	bool has_complex;
	/* ONNX level, by drop_unread(): the operators of the nodes, as bits, and whether a node
	 * reads a constant of which one element is stored. A pass that looks for an operator that
	 * is not among them need not run. */
	uint64_t operators[MAX_OPERATORS / 64];
	bool has_splats;
};
enum attr_kind { AT_INT = 1, AT_FLOAT, AT_STR, AT_TENSOR, AT_INTS, AT_FLOATS, AT_STRS, AT_GRAPH };
struct attr {
	const char *name;
	uint8_t kind;
	uint32_t n; /* elements of the list kinds */
	union {
		int64_t i;
		float f;
		struct astr s;
		const struct tensor *t;
		const int64_t *ints;
		const float *floats;
		const struct astr *strs;
		struct block *block;
	} u;
};

/* A tensor that the user gave by file or pointer and has a name for: in the model it keeps its
 * name, dims and dtype, so nothing is folded into it. */
static inline bool is_weight(const struct value *v)
{
	return v->data && v->data->name && v->name;
}
static inline uint32_t hash_id(const struct value *v)
{
	return v->id * UINT32_C(0x9e3779b1);
}
static inline bool is_constant(const struct value *v)
{
	return v && v->data && v->data->data && !is_weight(v);
}
static inline const struct tensor *constant_data(const struct value *v)
{
	return is_constant(v) ? v->data : NULL;
}

/* What stands for v now: of a typed value that was lowered, too */
static inline struct value *resolve(struct value *v)
{
	while (v && v->forward)
		v = v->forward;
	return v;
}

/* graph.c */
struct value *graph_value(struct ctx *cx, struct type t, struct span s);
struct value *graph_constant(struct ctx *cx, const struct tensor *t, struct span s);
struct value *graph_number(struct ctx *cx, enum dtype t, double k, struct span s); /* t[] */
struct value *graph_ints(struct ctx *cx, const int64_t *v, uint32_t n,
			 struct span s); /* int64[n] */
/* Is v a constant with elements, each of them k, and are `most` or fewer stored? */
bool is_full_of(const struct value *v, double k, uint64_t most);
bool is_true(const struct value *v); /* one element that is not 0, of a constant or a weight */
/* A node of the PyTensor level without inputs and results, and what gives it these: graph_node()
 * does all. The types of results are set later. */
struct node *node_new(struct ctx *cx, const struct op *op, struct span s);
void node_inputs(struct ctx *cx, struct node *n, struct value **in, uint32_t nin); /* a copy */
void node_results(struct ctx *cx, struct node *n, uint32_t count);
void graph_append(struct block *b, struct node *n);
void graph_append_all(struct block *b, struct block *from); /* which is empty then */
/* Makes a block anew: take_nodes() empties it, and next_taken() gives the nodes that were in it one
 * by one, NULL at the end. Who takes a node puts it into a block again: at the ONNX level by
 * append_again(), where the builder counts uses anew, else by graph_append(). One that stays out
 * must have no readers. Meanwhile no walk over the graph may ask for what is in the block. */
struct node *take_nodes(struct block *b);
struct node *next_taken(struct node **nodes);
/* The nodes of the PyTensor level are lowered: their memory serves others. */
void drop_typed(struct ctx *cx);
const struct attr *find_attr(const struct node *n,
			     const char *name); /* of an ONNX node; NULL: none */
int64_t int_of_attr(const struct node *n, const char *name, int64_t otherwise);       /* none */
const int64_t *ints_of_attr(const struct node *n, const char *name, uint32_t *count); /* or NULL */
bool is_single(struct ctx *cx, const struct type *t); /* are all lengths 1? */
bool may_be_empty(struct ctx *cx, const struct type *t);
/* How many elements there are along these axes; false: not known, or more than int64 holds */
bool count_along(struct ctx *cx, const struct type *t, const int *axes, int n, int64_t *count);
/* About how many elements an array has: the product of dim_expected() of its lengths */
double expected_elements(struct ctx *cx, const struct type *t, int64_t otherwise);
/* Has `to` the lengths that broadcasting the two gives, whatever the open ones are? */
bool broadcasts_to(struct ctx *cx, const struct type *from, const struct type *to);
/* By value id, which values are needed: does n give one of them, or nothing, as a check does? */
bool is_needed(const bool *needed, const struct node *n);
bool has_checks(const struct block *k); /* it or a block in it */
bool is_poisoned(const struct node *n); /* does n have to do with what was refused? */

/*
 * walk.c: the blocks inside of nodes, at both levels.
 * Of the bodies of n the one after k, or the first one if k is NULL; NULL: there are no more
 */
struct block *body_after(const struct node *n, const struct block *k);
#define for_bodies(k, n) for (struct block *k = body_after(n, NULL); k; k = body_after(n, k))
/*
 * A walk over a block and all that is in it. Example, over the nodes of b and of blocks in them:
 *
 *	for (struct walk w = {.root = b}; walk(&w, WALK_BEFORE);)
 *		look_at(w.at.node);
 *
 * The events come in this order: ENTER for a block; for each of its nodes BEFORE, the events of its
 * bodies, AFTER; LEAVE for the block. Nodes may be put before or behind w.at.node: the walk passes
 * over those between w.at.before and w.at.node, and goes on to those behind. A loop that puts
 * another node in the place of w.at.node sets w.at.node to it. Dead nodes are met, too.
 */
enum walk_event { WALK_ENTER = 1, WALK_BEFORE = 2, WALK_AFTER = 4, WALK_LEAVE = 8, WALK_END = 16 };
struct walk {
	const struct block *root;
	struct position at; /* of ENTER and LEAVE the block counts */
	enum walk_event event;
};
/* Goes on to the next of these events; false: there are no more. */
bool walk(struct walk *w, unsigned events);
/* At BEFORE: the bodies of the node are left out. */
void walk_past(struct walk *w);

/* known.c: integers that are known while compiling, as dims. */
bool can_be_known(const struct type *t); /* integers or bools of rank 0 or 1 */
/* The number of elements of a type that can be known and is short enough; else -1 */
int known_count(struct ctx *cx, const struct type *t);
struct known *known_new(struct ctx *cx, uint32_t n);
/* The elements of v, which may be a constant; NULL: not known */
const struct known *known_of(struct ctx *cx, struct value *v);
/* Element i of v, which may be a constant of any size; DIM_NONE: not known */
dim known_at(struct ctx *cx, const struct value *v, uint32_t i);
/* The same where it is a number, of a constant or a weight, or known: *k; false: it is none */
bool known_int(struct ctx *cx, const struct value *v, uint64_t i, int64_t *k);
/* The same where a single element broadcasts. Of larger constants and those of more axes than
 * known_of() takes nothing is known. */
dim known_broadcast(struct ctx *cx, struct value *v, uint32_t i);
/* Is d certainly what an element of dtype t holds? A narrow integer wraps: d must be a constant. */
bool known_holds(struct ctx *cx, enum dtype t, dim d);
void known_set(struct ctx *cx, struct value *v, struct known *k); /* if its dtype holds all of k */
/*
 * Integers wrap, dims do not. In d = a + b of int64 elements a and b, the integer is d modulo 2^64.
 * That does no harm as long as d is only added and multiplied, but d and the integer may compare
 * differently. May the integer differ from d, for an operator that compares (ordered: Maximum, Lt,
 * Int_div, ...) or that does not?
 */
bool known_may_wrap(struct ctx *cx, dim d, bool ordered);
/* The same for d = max(..) or min(..): dims write max(k, 5) as max(k - 5, 0) + 5, and k - 5 may
 * wrap where k does not. */
bool known_minmax_wraps(struct ctx *cx, dim d);
/* May the sum or product of a and b leave int64? One is a constant beyond int32, the other is not.
 */
bool known_leaves_int64(struct ctx *cx, dim a, dim b);

/* promise.c: adds to d, the error of an op, which name of the header it pins, and what to write.
 * in: the operands, if they broadcast. Does nothing if no promise was broken, or if d is NULL,
 * where nothing was reported. */
void explain_promise(struct ctx *cx, struct diag *d, struct value **in, uint32_t nin);
/* blame.c: the message at *tail, of a node that op makes of the values `in`, becomes a note of an
 * earlier one if a value that both read may be what is wrong */
void blame(struct ctx *cx, struct diag **tail, struct value **in, uint32_t nin, const void *op);

#endif
