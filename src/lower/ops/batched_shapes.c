/*
 * batched_shapes.c: Blockwise of ops whose results have lengths that their inputs say, as Alloc,
 * Reshape and Pad. Such lengths must be the same for all items: one item says them, and the run
 * fails if another one says others, as in PyTensor.
 */
#include <string.h>

#include "lower/ops/batched.h"
#include "ops/rules.h"

/* The length of dim k of the batch */
static struct value *batch_length(struct batched *m, uint32_t k)
{
	for (uint32_t i = 0; i < m->n->nin; i++) {
		uint32_t missing = m->rank - own_rank(m, i);
		struct value *v = m->n->in[i];
		if (k >= missing && !dim_is(m->b->cx, v->type.dims[k - missing], 1))
			return new_node(m, OP_Shape_i, new_int(m, k - missing), &v, 1);
	}
	return held_by(m->b, const_int(m->b, 1), type_of(DT_INT64, 0, NULL), m->b->span);
}

/* Input i, a length of Alloc, of the axis of input 0 that is `at` - `first`, if there is one: only
 * an axis that is known to be 1 stretches. What inference demands of nodes that lowering makes is
 * not looked at when the model runs. */
static struct value *fitting(struct batched *m, uint32_t i, uint32_t at, uint32_t first)
{
	struct build *b = m->b;
	const struct type *t = &m->n->in[0]->type;

	if (at < first || dim_is(b->cx, t->dims[own_rank(m, 0) + at - first], 1))
		return common_lengths(m, i);
	struct value *v = low(b, common_lengths(m, i));
	struct value *given = dim_value(b, t->dims[own_rank(m, 0) + at - first]);
	v = cast(b, v, DT_INT64);
	v = check(b, v, emit_(b, ONNX_Equal, v, given),
		  "the value must fit the place that it is put at");
	return held_by(b, v, v->type, b->span);
}

/* Alloc to a shape that is the same for all items */
bool batch_alloc(struct batched *m)
{
	uint32_t sizes = m->n->nin - 1, k = 0;
	struct value **in = new_array(m->b->cx->arena, struct value *, m->rank + sizes + 1);

	if (sizes < m->ranks[0])
		return false;
	in[k++] = with_axes(m, whole_batch(m, 0), m->rank, sizes - m->ranks[0]);
	for (uint32_t i = 0; i < m->rank; i++)
		in[k++] = batch_length(m, i);
	for (uint32_t i = 1; i <= sizes; i++)
		in[k++] = fitting(m, i, i + m->ranks[0], sizes + 1);
	new_node(m, OP_Alloc, NULL, in, k);
	return true;
}

/* What lengths alone decide is one item for all. */
bool batch_of_lengths(struct batched *m)
{
	uint32_t nin = m->n->nin, k = 0;
	struct value **in = new_array(m->b->cx->arena, struct value *, MAX_RANK + nin + 1);

	for (uint32_t i = 0; i < nin; i++)
		in[i] = common_lengths(m, i);
	struct value *r = new_node(m, core_id(m), m->core->props, in, nin);
	in[k++] = r;
	for (uint32_t i = 0; i < m->rank; i++)
		in[k++] = batch_length(m, i);
	for (uint32_t i = 0; i < r->type.rank; i++)
		in[k++] = new_node(m, OP_Shape_i, new_int(m, i), &r, 1);
	new_node(m, OP_Alloc, NULL, in, k);
	return true;
}

/* Eye, whose diagonals may differ: 1 where the number of the column is that of the row and k */
bool batch_eye(struct batched *m)
{
	struct build *b = m->b;
	struct value *rows = common_lengths(m, 0);
	struct value *in[3] = {NULL, rows, common_lengths(m, 1)}, *at[2];

	if (one_for_all(m, 2))
		return batch_of_lengths(m);
	in[0] = held_by(b, const_int(b, 1), type_of(DT_INT64, 0, NULL), b->span);
	struct value *ones = new_node(m, OP_Alloc, NULL, in, 3);
	for (uint32_t i = 0; i < 2; i++)
		at[i] = new_node(m, OP_Cumsum, new_int(m, i), &ones, 1);
	struct value *k = whole_batch(m, 2);
	k = new_node(m, OP_Cast, new_cv(m, (struct cv){.kind = CV_DTYPE, .u.dtype = DT_INT64}), &k,
		     1);
	in[0] = at[0];
	in[1] = with_axes(m, k, m->rank, 2);
	at[0] = new_node(m, OP_Add, NULL, in, 2);
	struct value *on = new_node(m, OP_Eq, NULL, at, 2);
	new_node(m, OP_Cast, m->core->props, &on, 1);
	return true;
}

