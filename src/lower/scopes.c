/*
 * scopes.c: blocks that are being built, and what is in them. In: nodes and constants that are
 * about to be made. Out: an equal one that was made before in this block or one around it, so that
 * x + 1 is one node however often it is asked for. Nodes can be put into a graph that was lowered
 * (build_at); if it is opened again (build_reopen), its nodes are known too.
 */
#include <string.h>

#include "graph/uses.h"
#include "lower/internal.h"

#define SMALL_CONSTANT (16 << 10) /* bytes up to which all are hashed */
#define SAMPLES        64         /* pieces of 64 bytes that are hashed of a larger constant */
#define NEAR           64         /* hashes side by side */

/* ---- blocks ---- */

void scope_open(struct build *b, struct block *block)
{
	struct build_scope *c = new (b->cx->arena, struct build_scope);

	c->outer = b->scope;
	c->shared = b->scope ? b->scope->shared : NULL;
	c->block = block;
	b->scope = c;
	b->block = block;
}

void scope_close(struct build *b, struct block *outer)
{
	b->scope = b->scope->outer;
	b->block = outer;
}

struct block *block_new(struct build *b)
{
	struct block *k = new (b->cx->arena, struct block);

	k->outer = b->block;
	k->depth = b->block ? b->block->depth + 1 : 0;
	return k;
}

void set_defining_block(struct build *b, const struct value *v)
{
	struct shared *s = b->scope->shared;

	if (v->id >= s->ndefined_in) {
		uint32_t n = v->id + v->id / 2 + 64;
		s->defined_in = arena_grow(b->cx->scratch, s->defined_in,
					   s->ndefined_in * sizeof(*s->defined_in),
					   mul_size(b->cx->scratch, n, sizeof(*s->defined_in)));
		s->ndefined_in = n;
	}
	s->defined_in[v->id] = b->block;
}

/* May a node that is added now read v? */
bool visible(struct build *b, const struct value *v)
{
	if (v->data)
		return true;
	const struct block *k = defining_block(b, v);
	for (struct build_scope *c = b->scope; k && c; c = c->outer)
		if (c->block == k)
			return true;
	return false;
}

struct value *block_param(struct build *b, struct block *to, struct type t)
{
	struct value *v = graph_value(b->cx, t, b->span);
	struct block *old = b->block;

	b->block = to;
	set_defining_block(b, v);
	b->block = old;
	*vec_push(b->cx->arena, &to->params) = v;
	return v;
}

/* ---- what was made before ---- */

static uint64_t mix_bytes(uint64_t h, const void *p, size_t n)
{
	const unsigned char *s = p;

	for (size_t i = 0; i < n; i++)
		h = (h ^ s[i]) * 0x100000001b3u;
	return hash_with(h, n);
}

static uint64_t attr_hash(uint64_t h, const struct attr *a)
{
	h = mix_bytes(h, a->name, strlen(a->name));
	switch ((enum attr_kind)a->kind) {
	case AT_INT:
		return hash_with(h, (uint64_t)a->u.i);
	case AT_FLOAT:
		return mix_bytes(h, &a->u.f, sizeof(float));
	case AT_STR:
		return mix_bytes(h, a->u.s.s, a->u.s.len);
	case AT_INTS:
		return mix_bytes(h, a->u.ints, a->n * sizeof(int64_t));
	case AT_FLOATS:
		return mix_bytes(h, a->u.floats, a->n * sizeof(float));
	case AT_TENSOR:
	case AT_STRS:
	case AT_GRAPH:
		break;
	}
	return h;
}

static bool strs_equal(const struct astr *a, const struct astr *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (a[i].len != b[i].len || memcmp(a[i].s, b[i].s, a[i].len))
			return false;
	return true;
}

