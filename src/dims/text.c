/*
 * text.c: dims and types as text. In: a dim. Out: its text; the front end reads a text without "?"
 * back as the same dim.
 */
#include "dims/internal.h"

static void add_dim_name(struct strbuf *b, const struct sym *name)
{
	bool plain = name->len && !(name->s[0] >= '0' && name->s[0] <= '9');
	for (uint32_t i = 0; i < name->len; i++) {
		unsigned char c = (unsigned char)name->s[i];
		plain &= (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
			 (c >= '0' && c <= '9') || c >= 0x80;
	}
	if (!plain)
		sb_str(b, "`");
	for (uint32_t i = 0; i < name->len; i++)
		sb_add(b, name->s[i] == '`' ? "``" : &name->s[i], name->s[i] == '`' ? 2 : 1);
	if (!plain)
		sb_str(b, "`");
}

enum level { IN_CALL, IN_SUM, IN_TERM, IN_DIVISOR };
static void add_dim(struct dims *t, struct strbuf *b, dim d, enum level level);
static void add_sum(struct dims *t, struct strbuf *b, const struct form *f);

/* d + more, as it would be printed; no dim is made for it, so that texts change nothing */
static void add_more(struct dims *t, struct strbuf *b, dim d, int64_t more)
{
	const struct form *f = form_of(t, d);
	int64_t one = 1;
	struct form sum = {.kind = K_LINEAR, .n = 1, .c = more, .coef = &one, .term = &d};
	if (f->kind == K_LINEAR) {
		sum = *f;
		sum.c += more;
	}
	add_sum(t, b, &sum);
}

/* max(a+more, b+more) of f, which is max(a, b) */
static void add_minmax(struct dims *t, struct strbuf *b, const struct form *f, int64_t more)
{
	sb_str(b, f->kind == K_MAX ? "max" : "min");
	for (uint32_t i = 0; i < f->n; i++) {
		sb_str(b, i ? ", " : "(");
		if (more)
			add_more(t, b, f->term[i], more);
		else
			add_dim(t, b, f->term[i], IN_CALL);
	}
	sb_str(b, ")");
}

static void add_infix(struct dims *t, struct strbuf *b, const struct form *f, const char *op,
		      enum level first)
{
	for (uint32_t i = 0; i < f->n; i++) {
		sb_str(b, i ? op : "");
		add_dim(t, b, f->term[i], i ? IN_DIVISOR : first);
	}
}

static void add_integer(struct strbuf *b, int64_t v, bool first)
{
	uint64_t m = v < 0 ? -(uint64_t)v : (uint64_t)v;
	sb_printf(b, "%s%llu", v < 0 ? "-" : first ? "" : "+", (unsigned long long)m);
}

static bool operands_take(const struct dims *t, const struct form *m, int64_t more)
{
	int64_t sum;
	for (uint32_t i = 0; i < m->n; i++)
		if (__builtin_add_overflow(form_of(t, m->term[i])->c, more, &sum))
			return false;
	return true;
}

/* The first term of f that is a max or min, to whose operands the constant of f can be added: of
 * 2*min(n-5, 0)+10, which is 2*min(n, 5). f->n: none */
static uint32_t takes_constant(const struct dims *t, const struct form *f)
{
	for (uint32_t i = 0; i < f->n && f->c > 0; i++) {
		const struct form *m = form_of(t, f->term[i]);
		if (f->coef[i] > 0 && f->c % f->coef[i] == 0 && !m->frozen &&
		    (m->kind == K_MAX || m->kind == K_MIN) &&
		    operands_take(t, m, f->c / f->coef[i]))
			return i;
	}
	return f->n;
}

/* 5-n, but n-1: the constant comes first if it alone is positive */
static void add_sum(struct dims *t, struct strbuf *b, const struct form *f)
{
	uint32_t with_constant = takes_constant(t, f);
	bool first = true, lead = f->c > 0;
	for (uint32_t i = 0; i < f->n; i++)
		lead &= f->coef[i] < 0;
	if (lead || !f->n) {
		add_integer(b, f->c, true);
		first = false;
	}
	for (uint32_t i = 0; i < f->n; i++, first = false) {
		int64_t k = f->coef[i];
		enum level level = k == 1              ? IN_SUM
				   : k == -1 && !first ? IN_TERM
						       : IN_DIVISOR; /* -n//2 is (-n)//2 */
		if (k == 1 || k == -1)
			sb_str(b, k < 0 ? "-" : first ? "" : "+");
		else
			add_integer(b, k, first);
		if (k != 1 && k != -1)
			sb_str(b, "*");
		if (i == with_constant)
			add_minmax(t, b, form_of(t, f->term[i]), f->c / k);
		else
			add_dim(t, b, f->term[i], level);
	}
	if (!lead && f->n && f->c && with_constant == f->n)
		add_integer(b, f->c, false);
}

static bool needs_parens(const struct form *f, enum level level)
{
	switch (f->kind) {
	case K_LINEAR:
		return level >= IN_TERM && (f->n || f->c < 0);
	case K_FLOORDIV:
	case K_MOD:
		return level >= IN_DIVISOR;
	default:
		return false;
	}
}

static void add_dim(struct dims *t, struct strbuf *b, dim d, enum level level)
{
	const struct form *f = form_of(t, d);
	bool parens = needs_parens(f, level);
	sb_str(b, parens ? "(" : "");
	if (f->name)
		add_dim_name(b, f->name);
	else if (f->kind == K_BASE || f->frozen)
		sb_str(b, "?");
	else if (f->kind == K_LINEAR)
		add_sum(t, b, f);
	else if (f->kind == K_MAX || f->kind == K_MIN)
		add_minmax(t, b, f, 0);
	else if (f->kind == K_PRODUCT)
		add_infix(t, b, f, "*", IN_DIVISOR);
	else
		add_infix(t, b, f, f->kind == K_MOD ? "%" : "//", IN_TERM);
	sb_str(b, parens ? ")" : "");
}

const char *dim_str_as_made(struct ctx *cx, dim d)
{
	struct strbuf b = {.arena = cx->arena};
	if (!d)
		return "none";
	sb_str(&b, "");
	add_dim(cx->dims, &b, d, IN_CALL);
	return b.s;
}

const char *dim_str(struct ctx *cx, dim d)
{
	return dim_str_as_made(cx, d ? find(cx->dims, d) : d);
}

const char *type_str(struct ctx *cx, struct type t)
{
	struct strbuf b = {.arena = cx->arena};
	sb_str(&b, dtypes[t.dtype].name);
	if (is_rng((enum dtype)t.dtype) && !t.rank)
		return b.s;
	sb_str(&b, "[");
	for (uint32_t i = 0; i < t.rank; i++) {
		sb_str(&b, i ? ", " : "");
		sb_str(&b, dim_str(cx, t.dims[i]));
	}
	sb_str(&b, "]");
	return b.s;
}
