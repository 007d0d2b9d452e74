/* onnx.h: the operators of ONNX, their versions and attributes, and the types of their results.
 * Which of them a runtime has kernels for: target/target.h. */
#ifndef PTGC_ONNX_ONNX_H
#define PTGC_ONNX_ONNX_H

#include "graph/graph.h"

enum onnx_id {
	ONNX_NONE, /* an operator of a domain without ids */
#define ONNX_NAME(name, row) ONNX_##name,
#include "onnx/operators.def"
	ONNX_OWN, /* and from here on operators of the domain ptgc.c */
	ONNX_BEFORE_OWN = ONNX_OWN - 1,
#define OWN(op, inputs, function)                 ONNX_c_##op,
#define ROUTINE(op, inputs, types, put, shape)    ONNX_c_##op,
#define STREAM(op, reads, types, put, shape, ...) ONNX_c_##op,
#include "onnx/own.def"
	ONNX_COUNT
};
_Static_assert(ONNX_COUNT <= MAX_OPERATORS, "a bit for each operator");

/* operators.c, operators.def */
struct onnx_attr_spec {
	const char *name;
	uint8_t kind; /* enum attr_kind; 0 ends the list */
	bool required;
	const char *value; /* default as text: "1", "0.5", "text"; NULL if none */
};
struct onnx_io {
	const char *name;
	const char *type; /* type variable "T", or a fixed type "int64" */
	char repeat;      /* 0, '?', '*' (variadic, any), '+' */
};
struct onnx_constraint {
	const char *var;
	uint32_t dtypes; /* a bit for each of enum dtype */
};
struct onnx_op {            /* one version of an operator: operators.def has a row for each */
	enum onnx_id id;    /* ONNX_NONE: of a domain without ids */
	const char *domain; /* "" for ai.onnx, C_DOMAIN from ONNX_OWN on */
	const char *name;
	uint8_t since, until; /* opsets of this version, both included */
	const struct onnx_io *in, *out;
	uint8_t nin, nout;
	const struct onnx_attr_spec *attrs;
	const struct onnx_constraint *constraints; /* NULL: it has no schema */
};
/* The operator of n, which may be NULL, for all that replaces, joins, splits, moves or defends
 * nodes. A node that stays as it is written has none. What holds for every node, as what its
 * results are, is asked of n->onnx. */
static inline enum onnx_id operator_of(const struct node *n)
{
	return n && n->onnx && !n->as_written ? n->onnx->id : ONNX_NONE;
}
static inline bool is_onnx(const struct node *n, enum onnx_id id)
{
	return operator_of(n) == id;
}
/* Is n of that operator, be it the user's own? */
static inline bool computes(const struct node *n, enum onnx_id id)
{
	return n && n->onnx && n->onnx->id == id;
}
static inline bool has_operator(const struct graph *g, enum onnx_id id)
{
	return g->operators[id / 64] >> id % 64 & 1;
}
/* behind.c: what v is an Identity of, or v */
struct value *behind_identity(struct value *v);
/* What has the elements of v in the same order, before operators that reshape it; v: there are none
 */
const struct value *behind_reshapes(const struct value *v);
/* The value of which each element of v is one, before operators that move elements and cannot fail
 */
const struct value *behind_moves(const struct value *v);
/* The Range, of a known start and step, that counts the elements of v; NULL: there is none */
const struct node *counted_by(struct ctx *cx, const struct value *v, int64_t *start, int64_t *step);
#define C_DOMAIN "ptgc.c"
enum onnx_id onnx_named(const char *name);     /* ONNX_NONE: unknown */
enum onnx_id onnx_own_named(const char *name); /* of the domain ptgc.c */
/* The version of the operator in an opset; NULL: the opset lacks the operator. */
const struct onnx_op *onnx_find(enum onnx_id id, int opset);
/* The same, but for an opset that lacks the operator the first later version, else the last one.
 * NULL: ONNX_NONE, as operators of ai.onnx.ml are. */
const struct onnx_op *onnx_nearest(enum onnx_id id, int opset);
/* The same of the domain ai.onnx.ml, whose operators have no id; NULL: it has no such operator */
#define ML_DOMAIN "ai.onnx.ml"
const struct onnx_op *onnx_ml_nearest(const char *name, int version);
#define MAX_ML_NAMES 32
size_t onnx_ml_names(const char **list); /* fills the list */
/* "onnx" or "ai.onnx.ml": what stands before the dot where a text names the operator */
static inline const char *onnx_prefix(const struct onnx_op *op)
{
	return op->domain[0] ? op->domain : "onnx";
}
const struct onnx_attr_spec *onnx_attr(const struct onnx_op *op, const char *name); /* or NULL */
/* Does the operator, which goes along axes, take them as its second input? In older opsets they are
 * the attribute "axes". */
static inline bool takes_axes(const struct onnx_op *op)
{
	return op->nin > 1;
}
/* The axis that n names in its attribute, counted from the front of its first input; `otherwise`: n
 * names none */
