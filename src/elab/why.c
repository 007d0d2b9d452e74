/*
 * why.c: what `ptgc why` asks for. In: a line of the main text, with a column or not, or a name;
 * then, while the text is elaborated, all names that get a value. Out: those that were asked for.
 * src/why says where their types come from.
 */
#include <stdlib.h>
#include <string.h>

#include "elab/internal.h"

#define MAX_ANSWERS 1000

struct why {
	uint32_t begin, end; /* offsets of the line, or of the column */
	const char *name;    /* NULL: all names there */
	vec(struct answer) list;
};

bool why_ask(struct ctx *cx, struct source *main, const char *where)
{
	struct why *w = new (cx->arena, struct why);
	char *end;
	unsigned long line = strtoul(where, &end, 10), column = 0;
	struct place at = source_place(cx, main->base);

	if (end == where) {
		w->name = where;
		w->end = UINT32_MAX;
	} else if (*end == ':') {
		column = strtoul(end + 1, NULL, 10);
	}
	if (!w->name && (!line || line > main->nlines)) {
		error(cx, (struct span){0, 0}, E_OPTION, "why: there is no line %s: %s has %u",
		      where, at.source->name, main->nlines);
		return false;
	}
	if (!w->name) {
		w->begin = main->base + main->lines[line - 1];
		w->end = line < main->nlines ? main->base + main->lines[line]
					     : main->base + main->len + 1;
		if (column) {
			w->begin += (uint32_t)column - 1;
			w->end = w->begin + 1;
		}
	}
	cx->why = w;
	return true;
}

static bool is_asked(const struct why *w, const struct sym *name, struct span s)
{
	if (w->name)
		return !strcmp(name->s, w->name);
	return s.begin < w->end && s.end > w->begin;
}

void why_note(struct elab *e, struct sym *name, struct cv v, struct span s, bool next)
{
	struct why *w = e->cx->why;

	if (!w || e->frame->library || !is_asked(w, name, s))
		return;
	struct answer a = {name, v, place_in_call(e->cx, s, e->cx->call), next};
	const struct answer *last = w->list.len ? &w->list.at[w->list.len - 1] : NULL;
	if (last && last->name == name &&
	    (last->at.begin == a.at.begin ||
	     (v.kind == CV_VALUE && last->value.kind == CV_VALUE && v.u.v == last->value.u.v)))
		return; /* such as the result of a graph, which a statement gave its name */
	if (w->list.len < MAX_ANSWERS)
		*vec_push(e->cx->arena, &w->list) = a;
}

uint32_t why_answers(struct ctx *cx, const struct answer **list)
{
	*list = cx->why->list.at;
	return cx->why->list.len;
}
