/*
 * ast.c: parse(), and the functions that the grammar's actions call to make nodes. In: a source.
 * Out: always a struct file; errors are in ctx. file->nodes has the nodes in post-order; statements
 * are linked. Memory is cx->scratch, but cx->arena for the library, whose fns are expanded again.
 *
 * Children, in the order in which they stand before their parent:
 *   A_LIST, A_TUPLE    n elements. A list of number literals, True and False, or of lists of those
 *                      with one shape, is A_DATA instead; so is [] (shape {0}).
 *   A_PAREN, A_UNARY   1; A_BINARY, A_ARROW: 2, left first. `-` on a literal is AF_NEGATIVE and no
 *                      node: `at` is then the digits, `span` has the minus, A_FLOAT and A_IMAG have
 *                      a negative u.real. real + imaginary is left as A_BINARY.
 *   A_CALL, A_OPREF    nprops A_PROPs, then the arguments; u.sym "onnx.Gelu" is one name;
 *                      AF_QUOTED: some part was in backquotes. A dtype's name that is called,
 *                      float64(...), is A_CONSTRUCT; F(...) is A_CALL, as F may be a fn.
 *   A_NAMED            1: the value of an argument that is given by name, as in Sc(x, k=3)
 *   A_PROP             1, with u.sym NULL for a bare value; (a) -> (b) is A_PROP of A_ARROW.
 *   A_ATTRIBUTE        base; u.sym: the name behind the dot
 *   A_METHOD           operands; u.sym: the name. No value has methods.
 *   A_INDEX            base, items: expressions, A_SLICE, A_ELLIPSIS, A_NONE
 *   A_SET, A_INC       base, items, the new value (n = items + 2); `at` is the word set or inc
 *   A_CONSTRUCT        nprops dims, then values; AF_DIMS: [ ] was written (so F[](x) differs from
 *                      F(x)); u.sym is a dtype's name or starts with a capital letter
 *   A_SLICE            start, stop, step: those that the flags name
 *   A_TYPE             n dims: expressions, A_ANY, A_ELLIPSIS (u.sym the name of both, or NULL)
 * `at` of a call is its name, of an index its `[`, of an operator the operator.
 */
#include <stdarg.h>
#include <string.h>

#include "syntax/internal.h"

#define NO_SPAN   ((struct span){0, 0})
#define MAX_PARTS (1 << 22) /* of one expression, and half of those of a statement */

struct diag *parse_error(struct parse *p, struct span s, enum diag_code code, const char *fmt, ...)
{
	va_list ap;

	if (p->stop || p->skip)
		return NULL;
	/* the rest of a header that was wrong already */
	if (p->head && p->head_told && p->told >= p->head_at && p->told < s.begin &&
	    told_in_line(p, s.begin))
		return NULL;
	va_start(ap, fmt);
	const char *text = arena_vprintf(p->arena, fmt, ap);
	va_end(ap);
	return error(p->cx, s, code, "%s", text);
}

bool quoted(struct parse *p, struct span s)
{
	return p->text[s.begin - p->base] == '`';
}

struct expr before(struct parse *p, struct expr e)
{
	uint32_t size = p->file->nodes.at[e.first - 1].size;

	return (struct expr){e.first - size, size};
}

struct expr tail(struct parse *p)
{
	return before(p, (struct expr){p->file->nodes.len, 0});
}

struct range children(struct parse *p, uint32_t n)
{
	struct expr e = {p->file->nodes.len, 0};

	for (uint32_t i = 0; i < n; i++)
		e = before(p, e);
	return (struct range){e.first, n};
}

NORETURN static void too_many_parts(struct parse *p, struct span s)
{
	parse_error(p, s, E_LIMIT,
		    "the expression has more than %d parts: give names to some of them", MAX_PARTS);
	stop(p->cx);
}

struct anode *leaf(struct parse *p, enum anode_kind kind, struct span s)
{
	struct anode *n = vec_push(p->arena, &p->file->nodes);

	/* stop early: this expression will have too many parts */
	if (p->file->nodes.len - p->statement > 2 * MAX_PARTS)
		too_many_parts(p, s);
	/* the array may still hold a folded node here */
	*n = (struct anode){.kind = (uint8_t)kind, .size = 1, .span = s, .at = s};
	return n;
}

