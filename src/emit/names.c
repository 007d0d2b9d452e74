/*
 * names.c: what the values of an ONNX graph are called in the model, their types with dims as
 * numbers or names, and the constants that the graph uses.
 * In: an ONNX graph. Out: struct onnx_model.
 * Holds: names are unique in the whole model. Inputs and outputs have exactly the user's names; any
 * other value keeps its name if the name is free. Different sizes have different dim names, as ONNX
 * Runtime shares memory between values of equal dims. Sizes without a name get one, except in the
 * types of inputs and outputs: ONNX Runtime plans memory by comparing dims, and needs time that
 * grows with the square of the model if no two dims are known to be equal.
 */
#include <stdio.h>
#include <string.h>

#include "emit/internal.h"
#include "ops/ops.h"

struct map { /* open addressing; key 0 is free */
	uint64_t *keys;
	uint32_t *vals;
	uint32_t len, cap;
};

struct namer {
	struct onnx_model *m;
	struct ctx *cx;
	struct map dims;      /* dim -> index in dimtab */
	struct map dim_names; /* struct sym * -> index in dimtab */
	struct map made; /* canonical dim -> index in dimtab of the first that got a made-up name */
	struct map types; /* hash of a type -> its index + 1 */
	bool *taken;      /* by number of a name: has a value the name? */
	vec(struct onnx_dim) dimtab;
	vec(dim) dim_of; /* canonical dim of each of dimtab */
	uint32_t ndims;  /* names of dims made so far */
	struct type last;
	uint32_t last_type;
};

static uint64_t mix(uint64_t h)
{
	h *= 0x9e3779b97f4a7c15;
	return h ^ h >> 32;
}

static uint32_t *map_slot(struct map *m, uint64_t key)
{
	uint32_t i = (uint32_t)mix(key) & (m->cap - 1);
	while (m->keys[i] && m->keys[i] != key)
		i = (i + 1) & (m->cap - 1);
	if (!m->keys[i]) {
		m->keys[i] = key;
		m->len++;
	}
	return &m->vals[i];
}

/* The value of `key`; a new one is 0. */
static uint32_t *map_at(struct ctx *cx, struct map *m, uint64_t key)
{
	if (2 * (m->len + 1) >= m->cap) {
		struct map old = *m;
		m->cap = old.cap ? old.cap * 2 : 256;
		m->len = 0;
		m->keys = new_array(cx->arena, uint64_t, m->cap);
		m->vals = new_array(cx->arena, uint32_t, m->cap);
		for (uint32_t i = 0; i < old.cap; i++)
			if (old.keys[i])
				*map_slot(m, old.keys[i]) = old.vals[i];
	}
	return map_slot(m, key);
}

/* Gives the dim this name. false: the name belongs to another size. */
static bool name_dim(struct namer *n, uint32_t at, const char *s)
{
	struct sym *sym = intern_str(n->cx, s);
	uint32_t *owner = map_at(n->cx, &n->dim_names, (uint64_t)(uintptr_t)sym);

	if (*owner && n->dim_of.at[*owner - 1] != n->dim_of.at[at])
		return false;
	*owner = at + 1;
	n->dimtab.at[at].name = (struct astr){sym->s, sym->len};
	return true;
}

/* Has an equal dim with another number got a name before? */
static bool named_before(struct namer *n, uint32_t at)
{
	uint32_t *first = map_at(n->cx, &n->made, (uint64_t)n->dim_of.at[at] + 1);

	if (*first)
		n->dimtab.at[at].name = n->dimtab.at[*first - 1].name;
	else
		*first = at + 1;
	return *first != at + 1;
}

/* Describes a dim: by a number, by its own name, or by a name that is made up. */
static void describe_dim(struct namer *n, dim d, uint32_t at)
{
	struct onnx_dim *o = &n->dimtab.at[at];
	char made[16];

	o->known = dim_is_const(n->cx, d, &o->value);
	if (o->known)
		return;
	const char *s = dim_str(n->cx, d);
	if (!strchr(s, '?') && name_dim(n, at, s))
		return;
	o->made = true;
	if (named_before(n, at))
		return;
	do
		snprintf(made, sizeof(made), "_%u", ++n->ndims);
	while (!name_dim(n, at, made));
}

