/*
 * internal.h: shared by the files of this folder alone.
 *
 * The graph is walked once, in order, and each value is held in one of a few ways (enum where). A
 * formula is printed where it is read, inside of the loops of its reader; all else has a name in C.
 * Text of C is made in the arena and is never changed.
 */
#ifndef PTGC_C_INTERNAL_H
#define PTGC_C_INTERNAL_H

#include <limits.h>
#include <string.h>

#include "c/c.h"
#include "onnx/onnx.h"

#define MAX_FORMULA 24   /* nodes on the longest way through a formula; its walk may recurse */
#define MAX_NESTED  64   /* loops of one nest */
#define PLACE       "\1" /* around the number of a buffer in the body, which has no such byte else */
#define PIECE_BEGIN "\2" /* alone on a line: the lines behind it, up to PIECE_END, are a piece */
#define PIECE_END   "\3"

#define NAME_CHARS "0123456789_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

enum where {
	UNSEEN,
	NUMBER,  /* a variable: the value has one element */
	MEMORY,  /* an array: of the caller, a constant, or in the workspace */
	FORMULA, /* the node prints it */
	SLICE,   /* the element `index` of `of` along `axis`, as Scan gives it to its body */
};
struct held {
	enum where where;
	const char *name;
	const char **dims; /* texts; NULL: not known yet */
	uint32_t buffer;   /* number in printer.buffers; 0: none of the workspace */
	bool start;        /* its lengths are known when run() starts */

	/* plan.c */
	uint32_t readers;
	uint32_t depth; /* FORMULA: nodes on the longest way through it */
	bool again;     /* a reader needs elements several times */
	bool inner;     /* a block inside of its own reads it */
	bool stored;    /* a reader needs an array */
	bool given;     /* the outputs have a field for it */
	bool result;    /* of the graph */
	bool each;      /* each element follows from those of the inputs at its place */
	uint8_t part;   /* of a loop over rows: rows.c */
	const struct value *transposed; /* a constant that is this one, transposed, and is read
					   in its place; NULL: none */
	const struct block *home;
	const char **first, **step; /* of Slice: by axis */
	dim below; /* of the number of a step: it is less than this length; DIM_NONE: nobody knows
		    */
	/* SLICE */
	struct value *of;
	const char *index;
	uint32_t axis;
};
struct buffer {
	const char *count; /* of parts; known at the start, unless `open` */
	uint32_t size;     /* of a part, in bytes */
	bool open;         /* only the run knows the count: rooms.c */
	/* Statements between which it is in use. at() and array_at(), which read it, move `to`; who
	 * writes to it in a later statement than the one that made it must, too. */
	uint32_t from, to;
	uint32_t offset; /* number of its slot */
};
struct once { /* a formula that the open nest has in a variable */
	const struct value *v;
	const char *key, *name;
};
struct moved { /* an integer that stands in an outer loop of the open nest */
	const char *text, *name;
	uint32_t loops; /* around it */
};
struct words { /* a set */
	struct hash_table table;
	vec(const struct sym *) at;
};
struct constant { /* one that is read as an array */
	const struct value *v;
	bool external; /* it lies in the file of weights, at `place` */
	uint64_t place;
};
struct length_text {      /* a length that has a text of its own */
	const char *text; /* NULL: it has none (yet) */
	uint32_t indent;  /* of the line that defines it; 0: it is known when run() starts */
};
struct named_length {
	const char *name, *text;
};
struct kept_integer { /* an integer that the run computed, for equations that wait for it */
	dim d;
	const char *name;
};
struct printer {
	struct ctx *cx;
	struct weights *weights;  /* their file; of no byte if there is none */
	const char *weights_name; /* of the field in the struct of inputs */
	const struct graph *g;
	const struct c_op *ops; /* by enum onnx_id */
	const char *model;      /* what all symbols begin with */
	struct held *of;        /* by value id */
	struct strbuf out;      /* the body of run() */
	uint32_t indent, statement, nloops, ntexts;
	const char *loop_names[MAX_NESTED];
	size_t loop_at[MAX_NESTED]; /* where the header of an open loop stands in `out` */
	vec(struct moved) moved;
	struct words taken;
	struct words read;      /* names that run() reads, when its body is complete */
	const uint8_t *c_words; /* lines.c: by number of a name, for the first n_c_words */
	uint32_t n_c_words;
	vec(uint32_t)
		last; /* by number of a taken word: n_2, n_3 and so on up to this one are taken */
	vec(struct length_text) length_texts; /* by dim */
	vec(struct named_length) known;       /* when run() starts, in order */
	uint32_t block_indent; /* of the statements of the open block; 0: none is open */
	vec(struct buffer) buffers;
	vec(struct once) once;
	struct words messages;           /* that run() returns the numbers of, from 1 on */
	vec(struct check *) open_checks; /* equations whose lengths are not all known yet */
	bool learned; /* since they were last looked at: something may be known */
	vec(struct kept_integer) kept_integers;
	const struct value **inputs; /* by parameter */
	vec(struct constant) constants;
	vec(dim) checked_lengths; /* that were found not to be negative */
	bool dynamic;             /* some arrays have a size that only the run knows */
	bool flags;               /* indices are checked: there is a variable `bad` */
	uint32_t line;            /* of the text, last shown */
	const struct node *shown; /* the next line of C is of this node; NULL: said already */
	const struct node *at;
	const struct block *block;
	const char **array;    /* of place_at() */
	struct row_loop *rows; /* the loop that is open; NULL: none */
};

