/*
 * base.h: what every other folder stands on. First memory, containers and dtypes, which know of no
 * compilation; then one compilation (struct ctx): its names, texts, diagnostics and options. What
 * belongs to one layer alone is a pointer in struct ctx that only this layer looks behind.
 */
#ifndef PTGC_BASE_BASE_H
#define PTGC_BASE_BASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ptgc.h"

#define countof(a)        (sizeof(a) / sizeof((a)[0]))
#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define NORETURN          __attribute__((noreturn))

/* arena.c: memory that is freed all at once; when it runs out, a longjmp leads back to the API */
struct spare { /* pages that no arena uses, for all arenas that share the struct */
	struct chunk *chunks;
};
struct arena *arena_new(jmp_buf *oom, struct spare *spare);
void arena_empty(struct arena *a);
void arena_free(struct arena *a);
void spare_free(struct spare *s);
void *arena_alloc(struct arena *a, size_t size); /* zeroed, 8-aligned */
void *arena_grow(struct arena *a, void *p, size_t old_size, size_t new_size); /* tail zeroed */
size_t arena_size(const struct arena *a);
char *arena_strdup(struct arena *a, const char *s, size_t len);
/* Gives back what is behind the first new_size bytes of p, which are zero still. */
void arena_trim(struct arena *a, void *p, size_t old_size, size_t new_size);
size_t mul_size(struct arena *a, size_t n, size_t size); /* n * size; overflow: no memory */
/* clang-format off */
#define new(a, T)          ((T *)arena_alloc(a, sizeof(T)))
#define new_array(a, T, n) ((T *)arena_alloc(a, mul_size(a, n, sizeof(T))))
/* clang-format on */

/* growable array in an arena: struct { T *at; uint32_t len, cap; } */
#define vec(T)                                                                                     \
	struct {                                                                                   \
		T *at;                                                                             \
		uint32_t len, cap;                                                                 \
	}
#define vec_push(a, v) /* pointer to a zeroed new last element; invalidates older pointers */      \
	((v)->len == (v)->cap ? ((v)->at = vec_more(a, (v)->at, &(v)->cap, sizeof(*(v)->at)), 0)   \
			      : 0,                                                                 \
	 &(v)->at[(v)->len++])
void *vec_more(struct arena *a, void *at, uint32_t *cap, size_t elem);

/* strbuf.c: text under construction, always 0-terminated once something was added. Formats are
 * those of printf() that ptgc needs. */
struct strbuf {
	struct arena *arena;
	char *s;
	size_t len, cap;
};
void sb_add(struct strbuf *b, const char *s, size_t len);
static inline void sb_str(struct strbuf *b, const char *s)
{
	sb_add(b, s, strlen(s)); /* which compilers know of a literal */
}
void sb_printf(struct strbuf *b, const char *fmt, ...) PRINTF(2, 3);
void sb_vprintf(struct strbuf *b, const char *fmt, va_list args) PRINTF(2, 0);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF(2, 3);
char *arena_vprintf(struct arena *a, const char *fmt, va_list args) PRINTF(2, 0);
/* digits.c: v, which is finite, or the float32 that v is, as %.*g prints it with so many digits
 * that the text is read back as the number. No fewer than all texts of so many digits keep, so that
 * 100 is not 1e+02. */
void sb_float(struct strbuf *b, double v, bool single);

/* text that may hold any byte, not 0-terminated */
struct astr {
	const char *s;
	uint32_t len;
};

