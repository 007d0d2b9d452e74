/*
 * expr.c: expressions. In: a range of the post-order AST. Out: a compile-time value (struct cv).
 * A loop over the nodes keeps the operands on a stack, so nothing recurses on the depth of an
 * expression. Arithmetic on literals and dims is computed at once (literals.c); other operations
 * become nodes.
 */
#include <string.h>

#include "elab/internal.h"

/* ---- operators ---- */

/* Calls the op of an infix operator whose value is not known at compile time. */
static struct cv call_operator(struct elab *e, const struct anode *n, struct cv *args,
			       uint32_t nargs)
{
	const char *name = operators[n->op].onnx;
	bool bools = false;

	if (!e->file->infix_onnx)
		return call_named(e, operators[n->op].op, args, nargs, n->at);
	if (!name) {
		elab_error(e, n->at, E_EXPRESSION,
			   "ONNX has no operator for '%s', which infix=onnx in the header of the "
			   "file asks for: write %s(a, b)",
			   operators[n->op].text, operators[n->op].op);
		return poison(n->span);
	}
	for (uint32_t i = 0; i < nargs; i++)
		bools |= args[i].kind == CV_BOOL ||
			 (args[i].kind == CV_VALUE && args[i].u.v->type.dtype == DT_BOOL);
	if (operators[n->op].bits && !bools)
		name = operators[n->op].bits;
	struct cv r = call_onnx_operator(e, name, args, nargs, n);
	if (n->op == OPR_NE && r.kind != CV_POISON)
		r = call_onnx_operator(e, "onnx.Not", &r, 1, n);
	return r;
}

/* x == None in a graph, where it cannot hold; in a fn, x may be a parameter that is left out. true:
 * reported */
static bool never_none(struct elab *e, const struct anode *n, struct cv *args)
{
	bool none = args[0].kind == CV_NONE, other = args[1].kind == CV_NONE;

	if (none == other || (n->op != OPR_EQ && n->op != OPR_NE))
		return false;
	if (!all_defined(e, args, 2))
		return true;
	if (!e->frame->fn->is_graph)
		return false;
	elab_error(e, n->span, E_EXPRESSION,
		   "'%s None' is always %s here: only a parameter or property of a fn may be None; "
		   "Isnan(x) tells where x is NaN",
		   operators[n->op].text, n->op == OPR_EQ ? "False" : "True");
	return true;
}

static struct cv eval_binary(struct elab *e, const struct anode *n, const struct cv *items)
{
	struct cv args[2] = {items[0], items[1]};

	if (args[0].kind == CV_POISON || args[1].kind == CV_POISON) {
		all_defined(e, args, 2);
		return poison(n->span);
	}
	if (never_none(e, n, args))
		return poison(n->span);
	struct cv r = static_binary(e, n->op, &args[0], &args[1], n->span);
	if (r.kind != CV_NONE)
		return r;
	if (!all_defined(e, args, 2))
		return poison(n->span);
	for (int i = 0; i < 2; i++)
		if (args[i].kind == CV_DTYPE || args[i].kind == CV_STR || args[i].kind == CV_NONE) {
			report_no_tensor(e, &args[i]);
			return poison(n->span);
		}
	return call_operator(e, n, args, 2);
}

/* +x is x, for numbers and tensors. */
static struct cv eval_plus(struct elab *e, const struct anode *n, const struct cv *v)
{
	if (cv_is_weak(v) || v->kind == CV_VALUE)
		return *v;
	if (all_defined(e, v, 1))
		report_no_tensor(e, v);
	return poison(n->span);
}

static struct cv eval_unary(struct elab *e, const struct anode *n, const struct cv *items)
{
	struct cv v = items[0];

	if (v.kind == CV_POISON)
		return v;
	if (n->op == OPR_POS)
		return eval_plus(e, n, &v);
	struct cv r = static_unary(e, n->op, &v, n->span);
	return r.kind != CV_NONE ? r : call_operator(e, n, &v, 1);
}

/* ---- leaves ---- */

/* Warns that a value hides the dim of the same name, unless both are the same number. An input with
 * dims of its own, k: int64[k], is not taken for a size. */
static void warn_shadowed_dim(struct elab *e, const struct binding *value, struct span s)
{
	struct binding *b = find_dim(e, value->sym);
	const struct known *k;

	if (!b || b->is_rest || e->frame->library)
		return;
	k = value->kind == CV_VALUE ? known_of(e->cx, value->u.v) : NULL;
	if (k && !value->u.v->type.rank && dim_eq(e->cx, k->at[0], b->u.d))
		return;
	warn(e->cx, s, W_SHADOW_DIM, "'%s' is the value here, not the dim of that name",
	     value->sym->s);
}

static struct cv eval_name(struct elab *e, const struct anode *n)
{
	struct sym *sym = n->u.sym;
	struct binding *b;

