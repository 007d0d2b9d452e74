/*
 * choices.c: what log densities choose and compute twice. In: the typed graph, without complex
 * numbers. Out: the same function, in which
 *	Switch(mask, f(x), f(-x)) with a constant mask is f(x * [1, -1, ...]): data choose one
 *		of two for each element, as in Bernoulli's density, and the other is not computed;
 *	Switch(c, a, g(Switch(d, b, x))) is Switch(c, a, g(x)) where d implies c, as the guards of
 *		0 * log(0) in Poisson's density do;
 *	Switch(x == 0, 0, x) is x, and Switch(c & mask, 0, k) is k, if that is 0 where mask holds;
 *	Switch(c & mask, a, x) is x, if the mask holds nowhere;
 *	Switch(mask, x, a) is x, if it holds everywhere;
 *	k < 3 of constants k is a mask;
 *	Switch(p < 0, a, x) is x for a probability p, the result of Sigmoid or Softmax;
 *	sigmoid(x) >= 0 and sigmoid(x) <= 1 are x <= inf: x is not NaN;
 *	Sum(Switch(c, x, -inf)) is Switch(c, Sum(x), -inf) where c says the same of all that is
 *		summed up, as a check of parameters does;
 *	Sigmoid(x) beside Softplus(x) or Softplus(-x), which take e = exp(-|x|), is made of e.
 */
#include <math.h>
#include <string.h>

#include "ops/rules.h"
#include "target/target.h"
#include "typed/typed.h"

#define MAX_TERMS  8         /* of a condition */
#define MAX_INSIDE 4         /* ops between a choice and one in it */
#define MAX_CHAIN  16        /* choices one behind the other */
#define MAX_MASK   (1 << 20) /* elements */
#define MAX_STORED (1 << 16) /* elements of masks that a model gets */
#define MAX_ALL    (1 << 24) /* elements of masks that are looked at for all nodes together */
#define MAX_EXACT  9007199254740992. /* integers up to which float64 has all */

struct choices {
	struct ctx *cx;
	struct block *block; /* that is made anew */
	/* By value id, of the values that there are before Sigmoid is looked at: is the value
	 * needed? And is a Softplus that is needed one of the value, or of minus the value? */
	const bool *needed;
	bool *has_softplus;
	uint32_t nneeded;
	uint64_t seen; /* elements of masks */
	struct {       /* made last */
		const struct tensor *mask;
		enum dtype dtype;
		struct value *of[2];
	} signs;
	struct turned { /* the last x * signs in this block */
		struct value *x, *product;
		const struct tensor *mask;
		int yes;
	} turned;
};

struct terms {
	struct value *at[MAX_TERMS];
	uint32_t n;
};

static bool same_number(const struct ctx *cx, double a, double b)
{
	return a == b && (!cx->opt.signed_zeros || signbit(a) == signbit(b));
}

static struct value *add_call(struct choices *c, enum op_id id, struct value *a, struct value *b,
			      struct span span)
{
	struct value *in[2] = {a, b};

	return graph_node(c->cx, c->block, &op_table[id], NULL, in, b ? 2 : 1, span)->out[0];
}

/* n becomes the op of these arguments. */
static void become_call(struct choices *c, struct node *n, enum op_id id, struct value *a,
			struct value *b)
{
	n->op = &op_table[id];
	n->props = NULL;
	n->nin = b ? 2 : 1;
	n->in = new_array(c->cx->arena, struct value *, 2);
	n->in[0] = a;
	n->in[1] = b;
}

/* May another mask of so many elements be looked at? Then it counts. */
static bool take_time_for(struct choices *c, uint64_t elements)
{
	if (elements > MAX_MASK || c->seen + elements > MAX_ALL)
		return false;
	c->seen += elements;
	return true;
}

/* ---- masks ---- */

/* What took the place of a choice, or of a comparison of constants */
static struct value *replacement_of(struct ctx *cx, struct value *v)
{
	while (is_call(v->def, OP_Identity) && same_type(cx, &v->def->in[0]->type, &v->type))
		v = v->def->in[0];
	return v;
}

static bool is_typed_comparison(const struct node *n)
{
	static const enum op_id ops[] = {OP_Eq, OP_Neq, OP_Lt, OP_Le, OP_Gt, OP_Ge};

	return is_one_of(n->op, ops, countof(ops));
}

