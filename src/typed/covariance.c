/*
 * covariance.c: gradients of normal log densities by a covariance matrix. In: the typed graph,
 * without complex numbers. Out: the same function.
 *
 * PyTensor computes the gradient of L = Cholesky(K) from D, that of L, in two solves with matrices
 * on the right:
 *	P = L' D, X = (P masked to its lower triangle, with half of its diagonal)'
 *	T = solve(L', solve(L', X)')
 *	R = (T + T') * mask - diag(T)
 * A log determinant and a quadratic form give D = k diag(1 / diag(L)) + s A B', where
 *	A = solve(L', B)
 * Of P = L' D only the lower triangle counts, which is that of k I + s B B'. So
 *	W = solve(L', I), R = (k W W' + s A A') * (mask - I / 2)
 * takes one solve, for W, and no product with L'. What a log density needs of A and B is there.
 *
 * Of any other D the two matrices with a mask become one product each:
 *	P * mask - k diag(P) = P * (mask - k I)
 *	(T + T') * mask - k diag(T) = (T + T') * (mask - k/2 I)
 */
#include <math.h>
#include <string.h>

#include "ops/rules.h"
#include "typed/typed.h"

#define MAX_PARTS 8         /* factors of a product, terms of a sum */
#define MAX_VIEWS 6         /* of a value, one behind the other */
#define MAX_SIDE  (1 << 12) /* rows of a matrix for which a mask is looked at */

struct pass {
	struct ctx *cx;
	struct block *block; /* that is made anew */
};

/* ---- what a value is ---- */

/* Is v a call of the op, or Blockwise of one? *core is the call, or has the inner op's properties.
 */
static bool is_call_or_batch(struct ctx *cx, const struct value *v, enum op_id id,
			     struct node *core)
{
	if (!v->def)
		return false;
	*core = *v->def;
	if (is_call(core, OP_Blockwise)) {
		const struct opref *f = prop(cx, v->def, "core_op")->u.op;
		core->op = f->op;
		core->props = f->props;
	}
	return is_call(core, id);
}

/* A value whose elements are those of another one, with other axes: of axes longer than 1, by
 * their number in `root`. */
struct view {
	struct value *root;
	uint32_t rank;
	int axis[MAX_RANK];
};

/* w.axis[] of what n makes of its argument, whose axes are v->axis[] */
static bool step(struct ctx *cx, const struct value *v, int axis[MAX_RANK])
{
	struct node *n = v->def;
	const struct type *x = &n->in[0]->type;
	int at[MAX_RANK], next = 0;

	if (is_call(n, OP_DimShuffle))
		return dimshuffle_order(cx, n, axis) == v->type.rank;
	if (is_call(n, OP_Transpose)) {
		bool reverse = prop_is_none(cx, n, "axes");
		if (prop_axes(cx, n, "axes", x->rank, at, false) != x->rank)
			return false;
		for (int i = 0; i < x->rank; i++)
			axis[i] = reverse ? x->rank - 1 - i : at[i];
		return true;
	}
	if (is_call(n, OP_ExpandDims)) {
		int count = prop_axes(cx, n, "axes", v->type.rank, at, true), k = 0;
		for (int i = 0; i < v->type.rank; i++)
			axis[i] = k < count && at[k] == i ? (k++, -1) : next++;
		return next == x->rank;
	}
	if (is_call(n, OP_Squeeze) && !prop_is_none(cx, n, "axes")) {
		int count = prop_axes(cx, n, "axes", x->rank, at, true), k = 0;
		for (int i = 0; i < x->rank; i++)
			if (k < count && at[k] == i)
				k++;
			else
				axis[next++] = i;
		return next == v->type.rank;
	}
	return false;
}

static struct view view_of(struct ctx *cx, struct value *v)
{
	struct view w = {.root = v, .rank = v->type.rank};
	int axis[MAX_RANK];
	uint32_t rank = 0;

