/*
 * lines.c: the body of run() as lines, each of which is read once. In: text of C, as it was
 * printed. Out: for each line the names that it has, which of them it changes, and which one it
 * defines. What is done to the body before it is a text again is done to its lines: unread.c,
 * copies.c, outline.c, rooms.c, in this order.
 */
#include <string.h>

#include "c/internal.h"

static const char *const types[] = {
	"bool",   "double", "float",    "int",      "int16_t",  "int32_t", "int64_t",
	"int8_t", "size_t", "uint16_t", "uint32_t", "uint64_t", "uint8_t",
};
/* What loops and formulas say beside types. Other words, such as return or w, count as names: as
 * nothing defines them, outline.c takes no code that has one. */
static const char *const plain_words[] = {
	"INFINITY", "INT16_MAX", "INT16_MIN", "INT32_MAX", "INT32_MIN",  "INT64_MAX",  "INT64_MIN",
	"INT8_MAX", "INT8_MIN",  "NAN",       "UINT8_MAX", "UINT16_MAX", "UINT32_MAX", "UINT64_MAX",
	"const",    "else",      "false",     "for",       "if",         "sizeof",     "true",
};

enum c_word { NO_WORD_OF_C, TYPE, PLAIN_WORD };

static void know_words(struct printer *p)
{
	const struct sym *words[countof(types) + countof(plain_words)];

	for (size_t i = 0; i < countof(words); i++)
		words[i] = intern_str(p->cx, i < countof(types) ? types[i]
								: plain_words[i - countof(types)]);
	p->n_c_words = name_count(p->cx);
	uint8_t *is = new_array(p->cx->arena, uint8_t, p->n_c_words);
	for (size_t i = 0; i < countof(words); i++)
		is[words[i]->number] = i < countof(types) ? TYPE : PLAIN_WORD;
	p->c_words = is;
}

static enum c_word word_of_c(const struct printer *p, const struct sym *s)
{
	return s->number < p->n_c_words ? p->c_words[s->number] : NO_WORD_OF_C;
}

static void find_names(struct printer *p, struct code_line *l)
{
	const char *end = l->text + l->len;
	size_t n;

	for (const char *s = l->text; s < end; s += n ? n : 1) {
		n = is_word(*s) ? word_length(s) : 0;
		if (!n)
			continue;
		if (!is_name(s, s > l->text ? s[-1] : 0)) {
			l->calls |= *s == 'p';
			continue;
		}
		const struct sym *name = intern(p->cx, s, n);
		if (word_of_c(p, name) != NO_WORD_OF_C)
			continue;
		*vec_push(p->cx->arena, &l->names) = (struct mention){.name = name,
								      .at = (uint32_t)(s - l->text),
								      .changed = is_changed(s, n),
								      .address = s[-1] == '&'};
	}
}

/* `for (int64_t i = 0; ...`, `const double x = ...`, `double *const a = ...`, `float sums[8] = ...`
 */
static void find_definition(struct printer *p, struct code_line *l)
{
	const char *from = behind(l->text, "for ("), *element = behind(from, "const ");
	size_t n = word_length(element);

	if (!l->names.len || element[n] != ' ' || word_of_c(p, intern(p->cx, element, n)) != TYPE)
		return;
	const char *star = behind(element + n + 1, "*"), *name = behind(star, "const ");
	bool points = star[-1] == '*';
	if (!points)
		name = star;
	size_t len = word_length(name);
	if (!len || !strchr(" ;[", name[len]))
		return;
	if (name[len] == '[')
		l->defines = "";
	else
		l->defines = points ? intern(p->cx, from, (size_t)(star - from))->s
				    : intern(p->cx, element, n + 1)->s;
}

struct code_line read_line(struct printer *p, const char *s)
{
	struct code_line l = {.tabs = (uint32_t)strspn(s, "\t")};

	l.text = s + l.tabs;
	l.len = (uint32_t)(line_end(l.text) - l.text);
	if (*l.text != '/') {
		find_names(p, &l);
		find_definition(p, &l);
	}
	return l;
}

struct body read_body(struct printer *p, const char *text)
{
	struct body b = {{0}};

	know_words(p);
	for (const char *s = text; *s; s = next_line(s)) {
		struct code_line l = read_line(p, s);
		*vec_push(p->cx->arena, &b.lines) = l;
	}
	return b;
}

const char *find_in_line(const struct code_line *l, const char *text)
{
	return memmem(l->text, l->len, text, strlen(text));
}

bool calls(const struct code_line *l, const char *name)
{
	return l->calls && find_in_line(l, name);
}