static bool holds_of(const struct node *comparison, double a, double b)
{
	if (is_call(comparison, OP_Eq))
		return a == b;
	if (is_call(comparison, OP_Neq))
		return a != b;
	if (is_call(comparison, OP_Lt))
		return a < b;
	if (is_call(comparison, OP_Le))
		return a <= b;
	return is_call(comparison, OP_Gt) ? a > b : a >= b;
}

/* Are all elements of t numbers that float64 holds exactly? */
static bool is_exact(const struct tensor *t)
{
	int64_t k;

	if (is_complex((enum dtype)t->dtype) || t->dtype == DT_UINT64)
		return false;
	if (is_float((enum dtype)t->dtype))
		return true;
	for (uint64_t i = 0; i < stored_elements(t); i++)
		if (!tensor_int(t, i, &k) || k > MAX_EXACT || k < -MAX_EXACT)
			return false;
	return true;
}

/* A comparison of constants, or of a weight, with a number is a mask. */
static bool fold_comparison(struct choices *c, struct node *n)
{
	struct ctx *cx = c->cx;
	const struct tensor *t = n->in[0]->data;
	struct value *out = n->out[0];
	double k;

	if (!t || !t->data || !t->count || !uniform_number(constant_data(n->in[1]), &k) ||
	    fabs(k) > MAX_EXACT || t->rank != out->type.rank ||
	    !same_dims(cx, n->in[0]->type, out->type) || !take_time_for(c, stored_elements(t)) ||
	    !is_exact(t))
		return false;
	uint8_t *holds = arena_alloc(cx->arena, stored_elements(t) + 1);
	uint64_t on = 0;
	for (uint64_t i = 0; i < stored_elements(t); i++)
		on += holds[i] = holds_of(n, tensor_float(t, i), k);
	bool uniform = on == 0 || on == stored_elements(t);
	if (!uniform && t->count > MAX_STORED)
		return false;
	struct tensor *mask = tensor_new(cx, DT_BOOL, t->rank, t->shape);
	mask->data = holds;
	mask->splat = uniform;
	become_call(c, n, OP_Identity, graph_constant(cx, mask, n->span), NULL);
	return true;
}

/* ---- signs ---- */

/* v is the sign that is returned times *x. */
static int signed_value(struct ctx *cx, struct value *v, struct value **x)
{
	double k;
	int sign = 1;

	*x = v;
	for (int steps = 0; steps < MAX_INSIDE; steps++, v = *x) {
		struct value *in = NULL;
		if (is_call(v->def, OP_Neg))
			in = v->def->in[0];
		bool two = is_call(v->def, OP_Mul) && v->def->nin == 2; /* Mul takes any number */
		for (uint32_t i = 0; i < 2 && two && !in; i++)
			if (uniform_number(constant_data(v->def->in[i]), &k) && k == -1)
				in = v->def->in[1 - i];
		if (!in || !same_type(cx, &in->type, &v->type) ||
		    !is_float((enum dtype)v->type.dtype))
			break;
		*x = in;
		sign = -sign;
	}
	return sign;
}

/* yes, 1 or -1, where the mask holds, and -yes elsewhere, in a constant of v's dtype */
static struct value *signs(struct choices *c, const struct value *v, const struct tensor *mask,
			   int yes, struct span span)
{
	struct ctx *cx = c->cx;
	enum dtype dtype = (enum dtype)v->type.dtype;
	size_t size = dtypes[dtype].size;

	if (c->signs.mask != mask || c->signs.dtype != dtype) {
		memset(&c->signs, 0, sizeof(c->signs));
		c->signs.mask = mask;
		c->signs.dtype = dtype;
	}
	struct value **of = &c->signs.of[yes > 0];
	if (*of)
		return *of;
	struct tensor *t = tensor_new(cx, dtype, mask->rank, mask->shape);
	uint8_t *to = arena_alloc(cx->arena, mask->count * size + 1);
	for (uint64_t i = 0; i < mask->count; i++) {
		double k = tensor_float(mask, i) != 0 ? yes : -yes;
		tensor_convert(dtype, to + i * size, DT_FLOAT64, &k, 1);
	}
	t->data = to;
	*of = graph_constant(cx, t, span);
	return *of;
}