static struct onnx_dim dim_of(struct namer *n, dim made)
{
	uint32_t *at = map_at(n->cx, &n->dims, (uint64_t)made + 1);
	if (!*at) {
		dim d = dim_find(n->cx, made);
		(void)vec_push(n->cx->arena, &n->dimtab);
		*vec_push(n->cx->arena, &n->dim_of) = d;
		*at = n->dimtab.len;
		describe_dim(n, d, n->dimtab.len - 1);
	}
	return n->dimtab.at[*at - 1];
}

static uint32_t add_type(struct namer *n, struct type t)
{
	struct onnx_type *o = vec_push(n->cx->arena, &n->m->types);
	uint32_t index = n->m->types.len - 1;
	struct onnx_dim *at = new_array(n->cx->arena, struct onnx_dim, t.rank + 1u);
	*o = (struct onnx_type){.dtype = t.dtype, .rank = t.rank, .dims = t.dims, .at = at};
	for (uint32_t i = 0; i < t.rank; i++)
		at[i] = dim_of(n, t.dims[i]);
	return index;
}

static bool is_of_type(const struct onnx_type *a, struct type b)
{
	return a->dtype == b.dtype && a->rank == b.rank &&
	       (!b.rank || a->dims == b.dims || !memcmp(a->dims, b.dims, b.rank * sizeof(dim)));
}

static uint32_t type_number(struct namer *n, struct type t)
{
	uint64_t h = t.dtype * 64u + t.rank + 1;
	if (n->m->types.len && t.dtype == n->last.dtype && t.rank == n->last.rank &&
	    t.dims == n->last.dims)
		return n->last_type;
	for (uint32_t i = 0; i < t.rank; i++)
		h = mix(h + t.dims[i]) + i;
	for (;; h++) { /* types whose hashes are equal stand at the next keys */
		uint32_t *at = map_at(n->cx, &n->types, h ? h : 1);
		if (!*at)
			*at = add_type(n, t) + 1;
		else if (!is_of_type(&n->m->types.at[*at - 1], t))
			continue;
		n->last = t;
		return n->last_type = *at - 1;
	}
}

/* Enters a value: its number, its name if that is free, its type, its data if it is constant. */
static struct onnx_value *claim(struct namer *n, const struct value *v)
{
	struct onnx_model *m = n->m;
	struct onnx_value *o;
	if (v->id >= m->nids)
		bug("emit: value %u of %u", v->id, m->nids);
	if (m->index[v->id])
		return &m->values.at[m->index[v->id]];
	o = vec_push(n->cx->arena, &m->values);
	m->index[v->id] = m->values.len - 1;
	o->type = type_number(n, v->type);
	if (v->name && !n->taken[v->name->number]) {
		n->taken[v->name->number] = true;
		o->name = (struct astr){v->name->s, v->name->len};
	}
	if (v->data && !v->def)
		*vec_push(n->cx->arena, &m->inits) = (struct onnx_init){v, v->data};
	return o;
}

static void import(struct namer *n, const struct onnx_op *op)
{
	struct onnx_model *m = n->m;
	if (!op->domain[0])
		return;
	for (uint32_t i = 0; i < m->imports.len; i++) {
		if (strcmp(m->imports.at[i].domain, op->domain))
			continue;
		if (m->imports.at[i].version < op->since)
			m->imports.at[i].version = op->since;
		return;
	}
	*vec_push(n->cx->arena, &m->imports) =
		(struct onnx_import){op->domain, op->since ? op->since : 1};
}

static void see_node(struct namer *n, const struct node *node)
{
	if (!node->onnx)
		bug("emit: %s is not an ONNX node", node->op ? node->op->name : "?");
	import(n, node->onnx);
	for (uint32_t i = 0; i < node->nin; i++)
		if (node->in[i])
			claim(n, node->in[i]);
	for (uint32_t i = 0; i < node->nout; i++)
		if (node->out[i])
			claim(n, node->out[i]);
}