/* rows.c: products of one matrix and vectors, in one loop over blocks of its rows */
struct row_loop {
	const struct block *block;
	dim count;                    /* of all rows */
	vec(const struct node *) all; /* from the first product to the last, in order */
	const char *from, *to;        /* variables: the rows of one turn */
	struct strbuf outside;        /* what is printed before the loop */
	uint32_t statement;           /* the first of the loop */
};
/* Does a loop begin with the product `from`? Then r->all says which nodes take its place. */
bool find_rows(struct printer *p, const struct block *b, const struct node *from,
	       struct row_loop *r);
bool is_before_rows(const struct printer *p, const struct node *n);
bool is_by_rows(const struct printer *p, const struct node *n); /* is it part of the loop? */
bool adds_up_rows(const struct printer *p, const struct node *n);
void forget_rows(struct printer *p, const struct row_loop *r);

/* The structs of inputs and outputs */
struct field {
	const struct value *v;
	const char *name;
	const char *text;   /* its name in the text */
	const char **sizes; /* outputs: the names of those that the run sets; NULL: none */
};
struct size { /* an atom of the lengths of inputs, as it is written there */
	dim atom;
	const char *name;
};
struct interface {
	vec(struct size) sizes;
	vec(struct field) in, out;
	struct strbuf fields_in, fields_out;
};

/* How a node reads its input i: 'k' integers that are read one by one where their values are not
 * known as lengths, '1' each element once, 'm' elements several times, 's' an array, '-' never */
typedef const char *at_fn_t(struct printer *p, const struct node *n, uint32_t i, const char **ix);
typedef void put_fn_t(struct printer *p, const struct node *n);
struct c_op {
	at_fn_t *at;       /* an element of result i, as an expression; NULL: there is no formula */
	put_fn_t *put;     /* the node as statements; NULL: its formula is stored */
	put_fn_t *shape;   /* says which lengths the results have; NULL: those of the type */
	const char *reads; /* a letter for each input; the last one repeats */
	bool view;         /* its elements are some of its inputs' */
	const char *of_float, *of_int;
};
/* The row of n's operator */
static inline const struct c_op *op_of(const struct printer *p, const struct node *n)
{
	return &p->ops[n->onnx->id];
}

static inline struct held *held(const struct printer *p, const struct value *v)
{
	return &p->of[v->id];
}

/* The index of the first element, on n axes */
static inline void set_zeros(const char **ix, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		ix[i] = "0";
}

/* Is c a character of a name or of a number? */
extern const bool word_chars[UCHAR_MAX + 1];
static inline bool is_word(char c)
{
	return word_chars[(unsigned char)c];
}

static inline bool begins_with(const char *s, const char *word)
{
	return *s == *word && !strncmp(s, word, strlen(word));
}