/* Is v a function of one float that costs more than two products? */
static bool is_costly(const struct value *v)
{
	static const enum op_id ops[] = {OP_Exp,  OP_Sigmoid, OP_Softplus, OP_Log1p, OP_Expm1,
					 OP_Tanh, OP_Erf,     OP_Erfc,     OP_Erfcx, OP_Log1mexp};

	return v->def && is_one_of(v->def->op, ops, countof(ops)) &&
	       v->def->in[0]->type.dtype == v->type.dtype && is_float((enum dtype)v->type.dtype);
}

static bool choose_sign(struct choices *c, struct node *n)
{
	struct value *out = n->out[0], *f, *g, *x, *y;
	const struct tensor *mask = constant_data(replacement_of(c->cx, n->in[0]));

	if (!mask || is_complex((enum dtype)mask->dtype) || mask->count < 2 || mask->splat)
		return false;
	int s = signed_value(c->cx, n->in[1], &f), t = signed_value(c->cx, n->in[2], &g);
	if (!is_costly(f) || !g->def || f->def->op != g->def->op ||
	    !same_type(c->cx, &f->type, &out->type) || !same_type(c->cx, &g->type, &out->type))
		return false;
	int u = signed_value(c->cx, f->def->in[0], &x), w = signed_value(c->cx, g->def->in[0], &y);
	if (x != y || u == w || !same_type(c->cx, &x->type, &out->type) ||
	    (mask != c->signs.mask && !take_time_for(c, mask->count)))
		return false;
	struct turned *last = &c->turned;
	if (last->x != x || last->yes != u || !quickly_equal(last->mask, mask, MAX_MASK))
		*last = (struct turned){
			x, add_call(c, OP_Mul, signs(c, x, mask, u, n->span), x, n->span), mask, u};
	struct value *z = last->product;
	z = graph_node(c->cx, c->block, f->def->op, f->def->props, &z, 1, f->def->span)->out[0];
	if (s != t)
		become_call(c, n, OP_Mul, signs(c, out, mask, s, n->span), z);
	else
		become_call(c, n, s < 0 ? OP_Neg : OP_Identity, z, NULL);
	return true;
}

/* ---- conditions ---- */

/* The terms are v's operands of And, or of And in those, ...: all of them together say what v says.
 */
static void add_terms(struct ctx *cx, struct terms *t, struct value *v)
{
	struct value *todo[MAX_TERMS] = {v};
	uint32_t n = 1;

	t->n = 0;
	while (n) {
		v = replacement_of(cx, todo[--n]);
		bool both = v->type.dtype == DT_BOOL &&
			    (is_call(v->def, OP_And) || is_call(v->def, OP_Mul));
		if (both && t->n + n + v->def->nin <= MAX_TERMS) {
			for (uint32_t i = v->def->nin; i--;)
				todo[n++] = v->def->in[i];
		} else {
			t->at[t->n++] = v;
		}
	}
}

/* x if v is x == number, and has its shape; else NULL */
static struct value *compared(struct ctx *cx, struct value *v, double number)
{
	double k;

	for (int i = 0; i < 2 && is_call(v->def, OP_Eq); i++) {
		struct value *x = v->def->in[i];
		if (uniform_number(constant_data(v->def->in[1 - i]), &k) && k == number &&
		    x->type.rank == v->type.rank && same_dims(cx, x->type, v->type))
			return x;
	}
	return NULL;
}

/* Does v hold wherever `by` does? x == 0 holds where log(x) == -inf, and exp(x) == 0 where
 * x == -inf. */
static bool holds_where(struct ctx *cx, struct value *v, struct value *by)
{
	struct value *zero, *low;

	if (v == by || quickly_equal(constant_data(v), constant_data(by), MAX_MASK))
		return true;
	zero = compared(cx, v, 0);
	low = compared(cx, by, -INFINITY);
	return zero && low &&
	       ((is_call(zero->def, OP_Exp) && zero->def->in[0] == low) ||
		(is_call(low->def, OP_Log) && low->def->in[0] == zero));
}

