/*
 * api_language.c: what ptgc.h tells about the language, without a compilation: ops, names, dtypes,
 * targets, opsets, causes of errors, generators of a seed. All of it comes from the layers below.
 */
#include <string.h>

#include "data/data.h"
#include "elab/elab.h"
#include "syntax/syntax.h"
#include "target/target.h"

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
		*ready = op->onnx || op->in_c || op->lib;
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

void ptgc_runtimes(int *least, int *greatest, int *usual)
{
	if (least)
		*least = oldest_release();
	if (greatest)
		*greatest = newest_release();
	if (usual)
		*usual = DEFAULT_RELEASE;
}

size_t ptgc_seed_generator(enum ptgc_generator kind, const uint32_t *entropy, size_t nentropy,
			   const uint32_t *spawn, size_t nspawn,
			   uint64_t words[PTGC_MAX_GENERATOR_WORDS])
{
	static const enum dtype kinds[] = {DT_RNG, DT_RNG_PCG64DXSM, DT_RNG_PHILOX};

	if ((unsigned)kind >= countof(kinds))
		return 0;
	seed_words(kinds[kind], entropy, nentropy, spawn, nspawn, words);
	return state_words(kinds[kind]);
}
