/*
 * control.c: If, Loop and Scan as if and for. In: a node and its blocks. What a block carries from
 * step to step, and what an If gives, are variables and arrays that are made before it. Out:
 * statements.
 */
#include <string.h>

#include "c/ops.h"

static struct block *block_of(const struct node *n, const char *name)
{
	return find_attr(n, name)->u.block;
}

/* What is bound inside of a block is not known behind it, but for what is known when run() starts.
 */
struct entered {
	struct length_text *length_texts;
	uint32_t count, once, lengths;
	uint32_t from;
};

static struct entered enter(struct printer *p)
{
	struct entered s = {.count = p->length_texts.len,
			    .once = p->once.len,
			    .lengths = p->checked_lengths.len,
			    .from = ++p->statement};

	s.length_texts = new_array(p->cx->arena, struct length_text, p->length_texts.len + 1u);
	if (p->length_texts.len)
		memcpy(s.length_texts, p->length_texts.at,
		       p->length_texts.len * sizeof(*s.length_texts));
	p->statement++;
	return s;
}

static void leave(struct printer *p, const struct entered *s, bool again)
{
	p->statement++;
	if (again)
		use_buffers(p, s->from);
	for (uint32_t i = 0; i < p->length_texts.len; i++)
		if (p->length_texts.at[i].indent)
			p->length_texts.at[i] =
				i < s->count ? s->length_texts[i] : (struct length_text){NULL, 0};
	p->once.len = s->once;
	p->checked_lengths.len = s->lengths;
}

/* A variable or an array for v, which blocks fill; a variable is `first` before */
static void make_place(struct printer *p, const struct value *v, const char *const *known,
		       const char *first)
{
	struct held *h = held(p, v);

	set_lengths(p, v, known);
	if (is_single(p->cx, &v->type) && !h->stored) {
		h->name = h->result ? fresh(p, "x") : fresh_for(p, v, "x");
		h->where = NUMBER;
		h->result = false;
		line(p, "%s %s = %s;", number_type(v->type.dtype), h->name, first);
	} else {
		make_array(p, v);
	}
}

/* The element of a value that has one */
static const char *only_element(struct printer *p, const struct value *v)
{
	const char *ix[MAX_RANK];

	set_zeros(ix, v->type.rank);
	return at(p, v, ix);
}

static void fill(struct printer *p, const struct value *to, const struct value *from)
{
	uint32_t mark = p->once.len;

	if (held(p, to)->where == MEMORY) {
		copy(p, to, from);
		return;
	}
	line(p, "%s = %s;", held(p, to)->name, only_element(p, from));
	p->once.len = mark;
}

/* --- If --- */

void if_put(struct printer *p, const struct node *n)
{
	const struct block *branch[2] = {block_of(n, "then_branch"), block_of(n, "else_branch")};
	const char *none[1] = {"0"}, *cond = at(p, n->in[0], none);

	for (uint32_t i = 0; i < n->nout; i++)
		if (known_lengths(p, n->out[i]))
			make_place(p, n->out[i], NULL, "0");
	/* lengths that only the branches know */
	const char ***sizes = new_array(p->cx->arena, const char **, n->nout + 1u);
	for (uint32_t i = 0; i < n->nout; i++) {
		const struct value *v = n->out[i];
		if (known_lengths(p, v))
			continue;
		sizes[i] = new_array(p->cx->arena, const char *, v->type.rank + 1u);
		for (uint32_t k = 0; k < v->type.rank; k++) {
			sizes[i][k] = fresh(p, "n");
			line(p, "int64_t %s = 0;", sizes[i][k]);
		}
		held(p, v)->name = fresh_for(p, v, "a");
		line(p, "%s *%s = NULL;", memory_type(v->type.dtype), held(p, v)->name);
	}
	for (int b = 0; b < 2; b++) {
		line(p, b ? "} else {" : "if (%s) {", cond);
		p->indent++;
		struct entered s = enter(p);
		print_block(p, branch[b]);
		for (uint32_t i = 0; i < n->nout; i++) {
			const struct value *r = branch[b]->results.at[i], *v = n->out[i];
			struct held *h = held(p, v);
			p->at = n;
			p->statement++;
			if (sizes[i]) {
				h->dims = new_array(p->cx->arena, const char *, v->type.rank + 1u);
				for (uint32_t k = 0; k < v->type.rank; k++) {
					line(p, "%s = %s;", sizes[i][k], length(p, r, k));
					h->dims[k] = sizes[i][k];
				}
				h->start = false;
				h->result = false;
				make_room_at_top(p, v, h->name, h->name);
			}
			fill(p, v, r);
		}
		leave(p, &s, false);
		p->indent--;
	}
	line(p, "}");
	for (uint32_t i = 0; i < n->nout; i++)
		if (sizes[i])
			set_lengths(p, n->out[i], sizes[i]);
}

