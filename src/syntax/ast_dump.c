/*
 * ast_dump.c: an AST as text, for --dump=ast and for tests: equal texts mean equal ASTs but for
 * places. An expression is printed as (kind child...), a statement on a line. Nested input needs no
 * recursion: what is open is on a stack of its own.
 */
#include <string.h>

#include "syntax/syntax.h"

enum work_kind { W_TEXT, W_STMTS, W_BRANCHES };
struct work { /* what is still to be printed, last one first */
	enum work_kind kind;
	const char *text;
	const struct stmt *stmt;
	const struct aif *branch;
	uint32_t indent;
};
struct dump {
	struct arena *arena;
	const struct file *file;
	struct strbuf *out;
	vec(uint32_t) stack; /* node + 1; 0: a closing parenthesis */
	vec(struct work) work;
};

static const char *const operator_text[] = {
#define OPERATOR(id, text, op, onnx, bits) [OPR_##id] = text,
#include "syntax/operators.def"
};

static void put_text(struct dump *d, const char *s, size_t len, char quote)
{
	sb_add(d->out, &quote, 1);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];
		if (c == '\\' || c == (unsigned char)quote)
			sb_printf(d->out, "\\%c", c);
		else if (c < 0x20)
			sb_printf(d->out, "\\x%02x", c);
		else
			sb_add(d->out, s + i, 1);
	}
	sb_add(d->out, &quote, 1);
}

static void put_name(struct dump *d, const struct sym *name, bool quoted)
{
	if (quoted)
		put_text(d, name->s, name->len, '`');
	else
		sb_add(d->out, name->s, name->len);
}

static void put_data(struct dump *d, const struct adata *data)
{
	sb_str(d->out, "data");
	for (uint32_t i = 0; i < data->rank; i++)
		sb_printf(d->out, "%c%u", i ? 'x' : ' ', (unsigned)data->shape[i]);
	for (uint32_t i = 0; i < data->count; i++) {
		const struct adatum *x = &data->at[i];
		if (x->kind == A_FLOAT)
			sb_printf(d->out, " %a", x->u.real);
		else if (x->kind == A_INT)
			sb_printf(d->out, " %s%llu", x->flags & AF_NEGATIVE ? "-" : "",
				  (unsigned long long)x->u.integer);
		else
			sb_str(d->out, x->kind == A_TRUE ? " True" : " False");
	}
}

static void put_leaf(struct dump *d, const struct anode *n)
{
	bool is_quoted = n->flags & AF_QUOTED;

	switch ((enum anode_kind)n->kind) {
	case A_NAME:
		put_name(d, n->u.sym, is_quoted);
		break;
	case A_INT:
		sb_printf(d->out, "%s%llu", n->flags & AF_NEGATIVE ? "-" : "",
			  (unsigned long long)n->u.integer);
		break;
	case A_FLOAT:
		sb_printf(d->out, "%a", n->u.real);
		break;
	case A_IMAG:
		sb_printf(d->out, "%aj", n->u.real);
		break;
	case A_STR:
		put_text(d, n->u.str->s, n->u.str->len, '"');
		break;
	case A_NONE:
		sb_str(d->out, "None");
		break;
	case A_TRUE:
		sb_str(d->out, "True");
		break;
	case A_FALSE:
		sb_str(d->out, "False");
		break;
	case A_ANY:
		sb_str(d->out, "?");
		if (n->u.sym)
			put_name(d, n->u.sym, false);
		break;
	case A_ELLIPSIS:
		sb_str(d->out, "...");
		if (n->u.sym)
			put_name(d, n->u.sym, false);
		break;
	default:
		break;
	}
}

