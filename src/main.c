/*
 * main.c: the command. Options from one table, the work by compile() and compile_emit().
 * Exit: 0 done, 1 the input is rejected, 2 wrong usage, I/O or no memory. On anything but 0 no
 * output is left behind. Only this file prints.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api.h"
#include "emit/output.h"

enum { EXIT_OK, EXIT_REJECTED, EXIT_USAGE };

struct list {
	const char **at;
	size_t n;
};
struct cmd {
	struct list inputs, flags, allow, targets;
	const char *output, *opset, *target, *dump, *external_name, *depfile, *color, *explain,
		*ops;
	bool strip, external, md, mp, help, version, list_ops, check, in_place;
	bool colour;
};

/* --- options --- */

enum kind { HEADING, FLAG, TEXT, OPTIONAL /* sets the bool before it too */, LIST, JOINED };
static const struct option {
	const char *name, *arg;
	enum kind kind;
	size_t at, flag; /* in struct cmd */
	const char *help;
} options[] = {
#define HANDLER_STACK 65536
#define FILES_OPEN    64 /* of weights, to copy from: far fewer than a process may have */

#define AT(field) offsetof(struct cmd, field)
	{NULL, NULL, HEADING, 0, 0, "Output"},
	{"-o", "FILE", TEXT, AT(output), 0, "write there; default: the input's name with .onnx"},
	{"--opset", "N", TEXT, AT(opset), 0, "ONNX operator set, 13 to 26; default 18"},
	{"--target", "NAME", TEXT, AT(target), 0,
	 "ort-cpu: what ONNX Runtime runs (default); onnx: the specification alone"},
	{"--strip", NULL, FLAG, AT(strip), 0, "leave out where in the .ptg file nodes come from"},
	{"--external-data", "FILE", OPTIONAL, AT(external_name), AT(external),
	 "put weights in FILE beside the model; default: its name with .data"},
	{"--dump", "STAGE", TEXT, AT(dump), 0,
	 "print a stage instead: ast, typed, lowered, or onnx (the model as text)"},
	{NULL, NULL, HEADING, 0, 0, "Input"},
	{"--allow", "DIR", LIST, AT(allow), 0, "let file(...) and use read below DIR too"},
	{NULL, NULL, HEADING, 0, 0, "Dependencies, for make"},
	{"-MD", NULL, FLAG, AT(md), 0,
	 "write which files the model is made from, as a rule for make"},
	{"-MF", "FILE", TEXT, AT(depfile), AT(md),
	 "write it there; default: the output's name with .d"},
	{"-MT", "TARGET", LIST, AT(targets), AT(md), "its target; default: the output"},
	{"-MP", NULL, FLAG, AT(mp), AT(md),
	 "with an empty rule for each file, so that files can go"},
	{NULL, NULL, HEADING, 0, 0, "Messages"},
	{"-W", "[no-]NAME", JOINED, AT(flags), 0, "switch a warning on or off"},
	{"-Werror", "[=NAME]", JOINED, AT(flags), 0, "take warnings, or that one, as errors"},
	{"--color", "WHEN", TEXT, AT(color), 0, "auto (default), always or never"},
	{"--explain", "CODE", TEXT, AT(explain), 0, "say more about a message's code, as PTG0200"},
	{NULL, NULL, HEADING, 0, 0, "Other"},
	{"-f", "[no-]NAME", JOINED, AT(flags), 0, "switch a rewrite or rule on or off"},
	{"--ops", NULL, OPTIONAL, AT(ops), AT(list_ops), "list all ops and what is supported"},
	{"--version", NULL, FLAG, AT(version), 0, "print the version"},
	{"--help", NULL, FLAG, AT(help), 0, "print this"},
	{NULL, NULL, HEADING, 0, 0, "ptgc fmt"},
	{"--check", NULL, FLAG, AT(check), 0, "print the names of files that it would change"},
	{"-i", NULL, FLAG, AT(in_place), 0, "change the files"},
};