	for (uint32_t i = 0; i < w.rank; i++)
		w.axis[i] = (int)i;
	for (int k = 0; k < MAX_VIEWS && w.root->def && step(cx, w.root, axis); k++) {
		for (uint32_t i = 0; i < w.rank; i++)
			w.axis[i] = w.axis[i] < 0 ? -1 : axis[w.axis[i]];
		w.root = w.root->def->in[0];
	}
	for (uint32_t i = 0; i < w.rank; i++)
		if (w.axis[i] >= 0 && !dim_is(cx, w.root->type.dims[w.axis[i]], 1))
			w.axis[rank++] = w.axis[i];
	w.rank = rank;
	return w;
}

/* Do both have the elements of one value, `swapped`: with the last two axes swapped? */
static bool same_view(const struct view *a, const struct view *b, bool swapped)
{
	uint32_t n = a->rank;

	if (a->root != b->root || n != b->rank || (swapped && n < 2))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (a->axis[i] != b->axis[swapped && i + 2 >= n ? 2 * n - 3 - i : i])
			return false;
	return true;
}

static bool are_swapped(struct ctx *cx, struct value *a, struct value *b)
{
	struct view v = view_of(cx, a), w = view_of(cx, b);

	return same_view(&v, &w, true);
}

/* The vectors of which v has the matrices, or the diagonals of the matrices v; NULL: neither */
static struct value *with_diagonal(struct ctx *cx, struct value *v)
{
	struct node n;
	int64_t rank = v->type.rank, first = 0;

	if (!is_call_or_batch(cx, v, OP_AllocDiag, &n) || prop_int(cx, &n, "offset"))
		return NULL;
	if (is_call(v->def, OP_Blockwise)) {
		if (blockwise_core(cx, v->def)->in[0]->type.rank != 1)
			return NULL;
	} else {
		first = rank - 2;
	}
	return prop_int(cx, &n, "axis1") == first && prop_int(cx, &n, "axis2") == first + 1
		       ? n.in[0]
		       : NULL;
}

static struct value *diagonal_of(struct ctx *cx, struct value *v)
{
	struct node *n = v->def;

	if (!is_call(v->def, OP_ExtractDiag) || prop_int(cx, n, "offset") ||
	    prop_axis(cx, n, "axis1") + 2 != n->in[0]->type.rank ||
	    prop_axis(cx, n, "axis2") + 1 != n->in[0]->type.rank)
		return NULL;
	return n->in[0];
}

static bool is_matrix_product(const struct value *v)
{
	return (is_call(v->def, OP_Dot) || is_call(v->def, OP_BatchedDot) ||
		is_call(v->def, OP_Matmul)) &&
	       v->type.rank >= 2 && v->def->in[0]->type.rank == v->type.rank &&
	       v->def->in[1]->type.rank == v->type.rank;
}

/* Solve(u, b), u being an upper triangle */
static bool is_solve(struct ctx *cx, const struct value *v)
{
	struct node n;

	return is_call_or_batch(cx, v, OP_SolveTriangular, &n) && !prop_bool(cx, &n, "lower") &&
	       !prop_bool(cx, &n, "unit_diagonal");
}

/* ---- constants ---- */

/* The elements of a constant [..., n, n] that is one matrix */
static const struct tensor *matrix(const struct value *v, int64_t n)
{
	const struct tensor *t = constant_data(v);

	if (!t || is_complex((enum dtype)t->dtype) || n < 2 || n > MAX_SIDE || t->rank < 2 ||
	    t->shape[t->rank - 1] != n || t->shape[t->rank - 2] != n ||
	    t->count != (uint64_t)(n * n))
		return NULL;
	return t;
}

/* Is it one number on the diagonal and in the triangle, and `other` in the other one? NAN: anything
 */
static bool is_triangle(const struct tensor *t, int64_t n, bool lower, double *k, double other)
{
	*k = tensor_float(t, 0);
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < n; j++) {
			double x = tensor_float(t, (uint64_t)(i * n + j));
			bool inside = lower ? j <= i : j >= i;
			if (inside ? x != *k : other == other && x != other)
				return false;
		}
	return true;
}

