/*
 * rewrite.c: rewrites of the ONNX graph. In: the lowered graph. Out: the same function with fewer
 * nodes; types, places and the names of outputs stay. One row a rewrite; each can be switched by
 * -f[no-]name. A rewrite looks at one node and gives the value that stands for its result, or
 * changes the node in place. Values that were replaced point to their replacement by `low`.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "onnx/onnx.h"
#include "ops/ops.h"
#include "rewrite/rewrite.h"
#include "target/target.h"

#define MAX_BEHIND 4         /* operators between a reduction and its axes */
#define MAX_WAY    16        /* the same, where all are of one number */
#define MAX_TURNED (1 << 20) /* elements of a constant that is transposed */
#define MAX_COPIED 64        /* the same, where others read the constant too */
#define MAX_SEEN   64        /* operators that are looked at for such a way */
/* in value->uses: a block gives it back, so it must stay; and that of an inner block */
#define IS_RESULT (UINT32_C(1) << 31)
#define IS_INNER  (UINT32_C(1) << 30)

static struct value *current(struct value *v)
{
	while (v && v->low)
		v = v->low;
	return v;
}

static bool is_op(const struct value *v, enum onnx_id id)
{
	return is_onnx(v->def, id) && !v->def->dead;
}

static bool same_type(struct ctx *cx, const struct type *a, const struct type *b)
{
	if (a->dtype != b->dtype || a->rank != b->rank)
		return false;
	for (uint32_t i = 0; i < a->rank; i++)
		if (!dim_eq(cx, a->dims[i], b->dims[i]))
			return false;
	return true;
}

/* ---- the rewrites ---- */

static struct value *drop_identity(struct ctx *cx, struct node *n)
{
	(void)cx;
	if (!(n->out[0]->uses & IS_RESULT))
		n->in[0]->uses--;
	return n->in[0];
}