/* --- Loop and Scan --- */

/* What a block carries from step to step lies in a place that the first value fills. */
static void make_state(struct printer *p, const struct value *param, const struct value *init)
{
	const char *known[MAX_RANK];
	bool number = is_single(p->cx, &param->type) && !held(p, param)->stored;
	uint32_t mark = p->once.len;

	for (uint32_t k = 0; k < param->type.rank; k++)
		known[k] = length(p, init, k);
	make_place(p, param, known, number ? only_element(p, init) : NULL);
	p->once.len = mark;
	if (!number)
		copy(p, param, init);
}

/* v is the next value of a state that is an array. Must v be in an array of its own before the
 * states get their next values? So it must if it is a formula, which may read states, and if it
 * lies in the array of a state. */
static bool needs_array(struct printer *p, const struct value *v, const struct block *body)
{
	const struct held *h = held(p, v);

	if (v->data || h->where != MEMORY)
		return h->where == FORMULA || h->where == SLICE || h->where == NUMBER;
	for (uint32_t i = 0; i < body->params.len; i++)
		if (held(p, body->params.at[i])->where == MEMORY &&
		    !strcmp(held(p, body->params.at[i])->name, h->name))
			return true;
	return false;
}

/* Can `text` be read when other states have their next values already? */
static bool stays(struct printer *p, const struct growth *g, const char *text)
{
	for (uint32_t i = 0; i < g->nstates; i++) {
		const char *name = held(p, g->body->params.at[g->params + i])->name;
		if (name && !strcmp(name, text))
			return false;
	}
	return !text[strspn(text, NAME_CHARS ".")];
}

/* The next value of state i, a number: `text`, or a variable that is it */
static const char *next_number(struct printer *p, const struct growth *g, uint32_t i,
			       const char *text)
{
	const struct value *s = g->body->params.at[g->params + i],
			   *r = g->body->results.at[g->results + i];

	if (g->nstates == 1 || stays(p, g, text))
		return text;
	const char *name = fresh(p, textf(p, "%s_next", held(p, s)->name));
	show_line(p, r->def);
	line(p, "const %s %s = %s;", number_type(s->type.dtype), name, text);
	return name;
}

