/*
 * rules_shape.c: shape rules of elementwise ops, reductions and ops that move axes. In: a node
 * whose inputs are typed and whose first result has its dtype. Out: the types of all results. As in
 * PyTensor, only a dim that is 1 in the type broadcasts; for float64[n] + float64[m] the equation
 * n == m is recorded (dim_unify).
 */
#include "ops/rules.h"

/* --- helpers of all rules --- */

dim *new_dims(struct ctx *cx, uint32_t rank)
{
	return new_array(cx->arena, dim, rank + 1);
}

dim *copy_dims(struct ctx *cx, const struct type *t)
{
	dim *d = new_dims(cx, t->rank);
	for (uint32_t i = 0; i < t->rank; i++)
		d[i] = t->dims[i];
	return d;
}

void set_type(struct node *n, uint32_t i, enum dtype t, uint32_t rank, dim *dims)
{
	n->out[i]->type.dtype = (uint8_t)t;
	n->out[i]->type.rank = (uint8_t)rank;
	n->out[i]->type.dims = dims;
}

bool set_dims(struct node *n, uint32_t rank, dim *dims)
{
	set_type(n, 0, (enum dtype)n->out[0]->type.dtype, rank, dims);
	return true;
}

static bool takes_b_ndim(struct ctx *cx, const struct node *n)
{
	return op_has_prop(cx, n->op, intern_str(cx, "b_ndim"));
}

bool want_rank(struct ctx *cx, struct node *n, uint32_t i, uint32_t rank)
{
	if (n->in[i]->type.rank == rank)
		return true;
	bool vector =
		rank == 2 && n->in[i]->type.rank == 1 && i + 1 == n->nin && takes_b_ndim(cx, n);
	bool number = rank == 1 && !n->in[i]->type.rank;
	error(cx, n->span, E_RANK, "%s: expected %u dim%s for argument %u, got %s%s%s%s%s",
	      op_label(cx, n), rank, rank == 1 ? "" : "s", i + 1, type_str(cx, n->in[i]->type),
	      vector ? "; for a vector write " : "", vector ? n->op->name : "",
	      vector ? "{b_ndim=1}(...)" : "", number ? "; of one number write a list, [...]" : "");
	return false;
}

bool broadcast_dims(struct ctx *cx, struct node *n, struct value **v, uint32_t nv, dim *out,
		    uint32_t rank)
{
	dim one = dim_const(cx, 1);
	struct value *owner[MAX_RANK] = {NULL}; /* the value with length out[k], for the message */
	for (uint32_t k = 0; k < rank; k++)
		out[k] = one;
	for (uint32_t i = 0; i < nv; i++) {
		if (!v[i])
			continue;
		uint32_t skip = rank - v[i]->type.rank;
		for (uint32_t k = skip; k < rank; k++) {
			dim d = v[i]->type.dims[k - skip];
			if (dim_says_one(cx, d))
				continue;
			if (!owner[k]) {
				owner[k] = v[i];
				out[k] = d;
			} else if (!dim_meet(cx, &out[k], d, n->span)) {
				error(cx, n->span, E_SHAPE, "%s: %s and %s do not broadcast",
				      op_label(cx, n), type_str(cx, owner[k]->type),
				      type_str(cx, v[i]->type));
				return false;
			}
		}
	}
	for (uint32_t k = 0; k < rank; k++)
		out[k] = dim_find(cx, out[k]);
	return true;
}

static uint32_t max_rank(struct value **v, uint32_t n)
{
	uint32_t rank = 0;
	for (uint32_t i = 0; i < n; i++)
		if (v[i] && v[i]->type.rank > rank)
			rank = v[i]->type.rank;
	return rank;
}

dim scalar_dim(struct ctx *cx, struct value *v)
{
	const struct known *k = v->type.rank ? NULL : known_of(cx, v);
	return k && k->n == 1 ? k->at[0] : DIM_NONE;
}

