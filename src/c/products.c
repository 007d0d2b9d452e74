/*
 * products.c: sums of products: MatMul, Gemm, Einsum and Conv. In: elements of the inputs. Out: a
 * call of lib/c/product.h for each product of two matrices, or loops over the elements of the
 * result, and inside of them loops over what is summed up. A product of short rows is loops: its
 * sums go from the first term to the last. The number of rows does not decide which of both it is,
 * so that a row of a batch has the bits that it has alone.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "c/ops.h"

#define SHORT_ROW  16 /* terms of a sum; fewer are no call */
#define LETTERS    128
#define MAX_INPUTS 64

/* Each axis of the inputs and of the result has a letter. Those that the result lacks are summed
 * up. */
struct sum_of_products {
	const struct node *n;
	uint32_t nfactors;
	const char *length[LETTERS]; /* by letter; NULL: there is no such axis */
	unsigned char in[MAX_INPUTS][MAX_RANK], out[MAX_RANK]; /* the letters of axes */
	unsigned char rows; /* the letter whose range is that of a block of rows; 0: none */
	bool adds;          /* the sum is one over these rows */
};

/* `sum`, a variable of the result's dtype, plus the product of the factors */
static void add_product(struct printer *p, enum dtype t, const char *sum, const char **factors,
			uint32_t count)
{
	const char *all = in_parens(p, factors[0]), *T = number_type(t), *U = unsigned_type(t);

	if (is_float(t)) {
		for (uint32_t i = 1; i < count; i++)
			all = textf(p, "%s * %s", all, in_parens(p, factors[i]));
		line(p, "%s += %s;", sum, all);
		return;
	}
	all = textf(p, "(%s)%s", U, all);
	for (uint32_t i = 1; i < count; i++)
		all = textf(p, "%s * (%s)%s", all, U, in_parens(p, factors[i]));
	line(p, "%s = (%s)((%s)%s + %s);", sum, T, U, sum, all);
}

static const char *factor_text(struct printer *p, const struct node *n, const char *name,
			       enum dtype t, const char *s)
{
	const struct attr *a = find_attr(n, name);
	char text[40];

	if (!a || a->u.f == 1)
		return s;
	snprintf(text, sizeof(text), "%.9g", (double)a->u.f);
	return textf(p, "(%s)%s * %s", number_type(t), text, in_parens(p, s));
}

/* The element ix of the result, of which `sum` is the sum of products: Gemm adds another matrix */
static const char *with_addend(struct printer *p, const struct node *n, const char *sum,
			       const char **ix)
{
	const struct value *c = n->onnx->id == ONNX_Gemm && n->nin > 2 ? n->in[2] : NULL;
	enum dtype t = n->out[0]->type.dtype;
	const char *own[2], *s = sum;

	if (n->onnx->id == ONNX_Gemm)
		s = factor_text(p, n, "alpha", t, sum);
	for (uint32_t i = 0; c && i < c->type.rank; i++)
		own[i] = strcmp(length(p, c, i), "1") ? ix[2u - c->type.rank + i] : "0";
	if (c)
		s = textf(p, "%s + %s", s,
			  in_parens(p, factor_text(p, n, "beta", t, at(p, c, own))));
	return s;
}

/* --- as a product of matrices --- */

struct matrix { /* how the elements of a factor, or of the result, lie: texts */
	const char *first, *row, *column;
};
struct matrices {
	const struct value *a, *b;
	unsigned char row, column, term; /* letters; 0: there is no such axis */
};

static bool has_letter(struct printer *p, const struct value *v, const unsigned char *letters,
		       unsigned char c)
{
	for (uint32_t k = 0; k < v->type.rank; k++)
		if (letters[k] == c && strcmp(length(p, v, k), "1"))
			return true;
	return false;
}

static bool repeats_letter(const struct value *v, const unsigned char *letters)
{
	for (uint32_t k = 0; k < v->type.rank; k++)
		if (memchr(letters, letters[k], k))
			return true;
	return false;
}

