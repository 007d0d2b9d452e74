/*
 * filter.c: between scanner and grammar. In: the scanner's tokens, with every newline. Out: one NL
 * after each statement and none elsewhere; the braces of blocks and of properties ({p, }p) are
 * different tokens. The filter drops newlines inside ( [ {p, at the start, after a block's {,
 * before `else`, and where a header goes on. It adds one before a block's } and at the end of the
 * file.
 *
 * The filter keeps the stack of open brackets, so it notices one that is never closed: it reports
 * the opening bracket, pops it, and passes YYerror and added tokens to the grammar, which then
 * goes on where the text makes sense again. These tokens wait in a queue, the last one first.
 */
#include <string.h>

#include "syntax/internal.h"

static void queue(struct parse *p, int kind)
{
	p->queue[p->nqueue++] = (uint8_t)kind;
}

/* Queued kinds fit a byte: 0 is YYerror, others are offsets from TOK_NL. */
enum { Q_ERROR, Q_NL, Q_LBRACE, Q_RBRACE, Q_COMMA };

static int unqueue(struct parse *p)
{
	static const int kinds[] = {
		[Q_ERROR] = TOK_PTG_error, [Q_NL] = TOK_NL,       [Q_LBRACE] = TOK_LBRACE,
		[Q_RBRACE] = TOK_RBRACE,   [Q_COMMA] = TOK_COMMA,
	};

	return kinds[p->queue[--p->nqueue]];
}

static struct span bracket_span(const struct bracket *b)
{
	return (struct span){b->at, b->at + 1};
}

static void blame_brace(struct parse *p, uint32_t at)
{
	parse_error(p, (struct span){at, at + 1}, E_BRACE,
		    "a blank is missing before '{': a '{' that touches the name opens properties, "
		    "not a block");
}

/* Was a mistake inside the bracket reported? It may be why the bracket is not closed. */
static bool told_inside(const struct parse *p, const struct bracket *b)
{
	uint32_t told = p->told > p->lexed ? p->told : p->lexed;

	return (p->head && p->head_told && b->at >= p->head_at) || (told && told >= b->at);
}

static void unclosed(struct parse *p, const struct bracket *b, struct span noticed)
{
	char c = p->text[b->at - p->base];
	struct diag *d;

	if (b->in_head) {
		blame_brace(p, b->at);
		return;
	}
	if (told_inside(p, b))
		return;
	d = parse_error(p, bracket_span(b), E_UNCLOSED, "this '%c' is never closed", c);
	if (d && noticed.end > noticed.begin)
		note(p->cx, d, noticed, "noticed here");
	if (p->told < b->at)
		p->told = b->at;
	p->head_told = true;
}

/* Pops what is open down to the nearest block, reporting the innermost bracket. */
static void pop_to_block(struct parse *p, struct span noticed)
{
	bool head = top(p)->in_head;

	unclosed(p, top(p), noticed);
	while (p->depth && top(p)->kind != TOK_LBRACE)
		p->depth--;
	if (head) { /* the lines inside are statements of the block that was meant */
		p->brackets[p->depth++] = (struct bracket){.at = noticed.begin, .kind = TOK_LBRACE};
		p->head = 0;
		queue(p, Q_LBRACE);
	} else {
		queue(p, Q_NL);
	}
	queue(p, Q_ERROR);
}

/* Does the bracket, of properties, of a loop's header or of arguments, end further on as it should?
 * Then no line inside it is a statement. */
static bool ends_well(const struct parse *p, const struct bracket *b, uint32_t from)
{
	const char *at = p->text + (from - p->base), *end = p->text + p->len;
	uint32_t open = 0;

	end = end - at > 4096 ? at + 4096 : end; /* it is only a guess */
	bool call = b->kind == TOK_LPAREN && !b->loop_head;
	for (; at < end; at++) {
		if (*at == '#' || *at == '"' || *at == '\'' || *at == '`') {
			char close = *at == '#' ? '\n' : *at;
			at = memchr(at + 1, close, (size_t)(end - at - 1));
			if (!at)
				return false;
		} else if (*at == '(' || *at == '[' || *at == '{') {
			open++;
		} else if ((*at == ')' || *at == ']' || *at == '}') && !open--) {
			if (call)
				return *at == ')';
			for (at++; at < end && *at == ' ';)
				at++;
			return at < end && (b->loop_head ? *at == '-' || *at == 'w'
							 : strchr("(,)]}", *at) != NULL);
		}
	}
	return false;
}

