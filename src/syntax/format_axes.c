/*
 * format_axes.c: one spelling for the axes of an op, which can be written as `axis` or `axes`, as
 * an integer, a list or a tuple. In: the tokens of a statement up to the end of a call's
 * properties. Out: the same tokens, with one axis as axis=1 and several as axes=[0, 2], as dprint
 * shows them. A name may stand for one axis or several, so it stays as it is.
 */
#include <string.h>

#include "syntax/internal.h"

static bool is_text(const struct ftoken *t, const char *text)
{
	return t->len == strlen(text) && !memcmp(t->text, text, t->len);
}

static void drop(struct ftoken *t)
{
	*t = (struct ftoken){.text = "", .flags = FT_DROPPED};
}

static void respell(struct ftoken *t, uint16_t kind, const char *text)
{
	t->kind = kind;
	t->text = text;
	t->len = (uint32_t)strlen(text);
}

/* The value [first, end) of the property `key`. */
static void one_spelling(struct ftoken *key, struct ftoken *first, struct ftoken *end)
{
	struct ftoken *last = end - 1;
	bool round = first->kind == TOK_LPAREN, list = round || first->kind == TOK_LBRACKET;
	uint32_t elements = 0;

	if (first->kind == TOK_NONE && last == first)
		respell(key, TOK_NAME, "axes");
	if ((first->kind == TOK_INT && last == first) ||
	    (first->kind == TOK_SUB && last == first + 1 && last->kind == TOK_INT))
		respell(key, TOK_NAME, "axis");
	if (!list || (last->kind != TOK_RPAREN && last->kind != TOK_RBRACKET))
		return;
	for (const struct ftoken *t = first + 1; t < last; t++) {
		if (t->kind != TOK_INT && t->kind != TOK_SUB && t->kind != TOK_COMMA)
			return; /* a comment, or a value that only the elaborator knows */
		elements += t->kind == TOK_INT;
	}
	if (last[-1].kind == TOK_COMMA)
		drop(&last[-1]); /* of a tuple of one */
	if (elements == 1) {
		respell(key, TOK_NAME, "axis");
		drop(first);
		drop(last);
		return;
	}
	respell(key, TOK_NAME, "axes");
	respell(first, TOK_LBRACKET, "[");
	respell(last, TOK_RBRACKET, "]");
	first->flags &= (uint16_t)~FT_FLOW;
}

void canonical_axes(struct ctx *cx, has_axes_t *has_axes, struct ftoken *line, uint32_t open)
{
	const struct ftoken *name = open ? &line[open - 1] : NULL;
	struct sym *op = name && name->kind == TOK_NAME ? intern(cx, name->text, name->len) : NULL;
	struct ftoken *t = line + open + 1, *close = line + line[open].match;
	bool nested = false;

	if (!op || !op->op || !has_axes(cx, op->op))
		return;
	while (t < close) {
		struct ftoken *end = t;
		uint32_t depth = 0;
		for (; end < close && (depth || end->kind != TOK_COMMA); end++) {
			depth += token_opens(end->kind);
			depth -= token_closes(end->kind);
		}
		if (end - t > 2 && t->kind == TOK_NAME && t[1].kind == TOK_ASSIGN &&
		    (is_text(t, "axis") || is_text(t, "axes")))
			one_spelling(t, t + 2, end);
		for (; t < end; t++)
			nested |= token_opens(t->kind);
		t++;
	}
	if (!nested)
		line[open].flags &= (uint16_t)~FT_NESTED;
}
