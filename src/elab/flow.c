/*
 * flow.c: the statements loop, next, until, state. Out: nodes with blocks (see op_loop in
 * ops/ops.h) and the names that the statements define. Must hold: values of a block are used
 * outside of it only through the results of its node.
 */
#include <string.h>

#include "elab/internal.h"

#define MAX_UNROLLED   16  /* steps of a loop of the library */
#define MAX_STATEMENTS 128 /* of all of its steps together */

struct block *open_block(struct elab *e, struct span s)
{
	struct block *b = new (e->cx->arena, struct block);

	b->outer = e->block;
	b->depth = e->block->depth + 1;
	if (b->depth > MAX_BLOCK_DEPTH)
		elab_error(e, s, E_LIMIT,
			   "loops and ifs nest deeper than %d, which ONNX Runtime cannot load",
			   MAX_BLOCK_DEPTH);
	e->block = b;
	return b->depth > MAX_BLOCK_DEPTH ? NULL : b;
}

struct value *body_param(struct elab *e, struct block *b, struct type t, struct span s)
{
	struct value *v = graph_value(e->cx, t, node_span(e, s));

	*vec_push(e->cx->arena, &b->params) = v;
	define_known(e->cx, v);
	return v;
}

static struct type scalar(enum dtype t)
{
	return (struct type){.dtype = (uint8_t)t};
}

/* A bool scalar; other dtypes are compared with 0. NULL: reported. */
struct value *condition(struct elab *e, const struct cv *c)
{
	struct value *v = to_value(e, c, c->kind == CV_BOOL ? DT_BOOL : DT_NONE);

	if (!v || !v->type.dtype)
		return NULL;
	if (v->type.rank) {
		elab_error(e, c->span, E_RANK, "a condition must be a scalar but is %s",
			   type_str(e->cx, v->type));
		return NULL;
	}
	if (v->type.dtype == DT_BOOL)
		return v;
	struct cv args[2] = {cv_value(v, c->span), cv_int(0, c->span)};
	struct cv r = call_named(e, "Neq", args, 2, c->span);
	return r.kind == CV_VALUE ? r.u.v : NULL;
}

/* ---- types of the results of blocks ---- */

/* Has d an atom that was created after `mark`, that is, inside of the block? MAX_WEIGHT of dims
 * bounds the recursion. */
static bool is_local(struct elab *e, dim d, dim mark)
{
	struct dim_view v = dim_view(e->cx, d);

	if (v.form == DIM_CONST)
		return false;
	if (v.form == DIM_ATOM)
		return dim_find(e->cx, d) > mark;
	for (uint32_t i = 0; i < v.nterms; i++)
		if (is_local(e, v.term[i], mark))
			return true;
	return false;
}

struct type outside_type(struct elab *e, struct value *out, const struct type *in,
			 const struct type *other, dim mark, uint32_t lead)
{
	struct type t = {in->dtype, (uint8_t)(in->rank + lead), NULL};

	t.dims = new_array(e->cx->arena, dim, t.rank + 1);
	for (uint32_t i = 0; i < in->rank; i++) {
		dim d = dim_find(e->cx, in->dims[i]);
		bool same = !other || dim_eq(e->cx, d, other->dims[i]);
		if (other &&
		    dim_says_one(e->cx, d)) /* only if both are 1 is the result 1 in its type */
			d = dim_find(e->cx, other->dims[i]);
		t.dims[i + lead] = same && !is_local(e, d, mark)
					   ? d
					   : dim_fresh(e->cx, SOURCE_SIZE, out, i + lead);
	}
	return t;
}

/* ---- targets ---- */

bool count_targets(struct elab *e, const struct stmt *s, uint32_t n)
{
	if (s->ntargets == n)
		return true;
	elab_error(e, s->targets->span, E_ARITY,
		   "%u name%s on the left for %u result%s of the loop", s->ntargets,
		   s->ntargets == 1 ? "" : "s", n, n == 1 ? "" : "s");
	return false;
}

bool fail_targets(struct elab *e, struct stmt *s)
{
	for (uint32_t i = 0; i < s->ntargets; i++)
		bind_target(e, &s->targets[i], poison(s->targets[i].span));
	return false;
}

/* ---- loop ---- */

struct loop_header {
	dim trips;          /* DIM_NONE: no 'in' item */
	struct value **seq; /* the sequence of item i; NULL: item i counts from 0 */
	uint32_t nitems;
};

static void limit_trips(struct elab *e, struct loop_header *h, dim d)
{
	h->trips = h->trips == DIM_NONE ? d : dim_min(e->cx, h->trips, d);
}

