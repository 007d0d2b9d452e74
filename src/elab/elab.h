/*
 * elab.h: AST -> graph of PyTensor-level nodes, names resolved, types inferred, fns expanded;
 * and what lowering needs of it: fns of the library and bodies of ops, on values. internal.h is
 * private to the files that do it.
 */
#ifndef PTGC_ELAB_ELAB_H
#define PTGC_ELAB_ELAB_H

#include "onnx/onnx.h"
#include "ops/ops.h"

struct file;
struct fn;

/* NULL: there were errors and nothing is left to look at. Where there is, it is what is right of
 * the graph, with poison for the rest: lowering then finds the mistakes that only it sees. */
struct graph *elaborate(struct ctx *cx, struct file *f);
/* Expands fn `f` (lib or an ops/ops.def body) on values into block b: used by lowering. */
bool expand_fn(struct ctx *cx, struct block *b, struct fn *f, const struct op *op, struct cv *props,
	       struct value **in, uint32_t nin, struct value **out, uint32_t nout, struct span s);
struct fn *lib_fn(struct ctx *cx, const char *name);     /* NULL if there is none */
struct fn *op_body(struct ctx *cx, const struct op *op); /* .onnx or .lib as a fn */
/* ONNX_Sub if all that f does is onnx.Sub(a, b) on its parameters (a, b), ONNX_Identity if it
 * returns the only one: there is no need to expand it then. ONNX_NONE: it does more. */
enum onnx_id fn_as_node(const struct fn *f);
uint32_t fn_params(const struct fn *f);
uint32_t fn_results(const struct fn *f);
bool is_builtin(const char *name); /* a function of the language, such as file */

/* The library's fns, made from lib/ by tools/embed.sh: sorted by name; each is parsed
 * when it is needed. */
struct lib_text {
	const char *name, *text;
	size_t len;
};
extern const struct lib_text lib_texts[];
extern const size_t lib_count;

#endif
