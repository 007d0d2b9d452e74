/*
 * if.c: the statement if, and PyTensor's ops IfElse, LazyIfElse, OpFromGraph. In: a condition and
 * two branches. Out: an `if` node (op_if in ops/ops.h), or the nodes of one branch if the condition
 * is known at compile time.
 */
#include "elab/internal.h"

struct branch {
	struct block *block;
	struct cv *values;
	uint32_t nvalues; /* LazyIfElse alone */
};

static bool branch_values(struct elab *e, struct stmt *s, struct aif *a, struct cv *values)
{
	bool ok = true;

	for (uint32_t i = 0; i < s->ntargets; i++) {
		struct binding *b = find_local(e, s->targets[i].name);
		if (!b || b->scope != e->scope) {
			if (!e->file->lost)
				elab_error(e, a->span, E_NO_OUTPUT,
					   "this branch does not define '%s'",
					   s->targets[i].name->s);
			values[i] = poison(s->targets[i].span);
			ok = false;
			continue;
		}
		b->used = true;
		values[i] = binding_cv(b);
	}
	return ok;
}

static bool run_branches(struct elab *e, struct stmt *s, struct aif *a, struct cv *values);

/* Elaborates one branch (or the rest of an else-if chain) into its own block. */
static bool open_branch(struct elab *e, struct stmt *s, struct aif *a, bool chain,
			struct branch *br)
{
	struct block *outer = e->block;
	bool ok;

	br->values = new_array(e->cx->arena, struct cv, s->ntargets + 1u);
	br->block = open_block(e, a->span);
	if (!br->block) {
		e->block = outer;
		return false;
	}
	push_scope(e);
	if (chain) {
		ok = run_branches(e, s, a, br->values);
	} else {
		ok = exec_block(e, &a->body);
		ok = branch_values(e, s, a, br->values) && ok;
	}
	if (ok)
		warn_unread(e);
	pop_scope(e);
	e->block = outer;
	return ok;
}

static enum dtype branch_dtype(const struct cv *v)
{
	return v->kind == CV_VALUE && !v->weak ? v->u.v->type.dtype : DT_NONE;
}

static bool is_number_literal(const struct cv *v)
{
	return v->kind == CV_BOOL || v->kind == CV_INT || v->kind == CV_FLOAT ||
	       v->kind == CV_COMPLEX || v->kind == CV_DIM || (v->kind == CV_VALUE && v->weak);
}

/* The name of a result of an if in messages. */
static const char *result_name(struct elab *e, const struct target *t, uint32_t i)
{
	return t ? arena_printf(e->cx->arena, "'%s'", t[i].name->s)
		 : arena_printf(e->cx->arena, "result %u", i);
}

/* Makes value i of both branches results of the blocks, of one dtype. t: the targets, NULL for an
 * op. false: reported */
static bool merge_branches(struct elab *e, const struct target *t, uint32_t i, struct branch *br,
			   struct node *n, dim mark)
{
	struct block *outer = e->block;
	struct value *v[2];
	enum dtype type = branch_dtype(&br[0].values[i]) ? branch_dtype(&br[0].values[i])
							 : branch_dtype(&br[1].values[i]);

	if (!type && is_number_literal(&br[0].values[i]) && is_number_literal(&br[1].values[i])) {
		enum dtype a = weak_dtype(e, &br[0].values[i], DT_NONE);
		enum dtype c = weak_dtype(e, &br[1].values[i], DT_NONE);
		type = a && c ? dtype_upcast(a, c) : DT_NONE;
		if (type == DT_BOOL)
			type = DT_NONE;
	}
	for (int k = 0; k < 2; k++) {
		struct cv number, *c = &br[k].values[i];
		if (c->kind == CV_BOOL && type && type != branch_dtype(&br[!k].values[i])) {
			number = (struct cv){.kind = CV_INT, .span = c->span, .u.i = c->u.b};
			c = &number;
		}
		e->block = br[k].block;
		v[k] = to_value(e, c, cv_is_weak(c) ? weak_dtype(e, c, type) : DT_NONE);
		e->block = outer;
		if (!v[k] || !v[k]->type.dtype)
			return false;
		*vec_push(e->cx->arena, &br[k].block->results) = v[k];
	}
	const struct type *a = &v[0]->type, *b = &v[1]->type;
	if (a->dtype != b->dtype || a->rank != b->rank) {
		elab_error(e, t ? t[i].span : n->span, a->dtype != b->dtype ? E_DTYPE : E_RANK,
			   "%s is %s in one branch and %s in the other", result_name(e, t, i),
			   type_str(e->cx, *a), type_str(e->cx, *b));
		return false;
	}
	n->out[i]->type = outside_type(e, n->out[i], a, b, mark, 0);
	return true;
}

