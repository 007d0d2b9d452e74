/*
 * passes.c: the passes between elaboration and emission, one row each, in the order in which they
 * run; and the driver that runs them. In: the graph of PyTensor's ops. Out: the graph of ONNX nodes
 * that is emitted, or errors.
 *
 * What the driver does, so that no pass has to:
 *	a row runs if the target is one of its targets, if its condition holds, and if one of its
 *	flags is on; without a flag, if it is needed for a right model, or from -O1 on;
 *	after an error only needed passes of the typed level run, which may report more, and lower;
 *	after a pass of the ONNX level that is marked TIDY, drop_unread() takes away what nobody
 *	reads, counts readers anew and notes which operators there are; passes keep the counts;
 *	then the scratch memory is emptied.
 * A pass gets a graph that verify() accepts, and leaves one.
 */
#include <string.h>

#include "api.h"
#include "complex/complex.h"
#include "emit/emit.h"
#include "lower/check/check.h"
#include "lower/lower.h"
#include "ort/ort.h"
#include "rewrite/rewrite.h"
#include "typed/typed.h"

/* targets */
#define ON(target) (1u << PTGC_##target)
#define ALL        (ON(ORT_CPU) | ON(ONNX) | ON(ORT_WEB) | ON(PORTABLE) | ON(C))
#define ON_RUNTIME (ALL & ~ON(ONNX) & ~ON(C))

/* flags: any of these switches the pass; 0: none has it to itself */
#define F(id)    FLAG_BIT(id)
#define OF_NODES (UINT64_C(1) << 63) /* those of the kind NODE_REWRITE */
_Static_assert(FLAG_COUNT < 63, "a bit of struct pass");

enum level { TYPED, ONNX };
/* when a pass runs; consecutive rows with one condition ask it once, before the first */
enum condition { ALWAYS, NARROWS, HAS_LOOPS, CHANGED /* by the row before */ };
/* how */
#define TIDY   1u /* drop_unread() follows, if the pass changed something */
#define NEEDED 2u /* without it models would be wrong, or none */
#define STOPS  4u /* what it refuses, the passes that follow do not expect */

typedef void pass_fn_t(struct ctx *cx, struct graph *g);
typedef bool changes_fn_t(struct ctx *cx, struct graph *g); /* did it change g? */

struct pass {
	const char *name;
	enum level level; /* of what comes out */
	pass_fn_t *run;   /* NULL: */
	changes_fn_t *changes;
	uint64_t flags;
	uint32_t targets;
	enum condition when;
	uint32_t how;
	const char *promise; /* of what comes out */
};

static void lower_all(struct ctx *cx, struct graph *g)
{
	struct graph *to = lower(cx, g, lowerings, &emit_rules);

	if (to) /* else there are errors, and nobody reads g any more */
		*g = *to;
	drop_typed(cx);
}

static bool checks(struct ctx *cx, struct graph *g)
{
	return place_checks(cx, g, cx->opt.target == PTGC_ONNX ? NULL : ort_instead);
}

/* clang-format off */
#define REWRITES(when) \
	{"guards", ONNX, NULL, drop_guards, F(GUARD), ALL, when, TIDY, \
	 "no choice is made by NaN alone where NaN comes out anyway"}, \
	{"nodes", ONNX, rewrite_nodes, NULL, OF_NODES, ALL, when, TIDY, \
	 "the same function in fewer nodes: the rewrites of single nodes"}, \
	{"splats", ONNX, splats, NULL, F(SPLAT), ALL, when, NEEDED, \
	 "no large constant is one number throughout: a model has a limit"}

