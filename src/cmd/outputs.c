/*
 * outputs.c: ptgc model.ptg: compiles, and writes model, external data, first values of states and
 * depfile: all of them or none, and never over a file that was read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"

#define FILES_OPEN 64 /* of weights, to copy from; a process may open many more */

/* The paths of all outputs. open() refuses a path that does not fit here. */
struct outputs {
	char model[4096], external[8192], header[8192], depfile[4096], state[8192];
	const char *location; /* the name of the external data file inside the model */
	struct file_sink out, ext, head, dep, first; /* first: values of states */
	bool has_ext, has_header, has_dep, has_state;
};

static void replace_suffix(char *out, size_t size, const char *path, const char *old,
			   const char *new)
{
	size_t len = strlen(path), cut = strlen(old);
	if (len > cut && !strcmp(path + len - cut, old))
		len -= cut;
	snprintf(out, size, "%.*s%s", (int)len, path, new);
}

static int external_path(const struct cmd *c, struct outputs *o)
{
	const char *base = base_name(o->model);
	if (c->external_name && (strchr(c->external_name, '/') || !c->external_name[0]))
		return usage(
			"--external-data: the file lies beside the model, so give its name alone");
	if (is_stdio(o->model))
		return c->external ? usage("--external-data: the model must go to a file too (-o)")
				   : 0;
	struct stat st;
	if (!stat(o->model, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return c->external
			       ? usage("--external-data: no other file can lie beside %s", o->model)
			       : 0;
	int dir = (int)(base - o->model);
	snprintf(o->external, sizeof(o->external), "%.*s%s%s", dir, o->model,
		 c->external_name ? c->external_name : base, c->external_name ? "" : "-*.data");
	o->location = o->external + dir;
	o->has_ext = true;
	return EXIT_OK;
}

/* The outputs that are files, in the order in which they are put in place. */
static size_t named_outputs(struct outputs *o, const char *names[MAX_OUTPUTS])
{
	size_t n = 0;
	if (o->has_ext)
		names[n++] = o->external;
	if (o->has_state)
		names[n++] = o->state;
	if (o->has_header)
		names[n++] = o->header;
	if (o->has_dep && !is_stdio(o->depfile))
		names[n++] = o->depfile;
	if (!is_stdio(o->model))
		names[n++] = o->model;
	return n;
}

/* Would an output overwrite one of the n files that were read? Then EXIT_USAGE, with a message. */
static int keep_inputs(struct outputs *o, const char *const *inputs, size_t n, const char *what)
{
	const char *names[MAX_OUTPUTS];
	struct stat places[MAX_OUTPUTS], in;
	size_t count = named_outputs(o, names);
	for (size_t i = 0; i < count; i++)
		if (stat(names[i], &places[i]))
			places[i].st_mode = 0;
	for (size_t k = 0; k < n; k++) {
		if (is_stdio(inputs[k]) || stat(inputs[k], &in))
			continue;
		for (size_t i = 0; i < count; i++)
			if (S_ISREG(places[i].st_mode) && places[i].st_dev == in.st_dev &&
			    places[i].st_ino == in.st_ino)
				return usage("%s is %s; it would be overwritten", names[i], what);
	}
	return EXIT_OK;
}

static int keep_apart(struct outputs *o, const char *input)
{
	const char *names[MAX_OUTPUTS];
	size_t n = named_outputs(o, names);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			if (same_place(names[k], names[i]) && strncmp(names[i], "/dev/", 5))
				return usage("%s: two outputs cannot be one file", names[i]);
	return keep_inputs(o, &input, 1, "the input");
}

/* The header lies beside the file, where that is one. */
static void header_path(struct outputs *o)
{
	if (is_stdio(o->model))
		return;
	replace_suffix(o->header, sizeof(o->header), o->model, ".c", ".h");
	o->has_header = true;
}

static int choose_outputs(const struct cmd *c, const struct ctx *cx, struct outputs *o)
{
	bool state_inputs = cx->opt.state_inputs, is_c = cx->opt.target == PTGC_C;
	const char *input = c->inputs.at[0];
	if (c->output)
		snprintf(o->model, sizeof(o->model), "%s", c->output);
	else if (is_stdio(input) || c->dump)
		strcpy(o->model, "-");
	else
		replace_suffix(o->model, sizeof(o->model), input, ".ptg", is_c ? ".c" : ".onnx");
	if (!c->dump && !is_c && is_stdio(o->model) && isatty(STDOUT_FILENO))
		return usage("a model is not text: name a file with -o, or redirect the output");
	int code = c->dump ? EXIT_OK : external_path(c, o);
	if (is_c && !c->dump)
		header_path(o);
	if (!code && !c->dump && state_inputs) {
		if (!o->has_ext && !o->has_header) /* the model is no file */
			return usage("--state=inputs: the model must go to a file (-o), as the "
				     "first values lie beside it");
		replace_suffix(o->state, sizeof(o->state), o->model, is_c ? ".c" : ".onnx",
			       ".state.safetensors");
		o->has_state = true;
	}
	if (code || !c->md)
		return code ? code : keep_apart(o, input);
	if (!c->depfile && is_stdio(o->model))
		return usage("-MD: name the file with -MF, as the model goes to standard output");
	if (c->depfile)
		snprintf(o->depfile, sizeof(o->depfile), "%s", c->depfile);
	else
		replace_suffix(o->depfile, sizeof(o->depfile), o->model, is_c ? ".c" : ".onnx",
			       ".d");
	o->has_dep = true;
	return keep_apart(o, input);
}

static int write_depfile(struct ctx *cx, const struct cmd *c, struct outputs *o)
{
	const char *model = o->model;
	const char *own_targets[] = {model, o->header};
	size_t own_count = o->has_header ? 2 : 1;
	const char *const *to = c->targets.n ? c->targets.at : own_targets;
	char here[4096], *cwd = getcwd(here, sizeof(here));
	if (setjmp(cx->oom))
		return failed("out of memory");
	struct strbuf text = {.arena = cx->arena};
	const char **files = new_array(cx->arena, const char *, (size_t)cx->depends.len + 1);
	size_t n = 0;
	if (!is_stdio(c->inputs.at[0]))
		files[n++] = c->inputs.at[0];
	size_t own = n;
	for (uint32_t i = 0; i < cx->depends.len; i++)
		files[n++] = relative_name(cx->depends.at[i], cwd);
	const char *bad = depfile(&text, to, c->targets.n ? c->targets.n : own_count, files, n,
				  c->mp ? own : n);
	if (bad)
		return usage("-MD: make cannot read a rule with the name '%s'", bad);
	return o->dep.sink.write(&o->dep.sink, text.s, text.len) ? EXIT_OK : EXIT_USAGE;
}

static int open_outputs(struct outputs *o)
{
	bool ok = open_output(&o->out, o->model);
	if (o->has_ext)
		file_sink_later(&o->ext, o->external);
	if (o->has_header)
		file_sink_later(&o->head, o->header);
	if (o->has_state)
		file_sink_later(&o->first, o->state);
	if (ok && o->has_dep)
		ok = open_output(&o->dep, o->depfile);
	return ok ? EXIT_OK : EXIT_USAGE;
}

/* For the * of the file of weights, what it has become in the model. */
static void name_external(const struct ctx *cx, struct outputs *o)
{
	size_t dir = (size_t)(o->location - o->external);
	if (!o->location || cx->opt.external_name == o->location)
		return;
	snprintf(o->external + dir, sizeof(o->external) - dir, "%s", cx->opt.external_name);
	file_sink_same(&o->ext, o->external);
}

/* The model comes last, so that a model in place has its data in place. */
static int commit_outputs(struct outputs *o)
{
	struct file_sink *all[MAX_OUTPUTS];
	size_t n = 0;
	if (o->has_ext)
		all[n++] = &o->ext;
	if (o->has_state)
		all[n++] = &o->first;
	if (o->has_header)
		all[n++] = &o->head;
	if (o->has_dep)
		all[n++] = &o->dep;
	all[n++] = &o->out;
	int old = o->has_ext ? open(o->model, O_RDONLY | O_CLOEXEC) : -1;
	bool known = old >= 0 || errno == ENOENT;
	hold_signals();
	bool ok = file_sinks_commit(all, n);
	if (ok && o->location && known)
		sweep_weights(o->model, o->location, old);
	if (old >= 0)
		close(old);
	release_signals(ok);
	return ok ? EXIT_OK : EXIT_USAGE;
}

static void abort_outputs(struct outputs *o)
{
	file_sink_abort(&o->out);
	if (o->has_ext)
		file_sink_abort(&o->ext);
	if (o->has_state)
		file_sink_abort(&o->first);
	if (o->has_header)
		file_sink_abort(&o->head);
	if (o->has_dep)
		file_sink_abort(&o->dep);
}

static void say_failures(const struct outputs *o)
{
	if (o->out.sink.error)
		io_failed(output_name(o->model), o->out.sink.error);
	if (o->has_ext && o->ext.sink.error)
		io_failed(o->external, o->ext.sink.error);
	if (o->has_state && o->first.sink.error)
		io_failed(o->state, o->first.sink.error);
	if (o->has_header && o->head.sink.error)
		io_failed(o->header, o->head.sink.error);
	if (o->has_dep && o->dep.sink.error)
		io_failed(output_name(o->depfile), o->dep.sink.error);
}

static int write_outputs(struct ctx *cx, const struct cmd *c, struct job *job, struct outputs *o)
{
	int code = keep_inputs(o, cx->depends.at, cx->depends.len, "read for the model");
	if (!code)
		code = open_outputs(o);
	if (!code)
		code = exit_code(
			compile_emit(cx, job,
				     &(struct sinks){
					     .out = &o->out.sink,
					     .external = o->has_ext ? &o->ext.sink : NULL,
					     .header = o->has_header ? &o->head.sink : NULL,
					     .state = o->has_state ? &o->first.sink : NULL,
				     }));
	name_external(cx, o);
	if (!code && o->has_dep)
		code = write_depfile(cx, c, o);
	if (!code)
		code = commit_outputs(o);
	if (code)
		abort_outputs(o);
	say_failures(o);
	return code;
}

/* Room for all paths is 90 kB, which is not cleared: most of it is never used. */
static void init_outputs(struct outputs *o)
{
	o->model[0] = o->external[0] = o->header[0] = o->depfile[0] = o->state[0] = 0;
	o->location = NULL;
	o->has_ext = o->has_header = o->has_dep = o->has_state = false;
	file_sink_init(&o->out);
	file_sink_init(&o->ext);
	file_sink_init(&o->head);
	file_sink_init(&o->dep);
	file_sink_init(&o->first);
}

static int compile_with(struct ctx *cx, const struct cmd *c)
{
	struct outputs *o = malloc(sizeof(*o));
	enum stage stage = STAGE_MODEL;
	if (!o)
		return failed("out of memory");
	init_outputs(o);
	struct file_sink *const all[MAX_OUTPUTS] = {&o->out, &o->ext, &o->head, &o->dep, &o->first};
	struct watch *w = watch_signals(all, MAX_OUTPUTS);
	int code = compile_options(cx, c, &stage);
	if (!code)
		code = choose_outputs(c, cx, o);
	if (!code) {
		struct job job = job_for(c->inputs.at[0], stage);
		cx->opt.external_name = o->location;
		if (o->has_header)
			cx->opt.header_name = base_name(o->header);
		code = exit_code(compile(cx, &job));
		if (!code)
			code = write_outputs(cx, c, &job, o);
		print_messages(cx, &job, c->colour);
	}
	unwatch_signals(w);
	free(o);
	return code;
}

int compile_command(const struct cmd *c)
{
	if (!c->inputs.n)
		return usage("no input");
	if (c->inputs.n > 1)
		return usage("one model at a time: '%s' and '%s'", c->inputs.at[0],
			     c->inputs.at[1]);
	if (c->check || c->in_place)
		return usage("--check and -i belong to 'ptgc fmt'");
	struct ctx *cx = ctx_new();
	if (!cx)
		return failed("out of memory");
	cx->may_stay_open = FILES_OPEN;
	int code = compile_with(cx, c);
	ctx_free(cx);
	return code;
}
