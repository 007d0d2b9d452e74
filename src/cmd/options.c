/*
 * options.c: the command's options, from one table that --help prints too.
 * In: arguments. Out: a struct cmd, and from it the options of a compilation.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "target/target.h"

#define ORT_CPU_RELEASE "ort-cpu:1." /* and a number: from that release on */

#define AT(field) offsetof(struct cmd, field)

enum kind { HEADING, FLAG, TEXT, OPTIONAL /* sets the bool before it too */, LIST, JOINED };
static const struct option {
	const char *name, *arg;
	enum kind kind;
	size_t at, flag; /* in struct cmd */
	const char *help;
} options[] = {
	{NULL, NULL, HEADING, 0, 0, "Output"},
	{"-o", "FILE", TEXT, AT(output), 0, "write there; default: the input's name with .onnx"},
	{"--opset", "N", LIST, AT(opsets), 0, "ONNX operator set"},
	{"--target", "NAME", TEXT, AT(target), 0,
	 "ort-cpu: what ONNX Runtime runs (default) from 1.29 on, or ort-cpu:1.20: from 1.20 on;\n"
	 "                           ort-web: what it runs in browsers; portable: "
	 "what\n"
	 "                           all of ONNX Runtime from 1.17 on, ONNX Runtime Web and "
	 "OpenVINO run; onnx: the\n"
	 "                           specification alone; c: C, no ONNX (default if -o ends in "
	 ".c)"},
	{"--math", "LEVEL", TEXT, AT(math), 0,
	 "how close to PyTensor: exact, standard (default) or native, the fastest"},
	{"-O", "LEVEL", JOINED, AT(flags), 0,
	 "1 (default), or 0: without the passes that a correct model does not need"},
	{"--float32", NULL, FLAG, AT(float32), 0, "compute in float32 what is float64 in the file"},
	{"--strip", NULL, FLAG, AT(strip), 0,
	 "leave out the places in the .ptg file that nodes come from"},
	{"--external-data", "FILE", OPTIONAL, AT(external_name), AT(external),
	 "put weights in FILE beside the model; default: its name, the hash of what\n"
	 "                           they hold, and .data"},
	{"--model-name", "NAME", TEXT, AT(model_name), 0,
	 "name of the model's graph; default: that of the graph in the file"},
	{"--model-version", "N", TEXT, AT(model_version), 0, "version of the model; default 1"},
	{"--doc", "TEXT", TEXT, AT(doc), 0, "what the model is, for people"},
	{"--meta", "KEY=VALUE", LIST, AT(meta), 0, "metadata of the model, for programs"},
	{"--expect", "DIM=LENGTH", LIST, AT(expected), 0,
	 "roughly how long such dims will be; the model is made fast for that"},
	{"--state", "HOW", TEXT, AT(state), 0,
	 "defaults: states are inputs with default values (default); inputs: plain ones"},
	{"--dump", "STAGE", TEXT, AT(dump), 0,
	 "print a stage instead: ast, typed, lowered, or onnx (the model as text)"},
	{"--required-ops", NULL, FLAG, AT(required_ops), 0,
	 "print its operators instead, for a reduced build of ONNX Runtime"},
	{"--least-runtime", NULL, FLAG, AT(least_runtime), 0,
	 "print the least release of ONNX Runtime that computes it instead"},
	{NULL, NULL, HEADING, 0, 0, "Input"},
	{"--allow", "DIR", LIST, AT(allow), 0, "let file(...) and use read below DIR too"},
	{NULL, NULL, HEADING, 0, 0, "Dependencies, for make"},
	{"-MD", NULL, FLAG, AT(md), 0,
	 "write which files the model is made from, as a rule for make"},
	{"-MF", "FILE", TEXT, AT(depfile), AT(md),
	 "write it there; default: the output's name with .d"},
	{"-MT", "TARGET", LIST, AT(targets), AT(md), "its target; default: the output"},
	{"-MP", NULL, FLAG, AT(mp), AT(md),
	 "add an empty rule for each file, so that files may be removed"},
	{NULL, NULL, HEADING, 0, 0, "Messages"},
	{"-W", "[no-]NAME", JOINED, AT(flags), 0, "switch a warning on or off"},
	{"-Werror", "[=NAME]", JOINED, AT(flags), 0, "make errors of all warnings, or of that one"},
	{"--max-errors", "N", TEXT, AT(max_errors), 0,
	 "how many errors, and how many warnings, are shown; 0: all; default 20"},
	{"--color", "WHEN", TEXT, AT(color), 0, "auto (default), always or never"},
	{"--explain", "CODE", TEXT, AT(explain), 0,
	 "say more about the code of a message, such as PTG0200"},
	{NULL, NULL, HEADING, 0, 0, "Other"},
	{"-f", "[no-]NAME", JOINED, AT(flags), 0,
	 "switch a rewrite or rule on or off; -fverify-each checks each pass, -fentry adds to C"},
	{"--ops", "NAME", OPTIONAL, AT(ops), AT(list_ops),
	 "list all ops and what is supported, or describe one: --ops=Sum"},
	{"--passes", NULL, FLAG, AT(list_passes), 0, "list the passes of the compiler"},
	{"--print-after", "PASS", LIST, AT(print_after), 0,
	 "print the graph on standard error after that pass, or after all"},
	{"--version", NULL, FLAG, AT(version), 0, "print the version"},
	{"--help", NULL, FLAG, AT(help), 0, "print this"},
	{NULL, NULL, HEADING, 0, 0, "ptgc fmt"},
	{"--check", NULL, FLAG, AT(check), 0, "print the names of files that it would change"},
	{"-i", NULL, FLAG, AT(in_place), 0, "change the files"},
};

