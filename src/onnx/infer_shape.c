/*
 * infer_shape.c: rules of ONNX inference: elementwise operators, casts, constants, reductions,
 * and operators that arrange dims anew. In and out: see internal.h.
 */
#include <math.h>
#include <string.h>

#include "onnx/internal.h"

/* --- elementwise --- */

enum onnx_infer_result onnx_same(struct infer *f)
{
	struct type t = input_type(f, 0);
	uint32_t a;

	const struct attr *axes = find_attr(f->n, "axes");

	if (find_attr(f->n, "axis") && !resolve_axis(f, int_attr(f, "axis"), t.rank, &a))
		return ONNX_ERROR;
	for (uint32_t i = 0; axes && i < axes->n; i++)
		if (!resolve_axis(f, axes->u.ints[i], t.rank, &a))
			return ONNX_ERROR;
	return set_result_like(f, 0, t);
}

/* The language has no optionals: a tensor stands for an optional of that tensor. */
enum onnx_infer_result onnx_optional_element(struct infer *f)
{
	bind_result_dtype(f, 0, (enum dtype)input_type(f, 0).dtype);
	return set_result_like(f, 0, input_type(f, 0));
}

enum onnx_infer_result onnx_same_all(struct infer *f)
{
	enum onnx_infer_result r = ONNX_INFERRED;

	for (uint32_t i = 0; i < f->n->nout && r == ONNX_INFERRED; i++)
		r = set_result_like(f, i, input_type(f, 0));
	return r;
}

enum onnx_infer_result onnx_broadcast(struct infer *f)
{
	struct type few[4], *t = few;
	uint32_t rank = 0;
	bool same = true;

	if (f->n->nin > countof(few))
		t = new_array(f->cx->arena, struct type, f->n->nin);

	for (uint32_t i = 0; i < f->n->nin; i++) {
		t[i] = input_type(f, i);
		if (t[i].rank > rank)
			rank = t[i].rank;
		same &= t[i].rank == t[0].rank && t[i].dims == t[0].dims;
	}
	if (same)
		return set_result_like(f, 0, t[0]);
	dim *d = dims_alloc(f, rank);
	return broadcast_types(f, t, f->n->nin, d, rank) ? set_result(f, 0, rank, d) : ONNX_ERROR;
}

/* PRelu: the slope broadcasts to x, not the other way round. */
enum onnx_infer_result onnx_first_broadcast(struct infer *f)
{
	if (!check_input_rank(f, 1, 0, input_type(f, 0).rank))
		return ONNX_ERROR;
	return set_result_like(f, 0, input_type(f, 0));
}

enum onnx_infer_result onnx_cast(struct infer *f)
{
	bind_result_dtype(f, 0, dtype_of_onnx(int_attr(f, "to")));
	return set_result_like(f, 0, input_type(f, 0));
}

enum onnx_infer_result onnx_bitcast(struct infer *f)
{
	enum dtype to = dtype_of_onnx(int_attr(f, "to"));
	struct type t = input_type(f, 0);

	if (to && dtypes[to].size != dtypes[t.dtype].size) {
		infer_error(f, E_DTYPE, "%s and %s have elements of different sizes",
			    type_str(f->cx, t), dtypes[to].name);
		return ONNX_ERROR;
	}
	bind_result_dtype(f, 0, to);
	return set_result_like(f, 0, t);
}

/* --- constants and fills --- */

enum onnx_infer_result onnx_shape(struct infer *f)
{
	int64_t rank = input_type(f, 0).rank, start = int_attr(f, "start");
	int64_t end = find_attr(f->n, "end") ? int_attr(f, "end") : rank;
	dim *d = dims_alloc(f, 1);

	start = from_front(start, rank);
	end = from_front(end, rank);
	start = start < 0 ? 0 : start > rank ? rank : start;
	end = end < 0 ? 0 : end > rank ? rank : end;
	d[0] = const_dim(f, end > start ? end - start : 0);
	return set_result(f, 0, 1, d);
}

