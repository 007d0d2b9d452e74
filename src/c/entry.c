/*
 * entry.c: functions for callers that know no struct of a model, as Python's package: -fentry. In:
 * the fields of the structs. Out: a description of inputs and outputs, what solves the sizes from
 * the lengths that arrays have, and a call that takes pointers in the order of the description.
 *
 * Lengths stand one after the other: those of all axes of the first array, then of the second.
 */
#include <string.h>

#include "c/internal.h"

void declare_entry(struct printer *p, struct strbuf *to)
{
	const char *m = p->model;

	sb_printf(to,
		  "/* For callers that know no struct. A line of the interface is \"in\" or "
		  "\"out\", dtype, rank, name;\n"
		  " * or \"generator:name=kind\".\n"
		  " * %s_lengths(): 0, and the lengths of all axes of the outputs in order "
		  "(INT64_MIN: the "
		  "run knows them);\n"
		  " * or 1 + the number of an axis of the inputs whose length, `given`, must be "
		  "lengths[0].\n"
		  " * %s_call() is %s_run() for pointers to elements, which it changes for outputs "
		  "that lie in `work`. */\n",
		  m, m, m);
	if (p->weights_name)
		sb_printf(
			to,
			"/* \"weights\" and a number: the pointer behind those of the inputs is to "
			"the weights, so many bytes. */\n");
	sb_printf(to, "const char *%s_interface(void);\n", m);
	sb_printf(to, "int %s_lengths(const int64_t *ptgc_given, int64_t *ptgc_lengths);\n", m);
	sb_printf(to,
		  "int %s_call(const int64_t *given, const void *const *inputs, int64_t *lengths, "
		  "void **outputs,\n\tvoid *work, size_t bytes, size_t *need);\n\n",
		  m);
}

static void describe(struct strbuf *to, const char *way, const struct field *f)
{
	sb_printf(to, "\n\t       \"%s %s %u ", way, dtypes[f->v->type.dtype].name,
		  f->v->type.rank);
	add_quoted(to, f->text);
	sb_str(to, "\\n\"");
}

static uint32_t size_of(const struct interface *f, dim atom)
{
	uint32_t i = 0;

	while (i < f->sizes.len && f->sizes.at[i].atom != atom)
		i++;
	return i;
}

/* Solves the length d, ptgc_given[at], for the one size in it that is not solved yet: d is that
 * size, or a sum with a multiple of it. */
static bool solve(struct printer *p, const struct interface *f, dim d, uint32_t at, bool *solved,
		  struct strbuf *to)
{
	struct dim_view v = dim_view_as_made(p->cx, d);
	dim itself = d;
	uint32_t size = 0, open = 0, which = 0;

	if (v.form == DIM_ATOM) {
		v.nterms = 1;
		v.term = &itself;
	} else if (v.form != DIM_SUM) {
		return false;
	}
	for (uint32_t i = 0; i < v.nterms; i++) {
		uint32_t k = size_of(f, v.term[i]);
		if (k < f->sizes.len && solved[k])
			continue;
		if (k == f->sizes.len) /* no atom, or one that is another by now */
			return false;
		size = k;
		which = i;
		open++;
	}
	if (open != 1)
		return false;
	const char *rest = textf(p, "ptgc_given[%u]", at);
	for (uint32_t i = 0; v.form == DIM_SUM && i < v.nterms; i++)
		if (i != which)
			rest = textf(p, "%s - %s", rest,
				     in_parens(p, times(p, number_text(p, v.coef[i]),
							f->sizes.at[size_of(f, v.term[i])].name)));
	if (v.form == DIM_SUM) {
		if (v.constant)
			rest = textf(p, "%s - %s", rest, in_parens(p, number_text(p, v.constant)));
		if (v.coef[which] != 1)
			rest = textf(p, "(%s) / %s", rest,
				     in_parens(p, number_text(p, v.coef[which])));
		rest = textf(p, "ptgc_max_i64(%s, 0)", rest); /* else the length does not fit */
	}
	sb_printf(to, "\tconst int64_t %s = %s;\n", f->sizes.at[size].name, rest);
	solved[size] = true;
	return true;
}

