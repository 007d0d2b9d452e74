/*
 * diag.c: errors, warnings and notes.
 * In: places and messages, in any order. Out: a list in ctx, and its text as a compiler prints it.
 * Holds: a message with the same code and span is kept once; a warning that is off is not kept;
 * the record that is returned is never NULL, so a note can always be added. Only bug() prints or
 * stops a compilation.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base.h"

#define MAX_ERRORS  1000000 /* then the rest of the text is not looked at */
#define MAX_LINE    160     /* bytes of a source line that are shown */
#define SEVERE_OFF  PTGC_NOTE
#define SHOWN_CALLS 6 /* of those that led to a place in a fn */

const struct diag_info diag_infos[DIAG_COUNT] = {
#define DIAG(id, number, severity, name, ...) [id] = {number, severity, name, __VA_ARGS__},
#include "base/diag.def"
};

/* The records by code and span: open addressing, a power of two of slots. */
struct diag_index {
	struct diag **slot;
	uint32_t size, count;
};

static uint32_t diag_hash(enum diag_code code, struct span s)
{
	uint64_t h = ((uint64_t)s.begin << 32 | s.end) * 0x9e3779b97f4a7c15u;
	h = (h ^ h >> 32 ^ (uint64_t)code) * 0xff51afd7ed558ccdu;
	return (uint32_t)(h >> 32);
}

static struct diag **diag_slot(struct diag_index *t, enum diag_code code, struct span s)
{
	uint32_t i = diag_hash(code, s) & (t->size - 1);
	for (;; i = (i + 1) & (t->size - 1)) {
		const struct diag *d = t->slot[i];
		if (!d || (d->code == code && d->span.begin == s.begin && d->span.end == s.end))
			return &t->slot[i];
	}
}

/* Adds d to the index. false: there is one with its code and span. A message without a place is
 * always new. */
static bool remember(struct ctx *cx, struct diag *d)
{
	struct diag_index *t = cx->diag_index;
	if (!d->span.begin)
		return true;
	if (!t)
		t = cx->diag_index = new (cx->arena, struct diag_index);
	if (2 * t->count >= t->size) {
		struct diag_index old = *t;
		t->size = old.size ? 2 * old.size : 64;
		t->slot = new_array(cx->arena, struct diag *, t->size);
		for (uint32_t i = 0; i < old.size; i++)
			if (old.slot[i])
				*diag_slot(t, old.slot[i]->code, old.slot[i]->span) = old.slot[i];
	}
	struct diag **slot = diag_slot(t, d->code, d->span);
	if (*slot)
		return false;
	*slot = d;
	t->count++;
	return true;
}

NORETURN void stop(struct ctx *cx)
{
	longjmp(cx->oom, STOPPED);
}

static const char *what_is_here(struct ctx *cx, const struct fn_call *c)
{
	return c->fn ? arena_printf(cx->arena, "'%s', which is %s here", c->fn,
				    c->trial ? "checked" : "called")
		     : arena_printf(cx->arena, "step %u of this 'for'", c->step);
}

/* Says which calls led to a message about the text of a fn. Of many, those in the middle are left
 * out. */
static void note_calls(struct ctx *cx, struct diag *d, uint32_t call)
{
	uint32_t n = call ? call_of(cx, call)->depth : 0;
	for (uint32_t i = 0; i < n; i++, call = call_of(cx, call)->outer) {
		const struct fn_call *c = call_of(cx, call);
		const char *with = cx->meanings_text(cx, c), *comma = with ? ", with " : "";
		if (n <= SHOWN_CALLS + 1 || i < SHOWN_CALLS / 2 || i >= n - SHOWN_CALLS / 2)
			note(cx, d, c->at, "in %s%s%s", what_is_here(cx, c), comma,
			     with ? with : "");
		else if (i == SHOWN_CALLS / 2)
			note(cx, d, (struct span){0, 0}, "%u more calls in between are not shown",
			     n - SHOWN_CALLS);
	}
	d->calls = d->notes;
}