/* n reads what its input was made of, which has one reader more unless n was the input's last. */
static void read_behind(struct node *n)
{
	struct value *x = n->in[0];

	n->in[0] = current(x->def->in[0]);
	if (x->uses != 1)
		n->in[0]->uses++;
	if (x->uses)
		x->uses--;
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
static struct value *merge_casts(struct ctx *cx, struct node *n)
{
	struct value *x = n->in[0];

	(void)cx;
	if (x->type.dtype == n->out[0]->type.dtype)
		return x;
	if (!is_op(x, ONNX_Cast) ||
	    !casts_merge(current(x->def->in[0])->type.dtype, x->type.dtype, n->out[0]->type.dtype))
		return NULL;
	read_behind(n);
	return n->in[0]->type.dtype == n->out[0]->type.dtype ? n->in[0] : NULL;
}

static bool perm_of(const struct node *n, int64_t *perm)
{
	const struct attr *a = find_attr(n, "perm");
	uint32_t rank = n->out[0]->type.rank;

	if (a && a->n != rank)
		return false;
	for (uint32_t i = 0; i < rank; i++)
		perm[i] = a ? a->u.ints[i] : rank - 1 - i;
	return true;
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
static struct value *merge_transposes(struct ctx *cx, struct node *n)
{
	int64_t outer[MAX_RANK], inner[MAX_RANK];
	uint32_t rank = n->out[0]->type.rank;
	struct value *x = n->in[0];
	bool identity = true;

	if (!perm_of(n, outer))
		return NULL;
	if (is_op(x, ONNX_Transpose) && perm_of(x->def, inner)) {
		int64_t *both = new_array(cx->arena, int64_t, rank + 1);
		for (uint32_t i = 0; i < rank; i++)
			both[i] = inner[outer[i]];
		if (rank && both[rank - 1] != rank - 1 && !moves_one_axis(both, rank) &&
		    moves_one_axis(inner, rank) && moves_one_axis(outer, rank))
			return NULL;
		memcpy(outer, both, rank * sizeof *both);
		n->attrs = new (cx->arena, struct attr);
		*n->attrs =
			(struct attr){.name = "perm", .kind = AT_INTS, .n = rank, .u.ints = both};
		n->nattrs = 1;
		read_behind(n);
	}
	for (uint32_t i = 0; i < rank; i++)
		identity &= outer[i] == i;
	return identity ? n->in[0] : NULL;
}

/* Is v a matrix that only its reader reads: a constant, or a Transpose of a matrix? A constant may
 * have one other reader, as data have that a gradient takes too, or many if it is small. */
static bool transposes_freely(const struct value *v)
{
	int64_t perm[MAX_RANK];

	if (v->type.rank != 2)
		return false;
	if (is_op(v, ONNX_Transpose))
		return v->uses == 1 && perm_of(v->def, perm) && !perm[1];
	return v->data && v->data->data && !(v->data->name && v->name) && !v->data->splat &&
	       v->data->count <= (v->uses <= 2 ? MAX_TURNED : MAX_COPIED) &&
	       dtypes[v->type.dtype].size > 1;
}

/* The transposed matrix of such a v */
static struct value *transposed(struct ctx *cx, struct value *v)
{
	size_t size = dtypes[v->type.dtype].size;

	if (is_op(v, ONNX_Transpose)) {
		struct value *x = current(v->def->in[0]);
		x->uses++;
		return x;
	}
	int64_t m = v->data->shape[0], n = v->data->shape[1];
	struct tensor *t = tensor_new(cx, (enum dtype)v->type.dtype, 2, (int64_t[]){n, m});
	const uint8_t *from = v->data->data;
	uint8_t *to = arena_alloc(cx->arena, (size_t)v->data->count * size + 1);
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++)
			memcpy(to + (size_t)(j * m + i) * size, from + (size_t)(i * n + j) * size,
			       size);
	t->data = to;
	struct value *r = graph_constant(cx, t, v->span);
	r->uses = 1;
	return r;
}

/* The Transpose of A @ B is the product of the transposes, if those take no node. */
static struct value *transpose_factors(struct ctx *cx, struct node *n)
{
	int64_t perm[MAX_RANK];
	struct value *x = n->in[0];

	if (n->out[0]->type.rank != 2 || !is_op(x, ONNX_MatMul) || x->uses != 1 ||
	    !perm_of(n, perm) || perm[1])
		return NULL;
	struct value *a = current(x->def->in[0]), *b = current(x->def->in[1]);
	if (!transposes_freely(a) || !transposes_freely(b))
		return NULL;
	n->onnx = x->def->onnx;
	n->in = new_array(cx->arena, struct value *, 2);
	n->in[0] = transposed(cx, b);
	n->in[1] = transposed(cx, a);
	n->nin = 2;
	n->nattrs = 0;
	x->uses = 0;
	return NULL;
}

/* What has the elements of v in the same order, behind Squeeze and Unsqueeze, and the type t; NULL:
 * nothing */
static struct value *same_elements(struct ctx *cx, struct value *v, const struct type *t)
{
	while (!same_type(cx, &v->type, t)) {
		if (!is_op(v, ONNX_Squeeze) && !is_op(v, ONNX_Unsqueeze))
			return NULL;
		v = current(v->def->in[0]);
	}
	return v;
}

/* Columns that were stacked along a new first axis, and then moved to the last: Concat of the
 * columns. An unrolled loop of the library leaves such nodes. */
static struct value *concat_in_place(struct ctx *cx, struct node *n)
{
	int64_t perm[MAX_RANK];
	uint32_t rank = n->out[0]->type.rank, to = 0;
	struct value *x = n->in[0];
	const struct attr *a = is_op(x, ONNX_Concat) ? find_attr(x->def, "axis") : NULL;

	if (!a || a->u.i || !perm_of(n, perm))
		return NULL;
	while (perm[to])
		to++;
	for (uint32_t i = 0; i < rank; i++)
		if (i != to && perm[i] != (int64_t)i + (i < to))
			return NULL;
	const struct node *concat = x->def;
	struct value **in = new_array(cx->arena, struct value *, concat->nin);
	for (uint32_t i = 0; i < concat->nin; i++) {
		struct value *v = current(concat->in[i]);
		struct type t = v->type;
		t.dims = new_array(cx->arena, dim, rank);
		for (uint32_t k = 0; k < rank; k++)
			t.dims[k] = v->type.dims[perm[k]];
		if (!dim_is_one(cx, t.dims[to]) || !(in[i] = same_elements(cx, v, &t)))
			return NULL;
	}
	for (uint32_t i = 0; i < concat->nin; i++)
		in[i]->uses++;
	x->uses--;
	n->onnx = onnx_find(ONNX_Concat, cx->opt.opset);
	n->in = in;
	n->nin = concat->nin;
	n->attrs = new (cx->arena, struct attr);
	*n->attrs = (struct attr){.name = "axis", .kind = AT_INT, .u.i = to};
	n->nattrs = 1;
	return NULL;
}

/* Would the shape mean something else on another input? 0 copies a dim unless allowzero is set. */
static bool shape_is_absolute(const struct node *n)
{
	const struct attr *a = find_attr(n, "allowzero");
	int64_t v;

	if (!n->in[1]->data)
		return a && a->u.i;
	for (uint64_t i = 0; i < n->in[1]->data->count; i++)
		if (!(a && a->u.i) && tensor_int(n->in[1]->data, i, &v) && !v)
			return false;
	return true;
}

static dim count_of(struct ctx *cx, const struct type *t)
{
	dim d = dim_const(cx, 1);

	for (uint32_t i = 0; i < t->rank; i++)
		d = dim_mul(cx, d, t->dims[i]);
	return d;
}

/* Does n, a Reshape, fail for some inputs? Reshape(x, [-1, 2]) does where x has an odd number of
 * elements. One to a computed shape that is, by the types, the shape of its input is only there to
 * compare the two. */
static bool may_fail(struct ctx *cx, const struct node *n)
{
	const struct type *from = &n->in[0]->type, *to = &n->out[0]->type;

	return is_onnx(n, ONNX_Reshape) && (!dim_eq(cx, count_of(cx, to), count_of(cx, from)) ||
					    (!n->in[1]->data && same_type(cx, from, to)));
}

static struct value *merge_reshapes(struct ctx *cx, struct node *n)
{
	struct value *x = n->in[0];

	if (same_type(cx, &x->type, &n->out[0]->type))
		return n->in[1]->data ? x : NULL;
	if (!shape_is_absolute(n) || (x->def && may_fail(cx, x->def)))
		return NULL;
	if (!is_op(x, ONNX_Reshape) && !is_op(x, ONNX_Unsqueeze) && !is_op(x, ONNX_Squeeze) &&
	    !is_op(x, ONNX_Flatten))
		return NULL;
	read_behind(n);
	return same_type(cx, &n->in[0]->type, &n->out[0]->type) ? n->in[0] : NULL;
}

/* Squeeze of an Unsqueeze, or the other way round, that gives back what was there. */
static struct value *undo_axes(struct ctx *cx, struct node *n)
{
	struct value *x = n->in[0];

	if (!is_op(x, ONNX_Squeeze) && !is_op(x, ONNX_Unsqueeze) &&
	    (!is_op(x, ONNX_Reshape) || !x->def->in[1]->data || may_fail(cx, x->def)))
		return NULL;
	struct value *first = current(x->def->in[0]);
	return same_type(cx, &first->type, &n->out[0]->type) ? first : NULL;
}

/* The axes that a reduction takes away, as bits; 0: it keeps them, or they are not known. */
static uint64_t reduced_axes(const struct node *n)
{
	const struct attr *keep = find_attr(n, "keepdims");
	int axes[MAX_RANK];
	uint64_t bits = 0;

	if (onnx_lengths(n->onnx) != ONNX_REDUCED_LENGTHS || !keep || keep->u.i)
		return 0;
	for (int i = 0, count = onnx_reduced_axes(n, axes); i < count; i++)
		bits |= UINT64_C(1) << axes[i];
	return bits;
}

/* The argument whose axes are those of v, all other ones being single numbers; NULL: v is no result
 * of an operator on elements that only one other reads. */
static struct value *behind_element(const struct value *v)
{
	if (v->uses != 1 || !v->def || v->def->dead || !onnx_facts[v->def->onnx->id].each ||
	    v->def->nin > 2)
		return NULL;
	struct value *x = current(v->def->in[0]), *y = x;
	if (v->def->nin > 1)
		y = current(v->def->in[1]);
	if (x == y)
		return v->def->nin > 1 ? NULL : x;
	return !y->type.rank && !x->data ? x : !x->type.rank ? y : NULL;
}

static void set_dims(struct value *v, const struct type *t)
{
	v->type.rank = t->rank;
	v->type.dims = t->dims;
}

/* Are the axes in bits those that n gives to its input, with length 1? */
static bool gives_axes(struct ctx *cx, const struct node *n, uint64_t bits)
{
	const struct type *to = &n->out[0]->type, *from = &n->in[0]->type;
	const struct tensor *list = n->in[1]->data;
	uint64_t given = 0;
	uint32_t j = 0;
	int64_t axis, one;

	if (!list || !bits || to->rank > 63)
		return false;
	if (is_onnx(n, ONNX_Unsqueeze)) {
		for (uint64_t i = 0; i < list->count; i++) {
			if (!tensor_int(list, list->splat ? 0 : i, &axis))
				return false;
			given |= UINT64_C(1) << ((axis < 0 ? axis + to->rank : axis) & 63);
		}
		return given == bits;
	}
	if (bits >> to->rank)
		return false;
	for (uint32_t i = 0; i < to->rank; i++) {
		if (bits >> i & 1) {
			if (!dim_is_const(cx, to->dims[i], &one) || one != 1)
				return false;
		} else if (j == from->rank || !dim_eq(cx, to->dims[i], from->dims[j++])) {
			return false;
		}
	}
	return j == from->rank;
}

/* Makes a reduction keep its axes; t says the dims then. */
static void keep_dims(struct ctx *cx, struct value *sum, const struct type *t)
{
	struct attr *attrs = new_array(cx->arena, struct attr, sum->def->nattrs);

	memcpy(attrs, sum->def->attrs, sum->def->nattrs * sizeof(*attrs));
	for (uint32_t i = 0; i < sum->def->nattrs; i++)
		if (!strcmp(attrs[i].name, "keepdims"))
			attrs[i].u.i = 1;
	sum->def->attrs = attrs;
	set_dims(sum, t);
}

/* x, which n alone read, is the result of n now. */
static struct value *instead_of(struct node *n, struct value *x)
{
	if (!(n->out[0]->uses & IS_RESULT)) {
		x->uses = 0; /* n, which read it, goes */
		return x;
	}
	/* n, whose result has a name, becomes what x was */
	n->onnx = x->def->onnx;
	n->in = x->def->in;
	n->nin = x->def->nin;
	n->attrs = x->def->attrs;
	n->nattrs = x->def->nattrs;
	x->def->dead = true;
	return NULL;
}

/* A choice between two reductions, by whether the first one is NaN: the largest or smallest element
 * (lower/ops/reduce.c). */
static struct value *keep_extreme(struct ctx *cx, struct node *n)
{
	const struct type *t = &n->out[0]->type;
	struct value *x = n->in[0], *of[3];

	if (!is_op(x, ONNX_Where) || x->uses != 1)
		return NULL;
	for (int i = 0; i < 3; i++) {
		of[i] = current(x->def->in[i]);
		if (of[i]->uses != (i == 1 ? 2 : 1) || !of[i]->def || of[i]->def->dead)
			return NULL;
	}
	if (!is_op(of[0], ONNX_IsNaN) || current(of[0]->def->in[0]) != of[1] ||
	    !gives_axes(cx, n, reduced_axes(of[1]->def)) ||
	    !gives_axes(cx, n, reduced_axes(of[2]->def)))
		return NULL;
	keep_dims(cx, of[1], t);
	keep_dims(cx, of[2], t);
	set_dims(of[0], t);
	set_dims(x, t);
	return instead_of(n, x);
}

static bool is_constant(const struct value *v)
{
	return v->data && v->data->data && !(v->data->name && v->name);
}

/* A way from one number back to what can give it axes: values that only the next one reads, by
 * operators on single numbers. */
struct way {
	struct value *at[MAX_WAY];
	uint32_t input[MAX_WAY]; /* of at[i]'s node: where the way goes on */
	uint32_t n, seen;
};

static void way_enter(struct way *w, struct value *v)
{
	w->seen++;
	w->at[w->n] = v;
	w->input[w->n++] = 0;
}

/* Does the way end at its last value: a reduction that can keep its axes, or a constant? */
static bool way_ends(struct ctx *cx, const struct way *w, const struct node *n)
{
	const struct node *m = w->at[w->n - 1]->def;

	if (gives_axes(cx, n, reduced_axes(m)))
		return true;
	for (uint32_t i = 0; i < m->nin; i++)
		if (m->in[i] && is_constant(m->in[i]))
			return onnx_lengths(m->onnx) == ONNX_BROADCAST_LENGTHS;
	return false;
}

static bool may_pass(const struct value *v)
{
	return v->uses == 1 && !v->type.rank && v->def && !v->def->dead;
}

static bool find_way(struct ctx *cx, struct way *w, const struct node *n)
{
	w->n = w->seen = 0;
	if (may_pass(n->in[0]))
		way_enter(w, n->in[0]);
	while (w->n) {
		const struct node *m = w->at[w->n - 1]->def;
		uint32_t *i = &w->input[w->n - 1];
		if (!*i && way_ends(cx, w, n))
			return true;
		bool on = onnx_facts[m->onnx->id].each && *i < m->nin && w->n < MAX_WAY &&
			  w->seen < MAX_SEEN;
		struct value *v = on && m->in[*i] ? current(m->in[*i]) : NULL;
		++*i;
		if (!on)
			w->n--;
		else if (v && may_pass(v))
			way_enter(w, v);
	}
	return false;
}

/* Axes of length 1 are given to one number: a sum or a constant that it is made of can have them.
 */
static struct value *give_axes(struct ctx *cx, struct node *n)
{
	const struct type *t = &n->out[0]->type;
	struct value *x = n->in[0];
	int64_t shape[MAX_RANK];
	struct way w;

	if (!is_single(cx, t) || !find_way(cx, &w, n))
		return NULL;
	struct node *last = w.at[w.n - 1]->def;
	for (uint32_t i = 0; i < t->rank; i++)
		shape[i] = 1;
	for (uint32_t i = 0; i < w.n; i++)
		set_dims(w.at[i], t);
	if (gives_axes(cx, n, reduced_axes(last)))
		keep_dims(cx, last->out[0], t);
	for (uint32_t i = 0; i < last->nin; i++) {
		struct value *k = last->in[i];
		if (!k || !is_constant(k) || onnx_lengths(last->onnx) != ONNX_BROADCAST_LENGTHS)
			continue;
		struct tensor *one = tensor_new(cx, (enum dtype)k->type.dtype, t->rank, shape);
		one->data = k->data->data;
		last->in[i] = graph_constant(cx, one, k->span);
		last->in[i]->uses = 1;
		break;
	}
	return instead_of(n, x);
}

/* The axes that a reduction took away come back, by Unsqueeze or a Reshape: it can keep them. */
static struct value *keep_axes(struct ctx *cx, struct node *n)
{
	struct value *x = n->in[0], *sum = x, *next;

	if (n->out[0]->uses & IS_INNER)
		return NULL;
	for (int i = 0; i < MAX_BEHIND && (next = behind_element(sum)); i++)
		sum = next;
	if (x->uses != 1 || sum->uses != 1 || !sum->def || sum->def->dead ||
	    !gives_axes(cx, n, reduced_axes(sum->def))) {
		struct value *r = keep_extreme(cx, n);
		return r || n->dead || n->in[0] != x ? r : give_axes(cx, n);
	}
	for (next = x; next != sum; next = behind_element(next))
		set_dims(next, &n->out[0]->type);
	keep_dims(cx, sum, &n->out[0]->type);
	return instead_of(n, x);
}

static struct value *drop_expand(struct ctx *cx, struct node *n)
{
	return same_type(cx, &n->in[0]->type, &n->out[0]->type) ? n->in[0] : NULL;
}

/* Does c broadcast to the matrix type t without changing it? */
static bool adds_to(struct ctx *cx, const struct type *c, const struct type *t)
{
	int64_t one;

	if (c->rank > 2 || c->dtype != t->dtype)
		return false;
	for (uint32_t i = 0; i < c->rank; i++) {
		dim d = c->dims[c->rank - 1 - i];
		if (!dim_eq(cx, d, t->dims[1 - i]) && !(dim_is_const(cx, d, &one) && one == 1))
			return false;
	}
	return true;
}

/* MatMul of matrices + C is one Gemm. */
static struct value *make_gemm(struct ctx *cx, struct node *n)
{
	const struct type *t = &n->out[0]->type;

	if (t->rank != 2 || (t->dtype != DT_FLOAT32 && t->dtype != DT_FLOAT64))
		return NULL;
	for (int i = 0; i < 2; i++) {
		struct value *m = n->in[i], *c = n->in[1 - i];
		if (!same_type(cx, &m->type, t) || !is_op(m, ONNX_MatMul) ||
		    (m->uses & ~IS_RESULT) != 1 || m->uses & IS_RESULT)
			continue;
		struct value *a = current(m->def->in[0]), *b = current(m->def->in[1]);
		if (a->type.rank != 2 || b->type.rank != 2 || !adds_to(cx, &c->type, t))
			continue;
		const struct onnx_op *gemm = find_kernel(cx, ONNX_Gemm, t->dtype, 3);
		if (!gemm)
			return NULL;
		n->onnx = gemm;
		n->in = new_array(cx->arena, struct value *, 3);
		n->in[0] = a;
		n->in[1] = b;
		n->in[2] = c;
		n->nin = 3;
		return NULL;
	}
	return NULL;
}

/* What a weight was before it got other dims, as the runtime will see it. */
static const struct value *behind_shape(const struct value *v)
{
	for (int steps = 0; steps < 8; steps++) {
		if (!is_op(v, ONNX_Unsqueeze) && !is_op(v, ONNX_Squeeze) &&
		    !is_op(v, ONNX_Reshape) && !is_op(v, ONNX_Expand) && !is_op(v, ONNX_Cast))
			break;
		v = current(v->def->in[0]);
	}
	return v;
}

/* 1 / x is Reciprocal: of (1 / x) * y ONNX Runtime would make y / x, which rounds differently. */
static struct value *make_reciprocal(struct ctx *cx, struct node *n)
{
	const struct tensor *one = behind_shape(n->in[0])->data;
	enum dtype t = n->in[1]->type.dtype;

	if (!one || !one->count || (!one->splat && one->count > 1) || !is_float(t) ||
	    tensor_float(one, 0) != 1 || !same_type(cx, &n->in[1]->type, &n->out[0]->type))
		return NULL;
	const struct onnx_op *op = find_kernel(cx, ONNX_Reciprocal, t, 1);
	if (!op)
		return NULL;
	n->onnx = op;
	n->in[0] = n->in[1];
	n->nin = 1;
	return NULL;
}

static bool is_zero(const struct value *v)
{
	v = behind_shape(v);
	return v->data && v->data->data && !(v->data->name && v->name) && v->data->count == 1 &&
	       is_float((enum dtype)v->type.dtype) && tensor_float(v->data, 0) == 0;
}

/* x + 0 and x - 0, and 0 - x, which is Neg: what a choice is that was left out, for one */
static struct value *drop_zero(struct ctx *cx, struct node *n)
{
	bool sum = is_onnx(n, ONNX_Add);
	enum dtype t = (enum dtype)n->out[0]->type.dtype;

	if (cx->opt.signed_zeros || n->as_written)
		return NULL;
	for (int i = 0; i < 2; i++) {
		struct value *x = n->in[1 - i];
		if (!is_zero(n->in[i]) || !same_type(cx, &x->type, &n->out[0]->type))
			continue;
		if (sum || i == 1)
			return x;
		const struct onnx_op *neg = find_kernel(cx, ONNX_Neg, t, 1);
		if (!neg)
			return NULL;
		n->onnx = neg;
		n->in[0] = x;
		n->nin = 1;
		return NULL;
	}
	return NULL;
}

/* Where(c, x, 0) + Where(c, 0, y) is Where(c, x, y): a diagonal and what is beside it, for one. */
static struct value *join_choices(struct ctx *cx, struct node *n)
{
	const struct type *t = &n->out[0]->type;
	const struct node *w[2];

	for (int i = 0; i < 2; i++) {
		w[i] = n->in[i]->def;
		if (!is_op(n->in[i], ONNX_Where) || w[i]->as_written || n->in[i]->uses != 1 ||
		    !same_type(cx, &n->in[i]->type, t))
			return NULL;
	}
	struct value *c = current(w[0]->in[0]);
	if (cx->opt.signed_zeros || n->as_written || c != current(w[1]->in[0]) ||
	    !same_dims(cx, c->type, *t))
		return NULL;
	for (int i = 0; i < 2; i++) {
		if (!is_zero(current(w[i]->in[2])) || !is_zero(current(w[1 - i]->in[1])))
			continue;
		n->onnx = w[i]->onnx;
		n->in = new_array(cx->arena, struct value *, 3);
		n->in[0] = c;
		n->in[1] = current(w[i]->in[1]);
		n->in[2] = current(w[1 - i]->in[2]);
		n->nin = 3;
		return NULL;
	}
	return NULL;
}

/* Neither NaN nor infinite is what lies below infinity: Less(Abs(x), inf). */
static struct value *make_finite(struct ctx *cx, struct node *n)
{
	struct value *either = n->in[0], *x[2];
	struct node *m = either->def;

	if (!is_op(either, ONNX_Or) || (either->uses & ~IS_RESULT) != 1 || either->uses & IS_RESULT)
		return NULL;
	x[0] = current(m->in[0]);
	x[1] = current(m->in[1]);
	int nan = is_op(x[0], ONNX_IsNaN) ? 0 : 1;
	if (!is_op(x[nan], ONNX_IsNaN) || !is_op(x[1 - nan], ONNX_IsInf) || x[1 - nan]->def->nattrs)
		return NULL;
	struct value *v = current(x[nan]->def->in[0]);
	if (v != current(x[1 - nan]->def->in[0]))
		return NULL;
	enum dtype types[2] = {v->type.dtype, v->type.dtype}, result[1] = {DT_BOOL};
	const struct onnx_op *abs = find_kernel(cx, ONNX_Abs, types[0], 1);
	const struct onnx_op *less = onnx_find(ONNX_Less, cx->opt.opset);
	if (!abs || !kernel_exists(cx->opt.target, less, types, 2, result, 1))
		return NULL;
	struct tensor *t = tensor_new(cx, types[0], 0, NULL);
	const double inf = INFINITY;
	void *data = arena_alloc(cx->arena, 16);
	tensor_convert(types[0], data, DT_FLOAT64, &inf, 1);
	t->data = data;
	m->onnx = abs;
	m->in[0] = v;
	m->nin = 1;
	either->type = v->type;
	n->onnx = less;
	n->in = new_array(cx->arena, struct value *, 2);
	n->in[0] = either;
	n->in[1] = graph_constant(cx, t, n->span);
	n->nin = 2;
	return NULL;
}

/* Is v a constant that is, but for the sign, the largest finite number or infinite? */
static bool is_huge(const struct value *v, double largest)
{
	return v && v->data && v->data->data && !(v->data->name && v->name) &&
	       v->data->count == 1 && fabs(tensor_float(v->data, 0)) >= largest;
}

/* Is n, a reduction, one of x that keeps the axes with length 1? */
static bool keeps_axes(const struct node *n, const struct value *x)
{
	const struct attr *keep = find_attr(n, "keepdims");

	return current(n->in[0]) == x && (!keep || keep->u.i);
}

/*
 * Is m the maximum of x along the axes along which s is the sum of e? For NaN m may be what is NaN,
 * and for infinities the largest finite number: Where(IsNaN(q), q, Clip(ReduceMax(x), -k, k))
 */
static bool is_maximum(struct value *m, const struct value *x, const struct node *sum,
		       const struct value *e)
{
	double largest = x->type.dtype == DT_FLOAT64 ? DBL_MAX : FLT_MAX;
	int of_max[MAX_RANK], of_sum[MAX_RANK];

	if (is_op(m, ONNX_Where)) {
		struct value *is_nan = current(m->def->in[0]), *q = current(m->def->in[1]);
		if (!is_op(is_nan, ONNX_IsNaN) || current(is_nan->def->in[0]) != q)
			return false;
		m = current(m->def->in[2]);
	}
	if (is_op(m, ONNX_Clip)) {
		const struct node *clip = m->def;
		if (clip->nin != 3 || !is_huge(current(clip->in[1]), largest) ||
		    !is_huge(current(clip->in[2]), largest))
			return false;
		m = current(clip->in[0]);
	}
	if (!is_op(m, ONNX_ReduceMax) || !keeps_axes(m->def, x) || !keeps_axes(sum, e))
		return false;
	int n = onnx_reduced_axes(m->def, of_max);
	return n > 0 && n == onnx_reduced_axes(sum, of_sum) &&
	       !memcmp(of_max, of_sum, (size_t)n * sizeof(*of_max));
}

/*
 * exp(x - (log(s) + m)), where s is the sum of e = exp(x - m) and m the maximum of x, is e / s: the
 * gradient of LogSumExp takes one exponential then, of which each costs as much as ten additions.
 * Where x has infinities or NaN both are NaN. Of another m, e could be infinite.
 */
static struct value *divide_by_sum(struct ctx *cx, struct node *n)
{
	struct value *z = n->in[0], *all, *x, *terms[2], *e;

	if (!is_op(z, ONNX_Sub) || n->as_written)
		return NULL;
	x = current(z->def->in[0]);
	all = current(z->def->in[1]);
	if (!is_op(all, ONNX_Add))
		return NULL;
	for (int i = 0; i < 2; i++) {
		terms[0] = current(all->def->in[i]);
		terms[1] = current(all->def->in[1 - i]);
		if (!is_op(terms[0], ONNX_Log))
			continue;
		struct value *s = current(terms[0]->def->in[0]);
		e = is_op(s, ONNX_ReduceSum) ? current(s->def->in[0]) : NULL;
		if (!e || !is_op(e, ONNX_Exp) || !same_type(cx, &s->type, &all->type) ||
		    !same_type(cx, &e->type, &n->out[0]->type))
			continue;
		const struct value *y = current(e->def->in[0]);
		if (!is_op(y, ONNX_Sub) || current(y->def->in[0]) != x ||
		    current(y->def->in[1]) != terms[1] || !is_maximum(terms[1], x, s->def, e))
			continue;
		z->uses--;
		e->uses++;
		s->uses++;
		n->onnx = onnx_find(ONNX_Div, cx->opt.opset);
		n->in = new_array(cx->arena, struct value *, 2);
		n->in[0] = e;
		n->in[1] = s;
		n->nin = 2;
		return NULL;
	}
	return NULL;
}

/* max(x, 0) is Relu, which ONNX Runtime fuses with a Gemm or Conv before it. Of x = -0 it is -0. */
static struct value *make_relu(struct ctx *cx, struct node *n)
{
	enum dtype t = n->out[0]->type.dtype;
	const struct onnx_op *relu = find_kernel(cx, ONNX_Relu, t, 1);

	if (n->nin != 2 || !is_float(t) || cx->opt.signed_zeros || !relu)
		return NULL;
	for (int i = 0; i < 2; i++) {
		const struct tensor *zero = behind_shape(n->in[1 - i])->data;
		if (!zero || !zero->count || (!zero->splat && zero->count > 1) ||
		    tensor_float(zero, 0) != 0 || !same_type(cx, &n->in[i]->type, &n->out[0]->type))
			continue;
		n->onnx = relu;
		n->in[0] = n->in[i];
		n->nin = 1;
		break;
	}
	return NULL;
}

/* Split into the parts that Concat was given: those are its results. */
static struct value *split_concat(struct ctx *cx, struct node *n)
{
	const struct attr *a = find_attr(n, "axis"), *b;
	const struct node *m = n->in[0]->def;
	int64_t axis = a ? a->u.i : 0, rank = n->in[0]->type.rank;

	if (!is_op(n->in[0], ONNX_Concat) || m->nin != n->nout)
		return NULL;
	b = find_attr(m, "axis");
	if ((axis < 0 ? axis + rank : axis) != (b->u.i < 0 ? b->u.i + rank : b->u.i))
		return NULL;
	for (uint32_t i = 0; i < n->nout; i++)
		if (n->out[i]->uses & IS_RESULT ||
		    !same_type(cx, &n->out[i]->type, &current(m->in[i])->type))
			return NULL;
	for (uint32_t i = 0; i < n->nout; i++) {
		struct value *v = current(m->in[i]);
		n->out[i]->low = v;
		v->uses += n->out[i]->uses;
	}
	n->dead = true;
	return NULL;
}

/* A sum of arrays of which each is padded along an axis: of this many nodes at most */
#define MAX_PADDED 8
struct padded {
	struct value *nodes[MAX_PADDED]; /* Pad, and behind it Add, Sub and Neg */
	uint32_t n;
};

/* What a Pad puts before and behind x along this axis, if it pads no other one; false: it is no
 * such Pad, or others read it */
static bool pads_along(struct ctx *cx, const struct value *v, uint32_t axis, int64_t *before,
		       int64_t *length)
{
	uint32_t rank = v->type.rank;
	int64_t k;

	if (!is_op(v, ONNX_Pad) || v->uses != 1 || v->def->nin > 3 || !v->def->in[1]->data ||
	    v->def->in[1]->data->count != 2 * (uint64_t)rank ||
	    !dim_is_const(cx, current(v->def->in[0])->type.dims[axis], length))
		return false;
	const struct attr *mode = find_attr(v->def, "mode");
	if (mode && (mode->u.s.len != 8 || memcmp(mode->u.s.s, "constant", 8)))
		return false;
	for (uint32_t i = 0; i < 2 * rank; i++) {
		if (!tensor_int(v->def->in[1]->data, i, &k) || k < 0 || (i % rank != axis && k))
			return false;
		if (i == axis)
			*before = k;
	}
	return true;
}

/* Are elements [start, end) of v, along the axis, those of arrays that v pads? */
static bool is_inside(struct ctx *cx, struct padded *p, struct value *v, uint32_t axis,
		      int64_t start, int64_t end)
{
	int64_t before, length;

	p->n = 0;
	p->nodes[p->n++] = v;
	for (uint32_t i = 0; i < p->n; i++) {
		v = p->nodes[i];
		if (pads_along(cx, v, axis, &before, &length)) {
			if (start < before || end > before + length)
				return false;
			continue;
		}
		if (v->uses != 1 ||
		    (!is_op(v, ONNX_Add) && !is_op(v, ONNX_Sub) && !is_op(v, ONNX_Neg)) ||
		    p->n + v->def->nin > MAX_PADDED)
			return false;
		for (uint32_t k = 0; k < v->def->nin; k++) {
			struct value *x = current(v->def->in[k]);
			if (!same_type(cx, &x->type, &v->type))
				return false;
			p->nodes[p->n++] = x;
		}
	}
	return true;
}

static struct value *one_int(struct ctx *cx, int64_t k, struct span span)
{
	int64_t one = 1;
	struct tensor *t = tensor_new(cx, DT_INT64, 1, &one);

	t->data = memcpy(new (cx->arena, int64_t), &k, sizeof(k));
	struct value *v = graph_constant(cx, t, span);
	v->uses = 1;
	return v;
}

/* Split of which only one part is read, of a sum of padded arrays, is the sum of parts of the
 * arrays: x[1:] - x[:-1] has a gradient that is padded, and then joined parts of it are cut off. */
static struct value *cut_before_padding(struct ctx *cx, struct node *n)
{
	const struct attr *a = find_attr(n, "axis");
	int64_t axis = a ? a->u.i : 0, start = 0, end = 0, size, before, length;
	struct value *part = NULL;
	struct padded p;

	if (n->nin < 2 || !n->in[1]->data)
		return NULL;
	axis += axis < 0 ? n->in[0]->type.rank : 0;
	for (uint32_t i = 0; i < n->nout; i++) {
		if (!tensor_int(n->in[1]->data, i, &size) ||
		    (n->out[i]->uses && (part || n->out[i]->uses & IS_RESULT)))
			return NULL;
		part = n->out[i]->uses ? n->out[i] : part;
		start += part ? 0 : size;
		end = part == n->out[i] ? start + size : end;
	}
	if (!part || !is_inside(cx, &p, n->in[0], (uint32_t)axis, start, end))
		return NULL;
	for (uint32_t i = p.n; i--;) {
		struct value *v = p.nodes[i];
		struct node *m = v->def;
		dim *d = new_array(cx->arena, dim, v->type.rank);
		memcpy(d, v->type.dims, v->type.rank * sizeof(*d));
		d[axis] = part->type.dims[axis];
		v->type.dims = d;
		if (!pads_along(cx, v, (uint32_t)axis, &before, &length))
			continue;
		struct value **in = new_array(cx->arena, struct value *, 4);
		in[0] = m->in[0];
		in[1] = one_int(cx, start - before, n->span);
		in[2] = one_int(cx, end - before, n->span);
		in[3] = one_int(cx, axis, n->span);
		m->onnx = onnx_find(ONNX_Slice, cx->opt.opset);
		m->in = in;
		m->nin = 4;
		m->nattrs = 0;
	}
	part->low = n->in[0];
	n->in[0]->uses += part->uses;
	n->dead = true;
	return NULL;
}

static const struct rewrite {
	const char *name;
	enum onnx_id op;
	struct value *(*apply)(struct ctx *cx, struct node *n);
} rewrites[] = {
	{"identity", ONNX_Identity, drop_identity},
	{"cast", ONNX_Cast, merge_casts},
	{"transpose", ONNX_Transpose, merge_transposes},
	{"transpose", ONNX_Transpose, concat_in_place},
	{"transpose", ONNX_Transpose, transpose_factors},
	{"reshape", ONNX_Reshape, merge_reshapes},
	{"squeeze", ONNX_Squeeze, undo_axes},
	{"squeeze", ONNX_Unsqueeze, undo_axes},
	{"keepdims", ONNX_Unsqueeze, keep_axes},
	{"keepdims", ONNX_Reshape, keep_axes},
	{"expand", ONNX_Expand, drop_expand},
	{"gemm", ONNX_Add, make_gemm},
	{"zero", ONNX_Add, drop_zero},
	{"zero", ONNX_Sub, drop_zero},
	{"zero", ONNX_Add, join_choices},
	{"reciprocal", ONNX_Div, make_reciprocal},
	{"finite", ONNX_Not, make_finite},
	{"relu", ONNX_Max, make_relu},
	{"sum-of-exp", ONNX_Exp, divide_by_sum},
	{"split", ONNX_Split, split_concat},
	{"split", ONNX_Split, cut_before_padding},
};
/* Those that look at the whole graph: dead drops nodes that nobody reads; splat: splats.c, guard:
 * guards.c, states: loop_states.c, stretch, branch: src/ort, the others: loop_move.c */
static const struct {
	const char *name;
	enum rewrite_pass bit;
} passes[] = {{"dead", PASS_DEAD},       {"splat", PASS_SPLAT},  {"guard", PASS_GUARD},
	      {"states", PASS_STATES},   {"hoist", PASS_HOIST},  {"batch", PASS_BATCH},
	      {"push-out", PASS_PUSH},   {"scan", PASS_SCAN},    {"linear", PASS_LINEAR},
	      {"stretch", PASS_STRETCH}, {"branch", PASS_BRANCH}};

bool rewrite_is_on(const struct ctx *cx, enum rewrite_pass pass)
{
	return !(cx->opt.rewrites_off >> pass & 1);
}

bool rewrite_option(struct ctx *cx, const char *name, bool on)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < countof(rewrites); i++)
		if (!strcmp(rewrites[i].name, name))
			bits |= UINT64_C(1) << i;
	for (size_t i = 0; i < countof(passes); i++)
		if (!strcmp(passes[i].name, name))
			bits |= UINT64_C(1) << passes[i].bit;
	cx->opt.rewrites_off = on ? cx->opt.rewrites_off & ~bits : cx->opt.rewrites_off | bits;
	return bits != 0;
}

