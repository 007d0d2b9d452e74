/*
 * dims.c: dims as ONNX values. In: a symbolic dim, say 2*n+1. Out: nodes that compute it at run
 * time from what its atoms are: lengths of axes (Shape) and elements of integer values; a constant
 * where the dim is a number. No equation is added here. Must hold: the values that atoms come from
 * are lowered and visible, or dims_record() has seen another axis of the same length.
 */
#include <string.h>

#include "lower/build.h"

#define MAX_EXPRESSION 200 /* operations in a dim that is computed; longer ones are refused */

struct dim_at { /* an axis of an ONNX value has this size; key 0: a free slot */
	dim key;
	struct value *v;
	uint32_t axis;
};

/* d as it is to be computed. A check compares two sides that the equations have made one dim, so it
 * needs them as they were before. */
static struct dim_view view(struct build *b, dim d)
{
	return b->scope->shared->dims_as_made ? dim_view_as_made(b->cx, d) : dim_view(b->cx, d);
}

/* --- axes by their length, for atoms whose own source is not lowered yet --- */

static uint32_t dim_hash(dim d)
{
	return (uint32_t)(d * 0x9e3779b1u) >> 7;
}

static struct dim_at *find_at(struct build_scope *c, dim key)
{
	uint32_t i = dim_hash(key) & (c->dims_cap - 1);

	while (c->dims[i].key && c->dims[i].key != key)
		i = (i + 1) & (c->dims_cap - 1);
	return &c->dims[i];
}

static void grow_dims(struct build *b, struct build_scope *c)
{
	struct dim_at *old = c->dims;
	uint32_t n = c->dims_cap;

	c->dims_cap = n ? 4 * n : 32;
	c->dims = new_array(b->cx->arena, struct dim_at, c->dims_cap);
	for (uint32_t i = 0; i < n; i++)
		if (old[i].key)
			*find_at(c, old[i].key) = old[i];
}

void dims_record(struct build *b, struct value *v)
{
	struct build_scope *c = b->scope;
	int64_t k;

	for (uint32_t i = 0; i < v->type.rank; i++) {
		dim d = dim_find(b->cx, v->type.dims[i]);
		if (dim_is_const(b->cx, d, &k))
			continue;
		if (2 * c->dims_len >= c->dims_cap)
			grow_dims(b, c);
		struct dim_at *at = find_at(c, d);
		if (at->key)
			continue;
		*at = (struct dim_at){.key = d, .v = v->lowered, .axis = i};
		c->dims_len++;
	}
}

/* An axis of length d. Equations that were found since may have changed the key of d: then all
 * entries are compared. */
static struct dim_at *recorded(struct build *b, dim d)
{
	dim key = dim_find(b->cx, d);

	for (struct build_scope *c = b->scope; c; c = c->outer) {
		struct dim_at *at = c->dims_cap ? find_at(c, key) : NULL;
		if (at && at->key)
			return at;
	}
	for (struct build_scope *c = b->scope; c; c = c->outer)
		for (uint32_t i = 0; i < c->dims_cap; i++)
			if (c->dims[i].key && dim_eq(b->cx, c->dims[i].key, d))
				return &c->dims[i];
	return NULL;
}

static struct value *source_of_atom(struct build *b, const struct dim_view *v)
{
	struct value *s = v->source;

	if (v->kind == SOURCE_NONE || !s)
		return NULL;
	s = s->data ? low_constant(b, s) : lowered_value(b, s);
	return s && visible(b, s) ? s : NULL;
}

static bool available(struct build *b, dim d, int *budget)
{
	struct dim_view v = view(b, d);

	if (--*budget < 0)
		return false;
	if (v.form == DIM_CONST)
		return true;
	if (v.form == DIM_ATOM)
		return source_of_atom(b, &v) != NULL;
	for (uint32_t i = 0; i < v.nterms; i++)
		if (!available(b, v.term[i], budget))
			return false;
	return true;
}

/* Can d be computed here from the sources of its atoms? */
bool dim_available(struct build *b, dim d)
{
	int budget = MAX_EXPRESSION / 4;

	return available(b, d, &budget);
}

/* Is every atom of d the length of an axis? */
bool dim_is_size(struct build *b, dim d)
{
	return !(dim_sources(b->cx, d, b->scope->shared->dims_as_made) & ~FROM_SIZE);
}

/* --- arithmetic on int64[1] (vec) or int64[] --- */

static struct value *number(struct build *b, int64_t k, bool vec)
{
	return vec ? const_ints(b, &k, 1) : const_int(b, k);
}

static struct value *size_at(struct build *b, struct value *v, uint32_t axis, bool vec)
{
	if (vec)
		return shape_slice(b, v, (int)axis, (int)axis + 1);
	if (v->type.rank == 1)
		return emit_(b, ONNX_Size, v);
	struct value *shape = shape_of(b, v);
	return emit_(b, ONNX_Gather, shape, const_int(b, axis));
}

