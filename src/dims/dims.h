/* dims.h: symbolic dims, and types of values. */
#ifndef PTGC_DIMS_DIMS_H
#define PTGC_DIMS_DIMS_H

#include "base/ctx.h"

struct value;

/*
 * dim.c: symbolic dims. A dim is the index of a hash-consed expression in ctx->dims: a linear form
 * c0 + c1*a1 + ... over atoms; an atom is a name, an opaque size, or max, min, floordiv, mod,
 * product of dims. Equal numbers mean equal dims; dim_find() applies the equations found so far.
 */
typedef uint32_t dim;
#define DIM_NONE ((dim)0) /* "no dim": never part of a type */
struct dims;
enum dim_source_kind {
	SOURCE_NONE,
	SOURCE_SIZE,  /* the size of an axis of a value: never negative */
	SOURCE_VALUE, /* one element of an integer value: may be negative */
};
struct dims *dims_new(struct ctx *cx);
dim dim_const(struct ctx *cx, int64_t v);
dim dim_name(struct ctx *cx, struct sym *name); /* a fresh atom of that name at each call */
dim dim_fresh(struct ctx *cx, enum dim_source_kind kind, struct value *v, uint32_t at); /* '?' */
void dim_bound(struct ctx *cx, dim fresh, int64_t lo, int64_t hi); /* lo <= fresh <= hi */
dim dim_add(struct ctx *cx, dim a, dim b);
dim dim_sub(struct ctx *cx, dim a, dim b);
dim dim_mul(struct ctx *cx, dim a, dim b);
dim dim_floordiv(struct ctx *cx, dim a, dim b);
dim dim_mod(struct ctx *cx, dim a, dim b);
dim dim_max(struct ctx *cx, dim a, dim b);
dim dim_min(struct ctx *cx, dim a, dim b);
dim dim_neg(struct ctx *cx, dim a);
bool dim_is_const(struct ctx *cx, dim d, int64_t *v);
bool dim_is_one(struct ctx *cx, dim d);        /* not: must be 1, as an equation says */
bool dim_eq(struct ctx *cx, dim a, dim b);     /* proved equal */
bool dim_ne(struct ctx *cx, dim a, dim b);     /* proved different */
bool dim_ge(struct ctx *cx, dim d, int64_t k); /* proved d >= k */
bool dim_le(struct ctx *cx, dim d, int64_t k); /* proved d <= k */
dim dim_find(struct ctx *cx, dim d);           /* canonical form under all equations so far */
/* Makes a and b equal from now on. false: they are proved different (nothing is recorded).
 * An equation that was not known before is kept with its place, for guards. */
bool dim_unify(struct ctx *cx, dim a, dim b, struct span s);
/* The same where one length comes of both: *a becomes it, a number if either is one. (An expression
 * that must be 1 stays an expression, and only a 1 is stretched.) */
bool dim_meet(struct ctx *cx, dim *a, dim b, struct span s);
/* keep: an atom that must be 1 is not replaced by it, as only what the types say is stretched:
 * x is not by what a Join of x and y asks of it. Until then, it is again. */
void dim_keep_ones(struct ctx *cx, bool keep);
/* The source of an atom is where its number is found at run time; the first one set stays. */
void dim_set_source(struct ctx *cx, dim atom, enum dim_source_kind kind, struct value *v,
		    uint32_t at);
/* What the numbers in d are: bits. raw: as it was made, no equations applied. */
enum {
	FROM_SIZE = 1,    /* of an axis */
	FROM_VALUE = 2,   /* an element of integers, which may be any of 2^64 numbers */
	FROM_LARGE = 4,   /* a constant beyond int32 */
	FROM_NOWHERE = 8, /* not known where it comes from */
	FROM_ANYTHING = 15
};
unsigned dim_sources(struct ctx *cx, dim d, bool raw);
const char *dim_str(struct ctx *cx, dim d);     /* "n+1", "max(n-1, 0)", "?" */
const char *dim_str_raw(struct ctx *cx, dim d); /* d as it was made, no equations applied */
/* Walk for dim_value(): exactly one of the shapes below describes the canonical form of d. */
enum dim_form {
	DIM_CONST,
	DIM_ATOM,
	DIM_SUM,
	DIM_MAX,
	DIM_MIN,
	DIM_FLOORDIV,
	DIM_MOD,
	DIM_PRODUCT
};
struct dim_view {
	enum dim_form form;
	int64_t constant; /* DIM_CONST, DIM_SUM: the constant term */
	uint32_t nterms;  /* DIM_SUM: terms coef[i] * term[i]; others: operands term[i] */
	const int64_t *coef;
	const dim *term;
	enum dim_source_kind kind; /* DIM_ATOM */
	struct value *source;
	uint32_t at;
	struct sym *name; /* NULL for opaque atoms */
};
struct dim_view dim_view(struct ctx *cx, dim d);
struct dim_view dim_view_raw(struct ctx *cx, dim d); /* d as it was made, no equations applied */
/* a == b was assumed at `span`; both as they were before: guards walk them with dim_view_raw(),
 * as dim_view() makes them equal. Only equations that can be computed at run time are listed. */
struct equation {
	dim a, b;
	struct span span;
};
uint32_t dim_equations(struct ctx *cx, const struct equation **list);
/* Where an equation says what d, as it was made, is; false: none does */
bool dim_place(struct ctx *cx, dim d, struct span *s);

/* A type is a dtype and dims; the rank is always known. */
struct type {
	uint8_t dtype; /* DT_NONE: poison, an error was reported for this value */
	uint8_t rank;
	dim *dims; /* in the arena, shared freely, never written after it is set */
};
const char *type_str(struct ctx *cx, struct type t); /* float64[batch, 3] */

#endif
