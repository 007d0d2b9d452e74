/*
 * index.c: turns x[...], x[...].set(v) and x[...].inc(v) into PyTensor's subtensor ops, as indexing
 * a PyTensor variable does. None becomes an ExpandDims of x. Then comes Subtensor (SetSubtensor,
 * IncSubtensor) if all indices are slices and integer scalars, else AdvancedSubtensor and so on.
 */
#include <string.h>

#include "elab/internal.h"

struct index {
	struct cv *items;
	uint32_t n;
	bool advanced;
	struct value **in;   /* x, (y,) index inputs */
	uint32_t nin, first; /* first: the number of the first index input */
	struct cv *list;     /* idx_list */
	uint32_t nlist;
};

static bool is_mask(const struct cv *v)
{
	return v->kind == CV_VALUE && v->u.v->type.dtype == DT_BOOL;
}

/* What to say of a quotient where an integer is needed */
static const char *divided(const struct value *v)
{
	return is_call(v->def, OP_True_div) ? ": // divides and rounds down" : "";
}

/* Is v a slice, an integer, a tensor, None or an ellipsis? A list becomes a tensor. false: reported
 */
static bool check_item(struct elab *e, struct cv *v)
{
	switch (v->kind) {
	case CV_SLICE:
	case CV_ELLIPSIS:
	case CV_NONE:
	case CV_INT:
	case CV_DIM:
		return true;
	case CV_LIST:
	case CV_DATA:
	case CV_SYM: {
		struct value *x = to_value(e, v, DT_NONE);
		if (!x)
			return false;
		*v = cv_value(x, v->span);
	} /* fall through */
	case CV_VALUE:
		if (!v->u.v->type.dtype)
			return false;
		if (!is_discrete(v->u.v->type.dtype)) {
			elab_error(e, v->span, E_DTYPE,
				   "an index must be integers or bools but is %s%s",
				   type_str(e->cx, v->u.v->type), divided(v->u.v));
			return false;
		}
		if (is_mask(v) && !v->u.v->type.rank) {
			elab_error(e, v->span, E_DTYPE, "a bool scalar is not an index");
			return false;
		}
		return true;
	default:
		elab_error(e, v->span, E_EXPRESSION, "expected an index but got %s",
			   cv_kind_name(v));
		return false;
	}
}

/* The number of axes that an item indexes. */
static uint32_t count_axes(const struct cv *v)
{
	if (v->kind == CV_NONE || v->kind == CV_ELLIPSIS)
		return 0;
	return is_mask(v) ? v->u.v->type.rank : 1;
}

static bool is_full(const struct cv *v)
{
	return v->kind == CV_SLICE && v->u.items[0].kind == CV_NONE &&
	       v->u.items[1].kind == CV_NONE && v->u.items[2].kind == CV_NONE;
}

/* Replaces the ellipsis by full slices. false: reported */
static bool expand_ellipsis(struct elab *e, struct index *ix, struct value *x, struct span s)
{
	struct diag **tail = e->cx->diag_tail;
	uint32_t rank = x->type.rank;
	uint32_t used = 0, dots = 0, k = 0;

	for (uint32_t i = 0; i < ix->n; i++) {
		used += count_axes(&ix->items[i]);
		dots += ix->items[i].kind == CV_ELLIPSIS;
	}
	if (used > rank || dots > 1) {
		if (dots > 1)
			elab_error(e, s, E_RANGE, "an index can have one '...' only");
		else
			elab_error(e, s, E_RANGE, "%u %s for a tensor of rank %u", used,
				   used == 1 ? "index" : "indices", rank);
		if (*tail)
			blame(e->cx, tail, &x, 1, "x[...]");
		return false;
	}
	struct cv *out = new_array(e->cx->arena, struct cv, ix->n + rank + 1);
	for (uint32_t i = 0; i < ix->n; i++) {
		if (ix->items[i].kind != CV_ELLIPSIS)
			out[k++] = ix->items[i];
		for (uint32_t j = used; ix->items[i].kind == CV_ELLIPSIS && j < rank; j++)
			out[k++] = cv_full_slice(e->cx->arena, ix->items[i].span);
	}
	ix->items = out;
	ix->n = k;
	return true;
}

/* Returns the axes that None adds, and replaces each None by a full slice. */
static struct cv take_new_axes(struct elab *e, struct index *ix, struct span s)
{
	struct cv axes = {.kind = CV_TUPLE, .span = s};
	uint32_t axis = 0;