/* *d = an integer scalar as a dim; a new one if it is not known. false: reported */
bool bound_dim(struct elab *e, const struct cv *v, dim *d)
{
	if (cv_as_dim(e, v, d))
		return true;
	struct value *x = to_value(e, v, DT_INT64);
	if (!x || !x->type.dtype)
		return false;
	if (x->type.rank || !is_int(x->type.dtype)) {
		elab_error(e, v->span, E_DTYPE,
			   "a bound of a loop must be an integer scalar but is %s",
			   type_str(e->cx, x->type));
		return false;
	}
	if (x->type.dtype != DT_INT64)
		x = cast_value(e, x, DT_INT64, v->span);
	if (!x)
		return false;
	if (!known_of(e->cx, x))
		define_known(e->cx, x);
	*d = known_of(e->cx, x)->at[0];
	return true;
}

/* i in start:stop:step. Counting from 0 by 1 needs no sequence. */
static bool range_item(struct elab *e, struct aitem *it, struct loop_header *h, uint32_t k)
{
	struct cv parts[3];
	dim d[3];

	parts[0] = eval(e, it->value);
	parts[1] = eval(e, it->stop);
	parts[2] = it->step.len ? eval(e, it->step) : cv_int(1, it->span);

	for (int i = 0; i < 3; i++)
		if (parts[i].kind == CV_POISON || !bound_dim(e, &parts[i], &d[i]))
			return false;
	if (dim_eq(e->cx, d[0], dim_const(e->cx, 0)) && dim_eq(e->cx, d[2], dim_const(e->cx, 1))) {
		limit_trips(e, h, dim_max(e->cx, d[1], dim_const(e->cx, 0)));
		return true;
	}
	struct prop_arg arg = {.name = intern_str(e->cx, "dtype"), .span = it->span};
	arg.value = (struct cv){.kind = CV_DTYPE, .span = it->span, .u.dtype = DT_INT64};
	const struct op *op = op_named(e->cx, "ARange");
	struct cv *props = bind_props(e->cx, op, it->span, &arg, 1);
	for (int i = 0; i < 3; i++)
		parts[i] = cv_value(dim_to_value(e, d[i], it->span), it->span);
	struct cv r = props ? call_op(e, op, props, parts, 3, it->span) : poison(it->span);
	if (r.kind != CV_VALUE || !r.u.v->type.dtype)
		return false;
	h->seq[k] = r.u.v;
	limit_trips(e, h, r.u.v->type.dims[0]);
	return true;
}

static bool sequence_item(struct elab *e, struct aitem *it, struct loop_header *h, uint32_t k)
{
	if (counts_by_call(e, it))
		return false;
	struct cv c = eval(e, it->value);
	struct value *v = to_value(e, &c, DT_NONE);

	if (!v || !v->type.dtype)
		return false;
	if (!v->type.rank) {
		elab_error(e, c.span, E_RANK, "a loop walks the leading axis, but this is %s%s",
			   type_str(e->cx, v->type),
			   is_int((enum dtype)v->type.dtype)
				   ? arena_printf(e->cx->arena, "; it counts by %s in 0:n",
						  it->name->s)
				   : "");
		return false;
	}
	h->seq[k] = v;
	limit_trips(e, h, v->type.dims[0]);
	return true;
}

/* "name: type = first": reads the first value. An integer literal is int64, as int8 would overflow.
 */
static bool carried_item(struct elab *e, struct aitem *it, struct carried *c, uint64_t *loose)
{
	struct cv v = eval(e, it->value);
	enum dtype want = written_dtype(e, it->type);

	c->name = it->name;
	c->span = it->span;
	if (v.kind == CV_POISON)
		return false;
	if (!want && v.kind == CV_INT)
		want = DT_INT64;
	c->init = to_value(e, &v, cv_is_weak(&v) ? want : DT_NONE);
	c->decimal = !want && cv_is_weak(&v) && c->init && c->init->type.dtype == DT_FLOAT64;
	return c->init && c->init->type.dtype &&
	       match_type(e, it->type, c->init, MATCH_PROVES, "carried value", it->name, it->span,
			  loose);
}

/* false: reported. A wrong item gets a poison value, so that the body can be elaborated. */
static bool read_header(struct elab *e, struct aloop *a, struct loop_header *h,
			struct loop_state *l, uint64_t *loose)
{
	struct value *wrong = graph_value(e->cx, (struct type){0}, a->span);
	bool ok = true;
	uint32_t k = 0;