void name_leaf(struct parse *p, struct sym *name, struct span s)
{
	struct anode *n = leaf(p, A_NAME, s);

	n->u.sym = name;
	n->flags = quoted(p, s) ? AF_QUOTED : 0;
	if (name == p->underscore && !n->flags)
		parse_error(p, s, E_DISCARD, "'_' discards a result: it cannot be used");
}

struct anode *parent(struct parse *p, enum anode_kind kind, struct range r, struct span s,
		     struct span at)
{
	struct anode *n = leaf(p, kind, s);

	n->at = at;
	n->n = r.n;
	n->size = p->file->nodes.len - r.start;
	if (n->size > MAX_PARTS)
		too_many_parts(p, at);
	return n;
}

static bool is_literal(const struct anode *n)
{
	return n->kind == A_INT || n->kind == A_FLOAT || n->kind == A_IMAG;
}

/* A minus directly on a literal is part of it, once: -128, but not -2 ** 2, -(2) or --2. */
void unary(struct parse *p, enum opr op, struct span s, struct span at)
{
	struct anode *n = &p->file->nodes.at[p->file->nodes.len - 1];

	if (op == OPR_NEG && is_literal(n) && !(n->flags & AF_NEGATIVE)) {
		n->flags |= AF_NEGATIVE;
		n->span = s;
		if (n->kind != A_INT)
			n->u.real = -n->u.real;
		return;
	}
	parent(p, A_UNARY, children(p, 1), s, at)->op = (uint8_t)op;
}

static bool is_bits(const struct anode *n)
{
	return n->kind == A_BINARY && (n->op == OPR_AND || n->op == OPR_OR || n->op == OPR_XOR);
}

void binary(struct parse *p, enum opr op, struct span s, struct span at)
{
	struct range r = children(p, 2);
	const struct anode *right = &p->file->nodes.at[p->file->nodes.len - 1];
	const struct anode *left = right - right->size;

	if (op <= OPR_GE && (is_bits(left) || is_bits(right))) {
		const struct anode *bits = is_bits(left) ? left : right;
		struct diag *d = parse_error(p, bits->at, E_COMPARE_BITS,
					     "'%.*s' binds tighter "
					     "than the comparison: write parentheses",
					     (int)(bits->at.end - bits->at.begin),
					     p->text + (bits->at.begin - p->base));
		if (d)
			note(p->cx, d, at, "the comparison");
	}
	parent(p, A_BINARY, r, s, at)->op = (uint8_t)op;
}

static uint16_t count16(struct parse *p, uint32_t n, const char *what, struct span s)
{
	if (n > MAX_COUNT)
		parse_error(p, s, E_TOO_MANY, "%u %s: at most %d are possible", (unsigned)n, what,
			    MAX_COUNT);
	return (uint16_t)n;
}

void call(struct parse *p, struct sym *name, const struct range *props, const struct range *args,
	  struct span s, struct span at)
{
	uint32_t nprops = props ? props->n : 0, nargs = args ? args->n : 0;
	struct range r = {nprops  ? props->start
			  : nargs ? args->start
				  : p->file->nodes.len,
			  nprops + nargs};
	struct anode *n = parent(p, args ? A_CALL : A_OPREF, r, s, at);
	const char *text = p->text + (at.begin - p->base);
	const char *end = name->len > 4 ? name->s + name->len - 4 : "";

	n->u.sym = name;
	n->nprops = count16(p, nprops, "properties", at);
	n->flags = memchr(text, '`', at.end - at.begin) ? AF_QUOTED : 0;
	if (!n->flags && !props && args && name->dtype) {
		n->kind = A_CONSTRUCT;
		return;
	}
	if (args && *text != '`' && *end == '.' && (!strcmp(end, ".set") || !strcmp(end, ".inc"))) {
		parse_error(p, at, E_INDEX_FIRST, "index first: x[...]%s(v) updates all of x", end);
		p->told = at.begin;
	}
}

/* name[dims] ( : takes the node of the name out, so that *index is the range of the dims. false,
 * with NULL in *name: the name cannot be a dtype. */
