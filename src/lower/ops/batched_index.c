/*
 * batched_index.c: Blockwise of x[...], x[...].set(y) and x[...].inc(y). Out: the op itself with
 * full slices for the dims of the batch where the indices are the same for all items; else with the
 * numbers of the items as further indices.
 */
#include <string.h>

#include "lower/ops/batched.h"
#include "ops/rules.h"

struct indexing {
	const struct cv *list; /* of the core op */
	uint32_t first;        /* input that is an index */
	struct value **at;     /* index inputs without a batch; NULL: it has one */
	bool arrays_differ;    /* an index that is no bound has a batch */
	bool bounds_differ;    /* a bound of a slice has one */
	bool masks;
	bool spread;     /* indices that are no slices stand apart, as in x[i, :, j] */
	uint32_t core;   /* the rank that the indices have together */
	uint32_t before; /* axes of the result before those of the indices */
	uint32_t kept;   /* axes of the result that are not those of the indices */
};

static void read_indices(struct batched *m, struct indexing *x)
{
	uint32_t used = 0, last = 0;
	bool any = false;

	x->at = new_array(m->b->cx->arena, struct value *, m->n->nin + 1);
	for (uint32_t i = x->first; i < m->n->nin; i++)
		x->at[i] = one_for_all(m, i);
	for (uint32_t i = 0; i < x->list->n; i++) {
		const struct cv *c = &x->list->u.items[i];
		if (c->kind == CV_SLICE) {
			for (uint32_t k = 0; k < 3; k++)
				if (c->u.items[k].kind == CV_INT &&
				    !x->at[x->first + c->u.items[k].u.i])
					x->bounds_differ = true;
			x->before += !any;
			used++;
			x->kept++;
			continue;
		}
		uint32_t at = x->first + (uint32_t)c->u.i, rank = m->ranks[at];
		bool mask = m->n->in[at]->type.dtype == DT_BOOL;
		x->masks |= mask;
		x->arrays_differ |= !x->at[at];
		x->spread |= any && i > last + 1;
		x->core = !mask && rank > x->core ? rank : mask && !x->core ? 1 : x->core;
		used += mask ? rank : 1;
		last = i;
		any = true;
	}
	x->kept += m->ranks[0] - used;
	if (!any || x->spread)
		x->before = 0;
}

/* idx_list with `lead` items before it: full slices, or the indices 0, 1, ...; later ones get
 * higher numbers */
static struct cv list_behind(struct batched *m, const struct cv *list, uint32_t lead, bool full)
{
	struct arena *a = m->b->cx->arena;
	struct cv *items = new_array(a, struct cv, lead + list->n + 1);

	for (uint32_t i = 0; i < lead; i++)
		items[i] = full ? cv_full_slice(a, m->b->span) : cv_int(i, m->b->span);
	for (uint32_t i = 0; i < list->n; i++) {
		struct cv *c = &items[lead + i];
		*c = list->u.items[i];
		if (full)
			continue;
		if (c->kind == CV_INT)
			c->u.i += lead;
		if (c->kind != CV_SLICE)
			continue;
		c->u.items = memcpy(new_array(a, struct cv, 3), c->u.items, 3 * sizeof(*c));
		for (uint32_t k = 0; k < 3; k++)
			if (c->u.items[k].kind == CV_INT)
				c->u.items[k].u.i += lead;
	}
	struct cv r = *list;
	r.n = lead + list->n;
	r.u.items = items;
	return r;
}

/* The index of item k of a dim of the batch, [length, 1, ..., 1] of `rank` dims */
static struct value *item_index(struct batched *m, uint32_t k, uint32_t rank)
{
	int64_t axes[MAX_RANK];
	struct value *v = iota(m->b, m->n->out[0]->type.dims[k]);

	for (uint32_t i = 1; i < rank; i++)
		axes[i - 1] = i;
	v = unsqueeze(m->b, v, axes, rank - 1);
	return held_by(m->b, v, v->type, m->b->span);
}

/* Moves `count` axes of v from axis `from` to axis `to`. */
static struct value *move_axes(struct batched *m, struct value *v, uint32_t from, uint32_t to,
			       uint32_t count)
{
	uint32_t rank = v->type.rank, k = 0;
	int64_t order[MAX_RANK];

	if (!count || from == to)
		return v;
	for (uint32_t i = 0; i < rank; i++)
		if (i < from || i >= from + count)
			order[k < to ? k++ : count + k++] = i;
	for (uint32_t i = 0; i < count; i++)
		order[to + i] = from + i;
	return new_node(m, OP_Transpose, new_ints(m, order, rank), &v, 1);
}

