/*
 * digits.c: floats as the fewest digits that are read back as the same float. In: finite numbers.
 * Out: text. A number of usual size is scaled by a power of ten in integers of 128 bits, without
 * any loss; the C library, which takes ten times as long, prints the others.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

#define LEAST 1e-16 /* is scaled by 10**32 at most: 5**32 and a double have 75 + 53 bits */

typedef unsigned __int128 wide;

struct binary { /* bits * 2**power */
	uint64_t bits;
	int power;
	bool least; /* of so many bits: the number below is half as far away as the one above */
};
struct decimal { /* `count` digits, with the point behind the first one, times 10**power */
	uint64_t digits;
	int count, power;
};

static const uint64_t fives[] = {
	1,         5,          25,         125,         625,          3125,
	15625,     78125,      390625,     1953125,     9765625,      48828125,
	244140625, 1220703125, 6103515625, 30517578125, 152587890625, 762939453125}; /* powers */

/* Rounds v * 10**n to an integer; to the even one from the middle between two. Is the integer over
 * 10**n read as v? It is if it is nearer to v than to the numbers around v; it is never in the
 * middle between them, as 5**n is odd. */
static bool scaled(const struct binary *v, int n, uint64_t *integer)
{
	int shift = -(v->power + n); /* v * 10**n is exact / 2**shift; the last bit of v is unit */
	wide unit = (wide)fives[n / 2] * fives[n - n / 2];
	wide exact = v->bits * unit, half = (wide)1 << (shift - 1);
	wide below = exact >> shift, rest = exact - (below << shift);

	*integer = (uint64_t)below + (rest > half || (rest == half && below % 2));
	wide at = (wide)*integer << shift, off = at > exact ? at - exact : exact - at;
	return off * (v->least && at < exact ? 4 : 2) < unit;
}

/* The fewest digits that are read as v: no fewer than `few`, as numbers keep all texts of so many,
 * and no more than `many`, as texts of so many keep all numbers */
static struct decimal fewest_digits(const struct binary *v, int bits, int few, int many)
{
	struct decimal d = {.count = few};
	uint64_t end;
	bool same;

	d.power = (v->power + bits - 1) * 1233 >> 12; /* or one less; 1233 / 4096 is log10(2) */
	for (;;) {
		same = scaled(v, d.count - 1 - d.power, &d.digits);
		end = fives[d.count] << d.count;
		if (d.digits > end)
			d.power++;
		else if (same || d.count == many)
			break;
		else
			d.count++;
	}
	if (d.digits == end) {
		d.digits /= 10;
		d.power++;
	}
	return d;
}

/* As %.*g prints it */
static void add_decimal(struct strbuf *b, const struct decimal *d)
{
	char text[40] = "0.000";
	bool shifted = d->power < -4 || d->power >= d->count;
	int count = d->count, before = shifted ? 1 : d->power + 1; /* the point */
	int begin = before > 0 ? 0 : 2 - before, end;
	uint64_t rest = d->digits;

	for (; count > 1 && rest % 10 == 0; count--)
		rest /= 10;
	end = begin + count;
	for (int i = end; i-- > begin; rest /= 10)
		text[i] = (char)('0' + rest % 10);
	while (end < before)
		text[end++] = '0';
	if (before > 0 && before < end) {
		memmove(text + before + 1, text + before, (size_t)(end - before));
		text[before] = '.';
		end++;
	}
	sb_add(b, text, (size_t)end);
	if (shifted)
		sb_printf(b, "e%c%02d", d->power < 0 ? '-' : '+', abs(d->power));
}

static void add_by_library(struct strbuf *b, double v, bool single, int few, int many)
{
	char text[40];

	for (; few <= many; few++) {
		snprintf(text, sizeof(text), "%.*g", few, v);
		if (single ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v)
			break;
	}
	sb_str(b, text);
}

void sb_float(struct strbuf *b, double v, bool single)
{
	int few = single ? FLT_DIG : DBL_DIG, many = single ? FLT_DECIMAL_DIG : DBL_DECIMAL_DIG;
	int bits = single ? FLT_MANT_DIG : DBL_MANT_DIG, power;
	double size = fabs(v);

	if (v == 0) {
		sb_str(b, signbit(v) ? "-0" : "0");
		return;
	}
	if (size < LEAST || size >= (single ? 1e6 : 1e15)) {
		add_by_library(b, v, single, few, many);
		return;
	}
	double fraction = frexp(size, &power);
	struct binary binary = {(uint64_t)ldexp(fraction, bits), power - bits, fraction == 0.5};
	struct decimal d = fewest_digits(&binary, bits, few, many);
	if (v < 0)
		sb_str(b, "-");
	add_decimal(b, &d);
}
