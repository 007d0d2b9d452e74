/*
 * all.h: the one internal header (ptgc.h is the public one). Types first, then the functions of
 * each file under a heading with its name; read top to bottom it is the table of contents.
 *
 *   text -> scan, parse -> struct file (AST) -> elaborate -> struct graph of PyTensor-level nodes
 *        -> lower -> struct graph of ONNX nodes -> rewrite -> verify -> emit -> bytes
 */
#ifndef PTGC_ALL_H
#define PTGC_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ptgc.h"

struct arena;
struct ctx;
struct value;
struct node;
struct block;
struct op;
struct onnx_op;
struct build;
struct elab;
struct fn;

#define countof(a)        (sizeof(a) / sizeof((a)[0]))
#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define NORETURN          __attribute__((noreturn))

/* arena.c: two lifetimes of memory, nothing freed piecemeal; running out unwinds to the API */
struct spare { /* pages of emptied arenas, for those that share it */
	struct chunk *chunks;
};
struct arena *arena_new(jmp_buf *oom, struct spare *spare); /* spare NULL: none */
void arena_empty(struct arena *a);
void arena_free(struct arena *a);
void spare_free(struct spare *s);
void *arena_alloc(struct arena *a, size_t size); /* zeroed, 8-aligned */
void *arena_grow(struct arena *a, void *p, size_t old_size, size_t new_size); /* tail zeroed */
size_t arena_size(const struct arena *a);
char *arena_strdup(struct arena *a, const char *s, size_t len);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF(2, 3);
size_t mul_size(struct arena *a, size_t n, size_t size); /* checked: overflow is out of memory */
#define new(a, T)          ((T *)arena_alloc(a, sizeof(T)))
#define new_array(a, T, n) ((T *)arena_alloc(a, mul_size(a, n, sizeof(T))))

/* growable array in an arena: struct { T *at; uint32_t len, cap; } */
#define vec(T)                                                                                     \
	struct {                                                                                   \
		T *at;                                                                             \
		uint32_t len, cap;                                                                 \
	}
#define vec_push(a, v) /* pointer to a zeroed new last element; invalidates older pointers */      \
	((v)->len == (v)->cap                                                                      \
	         ? ((v)->at = vec_more(a, (v)->at, &(v)->cap, sizeof(*(v)->at)), 0)                \
	         : 0,                                                                              \
	 &(v)->at[(v)->len++])
void *vec_more(struct arena *a, void *at, uint32_t *cap, size_t elem);

/* strbuf: text under construction, always 0-terminated once something was added */
struct strbuf {
	struct arena *arena;
	char *s;
	size_t len, cap;
};
void sb_add(struct strbuf *b, const char *s, size_t len);
void sb_str(struct strbuf *b, const char *s);
void sb_printf(struct strbuf *b, const char *fmt, ...) PRINTF(2, 3);
void sb_vprintf(struct strbuf *b, const char *fmt, va_list ap);

/*
 * hash.c: an index of things that have numbers, by their hashes. A number is found with all the
 * others that have its hash; the caller compares:
 *
 *   struct probe p = {.hash = h};
 *   while (hash_next(&table, &p))
 *           if (same(things[p.number], thing))
 *                   return things[p.number];
 *   hash_add(arena, &table, h, number);
 */
struct hash_slot {
	uint32_t hash;
	uint32_t number; /* + 1; 0: free */
};
struct hash_table {
	struct hash_slot *slots;
	uint32_t nslots, count; /* nslots is a power of two */
};
struct probe {
	uint32_t hash, number;
	uint32_t step; /* slots seen so far */
};
bool hash_next(const struct hash_table *t, struct probe *p);
void hash_add(struct arena *a, struct hash_table *t, uint32_t hash, uint32_t number);

/* intern.c */
/* Names are interned: equal names are one pointer. `value` and `dim` are what the name means at
 * the point that elaboration has reached (elab.c owns them; NULL when unbound). */
struct sym {
	struct binding *value;
	struct binding *dim;
	const struct op *op; /* the op of that name, NULL if none */
	struct fn *fn;       /* the fn of that name, NULL if none */
	uint32_t owner;      /* emit/names.c: the value that has the name in the model */
	uint32_t len;
	uint16_t word;       /* token of a keyword or soft word; 0 for others (scanner) */
	uint8_t dtype;       /* enum dtype when the name is a dtype's */
	bool taken;          /* lower: an ONNX value has the name */
	char s[];            /* 0-terminated */
};
struct intern;
struct intern *intern_new(struct ctx *cx);
struct sym *intern(struct ctx *cx, const char *s, size_t len);
struct sym *intern_str(struct ctx *cx, const char *s);

/* source.c: texts, and places in them. All texts of a compilation share one offset space. */
struct span {
	uint32_t begin, end;
};
struct source {
	const char *name; /* as the user wrote it; "<lib>/Erfcx" for a fn of the library */
	const char *dir;  /* folder that file(...) and use are relative to; NULL: none */
	const char *text;
	uint32_t len, base; /* text[i] is offset base + i */
	uint32_t *lines;    /* offsets of line starts, made when first needed */
	uint32_t nlines;
	bool lib;
};
struct place {
	const struct source *source;
	uint32_t line, col; /* from 1; columns count bytes */
	const char *text;   /* the line, not 0-terminated */
	uint32_t len;
};
struct source *source_add(struct ctx *cx, const char *name, const char *dir, const char *text,
                          size_t len); /* text is kept by reference; NULL after an error */
