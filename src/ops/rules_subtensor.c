/*
 * rules_subtensor.c: shape rules of x[...] and of its updates. In: a node with a normalised
 * idx_list. An item of the list is the number of an index input, or a slice of three such numbers
 * or None; the axes after the last item are taken whole. Out: the types of the results, by NumPy's
 * rules. Slices are clamped. Index arrays broadcast together; their axes come first in the result,
 * unless the arrays are adjacent in the list: then the axes stay in place. A mask of rank k indexes
 * k axes. A length that is not known at compile time is a new unknown, a size of the result.
 */
#include <string.h>

#include "ops/rules.h"

struct indexing {
	struct ctx *cx;
	struct node *n;
	uint32_t first; /* of the index inputs */
	const struct cv *items;
	uint32_t nitems;
	uint32_t axis;         /* the axis of x that the next item indexes */
	dim out[2 * MAX_RANK]; /* dims of the indexed shape; DIM_NONE: not known */
	uint32_t rank;
};

static struct value *index_input(const struct indexing *s, const struct cv *v)
{
	return s->n->in[s->first + (uint32_t)v->u.i];
}

/* --- the index list itself --- */

/* Are there as many index inputs as the items use? false: reported */
static bool check_index_count(struct indexing *s)
{
	uint64_t used = 0, given = s->n->nin - s->first;
	for (uint32_t i = 0; i < s->nitems; i++) {
		bool slice = s->items[i].kind == CV_SLICE;
		const struct cv *v = slice ? s->items[i].u.items : &s->items[i];
		for (int k = 0; k < (slice ? 3 : 1); k++)
			if (v[k].kind == CV_INT && v[k].u.i + 1 > used)
				used = v[k].u.i + 1;
	}
	if (used != given)
		error(s->cx, s->n->span, E_ARITY,
		      "%s: its pattern uses %llu index value%s, got %llu", op_label(s->cx, s->n),
		      (unsigned long long)used, used == 1 ? "" : "s", (unsigned long long)given);
	return used == given;
}

/* first: the number of the first index input. false: reported */
static bool start_indexing(struct indexing *s, struct ctx *cx, struct node *n, uint32_t first)
{
	const struct cv *list = prop(cx, n, "idx_list");
	memset(s, 0, sizeof(*s));
	s->cx = cx;
	s->n = n;
	s->first = first;
	s->items = list->u.items;
	s->nitems = list->n;
	return check_index_count(s);
}

static bool too_many_indices(struct indexing *s)
{
	error(s->cx, s->n->span, E_RANK, "%s: more indices than %s has dims", s->n->op->name,
	      type_str(s->cx, s->n->in[0]->type));
	return false;
}

static bool want_index(struct indexing *s, const struct value *v, const char *what)
{
	if (v->type.rank == 0 && is_int((enum dtype)v->type.dtype))
		return true;
	error(s->cx, s->n->span, v->type.rank ? E_RANK : E_DTYPE,
	      "%s: %s must be a 0-d integer, got %s", s->n->op->name, what,
	      type_str(s->cx, v->type));
	return false;
}

/* --- slices --- */

/* Bound i counted from the front of an axis of length n; DIM_NONE: the sign of i is not known */
static dim slice_bound(struct ctx *cx, dim i, dim n, bool *negative)
{
	*negative = dim_le(cx, i, -1);
	if (*negative)
		return dim_add(cx, i, n);
	return dim_ge(cx, i, 0) ? i : DIM_NONE;
}

/* The length of start:stop:step for step > 0. start and stop are DIM_NONE if the slice leaves them
 * out. start is not clamped to n, nor stop to 0: the length would be negative then, and the last
 * max() makes it 0. DIM_NONE: not known */
static dim forward_slice_length(struct ctx *cx, dim n, dim start, dim stop, int64_t step)
{
	bool negative = false;
	dim zero = dim_const(cx, 0), s = zero, e = n;
	if (start) {
		s = slice_bound(cx, start, n, &negative);
		if (!s)
			return DIM_NONE;
		if (negative && !stop && step == 1)
			return dim_min(cx, dim_neg(cx, start), n);
		s = negative ? dim_max(cx, s, zero) : s;
	}
	if (stop) {
		e = slice_bound(cx, stop, n, &negative);
		if (!e)
			return DIM_NONE;
		e = negative ? e : dim_min(cx, e, n);
	}
	dim len = dim_plus(cx, dim_sub(cx, e, s), step - 1);
	return dim_max(cx, dim_over(cx, len, step), zero);
}

