/*
 * lower.c: the driver. In: the graph of PyTensor's ops, typed. Out: a new graph of ONNX nodes;
 * inputs and outputs have the user's names. The body of an op's row says what becomes of a node:
 * one ONNX node; an expression or a fn of the library, which is expanded and lowered in turn; or
 * what a C function emits. No node is emitted for integers that are known (value->known). Must hold
 * afterwards: each result has the dtype and rank that inference gave it, or bug(). A graph in which
 * the elaborator found mistakes is lowered too, up to MAX_LOOK values, so that the user sees in one
 * run what only lowering refuses.
 */
#include <stdio.h>
#include <string.h>

#include "graph/uses.h"
#include "lower/build.h"
#include "lower/lower.h"
#include "ops/rules.h"

#define MAX_LOOK 200000 /* ONNX values of a graph that has mistakes already */

/*
 * The expanded body of an elementwise op, which the next call takes again if it can. The elaborator
 * asks nothing about floats that are computed but their types and signs. So calls whose arguments
 * agree in these have one body, each node of which is lowered for each call.
 */
#define MAX_SHARED_IN 8
struct expansion {
	struct block *body;
	uint32_t nin;
	struct value *in[MAX_SHARED_IN], *out; /* in: typed values that stand for the arguments */
	uint8_t low_sign[MAX_SHARED_IN];       /* what nonnegative(...) was told of them */
};
struct fast {
	struct fn *body;   /* parsed once */
	enum onnx_id onnx; /* the body is this node on the parameters in their order */
	struct expansion *last;
};

/* Values */

struct value *low(struct build *b, struct value *v)
{
	if (v->lowered)
		return v->lowered;
	if (defining_block(b, v))
		return v;
	if (v->data)
		return low_constant(b, v);
	if (v->known && v->type.rank <= 1) {
		struct value *r = v->type.rank ? dims_vector(b, v->known->at, v->known->n)
					       : dim_value(b, v->known->at[0]);
		return cast(b, r, (enum dtype)v->type.dtype);
	}
	bug("a value of type %s is used before it is lowered", type_str(b->cx, v->type));
}

void set_lowered(struct build *b, struct node *n, uint32_t i, struct value *v)
{
	(void)b;
	n->out[i]->lowered = v;
}

struct value *held_by(struct build *b, struct value *v, struct type t, struct span s)
{
	struct value *r = graph_value(b->cx, t, s);

	r->lowered = v;
	r->data = v->data;
	return r;
}

/* The typed value v cast to t, as a typed value. */
struct value *typed_cast(struct build *b, struct value *v, enum dtype t)
{
	if (v->type.dtype == t)
		return v;
	struct value *r = graph_value(b->cx, type_of(t, v->type.rank, v->type.dims), v->span);
	r->lowered = cast(b, low(b, v), t);
	r->data = r->lowered->data;
	r->known = r->lowered->known;
	return r;
}

static void cast_inputs(struct build *b, struct node *n)
{
	uint32_t first = n->op->cast == CAST_REST;

	if (n->op->cast == CAST_NONE || n->op->cast == CAST_OWN)
		return;
	enum dtype t = (enum dtype)n->out[0]->type.dtype;
	if (n->op->cast == CAST_UPCAST) {
		t = DT_NONE;
		for (uint32_t i = 0; i < n->nin; i++)
			if (n->in[i]) {
				enum dtype x = (enum dtype)n->in[i]->type.dtype;
				t = t ? dtype_upcast(t, x) : x;
			}
	}
	if (n->op->cast == CAST_LINALG)
		t = ty_linalg(b->cx, n);
	t = narrowed(b->cx, n, t);
	for (uint32_t i = first; i < n->nin; i++)
		if (n->in[i])
			n->in[i] = typed_cast(b, n->in[i], t);
}

