/*
 * rows.c: products of one matrix and vectors that one loop over blocks of its rows computes, so
 * that the matrix is read once: X @ b, what follows from it element by element, and the sum over
 * the rows, X.T @ f(X @ b). That is a regression and its gradient. In: a block and a product in it.
 * Out: which nodes are part of the loop, and which go before and behind it. A matrix that may be
 * large pays for that, and one that is not loses nothing.
 */
#include <string.h>

#include "c/internal.h"

#define FAR       1000  /* nodes from the first product to the last; this bounds the search */
#define LARGE     32768 /* elements: a smaller matrix is in the cache when it is read again */
#define MANY_ROWS 512   /* two blocks of lib/c/product.h: of fewer there is one turn */

/* Where the node of a value goes: before the loop, where nothing else is said */
enum part { BEFORE, BY_ROW, NEEDED /* by row, for a sum */, SUM_OF_ROWS, BEHIND };

/* The product of a matrix and a vector: `kept` is the axis of the matrix that the result has. */
struct vector_product {
	const struct value *matrix, *vector;
	uint32_t kept;
};

/* The matrix of which v is a view, and in *axis which of its axes that of v is */
static const struct value *behind_transposes(const struct value *v, uint32_t *axis)
{
	while (!v->data && v->def && v->def->onnx->id == ONNX_Transpose) {
		if (onnx_transposes_matrix(v->def))
			*axis = 1u - *axis;
		v = v->def->in[0];
	}
	return v;
}

static bool is_vector_product(const struct node *n, struct vector_product *to)
{
	enum dtype t = n->onnx->id == ONNX_MatMul ? n->out[0]->type.dtype : DT_BOOL;

	if (t != DT_FLOAT32 && t != DT_FLOAT64)
		return false;
	bool second = n->in[1]->type.rank == 2;
	if (n->in[second]->type.rank != 2 || n->in[!second]->type.rank != 1)
		return false;
	to->kept = second;
	to->matrix = behind_transposes(n->in[second], &to->kept);
	to->vector = n->in[!second];
	return true;
}

/* Is v an array in memory, and not known to have few rows or few elements? */
static bool may_be_large(struct printer *p, const struct value *v, uint32_t rows)
{
	int64_t m, n;

	if (v->data ? is_uniform(v->data) : held(p, v)->where != MEMORY)
		return false;
	if (!dim_is_const(p->cx, v->type.dims[rows], &m))
		return true;
	return m >= MANY_ROWS && (!dim_is_const(p->cx, v->type.dims[!rows], &n) || n >= LARGE / m);
}

/* Is b the matrix a, transposed? Both are constants. */
static bool are_transposed(const struct tensor *a, const struct tensor *b)
{
	size_t size = dtypes[a->dtype].size;

	if (a->dtype != b->dtype || b->splat || !a->data || !b->data ||
	    a->shape[0] != b->shape[1] || a->shape[1] != b->shape[0])
		return false;
	for (int64_t i = 0; i < a->shape[0]; i++)
		for (int64_t k = 0; k < a->shape[1]; k++)
			if (memcmp((const char *)a->data + (size_t)(i * a->shape[1] + k) * size,
				   (const char *)b->data + (size_t)(k * a->shape[0] + i) * size,
				   size))
				return false;
	return true;
}

/* Is it a product of the matrix of `first`? PyTensor makes two constants of one and its transpose:
 * the second is read as the first from then on. */
static bool is_of_matrix(struct printer *p, struct vector_product *v,
			 const struct vector_product *first)
{
	const struct value *m = first->matrix;

	if (v->matrix == m)
		return true;
	if (!v->matrix->data || !m->data || !are_transposed(m->data, v->matrix->data))
		return false;
	held(p, v->matrix)->transposed = m;
	v->matrix = m;
	v->kept = !v->kept;
	return true;
}

static bool is_checked(const struct block *b, const struct node *n)
{
	for (uint32_t i = 0; i < b->checks.len; i++)
		if (b->checks.at[i].cond && b->checks.at[i].cond->def == n)
			return true;
	return false;
}

static enum part part_of(const struct printer *p, const struct value *v)
{
	return (enum part)(v && !v->data ? held(p, v)->part : BEFORE);
}