	for (struct aitem *it = a->items; it; it = it->next)
		h->nitems += it->in;
	h->seq = new_array(e->cx->arena, struct value *, h->nitems + 1);
	for (struct aitem *it = a->items; it; it = it->next) {
		if (!it->in) {
			struct carried *c = &l->carried[l->ncarried];
			if (!carried_item(e, it, c, &loose[l->ncarried++])) {
				c->init = wrong;
				ok = false;
			}
		} else if (it->range) {
			ok = range_item(e, it, h, k++) && ok;
		} else if (!sequence_item(e, it, h, k++)) {
			h->seq[k - 1] = wrong;
			ok = false;
		}
	}
	return ok;
}

/* The condition of 'while', for the initial values of the carried names or for the next values. */
static struct value *eval_while(struct elab *e, struct aloop *a, struct loop_state *l, bool next)
{
	struct why *asked = e->cx->why;

	e->cx->why = NULL; /* the names are those of the header */
	push_scope(e);
	for (uint32_t i = 0; i < l->ncarried; i++) {
		struct value *v = next ? l->carried[i].next : l->carried[i].init;
		bind_value(e, l->carried[i].name, cv_value(v, l->carried[i].span),
			   l->carried[i].span);
	}
	e->cx->why = asked;
	struct cv c = eval(e, a->condition);
	l->fixed_condition = c.kind != CV_BOOL; /* `while True` says that it is */
	for (const struct binding *b = e->scope->values; b; b = b->prev)
		l->fixed_condition &= !b->used;
	struct value *v = c.kind == CV_POISON ? NULL : condition(e, &c);
	l->fixed_condition &= v && !v->data; /* or False, by which it never begins */
	pop_scope(e);
	return v;
}

static struct type carried_type(struct elab *e, struct value *param, const struct type *init,
				uint64_t loose)
{
	struct type t = *init;

	t.dims = new_array(e->cx->arena, dim, t.rank + 1);
	for (uint32_t i = 0; i < t.rank; i++)
		t.dims[i] =
			loose >> i & 1 ? dim_fresh(e->cx, SOURCE_SIZE, param, i) : init->dims[i];
	return t;
}

/* Binds the names of the header for the body: elements of sequences, carried values. */
static bool bind_header(struct elab *e, struct aloop *a, struct loop_header *h,
			struct loop_state *l)
{
	struct value *iteration = l->block->params.at[0];
	uint32_t k = 0, c = 0;
	bool ok = true;

	for (struct aitem *it = a->items; it; it = it->next) {
		if (!it->in) {
			struct value *p = l->carried[c++].param;
			keep_name(e, p, it->name);
			bind_value(e, it->name,
				   p->type.dtype ? cv_value(p, it->span) : poison(it->span),
				   it->span)
				->used = true;
			continue;
		}
		struct value *v = iteration;
		if (h->seq[k] && !h->seq[k]->type.dtype) {
			v = NULL;
		} else if (h->seq[k]) {
			v = element_of(e, h->seq[k], cv_value(iteration, it->span));
			ok &= v != NULL;
		}
		if (v)
			keep_name(e, v, it->name);
		bind_value(e, it->name, v ? cv_value(v, it->span) : poison(it->span), it->span)
			->used = true;
		k++;
	}
	return ok;
}

#define CHANGES "? is a length that changes: write %s"

/* Is axis k of the next value of c as long as that of c? If it is so for no sizes but a few that
 * are not named, there is a warning. */
static bool same_length(struct elab *e, const struct carried *c, uint32_t k)
{
	const struct type *t = &c->param->type, *n = &c->next->type;
	const char *now = type_str(e->cx, *t), *then = type_str(e->cx, *n);
	const char *declare = carried_as(e, c, c->param->type.dtype, (uint64_t)1 << k);
	enum change change = dim_changes(e->cx, t->dims[k], n->dims[k]);
	struct diag **tail = e->cx->diag_tail;

	if (change == CHANGE_OF_NAMES || !dim_unify(e->cx, t->dims[k], n->dims[k], c->span))
		return false;
	if (change == CHANGE && !e->frame->library) {
		struct diag *d =
			*tail ? *tail
			      : warn(e->cx, c->span, W_EMPTY, "'%s' is %s but its next value is %s",
				     c->name->s, now, then);
		note(e->cx, d, (struct span){0, 0}, CHANGES, declare);
	}
	return true;
}

