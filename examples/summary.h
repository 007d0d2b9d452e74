/*
 * summary.h: what draws from a posterior say: mean, standard deviation, 5% and 95%, R-hat, and how
 * many independent draws would tell as much.
 */
#ifndef EXAMPLES_SUMMARY_H
#define EXAMPLES_SUMMARY_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *allocate(size_t count, size_t size)
{
	void *p = calloc(count ? count : 1, size);

	if (!p)
		exit((fputs("error: no memory\n", stderr), 1));
	return p;
}

struct summary {
	double mean, sd, low, high, rhat, effective;
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* x: one variable's draws, chain after chain. As Stan has it: each chain is cut in half, R-hat
 * compares the halves, and Geyer's sequence adds up the correlations of draws that lie `lag` apart,
 * in pairs, until a pair is negative. */
static struct summary summarise(const double *x, size_t chains, size_t draws)
{
	size_t n = draws / 2, m = 2 * chains, count = chains * draws;
	double *mean = allocate(m, sizeof(*mean)), *sorted = allocate(count, sizeof(*sorted));
	double all = 0, between = 0, within = 0, square = 0, sum = 0, pair = 0, least = INFINITY;
	struct summary s = {0};

	memcpy(sorted, x, count * sizeof(*x));
	qsort(sorted, count, sizeof(*sorted), compare);
	s.low = sorted[(size_t)(0.05 * (double)(count - 1))];
	s.high = sorted[(size_t)(0.95 * (double)(count - 1))];
	for (size_t i = 0; i < count; i++)
		s.mean += x[i] / (double)count;
	for (size_t i = 0; i < count; i++)
		square += (x[i] - s.mean) * (x[i] - s.mean);
	s.sd = sqrt(square / (double)(count - 1));

#define HALF(h, i) x[(h) / 2 * draws + (h) % 2 * n + (i)]
	for (size_t h = 0; h < m; h++) {
		for (size_t i = 0; i < n; i++)
			mean[h] += HALF(h, i) / (double)n;
		all += mean[h] / (double)m;
	}
	for (size_t h = 0; h < m; h++) {
		between += pow(mean[h] - all, 2) / (double)(m - 1);
		for (size_t i = 0; i < n; i++)
			within += pow(HALF(h, i) - mean[h], 2) / (double)((n - 1) * m);
	}
	double total = (double)(n - 1) / (double)n * within + between;
	s.rhat = sqrt(total / within);
	for (size_t lag = 0; lag < n; lag++) {
		double covariance = 0;
		for (size_t h = 0; h < m; h++)
			for (size_t i = 0; i + lag < n; i++)
				covariance += (HALF(h, i) - mean[h]) * (HALF(h, i + lag) - mean[h]);
		covariance /= (double)((n - 1) * m);
		pair += lag ? 1 - (within - covariance) / total : 1;
		if (lag % 2 == 0)
			continue;
		if (pair < 0)
			break;
		least = fmin(least, pair);
		sum += least;
		pair = 0;
	}
#undef HALF
	double size = (double)(m * n);
	s.effective = size / fmax(2 * sum - 1, 1 / log10(size));
	free(mean);
	free(sorted);
	return s;
}

#endif
