/*
 * guard.c: run-time checks. In: the equations between dims that inference assumed. Out: nodes that
 * make the run fail where one does not hold. ONNX Runtime checks neither dim names nor PyTensor's
 * rule that only lengths known to be 1 are stretched.
 *
 * What only depends on inputs is checked at the start, all of it at once; the rest on the result of
 * the node that assumed it. An equation holds everywhere, so if that node is not used, or may not
 * run because it is in a loop or an if, the check is made around that or on a result of the graph;
 * where only the loop or the branch can compute it, on a result of these.
 *
 * An input of one open length, which another size says, needs no comparison: Reshape to that size
 * fails by itself, because the number of elements is another one. A MatMul or Gemm fails by itself
 * where the lengths that it adds along differ; if it turns out that no result needs it, the check
 * is made after all.
 */
#include <stdlib.h>
#include <string.h>

#include "lower/check/guard.h"

#define MAX_MADE 64 /* nodes of one node of the user: types of more are not looked at */

struct guard {
	dim a, b;
	struct span span;
	uint32_t order;
	bool done, product; /* product: the lengths along which a matrix product adds */
};

/* A guard reads a size or an element of a value; in a list for each value. */
struct reader {
	uint32_t guard, next;
};

/* What was checked on the way to a value. */
struct check_made {
	struct value *value;
	struct sides sides;
};

/* An equation that product n is to check, between inputs: it is what their types say. */
struct left_to {
	const struct node *n;
	struct sides sides;
};

/* Those of an inner block that is open. */
struct checks_made {
	vec(struct check_made) list;
};

struct guards {
	struct guard *at; /* sorted by place */
	uint32_t n, left;
	vec(struct reader) readers; /* number 0 ends a list */
	uint32_t *first;            /* by id of a typed value: the first of its readers */
	uint32_t nfirst;
	vec(struct check_made) made; /* in the block of the graph */
	const struct node **product; /* by id of an input: a product that it is a factor of */
	vec(struct left_to) left_to;
};

