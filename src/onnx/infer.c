/*
 * infer.c: types of the results of ONNX nodes. In: a node of operators.def whose inputs are
 * typed and whose attributes are set. Out: dtype, dims, known integers and signs of all results.
 * Dtypes follow from the operator's schema, dims from the rule that facts.def names. No rule
 * records an equation of dims: in ONNX a length of 1 broadcasts at run time, so the sum of
 * float64[n] and float64[m] has an unknown length.
 */
#include "onnx/internal.h"

const struct onnx_facts onnx_facts[ONNX_COUNT] = {
#define EACH          .each = true
#define MOVES         .moves = true
#define RESHAPES      .moves = true, .reshapes = true
#define RANDOM        .random = true
#define COUNTS        .counts = true
#define IN(i)         1 << i
#define SHAPE(inputs) .shapes = inputs
#define RANKS(...)    .ranks = {__VA_ARGS__}
#define BETWEEN(n, m)                                                                              \
	{                                                                                          \
		n, m + 1                                                                           \
	}
#define AT(n)   BETWEEN(n, n)
#define FROM(n) BETWEEN(n, MAX_RANK)
#define ANY                                                                                        \
	{                                                                                          \
		0, 0                                                                               \
	}
#define FACTS(name, types, known, signs, ...)                                                      \
	[ONNX_##name] = {onnx_##types, known_##known, sign_##signs, __VA_ARGS__},
#include "onnx/facts.def"
#define OWN(op, inputs, function) [ONNX_c_##op] = {onnx_broadcast, known_none, sign_any, EACH},
#define MATRICES_1                FROM(2)
#define MATRICES_2                FROM(2), FROM(2)
#define ROUTINE(op, inputs, types, put, shape)                                                     \
	[ONNX_c_##op] = {onnx_##types, known_none, sign_any, .ranks = {MATRICES_##inputs}},
#define STREAM(op, reads, types, put, shape, ...)                                                  \
	[ONNX_c_##op] = {onnx_##types, known_none, sign_any, __VA_ARGS__},
#include "onnx/own.def"
};

static bool check_ranks(struct infer *f)
{
	for (uint32_t i = 0; i < ONNX_MAX_RANKED && i < f->n->nin; i++) {
		const uint8_t *r = onnx_facts[f->op->id].ranks[i];
		if (r[1] && !check_input_rank(f, i, r[0], r[1] - 1u))
			return false;
	}
	return true;
}

enum onnx_lengths onnx_lengths(const struct onnx_op *op)
{
	enum onnx_infer_result (*types)(struct infer * f) = onnx_facts[op->id].types;

	return types == onnx_broadcast                    ? ONNX_BROADCAST_LENGTHS
	       : types == onnx_same || types == onnx_cast ? ONNX_FIRST_LENGTHS
	       : types == onnx_reduce                     ? ONNX_REDUCED_LENGTHS
							  : ONNX_OTHER_LENGTHS;
}

bool onnx_is_pure(const struct onnx_op *op)
{
	return !onnx_facts[op->id].random && !onnx_has_blocks(op);
}

enum onnx_infer_result onnx_none(struct infer *f)
{
	(void)f;
	return ONNX_NO_RULE;
}

enum onnx_infer_result onnx_infer(struct ctx *cx, struct node *n)
{
	const struct onnx_facts *facts = &onnx_facts[n->onnx->id];
	struct infer f = {.cx = cx, .n = n, .op = n->onnx};

	if (!n->onnx->constraints || onnx_has_blocks(n->onnx))
		return ONNX_NO_RULE;
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && n->in[i]->type.dtype == DT_NONE)
			return ONNX_ERROR; /* reported where the input was computed */
	if (!n->onnx->id)
		return infer_ml(&f);
	if (!bind_inputs(&f) || !check_ranks(&f))
		return ONNX_ERROR;
	enum onnx_infer_result result = facts->types(&f);
	if (result != ONNX_INFERRED || !n->nout || !n->out[0])
		return result;
	if (facts->known != known_none)
		set_known_results(&f, facts->known);
	if (n->nin && n->in[0] && is_float((enum dtype)n->out[0]->type.dtype))
		for (uint32_t i = 0; i < n->nout; i++)
			n->out[i]->sign = facts->signs(n);
	return result;
}
