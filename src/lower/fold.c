/*
 * fold.c: constant folding (-fno-fold turns it off). In: an operator and its inputs, before a node
 * is made. Out: a constant that is the result, or the input that the result equals. Must hold: the
 * result has the same bits as at run time. Integers wrap. What NumPy and a runtime may round or
 * trap differently is not folded: float16, division by 0, the smallest integer by -1.
 */
#include <math.h>
#include <string.h>

#include "lower/build.h"

#define MAX_FOLDED 256 /* elements of a result that is folded, at most */
#define MANY_SEEN  64  /* from so many values on from_constants() notes which ones it has seen */

struct scalar {
	uint64_t i; /* of integers and bools; signed ones are sign-extended */
	double f;   /* of floats */
};

static struct scalar element(const struct tensor *t, uint64_t at)
{
	struct scalar s = {0};
	int64_t i = 0;

	if (is_float((enum dtype)t->dtype))
		s.f = tensor_float(t, at);
	else if (t->dtype == DT_UINT64)
		memcpy(&s.i, tensor_element(t, at), 8);
	else if (tensor_int(t, at, &i))
		s.i = (uint64_t)i;
	return s;
}

static bool divide_ints(enum onnx_id op, bool is_signed, uint64_t a, uint64_t b, uint64_t *r)
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

/* a to the power of b, where these and all products on the way are integers of at most `bits` bits:
 * then who computes it at run time finds this number, too */
static bool exact_power(double a, double b, int bits, double *r)
{
	double most = (double)(UINT64_C(1) << bits);

	if (a != floor(a) || b != floor(b) || !a || b < 0 || b > bits || fabs(a) > most)
		return false;
	for (*r = 1; b > 0 && fabs(*r) < most; b--)
		*r *= a;
	return fabs(*r) < most;
}

static bool integer_power(enum dtype t, uint64_t a, uint64_t b, uint64_t *r)
{
	bool is_signed = dtypes[t].kind == KIND_INT;
	int bits = dtypes[t].size * 8 - is_signed;
	double x = is_signed ? (double)(int64_t)a : (double)a,
	       y = is_signed ? (double)(int64_t)b : (double)b, power;

	if (t == DT_BOOL || !exact_power(x, y, bits < 53 ? bits : 53, &power))
		return false;
	*r = (uint64_t)(int64_t)power;
	return true;
}

static bool compute_integer(enum onnx_id op, enum dtype t, uint64_t a, uint64_t b, uint64_t *r)
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
		return t != DT_BOOL && divide_ints(op, dtypes[t].kind == KIND_INT, a, b, r);
	case ONNX_Pow:
		return integer_power(t, a, b, r);
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

/* Computes in double. A double has more than twice the bits of a float32, so rounding a sum,
 * product or quotient of float32 to double first and then to float32 gives the float32 nearest to
 * it. */
static bool compute_float(enum onnx_id op, enum dtype t, double a, double b, double *r)
{
	if (op == ONNX_Pow)
		return t != DT_FLOAT16 && exact_power(a, b, t == DT_FLOAT32 ? 24 : 53, r);
	*r = op == ONNX_Add ? a + b : op == ONNX_Sub ? a - b : op == ONNX_Mul ? a * b : a / b;
	return t != DT_FLOAT16 &&
	       (op == ONNX_Add || op == ONNX_Sub || op == ONNX_Mul || (op == ONNX_Div && b != 0));
}

static bool is_comparison(enum onnx_id op)
{
	return op == ONNX_Equal || op == ONNX_Less || op == ONNX_LessOrEqual ||
	       op == ONNX_Greater || op == ONNX_GreaterOrEqual;
}

static bool is_arithmetic(enum onnx_id op)
{
	return op == ONNX_Add || op == ONNX_Sub || op == ONNX_Mul || op == ONNX_Div ||
	       op == ONNX_Mod || op == ONNX_Pow || op == ONNX_And || op == ONNX_Or ||
	       is_comparison(op);
}

/* -1: a < b; 0: a == b; 1: a > b; 2: one is NaN */
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