	axes.u.items = new_array(e->cx->arena, struct cv, ix->n + 1);
	for (uint32_t i = 0; i < ix->n; i++) {
		if (ix->items[i].kind == CV_NONE) {
			axes.u.items[axes.n++] = cv_int(axis++, s);
			ix->items[i] = cv_full_slice(e->cx->arena, s);
		} else {
			axis += count_axes(&ix->items[i]);
		}
	}
	return axes;
}

/* Calls ExpandDims or Squeeze. */
static struct value *call_with_axes(struct elab *e, const char *name, struct value *v,
				    struct cv axes, struct span s)
{
	struct prop_arg arg = {.name = intern_str(e->cx, "axes"), .value = axes, .span = s};
	const struct op *op = op_named(e->cx, name);
	struct cv *props = bind_props(e->cx, op, s, &arg, 1);
	struct cv in = cv_value(v, s);

	if (!props)
		return NULL;
	struct cv r = call_op(e, op, props, &in, 1, s);
	return r.kind == CV_VALUE ? r.u.v : NULL;
}

/* Adds an index input; *entry is its number among them. */
static bool add_index_input(struct elab *e, struct index *ix, const struct cv *v, struct cv *entry)
{
	struct value *x = to_value(e, v, v->kind == CV_INT ? DT_INT64 : DT_NONE);

	if (!x)
		return false;
	*entry = cv_int(ix->nin - ix->first, v->span);
	ix->in[ix->nin++] = x;
	return true;
}

static bool add_slice(struct elab *e, struct index *ix, const struct cv *v, struct cv *entry)
{
	*entry = cv_full_slice(e->cx->arena, v->span);
	for (int i = 0; i < 3; i++) {
		const struct cv *part = &v->u.items[i];
		if (part->kind == CV_NONE)
			continue;
		if (part->kind == CV_INT && !part->u.i && i == 2) {
			elab_error(e, part->span, E_RANGE, "the step of a slice cannot be 0");
			return false;
		}
		if (part->kind == CV_VALUE &&
		    (part->u.v->type.rank || !is_int(part->u.v->type.dtype))) {
			if (part->u.v->type.dtype)
				elab_error(
					e, part->span, E_DTYPE,
					"a bound of a slice must be an integer scalar but is %s%s",
					type_str(e->cx, part->u.v->type), divided(part->u.v));
			return false;
		}
		if (!add_index_input(e, ix, part, &entry->u.items[i]))
			return false;
	}
	return true;
}

/* Adds the index inputs, and builds idx_list. false: reported */
static bool build_idx_list(struct elab *e, struct index *ix)
{
	uint32_t n = ix->n;

	while (n && is_full(&ix->items[n - 1]))
		n--;
	ix->list = new_array(e->cx->arena, struct cv, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		const struct cv *v = &ix->items[i];
		bool ok = v->kind == CV_SLICE ? add_slice(e, ix, v, &ix->list[i])
					      : add_index_input(e, ix, v, &ix->list[i]);
		if (!ok)
			return false;
		ix->advanced |= v->kind == CV_VALUE && v->u.v->type.rank;
	}
	ix->nlist = n;
	return true;
}

static const struct op *pick_op(struct elab *e, uint8_t kind, bool advanced)
{
	static const char *const names[3][2] = {
		{"Subtensor", "AdvancedSubtensor"},
		{"SetSubtensor", "AdvancedSetSubtensor"},
		{"IncSubtensor", "AdvancedIncSubtensor"},
	};

	return op_named(e->cx, names[kind == A_SET ? 1 : kind == A_INC ? 2 : 0][advanced]);
}

