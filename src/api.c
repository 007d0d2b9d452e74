/*
 * api.c: the pipeline, and the functions of ptgc.h.
 * In: a text or a descriptor to read it from, and options. Out: a graph or a text, then the bytes
 * of the model, with all diagnostics. Running out of memory anywhere below comes back to compile()
 * or compile_emit(), and here only.
 */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api.h"
#include "c/c.h"
#include "elab/elab.h"
#include "emit/emit.h"
#include "syntax/syntax.h"
#include "target/target.h"
#include "why/why.h"

#define OUT_OF_MEMORY "out of memory"

/* --- the pipeline --- */

static bool report_unread(struct ctx *cx, struct job *job)
{
	const char *why = strerror(errno);
	job->failure = arena_printf(cx->arena, "%s: %s", job->path ? job->path : job->name, why);
	return false;
}

static bool read_fd(struct ctx *cx, struct job *job, int fd)
{
	struct stat st;
	size_t cap = (size_t)64 << 10, len = 0;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && (size_t)st.st_size >= cap)
		cap = (size_t)st.st_size + 1; /* it ends before the room does */
	char *at = arena_alloc(cx->arena, cap);
	for (;;) {
		if (len == cap) {
			at = arena_grow(cx->arena, at, cap, 2 * cap);
			cap *= 2;
		}
		ssize_t n = read(fd, at + len, cap - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return report_unread(cx, job);
		if (!n)
			break;
		len += (size_t)n;
	}
	job->text = at;
	job->len = len;
	return true;
}

static const char *folder_of(struct ctx *cx, const char *path)
{
	const char *slash = strrchr(path, '/');
	if (!slash)
		return ".";
	return arena_strdup(cx->arena, path, slash == path ? 1 : (size_t)(slash - path));
}

static bool read_input(struct ctx *cx, struct job *job)
{
	if (!job->path)
		return read_fd(cx, job, job->fd);
	if (!job->name)
		job->name = job->path;
	if (!job->dir)
		job->dir = folder_of(cx, job->path);
	job->fd = open(job->path, O_RDONLY | O_CLOEXEC); /* closed by compile() */
	return job->fd < 0 ? report_unread(cx, job) : read_fd(cx, job, job->fd);
}

/* Chooses the releases of ONNX Runtime that the model is for; false: one does not know the opset.
 */
static bool settle_runtime(struct ctx *cx)
{
	int *n = &cx->opt.runtime, of_opset = least_release_of_opset(cx->opt.opset);

	if (of_opset == NEXT_RELEASE && cx->opt.target != PTGC_ONNX) {
		error(cx, (struct span){0, 0}, E_OPTION,
		      "opset %d: no release of ONNX Runtime that was tried knows it; the target "
		      "onnx takes it",
		      cx->opt.opset);
		return false;
	}
	if (cx->opt.target == PTGC_PORTABLE)
		*n = PORTABLE_RELEASE;
	else if (!*n)
		*n = of_opset > DEFAULT_RELEASE ? of_opset : DEFAULT_RELEASE;
	if (cx->opt.target == PTGC_ONNX || *n >= of_opset)
		return true;
	error(cx, (struct span){0, 0}, E_OPTION,
	      "the target %s is for ONNX Runtime 1.%d too, which knows opsets up to %d, not %d",
	      target_names[cx->opt.target], *n, find_release(*n)->opset, cx->opt.opset);
	return false;
}

static void answer(struct ctx *cx, struct job *job, const struct graph *g)
{
	bool typed = why_answer(cx, g, &job->text_out);

	job->answered = typed && job->text_out.len;
	if (typed && !job->answered)
		why_missing(cx,
			    error(cx, (struct span){0, 0}, E_OPTION,
				  "why: no value gets its name at %s:%s", job->name, job->why),
			    !g->name);
}

static struct graph *typed(struct ctx *cx, struct job *job, struct file *f)
{
	struct graph *g = elaborate(cx, f, expansions, job->stage == STAGE_CHECK);
	if (!g)
		return NULL;
	if (job->stage == STAGE_TYPED && !cx->errors)
		dump_graph(cx, g, &job->text_out);
	if (job->stage == STAGE_WHY)
		answer(cx, job, g);
	arena_empty(cx->scratch);
	return g;
}