/* Has the next value of c the type of c, but for the axes that are `loose`? false: reported */
static bool check_next(struct elab *e, const struct carried *c, uint64_t loose)
{
	const struct type *t = &c->param->type, *n = &c->next->type;
	bool shape = t->rank == n->rank, same = shape && t->dtype == n->dtype;
	uint64_t open = loose;

	if (!n->dtype || !t->dtype)
		return true;
	for (uint32_t k = 0; shape && k < t->rank; k++)
		if (!(loose >> k & 1) && !dim_eq(e->cx, t->dims[k], n->dims[k]) &&
		    !(same && same_length(e, c, k)))
			open |= (uint64_t)1 << k;
	if (same && open == loose)
		return true;
	struct diag *d = elab_error(e, c->span, t->dtype != n->dtype ? E_DTYPE : E_SHAPE,
				    "'%s' is %s but its next value is %s", c->name->s,
				    type_str(e->cx, *t), type_str(e->cx, *n));
	if (same)
		note(e->cx, d, (struct span){0, 0}, CHANGES, carried_as(e, c, t->dtype, open));
	else if (shape)
		note(e->cx, d, (struct span){0, 0},
		     "the type stays the same: write %s in the header",
		     carried_as(e, c, n->dtype, open));
	else
		note(e->cx, d, (struct span){0, 0},
		     "the type stays the same: write %s = %s(...) in the header", c->name->s,
		     type_str(e->cx, *n));
	explain_promise(e->cx, d, NULL, 0);
	return false;
}

/* Have the next values the types of the carried values? false: reported */
static bool check_carried(struct elab *e, struct loop_state *l, const uint64_t *loose)
{
	bool ok = true;

	for (uint32_t i = 0; i < l->ncarried; i++) {
		struct carried *c = &l->carried[i];
		if (!c->next)
			c->next = c->param;
		ok &= check_next(e, c, loose[i]) && c->next->type.dtype;
	}
	return ok;
}

/* *out = the condition for another iteration, of 'while' and 'until'. false: reported */
static bool body_condition(struct elab *e, struct aloop *a, struct loop_state *l,
			   struct value **out)
{
	struct value *go = l->block->params.at[1];

	if (a->condition.len && !(go = eval_while(e, a, l, true)))
		return false;
	if (l->until) {
		struct cv u = cv_value(l->until, a->span);
		struct cv more = call_named(e, "Invert", &u, 1, a->span);
		if (more.kind != CV_VALUE)
			return false;
		if (!a->condition.len) {
			go = more.u.v;
		} else {
			struct cv both[2] = {cv_value(go, a->span), more};
			struct cv r = call_named(e, "And", both, 2, a->span);
			if (r.kind != CV_VALUE)
				return false;
			go = r.u.v;
		}
	}
	*out = go;
	return true;
}

/* The value in the body of result r of the loop; NULL: reported. *carried is set for carried
 * values.
 */
static struct value *result_value(struct elab *e, struct aresult *r, struct loop_state *l,
				  uint32_t *carried)
{
	if (!r->stacked) {
		for (uint32_t i = 0; i < l->ncarried; i++)
			if (l->carried[i].name == r->name) {
				*carried = i;
				return l->carried[i].param;
			}
		elab_error(e, r->span, E_UNDEFINED,
			   "'%s' is not carried by the loop; write [%s] to stack all its values",
			   r->name->s, r->name->s);
		return NULL;
	}
	struct binding *b = find_value(e, r->name);
	struct cv v = {.kind = CV_SYM, .span = r->span, .u.sym = r->name};
	if (b) {
		b->used = true;
		v = binding_cv(b);
	}
	return to_value(e, &v, DT_NONE);
}

/* The stacked values have one axis more. false: reported */
bool can_stack(struct elab *e, const struct value *v, struct span s)
{
	if (v->type.rank == MAX_RANK)
		elab_error(e, s, E_RANK, "%s cannot be stacked: %d dims are possible",
			   type_str(e->cx, v->type), MAX_RANK);
	return v->type.rank < MAX_RANK;
}

/* Elaborates the body and sets the results of its block. pick[k] is the result of the node for
 * result k of the loop. false: reported */
