/*
 * node_shapes.c: rewrites of nodes whose results have the elements of an input: Identity, Cast,
 * Transpose, Reshape, Slice, Squeeze, Unsqueeze, Expand, Split. Two such nodes are one, as Reshape(
 * Reshape(x, s), t) is Reshape(x, t), or none, as Squeeze(Unsqueeze(x, 0), 0) is x; others take in
 * the node before: Transpose(A @ B) is Transpose(B) @ Transpose(A), where those take no node.
 */
#include <string.h>

#include "rewrite/nodes.h"

#define MAX_TURNED (1 << 20) /* elements of a constant that is transposed */
#define MAX_COPIED 64        /* the same, where others read the constant too */
#define MAX_JOINED 64        /* inputs of a Concat: more are not gathered from others */

struct value *drop_identity(struct ctx *cx, struct node *n)
{
	(void)cx;
	return n->in[0];
}

/* Slice that takes all of each axis. An unrolled loop of the library leaves x[:1] of one row, as
 * the lengths of its states are open. */
struct value *drop_slice(struct ctx *cx, struct node *n)
{
	struct value *x = n->in[0];
	int64_t start, end, step = 1, axis, length;

	if (n->nin < 4 || !n->in[3] || !n->in[3]->data)
		return NULL;
	for (uint64_t i = 0; i < n->in[3]->data->count; i++) {
		if (!known_int(cx, n->in[1], i, &start) || !known_int(cx, n->in[2], i, &end) ||
		    !known_int(cx, n->in[3], i, &axis) ||
		    (n->nin > 4 && n->in[4] && !known_int(cx, n->in[4], i, &step)) || step != 1)
			return NULL;
		axis = from_front(axis, x->type.rank);
		if (!dim_is_const(cx, x->type.dims[axis], &length) || end < length ||
		    (start && start > -length))
			return NULL;
	}
	return drop_identity(cx, n);
}

/*
 * Integers wrap, so that those of fewer bits can be had at once. Floats beyond the range of
 * integers give what the runtime's conversion from that very dtype gives.
 */
bool casts_merge(enum dtype from, enum dtype mid, enum dtype to)
{
	if (!dtype_holds(mid, from))
		return is_int(from) && is_int(mid) && is_int(to) &&
		       dtypes[to].size <= dtypes[mid].size;
	if (!is_float(mid) || !is_int(to) || dtypes[from].kind == KIND_BOOL || mid == from)
		return true;
	if (is_float(from))
		return from == DT_FLOAT32 || to != DT_UINT32;
	return dtype_holds(to, from);
}

/* Cast to the dtype that is there already; Cast of a Cast that changed nothing. */
struct value *merge_casts(struct ctx *cx, struct node *n)
{
	struct value *x = n->in[0];

	(void)cx;
	if (x->type.dtype == n->out[0]->type.dtype)
		return x;
	if (!is_op(x, ONNX_Cast) ||
	    !casts_merge(resolve(x->def->in[0])->type.dtype, x->type.dtype, n->out[0]->type.dtype))
		return NULL;
	set_input(n, 0, resolve(x->def->in[0]));
	return n->in[0]->type.dtype == n->out[0]->type.dtype ? n->in[0] : NULL;
}

/* Does the permutation move one axis, and leave the others in their order? */
static bool moves_one_axis(const int64_t *perm, uint32_t rank)
{
	uint32_t from = 0, to = rank;

	while (from < rank && perm[from] == from)
		from++;
	while (to > from + 1 && perm[to - 1] == to - 1)
		to--;
	bool up = true, down = true;
	for (uint32_t i = from; i + 1 < to; i++) {
		up &= perm[i] == i + 1;
		down &= perm[i + 1] == i;
	}
	return up || down;
}

/* Two moves of an axis stay where both together are another permutation that moves the last axis:
 * this one takes ONNX Runtime ten times as long as the two. */
struct value *merge_transposes(struct ctx *cx, struct node *n)
{
	int64_t outer[MAX_RANK], inner[MAX_RANK];
	uint32_t rank = n->out[0]->type.rank;
	struct value *x = n->in[0];
	bool identity = true;

	for (uint32_t i = 0; i < rank; i++)
		outer[i] = onnx_perm(n, i);
	if (is_op(x, ONNX_Transpose)) {
		int64_t *both = new_array(cx->arena, int64_t, rank + 1);
		for (uint32_t i = 0; i < rank; i++) {
			inner[i] = onnx_perm(x->def, i);
			both[i] = onnx_perm(x->def, (uint32_t)outer[i]);
		}
		if (rank && both[rank - 1] != rank - 1 && !moves_one_axis(both, rank) &&
		    moves_one_axis(inner, rank) && moves_one_axis(outer, rank))
			return NULL;
		memcpy(outer, both, rank * sizeof *both);
		n->attrs = new (cx->arena, struct attr);
		*n->attrs =
			(struct attr){.name = "perm", .kind = AT_INTS, .n = rank, .u.ints = both};
		n->nattrs = 1;
		set_input(n, 0, resolve(x->def->in[0]));
	}
	for (uint32_t i = 0; i < rank; i++)
		identity &= outer[i] == i;
	return identity ? n->in[0] : NULL;
}

