/*
 * format_line.c: breaks a statement into lines. In: its tokens, with the blanks between them. Out:
 * lines of at most WIDTH columns, where brackets allow that. A bracket that does not fit is broken:
 * each element gets a line of its own, two columns further in; elements that contain no brackets
 * fill lines instead. Of a bracket that contains one other bracket and nothing else, only the inner
 * one is broken: float64([ ... ]). A comment inside a bracket breaks the bracket and stays where it
 * is. The time is linear in the number of tokens.
 */
#include <string.h>

#include "syntax/internal.h"

#define WIDTH 100
#define MAX_INDENT                                                                                 \
	60 /* of brackets, and levels of blocks: deep nesting must not print blanks alone */
#define SMALL     20
#define MAX_ALIGN 80 /* code up to this column aligns its comments with its neighbours' */

struct group { /* a bracket that is broken, or hugs one that is */
	uint32_t close;
	uint32_t indent; /* of its elements */
	uint32_t outer;  /* of its closing bracket */
	bool fill, hug, flow;
};
struct layout {
	struct lines *out;
	struct ftoken *t;
	uint32_t n;
	uint32_t col;
	bool fresh;   /* only the indentation stands in the line */
	bool comment; /* a comment ends the line: nothing can follow in it */
	vec(struct group) groups;
};

void print_newline(struct lines *l)
{
	sb_add(&l->out, "\n", 1);
	l->line++;
	l->line_start = l->out.len;
}

void print_trailing(struct lines *l, const char *text, uint32_t len)
{
	struct trailing *t = vec_push(l->arena, &l->trailing);

	t->at = l->out.len;
	t->width = (uint32_t)(l->out.len - l->line_start);
	t->line = l->line;
	sb_add(&l->out, text, len);
}

static void indent_to(struct lines *l, uint32_t columns)
{
	static const char blanks[] =
		"                                                                ";

	for (uint32_t n; columns; columns -= n) {
		n = columns < sizeof(blanks) - 1 ? columns : (uint32_t)sizeof(blanks) - 1;
		sb_add(&l->out, blanks, n);
	}
}

/* Removes the dropped tokens; no other function here sees them. */
static void remove_dropped(ftokens *line)
{
	uint32_t n = 0, dropped = 0;

	for (uint32_t i = 0; i < line->len; i++)
		line->at[i].begin = line->at[i].flags & FT_DROPPED ? dropped++ : dropped;
	for (uint32_t i = 0; i < line->len; i++) {
		struct ftoken *t = &line->at[i];
		if (t->flags & FT_DROPPED)
			continue;
		if (t->match) /* the closing bracket moves as well; it is never dropped itself */
			t->match -= line->at[t->match].begin;
		line->at[n++] = *t;
	}
	line->len = n;
}

/* The columns that all tokens would have in one line. */
static void measure(struct layout *y)
{
	uint32_t col = 0;

	for (uint32_t i = 0; i < y->n; i++) {
		struct ftoken *t = &y->t[i];
		t->begin = col + (t->flags & FT_SPACE ? 1 : 0);
		if (t->kind == TOK_COMMENT)
			t->begin = col;
		else
			col = t->begin + t->len;
		t->end = col;
	}
}

static void break_line(struct layout *y, uint32_t indent)
{
	if (y->fresh && !y->comment)
		return;
	print_newline(y->out);
	indent_to(y->out, indent);
	y->col = indent;
	y->fresh = true;
	y->comment = false;
}

static struct group *inner(struct layout *y)
{
	return y->groups.len ? &y->groups.at[y->groups.len - 1] : NULL;
}

/* The end of what must follow in the line of the closing bracket i: the next place at which the
 * line can be broken. */
static uint32_t line_end(const struct layout *y, uint32_t i)
{
	uint32_t start = y->t[i].end;

	while (++i < y->n && !token_closes(y->t[i].kind)) {
		if (token_opens(y->t[i].kind) || y->t[i].kind == TOK_COMMA ||
		    y->t[i].end - start > WIDTH)
			return y->t[i].end;
	}
	return y->t[i - 1].end;
}

