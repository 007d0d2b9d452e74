/*
 * internal.h: what the scanner (grammar/ptg.l), the token filter (filter.c), the grammar
 * (grammar/ptg.y), the node constructors (ast.c) and the printer (format.c) share.
 * Everything of one parse is in struct parse; nothing of it outlives parse() but the AST.
 */
#ifndef PTGC_SYNTAX_INTERNAL_H
#define PTGC_SYNTAX_INTERNAL_H

#include "syntax/syntax.h"

#define PTG_VERSION   1    /* newest version of the language */
#define MAX_BRACKETS  1000 /* depth of ( [ { */
#define MAX_COUNT     65535
#define MAX_NAME      65535 /* bytes of a name */
#define MAX_DIM_NODES 1000
#define FOLD_COMMIT   4096 /* elements of a list that stay nodes until it is closed */

struct range { /* n things, from index start on; of nodes: children with their subtrees */
	uint32_t start, n;
};
struct stmts {
	struct stmt *first, *last;
};
struct branches {
	struct aif *first, *last;
};
struct items {
	struct aitem *first, *last;
};
struct results {
	struct aresult *first, *last;
};
struct lister { /* an open [ ... ]: elements are nodes, or, once `committed`, numbers alone */
	uint32_t start;    /* first node */
	uint32_t nodes;    /* elements that are nodes */
	uint32_t merged;   /* elements that are numbers or rows already folded away */
	uint32_t numbers;  /* first of those in parse->numbers */
	struct adata *row; /* shape of every row; NULL: elements are numbers */
	bool fold;         /* so far all elements are numbers, or rows of one shape */
	struct lister *next;
};
struct name_part {
	struct sym *name;
	struct span span;
};
struct bracket {
	uint32_t at;
	uint16_t kind;  /* token that opened it */
	bool loop_head; /* ( of a loop header: name = value may stand in it */
	bool of_if;     /* { of a branch */
	bool in_head;   /* {p in the condition of an if or while: perhaps a block was meant */
};

union parse_value { /* of tokens and of what the grammar builds */
	struct sym *sym;
	uint64_t integer;
	double real;
	struct astr *str;
	struct range range;
	struct expr expr;
	struct lister *lister;
	struct stmts stmts;
	struct stmt *stmt;
	struct ablock *block;
	struct branches branches;
	struct aloop *loop;
	struct items items;
	struct aitem *item;
	struct results results;
	struct aresult *result;
	unsigned flags;
};
struct parse;

#include "ptg.tab.h"

struct token {
	int kind;
	struct span span;
	union parse_value value;
};
struct parse {
	struct ctx *cx;
	struct arena *arena;
	struct file *file;
	struct sym *underscore, *set, *inc;

	/* scanner */
	void *scanner;
	const char *text; /* of the source */
	uint32_t len, base;
	uint32_t fed;  /* bytes given to flex */
	uint32_t pos;  /* bytes scanned */
	bool comments; /* comments are tokens too (printer) */
	bool stop;     /* a fatal error: only the end of the file follows */
	int last;      /* kind of the token before, and where it ended */
	uint32_t last_end;
	uint32_t first_errors;

	/* filter */
	struct token held;
	bool has_held;
	uint8_t nqueue, queue[4];      /* made-up tokens, last one first; see filter.c */
	uint32_t closing;              /* tokens still to add: 2 for each block to close */
	int prev;                      /* kind of the token passed on last */
	struct span prev_span, before; /* before: of the token before that */
	int first;                     /* kind of the first token of the statement */
	struct span first_span;
	int head;        /* TOK_GRAPH, TOK_IF, TOK_LOOP (of `for` too) until its block opens */
	int opened_head; /* what the last block belongs to */
	bool skip;       /* skip the rest of the statement: a mistake in it was reported */
	/* what is open in the skipped text; blocks: { at the end of a line, props: any other { */
	uint32_t skip_brackets, skip_props, skip_blocks;
	int skipped;                /* kind of the token skipped last */
	uint32_t told;              /* place of the last syntax error; 0: none */
	uint32_t line_at, line_end; /* the line that line_end() of lines.c looked through last */
	uint32_t lexed;             /* place of the last text that is no token */
	bool tearing, torn; /* told is in the line of the } before the statement; of the last } */
	bool head_told;     /* told is in this header, which begins at head_at */
	uint32_t head_at;
	uint32_t defined_at; /* where the last graph or fn begins */
	bool started;
	bool line_lost; /* a quote is not closed: brackets may be inside of it */
	bool line_start;
	bool head_closed;    /* a suspicious {p in a header was just closed */
	uint32_t head_brace; /* where it was opened */
	uint32_t depth;
	struct bracket brackets[MAX_BRACKETS];

