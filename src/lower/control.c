/*
 * control.c: loops and ifs. In: typed nodes `loop` and `if` as the elaborator makes them (see
 * op_loop in ops/ops.h). Out: ONNX Loop and If; every result of a block is a value of that very
 * block, and stacked results have their shape even when no step was run.
 */
#include <string.h>

#include "graph/uses.h"
#include "lower/build.h"

/* The nodes of a body, in the scope of `to`. */
static bool lower_inside(struct build *b, struct block *from, struct block *to)
{
	struct shared *s = b->scope->shared;
	const struct node *at = s->at;
	uint32_t expanding = s->expanding;
	struct span span = b->span;

	for (uint32_t i = 0; i < from->params.len; i++) {
		struct value *p = from->params.at[i];
		p->lowered = block_param(b, to, p->type);
		p->lowered->known = p->known;
		name_value(b, p->lowered, p->name);
		dims_record(b, p);
	}
	bool ok = lower_block(b, from);
	s->at = at;
	s->expanding = expanding;
	b->span = span;
	return ok;
}

void lower_lost(struct build *b, struct block *from)
{
	struct block *outer = b->block, *to = block_new(b);

	scope_open(b, to);
	lower_inside(b, from, to);
	scope_close(b, outer);
}

/* The body: results get dims that fit the parameters that they become. */
static bool lower_body(struct build *b, struct block *from, struct block *to, bool params_ok)
{
	struct block *outer = b->block;

	scope_open(b, to);
	bool ok = lower_inside(b, from, to);
	for (uint32_t i = 0; i < from->results.len && ok; i++)
		block_result(b, low(b, from->results.at[i]), from->results.at[i]->type.dims,
			     params_ok);
	scope_close(b, outer);
	return ok;
}

/* The nodes of the branch that is taken always, in place of the If */
static bool lower_branch(struct build *b, struct node *n, struct block *branch)
{
	if (!lower_inside(b, branch, NULL))
		return !(b->scope->shared->failed = true);
	for (uint32_t i = 0; i < n->nout; i++)
		set_lowered(b, n, i, low(b, branch->results.at[i]));
	return true;
}

bool lower_if(struct build *b, struct node *n)
{
	struct value *cond = low(b, n->in[0]);
	struct block *branch[2];
	bool ok = true;
	int64_t taken;

	if (single_int(constant_data(cond), &taken))
		return lower_branch(b, n, n->blocks[taken ? 0 : 1]);
	for (int i = 0; i < 2; i++) {
		branch[i] = block_new(b);
		ok &= lower_body(b, n->blocks[i], branch[i], true);
	}
	if (!ok)
		return !(b->scope->shared->failed = true);
	attr_block(b, "then_branch", branch[0]);
	attr_block(b, "else_branch", branch[1]);
	struct node *r = onnx_node(b, ONNX_If, &cond, 1, n->nout);
	for (uint32_t i = 0; i < n->nout; i++) {
		r->out[i]->type = n->out[i]->type;
		set_lowered(b, n, i, r->out[i]);
	}
	append(b, r);
	return true;
}

struct value *restacked(struct build *b, struct value *v, struct type t)
{
	int64_t k;
	bool fixed = true;

	for (uint32_t i = 1; i < t.rank; i++)
		fixed &= dim_is_const(b->cx, t.dims[i], &k) || dim_eq(b->cx, t.dims[i], t.dims[0]);
	if (fixed || t.rank < 2 || dim_ge(b->cx, t.dims[0], 1))
		return v;
	struct value *sizes[MAX_RANK];
	bool any = false;
	for (uint32_t i = 0; i < t.rank; i++) {
		bool known = i && dim_available(b, t.dims[i]);
		sizes[i] = known ? dim_vector(b, t.dims[i]) : shape_slice(b, v, (int)i, (int)i + 1);
		any |= known && !dim_is_const(b->cx, t.dims[i], &k);
	}
	return any ? reshape_to(b, v, concat(b, 0, sizes, t.rank), t.dims, t.rank) : v;
}

bool lower_loop(struct build *b, struct node *n)
{
	struct block *body = block_new(b), *from = n->blocks[0];
	uint32_t carried = n->nin - 2u;
	struct value **in = new_array(b->cx->arena, struct value *, n->nin);
	struct type *types = new_array(b->cx->arena, struct type, n->nout + 1);

	for (uint32_t i = 0; i < n->nin; i++)
		in[i] = n->in[i] ? low(b, n->in[i]) : NULL;
	if (!lower_body(b, from, body, false))
		return !(b->scope->shared->failed = true);
	for (uint32_t i = 0; i < n->nout; i++)
		types[i] = n->out[i]->type;
	struct node *r = loop_node(b, body, in, n->nin, types, n->nout);
	for (uint32_t i = 0; i < n->nout; i++)
		set_lowered(b, n, i, i < carried ? r->out[i] : restacked(b, r->out[i], types[i]));
	return true;
}