/* Writes a op b, of dtype t, to `to` in the dtype of the result; false: not folded */
static bool compute_element(enum onnx_id op, enum dtype t, struct scalar a, struct scalar b,
			    char *to)
{
	double f = 0;
	uint64_t i = 0;

	if (is_comparison(op)) {
		*to = (char)compare(op, order(t, a, b));
		return true;
	}
	if (!is_float(t)) {
		bool ok = compute_integer(op, t, a.i, b.i, &i);
		store_low(to, i, dtypes[t].size);
		return ok;
	}
	bool ok = compute_float(op, t, a.f, b.f, &f);
	float single = (float)f;
	memcpy(to, t == DT_FLOAT32 ? (void *)&single : (void *)&f, dtypes[t].size);
	return ok;
}

/* The element of t that broadcasting puts at place k of shape, which has `rank` axes */
static uint64_t broadcast_place(const struct tensor *t, uint64_t k, const int64_t *shape, int rank)
{
	uint64_t at = 0, step = 1;

	for (int i = rank - 1, own = t->rank - 1; own >= 0; i--, own--) {
		if (t->shape[own] > 1)
			at += k % (uint64_t)shape[i] * step;
		step *= (uint64_t)t->shape[own];
		k /= (uint64_t)shape[i];
	}
	return at;
}

/* op of two constants, which broadcast */
static struct value *fold_arithmetic(struct build *b, enum onnx_id op, struct value **in)
{
	const struct tensor *x = in[0]->data, *y = in[1]->data;
	int rank = x->rank > y->rank ? x->rank : y->rank;
	enum dtype t = (enum dtype)x->dtype, to = is_comparison(op) ? DT_BOOL : t;
	int64_t shape[MAX_RANK] = {0};
	uint64_t count = 1;

	if (y->dtype != x->dtype || !(is_float(t) || is_discrete(t)))
		return NULL;
	for (int i = 0; i < rank; i++) {
		int a = i - (rank - x->rank), c = i - (rank - y->rank);
		int64_t n = a < 0 ? 1 : x->shape[a], m = c < 0 ? 1 : y->shape[c];
		if (n != m && n != 1 && m != 1)
			return NULL;
		shape[i] = n == 1 ? m : n;
		if (shape[i] > MAX_FOLDED || (count *= (uint64_t)shape[i]) > MAX_FOLDED)
			return NULL;
	}
	struct tensor *r = tensor_new(b->cx, to, rank, shape);
	char *data = arena_alloc(b->cx->arena, count * dtypes[to].size + 1);
	for (uint64_t i = 0; i < count; i++)
		if (!compute_element(op, t, element(x, broadcast_place(x, i, shape, rank)),
				     element(y, broadcast_place(y, i, shape, rank)),
				     data + i * dtypes[to].size))
			return NULL;
	r->data = data;
	return const_tensor(b, r);
}

/* Is v the number k beside x, for k = 0 of floats +0? */
static bool is_neutral(const struct value *v, const struct value *x, double k)
{
	double is;

	return is_number_beside(v, x, &is) && is == k && !signbit(is);
}

/* x, for x + 0, x - 0, x * 1, x / 1, x and true, x or false. Not for x + 0 of floats: -0 + 0 is +0.
 */
static struct value *skip_neutral(enum onnx_id op, struct value **in)
{
	bool real = is_float((enum dtype)in[0]->type.dtype);
	double k = op == ONNX_Mul || op == ONNX_Div || op == ONNX_And;

	if (is_comparison(op) || op == ONNX_Mod || op == ONNX_Pow || (real && op == ONNX_Add))
		return NULL;
	if (is_neutral(in[1], in[0], k))
		return in[0];
	return op != ONNX_Sub && op != ONNX_Div && is_neutral(in[0], in[1], k) ? in[1] : NULL;
}

/* Where(c, x, y) for a c that is all true or all false, and where x is y */
static struct value *fold_where(struct build *b, struct value **in)
{
	bool first = in[1] == in[2] || is_full_of(in[0], true, MAX_FOLDED);
	struct value *x = first ? in[1] : is_full_of(in[0], false, MAX_FOLDED) ? in[2] : NULL;
	struct value *other = x == in[1] ? in[2] : in[1];