/* The sizes, from the lengths of the inputs. A size that stands alone somewhere is that length. */
static void print_sizes(struct printer *p, const struct interface *f, struct strbuf *to)
{
	bool *solved = new_array(p->cx->arena, bool, f->sizes.len + 1);

	if (!f->sizes.len)
		return;
	sb_printf(to, "\nstatic void %s_sizes(const int64_t *ptgc_given, int64_t *ptgc_sizes)\n{\n",
		  p->model);
	for (bool again = true, alone = true; again || alone;) {
		uint32_t at = 0;
		alone &= again;
		again = false;
		for (uint32_t i = 0; i < f->in.len; i++)
			for (uint32_t k = 0; k < f->in.at[i].v->type.rank; k++, at++) {
				dim d = f->in.at[i].v->type.dims[k];
				if (!alone || dim_view_as_made(p->cx, d).form == DIM_ATOM)
					again |= solve(p, f, d, at, solved, to);
			}
	}
	for (uint32_t i = 0; i < f->sizes.len; i++)
		if (!solved[i])
			cannot(p, NULL,
			       "cannot solve for the size %s from the lengths of the inputs",
			       f->sizes.at[i].name);
	for (uint32_t i = 0; i < f->sizes.len; i++)
		sb_printf(to, "\tptgc_sizes[%u] = %s;\n", i, f->sizes.at[i].name);
	sb_str(to, "}\n");
}

static void print_lengths(struct printer *p, const struct interface *f, struct strbuf *to)
{
	uint32_t at = 0;

	sb_printf(to, "\nint %s_lengths(const int64_t *ptgc_given, int64_t *ptgc_lengths)\n{\n",
		  p->model);
	if (f->sizes.len)
		sb_printf(to, "\tint64_t ptgc_sizes[%u];\n\t%s_sizes(ptgc_given, ptgc_sizes);\n",
			  f->sizes.len, p->model);
	for (uint32_t i = 0; i < f->sizes.len; i++)
		sb_printf(to, "\tconst int64_t %s = ptgc_sizes[%u];\n", f->sizes.at[i].name, i);
	for (uint32_t i = 0; i < f->in.len; i++)
		for (uint32_t k = 0; k < f->in.at[i].v->type.rank; k++, at++) {
			dim d = f->in.at[i].v->type.dims[k];
			int64_t c; /* what an op says of it */
			const char *s = dim_is_const(p->cx, d, &c) ? number_text(p, c)
								   : dim_text(p, d, true, NULL);
			sb_printf(to, "\tif (ptgc_given[%u] != %s) {\n", at, in_parens(p, s));
			sb_printf(to, "\t\tptgc_lengths[0] = %s;\n\t\treturn %u;\n\t}\n", s,
				  at + 1);
		}
	uint32_t given = at;
	at = 0;
	for (uint32_t i = 0; i < p->known.len; i++) /* only run() has these names */
		unbind_length(p, p->known.at[i].name);
	for (uint32_t i = 0; i < f->out.len; i++)
		for (uint32_t k = 0; k < f->out.at[i].v->type.rank; k++, at++)
			sb_printf(to, "\tptgc_lengths[%u] = %s;\n", at,
				  f->out.at[i].sizes
					  ? "INT64_MIN"
					  : dim_text(p, f->out.at[i].v->type.dims[k], false, NULL));
	for (uint32_t i = 0; i < f->sizes.len; i++)
		sb_printf(to, "\t(void)%s;\n", f->sizes.at[i].name);
	if (!given)
		sb_str(to, "\t(void)ptgc_given;\n");
	if (!given && !at)
		sb_str(to, "\t(void)ptgc_lengths;\n");
	sb_str(to, "\treturn 0;\n}\n");
}