/* The core op with full slices before its indices, where those are the same for all items; else
 * with the numbers of the items. */
static bool by_one_op(struct batched *m)
{
	static const enum op_id with_arrays[OP_COUNT] = {
		[OP_Subtensor] = OP_AdvancedSubtensor,
		[OP_AdvancedSubtensor] = OP_AdvancedSubtensor,
		[OP_IncSubtensor] = OP_AdvancedIncSubtensor,
		[OP_AdvancedIncSubtensor] = OP_AdvancedIncSubtensor,
		[OP_SetSubtensor] = OP_AdvancedSetSubtensor,
		[OP_AdvancedSetSubtensor] = OP_AdvancedSetSubtensor,
	};
	struct ctx *cx = m->b->cx;
	enum op_id op = core_id(m);
	bool reads = with_arrays[op] == OP_AdvancedSubtensor;
	struct indexing x = {.first = reads ? 1 : 2, .list = &m->core->props[0]};
	uint32_t nprops = op_sig(cx, m->core->op)->nprops, k = 0;
	struct cv *props = new_array(cx->arena, struct cv, nprops);
	struct value **in = new_array(cx->arena, struct value *, m->n->nin + MAX_RANK);

	memcpy(props, m->core->props, nprops * sizeof(*props));
	read_indices(m, &x);
	bool by_axes = !x.arrays_differ && (op != with_arrays[op] || !x.spread);
	if (x.bounds_differ || (!by_axes && x.masks) || m->rank + x.core + x.kept > MAX_RANK)
		return false;
	/* table[idx] with a table that is the same for all items needs no numbers of the items */
	struct value *table = reads && !by_axes ? one_for_all(m, 0) : NULL;
	uint32_t lead = table ? 0 : m->rank;
	in[k++] = table ? table : whole_batch(m, 0);
	if (!reads) {
		struct value *y = padded(m, 1);
		if (m->ranks[1] > x.kept + x.core)
			return false;
		y = with_axes(m, y, m->rank, x.kept + x.core - m->ranks[1]);
		in[k++] = by_axes ? y : move_axes(m, y, m->rank + x.before, m->rank, x.core);
	}
	if (!by_axes)
		for (uint32_t i = 0; i < lead; i++)
			in[k++] = item_index(m, i, m->rank + x.core - i);
	for (uint32_t i = x.first; i < m->n->nin; i++)
		in[k++] = x.at[i] ? x.at[i]
				  : with_axes(m, padded(m, i), m->rank, x.core - m->ranks[i]);
	props[0] = list_behind(m, x.list, lead, by_axes);
	struct value *r = new_node(m, by_axes ? op : with_arrays[op], props, in, k);
	if (reads && !by_axes && table)
		move_axes(m, r, x.before, 0, m->rank); /* of the batch */
	else if (reads && !by_axes)
		move_axes(m, r, m->rank, m->rank + x.before, x.core); /* of the indices */
	return true;
}

/* The op with these items of its list on other inputs, said by `how` */
static bool by_op(struct batched *m, batch_fn_t *how, enum op_id op, struct cv list,
		  struct value **in, const uint32_t *ranks, uint32_t nin)
{
	struct ctx *cx = m->b->cx;
	struct node *n = new (cx->arena, struct node);
	struct opref *core = new (cx->arena, struct opref);
	struct batched sub = *m;

	*n = *m->n;
	n->in = in;
	n->nin = (uint16_t)nin;
	core->op = &op_table[op];
	core->props = new_array(cx->arena, struct cv, op_sig(cx, core->op)->nprops);
	memcpy(core->props, m->core->props,
	       (op == core_id(m) ? op_sig(cx, core->op)->nprops : 0) * sizeof(struct cv));
	core->props[0] = list;
	sub.n = n;
	sub.core = core;
	sub.ranks = ranks;
	bool ok = how(&sub);
	m->made = sub.made;
	m->body = sub.body;
	return ok;
}

