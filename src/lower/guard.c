/*
 * guard.c: run-time checks. In: the equations between dims that inference assumed. Out: nodes that
 * make the run fail where one does not hold. ONNX Runtime checks neither dim names nor PyTensor's
 * rule that only lengths known to be 1 are stretched.
 *
 * A guard is Reshape(v, t) on a value v that is used, where t is 0 for each axis (0 keeps the
 * length) if both sides are equal, and -2 (which no Reshape takes) if not. Reshape moves no data. A
 * v of rank 0 goes through a Gather instead, at 0 or out of range. The node is called what must
 * hold, as that is what the runtime shows of a node that fails. What only depends on inputs is
 * checked at the start, all of it at once; the rest on the result of the node that assumed it. An
 * equation holds everywhere, so if that node is not used, or may not run because it is in a loop or
 * an if, the check is made around that or on a result of the graph; where only the loop or the
 * branch can compute it, on a result of these.
 *
 * An input of one open length, which another size says, needs no comparison: Reshape to that size
 * fails by itself, because the number of elements is another one.
 */
#include <stdlib.h>
#include <string.h>

#include "low.h"

#define MAX_NAMED 4  /* equations that the name of a check tells */
#define MAX_SIDE  80 /* bytes of each side */
#define MAX_MADE  64 /* nodes of one node of the user: types of more are not looked at */

/* What no Reshape takes: whoever reads the runtime's message knows the reason by it. */
#define DIFFERS (-2)
#define EMPTY   (-3)

struct guard {
	dim a, b;
	struct span span;
	uint32_t order;
	bool done;
};

/* A guard reads a size or an element of a value; in a list for each value. */
struct reader {
	uint32_t guard, next;
};

/* One equation: int64[1] on both sides, and the axes that they are the sizes of (NULL: computed) */
struct side {
	struct value *v, *of, *from; /* from: what `of` was typed as */
	uint32_t axis;
	dim d;
	const char *text; /* "axis 0 of x" */
};

/* Equations to be checked together: x.at[i] is y.at[i]. */
struct sides {
	vec(struct side) x, y;
};

/* What was checked on the way to a value. */
struct check_made {
	struct value *value;
	struct sides sides;
};

struct guards {
	struct guard *at; /* sorted by place */
	uint32_t n, left;
	vec(struct reader) readers; /* number 0 ends a list */
	uint32_t *first;            /* by id of a typed value: the first of its readers */
	uint32_t nfirst;
	vec(struct check_made) made; /* in the block of the graph */
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

	for (uint32_t i = 0; vector && is_onnx(v->def, "Concat") && i < v->def->nin; i++)
		vector = v->def->in[i]->data || is_onnx(v->def->in[i]->def, "Unsqueeze");
	return vector && (is_onnx(v->def, "Concat") || is_onnx(v->def, "Unsqueeze") ||
			  is_onnx(v->def, "Shape"));
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

/* "axis 1 of x", "n", "3", "k" of an integer */
static const char *side_text(struct build *b, dim d)
{
	struct dim_view v = dim_view_raw(b->cx, d);

	if (v.form == DIM_ATOM && !v.name && v.kind == SOURCE_SIZE && v.source && v.source->name)
		return arena_printf(b->cx->arena, "axis %u of %s", v.at, v.source->name->s);
	if (v.form == DIM_ATOM && !v.name && v.source && v.source->name)
		return v.source->name->s;
	const char *text = dim_str_raw(b->cx, d);
	return strcmp(text, "?") ? text : "a length";
}

static struct side computed_side(struct build *b, dim d, struct value *v)
{
	struct dim_view w = dim_view_raw(b->cx, d);
	bool size = w.form == DIM_ATOM && w.kind == SOURCE_SIZE && w.source && !w.source->data;

	struct side s = {.v = v, .d = d, .text = side_text(b, d)};
	if (size) {
		s.of = w.source->low;
		s.from = w.source;
		s.axis = w.at;
	}
	return s;
}

static const char *what_must_hold(struct build *b, const struct side *x, const struct side *y,
				  uint32_t n);

/* The length of what is computed from constants alone: a model in which it is another one than what
 * stands beside it may be refused by ONNX Runtime as a whole. */
static bool is_decided(struct build *b, const struct side *x)
{
	bool open;

	return x->of && !x->of->data && x->of->def && from_constants(b, x->of, &open) && open;
}

static void add_sides(struct build *b, struct sides *to, struct side x, struct side y,
		      struct span s)
{
	if (x.v == y.v)
		return;
	if (x.v->data && y.v->data) {
		int64_t k, m;
		if (tensor_int(x.v->data, 0, &k) && tensor_int(y.v->data, 0, &m) && k != m)
			error(b->cx, s, E_SHAPE,
			      "%lld and %lld meet here as lengths that must be equal", (long long)k,
			      (long long)m);
		return;
	}
	if (is_decided(b, &x) || is_decided(b, &y)) {
		error(b->cx, s, E_UNSUPPORTED,
		      "%s: constants alone decide that, but only when they are computed; write "
		      "what they give",
		      what_must_hold(b, &x, &y, 1));
		return;
	}
	*vec_push(b->cx->arena, &to->x) = x;
	*vec_push(b->cx->arena, &to->y) = y;
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

static struct value *full(struct build *b, int64_t k, uint32_t n)
{
	int64_t v[MAX_RANK] = {0};

