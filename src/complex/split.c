/*
 * split.c: complex numbers become pairs of real ones. In: the typed graph. Out: the same graph, in
 * which every op on complex numbers is replaced by ops on their real and imaginary parts, as its
 * row's .complex says: by itself on each part, by a fn of lib/, or by a rule of rules.c.
 * Inputs, outputs, states and files hold both parts along one more axis at the end, of length 2, as
 * NumPy lays complex numbers out. A real argument beside complex ones has the imaginary part +0, as
 * in NumPy.
 *
 * A complex value stays in the graph as its real part, because sizes may be read from it. Types
 * change at the end of the pass: until then, ops on complex numbers are inferred, and named in
 * messages, as the user wrote them.
 */
#include <string.h>

#include "complex/complex.h"
#include "complex/internal.h"
#include "ops/rules.h"

struct type part_type(struct type t)
{
	if (is_complex((enum dtype)t.dtype))
		t.dtype = t.dtype == DT_COMPLEX64 ? DT_FLOAT32 : DT_FLOAT64;
	return t;
}

struct type whole_type(struct ctx *cx, struct type t)
{
	dim *dims = new_array(cx->arena, dim, t.rank + 1u);

	if (t.rank)
		memcpy(dims, t.dims, t.rank * sizeof(dim));
	dims[t.rank] = dim_const(cx, 2);
	return (struct type){part_type(t).dtype, (uint8_t)(t.rank + 1), dims};
}

bool has_complex_input(const struct node *n)
{
	for (uint32_t i = 0; i < n->nin; i++)
		if (is_complex_value(n->in[i]))
			return true;
	return false;
}

static bool has_complex(const struct node *n)
{
	for (uint32_t i = 0; i < n->nout; i++)
		if (is_complex_value(n->out[i]))
			return true;
	return has_complex_input(n);
}

/* ---- nodes ---- */

void add_node(struct split *p, const struct op *op, struct cv *props, struct value **in,
	      uint32_t nin, struct value **out, uint32_t nout)
{
	struct node *n = node_new(p->cx, op, p->span);

	n->props = props;
	node_inputs(p->cx, n, in, nin);
	n->out = memcpy(new_array(p->cx->arena, struct value *, nout + 1), out, nout * sizeof(*in));
	n->nout = (uint16_t)nout;
	for (uint32_t i = 0; i < nout; i++)
		out[i]->def = n;
	graph_append(p->block, n);
}

static void stretch_to(struct split *p, struct value *r, struct value *to);

/* r as `to`: in its dtype, and in its dims, to which r is stretched if the op broadcasts */
static struct value *as_value(struct split *p, struct value *r, struct value *to, bool stretch)
{
	struct cv *props = NULL;
	enum op_id op = OP_Identity;

	if (stretch && !same_dims(p->cx, r->type, to->type)) {
		stretch_to(p, r, to);
		return to;
	}
	if (r->type.dtype != to->type.dtype && !is_complex_value(to)) {
		op = OP_Cast;
		props = new (p->cx->arena, struct cv);
		*props = (struct cv){.kind = CV_DTYPE, .u.dtype = (enum dtype)to->type.dtype};
	}
	add_node(p, &op_table[op], props, &r, 1, &to, 1);
	return to;
}

/* Makes `to` of r by broadcasting, and in its dtype. */
static void stretch_to(struct split *p, struct value *r, struct value *to)
{
	struct value *in[MAX_RANK + 1] = {r};
	struct type t = {to->type.dtype, r->type.rank, r->type.dims};

	if (r->type.dtype != t.dtype && !is_complex_value(to))
		in[0] = as_value(p, r, graph_value(p->cx, t, r->span), false);
	for (uint32_t i = 0; i < to->type.rank; i++) {
		struct cv *size = new (p->cx->arena, struct cv);
		*size = (struct cv){.kind = CV_DIM, .u.d = to->type.dims[i]};
		in[i + 1] = graph_node(p->cx, p->block, &op_dim, size, NULL, 0, p->span)->out[0];
	}
	add_node(p, &op_table[OP_Alloc], NULL, in, 1 + to->type.rank, &to, 1);
}

