/*
 * shape.c: lowers ops that move, join, split and create tensors. Lengths that the types know are
 * constants, and not read at run time. As in PyTensor, the run fails for a Squeeze of a length that
 * is not 1, a Reshape to another size, and Split sizes that do not add up.
 */
#include <math.h>
#include <string.h>

#include "lower/ops/lowerings.h"

/* Transpose(x, perm). If only axes of length 1 move it is a Reshape, or nothing. */
static struct value *permute(struct build *b, struct value *x, const int64_t *perm, const dim *dims)
{
	int64_t last = -1;
	bool moves = false;

	for (uint32_t i = 0; i < x->type.rank; i++) {
		if (dim_is(b->cx, x->type.dims[perm[i]], 1))
			continue;
		moves |= perm[i] < last;
		last = perm[i];
	}
	return moves ? transpose(b, x, perm) : reshape(b, x, dims, x->type.rank);
}

bool lower_dimshuffle(struct build *b, struct node *n)
{
	struct value *x = low(b, n->in[0]);
	int order[MAX_RANK], length = dimshuffle_order(b->cx, n, order);
	int64_t put[MAX_RANK], drop[MAX_RANK], perm[MAX_RANK], at[MAX_RANK];
	dim kept[MAX_RANK];
	uint32_t nput = 0, ndrop = 0, nperm = 0;
	bool used[MAX_RANK] = {false};

	if (length < 0)
		return false;
	for (int i = 0; i < length; i++) {
		if (order[i] < 0) {
			put[nput++] = i;
			continue;
		}
		used[order[i]] = true;
		kept[nperm] = x->type.dims[order[i]];
		perm[nperm++] = order[i];
	}
	for (uint32_t i = 0; i < x->type.rank; i++) {
		at[i] = i - ndrop;
		if (!used[i])
			drop[ndrop++] = i;
	}
	for (uint32_t i = 0; i < nperm; i++)
		perm[i] = at[perm[i]];
	bool sorted = true, ones = true;
	for (uint32_t i = 1; i < nperm; i++)
		sorted &= perm[i] > perm[i - 1];
	for (uint32_t i = 0; i < ndrop; i++)
		ones &= dim_is(b->cx, x->type.dims[drop[i]], 1);
	if (sorted && ones) {
		x = reshape(b, x, n->out[0]->type.dims, n->out[0]->type.rank);
	} else {
		x = permute(
			b, squeeze(b, x, drop, ndrop), perm,
			memcpy(new_array(b->cx->arena, dim, nperm + 1), kept, nperm * sizeof(dim)));
		x = unsqueeze(b, x, put, nput);
	}
	set_lowered(b, n, 0, x);
	return true;
}

bool lower_expanddims(struct build *b, struct node *n)
{
	int axes[MAX_RANK], k = prop_axes(b->cx, n, "axes", n->out[0]->type.rank, axes, true);
	int64_t at[MAX_RANK];

	for (int i = 0; i < k; i++)
		at[i] = axes[i];
	if (k >= 0)
		set_lowered(b, n, 0, unsqueeze(b, low(b, n->in[0]), at, (uint32_t)k));
	return k >= 0;
}

bool lower_squeeze(struct build *b, struct node *n)
{
	struct value *x = low(b, n->in[0]);
	struct type t = n->in[0]->type;
	int axes[MAX_RANK], k = 0;
	int64_t at[MAX_RANK];

	if (prop_is_none(b->cx, n, "axes")) {
		for (int i = 0; i < t.rank; i++)
			if (dim_is(b->cx, t.dims[i], 1))
				at[k++] = i;
	} else {
		k = prop_axes(b->cx, n, "axes", t.rank, axes, true);
		for (int i = 0; i < k; i++)
			at[i] = axes[i];
	}
	if (k >= 0)
		set_lowered(b, n, 0, squeeze(b, x, at, (uint32_t)k));
	return k >= 0;
}

bool lower_transpose(struct build *b, struct node *n)
{
	struct value *x = low(b, n->in[0]);
	const struct cv *axes = prop(b->cx, n, "axes");
	int64_t perm[MAX_RANK];

	for (uint32_t i = 0; i < x->type.rank; i++) {
		perm[i] = x->type.rank - 1 - i;
		if (axes->kind == CV_LIST) {
			const struct cv *a = &axes->u.items[i];
			perm[i] =
				a->neg ? (int64_t)x->type.rank - (int64_t)a->u.i : (int64_t)a->u.i;
		}
	}
	set_lowered(b, n, 0, permute(b, x, perm, n->out[0]->type.dims));
	return true;
}

bool lower_matrix_transpose(struct build *b, struct node *n)
{
	struct value *x = low(b, n->in[0]);
	int64_t perm[MAX_RANK];
	uint32_t rank = x->type.rank;

	for (uint32_t i = 0; i < rank; i++)
		perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
	set_lowered(b, n, 0, permute(b, x, perm, n->out[0]->type.dims));
	return true;
}

