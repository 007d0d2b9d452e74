/*
 * fold.c: results that are known while the model is made (-fno-fold). In: an operator and its
 * inputs, before a node is made. Out: the constant that the result is, or the input that it is
 * equal to. Must hold: the same bits as at run time. Integers wrap; what NumPy and the runtime may
 * round or trap differently (float16, division by 0, the smallest integer by -1) is left to the
 * run.
 */
#include <string.h>

#include "lower/build.h"

/* Elements of a result that are worked out here, at most. */
#define FOLD_LIMIT 64
/* Values of which something is made: more are not constants alone. */
#define MAX_SEEN 1000

struct scalar {
	uint64_t i; /* integers and bools, sign-extended */
	double f;
};

static bool is_constant(const struct value *v)
{
	return v && v->data && v->data->data && !is_weight(v);
}

static struct scalar element(const struct tensor *t, uint64_t at)
{
	struct scalar s = {0};
	int64_t i = 0;

	if (is_float((enum dtype)t->dtype))
		s.f = tensor_float(t, at);
	else if (t->dtype == DT_UINT64)
		memcpy(&s.i, (const char *)t->data + (t->splat ? 0 : 8 * at), 8);
	else if (tensor_int(t, at, &i))
		s.i = (uint64_t)i;
	return s;
}

/* Is every element that integer (which floats and bools have as well)? */
static bool is_all(const struct value *v, int64_t k)
{
	const struct tensor *t = is_constant(v) ? v->data : NULL;

	if (!t || !t->count || (!t->splat && t->count > FOLD_LIMIT))
		return false;
	for (uint64_t i = 0; i < (t->splat ? 1 : t->count); i++) {
		struct scalar s = element(t, i);
		if (is_float((enum dtype)t->dtype) ? s.f != (double)k || (!k && 1 / s.f < 0)
						   : s.i != (uint64_t)k)
			return false;
	}
	return true;
}

static bool divide(enum onnx_id op, bool is_signed, uint64_t a, uint64_t b, uint64_t *r)
{
	if (!b || (is_signed && b == UINT64_MAX))
		return false;
	if (!is_signed) {
		*r = op == ONNX_Div ? a / b : a % b;
		return true;
	}
	int64_t x = (int64_t)a, y = (int64_t)b, m = x % y;
	*r = (uint64_t)(op == ONNX_Div ? x / y : m && (m < 0) != (y < 0) ? m + y : m);
	return true;
}

static bool integers(enum onnx_id op, enum dtype t, uint64_t a, uint64_t b, uint64_t *r)
{
	switch (op) {
	case ONNX_Add:
		*r = a + b;
		return t != DT_BOOL;
	case ONNX_Sub:
		*r = a - b;
		return t != DT_BOOL;
	case ONNX_Mul:
		*r = a * b;
		return t != DT_BOOL;
	case ONNX_Div:
	case ONNX_Mod:
		return t != DT_BOOL && divide(op, dtypes[t].kind == KIND_INT, a, b, r);
	case ONNX_And:
		*r = a & b;
		return t == DT_BOOL;
	case ONNX_Or:
		*r = a | b;
		return t == DT_BOOL;
	default:
		return false;
	}
}

/* In double, which rounds sums, products and quotients of float32 twice without harm. */
static bool floats(enum onnx_id op, enum dtype t, double a, double b, double *r)
{
	*r = op == ONNX_Add ? a + b : op == ONNX_Sub ? a - b : op == ONNX_Mul ? a * b : a / b;
	return t != DT_FLOAT16 &&
	       (op == ONNX_Add || op == ONNX_Sub || op == ONNX_Mul || (op == ONNX_Div && b != 0));
}

static bool compares(enum onnx_id op)
{
	return op == ONNX_Equal || op == ONNX_Less || op == ONNX_LessOrEqual ||
	       op == ONNX_Greater || op == ONNX_GreaterOrEqual;
}

/* Is op worked out here on numbers? */
static bool calculates(enum onnx_id op)
{
	return op == ONNX_Add || op == ONNX_Sub || op == ONNX_Mul || op == ONNX_Div ||
	       op == ONNX_Mod || op == ONNX_And || op == ONNX_Or || compares(op);
}