/* Is v a matrix that only its reader reads: a constant, or a Transpose of a matrix? A constant may
 * have one other reader, as data have that a gradient takes too, or many if it is small. */
static bool transposes_freely(const struct value *v)
{
	if (v->type.rank != 2)
		return false;
	if (is_op(v, ONNX_Transpose))
		return is_used_once(v) && onnx_transposes_matrix(v->def);
	return is_constant(v) && !v->data->splat &&
	       v->data->count <= (v->uses <= 2 ? MAX_TURNED : MAX_COPIED) &&
	       dtypes[v->type.dtype].size > 1;
}

/* The transposed matrix of such a v */
static struct value *transposed(struct ctx *cx, struct value *v)
{
	size_t size = dtypes[v->type.dtype].size;

	if (is_op(v, ONNX_Transpose))
		return resolve(v->def->in[0]);
	int64_t m = v->data->shape[0], n = v->data->shape[1];
	struct tensor *t = tensor_new(cx, (enum dtype)v->type.dtype, 2, (int64_t[]){n, m});
	const uint8_t *from = v->data->data;
	uint8_t *to = arena_alloc(cx->arena, (size_t)v->data->count * size + 1);
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++)
			memcpy(to + (size_t)(j * m + i) * size, from + (size_t)(i * n + j) * size,
			       size);
	t->data = to;
	return graph_constant(cx, t, v->span);
}

/* The Transpose of A @ B is the product of the transposes, if those take no node. */
struct value *transpose_factors(struct ctx *cx, struct node *n)
{
	struct value *x = n->in[0];

	if (!onnx_transposes_matrix(n) || !is_op(x, ONNX_MatMul) || !is_used_once(x))
		return NULL;
	struct value *a = resolve(x->def->in[0]), *b = resolve(x->def->in[1]);
	if (!transposes_freely(a) || !transposes_freely(b))
		return NULL;
	a = transposed(cx, a);
	become(cx, n, ONNX_MatMul, transposed(cx, b), a);
	return NULL;
}

/* What has the elements of v in the same order, behind Squeeze and Unsqueeze, and the type t; NULL:
 * nothing */
static struct value *same_elements(struct ctx *cx, struct value *v, const struct type *t)
{
	while (!same_type(cx, &v->type, t)) {
		if (!is_op(v, ONNX_Squeeze) && !is_op(v, ONNX_Unsqueeze))
			return NULL;
		v = resolve(v->def->in[0]);
	}
	return v;
}

/* Columns that were stacked along a new first axis, and then moved to the last: Concat of the
 * columns. An unrolled loop of the library leaves such nodes. */
struct value *concat_in_place(struct ctx *cx, struct node *n)
{
	uint32_t rank = n->out[0]->type.rank, to = 0;
	struct value *x = n->in[0];

	if (!is_op(x, ONNX_Concat) || int_of_attr(x->def, "axis", 0))
		return NULL;
	while (onnx_perm(n, to))
		to++;
	for (uint32_t i = 0; i < rank; i++)
		if (i != to && onnx_perm(n, i) != i + (i < to))
			return NULL;
	const struct node *concat = x->def;
	struct value **in = new_array(cx->arena, struct value *, concat->nin);
	for (uint32_t i = 0; i < concat->nin; i++) {
		struct value *v = resolve(concat->in[i]);
		struct type t = v->type;
		t.dims = new_array(cx->arena, dim, rank);
		for (uint32_t k = 0; k < rank; k++)
			t.dims[k] = v->type.dims[onnx_perm(n, k)];
		if (!dim_is(cx, t.dims[to], 1) || !(in[i] = same_elements(cx, v, &t)))
			return NULL;
	}
	become_(cx, n, ONNX_Concat, concat->nin, in);
	set_int(cx, n, "axis", to);
	return NULL;
}

/* Concat of what another Concat joined along the same axis: all at once. */
struct value *merge_concats(struct ctx *cx, struct node *n)
{
	uint32_t count = 0, k = 0;
	bool *inner = new_array(cx->arena, bool, n->nin);

	for (uint32_t i = 0; i < n->nin; i++) {
		struct value *v = n->in[i];
		inner[i] = is_op(v, ONNX_Concat) && is_used_once(v) &&
			   onnx_axis(v->def, 0) == onnx_axis(n, 0);
		count += inner[i] ? v->def->nin : 1;
	}
	if (count == n->nin || count > MAX_JOINED)
		return NULL;
	struct value **in = new_array(cx->arena, struct value *, count);
	for (uint32_t i = 0; i < n->nin; i++) {
		struct value *v = n->in[i];
		if (!inner[i])
			in[k++] = v;
		for (uint32_t j = 0; inner[i] && j < v->def->nin; j++)
			in[k++] = resolve(v->def->in[j]);
	}
	set_inputs(n, in, count);
	return NULL;
}

