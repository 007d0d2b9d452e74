/*
 * elab.h: the elaborator turns the AST of a file into a graph of PyTensor-level nodes: names are
 * resolved, types inferred, fns expanded. Lowering uses it as well, to expand fns of the library
 * and bodies of ops. internal.h is private to this folder.
 */
#ifndef PTGC_ELAB_ELAB_H
#define PTGC_ELAB_ELAB_H

#include "onnx/onnx.h"
#include "ops/ops.h"

struct elab;
struct file;
struct fn;

/* EXPAND of ops.def: a call of an op that runs fns becomes other nodes at once. expansions.c: by
 * op; NULL for the others */
typedef struct cv expand_fn_t(struct elab *e, const struct op *op, struct cv *props,
			      struct cv *args, uint32_t nargs, struct span s);
extern expand_fn_t *const expansions[OP_COUNT];

/* expand: `expansions`. fns_alone: a file without a graph is no error. NULL: errors were reported,
 * or there is no graph. For `ptgc why` a file of fns alone gives an empty graph. Other errors leave
 * a graph with poison values: lowering then reports the mistakes that only lowering finds. */
struct graph *elaborate(struct ctx *cx, struct file *f, expand_fn_t *const *expand, bool fns_alone);
/* why.c: `ptgc why`. Before elaborate(): asks for the values that get a name in a line of the main
 * text, "12", at a column of it, "12:3", or for those of a name. false: reported */
bool why_ask(struct ctx *cx, struct source *main, const char *where);
struct answer {
	struct sym *name;
	struct cv value;
	struct span at; /* the place of the name, with its call */
	bool next;      /* it is the next value of a carried name or state */
	/* of a fn that nothing calls, expanded for arguments of the types that its header writes:
	 * what the dims of the value mean; NULL: of the graph */
	struct dims *tried;
};
uint32_t why_answers(struct ctx *cx, const struct answer **list); /* after elaborate() */
const struct block *why_tried(struct ctx *cx); /* has the values of those fns; NULL: none */
/* Nothing was found: says in notes of that error why, and whom to ask. fns_alone: there is no graph
 */
void why_missing(struct ctx *cx, struct diag *d, bool fns_alone);
const char *cv_kind_name(const struct cv *v); /* "a string", "a tensor", ... */
/* Expands fn f (of the library, or the body of an op) on values, into block b. op: the op whose
 * properties are props. */
bool expand_fn(struct ctx *cx, struct block *b, struct fn *f, const struct op *op, struct cv *props,
	       struct value **in, uint32_t nin, struct value **out, uint32_t nout, struct span s);
struct fn *lib_fn(struct ctx *cx, const char *name); /* NULL if there is none */
const char *lib_of(const char *name); /* what to `use` for the fn of this name; NULL: nothing */
struct fn *op_body(struct ctx *cx, const struct op *op); /* .onnx or .lib as a fn */
/* If the body of f is one ONNX node on its parameters in order, as in fn F(a, b) {onnx.Sub(a, b)}:
 * its operator. ONNX_Identity: f returns its only parameter. Else ONNX_NONE. */
enum onnx_id fn_as_node(const struct fn *f);
uint32_t fn_params(const struct fn *f);
uint32_t fn_results(const struct fn *f);
enum dtype fn_param_dtype(const struct fn *f, uint32_t i); /* as it is written; DT_NONE: generic */
bool is_builtin(const char *name); /* a function of the language, such as file */

/* The library's fns, made from lib/ by tools/embed.sh: sorted by name; each is parsed
 * when it is needed. */
struct lib_text {
	const char *name, *text;
	size_t len;
	const char *of; /* "mcmc": the user's text sees the fn after `use <mcmc>`. NULL: always */
};
extern const struct lib_text lib_texts[];
extern const size_t lib_count;

#endif
