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
	struct type t = type_in(f, 0);
	uint32_t a;

	const struct attr *axes = attr_of(f, "axes");

	if (has_attr(f, "axis") && !axis_in(f, int_attr(f, "axis"), t.rank, &a))
		return ONNX_ERROR;
	for (uint32_t i = 0; axes && i < axes->n; i++)
		if (!axis_in(f, axes->u.ints[i], t.rank, &a))
			return ONNX_ERROR;
	return out_like(f, 0, t);
}

/* an optional of a tensor is that tensor */
enum onnx_infer_result onnx_optional_element(struct infer *f)
{
	bind_result(f, 0, (enum dtype)type_in(f, 0).dtype);
	return out_like(f, 0, type_in(f, 0));
}

enum onnx_infer_result onnx_same_all(struct infer *f)
{
	enum onnx_infer_result r = ONNX_INFERRED;

	for (uint32_t i = 0; i < f->n->nout && r == ONNX_INFERRED; i++)
		r = out_like(f, i, type_in(f, 0));
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
		t[i] = type_in(f, i);
		if (t[i].rank > rank)
			rank = t[i].rank;
		same &= t[i].rank == t[0].rank && t[i].dims == t[0].dims;
	}
	if (same)
		return out_like(f, 0, t[0]);
	dim *d = dims_alloc(f, rank);
	return broadcast_types(f, t, f->n->nin, d, rank) ? out(f, 0, rank, d) : ONNX_ERROR;
}

/* PRelu: the slope broadcasts to x, not the other way round. */
enum onnx_infer_result onnx_first_broadcast(struct infer *f)
{
	if (!want_in_rank(f, 1, 0, type_in(f, 0).rank))
		return ONNX_ERROR;
	return out_like(f, 0, type_in(f, 0));
}

enum onnx_infer_result onnx_cast(struct infer *f)
{
	bind_result(f, 0, dtype_of_onnx(int_attr(f, "to")));
	return out_like(f, 0, type_in(f, 0));
}

enum onnx_infer_result onnx_bitcast(struct infer *f)
{
	enum dtype to = dtype_of_onnx(int_attr(f, "to"));
	struct type t = type_in(f, 0);

	if (to && dtypes[to].size != dtypes[t.dtype].size) {
		infer_error(f, E_DTYPE, "%s and %s have elements of different sizes",
			    type_str(f->cx, t), dtypes[to].name);
		return ONNX_ERROR;
	}
	bind_result(f, 0, to);
	return out_like(f, 0, t);
}

/* --- constants and fills --- */

enum onnx_infer_result onnx_shape(struct infer *f)
{
	int64_t rank = type_in(f, 0).rank, start = int_attr(f, "start");
	int64_t end = has_attr(f, "end") ? int_attr(f, "end") : rank;
	dim *d = dims_alloc(f, 1);

	start += start < 0 ? rank : 0;
	end += end < 0 ? rank : 0;
	start = start < 0 ? 0 : start > rank ? rank : start;
	end = end < 0 ? 0 : end > rank ? rank : end;
	d[0] = num(f, end > start ? end - start : 0);
	return out(f, 0, 1, d);
}

enum onnx_infer_result onnx_scalar(struct infer *f)
{
	return out(f, 0, 0, dims_alloc(f, 0));
}

static const struct tensor *tensor_of(struct infer *f, enum dtype t, int rank, int64_t n,
				      const void *data)
{
	struct tensor *r = tensor_new(f->cx, t, rank, &n);

	r->data = data;
	return r;
}

/* The tensor that Constant's one attribute says; NULL: a kind that ptgc lacks. */
static const struct tensor *constant_data(struct infer *f)
{
	const struct attr *a = f->n->nattrs == 1 ? &f->n->attrs[0] : NULL;

	if (!a)
		return NULL;
	switch (a->kind) {
	case AT_TENSOR:
		return a->u.t;
	case AT_INT:
		return tensor_of(f, DT_INT64, 0, 1, &a->u.i);
	case AT_FLOAT:
		return tensor_of(f, DT_FLOAT32, 0, 1, &a->u.f);
	case AT_INTS:
		return tensor_of(f, DT_INT64, 1, a->n, a->u.ints);
	case AT_FLOATS:
		return tensor_of(f, DT_FLOAT32, 1, a->n, a->u.floats);
	}
	return NULL;
}

enum onnx_infer_result onnx_constant(struct infer *f)
{
	const struct tensor *t = constant_data(f);

