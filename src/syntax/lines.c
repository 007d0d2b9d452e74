/*
 * lines.c: guesses about a text with mistakes, for filter.c and skip.c. In: a token or a place.
 * Out: what the characters around it look like. lines.c reads no tokens and changes nothing.
 */
#include <string.h>

#include "syntax/internal.h"

/* The end of the line of `at`. The last answer is kept, as a line may be a whole text with a
 * mistake in each token. */
static uint32_t line_end(struct parse *p, uint32_t at)
{
	if (!p->line_end || at < p->line_at || at > p->line_end) {
		const char *from = p->text + (at - p->base);
		const char *end = memchr(from, '\n', p->len - (at - p->base));
		p->line_at = at;
		p->line_end = p->base + (end ? (uint32_t)(end - p->text) : p->len);
	}
	return p->line_end;
}

bool told_in_line(struct parse *p, uint32_t at)
{
	return p->told && p->told <= at && at <= line_end(p, p->told);
}

const char *text_behind(struct parse *p, struct span s)
{
	const char *at = p->text + (s.end - p->base), *end = p->text + p->len;

	while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
		at++;
	return at < end ? at : "\n";
}

/* Does the text at `at`, which text_behind() gave, begin with the word? */
bool text_starts(const struct parse *p, const char *at, const char *word)
{
	size_t n = strlen(word);

	return *at != '\n' && (size_t)(p->text + p->len - at) >= n && !memcmp(at, word, n);
}

bool begins_name(char c)
{
	return c == '_' || c == '`' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (unsigned char)c >= 0x80;
}

/* Does the token's line begin `a =` or `a, b =`? */
bool line_assigns(struct parse *p, struct span s)
{
	const char *at = text_behind(p, s), *end = p->text + p->len;

	if (*at == ',')
		while (at < end && (begins_name(*at) || strchr(" ,0123456789", *at)))
			at++;
	return at < end && *at == '=' && !text_starts(p, at, "==");
}

/* Is what follows the token in its line the word "in"? */
bool text_is_in(struct parse *p, struct span s)
{
	return text_starts(p, text_behind(p, s), "in ");
}

bool token_is_word(int kind)
{
	return kind >= TOK_PTG && kind <= TOK_IN;
}

bool token_ends_value(int kind)
{
	return token_is_word(kind) || (kind >= TOK_NONE && kind <= TOK_STR) || kind == TOK_NAME ||
	       kind == TOK_RPAREN || kind == TOK_RBRACKET || kind == TOK_RPROPS ||
	       kind == TOK_ANY || kind == TOK_ELLIPSIS;
}

/* Does nothing, or 'else', follow in the line of a brace? Then it is not one of properties. */
bool brace_ends_line(struct parse *p, struct span s)
{
	const char *at = text_behind(p, s);

	return *at == '\n' || *at == '#' || text_starts(p, at, "else");
}

bool brace_ends_block(struct parse *p, struct span s)
{
	return *text_behind(p, s) == '}' || brace_ends_line(p, s);
}

uint32_t text_indent(const struct parse *p, uint32_t at)
{
	uint32_t begin = at - p->base;

	while (begin && p->text[begin - 1] != '\n')
		begin--;
	for (at = begin; at < p->len && (p->text[at] == ' ' || p->text[at] == '\t');)
		at++;
	return at - begin;
}

/* A line that begins with a word of another language. */
bool line_is_foreign(const struct parse *p)
{
	const char *at = p->text + p->pos, *end = p->text + p->len;

	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	return at < end && text_starts(p, at, "for ");
}

bool line_defines(struct parse *p, const struct token *t)
{
	return (t->kind == TOK_GRAPH || t->kind == TOK_FN) && begins_name(*text_behind(p, t->span));
}

/* Does a line that begins with this token look like a statement? */
bool line_states(struct parse *p, const struct token *t)
{
	const char *next = text_behind(p, t->span);

	if (t->kind == TOK_IF)
		return true;
	if (t->kind != TOK_NAME && !token_is_word(t->kind))
		return false;
	if (strchr("+-*/%@&|^", *next) && p->text + p->len - next > 1 && next[1] == '=')
		next++; /* x += 1 has a message of its own */
	return strchr("=,:", *next) || begins_name(*next);
}
