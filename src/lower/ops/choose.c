/*
 * choose.c: Choose, PermuteRowElements, UnravelIndex, RavelMultiIndex. In: a typed node. Out: ONNX
 * values. Indices out of range make the run fail where PyTensor raises; ONNX's negative indices,
 * which count from the end, are none there.
 */
#include <string.h>

#include "lower/ops/lowerings.h"

/* `at`, or the run fails, if `on` is false for one of its elements */
static struct value *where_all(struct build *b, struct value *at, struct value *on)
{
	struct cv none = {.kind = CV_NONE, .span = b->span};
	struct value *all;

	if (!lower_as(b, &op_table[OP_All], &none, &on, 1, &all, 1))
		return at;
	return labelled(b, checked(b, at, all), "indices must lie inside of the tensor");
}

static struct value *within(struct build *b, struct value *at, struct value *size)
{
	return where_all(b, at,
			 emit_(b, ONNX_And, emit_(b, ONNX_GreaterOrEqual, at, const_int(b, 0)),
			       emit_(b, ONNX_Less, at, size)));
}

/* What to divide by: no indices lie in a tensor without elements, and the runtime divides by 0 for
 * none of them too. */
static struct value *divisor(struct build *b, struct value *size)
{
	int64_t k;

	if (const_int_at(b, size, 0, &k))
		return k ? size : const_int(b, 1);
	return emit_(b, ONNX_Where, emit_(b, ONNX_Equal, size, const_int(b, 0)), const_int(b, 1),
		     size);
}

/* Where an index is made one that is in range, there must be such a one. */
static struct value *some(struct build *b, struct value *at, struct value *size)
{
	int64_t k;

	if (const_int_at(b, size, 0, &k) && k > 0)
		return at;
	struct value *sizes = emit_(b, ONNX_Add, emit_(b, ONNX_Mul, at, const_int(b, 0)), size);
	return where_all(b, at, emit_(b, ONNX_Greater, sizes, const_int(b, 0)));
}

/* By the mode: an index that is in range */
static struct value *in_range(struct build *b, const char *mode, struct value *at,
			      struct value *size)
{
	if (mode[0] == 'w')
		return emit_(b, ONNX_Mod, at, divisor(b, size));
	if (mode[0] == 'r')
		return within(b, at, size);
	at = emit_(b, ONNX_Min, at, emit_(b, ONNX_Sub, size, const_int(b, 1)));
	return emit_(b, ONNX_Max, at, const_int(b, 0));
}

struct value *length_at(struct build *b, struct value *dims, uint32_t i)
{
	int64_t k;

	if (const_int_at(b, dims, i, &k))
		return const_int(b, k);
	return emit_(b, ONNX_Gather, cast(b, dims, DT_INT64), const_int(b, i));
}

/* Lengths: two below 0 have a product that indices could lie below. */
static struct value *no_less_than_0(struct build *b, struct value *dims)
{
	const struct known *k = known_of(b->cx, dims);
	bool sure = k != NULL;

	for (uint32_t i = 0; sure && i < k->n; i++)
		sure = k->at[i] && dim_ge(b->cx, k->at[i], 0);
	dims = low(b, dims);
	return sure ? dims : emit_(b, ONNX_Max, cast(b, dims, DT_INT64), const_int(b, 0));
}

