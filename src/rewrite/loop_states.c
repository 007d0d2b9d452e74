/*
 * loop_states.c: fewer values that loops carry and stack. In: the graph of ONNX nodes. Out: the
 * same without
 *	states that never change: x of `x' = x` is what it was before the loop;
 *	states that are equal, as they begin and go on in the same way, and equal stacked results;
 *	states and stacked results that nobody reads, or that only such values read: of x' = x + y
 *		and y' = y * 2 both go if nobody reads x and y after the loop;
 *	results of ifs that nobody reads.
 */
#include <string.h>

#include "graph/uses.h"
#include "rewrite/loops.h"

#define MAX_ROUNDS 8  /* of finding which states are equal */
#define MAX_LOOK   64 /* others that a state or result is compared with */

struct owner {
	struct node *loop; /* the value is parameter or result `at` of this loop */
	uint32_t at;
};
struct states {
	struct ctx *cx;
	struct owner *owner;      /* by value id */
	bool *live;               /* by value id */
	struct value **same;      /* by value id: the value that this one equals; NULL: itself */
	vec(struct value *) todo; /* live values whose inputs are not marked yet */
	bool changed;
};

static bool is_loop(const struct node *n)
{
	return is_onnx(n, ONNX_Loop) || is_onnx(n, ONNX_Scan);
}

/* Inputs and parameters before those of the states: a Loop has steps and a condition. */
static uint32_t before(const struct node *loop)
{
	return is_onnx(loop, ONNX_Loop) ? 2 : 0;
}

/* Result j of the body is result j - extra of the loop. */
static uint32_t extra(const struct node *loop)
{
	return is_onnx(loop, ONNX_Loop) ? 1 : 0;
}

static uint32_t carried(const struct node *loop)
{
	return loop->nin - before(loop) - (uint32_t)int_of_attr(loop, "num_scan_inputs", 0);
}

/* ---- states that never change, and equal ones ---- */

static struct value *same_as(const struct states *s, struct value *v)
{
	while (v && s->same[v->id])
		v = s->same[v->id];
	return v;
}

/* Are a and b, of equal dims, the same number in all elements? */
static bool are_one_number(const struct value *a, const struct value *b)
{
	if (!is_onnx(a->def, ONNX_Expand) || !is_onnx(b->def, ONNX_Expand))
		return false;
	const struct tensor *x = constant_data(a->def->in[0]), *y = constant_data(b->def->in[0]);

	return x && y && x->count == 1 && y->count == 1 && x->dtype == y->dtype &&
	       !memcmp(x->data, y->data, dtypes[x->dtype].size);
}

/* Sets for each value of the body which earlier one it equals, if the states are equal that are
 * said to be. */
static void number_values(struct states *s, struct block *body)
{
	struct hash_table table = {0};
	vec(struct node *) keys = {0};

	for (struct node *n = body->first; n; n = n->next) {
		for (uint32_t i = 0; i < n->nout; i++)
			s->same[n->out[i]->id] = NULL;
		if (is_onnx(n, ONNX_Identity)) {
			s->same[n->out[0]->id] = same_as(s, n->in[0]);
			continue;
		}
		if (!onnx_is_pure(n->onnx) || onnx_has_blocks(n->onnx))
			continue;
		struct node *key = new (s->cx->scratch, struct node);
		*key = *n;
		key->in = new_array(s->cx->scratch, struct value *, n->nin + 1);
		for (uint32_t i = 0; i < n->nin; i++)
			key->in[i] = same_as(s, n->in[i]);
		struct probe p = {.hash = node_hash(key)};
		const struct node *found = NULL;
		while (!found && hash_next(&table, &p))
			if (nodes_equal(keys.at[p.number], key))
				found = keys.at[p.number];
		if (!found) {
			*vec_push(s->cx->scratch, &keys) = key;
			hash_add(s->cx->scratch, &table, p.hash, keys.len - 1);
		}
		for (uint32_t i = 0; i < n->nout && found; i++)
			s->same[n->out[i]->id] = found->out[i];
	}
}

/* Does parameter j of the body, a state or the row of a sequence, equal an earlier one of its kind
 * at first? NULL: no */
static struct value *begins_like(struct states *s, struct node *loop, uint32_t j, uint32_t first)
{
	struct block *body = loop_body(loop);
	struct value *p = body->params.at[j], *q;

	for (uint32_t k = first; k < j && k < first + MAX_LOOK; k++) {
		q = body->params.at[k];
		if ((loop->in[j] == loop->in[k] ||
		     quickly_equal(constant_data(loop->in[j]), constant_data(loop->in[k]),
				   UINT64_MAX) ||
		     are_one_number(loop->in[j], loop->in[k])) &&
		    same_type(s->cx, &p->type, &q->type))
			return same_as(s, q);
	}
	return NULL;
}