static void dump_least_runtime(struct ctx *cx, struct job *job)
{
	if (cx->least_runtime)
		sb_printf(&job->text_out, "1.%d\n", cx->least_runtime);
	else
		error(cx, (struct span){0, 0}, E_OPTION,
		      "the target onnx is the specification, not a runtime");
}

static void lowered_graph(struct ctx *cx, struct job *job, struct graph *g)
{
	if (!run_passes(cx, g))
		return;
	if (job->stage == STAGE_LOWERED)
		dump_graph(cx, g, &job->text_out);
	else if (job->stage == STAGE_ONNX)
		dump_onnx_text(cx, g, &job->text_out);
	else if (job->stage == STAGE_REQUIRED_OPS)
		dump_required_ops(cx, g, &job->text_out);
	else if (job->stage == STAGE_LEAST_RUNTIME)
		dump_least_runtime(cx, job);
	else if (job->stage == STAGE_MODEL && cx->opt.target == PTGC_C)
		print_c(cx, g, &job->text_out, &job->header, &job->weights);
	job->graph = g;
}

static void run(struct ctx *cx, struct job *job)
{
	if (job->stage == STAGE_READ) {
		source_add(cx, job->name, NULL, "", 0); /* its name, for messages */
		dump_model(cx, job->text, job->len, &job->text_out);
		return;
	}
	if (job->stage == STAGE_OPS || job->stage == STAGE_OPS_MARKDOWN) {
		op_list(&job->text_out, job->stage == STAGE_OPS_MARKDOWN);
		return;
	}
	if (job->stage == STAGE_PASSES) {
		list_passes(&job->text_out);
		return;
	}
	if (!settle_runtime(cx))
		return;
	dims_init(cx);
	ops_init(cx);
	struct source *src = source_add(cx, job->name, job->dir, job->text, job->len);
	if (!src)
		return;
	src->path = job->path;
	if (job->stage == STAGE_FORMAT) {
		job->text_out.s = format(cx, src, op_has_axes, &job->text_out.len);
		return;
	}
	struct file *f = parse(cx, src);
	if (cx->errors && (job->stage == STAGE_AST || !f->sound))
		return;
	if (job->stage == STAGE_AST) {
		dump_ast(cx, f, &job->text_out);
		return;
	}
	if (job->stage == STAGE_WHY && !why_ask(cx, src, job->why))
		return;
	struct graph *g = typed(cx, job, f);
	if (g && job->stage != STAGE_TYPED && job->stage != STAGE_WHY)
		lowered_graph(cx, job, g);
}

static enum ptgc_status compile_(struct ctx *cx, struct job *job)
{
	switch (setjmp(cx->oom)) {
	case 0:
		break;
	case STOPPED:
		return PTGC_REJECTED;
	default:
		job->failure = OUT_OF_MEMORY;
		return PTGC_FAILED;
	}
	job->text_out.arena = cx->arena;
	bool needs_input = job->stage < STAGE_OPS;
	if (needs_input && !job->text && !read_input(cx, job))
		return PTGC_FAILED;
	run(cx, job);
	bool ok = job->answered || !cx->errors;
	return cx->io_failed ? PTGC_FAILED : ok ? PTGC_OK : PTGC_REJECTED;
}

/* Numbers are written and read as in C, whatever the program that the library is part of writes
 * them like: its locale may have a comma in them. */
enum ptgc_status compile(struct ctx *cx, struct job *job)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), of_program = uselocale(c);
	enum ptgc_status status = PTGC_FAILED;
	if (c)
		status = compile_(cx, job);
	else
		job->failure = OUT_OF_MEMORY;
	uselocale(of_program);
	if (c)
		freelocale(c);
	if (job->path && job->fd >= 0)
		close(job->fd);
	return status;
}

static bool has_failed(const struct sink *s)
{
	return s && s->error;
}

enum ptgc_status compile_emit(struct ctx *cx, struct job *job, const struct sinks *to)
{
	struct sink *out = to->out;