/* `to`[..., k], lengths of which one may be negative: it becomes what the others leave of `size` */
static struct value *without_negative(struct build *b, struct value *to, dim size)
{
	int last = to->type.rank - 1;
	struct value *rest = emit_(b, ONNX_Neg, reduce(b, ONNX_ReduceProd, to, &last, 1, true));

	rest = emit_(b, ONNX_Max, rest, const_int(b, 1));
	rest = emit_(b, ONNX_Div, dim_value(b, size), rest);
	return emit_(b, ONNX_Where, emit_(b, ONNX_Equal, to, const_int(b, -1)), rest, to);
}

/* Reshape to lengths that are the same for all items. -1 stands for a length of the items: beside a
 * batch of none ONNX could not tell it. */
bool batch_reshape(struct batched *m)
{
	struct build *b = m->b;
	struct type t = m->n->out[0]->type;
	bool known = true, same = one_for_all(m, 1);

	for (uint32_t i = m->rank; i < t.rank && known; i++)
		known = dim_available(b, t.dims[i]);
	struct value *x = low(b, whole_batch(m, 0)), *shape[2] = {dims_vector(b, t.dims, m->rank)};
	if (known) {
		x = reshape(b, x, t.dims, t.rank);
	} else {
		dim size = dims_product(b->cx, x->type.dims + m->rank, m->ranks[0]);
		dim *length = new_dims(b->cx, 1);
		*length = dim_const(b->cx, t.rank - m->rank);
		struct value *to = cast(b, flat_items(m, 1), DT_INT64);
		if (same)
			to = reshape(b, to, length, 1);
		to = without_negative(b, to, size);
		shape[1] = same ? to : same_for_all(b, to);
		x = reshape_to(b, x, concat(b, 0, shape, 2), t.dims, t.rank);
	}
	x = held_by(b, x, t, b->span);
	new_node(m, OP_Identity, NULL, &x, 1);
	return true;
}

/* Scalars of each item along a last axis */
bool batch_makevector(struct batched *m)
{
	uint32_t nin = m->n->nin;
	struct value **in = new_array(m->b->cx->arena, struct value *, nin + 1);
	struct cv type = {.kind = CV_DTYPE, .u.dtype = (enum dtype)m->n->out[0]->type.dtype};

	for (uint32_t i = 0; i < nin; i++) {
		in[i] = whole_batch(m, i);
		in[i] = new_node(m, OP_Cast, new_cv(m, type), in + i, 1);
		in[i] = with_axes(m, in[i], m->rank, 1);
	}
	new_node(m, OP_Join, new_int(m, m->rank), in, nin);
	return nin > 0;
}

/* The shape of an item */
bool batch_lengths(struct batched *m)
{
	struct build *b = m->b;
	struct value *x = whole_batch(m, 0);
	struct node core = {.op = m->core->op, .props = m->core->props};
	const struct type *to = &m->n->out[0]->type;
	struct value *r = low(b, x);

	if (core_id(m) == OP_Shape_i) {
		int64_t i = prop_int(b->cx, &core, "i");
		r = dim_value(b, r->type.dims[m->rank + i + (i < 0 ? m->ranks[0] : 0)]);
	} else {
		r = shape_slice(b, r, (int)m->rank, r->type.rank);
	}
	r = expand(b, r, to->dims, to->rank);
	r = held_by(b, r, r->type, b->span);
	new_node(m, OP_Identity, NULL, &r, 1);
	return true;
}

/* The items, if their lengths are the given ones */
bool batch_specify_shape(struct batched *m)
{
	struct build *b = m->b;
	struct value *x = low(b, whole_batch(m, 0));

	for (uint32_t i = 1; i < m->n->nin; i++) {
		struct value *length = cast(b, low(b, m->n->in[i]), DT_INT64);
		struct value *own = dim_value(b, x->type.dims[m->rank + i - 1]);
		check_always(b, emit_(b, ONNX_Equal, length, own),
			     "a length must be that of SpecifyShape");
	}
	x = held_by(b, x, x->type, b->span);
	new_node(m, OP_Identity, NULL, &x, 1);
	return true;
}