/* Can any line inside the bracket begin with `name =`? */
static bool has_settings(const struct bracket *b)
{
	return b->kind == TOK_LPROPS || b->loop_head;
}

/* Can the line of the token, inside the bracket, begin with `name =`? In a call it may be k=3. */
static bool names_value(const struct parse *p, const struct bracket *b, const struct token *t)
{
	bool listed = p->prev == TOK_COMMA || p->prev == b->kind;

	if (has_settings(b))
		return listed || ends_well(p, b, t->span.begin);
	return b->kind == TOK_LPAREN && ends_well(p, b, t->span.begin);
}

/* Is this line, inside ( [ or {p, one that can only be a new statement? Then a bracket is not
 * closed. */
static bool new_statement(struct parse *p, const struct token *t)
{
	if (t->kind == TOK_IF)
		return true;
	if (t->kind != TOK_NAME && !token_is_word(t->kind))
		return false;
	if (line_assigns(p, t->span))
		return !names_value(p, top(p), t);
	switch (t->kind) {
	case TOK_GRAPH:
	case TOK_FN:
	case TOK_STATE:
	case TOK_NEXT:
		return begins_name(*text_behind(p, t->span)) && !text_is_in(p, t->span);
	default:
		return false;
	}
}

/* Closes all open blocks in place of the user: NL } for each, and a last NL. */
static void close_blocks(struct parse *p)
{
	p->closing = p->depth ? 2 * p->depth + 1 : 0;
	p->depth = 0;
}

/* Is a comma missing before a line `name = ...` among properties or arguments, or in a loop's
 * header? */
static bool comma_missing(struct parse *p, const struct token *t)
{
	const struct bracket *b = top(p);
	struct span s = {p->prev_span.end, p->prev_span.end};

	if ((!has_settings(b) && b->kind != TOK_LPAREN) || !token_ends_value(p->prev) ||
	    (t->kind != TOK_NAME && !token_is_word(t->kind)) || !line_assigns(p, t->span))
		return false;
	parse_error(p, s, E_SYNTAX, "a ',' is missing at the end of this line");
	queue(p, Q_COMMA);
	return true;
}

/* Does the line begin with `name =` and belong to properties or a loop's header, although a bracket
 * inside these is still open? That bracket is not closed. */
static bool inner_unclosed(struct parse *p, const struct token *t)
{
	uint32_t below = p->depth;

	while (below && p->brackets[below - 1].kind != TOK_LBRACE &&
	       !has_settings(&p->brackets[below - 1]))
		below--;
	if (!below || below == p->depth || t->kind == TOK_IF ||
	    !has_settings(&p->brackets[below - 1]) ||
	    !ends_well(p, &p->brackets[below - 1], t->span.begin))
		return false;
	unclosed(p, top(p), t->span);
	p->depth = below;
	if (!p->head)
		filter_skip(p);
	queue(p, Q_ERROR);
	return true;
}

/* First token of a line, with brackets open. true: tokens were queued, t comes again later. */
static bool check_line_start(struct parse *p, const struct token *t)
{
	if (!in_block(p)) {
		if (!new_statement(p, t))
			return comma_missing(p, t);
		if (inner_unclosed(p, t))
			return true;
		pop_to_block(p, t->span);
		if (p->depth && line_defines(p, t))
			close_blocks(p);
		return true;
	}
	if (!line_defines(p, t))
		return false;
	unclosed(p, top(p), t->span);
	close_blocks(p);
	return true;
}

