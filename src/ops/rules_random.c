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

#define MAX_CORE   8 /* dims of a parameter, and of a draw, besides those of the batch */
#define MAX_PARAMS 4

/* "(n),(n,n)->(n)": the names of the dims of each parameter, then of the draw */
struct signature {
	const char *name[MAX_PARAMS + 1][MAX_CORE]; /* up to a comma or bracket */
	uint32_t rank[MAX_PARAMS + 1];
	uint32_t nparams;
};

/* Reads "(a,b)" as group g; NULL: it is wrong */
static const char *read_group(const char *s, struct signature *sig, uint32_t g)
{
	if (g > MAX_PARAMS || *s++ != '(')
		return NULL;
	while (*s != ')') {
		const char *begin = s;
		while (isalnum((unsigned char)*s) || *s == '_')
			s++;
		if (s == begin || (*s != ',' && *s != ')') || sig->rank[g] == MAX_CORE)
			return NULL;
		sig->name[g][sig->rank[g]++] = begin;
		s += *s == ',';
	}
	return s + 1;
}

static bool read_text(const char *s, struct signature *sig)
{
	*sig = (struct signature){0};
	for (s = read_group(s, sig, 0); s && *s == ',';)
		s = read_group(s + 1, sig, ++sig->nparams);
	if (!s || strncmp(s, "->", 2) != 0)
		return false;
	s = read_group(s + 2, sig, ++sig->nparams);
	return s && !*s;
}

/* permutation(5) has one dim, any other as many as what is permuted; choice(a, p, shape), where p
 * may be left out, has those of shape and all but the first of a. */
static bool fits_op(const struct node *n, const struct signature *sig,
		    const struct signature *usual)
{
	uint32_t last = sig->nparams - 1, rank = sig->rank[0], own = sig->rank[sig->nparams];
	int64_t lengths = 0;

	if (is_call(n, OP_permutation_rv))
		return sig->nparams == 1 && own == (rank ? rank : 1);
	if (!is_call(n, OP_choice_without_replacement_rv))
		return sig->nparams == usual->nparams &&
		       !memcmp(sig->rank, usual->rank, sizeof(sig->rank));
	if (last < 1 || last > 2 || sig->rank[last] != 1)
		return false;
	lengths = strtol(sig->name[last][0], NULL, 10);
	return lengths >= 0 && own == lengths + (rank ? rank - 1 : 0) &&
	       (last == 1 || sig->rank[1] == 1);
}

/* false: the property is no signature that the op can have */
static bool read_signature(struct ctx *cx, const struct node *n, struct signature *sig)
{
	const char *s = prop_str(cx, n, "signature");
	struct signature usual;

	read_text(n->op->core, &usual);
	if (!s) {
		*sig = usual;
		return true;
	}
	return read_text(s, sig) && fits_op(n, sig, &usual);
}

uint32_t draw_core_rank(struct ctx *cx, const struct node *n, uint32_t param)
{
	struct signature sig;

	read_signature(cx, n, &sig);
	return sig.rank[param];
}

bool draw_has_more(const struct node *n)
{
	struct signature usual;

	return read_text(n->op->core, &usual) && n->nin > usual.nparams + 2;
}

static bool same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, ",)");

	return n == strcspn(b, ",)") && !memcmp(a, b, n);
}

/* Is the number of parameters that of the signature? false: reported */
static bool check_param_count(struct ctx *cx, const struct node *n, const struct signature *sig)
{
	if (n->nin == sig->nparams + 2)
		return true;
	error(cx, n->span, E_ARITY,
	      "%s: expected %u arguments, a generator, the size or None, and %u parameter%s, but "
	      "got %u",
	      n->op->name, sig->nparams + 2, sig->nparams, sig->nparams == 1 ? "" : "s", n->nin);
	return false;
}

/* Where the signature has a number for a length, as in "(a),(1)->(s0)", is parameter i so many
 * integers? They are the lengths of a draw. false: reported */
static bool check_numbers(struct ctx *cx, const struct node *n, const struct signature *sig,
			  uint32_t i)
{
	const struct type *t = &n->in[i + 2]->type;

	for (uint32_t a = 0; a < sig->rank[i]; a++) {
		dim length = t->dims[t->rank - sig->rank[i] + a];
		if (!isdigit((unsigned char)*sig->name[i][a]))
			continue;
		if (!is_int((enum dtype)t->dtype)) {
			error(cx, n->span, E_DTYPE,
			      "%s: argument %u has the lengths of a draw, such as [3], but is %s",
			      n->op->name, i + 3, type_str(cx, *t));
			return false;
		}
		int64_t wanted = strtoll(sig->name[i][a], NULL, 10);
		if (dim_meet(cx, &length, dim_const(cx, wanted), n->span))
			continue;
		error(cx, n->span, E_SHAPE,
		      "%s: argument %u must have %lld element%s along its last axis, but is %s",
		      n->op->name, i + 3, (long long)wanted, wanted == 1 ? "" : "s",
		      type_str(cx, *t));
		return false;
	}
	return true;
}