bool construct_begin(struct parse *p, struct range *index, struct sym **name, struct span s)
{
	struct anode *base = &p->file->nodes.at[index->start];
	uint32_t rest = p->file->nodes.len - index->start - 1;
	bool single = children(p, index->n - 1).start == index->start + 1;

	if (!single || base->kind != A_NAME || base->flags & AF_QUOTED ||
	    !(base->u.sym->dtype || (base->u.sym->s[0] >= 'A' && base->u.sym->s[0] <= 'Z'))) {
		parse_error(p, s, E_CONSTRUCT,
			    "only a dtype can stand here: float32[3, 3](0) makes a tensor; values "
			    "are not called");
		*name = NULL;
		return false;
	}
	if (rest > MAX_DIM_NODES) /* the dims are moved, once for each level of nesting */
		parse_error(p, s, E_TOO_MANY, "the dims are too complex: compute them before");
	*name = base->u.sym;
	memmove(base, base + 1, rest * sizeof(*base));
	p->file->nodes.len--;
	index->n--;
	return true;
}

void construct(struct parse *p, struct sym *name, struct range index, struct range args,
	       struct span s, struct span at)
{
	struct range r = {index.start, index.n + args.n};
	struct anode *n = parent(p, A_CONSTRUCT, r, s, at);

	n->at.end = at.begin + name->len;
	n->u.sym = name;
	n->nprops = count16(p, index.n, "dims", n->at);
	n->flags = AF_DIMS;
}

/* x[...].name(args): .set(v), .inc(v), or what is no method */
void update(struct parse *p, struct sym *name, struct range index, struct range args, struct span s,
	    struct span at)
{
	struct range r = {index.start, index.n + args.n};

	if (name != p->set && name != p->inc) {
		method(p, name, r, s, at);
		return;
	}
	const struct anode *last = &p->file->nodes.at[p->file->nodes.len - 1];
	if (args.n != 1 || last->kind == A_NAMED) {
		parse_error(p, at, E_SYNTAX, "'.%s' takes one value%s: x[...].%s(v)", name->s,
			    args.n == 1 ? ", without a name" : "", name->s);
		p->told = at.begin;
	}
	parent(p, name == p->inc ? A_INC : A_SET, r, s, at);
}

/* The expression that was just completed, then .name */
void attribute(struct parse *p, struct sym *name, struct span s, struct span at)
{
	parent(p, A_ATTRIBUTE, children(p, 1), s, at)->u.sym = name;
}

/* (x + y).name(args), which the elaborator refuses */
void method(struct parse *p, struct sym *name, struct range operands, struct span s, struct span at)
{
	if (name == p->set || name == p->inc) {
		parse_error(p, at, E_INDEX_FIRST, "index first: x[...].%s(v) updates all of x",
			    name->s);
		p->told = at.begin;
	}
	parent(p, A_METHOD, operands, s, at)->u.sym = name;
}

/* A name with dots is that of an op, or a value with attributes. */
void dotted_more(struct parse *p, struct sym *name, struct span s)
{
	sb_add(&p->dotted, ".", p->parts.len ? 1 : 0);
	sb_add(&p->dotted, name->s, name->len);
	*vec_push(p->arena, &p->parts) = (struct name_part){name, s};
}

void dotted_begin(struct parse *p, struct sym *name, struct span s)
{
	p->dotted.len = p->parts.len = 0;
	dotted_more(p, name, s);
}

void dotted_value(struct parse *p)
{
	struct span s = p->parts.at[0].span;

	name_leaf(p, p->parts.at[0].name, s);
	for (uint32_t i = 1; i < p->parts.len; i++) {
		s.end = p->parts.at[i].span.end;
		attribute(p, p->parts.at[i].name, s, p->parts.at[i].span);
	}
}

void ast_slice(struct parse *p, unsigned flags, struct span s, struct span at)
{
	uint32_t n = !!(flags & AF_START) + !!(flags & AF_STOP) + !!(flags & AF_STEP);

	parent(p, A_SLICE, children(p, n), s, at)->flags = (uint8_t)flags;
}

void type_node(struct parse *p, struct sym *name, const struct range *dims, struct span s,
	       struct span at)
{
	struct range r = dims ? *dims : children(p, 0);
	struct anode *n = parent(p, A_TYPE, r, s, at);

	n->u.sym = name;
	n->flags = (uint8_t)((dims ? AF_DIMS : 0) | (quoted(p, at) ? AF_QUOTED : 0));
	if (quoted(p, at))
		parse_error(p, at, E_UNKNOWN_DTYPE, "a quoted name is never a dtype");
}

