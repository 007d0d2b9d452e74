/*
 * rules.h: the inference rules that rows of ops.def name. ty_x: the dtype of result 0 (DT_NONE:
 * reported). sh_x: the dims of all results, and the dtypes of results 1, 2, ... (false: reported).
 * kn_x: element i of the results (DIM_NONE: not known). nr_x: the number of results (0: reported).
 */
#ifndef PTGC_OPS_RULES_H
#define PTGC_OPS_RULES_H

#include "ops/ops.h"

dim kn_alloc(struct ctx *cx, struct node *n, uint32_t i);
dim kn_arange(struct ctx *cx, struct node *n, uint32_t i);
dim kn_arith(struct ctx *cx, struct node *n, uint32_t i);
dim kn_compare(struct ctx *cx, struct node *n, uint32_t i);
dim kn_logic(struct ctx *cx, struct node *n, uint32_t i);
dim kn_join(struct ctx *cx, struct node *n, uint32_t i);
dim kn_reduce(struct ctx *cx, struct node *n, uint32_t i);
dim kn_reshape(struct ctx *cx, struct node *n, uint32_t i);
dim kn_reshape_to(struct ctx *cx, struct node *n, uint32_t i);
dim kn_same(struct ctx *cx, struct node *n, uint32_t i);
dim kn_second(struct ctx *cx, struct node *n, uint32_t i);
dim kn_shape(struct ctx *cx, struct node *n, uint32_t i);
dim kn_shape_i(struct ctx *cx, struct node *n, uint32_t i);
dim kn_split(struct ctx *cx, struct node *n, uint32_t i);
dim kn_subtensor(struct ctx *cx, struct node *n, uint32_t i);
dim kn_setsubtensor(struct ctx *cx, struct node *n, uint32_t i);
dim kn_switch(struct ctx *cx, struct node *n, uint32_t i);
uint32_t nr_blockwise(struct ctx *cx, struct node *n);
uint32_t nr_lu(struct ctx *cx, struct node *n);
uint32_t nr_nonzero(struct ctx *cx, struct node *n);
uint32_t nr_qr(struct ctx *cx, struct node *n);
uint32_t nr_split(struct ctx *cx, struct node *n);
uint32_t nr_svd(struct ctx *cx, struct node *n);
uint32_t nr_unique(struct ctx *cx, struct node *n);
uint32_t nr_unravelindex(struct ctx *cx, struct node *n);
bool sh_advincsubtensor(struct ctx *cx, struct node *n);
bool sh_advsubtensor(struct ctx *cx, struct node *n);
bool sh_alloc(struct ctx *cx, struct node *n);
bool sh_allocdiag(struct ctx *cx, struct node *n);
bool sh_allocempty(struct ctx *cx, struct node *n);
bool sh_along(struct ctx *cx, struct node *n);
bool sh_along_axes(struct ctx *cx, struct node *n);
bool sh_arange(struct ctx *cx, struct node *n);
bool sh_assert(struct ctx *cx, struct node *n);
bool sh_bartlett(struct ctx *cx, struct node *n);
bool sh_blockdiagonal(struct ctx *cx, struct node *n);
bool sh_blockwise(struct ctx *cx, struct node *n);
bool sh_broadcast(struct ctx *cx, struct node *n);
bool sh_choose(struct ctx *cx, struct node *n);
bool sh_convolve(struct ctx *cx, struct node *n);
bool sh_einsum(struct ctx *cx, struct node *n);
bool sh_core(struct ctx *cx, struct node *n);
bool sh_default_generator(struct ctx *cx, struct node *n);
bool sh_dimshuffle(struct ctx *cx, struct node *n);
bool sh_dot(struct ctx *cx, struct node *n);
bool sh_eigh(struct ctx *cx, struct node *n);
bool sh_eigvalsh(struct ctx *cx, struct node *n);
bool sh_expanddims(struct ctx *cx, struct node *n);
bool sh_extractdiag(struct ctx *cx, struct node *n);
bool sh_eye(struct ctx *cx, struct node *n);
bool sh_filldiagonal(struct ctx *cx, struct node *n);
bool sh_filldiagonaloffset(struct ctx *cx, struct node *n);
bool sh_first(struct ctx *cx, struct node *n);
bool sh_incsubtensor(struct ctx *cx, struct node *n);
bool sh_generator_to_words(struct ctx *cx, struct node *n);
bool sh_irfft(struct ctx *cx, struct node *n);
bool sh_join(struct ctx *cx, struct node *n);
bool sh_joindims(struct ctx *cx, struct node *n);
bool sh_kron(struct ctx *cx, struct node *n);
bool sh_lstsq(struct ctx *cx, struct node *n);
bool sh_lu(struct ctx *cx, struct node *n);
bool sh_lufactor(struct ctx *cx, struct node *n);
bool sh_lutridiagonal(struct ctx *cx, struct node *n);
bool sh_makevector(struct ctx *cx, struct node *n);
bool sh_matmul(struct ctx *cx, struct node *n);
bool sh_matrix_transpose(struct ctx *cx, struct node *n);
bool sh_nonzero(struct ctx *cx, struct node *n);
bool sh_pad(struct ctx *cx, struct node *n);
bool sh_qr(struct ctx *cx, struct node *n);
bool sh_random(struct ctx *cx, struct node *n);
bool sh_ravelmultiindex(struct ctx *cx, struct node *n);
bool sh_reduce(struct ctx *cx, struct node *n);
bool sh_reduce_keep(struct ctx *cx, struct node *n);
bool sh_reduce_some(struct ctx *cx, struct node *n);
bool sh_repeat(struct ctx *cx, struct node *n);
bool sh_reshape(struct ctx *cx, struct node *n);
bool sh_searchsorted(struct ctx *cx, struct node *n);
bool sh_rfft(struct ctx *cx, struct node *n);
bool sh_fourier(struct ctx *cx, struct node *n);
bool sh_shape(struct ctx *cx, struct node *n);
bool sh_shape_i(struct ctx *cx, struct node *n);
bool sh_schur(struct ctx *cx, struct node *n);
bool sh_solve(struct ctx *cx, struct node *n);
bool sh_solvetridiagonal(struct ctx *cx, struct node *n);
bool sh_specify_shape(struct ctx *cx, struct node *n);
bool sh_split(struct ctx *cx, struct node *n);
bool sh_splitdims(struct ctx *cx, struct node *n);
bool sh_squeeze(struct ctx *cx, struct node *n);
bool sh_subtensor(struct ctx *cx, struct node *n);
bool sh_svd(struct ctx *cx, struct node *n);
bool sh_tensorinv(struct ctx *cx, struct node *n);
bool sh_tensorsolve(struct ctx *cx, struct node *n);
bool sh_transpose(struct ctx *cx, struct node *n);
bool sh_unique(struct ctx *cx, struct node *n);
bool sh_unravelindex(struct ctx *cx, struct node *n);
bool sh_words_to_generator(struct ctx *cx, struct node *n);
enum dtype ty_abs(struct ctx *cx, struct node *n);
enum dtype ty_arange(struct ctx *cx, struct node *n);
enum dtype ty_bits(struct ctx *cx, struct node *n);
enum dtype ty_bool(struct ctx *cx, struct node *n);
enum dtype ty_careduce(struct ctx *cx, struct node *n);
enum dtype ty_complex(struct ctx *cx, struct node *n);
enum dtype ty_drawn_float(struct ctx *cx, struct node *n);
enum dtype ty_drawn_int64(struct ctx *cx, struct node *n);
enum dtype ty_drawn_param(struct ctx *cx, struct node *n);
enum dtype ty_float(struct ctx *cx, struct node *n);
enum dtype ty_float64(struct ctx *cx, struct node *n);
enum dtype ty_complex128(struct ctx *cx, struct node *n);
enum dtype ty_float_nocomplex(struct ctx *cx, struct node *n);
enum dtype ty_int64(struct ctx *cx, struct node *n);
enum dtype ty_pivots(struct ctx *cx, struct node *n);
enum dtype ty_places(struct ctx *cx, struct node *n);
enum dtype ty_window(struct ctx *cx, struct node *n);
enum dtype ty_invert(struct ctx *cx, struct node *n);
enum dtype ty_linalg(struct ctx *cx, struct node *n);
enum dtype ty_logsumexp(struct ctx *cx, struct node *n);
enum dtype ty_makevector(struct ctx *cx, struct node *n);
enum dtype ty_mean(struct ctx *cx, struct node *n);
enum dtype ty_pad(struct ctx *cx, struct node *n);
enum dtype ty_polygamma(struct ctx *cx, struct node *n);
enum dtype ty_prop(struct ctx *cx, struct node *n);
enum dtype ty_prod_without_zeros(struct ctx *cx, struct node *n);
enum dtype ty_real(struct ctx *cx, struct node *n);
enum dtype ty_riccati(struct ctx *cx, struct node *n);
enum dtype ty_same(struct ctx *cx, struct node *n);
enum dtype ty_same_all(struct ctx *cx, struct node *n);
enum dtype ty_same_float(struct ctx *cx, struct node *n);
enum dtype ty_same_nobool(struct ctx *cx, struct node *n);
enum dtype ty_second(struct ctx *cx, struct node *n);
enum dtype ty_softmax(struct ctx *cx, struct node *n);
enum dtype ty_sum(struct ctx *cx, struct node *n);
enum dtype ty_switch(struct ctx *cx, struct node *n);
enum dtype ty_tensorsolve(struct ctx *cx, struct node *n);
enum dtype ty_tridiagonal(struct ctx *cx, struct node *n);
enum dtype ty_true_div(struct ctx *cx, struct node *n);
enum dtype ty_upcast(struct ctx *cx, struct node *n);
enum dtype ty_choose(struct ctx *cx, struct node *n);
enum dtype ty_einsum(struct ctx *cx, struct node *n);
enum dtype ty_upcast_min8(struct ctx *cx, struct node *n);
enum dtype ty_upcast_nobool(struct ctx *cx, struct node *n);
enum dtype ty_upcast_nocomplex(struct ctx *cx, struct node *n);
enum dtype ty_update(struct ctx *cx, struct node *n);
enum dtype ty_xlogy(struct ctx *cx, struct node *n);

