/*
 * ops.h: the op table (ops.def), and properties: as rows declare them, as calls give them, as nodes
 * hold them.
 */
#ifndef PTGC_OPS_OPS_H
#define PTGC_OPS_OPS_H

#include "graph/graph.h"

struct adata;
struct build;
struct elab;
struct fn;

/* Compile-time values: what an expression is while it is elaborated, and what properties hold. */
enum cv_kind {
	CV_POISON, /* an error was reported */
	CV_VALUE,
	CV_INT,     /* weak: u.i magnitude, neg */
	CV_FLOAT,   /* weak: u.f */
	CV_COMPLEX, /* weak: u.f imaginary, re */
	CV_BOOL,    /* u.b */
	CV_STR,
	CV_NONE,
	CV_LIST, /* u.items, n */
	CV_TUPLE,
	CV_DATA,  /* u.data: a folded list */
	CV_DIM,   /* u.d: an int64 scalar known as a dim */
	CV_DTYPE, /* u.dtype */
	CV_SYM,   /* a name that means nothing yet: a fn or a symbol that the op declares */
	CV_OP,    /* u.op: an op with properties, not called */
	CV_SLICE, /* u.items[3]: start, stop, step (CV_NONE when left out) */
	CV_ELLIPSIS,
	CV_ARROW, /* u.items[2] */
	CV_BYTES, /* u.str: bytes("...") decoded */
	CV_MULTI, /* u.items, n: the results of a call with several */
};
struct cv {
	uint8_t kind;
	bool neg;
	uint32_t n;
	struct span span;
	union {
		struct value *v;
		uint64_t i;
		double f;
		bool b;
		dim d;
		enum dtype dtype;
		struct astr *str;
		struct sym *sym;
		struct cv *items;
		struct adata *data;
		struct opref *op;
	} u;
	double re;
};
#define MAX_SHOWN 60      /* bytes of a string in a message */
struct opref {            /* Cholesky{lower=True} as a property of Blockwise */
	struct sym *name; /* outlives the fn, which goes with the syntax tree */
	const struct op *op;
	struct fn *fn;
	struct cv *props;
};

/*
 * table.c, ops.def: the op table. One row declares an op: see the head of ops.def.
 * The signature "x idx*; axis:axes=None, dtype:dtype=None" gives inputs ('?' optional, '*' any
 * number, '+' at least one, '[]' a tensor or a list of some) and properties with their types and
 * defaults.
 */
enum prop_type {
	P_INT,
	P_BOOL,
	P_FLOAT,
	P_STR,
	P_DTYPE,
	P_AXES,
	P_INTS,
	P_ENUM,
	P_OP,
	P_SLICES,
	P_ANY
};
struct prop_spec {
	struct sym *name;
	enum prop_type type;
	bool required;
	struct cv value;     /* the default */
	const char *choices; /* P_ENUM: "a|b|c" */
};
struct input_spec {
	struct sym *name;
	char repeat; /* 0, '?', '*', '+', '~': as '*', but each may be None, '[': see list_input()
		      */
};
enum cast_rule {
	CAST_NONE,   /* inputs go to the body as they are */
	CAST_RESULT, /* all inputs are cast to the result's dtype */
	CAST_UPCAST, /* all inputs are cast to their common dtype (comparisons) */
	CAST_REST,   /* all but the first are cast to the result's dtype (Switch) */
	CAST_OWN,    /* literals take the result's dtype; the lowering casts the other inputs */
	CAST_LINALG, /* all inputs are cast to the dtype that LAPACK would work in */
};
struct op {
	const char *name;
	const char *sig;
	const char *doc;                                     /* one line for doc/ops.md */
	enum dtype (*dtype)(struct ctx *cx, struct node *n); /* of result 0; DT_NONE: reported */
	bool (*shape)(struct ctx *cx, struct node *n); /* types of all results; false: reported */
	dim (*known)(struct ctx *cx, struct node *n, uint32_t i); /* element i of the results */
	enum cast_rule cast;
	/* the body, one of these */
	const char *onnx;        /* an expression */
	const char *lib;         /* the fn of that name in lib/ */
	bool lowered;            /* a C function of src/lower/ops */
	bool expanded;           /* a C function of src/elab: a call becomes other nodes at once */
	const char *todo;        /* none yet: what it waits for */
	const char *unsupported; /* none: the reason */
	const char *complex;     /* how it is done on complex numbers */
	const char *core;        /* "(m,k),(k,n)->(m,n)" of shape_core */
	uint32_t (*results)(struct ctx *cx, struct node *n); /* how many, where nout is 255 */
	uint8_t nout; /* results; 0 means 1; 255: see above */
};
enum op_id {
#define GROUP(heading)
#define OP(id, sig, ...) OP_##id,
#include "ops/ops.def"
	OP_COUNT
};
/* the parsed signature, made once per compilation */
struct op_sig {
	struct input_spec *inputs;
	uint32_t ninputs, min, max; /* max UINT32_MAX: any number */
	struct prop_spec *props;
	uint32_t nprops;
};
extern const struct op op_table[];
extern const uint32_t op_count;
extern const struct op op_onnx; /* the op of raw ONNX nodes */
extern const struct op op_dim;  /* an int64[] that is props[0], a CV_DIM; no inputs */
/*
 * Loops and ifs have ONNX's own shapes. loop: in[0] trip count int64[] (NULL: none), in[1]
 * condition bool[] (NULL: true), in[2..] the first values of the carried ones; blocks[0] has as
 * params the iteration number int64[], the condition bool[] and the carried values, as results the
 * next condition, the next carried values, then the values to stack. The node's results are the
 * last carried values, then the stacked ones. if: in[0] condition bool[]; blocks[0] then, blocks[1]
 * else, without params; results in order. Blocks use values of outer blocks freely; a block's
 * result may be an outer value or a param.
 */
