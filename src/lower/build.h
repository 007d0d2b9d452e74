/*
 * build.h: what lowerings, checks and defences make ONNX nodes with, by file, and the state of one
 * lowering. build.c, reshape.c and scatter.c alone know what differs between opsets. The lowerings
 * of single ops (lower_x) are declared in lower/ops/lowerings.h.
 *
 * A lowering reads a typed node n of PyTensor's ops, takes the ONNX values of its inputs by low(),
 * emits ONNX nodes, and says by set_lowered() which values hold the results:
 *
 *	struct value *x = low(b, n->in[0]), *y = low(b, n->in[1]);
 *	set_lowered(b, n, 0, emit_(b, ONNX_Add, x, y));
 */
#ifndef PTGC_LOWER_BUILD_H
#define PTGC_LOWER_BUILD_H

#include "elab/elab.h"
#include "lower/lower.h"
#include "onnx/onnx.h"
#include "target/target.h"

struct shared;
struct build;

/* Makes the results of n, which the target has a kernel for, by other nodes; false: n is good as it
 * is. */
typedef bool instead_fn_t(struct build *b, struct node *n, struct value **out);

/* What comes in the place of a node that is asked for; NULL: nothing does. A function that gives a
 * value has used up the attributes of the node (b->nattrs). rules.c */
struct emit_rules {
	/* a value that is there, or that cheaper nodes give */
	struct value *(*shortcut)(struct build *b, const struct onnx_op *op, struct value **in,
				  uint32_t nin);
	/* -fsimplify: of an operator of one result. *in becomes the inputs to take, in `room` if
	 * they are others. */
	struct value *(*simpler)(struct build *b, const struct onnx_op *op, struct value ***in,
				 uint32_t nin, struct value **room);
	struct value *(*reduced)(struct build *b, enum onnx_id op, struct value *v, const int *axes,
				 int naxes, bool keepdims);
	/* Makes the results of n, which the target has no kernel for; false: reported */
	bool (*legalise)(struct build *b, struct node *n, struct value **out);
};
extern const struct emit_rules emit_rules;

struct build {
	struct ctx *cx;
	int opset;
	enum ptgc_target target;
	/* the insertion point: nodes go to the end of `block` or, see build_at(), behind `after` */
	struct block *block;
	struct node *after;
	struct span span;   /* place given to new nodes */
	struct attr *attrs; /* attributes collected for the next node */
	uint32_t nattrs, cattrs;
	struct build_scope *scope;      /* NULL: nodes are inserted as they are asked for */
	const struct emit_rules *rules; /* NULL where scope is */
	bool zero_sign_counts;          /* of the next nodes: see struct node */
	bool index_may_fail;            /* the same */
	bool kernel_is_right;           /* the same */
	uint32_t sums;         /* depth of sums that are taken apart: see sum_by_algebra() */
	instead_fn_t *instead; /* is asked of each node that runs; NULL: all are good */
};

/* One scope a block: nodes that can be used again (common subexpressions), and axes by their
 * lengths. */
struct build_scope {
	struct build_scope *outer;
	struct shared *shared;
	struct block *block;
	vec(struct node *) nodes; /* as asked for; their results are the legaliser's */
	struct hash_table table;  /* of `nodes` */
	struct dim_at *dims;
	uint32_t dims_cap, dims_len;
};

struct given_names {
	bool *given; /* by number of a name */
	uint32_t n;
};

/* What all scopes of one lowering share. */
struct shared {
	struct block **defined_in; /* by value id: see defining_block() */
	uint32_t ndefined_in;
	vec(struct value *) constants; /* small ones */
	struct hash_table constant_table;
	struct fast *fast; /* by op: bodies that are one ONNX node */
	const struct graph *from;
	struct given_names *names;
	const struct node *at;     /* the node of the user that is being lowered; NULL: none */
	uint32_t expanding;        /* depth of bodies being expanded: places are the user's node */
	bool failed;               /* an error was reported for `at` */
	bool param_lost;           /* a parameter has no type: an unknown size may be due to that */
	struct hash_table outputs; /* of the graph, by their ids */
	uint32_t nlabels;          /* so far: a label that comes twice gets a number */
	uint32_t enough;           /* a graph with mistakes is left once there are so many values */
	bool small_ints;           /* the int64 values of the next nodes are lengths, below 2^31 */
	const struct lowering *of_op; /* the lowerings, by op */
	bool dims_as_made;            /* dims are computed as they were made, for checks */
	bool asserts;                 /* a condition was recorded as a check */
};