enum onnx_infer_result onnx_scalar(struct infer *f)
{
	return set_result(f, 0, 0, dims_alloc(f, 0));
}

static const struct tensor *new_tensor(struct infer *f, enum dtype t, int rank, int64_t n,
				       const void *data)
{
	struct tensor *r = tensor_new(f->cx, t, rank, &n);

	r->data = data;
	return r;
}

/* The tensor of the only attribute of Constant; NULL: an attribute of strings, which are no data
 * here. */
static const struct tensor *attribute_tensor(struct infer *f)
{
	const struct attr *a = f->n->nattrs == 1 ? &f->n->attrs[0] : NULL;

	if (!a)
		return NULL;
	switch (a->kind) {
	case AT_TENSOR:
		return a->u.t;
	case AT_INT:
		return new_tensor(f, DT_INT64, 0, 1, &a->u.i);
	case AT_FLOAT:
		return new_tensor(f, DT_FLOAT32, 0, 1, &a->u.f);
	case AT_INTS:
		return new_tensor(f, DT_INT64, 1, a->n, a->u.ints);
	case AT_FLOATS:
		return new_tensor(f, DT_FLOAT32, 1, a->n, a->u.floats);
	}
	return NULL;
}

enum onnx_infer_result onnx_constant(struct infer *f)
{
	const struct tensor *t = attribute_tensor(f);

	if (f->n->nattrs != 1) {
		infer_error(f, E_PROPERTY, "expected one attribute but got %u", f->n->nattrs);
		return ONNX_ERROR;
	}
	if (!t) {
		const struct attr *a = &f->n->attrs[0];
		dim *n = dims_alloc(f, 1);
		bind_result_dtype(f, 0, DT_STRING);
		n[0] = const_dim(f, a->n);
		return set_result(f, 0, a->kind == AT_STRS, n);
	}
	bind_result_dtype(f, 0, (enum dtype)t->dtype);
	dim *d = dims_alloc(f, t->rank);
	for (uint32_t i = 0; i < t->rank; i++)
		d[i] = const_dim(f, t->shape[i]);
	if (f->n->out[0])
		f->n->out[0]->data = t;
	return set_result(f, 0, t->rank, d);
}

/* Reads rank and dims from input i, a vector of sizes. false: the rank is not known */
static bool read_sizes(struct infer *f, uint32_t i, uint32_t *rank, dim **dims)
{
	const struct known *k = input_known(f, i);
	int64_t n = input_count(f, i);

	if (n < 0 || n > MAX_RANK)
		return false;
	*rank = (uint32_t)n;
	*dims = dims_alloc(f, *rank);
	for (uint32_t a = 0; a < *rank; a++)
		(*dims)[a] = k && a < k->n ? k->at[a] : unknown_dim(f, 0, a);
	return true;
}

static bool check_not_negative(struct infer *f, uint32_t rank, const dim *dims)
{
	for (uint32_t a = 0; a < rank; a++) {
		if (dim_le(f->cx, dims[a], -1)) {
			infer_error(f, E_SHAPE, "size %s is negative", dim_str(f->cx, dims[a]));
			return false;
		}
	}
	return true;
}

enum onnx_infer_result onnx_constant_of_shape(struct infer *f)
{
	const struct attr *a = find_attr(f->n, "value");
	uint32_t rank;
	dim *d;

	if (!check_input_rank(f, 0, 1, 1))
		return ONNX_ERROR;
	if (a && a->u.t->count != 1) {
		infer_error(f, E_PROPERTY, "value has %llu elements, not 1",
			    (unsigned long long)a->u.t->count);
		return ONNX_ERROR;
	}
	bind_result_dtype(f, 0, a ? (enum dtype)a->u.t->dtype : DT_FLOAT32);
	if (!read_sizes(f, 0, &rank, &d))
		return ONNX_NO_RULE;
	return check_not_negative(f, rank, d) ? set_result(f, 0, rank, d) : ONNX_ERROR;
}

