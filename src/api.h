/*
 * api.h: the whole compiler, for ptgc_compile() and the command:
 *
 *   text -> scan, parse -> struct file (AST) -> elaborate -> struct graph of PyTensor-level nodes
 *        -> lower -> struct graph of ONNX nodes -> rewrite -> verify -> emit -> bytes
 */
#ifndef PTGC_API_H
#define PTGC_API_H

#include "data/data.h"

struct graph;

/* api.c: the pipeline; both functions set cx->oom themselves */
enum stage {
	STAGE_MODEL,
	STAGE_AST,
	STAGE_TYPED,
	STAGE_LOWERED,
	STAGE_ONNX, /* the model as text */
	STAGE_REQUIRED_OPS,
	STAGE_LEAST_RUNTIME,
	STAGE_WHY,    /* ptgc why */
	STAGE_FORMAT, /* ptgc fmt */
	STAGE_CHECK,  /* ptgc check: messages alone; a file may be of fns alone */
	STAGE_READ,   /* ptgc dump: the input is a model */
	STAGE_OPS,    /* ptgc --ops: no input */
	STAGE_OPS_MARKDOWN,
	STAGE_PASSES, /* ptgc --passes: no input */
};
struct job {
	const char *path; /* of the input; NULL: it is `text`, or comes from fd if that is NULL */
	const char *text;
	size_t len;
	int fd;
	const char *name, *dir; /* of the text, as for source_add(); found from path if NULL */
	enum stage stage;       /* MODEL gives `graph`, the others `text_out` */
	const char *why;        /* WHY: of which values, as why_ask() takes it */
	bool answered; /* WHY: all of them have types. text_out may be set though some have none */
	const struct graph *graph;
	struct strbuf text_out; /* of the target c, too: the file */
	struct strbuf header;   /* of the target c */
	struct weights weights; /* of the target c: a file beside them */
	const char *failure;    /* PTGC_FAILED: why, if no diagnostic says so */
};
enum ptgc_status compile(struct ctx *cx, struct job *job);
/* Where the result goes. Those beside `out` may be NULL. */
struct sinks {
	struct sink *out, *external, *header, *state;
};
enum ptgc_status compile_emit(struct ctx *cx, struct job *job, const struct sinks *to);
/* passes.c: from the graph of PyTensor's ops to the one that is emitted; false: there are errors */
bool run_passes(struct ctx *cx, struct graph *g);
void list_passes(struct strbuf *out);
const char *pass_name(size_t i); /* some come several times; NULL ends */
/* "Wno-unused", "fno-check-dims", "O0", in any order: -O sets flags, the others win over it.
 * Returns the first that is none, or NULL. */
const char *compile_flags(struct ctx *cx, const char *const *list);
bool is_meta(const char *text);        /* "key=value"? */
bool is_expectation(const char *text); /* "dim=length"? */
const char *flag_name(size_t i);       /* that stand behind -f; NULL ends */
bool flag_is_rewrite(size_t i);        /* or else a setting, or of the numerics */

#endif
