/*
 * choose.c: lowers Choose, PermuteRowElements, UnravelIndex, RavelMultiIndex. The run fails for
 * indices out of range if PyTensor raises. Negative indices, which ONNX counts from the end, are
 * out of range.
 */
#include <string.h>

#include "lower/ops/lowerings.h"

/* `at`; the run fails if an element of `on` is false */
static struct value *check_all(struct build *b, struct value *at, struct value *on)
{
	const struct op *op = &op_table[OP_All];
	struct value *all;

	if (!lower_as(b, op, bind_props(b->cx, op, b->span, NULL, 0), &on, 1, &all, 1))
		return at;
	return check(b, at, all, "indices must lie inside of the tensor");
}

static struct value *within(struct build *b, struct value *at, struct value *size)
{
	struct value *not_below = emit_(b, ONNX_GreaterOrEqual, at, const_int(b, 0));
	return check_all(b, at, emit_(b, ONNX_And, not_below, emit_(b, ONNX_Less, at, size)));
}

/* max(size, 1) as a divisor. A tensor without elements has no valid index, but ONNX Runtime divides
 * by 0 even if there are no indices. */
static struct value *nonzero_divisor(struct build *b, struct value *size)
{
	int64_t k;

	if (known_int(b->cx, size, 0, &k))
		return k ? size : const_int(b, 1);
	struct value *none = emit_(b, ONNX_Equal, size, const_int(b, 0));
	return emit_(b, ONNX_Where, none, const_int(b, 1), size);
}

/* `at`, indices for modes clip and wrap; the run fails if there are indices, but `size` is 0. */
static struct value *check_some_choice(struct build *b, struct value *at, struct value *size)
{
	int64_t k;

	if (known_int(b->cx, size, 0, &k) && k > 0)
		return at;
	struct value *sizes = emit_(b, ONNX_Add, emit_(b, ONNX_Mul, at, const_int(b, 0)), size);
	return check_all(b, at, emit_(b, ONNX_Greater, sizes, const_int(b, 0)));
}

/* Brings indices into range by the mode: wrap, clip, or raise. */
static struct value *apply_mode(struct build *b, const char *mode, struct value *at,
				struct value *size)
{
	if (mode[0] == 'w')
		return emit_(b, ONNX_Mod, at, nonzero_divisor(b, size));
	if (mode[0] == 'r')
		return within(b, at, size);
	at = emit_(b, ONNX_Min, at, emit_(b, ONNX_Sub, size, const_int(b, 1)));
	return emit_(b, ONNX_Max, at, const_int(b, 0));
}

struct value *length_at(struct build *b, struct value *dims, uint32_t i)
{
	int64_t k;

	if (known_int(b->cx, dims, i, &k))
		return const_int(b, k);
	dims = cast(b, dims, DT_INT64);
	return emit_(b, ONNX_Gather, dims, const_int(b, i));
}

/* Length i, int64[]; or that of each item of a batch, beside items of `rank` dims */
static struct value *length_beside(struct build *b, struct value *dims, uint32_t i, uint32_t rank)
{
	int64_t axes[MAX_RANK];

	if (dims->type.rank == 1)
		return length_at(b, dims, i);
	for (uint32_t k = 0; k < rank; k++)
		axes[k] = 1 + k;
	dims = cast(b, dims, DT_INT64);
	attr_int(b, "axis", 1);
	dims = emit_(b, ONNX_Gather, dims, const_int(b, i));
	return unsqueeze(b, dims, axes, rank);
}

/* Makes the run fail if a length is negative: the product of two negative lengths is positive, and
 * indices below it would pass. */
static struct value *negative_as_0(struct build *b, struct value *dims)
{
	const struct known *k = known_of(b->cx, dims);
	bool sure = k != NULL;

	for (uint32_t i = 0; sure && i < k->n; i++)
		sure = k->at[i] && dim_is_length(b->cx, k->at[i]);
	dims = low(b, dims);
	if (sure)
		return dims;
	dims = cast(b, dims, DT_INT64);
	return emit_(b, ONNX_Max, dims, const_int(b, 0));
}

