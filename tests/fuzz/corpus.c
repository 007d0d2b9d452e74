/*
 * corpus.c COUNT JOBS FOLDER FILE...: the fixed corpus of `make check`. COUNT texts, which are the
 * files with changes (mutate.c), go through fuzz.c; they are the same in every run. A text that
 * ends its process is written to FOLDER. One of JOBS processes tries every JOBS-th text; a text has
 * LIMIT seconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"

#define LIMIT 10 /* seconds of a processor, which other work does not use up */

struct seed {
	char *text;
	size_t len;
};

static struct seed read_seed(const char *path)
{
	struct seed s = {.text = malloc(MAX_TEXT)};
	FILE *f = fopen(path, "rb");

	if (!f || !s.text) {
		perror(path);
		exit(2);
	}
	s.len = fread(s.text, 1, MAX_TEXT, f);
	fclose(f);
	return s;
}

/* The first texts are the files as they are. */
static size_t make_text(const struct seed *seeds, size_t nseeds, size_t number, char *text)
{
	uint64_t r = number;
	const struct seed *s = &seeds[number < nseeds ? number : next_random(&r) % nseeds];
	const struct seed *other = &seeds[next_random(&r) % nseeds];

	memcpy(text, s->text, s->len);
	if (number < nseeds)
		return s->len;
	return mutate(text, s->len, MAX_TEXT, other->text, other->len, r);
}

static void keep(const char *folder, size_t number, const char *text, size_t len)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/crash-%zu.ptg", folder, number);
	FILE *f = fopen(path, "wb");
	if (f) {
		fwrite(text, 1, len, f);
		fclose(f);
	}
	fprintf(stderr, "corpus: text %zu ended the process; it is kept in %s\n", number, path);
}

int main(int argc, char **argv)
{
	static char text[MAX_TEXT];
	size_t count = argc > 4 ? strtoul(argv[1], NULL, 10) : 0;
	size_t jobs = count ? strtoul(argv[2], NULL, 10) : 0, nseeds = (size_t)argc - 4;
	const struct itimerval limit = {.it_value = {.tv_sec = LIMIT}};
	bool failed = false;

	if (!jobs || jobs > 256)
		return 2;
	struct seed *seeds = calloc(nseeds, sizeof(*seeds));
	size_t *at = mmap(NULL, jobs * sizeof(*at), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t *pids = calloc(jobs, sizeof(*pids));
	if (!seeds || at == MAP_FAILED || !pids)
		return 2;
	for (size_t i = 0; i < nseeds; i++)
		seeds[i] = read_seed(argv[4 + i]);
	for (size_t j = 0; j < jobs; j++) {
		pids[j] = fork();
		for (size_t i = j; !pids[j] && i < count; i += jobs) {
			at[j] = i; /* the parent reads what a child that dies was at */
			setitimer(ITIMER_PROF, &limit, NULL);
			size_t len = make_text(seeds, nseeds, i, text);
			LLVMFuzzerTestOneInput((uint8_t *)text, len);
		}
		if (!pids[j])
			exit(0); /* looks for leaks */
	}
	for (size_t j = 0; j < jobs; j++) {
		int status = 1;
		if (pids[j] < 0 || waitpid(pids[j], &status, 0) < 0 || status) {
			keep(argv[3], at[j], text, make_text(seeds, nseeds, at[j], text));
			failed = true;
		}
	}
	for (size_t i = 0; i < nseeds; i++)
		free(seeds[i].text);
	free(seeds);
	free(pids);
	if (!failed)
		printf("%zu inputs without a finding\n", count);
	return failed;
}