static struct value *value_at(struct build *b, struct value *s, uint32_t at, bool vec)
{
	s = cast(b, s, DT_INT64);
	if (s->type.rank == 0)
		return vec ? vector_of(b, s) : s;
	struct value *i = vec ? const_ints(b, &(int64_t){at}, 1) : const_int(b, at);
	return emit_(b, ONNX_Gather, s, i);
}

static struct value *eval_atom(struct build *b, dim d, const struct dim_view *v, bool vec)
{
	struct value *s = source_of_atom(b, v);

	if (s && v->kind == SOURCE_VALUE)
		return value_at(b, s, v->at, vec);
	if (s)
		return size_at(b, s, v->at, vec);
	struct dim_at *at = b->scope->shared->dims_as_made ? NULL : recorded(b, d);
	if (at)
		return size_at(b, at->v, at->axis, vec);
	b->scope->shared->failed |= b->scope->shared->param_lost;
	unsupported(b, "the size '%s' cannot be computed where it is needed: no input gives it",
		    dim_str(b->cx, d));
	return number(b, 0, vec);
}

static struct value *eval(struct build *b, dim d, bool vec, int *budget);

static struct value *eval_sum(struct build *b, const struct dim_view *v, bool vec, int *budget)
{
	struct value *r = NULL;
	int64_t constant = v->constant;

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < v->nterms; i++) {
			if ((v->coef[i] < 0) != pass)
				continue;
			struct value *x = eval(b, v->term[i], vec, budget);
			bool minus = pass && (r || constant || v->coef[i] == -1);
			int64_t c = v->coef[i];
			if (minus) /* the smallest int64 stays as it is */
				c = (int64_t)(0 - (uint64_t)c);
			if (c != 1)
				x = emit_(b, ONNX_Mul, x, number(b, c, vec));
			if (!r && minus) {
				r = number(b, constant, vec);
				constant = 0;
			}
			r = !r ? x : emit_(b, minus ? ONNX_Sub : ONNX_Add, r, x);
		}
	}
	if (!r)
		return number(b, constant, vec);
	return constant ? emit_(b, ONNX_Add, r, number(b, constant, vec)) : r;
}

/* Python's //. ONNX's Div truncates, which is the same where neither operand is negative. A length
 * x is rounded down by subtracting x mod y first; an element of an integer value may be so near to
 * the smallest int64 that this would overflow, so its quotient is corrected afterwards. */
static struct value *eval_floordiv(struct build *b, const struct dim_view *v, struct value *x,
				   struct value *y)
{
	bool positive = dim_ge(b->cx, v->term[1], 1);

	if (dim_ge(b->cx, v->term[0], 0) && positive)
		return emit_(b, ONNX_Div, x, y);
	if (dim_is_size(b, v->term[0]))
		return emit_(b, ONNX_Div, emit_(b, ONNX_Sub, x, emit_(b, ONNX_Mod, x, y)), y);
	struct value *q = emit_(b, ONNX_Div, x, y), *back = emit_(b, ONNX_Mul, q, y);
	struct value *above =
		positive ? emit_(b, ONNX_Less, x, back) : emit_(b, ONNX_Less, back, x);
	return emit_(b, ONNX_Sub, q, cast(b, above, DT_INT64));
}

/* If d is the product of all lengths of one value, say n*m of x: float64[n, m]: its Size, one node.
 * NULL: d is no such thing. */
static struct value *eval_number_of_elements(struct build *b, dim d, const struct dim_view *v,
					     bool vec)
{
	dim whole = dim_const(b->cx, 1);

	if (b->scope->shared->dims_as_made || !v->nterms ||
	    !(v->form == DIM_PRODUCT || (v->form == DIM_SUM && v->nterms == 1 && !v->constant)))
		return NULL;
	struct dim_view inner = view(b, v->term[0]);
	if (inner.form == DIM_PRODUCT)
		inner = view(b, inner.term[0]);
	struct value *s = inner.form == DIM_ATOM && inner.kind == SOURCE_SIZE ? inner.source : NULL,
		     *x = s ? source_of_atom(b, &inner) : NULL;
	if (!x || x->type.rank != s->type.rank)
		return NULL;
	for (uint32_t i = 0; i < s->type.rank; i++)
		whole = dim_mul(b->cx, whole, s->type.dims[i]);
	if (!dim_eq(b->cx, whole, d))
		return NULL;
	return vec ? vector_of(b, emit_(b, ONNX_Size, x)) : emit_(b, ONNX_Size, x);
}

static struct value *eval(struct build *b, dim d, bool vec, int *budget)
{
	struct dim_view v = view(b, d);

