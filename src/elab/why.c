/*
 * why.c: what `ptgc why` asks for. In: a line of the main text or of a file that it uses, with a
 * column or not, or a name; then, while the text is elaborated, all names that get a value. Out:
 * those that were asked for. src/why says where their types come from.
 */
#include <stdlib.h>
#include <string.h>

#include "elab/internal.h"

#define MAX_ANSWERS 1000

struct why {
	const char *file;           /* NULL: the main one */
	const char *name;           /* NULL: all names in the line */
	unsigned long line, column; /* column 0: the whole line */
	const struct source *source;
	uint32_t begin, end; /* offsets in it */
	vec(struct answer) list;
	bool trying; /* a fn that nothing calls */
	const struct block *tried;
	const struct fn *untyped; /* which was asked for, but nothing calls it */
};

/* Finds the offsets of the line in that file; false: it has no such line. */
static bool find_range(struct ctx *cx, struct why *w, const struct source *src)
{
	source_place(cx, src->base); /* finds the lines */
	w->source = src;
	w->begin = src->base;
	w->end = src->base + src->len + 1;
	if (w->name)
		return true;
	if (!w->line || w->line > src->nlines) {
		w->end = w->begin;
		return false;
	}
	w->begin = src->base + src->lines[w->line - 1];
	if (w->line < src->nlines)
		w->end = src->base + src->lines[w->line];
	if (w->column) {
		w->begin += (uint32_t)w->column - 1;
		w->end = w->begin + 1;
	}
	return true;
}

/* "12", "12:5" or "logp", behind "lib/act.ptg:" for a file that the main one uses */
static void read_where(struct ctx *cx, struct why *w, const char *where)
{
	static const char ending[] = ".ptg:";
	const char *file = strstr(where, ending);
	char *end;

	if (file) {
		file += strlen(ending);
		w->file = arena_printf(cx->arena, "%.*s", (int)(file - where - 1), where);
		where = file;
	}
	w->line = strtoul(where, &end, 10);
	if (end == where)
		w->name = where;
	else if (*end == ':')
		w->column = strtoul(end + 1, NULL, 10);
}

bool why_ask(struct ctx *cx, struct source *main, const char *where)
{
	struct why *w = new (cx->arena, struct why);

	read_where(cx, w, where);
	if (!w->file && !find_range(cx, w, main)) {
		error(cx, (struct span){0, 0}, E_OPTION, "why: there is no line %s: %s has %u",
		      where, main->name, main->nlines);
		return false;
	}
	cx->why = w;
	return true;
}

/* Is that the file, as a 'use' writes it, or the end of its path? */
static bool is_file(const struct source *src, const char *file)
{
	size_t n = strlen(src->name), len = strlen(file);

	return !src->lib && len <= n && !strcmp(src->name + n - len, file) &&
	       (len == n || src->name[n - len - 1] == '/');
}

static bool is_asked(struct ctx *cx, struct why *w, const struct sym *name, struct span s)
{
	if (w->file) {
		const struct source *src = source_of(cx, s);
		if (!src || !is_file(src, w->file))
			return false;
		if (src != w->source)
			find_range(cx, w, src);
	}
	if (w->name)
		return !strcmp(name->s, w->name);
	return s.begin < w->end && s.end > w->begin;
}

void why_note(struct elab *e, struct sym *name, struct cv v, struct span s, bool next)
{
	struct why *w = e->cx->why;

	if (!w || e->frame->library || !is_asked(e->cx, w, name, s))
		return;
	struct answer a = {name, v, place_in_call(e->cx, s, e->cx->call), next,
			   w->trying ? e->cx->dims : NULL};
	const struct answer *last = w->list.len ? &w->list.at[w->list.len - 1] : NULL;
	if (last && last->name == name &&
	    (last->at.begin == a.at.begin ||
	     (v.kind == CV_VALUE && last->value.kind == CV_VALUE && v.u.v == last->value.u.v)))
		return; /* such as the result of a graph, which a statement gave its name */
	if (w->list.len < MAX_ANSWERS)
		*vec_push(e->cx->arena, &w->list) = a;
}

void why_try(struct elab *e, const struct fn *f, bool typed)
{
	struct why *w = e->cx->why;

	w->trying = f && typed;
	if (typed)
		w->tried = e->block;
	else if (!w->name && is_asked(e->cx, w, f->name, f->span))
		w->untyped = f;
}

const struct block *why_tried(struct ctx *cx)
{
	return cx->why->tried;
}

void why_missing(struct ctx *cx, struct diag *d, bool fns_alone)
{
	const struct why *w = cx->why;
	const char *name = cx->sources.at[0]->name, *slash = strrchr(name, '/');

	if (w->untyped)
		note(cx, d, w->untyped->name_span,
		     "nothing calls '%s', and its header leaves ranks or properties open: a call "
		     "would give the types",
		     w->untyped->name->s);
	if (fns_alone)
		note(cx, d, (struct span){0, 0},
		     "name a model that uses this file: MODEL.ptg:%s:%s", slash ? slash + 1 : name,
		     w->name ? w->name : arena_printf(cx->arena, "%lu", w->line));
}

uint32_t why_answers(struct ctx *cx, const struct answer **list)
{
	*list = cx->why->list.at;
	return cx->why->list.len;
}
