/* dtype.h: the dtypes of PyTensor and ONNX (dtypes.def) and what NumPy makes of two of them. */
#ifndef PTGC_BASE_DTYPE_H
#define PTGC_BASE_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

/* dtype.c */
enum dtype {
	DT_NONE,
#define DTYPE(id, name, onnx, size, kind, bits) DT_##id,
#include "base/dtypes.def"
	DT_COUNT
};
enum dtype_kind { KIND_NONE, KIND_BOOL, KIND_UINT, KIND_INT, KIND_FLOAT, KIND_COMPLEX, KIND_OTHER };
struct dtype_info {
	const char *name;
	uint8_t onnx, size, kind, bits;
};
extern const struct dtype_info dtypes[DT_COUNT];
enum dtype dtype_named(const char *name);            /* DT_NONE if unknown */
enum dtype dtype_upcast(enum dtype a, enum dtype b); /* NumPy's table for two arrays */
enum dtype dtype_to_float(enum dtype a);             /* PyTensor's upgrade_to_float */
bool dtype_holds_int(enum dtype t, uint64_t magnitude, bool negative);
uint16_t half_from_double(double v); /* the bits of the float16 nearest to v, ties to even */
double half_to_double(uint16_t h);
static inline bool is_float(enum dtype t)
{
	return dtypes[t].kind == KIND_FLOAT;
}
static inline bool is_complex(enum dtype t)
{
	return dtypes[t].kind == KIND_COMPLEX;
}
static inline bool is_int(enum dtype t)
{
	return dtypes[t].kind == KIND_INT || dtypes[t].kind == KIND_UINT;
}
static inline bool is_discrete(enum dtype t)
{
	return is_int(t) || t == DT_BOOL;
}

#endif
