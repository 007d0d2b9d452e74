/*
 * ops.c: reductions by products and comparisons, running products, sorting, Nonzero and
 * Einsum of complex numbers. In: a typed node with a complex argument. Out: ONNX values, pairs
 * where the result is complex. Numbers are compared as NumPy does it: by real parts, then by
 * imaginary ones; those with a NaN are last, first among them those whose real part is none, then
 * those whose imaginary part is none.
 */
#include <math.h>
#include <string.h>

#include "lower/build.h"

static enum dtype part_dtype(const struct value *v)
{
	return v->type.dtype == DT_COMPLEX64 ? DT_FLOAT32 : DT_FLOAT64;
}

/* Result 0 from its parts */
static void whole(struct build *b, struct node *n, struct value **parts)
{
	struct type t = n->out[0]->type;

	for (int i = 0; i < 2; i++)
		parts[i] = with_dims(cast(b, parts[i], part_dtype(n->out[0])), t.dims);
	lowered(b, n, 0, complex_whole(b, parts[0], parts[1], t));
}

/* The argument as a pair. NULL: reported */
static struct value *pairs_of(struct build *b, struct node *n)
{
	enum dtype t = (enum dtype)n->out[0]->type.dtype;

	if (is_complex(t))
		return low(b, n->in[0]);
	unsupported(b, "a complex number is no %s: take its real part", dtypes[t].name);
	return NULL;
}

/* The rows, behind one of v */
static struct value *behind_row(struct build *b, struct value *rows, double v)
{
	struct type t = rows->type;
	dim *d = new_array(b->cx->arena, dim, t.rank);

	memcpy(d, t.dims, t.rank * sizeof(dim));
	d[0] = dim_const(b->cx, 1);
	struct value *first = expand(b, const_of(b, (enum dtype)t.dtype, v), d, t.rank);
	return concat(b, 0, (struct value *[]){first, rows}, 2);
}

/* Rows of the first axis by a fn of the library: products in double precision, as PyTensor
 * accumulates them. */
bool lower_complex_reduce(struct build *b, struct node *n)
{
	bool prod = n->op == &op_table[OP_Prod], max = n->op == &op_table[OP_Max];
	bool initial = !prod && prop_bool(b->cx, n, "initial");
	const char *name = prod ? "_Cprod_rows" : max ? "_Cmaximum_rows" : "_Cminimum_rows";
	struct value *x = pairs_of(b, n), *part[2];
	int axes[MAX_RANK], k = prop_axes(b->cx, n, "axes", n->in[0]->type.rank, axes, true);

	if (k < 0 || !x)
		return false;
	for (uint32_t i = 0; i < 2; i++) {
		part[i] = complex_part(b, x, i);
		if (!prod && !initial)
			part[i] = guard_nonempty(b, part[i], axes, k);
		part[i] = merged_first(
			b, cast(b, part[i], prod ? DT_FLOAT64 : part_dtype(n->in[0])), axes, k);
		if (initial)
			part[i] = behind_row(b, part[i], i ? 0 : max ? -INFINITY : INFINITY);
	}
	if (!call_fn(b, lib_fn(b->cx, name), NULL, NULL, part, 2, part, 2))
		return false;
	whole(b, n, part);
	return true;
}

bool lower_complex_cumprod(struct build *b, struct node *n)
{
	int64_t perm[MAX_RANK];
	uint32_t rank = n->in[0]->type.rank, axis = prop_axis(b->cx, n, "axis");
	struct value *x = low(b, n->in[0]), *part[2];

	for (uint32_t i = 0; i < rank; i++)
		perm[i] = i == 0 ? axis : i == axis ? 0 : i;
	for (uint32_t i = 0; i < 2; i++)
		part[i] = transpose(b, complex_part(b, x, i), perm);
	if (!call_fn(b, lib_fn(b->cx, "_Ccumprod_rows"), NULL, NULL, part, 2, part, 2))
		return false;
	for (uint32_t i = 0; i < 2; i++)
		part[i] = transpose(b, part[i], perm);
	whole(b, n, part);
	return true;
}

/* The indices that sort along an axis: by the last of the keys, where it is equal by the one before
 */
static struct value *complex_order(struct build *b, struct value *const *part, int64_t axis)
{
	struct value *nan[2], *key[3], *at = NULL;

	for (int i = 0; i < 2; i++) {
		enum dtype t = (enum dtype)part[i]->type.dtype;
		nan[i] = emit_(b, ONNX_IsNaN, part[i]);
		key[1 - i] = emit_(b, ONNX_Where, nan[i], const_of(b, t, 0), part[i]);
		nan[i] = cast(b, nan[i], DT_INT32);
	}
	key[2] = emit_(b, ONNX_Add, emit_(b, ONNX_Add, nan[0], nan[0]), nan[1]);
	for (int i = 0; i < 3; i++) {
		struct value *found[2];
		key[i] = with_dims(key[i], part[0]->type.dims);
		sort_order(b, at ? sort_take(b, key[i], at, axis) : key[i], axis, found);
		at = at ? sort_take(b, at, found[1], axis) : found[1];
	}
	return at;
}

