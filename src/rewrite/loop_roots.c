/*
 * loop_roots.c: states of loops that are a square root, and of which nothing but the square is
 * read, as the volatility of a GARCH model: next s = sqrt(w + b s^2). In: the graph of ONNX nodes,
 * before its loops are rebuilt. Out: the same, in which such a loop carries the square v instead,
 * next v = w + b v: that is linear, and the roots are taken after the loop. What is under the root
 * is proved not to be negative. The square of a root is off by a rounding, so -freassociate must be
 * on.
 */
#include "rewrite/loops.h"

struct roots {
	struct ctx *cx;
	uint32_t *reads, *squares; /* by value id: how often v is read, and by v * v */
	bool *result;              /* by value id: a block gives it back, or a check reads it */
	bool changed;
};

static void count_reads(struct roots *r, const struct block *main)
{
	for (struct walk w = {.root = main}; walk(&w, WALK_ENTER | WALK_BEFORE);) {
		const struct block *k = w.at.block;
		const struct node *n = w.at.node;
		for (uint32_t i = 0; w.event == WALK_ENTER && i < k->results.len; i++)
			r->result[k->results.at[i]->id] = true;
		if (w.event == WALK_ENTER)
			continue;
		for (uint32_t i = 0; i < n->nin; i++)
			if (n->in[i])
				r->reads[n->in[i]->id]++;
		if (is_onnx(n, ONNX_Mul) && n->in[0] == n->in[1] && !r->result[n->out[0]->id])
			r->squares[n->in[0]->id]++;
	}
}

/* v of sqrt(v), where that is the next value of the state p; NULL: p is no such state */
static struct value *under_root(const struct roots *r, const struct value *p,
				const struct value *next)
{
	uint32_t squares = r->squares[p->id];

	while (is_onnx(next->def, ONNX_Identity))
		next = next->def->in[0];
	if (!squares || r->reads[p->id] != 2 * squares || r->result[p->id] ||
	    !is_onnx(next->def, ONNX_Sqrt) || !same_dims(r->cx, p->type, next->type))
		return NULL;
	struct value *v = next->def->in[0];
	return sign_of(v) == SIGN_POSITIVE ? v : NULL;
}

/* Is the last state, which is the first one if there are no steps, the root of a step, or of no
 * matter? */
static bool ends_in_root(const struct roots *r, const struct node *loop, uint32_t j)
{
	const struct value *out = loop->out[j], *trips = loop->in[0], *go = loop->in[1];
	int64_t n, k;

	if (!r->reads[out->id] && !r->result[out->id])
		return true;
	return trips && trips->data && tensor_int(trips->data, 0, &n) && n > 0 &&
	       (!go || (go->data && tensor_int(go->data, 0, &k) && k));
}

/* All nodes that are p * p give `square` from now on. */
static void read_square(struct block *k, const struct value *p, struct value *square)
{
	for (struct walk w = {.root = k}; walk(&w, WALK_BEFORE);) {
		struct node *n = w.at.node;
		if (is_onnx(n, ONNX_Mul) && n->in[0] == p) {
			n->out[0]->forward = square;
			n->dead = true; /* p is no parameter of the loop any more */
		}
	}
}

static void carry_square(struct roots *r, struct block *around, struct node *before,
			 struct node *loop, uint32_t j)
{
	struct ctx *cx = r->cx;
	struct block *body = loop_body(loop);
	struct value *p = body->params.at[2 + j], *out = loop->out[j], *last = NULL;
	struct value *v = under_root(r, p, body->results.at[1 + j]);
	struct node *end = body->first;

	if (!v || !ends_in_root(r, loop, j))
		return;
	struct value *square = graph_value(cx, p->type, p->span);
	square->sign = SIGN_POSITIVE;
	read_square(body, p, square);
	r->changed = true;
	body->params.at[2 + j] = square;
	while (end->next)
		end = end->next;
	body->results.at[1 + j] =
		insert_node(cx, body, end, ONNX_Identity, &v, 1, v->type, v->span)->out[0];
	body->last = end->next;
	struct value *in[2] = {loop->in[2 + j], loop->in[2 + j]};
	loop->in[2 + j] =
		insert_node(cx, around, before, ONNX_Mul, in, 2, in[0]->type, loop->span)->out[0];
	last = graph_value(cx, out->type, out->span);
	last->def = loop;
	loop->out[j] = last;
	struct node *root =
		insert_node(cx, around, loop, ONNX_Sqrt, &last, 1, out->type, loop->span);
	root->out[0] = out;
	out->def = root;
	if (around->last == loop)
		around->last = root;
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

static void read_replacements(struct block *k)
{
	for (struct walk w = {.root = k}; walk(&w, WALK_BEFORE);)
		for (uint32_t i = 0; i < w.at.node->nin; i++)
			w.at.node->in[i] = resolve(w.at.node->in[i]);
}

void loop_roots(struct ctx *cx, struct graph *g)
{
	struct roots r = {.cx = cx};

	if (!cx->opt.reassociate)
		return;
	r.reads = new_array(cx->scratch, uint32_t, cx->next_id + 1);
	r.squares = new_array(cx->scratch, uint32_t, cx->next_id + 1);
	r.result = new_array(cx->scratch, bool, cx->next_id + 1);
	for (uint32_t i = 0; i < g->kept.len; i++)
		r.result[g->kept.at[i]->id] = true;
	count_reads(&r, g->block);
	carry_squares(&r, g->block);
	if (r.changed)
		read_replacements(g->block);
}