/* Is it the product of two matrices of floats, or of many such pairs, with sums that are not short?
 */
static bool as_matrices(struct printer *p, const struct sum_of_products *s, struct matrices *m)
{
	const struct node *n = s->n;
	enum dtype t = n->out[0]->type.dtype;
	uint32_t terms = 0;
	int64_t c;

	if (n->nin < 2)
		return false;
	*m = (struct matrices){.a = n->in[0], .b = n->in[1]};
	if ((t != DT_FLOAT32 && t != DT_FLOAT64) || repeats_letter(m->a, s->in[0]) ||
	    repeats_letter(m->b, s->in[1]) || (n->nin > 2 && n->onnx->id != ONNX_Gemm))
		return false;
	for (unsigned char k = 1; k < LETTERS; k++) {
		bool of_a = has_letter(p, m->a, s->in[0], k);
		bool of_b = has_letter(p, m->b, s->in[1], k);
		if (memchr(s->out, k, n->out[0]->type.rank)) {
			m->row = of_a && !of_b ? k : m->row;
			m->column = of_b && !of_a ? k : m->column;
			continue;
		}
		if (!of_a && !of_b)
			continue;
		if (!of_a || !of_b)
			return false;
		m->term = k;
		terms++;
	}
	return terms == 1 && !(is_number_text(s->length[m->term], &c) && c < SHORT_ROW);
}

/* The place of the element of v at `index`, by letter */
static const char *place_by_letters(struct printer *p, const struct value *v,
				    const unsigned char *letters, const char *const *index,
				    const char **array)
{
	const char *own[MAX_RANK];

	for (uint32_t k = 0; k < v->type.rank; k++)
		own[k] = strcmp(length(p, v, k), "1") ? index[letters[k]] : "0";
	return place_at(p, v, own, array);
}

/* How far the elements of v are apart along the axis of a letter: places are linear in each index
 */
static const char *step_of(struct printer *p, const struct value *v, const unsigned char *letters,
			   unsigned char letter)
{
	const char *index[LETTERS], *array;

	set_zeros(index, LETTERS);
	const char *here = place_by_letters(p, v, letters, index, &array);
	index[letter] = letter ? "1" : "0";
	const char *next = place_by_letters(p, v, letters, index, &array);
	if (!strcmp(here, "0") || !strcmp(here, next))
		return strcmp(here, next) ? next : "0";
	return textf(p, "%s - %s", in_parens(p, next), in_parens(p, here));
}

/* How the matrix lies that the indices of open loops choose from v; false: its elements are
 * computed */
static bool find_matrix(struct printer *p, const struct value *v, const unsigned char *letters,
			unsigned char row, unsigned char column, const char *const *index,
			struct matrix *to)
{
	const char *of[LETTERS], *array;

	memcpy(of, index, sizeof(of));
	of[row] = of[row] ? of[row] : "0";
	of[column] = of[column] ? of[column] : "0";
	const char *first = place_by_letters(p, v, letters, of, &array);
	if (!first)
		return false;
	to->first = strcmp(first, "0") ? textf(p, "%s + %s", array, in_parens(p, first)) : array;
	to->row = step_of(p, v, letters, row);
	to->column = step_of(p, v, letters, column);
	return true;
}

/* Ways of lib/c/product.h */
#define BY_DOTS       1u
#define BY_THIN_TILES 2u
#define BY_TILES      4u

#define TILE_ROWS    4 /* the numbers of lib/c/product.h */
#define TILE_COLUMNS 16
#define TILE_THIN    4
#define THIN_TERMS   32

struct range {
	int64_t least, most;
};

static struct range range_of(const char *length)
{
	int64_t k;

	return is_number_text(length, &k) ? (struct range){k, k} : (struct range){0, INT64_MAX};
}

/* The ways that ptgc_by_size() may take for so many rows, columns and terms, if there are no more
 * rows than columns; 0: there are more. b: the matrix of the columns, whose rows are its terms */