void push_target(struct parse *p, struct sym *name, struct expr type, struct span s)
{
	struct target *t = vec_push(p->arena, &p->targets);

	t->name = name;
	t->span = s;
	t->type = type;
	t->quoted = quoted(p, s);
}

struct range more_targets(struct parse *p, struct range r)
{
	if (r.n++ < MAX_COUNT)
		return r;
	parse_error(p, p->targets.at[p->targets.len - 1].span, E_TOO_MANY, "more than %d results",
		    MAX_COUNT);
	stop(p->cx);
}

struct stmt *statement(struct parse *p, enum stmt_kind kind, struct range targets,
		       struct expr value, struct span s)
{
	struct stmt *st = new (p->arena, struct stmt);

	p->statement = p->file->nodes.len;
	st->kind = (uint8_t)kind;
	st->span = s;
	st->u.value = value;
	if (!targets.n)
		return st;
	st->ntargets = (uint16_t)targets.n;
	st->targets = new_array(p->arena, struct target, targets.n);
	memcpy(st->targets, &p->targets.at[targets.start], targets.n * sizeof(*st->targets));
	p->targets.len = targets.start;
	return st;
}

static bool in_name(unsigned char c)
{
	return c >= 0x80 || c == '_' || (c >= '0' && c <= '9') ||
	       ((c | 32) >= 'a' && (c | 32) <= 'z');
}

/* The name that begins at text[*i], quoted or not; *i moves behind it. NULL: no name does. */
static struct sym *name_in_text(struct parse *p, uint32_t *i, uint32_t end)
{
	uint32_t from = *i;

	if (p->text[from] == '`') {
		const char *close = memchr(p->text + from + 1, '`', end - from - 1);
		*i = close ? (uint32_t)(close - p->text) + 1 : end;
		return close ? intern(p->cx, p->text + from + 1, *i - from - 2) : NULL;
	}
	while (*i < end && in_name((unsigned char)p->text[*i]))
		++*i;
	return *i > from ? intern(p->cx, p->text + from, *i - from) : NULL;
}

static bool skips_text(struct parse *p, uint32_t *i, uint32_t end)
{
	char c = p->text[*i];

	if (c != '#' && c != '"' && c != '\'')
		return false;
	const char *close = memchr(p->text + *i + 1, c == '#' ? '\n' : c, end - *i - 1);
	*i = close ? (uint32_t)(close - p->text) + 1 : end;
	return true;
}

/* A statement that could not be read. Each name up to the end of its line, and in the lines that
 * were skipped with it, may be one that the statement was to define, so no message says that the
 * name is not defined. A line that is indented further than the statement before it may go on with
 * that. */
struct stmt *lost_statement(struct parse *p, struct span s, uint32_t next,
			    const struct stmt *before)
{
	struct range targets = {p->targets.len, 0};
	uint32_t end = s.end - p->base;
	const char *line_end = memchr(p->text + end, '\n', p->len - end);

	end = line_end ? (uint32_t)(line_end - p->text) : p->len;
	if (next - p->base > end)
		end = next - p->base;

	for (uint32_t i = s.begin - p->base; i < end && targets.n < MAX_COUNT;) {
		uint32_t from = i;
		if (skips_text(p, &i, end))
			continue;
		struct sym *name = name_in_text(p, &i, end);
		if (name) {
			push_target(p, name, (struct expr){0, 0},
				    (struct span){p->base + from, p->base + i});
			targets.n++;
		} else if (i == from) {
			i++;
		}
	}
	p->file->lost++;
	struct stmt *lost = statement(p, S_LOST, targets, (struct expr){0, 0}, s);
	char first = s.begin - p->base < p->len ? p->text[s.begin - p->base] : 0;
	lost->nameless =
		first != '`' && (!in_name((unsigned char)first) || (first >= '0' && first <= '9'));
	lost->goes_on = lost->nameless ||
			(before && text_indent(p, s.begin) > text_indent(p, before->span.begin));
	lost->nameless |=
		p->told > s.begin && !memchr(p->text + (s.begin - p->base), '=', p->told - s.begin);
	return lost;
}

/* state and next: one name; its value is the expression that was parsed last */
struct stmt *set_statement(struct parse *p, enum stmt_kind kind, struct sym *name, struct span at,
			   struct expr type, struct span s)
{
	push_target(p, name, type, at);
	return statement(p, kind, (struct range){p->targets.len - 1, 1}, tail(p), s);
}