/* The next values of all states: each is complete before the first is overwritten. */
static void next_states(struct printer *p, const struct growth *g)
{
	const struct block *body = g->body;
	uint32_t params = g->params, results = g->results, count = g->nstates;
	const char **now = new_array(p->cx->arena, const char *, count + 1u);
	const char *ix[MAX_RANK];

	set_zeros(ix, MAX_RANK);
	for (uint32_t i = 0; i < count; i++) {
		const struct value *s = body->params.at[params + i],
				   *r = body->results.at[results + i];
		struct held *h = held(p, s);
		p->statement++;
		if (r == s || g->states[i].open)
			continue;
		for (uint32_t k = 0; k < s->type.rank; k++)
			if (!dim_eq(p->cx, s->type.dims[k], r->type.dims[k]))
				must_equal(p, length(p, r, k), h->dims[k],
					   "what a loop carries must keep its lengths");
		if (h->where == NUMBER) {
			now[i] = next_number(p, g, i, at(p, r, ix));
		} else if (needs_array(p, r, body)) {
			struct held old = *h; /* into an array of its own, of the same type */
			const char *name = fresh(p, "next");
			h->result = false;
			make_room(p, s, textf(p, "%s *const %s", memory_type(s->type.dtype), name),
				  name);
			struct held temporary = *h;
			*h = old;
			uint32_t mark = p->once.len;
			uint32_t loops = open_loops(p, h->dims, s->type.rank, ix);
			const char *e = at(p, r, ix);
			line(p, "%s[%s] = %s;", name, linear(p, h->dims, s->type.rank, ix),
			     to_store(p, s->type.dtype, e));
			close_loops(p, loops);
			p->once.len = mark;
			if (temporary.buffer)
				p->buffers.at[temporary.buffer - 1].to = p->statement + 2 * count;
			now[i] = name;
			set_zeros(ix, MAX_RANK);
		} else {
			(void)at(p, r, ix);
			now[i] = held(p, r)->name;
			if (r->data)
				now[i] = is_uniform(r->data) ? NULL : constant_array(p, r);
		}
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct value *s = body->params.at[params + i],
				   *r = body->results.at[results + i];
		const struct held *h = held(p, s);
		p->statement++;
		if (r == s || g->states[i].open)
			continue;
		if (h->where == NUMBER) {
			if (strcmp(h->name, now[i]))
				line(p, "%s = %s;", h->name, now[i]);
			continue;
		}
		if (r->data && !now[i]) {
			copy(p, s, r);
			continue;
		}
		if (held(p, r)->where == MEMORY && held(p, r)->buffer)
			p->buffers.at[held(p, r)->buffer - 1].to = p->statement;
		const char *all[1] = {count_of(p, s)};
		uint32_t loops = open_loops(p, all, 1, ix);
		line(p, "%s[%s] = %s[%s];", h->name, ix[0], now[i], ix[0]);
		close_loops(p, loops);
		if (h->buffer)
			p->buffers.at[h->buffer - 1].to = p->statement;
		set_zeros(ix, MAX_RANK);
	}
}

/* An array for what each of `steps` steps adds to */
static void make_stack(struct printer *p, const struct value *v, const struct value *row,
		       const char *steps)
{
	const char *known[MAX_RANK];

	for (uint32_t k = 0; k < v->type.rank; k++)
		known[k] = k ? dim_text(p, row->type.dims[k - 1], false, NULL) : steps;
	set_lengths(p, v, known);
	make_array(p, v);
}

static void put_row(struct printer *p, const struct value *v, const struct value *row,
		    const char *step)
{
	const char *ix[MAX_RANK], *dims[MAX_RANK];
	uint32_t mark = p->once.len, rank = row->type.rank;
	const struct held *h = held(p, v);

	p->statement++;
	for (uint32_t k = 0; k < rank; k++)
		dims[k] = h->dims[k + 1];
	ix[0] = step;
	for (uint32_t k = 0; k < rank; k++)
		if (!row->data && held(p, row)->dims && strcmp(held(p, row)->dims[k], dims[k]) &&
		    !dim_eq(p->cx, row->type.dims[k], v->type.dims[k + 1]))
			must_equal(p, held(p, row)->dims[k], dims[k],
				   "rows of what a loop stacks must be equally long");
	uint32_t loops = open_loops(p, dims, rank, ix + 1);
	const char *s = to_store(p, row->type.dtype, at(p, row, ix + 1));
	line(p, "%s[%s] = %s;", h->name, linear(p, h->dims, v->type.rank, ix), s);
	close_loops(p, loops);
	p->once.len = mark;
	if (h->buffer)
		p->buffers.at[h->buffer - 1].to = p->statement;
}

/* The final states are results of the node: the places that the steps have filled. */
static void give_states(struct printer *p, const struct node *n, const struct block *body,
			uint32_t params, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct held *s = held(p, body->params.at[params + i]);
		struct held *h = held(p, n->out[i]);
		const char *known[MAX_RANK];
		for (uint32_t k = 0; k < n->out[i]->type.rank; k++)
			known[k] = s->dims[k];
		set_lengths(p, n->out[i], known);
		h->where = s->where;
		h->name = s->name;
		h->buffer = s->buffer;
		h->result = false;
	}
}