	/* grammar */
	bool head_lost;     /* the header of an if, loop, graph or fn could not be read */
	uint32_t statement; /* the first node of the statement or parameter being parsed */
	vec(struct adatum)
		numbers; /* of all folded lists; adata->at holds an index until the end */
	vec(struct target) targets;
	vec(struct param) params;
	struct lister *listers;
	struct adata *rows;   /* free list through at */
	struct strbuf dotted; /* a.b.c, and its parts */
	vec(struct name_part) parts;
	struct fn **fns_end, **graphs_end;
	struct ause **uses_end;
	struct aconst **consts_end;
	bool keep_nodes; /* no list is folded before it is closed */
	bool restart;    /* parse again with keep_nodes */
};

/* ptg.l */
int scan_token(struct parse *p, union parse_value *value, struct span *span);
void scan_begin(struct parse *p);

/* filter.c: what bison calls, and what the grammar's messages ask */
int ptg_lex(union parse_value *value, struct span *span, struct parse *p);
bool filter_blames_brace(struct parse *p); /* reports a block's { that touches a name */

static inline struct bracket *top(struct parse *p)
{
	return p->depth ? &p->brackets[p->depth - 1] : NULL;
}

static inline bool token_loops(int kind) /* begins the header of a loop */
{
	return kind == TOK_LOOP || kind == TOK_FOR;
}

static inline bool token_opens(int kind) /* a bracket, of a block's braces apart */
{
	return kind == TOK_LPAREN || kind == TOK_LBRACKET || kind == TOK_LPROPS;
}

static inline bool token_closes(int kind)
{
	return kind == TOK_RPAREN || kind == TOK_RBRACKET || kind == TOK_RPROPS;
}

static inline bool in_block(struct parse *p)
{
	return !p->depth || top(p)->kind == TOK_LBRACE;
}

/* skip.c: what is not looked at after a mistake */
enum skipping { SKIPPED, SKIP_ENDS, SKIP_ENDED_BEFORE };
void filter_skip(struct parse *p);       /* the rest of the statement */
void filter_skip_body(struct parse *p);  /* the lines behind a header that has no { */
void filter_skip_lines(struct parse *p); /* the lines behind, up to one like a statement */
enum skipping filter_skipped(struct parse *p, const struct token *t); /* while p->skip */

/* lines.c: what the text around a token looks like */
const char *text_behind(struct parse *p, struct span s); /* in its line, without blanks */
bool text_starts(const struct parse *p, const char *at, const char *word);
uint32_t text_indent(const struct parse *p, uint32_t at);
bool text_is_in(struct parse *p, struct span s);
bool told_in_line(struct parse *p, uint32_t at);
bool begins_name(char c);
bool line_assigns(struct parse *p, struct span s);
bool line_states(struct parse *p, const struct token *t);  /* a statement? */
bool line_defines(struct parse *p, const struct token *t); /* a graph or fn? */
bool line_is_foreign(const struct parse *p);
bool brace_ends_line(struct parse *p, struct span s);
bool brace_ends_block(struct parse *p, struct span s);
bool token_is_word(int kind);
bool token_ends_value(int kind);

/* literal.c */
bool literal_int(const char *s, size_t len, uint64_t *v); /* false: above 2^64 - 1 */
struct astr *literal_string(struct parse *p, const char *s, size_t len, struct span span);
bool name_too_long(struct parse *p, const char *s, size_t len, struct span span); /* reported */
struct sym *literal_quoted(struct parse *p, const char *s, size_t len, struct span span);
uint32_t utf8_next(const char *s, size_t *i); /* of valid text */

/* words.c */
void intern_words(struct ctx *cx);                       /* keywords get their tokens */
const char *reserved_instead(const char *s, size_t len); /* of a reserved word: what to write */
bool unfit_for_names(uint32_t c); /* of a character above ASCII: needs backquotes */

/* ast.c */
struct parse *parse_new(struct ctx *cx, struct source *src);
bool quoted(struct parse *p, struct span s);
struct diag *parse_error(struct parse *p, struct span s, enum diag_code code, const char *fmt, ...)
	PRINTF(4, 5);
struct expr tail(struct parse *p);                  /* the expression that was just completed */
struct expr before(struct parse *p, struct expr e); /* the one that ends where e begins */
struct anode *leaf(struct parse *p, enum anode_kind kind, struct span s);
void name_leaf(struct parse *p, struct sym *name, struct span s);
struct anode *parent(struct parse *p, enum anode_kind kind, struct range children, struct span s,
		     struct span at);
