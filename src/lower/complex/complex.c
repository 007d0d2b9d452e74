/*
 * complex.c: complex numbers, which ONNX Runtime has no tensors of. In: a typed node with a complex
 * argument or result. Out: real ONNX values. A complex value is held by a real one with one more
 * axis at its end, of length 2: the real part, then the imaginary one, as NumPy lays them out.
 * Arithmetic is done on the two parts, which are put together for what needs the whole: outputs of
 * blocks, and ops whose lowering says so. How an op is done says its row's .complex; without one it
 * is refused. Must hold: a real argument beside complex ones has the imaginary part +0, as in
 * NumPy.
 */
#include <math.h>
#include <string.h>

#include "lower/build.h"
#include "ops/rules.h"

/* Constants up to this many elements are taken apart here. */
#define FOLD_LIMIT 4096

/* Types */

static enum dtype part_of(enum dtype t)
{
	return t == DT_COMPLEX64 ? DT_FLOAT32 : t == DT_COMPLEX128 ? DT_FLOAT64 : t;
}

static bool complex_type(struct type t)
{
	return is_complex((enum dtype)t.dtype);
}

struct type low_type(struct build *b, struct type t)
{
	if (!complex_type(t))
		return t;
	dim *dims = new_array(b->cx->arena, dim, t.rank + 1u);
	if (t.rank)
		memcpy(dims, t.dims, t.rank * sizeof(dim));
	dims[t.rank] = dim_const(b->cx, 2);
	return type_of(part_of((enum dtype)t.dtype), t.rank + 1u, dims);
}

bool has_complex(const struct node *n)
{
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && complex_type(n->in[i]->type))
			return true;
	for (uint32_t i = 0; i < n->nout; i++)
		if (complex_type(n->out[i]->type))
			return true;
	return false;
}

/* Parts of ONNX values */

static const struct pair *find_pair(struct build *b, const struct value *v)
{
	struct shared *s = b->cse->shared;
	struct probe p = {.hash = v->id};

	while (hash_next(&s->pair_table, &p))
		if (s->pairs.at[p.number].whole == v)
			return &s->pairs.at[p.number];
	return NULL;
}

/* Every second number of a constant, from number i on. */
static struct value *constant_part(struct build *b, const struct tensor *t, uint32_t i)
{
	struct tensor *x = tensor_new(b->cx, (enum dtype)t->dtype, t->rank - 1, t->shape);
	size_t size = dtypes[t->dtype].size;
	char *to = arena_alloc(b->cx->arena, mul_size(b->cx->arena, x->count + 1, size));

	for (uint64_t k = 0; k < x->count; k++)
		memcpy(to + k * size, (const char *)t->data + (2 * k + i) * size, size);
	x->data = to;
	return const_tensor(b, x);
}

/* The real (0) or imaginary (1) part of a pair. */
struct value *complex_part(struct build *b, struct value *v, uint32_t i)
{
	const struct pair *p = find_pair(b, v);

	if (p)
		return p->part[i];
	if (v->data && !v->data->splat && v->data->count <= FOLD_LIMIT && !is_weight(v))
		return constant_part(b, v->data, i);
	attr_int(b, "axis", v->type.rank - 1);
	return with_dims(emit_(b, ONNX_Gather, v, const_int(b, i)), v->type.dims);
}

/* The pair of two parts, whose dims are those of `t`, a complex type. */
struct value *complex_whole(struct build *b, struct value *re, struct value *im, struct type t)
{
	int64_t last = t.rank;
	struct value *in[] = {unsqueeze(b, re, &last, 1), unsqueeze(b, im, &last, 1)};
	struct value *v = with_dims(concat(b, (int)last, in, 2), low_type(b, t).dims);
	struct shared *s = b->cse->shared;

	if (find_pair(b, v))
		return v;
	*vec_push(b->cx->scratch, &s->pairs) = (struct pair){v, {re, im}};
	hash_add(b->cx->scratch, &s->pair_table, v->id, s->pairs.len - 1);
	return v;
}

