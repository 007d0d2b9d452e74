/*
 * loop_states.c: fewer values that loops carry and stack. In: the graph of ONNX nodes. Out: the
 * same without
 *	states that never change: x of `x' = x` is what it was before the loop;
 *	states that are equal, as they begin and go on in the same way, and stacked results that
 *are; states and stacked results that nobody reads, or only what goes away with them: of x' = x +
 *y, y' = y * 2 both go if nobody reads x and y after the loop.
 */
#include <string.h>

#include "lower/build.h"
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
	bool *result;             /* by value id: a block gives it back */
	struct value **same;      /* by value id: the value that this one equals; NULL: itself */
	vec(struct value *) todo; /* live values whose inputs are not marked yet */
	bool changed;
};

struct block *loop_body(const struct node *n)
{
	for (uint32_t i = 0; i < n->nattrs; i++)
		if (n->attrs[i].kind == AT_GRAPH)
			return n->attrs[i].u.block;
	return NULL;
}

/* Blocks nest as the user's loops and ifs do: this and others below may recurse. */
bool has_checks(const struct block *k)
{
	if (k->checks.len)
		return true;
	for (const struct node *n = k->first; n; n = n->next)
		for (uint32_t i = 0; i < n->nattrs; i++)
			if (n->attrs[i].kind == AT_GRAPH && has_checks(n->attrs[i].u.block))
				return true;
	return false;
}

static uint32_t carried(const struct node *loop)
{
	return loop->nin - 2u;
}

static struct value *replaced(struct value *v)
{
	while (v && v->low)
		v = v->low;
	return v;
}

/* ---- states that never change, and equal ones ---- */

static struct value *same_as(const struct states *s, struct value *v)
{
	while (v && s->same[v->id])
		v = s->same[v->id];
	return v;
}