/* The same for step < 0; start is clamped to n - 1 only, stop to -1 only. */
static dim backward_slice_length(struct ctx *cx, dim n, dim start, dim stop, int64_t step)
{
	bool negative;
	int64_t k = -step;
	dim below = dim_const(cx, -1), last = dim_add(cx, n, below), s = last, e = below;
	if (start) {
		s = slice_bound(cx, start, n, &negative);
		if (!s)
			return DIM_NONE;
		s = negative ? s : dim_min(cx, s, last);
	}
	if (stop) {
		e = slice_bound(cx, stop, n, &negative);
		if (!e)
			return DIM_NONE;
		e = negative ? dim_max(cx, e, below) : e;
	}
	dim len = dim_plus(cx, dim_sub(cx, s, e), k - 1), zero = dim_const(cx, 0);
	return dim_max(cx, dim_over(cx, len, k), zero);
}

/* Reads start, stop or step into *d; DIM_NONE: it is left out, or (with *open set) not known. */
static bool read_slice_part(struct indexing *s, const struct cv *v, dim *d, bool *open)
{
	*d = DIM_NONE;
	if (v->kind == CV_NONE)
		return true;
	struct value *i = index_input(s, v);
	if (!want_index(s, i, "a slice bound"))
		return false;
	*d = scalar_dim(s->cx, i);
	*open |= !*d;
	return true;
}

/* *len = the length of the slice v of an axis of length n; DIM_NONE: not known. false: reported */
static bool read_slice_length(struct indexing *s, const struct cv *v, dim n, dim *len)
{
	dim part[3];
	bool open = false;
	int64_t step = 1;
	for (int k = 0; k < 3; k++)
		if (!read_slice_part(s, &v->u.items[k], &part[k], &open))
			return false;
	*len = DIM_NONE;
	if (part[2] && !dim_is_const(s->cx, part[2], &step))
		open = true;
	if (step == 0) {
		error(s->cx, s->n->span, E_RAISES, "%s: the step of a slice is 0", s->n->op->name);
		return false;
	}
	if (open || step <= -INT64_MAX)
		return true;
	*len = step > 0 ? forward_slice_length(s->cx, n, part[0], part[1], step)
			: backward_slice_length(s->cx, n, part[0], part[1], step);
	return true;
}

/* --- integers --- */

/* A constant index on an axis that may be too short: an equation that a later op records may prove
 * that it is. check_indices() reports such errors at the end. */
struct index_check {
	const struct node *node;
	dim length;
	int64_t index;
	uint32_t axis;
};
struct pending {
	vec(struct index_check) list;
};

/* The largest length for which index k is out of range. */
static int64_t largest_too_short(int64_t k)
{
	return k >= 0 ? k : k == INT64_MIN ? INT64_MAX : -k - 1;
}

static struct diag *report_out_of_range(struct ctx *cx, const struct index_check *c)
{
	return error(cx, c->node->span, E_RANGE, "%s: index %lld is out of range for axis %u of %s",
		     c->node->op->name, (long long)c->index, c->axis,
		     type_str(cx, c->node->in[0]->type));
}

void check_indices(struct ctx *cx)
{
	for (uint32_t i = 0; cx->pending && i < cx->pending->list.len; i++) {
		const struct index_check *c = &cx->pending->list.at[i];
		struct span s;
		if (!dim_le(cx, c->length, largest_too_short(c->index)))
			continue;
		struct diag *d = report_out_of_range(cx, c);
		if (dim_equation_span(cx, c->length, &s))
			note(cx, d, s, "this makes the axis that long");
	}
}