static const struct pass passes[] = {
	{"float32", TYPED, narrow_floats, NULL, 0, ALL, NARROWS, NEEDED,
	 "nothing is float64 or complex128 (--float32)"},
	{"refuse-float64", TYPED, refuse_float64, NULL, 0, ON(PORTABLE), ALWAYS, NEEDED | STOPS,
	 "inputs and outputs are not float64"},
	{"generators", TYPED, words_of_generators, NULL, 0, ALL, ALWAYS, NEEDED,
	 "no value is a generator of random numbers: each is its words, uint64"},
	{"complex", TYPED, split_complex, NULL, 0, ALL, ALWAYS, NEEDED,
	 "no value is complex: each is two real ones along a last axis"},
	{"equal", TYPED, merge_equal_calls, NULL, F(CSE), ALL, ALWAYS, 0,
	 "of equal calls outside of loops and ifs the first is read by all"},
	{"choices", TYPED, choose_early, NULL, F(CHOICES), ALL, ALWAYS, 0,
	 "of what constants choose from, and what is compared twice, one is computed"},
	{"covariance", TYPED, invert_covariances, NULL, 0, ALL, ALWAYS, 0,
	 "gradients by a covariance take one inverse in place of two solves"},
	{"repeats", TYPED, join_repeats, NULL, F(REPEATS), ALL, ALWAYS, 0,
	 "what is summed up over data that repeat is computed once for each"},
	/* OpenVINO computes an Abs in place of joined arguments that others still read; C has the
	 * functions, which are no calls */
	{"share-calls", TYPED, share_calls, NULL, F(SHARE_CALLS), ALL & ~ON(PORTABLE) & ~ON(C),
	 ALWAYS, 0,
	 "calls of one op of the library on small arrays are one call"},
	{"lower", ONNX, lower_all, NULL, 0, ALL, ALWAYS, TIDY | NEEDED,
	 "ONNX nodes alone, each with a kernel of the target; checks are recorded"},
	REWRITES(ALWAYS),
	{"loop-states", ONNX, loop_states, NULL, F(STATES), ALL, HAS_LOOPS, TIDY,
	 "loops carry no state twice, none that stays the same; results that nobody reads go, of ifs too"},
	{"loop-roots", ONNX, loop_roots, NULL, F(LINEAR), ALL, HAS_LOOPS, TIDY,
	 "states of which only squares are read are carried as squares"},
	{"loop-terms", ONNX, loop_terms, NULL, F(LINEAR), ALL, HAS_LOOPS, TIDY,
	 "what states are multiplied by is computed once, outside"},
	{"loop-move", ONNX, loop_move, NULL,
	 F(HOIST) | F(BATCH) | F(PUSH_OUT) | F(SCAN) | F(LINEAR), ALL, HAS_LOOPS, TIDY,
	 "what a step need not compute goes before or after the loop; linear recurrences take few rounds"},
	REWRITES(HAS_LOOPS),
	{"loop-states", ONNX, loop_states, NULL, F(STATES), ALL, HAS_LOOPS, TIDY,
	 "the same once more, as nodes have left the bodies"},
	{"wrong-kernels", ONNX, NULL, replace_wrong_nodes, 0, ON_RUNTIME, ALWAYS, TIDY | NEEDED,
	 "no node is one that ONNX Runtime computes wrongly"},
	REWRITES(CHANGED),
	{"fusion", ONNX, NULL, prevent_fusion, 0, ON_RUNTIME, ALWAYS, TIDY | NEEDED,
	 "no product is one that ONNX Runtime would fuse wrongly"},
	{"casts", ONNX, part_casts, NULL, 0, ON_RUNTIME, ALWAYS, NEEDED,
	 "no Casts follow one another that ONNX Runtime would merge wrongly"},
	{"layout-loops", ONNX, layout_loops, NULL, F(STRETCH), ON_RUNTIME, ALWAYS, 0,
	 "loops over many short arrays have their axis 0 last"},
	{"conditions", ONNX, hide_conditions, NULL, 0, ON_RUNTIME, ALWAYS, NEEDED,
	 "no If is decided while ONNX Runtime loads the model, which it does wrongly"},
	{"checks", ONNX, NULL, checks, 0, ALL & ~ON(C), ALWAYS, TIDY | NEEDED,
	 "a run fails where a recorded check does not hold"},
	{"layout-graph", ONNX, layout_graph, NULL, F(STRETCH), ON_RUNTIME, ALWAYS, 0,
	 "short arrays of many points have their axis 0 last"},
	{"short-axes", ONNX, transpose_short_axes, NULL, F(STRETCH), ON_RUNTIME, ALWAYS, 0,
	 "kernels that go along a short last axis work on the transposed array"},
	{"stretch", ONNX, stretch_operands, NULL, F(STRETCH), ON_RUNTIME, ALWAYS, 0,
	 "operands that broadcast along short axes have the shape of the result"},
	{"columns", ONNX, number_columns, NULL, 0, ON_RUNTIME, ALWAYS, 0,
	 "numbers beside columns have as many axes"},
	{"close-scans", ONNX, close_scans, NULL, 0, ON(PORTABLE), ALWAYS, NEEDED,
	 "no Scan reads values of outer blocks but constants"},
	{"branches", ONNX, decide_by_ifs, NULL, F(BRANCH), ON(ORT_CPU), ALWAYS, 0,
	 "what one bool decides is in the branches of an If"},
};
/* clang-format on */

