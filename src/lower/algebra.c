/*
 * algebra.c: the same number by a cheaper node (-fno-fold turns it off). In: an operator on floats
 * and its inputs, before a node is made. Out: the value that the node would give, by fewer or
 * cheaper nodes; NULL: there are none. Must hold: the result has the same bits, but where signs of
 * zeros do not count (-fno-signed-zeros) or constants may be joined (-freassociate). What is added
 * up, or squared on the way, is at most GROWTH times as large as what the text adds up, so that
 * where it cancels no digits are lost that the text has (-flarge-terms allows more).
 */
#include <math.h>

#include "lower/build.h"

/* Constants between these are joined: their product neither overflows nor loses bits. */
#define JOINED_MIN 0x1p-30
#define JOINED_MAX 0x1p+30

#define MAX_SUMS  16
#define MAX_PICKS 4 /* nodes that pick elements, one behind the other */

bool is_number_beside(const struct value *v, const struct value *x, double *k)
{
	return v->type.rank <= x->type.rank && single_number(constant_data(v), k) && isfinite(*k);
}

struct value *number_like(struct build *b, const struct value *v, double k)
{
	return const_tensor(b, tensor_filled(b->cx, (enum dtype)v->type.dtype, v->type.rank,
					     v->data->shape, k));
}

/* x of Neg(x); NULL: v is no such thing */
static struct value *behind_neg(const struct value *v)
{
	return is_onnx(v->def, ONNX_Neg) ? v->def->in[0] : NULL;
}

static struct value *negate(struct build *b, struct value *v)
{
	return emit_(b, ONNX_Neg, v);
}

static bool is_power_of_two(double x)
{
	int e;

	return fabs(frexp(x, &e)) == 0.5;
}

/* Inside of a function of the library, which may count on how each step is rounded, only what is
 * exact is joined. */
static bool may_join(struct build *b, const struct value *v, double x, double y)
{
	if (b->scope->shared->expanding && !is_power_of_two(x) && !is_power_of_two(y))
		return false;
	return b->cx->opt.reassociate && v->type.dtype != DT_FLOAT16 && fabs(x) >= JOINED_MIN &&
	       fabs(x) <= JOINED_MAX && fabs(y) >= JOINED_MIN && fabs(y) <= JOINED_MAX;
}

/* May y be added up, or squared, in place of x, if x is `by` times y? */
static bool may_grow(const struct build *b, double by)
{
	return b->cx->opt.large_terms || fabs(by) * GROWTH >= 1;
}

/* op(k, x) of one number k, if v is that; *at: which input k is */
static bool is_by_number(const struct value *v, enum onnx_id op, uint32_t *at, double *k)
{
	if (!is_onnx(v->def, op))
		return false;
	for (*at = 0; *at < 2; ++*at)
		if (is_number_beside(v->def->in[*at], v->def->in[1 - *at], k))
			return true;
	return false;
}

/* x of x + j and, with the sign of j turned, of x - j; NULL: v is neither */
static struct value *without_number(const struct value *v, double *j)
{
	uint32_t i;

	if (is_by_number(v, ONNX_Add, &i, j))
		return v->def->in[1 - i];
	if (!is_onnx(v->def, ONNX_Sub) || !is_number_beside(v->def->in[1], v->def->in[0], j))
		return NULL;
	*j = -*j;
	return v->def->in[0];
}

/* x + k, where x is y + j: y + (j + k). j and k are of one sign: where they nearly cancel, y + j
 * has to be rounded first. Where y is -j, k is what is left. NULL: it stays as it is */
static struct value *join_numbers(struct build *b, const struct value *x,
				  const struct value *number, double k)
{
	double j;
	struct value *y = b->scope->shared->expanding ? NULL : without_number(x, &j);

	return y && (j < 0) == (k < 0) && may_join(b, x, j, k) && may_grow(b, k / j)
		       ? emit_(b, ONNX_Add, number_like(b, number, j + k), y)
		       : NULL;
}

/* x + k, the number k being input `at` */
static struct value *add_number(struct build *b, struct value **in, uint32_t at, double k)
{
	struct value *x = in[1 - at];

	if (k == 0 && (!b->cx->opt.signed_zeros || signbit(k)))
		return x;
	return join_numbers(b, x, in[at], k);
}