/* An axis behind the batch, split into the same lengths for all items */
bool batch_splitdims(struct batched *m)
{
	struct build *b = m->b;
	struct node core = {.op = m->core->op, .props = m->core->props};
	struct value *whole = whole_batch(m, 0), *in[2] = {whole, one_for_all(m, 1)};
	const struct cv *props = props_behind(m, m->ranks[0]);

	if (!in[1]) {
		int64_t axis = prop_int(b->cx, &core, "axis") + m->rank;
		axis += axis < m->rank ? m->ranks[0] : 0;
		struct value *to = cast(b, flat_items(m, 1), DT_INT64);
		to = without_negative(b, to, in[0]->type.dims[axis]);
		to = same_for_all(b, to);
		in[1] = held_by(b, to, to->type, b->span);
	}
	new_node(m, OP_SplitDims, (struct cv *)props, in, 2);
	return true;
}

/* Each item with v on a diagonal */
bool batch_fill_diagonal(struct batched *m)
{
	struct build *b = m->b;
	struct value *x = whole_batch(m, 0), *v = padded(m, 1), *size[MAX_RANK + 1], *in[3];
	struct cv type = {.kind = CV_DTYPE, .u.dtype = DT_BOOL};
	uint32_t core = m->ranks[0];

	for (uint32_t i = 0; i < core; i++)
		size[1 + i] = new_node(m, OP_Shape_i, new_int(m, m->rank + i), &x, 1);
	if (core == 2) {
		size[3] = held_by(b, const_int(b, 0), type_of(DT_INT64, 0, NULL), b->span);
		in[0] = new_node(m, OP_Eye, new_cv(m, type), size + 1, 3);
	} else {
		for (int i = 0; i < 2; i++)
			in[i] = held_by(b, const_of(b, DT_BOOL, i), type_of(DT_BOOL, 0, NULL),
					b->span);
		size[0] = in[0];
		in[0] = new_node(m, OP_Alloc, NULL, size, core + 1);
		in[0] = new_node(m, OP_FillDiagonal, NULL, in, 2);
	}
	in[0] = with_axes(m, in[0], 0, m->rank);
	type.u.dtype = (enum dtype)x->type.dtype;
	in[1] = with_axes(m, new_node(m, OP_Cast, new_cv(m, type), &v, 1), m->rank, core);
	in[2] = x;
	new_node(m, OP_Switch, NULL, in, 3);
	return true;
}

/* v, which NumPy stretches to two numbers for each axis of an item, with `fill` for those of the
 * batch */
static struct value *for_each_axis(struct batched *m, struct value *v, double fill)
{
	struct build *b = m->b;
	int64_t pair[2] = {m->ranks[0], 2};
	enum dtype t = (enum dtype)v->type.dtype;
	struct value *in[3] = {v}, *part[2];

	if (v->type.rank != 2 || !dim_is(b->cx, v->type.dims[0], pair[0])) {
		for (int i = 0; i < 2; i++)
			in[i + 1] = held_by(b, const_int(b, pair[i]), type_of(DT_INT64, 0, NULL),
					    b->span);
		v = new_node(m, OP_Alloc, NULL, in, 3);
	}
	dim *d = new_dims(b->cx, 2);
	d[0] = dim_const(b->cx, m->rank);
	d[1] = dim_const(b->cx, 2);
	struct tensor *fills = tensor_new(b->cx, t, 2, (int64_t[]){m->rank, 2});
	double numbers[2 * MAX_RANK];
	for (uint32_t i = 0; i < 2 * m->rank; i++)
		numbers[i] = fill;
	fills->data = new_array(b->cx->arena, double, 2 * m->rank);
	tensor_convert(t, (void *)fills->data, DT_FLOAT64, numbers, 2 * m->rank);
	part[0] = held_by(b, const_tensor(b, fills), type_of(t, 2, d), b->span);
	part[1] = v;
	return new_node(m, OP_Join, new_int(m, 0), part, 2);
}