static bool are_implied(struct ctx *cx, const struct terms *t, struct value *by)
{
	struct terms known;

	add_terms(cx, &known, by);
	for (uint32_t i = 0; i < t->n; i++) {
		bool found = false;
		for (uint32_t j = 0; j < known.n; j++)
			found |= holds_where(cx, t->at[i], known.at[j]);
		if (!found)
			return false;
	}
	return true;
}

/* ---- choices in choices ---- */

/* v where `cond` does not hold: in it, choices by conditions that imply cond are their other side.
 * It goes `depth` ops deep. */
static struct value *outside(struct choices *c, struct value *v, const struct terms *cond,
			     int depth)
{
	static const enum op_id ops[] = {OP_Add, OP_Sub, OP_Mul, OP_Neg, OP_True_div};
	struct value *in[2];
	bool changed = false;

	v = replacement_of(c->cx, v);
	for (int k = 0; k < MAX_CHAIN && is_call(v->def, OP_Switch) &&
			same_type(c->cx, &v->def->in[2]->type, &v->type) &&
			are_implied(c->cx, cond, v->def->in[0]);
	     k++)
		v = replacement_of(c->cx, v->def->in[2]);
	if (!v->def || !is_one_of(v->def->op, ops, countof(ops)) || !depth || v->def->nin > 2)
		return v;
	for (uint32_t i = 0; i < v->def->nin; i++) {
		in[i] = outside(c, v->def->in[i], cond, depth - 1);
		changed |= in[i] != v->def->in[i];
	}
	if (!changed)
		return v;
	return graph_node(c->cx, c->block, v->def->op, v->def->props, in, v->def->nin, v->span)
		->out[0];
}

/* Do a and b have the same lengths, but for axes of length 1 in front of one? */
static bool have_same_lengths(const struct tensor *a, const struct tensor *b)
{
	for (int i = 1; i <= a->rank || i <= b->rank; i++)
		if ((i > a->rank ? 1 : a->shape[a->rank - i]) !=
		    (i > b->rank ? 1 : b->shape[b->rank - i]))
			return false;
	return true;
}

/* Is k, a constant, the number wherever the mask holds? */
static bool is_number_at(struct choices *c, const struct tensor *mask, const struct tensor *k,
			 double number)
{
	int64_t on;

	if (k->splat || mask->splat || !have_same_lengths(mask, k) ||
	    !take_time_for(c, mask->count))
		return false;
	for (uint64_t i = 0; i < mask->count; i++)
		if (tensor_int(mask, i, &on) && on &&
		    !same_number(c->cx, tensor_float(k, i), number))
			return false;
	return true;
}

/* A constant before it was stretched */
static struct value *unstretched(struct value *v)
{
	for (int i = 0;
	     i < MAX_INSIDE && (is_call(v->def, OP_Identity) || is_call(v->def, OP_Second)); i++)
		v = v->def->in[is_call(v->def, OP_Second)];
	return v;
}

/* Are both sides of the choice n one number where its condition can hold? */
static bool sides_agree(struct choices *c, const struct node *n, const struct terms *cond)
{
	const struct value *no = unstretched(n->in[2]);
	struct value *x;
	double number;

	if (!uniform_number(constant_data(n->in[1]), &number))
		return false;
	signed_value(c->cx, n->in[2], &x);
	if (number == 0 && is_call(no->def, OP_Cast))
		no = no->def->in[0]; /* 0 is 0 in all dtypes */
	for (uint32_t i = 0; i < cond->n; i++) {
		const struct tensor *mask = constant_data(cond->at[i]), *k = no->data;
		if (number == 0 && compared(c->cx, cond->at[i], 0) == x && !c->cx->opt.signed_zeros)
			return true;
		if (mask && k && k->data && mask->dtype == DT_BOOL &&
		    is_number_at(c, mask, k, number))
			return true;
	}
	return false;
}

/* Is v p < 0 or p > 1, or Any of it, of what lies between? */
static bool leaves_range(const struct value *v)
{
	double k;

	for (int i = 0;
	     i < MAX_INSIDE && (is_call(v->def, OP_Any) || is_call(v->def, OP_ExpandDims)); i++)
		v = v->def->in[0];
	bool less = is_call(v->def, OP_Lt);
	if ((!less && !is_call(v->def, OP_Gt)) || !uniform_number(constant_data(v->def->in[1]), &k))
		return false;
	const struct value *p = v->def->in[0];
	return (less ? k <= 0 : k >= 1) &&
	       (is_call(p->def, OP_Softmax) || is_call(p->def, OP_Sigmoid));
}