/* The shape k, with its -1 computed from the size of x */
static const dim *resolve_minus_one(struct build *b, struct value *x, const struct known *k)
{
	dim *d = new_array(b->cx->arena, dim, k->n), rest = dim_const(b->cx, 1);
	dim minus = dim_const(b->cx, -1);

	for (uint32_t i = 0; i < k->n; i++)
		if (!dim_eq(b->cx, k->at[i], minus))
			rest = dim_mul(b->cx, rest, k->at[i]);
	for (uint32_t i = 0; i < k->n; i++) {
		d[i] = k->at[i];
		if (dim_eq(b->cx, d[i], minus))
			d[i] = dim_floordiv(b->cx, dims_product(b->cx, x->type.dims, x->type.rank),
					    rest);
	}
	return d;
}

/* May an element of the shape that is 0 at run time be no size, but a number that the user
 * computed?
 */
static bool may_be_zero_number(struct build *b, const struct known *k)
{
	for (uint32_t i = 0; i < k->n; i++)
		if (!dim_ge(b->cx, k->at[i], 1) && !dim_eq(b->cx, k->at[i], dim_const(b->cx, -1)) &&
		    !dim_is_size(b, k->at[i]))
			return true;
	return false;
}

/* If x is empty and the shape has a 0, any length would do for -1: NumPy raises, ONNX Runtime takes
 * one. A 0 in the shape becomes -4, which makes the run fail. */
static struct value *reject_zero(struct build *b, struct value *x, struct value *shape)
{
	if (dim_ge(b->cx, dims_product(b->cx, x->type.dims, x->type.rank), 1))
		return shape;
	struct value *zero = emit_(b, ONNX_Equal, shape, const_int(b, 0));
	return emit_(b, ONNX_Where, zero, const_int(b, -4), shape);
}

/* The shape k as a constant, in which 0 copies the length of x on that axis. As in NumPy, the run
 * fails if there is a -1 and a copied length is 0. NULL: k has other lengths */
static struct value *copying_shape(struct build *b, struct value *x, const struct known *k)
{
	int64_t shape[MAX_RANK] = {0};

	if (k->n > MAX_RANK)
		return NULL;
	for (uint32_t i = 0; i < k->n; i++)
		if (!dim_is_const(b->cx, k->at[i], &shape[i]) &&
		    (i >= x->type.rank || !dim_eq(b->cx, k->at[i], x->type.dims[i])))
			return NULL;
	return const_ints(b, shape, k->n);
}

static const char zero_label[] = "a length beside -1 must not be 0";

/* Reshape to k, which has a -1 that ONNX Runtime computes. */
static struct value *reshape_infer(struct build *b, struct value *x, const struct known *k,
				   const dim *dims, uint32_t rank)
{
	struct value *copied = copying_shape(b, x, k);
	bool zero = false;

	for (uint32_t i = 0; i < k->n; i++)
		zero |= !dim_ge(b->cx, k->at[i], 1) &&
			!dim_eq(b->cx, k->at[i], dim_const(b->cx, -1));
	if (copied) {
		struct value *r = with_dims(emit_(b, ONNX_Reshape, x, copied), dims);
		return zero ? labelled(b, r, zero_label) : r;
	}
	if (zero && zero_means_zero(b) && !may_be_zero_number(b, k) &&
	    dims_same_product(b->cx, dims, rank, x->type.dims, x->type.rank))
		return reshape(b, x, dims,
			       rank); /* beside a 0, runtimes take another length for -1 */
	if (zero && zero_means_zero(b))
		return labelled(b,
				reshape_to(b, x, reject_zero(b, x, dims_vector(b, k->at, k->n)),
					   dims, rank),
				zero_label);
	if (zero) /* a 0 would copy a length: the division by 0 fails instead */
		return reshape_to(b, x, dims_vector(b, resolve_minus_one(b, x, k), k->n), dims,
				  rank);
	return with_dims(emit_(b, ONNX_Reshape, x, dims_vector(b, k->at, k->n)), dims);
}

/* The shape of a Reshape that may not fit. ONNX Runtime fuses a Concat of sizes and one other
 * number into the Reshape, with -1 for the number: then any number fits. A Mul by ones prevents it.
 */
static struct value *prevent_concat_fusion(struct build *b, struct value *shape)
{
	int64_t ones[MAX_RANK];
	int64_t n;

	if (!is_onnx(shape->def, ONNX_Concat) || !dim_is_const(b->cx, shape->type.dims[0], &n) ||
	    n > MAX_RANK)
		return shape;
	for (int64_t i = 0; i < n; i++)
		ones[i] = 1;
	return emit_(b, ONNX_Mul, shape, const_ints(b, ones, (uint32_t)n));
}

