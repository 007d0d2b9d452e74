/*
 * onnx_text.c: an ONNX graph as text that onnx.parser reads: --dump=onnx, and the golden tests.
 * In: a lowered graph. Out: text; names, types and constants are those of the bytes.
 * Left out: nodes' names and places. A constant of more than MAX_ELEMENTS elements is shown as
 * external data without a file, so that the text stays readable, for people and for the parser.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/internal.h"

#define MAX_ELEMENTS 256

/* Pieces */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static void text_quoted(struct strbuf *b, const char *s, size_t len)
{
	sb_add(b, "\"", 1);
	for (size_t i = 0; i < len; i++) {
		if (s[i] == '"' || s[i] == '\\')
			sb_add(b, "\\", 1);
		sb_add(b, &s[i], 1);
	}
	sb_add(b, "\"", 1);
}

void text_name(struct strbuf *b, const char *s, size_t len)
{
	bool plain = len && is_letter(s[0]);
	for (size_t i = 0; i < len && plain; i++)
		plain = is_letter(s[i]) || (s[i] >= '0' && s[i] <= '9');
	if (plain)
		sb_add(b, s, len);
	else
		text_quoted(b, s, len);
}

const char *text_dtype(int onnx)
{
	static const char *const names[] = {NULL,
					    "float",
					    "uint8",
					    "int8",
					    "uint16",
					    "int16",
					    "int32",
					    "int64",
					    "string",
					    "bool",
					    "float16",
					    "double",
					    "uint32",
					    "uint64",
					    "complex64",
					    "complex128",
					    "bfloat16",
					    "float8e4m3fn",
					    "float8e4m3fnuz",
					    "float8e5m2",
					    "float8e5m2fnuz",
					    "uint4",
					    "int4",
					    "float4e2m1",
					    "float8e8m0",
					    "uint2",
					    "int2"};
	return onnx > 0 && onnx < (int)countof(names) ? names[onnx] : NULL;
}