	/* a generator may be called rng, as in r, x = normal_rv(rng, None, mu, sigma) */
	bool value = is_rng((enum dtype)sym->dtype) && find_value(e, sym);
	if (sym->dtype && !value && !(n->flags & AF_QUOTED))
		return (struct cv){.kind = CV_DTYPE, .span = n->span, .u.dtype = sym->dtype};
	b = find_value(e, sym);
	if (b && b->later) {
		bool self = e->in_const == sym;
		elab_error(e, n->span, E_UNDEFINED,
			   self ? "'%s' is the const that stands here: a const uses those above it"
				: "'%s' is a const that stands below: a const uses those above it",
			   sym->s);
		return poison(n->span);
	}
	if (b) {
		struct cv v = binding_cv(b);
		bool scalar = b->kind == CV_VALUE && !b->u.v->type.rank;
		if ((!b->used || (b->unread && scalar)) && sym->dim)
			warn_shadowed_dim(e, b, n->span);
		b->used = true;
		b->unread = false;
		if (v.kind != CV_FLOAT) /* a float keeps the span of its digits */
			v.span = n->span;
		return v;
	}
	b = find_dim(e, sym);
	if (b && !b->is_rest) {
		b->used = true;
		return cv_dim(b->u.d, n->span);
	}
	return (struct cv){.kind = CV_SYM, .span = n->span, .u.sym = sym, .fn = find_fn(e, sym)};
}

static struct cv eval_leaf(struct elab *e, const struct anode *n)
{
	struct cv v = {.span = n->span};

	switch (n->kind) {
	case A_NAME:
		return eval_name(e, n);
	case A_INT:
		v.kind = CV_INT;
		v.neg = n->flags & AF_NEGATIVE && n->u.integer;
		v.u.i = n->u.integer;
		if (v.neg && v.u.i > (uint64_t)INT64_MAX + 1)
			return too_large(e, n->span);
		return v;
	case A_FLOAT:
		v.kind = CV_FLOAT;
		v.u.f = n->u.real;
		return v;
	case A_IMAG:
		v.kind = CV_COMPLEX;
		v.u.f = n->u.real;
		return v;
	case A_STR:
		v.kind = CV_STR;
		v.u.str = n->u.str;
		return v;
	case A_NONE:
		v.kind = CV_NONE;
		return v;
	case A_TRUE:
	case A_FALSE:
		return cv_bool(n->kind == A_TRUE, n->span);
	case A_DATA:
		v.kind = CV_DATA;
		v.u.data = n->u.data;
		return v;
	case A_ELLIPSIS:
		v.kind = CV_ELLIPSIS;
		v.u.sym = n->u.sym;
		return v;
	default:
		elab_error(e, n->span, E_EXPRESSION,
			   "? stands for a dim in a type, not for a value");
		return poison(n->span);
	}
}

/* ---- inner nodes ---- */

static struct cv make_sequence(struct elab *e, enum cv_kind kind, const struct anode *n,
			       const struct cv *items)
{
	struct cv v = {.kind = kind, .span = n->span, .n = n->n};

	v.u.items = new_array(e->cx->arena, struct cv, n->n ? n->n : 1);
	if (n->n)
		memcpy(v.u.items, items, n->n * sizeof(*items));
	for (uint32_t i = 0; i < n->n; i++) {
		bool list = items[i].kind == CV_LIST || items[i].kind == CV_TUPLE;
		uint32_t leaves = list                       ? items[i].leaves
				  : items[i].kind == CV_DATA ? items[i].u.data->count
							     : 1;
		if (items[i].kind == CV_POISON)
			return poison(n->span);
		if (list && items[i].depth >= v.depth)
			v.depth = items[i].depth + 1;
		v.leaves += leaves;
		if (v.leaves > MAX_LEAVES || v.depth > MAX_RANK) {
			elab_error(e, n->span, E_LIMIT,
				   v.depth > MAX_RANK ? "a list nests deeper than %d"
						      : "the list has more than %d elements",
				   v.depth > MAX_RANK ? MAX_RANK : MAX_LEAVES);
			return poison(n->span);
		}
	}
	return v;
}

static struct cv eval_slice(struct elab *e, const struct anode *n, const struct cv *items)
{
	static const int flags[] = {AF_START, AF_STOP, AF_STEP};
	struct cv v = {.kind = CV_SLICE, .span = n->span, .n = 3};
	uint32_t k = 0;

	v.u.items = new_array(e->cx->arena, struct cv, 3);
	for (int i = 0; i < 3; i++) {
		v.u.items[i] = n->flags & flags[i] ? items[k++]
						   : (struct cv){.kind = CV_NONE, .span = n->span};
		if (v.u.items[i].kind == CV_POISON)
			return poison(n->span);
	}
	return v;
}

static struct cv eval_construct(struct elab *e, uint32_t at, struct cv *items)
{
	const struct anode *n = &e->file->nodes.at[at];
	struct sym *sym = n->u.sym;
	enum dtype t = sym->dtype;