static unsigned ways_of(struct range rows, struct range columns, struct range terms,
			const char *b_row, const char *b_column)
{
	int64_t k;
	bool column_is_one = !strcmp(b_column, "1"), row_is_one = !strcmp(b_row, "1");
	/* do its columns lie side by side, and its terms do not? In no run; in each one */
	bool apart = row_is_one || (!column_is_one && is_number_text(b_column, &k));
	bool side_by_side = column_is_one && !row_is_one && is_number_text(b_row, &k);
	unsigned ways = 0;

	rows.most = rows.most < columns.most ? rows.most : columns.most;
	columns.least = rows.least > columns.least ? rows.least : columns.least;
	if (rows.least > rows.most)
		return 0;
	if (rows.most >= TILE_ROWS || (!apart && columns.most >= TILE_COLUMNS))
		ways |= BY_TILES;
	if (rows.least >= TILE_ROWS)
		return ways;
	if (!apart && columns.least < TILE_COLUMNS && columns.most >= TILE_THIN &&
	    terms.most >= THIN_TERMS)
		ways |= BY_THIN_TILES;
	if (!side_by_side || (columns.least < TILE_COLUMNS &&
			      (columns.least < TILE_THIN || terms.least < THIN_TERMS)))
		ways |= BY_DOTS;
	return ways;
}

/* The function of lib/c/product.h for a product a b: the way that is fastest, or "size", which has
 * the code of all ways and chooses in each run */
static const char *way_of_product(const struct matrix *a, const struct matrix *b, const char *rows,
				  const char *terms, const char *columns)
{
	struct range m = range_of(rows), k = range_of(terms), n = range_of(columns);
	unsigned ways = ways_of(m, n, k, b->row, b->column) |
			ways_of(n, m, k, a->column, a->row); /* its transpose */

	return ways == BY_DOTS         ? "dots"
	       : ways == BY_THIN_TILES ? "thin_tiles"
	       : ways == BY_TILES      ? "tiles"
				       : "size";
}

/* The product of the matrices at the indices of open loops: a call */
static bool call_product(struct printer *p, const struct sum_of_products *s,
			 const struct matrices *m, const char **index)
{
	const struct value *y = s->n->out[0];
	struct matrix a, b, to;

	if (!find_matrix(p, m->a, s->in[0], m->row, m->term, index, &a) ||
	    !find_matrix(p, m->b, s->in[1], m->term, m->column, index, &b) ||
	    !find_matrix(p, y, s->out, m->row, m->column, index, &to))
		return false;
	const char *f = y->type.dtype == DT_FLOAT64 ? "" : "f";
	const char *rows = m->row ? s->length[m->row] : "1", *terms = s->length[m->term];
	const char *columns = m->column ? s->length[m->column] : "1";
	line(p, "ptgc_%s%s(ptgc_by_%s%s, %s, %s, %s, %s, %s, %s,",
	     s->adds ? "add_product" : "product", f, way_of_product(&a, &b, rows, terms, columns),
	     f, a.first, a.row, a.column, b.first, b.row, b.column);
	line(p, "\t%s, %s, %s, %s, %s, %s%s);", to.first, to.row, to.column, rows, terms, columns,
	     s->adds ? textf(p, ", %s == 0", p->rows->from) : "");
	return true;
}

/* All products, and then what Gemm adds to them */
static bool put_matrices(struct printer *p, const struct sum_of_products *s)
{
	const struct value *y = s->n->out[0];
	const char *index[LETTERS] = {NULL}, *ix[MAX_RANK], *one[1];
	uint32_t loops = 0, mark = p->once.len;
	struct matrices m;

	if (!as_matrices(p, s, &m))
		return false;
	if (s->rows)
		index[s->rows] = p->rows->from;
	for (uint32_t k = 0; k < y->type.rank; k++) {
		one[0] = held(p, y)->dims[k];
		if (s->out[k] != m.row && s->out[k] != m.column)
			loops += open_loops(p, one, 1, &index[s->out[k]]);
	}
	bool called = call_product(p, s, &m, index);
	close_loops(p, loops);
	if (!called || s->n->onnx->id != ONNX_Gemm)
		return called;
	loops = open_loops(p, held(p, y)->dims, y->type.rank, ix);
	const char *sum =
		textf(p, "%s[%s]", held(p, y)->name, linear(p, held(p, y)->dims, y->type.rank, ix));
	const char *all = with_addend(p, s->n, sum, ix);
	if (all != sum)
		put_number(p, y, ix, all);
	close_loops(p, loops);
	p->once.len = mark;
	return true;
}

