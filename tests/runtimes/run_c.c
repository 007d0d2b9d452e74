/*
 * run_c.c: the driver of ONNX Runtime in C. Usage: run_c CASES RESULTS < lines of cases.txt
 * The files are those that cases.py describes.
 */
#include <onnxruntime_c_api.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TENSORS 64
#define MAX_RANK    16

static const struct {
	const char *name;
	ONNXTensorElementDataType type;
	size_t size;
} dtypes[] = {
	{"float64", ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, 8},
	{"float32", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, 4},
	{"float16", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, 2},
	{"bool", ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, 1},
	{"int8", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, 1},
	{"int16", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, 2},
	{"int32", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, 4},
	{"int64", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, 8},
	{"uint8", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, 1},
	{"uint16", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, 2},
	{"uint32", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, 4},
	{"uint64", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64, 8},
};
#define NDTYPES (sizeof(dtypes) / sizeof(*dtypes))

static const OrtApi *ort;
static OrtAllocator *allocator;

static void must(OrtStatus *status)
{
	if (!status)
		return;
	fprintf(stderr, "%s\n", ort->GetErrorMessage(status));
	exit(1);
}

static FILE *must_open(const char *folder, const char *name, const char *suffix, const char *mode)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s%s", folder, name, suffix);
	FILE *f = fopen(path, mode);
	if (!f) {
		perror(path);
		exit(1);
	}
	return f;
}

/* Writes the message of a failed call as the result of the case. true: the call did not fail. */
static bool passed(OrtStatus *status, const char *results, const char *id, const char *when)
{
	if (!status)
		return true;
	FILE *f = must_open(results, id, ".out", "w");
	fprintf(f, "%s ", when);
	for (const char *s = ort->GetErrorMessage(status); *s; s++)
		fputc(*s == '\n' ? ' ' : *s, f);
	fputc('\n', f);
	fclose(f);
	ort->ReleaseStatus(status);
	return false;
}

static size_t read_inputs(const char *cases, const char *id, char **names, OrtValue **values)
{
	FILE *text = must_open(cases, id, ".in", "r"), *data = must_open(cases, id, ".bin", "rb");
	char line[4096];
	size_t n = 0;

	for (; n < MAX_TENSORS && fgets(line, sizeof(line), text); n++) {
		int64_t shape[MAX_RANK];
		size_t rank = 0, count = 1, d = 0;
		names[n] = strdup(strtok(line, " \n"));
		const char *dtype = strtok(NULL, " \n");
		while (d < NDTYPES - 1 && strcmp(dtypes[d].name, dtype))
			d++;
		for (char *word; rank < MAX_RANK && (word = strtok(NULL, " \n"));)
			count *= (size_t)(shape[rank++] = strtoll(word, NULL, 10));
		void *to;
		must(ort->CreateTensorAsOrtValue(allocator, shape, rank, dtypes[d].type,
						 &values[n]));
		must(ort->GetTensorMutableData(values[n], &to));
		if (count && fread(to, dtypes[d].size, count, data) != count)
			exit(1);
	}
	fclose(text);
	fclose(data);
	return n;
}

static void write_outputs(const char *results, const char *id, char **names, OrtValue **values,
			  size_t n)
{
	FILE *data = must_open(results, id, ".bin", "wb"), *text;
	char *lines;
	size_t length;

	text = open_memstream(&lines, &length);
	for (size_t i = 0; i < n; i++) {
		OrtTensorTypeAndShapeInfo *info;
		ONNXTensorElementDataType type;
		int64_t shape[MAX_RANK];
		size_t rank, count, d = 0;
		void *from;
		must(ort->GetTensorTypeAndShape(values[i], &info));
		must(ort->GetTensorElementType(info, &type));
		must(ort->GetDimensionsCount(info, &rank));
		must(ort->GetDimensions(info, shape, rank));
		must(ort->GetTensorShapeElementCount(info, &count));
		must(ort->GetTensorMutableData(values[i], &from));
		while (d < NDTYPES - 1 && dtypes[d].type != type)
			d++;
		fwrite(from, dtypes[d].size, count, data);
		fprintf(text, "%s %s", names[i], dtypes[d].name);
		for (size_t k = 0; k < rank; k++)
			fprintf(text, " %lld", (long long)shape[k]);
		fputc('\n', text);
		ort->ReleaseTensorTypeAndShapeInfo(info);
	}
	fclose(data);
	fclose(text);
	FILE *out = must_open(results, id, ".out", "w");
	fputs(lines, out);
	fclose(out);
	free(lines);
}

static void run(OrtSession *session, const char *cases, const char *results, const char *id)
{
	char *in_names[MAX_TENSORS], *out_names[MAX_TENSORS];
	OrtValue *in[MAX_TENSORS] = {0}, *out[MAX_TENSORS] = {0};
	size_t nin = read_inputs(cases, id, in_names, in), nout;

	must(ort->SessionGetOutputCount(session, &nout));
	for (size_t i = 0; i < nout; i++)
		must(ort->SessionGetOutputName(session, i, allocator, &out_names[i]));
	if (passed(ort->Run(session, NULL, (const char *const *)in_names,
			    (const OrtValue *const *)in, nin, (const char *const *)out_names, nout,
			    out),
		   results, id, "run"))
		write_outputs(results, id, out_names, out, nout);
	for (size_t i = 0; i < nin; i++) {
		ort->ReleaseValue(in[i]);
		free(in_names[i]);
	}
	for (size_t i = 0; i < nout; i++) {
		ort->ReleaseValue(out[i]);
		allocator->Free(allocator, out_names[i]);
	}
}

int main(int argc, char **argv)
{
	char line[4096], loaded[4096] = "";
	OrtSession *session = NULL;
	OrtSessionOptions *options;
	OrtEnv *env;

	if (argc != 3)
		return 2;
	ort = OrtGetApiBase()->GetApi(ORT_API_VERSION);
	FILE *version = must_open(argv[2], "version", "", "w");
	fprintf(version, "ONNX Runtime %s (C)", OrtGetApiBase()->GetVersionString());
	fclose(version);
	must(ort->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "run_c", &env));
	must(ort->CreateSessionOptions(&options));
	must(ort->SetIntraOpNumThreads(options, 1));
	must(ort->GetAllocatorWithDefaultOptions(&allocator));
	while (fgets(line, sizeof(line), stdin)) {
		const char *id = strtok(line, " \n"), *model = strtok(NULL, " \n");
		char path[8200];
		if (!session || strcmp(model, loaded)) {
			if (session)
				ort->ReleaseSession(session);
			session = NULL;
			snprintf(path, sizeof(path), "%s/%s", argv[1], model);
			if (!passed(ort->CreateSession(env, path, options, &session), argv[2], id,
				    "load"))
				continue;
			snprintf(loaded, sizeof(loaded), "%s", model);
		}
		run(session, argv[1], argv[2], id);
	}
	return 0;
}
