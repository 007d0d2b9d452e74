/*
 * wrong_kernels.c: kernels of ONNX Runtime that are wrong (wrong_kernels.def). In: an ONNX node
 * that the runtime has a kernel for. Out: if that kernel is wrong, the same results made of other
 * nodes.
 */
#include <math.h>

#include "lower/ops/lowerings.h"
#include "ort/ort.h"

enum fault {
#define FAULT_KIND(name) name,
#include "ort/wrong_kernels.def"
	FAULTS
};

static const release_set faults[ONNX_COUNT][FAULTS] = {
#define FAULT(op, fault, first, last) [ONNX_##op][fault] = RELEASES(first, last),
#include "ort/wrong_kernels.def"
};

static bool reads_rounded(const struct node *n)
{
	bool rounded = false;

	for (uint32_t i = 0; i < n->nin; i++)
		rounded |= n->in[i] && rounding_is_lost(n->in[i]);
	return rounded;
}

static bool reads_nan(const struct node *n)
{
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && !never_nan(n->in[i]))
			return true;
	return false;
}

static bool may_reduce_nothing(struct ctx *cx, const struct node *n)
{
	int axes[MAX_RANK], count = onnx_reduced_axes(n, axes);

	for (int i = 0; i < count; i++)
		if (!dim_ge(cx, n->in[0]->type.dims[axes[i]], 1))
			return true;
	return count < 0;
}

/* The axes of x that a GatherND has indices of: from *first on so many; -1 if nobody knows */
static int64_t indexed_axes(struct ctx *cx, const struct node *n, uint32_t *first)
{
	const struct type *of = &n->in[1]->type;
	int64_t count;

	*first = (uint32_t)int_of_attr(n, "batch_dims", 0);
	return dim_is_const(cx, of->dims[of->rank - 1], &count) ? count : -1;
}

static bool may_lack_items(struct ctx *cx, const struct node *n)
{
	uint32_t first;
	int64_t count = indexed_axes(cx, n, &first);

	for (uint32_t i = 0; i < count; i++)
		if (!dim_ge(cx, n->in[0]->type.dims[first + i], 1))
			return true;
	return count < 0;
}

/* Can this fault be seen in what n computes? */
static bool matters(struct ctx *cx, const struct node *n, enum fault fault)
{
	enum dtype t = (enum dtype)n->in[0]->type.dtype;

	switch (fault) {
	case ROUNDS_LATE:
		return t == DT_FLOAT16 && !cx->opt.excess_precision;
	case UNROUNDED:
		return !cx->opt.excess_precision && reads_rounded(n);
	case INT64_ORDER:
		return t == DT_INT64 && !n->small_ints;
	case LOSES_NAN:
		return is_float(t) && cx->opt.nans && !n->kernel_is_right && reads_nan(n);
	case LOSES_SIGN:
		return cx->opt.target == PTGC_ORT_CPU && is_float(t) && cx->opt.signed_zeros &&
		       sign_of(n->in[0]) != SIGN_NON_NEGATIVE;
	case NOT_TINY:
		return t == DT_FLOAT64 && !n->kernel_is_right;
	case FEW_DIGITS:
		return t == DT_FLOAT64 || t == DT_FLOAT16;
	case NO_ROWS:
		return !n->kernel_is_right && dims_may_be_0(cx, n->in[0]->type.dims,
							    n->in[0]->type.rank, onnx_axis(n, -1));
	case NO_TERMS:
		return !n->kernel_is_right &&
		       !dim_ge(cx, n->in[0]->type.dims[summed_axis(n, 0)], 1);
	case EMPTY:
		return !n->kernel_is_right && t != DT_BOOL && may_reduce_nothing(cx, n);
	case UNCHECKED:
		return !n->kernel_is_right && may_lack_items(cx, n);
	case FAULTS:
		break;
	}
	bug("there is no fault %d", (int)fault);
}

release_set wrong_releases(struct ctx *cx, const struct node *n)
{
	const release_set *of = faults[operator_of(n)];
	release_set wrong = 0;

	if (!n->nin || !n->in[0])
		return 0;
	for (int i = 0; i < FAULTS; i++)
		if (of[i] && matters(cx, n, (enum fault)i))
			wrong |= of[i];
	return wrong;
}

bool has_right_kernel(struct ctx *cx, const struct node *n)
{
	return !(wrong_releases(cx, n) & target_releases(cx));
}

/* Of int64 the comparisons are right, and ArgMax and ArgMin. */

/* Max or Min */
static struct value *extreme(struct build *b, struct node *n, enum onnx_id before)
{
	struct value *r = n->in[0];

	for (uint32_t i = 1; i < n->nin; i++)
		r = emit_(b, ONNX_Where, emit_(b, before, n->in[i], r), n->in[i], r);
	return r;
}

static struct value *clip_int64(struct build *b, struct node *n)
{
	struct value *r = n->in[0];

	if (n->nin > 1 && n->in[1])
		r = emit_(b, ONNX_Where, emit_(b, ONNX_Less, r, n->in[1]), n->in[1], r);
	if (n->nin > 2 && n->in[2])
		r = emit_(b, ONNX_Where, emit_(b, ONNX_Greater, r, n->in[2]), n->in[2], r);
	return r;
}

