/*
 * rules_known.c: known integers. In: a node whose results are typed. Out: the elements of integer
 * results of rank 0 or 1 as dims, where they are proved. Dims have no overflow, but integers wrap.
 * So an element of an int32 or narrower result is known only if it is a constant of that dtype.
 *
 * Each rule kn_x() returns element i of the result, or DIM_NONE if it is not known.
 */
#include <string.h>

#include "ops/rules.h"

/* Several results (of Split) are numbered as if they were joined: the rule is asked for elements
 * 0, 1 of a first result of two elements, then for 2, 3, ... */
void set_results_known(struct ctx *cx, struct node *n)
{
	uint32_t before = 0;

	for (uint32_t r = 0; r < n->nout; r++) {
		int count = known_count(cx, &n->out[r]->type);
		if (count < 0)
			return;
		struct known *k = known_new(cx, (uint32_t)count);
		for (uint32_t i = 0; i < k->n; i++)
			if (!(k->at[i] = n->op->known(cx, n, before + i)))
				return;
		/* Reshape(x, [0]) has no elements, but fails if x has some: the result is not known
		 * if x is not */
		struct value *x = n->nin ? n->in[0] : NULL;
		if (!k->n && n->op->known != kn_shape && x && !known_of(cx, x))
			return;
		before += k->n;
		known_set(cx, n->out[r], k);
	}
}

static dim input_element(struct ctx *cx, const struct node *n, uint32_t in, uint32_t i)
{
	return n->in[in] ? known_broadcast(cx, n->in[in], i) : DIM_NONE;
}

/* --- arithmetic --- */

/* As in PyTensor, a division of integers by 0 gives 0. DIM_NONE: b is neither constant nor proved
 * positive */
static dim known_divide(struct ctx *cx, dim a, dim b, bool mod)
{
	int64_t x, y;
	if (dim_is_const(cx, b, &y)) {
		if (y == 0)
			return dim_const(cx, 0);
		if (dim_is_const(cx, a, &x) && y == -1) /* INT64_MIN // -1 overflows */
			return mod ? dim_const(cx, 0) : dim_neg(cx, a);
	} else if (!dim_ge(cx, b, 1)) {
		return DIM_NONE;
	}
	return mod ? dim_mod(cx, a, b) : dim_floordiv(cx, a, b);
}

/* The op on elements a and b; b is DIM_NONE for ops of one argument. */
static dim compute(struct ctx *cx, enum op_id op, dim a, dim b)
{
	switch ((int)op) { /* the ops with kn_arith in their row */
	case OP_Add:
		return dim_add(cx, a, b);
	case OP_Sub:
		return dim_sub(cx, a, b);
	case OP_Mul:
		return dim_mul(cx, a, b);
	case OP_Int_div:
		return known_divide(cx, a, b, false);
	case OP_Mod:
		return known_divide(cx, a, b, true);
	case OP_Maximum:
		return dim_max(cx, a, b);
	case OP_Minimum:
		return dim_min(cx, a, b);
	case OP_Neg:
		return dim_neg(cx, a);
	case OP_Abs:
		return dim_abs(cx, a);
	case OP_Sign:
		return dim_sign(cx, a);
	case OP_Sqr:
		return dim_mul(cx, a, a);
	}
	return DIM_NONE;
}

/* Are a and b constants whose op wraps in int64? */
static bool overflows(struct ctx *cx, enum op_id op, dim a, dim b)
{
	int64_t x, y, r;
	if (!dim_is_const(cx, a, &x))
		return false;
	if (op == OP_Neg || op == OP_Abs)
		return x == INT64_MIN;
	if (op == OP_Sqr)
		return __builtin_mul_overflow(x, x, &r);
	if (!b || !dim_is_const(cx, b, &y))
		return false;
	switch ((int)op) {
	case OP_Add:
		return __builtin_add_overflow(x, y, &r);
	case OP_Sub:
		return __builtin_sub_overflow(x, y, &r);
	case OP_Mul:
		return __builtin_mul_overflow(x, y, &r);
	case OP_Int_div:
		return x == INT64_MIN && y == -1;
	}
	return false;
}

static bool is_ordered(enum op_id op)
{
	return op == OP_Int_div || op == OP_Mod || op == OP_Maximum || op == OP_Minimum ||
	       op == OP_Abs || op == OP_Sign || op == OP_Lt || op == OP_Le || op == OP_Gt ||
	       op == OP_Ge;
}