void push_param(struct parse *p, struct sym *name, struct expr type, struct expr value,
		struct span s, struct span name_span)
{
	struct param *q = vec_push(p->arena, &p->params);

	p->statement = p->file->nodes.len;
	q->name = name;
	q->span = s;
	q->type = type;
	q->value = value;
	q->quoted = quoted(p, name_span);
}

/* The default of the first of n parameters cannot use that one, nor one behind it. */
static void check_uses(struct parse *p, const struct param *q, uint32_t n)
{
	for (uint32_t i = q->value.first; i < q->value.first + q->value.len; i++) {
		const struct anode *a = &p->file->nodes.at[i];
		for (uint32_t k = 0; k < n && a->kind == A_NAME; k++)
			if (q[k].name == a->u.sym) {
				parse_error(
					p, a->span, E_UNDEFINED,
					"the default of '%s' can use only the parameters before it",
					q->name->s);
				return;
			}
	}
}

/* Only parameters of fns have defaults, and those without one stand first. */
static void check_defaults(struct parse *p, bool is_graph, struct range params,
			   struct range results)
{
	const struct param *with = NULL;

	for (uint32_t i = 0; i < results.n; i++) {
		const struct param *r = &p->params.at[results.start + i];
		if (r->value.len)
			parse_error(p, r->span, E_SYNTAX, "a result has no default");
	}
	for (uint32_t i = 0; i < params.n; i++) {
		const struct param *q = &p->params.at[params.start + i];
		if (is_graph && q->value.len)
			parse_error(p, q->span, E_SYNTAX,
				    "an input has no default: 'state %s: ... = ...' in the body is "
				    "an input that may be left out",
				    q->name->s);
		else if (!is_graph && with && !q->value.len)
			parse_error(p, q->span, E_SYNTAX,
				    "'%s' has no default, so it stands before '%s', which has one",
				    q->name->s, with->name->s);
		else if (!is_graph)
			check_uses(p, q, params.n - i);
		with = q->value.len ? q : with;
	}
}

static struct param *take_params(struct parse *p, struct range r, uint32_t *n)
{
	struct param *list = new_array(p->arena, struct param, r.n + 1);

	*n = r.n;
	if (r.n)
		memcpy(list, &p->params.at[r.start], r.n * sizeof(*list));
	return list;
}

void add_fn(struct parse *p, bool is_graph, struct sym *name, struct span name_span,
	    struct range decls, struct range params, struct range results, struct ablock body,
	    struct span s)
{
	struct fn *f = new (p->arena, struct fn);
	struct fn ***end = is_graph ? &p->graphs_end : &p->fns_end;

	check_defaults(p, is_graph, params, results);
	f->is_graph = is_graph;
	f->name = name;
	f->name_span = name_span;
	f->span = s;
	f->decls = take_params(p, decls, &f->ndecls);
	f->params = take_params(p, params, &f->nparams);
	f->results = take_params(p, results, &f->nresults);
	f->body = body;
	f->file = p->file;
	p->params.len = 0;
	**end = f;
	*end = &f->next;
}

struct ause *add_use(struct parse *p, struct sym *alias, struct span s)
{
	struct ause *use = new (p->arena, struct ause);

	if (alias && (quoted(p, s) || alias->dtype || alias->word))
		parse_error(p, s, E_SYNTAX, "'%s' cannot be the name of a file: %s", alias->s,
			    quoted(p, s)   ? "it stands before a '.', without backquotes"
			    : alias->dtype ? "it is a dtype"
					   : "it is a word of the language");
	use->alias = alias;
	use->alias_span = s;
	*p->uses_end = use;
	p->uses_end = &use->next;
	return use;
}

/* The value is the expression that was parsed last. */
void add_const(struct parse *p, struct sym *name, struct span s, struct expr type)
{
	struct aconst *c = new (p->arena, struct aconst);

	p->statement = p->file->nodes.len;
	c->name = name;
	c->span = s;
	c->type = type;
	c->value = tail(p);
	*p->consts_end = c;
	p->consts_end = &c->next;
}

void header(struct parse *p, uint64_t version, struct span s, struct span at)
{
	p->file->header = s;
	if (version == PTG_VERSION) {
		p->file->version = PTG_VERSION;
		return;
	}
	if (version > PTG_VERSION)
		parse_error(p, at, E_VERSION,
			    "version %llu of the language is newer than this "
			    "compiler, which knows version %d",
			    (unsigned long long)version, PTG_VERSION);
	else
		parse_error(p, at, E_VERSION, "there is no version 0 of the language");
	p->stop = true;
}