static struct value *add(struct build *b, struct value **in)
{
	struct value *x;
	double k;

	for (uint32_t i = 0; i < 2; i++) {
		struct value *r = NULL;
		if (is_number_beside(in[i], in[1 - i], &k))
			r = add_number(b, in, i, k);
		else if ((x = behind_neg(in[i])))
			r = emit_(b, ONNX_Sub, in[1 - i], x);
		if (r)
			return r;
	}
	return NULL;
}

static struct value *subtract(struct build *b, struct value **in)
{
	struct value *y = behind_neg(in[1]), *x = behind_neg(in[0]);
	double k;

	if (y)
		return emit_(b, ONNX_Add, in[0], y);
	if (is_number_beside(in[0], in[1], &k) && k == 0 &&
	    (!b->cx->opt.signed_zeros || signbit(k)))
		return negate(b, in[1]);
	if (x && is_number_beside(in[1], x, &k))
		return emit_(b, ONNX_Sub, number_like(b, in[1], -k), x);
	return is_number_beside(in[1], in[0], &k) ? join_numbers(b, in[0], in[1], -k) : NULL;
}

/* |-x| is |x|, and |x - y| is |y - x|: Softplus of both is computed once, as of a logit model's p
 * and 1 - p */
static struct value *absolute(struct build *b, struct value *v)
{
	const struct node *d = v->def;
	struct value *other = behind_neg(v);

	if (sign_of(v) == SIGN_NON_NEGATIVE)
		return v;
	if (is_onnx(d, ONNX_Sub))
		other = find_made(b, ONNX_Sub, d->in[1], d->in[0]);
	return other && other->id < v->id ? emit_(b, ONNX_Abs, other) : NULL;
}

/* Is k so near to 1 that squares of k * x and of x underflow at nearly the same x? Is x * x small
 * enough beside what it is `by` times less than? */
static bool may_square(struct build *b, const struct value *v, double k, double by)
{
	return !b->scope->shared->expanding && fabs(k) >= 0x1p-7 && fabs(k) <= 0x1p7 &&
	       may_join(b, v, k, k) && may_grow(b, by);
}

/* j * k * k * (x * x) of k * (j * x) ** 2, as of normal log densities; NULL: x is no such square */
static struct value *multiply_square(struct build *b, struct value *number, double k,
				     const struct value *x)
{
	uint32_t i;
	double j;

	if (!is_onnx(x->def, ONNX_Mul) || x->def->in[0] != x->def->in[1] ||
	    !is_by_number(x->def->in[0], ONNX_Mul, &i, &j) || !may_square(b, x, j, j * j) ||
	    !may_join(b, x, k, 1))
		return NULL;
	struct value *bare = x->def->in[0]->def->in[1 - i];
	struct value *factor = number_like(b, number, k * j * j);
	return emit_(b, ONNX_Mul, factor, emit_(b, ONNX_Mul, bare, bare));
}

/* k * (x * x) of (k * x) * x; NULL: v is not k * x */
static struct value *join_square(struct build *b, const struct value *v, struct value *x)
{
	uint32_t i;
	double k;

	if (!is_by_number(v, ONNX_Mul, &i, &k) || v->def->in[1 - i] != x || !may_square(b, x, k, k))
		return NULL;
	return emit_(b, ONNX_Mul, v->def->in[i], emit_(b, ONNX_Mul, x, x));
}

/* k * x, the number k being input `at` */
static struct value *multiply_number(struct build *b, struct value **in, uint32_t at, double k)
{
	struct value *x = in[1 - at], *y = behind_neg(x);
	uint32_t i;
	double j;

	if (k == -1)
		return negate(b, x);
	if (y)
		return emit_(b, ONNX_Mul, number_like(b, in[at], -k), y);
	if (is_by_number(x, ONNX_Mul, &i, &j) && may_join(b, x, j, k))
		return emit_(b, ONNX_Mul, number_like(b, in[at], j * k), x->def->in[1 - i]);
	if (is_by_number(x, ONNX_Div, &i, &j) && !i && may_join(b, x, j, k))
		return emit_(b, ONNX_Div, number_like(b, in[at], j * k), x->def->in[1]);
	return multiply_square(b, in[at], k, x);
}

static struct value *simplify_product(struct build *b, struct value **in)
{
	struct value *x = behind_neg(in[0]), *y = behind_neg(in[1]);
	double k;