static struct diag *add(struct ctx *cx, struct span s, struct span other, enum diag_code code,
			uint8_t severity, char *text)
{
	struct diag *d = new (cx->arena, struct diag);
	uint32_t call, of_other;
	d->code = code;
	d->severity = severity;
	d->span = text_place(cx, s, &call);
	d->other = text_place(cx, other, &of_other);
	d->text = text;
	if (severity == SEVERE_OFF || !remember(cx, d))
		return d;
	*cx->diag_tail = d;
	cx->diag_tail = &d->next;
	note_calls(cx, d, call ? call : cx->call);
	if (severity != PTGC_ERROR) {
		cx->warnings++;
	} else if (code == E_UNSUPPORTED) {
		cx->errors++, cx->refused++;
	} else if (++cx->errors >= MAX_ERRORS) {
		cx->gave_up = true;
		stop(cx);
	}
	return d;
}

struct diag_mark diag_mark(struct ctx *cx)
{
	struct diag_mark m = {cx->diag_tail, cx->diag_index, cx->errors, cx->warnings, cx->refused};

	cx->diag_index = NULL; /* messages are kept that are in the list already */
	return m;
}

void diag_forget(struct ctx *cx, struct diag_mark m)
{
	*m.tail = NULL;
	cx->diag_tail = m.tail;
	cx->diag_index = m.index;
	cx->errors = m.errors;
	cx->warnings = m.warnings;
	cx->refused = m.refused;
}

struct diag *error(struct ctx *cx, struct span s, enum diag_code code, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	char *text = arena_vprintf(cx->arena, fmt, args);
	va_end(args);
	return add(cx, s, (struct span){0, 0}, code, PTGC_ERROR, text);
}

struct diag *error2(struct ctx *cx, struct span s, struct span other, enum diag_code code,
		    const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	char *text = arena_vprintf(cx->arena, fmt, args);
	va_end(args);
	return add(cx, s, other, code, PTGC_ERROR, text);
}

struct diag *warn(struct ctx *cx, struct span s, enum diag_code code, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	char *text = arena_vprintf(cx->arena, fmt, args);
	va_end(args);
	return add(cx, s, (struct span){0, 0}, code, cx->severity[code], text);
}

void note(struct ctx *cx, struct diag *d, struct span s, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	struct diag *n = new (cx->arena, struct diag);
	uint32_t call;
	n->severity = PTGC_NOTE;
	n->span = text_place(cx, s, &call);
	n->text = arena_vprintf(cx->arena, fmt, args);
	va_end(args);
	struct diag **tail = &d->notes;
	while (*tail && *tail != d->calls)
		tail = &(*tail)->next;
	n->next = *tail;
	*tail = n;
}

NORETURN void bug(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	fputs("ptgc: internal error: ", stderr);
	vfprintf(stderr, fmt, args);
	fputs("\nThis is a bug in ptgc; please report it with the input.\n", stderr);
	va_end(args);
	abort();
}

/* -Werror, -Wno-error: for warnings that are on, and for those that are switched on later */
static bool option_all_errors(struct ctx *cx, bool on)
{
	uint8_t from = on ? PTGC_WARNING : PTGC_ERROR, to = on ? PTGC_ERROR : PTGC_WARNING;
	cx->werror = on;
	for (int i = 0; i < DIAG_COUNT; i++)
		if (diag_infos[i].severity != PTGC_ERROR && cx->severity[i] == from)
			cx->severity[i] = to;
	return true;
}

bool diag_option(struct ctx *cx, const char *name)
{
	bool no = !strncmp(name, "no-", 3);
	name += no ? 3 : 0;
	if (!strcmp(name, "error"))
		return option_all_errors(cx, !no);
	bool as_error = !strncmp(name, "error=", 6);
	name += as_error ? 6 : 0;
	for (int i = 0; i < DIAG_COUNT; i++) {
		if (strcmp(diag_infos[i].name, name) || diag_infos[i].severity == PTGC_ERROR)
			continue;
		uint8_t *s = &cx->severity[i];
		if (as_error)
			*s = !no ? PTGC_ERROR : *s == PTGC_ERROR ? PTGC_WARNING : *s;
		else
			*s = no                               ? SEVERE_OFF
			     : cx->werror || *s == PTGC_ERROR ? PTGC_ERROR
							      : PTGC_WARNING;
		return true;
	}
	return false; /* unknown, or an error: those cannot be switched */
}

const struct diag_info *diag_find(const char *code)
{
	if (!strncasecmp(code, "PTG", 3))
		code += 3;
	if (!*code || strlen(code) > 4 || strspn(code, "0123456789") != strlen(code))
		return NULL;
	int number = atoi(code);
	for (int i = 0; i < DIAG_COUNT; i++)
		if (diag_infos[i].number == number)
			return &diag_infos[i];
	return NULL;
}