bool sh_broadcast(struct ctx *cx, struct node *n)
{
	uint32_t rank = max_rank(n->in, n->nin);
	bool same = true; /* many arrays of one graph share their dims */

	for (uint32_t i = 0; i < n->nin; i++)
		same &= n->in[i]->type.rank == rank && n->in[i]->type.dims == n->in[0]->type.dims;
	if (same)
		return set_dims(n, rank, n->in[0]->type.dims);
	dim *d = new_dims(cx, rank);
	return broadcast_dims(cx, n, n->in, n->nin, d, rank) && set_dims(n, rank, d);
}

bool sh_first(struct ctx *cx, struct node *n)
{
	(void)cx;
	return set_dims(n, n->in[0]->type.rank, n->in[0]->type.dims);
}

/* x, and conditions that are single bools */
bool sh_assert(struct ctx *cx, struct node *n)
{
	for (uint32_t i = 1; i < n->nin; i++)
		if (n->in[i]->type.rank) {
			error(cx, n->span, E_RANK, "%s: condition %u must be a single bool, got %s",
			      n->op->name, i, type_str(cx, n->in[i]->type));
			return false;
		}
	return sh_first(cx, n);
}

/* Can the dtype of input 0 hold input 1, without loss? */
static bool check_fill_dtype(struct ctx *cx, struct node *n)
{
	enum dtype a = (enum dtype)n->in[0]->type.dtype, v = (enum dtype)n->in[1]->type.dtype;

	if (dtype_upcast(a, v) == a)
		return true;
	error(cx, n->span, E_DTYPE, "%s: %s does not fit into %s", n->op->name, dtypes[v].name,
	      dtypes[a].name);
	return false;
}

/* With more than two axes, NumPy wants all of one length. */
bool sh_filldiagonal(struct ctx *cx, struct node *n)
{
	const struct type *a = &n->in[0]->type;

	if (a->rank < 2) {
		error(cx, n->span, E_RANK, "%s: expected at least 2 dims for argument 1, got %s",
		      n->op->name, type_str(cx, *a));
		return false;
	}
	if (!want_rank(cx, n, 1, 0) || !check_fill_dtype(cx, n))
		return false;
	for (uint32_t i = 1; i < a->rank && a->rank > 2; i++)
		if (!dim_unify(cx, a->dims[0], a->dims[i], n->span)) {
			error(cx, n->span, E_SHAPE, "%s: all axes of %s must be of one length",
			      n->op->name, type_str(cx, *a));
			return false;
		}
	return sh_first(cx, n);
}

bool sh_filldiagonaloffset(struct ctx *cx, struct node *n)
{
	if (!want_rank(cx, n, 0, 2) || !want_rank(cx, n, 1, 0) || !check_fill_dtype(cx, n) ||
	    !want_int_scalar(cx, n, 2, "the offset"))
		return false;
	if (n->in[2]->type.dtype == DT_BOOL) {
		error(cx, n->span, E_DTYPE, "%s: the offset must be a 0-d integer, got bool[]",
		      n->op->name);
		return false;
	}
	return sh_first(cx, n);
}

/* Inputs x, v and an optional sorter: x[sorter] is sorted. */
bool sh_searchsorted(struct ctx *cx, struct node *n)
{
	const struct type *x = &n->in[0]->type;
	const struct type *sorter = n->nin > 2 && n->in[2] ? &n->in[2]->type : NULL;

	if (x->rank != 1) {
		error(cx, n->span, E_DTYPE, "%s: the searched array must be a vector, got %s",
		      op_label(cx, n), type_str(cx, *x));
		return false;
	}
	if (sorter && (sorter->rank != 1 || !is_int((enum dtype)sorter->dtype))) {
		error(cx, n->span, E_DTYPE, "%s: the sorter must be a vector of integers, got %s",
		      op_label(cx, n), type_str(cx, *sorter));
		return false;
	}
	if (sorter && !dim_unify(cx, sorter->dims[0], x->dims[0], n->span)) {
		error(cx, n->span, E_SHAPE, "%s: the sorter must be as long as %s, got %s",
		      op_label(cx, n), type_str(cx, *x), type_str(cx, *sorter));
		return false;
	}
	return set_dims(n, n->in[1]->type.rank, n->in[1]->type.dims);
}

