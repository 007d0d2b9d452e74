/* The functions of product.h for floats. Made by tools/float_c.sh: do not edit. */
#ifndef PTGC_C_PRODUCTF_H
#define PTGC_C_PRODUCTF_H

#include "product.h"

/* tile = one lane of a product of PTGC_TILE_ROWS rows and PTGC_TILE_COLUMNS columns */
PTGC_INLINE void ptgc_lanef(const float *a, int64_t a_row, int64_t a_col, const float *b,
			    int64_t b_row, int64_t lane, int64_t terms, float *tile)
{
	float s0[PTGC_TILE_COLUMNS] = {0}, s1[PTGC_TILE_COLUMNS] = {0};
	float s2[PTGC_TILE_COLUMNS] = {0}, s3[PTGC_TILE_COLUMNS] = {0};

	for (int64_t k = lane; k < terms; k += 8) {
		const float *const x = a + k * a_col, *const r = b + k * b_row;
		const float x0 = x[0], x1 = x[a_row], x2 = x[2 * a_row], x3 = x[3 * a_row];
		for (int64_t j = 0; j < PTGC_TILE_COLUMNS; ++j) {
			s0[j] += x0 * r[j];
			s1[j] += x1 * r[j];
			s2[j] += x2 * r[j];
			s3[j] += x3 * r[j];
		}
	}
	for (int64_t j = 0; j < PTGC_TILE_COLUMNS; ++j) {
		tile[j] = s0[j];
		tile[PTGC_TILE_COLUMNS + j] = s1[j];
		tile[2 * PTGC_TILE_COLUMNS + j] = s2[j];
		tile[3 * PTGC_TILE_COLUMNS + j] = s3[j];
	}
}

/* Lanes `lane` and `lane` + 4 of the product of one row and PTGC_TILE_COLUMNS columns, added */
static inline void ptgc_two_lanesf(const float *a, int64_t a_col, const float *b, int64_t b_row,
				   int64_t lane, int64_t terms, float *row)
{
	float s0[PTGC_TILE_COLUMNS] = {0}, s1[PTGC_TILE_COLUMNS] = {0};
	int64_t k = lane;

	for (; k + 4 < terms; k += 8) {
		const float *const r = b + k * b_row, *const far = r + 4 * b_row;
		const float x0 = a[k * a_col], x1 = a[(k + 4) * a_col];
		for (int64_t j = 0; j < PTGC_TILE_COLUMNS; ++j) {
			s0[j] += x0 * r[j];
			s1[j] += x1 * far[j];
		}
	}
	if (k < terms)
		for (int64_t j = 0; j < PTGC_TILE_COLUMNS; ++j)
			s0[j] += a[k * a_col] * b[k * b_row + j];
	for (int64_t j = 0; j < PTGC_TILE_COLUMNS; ++j)
		row[j] = s0[j] + s1[j];
}

/* The product of PTGC_TILE_ROWS rows and PTGC_TILE_COLUMNS columns, in tile[0] */
static inline void ptgc_tilef(const float *a, int64_t a_row, int64_t a_col, const float *b,
			      int64_t b_row, int64_t terms, float tile[][PTGC_TILE])
{
	static const int64_t lanes[8] = {0, 4, 2, 6, 1, 5, 3, 7};

	for (int i = 0; i < 8; ++i)
		ptgc_lanef(a, a_row, a_col, b, b_row, lanes[i], terms, tile[i]);
	for (int64_t j = 0; j < PTGC_TILE; ++j)
		tile[0][j] = ((tile[0][j] + tile[1][j]) + (tile[2][j] + tile[3][j])) +
			     ((tile[4][j] + tile[5][j]) + (tile[6][j] + tile[7][j]));
}

/* The same of one row */
static inline void ptgc_tile_rowf(const float *a, int64_t a_col, const float *b, int64_t b_row,
				  int64_t terms, float *row)
{
	static const int64_t lanes[4] = {0, 2, 1, 3};
	float pairs[4][PTGC_TILE_COLUMNS];

	for (int i = 0; i < 4; ++i)
		ptgc_two_lanesf(a, a_col, b, b_row, lanes[i], terms, pairs[i]);
	for (int64_t j = 0; j < PTGC_TILE_COLUMNS; ++j)
		row[j] = (pairs[0][j] + pairs[1][j]) + (pairs[2][j] + pairs[3][j]);
}

/* Lanes `lane`, `lane` + 2, + 4 and + 6 of the product of one row and PTGC_TILE_THIN columns, added
   as all sums are: the first and the third, the second and the fourth */
