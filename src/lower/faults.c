/*
 * faults.c: is the runtime's kernel right? In: an ONNX node that the target has a kernel for. Out:
 * false if that gives something else than PyTensor does, as faults.def says; the legaliser then
 * makes the node in another way.
 */
#include "lower/build.h"

enum { ROUNDS_LATE = 1, UNROUNDED = 2, INT64_ORDER = 4 };

static unsigned int faults_of(const struct node *n)
{
	static const struct {
		enum onnx_id op;
		unsigned int what;
	} rows[] = {
#define FAULT(op, what) {ONNX_##op, what},
#include "lower/faults.def"
	};

	for (size_t i = 0; i < countof(rows); i++)
		if (is_onnx(n, rows[i].op))
			return rows[i].what;
	return 0;
}

static bool reads_rounded(const struct node *n)
{
	bool rounded = false;

	for (uint32_t i = 0; i < n->nin; i++)
		rounded |= n->in[i] && rounding_is_lost(n->in[i]);
	return rounded;
}

bool kernel_is_exact(struct build *b, const struct node *n)
{
	bool rounds = !b->cx->opt.excess_precision;

	if (b->target != PTGC_ORT_CPU || !n->nin || !n->in[0])
		return true;
	unsigned int what = faults_of(n);
	enum dtype t = (enum dtype)n->in[0]->type.dtype;
	if (rounds && what & UNROUNDED && reads_rounded(n))
		return false;
	if (t == DT_FLOAT16)
		return !rounds || !(what & ROUNDS_LATE);
	return t != DT_INT64 || b->cse->shared->small_ints || !(what & INT64_ORDER);
}
