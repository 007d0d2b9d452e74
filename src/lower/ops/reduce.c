/*
 * reduce.c: Sum, Prod, Mean, Max, Min, All, Any, Argmax, Softmax, LogSoftmax. In: a typed node.
 * Out: ONNX values with PyTensor's answers, which ONNX Runtime's reductions do not give by
 * themselves: it adds integers in float64, drops NaN in ReduceMax, and has its own values for empty
 * axes.
 */
#include <math.h>
#include <string.h>

#include "lower/ops/lowerings.h"

#define MANY_BOOLS (1 << 16) /* elements of a constant that are read at compile time */
#define MAX_BOOLS  5 /* of a list: one And each costs less than Concat, Cast, ReduceMin and Cast */

struct reduction {
	struct value *x;
	int axes[MAX_RANK], naxes; /* sorted */
	enum dtype out, acc;
	struct type type; /* of the result */
	bool maybe_empty; /* a reduced axis may have length 0 */
};

/* The reduced axes of x, in order, as one last axis. */
static struct value *merged_last(struct build *b, const struct reduction *r)
{
	int64_t perm[MAX_RANK];
	dim *dims = new_array(b->cx->arena, dim, r->x->type.rank + 1);
	uint32_t k = 0, kept;
	struct type t = r->x->type;

	for (int i = 0, j = 0; i < t.rank; i++) {
		if (j < r->naxes && r->axes[j] == i)
			j++;
		else
			perm[k++] = i;
	}
	kept = k;
	for (int j = 0; j < r->naxes; j++)
		perm[k++] = r->axes[j];
	struct value *x = transpose(b, r->x, perm);
	for (uint32_t i = 0; i < kept; i++)
		dims[i] = t.dims[perm[i]];
	dims[kept] = dim_const(b->cx, 1);
	for (uint32_t i = kept; i < t.rank; i++)
		dims[kept] = dim_mul(b->cx, dims[kept], t.dims[perm[i]]);
	return reshape(b, x, dims, kept + 1);
}

/* Is every partial sum of integers exact in float64, in which ONNX Runtime's ReduceSum adds? */
static bool sum_is_exact(struct build *b, const struct reduction *r, enum dtype from)
{
	int64_t n;

	if (from == DT_BOOL || dtypes[from].size <= 2)
		return true; /* it takes 2^37 elements of 16 bits to reach 2^53 */
	return dtypes[from].size == 4 && count_along(b->cx, &r->x->type, r->axes, r->naxes, &n) &&
	       n <= 1 << 20;
}

static struct value *vector_of_ones(struct build *b, enum dtype t, dim n)
{
	struct value *one = const_int_of(b, t, 1);

	return expand(b, one, memcpy(new (b->cx->arena, dim), &n, sizeof(n)), 1);
}

/* The sum of integers as a MatMul with ones, which wraps as in NumPy. */
static struct value *sum_wrapping(struct build *b, struct reduction *r, enum dtype t)
{
	uint32_t rank = r->x->type.rank;

	r->x = cast(b, r->x, t);
	if (r->naxes == 1 && r->axes[0] == (int)rank - 2)
		return matmul(b, vector_of_ones(b, t, r->x->type.dims[rank - 2]), r->x);
	struct value *x = merged_last(b, r);
	return matmul(b, x, vector_of_ones(b, t, x->type.dims[x->type.rank - 1]));
}

static struct value *lower_any(struct build *b, struct reduction *r)
{
	struct value *x = cast(b, r->x, DT_BOOL);

	if (!r->maybe_empty && reduces_bools(b))
		return reduce(b, ONNX_ReduceMax, x, r->axes, r->naxes, false);
	x = reduce(b, ONNX_ReduceSum, cast(b, x, DT_INT32), r->axes, r->naxes, false);
	return cast(b, x, DT_BOOL);
}

/* Is float32 precise enough to add up the elements of one result? 4,096 of them are off by some ten
 * units in the last place, millions by all digits. */