static inline void ptgc_four_lanesf(const float *a, int64_t a_col, const float *b, int64_t b_row,
				    int64_t lane, int64_t terms, float *row)
{
	float s0[PTGC_TILE_THIN] = {0}, s2[PTGC_TILE_THIN] = {0};
	float s4[PTGC_TILE_THIN] = {0}, s6[PTGC_TILE_THIN] = {0};
	int64_t k = lane;

	for (; k + 6 < terms; k += 8) {
		const float *const x = a + k * a_col, *const r = b + k * b_row;
		for (int64_t j = 0; j < PTGC_TILE_THIN; ++j) {
			s0[j] += x[0] * r[j];
			s2[j] += x[2 * a_col] * r[2 * b_row + j];
			s4[j] += x[4 * a_col] * r[4 * b_row + j];
			s6[j] += x[6 * a_col] * r[6 * b_row + j];
		}
	}
	for (int64_t j = 0; j < PTGC_TILE_THIN; ++j) {
		s0[j] += k < terms ? a[k * a_col] * b[k * b_row + j] : 0;
		s2[j] += k + 2 < terms ? a[(k + 2) * a_col] * b[(k + 2) * b_row + j] : 0;
		s4[j] += k + 4 < terms ? a[(k + 4) * a_col] * b[(k + 4) * b_row + j] : 0;
		row[j] = (s0[j] + s4[j]) + (s2[j] + s6[j]);
	}
}

/* The product of one row and PTGC_TILE_THIN columns */
static inline void ptgc_tile_thinf(const float *a, int64_t a_col, const float *b, int64_t b_row,
				   int64_t terms, float *row)
{
	float odd[PTGC_TILE_THIN];

	ptgc_four_lanesf(a, a_col, b, b_row, 0, terms, row);
	ptgc_four_lanesf(a, a_col, b, b_row, 1, terms, odd);
	for (int64_t j = 0; j < PTGC_TILE_THIN; ++j)
		row[j] += odd[j];
}

/* y += tile, or y = tile for the first block; without the first rows and columns that `done` counts
 */
static inline void ptgc_put_tilef(float *y, int64_t y_row, int64_t y_col, const float *tile,
				  int64_t rows, int64_t columns, int64_t done_rows,
				  int64_t done_columns, int first)
{
	for (int64_t i = done_rows; i < rows; ++i)
		for (int64_t j = done_columns; j < columns; ++j) {
			float *const to = y + i * y_row + j * y_col;
			const float x = tile[i * PTGC_TILE_COLUMNS + j];
			*to = first ? x : *to + x;
		}
}

/* `columns` of b into a panel, with zeros behind them */
static inline void ptgc_packf(const float *b, int64_t b_row, int64_t b_col, int64_t terms,
			      int64_t columns, float *panel)
{
	const int64_t n = PTGC_TILE_COLUMNS;

	if (columns == n && b_col == 1)
		for (int64_t k = 0; k < terms; ++k)
			for (int64_t j = 0; j < PTGC_TILE_COLUMNS; ++j)
				panel[k * n + j] = b[k * b_row + j];
	else
		for (int64_t j = 0; j < n; ++j)
			for (int64_t k = 0; k < terms; ++k)
				panel[k * n + j] = j < columns ? b[k * b_row + j * b_col] : 0;
}

/* A product of matrices: y = a b, of m rows and n columns, whose elements are sums of `terms`
   products */
struct ptgc_factorsf {
	const float *a;
	int64_t a_row, a_col; /* how far rows and columns are apart */
	const float *b;
	int64_t b_row, b_col;
	float *y;
	int64_t y_row, y_col;
	int64_t m, terms, n;
};

/* --- ways to compute one block of the product, of PTGC_BLOCK terms at most: y = a b for the first
   block, else y += a b. All give the same bits; there are no more rows than columns. --- */

/* By tiles. A tile that would reach over the end begins before it, where that is possible. Columns
   of b that lie side by side are read where they are if there are few rows. */
