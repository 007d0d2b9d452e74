/*
 * infer_known.c: known integers of the results of ONNX nodes. In: a node whose results are
 * typed. Out: the elements of integer results of rank 0 or 1 as dims, where they are proved. Dims
 * never wrap and ONNX's integers do: so beside int64 only constants that the dtype holds are kept,
 * and operators that a runtime computes in float64 are followed below 2^53 only.
 */
#include <string.h>

#include "onnx/internal.h"

/* --- reading and writing --- */

/* Elements of result i, if it can have known integers; -1 if not */
static int count_of(struct infer *f, uint32_t i)
{
	const struct value *v = i < f->n->nout ? f->n->out[i] : NULL;
	int64_t n = 1;

	if (!v || v->type.rank > 1 || !is_discrete((enum dtype)v->type.dtype) ||
	    (v->type.rank && !dim_is_const(f->cx, v->type.dims[0], &n)))
		return -1;
	return n >= 0 && n <= MAX_KNOWN ? (int)n : -1;
}

static void set_known(struct infer *f, uint32_t i, struct known *k)
{
	for (uint32_t j = 0; j < k->n; j++)
		if (!known_holds(f->cx, (enum dtype)f->n->out[i]->type.dtype, k->at[j]))
			return;
	f->n->out[i]->known = k;
}

/* Element i of an operand that broadcasts; DIM_NONE: not known */
static dim element(struct infer *f, uint32_t in, uint32_t i)
{
	const struct known *k = known_in(f, in);

	return !k || !k->n ? DIM_NONE : k->n == 1 ? k->at[0] : i < k->n ? k->at[i] : DIM_NONE;
}

typedef dim element_rule(struct infer *f, uint32_t i);

static void each(struct infer *f, element_rule *rule)
{
	int n = count_of(f, 0);

	if (n < 0)
		return;
	struct known *k = known_new(f->cx, (uint32_t)n);
	for (uint32_t i = 0; i < k->n; i++)
		if (!(k->at[i] = rule(f, i)))
			return;
	set_known(f, 0, k);
}

void known_none(struct infer *f)
{
	(void)f;
}

/* --- arithmetic --- */

static dim one_unary(struct infer *f, uint32_t i)
{
	dim a = element(f, 0, i), zero = num(f, 0);
	int64_t v;

	if (!a || (dim_is_const(f->cx, a, &v) && v == INT64_MIN) ||
	    known_may_wrap(f->cx, a, f->op->id != ONNX_Neg))
		return DIM_NONE;
	if (f->op->id == ONNX_Neg)
		return dim_neg(f->cx, a);
	if (f->op->id == ONNX_Relu)
		return dim_max(f->cx, a, zero);
	if (f->op->id == ONNX_Not)
		return dim_is_const(f->cx, a, &v) ? num(f, !v) : DIM_NONE;
	if (f->op->id == ONNX_Abs)
		return dim_ge(f->cx, a, 0) ? a : dim_le(f->cx, a, 0) ? dim_neg(f->cx, a) : DIM_NONE;
	/* Sign */
	if (dim_ge(f->cx, a, 1) || dim_le(f->cx, a, -1))
		return num(f, dim_ge(f->cx, a, 1) ? 1 : -1);
	return dim_is_const(f->cx, a, &v) ? zero : DIM_NONE;
}

void known_unary(struct infer *f)
{
	each(f, one_unary);
}

/* Constants, computed here so that nothing wraps unseen; false: it would, or it has no value */
static bool constant_binary(const struct infer *f, int64_t a, int64_t b, int64_t *r)
{
	if (f->op->id == ONNX_Add || f->op->id == ONNX_Sum)
		return !__builtin_add_overflow(a, b, r);
	if (f->op->id == ONNX_Sub)
		return !__builtin_sub_overflow(a, b, r);
	if (f->op->id == ONNX_Mul)
		return !__builtin_mul_overflow(a, b, r);
	if (f->op->id == ONNX_Max || f->op->id == ONNX_Min) {
		*r = (a > b) == (f->op->id == ONNX_Max) ? a : b;
		return true;
	}
	if (b == 0 || (a == INT64_MIN && b == -1))
		return false;
	if (f->op->id == ONNX_Div) {
		*r = a / b;
		return true;
	}
	int64_t m = a % b; /* Mod has the divisor's sign, with fmod the dividend's */
	*r = m && !int_attr(f, "fmod") && (m < 0) != (b < 0) ? m + b : m;
	return true;
}

/* max or min of a and b; DIM_NONE: one of them may have wrapped */
static dim extreme(struct infer *f, dim a, dim b, bool max)
{
	struct ctx *cx = f->cx;

	if (known_may_wrap(cx, a, true) || known_may_wrap(cx, b, true))
		return DIM_NONE;
	dim d = max ? dim_max(cx, a, b) : dim_min(cx, a, b);
	return known_extreme_wraps(cx, d) ? DIM_NONE : d;
}

