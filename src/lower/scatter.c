/*
 * scatter.c: updates at places of an array, and what they are rounded to. In and out: ONNX values.
 */
#include <string.h>

#include "lower/build.h"

/* float64 to float16 is rounded once, as NumPy does; the runtime's Cast goes through float32. */
struct value *cast_once(struct build *b, struct value *v, enum dtype t)
{
	struct fn *f;
	struct value *out;

	if (v->type.dtype != DT_FLOAT64 || t != DT_FLOAT16 || cast_folds(v, t) ||
	    b->target == PTGC_ONNX || b->cx->opt.excess_precision)
		return cast(b, v, t);
	f = lib_fn(b->cx, "_To_half");
	if (!f)
		bug("the library has no _To_half");
	return call_fn(b, f, NULL, NULL, &v, 1, &out, 1) ? out : dummy(b, type_of(t, 0, NULL));
}

/* One update after the other is added, in their dtype, and rounded to that of v. `at` has a tuple a
 * row. */
struct value *scatter_each(struct build *b, struct value *v, struct value *at,
			   struct value *updates)
{
	struct block *outer = b->block, *body = block_new(b);
	struct type acc = v->type;
	uint32_t lead = at->type.rank - 1u, rest = updates->type.rank - lead;
	dim *to = new_array(b->cx->arena, dim, rest + 2);

	to[0] = dims_product(b->cx, at->type.dims, lead);
	to[1] = at->type.dims[lead];
	at = reshape(b, at, memcpy(new_array(b->cx->arena, dim, 2), to, 2 * sizeof(dim)), 2);
	memcpy(to + 1, updates->type.dims + lead, rest * sizeof(dim));
	updates = reshape(b, updates, to, rest + 1);
	struct value *count = scalar_of(b, shape_slice(b, at, 0, 1));

	struct value *i = block_param(b, body, type_of(DT_INT64, 0, NULL));
	struct value *go = block_param(b, body, type_of(DT_BOOL, 0, NULL));
	struct value *old = block_param(b, body, acc);
	scope_open(b, body);
	i = vector_of(b, i);
	struct value *place = emit_(b, ONNX_Gather, at, i), *u = emit_(b, ONNX_Gather, updates, i);
	struct value *sum = cast(b, emit_(b, ONNX_GatherND, old, place), (enum dtype)u->type.dtype);
	u = cast_once(b, emit_(b, ONNX_Add, sum, u), (enum dtype)acc.dtype);
	block_result(b, go, NULL, false);
	block_result(b, emit_(b, ONNX_ScatterND, old, place, u), acc.dims, false);
	scope_close(b, outer);
	return loop_node(b, body, (struct value *[]){count, NULL, v}, 3, &acc, 1)->out[0];
}

bool scatter_adds(struct build *b)
{
	return b->opset >= 16;
}

struct value *scatter_nd(struct build *b, struct value *v, struct value *at, struct value *updates,
			 bool add)
{
	if (add && !scatter_adds(b)) /* before opset 16 ScatterND cannot */
		return scatter_each(b, v, at, updates);
	if (add)
		attr_str(b, "reduction", "add");
	return emit_(b, ONNX_ScatterND, v, at, updates);
}