static int unknown_option(const char *arg)
{
	const char *names[countof(options)];
	char word[64];
	size_t n = 0, dashes = strspn(arg, "-"); /* leading dashes do not count as alike */
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(arg + dashes, "="), arg + dashes);
	for (size_t i = 0; i < countof(options); i++)
		if (options[i].name && options[i].kind != JOINED)
			names[n++] = options[i].name + strspn(options[i].name, "-");
	const char *near = strlen(word) > 1 ? did_you_mean(word, names, n) : NULL;
	for (size_t i = 0; i < n; i++)
		near = strcmp(word, names[i]) ? near : names[i];
	return near ? usage("unknown option '%s', did you mean '%s%s'?", arg,
			    strlen(near) > 2 ? "--" : "-", near)
		    : usage("unknown option '%s'", arg);
}

/* The option that arg names, and the value after its = in *value: --opset=18, but not
 * -omodel.onnx. */
static const struct option *find_option(const char *arg, const char **value)
{
	*value = NULL;
	for (size_t i = 0; i < countof(options); i++) {
		const struct option *o = &options[i];
		size_t len = o->name ? strlen(o->name) : 0;
		if (!len || strncmp(arg, o->name, len))
			continue;
		if (o->kind == JOINED && arg[len]) {
			*value = arg + 1;
			return o;
		}
		if (arg[len] == '=' && arg[1] == '-' && o->kind != FLAG)
			*value = arg + len + 1;
		if (!arg[len] || *value)
			return o;
	}
	return NULL;
}

static int set_option(struct cmd *c, const struct option *o, const char *value)
{
	char *base = (char *)c;
	if (o->flag)
		*(bool *)(base + o->flag) = true;
	if (o->kind == FLAG) {
		*(bool *)(base + o->at) = true;
	} else if (o->kind == LIST || o->kind == JOINED) {
		struct list *l = (struct list *)(base + o->at);
		l->at[l->n++] = value;
	} else {
		*(const char **)(base + o->at) = value;
	}
	return EXIT_OK;
}

int parse_options(struct cmd *c, int argc, char **argv)
{
	bool only_names = false;
	for (int i = 0; i < argc; i++) {
		const char *arg = argv[i], *value;
		if (only_names || arg[0] != '-' || !arg[1] || arg[1] == ':') {
			c->inputs.at[c->inputs.n++] = arg;
			continue;
		}
		if (!strcmp(arg, "--")) {
			only_names = true;
			continue;
		}
		const struct option *o = find_option(!strcmp(arg, "-h") ? "--help" : arg, &value);
		if (!o)
			return unknown_option(arg);
		if (o->kind == JOINED && !value)
			return usage("%s needs a %s directly after it, as in %s%s", arg,
				     arg[1] == 'O' ? "level" : "name", arg,
				     arg[1] == 'O'   ? "0"
				     : arg[1] == 'W' ? "no-unused"
						     : "no-check-dims");
		if ((o->kind == TEXT || o->kind == LIST) && !value) {
			if (i + 1 == argc)
				return usage("%s needs an argument: %s", arg, o->arg);
			value = argv[++i];
		}
		set_option(c, o, value);
	}
	return EXIT_OK;
}

