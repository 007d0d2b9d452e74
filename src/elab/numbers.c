/*
 * numbers.c: functions of literals and sizes. In: a call of a function of each element, such as
 * Log(5) or Sqrt(n). Out: of literals alone the literal, where ops.def says how it is computed;
 * else the dtype in which the model computes it, int64 or float64. What comes out is weak: it takes
 * the dtype of what it meets.
 */
#include <string.h>

#include "elab/internal.h"

static __int128 whole_of(const struct cv *v)
{
	return v->neg ? -(__int128)v->u.i : (__int128)v->u.i;
}

/* Add(1, 2) is 1 + 2. */
static struct cv infix_function(struct elab *e, const struct op *op, const struct cv *args,
				uint32_t nargs, struct span s)
{
	struct cv r = {.kind = CV_NONE};

	for (int i = 0; i < OPR_COUNT; i++) {
		if (!operators[i].op || strcmp(operators[i].op, op->name))
			continue;
		if (nargs == 1)
			return static_unary(e, (enum opr)i, args, s);
		r = args[0];
		for (uint32_t k = 1; k < nargs && r.kind != CV_NONE && r.kind != CV_POISON; k++)
			r = static_binary(e, (enum opr)i, &r, &args[k], s);
		r.span = r.kind == CV_FLOAT ? r.span : s;
		return r;
	}
	return r;
}

struct cv function_of_literals(struct elab *e, const struct op *op, const struct cv *args,
			       uint32_t nargs, struct span s)
{
	bool ints = true;

	if (op->cast == CAST_NONE || !nargs)
		return (struct cv){.kind = CV_NONE};
	for (uint32_t i = 0; i < nargs; i++) {
		if (args[i].kind != CV_INT && args[i].kind != CV_FLOAT)
			return (struct cv){.kind = CV_NONE};
		ints &= args[i].kind == CV_INT;
	}
	if (ints && nargs == 1 && op->whole)
		return from_wide(e, op->whole(whole_of(args)), s);
	if (ints && nargs == 2 && op->whole2)
		return from_wide(e, op->whole2(whole_of(&args[0]), whole_of(&args[1])), s);
	if (nargs == 1 && op->number)
		return cv_float(op->number(cv_number(args)), s);
	if (nargs == 2 && op->number2)
		return cv_float(op->number2(cv_number(&args[0]), cv_number(&args[1])), s);
	return infix_function(e, op, args, nargs, s);
}

/* The dtype of op's result for the dtypes of the inputs; DT_NONE: reported */
static enum dtype result_of(struct elab *e, const struct op *op, struct cv *props,
			    const enum dtype *in, uint32_t nin, struct span s)
{
	struct value *values = new_array(e->cx->scratch, struct value, nin);
	struct node n = {.op = op, .props = props, .nin = (uint16_t)nin, .span = node_span(e, s)};

	n.in = new_array(e->cx->scratch, struct value *, nin);
	for (uint32_t i = 0; i < nin; i++) {
		values[i].type.dtype = (uint8_t)in[i];
		n.in[i] = &values[i];
	}
	return op->dtype(e->cx, &n);
}

/* Is the argument a number or a size, so that the call may be of such alone? */
static bool is_number(const struct cv *v)
{
	return v->kind == CV_INT || v->kind == CV_FLOAT || v->kind == CV_DIM ||
	       (v->kind == CV_VALUE && v->weak && v->u.v->type.dtype != DT_BOOL);
}

/* Is a power of integers a fraction? */
static bool is_fraction(struct elab *e, const struct op *op, const struct cv *args, uint32_t nargs)
{
	dim d;

	return op == &op_table[OP_Pow] && nargs == 2 && cv_as_dim(e, &args[1], &d) &&
	       dim_le(e->cx, d, -1);
}

enum dtype number_dtype(struct elab *e, const struct op *op, struct cv *props,
			const struct cv *args, uint32_t nargs, struct span s)
{
	enum dtype few[8],
		*in = nargs <= countof(few) ? few : new_array(e->cx->scratch, enum dtype, nargs);
	bool ints = true, numbers = false;
	const struct op_sig *sig;

	if (op->cast == CAST_NONE || op->cast == CAST_LINALG || op->expanded)
		return DT_NONE;
	for (uint32_t i = 0; i < nargs; i++) {
		bool number = is_number(&args[i]);
		if (!number && args[i].kind != CV_BOOL &&
		    !(args[i].kind == CV_VALUE && args[i].weak))
			return DT_NONE;
		numbers |= number;
		ints &= !number || (cv_is_int(&args[i]) &&
				    (args[i].kind != CV_INT || args[i].u.i <= INT64_MAX));
		in[i] = number ? DT_INT64 : DT_BOOL;
	}
	sig = op_sig(e->cx, op);
	if (!numbers || nargs < sig->min || nargs > sig->max)
		return DT_NONE;
	if (ints && !is_fraction(e, op, args, nargs) &&
	    !is_float(result_of(e, op, props, in, nargs, s)))
		return DT_INT64;
	return e->cx->narrow || e->cx->opt.target == PTGC_PORTABLE ? DT_FLOAT32 : DT_FLOAT64;
}

bool outgrows_float16(struct elab *e, const struct cv *args, uint32_t nargs)
{
	int64_t k;

	for (uint32_t i = 0; i < nargs; i++) {
		if (args[i].kind == CV_VALUE && args[i].weak && args[i].u.v->type.dtype != DT_BOOL)
			return true;
		if (args[i].kind == CV_DIM &&
		    !(dim_is_const(e->cx, args[i].u.d, &k) && k >= -2048 && k <= 2048))
			return true;
	}
	return false;
}