static int by_place(const void *pa, const void *pb)
{
	const struct diag *a = *(struct diag *const *)pa, *b = *(struct diag *const *)pb;
	return a->span.begin < b->span.begin ? -1 : a->span.begin > b->span.begin;
}

/* Merge sort, bottom up, as glibc's qsort is stable only while it has memory. */
static void sort_stable(struct diag **at, struct diag **tmp, size_t n)
{
	for (size_t w = 1; w < n; w *= 2) {
		for (size_t i = 0; i < n; i += 2 * w) {
			size_t mid = i + w < n ? i + w : n, end = i + 2 * w < n ? i + 2 * w : n;
			for (size_t l = i, r = mid, o = i; o < end; o++)
				tmp[o] = r == end || (l < mid && by_place(&at[l], &at[r]) <= 0)
						 ? at[l++]
						 : at[r++];
		}
		memcpy(at, tmp, n * sizeof(*at));
	}
}

size_t diag_sorted(struct ctx *cx, struct diag *const **list)
{
	size_t n = 0;
	for (struct diag *d = cx->diags; d; d = d->next)
		n++;
	struct diag **at = new_array(cx->arena, struct diag *, n + 1);
	struct diag **tmp = new_array(cx->arena, struct diag *, n + 1);
	size_t i = 0;
	for (struct diag *d = cx->diags; d; d = d->next)
		at[i++] = d;
	sort_stable(at, tmp, n);
	*list = at;
	return n;
}

int shown_len(const char *s, size_t len, int max)
{
	size_t n = (size_t)max;
	if (len <= n)
		return (int)len;
	while (n && ((unsigned char)s[n] & 0xc0) == 0x80)
		n--;
	return (int)n;
}

/*
 * Printing.
 */
struct printer {
	struct ctx *cx;
	struct strbuf *out;
	bool colour;
};

static void paint(struct printer *p, const char *code)
{
	if (p->colour)
		sb_printf(p->out, "\033[%sm", code);
}

/* Bytes of the character at s, for the caret's line; a stray byte counts as one. */
static uint32_t char_len(const char *s, uint32_t left)
{
	unsigned char c = (unsigned char)*s;
	uint32_t n = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4, i = 1;
	while (i < n && i < left && ((unsigned char)s[i] & 0xc0) == 0x80)
		i++;
	return i;
}

/* Text of users goes to terminals: control characters, bidi controls, stray bytes become '?'. */
static bool is_printable(const char *s, uint32_t n)
{
	unsigned char c = (unsigned char)s[0];
	if (n == 1)
		return c >= 0x20 && c < 0x7f;
	if (c == 0xc2 && (unsigned char)s[1] < 0xa0)
		return false;
	if (n == 3 && c == 0xe2) {
		unsigned char b = (unsigned char)s[1], e = (unsigned char)s[2];
		return !(b == 0x80 && ((e >= 0x8e && e <= 0x8f) || (e >= 0xa8 && e <= 0xae))) &&
		       !(b == 0x81 && e >= 0xa6 && e <= 0xa9);
	}
	return c >= 0xc2;
}

static void add_clean(struct strbuf *out, const char *s, size_t len, const char *keep)
{
	for (size_t i = 0, n; i < len; i += n) {
		n = char_len(s + i, (uint32_t)(len - i > 4 ? 4 : len - i));
		if (is_printable(s + i, (uint32_t)n) || (s[i] && strchr(keep, s[i])))
			sb_add(out, s + i, n);
		else
			sb_str(out, "?");
	}
}

/* The part of a line that is shown: bytes [begin, end) and what is marked in it. */
struct snippet {
	struct place at;
	uint32_t begin, end;
	uint32_t mark, mark_end;   /* '^~~' or, if plain, '~~~' */
	uint32_t other, other_end; /* '~~~'; none if equal */
	bool plain;
};

static bool continues(const char *s, uint32_t i, uint32_t len)
{
	return i < len && ((unsigned char)s[i] & 0xc0) == 0x80;
}