/* Appends the node `if cond: br[0] else: br[1]`; values[count] are its results. */
static bool append_if(struct elab *e, struct value *cond, struct branch *br, const struct target *t,
		      uint32_t count, dim mark, struct span s, struct cv *values)
{
	struct node *n = node_new(e->cx, &op_if, node_span(e, s));
	bool ok = true;

	node_inputs(e->cx, n, &cond, 1);
	n->blocks = new_array(e->cx->arena, struct block *, 3);
	n->blocks[0] = br[0].block;
	n->blocks[1] = br[1].block;
	node_results(e->cx, n, count);
	for (uint32_t i = 0; i < count; i++) {
		ok = merge_branches(e, t, i, br, n, mark) && ok;
		values[i] = cv_value(n->out[i], t ? t[i].span : s);
	}
	graph_append(e->block, n);
	return ok;
}

/* The chain `if a ... else if ... else ...` from a on: values[] are the values of the targets. */
static bool run_branches(struct elab *e, struct stmt *s, struct aif *a, struct cv *values)
{
	struct branch br[2];
	struct cv c = eval(e, a->cond);

	while (c.kind == CV_BOOL && !c.u.b && a->next && a->next->cond.len) {
		a = a->next;
		c = eval(e, a->cond);
	}
	if (c.kind == CV_BOOL) { /* static: the branch is chosen now */
		struct aif *pick = c.u.b ? a : a->next;
		if (pick) {
			mark_read_in_branches(e, s->u.cond, pick);
			push_scope(e);
			bool done = exec_block(e, &pick->body);
			done = branch_values(e, s, pick, values) && done;
			if (done)
				warn_unread(e);
			pop_scope(e);
			return done;
		}
	}
	struct value *cond = c.kind == CV_POISON ? NULL : condition(e, &c);
	if (!a->next) {
		elab_error(e, a->span, E_STATEMENT, "an 'if' that gives values needs an 'else'");
		return false;
	}
	dim mark = dim_fresh(e->cx, SOURCE_NONE, NULL, 0);
	bool ok = open_branch(e, s, a, false, &br[0]);
	ok = open_branch(e, s, a->next, a->next->cond.len != 0, &br[1]) && ok;
	if (!ok || !cond) {
		for (int k = 0; k < 2; k++)
			if (br[k].block)
				append_lost(e, br[k].block, a->span);
		return false;
	}
	return append_if(e, cond, br, s->targets, s->ntargets, mark, a->span, values);
}

bool exec_if(struct elab *e, struct stmt *s)
{
	struct cv *values = new_array(e->cx->arena, struct cv, s->ntargets + 1u);
	bool ok = run_branches(e, s, s->u.cond, values);

	if (!ok)
		return fail_targets(e, s);
	for (uint32_t i = 0; i < s->ntargets; i++)
		ok = bind_target(e, &s->targets[i], values[i]) && ok;
	return ok;
}

/* ---- the ops ---- */

static const struct cv *op_prop(struct elab *e, const struct op *op, struct cv *props,
				const char *name)
{
	const struct node n = {.op = op, .props = props};

	return prop(e->cx, &n, name);
}

static struct cv results_of(struct cv *values, uint32_t n, struct span s)
{
	return n == 1 ? values[0]
		      : (struct cv){.kind = CV_MULTI, .n = n, .span = s, .u.items = values};
}

struct cv call_ref(struct elab *e, const struct cv *ref, struct cv *args, uint32_t nargs,
		   struct span s)
{
	const struct opref *r = ref->u.op;

