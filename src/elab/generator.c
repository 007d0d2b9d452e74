/*
 * generator.c: generators of random numbers as expressions. In: the arguments of rng(...),
 * rng_philox(...), ... Out: a constant, if they are literals: rng(42) is the generator of
 * np.random.default_rng(42), rng[3](42) are the three that its spawn(3) gives, rng([...]) has the
 * words of a state. Else a node: rng(w) has the words of w, of dtype uint64, along its last axis,
 * and rng(n) is made of the seed n when the model runs.
 */
#include <string.h>

#include "elab/internal.h"

#define MAX_SPAWNED 1000000

static struct cv state_constant(struct elab *e, enum dtype t, uint32_t rank, const int64_t *shape,
				const void *words, struct span s)
{
	struct tensor *x = tensor_new(e->cx, t, (int)rank, shape);

	x->data = words;
	return cv_value(graph_constant(e->cx, x, node_span(e, s)), s);
}

/* The words of uint64[..., words] as generators */
static struct cv from_words(struct elab *e, enum dtype t, struct value *v, struct span s)
{
	const struct type *w = &v->type;
	int64_t n = -1;

	if (w->rank)
		dim_is_const(e->cx, w->dims[w->rank - 1], &n);
	if (w->dtype != DT_UINT64 || n != state_words(t)) {
		elab_error(e, s, w->dtype == DT_UINT64 ? E_SHAPE : E_DTYPE,
			   "%s(...) takes a seed or the words of a state, uint64[%u], but this is "
			   "%s",
			   dtypes[t].name, state_words(t), type_str(e->cx, *w));
		return poison(s);
	}
	if (v->data && !v->data->splat)
		return state_constant(e, t, w->rank - 1u, v->data->shape, v->data->data, s);
	const struct op *op = op_named(e->cx, "WordsToGenerator");
	struct prop_arg arg = {.name = intern_str(e->cx, "dtype"), .span = s};
	arg.value = (struct cv){.kind = CV_DTYPE, .span = s, .u.dtype = t};
	struct cv *props = bind_props(e->cx, op, s, &arg, 1), words = cv_value(v, s);
	return props ? call_op(e, op, props, &words, 1, s) : poison(s);
}

/* The generator of a seed, or as many as `shape` says that it spawns */
static struct cv from_seed(struct elab *e, enum dtype t, uint64_t seed, uint32_t rank,
			   const int64_t *shape, struct span s)
{
	uint32_t n = state_words(t), count = rank ? (uint32_t)shape[0] : 1;
	uint32_t entropy[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
	uint64_t state[MAX_STATE_WORDS];
	uint64_t *words = new_array(e->cx->arena, uint64_t, (size_t)n * (count + 1));

	for (uint32_t i = 0; i < count; i++) {
		seed_words(t, entropy, 1 + (entropy[1] != 0), &i, rank, state);
		memcpy(words + (size_t)n * i, state, n * sizeof(*words));
	}
	return state_constant(e, t, rank, shape, words, s);
}

/* Is the number of spawned generators known? *n = -1: reported */
static bool spawn_count(struct elab *e, const struct cv *d, int64_t *n)
{
	dim length;

	if (!cv_as_dim(e, d, &length) || !dim_is_const(e->cx, length, n))
		return false;
	if (*n >= 0 && *n <= MAX_SPAWNED)
		return true;
	elab_error(e, d->span, E_RANGE, "the number of generators must be 0 to %d", MAX_SPAWNED);
	*n = -1;
	return true;
}

/* Is v an integer that is known? */
static bool is_seed(const struct cv *v, uint64_t *seed, bool *negative)
{
	int64_t k = 0;

	*seed = v->u.i;
	*negative = v->neg && v->u.i;
	if (v->kind != CV_VALUE)
		return v->kind == CV_INT;
	const struct value *x = v->u.v;
	if (!x->data || x->type.rank || !is_int((enum dtype)x->type.dtype))
		return false;
	*negative = tensor_int(x->data, 0, &k) && k < 0;
	return *negative ||
	       tensor_convert(DT_UINT64, seed, (enum dtype)x->data->dtype, x->data->data, 1);
}

/* rng(seed), or rng[n](seed) if n is not NULL, where only the run knows the seed or n */
static struct cv seeded_by_run(struct elab *e, enum dtype t, const struct cv *n,
			       const struct cv *seed, struct span s)
{
	const char *name = generator_kind(t)->lib_name;
	struct astr text = {name, (uint32_t)strlen(name)};
	struct cv args[2] = {*seed}, words;
	uint32_t nargs = n ? 2 : 1;

	if (n)
		args[1] = *n;
	for (uint32_t i = 0; i < nargs; i++) {
		struct value *v = to_value(e, &args[i], DT_INT64);
		if (!v || !v->type.dtype)
			return poison(s);
		if (v->type.rank || !is_int((enum dtype)v->type.dtype)) {
			elab_error(e, args[i].span, E_DTYPE, "expected an integer but got %s",
				   type_str(e->cx, v->type));
			return poison(s);
		}
		args[i] = cv_value(v, s);
	}
	struct fn *f = lib_fn(e->cx, n ? "_Spawned_generators" : "_Default_generator");
	struct prop_arg kind = {.name = intern_str(e->cx, "kind"), .span = s};
	kind.value = (struct cv){.kind = CV_STR, .span = s, .u.str = &text};
	struct cv *props = given_props(e, f, &kind, 1);
	if (!props || !expand_call(e, f, s, props, args, nargs, &words))
		return poison(s);
	return from_words(e, t, words.u.v, s);
}

struct cv elab_generator(struct elab *e, enum dtype t, const struct cv *dims, uint32_t ndims,
			 struct cv *args, uint32_t nargs, struct span s)
{
	uint64_t seed;
	int64_t count = 0;
	bool negative;

	if (nargs != 1) {
		elab_error(e, s, E_ARITY, "%s(...) takes a seed or the words of a state",
			   dtypes[t].name);
		return poison(s);
	}
	if (args->kind == CV_POISON || !all_defined(e, args, 1))
		return poison(s);
	if (ndims > 1) {
		elab_error(e, s, E_RANK, "%s[n](seed) has n generators, in one dim",
			   dtypes[t].name);
		return poison(s);
	}
	bool known = is_seed(args, &seed, &negative);
	if (known && negative) {
		elab_error(e, args->span, E_LITERAL, "a seed cannot be negative");
		return poison(s);
	}
	if (known && (!ndims || spawn_count(e, dims, &count)))
		return count < 0 ? poison(s) : from_seed(e, t, seed, ndims, &count, s);
	if (ndims)
		return seeded_by_run(e, t, dims, args, s);
	struct value *v = to_value(e, args, cv_is_weak(args) ? DT_UINT64 : DT_NONE);
	if (!v || !v->type.dtype)
		return poison(s);
	if (v->type.rank || !is_int((enum dtype)v->type.dtype))
		return from_words(e, t, v, args->span);
	if (t == DT_RNG)
		return call_named(e, "DefaultGeneratorMakerOp", args, 1, s);
	return seeded_by_run(e, t, NULL, args, s);
}