/* Can index k be in range of an axis of length n? false: reported */
static bool check_index(struct indexing *s, int64_t k, dim n)
{
	struct ctx *cx = s->cx;
	struct index_check c = {s->n, n, k, s->axis};
	if (dim_le(cx, n, largest_too_short(k))) {
		report_out_of_range(cx, &c);
		return false;
	}
	if (largest_too_short(k) < INT64_MAX && !dim_ge(cx, n, largest_too_short(k) + 1)) {
		if (!cx->pending)
			cx->pending = new (cx->arena, struct pending);
		*vec_push(cx->arena, &cx->pending->list) = c;
	}
	return true;
}

/* *far = the known element of the index array i that needs the longest axis. false: none is known
 */
static bool farthest_index(struct indexing *s, struct value *i, int64_t *far)
{
	const struct known *all = i->type.rank == 1 ? known_of(s->cx, i) : NULL;
	bool any = false;
	int64_t k;
	for (uint32_t at = 0; all && at < all->n; at++)
		if (dim_is_const(s->cx, all->at[at], &k) &&
		    (!any || largest_too_short(k) > largest_too_short(*far))) {
			*far = k;
			any = true;
		}
	if (!i->data || i->data->count > 1000000)
		return any;
	for (uint64_t at = 0; at < i->data->count; at++)
		if (tensor_int(i->data, at, &k) &&
		    (!any || largest_too_short(k) > largest_too_short(*far))) {
			*far = k;
			any = true;
		}
	return any;
}

/* Can the known elements of index i be in range of an axis of length n? false: reported */
static bool check_range(struct indexing *s, struct value *i, dim n)
{
	int64_t k;
	dim d = scalar_dim(s->cx, i);
	if (d)
		return !dim_is_const(s->cx, d, &k) || check_index(s, k, n);
	return !farthest_index(s, i, &k) || check_index(s, k, n);
}

/* --- basic indexing: integers and slices --- */

static bool index_slice(struct indexing *s, const struct cv *v)
{
	const struct type *x = &s->n->in[0]->type;
	if (s->axis >= x->rank)
		return too_many_indices(s);
	if (!read_slice_length(s, v, x->dims[s->axis], &s->out[s->rank]))
		return false;
	s->rank++;
	s->axis++;
	return true;
}

static void take_rest_of_axes(struct indexing *s)
{
	const struct type *x = &s->n->in[0]->type;
	while (s->axis < x->rank)
		s->out[s->rank++] = x->dims[s->axis++];
}

static bool index_basic(struct indexing *s)
{
	const struct type *x = &s->n->in[0]->type;
	for (uint32_t i = 0; i < s->nitems; i++) {
		const struct cv *v = &s->items[i];
		if (v->kind == CV_SLICE) {
			if (!index_slice(s, v))
				return false;
			continue;
		}
		if (s->axis >= x->rank)
			return too_many_indices(s);
		struct value *index = index_input(s, v);
		if (!want_index(s, index, "an index") || !check_range(s, index, x->dims[s->axis]))
			return false;
		s->axis++;
	}
	take_rest_of_axes(s);
	return true;
}

/* --- advanced indexing --- */

/* The number of true elements of a constant mask; DIM_NONE: the mask is no constant. */
static dim count_true(struct indexing *s, const struct value *mask)
{
	int64_t v, count = 0;
	if (!mask->data || mask->data->count > 1000000)
		return DIM_NONE;
	for (uint64_t i = 0; i < mask->data->count; i++)
		count += tensor_int(mask->data, i, &v) && v;
	return dim_const(s->cx, count);
}

/* A mask of rank k acts as k index vectors of one length: sets the type of `array` to that of one
 * of them. */
static bool index_mask(struct indexing *s, struct value *mask, struct value *array)
{
	const struct type *x = &s->n->in[0]->type, *m = &mask->type;
	if (m->rank == 0) {
		error(s->cx, s->n->span, E_RANK, "%s: a mask has at least one dim", s->n->op->name);
		return false;
	}
	if (m->rank > x->rank - s->axis)
		return too_many_indices(s);
	for (uint32_t k = 0; k < m->rank; k++) {
		if (dim_unify(s->cx, m->dims[k], x->dims[s->axis++], s->n->span))
			continue;
		error(s->cx, s->n->span, E_SHAPE, "%s: the mask %s does not fit axis %u of %s",
		      s->n->op->name, type_str(s->cx, *m), s->axis - 1, type_str(s->cx, *x));
		return false;
	}
	dim *d = new_dims(s->cx, 1);
	d[0] = count_true(s, mask);
	if (!d[0])
		d[0] = dim_fresh(s->cx, SOURCE_NONE, NULL, 0);
	array->type = (struct type){DT_INT64, 1, d};
	return true;
}