/* Ends the loop of a step, whose text begins at `before`, and the scope s around it. `top` is what
 * the room in use is called, `dynamic`: there is such room outside the loop, too. */
static void end_step(struct printer *p, struct entered *s, const struct growth *g, size_t before,
		     const char *top, bool dynamic)
{
	if (p->dynamic && !g->open) { /* what a step has made is gone with it */
		const char *text = textf(p, "%s", p->out.s + before);
		p->out.len = before;
		p->out.s[before] = 0;
		line(p, "const size_t %s = top;", top);
		sb_str(&p->out, text);
		line(p, "top = %s;", top);
	}
	p->dynamic |= dynamic;
	p->indent--;
	line(p, "}");
	leave(p, s, true);
	forget_lengths_of_steps(p, g);
}

/* Places for what a loop carries and stacks: those whose lengths are known first */
static void make_carried(struct printer *p, struct growth *g)
{
	find_growing_states(p, g);
	for (uint32_t i = 0; i < g->nstates; i++)
		if (!g->states[i].open)
			make_state(p, g->states[i].v, g->n->in[g->first + i]);
	find_growing_stacks(p, g);
	for (uint32_t i = 0; i < g->nstacks; i++)
		if (!g->stacks[i].open)
			make_stack(p, g->stacks[i].v, g->stacks[i].next, g->most);
	begin_growth(p, g);
}

void loop_put(struct printer *p, const struct node *n)
{
	const struct block *body = block_of(n, "body");
	uint32_t states = n->nin - 2u, stacks = n->nout - states;
	const struct value *step = body->params.at[0], *go = body->params.at[1];
	const struct value *on = body->results.at[0];
	const char *none[1] = {"0"}, *most = n->in[0] ? element(p, n->in[0], 0) : "INT64_MAX";
	int64_t limit;
	bool ends = true, unbounded = !strcmp(most, "INT64_MAX") ||
				      (is_number_text(most, &limit) && limit == INT64_MAX);

	/* the body's condition: a constant, or an Identity of the one before */
	const struct value *from = on;
	while (from->def && from->def->onnx->id == ONNX_Identity)
		from = from->def->in[0];
	if ((!n->in[1] || is_true(n->in[1])) && (from == go || is_true(from)))
		ends = false;
	const char *steps = fresh(p, "steps"), *i = fresh(p, "step");
	dim count = n->in[0] ? known_at(p->cx, n->in[0], 0) : DIM_NONE;
	if (!unbounded && count != DIM_NONE && dim_ge(p->cx, count, 0))
		line(p, "const int64_t %s = %s;", steps, most);
	else if (!unbounded)
		line(p, "const int64_t %s = ptgc_max_i64(%s, 0);", steps, most);
	struct growth g = {.n = n,
			   .body = body,
			   .first = 2,
			   .params = 2,
			   .results = 1,
			   .nstates = states,
			   .nstacks = stacks,
			   .most = steps,
			   .early = ends || unbounded};
	make_carried(p, &g);
	struct held *h = held(p, step);
	set_lengths(p, step, NULL);
	h->where = NUMBER;
	h->name = i;
	h->below = count;
	h = held(p, go);
	set_lengths(p, go, NULL);
	h->where = NUMBER;
	h->name = "true";
	if (ends) {
		h->name = fresh(p, "go");
		line(p, "bool %s = %s;", h->name, n->in[1] ? at(p, n->in[1], none) : "true");
	}
	struct entered s = enter(p);
	line(p, "for (int64_t %s = 0; %s%s%s%s%s; ++%s) {", i, unbounded ? "" : i,
	     unbounded ? "" : " < ", unbounded ? "" : steps, ends && !unbounded ? " && " : "",
	     ends ? h->name : "", i);
	p->indent++;
	const char *top = fresh(p, "top");
	size_t before = p->out.len;
	bool dynamic = p->dynamic;
	p->dynamic = false;
	print_block(p, body);
	p->at = n;
	for (uint32_t k = 0; k < stacks; k++)
		if (!g.stacks[k].open)
			put_row(p, n->out[states + k], body->results.at[1 + states + k], i);
	const char *next = NULL;
	if (ends) {
		next = fresh(p, "go");
		line(p, "const bool %s = %s;", next, at(p, on, none));
	}
	keep_growth(p, &g);
	next_states(p, &g);
	next_growth(p, &g);
	if (ends)
		line(p, "%s = %s;", h->name, next);
	end_step(p, &s, &g, before, top, dynamic);
	give_states(p, n, body, 2, states);
	give_stacks(p, &g);
}