/* lower.c: from typed values to ONNX values, and what is said to the user on the way */
lower_fn_t *lowering_of(struct build *b, const struct op *op); /* NULL: it has another body */
bool lower_block(struct build *b, struct block *from);         /* nodes of `from` into b->block */
bool lower_typed(struct build *b, struct node *n); /* a typed node that is in no block */
/* The ONNX value of a typed one. Fns and ops may be called with ONNX values: each stands for
 * itself. */
struct value *low(struct build *b, struct value *v);
void set_lowered(struct build *b, struct node *n, uint32_t i,
		 struct value *v); /* result i of n is v */
bool is_variadic(struct ctx *cx,
		 const struct op *op); /* the body is applied to all arguments, two at a time */
struct value *typed_cast(struct build *b, struct value *v, enum dtype t);
/* a typed value whose ONNX value is v: the inverse of low() */
struct value *held_by(struct build *b, struct value *v, struct type t, struct span s);
/* The nodes of `body`, which stand for one node at `span`; its results r as ONNX values. */
bool lower_inlined(struct build *b, struct block *body, struct value **r, uint32_t nout,
		   struct span span, struct value **out);
bool call_fn(struct build *b, struct fn *f, const struct op *op, struct cv *props,
	     struct value **in, uint32_t nin, struct value **out, uint32_t nout);
/* Refuses n if `made`, what it became, has a length that is not that of dims */
void check_lengths(struct build *b, const struct node *n, const struct value *made,
		   const dim *dims);

/* report.c: messages, and names in the model */
/* "cannot be lowered": one message for a node of the user */
void unsupported(struct build *b, const char *fmt, ...) PRINTF(2, 3);
void raises(struct build *b, const char *fmt, ...) PRINTF(2, 3);
/* false: another value or node of the model has it, or it is NULL */
bool take_name(struct build *b, struct sym *name);
void name_value(struct build *b, struct value *v, struct sym *name); /* unless either has one */
/* v, made by a node that is called `label` in the model: what the runtime shows if it fails */
struct value *labelled(struct build *b, struct value *v, const char *label);

/* scopes.c: blocks, and what is in them */
void scope_open(struct build *b, struct block *block);
void scope_close(struct build *b, struct block *outer);
struct block *block_new(struct build *b);
struct value *block_param(struct build *b, struct block *to, struct type t);
bool visible(struct build *b, const struct value *v); /* may a node that is added now read v? */
/* The block that was open when the ONNX value was made, which nodes may read in it and, if it is a
 * constant, everywhere; NULL: it is a typed value, or of no block yet */
static inline struct block *defining_block(const struct build *b, const struct value *v)
{
	const struct shared *s = b->scope->shared;

	return v->id < s->ndefined_in ? s->defined_in[v->id] : NULL;
}
/* What op(x, y) without attributes gave before, here or in an outer block, or op(x) if y is NULL;
 * NULL: no such node */
struct value *find_made(struct build *b, enum onnx_id op, struct value *x, struct value *y);
bool nodes_equal(const struct node *a, const struct node *b); /* same operator, same inputs */
uint32_t node_hash(const struct node *n);
/* A builder for a graph that was lowered: a node that is asked for goes behind `after` of k, or
 * before all others if that is NULL, and is the new insertion point. It is neither folded nor
 * shared, and the target must have a kernel for it. Uses are counted. */
struct build build_at(struct ctx *cx, struct block *k, struct node *after);
/* Opens a graph that was lowered: nodes can be emitted into its blocks, or, where `instead` says
 * so, others in their place. What its nodes read is not counted: append_again() does it. */
void build_reopen(struct build *b, struct ctx *cx, struct graph *g, const struct emit_rules *rules,
		  instead_fn_t *instead);
/* The ONNX value of the open graph that stands for v, which is no constant; NULL: none is left */
struct value *lowered_value(const struct build *b, struct value *v);
struct value *const_unshared(struct build *b, const struct tensor *t); /* shared with no other */

/* node.c: nodes as they are asked for; attributes of the next node */
void attr_int(struct build *b, const char *name, int64_t v);
void attr_float(struct build *b, const char *name, float v);
void attr_str(struct build *b, const char *name, const char *v);
void attr_ints(struct build *b, const char *name, const int64_t *v, uint32_t n);
void attr_tensor(struct build *b, const char *name, const struct tensor *t);
void attr_block(struct build *b, const char *name, struct block *v);
struct node *onnx_node(struct build *b, enum onnx_id op, struct value **in, uint32_t nin,
		       uint32_t nout);
/* Puts a node that was made by hand (blocks) at the insertion point; nothing is checked but that it
 * has results. */
