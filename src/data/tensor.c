/*
 * tensor.c: constant tensors: reads elements, and converts between dtypes as NumPy's astype does.
 * In: elements in C order, at any alignment. Out: the same. A float that does not
 * fit an integer dtype becomes what x86-64's instruction cvttsd2si makes of it, on every machine;
 * NumPy and ONNX Runtime on x86-64 do the same.
 */
#include <math.h>
#include <string.h>

#include "data/data.h"

struct tensor *tensor_new(struct ctx *cx, enum dtype t, int rank, const int64_t *shape)
{
	struct tensor *r = new (cx->arena, struct tensor);
	r->dtype = t;
	r->rank = (uint8_t)rank;
	r->shape = new_array(cx->arena, int64_t, rank ? (size_t)rank : 1);
	r->count = 1;
	for (int i = 0; i < rank; i++) {
		r->shape[i] = shape[i];
		/* more elements than 64 bits count: a huge count stands for that */
		if (__builtin_mul_overflow(r->count, (uint64_t)shape[i], &r->count))
			r->count = UINT64_MAX;
	}
	for (int i = 0; i < rank; i++)
		if (!shape[i])
			r->count = 0;
	return r;
}

uint64_t tensor_size(const struct tensor *t)
{
	uint64_t n;
	return __builtin_mul_overflow(t->count, (uint64_t)dtypes[t->dtype].size, &n) ? UINT64_MAX
										     : n;
}

#define LITTLE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

/* One element while it is converted: integers and bools in i or u, floats in f. */
struct number {
	enum dtype_kind kind;
	int64_t i;
	uint64_t u;
	double f;
};

#define LOAD(T, v, p)                                                                              \
	T v;                                                                                       \
	memcpy(&v, p, sizeof(v))

static bool load(enum dtype t, const uint8_t *p, struct number *n)
{
	n->kind = dtypes[t].kind;
	switch (t) {
#define INTEGER(dt, T, field)                                                                      \
	case dt: {                                                                                 \
		LOAD(T, v, p);                                                                     \
		n->field = v;                                                                      \
		return true;                                                                       \
	}
		INTEGER(DT_INT8, int8_t, i)
		INTEGER(DT_INT16, int16_t, i)
		INTEGER(DT_INT32, int32_t, i)
		INTEGER(DT_INT64, int64_t, i)
		INTEGER(DT_UINT8, uint8_t, u)
		INTEGER(DT_UINT16, uint16_t, u)
		INTEGER(DT_UINT32, uint32_t, u)
		INTEGER(DT_UINT64, uint64_t, u)
		INTEGER(DT_FLOAT32, float, f)
		INTEGER(DT_FLOAT64, double, f)
#undef INTEGER
	case DT_BOOL:
		n->u = *p != 0;
		return true;
	case DT_FLOAT16: {
		LOAD(uint16_t, h, p);
		n->f = half_to_double(h);
		return true;
	}
	case DT_NONE:
	case DT_COMPLEX64:
	case DT_COMPLEX128:
	case DT_BFLOAT16:
	case DT_STRING:
	case DT_RNG:
	case DT_RNG_PCG64DXSM:
	case DT_RNG_PHILOX:
	case DT_COUNT:
		return false;
	}
	return false;
}

const void *tensor_element(const struct tensor *t, uint64_t i)
{
	return (const uint8_t *)t->data + (t->splat ? 0 : i * dtypes[t->dtype].size);
}

bool tensor_int(const struct tensor *t, uint64_t i, int64_t *v)
{
	struct number n;
	if (!is_discrete(t->dtype) || i >= t->count || !load(t->dtype, tensor_element(t, i), &n))
		return false;
	if (n.kind == KIND_INT)
		*v = n.i;
	else if (n.u <= INT64_MAX)
		*v = (int64_t)n.u;
	else
		return false;
	return true;
}

double tensor_float(const struct tensor *t, uint64_t i)
{
	struct number n;
	if (i >= t->count || !load(t->dtype, tensor_element(t, i), &n))
		bug("tensor_float: no real element %llu", (unsigned long long)i);
	return n.kind == KIND_FLOAT ? n.f : n.kind == KIND_INT ? (double)n.i : (double)n.u;
}

static int64_t to_int64(double v) /* cvttsd2si r64 */
{
	return v >= -0x1p63 && v < 0x1p63 ? (int64_t)v : INT64_MIN;
}

static int32_t to_int32(double v) /* cvttsd2si r32 */
{
	return v > -0x1p31 - 1 && v < 0x1p31 ? (int32_t)v : INT32_MIN;
}

static uint64_t to_uint64(double v) /* as compilers convert: two ranges, one subtraction */
{
	if (v >= 0x1p63)
		return (uint64_t)to_int64(v - 0x1p63) ^ (uint64_t)1 << 63;
	return (uint64_t)to_int64(v);
}

void store_low(void *p, uint64_t v, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((uint8_t *)p)[LITTLE ? i : size - 1 - i] = (uint8_t)(v >> 8 * i);
}