bool lower_unravelindex(struct build *b, struct node *n)
{
	struct value *rest = cast(b, low(b, n->in[0]), DT_INT64);
	struct value *dims = negative_as_0(b, n->in[1]);
	bool c_order = !strcmp(prop_str(b->cx, n, "order"), "C");
	struct value **d = new_array(b->cx->arena, struct value *, n->nout), *all;
	struct type t = n->out[0]->type;

	for (uint32_t i = 0; i < n->nout; i++)
		d[i] = length_beside(b, dims, i, t.rank - 1u);
	all = d[0];
	for (uint32_t i = 1; i < n->nout; i++)
		all = emit_(b, ONNX_Mul, all, d[i]);
	rest = within(b, rest, all);
	for (uint32_t k = 0; k + 1 < n->nout; k++) {
		uint32_t i = c_order ? n->nout - 1u - k : k;
		struct value *by = nonzero_divisor(b, d[i]);
		set_lowered(b, n, i, expand(b, emit_(b, ONNX_Mod, rest, by), t.dims, t.rank));
		rest = emit_(b, ONNX_Div, rest, by);
	}
	set_lowered(b, n, c_order ? 0 : n->nout - 1u, expand(b, rest, t.dims, t.rank));
	return true;
}

bool lower_ravelmultiindex(struct build *b, struct node *n)
{
	uint32_t count = n->nin - 1u;
	struct value *dims = low(b, n->in[count]), *r = NULL;
	bool c_order = !strcmp(prop_str(b->cx, n, "order"), "C");
	const char *mode = prop_str(b->cx, n, "mode");

	for (uint32_t k = 0; k < count; k++) { /* Horner's scheme */
		uint32_t i = c_order ? k : count - 1 - k;
		struct value *size = length_beside(b, dims, i, n->out[0]->type.rank - 1u);
		struct value *at = cast(b, low(b, n->in[i]), DT_INT64);
		if (mode[0] != 'r')
			at = check_some_choice(b, at, size);
		at = apply_mode(b, mode, at, size);
		r = r ? emit_(b, ONNX_Add, emit_(b, ONNX_Mul, r, size), at) : at;
	}
	set_lowered(b, n, 0, expand(b, r, n->out[0]->type.dims, n->out[0]->type.rank));
	return true;
}

/* v broadcast to the leading dims of `to`, with its own last axis */
static struct value *broadcast_rows(struct build *b, struct value *v, struct type to)
{
	dim *d = new_array(b->cx->arena, dim, to.rank + 1u);

	memcpy(d, to.dims, to.rank * sizeof(dim));
	return expand(b, v, d, to.rank);
}

bool lower_permuterowelements(struct build *b, struct node *n)
{
	struct type t = n->out[0]->type;
	struct value *x = broadcast_rows(b, low(b, n->in[0]), t);
	struct value *at = broadcast_rows(b, cast(b, low(b, n->in[1]), DT_INT64), t);

	attr_int(b, "axis", t.rank - 1);
	if (prop_bool(b->cx, n, "inverse"))
		set_lowered(b, n, 0, emit_(b, ONNX_ScatterElements, x, at, x));
	else
		set_lowered(b, n, 0, emit_(b, ONNX_GatherElements, x, at));
	return true;
}

/* v expanded to the dims d of the result. If they are not known, v is expanded by the shape of
 * `other` from axis `from` on. */
static struct value *expand_to_result(struct build *b, struct value *v, const dim *d,
				      struct value *other, int from)
{
	uint32_t rank = v->type.rank;
	bool known = true;

	for (uint32_t i = 0; i < rank; i++)
		known &= dim_available(b, d[i]);
	if (known || same_dims(b->cx, v->type, type_of(DT_NONE, rank, (dim *)d)))
		return expand(b, v, d, rank);
	return with_dims(emit_(b, ONNX_Expand, v, shape_slice(b, other, from, other->type.rank)),
			 d);
}

/* The indices of the choices. In mode raise, a negative one becomes `size`, for which Gather fails.
 */
static struct value *choice_indices(struct build *b, struct node *n, struct value *size)
{
	struct value *at = cast(b, low(b, n->in[0]), DT_INT64);
	const char *mode = prop_str(b->cx, n, "mode");

	if (mode[0] != 'r')
		return apply_mode(b, mode, at, size);
	return emit_(b, ONNX_Where, emit_(b, ONNX_Less, at, const_int(b, 0)), size, at);
}

