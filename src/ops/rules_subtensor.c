/*
 * rules_subtensor.c: shapes of x[...] and of its updates. In: a node with a normalised idx_list:
 * items are positions among the index inputs, or slices of three positions or None; missing
 * trailing axes are full. Out: the types of the results, with NumPy's rules: slices clamp, index
 * arrays broadcast together and stay in place where they are adjacent, otherwise they come first, a
 * mask of rank k takes k axes. A length that is only known at run time is a size of the result.
 */
#include <string.h>

#include "ops/rules.h"

struct indexing {
	struct ctx *cx;
	struct node *n;
	uint32_t first; /* of the index inputs */
	const struct cv *items;
	uint32_t nitems;
	uint32_t axis;         /* of x, that the next item is for */
	dim out[2 * MAX_RANK]; /* DIM_NONE: only known at run time */
	uint32_t rank;
};

static struct value *index_at(const struct indexing *s, const struct cv *v)
{
	return s->n->in[s->first + (uint32_t)v->u.i];
}

/* --- the index list itself --- */

static void use_position(const struct cv *v, uint64_t *most)
{
	if (v->kind == CV_INT && v->u.i + 1 > *most)
		*most = v->u.i + 1;
}

static bool check_list(struct indexing *s)
{
	uint64_t most = 0, given = s->n->nin - s->first;
	for (uint32_t i = 0; i < s->nitems; i++) {
		const struct cv *v = &s->items[i];
		use_position(v, &most);
		for (int k = 0; v->kind == CV_SLICE && k < 3; k++)
			use_position(&v->u.items[k], &most);
	}
	if (most != given)
		error(s->cx, s->n->span, E_ARITY,
		      "%s: its pattern uses %llu index value%s, got %llu", op_label(s->cx, s->n),
		      (unsigned long long)most, most == 1 ? "" : "s", (unsigned long long)given);
	return most == given;
}

static bool open_indexing(struct indexing *s, struct ctx *cx, struct node *n, uint32_t first)
{
	const struct cv *list = prop(cx, n, "idx_list");
	memset(s, 0, sizeof(*s));
	s->cx = cx;
	s->n = n;
	s->first = first;
	s->items = list->u.items;
	s->nitems = list->n;
	return check_list(s);
}

static bool too_many(struct indexing *s)
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

static dim smaller(struct ctx *cx, dim a, dim b)
{
	if (dim_ge(cx, dim_sub(cx, b, a), 0))
		return a;
	return dim_ge(cx, dim_sub(cx, a, b), 0) ? b : dim_min(cx, a, b);
}

static dim larger(struct ctx *cx, dim a, dim b)
{
	if (dim_ge(cx, dim_sub(cx, b, a), 0))
		return b;
	return dim_ge(cx, dim_sub(cx, a, b), 0) ? a : dim_max(cx, a, b);
}

/* A bound from the end counts from n. Its sign has to be known: DIM_NONE if it is not. */
static dim bound(struct ctx *cx, dim i, dim n, bool *negative)
{
	*negative = dim_le(cx, i, -1);
	if (*negative)
		return dim_add(cx, i, n);
	return dim_ge(cx, i, 0) ? i : DIM_NONE;
}

/* Length of start:stop:step for step > 0; start and stop DIM_NONE: left out. Below, `start` needs
 * no upper clamp and `stop` no lower one: what they would change is negative, which max() takes to
 * 0. */
static dim forward(struct ctx *cx, dim n, dim start, dim stop, int64_t step)
{
	bool negative = false;
	dim zero = dim_const(cx, 0), s = zero, e = n;
	if (start) {
		s = bound(cx, start, n, &negative);
		if (!s)
			return DIM_NONE;
		if (negative && !stop && step == 1)
			return smaller(cx, dim_neg(cx, start), n);
		s = negative ? larger(cx, s, zero) : s;
	}
	if (stop) {
		e = bound(cx, stop, n, &negative);
		if (!e)
			return DIM_NONE;
		e = negative ? e : smaller(cx, e, n);
	}
	dim len = dim_add(cx, dim_sub(cx, e, s), dim_const(cx, step - 1));
	return larger(cx, dim_floordiv(cx, len, dim_const(cx, step)), zero);
}