/* All nodes in order, inner graphs after the node that holds them. */
static void name_values(struct namer *n, const struct block *main)
{
	const unsigned events = WALK_ENTER | WALK_BEFORE | WALK_LEAVE;
	uint32_t depth = 0;

	for (struct walk w = {.root = main}; walk(&w, events);) {
		const struct block *k = w.at.block;
		switch (w.event) {
		case WALK_ENTER:
			if (depth++ > MAX_GRAPH_DEPTH) {
				n->m->too_deep = k->position.node;
				return;
			}
			for (uint32_t i = 0; i < k->params.len; i++)
				claim(n, k->params.at[i])->input = true;
			break;
		case WALK_BEFORE:
			if (w.at.node->dead)
				walk_past(&w);
			else
				see_node(n, w.at.node);
			break;
		default:
			for (uint32_t i = 0; i < k->results.len; i++)
				claim(n, k->results.at[i])->output = true;
			depth--;
		}
	}
}

/* Enters an input of the main graph; a state may be in the list already. */
static void add_input(struct namer *n, const struct value *v)
{
	struct onnx_value *o = claim(n, v);
	if (!o->input)
		*vec_push(n->cx->arena, &n->m->inputs) = v;
	o->input = true;
}

static void add_output(struct namer *n, const struct value *v)
{
	struct onnx_value *o = claim(n, v);
	if (!o->output)
		*vec_push(n->cx->arena, &n->m->outputs) = v;
	o->output = true;
}

static void see_header(struct namer *n, const struct graph *g)
{
	for (uint32_t i = 0; i < g->block->params.len; i++)
		add_input(n, g->block->params.at[i]);
	for (uint32_t i = 0; i < g->states.len; i++)
		add_input(n, g->states.at[i].param);
	for (uint32_t i = 0; i < g->block->results.len; i++)
		add_output(n, g->block->results.at[i]);
	for (uint32_t i = 0; i < g->states.len; i++)
		if (g->states.at[i].next)
			add_output(n, g->states.at[i].next);
	for (uint32_t i = 0; i < g->states.len; i++) {
		const struct state *s = &g->states.at[i];
		if (!s->init || !s->init->data || n->cx->opt.state_inputs)
			continue;
		claim(n, s->param);
		*vec_push(n->cx->arena, &n->m->inits) = (struct onnx_init){s->param, s->init->data};
	}
}

