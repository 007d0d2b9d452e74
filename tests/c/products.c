/* ptgc_product() and its form of floats, beside sums in the order that lib/c/product.h promises:
   the same bits for all sizes, in all ways to compute them, and wherever matrices may lie in
   memory, and nothing is written beside the result. With PTGC_BLAS, whose sums have an order of
   their own, numbers that are close. products [rounds] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "all.h"

#define MOST (1 << 20)
static double a[MOST], b[MOST], y[MOST];
static float af[MOST], bf[MOST], yf[MOST];
static uint64_t state = 88172645463325252u;
static int failed;

static int64_t below(int64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (int64_t)(state % (uint64_t)n);
}

struct lie { /* of a matrix: the first element, and how far rows and columns are apart */
	int64_t first, row, col;
};

/* Rows or columns that lie side by side, with gaps, or from the last to the first */
static struct lie lie_of(int64_t rows, int64_t cols)
{
	const int64_t gap = below(3), apart = below(4) ? 1 : 2, back = below(5) == 0;
	struct lie l = {64, 0, 0};

	if (below(2)) {
		l.col = apart;
		l.row = cols * apart + gap;
	} else {
		l.row = apart;
		l.col = rows * apart + gap;
	}
	if (back && rows > 0 && cols > 0) {
		l.first += (rows - 1) * l.row + (cols - 1) * l.col;
		l.row = -l.row;
		l.col = -l.col;
	}
	return l;
}

/* The sum of element (i, j), as product.h says */
#define SUM(name, T)                                                                               \
	static T name(const T *x, struct lie lx, const T *z, struct lie lz, int64_t i, int64_t j,  \
		      int64_t terms)                                                               \
	{                                                                                          \
		T sum = 0;                                                                         \
		for (int64_t from = 0; from < terms; from += PTGC_BLOCK) {                         \
			const int64_t to = from + PTGC_BLOCK < terms ? from + PTGC_BLOCK : terms;  \
			T s[8] = {0};                                                              \
			for (int64_t k = from; k < to; ++k)                                        \
				s[(k - from) % 8] += x[lx.first + i * lx.row + k * lx.col] *       \
						     z[lz.first + k * lz.row + j * lz.col];        \
			const T all =                                                              \
				((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])); \
			sum = from ? sum + all : all;                                              \
		}                                                                                  \
		return sum;                                                                        \
	}
SUM(sum_of, double)
SUM(sum_off, float)

static int same(double got, double want, double unit, int64_t terms)
{
#ifdef PTGC_BLAS
	return fabs(got - want) <= unit * (double)(terms + 1) * 4;
#else
	(void)unit, (void)terms;
	return got == want;
#endif
}

static const struct way {
	const char *name;
	void (*add)(const struct ptgc_factors *, int);
	void (*addf)(const struct ptgc_factorsf *, int);
} ways[] = {
	{"size", ptgc_by_size, ptgc_by_sizef},
	{"dots", ptgc_by_dots, ptgc_by_dotsf},
	{"tiles", ptgc_by_tiles, ptgc_by_tilesf},
	{"thin tiles", ptgc_by_thin_tiles, ptgc_by_thin_tilesf}, /* the last one */
};
#define WAYS 4

static void check_way(const struct way *way, struct lie la, struct lie lb, struct lie ly, int64_t m,
		      int64_t terms, int64_t n)
{
	int64_t written = 0, kept = 0;

	for (int64_t i = 0; i < MOST; ++i)
		y[i] = -1e300, yf[i] = -1e30f;
	ptgc_product(way->add, a + la.first, la.row, la.col, b + lb.first, lb.row, lb.col,
		     y + ly.first, ly.row, ly.col, m, terms, n);
	ptgc_productf(way->addf, af + la.first, la.row, la.col, bf + lb.first, lb.row, lb.col,
		      yf + ly.first, ly.row, ly.col, m, terms, n);
	for (int64_t i = 0; i < m; ++i)
		for (int64_t j = 0; j < n; ++j) {
			const int64_t at = ly.first + i * ly.row + j * ly.col;
			written += same(y[at], sum_of(a, la, b, lb, i, j, terms), 1e-16, terms) &&
				   same((double)yf[at],
					(double)sum_off(af, la, bf, lb, i, j, terms), 6e-8, terms);
		}
	for (int64_t i = 0; i < MOST; ++i)
		kept += y[i] == -1e300 && yf[i] == -1e30f;
	if (written == m * n && kept == MOST - m * n)
		return;
	printf("%lld x %lld x %lld by %s: %lld of %lld are right, %lld too many are written\n",
	       (long long)m, (long long)terms, (long long)n, way->name, (long long)written,
	       (long long)(m * n), (long long)(MOST - m * n - kept));
	failed = 1;
}

static void check(int64_t m, int64_t terms, int64_t n)
{
	const struct lie la = lie_of(m, terms), lb = lie_of(terms, n), ly = lie_of(m, n);
	const int64_t columns = m > n ? m : n, apart = m > n ? la.row : lb.col;
	const int thin = columns >= PTGC_TILE_THIN && apart == 1;

	for (int i = 0; i < WAYS - !thin; ++i)
		check_way(&ways[i], la, lb, ly, m, terms, n);
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 200;
	static const int64_t lengths[] = {0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 64, 70};

	for (int64_t i = 0; i < MOST; ++i) {
		a[i] = (double)(below(1 << 24) - (1 << 23)) * 0x1p-23;
		b[i] = (double)(below(1 << 24) - (1 << 23)) * 0x1p-23;
		af[i] = (float)a[i];
		bf[i] = (float)b[i];
	}
	for (int i = 0; i < rounds; ++i)
		check(lengths[below(15)], below(3) ? below(80) : below(700), lengths[below(15)]);
	return failed;
}
