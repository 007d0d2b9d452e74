/* Sums and products in two parts, a rounded one and what rounding lost (Dekker, Knuth). They need
   -ffp-contract=off and no fused operations, so all machines have the same bits. */
#ifndef PTGC_C_WIDE_H
#define PTGC_C_WIDE_H

#include "bits.h"

struct ptgc_wide {
	double high, low;
};

/* a + b for |a| >= |b| */
PTGC_INLINE struct ptgc_wide ptgc_fast_sum(double a, double b)
{
	struct ptgc_wide w;
	w.high = a + b;
	w.low = b - (w.high - a);
	return w;
}

PTGC_INLINE struct ptgc_wide ptgc_two_sum(double a, double b)
{
	struct ptgc_wide w;
	const double s = a + b, c = s - a;
	w.high = s;
	w.low = (a - (s - c)) + (b - c);
	return w;
}

/* a b for factors below 2^996 */
PTGC_INLINE struct ptgc_wide ptgc_two_product(double a, double b)
{
	struct ptgc_wide w;
	const double c = a * 134217729.0, d = b * 134217729.0; /* 2^27 + 1 */
	const double a1 = c - (c - a), b1 = d - (d - b);
	const double a2 = a - a1, b2 = b - b1;
	w.high = a * b;
	w.low = ((a1 * b1 - w.high) + a1 * b2 + a2 * b1) + a2 * b2;
	return w;
}

PTGC_INLINE struct ptgc_wide ptgc_wide_product(struct ptgc_wide a, struct ptgc_wide b)
{
	const struct ptgc_wide p = ptgc_two_product(a.high, b.high);
	return ptgc_fast_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}

PTGC_INLINE struct ptgc_wide ptgc_wide_sum(struct ptgc_wide a, struct ptgc_wide b)
{
	const struct ptgc_wide s = ptgc_two_sum(a.high, b.high);
	return ptgc_fast_sum(s.high, s.low + (a.low + b.low));
}

/* a/b, of which the high parts are finite and not 0 */
PTGC_INLINE struct ptgc_wide ptgc_wide_quotient(struct ptgc_wide a, struct ptgc_wide b)
{
	const double q = a.high / b.high;
	const struct ptgc_wide p = ptgc_two_product(q, b.high);
	return ptgc_fast_sum(q, (((a.high - p.high) - p.low) + (a.low - q * b.low)) / b.high);
}

/* for a > 0 */
PTGC_INLINE struct ptgc_wide ptgc_wide_sqrt(struct ptgc_wide a)
{
	const double s = sqrt(a.high);
	const struct ptgc_wide p = ptgc_two_product(s, s);
	return ptgc_fast_sum(s, (((a.high - p.high) - p.low) + a.low) / (2 * s));
}

#endif