void append(struct build *b, struct node *n);
/* Appends a node of a graph that was opened again; where an equal one is there already, its results
 * are forwarded to that one's. */
void append_again(struct build *b, struct node *n);
struct value *identity(struct build *b, struct value *v);
/* an unnamed value to go on with after an error */
struct value *dummy(struct build *b, struct type t);
struct value *with_dims(struct value *v, const dim *dims);

/* emit_node.c: one ONNX node through the legaliser; the same node twice gives the same value */
struct value *emit(struct build *b, enum onnx_id op, struct value **in, uint32_t nin);
void emit_n(struct build *b, enum onnx_id op, struct value **in, uint32_t nin, struct value **out,
	    uint32_t nout);
#define emit_(b, op, ...)                                                                          \
	emit(b, op, (struct value *[]){__VA_ARGS__},                                               \
	     sizeof((struct value *[]){__VA_ARGS__}) / sizeof(struct value *))
/* A node as `like` is, on other inputs, which keeps what `like` must keep (see struct node). If
 * `like` is a raw node of the user's, it is emitted as it stands: only one that is not as_written
 * may be folded. */
void emit_like(struct build *b, const struct node *like, struct value **in, struct value **out);

/* constants.c */
struct value *const_ints(struct build *b, const int64_t *v, uint32_t n); /* int64[n] */
struct value *const_int(struct build *b, int64_t v);                     /* int64[] */
struct value *const_of(struct build *b, enum dtype t, double v);         /* t[], exact or bug() */
struct value *const_int_of(struct build *b, enum dtype t, int64_t v);
struct value *const_tensor(struct build *b, const struct tensor *t);
struct value *low_constant(struct build *b, struct value *v); /* low() of a typed constant */

/* build.c: casts, axes, slices, reductions */
bool has_op(struct build *b, enum onnx_id op); /* at this opset */
bool reduces_bools(struct build *b);
enum dtype wide_float(const struct build *b); /* the widest float that the target has */
struct value *cast(struct build *b, struct value *v, enum dtype t); /* v itself if it has t */
bool cast_folds(const struct value *v, enum dtype t);
struct value *unsqueeze(struct build *b, struct value *v, const int64_t *axes, uint32_t n);
struct value *squeeze(struct build *b, struct value *v, const int64_t *axes, uint32_t n);
struct value *scalar_of(struct build *b, struct value *v); /* int64[1] -> int64[] */
struct value *vector_of(struct build *b, struct value *v); /* int64[] -> int64[1] */
struct value *as_column(struct build *b, struct value *v, const struct tensor *axes);
struct value *transpose(struct build *b, struct value *v, const int64_t *perm);
/* t[shape] full of v; dims are those of `shape`, or NULL where it has known ones */
struct value *filled_to(struct build *b, enum dtype t, struct value *shape, const dim *dims,
			uint32_t rank, int64_t v);
struct value *zeros_to(struct build *b, enum dtype t, struct value *shape);
struct value *slice(struct build *b, struct value *v, const int64_t *axes, uint32_t n,
		    struct value *starts, struct value *stops, struct value *steps);
struct value *slice_axis(struct build *b, struct value *v, int axis, struct value *start,
			 struct value *stop, struct value *step);
struct value *slice_ints(struct build *b, struct value *v, int64_t axis, int64_t start,
			 int64_t stop);
struct value *iota_of(struct build *b, struct value *n); /* 0, 1, ... n-1 */
/* y with leading axes of length 1, up to the rank */
struct value *pad_rank(struct build *b, struct value *y, uint32_t rank);
struct value *concat(struct build *b, int axis, struct value **in, uint32_t n);
struct value *split(struct build *b, struct value *v, int axis, struct value *sizes,
		    struct value **out, uint32_t n);
struct value *reduce(struct build *b, enum onnx_id op, struct value *v, const int *axes, int naxes,
		     bool keepdims);
/* The same by that operator, without a look at what v is made of */
struct value *reduce_node(struct build *b, enum onnx_id op, struct value *v, const int *axes,
			  int naxes, bool keepdims);
struct value *reduce_all(struct build *b, enum onnx_id op, struct value *v,
			 bool keepdims); /* reduce() along all axes */
struct value *dft(struct build *b, struct value *x, struct value *length, int64_t axis,
		  bool onesided);
struct value *shape_of(struct build *b, struct value *v);                        /* int64[rank] */
struct value *shape_slice(struct build *b, struct value *v, int begin, int end); /* its part */