/* --- reductions --- */

/* Sets reduced[axis] from the property 'axes'; -1: reported */
static int read_reduced_axes(struct ctx *cx, struct node *n, bool reduced[MAX_RANK])
{
	int axes[MAX_RANK], rank = n->in[0]->type.rank;
	int count = prop_axes(cx, n, "axes", rank, axes, true);
	for (int i = 0; i < rank; i++)
		reduced[i] = false;
	for (int i = 0; i < count; i++)
		reduced[axes[i]] = true;
	return count;
}

static bool reduce_dims(struct ctx *cx, struct node *n, bool keep)
{
	bool reduced[MAX_RANK];
	const struct type *x = &n->in[0]->type;
	if (read_reduced_axes(cx, n, reduced) < 0)
		return false;
	dim *d = new_dims(cx, x->rank);
	uint32_t rank = 0;
	for (uint32_t i = 0; i < x->rank; i++) {
		if (!reduced[i])
			d[rank++] = x->dims[i];
		else if (keep)
			d[rank++] = dim_const(cx, 1);
	}
	return set_dims(n, rank, d);
}

/* A call has lost its keepdims=True. An op that another one is given, as in Blockwise{Sum{...}},
 * has not, and is refused. */
static bool keeps_no_dims(struct ctx *cx, struct node *n)
{
	if (!n->op->keepdims || !prop_bool(cx, n, "keepdims"))
		return true;
	error(cx, n->span, E_PROPERTY,
	      "%s: keepdims=True can only be written in a call: write ExpandDims after it",
	      op_label(cx, n));
	return false;
}

bool sh_reduce(struct ctx *cx, struct node *n)
{
	return keeps_no_dims(cx, n) && reduce_dims(cx, n, false);
}

bool sh_reduce_keep(struct ctx *cx, struct node *n)
{
	return reduce_dims(cx, n, prop_bool(cx, n, "keepdims"));
}

/* Max, Min, Argmax: an empty axis has no maximum. */
bool sh_reduce_some(struct ctx *cx, struct node *n)
{
	bool reduced[MAX_RANK];
	const struct type *x = &n->in[0]->type;
	bool initial = !is_call(n, OP_Argmax) && prop_bool(cx, n, "initial");
	if (read_reduced_axes(cx, n, reduced) < 0)
		return false;
	for (uint32_t i = 0; i < x->rank && !initial; i++) {
		int64_t v;
		if (!reduced[i] || !dim_is_const(cx, x->dims[i], &v) || v)
			continue;
		error(cx, n->span, E_RAISES, "%s: axis %u of %s has no elements", op_label(cx, n),
		      i, type_str(cx, *x));
		return false;
	}
	return keeps_no_dims(cx, n) && reduce_dims(cx, n, false);
}

int checked_axis(struct ctx *cx, struct node *n, const char *name)
{
	int64_t rank = n->in[0]->type.rank, a = prop_int(cx, n, name);

	if (a >= -rank && a < rank)
		return (int)from_front(a, rank);
	if (rank)
		error(cx, n->span, E_RANGE, "%s: axis %lld is out of range for %s", n->op->name,
		      (long long)a, type_str(cx, n->in[0]->type));
	else
		error(cx, n->span, E_RANK, "%s: %s has no axes%s", n->op->name,
		      type_str(cx, n->in[0]->type),
		      is_call(n, OP_Join) ? "; MakeVector makes a vector of scalars" : "");
	return -1;
}

bool sh_along(struct ctx *cx, struct node *n)
{
	return checked_axis(cx, n, "axis") >= 0 && sh_first(cx, n);
}