static bool run_body(struct elab *e, struct aloop *a, struct loop_header *h, struct loop_state *l,
		     const uint64_t *loose, uint32_t *pick)
{
	struct value *go = NULL;
	bool ok = bind_header(e, a, h, l) && exec_block(e, &a->body);
	uint32_t k = 0, stacked = 0;

	ok = check_carried(e, l, loose) && ok;
	ok = ok && body_condition(e, a, l, &go);
	if (!ok)
		return false;
	*vec_push(e->cx->arena, &l->block->results) = go;
	for (uint32_t i = 0; i < l->ncarried; i++)
		*vec_push(e->cx->arena, &l->block->results) = l->carried[i].next;
	for (struct aresult *r = a->results; r; r = r->next, k++) {
		uint32_t i = l->ncarried + stacked;
		struct value *v = result_value(e, r, l, &i);
		ok = ok && v && v->type.dtype && (!r->stacked || can_stack(e, v, r->span));
		if (ok && r->stacked) {
			*vec_push(e->cx->arena, &l->block->results) = v;
			stacked++;
		}
		pick[k] = i;
	}
	return ok;
}

/* Appends the loop node of a body. steps: the number of rows of stacked values; DIM_NONE: not
 * known. mark: see outside_type(). */
struct node *append_loop(struct elab *e, struct loop_inputs in, struct block *body, dim steps,
			 dim mark, struct span s)
{
	struct ctx *cx = e->cx;
	struct node *n = node_new(cx, &op_loop, node_span(e, s));
	uint32_t nout = body->results.len - 1;

	n->nin = (uint16_t)(2 + in.n);
	n->in = new_array(cx->arena, struct value *, 2 + in.n);
	n->in[0] = in.trips;
	n->in[1] = in.go;
	for (uint32_t i = 0; i < in.n; i++)
		n->in[2 + i] = in.carried[i];
	n->blocks = new_array(cx->arena, struct block *, 2);
	n->blocks[0] = body;
	node_results(cx, n, nout);
	for (uint32_t i = 0; i < nout; i++) {
		struct value *out = n->out[i], *inner = body->results.at[i + 1];
		if (i < in.n) {
			out->type = carried_type(e, out, &in.carried[i]->type,
						 in.loose ? in.loose[i] : 0);
			continue;
		}
		out->type = outside_type(e, out, &inner->type, NULL, mark, 1);
		out->type.dims[0] = steps != DIM_NONE ? steps : dim_fresh(cx, SOURCE_SIZE, out, 0);
	}
	graph_append(e->block, n);
	return n;
}

/* Appends a loop without results for a body with errors: lowering reports other mistakes in it. */
void append_lost(struct elab *e, struct block *body, struct span s)
{
	struct node *n = node_new(e->cx, &op_loop, node_span(e, s));

	n->blocks = new_array(e->cx->arena, struct block *, 2);
	n->blocks[0] = body;
	node_results(e->cx, n, 0);
	graph_append(e->block, n);
}

static bool count_items(struct elab *e, const struct aloop *a, uint32_t *carried, uint32_t *results)
{
	*carried = *results = 0;
	for (struct aitem *it = a->items; it; it = it->next)
		*carried += !it->in;
	for (struct aresult *r = a->results; r; r = r->next)
		++*results;
	if (*carried > MAX_CARRIED)
		elab_error(e, a->span, E_LIMIT, "a loop carries at most %d values, this one %u",
			   MAX_CARRIED, *carried);
	return *carried <= MAX_CARRIED;
}

/* ---- loops of the library that are unrolled ---- */

static bool reads_item(const struct elab *e, struct expr x, const struct aloop *a)
{
	for (uint32_t i = x.first; i < x.first + x.len; i++) {
		const struct anode *n = &e->file->nodes.at[i];
		for (const struct aitem *it = a->items; it && n->kind == A_NAME; it = it->next)
			if (it->in && it->name == n->u.sym)
				return true;
	}
	return false;
}

/* Does an `if` among the statements of the loop, or inside of such an `if`, ask for an item of it?
 */
static bool asks_for_item(struct elab *e, const struct aloop *a)
{
	const struct ablock *todo[64] = {&a->body};

	for (uint32_t n = 1; n > 0;) {
		const struct ablock *b = todo[--n];
		for (const struct stmt *s = b->first; s; s = s->next) {
			if (s->kind != S_IF && s->kind != S_STATIC_IF)
				continue;
			for (const struct aif *i = s->u.cond; i; i = i->next) {
				if (reads_item(e, i->cond, a) || n == countof(todo))
					return true;
				todo[n++] = &i->body;
			}
		}
	}
	return false;
}

/* How many steps, if they are few enough to be written out; 0: loop. A step of a loop takes as long
 * as three more nodes, but loading a model takes time for each node. In C a step of a loop takes no
 * longer: there only steps that are not all alike are written out. */