/* Sets the type of `array` to that of the index array v. */
static bool index_array(struct indexing *s, struct value *v, struct value *array)
{
	const struct type *x = &s->n->in[0]->type;
	if (v->type.dtype == DT_BOOL)
		return index_mask(s, v, array);
	if (!is_int((enum dtype)v->type.dtype)) {
		error(s->cx, s->n->span, E_DTYPE, "%s: indices must be integers or masks, got %s",
		      s->n->op->name, type_str(s->cx, v->type));
		return false;
	}
	if (s->axis >= x->rank)
		return too_many_indices(s);
	if (!check_range(s, v, x->dims[s->axis]))
		return false;
	s->axis++;
	array->type = v->type;
	return true;
}

/* Is a length proved not to be 1? Then it never broadcasts. */
static bool is_never_one(struct ctx *cx, dim d)
{
	return dim_ge(cx, d, 2) || dim_le(cx, d, 0);
}

/*
 * *length = the broadcast length of the index arrays on axis k of `rank`; DIM_NONE: several lengths
 * may be 1, and NumPy broadcasts them at run time. false: they do not broadcast (not reported)
 */
static bool broadcast_arrays(struct indexing *s, struct value **arrays, uint32_t count,
			     uint32_t rank, uint32_t k, dim *length)
{
	dim fixed = DIM_NONE, open = DIM_NONE;
	bool many = false;
	for (uint32_t i = 0; i < count; i++) {
		const struct type *t = &arrays[i]->type;
		if (k + t->rank < rank || dim_says_one(s->cx, t->dims[k + t->rank - rank]))
			continue;
		dim d = t->dims[k + t->rank - rank];
		if (!is_never_one(s->cx, d)) {
			many |= open && !dim_eq(s->cx, open, d);
			open = open ? open : d;
		} else if (!fixed) {
			fixed = d;
		} else if (!dim_meet(s->cx, &fixed, d, s->n->span)) {
			return false;
		}
	}
	*length = fixed ? fixed : many ? DIM_NONE : open ? open : dim_const(s->cx, 1);
	return true;
}

/* Inserts the broadcast dims of all index arrays at axis `at` of the result. */
static bool insert_arrays(struct indexing *s, struct value **arrays, uint32_t count, uint32_t at)
{
	dim d[MAX_RANK];
	uint32_t rank = 0;
	for (uint32_t i = 0; i < count; i++)
		if (arrays[i]->type.rank > rank)
			rank = arrays[i]->type.rank;
	for (uint32_t k = 0; k < rank; k++)
		if (!broadcast_arrays(s, arrays, count, rank, k, &d[k])) {
			error(s->cx, s->n->span, E_SHAPE,
			      "%s: the index arrays do not broadcast on axis %u",
			      op_label(s->cx, s->n), k);
			return false;
		}
	if (s->rank + rank > MAX_RANK) {
		error(s->cx, s->n->span, E_RANK, "%s: more than %d dims", s->n->op->name, MAX_RANK);
		return false;
	}
	memmove(&s->out[at + rank], &s->out[at], (s->rank - at) * sizeof(dim));
	memcpy(&s->out[at], d, rank * sizeof(dim));
	s->rank += rank;
	return true;
}

static bool index_advanced(struct indexing *s)
{
	struct value *arrays[MAX_RANK];
	uint32_t count = 0, at = 0, last = 0;
	bool adjacent = true;
	for (uint32_t i = 0; i < s->nitems; i++) {
		const struct cv *v = &s->items[i];
		if (v->kind == CV_SLICE) {
			if (!index_slice(s, v))
				return false;
			continue;
		}
		if (s->axis >= s->n->in[0]->type.rank)
			return too_many_indices(s);
		adjacent &= !count || last + 1 == i;
		if (!count)
			at = s->rank;
		last = i;
		arrays[count] = new (s->cx->arena, struct value);
		if (!index_array(s, index_input(s, v), arrays[count++]))
			return false;
	}
	take_rest_of_axes(s);
	return !count || insert_arrays(s, arrays, count, adjacent ? at : 0);
}