/* The shape of a Reshape, computed at run time. NumPy takes any negative length for -1, but raises
 * if another length is 0. So each length below 1 becomes the sign of the smallest one: with a 0 and
 * a negative length there are two -1, and Reshape fails. */
static struct value *normalize_negative_length(struct build *b, const struct known *k,
					       struct value *shape)
{
	bool plain = k != NULL;
	uint32_t low = 0; /* lengths that may be 0 or less */
	int64_t n = 2;

	for (uint32_t i = 0; k && i < k->n; i++) {
		plain &= k->at[i] && dim_ge(b->cx, k->at[i], -1);
		low += !k->at[i] || !dim_ge(b->cx, k->at[i], 1);
	}
	dim_is_const(b->cx, shape->type.dims[0], &n);
	if (plain || shape->data || n == 0)
		return shape;
	if (n == 1 || (k && low == 1)) {
		struct value *negative = emit_(b, ONNX_Less, shape, const_int(b, 0));
		return emit_(b, ONNX_Where, negative, const_int(b, -1), shape);
	}
	struct value *least[2], *in[] = {shape, const_ints(b, &(int64_t){1}, 1)};
	attr_int(b, "largest", 0);
	emit_n(b, ONNX_TopK, in, 2, least, 2);
	struct value *below = emit_(b, ONNX_Less, shape, const_int(b, 1));
	return emit_(b, ONNX_Where, below, emit_(b, ONNX_Sign, least[0]), shape);
}

/* May a run ask for a length of 0? Then a result that has none by its type is another one: the run
 * fails. */
static bool may_ask_for_0(struct build *b, const struct known *k, const struct value *shape)
{
	if (!k)
		return !shape->data;
	for (uint32_t i = 0; i < k->n; i++)
		if (!k->at[i] || !(dim_ge(b->cx, k->at[i], 1) || dim_le(b->cx, k->at[i], -1)))
			return true;
	return false;
}

struct value *reshape_computed(struct build *b, struct value *x, const struct known *k,
			       struct value *shape, struct type t)
{
	bool zero = may_ask_for_0(b, k, shape) || dims_may_be_0(b->cx, t.dims, t.rank, t.rank);

	shape = prevent_concat_fusion(b, normalize_negative_length(b, k, shape));
	return reshape_to_asked(b, x, shape, t.dims, t.rank, zero);
}

/* Reshape of x to the lengths `asked`, of which one may be negative; NULL: they cannot all be
 * computed from dims, or *fails (reported). */
struct value *reshape_known(struct build *b, struct value *x, const struct known *asked,
			    struct type t, bool *fails)
{
	bool minus = false, zero = false, all = asked != NULL;
	struct known *k = all ? known_new(b->cx, asked->n) : NULL;
	int64_t c;

	for (uint32_t i = 0; all && i < k->n; i++) {
		bool is_const = dim_is_const(b->cx, asked->at[i], &c);
		k->at[i] = is_const && c < 0 ? dim_const(b->cx, -1) : asked->at[i];
		all &= k->at[i] != DIM_NONE && dim_available(b, k->at[i]);
		minus |= all && is_const && c < 0;
		zero |= is_const && c == 0;
	}
	*fails = minus && zero;
	if (*fails)
		raises(b, "a shape with -1 cannot have a length of 0");
	if (*fails || !all)
		return NULL;
	struct value *r = reshape_as_tile(b, x, t.dims, t.rank);
	if (r)
		return r;
	if (minus)
		return same_dims(b->cx, x->type, t) ? x : reshape_infer(b, x, k, t.dims, t.rank);
	if (k->n == t.rank && dims_same_product(b->cx, k->at, k->n, x->type.dims, x->type.rank))
		return reshape(b, x, k->at, t.rank);
	return reshape_computed(b, x, k, dims_vector(b, k->at, k->n), t);
}

/* "n", "4", "-1"; "k" or "s[1]" of an integer that is given; else "?" */
static const char *length_text(struct build *b, const struct node *n, const struct known *k,
			       uint32_t i)
{
	const struct value *shape = n->in[1], *from;
	struct dim_view v;
	int64_t c;

	if (k && k->at[i] && dim_is_const(b->cx, k->at[i], &c) && c < 0)
		return "-1";
	if (k && k->at[i]) {
		v = dim_view_as_made(b->cx, k->at[i]);
		const char *text = dim_str_as_made(b->cx, k->at[i]);
		if (v.form != DIM_ATOM || v.name)
			return strchr(text, '?') ? "?" : text;
	}
	if (is_call(shape->def, OP_MakeVector)) {
		for (from = shape->def->in[i]; !from->name && is_call(from->def, OP_Cast);)
			from = from->def->in[0];
		return from->name ? from->name->s : "?";
	}
	if (shape->name)
		return arena_printf(b->cx->arena, "%s[%u]", shape->name->s, i);
	return "?";
}

