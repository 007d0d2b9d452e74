/*
 * unread.c: the body without variables that nobody reads: formulas that were printed for their
 * place alone, and what blocks give or carry. In: its lines. Out: those that something needs, and
 * p->read, the names that run() reads.
 */
#include <string.h>

#include "c/internal.h"

struct setting { /* a line `name = ...;` of a variable that the body defines */
	bool is_one;
	bool kept;
	uint32_t before; /* the setting of the same variable before it: line + 1; 0: none */
};
struct needs {
	struct printer *p;
	const struct body *b;
	struct setting *of; /* by line */
	struct words own;   /* variables that have settings */
	vec(uint32_t) last; /* by number of an own name: its last setting, line + 1 */
};

/* What the line gives the variable that it names first, in `name = ...;` or `type name = ...;`;
 * NULL: it is another line */
static const char *value_in(const struct code_line *l)
{
	const struct mention *m = l->names.at;

	if (!l->names.len || (m->at && !l->defines) || begins_with(l->text, "for ("))
		return NULL;
	const char *s = l->text + m->at + m->name->len;
	s += *s == ' ';
	s += strspn(s, "+-*");
	return strncmp(s, "= ", 2) ? NULL : s + 2;
}

/* A function gets a place to write to. */
static bool writes(const struct code_line *l)
{
	for (uint32_t i = 0; i < l->names.len; i++)
		if (l->names.at[i].address)
			return true;
	return false;
}

static void keep_line(struct needs *n, uint32_t i)
{
	const struct code_line *l = &n->b->lines.at[i];

	if (n->of[i].kept)
		return;
	n->of[i].kept = true;
	for (uint32_t k = n->of[i].is_one; k < l->names.len; k++)
		add_sym(n->p, &n->p->read, l->names.at[k].name);
}

/* Keeps what is no setting, or more than one. */
static void find_settings(struct needs *n)
{
	bool head = false; /* of an if or a loop without braces: it needs the line behind it */

	for (uint32_t i = 0; i < n->b->lines.len; i++) {
		const struct code_line *l = &n->b->lines.at[i];
		uint32_t k = UINT32_MAX;
		if (!head && value_in(l))
			k = l->defines ? add_sym(n->p, &n->own, l->names.at[0].name)
				       : sym_number(&n->own, l->names.at[0].name);
		if (k == n->last.len)
			vec_push(n->p->cx->arena, &n->last);
		if (k != UINT32_MAX) {
			n->of[i] = (struct setting){.is_one = true, .before = n->last.at[k]};
			n->last.at[k] = i + 1;
		}
		if (k == UINT32_MAX || writes(l))
			keep_line(n, i);
		head = l->len && l->text[l->len - 1] == ')';
	}
}

/* Each variable has one name, and each name one variable: all settings of a name that is read are
 * needed. */
static void keep_settings_of_read(struct needs *n)
{
	for (uint32_t r = 0; r < n->p->read.at.len; r++) {
		uint32_t k = sym_number(&n->own, n->p->read.at.at[r]);
		for (uint32_t i = k == UINT32_MAX ? 0 : n->last.at[k]; i; i = n->of[i - 1].before)
			keep_line(n, i - 1);
	}
}

/* What it calls is needed, not what that gives. */
static struct code_line call_alone(struct printer *p, const struct code_line *l)
{
	struct strbuf call = {.arena = p->cx->arena};
	const char *value = value_in(l);

	add_tabs(&call, l->tabs);
	sb_str(&call, "(void)");
	sb_add(&call, value, (size_t)(l->text + l->len + 1 - value));
	return read_line(p, call.s);
}

void drop_unread_lines(struct printer *p, struct body *b)
{
	struct needs n = {.p = p, .b = b};
	uint32_t kept = 0;

	n.of = new_array(p->cx->arena, struct setting, b->lines.len + 1u);
	find_settings(&n);
	for (uint32_t i = 0; i < p->buffers.len; i++) /* room for them is taken */
		add_names(p, &p->read, p->buffers.at[i].count);
	keep_settings_of_read(&n);
	for (uint32_t i = 0; i < b->lines.len; i++) {
		const struct code_line *l = &b->lines.at[i];
		if (!n.of[i].kept)
			continue;
		bool unread =
			n.of[i].is_one && sym_number(&p->read, l->names.at[0].name) == UINT32_MAX;
		b->lines.at[kept++] = unread ? call_alone(p, l) : *l;
	}
	b->lines.len = kept;
}