static struct value *sign_int64(struct build *b, struct node *n)
{
	struct value *zero = const_int(b, 0);
	struct value *above = cast(b, emit_(b, ONNX_Greater, n->in[0], zero), DT_INT64);

	struct value *below = emit_(b, ONNX_Less, n->in[0], zero);
	return emit_(b, ONNX_Where, below, const_int(b, -1), above);
}

/* ReduceMax or ReduceMin; NULL: the axes are not known */
static struct value *reduction_int64(struct build *b, struct node *n)
{
	int axes[MAX_RANK], count = onnx_reduced_axes(n, axes);

	return count < 0 ? NULL
			 : reduce_int64(b, n->in[0], axes, count, is_onnx(n, ONNX_ReduceMax),
					int_of_attr(n, "keepdims", 1));
}

static bool without_int64_order(struct build *b, struct node *n, struct value **out)
{
	if (is_onnx(n, ONNX_Max) || is_onnx(n, ONNX_Min))
		out[0] = extreme(b, n, is_onnx(n, ONNX_Max) ? ONNX_Greater : ONNX_Less);
	else if (is_onnx(n, ONNX_Clip))
		out[0] = clip_int64(b, n);
	else if (is_onnx(n, ONNX_Sign))
		out[0] = sign_int64(b, n);
	else if (!(out[0] = reduction_int64(b, n)))
		return legalise(b, n, out);
	return true;
}

/* n again, marked as right: nodes around it mend what its kernel gets wrong */
static struct value *emit_right(struct build *b, const struct node *n, struct value **in,
				uint32_t nin)
{
	b->kernel_is_right = true;
	for (uint32_t i = 0; i < n->nattrs; i++)
		if (n->attrs[i].kind == AT_INT)
			attr_int(b, n->attrs[i].name, n->attrs[i].u.i);
	struct value *v = emit(b, n->onnx->id, in, nin);
	b->kernel_is_right = false;
	return v;
}

/* Erf, Max, Min, Relu: where an input is NaN, so is the result. */
static bool with_nan(struct build *b, struct node *n, struct value **out)
{
	struct value *in[2] = {n->in[0]}, *r;

	if (is_onnx(n, ONNX_Relu)) {
		out[0] = emit_(b, ONNX_Max, n->in[0],
			       const_of(b, (enum dtype)n->in[0]->type.dtype, 0));
		return true;
	}
	if (n->nin == 1) {
		r = emit_right(b, n, in, 1);
		out[0] = emit_(b, ONNX_Where, emit_(b, ONNX_IsNaN, in[0]), in[0], r);
		return true;
	}
	for (uint32_t i = 1; i < n->nin; i++) {
		in[1] = n->in[i];
		r = emit_right(b, n, in, 2);
		for (int k = 0; k < 2; k++)
			if (!never_nan(in[k]))
				r = emit_(b, ONNX_Where, emit_(b, ONNX_IsNaN, in[k]), in[k], r);
		in[0] = r;
	}
	out[0] = in[0];
	return true;
}

static bool refuse_sign(struct build *b, struct node *n, struct value **out)
{
	(void)out;
	unsupported(
		b,
		"ONNX %s of ONNX Runtime 1.%d loses the sign of zeros; choose a newer release, or "
		"-fno-signed-zeros",
		n->onnx->name, b->cx->opt.runtime);
	return false;
}

/* exp(x) is exp(x / 2) squared, which is 0 where it should be. */
static bool exp_by_half(struct build *b, struct node *n, struct value **out)
{
	struct value *x = n->in[0];

	if (is_onnx(n, ONNX_Softmax)) {
		int axis = (int)onnx_axis(n, -1);
		x = emit_(b, ONNX_Sub, x, reduce(b, ONNX_ReduceMax, x, &axis, 1, true));
		x = emit_(b, ONNX_Exp, x);
		out[0] = emit_(b, ONNX_Div, x, reduce(b, ONNX_ReduceSum, x, &axis, 1, true));
		return true;
	}
	x = emit_(b, ONNX_Mul, x, const_of(b, DT_FLOAT64, 0.5));
	x = emit_right(b, n, &x, 1);
	out[0] = emit_(b, ONNX_Mul, x, x);
	return true;
}

static bool root_of_squares(struct build *b, struct node *n, struct value **out)
{
	int axes[MAX_RANK], count = onnx_reduced_axes(n, axes);

	if (count < 0)
		return legalise(b, n, out);
	out[0] = emit_(b, ONNX_Sqrt,
		       reduce(b, ONNX_ReduceSumSquare, n->in[0], axes, count,
			      int_of_attr(n, "keepdims", 1)));
	return true;
}

/* x with an item of zeros at the end of each of these axes */
static struct value *longer(struct build *b, struct value *x, uint64_t axes)
{
	int64_t pads[2 * MAX_RANK] = {0};
	uint32_t rank = x->type.rank;