	if (!r->fn)
		return call_op(e, r->op, r->props, args, nargs, s);
	struct cv *values = new_array(e->cx->arena, struct cv, r->fn->nresults + 1u);
	return expand_call(e, r->fn, s, r->props, args, nargs, values)
		       ? results_of(values, r->fn->nresults, s)
		       : poison(s);
}

/* OpFromGraph and Elemwise call what their first property names: fn, scalar_op. */
struct cv elab_from_graph(struct elab *e, const struct op *op, struct cv *props, struct cv *args,
			  uint32_t nargs, struct span s)
{
	(void)op;
	return call_ref(e, &props[0], args, nargs, s);
}

/* Elaborates branch k, which must have as many results as branch 0. false: reported */
static bool call_branch(struct elab *e, struct branch *br, int k, const struct cv *ref,
			struct cv *args, uint32_t nargs, struct span s)
{
	struct block *outer = e->block;

	br[k].block = open_block(e, s);
	struct cv r = br[k].block ? call_ref(e, ref, args, nargs, s) : poison(s);
	e->block = outer;
	if (r.kind == CV_POISON) {
		if (br[k].block)
			append_lost(e, br[k].block, s);
		return false;
	}
	br[k].nvalues = r.kind == CV_MULTI ? r.n : 1;
	br[k].values = r.u.items;
	if (r.kind != CV_MULTI)
		*(br[k].values = new (e->cx->arena, struct cv)) = r;
	if (br[k].nvalues == br[0].nvalues)
		return true;
	elab_error(e, ref->span, E_ARITY, "the other branch has %u result%s, this one %u",
		   br[0].nvalues, br[0].nvalues == 1 ? "" : "s", br[k].nvalues);
	return false;
}

/* IfElse: the arguments are values, computed before the if. */
struct cv elab_if_else(struct elab *e, const struct op *op, struct cv *props, struct cv *args,
		       uint32_t nargs, struct span s)
{
	const struct cv *outs = op_prop(e, op, props, "n_outs");
	uint32_t n = (nargs - 1) / 2;
	struct branch br[2];
	struct cv *values = new_array(e->cx->arena, struct cv, n + 1);

	for (uint32_t i = 0; i < nargs; i++)
		if (args[i].kind == CV_POISON)
			return poison(s);
	if (nargs % 2 == 0 || outs->neg || outs->u.i != n) {
		elab_error(
			e, s, E_ARITY,
			"IfElse: a condition, n_outs values and n_outs others are needed, not %u "
			"arguments",
			nargs);
		return poison(s);
	}
	struct value *cond = condition(e, &args[0]);
	dim mark = dim_fresh(e->cx, SOURCE_NONE, NULL, 0);
	struct block *outer = e->block;
	bool ok = cond != NULL;
	for (int k = 0; k < 2 && ok; k++) {
		br[k].values = args + 1 + (uint32_t)k * n;
		ok = (br[k].block = open_block(e, s)) != NULL;
		e->block = outer;
	}
	ok = ok && append_if(e, cond, br, NULL, n, mark, s, values);
	return ok ? results_of(values, n, s) : poison(s);
}

/* LazyIfElse: the branches are fns of the same arguments. */
struct cv elab_lazy_if_else(struct elab *e, const struct op *op, struct cv *props, struct cv *args,
			    uint32_t nargs, struct span s)
{
	const struct cv *ref[2] = {op_prop(e, op, props, "true_branch"),
				   op_prop(e, op, props, "false_branch")};
	struct branch br[2] = {{0}};
	struct value *cond = condition(e, &args[0]);
	dim mark = dim_fresh(e->cx, SOURCE_NONE, NULL, 0);

	for (int k = 0; k < 2; k++)
		if (!cond || !call_branch(e, br, k, ref[k], args + 1, nargs - 1, s))
			return poison(s);
	uint32_t n = br[0].nvalues;
	struct cv *values = new_array(e->cx->arena, struct cv, n + 1);
	bool ok = append_if(e, cond, br, NULL, n, mark, s, values);
	return ok ? results_of(values, n, s) : poison(s);
}
