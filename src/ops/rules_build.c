/*
 * rules_build.c: shape rules of ops that join, split and create tensors. In: a node whose inputs
 * are typed and whose first result has its dtype. Out: the types of all results. A length that is
 * an input becomes a dim if the input is known; else the length is a new unknown, a size of the
 * result.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/rules.h"

#define MAX_SCANNED 100000 /* elements of a constant that are looked at */

bool want_int_scalar(struct ctx *cx, struct node *n, uint32_t i, const char *what)
{
	const struct type *t = &n->in[i]->type;
	if (t->rank == 0 && is_discrete((enum dtype)t->dtype))
		return true;
	error(cx, n->span, t->rank ? E_RANK : E_DTYPE, "%s: %s must be a 0-d integer, got %s",
	      n->op->name, what, type_str(cx, *t));
	return false;
}

/* The length of `axis` of the result that input i says; DIM_NONE: reported */
static dim input_length(struct ctx *cx, struct node *n, uint32_t i, uint32_t axis)
{
	int64_t v;
	if (!want_int_scalar(cx, n, i, "a length"))
		return DIM_NONE;
	dim d = scalar_dim(cx, n->in[i]);
	if (!d)
		return dim_fresh(cx, SOURCE_SIZE, n->out[0], axis);
	if (dim_is_const(cx, d, &v) && v < 0) {
		error(cx, n->span, E_RAISES, "%s: the length %lld is negative", n->op->name,
		      (long long)v);
		return DIM_NONE;
	}
	return d;
}

static bool too_many_dims(struct ctx *cx, struct node *n, uint32_t rank)
{
	if (rank <= MAX_RANK)
		return false;
	error(cx, n->span, E_RANK, "%s: more than %d dims", n->op->name, MAX_RANK);
	return true;
}

bool sh_join(struct ctx *cx, struct node *n)
{
	int axis = checked_axis(cx, n, "axis");
	if (axis < 0)
		return false;
	uint32_t rank = n->in[0]->type.rank;
	dim *d = copy_dims(cx, &n->in[0]->type);
	for (uint32_t i = 1; i < n->nin; i++) {
		const struct type *t = &n->in[i]->type;
		if (t->rank != rank) {
			error(cx, n->span, E_RANK, "%s: %s and %s have different numbers of dims",
			      n->op->name, type_str(cx, n->in[0]->type), type_str(cx, *t));
			return false;
		}
		for (uint32_t k = 0; k < rank; k++) {
			if ((int)k == axis) {
				d[k] = dim_add(cx, d[k], t->dims[k]);
			} else if (!dim_meet(cx, &d[k], t->dims[k], n->span)) {
				error(cx, n->span, E_SHAPE,
				      "%s: %s and %s differ in another axis than %d", n->op->name,
				      type_str(cx, n->in[0]->type), type_str(cx, *t), axis);
				return false;
			}
		}
	}
	for (uint32_t k = 0; k < rank; k++)
		d[k] = dim_find(cx, d[k]);
	return set_dims(n, rank, d);
}

uint32_t nr_split(struct ctx *cx, struct node *n)
{
	int64_t count;
	const struct type *t = &n->in[1]->type;
	if (!prop_is_none(cx, n, "n"))
		count = prop_int(cx, n, "n");
	else if (t->rank != 1 || !dim_is_const(cx, t->dims[0], &count))
		count = -1;
	if (count > 0 && count < UINT16_MAX)
		return (uint32_t)count;
	error(cx, n->span, E_PROPERTY,
	      count == -1 ? "%s: the number of pieces is not known: write n="
			  : "%s: the number of pieces is out of range",
	      n->op->name);
	return 0;
}

static bool check_split_sizes(struct ctx *cx, struct node *n)
{
	const struct type *t = &n->in[1]->type;
	if (t->rank != 1 || !is_int((enum dtype)t->dtype)) {
		error(cx, n->span, E_DTYPE, "%s: the sizes must be a vector of integers, got %s",
		      n->op->name, type_str(cx, *t));
		return false;
	}
	if (dim_unify(cx, t->dims[0], dim_const(cx, n->nout), n->span))
		return true;
	error(cx, n->span, E_SHAPE, "%s: %d pieces, but the sizes are %s", n->op->name, n->nout,
	      type_str(cx, *t));
	return false;
}