/* Integers that are known need no nodes: low() makes them where they are used. */
static bool known_result(struct build *b, struct node *n)
{
	struct value *v = n->out[0];

	if (is_call(n, OP_Assert) || is_call(n, OP_CheckAndRaise) || n->as_written ||
	    n->nout != 1 || !v->known || v->type.rank > 1 || v->known->n > MAX_KNOWN)
		return false;
	bool truth = v->type.dtype == DT_BOOL;
	int64_t k;
	if (!truth && v->type.dtype != DT_INT64)
		return false;
	for (uint32_t i = 0; i < v->known->n; i++) {
		dim d = v->known->at[i];
		struct dim_view of = dim_view_as_made(b->cx, d);
		if (!d || !dim_available(b, d) || (truth && !dim_is_const(b->cx, d, &k)))
			return false;
		if (of.form == DIM_ATOM && of.kind == SOURCE_VALUE && of.source == v)
			return false; /* it says what d is: a check compares it with that */
		if (v->known->n > 1 && !dim_is_size(b, d)) /* taking a vector apart costs more */
			return false;
	}
	return true;
}

/* Bodies */

bool lower_inlined(struct build *b, struct block *body, struct value **r, uint32_t nout,
		   struct span span, struct value **out)
{
	b->scope->shared->expanding++;
	bool ok = lower_block(b, body);
	b->scope->shared->expanding--;
	b->span = span;
	for (uint32_t i = 0; i < nout && ok; i++)
		out[i] = low(b, r[i]);
	return ok;
}

bool call_fn(struct build *b, struct fn *f, const struct op *op, struct cv *props,
	     struct value **in, uint32_t nin, struct value **out, uint32_t nout)
{
	struct block *body = block_new(b);
	struct value **r = new_array(b->cx->arena, struct value *, nout);
	struct span span = b->span;

	if (!expand_fn(b->cx, body, f, op, props, in, nin, r, nout, span)) {
		b->scope->shared->failed = true;
		return false;
	}
	return lower_inlined(b, body, r, nout, span, out);
}

bool lower_as(struct build *b, const struct op *op, struct cv *props, struct value **in,
	      uint32_t nin, struct value **out, uint32_t nout)
{
	struct block *body = block_new(b);
	uint32_t before = b->cx->errors;
	struct span span = b->span;
	struct node *n = graph_node(b->cx, body, op, props, in, nin, span);

	if (b->cx->errors > before) {
		b->scope->shared->failed = true;
		return false;
	}
	return lower_inlined(b, body, n->out, nout, span, out);
}

static bool lower_node(struct build *b, struct node *n);

static struct fast *body_of(struct build *b, const struct op *op)
{
	struct shared *s = b->scope->shared;

	if (op < op_table || op >= op_table + op_count)
		bug("%s is no op of the table", op->name);
	if (!s->fast)
		s->fast = new_array(b->cx->arena, struct fast, op_count);
	struct fast *f = &s->fast[op - op_table];
	if (!f->body) {
		f->body = op_body(b->cx, op);
		f->onnx = op->onnx ? fn_as_node(f->body) : ONNX_NONE;
	}
	return f;
}

/* Ops of the form "a b*" fold their body over all arguments. */
bool is_variadic(struct ctx *cx, const struct op *op)
{
	const struct op_sig *sig = op_sig(cx, op);

	return sig->ninputs == 2 && sig->inputs[1].repeat == '*';
}

static bool lower_fast(struct build *b, struct node *n, enum onnx_id onnx)
{
	struct value *in[8] = {low(b, n->in[0])};

	if (onnx == ONNX_Identity || (n->nin == 1 && is_variadic(b->cx, n->op))) {
		set_lowered(b, n, 0, in[0]);
		return true;
	}
	if (is_variadic(b->cx, n->op)) {
		for (uint32_t i = 1; i < n->nin; i++)
			in[0] = emit_(b, onnx, in[0], low(b, n->in[i]));
		set_lowered(b, n, 0, in[0]);
		return true;
	}
	for (uint32_t i = 1; i < n->nin; i++)
		in[i] = n->in[i] ? low(b, n->in[i]) : NULL;
	set_lowered(b, n, 0, emit(b, onnx, in, n->nin));
	return true;
}