static int by_place(const void *x, const void *y)
{
	const struct guard *a = x, *b = y;

	if (a->span.begin != b->span.begin)
		return a->span.begin < b->span.begin ? -1 : 1;
	if (a->span.end != b->span.end)
		return a->span.end < b->span.end ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* The mask that d, as it was made, counts the hits of: of what picks by one mask, beside numbers
 * and slices of known lengths, that is the one size that only the result tells. */
static const struct value *counted_mask(struct build *b, dim d)
{
	struct dim_view v = dim_view_raw(b->cx, d);
	const struct node *n = v.form == DIM_ATOM && v.kind == SOURCE_SIZE ? v.source->def : NULL;
	const struct value *mask = NULL;
	uint32_t open = 0;

	if (!n || n->op != &op_table[OP_AdvancedSubtensor])
		return NULL;
	for (uint32_t i = 1; i < n->nin; i++)
		if (n->in[i]->type.rank && (mask || n->in[i]->type.dtype != DT_BOOL))
			return NULL;
		else if (n->in[i]->type.rank)
			mask = n->in[i];
	for (uint32_t i = 0; i < v.source->type.rank; i++) {
		struct dim_view own = dim_view_raw(b->cx, v.source->type.dims[i]);
		open += own.form == DIM_ATOM && own.source == v.source;
	}
	return open == 1 && mask && !mask->data ? mask : NULL;
}

/* x[m] and y[m] are equally long. */
static bool counts_the_same(struct build *b, const struct equation *e)
{
	const struct value *mask = counted_mask(b, e->a);

	return mask && mask == counted_mask(b, e->b);
}

/* What the numbers in a guard's dims are read from is a value that it reads. */
static void add_readers(struct build *b, struct guards *g, struct dim_walk *w, uint32_t guard)
{
	w->round++;
	*vec_push(b->cx->scratch, &w->todo) = g->at[guard].a;
	*vec_push(b->cx->scratch, &w->todo) = g->at[guard].b;
	for (dim d; (d = next_atom(b, w));) {
		struct value *source = dim_view_raw(b->cx, d).source;
		if (!source)
			continue;
		uint32_t *first = &g->first[source->id];
		*vec_push(b->cx->arena, &g->readers) = (struct reader){guard, *first};
		*first = g->readers.len - 1;
	}
}

void guards_init(struct build *b)
{
	const struct equation *e;
	uint32_t n = dim_equations(b->cx, &e), k = 0;
	struct guards *g = new (b->cx->arena, struct guards);
	struct dim_walk walk = {0};

	b->cse->shared->guards = g;
	if (!b->cx->opt.check_dims || b->target == PTGC_ONNX)
		return;
	g->at = new_array(b->cx->arena, struct guard, n + 1);
	for (uint32_t i = 0; i < n; i++)
		if (!counts_the_same(b, &e[i]))
			g->at[k++] = (struct guard){
				.a = e[i].a, .b = e[i].b, .span = e[i].span, .order = i};
	g->n = g->left = k;
	qsort(g->at, k, sizeof(*g->at), by_place);
	g->nfirst = k ? b->cx->next_id + 1 : 0;
	g->first = new_array(b->cx->arena, uint32_t, g->nfirst);
	(void)vec_push(b->cx->arena, &g->readers);
	for (uint32_t i = 0; i < k; i++)
		add_readers(b, g, &walk, i);
}

/* A vector of so many single numbers: it may be a shape elsewhere. */
static bool is_counted(const struct value *v)
{
	bool vector = v->type.rank == 1 && v->type.dtype == DT_INT64;

	for (uint32_t i = 0; vector && is_onnx(v->def, ONNX_Concat) && i < v->def->nin; i++)
		vector = v->def->in[i]->data || is_onnx(v->def->in[i]->def, ONNX_Unsqueeze);
	return vector && (is_onnx(v->def, ONNX_Concat) || is_onnx(v->def, ONNX_Unsqueeze) ||
			  is_onnx(v->def, ONNX_Shape));
}

static void loosen_axis(struct build *b, struct value *v, uint32_t axis)
{
	if (!v->def || axis >= v->type.rank || is_counted(v))
		return;
	dim *dims = new_array(b->cx->arena, dim, v->type.rank);
	memcpy(dims, v->type.dims, v->type.rank * sizeof(dim));
	dims[axis] = dim_fresh(b->cx, SOURCE_SIZE, v, axis);
	v->type.dims = dims;
}

/* Of all that the user's node of x was made of, what is typed as `d`: from one the runtime would
 * know the others. */
static void loosen_made(struct build *b, struct value *x, dim d)
{
	vec(struct value *) todo = {0};
	struct span s = x->def->span;

	*vec_push(b->cx->scratch, &todo) = x;
	for (uint32_t seen = 0; todo.len && seen < MAX_MADE; seen++) {
		x = todo.at[--todo.len];
		for (uint32_t i = 0; i < x->type.rank; i++)
			if (dim_eq(b->cx, x->type.dims[i], d))
				loosen_axis(b, x, i);
		for (uint32_t i = 0; i < x->def->nin; i++) {
			struct value *from = x->def->in[i];
			/* a vector of lengths keeps its own: that is a rank */
			if (from && from->def && !says_shape(x->def, i) &&
			    from->def->span.begin == s.begin && from->def->span.end == s.end)
				*vec_push(b->cx->scratch, &todo) = from;
		}
	}
}

/*
 * What a guard reads must not be said by the type that the guard is there to check: the runtime
 * would answer from that.
 */
static void loosen(struct build *b, dim d)
{
	struct dim_view v = dim_view_raw(b->cx, d);

	if (v.form != DIM_ATOM) {
		for (uint32_t i = 0; i < v.nterms; i++)
			loosen(b, v.term[i]);
		return;
	}
	struct value *x = v.source ? v.source->low : NULL;
	if (v.kind != SOURCE_SIZE || !x || !x->def)
		return;
	dim said = v.at < x->type.rank ? x->type.dims[v.at] : DIM_NONE;
	loosen_axis(b, x, v.at);
	x->uses = 1; /* an output keeps it so: see output() of lower.c */
	if (said)
		loosen_made(b, x, said);
}

/* Takes g: it is checked with the others in `to`. */
static void take(struct build *b, struct guard *g, struct sides *to)
{
	g->done = true;
	b->cse->shared->guards->left--;
	loosen(b, g->a);
	loosen(b, g->b);
	b->cse->shared->raw_dims = true;
	struct side x = computed_side(b, g->a, dim_vector(b, g->a));
	struct side y = computed_side(b, g->b, dim_vector(b, g->b));
	b->cse->shared->raw_dims = false;
	add_sides(b, to, x, y, g->span);
}

static bool computable(struct build *b, const struct guard *g)
{
	b->cse->shared->raw_dims = true;
	bool ok = dim_available(b, g->a) && dim_available(b, g->b);
	b->cse->shared->raw_dims = false;
	return ok;
}

/* In the block around this one? */
static bool computable_outside(struct build *b, const struct guard *g)
{
	struct cse *here = b->cse;
	struct block *block = b->block;

	if (!here->outer)
		return false;
	b->cse = here->outer;
	b->block = b->cse->block;
	bool ok = computable(b, g);
	b->cse = here;
	b->block = block;
	return ok;
}

static void move_sides(struct build *b, const struct sides *s, struct sides *to)
{
	for (uint32_t i = 0; i < s->x.len; i++) {
		*vec_push(b->cx->arena, &to->x) = s->x.at[i];
		*vec_push(b->cx->arena, &to->y) = s->y.at[i];
	}
}

static struct value *made(struct build *b, struct value *v, const struct sides *s)
{
	struct cse *c = b->cse;

	if (!c->outer) {
		*vec_push(b->cx->arena, &c->shared->guards->made) = (struct check_made){v, *s};
		return v;
	}
	if (!c->checks)
		c->checks = new (b->cx->arena, struct checks_made);
	*vec_push(b->cx->arena, &c->checks->list) = (struct check_made){v, *s};
	return v;
}

static struct value *guarded(struct build *b, struct value *v, const struct sides *s)
{
	return s->x.len ? made(b, guard_equal(b, v, s), s) : v;
}

/* Is the data of n's input i not needed? */
bool reads_size(const struct node *n, uint32_t i)
{
	return n->op == &op_table[OP_Shape] || n->op == &op_table[OP_Shape_i] ||
	       (i == 0 && (n->op == &op_table[OP_Second] || n->op == &op_table[OP_SetSubtensor]));
}

static bool all_known(const struct node *n)
{
	for (uint32_t i = 0; i < n->nout; i++)
		if (!n->out[i]->known)
			return false;
	return !n->blocks;
}

/* How often the data of values is read for a result of the graph (their sizes do not count). */
static void count_reads(struct ctx *cx, struct block *k)
{
	struct node **all = new_array(cx->arena, struct node *, k->nnodes + 1u);
	uint32_t len = 0;

	for (uint32_t i = 0; i < k->results.len; i++)
		k->results.at[i]->uses++;
	for (struct node *n = k->first; n; n = n->next)
		all[len++] = n;
	while (len-- > 0) {
		struct node *n = all[len];
		bool used = false;
		for (uint32_t i = 0; i < n->nout; i++)
			used |= n->out[i]->uses != 0;
		if (!used || all_known(n))
			continue;
		for (uint32_t i = 0; i < n->nin; i++)
			if (n->in[i] && !reads_size(n, i))
				n->in[i]->uses++;
		for (uint32_t i = 0; n->blocks && n->blocks[i]; i++)
			count_reads(cx, n->blocks[i]);
	}
}

/* A parameter that is used, which the check can go through: the last one of rank 1 and more. */
static struct value *carrier(struct block *k)
{
	struct value *scalar = NULL;

	for (uint32_t i = k->params.len; i-- > 0;) {
		struct value *p = k->params.at[i];
		if (p->uses && p->type.dtype && p->type.rank)
			return p;
		if (p->uses && p->type.dtype)
			scalar = p;
	}
	return scalar;
}

/* Does the type of an input say it already? Then ONNX Runtime checks it. */
static bool in_type(struct build *b, dim x, dim y)
{
	struct dim_view v = dim_view_raw(b->cx, x), w = dim_view_raw(b->cx, y);

	return (v.form == DIM_ATOM && v.kind == SOURCE_SIZE && w.form == DIM_CONST && v.source &&
		!v.source->def) ||
	       (w.form == DIM_ATOM && w.kind == SOURCE_SIZE && v.form == DIM_CONST && w.source &&
		!w.source->def);
}

/* Was a name of d computed from the length of axis j of p, so that d is that length for sure? */
static bool made_from(struct build *b, dim d, const struct value *p, uint32_t j)
{
	struct ctx *cx = b->cx;
	struct dim_view sum = dim_view_raw(cx, d);

	for (uint32_t k = 0; sum.form == DIM_SUM && k < sum.nterms; k++) {
		struct dim_view n = dim_view_raw(cx, sum.term[k]);
		if (n.form != DIM_ATOM || n.kind != SOURCE_VALUE || !n.source->def ||
		    n.source->def->op != &op_dim)
			continue;
		dim c = dim_const(cx, sum.coef[k]);
		dim others = dim_sub(cx, d, dim_mul(cx, c, sum.term[k]));
		dim is = dim_add(cx, others, dim_mul(cx, c, n.source->def->props[0].u.d));
		struct dim_view v = dim_view_raw(cx, is);
		if (v.form == DIM_ATOM && v.kind == SOURCE_SIZE && v.source == p && v.at == j)
			return true;
	}
	return false;
}

/* Axis j of input p, if its length is said by something else. */
static void param_axis(struct build *b, struct value *p, uint32_t j, struct sides *to)
{
	struct guards *g = b->cse->shared->guards;
	dim d = p->type.dims[j];
	struct dim_view v = dim_view_raw(b->cx, d);
	struct sides one = {{0}, {0}};
	int64_t c;

	if (dim_is_const(b->cx, d, &c) || !dim_available(b, d) ||
	    (v.form == DIM_ATOM && v.kind == SOURCE_SIZE && v.source == p && v.at == j) ||
	    made_from(b, d, p, j))
		return;
	b->cse->shared->raw_dims = true;
	if (dim_available(b, d)) {
		struct side x = {.of = p->low, .from = p, .axis = j};
		struct side y = computed_side(b, d, dim_vector(b, d));
		x.v = shape_slice(b, p->low, (int)j, (int)j + 1);
		x.text = arena_printf(b->cx->arena, "axis %u of %s", j,
				      p->name ? p->name->s : "an input");
		add_sides(b, &one, x, y, p->span);
	}
	b->cse->shared->raw_dims = false;
	const struct node *n = g->product ? g->product[p->id] : NULL;
	if (one.x.len && n && is_inner_length(b, n, d))
		*vec_push(b->cx->arena, &g->left_to) = (struct left_to){n, one};
	else
		move_sides(b, &one, to);
}

/* Is s an axis of a parameter whose data is used, and the only one that is open? */
static bool is_open_param(struct build *b, struct block *k, const struct side *s, bool vector)
{
	struct value *p = s->from;
	struct type t = p ? p->type : (struct type){0};
	uint32_t i = 0;

	while (i < k->params.len && k->params.at[i] != p)
		i++;
	if (i == k->params.len || !p->uses || !p->type.dtype || (vector && t.rank > 1))
		return false;
	for (uint32_t j = 0; j < t.rank; j++) {
		int64_t c = 0;
		if (j != s->axis && (!dim_is_const(b->cx, t.dims[j], &c) || c < 1))
			return false;
	}
	return true;
}

/* The parameter at x in the shape that y says: another number of elements fails the run. */
static void reshape_param(struct build *b, const struct side *x, const struct side *to)
{
	struct value *y = to->v;
	struct value *p = x->from;
	struct type t = p->type;
	int64_t shape[MAX_RANK], n = t.rank;
	bool *here = arena_alloc(b->cx->arena, MAX_RANK);

	for (uint32_t i = 0; i < t.rank; i++) {
		here[i] = i == x->axis;
		shape[i] = 1;
		dim_is_const(b->cx, t.dims[i], &shape[i]);
	}
	if (n > 1) {
		struct tensor *mask = tensor_new(b->cx, DT_BOOL, 1, &n);
		mask->data = here;
		y = emit_(b, ONNX_Where, const_tensor(b, mask), y, const_ints(b, shape, t.rank));
	}
	attr_int(b, "allowzero", 1);
	p->low = labelled(b, with_dims(emit_(b, ONNX_Reshape, p->low, y), t.dims),
			  what_must_hold(b, x, to, 1));
	struct sides s = {{0}, {0}};
	*vec_push(b->cx->arena, &s.x) = *x;
	*vec_push(b->cx->arena, &s.y) = *to;
	made(b, p->low, &s);
}

static bool is_length(struct build *b, const struct side *s)
{
	int budget = 32;

	return s->of || dim_never_negative(b, s->d, &budget);
}

/* Equations that one Reshape checks are done here; the others stay, from the front on. With more
 * than one axis the shape has to be made: that pays for a single equation only. */
static void by_reshape(struct build *b, struct block *k, struct sides *s, bool vectors)
{
	struct side *x = s->x.at, *y = s->y.at;
	uint32_t left = 0, n = s->x.len;

	if (!may_reshape_to_zero(b) || (!vectors && n != 1))
		return;
	for (uint32_t i = 0; i < n; i++) {
		if (is_open_param(b, k, &x[i], vectors) && is_length(b, &y[i])) {
			reshape_param(b, &x[i], &y[i]);
		} else if (is_open_param(b, k, &y[i], vectors) && is_length(b, &x[i])) {
			reshape_param(b, &y[i], &x[i]);
		} else {
			x[left] = x[i];
			y[left++] = y[i];
		}
	}
	s->x.len = s->y.len = left;
}

bool is_guarded_input(struct build *b, const struct value *v)
{
	const struct guards *g = b->cse->shared->guards;

	for (uint32_t i = 0; is_onnx(v->def, ONNX_Reshape) && i < g->made.len; i++)
		if (g->made.at[i].value == v && !v->def->in[0]->def)
			return true;
	return false;
}

bool is_left_to_product(struct build *b, const struct value *v, uint32_t axis)
{
	const struct guards *g = b->cse->shared->guards;

	while (is_guarded_input(b, v))
		v = v->def->in[0];
	for (uint32_t i = 0; i < g->left_to.len; i++) {
		const struct side *s = g->left_to.at[i].sides.x.at;
		if (s->of == v && s->axis == axis)
			return true;
	}
	return false;
}

/* The first guard whose place begins where `span` does, or later. */
static struct guard *first_at(const struct guards *g, struct span span)
{
	uint32_t lo = 0, hi = g->n;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;
		if (g->at[mid].span.begin < span.begin)
			lo = mid + 1;
		else
			hi = mid;
	}
	return g->at + lo;
}