bool sh_split(struct ctx *cx, struct node *n)
{
	const struct type *x = &n->in[0]->type;
	int axis = checked_axis(cx, n, "axis");
	if (axis < 0 || !check_split_sizes(cx, n))
		return false;
	const struct known *k = known_of(cx, n->in[1]);
	dim sum = dim_const(cx, 0);
	for (uint32_t i = 0; i < n->nout; i++) {
		int64_t v;
		dim *d = copy_dims(cx, x);
		if (k && dim_is_const(cx, k->at[i], &v) && v < 0) {
			error(cx, n->span, E_RAISES, "%s: a size is negative", n->op->name);
			return false;
		}
		d[axis] = k ? k->at[i] : dim_fresh(cx, SOURCE_SIZE, n->out[i], (uint32_t)axis);
		sum = dim_add(cx, sum, d[axis]);
		set_type(n, i, (enum dtype)x->dtype, x->rank, d);
	}
	if (dim_unify(cx, sum, x->dims[axis], n->span))
		return true;
	error(cx, n->span, E_RAISES,
	      "%s: the sizes add up to %s, but axis %d of %s is longer or shorter", n->op->name,
	      dim_str(cx, sum), axis, type_str(cx, *x));
	return false;
}

bool sh_makevector(struct ctx *cx, struct node *n)
{
	for (uint32_t i = 0; i < n->nin; i++)
		if (!want_rank(cx, n, i, 0))
			return false;
	dim *d = new_dims(cx, 1);
	d[0] = dim_const(cx, n->nin);
	return set_dims(n, 1, d);
}

bool sh_alloc(struct ctx *cx, struct node *n)
{
	const struct type *v = &n->in[0]->type;
	uint32_t rank = n->nin - 1u;
	if (too_many_dims(cx, n, rank))
		return false;
	if (v->rank > rank) {
		error(cx, n->span, E_RANK, "%s: %u length%s given, fewer than %s has dims",
		      n->op->name, rank, rank == 1 ? " is" : "s are", type_str(cx, *v));
		return false;
	}
	dim *d = new_dims(cx, rank);
	for (uint32_t i = 0; i < rank; i++) {
		d[i] = input_length(cx, n, i + 1, i);
		if (!d[i])
			return false;
		if (i < rank - v->rank)
			continue;
		dim from = v->dims[i - (rank - v->rank)];
		if (dim_says_one(cx, from))
			continue;
		if (!scalar_dim(cx, n->in[i + 1])) { /* onnx.Expand takes 1 for any length */
			dim_unify(cx, dim_fresh(cx, SOURCE_VALUE, n->in[i + 1], 0), from, n->span);
			d[i] = from;
		}
		if (dim_unify(cx, d[i], from, n->span))
			continue;
		error(cx, n->span, E_SHAPE, "%s: %s does not broadcast to length %s on axis %u",
		      n->op->name, type_str(cx, *v), dim_str(cx, d[i]), i);
		return false;
	}
	return set_dims(n, rank, d);
}

bool sh_allocempty(struct ctx *cx, struct node *n)
{
	if (too_many_dims(cx, n, n->nin))
		return false;
	dim *d = new_dims(cx, n->nin);
	for (uint32_t i = 0; i < n->nin; i++)
		if (!(d[i] = input_length(cx, n, i, i)))
			return false;
	return set_dims(n, n->nin, d);
}

bool sh_eye(struct ctx *cx, struct node *n)
{
	dim *d = new_dims(cx, 2);
	if (!want_int_scalar(cx, n, 2, "the diagonal"))
		return false;
	for (uint32_t i = 0; i < 2; i++)
		if (!(d[i] = input_length(cx, n, i, i)))
			return false;
	return set_dims(n, 2, d);
}