	if (f->n->nattrs != 1) {
		infer_error(f, E_PROPERTY, "expected one attribute but got %u", f->n->nattrs);
		return ONNX_ERROR;
	}
	if (!t)
		return ONNX_NO_RULE;
	bind_result(f, 0, (enum dtype)t->dtype);
	dim *d = dims_alloc(f, t->rank);
	for (uint32_t i = 0; i < t->rank; i++)
		d[i] = num(f, t->shape[i]);
	if (f->n->out[0])
		f->n->out[0]->data = t;
	return out(f, 0, t->rank, d);
}

/* The rank and dims that a vector input of sizes gives. false: not even the rank is known */
static bool sizes_in(struct infer *f, uint32_t i, uint32_t *rank, dim **dims)
{
	const struct known *k = known_in(f, i);
	int64_t n = const_count(f, i);

	if (n < 0 || n > MAX_RANK)
		return false;
	*rank = (uint32_t)n;
	*dims = dims_alloc(f, *rank);
	for (uint32_t a = 0; a < *rank; a++)
		(*dims)[a] = k && a < k->n ? k->at[a] : fresh(f, 0, a);
	return true;
}

static bool check_sizes(struct infer *f, uint32_t rank, const dim *dims)
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
	const struct attr *a = attr_of(f, "value");
	uint32_t rank;
	dim *d;

	if (!want_in_rank(f, 0, 1, 1))
		return ONNX_ERROR;
	bind_result(f, 0, a ? (enum dtype)a->u.t->dtype : DT_FLOAT32);
	if (!sizes_in(f, 0, &rank, &d))
		return ONNX_NO_RULE;
	return check_sizes(f, rank, d) ? out(f, 0, rank, d) : ONNX_ERROR;
}

/* max(ceil((stop - start) / step), 0) */
static dim steps(struct infer *f, dim start, dim stop, int64_t step)
{
	dim n = step > 0 ? dim_sub(f->cx, stop, start) : dim_sub(f->cx, start, stop);
	int64_t size = step > 0 ? step : -step;

	if (size > 1)
		n = dim_floordiv(f->cx, dim_add(f->cx, n, num(f, size - 1)), num(f, size));
	return dim_max(f->cx, n, num(f, 0));
}

static bool scalar_data(struct infer *f, uint32_t i, double *v)
{
	const struct value *x = f->n->in[i];

	if (!x->data || x->data->count != 1 || !is_float((enum dtype)x->data->dtype))
		return false;
	*v = tensor_float(x->data, 0);
	return true;
}

static dim range_size(struct infer *f)
{
	const struct known *start = known_in(f, 0), *stop = known_in(f, 1);
	int64_t step;
	double a, b, s;

	if (start && stop && const_in(f, 2, 0, &step) && step && step > INT64_MIN)
		return steps(f, start->at[0], stop->at[0], step);
	if (!scalar_data(f, 0, &a) || !scalar_data(f, 1, &b) || !scalar_data(f, 2, &s))
		return fresh(f, 0, 0);
	double n = ceil(
		(type_in(f, 0).dtype == DT_FLOAT64 ? b - a : (double)((float)b - (float)a)) / s);
	if (!(n < 0x1p53))
		return fresh(f, 0, 0);
	return num(f, n > 0 ? (int64_t)n : 0);
}

enum onnx_infer_result onnx_range(struct infer *f)
{
	int64_t step;
	dim *d = dims_alloc(f, 1);

	for (uint32_t i = 0; i < 3; i++)
		if (!want_in_rank(f, i, 0, 1))
			return ONNX_ERROR;
	if (const_in(f, 2, 0, &step) && step == 0) {
		infer_error(f, E_RANGE, "the step is 0");
		return ONNX_ERROR;
	}
	d[0] = range_size(f);
	return out(f, 0, 1, d);
}

enum onnx_infer_result onnx_eye_like(struct infer *f)
{
	struct type t = type_in(f, 0);

	if (!want_in_rank(f, 0, 2, 2))
		return ONNX_ERROR;
	bind_result(f, 0,
		    has_attr(f, "dtype") ? dtype_of_onnx(int_attr(f, "dtype"))
					 : (enum dtype)t.dtype);
	return out_like(f, 0, t);
}

enum onnx_infer_result onnx_random(struct infer *f)
{
	const struct attr *a = attr_of(f, "shape");
	uint32_t rank = a && a->kind == AT_INTS ? a->n : 0;

