/*
 * graph_text.c: --dump=typed and --dump=lowered: a graph of either level in the syntax of the
 * language, a node a line with the types of its results, after a line for each constant. Values
 * without a name are %id.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/internal.h"
#include "onnx/onnx.h"
#include "ops/ops.h"
#include "syntax/syntax.h"

struct graph_text {
	struct ctx *cx;
	struct strbuf *out;
	bool *listed; /* by value id: a constant that has its line */
};

static void indent(struct graph_text *d, uint32_t depth)
{
	for (uint32_t i = 0; i <= depth; i++)
		sb_str(d->out, "  ");
}

/* What the user calls a carried value: the text at its place. NULL: it has no name, or that is the
 * place of a call. */
static const char *carried_name(struct graph_text *d, const struct value *v)
{
	uint32_t n;
	const char *text = v->def || v->data ? NULL : users_text(d->cx, v->span, &n);

	if (!text || n > 100)
		return NULL;
	const char *name = arena_strdup(d->cx->scratch, text, n);
	return text[n] != '{' && text[n] != '(' && is_plain_name(name) ? name : NULL;
}

static bool is_dim(const struct value *v)
{
	return v && v->def && v->def->op == &op_dim && !v->name;
}

static void print_operand(struct graph_text *d, const struct value *v)
{
	const struct tensor *one = v && v->data && v->data->count == 1 ? v->data : NULL;
	enum dtype t = v ? (enum dtype)v->type.dtype : DT_NONE;
	const char *carried;
	int64_t i = 0;

	if (!v) {
		sb_str(d->out, "None");
	} else if (v->name) {
		sb_str(d->out, v->name->s);
	} else if (is_dim(v)) {
		sb_str(d->out, dim_str(d->cx, v->def->props[0].u.d));
	} else if (one && (is_discrete(t) || is_float(t))) {
		sb_printf(d->out, v->type.rank ? "%s([" : "%s(", dtypes[t].name);
		if (is_float(t))
			put_float(d->out, tensor_float(one, 0), t != DT_FLOAT64);
		else if (tensor_int(one, 0, &i))
			sb_printf(d->out, "%lld", (long long)i);
		sb_str(d->out, v->type.rank ? "])" : ")");
	} else if ((carried = carried_name(d, v))) {
		sb_str(d->out, carried);
	} else {
		sb_printf(d->out, "%%%u", v->id);
	}
}

static void print_typed(struct graph_text *d, const struct value *v)
{
	print_operand(d, v);
	sb_printf(d->out, ": %s", v->type.dtype ? type_str(d->cx, v->type) : "?");
}

static void print_list(struct graph_text *d, struct value *const *v, uint32_t n, bool typed)
{
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			sb_str(d->out, ", ");
		if (typed)
			print_typed(d, v[i]);
		else
			print_operand(d, v[i]);
	}
}

static void print_attribute(struct graph_text *d, const struct attr *a)
{
	sb_printf(d->out, "%s=", a->name);
	switch ((enum attr_kind)a->kind) {
	case AT_INT:
		sb_printf(d->out, "%lld", (long long)a->u.i);
		break;
	case AT_FLOAT:
		sb_printf(d->out, "%.9g", (double)a->u.f);
		break;
	case AT_STR:
		sb_printf(d->out, "\"%.*s\"", (int)a->u.s.len, a->u.s.s);
		break;
	case AT_INTS:
		sb_str(d->out, "[");
		for (uint32_t i = 0; i < a->n; i++)
			sb_printf(d->out, "%s%lld", i ? ", " : "", (long long)a->u.ints[i]);
		sb_str(d->out, "]");
		break;
	case AT_FLOATS:
		sb_str(d->out, "[");
		for (uint32_t i = 0; i < a->n; i++)
			sb_printf(d->out, "%s%.9g", i ? ", " : "", (double)a->u.floats[i]);
		sb_str(d->out, "]");
		break;
	case AT_STRS:
		sb_printf(d->out, "<%u strings>", a->n);
		break;
	case AT_TENSOR:
		sb_str(d->out, "<tensor>");
		break;
	case AT_GRAPH:
		sb_str(d->out, "{...}");
		break;
	}
}