static struct value *as_type(struct split *p, struct value *r, struct type t, bool stretch)
{
	if (same_type(p->cx, &r->type, &t))
		return r;
	return as_value(p, r, graph_value(p->cx, t, r->span), stretch);
}

struct value *constant(struct split *p, enum dtype t, double re, double im)
{
	struct tensor *x = tensor_new(p->cx, t, 0, NULL);
	double *data = new_array(p->cx->arena, double, 2);
	struct type real = part_type((struct type){(uint8_t)t, 0, NULL});

	tensor_convert((enum dtype)real.dtype, data, DT_FLOAT64, (double[]){re, im}, 2);
	x->data = data;
	return graph_constant(p->cx, x, p->span);
}

/* ---- parts ---- */

/* A new entry has no parts yet. */
static struct parts *parts_of(struct split *p, struct value *v)
{
	struct probe at = {.hash = v->id * UINT32_C(0x9e3779b1)};
	struct parts *x;

	while (hash_next(&p->table, &at))
		if (p->parts.at[at.number]->of == v)
			return p->parts.at[at.number];
	*vec_push(p->cx->scratch, &p->parts) = x = new (p->cx->scratch, struct parts);
	hash_add(p->cx->scratch, &p->table, at.hash, p->parts.len - 1);
	x->of = v;
	return x;
}

void set_parts(struct split *p, struct value *v, struct value *re, struct value *im)
{
	bool stretch = v->def && v->def->op->shape == sh_broadcast;
	struct parts *x = parts_of(p, v);

	x->part[0] = as_type(p, re, part_type(v->type), stretch);
	x->part[1] = as_type(p, im, part_type(v->type), stretch);
	as_value(p, x->part[0], v, false);
}

void set_value(struct split *p, struct value *v, struct value *r)
{
	if (!is_complex_value(v)) {
		as_value(p, r, v, v->def->op->shape == sh_broadcast);
		return;
	}
	struct value *im = part(p, r, 1), *re = part(p, r, 0);
	set_parts(p, v, re, im);
}

void set_whole(struct split *p, struct value *v, struct value *pair)
{
	struct value *out[2];

	parts_of(p, v)->whole = pair;
	call_lib(p, "_Cparts_of", NULL, &pair, 1, out, 2);
	set_parts(p, v, out[0], out[1]);
}

/* An input of the most dims that there can be can only be passed on, and there is no such output.
 */
NORETURN static void no_axis_left(struct split *p, const struct value *v, const char *where)
{
	if (v->type.rank < MAX_RANK)
		bug("a value of type %s is used before it is split", type_str(p->cx, v->type));
	error(p->cx, p->span, E_UNSUPPORTED, "%s: complex inputs and outputs have at most %d dims",
	      where, MAX_RANK - 1);
	stop(p->cx);
}

/* A constant of every second number of v, from number i on, or of all, along one more axis */
static struct value *constant_of(struct split *p, struct value *v, uint32_t i, bool whole)
{
	const struct tensor *from = v->data;
	struct type t = part_type(v->type);
	int64_t shape[MAX_RANK + 1];
	size_t size = dtypes[t.dtype].size, copied = whole ? 2 * size : size;

	memcpy(shape, from->shape, from->rank * sizeof(int64_t));
	shape[from->rank] = 2;
	struct tensor *x = tensor_new(p->cx, (enum dtype)t.dtype, from->rank + whole, shape);
	x->splat = from->splat && !whole;
	x->data = from->data;
	if (!whole || from->splat) {
		uint64_t count = whole ? from->count : stored_elements(from);
		char *to = arena_alloc(p->cx->arena, mul_size(p->cx->arena, count + 1, copied));
		for (uint64_t k = 0; k < count; k++)
			memcpy(to + k * copied, (const char *)tensor_element(from, k) + i * size,
			       copied);
		x->data = to;
	}
	struct value *r = graph_constant(p->cx, x, v->span);
	if (whole) {
		x->name = from->name;
		r->name = v->name;
	}
	return r;
}