/* Numbers of several dtypes: NumPy promotes two by two, from the left (int8 + int8 + int64). */
static bool lower_mixed(struct build *b, struct node *n, enum onnx_id onnx)
{
	enum dtype t = (enum dtype)n->in[0]->type.dtype;
	struct value *r = low(b, n->in[0]);

	for (uint32_t i = 1; i < n->nin; i++) {
		t = narrowed(b->cx, n, dtype_upcast(t, (enum dtype)n->in[i]->type.dtype));
		r = cast(b, r, t);
		r = emit_(b, onnx, r, cast(b, low(b, n->in[i]), t));
	}
	set_lowered(b, n, 0, cast(b, r, (enum dtype)n->out[0]->type.dtype));
	return true;
}

static bool is_mixed(struct build *b, const struct node *n)
{
	if (n->nin <= 2 || n->op->cast != CAST_RESULT || !n->op->onnx || !is_variadic(b->cx, n->op))
		return false;
	for (uint32_t i = 1; i < n->nin; i++)
		if (n->in[i]->type.dtype != n->in[0]->type.dtype)
			return true;
	return false;
}

/*
 * int64 with uint64, exactly: the bits of the unsigned one as int64 compare right unless they are
 * negative, and then it is the larger one whatever the other is.
 */
static bool lower_mixed_compare(struct build *b, struct node *n)
{
	static const struct {
		enum op_id op, turned; /* `a op c` is `c turned a`: a < c is c > a */
		enum onnx_id onnx;
		bool not,
			if_larger; /* the result where the unsigned right side is the larger one */
	} all[] = {
		{OP_Eq, OP_Eq, ONNX_Equal, false, false},
		{OP_Neq, OP_Neq, ONNX_Equal, true, true},
		{OP_Lt, OP_Gt, ONNX_Less, false, true},
		{OP_Le, OP_Ge, ONNX_LessOrEqual, false, true},
		{OP_Gt, OP_Lt, ONNX_Greater, false, false},
		{OP_Ge, OP_Le, ONNX_GreaterOrEqual, false, false},
	};
	bool turn = n->in[0]->type.dtype == DT_UINT64;
	struct value *s = low(b, n->in[turn]), *u = cast(b, low(b, n->in[!turn]), DT_INT64);
	size_t i = 0;

	while (n->op != &op_table[turn ? all[i].turned : all[i].op])
		i++;
	struct value *r = emit_(b, all[i].onnx, s, u);
	r = all[i].not ? emit_(b, ONNX_Not, r) : r;
	if (all[i].if_larger)
		r = emit_(b, ONNX_Or, r, emit_(b, ONNX_Less, u, const_int(b, 0)));
	else
		r = emit_(b, ONNX_And, r, emit_(b, ONNX_GreaterOrEqual, u, const_int(b, 0)));
	set_lowered(b, n, 0, r);
	return true;
}

/* A body of several nodes computes in float32, as NumPy does for float16, and is rounded at its
 * end. */
static void widen_half(struct build *b, struct node *n)
{
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && n->in[i]->type.dtype == DT_FLOAT16)
			n->in[i] = typed_cast(b, n->in[i], DT_FLOAT32);
}

/* May what n becomes depend on more than the types and signs of its arguments? */
static bool by_types_alone(struct build *b, const struct node *n)
{
	bool plain = n->op->shape == sh_broadcast && n->nout == 1 && n->nin <= MAX_SHARED_IN &&
		     !op_sig(b->cx, n->op)->nprops;

	for (uint32_t i = 0; i < n->nin && plain; i++) {
		const struct value *v = n->in[i];
		plain = v && !v->data && !v->known && is_float((enum dtype)v->type.dtype);
	}
	return plain;
}

static bool fits(struct build *b, const struct expansion *x, const struct node *n)
{
	bool same = x->nin == n->nin;

	for (uint32_t i = 0; i < n->nin && same; i++) {
		const struct type *t = &x->in[i]->type, *u = &n->in[i]->type;
		same = t->dtype == u->dtype && t->rank == u->rank &&
		       (!t->rank || !memcmp(t->dims, u->dims, t->rank * sizeof(dim))) &&
		       x->in[i]->sign == n->in[i]->sign &&
		       x->low_sign[i] == sign_of(low(b, n->in[i]));
	}
	return same;
}