	if (setjmp(cx->oom)) {
		job->failure = OUT_OF_MEMORY;
		return PTGC_FAILED;
	}
	if (job->stage != STAGE_MODEL || cx->opt.target == PTGC_C)
		out->write(out, job->text_out.s, job->text_out.len);
	else
		emit_model(cx, job->graph, out, to->external);
	if (job->header.s && to->header)
		to->header->write(to->header, job->header.s, job->header.len);
	if (job->weights.bytes)
		write_weights(cx, to->external, &job->weights);
	if (job->graph && to->state && cx->opt.state_inputs && job->graph->states.len &&
	    !cx->errors)
		emit_state(cx, job->graph, to->state);
	if (cx->errors)
		return PTGC_REJECTED;
	bool failed = has_failed(out) || has_failed(to->external) || has_failed(to->header) ||
		      has_failed(to->state);
	return failed ? PTGC_FAILED : PTGC_OK;
}

const char *flag_name(size_t i)
{
	if (i < FLAG_COUNT)
		return flag_infos[i].name;
	i -= FLAG_COUNT;
	return i < NUMERICS_COUNT ? numerics[i].name : NULL;
}

bool flag_is_rewrite(size_t i)
{
	return i < FLAG_COUNT && flag_infos[i].kind != SETTING;
}

/* "O0": the level; -1: it is none */
static int level_of(const char *flag)
{
	bool is = flag[0] == 'O' && flag[1] >= '0' && flag[1] <= '0' + MAX_LEVEL && !flag[2];

	return is ? flag[1] - '0' : -1;
}

static bool compile_flag(struct ctx *cx, const char *flag)
{
	if (flag[0] == 'O')
		return level_of(flag) >= 0;
	if (flag[0] == 'W')
		return diag_option(cx, flag + 1);
	if (flag[0] != 'f')
		return false;
	bool on = strncmp(flag + 1, "no-", 3) != 0;
	const char *name = flag + (on ? 1 : 4);
	for (size_t i = 0; i < FLAG_COUNT; i++)
		if (!strcmp(name, flag_infos[i].name)) {
			cx->opt.flags &= ~(UINT64_C(1) << i);
			cx->opt.flags |= (uint64_t)on << i;
			return true;
		}
	for (size_t i = 0; i < NUMERICS_COUNT; i++)
		if (!strcmp(name, numerics[i].name)) {
			*(bool *)((char *)&cx->opt + numerics[i].at) = on;
			return true;
		}
	return false;
}

const char *compile_flags(struct ctx *cx, const char *const *list)
{
	for (const char *const *f = list; f && *f; f++)
		if (level_of(*f) >= 0)
			set_optimization(cx, level_of(*f));
	for (; list && *list; list++)
		if (!compile_flag(cx, *list))
			return *list;
	return NULL;
}

/* --- ptgc.h --- */

struct ptgc_result {
	struct ctx *cx; /* NULL: there was no memory for it */
	enum ptgc_status status;
	struct job job;
	struct mem_sink model, external, header, state;
	struct ptgc_diagnostic *diagnostics;
	size_t ndiagnostics;
};

static const char *keep(struct ctx *cx, const char *s)
{
	return s ? arena_strdup(cx->arena, s, strlen(s)) : NULL;
}

static const char *const *keep_list(struct ctx *cx, const char *const *list)
{
	size_t n = 0;
	if (!list)
		return NULL;
	while (list[n])
		n++;
	const char **copy = new_array(cx->arena, const char *, n + 1);
	for (size_t i = 0; i < n; i++)
		copy[i] = keep(cx, list[i]);
	return copy;
}

bool is_meta(const char *text)
{
	return *text && *text != '=' && strchr(text, '=');
}

bool is_expectation(const char *text)
{
	const char *number = strrchr(text, '=');

	if (!number || number == text || !*++number || strlen(number) > 15)
		return false;
	return strspn(number, "0123456789") == strlen(number) && atoll(number) > 0;
}

/* What says something of ONNX models alone */
static void check_for_c(struct ctx *cx, const struct ptgc_options *opt)
{
	const struct {
		bool given;
		const char *option;
	} of_onnx[] = {
		{opt->opset != 0, "opset"},        {opt->ml_opset != 0, "ml_opset"},
		{opt->doc_string, "doc_string"},   {opt->model_version > 1, "model_version"},
		{opt->meta && *opt->meta, "meta"},
	};

	for (size_t i = 0; i < countof(of_onnx); i++)
		if (of_onnx[i].given)
			error(cx, (struct span){0, 0}, E_OPTION,
			      "%s is for ONNX models; C has nothing like it", of_onnx[i].option);
}