bool sh_bartlett(struct ctx *cx, struct node *n)
{
	dim *d = new_dims(cx, 1), m = scalar_dim(cx, n->in[0]);

	if (m && !dim_ge(cx, m, 0)) /* NumPy takes a negative length for 0 */
		d[0] = dim_max(cx, m, dim_const(cx, 0));
	else
		d[0] = input_length(cx, n, 0, 0);
	return d[0] && set_dims(n, 1, d);
}

/* --- ARange --- */

/* max(ceil((stop - start) / step), 0) */
static dim arange_length(struct ctx *cx, dim start, dim stop, int64_t step)
{
	dim span = step > 0 ? dim_sub(cx, stop, start) : dim_sub(cx, start, stop);
	int64_t k = step > 0 ? step : -step;
	dim len = dim_over(cx, dim_plus(cx, span, k - 1), k);
	return dim_ge(cx, len, 0) ? len : dim_at_least(cx, len, 0);
}

/* The length for constants start, stop, step, in double as in NumPy; DIM_NONE: not all are
 * constant, or the step is 0 */
static dim constant_arange_length(struct ctx *cx, struct node *n, bool *zero_step)
{
	double v[3];
	for (int i = 0; i < 3; i++) {
		if (!n->in[i]->data || !n->in[i]->data->count)
			return DIM_NONE;
		v[i] = tensor_float(n->in[i]->data, 0);
	}
	*zero_step = v[2] == 0;
	double len = ceil((v[1] - v[0]) / v[2]);
	if (*zero_step || !(len < 0x1p53))
		return DIM_NONE;
	return dim_const(cx, len > 0 ? (int64_t)len : 0);
}

bool sh_arange(struct ctx *cx, struct node *n)
{
	bool ints = true, zero_step = false;
	int64_t step;
	for (uint32_t i = 0; i < 3; i++) {
		if (!want_rank(cx, n, i, 0))
			return false;
		ints &= is_discrete((enum dtype)n->in[i]->type.dtype);
	}
	dim *d = new_dims(cx, 1);
	dim a = scalar_dim(cx, n->in[0]), b = scalar_dim(cx, n->in[1]),
	    c = scalar_dim(cx, n->in[2]);
	if (c && dim_is_const(cx, c, &step)) {
		zero_step = step == 0;
		if (a && b && step && step != INT64_MIN)
			d[0] = arange_length(cx, a, b, step);
	}
	if (!d[0] && !ints)
		d[0] = constant_arange_length(cx, n, &zero_step);
	if (zero_step) {
		error(cx, n->span, E_RAISES, "%s: the step is 0", n->op->name);
		return false;
	}
	if (!d[0])
		d[0] = dim_fresh(cx, SOURCE_SIZE, n->out[0], 0);
	return set_dims(n, 1, d);
}

/* --- results whose length depends on data --- */

bool sh_repeat(struct ctx *cx, struct node *n)
{
	const struct type *x = &n->in[0]->type;
	int axis = checked_axis(cx, n, "axis");
	if (axis < 0 || !want_rank(cx, n, 1, 1))
		return false;
	enum dtype given = (enum dtype)n->in[1]->type.dtype;
	if (!is_int(given) || given == DT_UINT64) { /* NumPy refuses uint64 */
		error(cx, n->span, E_DTYPE,
		      "%s: the repeats must be integers that int64 holds, got %s", n->op->name,
		      type_str(cx, n->in[1]->type));
		return false;
	}
	const struct known *k = known_of(cx, n->in[1]);
	dim count = n->in[1]->type.dims[0];
	/* a vector that has one element at run time is broadcast, as in NumPy */
	bool many = dim_ge(cx, count, 2) || dim_eq(cx, count, dim_const(cx, 0));
	if (many && !dim_unify(cx, count, x->dims[axis], n->span)) {
		error(cx, n->span, E_SHAPE, "%s: %s repeats for axis %d of %s", n->op->name,
		      type_str(cx, n->in[1]->type), axis, type_str(cx, *x));
		return false;
	}
	dim *d = copy_dims(cx, x), sum = dim_const(cx, 0);
	bool known = k && k->n > 1;
	for (uint32_t i = 0; known && i < k->n; i++) {
		known = dim_ge(cx, k->at[i], 0); /* a negative one fails, whatever the sum is */
		sum = dim_add(cx, sum, k->at[i]);
	}
	d[axis] = known ? sum : dim_fresh(cx, SOURCE_SIZE, n->out[0], (uint32_t)axis);
	return set_dims(n, x->rank, d);
}

