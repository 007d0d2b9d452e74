/*
 * value.c: turns compile-time values into values of the graph. In: a struct cv and the dtype that
 * the context wants (DT_NONE: none). Out: a value with a type; NULL: an error was reported.
 * Literals are weak: x + 1 takes the dtype of x. So are sizes beside floats, and functions of
 * literals and sizes. A constructor, int8(1) or int64(n), fixes the dtype.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "elab/internal.h"

/* The smallest integer dtype that holds the literal, PyTensor's choice for a Python int. */
static enum dtype smallest_int(uint64_t magnitude, bool negative)
{
	static const enum dtype order[] = {DT_INT8, DT_INT16, DT_INT32, DT_INT64, DT_UINT64};

	for (size_t i = 0; i < countof(order); i++)
		if (dtype_holds_int(order[i], magnitude, negative))
			return order[i];
	return DT_NONE;
}

/* An integer literal is never a bool: 1 is not True. */
static bool dtype_fits_int(enum dtype t, uint64_t magnitude, bool negative)
{
	return t != DT_BOOL && t != DT_NONE && dtype_holds_int(t, magnitude, negative);
}

/* What a list holds: kinds of literals, the range of its integers, the common dtype of its values.
 */
struct list_scan {
	bool ints, floats, bools, complexes, sizes;
	enum dtype typed;
	uint64_t highest, lowest; /* magnitudes of the largest and of the most negative integer */
};

static void scan_int(struct list_scan *s, uint64_t magnitude, bool negative)
{
	s->ints = true;
	if (negative && magnitude > s->lowest)
		s->lowest = magnitude;
	if (!negative && magnitude >= s->highest)
		s->highest = magnitude;
}

static void scan_data(const struct adata *d, struct list_scan *s)
{
	for (uint32_t i = 0; i < d->count; i++) {
		const struct adatum *x = &d->at[i];
		if (x->kind == A_INT)
			scan_int(s, x->u.integer, x->flags & AF_NEGATIVE);
		else if (x->kind == A_FLOAT)
			s->floats = true;
		else
			s->bools = true;
	}
}

static void scan_typed(struct list_scan *s, enum dtype t)
{
	if (t)
		s->typed = s->typed ? dtype_upcast(s->typed, t) : t;
}

/* Lists nest at most MAX_RANK deep before they are refused, so this may recurse. */
static void scan_list(const struct cv *v, struct list_scan *s, int depth)
{
	if (depth > MAX_RANK)
		return;
	switch (v->kind) {
	case CV_DATA:
		scan_data(v->u.data, s);
		break;
	case CV_LIST:
		for (uint32_t i = 0; i < v->n; i++)
			scan_list(&v->u.items[i], s, depth + 1);
		break;
	case CV_INT:
		scan_int(s, v->u.i, v->neg);
		break;
	case CV_FLOAT:
		s->floats = true;
		break;
	case CV_BOOL:
		s->bools = true;
		break;
	case CV_COMPLEX:
		s->complexes = true;
		break;
	case CV_VALUE:
		if (!v->weak || v->u.v->type.dtype == DT_BOOL)
			scan_typed(s, v->u.v->type.dtype);
		else if (is_int(v->u.v->type.dtype))
			s->sizes = true;
		else
			s->floats = true;
		break;
	case CV_DIM:
		s->sizes = true;
		break;
	default:
		break;
	}
}

enum dtype list_values_dtype(const struct cv *v)
{
	struct list_scan s = {0};

	scan_list(v, &s, 0);
	return s.typed || !s.sizes ? s.typed : DT_INT64;
}

/* The dtype of a list with values: that of the values, if it holds the literals. */
static enum dtype typed_list_dtype(const struct list_scan *s)
{
	enum dtype t = s->typed;

	if (s->sizes && !is_float(t) && !is_complex(t))
		t = dtype_upcast(t, DT_INT64);
	if (s->ints && !dtype_fits_int(t, s->highest, false))
		t = dtype_upcast(t, smallest_int(s->highest, false));
	if (s->ints && !dtype_fits_int(t, s->lowest, true))
		t = dtype_upcast(t, smallest_int(s->lowest, true));
	if (s->floats && !is_float(t) && !is_complex(t))
		t = DT_FLOAT64;
	if (s->complexes && !is_complex(t))
		t = dtype_upcast(t, t == DT_FLOAT64 ? DT_COMPLEX128 : DT_COMPLEX64);
	return t;
}

static enum dtype list_dtype(struct elab *e, const struct cv *v, enum dtype other)
{
	struct list_scan s = {0};