/* -1, 0, 1; 2: NaN is in it */
static int order(enum dtype t, struct scalar a, struct scalar b)
{
	if (is_float(t))
		return a.f < b.f ? -1 : a.f > b.f ? 1 : a.f == b.f ? 0 : 2;
	if (dtypes[t].kind == KIND_INT)
		return (int64_t)a.i < (int64_t)b.i ? -1 : (int64_t)a.i > (int64_t)b.i;
	return a.i < b.i ? -1 : a.i > b.i;
}

static bool compare(enum onnx_id op, int order)
{
	return op == ONNX_Equal         ? order == 0
	       : op == ONNX_Less        ? order == -1
	       : op == ONNX_LessOrEqual ? order == -1 || order == 0
	       : op == ONNX_Greater     ? order == 1
					: order == 1 || order == 0;
}

/* The element that a and b of dtype t give, to `to` of the result's dtype */
static bool calculate(enum onnx_id op, enum dtype t, struct scalar a, struct scalar b, char *to)
{
	double f = 0;
	uint64_t i = 0;

	if (compares(op)) {
		*to = (char)compare(op, order(t, a, b));
		return true;
	}
	if (!is_float(t)) {
		bool ok = integers(op, t, a.i, b.i, &i);
		memcpy(to, &i, dtypes[t].size); /* little endian: the low bytes */
		return ok;
	}
	bool ok = floats(op, t, a.f, b.f, &f);
	float single = (float)f;
	memcpy(to, t == DT_FLOAT32 ? (void *)&single : (void *)&f, dtypes[t].size);
	return ok;
}

/* Two constants of equal dims, or one of them a single number. */
static struct value *constants(struct build *b, enum onnx_id op, struct value **in)
{
	const struct tensor *x = in[0]->data, *y = in[1]->data;
	bool same = x->rank == y->rank &&
		    (!x->rank || !memcmp(x->shape, y->shape, x->rank * sizeof(*x->shape)));
	bool one_y = y->count == 1 && y->rank <= x->rank;
	bool one_x = x->count == 1 && x->rank <= y->rank;
	const struct tensor *more = one_x ? y : x;
	enum dtype t = (enum dtype)x->dtype, to = compares(op) ? DT_BOOL : t;

	if (y->dtype != x->dtype || !(is_float(t) || is_discrete(t)) || !(same || one_x || one_y) ||
	    more->count > FOLD_LIMIT)
		return NULL;
	struct tensor *r = tensor_new(b->cx, to, more->rank, more->shape);
	char *data = arena_alloc(b->cx->arena, more->count * dtypes[to].size);
	for (uint64_t i = 0; i < more->count; i++)
		if (!calculate(op, t, element(x, x->count == 1 ? 0 : i),
			       element(y, y->count == 1 ? 0 : i), data + i * dtypes[to].size))
			return NULL;
	r->data = data;
	return const_tensor(b, r);
}

static bool is_number(const struct value *v, int64_t k, const struct value *beside)
{
	return is_constant(v) && v->data->count == 1 && v->type.rank <= beside->type.rank &&
	       is_all(v, k);
}

/* x + 0, x - 0, x * 1, x / 1, x and true, x or false. Of floats +0 is added to nothing: -0 changes.
 */
static struct value *neutral(enum onnx_id op, struct value **in)
{
	bool real = is_float((enum dtype)in[0]->type.dtype);
	int64_t k = op == ONNX_Mul || op == ONNX_Div || op == ONNX_And;

	if (compares(op) || op == ONNX_Mod || (real && op == ONNX_Add))
		return NULL;
	if (is_number(in[1], k, in[0]))
		return in[0];
	return op != ONNX_Sub && op != ONNX_Div && is_number(in[0], k, in[1]) ? in[1] : NULL;
}

/* Has x all axes that a broadcast beside y gives? */
static bool covers(struct build *b, const struct value *x, const struct value *y)
{
	uint32_t lead = x->type.rank - y->type.rank;
	int64_t one;

	if (x->type.rank < y->type.rank)
		return false;
	for (uint32_t i = 0; i < y->type.rank; i++) {
		dim d = y->type.dims[i];
		if (!(dim_is_const(b->cx, d, &one) && one == 1) &&
		    !dim_eq(b->cx, d, x->type.dims[lead + i]))
			return false;
	}
	return true;
}

/* A choice by a constant. */
static struct value *chosen(struct build *b, struct value **in)
{
	struct value *x = is_all(in[0], 1) ? in[1] : is_all(in[0], 0) ? in[2] : NULL;
	struct value *other = x == in[1] ? in[2] : in[1];