static bool push(struct parse *p, const struct token *t)
{
	struct bracket b = {.at = t->span.begin, .kind = (uint16_t)t->kind};

	if (p->depth == MAX_BRACKETS) {
		parse_error(p, t->span, E_DEPTH,
			    "nested too deeply: more than %d brackets are open", MAX_BRACKETS);
		p->stop = true;
		return false;
	}
	b.loop_head = t->kind == TOK_LPAREN && token_loops(p->prev) && p->head == TOK_LOOP;
	b.in_head =
		t->kind == TOK_LPROPS && in_block(p) && (p->head == TOK_IF || p->head == TOK_LOOP);
	b.of_if = t->kind == TOK_LBRACE && p->opened_head == TOK_IF;
	p->brackets[p->depth++] = b;
	return true;
}

static void mismatch(struct parse *p, const struct token *t)
{
	struct bracket *b = top(p);
	char open = p->text[b->at - p->base], close = p->text[t->span.begin - p->base];
	struct diag *d;

	if (told_inside(p, b))
		return;
	d = parse_error(p, t->span, E_BRACKET, "'%c' is closed by '%c'", open, close);
	if (d)
		note(p->cx, d, bracket_span(b), "opened here");
	p->told = t->span.begin;
	p->head_told = true;
}

/* For ) and ]: returns the kind of the token to pass on. */
static int close_bracket(struct parse *p, const struct token *t)
{
	uint16_t want = t->kind == TOK_RPAREN ? TOK_LPAREN : TOK_LBRACKET;
	uint32_t below = p->depth;

	if (in_block(p))
		return t->kind; /* nothing is open: the grammar reports it */
	if (top(p)->kind == want) {
		p->depth--;
		return t->kind;
	}
	while (below && p->brackets[below - 1].kind != TOK_LBRACE &&
	       p->brackets[below - 1].kind != want)
		below--;
	if (below && p->brackets[below - 1].kind == want) {
		unclosed(p, top(p), t->span);
		p->depth = below - 1;
	} else {
		mismatch(p, t);
		p->depth -= top(p)->kind != TOK_LPROPS || p->head;
	}
	return TOK_PTG_error;
}

/* } inside ( or [. false: tokens were queued, t comes again later */
static bool close_brace_inside(struct parse *p, struct token *t)
{
	uint32_t below = p->depth;

	while (below && p->brackets[below - 1].kind != TOK_LBRACE &&
	       p->brackets[below - 1].kind != TOK_LPROPS)
		below--;
	bool props = below && p->brackets[below - 1].kind == TOK_LPROPS;
	if (!props && !brace_ends_block(p, t->span)) {
		t->kind = TOK_RPROPS; /* the grammar says that it is out of place */
		return true;
	}
	unclosed(p, top(p), t->span);
	p->depth = below;
	if (props && !p->head)
		filter_skip(p);
	else if (!props)
		queue(p, Q_NL);
	queue(p, Q_ERROR);
	return false;
}

/* } of either kind; false: tokens were queued, t comes again later */
static bool close_brace(struct parse *p, struct token *t)
{
	struct bracket *b = top(p);

	if (b && (b->kind == TOK_LPAREN || b->kind == TOK_LBRACKET))
		return close_brace_inside(p, t);
	if (b && b->kind == TOK_LPROPS) {
		t->kind = TOK_RPROPS;
		p->head_closed = b->in_head;
		p->head_brace = b->at;
		p->depth--;
		return true;
	}
	if (b && strchr("(),].:=+-*/%@&|^<>", *text_behind(p, t->span))) {
		t->kind = TOK_RPROPS; /* no block ends here: the grammar reports it */
		return true;
	}
	if (b && p->prev != TOK_NL && p->prev != TOK_LBRACE) {
		queue(p, Q_NL);
		return false;
	}
	if (b)
		p->depth--;
	return true;
}