static const char *inner_word(const struct anode *n)
{
	switch ((enum anode_kind)n->kind) {
	case A_LIST:
		return "list";
	case A_TUPLE:
		return "tuple";
	case A_PAREN:
		return "paren";
	case A_UNARY:
	case A_BINARY:
		return operator_text[n->op];
	case A_CALL:
		return "call";
	case A_OPREF:
		return "op";
	case A_PROP:
		return "prop";
	case A_NAMED:
		return "named";
	case A_ARROW:
		return "arrow";
	case A_INDEX:
		return "index";
	case A_SET:
		return "set";
	case A_INC:
		return "inc";
	case A_ATTRIBUTE:
		return "attribute";
	case A_METHOD:
		return "method";
	case A_CONSTRUCT:
		return "construct";
	case A_SLICE:
		return "slice";
	case A_TYPE:
		return "type";
	default:
		return NULL;
	}
}

/* The beginning of a node with children: its kind, and what its children do not show. */
static void put_inner(struct dump *d, const struct anode *n, const char *word)
{
	sb_printf(d->out, "(%s", word);
	switch ((enum anode_kind)n->kind) {
	case A_CALL:
	case A_OPREF:
	case A_CONSTRUCT:
	case A_TYPE:
		sb_str(d->out, n->flags & AF_DIMS ? "[] " : " ");
		put_name(d, n->u.sym, n->flags & AF_QUOTED);
		if (n->kind != A_TYPE)
			sb_printf(d->out, " %u", (unsigned)n->nprops);
		break;
	case A_ATTRIBUTE:
	case A_METHOD:
	case A_PROP:
	case A_NAMED:
		if (n->u.sym) {
			sb_str(d->out, " ");
			put_name(d, n->u.sym, false);
		}
		break;
	case A_SLICE:
		sb_printf(d->out, " %s%s%s%s", n->flags & AF_START ? "a" : "",
			  n->flags & AF_STOP ? ":b" : ":", n->flags & AF_COLON2 ? ":" : "",
			  n->flags & AF_STEP ? "c" : "");
		break;
	default:
		break;
	}
}

static void put_expr(struct dump *d, struct expr e)
{
	if (!e.len)
		return;
	*vec_push(d->arena, &d->stack) = e.first + e.len;
	while (d->stack.len) {
		uint32_t at = d->stack.at[--d->stack.len];
		const struct anode *n = at ? &d->file->nodes.at[at - 1] : NULL;
		const char *word = n ? inner_word(n) : NULL;
		if (!n) {
			sb_str(d->out, ")");
			continue;
		}
		sb_str(d->out, " ");
		if (n->kind == A_DATA) {
			sb_str(d->out, "(");
			put_data(d, n->u.data);
			sb_str(d->out, ")");
		} else if (!word) {
			put_leaf(d, n);
		} else {
			put_inner(d, n, word);
			*vec_push(d->arena, &d->stack) = 0;
			at--; /* of the last child, one above its index */
			for (uint32_t i = 0; i < n->n; i++) {
				*vec_push(d->arena, &d->stack) = at;
				at -= d->file->nodes.at[at - 1].size;
			}
		}
	}
}

static void line(struct dump *d, uint32_t indent, const char *text)
{
	for (uint32_t i = 0; i < indent && i < 40; i++)
		sb_str(d->out, "  ");
	sb_str(d->out, text);
}

static struct work *later(struct dump *d, enum work_kind kind, uint32_t indent)
{
	struct work *w = vec_push(d->arena, &d->work);

	*w = (struct work){.kind = kind, .indent = indent};
	return w;
}

static void later_block(struct dump *d, const struct ablock *b, uint32_t indent)
{
	later(d, W_TEXT, indent)->text = "end\n";
	later(d, W_STMTS, indent + 1)->stmt = b->first;
}

static void put_loop(struct dump *d, const struct aloop *l)
{
	for (const struct aitem *i = l->items; i; i = i->next) {
		sb_printf(d->out, " {%s %s", i->in ? i->range ? "range" : "in" : "carry",
			  i->name->s);
		put_expr(d, i->type);
		put_expr(d, i->value);
		put_expr(d, i->stop);
		put_expr(d, i->step);
		sb_str(d->out, "}");
	}
	if (l->condition.len)
		sb_str(d->out, " while");
	put_expr(d, l->condition);
	sb_str(d->out, " ->");
	for (const struct aresult *r = l->results; r; r = r->next)
		sb_printf(d->out, r->stacked ? " [%s]" : " %s", r->name->s);
}

