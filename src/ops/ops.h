/*
 * ops.h: the op table (ops.def), and properties: their declarations in rows of the table, their
 * values in calls and in nodes.
 */
#ifndef PTGC_OPS_OPS_H
#define PTGC_OPS_OPS_H

#include "graph/graph.h"

struct adata;
struct adatum;
struct build;
struct elab;
struct fn;

/* Compile-time values (cv): the values of expressions in the elaborator, and of properties. */
enum cv_kind {
	CV_POISON, /* an error was reported */
	CV_VALUE,
	CV_INT,     /* a weak number: magnitude u.i, sign neg */
	CV_FLOAT,   /* weak: u.f */
	CV_COMPLEX, /* weak: re, imaginary part u.f */
	CV_BOOL,    /* u.b */
	CV_STR,
	CV_NONE,
	CV_LIST, /* u.items, n */
	CV_TUPLE,
	CV_DATA,  /* u.data: a list of literals, as the parser folds it */
	CV_DIM,   /* u.d: a size; int64, or the float dtype of what it meets */
	CV_DTYPE, /* u.dtype */
	CV_SYM, /* a name without a value: of a fn, an op, or a symbol such as Exp in scalar_op=Exp
		 */
	CV_OP,  /* u.op: an op with properties, not called */
	CV_SLICE, /* u.items[3]: start, stop, step (CV_NONE if left out) */
	CV_ELLIPSIS,
	CV_ARROW, /* u.items[2] */
	CV_BYTES, /* u.str: bytes("...") decoded */
	CV_MULTI, /* u.items, n: the results of a call with several */
};
struct cv {
	uint8_t kind;
	bool neg;
	bool weak; /* CV_VALUE: a function of sizes; it takes the dtype of what it meets */
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
	union {
		double re;     /* CV_COMPLEX */
		struct fn *fn; /* CV_SYM: the fn that the name means where it stands, or NULL */
		struct {       /* CV_LIST, CV_TUPLE, CV_ARROW */
			uint32_t leaves; /* numbers and values in it; lists of consts may repeat */
			uint32_t depth;
		};
	};
};
#define MAX_SHOWN 60         /* bytes of a string in a message */
struct opref {               /* Cholesky{lower=True} as a property of Blockwise */
	struct sym *name;    /* the fn is freed with the syntax tree, its name is not */
	const struct op *op; /* one of op and fn */
	struct fn *fn;
	struct cv *props; /* of an op, in the order of its signature; of a fn, as given_props() */
};