/* For an `else` while the block before it is still open. */
static bool close_before_else(struct parse *p, const struct token *t)
{
	if (!in_block(p) || !p->depth || !top(p)->of_if || p->prev == TOK_RBRACE)
		return false;
	if (!told_inside(p, top(p)) && !told_in_line(p, t->span.begin))
		parse_error(p, t->span, E_SYNTAX, "a '}' is missing before 'else'");
	p->told = t->span.begin;
	p->depth--;
	queue(p, Q_RBRACE);
	if (p->prev != TOK_NL)
		queue(p, Q_NL);
	return true;
}

/* Is the { in a header out of place? */
static bool no_block(struct parse *p, const struct token *t)
{
	const char *at = text_behind(p, t->span), *end = p->text + p->len;
	bool named = p->prev_span.begin != p->first_span.begin;

	if (text_starts(p, at, "->") || (p->head == TOK_GRAPH && !named) || token_loops(p->prev))
		return true;
	if (p->head == TOK_GRAPH && in_block(p) && p->prev != TOK_RPAREN &&
	    !brace_ends_line(p, t->span))
		return true;
	if ((!in_block(p) || p->prev == TOK_IF) && !brace_ends_line(p, t->span)) {
		while (at < end && !strchr("}\n", *at))
			at++;
		if (at >= end || *at == '\n')
			return p->prev != TOK_IF;
		return at + 1 < end && strchr("(,)]", at[1]);
	}
	return !brace_ends_line(p, t->span) && !token_ends_value(p->prev) && p->prev != TOK_ELSE &&
	       p->prev != TOK_IF && p->prev != TOK_PTG_error;
}

/* Does `{` follow the name of a fn, graph or op after a blank? */
static bool is_apart_from_name(struct parse *p, const struct token *t)
{
	if (p->prev != TOK_NAME || p->prev_span.end == t->span.begin ||
	    p->prev_span.begin == p->first_span.begin)
		return false;
	if (p->head)
		return text_behind(p, p->first_span) == p->text + (p->prev_span.begin - p->base);
	return !in_block(p) || text_behind(p, t->span)[0] != '\n';
}

/* `{` that does not touch a name. false: tokens were queued, t comes again later */
static bool open_brace(struct parse *p, struct token *t)
{
	bool out_of_place = p->head && no_block(p, t); /* the grammar says so */

	if ((!p->head || out_of_place) && is_apart_from_name(p, t)) {
		parse_error(p, t->span, E_BRACE,
			    "there must be no blank before '{': properties touch the name of their "
			    "op or fn");
		p->told = t->span.begin;
		out_of_place = true;
	}
	if (out_of_place) {
		t->kind = TOK_LPROPS;
		return true;
	}
	if (!in_block(p) && p->head) {
		unclosed(p, top(p), t->span);
		while (p->depth && top(p)->kind != TOK_LBRACE)
			p->depth--;
		queue(p, Q_ERROR);
		return false;
	}
	if (p->prev == TOK_ELSE && p->prev_span.end == t->span.begin)
		blame_brace(p, t->span.begin);
	p->opened_head = p->head;
	p->head = 0;
	return true;
}

static void end_of_file(struct parse *p)
{
	if (!p->stop && p->depth)
		unclosed(p, top(p), (struct span){0, 0});
	if (!in_block(p)) {
		while (p->depth && top(p)->kind != TOK_LBRACE)
			p->depth--;
		queue(p, Q_NL);
		queue(p, Q_ERROR);
	} else if (!p->depth) {
		queue(p, Q_NL);
	}
	close_blocks(p);
}

static void hold(struct parse *p, const struct token *t)
{
	p->held = *t;
	p->has_held = true;
}

/* Does a line that begins with this token continue the statement or header before it? */
static bool goes_on(const struct parse *p, int kind)
{
	if (kind == TOK_ELSE)
		return true;
	if (p->head == TOK_LOOP && p->head_told && (p->prev == TOK_COMMA || kind == TOK_RPAREN))
		return true; /* its ( may be closed too early */
	if ((p->head == TOK_GRAPH && kind == TOK_LPAREN) ||
	    ((p->head == TOK_GRAPH || p->head == TOK_LOOP) && kind == TOK_ARROW))
		return true;
	return kind == TOK_LBRACE && p->head;
}

