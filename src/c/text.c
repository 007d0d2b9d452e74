/*
 * text.c: pieces of C: names, types, literals, and sums and products that are folded where they are
 * numbers. In: names of the text, dtypes, tensors. Out: texts in the arena, and lines of the body.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "c/internal.h"

const bool word_chars[] = {
	['0' ... '9'] = true, ['A' ... 'Z'] = true, ['_'] = true, ['a' ... 'z'] = true};

const char *textf(struct printer *p, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	const char *s = arena_vprintf(p->cx->arena, fmt, args);
	va_end(args);
	return s;
}

void add_tabs(struct strbuf *to, uint32_t n)
{
	static const char tabs[] = "\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t";

	for (uint32_t some; n > 0; n -= some) {
		some = n < sizeof(tabs) ? n : sizeof(tabs) - 1;
		sb_add(to, tabs, some);
	}
}

void show_line(struct printer *p, const struct node *n)
{
	p->shown = n && n->span.begin < n->span.end && !p->cx->opt.strip ? n : NULL;
}

/* The line of the text that the node is of, which was not the last one to be shown */
static void add_comment(struct printer *p, const struct node *n)
{
	struct place at = source_place(p->cx, text_place(p->cx, n->span, &(uint32_t){0}).begin);
	uint32_t begin = 0, len;

	p->shown = NULL;
	if (!at.source || at.source->lib || at.line == p->line || at.source != p->cx->sources.at[0])
		return;
	p->line = at.line;
	while (begin < at.len && (at.text[begin] == ' ' || at.text[begin] == '\t'))
		begin++;
	len = at.len - begin;
	add_tabs(&p->out, p->indent);
	sb_printf(&p->out, "/* %u: %s */\n", at.line,
		  in_comment(p, textf(p, "%.*s", shown_len(at.text + begin, len, 90),
				      at.text + begin)));
}

void line(struct printer *p, const char *fmt, ...)
{
	va_list args;

	if (p->shown)
		add_comment(p, p->shown);
	add_tabs(&p->out, p->indent);
	va_start(args, fmt);
	sb_vprintf(&p->out, fmt, args);
	va_end(args);
	sb_str(&p->out, "\n");
}

size_t word_length(const char *s)
{
	size_t n = 0;

	while (is_word(s[n]))
		n++;
	return n;
}

const char *line_end(const char *s)
{
	return strchrnul(s, '\n');
}

const char *next_line(const char *s)
{
	return line_end(s) + 1;
}

bool is_comment(const char *s)
{
	while (*s == '\t')
		s++;
	return *s == '/';
}

bool is_name(const char *s, char before)
{
	return !is_digit(*s) && before != '.' && before != '>' && !begins_with(s, "ptgc_");
}

const char *next_identifier(const char *s, const char *end, size_t *len)
{
	for (bool first = true; s < end; first = false) {
		if ((first || s[-1] == '\n') && is_comment(s)) {
			s = next_line(s);
			continue;
		}
		if (!is_word(*s)) {
			s++;
			continue;
		}
		size_t n = word_length(s);
		if (is_name(s, first ? 0 : s[-1])) {
			*len = n;
			return s;
		}
		s += n;
	}
	return NULL;
}

uint32_t count_lines(const char *s)
{
	uint32_t n = 0;

	for (; (s = strchr(s, '\n')) != NULL; s++)
		n++;
	return n;
}

void cannot(struct printer *p, const struct node *n, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	const char *why = arena_vprintf(p->cx->arena, fmt, args);
	va_end(args);
	error(p->cx, n ? n->span : (struct span){0, 0}, E_UNSUPPORTED, "%s%s: the target c %s",
	      n ? "ONNX " : "", n ? n->onnx->name : "the graph", why);
	stop(p->cx);
}

static bool is_control(char c)
{
	return (unsigned char)c < ' ' || c == 127;
}

/* A name, a number, or a call or an element of an array? */
static bool is_simple(const char *s)
{
	size_t i = 0;
	int depth = 0;

	while (is_word(s[i]) || s[i] == '.')
		i++;
	if (!s[i])
		return i > 0;
	if (i == 0 || (s[i] != '(' && s[i] != '['))
		return false;
	for (; s[i]; i++) {
		depth += s[i] == '(' || s[i] == '[';
		depth -= s[i] == ')' || s[i] == ']';
		if (depth == 0)
			return !s[i + 1];
	}
	return false;
}