static bool constants_equal(const struct value *a, const struct value *b)
{
	const struct tensor *x = a->data, *y = b->data;
	size_t size = x ? (x->splat ? 1 : x->count) * dtypes[x->dtype].size : 0;

	return x && y && x->data && y->data && x->dtype == y->dtype && x->rank == y->rank &&
	       x->count == y->count && x->splat == y->splat && size &&
	       (!x->rank || !memcmp(x->shape, y->shape, x->rank * sizeof(*x->shape))) &&
	       !memcmp(x->data, y->data, size);
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

/* Begins with what states say that start with equal values, and takes back what is not so. */
static bool find_equal_states(struct states *s, struct node *loop, struct block *body)
{
	uint32_t n = carried(loop);
	bool any = false, wrong = true;

	for (uint32_t j = 0; j < n; j++) {
		struct value *p = body->params.at[2 + j], *q;
		for (uint32_t k = 0; k < j && k < MAX_LOOK && !s->same[p->id]; k++) {
			q = body->params.at[2 + k];
			if ((loop->in[2 + j] == loop->in[2 + k] ||
			     constants_equal(loop->in[2 + j], loop->in[2 + k])) &&
			    p->type.dtype == q->type.dtype && same_dims(s->cx, p->type, q->type))
				s->same[p->id] = q;
		}
		any |= s->same[p->id] != NULL;
	}
	for (int round = 0; any && wrong && round < MAX_ROUNDS; round++) {
		wrong = false;
		number_values(s, body);
		for (uint32_t j = 0; j < n; j++) {
			struct value *p = body->params.at[2 + j], *q = s->same[p->id];
			uint32_t k = 0;
			while (q && body->params.at[2 + k] != q)
				k++;
			if (!q || same_as(s, body->results.at[1 + j]) ==
					  same_as(s, body->results.at[1 + k]))
				continue;
			s->same[p->id] = NULL;
			wrong = true;
		}
	}
	if (wrong)
		for (uint32_t j = 0; j < n; j++)
			s->same[body->params.at[2 + j]->id] = NULL;
	if (wrong || !any)
		number_values(s, body);
	return !wrong;
}

/* v, of block k, is `by`; as a result of the block it is a value of its own behind `after`. */
static void replace(struct states *s, struct block *k, struct node *after, struct value *v,
		    struct value *by)
{
	v->low = by;
	s->changed = true;
	if (!s->result[v->id])
		return;
	struct node *copy = insert_node(s->cx, k, after, ONNX_Identity, &by, 1, v->type, v->span);
	v->low = copy->out[0];
	v->low->name = v->name;
	v->low->known = v->known;
	for (uint32_t i = 0; i < k->results.len; i++)
		if (k->results.at[i] == v)
			k->results.at[i] = v->low;
}

static void merge_in_loop(struct states *s, struct block *around, struct node *loop)
{
	struct block *body = loop_body(loop);
	uint32_t n = carried(loop);

	find_equal_states(s, loop, body);
	for (uint32_t j = 0; j < n; j++) {
		struct value *p = body->params.at[2 + j], *q = s->same[p->id];
		if (same_as(s, body->results.at[1 + j]) == p) {
			p->low = loop->in[2 + j];
			s->changed = true;
			if (has_checks(body)) /* they go away with a loop that nobody reads */
				continue;
			replace(s, around, loop, loop->out[j], loop->in[2 + j]);
		}
		for (uint32_t k = 0; q && k < j; k++)
			if (body->params.at[2 + k] == q) {
				p->low = q;
				replace(s, around, loop, loop->out[j], loop->out[k]);
				break;
			}
	}
	for (uint32_t i = n; i < loop->nout; i++)
		for (uint32_t k = n; k < i && k < n + MAX_LOOK; k++)
			if (same_as(s, body->results.at[1 + i]) ==
			    same_as(s, body->results.at[1 + k])) {
				replace(s, around, loop, loop->out[i], loop->out[k]);
				break;
			}
}

static void merge_states(struct states *s, struct block *k)
{
	for (struct node *n = k->first; n; n = n->next)
		for (uint32_t i = 0; i < n->nattrs; i++)
			if (n->attrs[i].kind == AT_GRAPH) {
				merge_states(s, n->attrs[i].u.block);
				if (is_onnx(n, ONNX_Loop) && !n->as_written)
					merge_in_loop(s, k, n);
			}
}

static void mark_results(struct states *s, struct block *k)
{
	for (uint32_t i = 0; i < k->results.len; i++)
		s->result[k->results.at[i]->id] = true;
	for (struct node *n = k->first; n; n = n->next)
		for (uint32_t i = 0; i < n->nattrs; i++)
			if (n->attrs[i].kind == AT_GRAPH)
				mark_results(s, n->attrs[i].u.block);
}

static void read_replacements(struct block *k)
{
	for (struct node *n = k->first; n; n = n->next) {
		for (uint32_t i = 0; i < n->nin; i++)
			n->in[i] = replaced(n->in[i]);
		for (uint32_t i = 0; i < n->nattrs; i++)
			if (n->attrs[i].kind == AT_GRAPH)
				read_replacements(n->attrs[i].u.block);
	}
}

/* ---- what nobody reads ---- */

static void find_owners(struct states *s, struct block *k)
{
	for (struct node *n = k->first; n; n = n->next) {
		struct block *body = loop_body(n);
		for (uint32_t i = 0; i < n->nout; i++)
			s->owner[n->out[i]->id] = (struct owner){n, i};
		for (uint32_t i = 0; body && is_onnx(n, ONNX_Loop) && i < body->params.len; i++)
			s->owner[body->params.at[i]->id] = (struct owner){n, i};
		for (uint32_t i = 0; i < n->nattrs; i++)
			if (n->attrs[i].kind == AT_GRAPH)
				find_owners(s, n->attrs[i].u.block);
	}
}

static void mark(struct states *s, struct value *v)
{
	v = replaced(v);
	if (!v || v->data || s->live[v->id])
		return;
	s->live[v->id] = true;
	*vec_push(s->cx->scratch, &s->todo) = v;
}

static void mark_state(struct states *s, struct node *loop, uint32_t j)
{
	mark(s, loop->in[2 + j]);
	mark(s, loop_body(loop)->params.at[2 + j]);
	mark(s, loop_body(loop)->results.at[1 + j]);
}

static void mark_result_of_loop(struct states *s, struct node *loop, uint32_t i)
{
	struct block *body = loop_body(loop);

	mark(s, loop->in[0]);
	mark(s, loop->in[1]);
	mark(s, body->results.at[0]);
	if (i < carried(loop))
		mark_state(s, loop, i);
	else
		mark(s, body->results.at[1 + i]);
}

static void mark_inputs(struct states *s, struct value *v)
{
	struct owner o = s->owner[v->id];

	if (!o.loop)
		return;
	if (is_onnx(o.loop, ONNX_Loop) && v->def) {
		mark_result_of_loop(s, o.loop, o.at);
	} else if (!v->def) {
		if (o.at >= 2)
			mark_state(s, o.loop, o.at - 2);
	} else {
		for (uint32_t i = 0; i < v->def->nin; i++)
			mark(s, v->def->in[i]);
		for (uint32_t i = 0; i < v->def->nattrs; i++)
			if (v->def->attrs[i].kind == AT_GRAPH) {
				struct block *k = v->def->attrs[i].u.block;
				for (uint32_t j = 0; j < k->results.len; j++)
					mark(s, k->results.at[j]);
			}
	}
}

static bool is_dropped(const struct states *s, const struct node *loop, uint32_t i)
{
	if (i < carried(loop) && s->live[loop_body(loop)->params.at[2 + i]->id])
		return false;
	return !s->live[loop->out[i]->id];
}

static void drop_in_loop(struct states *s, struct node *loop)
{
	struct block *body = loop_body(loop);
	uint32_t n = carried(loop), left = 0, states = 0;

	if (!s->live[body->results.at[0]->id]) /* the loop itself goes */
		return;
	for (uint32_t i = 0; i < loop->nout; i++) {
		if (is_dropped(s, loop, i))
			continue;
		if (i < n) {
			loop->in[2 + left] = loop->in[2 + i];
			body->params.at[2 + left] = body->params.at[2 + i];
			states++;
		}
		body->results.at[1 + left] = body->results.at[1 + i];
		loop->out[left++] = loop->out[i];
	}
	loop->nin = (uint16_t)(2 + states);
	loop->nout = (uint16_t)left;
	body->params.len = 2 + states;
	body->results.len = 1 + left;
}

static void drop_states(struct states *s, struct block *k)
{
	for (struct node *n = k->first; n; n = n->next) {
		for (uint32_t i = 0; i < n->nattrs; i++)
			if (n->attrs[i].kind == AT_GRAPH)
				drop_states(s, n->attrs[i].u.block);
		if (is_onnx(n, ONNX_Loop) && !n->as_written)
			drop_in_loop(s, n);
	}
}

void loop_states(struct ctx *cx, struct graph *g)
{
	struct states s = {.cx = cx};

	s.result = new_array(cx->scratch, bool, cx->next_id + 1);
	/* at most one more value for each that is a result */
	s.same = new_array(cx->scratch, struct value *, 2 * (size_t)cx->next_id + 1);
	mark_results(&s, g->block);
	merge_states(&s, g->block);
	if (s.changed)
		read_replacements(g->block);
	for (uint32_t i = 0; i < g->states.len; i++)
		g->states.at[i].next = replaced(g->states.at[i].next);
	if (!rewrite_is_on(cx, PASS_DEAD))
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
