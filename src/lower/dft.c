/*
 * dft.c: discrete Fourier transforms of x[..., m, parts], where parts is 1 for real numbers and 2
 * for (real, imaginary): ONNX's DFT, fns of lib/complex/fourier.ptg, and what stands for a DFT
 * before opset 17.
 */
#include <string.h>

#include "lower/build.h"

dim *dims_with_axis(struct build *b, const struct value *x, int64_t axis, dim d)
{
	dim *dims = new_array(b->cx->arena, dim, x->type.rank);

	memcpy(dims, x->type.dims, x->type.rank * sizeof(dim));
	dims[axis] = d;
	return dims;
}

/* x[..., m, parts] by a fn of the library, which has one axis before these, and numbers */
struct value *dft_by_library(struct build *b, const char *name, struct value *x,
			     struct value *const *numbers, uint32_t n)
{
	struct type number = type_of(DT_INT64, 0, NULL), t = x->type;
	dim *flat = new_array(b->cx->arena, dim, 3);
	struct value *in[4], *y;

	memcpy(flat + 1, t.dims + t.rank - 2, 2 * sizeof(dim));
	flat[0] = dims_product(b->cx, t.dims, t.rank - 2u);
	in[0] = held_by(b, reshape(b, x, flat, 3), type_of((enum dtype)x->type.dtype, 3, flat),
			b->span);
	for (uint32_t i = 0; i < n; i++)
		in[i + 1] = held_by(b, numbers[i], number, b->span);
	if (!call_fn(b, lib_fn(b->cx, name), NULL, NULL, in, n + 1, &y, 1))
		return NULL;
	dim *d = dims_with_axis(b, x, t.rank - 2, y->type.dims[1]);
	d[t.rank - 1] = dim_const(b->cx, 2);
	return reshape(b, y, d, t.rank);
}

/* x[..., m, parts] with that axis in the place of m, or from there */
struct value *to_last(struct build *b, struct value *x, int64_t axis)
{
	uint32_t rank = x->type.rank;
	int64_t perm[MAX_RANK + 1];

	for (uint32_t i = 0; i < rank; i++)
		perm[i] = i;
	perm[axis] = rank - 2;
	perm[rank - 2] = axis;
	return axis == rank - 2 ? x : transpose(b, x, perm);
}

/* What stands for a DFT where the opset has none. */
struct value *dft_by_matrices(struct build *b, struct node *n)
{
	struct value *length = n->nin > 1 ? n->in[1] : NULL, *x = n->in[0], *half;
	int64_t axis = int_of_attr(n, "axis", 1), onesided = int_of_attr(n, "onesided", 0);

	if (!length)
		length = dim_value(b, x->type.dims[axis]);
	x = dft_by_library(b, "_By_matrices", to_last(b, x, axis), &length, 1);
	if (!x)
		return NULL;
	x = to_last(b, x, axis);
	if (!onesided)
		return x;
	half = emit_(b, ONNX_Div, length, const_int(b, 2));
	half = emit_(b, ONNX_Add, half, const_int(b, 1));
	return slice_axis(b, x, (int)axis, const_int(b, 0), half, NULL);
}
