/*
 * node.c: ONNX nodes as they are asked for, without a look at what they compute (emit_node.c does
 * that). In: an operator's name, ONNX values, attributes set by attr_*(). Out: a node of b->block,
 * whose results have no types yet, unless it says so.
 */
#include <string.h>

#include "graph/uses.h"
#include "lower/internal.h"

/* ---- attributes of the next node ---- */

struct attr *attr_add(struct build *b, const char *name, enum attr_kind kind)
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

/* ---- nodes ---- */

struct node *bare_node(struct build *b, const struct onnx_op *op, struct value **in, uint32_t nin,
		       uint32_t nout)
{
	struct arena *a = b->cx->arena;
	struct node *n = new (a, struct node);

	while (nin && !in[nin - 1])
		nin--;
	n->op = &op_onnx;
	n->onnx = op;
	n->span = b->span;
	n->kernel_is_right = b->kernel_is_right;
	n->nin = (uint16_t)nin;
	n->nout = (uint16_t)nout;
	n->in = new_array(a, struct value *, nin ? nin : 1);
	if (nin)
		memcpy(n->in, in, nin * sizeof(*in));
	n->out = new_array(a, struct value *, nout ? nout : 1);
	for (uint32_t i = 0; i < nout; i++) {
		n->out[i] = graph_value(b->cx, (struct type){0}, b->span);
		n->out[i]->def = n;
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
	return bare_node(b, onnx_nearest(op, b->opset), in, nin, nout);
}

static void insert(struct build *b, struct node *n)
{
	struct node **at = b->after ? &b->after->next : &b->block->first;

	n->next = *at;
	*at = b->after = n;
	if (!n->next)
		b->block->last = n;
	b->block->nnodes++;
}

void append(struct build *b, struct node *n)
{
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i])
			n->in[i]->uses++;
	if (inserts(b)) {
		insert(b, n);
		return;
	}
	graph_append(b->block, n);
	for (uint32_t i = 0; i < n->nout; i++)
		set_defining_block(b, n->out[i]);
}

static bool gives_result(const struct block *k, const struct node *n)
{
	for (uint32_t i = 0; i < k->results.len; i++)
		if (k->results.at[i]->def == n)
			return true;
	return false;
}

void serve_also(struct node *n, const struct node *gone)
{
	n->zero_sign_counts |= gone->zero_sign_counts;
	n->index_may_fail |= gone->index_may_fail;
	n->small_ints &= gone->small_ints;
	n->kernel_is_right &= gone->kernel_is_right;
}

void append_again(struct build *b, struct node *n)
{
	bool pure = flag_is_on(b->cx, FLAG_CSE) && onnx_is_pure(n->onnx);
	uint32_t hash = pure ? node_hash(n) : 0;
	struct node *found = pure ? cse_find(b, n, hash) : NULL;

	if (!found || gives_result(b->block, n)) {
		append(b, n);
		if (pure && !found)
			cse_add(b, n, hash);
		return;
	}
	for (uint32_t i = 0; i < n->nout; i++) {
		replace_all_uses(n->out[i], found->out[i]);
		if (!found->out[i]->name)
			found->out[i]->name = n->out[i]->name;
	}
	serve_also(found, n);
	n->dead = true;
}

/* ---- their results ---- */

struct value *dummy(struct build *b, struct type t)
{
	struct value *v = graph_value(b->cx, t, b->span);

	set_defining_block(b, v);
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