	for (uint32_t i = 0; i < n; i++)
		v[i] = k;
	return const_ints(b, v, n);
}

/* 0 for each of v's axes where x equals y, something below -1 where not. (Of a Concat of one value
 * and constants ONNX Runtime would make a constant with a -1, and the check would be gone.) */
static struct value *shape_or_error(struct build *b, struct value *equal, uint32_t count,
				    uint32_t rank, int64_t error)
{
	if (count == 1 || count == rank)
		return emit_(b, "Where", equal, full(b, 0, rank), full(b, error, rank));
	struct value *t = emit_(b, "Where", equal, full(b, 0, 1), full(b, 1, 1));
	t = reduce(b, "ReduceMax", t, &(int){0}, 1, true);
	return emit_(b, "Mul", t, full(b, error, rank));
}

/* How many sides from s[0] on are consecutive axes of one value. */
static uint32_t run_of_axes(const struct side *s, uint32_t n)
{
	uint32_t k = 1;

	while (s[0].of && k < n && s[k].of == s[0].of && s[k].axis == s[0].axis + k)
		k++;
	return k;
}

static struct value *sizes(struct build *b, const struct side *s, uint32_t n)
{
	if (n == 1)
		return s[0].v;
	b->cse->shared->raw_dims = true;
	struct value *r = shape_slice(b, s[0].of, (int)s[0].axis, (int)(s[0].axis + n));
	b->cse->shared->raw_dims = false;
	return r;
}

static struct value *joined(struct build *b, const struct side *s, uint32_t n)
{
	struct value **part = new_array(b->cx->arena, struct value *, n);
	uint32_t count = 0;

