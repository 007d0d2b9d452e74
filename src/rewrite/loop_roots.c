/*
 * loop_roots.c: states of loops that are a square root, and of which nothing but the square is
 * read, as the volatility of a GARCH model: next s = sqrt(w + b s^2). In: the graph of ONNX nodes,
 * before its loops are rebuilt. Out: the same, in which such a loop carries the square v instead,
 * next v = w + b v: that is linear, and the roots are taken after the loop. What is under the root
 * is proved not to be negative. The square of a root is off by a rounding, so -freassociate must be
 * on.
 */
#include "graph/uses.h"
#include "rewrite/loops.h"

struct roots {
	struct ctx *cx;
	struct uses uses; /* before any loop changed */
	bool changed;
};

static bool is_given_back(const struct roots *r, const struct value *v)
{
	for_uses(u, &r->uses, v) if (!u->node) return true;
	return false;
}

/* Is v read, and by nothing but nodes that are v * v, none of which is given back as it is? */
static bool only_squared(const struct roots *r, const struct value *v)
{
	for_uses(u, &r->uses, v) if (!is_onnx(u->node, ONNX_Mul) ||
				     u->node->in[0] != u->node->in[1] ||
				     is_given_back(r, u->node->out[0])) return false;
	return count_uses(&r->uses, v) > 0;
}

/* v of sqrt(v), where that is the next value of the state p; NULL: p is no such state */
static struct value *under_root(const struct roots *r, const struct value *p, struct value *next)
{
	next = behind_identity(next);
	if (!only_squared(r, p) || !is_onnx(next->def, ONNX_Sqrt) ||
	    !same_dims(r->cx, p->type, next->type))
		return NULL;
	struct value *v = next->def->in[0];
	return sign_of(v) == SIGN_NON_NEGATIVE ? v : NULL;
}

/* Is the last state, which is the first one if there are no steps, the root of a step, or of no
 * matter? */
static bool ends_in_root(const struct roots *r, const struct node *loop, uint32_t j)
{
	const struct value *out = loop->out[j], *trips = loop->in[0], *go = loop->in[1];
	int64_t n;

	if (!count_uses(&r->uses, out))
		return true;
	return trips && single_int(trips->data, &n) && n > 0 && (!go || is_true(go));
}

/* All nodes that are p * p give `square` from now on. */
static void read_square(struct block *k, const struct value *p, struct value *square)
{
	for (struct walk w = {.root = k}; walk(&w, WALK_BEFORE);) {
		struct node *n = w.at.node;
		if (is_onnx(n, ONNX_Mul) && n->in[0] == p) {
			replace_all_uses(n->out[0], square);
			n->dead = true; /* p is no parameter of the loop any more */
		}
	}
}

static void carry_square(struct roots *r, struct block *around, struct node *before,
			 struct node *loop, uint32_t j)
{
	struct ctx *cx = r->cx;
	struct block *body = loop_body(loop);
	struct value *p = body->params.at[2 + j], *out = loop->out[j];
	struct value *v = under_root(r, p, body->results.at[1 + j]);
	if (!v || !ends_in_root(r, loop, j))
		return;
	struct value *square = graph_value(cx, p->type, p->span);
	square->sign = SIGN_NON_NEGATIVE;
	read_square(body, p, square);
	r->changed = true;
	body->params.at[2 + j] = square;
	struct build inside = build_at(cx, body, body->last);
	inside.span = v->span;
	put_result(body, 1 + j, identity(&inside, v));
	struct build outside = build_at(cx, around, before);
	struct value *init = loop->in[2 + j];
	outside.span = loop->span;
	set_input(loop, 2 + j, emit_(&outside, ONNX_Mul, init, init));
	outside.after = loop;
	emit_(&outside, ONNX_Sqrt, part_result(cx, loop, j));
	take_over(&outside, out);
}

static void carry_squares(struct roots *r, struct block *main)
{
	for (struct walk w = {.root = main}; walk(&w, WALK_AFTER);) {
		struct node *n = w.at.node, *before = w.at.before;
		struct block *k = w.at.block;
		for (uint32_t j = 0; is_onnx(n, ONNX_Loop) && j + 2u < n->nin; j++) {
			carry_square(r, k, before, n, j);
			while (before ? before->next != n : k->first != n)
				before = before ? before->next : k->first;
		}
	}
}

void loop_roots(struct ctx *cx, struct graph *g)
{
	struct roots r = {.cx = cx};

	if (!cx->opt.reassociate)
		return;
	r.uses = find_uses(cx, g);
	carry_squares(&r, g->block);
	if (r.changed)
		resolve_inputs(g->block);
}