PRINTF(1, 2) static int usage(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	fputs("ptgc: ", stderr);
	vfprintf(stderr, fmt, args);
	fputs("\nTry 'ptgc --help'.\n", stderr);
	va_end(args);
	return EXIT_USAGE;
}

static int failed(const char *what)
{
	fprintf(stderr, "ptgc: %s\n", what);
	return EXIT_USAGE;
}

#define CUT_SHORT "a file became shorter while it was read, or its disk fails"
static int io_failed(const char *name, int error)
{
	fprintf(stderr, "ptgc: %s: %s\n", name, error == EFAULT ? CUT_SHORT : strerror(error));
	return EXIT_USAGE;
}

static bool is_stdio(const char *name)
{
	return !strcmp(name, "-");
}

static int unknown_option(const char *arg)
{
	const char *names[countof(options)];
	char word[64];
	size_t n = 0, dashes = strspn(arg, "-"); /* what all have makes none alike */
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(arg + dashes, "="), arg + dashes);
	for (size_t i = 0; i < countof(options); i++)
		if (options[i].name && options[i].kind != JOINED)
			names[n++] = options[i].name + strspn(options[i].name, "-");
	const char *near = strlen(word) > 1 ? did_you_mean(word, names, n) : NULL;
	for (size_t i = 0; i < n; i++)
		near = strcmp(word, names[i]) ? near : names[i];
	return near ? usage("unknown option '%s', did you mean '%s%s'?", arg,
			    strlen(near) > 2 ? "--" : "-", near)
		    : usage("unknown option '%s'", arg);
}

/* The option that arg is, and the value that is part of it (--opset=18, -omodel.onnx is not one).
 */
static const struct option *find_option(const char *arg, const char **value)
{
	*value = NULL;
	for (size_t i = 0; i < countof(options); i++) {
		const struct option *o = &options[i];
		size_t len = o->name ? strlen(o->name) : 0;
		if (!len || strncmp(arg, o->name, len))
			continue;
		if (o->kind == JOINED && arg[len]) {
			*value = arg + 1;
			return o;
		}
		if (arg[len] == '=' && arg[1] == '-' && o->kind != FLAG)
			*value = arg + len + 1;
		if (!arg[len] || *value)
			return o;
	}
	return NULL;
}

static int set_option(struct cmd *c, const struct option *o, const char *value)
{
	char *base = (char *)c;
	if (o->flag)
		*(bool *)(base + o->flag) = true;
	if (o->kind == FLAG) {
		*(bool *)(base + o->at) = true;
	} else if (o->kind == LIST || o->kind == JOINED) {
		struct list *l = (struct list *)(base + o->at);
		l->at[l->n++] = value;
	} else {
		*(const char **)(base + o->at) = value;
	}
	return EXIT_OK;
}

static int parse_options(struct cmd *c, int argc, char **argv)
{
	bool only_names = false;
	for (int i = 0; i < argc; i++) {
		const char *arg = argv[i], *value;
		if (only_names || arg[0] != '-' || !arg[1]) {
			c->inputs.at[c->inputs.n++] = arg;
			continue;
		}
		if (!strcmp(arg, "--")) {
			only_names = true;
			continue;
		}
		const struct option *o = find_option(!strcmp(arg, "-h") ? "--help" : arg, &value);
		if (!o)
			return unknown_option(arg);
		if (o->kind == JOINED && !value)
			return usage("%s needs a name right behind it, as in %sno-%s", arg, arg,
				     arg[1] == 'W' ? "unused" : "check-dims");
		if ((o->kind == TEXT || o->kind == LIST) && !value) {
			if (i + 1 == argc)
				return usage("%s needs an argument: %s", arg, o->arg);
			value = argv[++i];
		}
		set_option(c, o, value);
	}
	return EXIT_OK;
}

