/*
 * costs.c: what nodes take in ONNX Runtime, by operator, dtype and size (costs_ort.def, made by
 * tools/make_costs.py), and by how arrays lie (costs_layout.def). Only comparisons of sums say
 * something: is one form faster than another? Other runtimes have other costs, but in most cases
 * the same order.
 */
#include "target/target.h"

#define CACHE (256 << 10) /* bytes of an array from which on its elements take longer */

enum measured_dtype { FLOAT32, FLOAT64, INT64, MEASURED_DTYPES };
static const struct cost {
	double node, element, far;
} costs[ONNX_COUNT][MEASURED_DTYPES] = {
#define COST(op, t, node, element, far) [ONNX_##op][t] = {node, element, far},
#define RUN(t, each)
#include "target/costs_ort.def"
};
static const double runs[MEASURED_DTYPES] = {
#define COST(op, t, node, element, far)
#define RUN(t, each) [t] = each,
#include "target/costs_ort.def"
};

const struct layout_costs layout_costs = {
#define LAYOUT(field, nanoseconds) .field = (nanoseconds),
#include "target/costs_layout.def"
};

static enum measured_dtype measured(enum dtype t)
{
	return dtypes[t].size < 8 ? FLOAT32 : is_discrete(t) ? INT64 : FLOAT64;
}

double cost_of(enum onnx_id op, enum dtype t, int64_t elements)
{
	const struct cost *c = &costs[op][measured(t)];
	int64_t near = CACHE / (dtypes[t].size ? dtypes[t].size : 1);

	if (!c->element)
		bug("costs_ort.def has no %s: name it in tools/make_costs.py",
		    onnx_nearest(op, OPSET)->name);
	near = elements < near ? elements : near;
	return c->node + c->element * (double)near + c->far * (double)(elements - near);
}

double cost_of_any(enum onnx_id op, enum dtype t, int64_t elements)
{
	return cost_of(costs[op][measured(t)].element ? op : ONNX_Add, t, elements);
}

double cost_of_run(enum dtype t)
{
	return runs[measured(t)];
}
