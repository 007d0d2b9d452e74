/*
 * api_op.c: what the public API says about the op table, for printers of .ptg text.
 */
#include <string.h>

#include "ops/ops.h"

const char *ptgc_op_signature(const char *name, bool *ready)
{
	for (uint32_t i = 0; i < op_count; i++) {
		const struct op *op = &op_table[i];
		if (strcmp(op->name, name))
			continue;
		if (ready)
			*ready = op->onnx || op->lower || op->lib;
		return op->sig;
	}
	return NULL;
}
