/*
 * behind.c: what a value is, seen through operators that leave its elements as they are. In: ONNX
 * values. Out: the value or the node behind.
 */
#include "onnx/onnx.h"

#define MAX_BEHIND 64 /* operators that are looked through: a text may have 100,000 of them */

struct value *behind_identity(struct value *v)
{
	while (is_onnx(v->def, ONNX_Identity))
		v = resolve(v->def->in[0]);
	return v;
}

const struct value *behind_reshapes(const struct value *v)
{
	for (int steps = 0; steps < MAX_BEHIND && v->def && v->def->onnx; steps++) {
		if (!onnx_facts[v->def->onnx->id].reshapes && !computes(v->def, ONNX_Identity))
			break;
		v = v->def->in[0];
	}
	return v;
}

const struct value *behind_moves(const struct value *v)
{
	for (int steps = 0; steps < MAX_BEHIND && v->def; steps++) {
		if (!onnx_facts[operator_of(v->def)].moves || v->def->index_may_fail)
			break;
		v = v->def->in[0];
	}
	return v;
}

const struct node *counted_by(struct ctx *cx, const struct value *v, int64_t *start, int64_t *step)
{
	const struct node *n = behind_reshapes(v)->def;

	return computes(n, ONNX_Range) && known_int(cx, n->in[0], 0, start) &&
			       known_int(cx, n->in[2], 0, step)
		       ? n
		       : NULL;
}
