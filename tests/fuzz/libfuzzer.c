/*
 * libfuzzer.c: lets libFuzzer change texts as the fixed corpus does, besides in its own ways. In: a
 * text, or two; out: a changed one.
 */
#include <string.h>

#include "fuzz.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t size, const uint8_t *two, size_t size2,
				 uint8_t *out, size_t max, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	if (seed % 2)
		return LLVMFuzzerMutate(data, size, max);
	return mutate((char *)data, size, max, (char *)data, size, seed);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t size, const uint8_t *two, size_t size2,
				 uint8_t *out, size_t max, unsigned seed)
{
	size_t len = size < max ? size : max;

	memcpy(out, one, len);
	return mutate((char *)out, len, max, (const char *)two, size2, seed);
}