	return x && covers(b, x, in[0]) && covers(b, x, other) ? x : NULL;
}

/* A copy of t that may be written to; NULL: too large */
static char *copy_of(struct build *b, const struct tensor *t)
{
	size_t size = dtypes[t->dtype].size;

	if (t->count > FOLD_LIMIT)
		return NULL;
	char *to = arena_alloc(b->cx->arena, t->count * size + 1);
	for (uint64_t i = 0; i < t->count; i++)
		memcpy(to + i * size, (const char *)t->data + (t->splat ? 0 : i * size), size);
	return to;
}

static struct value *moved(struct build *b, const struct tensor *like, int rank,
			   const int64_t *shape, const char *data)
{
	struct tensor *r = tensor_new(b->cx, (enum dtype)like->dtype, rank, shape);

	r->data = data;
	return const_tensor(b, r);
}

/* Where index vector i of the constant `at` points to in t: the number of the first element, and
 * how many stand there. -1: out of range, which the run has to say */
static int64_t place(const struct tensor *t, const struct tensor *at, uint64_t i, uint64_t *len)
{
	int64_t depth = at->shape[at->rank - 1], k, first = 0;

	*len = 1;
	for (int64_t axis = 0; axis < t->rank; axis++) {
		first *= t->shape[axis];
		if (axis >= depth) {
			*len *= (uint64_t)t->shape[axis];
			continue;
		}
		uint64_t n = i * (uint64_t)depth + (uint64_t)axis;
		if (!tensor_int(at, at->splat ? 0 : n, &k) || k < -t->shape[axis] ||
		    k >= t->shape[axis])
			return -1;
		first += k < 0 ? k + t->shape[axis] : k;
	}
	return first;
}

/* data[at], or data with new elements there; NULL: it is left to the run */
static struct value *at_places(struct build *b, const struct tensor *data, const struct tensor *at,
			       const struct tensor *with)
{
	int64_t depth = at->rank ? at->shape[at->rank - 1] : 0, first;
	int rank = at->rank - 1 + data->rank - (int)depth;
	size_t size = dtypes[data->dtype].size;
	char *from = copy_of(b, with ? with : data), *to = with ? copy_of(b, data) : NULL;
	int64_t shape[MAX_RANK];
	uint64_t len, n;

	if (!from || (with && !to) || depth < 1 || depth > data->rank || rank > MAX_RANK)
		return NULL;
	n = at->count / (uint64_t)depth;
	if (n > FOLD_LIMIT)
		return NULL;
	for (int i = 0; i < at->rank - 1; i++)
		shape[i] = at->shape[i];
	for (int64_t i = depth; i < data->rank; i++)
		shape[at->rank - 1 + i - depth] = data->shape[i];
	for (uint64_t i = 0; i < n; i++) {
		if ((first = place(data, at, i, &len)) < 0 || n * len > FOLD_LIMIT ||
		    (with && with->count != n * len))
			return NULL;
		if (!with && !to)
			to = arena_alloc(b->cx->arena, n * len * size + 1);
		char *here = (with ? to + (uint64_t)first * size : to + i * len * size);
		memcpy(here, from + (with ? i * len : (uint64_t)first) * size, len * size);
	}
	if (!to)
		return NULL;
	return with ? moved(b, data, data->rank, data->shape, to) : moved(b, data, rank, shape, to);
}

/* A constant with borders of 0 */
static struct value *padded(struct build *b, const struct tensor *x, const struct tensor *pads)
{
	size_t size = dtypes[x->dtype].size;
	int64_t shape[MAX_RANK], before[MAX_RANK], after;
	char *from = copy_of(b, x), *to;
	uint64_t count = 1;

