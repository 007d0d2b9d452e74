/*
 * work.c: how much a loop of C does, judged by its text. In: its lines. Out: a number that ranks
 * loops: characters of code, each as often as it is run.
 */
#include <stdlib.h>
#include <string.h>

#include "c/internal.h"

#define ASSUMED  16.0 /* rounds of a loop whose length is no constant */
#define DEEPEST  64   /* tabs */
#define DIVISION 20   /* characters that take as long */
#define CALL     20

double rounds_of(const char *s)
{
	const char *end = s + strcspn(s, "\n");

	if (strncmp(s, "for (", 5))
		return 1;
	const char *most = strstr(s, " < "), *step = strstr(s, " += ");
	char *rest;
	long long n = most && most < end ? strtoll(most + 3, &rest, 10) : 0;
	if (n <= 0 || *rest != ';')
		return ASSUMED;
	long long by = step && step < end ? strtoll(step + 4, NULL, 10) : 1;
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

double work_of(const char *s, const char *end)
{
	double times[DEEPEST] = {1}; /* of a line with so many tabs */
	size_t least = strspn(s, "\t");
	double sum = 0;
	bool checks = false;

	for (; s < end; s += strcspn(s, "\n") + 1) {
		size_t tabs = strspn(s, "\t"), deep = tabs > least ? tabs - least : 0;
		s += tabs;
		if (deep + 1 >= DEEPEST)
			break;
		times[deep + 1] = times[deep] * rounds_of(s);
		sum += times[deep] * (double)length_of(s);
		const char *index = strstr(s, "ptgc_index(");
		checks |= index && index < s + strcspn(s, "\n");
	}
	return checks ? sum / 4 : sum; /* what checks indices is no loop for vectors */
}
