/*
 * complex.c: complex tensors, which ONNX Runtime does not have. In: the typed graph. A graph with
 * complex values is refused once, at its first node that has one; such nodes are not lowered, and
 * what their results would have caused elsewhere is not reported (shared->complex).
 */
#include "low.h"

static const struct value *complex_of(const struct node *n)
{
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && is_complex((enum dtype)n->in[i]->type.dtype))
			return n->in[i];
	for (uint32_t i = 0; i < n->nout; i++)
		if (is_complex((enum dtype)n->out[i]->type.dtype))
			return n->out[i];
	return NULL;
}

/* The words, for a value that is or is not the argument of a node. */
static void refuse(struct build *b, const struct value *v)
{
	const char *type = type_str(b->cx, v->type);

	b->cse->shared->complex = true;
	if (v->name)
		unsupported(b, "'%s' is %s, but ONNX Runtime has no complex tensors", v->name->s,
			    type);
	else
		unsupported(b, "%s is complex, and ONNX Runtime has no complex tensors", type);
}

bool refuses_complex(struct build *b, const struct node *n)
{
	const struct value *v = b->target == PTGC_ORT_CPU ? complex_of(n) : NULL;

	if (v && !b->cse->shared->complex)
		refuse(b, v);
	b->cse->shared->failed |= v != NULL;
	return v != NULL;
}

void refuse_complex(struct build *b, const struct graph *g)
{
	struct shared *s = b->cse->shared;
	const struct block *k = g->block;

	for (const struct node *n = k->first; n && b->target == PTGC_ORT_CPU; n = n->next) {
		if (n->dead || !complex_of(n))
			continue;
		s->at = n;
		b->span = n->span;
		refuse(b, complex_of(n));
		break;
	}
	s->at = NULL;
	for (uint32_t i = 0; i < k->params.len + k->results.len && !s->complex; i++) {
		const struct value *v =
			i < k->params.len ? k->params.at[i] : k->results.at[i - k->params.len];
		b->span = v->span;
		if (b->target == PTGC_ORT_CPU && is_complex((enum dtype)v->type.dtype))
			refuse(b, v);
	}
	s->failed = false;
}
