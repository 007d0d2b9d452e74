/*
 * syntax.h: a file as it was written. The parser makes it; the elaborator and the printers read it;
 * no later layer sees it.
 */
#ifndef PTGC_SYNTAX_SYNTAX_H
#define PTGC_SYNTAX_SYNTAX_H

#include "base/base.h"

/*
 * AST (ast.c, made by grammar/ptg.y). Expressions are arrays in post-order: a node's children stand
 * before it, so passes are loops. `size` counts the nodes of the subtree, the node included: the
 * last child of node i is i-1, the one before it is (i-1) - size(i-1).
 */
enum anode_kind {
	A_NAME,  /* u.sym; flag AF_QUOTED */
	A_INT,   /* u.integer: magnitude; flag AF_NEGATIVE once a minus was folded in */
	A_FLOAT, /* u.real (negative when AF_NEGATIVE); its text is the span, for exact float32 */
	A_IMAG,  /* u.real: the imaginary part; infj, nanj too */
	A_STR,   /* u.str */
	A_NONE,
	A_TRUE,
	A_FALSE,
	A_LIST,      /* n elements */
	A_DATA,      /* u.data: a folded list (of lists) of number literals */
	A_TUPLE,     /* n elements */
	A_PAREN,     /* ( x ): kept for the printer and for the check on & | beside comparisons */
	A_UNARY,     /* op: enum opr */
	A_BINARY,    /* op: enum opr */
	A_CALL,      /* u.sym op name; children: nprops props, then n - nprops arguments */
	A_OPREF,     /* the same without a call: Cholesky{lower=True}; all n children are props */
	A_PROP,      /* u.sym: name=value, one child; u.sym NULL: a bare value */
	A_NAMED,     /* k=x as an argument of a call: u.sym k, one child */
	A_ARROW,     /* a -> b inside props */
	A_INDEX,     /* base, then n-1 index items: x[...] */
	A_SET,       /* base[...].set(v): base, items, v (n = items + 2) */
	A_INC,       /* base[...].inc(v) */
	A_ATTRIBUTE, /* x.T: u.sym T, one child */
	A_METHOD,    /* x[0].sum(v): u.sym sum; all operands. It is refused */
	A_CONSTRUCT, /* F[n](v, ...): u.sym dtype name; nprops dims, then n - nprops values */
	A_SLICE, /* a:b:c; flags AF_START, AF_STOP, AF_STEP (children present), AF_COLON2 (x::) */
	A_ELLIPSIS, /* ... ; u.sym: the name in ...b, or NULL */
	A_ANY,      /* ? as a dim; u.sym: the name in ?n, or NULL */
	A_TYPE,     /* u.sym dtype or generic; n dims; flag AF_DIMS when [ ] was written */
};
enum {
	AF_NEGATIVE = 1,
	AF_QUOTED = 2,
	AF_START = 4,
	AF_STOP = 8,
	AF_STEP = 16,
	AF_COLON2 = 32,
	AF_DIMS = 64
};
enum opr {
#define OPERATOR(id, text, op, onnx, bits) OPR_##id,
#include "syntax/operators.def"
	OPR_COUNT
};
struct anode {
	uint8_t kind; /* enum anode_kind */
	uint8_t op;   /* enum opr */
	uint8_t flags;
	uint16_t nprops;
	uint32_t n;       /* children */
	uint32_t size;    /* nodes of the subtree */
	struct span span; /* the whole expression */
	struct span at;   /* the operator, name or bracket to point at */
	union {
		struct sym *sym;
		uint64_t integer;
		double real;
		struct astr *str;
		struct adata *data;
	} u;
};
/* Numbers of a folded list */
struct adatum {
	uint8_t kind;  /* A_INT, A_FLOAT, A_IMAG, A_TRUE, A_FALSE */
	uint8_t flags; /* AF_NEGATIVE */
	uint32_t text; /* offset of the literal, for exact float32 and messages */
	union {
		uint64_t integer;
		double real; /* with its sign */
	} u;
};
struct adata {
	uint32_t rank; /* nesting depth */
	uint32_t *shape;
	uint32_t count;
	struct adatum *at;
};
/* literal.c: a decimal or hexadecimal number; the locale plays no part */
double literal_double(struct arena *a, const char *s, size_t len);
/* the first or last literal of a text, whose nearest double is `value`, as a double that may be
 * rounded once more: to float32, say */
double literal_odd(struct ctx *cx, struct span s, bool last, double value);