/* What -W or -f takes. */
#define MAX_FLAGS (DIAG_COUNT + 64)
static size_t flag_names(char kind, const char **names)
{
	size_t n = 0;
	const char *name;
	for (size_t i = 0; kind == 'W' && i < DIAG_COUNT; i++)
		if (diag_infos[i].severity != PTGC_ERROR)
			names[n++] = diag_infos[i].name;
	while (kind == 'f' && n < MAX_FLAGS && (name = flag_name(n)))
		names[n++] = name;
	return n;
}

static void help(void)
{
	fputs("usage: ptgc [options] model.ptg [-o model.onnx]\n"
	      "       ptgc fmt [--check | -i] [file.ptg...]\n"
	      "       ptgc dump model.onnx\n\n"
	      "Compiles a .ptg file, a PyTensor graph as text, to an ONNX model; fmt prints .ptg "
	      "files\n"
	      "in their canonical form, dump prints a model as text. '-' is standard input or "
	      "output.\n",
	      stdout);
	for (size_t i = 0; i < countof(options); i++) {
		const struct option *o = &options[i];
		char left[40];
		const char *between = o->kind == JOINED ? "" : o->kind == OPTIONAL ? "[=" : " ";
		if (o->kind == HEADING) {
			printf("\n%s:\n", o->help);
			continue;
		}
		snprintf(left, sizeof(left), "%s%s%s%s", o->name, o->arg ? between : "",
			 o->arg ? o->arg : "", o->arg && o->kind == OPTIONAL ? "]" : "");
		printf("  %-24s %s\n", left, o->help);
	}
	const char *names[MAX_FLAGS];
	for (const char *kind = "Wf"; *kind; kind++) {
		size_t n = flag_names(*kind, names);
		printf("\n%s:", *kind == 'W' ? "Warnings" : "Rewrites");
		for (size_t i = 0; i < n; i++)
			printf(" %s", names[i]);
	}
	fputs("\n\nExit status: 0 done, 1 the input is rejected, 2 wrong usage, I/O error or no "
	      "memory.\n",
	      stdout);
}

/* What was printed must have arrived. */
static int finish_stdout(void)
{
	if (fflush(stdout) || ferror(stdout))
		return io_failed("standard output", errno ? errno : EIO);
	return EXIT_OK;
}

static int explain(const char *code)
{
	const char *text = diag_explain(code);
	if (!text)
		return usage("no message has the code '%s'; codes look like PTG0200", code);
	printf("%s\n", text);
	return finish_stdout();
}

/* --- what a command gets and gives --- */

static void print_messages(struct ctx *cx, const struct job *job, bool colour)
{
	if (job->failure)
		failed(job->failure);
	if (!cx->diags)
		return;
	if (setjmp(cx->oom)) {
		failed("out of memory");
		return;
	}
	struct strbuf out = {.arena = cx->arena};
	diag_render(cx, &out, colour);
	fwrite(out.s, 1, out.len, stderr);
}

static int exit_code(enum ptgc_status status)
{
	return status == PTGC_OK ? EXIT_OK : status == PTGC_REJECTED ? EXIT_REJECTED : EXIT_USAGE;
}

static struct job job_for(const char *input, enum stage stage)
{
	struct job job = {.fd = -1, .stage = stage};
	if (is_stdio(input)) {
		job.fd = STDIN_FILENO;
		job.name = "<stdin>";
		job.dir = ".";
	} else {
		job.path = input;
	}
	return job;
}

static bool open_output(struct file_sink *f, const char *path)
{
	if (!is_stdio(path))
		return file_sink_open(f, path);
	file_sink_fd(f, STDOUT_FILENO);
	return !f->sink.error;
}

static const char *output_name(const char *path)
{
	return is_stdio(path) ? "standard output" : path;
}

/* Files that are being written are not left behind by ^C: it is taken once they are done. */
static void hold_signals(bool hold)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

