/*
 * work.c: how much a loop of C does, judged by its text. In: its lines. Out: a number that ranks
 * loops: characters of code, each as often as it is run.
 */
#include <stdlib.h>
#include <string.h>

#include "c/internal.h"

/* Rounds of a loop whose length is no constant. Inputs are data, which tend to be longer than what
 * a run computes lengths of. */
#define SIZE_OF_INPUT 256.0
#define OTHER_SIZE    16.0
#define DEEPEST       64 /* tabs */
#define DIVISION      20 /* characters that take as long */
#define CALL          20

static double assumed(struct printer *p, const struct words *sizes, const char *s)
{
	return has_word(p, sizes, s, word_length(s)) ? SIZE_OF_INPUT : OTHER_SIZE;
}

double rounds_of(struct printer *p, const struct words *sizes, const struct code_line *l)
{
	if (!begins_with(l->text, "for ("))
		return 1;
	const char *most = find_in_line(l, " < "), *step = find_in_line(l, " += ");
	char *rest;
	if (!most)
		return OTHER_SIZE;
	long long n = strtoll(most + 3, &rest, 10);
	if (n <= 0 || *rest != ';')
		return assumed(p, sizes, most + 3);
	long long by = step ? strtoll(step + 4, NULL, 10) : 1;
	return (double)n / (double)(by > 0 ? by : 1);
}

/* Characters of a line, but for those of indices, and more for what takes long: a[(i * 3) + j]
 * counts as a[] */
static size_t length_of(const struct code_line *l)
{
	size_t n = 0;
	int deep = 0;

	if (*l->text == '/') /* a comment */
		return 0;
	for (const char *s = l->text, *end = s + l->len; s < end; s++) {
		deep -= *s == ']';
		if (!deep)
			n += *s == '/' ? DIVISION : begins_with(s, "ptgc_") ? CALL : 1;
		deep += *s == '[';
	}
	return n;
}

double work_of(struct printer *p, const struct words *sizes, const struct code_line *const *lines,
	       uint32_t count)
{
	double times[DEEPEST] = {1}; /* of a line with so many tabs */
	double sum = 0;
	bool checks = false;

	for (uint32_t i = 0; i < count; i++) {
		const struct code_line *l = lines[i];
		uint32_t least = lines[0]->tabs, deep = l->tabs > least ? l->tabs - least : 0;
		if (deep + 1 >= DEEPEST)
			break;
		times[deep + 1] = times[deep] * rounds_of(p, sizes, l);
		sum += times[deep] * (double)length_of(l);
		checks |= calls(l, "ptgc_index");
	}
	return checks ? sum / 4 : sum; /* gcc makes no vectors of a loop that checks indices */
}