/* --- as loops --- */

static void put_loops(struct printer *p, const struct sum_of_products *s)
{
	const struct node *n = s->n;
	const struct value *y = n->out[0];
	const char *index[LETTERS] = {NULL}, *ix[MAX_RANK], *own[MAX_RANK], *factors[MAX_INPUTS];
	uint32_t mark = p->once.len, inner = 0;

	uint32_t loops =
		s->rows ? open_rows(p, ix) : open_loops(p, held(p, y)->dims, y->type.rank, ix);
	for (uint32_t k = 0; k < y->type.rank; k++)
		index[s->out[k]] = ix[k];
	const char *sum = fresh(p, "sum");
	line(p, "%s %s = 0;", number_type(y->type.dtype), sum);
	for (int c = 0; c < LETTERS; c++)
		if (s->length[c] && !index[c])
			inner += open_loops(p, &s->length[c], 1, &index[c]);
	for (uint32_t i = 0; i < s->nfactors; i++) {
		for (uint32_t k = 0; k < n->in[i]->type.rank; k++)
			own[k] = strcmp(length(p, n->in[i], k), "1") ? index[s->in[i][k]] : "0";
		factors[i] = at(p, n->in[i], own);
	}
	add_product(p, y->type.dtype, sum, factors, s->nfactors);
	close_loops(p, inner);
	put_number(p, y, ix, with_addend(p, n, sum, ix));
	close_loops(p, loops);
	p->once.len = mark;
}

static void put_products(struct printer *p, struct sum_of_products *s)
{
	const struct node *n = s->n;

	for (uint32_t i = 0; i < s->nfactors; i++)
		for (uint32_t k = 0; k < n->in[i]->type.rank; k++) {
			const char **len = &s->length[s->in[i][k]];
			if (!*len || !strcmp(*len, "1"))
				*len = length(p, n->in[i], k);
		}
	make_array(p, n->out[0]);
	if (s->rows)
		s->length[s->rows] = textf(p, "%s - %s", p->rows->to, p->rows->from);
	if (put_matrices(p, s))
		return;
	if (s->adds)
		bug("c: a sum over rows is no product of arrays");
	put_loops(p, s);
}

/* --- MatMul --- */

#define TERM 127 /* the letter of what is summed up; those of the result are 1, 2, ... */

struct factors {
	const struct value *a, *b;
	bool row, column; /* a is one row, b one column: the result has no such axis */
	uint32_t batch;   /* axes before those of the matrices */
};

static struct factors factors_of(const struct node *n)
{
	const struct value *a = n->in[0], *b = n->in[1];
	uint32_t of_a = a->type.rank > 2 ? a->type.rank - 2u : 0;
	uint32_t of_b = b->type.rank > 2 ? b->type.rank - 2u : 0;

	return (struct factors){a, b, a->type.rank == 1, b->type.rank == 1,
				of_a > of_b ? of_a : of_b};
}

