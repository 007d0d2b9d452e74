/*
 * elements.c: operators whose results are computed element by element. In: elements of the inputs,
 * stretched as ONNX broadcasts. Out: an expression. What C leaves undefined goes through functions
 * of lib/c/base.h.
 */
#include <string.h>

#include "c/ops.h"

/* Element ix of a result of n, as one of its input i */
const char *operand(struct printer *p, const struct node *n, uint32_t i, const char **ix)
{
	const struct value *x = n->in[i], *y = n->out[0];
	const char *own[MAX_RANK + 1];
	uint32_t more = y->type.rank - x->type.rank;

	for (uint32_t k = 0; k < x->type.rank; k++) {
		dim d = x->type.dims[k];
		if (dim_is(p->cx, d, 1))
			own[k] = "0";
		else if (dim_eq(p->cx, d, y->type.dims[k + more]) || x->data)
			own[k] = ix[k + more];
		else
			own[k] = textf(p, "(%s == 1 ? 0 : %s)", in_parens(p, held(p, x)->dims[k]),
				       ix[k + more]);
	}
	return at(p, x, own);
}

static const char *as_float16(struct printer *p, const struct node *n, const char *s)
{
	return n->out[0]->type.dtype == DT_FLOAT16 ? textf(p, "ptgc_f16_round(%s)", s) : s;
}

/* Does C compute with numbers of t as they are, and wrap? Others are promoted, or overflow. */
static bool wraps_in_c(enum dtype t)
{
	return t == DT_UINT32 || t == DT_UINT64;
}

/* $0 and the like replaced: see kernels_c.def */
static const char *filled(struct printer *p, const char *text, enum dtype in, enum dtype out,
			  const char **args, uint32_t nargs)
{
	struct strbuf s = {.arena = p->cx->arena};

	for (; *text; text++) {
		if (*text != '$' && *text != '%') {
			sb_add(&s, text, 1);
			continue;
		}
		bool bare = *text == '%';
		char c = *++text;
		if (c == 'f')
			sb_str(&s, in == DT_FLOAT64 ? "" : "f");
		else if (c == 'T')
			sb_str(&s, number_type(out));
		else if (strchr("U<>", c) && wraps_in_c(out))
			continue;
		else if (c == 'U')
			sb_printf(&s, "(%s)", unsigned_type(out));
		else if (c == '<')
			sb_printf(&s, "(%s)(", number_type(out));
		else if (c == '>')
			sb_str(&s, ")");
		else if (c == 'w')
			sb_str(&s, dtypes[in].kind == KIND_UINT ? "u64" : "i64");
		else if (c == 'a')
			for (uint32_t i = 0; i < nargs; i++)
				sb_printf(&s, "%s%s", i ? ", " : "", args[i]);
		else
			sb_str(&s, bare ? args[c - '0'] : in_parens(p, args[c - '0']));
	}
	return s.s;
}

/* What an integer compared with itself gives, of which compilers warn; NULL: it is no comparison */
static const char *of_itself(enum onnx_id id)
{
	switch (id) {
	case ONNX_Equal:
	case ONNX_LessOrEqual:
	case ONNX_GreaterOrEqual:
		return "true";
	case ONNX_Less:
	case ONNX_Greater:
	case ONNX_Xor:
		return "false";
	default:
		return NULL;
	}
}

const char *each_at(struct printer *p, const struct node *n, uint32_t i, const char **ix)
{
	const struct c_op *op = op_of(p, n);
	enum dtype t = n->in[0]->type.dtype;
	const char *args[4];

	for (i = 0; i < n->nin && i < countof(args); i++)
		args[i] = operand(p, n, i, ix);
	const char *alike = is_float(t) ? NULL : of_itself(n->onnx->id);
	if (alike && !strcmp(args[0], args[1]))
		return alike;
	return as_float16(p, n,
			  filled(p, is_float(t) ? op->of_float : op->of_int, t,
				 n->out[0]->type.dtype, args, n->nin));
}