/* ---- sums and products ---- */

struct parts { /* k * at[0] * at[1] ... */
	double k;
	uint32_t n;
	struct value *at[MAX_PARTS];
};

/* The factors of v, as far as its lower triangles [n, n] say; false: too many */
static bool factors_of(struct value *v, int64_t n, struct parts *p)
{
	struct value *todo[MAX_PARTS] = {v};
	uint32_t left = 1;
	double k;

	*p = (struct parts){.k = 1};
	while (left) {
		struct value *x = todo[--left];
		const struct tensor *t = matrix(x, n);
		if (is_call(x->def, OP_Neg)) {
			p->k = -p->k;
			todo[left++] = x->def->in[0];
		} else if (uniform_number(constant_data(x), &k) ||
			   (t && is_triangle(t, n, true, &k, (double)NAN))) {
			p->k *= k;
		} else if (is_call(x->def, OP_Mul)) {
			if (left + x->def->nin > MAX_PARTS)
				return false;
			for (uint32_t i = 0; i < x->def->nin; i++)
				todo[left++] = x->def->in[i];
		} else if (p->n == MAX_PARTS) {
			return false;
		} else {
			p->at[p->n++] = x;
		}
	}
	return true;
}

struct gradient {
	struct value *u;   /* L' */
	struct value *t;   /* the last solve */
	struct value *p;   /* L' D */
	struct value *a;   /* the quadratic form's; NULL: none */
	struct value *bt;  /* B' */
	int64_t columns;   /* of A */
	int64_t n;         /* rows */
	double log_k, a_k; /* of W W' and of A A' */
};

/* Are the axes in the order of the root's? */
static bool in_order(const struct view *v)
{
	for (uint32_t i = 1; i < v->rank; i++)
		if (v->axis[i] <= v->axis[i - 1])
			return false;
	return true;
}

/* Is `a` solve(L', b) or solve(L', -b)? *sign: of b. Both are matrices, or both vectors; bt is b
 * with its last two axes swapped, which vectors are in any case. */
static bool solves(struct ctx *cx, const struct gradient *g, struct value *a, struct value *bt,
		   double *sign)
{
	struct view x = view_of(cx, a), y = view_of(cx, bt), u, u0 = view_of(cx, g->u), right;
	const struct type *t = &a->type;
	struct value *b;

	if (t->rank < 2 || t->rank != g->u->type.rank || !is_solve(cx, x.root) || !in_order(&x))
		return false;
	if (bt->type.rank != t->rank || bt->type.dtype != t->dtype ||
	    !dim_eq(cx, bt->type.dims[t->rank - 1], t->dims[t->rank - 2]) ||
	    !dim_eq(cx, bt->type.dims[t->rank - 2], t->dims[t->rank - 1]))
		return false;
	for (uint32_t i = 0; i + 1 < t->rank; i++)
		if (!dim_eq(cx, t->dims[i], g->u->type.dims[i]) ||
		    (i + 2 < t->rank && !dim_eq(cx, bt->type.dims[i], t->dims[i])))
			return false;
	if (!dim_is(cx, t->dims[t->rank - 1], 1)) {
		if (y.rank < 2)
			return false;
		int last = y.axis[y.rank - 1];
		y.axis[y.rank - 1] = y.axis[y.rank - 2];
		y.axis[y.rank - 2] = last;
	}
	u = view_of(cx, x.root->def->in[0]);
	b = x.root->def->in[1];
	*sign = is_call(b->def, OP_Neg) ? -1 : 1;
	right = view_of(cx, *sign < 0 ? b->def->in[0] : b);
	return same_view(&u, &u0, false) && right.root == y.root && in_order(&right) &&
	       in_order(&y);
}

