/*
 * extra_ops.c: lowers Nonzero, Cumsum, Cumprod, JoinDims, SplitDims, ops of diagonals, Repeat,
 * SearchSorted. An index vector of known length is a constant.
 */
#include <string.h>

#include "lower/ops/lowerings.h"
#include "target/target.h"

#define MAX_IOTA  4096 /* longest constant index vector */
#define MAX_STEPS 40   /* of a bisection: bits of a length */
#define OPEN_SIZE 1000 /* elements that are taken for a length that is not known */

/* 0, 1, ... n-1 */
struct value *iota(struct build *b, dim n)
{
	int64_t k;

	if (!dim_is_const(b->cx, n, &k) || k > MAX_IOTA)
		return iota_of(b, dim_value(b, n));
	int64_t *v = new_array(b->cx->arena, int64_t, (size_t)k + 1);
	for (int64_t i = 0; i < k; i++)
		v[i] = i;
	return const_ints(b, v, (uint32_t)k);
}

static struct value *column(struct build *b, struct value *v)
{
	return unsqueeze(b, v, &(int64_t){v->type.rank}, 1);
}

/* [items, hits]: how many elements that are not 0 all items of the batch x have */
static struct value *shape_of_hits(struct build *b, struct value *x)
{
	struct value *on = cast(b, cast(b, x, DT_BOOL), DT_INT64), *part[2];
	int axes[MAX_RANK];

	for (int i = 1; i < x->type.rank; i++)
		axes[i - 1] = i;
	on = reduce(b, ONNX_ReduceSum, on, axes, x->type.rank - 1, false);
	part[0] = dim_vector(b, x->type.dims[0]);
	part[1] = vector_of(b, same_for_all(b, on));
	return concat(b, 0, part, 2);
}

/* Of a batch, the rows of all items come one after the other. */
bool lower_nonzero(struct build *b, struct node *n)
{
	struct value *x = low(b, n->in[0]);
	struct value *all = emit_(b, ONNX_NonZero, x);
	struct value **row = new_array(b->cx->arena, struct value *, x->type.rank);
	uint32_t batch = n->out[0]->type.rank - 1u;
	struct value *shape = batch ? shape_of_hits(b, x) : NULL;

	split(b, all, 0, NULL, row, x->type.rank);
	for (uint32_t i = 0; i < n->nout; i++) {
		struct type t = n->out[i]->type;
		struct value *r = row[batch + i];
		set_lowered(b, n, i,
			    shape ? reshape_to(b, r, shape, t.dims, t.rank)
				  : squeeze(b, r, &(int64_t){0}, 1));
	}
	return true;
}

/* Cumsum or Cumprod by a fn of the library, which loops over the first axis */
static struct value *cumulate_in_loop(struct build *b, const char *name, struct value *x, int axis)
{
	struct fn *f = lib_fn(b->cx, name);
	int64_t perm[MAX_RANK];
	struct value *out;

	for (int i = 0; i < x->type.rank; i++)
		perm[i] = i == 0 ? axis : i == axis ? 0 : i;
	x = transpose(b, x, perm);
	if (!f)
		bug("the library has no %s", name);
	if (!call_fn(b, f, NULL, NULL, &x, 1, &out, 1))
		return x;
	return transpose(b, out, perm);
}

bool lower_cumop(struct build *b, struct node *n)
{
	struct value *x = low(b, n->in[0]);
	enum dtype t = (enum dtype)x->type.dtype;
	bool add = is_call(n, OP_Cumsum);
	uint32_t axis = prop_axis(b->cx, n, "axis");

	if (is_discrete(t) && t != DT_INT64 && t != DT_UINT64) {
		unsupported(
			b,
			"PyTensor's type says %s, but it computes %s: write Cast{%s}(x) inside it",
			dtypes[t].name, dtypes[t].kind == KIND_UINT ? "uint64" : "int64",
			dtypes[t].kind == KIND_UINT ? "uint64" : "int64");
		return false;
	}
	/* ONNX Runtime computes float16 in float32 and rounds at the end, NumPy rounds each step */
	bool rounds = t == DT_FLOAT16 && !b->cx->opt.excess_precision;
	if (rounds || (!add && !has_op(b, ONNX_CumProd)))
		set_lowered(b, n, 0,
			    cumulate_in_loop(b, add ? "_Cumsum" : "_Cumprod", x, (int)axis));
	else
		set_lowered(b, n, 0,
			    emit_(b, add ? ONNX_CumSum : ONNX_CumProd, x, const_int(b, axis)));
	return true;
}

