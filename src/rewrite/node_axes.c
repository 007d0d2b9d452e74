/*
 * node_axes.c: reductions that keep their axes. Unsqueeze(Exp(ReduceSum(x, [1], keepdims=0)), [1])
 * is Exp(ReduceSum(x, [1], keepdims=1)): the axes that a reduction takes away, and that an
 * Unsqueeze or a Reshape gives back behind some operators on elements, stay. The same goes for one
 * number, whose axes a constant among what it is computed from can have.
 */
#include <string.h>

#include "rewrite/nodes.h"

#define MAX_BEHIND 4  /* operators between a reduction and its axes */
#define MAX_WAY    16 /* the same, where all are of one number */
#define MAX_SEEN   64 /* operators that are looked at for such a way */

/* The axes that a reduction takes away, as bits; 0: it keeps them, or they are not known. */
static uint64_t removed_axes(const struct node *n)
{
	int axes[MAX_RANK];
	uint64_t bits = 0;

	if (n->as_written || int_of_attr(n, "keepdims", 1))
		return 0;
	if (onnx_lengths(n->onnx) != ONNX_REDUCED_LENGTHS && !is_onnx(n, ONNX_ArgMax) &&
	    !is_onnx(n, ONNX_ArgMin))
		return 0;
	for (int i = 0, count = onnx_reduced_axes(n, axes); i < count; i++)
		bits |= UINT64_C(1) << (axes[i] & 63);
	return bits;
}

/* The argument whose axes are those of v, all other ones being single numbers; NULL: v is no result
 * of an operator on elements that only one other reads. */
static struct value *behind_element(const struct value *v)
{
	if (!is_used_once(v) || !v->def || v->def->dead || !onnx_facts[operator_of(v->def)].each ||
	    v->def->nin > 2)
		return NULL;
	struct value *x = resolve(v->def->in[0]), *y = x;
	if (v->def->nin > 1)
		y = resolve(v->def->in[1]);
	if (x == y)
		return v->def->nin > 1 ? NULL : x;
	return !y->type.rank && !x->data ? x : !x->type.rank ? y : NULL;
}

static void take_dims(struct value *v, const struct type *t)
{
	v->type.rank = t->rank;
	v->type.dims = t->dims;
}

/* Are the axes in bits those that n gives to its input, with length 1? */
static bool gives_axes(struct ctx *cx, const struct node *n, uint64_t bits)
{
	const struct type *to = &n->out[0]->type, *from = &n->in[0]->type;
	uint32_t j = 0;

	if (!n->in[1]->data || !bits || to->rank > 63)
		return false;
	if (is_onnx(n, ONNX_Unsqueeze))
		return onnx_axis_bits(n, to->rank) == bits;
	if (bits >> to->rank)
		return false;
	for (uint32_t i = 0; i < to->rank; i++) {
		if (bits >> i & 1) {
			if (!dim_is(cx, to->dims[i], 1))
				return false;
		} else if (j == from->rank || !dim_eq(cx, to->dims[i], from->dims[j++])) {
			return false;
		}
	}
	return j == from->rank;
}

/* Makes a reduction keep its axes; t says the dims then. */
static void keep_dims(struct ctx *cx, struct value *sum, const struct type *t)
{
	struct attr *attrs = new_array(cx->arena, struct attr, sum->def->nattrs);

	memcpy(attrs, sum->def->attrs, sum->def->nattrs * sizeof(*attrs));
	for (uint32_t i = 0; i < sum->def->nattrs; i++)
		if (!strcmp(attrs[i].name, "keepdims"))
			attrs[i].u.i = 1;
	sum->def->attrs = attrs;
	take_dims(sum, t);
}

/* x, which n alone read, is the result of n now. */
static struct value *instead_of(struct node *n, struct value *x)
{
	if (!n->out[0]->is_result)
		return x;
	/* n, whose result has a name, becomes what x was, and x's node goes */
	x->def->dead = true;
	set_inputs(n, NULL, 0);
	n->onnx = x->def->onnx;
	n->in = x->def->in;
	n->nin = x->def->nin;
	n->attrs = x->def->attrs;
	n->nattrs = x->def->nattrs;
	return NULL;
}

/* A choice between two reductions, by whether the first one is NaN: the largest or smallest element
 * (lower/ops/reduce.c). */
static struct value *keep_extreme(struct ctx *cx, struct node *n)
{
	const struct type *t = &n->out[0]->type;
	struct value *x = n->in[0], *of[3];

