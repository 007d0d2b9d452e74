/*
 * format.c: the canonical text of a source; the inverse of the grammar. In: a source, out: its
 * text, or NULL after errors. It works on tokens, so parentheses, literals and comments stay as
 * they are written and the result means what the source does. What it changes: blanks and line
 * breaks (a statement a line, 2 columns a level, at most one blank line), strings (double quotes),
 * axes (format_axes.c), commas before a closing bracket (only a tuple of one keeps it), and `ptg 1`
 * is added. The result depends on nothing but the tokens and the places of comments: format is
 * idempotent.
 */
#include <string.h>

#include "syntax/internal.h"

enum context { C_TOP, C_GROUP, C_ARGS, C_INDEX, C_PROPS, C_DECLS, C_LOOP, C_PARAMS };
struct level { /* an open ( [ {p of the statement */
	enum context context;
	uint32_t at; /* its token */
	uint32_t commas;
	bool in; /* `in` was seen since the last comma */
};
struct comment {
	const char *text;
	uint32_t len;
	bool blank; /* a blank line before it */
};
struct format {
	struct parse *p;
	has_axes_t *has_axes;
	struct arena *arena;
	struct lines out;
	ftokens line; /* the statement so far */
	vec(struct level) levels;
	vec(struct comment) leads; /* lines of comments since then */
	struct comment trail;      /* the comment in its last line; len 0: none */
	uint32_t last;     /* token before the next, comments and dropped commas aside; 1-based */
	uint32_t last2;    /* the one before that */
	uint32_t newlines; /* since the last token or comment */
	uint32_t indent;
	bool complete; /* a newline ended the statement, unless { or else follows */
	bool blank;    /* a blank line is wanted before the statement */
	bool opened;   /* nothing was printed since a { or the beginning */
};

static bool is_name(int kind)
{
	return kind == TOK_NAME || token_is_word(kind);
}

static const struct ftoken *last(const struct format *f)
{
	return f->last ? &f->line.at[f->last - 1] : NULL;
}

static const struct ftoken *last2(const struct format *f)
{
	return f->last2 ? &f->line.at[f->last2 - 1] : NULL;
}

static bool ends_operand(const struct ftoken *q)
{
	if (!q)
		return false;
	switch (q->kind) {
	case TOK_NAME:
	case TOK_INT:
	case TOK_FLOAT:
	case TOK_IMAG:
	case TOK_STR:
	case TOK_NONE:
	case TOK_TRUE:
	case TOK_FALSE:
	case TOK_ANY:
	case TOK_RPAREN:
	case TOK_RBRACKET:
	case TOK_RPROPS:
		return true;
	default:
		return token_is_word(q->kind) && !(q->flags & FT_KEYWORD);
	}
}

static bool callable(const struct ftoken *q)
{
	return ends_operand(q) &&
	       (is_name(q->kind) || q->kind == TOK_RBRACKET || q->kind == TOK_RPROPS);
}

/* Is the soft word q a keyword, now that the token t after it is known? */
static bool is_keyword(const struct format *f, int t)
{
	const struct ftoken *q = last(f), *before = last2(f);

	switch (q->kind) {
	case TOK_WHILE:
	case TOK_IN: /* two operands do not stand side by side */
		return ends_operand(before);
	case TOK_LOOP:
		return t == TOK_LPAREN && before && before->kind == TOK_ASSIGN;
	default:
		return !before && t != TOK_ASSIGN && t != TOK_COLON && t != TOK_COMMA;
	}
}

static bool in_definition(const struct format *f)
{
	const struct ftoken *first = f->line.at;

	return f->line.len && (first->kind == TOK_GRAPH || first->kind == TOK_FN) &&
	       first->flags & FT_KEYWORD;
}

static enum context opens(const struct format *f, int kind)
{
	const struct ftoken *q = last(f);
	bool top = !f->levels.len;

	if (kind == TOK_LPROPS)
		return top && in_definition(f) ? C_DECLS : C_PROPS;
	if (kind == TOK_LBRACKET)
		return ends_operand(q) ? C_INDEX : C_GROUP;
	if (q && (q->kind == TOK_FOR || (q->kind == TOK_LOOP && q->flags & FT_KEYWORD)))
		return C_LOOP;
	if (top && q && (in_definition(f) || q->kind == TOK_ARROW))
		return C_PARAMS;
	return callable(q) ? C_ARGS : C_GROUP;
}

static enum context context(const struct format *f)
{
	return f->levels.len ? f->levels.at[f->levels.len - 1].context : C_TOP;
}