/* The last axis becomes the diagonal of axes axis1 and axis2; others keep their order. */
bool sh_allocdiag(struct ctx *cx, struct node *n)
{
	const struct type *x = &n->in[0]->type;
	if (!x->rank)
		return want_rank(cx, n, 0, 1);
	int64_t k, axis1 = prop_int(cx, n, "axis1"), axis2 = prop_int(cx, n, "axis2");
	if (!diagonal_offset(cx, n, &k))
		return false;
	if (axis1 < 0 || axis1 >= axis2 || axis2 > x->rank) {
		error(cx, n->span, E_RANGE, "%s: the axes must be in order and below %u",
		      op_label(cx, n), x->rank + 1u);
		return false;
	}
	if (too_many_dims(cx, n, x->rank + 1u))
		return false;
	dim *d = new_dims(cx, x->rank + 1u);
	dim side = dim_add(cx, x->dims[x->rank - 1], dim_const(cx, k < 0 ? -k : k));
	for (uint32_t i = 0, from = 0; i <= x->rank; i++)
		d[i] = i == axis1 || i == axis2 ? side : x->dims[from++];
	return set_dims(n, x->rank + 1u, d);
}

uint32_t nr_nonzero(struct ctx *cx, struct node *n)
{
	if (n->in[0]->type.rank)
		return n->in[0]->type.rank;
	error(cx, n->span, E_RANK, "%s: a 0-d tensor has no axes", n->op->name);
	return 0;
}

/* For qsort(): all NaNs are equal, and last. */
static int compare_doubles(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	return (a > b) - (a < b);
}

/* The number of distinct elements of a constant, or of those that are not 0. -1: v is no constant,
 * is too large, or float64 does not hold it exactly */
static int64_t count_elements(struct ctx *cx, const struct value *v, bool distinct)
{
	const struct tensor *t = v->data;
	int64_t count = 0, k;

	if (!t || is_complex((enum dtype)t->dtype) || t->count > MAX_SCANNED)
		return -1;
	double *x = new_array(cx->scratch, double, t->count + 1);
	for (uint64_t i = 0; i < t->count; i++) {
		x[i] = tensor_float(t, i);
		if (is_int((enum dtype)t->dtype) && (!tensor_int(t, i, &k) || k != (int64_t)x[i]))
			return -1;
	}
	if (distinct)
		qsort(x, t->count, sizeof(*x), compare_doubles);
	for (uint64_t i = 0; i < t->count; i++)
		count += distinct ? !i || compare_doubles(&x[i - 1], &x[i]) != 0 : x[i] != 0;
	return count;
}

/* The length of an axis of v that depends on the data, in [least, most]. A length of 1 stays an
 * unknown: PyTensor does not know that it is 1, so it does not broadcast. */
static dim data_length(struct ctx *cx, struct value *v, uint32_t axis, int64_t least, int64_t most)
{
	if (least == most && least != 1)
		return dim_const(cx, least);
	dim d = dim_fresh(cx, SOURCE_SIZE, v, axis);
	dim_bound(cx, d, least, most);
	return d;
}

bool sh_nonzero(struct ctx *cx, struct node *n)
{
	dim *d = new_dims(cx, 1);
	int64_t k = count_elements(cx, n->in[0], false);
	d[0] = data_length(cx, n->out[0], 0, k < 0 ? 0 : k, k < 0 ? INT64_MAX : k);
	for (uint32_t i = 0; i < n->nout; i++)
		set_type(n, i, DT_INT64, 1, d);
	return true;
}