bool take_rows(struct batched *m, struct value *x, struct value *at, uint32_t core, uint32_t axis)
{
	struct cv list = {.kind = CV_LIST, .n = axis + 1},
		  full = cv_full_slice(m->b->cx->arena, m->b->span);
	struct value **in = new_array(m->b->cx->arena, struct value *, 2);
	uint32_t *ranks = new_array(m->b->cx->arena, uint32_t, 2);

	list.u.items = new_array(m->b->cx->arena, struct cv, axis + 1);
	for (uint32_t i = 0; i < axis; i++)
		list.u.items[i] = full;
	list.u.items[axis] = cv_int(0, m->b->span);
	in[0] = x;
	in[1] = at;
	ranks[0] = core;
	ranks[1] = 1;
	return by_op(m, by_one_op, OP_AdvancedSubtensor, list, in, ranks, 2);
}

/* ---- slices whose bounds differ between items ---- */

/* The slice of each item, with all dims of the batch, or 1 in their place */
struct slice_of_items {
	struct value *first, *step, *length; /* int64 */
	dim n;                               /* the length of the axis */
	uint32_t axis;                       /* of an item */
	uint32_t at;                         /* the axis of the result */
};

/* Bound k of a slice, lowered; NULL: None */
static struct value *lowered_bound(struct batched *m, const struct indexing *x,
				   const struct cv *slice, uint32_t k)
{
	const struct cv *c = &slice->u.items[k];
	int64_t axes[MAX_RANK];

	if (c->kind != CV_INT)
		return NULL;
	struct value *v = low(m->b, m->n->in[x->first + c->u.i]);
	for (uint32_t i = v->type.rank; i < m->rank; i++)
		axes[i - v->type.rank] = i - v->type.rank;
	return cast(m->b, unsqueeze(m->b, v, axes, m->rank - v->type.rank), DT_INT64);
}

/* A bound as Python's slice.indices() has it: between least and most */
static struct value *clipped(struct build *b, struct value *v, struct value *n, struct value *least,
			     struct value *most)
{
	struct value *zero = const_int(b, 0);
	struct value *from_end = emit_(b, ONNX_Max, emit_(b, ONNX_Add, v, n), least);

	struct value *negative = emit_(b, ONNX_Less, v, zero);
	return emit_(b, ONNX_Where, negative, from_end, emit_(b, ONNX_Min, v, most));
}

static void read_slice(struct batched *m, const struct indexing *x, const struct cv *slice,
		       struct slice_of_items *s)
{
	struct build *b = m->b;
	struct value *start = lowered_bound(m, x, slice, 0), *stop = lowered_bound(m, x, slice, 1);
	struct value *step = lowered_bound(m, x, slice, 2), *zero = const_int(b, 0),
		     *one = const_int(b, 1);
	struct value *n = dim_value(b, s->n), *last = emit_(b, ONNX_Sub, n, one);

	if (!step)
		step = one;
	step = check(b, step, emit_(b, ONNX_Not, emit_(b, ONNX_Equal, step, zero)),
		     "the step of a slice must not be 0");
	struct value *back = emit_(b, ONNX_Less, step, zero);
	struct value *least = emit_(b, ONNX_Where, back, const_int(b, -1), zero);
	struct value *most = emit_(b, ONNX_Where, back, last, n);
	start = start ? clipped(b, start, n, least, most) : emit_(b, ONNX_Where, back, last, zero);
	stop = stop ? clipped(b, stop, n, least, most)
		    : emit_(b, ONNX_Where, back, const_int(b, -1), n);
	struct value *far = emit_(b, ONNX_Sub, stop, start);
	far = emit_(b, ONNX_Mul, far, emit_(b, ONNX_Sign, step));
	struct value *size = emit_(b, ONNX_Max, emit_(b, ONNX_Abs, step), one);
	far = emit_(b, ONNX_Add, far, emit_(b, ONNX_Sub, size, one));
	s->length = emit_(b, ONNX_Max, emit_(b, ONNX_Div, far, size), zero);
	s->first = start;
	s->step = step;
}

/* v[batch], or a number, as [batch, 1] */
static struct value *as_columns(struct build *b, struct value *v)
{
	return v->type.rank ? unsqueeze(b, v, &(int64_t){v->type.rank}, 1) : v;
}

/* The numbers that the slice takes: lengths must be the same for all items. */
static struct value *slice_numbers(struct batched *m, const struct slice_of_items *s)
{
	struct build *b = m->b;
	struct value *length = s->length, *r;
	dim *d = new_dims(b->cx, 1);