/* Is d a length of an argument? Then the next call has it, too. */
static bool is_argument_length(struct build *b, const struct expansion *x, dim d)
{
	int64_t k;
	bool found = dim_is_const(b->cx, d, &k);

	for (uint32_t i = 0; i < x->nin; i++)
		for (uint32_t j = 0; j < x->in[i]->type.rank; j++)
			found |= x->in[i]->type.dims[j] == d;
	return found;
}

/* Can the nodes of the body be lowered again? Then they are in no inner block and know no lengths
 * of their own. */
static bool is_lasting(struct build *b, const struct expansion *x)
{
	bool lasting = true;

	for (const struct node *n = x->body->first; n && lasting; n = n->next) {
		lasting = n->op != &op_loop && n->op != &op_if && n->nin <= MAX_SHARED_IN;
		for (uint32_t i = 0; i < n->nout; i++) {
			const struct value *v = n->out[i];
			lasting &= !v->known;
			for (uint32_t j = 0; j < v->type.rank; j++)
				lasting &= is_argument_length(b, x, v->type.dims[j]);
		}
	}
	return lasting;
}

static struct expansion *expand_body(struct build *b, const struct node *n, struct fn *f)
{
	struct expansion *x = new (b->cx->arena, struct expansion);

	x->body = block_new(b);
	x->nin = n->nin;
	for (uint32_t i = 0; i < n->nin; i++) {
		x->in[i] = held_by(b, low(b, n->in[i]), n->in[i]->type, b->span);
		x->in[i]->sign = n->in[i]->sign;
		x->low_sign[i] = sign_of(x->in[i]->lowered);
	}
	if (expand_fn(b->cx, x->body, f, n->op, n->props, x->in, n->nin, &x->out, 1, b->span))
		return x;
	b->scope->shared->failed = true;
	return NULL;
}

/* Lowers the nodes of x for n. They stay as they are, but for what holds their results. */
static bool lower_expansion(struct build *b, struct expansion *x, const struct node *n,
			    struct value **out)
{
	struct value *in[MAX_SHARED_IN];
	struct span span = b->span;
	bool ok = true;

	for (uint32_t i = 0; i < n->nin; i++)
		x->in[i]->lowered = low(b, n->in[i]);
	b->scope->shared->expanding++;
	for (const struct node *m = x->body->first; m; m = m->next) {
		struct node copy = *m;
		copy.in = memcpy(in, m->in, m->nin * sizeof(*in));
		for (uint32_t i = 0; i < m->nout; i++)
			m->out[i]->lowered = NULL;
		ok &= lower_node(b, &copy);
	}
	b->scope->shared->expanding--;
	b->span = span;
	if (ok)
		*out = low(b, x->out);
	return ok;
}

/* A call of one result that depends on the types and signs of its arguments alone */
static bool call_again(struct build *b, const struct node *n, struct value **out)
{
	struct fast *f = body_of(b, n->op);
	struct expansion *x = f->last;

	if (x && fits(b, x, n))
		return lower_expansion(b, x, n, out);
	x = expand_body(b, n, f->body);
	if (!x)
		return false;
	if (!is_lasting(b, x))
		return lower_inlined(b, x->body, &x->out, 1, b->span, out);
	f->last = x;
	return lower_expansion(b, x, n, out);
}

static bool lower_fn_body(struct build *b, struct node *n, struct fn *f)
{
	struct value **out = new_array(b->cx->scratch, struct value *, n->nout);

	if (!b->cx->opt.excess_precision)
		widen_half(b, n);
	if (is_variadic(b->cx, n->op)) {
		out[0] = low(b, n->in[0]);
		for (uint32_t i = 1; i < n->nin; i++)
			if (!call_fn(b, f, n->op, n->props, (struct value *[]){out[0], n->in[i]}, 2,
				     out, 1))
				return false;
	} else if (by_types_alone(b, n)) {
		if (!call_again(b, n, out))
			return false;
	} else if (!call_fn(b, f, n->op, n->props, n->in, n->nin, out, n->nout)) {
		return false;
	}
	for (uint32_t i = 0; i < n->nout; i++) {
		struct value *r =
			n->out[i]->type.dtype == DT_FLOAT16 ? cast(b, out[i], DT_FLOAT16) : out[i];
		r->sign |= n->op->sign;
		set_lowered(b, n, i, r);
	}
	return true;
}

