/*
 * fail.c: the node that fails. In: a value of the model's, and bools that must all be true. Out:
 * the value, by a node that fails where one is false, and is called what must hold, as ONNX
 * Runtime names a node that fails. No operator fails on purpose: the node is
 *	Reshape(v, Where(cond, [0, 0], [-2, -2])): 0 keeps a length, -2 is none. No data moves.
 *		ONNX Runtime takes one -1, but not two: [-1, -1] + ReduceProd(Cast(cond)).
 *	Gather(v, Where(cond, [0, 1, 2], [3, 4, 5])) of a v of length 3, where all lengths are
 *		known: ONNX Runtime makes one Reshape of several if it knows the last one's
 *		lengths, and what the others check is gone.
 *	Gather(Unsqueeze(v), Where(cond, 0, 1)) of a single number and all else
 * A condition of one element is subtracted instead: Gather(v, [1, 2, 3] - Cast(cond)).
 * Of several equations between lengths that have names each has a node of its own, which makes the
 * integers that the Reshape or Gather takes: see integers_if_equal().
 */
#include <math.h>

#include "lower/check/internal.h"

#define MANY_BOOLS      16  /* elements */
#define MAX_TAKEN       256 /* rows that a Gather lists */
#define MAX_TAKEN_APART 32

struct conditions {
	struct value *one;         /* at most n elements, which broadcast */
	vec(struct value *) array; /* others */
	uint32_t n;                /* elements of what is chosen; 0: a number */
};

static void add_condition(struct build *b, struct conditions *c, struct value *v)
{
	int64_t len = 0;
	bool fits = !v->type.rank ||
		    (c->n && v->type.rank == 1 && dim_is_const(b->cx, v->type.dims[0], &len) &&
		     (len == 1 || len == c->n));

	if (fits) {
		c->one = c->one ? emit_(b, ONNX_And, c->one, v) : v;
		return;
	}
	for (uint32_t i = 0; i < c->array.len; i++) {
		if (!same_dims(b->cx, c->array.at[i]->type, v->type))
			continue;
		c->array.at[i] = emit_(b, ONNX_And, c->array.at[i], v);
		return;
	}
	*vec_push(b->cx->scratch, &c->array) = v;
}

/* The bools of which those of v are the All, whatever the axes: Cast(ReduceMin(Cast(bools))); NULL:
 * v is no such thing */
static struct value *all_in(struct value *v)
{
	struct value *r = is_onnx(v->def, ONNX_Cast) ? v->def->in[0] : v;

	if (!is_onnx(r->def, ONNX_ReduceMin))
		return NULL;
	r = r->def->in[0];
	r = is_onnx(r->def, ONNX_Cast) ? r->def->in[0] : r;
	return r->type.dtype == DT_BOOL ? r : NULL;
}

/* Bools that are all true where those of v are: v without what moves them or ands them. */
static struct value *behind_all(struct value *v)
{
	for (struct value *x = v; x; v = x) {
		bool moves = is_onnx(v->def, ONNX_Unsqueeze) || is_onnx(v->def, ONNX_Squeeze) ||
			     is_onnx(v->def, ONNX_Transpose);
		x = moves ? v->def->in[0] : all_in(v);
		if (!x)
			break;
	}
	return v;
}

/* Does And or Concat make v of bools that can be checked one by one? One that is stretched to no
 * element at all would be checked nonetheless. */
static bool is_list(struct build *b, const struct value *v)
{
	if (!is_onnx(v->def, ONNX_And))
		return is_onnx(v->def, ONNX_Concat);
	const struct type *x = &v->def->in[0]->type, *y = &v->def->in[1]->type;
	return same_dims(b->cx, *x, *y) || (is_single(b->cx, x) && is_single(b->cx, y));
}

/* x if v is |x + k| <= c, as isclose() says it; else NULL */
static const struct value *near_to(const struct value *v)
{
	double k;

	if (!is_onnx(v->def, ONNX_LessOrEqual) || !constant_float(v->def->in[1], &k) ||
	    !isfinite(k) || !is_onnx(v->def->in[0]->def, ONNX_Abs))
		return NULL;
	const struct node *n = v->def->in[0]->def->in[0]->def;
	for (int i = 0; i < 2 && (is_onnx(n, ONNX_Add) || is_onnx(n, ONNX_Sub)); i++)
		if (constant_float(n->in[1 - i], &k) && isfinite(k))
			return n->in[i];
	return NULL;
}

