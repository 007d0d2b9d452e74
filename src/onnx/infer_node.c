/*
 * infer_node.c: a node as the rules of inference see it: its inputs, attributes and results, and
 * the dtypes that the operator's schema allows. In: a node whose inputs are typed. Out: types of
 * results as a rule says them, or a message. It calls no rule; infer.c calls the rules.
 */
#include <stdlib.h>
#include <string.h>

#include "onnx/internal.h"

/* --- messages --- */

struct diag *infer_error(struct infer *f, enum diag_code code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	const char *text = arena_vprintf(f->cx->arena, fmt, ap);
	va_end(ap);
	return error(f->cx, f->n->span, code, "%s.%s: %s", onnx_prefix(f->op), f->op->name, text);
}

static const char *dtype_list(struct ctx *cx, uint32_t set)
{
	struct strbuf b = {.arena = cx->arena};

	for (int t = 1; t < DT_COUNT; t++)
		if (set >> t & 1)
			sb_printf(&b, "%s%s", b.len ? ", " : "", dtypes[t].name);
	return b.len ? b.s : "none that ptgc has";
}

/* --- dtypes --- */

/* The index of the type type_variable `type`; -1: it is a fixed type such as "int64" */
static int type_variable(const struct onnx_op *op, const char *type)
{
	for (int k = 0; op->constraints[k].var; k++)
		if (!strcmp(op->constraints[k].var, type))
			return k;
	return -1;
}

static const struct onnx_io *find_io(const struct onnx_io *io, uint32_t nio, uint32_t i)
{
	if (i < nio)
		return &io[i];
	return nio && (io[nio - 1].repeat == '*' || io[nio - 1].repeat == '+') ? &io[nio - 1]
									       : NULL;
}

static const char *input_name(struct infer *f, uint32_t i)
{
	const struct onnx_io *io = find_io(f->op->in, f->op->nin, i);

	return io->repeat == '*' || io->repeat == '+'
		       ? arena_printf(f->cx->arena, "input %u", i + 1)
		       : io->name;
}

static bool bind_input(struct infer *f, uint32_t i)
{
	const struct onnx_io *io = find_io(f->op->in, f->op->nin, i);
	struct value *v = input(f, i);

	if (!io) {
		infer_error(f, E_ARITY, "takes at most %u inputs but got %u", f->op->nin,
			    f->n->nin);
		return false;
	}
	if (!v) {
		bool past_last = i >= f->n->nin && (io->repeat == '*' || i >= f->op->nin);
		if (io->repeat == '?' || past_last)
			return true;
		infer_error(f, E_ARITY, "input %u, '%s', is missing", i + 1, io->name);
		return false;
	}
	enum dtype t = (enum dtype)v->type.dtype;
	int k = type_variable(f->op, io->type);
	uint32_t set = k < 0 ? 1u << dtype_named(io->type) : f->op->constraints[k].dtypes;
	if (!(set >> t & 1) && (!f->n->lenient || k < 0)) {
		infer_error(f, E_DTYPE, "%s is %s; allowed in %s %d: %s", input_name(f, i),
			    type_str(f->cx, v->type), f->op->id ? "opset" : "version",
			    f->op->id ? f->cx->opt.opset : f->op->since,
			    dtype_list(f->cx, set & ~1u));
		return false;
	}
	if (k < 0 || f->bound[k] == t)
		return true;
	if (f->bound[k] == DT_NONE) {
		f->bound[k] = t;
		return true;
	}
	infer_error(f, E_DTYPE, "%s is %s, but it must be %s like the inputs before it",
		    input_name(f, i), type_str(f->cx, v->type), dtypes[f->bound[k]].name);
	return false;
}

bool bind_inputs(struct infer *f)
{
	uint32_t n = f->n->nin > f->op->nin ? f->n->nin : f->op->nin;

	for (uint32_t i = 0; i < n; i++)
		if (!bind_input(f, i))
			return false;
	return true;
}

static enum dtype result_dtype(const struct infer *f, uint32_t i)
{
	const struct onnx_io *io = find_io(f->op->out, f->op->nout, i);

