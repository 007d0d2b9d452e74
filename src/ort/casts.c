/*
 * casts.c: Casts that follow each other. ONNX Runtime makes one Cast of two where it takes the
 * first for harmless, and it drops one before a cast of its own, which it puts around what it has
 * for float32 and not for float16. In: a graph of ONNX nodes. Out: the same, with a Reshape,
 * which moves no data and is not removed, between Casts that must stay two.
 */
#include "ort/ort.h"
#include "rewrite/rewrite.h"

/* Is v one number in the model? The runtime sees it in weights, too. */
static bool holds_one_number(const struct value *v)
{
	return v->data && v->data->count == 1;
}

const struct value *behind_removable(const struct value *v, bool casts)
{
	static const enum onnx_id unary[] = {ONNX_Identity, ONNX_Transpose, ONNX_Expand,
					     ONNX_Slice};
	static const enum onnx_id binary[] = {ONNX_Mul, ONNX_Div, ONNX_Add, ONNX_Sub};
	const struct value *from = v;

	for (uint32_t steps = 0; from && steps < 8; steps++) {
		v = from;
		from = casts && computes(v->def, ONNX_Cast) ? v->def->in[0] : NULL;
		for (size_t i = 0; i < countof(unary) && !from; i++)
			if (computes(v->def, unary[i]))
				from = v->def->in[0];
		for (size_t i = 0; i < countof(binary) && !from; i++)
			if (computes(v->def, binary[i]))
				from = v->def->in[holds_one_number(v->def->in[0]) ? 1 : 0];
	}
	return v;
}

bool rounding_is_lost(const struct value *v)
{
	if (v->type.dtype != DT_FLOAT16)
		return false;
	v = behind_removable(v, false);
	return computes(v->def, ONNX_Cast) &&
	       !dtype_holds(DT_FLOAT16, (enum dtype)v->def->in[0]->type.dtype);
}

/* ONNX Runtime's own idea of a cast that may lose something (measured for all pairs) */
static bool unsafe(enum dtype from, enum dtype to)
{
	const struct dtype_info *a = &dtypes[from], *b = &dtypes[to];

	if (a->kind == KIND_BOOL)
		return false;
	if (b->kind == KIND_BOOL || (a->kind == KIND_FLOAT && b->kind != KIND_FLOAT))
		return true;
	if (b->kind == KIND_UINT && a->kind != KIND_UINT)
		return true;
	return a->kind == b->kind ? b->size < a->size : b->size <= a->size;
}

/* Its own way from float64 to float16 is by float32. */
static bool runtime_merges(enum dtype from, enum dtype mid, enum dtype to)
{
	if (from == DT_FLOAT64 && mid == DT_FLOAT32 && to == DT_FLOAT16)
		return false;
	return !unsafe(from, mid) || (to != DT_BOOL && !unsafe(to, mid));
}

static bool is_known(enum dtype t)
{
	return dtypes[t].kind == KIND_BOOL || is_int(t) || is_float(t);
}

/* Would n, a Cast, become one with a Cast before it, and give something else? */
static bool merges_wrongly(const struct node *n)
{
	const struct value *x = behind_removable(n->in[0], false);

	if (!computes(x->def, ONNX_Cast))
		return false;
	enum dtype from = (enum dtype)x->def->in[0]->type.dtype;
	enum dtype mid = (enum dtype)x->type.dtype, to = (enum dtype)n->out[0]->type.dtype;
	return is_known(from) && is_known(mid) && is_known(to) && runtime_merges(from, mid, to) &&
	       !casts_merge(from, mid, to);
}

static void part_block(struct ctx *cx, struct block *b)
{
	for (struct walk w = {.root = b}; walk(&w, WALK_AFTER);) {
		struct node *n = w.at.node;
		if (!n->dead && n->nout == 1 && is_onnx(n->out[0]->def, ONNX_Cast) &&
		    merges_wrongly(n))
			put_barrier(build_at(cx, w.at.block, w.at.before), n, 0);
	}
}

void part_casts(struct ctx *cx, struct graph *g)
{
	if (has_operator(g, ONNX_Cast))
		part_block(cx, g->block);
}