static bool may_wrap(struct ctx *cx, enum op_id op, dim d)
{
	return known_may_wrap(cx, d, is_ordered(op));
}

/* a op b, where known_may_wrap() is false for a and b */
static dim combine(struct ctx *cx, enum op_id op, dim a, dim b)
{
	bool exact = op == OP_Add || op == OP_Sub || op == OP_Mul;
	if (exact && known_leaves_int64(cx, a, b))
		return DIM_NONE;
	dim d = overflows(cx, op, a, b) ? DIM_NONE : compute(cx, op, a, b);
	return d && is_ordered(op) && known_minmax_wraps(cx, d) ? DIM_NONE : d;
}

static const struct node *made_by(const struct value *v, enum op_id op)
{
	return is_call(v->def, op) ? v->def : NULL;
}

/* The length that arrays of lengths v have together, as PyTensor computes it behind an indexing by
 * several arrays: Abs(Max(Switch(v == 1, -1, v))). It is d if all of v are d or 1. n: Abs */
static dim broadcast_length(struct ctx *cx, const struct node *n)
{
	const struct node *max = made_by(n->in[0], OP_Max);
	const struct node *lengths = max ? made_by(max->in[0], OP_Switch) : NULL;
	const struct node *is_one = lengths ? made_by(lengths->in[0], OP_Eq) : NULL;
	dim one = dim_const(cx, 1), common = one, k;

	if (!is_one || is_one->in[0] != lengths->in[2] || max->out[0]->type.rank)
		return DIM_NONE;
	const struct known *v = known_of(cx, lengths->in[2]);
	k = known_broadcast(cx, is_one->in[1], 0);
	if (!v || !v->n || !k || !dim_eq(cx, k, one))
		return DIM_NONE;
	k = known_broadcast(cx, lengths->in[1], 0);
	if (!k || !dim_eq(cx, k, dim_const(cx, -1)))
		return DIM_NONE;
	for (uint32_t i = 0; i < v->n; i++) {
		bool stretched = dim_eq(cx, v->at[i], one);
		if (!stretched && !dim_eq(cx, common, one) && !dim_eq(cx, common, v->at[i]))
			return DIM_NONE;
		common = stretched ? common : v->at[i];
	}
	return dim_ge(cx, common, 0) ? common : DIM_NONE;
}

dim kn_arith(struct ctx *cx, struct node *n, uint32_t i)
{
	enum op_id op = (enum op_id)(n->op - op_table);
	dim d = input_element(cx, n, 0, i);
	if (op == OP_Abs && !d)
		return broadcast_length(cx, n);
	if (n->out[0]->type.dtype == DT_BOOL)
		return DIM_NONE;
	for (uint32_t a = 0; a < n->nin; a++) {
		dim e = input_element(cx, n, a, i);
		if (!e || may_wrap(cx, op, e))
			return DIM_NONE;
	}
	/* dims compute a // -n as -a // n, and -a may wrap */
	if ((op == OP_Int_div || op == OP_Mod) && !dim_ge(cx, input_element(cx, n, 1, i), 1) &&
	    (dim_sources(cx, d, false) & FROM_VALUE))
		return DIM_NONE;
	if (n->nin == 1)
		return op == OP_Add || op == OP_Mul     ? d
		       : overflows(cx, op, d, DIM_NONE) ? DIM_NONE
							: compute(cx, op, d, DIM_NONE);
	/* a sum of int8, int8 and int64 is computed as (int8 + int8) + int64 */
	enum dtype t = (enum dtype)n->in[0]->type.dtype;
	for (uint32_t a = 1; a < n->nin && d; a++) {
		t = dtype_upcast(t, (enum dtype)n->in[a]->type.dtype);
		d = combine(cx, op, d, input_element(cx, n, a, i));
		d = known_holds(cx, t, d) ? d : DIM_NONE;
	}
	return d;
}