const char *rewrite_name(size_t i)
{
	if (i < countof(rewrites))
		return rewrites[i].name;
	i -= countof(rewrites);
	return i < countof(passes) ? passes[i].name : NULL;
}

/* ---- the walk ---- */

/* v, a result of the outermost block from now on, takes the place of old, which nodes read. */
static void rename_result(struct value *old, struct value *v)
{
	for (uint32_t i = 0; i < old->def->nout; i++)
		if (old->def->out[i] == old)
			old->def->out[i] = v;
	v->def = old->def;
	v->uses += old->uses;
	v->sign = old->sign;
	if (!v->known)
		v->known = old->known;
	old->low = v;
}

/* Replaces result 0 of n by v. A result of a block keeps its name and place: v's node makes it, or
 * an Identity. */
static bool replace(struct ctx *cx, struct node *n, struct value *v)
{
	struct value *out = n->out[0];

	if (v == out)
		return false;
	if (out->uses & IS_RESULT) {
		v->uses++;
		for (uint32_t i = 0; i < n->nin; i++)
			if (n->in[i] && n->in[i]->uses)
				n->in[i]->uses--;
		if (!(out->uses & IS_INNER) && !(v->uses & IS_RESULT) && v->def && !v->def->dead) {
			v->uses--;
			n->dead = true;
			rename_result(v, out);
			return true;
		}
		n->onnx = onnx_find(ONNX_Identity, cx->opt.opset);
		n->in[0] = v;
		n->nin = 1;
		n->nattrs = 0;
		return false;
	}
	out->low = v;
	n->dead = true;
	v->uses += out->uses;
	if (!v->name && v->def)
		v->name = out->name;
	return true;
}