	if (length->type.rank) {
		dim *flat = new_dims(b->cx, 1);
		*flat = dims_product(b->cx, length->type.dims, length->type.rank);
		length = same_for_all(b, reshape(b, length, flat, 1));
	}
	d[0] = m->n->out[0]->type.dims[m->rank + s->at];
	r = with_dims(iota_of(b, length), d);
	r = emit_(b, ONNX_Mul, r, as_columns(b, s->step));
	r = emit_(b, ONNX_Add, r, as_columns(b, s->first));
	return held_by(b, r, r->type, b->span);
}

/* What the nodes so far make, lowered, so that it can be expanded to the batch; NULL: reported */
static struct value *made_so_far(struct batched *m, struct value *v)
{
	struct value *r;

	if (!lower_inlined(m->b, m->body, &v, 1, m->b->span, &r))
		return NULL;
	m->body = block_new(m->b);
	return held_by(m->b, r, v->type, m->b->span);
}

/* The elements of y for each number of the axis: y[..., (i - first) / step, ...]; *on: which of
 * them the slice has. NULL: reported */
static struct value *spread(struct batched *m, const struct slice_of_items *s, struct value *y,
			    uint32_t rank, struct value **on)
{
	struct build *b = m->b;
	struct value *zero = const_int(b, 0), *step = as_columns(b, s->step);
	struct value *i = iota(b, s->n);
	i = emit_(b, ONNX_Sub, i, as_columns(b, s->first));
	struct value *rest = emit_(b, ONNX_Mod, i, step), *at = emit_(b, ONNX_Div, i, step);
	struct value *length = as_columns(b, s->length), *inside;
	uint32_t axis = m->rank + s->at;
	dim given = y->type.dims[axis];

	inside = emit_(b, ONNX_GreaterOrEqual, at, zero);
	inside = emit_(b, ONNX_And, inside, emit_(b, ONNX_Less, at, length));
	/* -1 / 2 is 0, but has a rest */
	inside = emit_(b, ONNX_And, inside, emit_(b, ONNX_Equal, rest, zero));
	*on = held_by(b, inside, inside->type, b->span);
	*on = with_axes(m, with_axes(m, *on, m->rank, s->at), axis + 1, rank - s->at - 1);
	if (dim_is(b->cx, given, 1))
		return y;
	struct value *have = dim_value(b, given), *last, *to;
	struct value *fits = emit_(b, ONNX_Equal, s->length, have);
	fits = emit_(b, ONNX_Or, fits, emit_(b, ONNX_Equal, have, const_int(b, 1)));
	if (!dim_ge(b->cx, given, 1)) { /* Gather reads an element for each number */
		struct value *all = made_so_far(m, y), *in[2];
		if (!all)
			return NULL;
		dim *d = new_dims(b->cx, y->type.rank);
		memcpy(d, y->type.dims, y->type.rank * sizeof(dim));
		d[axis] = dim_const(b->cx, 1);
		in[0] = low(b, all);
		in[1] = filled_to(b, (enum dtype)y->type.dtype, dims_vector(b, d, y->type.rank), d,
				  y->type.rank, 0);
		to = concat(b, (int)axis, in, 2);
		y = held_by(b, to, to->type, b->span);
	}
	last = emit_(b, ONNX_Max, emit_(b, ONNX_Sub, have, const_int(b, 1)), zero);
	at = emit_(b, ONNX_Max, emit_(b, ONNX_Min, at, last), zero);
	at = check(b, at, fits, "the value must fit the place that it is put at");
	y = made_so_far(m, y);
	if (!y || !take_rows(m, y, held_by(b, at, at->type, b->span), rank, s->at))
		return NULL;
	return m->made->out[0];
}

/* x[a:b, i].set(y) is x[:, i].set(z), where z has the elements of x[:, i] outside of a:b; of
 * inc(y), 0
 */