/* ?? may begin a trigraph. */
void add_quoted(struct strbuf *to, const char *s)
{
	for (bool asked = false; *s; asked = *s++ == '?')
		if (*s == '"' || *s == '\\' || (*s == '?' && asked))
			sb_printf(to, "\\%c", *s);
		else if (*s == '\n')
			sb_str(to, "\\n");
		else if (is_control(*s))
			sb_printf(to, "\\%03o", (unsigned int)(unsigned char)*s);
		else
			sb_add(to, s, 1);
}

/* Nothing in it ends or begins a comment. */
const char *in_comment(struct printer *p, const char *s)
{
	struct strbuf out = {.arena = p->cx->arena};

	for (char before = 0; *s; before = *s++) {
		if ((before == '*' && *s == '/') || (before == '/' && *s == '*'))
			sb_str(&out, " ");
		sb_add(&out, is_control(*s) ? " " : s, 1);
	}
	return out.s ? out.s : "";
}

const char *in_parens(struct printer *p, const char *s)
{
	return is_simple(s) ? s : textf(p, "(%s)", s);
}

bool is_number_text(const char *s, int64_t *v)
{
	char *end;

	if (!is_digit(*s) && *s != '-')
		return false;
	*v = strtoll(s, &end, 10);
	return end != s && !*end;
}

/* INT64_MIN has no digits in C: those behind the minus are more than any type holds. */
const char *number_text(struct printer *p, int64_t v)
{
	return v == INT64_MIN ? "INT64_MIN" : textf(p, "%lld", (long long)v);
}

/* Sums and products of numbers stop at the last number, as those of lib/c/base.h do. */
const char *plus(struct printer *p, const char *a, const char *b)
{
	int64_t x, y, sum;
	bool na = is_number_text(a, &x), nb = is_number_text(b, &y);

	if (na && nb)
		return number_text(p, !__builtin_add_overflow(x, y, &sum) ? sum
				      : y > 0                             ? INT64_MAX
									  : INT64_MIN);
	if ((na && !x) || (nb && !y))
		return na && !x ? b : a;
	if (nb && y < 0)
		return textf(p, "%s - %lld", in_parens(p, a), (long long)-y);
	return textf(p, "%s + %s", in_parens(p, a), in_parens(p, b));
}

const char *times(struct printer *p, const char *a, const char *b)
{
	int64_t x, y, all;
	bool na = is_number_text(a, &x), nb = is_number_text(b, &y);

	if ((na && !x) || (nb && !y))
		return "0";
	if (na && nb)
		return number_text(p, !__builtin_mul_overflow(x, y, &all) ? all
				      : (x < 0) == (y < 0)                ? INT64_MAX
									  : INT64_MIN);
	if ((na && x == 1) || (nb && y == 1))
		return na && x == 1 ? b : a;
	if (na && !nb) /* one text for one product */
		return times(p, b, a);
	return textf(p, "%s * %s", in_parens(p, a), in_parens(p, b));
}

const char *product(struct printer *p, const char *const *dims, uint32_t n)
{
	const char *all = "1";

	for (uint32_t i = 0; i < n; i++)
		all = times(p, all, dims[i]);
	return all;
}

/* --- names --- */

/* Words that C, C++ or their headers keep for themselves, and those of run() itself, in the order
 * of strcmp() */
