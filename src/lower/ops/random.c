/*
 * random.c: lowers random variables. In: a node `next, draw = normal_rv(rng, size, loc, scale)`, in
 * which generators are words. Out: what the fn of the library that the row names makes of the
 * words, the batch shape of the draw and the parameters. A parameter that the fn declares with a
 * dtype is cast to it. One whose batch dims are all 1 is passed without them, so that the fn can
 * ask for its rank; the others have lengths that are 1 in their types or those of the draw. The
 * draw is computed in NumPy's dtype, and then cast to its own.
 */
#include <string.h>

#include "lower/ops/lowerings.h"
#include "ops/rules.h"

static struct value *held(struct build *b, struct value *v, struct span s)
{
	struct value *r = held_by(b, v, v->type, s);

	r->known = v->known;
	return r;
}

/* The shape of the draw without its support, whose dims are d */
static struct value *batch_shape(struct build *b, struct node *n, const dim *d, uint32_t rank)
{
	bool known = true;

	for (uint32_t i = 0; i < rank; i++)
		known &= dim_available(b, d[i]);
	return known || !n->in[1] ? dims_vector(b, d, rank) : cast(b, low(b, n->in[1]), DT_INT64);
}

static bool surely_lengths(struct build *b, const dim *d, uint32_t rank)
{
	bool sure = true;

	for (uint32_t i = 0; i < rank; i++)
		sure &= dim_is_length(b->cx, d[i]);
	return sure;
}

/* v, for which no length of a size is negative */
static struct value *check_lengths_of(struct build *b, struct value *v, struct value *shape,
				      const dim *d, uint32_t rank)
{
	return surely_lengths(b, d, rank)
		       ? v
		       : check(b, v, emit_(b, ONNX_GreaterOrEqual, shape, const_int(b, 0)),
			       "negative dimensions are not allowed");
}

/* v, a parameter with `core` dims of its own behind those of the batch, whose shape is given with
 * its dims d */
static struct value *parameter(struct build *b, struct value *v, uint32_t core, struct value *shape,
			       const dim *d, uint32_t rank)
{
	uint32_t own = v->type.rank - core, open = 0;
	dim whole[MAX_RANK], lengths[MAX_RANK];
	int64_t axes[MAX_RANK];
	const char *message = "the size is not compatible with the broadcast dimensions of inputs";

	for (uint32_t i = 0; i < own; i++) {
		dim length = v->type.dims[i];
		if (dim_is(b->cx, length, 1) || dim_eq(b->cx, length, d[rank - own + i]))
			continue;
		lengths[open] = length;
		axes[open++] = rank - own + i;
	}
	if (dims_are_ones(b->cx, v->type.dims, own))
		return own ? reshape(b, v, v->type.dims + own, core) : v;
	if (!open)
		return v;
	struct value *is = dims_vector(b, lengths, open);
	struct value *want = emit_(b, ONNX_Gather, shape, const_ints(b, axes, open));
	struct value *fits = emit_(b, ONNX_Equal, is, const_int(b, 1));
	fits = emit_(b, ONNX_Or, fits, emit_(b, ONNX_Equal, is, want));
	v = check(b, v, fits, message);
	memcpy(whole, d, rank * sizeof(*d));
	memcpy(whole + rank, v->type.dims + own, core * sizeof(*d));
	struct value *parts[2] = {shape, dims_vector(b, whole + rank, core)};
	v = emit_(b, ONNX_Expand, v, core ? concat(b, 0, parts, 2) : shape);
	return with_dims(labelled(b, v, message), memcpy(new_array(b->cx->arena, dim, rank + core),
							 whole, (rank + core) * sizeof(*d)));
}

/* The properties of n for its fn, which may ask for `core`, the rank of one item of parameter 1 */
static struct cv *draw_props(struct build *b, struct node *n)
{
	const struct op_sig *sig = op_sig(b->cx, n->op);
	struct cv *props = new_array(b->cx->arena, struct cv, sig->nprops);

	memcpy(props, n->props, sig->nprops * sizeof(*props));
	for (uint32_t i = 0; i < sig->nprops; i++)
		if (!strcmp(sig->props[i].name->s, "core"))
			props[i] = cv_int(draw_core_rank(b->cx, n, 0), b->span);
	return props;
}

bool lower_random(struct build *b, struct node *n)
{
	const char *name = draw_has_more(n) ? n->op->draw_more : n->op->draw;
	struct fn *f = lib_fn(b->cx, name);
	const struct type *t = &n->out[1]->type;
	struct value **in = new_array(b->cx->arena, struct value *, n->nin), *out[2];
	uint32_t rank = t->rank - draw_core_rank(b->cx, n, n->nin - 2u);

	if (!f)
		bug("%s: the library has no fn '%s'", n->op->name, name);
	in[0] = n->in[0];
	struct value *shape = batch_shape(b, n, t->dims, rank);
	/* of a negative length nothing is drawn, so that loops end before the check of it fails */
	in[1] = held(b,
		     surely_lengths(b, t->dims, rank) ? shape
						      : emit_(b, ONNX_Max, shape, const_int(b, 0)),
		     n->span);
	for (uint32_t i = 2; i < n->nin; i++) {
		enum dtype want = fn_param_dtype(f, i);
		struct value *v = low(b, n->in[i]);
		uint32_t core = draw_core_rank(b->cx, n, i - 2);
		v = parameter(b, want ? cast(b, v, want) : v, core, shape, t->dims, rank);
		in[i] = held(b, v, n->span);
	}
	if (b->scope->shared->failed || !call_fn(b, f, n->op, draw_props(b, n), in, n->nin, out, 2))
		return false;
	for (int i = 0; i < 2; i++)
		out[i] = check_lengths_of(b, out[i], shape, t->dims, rank);
	set_lowered(b, n, 0, out[0]);
	set_lowered(b, n, 1, cast(b, out[1], (enum dtype)t->dtype));
	return true;
}
