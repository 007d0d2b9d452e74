/*
 * part_guards.c: ONNX Runtime makes one Reshape of a Reshape and what follows it, if that is a
 * Reshape, Squeeze or Unsqueeze whose result has known lengths, and drops the shapes in between. A
 * guard (lower/guard.c) is such a shape. In: the rewritten graph. Out: the same, with a Flatten,
 * which moves no data and is never merged, in each place where a guard would be lost. Lengths that
 * are symbols or 0 keep the runtime from it.
 */
#include <string.h>

#include "onnx/onnx.h"
#include "ort/ort.h"
#include "rewrite/rewrite.h"

static bool is_all(const struct value *v, int64_t want)
{
	int64_t k;

	for (uint64_t i = 0; v->data && i < v->data->count; i++)
		if (!tensor_int(v->data, i, &k) || k != want)
			return false;
	return v->data != NULL;
}

/* Is v the result of a guard: is -2 or -3 in the shape, chosen by Where, perhaps added up, or made
 * by Mul? */
static bool is_guarded(const struct value *v)
{
	const struct value *t = is_onnx(v->def, ONNX_Reshape) ? v->def->in[1] : NULL;

	while (t && (is_onnx(t->def, ONNX_Add) || is_onnx(t->def, ONNX_ReduceSum)))
		t = t->def->in[0];
	if (t && is_onnx(t->def, ONNX_Where))
		t = t->def->in[2];
	t = t && is_onnx(t->def, ONNX_Mul) ? t->def->in[1] : t;
	return t && (is_all(t, -2) || is_all(t, -3));
}

static bool known_lengths(struct ctx *cx, const struct type *t, int64_t *d)
{
	for (uint32_t i = 0; i < t->rank; i++)
		if (!dim_is_const(cx, t->dims[i], &d[i]) || !d[i])
			return false;
	return true;
}

static struct value *constant(struct ctx *cx, enum dtype t, const int64_t *v, uint32_t n,
			      bool scalar, struct span s)
{
	struct tensor *x = tensor_new(cx, t, scalar ? 0 : 1, &(int64_t){n});
	int64_t *data = new_array(cx->arena, int64_t, n + 1);

	memcpy(data, v, n * sizeof(*v));
	x->data = data;
	return graph_constant(cx, x, s);
}

static struct type vector_type(struct ctx *cx, enum dtype t, uint32_t n)
{
	struct type v = {.dtype = (uint8_t)t, .rank = 1, .dims = new (cx->arena, dim)};

	*v.dims = dim_const(cx, n);
	return v;
}

/* The shape of a guard whose input no longer has the axes that its 0s stand for. */
static struct value *explicit_shape(struct ctx *cx, struct block *b, struct node **at,
				    const struct node *guard, const int64_t *d)
{
	struct value *t = guard->in[1], *in[3];
	uint32_t rank = guard->out[0]->type.rank;
	struct type bools = vector_type(cx, DT_BOOL, rank), ints = vector_type(cx, DT_INT64, rank);

	in[1] = constant(cx, DT_INT64, d, rank, false, guard->span);
	if (is_onnx(t->def, ONNX_Where)) {
		in[0] = t->def->in[0];
		in[2] = t->def->in[2];
	} else {
		struct value *zero = constant(cx, DT_INT64, &(int64_t){0}, 1, true, guard->span);
		*at = insert_node(cx, b, *at, ONNX_Equal, (struct value *[]){t, zero}, 2, bools,
				  guard->span);
		in[0] = (*at)->out[0];
		in[2] = t;
	}
	*at = insert_node(cx, b, *at, ONNX_Where, in, 3, ints, guard->span);
	return (*at)->out[0];
}

/* Puts a Flatten before n, a Reshape, Squeeze or Unsqueeze to lengths d; `at` is the node before.
 */
static void part(struct ctx *cx, struct block *b, struct node *at, struct node *n, const int64_t *d)
{
	struct value *x = n->in[0], *in[2];
	struct type flat = {
		.dtype = x->type.dtype, .rank = 2, .dims = new_array(cx->arena, dim, 2)};
	int64_t size = 1;

	for (uint32_t i = 0; i < n->out[0]->type.rank; i++)
		if (__builtin_mul_overflow(size, d[i], &size))
			return; /* no tensor is that large */
	flat.dims[0] = dim_const(cx, 1);
	flat.dims[1] = dim_const(cx, size);
	in[1] = is_guarded(n->out[0])
			? explicit_shape(cx, b, &at, n, d)
			: constant(cx, DT_INT64, d, n->out[0]->type.rank, false, n->span);
	at = insert_node(cx, b, at, ONNX_Flatten, &x, 1, flat, n->span);
	struct attr *axis = at->attrs = new (cx->arena, struct attr);
	*axis = (struct attr){.name = "axis", .kind = AT_INT, .u.i = 0};
	at->nattrs = 1;
	in[0] = at->out[0];
	n->onnx = onnx_find(ONNX_Reshape, cx->opt.opset);
	n->in = new_array(cx->arena, struct value *, 2);
	memcpy(n->in, in, sizeof(in));
	n->nin = 2;
	n->nattrs = 0;
}

/* Could n and what is before it become one Reshape, and would a guard be lost by that? */
static bool loses_guard(const struct node *n)
{
	const struct value *out = n->out[0];

	if (!is_onnx(out->def, ONNX_Reshape) && !is_onnx(out->def, ONNX_Squeeze) &&
	    !is_onnx(out->def, ONNX_Unsqueeze))
		return false;
	if (n->in[0]->data)
		return false;
	/* before a guard the runtime may put a Reshape of its own */
	return is_guarded(out) ? n->in[0]->def != NULL
			       : is_guarded(behind_removable(n->in[0], true));
}

/* Blocks nest as deep as loops and ifs of the input, which has a limit: this may recurse. */
static void part_block(struct ctx *cx, struct block *b)
{
	int64_t d[MAX_RANK];

	for (struct node *n = b->first, *before = NULL; n; before = n, n = n->next) {
		for (uint32_t i = 0; i < n->nattrs; i++)
			if (n->attrs[i].kind == AT_GRAPH)
				part_block(cx, n->attrs[i].u.block);
		if (n->dead || n->nout != 1 || n->onnx->domain[0] || !loses_guard(n))
			continue;
		if (known_lengths(cx, &n->out[0]->type, d))
			part(cx, b, before, n, d);
	}
}

void part_guards(struct ctx *cx, struct graph *g)
{
	part_block(cx, g->block);
}