static inline void ptgc_by_tilesf(const struct ptgc_factorsf *f, int first)
{
	float panel[PTGC_BLOCK * PTGC_TILE_COLUMNS], tile[8][PTGC_TILE];
	const int64_t m = f->m, n = f->n, a_row = f->a_row, a_col = f->a_col;
	const int64_t rows = m < PTGC_TILE_ROWS ? 1 : PTGC_TILE_ROWS;
	const int packs = f->b_col != 1 || n < PTGC_TILE_COLUMNS || m >= 4 * PTGC_TILE_ROWS;
	const int64_t apart = packs ? PTGC_TILE_COLUMNS : f->b_row;

	for (int64_t j0 = 0; j0 < n; j0 += PTGC_TILE_COLUMNS) {
		const int64_t over = j0 + PTGC_TILE_COLUMNS - n;
		const int64_t j = over > 0 && n >= PTGC_TILE_COLUMNS ? j0 - over : j0;
		const int64_t columns = n - j < PTGC_TILE_COLUMNS ? n - j : PTGC_TILE_COLUMNS;
		const float *const from = f->b + j * f->b_col, *const b = packs ? panel : from;
		if (packs)
			ptgc_packf(from, f->b_row, f->b_col, f->terms, columns, panel);
		for (int64_t i0 = 0; i0 < m; i0 += rows) {
			const int64_t i = i0 + rows > m ? m - rows : i0;
			const float *const a = f->a + i * a_row;
			if (rows == 1)
				ptgc_tile_rowf(a, a_col, b, apart, f->terms, tile[0]);
			else
				ptgc_tilef(a, a_row, a_col, b, apart, f->terms, tile);
			ptgc_put_tilef(f->y + i * f->y_row + j * f->y_col, f->y_row, f->y_col,
				       tile[0], rows, columns, i0 - i, j0 - j, first);
		}
	}
}

/* By tiles of one row, where there are few columns, PTGC_TILE_THIN at least, which lie side by side
 */
static inline void ptgc_by_thin_tilesf(const struct ptgc_factorsf *f, int first)
{
	float tile[PTGC_TILE_THIN];

	for (int64_t i = 0; i < f->m; ++i)
		for (int64_t j0 = 0; j0 < f->n; j0 += PTGC_TILE_THIN) {
			const int64_t j = j0 + PTGC_TILE_THIN > f->n ? f->n - PTGC_TILE_THIN : j0;
			ptgc_tile_thinf(f->a + i * f->a_row, f->a_col, f->b + j, f->b_row, f->terms,
					tile);
			ptgc_put_tilef(f->y + i * f->y_row + j * f->y_col, f->y_row, f->y_col, tile,
				       1, PTGC_TILE_THIN, 0, j0 - j, first);
		}
}

/* The sum of `terms` products of elements that lie x_apart and y_apart apart */
PTGC_INLINE float ptgc_dotf(const float *x, int64_t x_apart, const float *y, int64_t y_apart,
			    int64_t terms)
{
	float s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0;

	for (; terms >= 8; terms -= 8, x += 8 * x_apart, y += 8 * y_apart) {
		s0 += x[0] * y[0];
		s1 += x[x_apart] * y[y_apart];
		s2 += x[2 * x_apart] * y[2 * y_apart];
		s3 += x[3 * x_apart] * y[3 * y_apart];
		s4 += x[4 * x_apart] * y[4 * y_apart];
		s5 += x[5 * x_apart] * y[5 * y_apart];
		s6 += x[6 * x_apart] * y[6 * y_apart];
		s7 += x[7 * x_apart] * y[7 * y_apart];
	}
	s0 += terms > 0 ? x[0] * y[0] : 0;
	s1 += terms > 1 ? x[x_apart] * y[y_apart] : 0;
	s2 += terms > 2 ? x[2 * x_apart] * y[2 * y_apart] : 0;
	s3 += terms > 3 ? x[3 * x_apart] * y[3 * y_apart] : 0;
	s4 += terms > 4 ? x[4 * x_apart] * y[4 * y_apart] : 0;
	s5 += terms > 5 ? x[5 * x_apart] * y[5 * y_apart] : 0;
	s6 += terms > 6 ? x[6 * x_apart] * y[6 * y_apart] : 0;
	return ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7));
}

/* Sum by sum. A row of a that is not in one piece is copied. */
static inline void ptgc_by_dotsf(const struct ptgc_factorsf *f, int first)
{
	float row[PTGC_BLOCK];

	for (int64_t i = 0; i < f->m; ++i) {
		const float *x = f->a + i * f->a_row;
		if (f->a_col != 1) {
			for (int64_t k = 0; k < f->terms; ++k)
				row[k] = x[k * f->a_col];
			x = row;
		}
		for (int64_t j = 0; j < f->n; ++j) {
			const float *const z = f->b + j * f->b_col;
			const float sum = f->b_row == 1 ? ptgc_dotf(x, 1, z, 1, f->terms)
							: ptgc_dotf(x, 1, z, f->b_row, f->terms);
			float *const to = f->y + i * f->y_row + j * f->y_col;
			*to = first ? sum : *to + sum;
		}
	}
}

