/*
 * skip.c: after a mistake was reported, tokens that do not reach the grammar. In: tokens. Out:
 * which ones are passed on. A statement is skipped with the brackets and blocks that it opens, up
 * to a line that looks like another statement, so that one mistake gives one message.
 */
#include <string.h>

#include "syntax/internal.h"

/*
 * A mistake in a statement was reported, at the token that was passed on last. Skips the rest of
 * the statement, with the blocks that it opens, up to a line that looks like a statement again.
 */
void filter_skip(struct parse *p)
{
	if (p->nqueue || p->closing || p->prev == TOK_NL)
		return;
	p->skip = true;
	p->skip_props = p->skip_blocks = p->skip_brackets = 0;
	if (p->prev == TOK_LBRACE) {
		bool block = brace_ends_line(p, p->prev_span);
		p->skip_blocks += block;
		p->skip_props += !block;
		p->depth--;
	}
	for (; !in_block(p); p->depth--) {
		p->skip_props += top(p)->kind == TOK_LPROPS;
		p->skip_brackets += top(p)->kind != TOK_LPROPS;
	}
	p->skipped = p->prev;
	p->prev = TOK_PTG_error;
	p->head = 0;
}

/* A header ended without its {. Skips the lines after it that are indented further: the block that
 * was meant. */
void filter_skip_body(struct parse *p)
{
	if (!p->has_held ||
	    text_indent(p, p->held.span.begin) <= text_indent(p, p->first_span.begin))
		return;
	p->skip = true;
	p->skip_props = p->skip_brackets = 0;
	p->skip_blocks = 1;
}

void filter_skip_lines(struct parse *p)
{
	p->skip = p->has_held && p->depth;
	p->skip_props = p->skip_brackets = p->skip_blocks = 0;
}

/* Is the line of t indented further than the statement that is skipped? Then it belongs to that. */
static bool is_indented(const struct parse *p, const struct token *t)
{
	return text_indent(p, t->span.begin) > text_indent(p, p->first_span.begin);
}

static bool is_outdented(const struct parse *p, const struct token *t)
{
	return text_indent(p, t->span.begin) < text_indent(p, p->first_span.begin);
}

/* Does t begin the first line after the skipped statement, although brackets are still open? */
static bool skipped_all(struct parse *p, const struct token *t)
{
	bool open = p->skip_brackets || p->skip_props;

	if (line_defines(p, t))
		return true;
	if (p->skip_blocks)
		return false;
	if (t->kind == TOK_RBRACE)
		return brace_ends_block(p, t->span) || is_outdented(p, t);
	if (!open)
		return p->depth == 0 || (line_states(p, t) && !is_indented(p, t));
	return t->kind == TOK_IF || ((t->kind == TOK_NAME || token_is_word(t->kind)) &&
				     line_assigns(p, t->span) && !is_indented(p, t));
}

static enum skipping skip_brace(struct parse *p, const struct token *t)
{
	if (p->skip_props) {
		p->skip_props--;
		p->skipped = TOK_RPROPS;
	} else if (p->skip_blocks)
		p->skip_blocks--;
	else if (brace_ends_block(p, t->span))
		return SKIP_ENDS;
	return SKIPPED;
}

enum skipping filter_skipped(struct parse *p, const struct token *t)
{
	bool first = p->line_start && t->kind != TOK_NL;
	uint32_t *open = &p->skip_brackets;

	if (t->kind == TOK_ELSE && p->depth && top(p)->of_if && !p->skip_blocks &&
	    p->skipped != TOK_RBRACE &&
	    (*text_behind(p, t->span) == '{' || text_starts(p, text_behind(p, t->span), "if ")))
		return SKIP_ENDED_BEFORE;
	if (first && skipped_all(p, t))
		return SKIP_ENDED_BEFORE;
	p->line_start = t->kind == TOK_NL;
	if (!p->line_start)
		p->skipped = t->kind;
	switch (t->kind) {
	case TOK_LPAREN:
	case TOK_LBRACKET:
		++*open;
		return SKIPPED;
	case TOK_RPAREN:
	case TOK_RBRACKET:
		*open -= *open != 0;
		return SKIPPED;
	case TOK_LBRACE:
	case TOK_LPROPS:
		if (brace_ends_line(p, t->span))
			p->skip_blocks++;
		else
			p->skip_props++;
		return SKIPPED;
	case TOK_RBRACE:
		return skip_brace(p, t);
	case TOK_NL:
		if (*open || p->skip_props || p->skip_blocks)
			return SKIPPED;
		return p->depth && !line_is_foreign(p) ? SKIPPED : SKIP_ENDS;
	default:
		return t->kind == TOK_END ? SKIP_ENDS : SKIPPED;
	}
}