	for (uint32_t i = 0; i < rank; i++)
		pads[rank + i] = axes >> i & 1;
	return emit_(b, ONNX_Pad, x, const_ints(b, pads, 2 * rank));
}

/* TopK of an array with one item more along other axes that may be empty; the item is dropped. */
static bool with_rows(struct build *b, struct node *n, struct value **out)
{
	struct value *x = n->in[0], *r[2];
	uint32_t axis = onnx_axis(n, -1), k = 0;
	int64_t list[MAX_RANK], zeros[MAX_RANK] = {0}, ones[MAX_RANK];
	dim ends[MAX_RANK];
	uint64_t axes = 0;

	for (uint32_t i = 0; i < x->type.rank; i++)
		if (i != axis && !dim_ge(b->cx, x->type.dims[i], 1)) {
			axes |= 1ull << i;
			ones[k] = 1;
			ends[k] = x->type.dims[i];
			list[k++] = i;
		}
	struct value *in[] = {longer(b, x, axes), n->in[1]};
	for (uint32_t i = 0; i < n->nattrs; i++)
		attr_int(b, n->attrs[i].name, n->attrs[i].u.i);
	b->kernel_is_right = true;
	emit_n(b, ONNX_TopK, in, 2, r, 2);
	b->kernel_is_right = false;
	struct value *start = const_ints(b, zeros, k), *step = const_ints(b, ones, k);
	struct value *end = dims_vector(b, ends, k);
	for (uint32_t i = 0; i < n->nout; i++)
		out[i] = slice(b, r[i], list, k, start, end, step);
	return true;
}

/* A product of factors with one term more, which is 0 */
static bool with_terms(struct build *b, struct node *n, struct value **out)
{
	struct value *in[3] = {0};

	for (uint32_t i = 0; i < 2; i++)
		in[i] = longer(b, n->in[i], 1ull << summed_axis(n, i));
	in[2] = n->nin > 2 ? n->in[2] : NULL;

	for (uint32_t i = 0; i < n->nattrs; i++)
		if (n->attrs[i].kind == AT_FLOAT)
			attr_float(b, n->attrs[i].name, n->attrs[i].u.f);
		else
			attr_int(b, n->attrs[i].name, n->attrs[i].u.i);
	b->kernel_is_right = true;
	out[0] = emit(b, n->onnx->id, in, n->nin);
	b->kernel_is_right = false;
	return true;
}

/* ReduceMax or ReduceMin of x and one element more along each axis, which no other is beyond */
static bool with_elements(struct build *b, struct node *n, struct value **out)
{
	enum dtype t = (enum dtype)n->in[0]->type.dtype;
	bool max = is_onnx(n, ONNX_ReduceMax);
	int axes[MAX_RANK], count = onnx_reduced_axes(n, axes);
	uint64_t more = 0;

	if (count < 0)
		return legalise(b, n, out);
	for (int i = 0; i < count; i++)
		more |= 1ull << axes[i];
	struct value *limit =
		is_float(t) ? const_of(b, t, max ? -INFINITY : INFINITY) : dtype_limit(b, t, !max);
	struct value *x = prepend_number(b, n->in[0], more, limit);
	b->kernel_is_right = true;
	out[0] = reduce(b, n->onnx->id, x, axes, count, int_of_attr(n, "keepdims", 1));
	b->kernel_is_right = false;
	return true;
}

/* GatherND with 1, which is refused, for each index along an axis of length 0 */
static bool with_refused_indices(struct build *b, struct node *n, struct value **out)
{
	uint32_t first;
	int64_t count = indexed_axes(b->cx, n, &first);

	if (count < 0)
		return legalise(b, n, out);
	struct value *lengths = dims_vector(b, n->in[0]->type.dims + first, (uint32_t)count);
	struct value *none = emit_(b, ONNX_Equal, lengths, const_int(b, 0));
	struct value *at = emit_(b, ONNX_Where, none, const_int(b, 1), n->in[1]);

	if (first)
		attr_int(b, "batch_dims", first);
	b->kernel_is_right = true;
	out[0] = emit_(b, ONNX_GatherND, n->in[0], at);
	b->kernel_is_right = false;
	return true;
}

bool by_other_kernels(struct build *b, struct node *n, struct value **out)
{
	static bool (*const instead[FAULTS])(struct build *, struct node *, struct value **) = {
		[ROUNDS_LATE] = legalise,
		[UNROUNDED] = legalise,
		[INT64_ORDER] = without_int64_order,
		[LOSES_NAN] = with_nan,
		[LOSES_SIGN] = refuse_sign,
		[NOT_TINY] = exp_by_half,
		[FEW_DIGITS] = root_of_squares,
		[NO_ROWS] = with_rows,
		[NO_TERMS] = with_terms,
		[EMPTY] = with_elements,
		[UNCHECKED] = with_refused_indices,
	};

	for (int i = 0; i < FAULTS; i++)
		if (faults[operator_of(n)][i] & target_releases(b->cx) &&
		    matters(b->cx, n, (enum fault)i))
			return instead[i](b, n, out);
	bug("the kernel of %s is right", n->onnx->name);
}