	if (rank > MAX_RANK)
		return ONNX_NO_RULE;
	dim *d = dims_alloc(f, rank);
	for (uint32_t i = 0; i < rank; i++)
		d[i] = num(f, a->u.ints[i]);
	bind_result(f, 0, dtype_of_onnx(int_attr(f, "dtype")));
	return check_sizes(f, rank, d) ? out(f, 0, rank, d) : ONNX_ERROR;
}

enum onnx_infer_result onnx_random_like(struct infer *f)
{
	struct type t = type_in(f, 0);

	bind_result(f, 0,
		    has_attr(f, "dtype") ? dtype_of_onnx(int_attr(f, "dtype"))
					 : (enum dtype)t.dtype);
	return out_like(f, 0, t);
}

enum onnx_infer_result onnx_multinomial(struct infer *f)
{
	if (!want_in_rank(f, 0, 2, 2))
		return ONNX_ERROR;
	dim *d = dims_copy(f, type_in(f, 0));
	d[1] = num(f, int_attr(f, "sample_size"));
	bind_result(f, 0, dtype_of_onnx(int_attr(f, "dtype")));
	return out(f, 0, 2, d);
}

/* --- reductions --- */

enum axes_given { AXES_NONE, AXES_KNOWN, AXES_UNKNOWN };

/* the axes that an attribute or input names. false: reported */
static bool axes_of(struct infer *f, const char *attr, uint32_t in, uint32_t rank,
		    enum axes_given *given, bool set[MAX_RANK])
{
	const struct attr *a = attr_of(f, attr);
	const struct known *k = known_in(f, in);
	uint32_t n = a ? a->n : k ? k->n : 0, axis;

	memset(set, 0, MAX_RANK * sizeof(*set));
	*given = a || k ? AXES_KNOWN : input(f, in) ? AXES_UNKNOWN : AXES_NONE;
	if (!a && const_count(f, in) == 0)
		*given = AXES_KNOWN;
	for (uint32_t i = 0; i < n; i++) {
		int64_t v;
		if (!a && !dim_is_const(f->cx, k->at[i], &v)) {
			*given = AXES_UNKNOWN;
			return true;
		}
		if (!axis_in(f, a ? a->u.ints[i] : v, rank, &axis))
			return false;
		if (set[axis]) {
			infer_error(f, E_RANGE, "axis %u is given twice", axis);
			return false;
		}
		set[axis] = true;
	}
	if (*given == AXES_KNOWN && n == 0)
		*given = AXES_NONE;
	return true;
}

/* The axes are inputs that are not known: the rank is, where dims stay or the axes can be counted.
 */
static enum onnx_infer_result reduce_unknown(struct infer *f, struct type t, bool keep)
{
	int64_t n = const_count(f, 1), one;
	uint32_t rank = keep ? t.rank : n > 0 && n <= t.rank ? t.rank - (uint32_t)n : 0;

	if (!keep && (n <= 0 || n > t.rank))
		return ONNX_NO_RULE;
	dim *d = dims_alloc(f, rank);
	for (uint32_t i = 0; i < rank; i++)
		d[i] = keep && dim_is_const(f->cx, t.dims[i], &one) && one == 1 ? t.dims[i]
										: fresh(f, 0, i);
	return out(f, 0, rank, d);
}

static enum onnx_infer_result reduced(struct infer *f, struct type t, const bool *set, bool all,
				      bool keep)
{
	dim *d = dims_alloc(f, t.rank);
	uint32_t rank = 0;

	for (uint32_t i = 0; i < t.rank; i++) {
		if (!all && !set[i])
			d[rank++] = t.dims[i];
		else if (keep)
			d[rank++] = num(f, 1);
	}
	return out(f, 0, rank, d);
}

enum onnx_infer_result onnx_reduce(struct infer *f)
{
	struct type t = type_in(f, 0);
	bool set[MAX_RANK], keep = int_attr(f, "keepdims");
	enum axes_given given;

	if (!axes_of(f, "axes", 1, t.rank, &given, set))
		return ONNX_ERROR;
	if (given == AXES_UNKNOWN)
		return reduce_unknown(f, t, keep);
	if (given == AXES_NONE && int_attr(f, "noop_with_empty_axes"))
		return out_like(f, 0, t);
	return reduced(f, t, set, given == AXES_NONE, keep);
}

enum onnx_infer_result onnx_arg(struct infer *f)
{
	struct type t = type_in(f, 0);
	bool set[MAX_RANK] = {false};
	uint32_t axis;

