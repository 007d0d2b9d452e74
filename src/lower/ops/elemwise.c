/*
 * elemwise.c: lowers some elementwise ops; most are expressions in ops/ops.def or fns in lib/. In:
 * a typed node whose inputs are cast by the rule of its row.
 */
#include "lower/ops/lowerings.h"

bool lower_cast(struct build *b, struct node *n)
{
	set_lowered(b, n, 0, cast_once(b, low(b, n->in[0]), (enum dtype)n->out[0]->type.dtype));
	return true;
}

/* Second(a, b) is b, broadcast with the shape of a. */
bool lower_second(struct build *b, struct node *n)
{
	struct type t = n->out[0]->type;
	struct value *v = cast(b, low(b, n->in[1]), (enum dtype)t.dtype);

	set_lowered(b, n, 0, expand(b, v, t.dims, t.rank));
	return true;
}

/* x * log(y), and 0 if x is 0. PyTensor rounds the logarithm to the dtype of y. */
bool lower_xlogy(struct build *b, struct node *n)
{
	bool one = is_call(n, OP_XLog1PY);
	struct value *x = low(b, n->in[0]), *y = low(b, n->in[1]), *log, *product;

	if (!lower_as(b, &op_table[one ? OP_Log1p : OP_Log], NULL, &y, 1, &log, 1) ||
	    !lower_as(b, &op_table[OP_Mul], NULL, (struct value *[]){x, log}, 2, &product, 1))
		return false;
	struct value *none = emit_(b, ONNX_Equal, x, const_int_of(b, (enum dtype)x->type.dtype, 0));
	struct value *zero = const_int_of(b, (enum dtype)product->type.dtype, 0);
	set_lowered(b, n, 0, emit_(b, ONNX_Where, none, zero, product));
	return true;
}

static bool lower_by_lib(struct build *b, struct node *n, const char *name)
{
	struct value *out = NULL;

	if (!call_fn(b, lib_fn(b->cx, name), n->op, n->props, n->in, n->nin, &out, 1))
		return false;
	set_lowered(b, n, 0, out);
	return true;
}

/* The smallest element of an integer constant. */
static int64_t smallest(const struct tensor *t)
{
	int64_t min = INT64_MAX, k;

	for (uint64_t i = 0; i < stored_elements(t); i++)
		if (tensor_int(t, i, &k) && k < min)
			min = k;
	return min;
}

/* Are all known elements of v at least `least`? */
static bool known_from(struct build *b, const struct known *k, int64_t least)
{
	for (uint32_t i = 0; k && i < k->n; i++)
		if (!k->at[i] || !dim_ge(b->cx, k->at[i], least))
			return false;
	return k != NULL;
}

/* Are there operators that give no integers below 0, and is v made by one? */
static bool gives_no_negatives(struct build *b, const struct node *n)
{
	int64_t from, step;

	if (is_onnx(n, ONNX_Range))
		return counted_by(b->cx, n->out[0], &from, &step) && from >= 0 && step > 0;
	if (is_onnx(n, ONNX_Mod))
		return !n->nattrs && is_constant(n->in[1]) && smallest(n->in[1]->data) > 0;
	return is_onnx(n, ONNX_Shape) || is_onnx(n, ONNX_Size) || is_onnx(n, ONNX_ArgMax) ||
	       is_onnx(n, ONNX_ArgMin) || is_onnx(n, ONNX_NonZero);
}

/* The value whose elements, or some of them, are those of v, in another shape or a dtype that holds
 * them; NULL: v is made in another way */
static const struct value *moved_from(const struct value *v)
{
	const struct node *n = v->def;

	if (onnx_facts[operator_of(n)].moves)
		return n->in[0];
	return is_onnx(n, ONNX_Cast) && is_discrete((enum dtype)n->in[0]->type.dtype) &&
			       dtypes[n->in[0]->type.dtype].bits < dtypes[v->type.dtype].bits
		       ? n->in[0]
		       : NULL;
}

/* Is an integer value never negative? By how it is made, its dtype before a cast, or its known
 * elements. */
static bool never_negative(struct build *b, struct value *typed)
{
	const struct value *v = low(b, typed);

	if (known_from(b, known_of(b->cx, typed), 0))
		return true;
	for (int steps = 0; v && steps < 16; v = moved_from(v), steps++) {
		if (v->data)
			return is_constant(v) && smallest(v->data) >= 0;
		if (dtypes[v->type.dtype].kind != KIND_INT || known_from(b, v->known, 0) ||
		    (v->def && gives_no_negatives(b, v->def)))
			return true;
	}
	return false;
}