void text_float(struct strbuf *b, double v, bool single)
{
	char s[40];
	if (isnan(v) || isinf(v)) {
		sb_str(b, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
		return;
	}
	for (int digits = single ? 6 : 15;; digits++) {
		snprintf(s, sizeof(s), "%.*g", digits, v);
		if (single ? strtof(s, NULL) == (float)v || digits == 9
			   : strtod(s, NULL) == v || digits == 17)
			break;
	}
	for (char *p = s; *p; p++) /* a decimal comma of the locale */
		if (*p == ',')
			*p = '.';
	sb_str(b, s);
}

static void text_number(struct strbuf *b, enum dtype t, const uint8_t *p)
{
	struct tensor one = {.dtype = (uint8_t)t, .count = 1, .data = p};
	int64_t v;
	uint64_t u;
	if (t == DT_UINT64) {
		memcpy(&u, p, sizeof(u));
		sb_printf(b, "%llu", (unsigned long long)u);
	} else if (tensor_int(&one, 0, &v)) {
		sb_printf(b, "%lld", (long long)v);
	} else {
		text_float(b, tensor_float(&one, 0), t != DT_FLOAT64);
	}
}

void text_element(struct strbuf *b, enum dtype t, const void *data, uint64_t i, bool bits)
{
	const uint8_t *p = (const uint8_t *)data + i * dtypes[t].size;
	if (t == DT_STRING) {
		const struct astr *s = (const struct astr *)data + i;
		text_quoted(b, s->s, s->len);
	} else if (t == DT_BFLOAT16 || (t == DT_FLOAT16 && bits)) {
		text_number(b, DT_UINT16, p);
	} else if (is_complex(t)) {
		size_t half = dtypes[t].size / 2;
		text_number(b, half == 4 ? DT_FLOAT32 : DT_FLOAT64, p);
		sb_str(b, ", ");
		text_number(b, half == 4 ? DT_FLOAT32 : DT_FLOAT64, p + half);
	} else {
		text_number(b, t, p);
	}
}

/* Graphs */

struct text {
	struct strbuf *b;
	const struct onnx_model *m;
	int indent;
};

static void line(struct text *t)
{
	sb_add(t->b, "\n", 1);
	for (int i = 0; i < t->indent; i++)
		sb_str(t->b, "   ");
}

static void put_name(struct text *t, const struct value *v)
{
	const struct onnx_value *o = onnx_value(t->m, v);
	text_name(t->b, o->name.s, o->name.len);
}

static void put_type(struct text *t, const struct value *v, bool io)
{
	const struct onnx_type *type = &t->m->types.at[onnx_value(t->m, v)->type];
	sb_str(t->b, text_dtype(dtypes[type->dtype].onnx));
	for (uint32_t i = 0; i < type->rank; i++) {
		const struct onnx_dim *d = &type->at[i];
		sb_str(t->b, i ? ", " : "[");
		if (d->known)
			sb_printf(t->b, "%lld", (long long)d->value);
		else if (!(io && d->made))
			text_name(t->b, d->name.s, d->name.len);
		else
			sb_str(t->b, "?");
	}
	if (type->rank)
		sb_str(t->b, "]");
}

/* io: an input or output, of which the model says what the user did */
static void put_typed(struct text *t, const struct value *v, bool io)
{
	put_type(t, v, io);
	sb_str(t->b, " ");
	put_name(t, v);
}

static void put_data(struct text *t, const struct tensor *d)
{
	if (d->count > MAX_ELEMENTS) {
		sb_printf(t->b, "[\"location\": \"%llu elements\"]", (unsigned long long)d->count);
		return;
	}
	sb_str(t->b, "{");
	for (uint64_t i = 0; i < d->count; i++) {
		if (i)
			sb_str(t->b, ", ");
		text_element(t->b, (enum dtype)d->dtype, d->data, d->splat ? 0 : i, true);
	}
	sb_str(t->b, "}");
}

static void put_tensor_type(struct text *t, const struct tensor *d)
{
	sb_str(t->b, text_dtype(dtypes[d->dtype].onnx));
	for (int i = 0; i < d->rank; i++)
		sb_printf(t->b, "%s%lld", i ? ", " : "[", (long long)d->shape[i]);
	if (d->rank)
		sb_str(t->b, "]");
}

static void put_block(struct text *t, const struct block *b);

static void put_list(struct text *t, const struct attr *a)
{
	sb_str(t->b, "[");
	for (uint32_t i = 0; i < a->n; i++) {
		if (i)
			sb_str(t->b, ", ");
		if (a->kind == AT_INTS)
			sb_printf(t->b, "%lld", (long long)a->u.ints[i]);
		else if (a->kind == AT_FLOATS)
			text_float(t->b, a->u.floats[i], true);
		else
			text_quoted(t->b, a->u.strs[i].s, a->u.strs[i].len);
	}
	sb_str(t->b, "]");
}

static void put_attr(struct text *t, const struct attr *a)
{
	static const char *const kinds[] = {
		[AT_INT] = "int",       [AT_FLOAT] = "float", [AT_STR] = "string",
		[AT_TENSOR] = "tensor", [AT_INTS] = "ints",   [AT_FLOATS] = "floats",
		[AT_STRS] = "strings",  [AT_GRAPH] = "graph"};
	sb_printf(t->b, "%s: %s = ", a->name, kinds[a->kind]);
	switch ((enum attr_kind)a->kind) {
	case AT_INT:
		sb_printf(t->b, "%lld", (long long)a->u.i);
		break;
	case AT_FLOAT:
		text_float(t->b, a->u.f, true);
		break;
	case AT_STR:
		text_quoted(t->b, a->u.s.s, a->u.s.len);
		break;
	case AT_TENSOR:
		put_tensor_type(t, a->u.t);
		sb_str(t->b, " ");
		put_data(t, a->u.t);
		break;
	case AT_INTS:
	case AT_FLOATS:
	case AT_STRS:
		put_list(t, a);
		break;
	case AT_GRAPH: /* MAX_GRAPH_DEPTH bounds this recursion */
		sb_str(t->b, "body ");
		put_block(t, a->u.block);
		break;
	}
}

static void put_attrs(struct text *t, const struct node *n)
{
	for (uint32_t i = 0; i < n->nattrs; i++) {
		sb_str(t->b, i ? ", " : " <");
		put_attr(t, &n->attrs[i]);
	}
	if (n->nattrs)
		sb_str(t->b, ">");
}

static void put_node(struct text *t, const struct node *n)
{
	line(t);
	for (uint32_t i = 0; i < n->nout; i++) {
		sb_str(t->b, i ? ", " : "");
		put_name(t, n->out[i]);
	}
	sb_printf(t->b, " = %s%s%s", n->onnx->domain, n->onnx->domain[0] ? "." : "", n->onnx->name);
	bool graphs = false; /* attributes that are graphs stand behind, as they are long */
	for (uint32_t i = 0; i < n->nattrs; i++)
		graphs |= n->attrs[i].kind == AT_GRAPH;
	if (!graphs)
		put_attrs(t, n);
	sb_str(t->b, " (");
	for (uint32_t i = 0; i < n->nin; i++) {
		sb_str(t->b, i ? ", " : "");
		put_name(t, n->in[i]);
	}
	sb_str(t->b, ")");
	if (graphs)
		put_attrs(t, n);
}

/* Constants of the model (main graph), then types of what is neither input nor output. */
static void put_infos(struct text *t, const struct block *b, bool main)
{
	const char *between = "<";
	for (uint32_t i = 0; main && i < t->m->inits.len; i++) {
		const struct onnx_init *init = &t->m->inits.at[i];
		if (onnx_value(t->m, init->value)->input)
			continue;
		sb_str(t->b, between);
		line(t);
		put_tensor_type(t, init->data);
		sb_str(t->b, " ");
		put_name(t, init->value);
		sb_str(t->b, " = ");
		put_data(t, init->data);
		between = ",";
	}
	for (const struct node *n = b->first; n; n = n->next)
		for (uint32_t i = 0; i < n->nout && !n->dead; i++) {
			const struct value *v = n->out[i];
			if (!v || v->type.dtype == DT_NONE || onnx_value(t->m, v)->output)
				continue;
			sb_str(t->b, between);
			line(t);
			put_typed(t, v, false);
			between = ",";
		}
	if (*between == ',') {
		t->indent--;
		line(t);
		t->indent++;
		sb_str(t->b, "> ");
	}
}

static void put_body(struct text *t, const struct block *b, bool main)
{
	t->indent++;
	put_infos(t, b, main);
	sb_str(t->b, "{");
	for (const struct node *n = b->first; n; n = n->next)
		if (!n->dead)
			put_node(t, n);
	t->indent--;
	line(t);
	sb_str(t->b, "}");
}

static void put_block(struct text *t, const struct block *b)
{
	sb_str(t->b, "(");
	for (uint32_t i = 0; i < b->params.len; i++) {
		sb_str(t->b, i ? ", " : "");
		put_typed(t, b->params.at[i], true);
	}
	sb_str(t->b, ") => (");
	for (uint32_t i = 0; i < b->results.len; i++) {
		sb_str(t->b, i ? ", " : "");
		put_typed(t, b->results.at[i], true);
	}
	sb_str(t->b, ") ");
	put_body(t, b, false);
}

static void put_header(struct text *t)
{
	const struct onnx_model *m = t->m;
	sb_printf(t->b, "<\n   ir_version: %d,\n   opset_import: [", m->ir_version);
	for (uint32_t i = 0; i < m->imports.len; i++) {
		sb_str(t->b, i ? ", " : "");
		text_quoted(t->b, m->imports.at[i].domain, strlen(m->imports.at[i].domain));
		sb_printf(t->b, " : %d", m->imports.at[i].version);
	}
	sb_str(t->b, "]\n>\n");
}

void dump_onnx_text(struct ctx *cx, const struct graph *g, struct strbuf *out)
{
	struct text t = {.b = out, .m = onnx_model(cx, g)};
	const struct onnx_model *m = t.m;
	const char *name = onnx_graph_name(m);
	if (m->too_deep) { /* emit_model reports it */
		sb_str(out, "# loops and ifs stand inside each other too deep to be shown\n");
		return;
	}
	put_header(&t);
	text_name(out, name, strlen(name));
	sb_str(out, " (");
	for (uint32_t i = 0; i < m->inputs.len; i++) {
		const struct tensor *d = onnx_value(m, m->inputs.at[i])->init;
		sb_str(out, i ? ", " : "");
		put_typed(&t, m->inputs.at[i], true);
		if (d) {
			sb_str(out, " = ");
			put_data(&t, d);
		}
	}
	sb_str(out, ") => (");
	for (uint32_t i = 0; i < m->outputs.len; i++) {
		sb_str(out, i ? ", " : "");
		put_typed(&t, m->outputs.at[i], true);
	}
	sb_str(out, ") ");
	put_body(&t, g->block, true);
	sb_str(out, "\n");
}