static bool few_enough_for_float32(struct build *b, const struct reduction *r)
{
	int64_t n;

	if (b->cx->opt.wide_sums)
		return false;
	return !b->cx->opt.long_sums ||
	       (count_along(b->cx, &r->x->type, r->axes, r->naxes, &n) && n <= 4096);
}

/* Sums of BLOCK numbers, and then of those: in float32 a million numbers are off by no more than
 * some thousand are. */
#define BLOCK 256
static struct value *sum_in_blocks(struct build *b, struct reduction *r)
{
	struct value *x = merged_last(b, r);
	uint32_t rank = x->type.rank;
	dim *dims = new_array(b->cx->arena, dim, rank + 1u);
	dim *pads = new_array(b->cx->arena, dim, 2u * rank), size = dim_const(b->cx, BLOCK);

	for (uint32_t i = 0; i < rank; i++) {
		dims[i] = x->type.dims[i];
		pads[i] = pads[rank + i] = dim_const(b->cx, 0);
	}
	pads[2 * rank - 1] = dim_mod(b->cx, dim_neg(b->cx, dims[rank - 1]), size);
	dims[rank - 1] =
		dim_floordiv(b->cx, dim_add(b->cx, dims[rank - 1], pads[2 * rank - 1]), size);
	dims[rank] = size;
	x = reshape(b, emit_(b, ONNX_Pad, x, dims_vector(b, pads, 2 * rank)), dims, rank + 1);
	x = reduce(b, ONNX_ReduceSum, x, (int[]){(int)rank}, 1, false);
	return reduce(b, ONNX_ReduceSum, x, (int[]){(int)rank - 1}, 1, false);
}

static struct value *sum_floats(struct build *b, struct reduction *r)
{
	if (b->target == PTGC_PORTABLE && r->acc == DT_FLOAT32 && !few_enough_for_float32(b, r))
		return sum_in_blocks(b, r);
	return reduce(b, ONNX_ReduceSum, r->x, r->axes, r->naxes, false);
}

static struct value *lower_sum(struct build *b, struct reduction *r)
{
	enum dtype from = (enum dtype)r->x->type.dtype;

	if (!is_discrete(r->acc)) {
		r->x = cast(b, r->x, r->acc);
		return sum_floats(b, r);
	}
	if (r->acc == DT_BOOL)
		return lower_any(b, r);
	if (is_discrete(from) && sum_is_exact(b, r, from))
		return reduce(b, ONNX_ReduceSum, cast(b, r->x, DT_INT64), r->axes, r->naxes, false);
	return sum_wrapping(b, r, from == DT_UINT64 && !r->maybe_empty ? DT_UINT64 : DT_INT64);
}

/* The product of integers by a Loop over slices: ONNX Runtime's ReduceProd computes in float64. */
static struct value *prod_wrapping(struct build *b, struct reduction *r, enum dtype t)
{
	r->x = cast(b, r->x, t);
	struct value *x = merged_last(b, r), *count = dim_value(b, x->type.dims[x->type.rank - 1]);
	struct block *outer = b->block, *body = block_new(b);
	struct type acc = type_of(t, x->type.rank - 1u, x->type.dims);
	struct value *first = expand(b, const_int_of(b, t, 1), acc.dims, acc.rank);

	struct value *i = block_param(b, body, type_of(DT_INT64, 0, NULL));
	struct value *go = block_param(b, body, type_of(DT_BOOL, 0, NULL));
	struct value *old = block_param(b, body, acc);
	scope_open(b, body);
	attr_int(b, "axis", acc.rank);
	struct value *item = emit_(b, ONNX_Gather, x, i);
	block_result(b, go, NULL, false);
	block_result(b, emit_(b, ONNX_Mul, old, with_dims(item, acc.dims)), acc.dims, false);
	scope_close(b, outer);
	return loop_node(b, body, (struct value *[]){count, NULL, first}, 3, &acc, 1)->out[0];
}

static struct value *lower_all(struct build *b, struct reduction *r)
{
	struct value *x = cast(b, r->x, DT_BOOL);