static bool wants_space(const struct format *f, int t)
{
	const struct ftoken *q = last(f);

	if (!q || token_closes(t) || t == TOK_COMMA || t == TOK_DOT || t == TOK_LPROPS)
		return false;
	if (t == TOK_COLON)
		return q->kind == TOK_COMMA;
	if (f->line.len > 1 && f->line.at[0].kind == TOK_USE && f->line.at[1].kind == TOK_LT)
		return t == TOK_AS || q->kind == TOK_AS; /* use <mcmc> as m */
	if (token_opens(q->kind) || q->kind == TOK_DOT || q->flags & FT_UNARY)
		return false;
	if (q->kind == TOK_ELLIPSIS || q->kind == TOK_ANY)
		return !is_name(t);
	if (q->kind == TOK_COLON)
		return q->flags & FT_TYPE_COLON;
	if (t == TOK_ASSIGN || q->kind == TOK_ASSIGN)
		return context(f) != C_PROPS && context(f) != C_ARGS &&
		       !(f->line.at[0].kind == TOK_PTG && f->line.at[0].flags & FT_KEYWORD);
	if (t == TOK_LPAREN)
		return !callable(q);
	if (t == TOK_LBRACKET)
		return !ends_operand(q);
	return true;
}

static bool type_colon(const struct format *f)
{
	const struct level *l = f->levels.len ? &f->levels.at[f->levels.len - 1] : NULL;

	return !l || l->context == C_PARAMS || l->context == C_DECLS ||
	       (l->context == C_LOOP && !l->in);
}

static void print_escape(struct strbuf *b, unsigned char c)
{
	static const char names[] = "\"\"\\\\n\nr\rt\t";

	for (size_t i = 0; i + 1 < sizeof(names); i += 2) {
		if ((unsigned char)names[i + 1] == c) {
			sb_printf(b, "\\%c", names[i]);
			return;
		}
	}
	if (c < 0x20 || c == 0x7f)
		sb_printf(b, "\\x%02x", c);
	else
		sb_add(b, (const char *)&c, 1);
}

/* The one spelling of a string with this value. */
static void canonical_string(struct format *f, struct ftoken *t, const struct astr *str)
{
	struct strbuf b = {.arena = f->arena};

	if (t->text[0] == '"' && !memchr(t->text, '\\', t->len) && !memchr(t->text, '\t', t->len) &&
	    !memchr(t->text, 0x7f, t->len))
		return;
	sb_str(&b, "\"");
	for (uint32_t i = 0; i < str->len; i++)
		print_escape(&b, (unsigned char)str->s[i]);
	sb_str(&b, "\"");
	t->text = b.s;
	t->len = (uint32_t)b.len;
}

static struct ftoken *push_token(struct format *f, const struct token *t)
{
	struct ftoken *n = vec_push(f->arena, &f->line);

	*n = (struct ftoken){
		.kind = (uint16_t)t->kind,
		.text = f->p->text + (t->span.begin - f->p->base),
		.len = t->span.end - t->span.begin,
	};
	return n;
}

/* Drops the comma before a closing bracket, but not in a tuple of one. */
static void drop_comma(struct format *f)
{
	const struct level *l = &f->levels.at[f->levels.len - 1];

	if (last(f)->kind != TOK_COMMA ||
	    (l->context == C_GROUP && l->commas == 1 && f->line.at[l->at].kind == TOK_LPAREN))
		return;
	f->line.at[f->last - 1].flags |= FT_DROPPED;
}

static void close_level(struct format *f)
{
	struct level l = f->levels.at[--f->levels.len];
	struct ftoken *open = &f->line.at[l.at];

	open->match = f->line.len - 1;
	if (l.context == C_GROUP && open->kind == TOK_LPAREN && !l.commas)
		open->flags |= FT_FLOW;
	if (l.context == C_PROPS)
		canonical_axes(f->p->cx, f->has_axes, f->line.at, l.at);
	if (f->levels.len) {
		struct ftoken *outer = &f->line.at[f->levels.at[f->levels.len - 1].at];
		outer->flags |= (open->flags & FT_FORCED) | FT_NESTED;
	}
}

static void note_level(struct format *f, int kind)
{
	struct level *l = f->levels.len ? &f->levels.at[f->levels.len - 1] : NULL;

	if (!l)
		return;
	if (kind == TOK_COMMA) {
		l->commas++;
		l->in = false;
	} else if (kind == TOK_IN && ends_operand(last2(f))) {
		l->in = true;
	}
}

static void add_token(struct format *f, const struct token *t)
{
	enum context opened = C_TOP;
	struct ftoken *n;
	uint16_t flags = 0;

	if (last(f) && token_is_word(last(f)->kind) && is_keyword(f, t->kind))
		f->line.at[f->last - 1].flags |= FT_KEYWORD;
	if (token_opens(t->kind))
		opened = opens(f, t->kind);
	if (token_closes(t->kind))
		drop_comma(f);
	if (wants_space(f, t->kind))
		flags |= FT_SPACE;
	if (t->kind >= TOK_EQ && t->kind <= TOK_INVERT)
		flags |= ends_operand(last(f)) ? FT_BINARY : FT_UNARY;
	if (t->kind == TOK_COLON && type_colon(f))
		flags |= FT_TYPE_COLON;
	n = push_token(f, t);
	n->flags = flags;
	if (t->kind == TOK_STR)
		canonical_string(f, n, t->value.str);
	if (opened == C_LOOP || (opened == C_PARAMS && last(f)->kind != TOK_ARROW))
		n->flags |= FT_HEAD;
	if (opened != C_TOP)
		*vec_push(f->arena, &f->levels) = (struct level){opened, f->line.len - 1, 0, false};
	else if (token_closes(t->kind))
		close_level(f);
	f->last2 = f->last;
	f->last = f->line.len;
	note_level(f, t->kind);
}