static bool check_options(struct ctx *cx, const struct ptgc_options *opt)
{
	const struct span nowhere = {0, 0};
	if ((unsigned int)opt->target > PTGC_C)
		error(cx, nowhere, E_OPTION, "target %d: there is no such target",
		      (int)opt->target);
	if ((unsigned int)opt->math > PTGC_NATIVE)
		error(cx, nowhere, E_OPTION, "math %d: there is no such level", (int)opt->math);
	if (opt->runtime && !find_release(opt->runtime))
		error(cx, nowhere, E_OPTION,
		      "runtime %d: releases of ONNX Runtime from %d (1.%d) to %d are known",
		      opt->runtime, oldest_release(), oldest_release(), newest_release());
	else if (opt->runtime && opt->target != PTGC_ORT_CPU)
		error(cx, nowhere, E_OPTION, "runtime %d: only the target ort-cpu has one",
		      opt->runtime);
	if (opt->target == PTGC_C)
		check_for_c(cx, opt);
	if (cx->errors)
		return false;
	set_math(cx, opt->math);
	const char *unknown = compile_flags(cx, opt->flags);
	if (unknown)
		error(cx, nowhere, E_OPTION, "unknown flag \"%s\"", unknown);
	if (opt->opset && (opt->opset < MIN_OPSET || opt->opset > MAX_OPSET))
		error(cx, nowhere, E_OPTION, "opset %d: expected %d to %d", opt->opset, MIN_OPSET,
		      MAX_OPSET);
	if (opt->ml_opset < 0 || opt->ml_opset > MAX_ML_OPSET)
		error(cx, nowhere, E_OPTION, "ml_opset %d: expected 1 to %d", opt->ml_opset,
		      MAX_ML_OPSET);
	for (const char *const *m = opt->meta; m && *m; m++)
		if (!is_meta(*m))
			error(cx, nowhere, E_OPTION, "meta: expected key=value, not \"%s\"", *m);
	for (const char *const *e = opt->expected; e && *e; e++)
		if (!is_expectation(*e))
			error(cx, nowhere, E_OPTION, "expected: dim=length, not \"%s\"", *e);
	if (opt->model_version < 0)
		error(cx, nowhere, E_OPTION, "model_version %lld is negative",
		      (long long)opt->model_version);
	if (opt->ntensors && !opt->tensors)
		error(cx, nowhere, E_OPTION, "ntensors is %zu but tensors is NULL", opt->ntensors);
	return !cx->errors;
}

static bool set_options(struct ptgc_result *r, const struct ptgc_options *opt)
{
	struct ctx *cx = r->cx;
	cx->opt.opset = opt->opset ? opt->opset : cx->opt.opset;
	cx->opt.ml_opset = opt->ml_opset;
	cx->opt.target = opt->target;
	cx->opt.runtime = opt->runtime;
	cx->opt.strip = opt->strip;
	cx->opt.model_name = keep(cx, opt->model_name);
	cx->opt.doc_string = keep(cx, opt->doc_string);
	cx->opt.model_version = opt->model_version ? opt->model_version : 1;
	cx->opt.meta = keep_list(cx, opt->meta);
	cx->opt.expected = keep_list(cx, opt->expected);
	cx->opt.allow_dirs = keep_list(cx, opt->allow);
	cx->opt.state_inputs = opt->state_inputs;
	cx->opt.float32 = opt->float32;
	cx->opt.external_threshold = opt->external_threshold;
	cx->opt.external = opt->external_threshold != 0;
	cx->opt.external_name = keep(cx, opt->external_name);
	cx->opt.header_name = keep(cx, opt->header_name);
	cx->opt.model_limit = opt->model_limit;
	if (opt->max_errors)
		cx->opt.max_errors = opt->max_errors > 0 ? (uint32_t)opt->max_errors : 0;
	cx->tensors = opt->tensors;
	cx->ntensors = opt->ntensors;
	r->job.name = keep(cx, opt->file_name);
	r->job.dir = keep(cx, opt->directory);
	return check_options(cx, opt);
}

