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

const char *find_in_line(const char *s, const char *text)
{
	size_t n = strlen(text), length = (size_t)(line_end(s) - s);

	for (size_t i = 0; i + n <= length; i++)
		if (!memcmp(s + i, text, n))
			return s + i;
	return NULL;
}

static double assumed(struct printer *p, const struct words *sizes, const char *s)
{
	return has_word(p, sizes, s, word_length(s)) ? SIZE_OF_INPUT : OTHER_SIZE;
}

double rounds_of(struct printer *p, const struct words *sizes, const char *s)
{
	if (strncmp(s, "for (", 5))
		return 1;
	const char *most = find_in_line(s, " < "), *step = find_in_line(s, " += ");
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
static size_t length_of(const char *s)
{
	size_t n = 0;

	if (*s == '/') /* a comment */
		return 0;
	for (int deep = 0; *s && *s != '\n'; s++) {
		deep -= *s == ']';
		if (!deep)
			n += *s == '/' ? DIVISION : !strncmp(s, "ptgc_", 5) ? CALL : 1;
		deep += *s == '[';
	}
	return n;
}

double work_of(struct printer *p, const struct words *sizes, const char *s, const char *end)
{
	double times[DEEPEST] = {1}; /* of a line with so many tabs */
	size_t least = strspn(s, "\t");
	double sum = 0;
	bool checks = false;

	for (; s < end; s = next_line(s)) {
		size_t tabs = strspn(s, "\t"), deep = tabs > least ? tabs - least : 0;
		s += tabs;
		if (deep + 1 >= DEEPEST)
			break;
		times[deep + 1] = times[deep] * rounds_of(p, sizes, s);
		sum += times[deep] * (double)length_of(s);
		checks |= find_in_line(s, "ptgc_index(") != NULL;
	}
	return checks ? sum / 4 : sum; /* gcc makes no vectors of a loop that checks indices */
}
