/*
 * fft.c: lowers Fourier, RFFTOp and IRFFTOp. The second input has the lengths of the transforms; as
 * in NumPy, an axis is cut off, or padded with zeros. Complex numbers are pairs (real, imaginary)
 * along the last axis. As in PyTensor, the inverse is not divided by the lengths.
 *
 * All is computed in float64, at the target portable in float32: for float32 of length 1000, ONNX
 * Runtime's DFT is a thousand times less exact than NumPy's. So it is for float64, if the length is
 * no power of two: these transforms are fns of lib/complex/fourier.ptg. ONNX has DFT since
 * opset 17.
 */
#include <string.h>

#include "lower/ops/lowerings.h"

/*
 * Elements of a constant matrix with which a transform is a product. That is faster than
 * Bluestein's way for all that are small enough to be in a model: 100 transforms of 100 numbers
 * take a twentieth of the time. Beside DFT it pays for small ones: 100 of 64 numbers take a
 * quarter.
 */
#define MAX_MATRIX         (1 << 14)
#define MAX_MATRIX_FOR_DFT (1 << 13)
#define MAX_LENGTH         (INT64_C(1) << 40)
#define MAX_MASKED         65536 /* longest constant mask */

/* float64[parts * m, 2 * k]: the matrix of a transform of length n, from m numbers (of 1 or 2
 * parts) to the first k complex coefficients. */
static struct value *fourier_matrix(struct build *b, int64_t n, int64_t m, int64_t parts, int64_t k)
{
	struct tensor *t = tensor_new(b->cx, DT_FLOAT64, 2, (int64_t[]){m * parts, 2 * k});
	double *to = arena_alloc(b->cx->arena, t->count * sizeof(double));

	t->data = to;
	for (int64_t i = 0; i < m * parts; i++)
		for (int64_t j = 0; j < k; j++) {
			int64_t turn = i / parts * j;
			double c = cos_of_turn(turn, n), s = cos_of_turn(4 * turn + 3 * n, 4 * n);
			*to++ = i % parts ? s : c;
			*to++ = i % parts ? c : 0 - s;
		}
	return const_tensor(b, t);
}

/* v[:end] along an axis, if it is longer */
static struct value *cut_axis(struct build *b, struct value *v, int64_t axis, dim end)
{
	dim *d = dims_with_axis(b, v, axis, end);
	int64_t zero = 0;

	if (dim_eq(b->cx, v->type.dims[axis], end))
		return v;
	struct value *to = dim_vector(b, end);
	return with_dims(slice(b, v, &axis, 1, const_ints(b, &zero, 1), to, NULL), d);
}

/* The transform of x[..., m, parts] to length n, k coefficients, as a product with that matrix. */
static struct value *transform_by_matrix(struct build *b, struct value *x, int64_t n, int64_t k)
{
	uint32_t rank = x->type.rank;
	int64_t parts = 1, m = n, axis = rank - 2;
	dim rows = dim_min(b->cx, x->type.dims[axis], dim_const(b->cx, n));
	struct value *f;

	dim_is_const(b->cx, x->type.dims[rank - 1], &parts);
	dim_is_const(b->cx, rows, &m);
	f = cast(b, fourier_matrix(b, n, m, parts, k), (enum dtype)x->type.dtype);
	x = cut_axis(b, x, axis, rows);
	rows = dim_mul(b->cx, rows, dim_const(b->cx, parts));
	x = reshape(b, x, dims_with_axis(b, x, axis, rows), rank - 1);
	x = matmul(b, x, cut_axis(b, f, 0, rows));
	dim *d = new_array(b->cx->arena, dim, rank);
	memcpy(d, x->type.dims, (rank - 2u) * sizeof(dim));
	d[axis] = dim_const(b->cx, k);
	d[rank - 1] = dim_const(b->cx, 2);
	return reshape(b, x, d, rank);
}