bool lower_unravelindex(struct build *b, struct node *n)
{
	struct value *rest = cast(b, low(b, n->in[0]), DT_INT64);
	struct value *dims = no_less_than_0(b, n->in[1]);
	bool c_order = !strcmp(prop_str(b->cx, n, "order"), "C");
	struct value **d = new_array(b->cx->arena, struct value *, n->nout), *all;

	for (uint32_t i = 0; i < n->nout; i++)
		d[i] = length_at(b, dims, i);
	all = d[0];
	for (uint32_t i = 1; i < n->nout; i++)
		all = emit_(b, ONNX_Mul, all, d[i]);
	rest = within(b, rest, all);
	for (uint32_t k = 0; k + 1 < n->nout; k++) {
		uint32_t i = c_order ? n->nout - 1u - k : k;
		struct value *by = divisor(b, d[i]);
		lowered(b, n, i, emit_(b, ONNX_Mod, rest, by));
		rest = emit_(b, ONNX_Div, rest, by);
	}
	lowered(b, n, c_order ? 0 : n->nout - 1u, rest);
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
		struct value *size = length_at(b, dims, i);
		struct value *at = cast(b, low(b, n->in[i]), DT_INT64);
		if (mode[0] != 'r')
			at = some(b, at, size);
		at = in_range(b, mode, at, size);
		r = r ? emit_(b, ONNX_Add, emit_(b, ONNX_Mul, r, size), at) : at;
	}
	lowered(b, n, 0, with_dims(r, n->out[0]->type.dims));
	return true;
}

/* v with the leading dims of `to`, its own last one, and dims of 1 put before it */
static struct value *rows_of(struct build *b, struct value *v, struct type to)
{
	dim *d = new_array(b->cx->arena, dim, to.rank + 1u);

	memcpy(d, to.dims, to.rank * sizeof(dim));
	return expand(b, v, d, to.rank);
}

bool lower_permuterowelements(struct build *b, struct node *n)
{
	struct type t = n->out[0]->type;
	struct value *x = rows_of(b, low(b, n->in[0]), t);
	struct value *at = rows_of(b, cast(b, low(b, n->in[1]), DT_INT64), t);

	attr_int(b, "axis", t.rank - 1);
	if (prop_bool(b->cx, n, "inverse"))
		lowered(b, n, 0, emit_(b, ONNX_ScatterElements, x, at, x));
	else
		lowered(b, n, 0, emit_(b, ONNX_GatherElements, x, at));
	return true;
}

/* v as long as the result, whose dims d are; where they are not known, by what it meets: the axes
 * of `other` from `from` on. */
static struct value *met(struct build *b, struct value *v, const dim *d, struct value *other,
			 int from)
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

/* A number of each of n choices: out of range it is behind the end, where the runtime refuses it.
 */
static struct value *numbers_of(struct build *b, struct node *n, struct value *size)
{
	struct value *at = cast(b, low(b, n->in[0]), DT_INT64);
	const char *mode = prop_str(b->cx, n, "mode");

	if (mode[0] != 'r')
		return in_range(b, mode, at, size);
	return emit_(b, ONNX_Where, emit_(b, ONNX_Less, at, const_int(b, 0)), size, at);
}

/* What a list is chosen from by `at`: each choice is made as long as the result, and they are put
 * behind each other. Where lengths are not known, what they are together is found by what meets. */
static struct value *choose_listed(struct build *b, struct node *n, struct value *at)
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
	int64_t none;

	if (!n->in[1]) {
		struct value *at = numbers_of(b, n, const_int(b, n->nin - 2));
		lowered(b, n, 0, with_dims(choose_listed(b, n, at), t.dims));
		return true;
	}
	struct value *x = low(b, n->in[1]);
	struct value *size = dim_value(b, x->type.dims[0]), *at = numbers_of(b, n, size);
	if (dim_is_const(b->cx, x->type.dims[0], &none) && !none) {
		raises(b, "there is nothing to choose from");
		return false;
	}
	if (x->type.rank == 1) {
		lowered(b, n, 0, with_dims(emit_(b, ONNX_Gather, x, at), t.dims));
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
	x = met(b, unsqueeze(b, x, axes, (uint32_t)missing), d, index, 0);
	at = unsqueeze(b, met(b, at, t.dims, choices, 1), &(int64_t){0}, 1);
	at = emit_(b, ONNX_GatherElements, x, at);
	lowered(b, n, 0, with_dims(squeeze(b, at, &(int64_t){0}, 1), t.dims));
	return true;
}