	scan_list(v, &s, 0);
	if (s.sizes && !s.typed && !s.floats && !s.complexes) {
		if (is_float(other) || is_complex(other))
			return other;
		s.typed = DT_INT64;
	}
	if (s.typed)
		return typed_list_dtype(&s);
	if (s.complexes)
		return is_complex(other) ? other : DT_COMPLEX128;
	if (s.floats)
		return is_float(other) || is_complex(other) ? other : e->cx->floatx;
	if (s.bools && !s.ints)
		return DT_BOOL;
	if (dtype_fits_int(other, s.highest, false) && dtype_fits_int(other, s.lowest, true))
		return other;
	if (s.highest > INT64_MAX)
		return DT_UINT64;
	return s.ints || other == DT_NONE || is_int(other) ? DT_INT64 : other;
}

/* The dtype of a weak literal whose other operand has dtype `other`; DT_NONE: no other operand */
enum dtype weak_dtype(struct elab *e, const struct cv *v, enum dtype other)
{
	switch (v->kind) {
	case CV_INT:
		return dtype_fits_int(other, v->u.i, v->neg) ? other : smallest_int(v->u.i, v->neg);
	case CV_FLOAT:
		if (is_float(other) || is_complex(other))
			return other;
		return other == DT_NONE ? e->cx->floatx : e->cx->narrow ? DT_FLOAT32 : DT_FLOAT64;
	case CV_COMPLEX:
		if (is_complex(other))
			return other;
		return other == DT_FLOAT32 || other == DT_FLOAT16 ? DT_COMPLEX64 : DT_COMPLEX128;
	case CV_BOOL:
		return DT_BOOL;
	case CV_DIM:
		return is_float(other) || is_complex(other) ? other : DT_INT64;
	case CV_VALUE: /* a function of sizes */
		if (is_float(other) || is_complex(other) || v->u.v->type.dtype == DT_BOOL)
			return v->u.v->type.dtype == DT_BOOL ? DT_BOOL : other;
		if (!is_float(v->u.v->type.dtype))
			return v->u.v->type.dtype;
		return other == DT_NONE ? e->cx->floatx : e->cx->narrow ? DT_FLOAT32 : DT_FLOAT64;
	case CV_LIST:
	case CV_DATA:
		return list_dtype(e, v, other);
	default:
		return DT_NONE;
	}
}

static bool literal_error(struct elab *e, struct span s, enum dtype t, const char *what)
{
	elab_error(e, s, E_LITERAL, "the literal %s %s", what, dtypes[t].name);
	return false;
}

static bool put_int(struct elab *e, enum dtype t, void *dst, uint64_t magnitude, bool negative,
		    struct span s)
{
	int64_t v = (int64_t)(negative ? 0 - magnitude : magnitude);

	if (is_discrete(t)) {
		if (!dtype_holds_int(t, magnitude, negative))
			return literal_error(e, s, t, "does not fit");
		return tensor_convert(t, dst, DT_UINT64, &v, 1);
	}
	double d = negative ? -(double)magnitude : (double)magnitude;
	if (is_complex(t)) {
		if (t == DT_COMPLEX64)
			((float *)dst)[0] = (float)d;
		else
			((double *)dst)[0] = d;
		return true;
	}
	if (t == DT_FLOAT32) { /* one rounding, not two */
		float f = negative ? -(float)magnitude : (float)magnitude;
		memcpy(dst, &f, 4);
		return true;
	}
	if (t == DT_FLOAT16 && magnitude >= 65520)
		return literal_error(e, s, t, "does not fit");
	return tensor_convert(t, dst, DT_FLOAT64, &d, 1);
}

/* v is the double nearest to the text. If v is halfway between two float32 (or float16) numbers, or
 * is subnormal there, rounding v once more may differ from rounding the text: then the text is read
 * again. */
static double round_text(struct elab *e, enum dtype t, double v, struct span text, bool last)
{
	bool half = t == DT_FLOAT16;
	uint64_t bits, tie = UINT64_C(1) << (half ? 41 : 28);

	memcpy(&bits, &v, 8);
	if (((bits & (2 * tie - 1)) == tie || (v != 0 && fabs(v) < (half ? 0x1p-14 : 0x1p-126))) &&
	    text.end > text.begin)
		return literal_odd(e->cx, text, last, v);
	return v;
}