	return x && broadcasts_to(b->cx, &in[0]->type, &x->type) &&
			       broadcasts_to(b->cx, &other->type, &x->type)
		       ? x
		       : NULL;
}

/* The elements of t, which the caller may change; NULL: too many */
static char *copy_of(struct build *b, const struct tensor *t)
{
	size_t size = dtypes[t->dtype].size;

	if (t->count > MAX_FOLDED)
		return NULL;
	char *to = arena_alloc(b->cx->arena, t->count * size + 1);
	for (uint64_t i = 0; i < t->count; i++)
		memcpy(to + i * size, tensor_element(t, i), size);
	return to;
}

/* A constant of the dtype of `like` */
static struct value *constant_like(struct build *b, const struct tensor *like, int rank,
				   const int64_t *shape, const char *data)
{
	struct tensor *r = tensor_new(b->cx, (enum dtype)like->dtype, rank, shape);

	r->data = data;
	return const_tensor(b, r);
}

/* The block of t that index vector i of the constant `at` names, as GatherND reads it: the number
 * of its first element, and *len elements. -1: an index is out of range, so the run must fail */
static int64_t find_block(const struct tensor *t, const struct tensor *at, uint64_t i,
			  uint64_t *len)
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
		if (!tensor_int(at, n, &k) || k < -t->shape[axis] || k >= t->shape[axis])
			return -1;
		first += from_front(k, t->shape[axis]);
	}
	return first;
}

/* GatherND: data[at]. ScatterND: data with the elements of `with` there. NULL: not folded */
static struct value *fold_gather_or_scatter(struct build *b, const struct tensor *data,
					    const struct tensor *at, const struct tensor *with)
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
	if (n > MAX_FOLDED)
		return NULL;
	for (int i = 0; i < at->rank - 1; i++)
		shape[i] = at->shape[i];
	for (int64_t i = depth; i < data->rank; i++)
		shape[at->rank - 1 + i - depth] = data->shape[i];
	for (uint64_t i = 0; i < n; i++) {
		if ((first = find_block(data, at, i, &len)) < 0 || n * len > MAX_FOLDED ||
		    (with && with->count != n * len))
			return NULL;
		if (!with && !to)
			to = arena_alloc(b->cx->arena, n * len * size + 1);
		char *here = (with ? to + (uint64_t)first * size : to + i * len * size);
		memcpy(here, from + (with ? i * len : (uint64_t)first) * size, len * size);
	}
	if (!to)
		return NULL;
	return with ? constant_like(b, data, data->rank, data->shape, to)
		    : constant_like(b, data, rank, shape, to);
}

/* Pad with zeros */
static struct value *fold_pad(struct build *b, const struct tensor *x, const struct tensor *pads)
{
	size_t size = dtypes[x->dtype].size;
	int64_t shape[MAX_RANK], before[MAX_RANK], after;
	char *from = copy_of(b, x), *to;
	uint64_t count = 1;

	if (!from || !x->rank || pads->count != 2u * x->rank)
		return NULL;
	for (uint32_t i = 0; i < x->rank; i++) {
		if (!tensor_int(pads, i, &before[i]) || !tensor_int(pads, x->rank + i, &after) ||
		    before[i] < 0 || after < 0 || before[i] > MAX_FOLDED || after > MAX_FOLDED)
			return NULL;
		shape[i] = before[i] + x->shape[i] + after;
		if (shape[i] > MAX_FOLDED || (count *= (uint64_t)shape[i]) > MAX_FOLDED)
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
	return constant_like(b, x, x->rank, shape, to);
}

/* Indices of axis 0 as GatherND takes them: with a last axis of length 1 */
static const struct tensor *as_index_vectors(struct build *b, const struct tensor *at)
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

/* Expand of one number */
static struct value *fold_expand(struct build *b, const struct tensor *x,
				 const struct tensor *shape)
{
	int64_t dims[MAX_RANK];
	uint64_t n = 1;

	if (x->count != 1 || shape->count < x->rank || shape->count > MAX_RANK)
		return NULL;
	for (uint32_t i = 0; i < shape->count; i++)
		if (!tensor_int(shape, i, &dims[i]) || dims[i] < 0 || dims[i] > MAX_FOLDED ||
		    (n *= (uint64_t)dims[i]) > MAX_FOLDED)
			return NULL;
	struct tensor t = {.dtype = x->dtype, .count = n, .splat = true, .data = x->data};
	return constant_like(b, x, (int)shape->count, dims, copy_of(b, &t));
}

/* Range: start, start + step, ... before stop */
static struct value *fold_range(struct build *b, struct value **in)
{
	enum dtype t = (enum dtype)in[0]->type.dtype;
	int64_t k[3], count = 0;