static bool runs(const struct ctx *cx, const struct pass *p)
{
	bool on = p->how & NEEDED || cx->opt.level > 0;

	if (!(p->targets >> cx->opt.target & 1) ||
	    (p->level == TYPED && cx->errors && !(p->how & NEEDED)))
		return false;
	if (p->flags)
		on = (p->flags & cx->opt.flags) != 0;
	for (size_t i = 0; p->flags & OF_NODES && i < FLAG_COUNT; i++)
		on |= flag_infos[i].kind == NODE_REWRITE && flag_is_on(cx, (enum flag)i);
	return on;
}

static bool holds(const struct ctx *cx, const struct graph *g, enum condition when, bool changed)
{
	switch (when) {
	case NARROWS:
		return cx->opt.float32;
	case HAS_LOOPS:
		return has_operator(g, ONNX_Loop);
	case CHANGED:
		return changed;
	default:
		return true;
	}
}

/* --- what the user sees of it --- */

const char *pass_name(size_t i)
{
	return i < countof(passes) ? passes[i].name : NULL;
}

static void list_words(struct strbuf *out, const char *head, uint64_t flags)
{
	const char *between = head;

	for (size_t i = 0; i < FLAG_COUNT; i++)
		if (flags >> i & 1 || (flags & OF_NODES && flag_infos[i].kind == NODE_REWRITE)) {
			sb_printf(out, "%s-f%s", between, flag_infos[i].name);
			between = " ";
		}
	sb_str(out, between == head ? "" : "\n");
}

void list_passes(struct strbuf *out)
{
	sb_str(out, "The passes in the order in which they run. *: at -O0 too.\n");
	for (size_t i = 0; i < countof(passes); i++) {
		const struct pass *p = &passes[i];
		const char *level = p->level == TYPED ? "of PyTensor's ops" : "of ONNX nodes";
		if (!i || p->level != p[-1].level)
			sb_printf(out, "\nThe graph %s:\n", level);
		sb_printf(out, "%c %-15s %s\n", p->how & NEEDED ? '*' : ' ', p->name, p->promise);
		list_words(out, "                  ", p->flags);
		const char *head = "                  for the target ";
		for (size_t t = 0; t < countof(target_names) && p->targets != ALL; t++)
			if (p->targets >> t & 1) {
				sb_printf(out, "%s%s", head, target_names[t]);
				head = ", ";
			}
		sb_str(out, p->targets != ALL ? "\n" : "");
	}
}

/* Is that pass, or "all", among those of --print-after? */
static bool is_named(const struct ctx *cx, const char *name)
{
	for (const char *const *p = cx->opt.print_after; p && *p; p++)
		if (!strcmp(*p, name))
			return true;
	return false;
}

/* Behind the last row of a pass: says so if none of its rows ran. ran: by row */
static void say_not_run(struct ctx *cx, size_t row, const bool *ran)
{
	struct strbuf s = {.arena = cx->arena};
	const char *name = passes[row].name;

	if (!cx->trace || !is_named(cx, name))
		return;
	for (size_t i = 0; i < countof(passes); i++)
		if (!strcmp(passes[i].name, name) && (ran[i] || i > row))
			return;
	sb_printf(&s, "# --- %s did not run here ---\n", name);
	cx->trace(s.s, s.len);
}