	for (uint32_t i = 0; i < 2; i++)
		if (is_number_beside(in[i], in[1 - i], &k))
			return multiply_number(b, in, i, k);
	for (uint32_t i = 0; i < 2; i++) {
		struct value *r = join_square(b, in[i], in[1 - i]);
		if (r)
			return r;
	}
	return x && y ? emit_(b, ONNX_Mul, x, y) : NULL;
}

/* The sum of all elements of x by how many they are: ReduceMean. Of nothing, ONNX Runtime's is 0,
 * not NaN. NULL: sum / count is no mean */
static struct value *mean(struct build *b, const struct value *sum, const struct value *count)
{
	const struct node *d = sum->def, *cast = count->def;
	int all[MAX_RANK];

	if (!b->cx->opt.reassociate || !is_onnx(d, ONNX_ReduceSum) || sum->type.rank ||
	    (d->nin > 1 && d->in[1]) || !is_onnx(cast, ONNX_Cast))
		return NULL;
	struct value *x = d->in[0];
	dim n = dims_product(b->cx, x->type.dims, x->type.rank);
	const struct known *k = cast->in[0]->known;
	if (!x->type.rank || cast->in[0]->type.rank || !k || !dim_eq(b->cx, k->at[0], n) ||
	    (b->cx->opt.nans && !dim_ge(b->cx, n, 1)))
		return NULL;
	for (int i = 0; i < x->type.rank; i++)
		all[i] = i;
	return reduce(b, ONNX_ReduceMean, x, all, x->type.rank, false);
}

static struct value *simplify_quotient(struct build *b, struct value **in)
{
	struct value *x = behind_neg(in[0]), *y = behind_neg(in[1]);
	double k;

	if (is_number_beside(in[1], in[0], &k) && k != 0) {
		if (is_power_of_two(k) && fabs(k) <= 8192 && fabs(k) >= 0x1p-13) /* of any dtype */
			return emit_(b, ONNX_Mul, in[0], number_like(b, in[1], 1 / k));
		return x ? emit_(b, ONNX_Div, x, number_like(b, in[1], -k)) : NULL;
	}
	if (y && is_number_beside(in[0], y, &k))
		return emit_(b, ONNX_Div, number_like(b, in[0], -k), y);
	return x && y ? emit_(b, ONNX_Div, x, y) : mean(b, in[0], in[1]);
}

static struct value *negative(struct build *b, struct value *x)
{
	struct node *n = x->def;
	struct value *y = behind_neg(x);
	uint32_t i;
	double k;

	if (y)
		return y;
	if (is_by_number(x, ONNX_Mul, &i, &k))
		return emit_(b, ONNX_Mul, number_like(b, n->in[i], -k), n->in[1 - i]);
	if (is_onnx(n, ONNX_Sub) && !b->cx->opt.signed_zeros)
		return emit_(b, ONNX_Sub, n->in[1], n->in[0]);
	return NULL;
}

/* Exp(x) twice or once more: exp(x + x) is exp(x) ** 2, and exp(-x) is 1 / exp(x), as the gradients
 * by the logarithm of a scale have them. A result below the smallest normal number may be 0. */
static struct value *exponential(struct build *b, struct value *x)
{
	const struct node *n = x->def;
	struct value *e = NULL, *y = behind_neg(x);
	uint32_t i;
	double k;

	if (!b->cx->opt.reassociate || b->scope->shared->expanding || x->type.dtype == DT_FLOAT16)
		return NULL;
	if (is_onnx(n, ONNX_Add) && n->in[0] == n->in[1])
		e = find_made(b, ONNX_Exp, n->in[0], NULL);
	else if (is_by_number(x, ONNX_Mul, &i, &k) && k == 2)
		e = find_made(b, ONNX_Exp, n->in[1 - i], NULL);
	if (e)
		return emit_(b, ONNX_Mul, e, e);
	y = y ? y : find_made(b, ONNX_Neg, x, NULL);
	e = y ? find_made(b, ONNX_Exp, y, NULL) : NULL;
	return e ? emit_(b, ONNX_Reciprocal, e) : NULL;
}

/* x ** -2 is 1 / (x * x), as PyTensor's rewrites have it in gradients: so the density and its
 * gradient share it. */
static struct value *power(struct build *b, struct value **in)
{
	bool joins = b->cx->opt.reassociate;
	double k;