	for (int i = 0; i < 3; i++)
		if (!single_int(in[i]->data, &k[i]))
			return NULL;
	if (t != DT_INT64 || !k[2])
		return NULL;
	if (k[2] > 0 ? k[0] < k[1] : k[0] > k[1]) {
		bool up = k[2] > 0;
		uint64_t span =
			up ? (uint64_t)k[1] - (uint64_t)k[0] : (uint64_t)k[0] - (uint64_t)k[1];
		uint64_t step = up ? (uint64_t)k[2] : -(uint64_t)k[2];
		if ((span - 1) / step >= MAX_FOLDED)
			return NULL;
		count = (int64_t)((span - 1) / step) + 1;
	}
	int64_t items[MAX_FOLDED];
	for (int64_t i = 0; i < count; i++)
		items[i] = (int64_t)((uint64_t)k[0] + (uint64_t)i * (uint64_t)k[2]);
	return const_ints(b, items, (uint32_t)count);
}

/* x == x of integers or bools is true */
static struct value *fold_equal_to_itself(struct build *b, const struct value *x)
{
	int64_t shape[MAX_RANK], count = 1;

	for (uint32_t i = 0; i < x->type.rank; i++)
		if (!dim_is_const(b->cx, x->type.dims[i], &shape[i]) || shape[i] > MAX_FOLDED ||
		    (count *= shape[i]) > MAX_FOLDED)
			return NULL;
	struct tensor *t = tensor_new(b->cx, DT_BOOL, x->type.rank, shape);
	char *data = arena_alloc(b->cx->arena, (size_t)count + 1);
	memset(data, 1, (size_t)count);
	t->data = data;
	return const_tensor(b, t);
}

/* `x or true` is true, `x and false` is false: the constant, if it has the shape of the result */
static struct value *fold_logic(struct build *b, struct value **in, bool value)
{
	for (int i = 0; i < 2; i++)
		if (is_full_of(in[i], value, MAX_FOLDED) &&
		    broadcasts_to(b->cx, &in[1 - i]->type, &in[i]->type))
			return in[i];
	return NULL;
}

/* The length that v is, cast to float64; DIM_NONE: v is no such thing */
static dim size_of_float(struct build *b, const struct value *v)
{
	if (!is_onnx(v->def, ONNX_Cast) || v->type.dtype != DT_FLOAT64 || v->type.rank ||
	    v->def->in[0]->type.dtype != DT_INT64)
		return DIM_NONE;
	dim d = known_at(b->cx, v->def->in[0], 0);
	return d && dim_is_size(b, d) && dim_ge(b->cx, d, 0) ? d : DIM_NONE;
}

/* The product of two lengths that were cast to float64, as the mean over two axes divides by it.
 * The product of the integers may be the Size of a tensor, one node. Both are exact: no tensor has
 * 2^53 elements. */
static struct value *fold_product_of_sizes(struct build *b, struct value **in)
{
	dim x = size_of_float(b, in[0]), y = size_of_float(b, in[1]);

	return x && y ? cast(b, dim_value(b, dim_mul(b->cx, x, y)), DT_FLOAT64) : NULL;
}

/* An operator whose inputs are all constants; NULL: not folded */
static struct value *fold_constants(struct build *b, enum onnx_id op, struct value **in,
				    uint32_t nin)
{
	const struct tensor *x = in[0]->data, *y = in[1]->data;

	switch (op) {
	case ONNX_Gather: /* of axis 0: there is no attribute */
		return fold_gather_or_scatter(b, x, as_index_vectors(b, y), NULL);
	case ONNX_GatherND:
		return fold_gather_or_scatter(b, x, y, NULL);
	case ONNX_ScatterND:
		return fold_gather_or_scatter(b, x, y, in[2]->data);
	case ONNX_Expand:
		return fold_expand(b, x, y);
	case ONNX_Range:
		return fold_range(b, in);
	case ONNX_Pad:
		return nin == 2 ? fold_pad(b, x, y) : NULL;
	default:
		return nin == 2 && is_arithmetic(op) ? fold_arithmetic(b, op, in) : NULL;
	}
}

struct value *fold(struct build *b, const struct onnx_op *op, struct value **in, uint32_t nin)
{
	struct value *r = NULL;