static bool attr_equal(const struct attr *a, const struct attr *b)
{
	if (a->kind != b->kind || a->n != b->n || strcmp(a->name, b->name))
		return false;
	switch ((enum attr_kind)a->kind) {
	case AT_INT:
		return a->u.i == b->u.i;
	case AT_FLOAT:
		return !memcmp(&a->u.f, &b->u.f, sizeof(float));
	case AT_STR:
		return strs_equal(&a->u.s, &b->u.s, 1);
	case AT_INTS:
		return !a->n || !memcmp(a->u.ints, b->u.ints, a->n * sizeof(int64_t));
	case AT_FLOATS:
		return !a->n || !memcmp(a->u.floats, b->u.floats, a->n * sizeof(float));
	case AT_STRS:
		return strs_equal(a->u.strs, b->u.strs, a->n);
	case AT_TENSOR:
		return tensor_equal(a->u.t, b->u.t);
	case AT_GRAPH:
		break;
	}
	return a->u.block == b->u.block;
}

/* Is x op y always y op x, to the bit? Not Max and Min, of 0 and -0. */
static bool commutes(const struct node *n)
{
	if (n->nin != 2 || n->as_written)
		return false;
	switch (n->onnx->id) {
	case ONNX_Add:
	case ONNX_Mul:
	case ONNX_And:
	case ONNX_Or:
	case ONNX_Xor:
	case ONNX_Equal:
		return true;
	default:
		return false;
	}
}

bool nodes_equal(const struct node *a, const struct node *b)
{
	if (a->onnx != b->onnx || a->nin != b->nin || a->nattrs != b->nattrs ||
	    a->nout != b->nout || a->as_written != b->as_written)
		return false;
	bool turned = commutes(a) && a->in[0] != b->in[0];
	for (uint32_t i = 0; i < a->nin; i++)
		if (a->in[i] != b->in[turned ? 1 - i : i])
			return false;
	for (uint32_t i = 0; i < a->nattrs; i++)
		if (!attr_equal(&a->attrs[i], &b->attrs[i]))
			return false;
	return true;
}

/* Nodes that differ in their newest input alone, as those of a chain do, get hashes side by side:
 * what is used together lies together. NEAR of them at most, as long runs in the table would meet.
 */
uint32_t node_hash(const struct node *n)
{
	uint64_t h = hash_with(n->onnx->id, n->nout);
	uint32_t newest = 0;

	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && n->in[i]->id > newest)
			newest = n->in[i]->id;
	bool turned = commutes(n) && n->in[0]->id < n->in[1]->id;
	for (uint32_t i = 0; i < n->nin; i++) {
		const struct value *x = n->in[turned ? 1 - i : i];
		h = hash_with(h, !x ? 0 : x->id == newest ? 1 : x->id + 2ull);
	}
	for (uint32_t i = 0; i < n->nattrs; i++)
		h = attr_hash(h, &n->attrs[i]);
	h = hash_with(h, newest / NEAR);
	return (uint32_t)(h ^ h >> 32) + newest % NEAR;
}

struct node *cse_find(struct build *b, const struct node *key, uint32_t hash)
{
	for (struct build_scope *c = b->scope; c; c = c->outer) {
		struct probe p = {.hash = hash};
		while (hash_next(&c->table, &p))
			if (nodes_equal(c->nodes.at[p.number], key))
				return c->nodes.at[p.number];
	}
	return NULL;
}

struct value *find_made(struct build *b, enum onnx_id op, struct value *x, struct value *y)
{
	struct value *in[2] = {x, y};
	struct node key = {
		.onnx = onnx_nearest(op, b->opset), .in = in, .nin = y ? 2 : 1, .nout = 1};
	const struct node *found =
		flag_is_on(b->cx, FLAG_CSE) ? cse_find(b, &key, node_hash(&key)) : NULL;

	return found ? found->out[0] : NULL;
}