	if (--*budget < 0) {
		if (*budget == -1)
			unsupported(b, "the size '%s' is too long an expression",
				    dim_str(b->cx, d));
		return number(b, 0, vec);
	}
	if (v.form == DIM_CONST)
		return number(b, v.constant, vec);
	if (v.form == DIM_ATOM)
		return eval_atom(b, d, &v, vec);
	struct value *count = eval_number_of_elements(b, d, &v, vec);
	if (count)
		return count;
	if (v.form == DIM_SUM)
		return eval_sum(b, &v, vec, budget);
	struct value *r = eval(b, v.term[0], vec, budget);
	for (uint32_t i = 1; i < v.nterms; i++) {
		struct value *x = eval(b, v.term[i], vec, budget);
		if (v.form == DIM_FLOORDIV) {
			r = eval_floordiv(b, &v, r, x);
			continue;
		}
		b->scope->shared->small_ints = dim_is_size(b, d);
		r = emit_(b,
			  v.form == DIM_MAX   ? ONNX_Max
			  : v.form == DIM_MIN ? ONNX_Min
			  : v.form == DIM_MOD ? ONNX_Mod
					      : ONNX_Mul,
			  r, x);
		b->scope->shared->small_ints = false;
	}
	return r;
}

/* Notes that the elements of v are d[0..n). */
static void set_known(struct build *b, struct value *v, const dim *d, uint32_t n)
{
	if (v->known || v->data)
		return;
	struct known *k = arena_alloc(b->cx->arena, sizeof(*k) + n * sizeof(dim));
	k->n = n;
	memcpy(k->at, d, n * sizeof(dim));
	v->known = k;
}

/* Where atoms of d cannot be computed, some axis may still have the length d itself. */
static struct value *eval_top(struct build *b, dim d, bool vec)
{
	int budget = MAX_EXPRESSION;
	int64_t k;
	struct dim_at *at = NULL;
	bool as_made = b->scope->shared->dims_as_made;

	if (!as_made && !dim_is_const(b->cx, d, &k) && !dim_available(b, d))
		at = recorded(b, d);
	struct value *r = at ? size_at(b, at->v, at->axis, vec) : eval(b, d, vec, &budget);
	if (!as_made)
		set_known(b, r, &d, 1);
	return r;
}

struct value *dim_value(struct build *b, dim d)
{
	return eval_top(b, d, false);
}

struct value *dim_vector(struct build *b, dim d)
{
	return eval_top(b, d, true);
}

/* How many of d[0..n), from the first one on, are lengths of successive axes of one value: *from
 * and its first *axis. One Shape and one Slice give them. */
static uint32_t run_of_axes(struct build *b, const dim *d, uint32_t n, struct value **from,
			    uint32_t *axis)
{
	struct dim_view v = view(b, d[0]);
	uint32_t k = 1;

	if (v.form != DIM_ATOM || v.kind != SOURCE_SIZE)
		return 0;
	*from = source_of_atom(b, &v);
	*axis = v.at;
	if (!*from)
		return 0;
	while (k < n && v.at + k < (*from)->type.rank &&
	       dim_eq(b->cx, d[k], (*from)->type.dims[v.at + k]))
		k++;
	return k;
}

/* Are all dims lengths of successive axes of one value? */
bool dims_are_lengths_of_one_value(struct build *b, const dim *dims, uint32_t n)
{
	struct value *from;
	uint32_t axis;

	return n && run_of_axes(b, dims, n, &from, &axis) == n;
}

static uint32_t run_of_constants(struct build *b, const dim *d, uint32_t n, int64_t *out)
{
	uint32_t k = 0;

	while (k < n && dim_is_const(b->cx, d[k], &out[k]))
		k++;
	return k;
}

/* How many of d[0..n), from the first one on, are successive elements of one integer vector; *from:
 * these elements */
static uint32_t run_of_elements(struct build *b, const dim *d, uint32_t n, struct value **from)
{
	struct dim_view v = view(b, d[0]);
	struct value *s =
		v.form == DIM_ATOM && v.kind == SOURCE_VALUE ? source_of_atom(b, &v) : NULL;
	int64_t at[MAX_KNOWN];
	uint32_t k = 0;

	if (!s || s->type.rank != 1 || s->data)
		return 0;
	for (struct dim_view w = v; k < n && k < MAX_KNOWN; k++) {
		w = view(b, d[k]);
		if (w.form != DIM_ATOM || w.kind != SOURCE_VALUE || w.source != v.source)
			break;
		at[k] = w.at;
		if (at[k] != at[0] + k)
			break;
	}
	if (k < 2)
		return 0;
	*from = cast(b, s, DT_INT64);
	if (!dim_is(b->cx, s->type.dims[0], k))
		*from = emit_(b, ONNX_Gather, *from, const_ints(b, at, k));
	return k;
}