/*
 * hash.c: a table from hashes to the numbers of things. Several things may have one hash, so the
 * caller compares each that the table gives:
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
/* h, the hash of what stands before x, with x in it */
static inline uint64_t hash_with(uint64_t h, uint64_t x)
{
	h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

/* diag.c: for broken invariants only, never for input */
NORETURN void bug(const char *fmt, ...) PRINTF(1, 2);

/* dtype.c, dtypes.def: the dtypes of PyTensor and ONNX, and what NumPy makes of two of them */
enum dtype {
	DT_NONE,
#define DTYPE(id, name, onnx, size, kind, bits) DT_##id,
#include "base/dtypes.def"
	DT_COUNT
};
enum dtype_kind {
	KIND_NONE,
	KIND_BOOL,
	KIND_UINT,
	KIND_INT,
	KIND_FLOAT,
	KIND_COMPLEX,
	KIND_OTHER,
	KIND_RNG
};
struct dtype_info {
	const char *name;
	uint8_t onnx, size, kind, bits;
};
extern const struct dtype_info dtypes[DT_COUNT];
enum dtype dtype_named(const char *name); /* DT_NONE if unknown */
const char *near_dtype(const char *name); /* what may be meant by a name that is none; or NULL */
enum dtype dtype_upcast(enum dtype a, enum dtype b); /* NumPy's table for two arrays */
enum dtype dtype_narrow(enum dtype t);               /* float32 for float64, ... */
enum dtype dtype_to_float(enum dtype a);             /* PyTensor's upgrade_to_float */
bool dtype_holds(enum dtype to, enum dtype from);    /* all of its values */
bool dtype_holds_int(enum dtype t, uint64_t magnitude, bool negative);
uint16_t half_from_double(double v); /* the bits of the float16 nearest to v, ties to even */
double half_to_double(uint16_t h);

/* maths.c: the same bits on all machines, for what becomes part of a model */
double portable_exp(double x);
double portable_log(double x);
double portable_pow(double x, double y);
double portable_exp2(double x);
double portable_expm1(double x);
double portable_log2(double x);
double portable_log10(double x);
double portable_log1p(double x);
double portable_log1mexp(double x); /* log(1 - e ** x) */
double portable_sigmoid(double x);
double portable_softplus(double x);
double portable_sin(double x);
double portable_cos(double x);
double portable_tan(double x);
double portable_asin(double x);
double portable_acos(double x);
double portable_atan(double x);
double portable_atan2(double y, double x);
double portable_sinh(double x);
double portable_cosh(double x);
double portable_tanh(double x);
double portable_asinh(double x);
double portable_acosh(double x);
double portable_atanh(double x);
double portable_erf(double x);
double portable_erfc(double x);
double portable_erfcx(double x);
double portable_gammaln(double x);
double portable_gamma(double x);
double portable_round_away(double x);     /* ties away from 0 */
double cos_of_turn(int64_t k, int64_t n); /* cos(2 pi k / n) for k >= 0, n > 0 */

static inline bool is_float(enum dtype t)
{
	return dtypes[t].kind == KIND_FLOAT;
}
static inline bool is_complex(enum dtype t)
{
	return dtypes[t].kind == KIND_COMPLEX;
}
static inline bool is_rng(enum dtype t)
{
	return dtypes[t].kind == KIND_RNG;
}
static inline bool is_int(enum dtype t)
{
	return dtypes[t].kind == KIND_INT || dtypes[t].kind == KIND_UINT;
}
static inline bool is_discrete(enum dtype t)
{
	return is_int(t) || t == DT_BOOL;
}

struct ctx;

/* intern.c: equal names are one pointer. `value` and `dim` are what the name means at the statement
 * that the elaborator has reached (elab/scope.c sets them; NULL: nothing). */
struct sym {
	struct binding *value;
	struct binding *dim;
	const struct op *op; /* the op of that name, NULL if none */
	uint32_t number;     /* in the order in which names came up, from 0 on */
	uint32_t len;
	uint16_t word; /* token of a keyword or soft word; 0 for others (scanner) */
	uint8_t dtype; /* enum dtype when the name is a dtype's */
	char s[];      /* 0-terminated */
};
struct intern;
struct intern *intern_new(struct ctx *cx);
struct sym *intern(struct ctx *cx, const char *s, size_t len);
const struct sym *interned(const struct ctx *cx, const char *s, size_t len); /* NULL: never yet */
struct sym *intern_str(struct ctx *cx, const char *s);
uint32_t name_count(const struct ctx *cx); /* so far */

const char *base_name(const char *path); /* source.c: what stands behind the last / */
/* source.c: texts, and places in them. All texts of a compilation share one offset space. */
struct span {
	uint32_t begin, end;
};
struct source {
	const char *name; /* as the user wrote it; "<lib>/Erfcx" for a fn of the library */
	const char *dir;  /* folder that file(...) and use are relative to; NULL: none */
	const char *path; /* of the main text, which is the first source, if it is a file */
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
uint32_t utf8_len(const char *text, size_t left); /* of the valid sequence at text; 0: invalid */
size_t utf8_put(char to[4], uint32_t c);          /* its bytes; how many */
struct place source_place(struct ctx *cx, uint32_t offset);

/* calls.c: places inside of fns. A fn is expanded at each call, so what is made of its text has a
 * place and a call. A struct span may stand for both. */
struct fn_call {        /* of a fn of the user, or a step of a 'for'; numbered from 1 */
	const char *fn; /* NULL: it is a step */
	uint32_t step;  /* from 1 */
	struct span at; /* in the text */
	bool trial;     /* the fn is not called, but expanded to be checked */
	uint32_t outer; /* the call in which this one stands; 0: none */
	uint32_t depth;
	struct meaning *meanings; /* of elab: of the names in the fn's types */
};
uint32_t call_add(struct ctx *cx, const char *fn, uint32_t step, struct span at);
struct fn_call *call_of(struct ctx *cx, uint32_t number); /* NULL: 0, no call */
/* A span for place s in a call; s itself if that has a call already, or if call is 0 */
struct span place_in_call(struct ctx *cx, struct span s, uint32_t call);
/* The place in the text, and its call or 0 */
struct span text_place(struct ctx *cx, struct span s, uint32_t *call);
uint32_t text_limit(const struct ctx *cx); /* texts end before this offset */

/* diag.c: what the user's text says there, *len bytes of it; NULL: nothing, or it is in the library
 */
const char *users_text(struct ctx *cx, struct span s, uint32_t *len);
/* diag.c: errors, warnings, notes; all are kept and printed at the end or handed to the caller */
enum diag_code {
#define DIAG(id, number, severity, name, ...) id,
#include "base/diag.def"
	DIAG_COUNT
};
struct diag {
	enum diag_code code;
	uint8_t severity;        /* enum ptgc_severity */
	struct span span, other; /* other: the second place ('~'), empty if none */
	char *text;
	struct diag *notes; /* linked list through next */
	struct diag
		*calls; /* the last notes, from this one on: which calls led to a place in a fn */
	struct diag *next;
};
/* error() and warn() return the record, to which note() adds, and never stop the compilation. */
struct diag *error(struct ctx *cx, struct span s, enum diag_code code, const char *fmt, ...)
	PRINTF(4, 5);
struct diag *error2(struct ctx *cx, struct span s, struct span other, enum diag_code code,
		    const char *fmt, ...) PRINTF(5, 6);
struct diag *warn(struct ctx *cx, struct span s, enum diag_code code, const char *fmt, ...)
	PRINTF(4, 5);
void note(struct ctx *cx, struct diag *d, struct span s, const char *fmt, ...) PRINTF(4, 5);
/* What is reported between diag_mark() and diag_forget() of the mark is taken back. Each mark needs
 * its diag_forget(). */
struct diag_mark {
	struct diag **tail;
	struct diag_index *index;
	uint32_t errors, warnings, refused;
};
struct diag_mark diag_mark(struct ctx *cx);
void diag_forget(struct ctx *cx, struct diag_mark m);
#define STOPPED 2                   /* what setjmp(cx->oom) then returns; 1: out of memory */
NORETURN void stop(struct ctx *cx); /* after errors: there is no point in going on */
bool diag_option(struct ctx *cx, const char *name); /* "name", "no-name", "error=name", "error" */
struct diag_info {
	int number;       /* of the code: PTG%04d */
	uint8_t severity; /* PTGC_NOTE: a warning that is off by default */
	const char *name, *explain;
	enum ptgc_cause cause;
};
extern const struct diag_info diag_infos[DIAG_COUNT];
const struct diag_info *diag_find(const char *code); /* "PTG0042", "42"; NULL if unknown */
size_t diag_sorted(struct ctx *cx, struct diag *const **list);     /* in the order of places */
void diag_render(struct ctx *cx, struct strbuf *out, bool colour); /* as the command prints them */
/* how many bytes of s a message shows: at most `max`, and no character is cut */
int shown_len(const char *s, size_t len, int max);
#define MAX_WORDS 400 /* bytes of what is wrong with a file, as its names may be in it */
/* the candidate nearest to `name` among n, for "did you mean ..."; NULL if none is near */
const char *did_you_mean(const char *name, const char *const *candidates, size_t n);

/* ctx.c: one compilation */
#define SHOWN 20                                      /* errors, if the caller says nothing */
#define OPSET 18                                      /* if the caller names none */
extern const char *const target_names[PTGC_C + 1];    /* as --target takes them */
extern const char *const math_names[PTGC_NATIVE + 1]; /* as --math takes them */
#define MAX_RANK 64                                   /* of a type: NumPy's limit */
/* Place `at` of n, such as an axis, as a place from the front: -1 is the last one. If `at` is out
 * of range, so is the result. */
static inline int64_t from_front(int64_t at, int64_t n)
{
	return at < 0 ? at + n : at;
}
/* opsets.def: the first enumerator behind the rows is one more than the last of them. */
enum {
#define ONNX_OPSET(opset, ...) ROW_OF_OPSET_##opset,
#include "base/opsets.def"
	OPSETS /* their number */
};
enum {
#define ONNX_OPSET(opset, ...) OPSET_##opset = opset,
#include "base/opsets.def"
	NEXT_OPSET,
	MAX_OPSET = NEXT_OPSET - 1,
	MIN_OPSET = NEXT_OPSET - OPSETS
};
enum {
#define ONNX_OPSET(opset, ir, ml, ...) ML_OF_OPSET_##opset = ml,
#include "base/opsets.def"
	NEXT_ML_OPSET,
	MAX_ML_OPSET = NEXT_ML_OPSET - 1 /* the newest version of the domain ai.onnx.ml */
};
struct ctx {
	jmp_buf oom;           /* where to go when memory runs out */
	struct arena *arena;   /* the whole compilation */
	struct arena *scratch; /* what one or two passes need; then it is emptied */
	struct arena *typed;  /* nodes of PyTensor's ops and their results, until all are lowered */
	struct spare spare;   /* pages of emptied arenas, for the next chunks */
	struct intern *names; /* of intern.c: all struct sym */
	struct dims *dims;    /* of src/dims: all dims, by number */
	struct op_sig *op_sigs;          /* of ops/table.c: by row of op_table */
	vec(struct source *) sources;    /* texts, in the order of their offsets */
	struct diag *diags, **diag_tail; /* as reported; the place for the next one */
	uint32_t errors, warnings;
	uint32_t refused;             /* errors of ops that cannot be converted: lowering goes on */
	uint8_t severity[DIAG_COUNT]; /* as switched by -W */
	uint32_t *rewritten;          /* nodes, by the flag of the rewrite; NULL: nobody asks */
	struct strbuf *notes; /* of the pass that runs; NULL: --print-after does not name it */
	bool werror;          /* warnings are errors */
	bool gave_up; /* there were so many errors that the rest of the text was not checked */
	struct diag_index *diag_index; /* of diag.c: finds a message that was reported already */
	struct calls *calls;           /* of calls.c: calls of fns, by number */
	uint32_t call;                 /* the call that is expanded; 0: none */
	/* "F = float32, n = 4": what the names in the types of a call's fn stand for; NULL: nothing
	 */
	const char *(*meanings_text)(struct ctx *cx, const struct fn_call *c);
	struct blames *blames; /* of graph/blame.c: messages so far, with what they may be due to */
	struct pending *pending; /* of ops/rules_subtensor.c: constant indices that an equation may
				    put out of range later */
	struct options {
		int opset;
		int ml_opset; /* of the domain ai.onnx.ml; 0: see ml_version() */
		enum ptgc_target target;
		int runtime;       /* the least release of ONNX Runtime that the model is for: 29 is
				      1.29; 0: settle_runtime() chooses */
		int level;         /* of -O */
		uint64_t flags;    /* of flags.def, as bits: flag_is_on() */
		bool strip;        /* no names of the text, and no places in it */
		bool float32;      /* float64 becomes float32: src/typed */
		bool state_inputs; /* states are inputs without a default value */
#define NUMERICS(field, ...) bool field;
#include "base/numerics.def"
		uint64_t external_threshold;   /* bytes from which on a tensor is external */
		bool external;                 /* large tensors lie in a second file */
		const char *const *allow_dirs; /* file(...) may read below these too; NULL ends */
		const char *model_name, *doc_string;
		int64_t model_version;
		const char *const *meta;        /* "key=value"; NULL ends */
		const char *const *expected;    /* "dim=length"; NULL ends */
		const char *const *print_after; /* names of passes, or "all"; NULL ends */
		const char
			*header_name; /* of the target c: what its file includes; NULL: nothing */
		const char *external_name; /* location that external tensors get; NULL: none */
		uint32_t max_errors;       /* that are shown, and as many warnings; 0: all */
		uint64_t model_limit; /* bytes of a model with its tensors inside; 0: protobuf's */
	} opt;
	const struct ptgc_tensor *tensors; /* the caller's, by name */
	size_t ntensors;
	struct lib *lib;       /* of elab/fn.c: the fns of the library that were parsed */
	struct elab *elab;     /* of the main file; lowering expands fns with it */
	struct why *why;       /* of elab/why.c; NULL: nothing is asked for */
	enum dtype floatx;     /* of the main file: what PyTensor's config.floatX gives */
	bool narrow;           /* with opt.float32, once the user's graph is float32 */
	uint32_t next_id;      /* of a value */
	vec(uint64_t) varying; /* bits by value id: from_constants() of lower/fold.c said no */
	vec(struct mapping *) mappings;      /* of files */
	void (*unmap_files)(struct ctx *cx); /* at the end; NULL: there are none */
	uint32_t may_stay_open;    /* how many large files may stay open, for a sink to copy from */
	vec(const char *) depends; /* files read, for -MD */
	bool io_failed;            /* a file could not be read, for no fault of the input */
	/* takes what --print-after prints; NULL: no one. A pass asks `notes`, not this. */
	void (*trace)(const char *text, size_t len);
	int least_runtime; /* found: from this release on ONNX Runtime computes the model; 0:
			      unknown. opt.runtime is asked for */
};
struct ctx *ctx_new(void); /* NULL: out of memory */
/* What the pass that runs has to say, as "relu 1". --print-after shows it above the graph, if it
 * names the pass; else it is not made. */
void print_note(struct ctx *cx, const char *fmt, ...) PRINTF(2, 3);
/* The flags of flags.def, and what each is at the levels of -O */
enum flag {
#define FLAG(id, ...) FLAG_##id,
#include "base/flags.def"
	FLAG_COUNT
};
#define FLAG_BIT(id) (UINT64_C(1) << FLAG_##id)
#define MAX_LEVEL    1 /* of -O, and the default */
enum flag_kind { NODE_REWRITE, REWRITE, SETTING };
struct flag_info {
	const char *name, *help;
	enum flag_kind kind;
	bool level[MAX_LEVEL + 1];
};
extern const struct flag_info flag_infos[FLAG_COUNT];
static inline bool flag_is_on(const struct ctx *cx, enum flag f)
{
	return cx->opt.flags >> f & 1;
}
/* Sets all flags to what they are at this level of -O. */
void set_optimization(struct ctx *cx, int level);
/* The flags of numerics.def, and what each is at the levels of enum ptgc_math */
struct numerics {
	const char *name, *help;
	size_t at; /* a bool of struct options */
	bool level[PTGC_NATIVE + 1];
};
enum {
#define NUMERICS(field, ...) NUMERICS_##field,
#include "base/numerics.def"
	NUMERICS_COUNT
};
extern const struct numerics numerics[NUMERICS_COUNT];
/* Sets the flags of numerics to what they are at this level; the target must be set. */
void set_math(struct ctx *cx, enum ptgc_math level);
/* Adds "key=value" to the metadata of the model. */
void add_meta(struct ctx *cx, const char *text);
void ctx_free(struct ctx *cx);

#endif