/* The input that v is, perhaps in another order of axes; NULL: none. */
static const struct value *input_behind(const struct value *v)
{
	for (int steps = 4; v->def && v->def->nin == 1 && steps; steps--)
		v = v->def->in[0];
	return v->def ? NULL : v;
}

static void find_products(struct build *b, struct guards *g, const struct block *k)
{
	for (const struct node *n = k->first; n; n = n->next) {
		int left = left_factor(n);
		if (left < 0 || !n->out[0]->uses)
			continue;
		if (!g->product)
			g->product =
				new_array(b->cx->arena, const struct node *, b->cx->next_id + 1);
		for (int i = left; i < left + 2; i++) {
			const struct value *p = input_behind(n->in[i]);
			if (p)
				g->product[p->id] = n;
		}
		for (struct guard *e = first_at(g, n->span);
		     e < g->at + g->n && e->span.begin == n->span.begin; e++)
			e->product |= e->span.end == n->span.end && is_inner_length(b, n, e->a);
	}
}

/* What inputs alone decide, before anything else is computed. */
void guards_inputs(struct build *b, struct graph *from)
{
	struct guards *g = b->cse->shared->guards;
	struct block *k = from->block;
	struct sides s = {{0}, {0}};

	if (!g->at)
		return;
	for (uint32_t i = 0; i < from->states.len; i++)
		if (from->states.at[i].next)
			from->states.at[i].next->uses++;
	count_reads(b->cx, k);
	struct value *v = carrier(k);
	if (!v)
		return;
	find_products(b, g, k);
	for (uint32_t i = 0; i < k->params.len; i++)
		for (uint32_t j = 0; j < k->params.at[i]->type.rank; j++)
			param_axis(b, k->params.at[i], j, &s);
	for (uint32_t i = 0; i < g->n; i++) {
		bool said = in_type(b, g->at[i].a, g->at[i].b);
		if ((g->at[i].product && !said) || !computable(b, &g->at[i]))
			continue;
		b->span = g->at[i].span;
		if (!said) {
			take(b, &g->at[i], &s);
			continue;
		}
		g->at[i].done = true;
		g->left--;
	}
	by_reshape(b, k, &s, true);
	by_reshape(b, k, &s, false);
	v->low = guarded(b, v->low, &s);
}