	if (r->naxes == x->type.rank &&
	    is_full_of(x, 1, MANY_BOOLS)) /* no kernel needs to say it */
		return const_int_of(b, DT_BOOL, 1);
	if (r->maybe_empty) /* ReduceMin of no elements is INT_MAX, which is true */
		x = cast(b, x, DT_INT32);
	return cast(b, reduce(b, ONNX_ReduceMin, x, r->axes, r->naxes, false), DT_BOOL);
}

static struct value *lower_prod(struct build *b, struct reduction *r)
{
	if (!is_discrete(r->acc))
		return reduce(b, ONNX_ReduceProd, cast(b, r->x, r->acc), r->axes, r->naxes, false);
	if (r->x->type.dtype == DT_BOOL) {
		r->maybe_empty = true;
		return lower_all(b, r);
	}
	return prod_wrapping(b, r, r->acc == DT_UINT64 ? DT_UINT64 : DT_INT64);
}

static struct value *lower_mean(struct build *b, struct reduction *r)
{
	enum dtype acc = is_float(r->acc) ? r->acc : DT_FLOAT64;
	int64_t k;

	r->x = cast(b, r->x, acc);
	if (count_along(b->cx, &r->x->type, r->axes, r->naxes, &k) && k > 0)
		return reduce(b, ONNX_ReduceMean, r->x, r->axes, r->naxes, false);
	dim count = dim_const(b->cx, 1); /* of no elements, 0/0 is NaN, as in PyTensor */
	for (int i = 0; i < r->naxes; i++)
		count = dim_mul(b->cx, count, r->x->type.dims[r->axes[i]]);
	struct value *sum = sum_floats(b, r);
	bool all = r->naxes == r->x->type.rank;
	return emit_(b, ONNX_Div, sum,
		     cast(b, all ? emit_(b, ONNX_Size, r->x) : dim_value(b, count), acc));
}

/*
 * ReduceMax, ReduceMin and ArgMax may ignore NaN, as the specification does not say what is largest
 * then; what ONNX Runtime's do depends on the release and on the place of the NaN.
 */
static bool may_ignore_nan(struct build *b, const struct value *x)
{
	return b->cx->opt.nans && is_float((enum dtype)x->type.dtype) && !never_nan(x);
}

/* *nan is a sum of absolute values, which is NaN if and only if an element is NaN. */
static struct value *any_nan(struct build *b, struct reduction *r, struct value **nan)
{
	*nan = reduce(b, ONNX_ReduceL1, r->x, r->axes, r->naxes, false);
	return emit_(b, ONNX_IsNaN, *nan);
}

static struct value *argmax(struct build *b, struct value *x, int axis)
{
	attr_int(b, "axis", axis);
	attr_int(b, "keepdims", 0);
	return emit_(b, ONNX_ArgMax, x);
}

/* The index of the first NaN in each row along the axis or, where there is none, of the maximum. */
static struct value *argmax_with_nan(struct build *b, struct value *x, int axis)
{
	struct reduction row = {.x = x, .axes = {axis}, .naxes = 1};
	struct value *nan, *is_nan;

	if (!may_ignore_nan(b, x))
		return argmax(b, x, axis);
	is_nan = emit_(b, ONNX_IsNaN, x);
	if (!b->cx->opt.strict_argmax) /* a NaN is taken for inf, as no number is larger */
		return argmax(b,
			      emit_(b, ONNX_Where, is_nan,
				    const_of(b, (enum dtype)x->type.dtype, INFINITY), x),
			      axis);
	struct value *first = argmax(b, cast(b, is_nan, DT_INT32), axis);
	struct value *any = any_nan(b, &row, &nan);
	return emit_(b, ONNX_Where, any, first, argmax(b, x, axis));
}

/* PyTensor raises if a reduced axis is empty. So does ArgMax, unless the result is empty, too. */
static void check_argmax(struct build *b, struct reduction *r)
{
	if (b->cx->opt.empty_axes && may_be_empty(b->cx, &r->type))
		r->x = check_nonempty(b, r->x, r->axes, r->naxes);
}

/* The maximum as the element at ArgMax: for int64 and uint64, ONNX Runtime's ReduceMax compares in
 * float64, its ArgMax exactly. */