/* Is p made of rows of a Softmax, which its last axis holds? */
static bool has_softmax_rows(const struct value *p)
{
	int64_t last = p->type.rank - 1;

	while (is_onnx(p->def, ONNX_Gather) && p->def->in[0]->type.rank > 1) {
		int64_t rank = p->def->in[0]->type.rank;
		if (onnx_axis(p->def, 0) == rank - 1)
			return false;
		p = p->def->in[0];
		last = rank - 1;
	}
	return is_onnx(p->def, ONNX_Softmax) && onnx_axis(p->def, -1) == last;
}

/*
 * Does v hold where `by` does? If |x + k| <= c, x is neither NaN nor infinite: |x| < inf. And if
 * so for x = Sum(p), p is not NaN; if p is made by Softmax, it is 0 and more, and 1 and less.
 */
static bool is_implied(const struct value *v, const struct value *by)
{
	const struct value *x = near_to(by), *p;
	int axes[MAX_RANK];
	double k;

	if (!x || !v->def || v->def->nin != 2 || !constant_float(v->def->in[1], &k))
		return false;
	p = v->def->in[0];
	if (is_onnx(v->def, ONNX_Less))
		return k == INFINITY && is_onnx(p->def, ONNX_Abs) && p->def->in[0] == x;
	if (!(is_onnx(v->def, ONNX_GreaterOrEqual) && k <= 0) &&
	    !(is_onnx(v->def, ONNX_LessOrEqual) && k >= 1))
		return false;
	return is_onnx(x->def, ONNX_ReduceSum) && x->def->in[0] == p &&
	       onnx_reduced_axes(x->def, axes) == 1 && axes[0] == p->type.rank - 1 &&
	       has_softmax_rows(p);
}

/* The parts of cond: of And, of All along some axes or all of them, and of what is joined. */
static bool take_apart(struct build *b, struct conditions *c, struct value *cond)
{
	struct value *todo[MAX_TAKEN_APART] = {cond}, *part[MAX_TAKEN_APART];
	uint32_t n = 1, parts = 0;

	if (!is_single(b->cx, &cond->type))
		return false;
	while (n) {
		struct value *v = behind_all(todo[--n]);
		bool again = false, list = is_list(b, v);
		for (uint32_t i = 0; i < parts; i++)
			again |= part[i] == v;
		if (again)
			continue;
		if (parts == countof(part) || (list && n + v->def->nin > countof(todo)))
			return false;
		if (!list)
			part[parts++] = v;
		for (uint32_t i = list ? v->def->nin : 0; i-- > 0;)
			todo[n++] = v->def->in[i];
	}
	for (uint32_t i = 0; i < parts; i++) {
		bool stretched = is_onnx(part[i]->def, ONNX_Expand);
		bool implied = holds_always(stretched ? part[i]->def->in[0] : part[i]);
		for (uint32_t j = 0; j < parts && !implied; j++)
			implied = j != i && is_implied(part[i], part[j]);
		if (!implied)
			add_condition(b, c, part[i]);
	}
	return true;
}

/* Has x many elements? Many are added up as float32, which takes an eighth of the time of int64,
 * and multiplied in a third. */
static bool are_many(struct build *b, const struct value *x)
{
	return expected_elements(b->cx, &x->type, 1) >= MANY_BOOLS;
}

/* 0 where all bools of x are true, else so many times `bad` as are not */
static struct value *sum_of_false(struct build *b, struct value *x, int64_t bad, bool keep)
{
	bool many = are_many(b, x);
	struct value *no = const_int(b, bad), *yes = const_int(b, 0);

	if (many) {
		no = cast(b, no, DT_FLOAT32);
		yes = cast(b, yes, DT_FLOAT32);
	}
	x = emit_(b, ONNX_Where, x, yes, no);
	x = reduce_all(b, ONNX_ReduceSum, x, keep);
	return many ? cast(b, x, DT_INT64) : x;
}

/* 1 where all bools of x are true, else 0 */
static struct value *product(struct build *b, struct value *x)
{
	x = cast(b, x, are_many(b, x) ? DT_FLOAT32 : DT_INT64);
	return cast(b, reduce_all(b, ONNX_ReduceProd, x, false), DT_INT64);
}

/* `good` where all conditions hold; where not, at least one element is so much more: `bad`. */
static struct value *chosen(struct build *b, struct conditions *c, const int64_t *good, int64_t bad)
{
	int64_t more[MAX_TAKEN];
	struct value *r = NULL;

