/*
 * emit.h: the ONNX graph as bytes or as text, and where they go. No decisions.
 */
#ifndef PTGC_EMIT_EMIT_H
#define PTGC_EMIT_EMIT_H

#include <signal.h>

#include "data/data.h"
#include "graph/graph.h"

/* write.c: sinks (data.h) that are files or memory.
 *
 * Writes to a temporary file in the folder of `path`, which commit renames to `path` and abort
 * removes. It is locked (flock) until then, so that sweep_temps() of another process lets it be.
 * Devices, FIFOs and /dev/stdout are written directly. A function that fails returns false and sets
 * sink.error. */
struct file_sink {
	struct sink sink;
	int fd;
	int lock;     /* commit: holds the lock, as fd is closed; -1: none */
	int old_lock; /* of `old` */
	bool direct;  /* no temporary file */
	bool later;   /* not opened yet */
	bool moved;   /* commit: the new file is in its place */
	bool same;    /* a file that is in its place already has the same content */
	volatile sig_atomic_t temporary; /* there is a file `temp`: signal handlers ask that */
	char path[4096], temp[4096];
	char old[4096]; /* a name that keeps the old file until all is done; "": none */
};
void file_sink_init(struct file_sink *f); /* nothing is open */
bool file_sink_open(struct file_sink *f, const char *path);
/* Opened by the first write. It lies beside an open sink, which has swept the folder. */
void file_sink_later(struct file_sink *f, const char *path);
/* The path, as only the content tells it: a file that is there has the same content. */
void file_sink_same(struct file_sink *f, const char *path);
void file_sink_fd(struct file_sink *f, int fd); /* writes through; fd is not closed */
bool file_sink_commit(struct file_sink *f);     /* on failure the temporary file is gone */
/* Puts several files in place, the last one last: all, or none, and the older files stay. */
bool file_sinks_commit(struct file_sink *const *f, size_t n);
void file_sink_abort(struct file_sink *f);
void file_sink_abandon(struct file_sink *f);   /* abort, from a signal handler */
bool same_file(const char *a, const char *b);  /* do both name the same existing file? */
bool same_place(const char *a, const char *b); /* or the same place for a new file? */
struct mem_sink {
	struct sink sink;
	struct arena *arena;
	uint8_t *data; /* written bytes long */
	uint64_t cap;
};
void mem_sink_init(struct mem_sink *m, struct arena *a);

/* sweep.c: removes what earlier runs left behind. What another process is writing stays. */
void sweep_temps(const char *path); /* temporary files in the folder of `path` */
/* Removes the weights beside a model that are called after it, `location` with other digits, but
 * those called `location` and those that the older model in `old` (a descriptor; -1: none) names.
 */
void sweep_weights(const char *model, const char *location, int old);

/* emit.c */
bool emit_model(struct ctx *cx, const struct graph *g, struct sink *out, struct sink *external);

/* state.c: the first values of the graph's states, as a .safetensors file. No state is of strings.
 */
bool emit_state(struct ctx *cx, const struct graph *g, struct sink *out);

/* model_text.c: the text that onnx.parser reads, of an ONNX graph and of a model; false: reported
 */
bool dump_onnx_text(struct ctx *cx, const struct graph *g, struct strbuf *out);
bool dump_model(struct ctx *cx, const void *data, size_t len, struct strbuf *out);

/* required_ops.c: "ai.onnx;18;Add,MatMul", as reduced builds of ONNX Runtime take it */
void dump_required_ops(struct ctx *cx, const struct graph *g, struct strbuf *out);

/* depfile.c: "target: file..." as make reads it, with an empty rule for the files from `phony` on.
 * NULL, or the name that no makefile can hold. */
const char *depfile(struct strbuf *out, const char *const *targets, size_t ntargets,
		    const char *const *files, size_t nfiles, size_t phony);
/* A file's real name as makefiles have it: relative where it is below `here` (may be NULL). */
const char *relative_name(const char *path, const char *here);

/* graph_text.c: as .ptg text with types */
void dump_graph(struct ctx *cx, const struct graph *g, struct strbuf *out);

#endif