static uint32_t steps_to_unroll(struct elab *e, const struct aloop *a, const struct loop_header *h)
{
	int64_t trips, statements = 0;

	if (!e->frame->library || a->condition.len || h->trips == DIM_NONE ||
	    !dim_is_const(e->cx, h->trips, &trips))
		return 0;
	for (const struct stmt *s = a->body.first; s; s = s->next, statements++)
		if (s->kind == S_UNTIL)
			return 0;
	if (e->cx->opt.target == PTGC_C && !asks_for_item(e, a))
		return 0;
	return trips <= MAX_UNROLLED && trips * statements <= MAX_STATEMENTS ? (uint32_t)trips : 0;
}

/* ExpandDims or Join of the arguments along axis 0; NULL: reported */
static struct value *along_first(struct elab *e, const char *name, struct cv *args, uint32_t n,
				 struct span s)
{
	const struct op *op = op_named(e->cx, name);
	struct prop_arg axis = {
		.name = intern_str(e->cx, "axis"), .span = s, .value = cv_int(0, s)};
	struct cv *props = bind_props(e->cx, op, s, &axis, 1);
	struct cv r = props ? call_op(e, op, props, args, n, s) : poison(s);

	return r.kind == CV_VALUE ? r.u.v : NULL;
}

/* The values as rows of one array; NULL: reported */
struct value *stack_values(struct elab *e, struct value **v, uint32_t n, struct span s)
{
	struct cv *rows = new_array(e->cx->arena, struct cv, n);

	for (uint32_t i = 0; i < n; i++) {
		struct cv arg = cv_value(v[i], s);
		struct value *row = along_first(e, "ExpandDims", &arg, 1, s);
		if (!row)
			return NULL;
		rows[i] = cv_value(row, s);
	}
	return along_first(e, "Join", rows, n, s);
}

/* Elaborates step k in the block around the loop. rows[r][k] is what stacked result r has of it. */
static bool unrolled_step(struct elab *e, struct aloop *a, struct loop_header *h,
			  struct loop_state *l, uint32_t k, struct value ***rows)
{
	uint32_t item = 0, c = 0, r = 0;
	bool ok = true;

	for (struct aitem *it = a->items; it && ok; it = it->next) {
		struct cv v = cv_int(k, it->span);
		if (!it->in) {
			v = cv_value(l->carried[c++].param, it->span);
		} else if (h->seq[item++]) {
			struct value *x = element_of(e, h->seq[item - 1], v);
			ok = x != NULL;
			v = ok ? cv_value(x, it->span) : v;
		}
		bind_value(e, it->name, v, it->span)->used = true;
	}
	ok = ok && exec_block(e, &a->body);
	for (struct aresult *i = a->results; i && ok; i = i->next, r++) {
		uint32_t carried;
		if (!i->stacked)
			continue;
		rows[r][k] = result_value(e, i, l, &carried);
		ok = rows[r][k] && rows[r][k]->type.dtype;
	}
	return ok;
}

/* The steps, one after the other. Carried values may change their dims. */
static bool exec_unrolled(struct elab *e, struct stmt *s, struct loop_header *h,
			  struct loop_state *l, uint32_t steps)
{
	struct aloop *a = s->u.loop;
	struct value ***rows = new_array(e->cx->arena, struct value **, s->ntargets + 1u);
	bool ok = true;
	uint32_t k = 0;

	for (uint32_t i = 0; i < s->ntargets; i++)
		rows[i] = new_array(e->cx->arena, struct value *, steps);
	for (uint32_t i = 0; i < l->ncarried; i++)
		l->carried[i].param = l->carried[i].init;
	l->block = e->block;
	l->stepwise = true;
	e->loop = l;
	for (uint32_t step = 0; step < steps && ok; step++) {
		l->step = step;
		push_scope(e);
		ok = unrolled_step(e, a, h, l, step, rows);
		pop_scope(e);
		for (uint32_t i = 0; i < l->ncarried && ok; i++) {
			struct carried *c = &l->carried[i];
			c->param = c->next ? c->next : c->param;
			c->next = NULL;
		}
	}
	e->loop = l->outer;
	for (struct aresult *r = a->results; r && ok; r = r->next, k++) {
		uint32_t c;
		struct value *v = r->stacked ? stack_values(e, rows[k], steps, a->span)
					     : result_value(e, r, l, &c);
		ok = v && bind_target(e, &s->targets[k], cv_value(v, s->targets[k].span));
	}
	return ok || fail_targets(e, s);
}

