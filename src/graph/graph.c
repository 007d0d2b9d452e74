/* graph.c: makes values and nodes, and puts nodes into blocks. */
#include <string.h>

#include "graph/graph.h"

static struct value *new_value(struct ctx *cx, struct arena *a, struct type t, struct span s)
{
	struct value *v = new (a, struct value);

	if (cx->next_id == MAX_VALUES)
		longjmp(cx->oom, 1);
	v->type = t;
	v->span = s;
	v->id = cx->next_id++;
	return v;
}

struct value *graph_value(struct ctx *cx, struct type t, struct span s)
{
	return new_value(cx, cx->arena, t, s);
}

struct value *graph_constant(struct ctx *cx, const struct tensor *x, struct span s)
{
	struct type t = {x->dtype, x->rank, new_array(cx->arena, dim, x->rank + 1u)};

	for (int i = 0; i < x->rank; i++)
		t.dims[i] = dim_const(cx, x->shape[i]);
	struct value *v = graph_value(cx, t, s);
	v->data = x;
	return v;
}

struct value *graph_number(struct ctx *cx, enum dtype t, double k, struct span s)
{
	return graph_constant(cx, tensor_filled(cx, t, 0, NULL, k), s);
}

struct value *graph_ints(struct ctx *cx, const int64_t *v, uint32_t n, struct span s)
{
	return graph_constant(cx, tensor_ints(cx, v, n), s);
}

bool is_full_of(const struct value *v, double k, uint64_t most)
{
	const struct tensor *t = constant_data(v);

	return t && t->count && all_are(t, k, most);
}

bool is_true(const struct value *v)
{
	int64_t yes;

	return v && single_int(v->data, &yes) && yes;
}

bool is_single(struct ctx *cx, const struct type *t)
{
	return dims_are_ones(cx, t->dims, t->rank);
}

bool may_be_empty(struct ctx *cx, const struct type *t)
{
	return dims_may_be_0(cx, t->dims, t->rank, t->rank);
}

bool count_along(struct ctx *cx, const struct type *t, const int *axes, int n, int64_t *count)
{
	int64_t k;

	*count = 1;
	for (int i = 0; i < n; i++)
		if (!dim_is_const(cx, t->dims[axes[i]], &k) ||
		    __builtin_mul_overflow(*count, k, count))
			return false;
	return true;
}

double expected_elements(struct ctx *cx, const struct type *t, int64_t otherwise)
{
	double n = 1;

	for (uint32_t i = 0; i < t->rank; i++)
		n *= (double)dim_expected(cx, t->dims[i], otherwise);
	return n;
}

bool broadcasts_to(struct ctx *cx, const struct type *from, const struct type *to)
{
	if (from->rank > to->rank)
		return false;
	for (uint32_t i = 0; i < from->rank; i++) {
		dim d = from->dims[i];
		if (!dim_is(cx, d, 1) && !dim_eq(cx, d, to->dims[to->rank - from->rank + i]))
			return false;
	}
	return true;
}

bool is_needed(const bool *needed, const struct node *n)
{
	for (uint32_t i = 0; i < n->nout; i++)
		if (needed[n->out[i]->id])
			return true;
	return !n->nout;
}

bool has_checks(const struct block *k)
{
	for (struct walk w = {.root = k}; walk(&w, WALK_ENTER);)
		if (w.at.block->checks.len)
			return true;
	return false;
}

struct node *node_new(struct ctx *cx, const struct op *op, struct span s)
{
	struct node *n = new (cx->typed, struct node);

	n->op = op;
	n->span = s;
	n->in_typed_arena = true;
	return n;
}

void node_inputs(struct ctx *cx, struct node *n, struct value **in, uint32_t nin)
{
	n->nin = (uint16_t)nin;
	n->in = new_array(cx->typed, struct value *, nin ? nin : 1);
	if (nin)
		memcpy(n->in, in, nin * sizeof(*in));
}

void node_results(struct ctx *cx, struct node *n, uint32_t count)
{
	if (count > UINT16_MAX) {
		error(cx, n->span, E_LIMIT, "%u results: at most %d are possible", count,
		      UINT16_MAX);
		stop(cx);
	}
	n->nout = (uint16_t)count;
	n->out = new_array(cx->typed, struct value *, count ? count : 1);
	for (uint32_t i = 0; i < count; i++) {
		n->out[i] = new_value(cx, cx->typed, (struct type){0}, n->span);
		n->out[i]->def = n;
	}
}

const struct attr *find_attr(const struct node *n, const char *name)
{
	for (uint32_t i = 0; i < n->nattrs; i++)
		if (!strcmp(n->attrs[i].name, name))
			return &n->attrs[i];
	return NULL;
}

int64_t int_of_attr(const struct node *n, const char *name, int64_t otherwise)
{
	const struct attr *a = find_attr(n, name);

	return a ? a->u.i : otherwise;
}

const int64_t *ints_of_attr(const struct node *n, const char *name, uint32_t *count)
{
	const struct attr *a = find_attr(n, name);

	*count = a ? a->n : 0;
	return a ? a->u.ints : NULL;
}

void graph_append(struct block *b, struct node *n)
{
	if (b->last)
		b->last->next = n;
	else
		b->first = n;
	b->last = n;
	b->nnodes++;
}

void graph_append_all(struct block *b, struct block *from)
{
	struct node *last = from->last;
	uint32_t more = from->nnodes;

	if (!last)
		return;
	if (b->last)
		b->last->next = from->first;
	else
		b->first = from->first;
	take_nodes(from);
	b->last = last;
	b->nnodes += more;
}

struct node *take_nodes(struct block *b)
{
	struct node *first = b->first;

	b->first = b->last = NULL;
	b->nnodes = 0;
	return first;
}

struct node *next_taken(struct node **nodes)
{
	struct node *n = *nodes;

	if (n) {
		*nodes = n->next;
		n->next = NULL;
	}
	return n;
}

/* v, and of its node the op and the place, which messages name */
static struct value *keep(struct ctx *cx, const struct value *v)
{
	struct value *copy = new (cx->arena, struct value);
	struct node *def = new (cx->arena, struct node);

	*def = *v->def;
	def->nin = def->nout = 0;
	def->in = def->out = NULL;
	def->next = NULL;
	*copy = *v;
	copy->def = def;
	return copy;
}

/* What the checks of lengths and their messages ask of later: values that dims come from */
static void keep_sources(struct ctx *cx)
{
	struct value **kept = NULL, **source;

	for (uint32_t i = 0; (source = dim_next_source(cx, &i));) {
		const struct value *v = *source;
		if (!v->def || !v->def->in_typed_arena)
			continue;
		if (!kept)
			kept = new_array(cx->scratch, struct value *, cx->next_id);
		if (!kept[v->id])
			kept[v->id] = keep(cx, v);
		*source = kept[v->id];
	}
}

void drop_typed(struct ctx *cx)
{
	keep_sources(cx);
	arena_empty(cx->typed);
}

bool is_poisoned(const struct node *n)
{
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && !n->in[i]->type.dtype)
			return true;
	for (uint32_t i = 0; i < n->nout; i++)
		if (!n->out[i]->type.dtype)
			return true;
	return !n->nout; /* how many results it has is not known either */
}
