/*
 * rules_known.c: known integers. In: a node whose results are typed. Out: for integer results of
 * rank 0 or 1 and at most MAX_KNOWN elements, what their elements are as dims, where that is
 * proved. Arithmetic on dims never wraps, so it is kept only where the dtype is int64, or where all
 * elements are constants that the dtype holds.
 */
#include <string.h>

#include "ops/rules.h"

/* --- writing --- */

/* Number of elements of a result that can have known integers; -1 if it cannot. */
static int known_count(struct ctx *cx, const struct value *v)
{
	int64_t len = 1;
	if (!can_be_known(&v->type) || (v->type.rank && !dim_is_const(cx, v->type.dims[0], &len)))
		return -1;
	return len >= 0 && len <= MAX_KNOWN ? (int)len : -1;
}

static void set_known(struct ctx *cx, struct value *v, struct known *k)
{
	for (uint32_t i = 0; i < k->n; i++)
		if (!known_holds(cx, (enum dtype)v->type.dtype, k->at[i]))
			return;
	v->known = k;
}

/* Element i of an operand that broadcasts to n elements. */
static dim element(const struct known *k, uint32_t i)
{
	return k->at[k->n == 1 ? 0 : i];
}

/* All inputs known and broadcast to n elements? */
static bool inputs_known(struct ctx *cx, struct node *n, uint32_t count, const struct known **k)
{
	for (uint32_t i = 0; i < n->nin; i++) {
		k[i] = n->in[i] ? known_of(cx, n->in[i]) : NULL;
		if (!k[i] || (k[i]->n != 1 && k[i]->n != count))
			return false;
	}
	return true;
}

/* --- arithmetic --- */

/* Divisors have to be constants or proved positive; a division by 0 gives 0. */
static dim divide(struct ctx *cx, dim a, dim b, bool mod)
{
	int64_t x, y;
	if (dim_is_const(cx, b, &y)) {
		if (y == 0)
			return dim_const(cx, 0);
		if (dim_is_const(cx, a, &x) && y == -1) /* the one that overflows */
			return mod ? dim_const(cx, 0) : dim_neg(cx, a);
	} else if (!dim_ge(cx, b, 1)) {
		return DIM_NONE;
	}
	return mod ? dim_mod(cx, a, b) : dim_floordiv(cx, a, b);
}

static dim sign(struct ctx *cx, dim a)
{
	int64_t v;
	if (dim_ge(cx, a, 1) || dim_le(cx, a, -1))
		return dim_const(cx, dim_ge(cx, a, 1) ? 1 : -1);
	return dim_is_const(cx, a, &v) && v == 0 ? a : DIM_NONE;
}

static dim absolute(struct ctx *cx, dim a)
{
	return dim_ge(cx, a, 0) ? a : dim_le(cx, a, 0) ? dim_neg(cx, a) : DIM_NONE;
}

/* The op on elements, b DIM_NONE for ops of one argument. */
static dim compute(struct ctx *cx, enum op_id op, dim a, dim b)
{
	switch ((int)op) { /* only the ops that have kn_arith in their row */
	case OP_Add:
		return dim_add(cx, a, b);
	case OP_Sub:
		return dim_sub(cx, a, b);
	case OP_Mul:
		return dim_mul(cx, a, b);
	case OP_Int_div:
		return divide(cx, a, b, false);
	case OP_Mod:
		return divide(cx, a, b, true);
	case OP_Maximum:
		return dim_max(cx, a, b);
	case OP_Minimum:
		return dim_min(cx, a, b);
	case OP_Neg:
		return dim_neg(cx, a);
	case OP_Abs:
		return absolute(cx, a);
	case OP_Sign:
		return sign(cx, a);
	case OP_Sqr:
		return dim_mul(cx, a, a);
	}
	return DIM_NONE;
}

/* int64 arithmetic wraps in PyTensor; constants that would are left alone. */
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

/* a op b, of which neither may wrap */
static dim combine(struct ctx *cx, enum op_id op, dim a, dim b)
{
	bool exact = op == OP_Add || op == OP_Sub || op == OP_Mul;
	if (exact && known_leaves_int64(cx, a, b))
		return DIM_NONE;
	dim d = overflows(cx, op, a, b) ? DIM_NONE : compute(cx, op, a, b);
	return d && is_ordered(op) && known_extreme_wraps(cx, d) ? DIM_NONE : d;
}

