/*
 * dot.c: products of matrices and vectors. In: a typed node. Out: MatMul, or Gemm where its
 * constants fit. Integers wrap as in PyTensor: MatMul does, and small ones go through wider ones.
 */
#include "low.h"
#include "lower.h"

/* MatMul of uint32 and uint64 fails on an inner length of 0; int64 has the same bits. */
static struct value *matmul(struct build *b, struct value *x, struct value *y)
{
	enum dtype t = (enum dtype)x->type.dtype;

	if ((t != DT_UINT32 && t != DT_UINT64) || dim_ge(b->cx, x->type.dims[x->type.rank - 1], 1))
		return emit_(b, "MatMul", x, y);
	return cast(b, emit_(b, "MatMul", cast(b, x, DT_INT64), cast(b, y, DT_INT64)), t);
}

bool lower_matmul(struct build *b, struct node *n)
{
	lowered(b, n, 0, matmul(b, low(b, n->in[0]), low(b, n->in[1])));
	return true;
}

bool lower_dot(struct build *b, struct node *n)
{
	struct value *x = low(b, n->in[0]), *y = low(b, n->in[1]);

	if (x->type.rank == 0 || y->type.rank == 0)
		lowered(b, n, 0, emit_(b, "Mul", x, y));
	else
		lowered(b, n, 0, matmul(b, x, y));
	return true;
}

/* The number that a constant holds in all its elements. */
static bool const_number(const struct value *v, double *x)
{
	if (!v->data || !v->data->count || (v->data->count > 1 && !v->data->splat) ||
	    is_complex((enum dtype)v->type.dtype))
		return false;
	*x = tensor_float(v->data, 0);
	return true;
}

static struct value *scaled(struct build *b, struct value *v, struct value *by)
{
	double k;

	return const_number(by, &k) && k == 1 ? v : emit_(b, "Mul", by, v);
}

/* beta * z, but 0 where beta is 0 whatever z holds, as BLAS and PyTensor have it; NULL: nothing */
static struct value *scaled_old(struct build *b, struct value *z, struct value *beta)
{
	double k;

	if (const_number(beta, &k))
		return k == 0 ? NULL : scaled(b, z, beta);
	struct value *zero = const_int_of(b, (enum dtype)z->type.dtype, 0);
	return emit_(b, "Where", emit_(b, "Equal", beta, zero), zero, emit_(b, "Mul", beta, z));
}

static struct value *update(struct build *b, struct value *z, struct value *alpha, struct value *xy,
			    struct value *beta)
{
	struct value *old = scaled_old(b, z, beta);
	struct value *product = scaled(b, xy, alpha);

	return old ? emit_(b, "Add", old, product) : product;
}

static bool fits_gemm(struct value *v, float *f)
{
	double k;

	if (!is_float((enum dtype)v->type.dtype) || v->type.dtype == DT_FLOAT16 ||
	    !const_number(v, &k))
		return false;
	*f = (float)k;
	return *f == k;
}

bool lower_gemm(struct build *b, struct node *n)
{
	struct value *in[5];
	float alpha, beta;

	for (int i = 0; i < 5; i++)
		in[i] = low(b, n->in[i]);
	if (fits_gemm(in[1], &alpha) && fits_gemm(in[4], &beta) && beta != 0) {
		attr_float(b, "alpha", alpha);
		attr_float(b, "beta", beta);
		lowered(b, n, 0, emit_(b, "Gemm", in[2], in[3], in[0]));
		return true;
	}
	struct value *xy = matmul(b, in[2], in[3]);
	lowered(b, n, 0, update(b, in[0], in[1], xy, in[4]));
	return true;
}

bool lower_gemv(struct build *b, struct node *n)
{
	struct value *ax = matmul(b, low(b, n->in[2]), low(b, n->in[3]));

	lowered(b, n, 0, update(b, low(b, n->in[0]), low(b, n->in[1]), ax, low(b, n->in[4])));
	return true;
}

bool lower_ger(struct build *b, struct node *n)
{
	struct value *x = unsqueeze(b, low(b, n->in[2]), &(int64_t){1}, 1);
	struct value *xy = emit_(b, "Mul", x, unsqueeze(b, low(b, n->in[3]), &(int64_t){0}, 1));

	xy = scaled(b, xy, low(b, n->in[1]));
	lowered(b, n, 0, emit_(b, "Add", low(b, n->in[0]), xy));
	return true;
}

bool lower_dot22scalar(struct build *b, struct node *n)
{
	struct value *xy = matmul(b, low(b, n->in[0]), low(b, n->in[1]));

	lowered(b, n, 0, scaled(b, xy, low(b, n->in[2])));
	return true;
}