/* Takes the term p of D: k diag(1 / diag(L)), or s A B'. */
static bool take_term(struct ctx *cx, struct gradient *g, const struct parts *p, double sign)
{
	struct value *d, *a = p->at[0], *b = p->n == 2 ? p->at[1] : NULL;
	struct view l, u = view_of(cx, g->u);
	double k;

	if (p->n == 1 && (d = with_diagonal(cx, a))) {
		if (g->log_k != 0 || !is_call(d->def, OP_True_div) ||
		    !uniform_number(constant_data(d->def->in[0]), &k) ||
		    !(d = diagonal_of(cx, d->def->in[1])))
			return false;
		l = view_of(cx, d);
		g->log_k = sign * p->k * k;
		return g->log_k != 0 && (same_view(&l, &u, true) || same_view(&l, &u, false));
	}
	if (g->a || p->n < 1 || p->n > 2)
		return false;
	if (p->n == 1) {
		if (!is_matrix_product(a))
			return false;
		b = a->def->in[1];
		a = a->def->in[0];
	} else if (a->type.rank < 1 || !dim_is(cx, a->type.dims[a->type.rank - 1], 1)) {
		b = a;
		a = p->at[1];
	}
	g->a = a;
	g->bt = b;
	if (!solves(cx, g, a, b, &k) ||
	    !dim_is_const(cx, a->type.dims[a->type.rank - 1], &g->columns) ||
	    g->columns > MAX_SIDE || (p->n == 2 && g->columns != 1))
		return false;
	g->a_k = sign * p->k * k;
	return true;
}

/* Takes the terms of D. */
static bool take_sum(struct ctx *cx, struct gradient *g, struct value *v)
{
	struct value *todo[MAX_PARTS] = {v};
	double sign[MAX_PARTS] = {1};
	uint32_t left = 1;
	struct parts p;

	while (left) {
		struct value *x = todo[--left];
		double s = sign[left];
		bool sub = is_call(x->def, OP_Sub);
		if (!sub && !is_call(x->def, OP_Add)) {
			if (!factors_of(x, g->n, &p) || !take_term(cx, g, &p, s))
				return false;
			continue;
		}
		if (left + x->def->nin > MAX_PARTS)
			return false;
		for (uint32_t i = 0; i < x->def->nin; i++) {
			sign[left] = sub && i ? -s : s;
			todo[left++] = x->def->in[i];
		}
	}
	return g->log_k != 0 || g->a;
}

/* v = x * c - AllocDiag(d), c being a constant: its elements */
static const struct tensor *masked(struct ctx *cx, struct value *v, int64_t n, struct value **x,
				   struct value **d)
{
	const struct node *mul;
	const struct tensor *t = NULL;

	if (!is_call(v->def, OP_Sub) || !is_call(mul = v->def->in[0]->def, OP_Mul) ||
	    mul->nin != 2 || !(*d = with_diagonal(cx, v->def->in[1])))
		return NULL;
	for (uint32_t i = 0; i < 2 && !t; i++) {
		t = matrix(mul->in[i], n);
		*x = mul->in[1 - i];
	}
	return t && same_dims(cx, (*x)->type, v->type) &&
			       same_dims(cx, v->def->in[1]->type, v->type) &&
			       (*x)->type.dtype == v->type.dtype
		       ? t
		       : NULL;
}

/* Is v = (P masked to its lower triangle, with half of its diagonal)'? */
static bool is_halved(struct ctx *cx, struct gradient *g, struct value *v)
{
	struct value *x, *d;
	const struct tensor *t = masked(cx, v, g->n, &x, &d);
	struct parts p;
	double k;

	if (!t || !is_triangle(t, g->n, false, &k, 0) || k != 1)
		return false;
	if (!factors_of(d, 0, &p) || p.k != 0.5 || p.n != 1 || !(g->p = diagonal_of(cx, p.at[0])))
		return false;
	return is_matrix_product(g->p) && are_swapped(cx, x, g->p) && g->p->def->in[0] == g->u;
}

