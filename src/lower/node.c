/*
 * node.c: makes ONNX nodes and constants. In: an operator's name, ONNX values, attributes set by
 * attr_*(). Out: typed ONNX values in b->block. A node that was made before in this block or one
 * around it is not made again; one that the target cannot run goes through the legaliser
 * (missing_kernels.c). Must hold: inputs are ONNX values that are visible in b->block (v->low ==
 * v).
 */
#include <string.h>

#include "lower/build.h"

#define SMALL_CONSTANT (16 << 10) /* bytes up to which equal constants are one */
#define NEAR           64         /* hashes side by side */

static uint64_t mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15u;
	return h ^ (h >> 29);
}

static uint64_t mix_bytes(uint64_t h, const void *p, size_t n)
{
	const unsigned char *s = p;

	for (size_t i = 0; i < n; i++)
		h = (h ^ s[i]) * 0x100000001b3u;
	return mix(h, n);
}

/* Scopes */

void scope_open(struct build *b, struct block *block)
{
	struct cse *c = new (b->cx->arena, struct cse);

	c->outer = b->cse;
	c->shared = b->cse ? b->cse->shared : NULL;
	c->block = block;
	b->cse = c;
	b->block = block;
}

void scope_close(struct build *b, struct block *outer)
{
	b->cse = b->cse->outer;
	b->block = outer;
}

struct block *block_new(struct build *b)
{
	struct block *k = new (b->cx->arena, struct block);

	k->outer = b->block;
	k->depth = b->block ? b->block->depth + 1 : 0;
	return k;
}

static void set_home(struct build *b, const struct value *v)
{
	struct shared *s = b->cse->shared;

	if (v->id >= s->nhome) {
		uint32_t n = v->id + v->id / 2 + 64;
		s->home = arena_grow(b->cx->scratch, s->home, s->nhome * sizeof(*s->home),
				     mul_size(b->cx->scratch, n, sizeof(*s->home)));
		s->nhome = n;
	}
	s->home[v->id] = b->block;
}

/* May a node that is added now read v? */
bool visible(struct build *b, const struct value *v)
{
	if (v->data)
		return true;
	if (v->id >= b->cse->shared->nhome)
		return false;
	for (struct cse *c = b->cse; c; c = c->outer)
		if (c->block == b->cse->shared->home[v->id])
			return true;
	return false;
}

struct value *block_param(struct build *b, struct block *to, struct type t)
{
	struct value *v = graph_value(b->cx, t, b->span);
	struct block *old = b->block;

	v->low = v;
	b->block = to;
	set_home(b, v);
	b->block = old;
	*vec_push(b->cx->arena, &to->params) = v;
	return v;
}

/* Attributes of the next node */

static struct attr *attr_add(struct build *b, const char *name, enum attr_kind kind)
{
	if (b->nattrs == b->cattrs)
		b->attrs = vec_more(b->cx->arena, b->attrs, &b->cattrs, sizeof(*b->attrs));
	struct attr *a = &b->attrs[b->nattrs++];
	*a = (struct attr){.name = name, .kind = (uint8_t)kind};
	return a;
}

void attr_int(struct build *b, const char *name, int64_t v)
{
	attr_add(b, name, AT_INT)->u.i = v;
}

void attr_float(struct build *b, const char *name, float v)
{
	attr_add(b, name, AT_FLOAT)->u.f = v;
}

void attr_str(struct build *b, const char *name, const char *v)
{
	attr_add(b, name, AT_STR)->u.s = (struct astr){.s = v, .len = (uint32_t)strlen(v)};
}

void attr_ints(struct build *b, const char *name, const int64_t *v, uint32_t n)
{
	int64_t *copy = new_array(b->cx->arena, int64_t, n ? n : 1);
	struct attr *a = attr_add(b, name, AT_INTS);

	if (n)
		memcpy(copy, v, n * sizeof(*v));
	a->n = n;
	a->u.ints = copy;
}

void attr_tensor(struct build *b, const char *name, const struct tensor *t)
{
	attr_add(b, name, AT_TENSOR)->u.t = t;
}

void attr_block(struct build *b, const char *name, struct block *v)
{
	attr_add(b, name, AT_GRAPH)->u.block = v;
}

static uint64_t tensor_bytes(const struct tensor *t)
{
	return (t->splat ? 1 : t->count) * dtypes[t->dtype].size;
}