struct source *source_of(struct ctx *cx, struct span s);
struct place source_place(struct ctx *cx, uint32_t offset);

/* diag.c: errors, warnings, notes; all are kept and printed at the end or handed to the caller */
enum diag_code {
#define DIAG(id, number, severity, name, explain) id,
#include "diag.def"
	DIAG_COUNT
};
struct diag {
	enum diag_code code;
	uint8_t severity; /* enum ptgc_severity */
	struct span span, other; /* other: the second place ('~'), empty if none */
	char *text;
	struct diag *notes; /* linked list through next */
	struct diag *next;
};
/* Returns the record, so that note() can be attached to it. Never stops the compilation. */
struct diag *error(struct ctx *cx, struct span s, enum diag_code code, const char *fmt, ...)
        PRINTF(4, 5);
struct diag *error2(struct ctx *cx, struct span s, struct span other, enum diag_code code,
                    const char *fmt, ...) PRINTF(5, 6);
struct diag *warn(struct ctx *cx, struct span s, enum diag_code code, const char *fmt, ...)
        PRINTF(4, 5);
void note(struct ctx *cx, struct diag *d, struct span s, const char *fmt, ...) PRINTF(4, 5);
#define STOPPED 2                  /* what setjmp(cx->oom) then returns; 1: out of memory */
NORETURN void stop(struct ctx *cx); /* after errors: there is no point in going on */
NORETURN void bug(const char *fmt, ...) PRINTF(1, 2); /* broken invariants only, never input */
bool diag_option(struct ctx *cx, const char *name); /* "name", "no-name", "error=name", "error" */
const char *diag_explain(const char *code);          /* "PTG0042" -> text, NULL if unknown */
struct diag_info {
	int number;       /* of the code: PTG%04d */
	uint8_t severity; /* PTGC_NOTE: a warning that is off by default */
	const char *name, *explain;
};
extern const struct diag_info diag_infos[DIAG_COUNT];
size_t diag_sorted(struct ctx *cx, struct diag *const **list); /* in the order of places */
void diag_render(struct ctx *cx, struct strbuf *out, bool colour); /* as the command prints them */
/* the candidate nearest to `name` among n, for "did you mean ..."; NULL if none is near */
const char *did_you_mean(const char *name, const char *const *candidates, size_t n);

/* dtype.c */
enum dtype {
	DT_NONE,
#define DTYPE(id, name, onnx, size, kind, bits) DT_##id,
#include "dtypes.def"
	DT_COUNT
};
enum dtype_kind { KIND_NONE, KIND_BOOL, KIND_UINT, KIND_INT, KIND_FLOAT, KIND_COMPLEX, KIND_OTHER };
struct dtype_info {
	const char *name;
	uint8_t onnx, size, kind, bits;
};
extern const struct dtype_info dtypes[DT_COUNT];
enum dtype dtype_named(const char *name);      /* DT_NONE if unknown */
enum dtype dtype_upcast(enum dtype a, enum dtype b); /* NumPy's table for two arrays */
enum dtype dtype_to_float(enum dtype a);       /* PyTensor's upgrade_to_float */
bool dtype_holds_int(enum dtype t, uint64_t magnitude, bool negative);
static inline bool is_float(enum dtype t) { return dtypes[t].kind == KIND_FLOAT; }
static inline bool is_complex(enum dtype t) { return dtypes[t].kind == KIND_COMPLEX; }
static inline bool is_int(enum dtype t)
{
	return dtypes[t].kind == KIND_INT || dtypes[t].kind == KIND_UINT;
}
static inline bool is_discrete(enum dtype t) { return is_int(t) || t == DT_BOOL; }

/*
 * dim.c: symbolic dims. A dim is the index of a hash-consed expression in ctx->dims: a linear form
 * c0 + c1*a1 + ... over atoms; an atom is a name, an opaque size, or max, min, floordiv, mod, product of
 * dims. Equal numbers mean equal dims; dim_find() applies the equations found so far.
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
dim dim_add(struct ctx *cx, dim a, dim b);
dim dim_sub(struct ctx *cx, dim a, dim b);
dim dim_mul(struct ctx *cx, dim a, dim b);
dim dim_floordiv(struct ctx *cx, dim a, dim b);
dim dim_mod(struct ctx *cx, dim a, dim b);
dim dim_max(struct ctx *cx, dim a, dim b);
dim dim_min(struct ctx *cx, dim a, dim b);
dim dim_neg(struct ctx *cx, dim a);
bool dim_is_const(struct ctx *cx, dim d, int64_t *v);
bool dim_eq(struct ctx *cx, dim a, dim b);        /* proved equal */
bool dim_ne(struct ctx *cx, dim a, dim b);        /* proved different */
bool dim_ge(struct ctx *cx, dim d, int64_t k);    /* proved d >= k */
bool dim_le(struct ctx *cx, dim d, int64_t k);    /* proved d <= k */
dim dim_find(struct ctx *cx, dim d);              /* canonical form under all equations so far */
/* Makes a and b equal from now on. false: they are proved different (nothing is recorded).
 * An equation that was not known before is kept with its place, for guards. */