	if (!io)
		return DT_NONE;
	int k = type_variable(f->op, io->type);
	if (k < 0)
		return dtype_named(io->type);
	uint32_t set = f->op->constraints[k].dtypes;
	if (f->bound[k] == DT_NONE && set && !(set & (set - 1))) /* there is only one */
		return (enum dtype)__builtin_ctz(set);
	return f->bound[k];
}

bool choose_result_dtype(struct infer *f, uint32_t i, enum dtype t, const char *attr)
{
	const struct onnx_io *io = find_io(f->op->out, f->op->nout, i);
	int k = io ? type_variable(f->op, io->type) : -1;
	uint32_t set = k < 0 ? 0 : f->op->constraints[k].dtypes;

	if (k >= 0 && t && !(set >> t & 1)) {
		infer_error(f, E_DTYPE, "the result cannot be %s; write %s=... with one of %s",
			    dtypes[t].name, attr, dtype_list(f->cx, set & ~1u));
		return false;
	}
	bind_result_dtype(f, i, t);
	return true;
}

int onnx_input_like(const struct onnx_op *op, uint32_t result)
{
	const struct onnx_io *io = find_io(op->out, op->nout, result);

	for (uint32_t i = 0; io && type_variable(op, io->type) >= 0 && i < op->nin; i++)
		if (!strcmp(op->in[i].type, io->type))
			return (int)i;
	return -1;
}

void bind_result_dtype(struct infer *f, uint32_t i, enum dtype t)
{
	const struct onnx_io *io = find_io(f->op->out, f->op->nout, i);
	int k = io ? type_variable(f->op, io->type) : -1;

	if (k >= 0 && f->op->constraints[k].dtypes >> t & 1)
		f->bound[k] = t;
}

enum dtype dtype_of_onnx(int64_t data_type)
{
	for (int t = 1; t < DT_COUNT; t++)
		if (dtypes[t].onnx == data_type)
			return (enum dtype)t;
	return DT_NONE;
}

/* --- results --- */

enum onnx_infer_result set_result(struct infer *f, uint32_t i, uint32_t rank, dim *dims)
{
	enum dtype t = result_dtype(f, i);

	if (i >= f->n->nout || !f->n->out[i])
		return ONNX_INFERRED;
	if (t == DT_NONE)
		return ONNX_NO_RULE;
	if (rank > MAX_RANK) {
		infer_error(f, E_LIMIT, "the result has more than %d dims", MAX_RANK);
		return ONNX_ERROR;
	}
	f->n->out[i]->type =
		(struct type){.dtype = (uint8_t)t, .rank = (uint8_t)rank, .dims = dims};
	return ONNX_INFERRED;
}

enum onnx_infer_result set_result_like(struct infer *f, uint32_t i, struct type t)
{
	return set_result(f, i, t.rank, t.dims);
}

dim *dims_alloc(struct infer *f, uint32_t rank)
{
	return new_array(f->cx->arena, dim, rank + 1);
}

dim *dims_copy(struct infer *f, struct type t)
{
	dim *d = dims_alloc(f, t.rank);

	for (uint32_t i = 0; i < t.rank; i++)
		d[i] = t.dims[i];
	return d;
}

dim unknown_dim(struct infer *f, uint32_t i, uint32_t axis)
{
	struct value *v = i < f->n->nout ? f->n->out[i] : NULL;

	return dim_fresh(f->cx, v ? SOURCE_SIZE : SOURCE_NONE, v, axis);
}

dim const_dim(struct infer *f, int64_t v)
{
	return dim_const(f->cx, v);
}

dim prefer_const(struct infer *f, dim a, dim b)
{
	int64_t v;

	return dim_is_const(f->cx, b, &v) ? b : a;
}