/* Is n the gradient R? */
static const struct tensor *find_gradient(struct ctx *cx, struct gradient *g, const struct node *n)
{
	struct value *v = n->out[0], *x, *d;
	const struct tensor *mask;
	struct node l;

	if (!is_call(n, OP_Sub) || v->type.rank < 2 || !is_float((enum dtype)v->type.dtype) ||
	    !dim_is_const(cx, v->type.dims[v->type.rank - 1], &g->n) ||
	    !(mask = masked(cx, v, g->n, &x, &d)) || !(g->t = diagonal_of(cx, d)) ||
	    !is_call(x->def, OP_Add) || x->def->nin != 2 ||
	    !are_swapped(cx, x->def->in[0], x->def->in[1]) ||
	    (x->def->in[0] != g->t && x->def->in[1] != g->t) || !is_solve(cx, g->t))
		return NULL;
	g->u = g->t->def->in[0];
	struct view inner = view_of(cx, g->t->def->in[1]), u = view_of(cx, g->u);
	if (!is_call_or_batch(cx, u.root, OP_Cholesky, &l) || !prop_bool(cx, &l, "lower") ||
	    g->u->type.rank < 2 || in_order(&u) || !is_solve(cx, inner.root) ||
	    inner.root->def->in[0] != g->u || !are_swapped(cx, inner.root, g->t->def->in[1]) ||
	    !is_halved(cx, g, inner.root->def->in[1]))
		return NULL;
	const struct value *same[] = {g->t, g->u, g->p, g->p->def->in[1], inner.root};
	for (uint32_t i = 0; i < countof(same); i++)
		if (!same_dims(cx, same[i]->type, v->type) || same[i]->type.dtype != v->type.dtype)
			return NULL;
	return take_sum(cx, g, g->p->def->in[1]) ? mask : NULL;
}

/* ---- the nodes that take its place ---- */

static struct value *add_call_with(struct pass *p, const struct op *op, struct cv *props,
				   struct value *a, struct value *b, struct span span)
{
	struct value *in[2] = {a, b};

	return graph_node(p->cx, p->block, op, props, in, b ? 2 : 1, span)->out[0];
}

static struct value *swapped(struct pass *p, struct value *v)
{
	return add_call_with(p, &op_table[OP_MatrixTranspose], NULL, v, NULL, v->span);
}

/* A constant of v's dtype */
static struct value *constant(struct pass *p, const struct value *v, const double *x, int rank,
			      int64_t rows, int64_t columns)
{
	enum dtype dtype = (enum dtype)v->type.dtype;
	uint64_t count = (uint64_t)rows * (uint64_t)columns;
	struct tensor *t =
		tensor_new(p->cx, dtype, rank, rank == 2 ? (int64_t[]){rows, columns} : &columns);
	void *data = arena_alloc(p->cx->arena, count * dtypes[dtype].size + 16);

	tensor_convert(dtype, data, DT_FLOAT64, x, count);
	t->data = data;
	return graph_constant(p->cx, t, v->span);
}

/* k (c - less I) */
static struct value *less_diagonal(struct pass *p, const struct value *v, const struct tensor *c,
				   double k, double less, int64_t n)
{
	double *x = new_array(p->cx->scratch, double, n *n + 1);

	for (int64_t i = 0; i < n * n; i++)
		x[i] = k * (tensor_float(c, (uint64_t)i) - (i % (n + 1) == 0 ? less : 0));
	return constant(p, v, x, 2, n, n);
}

static struct value *identity_matrix(struct pass *p, const struct value *v, int64_t n)
{
	double *x = new_array(p->cx->scratch, double, n *n + 1);

	for (int64_t i = 0; i < n; i++)
		x[i * (n + 1)] = 1;
	return constant(p, v, x, 2, n, n);
}

/* W, or [W, A] */
static struct value *solve(struct pass *p, const struct gradient *g, struct span span)
{
	struct value *right = identity_matrix(p, g->u, g->n);
	struct cv *axis = new (p->cx->arena, struct cv);