	while (nin && !in[nin - 1])
		nin--;
	bool constant = nin > 0;

	if (!flag_is_on(b->cx, FLAG_FOLD) || op->domain[0])
		return NULL;
	for (uint32_t i = 0; i < nin; i++)
		constant = constant && is_constant(in[i]);
	if (constant && (r = fold_one(b, op, in, nin)))
		return r;
	constant &= nin > 1;
	if (b->nattrs)
		return NULL;
	if (op->id == ONNX_Where && nin == 3)
		return is_constant(in[0]) || in[1] == in[2] ? fold_where(b, in) : NULL;
	if (constant)
		r = fold_constants(b, op->id, in, nin);
	if (r || nin != 2 || !in[0] || !in[1])
		return r;
	if (op->id == ONNX_Mul)
		r = fold_product_of_sizes(b, in);
	if (op->id == ONNX_Equal && in[0] == in[1] && is_discrete((enum dtype)in[0]->type.dtype))
		r = fold_equal_to_itself(b, in[0]);
	if (op->id == ONNX_And || op->id == ONNX_Or)
		r = fold_logic(b, in, op->id == ONNX_Or);
	return r || !is_arithmetic(op->id) ? r : skip_neutral(op->id, in);
}

bool says_shape(const struct node *n, uint32_t k)
{
	return k < 8 && onnx_facts[n->onnx->id].shapes >> k & 1;
}

/* Does what n computes have a size that its inputs' data decide, and are these not known? */
static bool size_is_open(const struct node *n)
{
	if (onnx_facts[n->onnx->id].counts)
		return true;
	for (uint32_t k = 0; k < n->nin; k++)
		if (says_shape(n, k) && n->in[k] && !n->in[k]->data)
			return true;
	return false;
}

/* Of what it computes when it loads the model ONNX Runtime takes no Reshape that must fail. */
static bool has_bit(const uint64_t *bits, uint32_t id)
{
	return bits[id / 64] >> id % 64 & 1;
}

/* from_constants() says no, and will when v is asked for again: so a chain of values that are asked
 * for one by one is walked once. */
static bool varies(struct ctx *cx, const struct value *v)
{
	while (cx->varying.len <= v->id / 64)
		*vec_push(cx->arena, &cx->varying) = 0;
	cx->varying.at[v->id / 64] |= UINT64_C(1) << v->id % 64;
	return false;
}

static bool is_varying(const struct ctx *cx, const struct value *v)
{
	return v->id / 64 < cx->varying.len && has_bit(cx->varying.at, v->id);
}

bool from_constants(struct ctx *cx, const struct value *asked, bool *open)
{
	vec(const struct value *) todo = {0};
	uint64_t *seen = NULL; /* bit per value id, once there are many */

	if (open)
		*open = false;
	*vec_push(cx->scratch, &todo) = asked;
	for (uint32_t n = 0; todo.len; n++) {
		const struct value *v = todo.at[--todo.len];
		if (v->data)
			continue;
		if (!v->def || !onnx_is_pure(v->def->onnx) || is_varying(cx, v))
			return varies(cx, asked);
		if (n == MANY_SEEN)
			seen = new_array(cx->scratch, uint64_t, cx->next_id / 64 + 1);
		if (seen && has_bit(seen, v->id))
			continue;
		if (seen)
			seen[v->id / 64] |= UINT64_C(1) << v->id % 64;
		if (open)
			*open |= size_is_open(v->def);
		for (uint32_t i = 0; i < v->def->nin; i++)
			if (v->def->in[i])
				*vec_push(cx->scratch, &todo) = v->def->in[i];
	}
	return true;
}
