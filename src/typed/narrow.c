/*
 * narrow.c: float64 becomes float32 throughout. In: the typed graph, elaborated as the user wrote
 * it, so that each message names the user's dtypes. Out: the same graph, in which inputs,
 * constants, weights, states and results are float32 where they were float64; properties and
 * attributes that name the dtype name the other one. Ops that later passes add are inferred with
 * cx->narrow set: float32 with int64 then gives float32, and not float64 as in PyTensor. What the
 * library computes in float64 by itself, because a level of numerics asks for that, stays.
 */
#include <math.h>
#include <string.h>

#include "ops/ops.h"
#include "typed/typed.h"

static void narrow_props(struct ctx *cx, const struct op *op, struct cv *props);

static void narrow_cv(struct ctx *cx, struct cv *v)
{
	if (v->kind == CV_DTYPE)
		v->u.dtype = dtype_narrow(v->u.dtype);
	else if (v->kind == CV_OP && v->u.op->op && v->u.op->props)
		narrow_props(cx, v->u.op->op, v->u.op->props);
}

static void narrow_props(struct ctx *cx, const struct op *op, struct cv *props)
{
	uint32_t n = op_sig(cx, op)->nprops;

	for (uint32_t i = 0; i < n; i++)
		narrow_cv(cx, &props[i]);
}

static const struct tensor *narrow_tensor(struct ctx *cx, const struct tensor *t, struct span s)
{
	enum dtype to = dtype_narrow((enum dtype)t->dtype);
	uint64_t n = stored_elements(t), count = is_complex(to) ? 2 * n : n;

	if (to == t->dtype)
		return t;
	struct tensor *r = tensor_new(cx, to, t->rank, t->shape);
	float *data = arena_alloc(cx->arena, mul_size(cx->arena, count + 1, sizeof(float)));
	tensor_convert(DT_FLOAT32, data, DT_FLOAT64, t->data, count);
	for (uint64_t i = 0; i < count; i++) {
		double v;
		memcpy(&v, (const char *)t->data + i * sizeof(v), sizeof(v));
		if (!isinf(data[i]) || isinf(v))
			continue;
		error(cx, s, E_LITERAL, "the number %.17g does not fit into float32", v);
		break;
	}
	r->splat = t->splat;
	r->name = t->name;
	r->data = data;
	return r;
}

static void narrow_value(struct ctx *cx, struct value *v)
{
	if (!v)
		return;
	v->type.dtype = (uint8_t)dtype_narrow((enum dtype)v->type.dtype);
	if (v->data)
		v->data = narrow_tensor(cx, v->data, v->span);
}

/* Attributes of raw nodes: tensors, and dtypes such as `to` of Cast */
static void narrow_attrs(struct ctx *cx, struct node *n)
{
	for (uint32_t i = 0; i < n->nattrs; i++) {
		struct attr *a = &n->attrs[i];
		bool dtype =
			a->kind == AT_INT && (!strcmp(a->name, "to") || strstr(a->name, "dtype"));
		if (a->kind == AT_TENSOR)
			a->u.t = narrow_tensor(cx, a->u.t, n->span);
		else if (dtype && a->u.i == dtypes[DT_FLOAT64].onnx)
			a->u.i = dtypes[DT_FLOAT32].onnx;
	}
}

static void narrow_block(struct ctx *cx, struct block *k)
{
	for (uint32_t i = 0; i < k->params.len; i++)
		narrow_value(cx, k->params.at[i]);
	for (struct node *n = k->first; n; n = n->next) {
		for (uint32_t i = 0; i < n->nin; i++)
			if (n->in[i] && n->in[i]->data)
				narrow_value(cx, n->in[i]);
		for (uint32_t i = 0; i < n->nout; i++)
			narrow_value(cx, n->out[i]);
		if (n->op == &op_onnx)
			narrow_attrs(cx, n);
		else if (n->props && n->op >= op_table && n->op < op_table + op_count)
			narrow_props(cx, n->op, n->props);
		for_bodies (inner, n)
			narrow_block(cx, inner);
	}
	for (uint32_t i = 0; i < k->results.len; i++)
		narrow_value(cx, k->results.at[i]);
}

void narrow_floats(struct ctx *cx, struct graph *g)
{
	for (uint32_t i = 0; i < g->states.len; i++) {
		struct state *s = &g->states.at[i];
		narrow_value(cx, s->param);
		narrow_value(cx, s->init);
		narrow_value(cx, s->next);
	}
	narrow_block(cx, g->block);
	cx->narrow = true;
}

static void refuse_value(struct ctx *cx, const struct value *v)
{
	enum dtype t = (enum dtype)v->type.dtype;

	if (dtype_narrow(t) != t)
		error(cx, v->span, E_UNSUPPORTED,
		      "%s%s%sis %s, which the target portable lacks; --float32, in Python "
		      "float32=True, "
		      "computes in %s",
		      v->name ? "'" : "", v->name ? v->name->s : "a value ", v->name ? "' " : "",
		      dtypes[t].name, dtypes[dtype_narrow(t)].name);
}

void refuse_float64(struct ctx *cx, struct graph *g)
{
	for (uint32_t i = 0; i < g->block->params.len; i++)
		refuse_value(cx, g->block->params.at[i]);
	for (uint32_t i = 0; i < g->block->results.len; i++)
		refuse_value(cx, g->block->results.at[i]);
}