/* Does v certainly hold nowhere, NaN included? */
static bool is_outside_range(const struct value *v)
{
	if (!is_call(v->def, OP_Or))
		return leaves_range(v);
	return v->type.dtype == DT_BOOL && leaves_range(v->def->in[0]) &&
	       leaves_range(v->def->in[1]);
}

/* Is v a mask that is k, 0 or 1, in all places? */
static bool is_mask_of(struct choices *c, const struct value *v, double k)
{
	const struct tensor *t = constant_data(v);

	return t && t->dtype == DT_BOOL && (t->splat || take_time_for(c, t->count)) &&
	       is_full_of(v, k, UINT64_MAX);
}

/* Is one of the terms a constant that holds nowhere? */
static bool has_false(struct choices *c, const struct terms *cond)
{
	for (uint32_t i = 0; i < cond->n; i++)
		if (is_mask_of(c, cond->at[i], 0))
			return true;
	return false;
}

/* Do all terms hold everywhere? */
static bool are_true(struct choices *c, const struct terms *cond)
{
	for (uint32_t i = 0; i < cond->n; i++)
		if (!is_mask_of(c, cond->at[i], 1))
			return false;
	return true;
}

/* The choice n is v, one of its sides. */
static bool become_side(struct choices *c, struct node *n, struct value *v)
{
	if (same_type(c->cx, &v->type, &n->out[0]->type))
		become_call(c, n, OP_Identity, v, NULL);
	else if (v->data && same_dims(c->cx, n->in[0]->type, n->out[0]->type))
		become_call(c, n, OP_Second, n->in[0], v);
	return !is_call(n, OP_Switch);
}

static bool choose_once(struct choices *c, struct node *n)
{
	struct ctx *cx = c->cx;
	struct value *yes = n->in[1], *no = replacement_of(cx, n->in[2]), *out = n->out[0];
	struct terms cond, inner;
	double a, b;

	if (n->in[0]->type.dtype != DT_BOOL)
		return false;
	add_terms(cx, &cond, n->in[0]);
	if (yes->type.dtype == out->type.dtype && are_true(c, &cond))
		return become_side(c, n, yes);
	if (no->type.dtype != out->type.dtype)
		return false;
	if (is_outside_range(n->in[0]) || has_false(c, &cond) || sides_agree(c, n, &cond))
		return become_side(c, n, no);
	if (!same_type(cx, &no->type, &out->type))
		return false;
	if (is_call(no->def, OP_Switch) && uniform_number(constant_data(n->in[1]), &a) &&
	    uniform_number(constant_data(no->def->in[1]), &b) && same_number(cx, a, b)) {
		add_terms(cx, &inner, no->def->in[0]);
		if (are_implied(cx, &inner, n->in[0])) {
			become_call(c, n, OP_Identity, no, NULL);
			return true;
		}
	}
	n->in[2] = outside(c, no, &cond, MAX_INSIDE);
	return n->in[2] != no;
}

/* Arithmetic stretches a constant by itself. */
static bool drop_stretch(struct choices *c, struct node *n)
{
	for (uint32_t i = 0; i < 2 && n->nin == 2; i++) {
		struct value *k = unstretched(n->in[i]);
		if (k == n->in[i] || !k->data || k->type.dtype != n->in[i]->type.dtype ||
		    !same_type(c->cx, &n->in[1 - i]->type, &n->out[0]->type))
			continue;
		n->in[i] = k;
		return true;
	}
	return false;
}

/* ---- sums ---- */

struct sum {
	struct node *node;
	int axes[MAX_RANK], naxes;
	int open_axis; /* which may have length 0; -1: none */
};

static struct value *make_with(struct choices *c, enum op_id id, struct cv props, struct value *x,
			       struct span span)
{
	struct cv *own = memcpy(new (c->cx->arena, struct cv), &props, sizeof(props));

	return graph_node(c->cx, c->block, &op_table[id], own, &x, 1, span)->out[0];
}