static bool put_float(struct elab *e, enum dtype t, void *dst, double v, struct span text)
{
	if (is_discrete(t))
		return literal_error(e, text, t, "is not a value of");
	if (t == DT_FLOAT64 || t == DT_COMPLEX128) {
		memcpy(dst, &v, 8);
		return true;
	}
	v = round_text(e, t, v, text, false);
	float f = (float)v;
	if (!isinf(v) && (t == DT_FLOAT16 ? fabs(v) >= 65520 : isinf(f)))
		return literal_error(e, text, t, "does not fit");
	if (t == DT_FLOAT16)
		return tensor_convert(t, dst, DT_FLOAT64, &v, 1);
	memcpy(dst, &f, 4);
	return true;
}

/* A typed constant in a list of another dtype, which must hold it exactly. */
static bool put_typed_constant(struct elab *e, const struct cv *v, enum dtype t, void *dst)
{
	const struct tensor *x = v->u.v->data;
	enum dtype from = x->dtype;
	double back;
	int64_t k = 0;

	if (!tensor_convert(t, dst, from, x->data, 1))
		return literal_error(e, v->span, t, "does not fit");
	if (!is_discrete(t))
		return true;
	if (is_float(from)) {
		tensor_convert(DT_FLOAT64, &back, t, dst, 1);
		return back == tensor_float(x, 0) || literal_error(e, v->span, t, "does not fit");
	}
	bool neg = tensor_int(x, 0, &k) && k < 0;
	tensor_convert(DT_UINT64, &k, from, x->data, 1);
	return dtype_holds_int(t, neg ? 0 - (uint64_t)k : (uint64_t)k, neg) ||
	       literal_error(e, v->span, t, "does not fit");
}

static void put_complex(struct elab *e, enum dtype t, void *dst, const struct cv *v)
{
	if (t == DT_COMPLEX64) {
		((float *)dst)[0] = (float)round_text(e, t, v->re, v->span, false);
		((float *)dst)[1] = (float)round_text(e, t, v->u.f, v->span, true);
	} else {
		((double *)dst)[0] = v->re;
		((double *)dst)[1] = v->u.f;
	}
}

static bool put_literal(struct elab *e, const struct cv *v, enum dtype t, void *dst)
{
	switch (v->kind) {
	case CV_INT:
		return put_int(e, t, dst, v->u.i, v->neg, v->span);
	case CV_FLOAT:
		return put_float(e, t, dst, v->u.f, v->span);
	case CV_BOOL: {
		uint8_t b = v->u.b;
		return tensor_convert(t, dst, DT_BOOL, &b, 1);
	}
	case CV_COMPLEX:
		if (!is_complex(t))
			return literal_error(e, v->span, t, "is complex, which does not fit");
		put_complex(e, t, dst, v);
		return true;
	case CV_DIM: {
		int64_t k;
		if (dim_is_const(e->cx, v->u.d, &k))
			return put_int(e, t, dst, k < 0 ? 0 - (uint64_t)k : (uint64_t)k, k < 0,
				       v->span);
		break;
	}
	case CV_VALUE: /* a typed constant inside a list */
		if (v->u.v->data && v->u.v->type.rank == 0 && !is_complex(v->u.v->type.dtype))
			return put_typed_constant(e, v, t, dst);
		if (!v->u.v->type.dtype)
			return false;
		break;
	case CV_SYM:
		return all_defined(e, v, 1);
	}
	elab_error(e, v->span, E_EXPRESSION, "expected a number but got %s", cv_kind_name(v));
	return false;
}

static bool put_datum(struct elab *e, const struct adatum *x, enum dtype t, void *dst)
{
	struct span s = {x->text, x->text + 1};
	uint8_t b = x->kind == A_TRUE;

	if (x->kind == A_INT)
		return put_int(e, t, dst, x->u.integer, x->flags & AF_NEGATIVE, s);
	if (x->kind == A_FLOAT)
		return put_float(e, t, dst, x->u.real, s);
	return tensor_convert(t, dst, DT_BOOL, &b, 1);
}

/* The shape of a nested list, by its first items; fill_list() checks the others. false: reported */
static bool list_shape(struct elab *e, const struct cv *v, int64_t *shape, int *rank)
{
	const struct cv *x = v;

	for (*rank = 0; x->kind == CV_LIST; x = &x->u.items[0]) {
		if (*rank == MAX_RANK) {
			elab_error(e, v->span, E_LIMIT, "a list nests deeper than %d", MAX_RANK);
			return false;
		}
		shape[(*rank)++] = x->n;
		if (!x->n)
			return true;
	}
	if (x->kind == CV_DATA) {
		if (*rank + (int)x->u.data->rank > MAX_RANK) {
			elab_error(e, v->span, E_LIMIT, "a list nests deeper than %d", MAX_RANK);
			return false;
		}
		for (uint32_t i = 0; i < x->u.data->rank; i++)
			shape[(*rank)++] = x->u.data->shape[i];
	}
	return true;
}

