/*
 * internal.h: shared by the files of this folder alone.
 *
 * A form is a node of the table of expressions. It is either a linear expression
 * c + coef[0] * term[0] + ..., with atoms as terms, sorted by index, or an atom. A base atom is a
 * name or an unknown; every other atom, such as max(a, b), has operands.
 *
 * Limits keep every walk small: MAX_TERMS terms, MAX_OPS operands of a max or product, MAX_WEIGHT
 * atoms in a whole tree. An expression beyond a limit, or one that would overflow int64, becomes a
 * frozen atom: code for the run can still be made from its operands, but no rule looks into it. A
 * frozen atom deeper than MAX_DEPTH is closed: it is treated as an unknown.
 */
#ifndef PTGC_DIMS_INTERNAL_H
#define PTGC_DIMS_INTERNAL_H

#include "dims/dims.h"

#define MAX_TERMS  64
#define MAX_OPS    8
#define MAX_WEIGHT 256
#define MAX_DEPTH  2000
#define MAX_ZEROS  64
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
	K_FROZEN_ADD, /* a sum and a product of two that the normal form has no room for */
	K_FROZEN_MUL
};

struct range {
	int64_t lo, hi;
};

struct form {
	uint8_t kind;   /* enum form_kind */
	bool frozen;    /* atoms only */
	bool closed;    /* too deep to be computed from its operands */
	bool one;       /* a base atom that equals 1 and is not replaced: dim_keep_ones() */
	bool promised;  /* a name that stands for any size: dim_promise() */
	uint8_t source; /* base and closed atoms: enum dim_source_kind */
	uint32_t at;
	struct value *value;
	struct sym *name;
	struct span header; /* of a promised name: its place there */
	dim alias;          /* an atom that this one has replaced, whose source serves both */
	dim subst;          /* what replaces this base atom; DIM_NONE: nothing */
	uint32_t n, weight, depth, hash;
	int64_t c;
	int64_t *coef;      /* K_LINEAR */
	dim *term;          /* K_LINEAR: its atoms; others: operands */
	struct range own;   /* of base and frozen atoms: asked of the model or proved */
	struct range range; /* memo of range_of(), valid while range_age == dims.age */
	uint32_t range_age, found_age;
	dim found; /* memo of find(), valid while found_age == dims.age */
};

struct few { /* an equation of names that finitely many sizes satisfy: reported at `span` */
	dim a, b;
	struct span span;
};

struct lower_bound {
	dim d; /* d >= low */
	int64_t low;
};

struct dims {
	struct arena *arena;
	vec(struct form *) forms;
	uint32_t *slots; /* open hash table of form numbers */
	uint32_t nslots, nused;
	uint32_t age; /* grows with each equation or bound: a memo of another age is stale */
	vec(struct equation) equations;
	vec(dim) todo; /* the stack of resolve_chain() */
	vec(dim) ones; /* atoms with form.one */
	bool keep_ones;
	bool only_ask;        /* dim_only_ask() */
	uint32_t first_asked; /* the first dim that was made since */
	vec(struct few) few;
	const char *asks; /* the op that asks for equations; NULL: none */
	vec(dim) zeros;   /* equations that replace no atom: each of these dims is 0 */
	vec(struct lower_bound) bounds; /* bounds of replaced atoms that no single atom can hold */
	struct broken broken;           /* for dim_broken(); n is 0: none */
};

/* A linear expression under construction. */
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

/* expr.c: operands are results of find(), and so are the results. lin_*: false means that a limit
 * was passed; l is of no use then. */
void lin_load(const struct dims *t, struct lin *l, dim d);
bool lin_add(const struct dims *t, struct lin *l, dim d, int64_t k); /* l += k * d */
bool lin_scale(struct lin *l, int64_t k);
bool lin_sub_const(struct lin *l, int64_t k);
bool lin_can_negate(const struct lin *l);
bool lin_replace(const struct dims *t, struct lin *l, uint32_t i, dim by); /* term i by `by` */
dim lin_dim(struct dims *t, const struct lin *l); /* DIM_NONE: beyond a limit */
bool form_const(const struct dims *t, dim d, int64_t *v);
dim make_base(struct dims *t, struct sym *name, struct range own);
dim make_const(struct dims *t, int64_t v);
dim make_add(struct dims *t, dim a, dim b);
dim make_scale(struct dims *t, dim a, int64_t k);
dim make_mul(struct dims *t, dim a, dim b);
dim make_floordiv(struct dims *t, dim a, dim b);
dim make_mod(struct dims *t, dim a, dim b);
dim make_minmax(struct dims *t, enum form_kind kind, const dim *ops, uint32_t n);

/* prove.c */
struct range range_atom(struct dims *t, enum form_kind kind, const dim *ops, uint32_t n);
struct range range_lin(struct dims *t, const struct lin *l);
bool prove_ge(struct dims *t, const struct lin *l, int64_t k);

/* dim.c */
dim find(struct dims *t, dim d);
enum truth { UNKNOWN, EQUAL, DIFFERENT };
struct difference {
	struct lin plain;    /* a - b, primitive */
	struct lin expanded; /* a - b after expand_atoms(), primitive */
	bool ok;             /* false: int64 or a limit was too small */
};
/* Compares canonical a and b; d is set where the answer is UNKNOWN. */
enum truth compare_dims(struct dims *t, dim a, dim b, struct difference *d);
bool make_primitive(struct lin *l);
bool prove_nonzero(struct dims *t, const struct lin *l);

/* large.c: reports a == b if finitely many sizes alone satisfy it. true: as an error, as the sizes
 * are names, which stand for any size */
bool report_few(struct ctx *cx, dim a, dim b, struct span s);
/* a == b was reported at another place and has been taken for true since: is said here, too. */
void report_few_again(struct ctx *cx, dim a, dim b, struct span s);
/* promise.c: does l == 0 break a promise? Then the equation a == b is noted for dim_broken(). made
 * has its sides as they were made. */
bool breaks_promise(struct ctx *cx, const struct lin *l, const dim made[2], dim a, dim b);

/* unify.c: f, or the first of the atoms that f has replaced which has a source */
struct form *form_with_source(const struct dims *t, struct form *f);

static inline int64_t floor_div(int64_t a, int64_t m) /* m > 0 */
{
	return a / m - (a % m < 0);
}

static inline int64_t floor_mod(int64_t a, int64_t m) /* m > 0 */
{
	return a % m + (a % m < 0 ? m : 0);
}

#endif