void scan_put(struct printer *p, const struct node *n)
{
	const struct block *body = block_of(n, "body");
	uint32_t rows = (uint32_t)int_of_attr(n, "num_scan_inputs", 0), states = n->nin - rows;
	uint32_t stacks = n->nout - states, count;
	const int64_t *back = ints_of_attr(n, "scan_input_directions", &count);
	const int64_t *axes = ints_of_attr(n, "scan_input_axes", &count);
	const int64_t *out_back = ints_of_attr(n, "scan_output_directions", &count);
	const int64_t *out_axes = ints_of_attr(n, "scan_output_axes", &count);
	const char *steps = NULL, *i = fresh(p, "step");

	for (uint32_t k = 0; k < stacks; k++)
		if (out_axes && out_axes[k] != 0)
			cannot(p, n, "stacks along the first axis only");
	for (uint32_t k = 0; k < rows; k++) {
		const struct value *x = n->in[states + k];
		int64_t axis = from_front(axes ? axes[k] : 0, x->type.rank);
		const char *len = length(p, x, (uint32_t)axis);
		if (steps)
			must_equal(p, len, steps, "lengths do not fit");
		steps = steps ? steps : len;
		struct held *h = held(p, body->params.at[states + k]);
		const char *known[MAX_RANK];
		for (uint32_t j = 0, m = 0; j < x->type.rank; j++)
			if (j != axis)
				known[m++] = length(p, x, j);
		set_lengths(p, body->params.at[states + k], known);
		h->where = SLICE;
		h->of = n->in[states + k];
		h->axis = (uint32_t)axis;
		h->index = back && back[k] ? textf(p, "%s - 1 - %s", in_parens(p, len), i) : i;
	}
	struct growth g = {
		.n = n, .body = body, .nstates = states, .nstacks = stacks, .most = steps};
	make_carried(p, &g);
	for (uint32_t k = 0; k < stacks; k++)
		if (g.stacks[k].open && out_back && out_back[k])
			cannot(p, n, "stacks rows of open length from the last step to the first");
	struct entered s = enter(p);
	line(p, "for (int64_t %s = 0; %s < %s; ++%s) {", i, i, in_parens(p, steps), i);
	p->indent++;
	const char *top = fresh(p, "top");
	size_t before = p->out.len;
	bool dynamic = p->dynamic;
	p->dynamic = false;
	for (uint32_t k = 0; k < rows; k++) { /* who needs an array gets one */
		struct value *row = body->params.at[states + k];
		if (held(p, row)->stored && row->type.rank) {
			struct held as = *held(p, row);
			make_array(p, row);
			struct held now = *held(p, row);
			uint32_t mark = p->once.len;
			const char *ix[MAX_RANK];
			uint32_t loops = open_loops(p, now.dims, row->type.rank, ix);
			*held(p, row) = as;
			const char *e = at(p, row, ix);
			*held(p, row) = now;
			line(p, "%s[%s] = %s;", now.name, linear(p, now.dims, row->type.rank, ix),
			     to_store(p, row->type.dtype, e));
			close_loops(p, loops);
			p->once.len = mark;
		}
	}
	print_block(p, body);
	p->at = n;
	for (uint32_t k = 0; k < stacks; k++)
		if (!g.stacks[k].open)
			put_row(p, n->out[states + k], body->results.at[states + k],
				out_back && out_back[k]
					? textf(p, "%s - 1 - %s", in_parens(p, steps), i)
					: i);
	keep_growth(p, &g);
	next_states(p, &g);
	next_growth(p, &g);
	end_step(p, &s, &g, before, top, dynamic);
	give_states(p, n, body, 0, states);
	give_stacks(p, &g);
}
