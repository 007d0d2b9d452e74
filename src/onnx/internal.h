/*
 * internal.h: what the files of ONNX inference share. A shape rule, onnx_x(), reads the inputs and
 * attributes of a node whose dtypes fit the schema of its operator, and sets the dims of each
 * result with set_result(). It reports an error and returns ONNX_ERROR, or, if the rank of a result
 * is not known at compile time, returns ONNX_NO_RULE before it sets any result.
 *
 * Functions that return bool and report an error return false then.
 */
#ifndef PTGC_ONNX_INTERNAL_H
#define PTGC_ONNX_INTERNAL_H

#include "onnx/onnx.h"

#define MAX_VARIABLES 4

/* infer_sign.c: is no element of v above 1? NaN apart, and as the runtime rounds: x / (x + y) of
 * positive numbers is not, nor is 1 - x. ONNX Runtime's Tanh and Sigmoid of float32 are: they give
 * 1.0000002. */
bool is_at_most_one(const struct value *v);

struct infer {
	struct ctx *cx;
	struct node *n;
	const struct onnx_op *op;
	enum dtype bound[MAX_VARIABLES]; /* dtype of each type variable; DT_NONE: not known */
};

/* facts.def: the rules for types, for known integers (infer_known.c) and for signs. A rule for
 * known integers returns element i of the result, or DIM_NONE if it is not known. */
#define FACTS(name, types, ...) enum onnx_infer_result onnx_##types(struct infer *f);
#include "onnx/facts.def"
#define FACTS(name, types, known, ...) dim known_##known(struct infer *f, uint32_t i);
#include "onnx/facts.def"
#define FACTS(name, types, known, signs, ...) uint8_t sign_##signs(const struct node *n);
#include "onnx/facts.def"
#define STREAM(op, reads, types, ...) enum onnx_infer_result onnx_##types(struct infer *f);
#include "onnx/own.def"
void set_known_results(struct infer *f, dim (*rule)(struct infer *f, uint32_t i));

/* infer_node.c: dtypes of the schema */
bool bind_inputs(struct infer *f); /* false: an input is refused */
/* An operator of ai.onnx.ml: its results have the types that the user wrote. */
enum onnx_infer_result infer_ml(struct infer *f);

/* infer_node.c: results */
enum onnx_infer_result set_result(struct infer *f, uint32_t i, uint32_t rank, dim *dims);
enum onnx_infer_result set_result_like(struct infer *f, uint32_t i, struct type t); /* dims of t */
/* Result i has dtype t, from an attribute such as `to`: for type variables without an input. */
void bind_result_dtype(struct infer *f, uint32_t i, enum dtype t);
/* The same where only some dtypes are allowed, which attribute `attr` chooses; false: reported */
bool choose_result_dtype(struct infer *f, uint32_t i, enum dtype t, const char *attr);
dim *dims_alloc(struct infer *f, uint32_t rank);
dim *dims_copy(struct infer *f, struct type t);
dim unknown_dim(struct infer *f, uint32_t i, uint32_t axis); /* the length of an axis of result i */
dim const_dim(struct infer *f, int64_t v);
dim prefer_const(struct infer *f, dim a, dim b); /* of two dims that are equal in every run */
/* max(ceil((stop - start) / step), 0): the length of a range or slice */
dim count_steps(struct infer *f, dim start, dim stop, int64_t step);
/* *r = the broadcast of a and b, on an axis of result 0. false: they are different and neither can
 * be 1 (not reported) */
bool broadcast_dim(struct infer *f, dim a, dim b, uint32_t axis, dim *r);
/* dims[rank] = the broadcast of the n types t, aligned on the right */
bool broadcast_types(struct infer *f, const struct type *t, uint32_t n, dim *dims, uint32_t rank);

/* infer_node.c: inputs and attributes */
struct value *input(const struct infer *f, uint32_t i); /* NULL: not given */
struct type input_type(const struct infer *f, uint32_t i);
const struct known *input_known(struct infer *f, uint32_t i); /* NULL: not given or not known */
bool input_const(struct infer *f, uint32_t i, uint32_t at, int64_t *v);
int64_t input_count(struct infer *f, uint32_t i); /* elements of a vector input; -1: not known */
int64_t int_attr(const struct infer *f, const char *name); /* with the schema's default, else 0 */
bool str_attr_is(const struct infer *f, const char *name, const char *value);
int64_t ints_attr(const struct infer *f, const char *name, uint32_t i, int64_t other);
bool check_input_rank(struct infer *f, uint32_t i, uint32_t min, uint32_t max);
/* *a = axis, counted from the end if it is negative */
bool resolve_axis(struct infer *f, int64_t axis, uint32_t rank, uint32_t *a);
/* resolve_axis() for an axis of a list, where seen[] marks the axes before it: no axis twice */
bool resolve_new_axis(struct infer *f, int64_t axis, uint32_t rank, bool *seen, uint32_t *a);
bool check_distinct_axes(struct infer *f, const struct attr *a, uint32_t rank); /* a may be NULL */
/* Can dim x of a be equal to dim y of b? For a raw node they are so from now on. */
bool check_dims_match(struct infer *f, struct type a, struct type b, dim x, dim y);
struct diag *infer_error(struct infer *f, enum diag_code code, const char *fmt, ...) PRINTF(3, 4);

#endif