static void put_stmt(struct dump *d, const struct stmt *s, uint32_t indent)
{
	static const char *const words[] = {"=",  "= if",  "= loop", "= for",
					    "if", "state", "next",   "until"};

	line(d, indent, "");
	for (uint32_t i = 0; i < s->ntargets; i++) {
		put_name(d, s->targets[i].name, s->targets[i].quoted);
		put_expr(d, s->targets[i].type);
		sb_str(d->out, " ");
	}
	sb_str(d->out, words[s->kind]);
	if (s->kind == S_LOOP || s->kind == S_FOR) {
		put_loop(d, s->u.loop);
		later_block(d, &s->u.loop->body, indent);
	} else if (s->kind == S_IF || s->kind == S_STATIC_IF) {
		later(d, W_BRANCHES, indent)->branch = s->u.cond;
	} else {
		put_expr(d, s->u.value);
	}
	sb_str(d->out, "\n");
}

static void run(struct dump *d)
{
	while (d->work.len) {
		struct work w = d->work.at[--d->work.len];
		if (w.kind == W_TEXT) {
			line(d, w.indent, w.text);
		} else if (w.kind == W_STMTS && w.stmt) {
			later(d, W_STMTS, w.indent)->stmt = w.stmt->next;
			put_stmt(d, w.stmt, w.indent);
		} else if (w.kind == W_BRANCHES && w.branch) {
			line(d, w.indent, w.branch->cond.len ? "case" : "otherwise");
			put_expr(d, w.branch->cond);
			sb_str(d->out, "\n");
			later(d, W_BRANCHES, w.indent)->branch = w.branch->next;
			later_block(d, &w.branch->body, w.indent);
		}
	}
}

static void put_params(struct dump *d, const char *what, const struct param *p, uint32_t n)
{
	sb_printf(d->out, " %s", what);
	for (uint32_t i = 0; i < n; i++) {
		sb_str(d->out, i ? ", " : " ");
		put_name(d, p[i].name, p[i].quoted);
		put_expr(d, p[i].type);
		if (p[i].value.len)
			sb_str(d->out, " =");
		put_expr(d, p[i].value);
	}
}

static void put_fns(struct dump *d, const struct fn *f)
{
	for (; f; f = f->next) {
		sb_printf(d->out, "%s %s", f->is_graph ? "graph" : "fn", f->name->s);
		put_params(d, "decls", f->decls, f->ndecls);
		put_params(d, "params", f->params, f->nparams);
		put_params(d, "results", f->results, f->nresults);
		sb_str(d->out, "\n");
		later_block(d, &f->body, 0);
		run(d);
	}
}

void dump_ast(struct ctx *cx, const struct file *f, struct strbuf *out)
{
	struct dump d = {.arena = cx->scratch, .file = f, .out = out};

	sb_printf(out, "ptg %d floatX=%s%s%s", f->version ? f->version : 1, dtypes[f->floatx].name,
		  f->infix_onnx ? " infix=onnx" : "", f->optimise ? " optimise" : "");
	if (f->ml_opset)
		sb_printf(out, " ai.onnx.ml=%d", f->ml_opset);
	sb_str(out, "\n");
	for (const struct ause *u = f->uses; u; u = u->next) {
		sb_str(out, "use ");
		if (u->library)
			sb_printf(out, "<%s>", u->library->s);
		else
			put_text(&d, u->path.s, u->path.len, '"');
		if (u->alias)
			sb_printf(out, " as %s", u->alias->s);
		sb_str(out, "\n");
	}
	for (const struct aconst *c = f->consts; c; c = c->next) {
		sb_printf(out, "const %s", c->name->s);
		put_expr(&d, c->type);
		sb_str(out, " =");
		put_expr(&d, c->value);
		sb_str(out, "\n");
	}
	put_fns(&d, f->graphs);
	put_fns(&d, f->fns);
}