/* Those that were assumed by node n, or inside of it, on its result v, which is used. */
struct value *guards_at(struct build *b, const struct node *n, struct value *v)
{
	struct guards *g = b->cse->shared->guards;
	struct sides s = {{0}, {0}}, own = {{0}, {0}};
	struct span span = n->span;
	uint32_t last = n->blocks ? span.end : span.begin;

	if (!g->left || v->data)
		return v;
	for (struct guard *e = first_at(g, span); e < g->at + g->n && e->span.begin <= last; e++) {
		if (e->done || (n->blocks ? e->span.end > span.end : e->span.end != span.end) ||
		    !computable(b, e) || computable_outside(b, e))
			continue;
		bool product = e->product && !b->cse->outer && is_inner_length(b, n, e->a);
		struct sides *to = product ? &own : &s;
		take(b, e, to);
		if (!product || !own.x.len)
			continue;
		struct value *r = product_that_checks(b, n, v, own.x.at, own.y.at);
		if (r)
			made(b, r, &own);
		else
			move_sides(b, &own, &s);
		own = (struct sides){{0}, {0}};
	}
	return guarded(b, v, &s);
}

static void take_readers(struct build *b, const struct value *v, struct sides *to)
{
	struct guards *g = b->cse->shared->guards;

	for (uint32_t i = v->id < g->nfirst ? g->first[v->id] : 0; i; i = g->readers.at[i].next) {
		struct guard *e = &g->at[g->readers.at[i].guard];
		if (!e->done && computable(b, e) && !computable_outside(b, e))
			take(b, e, to);
	}
}