	if (!from || !x->rank || pads->count != 2u * x->rank)
		return NULL;
	for (uint32_t i = 0; i < x->rank; i++) {
		if (!tensor_int(pads, pads->splat ? 0 : i, &before[i]) ||
		    !tensor_int(pads, pads->splat ? 0 : x->rank + i, &after) || before[i] < 0 ||
		    after < 0 || before[i] > FOLD_LIMIT || after > FOLD_LIMIT)
			return NULL;
		shape[i] = before[i] + x->shape[i] + after;
		if (shape[i] > FOLD_LIMIT || (count *= (uint64_t)shape[i]) > FOLD_LIMIT)
			return NULL;
	}
	to = memset(arena_alloc(b->cx->arena, count * size + 1), 0, count * size);
	for (uint64_t i = 0; i < x->count; i++) {
		uint64_t at = 0, left = i, stride = 1;
		for (int axis = x->rank - 1; axis >= 0; axis--) {
			uint64_t n = (uint64_t)x->shape[axis];
			at += (left % n + (uint64_t)before[axis]) * stride;
			stride *= (uint64_t)shape[axis];
			left /= n;
		}
		memcpy(to + at * size, from + i * size, size);
	}
	return moved(b, x, x->rank, shape, to);
}

/* Indices as vectors of one */
static const struct tensor *columns(struct build *b, const struct tensor *at)
{
	int64_t shape[MAX_RANK + 1];

	for (int i = 0; i < at->rank; i++)
		shape[i] = at->shape[i];
	shape[at->rank] = 1;
	struct tensor *r = tensor_new(b->cx, (enum dtype)at->dtype, at->rank + 1, shape);
	r->data = at->data;
	r->splat = at->splat;
	return r;
}

/* One number as often as a shape says */
static struct value *repeated(struct build *b, const struct tensor *x, const struct tensor *shape)
{
	int64_t dims[MAX_RANK];
	uint64_t n = 1;

	if (x->count != 1 || shape->count < x->rank || shape->count > MAX_RANK)
		return NULL;
	for (uint32_t i = 0; i < shape->count; i++)
		if (!tensor_int(shape, shape->splat ? 0 : i, &dims[i]) || dims[i] < 0 ||
		    dims[i] > FOLD_LIMIT || (n *= (uint64_t)dims[i]) > FOLD_LIMIT)
			return NULL;
	struct tensor t = {.dtype = x->dtype, .count = n, .splat = true, .data = x->data};
	return moved(b, x, (int)shape->count, dims, copy_of(b, &t));
}

/* start, start + step ... as long as they are before stop */
static struct value *counted(struct build *b, struct value **in)
{
	enum dtype t = (enum dtype)in[0]->type.dtype;
	int64_t k[3], count = 0;

	for (int i = 0; i < 3; i++)
		if (in[i]->data->count != 1 || !tensor_int(in[i]->data, 0, &k[i]))
			return NULL;
	if (t != DT_INT64 || !k[2])
		return NULL;
	if (k[2] > 0 ? k[0] < k[1] : k[0] > k[1]) {
		bool up = k[2] > 0;
		uint64_t span =
			up ? (uint64_t)k[1] - (uint64_t)k[0] : (uint64_t)k[0] - (uint64_t)k[1];
		uint64_t step = up ? (uint64_t)k[2] : -(uint64_t)k[2];
		if ((span - 1) / step >= FOLD_LIMIT)
			return NULL;
		count = (int64_t)((span - 1) / step) + 1;
	}
	int64_t items[FOLD_LIMIT];
	for (int64_t i = 0; i < count; i++)
		items[i] = (int64_t)((uint64_t)k[0] + (uint64_t)i * (uint64_t)k[2]);
	return const_ints(b, items, (uint32_t)count);
}

/* Elements of constants that are put elsewhere or counted */
static struct value *placed(struct build *b, const struct onnx_op *op, struct value **in,
			    uint32_t nin)
{
	if (nin == 2 && op->id == ONNX_Gather)
		return at_places(b, in[0]->data, columns(b, in[1]->data), NULL);
	if (nin == 2 && op->id == ONNX_Expand)
		return repeated(b, in[0]->data, in[1]->data);
	if (nin == 2 && op->id == ONNX_GatherND)
		return at_places(b, in[0]->data, in[1]->data, NULL);
	if (nin == 3 && op->id == ONNX_Range)
		return counted(b, in);
	if (nin == 3 && op->id == ONNX_ScatterND)
		return at_places(b, in[0]->data, in[1]->data, in[2]->data);
	return nin == 2 && op->id == ONNX_Pad ? padded(b, in[0]->data, in[1]->data) : NULL;
}

/* x == x of integers or bools */
static struct value *itself(struct build *b, const struct value *x)
{
	int64_t shape[MAX_RANK], count = 1;

