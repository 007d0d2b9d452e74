/*
 * main.c: the command ptgc, with all that prints text: fmt, why, dump, --ops, --explain.
 * Exit status: 0 done, 1 the input is rejected, 2 wrong usage, I/O or no memory. If it is not 0, no
 * output is left behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"

int usage(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	fputs("ptgc: ", stderr);
	vfprintf(stderr, fmt, args);
	fputs("\nTry 'ptgc --help'.\n", stderr);
	va_end(args);
	return EXIT_USAGE;
}

int failed(const char *what)
{
	fprintf(stderr, "ptgc: %s\n", what);
	return EXIT_USAGE;
}

int io_failed(const char *name, int error)
{
	fprintf(stderr, "ptgc: %s: %s\n", name, error == EFAULT ? CUT_SHORT : strerror(error));
	return EXIT_USAGE;
}

bool is_stdio(const char *name)
{
	return !strcmp(name, "-");
}

/* Flushes standard output: an error there, such as a full disk, must not be lost. */
static int finish_stdout(void)
{
	if (fflush(stdout) || ferror(stdout))
		return io_failed("standard output", errno ? errno : EIO);
	return EXIT_OK;
}

static int explain(const char *code)
{
	const char *text = ptgc_explain(code);
	if (!text)
		return usage("no message has the code '%s'; codes look like PTG0200", code);
	printf("%s\n", text);
	return finish_stdout();
}

/* --- input and output of a command --- */

void print_messages(struct ctx *cx, const struct job *job, bool colour)
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

int exit_code(enum ptgc_status status)
{
	return status == PTGC_OK ? EXIT_OK : status == PTGC_REJECTED ? EXIT_REJECTED : EXIT_USAGE;
}

struct job job_for(const char *input, enum stage stage)
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

bool open_output(struct file_sink *f, const char *path)
{
	if (!is_stdio(path))
		return file_sink_open(f, path);
	file_sink_fd(f, STDOUT_FILENO);
	return !f->sink.error;
}

const char *output_name(const char *path)
{
	return is_stdio(path) ? "standard output" : path;
}

/* Writes the text of a stage to the file of -o, or to standard output. */
static int write_text(struct ctx *cx, struct job *job, const char *path)
{
	struct file_sink out, *const all[] = {&out};
	file_sink_init(&out);
	struct watch *w = watch_signals(all, 1);
	enum ptgc_status status = PTGC_FAILED;
	if (open_output(&out, path))
		status = compile_emit(cx, job, &(struct sinks){.out = &out.sink});
	hold_signals();
	if (status != PTGC_OK)
		file_sink_abort(&out);
	else if (!file_sink_commit(&out))
		status = PTGC_FAILED;
	release_signals(status == PTGC_OK);
	unwatch_signals(w);
	if (out.sink.error)
		io_failed(output_name(path), out.sink.error);
	return exit_code(status);
}

/* --- ptgc fmt, ptgc why, ptgc dump, --ops --- */