/* Text of a stage, to where -o says or standard output. */
static int write_text(struct ctx *cx, struct job *job, const char *path)
{
	struct file_sink out;
	hold_signals(!is_stdio(path));
	enum ptgc_status status = PTGC_FAILED;
	if (open_output(&out, path))
		status = compile_emit(cx, job, &out.sink, NULL);
	if (status != PTGC_OK)
		file_sink_abort(&out);
	else if (!file_sink_commit(&out))
		status = PTGC_FAILED;
	hold_signals(false);
	if (out.sink.error)
		io_failed(output_name(path), out.sink.error);
	return exit_code(status);
}

/* --- ptgc fmt, ptgc dump, --ops --- */

static int format_one(const struct cmd *c, struct ctx *cx, const char *input)
{
	struct job job = job_for(input, STAGE_FORMAT);
	int code = exit_code(compile(cx, &job));
	bool same =
		!code && job.text_out.len == job.len && !memcmp(job.text_out.s, job.text, job.len);
	if (!code && c->check && !same) {
		printf("%s\n", input);
		code = EXIT_REJECTED;
	} else if (!code && !c->check && !(same && c->in_place)) {
		code = write_text(cx, &job, c->in_place ? input : c->output ? c->output : "-");
	}
	print_messages(cx, &job, c->colour);
	return code;
}

static int format_command(struct cmd *c)
{
	int code = EXIT_OK;
	if (!c->inputs.n)
		c->inputs.at[c->inputs.n++] = "-";
	if (c->in_place && (c->check || c->output))
		return usage("fmt: -i stands alone");
	if (c->output && c->inputs.n > 1)
		return usage("fmt: -o takes one file");
	for (size_t i = 0; i < c->inputs.n; i++) {
		if (c->in_place && is_stdio(c->inputs.at[i]))
			return usage("fmt: -i needs the names of files");
		struct ctx *cx = ctx_new();
		int one = cx ? format_one(c, cx, c->inputs.at[i]) : failed("out of memory");
		ctx_free(cx);
		code = one > code ? one : code;
	}
	int end = finish_stdout();
	return end > code ? end : code;
}

/* One input, text out. */
static int text_command(const struct cmd *c, const char *input, enum stage stage)
{
	struct ctx *cx = ctx_new();
	if (!cx)
		return failed("out of memory");
	struct job job = job_for(input, stage);
	int code = exit_code(compile(cx, &job));
	if (!code)
		code = write_text(cx, &job, c->output ? c->output : "-");
	print_messages(cx, &job, c->colour);
	ctx_free(cx);
	return code;
}

static int ops_command(const struct cmd *c)
{
	if (c->ops && strcmp(c->ops, "markdown"))
		return usage("--ops prints text, or with --ops=markdown a page; not '%s'", c->ops);
	return text_command(c, "-", c->ops ? STAGE_OPS_MARKDOWN : STAGE_OPS);
}

static int dump_command(const struct cmd *c)
{
	if (c->inputs.n != 1)
		return usage("dump: give one model");
	if (c->output && same_file(c->inputs.at[0], c->output))
		return usage("%s is the input; it would be overwritten", c->output);
	return text_command(c, c->inputs.at[0], STAGE_READ);
}

/* --- compiling --- */

static const char *const stages[] = {"ast", "typed", "lowered", "onnx"};
static const char *const targets[] = {[PTGC_ORT_CPU] = "ort-cpu", [PTGC_ONNX] = "onnx"};

/* Position of a word among those that an option takes; -1: said. */
static int choose(const char *option, const char *word, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(word, words[i]))
			return (int)i;
	fprintf(stderr, "ptgc: %s: there is no '%s', only", option, word);
	for (size_t i = 0; i < n; i++)
		fprintf(stderr, "%s %s", i ? "," : "", words[i]);
	fputs("\nTry 'ptgc --help'.\n", stderr);
	return -1;
}