/* A vector of one number for each row, which the numbers of other vectors at its place give */
static bool is_each_row(struct printer *p, const struct node *n, dim rows)
{
	const struct value *y = n->out[0];

	if (n->nout != 1 || !held(p, y)->each || y->type.rank != 1 || y->known ||
	    !(is_float(y->type.dtype) || y->type.dtype == DT_BOOL) ||
	    !dim_eq(p->cx, y->type.dims[0], rows))
		return false;
	for (uint32_t i = 0; i < n->nin; i++) {
		const struct value *x = n->in[i];
		if (!x || x->type.rank == 0)
			continue;
		bool one = dim_is(p->cx, x->type.dims[0], 1);
		if (x->type.rank != 1 || (!one && !dim_eq(p->cx, x->type.dims[0], rows)))
			return false;
	}
	return true;
}

/* Where n goes if there is a loop over the rows of the matrix of `first` */
static enum part place_node(struct printer *p, const struct node *n, const struct row_loop *r,
			    const struct vector_product *first)
{
	struct vector_product v;
	bool by_row = false;

	for (uint32_t i = 0; i < n->nin; i++) {
		enum part part = part_of(p, n->in[i]);
		if (part > BY_ROW)
			return BEHIND;
		by_row |= part == BY_ROW;
	}
	if (is_vector_product(n, &v) && is_of_matrix(p, &v, first) && !is_checked(r->block, n)) {
		dim terms = v.vector->type.dims[0], summed = v.matrix->type.dims[!v.kept];
		if (v.kept == first->kept && !by_row && dim_eq(p->cx, terms, summed))
			return BY_ROW;
		if (v.kept != first->kept && by_row && dim_eq(p->cx, terms, r->count))
			return SUM_OF_ROWS;
	}
	if (onnx_has_blocks(n->onnx)) /* which may read anything */
		return BEHIND;
	if (!by_row)
		return BEFORE;
	return is_each_row(p, n, r->count) && !is_checked(r->block, n) ? BY_ROW : BEHIND;
}

static void set_part(struct printer *p, const struct node *n, enum part part)
{
	for (uint32_t i = 0; i < n->nout; i++)
		if (n->out[i])
			held(p, n->out[i])->part = (uint8_t)part;
}

/* The nodes from the first product up to the last that the loop takes, in order */
static void place_nodes(struct printer *p, const struct node *from, struct row_loop *r,
			const struct vector_product *first)
{
	uint32_t kept = 0;

	for (const struct node *n = from; n && r->all.len < FAR; n = n->next) {
		enum part part = place_node(p, n, r, first);
		set_part(p, n, part);
		*vec_push(p->cx->arena, &r->all) = n;
		if (part == SUM_OF_ROWS)
			kept = r->all.len;
	}
	for (uint32_t i = kept; i < r->all.len; i++)
		set_part(p, r->all.at[i], BEFORE);
	r->all.len = kept;
}

/* What no sum over rows needs goes behind the loop. From the last node to the first, readers are
 * known before what they read. */
static void leave_unneeded(struct printer *p, struct row_loop *r)
{
	for (uint32_t i = r->all.len; i-- > 0;) {
		const struct node *n = r->all.at[i];
		enum part part = part_of(p, n->out[0]);
		if (part == BY_ROW)
			set_part(p, n, BEHIND);
		if (part != NEEDED && part != SUM_OF_ROWS)
			continue;
		for (uint32_t k = 0; k < n->nin; k++)
			if (part_of(p, n->in[k]) == BY_ROW)
				held(p, n->in[k])->part = NEEDED;
	}
}

bool find_rows(struct printer *p, const struct block *b, const struct node *from,
	       struct row_loop *r)
{
	struct vector_product first;

	if (!is_vector_product(from, &first) || !may_be_large(p, first.matrix, first.kept))
		return false;
	*r = (struct row_loop){.block = b, .count = first.matrix->type.dims[first.kept]};
	place_nodes(p, from, r, &first);
	if (!r->all.len)
		return false;
	leave_unneeded(p, r);
	return true;
}

bool is_before_rows(const struct printer *p, const struct node *n)
{
	return part_of(p, n->out[0]) == BEFORE;
}

bool is_by_rows(const struct printer *p, const struct node *n)
{
	enum part part = part_of(p, n->out[0]);

	return part == NEEDED || part == SUM_OF_ROWS;
}

bool adds_up_rows(const struct printer *p, const struct node *n)
{
	return part_of(p, n->out[0]) == SUM_OF_ROWS;
}

void forget_rows(struct printer *p, const struct row_loop *r)
{
	for (uint32_t i = 0; i < r->all.len; i++)
		set_part(p, r->all.at[i], BEFORE);
}
