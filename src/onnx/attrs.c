/*
 * attrs.c: checks the attributes of raw ONNX nodes. In: an operator version, and an attribute of
 * the right kind. Out: what is wrong with its value, by the rows of attrs.def, and which attributes
 * a node lacks, as text: the caller reports it, with the place.
 */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/onnx.h"

#define UNLIMITED  INT32_MAX
#define ABOVE_ZERO FLT_TRUE_MIN

enum rule_kind {
	RULE_WORDS,
	RULE_NUMBER,
	RULE_DTYPE,
	RULE_ODD,
	RULE_NEEDS,
	RULE_LACKS,
	RULE_WRITTEN
};
static const struct attr_rule {
	const char *ops, *attr;
	uint8_t kind;  /* enum rule_kind */
	uint8_t since; /* RULE_WORDS: opset */
	bool ort;      /* for ONNX Runtime alone */
	const char *words;
	double min, max;
} rules[] = {
#define WORDS(op, attr, opset, words)  {op, attr, RULE_WORDS, opset, false, words, 0, 0},
#define NUMBER(op, attr, min, max)     {op, attr, RULE_NUMBER, 0, false, NULL, min, max},
#define DTYPE(attr)                    {"", attr, RULE_DTYPE, 0, false, NULL, 0, 0},
#define ORT_NUMBER(op, attr, min, max) {op, attr, RULE_NUMBER, 0, true, NULL, min, max},
#define ORT_ODD(op, attr)              {op, attr, RULE_ODD, 0, true, NULL, 0, 0},
#define ORT_NEEDS(op, attr)            {op, attr, RULE_NEEDS, 0, true, NULL, 0, 0},
#define ORT_LACKS(op, attr)            {op, attr, RULE_LACKS, 0, true, NULL, 0, 0},
#define WRITTEN(op, attr)              {op, attr, RULE_WRITTEN, 0, false, NULL, 0, 0},
#include "onnx/attrs.def"
};

/* Is `word` one of "A|B|C"? */
static bool is_among(const char *list, const char *word, size_t len)
{
	for (const char *s = list;; s++) {
		size_t n = strcspn(s, "|");
		if (n == len && !memcmp(s, word, n))
			return true;
		s += n;
		if (!*s)
			return false;
	}
}

static bool applies(const struct ctx *cx, const struct attr_rule *r, const struct onnx_op *op)
{
	return op->id && (!*r->ops || is_among(r->ops, op->name, strlen(op->name))) &&
	       (!r->ort || cx->opt.target != PTGC_ONNX);
}

/* The checks return what is wrong, or NULL. */
static const char *check_word(struct ctx *cx, const struct attr_rule *r, const struct attr *a)
{
	struct strbuf b = {.arena = cx->arena};

	if (a->kind != AT_STR || is_among(r->words, a->u.s.s, a->u.s.len))
		return NULL;
	for (const char *s = r->words; *s; s += *s == '|') {
		size_t n = strcspn(s, "|");
		sb_str(&b, !b.len ? "" : s[n] ? ", " : " or ");
		sb_add(&b, s, n);
		s += n;
	}
	return arena_printf(cx->arena, "is \"%.*s\"; it can be %s", (int)a->u.s.len, a->u.s.s, b.s);
}

static uint32_t number_count(const struct attr *a)
{
	return a->kind == AT_INTS || a->kind == AT_FLOATS ? a->n
	       : a->kind == AT_INT || a->kind == AT_FLOAT ? 1
							  : 0;
}

static double number_at(const struct attr *a, uint32_t i)
{
	return a->kind == AT_INTS     ? (double)a->u.ints[i]
	       : a->kind == AT_FLOATS ? (double)a->u.floats[i]
	       : a->kind == AT_INT    ? (double)a->u.i
				      : (double)a->u.f;
}

