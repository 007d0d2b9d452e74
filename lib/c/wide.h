/* Sums and products in two parts, a rounded one and what rounding lost (Dekker, Knuth). They need
   -ffp-contract=off and no fused operations, so all machines have the same bits. */
#ifndef PTGC_C_WIDE_H
#define PTGC_C_WIDE_H

#include "bits.h"

struct ptgc_wide {
	double high, low;
};

/* a + b for |a| >= |b| or a = 0 */
static inline struct ptgc_wide ptgc_fast_sum(double a, double b)
{
	struct ptgc_wide w;
	w.high = a + b;
	w.low = b - (w.high - a);
	return w;
}

static inline struct ptgc_wide ptgc_two_sum(double a, double b)
{
	struct ptgc_wide w;
	const double s = a + b, c = s - a;
	w.high = s;
	w.low = (a - (s - c)) + (b - c);
	return w;
}

/* a b for factors below 2^996 */
static inline struct ptgc_wide ptgc_two_product(double a, double b)
{
	struct ptgc_wide w;
	const double c = a * 134217729.0, d = b * 134217729.0; /* 2^27 + 1 */
	const double a1 = c - (c - a), b1 = d - (d - b);
	const double a2 = a - a1, b2 = b - b1;
	w.high = a * b;
	w.low = ((a1 * b1 - w.high) + a1 * b2 + a2 * b1) + a2 * b2;
	return w;
}

static inline struct ptgc_wide ptgc_wide_product(struct ptgc_wide a, struct ptgc_wide b)
{
	const struct ptgc_wide p = ptgc_two_product(a.high, b.high);
	return ptgc_fast_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}

static inline struct ptgc_wide ptgc_wide_sum(struct ptgc_wide a, struct ptgc_wide b)
{
	const struct ptgc_wide s = ptgc_two_sum(a.high, b.high);
	return ptgc_fast_sum(s.high, s.low + (a.low + b.low));
}

#endif