/* reshape.c, tile.c */
/* v in these dims, which it has as many elements as; what was stretched may become a Tile */
struct value *reshape(struct build *b, struct value *v, const dim *dims, uint32_t rank);
/* The same if v is stretched and the result a Tile; NULL: it is not */
struct value *reshape_as_tile(struct build *b, struct value *v, const dim *dims, uint32_t rank);
/* a Reshape of v to its own shape: it moves no data, and no runtime merges what it parts */
struct value *barrier(struct build *b, struct value *v);
struct value *reshape_to(struct build *b, struct value *v, struct value *shape, const dim *dims,
			 uint32_t rank);
/* The same to a shape that may have a 0, which is a length, where the dims need have none */
struct value *reshape_to_asked(struct build *b, struct value *v, struct value *shape,
			       const dim *dims, uint32_t rank, bool zero);
bool zero_means_zero(struct build *b); /* in a shape of Reshape, at this opset, with allowzero */
struct value *expand(struct build *b, struct value *v, const dim *dims, uint32_t rank);

/* scatter.c */
bool scatter_adds(struct build *b);
struct value *scatter_each(struct build *b, struct value *v, struct value *at,
			   struct value *updates);
struct value *scatter_nd(struct build *b, struct value *v, struct value *at, struct value *updates,
			 bool add);
/* float64 to float16 is rounded once; else as cast() */
struct value *cast_once(struct build *b, struct value *v, enum dtype t);

/* blocks.c
 * What stands for v, a result of the open block whose nodes were made anew: a value of that block
 */
struct value *own_result(struct build *b, struct value *v);
/* v becomes the next result of the block that is open */
void block_result(struct build *b, struct value *v, const dim *dims, bool param_ok);
struct value *if_node(struct build *b, struct value *cond, struct block *yes, struct block *no,
		      struct type t);
struct node *loop_node(struct build *b, struct block *body, struct value **in, uint32_t nin,
		       const struct type *types, uint32_t nout);

/* control.c */
lower_fn_t lower_loop, lower_if;
void lower_lost(struct build *b, struct block *from); /* only to report its mistakes */
/* v, a stacked result of a loop, with the lengths of t: without a step ONNX Runtime makes 0 of
 * those that are not constant */
struct value *restacked(struct build *b, struct value *v, struct type t);

/* dims.c: dims at run time */
struct value *dim_value(struct build *b, dim d);                         /* int64[] */
struct value *dim_vector(struct build *b, dim d);                        /* int64[1] */
struct value *dims_vector(struct build *b, const dim *dims, uint32_t n); /* int64[n] */
bool dim_available(struct build *b, dim d);
bool dims_are_lengths_of_one_value(struct build *b, const dim *dims,
				   uint32_t n); /* one Shape gives them */
/* The atoms that the dims in todo, as they were made, are computed from, each once a round */
struct dim_walk {
	vec(dim) todo;
	vec(uint32_t) seen; /* by dim: the round */
	uint32_t round;     /* from 1 on */
};
dim next_atom(struct build *b, struct dim_walk *w); /* DIM_NONE: no more */
/* made of sizes and numbers alone, not of elements of integer values */
bool dim_is_size(struct build *b, dim d);
/* Is the size, as it is computed, below 0 for no input? Reshape takes -1 for any length. budget:
 * how much of it is looked at */
bool dim_is_sum_of_sizes(struct build *b, dim d, int *budget);
void dims_record(struct build *b, struct value *v);

/* dft.c: of x[..., m, parts], where parts is 1 for real numbers and 2 for (real, imaginary) */
/* by a fn of lib/complex/fourier.ptg that also takes n numbers; NULL: reported */
struct value *dft_by_library(struct build *b, const char *name, struct value *x,
			     struct value *const *numbers, uint32_t n);
struct value *to_last(struct build *b, struct value *x, int64_t axis); /* swaps it and that of m */
struct value *dft_by_matrices(struct build *b, struct node *n);        /* for the legaliser */
dim *dims_with_axis(struct build *b, const struct value *x, int64_t axis, dim d);

/* missing_kernels.c */
bool legalise(struct build *b, struct node *n, struct value **out);

/* simplify.c */
struct value **drop_leading_axes(const struct onnx_op *op, struct value **in, uint32_t nin,
				 struct value **to);
struct value **drop_leading_axes_of_expand(struct build *b, struct value **in, struct value **to);
uint64_t common_given_axes(struct build *b, const struct onnx_op *op, struct value **in,
			   uint32_t nin, struct value **to);
/* a reduction over all axes that does without those that an Unsqueeze gave, or a Squeeze takes */
struct value *reduced_without_ones(struct build *b, enum onnx_id op, struct value *v, int naxes,
				   bool keepdims);