static struct value *gather_at_argmax(struct build *b, struct reduction *r, enum onnx_id arg)
{
	struct value *x = r->naxes == 1 ? r->x : merged_last(b, r);
	int axis = r->naxes == 1 ? r->axes[0] : x->type.rank - 1;

	if (x->type.rank == 1)
		attr_int(b, "keepdims", 0);
	attr_int(b, "axis", axis);
	struct value *at = emit_(b, arg, x);
	if (x->type.rank == 1)
		return emit_(b, ONNX_Gather, x, at);
	attr_int(b, "axis", axis);
	return squeeze(b, emit_(b, ONNX_GatherElements, x, at), &(int64_t){axis}, 1);
}

/* The maximum or minimum of floats, which is NaN if an element is. */
static struct value *extreme_float(struct build *b, struct reduction *r, bool max, bool nonempty)
{
	struct value *nan, *any, *top;
	bool guard = may_ignore_nan(b, r->x) && !extremes_are_numpys(b->target);

	if (guard)
		any = any_nan(b, r, &nan);
	if (nonempty) /* ArgMax fails where there is no element, ReduceMax does not */
		top = gather_at_argmax(b, r, max ? ONNX_ArgMax : ONNX_ArgMin);
	else
		top = reduce(b, max ? ONNX_ReduceMax : ONNX_ReduceMin, r->x, r->axes, r->naxes,
			     false);
	return guard ? emit_(b, ONNX_Where, any, nan, top) : top;
}

/* The largest or smallest integer of a dtype. */
struct value *dtype_limit(struct build *b, enum dtype t, bool largest)
{
	uint32_t bits = dtypes[t].kind == KIND_BOOL ? 1 : 8u * dtypes[t].size;
	bool is_signed = dtypes[t].kind == KIND_INT;
	int64_t top = is_signed ? INT64_MAX >> (64 - bits) : (int64_t)(UINT64_MAX >> (64 - bits));

	return const_int_of(b, t, largest ? top : is_signed ? -top - 1 : 0);
}

struct value *prepend_number(struct build *b, struct value *x, uint64_t axes, struct value *number)
{
	int64_t pads[2 * MAX_RANK] = {0};
	uint32_t rank = x->type.rank;

	if (b->target != PTGC_PORTABLE || is_float(x->type.dtype)) {
		for (uint32_t i = 0; i < rank; i++)
			pads[i] = axes >> i & 1;
		return emit_(b, ONNX_Pad, x, const_ints(b, pads, 2 * rank), number);
	}
	for (uint32_t i = 0; i < rank; i++) {
		if (!(axes >> i & 1))
			continue;
		dim *dims = dims_with_axis(b, x, i, dim_const(b->cx, 1));
		struct value *item = expand(b, number, dims, rank);
		x = concat(b, (int)i, (struct value *[]){item, x}, 2);
	}
	return x;
}

/* Puts the initial value before each axis that may be empty. (For an empty axis of integers, ONNX
 * Runtime has other values.) */
static struct value *with_initial(struct build *b, struct reduction *r, bool max)
{
	uint64_t axes = 0;

	for (int i = 0; i < r->naxes; i++)
		if (!dim_ge(b->cx, r->x->type.dims[r->axes[i]], 1))
			axes |= 1ull << r->axes[i];
	return prepend_number(b, r->x, axes, dtype_limit(b, (enum dtype)r->x->type.dtype, !max));
}

struct value *reduce_int64(struct build *b, struct value *x, const int *axes, int naxes, bool max,
			   bool keepdims)
{
	struct reduction r = {.x = x, .naxes = naxes};
	int64_t kept[MAX_RANK];

	for (int i = 0; i < naxes; i++) {
		kept[i] = r.axes[i] = axes[i];
		r.maybe_empty |= !dim_ge(b->cx, x->type.dims[axes[i]], 1);
	}
	if (r.maybe_empty)
		r.x = with_initial(b, &r, max);
	x = naxes ? gather_at_argmax(b, &r, max ? ONNX_ArgMax : ONNX_ArgMin) : x;
	return keepdims ? unsqueeze(b, x, kept, (uint32_t)naxes) : x;
}

