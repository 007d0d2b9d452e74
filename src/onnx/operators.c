/*
 * operators.c: what ONNX has (operators.def) and what ONNX Runtime's CPU provider runs
 * (target/kernels_ort.def). In: operators, opsets, dtypes. Out: rows of constant tables. Both
 * tables are generated; the rows of an operator's versions follow each other, and the enum gives
 * the first. Names are looked up in a hash that has no collisions.
 */
#include <string.h>

#include "onnx/onnx.h"

#define D(id) (1u << DT_##id)
#define IO(...)                                                                                    \
	(const struct onnx_io[])                                                                   \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define ATTRS(...)                                                                                 \
	(const struct onnx_attr_spec[])                                                            \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define TYPES(...)                                                                                 \
	(const struct onnx_constraint[])                                                           \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define ONNX_OP(name, since, until, nin, in, nout, out, attrs, types)                              \
	{ONNX_##name, "", #name, since, until, in, out, nin, nout, attrs, types},
static const struct onnx_op onnx_table[] = {
#include "onnx/operators.def"
};
#undef IO
#undef ATTRS
#undef TYPES

enum onnx_row { /* index of a version in onnx_table */
#define ONNX_OP(name, since, ...) ROW_##name##_##since,
#include "onnx/operators.def"
};

static const uint16_t first_rows[] = {
/* by enum onnx_id: of its oldest version; at the end the length of onnx_table */
#define ONNX_NAME(name, row) [ONNX_##name] = row,
#include "onnx/operators.def"
	[ONNX_COUNT] = countof(onnx_table),
};

static const char *const names[] = {
/* by enum onnx_id; sorted */
#define ONNX_NAME(name, row) [ONNX_##name] = #name,
#include "onnx/operators.def"
};

static const uint8_t slots[] = {
/* enum onnx_id by the hash of its name */
#define ONNX_SLOT(hash, index) [hash] = index + 1,
#include "onnx/operators.def"
};

#define MAX_VARIABLES 4 /* type variables of one operator */
static const struct kernel {
	uint16_t row;                   /* of onnx_table; sorted; alternatives follow each other */
	bool none;                      /* probed, and there is none */
	uint32_t dtypes[MAX_VARIABLES]; /* for each type variable in the order of the constraints */
} ort_kernels[] = {
#define ALL                      0
#define KERNEL(name, since, ...) {ROW_##name##_##since, false, {__VA_ARGS__}},
#define NO_KERNEL(name, since)   {ROW_##name##_##since, true, {0}},
#include "target/kernels_ort.def"
#undef ALL
};

enum onnx_id onnx_named(const char *name)
{
	uint32_t h = 0;

	for (const char *s = name; *s; s++)
		h = (h + (unsigned char)*s) * ONNX_HASH_FACTOR;
	h >>= 32 - ONNX_HASH_BITS;
	if (h >= countof(slots) || !slots[h] || strcmp(names[slots[h]], name) != 0)
		return ONNX_NONE;
	return (enum onnx_id)slots[h];
}

const struct onnx_op *onnx_nearest(enum onnx_id id, int opset)
{
	const struct onnx_op *op = &onnx_table[first_rows[id]];

	if (id == ONNX_NONE)
		return NULL;
	while (op + 1 < &onnx_table[first_rows[id + 1]] && opset > op->until)
		op++;
	return op;
}

const struct onnx_op *onnx_find(enum onnx_id id, int opset)
{
	const struct onnx_op *op = onnx_nearest(id, opset);

	return op && opset >= op->since && opset <= op->until ? op : NULL;
}

const struct onnx_attr_spec *onnx_attr(const struct onnx_op *op, const char *name)
{
	for (const struct onnx_attr_spec *a = op->attrs; a && a->kind; a++)
		if (!strcmp(a->name, name))
			return a;
	return NULL;
}

uint32_t onnx_row(const struct onnx_op *op)
{
	return op->id ? (uint32_t)(op - onnx_table) : UINT32_MAX;
}

size_t onnx_names(const char *const **sorted)
{
	*sorted = names + 1;
	return countof(names) - 1;
}

bool onnx_has_blocks(const struct onnx_op *op)
{
	for (const struct onnx_attr_spec *a = op->attrs; a && a->kind; a++)
		if (a->kind == AT_GRAPH)
			return true;
	return false;
}

/*
 * Adds the dtypes of values to the sets that the type variables stand for. false: a value has not
 * the fixed type of its place, or the specification does not allow its dtype there.
 */
static bool bind_dtypes(const struct onnx_op *op, const struct onnx_io *io, uint32_t nio,
			const enum dtype *t, uint32_t n, uint32_t *seen)
{
	for (uint32_t i = 0; i < n; i++) {
		if (t[i] == DT_NONE)
			continue;
		if (nio == 0)
			return false;
		const char *var = io[i < nio ? i : nio - 1].type;
		uint32_t k = 0;
		while (op->constraints[k].var && strcmp(op->constraints[k].var, var) != 0)
			k++;
		if (!op->constraints[k].var) {
			if (strcmp(dtypes[t[i]].name, var) != 0)
				return false;
			continue;
		}
		if (!(op->constraints[k].dtypes >> t[i] & 1))
			return false;
		seen[k] |= 1u << t[i];
	}
	return true;
}

static bool allowed(const struct onnx_op *op, const enum dtype *in, uint32_t nin,
		    const enum dtype *out, uint32_t nout, uint32_t *seen)
{
	if (!bind_dtypes(op, op->in, op->nin, in, nin, seen) ||
	    !bind_dtypes(op, op->out, op->nout, out, nout, seen))
		return false;
	if (onnx_has_blocks(op)) /* their values may have a dtype each */
		return true;
	for (uint32_t k = 0; op->constraints[k].var; k++)
		if (seen[k] & (seen[k] - 1))
			return false;
	return true;
}

static bool runs_on_ort(uint16_t row, const uint32_t *seen)
{
	size_t lo = 0, hi = countof(ort_kernels);

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (ort_kernels[mid].row < row)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == countof(ort_kernels) || ort_kernels[lo].row != row)
		return true; /* never probed */
	for (; lo < countof(ort_kernels) && ort_kernels[lo].row == row; lo++) {
		uint32_t missing = ort_kernels[lo].none;
		for (uint32_t k = 0; onnx_table[row].constraints[k].var; k++)
			missing |= seen[k] & ~ort_kernels[lo].dtypes[k];
		if (!missing)
			return true;
	}
	return false;
}

bool kernel_exists(enum ptgc_target target, const struct onnx_op *op, const enum dtype *in,
		   uint32_t nin, const enum dtype *out, uint32_t nout)
{
	uint32_t seen[MAX_VARIABLES] = {0};
	uint32_t row = onnx_row(op);

	if (row == UINT32_MAX)
		return true;
	if (!allowed(op, in, nin, out, nout, seen))
		return false;
	return target != PTGC_ORT_CPU || runs_on_ort((uint16_t)row, seen);
}
