/*
 * scan_inputs.c: Scans as OpenVINO takes them, whose Scan sees no values of outer blocks, constants
 * apart, and which takes a sequence that no step reads for one of a single step. In: a finished
 * graph. Out: the same function; what the body of a Scan reads from outside is a state that each
 * step hands on as it is, and a Scan whose sequence is not read is a Loop.
 */
#include <string.h>

#include "graph/uses.h"
#include "ops/ops.h"
#include "rewrite/rewrite.h"

struct inputs {
	struct ctx *cx;
	uint32_t *depth; /* by value id: that of the block it belongs to, counted from 1 */
	uint32_t count;  /* ids beyond that are of new values, which are read where they belong */
	struct value **inside;     /* by value id: what the body that is looked at reads instead */
	vec(struct value *) taken; /* those that have one */
};

static void take_from_outside(struct inputs *s, struct block *k, uint32_t depth)
{
	for (struct walk w = {.root = k}; walk(&w, WALK_BEFORE);) {
		struct node *n = w.at.node;
		for (uint32_t i = 0; i < n->nin; i++) {
			struct value *v = n->in[i];
			if (!v || v->data || v->id >= s->count || s->depth[v->id] >= depth)
				continue;
			if (!s->inside[v->id]) {
				s->inside[v->id] = graph_value(s->cx, v->type, n->span);
				*vec_push(s->cx->scratch, &s->taken) = v;
				reserve_use(v); /* by the Scan */
			}
			set_input(n, i, s->inside[v->id]);
		}
	}
}

/* a with the n of `more` at index `at` */
static struct value **spliced(struct arena *a, struct value **all, uint32_t count, uint32_t at,
			      struct value **more, uint32_t n)
{
	struct value **r = new_array(a, struct value *, count + n + 1);

	memcpy(r, all, at * sizeof(*r));
	memcpy(r + at, more, n * sizeof(*r));
	memcpy(r + at + n, all + at, (count - at) * sizeof(*r));
	return r;
}

static void close_scan(struct inputs *s, struct node *scan, uint32_t depth)
{
	struct block *body = find_attr(scan, "body")->u.block;
	uint32_t walked = (uint32_t)int_of_attr(scan, "num_scan_inputs", 0), n;
	struct arena *a = s->cx->arena;

	s->taken.len = 0;
	take_from_outside(s, body, depth);
	if (!(n = s->taken.len))
		return;
	uint32_t states = scan->nin - walked;
	struct value **params = new_array(s->cx->scratch, struct value *, n);
	struct value **out = new_array(s->cx->scratch, struct value *, n);
	for (uint32_t i = 0; i < n; i++) {
		struct value *v = s->taken.at[i], *p = s->inside[v->id];
		struct build b = build_at(s->cx, body, body->last);
		b.span = scan->span;
		params[i] = p;
		add_result(s->cx, body, states + i, identity(&b, p));
		out[i] = graph_value(s->cx, v->type, scan->span);
		out[i]->def = scan;
		s->inside[v->id] = NULL;
	}
	scan->in = spliced(a, scan->in, scan->nin, states, s->taken.at, n);
	scan->out = spliced(a, scan->out, scan->nout, states, out, n);
	body->params.at = spliced(a, body->params.at, body->params.len, states, params, n);
	scan->nin = (uint16_t)(scan->nin + n);
	scan->nout = (uint16_t)(scan->nout + n);
	body->params.cap = body->params.len += n;
}

/* One step for each item of the sequence, as a Loop that counts. `before` is the node before it. */
static void make_loop(struct inputs *s, struct block *k, struct node *before, struct node *scan)
{
	struct ctx *cx = s->cx;
	struct arena *a = cx->arena;
	struct span at = scan->span;
	struct block *body = find_attr(scan, "body")->u.block;
	struct value *sequence = scan->in[scan->nin - 1], *zero = graph_number(cx, DT_INT64, 0, at);
	struct type go = {.dtype = DT_BOOL}, count = {.dtype = DT_INT64};
	struct build outside = build_at(cx, k, before), inside = build_at(cx, body, body->last);
	struct value *in[2], *params[2];

	outside.span = inside.span = at;
	in[0] = emit_(&outside, ONNX_Gather, emit_(&outside, ONNX_Shape, sequence), zero);
	in[1] = graph_number(cx, DT_BOOL, 1, at);
	params[0] = graph_value(cx, count, at);
	params[1] = graph_value(cx, go, at);
	add_result(cx, body, 0, identity(&inside, params[1]));
	become_(cx, scan, ONNX_Loop, scan->nin + 1u,
		spliced(a, scan->in, scan->nin - 1u, 0, in, 2));
	set_block(cx, scan, "body", body);
	body->params.at = spliced(a, body->params.at, body->params.len - 1, 0, params, 2);
	body->params.cap = ++body->params.len;
}

/* Does a Scan walk one sequence, which its body does not read? */
static bool walks_for_nothing(const struct node *scan)
{
	const struct block *body = find_attr(scan, "body")->u.block;

	return int_of_attr(scan, "num_scan_inputs", 0) == 1 &&
	       !body->params.at[body->params.len - 1]->uses;
}

/* Inner blocks first: what their Scans take becomes what this block reads. */
static void look_at_block(struct inputs *s, struct block *main)
{
	const unsigned events = WALK_ENTER | WALK_BEFORE | WALK_AFTER | WALK_LEAVE;
	uint32_t depth = 0;

	for (struct walk w = {.root = main}; walk(&w, events);) {
		struct block *k = w.at.block;
		struct node *n = w.at.node;
		depth += w.event == WALK_ENTER;
		for (uint32_t i = 0; w.event == WALK_ENTER && i < k->params.len; i++)
			s->depth[k->params.at[i]->id] = depth;
		for (uint32_t i = 0; w.event == WALK_BEFORE && i < n->nout; i++)
			s->depth[n->out[i]->id] = depth;
		if (w.event == WALK_AFTER && is_onnx(n, ONNX_Scan) && walks_for_nothing(n))
			make_loop(s, k, w.at.before, n);
		else if (w.event == WALK_AFTER && is_onnx(n, ONNX_Scan))
			close_scan(s, n, depth + 1);
		depth -= w.event == WALK_LEAVE;
	}
}

void close_scans(struct ctx *cx, struct graph *g)
{
	struct inputs s = {.cx = cx, .count = cx->next_id};

	s.depth = new_array(cx->scratch, uint32_t, s.count + 1);
	s.inside = new_array(cx->scratch, struct value *, s.count + 1);
	look_at_block(&s, g->block);
}
