/*
 * loop_terms.c: what the steps of a loop multiply their states by is worked out before the loop.
 * In: the graph of ONNX nodes, before its loops are rebuilt. Out: the same, where x * a * b is
 * x * (a * b) and x - x * a is x * (1 - a) in bodies: x depends on the states, while a and b do
 * not, so that loop_move.c takes a * b and 1 - a out. Rows of zeros are no longer added. A step of
 * the gradient of an epidemic takes 7 nodes in place of 13. -freassociate must be on.
 */
#include <string.h>

#include "graph/uses.h"
#include "onnx/onnx.h"
#include "rewrite/loops.h"

#define MAX_SUM   16   /* terms of a sum that is looked at */
#define MAX_ZEROS 4096 /* elements of such a constant */

struct terms {
	struct ctx *cx;
	uint32_t n;     /* values that there were at first */
	bool *moves;    /* by value id: it depends on the states of the loop around it */
	bool *others;   /* by value id: does more read it than products with what is loop-invariant?
			 */
	struct build b; /* where new nodes go */
};
/* Of a sum: `leaf`, or -leaf, which is x * factor or, if `negative`, -x * factor */
struct term {
	struct value *leaf, *x, *factor; /* factor NULL: 1 */
	bool minus, negative;
	bool joined; /* x * factor, or -x * factor if `negative`, is no leaf any more */
};
struct sum {
	struct term at[MAX_SUM];
	uint32_t n;
	uint32_t ninner; /* sums in it */
};

static bool moves(const struct terms *t, const struct value *v)
{
	return v->id < t->n && t->moves[v->id];
}

static bool is_live_float(const struct node *n, enum onnx_id op)
{
	enum dtype t = n ? (enum dtype)n->out[0]->type.dtype : DT_NONE;

	return is_onnx(n, op) && !n->dead && (t == DT_FLOAT32 || t == DT_FLOAT64);
}

/* Of a product of two values the one that moves, where the other does not: *factor. NULL: it is
 * none */
static struct value *moving_part(const struct terms *t, const struct node *n, struct value **factor)
{
	if (!is_live_float(n, ONNX_Mul) || moves(t, n->in[0]) == moves(t, n->in[1]))
		return NULL;
	*factor = n->in[moves(t, n->in[0])];
	return n->in[!moves(t, n->in[0])];
}

static struct value *compute(struct terms *t, enum onnx_id op, struct value *a, struct value *b,
			     struct span span)
{
	t->b.span = span;
	return emit_(&t->b, op, a, b);
}

/* n is (x * a) * b, where all readers of x * a in the body are such products: x * (a * b) */
static void join_factors(struct terms *t, struct node *n)
{
	struct value *a, *b, *y = moving_part(t, n, &b), *x = y ? moving_part(t, y->def, &a) : NULL;

	if (!x || y->id >= t->n || t->others[y->id])
		return;
	become(t->cx, n, ONNX_Mul, x, compute(t, ONNX_Mul, a, b, n->span));
}

/* ---- sums ---- */

/* What v, a leaf that only the sum reads, is a multiple of */
static void take_factor(struct terms *t, struct term *a)
{
	struct value *x = a->x = a->leaf;

	a->negative = a->minus;
	if (!moves(t, x))
		return;
	if (is_used_once(x) && moving_part(t, x->def, &a->factor))
		a->x = moving_part(t, x->def, &a->factor);
	for (; a->factor && is_live_float(a->x->def, ONNX_Neg); a->negative = !a->negative)
		a->x = a->x->def->in[0];
}