/* The names that -W or -f takes. */
#define MAX_FLAGS  (DIAG_COUNT + 64)
#define MAX_PASSES 64
static size_t flag_names(char kind, const char **names)
{
	size_t n = 0;
	const char *name;
	for (size_t i = 0; kind == 'W' && i < DIAG_COUNT; i++)
		if (diag_infos[i].severity != PTGC_ERROR)
			names[n++] = diag_infos[i].name;
	while (kind == 'f' && n < MAX_FLAGS && (name = flag_name(n)))
		names[n++] = name;
	return n;
}

void print_help(void)
{
	fputs("usage: ptgc [options] model.ptg [-o model.onnx | -o model.c]\n"
	      "       ptgc fmt [--check | -i] [file.ptg...]\n"
	      "       ptgc check [options] file.ptg...\n"
	      "       ptgc why file.ptg:LINE\n"
	      "       ptgc dump model.onnx\n\n"
	      "Compiles a .ptg file, a PyTensor graph as text, to an ONNX model or to C. fmt "
	      "prints\n"
	      ".ptg files in their canonical form, check reports their mistakes, and dump prints "
	      "a\n"
	      "model as text. '-' is standard input or output.\n"
	      "why prints the types of the values in a line, and where their dtypes and sizes "
	      "come\n"
	      "from. file.ptg:LINE:COLUMN and file.ptg:NAME ask for one value. For a line of a "
	      "file\n"
	      "that file.ptg uses, write file.ptg:used.ptg:LINE.\n",
	      stdout);
	for (size_t i = 0; i < countof(options); i++) {
		const struct option *o = &options[i];
		char left[40];
		const char *between = o->kind == JOINED ? "" : o->kind == OPTIONAL ? "[=" : " ";
		if (o->kind == HEADING) {
			printf("\n%s:\n", o->help);
			continue;
		}
		snprintf(left, sizeof(left), "%s%s%s%s", o->name, o->arg ? between : "",
			 o->arg ? o->arg : "", o->arg && o->kind == OPTIONAL ? "]" : "");
		printf("  %-24s %s", left, o->help);
		if (o->at == AT(opsets))
			printf(", %d to %d; default %d; ai.onnx.ml:4: version of that domain, 1 to "
			       "%d",
			       MIN_OPSET, MAX_OPSET, OPSET, MAX_ML_OPSET);
		putchar('\n');
	}
	puts("\n-f of numerics, as --math=exact, standard and native set them (1: on):");
	for (size_t i = 0; i < countof(numerics); i++)
		printf("  %-24s %d %d %d  %s\n", numerics[i].name, numerics[i].level[PTGC_EXACT],
		       numerics[i].level[PTGC_STANDARD], numerics[i].level[PTGC_NATIVE],
		       numerics[i].help);
	const char *names[MAX_FLAGS];
	for (const char *kind = "Wf"; *kind; kind++) {
		size_t n = flag_names(*kind, names);
		printf("\n%s:", *kind == 'W' ? "Warnings" : "Rewrites");
		for (size_t i = 0; i < n; i++)
			if (*kind == 'W' || flag_is_rewrite(i))
				printf(" %s", names[i]);
	}
	fputs("\n\nExit status: 0 done, 1 the input is rejected, 2 wrong usage, I/O error or no "
	      "memory.\n",
	      stdout);
}

static const char *const states[] = {"defaults", "inputs"};
static const char *const stages[] = {"ast",  "typed",      "lowered",
				     "onnx", REQUIRED_OPS, LEAST_RUNTIME};

/* The index of a word among the words that an option takes; -1: none, reported. */
static int choose(const char *option, const char *word, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(word, words[i]))
			return (int)i;
	fprintf(stderr, "ptgc: %s: there is no '%s', only", option, word);
	for (size_t i = 0; i < n; i++)
		fprintf(stderr, "%s %s", i ? "," : "", words[i]);
	fputs("\nTry 'ptgc --help'.\n", stderr);
	return -1;
}