static void cut_line(struct snippet *n)
{
	uint32_t len = n->at.len, width = MAX_LINE - 6;
	n->begin = 0;
	n->end = len;
	if (len <= MAX_LINE)
		return;
	if (n->mark > width / 2)
		n->begin = n->mark - width / 2;
	if (len - n->begin < width)
		n->begin = len - width;
	n->end = n->begin + width < len ? n->begin + width : len;
	for (int i = 0; i < 3 && continues(n->at.text, n->begin, len); i++)
		n->begin++;
	for (int i = 0; i < 3 && continues(n->at.text, n->end, len); i++)
		n->end--;
}

static char mark_at(const struct snippet *n, uint32_t i)
{
	if (i == n->mark && !n->plain)
		return '^';
	if ((i >= n->mark && i < n->mark_end) || (i >= n->other && i < n->other_end))
		return '~';
	return ' ';
}

static void add_marks(struct printer *p, const struct snippet *n)
{
	struct strbuf m = {.arena = p->cx->arena};
	size_t used = 0;
	sb_str(&m, n->begin ? "   " : "");
	for (uint32_t i = n->begin, len; i < n->end; i += len) {
		len = char_len(n->at.text + i, n->end - i);
		char mark = mark_at(n, i);
		if (mark != ' ' || n->at.text[i] != '\t')
			sb_add(&m, &mark, 1);
		if (n->at.text[i] == '\t' && mark != '~')
			sb_str(&m, "\t");
		else if (n->at.text[i] == '\t') /* keeps what follows in its column */
			m.s[m.len - 1] = '\t';
		if (mark != ' ')
			used = m.len;
	}
	if (n->mark >= n->end) {
		sb_add(&m, "^", n->plain ? 0 : 1);
		used = n->plain ? used : m.len;
	}
	if (!used)
		return;
	sb_str(p->out, "      | ");
	paint(p, "1;32");
	sb_add(p->out, m.s, used);
	paint(p, "0");
	sb_str(p->out, "\n");
}

static void add_snippet(struct printer *p, struct snippet *n)
{
	cut_line(n);
	sb_printf(p->out, "%5u | %s", n->at.line, n->begin ? "..." : "");
	add_clean(p->out, n->at.text + n->begin, n->end - n->begin, "\t");
	sb_str(p->out, n->end < n->at.len ? "...\n" : "\n");
	add_marks(p, n);
}

/* A span as columns of one line: it ends with the line that it begins in. */
static void clip(const struct place *at, struct span s, uint32_t *begin, uint32_t *end)
{
	uint64_t last = (uint64_t)(at->col - 1) + (s.end > s.begin ? s.end - s.begin : 0);
	*begin = at->col - 1;
	*end = last < at->len ? (uint32_t)last : at->len;
}

static void add_places(struct printer *p, const struct diag *d)
{
	struct snippet n = {.at = source_place(p->cx, d->span.begin)};
	struct place other = source_place(p->cx, d->other.begin);
	if (!n.at.source)
		return;
	clip(&n.at, d->span, &n.mark, &n.mark_end);
	bool same = other.source == n.at.source && other.line == n.at.line;
	if (same)
		clip(&other, d->other, &n.other, &n.other_end);
	add_snippet(p, &n);
	if (same || !other.source)
		return;
	if (other.source != n.at.source)
		sb_printf(p->out, "%s:%u:%u:\n", other.source->name, other.line, other.col);
	struct snippet o = {.at = other, .plain = true};
	clip(&other, d->other, &o.mark, &o.mark_end);
	add_snippet(p, &o);
}

static void add_code(struct printer *p, const struct diag *d)
{
	const struct diag_info *info = &diag_infos[d->code];
	if (d->severity == PTGC_NOTE)
		return;
	if (info->severity == PTGC_ERROR)
		sb_printf(p->out, " [PTG%04d]", info->number);
	else
		sb_printf(p->out, " [PTG%04d, -W%s%s]", info->number,
			  d->severity == PTGC_ERROR ? "error=" : "", info->name);
}