static bool input_float(struct infer *f, uint32_t i, double *v)
{
	const struct value *x = f->n->in[i];

	if (!x->data || x->data->count != 1 || !is_float((enum dtype)x->data->dtype))
		return false;
	*v = tensor_float(x->data, 0);
	return true;
}

/*
 * The size of a range of known floats. ONNX does not say in which dtype they are counted: ONNX
 * Runtime does it in float32 up to 1.28 and in float64 since, and ONNX's own inference in float64.
 */
static bool float_range_size(struct infer *f, double start, double stop, double step, dim *d)
{
	/* assigned, as C may compute with floats as with doubles */
	float single = (float)stop - (float)start;
	double n = ceil((stop - start) / step), other = ceil(single / step);

	if (!(fabs(n) < 0x1p53)) { /* or NaN */
		infer_error(f, E_RANGE, "from %.9g to %.9g by %.9g there is no number of items",
			    start, stop, step);
		return false;
	}
	if (input_type(f, 0).dtype != DT_FLOAT64 && n != other) {
		infer_error(f, E_RANGE,
			    "from %.9g to %.9g by %.9g there are %.0f items counted in float64 and "
			    "%.0f in float32, and runtimes differ",
			    start, stop, step, n > 0 ? n : 0, other > 0 ? other : 0);
		return false;
	}
	*d = const_dim(f, n > 0 ? (int64_t)n : 0);
	return true;
}

static bool range_size(struct infer *f, dim *d)
{
	const struct known *start = input_known(f, 0), *stop = input_known(f, 1);
	int64_t step;
	double a, b, s;

	if (input_float(f, 0, &a) && input_float(f, 1, &b) && input_float(f, 2, &s))
		return float_range_size(f, a, b, s, d);
	if (start && stop && input_const(f, 2, 0, &step) && step && step > INT64_MIN)
		*d = count_steps(f, start->at[0], stop->at[0], step);
	else
		*d = unknown_dim(f, 0, 0);
	return true;
}

enum onnx_infer_result onnx_range(struct infer *f)
{
	int64_t step;
	dim *d = dims_alloc(f, 1);

	for (uint32_t i = 0; i < 3; i++)
		if (!check_input_rank(f, i, 0, 1))
			return ONNX_ERROR;
	if (input_const(f, 2, 0, &step) && step == 0) {
		infer_error(f, E_RANGE, "the step is 0");
		return ONNX_ERROR;
	}
	return range_size(f, d) ? set_result(f, 0, 1, d) : ONNX_ERROR;
}

enum onnx_infer_result onnx_eye_like(struct infer *f)
{
	struct type t = input_type(f, 0);

	if (!check_input_rank(f, 0, 2, 2))
		return ONNX_ERROR;
	enum dtype made = find_attr(f->n, "dtype") ? dtype_of_onnx(int_attr(f, "dtype"))
						   : (enum dtype)t.dtype;
	return choose_result_dtype(f, 0, made, "dtype") ? set_result_like(f, 0, t) : ONNX_ERROR;
}

enum onnx_infer_result onnx_random(struct infer *f)
{
	const struct attr *a = find_attr(f->n, "shape");
	uint32_t rank = a && a->kind == AT_INTS ? a->n : 0;

	if (rank > MAX_RANK)
		return ONNX_NO_RULE;
	dim *d = dims_alloc(f, rank);
	for (uint32_t i = 0; i < rank; i++)
		d[i] = const_dim(f, a->u.ints[i]);
	return choose_result_dtype(f, 0, dtype_of_onnx(int_attr(f, "dtype")), "dtype") &&
			       check_not_negative(f, rank, d)
		       ? set_result(f, 0, rank, d)
		       : ONNX_ERROR;
}

enum onnx_infer_result onnx_random_like(struct infer *f)
{
	struct type t = input_type(f, 0);