/* A part of an argument that may be real */
static struct value *part_in(struct build *b, struct value *typed, enum dtype t, uint32_t i)
{
	struct value *v = low(b, typed);

	if (is_complex((enum dtype)typed->type.dtype))
		return cast(b, complex_part(b, v, i), t);
	return i ? expand(b, const_of(b, t, 0), typed->type.dims, typed->type.rank) : cast(b, v, t);
}

bool lower_complex_searchsorted(struct build *b, struct node *n, struct value *sorter)
{
	enum dtype t =
		dtype_upcast((enum dtype)n->in[0]->type.dtype, (enum dtype)n->in[1]->type.dtype);
	bool left = !strcmp(prop_str(b->cx, n, "side"), "left");
	struct value *part[4], *r;

	t = t == DT_COMPLEX64 ? DT_FLOAT32 : DT_FLOAT64;
	for (uint32_t i = 0; i < 4; i++) {
		part[i] = part_in(b, n->in[i / 2], t, i % 2);
		if (sorter && i < 2)
			part[i] = emit_(b, ONNX_Gather, part[i], sorter);
	}
	const char *name = left ? "_Cbefore_left" : "_Cbefore_right";
	if (!call_fn(b, lib_fn(b->cx, name), NULL, NULL, part, 4, &r, 1))
		return false;
	lowered(b, n, 0, with_dims(r, n->out[0]->type.dims));
	return true;
}

/* What slices are told apart by, as in slice_keys() of lower/ops/sort.c: for each number where it
 * has NaN and its parts, then a number of its own for a slice with a NaN. */
static struct value *slice_rows(struct build *b, struct value *const *part, int64_t axis)
{
	dim *d = new_array(b->cx->arena, dim, 2), *to = new_array(b->cx->arena, dim, 2);
	struct value *nan[2], *column[3];
	int64_t last = 2;

	for (int i = 0; i < 2; i++) {
		struct value *x = sort_slices(b, cast(b, part[i], DT_FLOAT64), axis, d);
		nan[i] = emit_(b, ONNX_IsNaN, x);
		column[1 + i] = emit_(b, ONNX_Where, nan[i], const_of(b, DT_FLOAT64, 0), x);
		nan[i] = cast(b, nan[i], DT_FLOAT64);
	}
	column[0] = emit_(b, ONNX_Add, emit_(b, ONNX_Add, nan[0], nan[0]), nan[1]);
	struct value *own = reduce(b, ONNX_ReduceSum, column[0], (int[]){1}, 1, true);
	for (int i = 0; i < 3; i++)
		column[i] = unsqueeze(b, with_dims(column[i], d), &last, 1);
	to[0] = d[0];
	to[1] = dim_mul(b->cx, d[1], dim_const(b->cx, 3));
	column[0] = reshape(b, concat(b, 2, column, 3), to, 2);
	last = 1;
	column[1] = unsqueeze(b, cast(b, counting(b, d[0]), DT_FLOAT64), &last, 1);
	column[1] =
		emit_(b, ONNX_Where, cast(b, own, DT_BOOL), column[1], const_of(b, DT_FLOAT64, -1));
	return concat(b, 1, column, 2);
}

/* Parts of the distinct slices, then their indices and what else Unique gives */
static void unique_slices(struct build *b, struct value *x, uint32_t axis, struct value **out)
{
	struct value *part[2], *key;

	for (uint32_t i = 0; i < 2; i++)
		part[i] = complex_part(b, x, i);
	key = slice_rows(b, part, axis);
	attr_int(b, "axis", 0);
	emit_n(b, ONNX_Unique, &key, 1, out + 1, 4);
	for (uint32_t i = 0; i < 2; i++) {
		attr_int(b, "axis", axis);
		out[i] = emit_(b, ONNX_Gather, part[i], out[2]);
	}
}

bool lower_complex_unique(struct build *b, struct node *n)
{
	static const char *const names[] = {"return_index", "return_inverse", "return_counts"};
	struct value *x = low(b, n->in[0]), *in[3], *out[5];
	struct type t = n->in[0]->type;
	dim *d = new (b->cx->arena, dim);
	uint32_t k = 1;

	if (!prop_is_none(b->cx, n, "axis") && t.rank != 1) {
		unique_slices(b, x, prop_axis(b->cx, n, "axis"), out);
	} else {
		*d = dims_product(b->cx, t.dims, t.rank);
		for (uint32_t i = 0; i < 2; i++)
			in[i] = reshape(b, complex_part(b, x, i), d, 1);
		in[2] = complex_order(b, in, 0);
		const char *name = n->nout > 1 ? "_Cunique" : "_Cunique_alone";
		struct fn *f = lib_fn(b->cx, name);
		if (!call_fn(b, f, NULL, NULL, in, 3, out, n->nout > 1 ? 5 : 2))
			return false;
	}
	whole(b, n, out);
	for (int i = 0; i < 3; i++)
		if (prop_bool(b->cx, n, names[i])) {
			lowered(b, n, k, with_dims(out[2 + i], n->out[k]->type.dims));
			k++;
		}
	return true;
}