void matmul_shape(struct printer *p, const struct node *n)
{
	struct factors f = factors_of(n);
	const char *known[MAX_RANK];
	uint32_t k = 0;

	for (; k < f.batch; k++) {
		known[k] = NULL;
		for (int i = 0; i < 2; i++) {
			const struct value *v = n->in[i];
			uint32_t own = v->type.rank > 2 ? v->type.rank - 2u : 0;
			if (k + own < f.batch)
				continue;
			dim d = v->type.dims[k + own - f.batch];
			if (!known[k] || !dim_is(p->cx, d, 1))
				known[k] = length(p, v, k + own - f.batch);
		}
	}
	if (!f.row)
		known[k++] = length(p, f.a, f.a->type.rank - 2u);
	if (!f.column)
		known[k++] = length(p, f.b, f.b->type.rank - 1u);
	set_lengths(p, n->out[0], known);
	if (!dim_eq(p->cx, f.a->type.dims[summed_axis(n, 0)], f.b->type.dims[summed_axis(n, 1)]))
		must_equal(p, length(p, f.a, f.a->type.rank - 1u),
			   length(p, f.b, f.column ? 0 : f.b->type.rank - 2u),
			   "lengths do not fit");
	for (k = 0; k < f.batch; k++)
		for (int i = 0; i < 2; i++) {
			const struct value *v = n->in[i];
			uint32_t own = v->type.rank > 2 ? v->type.rank - 2u : 0;
			if (k + own < f.batch)
				continue;
			const char *s = length(p, v, k + own - f.batch);
			if (strcmp(s, "1"))
				must_equal(p, s, held(p, n->out[0])->dims[k], "lengths do not fit");
		}
}

void matmul_put(struct printer *p, const struct node *n)
{
	struct factors f = factors_of(n);
	struct sum_of_products s = {.n = n, .nfactors = 2};
	uint32_t rank = n->out[0]->type.rank;

	for (uint32_t k = 0; k < rank; k++)
		s.out[k] = (unsigned char)(k + 1u);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t all = n->in[i]->type.rank, own = all > 2 ? all - 2u : 0;
		for (uint32_t k = 0; k < own; k++)
			s.in[i][k] = s.out[f.batch - own + k];
		if (i ? !f.column : !f.row)
			s.in[i][all - (i ? 1u : 2u)] = s.out[i ? rank - 1u : f.batch];
		s.in[i][i && !f.column ? all - 2u : all - 1u] = TERM;
	}
	s.adds = adds_up_rows(p, n);
	if (p->rows)
		s.rows = s.adds ? TERM : s.out[0];
	put_products(p, &s);
}

/* --- Gemm --- */

void gemm_shape(struct printer *p, const struct node *n)
{
	bool ta = int_of_attr(n, "transA", 0), tb = int_of_attr(n, "transB", 0);
	const struct value *a = n->in[0], *b = n->in[1], *c = n->nin > 2 ? n->in[2] : NULL;
	const char *known[2] = {length(p, a, ta), length(p, b, !tb)};

	set_lengths(p, n->out[0], known);
	if (!dim_eq(p->cx, a->type.dims[!ta], b->type.dims[tb]))
		must_equal(p, length(p, a, !ta), length(p, b, tb), "lengths do not fit");
	for (uint32_t k = 0; c && k < c->type.rank; k++) {
		const char *s = length(p, c, k);
		if (strcmp(s, "1") &&
		    !dim_eq(p->cx, c->type.dims[k], n->out[0]->type.dims[2u - c->type.rank + k]))
			must_equal(p, s, held(p, n->out[0])->dims[2u - c->type.rank + k],
				   "lengths do not fit");
	}
}

void gemm_put(struct printer *p, const struct node *n)
{
	bool ta = int_of_attr(n, "transA", 0), tb = int_of_attr(n, "transB", 0);
	struct sum_of_products s = {.n = n, .nfactors = 2, .out = {1, 2}};

	s.in[0][ta] = 1;
	s.in[0][!ta] = TERM;
	s.in[1][!tb] = 2;
	s.in[1][tb] = TERM;
	put_products(p, &s);
}

/* --- Einsum --- */

/* The letters of v's axes, from its part of an equation, which ends at `end`. The axes of `...` are
 * numbers below all letters, counted from the last: so those of all factors fit. */