static dim binary(struct infer *f, dim a, dim b)
{
	struct ctx *cx = f->cx;
	bool ordered = f->op->id == ONNX_Div || f->op->id == ONNX_Mod;
	int64_t x, y, r;

	if (dim_is_const(cx, a, &x) && dim_is_const(cx, b, &y))
		return constant_binary(f, x, y, &r) ? num(f, r) : DIM_NONE;
	if (f->op->id == ONNX_Max || f->op->id == ONNX_Min)
		return extreme(f, a, b, f->op->id == ONNX_Max);
	if (known_may_wrap(cx, a, ordered) || known_may_wrap(cx, b, ordered))
		return DIM_NONE;
	if (!ordered && known_leaves_int64(cx, a, b))
		return DIM_NONE;
	if (f->op->id == ONNX_Add || f->op->id == ONNX_Sum)
		return dim_add(cx, a, b);
	if (f->op->id == ONNX_Sub)
		return dim_sub(cx, a, b);
	if (f->op->id == ONNX_Mul)
		return dim_mul(cx, a, b);
	if (!dim_ge(cx, b, 1) || !dim_ge(cx, a, 0)) /* Div truncates */
		return DIM_NONE;
	return f->op->id == ONNX_Div ? dim_floordiv(cx, a, b) : dim_mod(cx, a, b);
}

static dim one_binary(struct infer *f, uint32_t i)
{
	dim d = element(f, 0, i);

	for (uint32_t k = 1; k < f->n->nin && d; k++) {
		dim e = element(f, k, i);
		d = e ? binary(f, d, e) : DIM_NONE;
	}
	return d;
}

void known_binary(struct infer *f)
{
	each(f, one_binary);
}

static dim one_logic(struct infer *f, uint32_t i)
{
	dim a = element(f, 0, i), b = element(f, 1, i);
	int64_t x, y;

	if (!a || !b || !dim_is_const(f->cx, a, &x) || !dim_is_const(f->cx, b, &y))
		return DIM_NONE;
	return num(f, f->op->id == ONNX_And ? x && y : f->op->id == ONNX_Or ? x || y : !x != !y);
}

void known_logic(struct infer *f)
{
	each(f, one_logic);
}

static dim one_compare(struct infer *f, uint32_t i)
{
	dim a = element(f, 0, i), b = element(f, 1, i);
	struct ctx *cx = f->cx;

	if (!a || !b || known_may_wrap(cx, a, f->op->id != ONNX_Equal) ||
	    known_may_wrap(cx, b, f->op->id != ONNX_Equal))
		return DIM_NONE;
	if (f->op->id == ONNX_Equal)
		return dim_eq(cx, a, b) ? num(f, 1) : dim_ne(cx, a, b) ? num(f, 0) : DIM_NONE;
	bool less = f->op->id == ONNX_Less || f->op->id == ONNX_LessOrEqual;
	bool equal = f->op->id == ONNX_LessOrEqual || f->op->id == ONNX_GreaterOrEqual;
	dim d = less ? dim_sub(cx, a, b) : dim_sub(cx, b, a); /* true where d < 0 (or d <= 0) */
	if (dim_le(cx, d, equal ? 0 : -1))
		return num(f, 1);
	return dim_ge(cx, d, equal ? 1 : 0) ? num(f, 0) : DIM_NONE;
}

void known_compare(struct infer *f)
{
	each(f, one_compare);
}

static dim one_where(struct infer *f, uint32_t i)
{
	dim c = element(f, 0, i);
	int64_t v;

	return c && dim_is_const(f->cx, c, &v) ? element(f, v ? 1 : 2, i) : DIM_NONE;
}

void known_where(struct infer *f)
{
	each(f, one_where);
}

/* Clip is min(max(x, low), high), also where low > high. */
static dim one_clip(struct infer *f, uint32_t i)
{
	dim d = element(f, 0, i);

	for (uint32_t k = 1; k < 3 && d; k++) {
		if (!input(f, k))
			continue;
		dim e = element(f, k, 0);
		d = e ? extreme(f, d, e, k == 1) : DIM_NONE;
	}
	return d;
}

void known_clip(struct infer *f)
{
	each(f, one_clip);
}

/* ReduceProd and ReduceSum of integers go through float64, where they are exact below 2^53. */
void known_reduce(struct infer *f)
{
	const struct known *k = known_in(f, 0);
	bool prod = f->op->id == ONNX_ReduceProd, sum = f->op->id == ONNX_ReduceSum;

	if (!k || count_of(f, 0) != 1 || (!k->n && !prod && !sum))
		return;
	if (type_in(f, 0).rank && int_attr(f, "noop_with_empty_axes") && !has_attr(f, "axes") &&
	    const_count(f, 1) <= 0)
		return;
	dim d = k->n ? k->at[0] : num(f, prod);
	for (uint32_t i = 1; d && i < k->n; i++)
		d = (prod || sum) && known_leaves_int64(f->cx, d, k->at[i]) ? DIM_NONE
		    : prod ? dim_mul(f->cx, d, k->at[i])
		    : sum  ? dim_add(f->cx, d, k->at[i])
			   : extreme(f, d, k->at[i], f->op->id == ONNX_ReduceMax);
	int64_t v;
	if (!d)
		return;
	if ((prod || sum) && dim_is_const(f->cx, d, &v) &&
	    (v > (int64_t)1 << 53 || v < -((int64_t)1 << 53)))
		return;
	struct known *r = known_new(f->cx, 1);
	r->at[0] = d;
	set_known(f, 0, r);
}