static void rewrite_node(struct ctx *cx, struct node *n)
{
	for (size_t i = 0; i < countof(rewrites) && !n->dead; i++) {
		if (cx->opt.rewrites_off >> i & 1 || !is_onnx(n, rewrites[i].op))
			continue;
		struct value *v = rewrites[i].apply(cx, n);
		if (v && replace(cx, n, v))
			return;
	}
}

/* Blocks nest as deep as the input's loops and ifs, which has a limit: this may recurse. */
static void rewrite_block(struct ctx *cx, struct block *b)
{
	for (struct node *n = b->first; n; n = n->next) {
		for (uint32_t i = 0; i < n->nin; i++)
			n->in[i] = current(n->in[i]);
		for (uint32_t i = 0; i < n->nattrs; i++)
			if (n->attrs[i].kind == AT_GRAPH)
				rewrite_block(cx, n->attrs[i].u.block);
		rewrite_node(cx, n);
	}
}

static bool is_read(const struct node *n)
{
	for (uint32_t i = 0; i < n->nout; i++)
		if (n->out[i]->uses)
			return true;
	return false;
}

/* Begins all counts of b at 0, and turns its list of nodes round: the last one is the first. */
static void turn_round(struct block *b)
{
	struct node *before = NULL, *next;

	for (struct node *n = b->first; n; n = next) {
		for (uint32_t i = 0; i < n->nin && !n->dead; i++) {
			n->in[i] = current(n->in[i]);
			if (n->in[i])
				n->in[i]->uses = 0;
		}
		for (uint32_t i = 0; i < n->nout; i++)
			n->out[i]->uses = 0;
		for (uint32_t i = 0; i < n->nattrs && !n->dead; i++)
			if (n->attrs[i].kind == AT_GRAPH)
				turn_round(n->attrs[i].u.block);
		next = n->next;
		n->next = before;
		before = n;
	}
	b->first = before;
	for (uint32_t i = 0; i < b->results.len; i++)
		b->results.at[i]->uses = 0;
}

