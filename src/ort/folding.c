/*
 * folding.c: what ONNX Runtime's optimiser takes for nothing, or for another node, when it loads a
 * model. In: a node. Out: nodes in its place that the optimiser leaves alone.
 *	Expand is dropped if no length of the shape is above the input's, and a 0 is lost;
 *	Gather with a Range becomes a Slice, which clamps what is out of range and counts from the
 *	end differently;
 *	Add of 0 is dropped, and with it what makes a -0 a +0; and so are x + 1e-300 and
 *	x * 1.000000001, as the constant is compared with 0 or 1 as a float32.
 */
#include <math.h>

#include "lower/build.h"
#include "ort/ort.h"

static dim indexed_length(const struct node *n)
{
	const struct type *t = &n->in[0]->type;

	return t->dims[onnx_axis(n, 0)];
}

/* Are all numbers of a Range indices from the front, of an axis of that length? Of other values:
 * yes */
static bool counts_within(struct build *b, const struct value *at, dim length)
{
	int64_t start, step;
	const struct node *n = behind_reshapes(at)->def;

	if (!computes(n, ONNX_Range))
		return true;
	dim stop = known_at(b->cx, n->in[1], 0);
	return counted_by(b->cx, at, &start, &step) && start >= 0 && step >= 1 && stop &&
	       dim_ge(b->cx, dim_sub(b->cx, length, stop), 0);
}

/* Is v a number that is k as a float32, but not k? */
static bool is_almost(const struct value *v, double k)
{
	double x;

	return v->type.dtype == DT_FLOAT64 && single_number(v->data, &x) && x != k && (float)x == k;
}

static bool adds_almost_0(const struct node *n)
{
	return (computes(n, ONNX_Add) && (is_almost(n->in[0], 0) || is_almost(n->in[1], 0))) ||
	       (computes(n, ONNX_Sub) && is_almost(n->in[1], 0));
}

/* May v be 0, of this sign, when the model is loaded? A number that ONNX Runtime computes then may
 * be any. */
static bool may_fold_to_zero(struct build *b, struct value *v, bool negative)
{
	double k;

	if (!v->data)
		return is_single(b->cx, &v->type) && from_constants(b->cx, v, NULL);
	return single_number(v->data, &k) && k == 0 && (signbit(k) != 0) == negative;
}

/* x + 0, or x - -0, where x may be -0 and the result is +0 */
static bool makes_plus_0(struct build *b, const struct node *n)
{
	struct value *const *x = n->in;

	if (computes(n, ONNX_Sub))
		return minus_zero_counts(b, x[0]) && may_fold_to_zero(b, x[1], true);
	return computes(n, ONNX_Add) &&
	       ((minus_zero_counts(b, x[0]) && may_fold_to_zero(b, x[1], false)) ||
		(minus_zero_counts(b, x[1]) && may_fold_to_zero(b, x[0], false)));
}

static bool multiplies_by_almost_1(const struct node *n)
{
	return (computes(n, ONNX_Mul) && (is_almost(n->in[0], 1) || is_almost(n->in[1], 1))) ||
	       (computes(n, ONNX_Div) && is_almost(n->in[1], 1));
}

static bool has_zero(const struct tensor *shape)
{
	int64_t k = 1;

	for (uint64_t i = 0; i < shape->count && k; i++)
		tensor_int(shape, i, &k);
	return !k;
}

bool folds_correctly(struct build *b, const struct node *n)
{
	int64_t rank;

	if (n->as_written)
		return true;
	if (computes(n, ONNX_Expand) && n->in[1]->data)
		return !has_zero(n->in[1]->data);
	if (computes(n, ONNX_Expand))
		return !dim_is_const(b->cx, n->in[1]->type.dims[0], &rank) ||
		       !from_constants(b->cx, n->in[1], NULL);
	if (computes(n, ONNX_Gather))
		return !n->index_may_fail || counts_within(b, n->in[1], indexed_length(n));
	return !(n->zero_sign_counts && computes(n, ONNX_Add)) && !makes_plus_0(b, n) &&
	       !adds_almost_0(n) && !multiplies_by_almost_1(n);
}

struct value *unfolded(struct build *b, const struct node *n)
{
	struct value *x = n->in[0], *y = n->in[1];

	if (computes(n, ONNX_Add) || computes(n, ONNX_Sub))
		return emit_(b, ONNX_Sum, x, computes(n, ONNX_Sub) ? emit_(b, ONNX_Neg, y) : y);
	if (computes(n, ONNX_Mul) ||
	    computes(n, ONNX_Div)) { /* half of it twice has the same bits */
		double half = computes(n, ONNX_Mul) ? 0.5 : 2;
		if (is_almost(x, 1) && computes(n, ONNX_Mul))
			x = number_like(b, x, tensor_float(x->data, 0) * half);
		else
			y = number_like(b, y, tensor_float(y->data, 0) * half);
		x = emit_(b, n->onnx->id, x, y);
		return emit_(b, ONNX_Sum, x, x);
	}
	if (computes(n, ONNX_Gather)) { /* a Mod that changes nothing stands behind the Range */
		int64_t most = y->type.dtype == DT_INT32 ? INT32_MAX : INT64_MAX;
		attr_int(b, "fmod", 1);
		y = emit_(b, ONNX_Mod, y, const_int_of(b, (enum dtype)y->type.dtype, most));
		if (n->nattrs)
			attr_int(b, "axis", n->attrs[0].u.i);
		return emit_(b, ONNX_Gather, x, y);
	}
	int64_t rank = 0;
	dim_is_const(b->cx, y->type.dims[0], &rank);
	if (!rank)
		return x;
	/* a choice between two equal things is stretched all the same */
	struct value *all = filled_to(b, DT_BOOL, y, NULL, (uint32_t)rank, 1);
	return emit_(b, ONNX_Where, all, x, x);
}