	if (g->a) {
		*axis = cv_int(g->u->type.rank - 1, span);
		right = add_call_with(p, &op_table[OP_Second], NULL, g->u, right, span);
		right = add_call_with(p, &op_table[OP_Join], axis, right, swapped(p, g->bt), span);
	}
	return add_call_with(p, g->t->def->op, g->t->def->props, g->u, right, span);
}

static void become_product(struct pass *p, struct node *n, struct value *a, struct value *b)
{
	n->op = &op_table[OP_Mul];
	n->nin = 2;
	n->in = new_array(p->cx->arena, struct value *, 2);
	n->in[0] = a;
	n->in[1] = b;
}

/* n, which is R, becomes a product with the mask. */
static void become_masked_product(struct pass *p, const struct gradient *g, struct node *n,
				  const struct tensor *mask)
{
	const struct node *product = g->p->def;
	struct value *all = g->log_k != 0 ? solve(p, g, n->span) : g->a, *left = all;
	double k = g->log_k != 0 ? g->log_k : g->a_k;

	if (g->a && g->a_k != k) {
		double *scale = new_array(p->cx->scratch, double, g->n + g->columns + 1);
		for (int64_t i = 0; i < g->n + g->columns; i++)
			scale[i] = i < g->n ? 1 : g->a_k / k;
		left = add_call_with(p, &op_table[OP_Mul], NULL, all,
				     constant(p, all, scale, 1, 1, g->n + g->columns), n->span);
	}
	struct value *right = less_diagonal(p, all, mask, k, 0.5, g->n);
	left = add_call_with(p, product->op, product->props, left, swapped(p, all), n->span);
	become_product(p, n, left, right);
}

/* n = x * mask - AllocDiag(k diag(P)) becomes one product where x is P, P' or P + P'. */
static void mask_diagonal(struct pass *p, struct node *n)
{
	struct ctx *cx = p->cx;
	struct value *v = n->out[0], *x, *d, *m;
	const struct tensor *mask;
	struct parts f;
	double k;
	int64_t size;

	if (!is_call(n, OP_Sub) || v->type.rank < 2 || !is_float((enum dtype)v->type.dtype) ||
	    !dim_is_const(cx, v->type.dims[v->type.rank - 1], &size) ||
	    !(mask = masked(cx, v, size, &x, &d)) || !factors_of(d, 0, &f) || f.n != 1 ||
	    !(m = diagonal_of(cx, f.at[0])) || !same_dims(cx, m->type, v->type) ||
	    m->type.dtype != v->type.dtype)
		return;
	k = f.k;
	if (is_call(x->def, OP_Add) && x->def->nin == 2 &&
	    (x->def->in[0] == m || x->def->in[1] == m) &&
	    are_swapped(cx, x->def->in[0], x->def->in[1]))
		k /= 2;
	else if (x != m && !are_swapped(cx, x, m))
		return;
	become_product(p, n, x, less_diagonal(p, x, mask, 1, k, size));
}

/* Nested blocks are made anew inside out: this recurses as deep as they nest. */
static void rewrite_block(struct pass *p, struct block *b, bool gradients)
{
	struct block *outer = p->block;
	const struct tensor *mask;

	p->block = b;
	for (struct node *rest = take_nodes(b), *n; (n = next_taken(&rest)) != NULL;) {
		struct gradient g = {0};
		for_bodies (inner, n)
			rewrite_block(p, inner, gradients);
		if (!gradients)
			mask_diagonal(p, n);
		else if ((mask = find_gradient(p->cx, &g, n)))
			become_masked_product(p, &g, n, mask);
		graph_append(b, n);
	}
	p->block = outer;
}

void invert_covariances(struct ctx *cx, struct graph *g)
{
	struct pass p = {.cx = cx};

	if (cx->opt.reassociate && uses_op(g, OP_Sub) && uses_op(g, OP_ExtractDiag)) {
		rewrite_block(&p, g->block, true);
		rewrite_block(&p, g->block, false);
	}
}