/* Does the content of the bracket i, which was just printed, fit into its line? In the header of a
 * definition or loop the first bracket is broken if anything does not fit. A small bracket is never
 * broken, as that gains nothing. */
static bool fits(const struct layout *y, uint32_t i)
{
	const struct ftoken *t = &y->t[i];
	uint32_t inside = y->t[t->match].end - t->end;

	if (t->flags & FT_FORCED)
		return false;
	if (inside < SMALL)
		return true;
	if (t->flags & FT_HEAD)
		return y->col + (y->t[y->n - 1].end - t->end) <= WIDTH;
	return y->col + (line_end(y, t->match) - t->end) <= WIDTH;
}

/* Breaks the bracket i, which was just printed. */
static void open_group(struct layout *y, uint32_t i, uint32_t base)
{
	const struct ftoken *t = &y->t[i];
	uint32_t at = inner(y) ? inner(y)->indent : base;
	struct group g = {.close = t->match, .indent = at + 2, .outer = at};

	if (g.indent > base + MAX_INDENT)
		g.indent = at;
	if (t->flags & FT_FLOW && !(t->flags & FT_FORCED)) {
		if (inner(y) && inner(y)->flow)
			return;
		g.indent = g.indent == at ? at : at + 4;
		g.flow = g.hug = true;
		*vec_push(y->out->arena, &y->groups) = g;
		return;
	}
	g.fill = !(t->flags & FT_NESTED);
	g.hug = token_opens(y->t[i + 1].kind) && y->t[i + 1].match + 1 == t->match;
	if (g.hug)
		g.indent = at;
	*vec_push(y->out->arena, &y->groups) = g;
	if (!g.hug && y->t[i + 1].kind != TOK_COMMENT && g.close != i + 1)
		break_line(y, g.indent);
}

/* After a comma of the innermost broken bracket: begins a new line, or goes on. */
static void next_element(struct layout *y, uint32_t i)
{
	const struct group *g = inner(y);
	uint32_t end = i + 1;

	if (!g->fill) {
		if (y->t[end].kind != TOK_COMMENT)
			break_line(y, g->indent);
		return;
	}
	/* elements have no brackets: the next comma or the end is theirs */
	while (end < g->close && y->t[end].kind != TOK_COMMA &&
	       y->t[end].end - y->t[i].end <= WIDTH)
		end++;
	if (y->t[i + 1].kind != TOK_COMMENT &&
	    y->col + (y->t[end < g->close ? end : end - 1].end - y->t[i].end) > WIDTH)
		break_line(y, g->indent);
}

/* How tightly an infix operator binds, as in the grammar's %left lines. */
static int tightness(int kind)
{
	switch (kind) {
	case TOK_OR:
		return 1;
	case TOK_XOR:
		return 2;
	case TOK_AND:
		return 3;
	case TOK_ADD:
	case TOK_SUB:
		return 4;
	case TOK_POW:
		return 6;
	default:
		return kind >= TOK_EQ && kind <= TOK_GE ? 0 : 5;
	}
}

/* The end of all that the infix operator i is applied to on its right: it ends before an operator
 * that binds no tighter, or behind the parentheses round both, those of the group too. Of more than
 * WIDTH columns it is some end that is too far. */
static uint32_t operand_end(const struct layout *y, uint32_t i, uint32_t close)
{
	uint32_t start = y->t[i].begin, k = i + 1;

	while (k < close && y->t[k].end - start <= WIDTH) {
		const struct ftoken *t = &y->t[k];
		if (t->flags & FT_BINARY && tightness(t->kind) <= tightness(y->t[i].kind))
			break;
		if (token_closes(t->kind)) {
			while (k < close && token_closes(y->t[k].kind))
				k++;
			break;
		}
		k = token_opens(t->kind) ? t->match + 1 : k + 1;
	}
	return y->t[k == close ? close : k - 1].end;
}

/* Before an operator in parentheses that are too long: does its operand still fit? Of one that is
 * too long for any line, in parentheses of its own, what stands before their first operator must.
 */