/* Begins with what states say that start with equal values, and takes back what is not so. */
static void find_equal_states(struct states *s, struct node *loop)
{
	struct block *body = loop_body(loop);
	uint32_t first = before(loop), end = first + carried(loop), last = extra(loop);
	bool wrong = true;

	for (uint32_t j = first; j < loop->nin; j++)
		s->same[body->params.at[j]->id] = begins_like(s, loop, j, j < end ? first : end);
	for (int round = 0; wrong && round < MAX_ROUNDS; round++) {
		wrong = false;
		number_values(s, body);
		for (uint32_t j = first; j < end; j++) {
			struct value *p = body->params.at[j], *q = s->same[p->id];
			uint32_t k = first;
			while (q && body->params.at[k] != q)
				k++;
			if (!q || same_as(s, body->results.at[last + j - first]) ==
					  same_as(s, body->results.at[last + k - first]))
				continue;
			s->same[p->id] = NULL;
			wrong = true;
		}
	}
	for (uint32_t j = first; wrong && j < end; j++)
		s->same[body->params.at[j]->id] = NULL;
	if (wrong)
		number_values(s, body);
}

/* v, of block k, is `by`; as a result of the block it is a value of its own behind `after`. */
static void replace_in_block(struct states *s, struct block *k, struct node *after, struct value *v,
			     struct value *by)
{
	s->changed = true;
	if (!v->is_result) {
		replace_all_uses(v, by);
		return;
	}
	by = behind_identity(resolve(by)); /* which may be a new one */
	struct build b = build_at(s->cx, k, after);
	b.span = v->span;
	struct value *copy = identity(&b, by);
	copy->type = v->type;
	copy->name = v->name;
	copy->known = v->known;
	replace_all_uses(v, copy);
	for (uint32_t i = 0; i < k->results.len; i++)
		if (k->results.at[i] == v)
			put_result(k, i, copy);
}

static void merge_in_loop(struct states *s, struct block *around, struct node *loop)
{
	struct block *body = loop_body(loop);
	uint32_t first = before(loop), last = extra(loop), n = carried(loop);

	find_equal_states(s, loop);
	for (uint32_t j = 0; j < loop->nin - first; j++) {
		struct value *p = body->params.at[first + j], *q = s->same[p->id];
		bool stays = j < n && same_as(s, body->results.at[last + j]) == p;
		struct value *out = NULL;

		if (!q && !stays)
			continue;
		replace_all_uses(p, q ? q : loop->in[first + j]);
		s->changed = true;
		if (stays && !has_checks(body)) /* they go away with a loop that nobody reads */
			out = loop->in[first + j];
		for (uint32_t k = 0; !out && q && j < n && k < j; k++)
			if (body->params.at[first + k] == q)
				out = loop->out[k];
		if (out)
			replace_in_block(s, around, loop, loop->out[j], out);
	}
	for (uint32_t i = n; i < loop->nout; i++)
		for (uint32_t k = n; k < i && k < n + MAX_LOOK; k++)
			if (same_as(s, body->results.at[last + i]) ==
			    same_as(s, body->results.at[last + k])) {
				replace_in_block(s, around, loop, loop->out[i], loop->out[k]);
				break;
			}
}

static void merge_states(struct states *s, struct block *k)
{
	for (struct walk w = {.root = k}; walk(&w, WALK_AFTER);)
		if (is_loop(w.at.node))
			merge_in_loop(s, w.at.block, w.at.node);
}

/* ---- what nobody reads ---- */

static void find_owners(struct states *s, struct block *k)
{
	for (struct walk w = {.root = k}; walk(&w, WALK_BEFORE);) {
		struct node *n = w.at.node;
		struct block *body = loop_body(n);
		for (uint32_t i = 0; i < n->nout; i++)
			s->owner[n->out[i]->id] = (struct owner){n, i};
		for (uint32_t i = 0; body && is_loop(n) && i < body->params.len; i++)
			s->owner[body->params.at[i]->id] = (struct owner){n, i};
	}
}

static void mark(struct states *s, struct value *v)
{
	v = resolve(v);
	if (!v || v->data || s->live[v->id])
		return;
	s->live[v->id] = true;
	*vec_push(s->cx->scratch, &s->todo) = v;
}

static void mark_state(struct states *s, struct node *loop, uint32_t j)
{
	mark(s, loop->in[before(loop) + j]);
	mark(s, loop_body(loop)->params.at[before(loop) + j]);
	mark(s, loop_body(loop)->results.at[extra(loop) + j]);
}