static dim fold(struct ctx *cx, struct node *n, const struct known **k, uint32_t i)
{
	enum op_id op = (enum op_id)(n->op - op_table);
	dim d = element(k[0], i);
	for (uint32_t a = 0; a < n->nin; a++)
		if (may_wrap(cx, op, element(k[a], i)))
			return DIM_NONE;
	if ((op == OP_Int_div || op == OP_Mod) && !dim_ge(cx, element(k[1], i), 1) &&
	    (dim_sources(cx, d, false) & FROM_VALUE))
		return DIM_NONE; /* dims divide by -n as by n, after an addition */
	if (n->nin == 1)
		return op == OP_Add || op == OP_Mul     ? d
		       : overflows(cx, op, d, DIM_NONE) ? DIM_NONE
							: compute(cx, op, d, DIM_NONE);
	enum dtype t =
		(enum dtype)n->in[0]->type.dtype; /* of two, which the third does not widen */
	for (uint32_t a = 1; a < n->nin && d; a++) {
		t = dtype_upcast(t, (enum dtype)n->in[a]->type.dtype);
		d = combine(cx, op, d, element(k[a], i));
		d = known_holds(cx, t, d) ? d : DIM_NONE;
	}
	return d;
}

void kn_arith(struct ctx *cx, struct node *n)
{
	int count = known_count(cx, n->out[0]);
	if (count < 0 || n->out[0]->type.dtype == DT_BOOL)
		return;
	const struct known **k = new_array(cx->arena, const struct known *, n->nin);
	if (!inputs_known(cx, n, (uint32_t)count, k))
		return;
	struct known *r = known_new(cx, (uint32_t)count);
	for (uint32_t i = 0; i < r->n; i++)
		if (!(r->at[i] = fold(cx, n, k, i)))
			return;
	set_known(cx, n->out[0], r);
}

/* Proved true 1, proved false 0, else -1, of a - b against 0. */
static int compare(struct ctx *cx, enum op_id op, dim a, dim b)
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

void kn_compare(struct ctx *cx, struct node *n)
{
	const struct known *k[2];
	int count = known_count(cx, n->out[0]);
	if (count < 0 || !inputs_known(cx, n, (uint32_t)count, k))
		return;
	struct known *r = known_new(cx, (uint32_t)count);
	for (uint32_t i = 0; i < r->n; i++) {
		int v = compare(cx, (enum op_id)(n->op - op_table), element(k[0], i),
				element(k[1], i));
		if (v < 0)
			return;
		r->at[i] = dim_const(cx, v);
	}
	set_known(cx, n->out[0], r);
}

/* Only the branch that a known condition takes has to be known. */
void kn_switch(struct ctx *cx, struct node *n)
{
	int count = known_count(cx, n->out[0]);
	const struct known *c = known_of(cx, n->in[0]);
	if (count < 0 || !c || (c->n != 1 && c->n != (uint32_t)count))
		return;
	struct known *r = known_new(cx, (uint32_t)count);
	for (uint32_t i = 0; i < r->n; i++) {
		dim zero = dim_const(cx, 0), d = element(c, i);
		bool no = dim_eq(cx, d, zero);
		if (!no && !dim_ne(cx, d, zero))
			return;
		const struct known *k = known_of(cx, n->in[no ? 2 : 1]);
		if (!k || (k->n != 1 && k->n != r->n))
			return;
		r->at[i] = element(k, i);
	}
	set_known(cx, n->out[0], r);
}

/* --- copies --- */

/* The elements of `from`, one of them standing for all where it broadcasts. */
static void copy_known(struct ctx *cx, struct value *to, const struct known *from)
{
	int count = known_count(cx, to);
	if (!from || count < 0 || (from->n != 1 && from->n != (uint32_t)count))
		return;
	struct known *r = known_new(cx, (uint32_t)count);
	for (uint32_t i = 0; i < r->n; i++)
		r->at[i] = element(from, i);
	set_known(cx, to, r);
}