bool exec_loop(struct elab *e, struct stmt *s)
{
	struct aloop *a = s->u.loop;
	struct block *outer = e->block;
	struct loop_header h = {.trips = DIM_NONE};
	uint32_t nresults, ncarried;
	struct loop_state l = {.outer = e->loop};
	if (!count_items(e, a, &ncarried, &nresults))
		return fail_targets(e, s);
	uint64_t *loose = new_array(e->cx->arena, uint64_t, ncarried + 1);
	uint32_t *pick = new_array(e->cx->arena, uint32_t, nresults + 1);
	struct value *cond = NULL;

	l.carried = new_array(e->cx->arena, struct carried, ncarried + 1);
	bool ok = read_header(e, a, &h, &l, loose);
	ok = count_targets(e, s, nresults) && ok;
	uint32_t steps = ok ? steps_to_unroll(e, a, &h) : 0;
	if (steps)
		return exec_unrolled(e, s, &h, &l, steps);
	if (a->condition.len)
		ok = (cond = eval_while(e, a, &l, false)) && ok;
	dim mark = dim_fresh(e->cx, SOURCE_NONE, NULL, 0);
	if (!(l.block = open_block(e, a->span))) {
		e->block = outer;
		return fail_targets(e, s);
	}
	body_param(e, l.block, scalar(DT_INT64), a->span);
	body_param(e, l.block, scalar(DT_BOOL), a->span);
	for (uint32_t i = 0; i < ncarried; i++) {
		struct value *p = body_param(e, l.block, scalar(DT_BOOL), l.carried[i].span);
		p->type = carried_type(e, p, &l.carried[i].init->type, loose[i]);
		define_known(e->cx, p);
		l.carried[i].param = p;
	}
	e->loop = &l;
	push_scope(e);
	ok = run_body(e, a, &h, &l, loose, pick) && ok;
	if (ok && h.trips == DIM_NONE && !cond && !l.until) {
		elab_error(e, a->span, E_STATEMENT,
			   "this loop never ends: write 'x in xs' or 'i in 0:n' in its header, "
			   "'while c' after it, or 'until c' in its body");
		ok = false;
	}
	if (ok && h.trips == DIM_NONE && cond && l.fixed_condition && !l.until) {
		elab_error(e, a->span, E_STATEMENT,
			   "this loop never ends once it begins: its 'while' reads nothing that "
			   "the loop carries");
		ok = false;
	}
	if (ok)
		warn_unread(e);
	pop_scope(e);
	e->loop = l.outer;
	e->block = outer;
	if (!ok) {
		append_lost(e, l.block, a->span);
		return fail_targets(e, s);
	}
	struct loop_inputs in = {.go = cond, .n = ncarried, .loose = loose};
	in.trips = h.trips == DIM_NONE ? NULL : dim_to_value(e, h.trips, a->span);
	in.carried = new_array(e->cx->arena, struct value *, ncarried + 1);
	for (uint32_t i = 0; i < ncarried; i++)
		in.carried[i] = l.carried[i].init;
	bool counted = !a->condition.len && !l.until;
	struct node *n = append_loop(e, in, l.block, counted ? h.trips : DIM_NONE, mark, a->span);
	for (uint32_t i = 0; i < s->ntargets; i++)
		ok = bind_target(e, &s->targets[i],
				 cv_value(n->out[pick[i]], s->targets[i].span)) &&
		     ok;
	return ok;
}

/* ---- next, until, state ---- */

static bool report_no_state(struct elab *e, struct stmt *s, struct binding *b)
{
	struct sym *name = s->targets[0].name;

	if (b && b->kind == CV_POISON) /* the state has an error, which was reported */
		return false;
	if (is_for_item(e, name))
		elab_error(e, s->span, E_STATEMENT,
			   "'%s' has no next value: the header of the 'for' sets it in each step",
			   name->s);
	else
		elab_error(e, s->span, E_STATEMENT,
			   "'next %s' needs a loop that carries '%s', or a state of that name",
			   name->s, name->s);
	if (!b) /* so that it is not reported as undefined, too */
		bind_value(e, name, poison(s->span), s->span)->used = true;
	return false;
}

/* The value of a statement 'next x = ...' for the param of x; NULL: reported */
static struct value *next_value(struct elab *e, struct stmt *s, const struct value *given,
				const struct value *param)
{
	if (given && !e->checking) { /* else it may be that of another branch of a static if */
		elab_error(e, s->targets[0].span, E_DUPLICATE,
			   "the next value of '%s' is given twice", s->targets[0].name->s);
		return NULL;
	}
	struct cv v = eval(e, s->u.value);
	struct value *next =
		to_value(e, &v, cv_is_weak(&v) ? weak_dtype(e, &v, param->type.dtype) : DT_NONE);
	why_note(e, s->targets[0].name, next ? cv_value(next, s->span) : poison(s->span), s->span,
		 true);
	return next;
}