/* Is the number of elements of x surely that of the lengths k, of which one may be -1? */
static bool surely_fits(struct build *b, const struct type *x, const struct known *k)
{
	dim all = dims_product(b->cx, x->dims, x->rank), others = dim_const(b->cx, 1);
	bool hole = false;
	int64_t c;

	for (uint32_t i = 0; i < k->n; i++) {
		if (!k->at[i])
			return false;
		bool minus = dim_is_const(b->cx, k->at[i], &c) && c < 0;
		if (!minus)
			others = dim_mul(b->cx, others, k->at[i]);
		hole |= minus;
	}
	dim length = hole ? dim_floordiv(b->cx, all, others) : dim_const(b->cx, 1);
	return dim_eq(b->cx, dim_mul(b->cx, length, others), all);
}

#define MAX_LABEL 200

/* Is no length made of others? That of an x: float32[2 * n] the Reshape to [n, 2] may be the only
 * node to compare. */
static bool has_plain_lengths(struct build *b, const struct type *x)
{
	for (uint32_t i = 0; i < x->rank; i++) {
		enum dim_form form = dim_view_as_made(b->cx, x->dims[i]).form;
		if (form != DIM_ATOM && form != DIM_CONST)
			return false;
	}
	return true;
}

/* What a run that fails says: "Reshape: [n, m] must have as many elements as [n, 4]" */
static const char *reshape_label(struct build *b, const struct node *n, const struct known *k)
{
	const struct type *x = &n->in[0]->type;
	struct strbuf text = {.arena = b->cx->arena};
	int64_t count;

	if ((k && surely_fits(b, x, k) && has_plain_lengths(b, x)) ||
	    !dim_is_const(b->cx, n->in[1]->type.dims[0], &count))
		return NULL;
	sb_str(&text, "Reshape: [");
	for (uint32_t i = 0; i < x->rank; i++)
		sb_printf(&text, "%s%s", i ? ", " : "", dim_str_as_made(b->cx, x->dims[i]));
	sb_str(&text, "] must have as many elements as [");
	for (uint32_t i = 0; i < count; i++)
		sb_printf(&text, "%s%s", i ? ", " : "", length_text(b, n, k, i));
	sb_str(&text, "]");
	return text.len <= MAX_LABEL ? text.s : "Reshape: the numbers of elements must agree";
}

bool lower_reshape(struct build *b, struct node *n)
{
	struct value *x = low(b, n->in[0]);
	struct type t = n->out[0]->type;
	const struct known *k = known_of(b->cx, n->in[1]);
	bool fails;
	struct value *r = reshape_known(b, x, k, t, &fails);

	if (fails)
		return false;
	if (!r)
		r = reshape_computed(b, x, k, cast(b, low(b, n->in[1]), DT_INT64), t);
	const char *label = is_onnx(r->def, ONNX_Reshape) ? reshape_label(b, n, k) : NULL;
	if (label && r->def->label && !strncmp(r->def->label, zero_label, strlen(zero_label)))
		r->def->label = NULL; /* it is not the only reason to fail */
	set_lowered(b, n, 0, label ? labelled(b, r, label) : r);
	return true;
}

bool lower_shape(struct build *b, struct node *n)
{
	set_lowered(b, n, 0, shape_of(b, low(b, n->in[0])));
	return true;
}

bool lower_shape_i(struct build *b, struct node *n)
{
	const struct type *t = &n->in[0]->type;
	int64_t i = prop_int(b->cx, n, "i");

	set_lowered(b, n, 0, dim_value(b, t->dims[from_front(i, t->rank)]));
	return true;
}

/* Inference recorded the lengths as equations of dims, which are checked. */
bool lower_specify_shape(struct build *b, struct node *n)
{
	set_lowered(b, n, 0, low(b, n->in[0]));
	return true;
}

bool lower_join(struct build *b, struct node *n)
{
	struct type t = n->out[0]->type;
	uint32_t axis = prop_axis(b->cx, n, "axis"), k = 0;
	struct value **in = new_array(b->cx->arena, struct value *, n->nin);

	for (uint32_t i = 0; i < n->nin; i++) {
		if (dim_is(b->cx, n->in[i]->type.dims[axis], 0) && (k || i + 1 < n->nin))
			continue;
		in[k++] = cast(b, low(b, n->in[i]), (enum dtype)t.dtype);
	}
	set_lowered(b, n, 0, concat(b, (int)axis, in, k));
	return true;
}

bool lower_split(struct build *b, struct node *n)
{
	struct value **out = new_array(b->cx->arena, struct value *, n->nout);
	struct value *sizes = cast(b, low(b, n->in[1]), DT_INT64);

	split(b, low(b, n->in[0]), (int)prop_axis(b->cx, n, "axis"), sizes, out, n->nout);
	for (uint32_t i = 0; i < n->nout; i++)
		set_lowered(b, n, i, out[i]);
	return true;
}

