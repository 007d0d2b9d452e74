/*
 * rules_dtype.c: dtype rules. In: a node whose inputs are typed. Out: the dtype of its first
 * result, exactly as in PyTensor (the output rules of its scalar ops); DT_NONE: an error was
 * reported.
 */
#include <string.h>

#include "ops/rules.h"

static enum dtype type_at(const struct node *n, uint32_t i)
{
	return (enum dtype)n->in[i]->type.dtype;
}

static enum dtype refuse_input(struct ctx *cx, struct node *n, uint32_t i)
{
	enum dtype t = type_at(n, i);
	bool power = is_call(n, OP_Xor) && is_float(t);

	error(cx, n->span, E_DTYPE, "%s does not take %s%s", op_label(cx, n), dtypes[t].name,
	      power ? "; a power is written x ** y" : "");
	return DT_NONE;
}

/* bfloat16, strings: PyTensor does not have them. */
static bool is_onnx_only(enum dtype t)
{
	return dtypes[t].kind == KIND_OTHER;
}

/* The first input with a dtype that PyTensor lacks, or for which `bad` is true; nin: none */
static uint32_t find_bad_input(const struct node *n, bool (*bad)(enum dtype))
{
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && (is_onnx_only(type_at(n, i)) || (bad && bad(type_at(n, i)))))
			return i;
	return n->nin;
}

enum dtype upcast_inputs(struct node *n, uint32_t from)
{
	enum dtype t = type_at(n, from);
	for (uint32_t i = from + 1; i < n->nin; i++)
		if (n->in[i])
			t = dtype_upcast(t, type_at(n, i));
	return t;
}

enum dtype narrowed(const struct ctx *cx, const struct node *n, enum dtype t)
{
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && dtype_narrow(type_at(n, i)) != type_at(n, i))
			return t;
	return cx->narrow ? dtype_narrow(t) : t;
}

enum dtype ty_upcast(struct ctx *cx, struct node *n)
{
	uint32_t bad = find_bad_input(n, NULL);
	return bad < n->nin ? refuse_input(cx, n, bad) : upcast_inputs(n, 0);
}

enum dtype ty_upcast_nobool(struct ctx *cx, struct node *n)
{
	enum dtype t = ty_upcast(cx, n);
	return t == DT_BOOL ? refuse_input(cx, n, 0) : t;
}

enum dtype ty_upcast_min8(struct ctx *cx, struct node *n)
{
	enum dtype t = ty_upcast(cx, n);
	return t == DT_BOOL ? DT_INT8 : t;
}

enum dtype ty_upcast_nocomplex(struct ctx *cx, struct node *n)
{
	uint32_t bad = find_bad_input(n, is_complex);
	return bad < n->nin ? refuse_input(cx, n, bad) : upcast_inputs(n, 0);
}

enum dtype ty_float(struct ctx *cx, struct node *n)
{
	uint32_t bad = find_bad_input(n, NULL);
	if (bad < n->nin)
		return refuse_input(cx, n, bad);
	enum dtype t = dtype_to_float(type_at(n, 0));
	for (uint32_t i = 1; i < n->nin; i++)
		t = dtype_upcast(t, dtype_to_float(type_at(n, i)));
	return t;
}

enum dtype ty_float_nocomplex(struct ctx *cx, struct node *n)
{
	uint32_t bad = find_bad_input(n, is_complex);
	return bad < n->nin ? refuse_input(cx, n, bad) : ty_float(cx, n);
}

static bool is_bool(enum dtype t)
{
	return t == DT_BOOL;
}

/* Softmax subtracts the maximum first; NumPy does not subtract bools. */
enum dtype ty_softmax(struct ctx *cx, struct node *n)
{
	uint32_t bad = find_bad_input(n, is_bool);
	return bad < n->nin ? refuse_input(cx, n, bad) : ty_float(cx, n);
}

enum dtype ty_same(struct ctx *cx, struct node *n)
{
	(void)cx;
	return type_at(n, 0);
}

enum dtype ty_same_nobool(struct ctx *cx, struct node *n)
{
	enum dtype t = type_at(n, 0);
	return t == DT_BOOL || is_onnx_only(t) ? refuse_input(cx, n, 0) : t;
}

enum dtype ty_same_float(struct ctx *cx, struct node *n)
{
	return is_float(type_at(n, 0)) ? type_at(n, 0) : refuse_input(cx, n, 0);
}