/* Are there as many parameters as the signature has, each with the dims of its own? */
static bool check_params(struct ctx *cx, const struct node *n, const struct signature *sig)
{
	if (!check_param_count(cx, n, sig))
		return false;
	for (uint32_t i = 0; i < sig->nparams; i++) {
		const struct type *t = &n->in[i + 2]->type;
		if (t->rank < sig->rank[i]) {
			error(cx, n->span, E_RANK,
			      "%s: argument %u needs %u dim%s at least, but is %s", n->op->name,
			      i + 3, sig->rank[i], sig->rank[i] == 1 ? "" : "s", type_str(cx, *t));
			return false;
		}
		if (!check_numbers(cx, n, sig, i))
			return false;
	}
	return true;
}

/* The length that the signature calls `name`, which is that of parameters; *d stays DIM_NONE where
 * none has it. false: reported */
static bool named_length(struct ctx *cx, const struct node *n, const struct signature *sig,
			 const char *name, dim *d)
{
	for (uint32_t i = 0; i < sig->nparams; i++)
		for (uint32_t a = 0; a < sig->rank[i]; a++) {
			const struct type *t = &n->in[i + 2]->type;
			dim length = t->dims[t->rank - sig->rank[i] + a];
			if (!same_name(sig->name[i][a], name))
				continue;
			if (*d && !dim_meet(cx, d, length, n->span)) {
				error(cx, n->span, E_SHAPE,
				      "%s: the lengths %s and %s must be equal", n->op->name,
				      dim_str(cx, *d), dim_str(cx, length));
				return false;
			}
			*d = *d ? *d : length;
		}
	return true;
}

/* Length k of the support where no parameter has it as a length: it is an element of the last one,
 * as in permutation(5), and in choice(a, (2, 3)). */
static dim counted_length(struct ctx *cx, struct node *n, uint32_t k, uint32_t axis)
{
	const struct known *last = known_of(cx, n->in[n->nin - 1]);

	return last && k < last->n ? last->at[k] : dim_fresh(cx, SOURCE_SIZE, n->out[1], axis);
}

/* Sets d[] to the dims of one draw, which is the last group of the signature; false: reported */
static bool support_dims(struct ctx *cx, struct node *n, const struct signature *sig, dim *d,
			 uint32_t lead)
{
	for (uint32_t i = 0; i < sig->nparams; i++)
		for (uint32_t a = 0; a < sig->rank[i]; a++) {
			dim ignored = DIM_NONE;
			if (!named_length(cx, n, sig, sig->name[i][a], &ignored))
				return false;
		}
	for (uint32_t k = 0; k < sig->rank[sig->nparams]; k++) {
		const char *name = sig->name[sig->nparams][k];
		d[k] = DIM_NONE;
		if (!named_length(cx, n, sig, name, &d[k]))
			return false;
		d[k] = d[k] ? d[k] : counted_length(cx, n, k, lead + k);
	}
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
		      "%s: the size is None or a vector of integers, such as [3], not %s",
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
			fits = dim_says_one(cx, t->dims[k]) ||
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

static bool batch_dims(struct ctx *cx, struct node *n, const struct signature *sig, dim *d,
		       uint32_t *rank)
{
	struct value **batch = new_array(cx->arena, struct value *, n->nin);

	*rank = 0;
	for (uint32_t i = 2; i < n->nin; i++) {
		const struct type *t = &n->in[i]->type;
		uint32_t r = t->rank - sig->rank[i - 2];
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
	struct signature sig;
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
	if (!read_signature(cx, n, &sig)) {
		error(cx, n->span, E_PROPERTY, "%s: the signature has to be like \"%s\"",
		      n->op->name, n->op->core);
		return false;
	}
	if (!check_params(cx, n, &sig) || !batch_dims(cx, n, &sig, batch, &lead) ||
	    !support_dims(cx, n, &sig, support, lead))
		return false;
	rank = sig.rank[sig.nparams];
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
	struct signature sig;

	if (n->nin < 3 && read_signature(cx, n, &sig) && !check_param_count(cx, n, &sig))
		return DT_NONE;
	return drawn(cx, n, (enum dtype)n->in[2]->type.dtype);
}

/* --- generators and their words --- */

bool sh_default_generator(struct ctx *cx, struct node *n)
{
	if (!want_int_scalar(cx, n, 0, "a seed"))
		return false;
	set_type(n, 0, DT_RNG, 0, NULL);
	return true;
}

bool sh_generator_to_words(struct ctx *cx, struct node *n)
{
	const struct type *t = &n->in[0]->type;

	if (!is_rng((enum dtype)t->dtype)) {
		error(cx, n->span, E_DTYPE, "%s: %s is not a generator", n->op->name,
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
		error(cx, n->span, E_PROPERTY, "%s: %s is not a dtype of generators", n->op->name,
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