bool lower_makevector(struct build *b, struct node *n)
{
	struct type t = n->out[0]->type;
	struct value **in = new_array(b->cx->arena, struct value *, n->nin + 1);

	if (!n->nin) {
		set_lowered(b, n, 0, cast(b, const_ints(b, NULL, 0), (enum dtype)t.dtype));
		return true;
	}
	for (uint32_t i = 0; i < n->nin; i++) {
		struct value *x = cast(b, low(b, n->in[i]), (enum dtype)t.dtype);
		/* the words of a generator are a vector */
		in[i] = x->type.rank ? unsqueeze(b, x, &(int64_t){0}, 1) : vector_of(b, x);
	}
	set_lowered(b, n, 0, concat(b, 0, in, n->nin));
	return true;
}

/* Are the values of inputs [first, first + rank) known, and can dims[] be computed? Otherwise the
 * lengths are read from the inputs. */
static bool lengths_are_given(struct build *b, struct node *n, uint32_t first, const dim *dims,
			      uint32_t rank)
{
	for (uint32_t i = 0; i < rank; i++) {
		const struct known *k = known_of(b->cx, n->in[first + i]);
		if (!k || k->n != 1 || !dim_available(b, dims[i]))
			return false;
	}
	return true;
}

/* The shape from inputs [first, nin), an integer scalar for each axis. */
static struct value *shape_from_inputs(struct build *b, struct node *n, uint32_t first,
				       const dim *dims)
{
	uint32_t rank = first ? n->nin - first : n->out[0]->type.rank;
	struct value *part[MAX_RANK + 1];

	if (lengths_are_given(b, n, first, dims, rank))
		return dims_vector(b, dims, rank);
	for (uint32_t i = 0; i < rank; i++)
		part[i] = vector_of(b, cast(b, low(b, n->in[first + i]), DT_INT64));
	return concat(b, 0, part, rank);
}

bool lower_alloc(struct build *b, struct node *n)
{
	struct value *v = low(b, n->in[0]);
	struct type t = n->out[0]->type;

	if (lengths_are_given(b, n, 1, t.dims, t.rank))
		v = expand(b, v, t.dims, t.rank);
	else
		v = with_dims(emit_(b, ONNX_Expand, v, shape_from_inputs(b, n, 1, t.dims)), t.dims);
	set_lowered(b, n, 0, v);
	return true;
}

bool lower_allocempty(struct build *b, struct node *n)
{
	struct type t = n->out[0]->type;

	set_lowered(b, n, 0,
		    filled_to(b, (enum dtype)t.dtype, shape_from_inputs(b, n, 0, t.dims), t.dims,
			      t.rank, 0));
	return true;
}

static const char arange_label[] = "the first two numbers of an ARange must fit into its dtype";

/* Is integer argument i proved to be within +-2^53, where float64 holds all integers? */
static bool argument_fits_float64(struct build *b, struct node *n, uint32_t i)
{
	const int64_t most = (int64_t)1 << 53;
	bool one = !n->in[i]->type.rank; /* and not one for each item of a batch */
	dim d = one ? known_at(b->cx, cast(b, low(b, n->in[i]), DT_INT64), 0) : DIM_NONE;

	if (dtypes[n->in[i]->type.dtype].size < 8)
		return true;
	return d && (dim_is_size(b, d) || (dim_le(b->cx, d, most) && dim_ge(b->cx, d, -most)));
}

/* Makes the run fail if the first two integers do not fit into t: NumPy converts them from Python
 * integers, and raises. */
static struct value *check_first_two(struct build *b, struct value *all, enum dtype t)
{
	uint32_t bits = 8u * dtypes[t].size;
	bool is_signed = dtypes[t].kind == KIND_INT;
	int64_t top = is_signed || bits == 64 ? INT64_MAX >> (bits == 64 ? 0 : 64 - bits)
					      : (int64_t)(UINT64_MAX >> (64 - bits));
	int axis = all->type.rank - 1;
	struct value *two = slice_ints(b, all, axis, 0, 2);
	struct value *low_end = const_int(b, is_signed ? -top - 1 : 0);
	struct value *below = emit_(b, ONNX_Less, two, low_end);
	struct value *out = emit_(b, ONNX_Or, below, emit_(b, ONNX_Less, const_int(b, top), two));

	out = reduce(b, ONNX_ReduceSum, cast(b, out, DT_INT32), &axis, 1, false);
	return emit_(b, ONNX_Equal, out, const_int_of(b, DT_INT32, 0));
}

/* Are the first two sure to fit? */
static bool fit_first(struct build *b, struct value **v, enum dtype t)
{
	int64_t start, step, next;

	if (t == DT_INT64 || t == DT_BOOL || !is_int(t))
		return true;
	if (v[0]->type.rank || v[2]->type.rank)
		return false;
	if (!known_int(b->cx, v[0], 0, &start) || !known_int(b->cx, v[2], 0, &step) ||
	    __builtin_add_overflow(start, step, &next))
		return false;
	return known_holds(b->cx, t, dim_const(b->cx, start)) &&
	       known_holds(b->cx, t, dim_const(b->cx, next));
}