static bool write_slices(struct batched *m, const struct indexing *x, struct cv list,
			 struct value **in, uint32_t *ranks, uint32_t nin,
			 const struct slice_of_items *slices, uint32_t count)
{
	struct build *b = m->b;
	uint32_t rank = x->kept + x->core;
	enum op_id op = core_id(m);
	bool adds = op == OP_IncSubtensor || op == OP_AdvancedIncSubtensor;
	bool basic = op == OP_IncSubtensor || op == OP_SetSubtensor;
	struct value *y = with_axes(m, padded(m, 1), m->rank, rank - m->ranks[1]), *on = NULL, *k;

	m->made = NULL;
	for (uint32_t i = 0; i < count; i++) {
		if (!(y = spread(m, &slices[i], y, rank, &k)))
			return true;
		on = on ? new_node(m, OP_And, NULL, (struct value *[]){on, k}, 2) : k;
	}
	struct value *choice[3] = {on, y};
	if (adds) {
		enum dtype t = (enum dtype)y->type.dtype;
		struct value *zero = const_of(b, t, -0.0); /* -0 + -0 is -0 */
		choice[2] = held_by(b, zero, type_of(t, 0, NULL), b->span);
	} else {
		struct value **from = new_array(b->cx->arena, struct value *, nin);
		uint32_t *own = new_array(b->cx->arena, uint32_t, nin);
		from[0] = in[0];
		own[0] = ranks[0];
		memcpy(from + 1, in + 2, (nin - 2) * sizeof(*from));
		memcpy(own + 1, ranks + 2, (nin - 2) * sizeof(*own));
		if (!by_op(m, by_one_op, basic ? OP_Subtensor : OP_AdvancedSubtensor, list, from,
			   own, nin - 1))
			return false;
		choice[2] = m->made->out[0];
	}
	in[1] = new_node(m, OP_Switch, NULL, choice, 3);
	ranks[1] = rank;
	return by_op(m, by_one_op, op, list, in, ranks, nin);
}

/* The slice c again, whose bounds are the same for all items: they become the next inputs */
static struct cv same_slice(struct batched *m, const struct indexing *x, const struct cv *c,
			    struct value **in, uint32_t *ranks, uint32_t *nin)
{
	struct cv s = *c;

	s.u.items = memcpy(new_array(m->b->cx->arena, struct cv, 3), c->u.items, 3 * sizeof(*c));
	for (uint32_t k = 0; k < 3; k++)
		if (c->u.items[k].kind == CV_INT) {
			s.u.items[k].u.i = *nin - x->first;
			in[*nin] = m->n->in[x->first + c->u.items[k].u.i];
			ranks[(*nin)++] = 0;
		}
	return s;
}

/* The axes that other slices than those of `x` take: by the numbers that each item's slice has */
static bool by_slices(struct batched *m, const struct indexing *x)
{
	struct arena *a = m->b->cx->arena;
	bool reads = x->first == 1;
	struct cv list = *x->list;
	struct value **in = new_array(a, struct value *, m->n->nin + 1);
	uint32_t *ranks = new_array(a, uint32_t, m->n->nin + 1), nin = x->first, count = 0;
	struct slice_of_items *slices = new_array(a, struct slice_of_items, list.n + 1);
	uint32_t axis = 0, at = x->spread ? x->core : 0, own = own_rank(m, 0);
	bool indexed = x->spread;

	list.u.items = new_array(a, struct cv, list.n + 1);
	for (uint32_t i = 0; i < x->first; i++) {
		in[i] = m->n->in[i];
		ranks[i] = m->ranks[i];
	}
	for (uint32_t i = 0; i < list.n; i++) {
		const struct cv *c = &x->list->u.items[i];
		struct cv *to = &list.u.items[i];
		bool differs = false;
		*to = *c;
		if (c->kind != CV_SLICE) {
			uint32_t k = x->first + (uint32_t)c->u.i;
			bool mask = m->n->in[k]->type.dtype == DT_BOOL;
			*to = cv_int(nin - x->first, m->b->span);
			in[nin] = m->n->in[k];
			ranks[nin++] = m->ranks[k];
			axis += mask ? m->ranks[k] : 1;
			at += indexed ? 0 : x->core;
			indexed = true;
			continue;
		}
		for (uint32_t k = 0; k < 3; k++)
			differs |= c->u.items[k].kind == CV_INT &&
				   !x->at[x->first + c->u.items[k].u.i];
		if (differs) {
			struct slice_of_items *s = &slices[count++];
			*to = cv_full_slice(m->b->cx->arena, m->b->span);
			*s = (struct slice_of_items){
				.n = in[0]->type.dims[own + axis], .axis = axis, .at = at};
			read_slice(m, x, c, s);
		} else {
			*to = same_slice(m, x, c, in, ranks, &nin);
		}
		axis++;
		at++;
	}
	if (!reads)
		return write_slices(m, x, list, in, ranks, nin, slices, count);
	for (uint32_t i = 0; i < count; i++) {
		if (!take_rows(m, in[0], slice_numbers(m, &slices[i]), ranks[0], slices[i].axis))
			return false;
		in[0] = made_so_far(m, m->made->out[0]);
		m->made = NULL;
		if (!in[0])
			return true;
	}
	return by_op(m, by_one_op, core_id(m), list, in, ranks, nin);
}