/* Counts what b's results need, from the last node to the first, and drops nodes that nobody reads.
 * All readers of a value come after its node, so that its count is complete there. */
static void keep_needed(struct ctx *cx, struct graph *g, struct block *b)
{
	struct node *n = b->first, *next = NULL, *before;

	for (uint32_t i = 0; i < b->results.len; i++) {
		b->results.at[i]->uses++;
		b->results.at[i]->uses |= IS_RESULT | (b->depth ? IS_INNER : 0);
	}
	b->last = NULL;
	b->nnodes = 0;
	for (; n; n = before) {
		before = n->next;
		if (n->dead || (!is_read(n) && rewrite_is_on(cx, PASS_DEAD))) {
			n->dead = true;
			continue;
		}
		for (uint32_t i = 0; i < n->nin; i++) {
			if (!n->in[i])
				continue;
			n->in[i]->uses++;
			g->has_splats |= n->in[i]->data && n->in[i]->data->splat;
		}
		for (uint32_t i = 0; i < n->nattrs; i++)
			if (n->attrs[i].kind == AT_GRAPH)
				keep_needed(cx, g, n->attrs[i].u.block);
		g->operators[n->onnx->id / 64] |= UINT64_C(1) << n->onnx->id % 64;
		n->next = next;
		next = n;
		if (!b->last)
			b->last = n;
		b->nnodes++;
	}
	b->first = next;
}

void drop_unread(struct ctx *cx, struct graph *g)
{
	turn_round(g->block);
	for (uint32_t i = 0; i < g->kept.len; i++) { /* what checks will read counts as read */
		g->kept.at[i] = current(g->kept.at[i]);
		g->kept.at[i]->uses++;
	}
	memset(g->operators, 0, sizeof(g->operators));
	g->has_splats = false;
	keep_needed(cx, g, g->block);
}

void rewrite(struct ctx *cx, struct graph *g)
{
	drop_unread(cx, g); /* a reader that goes is none */
	if (rewrite_is_on(cx, PASS_GUARD) && drop_guards(cx, g))
		drop_unread(cx, g);
	rewrite_block(cx, g->block);
	drop_unread(cx, g);
	if (rewrite_is_on(cx, PASS_SPLAT))
		splats(cx, g);
}