static struct value *lower_max_or_min(struct build *b, struct node *n, struct reduction *r,
				      bool max)
{
	enum dtype t = (enum dtype)r->x->type.dtype;
	bool initial = prop_bool(b->cx, n, "initial");
	int64_t k;

	if (count_along(b->cx, &r->x->type, r->axes, r->naxes, &k) && k == 0 && !initial) {
		raises(b, "an axis of length 0 has no %s", max ? "maximum" : "minimum");
		return r->x;
	}
	bool wide = dtypes[t].size == 8 && is_int(t) && !extremes_are_numpys(b->target);
	if (b->target == PTGC_PORTABLE && t == DT_UINT32)
		wide = true; /* ReduceMax would need float64 */
	if (is_float(t) && r->naxes == r->x->type.rank && r->maybe_empty && !initial &&
	    b->cx->opt.nans && !extremes_are_numpys(b->target))
		return extreme_float(b, r, max, true);
	if (!initial && !wide)
		r->x = check_nonempty(b, r->x, r->axes, r->naxes);
	else if (!initial)
		check_argmax(b, r);
	if (initial && r->maybe_empty && is_discrete(t))
		r->x = with_initial(b, r, max);
	if (wide)
		return gather_at_argmax(b, r, max ? ONNX_ArgMax : ONNX_ArgMin);
	if (is_float(t))
		return extreme_float(b, r, max, false);
	b->kernel_is_right = true; /* there are elements, as was checked */
	struct value *top =
		reduce(b, max ? ONNX_ReduceMax : ONNX_ReduceMin, r->x, r->axes, r->naxes, false);
	b->kernel_is_right = false;
	return top;
}

/* The dtype in which PyTensor accumulates: acc_dtype, else a wide dtype of the input's kind. */
static enum dtype accumulator_dtype(struct build *b, struct node *n, const struct reduction *r)
{
	enum dtype out = r->out;
	const struct op_sig *sig = op_sig(b->cx, n->op);
	bool sums = is_call(n, OP_Sum) || is_call(n, OP_Prod);
	enum dtype t = DT_NONE;

	for (uint32_t i = 0; i < sig->nprops; i++)
		if (!strcmp(sig->props[i].name->s, "acc_dtype"))
			t = prop_dtype(b->cx, n, "acc_dtype");
	if (t)
		return t;
	if (sums)
		out = (enum dtype)n->in[0]->type.dtype;
	if (sums && is_discrete(out))
		return dtypes[out].kind == KIND_UINT ? DT_UINT64 : DT_INT64;
	if (out == DT_FLOAT32 && r->out == DT_FLOAT64) /* the digits that the text asks for */
		return DT_FLOAT64;
	if (out == DT_FLOAT32 && b->target != PTGC_PORTABLE)
		return few_enough_for_float32(b, r) ? DT_FLOAT32 : DT_FLOAT64;
	return out == DT_FLOAT16 ? DT_FLOAT32 : out;
}

/* All or Any of a list of scalars, as the conditions of a distribution's parameters are: And or Or
 * of two after another. NULL: it is none, or so long that a reduction takes fewer nodes. */
static struct value *lower_list_of_bools(struct build *b, const struct node *n)
{
	const struct node *list = n->in[0]->def;
	bool all = is_call(n, OP_All);
	struct value *so_far = NULL;

	if (!(all || is_call(n, OP_Any)) || !list || !is_call(list, OP_MakeVector) || !list->nin ||
	    list->nin > MAX_BOOLS || !flag_is_on(b->cx, FLAG_FOLD))
		return NULL;
	for (uint32_t i = 0; i < list->nin; i++) {
		struct value *x = low(b, list->in[i]);
		if (x->type.rank)
			return NULL;
		x = cast(b, x, DT_BOOL);
		so_far = so_far ? emit_(b, all ? ONNX_And : ONNX_Or, so_far, x) : x;
	}
	return so_far;
}

