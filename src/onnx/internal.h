/*
 * internal.h: what the files of ONNX inference share. A rule looks at the inputs and attributes
 * of a node whose dtypes fit its operator's schema, and gives each result its dims through out();
 * it reports what cannot be right, and gives up (ONNX_NO_RULE) before it has set anything where
 * ranks are not known at compile time.
 */
#ifndef PTGC_ONNX_INTERNAL_H
#define PTGC_ONNX_INTERNAL_H

#include "onnx/onnx.h"

#define MAX_VARIABLES 4

struct infer {
	struct ctx *cx;
	struct node *n;
	const struct onnx_op *op;
	enum dtype bound[MAX_VARIABLES]; /* dtype of each type variable; DT_NONE: not known */
};

/* the rules that facts.def names */
#define FACTS(name, types, ...) enum onnx_infer_result onnx_##types(struct infer *f);
#include "onnx/facts.def"
#define FACTS(name, types, known, ...) void known_##known(struct infer *f);
#include "onnx/facts.def"
#define FACTS(name, types, known, signs, ...) uint8_t sign_##signs(const struct node *n);
#include "onnx/facts.def"

/* infer.c: results */
enum onnx_infer_result out(struct infer *f, uint32_t i, uint32_t rank, dim *dims);
enum onnx_infer_result out_like(struct infer *f, uint32_t i, struct type t); /* dims of t */
void bind_result(struct infer *f, uint32_t i, enum dtype t); /* a dtype that an attribute says */
dim *dims_alloc(struct infer *f, uint32_t rank);
dim *dims_copy(struct infer *f, struct type t);
dim fresh(struct infer *f, uint32_t i, uint32_t axis); /* a size that only the run knows */
dim num(struct infer *f, int64_t v);
dim pick(struct infer *f, dim a, dim b); /* of two dims that the run demands to be equal */
bool broadcast_dim(struct infer *f, dim a, dim b, uint32_t axis, dim *r);
bool broadcast_types(struct infer *f, const struct type *t, uint32_t n, dim *dims, uint32_t rank);

/* infer.c: inputs and attributes */
struct value *input(const struct infer *f, uint32_t i); /* NULL: not given */
struct type type_in(const struct infer *f, uint32_t i);
const struct known *known_in(struct infer *f, uint32_t i); /* NULL: not given or not known */
bool const_in(struct infer *f, uint32_t i, uint32_t at, int64_t *v);
int64_t const_count(struct infer *f, uint32_t i); /* elements of a vector input; -1: not known */
const struct attr *attr_of(const struct infer *f, const char *name);
bool has_attr(const struct infer *f, const char *name);
int64_t int_attr(const struct infer *f, const char *name); /* with the schema's default, else 0 */
bool str_attr_is(const struct infer *f, const char *name, const char *value);
int64_t ints_attr(const struct infer *f, const char *name, uint32_t i, int64_t other);
bool want_in_rank(struct infer *f, uint32_t i, uint32_t min, uint32_t max);
bool axis_in(struct infer *f, int64_t axis, uint32_t rank, uint32_t *a);
enum dtype dtype_of_onnx(int64_t data_type); /* DT_NONE: one that ptgc lacks */
struct diag *infer_error(struct infer *f, enum diag_code code, const char *fmt, ...) PRINTF(3, 4);

#endif
