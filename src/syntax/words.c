/*
 * words.c: the words of the language, and which names may stand in a text without backquotes.
 */
#include <string.h>

#include "syntax/internal.h"

static const struct word {
	const char *s;
	uint16_t token;
	const char *instead; /* of a reserved word: what to write */
} words[] = {
	/* soft words: keywords only where nothing else can stand */
	{"ptg", TOK_PTG, NULL},
	{"graph", TOK_GRAPH, NULL},
	{"fn", TOK_FN, NULL},
	{"use", TOK_USE, NULL},
	{"const", TOK_CONST, NULL},
	{"rule", TOK_RULE, NULL},
	{"state", TOK_STATE, NULL},
	{"next", TOK_NEXT, NULL},
	{"until", TOK_UNTIL, NULL},
	{"loop", TOK_LOOP, NULL},
	{"while", TOK_WHILE, NULL},
	{"in", TOK_IN, NULL},
	/* keywords */
	{"for", TOK_FOR, NULL},
	{"as", TOK_AS, NULL},
	{"if", TOK_IF, NULL},
	{"else", TOK_ELSE, NULL},
	{"None", TOK_NONE, NULL},
	{"True", TOK_TRUE, NULL},
	{"False", TOK_FALSE, NULL},
	{"inf", TOK_FLOAT, NULL},
	{"nan", TOK_FLOAT, NULL},
	{"infj", TOK_IMAG, NULL},
	{"nanj", TOK_IMAG, NULL},
	/* kept for later versions of the language */
	{"and", TOK_RESERVED, "write a & b, and (x > 0) & (y > 0)"},
	{"or", TOK_RESERVED, "write a | b, and (x > 0) | (y > 0)"},
	{"not", TOK_RESERVED, "write ~a, and ~(x > 0)"},
	{"where", TOK_RESERVED,
	 "use Switch(condition, a, b), or x[condition] for the elements where it holds"},
#define NO_DTYPE "ptgc does not have this dtype of ONNX yet"
	{"int2", TOK_RESERVED, NO_DTYPE},
	{"uint2", TOK_RESERVED, NO_DTYPE},
	{"int4", TOK_RESERVED, NO_DTYPE},
	{"uint4", TOK_RESERVED, NO_DTYPE},
	{"float4e2m1", TOK_RESERVED, NO_DTYPE},
	{"float8e4m3fn", TOK_RESERVED, NO_DTYPE},
	{"float8e5m2", TOK_RESERVED, NO_DTYPE},
	{"float8e4m3fnuz", TOK_RESERVED, NO_DTYPE},
	{"float8e8m0", TOK_RESERVED, NO_DTYPE},
	{"float8e5m2fnuz", TOK_RESERVED, NO_DTYPE},
};

void intern_words(struct ctx *cx)
{
	for (size_t i = 0; i < countof(words); i++)
		intern_str(cx, words[i].s)->word = words[i].token;
}

static const struct word *find_word(const char *s, size_t len)
{
	for (size_t i = 0; i < countof(words); i++)
		if (!strncmp(words[i].s, s, len) && !words[i].s[len])
			return &words[i];
	return NULL;
}

const char *reserved_instead(const char *s, size_t len)
{
	return find_word(s, len)->instead;
}

const char *operator_instead(const char *s, size_t len)
{
	static const char *const looks[][2] = {
		{"\u2212", "'\u2212' is U+2212: a minus is '-'"},
		{"\u2013", "'\u2013' is U+2013: a minus is '-'"},
		{"\u00d7", "'\u00d7' is U+00D7: a product is x * y"},
		{"\u22c5", "'\u22c5' is U+22C5: a product is x * y"},
		{"\u00b7", "'\u00b7' is U+00B7: a product is x * y"},
		{"\u2217", "'\u2217' is U+2217: a product is x * y"},
		{"\u2215", "'\u2215' is U+2215: a quotient is x / y"},
		{"\u2044", "'\u2044' is U+2044: a quotient is x / y"},
		{"\u00f7", "'\u00f7' is U+00F7: a quotient is x / y"},
		{"\u201c", "'\u201c' is U+201C: a string stands in \"...\""},
		{"\u201d", "'\u201d' is U+201D: a string stands in \"...\""},
		{"\u2018", "'\u2018' is U+2018: a string stands in '...'"},
		{"\u2019", "'\u2019' is U+2019: a string stands in '...'"},
		{"\u00b2", "'\u00b2' is U+00B2: a square is x ** 2"},
		{"\u221a", "'\u221a' is U+221A: a square root is Sqrt(x)"},
		{"\u2264", "'\u2264' is U+2264: write <="},
		{"\u2265", "'\u2265' is U+2265: write >="},
		{"\u2260", "'\u2260' is U+2260: write !="},
	};

	for (size_t i = 0; i < countof(looks); i++)
		if (len >= strlen(looks[i][0]) && !memcmp(s, looks[i][0], strlen(looks[i][0])))
			return looks[i][1];
	return NULL;
}

/* Blanks and bidi controls cannot be seen: a name that has them would not be what it looks like. */
bool unfit_for_names(uint32_t c)
{
	return c < 0xa1 || c == 0xad || c == 0x61c || c == 0x1680 || c == 0x180e ||
	       (c >= 0x2000 && c <= 0x200f) || (c >= 0x2028 && c <= 0x202f) ||
	       (c >= 0x205f && c <= 0x206f) || c == 0x3000 || c == 0xfeff ||
	       (c >= 0xfff9 && c <= 0xfffb) || c == 0xfffe || c == 0xffff;
}

bool is_plain_name(const char *name)
{
	size_t len = strlen(name);
	if (!len || len > MAX_NAME || (*name >= '0' && *name <= '9') || !strcmp(name, "_") ||
	    dtype_named(name) || find_word(name, len))
		return false;
	for (size_t i = 0; i < len;) {
		unsigned char c = (unsigned char)name[i];
		if (c < 0x80) {
			if (c != '_' && !(c >= '0' && c <= '9') && !(c >= 'A' && c <= 'Z') &&
			    !(c >= 'a' && c <= 'z'))
				return false;
			i++;
		} else if (!utf8_len(name + i, len - i) || unfit_for_names(utf8_next(name, &i))) {
			return false;
		}
	}
	return true;
}
