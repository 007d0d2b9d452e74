/*
 * dtype.c: facts about dtypes, NumPy's promotion of arrays, and half precision numbers.
 * In and out: enum dtype; DT_NONE stands for "unknown" and for "no common dtype".
 */
#include <math.h>
#include <string.h>

#include "base/base.h"

const struct dtype_info dtypes[DT_COUNT] = {
	[DT_NONE] = {"none", 0, 0, KIND_NONE, 0},
#define DTYPE(id, name, onnx, size, kind, bits) [DT_##id] = {name, onnx, size, kind, bits},
#include "base/dtypes.def"
};

enum dtype dtype_named(const char *name)
{
	for (enum dtype t = DT_NONE + 1; t < DT_COUNT; t++)
		if (!strcmp(dtypes[t].name, name))
			return t;
	return DT_NONE;
}

/* The smallest signed integer that holds both; float64 when there is none. */
static enum dtype upcast_ints(enum dtype a, enum dtype b)
{
	if (dtypes[a].kind == dtypes[b].kind)
		return dtypes[a].size >= dtypes[b].size ? a : b;
	enum dtype u = dtypes[a].kind == KIND_UINT ? a : b, i = u == a ? b : a;
	if (dtypes[i].size > dtypes[u].size)
		return i;
	switch (dtypes[u].size) {
	case 1:
		return DT_INT16;
	case 2:
		return DT_INT32;
	case 4:
		return DT_INT64;
	}
	return DT_FLOAT64;
}

/* The smallest float dtype that holds t by NumPy's rules; of a complex t, that of its parts. */
static enum dtype float_for(enum dtype t)
{
	switch (dtypes[t].kind) {
	case KIND_FLOAT:
		return t;
	case KIND_COMPLEX:
		return t == DT_COMPLEX64 ? DT_FLOAT32 : DT_FLOAT64;
	case KIND_UINT:
	case KIND_INT:
		return dtypes[t].size == 1   ? DT_FLOAT16
		       : dtypes[t].size == 2 ? DT_FLOAT32
					     : DT_FLOAT64;
	}
	return DT_FLOAT16;
}

enum dtype dtype_upcast(enum dtype a, enum dtype b)
{
	if (a == b)
		return a;
	if (a == DT_NONE || b == DT_NONE || dtypes[a].kind >= KIND_OTHER ||
	    dtypes[b].kind >= KIND_OTHER)
		return DT_NONE;
	if (a == DT_BOOL)
		return b;
	if (b == DT_BOOL)
		return a;
	if (is_int(a) && is_int(b))
		return upcast_ints(a, b);
	enum dtype fa = float_for(a), fb = float_for(b);
	enum dtype f = dtypes[fa].size >= dtypes[fb].size ? fa : fb;
	if (is_complex(a) || is_complex(b))
		return f == DT_FLOAT64 ? DT_COMPLEX128 : DT_COMPLEX64;
	return f;
}

enum dtype dtype_to_float(enum dtype a)
{
	if (!is_discrete(a))
		return a;
	return dtypes[a].size <= 2 ? DT_FLOAT32 : DT_FLOAT64;
}

enum dtype dtype_narrow(enum dtype t)
{
	return t == DT_FLOAT64 ? DT_FLOAT32 : t == DT_COMPLEX128 ? DT_COMPLEX64 : t;
}

bool dtype_holds(enum dtype to, enum dtype from)
{
	const struct dtype_info *a = &dtypes[to], *b = &dtypes[from];

	if (to == from || b->kind == KIND_BOOL)
		return true;
	if (a->kind == KIND_FLOAT && b->kind == KIND_FLOAT)
		return a->size >= b->size;
	if ((a->kind == KIND_FLOAT || a->kind == KIND_INT) && is_int(from))
		return a->bits >= b->bits;
	return a->kind == KIND_UINT && b->kind == KIND_UINT && a->bits >= b->bits;
}