	enum dtype made = find_attr(f->n, "dtype") ? dtype_of_onnx(int_attr(f, "dtype"))
						   : (enum dtype)t.dtype;
	return choose_result_dtype(f, 0, made, "dtype") ? set_result_like(f, 0, t) : ONNX_ERROR;
}

enum onnx_infer_result onnx_multinomial(struct infer *f)
{
	if (!check_input_rank(f, 0, 2, 2))
		return ONNX_ERROR;
	dim *d = dims_copy(f, input_type(f, 0));
	d[1] = const_dim(f, int_attr(f, "sample_size"));
	return choose_result_dtype(f, 0, dtype_of_onnx(int_attr(f, "dtype")), "dtype")
		       ? set_result(f, 0, 2, d)
		       : ONNX_ERROR;
}

/* --- reductions --- */

enum axes_given { AXES_NONE, AXES_KNOWN, AXES_UNKNOWN };

/* Reads axes from the attribute `attr`, or else from input `in`: set[axis]. false: reported */
static bool read_axes(struct infer *f, const char *attr, uint32_t in, uint32_t rank,
		      enum axes_given *given, bool set[MAX_RANK])
{
	const struct attr *a = find_attr(f->n, attr);
	const struct known *k = input_known(f, in);
	uint32_t n = a ? a->n : k ? k->n : 0, axis;

	memset(set, 0, MAX_RANK * sizeof(*set));
	*given = a || k ? AXES_KNOWN : input(f, in) ? AXES_UNKNOWN : AXES_NONE;
	if (!a && input_count(f, in) == 0)
		*given = AXES_KNOWN;
	for (uint32_t i = 0; i < n; i++) {
		int64_t v;
		if (!a && !dim_is_const(f->cx, k->at[i], &v)) {
			*given = AXES_UNKNOWN;
			return true;
		}
		if (!resolve_new_axis(f, a ? a->u.ints[i] : v, rank, set, &axis))
			return false;
	}
	if (*given == AXES_KNOWN && n == 0)
		*given = AXES_NONE;
	return true;
}

/* The axes are an input that is not known. The rank of the result is known if keepdims is set, or
 * if the number of axes is known. */
static enum onnx_infer_result reduce_unknown_axes(struct infer *f, struct type t, bool keep)
{
	int64_t n = input_count(f, 1);
	uint32_t rank = keep ? t.rank : n > 0 && n <= t.rank ? t.rank - (uint32_t)n : 0;

	if (!keep && (n <= 0 || n > t.rank))
		return ONNX_NO_RULE;
	dim *d = dims_alloc(f, rank);
	for (uint32_t i = 0; i < rank; i++)
		d[i] = keep && dim_is(f->cx, t.dims[i], 1) ? t.dims[i] : unknown_dim(f, 0, i);
	return set_result(f, 0, rank, d);
}

static enum onnx_infer_result reduce_axes(struct infer *f, struct type t, const bool *set, bool all,
					  bool keep)
{
	dim *d = dims_alloc(f, t.rank);
	uint32_t rank = 0;

	for (uint32_t i = 0; i < t.rank; i++) {
		if (!all && !set[i])
			d[rank++] = t.dims[i];
		else if (keep)
			d[rank++] = const_dim(f, 1);
	}
	return set_result(f, 0, rank, d);
}

enum onnx_infer_result onnx_reduce(struct infer *f)
{
	struct type t = input_type(f, 0);
	bool set[MAX_RANK], keep = int_attr(f, "keepdims");
	enum axes_given given;

	if (!read_axes(f, "axes", 1, t.rank, &given, set))
		return ONNX_ERROR;
	if (given == AXES_UNKNOWN)
		return reduce_unknown_axes(f, t, keep);
	if (given == AXES_NONE && int_attr(f, "noop_with_empty_axes"))
		return set_result_like(f, 0, t);
	return reduce_axes(f, t, set, given == AXES_NONE, keep);
}

