/*
 * rules_random.c: the types of random variables and of generators. In: a node `next, draw =
 * normal_rv(rng, size, loc, scale)`. Out: next is a generator of the kind of rng. The draw has the
 * shape that size says, or without size the one that the parameters broadcast to; the dims of one
 * draw, such as (n) of "(n),(n,n)->(n)", follow. As NumPy does, a parameter broadcasts to size
 * where its length is 1 at run time.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ops/rules.h"

#define MAX_CORE 16 /* letters of a name in a signature, names of a parameter */

static const char *draw_signature(struct ctx *cx, const struct node *n)
{
	const char *given = prop_str(cx, n, "signature");

	return given ? given : n->op->core;
}

static bool wrong_signature(struct ctx *cx, const struct node *n)
{
	error(cx, n->span, E_PROPERTY,
	      "%s: the signature has to be like \"(),()->()\", for %u "
	      "parameter%s",
	      n->op->name, n->nin - 2u, n->nin == 3 ? "" : "s");
	return false;
}

/* Reads "(a,b)": sets names[], which point into s, and their number; NULL: it is wrong */
static const char *read_group(const char *s, const char *names[MAX_CORE], uint32_t *count)
{
	*count = 0;
	if (*s++ != '(')
		return NULL;
	while (*s != ')') {
		if (*count == MAX_CORE)
			return NULL;
		names[(*count)++] = s;
		while (isalnum((unsigned char)*s) || *s == '_')
			s++;
		if (s == names[*count - 1] || (*s != ',' && *s != ')'))
			return NULL;
		s += *s == ',' && s[1] != ')';
	}
	return s + 1;
}

static bool same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, ",)");

	return n == strcspn(b, ",)") && !memcmp(a, b, n);
}

uint32_t draw_core_rank(struct ctx *cx, const struct node *n, uint32_t param)
{
	const char *s = draw_signature(cx, n), *names[MAX_CORE];
	uint32_t count = 0;

	for (uint32_t i = 0; i <= param; i++) {
		s = read_group(s, names, &count);
		s += *s == ',' ? 1 : *s == '-' ? 2 : 0;
	}
	return count;
}

/* The length of the support that no parameter has as a length: that of permutation(5), and those
 * that the last argument of choice says */
static dim support_length(struct ctx *cx, struct node *n, const char *name, uint32_t axis)
{
	const struct value *v = n->in[n->nin - 1];
	const struct known *k = known_of(cx, n->in[n->nin - 1]);
	uint32_t i = v->type.rank ? (uint32_t)(name[0] == 's' ? atoi(name + 1) : 0) : 0;

	return k && i < k->n ? k->at[i] : dim_fresh(cx, SOURCE_SIZE, n->out[1], axis);
}

/* Sets d[] to the dims of one draw and *rank to their number; false: reported */
static bool support_dims(struct ctx *cx, struct node *n, dim *d, uint32_t lead, uint32_t *rank)
{
	const char *s = draw_signature(cx, n), *names[MAX_CORE], *out[MAX_CORE];
	uint32_t count, nout;
	const char *arrow = s ? strstr(s, "->") : NULL;

	if (!arrow || !(arrow = read_group(arrow + 2, out, &nout)) || *arrow)
		return wrong_signature(cx, n);
	for (uint32_t k = 0; k < nout; k++)
		d[k] = isdigit((unsigned char)*out[k]) ? dim_const(cx, atoi(out[k])) : DIM_NONE;
	for (uint32_t i = 2; i < n->nin; i++) {
		const struct type *t = &n->in[i]->type;
		s = read_group(s, names, &count);
		if (!s || (i + 1u < n->nin ? *s++ != ',' : strncmp(s, "->", 2) != 0))
			return wrong_signature(cx, n);
		if (t->rank < count) {
			error(cx, n->span, E_RANK,
			      "%s: argument %u needs %u dim%s at least, but is %s", n->op->name,
			      i + 1, count, count == 1 ? "" : "s", type_str(cx, *t));
			return false;
		}
		for (uint32_t a = 0; a < count; a++) {
			dim length = t->dims[t->rank - count + a];
			for (uint32_t k = 0; k < nout; k++) {
				if (!same_name(names[a], out[k]))
					continue;
				if (d[k] && !dim_meet(cx, &d[k], length, n->span)) {
					error(cx, n->span, E_SHAPE,
					      "%s: the lengths %s and %s must be equal",
					      n->op->name, dim_str(cx, d[k]), dim_str(cx, length));
					return false;
				}
				d[k] = d[k] ? d[k] : length;
			}
		}
	}
	for (uint32_t k = 0; k < nout; k++)
		if (!d[k])
			d[k] = support_length(cx, n, out[k], lead + k);
	*rank = nout;
	return true;
}

/* The dims of a size that is given; false: reported */
static bool size_dims(struct ctx *cx, struct node *n, dim *d, uint32_t *rank)
{
	struct value *size = n->in[1];
	const struct known *known = known_of(cx, size);
	int64_t count, k;

	if (!is_int((enum dtype)size->type.dtype) || size->type.rank != 1 ||
	    !dim_is_const(cx, size->type.dims[0], &count) || count > MAX_RANK) {
		error(cx, n->span, E_DTYPE,
		      "%s: the size is None or a vector of integers of a known length, not %s",
		      n->op->name, type_str(cx, size->type));
		return false;
	}
	for (uint32_t i = 0; i < count; i++) {
		d[i] = known ? known->at[i] : dim_fresh(cx, SOURCE_SIZE, n->out[1], i);
		if (!dim_is_const(cx, d[i], &k) || k >= 0)
			continue;
		error(cx, n->span, E_RAISES, "%s: negative dimensions are not allowed",
		      n->op->name);
		return false;
	}
	*rank = (uint32_t)count;
	return true;
}