/* The target that "onnx", or "ort-cpu:1.20" with its release, names; -1: none, reported. */
static int choose_target(struct ctx *cx, const char *text)
{
	const char *number = text + strlen(ORT_CPU_RELEASE);
	char *end = NULL;

	if (strncmp(text, ORT_CPU_RELEASE, strlen(ORT_CPU_RELEASE)))
		return choose("--target", text, target_names, countof(target_names));
	long release = strtol(number, &end, 10);
	if (release < oldest_release() || release > newest_release() || (*end && *end != '.')) {
		usage("--target: releases of ONNX Runtime from 1.%d to 1.%d are known, not '%s'",
		      oldest_release(), newest_release(), text + strlen("ort-cpu:"));
		return -1;
	}
	cx->opt.runtime = (int)release;
	return PTGC_ORT_CPU;
}

static int unknown_flag(const char *flag)
{
	const char *names[MAX_FLAGS], *name = flag + 1;
	if (flag[0] == 'O')
		return usage("-O: expected 0 or %d, not '%s'", MAX_LEVEL, flag + 1);
	name += !strncmp(name, "no-", 3) ? 3 : 0;
	name += !strncmp(name, "error=", 6) ? 6 : 0;
	const char *near = did_you_mean(name, names, flag_names(flag[0], names));
	if (near)
		return usage("unknown option '-%s', did you mean '-%.*s%s'?", flag,
			     (int)(name - flag), flag, near);
	return usage("unknown option '-%s'", flag);
}

int set_max_errors(struct ctx *cx, const struct cmd *c)
{
	char *end;
	if (!c->max_errors)
		return EXIT_OK;
	long n = strtol(c->max_errors, &end, 10);
	if (end == c->max_errors || *end || n < 0)
		return usage("--max-errors: expected a number, not '%s'", c->max_errors);
	cx->opt.max_errors = n < UINT32_MAX ? (uint32_t)n : 0;
	return EXIT_OK;
}

/* text: "18", or "ai.onnx.ml:4". false: reported */
static bool set_opset(struct ctx *cx, const char *text)
{
	const char *colon = strchr(text, ':'), *number = colon ? colon + 1 : text;
	int least = colon ? 1 : MIN_OPSET, greatest = colon ? MAX_ML_OPSET : MAX_OPSET;
	char *end;
	long n = strtol(number, &end, 10);

	if (colon && strncmp(text, "ai.onnx.ml:", (size_t)(number - text))) {
		usage("--opset: versions are those of ONNX and of ai.onnx.ml, not of '%.*s'",
		      (int)(colon - text), text);
		return false;
	}
	if (end == number || *end || n < least || n > greatest) {
		usage("--opset: expected a number from %d to %d, not '%s'", least, greatest,
		      number);
		return false;
	}
	*(colon ? &cx->opt.ml_opset : &cx->opt.opset) = (int)n;
	return true;
}

/* Is it a pass, or "all"? false: reported */
static bool is_pass(const char *text)
{
	const char *names[MAX_PASSES + 1] = {"all"}, *name;
	size_t n = 1;

	while (n <= MAX_PASSES && (name = pass_name(n - 1)))
		names[n++] = name;
	for (size_t i = 0; i < n; i++)
		if (!strcmp(text, names[i]))
			return true;
	const char *near = did_you_mean(text, names, n);
	if (near)
		usage("--print-after: there is no pass '%s', did you mean '%s'?", text, near);
	else
		usage("--print-after: there is no pass '%s'; --passes lists them", text);
	return false;
}

static void print_trace(const char *text, size_t len)
{
	fwrite(text, 1, len, stderr);
}

/* -o m.so would be a model of ONNX that no program takes for one. */
static int check_output(const struct cmd *c, enum ptgc_target target)
{
	static const struct {
		const char *suffix, *what;
	} of_c[] = {
		{".so", "library"}, {".dylib", "library"}, {".dll", "library"}, {".a", "library"},
		{".o", "object"},   {".obj", "object"},    {".h", "header"},    {".cc", NULL},
		{".cpp", NULL},     {".cxx", NULL},
	};
	const char *suffix = c->output ? strrchr(c->output, '.') : NULL;

	for (size_t i = 0; suffix && i < countof(of_c); i++) {
		int stem = (int)(suffix - c->output);
		if (strcmp(suffix, of_c[i].suffix) || (c->target && target != PTGC_C))
			continue;
		if (!strcmp(suffix, ".h"))
			return usage("-o %s: write -o %.*s.c, whose header is that file", c->output,
				     stem, c->output);
		if (of_c[i].what)
			return usage("-o %s: ptgc makes no %s; write -o %.*s.c, and compile that",
				     c->output, of_c[i].what, stem, c->output);
		if (!c->target)
			return usage("-o %s: write --target=c too, for C that is C++ as well",
				     c->output);
	}
	return EXIT_OK;
}