static int unknown_flag(const char *flag)
{
	const char *names[MAX_FLAGS], *name = flag + 1;
	name += !strncmp(name, "no-", 3) ? 3 : 0;
	name += !strncmp(name, "error=", 6) ? 6 : 0;
	const char *near = did_you_mean(name, names, flag_names(flag[0], names));
	if (near)
		return usage("unknown option '-%s', did you mean '-%.*s%s'?", flag,
			     (int)(name - flag), flag, near);
	return usage("unknown option '-%s'", flag);
}

static int compile_options(struct ctx *cx, const struct cmd *c, enum stage *stage)
{
	int n = 0;
	if (c->opset) {
		char *end;
		long opset = strtol(c->opset, &end, 10);
		if (end == c->opset || *end || opset < MIN_OPSET || opset > MAX_OPSET)
			return usage("--opset: expected a number from %d to %d, not '%s'",
				     MIN_OPSET, MAX_OPSET, c->opset);
		cx->opt.opset = (int)opset;
	}
	if (c->target && (n = choose("--target", c->target, targets, countof(targets))) < 0)
		return EXIT_USAGE;
	cx->opt.target = c->target ? (enum ptgc_target)n : PTGC_ORT_CPU;
	if (c->dump && (n = choose("--dump", c->dump, stages, countof(stages))) < 0)
		return EXIT_USAGE;
	*stage = c->dump ? (enum stage)(STAGE_AST + n) : STAGE_MODEL;
	for (size_t i = 0; i < c->flags.n; i++)
		if (!compile_flag(cx, c->flags.at[i]))
			return unknown_flag(c->flags.at[i]);
	cx->opt.strip = c->strip;
	cx->opt.allow_dirs = c->allow.at;
	cx->opt.external = c->external;
	return EXIT_OK;
}

/* Where everything goes. Paths that do not fit are refused by open() too. */
struct outputs {
	char model[4096], external[8192], depfile[4096];
	const char *location; /* of external data, as the model says it */
	struct file_sink out, ext, dep;
	bool has_ext, has_dep;
};

static void replace_suffix(char *out, size_t size, const char *path, const char *old,
			   const char *new)
{
	size_t len = strlen(path), cut = strlen(old);
	if (len > cut && !strcmp(path + len - cut, old))
		len -= cut;
	snprintf(out, size, "%.*s%s", (int)len, path, new);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
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
		return c->external ? usage("--external-data: %s is no file that another one could "
					   "lie beside",
					   o->model)
				   : 0;
	int dir = (int)(base - o->model);
	snprintf(o->external, sizeof(o->external), "%.*s%s%s", dir, o->model,
		 c->external_name ? c->external_name : base, c->external_name ? "" : ".data");
	o->location = o->external + dir;
	o->has_ext = true;
	return EXIT_OK;
}

/* The outputs that are files, in the order in which they appear. */
static size_t named_outputs(struct outputs *o, const char *names[3])
{
	size_t n = 0;
	if (o->has_ext)
		names[n++] = o->external;
	if (o->has_dep && !is_stdio(o->depfile))
		names[n++] = o->depfile;
	if (!is_stdio(o->model))
		names[n++] = o->model;
	return n;
}

/* Does writing the outputs destroy what is read? */
static int keep_input(struct outputs *o, const char *input, const char *what)
{
	const char *names[3];
	size_t n = named_outputs(o, names);
	for (size_t i = 0; i < n; i++)
		if (!is_stdio(input) && same_file(input, names[i]))
			return usage("%s is %s; it would be overwritten", names[i], what);
	return EXIT_OK;
}

static int keep_apart(struct outputs *o, const char *input)
{
	const char *names[3];
	size_t n = named_outputs(o, names);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			if (same_place(names[k], names[i]) && strncmp(names[i], "/dev/", 5))
				return usage("%s: two outputs cannot be one file", names[i]);
	return keep_input(o, input, "the input");
}