static struct value *bluestein(struct build *b, struct value *x, struct value *n, bool half)
{
	const char *with = half ? "_Transform_half" : "_Transform";
	const char *without = half ? "_Any_length_half" : "_Any_length";
	int64_t length = 0, l = 1;

	if (!known_int(b->cx, n, 0, &length))
		return dft_by_library(b, has_op(b, ONNX_DFT) ? with : without, x, &n, 1);
	while (l < 2 * length - 1)
		l *= 2;
	length = half ? length / 2 + 1 : length;
	struct value *count = const_int(b, length), *numbers[] = {n, count, const_int(b, l)};
	return dft_by_library(b, "_Bluestein", x, numbers, 3);
}

/* x with a zero appended along an axis that may be empty, which DFT does not take. The zero is cut
 * off later, or counts as padding. */
static struct value *append_zero(struct build *b, struct value *x, int64_t axis)
{
	if (dim_ge(b->cx, x->type.dims[axis], 1))
		return x;
	dim *dims = dims_with_axis(b, x, axis, dim_const(b->cx, 1));
	struct value *zero = filled_to(b, (enum dtype)x->type.dtype,
				       dims_vector(b, dims, x->type.rank), dims, x->type.rank, 0);
	return concat(b, (int)axis, (struct value *[]){x, zero}, 2);
}

/* The half x[..., k, 2] of a real transform of constant length n, with imaginary parts of exactly 0
 * at coefficients 0 and n/2. (If n is not known, this would take seven nodes.) */
static struct value *clear_imaginary_ends(struct build *b, struct value *x, int64_t n)
{
	int64_t shape[] = {n / 2 + 1, 2};
	struct tensor *t = tensor_new(b->cx, DT_BOOL, 2, shape);
	bool *real = arena_alloc(b->cx->arena, t->count);

	memset(real, 0, t->count);
	real[1] = true;
	real[t->count - 1] |= n % 2 == 0;
	t->data = real;
	struct value *is_real = const_tensor(b, t);
	return emit_(b, ONNX_Where, is_real, const_of(b, (enum dtype)x->type.dtype, 0), x);
}

/* Is a product with the matrix of a transform to k coefficients faster? */
static bool by_matrix(struct build *b, struct value *x, int64_t length, int64_t k, bool power)
{
	int64_t parts = 1, most = power && has_op(b, ONNX_DFT) ? MAX_MATRIX_FOR_DFT : MAX_MATRIX;

	dim_is_const(b->cx, x->type.dims[x->type.rank - 1], &parts);
	return length <= most && length * parts * 2 * k <= most;
}

/* The transform of one axis of x to length n; half: only the first n/2 + 1 coefficients. NULL:
 * reported */
static struct value *transform(struct build *b, struct value *x, struct value *n, int64_t axis,
			       bool half)
{
	int64_t length = 0;
	bool constant = known_int(b->cx, n, 0, &length);
	bool power = constant && !(length & (length - 1)); /* DFT takes them */
	int64_t k = half ? length / 2 + 1 : length;

	if (constant && length < 1) {
		raises(b, "there is no transform to %lld numbers", (long long)length);
		return NULL;
	}
	if (constant && by_matrix(b, x, length, k, power)) {
		x = transform_by_matrix(b, to_last(b, x, axis), length, k);
		if (half && length > 1 && b->cx->opt.nans) /* 0 times inf */
			x = clear_imaginary_ends(b, x, length);
		return to_last(b, x, axis);
	}
	bool ends = half && constant && length <= MAX_MASKED;
	x = append_zero(b, x, axis);
	if (power) {
		x = dft(b, x, n, axis, half);
		return ends && length > 1 ? clear_imaginary_ends(b, x, length) : x;
	}
	if (length > MAX_LENGTH) {
		unsupported(b, "%lld numbers to transform are more than any memory holds",
			    (long long)length);
		return NULL;
	}
	x = bluestein(b, to_last(b, x, axis), n, half);
	if (x && ends)
		x = clear_imaginary_ends(b, x, length);
	return x ? to_last(b, x, axis) : NULL;
}