/* rules_random.c: how many dims of its own parameter `param` of a random variable has, behind those
 * of the batch. The draw comes after the last parameter. */
uint32_t draw_core_rank(struct ctx *cx, const struct node *n, uint32_t param);
bool draw_has_more(const struct node *n); /* more parameters than in the row's signature */
/* The width of Pad before an axis (side 0) or after it (side 1), from its input 1; false: it is no
 * constant */
bool pad_width_at(const struct node *n, uint32_t axis, uint32_t side, int64_t *k);
/* *k = the property offset of ExtractDiag or AllocDiag; false: reported */
bool diagonal_offset(struct ctx *cx, struct node *n, int64_t *k);
/* The axes of a in the order that TensorSolve needs: those of the property axes last. false:
 * reported */
bool tensorsolve_order(struct ctx *cx, const struct node *n, int64_t order[MAX_RANK]);
void set_results_known(struct ctx *cx, struct node *n); /* by the rule kn_x of its op */
/* shared by the files of rules */
void set_type(struct node *n, uint32_t i, enum dtype t, uint32_t rank, dim *dims);
bool set_dims(struct node *n, uint32_t rank, dim *dims); /* of result 0; true */
dim *new_dims(struct ctx *cx, uint32_t rank);
dim *copy_dims(struct ctx *cx, const struct type *t);
/* out[rank] = the broadcast of the dims of v[nv], aligned on the right; entries of v may be NULL */
bool broadcast_dims(struct ctx *cx, struct node *n, struct value **v, uint32_t nv, dim *out,
		    uint32_t rank);