enum onnx_infer_result onnx_arg(struct infer *f)
{
	struct type t = input_type(f, 0);
	bool set[MAX_RANK] = {false};
	uint32_t axis;

	if (!resolve_axis(f, int_attr(f, "axis"), t.rank, &axis))
		return ONNX_ERROR;
	set[axis] = true;
	return reduce_axes(f, t, set, false, int_attr(f, "keepdims"));
}

enum onnx_infer_result onnx_top_k(struct infer *f)
{
	struct type t = input_type(f, 0);
	const struct known *k = input_known(f, 1);
	uint32_t axis;

	if (input_count(f, 1) >= 0 && input_count(f, 1) != 1) {
		infer_error(f, E_SHAPE, "K is one number, got %s",
			    type_str(f->cx, input_type(f, 1)));
		return ONNX_ERROR;
	}
	if (!resolve_axis(f, int_attr(f, "axis"), t.rank, &axis))
		return ONNX_ERROR;
	dim *d = dims_copy(f, t);
	d[axis] = k && k->n == 1 ? k->at[0] : unknown_dim(f, 0, axis);
	if (dim_ge(f->cx, dim_sub(f->cx, d[axis], t.dims[axis]), 1) || dim_le(f->cx, d[axis], -1)) {
		infer_error(f, E_RANGE, "axis %u of %s has no %s elements", axis,
			    type_str(f->cx, t), dim_str(f->cx, d[axis]));
		return ONNX_ERROR;
	}
	if (set_result(f, 0, t.rank, d) != ONNX_INFERRED)
		return ONNX_NO_RULE;
	return set_result(f, 1, t.rank, d);
}

/* --- the same elements in other dims --- */

/* Infers the length that -1 stands for in Reshape, d[hole]. */
static bool infer_minus_one(struct infer *f, struct type t, dim *d, uint32_t rank, uint32_t hole)
{
	d[hole] = dims_missing(f->cx, t.dims, t.rank, d, rank, hole);
	if (d[hole])
		return true;
	d[hole] = const_dim(f, 1);
	infer_error(f, E_SHAPE, "%s does not divide into pieces of %s elements", type_str(f->cx, t),
		    dim_str(f->cx, dims_product(f->cx, d, rank)));
	return false;
}

static bool check_element_count(struct infer *f, struct type t, const dim *d, uint32_t rank)
{
	int64_t a, b;

	if (!dim_is_const(f->cx, dims_product(f->cx, d, rank), &b) ||
	    !dim_is_const(f->cx, dims_product(f->cx, t.dims, t.rank), &a) || a == b)
		return true;
	infer_error(f, E_SHAPE, "%s has %lld elements, the shape that is wanted %lld",
		    type_str(f->cx, t), (long long)a, (long long)b);
	return false;
}

/* The length of axis i if entry i of Reshape's shape is `want`. A 0 copies the length of axis i of
 * the input, unless allowzero is set. DIM_NONE: the input has no such axis */
static dim reshape_entry(struct infer *f, struct type t, dim want, uint32_t i, bool zero)
{
	if (dim_is(f->cx, want, 0) && !zero)
		return i < t.rank ? t.dims[i] : DIM_NONE;
	if (dim_ge(f->cx, want, 1) || (dim_ge(f->cx, want, 0) && zero) ||
	    (dim_ge(f->cx, want, 0) && i < t.rank && dim_eq(f->cx, want, t.dims[i])))
		return want;
	return unknown_dim(f, 0, i);
}

enum onnx_infer_result onnx_reshape(struct infer *f)
{
	struct type t = input_type(f, 0);
	const struct known *k = input_known(f, 1);
	bool zero = int_attr(f, "allowzero");
	uint32_t rank, hole = UINT32_MAX;
	dim *d;

