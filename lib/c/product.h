/* Products of matrices of doubles, whose elements lie a number of elements apart along rows and
   columns. The order of each sum is fixed, and depends on nothing but the number of its terms:
   blocks of PTGC_BLOCK terms are added up one after the other, each in 8 lanes, where term k is of
   lane k % 8. So one row has the bits that it has among others, and a sum that is added up alone
   has those of a tile.
   With PTGC_BLAS a CBLAS computes those that are large, with bits of its own. */
#ifndef PTGC_C_PRODUCT_H
#define PTGC_C_PRODUCT_H

#include "base.h"
#include "bits.h"

#define PTGC_BLOCK 256 /* terms; a panel of them is 32 kB */

#define PTGC_TILE_ROWS 4

#define PTGC_TILE_COLUMNS 16

#define PTGC_TILE (PTGC_TILE_ROWS * PTGC_TILE_COLUMNS)

#define PTGC_TILE_THIN 4 /* columns of a tile of one row, where there are few */

/* tile = one lane of a product of PTGC_TILE_ROWS rows and PTGC_TILE_COLUMNS columns */
PTGC_INLINE void ptgc_lane(const double *a, int64_t a_row, int64_t a_col, const double *b,
			   int64_t b_row, int64_t lane, int64_t terms, double *tile)
{
	double s0[PTGC_TILE_COLUMNS] = {0}, s1[PTGC_TILE_COLUMNS] = {0};
	double s2[PTGC_TILE_COLUMNS] = {0}, s3[PTGC_TILE_COLUMNS] = {0};

	for (int64_t k = lane; k < terms; k += 8) {
		const double *const x = a + k * a_col, *const r = b + k * b_row;
		const double x0 = x[0], x1 = x[a_row], x2 = x[2 * a_row], x3 = x[3 * a_row];
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
static inline void ptgc_two_lanes(const double *a, int64_t a_col, const double *b, int64_t b_row,
				  int64_t lane, int64_t terms, double *row)
{
	double s0[PTGC_TILE_COLUMNS] = {0}, s1[PTGC_TILE_COLUMNS] = {0};
	int64_t k = lane;

	for (; k + 4 < terms; k += 8) {
		const double *const r = b + k * b_row, *const far = r + 4 * b_row;
		const double x0 = a[k * a_col], x1 = a[(k + 4) * a_col];
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
static inline void ptgc_tile(const double *a, int64_t a_row, int64_t a_col, const double *b,
			     int64_t b_row, int64_t terms, double tile[][PTGC_TILE])
{
	static const int64_t lanes[8] = {0, 4, 2, 6, 1, 5, 3, 7};

	for (int i = 0; i < 8; ++i)
		ptgc_lane(a, a_row, a_col, b, b_row, lanes[i], terms, tile[i]);
	for (int64_t j = 0; j < PTGC_TILE; ++j)
		tile[0][j] = ((tile[0][j] + tile[1][j]) + (tile[2][j] + tile[3][j])) +
			     ((tile[4][j] + tile[5][j]) + (tile[6][j] + tile[7][j]));
}

/* The same of one row */
static inline void ptgc_tile_row(const double *a, int64_t a_col, const double *b, int64_t b_row,
				 int64_t terms, double *row)
{
	static const int64_t lanes[4] = {0, 2, 1, 3};
	double pairs[4][PTGC_TILE_COLUMNS];

	for (int i = 0; i < 4; ++i)
		ptgc_two_lanes(a, a_col, b, b_row, lanes[i], terms, pairs[i]);
	for (int64_t j = 0; j < PTGC_TILE_COLUMNS; ++j)
		row[j] = (pairs[0][j] + pairs[1][j]) + (pairs[2][j] + pairs[3][j]);
}

/* The product of one row and PTGC_TILE_THIN columns: all lanes at once */
static inline void ptgc_tile_thin(const double *a, int64_t a_col, const double *b, int64_t b_row,
				  int64_t terms, double *row)
{
	double s0[PTGC_TILE_THIN] = {0}, s1[PTGC_TILE_THIN] = {0};
	double s2[PTGC_TILE_THIN] = {0}, s3[PTGC_TILE_THIN] = {0};
	double s4[PTGC_TILE_THIN] = {0}, s5[PTGC_TILE_THIN] = {0};
	double s6[PTGC_TILE_THIN] = {0}, s7[PTGC_TILE_THIN] = {0};

	for (; terms >= 8; terms -= 8, a += 8 * a_col, b += 8 * b_row)
		for (int64_t j = 0; j < PTGC_TILE_THIN; ++j) {
			s0[j] += a[0] * b[j];
			s1[j] += a[a_col] * b[b_row + j];
			s2[j] += a[2 * a_col] * b[2 * b_row + j];
			s3[j] += a[3 * a_col] * b[3 * b_row + j];
			s4[j] += a[4 * a_col] * b[4 * b_row + j];
			s5[j] += a[5 * a_col] * b[5 * b_row + j];
			s6[j] += a[6 * a_col] * b[6 * b_row + j];
			s7[j] += a[7 * a_col] * b[7 * b_row + j];
		}
	for (int64_t j = 0; j < PTGC_TILE_THIN; ++j) {
		s0[j] += terms > 0 ? a[0] * b[j] : 0;
		s1[j] += terms > 1 ? a[a_col] * b[b_row + j] : 0;
		s2[j] += terms > 2 ? a[2 * a_col] * b[2 * b_row + j] : 0;
		s3[j] += terms > 3 ? a[3 * a_col] * b[3 * b_row + j] : 0;
		s4[j] += terms > 4 ? a[4 * a_col] * b[4 * b_row + j] : 0;
		s5[j] += terms > 5 ? a[5 * a_col] * b[5 * b_row + j] : 0;
		s6[j] += terms > 6 ? a[6 * a_col] * b[6 * b_row + j] : 0;
		row[j] = ((s0[j] + s4[j]) + (s2[j] + s6[j])) + ((s1[j] + s5[j]) + (s3[j] + s7[j]));
	}
}

/* y += tile, or y = tile for the first block; without the first rows and columns that `done` counts
 */
static inline void ptgc_put_tile(double *y, int64_t y_row, int64_t y_col, const double *tile,
				 int64_t rows, int64_t columns, int64_t done_rows,
				 int64_t done_columns, int first)
{
	for (int64_t i = done_rows; i < rows; ++i)
		for (int64_t j = done_columns; j < columns; ++j) {
			double *const to = y + i * y_row + j * y_col;
			const double x = tile[i * PTGC_TILE_COLUMNS + j];
			*to = first ? x : *to + x;
		}
}

/* `columns` of b into a panel, with zeros behind them */
static inline void ptgc_pack(const double *b, int64_t b_row, int64_t b_col, int64_t terms,
			     int64_t columns, double *panel)
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

/* One block of the product, by tiles. A tile that would reach over the end begins before it, where
   that is possible. Columns of b that lie side by side are read where they are if there are few
   rows. */
static inline void ptgc_add_tiles(const double *a, int64_t a_row, int64_t a_col, const double *b,
				  int64_t b_row, int64_t b_col, double *y, int64_t y_row,
				  int64_t y_col, int64_t m, int64_t terms, int64_t n, int first)
{
	double panel[PTGC_BLOCK * PTGC_TILE_COLUMNS], tile[8][PTGC_TILE];
	const int64_t rows = m < PTGC_TILE_ROWS ? 1 : PTGC_TILE_ROWS;
	const int packs = b_col != 1 || n < PTGC_TILE_COLUMNS || m >= 4 * PTGC_TILE_ROWS;

	for (int64_t j0 = 0; j0 < n; j0 += PTGC_TILE_COLUMNS) {
		const int64_t over = j0 + PTGC_TILE_COLUMNS - n;
		const int64_t j = over > 0 && n >= PTGC_TILE_COLUMNS ? j0 - over : j0;
		const int64_t columns = n - j < PTGC_TILE_COLUMNS ? n - j : PTGC_TILE_COLUMNS;
		const double *const from = b + j * b_col;
		if (packs)
			ptgc_pack(from, b_row, b_col, terms, columns, panel);
		for (int64_t i0 = 0; i0 < m; i0 += rows) {
			const int64_t i = i0 + rows > m ? m - rows : i0;
			if (rows == 1)
				ptgc_tile_row(a + i * a_row, a_col, packs ? panel : from,
					      packs ? PTGC_TILE_COLUMNS : b_row, terms, tile[0]);
			else
				ptgc_tile(a + i * a_row, a_row, a_col, packs ? panel : from,
					  packs ? PTGC_TILE_COLUMNS : b_row, terms, tile);
			ptgc_put_tile(y + i * y_row + j * y_col, y_row, y_col, tile[0], rows,
				      columns, i0 - i, j0 - j, first);
		}
	}
}

/* One block of the product of few rows and columns, which lie side by side */
static inline void ptgc_add_thin(const double *a, int64_t a_row, int64_t a_col, const double *b,
				 int64_t b_row, double *y, int64_t y_row, int64_t y_col, int64_t m,
				 int64_t terms, int64_t n, int first)
{
	double tile[PTGC_TILE_THIN];

	for (int64_t i = 0; i < m; ++i)
		for (int64_t j0 = 0; j0 < n; j0 += PTGC_TILE_THIN) {
			const int64_t j = j0 + PTGC_TILE_THIN > n ? n - PTGC_TILE_THIN : j0;
			ptgc_tile_thin(a + i * a_row, a_col, b + j, b_row, terms, tile);
			ptgc_put_tile(y + i * y_row + j * y_col, y_row, y_col, tile, 1,
				      PTGC_TILE_THIN, 0, j0 - j, first);
		}
}

/* The sum of `terms` products of elements that lie x_apart and y_apart apart */
PTGC_INLINE double ptgc_dot(const double *x, int64_t x_apart, const double *y, int64_t y_apart,
			    int64_t terms)
{
	double s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0;

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

/* One block of the product, sum by sum. A row of a that is not in one piece is copied. */
static inline void ptgc_add_dots(const double *a, int64_t a_row, int64_t a_col, const double *b,
				 int64_t b_row, int64_t b_col, double *y, int64_t y_row,
				 int64_t y_col, int64_t m, int64_t terms, int64_t n, int first)
{
	double row[PTGC_BLOCK];

	for (int64_t i = 0; i < m; ++i) {
		const double *x = a + i * a_row;
		if (a_col != 1) {
			for (int64_t k = 0; k < terms; ++k)
				row[k] = x[k * a_col];
			x = row;
		}
		for (int64_t j = 0; j < n; ++j) {
			const double *const z = b + j * b_col;
			const double sum = b_row == 1 ? ptgc_dot(x, 1, z, 1, terms)
						      : ptgc_dot(x, 1, z, b_row, terms);
			double *const to = y + i * y_row + j * y_col;
			*to = first ? sum : *to + sum;
		}
	}
}

#ifdef PTGC_BLAS
#include <cblas.h>
/* The product by a CBLAS, if it is large and its matrices are as BLAS has them: then 1 */
static inline int ptgc_blas(const double *a, int64_t a_row, int64_t a_col, const double *b,
			    int64_t b_row, int64_t b_col, double *y, int64_t y_row, int64_t y_col,
			    int64_t m, int64_t terms, int64_t n)
{
	const int64_t most = 0x7fffffff, apart_a = a_col == 1 ? a_row : a_col;
	const int64_t apart_b = b_col == 1 ? b_row : b_col;

	if (m < 8 || n < 8 || terms < 8 || (double)m * (double)n * (double)terms < 32768)
		return 0;
	if (y_col != 1 || (a_col != 1 && a_row != 1) || (b_col != 1 && b_row != 1))
		return 0;
	if (apart_a < (a_col == 1 ? terms : m) || apart_b < (b_col == 1 ? n : terms) || y_row < n)
		return 0;
	if (m > most || n > most || terms > most || apart_a > most || apart_b > most ||
	    y_row > most)
		return 0;
	cblas_dgemm(CblasRowMajor, a_col == 1 ? CblasNoTrans : CblasTrans,
		    b_col == 1 ? CblasNoTrans : CblasTrans, (int)m, (int)n, (int)terms, 1, a,
		    (int)apart_a, b, (int)apart_b, 0, y, (int)y_row);
	return 1;
}
#endif

/* One block of the product of matrices: y = a b, or y += a b if it is not the first. It has
   PTGC_BLOCK terms at most. */
static inline void ptgc_add_product(const double *a, int64_t a_row, int64_t a_col, const double *b,
				    int64_t b_row, int64_t b_col, double *y, int64_t y_row,
				    int64_t y_col, int64_t m, int64_t terms, int64_t n, int first)
{
	if (m > n) { /* y' = b' a' */
		const double *const other = a;
		const int64_t other_row = a_row, other_col = a_col, y_other = y_row, count = m;
		a = b, a_row = b_col, a_col = b_row;
		b = other, b_row = other_col, b_col = other_row;
		y_row = y_col, y_col = y_other;
		m = n, n = count;
	}
	if (m >= PTGC_TILE_ROWS || (n >= PTGC_TILE_COLUMNS && b_col == 1 && b_row != 1))
		ptgc_add_tiles(a, a_row, a_col, b, b_row, b_col, y, y_row, y_col, m, terms, n,
			       first);
	else if (n >= PTGC_TILE_THIN && b_col == 1 && b_row != 1 && terms >= 32)
		ptgc_add_thin(a, a_row, a_col, b, b_row, y, y_row, y_col, m, terms, n, first);
	else
		ptgc_add_dots(a, a_row, a_col, b, b_row, b_col, y, y_row, y_col, m, terms, n,
			      first);
}

/* y = a b: m rows, n columns, sums of `terms` products */
static inline void ptgc_product(const double *a, int64_t a_row, int64_t a_col, const double *b,
				int64_t b_row, int64_t b_col, double *y, int64_t y_row,
				int64_t y_col, int64_t m, int64_t terms, int64_t n)
{
#ifdef PTGC_BLAS
	if (ptgc_blas(a, a_row, a_col, b, b_row, b_col, y, y_row, y_col, m, terms, n))
		return;
#endif
	for (int64_t k = 0; k == 0 || k < terms; k += PTGC_BLOCK) {
		const int64_t block = terms - k < PTGC_BLOCK ? terms - k : PTGC_BLOCK;
		ptgc_add_product(a + k * a_col, a_row, a_col, b + k * b_row, b_row, b_col, y, y_row,
				 y_col, m, block, n, k == 0);
	}
}

#endif
