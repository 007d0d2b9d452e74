/*
 * stretch.c: short axes that are broadcast. ONNX Runtime's elementwise kernels go run by run: a run
 * is a stretch of elements in which no operand is repeated, and each costs as much as many
 * elements. [64, 60, 3] - [64, 60, 1] has 3,840 runs of 3 elements. In: a graph of ONNX nodes,
 * after all rewrites. Out: the same, in which operands are stretched first, so that runs become
 * long: by Concat for few copies, by Expand for more copies of several elements, as Expand is slow
 * for single elements. target/costs_sizes.def has the times, and the sizes where they cross.
 */
#include "graph/uses.h"
#include "lower/build.h"
#include "ort/ort.h"

#define MAX_IN     3
#define MAX_ROUNDS 4

struct lengthened {       /* what was made of a value */
	struct value *to; /* NULL: nothing so far */
	uint32_t first, end;
};
struct stretch {
	struct ctx *cx;
	struct block **home;   /* by value id: the block that it is made in */
	struct lengthened *of; /* by value id */
	uint32_t n;            /* ids that there were at first */
};
/* Axes of a result, counted from behind, that have the same operands of length 1 along them */
struct group {
	uint32_t first, end;
	unsigned int ones; /* those operands, as bits */
	int64_t length;    /* elements of all axes; 0: not known */
};

int64_t length_behind(struct ctx *cx, const struct value *v, uint32_t i)
{
	int64_t k;

	if (i >= v->type.rank)
		return 1;
	return dim_is_const(cx, v->type.dims[v->type.rank - 1u - i], &k) ? k : 0;
}

/* The innermost group of axes from number `from` on; axes of length 1 are in any group. */
static bool find_group(struct ctx *cx, const struct node *n, uint32_t from, struct group *g)
{
	const struct value *out = n->out[0];
	bool found = false;

	*g = (struct group){.length = 1};
	for (uint32_t i = from; i < out->type.rank; i++) {
		int64_t k = length_behind(cx, out, i);
		unsigned int ones = 0;
		if (k == 1)
			continue;
		for (uint32_t j = 0; j < n->nin; j++)
			if (!is_single(cx, &n->in[j]->type) && length_behind(cx, n->in[j], i) == 1)
				ones |= 1u << j;
		if (found && ones != g->ones)
			break;
		g->first = found ? g->first : i;
		g->ones = ones;
		g->end = i + 1;
		g->length *= k;
		found = true;
	}
	return found;
}

/* Leaves the axes of g out from the first one on whose length is not known. */
static void trim_to_known(struct ctx *cx, const struct node *n, struct group *g)
{
	g->length = 1;
	for (uint32_t i = g->first; i < g->end; i++) {
		int64_t k = length_behind(cx, n->out[0], i);
		if (!k)
			g->end = i;
		else
			g->length *= k;
	}
}

static bool can_stretch(struct ctx *cx, enum onnx_id op, enum dtype t, uint32_t nin)
{
	enum dtype in[SIZE_CONCAT_COPIES] = {t, op == ONNX_Expand ? DT_INT64 : t, t, t};

	return has_kernel(cx, op, in, nin, &t, 1);
}

/* Has v the lengths of `as` along the axes of g? */
static bool has_lengths_of(struct ctx *cx, const struct value *v, const struct value *as,
			   const struct group *g)
{
	for (uint32_t i = g->first; i < g->end; i++)
		if (length_behind(cx, v, i) != length_behind(cx, as, i))
			return false;
	return true;
}

static bool is_made_here(const struct stretch *s, const struct block *b, const struct value *v)
{
	return v->id < s->n && (v->data ? !b->outer : s->home[v->id] == b);
}

/* v with the lengths of n's result along the axes of g; NULL: it is not made in this block, or the
 * runtime has no kernel */
static struct value *stretched(struct stretch *s, struct build *b, const struct node *n,
			       struct value *v, const struct group *g, bool copies)
{
	struct ctx *cx = s->cx;
	uint32_t nin = copies ? (uint32_t)g->length : 2, rank = v->type.rank;
	enum onnx_id op = copies ? ONNX_Concat : ONNX_Expand;

	if (!is_made_here(s, b->block, v) || g->end > rank ||
	    !can_stretch(cx, op, (enum dtype)v->type.dtype, nin))
		return NULL;
	struct lengthened *at = &s->of[v->id];
	if (at->to && at->first == g->first && at->end == g->end &&
	    has_lengths_of(cx, at->to, n->out[0], g))
		return at->to;
	*at = (struct lengthened){.first = g->first, .end = g->end};
	if (copies) {
		struct value *in[SIZE_CONCAT_COPIES] = {v, v, v, v};
		attr_int(b, "axis", rank - 1u - g->first);
		return at->to = emit(b, op, in, nin);
	}
	int64_t lengths[MAX_RANK];
	for (uint32_t i = 0; i < rank; i++)
		lengths[i] = 1;
	for (uint32_t i = g->first; i < g->end; i++)
		lengths[rank - 1u - i] = length_behind(cx, n->out[0], i);
	return at->to = emit_(b, op, v, const_ints(b, lengths, rank));
}

