/* dims.h: symbolic dims (the lengths of axes), and the types of values. */
#ifndef PTGC_DIMS_DIMS_H
#define PTGC_DIMS_DIMS_H

#include "base/base.h"

struct value;

/*
 * A dim is the index of a hash-consed expression in ctx->dims. The expression is linear,
 * c0 + c1*a1 + ..., over atoms. An atom is a name (`batch`), an unknown ('?'), or a max, min,
 * floordiv, mod or product of dims. Two dims with the same index are equal.
 *
 * Equations between dims are recorded: `x + y` of float64[n] and float64[m] records n == m. The
 * dims are a union-find over such equations: dim_find() replaces n by m, or m by n, everywhere.
 */
typedef uint32_t dim;
#define DIM_NONE ((dim)0) /* "no dim": never part of a type */
struct dims;
enum dim_source_kind {
	SOURCE_NONE,
	SOURCE_SIZE,  /* the size of an axis of a value: never negative */
	SOURCE_VALUE, /* one element of an integer value: may be negative */
};
void dims_init(struct ctx *cx); /* once a compilation, before all others */
dim dim_const(struct ctx *cx, int64_t v);
dim dim_name(struct ctx *cx, struct sym *name); /* a fresh atom of that name at each call */
/* The text calls the unknown d so. A size that has a name, or that is computed from others, keeps
 * what it is called. */
void dim_call(struct ctx *cx, dim d, struct sym *name);
/* The header of the graph says at s that the name is any size: no equation may pin it. */
void dim_promise(struct ctx *cx, dim name, struct span s);
/* A new unknown ('?'), which the model computes: the size of axis `at` of v, or its element `at`.
 */
dim dim_fresh(struct ctx *cx, enum dim_source_kind kind, struct value *v, uint32_t at);
void dim_bound(struct ctx *cx, dim fresh, int64_t lo, int64_t hi); /* lo <= fresh <= hi */
dim dim_add(struct ctx *cx, dim a, dim b);
dim dim_sub(struct ctx *cx, dim a, dim b);
dim dim_mul(struct ctx *cx, dim a, dim b);
dim dim_floordiv(struct ctx *cx, dim a, dim b);
dim dim_mod(struct ctx *cx, dim a, dim b);
dim dim_max(struct ctx *cx, dim a, dim b);
dim dim_min(struct ctx *cx, dim a, dim b);
dim dim_neg(struct ctx *cx, dim a);
dim dim_abs(struct ctx *cx, dim a);                 /* DIM_NONE: its sign is not known */
dim dim_sign(struct ctx *cx, dim a);                /* -1, 0 or 1; DIM_NONE */
dim dim_plus(struct ctx *cx, dim d, int64_t k);     /* d + k */
dim dim_over(struct ctx *cx, dim d, int64_t k);     /* d // k */
dim dim_at_least(struct ctx *cx, dim d, int64_t k); /* max(d, k) */
dim dims_product(struct ctx *cx, const dim *d, uint32_t n);
/* Are the products of both proved to be equal? */
bool dims_same_product(struct ctx *cx, const dim *a, uint32_t na, const dim *b, uint32_t nb);
/* The length d[at] with which the product of d is that of `all`: what -1 stands for in a Reshape.
 * Dims on both sides cancel. DIM_NONE: there is none, or one of the others is 0, so that any would
 * do; NumPy and ONNX refuse both. (Where 0 copies a dim, d has that dim.) */
dim dims_missing(struct ctx *cx, const dim *all, uint32_t nall, const dim *d, uint32_t n,
		 uint32_t at);
bool dim_is_const(struct ctx *cx, dim d, int64_t *v);
bool dim_is(struct ctx *cx, dim d, int64_t k); /* d is this number, by equations, too */
bool dims_are_const(struct ctx *cx, const dim *d, uint32_t n, int64_t *v);  /* v[i]: of d[i] */
bool dims_may_be_0(struct ctx *cx, const dim *d, uint32_t n, uint32_t but); /* one, d[but] apart;
									       but = n: any */
bool dims_are_ones(struct ctx *cx, const dim *d, uint32_t n); /* all of them, by equations, too */
/* Only while elaborating: does the type say that d is 1? Elsewhere ask dim_is(d, 1). See
 * dim_keep_ones(). */
bool dim_says_one(struct ctx *cx, dim d);
bool dim_eq(struct ctx *cx, dim a, dim b);     /* proved equal */
bool dim_ne(struct ctx *cx, dim a, dim b);     /* proved different */
bool dim_ge(struct ctx *cx, dim d, int64_t k); /* proved d >= k */
bool dim_le(struct ctx *cx, dim d, int64_t k); /* proved d <= k */
dim dim_find(struct ctx *cx, dim d);           /* canonical form under all equations so far */
/* Records that a == b from now on. Returns false, and records nothing, if they are proved to be
 * different, or if that would break a promise: dim_broken() then says which. An equation that was
 * not known before is listed with its span, for checks. */
bool dim_unify(struct ctx *cx, dim a, dim b, struct span s);
/* May a == b hold? false: promised names alone would have to obey it; dim_broken() says which,
 * unless no sizes make a and b equal. Nothing is recorded. */
bool dim_keeps_promises(struct ctx *cx, dim a, dim b);
/* Is a length that begins as `from` another one once it is `to`, but for a few sizes or lengths 0?
 * CHANGE_OF_NAMES: and all sizes are promised names */