static void mark_result_of_loop(struct states *s, struct node *loop, uint32_t i)
{
	struct block *body = loop_body(loop);

	for (uint32_t k = 0; k < before(loop); k++)
		mark(s, loop->in[k]);
	for (uint32_t k = 0; k < extra(loop); k++)
		mark(s, body->results.at[k]);
	if (i < carried(loop))
		mark_state(s, loop, i);
	else
		mark(s, body->results.at[extra(loop) + i]);
}

static void mark_inputs(struct states *s, struct value *v)
{
	struct owner o = s->owner[v->id];

	if (!o.loop)
		return;
	if (is_loop(o.loop) && v->def) {
		mark_result_of_loop(s, o.loop, o.at);
	} else if (!v->def) {
		uint32_t first = before(o.loop);
		if (o.at >= first + carried(o.loop))
			mark(s, o.loop->in[o.at]);
		else if (o.at >= first)
			mark_state(s, o.loop, o.at - first);
	} else {
		for (uint32_t i = 0; i < v->def->nin; i++)
			mark(s, v->def->in[i]);
		for_bodies (k, v->def)
			for (uint32_t j = 0; j < k->results.len; j++)
				if (j == o.at || !is_onnx(v->def, ONNX_If))
					mark(s, k->results.at[j]);
	}
}

static void drop_in_loop(struct states *s, struct node *loop)
{
	struct block *body = loop_body(loop);
	uint32_t first = before(loop), last = extra(loop), n = carried(loop);
	uint32_t in = first, out = 0, states;

	if (!is_needed(s->live, loop))
		return;
	for (uint32_t i = 0; i < loop->nout; i++) {
		bool state = i < n && s->live[body->params.at[first + i]->id];
		if (!state && !s->live[loop->out[i]->id])
			continue;
		if (i < n) {
			loop->in[in] = loop->in[first + i];
			body->params.at[in++] = body->params.at[first + i];
		}
		body->results.at[last + out] = body->results.at[last + i];
		loop->out[out++] = loop->out[i];
	}
	states = in;
	for (uint32_t i = first + n; i < loop->nin; i++) {
		bool needed = in == states && i + 1u == loop->nin; /* a Scan has one at least */
		if (!needed && !s->live[body->params.at[i]->id])
			continue;
		loop->in[in] = loop->in[i];
		body->params.at[in++] = body->params.at[i];
	}
	loop->nin = (uint16_t)in;
	loop->nout = (uint16_t)out;
	body->params.len = in;
	body->results.len = last + out;
	if (is_onnx(loop, ONNX_Scan))
		set_int(s->cx, loop, "num_scan_inputs", in - states);
}

static void drop_in_if(struct states *s, struct node *n)
{
	uint32_t out = 0;

	if (!is_needed(s->live, n))
		return;
	for (uint32_t i = 0; i < n->nout; i++) {
		if (!s->live[n->out[i]->id])
			continue;
		for_bodies (k, n)
			k->results.at[out] = k->results.at[i];
		n->out[out++] = n->out[i];
	}
	for_bodies (k, n)
		k->results.len = out;
	n->nout = (uint16_t)out;
}

static void drop_states(struct states *s, struct block *k)
{
	for (struct walk w = {.root = k}; walk(&w, WALK_AFTER);) {
		if (is_loop(w.at.node))
			drop_in_loop(s, w.at.node);
		else if (is_onnx(w.at.node, ONNX_If))
			drop_in_if(s, w.at.node);
	}
}

void loop_states(struct ctx *cx, struct graph *g)
{
	struct states s = {.cx = cx};

	/* at most one more value for each that is a result */
	s.same = new_array(cx->scratch, struct value *, 2 * (size_t)cx->next_id + 1);
	merge_states(&s, g->block);
	if (s.changed)
		resolve_inputs(g->block);
	for (uint32_t i = 0; i < g->states.len; i++)
		g->states.at[i].next = resolve(g->states.at[i].next);
	if (!flag_is_on(cx, FLAG_DEAD))
		return;
	s.owner = new_array(cx->scratch, struct owner, cx->next_id + 1);
	s.live = new_array(cx->scratch, bool, cx->next_id + 1);
	find_owners(&s, g->block);
	for (uint32_t i = 0; i < g->block->results.len; i++)
		mark(&s, g->block->results.at[i]);
	for (uint32_t i = 0; i < g->kept.len; i++)
		mark(&s, g->kept.at[i]);
	while (s.todo.len)
		mark_inputs(&s, s.todo.at[--s.todo.len]);
	drop_states(&s, g->block);
}