uint32_t nr_unique(struct ctx *cx, struct node *n)
{
	return 1u + prop_bool(cx, n, "return_index") + prop_bool(cx, n, "return_inverse") +
	       prop_bool(cx, n, "return_counts");
}

bool sh_unique(struct ctx *cx, struct node *n)
{
	const struct type *x = &n->in[0]->type;
	bool flat = prop_is_none(cx, n, "axis");
	int axis = flat ? 0 : checked_axis(cx, n, "axis");
	if (axis < 0)
		return false;
	uint32_t rank = flat ? 1 : x->rank, at = 1;
	dim *d = new_dims(cx, rank), *count = new_dims(cx, 1), *all = new_dims(cx, 1);
	all[0] = flat ? dim_const(cx, 1) : x->dims[axis];
	for (uint32_t i = 0; i < x->rank; i++) {
		if (flat)
			all[0] = dim_mul(cx, all[0], x->dims[i]);
		else
			d[i] = x->dims[i];
	}
	int64_t most = INT64_MAX, k = flat ? count_elements(cx, n->in[0], true) : -1;
	dim_is_const(cx, all[0], &most);
	count[0] = data_length(cx, n->out[0], (uint32_t)axis, k < 0 ? dim_ge(cx, all[0], 1) : k,
			       k < 0 ? most : k);
	if (dim_le(cx, all[0], 0))
		count[0] = all[0];
	d[axis] = count[0];
	set_dims(n, rank, d);
	if (prop_bool(cx, n, "return_index"))
		set_type(n, at++, DT_INT64, 1, count);
	if (prop_bool(cx, n, "return_inverse"))
		set_type(n, at++, DT_INT64, 1, all);
	if (prop_bool(cx, n, "return_counts"))
		set_type(n, at++, DT_INT64, 1, count);
	return true;
}

/* The third input, full_mode, is nearly always a constant. */
bool sh_convolve(struct ctx *cx, struct node *n)
{
	const struct type *a = &n->in[0]->type, *b = &n->in[1]->type;
	uint32_t rank = is_call(n, OP_Convolve1d) ? 1 : 2;
	int64_t full;
	if (!want_rank(cx, n, 0, rank) || !want_rank(cx, n, 1, rank) || !want_rank(cx, n, 2, 0))
		return false;
	dim mode = scalar_dim(cx, n->in[2]), one = dim_const(cx, 1);
	bool known = mode && dim_is_const(cx, mode, &full);
	dim *d = new_dims(cx, rank);
	for (uint32_t i = 0; i < rank; i++) {
		dim big = dim_max(cx, a->dims[i], b->dims[i]);
		dim small = dim_min(cx, a->dims[i], b->dims[i]);
		if (!known)
			d[i] = dim_fresh(cx, SOURCE_SIZE, n->out[0], i);
		else if (full)
			d[i] = dim_sub(cx, dim_add(cx, a->dims[i], b->dims[i]), one);
		else
			d[i] = dim_add(cx, dim_sub(cx, big, small), one);
	}
	return set_dims(n, rank, d);
}

/* --- Pad --- */

bool pad_width_at(const struct node *n, uint32_t axis, uint32_t side, int64_t *k)
{
	const struct tensor *t = n->in[1]->data;
	if (!t || !t->count || t->rank > 2)
		return false;
	uint64_t at = 0;
	if (!t->splat && t->rank && t->shape[t->rank - 1] > 1)
		at = side;
	if (!t->splat && t->rank == 2 && t->shape[0] > 1)
		at += axis * (uint64_t)t->shape[1];
	return at < t->count && tensor_int(t, at, k);
}