/* A complex constant: its very bytes, read as pairs. */
struct value *complex_constant(struct build *b, const struct tensor *t, bool weight)
{
	enum dtype real = part_of((enum dtype)t->dtype);
	int64_t shape[MAX_RANK + 1];
	size_t size = dtypes[real].size;

	memcpy(shape, t->shape, t->rank * sizeof(int64_t));
	if (t->splat) {
		struct value *parts[2];
		dim *dims = new_array(b->cx->arena, dim, t->rank + 1u);
		for (int i = 0; i < 2; i++) {
			struct tensor *x = tensor_new(b->cx, real, t->rank, shape);
			x->splat = true;
			x->data = (const char *)t->data + i * size;
			parts[i] = const_tensor(b, x);
		}
		for (int i = 0; i < t->rank; i++)
			dims[i] = dim_const(b->cx, shape[i]);
		return complex_whole(b, parts[0], parts[1],
				     type_of((enum dtype)t->dtype, t->rank, dims));
	}
	shape[t->rank] = 2;
	struct tensor *x = tensor_new(b->cx, real, t->rank + 1, shape);
	x->data = t->data;
	x->name = t->name;
	return weight ? const_weight(b, x) : const_tensor(b, x);
}

/* Parts of typed values */

/* A typed value that the ONNX value v holds. */
struct value *held_by(struct build *b, struct value *v, struct type t, struct span s)
{
	struct value *r = graph_value(b->cx, t, s);

	r->low = v;
	if (!complex_type(t))
		r->data = v->data;
	return r;
}

/* +0 for a real argument: one that broadcasts where the op does that, else as many as are needed.
 */
static struct value *no_imaginary(struct build *b, const struct node *n, struct type t)
{
	int64_t ones[MAX_RANK];
	dim *dims = new_array(b->cx->arena, dim, t.rank + 1u);
	struct tensor *zero;

	for (uint32_t i = 0; i < t.rank; i++) {
		ones[i] = 1;
		dims[i] = dim_const(b->cx, 1);
	}
	zero = tensor_new(b->cx, (enum dtype)t.dtype, t.rank, ones);
	zero->data = arena_alloc(b->cx->arena, sizeof(double));
	struct value *v = const_tensor(b, zero);
	if (n->op->shape != sh_broadcast)
		v = expand(b, v, dims = t.dims, t.rank);
	return held_by(b, v, type_of((enum dtype)t.dtype, t.rank, dims), b->span);
}

/* Part i of an argument in the real dtype t. */
static struct value *argument_part(struct build *b, const struct node *n, struct value *v,
				   enum dtype t, uint32_t i)
{
	struct type type = type_of(t, v->type.rank, v->type.dims);

	if (!complex_type(v->type))
		return i ? no_imaginary(b, n, type) : typed_cast(b, v, t);
	return held_by(b, cast(b, complex_part(b, low(b, v), i), t), type, v->span);
}

/* Nodes */

/* Is argument i a number, which may be complex, and not a length, an index or a condition? */
static bool is_number(const struct node *n, uint32_t i)
{
	if (n->op->cast != CAST_NONE)
		return i > 0 || n->op->cast != CAST_REST;
	if (!n->op->numbers)
		return i == 0 && complex_type(n->in[i]->type);
	return n->op->numbers >> (i < 7 ? i : 7) & 1;
}

/* The dtype of the parts that n works on: the result's, or all its arguments'. */
static enum dtype working_dtype(const struct node *n)
{
	enum dtype t = (enum dtype)n->out[0]->type.dtype;

	if (is_complex(t))
		return part_of(t);
	t = DT_NONE;
	for (uint32_t i = 0; i < n->nin; i++) {
		enum dtype x = n->in[i] ? (enum dtype)n->in[i]->type.dtype : DT_NONE;
		if (x && is_number(n, i))
			t = t ? dtype_upcast(t, x) : x;
	}
	return part_of(t);
}

