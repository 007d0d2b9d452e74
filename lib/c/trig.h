/* sin, cos, tan and their float forms.
   Method: x = k pi/2 + r, |r| <= pi/4. For |x| < 1e6, pi/2 is subtracted in four parts, the first
   three of 33 bits, so that products with k are exact; the remainder has two parts. Beyond, x is
   multiplied by 192 bits of 2/pi that begin where the product is below 2^3 (Payne and Hanek).
   sin(r) = r + r^3 S(r^2), cos(r) = 1 - r^2/2 + r^4 C(r^2); k mod 4 says which and the sign.
   ptgc_sin_near() and its kin are for |x| < 1e6 alone; they have no branches, so that loops
   vectorise. ptgc_sin() takes all numbers. Those of float have no branches for any number: its
   exponents are few.
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

/* The turn by a float, without branches. x 2/pi mod 4, of which whole quarters are k: x is y 2^s, y
   < 2^51, and 2/pi 2^s mod 4 is a + b + c + d; as s > 0 only where y is an integer, multiples of 4
   of them make multiples of 4. x has 24 bits, a, b and c have 28, so products with them are exact,
   and so are multiples of 4 taken off them. */
PTGC_INLINE struct ptgc_turn ptgc_turn_of_float(float f)
{
	struct ptgc_turn t;
	const double x = (double)f, size = fabs(x);
	const double fours = 27021597764222976.0; /* 1.5 2^54, whose last bit is 4 */
	const int t1 = size >= 2251799813685248.0, t2 = size >= 302231454903657293676544.0;
	const int t3 = size >= 40564819207303340847894502572032.0; /* 2^51, 2^78, 2^105 */
	const double scale = t3   ? 4.1359030627651384e-25
			     : t2 ? 5.551115123125783e-17
			     : t1 ? 7.450580596923828e-09
				  : 1;
	const double a = t3   ? 2.686094895005226
			 : t2 ? 1.291000947356224
			 : t1 ? 3.44705393910408
			      : 0.6366197615861893;
	const double b = t3   ? 9.716592697106563e-09
			 : t2 ? 5.11180536788558e-09
			 : t1 ? 9.618706608982563e-09
			      : 1.0781392056902206e-08;
	const double c = t3   ? 3.8444114184619897e-17
			 : t2 ? 1.6883105992811252e-17
			 : t1 ? 3.8085917889219375e-17
			      : 1.6153797803925804e-17;
	const double d = t3   ? 1.82651301692807e-25
			 : t2 ? 7.963581943245444e-26
			 : t1 ? 1.25788942519181e-25
			      : 7.696704864039572e-26;
	const double y = x * scale;
	const double pa = y * a, pb = y * b;
	const double qa = pa - ((pa + fours) - fours), qb = pb - ((pb + fours) - fours);
	const double s = (qa + qb) + 6755399441055744.0;
	const double k = s - 6755399441055744.0;
	t.r = (((qa - k) + qb) + (y * c + y * d)) * 1.5707963267948966;
	t.low = 0;
	t.k = ptgc_bits(s);
	return t;
}

/* sin(r) and cos(r), as many digits as floats need */
PTGC_INLINE double ptgc_sin_of_part(double r)
{
	const double z = r * r;
	return r * (1 + z * ptgc_fit_sin(z));
}

PTGC_INLINE double ptgc_cos_of_part(double r)
{
	const double z = r * r;
	return (1 - 0.5 * z) + z * z * ptgc_fit_cos(z);
}

/* the sine of x plus `more` quarter turns */
PTGC_INLINE float ptgc_sin_of_float(float x, uint64_t more)
{
	const struct ptgc_turn t = ptgc_turn_of_float(x);
	const uint64_t k = t.k + more, odd = 0 - (k & 1);
	const double sine = ptgc_sin_of_part(t.r), cosine = ptgc_cos_of_part(t.r);
	const uint64_t y = (ptgc_bits(cosine) & odd) | (ptgc_bits(sine) & ~odd);
	return (float)ptgc_from_bits(y ^ (k & 2) << 62);
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
	return ptgc_sin_of_float(x, 0);
}

PTGC_INLINE float ptgc_cosf(float x)
{
	return ptgc_sin_of_float(x, 1);
}

PTGC_INLINE float ptgc_tanf(float x)
{
	const struct ptgc_turn t = ptgc_turn_of_float(x);
	const int odd = (int)(t.k & 1);
	const double sine = ptgc_sin_of_part(t.r), cosine = ptgc_cos_of_part(t.r);
	return (float)((odd ? -cosine : sine) / (odd ? sine : cosine));
}

#endif