/* Widths that differ between items, but add up to one length: of each axis with the largest widths
 * on both sides, what each item has of it. Borders do not depend on widths, but for ramps. */
static bool pad_and_cut(struct batched *m, struct value **in)
{
	struct build *b = m->b;
	struct value *v = cast(b, low(b, m->n->in[1]), DT_INT64), *zero = const_int(b, 0);
	uint32_t own = own_rank(m, 1), core = m->ranks[0], missing = 2 - m->ranks[1];
	int64_t axes[MAX_RANK];
	dim *d = new_dims(b->cx, own + 2), *flat = new_dims(b->cx, 3), *both = new_dims(b->cx, 2);

	for (uint32_t i = 0; i < missing; i++)
		axes[i] = own + i;
	v = unsqueeze(b, v, axes, missing);
	memcpy(d, v->type.dims, own * sizeof(dim));
	both[0] = flat[1] = d[own] = dim_const(b->cx, core);
	both[1] = flat[2] = d[own + 1] = dim_const(b->cx, 2);
	flat[0] = dims_product(b->cx, d, own);
	v = expand(b, v, d, own + 2);
	v = check(b, v, emit_(b, ONNX_GreaterOrEqual, v, zero), "widths must not be negative");
	struct value *one = expand(b, zero, both, 2);
	struct value *rows = reshape(b, v, flat, 3);
	struct value *all[2] = {rows, unsqueeze(b, one, &(int64_t){0}, 1)};
	struct value *most = reduce_int64(b, concat(b, 0, all, 2), (int[]){0}, 1, true, false);
	in[1] = for_each_axis(
		m, held_by(b, with_dims(most, both), type_of(DT_INT64, 2, both), b->span), 0);
	struct value *r = new_node(m, OP_Pad, m->core->props, in, m->n->nin);
	for (uint32_t i = 0; i < core; i++) {
		struct value *row, *w[2], *at, *length;
		attr_int(b, "axis", own);
		row = emit_(b, ONNX_Gather, v, const_int(b, i));
		for (int side = 0; side < 2; side++) {
			attr_int(b, "axis", own);
			w[side] = emit_(b, ONNX_Gather, row, const_int(b, side));
		}
		length = reshape(b, emit_(b, ONNX_Add, w[0], w[1]), flat, 1);
		length = same_for_all(b, length);
		length = emit_(b, ONNX_Add, length,
			       dim_value(b, m->n->in[0]->type.dims[own_rank(m, 0) + i]));
		at = emit_(b, ONNX_Range, zero, length, const_int(b, 1));
		at = with_dims(at, m->n->out[0]->type.dims + m->rank + i);
		length = emit_(b, ONNX_Gather, emit_(b, ONNX_Gather, most, const_int(b, i)), zero);
		w[0] = emit_(b, ONNX_Sub, length, w[0]);
		at = emit_(b, ONNX_Add, at, unsqueeze(b, w[0], &(int64_t){own}, 1));
		if (!lower_inlined(b, m->body, &r, 1, b->span, &length)) {
			m->made = NULL;
			return true;
		}
		m->body = block_new(b);
		r = held_by(b, length, length->type, b->span);
		if (!take_rows(m, r, held_by(b, at, at->type, b->span), core, i))
			return false;
		r = m->made->out[0];
	}
	return true;
}

/* x with borders of one number for each item: which elements are border is that of ones with
 * borders of 0 */
static bool pad_by_numbers(struct batched *m, struct value *x)
{
	struct build *b = m->b;
	const char *of_rank[] = {"()", "(w)", "(v,w)"};
	char *s = arena_alloc(b->cx->arena, 4u * MAX_RANK + 32u), *to = stpcpy(s, "(");
	struct value *in[3] = {x, m->n->in[1]}, *r[3];
	struct type t = type_of(DT_INT8, x->type.rank, x->type.dims);

	for (uint32_t i = 0; i < m->ranks[0]; i++)
		to = stpcpy(to, i ? ",n" : "n");
	stpcpy(stpcpy(stpcpy(to, "),"), of_rank[m->ranks[1]]), ",()->(r)");
	struct value *ones = expand(b, const_of(b, DT_INT8, 1), t.dims, t.rank);
	for (int i = 0; i < 2; i++) {
		in[0] = i ? x : held_by(b, ones, t, b->span);
		in[2] = const_of(b, (enum dtype)in[0]->type.dtype, 0);
		in[2] = held_by(b, in[2], in[2]->type, b->span);
		r[i] = of_each_item(m, OP_Pad, m->core->props, s, in, 3);
	}
	struct cv type = {.kind = CV_DTYPE, .u.dtype = DT_BOOL};
	r[0] = new_node(m, OP_Cast, new_cv(m, type), r, 1);
	type.u.dtype = (enum dtype)x->type.dtype;
	r[2] = padded(m, 2);
	r[2] = with_axes(m, new_node(m, OP_Cast, new_cv(m, type), r + 2, 1), m->rank, m->ranks[0]);
	new_node(m, OP_Switch, NULL, r, 3);
	return true;
}