/* --- the rules --- */

/* Sets the type of the result of x[...]; a length that is not known is a size of the result. */
static bool set_indexed_type(struct indexing *s)
{
	struct value *out = s->n->out[0];
	dim *d = new_dims(s->cx, s->rank);
	for (uint32_t i = 0; i < s->rank; i++) {
		d[i] = s->out[i] ? s->out[i] : dim_fresh(s->cx, SOURCE_SIZE, out, i);
		struct dim_view v = dim_view(s->cx, d[i]);
		if (v.form == DIM_ATOM && v.kind == SOURCE_NONE && !v.name)
			dim_set_source(s->cx, d[i], SOURCE_SIZE, out, i);
	}
	set_type(s->n, 0, (enum dtype)out->type.dtype, s->rank, d);
	return true;
}

/* x[i].set(y) with one vector i: y must have the length of i in PyTensor, and does not broadcast at
 * run time. */
static bool is_one_index_vector(const struct indexing *s)
{
	if (s->nitems != 1 || s->items[0].kind != CV_INT)
		return false;
	const struct type *t = &index_input(s, &s->items[0])->type;
	return t->rank == 1 && t->dtype != DT_BOOL;
}

/* Can length y of x[...].set(y) broadcast to the indexed length `to`? */
static bool unify_update_length(struct indexing *s, dim y, dim to)
{
	struct ctx *cx = s->cx;
	if (!to || dim_says_one(cx, y) || dim_eq(cx, y, to))
		return true;
	struct dim_view v = dim_view(cx, to);
	if (v.form == DIM_ATOM && v.kind == SOURCE_NONE && !v.name)
		return true;
	if (is_one_index_vector(s) || is_never_one(cx, y) || dim_says_one(cx, to))
		return dim_unify(cx, y, to, s->n->span);
	return !dim_ne(cx, y, to) || !dim_ne(cx, y, dim_const(cx, 1));
}

/* Sets the type of the result of x[...].set(y), where y must broadcast to the indexed shape.
 * Lengths that are not known are not checked here: the model fails at run time. */
static bool set_updated_type(struct indexing *s)
{
	const struct type *x = &s->n->in[0]->type, *y = &s->n->in[1]->type;
	uint32_t skip = s->rank - y->rank;
	bool ok = y->rank <= s->rank;
	for (uint32_t i = 0; ok && i < y->rank; i++)
		ok = unify_update_length(s, y->dims[i], s->out[skip + i]);
	if (ok) {
		set_type(s->n, 0, (enum dtype)x->dtype, x->rank, x->dims);
		return true;
	}
	struct strbuf b = {.arena = s->cx->arena};
	for (uint32_t i = 0; i < s->rank; i++)
		sb_printf(&b, "%s%s", i ? ", " : "", s->out[i] ? dim_str(s->cx, s->out[i]) : "?");
	error(s->cx, s->n->span, E_SHAPE, "%s: %s does not broadcast to the indexed shape (%s)",
	      s->n->op->name, type_str(s->cx, *y), b.s ? b.s : "");
	return false;
}

bool sh_subtensor(struct ctx *cx, struct node *n)
{
	struct indexing s;
	return start_indexing(&s, cx, n, 1) && index_basic(&s) && set_indexed_type(&s);
}

bool sh_incsubtensor(struct ctx *cx, struct node *n)
{
	struct indexing s;
	return start_indexing(&s, cx, n, 2) && index_basic(&s) && set_updated_type(&s);
}

bool sh_advsubtensor(struct ctx *cx, struct node *n)
{
	struct indexing s;
	return start_indexing(&s, cx, n, 1) && index_advanced(&s) && set_indexed_type(&s);
}

bool sh_advincsubtensor(struct ctx *cx, struct node *n)
{
	struct indexing s;
	return start_indexing(&s, cx, n, 2) && index_advanced(&s) && set_updated_type(&s);
}