void kn_same(struct ctx *cx, struct node *n)
{
	/* a number cast to bool is another one */
	if (n->out[0]->type.dtype == DT_BOOL && n->in[0]->type.dtype != DT_BOOL)
		return;
	copy_known(cx, n->out[0], known_of(cx, n->in[0]));
}

void kn_second(struct ctx *cx, struct node *n)
{
	copy_known(cx, n->out[0], known_of(cx, n->in[1]));
}

void kn_alloc(struct ctx *cx, struct node *n)
{
	copy_known(cx, n->out[0], known_of(cx, n->in[0]));
}

/* The same elements in another shape; both have rank 0 or 1. */
void kn_reshape(struct ctx *cx, struct node *n)
{
	const struct known *k = known_of(cx, n->in[0]);
	int count = known_count(cx, n->out[0]);
	if (k && count >= 0 && k->n == (uint32_t)count)
		copy_known(cx, n->out[0], k);
}

/* --- shapes and vectors --- */

void kn_shape(struct ctx *cx, struct node *n)
{
	const struct type *t = &n->in[0]->type;
	struct known *r = known_new(cx, t->rank);
	for (uint32_t i = 0; i < r->n; i++)
		r->at[i] = t->dims[i];
	if (r->n <= MAX_KNOWN)
		set_known(cx, n->out[0], r);
}

void kn_shape_i(struct ctx *cx, struct node *n)
{
	const struct type *t = &n->in[0]->type;
	int64_t i = prop_int(cx, n, "i");
	struct known *r = known_new(cx, 1);
	r->at[0] = t->dims[i < 0 ? i + t->rank : i];
	set_known(cx, n->out[0], r);
}

/* Join of vectors and MakeVector: the elements of all inputs in a row. */
void kn_join(struct ctx *cx, struct node *n)
{
	int count = known_count(cx, n->out[0]);
	if (count < 0)
		return;
	struct known *r = known_new(cx, (uint32_t)count);
	uint32_t at = 0;
	for (uint32_t i = 0; i < n->nin; i++) {
		const struct known *k = known_of(cx, n->in[i]);
		if (!k || k->n > r->n - at)
			return;
		for (uint32_t j = 0; j < k->n; j++)
			r->at[at++] = k->at[j];
	}
	if (at == r->n)
		set_known(cx, n->out[0], r);
}

void kn_split(struct ctx *cx, struct node *n)
{
	const struct known *k = known_of(cx, n->in[0]);
	uint32_t at = 0;
	for (uint32_t i = 0; k && i < n->nout; i++) {
		int count = known_count(cx, n->out[i]);
		if (count < 0 || (uint32_t)count > k->n - at)
			return;
		struct known *r = known_new(cx, (uint32_t)count);
		for (uint32_t j = 0; j < r->n; j++)
			r->at[j] = k->at[at++];
		set_known(cx, n->out[i], r);
	}
}

void kn_arange(struct ctx *cx, struct node *n)
{
	dim a = scalar_dim(cx, n->in[0]), step = scalar_dim(cx, n->in[2]);
	int count = known_count(cx, n->out[0]);
	if (count < 0 || !a || !step)
		return;
	struct known *r = known_new(cx, (uint32_t)count);
	for (uint32_t i = 0; i < r->n; i++)
		r->at[i] = dim_add(cx, a, dim_mul(cx, step, dim_const(cx, i)));
	set_known(cx, n->out[0], r);
}

/* Does what Sum and Prod of integers accumulate in hold their result? Then no step before counts.
 */
static bool accumulates(struct ctx *cx, struct node *n, dim d)
{
	enum dtype acc = prop_dtype(cx, n, "acc_dtype"), t = (enum dtype)n->in[0]->type.dtype;
	if (acc == DT_NONE)
		acc = dtypes[t].kind == KIND_UINT ? DT_UINT64 : DT_INT64;
	return is_discrete(acc) && known_holds(cx, acc, d);
}