/* By the way that is fastest for so many rows, columns and terms. src/c/products.c chooses by the
   same numbers where lengths are known while compiling: then a file has the code of one way. */
static inline void ptgc_by_sizef(const struct ptgc_factorsf *f, int first)
{
	const int side_by_side = f->b_col == 1 && f->b_row != 1;

	if (f->m >= PTGC_TILE_ROWS || (f->n >= PTGC_TILE_COLUMNS && side_by_side))
		ptgc_by_tilesf(f, first);
	else if (f->n >= PTGC_TILE_THIN && side_by_side && f->terms >= PTGC_THIN_TERMS)
		ptgc_by_thin_tilesf(f, first);
	else
		ptgc_by_dotsf(f, first);
}

#ifdef PTGC_BLAS
#include <cblas.h>
/* The product by a CBLAS, if it is large and its matrices are as BLAS has them: then 1 */
static inline int ptgc_blasf(const struct ptgc_factorsf *f)
{
	const int64_t most = 0x7fffffff, m = f->m, terms = f->terms, n = f->n;
	const int64_t apart_a = f->a_col == 1 ? f->a_row : f->a_col;
	const int64_t apart_b = f->b_col == 1 ? f->b_row : f->b_col;

	if (m < 8 || n < 8 || terms < 8 || (float)m * (float)n * (float)terms < 32768)
		return 0;
	if (f->y_col != 1 || (f->a_col != 1 && f->a_row != 1) || (f->b_col != 1 && f->b_row != 1))
		return 0;
	if (apart_a < (f->a_col == 1 ? terms : m) || apart_b < (f->b_col == 1 ? n : terms) ||
	    f->y_row < n)
		return 0;
	if (m > most || n > most || terms > most || apart_a > most || apart_b > most ||
	    f->y_row > most)
		return 0;
	cblas_sgemm(CblasRowMajor, f->a_col == 1 ? CblasNoTrans : CblasTrans,
		    f->b_col == 1 ? CblasNoTrans : CblasTrans, (int)m, (int)n, (int)terms, 1, f->a,
		    (int)apart_a, f->b, (int)apart_b, 0, f->y, (int)f->y_row);
	return 1;
}
#endif

/* The same product with no more rows than columns: y' = b' a', if need be */
static inline struct ptgc_factorsf ptgc_broadf(const struct ptgc_factorsf *f)
{
	const struct ptgc_factorsf turned = {f->b, f->b_col, f->b_row, f->a, f->a_col, f->a_row,
					     f->y, f->y_col, f->y_row, f->n, f->terms, f->m};

	return f->m > f->n ? turned : *f;
}

/* One block of a product, which is the first one or not, in one of the ways above */
static inline void ptgc_add_productf(void (*way)(const struct ptgc_factorsf *, int), const float *a,
				     int64_t a_row, int64_t a_col, const float *b, int64_t b_row,
				     int64_t b_col, float *y, int64_t y_row, int64_t y_col,
				     int64_t m, int64_t terms, int64_t n, int first)
{
	const struct ptgc_factorsf f = {a, a_row, a_col, b, b_row, b_col,
					y, y_row, y_col, m, terms, n};
	const struct ptgc_factorsf broad = ptgc_broadf(&f);

	way(&broad, first);
}

/* y = a b in one of the ways above */
static inline void ptgc_productf(void (*way)(const struct ptgc_factorsf *, int), const float *a,
				 int64_t a_row, int64_t a_col, const float *b, int64_t b_row,
				 int64_t b_col, float *y, int64_t y_row, int64_t y_col, int64_t m,
				 int64_t terms, int64_t n)
{
	const struct ptgc_factorsf f = {a, a_row, a_col, b, b_row, b_col,
					y, y_row, y_col, m, terms, n};
#ifdef PTGC_BLAS
	if (ptgc_blasf(&f))
		return;
#endif
	const struct ptgc_factorsf broad = ptgc_broadf(&f);
	for (int64_t k = 0; k == 0 || k < terms; k += PTGC_BLOCK) {
		struct ptgc_factorsf block = broad;
		block.a += k * broad.a_col;
		block.b += k * broad.b_row;
		block.terms = terms - k < PTGC_BLOCK ? terms - k : PTGC_BLOCK;
		way(&block, k == 0);
	}
}

#endif
