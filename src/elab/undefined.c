/*
 * undefined.c: names that mean nothing. In: an operand that is such a name. Out: one message for a
 * name, with what may be meant, or a note to the message that it follows from; the name is bound
 * then, to what failed.
 */
#include <string.h>

#include "elab/internal.h"

#define MAX_NEAR 20000 /* near_name() looks at the last names */

/* Do the names differ by a number alone? v1 is no likelier meant by v2 than v7 is. */
static bool differ_by_number(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return a[strspn(a, "0123456789")] == 0 && b[strspn(b, "0123456789")] == 0;
}

const char *near_name(struct elab *e, const struct sym *name)
{
	static const char *const words[] = {"True", "False", "None", "inf", "nan"};
	vec(const char *) names = {0};

	for (size_t i = 0; i < countof(words); i++)
		*vec_push(e->cx->arena, &names) = words[i];
	for (struct scope *s = e->scope; s && e->cx->errors < MAX_HINTS; s = s->outer)
		for (struct binding *b = s->values; b && names.len < MAX_NEAR; b = b->prev)
			if (!b->missing && !differ_by_number(name->s, b->sym->s))
				*vec_push(e->cx->arena, &names) = b->sym->s;
	return did_you_mean(name->s, names.at, names.len);
}

/* Is the name all that stands behind `//` in its line, and so may be meant as a comment? */
static bool may_be_comment(struct elab *e, struct span s)
{
	const struct source *from = source_of(e->cx, s);
	uint32_t i = s.begin - from->base, end = s.end - from->base;

	while (i && (from->text[i - 1] == ' ' || from->text[i - 1] == '\t'))
		i--;
	return i > 1 && from->text[i - 1] == '/' && from->text[i - 2] == '/' &&
	       (end == from->len || from->text[end] == '\n' || from->text[end] == '\r');
}

/* The line of a statement further down that defines the name; 0: there is none */
static uint32_t defined_later(struct elab *e, const struct sym *name, struct span use)
{
	bool hint = e->frame->fn && e->cx->errors < MAX_HINTS;
	const struct stmt *s = hint ? e->frame->fn->body.first : NULL;

	for (; s; s = s->next)
		for (uint32_t i = 0; i < s->ntargets && s->kind != S_LOST; i++)
			if (s->targets[i].name == name && s->span.begin > use.begin)
				return source_place(e->cx, s->targets[i].span.begin).line;
	return 0;
}

static uint32_t defined_in(struct elab *e, const struct ablock *b, const struct sym *name);

/* The line of a definition of the name in the blocks of the statements from s on; 0: there is none.
 * Blocks nest to a limit. */
static uint32_t defined_inside(struct elab *e, const struct stmt *s, const struct sym *name)
{
	uint32_t line = 0;

	for (; s && !line; s = s->next) {
		const struct aloop *loop = s->kind == S_LOOP || s->kind == S_FOR ? s->u.loop : NULL;
		for (const struct aitem *it = loop ? loop->items : NULL; it && !line; it = it->next)
			line = it->name == name ? source_place(e->cx, it->span.begin).line : 0;
		if (loop && !line)
			line = defined_in(e, &loop->body, name);
		for (const struct aif *a = s->kind == S_IF ? s->u.cond : NULL; a && !line;
		     a = a->next)
			line = defined_in(e, &a->body, name);
	}
	return line;
}

static uint32_t defined_in(struct elab *e, const struct ablock *b, const struct sym *name)
{
	for (const struct stmt *s = b->first; s; s = s->next)
		for (uint32_t i = 0; i < s->ntargets && s->kind != S_LOST; i++)
			if (s->targets[i].name == name)
				return source_place(e->cx, s->targets[i].span.begin).line;
	return defined_inside(e, b->first, name);
}

/* The line of a definition in a block that ended before the use; 0: there is none */
static uint32_t defined_in_block(struct elab *e, const struct sym *name, struct span use)
{
	bool hint = e->frame->fn && e->cx->errors < MAX_HINTS;
	const struct stmt *s = hint ? e->frame->fn->body.first : NULL;
	uint32_t line = 0;

	for (; s && s->next && s->next->span.begin <= use.begin && !line; s = s->next) {
		struct stmt one = *s;
		one.next = NULL;
		line = defined_inside(e, &one, name);
	}
	return line;
}

/* What to say of a name that has a letter like an operator, as a minus of U+2212 */
const char *operator_in_name(struct elab *e, const struct sym *name)
{
	for (size_t i = 0; i < name->len; i++) {
		const char *instead = operator_instead(name->s + i, name->len - i);
		if (instead)
			return arena_printf(e->cx->arena, ": %s", instead);
	}
	return NULL;
}

void report_undefined(struct elab *e, const struct cv *v)
{
	struct sym *name = v->u.sym;
	struct binding *b = find_value(e, name);

	if (b && b->missing) /* another operand of the same expression reported it */
		return;
	if (name->op || v->fn) {
		elab_error(e, v->span, E_UNDEFINED, "'%s' is not a value: call it, %s(...)",
			   name->s, name->s);
		return;
	}
	if (!strcmp(name->s, "pi") && !b) {
		elab_error(e, v->span, E_UNDEFINED, "'pi' is not defined: write %s",
			   op_instead(e->cx, name->s, true));
	} else if (e->frame->nameless) { /* a statement that could not be parsed may define it */
		e->frame->nameless--;
	} else if (e->frame->taken) { /* its definition seems to use another name */
		note(e->cx, e->frame->taken, v->span, "and '%s' is not defined", name->s);
		e->frame->taken = NULL;
	} else {
		const char *near = e->cx->errors < MAX_HINTS ? aliased_const(e, name) : NULL;
		near = near ? near : near_name(e, name);
		const char *more = may_be_comment(e, v->span) ? "; a comment begins with '#'" : "";
		const char *letter = operator_in_name(e, name);
		uint32_t line = defined_later(e, name, v->span);
		if (line)
			more = arena_printf(e->cx->arena, " yet: line %u defines it", line);
		else if ((line = defined_in_block(e, name, v->span)))
			more = arena_printf(e->cx->arena,
					    " here: line %u defines it in a block, which gives "
					    "only the names on its left",
					    line);
		more = letter ? letter : more;
		near = line || letter ? NULL : near;
		struct diag *d = elab_error(e, v->span, E_UNDEFINED, "'%s' is not defined%s%s%s%s",
					    name->s, near ? "; did you mean '" : "",
					    near ? near : "", near ? "'?" : "", more);
		e->frame->missing = line ? NULL : d;
	}
	bind_missing(e, name, v->span);
}

/* Are all names among the operands defined? false: reported */
bool all_defined(struct elab *e, const struct cv *items, uint32_t n)
{
	bool ok = true;

	for (uint32_t i = 0; i < n; i++) {
		if (items[i].kind != CV_SYM)
			continue;
		report_undefined(e, &items[i]);
		ok = false;
	}
	return ok;
}