struct value *part(struct split *p, struct value *v, uint32_t i)
{
	struct parts *x = parts_of(p, v);
	bool weight = v->data && v->name && v->data->name && v->type.rank < MAX_RANK;

	if (x->part[i])
		return x->part[i];
	if (!v->data)
		no_axis_left(p, v, call_label(p->cx, p->user));
	if (!weight)
		return x->part[i] = constant_of(p, v, i, false);
	struct value *pair = whole(p, v), *out[2]; /* it is taken apart where it is used */
	call_lib(p, "_Cparts_of", NULL, &pair, 1, out, 2);
	return out[i];
}

struct value *whole(struct split *p, struct value *v)
{
	struct parts *x = parts_of(p, v);
	struct value *in[2], *r;

	if (!x->whole && v->data && !v->data->splat)
		x->whole = constant_of(p, v, 0, true);
	if (x->whole)
		return x->whole;
	if (v->type.rank == MAX_RANK)
		no_axis_left(p, v, type_str(p->cx, v->type));
	for (uint32_t i = 0; i < 2; i++)
		in[i] = part(p, v, i);
	call_lib(p, "_Cwhole", NULL, in, 2, &r, 1);
	return r;
}

/* ---- blocks ---- */

static void split_nodes(struct split *p, struct node *nodes);

struct block *open_body(struct split *p)
{
	struct block *body = new (p->cx->arena, struct block);

	body->outer = p->block;
	body->depth = p->block->depth;
	return body;
}

void close_body(struct split *p, struct block *body)
{
	p->inside++;
	split_nodes(p, take_nodes(body));
	p->inside--;
}

/* A list of values with two parts in the place of each complex one; `defined`: the list is what
 * gives them their values. */
static struct value **split_list(struct split *p, struct value **v, uint32_t n, uint32_t *count,
				 bool defined)
{
	struct value **out = new_array(p->cx->arena, struct value *, 2u * n + 1);
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!is_complex_value(v[i])) {
			out[k++] = v[i];
			continue;
		}
		for (uint32_t j = 0; j < 2; j++)
			out[k + j] = defined ? graph_value(p->cx, part_type(v[i]->type), v[i]->span)
					     : part(p, v[i], j);
		if (defined)
			set_parts(p, v[i], out[k], out[k + 1]);
		k += 2;
	}
	if (k > UINT16_MAX) {
		error(p->cx, p->span, E_LIMIT, "%u values: at most %d are possible", k, UINT16_MAX);
		stop(p->cx);
	}
	*count = k;
	return out;
}

void split_block(struct split *p, struct block *k)
{
	struct block *outer = p->block;
	struct node *nodes = take_nodes(k);
	const struct node *user = p->user;

	p->block = k;
	k->params.at = split_list(p, k->params.at, k->params.len, &k->params.len, true);
	k->params.cap = k->params.len;
	split_nodes(p, nodes);
	k->results.at = split_list(p, k->results.at, k->results.len, &k->results.len, false);
	k->results.cap = k->results.len;
	p->block = outer;
	p->user = user;
	p->span = user->span;
}

void split_control(struct split *p, struct node *n)
{
	uint32_t count;

	n->in = split_list(p, n->in, n->nin, &count, false);
	n->nin = (uint16_t)count;
	graph_append(p->block, n);
	n->out = split_list(p, n->out, n->nout, &count, true);
	n->nout = (uint16_t)count;
	for (uint32_t i = 0; i < count; i++)
		n->out[i]->def = n;
}

/* A node that was reported: lowering knows it by a poisoned result. Complex results get parts that
 * lowering can look at. */
static void append_poisoned(struct split *p, struct node *n)
{
	struct value **out = new_array(p->cx->arena, struct value *, 3u * n->nout + 1);
	uint32_t k = n->nout;

	if (k)
		memcpy(out, n->out, k * sizeof(*out));
	for (uint32_t i = 0; i < n->nout; i++)
		for (uint32_t j = 0; j < 2 && is_complex_value(out[i]); j++) {
			out[k] = graph_value(p->cx, part_type(out[i]->type), n->span);
			parts_of(p, out[i])->part[j] = out[k++];
		}
	out[k++] = graph_value(p->cx, (struct type){0}, n->span);
	n->out = out;
	n->nout = (uint16_t)k;
	graph_append(p->block, n);
}