void cse_add(struct build *b, struct node *n, uint32_t hash)
{
	struct build_scope *c = b->scope;

	*vec_push(b->cx->scratch, &c->nodes) = n;
	hash_add(b->cx->scratch, &c->table, hash, c->nodes.len - 1);
}

static uint32_t constant_hash(const struct tensor *t)
{
	uint64_t h = hash_with(t->dtype, t->rank * 2u + t->splat), size = stored_bytes(t);

	if (t->rank)
		h = mix_bytes(h, t->shape, t->rank * sizeof(int64_t));
	if (size <= SMALL_CONSTANT)
		h = mix_bytes(h, t->data, size);
	for (uint32_t i = 0; size > SMALL_CONSTANT && i < SAMPLES; i++)
		h = mix_bytes(h, (const char *)t->data + (size - 64) / (SAMPLES - 1) * i, 64);
	return (uint32_t)(h ^ h >> 32);
}

struct value *const_unshared(struct build *b, const struct tensor *t)
{
	struct value *v = graph_constant(b->cx, t, b->span);

	set_defining_block(b, v);
	if (is_int((enum dtype)t->dtype))
		known_of(b->cx, v);
	return v;
}

struct value *shared_constant(struct build *b, const struct tensor *t, struct value *v)
{
	struct shared *s = b->scope->shared;
	bool known = dtypes[t->dtype].size && t->data;
	struct probe p = {.hash = known ? constant_hash(t) : 0};

	while (known && hash_next(&s->constant_table, &p))
		if (tensor_equal(s->constants.at[p.number]->data, t))
			return s->constants.at[p.number];
	if (!v)
		v = const_unshared(b, t);
	if (known) {
		*vec_push(b->cx->scratch, &s->constants) = v;
		hash_add(b->cx->scratch, &s->constant_table, p.hash, s->constants.len - 1);
	}
	return v;
}

/* ---- a graph that was lowered ---- */

struct build build_at(struct ctx *cx, struct block *k, struct node *after)
{
	return (struct build){.cx = cx,
			      .opset = cx->opt.opset,
			      .target = cx->opt.target,
			      .block = k,
			      .after = after};
}

struct value *lowered_value(const struct build *b, struct value *v)
{
	v = resolve(v);
	return v && defining_block(b, v) ? v : NULL;
}

static void adopt(struct build *b, struct value *v)
{
	set_defining_block(b, v);
	clear_uses(v);
}

static void adopt_constant(struct build *b, struct value *v)
{
	if (!v || !v->data || defining_block(b, v))
		return;
	adopt(b, v);
	if (!is_weight(v))
		shared_constant(b, v->data, v);
}

/* The values of block k and of those in it */
static void adopt_all(struct build *b, struct block *k)
{
	struct block *outer = b->block;

	for (struct walk w = {.root = k}; walk(&w, WALK_ENTER | WALK_BEFORE | WALK_LEAVE);) {
		const struct node *n = w.at.node;
		b->block = w.at.block;
		for (uint32_t i = 0; w.event == WALK_ENTER && i < b->block->params.len; i++)
			adopt(b, b->block->params.at[i]);
		for (uint32_t i = 0; w.event == WALK_BEFORE && i < n->nin; i++)
			adopt_constant(b, n->in[i]);
		for (uint32_t i = 0; w.event == WALK_BEFORE && i < n->nout; i++)
			adopt(b, n->out[i]);
		for (uint32_t i = 0; w.event == WALK_LEAVE && i < b->block->results.len; i++)
			adopt_constant(b, b->block->results.at[i]);
	}
	b->block = outer;
}

void build_reopen(struct build *b, struct ctx *cx, struct graph *g, const struct emit_rules *rules,
		  instead_fn_t *instead)
{
	*b = build_at(cx, NULL, NULL);
	b->rules = rules;
	b->instead = instead;
	scope_open(b, g->block);
	b->scope->shared = new (cx->arena, struct shared);
	b->scope->shared->names = g->names;
	adopt_all(b, g->block);
}