bool dtype_holds_int(enum dtype t, uint64_t magnitude, bool negative)
{
	unsigned bits = dtypes[t].bits;
	if (!bits)
		return false;
	if (!magnitude)
		return true;
	switch (dtypes[t].kind) {
	case KIND_BOOL:
	case KIND_UINT:
		return !negative && (bits == 64 || !(magnitude >> bits));
	case KIND_INT:
		return magnitude <= ((uint64_t)1 << bits) - !negative;
	}
	if (t == DT_FLOAT16 && magnitude > 65504)
		return false;
	return !(magnitude >> __builtin_ctzll(magnitude) >> bits); /* floats: exactly */
}

double half_to_double(uint16_t h)
{
	uint64_t sign = (uint64_t)(h >> 15) << 63, m = h & 0x3ff, r;
	int e = h >> 10 & 0x1f;
	double v;
	if (!e) {
		v = ldexp((double)m, -24);
		return sign ? -v : v;
	}
	r = sign | m << 42 | (uint64_t)(e == 0x1f ? 0x7ff : e + 1008) << 52;
	memcpy(&v, &r, sizeof(v));
	return v;
}

/* Rounds once, to nearest, ties to even. */
uint16_t half_from_double(double v)
{
	uint64_t u;
	memcpy(&u, &v, sizeof(u));
	uint16_t sign = (uint16_t)(u >> 48 & 0x8000);
	int e = (int)(u >> 52 & 0x7ff);
	uint64_t m = u & 0xfffffffffffff;
	if (e == 0x7ff) { /* keep the payload's top; a NaN stays a NaN */
		uint16_t payload = (uint16_t)(m >> 42);
		return (uint16_t)(sign | 0x7c00 | payload | (m && !payload));
	}
	if (e > 1023 + 15)
		return sign | 0x7c00;
	if (e < 1023 - 25)
		return sign;
	/* 11 bits of precision, fewer for subnormals: drop `shift` bits of the 53 */
	int shift = e < 1009 ? 42 + (1009 - e) : 42;
	uint64_t full = m | (uint64_t)1 << 52;
	uint64_t kept = full >> shift, rest = full & (((uint64_t)1 << shift) - 1);
	uint64_t half = (uint64_t)1 << (shift - 1);
	if (rest > half || (rest == half && (kept & 1)))
		kept++;
	if (e >= 1009) /* the hidden bit adds one to the exponent; a carry does the same */
		kept += (uint64_t)(e - 1009) << 10;
	return (uint16_t)(sign | kept);
}

/* What NumPy, PyTorch, C and Rust call a dtype comes first, then what is spelled like one. */
const char *near_dtype(const char *name)
{
	static const char *const others[][2] = {
		{"float", "float32"},   {"double", "float64"}, {"half", "float16"},
		{"int", "int64"},       {"long", "int64"},     {"uint", "uint64"},
		{"byte", "uint8"},      {"boolean", "bool"},   {"complex", "complex128"},
		{"f16", "float16"},     {"f32", "float32"},    {"f64", "float64"},
		{"fp16", "float16"},    {"fp32", "float32"},   {"fp64", "float64"},
		{"i8", "int8"},         {"i16", "int16"},      {"i32", "int32"},
		{"i64", "int64"},       {"u8", "uint8"},       {"u16", "uint16"},
		{"u32", "uint32"},      {"u64", "uint64"},     {"c64", "complex64"},
		{"c128", "complex128"}, {"str", "string"},     {"bf16", "bfloat16"},
	};
	const char *names[DT_COUNT];
	size_t n = 0;

	for (int i = 1; i < DT_COUNT; i++)
		names[n++] = dtypes[i].name;
	const char *near = did_you_mean(name, names, n);
	for (size_t i = 0; i < countof(others); i++)
		if (!strcmp(name, others[i][0]))
			near = others[i][1];
	return near;
}