void header_setting(struct parse *p, struct sym *key, struct sym *value, struct span s)
{
	enum dtype t = value ? value->dtype : DT_NONE;

	if (!strcmp(key->s, "optimise") && !value) {
		p->file->optimise = true;
	} else if (!strcmp(key->s, "optimise")) {
		parse_error(p, s, E_HEADER, "optimise stands alone");
	} else if (!value) {
		parse_error(p, s, E_HEADER,
			    "'%s' is not a setting (known are floatX=, infix=onnx, optimise, "
			    "ai.onnx.ml=)",
			    key->s);
	} else if (!strcmp(key->s, "floatX")) {
		if (t == DT_FLOAT16 || t == DT_FLOAT32 || t == DT_FLOAT64)
			p->file->floatx = t;
		else
			parse_error(p, s, E_HEADER,
				    "floatX is float16, float32 or float64, not '%s'", value->s);
	} else if (!strcmp(key->s, "infix")) {
		p->file->infix_onnx = !strcmp(value->s, "onnx");
		if (!p->file->infix_onnx)
			parse_error(p, s, E_HEADER, "infix is onnx or left out, not '%s'",
				    value->s);
	} else {
		parse_error(p, s, E_HEADER,
			    "unknown setting '%s' (known are floatX, infix, optimise and "
			    "ai.onnx.ml)",
			    key->s);
	}
}

/* ai.onnx.ml=4; name, at: the places of the name and of the number */
void header_domain(struct parse *p, struct sym *a, struct sym *b, struct sym *c, uint64_t version,
		   struct span name, struct span at)
{
	if (strcmp(a->s, "ai") || strcmp(b->s, "onnx") || strcmp(c->s, "ml"))
		parse_error(p, name, E_HEADER,
			    "a header can set a version only for ai.onnx.ml, as in ai.onnx.ml=4");
	else if (version < 1 || version > MAX_ML_OPSET)
		parse_error(p, at, E_HEADER, "versions 1 to %d of ai.onnx.ml are known, not %llu",
			    MAX_ML_OPSET, (unsigned long long)version);
	else
		p->file->ml_opset = (int)version;
}

/*
 * Lists. The numbers of all folded lists are one array, in the order of the text; to fold a list of
 * rows, the rows are forgotten. A list of up to FOLD_COMMIT elements is folded when it is closed. A
 * longer one drops its nodes while it grows; if something other than a number follows after that,
 * which is rare, the text is parsed again with keep_nodes.
 */
static bool is_number(const struct anode *n)
{
	return n->kind == A_INT || n->kind == A_FLOAT || n->kind == A_TRUE || n->kind == A_FALSE;
}

static uint32_t first_number(const struct adata *d)
{
	return (uint32_t)(uintptr_t)d->at;
}

static bool same_shape(const struct adata *a, const struct adata *b)
{
	return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof(*a->shape)) == 0;
}

/* Can the list still be folded, with the element that was just parsed? */
static bool can_be_folded(const struct lister *l, const struct anode *n, bool first)
{
	if (is_number(n))
		return first || !l->row;
	if (n->kind != A_DATA || n->u.data->rank >= MAX_RANK)
		return false;
	return first || (l->row && same_shape(l->row, n->u.data));
}

static void add_number(struct parse *p, const struct anode *n)
{
	struct adatum *d = vec_push(p->arena, &p->numbers);

	d->kind = n->kind;
	d->flags = n->flags;
	d->text = n->span.begin;
	if (n->kind == A_FLOAT)
		d->u.real = n->u.real;
	else
		d->u.integer = n->u.integer;
}

/* The nodes of the list's elements become numbers; rows have become numbers before. */
static void fold_nodes(struct parse *p, struct lister *l)
{
	struct anode *n = &p->file->nodes.at[l->start];

	for (uint32_t i = 0; i < l->nodes; i++, n++) {
		if (is_number(n)) {
			add_number(p, n);
		} else if (n->u.data != l->row) {
			n->u.data->at = (struct adatum *)p->rows;
			p->rows = n->u.data;
		}
	}
	p->file->nodes.len = l->start;
	l->merged += l->nodes;
	l->nodes = 0;
}