/* The same for step < 0; here `start` is clamped above only, `stop` below only. */
static dim backward(struct ctx *cx, dim n, dim start, dim stop, int64_t step)
{
	bool negative;
	int64_t k = -step;
	dim below = dim_const(cx, -1), last = dim_add(cx, n, below), s = last, e = below;
	if (start) {
		s = bound(cx, start, n, &negative);
		if (!s)
			return DIM_NONE;
		s = negative ? s : smaller(cx, s, last);
	}
	if (stop) {
		e = bound(cx, stop, n, &negative);
		if (!e)
			return DIM_NONE;
		e = negative ? larger(cx, e, below) : e;
	}
	dim len = dim_add(cx, dim_sub(cx, s, e), dim_const(cx, k - 1));
	return larger(cx, dim_floordiv(cx, len, dim_const(cx, k)), dim_const(cx, 0));
}

/* One part of a slice: *d its value, DIM_NONE where it is left out; *open where it is not known. */
static bool slice_part(struct indexing *s, const struct cv *v, dim *d, bool *open)
{
	*d = DIM_NONE;
	if (v->kind == CV_NONE)
		return true;
	struct value *i = index_at(s, v);
	if (!want_index(s, i, "a slice bound"))
		return false;
	*d = scalar_dim(s->cx, i);
	*open |= !*d;
	return true;
}

/* Length of one slice into *len; DIM_NONE where it is open. */
static bool slice_length(struct indexing *s, const struct cv *v, dim n, dim *len)
{
	dim part[3];
	bool open = false;
	int64_t step = 1;
	for (int k = 0; k < 3; k++)
		if (!slice_part(s, &v->u.items[k], &part[k], &open))
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
	*len = step > 0 ? forward(s->cx, n, part[0], part[1], step)
			: backward(s->cx, n, part[0], part[1], step);
	return true;
}

/* --- integers --- */

/* A constant index on an axis that is not known to be long enough: a later equation may say. */
struct index_check {
	const struct node *node;
	dim length;
	int64_t index;
	uint32_t axis;
};
struct pending {
	vec(struct index_check) list;
};

/* The length from which on index k is in range, less one. */
static int64_t last_short(int64_t k)
{
	return k >= 0 ? k : k == INT64_MIN ? INT64_MAX : -k - 1;
}

static struct diag *out_of_range(struct ctx *cx, const struct index_check *c)
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
		if (!dim_le(cx, c->length, last_short(c->index)))
			continue;
		struct diag *d = out_of_range(cx, c);
		if (dim_equation_span(cx, c->length, &s))
			note(cx, d, s, "the axis has this length because of what is done here");
	}
}

static bool in_range(struct indexing *s, int64_t k, dim n)
{
	struct ctx *cx = s->cx;
	struct index_check c = {s->n, n, k, s->axis};
	if (dim_le(cx, n, last_short(k))) {
		out_of_range(cx, &c);
		return false;
	}
	if (last_short(k) < INT64_MAX && !dim_ge(cx, n, last_short(k) + 1)) {
		if (!cx->pending)
			cx->pending = new (cx->arena, struct pending);
		*vec_push(cx->arena, &cx->pending->list) = c;
	}
	return true;
}

/* The one of the numbers that needs the longest axis; false: none is known. */
static bool farthest(struct indexing *s, struct value *i, int64_t *far)
{
	const struct known *all = i->type.rank == 1 ? known_of(s->cx, i) : NULL;
	bool any = false;
	int64_t k;
	for (uint32_t at = 0; all && at < all->n; at++)
		if (dim_is_const(s->cx, all->at[at], &k) &&
		    (!any || last_short(k) > last_short(*far))) {
			*far = k;
			any = true;
		}
	if (!i->data || i->data->count > 1000000)
		return any;
	for (uint64_t at = 0; at < i->data->count; at++)
		if (tensor_int(i->data, at, &k) && (!any || last_short(k) > last_short(*far))) {
			*far = k;
			any = true;
		}
	return any;
}