static char *digits(char *p, uint32_t v)
{
	char buf[10];
	int n = 0;
	do
		buf[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*p++ = buf[--n];
	return p;
}

/* k of a name v___12 with k underscores; -1 for other names */
static int64_t generated_like(struct astr s)
{
	uint32_t k = 0, i;
	if (s.len < 2 || s.s[0] != 'v')
		return -1;
	while (1 + k < s.len && s.s[1 + k] == '_')
		k++;
	for (i = 1 + k; i < s.len && s.s[i] >= '0' && s.s[i] <= '9'; i++)
		;
	return i == s.len && i > 1 + k ? (int64_t)k : -1;
}

/* The smallest number of underscores that no name of the user's of this form has. */
static uint32_t underscores(const struct onnx_model *m)
{
	for (uint32_t base = 0;; base += 64) {
		uint64_t taken = 0;
		for (uint32_t i = 1; i < m->values.len; i++) {
			int64_t like = generated_like(m->values.at[i].name);
			if (like >= base && like < base + 64)
				taken |= (uint64_t)1 << (like - base);
		}
		if (~taken)
			return base + (uint32_t)__builtin_ctzll(~taken);
	}
}

/* Names values without a name v1, v2, ..., with underscores after the v if users' names need it. */
static void generate(struct namer *n)
{
	struct onnx_model *m = n->m;
	uint32_t number = 0, k = underscores(m);
	for (uint32_t i = 1; i < m->values.len; i++) {
		struct onnx_value *o = &m->values.at[i];
		if (o->name.s)
			continue;
		char *p = arena_alloc(n->cx->arena, k + 12);
		o->name.s = p;
		*p++ = 'v';
		memset(p, '_', k);
		o->name.len = (uint32_t)(digits(p + k, ++number) - o->name.s);
	}
}

/* The version that came with the opset, so that runtimes of its time take the model. They skip the
 * places of nodes (metadata_props), a field that came with version 10, as protobuf skips all fields
 * that it does not know. */
static int ir_version(int opset)
{
	static const uint8_t versions[] = {
#define ONNX_OPSET(opset, ir, ...) [opset - MIN_OPSET] = ir,
#include "base/opsets.def"
	};

	return versions[opset - MIN_OPSET];
}

struct onnx_model *onnx_model(struct ctx *cx, const struct graph *g)
{
	struct onnx_model *m = new (cx->arena, struct onnx_model);
	struct namer n = {.m = m, .cx = cx};

	n.taken = new_array(cx->arena, bool, name_count(cx) + 1u);
	m->cx = cx;
	m->graph = g;
	m->ir_version = ir_version(cx->opt.opset);
	m->nids = cx->next_id + 1;
	m->index = new_array(cx->arena, uint32_t, m->nids);
	m->values.len = 0;
	vec_push(cx->arena, &m->values)->name.s = ""; /* number 0: an omitted input or output */
	*vec_push(cx->arena, &m->imports) = (struct onnx_import){"", cx->opt.opset};
	see_header(&n, g);
	name_values(&n, g->block);
	generate(&n);
	return m;
}

const char *onnx_graph_name(const struct onnx_model *m)
{
	if (m->cx->opt.model_name)
		return m->cx->opt.model_name;
	return m->graph->name ? m->graph->name->s : "graph";
}

static bool find_line(struct ctx *cx, struct place_text *p, uint32_t at)
{
	struct place place = source_place(cx, at);
	p->source = place.source;
	if (!place.source)
		return false;
	p->line = place.line;
	p->begin = at - (place.col - 1);
	p->end = p->begin + place.len + 1;
	return true;
}

/* Nodes are packed from the last to the first: the line before is the likely one. */
static bool line_before(struct place_text *p, uint32_t at)
{
	uint32_t begin;
	if (!p->source || p->line < 2 || at >= p->begin)
		return false;
	begin = p->source->base + p->source->lines[p->line - 2];
	if (at < begin)
		return false;
	p->end = p->begin;
	p->begin = begin;
	p->line--;
	return true;
}

/* Adds "file.ptg:12:3"; false: it is nowhere in the user's text */
static bool add_place(struct ctx *cx, struct place_text *p, struct span s)
{
	if (s.begin >= s.end)
		return false;
	if (!p->source || s.begin < p->begin || s.begin >= p->end) {
		if (!line_before(p, s.begin) && !find_line(cx, p, s.begin))
			return false;
	}
	if (p->source->lib)
		return false;
	const char *base = base_name(p->source->name);
	size_t n = strlen(base);
	n = n < 256 ? n : 256;
	char *q = p->text + p->len;
	if (p->len)
		*q++ = ' ';
	memcpy(q, base, n);
	q += n;
	*q++ = ':';
	q = digits(q, p->line);
	*q++ = ':';
	q = digits(q, s.begin - p->begin + 1);
	p->len = (uint32_t)(q - p->text);
	return true;
}

/* "[2]": the third step of a 'for' */
static void add_step(struct place_text *p, uint32_t step)
{
	char *q = p->text + p->len;

	*q++ = '[';
	q = digits(q, step - 1);
	*q++ = ']';
	p->len = (uint32_t)(q - p->text);
}

/* Adds the places of the calls that led to the number `call`, from the outermost to this one */
static void add_calls(struct ctx *cx, struct place_text *p, uint32_t call)
{
	const struct fn_call *shown[MAX_PLACES - 1];
	uint32_t depth = call_of(cx, call)->depth, n = 0, half = MAX_PLACES / 2;

	for (uint32_t i = depth; i-- > 0; call = call_of(cx, call)->outer)
		if (depth < MAX_PLACES || i < half || i + half > depth)
			shown[n++] = call_of(cx, call);
	while (n-- > 0) {
		if (depth >= MAX_PLACES && n + 2 == half)
			memcpy(p->text + p->len, " ...", 4), p->len += 4;
		if (add_place(cx, p, shown[n]->at) && shown[n]->step)
			add_step(p, shown[n]->step);
	}
}

void onnx_place(struct ctx *cx, struct place_text *p, struct span s)
{
	uint32_t call;

	if (p->source && s.begin == p->span.begin && s.end == p->span.end)
		return;
	p->span = s;
	p->len = 0;
	if (cx->opt.strip)
		return;
	s = text_place(cx, s, &call);
	if (call)
		add_calls(cx, p, call);
	if (!add_place(cx, p, s))
		p->len = 0;
}