struct lister *list_first(struct parse *p)
{
	struct lister *l = p->listers;
	struct expr e = tail(p);
	const struct anode *n = &p->file->nodes.at[p->file->nodes.len - 1];

	if (l)
		p->listers = l->next;
	else
		l = new (p->arena, struct lister);
	l->start = e.first;
	l->nodes = 1;
	l->merged = 0;
	l->row = n->kind == A_DATA ? n->u.data : NULL;
	l->numbers = l->row ? first_number(l->row) : p->numbers.len;
	l->fold = can_be_folded(l, n, true);
	return l;
}

bool list_more(struct parse *p, struct lister *l)
{
	l->nodes++;
	if (l->fold && !can_be_folded(l, &p->file->nodes.at[p->file->nodes.len - 1], false)) {
		l->fold = false;
		if (l->merged) {
			p->restart = true;
			return false;
		}
	}
	if (l->fold && l->nodes >= FOLD_COMMIT && !p->keep_nodes)
		fold_nodes(p, l);
	return true;
}

static struct adata *new_data(struct parse *p, uint32_t rank)
{
	struct adata *d = p->rows;

	/* the struct of a row serves the next row of the same rank */
	if (d && d->rank == rank) {
		p->rows = (struct adata *)d->at;
		return d;
	}
	d = new (p->arena, struct adata);
	d->rank = rank;
	d->shape = new_array(p->arena, uint32_t, rank);
	return d;
}

static void end_data(struct parse *p, struct lister *l, struct span s)
{
	uint32_t rank = l && l->row ? l->row->rank + 1 : 1;
	struct adata *d;
	struct anode *n;

	if (l)
		fold_nodes(p, l);
	d = new_data(p, rank);
	d->shape[0] = l ? l->merged : 0;
	if (rank > 1) /* the row may be d itself no more than once: ranks differ */
		memcpy(d->shape + 1, l->row->shape, (rank - 1) * sizeof(*d->shape));
	d->at = (struct adatum *)(uintptr_t)(l ? l->numbers : p->numbers.len);
	d->count = p->numbers.len - first_number(d);
	if (rank > 1) {
		l->row->at = (struct adatum *)p->rows;
		p->rows = l->row;
	}
	n = leaf(p, A_DATA, s);
	n->u.data = d;
}

void list_end(struct parse *p, struct lister *l, struct span s)
{
	struct span at = {s.begin, s.begin + 1};

	if (!l || l->fold)
		end_data(p, l, s);
	else
		parent(p, A_LIST, (struct range){l->start, l->nodes}, s, at);
	if (l) {
		l->next = p->listers;
		p->listers = l;
	}
}

/* The array of numbers grows no more: indices into it become pointers. */
static void place_numbers(struct parse *p)
{
	for (uint32_t i = 0; i < p->file->nodes.len; i++) {
		struct anode *n = &p->file->nodes.at[i];
		if (n->kind == A_DATA)
			n->u.data->at =
				n->u.data->count ? p->numbers.at + first_number(n->u.data) : NULL;
	}
}

struct parse *parse_new(struct ctx *cx, struct source *src)
{
	struct arena *a = src->lib ? cx->arena : cx->scratch;
	struct parse *p = new (a, struct parse);

	intern_words(cx);
	p->cx = cx;
	p->arena = p->dotted.arena = a;
	p->text = src->text;
	p->len = src->len;
	p->base = src->base;
	p->underscore = intern_str(cx, "_");
	p->set = intern_str(cx, "set");
	p->inc = intern_str(cx, "inc");
	p->first_errors = cx->errors;
	p->file = new (a, struct file);
	p->file->source = src;
	p->file->floatx = DT_FLOAT64;
	p->fns_end = &p->file->fns;
	p->graphs_end = &p->file->graphs;
	p->uses_end = &p->file->uses;
	p->consts_end = &p->file->consts;
	scan_begin(p);
	return p;
}

struct file *parse(struct ctx *cx, struct source *src)
{
	struct parse *p = parse_new(cx, src);

	ptg_parse(p);
	if (p->restart) {
		p = parse_new(cx, src);
		p->keep_nodes = true;
		ptg_parse(p);
	}
	place_numbers(p);
	p->file->sound = !p->stop && !p->head_lost && p->file->lost == cx->errors - p->first_errors;
	return p->file;
}