bool lower_joindims(struct build *b, struct node *n)
{
	struct type t = n->out[0]->type;

	set_lowered(b, n, 0, reshape(b, low(b, n->in[0]), t.dims, t.rank));
	return true;
}

/* The shape of the result of SplitDims; NULL: not known */
static const struct known *split_lengths(struct build *b, struct node *n, uint32_t axis)
{
	const struct known *parts = known_of(b->cx, n->in[1]);
	struct type x = n->in[0]->type;
	uint32_t k = 0;

	if (!parts)
		return NULL;
	struct known *whole = known_new(b->cx, x.rank - 1 + parts->n);
	for (uint32_t i = 0; i < axis; i++)
		whole->at[k++] = x.dims[i];
	for (uint32_t i = 0; i < parts->n; i++)
		whole->at[k++] = parts->at[i];
	for (uint32_t i = axis + 1; i < x.rank; i++)
		whole->at[k++] = x.dims[i];
	return whole;
}

bool lower_splitdims(struct build *b, struct node *n)
{
	struct value *x = low(b, n->in[0]), *shape[3];
	struct type t = n->out[0]->type;
	uint32_t axis = prop_axis(b->cx, n, "axis"), k = 0, after = x->type.rank - 1 - axis;
	const struct known *whole = split_lengths(b, n, axis);
	bool fails;
	struct value *r = reshape_known(b, x, whole, t, &fails);

	if (fails)
		return false;
	if (!r) {
		if (axis)
			shape[k++] = dims_vector(b, t.dims, axis);
		if (axis + after < t.rank)
			shape[k++] = cast(b, low(b, n->in[1]), DT_INT64);
		if (after)
			shape[k++] = dims_vector(b, t.dims + t.rank - after, after);
		struct value *to = k ? concat(b, 0, shape, k) : const_ints(b, NULL, 0);
		r = reshape_computed(b, x, whole, to, t);
	}
	set_lowered(b, n, 0, r);
	return true;
}

/* --- diagonals --- */

/* Moves axes a and c to the end. */
static struct value *move_to_end(struct build *b, struct value *x, uint32_t a, uint32_t c)
{
	int64_t perm[MAX_RANK];
	uint32_t k = 0;

	for (uint32_t i = 0; i < x->type.rank; i++)
		if (i != a && i != c)
			perm[k++] = i;
	perm[k++] = a;
	perm[k] = c;
	return transpose(b, x, perm);
}

/* In the flattened matrix of c columns, a diagonal is a Slice with step c + 1. */
bool lower_extractdiag(struct build *b, struct node *n)
{
	struct ctx *cx = b->cx;
	struct value *x = low(b, n->in[0]);
	uint32_t rank = x->type.rank;
	int64_t k = prop_int(cx, n, "offset");

	x = move_to_end(b, x, prop_axis(cx, n, "axis1"), prop_axis(cx, n, "axis2"));
	dim *flat = new_array(cx->arena, dim, rank), c = x->type.dims[rank - 1];
	for (uint32_t i = 0; i + 2 < rank; i++)
		flat[i] = x->type.dims[i];
	flat[rank - 2] = dim_mul(cx, x->type.dims[rank - 2], c);
	x = reshape(b, x, flat, rank - 1);
	dim offset = dim_const(cx, k < 0 ? -k : k);
	dim start = k >= 0 ? offset : dim_mul(cx, offset, c);
	dim last = k < 0 ? dim_add(cx, c, offset)
		   : k   ? dim_at_least(cx, dim_sub(cx, c, offset), 0)
			 : c;
	struct value *step = dim_vector(b, dim_plus(cx, c, 1));
	struct value *stop = dim_vector(b, dim_mul(cx, c, last));
	x = slice(b, x, &(int64_t){rank - 2}, 1, dim_vector(b, start), stop, step);
	set_lowered(b, n, 0, with_dims(x, n->out[0]->type.dims));
	return true;
}