/* Is d times * atom + plus? */
static bool is_linear_in(struct build *b, dim d, dim atom, int64_t *times, int64_t *plus)
{
	struct dim_view v = view(b, d);

	*times = 1;
	*plus = 0;
	if (v.form == DIM_ATOM)
		return dim_eq(b->cx, d, atom);
	*plus = v.constant;
	if (v.form != DIM_SUM || v.nterms != 1 || !dim_eq(b->cx, v.term[0], atom))
		return false;
	*times = v.coef[0];
	return true;
}

/* How many of d[0..n), from the first one on, are lengths of successive axes of one value, each
 * times and plus a number, as 2*n and m+1 of x: float64[n, m]. Then the arithmetic is done on a
 * whole part of the Shape at once. 0: this saves nothing. */
static uint32_t run_of_linear_axes(struct build *b, const dim *d, uint32_t n, struct value **from)
{
	struct dim_view v = view(b, d[0]), a = v;
	int64_t times[MAX_RANK], plus[MAX_RANK], len;
	bool mul = false, add = false;
	uint32_t k = 0;

	if (v.form == DIM_SUM && v.nterms == 1)
		a = view(b, v.term[0]);
	struct value *s =
		a.form == DIM_ATOM && a.kind == SOURCE_SIZE ? source_of_atom(b, &a) : NULL;
	for (; s && k < n && a.at + k < s->type.rank; k++) {
		dim axis = s->type.dims[a.at + k];
		if (dim_is_const(b->cx, axis, &len)) {
			if (!dim_eq(b->cx, d[k], axis))
				break;
			times[k] = 1;
			plus[k] = 0;
		} else if (!is_linear_in(b, d[k], axis, &times[k], &plus[k])) {
			break;
		}
		mul |= times[k] != 1;
		add |= plus[k] != 0;
	}
	if (k < 2 || !(mul || add))
		return 0;
	*from = shape_slice(b, s, (int)a.at, (int)(a.at + k));
	if (mul)
		*from = emit_(b, ONNX_Mul, *from, const_ints(b, times, k));
	if (add)
		*from = emit_(b, ONNX_Add, *from, const_ints(b, plus, k));
	return k;
}

struct value *dims_vector(struct build *b, const dim *dims, uint32_t n)
{
	struct value *part[MAX_KNOWN + MAX_RANK], *from;
	int64_t ints[MAX_KNOWN + MAX_RANK];
	uint32_t count = 0, axis;

	if (!n)
		return const_ints(b, NULL, 0);
	for (uint32_t i = 0, k; i < n; i += k) {
		k = run_of_constants(b, dims + i, n - i, ints);
		if (k) {
			part[count++] = const_ints(b, ints, k);
			continue;
		}
		k = run_of_linear_axes(b, dims + i, n - i, &from);
		if (!k)
			k = run_of_elements(b, dims + i, n - i, &from);
		if (k) {
			part[count++] = from;
			continue;
		}
		k = run_of_axes(b, dims + i, n - i, &from, &axis);
		if (k) {
			part[count++] = shape_slice(b, from, (int)axis, (int)(axis + k));
			continue;
		}
		part[count++] = dim_vector(b, dims[i]);
		k = 1;
	}
	struct value *r = concat(b, 0, part, count);
	set_known(b, r, dims, n);
	return r;
}

bool dim_is_sum_of_sizes(struct build *b, dim d, int *budget)
{
	struct dim_view v = dim_view_as_made(b->cx, d);
	bool one = false, all = true;

	if (--*budget < 0 || v.form == DIM_CONST)
		return *budget >= 0 && v.constant >= 0;
	if (v.form == DIM_ATOM)
		return v.kind == SOURCE_SIZE;
	for (uint32_t i = 0; i < v.nterms; i++) {
		bool ok = dim_is_sum_of_sizes(b, v.term[i], budget);
		one |= ok;
		all &= ok && (v.form != DIM_SUM || v.coef[i] >= 0);
	}
	return v.form == DIM_MAX ? one : all && (v.form != DIM_SUM || v.constant >= 0);
}

dim next_atom(struct build *b, struct dim_walk *w)
{
	while (w->todo.len) {
		dim d = w->todo.at[--w->todo.len];
		struct dim_view v = dim_view_as_made(b->cx, d);
		while (w->seen.len <= d)
			*vec_push(b->cx->scratch, &w->seen) = 0;
		if (w->seen.at[d] == w->round)
			continue;
		w->seen.at[d] = w->round;
		for (uint32_t i = 0; i < v.nterms; i++)
			*vec_push(b->cx->scratch, &w->todo) = v.term[i];
		if (v.form == DIM_ATOM)
			return d;
	}
	return DIM_NONE;
}