/* What stands behind the word at s; s: another word is there */
static inline const char *behind(const char *s, const char *word)
{
	return begins_with(s, word) ? s + strlen(word) : s;
}

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* text.c */
const char *textf(struct printer *p, const char *fmt, ...) PRINTF(2, 3);
void add_tabs(struct strbuf *to, uint32_t n);
/* The next line has the line of the text that n is of before it, as a comment. */
void show_line(struct printer *p, const struct node *n);
void line(struct printer *p, const char *fmt, ...) PRINTF(2, 3);
size_t word_length(const char *s);    /* of the name or number that begins at s; 0: none does */
const char *line_end(const char *s);  /* of the line at s: at its \n */
const char *next_line(const char *s); /* behind the \n */
bool is_comment(const char *s);       /* the line at s */
/* Is the word at s, with `before` before it, a name: of no member, and none of ptgc's own? */
bool is_name(const char *s, char before);
/* The next name in the code at s, before the end; NULL: there is none */
const char *next_identifier(const char *s, const char *end, size_t *len);
void add_names(struct printer *p, struct words *to, const char *code); /* all of them */
uint32_t count_lines(const char *s);
const char *in_parens(struct printer *p, const char *s);
void add_quoted(struct strbuf *to, const char *s);        /* as the inside of a literal */
const char *in_comment(struct printer *p, const char *s); /* as the inside of a comment */
bool has_word(struct printer *p, const struct words *w, const char *word, size_t len);
uint32_t word_number(struct printer *p, const struct words *w, const char *word,
		     size_t len); /* UINT32_MAX: it is not there */
void add_word(struct printer *p, struct words *w, const char *word, size_t len);
uint32_t sym_number(const struct words *w, const struct sym *s);
uint32_t add_sym(struct printer *p, struct words *w, const struct sym *s); /* its number */
const char *fresh_for(struct printer *p, const struct value *v, const char *otherwise);
const char *fresh(struct printer *p, const char *base); /* a name that nothing has */
const char *fresh_in_file(struct printer *p,
			  const char *base);       /* outside of run(): with the model's */
void take_names_of_file(struct printer *p);        /* which all models have */
bool mentions(const char *text, const char *name); /* does the code read that name? */
/* Does the name of len characters at s, which is in code behind a tab, get another value there? */
bool is_changed(const char *s, size_t len);
/* The number of what run() says of a check at s in the .ptg text */
uint32_t message(struct printer *p, struct span s, const char *text);
const char *mangled(struct printer *p, const char *name);
const char *memory_type(enum dtype t); /* of elements in memory, and of variables */
const char *number_type(enum dtype t);
const char *unsigned_type(enum dtype t);
void put_literal(struct strbuf *to, const struct tensor *t, uint64_t i);
const char *literal(struct printer *p, const struct tensor *t, uint64_t i);
const char *loaded(struct printer *p, enum dtype t, const char *element);
const char *to_store(struct printer *p, enum dtype t, const char *number);
const char *plus(struct printer *p, const char *a, const char *b);
const char *times(struct printer *p, const char *a, const char *b);
const char *product(struct printer *p, const char *const *dims, uint32_t n);
const char *number_text(struct printer *p, int64_t v);
bool is_number_text(const char *s, int64_t *v); /* no: INT64_MIN, which has no digits */
NORETURN void cannot(struct printer *p, const struct node *n, const char *fmt, ...) PRINTF(3, 4);

/* lengths.c */
#define MAX_DEPTH_OF_DIM 40 /* operators inside of each other in one dim */
const char *dim_text(struct printer *p, dim d, bool as_made, bool *start); /* NULL: not known yet */
void bind_length(struct printer *p, dim d, const char *text, bool start);
void unbind_length(struct printer *p, const char *text); /* whatever is called that */
/* Gives v its lengths; computed[i] is what the node computes, where the type does not say it. */
void set_lengths(struct printer *p, const struct value *v, const char *const *computed);
bool known_lengths(struct printer *p, const struct value *v);
const char *length(struct printer *p, const struct value *v, uint32_t axis);
const char *count_of(struct printer *p, const struct value *v);
void must_equal(struct printer *p, const char *a, const char *b, const char *what);
void fail_if(struct printer *p, const char *what, const char *condition, ...) PRINTF(3, 4);
uint32_t failure(struct printer *p, const struct node *n, const char *what); /* or its label */
void check_now(struct printer *p); /* prints the equations that can be computed by now */
/* d where it is compared: integers, given or computed, may be in it, cut to what a length can be */
const char *compared_text(struct printer *p, dim d);