/* Numbers of the items of a batch as a column */
static struct value *as_column_of_items(struct build *b, struct value *v)
{
	return v->type.rank ? unsqueeze(b, v, &(int64_t){1}, 1) : v;
}

/* 0, 1, ... for the items of each ARange of a batch, which must be `count` for all, where `ok` */
static struct value *item_numbers(struct build *b, struct value *count, struct value *ok)
{
	b->scope->shared->small_ints = true;
	count = emit_(b, ONNX_Max, count, const_int(b, 0));
	b->scope->shared->small_ints = false;
	count = check(b, same_for_all(b, count), ok, "an ARange must have a number of items");
	return iota_of(b, count);
}

/* v, with one for each item of the batch whose results are t */
static struct value *for_each_item(struct build *b, struct value *v, struct type t)
{
	return t.rank == 2 ? expand(b, v, t.dims, 1) : v;
}

/* Is distance what stop - start is? It wraps around where that is 2^63 or more. */
static struct value *is_distance(struct build *b, struct value *distance, struct value **v)
{
	struct value *back = emit_(b, ONNX_Less, v[1], v[0]);

	return emit_(b, ONNX_Equal, back, emit_(b, ONNX_Less, distance, const_int(b, 0)));
}

/* ceil((stop - start) / step) items from start on, for each of a batch */
static struct value *aranges_of_ints(struct build *b, struct value **v)
{
	struct value *zero = const_int(b, 0), *ok = cast(b, v[2], DT_BOOL);
	struct value *step = emit_(b, ONNX_Where, ok, v[2], const_int(b, 1));
	struct value *distance = emit_(b, ONNX_Sub, v[1], v[0]);
	struct value *rest = emit_(b, ONNX_Mod, distance, step);
	struct value *count = emit_(b, ONNX_Div, emit_(b, ONNX_Sub, distance, rest), step);

	rest = emit_(b, ONNX_Not, emit_(b, ONNX_Equal, rest, zero));
	count = emit_(b, ONNX_Add, count, cast(b, rest, DT_INT64));
	ok = emit_(b, ONNX_And, ok, is_distance(b, distance, v));
	struct value *i = item_numbers(b, count, ok);
	i = emit_(b, ONNX_Mul, i, as_column_of_items(b, v[2]));
	return emit_(b, ONNX_Add, i, as_column_of_items(b, v[0]));
}

/* The same where both are known: a range that is too long on each run is reported. */
static void refuse_far_ends(struct build *b, struct value **v)
{
	int64_t start, stop, distance;

	if (known_int(b->cx, v[0], 0, &start) && known_int(b->cx, v[1], 0, &stop) &&
	    __builtin_sub_overflow(stop, start, &distance))
		raises(b, "the ends of an ARange are 2^63 or more apart");
}

/* The runtime's Range counts items by start and stop as float64, which does not hold each int64: it
 * gets what is behind the start. */
static struct value *arange_int(struct build *b, struct node *n, enum dtype t)
{
	struct value *v[3], *r;

	for (int i = 0; i < 3; i++)
		v[i] = cast(b, low(b, n->in[i]), DT_INT64);
	v[0] = for_each_item(b, v[0], n->out[0]->type);
	if (v[0]->type.rank) {
		r = aranges_of_ints(b, v);
	} else if (argument_fits_float64(b, n, 0)) {
		r = emit_(b, ONNX_Range, v[0], v[1], v[2]);
	} else {
		refuse_far_ends(b, v);
		struct value *distance = emit_(b, ONNX_Sub, v[1], v[0]);
		struct value *range = emit_(b, ONNX_Range, const_int(b, 0), distance, v[2]);
		r = check(b, range, is_distance(b, distance, v), "an ARange is too long");
		r = emit_(b, ONNX_Add, r, v[0]);
	}
	r = with_dims(r, n->out[0]->type.dims);
	if (!fit_first(b, v, t))
		r = check(b, r, check_first_two(b, r, t), arange_label);
	return cast(b, r, t);
}

/* 1, or 0 where NumPy finds no number of items, of which there would be `count`: the step is 0, or
 * count is NaN, infinite or beyond int64. Range refuses a step of 0, so that the run fails. NULL:
 * that is so on every run, which is reported. */
static struct value *step_if_countable(struct build *b, struct value **v, struct value *count,
				       bool ints)
{
	double start, stop, step = 0;
	bool sure = single_number(v[2]->data, &step) && step != 0;

	if (sure &&
	    (ints || (single_number(v[0]->data, &start) && single_number(v[1]->data, &stop)))) {
		if (ints || fabs((stop - start) / step) < 0x1p63)
			return const_int(b, 1);
		raises(b, "there is no number of items that could be made");
		return NULL;
	}
	if (ints)
		return cast(b, cast(b, v[2], DT_BOOL), DT_INT64);
	count = emit_(b, ONNX_Abs, count);
	count = emit_(b, ONNX_Less, count, const_of(b, wide_float(b), 0x1p63));
	return cast(b, count, DT_INT64);
}