	for (uint32_t i = 0; i < x->type.rank; i++)
		if (!dim_is_const(b->cx, x->type.dims[i], &shape[i]) || shape[i] > FOLD_LIMIT ||
		    (count *= shape[i]) > FOLD_LIMIT)
			return NULL;
	struct tensor *t = tensor_new(b->cx, DT_BOOL, x->type.rank, shape);
	char *data = arena_alloc(b->cx->arena, (size_t)count + 1);
	memset(data, 1, (size_t)count);
	t->data = data;
	return const_tensor(b, t);
}

/* x or true, x and false: a constant that has all axes of x */
static struct value *decided(struct build *b, struct value **in, bool value)
{
	for (int i = 0; i < 2; i++)
		if (is_all(in[i], value) && covers(b, in[i], in[1 - i]))
			return in[i];
	return NULL;
}

/* The size that v is as a float64; DIM_NONE: it is none */
static dim size_of_float(struct build *b, const struct value *v)
{
	if (!is_onnx(v->def, ONNX_Cast) || v->type.dtype != DT_FLOAT64 || v->type.rank ||
	    v->def->in[0]->type.dtype != DT_INT64)
		return DIM_NONE;
	dim d = known_at(b, v->def->in[0], 0);
	return d && dim_is_size(b, d) && dim_ge(b->cx, d, 0) ? d : DIM_NONE;
}

/* The product of two sizes as float64, as a mean divides by: that of integers, which may be what
 * one node says; what memory holds is exact in both. */
static struct value *count(struct build *b, struct value **in)
{
	dim x = size_of_float(b, in[0]), y = size_of_float(b, in[1]);

	return x && y ? cast(b, dim_value(b, dim_mul(b->cx, x, y)), DT_FLOAT64) : NULL;
}

struct value *fold(struct build *b, const struct onnx_op *op, struct value **in, uint32_t nin)
{
	if (!b->cx->opt.fold || op->domain[0] || b->nattrs)
		return NULL;
	if (nin == 2 && op->id == ONNX_Mul && in[0] && in[1]) {
		struct value *product = count(b, in);
		if (product)
			return product;
	}
	if (nin == 3 && is_constant(in[0]) && op->id == ONNX_Where)
		return chosen(b, in);
	if (nin == 2 && in[0] == in[1] && op->id == ONNX_Equal &&
	    is_discrete((enum dtype)in[0]->type.dtype))
		return itself(b, in[0]);
	if (nin == 2 && in[0] && in[1] && (op->id == ONNX_And || op->id == ONNX_Or)) {
		struct value *sure = decided(b, in, op->id == ONNX_Or);
		if (sure)
			return sure;
	}
	bool all = nin > 1;
	for (uint32_t i = 0; i < nin; i++)
		all = all && is_constant(in[i]);
	struct value *there = all ? placed(b, op, in, nin) : NULL;
	if (there)
		return there;
	if (nin != 2 || !calculates(op->id) || !in[0] || !in[1])
		return NULL;
	struct value *r =
		is_constant(in[0]) && is_constant(in[1]) ? constants(b, op->id, in) : NULL;
	return r ? r : neutral(op->id, in);
}

bool says_shape(const struct node *n, uint32_t k)
{
	return k < 8 && onnx_facts[n->onnx->id].shapes >> k & 1;
}

/* Does what n computes have a size that its inputs' data decide, and are these not known? */
static bool is_open(const struct node *n)
{
	if (onnx_facts[n->onnx->id].counts)
		return true;
	for (uint32_t k = 0; k < n->nin; k++)
		if (says_shape(n, k) && n->in[k] && !n->in[k]->data)
			return true;
	return false;
}

/* Of what it computes when it loads the model ONNX Runtime takes no Reshape that must fail. */
bool from_constants(struct build *b, struct value *v, bool *open)
{
	vec(struct value *) todo = {0};

	*open = false;
	*vec_push(b->cx->scratch, &todo) = v;
	for (uint32_t seen = 0; todo.len; seen++) {
		v = todo.at[--todo.len];
		if (v->data)
			continue;
		if (!v->def || !onnx_is_pure(v->def->onnx) || seen > MAX_SEEN)
			return false;
		*open |= is_open(v->def);
		for (uint32_t i = 0; i < v->def->nin; i++)
			if (v->def->in[i])
				*vec_push(b->cx->scratch, &todo) = v->def->in[i];
	}
	return true;
}