static void blank_line(struct format *f, bool wanted)
{
	if (wanted && !f->opened)
		print_newline(&f->out);
	f->opened = false;
}

static void print_leads(struct format *f)
{
	for (uint32_t i = 0; i < f->leads.len; i++) {
		const struct comment *c = &f->leads.at[i];
		ftokens one = {0};
		blank_line(f, c->blank);
		*vec_push(f->arena, &one) = (struct ftoken){
			.text = c->text, .len = c->len, .kind = TOK_COMMENT, .flags = FT_OWN_LINE};
		print_line(&f->out, &one, f->indent);
		print_newline(&f->out);
	}
	f->leads.len = 0;
}

/* Prints the statement and the comment after it. */
static void flush(struct format *f)
{
	bool opens_block;

	if (!f->line.len)
		return;
	opens_block = last(f)->kind == TOK_LBRACE;
	if (f->line.at[0].kind == TOK_RBRACE) {
		f->indent--;
		f->blank = false;
	}
	blank_line(f, f->blank);
	print_line(&f->out, &f->line, f->indent);
	if (f->trail.len)
		print_trailing(&f->out, f->trail.text, f->trail.len);
	print_newline(&f->out);
	f->trail.len = 0;
	f->line.len = f->last = f->last2 = 0;
	f->complete = f->blank = false;
	f->indent += opens_block;
	f->opened = opens_block;
}

static void add_comment(struct format *f, const struct token *t)
{
	const char *text = f->p->text + (t->span.begin - f->p->base);
	uint32_t len = t->span.end - t->span.begin;

	while (len > 1 && (text[len - 1] == ' ' || text[len - 1] == '\t' || text[len - 1] == '\r' ||
			   text[len - 1] == '\f'))
		len--;
	if (f->levels.len) {
		struct ftoken *n = push_token(f, t);
		n->len = len;
		n->flags = f->newlines ? FT_OWN_LINE : 0;
		f->line.at[f->levels.at[f->levels.len - 1].at].flags |= FT_FORCED;
	} else if (f->line.len && !f->newlines && !f->trail.len) {
		f->trail = (struct comment){text, len, false};
	} else {
		*vec_push(f->arena, &f->leads) = (struct comment){text, len, f->newlines > 1};
	}
	f->newlines = 0;
}

/* The token begins a statement: prints the statement before it. */
static void begin_statement(struct format *f, const struct token *t)
{
	flush(f);
	print_leads(f);
	f->blank = f->newlines > 1 && t->kind != TOK_RBRACE;
}

/* Does the token go on with a header whose line ended before it? */
static bool header_goes_on(const struct format *f, int t)
{
	const struct ftoken *q = last(f);

	return t == TOK_ARROW || (t == TOK_LPAREN && q && !f->indent &&
				  (q->kind == TOK_ARROW || f->line.at[0].kind == TOK_GRAPH ||
				   f->line.at[0].kind == TOK_FN));
}

static void add_significant(struct format *f, struct token *t)
{
	const struct ftoken *q = last(f);

	if (!f->levels.len) {
		bool joins = t->kind == TOK_LBRACE || header_goes_on(f, t->kind) ||
			     (t->kind == TOK_ELSE && q && q->kind == TOK_RBRACE && !f->trail.len &&
			      !f->leads.len);
		if (!joins && (!q || f->complete || q->kind == TOK_LBRACE ||
			       q->kind == TOK_RBRACE || t->kind == TOK_RBRACE))
			begin_statement(f, t);
	}
	if (t->kind == TOK_RBRACE && f->levels.len)
		t->kind = TOK_RPROPS;
	add_token(f, t);
	f->complete = false;
	f->newlines = 0;
}

static void header_line(struct format *f)
{
	sb_str(&f->out.out, "ptg 1");
	print_newline(&f->out);
	f->newlines = 2;
	f->opened = false;
}

char *format(struct ctx *cx, struct source *src, has_axes_t *has_axes, size_t *len)
{
	uint32_t errors = cx->errors;
	struct file *file = parse(cx, src);
	struct format *f;
	struct token t;

	if (cx->errors != errors)
		return NULL;
	f = new (cx->scratch, struct format);
	f->arena = f->out.arena = f->out.out.arena = cx->scratch;
	f->has_axes = has_axes;
	f->p = parse_new(cx, src);
	f->p->comments = true;
	f->opened = true;
	if (!file->version)
		header_line(f);
	while ((t.kind = scan_token(f->p, &t.value, &t.span)) != TOK_END) {
		if (t.kind == TOK_NL) {
			f->newlines++;
			f->complete = !f->levels.len;
		} else if (t.kind == TOK_COMMENT) {
			add_comment(f, &t);
		} else {
			add_significant(f, &t);
		}
	}
	flush(f);
	print_leads(f);
	return align_trailing(&f->out, len);
}