	for (uint32_t i = 0; i < c->n || !i; i++)
		more[i] = good[i] + bad;
	struct value *yes = c->n ? const_ints(b, good, c->n) : const_int(b, *good);
	struct value *no = c->n ? const_ints(b, more, c->n) : const_int(b, *more);
	for (uint32_t i = 0; i < c->array.len; i++) {
		struct value *x = c->array.at[i];
		x = sum_of_false(b, x, bad, c->n == 1 && x->type.rank == 1);
		r = r ? emit_(b, ONNX_Add, r, x) : x;
	}
	if (c->one) {
		struct value *x = emit_(b, ONNX_Where, c->one, yes, no);
		return r ? emit_(b, ONNX_Add, r, x) : x;
	}
	bool whole = c->n ? c->n == 1 && r->type.rank == 1 && !*good : !*good;
	return whole ? r : emit_(b, ONNX_Add, r, yes);
}

/*
 * The indices 0, 1, ... of a Gather where all conditions hold; where one does not, each is 1 more,
 * or so many as do not, and the last is out of range: [1, 2, 3] - cond. That takes two thirds of
 * the time of a Where. NULL: a condition may have no elements, or holds element by element.
 */
static struct value *index_less_conditions(struct build *b, struct conditions *c)
{
	uint32_t n = c->n ? c->n : 1, terms = (c->one != NULL) + c->array.len;
	int64_t len = n;

	if (c->one && (!is_single(b->cx, &c->one->type) || (!c->n && c->one->type.rank)))
		return NULL;
	for (uint32_t i = 0; i < c->array.len; i++)
		if (may_be_empty(b->cx, &c->array.at[i]->type))
			return NULL;
	int32_t *list = new_array(b->cx->arena, int32_t, n);
	for (uint32_t i = 0; i < n; i++)
		list[i] = (int32_t)(i + terms);
	struct tensor *t = tensor_new(b->cx, DT_INT32, c->n != 0, &len);
	t->data = list;
	struct value *r = const_tensor(b, t);
	if (c->one)
		r = emit_(b, ONNX_Sub, r, cast(b, c->one, DT_INT32));
	for (uint32_t i = 0; i < c->array.len; i++) {
		struct value *x = cast(b, c->array.at[i], DT_INT32);
		x = reduce_all(b, ONNX_ReduceMin, x, false);
		r = emit_(b, ONNX_Sub, r, x);
	}
	return r;
}

/*
 * The same for the lengths of a Reshape to two or more axes: 0 where all conditions hold, else -1
 * or less for each axis, of which ONNX Runtime takes one. A product of no elements is 1. NULL: a
 * condition holds axis by axis.
 */
static struct value *lengths_by_conditions(struct build *b, struct conditions *c)
{
	int64_t less = -(int64_t)((c->one != NULL) + c->array.len), list[MAX_RANK];

	if (b->target != PTGC_ORT_CPU || c->n < 2 || !c->array.len ||
	    (c->one && !is_single(b->cx, &c->one->type)))
		return NULL;
	for (uint32_t i = 0; i < c->n; i++)
		list[i] = less;
	struct value *r = const_ints(b, list, c->n);
	if (c->one)
		r = emit_(b, ONNX_Add, r, cast(b, c->one, DT_INT64));
	for (uint32_t i = 0; i < c->array.len; i++)
		r = emit_(b, ONNX_Add, r, product(b, c->array.at[i]));
	return r;
}

/* Are all lengths of v numbers, and none of them 0? */
static bool has_fixed_lengths(struct build *b, const struct value *v)
{
	int64_t k;

	for (uint32_t i = 0; i < v->type.rank; i++)
		if (!dim_is_const(b->cx, v->type.dims[i], &k) || !k)
			return false;
	return true;
}

static struct value *fail(struct build *b, struct value *v, struct conditions *c, bool reshapes,
			  const char *label)
{
	const dim *dims = v->type.dims;
	int64_t list[MAX_TAKEN] = {0};
	struct value *r;

	if (reshapes) {
		r = lengths_by_conditions(b, c);
		r = emit_(b, ONNX_Reshape, v, r ? r : chosen(b, c, list, -2));
	} else {
		for (uint32_t i = 0; i < c->n; i++)
			list[i] = i;
		if (!c->n)
			v = unsqueeze(b, v, &(int64_t){0}, 1);
		r = index_less_conditions(b, c);
		r = emit_(b, ONNX_Gather, v, r ? r : chosen(b, c, list, c->n ? c->n : 1));
	}
	return labelled(b, with_dims(r, dims), label);
}

