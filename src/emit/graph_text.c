/*
 * graph_text.c: --dump=typed and --dump=lowered: a graph of either level in the syntax of the
 * language, a node a line with the types of its results. Values without a name are %id.
 */
#include <string.h>

#include "emit/emit.h"
#include "onnx/onnx.h"
#include "ops/ops.h"

struct dump {
	struct ctx *cx;
	struct strbuf *out;
};

static void indent(struct dump *d, uint32_t depth)
{
	for (uint32_t i = 0; i <= depth; i++)
		sb_str(d->out, "  ");
}

static void print_name(struct dump *d, const struct value *v)
{
	if (!v)
		sb_str(d->out, "None");
	else if (v->name)
		sb_str(d->out, v->name->s);
	else if (v->data && v->data->count == 1 && is_discrete(v->type.dtype)) {
		int64_t i = 0;
		tensor_int(v->data, 0, &i);
		sb_printf(d->out, v->type.rank ? "%s([%lld])" : "%s(%lld)",
			  dtypes[v->type.dtype].name, (long long)i);
	} else if (v->data && v->data->count == 1 && is_float(v->type.dtype)) {
		sb_printf(d->out, v->type.rank ? "%s([%.17g])" : "%s(%.17g)",
			  dtypes[v->type.dtype].name, tensor_float(v->data, 0));
	} else {
		sb_printf(d->out, "%%%u", v->id);
	}
}

static void print_typed(struct dump *d, const struct value *v)
{
	print_name(d, v);
	sb_printf(d->out, ": %s", v->type.dtype ? type_str(d->cx, v->type) : "?");
}

static void print_list(struct dump *d, struct value *const *v, uint32_t n, bool typed)
{
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			sb_str(d->out, ", ");
		if (typed)
			print_typed(d, v[i]);
		else
			print_name(d, v[i]);
	}
}

static void print_attr(struct dump *d, const struct attr *a)
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

static void print_op(struct dump *d, const struct node *n)
{
	if (n->op == &op_dim) {
		sb_printf(d->out, "dim{%s}", dim_str(d->cx, n->props[0].u.d));
		return;
	}
	if (!n->onnx) {
		sb_str(d->out,
		       n->op == &op_loop || n->op == &op_if ? n->op->name : op_label(d->cx, n));
		return;
	}
	sb_printf(d->out, "%s.%s", n->onnx->domain[0] ? n->onnx->domain : "onnx", n->onnx->name);
	for (uint32_t i = 0; i < n->nattrs; i++) {
		sb_str(d->out, i ? ", " : "{");
		print_attr(d, &n->attrs[i]);
	}
	if (n->nattrs)
		sb_str(d->out, "}");
}

static void print_block(struct dump *d, const struct block *b, uint32_t depth);

static void print_blocks(struct dump *d, const struct node *n, uint32_t depth)
{
	uint32_t count = n->op == &op_if ? 2 : n->op == &op_loop ? 1 : 0;

	for (uint32_t i = 0; n->blocks && i < count; i++)
		print_block(d, n->blocks[i], depth + 1);
	for (uint32_t i = 0; i < n->nattrs; i++)
		if (n->attrs[i].kind == AT_GRAPH)
			print_block(d, n->attrs[i].u.block, depth + 1);
}

static void print_nodes(struct dump *d, const struct block *b, uint32_t depth)
{
	for (const struct node *n = b->first; n; n = n->next) {
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
static void print_block(struct dump *d, const struct block *b, uint32_t depth)
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

void dump_graph(struct ctx *cx, const struct graph *g, struct strbuf *out)
{
	struct dump d = {.cx = cx, .out = out};

	sb_printf(out, "ptg 1\n\ngraph %s(", g->name->s);
	print_list(&d, g->block->params.at, g->block->params.len, true);
	sb_str(out, ") -> (");
	print_list(&d, g->block->results.at, g->block->results.len, true);
	sb_str(out, ") {\n");
	print_nodes(&d, g->block, 0);
	sb_str(out, "}\n");
}