/* Properties for one part: complex dtypes among them are those of parts. */
static struct cv *part_props(struct build *b, const struct node *n)
{
	uint32_t count = op_sig(b->cx, n->op)->nprops;
	struct cv *props = new_array(b->cx->arena, struct cv, count + 1);

	for (uint32_t i = 0; i < count; i++) {
		props[i] = n->props[i];
		if (props[i].kind == CV_DTYPE)
			props[i].u.dtype = part_of(props[i].u.dtype);
	}
	return props;
}

/* A complex result of real arguments: a sum or a product that is asked for as a complex one. */
static bool is_real(const struct node *n)
{
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && complex_type(n->in[i]->type))
			return false;
	return true;
}

/* The dtype of the parts of argument i, where n works on t: what is added into x is not rounded
 * before. */
static enum dtype part_dtype(const struct node *n, uint32_t i, enum dtype t)
{
	return n->op->dtype == ty_update ? part_of((enum dtype)n->in[i]->type.dtype) : t;
}

/* The op on each part; where the result is not complex (a shape), on the first one alone. */
static bool each_part(struct build *b, struct node *n, struct value **out)
{
	struct value **in = new_array(b->cx->arena, struct value *, n->nin + 1u);
	struct cv *props = part_props(b, n);
	enum dtype t = working_dtype(n);
	bool real = is_real(n), one = real || !complex_type(n->out[0]->type);

	for (uint32_t i = 0; i < n->nout && real; i++)
		out[n->nout + i] =
			expand(b, const_of(b, t, 0), n->out[i]->type.dims, n->out[i]->type.rank);
	for (uint32_t k = 0; k < (one ? 1u : 2u); k++) {
		for (uint32_t i = 0; i < n->nin; i++) {
			in[i] = n->in[i];
			if (in[i] && is_number(n, i))
				in[i] = argument_part(b, n, in[i], part_dtype(n, i, t), k);
		}
		if (!lower_as(b, n->op, props, in, n->nin, out + k * n->nout, n->nout))
			return false;
	}
	return true;
}

/* A fn of the library: two arguments for a number, two results for a complex one. */
static bool fn_on_parts(struct build *b, struct node *n, struct value **out)
{
	struct fn *f = lib_fn(b->cx, n->op->complex);
	struct value **in = new_array(b->cx->arena, struct value *, 2u * n->nin + 1), **to = in;
	struct value **r = new_array(b->cx->arena, struct value *, 2u * n->nout);
	uint32_t parts = complex_type(n->out[0]->type) ? 2 : 1;
	enum dtype t = working_dtype(n);

	if (!f)
		bug("%s: the library has no fn '%s'", n->op->name, n->op->complex);
	if (fn_results(f) != parts * n->nout) {
		unsupported(b, "a complex number is no %s: take its real part",
			    dtypes[n->out[0]->type.dtype].name);
		return false;
	}
	for (uint32_t i = 0; i < n->nin; i++) {
		if (!n->in[i] || !is_number(n, i)) {
			*to++ = n->in[i];
			continue;
		}
		*to++ = argument_part(b, n, n->in[i], t, 0);
		*to++ = argument_part(b, n, n->in[i], t, 1);
	}
	if (!call_fn(b, f, n->op, n->props, in, (uint32_t)(to - in), r, parts * n->nout))
		return false;
	for (uint32_t i = 0; i < n->nout; i++)
		for (uint32_t k = 0; k < parts; k++)
			out[k * n->nout + i] = r[i * parts + k];
	return true;
}

