/*
 * report.c: what users see of lowering: messages about their nodes, and what values and nodes are
 * called in the model. A name is given once; the first value that has it keeps it.
 */
#include <string.h>

#include "lower/build.h"

/* ---- messages ---- */

static void report_failure(struct build *b, enum diag_code code, const char *fmt, va_list ap)
{
	struct shared *s = b->scope->shared;

	if (s->failed)
		return;
	s->failed = true;
	const char *text = arena_vprintf(b->cx->arena, fmt, ap);
	if (!s->at || s->at->op == &op_dim) {
		error(b->cx, b->span, code, "%s", text);
		return;
	}
	const char *label = NULL;
	for (uint32_t i = 0; i < s->from->replaced.len && !label; i++)
		if (!memcmp(&s->from->replaced.at[i].span, &s->at->span, sizeof(struct span)))
			label = s->from->replaced.at[i].label;
	error(b->cx, s->at->span, code, "%s: %s", label ? label : call_label(b->cx, s->at), text);
}

void unsupported(struct build *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report_failure(b, E_UNSUPPORTED, fmt, ap);
	va_end(ap);
}

void raises(struct build *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report_failure(b, E_RAISES, fmt, ap);
	va_end(ap);
}

/* Names: each is given once; the first value that has it keeps it. */

/* ---- names ---- */

bool take_name(struct build *b, struct sym *name)
{
	struct given_names *names = b->scope->shared->names;

	if (!name)
		return false;
	if (name->number >= names->n) {
		uint32_t n = name_count(b->cx) + names->n / 2 + 64;
		names->given = arena_grow(b->cx->arena, names->given, names->n, n);
		names->n = n;
	}
	bool given = names->given[name->number];
	names->given[name->number] = true;
	return !given;
}

void name_value(struct build *b, struct value *v, struct sym *name)
{
	if (!v->name && !b->scope->shared->expanding && take_name(b, name))
		v->name = name;
}

struct value *labelled(struct build *b, struct value *v, const char *label)
{
	struct sym *name = intern_str(b->cx, label);

	if (!v->def || v->def->label)
		return v;
	while (!take_name(b, name)) /* the runtime wants each name once */
		name = intern_str(b->cx, arena_printf(b->cx->arena, "%s (%u)", label,
						      ++b->scope->shared->nlabels));
	v->def->label = name->s;
	return v;
}
