/* fuzz.h: what the programs of this folder share. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_TEXT 16384

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* mutate.c */
uint64_t next_random(uint64_t *state);
size_t mutate(char *text, size_t len, size_t max, const char *other, size_t other_len,
	      uint64_t seed);

#endif