uint32_t onnx_axis(const struct node *n, int64_t otherwise);
/* The axis of the operand of n, a Transpose, that is axis i of its result */
uint32_t onnx_perm(const struct node *n, uint32_t i);
/* Does n, a Transpose, give a matrix with its two axes exchanged? */
bool onnx_transposes_matrix(const struct node *n);
/* The axis of input i of a product, MatMul or Gemm, along which it is summed up */
uint32_t summed_axis(const struct node *n, uint32_t i);
/* The axes that n names in its attribute or its second input, counted from the front of a value of
 * that rank, without order; -1: they are not known. Returns their number, 0 if it names none. */
int onnx_axes(const struct node *n, uint32_t rank, int *axes);
/* The same as bits; 0: it names none, or they are not known, or the rank is 64 or more */
uint64_t onnx_axis_bits(const struct node *n, uint32_t rank);
/* The axes along which a ReduceMax, an ArgMax or the like reduces, in order. Returns their number;
 * -1: they are not known, or it reduces none */
int onnx_reduced_axes(const struct node *n, int *axes);
/* Does n, a ReduceSum or the like, name no axis where that means none, and not all? */
bool reduces_no_axis(const struct node *n);
#define MAX_DATA_TYPE 26 /* the largest TensorProto.DataType */
/* attrs.c: what is wrong with an attribute of a raw node, to be put after "attribute 'mode' ", as
 * in "is 3; it must be 0 or 1". NULL: nothing is wrong */
const char *onnx_attr_wrong(struct ctx *cx, const struct onnx_op *op, const struct attr *a);
/* What is missing, as in "needs the attribute 'to'"; NULL: nothing. Adds the defaults that must be
 * written into the model: n->attrs has room for MAX_WRITTEN more. */
#define MAX_WRITTEN 1
const char *onnx_attrs_finish(struct ctx *cx, struct node *n);

size_t onnx_names(const char *const **names);   /* all operator names of ai.onnx, sorted */
bool onnx_has_blocks(const struct onnx_op *op); /* Loop, If and the like */
/* The number of its row in operators.def; UINT32_MAX: it is of another domain. */
uint32_t onnx_row(const struct onnx_op *op);
/* infer*.c: infers the results of an ONNX node whose inputs and attributes are set: sets type and
 * known of each out[i]. Reports type errors, with the span of the node. ONNX_NO_RULE: nothing was
 * set, the types must come from elsewhere (the user writes them for raw nodes). */
enum onnx_infer_result { ONNX_INFERRED, ONNX_NO_RULE, ONNX_ERROR };
enum onnx_infer_result onnx_infer(struct ctx *cx, struct node *n);
uint8_t sign_of(const struct value *v); /* enum sign */

/* nan.c: the number that v is, a constant of one float; false: it is none */
bool constant_float(const struct value *v, double *k);
/* The value that must be NaN for cond, a comparison, to be false; NULL: there is none */
const struct value *only_false_for_nan(const struct value *cond);
const struct value *nan_source(const struct value *v); /* v is NaN exactly if this one is */
bool never_nan(const struct value *v);                 /* no element of v can be NaN */
/* Are all elements of v NaN if the single number `source` is? aligned: is each element of v NaN
 * whose element of `source`, which has the same dims but for those that are 1, is? */
bool is_nan_if(struct ctx *cx, const struct value *v, const struct value *source, bool aligned);

/* What is true of an operator: see facts.def. */
#define ONNX_MAX_RANKED 7
struct infer;
struct onnx_facts {
	enum onnx_infer_result (*types)(struct infer *f);
	dim (*known)(struct infer *f, uint32_t i);
	uint8_t (*signs)(const struct node *n);
	bool each, moves, reshapes, random, counts;
	uint8_t shapes;                    /* bit i: input i */
	uint8_t ranks[ONNX_MAX_RANKED][2]; /* the smallest, the largest plus 1; 0, 0: any */
};
extern const struct onnx_facts onnx_facts[ONNX_COUNT]; /* the row of ONNX_NONE is empty */
/* The first input whose dtype result `result` has; -1: there is none */
int onnx_input_like(const struct onnx_op *op, uint32_t result);
/* Do the results depend on inputs and attributes alone? */
bool onnx_is_pure(const struct onnx_op *op);
/* Are the lengths of the result those of the first input, of all inputs broadcast, of the first
 * input without some axes, or others? */
enum onnx_lengths {
	ONNX_OTHER_LENGTHS,
	ONNX_FIRST_LENGTHS,
	ONNX_BROADCAST_LENGTHS,
	ONNX_REDUCED_LENGTHS
};
enum onnx_lengths onnx_lengths(const struct onnx_op *op);
/* Does n need the elements of its inputs, and not their lengths alone? */
static inline bool needs_elements(const struct node *n)
{
	return !computes(n, ONNX_Shape) && !computes(n, ONNX_Size);
}
enum dtype dtype_of_onnx(int64_t data_type); /* DT_NONE: one that the language lacks */

#endif