/* Puts the last axis of x on the diagonal of a square, which Pad shifts by the offset. */
bool lower_allocdiag(struct build *b, struct node *n)
{
	struct value *x = low(b, n->in[0]);
	uint32_t rank = x->type.rank;
	int64_t k = prop_int(b->cx, n, "offset"), pads[2 * MAX_RANK] = {0}, perm[MAX_RANK];
	int64_t axis1 = prop_int(b->cx, n, "axis1"), axis2 = prop_int(b->cx, n, "axis2");
	struct value *at = iota(b, x->type.dims[rank - 1]);
	struct value *on = emit_(b, ONNX_Equal, column(b, at), at);

	struct value *zero = const_int_of(b, (enum dtype)x->type.dtype, 0);
	x = where(b, on, column(b, x), zero);
	rank++;
	pads[k > 0 ? rank - 1 : rank - 2] = k > 0 ? k : -k;
	pads[k > 0 ? 2 * rank - 2 : 2 * rank - 1] = k > 0 ? k : -k;
	if (k)
		x = emit_(b, ONNX_Pad, x, const_ints(b, pads, 2 * rank));
	for (uint32_t i = 0, from = 0; i < rank; i++)
		perm[i] = i == axis1 ? rank - 2 : i == axis2 ? rank - 1 : from++;
	set_lowered(b, n, 0, with_dims(transpose(b, x, perm), n->out[0]->type.dims));
	return true;
}

bool lower_filldiagonal(struct build *b, struct node *n)
{
	struct value *a = low(b, n->in[0]), *on = NULL;
	struct value *v = cast(b, low(b, n->in[1]), (enum dtype)a->type.dtype);
	uint32_t rank = a->type.rank;

	for (uint32_t i = 1; i < rank; i++) {
		int64_t axes[MAX_RANK];
		struct value *first = iota(b, a->type.dims[i - 1]),
			     *next = iota(b, a->type.dims[i]);
		for (uint32_t j = 0; j < rank - i; j++)
			axes[j] = 1 + j;
		first = unsqueeze(b, first, axes, rank - i);
		next = unsqueeze(b, next, axes, rank - i - 1);
		struct value *same = emit_(b, ONNX_Equal, first, next);
		on = on ? emit_(b, ONNX_And, on, same) : same;
	}
	set_lowered(b, n, 0, with_dims(where(b, on, v, a), a->type.dims));
	return true;
}

/* PyTensor computes lengths in the dtype t of the offset, which wraps. */
static struct value *wrap_to(struct build *b, struct value *v, enum dtype t)
{
	return cast(b, cast(b, v, t), DT_INT64);
}

/* `at`; the run fails if dtype t does not hold the lengths. NULL: it never does (reported) */
static struct value *check_lengths_fit(struct build *b, struct value *at, enum dtype t,
				       struct value **lengths, uint32_t n)
{
	uint32_t bits = 8u * dtypes[t].size - (dtypes[t].kind == KIND_INT);
	struct value *most = const_int(b, ((int64_t)1 << bits) - 1), *all = NULL;

	for (uint32_t i = 0; i < n; i++) {
		struct value *on = emit_(b, ONNX_LessOrEqual, lengths[i], most);
		all = all ? emit_(b, ONNX_And, all, on) : on;
	}
	if (all->data && !tensor_float(all->data, 0)) {
		raises(b, "%s, the dtype of the offset, does not hold the lengths", dtypes[t].name);
		return NULL;
	}
	return check(b, at, all, "the offset's dtype must hold the lengths");
}

/* A number, or one for each item of a batch, beside matrices */
static struct value *beside_matrices(struct build *b, struct value *v)
{
	return v->type.rank ? unsqueeze(b, v, (int64_t[]){1, 2}, 2) : v;
}

/* a.flat[start:stop:step] = v for each matrix of a batch, by the numbers of elements. A bound below
 * 0 counts from the end. */
static struct value *fill_flat(struct build *b, struct value *a, const dim *d, struct value *v,
			       struct value *start, struct value *stop, struct value *step)
{
	dim size = dims_product(b->cx, d, 2);
	struct value *zero = const_int(b, 0), *bound[2] = {start, stop};
	struct value *at = reshape(b, iota(b, size), d, 2);