/* integers.c */
const char *element(struct printer *p, const struct value *v, int64_t i);
bool known_integers(struct printer *p, const struct value *v); /* by lengths known so far */
void keep_integers(struct printer *p, const struct node *n);   /* n was printed */

/* plan.c */
void plan(struct printer *p);
bool is_cheap(const struct printer *p, const struct value *v);
bool only_units(struct printer *p,
		const struct node *n); /* a Reshape: do only axes of 1 come or go? */

/* nest.c */
const char *at(struct printer *p, const struct value *v, const char **ix);
/* Where an element of v lies: the index in *array. NULL: it is computed. */
const char *place_at(struct printer *p, const struct value *v, const char **ix, const char **array);
const char *operand(struct printer *p, const struct node *n, uint32_t i, const char **ix);
const char *linear(struct printer *p, const char *const *dims, uint32_t rank, const char **ix);
void make_array(struct printer *p, const struct value *v); /* room for v, with a name */
void make_room(struct printer *p, const struct value *v, const char *declared, const char *name);
/* The same at the end of the workspace, at `top`, which then is behind it */
void make_room_at_top(struct printer *p, const struct value *v, const char *declared,
		      const char *name);
/* The name of `count` int64_t that a node needs for itself; start: it is known when run() starts */
const char *make_scratch(struct printer *p, const char *count, bool start);
/* The number of elements, or the greatest number; -1 if a length is negative */
const char *room_for(struct printer *p, const char *const *dims, uint32_t rank);
uint32_t open_loops(struct printer *p, const char *const *dims, uint32_t rank, const char **ix);
/* Loops over all elements of v; one loop where all that is read lies as v does. It counts the last
 * axis, with the indices of the others 0. */
uint32_t loops_over(struct printer *p, const struct value *v, const struct value *read,
		    const char **ix);
void close_loops(struct printer *p, uint32_t n);
/* The name of an integer that `text` computes, in the outermost loop that it may stand in; at least
 * so many loops are around it */
const char *number_in_loops(struct printer *p, const char *base, const char *text, uint32_t loops);
/* How many loops are around what counts the indices ix */
uint32_t loops_of(const struct printer *p, const char *const *ix, uint32_t n);
void begin_rows(struct printer *p, struct row_loop *r); /* a loop over blocks of rows */
void end_rows(struct printer *p, const char *count);
uint32_t open_rows(struct printer *p, const char **ix); /* those of the block */
const char *constant_array(struct printer *p, const struct value *v);
/* The array of v, which a reader needs, at element `first` */
const char *array_at(struct printer *p, const struct value *v, const char *first);
void keep(struct printer *p, const struct value *v); /* v, a formula, in a variable or an array */
/* The element ix of the array of y, from a number that may have more digits */
void put_number(struct printer *p, const struct value *y, const char **ix, const char *number);
void copy(struct printer *p, const struct value *to, const struct value *from);
void use_buffers(struct printer *p, uint32_t from);      /* what a loop reads lives as long as it */
const char *placed(struct printer *p, const char *body); /* with offsets */

/* lines.c */
struct mention { /* of a name in a line */
	const struct sym *name;
	uint32_t at;  /* in the text */
	bool changed; /* it gets another value */
	bool address; /* it stands behind & */
};
struct code_line {
	const char *text; /* behind the tabs; a \n ends it */
	uint32_t len, tabs;
	bool calls;                /* it may call functions of lib/c */
	const char *defines;       /* the type of the name that it defines, which is the first, as
				      that of a parameter; "": an array on the stack; NULL: none */
	vec(struct mention) names; /* but words of C; a comment has none */
};
struct body {
	vec(struct code_line) lines;
};
struct body read_body(struct printer *p, const char *text);
struct code_line read_line(struct printer *p, const char *s);          /* that at s */
const char *find_in_line(const struct code_line *l, const char *text); /* NULL: it has it nowhere */
bool calls(const struct code_line *l, const char *name);               /* of lib/c */

