/*
 * walk.c: the walk over the nodes. In: blocks of the ONNX graph, and what plan.c says of the
 * readers of each value. Out: lines of run(): for each node what its lengths are, then its
 * statements, or nothing where its readers compute it; loops over rows; checks, where what they
 * read is known.
 */
#include "c/ops.h"

static uint32_t depth_of(const struct printer *p, const struct node *n)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && !n->in[i]->data && held(p, n->in[i])->where == FORMULA &&
		    held(p, n->in[i])->depth > most)
			most = held(p, n->in[i])->depth;
	return most + 1;
}

/* A cast of an integer takes less than to store it and to read it again. */
static bool casts_integers(const struct node *n)
{
	return n->onnx->id == ONNX_Cast && is_discrete((enum dtype)n->in[0]->type.dtype) &&
	       is_discrete((enum dtype)n->out[0]->type.dtype);
}

/* How v, result of n with a formula, is held */
static void hold(struct printer *p, const struct node *n, const struct value *v)
{
	struct held *h = held(p, v), *x = n->nin && n->in[0] ? held(p, n->in[0]) : NULL;
	const struct c_op *op = op_of(p, n);
	bool cheap = op->view || casts_integers(n);

	h->where = FORMULA;
	h->depth = depth_of(p, n);
	if (!h->readers)
		return;
	for (uint32_t i = 0; i < n->nin && cheap; i++)
		cheap = !n->in[i] || i > 0 || is_cheap(p, n->in[i]);
	if (onnx_facts[n->onnx->id].reshapes && !n->in[0]->data && x->where == MEMORY &&
	    !h->result) {
		h->where = MEMORY; /* the same array */
		h->name = x->name;
		h->buffer = x->buffer;
		return;
	}
	if (h->depth < MAX_FORMULA && !h->stored && !h->result) {
		if (cheap)
			return;
		if (h->readers == 1 && !h->inner && !h->again)
			return;
	}
	if (op->at == shape_at)
		shape_put(p, n);
	else
		keep(p, v);
}

/* The lengths of the results of n, how they are held from here on, and what computes them, unless
 * their readers do */
static void print_statements(struct printer *p, const struct node *n)
{
	const struct c_op *op = op_of(p, n);
	bool read = false, known = true;

	p->at = n;
	p->statement++;
	for (uint32_t i = 0; i < n->nout; i++) {
		read |= held(p, n->out[i])->readers > 0;
		known &= known_lengths(p, n->out[i]);
	}
	bool blocks = onnx_has_blocks(n->onnx);
	if (!read && known && !blocks)
		return;
	show_line(p, n);
	if (op->shape)
		op->shape(p, n);
	else if (op->at)
		for (uint32_t i = 0; i < n->nout; i++)
			set_lengths(p, n->out[i], NULL);
	if (op->at)
		for (uint32_t i = 0; i < n->nout; i++)
			hold(p, n, n->out[i]);
	else if (read || blocks || !op->shape)
		op->put(p, n);
	p->statement++;
	check_now(p);
}

static void print_check(struct printer *p, const struct check *c)
{
	const struct value *v = c->cond;
	const char *dims[MAX_RANK], *ix[MAX_RANK];
	uint32_t mark = p->once.len;

	p->statement++;
	for (uint32_t k = 0; k < v->type.rank; k++)
		if (!(dims[k] = dim_text(p, v->type.dims[k], false, NULL)))
			dims[k] = held(p, v)->dims[k];
	uint32_t loops = open_loops(p, dims, v->type.rank, ix);
	line(p, "if (!%s)", in_parens(p, at(p, v, ix)));
	line(p, "\treturn %u;", message(p, c->span, c->message));
	close_loops(p, loops);
	p->once.len = mark;
}

static void print_node(struct printer *p, const struct block *b, const struct node *n)
{
	print_statements(p, n);
	if (b == p->g->block)
		keep_integers(p, n);
	for (uint32_t i = 0; i < b->checks.len; i++) {
		const struct check *c = &b->checks.at[i];
		if (c->cond && c->cond->def == n && !c->cond->data)
			print_check(p, c);
	}
}

/* Are the lengths of all results known already, so that the order of the nodes is free? */
static bool all_lengths_known(struct printer *p, const struct row_loop *r)
{
	for (uint32_t i = 0; i < r->all.len; i++)
		for (uint32_t k = 0; k < r->all.at[i]->nout; k++)
			if (!known_lengths(p, r->all.at[i]->out[k]))
				return false;
	return true;
}

/* A loop over rows, as find_rows() found it; its first node comes next in the block. */
static void print_rows(struct printer *p, struct row_loop *r)
{
	const char *count = dim_text(p, r->count, false, NULL);

	for (uint32_t i = 0; i < r->all.len; i++)
		if (is_before_rows(p, r->all.at[i]))
			print_node(p, r->block, r->all.at[i]);
	begin_rows(p, r);
	for (uint32_t i = 0; i < r->all.len; i++)
		if (is_by_rows(p, r->all.at[i]))
			print_statements(p, r->all.at[i]);
	end_rows(p, count);
	for (uint32_t i = 0; i < r->all.len; i++)
		if (!is_before_rows(p, r->all.at[i]) && !is_by_rows(p, r->all.at[i]))
			print_node(p, r->block, r->all.at[i]);
}

/* Prints n, or the loop over rows that begins with it; the next node to print */
static const struct node *print_next(struct printer *p, const struct block *b, const struct node *n)
{
	struct row_loop r;

	if (!find_rows(p, b, n, &r)) {
		print_node(p, b, n);
		return n->next;
	}
	bool known = all_lengths_known(p, &r);
	if (known)
		print_rows(p, &r);
	else
		print_node(p, b, n);
	forget_rows(p, &r);
	return known ? r.all.at[r.all.len - 1]->next : n->next;
}

/* Blocks nest as deep as loops and ifs of the input, which has a limit: this may recurse. */
void print_block(struct printer *p, const struct block *b)
{
	uint32_t outer = p->block_indent;

	p->block_indent = p->indent;
	for (uint32_t i = 0; i < b->checks.len; i++)
		if (!b->checks.at[i].cond) {
			*vec_push(p->cx->arena, &p->open_checks) = &b->checks.at[i];
			p->learned = true;
		}
	check_now(p);
	for (const struct node *n = b->first; n;)
		n = print_next(p, b, n);
	for (uint32_t i = 0; i < b->checks.len; i++) {
		const struct check *c = &b->checks.at[i];
		if (c->cond && (!c->cond->def || c->cond->data || held(p, c->cond)->home != b))
			print_check(p, c);
	}
	p->block_indent = outer;
	p->at = NULL;
}