	for (int i = 0; i < 2; i++) {
		struct value *back = emit_(b, ONNX_Add, bound[i], dim_value(b, size));
		back = emit_(b, ONNX_Max, back, zero);
		bound[i] =
			emit_(b, ONNX_Where, emit_(b, ONNX_Less, bound[i], zero), back, bound[i]);
		bound[i] = beside_matrices(b, bound[i]);
	}
	struct value *rest = emit_(b, ONNX_Mod, emit_(b, ONNX_Sub, at, bound[0]), step);
	struct value *on = emit_(b, ONNX_GreaterOrEqual, at, bound[0]);
	on = emit_(b, ONNX_And, on, emit_(b, ONNX_Less, at, bound[1]));
	on = emit_(b, ONNX_And, on, emit_(b, ONNX_Equal, rest, zero));
	return where(b, on, beside_matrices(b, v), a);
}

/*
 * a.flat[start:stop:width + 1] = v, with start and stop as PyTensor computes them: for an offset
 * beyond the matrix the stop is negative, and counts from the end.
 */
bool lower_filldiagonaloffset(struct build *b, struct node *n)
{
	struct value *a = low(b, n->in[0]), *k = cast(b, low(b, n->in[2]), DT_INT64);
	struct value *v = cast(b, low(b, n->in[1]), (enum dtype)a->type.dtype);
	enum dtype t = (enum dtype)n->in[2]->type.dtype;
	struct type out = n->out[0]->type;
	const dim *d = a->type.dims + a->type.rank - 2;

	if (t == DT_UINT64) {
		unsupported(b, "PyTensor computes with this uint64 modulo 2^64: write Cast{int64} "
			       "of the offset");
		return false;
	}

	struct value *width = dim_value(b, d[1]), *height = dim_value(b, d[0]);
	struct value *up = emit_(b, ONNX_GreaterOrEqual, k, const_int(b, 0));
	struct value *start =
		emit_(b, ONNX_Where, up, k, emit_(b, ONNX_Mul, emit_(b, ONNX_Neg, k), width));
	struct value *left = emit_(b, ONNX_Sub, width, k);
	left = emit_(b, ONNX_Where, up, left, emit_(b, ONNX_Add, height, k));
	start = wrap_to(b, start, t);
	left = wrap_to(b, left, t);
	b->scope->shared->small_ints = t != DT_UINT32;
	struct value *side = emit_(b, ONNX_Min, width, height),
		     *steps = emit_(b, ONNX_Min, side, left);
	b->scope->shared->small_ints = false;
	struct value *step = emit_(b, ONNX_Add, width, const_int(b, 1));
	struct value *end = emit_(b, ONNX_Mul, step, steps);
	struct value *stop = wrap_to(b, emit_(b, ONNX_Add, start, end), t);
	if (t != DT_INT64) {
		struct value *rows = emit_(b, ONNX_Where, up, const_int(b, 0), height);
		struct value *is_cut = emit_(b, ONNX_Less, left, side);
		struct value *length[] = {width, rows, emit_(b, ONNX_Where, is_cut, step, end)};
		start = check_lengths_fit(b, start, t, length, countof(length));
		if (!start)
			return false;
	}
	if (out.rank == 3) {
		a = fill_flat(b, a, d, v, start, stop, step);
		set_lowered(b, n, 0, expand(b, a, out.dims, 3));
		return true;
	}
	struct value *all = iota_of(b, dim_value(b, dims_product(b->cx, d, 2)));
	struct value *at = slice_axis(b, all, 0, start, stop, step);
	dim *flat = new (b->cx->arena, dim);
	*flat = dims_product(b->cx, d, 2);
	struct value *to = emit_(b, ONNX_Expand, v, emit_(b, ONNX_Shape, at));
	struct value *r = emit_(b, ONNX_ScatterElements, reshape(b, a, flat, 1), at, to);
	set_lowered(b, n, 0, reshape(b, r, d, 2));
	return true;
}

/* --- Repeat, SearchSorted --- */

/* The indices of the repeated rows as a constant; NULL: too many, or the repeats are not constant
 */
static struct value *constant_rows(struct build *b, struct value *repeats, dim length)
{
	int64_t n, k, sum = 0, at = 0, *row;