bool sh_along_axes(struct ctx *cx, struct node *n)
{
	bool reduced[MAX_RANK];
	return read_reduced_axes(cx, n, reduced) >= 0 && sh_first(cx, n);
}

/* --- axes moved, added, dropped --- */

static int order_error(struct ctx *cx, const struct node *n, const char *what)
{
	error(cx, n->span, E_PROPERTY, "%s: property 'order': %s", n->op->name, what);
	return -1;
}

int dimshuffle_order(struct ctx *cx, const struct node *n, int order[MAX_RANK])
{
	const struct cv *v = prop(cx, n, "order");
	int rank = n->in[0]->type.rank;
	uint64_t seen = 0;
	if (v->kind != CV_LIST || v->n > MAX_RANK)
		return order_error(cx, n, "expected a list of axes and \"x\"");
	for (uint32_t i = 0; i < v->n; i++) {
		const struct cv *e = &v->u.items[i];
		bool x = (e->kind == CV_STR && e->u.str->len == 1 && e->u.str->s[0] == 'x') ||
			 (e->kind == CV_SYM && e->u.sym->len == 1 && e->u.sym->s[0] == 'x');
		if (x) {
			order[i] = -1;
			continue;
		}
		if (e->kind != CV_INT)
			return order_error(cx, n, "expected axes and \"x\"");
		if (e->neg || e->u.i >= (uint64_t)rank) {
			error(cx, n->span, E_RANGE, "%s: axis %s%llu is out of range for %s",
			      n->op->name, e->neg ? "-" : "", (unsigned long long)e->u.i,
			      type_str(cx, n->in[0]->type));
			return -1;
		}
		if (seen >> e->u.i & 1)
			return order_error(cx, n, "an axis is given twice");
		seen |= (uint64_t)1 << e->u.i;
		order[i] = (int)e->u.i;
	}
	return (int)v->n;
}

/* Makes sure that the axis has length 1, as it is dropped. false: reported */
static bool drop_axis(struct ctx *cx, struct node *n, uint32_t axis)
{
	if (dim_unify(cx, n->in[0]->type.dims[axis], dim_const(cx, 1), n->span))
		return true;
	error(cx, n->span, E_SHAPE, "%s: axis %u of %s is dropped, but its length is not 1",
	      op_label(cx, n), axis, type_str(cx, n->in[0]->type));
	return false;
}

bool sh_dimshuffle(struct ctx *cx, struct node *n)
{
	int order[MAX_RANK];
	const struct type *x = &n->in[0]->type;
	int rank = dimshuffle_order(cx, n, order);
	if (rank < 0)
		return false;
	if (!prop_is_none(cx, n, "input_ndim") && prop_int(cx, n, "input_ndim") != x->rank) {
		error(cx, n->span, E_RANK, "%s: input_ndim is %lld, but the argument is %s",
		      n->op->name, (long long)prop_int(cx, n, "input_ndim"), type_str(cx, *x));
		return false;
	}
	bool kept[MAX_RANK] = {false};
	dim *d = new_dims(cx, (uint32_t)rank);
	for (int i = 0; i < rank; i++) {
		d[i] = order[i] < 0 ? dim_const(cx, 1) : x->dims[order[i]];
		if (order[i] >= 0)
			kept[order[i]] = true;
	}
	for (uint32_t i = 0; i < x->rank; i++)
		if (!kept[i] && !drop_axis(cx, n, i))
			return false;
	return set_dims(n, (uint32_t)rank, d);
}

bool sh_expanddims(struct ctx *cx, struct node *n)
{
	int axes[MAX_RANK];
	const struct type *x = &n->in[0]->type;
	uint32_t rank = x->rank + prop(cx, n, "axes")->n;
	if (rank > MAX_RANK) {
		error(cx, n->span, E_RANK, "%s: more than %d dims", n->op->name, MAX_RANK);
		return false;
	}
	int count = prop_axes(cx, n, "axes", (int)rank, axes, true);
	if (count < 0)
		return false;
	dim *d = new_dims(cx, rank);
	for (uint32_t i = 0, at = 0, from = 0; i < rank; i++) {
		if (at < (uint32_t)count && axes[at] == (int)i) {
			d[i] = dim_const(cx, 1);
			at++;
		} else {
			d[i] = x->dims[from++];
		}
	}
	return set_dims(n, rank, d);
}