/* ---- masks that differ between items ---- */

/* x[mask].set(y) and inc(y), where no element of y is for one element of the mask alone: by a
 * choice. Items may have other numbers of hits. false: there are other indices, or y has others */
static bool by_choice(struct batched *m, const struct indexing *x)
{
	enum op_id op = core_id(m);
	uint32_t core = m->ranks[0], own = m->ranks[1], kept = core;
	const struct cv *first = &x->list->u.items[0];
	bool adds = op == OP_IncSubtensor || op == OP_AdvancedIncSubtensor;
	struct value *choice[3];

	if (x->first == 1 || x->list->n != 1 || first->kind == CV_SLICE)
		return false;
	uint32_t at = x->first + (uint32_t)first->u.i, covered = m->ranks[at];
	kept -= covered;
	if (own > kept)
		return false;
	struct value *y = with_axes(m, padded(m, 1), m->rank, core - own);
	choice[0] = with_axes(m, padded(m, at), m->rank + covered, kept);
	choice[2] = whole_batch(m, 0);
	choice[1] = y;
	if (adds)
		choice[1] = new_node(m, OP_Add, NULL, (struct value *[]){choice[2], y}, 2);
	struct cv type = {.kind = CV_DTYPE, .u.dtype = (enum dtype)choice[2]->type.dtype};
	choice[1] = new_node(m, OP_Cast, new_cv(m, type), choice + 1, 1);
	new_node(m, OP_Switch, NULL, choice, 3);
	return true;
}

/* Masks become the indices of their hits: their numbers must be the same for all items. */
static bool by_hits(struct batched *m, const struct indexing *x)
{
	struct arena *a = m->b->cx->arena;
	uint32_t nin = x->first, k = 0, most = m->n->nin + x->list->n * MAX_RANK;
	struct value **in = new_array(a, struct value *, most);
	uint32_t *ranks = new_array(a, uint32_t, most);
	struct cv list = *x->list;

	list.u.items = new_array(a, struct cv, list.n * MAX_RANK);
	memcpy(in, m->n->in, x->first * sizeof(*in));
	memcpy(ranks, m->ranks, x->first * sizeof(*ranks));
	for (uint32_t i = 0; i < x->list->n; i++) {
		const struct cv *c = &x->list->u.items[i];
		struct cv *to = &list.u.items[k++];
		*to = *c;
		if (c->kind == CV_SLICE) {
			*to = same_slice(m, x, c, in, ranks, &nin);
			continue;
		}
		uint32_t at = x->first + (uint32_t)c->u.i, rank = m->ranks[at];
		if (m->n->in[at]->type.dtype != DT_BOOL) {
			*to = cv_int(nin - x->first, m->b->span);
			in[nin] = m->n->in[at];
			ranks[nin++] = rank;
			continue;
		}
		char *s = arena_alloc(a, 2u * MAX_RANK + 16u), *end = stpcpy(s, "(");
		for (uint32_t r = 0; r < rank; r++)
			end = stpcpy(end, r ? ",n" : "n");
		stpcpy(end, ")->(k)");
		struct value *mask = x->at[at] ? x->at[at] : m->n->in[at];
		if (x->at[at])
			new_node(m, OP_Nonzero, NULL, &mask, 1);
		else
			of_each_item(m, OP_Nonzero, NULL, s, &mask, 1);
		const struct node *hits = m->made;
		k--;
		for (uint32_t r = 0; r < rank; r++) {
			list.u.items[k++] = cv_int(nin - x->first, m->b->span);
			in[nin] = hits->out[r];
			ranks[nin++] = 1;
		}
	}
	list.n = k;
	return by_op(m, batch_index, core_id(m), list, in, ranks, nin);
}

bool batch_index(struct batched *m)
{
	bool reads = core_id(m) == OP_Subtensor || core_id(m) == OP_AdvancedSubtensor;
	struct indexing x = {.first = reads ? 1 : 2, .list = &m->core->props[0]};

	read_indices(m, &x);
	if (x.masks && x.arrays_differ)
		return by_choice(m, &x) || by_hits(m, &x);
	if (!x.bounds_differ)
		return by_one_op(m);
	if (2 * m->rank + x.core + x.kept > MAX_RANK)
		return false;
	return by_slices(m, &x);
}