/* Pad of axes behind those of the batch, whose widths are 0 */
bool batch_pad(struct batched *m)
{
	struct node core = {.op = m->core->op, .props = m->core->props};
	const char *mode = prop_str(m->b->cx, &core, "pad_mode");
	struct value *whole = whole_batch(m, 0), *in[3] = {whole, one_for_all(m, 1)};
	bool ramp = !strcmp(mode, "linear_ramp"), constant = !strcmp(mode, "constant");

	if (m->n->nin > 3 || (!in[1] && (ramp || !m->ranks[0])))
		return false;
	if (m->n->nin > 2) {
		if (!(in[2] = one_for_all(m, 2)))
			return constant && !m->ranks[2] && pad_by_numbers(m, in[0]);
		if (m->ranks[2]) /* lengths of statistics are at least 1 */
			in[2] = for_each_axis(m, in[2], !constant && !ramp);
	}
	if (!in[1])
		return pad_and_cut(m, in);
	in[1] = for_each_axis(m, in[1], 0);
	new_node(m, OP_Pad, m->core->props, in, m->n->nin);
	return true;
}

/* Repeats that differ between items, but have one sum: row j is the one before which j or more end
 */
bool batch_repeat(struct batched *m)
{
	struct build *b = m->b;
	struct node core = {.op = m->core->op, .props = m->core->props};
	uint32_t own = own_rank(m, 1);
	int last = (int)own;

	if (one_for_all(m, 1))
		return batch_along_axes(m);
	int64_t axis = prop_int(b->cx, &core, "axis");
	axis = from_front(axis, m->ranks[0]);
	struct value *x = m->n->in[0], *r = cast(b, low(b, m->n->in[1]), DT_INT64);
	dim length = x->type.dims[own_rank(m, 0) + axis], given = r->type.dims[own];
	dim *d = new_dims(b->cx, own + 1);
	memcpy(d, r->type.dims, own * sizeof(dim));
	d[own] = length;
	if (dim_is(b->cx, given, 1)) {
		r = expand(b, r, d, own + 1);
	} else if (!dim_eq(b->cx, given, length)) {
		struct value *to = dims_vector(b, d, own + 1);
		r = labelled(b, reshape_to(b, emit_(b, ONNX_Expand, r, to), to, d, own + 1),
			     "as many repeats as elements");
	}
	r = check(b, r, emit_(b, ONNX_GreaterOrEqual, r, const_int(b, 0)),
		  "numbers of repeats must not be negative");
	struct value *sum = reduce(b, ONNX_ReduceSum, r, &last, 1, false), *in[2];
	d = new_dims(b->cx, 1);
	d[0] = dims_product(b->cx, sum->type.dims, own);
	sum = same_for_all(b, reshape(b, sum, d, 1));
	in[0] = emit_(b, ONNX_CumSum, r, const_int(b, last));
	in[1] = iota_of(b, sum);
	d = new_dims(b->cx, 1);
	d[0] = m->n->out[0]->type.dims[m->rank + axis];
	in[1] = with_dims(in[1], d);
	for (int i = 0; i < 2; i++)
		in[i] = held_by(b, in[i], in[i]->type, b->span);
	struct cv side = {.kind = CV_STR, .u.str = new (b->cx->arena, struct astr)};
	*side.u.str = (struct astr){"right", 5};
	struct value *at =
		of_each_item(m, OP_SearchsortedOp, new_cv(m, side), "(n),(t)->(t)", in, 2);
	return take_rows(m, x, at, m->ranks[0], (uint32_t)axis);
}