	if (in[0]->type.dtype != in[1]->type.dtype || !is_number_beside(in[1], in[0], &k))
		return NULL;
	if (k == -2 && joins && in[0]->type.dtype != DT_FLOAT16)
		return emit_(b, ONNX_Reciprocal, emit_(b, ONNX_Mul, in[0], in[0]));
	return k == 2 ? emit_(b, ONNX_Mul, in[0], in[0]) : k == 1 ? in[0] : NULL;
}

/* Where(c, k, Where(d, k, x)) of one constant k asks both conditions at once; so do the other three
 * ways to say where x is taken. */
static struct value *choose_once(struct build *b, struct value **in)
{
	for (int k = 0; k < 4; k++) {
		int i = 1 + k % 2, j = 1 + k / 2; /* where the inner choice is, and its x */
		struct value *c = in[0], *other = in[3 - i], *d, *x;
		const struct node *inner = in[i]->def;
		if (!other->data || !is_onnx(inner, ONNX_Where) || inner->in[3 - j] != other)
			continue;
		d = inner->in[0];
		x = inner->in[j];
		if (!same_dims(b->cx, in[i]->type, x->type) &&
		    !same_dims(b->cx, in[i]->type, d->type))
			continue;
		if (i == 2 && j == 2)
			return emit_(b, ONNX_Where, emit_(b, ONNX_Or, c, d), other, x);
		c = i == 2 ? opposite(b, c) : c;
		d = j == 2 ? opposite(b, d) : d;
		return emit_(b, ONNX_Where, emit_(b, ONNX_And, c, d), x, other);
	}
	return NULL;
}

static struct value *choose(struct build *b, struct value **in)
{
	struct value *c = in[0], *r = choose_once(b, in);
	double x, y;

	if (r)
		return r;
	if (is_number_beside(in[1], c, &x) && is_number_beside(in[2], c, &y) && x == 1 && y == 0 &&
	    !signbit(y))
		return cast(b, c, (enum dtype)in[1]->type.dtype);
	/* see src/ort/where.c: the order decides about the sign of a zero */
	if (!is_onnx(c->def, ONNX_Not) ||
	    (b->cx->opt.signed_zeros && is_float((enum dtype)in[1]->type.dtype)))
		return NULL;
	return emit_(b, ONNX_Where, c->def->in[0], in[2], in[1]);
}

/* How many elements of x are added to one along these axes; -1: not known */
static double terms_along(struct build *b, const struct value *x, const int *axes, int n)
{
	int64_t count;

	return count_along(b->cx, &x->type, axes, n, &count) ? (double)count : -1;
}

/* Has no element of x another sign than k? NaN apart */
static bool has_sign(const struct value *x, double k)
{
	uint32_t i;
	double j;

	if (k > 0)
		return sign_of(x) == SIGN_NON_NEGATIVE;
	if (behind_neg(x))
		return sign_of(behind_neg(x)) == SIGN_NON_NEGATIVE;
	return is_by_number(x, ONNX_Mul, &i, &j) && j < 0 &&
	       sign_of(x->def->in[1 - i]) == SIGN_NON_NEGATIVE;
}

/* The sum of op(k, x), which is v: that of x is multiplied by k, or the sum of all k is added. */
static struct value *sum_with_number(struct build *b, const struct value *v, enum onnx_id op,
				     const int *axes, int n, bool keepdims)
{
	uint32_t i;
	double k, count;

	if (!is_by_number(v, op, &i, &k) || !may_join(b, v, k, 1) ||
	    (op == ONNX_Mul && !may_grow(b, k)))
		return NULL;
	struct value *x = v->def->in[1 - i], *number = v->def->in[i];
	if (x->type.rank != v->type.rank)
		return NULL;
	if (op == ONNX_Add) {
		count = terms_along(b, x, axes, n);
		/* where terms cancel, each has to be rounded by itself */
		if (!has_sign(x, k) || count < 0 || count > JOINED_MAX)
			return NULL;
		number = number_like(b, number, k * count);
	}
	for (; number->type.rank;)
		number = squeeze(b, number, &(int64_t){0}, 1);
	return emit_(b, op, number, reduce(b, ONNX_ReduceSum, x, axes, n, keepdims));
}