struct range children(struct parse *p, uint32_t n); /* the last n expressions */
void unary(struct parse *p, enum opr op, struct span s, struct span at);
void binary(struct parse *p, enum opr op, struct span s, struct span at);
void call(struct parse *p, struct sym *name, const struct range *props, const struct range *args,
	  struct span s, struct span at);
bool construct_begin(struct parse *p, struct range *index, struct sym **name, struct span s);
void construct(struct parse *p, struct sym *name, struct range index, struct range args,
	       struct span s, struct span at);
void update(struct parse *p, struct sym *name, struct range index, struct range args, struct span s,
	    struct span at);
void attribute(struct parse *p, struct sym *name, struct span s, struct span at);
void method(struct parse *p, struct sym *name, struct range operands, struct span s,
	    struct span at);
void dotted_begin(struct parse *p, struct sym *name, struct span s);
void dotted_more(struct parse *p, struct sym *name, struct span s);
void dotted_value(struct parse *p); /* what was read as a.b.c becomes an expression */
void ast_slice(struct parse *p, unsigned flags, struct span s, struct span at);
void type_node(struct parse *p, struct sym *name, const struct range *dims, struct span s,
	       struct span at);
struct lister *list_first(struct parse *p);
bool list_more(struct parse *p, struct lister *l); /* false: parse again */
void list_end(struct parse *p, struct lister *l, struct span s);
void push_target(struct parse *p, struct sym *name, struct expr type, struct span s);
struct range more_targets(struct parse *p, struct range r); /* the one pushed last is one more */
struct stmt *statement(struct parse *p, enum stmt_kind kind, struct range targets,
		       struct expr value, struct span s);
struct stmt *set_statement(struct parse *p, enum stmt_kind kind, struct sym *name, struct span at,
			   struct expr type, struct span s);
struct stmt *lost_statement(struct parse *p, struct span s, uint32_t next,
			    const struct stmt *before); /* next: where it ends at the latest */
void push_param(struct parse *p, struct sym *name, struct expr type, struct expr value,
		struct span s, struct span name_span);
void add_fn(struct parse *p, bool is_graph, struct sym *name, struct span name_span,
	    struct range decls, struct range params, struct range results, struct ablock body,
	    struct span s);
struct ause *add_use(struct parse *p, struct sym *alias, struct span s);
void add_const(struct parse *p, struct sym *name, struct span s, struct expr type);
void header(struct parse *p, uint64_t version, struct span s, struct span at);
void header_setting(struct parse *p, struct sym *key, struct sym *value, struct span s);
void header_domain(struct parse *p, struct sym *a, struct sym *b, struct sym *c, uint64_t version,
		   struct span name, struct span at);

/* format.c reads, format_line.c lays out */
enum ftoken_flags {
	FT_SPACE = 1,   /* a blank before it */
	FT_KEYWORD = 2, /* a soft word that is one here */
	FT_UNARY = 4,   /* a prefix operator */
	FT_BINARY = 8,  /* an infix operator */
	FT_TYPE_COLON = 16,
	FT_OWN_LINE = 32, /* a comment that has a line of its own */
	FT_DROPPED = 64,
	/* of opening brackets */
	FT_FORCED = 128, /* comments inside: it must be broken */
	FT_NESTED = 256, /* other brackets are inside */
	FT_HEAD = 512,   /* the first one of a header */
	FT_FLOW = 1024,  /* ( ) round an expression, to be broken before operators */
};
struct ftoken {
	const char *text;
	uint32_t len;
	uint32_t begin, end; /* columns when the whole statement stands in one line */
	uint32_t match;      /* of an opening bracket: its closing one */
	uint16_t kind;
	uint16_t flags;
};
struct trailing { /* a comment behind code; its column is found when all lines are known */
	size_t at;
	uint32_t width, line;
};
typedef vec(struct ftoken) ftokens;
struct lines { /* printed text */
	struct arena *arena;
	struct strbuf out;
	vec(struct trailing) trailing;
	uint32_t line;
	size_t line_start;
};
void print_line(struct lines *l, ftokens *tokens, uint32_t indent);
void print_newline(struct lines *l);
void print_trailing(struct lines *l, const char *text, uint32_t len);
char *align_trailing(struct lines *l, size_t *len);
/* format_axes.c: the properties that line[open] opens, and that are complete, in one spelling */
void canonical_axes(struct ctx *cx, has_axes_t *has_axes, struct ftoken *line, uint32_t open);

#endif