/*
 * table.c, ops.def: the op table. One row declares an op: see the head of ops.def.
 * The signature "x idx*; axis:axes=None, dtype:dtype=None" lists inputs ('?' optional, '*' any
 * number, '+' at least one, '[]' a tensor or a list of tensors), then properties with their types
 * and defaults.
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
	char repeat; /* 0, '?', '*', '+'; '~': '*' of which each may be None; '[': list_input() */
};
enum cast_rule {
	CAST_NONE,   /* inputs go to the body as they are */
	CAST_RESULT, /* all inputs are cast to the result's dtype */
	CAST_UPCAST, /* all inputs are cast to their common dtype (comparisons) */
	CAST_REST,   /* all but the first are cast to the result's dtype (Switch) */
	CAST_OWN,    /* literals take the result's dtype; the lowering casts the other inputs */
	CAST_LINALG, /* all inputs are cast to the dtype in which SciPy calls LAPACK */
};
enum batch_rule {
	BATCH_NONE, /* the body takes one item */
	BATCH,      /* an argument that is the same for all items has no batch */
	BATCH_ALL,  /* all arguments have one */
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
	bool in_c;               /* lowered by a C function of src/lower/ops */
	bool expanded;           /* a C function of src/elab: a call becomes other nodes at once */
	const char *unsupported; /* none: the reason */
	const char *pair;        /* the fn of lib/ for two calls on small matrices at once */
	const char *complex;     /* how it is done on complex numbers */
	const char *core;        /* "(m,k),(k,n)->(m,n)" of shape_core */
	enum batch_rule batch;   /* does the body take a batch? see lower/ops/blockwise.c */
	const char *draw;      /* of a random variable: the fn of lib/ that lower_random() calls */
	const char *draw_more; /* the one where it has a parameter more than in `core` */
	bool keepdims;         /* keepdims=True is taken from each call: see the head of ops.def */
	uint8_t generators; /* how many of the first inputs may be generators of random numbers */
	enum sign sign;     /* of all results, as far as the body does not say it */
	uint32_t (*results)(struct ctx *cx, struct node *n); /* how many, where nout is 255 */
	uint8_t nout; /* results; 0 means 1; 255: see above */
	/* Of numbers that the text writes: computed while compiling, see numbers.c */
	double (*number)(double x);
	double (*number2)(double a, double b);
	__int128 (*whole)(__int128 x); /* of integers, where that gives an integer */
	__int128 (*whole2)(__int128 a, __int128 b);
};
enum op_id {
#define GROUP(heading)
#define OP(id, sig, ...) OP_##id,
#include "ops/ops.def"
	OP_COUNT
};
/* The parsed signature: once per compilation. */
struct op_sig {
	struct input_spec *inputs;
	uint32_t ninputs, min, max; /* max UINT32_MAX: any number */
	struct prop_spec *props;
	uint32_t nprops;
};
_Static_assert(OP_COUNT <= MAX_OPS, "a bit for each op");
extern const struct op op_table[];
static inline bool uses_op(const struct graph *g, enum op_id id)
{
	return g->ops[id / 64] >> id % 64 & 1;
}
extern const uint32_t op_count;
/* Is n, which may be NULL, a call of the op? */
static inline bool is_call(const struct node *n, enum op_id id)
{
	return n && n->op == &op_table[id];
}
static inline bool is_one_of(const struct op *op, const enum op_id *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (op == &op_table[ids[i]])
			return true;
	return false;
}
extern const struct op op_onnx; /* the op of raw ONNX nodes */
extern const struct op op_dim;  /* an int64[] that is props[0], a CV_DIM; no inputs */
/*
 * Nodes of op_loop and op_if are like ONNX's Loop and If.
 * loop: in[0] is the trip count int64[] (NULL: no limit), in[1] the condition bool[] (NULL: true),
 * in[2..] are the initial carried values. The params of blocks[0] are the iteration number int64[],
 * the condition bool[] and the carried values. Its results are the next condition, the next carried
 * values, then the values to stack. The results of the node are the last carried values, then the
 * stacked values.
 * if: in[0] is the condition bool[]; blocks[0] is the then branch, blocks[1] the else branch, both
 * without params.
 * A block may use values of outer blocks; its result may be such a value, or a param.
 */
extern const struct op op_loop;
extern const struct op op_if;

void ops_init(struct ctx *cx);             /* fills sym->op */
const char *op_group(const struct op *op); /* heading in doc/ops.md */
const struct op_sig *op_sig(struct ctx *cx, const struct op *op);
bool op_has_axes(struct ctx *cx, const struct op *op); /* among its properties: P_AXES */
bool op_has_prop(struct ctx *cx, const struct op *op, const struct sym *name);
const struct op *op_named(struct ctx *cx, const char *name);
/* The properties of a node by name. Their types were checked, defaults are filled in. */
const struct cv *prop(struct ctx *cx, const struct node *n, const char *name);
int64_t prop_int(struct ctx *cx, const struct node *n, const char *name);
/* A property that is an axis of input 0, counted from the front; the shape rule has checked it. */
uint32_t prop_axis(struct ctx *cx, const struct node *n, const char *name);
bool prop_bool(struct ctx *cx, const struct node *n, const char *name);
bool prop_is_none(struct ctx *cx, const struct node *n, const char *name);
/* DT_NONE for None */
enum dtype prop_dtype(struct ctx *cx, const struct node *n, const char *name);
const char *prop_str(struct ctx *cx, const struct node *n, const char *name);
/* Sets axes[] from a property, counted from the front; None gives all `rank` axes. Returns their
 * number; -1: reported */
int prop_axes(struct ctx *cx, const struct node *n, const char *name, int rank, int *axes,
	      bool sorted);
const char *op_label(struct ctx *cx, const struct node *n); /* Sum{axis=0} as in messages */
/* Sum{axis=0}(float64[n]): with the types of its inputs */
const char *call_label(struct ctx *cx, const struct node *n);
bool infer_node(struct ctx *cx, struct node *n); /* sets the types of results; false: reported */
/* Can op have n inputs? false: reported */
bool op_takes(struct ctx *cx, const struct op *op, uint32_t n, struct span s);
bool takes_list(struct ctx *cx, const struct op *op); /* is its last input `choices[]`? */
/* The number of results of n, whose inputs and properties are set; 0: reported */
uint32_t op_results(struct ctx *cx, struct node *n);
/* The last input of a signature may be a list of tensors, "x[]". A node that has a list has NULL
 * for this input, and the tensors of the list as inputs after it. Returns the number of the first
 * of them; nin: the node has no list. */