	if (!check_input_rank(f, 1, 1, 1))
		return ONNX_ERROR;
	if (!read_sizes(f, 1, &rank, &d))
		return ONNX_NO_RULE;
	for (uint32_t i = 0; k && i < rank; i++) {
		if (dim_is(f->cx, k->at[i], -1) && hole == UINT32_MAX) {
			hole = i;
			continue;
		}
		d[i] = dim_le(f->cx, k->at[i], -1) ? DIM_NONE
						   : reshape_entry(f, t, k->at[i], i, zero);
		if (d[i])
			continue;
		infer_error(f, E_SHAPE, "entry %u of the shape is %s, which %s", i,
			    dim_str(f->cx, k->at[i]), i < t.rank ? "is no size" : "copies no dim");
		return ONNX_ERROR;
	}
	if (hole != UINT32_MAX ? !infer_minus_one(f, t, d, rank, hole)
			       : !check_element_count(f, t, d, rank))
		return ONNX_ERROR;
	return set_result(f, 0, rank, d);
}

enum onnx_infer_result onnx_flatten(struct infer *f)
{
	struct type t = input_type(f, 0);
	int64_t axis = int_attr(f, "axis");

	if (axis < -(int64_t)t.rank || axis > t.rank) {
		infer_error(f, E_RANGE, "axis %lld is out of range for %s", (long long)axis,
			    type_str(f->cx, t));
		return ONNX_ERROR;
	}
	uint32_t a = (uint32_t)from_front(axis, t.rank);
	dim *d = dims_alloc(f, 2);
	d[0] = dims_product(f->cx, t.dims, a);
	d[1] = dims_product(f->cx, t.dims + a, t.rank - a);
	return set_result(f, 0, 2, d);
}

enum onnx_infer_result onnx_transpose(struct infer *f)
{
	struct type t = input_type(f, 0);
	const struct attr *perm = find_attr(f->n, "perm");
	bool seen[MAX_RANK] = {false};
	dim *d = dims_alloc(f, t.rank);

	if (perm && perm->n != t.rank) {
		infer_error(f, E_RANK, "perm has %u entries but the input is %s", perm->n,
			    type_str(f->cx, t));
		return ONNX_ERROR;
	}
	for (uint32_t i = 0; i < t.rank; i++) {
		uint32_t a = onnx_perm(f->n, i);
		if (a >= t.rank) {
			infer_error(f, E_RANGE, "perm has %lld, but the axes of %s are 0 to %u",
				    (long long)perm->u.ints[i], type_str(f->cx, t), t.rank - 1u);
			return ONNX_ERROR;
		}
		if (seen[a]) {
			infer_error(f, E_RANGE, "axis %u is given twice in perm", a);
			return ONNX_ERROR;
		}
		seen[a] = true;
		d[i] = t.dims[a];
	}
	return set_result(f, 0, t.rank, d);
}

enum onnx_infer_result onnx_squeeze(struct infer *f)
{
	struct type t = input_type(f, 0);
	bool set[MAX_RANK];
	enum axes_given given;
	dim *d = dims_alloc(f, t.rank);
	uint32_t rank = 0;
	int64_t v;

	if (!read_axes(f, "axes", 1, t.rank, &given, set))
		return ONNX_ERROR;
	int64_t count = input_count(f, 1);
	if (!count && input(f, 1)) {
		infer_error(f, E_ARITY,
			    "no axes are given: leave the input out for all of length 1");
		return ONNX_ERROR;
	}
	if (given == AXES_UNKNOWN) {
		if (count <= 0 || count > t.rank)
			return ONNX_NO_RULE;
		for (; rank < t.rank - (uint32_t)count; rank++)
			d[rank] = unknown_dim(f, 0, rank);
		return set_result(f, 0, rank, d);
	}
	for (uint32_t i = 0; i < t.rank; i++) {
		bool fixed = dim_is_const(f->cx, t.dims[i], &v);
		if (given == AXES_NONE && !fixed)
			return ONNX_NO_RULE;
		if (set[i] && fixed && v != 1) {
			infer_error(f, E_SHAPE, "axis %u of %s is not 1", i, type_str(f->cx, t));
			return ONNX_ERROR;
		}
		if (given == AXES_NONE ? v != 1 : !set[i])
			d[rank++] = t.dims[i];
	}
	return set_result(f, 0, rank, d);
}