/* Are n's runs many and short? Then g is what they are along, and `next` the axes around them. */
static bool has_short_runs(struct ctx *cx, const struct node *n, struct group *g,
			   struct group *next)
{
	return n->out[0]->type.rank > 1 && find_group(cx, n, 0, g) && g->length &&
	       g->length < SIZE_LONG_RUN &&
	       expected_elements(cx, &n->out[0]->type, OPEN_LENGTH) / (double)g->length >=
		       SIZE_MANY_RUNS &&
	       find_group(cx, n, g->end, next);
}

/* An operand of n that has the lengths of the result, in this block; NULL: none has */
static struct value *whole_operand(struct stretch *s, struct block *b, const struct node *n)
{
	const struct value *out = n->out[0];

	for (uint32_t i = 0; i < n->nin; i++) {
		struct value *v = n->in[i];
		bool here = v->id < s->n && !v->data && s->home[v->id] == b;
		if (here && v->type.rank == out->type.rank && same_dims(s->cx, v->type, out->type))
			return v;
	}
	return NULL;
}

/* The same along axes of unknown length: the operands of `ones` get the shape of another one. */
static bool stretch_to_whole(struct stretch *s, struct build *b, struct node *n, unsigned int ones)
{
	struct value *whole = whole_operand(s, b->block, n);
	bool done = false;

	for (uint32_t j = 0; j < n->nin && whole; j++) {
		struct value *v = n->in[j];
		if (!(ones >> j & 1) || !is_made_here(s, b->block, v) ||
		    !can_stretch(s->cx, ONNX_Expand, (enum dtype)v->type.dtype, 2))
			continue;
		v = emit_(b, ONNX_Expand, v, emit_(b, ONNX_Shape, whole));
		set_input(n, j, with_dims(v, whole->type.dims));
		done = true;
	}
	return done;
}

/* Makes n's shortest runs longer; false: there is no need, or no way. */
static bool lengthen(struct stretch *s, struct build *b, struct node *n)
{
	struct ctx *cx = s->cx;
	struct group g, next;
	bool done = false;

	if (!has_short_runs(cx, n, &g, &next))
		return false;
	bool innermost = g.ones != 0;
	unsigned int ones = next.ones;
	bool open =
		!innermost && next.first < next.end && !length_behind(cx, n->out[0], next.first);
	if (open)
		return stretch_to_whole(s, b, n, ones);
	trim_to_known(cx, n, &next);
	if (innermost && next.ones && next.length < SIZE_EXPAND_COPIES)
		return false; /* an outer product: two Concats take as long as the runs */
	if (!innermost)
		g = next;
	bool copies =
		g.length <= SIZE_CONCAT_COPIES && g.length == length_behind(cx, n->out[0], g.first);
	if (g.first == g.end || (!copies && (innermost || g.length < SIZE_EXPAND_COPIES)))
		return false;
	for (uint32_t j = 0; j < n->nin; j++) {
		bool one = g.ones >> j & 1;
		struct value *v = one ? stretched(s, b, n, n->in[j], &g, copies) : NULL;
		if (v)
			set_input(n, j, v);
		done |= v != NULL;
	}
	return done;
}

static bool may_stretch(struct ctx *cx, const struct node *n)
{
	bool signs = n->zero_sign_counts &&
		     cx->opt.signed_zeros; /* Where keeps them in some shapes only */

	return !n->as_written && n->nout == 1 && n->nin <= MAX_IN &&
	       onnx_lengths(n->onnx) == ONNX_BROADCAST_LENGTHS &&
	       !(is_onnx(n, ONNX_Where) && signs);
}

static void note_home(struct stretch *s, struct block *b, const struct value *v)
{
	if (v && v->id < s->n)
		s->home[v->id] = b;
}

static void stretch_block(struct stretch *s, struct block *main)
{
	for (struct walk w = {.root = main}; walk(&w, WALK_ENTER | WALK_AFTER);) {
		struct block *b = w.at.block;
		struct node *n = w.at.node;
		for (uint32_t i = 0; w.event == WALK_ENTER && i < b->params.len; i++)
			note_home(s, b, b->params.at[i]);
		if (w.event == WALK_ENTER)
			continue;
		struct build to = build_at(s->cx, b, w.at.before);
		to.span = n->span;
		for (int i = 0; i < MAX_ROUNDS && may_stretch(s->cx, n); i++)
			if (!lengthen(s, &to, n))
				break;
		for (uint32_t i = 0; i < n->nout; i++)
			note_home(s, b, n->out[i]);
	}
}

static bool any_short_runs(struct ctx *cx, const struct block *b)
{
	struct group g, next;

	for (struct walk w = {.root = b}; walk(&w, WALK_BEFORE);)
		if (may_stretch(cx, w.at.node) && has_short_runs(cx, w.at.node, &g, &next))
			return true;
	return false;
}

void stretch_operands(struct ctx *cx, struct graph *g)
{
	struct stretch s = {.cx = cx, .n = cx->next_id};

	if (!any_short_runs(cx, g->block))
		return;
	s.home = new_array(cx->scratch, struct block *, s.n);
	s.of = new_array(cx->scratch, struct lengthened, s.n);
	stretch_block(&s, g->block);
}
