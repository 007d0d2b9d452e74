/*
 * sort.c: lowers SortOp, ArgSortOp, Unique. TopK with the smallest first is a stable sort, and
 * Unique sorts; both go wrong with NaN, which PyTensor puts last. So floats are sorted by keys:
 * float16 and float32 by a float64 that is larger than infinity for NaN; float64, and all floats
 * where the target has no float64, twice, by value and then, stably, by IsNaN.
 */
#include <math.h>

#include "lower/ops/lowerings.h"

/* Sorts x along an axis: values out[0], indices out[1] */
static void sort_order(struct build *b, struct value *x, int64_t axis, struct value **out)
{
	struct value *k = dim_vector(b, x->type.dims[axis]);

	attr_int(b, "axis", axis);
	attr_int(b, "largest", 0);
	emit_n(b, ONNX_TopK, (struct value *[]){x, k}, 2, out, 2);
	with_dims(out[0], x->type.dims);
	with_dims(out[1], x->type.dims);
}

static struct value *sort_take(struct build *b, struct value *x, struct value *at, int64_t axis)
{
	if (axis)
		attr_int(b, "axis", axis);
	return with_dims(emit_(b, ONNX_GatherElements, x, at), x->type.dims);
}

/* A float64 key for a float16 or float32: infinity becomes 1e300, NaN infinity. */
static struct value *wide_key(struct build *b, struct value *x)
{
	struct value *wide = cast(b, x, DT_FLOAT64);
	struct value *key = emit_(b, ONNX_Min, wide, const_of(b, DT_FLOAT64, 1e300));

	struct value *is_nan = emit_(b, ONNX_IsNaN, wide);
	return emit_(b, ONNX_Where, is_nan, const_of(b, DT_FLOAT64, INFINITY), key);
}

/* The indices that sort x. *sorted: the sorted x, if the sort gave it; else NULL */
static struct value *argsort(struct build *b, struct value *x, int64_t axis, struct value **sorted)
{
	enum dtype t = (enum dtype)x->type.dtype;
	struct value *first[2], *second[2];

	*sorted = NULL;
	if (!is_float(t)) {
		sort_order(b, x, axis, first);
		*sorted = first[0];
		return first[1];
	}
	if (t != DT_FLOAT64 && b->target != PTGC_PORTABLE) {
		sort_order(b, wide_key(b, x), axis, first);
		return first[1];
	}
	struct value *inf = const_of(b, t, INFINITY);
	sort_order(b, emit_(b, ONNX_Where, emit_(b, ONNX_IsNaN, x), inf, x), axis, first);
	struct value *mixed = sort_take(b, x, first[1], axis);
	sort_order(b, cast(b, emit_(b, ONNX_IsNaN, mixed), DT_INT32), axis, second);
	*sorted = sort_take(b, mixed, second[1], axis);
	return sort_take(b, first[1], second[1], axis);
}

bool lower_sort(struct build *b, struct node *n)
{
	struct value *x = low(b, n->in[0]), *sorted;
	int64_t axis = prop_axis(b->cx, n, "axis");
	struct value *at = argsort(b, x, axis, &sorted);

	set_lowered(b, n, 0, sorted ? sorted : sort_take(b, x, at, axis));
	return true;
}

bool lower_argsort(struct build *b, struct node *n)
{
	struct value *sorted;

	set_lowered(b, n, 0, argsort(b, low(b, n->in[0]), prop_axis(b->cx, n, "axis"), &sorted));
	return true;
}

/* Rows (is NaN, value or 0 for NaN), which are in the order of x when sorted lexicographically. */
static struct value *nan_rows(struct build *b, struct value *x)
{
	enum dtype t = (enum dtype)x->type.dtype;
	struct value *nan = emit_(b, ONNX_IsNaN, x), *part[2];
	int64_t last = 1;

	part[0] = unsqueeze(b, cast(b, nan, t), &last, 1);
	part[1] = emit_(b, ONNX_Where, nan, const_of(b, t, 0), x);
	part[1] = unsqueeze(b, part[1], &last, 1);
	return concat(b, 1, part, 2);
}

/* x as a matrix whose rows are the slices of x along an axis; d: its dims */
static struct value *sort_slices(struct build *b, struct value *x, int64_t axis, dim *d)
{
	int64_t perm[MAX_RANK] = {axis};
	uint32_t rank = x->type.rank, k = 1;