bool dim_unify(struct ctx *cx, dim a, dim b, struct span s);
/* The source of an atom is where its number is found at run time; the first one set stays. */
void dim_set_source(struct ctx *cx, dim atom, enum dim_source_kind kind, struct value *v, uint32_t at);
const char *dim_str(struct ctx *cx, dim d); /* "n+1", "max(n-1, 0)", "?" */
const char *dim_str_raw(struct ctx *cx, dim d); /* d as it was made, no equations applied */
/* Walk for dim_value(): exactly one of the shapes below describes the canonical form of d. */
enum dim_form { DIM_CONST, DIM_ATOM, DIM_SUM, DIM_MAX, DIM_MIN, DIM_FLOORDIV, DIM_MOD, DIM_PRODUCT };
struct dim_view {
	enum dim_form form;
	int64_t constant;          /* DIM_CONST, DIM_SUM: the constant term */
	uint32_t nterms;           /* DIM_SUM: terms coef[i] * term[i]; others: operands term[i] */
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

/* A type is a dtype and dims; the rank is always known. 64 is NumPy's limit. */
#define MAX_RANK 64
struct type {
	uint8_t dtype; /* DT_NONE: poison, an error was reported for this value */
	uint8_t rank;
	dim *dims; /* in the arena, shared freely, never written after it is set */
};
const char *type_str(struct ctx *cx, struct type t); /* float64[batch, 3] */

/* tensor.c: constant data. Points into the arena, a mapped file or the caller's memory. */
struct tensor {
	uint8_t dtype;
	uint8_t rank;
	bool splat;         /* data holds one element that stands for all */
	int64_t *shape;
	uint64_t count;     /* elements */
	const void *data;   /* little endian, C order, count (or 1) elements; may be unaligned */
	const char *name;   /* of the caller's tensor or file, for messages; NULL if none */
};
struct tensor *tensor_new(struct ctx *cx, enum dtype t, int rank, const int64_t *shape); /* data NULL */
bool tensor_int(const struct tensor *t, uint64_t i, int64_t *v); /* element of any integer or bool */
double tensor_float(const struct tensor *t, uint64_t i);         /* element of a real dtype */
bool tensor_convert(enum dtype to, void *dst, enum dtype from, const void *src, uint64_t n);
                                              /* C's conversion, as NumPy's astype; false: complex */
bool tensor_valid(const struct tensor *t); /* bools are 0 or 1 */
uint16_t half_from_double(double v);
double half_to_double(uint16_t h);
/* file.c: a tensor of a .npy or .safetensors file (name: which one; NULL for .npy), mapped, or of the caller's
 * table. Reports its own errors; NULL then. */
/* The text of a file that is `use`d, found as file_tensor() finds its files.
 * NULL: reported, or it was read before. */
struct source *file_source(struct ctx *cx, struct source *from, struct span s, const char *path);
struct tensor *file_tensor(struct ctx *cx, struct source *from, struct span s, const char *path,
                           const char *name);
struct mapping {
	const struct sym *path; /* resolved */
	void *addr;             /* NULL: small, read into the arena */
	const uint8_t *data;
	size_t len;
	int fd;                 /* of a large file, for sinks to copy from; -1: closed */
	struct st_index *index; /* .safetensors: its header, once parsed */
};
void files_close(struct ctx *cx); /* unmaps: the last step of ctx_free */
/* npy.c, safetensors.c: the bytes of such a file as a tensor; NULL: reported */
struct tensor *npy_tensor(struct ctx *cx, struct span s, const char *path, const struct mapping *m);
struct tensor *safetensors_tensor(struct ctx *cx, struct span s, const char *path,
                                  struct mapping *m, const char *name);

/*
 * AST (ast.c, made by grammar/ptg.y). Expressions are arrays in post-order: a node's children stand
 * before it, so passes are loops. `size` counts the nodes of the subtree, the node included: the
 * last child of node i is i-1, the one before it is (i-1) - size(i-1).
 */
enum anode_kind {
	A_NAME,     /* u.sym; flag AF_QUOTED */
	A_INT,      /* u.integer: magnitude; flag AF_NEGATIVE once a minus was folded in */
	A_FLOAT,    /* u.real (negative when AF_NEGATIVE); its text is the span, for exact float32 */
	A_IMAG,     /* u.real: the imaginary part; infj, nanj too */
	A_STR,      /* u.str */
	A_NONE,
	A_TRUE,
	A_FALSE,
	A_LIST,     /* n elements */
	A_DATA,     /* u.data: a folded list (of lists) of number literals */
	A_TUPLE,    /* n elements */
	A_PAREN,    /* ( x ): kept for the printer and for the check on & | beside comparisons */
	A_UNARY,    /* op: enum operator */
	A_BINARY,   /* op: enum operator */
	A_CALL,     /* u.sym op name; children: nprops props, then n - nprops arguments */
	A_OPREF,    /* the same without a call: Cholesky{lower=True}; all n children are props */
	A_PROP,     /* u.sym: name=value, one child; u.sym NULL: a bare value */
	A_ARROW,    /* a -> b inside props */
	A_INDEX,    /* base, then n-1 index items: x[...] */
	A_SET,      /* base[...].set(v): base, items, v (n = items + 2) */
	A_INC,      /* base[...].inc(v) */
	A_CONSTRUCT,/* F[n](v, ...): u.sym dtype name; nprops dims, then n - nprops values */
	A_SLICE,    /* a:b:c; flags AF_START, AF_STOP, AF_STEP (children present), AF_COLON2 (x::) */
	A_ELLIPSIS, /* ... ; u.sym: the name in ...b, or NULL */
	A_ANY,      /* ? as a dim */
	A_TYPE,     /* u.sym dtype or generic; n dims; flag AF_DIMS when [ ] was written */
};
enum { AF_NEGATIVE = 1, AF_QUOTED = 2, AF_START = 4, AF_STOP = 8, AF_STEP = 16, AF_COLON2 = 32, AF_DIMS = 64 };
enum operator {
#define OPERATOR(id, text, precedence, op) OPR_##id,
#include "operators.def"
	OPR_COUNT
};
struct anode {
	uint8_t kind; /* enum anode_kind */
	uint8_t op;   /* enum operator */
	uint8_t flags;
	uint16_t nprops;
	uint32_t n;    /* children */
	uint32_t size; /* nodes of the subtree */
	struct span span;  /* the whole expression */
	struct span at;    /* the operator, name or bracket to point at */
	union {
		struct sym *sym;
		uint64_t integer;
		double real;
		struct astr *str;
		struct adata *data;
	} u;
};
struct astr {
	const char *s;
	uint32_t len;
};
/* Numbers of a folded list. Element i: kind[i] is A_INT, A_FLOAT or A_IMAG..., with flags in the high bit. */
struct adata {
	uint32_t rank;      /* nesting depth */
	uint32_t *shape;
	uint32_t count;
	struct adatum {
		uint8_t kind; /* A_INT, A_FLOAT, A_TRUE, A_FALSE */
		uint8_t flags; /* AF_NEGATIVE */
		uint32_t text; /* offset of the literal, for exact float32 and messages */
		union {
			uint64_t integer;
			double real; /* with its sign */
		} u;
	} *at;
};
/* The value of a literal's text in float32, rounded once (strtof); text as in the source. */
float literal_float32(struct ctx *cx, struct span s, double value);

struct expr { /* a range of anodes; the root is the last one. len 0: absent */
	uint32_t first, len;
};
enum stmt_kind { S_ASSIGN, S_IF, S_LOOP, S_STATIC_IF, S_STATE, S_NEXT, S_UNTIL };
struct target {
	struct sym *name; /* "_" discards */
	struct span span;
	struct expr type; /* A_TYPE, or absent */
	bool quoted;
};
struct ablock {
	struct stmt *first, *last;
	struct span span;
};
struct aif { /* one branch; cond absent: else */
	struct expr cond;
	struct ablock body;
	struct aif *next;
	struct span span;
};
struct aitem { /* loop header: "name in seq", "name in start:stop:step", "name: type = first" */
	struct sym *name;
	struct span span;
	bool in, range;
	struct expr type, value, stop, step;
	struct aitem *next;
};
struct aresult {
	struct sym *name;
	struct span span;
	bool stacked; /* [name] */
	struct aresult *next;
};
struct aloop {
	struct aitem *items;
	struct expr condition; /* while */
	struct aresult *results;
	struct ablock body;
	struct span span;
};
struct stmt {
	uint8_t kind;
	uint16_t ntargets;
	struct span span;
	struct target *targets;
	struct expr value; /* S_ASSIGN, S_STATE, S_NEXT, S_UNTIL */
	union {
		struct aif *cond;   /* S_IF, S_STATIC_IF */
		struct aloop *loop; /* S_LOOP */
	} u;
	struct stmt *next;
};
struct param {
	struct sym *name;
	struct span span;
	struct expr type;  /* absent on results and decls */
	struct expr value; /* decls only: the default */
	bool quoted;
};
struct fn { /* a fn or a graph */
	bool is_graph;
	struct sym *name;
	struct span span, name_span;
	struct param *decls, *params, *results;
	uint32_t ndecls, nparams, nresults;
	struct ablock body;
	struct file *file;
	bool used, active; /* active: being expanded, so another use is a recursion */
	struct fn *next;
};
struct ause {
	struct astr path;
	struct span span;
	struct ause *next;
};
struct file {
	struct source *source;
	int version;            /* 0 when the header is absent */
	enum dtype floatx;      /* DT_FLOAT64 unless the header says floatX= */
	struct span header;
	vec(struct anode) nodes;
	struct ause *uses;
	struct fn *fns, *graphs; /* in the order written */
};
struct file *parse(struct ctx *cx, struct source *src); /* always a file; errors are in ctx */
/* One expression (an ops.def body) as a file with one anonymous fn: params, results "r". */
char *format(struct ctx *cx, struct source *src, size_t *len); /* canonical text with comments; NULL on error */
void dump_ast(struct ctx *cx, const struct file *f, struct strbuf *out);

/* Known integers: the elements of an integer value of rank 0 or 1, as dims. */
#define MAX_KNOWN 64
struct known {
	uint32_t n;
	dim at[];
};

/*
 * Graphs. Both levels use the same structs: a node is an op of PyTensor (op->onnx NULL) or of ONNX.
 * Every value belongs to one block and is defined before it is used (blocks nest; an inner block
 * may use values of outer ones).
 */
#define MAX_VALUES (UINT32_C(1) << 30)
struct value {
	struct type type;
	struct sym *name;            /* the user's name; NULL: unnamed */
	struct node *def;            /* NULL for block parameters and constants */
	const struct tensor *data;   /* constants */
	struct known *known;         /* NULL: nothing is known */
	struct value *low;           /* lower: the ONNX value that holds it */
	struct span span;
	uint32_t id : 30;            /* number in creation order, unique in the compilation */
	uint32_t sign : 2;           /* lower: enum sign of an ONNX value */
	uint32_t uses;               /* guards, rewrite: how often it is read */
};
enum sign { /* of the elements of a float value; bits */
	SIGN_ANY = 0,
	SIGN_NO_ZERO = 1,  /* none is -0 */
	SIGN_POSITIVE = 3, /* none has its sign bit set, NaN apart */
};
struct node {
	const struct op *op;         /* PyTensor level; &op_onnx for raw ONNX nodes */
	const struct onnx_op *onnx;  /* ONNX level and raw nodes */
	struct value **in;           /* NULL entries: omitted optional inputs */
	struct value **out;
	uint16_t nin, nout;
	uint16_t nattrs;
	bool dead;
	bool lenient;                /* raw, from the library: the legaliser decides about dtypes */
	union {
		struct cv *props;   /* PyTensor level: in the order of the op's signature */
		struct attr *attrs; /* ONNX level and raw nodes: nattrs of them */
	};
	union {
		struct block **blocks; /* PyTensor level: of Loop 1, of If 2 (then, else) */
		const char *label;     /* ONNX level: its name in the model; NULL: that of a result */
	};
	struct span span;
	struct node *next;           /* in the block */
};
struct block {
	struct block *outer;
	vec(struct value *) params;
	vec(struct value *) results;
	struct node *first, *last;
	uint32_t nnodes;
	uint32_t depth;
};
struct state {
	struct value *param, *init, *next; /* next NULL: never updated */
};
struct dim_check { /* axis `axis` of `value` was declared to be `d`, which inputs can break */
	struct value *value;
	uint32_t axis;
	dim d;
	struct span span;
};
struct graph {
	struct sym *name;
	struct block *block;
	vec(struct dim_check) checks;
	struct node *prologue; /* up to here nodes only work out dims of the parameters; NULL: none */
	vec(struct state) states;
	struct file *file;
};
enum attr_kind { AT_INT = 1, AT_FLOAT, AT_STR, AT_TENSOR, AT_INTS, AT_FLOATS, AT_STRS, AT_GRAPH };
struct attr {
	const char *name;
	uint8_t kind;
	uint32_t n; /* elements of the list kinds */
	union {
		int64_t i;
		float f;
		struct astr s;
		const struct tensor *t;
		const int64_t *ints;
		const float *floats;
		const struct astr *strs;
		struct block *block;
	} u;
};

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
	CV_LIST,    /* u.items, n */
	CV_TUPLE,
	CV_DATA,    /* u.data: a folded list */
	CV_DIM,     /* u.d: an int64 scalar known as a dim */
	CV_DTYPE,   /* u.dtype */
	CV_SYM,     /* a name that means nothing yet: a fn or a symbol that the op declares */
	CV_OP,      /* u.op: an op with properties, not called */
	CV_SLICE,   /* u.items[3]: start, stop, step (CV_NONE when left out) */
	CV_ELLIPSIS,
	CV_ARROW,   /* u.items[2] */
	CV_BYTES,   /* u.str: bytes("...") decoded */
	CV_MULTI,   /* u.items, n: the results of a call with several */
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
struct opref { /* Cholesky{lower=True} as a property of Blockwise */
	const struct op *op;
	struct fn *fn;
	struct cv *props;
};

/*
 * op.c, ops.def: the op table. One row declares an op: see the head of ops.def.
 * The signature "x idx*; axis:axes=None, dtype:dtype=None" gives inputs ('?' optional, '*' any
 * number, '+' at least one) and properties with their types and defaults.
 */
enum prop_type { P_INT, P_BOOL, P_FLOAT, P_STR, P_DTYPE, P_AXES, P_INTS, P_ENUM, P_OP, P_SLICES, P_ANY };
struct prop_spec {
	struct sym *name;
	enum prop_type type;
	bool required;
	struct cv value;          /* the default */
	const char *choices;      /* P_ENUM: "a|b|c" */
};
struct input_spec {
	struct sym *name;
	char repeat; /* 0, '?', '*', '+', '~': as '*', but each may be None */
};
enum cast_rule {
	CAST_NONE,   /* inputs go to the body as they are */
	CAST_RESULT, /* all inputs are cast to the result's dtype */
	CAST_UPCAST, /* all inputs are cast to their common dtype (comparisons) */
	CAST_REST,   /* all but the first are cast to the result's dtype (Switch) */
	CAST_LINALG, /* all inputs are cast to the dtype that LAPACK would work in */
};
struct op {
	const char *name;
	const char *sig;
	const char *doc;                                       /* one line for doc/ops.md */
	enum dtype (*dtype)(struct ctx *cx, struct node *n);   /* of result 0; DT_NONE: reported */
	bool (*shape)(struct ctx *cx, struct node *n);         /* types of all results; false: reported */
	void (*known)(struct ctx *cx, struct node *n);         /* known integers of the results */
	enum cast_rule cast;
	const char *onnx;                                      /* body: an expression */
	bool (*lower)(struct build *b, struct node *n);        /* body: C; false: reported */
	const char *lib;                                       /* body: the fn of that name in lib/ */
	struct cv (*expand)(struct elab *e, const struct op *op, struct cv *props, struct cv *args,
			    uint32_t nargs, struct span s);    /* body: what elab*.c makes of it at once */
	const char *unsupported;                               /* no body: the reason */
	const char *todo;                                      /* no body yet: what it waits for */
	const char *core;                                      /* "(m,k),(k,n)->(m,n)" of shape_core */
	uint32_t (*results)(struct ctx *cx, struct node *n);   /* how many, where nout is 255 */
	uint8_t nout;                                          /* results; 0 means 1; 255: see above */
};
enum op_id {
#define GROUP(heading)
#define OP(id, sig, ...) OP_##id,
#include "ops.def"
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
extern const struct op op_dim;  /* elab_flow.c: an int64[] that is props[0], a CV_DIM; no inputs */
extern const struct op op_loop; /* elab_flow.c: see there */
extern const struct op op_if;
/* .expand of the ops that run fns: elab_scan.c, elab_if.c */
typedef struct cv expand_fn_t(struct elab *e, const struct op *op, struct cv *props,
			      struct cv *args, uint32_t nargs, struct span s);
expand_fn_t elab_scan, elab_if_else, elab_lazy_if_else, elab_from_graph;
void ops_init(struct ctx *cx);  /* fills sym->op */
const char *op_group(const struct op *op); /* heading in doc/ops.md */
const struct op_sig *op_sig(struct ctx *cx, const struct op *op);
const struct op *op_named(struct ctx *cx, const char *name);
/* Properties of a node by name; the type was checked, defaults are filled in. */
const struct cv *prop(struct ctx *cx, const struct node *n, const char *name);
int64_t prop_int(struct ctx *cx, const struct node *n, const char *name);
bool prop_bool(struct ctx *cx, const struct node *n, const char *name);
bool prop_is_none(struct ctx *cx, const struct node *n, const char *name);
enum dtype prop_dtype(struct ctx *cx, const struct node *n, const char *name); /* DT_NONE for None */
const char *prop_str(struct ctx *cx, const struct node *n, const char *name);
/* axes of rank `rank`, normalised, sorted when `sorted`; None gives all. -1: reported */
int prop_axes(struct ctx *cx, const struct node *n, const char *name, int rank, int *axes, bool sorted);
const char *op_label(struct ctx *cx, const struct node *n); /* Sum{axis=0} as in messages */
/* How many results n has (in, nin and props are set); 0: reported, do not infer it then. */
uint32_t op_results(struct ctx *cx, struct node *n);
/* rules_shape.c: DimShuffle's order: axes, -1 for 'x'; the number of items, -1: reported */
int dimshuffle_order(struct ctx *cx, const struct node *n, int order[MAX_RANK]);
/* rules_dtype.c: int64 beside uint64, where their common dtype would round */
bool compares_beyond_float64(const struct node *n);
/* rules_known.c: the integers of a value of rank 0 or 1, constants included; NULL: not known */
const struct known *known_of(struct ctx *cx, struct value *v);
/* op_props.c: properties as written -> in the order of the signature, checked, normalised, defaults
 * filled in; NULL: reported. P_AXES and P_INTS give None or a CV_LIST of CV_INT, P_DTYPE None or a
 * CV_DTYPE, P_ENUM and P_STR a CV_STR, P_OP a CV_OP, P_SLICES a CV_LIST of CV_INT (position among
 * the index inputs) and CV_SLICE (three CV_INT or CV_NONE); folded lists and tuples become CV_LIST. */
struct prop_arg {
	struct sym *name; /* NULL: a bare value */
	struct cv value;
	struct span span;
};
struct cv *bind_props(struct ctx *cx, const struct op *op, struct span s, const struct prop_arg *args,
                      uint32_t n);

/* elab*.c: AST -> graph of PyTensor-level nodes, names resolved, types inferred, fns expanded */
struct graph *elaborate(struct ctx *cx, struct file *f); /* NULL: there were errors */
struct value *graph_value(struct ctx *cx, struct type t, struct span s);
struct value *graph_constant(struct ctx *cx, const struct tensor *t, struct span s);
/* Appends a node to `b`, infers its results; false (reported): results are poison. */
struct node *graph_node(struct ctx *cx, struct block *b, const struct op *op, struct cv *props,
                        struct value **in, uint32_t nin, struct span s);
bool infer_node(struct ctx *cx, struct node *n);
/* Gives a node its results: graph_node does it for fixed counts; where op->nout is 255 the shape
 * rule calls this. Types are set later. */
void node_results(struct ctx *cx, struct node *n, uint32_t count);
/* Expands fn `f` (lib or an ops.def body) on values into block b: used by lowering. */
bool expand_fn(struct ctx *cx, struct block *b, struct fn *f, const struct op *op, struct cv *props,
               struct value **in, uint32_t nin, struct value **out, uint32_t nout, struct span s);
struct fn *lib_fn(struct ctx *cx, const char *name);        /* NULL if there is none */
struct fn *op_body(struct ctx *cx, const struct op *op);    /* .onnx or .lib as a fn */
/* The library's fns, made from lib/ by tools/embed.sh: sorted by name; each is parsed when needed.
 */
struct lib_text {
	const char *name, *text;
	size_t len;
};
extern const struct lib_text lib_texts[];
extern const size_t lib_count;

/* onnx.c, onnx_ops.def, kernels_ort.def: what ONNX has and what a runtime runs */
struct onnx_attr_spec {
	const char *name;
	uint8_t kind;      /* enum attr_kind; 0 ends the list */
	bool required;
	const char *value; /* default as text: "1", "0.5", "text"; NULL if none */
};
struct onnx_io {
	const char *name;
	const char *type; /* type variable "T", or a fixed type "int64" */
	char repeat;      /* 0, '?', '*' (variadic, any), '+' */
};
struct onnx_op { /* one version of one operator */
	const char *domain; /* "" for ai.onnx */
	const char *name;
	uint8_t since, until; /* opsets of this version, both included */
	const struct onnx_io *in, *out;
	uint8_t nin, nout;
	const struct onnx_attr_spec *attrs;
	const struct onnx_constraint { const char *var; uint32_t dtypes; } *constraints; /* bit per enum dtype */
};
const struct onnx_op *onnx_find(const char *domain, const char *name, int opset); /* NULL: unknown */
const struct onnx_op *onnx_any(const char *domain, const char *name); /* newest version, for messages */
size_t onnx_names(const char *const **names); /* all operator names of ai.onnx, sorted */
uint32_t onnx_row(const struct onnx_op *op); /* its number in onnx_ops.def; UINT32_MAX: of another domain */
/* Has the target a kernel for the op with these input and output dtypes? */
bool kernel_exists(enum ptgc_target target, const struct onnx_op *op, const enum dtype *in, uint32_t nin,
                   const enum dtype *out, uint32_t nout);
/* Types of the results of an ONNX node whose inputs and attrs are set. Sets out[i]->type and known;
 * leaves types alone where it has no rule and returns false (the caller must then know them).
 * Reports type errors with the node's span. */
enum onnx_infer_result { ONNX_INFERRED, ONNX_NO_RULE, ONNX_ERROR };
enum onnx_infer_result onnx_infer(struct ctx *cx, struct node *n);

/*
 * lower/: PyTensor nodes -> ONNX nodes. build.c is the only file that knows opset differences.
 */
struct build {
	struct ctx *cx;
	int opset;
	enum ptgc_target target;
	struct block *block;     /* where nodes go */
	struct span span;        /* place given to new nodes */
	struct attr *attrs;      /* attributes collected for the next node */
	uint32_t nattrs, cattrs;
	struct cse *cse;
	struct dim_cache *dims;
};
struct graph *lower(struct ctx *cx, struct graph *g); /* NULL: there were errors */
bool lower_block(struct build *b, struct block *from); /* nodes of `from` into b->block */
struct value *low(struct build *b, struct value *v);   /* the ONNX value of a typed one */
void lowered(struct build *b, struct node *n, uint32_t i, struct value *v); /* result i of n is v */
/* attributes of the next node */
void attr_int(struct build *b, const char *name, int64_t v);
void attr_float(struct build *b, const char *name, float v);
void attr_str(struct build *b, const char *name, const char *v);
void attr_ints(struct build *b, const char *name, const int64_t *v, uint32_t n);
void attr_tensor(struct build *b, const char *name, const struct tensor *t);
void attr_block(struct build *b, const char *name, struct block *v);
/* One ONNX node through the legaliser; emitting the same node twice gives the same value. */
struct value *emit(struct build *b, const char *op, struct value **in, uint32_t nin);
void emit_n(struct build *b, const char *op, struct value **in, uint32_t nin, struct value **out, uint32_t nout);
#define emit_(b, op, ...)                                                                          \
	emit(b, op, (struct value *[]){__VA_ARGS__},                                               \
	     sizeof((struct value *[]){__VA_ARGS__}) / sizeof(struct value *))
/* constants */
struct value *const_ints(struct build *b, const int64_t *v, uint32_t n); /* int64[n] */
struct value *const_int(struct build *b, int64_t v);                     /* int64[] */
struct value *const_of(struct build *b, enum dtype t, double v);         /* t[], exact or bug() */
struct value *const_int_of(struct build *b, enum dtype t, int64_t v);
struct value *const_zeros(struct build *b, enum dtype t, struct value *shape);
/* helpers that know opsets */
struct value *cast(struct build *b, struct value *v, enum dtype t);      /* v itself if it has t */
struct value *reshape(struct build *b, struct value *v, const dim *dims, uint32_t rank);
struct value *unsqueeze(struct build *b, struct value *v, const int64_t *axes, uint32_t n);
struct value *squeeze(struct build *b, struct value *v, const int64_t *axes, uint32_t n);
struct value *transpose(struct build *b, struct value *v, const int64_t *perm);
struct value *expand(struct build *b, struct value *v, const dim *dims, uint32_t rank);
struct value *slice_axis(struct build *b, struct value *v, int axis, struct value *start,
                         struct value *stop, struct value *step);
struct value *concat(struct build *b, int axis, struct value **in, uint32_t n);
struct value *reduce(struct build *b, const char *op, struct value *v, const int *axes, int naxes,
                     bool keepdims);
struct value *dim_value(struct build *b, dim d);                         /* int64[] at run time */
struct value *dim_vector(struct build *b, dim d);                        /* int64[1] */
struct value *dims_vector(struct build *b, const dim *dims, uint32_t n); /* int64[n] */
struct value *shape_of(struct build *b, struct value *v);                /* int64[rank] */

/* rewrite.c: ONNX-level rewrites, each named and switchable */
void rewrite(struct ctx *cx, struct graph *g);
bool rewrite_option(struct ctx *cx, const char *name, bool on); /* -f[no-]name */
const char *rewrite_name(size_t i); /* all names, some twice in a row; NULL ends */
void part_guards(struct ctx *cx, struct graph *g); /* part_guards.c: keeps them apart from reshapes */
/* verify.c: types as inferred, every node has a kernel, names unique; bug() where not */
void verify(struct ctx *cx, struct graph *g);
/* dump.c */
void dump_graph(struct ctx *cx, const struct graph *g, struct strbuf *out);      /* .ptg text with types */
void dump_onnx_text(struct ctx *cx, const struct graph *g, struct strbuf *out);  /* ONNX text syntax */

/* emit/: the ONNX graph as bytes. No decisions. */
struct sink { /* sticky error: after a failed write all others do nothing */
	bool (*write)(struct sink *s, const void *data, size_t len);
	int error; /* errno */
	uint64_t written;
	void (*expect)(struct sink *s, uint64_t size); /* optional: what the whole will take */
	/* Optional: takes bytes of a file without a way through memory. How many it took: the
	 * others are to be written. */
	size_t (*copy)(struct sink *s, int fd, uint64_t offset, size_t len);
};
/* Writes to `path` by a temporary file beside it that commit renames; nothing is left behind by
 * abort. Devices, FIFOs and /dev/stdout are written through. All return false and set sink.error. */
struct file_sink {
	struct sink sink;
	int fd;
	bool direct; /* no temporary file */
	char path[4096], temp[4096];
};
bool file_sink_open(struct file_sink *f, const char *path);
void file_sink_fd(struct file_sink *f, int fd); /* writes through; fd is not closed */
bool file_sink_commit(struct file_sink *f);     /* on failure the temporary file is gone */
void file_sink_abort(struct file_sink *f);
struct mem_sink {
	struct sink sink;
	struct arena *arena;
	uint8_t *data; /* written bytes long */
	uint64_t cap;
};
void mem_sink_init(struct mem_sink *m, struct arena *a);
/* onnx_text.c: a binary model made readable; false: reported (E_MODEL) */
bool dump_model(struct ctx *cx, const void *data, size_t len, struct strbuf *out);
bool emit_model(struct ctx *cx, const struct graph *g, struct sink *out, struct sink *external);

/* api.c: the pipeline, for ptgc_compile() and the command. Both functions set cx->oom themselves. */
enum stage {
	STAGE_MODEL,
	STAGE_AST,
	STAGE_TYPED,
	STAGE_LOWERED,
	STAGE_ONNX,   /* the model as text */
	STAGE_FORMAT, /* ptgc fmt */
	STAGE_READ,   /* ptgc dump: the input is a model */
	STAGE_OPS,    /* ptgc --ops: no input */
	STAGE_OPS_MARKDOWN,
};
struct job {
	const char *path;       /* of the input; NULL: it is `text`, or comes from fd if that is NULL */
	const char *text;
	size_t len;
	int fd;
	const char *name, *dir; /* of the text, as for source_add(); found from path if NULL */
	enum stage stage;       /* MODEL gives `graph`, the others `text_out` */
	const struct graph *graph;
	struct strbuf text_out;
	const char *failure;    /* PTGC_FAILED: why, if no diagnostic says so */
};
enum ptgc_status compile(struct ctx *cx, struct job *job);
enum ptgc_status compile_emit(struct ctx *cx, struct job *job, struct sink *out, struct sink *external);
bool compile_flag(struct ctx *cx, const char *flag); /* "Wno-unused", "fno-check-dims" */
/* oplist.c: the op table for people: --ops, and doc/ops.md */
void op_list(struct strbuf *out, bool markdown);
/* depfile.c: "target: file..." as make reads it, with an empty rule for the files from `phony` on.
 * NULL, or the name that no makefile can hold. */
const char *depfile(struct strbuf *out, const char *const *targets, size_t ntargets,
                    const char *const *files, size_t nfiles, size_t phony);

/* One compilation. */
#define MIN_OPSET 13
#define MAX_OPSET 26
struct ctx {
	jmp_buf oom;
	struct arena *arena;      /* the whole compilation */
	struct arena *scratch;    /* what one pass or two need: emptied between them */
	struct spare spare;
	struct intern *names;
	struct dims *dims;
	struct op_sig *op_sigs;
	vec(struct source *) sources;
	struct diag *diags, **diag_tail;
	uint32_t errors, warnings;
	uint8_t severity[DIAG_COUNT]; /* as switched by -W */
	bool werror;
	struct diag_index *diag_index;
	struct options {
		int opset;
		enum ptgc_target target;
		bool strip, check_dims, signed_zeros, excess_precision;
		uint64_t external_threshold;
		bool external;
		uint64_t rewrites_off;
		const char *const *allow_dirs; /* file(...) may read below these too; NULL ends */
		const char *model_name, *doc_string;
		const char *external_name; /* location that external tensors get; NULL: none */
	} opt;
	const struct ptgc_tensor *tensors; /* the caller's, by name */
	size_t ntensors;
	struct lib *lib;
	struct elab *elab;
	enum dtype floatx;       /* of the main file: what PyTensor's config.floatX gives */
	uint32_t next_id;
	uint32_t expansions; /* of fns, against the limit */
	vec(struct mapping *) mappings; /* of files, unmapped at the end */
	uint32_t keep_open; /* so many large files stay open, as the sink may copy from them */
	vec(const char *) depends;      /* files read, for -MD */
	bool io_failed; /* a file could not be read, for no fault of the input */
};
struct ctx *ctx_new(void); /* NULL: out of memory */
void ctx_free(struct ctx *cx);

#endif