	for (uint32_t i = 0, k; i < n; i += k) {
		k = run_of_axes(s + i, n - i);
		part[count++] = sizes(b, s + i, k);
	}
	return concat(b, 0, part, count);
}

/* Bools, of which each must be true: `rank` or one of them if that is not dearer. */
static struct value *all_equal(struct build *b, const struct side *x, const struct side *y,
			       uint32_t n, uint32_t rank, uint32_t *count)
{
	struct value *equal[3] = {NULL}, *r;
	uint32_t parts = 0;

	*count = 1;
	for (uint32_t i = 0, k; i < n; i += k) {
		uint32_t kx = run_of_axes(x + i, n - i), ky = run_of_axes(y + i, n - i);
		k = kx < ky ? kx : ky;
		if (parts == countof(equal) || (k != 1 && k != rank)) {
			*count = n;
			return emit_(b, "Equal", joined(b, x, n), joined(b, y, n));
		}
		equal[parts++] = emit_(b, "Equal", sizes(b, x + i, k), sizes(b, y + i, k));
		*count = k > *count ? k : *count;
	}
	r = equal[0];
	for (uint32_t i = 1; i < parts; i++)
		r = emit_(b, "And", r, equal[i]);
	return r;
}

static void add_text(struct strbuf *b, const char *s)
{
	size_t n = strnlen(s, MAX_SIDE);

	while (n == MAX_SIDE && n && (s[n] & 0xC0) == 0x80) /* whole characters only */
		n--;
	sb_add(b, s, n);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "axis 0 of b must be n, axis 1 of c must be m" */
static const char *what_must_hold(struct build *b, const struct side *x, const struct side *y,
				  uint32_t n)
{
	struct strbuf s = {.arena = b->cx->arena};

	for (uint32_t i = 0; i < n && i < MAX_NAMED; i++) {
		bool turn = !x[i].of && (y[i].of || is_digit(*x[i].text));
		sb_str(&s, i ? ", " : "");
		add_text(&s, turn ? y[i].text : x[i].text);
		sb_str(&s, " must be ");
		add_text(&s, turn ? x[i].text : y[i].text);
	}
	sb_str(&s, n > MAX_NAMED ? ", ..." : "");
	return s.s;
}

/* v by a Gather of all of it, at 0 or out of range */
static struct value *gathered(struct build *b, struct value *v, struct value *equal, uint32_t count)
{
	const dim *dims = v->type.dims;
	struct value *r = emit_(b, "Where", equal, full(b, 0, 1), full(b, 1, 1));

	r = scalar_of(b, count == 1 ? r : reduce(b, "ReduceMax", r, &(int){0}, 1, true));
	return with_dims(emit_(b, "Gather", unsqueeze(b, v, &(int64_t){0}, 1), r), dims);
}

static struct value *made(struct build *b, struct value *v, const struct sides *s)
{
	if (!b->cse->outer)
		*vec_push(b->cx->arena, &b->cse->shared->guards->made) = (struct check_made){v, *s};
	return v;
}

/* v, or a failing run; v itself if there is nothing to check */
static struct value *guarded(struct build *b, struct value *v, const struct sides *s)
{
	uint32_t count, n = s->x.len;
	const dim *dims = v->type.dims;
	bool open;
	struct value *r;

	if (!n)
		return v;
	const char *label = what_must_hold(b, s->x.at, s->y.at, n);
	struct value *equal = all_equal(b, s->x.at, s->y.at, n, v->type.rank, &count);
	b->cse->shared->small_ints = true;
	if (v->type.rank && !from_constants(b, equal, &open)) {
		r = emit_(b, "Reshape", v, shape_or_error(b, equal, count, v->type.rank, DIFFERS));
		b->cse->shared->small_ints = false;
		return made(b, labelled(b, with_dims(r, dims), label), s);
	}
	r = gathered(b, v, equal, count);
	b->cse->shared->small_ints = false;
	return made(b, labelled(b, r, label), s);
}

/* v, or a failing run where one of these axes has length 0 */
struct value *guard_nonempty(struct build *b, struct value *v, const int *axes, int n)
{
	struct value *lengths[MAX_RANK];
	uint32_t count = 0;

	if (!b->cx->opt.check_dims || b->target == PTGC_ONNX)
		return v;
	for (int i = 0; i < n; i++)
		if (!dim_ge(b->cx, v->type.dims[axes[i]], 1))
			lengths[count++] = dim_vector(b, v->type.dims[axes[i]]);
	if (!count)
		return v;
	struct value *some = emit_(b, "Greater", concat(b, 0, lengths, count), full(b, 0, 1));
	b->cse->shared->small_ints = true;
	struct value *shape = shape_or_error(b, some, count, v->type.rank, EMPTY);
	b->cse->shared->small_ints = false;
	const dim *dims = v->type.dims;
	return labelled(b, with_dims(emit_(b, "Reshape", v, shape), dims),
			"what is reduced must not be empty");
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
	dim d = p->type.dims[j];
	struct dim_view v = dim_view_raw(b->cx, d);
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
		add_sides(b, to, x, y, p->span);
	}
	b->cse->shared->raw_dims = false;
}

/* Is s an axis of a parameter whose data is used, and the only one that is open? */
static bool is_open_param(struct build *b, struct block *k, const struct side *s, bool vector)
{
	struct value *p = s->from;
	struct type t = p ? low_type(b, p->type) : (struct type){0};
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
	struct type t = low_type(b, p->type);
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
		y = emit_(b, "Where", const_tensor(b, mask), y, const_ints(b, shape, t.rank));
	}
	attr_int(b, "allowzero", 1);
	p->low = labelled(b, with_dims(emit_(b, "Reshape", p->low, y), t.dims),
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
	for (uint32_t i = 0; i < k->params.len; i++)
		for (uint32_t j = 0; j < k->params.at[i]->type.rank; j++)
			param_axis(b, k->params.at[i], j, &s);
	for (uint32_t i = 0; i < g->n; i++) {
		if (!computable(b, &g->at[i]))
			continue;
		b->span = g->at[i].span;
		if (!in_type(b, g->at[i].a, g->at[i].b)) {
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
	struct sides s = {{0}, {0}};
	struct span span = n->span;
	uint32_t lo = 0, hi = g->n, last = n->blocks ? span.end : span.begin;

	if (!g->left || v->data)
		return v;
	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;
		if (g->at[mid].span.begin < span.begin)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < g->n && g->at[lo].span.begin <= last; lo++) {
		struct guard *e = &g->at[lo];
		if (!e->done && (n->blocks ? e->span.end <= span.end : e->span.end == span.end) &&
		    computable(b, e) && !computable_outside(b, e))
			take(b, e, &s);
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

	if (!g->made.len)
		return v;
	const bool *live = live_values(b, results, n);
	for (uint32_t i = 0; i < g->made.len; i++) {
		const struct check_made *m = &g->made.at[i];
		for (uint32_t k = 0; !live[m->value->id] && k < m->sides.x.len; k++) {
			*vec_push(b->cx->arena, &s.x) = m->sides.x.at[k];
			*vec_push(b->cx->arena, &s.y) = m->sides.y.at[k];
		}
	}
	g->made.len = 0;
	return guarded(b, v, &s);
}