dim scalar_dim(struct ctx *cx, struct value *v);                    /* DIM_NONE: not known */
dim shape_element(struct ctx *cx, struct value *shape, uint32_t i); /* the same */
/* The integer that all elements of v are, if there are any; DIM_NONE: not known */
dim equal_elements(struct ctx *cx, struct value *v);
enum dtype upcast_inputs(struct node *n, uint32_t from);
/* t of n, as dtypes give it; with cx->narrow float32 for a float64 that no input has */
enum dtype narrowed(const struct ctx *cx, const struct node *n, enum dtype t);
bool want_int_scalar(struct ctx *cx, struct node *n, uint32_t i, const char *what);
/* The property `name`, an axis of input 0, counted from the front; -1: reported */
int checked_axis(struct ctx *cx, struct node *n, const char *name);
bool want_rank(struct ctx *cx, struct node *n, uint32_t i, uint32_t rank);

/* numbers.c: functions of numbers that the text writes */
double nb_reciprocal(double x);
double nb_square(double x);
double nb_sign(double x);
double nb_deg2rad(double x);
double nb_rad2deg(double x);
double nb_maximum(double a, double b);
double nb_minimum(double a, double b);
__int128 nb_abs(__int128 x);
__int128 nb_sign_of_int(__int128 x);
__int128 nb_square_of_int(__int128 x);
__int128 nb_maximum_of_ints(__int128 a, __int128 b);
__int128 nb_minimum_of_ints(__int128 a, __int128 b);

#endif