uint32_t list_input(struct ctx *cx, const struct node *n);
/* rules_shape.c: sets order[] to DimShuffle's order, -1 for 'x'. Returns the number of items; -1:
 * reported */
int dimshuffle_order(struct ctx *cx, const struct node *n, int order[MAX_RANK]);
/* rules_subtensor.c: reports the constant indices that are out of range by equations of later ops
 */
void check_indices(struct ctx *cx);
/* rules_dtype.c: the op that a CAReduce is, such as Sum for scalar_op=Add, and its properties;
 * NULL: there is none */
const struct op *careduce_as(struct ctx *cx, const struct node *n, struct cv **props);
/* rules_linalg.c: reads the ranks of the core inputs of a Blockwise from its signature; false:
 * reported */
bool read_core_ranks(struct ctx *cx, struct node *n, uint32_t *ranks);
/* rules_linalg.c: an inferred node of the core op of a Blockwise, outside of any block. Its inputs
 * have only the core dims: see core_argument(). NULL: reported */
struct node *blockwise_core(struct ctx *cx, struct node *n);
/* rules_dtype.c: does n compare int64 with uint64, and would float64 round some elements? */
bool compares_beyond_float64(const struct node *n);
/* props.c: binds properties as written to the signature: returns them in its order, checked, with
 * defaults; NULL: reported. P_AXES and P_INTS become None or a CV_LIST of CV_INT, P_DTYPE None or a
 * CV_DTYPE, P_ENUM and P_STR a CV_STR, P_OP a CV_OP, P_SLICES a CV_LIST of CV_INT (number of an
 * index input) and CV_SLICE (three CV_INT or CV_NONE). Tuples and CV_DATA become CV_LIST. */
struct prop_arg {
	struct sym *name; /* NULL: a value without a name */
	struct cv value;
	struct span span;
};
/* Makes a CV_OP of the name of a fn or op; false: it is none. Poison: reported */
bool read_opref(struct ctx *cx, struct cv *v);
struct cv cv_of_datum(const struct adatum *a, struct span s); /* an element of CV_DATA */
struct cv cv_int(int64_t v, struct span s);
struct cv cv_ints(struct arena *a, const int64_t *v, uint32_t n, struct span s); /* CV_LIST */
struct cv cv_full_slice(struct arena *a, struct span s); /* ":": three CV_NONE */
/* Has op the properties of these names? Their values are not looked at. false: reported */
bool check_prop_names(struct ctx *cx, const struct op *op, const struct prop_arg *args, uint32_t n);
struct cv *bind_props(struct ctx *cx, const struct op *op, struct span s,
		      const struct prop_arg *args, uint32_t n);

/* foreign.c: what to write for a name of NumPy, PyTorch or ONNX, as "x @ y"; NULL: not known. The
 * name of an operator of ONNX is known in any case; that of an op too, if other_case. */
const char *op_instead(struct ctx *cx, const char *name, bool other_case);
extern const struct foreign_name {
	const char *name, *first, *second; /* second may be NULL */
} foreign_names[];                         /* the last one has no name */

/* list.c: the op table for users: `ptgc --ops`, and doc/ops.md */
void op_list(struct strbuf *out, bool markdown);
void op_usage(struct strbuf *out, const struct op *op); /* Sum{axes=None, dtype=None}(x) */
/* the lines of the op of that name, in any case; NULL: there is none */
const struct op *op_list_one(struct strbuf *out, const char *name);
/* table.c: appends a node to b and infers its results. If that fails (reported) they are poison. */
struct node *graph_node(struct ctx *cx, struct block *b, const struct op *op, struct cv *props,
			struct value **in, uint32_t nin, struct span s);
/* The same of an ONNX node of the compiler's own; attr NULL: it has no attribute. */
struct node *graph_onnx(struct ctx *cx, struct block *b, const struct onnx_op *op,
			struct attr *attr, struct value **in, uint32_t nin, struct span s);

#endif