/* For BLAS, all inputs have one float dtype. */
enum dtype ty_same_all(struct ctx *cx, struct node *n)
{
	enum dtype t = type_at(n, 0);
	for (uint32_t i = 0; i < n->nin; i++) {
		if (!is_float(type_at(n, i)) && !is_complex(type_at(n, i)))
			return refuse_input(cx, n, i);
		if (type_at(n, i) == t)
			continue;
		error(cx, n->span, E_DTYPE, "%s: expected one dtype, got %s and %s",
		      op_label(cx, n), dtypes[t].name, dtypes[type_at(n, i)].name);
		return DT_NONE;
	}
	return t;
}

enum dtype ty_complex128(struct ctx *cx, struct node *n)
{
	(void)cx;
	(void)n;
	return DT_COMPLEX128;
}

enum dtype ty_abs(struct ctx *cx, struct node *n)
{
	return ty_real(cx, n);
}

enum dtype ty_real(struct ctx *cx, struct node *n)
{
	enum dtype t = ty_upcast(cx, n);
	return t == DT_COMPLEX64 ? DT_FLOAT32 : t == DT_COMPLEX128 ? DT_FLOAT64 : t;
}

enum dtype ty_complex(struct ctx *cx, struct node *n)
{
	enum dtype t = ty_upcast_nocomplex(cx, n);
	switch (t) {
	case DT_NONE:
		return t;
	case DT_FLOAT64:
	case DT_INT64:
	case DT_UINT64:
	case DT_INT32:
	case DT_UINT32:
		return DT_COMPLEX128;
	default:
		return DT_COMPLEX64;
	}
}

enum dtype ty_true_div(struct ctx *cx, struct node *n)
{
	if (is_discrete(type_at(n, 0)) && is_discrete(type_at(n, 1)))
		return cx->floatx;
	return ty_upcast(cx, n);
}

enum dtype ty_bool(struct ctx *cx, struct node *n)
{
	uint32_t bad = find_bad_input(n, NULL);
	return bad < n->nin ? refuse_input(cx, n, bad) : DT_BOOL;
}

/* Is v a constant with all elements below 2^53, which float64 holds exactly? */
static bool elements_fit_float64(const struct value *v)
{
	int64_t x;
	if (!v->data || v->data->count > 1000000)
		return false;
	for (uint64_t i = 0; i < stored_elements(v->data); i++)
		if (!tensor_int(v->data, i, &x) || x <= -((int64_t)1 << 53) ||
		    x >= (int64_t)1 << 53)
			return false;
	return true;
}

/* NumPy compares uint64 with int64 exactly. A comparison in float64, their common dtype, gives the
 * same only if the elements of one of the two are below 2^53. */
bool compares_beyond_float64(const struct node *n)
{
	if (n->op->cast != CAST_UPCAST || n->nin != 2)
		return false;
	enum dtype a = type_at(n, 0), b = type_at(n, 1);
	return ((a == DT_UINT64 && b == DT_INT64) || (a == DT_INT64 && b == DT_UINT64)) &&
	       !elements_fit_float64(n->in[0]) && !elements_fit_float64(n->in[1]);
}

/* Two bools, or two integers. */
enum dtype ty_bits(struct ctx *cx, struct node *n)
{
	enum dtype a = type_at(n, 0), b = type_at(n, 1);
	if (a == DT_BOOL && b == DT_BOOL)
		return DT_BOOL;
	if (is_int(a) && is_int(b) && is_int(dtype_upcast(a, b)))
		return dtype_upcast(a, b);
	if (is_int(a) == is_int(b) && !is_int(a))
		return refuse_input(cx, n, is_discrete(a));
	error(cx, n->span, E_DTYPE, "%s: expected two bools or two integers, got %s and %s",
	      n->op->name, dtypes[a].name, dtypes[b].name);
	return DT_NONE;
}

enum dtype ty_invert(struct ctx *cx, struct node *n)
{
	return is_discrete(type_at(n, 0)) ? type_at(n, 0) : refuse_input(cx, n, 0);
}

enum dtype ty_switch(struct ctx *cx, struct node *n)
{
	uint32_t bad = find_bad_input(n, NULL);
	return bad < n->nin ? refuse_input(cx, n, bad) : upcast_inputs(n, 1);
}

enum dtype ty_second(struct ctx *cx, struct node *n)
{
	(void)cx;
	return type_at(n, 1);
}