static int choose_outputs(const struct cmd *c, struct outputs *o)
{
	const char *input = c->inputs.at[0];
	if (c->output)
		snprintf(o->model, sizeof(o->model), "%s", c->output);
	else if (is_stdio(input) || c->dump)
		strcpy(o->model, "-");
	else
		replace_suffix(o->model, sizeof(o->model), input, ".ptg", ".onnx");
	if (!c->dump && is_stdio(o->model) && isatty(STDOUT_FILENO))
		return usage("a model is no text: name a file with -o, or redirect the output");
	int code = c->dump ? EXIT_OK : external_path(c, o);
	if (code || !c->md)
		return code ? code : keep_apart(o, input);
	if (!c->depfile && is_stdio(o->model))
		return usage("-MD: name the file with -MF, as the model goes to standard output");
	if (c->depfile)
		snprintf(o->depfile, sizeof(o->depfile), "%s", c->depfile);
	else
		replace_suffix(o->depfile, sizeof(o->depfile), o->model, ".onnx", ".d");
	o->has_dep = true;
	return keep_apart(o, input);
}

static int write_depfile(struct ctx *cx, const struct cmd *c, struct outputs *o)
{
	const char *model = o->model;
	const char *const *to = c->targets.n ? c->targets.at : &model;
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
	const char *bad =
		depfile(&text, to, c->targets.n ? c->targets.n : 1, files, n, c->mp ? own : n);
	if (bad)
		return usage("-MD: make cannot read a rule with the name '%s'", bad);
	return o->dep.sink.write(&o->dep.sink, text.s, text.len) ? EXIT_OK : EXIT_USAGE;
}

static int open_outputs(struct outputs *o)
{
	bool ok = open_output(&o->out, o->model);
	if (o->has_ext)
		file_sink_later(&o->ext, o->external);
	if (ok && o->has_dep)
		ok = open_output(&o->dep, o->depfile);
	return ok ? EXIT_OK : EXIT_USAGE;
}

/* The model comes last: whoever sees it sees all that belongs to it. */
static int commit_outputs(struct outputs *o)
{
	struct file_sink *all[3];
	size_t n = 0;
	if (o->has_ext)
		all[n++] = &o->ext;
	if (o->has_dep)
		all[n++] = &o->dep;
	all[n++] = &o->out;
	return file_sinks_commit(all, n) ? EXIT_OK : EXIT_USAGE;
}

static void abort_outputs(struct outputs *o)
{
	file_sink_abort(&o->out);
	if (o->has_ext)
		file_sink_abort(&o->ext);
	if (o->has_dep)
		file_sink_abort(&o->dep);
}

static void say_failures(const struct outputs *o)
{
	if (o->out.sink.error)
		io_failed(output_name(o->model), o->out.sink.error);
	if (o->has_ext && o->ext.sink.error)
		io_failed(o->external, o->ext.sink.error);
	if (o->has_dep && o->dep.sink.error)
		io_failed(output_name(o->depfile), o->dep.sink.error);
}

static int write_outputs(struct ctx *cx, const struct cmd *c, struct job *job, struct outputs *o)
{
	/* a reader of standard output may take for ever: there ^C must go on working */
	hold_signals(!is_stdio(o->model));
	o->ext.fd = o->dep.fd = -1;
	int code = EXIT_OK;
	for (uint32_t i = 0; i < cx->depends.len && !code; i++)
		code = keep_input(o, cx->depends.at[i], "read for the model");
	if (!code)
		code = open_outputs(o);
	if (!code)
		code = exit_code(
			compile_emit(cx, job, &o->out.sink, o->has_ext ? &o->ext.sink : NULL));
	if (!code && o->has_dep)
		code = write_depfile(cx, c, o);
	if (!code)
		code = commit_outputs(o);
	if (code)
		abort_outputs(o);
	hold_signals(false);
	say_failures(o);
	return code;
}

/* A mapped file that is cut short, or whose disk fails, is noticed by this signal only. The stack
 * of the handler begins with what it has to know. */