bool refuse(struct split *p, struct node *n, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	const char *why = arena_vprintf(p->cx->arena, fmt, ap);
	va_end(ap);
	error(p->cx, p->user->span, E_UNSUPPORTED, "%s: %s", call_label(p->cx, p->user), why);
	append_poisoned(p, n);
	return true;
}

/* ---- ops ---- */

/* Is argument i a number, which may be complex, and not a length, an index or a condition? */
static bool is_any_number(struct split *p, const struct node *n, const struct fn *f, uint32_t i)
{
	const struct op_sig *sig = op_sig(p->cx, n->op);
	const char *name = sig->inputs[i < sig->ninputs ? i : sig->ninputs - 1].name->s, *s;

	if (n->op->cast != CAST_NONE)
		return i > 0 || n->op->cast != CAST_REST;
	if (f) /* those that have two parameters, which are the first ones */
		return i + sig->ninputs < fn_params(f);
	if (!i && is_complex_value(n->in[0]))
		return true;
	for (s = strchr(n->op->complex, ' '); s; s = strchr(s + 1, ' '))
		if (!strncmp(s + 1, name, strlen(name)) && strchr(" ", s[strlen(name) + 1]))
			return true;
	return false;
}

/* +0 for the real argument v: one number that broadcasts where the op of n does, else as many as
 * are needed. */
static struct value *no_imaginary(struct split *p, const struct node *n, struct value *v,
				  enum dtype t)
{
	bool broadcasts = n->op->shape == sh_broadcast;
	struct type type = {(uint8_t)t, v->type.rank, v->type.dims};
	int64_t ones[MAX_RANK];

	for (uint32_t i = 0; i < type.rank; i++)
		ones[i] = 1;
	struct tensor *x = tensor_new(p->cx, t, broadcasts ? type.rank : 0, ones);
	x->data = new (p->cx->arena, double);
	struct value *zero = graph_constant(p->cx, x, v->span);
	return broadcasts ? zero : as_value(p, zero, graph_value(p->cx, type, v->span), true);
}

void each_part(struct split *p, struct node *n)
{
	uint32_t count = op_sig(p->cx, n->op)->nprops;
	struct value **in = new_array(p->cx->arena, struct value *, n->nin + 1u);
	struct value **out = new_array(p->cx->arena, struct value *, 2u * n->nout);
	struct cv *props = new_array(p->cx->arena, struct cv, count + 1);
	bool real = !has_complex_input(n); /* a sum that is asked for as a complex one */

	for (uint32_t i = 0; i < count; i++) {
		props[i] = n->props[i];
		if (props[i].kind == CV_DTYPE) {
			struct type t = {(uint8_t)props[i].u.dtype, 0, NULL};
			props[i].u.dtype = (enum dtype)part_type(t).dtype;
		}
	}
	for (uint32_t k = 0; k < (real ? 1 : 2); k++) {
		for (uint32_t i = 0; i < n->nout; i++)
			out[k * n->nout + i] =
				graph_value(p->cx, part_type(n->out[i]->type), n->span);
		for (uint32_t i = 0; i < n->nin; i++) {
			struct value *v = n->in[i];
			in[i] = is_complex_value(v) ? part(p, v, k)
				: k && v && is_any_number(p, n, NULL, i)
					? no_imaginary(p, n, v, (enum dtype)out[0]->type.dtype)
					: v;
		}
		add_node(p, n->op, props, in, n->nin, out + k * n->nout, n->nout);
	}
	for (uint32_t i = 0; i < n->nout; i++)
		set_parts(p, n->out[i], out[i],
			  real ? no_imaginary(p, n, out[i], (enum dtype)out[i]->type.dtype)
			       : out[n->nout + i]);
}

struct cv int_list(struct split *p, const int *at, int n)
{
	struct cv v = {.kind = CV_LIST, .n = (uint32_t)n, .span = p->span};

