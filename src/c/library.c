/*
 * library.c: what a file has of lib/c. In: its code. Out: the chunks of the headers that define
 * what the code has, and those that these need; and functions for calls of what is inline there,
 * where the code is too long to hold copies of it.
 */
#include <string.h>

#include "c/internal.h"

#define LONG_INLINE 6 /* lines: shorter ones may stay inline */

/* The next name of lib/c in the code at s, outside of comments and strings; NULL: there is none */
static const char *next_own_name(const char *code, const char *s)
{
	for (; *(s += strcspn(s, "/\"pP")); s++) {
		if (s[0] == '/' && s[1] == '*' && strstr(s + 2, "*/"))
			s = strstr(s + 2, "*/") + 1;
		else if (s[0] == '"')
			for (s++; *s != '"' && s[1]; s++)
				s += *s == '\\' && s[2];
		else if ((!strncmp(s, "ptgc_", 5) || !strncmp(s, "PTGC_", 5)) &&
			 (s == code || (!is_word(s[-1]) && s[-1] != '>' && s[-1] != '.')))
			return s;
	}
	return NULL;
}

static void add_own_names(struct printer *p, struct words *to, const char *code)
{
	for (const char *s = code; (s = next_own_name(code, s)) != NULL; s++)
		add_word(p, to, s, word_length(s));
}

/* Does the chunk define a name that is needed? */
static bool defines(struct printer *p, const struct c_chunk *c, const struct words *needed)
{
	for (const char *s = c->names, *end; *s; s = end + 1) {
		end = strchr(s, ' ');
		if (has_word(p, needed, s, (size_t)(end - s)))
			return true;
	}
	return false;
}

void print_library(struct printer *p, const char *const *texts, uint32_t count, struct strbuf *to)
{
	struct words needed = {.at = {0}};
	uint32_t n = 0;

	while (c_library[n].text)
		n++;
	bool *used = new_array(p->cx->arena, bool, n);
	for (uint32_t i = 0; i < count; i++)
		add_own_names(p, &needed, texts[i]);
	for (uint32_t i = n; i-- > 0;) { /* what a chunk needs stands before it */
		used[i] = defines(p, &c_library[i], &needed);
		if (used[i])
			add_own_names(p, &needed, c_library[i].text);
	}
	for (uint32_t i = 0; i < n; i++)
		if (used[i])
			sb_printf(to, "%s\n", c_library[i].text);
}

/* --- calls --- */

struct inlined { /* a function of numbers that is inline */
	const char *type, *name, *parameters, *arguments;
	bool is_long; /* or calls others */
};

/* The function that the chunk is; false: it is none, or has other parameters or results */
static bool read_inlined(struct printer *p, const char *chunk, struct inlined *f)
{
	const char *head = strstr(chunk, "PTGC_INLINE "), *body = strstr(chunk, "\n{\n");
	struct strbuf names = {.arena = p->cx->arena};

	if (!head || !body || head > body || (head != chunk && head[-1] != '\n'))
		return false;
	head += strlen("PTGC_INLINE ");
	f->type = textf(p, "%.*s", (int)word_length(head), head);
	if (strcmp(f->type, "double") && strcmp(f->type, "float"))
		return false;
	head += strlen(f->type) + 1;
	f->name = textf(p, "%.*s", (int)word_length(head), head);
	head += strlen(f->name);
	f->parameters = textf(p, "%.*s", (int)(body - head), head);
	for (const char *s = f->parameters; *s; s++) {
		size_t n = word_length(s);
		if (n && (s[n] == ',' || s[n] == ')'))
			sb_printf(&names, "%s%.*s", names.len ? ", " : "", (int)n, s);
		s += n ? n - 1 : 0;
	}
	f->arguments = names.s ? names.s : "";
	f->is_long = strstr(body, "ptgc_") || count_lines(body) > LONG_INLINE;
	return !strchr(f->parameters, '*');
}

/* The text with ptgc_exp_call(x) for ptgc_exp(x), and so on for all names of `apart` */
static const char *with_calls(struct printer *p, const char *text, const struct words *apart)
{
	struct strbuf out = {.arena = p->cx->arena};
	const char *from = text;

	for (const char *s = text; (s = next_own_name(text, s)) != NULL; s++) {
		size_t n = word_length(s);
		if (s[n] != '(' || !has_word(p, apart, s, n))
			continue;
		sb_add(&out, from, (size_t)(s + n - from));
		sb_str(&out, "_call");
		from = s + n;
	}
	sb_str(&out, from);
	return out.s;
}

const char *set_apart(struct printer *p, const char **texts, uint32_t count)
{
	struct strbuf out = {.arena = p->cx->arena};
	struct words called = {.at = {0}}, apart = {.at = {0}};
	struct inlined f;

	for (uint32_t i = 0; i < count; i++)
		add_own_names(p, &called, texts[i]);
	for (const struct c_chunk *c = c_library; c->text; c++) {
		if (!defines(p, c, &called) || !read_inlined(p, c->text, &f) || !f.is_long ||
		    !has_word(p, &called, f.name, strlen(f.name)))
			continue;
		add_word(p, &apart, f.name, strlen(f.name));
		sb_printf(&out, "PTGC_APART %s %s_call%s\n{\n\treturn %s(%s);\n}\n\n", f.type,
			  f.name, f.parameters, f.name, f.arguments);
	}
	for (uint32_t i = 0; i < count; i++)
		texts[i] = with_calls(p, texts[i], &apart);
	return out.s ? out.s : "";
}