static bool lower_raw(struct build *b, struct node *n)
{
	struct value **in = new_array(b->cx->scratch, struct value *, n->nin + 1);
	struct value **out = new_array(b->cx->scratch, struct value *, n->nout);

	for (uint32_t i = 0; i < n->nin; i++)
		in[i] = n->in[i] ? low(b, n->in[i]) : NULL;
	emit_like(b, n, in, out);
	for (uint32_t i = 0; i < n->nout; i++)
		set_lowered(b, n, i, out[i]);
	return true;
}

lower_fn_t *lowering_of(struct build *b, const struct op *op)
{
	if (op >= op_table && op < op_table + op_count)
		return b->scope->shared->of_op[op - op_table].lower;
	return op == &op_loop ? lower_loop : op == &op_if ? lower_if : NULL;
}

/* The operator that is op by itself, if the target has the function: see onnx/own.def. */
static const enum onnx_id functions[OP_COUNT] = {
#define OWN(op, inputs, function)              [OP_##op] = ONNX_c_##op,
#define SAME(op, operator)                     [OP_##op] = ONNX_##operator,
#define ROUTINE(op, inputs, types, put, shape) [OP_##op] = ONNX_c_##op,
#include "onnx/own.def"
};

/* One node instead of a body. false: the target has no such function, or not for these dtypes. */
static bool lower_function(struct build *b, struct node *n)
{
	bool of_table = n->op >= op_table && n->op < op_table + op_count;
	enum onnx_id id = of_table ? functions[n->op - op_table] : ONNX_NONE;
	struct value *in[4];

	if (id == ONNX_NONE)
		return false;
	enum dtype t = (enum dtype)n->in[n->nin - 1]->type.dtype; /* of the inputs that are cast */
	if (!find_function(b->cx, id, t, n->nin))
		return false;
	for (uint32_t i = 0; i < n->nin; i++)
		in[i] = cast(b, low(b, n->in[i]), t);
	bool solves = id == ONNX_c_SolveTriangular;
	bool vector = solves && prop_int(b->cx, n, "b_ndim") == 1;
	if (vector)
		in[1] = unsqueeze(b, in[1], (int64_t[]){in[1]->type.rank}, 1);
	if (solves || id == ONNX_c_Cholesky)
		attr_int(b, "lower", prop_bool(b->cx, n, "lower"));
	if (solves)
		attr_int(b, "unit", prop_bool(b->cx, n, "unit_diagonal"));
	struct value *r = emit(b, id, in, n->nin);
	if (vector)
		r = squeeze(b, r, (int64_t[]){r->type.rank - 1}, 1);
	r->sign |= n->op->sign;
	set_lowered(b, n, 0, r);
	return true;
}

bool lower_typed(struct build *b, struct node *n)
{
	if (n->op == &op_dim) {
		set_lowered(b, n, 0, dim_value(b, n->props[0].u.d));
		return true;
	}
	if (n->op->unsupported) {
		if (n != b->scope->shared->at) /* the user's own were refused by call_op() */
			unsupported(b, "%s", n->op->unsupported);
		return !(b->scope->shared->failed = true);
	}
	if (n->op == &op_onnx)
		return lower_raw(b, n);
	if (compares_beyond_float64(n))
		return lower_mixed_compare(b, n);
	if (is_mixed(b, n) && body_of(b, n->op)->onnx)
		return lower_mixed(b, n, body_of(b, n->op)->onnx);
	cast_inputs(b, n);
	if (lower_function(b, n))
		return true;
	lower_fn_t *lowering = lowering_of(b, n->op);
	if (lowering)
		return lowering(b, n);
	const struct fast *f = body_of(b, n->op);
	return f->onnx ? lower_fast(b, n, f->onnx) : lower_fn_body(b, n, f->body);
}