static void read_letters(struct printer *p, const struct node *n, const struct value *v,
			 const char *s, const char *end, unsigned char *to)
{
	uint32_t rank = v->type.rank, named = 0, k = 0;

	for (const char *c = s; c < end; c++)
		named += isalpha((unsigned char)*c) != 0;
	for (; s < end; s++) {
		if (isalpha((unsigned char)*s) && k < rank) {
			to[k++] = (unsigned char)*s;
		} else if (end - s >= 3 && !strncmp(s, "...", 3) && named <= rank) {
			for (uint32_t left = rank - named; left > 0; left--)
				to[k++] = (unsigned char)left;
			s += 2;
		} else if (*s != ' ') {
			break;
		}
	}
	if (s < end || k != rank)
		cannot(p, n, "has an equation that does not fit its inputs");
}

static struct sum_of_products products_of_einsum(struct printer *p, const struct node *n)
{
	const struct attr *a = find_attr(n, "equation");
	struct sum_of_products s = {.n = n, .nfactors = n->nin};
	const char *text = arena_strdup(p->cx->arena, a->u.s.s, a->u.s.len);
	const char *arrow = strstr(text, "->");

	if (!arrow || n->nin > MAX_INPUTS)
		cannot(p, n, "needs -> with the letters of the result");
	for (uint32_t i = 0; i < n->nin; i++) {
		const char *comma = memchr(text, ',', (size_t)(arrow - text));
		const char *end = comma ? comma : arrow;
		if ((end == arrow) != (i + 1 == n->nin))
			cannot(p, n, "has an equation of another number of inputs");
		read_letters(p, n, n->in[i], text, end, s.in[i]);
		text = end + 1;
	}
	arrow += 2;
	read_letters(p, n, n->out[0], arrow, arrow + strlen(arrow), s.out);
	return s;
}

void einsum_shape(struct printer *p, const struct node *n)
{
	struct sum_of_products s = products_of_einsum(p, n);
	const char *known[MAX_RANK];

	for (uint32_t i = 0; i < n->nin; i++)
		for (uint32_t k = 0; k < n->in[i]->type.rank; k++) {
			const char *len = length(p, n->in[i], k), **all = &s.length[s.in[i][k]];
			if (!*all || !strcmp(*all, "1"))
				*all = len;
			else if (strcmp(len, "1"))
				must_equal(p, len, *all, "lengths do not fit");
		}
	for (uint32_t k = 0; k < n->out[0]->type.rank; k++)
		known[k] = s.length[s.out[k]];
	set_lengths(p, n->out[0], known);
}

void einsum_put(struct printer *p, const struct node *n)
{
	struct sum_of_products s = products_of_einsum(p, n);

	put_products(p, &s);
}

/* --- Conv --- */

/* Number k of a list of integers */
static int64_t listed(const struct node *n, const char *name, uint32_t k, int64_t otherwise)
{
	uint32_t count;
	const int64_t *list = ints_of_attr(n, name, &count);

	return list && k < count ? list[k] : otherwise;
}

static void check_channels(struct printer *p, const struct node *n, int64_t group)
{
	const char *of_x = length(p, n->in[0], 1), *of_w = length(p, n->in[1], 1);

	must_equal(p, times(p, of_w, number_text(p, group)), of_x,
		   "the numbers of channels do not fit");
}