static void add_diag(struct printer *p, const struct diag *d)
{
	static const char *const words[] = {"note", "warning", "error"};
	static const char *const paints[] = {"1;36", "1;35", "1;31"};
	struct place at = source_place(p->cx, d->span.begin);
	paint(p, "1");
	if (at.source) {
		add_clean(p->out, at.source->name, strlen(at.source->name), "");
		sb_printf(p->out, ":%u:%u: ", at.line, at.col);
	} else if (p->cx->sources.len && d->severity != PTGC_NOTE) { /* of the text as a whole */
		const char *name = p->cx->sources.at[0]->name;
		add_clean(p->out, name, strlen(name), "");
		sb_str(p->out, ": ");
	}
	paint(p, paints[d->severity]);
	sb_printf(p->out, "%s: ", words[d->severity]);
	paint(p, "0");
	paint(p, "1");
	add_clean(p->out, d->text, strlen(d->text), "\n\t");
	paint(p, "0");
	add_code(p, d);
	sb_str(p->out, "\n");
	add_places(p, d);
}

static void add_rest(struct printer *p, size_t n, const char *what)
{
	if (n)
		sb_printf(p->out, "%zu more %s%s\n", n, what, n == 1 ? "" : "s");
}

void diag_render(struct ctx *cx, struct strbuf *out, bool colour)
{
	struct printer p = {cx, out, colour};
	struct diag *const *list;
	size_t n = diag_sorted(cx, &list), seen[3] = {0};
	size_t most = cx->opt.max_errors ? cx->opt.max_errors : SIZE_MAX;
	sb_str(out, "");
	for (size_t i = 0; i < n; i++) {
		if (seen[list[i]->severity]++ >= most)
			continue;
		add_diag(&p, list[i]);
		for (const struct diag *d = list[i]->notes; d; d = d->next)
			add_diag(&p, d);
	}
	for (int s = PTGC_ERROR; s > PTGC_NOTE; s--)
		add_rest(&p, seen[s] > most ? seen[s] - most : 0,
			 s == PTGC_ERROR ? "error" : "warning");
	if (cx->gave_up)
		sb_str(out, "the rest of the text was not checked\n");
}

/*
 * did_you_mean: the edit distance with transpositions, counted in quarters: a change of case is a
 * quarter of an edit, two letters in the wrong order are less than a letter too many. Only names of
 * about the same length are compared, and a comparison stops when the distance is too large.
 */
#define MAX_NAME 64
enum { EDIT = 4, SWAP = 3, CASE = 1, FAR = 1 << 20 };

static int lower_ascii(int c)
{
	return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

static int min_int(int a, int b)
{
	return a < b ? a : b;
}

static int change(char a, char b)
{
	return a == b ? 0 : lower_ascii(a) == lower_ascii(b) ? CASE : EDIT;
}

static int distance(const char *a, int na, const char *b, int nb, int limit)
{
	int rows[3][MAX_NAME + 1];
	int *before = rows[0], *last = rows[1], *row = rows[2];
	for (int j = 0; j <= nb; j++)
		last[j] = j * EDIT;
	for (int i = 1; i <= na; i++) {
		int best = row[0] = i * EDIT;
		for (int j = 1; j <= nb; j++) {
			int d = last[j - 1] + change(a[i - 1], b[j - 1]);
			d = min_int(d, min_int(last[j], row[j - 1]) + EDIT);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d = min_int(d, before[j - 2] + SWAP);
			row[j] = d;
			best = min_int(best, d);
		}
		if (best > limit + EDIT) /* a transposition looks one row back */
			return FAR;
		int *t = before;
		before = last;
		last = row;
		row = t;
	}
	return last[nb];
}

const char *did_you_mean(const char *name, const char *const *candidates, size_t n)
{
	size_t len = strlen(name);
	if (!len || len > MAX_NAME)
		return NULL;
	/* a third of the letters may be wrong, and one in its case */
	int limit = CASE + (int)(len + 1) / 3 * EDIT;
	const char *best = NULL;
	for (size_t i = 0; i < n; i++) {
		size_t m = strlen(candidates[i]);
		size_t gap = m > len ? m - len : len - m;
		if (m > MAX_NAME || !m || gap * EDIT > (size_t)limit)
			continue;
		int d = distance(name, (int)len, candidates[i], (int)m, limit);
		if (d <= limit && d) {
			best = candidates[i];
			limit = d - 1;
		}
	}
	return best;
}

const char *users_text(struct ctx *cx, struct span s, uint32_t *len)
{
	uint32_t call;
	const struct span at = text_place(cx, s, &call);
	const struct source *src = source_of(cx, at);

	*len = at.end > at.begin ? at.end - at.begin : 0;
	return src && !src->lib && *len ? src->text + (at.begin - src->base) : NULL;
}