	if (!repeats->data || !dim_is_const(b->cx, length, &n))
		return NULL;
	bool one = repeats->data->count == 1;
	for (int64_t i = 0; i < n; i++) {
		if (!known_int(b->cx, repeats, one ? 0 : (uint32_t)i, &k) || k > MAX_IOTA)
			return NULL;
		if (k < 0) {
			raises(b, "%lld repeats", (long long)k);
			return repeats;
		}
		if ((sum += k) > MAX_IOTA)
			return NULL;
	}
	row = new_array(b->cx->arena, int64_t, (size_t)sum + 1);
	for (int64_t i = 0; i < n; i++) {
		known_int(b->cx, repeats, one ? 0 : (uint32_t)i, &k);
		while (k-- > 0)
			row[at++] = i;
	}
	return const_ints(b, row, (uint32_t)sum);
}

/* The indices of the repeated rows: row i of arange(max(repeats)) < repeats[:, None] has repeats[i]
 * true elements, and NonZero gives their rows. */
static struct value *rows_by_mask(struct build *b, struct value *repeats, struct value *most)
{
	struct value *on = iota_of(b, most);
	on = emit_(b, ONNX_Less, on, column(b, repeats));

	on = emit_(b, ONNX_NonZero, on);
	return emit_(b, ONNX_Gather, on, const_int(b, 0));
}

/* The same in memory for the result alone: output j is of the row i that is the number of rows
 * which end at j or before. A 1 is added where each row ends. */
static struct value *rows_by_ends(struct build *b, struct value *repeats, dim *dims)
{
	struct value *zero = const_int(b, 0), *one = const_int(b, 1);
	struct value *ends = emit_(b, ONNX_CumSum, repeats, zero);
	struct value *total = reduce(b, ONNX_ReduceSum, repeats, &(int){0}, 1, true);
	struct value *none = filled_to(b, DT_INT64, emit_(b, ONNX_Add, total, one), NULL, 1, 0);
	struct value *ones = expand(b, one, dims, 1);
	struct value *marks = scatter_nd(b, none, column(b, ends), ones, true);

	marks = emit_(b, ONNX_CumSum, marks, zero);
	return slice_axis(b, marks, 0, zero, total, NULL);
}

static struct value *computed_rows(struct build *b, struct value *repeats, dim length)
{
	dim given = repeats->type.dims[0], *dims = new (b->cx->arena, dim);

	*dims = length;
	repeats = cast(b, repeats, DT_INT64);
	if (!dim_is(b->cx, given, 1) && !dim_eq(b->cx, given, length)) {
		/* one or as many as there are elements: Expand would stretch a single element too
		 */
		struct value *to = dim_vector(b, length);
		repeats = emit_(b, ONNX_Reshape, emit_(b, ONNX_Expand, repeats, to), to);
		repeats = labelled(b, with_dims(repeats, dims), "as many repeats as elements");
	}
	repeats = expand(b, repeats, dims, 1);
	b->scope->shared->small_ints = true;
	struct value *with_zero =
		concat(b, 0, (struct value *[]){repeats, const_ints(b, (int64_t[]){0}, 1)}, 2);
	struct value *least = reduce(b, ONNX_ReduceMin, with_zero, &(int){0}, 1, false);
	struct value *r = scatter_adds(b)
				  ? emit_(b, ONNX_Max, repeats, const_int(b, 0))
				  : reduce(b, ONNX_ReduceMax, with_zero, &(int){0}, 1, false);
	b->scope->shared->small_ints = false;
	r = check(b, r, emit_(b, ONNX_Equal, least, const_int(b, 0)),
		  "numbers of repeats must not be negative");
	return scatter_adds(b) ? rows_by_ends(b, r, dims) : rows_by_mask(b, repeats, r);
}

bool lower_repeat(struct build *b, struct node *n)
{
	struct value *x = low(b, n->in[0]), *repeats = low(b, n->in[1]);
	uint32_t axis = prop_axis(b->cx, n, "axis");
	dim length = x->type.dims[axis];
	struct value *row = constant_rows(b, repeats, length);
	if (!row)
		row = computed_rows(b, repeats, length);
	if (axis)
		attr_int(b, "axis", axis);
	set_lowered(b, n, 0, with_dims(emit_(b, ONNX_Gather, x, row), n->out[0]->type.dims));
	return true;
}

static struct value *count_true(struct build *b, struct value *v)
{
	int last = v->type.rank - 1;

	return reduce(b, ONNX_ReduceSum, cast(b, v, DT_INT64), &last, 1, false);
}

