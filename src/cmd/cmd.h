/*
 * cmd.h: the command: its options, and functions that its files share. Only src/cmd prints.
 */
#ifndef PTGC_CMD_CMD_H
#define PTGC_CMD_CMD_H

#include "api.h"
#include "emit/emit.h"

enum { EXIT_OK, EXIT_REJECTED, EXIT_USAGE };

struct list {
	const char **at;
	size_t n;
};
struct cmd {
	struct list inputs, flags, allow, targets, meta, expected, opsets, print_after;
	const char *output, *target, *math, *state, *dump, *external_name, *model_name,
		*model_version, *max_errors, *doc, *depfile, *color, *explain, *ops;
	bool strip, float32, external, md, mp, help, version, list_ops, list_passes, check,
		in_place, required_ops, least_runtime;
	bool colour;
};

#define REQUIRED_OPS  "required-ops"  /* the stage of --required-ops */
#define LEAST_RUNTIME "least-runtime" /* the stage of --least-runtime */

/* main.c: each prints what is wrong and returns EXIT_USAGE */
PRINTF(1, 2) int usage(const char *fmt, ...);
int failed(const char *what);
int io_failed(const char *name, int error);
#define CUT_SHORT "a file became shorter while it was read, or its disk fails"

bool is_stdio(const char *name);
const char *output_name(const char *path);
bool open_output(struct file_sink *f, const char *path);
struct job job_for(const char *input, enum stage stage);
int exit_code(enum ptgc_status status);
void print_messages(struct ctx *cx, const struct job *job, bool colour);

#define MAX_OUTPUTS 5
/* signals.c: what ends the process meanwhile (^C, SIGTERM, SIGHUP, SIGBUS) removes the temporary
 * files of these sinks. Memory that unwatch_signals() frees; NULL: the signals do what they do. */
struct watch;
struct watch *watch_signals(struct file_sink *const *sinks, size_t n);
void unwatch_signals(struct watch *w);
/* Between the two such signals wait. If all is `done` then, those that wait came too late: the exit
 * status is to say what is in place. */
void hold_signals(void);
void release_signals(bool done);

/* options.c: reads the arguments. A wrong one is printed, and the result is EXIT_USAGE. */
int parse_options(struct cmd *c, int argc, char **argv);
int use_colour(struct cmd *c);
int set_max_errors(struct ctx *cx, const struct cmd *c);
int compile_options(struct ctx *cx, const struct cmd *c, enum stage *stage);
void print_help(void);

/* one_op.c: --ops NAME */
int print_op(const char *name);

/* outputs.c: ptgc model.ptg; writes model, external data and depfile, all or none */
int compile_command(const struct cmd *c);

#endif
