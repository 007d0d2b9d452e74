/*
 * lower.h: what lowering offers: the pass, and the C bodies that rows of ops/ops.def name. Each takes a
 * typed PyTensor node, emits ONNX nodes for it and says with lowered() what holds its results;
 * false: reported.
 */
#ifndef PTGC_LOWER_LOWER_H
#define PTGC_LOWER_LOWER_H

#include <stdbool.h>

struct build;
struct ctx;
struct graph;
struct node;

/* a graph of PyTensor nodes -> a graph of ONNX nodes; NULL: there were errors */
struct graph *lower(struct ctx *cx, struct graph *g);

bool lower_advincsubtensor(struct build *b, struct node *n);
bool lower_advsetsubtensor(struct build *b, struct node *n);
bool lower_advsubtensor(struct build *b, struct node *n);
bool lower_alloc(struct build *b, struct node *n);
bool lower_allocdiag(struct build *b, struct node *n);
bool lower_allocempty(struct build *b, struct node *n);
bool lower_arange(struct build *b, struct node *n);
bool lower_argmax(struct build *b, struct node *n);
bool lower_argsort(struct build *b, struct node *n);
bool lower_assert(struct build *b, struct node *n);
bool lower_blockwise(struct build *b, struct node *n);
bool lower_careduce(struct build *b, struct node *n);
bool lower_mixed_compare(struct build *b, struct node *n);
bool lower_cast(struct build *b, struct node *n);
bool lower_choose(struct build *b, struct node *n);
bool lower_clip(struct build *b, struct node *n);
bool lower_convolve(struct build *b, struct node *n);
bool lower_cumop(struct build *b, struct node *n);
bool lower_dimshuffle(struct build *b, struct node *n);
bool lower_dot(struct build *b, struct node *n);
bool lower_dot22scalar(struct build *b, struct node *n);
bool lower_einsum(struct build *b, struct node *n);
bool lower_expanddims(struct build *b, struct node *n);
bool lower_extractdiag(struct build *b, struct node *n);
bool lower_eye(struct build *b, struct node *n);
bool lower_filldiagonal(struct build *b, struct node *n);
bool lower_filldiagonaloffset(struct build *b, struct node *n);
bool lower_fourier(struct build *b, struct node *n);
bool lower_gemm(struct build *b, struct node *n);
bool lower_gemv(struct build *b, struct node *n);
bool lower_ger(struct build *b, struct node *n);
bool lower_if(struct build *b, struct node *n);
bool lower_incsubtensor(struct build *b, struct node *n);
bool lower_irfft(struct build *b, struct node *n);
bool lower_join(struct build *b, struct node *n);
bool lower_joindims(struct build *b, struct node *n);
bool lower_kron(struct build *b, struct node *n);
bool lower_logsoftmax(struct build *b, struct node *n);
bool lower_logsumexp(struct build *b, struct node *n);
bool lower_loop(struct build *b, struct node *n);
bool lower_makevector(struct build *b, struct node *n);
bool lower_matmul(struct build *b, struct node *n);
bool lower_matrix_transpose(struct build *b, struct node *n);
bool lower_mod(struct build *b, struct node *n);
bool lower_nonzero(struct build *b, struct node *n);
bool lower_pad(struct build *b, struct node *n);
bool lower_permuterowelements(struct build *b, struct node *n);
bool lower_pow(struct build *b, struct node *n);
bool lower_ravelmultiindex(struct build *b, struct node *n);
bool lower_reduce(struct build *b, struct node *n);
bool lower_repeat(struct build *b, struct node *n);
bool lower_reshape(struct build *b, struct node *n);
bool lower_rfft(struct build *b, struct node *n);
bool lower_searchsorted(struct build *b, struct node *n);
bool lower_second(struct build *b, struct node *n);
bool lower_xlogy(struct build *b, struct node *n);
bool lower_setsubtensor(struct build *b, struct node *n);
bool lower_shape(struct build *b, struct node *n);
bool lower_shape_i(struct build *b, struct node *n);
bool lower_softmax(struct build *b, struct node *n);
bool lower_sort(struct build *b, struct node *n);
bool lower_specify_shape(struct build *b, struct node *n);
bool lower_split(struct build *b, struct node *n);
bool lower_splitdims(struct build *b, struct node *n);
bool lower_squeeze(struct build *b, struct node *n);
bool lower_subtensor(struct build *b, struct node *n);
bool lower_switch(struct build *b, struct node *n);
bool lower_tensorsolve(struct build *b, struct node *n);
bool lower_inverse(struct build *b, struct node *n);
bool lower_transpose(struct build *b, struct node *n);
bool lower_unique(struct build *b, struct node *n);
bool lower_unravelindex(struct build *b, struct node *n);

#endif