	for (uint32_t i = 0; i < rank; i++)
		if (i != axis)
			perm[k++] = i;
	d[0] = x->type.dims[axis];
	d[1] = dim_const(b->cx, 1);
	for (uint32_t i = 1; i < rank; i++)
		d[1] = dim_mul(b->cx, d[1], x->type.dims[perm[i]]);
	return reshape(b, transpose(b, x, perm), d, 2);
}

/* If slices may be empty, for which ONNX Runtime's Unique ends the process: the slices with a
 * column of 0 before them. NULL: they are not empty */
static struct value *filled_keys(struct build *b, struct value *x, int64_t axis)
{
	dim *d = new_array(b->cx->arena, dim, 2), *one = new_array(b->cx->arena, dim, 2);
	struct value *part[2];

	part[1] = sort_slices(b, x, axis, d);
	if (dim_ge(b->cx, d[1], 1))
		return NULL;
	one[0] = d[0];
	one[1] = dim_const(b->cx, 1);
	part[0] = expand(b, const_of(b, (enum dtype)x->type.dtype, 0), one, 2);
	return concat(b, 1, part, 2);
}

/* The keys of slices of floats: (is NaN, value or 0 for NaN) for each element, then a number that
 * is different for each slice with a NaN, because NumPy takes such slices for different. NumPy
 * sorts the NaN of float16 slices before all numbers, that of other floats after them. */
static struct value *slice_keys(struct build *b, struct value *x, int64_t axis)
{
	dim *d = new_array(b->cx->arena, dim, 2), *to = new_array(b->cx->arena, dim, 2);
	int64_t last = 2;

	bool first = x->type.dtype == DT_FLOAT16;
	enum dtype t = wide_float(b);
	x = sort_slices(b, cast(b, x, t), axis, d);
	struct value *nan = emit_(b, ONNX_IsNaN, x), *part[2];
	struct value *flag = cast(b, nan, t);
	part[0] = unsqueeze(b, first ? emit_(b, ONNX_Neg, flag) : flag, &last, 1);
	part[1] = unsqueeze(b, emit_(b, ONNX_Where, nan, const_of(b, t, 0), x), &last, 1);
	to[0] = d[0];
	to[1] = dim_mul(b->cx, d[1], dim_const(b->cx, 2));
	part[0] = reshape(b, concat(b, 2, part, 2), to, 2);
	flag = cast(b, reduce(b, ONNX_ReduceSum, flag, (int[]){1}, 1, true), DT_BOOL);
	last = 1;
	part[1] = unsqueeze(b, cast(b, iota(b, d[0]), t), &last, 1);
	part[1] = emit_(b, ONNX_Where, flag, part[1], const_of(b, t, -1));
	return concat(b, 1, part, 2);
}

bool lower_unique(struct build *b, struct node *n)
{
	static const char *const names[] = {"return_index", "return_inverse", "return_counts"};
	struct value *x = low(b, n->in[0]), *key, *out[4];
	enum dtype t = (enum dtype)x->type.dtype;
	bool flat = prop_is_none(b->cx, n, "axis") || x->type.rank == 1;
	bool rows = t == DT_FLOAT64 || b->target == PTGC_PORTABLE;
	bool by_key = is_float(t); /* values are those at the indices that Unique gives */
	uint32_t k = 1;

	if (flat) {
		dim *d = new (b->cx->arena, dim);
		*d = dims_product(b->cx, x->type.dims, x->type.rank);
		x = reshape(b, x, d, 1);
	}
	if (!is_float(t)) {
		struct value *filled = flat ? NULL : filled_keys(b, x, prop_axis(b->cx, n, "axis"));
		by_key = filled != NULL;
		key = filled ? filled : x;
	} else if (!flat)
		key = slice_keys(b, x, prop_axis(b->cx, n, "axis"));
	else
		key = rows ? nan_rows(b, x) : wide_key(b, x);
	if (!flat || rows)
		attr_int(b, "axis", flat || by_key ? 0 : prop_axis(b->cx, n, "axis"));
	emit_n(b, ONNX_Unique, &key, 1, out, 4);
	struct value *values = out[0];
	if (by_key) {
		attr_int(b, "axis", flat ? 0 : prop_axis(b->cx, n, "axis"));
		values = emit_(b, ONNX_Gather, x, out[1]);
	}
	set_lowered(b, n, 0, with_dims(values, n->out[0]->type.dims));
	for (int i = 0; i < 3; i++)
		if (prop_bool(b->cx, n, names[i])) {
			set_lowered(b, n, k, with_dims(out[1 + i], n->out[k]->type.dims));
			k++;
		}
	return true;
}