static bool get_options(struct ptgc_result *r, const struct ptgc_options *given)
{
	struct ptgc_options opt = PTGC_OPTIONS_INIT;
	if (setjmp(r->cx->oom)) {
		r->job.failure = OUT_OF_MEMORY;
		return false;
	}
	if (given && given->size < offsetof(struct ptgc_options, opset)) {
		error(r->cx, (struct span){0, 0}, E_OPTION,
		      "options.size is not set: start from PTGC_OPTIONS_INIT");
		return false;
	}
	if (given) /* it may come from a program built with another version of this struct */
		memcpy(&opt, given, given->size < sizeof(opt) ? given->size : sizeof(opt));
	return set_options(r, &opt);
}

static struct ptgc_result *result_new(enum stage stage, const struct ptgc_options *options)
{
	struct ptgc_result *r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->job = (struct job){.fd = -1, .stage = stage};
	r->status = PTGC_FAILED;
	r->cx = ctx_new();
	if (!r->cx)
		r->job.failure = OUT_OF_MEMORY;
	else if (get_options(r, options))
		r->status = PTGC_OK;
	return r;
}

static struct ptgc_diagnostic diagnostic(struct ctx *cx, const struct diag *d)
{
	struct place at = source_place(cx, d->span.begin);
	struct ptgc_diagnostic out = {.severity = d->severity, .code = "", .name = ""};
	if (d->severity != PTGC_NOTE) {
		out.code = arena_printf(cx->arena, "PTG%04d", diag_infos[d->code].number);
		out.name = diag_infos[d->code].name;
	}
	out.text = d->text;
	if (at.source) {
		uint32_t rest = at.len - (at.col - 1 < at.len ? at.col - 1 : at.len);
		uint32_t length = d->span.end - d->span.begin;
		out.file = at.source->name;
		out.line = at.line;
		out.column = at.col;
		out.length = length < rest ? length : rest;
		out.source_line = at.text;
		out.source_length = at.len;
	}
	return out;
}

/* The caller's text may be gone when diagnostics are asked for: their lines are kept. */
static void keep_text(struct ctx *cx, const struct job *job)
{
	for (uint32_t i = 0; i < cx->sources.len; i++) {
		struct source *s = cx->sources.at[i];
		if (s->text >= job->text && s->text <= job->text + job->len)
			s->text = arena_strdup(cx->arena, s->text, s->len);
	}
}

static void collect(struct ptgc_result *r)
{
	struct ctx *cx = r->cx;
	struct diag *const *list;
	if (!cx || !cx->diags || setjmp(cx->oom))
		return;
	size_t n = diag_sorted(cx, &list), total = n;
	if (!r->job.path && r->job.text)
		keep_text(cx, &r->job);
	for (size_t i = 0; i < n; i++)
		for (const struct diag *d = list[i]->notes; d; d = d->next)
			total++;
	r->diagnostics = new_array(cx->arena, struct ptgc_diagnostic, total);
	for (size_t i = 0; i < n; i++) {
		r->diagnostics[r->ndiagnostics++] = diagnostic(cx, list[i]);
		for (const struct diag *d = list[i]->notes; d; d = d->next)
			r->diagnostics[r->ndiagnostics++] = diagnostic(cx, d);
	}
}

static void work(struct ptgc_result *r)
{
	struct ctx *cx = r->cx;
	mem_sink_init(&r->model, cx->arena);
	mem_sink_init(&r->external, cx->arena);
	mem_sink_init(&r->header, cx->arena);
	mem_sink_init(&r->state, cx->arena);
	const struct sinks to = {
		.out = &r->model.sink,
		.external = cx->opt.external_name ? &r->external.sink : NULL,
		.header = &r->header.sink,
		.state = &r->state.sink,
	};
	r->status = compile(cx, &r->job);
	if (r->status == PTGC_OK && r->job.stage == STAGE_MODEL)
		r->status = compile_emit(cx, &r->job, &to);
}