/* unread.c */
void drop_unread_lines(struct printer *p, struct body *b);

/* rooms.c */
const char *with_rooms(struct printer *p, const struct body *b); /* for arrays of open lengths */

/* entry.c */
void declare_entry(struct printer *p, struct strbuf *to);
const char *entry(struct printer *p, const struct interface *f);

/* weights.c */
void choose_weights(struct printer *p, struct interface *f);
void print_arrays(struct printer *p, struct strbuf *to);       /* of constants in the file of C */
void declare_weights(struct printer *p, struct strbuf *to);    /* in the header */
void print_find_weights(struct printer *p, struct strbuf *to); /* a function that run() calls */
/* What run() begins with, if its body needs weights */
void print_weights(struct printer *p, const char *body, struct strbuf *to);

/* The chunks of lib/c, made by tools/embed_c.sh: what one needs stands before it; NULL ends */
extern const struct c_chunk { /* a function, or a few that belong together */
	const char *text;
	const char *names; /* that it defines: each with a space behind it */
} c_library[];

/* growth.c */
struct growing {                      /* what a loop carries, or stacks */
	const struct value *v, *next; /* its value, or result; that of the body */
	bool open;                    /* its length changes, or only the steps know it */
	const char *own[MAX_RANK];    /* by axis: the variable of a length; NULL: it is known */
	const char *length[MAX_RANK];
	uint32_t place;        /* of a stack, in the table */
	const char **now, *at; /* of what is next: its lengths, its place */
};
struct growth {
	const struct node *n;
	const struct block *body;
	uint32_t first, params,
		results; /* the first inputs, parameters, results that are carried */
	uint32_t nstates, nstacks, nopen;
	const char *most; /* rows; NULL: there is no bound */
	bool early;       /* the loop may end before that */
	bool open;        /* something is */
	struct growing *states, *stacks;
	const char *base, *end, *rows, *room, *table;
};
void find_growing_states(struct printer *p, struct growth *g);
void find_growing_stacks(struct printer *p, struct growth *g);
void begin_growth(struct printer *p, struct growth *g);
void keep_growth(struct printer *p, struct growth *g); /* what is next is computed */
void next_growth(struct printer *p, struct growth *g); /* and takes its place */
void forget_lengths_of_steps(struct printer *p, const struct growth *g);
void give_stacks(struct printer *p, struct growth *g);

/* work.c; sizes: the names of those of inputs */
/* Of the lines: characters of code, each as often as it is run */
double work_of(struct printer *p, const struct words *sizes, const struct code_line *const *lines,
	       uint32_t count);
/* How many rounds the loop has that the line begins, `for (...; i < 40; i += 8)`: 5. 1: it begins
 * none */
double rounds_of(struct printer *p, const struct words *sizes, const struct code_line *l);

/* copies.c; types: of variables, by number of the name, as `defines` of a line */
void copies_as_calls(struct printer *p, const char *const *types, struct body *b);

/* library.c */
/* The chunks of lib/c that the texts of code need */
void print_library(struct printer *p, const char *const *texts, uint32_t count, struct strbuf *to);
/* Changes texts[i]: a long inline function of lib/c that it calls, such as ptgc_exp(x), becomes
 * ptgc_exp_call(x). Returns the definitions of these. */
const char *set_apart(struct printer *p, const char **texts, uint32_t count);

/* outline.c */
enum tier { HEAVY, LIGHT, COLD, TIERS };
struct loops {
	const char *functions[TIERS]; /* that a long one calls: those that do the most, most others,
					 those that do next to nothing */
	bool run_is_cold;             /* beside them, the body itself does next to nothing */
};
/* Leaves in b what stays in run(), without marks of pieces. */
struct loops loops_as_functions(struct printer *p, const struct interface *f, struct body *b);

/* walk.c */
void print_block(struct printer *p, const struct block *b);

#endif