static bool read_reduction(struct build *b, struct node *n, struct reduction *r)
{
	r->x = low(b, n->in[0]);
	r->type = n->out[0]->type;
	r->out = (enum dtype)r->type.dtype;
	r->naxes = prop_axes(b->cx, n, "axes", r->x->type.rank, r->axes, true);
	r->acc = accumulator_dtype(b, n, r);
	r->maybe_empty = false;
	for (int i = 0; i < r->naxes; i++)
		r->maybe_empty |= !dim_ge(b->cx, r->x->type.dims[r->axes[i]], 1);
	return r->naxes >= 0;
}

bool lower_reduce(struct build *b, struct node *n)
{
	struct reduction r;
	struct value *v;

	if (!read_reduction(b, n, &r))
		return false;
	if (r.naxes == 1 && (v = lower_list_of_bools(b, n)) != NULL) {
		set_lowered(b, n, 0, v);
		return true;
	}
	if (r.naxes == 0) {
		bool logic = is_call(n, OP_All) || is_call(n, OP_Any);
		v = cast(b, r.x, logic ? DT_BOOL : r.acc);
	} else if (is_call(n, OP_Sum)) {
		v = lower_sum(b, &r);
	} else if (is_call(n, OP_Prod)) {
		v = lower_prod(b, &r);
	} else if (is_call(n, OP_Mean)) {
		v = lower_mean(b, &r);
	} else if (is_call(n, OP_All)) {
		v = lower_all(b, &r);
	} else if (is_call(n, OP_Any)) {
		v = lower_any(b, &r);
	} else if (is_call(n, OP_Max) || is_call(n, OP_Min)) {
		v = lower_max_or_min(b, n, &r, is_call(n, OP_Max));
	} else {
		bug("lower_reduce does not know %s", n->op->name);
	}
	if (is_int(r.acc) && (is_call(n, OP_Sum) || is_call(n, OP_Prod)))
		v = cast(b, v, r.acc); /* the accumulator wraps, even if the result is wider */
	set_lowered(b, n, 0, cast_once(b, v, r.out));
	return true;
}

bool lower_argmax(struct build *b, struct node *n)
{
	struct reduction r;
	int64_t k;

	if (!read_reduction(b, n, &r))
		return false;
	if (r.naxes == 0) {
		set_lowered(b, n, 0, expand(b, const_int(b, 0), r.type.dims, r.type.rank));
		return true;
	}
	if (count_along(b->cx, &r.x->type, r.axes, r.naxes, &k) && k == 0) {
		raises(b, "an axis of length 0 has no maximum");
		return false;
	}
	check_argmax(b, &r);
	int axis = r.axes[0];
	struct value *x = r.x;
	if (r.naxes > 1) {
		x = merged_last(b, &r);
		axis = x->type.rank - 1;
	}
	set_lowered(b, n, 0, with_dims(argmax_with_nan(b, x, axis), r.type.dims));
	return true;
}

/* Softmax or LogSoftmax along an axis. ONNX Runtime's LogSoftmax computes x - (max + log(sum)),
 * which loses digits if the maximum is large: so the maximum is subtracted first, as in PyTensor.
 * Its float64 LogSoftmax has wrong elements in a row with NaN or inf: it is computed step by step.
 */
static struct value *emit_softmax(struct build *b, enum onnx_id op, struct value *x, int axis)
{
	bool logs = op != ONNX_Softmax && !b->cx->opt.native_functions;

	if (logs)
		x = emit_(b, ONNX_Sub, x, reduce(b, ONNX_ReduceMax, x, &axis, 1, true));
	if (logs && x->type.dtype == DT_FLOAT64) {
		struct value *sum =
			reduce(b, ONNX_ReduceSum, emit_(b, ONNX_Exp, x), &axis, 1, true);
		return emit_(b, ONNX_Sub, x, emit_(b, ONNX_Log, sum));
	}
	attr_int(b, "axis", axis);
	return emit_(b, op, x);
}

/* PyTensor subtracts the maximum first, and raises if an axis is empty. false: reported */
static bool check_has_maximum(struct build *b, struct reduction *r)
{
	for (int i = 0; i < r->naxes; i++)
		if (dim_is(b->cx, r->x->type.dims[r->axes[i]], 0)) {
			raises(b, "an axis of length 0 has no maximum");
			return false;
		}
	if (b->cx->opt.empty_axes)
		r->x = check_nonempty(b, r->x, r->axes, r->naxes);
	return true;
}