	if (!is_op(x, ONNX_Where) || !is_used_once(x))
		return NULL;
	for (int i = 0; i < 3; i++) {
		of[i] = resolve(x->def->in[i]);
		if (of[i]->is_result || of[i]->uses != (i == 1 ? 2 : 1) || !of[i]->def ||
		    of[i]->def->dead)
			return NULL;
	}
	if (!is_op(of[0], ONNX_IsNaN) || resolve(of[0]->def->in[0]) != of[1] ||
	    !gives_axes(cx, n, removed_axes(of[1]->def)) ||
	    !gives_axes(cx, n, removed_axes(of[2]->def)))
		return NULL;
	keep_dims(cx, of[1], t);
	keep_dims(cx, of[2], t);
	take_dims(of[0], t);
	take_dims(x, t);
	return instead_of(n, x);
}

/* A way from one number back to what can give it axes: values that only the next one reads, by
 * operators on single numbers. */
struct way {
	struct value *at[MAX_WAY];
	uint32_t input[MAX_WAY]; /* of at[i]'s node: where the way goes on */
	uint32_t n, seen;
};

static void way_enter(struct way *w, struct value *v)
{
	w->seen++;
	w->at[w->n] = v;
	w->input[w->n++] = 0;
}

/* Does the way end at its last value: a reduction that can keep its axes, or a constant? */
static bool way_ends(struct ctx *cx, const struct way *w, const struct node *n)
{
	const struct node *m = w->at[w->n - 1]->def;

	if (gives_axes(cx, n, removed_axes(m)))
		return true;
	for (uint32_t i = 0; i < m->nin; i++)
		if (is_constant(m->in[i]))
			return onnx_lengths(m->onnx) == ONNX_BROADCAST_LENGTHS;
	return false;
}

static bool may_pass(const struct value *v)
{
	return is_used_once(v) && !v->type.rank && v->def && !v->def->dead;
}

static bool find_way(struct ctx *cx, struct way *w, const struct node *n)
{
	w->n = w->seen = 0;
	if (may_pass(n->in[0]))
		way_enter(w, n->in[0]);
	while (w->n) {
		const struct node *m = w->at[w->n - 1]->def;
		uint32_t *i = &w->input[w->n - 1];
		if (!*i && way_ends(cx, w, n))
			return true;
		bool on = onnx_facts[operator_of(m)].each && *i < m->nin && w->n < MAX_WAY &&
			  w->seen < MAX_SEEN;
		struct value *v = on && m->in[*i] ? resolve(m->in[*i]) : NULL;
		++*i;
		if (!on)
			w->n--;
		else if (v && may_pass(v))
			way_enter(w, v);
	}
	return false;
}

/* Axes of length 1 are given to one number: a sum or a constant that it is made of can have them.
 */
static struct value *give_axes(struct ctx *cx, struct node *n)
{
	const struct type *t = &n->out[0]->type;
	struct value *x = n->in[0];
	int64_t shape[MAX_RANK];
	struct way w;

	if (!is_single(cx, t) || !find_way(cx, &w, n))
		return NULL;
	struct node *last = w.at[w.n - 1]->def;
	for (uint32_t i = 0; i < t->rank; i++)
		shape[i] = 1;
	for (uint32_t i = 0; i < w.n; i++)
		take_dims(w.at[i], t);
	if (gives_axes(cx, n, removed_axes(last)))
		keep_dims(cx, last->out[0], t);
	for (uint32_t i = 0; i < last->nin; i++) {
		struct value *k = last->in[i];
		if (!is_constant(k) || onnx_lengths(last->onnx) != ONNX_BROADCAST_LENGTHS)
			continue;
		struct tensor *one = tensor_new(cx, (enum dtype)k->type.dtype, t->rank, shape);
		one->data = k->data->data;
		set_input(last, i, graph_constant(cx, one, k->span));
		break;
	}
	return instead_of(n, x);
}

/* The axes that a reduction took away come back, by Unsqueeze or a Reshape: it can keep them. */
struct value *keep_axes(struct ctx *cx, struct node *n)
{
	struct value *x = n->in[0], *sum = x, *next;

	if (n->out[0]->is_inner_result)
		return NULL;
	for (int i = 0; i < MAX_BEHIND && (next = behind_element(sum)); i++)
		sum = next;
	if (!is_used_once(x) || !is_used_once(sum) || !sum->def || sum->def->dead ||
	    !gives_axes(cx, n, removed_axes(sum->def))) {
		struct value *r = keep_extreme(cx, n);
		return r || n->dead || n->in[0] != x ? r : give_axes(cx, n);
	}
	for (next = x; next != sum; next = behind_element(next))
		take_dims(next, &n->out[0]->type);
	keep_dims(cx, sum, &n->out[0]->type);
	return instead_of(n, x);
}