static bool tensor_equal(const struct tensor *a, const struct tensor *b)
{
	return a == b || (a->dtype == b->dtype && a->rank == b->rank && a->splat == b->splat &&
			  a->count == b->count &&
			  (!a->rank || !memcmp(a->shape, b->shape, a->rank * sizeof(int64_t))) &&
			  (a->data == b->data || !memcmp(a->data, b->data, tensor_bytes(a))));
}

static uint64_t attr_hash(uint64_t h, const struct attr *a)
{
	h = mix_bytes(h, a->name, strlen(a->name));
	switch ((enum attr_kind)a->kind) {
	case AT_INT:
		return mix(h, (uint64_t)a->u.i);
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

/* Nodes that were made before */

bool nodes_equal(const struct node *a, const struct node *b)
{
	if (a->onnx != b->onnx || a->nin != b->nin || a->nattrs != b->nattrs || a->nout != b->nout)
		return false;
	for (uint32_t i = 0; i < a->nin; i++)
		if (a->in[i] != b->in[i])
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
	uint64_t h = mix(n->onnx->id, n->nout);
	uint32_t newest = 0;

	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && n->in[i]->id > newest)
			newest = n->in[i]->id;
	for (uint32_t i = 0; i < n->nin; i++)
		h = mix(h, !n->in[i] ? 0 : n->in[i]->id == newest ? 1 : n->in[i]->id + 2ull);
	for (uint32_t i = 0; i < n->nattrs; i++)
		h = attr_hash(h, &n->attrs[i]);
	h = mix(h, newest / NEAR);
	return (uint32_t)(h ^ h >> 32) + newest % NEAR;
}

static struct node *cse_find(struct build *b, const struct node *key, uint32_t hash)
{
	for (struct cse *c = b->cse; c; c = c->outer) {
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
	const struct node *found = b->cx->opt.cse ? cse_find(b, &key, node_hash(&key)) : NULL;

	return found ? found->out[0] : NULL;
}

static void cse_add(struct build *b, struct node *n, uint32_t hash)
{
	struct cse *c = b->cse;

	*vec_push(b->cx->scratch, &c->nodes) = n;
	hash_add(b->cx->scratch, &c->table, hash, c->nodes.len - 1);
}

/* Nodes */

static struct node *raw_node(struct build *b, const struct onnx_op *op, struct value **in,
			     uint32_t nin, uint32_t nout)
{
	struct arena *a = b->cx->arena;
	struct node *n = new (a, struct node);

	while (nin && !in[nin - 1])
		nin--;
	n->op = &op_onnx;
	n->onnx = op;
	n->span = b->span;
	n->nin = (uint16_t)nin;
	n->nout = (uint16_t)nout;
	n->in = new_array(a, struct value *, nin ? nin : 1);
	if (nin)
		memcpy(n->in, in, nin * sizeof(*in));
	n->out = new_array(a, struct value *, nout ? nout : 1);
	for (uint32_t i = 0; i < nout; i++) {
		n->out[i] = graph_value(b->cx, (struct type){0}, b->span);
		n->out[i]->def = n;
		n->out[i]->low = n->out[i];
	}
	if (b->nattrs) {
		n->attrs = new_array(a, struct attr, b->nattrs);
		memcpy(n->attrs, b->attrs, b->nattrs * sizeof(*b->attrs));
		n->nattrs = (uint16_t)b->nattrs;
	}
	b->nattrs = 0;
	return n;
}

struct node *onnx_node(struct build *b, enum onnx_id op, struct value **in, uint32_t nin,
		       uint32_t nout)
{
	return raw_node(b, onnx_nearest(op, b->opset), in, nin, nout);
}

void append(struct build *b, struct node *n)
{
	graph_append(b->block, n);
	for (uint32_t i = 0; i < n->nout; i++)
		set_home(b, n->out[i]);
}

static bool has_kernel(struct build *b, const struct node *n)
{
	enum dtype in[64], out[64];
	uint32_t nin = n->nin < countof(in) ? n->nin : countof(in);
	uint32_t nout = n->nout < countof(out) ? n->nout : countof(out);

	if (b->opset < n->onnx->since)
		return false;
	for (uint32_t i = 0; i < nin; i++)
		in[i] = n->in[i] ? n->in[i]->type.dtype : DT_NONE;
	for (uint32_t i = 0; i < nout; i++)
		out[i] = n->out[i]->type.dtype;
	return kernel_exists(b->target, n->onnx, in, nin, out, nout);
}

static void poison_results(struct build *b, struct node *n, struct value **out, uint32_t nout)
{
	struct type t = type_of(DT_FLOAT32, 0, NULL);

	if (n->nin && n->in[0])
		t = n->in[0]->type;
	for (uint32_t i = 0; i < nout; i++)
		out[i] = dummy(b, t);
}

/* `like`: a raw node of the user's; its results have the types that ONNX has no rule for. */
static bool infer_types(struct build *b, struct node *n, const struct node *like)
{
	switch (onnx_infer(b->cx, n)) {
	case ONNX_INFERRED:
		return true;
	case ONNX_NO_RULE:
		if (!like)
			bug("no type rule for ONNX %s", n->onnx->name);
		for (uint32_t i = 0; i < n->nout; i++)
			if (!n->out[i]->type.dtype)
				n->out[i]->type = like->out[i]->type;
		return true;
	case ONNX_ERROR:
		break;
	}
	b->cse->shared->failed = true;
	return false;
}

/* Does the operator's schema take these input dtypes? The legaliser may know a way if not. */
static bool schema_takes(const struct node *n)
{
	for (uint32_t i = 0; i < n->nin; i++) {
		const struct onnx_constraint *c = n->onnx->constraints;
		const char *type = n->onnx->in[i < n->onnx->nin ? i : n->onnx->nin - 1u].type;
		for (; n->in[i] && c && c->var; c++)
			if (!strcmp(c->var, type) && !(c->dtypes >> n->in[i]->type.dtype & 1))
				return false;
	}
	return true;
}

static void emit_op(struct build *b, const struct onnx_op *op, const struct node *like,
		    struct value **in, uint32_t nin, struct value **out, uint32_t nout);

/* Such axes are given to the result instead: what reads it may need none. */
static bool emit_padded(struct build *b, const struct onnx_op *op, struct value **in, uint32_t nin,
			struct value **out)
{
	struct value *bare[3];
	int64_t axes[MAX_RANK];
	uint32_t n = 0;
	uint64_t given = common_given_axes(b, op, in, nin, bare);

	if (!given)
		return false;
	emit_op(b, op, NULL, bare, nin, out, 1);
	for (uint32_t i = 0; given >> i; i++)
		if (given >> i & 1)
			axes[n++] = i;
	out[0] = unsqueeze(b, out[0], axes, n);
	return true;
}

static bool is_unsqueeze(const struct onnx_op *op, struct value **in, uint32_t nin)
{
	return nin == 2 && op->id == ONNX_Unsqueeze && in[1]->data;
}

static void emit_op(struct build *b, const struct onnx_op *op, const struct node *like,
		    struct value **in, uint32_t nin, struct value **out, uint32_t nout)
{
	struct value *shorter[3];
	bool raw = like && !like->lenient; /* a user's node is what it says */
	if (!raw) {
		struct value *known = fold(b, op, in, nin);
		known = known ? known : by_algebra(b, op, in, nin);
		known = known ? known : reversed_later(b, op, in, nin);
		if (known) {
			out[0] = known;
			return;
		}
		if (nout == 1 && emit_padded(b, op, in, nin, out))
			return;
		in = drop_leading_axes(op, in, nin, shorter);
		if (nin == 2 && op->id == ONNX_Expand)
			in = drop_leading_axes_of_expand(b, in, shorter);
		known = op->id == ONNX_GreaterOrEqual ? triangle(b, in) : NULL;
		if (known) {
			out[0] = known;
			return;
		}
		known = is_unsqueeze(op, in, nin) ? as_column(b, in[0], in[1]->data) : NULL;
		if (known) {
			out[0] = known;
			return;
		}
	}
	struct node key = {.onnx = op, .in = in, .attrs = b->attrs};
	bool pure = b->cx->opt.cse && onnx_is_pure(op);
	uint32_t hash = 0;

	key.nin = (uint16_t)nin;
	key.nout = (uint16_t)nout;
	key.nattrs = (uint16_t)b->nattrs;
	while (key.nin && !in[key.nin - 1])
		key.nin--;
	if (pure) {
		hash = node_hash(&key);
		struct node *found = cse_find(b, &key, hash);
		if (found) {
			found->exact |= b->exact;
			found->as_written &= raw;
			memcpy(out, found->out, nout * sizeof(*out));
			b->nattrs = 0;
			return;
		}
	}
	struct node *n = raw_node(b, op, in, nin, nout);
	bool taken = op->domain[0] || schema_takes(n);
	if (b->cse->shared->failed || (taken && !infer_types(b, n, like))) {
		poison_results(b, n, out, nout);
		return;
	}
	n->as_written = raw;
	n->small_ints = b->cse->shared->small_ints;
	n->exact = b->exact;
	bool runs = op->domain[0] || (taken && has_kernel(b, n));
	if (!runs && !legalise(b, n, out)) {
		poison_results(b, n, out, nout);
		return;
	}
	if (runs && !(b->instead && b->instead(b, n, out))) {
		append(b, n);
		memcpy(out, n->out, nout * sizeof(*out));
	} else {
		memcpy(n->out, out, nout * sizeof(*out)); /* n is in no block: it stands for them */
	}
	if (pure)
		cse_add(b, n, hash);
}

void emit_n(struct build *b, enum onnx_id op, struct value **in, uint32_t nin, struct value **out,
	    uint32_t nout)
{
	emit_op(b, onnx_nearest(op, b->opset), NULL, in, nin, out, nout);
}

/* The axes of a reduction are counted from the start: ONNX Runtime takes negative ones for others
 * where a length is 0. */
static void count_from_start(const struct node *like, int64_t *axes, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		axes[i] += axes[i] < 0 ? like->in[0]->type.rank : 0;
}

static struct value *axes_from_start(struct build *b, const struct node *like, struct value *v)
{
	const struct tensor *t = v ? v->data : NULL;
	int64_t axes[MAX_RANK];

	if (!t || t->count > MAX_RANK)
		return v;
	for (uint64_t i = 0; i < t->count; i++)
		if (!tensor_int(t, i, &axes[i]))
			return v;
	count_from_start(like, axes, t->count);
	return const_ints(b, axes, (uint32_t)t->count);
}

void emit_like(struct build *b, const struct node *like, struct value **in, struct value **out)
{
	bool reduces = onnx_lengths(like->onnx) == ONNX_REDUCED_LENGTHS && in[0];
	bool finds = like->onnx->id == ONNX_ArgMax || like->onnx->id == ONNX_ArgMin;
	struct value *moved[2];

	if (reduces && like->nin == 2) {
		moved[0] = in[0];
		moved[1] = axes_from_start(b, like, in[1]);
		in = moved;
	}
	for (uint32_t i = 0; i < like->nattrs; i++) {
		attr_add(b, "", AT_INT);
		struct attr *a = &b->attrs[b->nattrs - 1];
		*a = like->attrs[i];
		if (finds && !strcmp(a->name, "axis") && a->u.i < 0)
			a->u.i += in[0]->type.rank;
		if (!reduces || a->kind != AT_INTS)
			continue;
		int64_t *axes = new_array(b->cx->arena, int64_t, a->n + 1);
		memcpy(axes, a->u.ints, a->n * sizeof(*axes));
		count_from_start(like, axes, a->n);
		a->u.ints = axes;
	}
	if (like->onnx->id == ONNX_Transpose && !like->nattrs) {
		int64_t perm[MAX_RANK]; /* given, as not every tool knows the default */
		for (uint32_t i = 0; i < in[0]->type.rank; i++)
			perm[i] = in[0]->type.rank - 1 - i;
		attr_ints(b, "perm", perm, in[0]->type.rank);
	}
	emit_op(b, like->onnx, like, in, like->nin, out, like->nout);
}

struct value *emit(struct build *b, enum onnx_id op, struct value **in, uint32_t nin)
{
	struct value *out = NULL;

	emit_n(b, op, in, nin, &out, 1);
	return out;
}

struct value *dummy(struct build *b, struct type t)
{
	struct value *v = graph_value(b->cx, t, b->span);

	v->low = v;
	set_home(b, v);
	return v;
}

struct value *identity(struct build *b, struct value *v)
{
	struct node *n = onnx_node(b, ONNX_Identity, &v, 1, 1);

	n->out[0]->type = v->type;
	n->out[0]->known = v->known;
	append(b, n);
	return n->out[0];
}

struct value *with_dims(struct value *v, const dim *dims)
{
	if (!v->data && v->def && v->type.rank) {
		v->type.dims = (dim *)dims;
	}
	return v;
}

/* Constants */

static void constant_known(struct build *b, struct value *v)
{
	const struct tensor *t = v->data;

	if (v->known || !is_int((enum dtype)t->dtype) || t->rank > 1 || t->count > MAX_KNOWN)
		return;
	struct known *k = arena_alloc(b->cx->arena, sizeof(*k) + t->count * sizeof(dim));
	k->n = (uint32_t)t->count;
	for (uint32_t i = 0; i < k->n; i++) {
		int64_t x;
		if (!tensor_int(t, i, &x))
			return;
		k->at[i] = dim_const(b->cx, x);
	}
	v->known = k;
}

static uint32_t constant_hash(const struct tensor *t)
{
	uint64_t h = mix(t->dtype, t->rank * 2u + t->splat);

	if (t->rank)
		h = mix_bytes(h, t->shape, t->rank * sizeof(int64_t));
	h = mix_bytes(h, t->data, tensor_bytes(t));
	return (uint32_t)(h ^ h >> 32);
}

struct value *const_weight(struct build *b, const struct tensor *t)
{
	struct value *v = graph_constant(b->cx, t, b->span);

	v->low = v;
	constant_known(b, v);
	return v;
}

/* The small constant that is equal to t; if there is none, v becomes that one (NULL: a new one). */
static struct value *shared_constant(struct build *b, const struct tensor *t, struct value *v)
{
	struct shared *s = b->cse->shared;
	bool small = tensor_bytes(t) <= SMALL_CONSTANT && dtypes[t->dtype].size && t->data;
	struct probe p = {.hash = small ? constant_hash(t) : 0};

	while (small && hash_next(&s->constant_table, &p))
		if (tensor_equal(s->constants.at[p.number]->data, t))
			return s->constants.at[p.number];
	if (!v)
		v = const_weight(b, t);
	if (small) {
		*vec_push(b->cx->scratch, &s->constants) = v;
		hash_add(b->cx->scratch, &s->constant_table, p.hash, s->constants.len - 1);
	}
	return v;
}

struct value *const_tensor(struct build *b, const struct tensor *t)
{
	return shared_constant(b, t, NULL);
}

static struct value *const_data(struct build *b, enum dtype t, int rank, int64_t n,
				const void *data, size_t size)
{
	struct tensor *x = tensor_new(b->cx, t, rank, &n);
	void *copy = arena_alloc(b->cx->arena, size ? size : 1);

	if (size)
		memcpy(copy, data, size);
	x->data = copy;
	return const_tensor(b, x);
}

struct value *const_ints(struct build *b, const int64_t *v, uint32_t n)
{
	return const_data(b, DT_INT64, 1, n, v, n * sizeof(*v));
}

struct value *const_int(struct build *b, int64_t v)
{
	return const_data(b, DT_INT64, 0, 0, &v, sizeof(v));
}

struct value *const_int_of(struct build *b, enum dtype t, int64_t v)
{
	unsigned char to[16] = {0};

	if (!tensor_convert(t, to, DT_INT64, &v, 1))
		bug("constant of dtype %s", dtypes[t].name);
	return const_data(b, t, 0, 0, to, dtypes[t].size);
}

struct value *const_of(struct build *b, enum dtype t, double v)
{
	unsigned char to[16] = {0};
	double back = 0;

	if (!tensor_convert(t, to, DT_FLOAT64, &v, 1) ||
	    !tensor_convert(DT_FLOAT64, &back, t, to, 1) || (back != v && v == v))
		bug("%g is no exact %s", v, dtypes[t].name);
	return const_data(b, t, 0, 0, to, dtypes[t].size);
}

/* t[shape] full of v; dims are those of `shape`, or NULL when it has known ones */
struct value *const_shape(struct build *b, enum dtype t, struct value *shape, const dim *dims,
			  uint32_t rank, int64_t v)
{
	int64_t one = 1;
	unsigned char *data = arena_alloc(b->cx->arena, 16);
	struct tensor *x = tensor_new(b->cx, t, 1, &one);

	if (!tensor_convert(t, data, DT_INT64, &v, 1)) {
		unsupported(b, "ONNX has no filled tensors of %s", dtypes[t].name);
		return dummy(b, type_of(t, rank, (dim *)dims));
	}
	x->data = data;
	if (rank == 0)
		return const_int_of(b, t, v);
	attr_tensor(b, "value", x);
	struct value *r = emit_(b, ONNX_ConstantOfShape, shape);
	return dims ? with_dims(r, dims) : r;
}

struct value *const_zeros(struct build *b, enum dtype t, struct value *shape)
{
	int64_t rank = 1;

	dim_is_const(b->cx, shape->type.dims[0], &rank);
	return const_shape(b, t, shape, NULL, (uint32_t)rank, 0);
}

bool const_int_at(struct build *b, struct value *v, uint32_t i, int64_t *out)
{
	if (v->data && i < v->data->count)
		return tensor_int(v->data, v->data->splat ? 0 : i, out);
	return v->known && i < v->known->n && v->known->at[i] &&
	       dim_is_const(b->cx, v->known->at[i], out);
}

dim known_at(struct build *b, struct value *v, uint32_t i)
{
	int64_t k;

	if (v->known && i < v->known->n)
		return v->known->at[i];
	if (v->data && is_int((enum dtype)v->type.dtype) && const_int_at(b, v, i, &k))
		return dim_const(b->cx, k);
	return DIM_NONE;
}

/* A graph that was lowered */

/* Calls f for every value of block k and of those in it. Blocks nest as the user's loops and ifs
 * do. */
static void each_value(struct build *b, struct block *k, void (*f)(struct build *, struct value *))
{
	struct block *outer = b->block;

	b->block = k;
	for (uint32_t i = 0; i < k->params.len; i++)
		f(b, k->params.at[i]);
	for (struct node *n = k->first; n; n = n->next) {
		for (uint32_t i = 0; i < n->nin; i++)
			if (n->in[i] && n->in[i]->data)
				f(b, n->in[i]);
		for (uint32_t i = 0; i < n->nout; i++)
			f(b, n->out[i]);
		for (uint32_t i = 0; i < n->nattrs; i++)
			if (n->attrs[i].kind == AT_GRAPH)
				each_value(b, n->attrs[i].u.block, f);
	}
	for (uint32_t i = 0; i < k->results.len; i++)
		if (k->results.at[i]->data)
			f(b, k->results.at[i]);
	b->block = outer;
}

static void adopt(struct build *b, struct value *v)
{
	if (v->data && !v->low && !is_weight(v))
		shared_constant(b, v->data, v);
	if (!v->data)
		set_home(b, v);
	v->low = v;
}

void build_reopen(struct build *b, struct ctx *cx, struct graph *g)
{
	*b = (struct build){.cx = cx, .opset = cx->opt.opset, .target = cx->opt.target};
	scope_open(b, g->block);
	b->cse->shared = new (cx->arena, struct shared);
	each_value(b, g->block, adopt);
}

static bool gives_result(const struct block *k, const struct node *n)
{
	for (uint32_t i = 0; i < k->results.len; i++)
		if (k->results.at[i]->def == n)
			return true;
	return false;
}

void append_again(struct build *b, struct node *n)
{
	bool pure = b->cx->opt.cse && onnx_is_pure(n->onnx);
	uint32_t hash = pure ? node_hash(n) : 0;
	const struct node *found = pure ? cse_find(b, n, hash) : NULL;

	if (!found || gives_result(b->block, n)) {
		append(b, n);
		if (pure && !found)
			cse_add(b, n, hash);
		return;
	}
	for (uint32_t i = 0; i < n->nout; i++) {
		n->out[i]->low = found->out[i];
		if (!found->out[i]->name)
			found->out[i]->name = n->out[i]->name;
	}
	n->dead = true;
}

static void forget(struct build *b, struct value *v)
{
	(void)b;
	v->low = NULL;
}

void build_close(struct build *b, struct graph *g)
{
	each_value(b, g->block, forget);
	for (uint32_t i = 0; i < g->states.len; i++)
		if (g->states.at[i].init)
			g->states.at[i].init->low = NULL;
	/* what a check alone reads, a constant say, is in no block; a value that another one took
	 * the place of goes on pointing to that */
	for (uint32_t i = 0; i < g->kept.len; i++)
		if (g->kept.at[i]->low == g->kept.at[i])
			g->kept.at[i]->low = NULL;
}
