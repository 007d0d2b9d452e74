/*
 * generators.c: generators of random numbers become the words of their states, a word being one
 * uint64 of NumPy's bit_generator.state. In: the typed graph. Out: the same graph, in which a
 * generator is uint64[words], and an array of generators has the words as one more axis at the end.
 * Inputs, outputs, states and constants too; doc/random.md has the order of the words. Nodes of
 * random variables keep the kind of their generator as a property.
 */
#include <string.h>

#include "ops/ops.h"
#include "typed/typed.h"

struct words {
	struct ctx *cx;
	struct block *block;
	struct node **at; /* where the next new node goes: before the one that is looked at */
};

/* NumPy's name of the bit generator, and what lib/random.ptg calls it */
static const struct kind {
	const char *name, *lib_name;
} kinds[] = {
	[DT_RNG - DT_RNG] = {"PCG64", "pcg64"},
	[DT_RNG_PCG64DXSM - DT_RNG] = {"PCG64DXSM", "pcg64dxsm"},
	[DT_RNG_PHILOX - DT_RNG] = {"Philox", "philox"},
};

static void make_words(struct words *w, struct value *v)
{
	struct ctx *cx = w->cx;
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

static struct cv *set_prop(struct words *w, struct node *n, const char *name, struct cv v)
{
	const struct op_sig *sig = op_sig(w->cx, n->op);
	struct cv *props = new_array(w->cx->arena, struct cv, sig->nprops);

	if (n->props)
		memcpy(props, n->props, sig->nprops * sizeof(*props));
	for (uint32_t i = 0; i < sig->nprops; i++)
		if (!strcmp(sig->props[i].name->s, name))
			props[i] = v;
	return props;
}

static struct cv text(struct words *w, const char *s)
{
	struct astr *a = new (w->cx->arena, struct astr);

	*a = (struct astr){s, (uint32_t)strlen(s)};
	return (struct cv){.kind = CV_STR, .u.str = a};
}

static struct cv integer(uint32_t i)
{
	return (struct cv){.kind = CV_INT, .u.i = i};
}

/* A list of generators: each gets a leading axis, along which they are joined. */
static void join_list(struct words *w, struct node *n)
{
	struct ctx *cx = w->cx;

	for (uint32_t i = 0; i < n->nin; i++) {
		struct node *e = new (cx->arena, struct node);
		struct value *one = n->in[i];
		dim *d = new_array(cx->arena, dim, 2);
		make_words(w, one);
		d[0] = dim_const(cx, 1);
		d[1] = one->type.dims[0];
		*e = (struct node){.op = &op_table[OP_ExpandDims], .span = n->span, .nin = 1};
		e->in = new (cx->arena, struct value *);
		e->in[0] = one;
		node_results(cx, e, 1);
		e->out[0]->type = (struct type){DT_UINT64, 2, d};
		struct cv axes = {.kind = CV_LIST, .n = 1, .u.items = new (cx->arena, struct cv)};
		axes.u.items[0] = integer(0);
		e->props = set_prop(w, e, "axes", axes);
		e->next = *w->at;
		*w->at = e;
		w->at = &e->next;
		w->block->nnodes++;
		n->in[i] = e->out[0];
	}
	n->op = &op_table[OP_Join];
	n->props = NULL;
	n->props = set_prop(w, n, "axis", integer(0));
}

/* What n is on words. Its results still have their own types. */
static void node_on_words(struct words *w, struct node *n)
{
	enum dtype t = n->nout ? (enum dtype)n->out[0]->type.dtype : DT_NONE;

	if (n->op < op_table || n->op >= op_table + op_count)
		return;
	switch ((enum op_id)(n->op - op_table)) {
	case OP_GeneratorToWords:
	case OP_WordsToGenerator:
		n->op = &op_table[OP_Identity];
		n->props = NULL;
		break;
	case OP_MakeVector:
		if (is_rng(t))
			join_list(w, n);
		break;
	case OP_Join: {
		int64_t axis = is_rng(t) ? prop_int(w->cx, n, "axis") : 0;
		if (axis < 0)
			n->props = set_prop(w, n, "axis",
					    integer((uint32_t)(axis + n->out[0]->type.rank)));
		break;
	}
	default:
		if (n->op->core && is_rng(t) && n->nout == 2)
			n->props = set_prop(w, n, "kind", text(w, kinds[t - DT_RNG].lib_name));
	}
}

static void words_of_block(struct words *w, struct block *k)
{
	struct block *outer = w->block;

	for (uint32_t i = 0; i < k->params.len; i++)
		make_words(w, k->params.at[i]);
	for (struct node **at = &k->first; *at; at = &(*at)->next) {
		struct node *n = *at;
		w->block = k;
		w->at = at;
		node_on_words(w, n);
		at = w->at;
		for (uint32_t i = 0; i < n->nin; i++)
			make_words(w, n->in[i]);
		for (uint32_t i = 0; i < n->nout; i++)
			make_words(w, n->out[i]);
		for (uint32_t i = 0; n->op != &op_onnx && n->blocks && n->blocks[i]; i++)
			words_of_block(w, n->blocks[i]);
	}
	for (uint32_t i = 0; i < k->results.len; i++)
		make_words(w, k->results.at[i]);
	w->block = outer;
}

typedef vec(const char *) meta;

/* The entry of the model's metadata for v, an input or output, if it is a generator */
static void note_generator(struct ctx *cx, meta *m, const struct value *v, const char *suffix)
{
	if (v->name && is_rng((enum dtype)v->type.dtype))
		*vec_push(cx->arena, m) = arena_printf(cx->arena, "generator:%s%s=%s", v->name->s,
						       suffix, kinds[v->type.dtype - DT_RNG].name);
}

static void note_generators(struct ctx *cx, const struct graph *g)
{
	meta m = {0};

	for (uint32_t i = 0; cx->opt.meta && cx->opt.meta[i]; i++)
		*vec_push(cx->arena, &m) = cx->opt.meta[i];
	for (uint32_t i = 0; i < g->block->params.len; i++)
		note_generator(cx, &m, g->block->params.at[i], "");
	for (uint32_t i = 0; i < g->block->results.len; i++)
		note_generator(cx, &m, g->block->results.at[i], "");
	for (uint32_t i = 0; i < g->states.len; i++)
		if (g->states.at[i].next)
			note_generator(cx, &m, g->states.at[i].param, ".next");
	*vec_push(cx->arena, &m) = NULL;
	cx->opt.meta = m.at;
}

void words_of_generators(struct ctx *cx, struct graph *g)
{
	struct words w = {.cx = cx};

	note_generators(cx, g);
	for (uint32_t i = 0; i < g->states.len; i++)
		make_words(&w, g->states.at[i].init);
	words_of_block(&w, g->block);
	for (uint32_t i = 0; i < g->states.len; i++)
		make_words(&w, g->states.at[i].next);
}