/* Reads the axes of n. false: several may have length 0. */
static bool read_sum(struct ctx *cx, struct node *n, struct sum *sum)
{
	const struct type *t = &n->in[0]->type;
	int count = 0;

	sum->node = n;
	sum->naxes = prop_axes(cx, n, "axes", t->rank, sum->axes, true);
	sum->open_axis = -1;
	for (int i = 0; i < sum->naxes; i++) {
		if (dim_ge(cx, t->dims[sum->axes[i]], 1))
			continue;
		sum->open_axis = sum->axes[i];
		count++;
	}
	return sum->naxes > 0 && count < 2;
}

/* Is the sum of one k or more k itself? (A node more says what the sum of none is: too much for
 * ONNX Runtime.) */
static bool sums_to_itself(struct ctx *cx, const struct sum *sum, double k)
{
	if (isinf(k) || isnan(k))
		return sum->open_axis < 0 || cx->opt.target == PTGC_C;
	return k == 0 && !signbit(k);
}

/* The sum of as many k as there are */
static struct value *sum_of_k(struct choices *c, const struct sum *sum, double k)
{
	const struct node *n = sum->node;
	enum dtype t = (enum dtype)n->out[0]->type.dtype;
	struct value *r = graph_number(c->cx, t, k, n->span);
	struct cv axis = cv_int(sum->open_axis, n->span);

	if (k == 0 || sum->open_axis < 0)
		return r;
	struct value *length = make_with(c, OP_Shape_i, axis, n->in[0], n->span);
	struct value *zero = graph_number(c->cx, DT_INT64, 0, n->span);
	struct value *in[3] = {add_call(c, OP_Gt, length, zero, n->span), r};
	in[2] = graph_number(c->cx, t, 0, n->span);
	return graph_node(c->cx, c->block, &op_table[OP_Switch], NULL, in, 3, n->span)->out[0];
}

/* The condition of a choice for the sum over axes along which it says the same; NULL: it does not
 */
static struct value *condition_of_sum(struct choices *c, const struct sum *sum,
				      struct value *condition)
{
	const struct type *t = &condition->type;
	struct node *n = sum->node;

	if (!t->rank)
		return condition;
	if (t->rank != n->in[0]->type.rank)
		return NULL;
	for (int i = 0; i < sum->naxes; i++)
		if (!dim_is(c->cx, t->dims[sum->axes[i]], 1))
			return NULL;
	return make_with(c, OP_Squeeze, *prop(c->cx, n, "axes"), condition, n->span);
}

static bool choose_sum(struct choices *c, struct node *n)
{
	struct ctx *cx = c->cx;
	struct node *choice = n->in[0]->def;
	struct value *condition = NULL;
	struct sum sum;
	uint32_t i;
	double k;

	if (!is_call(choice, OP_Switch) || prop_bool(cx, n, "keepdims") || !read_sum(cx, n, &sum))
		return false;
	for (i = 1; i < 3; i++)
		if (uniform_number(constant_data(choice->in[i]), &k) &&
		    sums_to_itself(cx, &sum, k) &&
		    same_type(cx, &choice->in[3 - i]->type, &n->in[0]->type))
			break;
	if (i == 3 || (condition = condition_of_sum(c, &sum, choice->in[0])) == NULL)
		return false;
	struct value **in = new_array(cx->arena, struct value *, 3);
	in[0] = condition;
	in[i] = sum_of_k(c, &sum, k);
	in[3 - i] =
		graph_node(cx, c->block, n->op, n->props, &choice->in[3 - i], 1, n->span)->out[0];
	n->op = &op_table[OP_Switch];
	n->props = NULL;
	n->in = in;
	n->nin = 3;
	return true;
}

/* ---- ranges ---- */

/* A comparison with a bound of Sigmoid says that the argument is not NaN. */
static bool compare_argument(struct choices *c, struct node *n)
{
	bool least = is_call(n, OP_Ge);
	struct value *p = n->in[0];
	double bound;

	if ((!least && !is_call(n, OP_Le)) || !is_call(p->def, OP_Sigmoid) ||
	    !uniform_number(constant_data(n->in[1]), &bound) ||
	    !(least ? bound <= 0 : bound >= 1) || !same_dims(c->cx, p->type, n->out[0]->type))
		return false;
	struct value *x = p->def->in[0];
	enum dtype t = (enum dtype)x->type.dtype;
	if (!is_float(t))
		return false;
	become_call(c, n, OP_Le, x, graph_number(c->cx, t, INFINITY, n->span));
	return true;
}

