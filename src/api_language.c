/*
 * api_language.c: what ptgc.h tells about the language, without a compilation: ops, names, dtypes,
 * targets, opsets, causes of errors. All of it comes from tables of the layers below.
 */
#include <string.h>

#include "elab/elab.h"
#include "syntax/syntax.h"

static const struct op *find_op(const char *name)
{
	for (uint32_t i = 0; i < op_count; i++)
		if (!strcmp(op_table[i].name, name))
			return &op_table[i];
	return NULL;
}

const char *ptgc_op_signature(const char *name, bool *ready)
{
	const struct op *op = find_op(name);
	if (op && ready)
		*ready = op->onnx || op->lowered || op->lib;
	return op ? op->sig : NULL;
}

bool ptgc_plain_name(const char *name)
{
	return name && is_plain_name(name);
}

bool ptgc_op_name(const char *name)
{
	return name && (find_op(name) || is_builtin(name));
}

const char *ptgc_dtype(size_t i, int *onnx)
{
	if (i >= DT_COUNT - 1)
		return NULL;
	const struct dtype_info *t = &dtypes[i + 1]; /* the first one is DT_NONE */
	if (onnx)
		*onnx = t->onnx;
	return t->name;
}

const char *ptgc_target(size_t i)
{
	return i < countof(target_names) ? target_names[i] : NULL;
}

const char *ptgc_math(size_t i)
{
	return i < countof(math_names) ? math_names[i] : NULL;
}

void ptgc_opsets(int *least, int *greatest, int *usual)
{
	if (least)
		*least = MIN_OPSET;
	if (greatest)
		*greatest = MAX_OPSET;
	if (usual)
		*usual = OPSET;
}