/* How v is to fail: by a Reshape? How many numbers are chosen then? */
static bool way_to_fail(struct build *b, const struct value *v, bool constant, uint32_t *n)
{
	int64_t first = 0;
	bool known = has_fixed_lengths(b, v);

	*n = v->type.rank;
	if (v->type.rank && !known && !constant)
		return true;
	if (v->type.rank && known)
		dim_is_const(b->cx, v->type.dims[0], &first);
	*n = first <= MAX_TAKEN ? (uint32_t)first : 0;
	return false;
}

struct value *fail_unless(struct build *b, struct value *v, struct value **conds, uint32_t n,
			  const char *label)
{
	struct conditions c = {.one = NULL};
	bool constant = false;

	/* of what it computes when it loads the model ONNX Runtime takes no Reshape that fails */
	for (uint32_t i = 0; i < n; i++)
		constant |= from_constants(b->cx, conds[i], NULL);
	bool reshapes = way_to_fail(b, v, constant, &c.n);
	for (uint32_t i = 0; i < n; i++)
		if (!take_apart(b, &c, conds[i]))
			add_condition(b, &c, conds[i]);
	if (!c.one && !c.array.len) /* the caller counts on a new value */
		add_condition(b, &c, conds[0]);
	return fail(b, v, &c, reshapes, label);
}

/* ---- several equations: a node for each, so that a run names the one that does not hold ---- */

static struct value *fail_unless_all_equal(struct build *b, struct value *v, const struct sides *s)
{
	struct value *conds[MAX_EQUAL];
	uint32_t n;

	way_to_fail(b, v, false, &n);
	n = sides_equal(b, s, n, conds);
	return fail_unless(b, v, conds, n, what_must_hold(b, s));
}

/*
 * The indices 0, 1, ... or the lengths 0, 0, ... of the node that carries v on, int64[count], or
 * the number 0 where count is 0. They are taken from the only row of a matrix by a chain of nodes,
 * each with the name of its equation: Gather(rows, 2 * difference). No difference but 0 is an index
 * of a row, as 2 * difference is not -1. The last one is a GatherND, which takes the row itself.
 * (ONNX Runtime makes one Reshape of a chain of Reshapes.)
 */
static struct value *integers_if_equal(struct build *b, const struct sides *s, bool indices,
				       uint32_t count)
{
	uint32_t n = s->x.len;
	struct value **d = new_array(b->cx->arena, struct value *, n);
	int64_t *list = new_array(b->cx->arena, int64_t, count + 1u), dims[] = {1, count};

	for (uint32_t i = 0; indices && i < count; i++)
		list[i] = i;
	struct tensor *t = tensor_new(b->cx, DT_INT64, count ? 2 : 1, dims);
	t->data = list;
	struct value *r = const_tensor(b, t);
	differences(b, s, 2, d);
	for (uint32_t i = 0; i < n; i++) {
		struct sides one = {{.at = s->x.at + i, .len = 1}, {.at = s->y.at + i, .len = 1}};
		r = emit_(b, i + 1 < n ? ONNX_Gather : ONNX_GatherND, r, d[i]);
		labelled(b, r, what_must_hold(b, &one));
	}
	return r;
}

struct value *fail_unless_equal(struct build *b, struct value *v, const struct sides *s)
{
	const dim *dims = v->type.dims;
	struct sides named = {{0}, {0}}, others = {{0}, {0}};
	uint32_t n;

	for (uint32_t i = 0; i < s->x.len; i++) {
		bool has_names = sides_have_names(b, &s->x.at[i], &s->y.at[i]);
		struct sides *to = has_names ? &named : &others;
		*vec_push(b->cx->arena, &to->x) = s->x.at[i];
		*vec_push(b->cx->arena, &to->y) = s->y.at[i];
	}
	/* not every runtime refuses an index out of range */
	if (s->x.len == 1 || !named.x.len ||
	    (b->target != PTGC_ORT_CPU && b->target != PTGC_ORT_WEB))
		return fail_unless_all_equal(b, v, s);
	if (others.x.len)
		v = fail_unless_all_equal(b, v, &others);
	if (named.x.len == 1)
		return fail_unless_all_equal(b, v, &named);
	bool reshapes = way_to_fail(b, v, false, &n);
	struct value *k = integers_if_equal(b, &named, !reshapes, n);
	if (!reshapes && !n)
		v = unsqueeze(b, v, &(int64_t){0}, 1);
	return with_dims(emit_(b, reshapes ? ONNX_Reshape : ONNX_Gather, v, k), dims);
}
