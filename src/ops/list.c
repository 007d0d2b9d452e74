/*
 * list.c: the op table for people, as 'ptgc --ops' prints it or as doc/ops.md.
 * In: ops.def, nothing else. Out: each op with its arguments, properties and defaults as they are
 * written in a .ptg file, one line about it, and for those that are not supported the reason.
 */
#include <string.h>

#include "ops/ops.h"

#define INDENT 2
#define COLUMN 44 /* where the line about an op begins */

static const char *skip(const char *s)
{
	return s + strspn(s, " ,");
}

/* "axes:axes=None, dtype:dtype" -> "axes=None, dtype" */
static void add_props(struct strbuf *out, const char *s)
{
	sb_str(out, "{");
	for (s = skip(s); *s; s = skip(s)) {
		size_t name = strcspn(s, ":"), all = strcspn(s, ","), type = strcspn(s, "=");
		sb_add(out, s, name);
		if (type < all)
			sb_add(out, s + type, all - type);
		s = skip(s + all);
		sb_str(out, *s ? ", " : "");
	}
	sb_str(out, "}");
}

/* "x idx*" -> "x, idx..."; "x[]" stays */
static void add_inputs(struct strbuf *out, const char *s, const char *end)
{
	sb_str(out, "(");
	for (bool first = true;; first = false) {
		while (s < end && *s == ' ')
			s++;
		if (s == end)
			break;
		size_t len = 0;
		while (s + len < end && s[len] != ' ')
			len++;
		bool many = strchr("*+~", s[len - 1]) != NULL;
		sb_str(out, first ? "" : ", ");
		sb_add(out, s, len - many);
		sb_str(out, many ? "..." : "");
		s += len;
	}
	sb_str(out, ")");
}

static void add_call(struct strbuf *out, const struct op *op)
{
	const char *props = strchr(op->sig, ';');
	const char *end = props ? props : op->sig + strlen(op->sig);
	sb_str(out, op->name);
	if (props)
		add_props(out, props + 1);
	add_inputs(out, op->sig, end);
}

static const char *why_not(const struct op *op)
{
	return op->unsupported ? op->unsupported : op->todo;
}

static void add_text(struct strbuf *out, const struct op *op)
{
	size_t begin = out->len;
	sb_printf(out, "%*s", INDENT, "");
	add_call(out, op);
	if (out->len - begin > COLUMN - 2) {
		sb_str(out, "\n");
		begin = out->len;
	}
	sb_printf(out, "%*s%s\n", (int)(COLUMN - (out->len - begin)), "", op->doc ? op->doc : "");
	if (why_not(op))
		sb_printf(out, "%*snot %s: %s\n", COLUMN, "", op->unsupported ? "supported" : "yet",
			  why_not(op));
}

/* A cell of a table: its bars would be taken for borders. */
static void add_cell(struct strbuf *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '|' || *s == '<' || *s == '*')
			sb_str(out, "\\");
		sb_add(out, s, 1);
	}
}

static void add_row(struct strbuf *out, const struct op *op)
{
	sb_str(out, "| `");
	add_call(out, op);
	sb_str(out, "` | ");
	add_cell(out, op->doc ? op->doc : "");
	if (why_not(op)) {
		sb_printf(out, ". *Not %s*: ", op->unsupported ? "supported" : "yet");
		add_cell(out, why_not(op));
	}
	sb_str(out, " |\n");
}

static void add_heading(struct strbuf *out, const char *text, bool markdown)
{
	if (markdown)
		sb_printf(out, "\n## %s\n\n| op | |\n| --- | --- |\n", text);
	else
		sb_printf(out, "%s%s\n", out->len ? "\n" : "", text);
}

static void add_counts(struct strbuf *out)
{
	unsigned never = 0, later = 0;

	for (uint32_t i = 0; i < op_count; i++) {
		never += op_table[i].unsupported != NULL;
		later += op_table[i].todo != NULL;
	}
	sb_printf(out, "%u ops: %u are converted, %u are not yet, %u are not supported.\n",
		  op_count, op_count - never - later, later, never);
}

void op_list(struct strbuf *out, bool markdown)
{
	const char *group = NULL;
	if (markdown) {
		sb_str(out, "# The ops of .ptg\n\n"
			    "Made by `make doc` from src/ops/ops.def. A property without `=` must be "
			    "given, `x...` is any number of\narguments, `x?` may be left out, "
			    "`x[]` is one or a list. "
			    "Names and meaning are PyTensor's.\n\n");
		add_counts(out);
	}
	for (uint32_t i = 0; i < op_count; i++) {
		const char *g = op_group(&op_table[i]);
		if (!group || strcmp(g, group))
			add_heading(out, group = g, markdown);
		if (markdown)
			add_row(out, &op_table[i]);
		else
			add_text(out, &op_table[i]);
	}
	if (!markdown) {
		sb_str(out, "\n");
		add_counts(out);
	}
}