static bool text_is_loop(struct parse *p, const struct token *t)
{
	return token_loops(t->kind) && text_behind(p, t->span)[0] == '(';
}

/* A newline that counts is passed on unless the next line goes on. */
static bool newline(struct parse *p, struct token *t)
{
	struct token next;

	p->line_start = true;
	if (!in_block(p) || p->prev == TOK_NL || p->prev == TOK_LBRACE || !p->prev)
		return false;
	do
		next.kind = scan_token(p, &next.value, &next.span);
	while (next.kind == TOK_NL);
	if (goes_on(p, next.kind)) {
		*t = next;
		p->line_start = false;
		return true;
	}
	if (p->prev == TOK_ASSIGN && p->depth && (next.kind == TOK_IF || text_is_loop(p, &next))) {
		/* of `next` and `state` the grammar tells that they take no if and no loop */
		if (p->first != TOK_NEXT && p->first != TOK_STATE)
			parse_error(p, next.span, E_SYNTAX, "'%.*s' begins in the line of the '='",
				    (int)(next.span.end - next.span.begin),
				    p->text + (next.span.begin - p->base));
		*t = next;
		p->line_start = false;
		return true;
	}
	hold(p, &next);
	if (p->head && p->head_told)
		filter_skip_body(p);
	return true;
}

/* Does the condition end in {p ... } where a block should stand: `if c{`? */
static bool block_missing(struct parse *p, const struct token *t)
{
	if (!p->head_closed)
		return false;
	p->head_closed = false;
	if (!p->head || (t->kind != TOK_NL && t->kind != TOK_ELSE && t->kind != TOK_RBRACE &&
			 t->kind != TOK_END))
		return false;
	blame_brace(p, p->head_brace);
	queue(p, Q_RBRACE);
	queue(p, Q_LBRACE);
	queue(p, Q_ERROR);
	p->head = 0;
	return true;
}

/* Brackets and heads. false: tokens were queued, t comes again later. */
static bool structure(struct parse *p, struct token *t)
{
	switch (t->kind) {
	case TOK_LBRACE:
		if (!open_brace(p, t))
			return false;
		/* fall through */
	case TOK_LPAREN:
	case TOK_LBRACKET:
	case TOK_LPROPS:
		if (!push(p, t))
			t->kind = TOK_PTG_error;
		return true;
	case TOK_RPAREN:
	case TOK_RBRACKET:
		t->kind = close_bracket(p, t);
		return true;
	case TOK_RBRACE:
		return close_brace(p, t);
	case TOK_ELSE:
		return !close_before_else(p, t);
	case TOK_ARROW:
		if (in_block(p) || top(p)->kind == TOK_LPROPS || !p->head)
			return true;
		unclosed(p, top(p), t->span);
		while (p->depth && top(p)->kind != TOK_LBRACE)
			p->depth--;
		queue(p, Q_ERROR);
		return false;
	case TOK_END:
		if (!p->depth && (p->prev == TOK_NL || !p->prev))
			return true;
		end_of_file(p);
		return false;
	default:
		return true;
	}
}

static void note_head(struct parse *p, int kind, struct span s)
{
	if ((kind == TOK_GRAPH || kind == TOK_FN) && p->depth == 0 &&
	    (p->prev == TOK_NL || !p->prev))
		p->head = TOK_GRAPH;
	else if ((kind == TOK_IF || (kind == TOK_ELSE && p->prev == TOK_RBRACE)) && in_block(p))
		p->head = TOK_IF;
	else if (token_loops(kind) && in_block(p) && p->prev == TOK_ASSIGN)
		p->head = TOK_LOOP;
	else if (kind == TOK_NL && p->prev != TOK_NL)
		p->head = 0;
	else
		return;
	p->head_told = false;
	p->head_at = s.begin;
	if (p->head == TOK_GRAPH)
		p->defined_at = s.begin;
}