static struct ptgc_result *finish_text(struct ptgc_result *r, const char *text, size_t len)
{
	if (!r)
		return NULL;
	r->job.name = r->job.name ? r->job.name : "<text>";
	r->job.text = text ? text : "";
	r->job.len = text ? len : 0;
	if (r->status == PTGC_OK)
		work(r);
	collect(r);
	return r;
}

struct ptgc_result *ptgc_compile(const char *text, size_t len, const struct ptgc_options *options)
{
	return finish_text(result_new(STAGE_MODEL, options), text, len);
}

struct ptgc_result *ptgc_format(const char *text, size_t len, const struct ptgc_options *options)
{
	return finish_text(result_new(STAGE_FORMAT, options), text, len);
}

struct ptgc_result *ptgc_why(const char *text, size_t len, const char *where,
			     const struct ptgc_options *options)
{
	struct ptgc_result *r = result_new(STAGE_WHY, options);
	if (r)
		r->job.why = where ? where : "";
	return finish_text(r, text, len);
}

struct ptgc_result *ptgc_compile_file(const char *path, const struct ptgc_options *options)
{
	struct ptgc_result *r = result_new(STAGE_MODEL, options);
	if (!r)
		return NULL;
	r->job.path = path;
	if (r->status == PTGC_OK)
		work(r);
	collect(r);
	return r;
}

void ptgc_free(struct ptgc_result *r)
{
	if (r)
		ctx_free(r->cx);
	free(r);
}

enum ptgc_status ptgc_status(const struct ptgc_result *r)
{
	return r ? r->status : PTGC_FAILED;
}

const void *ptgc_model(const struct ptgc_result *r, size_t *size)
{
	bool text = r && r->job.stage == STAGE_FORMAT, ok = ptgc_ok(r);
	if (size)
		*size = !ok ? 0 : text ? r->job.text_out.len : r->model.sink.written;
	return !ok ? NULL : text ? (const void *)r->job.text_out.s : r->model.data;
}

const char *ptgc_answer(const struct ptgc_result *r)
{
	return r && r->job.stage == STAGE_WHY ? r->job.text_out.s : NULL;
}

static const void *written(const struct mem_sink *m, size_t *size)
{
	bool some = m && m->sink.written;
	if (size)
		*size = some ? m->sink.written : 0;
	return some ? m->data : NULL;
}

const void *ptgc_header(const struct ptgc_result *r, size_t *size)
{
	return written(ptgc_ok(r) ? &r->header : NULL, size);
}

const void *ptgc_external(const struct ptgc_result *r, size_t *size)
{
	return written(ptgc_ok(r) ? &r->external : NULL, size);
}

const char *ptgc_external_name(const struct ptgc_result *r)
{
	return ptgc_external(r, NULL) ? r->cx->opt.external_name : NULL;
}

const void *ptgc_state(const struct ptgc_result *r, size_t *size)
{
	return written(ptgc_ok(r) ? &r->state : NULL, size);
}

size_t ptgc_diagnostic_count(const struct ptgc_result *r)
{
	return r ? r->ndiagnostics : 0;
}

struct ptgc_diagnostic ptgc_diagnostic(const struct ptgc_result *r, size_t i)
{
	return i < ptgc_diagnostic_count(r)
		       ? r->diagnostics[i]
		       : (struct ptgc_diagnostic){.code = "", .name = "", .text = ""};
}

const char *ptgc_messages(const struct ptgc_result *r, bool colour)
{
	if (!r || !r->cx || setjmp(r->cx->oom))
		return OUT_OF_MEMORY "\n";
	struct strbuf out = {.arena = r->cx->arena};
	if (r->job.failure)
		sb_printf(&out, "error: %s\n", r->job.failure);
	diag_render(r->cx, &out, colour);
	return out.s;
}

int ptgc_least_runtime(const struct ptgc_result *r)
{
	return ptgc_ok(r) ? r->cx->least_runtime : 0;
}

const char *ptgc_explain(const char *code)
{
	const struct diag_info *info = diag_find(code);
	return info ? info->explain : NULL;
}

enum ptgc_cause ptgc_cause(const char *code)
{
	const struct diag_info *info = diag_find(code);
	return info ? info->cause : PTGC_MISTAKE;
}

const char *ptgc_version(void)
{
	return PTGC_VERSION;
}