/* clang-format off */
static const char *const reserved[] = {
	"BIG_ENDIAN", "BUFSIZ", "BYTE_ORDER", "CHAR_BIT", "CLOCKS_PER_SEC", "DECIMAL_DIG",
	"EDOM", "EILSEQ", "EOF", "ERANGE", "EXIT_FAILURE", "EXIT_SUCCESS", "HUGE_VAL",
	"HUGE_VALF", "HUGE_VALL", "I", "INFINITY", "LITTLE_ENDIAN", "L_tmpnam", "MAXFLOAT",
	"NAN", "NULL", "PDP_ENDIAN", "RAND_MAX", "SIGABRT", "SIGFPE", "SIGILL", "SIGINT",
	"SIGSEGV", "SIGTERM", "SNAN", "SNANF", "SNANL", "TIME_UTC", "WEOF", "acos", "acosf",
	"acosh", "acoshf", "alignas", "alignof", "and", "and_eq", "asin", "asinf", "asinh",
	"asinhf", "asm", "atan", "atan2", "atan2f", "atanf", "atanh", "atanhf", "auto", "bad",
	"bitand", "bitor", "bool", "break", "bytes", "case", "catch", "char", "char16_t",
	"char32_t", "char8_t", "class", "co_await", "co_return", "co_yield", "compl", "complex",
	"concept", "const", "const_cast", "consteval", "constexpr", "constinit", "continue",
	"cos", "cosf", "cosh", "coshf", "decltype", "default", "delete", "do", "double",
	"dynamic_cast", "else", "enum", "erf", "erfc", "erfcf", "erff", "errno", "exp", "exp2",
	"exp2f", "expf", "explicit", "expm1", "expm1f", "export", "extern", "false", "float",
	"for", "friend", "goto", "i386", "if", "imaginary", "in", "inline", "int", "int16_t",
	"int32_t", "int64_t", "int8_t", "linux", "log", "log10", "log10f", "log1p", "log1pf",
	"log2", "log2f", "logf", "long", "math_errhandling", "mutable", "namespace", "need",
	"new", "noexcept", "noreturn", "not", "not_eq", "nullptr", "operator", "or", "or_eq",
	"out", "pow", "powf", "private", "protected", "public", "register", "reinterpret_cast",
	"requires", "restrict", "return", "short", "signed", "sin", "sinf", "sinh", "sinhf",
	"size_t", "sizeof", "static", "static_assert", "static_cast", "stderr", "stdin",
	"stdout", "struct", "switch", "tan", "tanf", "tanh", "tanhf", "template", "this",
	"thread_local", "throw", "top", "true", "try", "typedef", "typeid", "typename",
	"typeof", "uint16_t", "uint32_t", "uint64_t", "uint8_t", "union", "unix", "unsigned",
	"using", "virtual", "void", "volatile", "w", "wchar_t", "while", "work", "xor",
	"xor_eq",
};
/* clang-format on */

static uint32_t hash_of(const struct sym *s)
{
	return (uint32_t)((uintptr_t)s >> 4) * 2654435761u;
}

uint32_t sym_number(const struct words *w, const struct sym *s)
{
	struct probe probe = {.hash = hash_of(s)};

	while (hash_next(&w->table, &probe))
		if (w->at.at[probe.number] == s)
			return probe.number;
	return UINT32_MAX;
}

uint32_t word_number(struct printer *p, const struct words *w, const char *word, size_t len)
{
	const struct sym *s = interned(p->cx, word, len);

	return s ? sym_number(w, s) : UINT32_MAX;
}

bool has_word(struct printer *p, const struct words *w, const char *word, size_t len)
{
	return word_number(p, w, word, len) != UINT32_MAX;
}

uint32_t add_sym(struct printer *p, struct words *w, const struct sym *s)
{
	uint32_t number = sym_number(w, s);

	if (number != UINT32_MAX)
		return number;
	*vec_push(p->cx->arena, &w->at) = s;
	hash_add(p->cx->arena, &w->table, hash_of(s), w->at.len - 1);
	return w->at.len - 1;
}

void add_word(struct printer *p, struct words *w, const char *word, size_t len)
{
	add_sym(p, w, intern(p->cx, word, len));
}

void add_names(struct printer *p, struct words *to, const char *code)
{
	const char *end = code + strlen(code);
	size_t len;

	for (const char *s = code; (s = next_identifier(s, end, &len)) != NULL; s += len)
		add_word(p, to, s, len);
}

static int compare_words(const void *name, const void *word)
{
	return strcmp(name, *(const char *const *)word);
}