/* --- copies --- */

/* The same elements in the same order: both have rank 0 or 1. */
static dim one_copy(struct infer *f, uint32_t i)
{
	const struct known *k = known_in(f, 0);

	return k && k->n == (uint32_t)count_of(f, 0) ? k->at[i] : DIM_NONE;
}

void known_copy(struct infer *f)
{
	each(f, one_copy);
}

void known_cast(struct infer *f)
{
	/* a number cast to bool is another one */
	if (f->n->out[0]->type.dtype != DT_BOOL || type_in(f, 0).dtype == DT_BOOL)
		each(f, one_copy);
}

/* Expand and Tile of one element, or of as many as there are */
static dim one_spread(struct infer *f, uint32_t i)
{
	const struct known *k = known_in(f, 0);

	return k && (k->n == 1 || k->n == (uint32_t)count_of(f, 0)) ? element(f, 0, i) : DIM_NONE;
}

void known_spread(struct infer *f)
{
	each(f, one_spread);
}

/* --- shapes and vectors --- */

void known_shape(struct infer *f)
{
	struct type t = type_in(f, 0);
	int64_t start = int_attr(f, "start");
	int n = count_of(f, 0);

	if (n < 0)
		return;
	start += start < 0 ? t.rank : 0;
	start = start < 0 ? 0 : start;
	struct known *k = known_new(f->cx, (uint32_t)n);
	for (uint32_t i = 0; i < k->n; i++)
		k->at[i] = t.dims[start + i];
	set_known(f, 0, k);
}

void known_size(struct infer *f)
{
	struct type t = type_in(f, 0);
	struct known *k = known_new(f->cx, 1);

	k->at[0] = num(f, 1);
	for (uint32_t i = 0; i < t.rank; i++)
		k->at[0] = dim_mul(f->cx, k->at[0], t.dims[i]);
	set_known(f, 0, k);
}

static dim one_filled(struct infer *f, uint32_t i)
{
	const struct attr *a = attr_of(f, "value");
	int64_t v;

	(void)i;
	return a && tensor_int(a->u.t, 0, &v) ? num(f, v) : DIM_NONE;
}

void known_filled(struct infer *f)
{
	each(f, one_filled);
}

static dim one_of_range(struct infer *f, uint32_t i)
{
	dim start = element(f, 0, 0), step = element(f, 2, 0);

	return start && step ? dim_add(f->cx, start, dim_mul(f->cx, step, num(f, i))) : DIM_NONE;
}

void known_range(struct infer *f)
{
	each(f, one_of_range);
}

static dim one_gathered(struct infer *f, uint32_t i)
{
	const struct known *k = known_in(f, 0);
	dim at = element(f, 1, i);
	int64_t v;

	if (!k || type_in(f, 0).rank != 1 || !at || !dim_is_const(f->cx, at, &v))
		return DIM_NONE;
	v += v < 0 ? k->n : 0;
	return v >= 0 && v < k->n ? k->at[v] : DIM_NONE;
}

void known_gather(struct infer *f)
{
	each(f, one_gathered);
}

static int64_t clamp(int64_t v, int64_t low, int64_t high)
{
	return v < low ? low : v > high ? high : v;
}

static dim one_sliced(struct infer *f, uint32_t i)
{
	const struct known *k = known_in(f, 0);
	int64_t start, step = 1;

	if (!k || type_in(f, 0).rank != 1 || !const_in(f, 1, 0, &start) ||
	    (input(f, 4) && !const_in(f, 4, 0, &step)))
		return DIM_NONE;
	start = clamp(start, -(int64_t)MAX_KNOWN - 1, MAX_KNOWN);
	start = clamp(start + (start < 0 ? k->n : 0), 0, (int64_t)k->n - (step < 0));
	step = clamp(step, -(int64_t)MAX_KNOWN - 1, MAX_KNOWN + 1);
	start += step * i;
	return start >= 0 && start < k->n ? k->at[start] : DIM_NONE;
}

void known_slice(struct infer *f)
{
	each(f, one_sliced);
}

static dim one_joined(struct infer *f, uint32_t i)
{
	for (uint32_t in = 0; in < f->n->nin; in++) {
		const struct known *k = known_in(f, in);
		if (!k)
			return DIM_NONE;
		if (i < k->n)
			return k->at[i];
		i -= k->n;
	}
	return DIM_NONE;
}

void known_concat(struct infer *f)
{
	each(f, one_joined);
}

void known_split(struct infer *f)
{
	const struct known *all = known_in(f, 0);
	uint32_t at = 0;

	for (uint32_t i = 0; all && i < f->n->nout; i++) {
		int n = count_of(f, i);
		if (n < 0 || at + (uint32_t)n > all->n)
			return;
		struct known *k = known_new(f->cx, (uint32_t)n);
		memcpy(k->at, all->at + at, (size_t)n * sizeof(dim));
		at += (uint32_t)n;
		set_known(f, i, k);
	}
}