/* Int_div of integers by positive ones. ONNX's Div truncates: a quotient below 0 that is no integer
 * is one too large. */
bool lower_int_div(struct build *b, struct node *n)
{
	struct value *x = low(b, n->in[0]), *y = low(b, n->in[1]);
	enum dtype t = (enum dtype)n->out[0]->type.dtype;
	bool positive = known_from(b, known_of(b->cx, n->in[1]), 1) ||
			(is_constant(y) && is_int(t) && smallest(y->data) > 0);

	if (b->target == PTGC_PORTABLE && dtypes[t].kind == KIND_INT && t != DT_INT64) {
		struct value *in[2], *r; /* the library divides them in float64 */
		for (int i = 0; i < 2; i++)
			in[i] = typed_cast(b, n->in[i], DT_INT64);
		if (!lower_as(b, n->op, n->props, in, 2, &r, 1))
			return false;
		set_lowered(b, n, 0, cast(b, r, t));
		return true;
	}
	if ((t != DT_INT64 && t != DT_INT32) || !positive)
		return lower_by_lib(b, n, "Int_div");
	struct value *q = emit_(b, ONNX_Div, x, y);
	if (!never_negative(b, n->in[0])) {
		struct value *above = emit_(b, ONNX_Less, x, emit_(b, ONNX_Mul, q, y));
		q = emit_(b, ONNX_Sub, q, cast(b, above, t));
	}
	set_lowered(b, n, 0, q);
	return true;
}

/* x % n for a length n: a Mod by max(n, 1), as PyTensor's remainder by 0 is 0. */
bool lower_mod(struct build *b, struct node *n)
{
	const struct known *k = known_of(b->cx, n->in[1]);
	struct value *by;

	if (n->out[0]->type.dtype != DT_INT64 || !k || k->n != 1 || !k->at[0] ||
	    !dim_is_size(b, k->at[0]) || !dim_ge(b->cx, k->at[0], 0))
		return lower_by_lib(b, n, "Mod");
	by = low(b, n->in[1]);
	b->scope->shared->small_ints = true;
	if (!dim_ge(b->cx, k->at[0], 1))
		by = emit_(b, ONNX_Max, by, const_int(b, 1));
	b->scope->shared->small_ints = false;
	set_lowered(b, n, 0, emit_(b, ONNX_Mod, low(b, n->in[0]), by));
	return true;
}

/* Are they int64 and uint64? Their common dtype, float64, does not hold all of their elements. */
static bool are_int64_and_uint64(const struct value *a, const struct value *b)
{
	return (a->type.dtype == DT_INT64 && b->type.dtype == DT_UINT64) ||
	       (a->type.dtype == DT_UINT64 && b->type.dtype == DT_INT64);
}

/* Are they numbers with a <= b? */
static bool are_ordered(const struct tensor *a, const struct tensor *b)
{
	int64_t from, to;
	double least, most;

	if (uniform_int(a, &from) && uniform_int(b, &to))
		return from <= to;
	return uniform_number(a, &least) && uniform_number(b, &most) && least <= most;
}

/* ONNX's Clip, if the bounds are numbers with min <= max: it keeps NaN and -0. */
bool lower_clip(struct build *b, struct node *n)
{
	if (are_int64_and_uint64(n->in[0], n->in[1]) || are_int64_and_uint64(n->in[0], n->in[2]))
		return lower_by_lib(b, n, "Clip_exactly");
	for (int i = 0; i < 3; i++)
		n->in[i] = typed_cast(b, n->in[i], (enum dtype)n->out[0]->type.dtype);

	struct value *x = low(b, n->in[0]), *lo = low(b, n->in[1]), *hi = low(b, n->in[2]);
	enum dtype t = (enum dtype)x->type.dtype;

	if (!are_ordered(lo->data, hi->data) || t == DT_BOOL ||
	    !same_dims(b->cx, x->type, n->out[0]->type))
		return lower_by_lib(b, n, "Clip");
	lo = reshape(b, lo, NULL, 0);
	set_lowered(b, n, 0, emit_(b, ONNX_Clip, x, lo, reshape(b, hi, NULL, 0)));
	return true;
}

#define MAX_PRODUCTS 12 /* of a constant power of integers */

/* x to the power e >= 1 by repeated squaring; integers wrap. NULL: it takes too many products */
static struct value *integer_power(struct build *b, struct value *x, int64_t e)
{
	int products = 0;