static bool has_capital(const char *s)
{
	while (*s && !(*s >= 'A' && *s <= 'Z'))
		s++;
	return *s;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

/* Is it a word of C or C++, a macro of their headers, or a function of libm, which -DPTGC_LIBM
 * calls? */
static bool is_reserved(const char *name)
{
	static const char *const begins[] = {"DBL_",  "FE_", "FLT_",  "FP_",   "LC_",
					     "LDBL_", "M_",  "MATH_", "SEEK_", "SIG_"};
	static const char *const ends[] = {"_MAX", "_MIN", "_WIDTH"};

	if (bsearch(name, reserved, countof(reserved), sizeof(*reserved), compare_words))
		return true;
	if (!has_capital(name)) /* the others have */
		return false;
	for (size_t i = 0; i < countof(begins); i++)
		if (!strncmp(name, begins[i], strlen(begins[i])))
			return true;
	for (size_t i = 0; i < countof(ends); i++)
		if (ends_with(name, ends[i]))
			return true;
	return false;
}

/* Letters, digits and _ stay; any other byte becomes _ and two hexadecimal digits. */
const char *mangled(struct printer *p, const char *name)
{
	struct strbuf out = {.arena = p->cx->arena};

	if (is_digit(*name))
		sb_str(&out, "_");
	for (size_t n = word_length(name);; n = word_length(name)) {
		sb_add(&out, name, n);
		name += n;
		if (!*name)
			break;
		sb_printf(&out, "_%02x", (unsigned int)(unsigned char)*name++);
	}
	if (!out.len || !strncmp(out.s, "ptgc_", 5) || !strncmp(out.s, "PTGC_", 5) || *out.s == '_')
		return textf(p, "v%s", out.s);
	return is_reserved(out.s) ? textf(p, "%s_", out.s) : out.s;
}

const char *fresh(struct printer *p, const char *base)
{
	const char *name = mangled(p, base);

	uint32_t first = word_number(p, &p->taken, name, strlen(name));
	const char *all = name;

	while (p->last.len < p->taken.at.len)
		*vec_push(p->cx->arena, &p->last) = 1;
	while (has_word(p, &p->taken, all, strlen(all)))
		all = textf(p, "%s_%u", name, ++p->last.at[first]);
	add_word(p, &p->taken, all, strlen(all));
	return all;
}

/* Of a variable of run(), which nobody else names: what is no letter, digit or _ is one _. */
const char *fresh_for(struct printer *p, const struct value *v, const char *otherwise)
{
	struct strbuf out = {.arena = p->cx->arena};

	for (const char *s = v->name ? v->name->s : ""; *s;) {
		size_t n = word_length(s);
		if (n)
			sb_add(&out, s, n);
		else if (out.s && out.s[out.len - 1] != '_')
			sb_str(&out, "_");
		s += n ? n : 1;
	}
	return fresh(p, out.s ? out.s : otherwise);
}

const char *fresh_in_file(struct printer *p, const char *base)
{
	return fresh(p, textf(p, "%s_%s", p->model, base));
}

void take_names_of_file(struct printer *p)
{
	static const char *const names[] = {
		"call", "find_weights", "interface", "lengths", "message",       "MORE",
		"run",  "sizes",        "weights",   "WEIGHTS", "WEIGHTS_BYTES", "WORK",
	};

	for (size_t i = 0; i < countof(names); i++)
		fresh_in_file(p, names[i]);
}

/* --- messages, and what was printed --- */

uint32_t message(struct printer *p, struct span s, const char *text)
{
	struct place at = source_place(p->cx, text_place(p->cx, s, &(uint32_t){0}).begin);
	const char *slash = at.source ? strrchr(at.source->name, '/') : NULL;
	const char *all = text;

	if (at.source && !at.source->lib && s.begin < s.end && !p->cx->opt.strip)
		all = textf(p, "%s (%s:%u:%u)", text, slash ? slash + 1 : at.source->name, at.line,
			    at.col);
	return add_sym(p, &p->messages, intern_str(p->cx, all)) + 1;
}

/* Is the line at s, a place in text, a line of the .ptg text? */
static bool is_in_comment(const char *text, const char *s)
{
	while (s > text && s[-1] != '\n')
		s--;
	return is_comment(s);
}

bool mentions(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *s = text; (s = strstr(s, name)); s++)
		if ((s == text || (!is_word(s[-1]) && s[-1] != '>' && s[-1] != '.')) &&
		    !is_word(s[n]) && !is_in_comment(text, s))
			return true;
	return false;
}