/* The sorter with indices below 0, for which NumPy raises, replaced by ones for which Gather fails.
 */
static struct value *check_sorter(struct build *b, struct value *sorter, struct value *x)
{
	struct value *at = cast(b, low(b, sorter), DT_INT64);
	dim n = x->type.dims[x->type.rank - 1];

	if (is_call(sorter->def, OP_ArgSortOp))
		return at;
	struct value *negative = emit_(b, ONNX_Less, at, const_int(b, 0));
	return emit_(b, ONNX_Where, negative, dim_value(b, n), at);
}

/* x in the order of the sorter; either may be one for all items of a batch */
static struct value *in_order(struct build *b, struct value *x, struct value *sorter)
{
	if (x->type.rank == 1)
		return emit_(b, ONNX_Gather, x, sorter);
	attr_int(b, "axis", 1);
	return emit_(b, sorter->type.rank == 1 ? ONNX_Gather : ONNX_GatherElements, x, sorter);
}

/* x[batch, n] as [batch, 1, ..., n], beside values of `rank` dims */
static struct value *beside_values(struct build *b, struct value *x, uint32_t rank)
{
	int64_t axes[MAX_RANK];

	for (uint32_t i = 1; i < rank; i++)
		axes[i - 1] = i;
	return unsqueeze(b, x, axes, x->type.rank == 2 ? rank - 1 : 0);
}

/* x before v, as `left` says: all of x beside each v at once */
static struct value *count_before(struct build *b, struct value *x, struct value *v, bool left)
{
	x = beside_values(b, x, v->type.rank);
	return count_true(b, emit_(b, left ? ONNX_Less : ONNX_LessOrEqual, x, column(b, v)));
}

/* A bisection: x, or the x of all items of a batch one after the other, and where each begins */
struct bisection {
	struct value *x, *v, *n, *begin;
	bool left;
};

/* One step: `place` elements of x are before v for sure; are `step` more? The last element of x
 * stands for all behind it. */
static struct value *bisect_once(struct build *b, const struct bisection *s, struct value *place,
				 struct value *step, bool beyond)
{
	struct value *next = emit_(b, ONNX_Add, place, step), *at = next;

	b->scope->shared->small_ints = true;
	at = beyond ? emit_(b, ONNX_Min, next, s->n) : next;
	at = emit_(b, ONNX_Sub, at, const_int(b, 1));
	b->scope->shared->small_ints = false;
	if (s->begin)
		at = emit_(b, ONNX_Add, at, s->begin);
	struct value *is_before = emit_(b, s->left ? ONNX_Less : ONNX_LessOrEqual,
					emit_(b, ONNX_Gather, s->x, at), s->v);
	return emit_(b, ONNX_Where, is_before, next, place);
}

/*
 * The same in log(n) steps, which need no more memory than v; a Loop, if n is not known. Each step
 * halves how many elements more may be before v. t: of the result
 */
static struct value *bisect(struct build *b, struct value *x, struct value *v, bool left,
			    struct type t)
{
	struct block *outer = b->block, *body = block_new(b);
	dim length = x->type.dims[x->type.rank - 1];
	struct bisection s = {x, v, dim_value(b, length), NULL, left};
	struct value *one = const_int(b, 1);
	struct type types[2] = {type_of(DT_INT64, t.rank, t.dims), type_of(DT_INT64, 0, NULL)};
	int64_t powers[MAX_STEPS], axes[MAX_RANK], n, bound = 0;