/* The longest of the lengths that are stretched to each other */
void each_shape(struct printer *p, const struct node *n)
{
	const struct value *y = n->out[0];
	const char *known[MAX_RANK];

	for (uint32_t k = 0; k < y->type.rank; k++) {
		known[k] = NULL;
		for (uint32_t i = 0; i < n->nin; i++) {
			const struct value *x = n->in[i];
			uint32_t more = x ? y->type.rank - x->type.rank : 0;
			if (!x || k < more)
				continue;
			dim d = x->type.dims[k - more];
			if (dim_is(p->cx, d, 1))
				continue;
			const char *s = dim_text(p, d, false, NULL);
			if (!s)
				s = held(p, x)->dims[k - more];
			if (!known[k] || dim_eq(p->cx, d, y->type.dims[k]))
				known[k] = s;
			else if (strcmp(known[k], s))
				known[k] = textf(p, "(%s == 1 ? %s : %s)", in_parens(p, known[k]),
						 s, known[k]);
		}
	}
	set_lengths(p, y, known);
	for (uint32_t i = 0; i < n->nin; i++) {
		const struct value *x = n->in[i];
		for (uint32_t k = 0; x && k < x->type.rank; k++) {
			uint32_t j = k + y->type.rank - x->type.rank;
			dim d = x->type.dims[k];
			if (dim_is(p->cx, d, 1) || dim_eq(p->cx, d, y->type.dims[j]))
				continue;
			const char *a = dim_text(p, d, false, NULL), *b = held(p, y)->dims[j];
			a = a ? a : held(p, x)->dims[k];
			if (!strcmp(a, b))
				continue;
			line(p, "if (%s != %s && %s != 1)", in_parens(p, a), in_parens(p, b),
			     in_parens(p, a));
			line(p, "\treturn %u;", failure(p, n, "lengths do not fit"));
		}
	}
}

void first_shape(struct printer *p, const struct node *n)
{
	const char *known[MAX_RANK];
	const struct value *x = n->in[0];

	for (uint32_t i = 0; i < x->type.rank; i++)
		known[i] = x->data ? NULL : held(p, x)->dims[i];
	set_lengths(p, n->out[0], known);
}

const char *is_inf_at(struct printer *p, const struct node *n, uint32_t i, const char **ix)
{
	int64_t below = int_of_attr(n, "detect_negative", 1);
	int64_t above = int_of_attr(n, "detect_positive", 1);
	const char *x = operand(p, n, i, ix);

	if (below && above)
		return textf(p, "ptgc_is_inf(%s) != 0", x);
	if (!below && !above)
		return textf(p, "ptgc_is_inf(%s) < 0", x);
	return textf(p, "%s == %s(double)INFINITY", in_parens(p, x), below ? "-" : "");
}

const char *shift_at(struct printer *p, const struct node *n, uint32_t i, const char **ix)
{
	enum dtype t = n->out[0]->type.dtype;
	bool left = find_attr(n, "direction") && find_attr(n, "direction")->u.s.s[0] == 'L';
	const char *x = operand(p, n, 0, ix), *by = operand(p, n, 1, ix);
	uint32_t bits = 8u * dtypes[t].size;
	int64_t k;

	(void)i;
	if (wraps_in_c(t) && n->in[1]->data && single_int(n->in[1]->data, &k) && k >= 0 && k < bits)
		return textf(p, "%s %s %lld", in_parens(p, x), left ? "<<" : ">>", (long long)k);
	return textf(p, "(%s)ptgc_shift_%s(%s, %s, %u)", number_type(t), left ? "left" : "right", x,
		     by, bits);
}

const char *where_at(struct printer *p, const struct node *n, uint32_t i, const char **ix)
{
	(void)i;
	const char *c = operand(p, n, 0, ix), *a = operand(p, n, 1, ix), *b = operand(p, n, 2, ix);
	enum dtype t = n->out[0]->type.dtype;
	const char *type = dtypes[t].size < 4 && is_discrete(t) && t != DT_BOOL
				   ? textf(p, "(%s)", number_type(t))
				   : "";

	return *type ? textf(p, "%s(%s ? %s : %s)", type, in_parens(p, c), in_parens(p, a),
			     in_parens(p, b))
		     : textf(p, "%s ? %s : %s", in_parens(p, c), in_parens(p, a), in_parens(p, b));
}

/* The greater, or less, of two, or a NaN */
static const char *extreme(struct printer *p, enum dtype t, const char *function, const char *sign,
			   const char *a, const char *b)
{
	if (is_float(t))
		return textf(p, "%s%s(%s, %s)", function, t == DT_FLOAT64 ? "" : "f", a, b);
	if (!strcmp(a, b))
		return a; /* compilers warn of a > a */
	return textf(p, "(%s)(%s %s %s ? %s : %s)", number_type(t), in_parens(p, a), sign,
		     in_parens(p, b), in_parens(p, a), in_parens(p, b));
}

/* An expression that others contain several times, in a variable */
static const char *named(struct printer *p, enum dtype t, const char *s)
{
	if (strlen(s) < 24 && !strchr(s, '('))
		return s;
	const char *name = fresh(p, "t");
	line(p, "const %s %s = %s;", number_type(t), name, s);
	return name;
}