static void store_int(enum dtype to, uint8_t *p, const struct number *n)
{
	size_t size = dtypes[to].size;
	if (to == DT_BOOL)
		*p = n->kind == KIND_FLOAT ? n->f != 0
		     : n->kind == KIND_INT ? n->i != 0
					   : n->u != 0;
	else if (n->kind == KIND_INT)
		store_low(p, (uint64_t)n->i, size);
	else if (n->kind != KIND_FLOAT)
		store_low(p, n->u, size);
	else if (to == DT_UINT64)
		store_low(p, to_uint64(n->f), size);
	else if (to == DT_INT64 || to == DT_UINT32)
		store_low(p, (uint64_t)to_int64(n->f), size);
	else
		store_low(p, (uint64_t)to_int32(n->f), size);
}

/*
 * The nearest float32. An integer is rounded once: to make a double of it first could round twice,
 * so bits below the 53 of a double are only kept as a last bit that is not 0. (C's own conversion
 * is right, but valgrind does it by a double.)
 */
static float to_float(const struct number *n)
{
	if (n->kind == KIND_FLOAT)
		return (float)n->f;
	bool negative = n->kind == KIND_INT && n->i < 0;
	uint64_t m = n->kind == KIND_INT ? (uint64_t)n->i : n->u;
	m = negative ? -m : m;
	if (m >> 53)
		m = (m & ~(uint64_t)0xfff) | (uint64_t)((m & 0xfff) != 0) << 11;
	return negative ? -(float)(double)m : (float)(double)m;
}

static double to_double(const struct number *n)
{
	return n->kind == KIND_FLOAT ? n->f : n->kind == KIND_INT ? (double)n->i : (double)n->u;
}

static void store(enum dtype to, uint8_t *p, const struct number *n)
{
	if (is_discrete(to)) {
		store_int(to, p, n);
	} else if (to == DT_FLOAT32 || to == DT_COMPLEX64) {
		float v = to_float(n);
		memcpy(p, &v, sizeof(v));
	} else if (to == DT_FLOAT64 || to == DT_COMPLEX128) {
		double v = to_double(n);
		memcpy(p, &v, sizeof(v));
	} else {
		/* integers of more than 53 bits are above 65504, so their rounding does not matter
		 */
		uint16_t h = half_from_double(to_double(n));
		memcpy(p, &h, sizeof(h));
	}
}

static void convert_complex(enum dtype to, uint8_t *d, enum dtype from, const uint8_t *s,
			    uint64_t n)
{
	size_t a = dtypes[from].size / 2, b = dtypes[to].size / 2;
	enum dtype fa = a == 4 ? DT_FLOAT32 : DT_FLOAT64, fb = b == 4 ? DT_FLOAT32 : DT_FLOAT64;
	struct number v;
	for (uint64_t i = 0; i < 2 * n; i++) {
		load(fa, s + i * a, &v);
		store(fb, d + i * b, &v);
	}
}

bool tensor_convert(enum dtype to, void *dst, enum dtype from, const void *src, uint64_t n)
{
	uint8_t *d = dst;
	const uint8_t *s = src;
	size_t a = dtypes[from].size, b = dtypes[to].size;
	struct number v;
	if (!a || !b || dtypes[to].kind >= KIND_OTHER || dtypes[from].kind >= KIND_OTHER)
		return false;
	if (from == to) {
		if (n)
			memmove(d, s, (size_t)n * a);
		return true;
	}
	if (is_complex(from)) {
		if (!is_complex(to))
			return false;
		convert_complex(to, d, from, s, n);
		return true;
	}
	if (is_complex(to))
		memset(d, 0, (size_t)n * b);
	for (uint64_t i = 0; i < n; i++) {
		load(from, s + i * a, &v);
		store(to, d + i * b, &v);
	}
	return true;
}

/* For bytes from outside: ops disagree on a bool that is neither 0 nor 1. */
bool tensor_valid(const struct tensor *t)
{
	const uint8_t *p = t->data;
	uint64_t n = stored_elements(t);
	uint8_t all = 0;
	if (t->dtype != DT_BOOL)
		return true;
	for (uint64_t i = 0; i < n; i++)
		all |= p[i];
	return all <= 1;
}

static size_t swapped_size(enum dtype t) /* of what is turned round; 0: nothing is */
{
	if (LITTLE || t == DT_STRING)
		return 0;
	return dtypes[t].size / (is_complex(t) ? 2u : 1u);
}

void swap_to_little_endian(enum dtype t, void *elements, uint64_t n)
{
	size_t size = swapped_size(t);
	uint8_t *p = elements, *end = p + n * dtypes[t].size;

	for (; size && p < end; p += size)
		for (size_t i = 0; i < size / 2; i++) {
			uint8_t byte = p[i];
			p[i] = p[size - 1 - i];
			p[size - 1 - i] = byte;
		}
}

const void *little_endian(struct ctx *cx, enum dtype t, const void *from, uint64_t n)
{
	size_t size = mul_size(cx->arena, n, dtypes[t].size);

	if (swapped_size(t) < 2 || !size)
		return from;
	void *to = memcpy(arena_alloc(cx->arena, size), from, size);
	swap_to_little_endian(t, to, n);
	return to;
}
