/*
 * internal.h: what dim.c (meaning: equations, bounds, the API) and expr.c (form: hash-consed
 * expressions and their normal forms) share. Only they include it.
 *
 * An expression is linear, c + coef[0] * term[0] + ..., over atoms in the order of their numbers.
 * An atom is its own expression. Base atoms are names and unknowns; the others have operands.
 * Limits keep every walk small: 64 terms, 8 operands of a max or product, a weight (atoms of the
 * whole tree) of 256. What would pass a limit or overflow int64 becomes a frozen atom: its operands
 * are kept for evaluation, but it is never looked into again. Behind MAX_DEPTH it is closed too.
 */
#ifndef PTGC_DIMS_INTERNAL_H
#define PTGC_DIMS_INTERNAL_H

#include "graph/graph.h"

#define MAX_TERMS  64
#define MAX_OPS    8
#define MAX_WEIGHT 256
#define MAX_DEPTH  2000
#define MAX_FACTS  64
#define NO_LOW     INT64_MIN /* range.lo: no lower bound */
#define NO_HIGH    INT64_MAX

enum form_kind {
	K_LINEAR,
	K_BASE,
	K_MAX,
	K_MIN,
	K_FLOORDIV,
	K_MOD,
	K_PRODUCT,
	K_LUMP_ADD,
	K_LUMP_MUL
};

struct range {
	int64_t lo, hi;
};

struct form {
	uint8_t kind;   /* enum form_kind */
	bool frozen;    /* atoms only */
	bool closed;    /* too deep: not even evaluated */
	bool one;       /* a base atom that must be 1: see dim_keep_ones() */
	uint8_t source; /* enum dim_source_kind, of base atoms and closed ones */
	uint32_t at;
	struct value *value;
	struct sym *name;
	dim alias; /* an atom that was replaced by this one and may have a source */
	dim subst; /* what replaces this base atom; 0: nothing */
	uint32_t n, weight, depth, hash;
	int64_t c;
	int64_t *coef;      /* K_LINEAR */
	dim *term;          /* K_LINEAR: its atoms; others: operands */
	struct range own;   /* of base and frozen atoms */
	struct range range; /* memo, valid while range_age is the age */
	uint32_t range_age, found_age;
	dim found; /* memo of dim_find, valid while found_age is the age */
};

struct fact {
	dim d; /* known to be 0, or at least `low` */
	int64_t low;
};

struct dims {
	struct arena *arena;
	vec(struct form *) forms;
	uint32_t *slots; /* open hash table of form numbers */
	uint32_t nslots, nused;
	uint32_t age; /* counts equations and new bounds: memos of another age are stale */
	vec(struct equation) equations;
	vec(dim) todo; /* stack of find() */
	vec(dim) ones; /* atoms that must be 1 and are not replaced */
	bool keep_ones;
	vec(struct fact) zeros, bounds;
};

/* A linear expression that is being made. */
struct lin {
	int64_t c;
	uint32_t n;
	int64_t coef[MAX_TERMS];
	dim term[MAX_TERMS];
};

static inline struct form *form_of(const struct dims *t, dim d)
{
	return t->forms.at[d];
}

/* expr.c; operands are canonical (found), results too */
void lin_load(const struct dims *t, struct lin *l, dim d);
bool lin_add(const struct dims *t, struct lin *l, dim d, int64_t k); /* l += k * d; false: limit */
bool lin_scale(struct lin *l, int64_t k);
bool lin_sub_const(struct lin *l, int64_t k);
dim lin_dim(struct dims *t, const struct lin *l); /* DIM_NONE: beyond a limit */
bool form_const(const struct dims *t, dim d, int64_t *v);
dim make_base(struct dims *t, struct sym *name, struct range own);
dim make_const(struct dims *t, int64_t v);
dim make_add(struct dims *t, dim a, dim b);
dim make_scale(struct dims *t, dim a, int64_t k);
dim make_mul(struct dims *t, dim a, dim b);
dim make_floordiv(struct dims *t, dim a, dim b);
dim make_mod(struct dims *t, dim a, dim b);
dim make_extreme(struct dims *t, enum form_kind kind, const dim *ops, uint32_t n);

/* prove.c */
struct range range_atom(struct dims *t, enum form_kind kind, const dim *ops, uint32_t n);
struct range range_lin(struct dims *t, const struct lin *l);
bool prove_ge(struct dims *t, const struct lin *l, int64_t k); /* l >= k in all cases */
/* dim.c */
dim find(struct dims *t, dim d);

static inline int64_t floor_div(int64_t a, int64_t m) /* m > 0 */
{
	return a / m - (a % m < 0);
}

static inline int64_t floor_mod(int64_t a, int64_t m) /* m > 0 */
{
	return a % m + (a % m < 0 ? m : 0);
}

/* prove.c: after a == b was solved */
void warn_empty(struct ctx *cx, dim a, dim b, struct span s);

#endif