static void print_call(struct printer *p, const struct interface *f, struct strbuf *to)
{
	const char *m = p->model, *type;
	struct strbuf after = {.arena = p->cx->arena};
	uint32_t at = 0;

	sb_printf(
		to,
		"\nint %s_call(const int64_t *given, const void *const *inputs, int64_t *lengths, "
		"void **outputs,\n\tvoid *work, size_t bytes, size_t *need)\n{\n",
		m);
	sb_printf(to, "\tstruct %s_in in;\n\tstruct %s_out out;\n", m, m);
	sb_str(to, f->sizes.len ? "\tint64_t sizes[" : "");
	if (f->sizes.len)
		sb_printf(to, "%u];\n\t%s_sizes(given, sizes);\n", f->sizes.len, m);
	for (uint32_t i = 0; i < f->sizes.len; i++)
		sb_printf(to, "\tin.%s = sizes[%u];\n", f->sizes.at[i].name, i);
	for (uint32_t i = 0; i < f->in.len; i++) {
		const struct value *v = f->in.at[i].v;
		sb_printf(to, "\tin.%s = %s(const %s *)inputs[%u];\n", f->in.at[i].name,
			  v->type.rank ? "" : "*", memory_type(v->type.dtype), i);
	}
	for (uint32_t i = 0; i < f->out.len; i++) {
		const struct field *o = &f->out.at[i];
		type = memory_type(o->v->type.dtype);
		if (!o->v->type.rank)
			sb_printf(&after, "\t*(%s *)outputs[%u] = out.%s;\n", type, i, o->name);
		else if (!o->sizes)
			sb_printf(to, "\tout.%s = (%s *)outputs[%u];\n", o->name, type, i);
		else
			sb_printf(&after, "\toutputs[%u] = (void *)(uintptr_t)out.%s;\n", i,
				  o->name);
		for (uint32_t k = 0; k < o->v->type.rank; k++, at++)
			if (o->sizes)
				sb_printf(&after, "\tlengths[%u] = out.%s;\n", at, o->sizes[k]);
	}
	if (p->weights_name)
		sb_printf(to,
			  "\tin.%s = inputs[%u];\n"
			  "\tin.%s_bytes = %s_WEIGHTS_BYTES;\n",
			  p->weights_name, f->in.len, p->weights_name, m);
	else if (!f->in.len)
		sb_str(to, "\tin.unused = 0;\n\t(void)inputs;\n");
	if (!f->out.len)
		sb_str(to, "\tout.unused = 0;\n\t(void)outputs;\n");
	sb_str(to, "\t(void)given;\n\t(void)lengths;\n");
	sb_printf(to, "\tconst int status = %s_run(&in, &out, work, bytes, need);\n", m);
	sb_str(to, "\tif (status)\n\t\treturn status;\n");
	sb_str(to, after.s ? after.s : "");
	sb_str(to, "\treturn 0;\n}\n");
}

const char *entry(struct printer *p, const struct interface *f)
{
	struct strbuf to = {.arena = p->cx->arena};

	sb_printf(&to, "\nconst char *%s_interface(void)\n{\n\treturn \"\"", p->model);
	for (uint32_t i = 0; i < f->in.len; i++)
		describe(&to, "in", &f->in.at[i]);
	for (uint32_t i = 0; i < f->out.len; i++)
		describe(&to, "out", &f->out.at[i]);
	if (p->weights_name)
		sb_printf(&to, "\n\t       \"weights %llu\\n\"",
			  (unsigned long long)p->weights->bytes);
	for (const char *const *m = p->cx->opt.meta; m && *m; m++) /* "generator:r=PCG64" */
		if (!strncmp(*m, "generator:", 10)) {
			sb_str(&to, "\n\t       \"");
			add_quoted(&to, *m);
			sb_str(&to, "\\n\"");
		}
	sb_str(&to, ";\n}\n");
	print_sizes(p, f, &to);
	print_lengths(p, f, &to);
	print_call(p, f, &to);
	return to.s;
}