struct expr { /* a range of anodes; the root is the last one. len 0: absent */
	uint32_t first, len;
};
enum stmt_kind { S_ASSIGN, S_IF, S_LOOP, S_FOR, S_STATIC_IF, S_STATE, S_NEXT, S_UNTIL, S_LOST };
struct target {
	struct sym *name; /* "_" discards */
	struct span span;
	struct expr type; /* A_TYPE, or absent */
	bool quoted;
};
struct ablock {
	struct stmt *first, *last;
	struct span span;
};
struct aif { /* one branch; cond absent: else */
	struct expr cond;
	struct ablock body;
	struct aif *next;
	struct span span;
};
struct aitem { /* loop header: "name in seq", "name in start:stop:step", "name: type = first" */
	struct sym *name;
	struct span span;
	bool in, range;
	struct expr type, value, stop, step;
	struct aitem *next;
};
struct aresult {
	struct sym *name;
	struct span span;
	bool stacked; /* [name] */
	struct aresult *next;
};
struct aloop {
	bool written_out; /* for: the compiler writes its steps one after the other */
	struct aitem *items;
	struct expr condition; /* while */
	struct aresult *results;
	struct ablock body;
	struct span span;
};
/* S_LOST: a statement that could not be read; targets are all names in it */
struct stmt {
	uint8_t kind;
	/* S_LOST: it may go on with the line above, as it begins with no name or is indented; it
	 * may define a name that cannot be read */
	bool goes_on, nameless;
	uint16_t ntargets;
	struct span span;
	struct target *targets;
	union {
		struct aif *cond;   /* S_IF, S_STATIC_IF */
		struct aloop *loop; /* S_LOOP, S_FOR */
		struct expr value;  /* the others; S_LOST: absent */
	} u;
	struct stmt *next;
};
struct param {
	struct sym *name;
	struct span span;
	struct expr type;  /* may be absent */
	struct expr value; /* the default of a decl, or of a parameter of a fn */
	bool quoted;
};
struct fn { /* a fn or a graph */
	bool is_graph;
	struct sym *name;
	struct span span, name_span;
	struct param *decls, *params, *results;
	uint32_t ndecls, nparams, nresults;
	struct ablock body;
	struct file *file;
	bool used, active; /* active: being expanded, so another use is a recursion */
	struct fn *next;
};
struct ause {
	struct sym *library; /* use <mcmc>; NULL: use "path" */
	struct astr path;
	struct span span;
	struct sym *alias; /* use ... as alias; NULL: none */
	struct span alias_span;
	struct file *file; /* of an alias: what elab reads from path; NULL: it could not */
	struct ause *next;
};
struct aconst { /* const name: type = value */
	struct sym *name;
	struct span span;
	struct expr type, value; /* type may be absent */
	struct aconst *next;
};
struct file {
	/* elab: the file that another one uses with a name of its own, or the model's; its fns and
	 * those of files that are used without one see each other. NULL: of the library */
	struct file *module;
	bool ordered;  /* elab: its consts have a place in the order of all */
	bool sound;    /* only statements could not be read, so the rest can be elaborated */
	uint32_t lost; /* how many */
	struct source *source;
	int version;       /* 0 when the header is absent */
	enum dtype floatx; /* DT_FLOAT64 unless the header says floatX= */
	bool optimise;     /* optimise in the header: raw nodes are rewritten as others are */
	bool infix_onnx;   /* infix=onnx in the header: a + b is onnx.Add(a, b) */
	int ml_opset;      /* ai.onnx.ml=4 in the header; 0: it is not there */
	struct span header;
	vec(struct anode) nodes;
	struct ause *uses;
	struct aconst *consts;   /* these too in the order written: */
	struct fn *fns, *graphs; /* in the order written */
};
/* ast.c; always a file: errors are in ctx */
struct file *parse(struct ctx *cx, struct source *src);
/* format.c: canonical text with comments; NULL on error */
typedef bool has_axes_t(struct ctx *cx, const struct op *op); /* a property for axes */
char *format(struct ctx *cx, struct source *src, has_axes_t *has_axes, size_t *len);
/* words.c: may the name stand in a text without backquotes? A 0-terminated text of any bytes. */
bool is_plain_name(const char *name);
/* what to write for a text that begins with a letter that looks like an operator, or NULL */
const char *operator_instead(const char *s, size_t len);
/* ast_dump.c */
void dump_ast(struct ctx *cx, const struct file *f, struct strbuf *out);

#endif