/* Those that only this inner block can compute and that no node of it that is used assumed, on v,
 * which it gives. `from` is the block as it was. */
struct value *guards_inside(struct build *b, const struct block *from, struct value *v)
{
	struct sides s = {{0}, {0}};

	if (!b->cse->shared->guards->left || v->data)
		return v;
	for (uint32_t i = 0; i < from->params.len; i++)
		take_readers(b, from->params.at[i], &s);
	for (const struct node *n = from->first; n; n = n->next)
		for (uint32_t i = 0; i < n->nout; i++)
			take_readers(b, n->out[i], &s);
	return guarded(b, v, &s);
}

/* The rest, on a result of the graph. */
struct value *guards_rest(struct build *b, struct value *v)
{
	struct guards *g = b->cse->shared->guards;
	struct sides s = {{0}, {0}};

	if (!g->left || v->data)
		return v;
	for (uint32_t i = 0; i < g->n; i++)
		if (!g->at[i].done && computable(b, &g->at[i]))
			take(b, &g->at[i], &s);
	g->left = 0; /* nothing more will be computed */
	return guarded(b, v, &s);
}

/* Lowering has found a shorter way to the results than through some values that were checked: v,
 * one of the results, takes their checks. */
struct value *guards_lost(struct build *b, struct value *v, struct value **results, uint32_t n)
{
	struct guards *g = b->cse->shared->guards;
	struct sides s = {{0}, {0}};