/* 1: a op b is proved true, 0: proved false, -1: neither */
static int prove_comparison(struct ctx *cx, enum op_id op, dim a, dim b)
{
	dim d = dim_sub(cx, a, b);
	if (may_wrap(cx, op, a) || may_wrap(cx, op, b))
		return -1;
	switch ((int)op) {
	case OP_Eq:
		return dim_eq(cx, a, b) ? 1 : dim_ne(cx, a, b) ? 0 : -1;
	case OP_Neq:
		return dim_eq(cx, a, b) ? 0 : dim_ne(cx, a, b) ? 1 : -1;
	case OP_Lt:
		return dim_le(cx, d, -1) ? 1 : dim_ge(cx, d, 0) ? 0 : -1;
	case OP_Le:
		return dim_le(cx, d, 0) ? 1 : dim_ge(cx, d, 1) ? 0 : -1;
	case OP_Gt:
		return dim_ge(cx, d, 1) ? 1 : dim_le(cx, d, 0) ? 0 : -1;
	case OP_Ge:
		return dim_ge(cx, d, 0) ? 1 : dim_le(cx, d, -1) ? 0 : -1;
	}
	return -1;
}

dim kn_compare(struct ctx *cx, struct node *n, uint32_t i)
{
	dim a = input_element(cx, n, 0, i), b = input_element(cx, n, 1, i);
	int v = a && b ? prove_comparison(cx, (enum op_id)(n->op - op_table), a, b) : -1;

	return v < 0 ? DIM_NONE : dim_const(cx, v);
}

/* Only the branch that a known condition takes has to be known, or both are the same. */
dim kn_switch(struct ctx *cx, struct node *n, uint32_t i)
{
	dim zero = dim_const(cx, 0), condition = input_element(cx, n, 0, i);
	dim yes = input_element(cx, n, 1, i), no = input_element(cx, n, 2, i);

	if (yes && no && dim_eq(cx, yes, no))
		return yes;
	if (!condition)
		return DIM_NONE;
	return dim_eq(cx, condition, zero) ? no : dim_ne(cx, condition, zero) ? yes : DIM_NONE;
}

/* All and Any of known elements */
dim kn_logic(struct ctx *cx, struct node *n, uint32_t i)
{
	const struct known *k = known_of(cx, n->in[0]);
	dim zero = dim_const(cx, 0);
	bool all = is_call(n, OP_All), decided = false, open = false;

	(void)i;
	if (!k || n->out[0]->type.rank)
		return DIM_NONE;
	for (uint32_t j = 0; j < k->n; j++) {
		decided |= all ? dim_eq(cx, k->at[j], zero) : dim_ne(cx, k->at[j], zero);
		open |= !dim_eq(cx, k->at[j], zero) && !dim_ne(cx, k->at[j], zero);
	}
	return decided ? dim_const(cx, !all) : open ? DIM_NONE : dim_const(cx, all);
}

/* --- copies, where a single element may broadcast --- */

dim kn_same(struct ctx *cx, struct node *n, uint32_t i)
{
	bool to_bool = n->out[0]->type.dtype == DT_BOOL && n->in[0]->type.dtype != DT_BOOL;

	return to_bool ? DIM_NONE : input_element(cx, n, 0, i);
}

dim kn_second(struct ctx *cx, struct node *n, uint32_t i)
{
	return input_element(cx, n, 1, i);
}

dim kn_alloc(struct ctx *cx, struct node *n, uint32_t i)
{
	return input_element(cx, n, 0, i);
}

/* The same elements in another shape; both have rank 0 or 1. */
dim kn_reshape(struct ctx *cx, struct node *n, uint32_t i)
{
	const struct known *k = known_of(cx, n->in[0]);

	return k && k->n == (uint32_t)known_count(cx, &n->out[0]->type) ? k->at[i] : DIM_NONE;
}

/* Reshape of known elements to a vector. They are known only if the length that is asked for is:
 * else the run must compare that with how many there are. */
dim kn_reshape_to(struct ctx *cx, struct node *n, uint32_t i)
{
	int64_t length;
	dim asked = n->out[0]->type.rank ? shape_element(cx, n->in[1], 0) : dim_const(cx, 1);

	if (!asked || (!dim_is_const(cx, asked, &length) && !dim_ge(cx, asked, 0)))
		return DIM_NONE;
	return kn_reshape(cx, n, i);
}

/* --- shapes and vectors --- */

dim kn_shape(struct ctx *cx, struct node *n, uint32_t i)
{
	(void)cx;
	return n->in[0]->type.dims[i];
}

dim kn_shape_i(struct ctx *cx, struct node *n, uint32_t i)
{
	const struct type *t = &n->in[0]->type;
	int64_t axis = prop_int(cx, n, "i");

	(void)i;
	return t->dims[from_front(axis, t->rank)];
}