bool sh_squeeze(struct ctx *cx, struct node *n)
{
	int axes[MAX_RANK];
	const struct type *x = &n->in[0]->type;
	bool all = prop_is_none(cx, n, "axes"), drop[MAX_RANK] = {false};
	int count = all ? 0 : prop_axes(cx, n, "axes", x->rank, axes, true);
	if (count < 0)
		return false;
	for (int i = 0; i < count; i++)
		drop[axes[i]] = true;
	dim *d = new_dims(cx, x->rank);
	uint32_t rank = 0;
	for (uint32_t i = 0; i < x->rank; i++) {
		if (drop[i] && !drop_axis(cx, n, i))
			return false;
		if (!drop[i] && !(all && dim_says_one(cx, x->dims[i])))
			d[rank++] = x->dims[i];
	}
	return set_dims(n, rank, d);
}

bool sh_transpose(struct ctx *cx, struct node *n)
{
	int axes[MAX_RANK];
	const struct type *x = &n->in[0]->type;
	bool reverse = prop_is_none(cx, n, "axes");
	int count = prop_axes(cx, n, "axes", x->rank, axes, false);
	if (count < 0)
		return false;
	if (count != x->rank) {
		error(cx, n->span, E_RANK, "%s: %d axes for %s", n->op->name, count,
		      type_str(cx, *x));
		return false;
	}
	dim *d = new_dims(cx, x->rank);
	for (int i = 0; i < count; i++)
		d[i] = x->dims[reverse ? count - 1 - i : axes[i]];
	return set_dims(n, x->rank, d);
}

bool sh_matrix_transpose(struct ctx *cx, struct node *n)
{
	const struct type *x = &n->in[0]->type;
	if (x->rank < 2) {
		error(cx, n->span, E_RANK, "%s: expected at least 2 dims, got %s", n->op->name,
		      type_str(cx, *x));
		return false;
	}
	dim *d = copy_dims(cx, x);
	d[x->rank - 1] = x->dims[x->rank - 2];
	d[x->rank - 2] = x->dims[x->rank - 1];
	return set_dims(n, x->rank, d);
}

/* --- Reshape --- */

/* same: a length that must be 0 for that; DIM_NONE: no sizes will do */
static bool reshape_error(struct ctx *cx, struct node *n, const dim *d, uint32_t rank, dim same)
{
	struct strbuf b = {.arena = cx->arena};
	for (uint32_t i = 0; i < rank; i++)
		sb_printf(&b, "%s%s", i ? ", " : "", d[i] ? dim_str(cx, d[i]) : "-1");
	struct diag *e = error(cx, n->span, E_SHAPE, "%s: %s cannot be reshaped to (%s)",
			       n->op->name, type_str(cx, n->in[0]->type), b.s ? b.s : "");
	if (same)
		note(cx, e, (struct span){0, 0},
		     "they have as many elements only where %s is 0, and it is any size",
		     dim_str(cx, same));
	return false;
}

/* The number of elements of input i, a vector of lengths; -1: reported */
static int count_lengths(struct ctx *cx, struct node *n, uint32_t i, const char *what)
{
	int64_t len;
	const struct value *v = n->in[i];
	/* an empty shape is a vector of floats in PyTensor */
	bool empty = v->type.rank == 1 && dim_is(cx, v->type.dims[0], 0);
	if (v->type.rank != 1 || (!is_int((enum dtype)v->type.dtype) && !empty)) {
		error(cx, n->span, E_DTYPE, "%s: %s must be a vector of integers, got %s",
		      n->op->name, what, type_str(cx, v->type));
		return -1;
	}
	if (!dim_is_const(cx, v->type.dims[0], &len)) {
		error(cx, n->span, E_RANK, "%s: the number of elements of %s is not known",
		      n->op->name, what);
		return -1;
	}
	if (len > MAX_RANK) {
		error(cx, n->span, E_RANK, "%s: more than %d dims", n->op->name, MAX_RANK);
		return -1;
	}
	return (int)len;
}

