/* Runs a model that was compiled for another machine, whose bytes lie in the same order:
   native.py starts it under an emulator. -DNAME: the prefix of the model's symbols, which -fentry
   gave it. Standard input: for each input of the interface its lengths, as int64_t, and its
   elements. Standard output: the same of each output. If a run fails, its words go to standard
   error, and the program ends with 1. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)
#define MODEL(name) JOIN(NAME, name)
#define MOST        512 /* inputs, and outputs */
#define AXES        16

const char *MODEL(_interface)(void);
const char *MODEL(_message)(int number);
int MODEL(_lengths)(const int64_t *given, int64_t *lengths);
int MODEL(_call)(const int64_t *given, const void *const *inputs, int64_t *lengths, void **outputs,
		 void *work, size_t bytes, size_t *need);

struct array {
	int output, rank;
	size_t size; /* of an element */
};

static size_t size_of(const char *dtype)
{
	return strstr(dtype, "64") ? 8 : strstr(dtype, "32") ? 4 : strstr(dtype, "16") ? 2 : 1;
}

static void *room(size_t bytes)
{
	void *at = calloc(1, bytes + 64);
	if (!at)
		exit(2);
	return at;
}

static void take(void *to, size_t bytes)
{
	if (fread(to, 1, bytes, stdin) != bytes)
		exit(2);
}

static size_t count(const int64_t *lengths, int rank)
{
	size_t n = 1;
	while (rank-- > 0)
		n *= (size_t)lengths[rank];
	return n;
}

int main(void)
{
	static struct array arrays[2 * MOST];
	static int64_t given[AXES * MOST], lengths[AXES * MOST];
	static const void *inputs[MOST];
	static void *outputs[MOST];
	int n = 0, in = 0, out = 0;
	char way[4], dtype[16];

	for (const char *s = MODEL(_interface)(); s && *s; s = strchr(s, '\n') + 1) {
		struct array *a = &arrays[n];
		if (sscanf(s, "%3s %15s %d", way, dtype, &a->rank) != 3)
			continue;
		a->output = !strcmp(way, "out");
		a->size = size_of(dtype);
		n++;
	}
	int64_t *at = given;
	for (int i = 0; i < n; i++) {
		if (arrays[i].output)
			continue;
		take(at, (size_t)arrays[i].rank * sizeof *at);
		const size_t bytes = count(at, arrays[i].rank) * arrays[i].size;
		void *elements = room(bytes);
		take(elements, bytes);
		inputs[in++] = elements;
		at += arrays[i].rank;
	}
	if (MODEL(_lengths)(given, lengths))
		return 3;
	at = lengths;
	for (int i = 0; i < n; i++) {
		if (!arrays[i].output)
			continue;
		int open = 0;
		for (int k = 0; k < arrays[i].rank; k++)
			open |= at[k] == INT64_MIN;
		outputs[out++] = open ? NULL : room(count(at, arrays[i].rank) * arrays[i].size);
		at += arrays[i].rank;
	}
	size_t bytes = 0, need = 0;
	void *work = room(0);
	int status;
	while ((status = MODEL(_call)(given, inputs, lengths, outputs, work, bytes, &need)) == -1) {
		free(work);
		work = room(bytes = need);
	}
	if (status) {
		fputs(MODEL(_message)(status), stderr);
		return 1;
	}
	at = lengths;
	out = 0;
	for (int i = 0; i < n; i++) {
		if (!arrays[i].output)
			continue;
		fwrite(at, sizeof *at, (size_t)arrays[i].rank, stdout);
		fwrite(outputs[out++], arrays[i].size, count(at, arrays[i].rank), stdout);
		at += arrays[i].rank;
	}
	return 0;
}
