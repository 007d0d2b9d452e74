/*
 * line.c: fits a line to data by a model that has the sampler inside, and predicts new rows, in one
 * file. Usage: line MODEL.onnx [SEED [CHAINS [STEPS]]]. With STEPS the run is taken in parts of so
 * many steps of the sampler's loop: what a part leaves behind, the outputs state_....next, are
 * inputs of the next one. The draws are the same.
 */
#define _POSIX_C_SOURCE 200809L
#include "../ort.h"
#include "../summary.h"

#include <stdbool.h>
#include <string.h>

enum { ROWS = 20, NEW_ROWS = 3, DRAWS = 1000, TUNE = 1000, MAX_STATES = 20 };

/* What a run is between two parts: the names of inputs with default values, and of the outputs that
 * have their next values. */
struct states {
	size_t n;
	char *names[MAX_STATES], next[MAX_STATES][100];
	OrtValue *values[MAX_STATES];
};

static OrtMemoryInfo *memory;

static OrtValue *numbers(double *x, int64_t n)
{
	OrtValue *v;

	must(ort->CreateTensorWithDataAsOrtValue(memory, x, (size_t)n * sizeof(*x), &n, 1,
						 ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, &v));
	return v;
}

static OrtValue *integer(int64_t *x)
{
	OrtValue *v;

	must(ort->CreateTensorWithDataAsOrtValue(memory, x, sizeof(*x), NULL, 0,
						 ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, &v));
	return v;
}

static void *contents(OrtValue *v)
{
	void *data;

	must(ort->GetTensorMutableData(v, &data));
	return data;
}

static size_t elements(OrtValue *v)
{
	OrtTensorTypeAndShapeInfo *info;
	size_t n;

	must(ort->GetTensorTypeAndShape(v, &info));
	must(ort->GetTensorShapeElementCount(info, &n));
	ort->ReleaseTensorTypeAndShapeInfo(info);
	return n;
}

static void find_states(struct states *s, OrtSession *session)
{
	OrtAllocator *allocator;

	must(ort->GetAllocatorWithDefaultOptions(&allocator));
	must(ort->SessionGetOverridableInitializerCount(session, &s->n));
	if (s->n > MAX_STATES)
		exit((fputs("line: a model of too many states\n", stderr), 1));
	for (size_t k = 0; k < s->n; k++) {
		must(ort->SessionGetOverridableInitializerName(session, k, allocator,
							       &s->names[k]));
		snprintf(s->next[k], sizeof(s->next[k]), "%s.next", s->names[k]);
	}
}

/* How many draws the chain has that has the fewest */
static int64_t fewest(const struct states *s)
{
	int64_t least = TUNE + DRAWS;

	for (size_t k = 0; k < s->n; k++) {
		if (strcmp(s->names[k], "state_done"))
			continue;
		const int64_t *done = contents(s->values[k]);
		for (size_t i = elements(s->values[k]); i-- > 0;)
			least = done[i] < least ? done[i] : least;
	}
	return least;
}

int main(int argc, char **argv)
{
	static const char *const given[] = {"seed", "chains", "x", "seen", "x_new"};
	static const char *const wanted[] = {"y_new", "b", "b_rhat", "b_ess"};
	enum { GIVEN = 5, WANTED = 4 };
	double x[ROWS], seen[ROWS], new_rows[NEW_ROWS] = {0, 0.5, 3};
	struct states s = {0};
	OrtEnv *env;

	if (argc < 2 || argc > 5)
		return fputs("usage: line MODEL.onnx [SEED [CHAINS [STEPS]]]\n", stderr), 2;
	int64_t seed = argc > 2 ? atoll(argv[2]) : 1, chains = argc > 3 ? atoll(argv[3]) : 4;
	int64_t steps = argc > 4 ? atoll(argv[4]) : INT64_MAX;
	for (int i = 0; i < ROWS; i++) {
		x[i] = i / 9.5 - 1;
		seen[i] = 0.5 + 2 * x[i] + 0.1 * (i * 7 % 5 - 2);
	}
	OrtSession *session = open_session(argv[1], &env);
	must(ort->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));
	find_states(&s, session);

	double start = seconds();
	size_t drawn = 0, size = (size_t)chains * DRAWS * NEW_ROWS;
	double *y = allocate(size, sizeof(*y)), rhat = 0, effective = 0;
	const OrtValue *in[GIVEN + MAX_STATES] = {integer(&seed), integer(&chains),
						  numbers(x, ROWS), numbers(seen, ROWS),
						  numbers(new_rows, NEW_ROWS)};
	do {
		const char *in_names[GIVEN + MAX_STATES], *out_names[WANTED + MAX_STATES];
		OrtValue *out[WANTED + MAX_STATES] = {0};
		size_t n = GIVEN;
		memcpy(in_names, given, sizeof(given));
		memcpy(out_names, wanted, sizeof(wanted));
		for (size_t k = 0; k < s.n; k++) {
			bool limit = !strcmp(s.names[k], "state_steps");
			out_names[WANTED + k] = s.next[k];
			if (!limit && !s.values[k])
				continue; /* the run begins: the default value */
			in_names[n] = s.names[k];
			in[n++] = limit ? integer(&steps) : s.values[k];
		}
		must(ort->Run(session, NULL, in_names, in, n, out_names, WANTED + s.n, out));
		for (size_t k = 0; k < s.n; k++) {
			if (s.values[k])
				ort->ReleaseValue(s.values[k]);
			s.values[k] = out[WANTED + k];
		}
		/* the order of the draws does not count for quantiles */
		size_t more = elements(out[0]);
		if (more)
			memcpy(y + drawn, contents(out[0]), more * sizeof(*y));
		drawn += more;
		rhat = *(double *)contents(out[2]);
		effective = *(double *)contents(out[3]);
		for (size_t k = 0; k < WANTED; k++)
			ort->ReleaseValue(out[k]);
		fprintf(stderr, "%d of %d draws, %.1f seconds\n", (int)fewest(&s), TUNE + DRAWS,
			seconds() - start);
	} while (drawn < size);

	if (argc < 5)
		printf("slope: R-hat %.3f, %.0f effective draws\n", rhat, effective);
	for (int r = 0; r < NEW_ROWS; r++) {
		size_t n = size / NEW_ROWS;
		double *row = allocate(n, sizeof(*row));
		for (size_t i = 0; i < n; i++)
			row[i] = y[i * NEW_ROWS + (size_t)r];
		struct summary y_new = summarise(row, (size_t)chains, DRAWS);
		printf("x = %.1f: y from %.3f to %.3f (90%%)\n", new_rows[r], y_new.low,
		       y_new.high);
		free(row);
	}
	ort->ReleaseSession(session);
	ort->ReleaseEnv(env);
	return 0;
}