/* Can the batch dims of every parameter be stretched to size? false: reported */
static bool params_fit(struct ctx *cx, struct node *n, struct value **batch, const dim *d,
		       uint32_t rank)
{
	for (uint32_t i = 2; i < n->nin; i++) {
		const struct type *t = &batch[i]->type;
		bool fits = t->rank <= rank;
		for (uint32_t k = 0; fits && k < t->rank; k++)
			fits = dim_is_one(cx, t->dims[k]) ||
			       !dim_ne(cx, t->dims[k], d[rank - t->rank + k]);
		if (fits)
			continue;
		error(cx, n->span, E_SHAPE,
		      "%s: argument %u, %s, does not broadcast to the size %s", n->op->name, i + 1,
		      type_str(cx, n->in[i]->type),
		      strchr(type_str(cx, (struct type){DT_INT64, (uint8_t)rank, (dim *)d}), '['));
		return false;
	}
	return true;
}

static bool batch_dims(struct ctx *cx, struct node *n, dim *d, uint32_t *rank)
{
	struct value **batch = new_array(cx->arena, struct value *, n->nin);

	*rank = 0;
	for (uint32_t i = 2; i < n->nin; i++) {
		const struct type *t = &n->in[i]->type;
		uint32_t r = t->rank - draw_core_rank(cx, n, i - 2);
		batch[i] = new (cx->arena, struct value);
		batch[i]->type = (struct type){t->dtype, (uint8_t)r, t->dims};
		*rank = r > *rank ? r : *rank;
	}
	if (n->in[1])
		return size_dims(cx, n, d, rank) && params_fit(cx, n, batch, d, *rank);
	return broadcast_dims(cx, n, batch + 2, n->nin - 2u, d, *rank);
}

bool sh_random(struct ctx *cx, struct node *n)
{
	const struct type *rng = &n->in[0]->type;
	enum dtype t = (enum dtype)n->out[0]->type.dtype;
	dim batch[MAX_RANK + 1], support[MAX_CORE];
	uint32_t lead, rank;

	if (!is_rng((enum dtype)rng->dtype)) {
		error(cx, n->span, E_DTYPE,
		      "%s: argument 1 must be a generator, such as r: rng or rng(42), but is %s",
		      n->op->name, type_str(cx, *rng));
		return false;
	}
	if (rng->rank) {
		error(cx, n->span, E_RANK,
		      "%s: draws are made of one generator, as in %s(r[i], ...), but this is %s",
		      n->op->name, n->op->name, type_str(cx, *rng));
		return false;
	}
	if (!support_dims(cx, n, support, 0, &rank) || !batch_dims(cx, n, batch, &lead))
		return false;
	if (lead && !support_dims(cx, n, support, lead, &rank))
		return false;
	dim *d = new_dims(cx, lead + rank);
	for (uint32_t i = 0; i < lead + rank; i++)
		d[i] = i < lead ? batch[i] : support[i - lead];
	set_type(n, 0, (enum dtype)rng->dtype, 0, NULL);
	set_type(n, 1, t, lead + rank, d);
	return true;
}

/* The dtype that the property asks for, if it is of the kind of `usual`; DT_NONE: reported */
static enum dtype drawn(struct ctx *cx, struct node *n, enum dtype usual)
{
	enum dtype t = prop_dtype(cx, n, "dtype");

	if (!t || is_float(t) == is_float(usual))
		return t ? t : usual;
	error(cx, n->span, E_DTYPE, "%s: draws of %s cannot be %s", n->op->name, dtypes[usual].name,
	      dtypes[t].name);
	return DT_NONE;
}

enum dtype ty_drawn_float(struct ctx *cx, struct node *n)
{
	return drawn(cx, n, cx->floatx);
}

enum dtype ty_drawn_int64(struct ctx *cx, struct node *n)
{
	return drawn(cx, n, DT_INT64);
}

enum dtype ty_drawn_param(struct ctx *cx, struct node *n)
{
	return drawn(cx, n, (enum dtype)n->in[2]->type.dtype);
}

/* --- generators and their words --- */

bool sh_generator_to_words(struct ctx *cx, struct node *n)
{
	const struct type *t = &n->in[0]->type;

	if (!is_rng((enum dtype)t->dtype)) {
		error(cx, n->span, E_DTYPE, "%s: %s is no generator", n->op->name,
		      type_str(cx, *t));
		return false;
	}
	dim *d = new_dims(cx, t->rank + 1u);
	for (uint32_t i = 0; i < t->rank; i++)
		d[i] = t->dims[i];
	d[t->rank] = dim_const(cx, state_words((enum dtype)t->dtype));
	set_type(n, 0, DT_UINT64, t->rank + 1u, d);
	return true;
}

bool sh_words_to_generator(struct ctx *cx, struct node *n)
{
	struct type *t = &n->in[0]->type;
	enum dtype kind = prop_dtype(cx, n, "dtype");
	dim words = dim_const(cx, is_rng(kind) ? state_words(kind) : 0);

	if (!is_rng(kind)) {
		error(cx, n->span, E_PROPERTY, "%s: %s is no dtype of generators", n->op->name,
		      dtypes[kind].name);
		return false;
	}
	if (t->dtype != DT_UINT64 || !t->rank ||
	    !dim_unify(cx, t->dims[t->rank - 1], words, n->span)) {
		error(cx, n->span, t->dtype != DT_UINT64 ? E_DTYPE : E_SHAPE,
		      "%s: the words of %s are uint64[%u], but this is %s", n->op->name,
		      dtypes[kind].name, state_words(kind), type_str(cx, *t));
		return false;
	}
	set_type(n, 0, kind, t->rank - 1u, t->dims);
	return true;
}
