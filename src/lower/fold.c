/*
 * fold.c: results that are known while the model is made (-fno-fold). In: an operator and its
 * inputs, before a node is made. Out: the constant that the result is, or the input that it is
 * equal to. Must hold: the same bits as at run time. Integers wrap; what NumPy and the runtime may
 * round or trap differently (float16, division by 0, the smallest integer by -1) is left to the
 * run.
 */
#include <string.h>

#include "low.h"

/* Elements of a result that are worked out here, at most. */
#define FOLD_LIMIT 64
/* Values of which something is made: more are not constants alone. */
#define MAX_SEEN 1000

enum operation {
	ADD,
	SUB,
	MUL,
	DIV,
	MOD,
	AND,
	OR,
	EQUAL,
	LESS,
	LESS_EQUAL,
	GREATER,
	GREATER_EQUAL
};

static const char *const operations[] = {"Add",  "Sub",         "Mul",     "Div",
					 "Mod",  "And",         "Or",      "Equal",
					 "Less", "LessOrEqual", "Greater", "GreaterOrEqual"};

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

static bool divide(enum operation op, bool is_signed, uint64_t a, uint64_t b, uint64_t *r)
{
	if (!b || (is_signed && b == UINT64_MAX))
		return false;
	if (!is_signed) {
		*r = op == DIV ? a / b : a % b;
		return true;
	}
	int64_t x = (int64_t)a, y = (int64_t)b, m = x % y;
	*r = (uint64_t)(op == DIV ? x / y : m && (m < 0) != (y < 0) ? m + y : m);
	return true;
}

static bool integers(enum operation op, enum dtype t, uint64_t a, uint64_t b, uint64_t *r)
{
	switch (op) {
	case ADD:
		*r = a + b;
		return t != DT_BOOL;
	case SUB:
		*r = a - b;
		return t != DT_BOOL;
	case MUL:
		*r = a * b;
		return t != DT_BOOL;
	case DIV:
	case MOD:
		return t != DT_BOOL && divide(op, dtypes[t].kind == KIND_INT, a, b, r);
	case AND:
		*r = a & b;
		return t == DT_BOOL;
	case OR:
		*r = a | b;
		return t == DT_BOOL;
	default:
		return false;
	}
}

/* In double, which rounds sums, products and quotients of float32 twice without harm. */
static bool floats(enum operation op, enum dtype t, double a, double b, double *r)
{
	*r = op == ADD ? a + b : op == SUB ? a - b : op == MUL ? a * b : a / b;
	return t != DT_FLOAT16 && (op == ADD || op == SUB || op == MUL || (op == DIV && b != 0));
}

static bool compares(enum operation op)
{
	return op >= EQUAL;
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

static bool compare(enum operation op, int order)
{
	return op == EQUAL        ? order == 0
	       : op == LESS       ? order == -1
	       : op == LESS_EQUAL ? order == -1 || order == 0
	       : op == GREATER    ? order == 1
				  : order == 1 || order == 0;
}

/* The element that a and b of dtype t give, to `to` of the result's dtype */
static bool calculate(enum operation op, enum dtype t, struct scalar a, struct scalar b, char *to)
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
static struct value *constants(struct build *b, enum operation op, struct value **in)
{
	const struct tensor *x = in[0]->data, *y = in[1]->data, *more = x->count < y->count ? y : x;
	bool same = x->rank == y->rank &&
		    (!x->rank || !memcmp(x->shape, y->shape, x->rank * sizeof(*x->shape)));
	bool one = more == x ? y->count == 1 && y->rank <= x->rank
			     : x->count == 1 && x->rank <= y->rank;
	enum dtype t = (enum dtype)x->dtype, to = compares(op) ? DT_BOOL : t;

	if (y->dtype != x->dtype || !(is_float(t) || is_discrete(t)) || !(same || one) ||
	    !more->count || more->count > FOLD_LIMIT)
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
static struct value *neutral(enum operation op, struct value **in)
{
	bool real = is_float((enum dtype)in[0]->type.dtype);
	int64_t k = op == MUL || op == DIV || op == AND;

	if (compares(op) || op == MOD || (real && op == ADD))
		return NULL;
	if (is_number(in[1], k, in[0]))
		return in[0];
	return op != SUB && op != DIV && is_number(in[0], k, in[1]) ? in[1] : NULL;
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

struct value *fold(struct build *b, const struct onnx_op *op, struct value **in, uint32_t nin)
{
	if (!b->cx->opt.fold || op->domain[0] || b->nattrs)
		return NULL;
	if (nin == 3 && is_constant(in[0]) && !strcmp(op->name, "Where"))
		return chosen(b, in);
	if (nin != 2 || !in[0] || !in[1] || !(is_constant(in[0]) || is_constant(in[1])))
		return NULL;
	for (size_t i = 0; i < countof(operations); i++) {
		if (strcmp(op->name, operations[i]))
			continue;
		if (is_constant(in[0]) && is_constant(in[1])) {
			struct value *r = constants(b, (enum operation)i, in);
			if (r)
				return r;
		}
		return neutral((enum operation)i, in);
	}
	return NULL;
}

/* Does what n computes have a size that its inputs' data decide, and are these not known? */
static bool is_open(const struct node *n)
{
	static const char *const by_data[] = {"NonZero", "Unique", "Compress"};
	static const char *const by_shape[] = {
		"Range", "ConstantOfShape", "Expand", "Reshape", "Slice", "Tile", "Pad"};

	for (size_t i = 0; i < countof(by_data); i++)
		if (is_onnx(n, by_data[i]))
			return true;
	for (size_t i = 0; i < countof(by_shape); i++)
		for (uint32_t k = i > 1; k < n->nin && is_onnx(n, by_shape[i]); k++)
			if (n->in[k] && !n->in[k]->data)
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
		if (!v->def || !is_pure(v->def->onnx) || seen > MAX_SEEN)
			return false;
		*open |= is_open(v->def);
		for (uint32_t i = 0; i < v->def->nin; i++)
			if (v->def->in[i])
				*vec_push(b->cx->scratch, &todo) = v->def->in[i];
	}
	return true;
}