static bool is_printed(const struct ctx *cx, const struct pass *pass)
{
	return cx->trace && (is_named(cx, "all") || (pass && is_named(cx, pass->name)));
}

static struct strbuf text_of(struct ctx *cx, const struct graph *g)
{
	struct strbuf text = {.arena = cx->arena};

	dump_graph(cx, g, &text);
	return text;
}

static bool same_text(const struct strbuf *a, const struct strbuf *b)
{
	return a->s && b->s && a->len == b->len && !memcmp(a->s, b->s, a->len);
}

struct printed {
	struct strbuf last; /* the text that was printed last; s NULL: none */
	bool ran;           /* a pass that was not printed ran since then */
};

/* Prints g for --print-after, unless its text is the last one. before: what it was before the pass;
 * pass NULL: no pass ran yet */
static void print_after(struct ctx *cx, const struct graph *g, const struct pass *pass,
			const struct strbuf *before, struct printed *printed)
{
	struct strbuf head = {.arena = cx->arena}, text = text_of(cx, g);

	sb_str(&head, pass ? "# --- after " : "# --- before the first pass");
	sb_str(&head, pass ? pass->name : "");
	if (cx->notes && cx->notes->len)
		sb_printf(&head, ": %s", cx->notes->s);
	else if (same_text(&text, before))
		sb_str(&head, ": no change");
	sb_str(&head, " ---\n");
	cx->trace(head.s, head.len);
	if (!same_text(&text, &printed->last))
		cx->trace(text.s, text.len);
	*printed = (struct printed){text, false};
}

/* --- the driver --- */

static void verify_after(struct ctx *cx, struct graph *g, enum level level)
{
	if (!flag_is_on(cx, FLAG_VERIFY_EACH) || cx->errors)
		return;
	if (level == TYPED)
		verify_typed(cx, g);
	else
		verify(cx, g);
}

/* Runs p, and says whether it changed the graph; a pass without a result may have. */
static bool run_pass(struct ctx *cx, struct graph *g, const struct pass *p, struct printed *printed)
{
	struct strbuf notes = {.arena = cx->arena}, before = printed->last;
	bool changed = true, prints = is_printed(cx, p);

	if (prints && (printed->ran || !before.s))
		before = text_of(cx, g);
	printed->ran = true;
	cx->notes = prints ? &notes : NULL;
	if (p->run)
		p->run(cx, g);
	else
		changed = p->changes(cx, g);
	if (cx->errors)
		return changed;
	if (p->level == ONNX)
		verify_uses(cx, g);
	if (p->how & TIDY && changed)
		drop_unread(cx, g);
	if (prints)
		print_after(cx, g, p, &before, printed);
	cx->notes = NULL;
	verify_after(cx, g, p->level);
	arena_empty(cx->scratch);
	return changed;
}

bool run_passes(struct ctx *cx, struct graph *g)
{
	bool changed = false, go = true, ran[countof(passes)] = {false};
	struct printed printed = {{0}, false};

	verify_after(cx, g, TYPED);
	if (is_printed(cx, NULL))
		print_after(cx, g, NULL, &printed.last, &printed);
	arena_empty(cx->scratch);
	for (size_t i = 0; i < countof(passes); i++) {
		const struct pass *p = &passes[i];
		if (!i || p->when != p[-1].when)
			go = holds(cx, g, p->when, changed);
		ran[i] = go && runs(cx, p);
		changed = ran[i] && run_pass(cx, g, p, &printed);
		say_not_run(cx, i, ran);
		if (cx->errors && (p->level == ONNX || (runs(cx, p) && p->how & STOPS)))
			return false;
	}
	verify(cx, g);
	note_least_runtime(cx, g);
	arena_empty(cx->scratch);
	return !cx->errors;
}
