/* sin, cos, tan and their float forms.
   Method: x = k pi/2 + r, |r| <= pi/4. For |x| < 1e6, pi/2 is subtracted in four parts, the first
   three of 33 bits, so that products with k are exact; the remainder has two parts. Beyond, x is
   multiplied by 192 bits of 2/pi that begin where the product is below 2^3 (Payne and Hanek).
   sin(r) = r + r^3 S(r^2), cos(r) = 1 - r^2/2 + r^4 C(r^2); k mod 4 says which and the sign.
   ptgc_sin_near() and its kin are for |x| < 1e6 alone; they have no branches, so that loops
   vectorise. ptgc_sin() takes all numbers.
   S, C: fit_c.py. Bounds: see the table in README.md. */
#ifndef PTGC_C_TRIG_H
#define PTGC_C_TRIG_H

#include "wide.h"

#define PTGC_TRIG_NEAR 1e6

/* fit_c.py: sin */
PTGC_INLINE double ptgc_fit_sin(double x)
{
	const double x2 = x * x, x4 = x2 * x2;
	const double a0 = -0.16666666666666666 + 0.008333333333330925 * x;
	const double a1 = -0.00019841269836722418 + 2.755731608381636e-06 * x;
	const double a2 = -2.5051127944014188e-08 + 1.5917848524808262e-10 * x;
	const double b0 = a0 + a1 * x2;
	return b0 + a2 * x4;
}

/* fit_c.py: cos */
PTGC_INLINE double ptgc_fit_cos(double x)
{
	const double x2 = x * x, x4 = x2 * x2;
	const double a0 = 0.041666666666666664 - 0.0013888888888887382 * x;
	const double a1 = 2.480158729874307e-05 - 2.7557317260008837e-07 * x;
	const double a2 = 2.0876143827993133e-09 - 1.1382456778061306e-11 * x;
	const double b0 = a0 + a1 * x2;
	return b0 + a2 * x4;
}

struct ptgc_turn {
	double r, low;
	uint64_t k; /* mod 4 */
};

PTGC_INLINE struct ptgc_turn ptgc_turn_near(double x)
{
	struct ptgc_turn t;
	const double s = x * 0.6366197723675814 + 6755399441055744.0;
	const double k = s - 6755399441055744.0;
	const double a = x - k * 1.5707963267341256;
	const struct ptgc_wide b = ptgc_two_sum(a, -(k * 6.077100506303966e-11));
	const struct ptgc_wide c = ptgc_two_sum(b.high, -(k * 2.0222662487111665e-21));
	const struct ptgc_wide d = ptgc_two_sum(c.high, (b.low + c.low) - k * 8.4784276603689e-32);
	t.r = d.high;
	t.low = d.low;
	t.k = ptgc_bits(s);
	return t;
}

/* The turn by pi r, |r| <= 1/2; exact where 2 r is an integer */
PTGC_INLINE struct ptgc_turn ptgc_turn_pi(double r)
{
	struct ptgc_turn t;
	const double s = 2 * r + 6755399441055744.0;
	const double d = r - 0.5 * (s - 6755399441055744.0);
	const struct ptgc_wide p = ptgc_two_product(d, 3.141592653589793);
	t.r = p.high;
	t.low = p.low + d * 1.2246467991473532e-16;
	t.k = ptgc_bits(s);
	return t;
}

/* bits `from` to `from` + 63 behind the point of 2/pi, for `from` from -64 on */
static inline uint64_t ptgc_two_over_pi(int from)
{
	static const uint32_t words[] = {
		0,          0,          0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599,
		0x3c439041, 0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c,
		0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639,
		0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f,
		0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7,
		0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab, 0xf0cfbc20,
	};
	const unsigned at = (unsigned)(from + 64), i = at / 32, shift = at % 32;
	const uint64_t high = (uint64_t)words[i] << 32 | words[i + 1];
	return shift ? high << shift | words[i + 2] >> (32 - shift) : high;
}

