/*
 * copies.c: loops that only copy, as calls. In: a body of run(). Out: the same, with a call of
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

/* The type of the elements of the array with that name; NULL: it is none that has a name outside */
static const char *element_type(struct printer *p, const struct variables *known, const char *name,
				size_t len)
{
	uint32_t k = word_number(p, &known->words, name, len);
	const char *type = k == UINT32_MAX ? "" : known->at.at[k].type;

	if (!strchr(type, '*'))
		return NULL;
	return !strncmp(type, "const ", 6) ? type + 6 : type;
}

/* An element `a[index]` where the variable counts: its array, and the text of the first place */
struct side {
	const char *name, *first;
	size_t len;
};

/* Reads the side at s, which ends with `end`; behind it, or NULL: it is something else */
static const char *read_side(struct printer *p, const char *s, const char *end,
			     const char *variable, struct side *side)
{
	side->name = s;
	side->len = word_length(s);
	const char *index = s + side->len, *close;

	if (!side->len || *index++ != '[' || !(close = find_in_line(index, end)) ||
	    !counts_by_one(p, index, (size_t)(close - index), variable, &side->first))
		return NULL;
	return close + strlen(end);
}

/* The call for the loop that begins with the line at s, and where the loop ends; NULL: it does more
 * than to copy */
static const char *copy_of(struct printer *p, const struct variables *known, const char *s,
			   const char **end)
{
	size_t tabs = strspn(s, "\t");
	struct side to, from;
	int64_t count;

	s += tabs;
	if (strncmp(s, "for (int64_t ", 13))
		return NULL;
	const char *variable = textf(p, "%.*s", (int)word_length(s + 13), s + 13);
	const char *head = textf(p, "for (int64_t %s = 0; %s < ", variable, variable);
	const char *tail = textf(p, "; ++%s) {", variable), *most = s + strlen(head);
	if (strncmp(s, head, strlen(head)) || !(s = find_in_line(most, tail)))
		return NULL;
	most = textf(p, "%.*s", (int)(s - most), most);
	if (is_number_text(most, &count) && count < SHORT_COPY)
		return NULL;
	s += strlen(tail) + 1;
	s = read_side(p, s + strspn(s, "\t"), "] = ", variable, &to);
	s = s ? read_side(p, s, "];", variable, &from) : NULL;
	const char *close = textf(p, "\n%.*s}\n", (int)tabs, TABS);
	if (!s || strncmp(s, close, strlen(close)))
		return NULL;
	*end = s + strlen(close);
	const char *type = element_type(p, known, to.name, to.len),
		   *other = element_type(p, known, from.name, from.len);
	if (!type || !other || strcmp(type, other) ||
	    (to.len == from.len && !memcmp(to.name, from.name, to.len)))
		return NULL;
	return textf(p, "ptgc_copy(%.*s%s, %.*s%s, %s, sizeof(*%.*s));\n", (int)to.len, to.name,
		     to.first, (int)from.len, from.name, from.first, most, (int)to.len, to.name);
}

const char *with_copies(struct printer *p, const struct variables *known, const char *body)
{
	struct strbuf out = {.arena = p->cx->arena};

	for (const char *s = body, *end; *s; s = end) {
		const char *call = copy_of(p, known, s, &end);
		if (call) {
			sb_add(&out, s, strspn(s, "\t"));
			sb_str(&out, call);
			continue;
		}
		end = next_line(s);
		sb_add(&out, s, (size_t)(end - s));
	}
	return out.s ? out.s : "";
}