	for (int64_t k = e; k > 1; k /= 2)
		products += 1 + (k & 1);
	if (products > MAX_PRODUCTS)
		return NULL;
	struct value *r = NULL;
	for (; e; e /= 2) {
		if (e & 1)
			r = r ? emit_(b, ONNX_Mul, r, x) : x;
		if (e > 1)
			x = emit_(b, ONNX_Mul, x, x);
	}
	return r;
}

/*
 * int64 1 for each element of the result. NumPy allows no negative exponent, so these make the run
 * fail: they are the index of a 1 that is not there. One that meets no base is no exponent, so it
 * is looked at in the shape of the result.
 */
static struct value *ones_of_pow(struct build *b, struct node *n)
{
	struct value *x = low(b, n->in[0]), *e = low(b, n->in[1]), *one = const_int(b, 1);
	struct type t = n->out[0]->type;
	bool same = same_dims(b->cx, e->type, t);

	if (never_negative(b, n->in[1])) {
		if (same || same_dims(b->cx, x->type, t))
			return expand(b, one, t.dims, t.rank);
		x = cast(b, x, DT_INT64);
		e = emit_(b, ONNX_Add, x, cast(b, e, DT_INT64));
		return emit_(b, ONNX_Add, emit_(b, ONNX_Mul, e, const_int(b, 0)), one);
	}
	struct value *zero = const_int_of(b, (enum dtype)t.dtype, 0);
	if (!same)
		e = emit_(b, ONNX_Add, e, emit_(b, ONNX_Mul, x, zero));
	struct value *bad = cast(b, emit_(b, ONNX_Less, e, zero), DT_INT64);
	return labelled(b, emit_(b, ONNX_Gather, vector_of(b, one), bad),
			"the exponents of integers must not be negative");
}

static bool raises_of_pow(struct build *b, struct node *n)
{
	const struct tensor *e = low(b, n->in[1])->data;
	struct type t = n->out[0]->type;

	for (uint32_t i = 0; i < t.rank; i++)
		if (dim_is(b->cx, t.dims[i], 0))
			return false;
	if (!e || dtypes[t.dtype].kind != KIND_INT || smallest(e) >= 0)
		return false;
	raises(b, "integers to negative integer powers are not allowed: the exponent is %lld",
	       (long long)smallest(e));
	return true;
}

/* A power of floats by one constant number. NULL: Pow does it. */
static struct value *float_power(struct build *b, struct value *x, const struct tensor *exponent,
				 struct type t)
{
	enum dtype type = (enum dtype)t.dtype;
	double k;

	if (!is_float(type) || !uniform_number(exponent, &k) || !same_dims(b->cx, x->type, t))
		return NULL;
	/* of Pow the runtime may make a LayerNormalization, whose epsilon is float32 */
	if (k == 2) {
		x = cast(b, x, type);
		return emit_(b, ONNX_Mul, x, x);
	}
	/* NumPy takes the root, but for float16 or many exponents: of -inf it is NaN, not inf */
	if (k == 0.5 && exponent->count == 1 && type != DT_FLOAT16)
		return emit_(b, ONNX_Sqrt, cast(b, x, type));
	return NULL;
}

bool lower_pow(struct build *b, struct node *n)
{
	struct value *x = low(b, n->in[0]), *y = low(b, n->in[1]), *r = NULL;
	struct type t = n->out[0]->type;
	int64_t e;

	if (!is_int((enum dtype)t.dtype)) {
		r = float_power(b, x, y->data, t);
		if (!r)
			return lower_by_lib(b, n, "Pow");
		set_lowered(b, n, 0, r);
		return true;
	}
	if (raises_of_pow(b, n))
		return false;
	if (uniform_int(y->data, &e) && same_dims(b->cx, x->type, t)) {
		if (e == 0)
			r = expand(b, const_int_of(b, (enum dtype)t.dtype, 1), t.dims, t.rank);
		else if (e > 0)
			r = integer_power(b, x, e);
	}
	if (!r) {
		struct type wide = type_of(DT_INT64, t.rank, t.dims);
		struct value *ones = graph_value(b->cx, wide, b->span);
		ones->lowered = ones_of_pow(b, n);
		if (!call_fn(b, lib_fn(b->cx, "_Power"), n->op, n->props,
			     (struct value *[]){n->in[0], n->in[1], ones}, 3, &r, 1))
			return false;
	}
	set_lowered(b, n, 0, r);
	return true;
}

bool lower_switch(struct build *b, struct node *n)
{
	struct value *c = cast(b, low(b, n->in[0]), DT_BOOL);

	struct value *otherwise = low(b, n->in[2]);

	set_lowered(b, n, 0, where(b, c, low(b, n->in[1]), otherwise));
	return true;
}
