/*
 * ops.h: the functions that rows of src/target/kernels_c.def name.
 */
#ifndef PTGC_C_OPS_H
#define PTGC_C_OPS_H

#include "c/internal.h"

at_fn_t each_at, is_inf_at, shift_at, where_at, extreme_at, sum_at, clip_at, mod_at, pow_at,
	cast_at;
put_fn_t each_shape, first_shape;
at_fn_t same_at, units_at, reshape_at, transpose_at, expand_at, slice_at, split_at, range_at,
	fill_at, eye_at, trilu_at, shape_at, size_at, tile_at;
put_fn_t units_shape, reshape_shape, flatten_shape, transpose_shape, expand_shape, slice_shape,
	split_shape, range_shape, fill_shape, tile_shape, shape_put;
at_fn_t gather_at, gather_elements_at, gather_nd_at;
put_fn_t gather_shape, gather_elements_shape, gather_nd_shape, scatter_elements_put, scatter_nd_put,
	nonzero_put, compress_put;
put_fn_t concat_put, concat_shape, pad_put, pad_shape, reduce_put, reduce_shape, matmul_put,
	matmul_shape, gemm_put, gemm_shape, cumsum_put, arg_put, softmax_put, lp_normalization_put,
	topk_put, topk_shape, unique_put;
put_fn_t words_put, words_shape, after_put;
put_fn_t cholesky_put, solve_triangle_put, einsum_put, einsum_shape, conv_put, conv_shape;
put_fn_t if_put, loop_put, scan_put;

#endif