static void next_operator(struct layout *y, uint32_t i)
{
	const struct group *g = inner(y);
	const struct ftoken *next = &y->t[i + 1];
	uint32_t start = y->t[i - 1].end, end = operand_end(y, i, g->close), k = i + 1;

	if (next->flags & FT_FLOW && g->indent + (y->t[next->match].end - y->t[i].begin) > WIDTH) {
		while (k < g->close && !(y->t[k].flags & FT_BINARY) && y->t[k].end - start <= WIDTH)
			k = token_opens(y->t[k].kind) && !(y->t[k].flags & FT_FLOW)
				    ? y->t[k].match + 1
				    : k + 1;
		end = y->t[k - 1].end;
	}
	if (y->col + (end - start) > WIDTH)
		break_line(y, g->indent);
}

static void put_comment(struct layout *y, const struct ftoken *t)
{
	uint32_t indent = inner(y) ? inner(y)->indent : 0;

	if (y->comment || (t->flags & FT_OWN_LINE && !y->fresh))
		break_line(y, indent);
	if (y->fresh)
		sb_add(&y->out->out, t->text, t->len);
	else
		print_trailing(y->out, t->text, t->len);
	y->fresh = false;
	y->comment = true;
}

static void put_token(struct layout *y, uint32_t i)
{
	const struct ftoken *t = &y->t[i];
	struct group *g = inner(y);

	if (g && g->close == i) {
		if (!g->hug && i && !token_opens(y->t[i - 1].kind))
			break_line(y, g->outer);
		else if (y->comment)
			break_line(y, g->outer);
		y->groups.len--;
	} else if (y->comment) {
		break_line(y, g ? g->indent : 0);
	}
	if (t->flags & FT_SPACE && !y->fresh) {
		sb_add(&y->out->out, " ", 1);
		y->col++;
	}
	sb_add(&y->out->out, t->text, t->len);
	y->col += t->len;
	y->fresh = false;
}

void print_line(struct lines *l, ftokens *tokens, uint32_t indent)
{
	struct layout y = {.out = l, .fresh = true};
	uint32_t base = (indent < MAX_INDENT ? indent : MAX_INDENT) * 2,
		 flat = 0; /* tokens before `flat` stay in the line */

	remove_dropped(tokens);
	y.t = tokens->at;
	y.n = tokens->len;
	indent_to(l, base);
	y.col = base;
	measure(&y);
	for (uint32_t i = 0; i < y.n; i++) {
		const struct ftoken *t = &y.t[i];
		if (t->kind == TOK_COMMENT) {
			put_comment(&y, t);
			continue;
		}
		if (i >= flat && t->flags & FT_BINARY && inner(&y) && inner(&y)->flow)
			next_operator(&y, i);
		put_token(&y, i);
		if (i < flat)
			continue;
		if (token_opens(t->kind)) {
			if (fits(&y, i))
				flat = t->match + 1;
			else
				open_group(&y, i, base);
		} else if (t->kind == TOK_COMMA && inner(&y) && !inner(&y)->flow) {
			next_element(&y, i);
		}
	}
}

/* Aligns comments after code in neighbouring lines. */
char *align_trailing(struct lines *l, size_t *len)
{
	struct strbuf b = {.arena = l->arena};
	const char *text = l->out.s ? l->out.s : "";
	size_t done = 0;

	for (uint32_t i = 0, j; i < l->trailing.len; i = j) {
		const struct trailing *t = l->trailing.at;
		uint32_t column = 0;
		for (j = i; j < l->trailing.len && t[j].line - t[i].line == j - i; j++)
			if (t[j].width > column)
				column = t[j].width;
		for (uint32_t k = i; k < j; k++) {
			uint32_t pad = column > MAX_ALIGN ? 2 : column - t[k].width + 2;
			sb_add(&b, text + done, t[k].at - done);
			sb_printf(&b, "%*s", (int)pad, "");
			done = t[k].at;
		}
	}
	sb_add(&b, text + done, l->out.len - done);
	*len = b.len;
	return b.s;
}