void conv_shape(struct printer *p, const struct node *n)
{
	const struct value *x = n->in[0], *w = n->in[1];
	const struct attr *pad = find_attr(n, "auto_pad");
	const char *known[MAX_RANK];
	uint32_t axes = x->type.rank - 2u;

	known[0] = length(p, x, 0);
	known[1] = length(p, w, 0);
	if (pad && strncmp(pad->u.s.s, "NOTSET", 6) && strncmp(pad->u.s.s, "VALID", 5))
		cannot(p, n, "needs the attribute pads in place of auto_pad");
	int64_t group = int_of_attr(n, "group", 1), count;
	if (!dim_eq(p->cx, dim_mul(p->cx, w->type.dims[1], dim_const(p->cx, group)),
		    x->type.dims[1]))
		check_channels(p, n, group);
	for (uint32_t k = 0; k < axes; k++) {
		int64_t step = listed(n, "strides", k, 1), far = listed(n, "dilations", k, 1);
		int64_t more = listed(n, "pads", k, 0) + listed(n, "pads", axes + k, 0);
		const char *taken =
			times(p, number_text(p, far), plus(p, length(p, w, k + 2), "-1"));
		const char *free =
			textf(p, "%s - %s", plus(p, length(p, x, k + 2), number_text(p, more)),
			      in_parens(p, plus(p, taken, "1")));
		known[k + 2] =
			textf(p, "ptgc_floor_div_i64(%s, %s) + 1", free, number_text(p, step));
		fail_if(p, "the array is shorter than what it is folded with", "%s < 0",
			in_parens(p, known[k + 2]));
	}
	set_lengths(p, n->out[0], known);
	if (group != 1 && !(is_number_text(known[1], &count) && count % group == 0))
		fail_if(p, "the number of results is none of groups", "%s %% %lld != 0",
			in_parens(p, known[1]), (long long)group);
	if (n->nin > 2 && n->in[2])
		must_equal(p, length(p, n->in[2], 0), known[1],
			   "the numbers of results do not fit");
}

void conv_put(struct printer *p, const struct node *n)
{
	const struct value *x = n->in[0], *w = n->in[1], *y = n->out[0];
	int64_t group = int_of_attr(n, "group", 1);
	const char *ix[MAX_RANK], *of[MAX_RANK], *own[MAX_RANK], *inside = NULL;
	const char *one[1] = {length(p, w, 1)}, *all = length(p, w, 0), *sum = fresh(p, "sum");
	uint32_t mark = p->once.len, axes = x->type.rank - 2u;

	make_array(p, y);
	uint32_t loops = open_loops(p, held(p, y)->dims, y->type.rank, ix);
	line(p, "%s %s = %s;", number_type(y->type.dtype), sum,
	     n->nin > 2 && n->in[2] ? at(p, n->in[2], &ix[1]) : "0");
	of[0] = ix[1];
	uint32_t inner = open_loops(p, one, 1, &of[1]);
	const char *first = group == 1 ? "0"
				       : textf(p, "%s / (%s / %lld) * %s", ix[1], in_parens(p, all),
					       (long long)group, in_parens(p, one[0]));
	own[0] = ix[0];
	own[1] = plus(p, first, of[1]);
	for (uint32_t k = 0; k < axes; k++) {
		const char *len = length(p, x, k + 2), *place;
		one[0] = length(p, w, k + 2);
		inner += open_loops(p, one, 1, &of[k + 2]);
		place = plus(p, times(p, number_text(p, listed(n, "strides", k, 1)), ix[k + 2]),
			     times(p, number_text(p, listed(n, "dilations", k, 1)), of[k + 2]));
		place = plus(p, place, number_text(p, -listed(n, "pads", k, 0)));
		own[k + 2] = place;
		if (!listed(n, "pads", k, 0) && !listed(n, "pads", axes + k, 0))
			continue;
		own[k + 2] = fresh(p, "from");
		line(p, "const int64_t %s = %s;", own[k + 2], place);
		place = textf(p, "%s >= 0 && %s < %s", own[k + 2], own[k + 2], in_parens(p, len));
		inside = inside ? textf(p, "%s && %s", inside, place) : place;
	}
	if (inside) {
		line(p, "if (%s) {", inside);
		p->indent++;
	}
	const char *element = at(p, x, own), *weight = at(p, w, of);
	const char *factors[2] = {element, weight};
	add_product(p, y->type.dtype, sum, factors, 2);
	if (inside) {
		p->indent--;
		line(p, "}");
	}
	close_loops(p, inner);
	put_number(p, y, ix, sum);
	close_loops(p, loops);
	p->once.len = mark;
}
