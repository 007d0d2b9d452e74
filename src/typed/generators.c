/*
 * generators.c: generators of random numbers become the words of their states, a word being one
 * uint64 of NumPy's bit_generator.state. In: the typed graph. Out: the same graph, in which a
 * generator is uint64[words], and an array of generators has the words as one more axis at the end.
 * Inputs, outputs, states and constants too; doc/random.md has the order of the words. Nodes of
 * random variables keep the kind of their generator as a property. As this walk sees all nodes, it
 * notes what other passes look for.
 */
#include <string.h>

#include "ops/ops.h"
#include "typed/typed.h"

static void make_words(struct ctx *cx, struct value *v)
{
	enum dtype t = v ? (enum dtype)v->type.dtype : DT_NONE;
	uint32_t rank = v ? v->type.rank : 0;

	if (!is_rng(t))
		return;
	dim *d = new_array(cx->arena, dim, rank + 1u);
	if (rank)
		memcpy(d, v->type.dims, rank * sizeof(dim));
	d[rank] = dim_const(cx, state_words(t));
	v->type = (struct type){DT_UINT64, (uint8_t)(rank + 1), d};
	if (!v->data)
		return;
	int64_t shape[MAX_RANK + 1];
	memcpy(shape, v->data->shape, rank * sizeof(*shape));
	shape[rank] = state_words(t);
	struct tensor *x = tensor_new(cx, DT_UINT64, (int)rank + 1, shape);
	x->data = v->data->data;
	x->name = v->data->name;
	v->data = x;
}

static struct cv text(struct ctx *cx, const char *s)
{
	struct astr *a = new (cx->arena, struct astr);

	*a = (struct astr){s, (uint32_t)strlen(s)};
	return (struct cv){.kind = CV_STR, .u.str = a};
}

/* The properties of n that concern its generators: a draw notes their kind; an axis is counted from
 * the front, as the words come behind the last one. */
static void set_props(struct ctx *cx, struct node *n)
{
	enum dtype t = n->nout ? (enum dtype)n->out[0]->type.dtype : DT_NONE;

	if (!is_rng(t) || n->op < op_table || n->op >= op_table + op_count)
		return;
	const struct op_sig *sig = op_sig(cx, n->op);
	struct cv *props = new_array(cx->arena, struct cv, sig->nprops + 1);
	if (n->props)
		memcpy(props, n->props, sig->nprops * sizeof(*props));
	for (uint32_t i = 0; i < sig->nprops; i++) {
		struct cv *v = &props[i];
		const char *name = sig->props[i].name->s;
		if (n->op->draw && !strcmp(name, "kind"))
			*v = text(cx, generator_kind(t)->lib_name);
		if (!n->op->draw && !strcmp(name, "axis") && v->kind == CV_INT && v->neg)
			*v = cv_int(n->out[0]->type.rank - (int64_t)v->u.i, v->span);
	}
	n->props = props;
}

static void note_op(struct graph *g, const struct op *op)
{
	if (op >= op_table && op < op_table + op_count)
		g->ops[(op - op_table) / 64] |= UINT64_C(1) << (op - op_table) % 64;
}

static void words_of_values(struct ctx *cx, struct graph *g, struct value **v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		make_words(cx, v[i]);
		g->has_complex |= v[i] && is_complex((enum dtype)v[i]->type.dtype);
	}
}

static void words_of_block(struct ctx *cx, struct graph *g, struct block *k)
{
	words_of_values(cx, g, k->params.at, k->params.len);
	for (struct node *n = k->first; n; n = n->next) {
		set_props(cx, n);
		note_op(g, n->op);
		words_of_values(cx, g, n->in, n->nin);
		words_of_values(cx, g, n->out, n->nout);
		for_bodies (inner, n)
			words_of_block(cx, g, inner);
	}
	words_of_values(cx, g, k->results.at, k->results.len);
}

/* The entry of the model's metadata for v, an input or output, if it is a generator */
static void note_generator(struct ctx *cx, const struct value *v, const char *suffix)
{
	if (v->name && is_rng((enum dtype)v->type.dtype))
		add_meta(cx, arena_printf(cx->arena, "generator:%s%s=%s", v->name->s, suffix,
					  generator_kind((enum dtype)v->type.dtype)->name));
}

static void note_generators(struct ctx *cx, const struct graph *g)
{
	for (uint32_t i = 0; i < g->block->params.len; i++)
		note_generator(cx, g->block->params.at[i], "");
	for (uint32_t i = 0; i < g->block->results.len; i++)
		note_generator(cx, g->block->results.at[i], "");
	for (uint32_t i = 0; i < g->states.len; i++)
		if (g->states.at[i].next)
			note_generator(cx, g->states.at[i].param, ".next");
}

void words_of_generators(struct ctx *cx, struct graph *g)
{
	note_generators(cx, g);
	for (uint32_t i = 0; i < g->states.len; i++)
		make_words(cx, g->states.at[i].init);
	words_of_block(cx, g, g->block);
	for (uint32_t i = 0; i < g->states.len; i++)
		make_words(cx, g->states.at[i].next);
}