void kn_reduce(struct ctx *cx, struct node *n)
{
	const struct known *k = known_of(cx, n->in[0]);
	enum op_id op = (enum op_id)(n->op - op_table);
	bool sum = op == OP_Sum, prod = op == OP_Prod;
	if (!k || known_count(cx, n->out[0]) < 0 || n->out[0]->type.dtype == DT_BOOL)
		return;
	if (n->out[0]->type.rank) { /* axes=[] of a vector */
		copy_known(cx, n->out[0], k);
		return;
	}
	if (!k->n && !sum && !prod)
		return;
	enum op_id step = sum ? OP_Add : prod ? OP_Mul : op == OP_Max ? OP_Maximum : OP_Minimum;
	struct known *r = known_new(cx, 1);
	dim d = k->n ? k->at[0] : dim_const(cx, prod);
	for (uint32_t i = 0; i < k->n; i++)
		if (may_wrap(cx, step, k->at[i]))
			return;
	for (uint32_t i = 1; d && i < k->n; i++)
		d = combine(cx, step, d, k->at[i]);
	if ((sum || prod) && !accumulates(cx, n, d))
		return;
	r->at[0] = d;
	set_known(cx, n->out[0], r);
}

/* --- x[i] and x[a:b:c] of a known vector --- */

/* An index part that is a constant; missing parts keep *v. Indices are the last inputs. */
static bool const_part(struct ctx *cx, struct node *n, const struct cv *v, int64_t *out)
{
	enum op_id op = (enum op_id)(n->op - op_table);
	if (v->kind == CV_NONE)
		return true;
	dim d = scalar_dim(cx, n->in[(op == OP_Subtensor ? 1 : 2) + v->u.i]);
	return d && dim_is_const(cx, d, out);
}

static int64_t clamp(int64_t i, int64_t n, int64_t low, int64_t high)
{
	if (i < 0)
		i = i < -n ? low : i + n;
	return i < low ? low : i > high ? high : i;
}

static void known_slice(struct ctx *cx, struct node *n, const struct known *k, const struct cv *v)
{
	int count = known_count(cx, n->out[0]);
	int64_t len = k->n, step = 1, start, stop = 0;
	if (!const_part(cx, n, &v->u.items[2], &step) || step == 0 || count < 0)
		return;
	start = step > 0 ? 0 : INT64_MAX;
	if (!const_part(cx, n, &v->u.items[0], &start) ||
	    !const_part(cx, n, &v->u.items[1], &stop)) /* its length is in the type already */
		return;
	start = clamp(start, len, step > 0 ? 0 : -1, step > 0 ? len : len - 1);
	struct known *r = known_new(cx, (uint32_t)count);
	for (uint32_t i = 0; i < r->n; i++) {
		int64_t at;
		if (__builtin_mul_overflow((int64_t)i, step, &at) || (at += start) < 0 || at >= len)
			return;
		r->at[i] = k->at[at];
	}
	set_known(cx, n->out[0], r);
}

void kn_subtensor(struct ctx *cx, struct node *n)
{
	const struct cv *list = prop(cx, n, "idx_list");
	const struct known *k = n->in[0]->type.rank <= 1 ? known_of(cx, n->in[0]) : NULL;
	int64_t i = 0;
	if (!k)
		return;
	if (list->n == 0) {
		copy_known(cx, n->out[0], k);
	} else if (list->u.items[0].kind == CV_SLICE) {
		known_slice(cx, n, k, &list->u.items[0]);
	} else if (const_part(cx, n, &list->u.items[0], &i) && i >= -(int64_t)k->n && i < k->n) {
		struct known *r = known_new(cx, 1);
		r->at[0] = k->at[i < 0 ? i + k->n : i];
		set_known(cx, n->out[0], r);
	}
}

/* x[i].set(y) of a known vector, as it is written for lengths of transforms */
void kn_setsubtensor(struct ctx *cx, struct node *n)
{
	const struct cv *list = prop(cx, n, "idx_list");
	const struct known *k = n->in[0]->type.rank == 1 ? known_of(cx, n->in[0]) : NULL;
	dim y = scalar_dim(cx, n->in[1]);
	int64_t i = 0;
	if (!k || !y || list->n != 1 || list->u.items[0].kind == CV_SLICE ||
	    !const_part(cx, n, &list->u.items[0], &i) || i < -(int64_t)k->n || i >= k->n)
		return;
	struct known *r = known_new(cx, k->n);
	memcpy(r->at, k->at, k->n * sizeof(dim));
	r->at[i < 0 ? i + k->n : i] = y;
	set_known(cx, n->out[0], r);
}
