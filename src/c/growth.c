/*
 * growth.c: what a loop carries whose length changes, and results that it stacks where the steps
 * alone know how many there are, or how long a row is. In: a Loop or a Scan, step by step. Out: one
 * stretch of the workspace, from `base` on: first the stacks, with room for some rows more, but
 * with none before the first step ends; then what the loop carries, and behind it what a step
 * makes. At the end of a step what is next lies behind all else (`kept`), is moved up if a stack
 * needs more room (lib/c/stack.h), and then down, to where the stacks end.
 */
#include <string.h>

#include "c/ops.h"

/* Has v a length that is not known, and that the next value need not have? */
static bool changes(struct printer *p, const struct value *v, const struct value *next)
{
	for (uint32_t k = 0; k < v->type.rank; k++)
		if (!dim_text(p, v->type.dims[k], false, NULL) &&
		    !dim_eq(p->cx, next->type.dims[k], v->type.dims[k]))
			return true;
	return false;
}

void find_growing_states(struct printer *p, struct growth *g)
{
	g->states = new_array(p->cx->arena, struct growing, g->nstates + 1u);
	for (uint32_t i = 0; i < g->nstates; i++) {
		struct growing *s = &g->states[i];
		s->v = g->body->params.at[g->params + i];
		s->next = g->body->results.at[g->results + i];
		s->open = changes(p, s->v, s->next);
		g->open |= s->open;
	}
}

void find_growing_stacks(struct printer *p, struct growth *g)
{
	g->stacks = new_array(p->cx->arena, struct growing, g->nstacks + 1u);
	for (uint32_t i = 0; i < g->nstacks; i++) {
		struct growing *s = &g->stacks[i];
		s->v = g->n->out[g->nstates + i];
		s->next = g->body->results.at[g->results + g->nstates + i];
		s->open = g->early;
		for (uint32_t k = 1; k < s->v->type.rank; k++)
			s->open |= !dim_text(p, s->next->type.dims[k - 1], false, NULL) &&
				   !dim_text(p, s->v->type.dims[k], false, NULL);
		g->open |= s->open;
		s->place = s->open ? g->nopen++ : 0;
	}
}

/* Variables for the lengths of rows that are not known yet */
static void begin_stack(struct printer *p, struct growing *s)
{
	for (uint32_t k = 1; k < s->v->type.rank; k++) {
		s->length[k] = dim_text(p, s->next->type.dims[k - 1], false, NULL);
		if (!s->length[k])
			s->length[k] = dim_text(p, s->v->type.dims[k], false, NULL);
		if (s->length[k])
			continue;
		s->own[k] = fresh(p, s->v->name ? textf(p, "%s_%u", s->v->name->s, k) : "n");
		s->length[k] = s->own[k];
		line(p, "int64_t %s = 0;", s->own[k]);
	}
}

static void begin_state(struct printer *p, struct growing *s, const struct value *init)
{
	struct held *h = held(p, s->v);
	const char *name = fresh(p, s->v->name ? s->v->name->s : "a");

	h->dims = new_array(p->cx->arena, const char *, s->v->type.rank + 1u);
	for (uint32_t k = 0; k < s->v->type.rank; k++) {
		dim d = s->v->type.dims[k];
		const char *len = length(p, init, k);
		s->length[k] = dim_text(p, d, false, NULL);
		if (s->length[k]) {
			must_equal(p, len, s->length[k], "what a loop carries has another length");
		} else {
			s->own[k] = fresh(p, textf(p, "%s_%u", name, k));
			line(p, "int64_t %s = %s;", s->own[k], len);
			bind_length(p, d, s->own[k], false);
			s->length[k] = dim_text(p, d, false, NULL);
		}
		if (!s->length[k])
			cannot(p, p->at, "cannot say the length %s of axis %u of what it carries",
			       dim_str(p->cx, d), k);
		h->dims[k] = s->length[k];
	}
	h->start = h->result = false;
	make_room_at_top(p, s->v, textf(p, "%s *%s", memory_type(s->v->type.dtype), name), name);
	copy(p, s->v, init);
}

void begin_growth(struct printer *p, struct growth *g)
{
	if (!g->open)
		return;
	p->dynamic = true;
	for (uint32_t i = 0; i < g->nstacks; i++)
		if (g->stacks[i].open)
			begin_stack(p, &g->stacks[i]);
	g->base = fresh(p, "base");
	g->rows = fresh(p, "rows");
	line(p, "const size_t %s = top;", g->base);
	if (g->nopen) {
		g->table = fresh(p, "stacks");
		g->end = fresh(p, "end");
		g->room = fresh(p, "room");
		line(p, "int64_t %s = 0, %s = 0;", g->rows, g->room);
		line(p, "size_t %s = %s;", g->end, g->base);
		line(p, "struct ptgc_stack %s[%u] = {{0, 0}};", g->table, g->nopen);
	}
	for (uint32_t i = 0; i < g->nstates; i++)
		if (g->states[i].open)
			begin_state(p, &g->states[i], g->n->in[g->first + i]);
}

/* The lengths of what is next, in variables where they may change */
static const char **lengths_now(struct printer *p, const struct growth *g, struct growing *s,
				bool stack)
{
	uint32_t rank = s->next->type.rank;
	const char **dims = new_array(p->cx->arena, const char *, rank + 1u);

	for (uint32_t k = 0; k < rank; k++) {
		uint32_t axis = k + stack;
		const char *now = length(p, s->next, k);
		int64_t c;
		dims[k] = now;
		if (!is_number_text(now, &c)) {
			dims[k] = fresh(p, "n");
			line(p, "const int64_t %s = %s;", dims[k], now);
		}
		if (!stack)
			continue;
		if (s->own[axis]) {
			line(p, "if (%s == 0)", g->rows);
			line(p, "\t%s = %s;", s->own[axis], dims[k]);
		}
		if (strcmp(now, s->length[axis]))
			must_equal(p, dims[k], s->length[axis],
				   "rows of what a loop stacks must be equally long");
	}
	return dims;
}