static int pass(struct parse *p, int kind, struct span s)
{
	if (p->prev == TOK_NL || p->prev == TOK_LBRACE || !p->prev) {
		p->first = kind;
		p->first_span = s;
		p->torn = p->tearing;
		p->tearing = false;
	}
	if (kind == TOK_RBRACE && s.end > s.begin)
		p->tearing = told_in_line(p, s.begin);
	p->before = p->prev_span;
	p->prev = kind;
	p->prev_span = s;
	return kind;
}

/* Tokens made up here stand where the next real one begins. */
static int made_up(struct parse *p, struct span *span)
{
	int kind;

	*span = (struct span){p->held.span.begin, p->held.span.begin};
	if (p->nqueue)
		return pass(p, unqueue(p), *span);
	kind = p->closing-- % 2 ? TOK_NL : TOK_RBRACE;
	if (kind == TOK_NL && p->closing && (p->prev == TOK_NL || p->prev == TOK_LBRACE)) {
		p->closing--;
		kind = TOK_RBRACE;
	}
	return pass(p, kind, *span);
}

static void next_token(struct parse *p, struct token *t)
{
	if (p->has_held) {
		*t = p->held;
		p->has_held = false;
	} else {
		t->kind = scan_token(p, &t->value, &t->span);
	}
	uint32_t most = p->cx->opt.max_errors;
	if (!p->stop && most && p->cx->errors - p->first_errors >= most)
		p->stop = p->cx->gave_up = true;
	if (p->stop) {
		t->kind = TOK_END;
		p->depth = 0;
	}
}

/* After a quote that is not closed: pops what this line opened, without a message. */
static void forget_line(struct parse *p)
{
	while (!in_block(p))
		p->depth--;
	p->line_lost = false;
}

static bool is_digit(const struct parse *p, struct span s)
{
	char c = p->text[s.begin - p->base];

	return (c >= '0' && c <= '9') || c == '.';
}

/* A file without a header gets a token for that: with an empty rule instead, the grammar could not
 * recover from an error in the first token. */
static bool no_header(struct parse *p)
{
	struct token t;

	p->started = true;
	do
		t.kind = scan_token(p, &t.value, &t.span);
	while (t.kind == TOK_NL);
	hold(p, &t);
	return t.kind != TOK_PTG;
}

int ptg_lex(union parse_value *value, struct span *span, struct parse *p)
{
	struct token t;

	if (!p->started && no_header(p)) {
		*span = (struct span){p->base, p->base};
		return TOK_START;
	}
	if (p->nqueue || p->closing)
		return made_up(p, span);
	for (;;) {
		next_token(p, &t);
		if (t.kind == TOK_PTG_error && !p->skip)
			p->lexed = t.span.begin;
		if (p->line_lost)
			forget_line(p);
		if (p->skip) {
			enum skipping s = filter_skipped(p, &t);
			if (s == SKIPPED)
				continue;
			p->skip = false;
			if (s == SKIP_ENDED_BEFORE && p->prev != TOK_NL) {
				queue(p, Q_NL);
				break;
			}
		}
		if (block_missing(p, &t))
			break;
		if (t.kind == TOK_NL && !newline(p, &t))
			continue;
		if (p->line_start && t.kind != TOK_NL) {
			p->line_start = false;
			if (p->depth && check_line_start(p, &t))
				break;
		}
		note_head(p, t.kind, t.span);
		if (!structure(p, &t))
			break;
		*value = t.value;
		*span = t.span;
		pass(p, t.kind, t.span);
		if (t.kind == TOK_PTG_error && !p->head && !p->line_lost && !is_digit(p, t.span))
			filter_skip(p);
		return t.kind;
	}
	hold(p, &t);
	return made_up(p, span);
}

/* Is a syntax error inside or right after `if c{ ...` due to the blank that is missing? */
bool filter_blames_brace(struct parse *p)
{
	for (uint32_t i = p->depth; i && p->brackets[i - 1].kind != TOK_LBRACE; i--) {
		if (p->brackets[i - 1].in_head) {
			blame_brace(p, p->brackets[i - 1].at);
			return true;
		}
	}
	return false;
}