/* The rank of the result: that of the property ndim, else the length of the shape. -1: reported */
static int reshape_rank(struct ctx *cx, struct node *n)
{
	struct value *v = n->in[1];
	if (prop_is_none(cx, n, "ndim") || v->type.rank != 1 || !is_int((enum dtype)v->type.dtype))
		return count_lengths(cx, n, 1, "the shape");
	int64_t ndim = prop_int(cx, n, "ndim");
	if (ndim < 0 || ndim > MAX_RANK) {
		error(cx, n->span, E_RANK, "%s: ndim is %lld", n->op->name, (long long)ndim);
		return -1;
	}
	if (!dim_unify(cx, v->type.dims[0], dim_const(cx, ndim), n->span)) {
		error(cx, n->span, E_RANK, "%s: ndim is %lld, but the shape is %s", n->op->name,
		      (long long)ndim, type_str(cx, v->type));
		return -1;
	}
	return (int)ndim;
}

/* Element i of a shape; DIM_NONE: not known. Of the elements of a MakeVector, some may be known. */
dim shape_element(struct ctx *cx, struct value *shape, uint32_t i)
{
	const struct known *k = known_of(cx, shape);
	const struct node *def = shape->def;
	if (k)
		return k->at[i];
	if (!is_call(def, OP_MakeVector) || shape->type.dtype != DT_INT64)
		return DIM_NONE;
	return scalar_dim(cx, def->in[i]);
}

/* Sets dims d[at] to d[at + count - 1] from the shape, input 1. *hole is the index of a negative
 * element, which NumPy takes for -1 (d[*hole] stays DIM_NONE); rank: there is none. *open: some
 * lengths are not known. false: reported */
static bool read_new_lengths(struct ctx *cx, struct node *n, dim *d, uint32_t at, uint32_t count,
			     uint32_t rank, uint32_t *hole, bool *open)
{
	*hole = rank;
	*open = false;
	for (uint32_t i = at; i < at + count; i++) {
		dim asked = shape_element(cx, n->in[1], i - at);
		int64_t v;
		d[i] = DIM_NONE;
		if (asked && dim_is_const(cx, asked, &v) && v < 0) {
			if (*hole < rank) {
				error(cx, n->span, E_RAISES,
				      "%s: two negative lengths in the shape", n->op->name);
				return false;
			}
			*hole = i;
		} else if (asked && dim_ge(cx, asked, 0)) {
			d[i] = asked;
		} else { /* it may be -1 at run time */
			*open = true;
			d[i] = dim_fresh(cx, SOURCE_SIZE, n->out[0], i);
		}
	}
	return true;
}

/* If all lengths of x and d are numbers but one d[i], d[i] is a number too, as in PyTensor's static
 * shapes. So if it is 1, it broadcasts. */
static void infer_last_length(struct ctx *cx, struct node *n, dim *d, uint32_t r)
{
	const struct type *x = &n->in[0]->type;
	int64_t size = 1, rest = 1, k;
	uint32_t at = r;

	for (uint32_t i = 0; i < x->rank; i++)
		if (!dim_is_const(cx, x->dims[i], &k) || __builtin_mul_overflow(size, k, &size))
			return;
	for (uint32_t i = 0; i < r; i++) {
		bool number = dim_is_const(cx, d[i], &k);
		if ((!number && at < r) || (number && __builtin_mul_overflow(rest, k, &rest)))
			return;
		at = number ? at : i;
	}
	if (at == r || !rest || size % rest)
		return;
	dim found = dim_const(cx, size / rest);
	if (dim_unify(cx, d[at], found, n->span))
		d[at] = found;
}

