/*
 * operators.c: the operators of ONNX (operators.def, made by tools/make_onnx_ops.py). In: names and
 * opsets. Out: rows of a constant table. The versions of an operator are consecutive rows, and
 * first_rows gives the first of them. Names are looked up by a perfect hash.
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
#define FLOATS                                 TYPES({"T", D(FLOAT16) | D(FLOAT32) | D(FLOAT64)}, {NULL, 0})
#define OWN(op, inputs, function)              OWN_ROW(op, inputs, FLOATS, NULL)
#define ROUTINE(op, inputs, types, put, shape) OWN_ROW(op, inputs, DOUBLES, LOWER_UNIT)
#define DOUBLES                                TYPES({"T", D(FLOAT64)}, {NULL, 0})
#define LOWER_UNIT                             ATTRS({"lower", AT_INT, 0, NULL}, {"unit", AT_INT, 0, NULL}, {NULL, 0, 0, NULL})
#define STREAM(op, reads, types, put, shape, ...)                                                  \
	{ONNX_c_##op,                                                                              \
	 C_DOMAIN,                                                                                 \
	 #op,                                                                                      \
	 1,                                                                                        \
	 UINT8_MAX,                                                                                \
	 IO({"s", "T", 0}, {"n", "int64", 0}),                                                     \
	 IO({"y", "T", 0}),                                                                        \
	 2,                                                                                        \
	 1,                                                                                        \
	 ATTRS({"kind", AT_STR, true, NULL}, {NULL, 0, 0, NULL}),                                  \
	 TYPES({"T", D(UINT64)}, {NULL, 0})},
#define OWN_ROW(op, inputs, types, attrs)                                                          \
	{ONNX_c_##op,                                                                              \
	 C_DOMAIN,                                                                                 \
	 #op,                                                                                      \
	 1,                                                                                        \
	 UINT8_MAX,                                                                                \
	 IO({"a", "T", 0}, {"b", "T", 0}, {"c", "T", 0}, {"d", "T", 0}),                           \
	 IO({"y", "T", 0}),                                                                        \
	 inputs,                                                                                   \
	 1,                                                                                        \
	 attrs,                                                                                    \
	 types},
static const struct onnx_op own_table[] = {
#include "onnx/own.def"
};
#define ML_OP(name, since, until, nin, in, nout, out, attrs, types)                                \
	{ONNX_NONE, ML_DOMAIN, #name, since, until, in, out, nin, nout, attrs, types},
static const struct onnx_op ml_table[] = {
#include "onnx/operators.def"
};
#undef IO
#undef ATTRS
#undef TYPES

static const uint16_t first_rows[] = {
/* for each operator the row of its oldest version; then the number of rows */
#define ONNX_NAME(name, row) [ONNX_##name] = row,
#include "onnx/operators.def"
	[ONNX_OWN] = countof(onnx_table),
};

static const char *const names[] = {
/* of the operators, sorted */
#define ONNX_NAME(name, row) [ONNX_##name] = #name,
#include "onnx/operators.def"
};

