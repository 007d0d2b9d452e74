/*
 * fft.c: Fourier; RFFTOp and IRFFTOp, on the last axes of real tensors and of pairs (real,
 * imaginary). In: a typed node with the lengths to transform to as its second input. Out: one DFT
 * an axis, which cuts off or fills up with zeros as NumPy does. The inverse is not divided by the
 * lengths, as in PyTensor. All is computed in float64: of float32 the runtime's DFT is a thousand
 * times less exact than NumPy's at length 1000. DFT came with opset 17.
 */
#include <string.h>

#include "low.h"
#include "lower.h"

bool lower_rfft(struct build *b, struct node *n)
{
	struct value *x = cast(b, low(b, n->in[0]), DT_FLOAT64), *s = low(b, n->in[1]);
	int64_t rank = x->type.rank, axes = 0;

	if (!has_dft(b))
		return false;
	dim_is_const(b->cx, s->type.dims[0], &axes);
	x = unsqueeze(b, x, &rank, 1);
	for (int64_t i = axes; i-- > 0;)
		x = dft(b, x, length_at(b, s, (uint32_t)i), rank - axes + i, i == axes - 1);
	x = cast(b, x, (enum dtype)n->out[0]->type.dtype);
	lowered(b, n, 0, with_dims(x, n->out[0]->type.dims));
	return true;
}

/* x, with a zero behind the others where there may be none, which DFT does not take: it is cut off,
 * or is one of those that x is filled up with. */
static struct value *with_one(struct build *b, struct value *x, int64_t axis)
{
	dim *dims = new_array(b->cx->arena, dim, x->type.rank);

	if (dim_ge(b->cx, x->type.dims[axis], 1))
		return x;
	memcpy(dims, x->type.dims, x->type.rank * sizeof(dim));
	dims[axis] = dim_const(b->cx, 1);
	struct value *zero = const_shape(b, DT_FLOAT64, dims_vector(b, dims, x->type.rank), dims,
					 x->type.rank, 0);
	return concat(b, (int)axis, (struct value *[]){x, zero}, 2);
}

/* Of complex numbers, or of real ones, which DFT takes with a last axis of 1. */
bool lower_fourier(struct build *b, struct node *n)
{
	struct value *x = low(b, n->in[0]);
	enum dtype given = (enum dtype)n->in[0]->type.dtype;
	int64_t rank = n->in[0]->type.rank, axis = 0;

	if (!has_dft(b))
		return false;
	if (given == DT_COMPLEX64 || given == DT_FLOAT32 || given == DT_FLOAT16) {
		unsupported(b, "PyTensor's type says complex128, but it computes complex64: write "
			       "Cast{complex128}(x) in it");
		return false;
	}
	const_int_at(b, low(b, n->in[2]), 0, &axis);
	if (x->type.rank == rank)
		x = unsqueeze(b, x, &rank, 1);
	x = with_one(b, cast(b, x, DT_FLOAT64), axis);
	x = dft(b, x, cast(b, low(b, n->in[1]), DT_INT64), axis, false);
	lowered(b, n, 0, with_dims(x, low_type(b, n->out[0]->type).dims));
	return true;
}

/* What each coefficient of a half counts: 1 at 0 and n/2, 0 behind that, else 2; conjugated */
static struct value *half_weights(struct build *b, dim count, struct value *length, enum dtype t)
{
	struct value *k = counting(b, count);
	struct value *two = emit_(b, "Mul", k, const_int(b, 2));
	struct value *single = emit_(b, "Or", emit_(b, "Equal", k, const_int(b, 0)),
				     emit_(b, "Equal", two, length));
	struct value *w = emit_(b, "Where", single, const_int(b, 1), const_int(b, 2));

	w = emit_(b, "Where", emit_(b, "Greater", two, length), const_int(b, 0), w);
	w = unsqueeze(b, cast(b, w, t), &(int64_t){1}, 1); /* integers would be taken for a shape */
	return emit_(b, "Mul", w, cast(b, const_ints(b, (int64_t[]){1, -1}, 2), t));
}

/*
 * The real part of the inverse of the half, taken for the whole: the other half is its mirror. The
 * inverse is the transform of the conjugate, conjugated; the runtime's own inverse divides by a
 * length that it has in float32.
 */
bool lower_irfft(struct build *b, struct node *n)
{
	struct value *x = cast(b, low(b, n->in[0]), DT_FLOAT64), *s = low(b, n->in[1]);
	int64_t last = x->type.rank - 2, axes = 0;

	if (!has_dft(b))
		return false;
	dim_is_const(b->cx, s->type.dims[0], &axes);
	struct value *length = length_at(b, s, (uint32_t)axes - 1);
	x = emit_(b, "Mul", x,
		  half_weights(b, x->type.dims[last], length, (enum dtype)x->type.dtype));
	for (int64_t i = 0; i < axes; i++)
		x = dft(b, x, length_at(b, s, (uint32_t)i), last - axes + 1 + i, false);
	attr_int(b, "axis", last + 1);
	x = emit_(b, "Gather", x, const_int(b, 0));
	x = cast(b, x, (enum dtype)n->out[0]->type.dtype);
	lowered(b, n, 0, with_dims(x, n->out[0]->type.dims));
	return true;
}