/* Has d as many elements as x only where both have none, as [n, 4] and [n, 3], where n is a name of
 * the header and so any size? *same is such a length, which both have. */
static bool fits_only_empty(struct ctx *cx, const struct type *x, const dim *d, uint32_t r,
			    dim *same)
{
	dim *rest = new_dims(cx, x->rank), *more = new_dims(cx, r);
	uint32_t nrest = 0, nmore = 0;
	int64_t k;

	*same = DIM_NONE;
	for (uint32_t i = 0; i < r; i++)
		more[nmore++] = d[i];
	for (uint32_t i = 0; i < x->rank; i++) {
		uint32_t at = 0;
		while (at < nmore &&
		       (dim_is_const(cx, x->dims[i], &k) || !dim_eq(cx, x->dims[i], more[at])))
			at++;
		if (at == nmore) {
			rest[nrest++] = x->dims[i];
		} else {
			*same = more[at];
			more[at] = more[--nmore];
		}
	}
	if (!*same)
		return false;
	dim left = dims_product(cx, rest, nrest), right = dims_product(cx, more, nmore);
	dim all = dims_product(cx, x->dims, x->rank), count = dims_product(cx, d, r);
	if (!dim_ne(cx, left, right) || dim_keeps_promises(cx, all, count))
		return false;
	dim_broken(cx, &(struct broken){0}); /* the message says it in other words */
	return true;
}

/* Sets the result to dims d, after inferring d[hole]; hole, open: see read_new_lengths(). */
static bool set_reshaped_dims(struct ctx *cx, struct node *n, dim *d, uint32_t r, uint32_t hole,
			      bool open)
{
	const struct type *x = &n->in[0]->type;
	if (hole < r) {
		dim m = open ? dim_fresh(cx, SOURCE_SIZE, n->out[0], hole)
			     : dims_missing(cx, x->dims, x->rank, d, r, hole);
		if (m == DIM_NONE)
			return reshape_error(cx, n, d, r, DIM_NONE);
		d[hole] = m;
	} else if (!open) {
		dim count = dims_product(cx, d, r), same;
		if (dim_ne(cx, dims_product(cx, x->dims, x->rank), count))
			return reshape_error(cx, n, d, r, DIM_NONE);
		if (fits_only_empty(cx, x, d, r, &same))
			return reshape_error(cx, n, d, r, same);
	}
	infer_last_length(cx, n, d, r);
	return set_dims(n, r, d);
}

bool sh_reshape(struct ctx *cx, struct node *n)
{
	int rank = reshape_rank(cx, n);
	uint32_t hole, r = (uint32_t)rank;
	bool open;
	if (rank < 0)
		return false;
	dim *d = new_dims(cx, r);
	return read_new_lengths(cx, n, d, 0, r, r, &hole, &open) &&
	       set_reshaped_dims(cx, n, d, r, hole, open);
}

bool sh_joindims(struct ctx *cx, struct node *n)
{
	const struct type *x = &n->in[0]->type;
	int64_t at = from_front(prop_int(cx, n, "start_axis"), x->rank);
	int64_t count = prop_int(cx, n, "n_axes");
	if (at < 0 || count < 0 || at > x->rank || count > x->rank - at) {
		error(cx, n->span, E_RANGE,
		      "%s: %lld axes from axis %lld on are out of range for %s", n->op->name,
		      (long long)count, (long long)prop_int(cx, n, "start_axis"), type_str(cx, *x));
		return false;
	}
	uint32_t rank = x->rank + 1 - (uint32_t)count, first = (uint32_t)at;
	dim *d = new_dims(cx, rank);
	for (uint32_t i = 0; i < rank; i++)
		d[i] = i < first ? x->dims[i] : i == first ? DIM_NONE : x->dims[i + count - 1];
	d[first] = dims_product(cx, &x->dims[first], (uint32_t)count);
	return set_dims(n, rank, d);
}