	if (!axis_in(f, int_attr(f, "axis"), t.rank, &axis))
		return ONNX_ERROR;
	set[axis] = true;
	return reduced(f, t, set, false, int_attr(f, "keepdims"));
}

enum onnx_infer_result onnx_top_k(struct infer *f)
{
	struct type t = type_in(f, 0);
	const struct known *k = known_in(f, 1);
	uint32_t axis;

	if (const_count(f, 1) >= 0 && const_count(f, 1) != 1) {
		infer_error(f, E_SHAPE, "K is one number, got %s", type_str(f->cx, type_in(f, 1)));
		return ONNX_ERROR;
	}
	if (!axis_in(f, int_attr(f, "axis"), t.rank, &axis))
		return ONNX_ERROR;
	dim *d = dims_copy(f, t);
	d[axis] = k && k->n == 1 ? k->at[0] : fresh(f, 0, axis);
	if (dim_ge(f->cx, dim_sub(f->cx, d[axis], t.dims[axis]), 1) || dim_le(f->cx, d[axis], -1)) {
		infer_error(f, E_RANGE, "axis %u of %s has no %s elements", axis,
			    type_str(f->cx, t), dim_str(f->cx, d[axis]));
		return ONNX_ERROR;
	}
	if (out(f, 0, t.rank, d) != ONNX_INFERRED)
		return ONNX_NO_RULE;
	return out(f, 1, t.rank, d);
}

/* --- the same elements in other dims --- */

static dim product(struct infer *f, const dim *d, uint32_t n)
{
	dim p = num(f, 1);

	for (uint32_t i = 0; i < n; i++)
		p = dim_mul(f->cx, p, d[i]);
	return p;
}

/*
 * What -1 stands for: the elements of the input by those of the other dims. Dims that are on both
 * sides cancel: were one of them 0, the run would fail.
 */
static bool fill_hole(struct infer *f, struct type t, dim *d, uint32_t rank, uint32_t hole)
{
	bool used[MAX_RANK] = {false};
	dim rest = num(f, 1), left = num(f, 1);
	int64_t a, b;

	for (uint32_t i = 0; i < rank; i++) {
		uint32_t j = 0;
		if (i == hole)
			continue;
		while (j < t.rank && (used[j] || !dim_eq(f->cx, t.dims[j], d[i])))
			j++;
		if (j < t.rank)
			used[j] = true;
		else
			rest = dim_mul(f->cx, rest, d[i]);
	}
	for (uint32_t j = 0; j < t.rank; j++)
		if (!used[j])
			left = dim_mul(f->cx, left, t.dims[j]);
	bool divisor = dim_is_const(f->cx, rest, &b);
	if ((divisor && b <= 0) || (divisor && dim_is_const(f->cx, left, &a) && a % b)) {
		infer_error(f, E_SHAPE, "%s does not divide into pieces of %s elements",
			    type_str(f->cx, t), dim_str(f->cx, rest));
		return false;
	}
	d[hole] = divisor && b == 1 ? left : dim_floordiv(f->cx, left, rest);
	return true;
}

static bool check_count(struct infer *f, struct type t, const dim *d, uint32_t rank)
{
	int64_t a, b;

	if (!dim_is_const(f->cx, product(f, d, rank), &b) ||
	    !dim_is_const(f->cx, product(f, t.dims, t.rank), &a) || a == b)
		return true;
	infer_error(f, E_SHAPE, "%s has %lld elements, the shape that is wanted %lld",
		    type_str(f->cx, t), (long long)a, (long long)b);
	return false;
}

/* Entry i of Reshape's shape. A 0 copies the input's dim, unless allowzero. */
static dim reshape_entry(struct infer *f, struct type t, dim want, uint32_t i, bool zero)
{
	int64_t v;

	if (dim_is_const(f->cx, want, &v) && v == 0 && !zero)
		return i < t.rank ? t.dims[i] : DIM_NONE;
	if (dim_ge(f->cx, want, 1) || (dim_ge(f->cx, want, 0) && zero) ||
	    (dim_ge(f->cx, want, 0) && i < t.rank && dim_eq(f->cx, want, t.dims[i])))
		return want;
	return fresh(f, 0, i);
}

enum onnx_infer_result onnx_reshape(struct infer *f)
{
	struct type t = type_in(f, 0);
	const struct known *k = known_in(f, 1);
	bool zero = int_attr(f, "allowzero");
	uint32_t rank, hole = UINT32_MAX;
	dim *d;