/* Join of vectors and MakeVector: the elements of all inputs, one after another. */
dim kn_join(struct ctx *cx, struct node *n, uint32_t i)
{
	for (uint32_t in = 0; in < n->nin; in++) {
		const struct known *k = known_of(cx, n->in[in]);
		if (!k)
			return DIM_NONE;
		if (i < k->n)
			return k->at[i];
		i -= k->n;
	}
	return DIM_NONE;
}

dim kn_split(struct ctx *cx, struct node *n, uint32_t i)
{
	const struct known *k = known_of(cx, n->in[0]);

	return k && i < k->n ? k->at[i] : DIM_NONE;
}

dim kn_arange(struct ctx *cx, struct node *n, uint32_t i)
{
	dim start = scalar_dim(cx, n->in[0]), step = scalar_dim(cx, n->in[2]);

	return start && step ? dim_add(cx, start, dim_mul(cx, step, dim_const(cx, i))) : DIM_NONE;
}

/* Does the accumulator of a Sum or Prod of integers hold its result d? Then it does not matter if
 * an intermediate result wraps. */
static bool accumulator_holds(struct ctx *cx, struct node *n, dim d)
{
	enum dtype acc = prop_dtype(cx, n, "acc_dtype"), t = (enum dtype)n->in[0]->type.dtype;
	if (acc == DT_NONE)
		acc = dtypes[t].kind == KIND_UINT ? DT_UINT64 : DT_INT64;
	return is_discrete(acc) && known_holds(cx, acc, d);
}

dim kn_reduce(struct ctx *cx, struct node *n, uint32_t i)
{
	const struct known *k = known_of(cx, n->in[0]);
	enum op_id op = (enum op_id)(n->op - op_table);
	bool sum = op == OP_Sum, prod = op == OP_Prod;
	if (!k || n->out[0]->type.dtype == DT_BOOL)
		return DIM_NONE;
	if (n->out[0]->type.rank) /* axes=[] of a vector */
		return input_element(cx, n, 0, i);
	if (!k->n && !sum && !prod)
		return DIM_NONE;
	enum op_id step = sum ? OP_Add : prod ? OP_Mul : op == OP_Max ? OP_Maximum : OP_Minimum;
	dim d = k->n ? k->at[0] : dim_const(cx, prod);
	for (uint32_t j = 0; j < k->n; j++)
		if (may_wrap(cx, step, k->at[j]))
			return DIM_NONE;
	for (uint32_t j = 1; d && j < k->n; j++)
		d = combine(cx, step, d, k->at[j]);
	return (sum || prod) && !accumulator_holds(cx, n, d) ? DIM_NONE : d;
}

/* --- x[i] and x[a:b:c] of a known vector --- */

/* *out = the index, or the bound or step of a slice, if it is a constant; None leaves *out alone.
 * false: it is not known */
static bool read_const_index(struct ctx *cx, const struct node *n, const struct cv *v, int64_t *out)
{
	uint32_t first = is_call(n, OP_Subtensor) ? 1 : 2; /* index input */
	if (v->kind == CV_NONE)
		return true;
	dim d = scalar_dim(cx, n->in[first + v->u.i]);
	return d && dim_is_const(cx, d, out);
}

static int64_t clamp_bound(int64_t i, int64_t n, int64_t low, int64_t high)
{
	if (i < 0)
		i = i < -n ? low : i + n;
	return i < low ? low : i > high ? high : i;
}

/* Element i of k[start:stop:step]. The length of the result is known, so stop is not needed, but
 * must be a constant. */
static dim sliced_element(struct ctx *cx, const struct node *n, const struct known *k,
			  const struct cv *v, uint32_t i)
{
	int64_t len = k->n, step = 1, stop = 0, at;
	if (!read_const_index(cx, n, &v->u.items[2], &step) || step == 0)
		return DIM_NONE;
	int64_t start = step > 0 ? 0 : INT64_MAX;
	if (!read_const_index(cx, n, &v->u.items[0], &start) ||
	    !read_const_index(cx, n, &v->u.items[1], &stop))
		return DIM_NONE;
	start = clamp_bound(start, len, step > 0 ? 0 : -1, step > 0 ? len : len - 1);
	if (__builtin_mul_overflow((int64_t)i, step, &at) || (at += start) < 0 || at >= len)
		return DIM_NONE;
	return k->at[at];
}

