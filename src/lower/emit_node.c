/*
 * emit_node.c: an ONNX node, or what may come in its place. In: an operator's name, ONNX values,
 * attributes set by attr_*(). Out: ONNX values with types, in b->block. The rules of b (rules.c)
 * say what is known, or is a cheaper node; a node that was made before is not made again
 * (scopes.c); one that the target cannot run goes through the legaliser. Must hold: inputs are ONNX
 * values that are visible() in b->block.
 */
#include <string.h>

#include "lower/internal.h"

static void give_dummies(struct build *b, struct node *n, struct value **out, uint32_t nout)
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
	b->scope->shared->failed = true;
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

/* The node that is asked for, and no other */
static void insert_op(struct build *b, const struct onnx_op *op, struct value **in, uint32_t nin,
		      struct value **out, uint32_t nout)
{
	struct node *n = bare_node(b, op, in, nin, nout);

	if (onnx_infer(b->cx, n) != ONNX_INFERRED)
		bug("ONNX %s has no type where it is inserted", op->name);
	n->zero_sign_counts = b->zero_sign_counts;
	n->index_may_fail = b->index_may_fail;
	append(b, n);
	memcpy(out, n->out, nout * sizeof(*out));
}

static void emit_op(struct build *b, const struct onnx_op *op, const struct node *like,
		    struct value **in, uint32_t nin, struct value **out, uint32_t nout)
{
	struct value *shorter[3];
	bool as_written = like && like->as_written;
	if (inserts(b)) {
		insert_op(b, op, in, nin, out, nout);
		return;
	}
	if (!as_written) {
		struct value *r = b->rules->shortcut(b, op, in, nin);
		if (!r && nout == 1 && flag_is_on(b->cx, FLAG_SIMPLIFY))
			r = b->rules->simpler(b, op, &in, nin, shorter);
		if (r) {
			out[0] = r;
			return;
		}
	}
	struct node key = {.onnx = op,
			   .in = in,
			   .attrs = b->attrs,
			   .as_written = as_written,
			   .zero_sign_counts = b->zero_sign_counts,
			   .index_may_fail = b->index_may_fail,
			   .small_ints = b->scope->shared->small_ints,
			   .kernel_is_right = b->kernel_is_right};
	bool pure = flag_is_on(b->cx, FLAG_CSE) && onnx_is_pure(op);
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
			serve_also(found, &key);
			memcpy(out, found->out, nout * sizeof(*out));
			b->nattrs = 0;
			return;
		}
	}
	struct node *n = bare_node(b, op, in, nin, nout);
	bool taken = op->domain[0] || schema_takes(n);
	if (b->scope->shared->failed || (taken && !infer_types(b, n, like))) {
		give_dummies(b, n, out, nout);
		return;
	}
	n->as_written = as_written;
	n->small_ints = key.small_ints;
	n->zero_sign_counts = key.zero_sign_counts;
	n->index_may_fail = key.index_may_fail;
	bool runs = op->domain[0] || (taken && node_has_kernel(b->cx, n));
	if (!runs && !b->rules->legalise(b, n, out)) {
		give_dummies(b, n, out, nout);
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
static void count_from_start(uint32_t rank, int64_t *axes, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		axes[i] = from_front(axes[i], rank);
}

/* The same for axes that are an input. Those of a weight become numbers of the model, too: the
 * types were inferred from them, so that nobody may exchange them. */
static struct value *axes_from_start(struct build *b, uint32_t rank, struct value *v)
{
	const struct tensor *t = v ? v->data : NULL;
	int64_t axes[MAX_RANK];

	if (!t || t->count > MAX_RANK)
		return v;
	for (uint64_t i = 0; i < t->count; i++)
		if (!tensor_int(t, i, &axes[i]))
			return v;
	count_from_start(rank, axes, t->count);
	return const_ints(b, axes, (uint32_t)t->count);
}

void emit_like(struct build *b, const struct node *like, struct value **in, struct value **out)
{
	bool reduces =
		!like->as_written && onnx_lengths(like->onnx) == ONNX_REDUCED_LENGTHS && in[0];
	bool finds = is_onnx(like, ONNX_ArgMax) || is_onnx(like, ONNX_ArgMin);
	uint32_t rank = in[0] ? in[0]->type.rank : 0;
	struct value *moved[2];

	if (reduces && like->nin == 2) {
		moved[0] = in[0];
		moved[1] = axes_from_start(b, rank, in[1]);
		in = moved;
	}
	for (uint32_t i = 0; i < like->nattrs; i++) {
		struct attr *a = attr_add(b, "", AT_INT);
		*a = like->attrs[i];
		if (finds && !strcmp(a->name, "axis"))
			a->u.i = from_front(a->u.i, rank);
		if (!reduces || a->kind != AT_INTS)
			continue;
		int64_t *axes = new_array(b->cx->arena, int64_t, a->n + 1);
		memcpy(axes, a->u.ints, a->n * sizeof(*axes));
		count_from_start(rank, axes, a->n);
		a->u.ints = axes;
	}
	if (is_onnx(like, ONNX_Transpose) && !like->nattrs) {
		int64_t perm[MAX_RANK]; /* given, as not every tool knows the default */
		for (uint32_t i = 0; i < rank; i++)
			perm[i] = rank - 1 - i;
		attr_ints(b, "perm", perm, rank);
	}
	bool sign = b->zero_sign_counts, index = b->index_may_fail;
	b->zero_sign_counts |= like->zero_sign_counts;
	b->index_may_fail |= like->index_may_fail;
	emit_op(b, like->onnx, like, in, like->nin, out, like->nout);
	b->zero_sign_counts = sign;
	b->index_may_fail = index;
}

struct value *emit(struct build *b, enum onnx_id op, struct value **in, uint32_t nin)
{
	struct value *out = NULL;

	emit_n(b, op, in, nin, &out, 1);
	return out;
}