/* Was v rounded when it was computed? */
static bool is_rounded(const struct value *v)
{
	return is_onnx(v->def, ONNX_Mul) || is_onnx(v->def, ONNX_Div) ||
	       is_onnx(v->def, ONNX_Add) || is_onnx(v->def, ONNX_Sub) ||
	       is_onnx(v->def, ONNX_Log) || is_onnx(v->def, ONNX_Exp);
}

/* The sum of u, an operand of v, along those axes of v. It is the same all along them or, if it is
 * a constant, as long as v; NULL: it is not */
static struct value *sum_of_term(struct build *b, const struct value *v, struct value *u,
				 const int *axes, int n, bool keepdims)
{
	int64_t ones[MAX_RANK] = {0};
	int own[MAX_RANK], lead = v->type.rank - u->type.rank, same = 0, along = 0;

	for (int i = 0; i < n; i++) {
		int k = axes[i] - lead;
		if (k >= 0 && !dim_is(b->cx, u->type.dims[k], 1))
			own[along++] = k;
		else if (k >= 0)
			ones[same++] = k;
	}
	if (along)
		return along == n && is_constant(u) ? reduce(b, ONNX_ReduceSum, u, own, n, keepdims)
						    : NULL;
	u = keepdims ? u : squeeze(b, u, ones, (uint32_t)same);
	double count = terms_along(b, v, axes, n);
	return emit_(b, ONNX_Mul, const_of(b, (enum dtype)v->type.dtype, count), u);
}

/* Do no elements of x and u cancel in op(x, u)? */
static bool adds_magnitudes(enum onnx_id op, const struct value *x, const struct value *u)
{
	double same = op == ONNX_Add ? 1 : -1;

	return (has_sign(x, 1) && has_sign(u, same)) || (has_sign(x, -1) && has_sign(u, -same));
}

/* The sum of x + u, which is v, is that of x and that of u, which is the same along the axes or
 * constant, where x and u do not cancel. -flarge-terms: where they cancel, too. What is left has no
 * more right digits than x, which was rounded. */
static struct value *sum_without_term(struct build *b, const struct value *v, const int *axes,
				      int n, bool keepdims)
{
	double count = terms_along(b, v, axes, n);
	double size = expected_elements(b->cx, &v->type, OPEN_LENGTH);
	enum onnx_id op = operator_of(v->def);

	if ((op != ONNX_Add && op != ONNX_Sub) || count < 2 || count > JOINED_MAX ||
	    b->scope->shared->expanding)
		return NULL;
	for (uint32_t i = 0; i < 2; i++) {
		struct value *x = v->def->in[i], *u = v->def->in[1 - i], *sum = NULL;
		bool few = u->data || size < SIZE_ADDED_NUMBER;
		if (is_weight(u) || (u->data && u->data->count == 1) || !is_rounded(x) ||
		    !same_dims(b->cx, x->type, v->type) ||
		    (!b->cx->opt.large_terms && !adds_magnitudes(op, x, u)))
			continue;
		u = sum_of_term(b, v, u, axes, n, keepdims);
		sum = u ? sum_by_algebra(b, x, axes, n, keepdims) : NULL;
		if (!u || (!sum && few))
			continue;
		sum = sum ? sum : reduce(b, ONNX_ReduceSum, x, axes, n, keepdims);
		return i ? emit_(b, op, u, sum) : emit_(b, op, sum, u);
	}
	return NULL;
}

static struct value *sum_apart(struct build *b, struct value *v, const int *axes, int n,
			       bool keepdims)
{
	const struct node *d = v->def;
	enum dtype t = (enum dtype)v->type.dtype;

	if (!flag_is_on(b->cx, FLAG_FOLD) || !d || !is_float(t))
		return NULL;
	if (behind_neg(v))
		return negate(b, reduce(b, ONNX_ReduceSum, behind_neg(v), axes, n, keepdims));
	if (!b->cx->opt.reassociate || t == DT_FLOAT16)
		return NULL;
	if (is_onnx(d, ONNX_Mul) && d->in[0] == d->in[1] &&
	    find_kernel(b->cx, ONNX_ReduceSumSquare, t, 1))
		return reduce(b, ONNX_ReduceSumSquare, d->in[0], axes, n, keepdims);
	struct value *r = sum_with_number(b, v, ONNX_Mul, axes, n, keepdims);
	r = r ? r : sum_with_number(b, v, ONNX_Add, axes, n, keepdims);
	r = r ? r : sum_without_term(b, v, axes, n, keepdims);
	return r || n != 1 ? r : sum_of_products(b, v, (uint32_t)axes[0], keepdims);
}