/* Results from their parts, in the dtype and dims that were promised. */
static void together(struct build *b, struct node *n, struct value **parts)
{
	for (uint32_t i = 0; i < n->nout; i++) {
		struct type t = n->out[i]->type;
		struct value *p[2] = {NULL, NULL};
		for (uint32_t k = 0; k < (complex_type(t) ? 2u : 1u); k++) {
			p[k] = cast(b, parts[k * n->nout + i], part_of((enum dtype)t.dtype));
			p[k] = n->op->shape == sh_broadcast ? expand(b, p[k], t.dims, t.rank)
							    : with_dims(p[k], t.dims);
		}
		lowered(b, n, i, p[1] ? complex_whole(b, p[0], p[1], t) : p[0]);
	}
}

/* a + b + ...: two by two from the left, as NumPy does it, each time in the dtype of the two. */
static bool two_by_two(struct build *b, struct node *n, struct value **out)
{
	struct block *body = block_new(b);
	struct span span = b->span;
	struct value *r = n->in[0], *sum;

	for (uint32_t i = 1; i < n->nin; i++) {
		struct value *in[] = {r, n->in[i]};
		r = graph_node(b->cx, body, n->op, n->props, in, 2, span)->out[0];
	}
	if (!lower_inlined(b, body, &r, 1, span, &sum))
		return false;
	for (uint32_t k = 0; k < 2; k++)
		out[k] = complex_part(b, sum, k);
	return true;
}

/* The exponent, if it is one whole number of fewer than three digits */
static bool whole_exponent(struct build *b, struct value *v, int64_t *k)
{
	double part_of_it[2] = {0, 0};
	struct value *e = low(b, v);

	for (uint32_t i = 0; i < (complex_type(v->type) ? 2u : 1u); i++) {
		struct value *x = complex_type(v->type) ? complex_part(b, e, i) : e;
		x = cast(b, x, DT_FLOAT64);
		if (!x->data || !(x->data->count == 1 || x->data->splat) || !x->data->data)
			return false;
		part_of_it[i] = tensor_float(x->data, 0);
	}
	if (part_of_it[1] != 0 || !(part_of_it[0] > -100 && part_of_it[0] < 100))
		return false;
	*k = (int64_t)part_of_it[0];
	return (double)*k == part_of_it[0];
}

static struct value *binary(struct build *b, struct block *body, enum op_id op, struct value *x,
			    struct value *y)
{
	return graph_node(b->cx, body, &op_table[op], NULL, (struct value *[]){x, y}, 2, b->span)
		->out[0];
}

static struct value *complex_number(struct build *b, enum dtype t, double re, double im)
{
	struct tensor *x = tensor_new(b->cx, t, 0, NULL);

	if (t == DT_COMPLEX64) {
		float *f = arena_alloc(b->cx->arena, 2 * sizeof(float));
		f[0] = (float)re, f[1] = (float)im;
		x->data = f;
	} else {
		double *f = arena_alloc(b->cx->arena, 2 * sizeof(double));
		f[0] = re, f[1] = im;
		x->data = f;
	}
	return graph_constant(b->cx, x, b->span);
}

/* x to the power k by squaring, in NumPy's order: 1 * x is another x if a part is infinite. */
static struct value *squarings(struct build *b, struct block *body, struct value *x, int64_t k)
{
	struct value *first = complex_number(b, (enum dtype)x->type.dtype, 1, 0), *r = first;

	for (int64_t n = k < 0 ? -k : k; n; n /= 2) {
		if (n & 1)
			r = binary(b, body, OP_Mul, r, x);
		if (n > 1)
			x = binary(b, body, OP_Mul, x, x);
	}
	return k < 0 ? binary(b, body, OP_True_div, first, r) : r;
}

/* r, but +0 or NaN where x is a zero */
static struct value *power_of_zero(struct build *b, struct block *body, struct value *x, int64_t k,
				   struct value *r)
{
	enum dtype t = (enum dtype)x->type.dtype;
	double z = k < 0 ? (double)NAN : 0;
	struct value *in[] = {NULL, complex_number(b, t, z, z), r};

