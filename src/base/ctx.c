/*
 * ctx.c: makes and ends one compilation.
 * Out: a context with its arenas, names, dims, default severities and default options. The caller
 * sets cx->oom (setjmp) before each entry into the compiler, and fills names of ops (ops_init).
 */
#include <stdlib.h>

#include "base/base.h"

#define E_OFF PTGC_NOTE /* severity of a warning that is off */

static const uint8_t default_severity[DIAG_COUNT] = {
#define DIAG(id, number, severity, name, ...) [id] = severity,
#include "base/diag.def"
};

const char *const target_names[PTGC_C + 1] = {
	[PTGC_ORT_CPU] = "ort-cpu",   [PTGC_ONNX] = "onnx", [PTGC_ORT_WEB] = "ort-web",
	[PTGC_PORTABLE] = "portable", [PTGC_C] = "c",
};

const char *const math_names[PTGC_NATIVE + 1] = {
	[PTGC_STANDARD] = "standard",
	[PTGC_EXACT] = "exact",
	[PTGC_NATIVE] = "native",
};

const struct flag_info flag_infos[FLAG_COUNT] = {
#define FLAG(id, name, kind, none, all, help) {name, help, kind, {none, all}},
#include "base/flags.def"
};

void set_optimization(struct ctx *cx, int level)
{
	cx->opt.level = level;
	cx->opt.flags = 0;
	for (size_t i = 0; i < FLAG_COUNT; i++)
		cx->opt.flags |= (uint64_t)flag_infos[i].level[level] << i;
}

const struct numerics numerics[NUMERICS_COUNT] = {
#define NUMERICS(field, name, exact, standard, native, help)                                       \
	{name,                                                                                     \
	 help,                                                                                     \
	 offsetof(struct options, field),                                                          \
	 {[PTGC_STANDARD] = standard, [PTGC_EXACT] = exact, [PTGC_NATIVE] = native}},
#include "base/numerics.def"
};

void set_math(struct ctx *cx, enum ptgc_math level)
{
	struct options *o = &cx->opt;

	for (size_t i = 0; i < NUMERICS_COUNT; i++)
		*(bool *)((char *)o + numerics[i].at) = numerics[i].level[level];
	/* The specification's operators are exact by definition. */
	if (o->target == PTGC_ONNX) {
		o->wide_functions = false;
		o->native_functions = true;
	}
	if (o->target == PTGC_C) /* a loop stays a loop */
		o->associative = false;
	if (o->target == PTGC_PORTABLE) /* there is no float64 */
		o->wide_functions = o->wide_sums = false;
}

void add_meta(struct ctx *cx, const char *text)
{
	size_t n = 0;

	while (cx->opt.meta && cx->opt.meta[n])
		n++;
	const char **list = new_array(cx->arena, const char *, n + 2);
	for (size_t i = 0; i < n; i++)
		list[i] = cx->opt.meta[i];
	list[n] = text;
	cx->opt.meta = list;
}

void print_note(struct ctx *cx, const char *fmt, ...)
{
	va_list args;

	if (!cx->notes)
		return;
	sb_str(cx->notes, cx->notes->len ? ", " : "");
	va_start(args, fmt);
	sb_vprintf(cx->notes, fmt, args);
	va_end(args);
}

static bool fill(struct ctx *cx)
{
	if (setjmp(cx->oom))
		return false;
	cx->arena = arena_new(&cx->oom, &cx->spare);
	cx->scratch = arena_new(&cx->oom, &cx->spare);
	cx->typed = arena_new(&cx->oom, &cx->spare);
	if (!cx->arena || !cx->scratch || !cx->typed)
		return false;
	cx->diag_tail = &cx->diags;
	for (int i = 0; i < DIAG_COUNT; i++)
		cx->severity[i] = default_severity[i];
	cx->floatx = DT_FLOAT64;
	cx->opt.opset = OPSET;
	cx->opt.max_errors = SHOWN;
	cx->opt.model_version = 1;
	cx->opt.target = PTGC_ORT_CPU;
	set_optimization(cx, MAX_LEVEL);
	set_math(cx, PTGC_STANDARD);
	cx->names = intern_new(cx);
	return true;
}

struct ctx *ctx_new(void)
{
	struct ctx *cx = calloc(1, sizeof(*cx));
	if (cx && !fill(cx)) {
		ctx_free(cx);
		return NULL;
	}
	return cx;
}

void ctx_free(struct ctx *cx)
{
	if (!cx)
		return;
	if (cx->unmap_files)
		cx->unmap_files(cx);
	arena_free(cx->typed);
	arena_free(cx->scratch);
	arena_free(cx->arena);
	spare_free(&cx->spare);
	free(cx);
}