static bool report_ragged(struct elab *e, struct span s)
{
	elab_error(e, s, E_SHAPE, "the rows of a list have different lengths");
	return false;
}

static bool fill_data(struct elab *e, const struct cv *v, enum dtype t, char **dst,
		      const int64_t *shape, int rank)
{
	const struct adata *d = v->u.data;

	if ((int)d->rank != rank)
		return report_ragged(e, v->span);
	for (int i = 0; i < rank; i++)
		if (d->shape[i] != shape[i])
			return report_ragged(e, v->span);
	for (uint32_t i = 0; i < d->count; i++, *dst += dtypes[t].size)
		if (!put_datum(e, &d->at[i], t, *dst))
			return false;
	return true;
}

/* Recursion is bounded by MAX_RANK: list_shape() measured the depth first. */
static bool fill_list(struct elab *e, const struct cv *v, enum dtype t, char **dst,
		      const int64_t *shape, int rank)
{
	if (v->kind == CV_DATA)
		return fill_data(e, v, t, dst, shape, rank);
	if (v->kind != CV_LIST) {
		if (rank)
			return report_ragged(e, v->span);
		if (!put_literal(e, v, t, *dst))
			return false;
		*dst += dtypes[t].size;
		return true;
	}
	if (!rank || v->n != shape[0])
		return report_ragged(e, v->span);
	for (uint32_t i = 0; i < v->n; i++)
		if (!fill_list(e, &v->u.items[i], t, dst, shape + 1, rank - 1))
			return false;
	return true;
}

#define LONG_LIST 100

static struct tensor *literal_tensor(struct elab *e, const struct cv *v, enum dtype t)
{
	int64_t shape[MAX_RANK];
	int rank;
	const void *list = NULL; /* a const may be such a list, and be used often */

	if (e->file && e->file->module && v->kind == CV_DATA && v->u.data->count >= LONG_LIST)
		list = v->u.data;
	else if (e->file && e->file->module && v->kind == CV_LIST && v->leaves >= LONG_LIST)
		list = v->u.items;
	if (list && *array_of_list(e, list, t))
		return *array_of_list(e, list, t);
	if (!list_shape(e, v, shape, &rank))
		return NULL;
	if (dtypes[t].kind >= KIND_OTHER) {
		elab_error(e, v->span, E_DTYPE, "there are no literals of dtype %s%s",
			   dtypes[t].name,
			   t == DT_BFLOAT16 ? ": its constants are bfloat16[...](bytes(\"...\"))"
			   : t == DT_STRING ? " but string(\"a\") and string([\"a\", \"b\"])"
			   : is_rng(t)      ? ": write rng(42), with a seed"
					    : "");
		return NULL;
	}
	struct tensor *x = tensor_new(e->cx, t, rank, shape);
	char *data = arena_alloc(e->cx->arena,
				 mul_size(e->cx->arena, x->count ? x->count : 1, dtypes[t].size));
	x->data = data;
	if (!fill_list(e, v, t, &data, shape, rank))
		return NULL;
	if (list)
		*array_of_list(e, list, t) = x;
	return x;
}

struct value *constant_of(struct elab *e, const struct cv *v, enum dtype t, struct span s)
{
	struct tensor *x = literal_tensor(e, v, t);

	return x ? graph_constant(e->cx, x, node_span(e, s)) : NULL;
}

/* Row k of a list of numbers, which is a number or a list itself. */
struct cv data_row(struct elab *e, const struct adata *d, uint32_t k, struct span s)
{
	uint32_t size = d->shape[0] ? d->count / d->shape[0] : 0;
	struct adata *row = new (e->cx->arena, struct adata);

	if (d->rank == 1)
		return cv_of_datum(&d->at[k], (struct span){d->at[k].text, d->at[k].text + 1});
	*row = (struct adata){.rank = d->rank - 1,
			      .shape = d->shape + 1,
			      .count = size,
			      .at = d->at + (size_t)k * size};
	return (struct cv){.kind = CV_DATA, .span = s, .u.data = row};
}

struct value *dim_to_value(struct elab *e, dim d, struct span s)
{
	int64_t k;

	if (dim_is_const(e->cx, d, &k)) {
		struct cv v = cv_int(k, s);
		return constant_of(e, &v, DT_INT64, s);
	}
	struct cv *props = new (e->cx->arena, struct cv);
	*props = cv_dim(d, s);
	struct node *n = graph_node(e->cx, e->block, &op_dim, props, NULL, 0, node_span(e, s));
	return n->out[0];
}

