/*
 * depfile.c: "target: file..." for make (-MD).
 * In: targets and the files that a compilation read. Out: a rule that GNU make
 * reads back as exactly these names, or the name that no makefile can hold.
 */
#include <string.h>

#include "emit/emit.h"

#define LINE 78

#define WILDCARDS "*?["

/* Can a rule of make hold the name? There is no way to write some characters, and a backslash at
 * the end would escape what follows. make reads a backslash before a wildcard as part of the name
 * of a target that does not exist yet. */
static bool sayable(const char *name, bool target)
{
	size_t len = strlen(name);
	return len && !strpbrk(name, ";|\n\r") && name[len - 1] != '\\' &&
	       !(target && strpbrk(name, "%" WILDCARDS));
}

static void add_name(struct strbuf *out, const char *name)
{
	size_t backslashes = 0;
	if (name[0] == '~' || name[0] == '-')
		sb_str(out, "./");
	for (const char *p = name; *p; p++) {
		if (strchr(" \t#:" WILDCARDS, *p)) /* make halves the backslashes before */
			for (size_t i = 0; i <= backslashes; i++)
				sb_str(out, "\\");
		backslashes = *p == '\\' ? backslashes + 1 : 0;
		if (*p == '$')
			sb_str(out, "$$");
		else if (*p == '=')
			sb_str(out, "$(if 1,=)");
		else
			sb_add(out, p, 1);
	}
}

static void add_wrapped(struct strbuf *out, const char *name, size_t *column)
{
	if (*column + strlen(name) > LINE) {
		sb_str(out, " \\\n ");
		*column = 1;
	}
	size_t before = out->len;
	if (*column)
		sb_str(out, " ");
	add_name(out, name);
	*column += out->len - before;
}

const char *depfile(struct strbuf *out, const char *const *targets, size_t ntargets,
		    const char *const *files, size_t nfiles, size_t phony)
{
	size_t column = 0;
	for (size_t i = 0; i < ntargets; i++) {
		if (!sayable(targets[i], true))
			return targets[i];
		add_wrapped(out, targets[i], &column);
	}
	sb_str(out, ":");
	for (size_t i = 0; i < nfiles; i++) {
		if (!sayable(files[i], false))
			return files[i];
		add_wrapped(out, files[i], &column);
	}
	sb_str(out, "\n");
	for (size_t i = phony; i < nfiles; i++) {
		if (!sayable(files[i], true))
			continue;
		sb_str(out, "\n");
		add_name(out, files[i]);
		sb_str(out, ":\n");
	}
	return NULL;
}

const char *relative_name(const char *path, const char *here)
{
	size_t len = here ? strlen(here) : 0;
	if (!len || strncmp(path, here, len) || path[len] != '/')
		return path;
	return path[len + 1] ? path + len + 1 : path;
}