enum dtype ty_prop(struct ctx *cx, struct node *n)
{
	enum dtype t = prop_dtype(cx, n, "dtype");
	uint32_t bad = is_call(n, OP_Cast) ? find_bad_input(n, NULL) : n->nin;
	if (bad < n->nin)
		return refuse_input(cx, n, bad);
	if (!is_onnx_only(t))
		return t;
	error(cx, n->span, E_DTYPE, "%s: %s is not a dtype of PyTensor", n->op->name,
	      dtypes[t].name);
	return DT_NONE;
}

enum dtype ty_int64(struct ctx *cx, struct node *n)
{
	(void)cx;
	(void)n;
	return DT_INT64;
}

static bool is_not_signed_int(enum dtype t)
{
	return dtypes[t].kind != KIND_INT;
}

/* int64; the inputs must be signed integers */
enum dtype ty_places(struct ctx *cx, struct node *n)
{
	uint32_t bad = find_bad_input(n, is_not_signed_int);

	return bad < n->nin ? refuse_input(cx, n, bad) : DT_INT64;
}

enum dtype ty_pivots(struct ctx *cx, struct node *n)
{
	return is_int(type_at(n, 0)) ? DT_INT64 : refuse_input(cx, n, 0);
}

/* float64; the input is the length of a window, an integer */
enum dtype ty_window(struct ctx *cx, struct node *n)
{
	return type_at(n, 0) == DT_BOOL ? refuse_input(cx, n, 0) : DT_FLOAT64;
}

enum dtype ty_float64(struct ctx *cx, struct node *n)
{
	(void)cx;
	(void)n;
	return DT_FLOAT64;
}

enum dtype ty_polygamma(struct ctx *cx, struct node *n)
{
	if (!is_discrete(type_at(n, 0)))
		return refuse_input(cx, n, 0);
	if (is_complex(type_at(n, 1)) || is_onnx_only(type_at(n, 1)))
		return refuse_input(cx, n, 1);
	return dtype_to_float(type_at(n, 1));
}

enum dtype ty_xlogy(struct ctx *cx, struct node *n)
{
	uint32_t bad = find_bad_input(n, NULL);
	if (bad < n->nin)
		return refuse_input(cx, n, bad);
	return dtype_upcast(type_at(n, 0), dtype_to_float(type_at(n, 1)));
}

/* The common dtype of all inputs as a float; float16 is added up in float32. */
enum dtype ty_logsumexp(struct ctx *cx, struct node *n)
{
	enum dtype t = ty_upcast(cx, n);
	t = t ? dtype_to_float(t) : t;
	return t == DT_FLOAT16 ? DT_FLOAT32 : t;
}

/* Does acc_dtype hold the dtype t without loss? As in PyTensor, a float may add up integers. false:
 * reported */
static bool check_accumulator(struct ctx *cx, struct node *n, enum dtype t)
{
	enum dtype acc = prop_dtype(cx, n, "acc_dtype"), given = prop_dtype(cx, n, "dtype");
	if (is_complex(acc) && !is_complex(t) && !is_complex(given)) {
		error(cx, n->span, E_DTYPE,
		      "%s: the acc_dtype %s makes the result complex: give a complex dtype as "
		      "well, "
		      "or a real acc_dtype",
		      n->op->name, dtypes[acc].name);
		return false;
	}
	if (acc == DT_NONE || ((is_float(acc) || is_complex(acc)) && is_discrete(t)))
		return true;
	if (dtype_upcast(t, acc) == acc)
		return true;
	error(cx, n->span, E_DTYPE, "%s: %s cannot be accumulated in %s without losing precision",
	      n->op->name, dtypes[t].name, dtypes[acc].name);
	return false;
}

enum dtype ty_sum(struct ctx *cx, struct node *n)
{
	enum dtype t = type_at(n, 0), given = prop_dtype(cx, n, "dtype");
	if (is_onnx_only(t))
		return refuse_input(cx, n, 0);
	if (!check_accumulator(cx, n, t))
		return DT_NONE;
	if (given != DT_NONE)
		return given;
	if (t == DT_BOOL || dtypes[t].kind == KIND_INT)
		return DT_INT64;
	return dtypes[t].kind == KIND_UINT ? DT_UINT64 : t;
}

/* PyTensor multiplies Python integers here, which do not overflow, and converts the result to the
 * dtype at the end. So dtypes that would wrap on the way, or may not hold the result, are refused.
 */
enum dtype ty_prod_without_zeros(struct ctx *cx, struct node *n)
{
	enum dtype t = ty_sum(cx, n), from = type_at(n, 0), acc = prop_dtype(cx, n, "acc_dtype");
	bool narrow = is_int(t) && dtypes[t].size < 8, out = is_int(t) && !is_discrete(from);