/* For |x| >= 1, NaN for infinities and NaN */
static inline struct ptgc_turn ptgc_turn_far(double x)
{
	struct ptgc_turn t;
	const uint64_t bits = ptgc_bits(x);
	const int e = (int)(bits >> 52 & 2047) - 1075; /* |x| = m 2^e */
	const uint64_t m = (bits & UINT64_C(0xfffffffffffff)) | (uint64_t)1 << 52;
	if (e > 971) {
		t.r = t.low = x - x;
		t.k = 0;
		return t;
	}
	/* 2^62 |x| 2/pi mod 2^64, the whole quarter turns mod 4 in its first two bits, and 128 bits
	   of fraction: earlier bits of 2/pi make multiples of 4. */
	const uint64_t w0 = ptgc_two_over_pi(e - 2), w1 = ptgc_two_over_pi(e + 62);
	const uint64_t w2 = ptgc_two_over_pi(e + 126);
	uint64_t p1, p2;
	const uint64_t h2 = ptgc_product128(m, w2, &p2);
	const uint64_t h1 = ptgc_product128(m, w1, &p1);
	p1 += h2;
	const uint64_t p0 = m * w0 + h1 + (p1 < h2);
	/* rounds to the nearest quarter: a fraction of half and more becomes negative */
	const uint64_t k = (p0 >> 61) + 1;
	const int negative = (int)(p0 >> 61 & 1);
	uint64_t f = p0 << 2 | p1 >> 62, g = p1 << 2 | p2 >> 62;
	if (negative) {
		f = ~f;
		g = ~g; /* off by 2^-128 */
	}
	/* f/2^64 + g/2^128 of a quarter turn, from the first bit that is set */
	double scale = 5.421010862427522e-20; /* 2^-64 */
	while (!(f >> 63)) {
		f = f << 1 | g >> 63;
		g <<= 1;
		scale *= 0.5;
	}
	const struct ptgc_wide part = ptgc_fast_sum(
		(double)(f >> 32) * 4294967296.0,
		(double)(f & 0xffffffff) + (double)(g >> 32) * 2.3283064365386963e-10);
	const struct ptgc_wide quarter = {1.5707963267948966, 6.123233995736766e-17};
	const struct ptgc_wide r = ptgc_wide_product(part, quarter);
	const int minus = negative ^ (x < 0);
	t.r = (minus ? -r.high : r.high) * scale;
	t.low = (minus ? -r.low : r.low) * scale;
	t.k = x < 0 ? 0 - (k >> 1) : k >> 1;
	return t;
}

PTGC_INLINE double ptgc_sin_part(struct ptgc_turn t)
{
	const double z = t.r * t.r;
	return t.r * z * ptgc_fit_sin(z) + t.low * (1 - 0.5 * z);
}

/* 1 - r^2/2, and what else there is of the cosine */
PTGC_INLINE struct ptgc_wide ptgc_cos_parts(struct ptgc_turn t)
{
	const double z = t.r * t.r, h = 0.5 * z;
	struct ptgc_wide w;
	w.high = 1 - h;
	w.low = ((1 - w.high) - h) + (z * z * ptgc_fit_cos(z) - t.r * t.low);
	return w;
}

/* the sine of t plus `more` quarter turns */
PTGC_INLINE double ptgc_turn_sin(struct ptgc_turn t, uint64_t more)
{
	const uint64_t k = t.k + more, odd = 0 - (k & 1);
	const struct ptgc_wide c = ptgc_cos_parts(t);
	const double sine = t.r + ptgc_sin_part(t), cosine = c.high + c.low;
	const uint64_t y = (ptgc_bits(cosine) & odd) | (ptgc_bits(sine) & ~odd);
	return ptgc_from_bits(y ^ (k & 2) << 62);
}

/* (s + s')/(c + c') or -(c + c')/(s + s') */
PTGC_INLINE double ptgc_turn_tan(struct ptgc_turn t)
{
	const int odd = (int)(t.k & 1);
	const struct ptgc_wide c = ptgc_cos_parts(t);
	const struct ptgc_wide s = ptgc_fast_sum(t.r, ptgc_sin_part(t));
	const struct ptgc_wide w = ptgc_fast_sum(c.high, c.low);
	const double a = odd ? -w.high : s.high, b = odd ? s.high : w.high;
	const double a_low = odd ? -w.low : s.low, b_low = odd ? s.low : w.low;
	const double q = a / b;
	return q + (a_low - q * b_low) / b;
}

PTGC_INLINE double ptgc_sin_near(double x)
{
	const double y = ptgc_turn_sin(ptgc_turn_near(x), 0);
	return fabs(x) < 7e-9 ? x : y;
}

PTGC_INLINE double ptgc_cos_near(double x)
{
	return ptgc_turn_sin(ptgc_turn_near(x), 1);
}

PTGC_INLINE double ptgc_tan_near(double x)
{
	const double y = ptgc_turn_tan(ptgc_turn_near(x));
	return fabs(x) < 7e-9 ? x : y;
}

PTGC_INLINE double ptgc_sin(double x)
{
	if (fabs(x) < PTGC_TRIG_NEAR)
		return ptgc_sin_near(x);
	return ptgc_turn_sin(ptgc_turn_far(x), 0);
}

PTGC_INLINE double ptgc_cos(double x)
{
	if (fabs(x) < PTGC_TRIG_NEAR)
		return ptgc_cos_near(x);
	return ptgc_turn_sin(ptgc_turn_far(x), 1);
}

PTGC_INLINE double ptgc_tan(double x)
{
	if (fabs(x) < PTGC_TRIG_NEAR)
		return ptgc_tan_near(x);
	return ptgc_turn_tan(ptgc_turn_far(x));
}

PTGC_INLINE float ptgc_sinf(float x)
{
	return (float)ptgc_sin((double)x);
}

PTGC_INLINE float ptgc_cosf(float x)
{
	return (float)ptgc_cos((double)x);
}

PTGC_INLINE float ptgc_tanf(float x)
{
	return (float)ptgc_tan((double)x);
}

#endif