enum onnx_infer_result onnx_unsqueeze(struct infer *f)
{
	struct type t = input_type(f, 0);
	bool set[MAX_RANK];
	enum axes_given given;
	int64_t count = input_count(f, 1);

	if (count < 0)
		return ONNX_NO_RULE;
	if (count > MAX_RANK - t.rank)
		return set_result(f, 0, MAX_RANK + 1, NULL);
	uint32_t rank = t.rank + (uint32_t)count;
	if (!read_axes(f, "axes", 1, rank, &given, set))
		return ONNX_ERROR;
	dim *d = dims_alloc(f, rank);
	for (uint32_t i = 0, j = 0; i < rank; i++)
		d[i] = given == AXES_UNKNOWN ? unknown_dim(f, 0, i)
		       : set[i]              ? const_dim(f, 1)
					     : t.dims[j++];
	return set_result(f, 0, rank, d);
}

/* Axis i of t broadcast to `rank`: 1 if t has no such axis. */
static dim broadcast_axis(struct infer *f, struct type t, uint32_t rank, uint32_t i)
{
	return i + t.rank < rank ? const_dim(f, 1) : t.dims[i + t.rank - rank];
}

enum onnx_infer_result onnx_expand(struct infer *f)
{
	struct type t = input_type(f, 0), want = {.dtype = DT_INT64};
	const struct known *k = input_known(f, 1);
	int64_t n = input_count(f, 1), v;

	if (!check_input_rank(f, 1, 1, 1))
		return ONNX_ERROR;
	if (n < 0 || n > MAX_RANK)
		return ONNX_NO_RULE;
	want.rank = (uint8_t)n;
	want.dims = k ? (dim *)k->at : NULL;
	if (k && !check_not_negative(f, want.rank, want.dims))
		return ONNX_ERROR;
	uint32_t rank = t.rank > want.rank ? t.rank : want.rank;
	dim *d = dims_alloc(f, rank);
	for (uint32_t i = 0; i < rank; i++) {
		dim x = broadcast_axis(f, t, rank, i);
		if (i + want.rank < rank || (!k && dim_is_const(f->cx, x, &v) && v != 1)) {
			d[i] = x;
		} else if (!k) {
			d[i] = unknown_dim(f, 0, i);
		} else if (!broadcast_dim(f, x, broadcast_axis(f, want, rank, i), i, &d[i])) {
			infer_error(f, E_SHAPE, "%s does not broadcast to the shape %s",
				    type_str(f->cx, t), type_str(f->cx, want));
			return ONNX_ERROR;
		}
	}
	return set_result(f, 0, rank, d);
}

/* As many words as the second input says, of each generator */
enum onnx_infer_result onnx_words(struct infer *f)
{
	struct type t = input_type(f, 0);
	const struct known *n = input_known(f, 1);
	dim *d = dims_copy(f, t);

	d[t.rank - 1u] = n && n->at[0] != DIM_NONE ? n->at[0] : unknown_dim(f, 0, t.rank - 1u);
	return check_not_negative(f, t.rank, d) ? set_result(f, 0, t.rank, d) : ONNX_ERROR;
}

enum onnx_infer_result onnx_tile(struct infer *f)
{
	struct type t = input_type(f, 0);
	const struct known *k = input_known(f, 1);

	if (k && k->n != t.rank) {
		infer_error(f, E_RANK, "%u repeats for %s", k->n, type_str(f->cx, t));
		return ONNX_ERROR;
	}
	dim *d = dims_alloc(f, t.rank);
	for (uint32_t i = 0; i < t.rank; i++)
		d[i] = k ? dim_mul(f->cx, t.dims[i], k->at[i]) : unknown_dim(f, 0, i);
	return check_not_negative(f, t.rank, d) ? set_result(f, 0, t.rank, d) : ONNX_ERROR;
}