/* What is next, in an array behind all else */
static void keep_next(struct printer *p, const struct growth *g, struct growing *s, bool stack)
{
	const struct value *r = s->next;
	struct held *h = held(p, r);
	const char *name = fresh(p, "kept"), *ix[MAX_RANK];
	uint32_t mark = p->once.len, rank = r->type.rank;

	p->statement++;
	s->now = lengths_now(p, g, s, stack);
	s->at = fresh(p, "at");
	line(p, "const size_t %s = top;", s->at);
	const char *e;
	struct held old = *h;
	h->dims = s->now;
	h->start = h->result = false;
	make_room_at_top(p, r, textf(p, "%s *const %s", memory_type(r->type.dtype), name), name);
	*h = old;
	uint32_t loops = open_loops(p, s->now, rank, ix);
	e = to_store(p, r->type.dtype, at(p, r, ix));
	line(p, "%s[%s] = %s;", name, linear(p, s->now, rank, ix), e);
	close_loops(p, loops);
	p->once.len = mark;
}

void keep_growth(struct printer *p, struct growth *g)
{
	for (uint32_t i = 0; i < g->nstacks; i++)
		if (g->stacks[i].open)
			keep_next(p, g, &g->stacks[i], true);
	for (uint32_t i = 0; i < g->nstates; i++)
		if (g->states[i].open)
			keep_next(p, g, &g->states[i], false);
}

static const char *bytes_now(struct printer *p, const struct growing *s)
{
	return textf(p, "(size_t)(%s) * %u", product(p, s->now, s->next->type.rank),
		     dtypes[s->next->type.dtype].size);
}

/* Rows go behind those that are there. */
static void add_rows(struct printer *p, struct growth *g, const char *kept)
{
	line(p, "if (%s == 0) {", g->rows);
	for (uint32_t i = 0; i < g->nstacks; i++)
		if (g->stacks[i].open)
			line(p, "\t%s[%u].row = %s;", g->table, g->stacks[i].place,
			     bytes_now(p, &g->stacks[i]));
	line(p, "}");
	line(p, "size_t up = 0;");
	line(p,
	     "if (%s == %s && !ptgc_more_rows(w, bytes, need, %s, %u, %s, &%s, %s, &%s, %s, top, "
	     "&up))",
	     g->rows, g->room, g->table, g->nopen, g->rows, g->room,
	     g->early ? "INT64_MAX" : g->most, g->end, kept);
	line(p, "\treturn PTGC_MORE;");
	for (uint32_t i = 0; i < g->nstacks; i++) {
		const struct growing *s = &g->stacks[i];
		if (s->open)
			line(p,
			     "memcpy(w + %s[%u].at + (size_t)%s * %s[%u].row, w + %s + up, "
			     "%s[%u].row);",
			     g->table, s->place, g->rows, g->table, s->place, s->at, g->table,
			     s->place);
	}
	line(p, "++%s;", g->rows);
}

void next_growth(struct printer *p, struct growth *g)
{
	const char *up = "";

	if (!g->open)
		return;
	if (g->nopen) {
		const char *kept = NULL;
		for (uint32_t i = 0; i < g->nstacks && !kept; i++)
			kept = g->stacks[i].open ? g->stacks[i].at : NULL;
		add_rows(p, g, kept);
		up = " + up";
	}
	line(p, "top = %s;", g->nopen ? g->end : g->base);
	for (uint32_t i = 0; i < g->nstates; i++) {
		struct growing *s = &g->states[i];
		const struct value *v = s->v;
		if (!s->open)
			continue;
		for (uint32_t k = 0; k < v->type.rank; k++)
			if (s->own[k])
				line(p, "%s = %s;", s->own[k], s->now[k]);
		for (uint32_t k = 0; k < v->type.rank; k++)
			if (!s->own[k])
				must_equal(p, s->now[k], s->length[k],
					   "what a loop carries must keep its lengths");
		line(p, "memmove(w + top, w + %s%s, %s);", s->at, up, bytes_now(p, s));
		line(p, "%s = (%s *)(w + top);", held(p, v)->name, memory_type(v->type.dtype));
		line(p, "top = ptgc_room(top, %s, %u);", product(p, s->now, v->type.rank),
		     dtypes[v->type.dtype].size);
	}
}

/* The lengths of what a step gets change: behind the loop no length is made of them. */
void forget_lengths_of_steps(struct printer *p, const struct growth *g)
{
	for (uint32_t i = 0; i < g->nstates; i++)
		for (uint32_t k = 0; g->states[i].open && k < g->states[i].v->type.rank; k++)
			if (g->states[i].own[k])
				unbind_length(p, g->states[i].own[k]);
}

void give_stacks(struct printer *p, struct growth *g)
{
	for (uint32_t i = 0; i < g->nstacks; i++) {
		struct growing *s = &g->stacks[i];
		struct held *h = held(p, s->v);
		if (!s->open)
			continue;
		s->length[0] = g->rows;
		set_lengths(p, s->v, s->length);
		h->start = h->result = false;
		h->where = MEMORY;
		h->name = fresh(p, s->v->name ? s->v->name->s : "a");
		line(p, "const %s *const %s = (const %s *)(w + %s[%u].at);",
		     memory_type(s->v->type.dtype), h->name, memory_type(s->v->type.dtype),
		     g->table, s->place);
	}
}