	in[0] = binary(b, body, OP_Eq, x, complex_number(b, t, 0, 0));
	return graph_node(b->cx, body, &op_table[OP_Switch], NULL, in, 3, b->span)->out[0];
}

/* A power that is known to be a small whole number, by a few products. */
static bool power(struct build *b, struct node *n, int64_t k, struct value **out)
{
	struct block *body = block_new(b);
	struct value *x = n->in[0], *r = x;
	struct span span = b->span;

	if (k == 2 || k == 3)
		r = binary(b, body, OP_Mul, x, x);
	if (k == 3)
		r = binary(b, body, OP_Mul, x, r);
	if (k < 1 || k > 3)
		r = squarings(b, body, x, k);
	r = power_of_zero(b, body, x, k, r);
	if (!lower_inlined(b, body, &r, 1, span, &r))
		return false;
	for (uint32_t i = 0; i < 2; i++)
		out[i] = complex_part(b, r, i);
	return true;
}

static bool is_power(struct build *b, const struct node *n, int64_t *k)
{
	return n->op == &op_table[OP_Pow] && whole_exponent(b, n->in[1], k) && *k &&
	       n->in[0]->type.dtype == n->out[0]->type.dtype &&
	       same_dims(b->cx, n->in[0]->type, n->out[0]->type);
}

/* Does one body of two arguments serve any number of them? */
static bool is_chain(struct build *b, const struct node *n)
{
	return n->nin > 2 && !n->op->lowered && op_folds(b->cx, n->op);
}

/* A complex value of as many dims as there can be has no axis left for its parts. */
static bool leaves_axis(struct build *b, const struct value *v)
{
	if (!v || !complex_type(v->type) || v->type.rank < MAX_RANK)
		return true;
	unsupported(b, "complex numbers have at most %d dims", MAX_RANK - 1);
	return false;
}

/* An argument that must be real, or a complex one whose imaginary part would be lost. */
static bool takes_complex(struct build *b, const struct node *n)
{
	bool real = !complex_type(n->out[0]->type);

	for (uint32_t i = 0; i < n->nin; i++) {
		if (!n->in[i] || !complex_type(n->in[i]->type))
			continue;
		if (is_number(n, i) &&
		    (!real || n->op->complex != complex_each || reads_size(n, i)))
			continue;
		unsupported(b, "argument %u must not be complex here", i + 1);
		return false;
	}
	return true;
}

bool lower_complex(struct build *b, struct node *n)
{
	const char *how = n->op->complex;
	struct value **out = new_array(b->cx->arena, struct value *, 2u * n->nout);
	int64_t power_of;
	bool ok;

	for (uint32_t i = 0; i < n->nin; i++)
		if (!leaves_axis(b, n->in[i]))
			return false;
	for (uint32_t i = 0; i < n->nout; i++)
		if (!leaves_axis(b, n->out[i]))
			return false;
	if (how == complex_pair && !(n->op == &op_table[OP_Prod] && is_real(n)))
		return lowering_of(b, n->op)(b, n);
	if (how == complex_graph)
		return lower_complex_graph(b, n);
	if (!how) {
		unsupported(b, "ONNX has no complex tensors, and this op is not converted on "
			       "pairs of real and imaginary parts");
		return false;
	}
	if (n->op == &op_table[OP_Switch] && complex_type(n->in[0]->type)) {
		struct type t = n->in[0]->type;
		n->in[0] = held_by(b, complex_nonzero(b, n->in[0]),
				   type_of(DT_BOOL, t.rank, t.dims), n->in[0]->span);
	}
	if (!takes_complex(b, n))
		return false;
	if (is_power(b, n, &power_of))
		ok = power(b, n, power_of, out);
	else if (is_chain(b, n))
		ok = two_by_two(b, n, out);
	else
		ok = how == complex_each || how == complex_pair ? each_part(b, n, out)
								: fn_on_parts(b, n, out);
	if (ok)
		together(b, n, out);
	return ok;
}