bool sh_pad(struct ctx *cx, struct node *n)
{
	const struct type *x = &n->in[0]->type, *w = &n->in[1]->type;
	int64_t before, after, k;
	if (!is_int((enum dtype)w->dtype) || w->rank > 2) {
		error(cx, n->span, E_DTYPE,
		      "%s: the widths must be integers of rank 2 at most, got %s", op_label(cx, n),
		      type_str(cx, *w));
		return false;
	}
	for (uint32_t i = 0; i < w->rank; i++) {
		int64_t want = i + 1 == w->rank ? 2 : x->rank;
		if (dim_is_const(cx, w->dims[i], &k) && k != 1 && k != want) {
			error(cx, n->span, E_SHAPE, "%s: widths %s do not fit %s", op_label(cx, n),
			      type_str(cx, *w), type_str(cx, *x));
			return false;
		}
	}
	dim *d = new_dims(cx, x->rank);
	for (uint32_t i = 0; i < x->rank; i++) {
		d[i] = dim_fresh(cx, SOURCE_SIZE, n->out[0], i);
		if (!pad_width_at(n, i, 0, &before) || !pad_width_at(n, i, 1, &after))
			continue;
		if (__builtin_add_overflow(before, after, &k)) {
			error(cx, n->span, E_RANGE, "%s: no array is as long as axis %u of %s gets",
			      op_label(cx, n), i, type_str(cx, *x));
			return false;
		}
		d[i] = dim_add(cx, x->dims[i], dim_const(cx, k));
	}
	return set_dims(n, x->rank, d);
}

/* --- Choose, UnravelIndex, RavelMultiIndex --- */

static bool want_ints(struct ctx *cx, struct node *n, uint32_t i)
{
	if (is_discrete((enum dtype)n->in[i]->type.dtype))
		return true;
	error(cx, n->span, E_DTYPE, "%s: argument %u must be integers, got %s", op_label(cx, n),
	      i + 1, type_str(cx, n->in[i]->type));
	return false;
}

#define MAX_CHOICES 63 /* NumPy broadcasts 64 arrays, of which one is the index */

enum dtype ty_choose(struct ctx *cx, struct node *n)
{
	uint32_t k = n->in[1] ? 1 : 2;

	for (uint32_t i = k + 1; i < n->nin; i++) {
		if (n->in[i]->type.dtype == n->in[k]->type.dtype)
			continue;
		error(cx, n->span, E_DTYPE, "%s: the choices must have one dtype, got %s and %s",
		      op_label(cx, n), type_str(cx, n->in[k]->type), type_str(cx, n->in[i]->type));
		return DT_NONE;
	}
	return (enum dtype)n->in[k]->type.dtype;
}

static bool check_choose_limits(struct ctx *cx, struct node *n, dim count)
{
	const char *why = n->in[0]->type.dtype == DT_UINT64    ? "indices of uint64"
			  : dim_ge(cx, count, MAX_CHOICES + 1) ? "more than 63 choices"
							       : NULL;

	if (why)
		error(cx, n->span, E_RAISES, "%s: NumPy refuses %s", op_label(cx, n), why);
	return !why;
}

/* Is each element of constant indices below the number of choices? */
static bool check_choice_indices(struct ctx *cx, const struct node *n, dim count)
{
	const struct tensor *t = n->in[0]->data;
	int64_t k;
	if (!t || t->count > MAX_SCANNED || strcmp(prop_str(cx, n, "mode"), "raise"))
		return true;
	for (uint64_t i = 0; i < t->count; i++) {
		if (!tensor_int(t, i, &k) || (k >= 0 && !dim_le(cx, count, k)))
			continue;
		error(cx, n->span, E_RANGE, "%s: there is no choice %lld among %s", op_label(cx, n),
		      (long long)k, n->in[1] ? type_str(cx, n->in[1]->type) : dim_str(cx, count));
		return false;
	}
	return true;
}

/* The length of axes a and b that NumPy broadcasts at run time, whatever their types say; DIM_NONE:
 * they do not broadcast */
static dim broadcast_choice_dim(struct ctx *cx, struct node *n, uint32_t axis, dim a, dim b)
{
	int64_t p = -1, q = -1;
	bool fixed = dim_is_const(cx, a, &p), other = dim_is_const(cx, b, &q);

	if (p == 1 || dim_eq(cx, a, b))
		return b;
	if (q == 1 || (fixed && !other))
		return a;
	if (fixed && other)
		return DIM_NONE;
	return other ? b : dim_fresh(cx, SOURCE_SIZE, n->out[0], axis);
}