	if (!g->made.len && !g->left_to.len)
		return v;
	mark_live(b, results, n);
	for (uint32_t i = 0; i < g->left_to.len; i++) {
		const struct left_to *l = &g->left_to.at[i];
		struct value *low = l->n->out[0]->low;
		low = low ? product_that_checks(b, l->n, low, l->sides.x.at, l->sides.y.at) : NULL;
		if (!low || !is_live(b, low))
			move_sides(b, &l->sides, &s);
	}
	for (uint32_t i = 0; i < g->made.len; i++)
		if (!is_live(b, g->made.at[i].value))
			move_sides(b, &g->made.at[i].sides, &s);
	g->made.len = g->left_to.len = 0;
	return guarded(b, v, &s);
}

uint32_t check_carrier(struct value **results, uint32_t n)
{
	uint32_t at = 0;

	for (uint32_t i = 1; i < n; i++)
		if (!results[i]->data && results[i]->type.rank >= results[at]->type.rank)
			at = i;
	return at;
}

void guards_lost_inside(struct build *b, struct value **results, uint32_t n)
{
	struct checks_made *c = b->cse->checks;
	struct sides s = {{0}, {0}};

	if (!c || !n)
		return;
	mark_live(b, results, n);
	for (uint32_t i = 0; i < c->list.len; i++)
		if (!is_live(b, c->list.at[i].value))
			move_sides(b, &c->list.at[i].sides, &s);
	n = check_carrier(results, n);
	results[n] = guarded(b, results[n], &s);
}
