/*
 * one_op.c: ptgc --ops NAME: an op's row of --ops, the dtypes that its arguments may have, and a
 * model that uses it. Nothing about dtypes is written down anywhere: graphs with a call of the op
 * are compiled, whose arguments have one dtype and rank. An op that needs properties has no such
 * call.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cmd/cmd.h"
#include "ops/ops.h"

struct example {
	const struct op *op;
	int results, rank;
	char text[400];
};

/* Writes a graph for arguments of a dtype. false: the op needs properties */
static bool write_example(struct example *x, const char *dtype)
{
	static const char *const dims[] = {"", "n", "n, n", "n, n, n"};
	const char *props = strchr(x->op->sig, ';');
	const char *end = props ? props : x->op->sig + strlen(x->op->sig);
	char params[200] = "", args[100] = "", results[20] = "a";

	for (const char *s = props ? props + 1 : "", *next; *s; s = next) {
		next = s + strcspn(s, ",");
		if (!memchr(s, '=', (size_t)(next - s)))
			return false;
		next += *next == ',';
	}
	for (const char *s = x->op->sig; s < end;) {
		int len = (int)strcspn(s, " ;"), name = (int)strcspn(s, " ;?*+~[");
		size_t p = strlen(params), a = strlen(args);
		if (name && s[name] != '?') {
			snprintf(params + p, sizeof(params) - p, "%s%.*s: %s[%s]", p ? ", " : "",
				 name, s, dtype, dims[x->rank]);
			snprintf(args + a, sizeof(args) - a, "%s%.*s", a ? ", " : "", name, s);
		}
		s += len + strspn(s + len, " ");
	}
	for (int i = 1; i < x->results; i++)
		snprintf(results + strlen(results), 4, ", %c", 'a' + i);
	/* results are named like no argument */
	for (char *r = results; *r; r++)
		*r = *r >= 'a' ? (char)('r' + (*r - 'a')) : *r;
	snprintf(x->text, sizeof(x->text), "graph example(%s) -> (%s) {\n  %s = %s(%s)\n}\n",
		 params, results, results, x->op->name, args);
	return true;
}

static bool compiles(struct example *x, const char *dtype)
{
	struct ptgc_options opt = PTGC_OPTIONS_INIT;

	if (!write_example(x, dtype))
		return false;
	opt.strip = true;
	struct ptgc_result *r = ptgc_compile(x->text, strlen(x->text), &opt);
	bool ok = ptgc_ok(r);
	ptgc_free(r);
	return ok;
}

/* Prints for which dtypes there is an example, and the first one. */
static void print_example(const struct op *op)
{
	static const char *const usual[] = {"float64", "int64", "bool"};
	struct example x = {.op = op};

	for (size_t i = 0; i < countof(usual); i++)
		for (x.rank = 2; x.rank >= 0; x.rank--)
			for (x.results = 1; x.results <= 4; x.results++)
				if (compiles(&x, usual[i]))
					goto found;
	return;
found:
	fputs("\nTakes", stdout);
	for (enum dtype t = DT_NONE + 1; t < DT_COUNT; t++)
		if (compiles(&x, dtypes[t].name))
			printf(" %s", dtypes[t].name);
	for (size_t i = 0; i < countof(usual) && !compiles(&x, usual[i]); i++)
		;
	printf("\n\n%s", x.text);
}

int print_op(const char *name)
{
	struct ctx *cx = ctx_new();
	if (!cx || setjmp(cx->oom)) {
		ctx_free(cx);
		return failed("out of memory");
	}
	struct strbuf out = {.arena = cx->arena};
	const struct op *op = op_list_one(&out, name);
	const char *instead = op ? NULL : op_instead(cx, name, false);
	if (op) {
		fwrite(out.s, 1, out.len, stdout);
		print_example(op);
	} else if (instead) {
		bool library = !strncmp(instead, name, strlen(name));
		printf(library ? "%s is a function of the library: write %s\n"
			       : "PyTensor has no op %s: write %s\n",
		       name, instead);
	}
	const char **names = new_array(cx->arena, const char *, op_count);
	for (uint32_t i = 0; i < op_count; i++)
		names[i] = op_table[i].name;
	const char *near = did_you_mean(name, names, op_count);
	int code = op || instead ? EXIT_OK
		   : near        ? usage("there is no op '%s', did you mean '%s'?", name, near)
				 : usage("there is no op '%s'; 'ptgc --ops' lists all", name);
	ctx_free(cx);
	return code;
}