	v.u.items = new_array(p->cx->arena, struct cv, v.n + 1);
	for (int i = 0; i < n; i++)
		v.u.items[i] = cv_int(at[i], p->span);
	return v;
}

/* A fn takes the properties of n by their names, and each axis by its number. */
bool call_lib(struct split *p, const char *name, const struct node *n, struct value **in,
	      uint32_t nin, struct value **out, uint32_t nout)
{
	const struct op_sig *sig = n ? op_sig(p->cx, n->op) : NULL;
	struct fn *f = lib_fn(p->cx, name);
	struct block *body = open_body(p);
	struct cv *props = new_array(p->cx->arena, struct cv, sig ? sig->nprops + 1 : 1);

	if (!f)
		bug("the library has no fn '%s'", name);
	for (uint32_t i = 0; sig && i < sig->nprops; i++) {
		int axes[MAX_RANK], k;
		props[i] = n->props[i];
		if (sig->props[i].type != P_AXES)
			continue;
		k = prop_axes(p->cx, n, sig->props[i].name->s, n->in[0]->type.rank, axes, true);
		if (k < 0)
			return false;
		props[i] = int_list(p, axes, k);
	}
	if (!expand_fn(p->cx, body, f, n ? n->op : NULL, props, in, nin, out, nout, p->span))
		return false;
	close_body(p, body);
	return true;
}

/* A fn on parts: two arguments for a number, all of one dtype, two results for a complex one */
static bool fn_on_parts(struct split *p, struct node *n, const struct fn *f)
{
	struct value **in = new_array(p->cx->arena, struct value *, 2u * n->nin + 1), **to = in;
	struct value **r = new_array(p->cx->arena, struct value *, 2u * n->nout);
	uint32_t parts = is_complex_value(n->out[0]) ? 2 : 1;
	struct type t = {0};

	if (fn_results(f) != parts * n->nout)
		return refuse(p, n, "a complex number cannot become %s: take its real part",
			      dtypes[n->out[0]->type.dtype].name);
	for (uint32_t i = 0; i < n->nin; i++) {
		enum dtype x = n->in[i] ? (enum dtype)n->in[i]->type.dtype : DT_NONE;
		if (x && is_any_number(p, n, f, i))
			t.dtype = t.dtype ? dtype_upcast((enum dtype)t.dtype, x) : x;
	}
	for (uint32_t i = 0; i < n->nin; i++) {
		struct value *v = n->in[i];
		if (!v || !is_any_number(p, n, f, i)) {
			*to++ = v;
			continue;
		}
		t = (struct type){part_type(t).dtype, v->type.rank, v->type.dims};
		bool pair = is_complex_value(v);
		*to++ = as_type(p, pair ? part(p, v, 0) : v, t, false);
		*to++ = pair ? as_type(p, part(p, v, 1), t, false)
			     : no_imaginary(p, n, v, (enum dtype)t.dtype);
	}
	if (!call_lib(p, n->op->complex, n, in, (uint32_t)(to - in), r, parts * n->nout))
		return false;
	for (uint32_t i = 0; i < n->nout; i++)
		if (parts == 2)
			set_parts(p, n->out[i], r[2 * i], r[2 * i + 1]);
		else
			set_value(p, n->out[i], r[i]);
	return true;
}

/* a * b * ...: two by two from the left, as NumPy does it, each time in the dtype of the two */
static bool two_by_two(struct split *p, struct node *n)
{
	struct block *body = open_body(p);
	struct value *in[2] = {n->in[0], NULL};

	for (uint32_t i = 1; i < n->nin; i++) {
		in[1] = n->in[i];
		in[0] = graph_node(p->cx, body, n->op, n->props, in, 2, n->span)->out[0];
	}
	close_body(p, body);
	set_value(p, n->out[0], in[0]);
	return true;
}