/* Where a step the right way is so large that (stop - start) / step is 0, NumPy still makes one
 * item. */
static struct value *at_least_one(struct build *b, struct value **v, struct value *distance,
				  struct value *count)
{
	double step;

	if (single_number(v[2]->data, &step) && fabs(step) <= 1)
		return count; /* no quotient is 0 then */
	struct value *way = emit_(b, ONNX_Mul, emit_(b, ONNX_Sign, distance), v[2]);
	way = emit_(b, ONNX_Less, const_of(b, wide_float(b), 0), way);
	return emit_(b, ONNX_Max, count, cast(b, way, wide_float(b)));
}

/* The first item is the start as it is: -0 + 0 * step would be 0, and 0 * inf NaN. */
static struct value *first_as_it_is(struct build *b, struct node *n, struct value **v,
				    struct value *first, struct value *i, struct value *items)
{
	double k;
	bool minus = is_float((enum dtype)n->in[0]->type.dtype) &&
		     (!single_number(v[0]->data, &k) || (k == 0 && signbit(k)));
	bool inf = is_float((enum dtype)n->in[2]->type.dtype) &&
		   (!single_number(v[2]->data, &k) || !isfinite(k));

	if (!is_float((enum dtype)first->type.dtype) || (!minus && !inf))
		return items;
	return emit_(b, ONNX_Where, cast(b, i, DT_BOOL), items, first);
}

/* Between which floats lie those whose integer part fits into t? */
static void limits(enum dtype t, double *least, double *beyond)
{
	bool is_signed = dtypes[t].kind == KIND_INT;

	*beyond = ldexp(1, 8 * (int)dtypes[t].size - is_signed);
	*least = is_signed ? -*beyond : 0;
	*least = dtypes[t].size < 8 ? nextafter(*least - 1, 0) : *least;
	*least = is_signed ? *least : nextafter(-1, 0);
}

static struct value *fits_int(struct build *b, struct value *v, enum dtype t)
{
	double least, beyond;

	limits(t, &least, &beyond);
	if (wide_float(b) == DT_FLOAT32) /* its next number, if least is none of its own */
		least = (float)least <= least ? least : nextafterf((float)least, 0);
	struct value *enough = emit_(b, ONNX_LessOrEqual, const_of(b, wide_float(b), least), v);
	return emit_(b, ONNX_And, enough,
		     emit_(b, ONNX_Less, v, const_of(b, wide_float(b), beyond)));
}

static bool surely_fits_int(const struct value *v, enum dtype t)
{
	double k, least, beyond;

	limits(t, &least, &beyond);
	return single_number(v->data, &k) && k >= least && k < beyond;
}

/* items, or a failing run where the first two of them are floats that do not fit into t: of items
 * that there are, NumPy makes Python's integers of these. */
static struct value *fitting_first(struct build *b, struct value *items, struct value *first,
				   struct value *second, struct value *count, enum dtype t)
{
	if (!is_int(t) || (surely_fits_int(first, t) && surely_fits_int(second, t)))
		return items;
	struct value *none = emit_(b, ONNX_Less, count, const_int(b, 1));
	struct value *one = emit_(b, ONNX_Less, count, const_int(b, 2));
	struct value *ok = emit_(b, ONNX_Or, fits_int(b, second, t), one);

	ok = emit_(b, ONNX_Or, emit_(b, ONNX_And, ok, fits_int(b, first, t)), none);
	return check(b, items, ok, arange_label);
}

/* ceil((stop - start) / step) of the numbers as they are, and not of quotients that float32 rounds:
 * a remainder is exact, and so is what is lost in the distance, stop - start. */
static struct value *count_by_remainder(struct build *b, struct value **v, struct value *distance)
{
	attr_int(b, "fmod", 1);
	struct value *rest = emit_(b, ONNX_Mod, distance, v[2]);
	struct value *count = emit_(b, ONNX_Div, emit_(b, ONNX_Sub, distance, rest), v[2]);

	if (distance != v[1]) {
		struct value *minus_start = emit_(b, ONNX_Sub, distance, v[1]);
		struct value *stop = emit_(b, ONNX_Sub, distance, minus_start);
		struct value *lost = emit_(b, ONNX_Sub, v[1], stop);
		lost = emit_(b, ONNX_Sub, lost, emit_(b, ONNX_Add, v[0], minus_start));
		rest = emit_(b, ONNX_Add, rest, lost);
	}
	rest = emit_(b, ONNX_Mul, rest, emit_(b, ONNX_Sign, v[2]));
	rest = emit_(b, ONNX_Less, const_of(b, DT_FLOAT32, 0), rest);
	count = emit_(b, ONNX_Round, count);
	return emit_(b, ONNX_Add, count, cast(b, rest, DT_FLOAT32));
}