static const char *range_text(struct ctx *cx, const struct attr_rule *r)
{
	if (r->min == (double)ABOVE_ZERO)
		return "above 0";
	if (r->max >= UNLIMITED)
		return arena_printf(cx->arena, "%g or more", r->min);
	if (r->min == r->max)
		return arena_printf(cx->arena, "%g", r->min);
	return arena_printf(cx->arena, r->min + 1 == r->max ? "%g or %g" : "%g to %g", r->min,
			    r->max);
}

static const char *check_range(struct ctx *cx, const struct attr_rule *r, const struct attr *a)
{
	for (uint32_t i = 0; i < number_count(a); i++) {
		double x = number_at(a, i);
		if (x >= r->min && x <= r->max)
			continue;
		return arena_printf(cx->arena, "%s %.17g; %s %s",
				    a->kind == AT_INTS || a->kind == AT_FLOATS ? "has" : "is", x,
				    r->ort ? "ONNX Runtime needs it to be" : "it must be",
				    range_text(cx, r));
	}
	return NULL;
}

static const char *check_dtype_attr(struct ctx *cx, const struct onnx_op *op, const struct attr *a)
{
	const struct onnx_attr_spec *s = onnx_attr(op, a->name);
	bool zero = s && s->value && !strcmp(s->value, "0"); /* 0 means that no dtype is given */

	if (a->kind != AT_INT || (zero && !a->u.i) || (a->u.i > 0 && a->u.i <= MAX_DATA_TYPE))
		return NULL;
	return arena_printf(cx->arena, "is %lld, which is not a dtype of ONNX", (long long)a->u.i);
}

const char *onnx_attr_wrong(struct ctx *cx, const struct onnx_op *op, const struct attr *a)
{
	const struct attr_rule *words = NULL;
	const char *why = NULL;

	for (size_t i = 0; i < countof(rules) && !why; i++) {
		const struct attr_rule *r = &rules[i];
		if (strcmp(r->attr, a->name) || !applies(cx, r, op))
			continue;
		if (r->kind == RULE_WORDS && cx->opt.opset >= r->since)
			words = r;
		else if (r->kind == RULE_NUMBER)
			why = check_range(cx, r, a);
		else if (r->kind == RULE_DTYPE)
			why = check_dtype_attr(cx, op, a);
		else if (r->kind == RULE_ODD && a->kind == AT_INT && a->u.i % 2 == 0)
			why = "is even; ONNX Runtime needs it to be odd";
		else if (r->kind == RULE_LACKS)
			why = "is one that ONNX Runtime does not know";
	}
	return words ? check_word(cx, words, a) : why;
}

/* The attribute with the default of the specification: "1" for an integer, "0, 2, 3" for a list. */
static struct attr default_attr(struct ctx *cx, const struct onnx_attr_spec *s)
{
	struct attr a = {.name = s->name, .kind = s->kind};

	if (s->kind == AT_INT) {
		a.u.i = atoll(s->value);
		return a;
	}
	int64_t *ints = new_array(cx->arena, int64_t, strlen(s->value) + 1);
	for (const char *p = s->value; *p; p += strspn(p, ", ")) {
		ints[a.n++] = atoll(p);
		p += strcspn(p, ",");
	}
	a.u.ints = ints;
	return a;
}

const char *onnx_attrs_finish(struct ctx *cx, struct node *n)
{
	for (const struct onnx_attr_spec *s = n->onnx->attrs; s && s->kind; s++)
		if (s->required && !find_attr(n, s->name))
			return arena_printf(cx->arena, "needs the attribute '%s'", s->name);
	for (size_t i = 0; i < countof(rules); i++) {
		const struct attr_rule *r = &rules[i];
		if ((r->kind != RULE_NEEDS && r->kind != RULE_WRITTEN) ||
		    !applies(cx, r, n->onnx) || find_attr(n, r->attr))
			continue;
		if (r->kind == RULE_NEEDS)
			return arena_printf(cx->arena, "needs the attribute '%s' in ONNX Runtime",
					    r->attr);
		n->attrs[n->nattrs++] = default_attr(cx, onnx_attr(n->onnx, r->attr));
	}
	return NULL;
}