	if (x->type.rank == 2) {
		dim *flat = new (b->cx->arena, dim);
		*flat = dims_product(b->cx, x->type.dims, 2);
		s.begin = emit_(b, ONNX_Mul, iota(b, x->type.dims[0]), s.n);
		for (uint32_t i = 1; i < t.rank; i++)
			axes[i - 1] = i;
		s.begin = unsqueeze(b, s.begin, axes, t.rank - 1u);
		s.x = reshape(b, x, flat, 1);
	}
	for (int i = 0; i < MAX_STEPS; i++)
		powers[i] = INT64_C(1) << i;
	struct value *place = expand(b, const_int(b, 0), t.dims, t.rank);
	if (dim_is_const(b->cx, length, &n)) {
		for (int i = MAX_STEPS - 1; i >= 0; i--) {
			if (powers[i] > n)
				continue;
			bound += powers[i];
			place = bisect_once(b, &s, place, const_int(b, powers[i]), bound > n);
		}
	} else {
		/* as many steps as n has bits: the powers of two up to n are counted */
		struct value *all = const_ints(b, powers, MAX_STEPS);
		struct value *up_to_n = cast(b, emit_(b, ONNX_LessOrEqual, all, s.n), DT_INT64);
		struct value *steps = reduce(b, ONNX_ReduceSum, up_to_n, (int[]){0}, 1, false);
		struct value *first = emit_(b, ONNX_Gather, all, emit_(b, ONNX_Sub, steps, one));

		block_param(b, body, types[1]);
		struct value *go = block_param(b, body, type_of(DT_BOOL, 0, NULL));
		struct value *from = block_param(b, body, types[0]);
		struct value *step = block_param(b, body, types[1]);
		scope_open(b, body);
		struct value *next = bisect_once(b, &s, from, step, true);
		block_result(b, go, NULL, false);
		block_result(b, with_dims(next, t.dims), t.dims, false);
		block_result(b, emit_(b, ONNX_Div, step, const_int(b, 2)), NULL, false);
		scope_close(b, outer);
		place = loop_node(b, body, (struct value *[]){steps, NULL, place, first}, 4, types,
				  2)
				->out[0];
	}
	b->scope->shared->small_ints = true;
	place = emit_(b, ONNX_Min, place, s.n);
	b->scope->shared->small_ints = false;
	return place;
}

/* Is count_before() faster than bisect()? */
static bool counting_is_faster(struct build *b, const struct value *x, struct type out)
{
	enum dtype t = (enum dtype)x->type.dtype;
	int64_t n, m, pairs;

	if (!dim_is_const(b->cx, x->type.dims[x->type.rank - 1], &n))
		n = OPEN_SIZE;
	if (!dim_is_const(b->cx, dims_product(b->cx, out.dims, out.rank), &m))
		m = OPEN_SIZE;
	if (__builtin_mul_overflow(n, m, &pairs))
		return false;
	double count = cost_of(ONNX_Less, t, pairs) + cost_of(ONNX_Cast, DT_INT64, pairs) +
		       cost_of(ONNX_ReduceSum, DT_INT64, pairs);
	double step = cost_of(ONNX_Loop, t, 1) + 3 * cost_of(ONNX_Add, DT_INT64, m) +
		      cost_of(ONNX_Gather, t, m) + cost_of(ONNX_Less, t, m) +
		      cost_of(ONNX_Where, DT_INT64, m) + cost_of(ONNX_Add, DT_INT64, 1);
	double steps = step;
	for (int64_t k = n; k > 1; k /= 2)
		steps += step;
	return count < steps;
}

/* The number of elements of x before v; NaN is after all numbers. Of a batch, x or the sorter has
 * one more dim in front, and v may have it. */
bool lower_searchsorted(struct build *b, struct node *n)
{
	struct value *x = low(b, n->in[0]), *v = low(b, n->in[1]), *all;
	enum dtype t = dtype_upcast((enum dtype)x->type.dtype, (enum dtype)v->type.dtype);
	struct type out = n->out[0]->type;
	bool left = !strcmp(prop_str(b->cx, n, "side"), "left");
	struct value *sorter = n->nin > 2 && n->in[2] ? check_sorter(b, n->in[2], n->in[0]) : NULL;

	if (sorter)
		x = in_order(b, x, sorter);
	x = cast(b, x, t);
	v = cast(b, v, t);
	if (v->type.rank < out.rank)
		v = unsqueeze(b, v, &(int64_t){0}, 1);
	struct value *r = counting_is_faster(b, x, out) ? count_before(b, x, v, left)
							: bisect(b, x, v, left, out);
	if (is_float(t)) {
		all = left ? emit_(b, ONNX_Not, emit_(b, ONNX_IsNaN, x)) : NULL;
		all = left ? count_true(b, beside_values(b, all, out.rank))
			   : dim_value(b, x->type.dims[x->type.rank - 1]);
		r = emit_(b, ONNX_Where, emit_(b, ONNX_IsNaN, v), all, r);
	}
	set_lowered(b, n, 0, with_dims(r, out.dims));
	return true;
}