/* Broadcasts d with the choices of input k: one choice of a list, or a tensor with a choice in each
 * row. */
static bool broadcast_choices(struct ctx *cx, struct node *n, uint32_t k, dim *d, uint32_t rank)
{
	const struct type *x = &n->in[k]->type;
	uint32_t row = n->in[1] != NULL, own = x->rank - row;

	if (own > rank) {
		error(cx, n->span, E_RANK,
		      "%s: PyTensor gives the result as many dims as the indices have, %u, and "
		      "choice %u is %s",
		      op_label(cx, n), rank, k - 2, type_str(cx, *x));
		return false;
	}
	for (uint32_t i = rank - own; i < rank; i++) {
		d[i] = broadcast_choice_dim(cx, n, i, d[i], x->dims[row + i + own - rank]);
		if (d[i])
			continue;
		error(cx, n->span, E_SHAPE, "%s: indices %s do not broadcast with choices of %s",
		      op_label(cx, n), type_str(cx, n->in[0]->type), type_str(cx, *x));
		return false;
	}
	return true;
}

bool sh_choose(struct ctx *cx, struct node *n)
{
	const struct type *a = &n->in[0]->type;
	bool list = !n->in[1];
	if (!want_ints(cx, n, 0))
		return false;
	if (!list && !n->in[1]->type.rank)
		return want_rank(cx, n, 1, 1);
	uint32_t own = list ? 0 : n->in[1]->type.rank - 1u, rank = a->rank > own ? a->rank : own;
	dim *d = new_dims(cx, rank), one = dim_const(cx, 1);
	for (uint32_t i = 0; i < rank; i++)
		d[i] = i + a->rank < rank ? one : a->dims[i + a->rank - rank];
	for (uint32_t k = list ? 2 : 1; k < n->nin; k++)
		if (!broadcast_choices(cx, n, k, d, rank))
			return false;
	dim count = list ? dim_const(cx, n->nin - 2) : n->in[1]->type.dims[0];
	return check_choose_limits(cx, n, count) && check_choice_indices(cx, n, count) &&
	       set_dims(n, rank, d);
}

uint32_t nr_unravelindex(struct ctx *cx, struct node *n)
{
	int64_t count;
	const struct type *t = &n->in[1]->type;
	if (t->rank == 1 && dim_is_const(cx, t->dims[0], &count) && count > 0 && count <= MAX_RANK)
		return (uint32_t)count;
	error(cx, n->span, E_SHAPE, "%s: the number of dims must be known, they are %s",
	      op_label(cx, n), type_str(cx, *t));
	return 0;
}

bool sh_unravelindex(struct ctx *cx, struct node *n)
{
	if (!want_ints(cx, n, 0) || !want_ints(cx, n, 1))
		return false;
	for (uint32_t i = 0; i < n->nout; i++)
		set_type(n, i, DT_INT64, n->in[0]->type.rank, n->in[0]->type.dims);
	return true;
}

bool sh_ravelmultiindex(struct ctx *cx, struct node *n)
{
	uint32_t count = n->nin - 1u, rank = 0;
	for (uint32_t i = 0; i < n->nin; i++) {
		if (!want_ints(cx, n, i))
			return false;
		if (i < count && n->in[i]->type.rank > rank)
			rank = n->in[i]->type.rank;
	}
	const struct type *t = &n->in[count]->type;
	if (!count || t->rank != 1 || !dim_unify(cx, t->dims[0], dim_const(cx, count), n->span)) {
		error(cx, n->span, E_SHAPE, "%s: %u index arrays, but the dims are %s",
		      op_label(cx, n), count, type_str(cx, *t));
		return false;
	}
	dim *d = new_dims(cx, rank);
	return broadcast_dims(cx, n, n->in, count, d, rank) && set_dims(n, rank, d);
}