static void print_op(struct graph_text *d, const struct node *n)
{
	if (!n->onnx) {
		sb_str(d->out,
		       n->op == &op_loop || n->op == &op_if ? n->op->name : op_label(d->cx, n));
		return;
	}
	sb_printf(d->out, "%s.%s", onnx_prefix(n->onnx), n->onnx->name);
	for (uint32_t i = 0; i < n->nattrs; i++) {
		sb_str(d->out, i ? ", " : "{");
		print_attribute(d, &n->attrs[i]);
	}
	if (n->nattrs)
		sb_str(d->out, "}");
}

static void print_block(struct graph_text *d, const struct block *b, uint32_t depth);

static void print_blocks(struct graph_text *d, const struct node *n, uint32_t depth)
{
	for_bodies (k, n)
		print_block(d, k, depth + 1);
}

static void print_nodes(struct graph_text *d, const struct block *b, uint32_t depth)
{
	for (const struct node *n = b->first; n; n = n->next) {
		if (n->nout == 1 && is_dim(n->out[0]))
			continue;
		indent(d, depth);
		print_list(d, n->out, n->nout, true);
		sb_str(d->out, " = ");
		print_op(d, n);
		sb_str(d->out, "(");
		uint32_t list = n->onnx || !n->op ? n->nin : list_input(d->cx, n);
		print_list(d, n->in, list < n->nin ? list - 1 : list, false);
		if (list < n->nin) {
			sb_str(d->out, list > 1 ? ", [" : "[");
			print_list(d, n->in + list, n->nin - list, false);
			sb_str(d->out, "]");
		}
		sb_str(d->out, ")\n");
		print_blocks(d, n, depth);
	}
}

/* Blocks nest as deep as loops and ifs of the input, which has a limit: this may recurse. */
static void print_block(struct graph_text *d, const struct block *b, uint32_t depth)
{
	indent(d, depth - 1);
	sb_str(d->out, "(");
	print_list(d, b->params.at, b->params.len, true);
	sb_str(d->out, ") -> (");
	print_list(d, b->results.at, b->results.len, false);
	sb_str(d->out, ") {\n");
	print_nodes(d, b, depth);
	indent(d, depth - 1);
	sb_str(d->out, "}\n");
}

/* "W1: float32[64, 32] = data" for v, if it is a constant that is not written where it is read */
static void print_constant(struct graph_text *d, const struct value *v)
{
	if (!v || !v->data || (!v->name && v->data->count == 1) || d->listed[v->id])
		return;
	d->listed[v->id] = true;
	indent(d, 0);
	print_typed(d, v);
	sb_str(d->out, " = data\n");
}

static void print_constants(struct graph_text *d, const struct block *b)
{
	for (struct walk w = {.root = b}; walk(&w, WALK_BEFORE | WALK_LEAVE);) {
		const struct node *n = w.at.node;
		const struct block *k = w.at.block;
		for (uint32_t i = 0; w.event == WALK_BEFORE && i < n->nin; i++)
			print_constant(d, n->in[i]);
		for (uint32_t i = 0; w.event == WALK_LEAVE && i < k->results.len; i++)
			print_constant(d, k->results.at[i]);
	}
}

void dump_graph(struct ctx *cx, const struct graph *g, struct strbuf *out)
{
	struct graph_text d = {.cx = cx, .out = out};

	d.listed = arena_alloc(cx->scratch, cx->next_id + 1u);
	sb_printf(out, "ptg 1\n\ngraph %s(", g->name->s);
	print_list(&d, g->block->params.at, g->block->params.len, true);
	sb_str(out, ") -> (");
	print_list(&d, g->block->results.at, g->block->results.len, true);
	sb_str(out, ") {\n");
	print_constants(&d, g->block);
	print_nodes(&d, g->block, 0);
	sb_str(out, "}\n");
}