	if (!t || (!narrow && !out && !(is_discrete(acc) && dtypes[acc].size < 8)))
		return t;
	error(cx, n->span, E_DTYPE, "%s: a product of %s is not made in %s: leave out %s",
	      n->op->name, dtypes[from].name, dtypes[narrow || out ? t : acc].name,
	      narrow || out ? "dtype" : "acc_dtype");
	return DT_NONE;
}

/* Unlike Sum, CAReduce keeps the dtype of its input. */
enum dtype ty_careduce(struct ctx *cx, struct node *n)
{
	enum dtype t = type_at(n, 0), given = prop_dtype(cx, n, "dtype");
	if (is_onnx_only(t))
		return refuse_input(cx, n, 0);
	if (!prop(cx, n, "scalar_op")->u.op->op) {
		error(cx, n->span, E_UNSUPPORTED, "%s: the scalar op must be an op, not a fn",
		      n->op->name);
		return DT_NONE;
	}
	if (!check_accumulator(cx, n, t))
		return DT_NONE;
	const struct op *scalar = prop(cx, n, "scalar_op")->u.op->op;
	enum dtype acc = prop_dtype(cx, n, "acc_dtype");
	if (scalar->dtype == ty_bits && !is_discrete(t))
		return refuse_input(cx, n, 0);
	if (scalar->dtype == ty_bits && acc && !is_discrete(acc)) {
		error(cx, n->span, E_DTYPE, "%s: %s is done on integers, but acc_dtype is %s",
		      n->op->name, scalar->name, dtypes[acc].name);
		return DT_NONE;
	}
	return given == DT_NONE ? t : given;
}

const struct op *careduce_as(struct ctx *cx, const struct node *n, struct cv **props)
{
	static const struct {
		enum op_id scalar, whole;
	} same[] = {{OP_Add, OP_Sum},
		    {OP_Mul, OP_Prod},
		    {OP_Maximum, OP_Max},
		    {OP_Minimum, OP_Min},
		    {OP_Mul_without_zeros, OP_ProdWithoutZeros},
		    {OP_And, OP_All},
		    {OP_Or, OP_Any}};
	const struct op *scalar = prop(cx, n, "scalar_op")->u.op->op, *op = NULL;

	for (size_t i = 0; i < countof(same); i++)
		if (scalar == &op_table[same[i].scalar])
			op = &op_table[same[i].whole];
	if (!op)
		return NULL;
	const struct op_sig *from = op_sig(cx, n->op), *to = op_sig(cx, op);
	*props = new_array(cx->arena, struct cv, to->nprops + 1);
	for (uint32_t i = 0; i < to->nprops; i++) {
		(*props)[i] = to->props[i].value;
		for (uint32_t j = 0; j < from->nprops; j++)
			if (from->props[j].name == to->props[i].name)
				(*props)[i] = n->props[j];
	}
	return op;
}

enum dtype ty_mean(struct ctx *cx, struct node *n)
{
	enum dtype t = type_at(n, 0), given = prop_dtype(cx, n, "dtype");
	if (is_onnx_only(t))
		return refuse_input(cx, n, 0);
	if (!check_accumulator(cx, n, t))
		return DT_NONE;
	if (given == DT_NONE)
		return is_discrete(t) ? DT_FLOAT64 : t;
	if (is_float(given) || is_complex(given))
		return given;
	error(cx, n->span, E_DTYPE, "%s: the dtype of a mean is a float, got %s", n->op->name,
	      dtypes[given].name);
	return DT_NONE;
}

enum dtype ty_makevector(struct ctx *cx, struct node *n)
{
	enum dtype given = prop_dtype(cx, n, "dtype");
	if (!n->nin)
		return given ? given : DT_INT64;
	enum dtype t = ty_upcast(cx, n);
	if (given == DT_NONE || t == DT_NONE || dtype_upcast(given, t) == given)
		return given ? (t ? given : DT_NONE) : t;
	error(cx, n->span, E_DTYPE, "%s: %s does not fit into %s", n->op->name, dtypes[t].name,
	      dtypes[given].name);
	return DT_NONE;
}

enum dtype ty_arange(struct ctx *cx, struct node *n)
{
	enum dtype given = prop_dtype(cx, n, "dtype"), t = ty_upcast_nocomplex(cx, n);
	if (t == DT_NONE)
		return t;
	return given ? given : is_discrete(t) ? DT_INT64 : t;
}