	if (!want_in_rank(f, 1, 1, 1))
		return ONNX_ERROR;
	if (!sizes_in(f, 1, &rank, &d))
		return ONNX_NO_RULE;
	for (uint32_t i = 0; k && i < rank; i++) {
		int64_t v;
		if (dim_is_const(f->cx, k->at[i], &v) && v == -1 && hole == UINT32_MAX) {
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
	if (hole != UINT32_MAX ? !fill_hole(f, t, d, rank, hole) : !check_count(f, t, d, rank))
		return ONNX_ERROR;
	return out(f, 0, rank, d);
}

enum onnx_infer_result onnx_flatten(struct infer *f)
{
	struct type t = type_in(f, 0);
	int64_t axis = int_attr(f, "axis");

	if (axis < -(int64_t)t.rank || axis > t.rank) {
		infer_error(f, E_RANGE, "axis %lld is out of range for %s", (long long)axis,
			    type_str(f->cx, t));
		return ONNX_ERROR;
	}
	uint32_t a = (uint32_t)(axis < 0 ? axis + t.rank : axis);
	dim *d = dims_alloc(f, 2);
	d[0] = product(f, t.dims, a);
	d[1] = product(f, t.dims + a, t.rank - a);
	return out(f, 0, 2, d);
}

enum onnx_infer_result onnx_transpose(struct infer *f)
{
	struct type t = type_in(f, 0);
	const struct attr *perm = attr_of(f, "perm");
	bool seen[MAX_RANK] = {false};
	dim *d = dims_alloc(f, t.rank);

	if (perm && perm->n != t.rank) {
		infer_error(f, E_RANK, "perm has %u entries but the input is %s", perm->n,
			    type_str(f->cx, t));
		return ONNX_ERROR;
	}
	for (uint32_t i = 0; i < t.rank; i++) {
		uint32_t a;
		if (!axis_in(f, perm ? perm->u.ints[i] : t.rank - 1 - (int64_t)i, t.rank, &a))
			return ONNX_ERROR;
		if (seen[a]) {
			infer_error(f, E_RANGE, "axis %u stands twice in perm", a);
			return ONNX_ERROR;
		}
		seen[a] = true;
		d[i] = t.dims[a];
	}
	return out(f, 0, t.rank, d);
}

enum onnx_infer_result onnx_squeeze(struct infer *f)
{
	struct type t = type_in(f, 0);
	bool set[MAX_RANK];
	enum axes_given given;
	dim *d = dims_alloc(f, t.rank);
	uint32_t rank = 0;
	int64_t v;

	if (!axes_of(f, "axes", 1, t.rank, &given, set))
		return ONNX_ERROR;
	int64_t count = const_count(f, 1);
	if (!count && input(f, 1)) {
		infer_error(f, E_ARITY,
			    "no axes are given: leave the input out for all of length 1");
		return ONNX_ERROR;
	}
	if (given == AXES_UNKNOWN) {
		if (count <= 0 || count > t.rank)
			return ONNX_NO_RULE;
		for (; rank < t.rank - (uint32_t)count; rank++)
			d[rank] = fresh(f, 0, rank);
		return out(f, 0, rank, d);
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
	return out(f, 0, rank, d);
}

enum onnx_infer_result onnx_unsqueeze(struct infer *f)
{
	struct type t = type_in(f, 0);
	bool set[MAX_RANK];
	enum axes_given given;
	int64_t count = const_count(f, 1);

	if (count < 0)
		return ONNX_NO_RULE;
	if (count > MAX_RANK - t.rank)
		return out(f, 0, MAX_RANK + 1, NULL);
	uint32_t rank = t.rank + (uint32_t)count;
	if (!axes_of(f, "axes", 1, rank, &given, set))
		return ONNX_ERROR;
	dim *d = dims_alloc(f, rank);
	for (uint32_t i = 0, j = 0; i < rank; i++)
		d[i] = given == AXES_UNKNOWN ? fresh(f, 0, i) : set[i] ? num(f, 1) : t.dims[j++];
	return out(f, 0, rank, d);
}

/* The dim of axis i that x gives, aligned on the right; 1 where x has no such axis. */
static dim aligned(struct infer *f, struct type t, uint32_t rank, uint32_t i)
{
	return i + t.rank < rank ? num(f, 1) : t.dims[i + t.rank - rank];
}

enum onnx_infer_result onnx_expand(struct infer *f)
{
	struct type t = type_in(f, 0), want = {.dtype = DT_INT64};
	const struct known *k = known_in(f, 1);
	int64_t n = const_count(f, 1), v;

	if (!want_in_rank(f, 1, 1, 1))
		return ONNX_ERROR;
	if (n < 0 || n > MAX_RANK)
		return ONNX_NO_RULE;
	want.rank = (uint8_t)n;
	want.dims = k ? (dim *)k->at : NULL;
	if (k && !check_sizes(f, want.rank, want.dims))
		return ONNX_ERROR;
	uint32_t rank = t.rank > want.rank ? t.rank : want.rank;
	dim *d = dims_alloc(f, rank);
	for (uint32_t i = 0; i < rank; i++) {
		dim x = aligned(f, t, rank, i);
		if (i + want.rank < rank || (!k && dim_is_const(f->cx, x, &v) && v != 1)) {
			d[i] = x;
		} else if (!k) {
			d[i] = fresh(f, 0, i);
		} else if (!broadcast_dim(f, x, aligned(f, want, rank, i), i, &d[i])) {
			infer_error(f, E_SHAPE, "%s does not broadcast to the shape %s",
				    type_str(f->cx, t), type_str(f->cx, want));
			return ONNX_ERROR;
		}
	}
	return out(f, 0, rank, d);
}

enum onnx_infer_result onnx_tile(struct infer *f)
{
	struct type t = type_in(f, 0);
	const struct known *k = known_in(f, 1);

	if (k && k->n != t.rank) {
		infer_error(f, E_RANK, "%u repeats for %s", k->n, type_str(f->cx, t));
		return ONNX_ERROR;
	}
	dim *d = dims_alloc(f, t.rank);
	for (uint32_t i = 0; i < t.rank; i++)
		d[i] = k ? dim_mul(f->cx, t.dims[i], k->at[i]) : fresh(f, 0, i);
	return check_sizes(f, t.rank, d) ? out(f, 0, t.rank, d) : ONNX_ERROR;
}

enum onnx_infer_result onnx_concat(struct infer *f)
{
	struct type t = type_in(f, 0);
	uint32_t axis;

	if (!axis_in(f, int_attr(f, "axis"), t.rank, &axis))
		return ONNX_ERROR;
	dim *d = dims_copy(f, t);
	for (uint32_t i = 1; i < f->n->nin; i++) {
		struct type o = type_in(f, i);
		bool fits = o.rank == t.rank;
		for (uint32_t a = 0; a < t.rank && fits; a++) {
			if (a == axis) {
				d[a] = dim_add(f->cx, d[a], o.dims[a]);
				continue;
			}
			fits = !dim_ne(f->cx, d[a], o.dims[a]);
			d[a] = pick(f, d[a], o.dims[a]);
		}
		if (fits)
			continue;
		infer_error(f, E_SHAPE, "%s and %s cannot be joined on axis %u", type_str(f->cx, t),
			    type_str(f->cx, o), axis);
		return ONNX_ERROR;
	}
	return out(f, 0, t.rank, d);
}

/* Piece i of n: of equal size before version 18; since then the last one takes what is left. */
static dim equal_piece(struct infer *f, dim whole, int64_t n, uint32_t i)
{
	bool even = f->op->since < 18;
	dim size =
		dim_floordiv(f->cx, even ? whole : dim_add(f->cx, whole, num(f, n - 1)), num(f, n));

	if (i + 1 < n || even)
		return size;
	return dim_sub(f->cx, whole, dim_mul(f->cx, size, num(f, n - 1)));
}

enum onnx_infer_result onnx_split(struct infer *f)
{
	struct type t = type_in(f, 0);
	const struct known *k = known_in(f, 1);
	int64_t n = has_attr(f, "num_outputs") ? int_attr(f, "num_outputs") : f->n->nout, whole;
	dim sum = num(f, 0);
	uint32_t axis;

	if (!axis_in(f, int_attr(f, "axis"), t.rank, &axis))
		return ONNX_ERROR;
	if (f->op->since >= 18 && !input(f, 1) == !has_attr(f, "num_outputs")) {
		infer_error(f, E_PROPERTY,
			    input(f, 1) ? "num_outputs beside the input 'split'"
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
			  : input(f, 1) ? fresh(f, i, axis)
					: equal_piece(f, t.dims[axis], n, i);
		if (!check_sizes(f, t.rank, d))
			return ONNX_ERROR;
		if (out(f, i, t.rank, d) != ONNX_INFERRED)
			return ONNX_NO_RULE;
	}
	return ONNX_INFERRED;
}