bool broadcast_dim(struct infer *f, dim a, dim b, uint32_t axis, dim *r)
{
	struct ctx *cx = f->cx;
	int64_t x = -1, y = -1;
	bool xc = dim_is_const(cx, a, &x), yc = dim_is_const(cx, b, &y);

	if (a == b || (xc && yc && x == y) || (yc && y == 1))
		*r = a;
	else if (xc && x == 1)
		*r = b;
	else if (xc && yc)
		return false;
	else if (xc || yc) /* a constant above 1: the other dim is 1 or this constant */
		*r = xc ? a : b;
	else if (dim_eq(cx, a, b) || dim_ge(cx, a, 2))
		*r = a;
	else
		*r = dim_ge(cx, b, 2) ? b : unknown_dim(f, 0, axis);
	return true;
}

/* Of a raw node of the user: may lengths that are not 1 in the text be equal, whatever sizes the
 * names of the header stand for? That ONNX stretches a length that is 1 in the run is for sizes
 * that ptgc may set, as the name stands for others too. */
static bool keeps_promises(struct infer *f, dim a, dim b)
{
	struct ctx *cx = f->cx;

	if (!f->n->op || !f->n->by_hand || a == b || dim_is(cx, a, 1) || dim_is(cx, b, 1))
		return true;
	return dim_keeps_promises(cx, a, b);
}

bool broadcast_types(struct infer *f, const struct type *t, uint32_t n, dim *dims, uint32_t rank)
{
	for (uint32_t k = 0; k < rank; k++) {
		dim d = DIM_NONE;
		for (uint32_t i = 0; i < n; i++) {
			if (k + t[i].rank < rank)
				continue;
			dim e = t[i].dims[k + t[i].rank - rank];
			if (!d)
				d = e;
			else if (!keeps_promises(f, d, e) || !broadcast_dim(f, d, e, k, &d)) {
				struct diag *g =
					infer_error(f, E_SHAPE, "%s and %s do not broadcast",
						    type_str(f->cx, t[0]), type_str(f->cx, t[i]));
				explain_promise(f->cx, g, NULL, 0);
				return false;
			}
		}
		dims[k] = d ? d : const_dim(f, 1);
	}
	return true;
}

dim count_steps(struct infer *f, dim start, dim stop, int64_t step)
{
	dim n = step > 0 ? dim_sub(f->cx, stop, start) : dim_sub(f->cx, start, stop);
	int64_t size = step > 0 ? step : -step;

	if (size > 1)
		n = dim_over(f->cx, dim_plus(f->cx, n, size - 1), size);
	return dim_max(f->cx, n, const_dim(f, 0));
}

/* --- inputs and attributes --- */

struct value *input(const struct infer *f, uint32_t i)
{
	return i < f->n->nin ? f->n->in[i] : NULL;
}

struct type input_type(const struct infer *f, uint32_t i)
{
	return f->n->in[i]->type;
}

const struct known *input_known(struct infer *f, uint32_t i)
{
	struct value *v = input(f, i);

	return v ? known_of(f->cx, v) : NULL;
}

bool input_const(struct infer *f, uint32_t i, uint32_t at, int64_t *v)
{
	const struct value *in = input(f, i);

	return in && known_int(f->cx, in, at, v);
}

int64_t input_count(struct infer *f, uint32_t i)
{
	struct value *v = input(f, i);
	int64_t n;

	if (!v || v->type.rank > 1)
		return -1;
	if (!v->type.rank)
		return 1;
	return dim_is_const(f->cx, v->type.dims[0], &n) ? n : -1;
}

static const char *default_of(const struct infer *f, const char *name)
{
	for (const struct onnx_attr_spec *a = f->op->attrs; a->kind; a++)
		if (!strcmp(a->name, name))
			return a->value;
	return NULL;
}

int64_t int_attr(const struct infer *f, const char *name)
{
	const struct attr *a = find_attr(f->n, name);
	const char *text;

	if (a)
		return a->kind == AT_INT ? a->u.i : 0;
	text = default_of(f, name);
	return text ? atoll(text) : 0;
}