static bool check_range(struct indexing *s, struct value *i, dim n)
{
	int64_t k;
	dim d = scalar_dim(s->cx, i);
	if (d)
		return !dim_is_const(s->cx, d, &k) || in_range(s, k, n);
	return !farthest(s, i, &k) || in_range(s, k, n);
}

/* --- basic indexing: integers and slices --- */

static bool slice_item(struct indexing *s, const struct cv *v)
{
	const struct type *x = &s->n->in[0]->type;
	if (s->axis >= x->rank)
		return too_many(s);
	if (!slice_length(s, v, x->dims[s->axis], &s->out[s->rank]))
		return false;
	s->rank++;
	s->axis++;
	return true;
}

static void rest_of_axes(struct indexing *s)
{
	const struct type *x = &s->n->in[0]->type;
	while (s->axis < x->rank)
		s->out[s->rank++] = x->dims[s->axis++];
}

static bool basic_dims(struct indexing *s)
{
	const struct type *x = &s->n->in[0]->type;
	for (uint32_t i = 0; i < s->nitems; i++) {
		const struct cv *v = &s->items[i];
		if (v->kind == CV_SLICE) {
			if (!slice_item(s, v))
				return false;
			continue;
		}
		if (s->axis >= x->rank)
			return too_many(s);
		struct value *index = index_at(s, v);
		if (!want_index(s, index, "an index") || !check_range(s, index, x->dims[s->axis]))
			return false;
		s->axis++;
	}
	rest_of_axes(s);
	return true;
}

/* --- advanced indexing --- */

/* How many elements of a constant mask are true; DIM_NONE for others. */
static dim mask_count(struct indexing *s, const struct value *mask)
{
	int64_t v, count = 0;
	if (!mask->data || mask->data->count > 1000000)
		return DIM_NONE;
	for (uint64_t i = 0; i < mask->data->count; i++)
		count += tensor_int(mask->data, i, &v) && v;
	return dim_const(s->cx, count);
}

/* A mask takes as many axes as it has; it acts as index vectors of one length. */
static bool mask_item(struct indexing *s, struct value *mask, struct value *array)
{
	const struct type *x = &s->n->in[0]->type, *m = &mask->type;
	if (m->rank == 0) {
		error(s->cx, s->n->span, E_RANK, "%s: a mask has at least one dim", s->n->op->name);
		return false;
	}
	if (m->rank > x->rank - s->axis)
		return too_many(s);
	for (uint32_t k = 0; k < m->rank; k++) {
		if (dim_unify(s->cx, m->dims[k], x->dims[s->axis++], s->n->span))
			continue;
		error(s->cx, s->n->span, E_SHAPE, "%s: the mask %s does not fit axis %u of %s",
		      s->n->op->name, type_str(s->cx, *m), s->axis - 1, type_str(s->cx, *x));
		return false;
	}
	dim *d = new_dims(s->cx, 1);
	d[0] = mask_count(s, mask);
	if (!d[0])
		d[0] = dim_fresh(s->cx, SOURCE_NONE, NULL, 0);
	array->type = (struct type){DT_INT64, 1, d};
	return true;
}

static bool array_item(struct indexing *s, struct value *v, struct value *array)
{
	const struct type *x = &s->n->in[0]->type;
	if (v->type.dtype == DT_BOOL)
		return mask_item(s, v, array);
	if (!is_int((enum dtype)v->type.dtype)) {
		error(s->cx, s->n->span, E_DTYPE, "%s: indices are integers or masks, got %s",
		      s->n->op->name, type_str(s->cx, v->type));
		return false;
	}
	if (s->axis >= x->rank)
		return too_many(s);
	if (!check_range(s, v, x->dims[s->axis]))
		return false;
	s->axis++;
	array->type = v->type;
	return true;
}

/* Is a length surely other than 1? Then it is stretched nowhere. */
static bool is_fixed(struct ctx *cx, dim d)
{
	return dim_ge(cx, d, 2) || dim_le(cx, d, 0);
}

/*
 * The length that the arrays have together on axis k of `rank`: what type or value say; DIM_NONE
 * where several may be 1, as NumPy then stretches them at run time. false: they cannot go together.
 */