/* Softmax or LogSoftmax step by step as in PyTensor, for dtypes that no ONNX operator computes so.
 * Integers: x - max is computed in x's own dtype, which wraps. float16: each step is rounded. */
static struct value *softmax_in_steps(struct build *b, struct node *n, struct reduction *r,
				      bool log)
{
	const struct op *max = &op_table[OP_Max];
	struct prop_arg arg = {.name = intern_str(b->cx, "axes"), .span = b->span};
	struct value *top, *in = r->x;
	int64_t axes[MAX_RANK];

	arg.value = *prop(b->cx, n, "axes");
	struct cv *props = bind_props(b->cx, max, b->span, &arg, 1);
	if (!props || !lower_as(b, max, props, &in, 1, &top, 1))
		return NULL;
	for (int i = 0; i < r->naxes; i++)
		axes[i] = r->axes[i];
	struct value *x = emit_(b, ONNX_Sub, r->x, unsqueeze(b, top, axes, (uint32_t)r->naxes));
	x = cast(b, x, r->out);
	struct value *e = emit_(b, ONNX_Exp, x);
	struct value *sum = cast(b, e, r->out == DT_FLOAT16 ? DT_FLOAT32 : wide_float(b));
	sum = cast(b, reduce(b, ONNX_ReduceSum, sum, r->axes, r->naxes, true), r->out);
	return log ? emit_(b, ONNX_Sub, x, emit_(b, ONNX_Log, sum)) : emit_(b, ONNX_Div, e, sum);
}

/* Softmax over several axes is Softmax over one merged axis, which is split again. */
static bool lower_any_softmax(struct build *b, struct node *n, enum onnx_id op)
{
	struct reduction r;

	if (!read_reduction(b, n, &r))
		return false;
	bool half = r.x->type.dtype == DT_FLOAT16 && !b->cx->opt.excess_precision;
	if (r.naxes && (half || is_int((enum dtype)r.x->type.dtype))) {
		struct value *y = softmax_in_steps(b, n, &r, op == ONNX_LogSoftmax);
		if (y)
			set_lowered(b, n, 0, with_dims(y, n->out[0]->type.dims));
		return y != NULL;
	}
	if (!check_has_maximum(b, &r))
		return false;
	r.x = cast(b, r.x, r.out);
	if (r.naxes == 1) {
		set_lowered(b, n, 0, emit_softmax(b, op, r.x, r.axes[0]));
		return true;
	}
	uint32_t rank = r.x->type.rank, kept = rank - (uint32_t)r.naxes, k = 0;
	int64_t perm[MAX_RANK], back[MAX_RANK];
	dim *dims = new_array(b->cx->arena, dim, rank + 1);
	if (r.naxes == 0) { /* each element by itself */
		memcpy(dims, r.x->type.dims, rank * sizeof *dims);
		dims[rank] = dim_const(b->cx, 1);
		struct value *own = emit_softmax(b, op, reshape(b, r.x, dims, rank + 1), (int)rank);
		set_lowered(b, n, 0, reshape(b, own, dims, rank));
		return true;
	}
	struct value *x = merged_last(b, &r);
	x = emit_softmax(b, op, x, (int)kept);
	for (uint32_t i = 0, j = 0; i < rank; i++) {
		if (j < (uint32_t)r.naxes && r.axes[j] == (int)i)
			perm[kept + j++] = i;
		else
			perm[k++] = i;
	}
	for (uint32_t i = 0; i < rank; i++) {
		dims[i] = r.x->type.dims[perm[i]];
		back[perm[i]] = i;
	}
	set_lowered(b, n, 0, transpose(b, reshape(b, x, dims, rank), back));
	return true;
}

bool lower_softmax(struct build *b, struct node *n)
{
	return lower_any_softmax(b, n, ONNX_Softmax);
}

bool lower_logsoftmax(struct build *b, struct node *n)
{
	return lower_any_softmax(b, n, ONNX_LogSoftmax);
}
