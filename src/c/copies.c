/*
 * copies.c: loops that only copy, as calls. In: the lines of run(). Out: the same, with a call of
 * ptgc_copy() for `for (...; j < 10; ++j) a[(i * 32) + (4 + j)] = b[(i * 10) + j]`. At -O3 gcc does
 * so by itself, but long files ask for less.
 */
#include <string.h>

#include "c/internal.h"

#define SHORT_COPY 8 /* elements: a loop takes no longer */

/* Are the places that the index counts, of `len` characters, one behind the other as the variable
 * grows? Yes where it is added, and the sum is only added to others: `(i * 32) + (4 + j)`. Then
 * *first is the text of the first place. */
static bool counts_by_one(struct printer *p, const char *index, size_t len, const char *variable,
			  const char **first)
{
	const char *s = textf(p, "%.*s", (int)len, index), *at = NULL;
	size_t n = strlen(variable);

	for (const char *w = s; *w; w += word_length(w) ? word_length(w) : 1)
		if (word_length(w) == n && !memcmp(w, variable, n)) {
			if (at)
				return false;
			at = w;
		}
	*first = "";
	if (at == s && len == n)
		return true;
	if (!at || at - s < 3 || memcmp(at - 3, " + ", 3) || strpbrk(s, "[?,") ||
	    at[n + strspn(at + n, ")")])
		return false;
	uint32_t closed = 0;
	for (const char *c = at; c > s; c--) { /* the parentheses around it */
		if (c[-1] == ')')
			closed++;
		if (c[-1] != '(' || (closed && closed--))
			continue;
		const char *open = c - 1;
		if (open != s && open[-1] != '(' && (open - s < 3 || memcmp(open - 3, " + ", 3)))
			return false;
	}
	*first = textf(p, " + %.*s%s", (int)(at - 3 - s), s, at + n);
	return true;
}

/* An element `a[index]` where the variable counts: its array, and the text of the first place */
struct side {
	const struct sym *name;
	const char *first;
};

/* Reads the side at s, in the line l, which ends with `end`; behind it, or NULL: it is something
 * else */
static const char *read_side(struct printer *p, const struct code_line *l, const char *s,
			     const char *end, const char *variable, struct side *side)
{
	const struct mention *m = l->names.at, *none = m + l->names.len;

	while (m < none && l->text + m->at != s)
		m++;
	if (m == none)
		return NULL;
	side->name = m->name;
	const char *index = s + m->name->len, *close;
	if (*index++ != '[' || !(close = strstr(index, end)) || close >= l->text + l->len ||
	    !counts_by_one(p, index, (size_t)(close - index), variable, &side->first))
		return NULL;
	return close + strlen(end);
}

/* The type of elements of an array, if that is its type as a parameter */
static const char *element_type(const char *type)
{
	return type && strchr(type, '*') ? behind(type, "const ") : NULL;
}

/* Is the line perhaps `a[...] = b[...];`? */
static bool is_copy(const struct code_line *l)
{
	return l->names.len > 1 && l->text[l->names.at[0].name->len] == '[' && l->len > 2 &&
	       l->text[l->len - 2] == ']';
}

/* What stands behind the text `with` at s; NULL: it is not there */
static const char *after(const char *s, const char *with)
{
	return s && begins_with(s, with) ? s + strlen(with) : NULL;
}

/* The bound of the loop `for (int64_t i = 0; i < BOUND; ++i) {`, as a text; NULL: it is another
 * line */
static const char *bound_of(struct printer *p, const struct code_line *l)
{
	const char *s = after(l->text, "for (int64_t ");
	const char *variable = s ? l->names.at[0].name->s : "";

	const char *most = after(after(after(after(s, variable), " = 0; "), variable), " < ");
	const char *end = most ? find_in_line(l, "; ++") : NULL;
	if (!after(after(after(end, "; ++"), variable), ") {"))
		return NULL;
	return textf(p, "%.*s", (int)(end - most), most);
}

/* The call for the loop of three lines at l, with its tabs; NULL: it does more than to copy */
static const char *copy_of(struct printer *p, const char *const *types, const struct code_line *l)
{
	struct side to, from;
	int64_t count;

	if (!is_copy(&l[1]) || l[2].tabs != l->tabs || *l[2].text != '}')
		return NULL;
	const char *most = bound_of(p, l);
	if (!most || (is_number_text(most, &count) && count < SHORT_COPY))
		return NULL;
	const char *variable = l->names.at[0].name->s;
	const char *s = read_side(p, &l[1], l[1].text, "] = ", variable, &to);
	s = s ? read_side(p, &l[1], s, "];", variable, &from) : NULL;
	if (!s || *s != '\n' || to.name == from.name)
		return NULL;
	const char *type = element_type(types[to.name->number]),
		   *other = element_type(types[from.name->number]);
	if (!type || !other || strcmp(type, other))
		return NULL;
	struct strbuf call = {.arena = p->cx->arena};
	add_tabs(&call, l->tabs);
	sb_printf(&call, "ptgc_copy(%s%s, %s%s, %s, sizeof(*%s));\n", to.name->s, to.first,
		  from.name->s, from.first, most, to.name->s);
	return call.s;
}

void copies_as_calls(struct printer *p, const char *const *types, struct body *b)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->lines.len; i++) {
		const struct code_line *l = &b->lines.at[i];
		const char *call = i + 2 < b->lines.len ? copy_of(p, types, l) : NULL;
		b->lines.at[n++] = call ? read_line(p, call) : *l;
		i += call ? 2 : 0;
	}
	b->lines.len = n;
}