enum change { NO_CHANGE, CHANGE, CHANGE_OF_NAMES };
enum change dim_changes(struct ctx *cx, dim from, dim to);
/* Equations are asked for by this op from now on, in messages; what asked before is returned. */
const char *dim_asks(struct ctx *cx, const char *op);
/* dim_unify(*a, b), where *a becomes the length of a result: a number if either is a number. */
bool dim_meet(struct ctx *cx, dim *a, dim b, struct span s);
/* dim_meet() where the user asserts a == b: it may pin what the header calls any size. */
bool dim_assert(struct ctx *cx, dim *a, dim b, struct span s);
/* An equation that dim_unify() refused because names of the header alone would have to obey it. */
#define MAX_PROMISES 2 /* that a message shows */
struct broken {
	dim a, b; /* a == b; a is a name of the header if the equation says what one must be */
	struct promise {
		dim name;
		struct span span; /* of the name in the header */
	} of[MAX_PROMISES];
	uint32_t n;
	bool solved;     /* a is a name, and b does not contain it */
	bool replaced;   /* a side was another size before an equation... */
	struct span why; /* ... that stands here */
};
bool dim_broken(struct ctx *cx, struct broken *b); /* the last one, once; false: there is none */
/*
 * Between dim_keep_ones(cx, true) and dim_keep_ones(cx, false), an equation n == 1 does not replace
 * n by 1. PyTensor broadcasts an axis only if its type says 1. With x: float64[n], an op that needs
 * n == 1 must not turn a later `x + y` into a broadcast of x: dim_says_one(n) stays false, although
 * dim_is_const(n) is true. dim_keep_ones(cx, false) replaces all such atoms by 1.
 */
void dim_keep_ones(struct ctx *cx, bool keep);
/* Between dim_only_ask(cx, true) and dim_only_ask(cx, false), dim_unify() and its kin answer, but
 * record nothing: for code that asks an op's rule again, with results that belong to no graph. */
void dim_only_ask(struct ctx *cx, bool only);
/* The source of an atom says where its number is found at run time. The first one set stays. */
void dim_set_source(struct ctx *cx, dim atom, enum dim_source_kind kind, struct value *v,
		    uint32_t at);
/* Where the next source is that atoms have, from atom *next on; NULL: there are no more */
struct value **dim_next_source(struct ctx *cx, uint32_t *next);
/* The kinds of numbers in d, as bits. Functions and flags `as_made` take d as it was
 * made, without the equations: n stays n there when n == m was recorded later. */
enum {
	FROM_SIZE = 1,    /* the size of an axis */
	FROM_VALUE = 2,   /* an element of an integer value: any int64 */
	FROM_LARGE = 4,   /* a constant that int32 cannot hold */
	FROM_NOWHERE = 8, /* an atom without a source */
	FROM_ANYTHING = 15
};
unsigned dim_sources(struct ctx *cx, dim d, bool as_made);
/* May d, a length, be below 0 in a run that is to fail then? Of an integer no equation says that it
 * may not: if it is the length of an array, the equation is as true as there is such an array. */
bool dim_may_be_negative(struct ctx *cx, dim d);
bool dim_is_length(struct ctx *cx, dim d); /* is it certainly 0 or more, whatever a run computes? */
const char *dim_str(struct ctx *cx, dim d); /* "n+1", "max(n-1, 0)", "?" */
const char *dim_str_as_made(struct ctx *cx, dim d);
/* The top of the expression d, for code that computes d at run time (dim_value() of lowering). */
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
	uint32_t nterms;  /* DIM_SUM: terms coef[i] * term[i]; other forms: operands term[i] */
	const int64_t *coef;
	const dim *term;
	enum dim_source_kind kind; /* DIM_ATOM */
	struct value *source;
	uint32_t at;
	struct sym *name; /* DIM_ATOM: NULL if it is an unknown */
};
struct dim_view dim_view(struct ctx *cx, dim d);
/* d as a number where it is one, or about how long it is as the options say; `otherwise`: unknown
 */
int64_t dim_expected(struct ctx *cx, dim d, int64_t otherwise);
/* What is taken for a length that nothing tells, where two forms are compared. Where one of them is
 * much slower if that is wrong, `otherwise` is such that the other one is chosen: 1 or INT64_MAX.
 */
#define OPEN_LENGTH 64
struct dim_view dim_view_as_made(struct ctx *cx, dim d);
/* An equation a == b that the op at `span` needs. A check computes both sides at run time and
 * compares them. It walks them with dim_view_as_made(): dim_view() would show two equal sides. */
struct equation {
	dim a, b;
	struct span span;
};
/* Lists the equations whose two sides can be computed at run time. */
uint32_t dim_equations(struct ctx *cx, const struct equation **list);
/* The span of the last equation that led to the value of d, as it was made. false: no equation did.
 */
bool dim_equation_span(struct ctx *cx, dim d, struct span *s);

/* A type is a dtype and dims; the rank is always known. */
struct type {
	uint8_t dtype; /* DT_NONE: poison, an error was reported for this value */
	uint8_t rank;
	dim *dims; /* in the arena; values share it, so nothing writes to it once it is set */
};
bool same_dims(struct ctx *cx, struct type a, struct type b);               /* proved equal */
bool same_type(struct ctx *cx, const struct type *a, const struct type *b); /* and one dtype */
bool same_long_dims(struct ctx *cx, struct type a, struct type b); /* the same but for dims 1 */
const char *type_str(struct ctx *cx, struct type t);               /* float64[batch, 3] */

#endif