/* --- Fourier transforms --- */

/* RFFTOp and IRFFTOp: the first axis is a batch, the second input has the lengths of the last axes.
 */
static bool set_fft_dims(struct ctx *cx, struct node *n, uint32_t rank, bool half)
{
	const struct type *x = &n->in[0]->type, *s = &n->in[1]->type;
	const struct known *k = known_of(cx, n->in[1]);
	int64_t axes;
	if (s->rank != 1 || !is_int((enum dtype)s->dtype) || !dim_is_const(cx, s->dims[0], &axes) ||
	    axes < 1 || axes >= rank) {
		error(cx, n->span, E_SHAPE,
		      "%s: the lengths must be a vector of integers, one for each axis, got %s",
		      n->op->name, type_str(cx, *s));
		return false;
	}
	dim *d = new_dims(cx, rank + 1), one = dim_const(cx, 1), two = dim_const(cx, 2);
	for (uint32_t i = 0; i < rank; i++) {
		uint32_t first = rank - (uint32_t)axes;
		dim length = i < first ? x->dims[i] : k ? k->at[i - first] : DIM_NONE;
		if (half && i == rank - 1 && length)
			length = dim_add(cx, dim_floordiv(cx, length, two), one);
		d[i] = length ? length : dim_fresh(cx, SOURCE_SIZE, n->out[0], i);
	}
	d[rank] = two;
	return set_dims(n, half ? rank + 1 : rank, d);
}

bool sh_rfft(struct ctx *cx, struct node *n)
{
	uint32_t rank = n->in[0]->type.rank;
	if (rank < 2)
		return want_rank(cx, n, 0, 2);
	return set_fft_dims(cx, n, rank, true);
}

/* Inputs a, n, axis. The axis must be a constant: the other axes keep their lengths. */
bool sh_fourier(struct ctx *cx, struct node *n)
{
	const struct type *a = &n->in[0]->type;
	const struct known *k = known_of(cx, n->in[1]), *at = known_of(cx, n->in[2]);
	int64_t axis = -1, length = 1;

	if (!a->rank)
		return want_rank(cx, n, 0, 1);
	if (!want_int_scalar(cx, n, 1, "n") || !want_int_scalar(cx, n, 2, "axis"))
		return false;
	if (n->in[1]->type.dtype == DT_BOOL) {
		error(cx, n->span, E_DTYPE, "%s: n must be a 0-d integer, got bool[]", n->op->name);
		return false;
	}
	if (!at || !at->at[0] || !dim_is_const(cx, at->at[0], &axis)) {
		error(cx, n->span, E_SHAPE, "%s: axis must be a constant", n->op->name);
		return false;
	}
	if (axis < 0 || axis >= a->rank) {
		error(cx, n->span, E_RANGE, "%s: axis %lld is out of range for %s", n->op->name,
		      (long long)axis, type_str(cx, *a));
		return false;
	}
	if (k && k->at[0] && dim_is_const(cx, k->at[0], &length) && length < 1) {
		error(cx, n->span, E_RANGE, "%s: n must be above 0, got %lld", n->op->name,
		      (long long)length);
		return false;
	}
	dim *d = copy_dims(cx, a);
	d[axis] = k && k->at[0] ? k->at[0] : dim_fresh(cx, SOURCE_SIZE, n->out[0], (uint32_t)axis);
	return set_dims(n, a->rank, d);
}

bool sh_irfft(struct ctx *cx, struct node *n)
{
	const struct type *x = &n->in[0]->type;
	if (x->rank < 3)
		return want_rank(cx, n, 0, 3);
	if (!dim_unify(cx, x->dims[x->rank - 1], dim_const(cx, 2), n->span)) {
		error(cx, n->span, E_SHAPE,
		      "%s: the last axis holds pairs (real, imaginary), got %s", n->op->name,
		      type_str(cx, *x));
		return false;
	}
	return set_fft_dims(cx, n, x->rank - 1u, false);
}