/* What says something of ONNX models alone */
static int check_for_c(const struct cmd *c)
{
	const struct {
		bool given;
		const char *option;
	} of_onnx[] = {
		{c->opsets.n > 0, "--opset"},
		{c->model_version, "--model-version"},
		{c->doc, "--doc"},
		{c->meta.n > 0, "--meta"},
		{c->required_ops, "--required-ops"},
		{c->least_runtime, "--least-runtime"},
	};

	for (size_t i = 0; i < countof(of_onnx); i++)
		if (of_onnx[i].given)
			return usage("%s is for ONNX models; C has nothing like it",
				     of_onnx[i].option);
	return EXIT_OK;
}

int compile_options(struct ctx *cx, const struct cmd *c, enum stage *stage)
{
	int n = 0;
	for (size_t i = 0; i < c->opsets.n; i++)
		if (!set_opset(cx, c->opsets.at[i]))
			return EXIT_USAGE;
	if (c->target && (n = choose_target(cx, c->target)) < 0)
		return EXIT_USAGE;
	const char *suffix = c->output && !c->target ? strrchr(c->output, '.') : NULL;
	bool is_c = suffix && !strcmp(suffix, ".c");
	cx->opt.target = c->target ? (enum ptgc_target)n : is_c ? PTGC_C : PTGC_ORT_CPU;
	int code = check_output(c, cx->opt.target);
	if (!code && cx->opt.target == PTGC_C)
		code = check_for_c(c);
	if (code)
		return code;
	if (c->math && (n = choose("--math", c->math, math_names, countof(math_names))) < 0)
		return EXIT_USAGE;
	set_math(cx, c->math ? (enum ptgc_math)n : PTGC_STANDARD);
	n = c->state ? choose("--state", c->state, states, countof(states)) : 0;
	if (n < 0)
		return EXIT_USAGE;
	cx->opt.state_inputs = n == 1;
	if (c->dump && (n = choose("--dump", c->dump, stages, countof(stages))) < 0)
		return EXIT_USAGE;
	*stage = c->dump ? (enum stage)(STAGE_AST + n) : STAGE_MODEL;
	const char *unknown = compile_flags(cx, c->flags.at);
	if (unknown)
		return unknown_flag(unknown);
	for (size_t i = 0; i < c->print_after.n; i++)
		if (!is_pass(c->print_after.at[i]))
			return EXIT_USAGE;
	cx->opt.print_after = c->print_after.at;
	cx->trace = print_trace;
	for (size_t i = 0; i < c->meta.n; i++)
		if (!is_meta(c->meta.at[i]))
			return usage("--meta: expected key=value, not '%s'", c->meta.at[i]);
	for (size_t i = 0; i < c->expected.n; i++)
		if (!is_expectation(c->expected.at[i]))
			return usage("--expect: expected dim=length, not '%s'", c->expected.at[i]);
	if (c->model_version) {
		char *end;
		errno = 0;
		cx->opt.model_version = strtoll(c->model_version, &end, 10);
		if (end == c->model_version || *end || errno || cx->opt.model_version < 0)
			return usage("--model-version: expected a number, not '%s'",
				     c->model_version);
	}
	cx->opt.model_name = c->model_name;
	cx->opt.doc_string = c->doc;
	cx->opt.meta = c->meta.at;
	cx->opt.expected = c->expected.at;
	cx->opt.strip = c->strip;
	cx->opt.float32 = c->float32;
	cx->opt.allow_dirs = c->allow.at;
	cx->opt.external = c->external;
	return set_max_errors(cx, c);
}

int use_colour(struct cmd *c)
{
	static const char *const words[] = {"auto", "always", "never"};
	const char *term = getenv("TERM"), *no = getenv("NO_COLOR");
	int n = c->color ? choose("--color", c->color, words, countof(words)) : 0;
	if (n < 0)
		return EXIT_USAGE;
	c->colour = n == 1 || (n == 0 && isatty(STDERR_FILENO) && term && strcmp(term, "dumb") &&
			       !(no && *no));
	return EXIT_OK;
}