const char *extreme_at(struct printer *p, const struct node *n, uint32_t i, const char **ix)
{
	const struct c_op *op = op_of(p, n);
	enum dtype t = n->out[0]->type.dtype;
	const char *all = operand(p, n, 0, ix);

	for (i = 1; i < n->nin; i++) {
		const char *x = operand(p, n, i, ix);
		if (!is_float(t)) {
			all = named(p, t, all);
			x = named(p, t, x);
		}
		all = extreme(p, t, op->of_float, op->of_int, all, x);
	}
	return all;
}

const char *sum_at(struct printer *p, const struct node *n, uint32_t i, const char **ix)
{
	const char *all = operand(p, n, 0, ix);

	for (i = 1; i < n->nin; i++)
		all = as_float16(p, n,
				 textf(p, "%s + %s", all, in_parens(p, operand(p, n, i, ix))));
	return all;
}

const char *clip_at(struct printer *p, const struct node *n, uint32_t i, const char **ix)
{
	enum dtype t = n->out[0]->type.dtype;
	const char *x = operand(p, n, 0, ix), *none[1];

	(void)i;
	for (uint32_t k = 1; k < n->nin; k++) {
		if (!n->in[k])
			continue;
		const char *end = at(p, n->in[k], none);
		if (!is_float(t)) {
			x = named(p, t, x);
			end = named(p, t, end);
		}
		x = k == 1 ? extreme(p, t, "ptgc_max", ">", x, end)
			   : extreme(p, t, "ptgc_min", "<", x, end);
	}
	return x;
}

const char *mod_at(struct printer *p, const struct node *n, uint32_t i, const char **ix)
{
	enum dtype t = n->out[0]->type.dtype;
	const char *a = operand(p, n, 0, ix), *b = operand(p, n, 1, ix);
	bool fmod = int_of_attr(n, "fmod", 0);

	(void)i;
	if (is_float(t))
		return as_float16(
			p, n, textf(p, "ptgc_fmod%s(%s, %s)", t == DT_FLOAT64 ? "" : "f", a, b));
	if (dtypes[t].kind == KIND_UINT)
		return textf(p, "(%s)ptgc_rem_u64(%s, %s)", number_type(t), a, b);
	return textf(p, "(%s)ptgc_%s_i64(%s, %s)", number_type(t), fmod ? "rem" : "mod", a, b);
}

const char *pow_at(struct printer *p, const struct node *n, uint32_t i, const char **ix)
{
	enum dtype t = n->in[0]->type.dtype, e = n->in[1]->type.dtype;
	const char *a = operand(p, n, 0, ix), *b = operand(p, n, 1, ix);

	(void)i;
	if (is_float(t) && t != DT_FLOAT64 && (e == DT_FLOAT16 || e == DT_FLOAT32))
		return as_float16(p, n, textf(p, "ptgc_powf(%s, %s)", a, b));
	if (is_float(t))
		return t == DT_FLOAT64
			       ? textf(p, "ptgc_pow(%s, %s)", a,
				       e == t ? b : textf(p, "(double)%s", in_parens(p, b)))
			       : as_float16(p, n,
					    textf(p, "(float)ptgc_pow((double)%s, (double)%s)",
						  in_parens(p, a), in_parens(p, b)));
	if (is_float(e))
		cannot(p, n, "has no power of %s to %s", dtypes[t].name, dtypes[e].name);
	return textf(p, "(%s)ptgc_pow_i64((int64_t)%s, (int64_t)%s)", number_type(t),
		     in_parens(p, a), in_parens(p, b));
}

const char *cast_at(struct printer *p, const struct node *n, uint32_t i, const char **ix)
{
	enum dtype from = n->in[0]->type.dtype, to = n->out[0]->type.dtype;
	const char *x = operand(p, n, i, ix);

	if (from == to)
		return x;
	if (to == DT_BOOL)
		return textf(p, "%s != 0", in_parens(p, x));
	if (to == DT_FLOAT16)
		return from == DT_FLOAT32
			       ? textf(p, "ptgc_f16_round(%s)", x)
			       : textf(p, "ptgc_f16_of_f64((double)%s)", in_parens(p, x));
	if (is_float(to) || is_discrete(from))
		return textf(p, "(%s)%s", number_type(to), in_parens(p, x));
	return textf(p, "ptgc_to_%c%u((double)%s)", dtypes[to].kind == KIND_UINT ? 'u' : 'i',
		     8u * dtypes[to].size, in_parens(p, x));
}