bool str_attr_is(const struct infer *f, const char *name, const char *value)
{
	const struct attr *a = find_attr(f->n, name);
	const char *text;

	if (a)
		return a->kind == AT_STR && a->u.s.len == strlen(value) &&
		       !memcmp(a->u.s.s, value, a->u.s.len);
	text = default_of(f, name);
	return text && !strcmp(text, value);
}

int64_t ints_attr(const struct infer *f, const char *name, uint32_t i, int64_t other)
{
	const struct attr *a = find_attr(f->n, name);

	return a && a->kind == AT_INTS && i < a->n ? a->u.ints[i] : other;
}

bool check_input_rank(struct infer *f, uint32_t i, uint32_t min, uint32_t max)
{
	struct value *v = input(f, i);

	if (!v || (v->type.rank >= min && v->type.rank <= max))
		return true;
	if (min == max)
		infer_error(f, E_RANK, "%s must have %u dim%s, got %s", input_name(f, i), min,
			    min == 1 ? "" : "s", type_str(f->cx, v->type));
	else
		infer_error(f, E_RANK, "%s must have %s%u dim%s, got %s", input_name(f, i),
			    v->type.rank < min ? "at least " : "at most ",
			    v->type.rank < min ? min : max,
			    (v->type.rank < min ? min : max) == 1 ? "" : "s",
			    type_str(f->cx, v->type));
	return false;
}

bool resolve_axis(struct infer *f, int64_t axis, uint32_t rank, uint32_t *a)
{
	if (axis < -(int64_t)rank || axis >= (int64_t)rank) {
		infer_error(f, E_RANGE, "axis %lld is out of range for rank %u", (long long)axis,
			    rank);
		return false;
	}
	*a = (uint32_t)from_front(axis, rank);
	return true;
}

bool resolve_new_axis(struct infer *f, int64_t axis, uint32_t rank, bool *seen, uint32_t *a)
{
	if (!resolve_axis(f, axis, rank, a))
		return false;
	if (seen[*a]) {
		infer_error(f, E_RANGE, "axis %u is given twice", *a);
		return false;
	}
	return seen[*a] = true;
}

bool check_distinct_axes(struct infer *f, const struct attr *a, uint32_t rank)
{
	bool seen[MAX_RANK] = {false};
	uint32_t axis;

	for (uint32_t i = 0; a && i < a->n; i++)
		if (!resolve_new_axis(f, a->u.ints[i], rank, seen, &axis))
			return false;
	return true;
}

bool check_dims_match(struct infer *f, struct type a, struct type b, dim x, dim y)
{
	/* what the user writes as a raw node keeps the promises of the header, too */
	bool raw = f->n->op && f->n->by_hand;

	if (raw ? dim_unify(f->cx, x, y, f->n->span) : !dim_ne(f->cx, x, y))
		return true;
	struct diag *d =
		infer_error(f, E_SHAPE, "%s and %s do not fit: %s against %s", type_str(f->cx, a),
			    type_str(f->cx, b), dim_str(f->cx, x), dim_str(f->cx, y));
	explain_promise(f->cx, d, NULL, 0);
	return false;
}

/* --- operators of ai.onnx.ml --- */

enum onnx_infer_result infer_ml(struct infer *f)
{
	if (!bind_inputs(f))
		return ONNX_ERROR;
	for (uint32_t i = 0; i < f->n->nout; i++) {
		const struct onnx_io *io = find_io(f->op->out, f->op->nout, i);
		enum dtype t = (enum dtype)f->n->out[i]->type.dtype, only = result_dtype(f, i);
		int k = type_variable(f->op, io->type);
		uint32_t set = only ? 1u << only : f->op->constraints[k].dtypes;
		if (!set) {
			infer_error(f, E_UNSUPPORTED,
				    "gives a map, which ONNX cannot turn into a tensor");
			return ONNX_ERROR;
		}
		if (t && !(set >> t & 1)) {
			infer_error(f, E_DTYPE, "result %u, '%s', cannot be %s; it can be %s",
				    i + 1, io->name, dtypes[t].name, dtype_list(f->cx, set));
			return ONNX_ERROR;
		}
	}
	return ONNX_NO_RULE;
}