bool is_changed(const char *s, size_t len)
{
	const char *t = s + len;

	if (((s[-1] == '+' || s[-1] == '-') && s[-2] == s[-1]) ||
	    ((t[0] == '+' || t[0] == '-') && t[1] == t[0]))
		return true;
	if (*t++ != ' ')
		return false;
	t += *t == '+' || *t == '-' || *t == '*'; /* x += 1 */
	return t[0] == '=' && t[1] == ' ';
}

/* --- dtypes and elements --- */

const char *memory_type(enum dtype t)
{
	return t == DT_FLOAT16 ? "uint16_t" : t == DT_BOOL ? "uint8_t" : number_type(t);
}

const char *number_type(enum dtype t)
{
	switch (t) {
	case DT_BOOL:
		return "bool";
	case DT_FLOAT16:
	case DT_FLOAT32:
		return "float";
	case DT_FLOAT64:
		return "double";
	case DT_INT8:
		return "int8_t";
	case DT_INT16:
		return "int16_t";
	case DT_INT32:
		return "int32_t";
	case DT_INT64:
		return "int64_t";
	case DT_UINT8:
		return "uint8_t";
	case DT_UINT16:
		return "uint16_t";
	case DT_UINT32:
		return "uint32_t";
	case DT_UINT64:
		return "uint64_t";
	default:
		bug("C has no type for %s", dtypes[t].name);
	}
}

/* In which sums and products wrap, and are not made wider */
const char *unsigned_type(enum dtype t)
{
	return dtypes[t].size == 8 ? "uint64_t" : "uint32_t";
}

static void put_float_literal(struct strbuf *to, double v, bool narrow)
{
	if (isnan(v)) {
		sb_str(to, narrow ? "(float)NAN" : "(double)NAN");
		return;
	}
	if (isinf(v)) {
		sb_printf(to, "%s(%s)INFINITY", v < 0 ? "-" : "", narrow ? "float" : "double");
		return;
	}
	size_t begin = to->len;
	sb_float(to, v, narrow);
	if (!strpbrk(to->s + begin, ".e"))
		sb_str(to, ".0");
	if (narrow)
		sb_str(to, "f");
}

/* Numbers of uint32 and uint64 have that type in C, so that what is made of them wraps. */
void put_literal(struct strbuf *to, const struct tensor *t, uint64_t i)
{
	int64_t v;

	if (is_float(t->dtype)) {
		put_float_literal(to, tensor_float(t, i), t->dtype != DT_FLOAT64);
	} else if (t->dtype == DT_UINT64) {
		uint64_t u;
		memcpy(&u, tensor_element(t, i), 8);
		sb_printf(to, "%lluull", (unsigned long long)u);
	} else if (!tensor_int(t, i, &v)) {
		bug("a constant of %s", dtypes[t->dtype].name);
	} else if (t->dtype == DT_BOOL) {
		sb_str(to, v ? "true" : "false");
	} else if (v == INT32_MIN || v == INT64_MIN) { /* their digits are of a wider type */
		sb_str(to, v == INT32_MIN ? "INT32_MIN" : "INT64_MIN");
	} else {
		sb_printf(to, t->dtype == DT_UINT32 ? "%lldu" : "%lld", (long long)v);
	}
}

const char *literal(struct printer *p, const struct tensor *t, uint64_t i)
{
	struct strbuf out = {.arena = p->cx->arena};

	put_literal(&out, t, i);
	return out.s;
}

const char *loaded(struct printer *p, enum dtype t, const char *element)
{
	return t == DT_FLOAT16 ? textf(p, "ptgc_f16_get(%s)", element) : element;
}

const char *to_store(struct printer *p, enum dtype t, const char *number)
{
	if (t == DT_FLOAT16)
		return textf(p, "ptgc_f16_bits(%s)", number);
	if (t == DT_BOOL && !is_simple(number)) /* !a and a && b are an int */
		return textf(p, "(%s)(%s)", memory_type(t), number);
	return number;
}
