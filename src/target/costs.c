/*
 * costs.c: what nodes take in ONNX Runtime, by operator, dtype and size (costs_ort.def, made by
 * tools/make_costs.py). Only comparisons of sums say something: is one form faster than another?
 * Other runtimes have other costs, but in most cases the same order.
 */
#include "target/target.h"

#define CACHE (256 << 10) /* bytes of an array from which on its elements take longer */

static const struct cost {
	double node, element, far;
} costs[ONNX_COUNT][3] = {
#define FLOAT32                         0
#define FLOAT64                         1
#define INT64                           2
#define COST(op, t, node, element, far) [ONNX_##op][t] = {node, element, far},
#include "target/costs_ort.def"
};

double cost_of(enum onnx_id op, enum dtype t, int64_t elements)
{
	bool wide = dtypes[t].size == 8, whole = is_discrete(t);
	const struct cost *c = &costs[op][wide && whole ? INT64 : wide ? FLOAT64 : FLOAT32];
	int64_t near = CACHE / dtypes[t].size;

	if (!c->element)
		bug("costs_ort.def has no %s: name it in tools/make_costs.py",
		    onnx_nearest(op, OPSET)->name);
	near = elements < near ? elements : near;
	return c->node + c->element * (double)near + c->far * (double)(elements - near);
}