static void on_bus(int signal)
{
	static const char text[] = "ptgc: " CUT_SHORT "\n";
	stack_t stack;

	(void)signal;
	if (!sigaltstack(NULL, &stack)) {
		struct outputs *o = *(struct outputs **)stack.ss_sp;
		file_sink_abandon(&o->out);
		file_sink_abandon(&o->ext);
		file_sink_abandon(&o->dep);
	}
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(EXIT_USAGE);
}

/* The stack, or NULL: then the signal kills, as it does without. */
static void *watch_files(struct outputs *o)
{
	stack_t stack = {.ss_sp = calloc(1, HANDLER_STACK), .ss_size = HANDLER_STACK};
	struct sigaction action = {.sa_handler = on_bus, .sa_flags = (int)SA_ONSTACK};

	if (!stack.ss_sp)
		return NULL;
	*(struct outputs **)stack.ss_sp = o;
	if (!sigaltstack(&stack, NULL))
		sigaction(SIGBUS, &action, NULL);
	return stack.ss_sp;
}

static int compile_with(struct ctx *cx, const struct cmd *c)
{
	struct outputs *o = calloc(1, sizeof(*o));
	enum stage stage = STAGE_MODEL;
	if (!o)
		return failed("out of memory");
	void *stack = watch_files(o);
	int code = compile_options(cx, c, &stage);
	if (!code)
		code = choose_outputs(c, o);
	if (!code) {
		struct job job = job_for(c->inputs.at[0], stage);
		cx->opt.external_name = o->location;
		code = exit_code(compile(cx, &job));
		if (!code)
			code = write_outputs(cx, c, &job, o);
		print_messages(cx, &job, c->colour);
	}
	signal(SIGBUS, SIG_DFL);
	sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
	free(stack);
	free(o);
	return code;
}

static int compile_command(const struct cmd *c)
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
	cx->keep_open = FILES_OPEN;
	int code = compile_with(cx, c);
	ctx_free(cx);
	return code;
}

/* --- main --- */

static int use_colour(struct cmd *c)
{
	static const char *const words[] = {"auto", "always", "never"};
	const char *term = getenv("TERM"), *no = getenv("NO_COLOR");
	int n = c->color ? choose("--color", c->color, words, countof(words)) : 0;
	if (n < 0)
		return EXIT_USAGE;
	c->colour = n == 1 || (n == 0 && isatty(STDERR_FILENO) && term && strcmp(term, "dumb") &&
			       !(no && *no));
	return EXIT_OK;
}

static int run_command(struct cmd *c, int argc, char **argv)
{
	const char *sub = argc > 1 ? argv[1] : "";
	bool fmt = !strcmp(sub, "fmt"), dump = !strcmp(sub, "dump");
	int first = fmt || dump ? 2 : 1;
	int code = parse_options(c, argc - first, argv + first);
	if (!code)
		code = use_colour(c);
	if (code)
		return code;
	if (c->help) {
		help();
		return finish_stdout();
	}
	if (c->version) {
		printf("ptgc %s\n", ptgc_version());
		return finish_stdout();
	}
	if (c->explain)
		return explain(c->explain);
	if (c->list_ops)
		return ops_command(c);
	return fmt ? format_command(c) : dump ? dump_command(c) : compile_command(c);
}

/* A closed standard descriptor would be taken by the next file opened: writing to it must fail. */
static void keep_standard_fds(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) < 0)
			return;
}

int main(int argc, char **argv)
{
	struct cmd c = {.colour = false};
	size_t n = (size_t)argc + 1;
	const char **space = calloc(4 * n, sizeof(*space));
	keep_standard_fds();
	signal(SIGPIPE, SIG_IGN); /* a closed pipe and a full quota are errors like any other */
	signal(SIGXFSZ, SIG_IGN);
	if (!space)
		return failed("out of memory");
	c.inputs.at = space;
	c.flags.at = space + n;
	c.allow.at = space + 2 * n;
	c.targets.at = space + 3 * n;
	int code = run_command(&c, argc, argv);
	free(space);
	return code;
}