struct value *sum_by_algebra(struct build *b, struct value *v, const int *axes, int n,
			     bool keepdims)
{
	struct value *r = NULL;

	if (b->sums++ < MAX_SUMS) /* what is summed up is as deep as the input */
		r = sum_apart(b, v, axes, n, keepdims);
	b->sums--;
	return r;
}

/* c and x <= inf, where c compares x: that is c, which is false for NaN. The same for 0 <= p and
 * p <= 1 of a p that is neither below 0 nor above 1 */
static struct value *both(struct build *b, struct value **in)
{
	static const enum onnx_id compare[] = {ONNX_Greater, ONNX_GreaterOrEqual, ONNX_Less,
					       ONNX_LessOrEqual, ONNX_Equal};

	for (uint32_t i = 0; i < 2; i++) {
		const struct value *x = only_false_for_nan(in[1 - i]);
		const struct node *n = in[i]->def;
		for (uint32_t k = 0; k < countof(compare) && x; k++)
			if (is_onnx(n, compare[k]) && (n->in[0] == x || n->in[1] == x) &&
			    in[0]->type.rank == in[1]->type.rank &&
			    same_dims(b->cx, in[0]->type, in[1]->type))
				return in[i];
	}
	return NULL;
}

/* What is picked from x and from y at the same places, as x[i] - y[i], is picked from x - y if
 * there is such a node already. */
static struct value *picked_from_made(struct build *b, const struct onnx_op *op, struct value **in)
{
	static const enum onnx_id picks[] = {ONNX_GatherND, ONNX_Gather, ONNX_Transpose,
					     ONNX_Squeeze, ONNX_Unsqueeze};
	const struct node *way[MAX_PICKS];
	struct value *x = in[0], *y = in[1], *r = NULL;
	uint32_t n = 0;

	while (!r && n < MAX_PICKS && x != y && same_dims(b->cx, x->type, y->type)) {
		const struct node *d = x->def;
		uint32_t k = 0;
		while (k < countof(picks) && !is_onnx(d, picks[k]))
			k++;
		if (k == countof(picks) || !y->def)
			return NULL;
		struct value *other[2] = {y->def->in[0], d->nin > 1 ? d->in[1] : NULL};
		struct node same = *d;
		same.in = other;
		if (d->nin > 2 || !nodes_equal(&same, y->def))
			return NULL;
		way[n++] = d;
		x = d->in[0];
		y = y->def->in[0];
		r = n > 1 ? find_made(b, op->id, x, y) : NULL;
	}
	while (r && n) {
		const struct node *like = way[--n];
		struct value *of[2] = {r, like->nin > 1 ? like->in[1] : NULL};
		emit_like(b, like, of, &r);
	}
	return r;
}

struct value *by_algebra(struct build *b, const struct onnx_op *op, struct value **in, uint32_t nin)
{
	if (!flag_is_on(b->cx, FLAG_FOLD) || op->domain[0] || b->nattrs || !nin)
		return NULL;
	for (uint32_t i = 0; i < nin; i++)
		if (!in[i])
			return NULL;
	if (op->id == ONNX_Where)
		return choose(b, in);
	if ((op->id == ONNX_And || op->id == ONNX_Or) && in[0] == in[1])
		return in[0];
	if (op->id == ONNX_And)
		return both(b, in);
	if (!is_float((enum dtype)in[0]->type.dtype))
		return NULL;
	struct value *made = nin == 2 ? picked_from_made(b, op, in) : NULL;
	if (made)
		return made;
	switch (op->id) {
	case ONNX_Add:
		return add(b, in);
	case ONNX_Sub:
		return subtract(b, in);
	case ONNX_Mul:
		return simplify_product(b, in);
	case ONNX_Div:
		return simplify_quotient(b, in);
	case ONNX_Neg:
		return negative(b, in[0]);
	case ONNX_Abs:
		return absolute(b, in[0]);
	case ONNX_Exp:
		return exponential(b, in[0]);
	case ONNX_Pow:
		return power(b, in);
	default:
		return NULL;
	}
}