/* Adds v, or -v, as terms. false: too many */
static bool add_terms(struct terms *t, struct sum *s, const struct type *type, struct value *v,
		      bool minus)
{
	struct term todo[MAX_SUM] = {{.leaf = v, .minus = minus}};

	for (uint32_t n = 1; n > 0;) {
		struct term a = todo[--n];
		struct node *d = a.leaf->def;
		bool neg = is_live_float(d, ONNX_Neg), less = is_live_float(d, ONNX_Sub);
		if (moves(t, a.leaf) && is_used_once(a.leaf) &&
		    same_dims(t->cx, a.leaf->type, *type) &&
		    (neg || less || is_live_float(d, ONNX_Add))) {
			if (s->ninner == MAX_SUM || n + d->nin > MAX_SUM)
				return false;
			s->ninner++;
			for (uint32_t i = d->nin; i-- > 0; n++)
				todo[n] = (struct term){.leaf = d->in[i],
							.minus = a.minus != (neg || (less && i))};
		} else if (s->n == MAX_SUM) {
			return false;
		} else {
			take_factor(t, &a);
			s->at[s->n++] = a;
		}
	}
	return true;
}

/* a becomes the sum of a and b, which are of the same x. */
static void join(struct terms *t, struct term *a, const struct term *b, struct span span)
{
	enum dtype dtype = (enum dtype)a->x->type.dtype;
	struct value *k = a->factor ? a->factor : graph_number(t->cx, dtype, 1, span);
	struct value *more = b->factor ? b->factor : graph_number(t->cx, dtype, 1, span);

	if (a->negative == b->negative)
		a->factor = compute(t, ONNX_Add, k, more, span);
	else if (a->negative)
		a->factor = compute(t, ONNX_Sub, more, k, span);
	else
		a->factor = compute(t, ONNX_Sub, k, more, span);
	a->negative = a->negative && b->negative;
	a->joined = true;
}

/* Is v a row of zeros, as the derivatives of what nobody reads are? */
static bool is_row_of_zeros(const struct value *v)
{
	v = behind_moves(v);
	return is_float((enum dtype)v->type.dtype) && is_full_of(v, 0, MAX_ZEROS);
}

/* Leaves zeros out. false: there are none */
static bool drop_zeros(struct terms *t, struct sum *s, const struct type *type)
{
	uint32_t n = 0;
	bool whole = false;

	for (uint32_t i = 0; i < s->n; i++)
		whole |= moves(t, s->at[i].leaf) && same_dims(t->cx, s->at[i].leaf->type, *type);
	for (uint32_t i = 0; i < s->n && whole; i++)
		if (moves(t, s->at[i].leaf) || !is_row_of_zeros(s->at[i].leaf))
			s->at[n++] = s->at[i];
	bool any = whole && n < s->n;
	s->n = whole ? n : s->n;
	return any;
}

/* Joins terms of the same x, products with others. false: there are none */
static bool join_terms(struct terms *t, struct sum *s, const struct type *type, struct span span)
{
	bool any = false;

	for (uint32_t i = 0; i < s->n; i++) {
		struct term *a = &s->at[i];
		if (!moves(t, a->x) || !same_dims(t->cx, a->x->type, *type))
			continue;
		for (uint32_t j = i + 1; j < s->n; j++) {
			if (s->at[j].x != a->x || (!a->factor && !s->at[j].factor))
				continue;
			join(t, a, &s->at[j], span);
			s->at[j--] = s->at[--s->n];
			any = true;
		}
	}
	return any;
}

static void set_node(struct terms *t, struct node *n, enum onnx_id op, struct value *a,
		     struct value *b)
{
	become_(t->cx, n, op, b ? 2 : 1, (struct value *[]){a, b});
}

/* n becomes the last node of the sum. */
static void write_sum(struct terms *t, struct node *n, struct sum *s)
{
	struct term *a = s->at;
	uint32_t first = 0, last;

	for (uint32_t i = 0; i < s->n; i++) {
		if (!a[i].joined)
			continue;
		a[i].minus = a[i].negative;
		if (s->n > 1)
			a[i].leaf = compute(t, ONNX_Mul, a[i].x, a[i].factor, n->span);
	}
	while (first < s->n && a[first].minus)
		first++;
	bool negative = first == s->n;
	first = negative ? 0 : first;
	last = first == s->n - 1 ? s->n - 2 : s->n - 1;
	if (s->n == 1 && !a->joined) {
		set_node(t, n, negative ? ONNX_Neg : ONNX_Identity, a->leaf, NULL);
		return;
	} else if (s->n == 1) {
		if (negative)
			a->factor = compute(t, ONNX_Neg, a->factor, NULL, n->span);
		set_node(t, n, ONNX_Mul, a->x, a->factor);
		return;
	}
	struct value *all = a[first].leaf;
	for (uint32_t i = 0; i < s->n; i++) {
		enum onnx_id op = a[i].minus && !negative ? ONNX_Sub : ONNX_Add;
		if (i == last && !negative)
			set_node(t, n, op, all, a[i].leaf);
		else if (i != first)
			all = compute(t, op, all, a[i].leaf, n->span);
	}
	if (negative)
		set_node(t, n, ONNX_Neg, all, NULL);
}