/* A list with values becomes a vector of scalars. */
static struct value *make_vector(struct elab *e, const struct cv *v, enum dtype want)
{
	struct value **in = new_array(e->cx->arena, struct value *, v->n);
	enum dtype common = want ? want : list_dtype(e, v, DT_NONE);

	for (uint32_t i = 0; i < v->n; i++) {
		in[i] = to_value(e, &v->u.items[i], weak_dtype(e, &v->u.items[i], common));
		if (!in[i])
			return NULL;
		if (in[i]->type.dtype && in[i]->type.rank) {
			elab_error(e, v->u.items[i].span, E_RANK,
				   "a list of values takes scalars, but this is %s: write "
				   "Join{axis=0}(x, y), or Join{axis=0}(x[None], y[None]) for a "
				   "new axis",
				   type_str(e->cx, in[i]->type));
			return NULL;
		}
	}
	const struct op *op = op_named(e->cx, "MakeVector");
	struct cv *props = new (e->cx->arena, struct cv);
	props->kind = CV_DTYPE;
	props->u.dtype = common;
	struct node *n = graph_node(e->cx, e->block, op, props, in, v->n, node_span(e, v->span));
	warn_integers(e, n, v->span);
	return n->out[0];
}

static bool all_literal(const struct cv *v, int depth)
{
	if (v->kind == CV_LIST && depth <= MAX_RANK) {
		for (uint32_t i = 0; i < v->n; i++)
			if (!all_literal(&v->u.items[i], depth + 1))
				return false;
		return true;
	}
	return v->kind == CV_DATA || v->kind == CV_INT || v->kind == CV_FLOAT ||
	       v->kind == CV_BOOL || v->kind == CV_COMPLEX ||
	       (v->kind == CV_VALUE && v->u.v->data && !v->u.v->type.rank &&
		!is_complex(v->u.v->type.dtype));
}

/* Reports that v is no tensor; a string that a name stands for is reported once. */
void report_no_tensor(struct elab *e, const struct cv *v)
{
	const char *instead = v->kind == CV_TUPLE ? ": write a list, [...]"
			      : v->kind == CV_STR ? ": file(\"...\") is what a file holds"
						  : "";

	if (v->kind == CV_STR && !string_is_new(e, v->u.str))
		return;
	elab_error(e, v->span, E_EXPRESSION, "expected a tensor but got %s%s", cv_kind_name(v),
		   instead);
}

/* A size is int64, but for a float dtype that is wanted. */
static struct value *size_value(struct elab *e, const struct cv *v, enum dtype want)
{
	int64_t k;

	if (!is_float(want) && !is_complex(want))
		return dim_to_value(e, v->u.d, v->span);
	if (dim_is_const(e->cx, v->u.d, &k))
		return constant_of(e, v, want, v->span);
	return cast_value(e, dim_to_value(e, v->u.d, v->span), want, v->span);
}

/* A function of sizes: an integer is treated as a size, a float as a decimal is. */
static struct value *weak_value(struct elab *e, const struct cv *v, enum dtype want)
{
	enum dtype t = (enum dtype)v->u.v->type.dtype;

	if (t == DT_BOOL || !t)
		return v->u.v;
	if (!is_float(want) && !is_complex(want))
		want = want || !is_float(t) ? t : e->cx->floatx;
	return want == t ? v->u.v : cast_value(e, v->u.v, want, v->span);
}

struct value *to_value(struct elab *e, const struct cv *v, enum dtype want)
{
	switch (v->kind) {
	case CV_POISON:
		return NULL;
	case CV_VALUE:
		return v->weak ? weak_value(e, v, want) : v->u.v;
	case CV_INT:
	case CV_FLOAT:
	case CV_COMPLEX:
	case CV_BOOL:
	case CV_DATA: {
		enum dtype t = want ? want : weak_dtype(e, v, DT_NONE);
		if (!t) {
			elab_error(e, v->span, E_LITERAL, "no integer dtype holds this literal");
			return NULL;
		}
		return constant_of(e, v, t, v->span);
	}
	case CV_LIST:
		if (all_literal(v, 0))
			return constant_of(e, v, want ? want : weak_dtype(e, v, DT_NONE), v->span);
		return make_vector(e, v, want);
	case CV_DIM:
		return size_value(e, v, want);
	case CV_SYM:
		report_undefined(e, v);
		return NULL;
	case CV_MULTI:
		elab_error(e, v->span, E_ARITY,
			   "this gives %u results, but one is needed: a, b = ...", v->n);
		return NULL;
	default:
		report_no_tensor(e, v);
		return NULL;
	}
}