/* Lengths that an equation further on made known: what it says may be what this never gives. In the
 * body of a loop that could not be lowered, dims are not known at all. */
void check_lengths(struct build *b, const struct node *n, const struct value *made, const dim *dims)
{
	int64_t k, m;

	if (b->cx->errors)
		return; /* `made` may be any value */
	for (uint32_t i = 0; i < made->type.rank; i++)
		if (dims[i] != DIM_NONE && dim_is_const(b->cx, dims[i], &k) &&
		    dim_is_const(b->cx, made->type.dims[i], &m) && k != m)
			error(b->cx, n->span, E_SHAPE,
			      "%s: axis %u has length %lld, but another use of it needs length "
			      "%lld",
			      n->op->name, i, (long long)m, (long long)k);
}

/* Names, places and dims go over to the ONNX values; what was promised is checked. */
static void finish(struct build *b, struct node *n)
{
	struct shared *s = b->scope->shared;

	for (uint32_t i = 0; i < n->nout; i++) {
		struct value *t = n->out[i], *v = t->lowered;
		struct type type = t->type;
		if (!v)
			bug("%s: result %u was not lowered", n->op->name, i);
		if (!t->type.dtype)
			continue;
		if (b->cx->narrow && type.dtype == dtype_narrow((enum dtype)v->type.dtype))
			t->lowered = v = cast(b, v, (enum dtype)type.dtype);
		if (v->type.dtype != type.dtype || v->type.rank != type.rank)
			bug("%s: result %u should be %s but is %s", n->op->name, i,
			    type_str(b->cx, type), type_str(b->cx, v->type));
		check_lengths(b, n, v, type.dims);
		if (v->def && !v->name && !s->expanding) {
			with_dims(v, type.dims);
			v->span = t->span;
			name_value(b, v, t->name);
		}
		dims_record(b, t);
	}
}

/* What it gives is not read, but there may be other mistakes in its blocks. */
static bool lower_poisoned(struct build *b, struct node *n)
{
	for_bodies (k, n)
		lower_lost(b, k);
	for (uint32_t i = 0; i < n->nout; i++)
		if (n->out[i]->type.dtype)
			n->out[i]->lowered = dummy(b, n->out[i]->type);
	return !(b->scope->shared->failed = true);
}

static bool lower_node(struct build *b, struct node *n)
{
	struct shared *s = b->scope->shared;

	if (b->cx->errors && is_poisoned(n))
		return lower_poisoned(b, n);
	if (!s->expanding) {
		b->span = n->span;
		s->at = n;
		s->failed = false;
	}
	if (known_result(b, n))
		return true;
	bool ok = !s->failed && lower_typed(b, n) && !s->failed;
	if (!ok && !s->failed)
		bug("%s: the lowering failed without a message", n->op->name);
	if (ok) {
		finish(b, n);
		return true;
	}
	b->nattrs = 0;
	for (uint32_t i = 0; i < n->nout; i++)
		n->out[i]->lowered = dummy(b, n->out[i]->type);
	return false;
}

bool lower_block(struct build *b, struct block *from)
{
	bool ok = true;

	for (struct node *n = from->first; n; n = n->next) {
		if (!b->scope->shared->expanding && b->cx->next_id > b->scope->shared->enough)
			return false;
		if (!n->dead)
			ok &= lower_node(b, n);
	}
	return ok;
}

/* The graph */

static void lower_params(struct build *b, struct graph *from, struct graph *to)
{
	for (uint32_t i = 0; i < from->states.len; i++) {
		const struct state *s = &from->states.at[i];
		if (!s->next && s->init && s->init->data) /* never updated: a constant */
			s->param->lowered = const_unshared(b, s->init->data);
	}
	for (uint32_t i = 0; i < from->block->params.len; i++) {
		struct value *p = from->block->params.at[i];
		if (!p->type.dtype) { /* its type is wrong, which was reported */
			b->scope->shared->param_lost = true;
			continue;
		}
		b->span = p->span;
		if (!p->lowered)
			p->lowered = block_param(b, to->block, p->type);
		p->lowered->known = p->known;
		p->lowered->name = p->name; /* an output of that name is this very value */
		dims_record(b, p);
	}
	for (uint32_t i = 0; i < from->states.len; i++)
		if (!from->states.at[i].param->lowered->data)
			vec_push(b->cx->arena, &to->states)->param =
				from->states.at[i].param->lowered;
}