/* Would the shape mean the same on another input? 0 copies a dim unless allowzero is set. */
static bool shape_is_absolute(const struct node *n)
{
	bool copies = !int_of_attr(n, "allowzero", 0);
	int64_t v;

	if (!n->in[1]->data)
		return !copies;
	for (uint64_t i = 0; i < n->in[1]->data->count; i++)
		if (copies && tensor_int(n->in[1]->data, i, &v) && !v)
			return false;
	return true;
}

/* Does n, if it is a Reshape, fail for some inputs? Reshape(x, [-1, 2]) does where x has an odd
 * number of elements. One to a computed shape that is, by the types, the shape of its input is only
 * there to compare the two. */
static bool reshape_may_fail(struct ctx *cx, const struct node *n)
{
	const struct type *from = &n->in[0]->type, *to = &n->out[0]->type;

	return is_onnx(n, ONNX_Reshape) &&
	       (!dims_same_product(cx, to->dims, to->rank, from->dims, from->rank) ||
		(!n->in[1]->data && same_type(cx, from, to)));
}

struct value *merge_reshapes(struct ctx *cx, struct node *n)
{
	struct value *x = n->in[0];

	if (same_type(cx, &x->type, &n->out[0]->type))
		return n->in[1]->data ? x : NULL;
	if (!shape_is_absolute(n) || (x->def && reshape_may_fail(cx, x->def)))
		return NULL;
	if (!is_op(x, ONNX_Reshape) && !is_op(x, ONNX_Unsqueeze) && !is_op(x, ONNX_Squeeze) &&
	    !is_op(x, ONNX_Flatten))
		return NULL;
	set_input(n, 0, resolve(x->def->in[0]));
	return same_type(cx, &n->in[0]->type, &n->out[0]->type) ? n->in[0] : NULL;
}

/* Squeeze of an Unsqueeze, or the other way round, that gives back what was there. */
struct value *undo_axes(struct ctx *cx, struct node *n)
{
	struct value *x = n->in[0];

	if (!is_op(x, ONNX_Squeeze) && !is_op(x, ONNX_Unsqueeze) &&
	    (!is_op(x, ONNX_Reshape) || !x->def->in[1]->data || reshape_may_fail(cx, x->def)))
		return NULL;
	struct value *first = resolve(x->def->in[0]);
	return same_type(cx, &first->type, &n->out[0]->type) ? first : NULL;
}

struct value *drop_expand(struct ctx *cx, struct node *n)
{
	return same_type(cx, &n->in[0]->type, &n->out[0]->type) ? n->in[0] : NULL;
}

/* Slice of what Expand stretches along other axes: Expand of the Slice, of fewer elements. */
struct value *slice_before_expand(struct ctx *cx, struct node *n)
{
	struct value *all = n->in[0], *x, *shape;
	int64_t axis, covered, rank = all->type.rank, k;

	if (!is_op(all, ONNX_Expand) || !is_used_once(all) || n->nin < 4)
		return NULL;
	x = resolve(all->def->in[0]);
	shape = resolve(all->def->in[1]);
	if (x->type.rank != rank || !dim_is_const(cx, shape->type.dims[0], &covered))
		return NULL;
	for (uint32_t i = 1; i < n->nin; i++)
		if (!n->in[i] || !n->in[i]->data)
			return NULL;
	for (uint64_t i = 0; i < n->in[3]->data->count; i++) {
		if (!known_int(cx, n->in[3], i, &axis))
			return NULL;
		axis = from_front(axis, rank);
		if (axis >= rank - covered) /* the lengths would have to be others */
			return NULL;
	}
	struct node *m = all->def;
	struct type t = all->type;
	t.dims = new_array(cx->arena, dim, t.rank + 1u);
	for (k = 0; k < rank; k++)
		t.dims[k] = k < rank - covered ? n->out[0]->type.dims[k] : x->type.dims[k];
	struct value **in =
		memcpy(new_array(cx->arena, struct value *, n->nin), n->in, n->nin * sizeof(*in));
	in[0] = x;
	uint32_t nin = n->nin;
	become(cx, n, ONNX_Expand, all, shape); /* first: m may be all that reads the shape */
	become_(cx, m, ONNX_Slice, nin, in);
	all->type = t;
	all->known = NULL;
	return NULL;
}

/* Split into the parts that Concat was given: those are its results. */
struct value *split_concat(struct ctx *cx, struct node *n)
{
	const struct node *m = n->in[0]->def;

	if (!is_op(n->in[0], ONNX_Concat) || m->nin != n->nout ||
	    onnx_axis(m, 0) != onnx_axis(n, 0))
		return NULL;
	for (uint32_t i = 0; i < n->nout; i++)
		if (n->out[i]->is_result ||
		    !same_type(cx, &n->out[i]->type, &resolve(m->in[i])->type))
			return NULL;
	for (uint32_t i = 0; i < n->nout; i++)
		replace_all_uses(n->out[i], resolve(m->in[i]));
	drop_node(n);
	return NULL;
}