/* ---- Sigmoid beside Softplus ---- */

static void note_softplus(struct choices *c, const struct block *b)
{
	struct value *x;

	for (struct walk w = {.root = b}; walk(&w, WALK_BEFORE);) {
		const struct node *n = w.at.node;
		if (is_call(n, OP_Softplus) && c->needed[n->out[0]->id]) {
			signed_value(c->cx, n->in[0], &x);
			if (x->id < c->nneeded)
				c->has_softplus[x->id] = true;
		}
	}
}

/* 1 / (1 + e) where x is positive, else e / (1 + e) */
static bool share_exponential(struct choices *c, struct node *n)
{
	struct value *x, *one;
	int sign = signed_value(c->cx, n->in[0], &x);
	struct cv dtype = {.kind = CV_DTYPE, .u.dtype = DT_FLOAT64};

	if (x->type.dtype != DT_FLOAT64 || x->id >= c->nneeded || !c->has_softplus[x->id] ||
	    n->out[0]->id >= c->nneeded || !c->needed[n->out[0]->id] ||
	    expected_elements(c->cx, &x->type, 1) < SIZE_EXPONENTIALS)
		return false;
	struct value *e = add_call(c, OP_Abs, x, NULL, n->span);
	e = add_call(c, OP_Exp, add_call(c, OP_Neg, e, NULL, n->span), NULL, n->span);
	one = add_call(c, sign > 0 ? OP_Ge : OP_Le, x, graph_number(c->cx, DT_FLOAT64, 0, n->span),
		       n->span);
	one = make_with(c, OP_Cast, dtype, one, n->span);
	struct value *sum =
		add_call(c, OP_Add, e, graph_number(c->cx, DT_FLOAT64, 1, n->span), n->span);
	become_call(c, n, OP_True_div, add_call(c, OP_Maximum, e, one, n->span), sum);
	return true;
}

/* ---- the walk ---- */

static bool rewrite_node(struct choices *c, struct node *n, bool first)
{
	if (!first)
		return is_call(n, OP_Sigmoid) && share_exponential(c, n);
	if (is_call(n, OP_Switch))
		return choose_sign(c, n) || choose_once(c, n);
	if (is_typed_comparison(n))
		return fold_comparison(c, n) || compare_argument(c, n);
	if (is_call(n, OP_Add) || is_call(n, OP_Sub) || is_call(n, OP_Mul))
		return drop_stretch(c, n);
	return is_call(n, OP_Sum) && choose_sum(c, n);
}

/* Nested blocks are made anew inside out: this recurses as deep as they nest. */
static void rewrite_block(struct choices *c, struct block *b, bool first)
{
	struct block *outer = c->block;

	c->block = b;
	c->turned.x = NULL;
	for (struct node *rest = take_nodes(b), *n; (n = next_taken(&rest)) != NULL;) {
		for_bodies (inner, n)
			rewrite_block(c, inner, first);
		for (int rounds = 0; rounds < 4 && rewrite_node(c, n, first); rounds++)
			;
		graph_append(b, n);
	}
	c->block = outer;
	c->turned.x = NULL;
}

void choose_early(struct ctx *cx, struct graph *g)
{
	struct choices c = {.cx = cx};
	bool compares = uses_op(g, OP_Ge) || uses_op(g, OP_Le);
	bool stretches = uses_op(g, OP_Second) || uses_op(g, OP_Identity);

	if (uses_op(g, OP_Switch) || (uses_op(g, OP_Sigmoid) && (compares || stretches)))
		rewrite_block(&c, g->block, true);
	if (cx->opt.native_functions || !uses_op(g, OP_Sigmoid) || !uses_op(g, OP_Softplus))
		return;
	c.nneeded = cx->next_id;
	c.needed = needed_values(cx, g);
	c.has_softplus = new_array(cx->scratch, bool, c.nneeded);
	note_softplus(&c, g->block);
	rewrite_block(&c, g->block, false);
}
