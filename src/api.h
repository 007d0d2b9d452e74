/*
 * api.h: the whole compiler, for ptgc_compile() and the command:
 *
 *   text -> scan, parse -> struct file (AST) -> elaborate -> struct graph of PyTensor-level nodes
 *        -> lower -> struct graph of ONNX nodes -> rewrite -> verify -> emit -> bytes
 */
#ifndef PTGC_API_H
#define PTGC_API_H

#include "ctx.h"

struct graph;
struct sink;

/* api.c: the pipeline; both functions set cx->oom themselves */
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
	const char *path; /* of the input; NULL: it is `text`, or comes from fd if that is NULL */
	const char *text;
	size_t len;
	int fd;
	const char *name, *dir; /* of the text, as for source_add(); found from path if NULL */
	enum stage stage;       /* MODEL gives `graph`, the others `text_out` */
	const struct graph *graph;
	struct strbuf text_out;
	const char *failure; /* PTGC_FAILED: why, if no diagnostic says so */
};
enum ptgc_status compile(struct ctx *cx, struct job *job);
enum ptgc_status compile_emit(struct ctx *cx, struct job *job, struct sink *out,
			      struct sink *external);
bool compile_flag(struct ctx *cx, const char *flag); /* "Wno-unused", "fno-check-dims" */
const char *flag_name(size_t i);                     /* that stand behind -f; NULL ends */
/* oplist.c: the op table for people: --ops, and doc/ops.md */
void op_list(struct strbuf *out, bool markdown);
/* depfile.c: "target: file..." as make reads it, with an empty rule for the files from `phony` on.
 * NULL, or the name that no makefile can hold. */
const char *depfile(struct strbuf *out, const char *const *targets, size_t ntargets,
		    const char *const *files, size_t nfiles, size_t phony);
/* A file's real name as makefiles have it: relative where it is below `here` (may be NULL). */
const char *relative_name(const char *path, const char *here);

#endif