struct value *triangle(struct build *b, struct value **in);
struct value *triangle_of_dtype(struct build *b, const struct value *v, enum dtype t);
/* fold.c: NULL: not known */
struct value *fold(struct build *b, const struct onnx_op *op, struct value **in, uint32_t nin);
/* fold_one.c: of constants; takes the attributes where it folds */
struct value *fold_one(struct build *b, const struct onnx_op *op, struct value **in, uint32_t nin);
/* Is v a constant, or computed from constants alone? ONNX Runtime does it when it loads the model.
 * *open (may be NULL): has something on the way an open size? */
bool from_constants(struct ctx *cx, const struct value *v, bool *open);
bool says_shape(const struct node *n, uint32_t k); /* does input k decide the result's shape? */
/* What is added up may be so many times as large as in the text: see algebra.c */
#define GROWTH 4
/* algebra.c: the same by a cheaper node; NULL: there is none */
struct value *by_algebra(struct build *b, const struct onnx_op *op, struct value **in,
			 uint32_t nin);
/* Is v a constant of one finite number, with no more axes than x? *k: the number */
bool is_number_beside(const struct value *v, const struct value *x, double *k);
/* k as the constant v is, which has one element: of its dtype and rank */
struct value *number_like(struct build *b, const struct value *v, double k);
/* the sum of v along axes, by that of what v is made of; NULL: there is no such way */
struct value *sum_by_algebra(struct build *b, struct value *v, const int *axes, int n,
			     bool keepdims);
/* products.c: the sum of v along an axis, v being a product; NULL: there is no cheaper way */
struct value *sum_of_products(struct build *b, struct value *v, uint32_t axis, bool keep);
/* reversed.c: the same, where an input is x[::-1], as y[::-1]; NULL: there is no such y */
struct value *reversed_later(struct build *b, const struct onnx_op *op, struct value **in,
			     uint32_t nin);
struct value *reduced_reversed(struct build *b, enum onnx_id op, struct value *v, const int *axes,
			       int n, bool keepdims);
/* checks.c */
/* v; where v is needed, all elements of cond, bools, must be true. The message is what the node
 * that fails is called in the model, which ONNX Runtime shows. */
struct value *check(struct build *b, struct value *v, struct value *cond, const char *message);
/* Is cond a constant whose elements, if there are any, are all true? */
bool holds_always(const struct value *cond);
/* All elements of cond must be true, whatever is needed. */
void check_always(struct build *b, struct value *cond, const char *message);
/* v; where v is needed, none of these axes must have length 0 */
struct value *check_nonempty(struct build *b, struct value *v, const int *axes, int n);
/* The lengths that inference took for equal must be so. (Called before the lowering, which infers
 * types of what it makes itself.) */
void record_lengths(struct build *b, const struct graph *from, struct graph *to);
/* Lowering has come to its end: checks of what nothing needs are dropped. */
void finish_checks(struct build *b, struct graph *g);
/* One of two lengths that must be equal: of axis `axis` of the ONNX value `of`, or, where that is
 * NULL, the dim d. */
struct side {
	struct value *of;
	uint32_t axis;
	dim d;
	const struct value *input; /* typed: what `of` is called; NULL: d has a name */
	struct value *v;           /* int64[1], once there is a node for it */
};
struct sides { /* pairs: x.at[i] is to be y.at[i] */
	vec(struct side) x, y;
};
/* The sides of a check of lengths, without nodes */
void sides_of(struct build *b, const struct check *c, struct side *x, struct side *y);
/* Does the text of x == y say which sizes? Not if a side is a length that only the run knows. */
bool sides_have_names(struct build *b, const struct side *x, const struct side *y);
/* "axis 0 of b must be n, axis 1 of c must be m" */
const char *what_must_hold(struct build *b, const struct sides *s);
/* Drops checks of values that neither results of the block nor other checks are computed from. By
 * id: those that are. sizes: is a value needed if only its size is read? */
const bool *drop_needless_checks(struct ctx *cx, struct block *k, bool sizes);
/* select.c */
/* not c, for bools: of Not(c) it is c */
struct value *opposite(struct build *b, struct value *c);
struct value *where(struct build *b, struct value *c, struct value *x, struct value *y);
bool minus_zero_counts(struct build *b, const struct value *v);
/* lower.c: an op on ONNX values, as if the user had written it */
bool lower_as(struct build *b, const struct op *op, struct cv *props, struct value **in,
	      uint32_t nin, struct value **out, uint32_t nout);

static inline struct type type_of(enum dtype t, uint32_t rank, dim *dims)
{
	return (struct type){.dtype = (uint8_t)t, .rank = (uint8_t)rank, .dims = dims};
}

#endif
