/*
 * verify.c: checks a graph of PyTensor's ops between passes (-fverify-each). In: a graph without
 * errors. Out: nothing; bug() where one of these rules is broken:
 *	a value is defined before it is read, in the block of its reader or in an outer one;
 *	a value that a node or a block defines has a dtype, and is defined once;
 *	results have the dtypes, the ranks and the constant lengths that the op's rule gives now.
 */
#include "onnx/onnx.h"
#include "typed/typed.h"

struct verify {
	struct ctx *cx;
	bool *seen; /* by value id: it is defined, and its block is open */
};

static const char *name_of(const struct node *n)
{
	return n->onnx ? n->onnx->name : n->op->name;
}

static void define(struct verify *v, const struct value *x, const char *what)
{
	if (!x->type.dtype)
		bug("a result of %s has no type", what);
	if (v->seen[x->id])
		bug("a result of %s is defined twice", what);
	v->seen[x->id] = true;
}

static void check_read(const struct verify *v, const struct value *x, const char *what)
{
	if (x && !x->data && !v->seen[x->id])
		bug("%s reads a value that is not defined before it", what);
}

/* Does n stand for what its op does to generators or complex numbers, by their words or parts? The
 * op's rule speaks of generators and complex numbers. */
static bool is_of_words(const struct node *n, const struct value *rule)
{
	return (is_rng((enum dtype)rule->type.dtype) &&
		!is_rng((enum dtype)n->out[0]->type.dtype)) ||
	       (is_complex((enum dtype)rule->type.dtype) &&
		!is_complex((enum dtype)n->out[0]->type.dtype));
}

/* Is n a Blockwise of complex numbers, of which the complex pass made a block that does one item by
 * its parts? The op's rule knows the items by their signature, without the axis of the parts. */
static bool is_of_parts(const struct node *n)
{
	return n->op == &op_table[OP_Blockwise] && n->blocks;
}

/* Asks the op's rule again, with results that belong to no graph. */
static void check_types(struct verify *v, const struct node *n)
{
	struct node again = *n;
	struct value *out = new_array(v->cx->scratch, struct value, n->nout + 1u);
	int64_t is, was;

	if (!n->op->shape || !n->nout || is_of_parts(n) ||
	    (n->op->generators && !is_rng((enum dtype)n->in[0]->type.dtype)))
		return;
	again.out = new_array(v->cx->scratch, struct value *, n->nout + 1u);
	for (uint32_t i = 0; i < n->nout; i++) {
		out[i].def = &again;
		out[i].span = n->span;
		again.out[i] = &out[i];
	}
	dim_only_ask(v->cx, true);
	if (!infer_node(v->cx, &again))
		bug("%s is refused on the inputs that a pass gave it", n->op->name);
	dim_only_ask(v->cx, false);
	if (is_of_words(n, &out[0]))
		return;
	for (uint32_t i = 0; i < n->nout; i++) {
		const struct type *t = &n->out[i]->type, *rule = &out[i].type;
		if (t->dtype != rule->dtype || t->rank != rule->rank)
			bug("result %u of %s is %s, not %s", i, n->op->name, type_str(v->cx, *t),
			    type_str(v->cx, *rule));
		for (uint32_t k = 0; k < t->rank; k++)
			if (dim_is_const(v->cx, t->dims[k], &is) &&
			    dim_is_const(v->cx, rule->dims[k], &was) && is != was)
				bug("axis %u of result %u of %s is %lld long, not %lld", k, i,
				    n->op->name, (long long)is, (long long)was);
	}
}

/* Nodes after an inner block do not see what it defines. */
static void forget(struct verify *v, const struct block *b)
{
	for (uint32_t i = 0; i < b->params.len; i++)
		v->seen[b->params.at[i]->id] = false;
	for (const struct node *n = b->first; n; n = n->next)
		for (uint32_t i = 0; i < n->nout; i++)
			v->seen[n->out[i]->id] = false;
}

static void define_all(struct verify *v, struct value *const *defined, uint32_t n, const char *what)
{
	for (uint32_t i = 0; i < n; i++)
		define(v, defined[i], what);
}

static void verify_block(struct verify *v, struct block *main)
{
	for (struct walk w = {.root = main};
	     walk(&w, WALK_ENTER | WALK_BEFORE | WALK_AFTER | WALK_LEAVE);) {
		const struct block *b = w.at.block;
		const struct node *n = w.at.node;
		if (w.event == WALK_ENTER)
			define_all(v, b->params.at, b->params.len, "a block");
		for (uint32_t i = 0; w.event == WALK_BEFORE && i < n->nin; i++)
			check_read(v, n->in[i], name_of(n));
		if (w.event == WALK_AFTER) {
			define_all(v, n->out, n->nout, name_of(n));
			check_types(v, n);
		}
		for (uint32_t i = 0; w.event == WALK_LEAVE && i < b->results.len; i++)
			check_read(v, b->results.at[i], "a block's result");
		if (w.event == WALK_LEAVE && b != main)
			forget(v, b);
	}
}

void verify_typed(struct ctx *cx, struct graph *g)
{
	struct verify v = {.cx = cx, .seen = new_array(cx->scratch, bool, cx->next_id + 1)};

	verify_block(&v, g->block);
	for (uint32_t i = 0; i < g->states.len; i++)
		check_read(&v, g->states.at[i].next, "a state");
}
