/*
 * ort.h: what the C programs of the examples share: ONNX Runtime's functions, its errors, a session
 * of one thread, the time.
 */
#ifndef EXAMPLES_ORT_H
#define EXAMPLES_ORT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <onnxruntime_c_api.h>

static const OrtApi *ort;

/* Ends the program with ONNX Runtime's message if there is one. */
static void must(OrtStatus *status)
{
	if (!status)
		return;
	fprintf(stderr, "error: %s\n", ort->GetErrorMessage(status));
	exit(1);
}

static OrtSession *open_session(const char *model, OrtEnv **env)
{
	OrtSessionOptions *options;
	OrtSession *session;

	ort = OrtGetApiBase()->GetApi(ORT_API_VERSION);
	if (!ort)
		exit((fputs("error: ONNX Runtime's library is older than the header\n", stderr),
		      1));
	/* it warns of each input with a default value */
	must(ort->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "example", env));
	must(ort->CreateSessionOptions(&options));
	must(ort->SetIntraOpNumThreads(options, 1));
	must(ort->CreateSession(*env, model, options, &session));
	ort->ReleaseSessionOptions(options);
	return session;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