static bool shared_length(struct indexing *s, struct value **arrays, uint32_t count, uint32_t rank,
			  uint32_t k, dim *length)
{
	dim fixed = DIM_NONE, open = DIM_NONE;
	bool many = false;
	for (uint32_t i = 0; i < count; i++) {
		const struct type *t = &arrays[i]->type;
		if (k + t->rank < rank || is_one(s->cx, t->dims[k + t->rank - rank]))
			continue;
		dim d = t->dims[k + t->rank - rank];
		if (!is_fixed(s->cx, d)) {
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

/* Puts the dims that all index arrays have together at `at` of the result. */
static bool insert_arrays(struct indexing *s, struct value **arrays, uint32_t count, uint32_t at)
{
	dim d[MAX_RANK];
	uint32_t rank = 0;
	for (uint32_t i = 0; i < count; i++)
		if (arrays[i]->type.rank > rank)
			rank = arrays[i]->type.rank;
	for (uint32_t k = 0; k < rank; k++)
		if (!shared_length(s, arrays, count, rank, k, &d[k])) {
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

static bool advanced_dims(struct indexing *s)
{
	struct value *arrays[MAX_RANK];
	uint32_t count = 0, at = 0, last = 0;
	bool adjacent = true;
	for (uint32_t i = 0; i < s->nitems; i++) {
		const struct cv *v = &s->items[i];
		if (v->kind == CV_SLICE) {
			if (!slice_item(s, v))
				return false;
			continue;
		}
		if (s->axis >= s->n->in[0]->type.rank)
			return too_many(s);
		adjacent &= !count || last + 1 == i;
		if (!count)
			at = s->rank;
		last = i;
		arrays[count] = new (s->cx->arena, struct value);
		if (!array_item(s, index_at(s, v), arrays[count++]))
			return false;
	}
	rest_of_axes(s);
	return !count || insert_arrays(s, arrays, count, adjacent ? at : 0);
}

/* --- the rules --- */

/* The dims found so far as the type of the result; open ones are its sizes. */
static bool finish(struct indexing *s)
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

/* PyTensor lets no value be stretched at run time where a single vector of indices says the place.
 */
static bool is_strict(const struct indexing *s)
{
	if (s->nitems != 1 || s->items[0].kind != CV_INT)
		return false;
	const struct type *t = &index_at(s, &s->items[0])->type;
	return t->rank == 1 && t->dtype != DT_BOOL;
}

/* A length of y beside that of its place: equal, or else y's is 1. */
static bool fits_length(struct indexing *s, dim y, dim to)
{
	struct ctx *cx = s->cx;
	if (!to || is_one(cx, y) || dim_eq(cx, y, to))
		return true;
	struct dim_view v = dim_view(cx, to);
	if (v.form == DIM_ATOM && v.kind == SOURCE_NONE && !v.name)
		return true;
	if (is_strict(s) || is_fixed(cx, y) || is_one(cx, to))
		return dim_unify(cx, y, to, s->n->span);
	return !dim_ne(cx, y, to) || !dim_ne(cx, y, dim_const(cx, 1));
}

/* y broadcasts to what the index selects; what is only known at run time is left to it. */
static bool fits_update(struct indexing *s)
{
	const struct type *x = &s->n->in[0]->type, *y = &s->n->in[1]->type;
	uint32_t skip = s->rank - y->rank;
	bool ok = y->rank <= s->rank;
	for (uint32_t i = 0; ok && i < y->rank; i++)
		ok = fits_length(s, y->dims[i], s->out[skip + i]);
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
	return open_indexing(&s, cx, n, 1) && basic_dims(&s) && finish(&s);
}

bool sh_incsubtensor(struct ctx *cx, struct node *n)
{
	struct indexing s;
	return open_indexing(&s, cx, n, 2) && basic_dims(&s) && fits_update(&s);
}

bool sh_advsubtensor(struct ctx *cx, struct node *n)
{
	struct indexing s;
	return open_indexing(&s, cx, n, 1) && advanced_dims(&s) && finish(&s);
}

bool sh_advincsubtensor(struct ctx *cx, struct node *n)
{
	struct indexing s;
	return open_indexing(&s, cx, n, 2) && advanced_dims(&s) && fits_update(&s);
}
