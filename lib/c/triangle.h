/* Cholesky's factor, and systems of equations with a triangular matrix, of doubles. Matrices are rows
   behind one another. Four rows at a time are subtracted from each row below, so that the innermost
   loop goes along rows and an element is read and written a quarter as often. The order of all sums
   is fixed. A matrix that has no result gives NaN. */
#ifndef PTGC_C_TRIANGLE_H
#define PTGC_C_TRIANGLE_H

#include "base.h"
#include "bits.h"

/* x -= a[0] rows[0] + ... + a[count - 1] rows[count - 1], of elements from `from` to n; `rows` lie n
   apart, the factors `apart` */
static inline void ptgc_less_rows(double *x, const double *a, int64_t apart, const double *rows,
			      int64_t count, int64_t from, int64_t n)
{
	int64_t k = 0;

	for (; k + 4 <= count; k += 4) {
		const double a0 = a[k * apart], a1 = a[(k + 1) * apart], a2 = a[(k + 2) * apart];
		const double a3 = a[(k + 3) * apart];
		const double *const r = rows + k * n;
		for (int64_t j = from; j < n; ++j)
			x[j] -= (a0 * r[j] + a1 * r[n + j]) + (a2 * r[2 * n + j] + a3 * r[3 * n + j]);
	}
	for (; k < count; ++k) {
		const double b = a[k * apart];
		const double *const r = rows + k * n;
		for (int64_t j = from; j < n; ++j)
			x[j] -= b * r[j];
	}
}

/* y y' = a for the lower triangle of a, or y' y = a for the upper one; the other triangle is not read,
   and 0 in y */
PTGC_CALL void ptgc_cholesky(const double *a, double *y, int64_t n, int lower)
{
	int whole = 1;

	for (int64_t i = 0; i < n; ++i) /* the upper factor */
		for (int64_t j = i; j < n; ++j)
			y[i * n + j] = lower ? a[j * n + i] : a[i * n + j];
	for (int64_t i = 0; i < n && whole; ++i) {
		double *const x = y + i * n;
		ptgc_less_rows(x, y + i, n, y, i, i, n);
		const double pivot = x[i];
		const double root = sqrt(pivot);
		whole = pivot > 0;
		for (int64_t j = i; j < n; ++j)
			x[j] /= root;
	}
	for (int64_t i = 0; i < n; ++i)
		for (int64_t j = i; j < n; ++j) {
			const double x = whole ? y[i * n + j] : (double)NAN;
			const double other = whole && i != j ? 0 : x;
			y[i * n + j] = lower ? other : x;
			y[j * n + i] = lower ? x : other;
		}
}

/* x of a x = b, which has m columns, for a triangular matrix a, whose other triangle is not read; unit:
   nor is its diagonal, which is 1. A diagonal that has 0 or NaN gives NaN. */
PTGC_CALL void ptgc_solve_triangle(const double *a, const double *b, double *x, int64_t n,
				   int64_t m, int lower, int unit)
{
	double bad = 0;

	for (int64_t i = 0; i < n && !unit; ++i)
		bad += 0 / a[i * n + i];
	for (int64_t s = 0; s < n; ++s) {
		const int64_t i = lower ? s : n - 1 - s, from = lower ? 0 : i + 1;
		double *const y = x + i * m;
		for (int64_t j = 0; j < m; ++j)
			y[j] = b[i * m + j] + bad;
		if (m == 1) {
			double sums[8] = {0};
			int64_t k = 0;
			for (; k + 8 <= s; k += 8)
				for (int64_t lane = 0; lane < 8; ++lane)
					sums[lane] += a[i * n + from + k + lane] * x[from + k + lane];
			for (; k < s; ++k)
				sums[k % 8] += a[i * n + from + k] * x[from + k];
			y[0] -= ((sums[0] + sums[4]) + (sums[2] + sums[6])) +
				((sums[1] + sums[5]) + (sums[3] + sums[7]));
		} else {
			ptgc_less_rows(y, a + i * n + from, 1, x + from * m, s, 0, m);
		}
		for (int64_t j = 0; j < m && !unit; ++j)
			y[j] /= a[i * n + i];
	}
}

#endif