static bool is_output(const struct build *b, const struct value *v)
{
	struct probe p = {.hash = hash_id(v)};
	while (hash_next(&b->scope->shared->outputs, &p))
		if (p.number == v->id)
			return true;
	return false;
}

/* Output of the given name: a value of its own, which nothing else is called for. */
static struct value *output(struct build *b, struct graph *to, struct value *t, struct sym *name)
{
	b->span = t->span;
	struct value *v = low(b, t);
	if ((!v->def && v->name != name) || v->data || is_output(b, v))
		v = identity(b, v);
	v->name = name;
	if (v->def)
		with_dims(v, t->type.dims);
	hash_add(b->cx->arena, &b->scope->shared->outputs, hash_id(v), v->id);
	add_result(b->cx, to->block, to->block->results.len, v);
	return v;
}

static void lower_results(struct build *b, struct graph *from, struct graph *to)
{
	b->scope->shared->at = NULL;
	for (uint32_t i = 0; i < from->block->results.len; i++)
		output(b, to, from->block->results.at[i], from->block->results.at[i]->name);
}

/* The name of the output that holds the next value of a state. */
static struct sym *next_name(struct build *b, const struct state *s)
{
	return intern_str(b->cx, arena_printf(b->cx->arena, "%s.next", s->param->name->s));
}

/* The next values of states are outputs behind the others. */
static void lower_states(struct build *b, struct graph *from, struct graph *to)
{
	struct state *t = to->states.at;

	for (uint32_t i = 0; i < from->states.len; i++) {
		struct state *s = &from->states.at[i];
		if (s->param->lowered->data)
			continue;
		t->init = s->init ? low(b, s->init) : NULL;
		t->next = s->next ? output(b, to, s->next, next_name(b, s)) : NULL;
		t++;
	}
}

/* Names of inputs and outputs, which no other value gets. */
static void take_outputs(struct build *b, struct graph *g)
{
	for (uint32_t i = 0; i < g->block->results.len; i++)
		take_name(b, g->block->results.at[i]->name);
	for (uint32_t i = 0; i < g->block->params.len; i++)
		take_name(b, g->block->params.at[i]->name);
	for (uint32_t i = 0; i < g->states.len; i++) {
		struct state *s = &g->states.at[i];
		struct sym *name = s->next ? next_name(b, s) : NULL;
		if (s->next && !take_name(b, name))
			error(b->cx, s->param->span, E_DUPLICATE,
			      "the next value of the state '%s' is an output called '%s', but "
			      "another input or output has this name",
			      s->param->name->s, name->s);
	}
}

struct graph *lower(struct ctx *cx, struct graph *g, const struct lowering *of_op,
		    const struct emit_rules *rules)
{
	struct build b = build_at(cx, NULL, NULL);
	struct graph *to = new (cx->arena, struct graph);
	uint32_t before = cx->errors;
	bool wrong = cx->errors > cx->refused; /* there are mistakes, not only refused ops */

	b.rules = rules;
	to->name = g->name;
	to->block = block_new(&b);
	scope_open(&b, to->block);
	b.scope->shared = new (cx->arena, struct shared);
	b.scope->shared->from = g;
	b.scope->shared->names = to->names = new (cx->arena, struct given_names);
	b.scope->shared->of_op = of_op;
	b.scope->shared->enough = wrong ? cx->next_id + MAX_LOOK : UINT32_MAX;
	record_lengths(&b, g, to);
	take_outputs(&b, g);
	lower_params(&b, g, to);
	lower_block(&b, g->block);
	if (wrong)
		return NULL;
	lower_results(&b, g, to);
	lower_states(&b, g, to);
	finish_checks(&b, to);
	return cx->errors > before ? NULL : to;
}