bool lower_rfft(struct build *b, struct node *n)
{
	struct value *x = cast(b, low(b, n->in[0]), wide_float(b)), *s = low(b, n->in[1]);
	int64_t rank = x->type.rank, axes = 0;

	dim_is_const(b->cx, s->type.dims[0], &axes);
	x = unsqueeze(b, x, &rank, 1);
	for (int64_t i = axes; x && i-- > 0;)
		x = transform(b, x, length_at(b, s, (uint32_t)i), rank - axes + i, i == axes - 1);
	if (!x)
		return false;
	x = cast(b, x, (enum dtype)n->out[0]->type.dtype);
	set_lowered(b, n, 0, with_dims(x, n->out[0]->type.dims));
	return true;
}

/* The input is pairs, with a last axis of 2, or real: then it gets a last axis of 1, as DFT wants
 * it. The result is pairs. */
bool lower_fourier(struct build *b, struct node *n)
{
	struct value *x = low(b, n->in[0]);
	int64_t rank = n->out[0]->type.rank - 1, axis = 0;

	known_int(b->cx, low(b, n->in[2]), 0, &axis);
	if (x->type.rank == rank)
		x = unsqueeze(b, x, &rank, 1);
	x = cast(b, x, wide_float(b));
	x = transform(b, x, cast(b, low(b, n->in[1]), DT_INT64), axis, false);
	if (!x)
		return false;
	set_lowered(b, n, 0, with_dims(x, n->out[0]->type.dims));
	return true;
}

/* The weights of the coefficients of a half: 1 at 0 and n/2, 2 between, 0 after n/2; negated for
 * imaginary parts, to conjugate. */
static struct value *half_weights(struct build *b, dim count, struct value *length, enum dtype t)
{
	struct value *k = iota(b, count);
	struct value *two = emit_(b, ONNX_Mul, k, const_int(b, 2));
	struct value *single = emit_(b, ONNX_Equal, k, const_int(b, 0));
	single = emit_(b, ONNX_Or, single, emit_(b, ONNX_Equal, two, length));
	struct value *w = const_int(b, 1);
	w = emit_(b, ONNX_Where, single, w, const_int(b, 2));
	struct value *beyond = emit_(b, ONNX_Greater, two, length);

	w = emit_(b, ONNX_Where, beyond, const_int(b, 0), w);
	w = unsqueeze(b, cast(b, w, t), &(int64_t){1}, 1); /* integers would be taken for a shape */
	return emit_(b, ONNX_Mul, w, cast(b, const_ints(b, (int64_t[]){1, -1}, 2), t));
}

/*
 * The other half of the coefficients is the mirror of the given one, so the result is the real part
 * of the inverse of the half, with weights. The inverse is the conjugate of the transform of the
 * conjugate. (ONNX Runtime's own inverse divides by a length in float32.)
 */
bool lower_irfft(struct build *b, struct node *n)
{
	struct value *x = cast(b, low(b, n->in[0]), wide_float(b)), *s = low(b, n->in[1]);
	int64_t last = x->type.rank - 2, axes = 0;

	dim_is_const(b->cx, s->type.dims[0], &axes);
	struct value *length = length_at(b, s, (uint32_t)axes - 1);
	x = emit_(b, ONNX_Mul, x,
		  half_weights(b, x->type.dims[last], length, (enum dtype)x->type.dtype));
	for (int64_t i = 0; x && i < axes; i++)
		x = transform(b, x, length_at(b, s, (uint32_t)i), last - axes + 1 + i, false);
	if (!x)
		return false;
	attr_int(b, "axis", last + 1);
	x = emit_(b, ONNX_Gather, x, const_int(b, 0));
	x = cast(b, x, (enum dtype)n->out[0]->type.dtype);
	set_lowered(b, n, 0, with_dims(x, n->out[0]->type.dims));
	return true;
}