bool lower_complex_sort(struct build *b, struct node *n)
{
	struct value *x = low(b, n->in[0]), *part[2];
	uint32_t axis = prop_axis(b->cx, n, "axis");

	for (uint32_t i = 0; i < 2; i++)
		part[i] = complex_part(b, x, i);
	struct value *at = complex_order(b, part, axis);
	if (n->op == &op_table[OP_ArgSortOp]) {
		lowered(b, n, 0, at);
		return true;
	}
	for (uint32_t i = 0; i < 2; i++)
		part[i] = sort_take(b, part[i], at, axis);
	whole(b, n, part);
	return true;
}

/* Where one of the parts is not 0 */
struct value *complex_nonzero(struct build *b, struct value *typed)
{
	struct value *x = low(b, typed), *part[2];

	for (uint32_t i = 0; i < 2; i++)
		part[i] = cast(b, complex_part(b, x, i), DT_BOOL);
	return with_dims(emit_(b, ONNX_Or, part[0], part[1]), typed->type.dims);
}

/* Operands that a product of all parts with all parts is made of, at most */
#define MAX_FACTORS 5

/* The sum of products for each choice of parts: real if the number of imaginary ones is even,
 * negative if two of them or three are left over four. */
bool lower_complex_einsum(struct build *b, struct node *n)
{
	enum dtype t = part_dtype(n->out[0]);
	struct value *in[MAX_FACTORS], *sum[2] = {NULL, NULL};

	if (n->nin > MAX_FACTORS) {
		unsupported(b,
			    "more than %d operands are not done on complex numbers: write it in "
			    "steps",
			    MAX_FACTORS);
		return false;
	}
	for (uint32_t choice = 0; choice < 1u << n->nin; choice++) {
		uint32_t imaginary = 0;
		bool zero = false;
		for (uint32_t i = 0; i < n->nin; i++) {
			struct value *v = n->in[i];
			struct type type = type_of(t, v->type.rank, v->type.dims);
			bool is_pair = is_complex((enum dtype)v->type.dtype);
			uint32_t k = choice >> i & 1;
			imaginary += k;
			zero |= k && !is_pair;
			in[i] = is_pair ? complex_part(b, low(b, v), k) : low(b, v);
			in[i] = held_by(b, cast(b, in[i], t), type, v->span);
		}
		struct value *r, **to = &sum[imaginary & 1];
		if (zero)
			continue;
		if (!lower_as(b, n->op, n->props, in, n->nin, &r, 1))
			return false;
		if (*to)
			*to = emit_(b, imaginary & 2 ? ONNX_Sub : ONNX_Add, *to, r);
		else
			*to = imaginary & 2 ? emit_(b, ONNX_Neg, r) : r;
	}
	whole(b, n, sum);
	return true;
}

/* The first number that is the maximum, or that is none */
bool lower_complex_argmax(struct build *b, struct node *n)
{
	struct value *x = low(b, n->in[0]), *part[2], *max[2], *found[2], *none[2];
	struct type t = n->out[0]->type;
	int axes[MAX_RANK], k = prop_axes(b->cx, n, "axes", n->in[0]->type.rank, axes, true);

	if (k < 0)
		return false;
	for (uint32_t i = 0; i < 2; i++) {
		part[i] = guard_nonempty(b, complex_part(b, x, i), axes, k);
		part[i] = merged_first(b, part[i], axes, k);
	}
	if (!call_fn(b, lib_fn(b->cx, "_Cmaximum_rows"), NULL, NULL, part, 2, max, 2))
		return false;
	for (int i = 0; i < 2; i++) {
		found[i] = emit_(b, ONNX_Equal, part[i], max[i]);
		none[i] = emit_(b, ONNX_IsNaN, part[i]);
	}
	struct value *is = emit_(b, ONNX_Or, emit_(b, ONNX_And, found[0], found[1]),
				 emit_(b, ONNX_Or, none[0], none[1]));
	is = cast(b, is, DT_INT32);
	attr_int(b, "keepdims", 0);
	lowered(b, n, 0, with_dims(emit_(b, ONNX_ArgMax, is), t.dims));
	return true;
}

/* Borders that are copies are made of each part; ty_pad() refuses others. */
bool lower_complex_pad(struct build *b, struct node *n)
{
	struct value **in = new_array(b->cx->arena, struct value *, n->nin), *part[2];

	memcpy(in, n->in, n->nin * sizeof(*in));
	for (uint32_t i = 0; i < 2; i++) {
		struct type t =
			type_of(part_dtype(n->in[0]), n->in[0]->type.rank, n->in[0]->type.dims);
		in[0] = held_by(b, complex_part(b, low(b, n->in[0]), i), t, n->in[0]->span);
		if (!lower_as(b, n->op, n->props, in, n->nin, &part[i], 1))
			return false;
	}
	whole(b, n, part);
	return true;
}