static int format_one(const struct cmd *c, struct ctx *cx, const char *input)
{
	struct job job = job_for(input, STAGE_FORMAT);
	int code = set_max_errors(cx, c);
	code = code ? code : exit_code(compile(cx, &job));
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
		return usage("fmt: -i cannot be combined with --check or -o");
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

/* Each file alone, as it would be compiled; nothing is written. */
static int check_command(struct cmd *c)
{
	int code = EXIT_OK;
	if (!c->inputs.n)
		return usage("check: give one file or more");
	if (c->output)
		return usage("check: it writes nothing, so -o has no meaning");
	for (size_t i = 0; i < c->inputs.n; i++) {
		struct ctx *cx = ctx_new();
		enum stage stage;
		int one = cx ? compile_options(cx, c, &stage) : failed("out of memory");
		if (one == EXIT_OK) {
			struct job job = job_for(c->inputs.at[i], STAGE_CHECK);
			one = exit_code(compile(cx, &job));
			print_messages(cx, &job, c->colour);
		}
		ctx_free(cx);
		code = one > code ? one : code;
	}
	return code;
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
	const char *name = c->ops && strcmp(c->ops, "markdown") ? c->ops : NULL;
	if (!c->ops && c->inputs.n == 1)
		name = c->inputs.at[0];
	if (name) {
		int code = print_op(name);
		return code ? code : finish_stdout();
	}
	return text_command(c, "-", c->ops ? STAGE_OPS_MARKDOWN : STAGE_OPS);
}

/* Cuts "m.ptg:12:5", "m.ptg:12", "m.ptg:logp" or "m.ptg:lib.ptg:12" into a file and the rest. NULL:
 * it is none of these */
static const char *cut_place(char *arg)
{
	static const char ending[] = ".ptg:";
	char *last = strrchr(arg, ':'), *used = strstr(arg, ending);
	if (!last || last == arg || !last[1])
		return NULL;
	if (used && strstr(used + strlen(ending), ending)) {
		used[strlen(ending) - 1] = 0;
		return used + strlen(ending);
	}
	*last = 0;
	char *line = strrchr(arg, ':');
	bool column = line && line != arg && line[1] && !line[1 + strspn(line + 1, "0123456789")] &&
		      !last[1 + strspn(last + 1, "0123456789")];
	if (!column)
		return last + 1;
	*last = ':';
	*line = 0;
	return line + 1;
}

static int answer(const struct cmd *c, struct ctx *cx, const char *file, const char *where)
{
	enum stage stage;
	int code = compile_options(cx, c, &stage);
	if (code)
		return code;
	struct job job = job_for(file, STAGE_WHY);
	job.why = where;
	enum ptgc_status status = compile(cx, &job);
	if (job.text_out.len)
		fwrite(job.text_out.s, 1, job.text_out.len, stdout);
	if (status == PTGC_OK) {
		if (cx->errors)
			fprintf(stderr, "ptgc: %s has %u error%s\n", file, cx->errors,
				cx->errors == 1 ? "" : "s");
		return finish_stdout();
	}
	print_messages(cx, &job, c->colour);
	return exit_code(status);
}

static int why_command(const struct cmd *c)
{
	char *file = c->inputs.n == 1 ? strdup(c->inputs.at[0]) : NULL;
	const char *where = file ? cut_place(file) : NULL;
	struct ctx *cx = where ? ctx_new() : NULL;
	int code = !where ? usage("why: give one place, as in model.ptg:12 or model.ptg:logp")
		   : !cx  ? failed("out of memory")
			  : answer(c, cx, file, where);
	ctx_free(cx);
	free(file);
	return code;
}

static int dump_command(const struct cmd *c)
{
	if (c->inputs.n != 1)
		return usage("dump: give one model");
	if (c->output && same_file(c->inputs.at[0], c->output))
		return usage("%s is the input; it would be overwritten", c->output);
	return text_command(c, c->inputs.at[0], STAGE_READ);
}

static int run_command(struct cmd *c, int argc, char **argv)
{
	const char *sub = argc > 1 ? argv[1] : "";
	bool fmt = !strcmp(sub, "fmt"), dump = !strcmp(sub, "dump"), why = !strcmp(sub, "why");
	bool check = !strcmp(sub, "check");
	int first = fmt || dump || why || check ? 2 : 1;
	int code = parse_options(c, argc - first, argv + first);
	if (!code)
		code = use_colour(c);
	if (code)
		return code;
	if (c->required_ops)
		c->dump = REQUIRED_OPS;
	if (c->least_runtime)
		c->dump = LEAST_RUNTIME;
	if (c->help) {
		print_help();
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
	if (c->list_passes)
		return text_command(c, "-", STAGE_PASSES);
	if (why)
		return why_command(c);
	if (check)
		return check_command(c);
	return fmt ? format_command(c) : dump ? dump_command(c) : compile_command(c);
}

/* If a standard descriptor is closed, the next file that is opened would get its number. This opens
 * the descriptor in a way that makes writing to it fail. */
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
	const char **space = calloc(8 * n, sizeof(*space));
	keep_standard_fds();
	signal(SIGPIPE, SIG_IGN); /* a closed pipe and a full quota are errors like any other */
	signal(SIGXFSZ, SIG_IGN);
	if (!space)
		return failed("out of memory");
	c.inputs.at = space;
	c.flags.at = space + n;
	c.allow.at = space + 2 * n;
	c.targets.at = space + 3 * n;
	c.meta.at = space + 4 * n;
	c.expected.at = space + 5 * n;
	c.opsets.at = space + 6 * n;
	c.print_after.at = space + 7 * n;
	int code = run_command(&c, argc, argv);
	free(space);
	return code;
}