/* Are the first `count` axes of x[...] indexed by slices, which never fail? */
static bool only_slices(const struct cv *list, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (list->u.items[i].kind != CV_SLICE)
			return false;
	return true;
}

/* x[:, j] of x = Alloc(v, ...), where v is a known vector: an element of v. PyTensor's
 * vectorize_graph takes lengths of a batch so from the shape of its items. */
static dim element_of_rows(struct ctx *cx, const struct node *n)
{
	const struct cv *list = prop(cx, n, "idx_list");
	const struct node *rows = made_by(n->in[0], OP_Alloc);
	const struct known *k =
		rows && rows->in[0]->type.rank == 1 ? known_of(cx, rows->in[0]) : NULL;
	int64_t at = 0, len = k ? k->n : 0;

	if (!k || list->n != n->in[0]->type.rank || !only_slices(list, list->n - 1) ||
	    list->u.items[list->n - 1].kind == CV_SLICE ||
	    !dim_is(cx, n->in[0]->type.dims[list->n - 1], len) ||
	    !read_const_index(cx, n, &list->u.items[list->n - 1], &at) || at < -len || at >= len)
		return DIM_NONE;
	return k->at[from_front(at, len)];
}

dim kn_subtensor(struct ctx *cx, struct node *n, uint32_t i)
{
	const struct cv *list = prop(cx, n, "idx_list");
	const struct known *k = n->in[0]->type.rank <= 1 ? known_of(cx, n->in[0]) : NULL;
	int64_t at = 0;
	if (!k)
		return element_of_rows(cx, n);
	if (list->n == 0)
		return input_element(cx, n, 0, i);
	if (list->u.items[0].kind == CV_SLICE)
		return sliced_element(cx, n, k, &list->u.items[0], i);
	if (!read_const_index(cx, n, &list->u.items[0], &at) || at < -(int64_t)k->n || at >= k->n)
		return DIM_NONE;
	return k->at[from_front(at, k->n)];
}

/* x[i].set(y) of a known vector: the lengths of Fourier transforms are computed so. */
dim kn_setsubtensor(struct ctx *cx, struct node *n, uint32_t i)
{
	const struct cv *list = prop(cx, n, "idx_list");
	const struct known *k = n->in[0]->type.rank == 1 ? known_of(cx, n->in[0]) : NULL;
	dim y = scalar_dim(cx, n->in[1]);
	int64_t at = 0;
	if (!k || !y || list->n != 1 || list->u.items[0].kind == CV_SLICE ||
	    !read_const_index(cx, n, &list->u.items[0], &at) || at < -(int64_t)k->n || at >= k->n)
		return DIM_NONE;
	return from_front(at, k->n) == i ? y : i < k->n ? k->at[i] : DIM_NONE;
}

/* --- integers of a batch --- */

#define MAX_DEPTH 8 /* of sums of lengths */

static dim equal_to_depth(struct ctx *cx, struct value *v, int depth)
{
	struct node *n = v->def;
	const struct known *k = known_of(cx, v);
	dim d;

	for (uint32_t i = 1; k && i < k->n; i++)
		if (!dim_eq(cx, k->at[i], k->at[0]))
			return DIM_NONE;
	if (k && k->n)
		return k->at[0];
	if (!n || !depth || !is_discrete((enum dtype)v->type.dtype))
		return DIM_NONE;
	switch ((int)(n->op - op_table)) {
	case OP_ExpandDims:
	case OP_Squeeze:
	case OP_Transpose:
	case OP_Alloc:
		return equal_to_depth(cx, n->in[0], depth - 1);
	case OP_Subtensor:
		return element_of_rows(cx, n);
	case OP_Add:
	case OP_Sub:
	case OP_Maximum:
	case OP_Minimum:
		break;
	default:
		return DIM_NONE;
	}
	enum op_id op = (enum op_id)(n->op - op_table);
	d = equal_to_depth(cx, n->in[0], depth - 1);
	for (uint32_t i = 1; i < n->nin && d; i++) {
		dim e = equal_to_depth(cx, n->in[i], depth - 1);
		if (!e || may_wrap(cx, op, d) || may_wrap(cx, op, e))
			return DIM_NONE;
		d = combine(cx, op, d, e);
	}
	return d && known_holds(cx, (enum dtype)v->type.dtype, d) ? d : DIM_NONE;
}

dim equal_elements(struct ctx *cx, struct value *v)
{
	return equal_to_depth(cx, v, MAX_DEPTH);
}
