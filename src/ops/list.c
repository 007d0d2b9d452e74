/*
 * list.c: the op table for people, as 'ptgc --ops' prints it and as doc/ops.md.
 * In: ops.def, nothing else. Out: each op that is converted with its arguments, properties and
 * defaults as they are written in a .ptg file, and one line about it; for the others the reason.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "ops/ops.h"

#define INDENT 2
#define COLUMN 44 /* where the line about an op begins */

static const char *skip_separators(const char *s)
{
	return s + strspn(s, " ,");
}

/* Does the property only tell PyTensor which memory to use, or when to expand an op? It is read and
 * has no effect here, so it is not listed. */
static bool no_effect(const char *name, size_t len)
{
	static const char *const names[] = {"inplace", "inline", "view", "as_view"};
	bool found = !strncmp(name, "overwrite_", 10);

	for (size_t i = 0; i < countof(names); i++)
		found |= strlen(names[i]) == len && !memcmp(names[i], name, len);
	return found;
}

/* "axes:axes=None, dtype:dtype, inplace:bool=False" -> "{axes=None, dtype}" */
static void add_props(struct strbuf *out, const char *s)
{
	const char *before = "{";

	for (s = skip_separators(s); *s;) {
		size_t name = strcspn(s, ":"), all = strcspn(s, ","), type = strcspn(s, "=");
		if (!no_effect(s, name)) {
			sb_str(out, before);
			sb_add(out, s, name);
			if (type < all)
				sb_add(out, s + type, all - type);
			before = ", ";
		}
		s = skip_separators(s + all);
	}
	sb_str(out, *before == ',' ? "}" : "");
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

void op_usage(struct strbuf *out, const struct op *op)
{
	add_call(out, op);
}

static void add_op_text(struct strbuf *out, const struct op *op)
{
	size_t begin = out->len;
	sb_printf(out, "%*s", INDENT, "");
	add_call(out, op);
	if (out->len - begin > COLUMN - 2) {
		sb_str(out, "\n");
		begin = out->len;
	}
	sb_printf(out, "%*s", (int)(COLUMN - (out->len - begin)), "");
	if (op->unsupported)
		sb_printf(out, "not supported: %s\n", op->unsupported);
	else
		sb_printf(out, "%s\n", op->doc);
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

/* Neighbours that do the same have a row together: | `ViewOp(x)`, `GradClip(x)` | x unchanged |.
 * A row is ended where its cell gets long. */
#define LONG_CELL 130
static void add_row(struct strbuf *out, uint32_t from, uint32_t to)
{
	while (from < to) {
		const struct op *op = &op_table[from];
		size_t begin = out->len;
		do {
			sb_str(out, out->len == begin ? "| `" : ", `");
			add_call(out, &op_table[from]);
			sb_str(out, "`");
		} while (++from < to && out->len - begin < LONG_CELL);
		sb_str(out, " | ");
		add_cell(out, op->doc);
		sb_str(out, " |\n");
	}
}

/* The reasons, each with the ops that are not converted for it. */
static void add_reasons(struct strbuf *out)
{
	sb_str(out, "\n## Not supported\n\n");
	for (uint32_t i = 0; i < op_count; i++) {
		const char *why = op_table[i].unsupported;
		bool told = !why;
		for (uint32_t j = 0; j < i && !told; j++)
			told = op_table[j].unsupported && !strcmp(op_table[j].unsupported, why);
		if (told)
			continue;
		sb_str(out, "- ");
		add_cell(out, why);
		const char *before = ": ";
		for (uint32_t j = i; j < op_count; j++) {
			if (op_table[j].unsupported && !strcmp(op_table[j].unsupported, why)) {
				sb_printf(out, "%s`%s`", before, op_table[j].name);
				before = ", ";
			}
		}
		sb_str(out, "\n");
	}
}

/* The link to a heading, as GitHub names it: "Rounding and so" -> "#rounding-and-so". */
static void add_link(struct strbuf *out, const char *heading)
{
	sb_printf(out, "[%s](#", heading);
	for (const char *s = heading; *s; s++) {
		char c = *s == ' ' ? '-' : (char)tolower((unsigned char)*s);
		sb_add(out, &c, 1);
	}
	sb_str(out, ")");
}

static unsigned count_unsupported(void)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < op_count; i++)
		n += op_table[i].unsupported != NULL;
	return n;
}

/* The first op from i on that is converted; op_count if there is none. */
static uint32_t next_converted(uint32_t i)
{
	while (i < op_count && op_table[i].unsupported)
		i++;
	return i;
}

static bool one_row(const struct op *a, const struct op *b)
{
	return !b->unsupported && !strcmp(a->doc, b->doc) && op_group(a) == op_group(b);
}

static void add_page(struct strbuf *out)
{
	unsigned unsupported = count_unsupported();
	const char *group = NULL;

	sb_printf(out,
		  "# The ops of .ptg\n\n"
		  "ptgc knows %u ops of PyTensor by name. It converts %u, listed by group; "
		  "it [cannot](#not-supported) convert %u.\n"
		  "Search this page for a name, or try `ptgc --ops | grep Cholesky`.\n\n",
		  op_count, op_count - unsupported, unsupported);
	for (uint32_t i = next_converted(0); i < op_count; i = next_converted(i + 1)) {
		const char *g = op_group(&op_table[i]);
		if (!group || strcmp(g, group)) {
			sb_str(out, group ? " \xc2\xb7\n" : "");
			add_link(out, group = g);
		}
	}
	sb_str(out,
	       "\n\nNames and meaning are PyTensor's, as `pytensor.dprint` shows them. In "
	       "`Sum{axes=None, dtype=None}(x)`, properties stand in\nbraces with their defaults; "
	       "a property without `=` must be given. `x...` is any number of arguments, `x?` may "
	       "be left\nout, `x[]` is a tensor or a list of tensors. `inplace`, `inline`, `view`, "
	       "`as_view` and `overwrite_...` may be written too;\nthey have no effect in a model. "
	       "[coverage.md](coverage.md) says which dtypes an op refuses, and how exact it "
	       "is.\n\n"
	       "`make doc` writes this page from src/ops/ops.def.\n");
	group = NULL;
	for (uint32_t i = next_converted(0), end; i < op_count; i = next_converted(end)) {
		const char *g = op_group(&op_table[i]);
		if (!group || strcmp(g, group))
			sb_printf(out, "\n## %s\n\n| op | result |\n| --- | --- |\n", group = g);
		for (end = i + 1; end < op_count && one_row(&op_table[i], &op_table[end]);)
			end++;
		add_row(out, i, end);
	}
	add_reasons(out);
}

const struct op *op_list_one(struct strbuf *out, const char *name)
{
	for (uint32_t i = 0; i < op_count; i++) {
		if (strcasecmp(op_table[i].name, name))
			continue;
		add_op_text(out, &op_table[i]);
		return &op_table[i];
	}
	return NULL;
}

void op_list(struct strbuf *out, bool markdown)
{
	if (markdown) {
		add_page(out);
		return;
	}
	const char *group = NULL;
	for (uint32_t i = 0; i < op_count; i++) {
		const char *g = op_group(&op_table[i]);
		if (!group || strcmp(g, group)) {
			sb_printf(out, "%s%s\n", group ? "\n" : "", g);
			group = g;
		}
		add_op_text(out, &op_table[i]);
	}
	unsigned unsupported = count_unsupported();
	sb_printf(out, "\n%u ops: %u are converted, %u are not supported.\n", op_count,
		  op_count - unsupported, unsupported);
}