bool sh_splitdims(struct ctx *cx, struct node *n)
{
	const struct type *x = &n->in[0]->type;
	int axis = checked_axis(cx, n, "axis"), count = count_lengths(cx, n, 1, "the shape");
	if (axis < 0 || count < 0)
		return false;
	uint32_t at = (uint32_t)axis, rank = x->rank - 1 + (uint32_t)count, hole;
	bool open;
	dim *d = new_dims(cx, rank);
	for (uint32_t i = 0; i < x->rank; i++)
		if (i != at)
			d[i < at ? i : i + (uint32_t)count - 1] = x->dims[i];
	return read_new_lengths(cx, n, d, at, (uint32_t)count, rank, &hole, &open) &&
	       set_reshaped_dims(cx, n, d, rank, hole, open);
}

/* --- Shape and SpecifyShape --- */

bool sh_shape(struct ctx *cx, struct node *n)
{
	dim *d = new_dims(cx, 1);
	d[0] = dim_const(cx, n->in[0]->type.rank);
	return set_dims(n, 1, d);
}

bool sh_shape_i(struct ctx *cx, struct node *n)
{
	return checked_axis(cx, n, "i") >= 0 && set_dims(n, 0, new_dims(cx, 0));
}

bool sh_specify_shape(struct ctx *cx, struct node *n)
{
	const struct type *x = &n->in[0]->type;
	if (n->nin - 1 != x->rank) {
		error(cx, n->span, E_ARITY, "%s: expected %u length%s for %s, got %d", n->op->name,
		      x->rank, x->rank == 1 ? "" : "s", type_str(cx, *x), n->nin - 1);
		return false;
	}
	dim *d = copy_dims(cx, x);
	for (uint32_t i = 0; i < x->rank; i++) {
		struct value *v = n->in[i + 1];
		if (!v)
			continue;
		if (!want_int_scalar(cx, n, i + 1, "a length"))
			return false;
		dim want = scalar_dim(cx, v);
		if (!want)
			want = dim_fresh(cx, SOURCE_VALUE, v, 0);
		if (!dim_assert(cx, &d[i], want, n->span)) {
			error(cx, n->span, E_SHAPE, "%s: axis %u of %s is not %s long", n->op->name,
			      i, type_str(cx, *x), dim_str(cx, want));
			return false;
		}
	}
	return set_dims(n, x->rank, d);
}

bool diagonal_offset(struct ctx *cx, struct node *n, int64_t *k)
{
	*k = prop_int(cx, n, "offset");
	if (*k >= INT32_MIN && *k <= INT32_MAX)
		return true;
	error(cx, n->span, E_RANGE, "%s: the offset %lld is more than NumPy takes", n->op->name,
	      (long long)*k);
	return false;
}

bool sh_extractdiag(struct ctx *cx, struct node *n)
{
	const struct type *x = &n->in[0]->type;
	int a = checked_axis(cx, n, "axis1"), b = a < 0 ? -1 : checked_axis(cx, n, "axis2");
	int64_t k;
	if (a < 0 || b < 0 || !diagonal_offset(cx, n, &k))
		return false;
	if (a == b) {
		error(cx, n->span, E_RANGE, "%s: the two axes are the same", n->op->name);
		return false;
	}
	dim *d = new_dims(cx, x->rank), rows = x->dims[a], cols = x->dims[b];
	uint32_t rank = 0;
	for (int i = 0; i < x->rank; i++)
		if (i != a && i != b)
			d[rank++] = x->dims[i];
	if (k >= 0)
		cols = dim_sub(cx, cols, dim_const(cx, k));
	else
		rows = dim_add(cx, rows, dim_const(cx, k));
	d[rank++] = dim_at_least(cx, dim_min(cx, rows, cols), 0);
	return set_dims(n, rank, d);
}