/* x[items], x[items].set(y) or x[items].inc(y), by `kind`. Changes the items. */
static struct cv index_op(struct elab *e, uint8_t kind, struct value *x, struct cv *items,
			  uint32_t n, const struct cv *update, struct span s)
{
	struct index ix = {.items = items, .n = n};

	for (uint32_t i = 0; i < n; i++)
		if (items[i].kind == CV_POISON || !check_item(e, &items[i]))
			return poison(s);
	if (!expand_ellipsis(e, &ix, x, s))
		return poison(s);
	struct cv axes = take_new_axes(e, &ix, s);
	if (axes.n && !(x = call_with_axes(e, "ExpandDims", x, axes, s)))
		return poison(s);
	ix.in = new_array(e->cx->arena, struct value *, 3 * ix.n + 2);
	ix.in[ix.nin++] = x;
	if (update) {
		enum dtype t = cv_is_weak(update) ? weak_dtype(e, update, x->type.dtype) : DT_NONE;
		struct value *y = to_value(e, update, t);
		if (!y)
			return poison(s);
		ix.in[ix.nin++] = y;
	}
	ix.first = ix.nin;
	if (!build_idx_list(e, &ix))
		return poison(s);
	if (!ix.nlist && !update)
		return cv_value(x, s);
	struct cv list = {.kind = CV_LIST, .n = ix.nlist, .span = s, .u.items = ix.list};
	struct prop_arg arg = {.name = intern_str(e->cx, "idx_list"), .value = list, .span = s};
	const struct op *op = pick_op(e, kind, ix.advanced);
	struct cv *props = bind_props(e->cx, op, s, &arg, 1);
	if (!props)
		return poison(s);
	struct node *node = graph_node(e->cx, e->block, op, props, ix.in, ix.nin, node_span(e, s));
	x = node->out[0];
	if (axes.n && update && x->type.dtype && !(x = call_with_axes(e, "Squeeze", x, axes, s)))
		return poison(s);
	return cv_value(x, s);
}

/* [1, 2, 4][i] of an i that is known while compiling is a number as it stands in the list, which
 * takes the dtype of what it meets; so is a row of a list of lists. CV_NONE: it is a tensor's
 * element
 */
static struct cv literal_element(struct elab *e, const struct cv *list, const struct cv *items,
				 uint32_t n, struct span s)
{
	struct cv v = *list;
	int64_t k, count;
	dim d;

	for (uint32_t i = 0; i < n; i++) {
		if (v.kind != CV_LIST && v.kind != CV_DATA)
			return (struct cv){.kind = CV_NONE};
		count = v.kind == CV_DATA ? v.u.data->shape[0] : v.n;
		if ((items[i].kind != CV_INT && items[i].kind != CV_DIM) ||
		    !cv_as_dim(e, &items[i], &d) || !dim_is_const(e->cx, d, &k) || k < -count ||
		    k >= count)
			return (struct cv){.kind = CV_NONE};
		k = from_front(k, count);
		v = v.kind == CV_DATA ? data_row(e, v.u.data, (uint32_t)k, s) : v.u.items[k];
	}
	return cv_is_weak(&v) || v.kind == CV_BOOL ? v : (struct cv){.kind = CV_NONE};
}

/* A bound of a slice of a tuple of count elements, by Python's rules; none: the bound that stands
 * for no bound. false: it is not known while compiling */
static bool tuple_bound(struct elab *e, const struct cv *c, int64_t count, int64_t low,
			int64_t high, int64_t none, int64_t *k)
{
	dim d;

	*k = none;
	if (c->kind == CV_NONE)
		return true;
	if ((c->kind != CV_INT && c->kind != CV_DIM) || !cv_as_dim(e, c, &d) ||
	    !dim_is_const(e->cx, d, k))
		return false;
	*k = from_front(*k, count);
	*k = *k < low ? low : *k > high ? high : *k;
	return true;
}

/* The elements that a slice takes of count ones */
struct cut {
	int64_t start, stop, step;
};

/* false: the bounds are not known while compiling */
static bool find_cut(struct elab *e, const struct cv *slice, int64_t count, struct cut *c)
{
	const struct cv *by = &slice->u.items[2];
	dim d;

	c->step = 1;
	if (by->kind != CV_NONE &&
	    ((by->kind != CV_INT && by->kind != CV_DIM) || !cv_as_dim(e, by, &d) ||
	     !dim_is_const(e->cx, d, &c->step) || !c->step))
		return false;
	bool up = c->step > 0;
	int64_t low = up ? 0 : -1, high = up ? count : count - 1;
	if (c->step > count || c->step < -count) /* one element: start + step is a number */
		c->step = up ? count + 1 : -count - 1;
	return tuple_bound(e, &slice->u.items[0], count, low, high, up ? low : high, &c->start) &&
	       tuple_bound(e, &slice->u.items[1], count, low, high, up ? high : low, &c->stop);
}

static bool goes_on(const struct cut *c, int64_t k)
{
	return c->step > 0 ? k < c->stop : k > c->stop;
}

/* (1, 2, 3)[1:] and (1, 2, 3)[0]: tuples are cut while compiling, as no tensor is one. CV_NONE:
 * the index is not known */