/* n, a sum, with the terms of the same x joined */
static void join_sum(struct terms *t, struct node *n)
{
	struct sum s = {.n = 0};
	const struct type *type = &n->out[0]->type;
	bool less = is_live_float(n, ONNX_Sub);

	if (!moves(t, n->out[0]) || !(less || is_live_float(n, ONNX_Add)) ||
	    !add_terms(t, &s, type, n->in[0], false) || !add_terms(t, &s, type, n->in[1], less))
		return;
	bool any = drop_zeros(t, &s, type);
	if (!join_terms(t, &s, type, n->span) && !any)
		return;
	write_sum(t, n, &s);
}

/* ---- bodies ---- */

/* Says which values of the body change from step to step. Gives the number of nodes. */
static uint32_t find_moving(struct terms *t)
{
	struct block *body = t->b.block;
	uint32_t count = 0;

	for (uint32_t i = 2; i < body->params.len; i++)
		t->moves[body->params.at[i]->id] = true;
	for (struct node *n = body->first; n; n = n->next, count++) {
		bool any = onnx_has_blocks(n->onnx);
		for (uint32_t i = 0; i < n->nin; i++)
			any |= n->in[i] && moves(t, n->in[i]);
		for (uint32_t i = 0; i < n->nout; i++)
			t->moves[n->out[i]->id] = any;
	}
	for (struct node *n = body->first; n; n = n->next) {
		struct value *factor, *x = moving_part(t, n, &factor);
		for (uint32_t i = 0; i < n->nin; i++)
			if (n->in[i] && n->in[i] != x)
				t->others[n->in[i]->id] = true;
	}
	for (uint32_t i = 0; i < body->results.len && i + 2 < body->params.len + 1u; i++)
		t->others[body->results.at[i]->id] = true; /* the next states */
	return count;
}

static void rewrite_body(struct terms *t)
{
	uint32_t count = find_moving(t), len = 0;
	struct node **all = new_array(t->cx->scratch, struct node *, 2 * (size_t)count + 1);

	for (struct node *n = t->b.block->first; n; n = n->next)
		all[len++] = n;
	for (uint32_t i = 0; i < count; i++) {
		t->b.after = i ? all[i - 1] : NULL;
		join_factors(t, all[i]);
	}
	for (uint32_t i = count; i-- > 0;) {
		t->b.after = i ? all[i - 1] : NULL;
		if (!all[i]->dead)
			join_sum(t, all[i]);
	}
}

/* What goes on until it is exact enough, as the library's functions do, stays as it was written. */
static void rewrite_bodies(struct terms *t, struct block *k)
{
	for (struct walk w = {.root = k}; walk(&w, WALK_AFTER);)
		if (is_onnx(w.at.node, ONNX_Loop) && w.at.node->in[0] &&
		    stops_by_count(w.at.node)) {
			t->b = build_at(t->cx, loop_body(w.at.node), NULL);
			rewrite_body(t);
		}
}

void loop_terms(struct ctx *cx, struct graph *g)
{
	struct terms t = {.cx = cx, .n = cx->next_id};

	if (!cx->opt.reassociate || cx->opt.signed_zeros)
		return;
	t.moves = new_array(cx->scratch, bool, t.n + 1);
	t.others = new_array(cx->scratch, bool, t.n + 1);
	rewrite_bodies(&t, g->block);
}
