/*
 * blocks.c: If and Loop nodes, and results of their blocks. In: ONNX values. Out: nodes at the
 * insertion point; every result of a block is a value of that very block.
 */
#include <string.h>

#include "graph/uses.h"
#include "lower/build.h"

/* Is v made in, or a parameter of, the block that is open? (ONNX wants no outer values as results.)
 */
static bool own(struct build *b, const struct value *v)
{
	return defining_block(b, v) == b->block && !v->data;
}

struct value *own_result(struct build *b, struct value *v)
{
	struct value *r = resolve(v);

	return r == v || (r->def && defining_block(b, r) == b->block) ? r : identity(b, r);
}

/* v as a result of the block that is open */
void block_result(struct build *b, struct value *v, const dim *dims, bool param_ok)
{
	if (!own(b, v) || (!v->def && !param_ok))
		v = identity(b, v);
	for (uint32_t i = 0; i < b->block->results.len; i++)
		if (b->block->results.at[i] == v) {
			v = identity(b, v);
			break;
		}
	if (v->def)
		with_dims(v, dims);
	add_result(b->cx, b->block, b->block->results.len, v);
}

/* If of one result */
struct value *if_node(struct build *b, struct value *cond, struct block *yes, struct block *no,
		      struct type t)
{
	attr_block(b, "then_branch", yes);
	attr_block(b, "else_branch", no);
	struct node *n = onnx_node(b, ONNX_If, &cond, 1, 1);
	n->out[0]->type = t;
	append(b, n);
	return n->out[0];
}

/* Loop: trip count, condition, first values; `types` of the carried values, then of stacked ones.
 * A count or condition of NULL is given as the largest count or as true, as some readers of ONNX
 * take an input that is left out for 0 or false. */
struct node *loop_node(struct build *b, struct block *body, struct value **in, uint32_t nin,
		       const struct type *types, uint32_t nout)
{
	in = memcpy(new_array(b->cx->arena, struct value *, nin), in, nin * sizeof(*in));
	in[0] = in[0] ? in[0] : const_int(b, INT64_MAX);
	in[1] = in[1] ? in[1] : const_int_of(b, DT_BOOL, 1);
	attr_block(b, "body", body);
	struct node *n = onnx_node(b, ONNX_Loop, in, nin, nout);
	for (uint32_t i = 0; i < nout; i++)
		n->out[i]->type = types[i];
	append(b, n);
	return n;
}