static struct cv cut_tuple(struct elab *e, const struct cv *t, const struct cv *index,
			   struct span s)
{
	struct cv v = {.kind = t->kind, .span = s};
	int64_t count = t->n, start;
	struct cut c;

	if (index->kind != CV_SLICE) {
		if (!tuple_bound(e, index, count, -1, count, count, &start))
			return (struct cv){.kind = CV_NONE};
		if (start >= 0 && start < count)
			return t->u.items[start];
		elab_error(e, s, E_RANGE, "the tuple has %u elements, which are 0 to %d", t->n,
			   (int)t->n - 1);
		return poison(s);
	}
	if (!find_cut(e, index, count, &c))
		return (struct cv){.kind = CV_NONE};
	v.u.items = new_array(e->cx->arena, struct cv, count + 1);
	for (int64_t k = c.start; goes_on(&c, k); k += c.step)
		v.u.items[v.n++] = t->u.items[k];
	return v;
}

/* [1, 2, 4][1:] is a list, whose numbers take the dtype of what they meet. CV_NONE: it is a slice
 * of a tensor, as is one of no elements */
static struct cv cut_list(struct elab *e, const struct cv *list, const struct cv *slice,
			  struct span s)
{
	const struct adata *d = list->kind == CV_DATA ? list->u.data : NULL;
	struct cv v = {.kind = CV_NONE};
	struct cut c;

	for (uint32_t i = 0; list->kind == CV_LIST && i < list->n; i++)
		if (!cv_is_weak(&list->u.items[i]) && list->u.items[i].kind != CV_BOOL)
			return v;
	if (!find_cut(e, slice, d ? d->shape[0] : list->n, &c) || !goes_on(&c, c.start))
		return v;
	if (!d)
		return cut_tuple(e, list, slice, s);
	struct adata *rows = new (e->cx->arena, struct adata);
	uint32_t size = d->count / d->shape[0], n = 0;
	*rows = (struct adata){.rank = d->rank,
			       .shape = new_array(e->cx->arena, uint32_t, d->rank),
			       .at = new_array(e->cx->arena, struct adatum, d->count)};
	for (int64_t k = c.start; goes_on(&c, k); k += c.step, n++)
		memcpy(rows->at + (size_t)n * size, d->at + (size_t)k * size,
		       size * sizeof(*d->at));
	memcpy(rows->shape, d->shape, d->rank * sizeof(*d->shape));
	rows->shape[0] = n;
	rows->count = n * size;
	return (struct cv){.kind = CV_DATA, .span = s, .u.data = rows};
}

struct cv eval_index(struct elab *e, uint32_t at, struct cv *items)
{
	const struct anode *a = &e->file->nodes.at[at];
	const bool update = a->kind != A_INDEX;

	if (!update && a->n == 2) {
		bool list = items[0].kind == CV_LIST || items[0].kind == CV_DATA;
		struct cv v = {.kind = CV_NONE};
		if (items[0].kind == CV_TUPLE)
			v = cut_tuple(e, &items[0], &items[1], a->span);
		else if (list && items[1].kind == CV_SLICE)
			v = cut_list(e, &items[0], &items[1], a->span);
		if (v.kind != CV_NONE)
			return v;
	}
	if (!update) {
		struct cv v = literal_element(e, &items[0], items + 1, a->n - 1, a->span);
		if (v.kind != CV_NONE)
			return v;
	}
	struct value *x = to_value(e, &items[0], DT_NONE);

	if (!x || !x->type.dtype)
		return poison(a->span);
	return index_op(e, a->kind, x, items + 1, a->n - 1 - update,
			update ? &items[a->n - 1] : NULL, a->span);
}

/* x[i]; NULL: reported. */
struct value *element_of(struct elab *e, struct value *x, struct cv i)
{
	struct cv r = index_op(e, A_INDEX, x, &i, 1, NULL, i.span);

	return r.kind == CV_VALUE && r.u.v->type.dtype ? r.u.v : NULL;
}

/* x[start:stop]; a bound may be CV_NONE. NULL: reported */
struct value *slice_of(struct elab *e, struct value *x, struct cv start, struct cv stop,
		       struct span s)
{
	struct cv item = cv_full_slice(e->cx->arena, s);

	item.u.items[0] = start;
	item.u.items[1] = stop;
	struct cv r = index_op(e, A_INDEX, x, &item, 1, NULL, s);
	return r.kind == CV_VALUE && r.u.v->type.dtype ? r.u.v : NULL;
}