	if (has_names(e, at)) {
		refuse_names(e, at);
		return poison(n->span);
	}
	if (!t) {
		struct binding *b = find_value(e, sym);
		if (!b || b->kind != CV_DTYPE) {
			elab_error(e, n->at, E_UNKNOWN_DTYPE, "'%s' is not a dtype here", sym->s);
			return poison(n->span);
		}
		b->used = true;
		t = b->u.cv->u.dtype;
	}
	return elab_construct(e, t, items, n->nprops, n->flags & AF_DIMS || n->nprops,
			      items + n->nprops, n->n - n->nprops, n->span);
}

/* x.T is a transposed; a value has no other attribute, and no methods. */
static struct cv eval_attribute(struct elab *e, uint32_t at, struct cv *items)
{
	const struct anode *n = &e->file->nodes.at[at];
	struct cv *x = &items[0];
	const char *name = n->u.sym->s;

	for (uint32_t i = 0; i < n->n; i++)
		if (items[i].kind == CV_POISON)
			return poison(n->span);
	if (has_names(e, at) && refuse_names(e, at))
		return poison(n->span);
	struct ause *used = NULL; /* m.k of a file; x.T where there is a value x is x transposed */
	if (n->kind == A_ATTRIBUTE && n[-1].kind == A_NAME && !(n[-1].flags & AF_QUOTED) &&
	    (x->kind == CV_SYM || strcmp(name, "T")))
		used = find_alias(e, n[-1].u.sym);
	if (n->kind == A_ATTRIBUTE && !used && !strcmp(name, "T"))
		return all_defined(e, x, 1) ? call_named(e, "Transpose", x, 1, n->span)
					    : poison(n->span);
	if (used)
		return alias_attribute(e, used, n->u.sym, n->span);
	bool module = x->kind == CV_SYM; /* np.pi */
	const char *instead = n->u.sym->dtype ? name
			      : module        ? op_instead(e->cx, name, true)
					      : method_instead(e, at);
	if (module && !instead && !all_defined(e, x, 1))
		return poison(n->span);
	elab_error(e, n->at, module ? E_UNDEFINED : E_EXPRESSION, "%s '%s'%s%s",
		   module                ? "there is no"
		   : n->kind == A_METHOD ? "values have no method"
					 : "values have no attribute",
		   module ? arena_printf(e->cx->arena, "%s.%s", x->u.sym->s, name) : name,
		   instead ? ": write " : "", instead ? instead : "");
	return poison(n->span);
}

static struct cv eval_inner(struct elab *e, uint32_t at, struct cv *items)
{
	const struct anode *n = &e->file->nodes.at[at];

	switch (n->kind) {
	case A_LIST:
		return make_sequence(e, CV_LIST, n, items);
	case A_TUPLE:
		return make_sequence(e, CV_TUPLE, n, items);
	case A_ARROW:
		return make_sequence(e, CV_ARROW, n, items);
	case A_PROP: /* a name may be a word there, but not one with other quotes */
		if (items[0].kind == CV_SYM && operator_in_name(e, items[0].u.sym))
			return all_defined(e, items, 1) ? items[0] : poison(n->span);
		return items[0];
	case A_PAREN:
	case A_NAMED:
		return items[0];
	case A_UNARY:
		return eval_unary(e, n, items);
	case A_BINARY:
		return eval_binary(e, n, items);
	case A_SLICE:
		return eval_slice(e, n, items);
	case A_CALL:
		return eval_call(e, at, items);
	case A_OPREF:
		return eval_opref(e, at, items);
	case A_INDEX:
	case A_SET:
	case A_INC:
		return eval_index(e, at, items);
	case A_ATTRIBUTE:
	case A_METHOD:
		return eval_attribute(e, at, items);
	case A_CONSTRUCT:
		return eval_construct(e, at, items);
	default:
		bug("expression node of kind %u", n->kind);
	}
}

static bool is_leaf(const struct anode *n)
{
	switch (n->kind) {
	case A_NAME:
	case A_INT:
	case A_FLOAT:
	case A_IMAG:
	case A_STR:
	case A_NONE:
	case A_TRUE:
	case A_FALSE:
	case A_DATA:
	case A_ELLIPSIS:
	case A_ANY:
		return true;
	default:
		return false;
	}
}

struct cv eval(struct elab *e, struct expr x)
{
	const uint32_t base = e->stack.len;
	struct cv few[8], *items, result;

	if (e->fors && !e->frame->library)
		e->nested += x.len;
	for (uint32_t i = x.first; i < x.first + x.len; i++) {
		const struct anode *n = &e->file->nodes.at[i];
		if (is_leaf(n)) {
			result = eval_leaf(e, n);
		} else {
			/* copied: calls evaluate other expressions on the same stack */
			items = n->n <= countof(few) ? few
						     : new_array(e->cx->arena, struct cv, n->n);
			e->stack.len -= n->n;
			if (n->n)
				memcpy(items, e->stack.at + e->stack.len, n->n * sizeof(*items));
			result = eval_inner(e, i, items);
		}
		*vec_push(e->cx->arena, &e->stack) = result;
	}
	result = e->stack.at[--e->stack.len];
	if (e->stack.len != base)
		bug("expression stack at %u, expected %u", e->stack.len, base);
	return result;
}