extern const struct op op_loop;
extern const struct op op_if;

void ops_init(struct ctx *cx);             /* fills sym->op */
const char *op_group(const struct op *op); /* heading in doc/ops.md */
const struct op_sig *op_sig(struct ctx *cx, const struct op *op);
bool op_has_axes(struct ctx *cx, const struct op *op); /* among its properties: P_AXES */
const struct op *op_named(struct ctx *cx, const char *name);
/* Properties of a node by name; the type was checked, defaults are filled in. */
const struct cv *prop(struct ctx *cx, const struct node *n, const char *name);
int64_t prop_int(struct ctx *cx, const struct node *n, const char *name);
/* The axis of input 0 that a property names, counted from the front; rules have checked it. */
uint32_t prop_axis(struct ctx *cx, const struct node *n, const char *name);
bool prop_bool(struct ctx *cx, const struct node *n, const char *name);
bool prop_is_none(struct ctx *cx, const struct node *n, const char *name);
/* DT_NONE for None */
enum dtype prop_dtype(struct ctx *cx, const struct node *n, const char *name);
const char *prop_str(struct ctx *cx, const struct node *n, const char *name);
/* axes of rank `rank`, normalised, sorted when `sorted`; None gives all. -1: reported */
int prop_axes(struct ctx *cx, const struct node *n, const char *name, int rank, int *axes,
	      bool sorted);
const char *op_label(struct ctx *cx, const struct node *n); /* Sum{axis=0} as in messages */
/* Sum{axis=0}(float64[n]): with the types of its inputs */
const char *call_label(struct ctx *cx, const struct node *n);
bool infer_node(struct ctx *cx, struct node *n); /* types of its results; false: reported */
/* Can op have n inputs? false: reported */
bool op_takes(struct ctx *cx, const struct op *op, uint32_t n, struct span s);
/* How many results n has (in, nin and props are set); 0: reported, do not infer it then. */
uint32_t op_results(struct ctx *cx, struct node *n);
/* The last input of a signature may be a list of tensors, "x[]": then NULL stands for it, and what
 * is in the list are the inputs behind that. The number of the first of these; nin: there is no
 * list. */
uint32_t list_input(struct ctx *cx, const struct node *n);
/* rules_shape.c: DimShuffle's order: axes, -1 for 'x'; the number of items, -1: reported */
int dimshuffle_order(struct ctx *cx, const struct node *n, int order[MAX_RANK]);
/* rules_subtensor.c: constant indices that equations found since then put out of range are reported
 */
void check_indices(struct ctx *cx);
/* rules_dtype.c: the op that a CAReduce is, as Sum, and its properties; NULL: there is none */
const struct op *careduce_as(struct ctx *cx, const struct node *n, struct cv **props);
/* rules_linalg.c: the node of a Blockwise's core op, on values that have the core dims alone; those
 * that are not the same for the whole batch stand in no block. NULL: reported */
struct node *blockwise_core(struct ctx *cx, struct node *n);
/* rules_dtype.c: int64 beside uint64, where their common dtype would round */
bool compares_beyond_float64(const struct node *n);
/* props.c: properties as written -> in the order of the signature, checked, normalised, defaults
 * filled in; NULL: reported. P_AXES and P_INTS give None or a CV_LIST of CV_INT, P_DTYPE None or a
 * CV_DTYPE, P_ENUM and P_STR a CV_STR, P_OP a CV_OP, P_SLICES a CV_LIST of CV_INT (position among
 * the index inputs) and CV_SLICE (three CV_INT or CV_NONE); folded lists and tuples become CV_LIST.
 */
struct prop_arg {
	struct sym *name; /* NULL: a bare value */
	struct cv value;
	struct span span;
};
struct cv *bind_props(struct ctx *cx, const struct op *op, struct span s,
		      const struct prop_arg *args, uint32_t n);

/* list.c: the op table for people: --ops, and doc/ops.md */
void op_list(struct strbuf *out, bool markdown);
/* Appends a node to `b`, infers its results; false (reported): results are poison. */
struct node *graph_node(struct ctx *cx, struct block *b, const struct op *op, struct cv *props,
			struct value **in, uint32_t nin, struct span s);

#endif