/*
 * PyTensor gives Python's numbers to NumPy's arange: ceil((stop - start) / step) items in float64,
 * where the target has that, then first + i * (second - first) in the arithmetic of the result.
 */
bool lower_arange(struct build *b, struct node *n)
{
	enum dtype t = (enum dtype)n->out[0]->type.dtype;
	struct value *v[3];
	int64_t step;
	bool ints = true;

	for (int i = 0; i < 3; i++)
		ints &= is_discrete((enum dtype)n->in[i]->type.dtype);
	if (ints && known_int(b->cx, low(b, n->in[2]), 0, &step) && step == 0) {
		raises(b, "the step is 0");
		return false;
	}
	bool single = wide_float(b) == DT_FLOAT32;
	bool same = t == DT_FLOAT64 && ints && argument_fits_float64(b, n, 0) &&
		    argument_fits_float64(b, n, 2);
	if (ints && (is_discrete(t) || same || single)) {
		set_lowered(b, n, 0, arange_int(b, n, t));
		return true;
	}
	for (int i = 0; i < 3; i++)
		v[i] = cast(b, low(b, n->in[i]), wide_float(b));
	v[0] = for_each_item(b, v[0], n->out[0]->type);
	double by;
	bool zero = is_plus_zero(v[0]->data);
	struct value *distance = zero ? v[1] : emit_(b, ONNX_Sub, v[1], v[0]);
	if (ints && !argument_fits_float64(b, n, 0)) {
		struct value *from = cast(b, low(b, n->in[0]), DT_INT64);
		distance = emit_(b, ONNX_Sub, cast(b, low(b, n->in[1]), DT_INT64), from);
		distance = cast(b, distance, wide_float(b));
	}
	struct value *count = emit_(b, ONNX_Div, distance, v[2]);
	struct value *one = step_if_countable(b, v, count, ints);
	if (!one)
		return false;
	count = single ? count_by_remainder(b, v, distance) : emit_(b, ONNX_Ceil, count);
	count = cast(b, ints ? count : at_least_one(b, v, distance, count), DT_INT64);
	enum dtype calc = t == DT_FLOAT16 ? DT_FLOAT32 : t;
	struct value *first = cast(b, cast(b, v[0], t), calc);
	struct value *next = zero ? v[2] : emit_(b, ONNX_Add, v[0], v[2]);
	struct value *second = cast(b, cast(b, next, t), calc);
	struct value *i, *delta = zero ? second : emit_(b, ONNX_Sub, second, first);
	if (v[0]->type.rank)
		i = item_numbers(b, count, cast(b, one, DT_BOOL));
	else
		i = emit_(b, ONNX_Range, const_int(b, 0), count, one);
	first = as_column_of_items(b, first);
	struct value *r = cast(b, i, calc);
	r = emit_(b, ONNX_Mul, r, as_column_of_items(b, delta));
	if (!zero || !single_number(v[2]->data, &by) || by < 0) /* 0 * -1 is -0 */
		r = emit_(b, ONNX_Add, r, first);
	r = first_as_it_is(b, n, v, first, i, r);
	r = with_dims(fitting_first(b, r, v[0], next, count, t), n->out[0]->type.dims);
	set_lowered(b, n, 0, cast(b, r, t));
	return true;
}

bool lower_eye(struct build *b, struct node *n)
{
	struct type t = n->out[0]->type;
	struct value *k = cast(b, low(b, n->in[2]), DT_INT64);
	int64_t offset;

	if (known_int(b->cx, k, 0, &offset) && t.dtype != DT_UINT64) {
		bool direct = t.dtype == DT_FLOAT32 || t.dtype == DT_FLOAT64 ||
			      t.dtype == DT_INT32 || t.dtype == DT_INT64;
		enum dtype made = direct ? (enum dtype)t.dtype : DT_INT32;
		struct value *zero =
			filled_to(b, made, shape_from_inputs(b, n, 0, t.dims), t.dims, 2, 0);
		if (offset)
			attr_int(b, "k", offset);
		set_lowered(b, n, 0, cast(b, emit_(b, ONNX_EyeLike, zero), (enum dtype)t.dtype));
		return true;
	}
	/* each element's row and column; a Range would take a negative length for 0 */
	struct value *one =
		filled_to(b, DT_INT64, shape_from_inputs(b, n, 0, t.dims), t.dims, 2, 1);
	struct value *row = emit_(b, ONNX_CumSum, one, const_int(b, 0));
	struct value *column = emit_(b, ONNX_CumSum, one, const_int(b, 1));
	struct value *on = emit_(b, ONNX_Equal, emit_(b, ONNX_Add, row, k), column);
	set_lowered(b, n, 0, cast(b, on, (enum dtype)t.dtype));
	return true;
}