enum onnx_infer_result onnx_concat(struct infer *f)
{
	struct type t = input_type(f, 0);
	uint32_t axis;

	if (!resolve_axis(f, int_attr(f, "axis"), t.rank, &axis))
		return ONNX_ERROR;
	dim *d = dims_copy(f, t);
	for (uint32_t i = 1; i < f->n->nin; i++) {
		struct type o = input_type(f, i);
		bool fits = o.rank == t.rank;
		for (uint32_t a = 0; a < t.rank && fits; a++) {
			if (a == axis) {
				d[a] = dim_add(f->cx, d[a], o.dims[a]);
				continue;
			}
			fits = !dim_ne(f->cx, d[a], o.dims[a]);
			d[a] = prefer_const(f, d[a], o.dims[a]);
		}
		if (fits)
			continue;
		infer_error(f, E_SHAPE, "%s and %s cannot be joined on axis %u", type_str(f->cx, t),
			    type_str(f->cx, o), axis);
		return ONNX_ERROR;
	}
	return set_result(f, 0, t.rank, d);
}

/* The length of piece i of n. Since version 18 of Split, the last piece may be shorter. */
static dim split_piece(struct infer *f, dim whole, int64_t n, uint32_t i)
{
	bool even = f->op->since < 18;
	dim size = dim_over(f->cx, even ? whole : dim_plus(f->cx, whole, n - 1), n);

	if (i + 1 < n || even)
		return size;
	return dim_sub(f->cx, whole, dim_mul(f->cx, size, const_dim(f, n - 1)));
}

enum onnx_infer_result onnx_split(struct infer *f)
{
	struct type t = input_type(f, 0);
	const struct known *k = input_known(f, 1);
	int64_t n = find_attr(f->n, "num_outputs") ? int_attr(f, "num_outputs") : f->n->nout, whole;
	dim sum = const_dim(f, 0);
	uint32_t axis;

	if (!resolve_axis(f, int_attr(f, "axis"), t.rank, &axis))
		return ONNX_ERROR;
	if (f->op->since >= 18 && !input(f, 1) == !find_attr(f->n, "num_outputs")) {
		infer_error(f, E_PROPERTY,
			    input(f, 1) ? "it has both num_outputs and the input 'split'"
					: "it needs num_outputs or the input 'split'");
		return ONNX_ERROR;
	}
	for (uint32_t i = 0; k && i < k->n; i++)
		sum = dim_add(f->cx, sum, k->at[i]);
	if (k && dim_ne(f->cx, sum, t.dims[axis])) {
		infer_error(f, E_SHAPE, "pieces of %s together for axis %u of %s",
			    dim_str(f->cx, sum), axis, type_str(f->cx, t));
		return ONNX_ERROR;
	}
	if (!n || f->n->nout != n || (k && k->n != n)) {
		infer_error(f, E_ARITY, "%u results of %lld pieces", f->n->nout,
			    (long long)(k ? k->n : n));
		return ONNX_ERROR;
	}
	if (!input(f, 1) && f->op->since < 18 && dim_is_const(f->cx, t.dims[axis], &whole) &&
	    whole % n) {
		infer_error(f, E_SHAPE, "axis %u of %s does not divide into %lld pieces", axis,
			    type_str(f->cx, t), (long long)n);
		return ONNX_ERROR;
	}
	for (uint32_t i = 0; i < f->n->nout; i++) {
		dim *d = dims_copy(f, t);
		d[axis] = k             ? k->at[i]
			  : input(f, 1) ? unknown_dim(f, i, axis)
					: split_piece(f, t.dims[axis], n, i);
		if (!check_not_negative(f, t.rank, d))
			return ONNX_ERROR;
		if (set_result(f, i, t.rank, d) != ONNX_INFERRED)
			return ONNX_NO_RULE;
	}
	return ONNX_INFERRED;
}
