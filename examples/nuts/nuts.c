/*
 * nuts.c: samples a posterior and prints a summary of it. The sampler is inside of the model, so
 * that the program runs the model once. Usage: nuts MODEL.onnx [SEED [CHAINS]]
 *
 * Each output of doubles [chains, draws, ...] is summarised: mean, standard deviation, 5% and 95%,
 * R-hat, and how many independent draws would tell as much.
 */
#define _POSIX_C_SOURCE 200809L
#include "../ort.h"
#include "../summary.h"

enum { MAX_OUTPUTS = 100, MAX_RANK = 8 };

/* Prints a line for each element of a variable: theta[0], theta[1], ... */
static void print_variable(const char *name, const double *values, const int64_t *dims, size_t rank)
{
	size_t chains = (size_t)dims[0], draws = (size_t)dims[1], size = 1;
	double *x = allocate(chains * draws, sizeof(*x));

	for (size_t k = 2; k < rank; k++)
		size *= (size_t)dims[k];
	for (size_t e = 0; e < size; e++) {
		char label[200];
		int at = snprintf(label, sizeof(label), "%.80s", name);
		size_t step = size;
		for (size_t k = 2; k < rank; k++) {
			size_t length = (size_t)dims[k];
			step /= length;
			at += snprintf(label + at, sizeof(label) - (size_t)at, "%s%zu%s",
				       k > 2 ? "" : "[", e / step % length,
				       k + 1 < rank ? ", " : "]");
		}
		for (size_t i = 0; i < chains * draws; i++)
			x[i] = values[i * size + e];
		struct summary s = summarise(x, chains, draws);
		printf("%-24s %10.3f %9.3f %10.3f %10.3f %7.3f %9.0f\n", label, s.mean, s.sd, s.low,
		       s.high, s.rhat, s.effective);
	}
	free(x);
}

/* ---- the model ---- */

static OrtValue *number(OrtMemoryInfo *memory, int64_t *value)
{
	OrtValue *v;

	must(ort->CreateTensorWithDataAsOrtValue(memory, value, sizeof(*value), NULL, 0,
						 ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, &v));
	return v;
}

/* The element type of an output, its values, and its dims */
static ONNXTensorElementDataType look(OrtValue *v, void **values, int64_t *dims, size_t *rank)
{
	OrtTensorTypeAndShapeInfo *info;
	ONNXTensorElementDataType type;

	must(ort->GetTensorTypeAndShape(v, &info));
	must(ort->GetTensorElementType(info, &type));
	must(ort->GetDimensionsCount(info, rank));
	if (*rank > MAX_RANK)
		exit((fputs("nuts: an output of too many dims\n", stderr), 1));
	must(ort->GetDimensions(info, dims, *rank));
	must(ort->GetTensorMutableData(v, values));
	ort->ReleaseTensorTypeAndShapeInfo(info);
	return type;
}

static int is_statistic(const char *name)
{
	static const char *const names[] = {"lp", "acceptance_rate", "energy", "energy_error"};
	static const char *const ends[] = {".next", "_rhat", "_ess"};

	for (size_t k = 0; k < sizeof(ends) / sizeof(*ends); k++) {
		size_t n = strlen(name), m = strlen(ends[k]);
		if (n > m && !strcmp(name + n - m, ends[k]))
			return 1;
	}

	for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++)
		if (!strcmp(name, names[k]))
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	char *names[MAX_OUTPUTS];
	OrtValue *out[MAX_OUTPUTS] = {0};
	OrtEnv *env;
	OrtMemoryInfo *memory;
	OrtAllocator *allocator;
	size_t inputs, outputs, rank;

	if (argc < 2 || argc > 4)
		return fputs("usage: nuts MODEL.onnx [SEED [CHAINS]]\n", stderr), 2;
	int64_t seed = argc > 2 ? atoll(argv[2]) : 1, chains = argc > 3 ? atoll(argv[3]) : 4;
	OrtSession *session = open_session(argv[1], &env);
	must(ort->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));
	must(ort->GetAllocatorWithDefaultOptions(&allocator));
	must(ort->SessionGetInputCount(session, &inputs));
	must(ort->SessionGetOutputCount(session, &outputs));
	if (inputs < 1 || inputs > 2 || outputs > MAX_OUTPUTS)
		return fputs("nuts: this is no sampler: its inputs are seed and chains\n", stderr),
		       1;
	for (size_t k = 0; k < outputs; k++)
		must(ort->SessionGetOutputName(session, k, allocator, &names[k]));

	const OrtValue *in[] = {number(memory, &seed), number(memory, &chains)};
	double start = seconds();
	must(ort->Run(session, NULL, (const char *[]){"seed", "chains"}, in, inputs,
		      (const char *const *)names, outputs, out));
	double time = seconds() - start;

	printf("%-24s %10s %9s %10s %10s %7s %9s\n", "", "mean", "sd", "5%", "95%", "R-hat",
	       "effective");
	size_t diverged = 0, draws = 0;
	for (size_t k = 0; k < outputs; k++) {
		int64_t dims[MAX_RANK];
		void *values;
		ONNXTensorElementDataType type = look(out[k], &values, dims, &rank);
		if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE && rank >= 2 && dims[1] > 3 &&
		    !is_statistic(names[k]))
			print_variable(names[k], values, dims, rank);
		if (!strcmp(names[k], "diverging")) {
			draws = (size_t)(dims[0] * dims[1]);
			for (size_t i = 0; i < draws; i++)
				diverged += ((const uint8_t *)values)[i];
		}
	}
	printf("\n%zu draws in %.2f seconds, %zu of them diverged\n", draws, time, diverged);
	ort->ReleaseSession(session);
	ort->ReleaseEnv(env);
	return 0;
}