static const uint8_t slots[] = {
/* enum onnx_id by the hash of its name */
#define ONNX_SLOT(hash, index) [hash] = index + 1,
#include "onnx/operators.def"
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

enum onnx_id onnx_own_named(const char *name)
{
	for (size_t i = 0; i < countof(own_table); i++)
		if (!strcmp(own_table[i].name, name))
			return own_table[i].id;
	return ONNX_NONE;
}

const struct onnx_op *onnx_nearest(enum onnx_id id, int opset)
{
	if (id == ONNX_NONE)
		return NULL;
	if (id >= ONNX_OWN)
		return &own_table[id - ONNX_OWN];
	const struct onnx_op *op = &onnx_table[first_rows[id]];
	while (op + 1 < &onnx_table[first_rows[id + 1]] && opset > op->until)
		op++;
	return op;
}

const struct onnx_op *onnx_find(enum onnx_id id, int opset)
{
	const struct onnx_op *op = onnx_nearest(id, opset);

	return op && opset >= op->since && opset <= op->until ? op : NULL;
}

const struct onnx_op *onnx_ml_nearest(const char *name, int version)
{
	const struct onnx_op *op = NULL;

	for (size_t i = 0; i < countof(ml_table); i++)
		if (!strcmp(ml_table[i].name, name) && (!op || ml_table[i].since <= version))
			op = &ml_table[i];
	return op;
}

size_t onnx_ml_names(const char **list)
{
	size_t n = 0;

	for (size_t i = 0; i < countof(ml_table); i++)
		if (!n || strcmp(list[n - 1], ml_table[i].name))
			list[n++] = ml_table[i].name;
	return n;
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
	return op->domain[0] ? UINT32_MAX : (uint32_t)(op - onnx_table);
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

uint32_t onnx_axis(const struct node *n, int64_t otherwise)
{
	int64_t axis = int_of_attr(n, "axis", otherwise);

	return (uint32_t)from_front(axis, n->in[0]->type.rank);
}

uint32_t onnx_perm(const struct node *n, uint32_t i)
{
	const struct attr *perm = find_attr(n, "perm");

	return perm ? (uint32_t)perm->u.ints[i] : n->in[0]->type.rank - 1u - i;
}

bool onnx_transposes_matrix(const struct node *n)
{
	return n->in[0]->type.rank == 2 && onnx_perm(n, 0) == 1;
}

uint32_t summed_axis(const struct node *n, uint32_t i)
{
	const char *name = i ? "transB" : "transA";
	uint32_t rank = n->in[i]->type.rank;
	bool transposed = computes(n, ONNX_Gemm) && int_of_attr(n, name, 0);

	return rank - ((rank > 1 && (i == 1) != transposed) ? 2 : 1);
}

int onnx_axes(const struct node *n, uint32_t rank, int *axes)
{
	const struct attr *list = find_attr(n, "axes");
	const struct tensor *t = n->nin > 1 && n->in[1] ? n->in[1]->data : NULL;
	uint64_t count = list ? list->n : t ? t->count : 0;
	int64_t axis;

	if (count > MAX_RANK || (n->nin > 1 && n->in[1] && !t))
		return -1;
	for (uint64_t i = 0; i < count; i++) {
		axis = list ? list->u.ints[i] : 0;
		if (!list && !tensor_int(t, i, &axis))
			return -1;
		axes[i] = (int)from_front(axis, rank);
	}
	return (int)count;
}

uint64_t onnx_axis_bits(const struct node *n, uint32_t rank)
{
	int axes[MAX_RANK], count = rank < 64 ? onnx_axes(n, rank, axes) : 0;
	uint64_t bits = 0;

	for (int i = 0; i < count; i++)
		bits |= UINT64_C(1) << (axes[i] & 63);
	return bits;
}

bool reduces_no_axis(const struct node *n)
{
	int axes[MAX_RANK];

	return int_of_attr(n, "noop_with_empty_axes", 0) &&
	       !onnx_axes(n, n->in[0]->type.rank, axes);
}

int onnx_reduced_axes(const struct node *n, int *axes)
{
	int rank = n->in[0]->type.rank, given[MAX_RANK],
	    count = onnx_axes(n, (uint32_t)rank, given);
	bool set[MAX_RANK] = {false};
	int k = 0;

	if (n->onnx->id == ONNX_ArgMax || n->onnx->id == ONNX_ArgMin) {
		axes[0] = (int)onnx_axis(n, 0);
		return 1;
	}
	if (count < 0 || reduces_no_axis(n))
		return -1;
	for (int i = 0; i < count; i++)
		set[given[i]] = true;
	for (int i = 0; i < rank; i++)
		if (!count || set[i])
			axes[k++] = i;
	return k;
}