/* Chooses from a list: all choices are expanded to the shape of the result and joined, and `at`
 * reads by GatherElements. If lengths are not known, Max of all choices has the broadcast shape. */
static struct value *choose_from_list(struct build *b, struct node *n, struct value *at)
{
	struct type t = n->out[0]->type;
	uint32_t count = n->nin - 2u;
	struct value **x = new_array(b->cx->arena, struct value *, count), *shape = NULL;
	dim *d = new_array(b->cx->arena, dim, t.rank + 1u);
	bool scalars = true, alike = true, known = true, same = true;

	for (uint32_t k = 0; k < count; k++) {
		x[k] = low(b, n->in[k + 2]);
		scalars &= !x[k]->type.rank;
		alike &= same_dims(b->cx, x[k]->type, x[0]->type);
		same &= same_dims(b->cx, x[k]->type, t);
	}
	for (uint32_t i = 0; i < t.rank; i++)
		known &= dim_available(b, t.dims[i]);
	if (scalars) {
		for (uint32_t k = 0; k < count; k++)
			x[k] = vector_of(b, x[k]);
		return emit_(b, ONNX_Gather, concat(b, 0, x, count), at);
	}
	d[0] = dim_const(b->cx, 1);
	memcpy(d + 1, t.dims, t.rank * sizeof(dim));
	same &= same_dims(b->cx, at->type, t);
	at = unsqueeze(b, at, &(int64_t){0}, 1);
	if (!same && !known) {
		struct value *all = alike ? x[0] : emit(b, ONNX_Max, x, count);
		at = with_dims(emit_(b, ONNX_Expand, at, shape_of(b, all)), d);
		shape = shape_of(b, at);
	} else if (!same) {
		at = expand(b, at, d, t.rank + 1u);
	}
	for (uint32_t k = 0; k < count; k++) {
		if (shape)
			x[k] = with_dims(emit_(b, ONNX_Expand, x[k], shape), d);
		else if (same)
			x[k] = unsqueeze(b, x[k], &(int64_t){0}, 1);
		else
			x[k] = expand(b, x[k], d, t.rank + 1u);
	}
	at = emit_(b, ONNX_GatherElements, concat(b, 0, x, count), at);
	return squeeze(b, at, &(int64_t){0}, 1);
}

bool lower_choose(struct build *b, struct node *n)
{
	struct type t = n->out[0]->type;
	dim *d = new_array(b->cx->arena, dim, t.rank + 1u);

	if (!n->in[1]) {
		struct value *at = choice_indices(b, n, const_int(b, n->nin - 2));
		set_lowered(b, n, 0, with_dims(choose_from_list(b, n, at), t.dims));
		return true;
	}
	struct value *x = low(b, n->in[1]);
	struct value *size = dim_value(b, x->type.dims[0]), *at = choice_indices(b, n, size);
	if (dim_is(b->cx, x->type.dims[0], 0)) {
		raises(b, "there is nothing to choose from");
		return false;
	}
	if (x->type.rank == 1) {
		set_lowered(b, n, 0, with_dims(emit_(b, ONNX_Gather, x, at), t.dims));
		return true;
	}
	int64_t axes[MAX_RANK], outer[MAX_RANK], missing = t.rank + 1 - x->type.rank;
	for (int64_t i = 0; i < missing; i++)
		axes[i] = 1 + i;
	d[0] = x->type.dims[0];
	memcpy(d + 1, t.dims, t.rank * sizeof(dim));
	struct value *choices = x, *index = at;
	for (int64_t i = 0; i < t.rank - index->type.rank; i++)
		outer[i] = i;
	at = unsqueeze(b, at, outer, (uint32_t)(t.rank - index->type.rank));
	x = expand_to_result(b, unsqueeze(b, x, axes, (uint32_t)missing), d, index, 0);
	at = unsqueeze(b, expand_to_result(b, at, t.dims, choices, 1), &(int64_t){0}, 1);
	at = emit_(b, ONNX_GatherElements, x, at);
	set_lowered(b, n, 0, with_dims(squeeze(b, at, &(int64_t){0}, 1), t.dims));
	return true;
}