/* The dtype in which SciPy calls LAPACK. */
static enum dtype lapack_dtype(enum dtype t)
{
	if (is_complex(t))
		return t;
	bool wide = is_float(t) ? dtypes[t].size > 4 : dtypes[t].size > 2;
	return wide ? DT_FLOAT64 : DT_FLOAT32;
}

enum dtype ty_linalg(struct ctx *cx, struct node *n)
{
	uint32_t bad = find_bad_input(n, NULL);
	if (bad < n->nin)
		return refuse_input(cx, n, bad);
	enum dtype t = lapack_dtype(type_at(n, 0));
	for (uint32_t i = 1; i < n->nin; i++)
		if (n->in[i])
			t = dtype_upcast(t, lapack_dtype(type_at(n, i)));
	return t;
}

static bool is_unsigned(enum dtype t)
{
	return dtypes[t].kind == KIND_UINT || t == DT_BOOL;
}

/* PyTensor joins the inputs with an identity matrix of floatX, and negates them: unsigned integers
 * would wrap. */
enum dtype ty_riccati(struct ctx *cx, struct node *n)
{
	uint32_t bad = find_bad_input(n, is_unsigned);
	if (bad < n->nin)
		return refuse_input(cx, n, bad);
	enum dtype t = ty_linalg(cx, n);

	return t ? dtype_upcast(t, cx->floatx) : t;
}

/* As ty_linalg(), but input 4, the pivots, does not count: it is integers. */
enum dtype ty_tridiagonal(struct ctx *cx, struct node *n)
{
	enum dtype t = ty_linalg(cx, n);
	bool wide = false;

	for (uint32_t i = 0; i < n->nin; i++)
		wide |= i != 4 && lapack_dtype(type_at(n, i)) != DT_FLOAT32;
	return t == DT_FLOAT64 && !wide ? DT_FLOAT32 : t;
}

/* PyTensor's type of the result has the common dtype of the inputs, but NumPy computes floats. */
enum dtype ty_tensorsolve(struct ctx *cx, struct node *n)
{
	enum dtype t = upcast_inputs(n, 0);

	if (t == DT_FLOAT32 || t == DT_FLOAT64 || t == DT_NONE)
		return t;
	error(cx, n->span, E_DTYPE,
	      "%s: PyTensor gives it the dtype %s, which its result cannot have", n->op->name,
	      dtypes[t].name);
	return DT_NONE;
}

/* PyTensor writes x into zeros of floatX, unless the mode copies elements of x into the border. */
enum dtype ty_pad(struct ctx *cx, struct node *n)
{
	enum dtype t = type_at(n, 0);
	uint32_t i = find_bad_input(n, is_complex);

	if (is_onnx_only(t))
		return refuse_input(cx, n, 0);
	if (strchr("rsw", prop_str(cx, n, "pad_mode")[0])) /* reflect, symmetric, wrap */
		return t;
	if (i == n->nin)
		return cx->floatx;
	error(cx, n->span, E_DTYPE,
	      "%s: PyTensor makes these borders in floatX, %s, and loses the imaginary part of "
	      "argument %u, %s: take its real part",
	      op_label(cx, n), dtypes[cx->floatx].name, i + 1, type_str(cx, n->in[i]->type));
	return DT_NONE;
}

/* x[...].set(y) and x[...].inc(y) have the dtype of x. For inc, the common dtype must be of the
 * kind of x (NumPy's same_kind). */
enum dtype ty_update(struct ctx *cx, struct node *n)
{
	enum dtype x = type_at(n, 0), y = type_at(n, 1);
	bool add = is_call(n, OP_IncSubtensor) || is_call(n, OP_AdvancedIncSubtensor);
	if (is_onnx_only(x) || is_onnx_only(y))
		return refuse_input(cx, n, is_onnx_only(y));
	if (is_complex(y) && !is_complex(x))
		return refuse_input(cx, n, 1);
	bool wraps =
		is_call(n, OP_AdvancedIncSubtensor) && is_int(x) && is_int(y) &&
		!prop_bool(cx, n, "ignore_duplicates"); /* NumPy adds modulo 2^n, or in float64 */
	if (add && !wraps && dtypes[dtype_upcast(x, y)].kind > dtypes[x].kind) {
		error(cx, n->span, E_DTYPE, "%s: %s cannot be added into %s; Cast it first",
		      n->op->name, dtypes[y].name, dtypes[x].name);
		return DT_NONE;
	}
	return x;
}