static bool next_state(struct elab *e, struct stmt *s)
{
	struct sym *name = s->targets[0].name;
	struct binding *b = find_local(e, name);

	if (!b || !b->state)
		return report_no_state(e, s, b);
	struct state *st = &e->graph->states.at[b->state - 1];
	if (e->block != e->graph->block || e->loop) {
		elab_error(e, s->span, E_STATEMENT,
			   "the next value of a state is set outside of loops and ifs");
		return false;
	}
	struct value *next = next_value(e, s, st->next, st->param);
	if (!next)
		return false;
	st->next = next;
	if (!next->type.dtype)
		return false;
	const struct type *t = &st->param->type, *n = &st->next->type;
	bool fits = t->dtype == n->dtype && t->rank == n->rank;
	for (uint32_t k = 0; fits && k < t->rank; k++)
		fits = !dim_ne(e->cx, t->dims[k], n->dims[k]);
	if (!fits)
		elab_error(e, s->span, t->dtype != n->dtype ? E_DTYPE : E_SHAPE,
			   "'%s' is %s but its next value is %s", name->s, type_str(e->cx, *t),
			   type_str(e->cx, *n));
	return fits;
}

bool exec_next(struct elab *e, struct stmt *s)
{
	struct loop_state *l = e->loop;
	struct sym *name = s->targets[0].name;

	for (uint32_t i = 0; l && i < l->ncarried; i++) {
		struct carried *c = &l->carried[i];
		if (c->name != name)
			continue;
		if (l->written_out && l->block == e->block)
			return next_in_for(e, s, c);
		if (l->block != e->block) {
			elab_error(
				e, s->span, E_STATEMENT,
				"'next' must be directly in the body of its loop, not in an 'if'");
			return false;
		}
		struct value *next = next_value(e, s, c->next, c->param);
		if (!next && c->next)
			return false;
		/* check_carried() accepts a poison value */
		c->next = next ? next : graph_value(e->cx, (struct type){0}, s->span);
		return c->next->type.dtype;
	}
	return next_state(e, s);
}

bool exec_until(struct elab *e, struct stmt *s)
{
	struct loop_state *l = e->loop;

	if (l && l->written_out && l->block == e->block) {
		elab_error(e, s->span, E_STATEMENT,
			   "a 'for' is written out at compile time and takes all of its steps: "
			   "write loop, which can have an 'until'");
		return false;
	}
	if (!l || l->block != e->block) {
		elab_error(e, s->span, E_STATEMENT,
			   "'until' must be directly in the body of a loop");
		return false;
	}
	if (l->until) {
		elab_error(e, s->span, E_DUPLICATE, "a loop has one 'until'");
		return false;
	}
	struct cv c = eval(e, s->u.value);
	l->until = c.kind == CV_POISON ? NULL : condition(e, &c);
	return l->until != NULL;
}

bool exec_state(struct elab *e, struct stmt *s)
{
	struct target *t = &s->targets[0];
	struct value *v = graph_value(e->cx, (struct type){0}, t->span);
	struct state *st;

	if (!e->frame->fn || !e->frame->fn->is_graph || e->block != e->graph->block || e->loop) {
		elab_error(e, s->span, E_STATEMENT,
			   "'state' belongs in a graph, outside loops and ifs");
		return false;
	}
	struct cv init = eval(e, s->u.value);
	bool ok = init.kind != CV_POISON && make_type(e, t->type, v, &v->type);
	struct value *first =
		ok ? to_value(e, &init, cv_is_weak(&init) ? v->type.dtype : DT_NONE) : NULL;
	if (first && !first->data) {
		if (first->type.dtype)
			elab_error(e, init.span, E_EXPRESSION,
				   "the first value of a state must be constant");
		first = NULL;
	}
	if (!first || !match_type(e, t->type, first, MATCH_SETS, "state", t->name, t->span, NULL)) {
		bind_value(e, t->name, poison(t->span), t->span);
		return false;
	}
	v->name = t->name;
	define_known(e->cx, v);
	*vec_push(e->cx->arena, &e->graph->block->params) = v;
	st = vec_push(e->cx->arena, &e->graph->states);
	st->param = v;
	st->init = first;
	struct binding *b = bind_value(e, t->name, cv_value(v, t->span), t->span);
	b->used = true;
	b->state = e->graph->states.len;
	return true;
}