/* As the row says; false: an error was reported, n is to be poisoned. */
static bool split_op(struct split *p, struct node *n)
{
	const struct op_sig *sig = op_sig(p->cx, n->op);
	struct fn *f = NULL;
	struct value *r;

	if (!n->op->complex)
		return refuse(p, n,
			      "ONNX has no complex tensors, and this op is not converted on pairs "
			      "of real and imaginary parts");
	if (strncmp(n->op->complex, "each", 4))
		f = lib_fn(p->cx, n->op->complex);
	if (f && fn_params(f) == sig->ninputs && fn_results(f) == 1) { /* on complex numbers */
		if (!call_lib(p, n->op->complex, n, n->in, n->nin, &r, 1))
			return false;
		set_value(p, n->out[0], r);
		return true;
	}
	for (uint32_t i = 0; i < n->nin; i++)
		if (is_complex_value(n->in[i]) &&
		    (!is_any_number(p, n, f, i) || (!f && !is_complex_value(n->out[0]))))
			return refuse(p, n, "argument %u must not be complex here", i + 1);
	if (f && sig->max == UINT32_MAX && n->nin != 2)
		return two_by_two(p, n);
	if (f)
		return fn_on_parts(p, n, f);
	each_part(p, n);
	return true;
}

/* Puts the nodes, which are taken out of a block, into p->block, or others in their place. */
static void split_nodes(struct split *p, struct node *nodes)
{
	for (struct node *n; (n = next_taken(&nodes)) != NULL;) {
		if (!p->inside) {
			p->user = n;
			p->span = n->span;
		}
		for_bodies (inner, n)
			split_block(p, inner);
		if (!has_complex(n)) {
			graph_append(p->block, n);
			continue;
		}
		if (!p->inside)
			*vec_push(p->cx->arena, &p->graph->replaced) =
				(struct replaced){n->span, call_label(p->cx, n)};
		if (is_poisoned(n) || n->op->unsupported)
			append_poisoned(p, n);
		else if (n->blocks)
			split_control(p, n);
		else if (!split_by_rule(p, n) && !split_op(p, n))
			append_poisoned(p, n);
	}
}

/* ---- the graph ---- */

/* A parameter becomes one of both parts, which are read in its place. */
static void split_param(struct split *p, struct value *v)
{
	struct parts *x = parts_of(p, v);
	struct type t = v->type;

	p->span = v->span;
	v->type = whole_type(p->cx, t);
	if (t.rank < MAX_RANK)
		call_lib(p, "_Cparts_of", NULL, &v, 1, x->part, 2);
	v->type = t;
	x->whole = v;
}

/* What an output that is called as v holds: both parts */
static struct value *output(struct split *p, struct value *v)
{
	if (!is_complex_value(v))
		return v;
	p->span = v->span;
	struct value *r = whole(p, v);
	if (r != v && (r->name || !r->def))
		r = as_value(p, r, graph_value(p->cx, r->type, v->span), false);
	r->name = v->name;
	r->span = v->span;
	return r;
}

void split_complex(struct ctx *cx, struct graph *g)
{
	struct split p = {.cx = cx, .graph = g, .block = g->block};
	struct block *k = g->block;

	if (!g->has_complex)
		return;
	memset(g->ops, 0xff, sizeof(g->ops)); /* any may be in what complex ops become */
	struct node *nodes = take_nodes(k);
	while (k->last != g->prologue)
		graph_append(k, next_taken(&nodes));
	for (uint32_t i = 0; i < k->params.len; i++)
		if (is_complex_value(k->params.at[i]))
			split_param(&p, k->params.at[i]);
	split_nodes(&p, nodes);
	for (uint32_t i = 0; i < k->results.len; i++)
		k->results.at[i] = output(&p, k->results.at[i]);
	for (uint32_t i = 0; i < g->states.len; i++) {
		struct state *s = &g->states.at[i];
		if (is_complex_value(s->init))
			s->init = constant_of(&p, s->init, 0, true);
		if (s->next)
			s->next = output(&p, s->next);
	}
	for (uint32_t i = 0; i < p.parts.len; i++) {
		struct parts *x = p.parts.at[i];
		x->of->type =
			x->whole == x->of ? whole_type(cx, x->of->type) : part_type(x->of->type);
	}
}
