/*
 * reduce.c: sums and the like. In: a value, read element by element, so that what computes it is in
 * the same loop. Out: loops over the axes that stay, and inside of them loops over the others.
 * Along the last axis a sum of floats is added up in LANES sums of their own, which are joined in a
 * fixed order: that vectorises without leave to reorder, and has the same bits everywhere. So are
 * the greatest and the least of floats.
 */
#include <string.h>

#include "c/ops.h"

#define LANES 8  /* of one sum */
#define BLOCK 64 /* whole rounds of elements that are computed before they are added up */

enum reduction { SUM, PRODUCT, GREATEST, LEAST, MEAN, SQUARES, MAGNITUDES, NORM };

static enum reduction reduction_of(const struct node *n)
{
	static const enum reduction of[ONNX_COUNT] = {
		[ONNX_ReduceSum] = SUM,       [ONNX_ReduceProd] = PRODUCT,
		[ONNX_ReduceMax] = GREATEST,  [ONNX_ReduceMin] = LEAST,
		[ONNX_ReduceMean] = MEAN,     [ONNX_ReduceSumSquare] = SQUARES,
		[ONNX_ReduceL1] = MAGNITUDES, [ONNX_ReduceL2] = NORM,
	};
	return of[n->onnx->id];
}

/* Which axes go; false: none is named, and that means that all stay */
static bool mark_reduced_axes(struct printer *p, const struct node *n, bool *gone)
{
	bool none = reduces_no_axis(n);
	int axes[MAX_RANK], count = none ? 0 : onnx_reduced_axes(n, axes);

	if (count < 0)
		cannot(p, n, "needs axes that are known while compiling");
	memset(gone, 0, MAX_RANK * sizeof(*gone));
	for (int i = 0; i < count; i++)
		gone[axes[i]] = true;
	return !none;
}

void reduce_shape(struct printer *p, const struct node *n)
{
	const struct value *x = n->in[0];
	bool gone[MAX_RANK], keeps = int_of_attr(n, "keepdims", 1);
	const char *known[MAX_RANK];
	uint32_t k = 0;

	mark_reduced_axes(p, n, gone);
	for (uint32_t i = 0; i < x->type.rank; i++)
		if (!gone[i] || keeps)
			known[k++] = gone[i] ? "1" : length(p, x, i);
	set_lengths(p, n->out[0], known);
}

static const char *first_number(enum reduction r, enum dtype t)
{
	if (r == PRODUCT)
		return "1";
	if (r != GREATEST && r != LEAST)
		return "0";
	if (is_float(t))
		return r == GREATEST ? (t == DT_FLOAT64 ? "-(double)INFINITY" : "-(float)INFINITY")
				     : (t == DT_FLOAT64 ? "(double)INFINITY" : "(float)INFINITY");
	switch (t) {
	case DT_BOOL:
		return r == GREATEST ? "false" : "true";
	case DT_INT8:
		return r == GREATEST ? "INT8_MIN" : "INT8_MAX";
	case DT_INT16:
		return r == GREATEST ? "INT16_MIN" : "INT16_MAX";
	case DT_INT32:
		return r == GREATEST ? "INT32_MIN" : "INT32_MAX";
	case DT_INT64:
		return r == GREATEST ? "INT64_MIN" : "INT64_MAX";
	case DT_UINT8:
		return r == GREATEST ? "0" : "UINT8_MAX";
	case DT_UINT16:
		return r == GREATEST ? "0" : "UINT16_MAX";
	case DT_UINT32:
		return r == GREATEST ? "0" : "UINT32_MAX";
	default:
		return r == GREATEST ? "0" : "UINT64_MAX";
	}
}

/* `to` joined with the element x */
static void join(struct printer *p, enum reduction r, enum dtype t, const char *to, const char *x)
{
	const char *f = t == DT_FLOAT64 ? "" : "f", *T = number_type(t), *U = unsigned_type(t);

	if (is_float(t)) {
		if ((r == SQUARES || r == NORM) && (strlen(x) > 20 || strchr(x, '('))) {
			const char *name = fresh(p, "t");
			line(p, "const %s %s = %s;", T, name, x);
			x = name;
		}
		x = in_parens(p, x);
		switch (r) {
		case SUM:
		case MEAN:
			line(p, "%s += %s;", to, x);
			return;
		case PRODUCT:
			line(p, "%s *= %s;", to, x);
			return;
		case SQUARES:
		case NORM:
			line(p, "%s += %s * %s;", to, x, x);
			return;
		case MAGNITUDES:
			line(p, "%s += ptgc_abs%s(%s);", to, f, x);
			return;
		default:
			line(p, "%s = ptgc_%s%s(%s, %s);", to, r == GREATEST ? "max" : "min", f, to,
			     x);
			return;
		}
	}
	if (r == GREATEST || r == LEAST) {
		const char *name = fresh(p, "t");
		line(p, "const %s %s = %s;", T, name, x);
		line(p, "%s = (%s)(%s %s %s ? %s : %s);", to, T, name, r == GREATEST ? ">" : "<",
		     to, name, to);
	} else if (r == SQUARES) {
		const char *name = fresh(p, "t");
		line(p, "const %s %s = (%s)%s;", U, name, U, in_parens(p, x));
		line(p, "%s = (%s)((%s)%s + %s * %s);", to, T, U, to, name, name);
	} else {
		line(p, "%s = (%s)((%s)%s %s (%s)%s);", to, T, U, to, r == PRODUCT ? "*" : "+", U,
		     in_parens(p, x));
	}
}

/* The element of x at ix, joined with `to`, and what computes it */
static void join_element(struct printer *p, enum reduction r, const struct value *x, const char *to,
			 const char **ix)
{
	uint32_t mark = p->once.len;

	join(p, r, x->type.dtype, to, at(p, x, ix));
	p->once.len = mark;
}

/* The lanes joined with `to` */
static void join_lanes(struct printer *p, enum reduction r, enum dtype t, const char *to,
		       const char *s)
{
	if (r == GREATEST || r == LEAST) {
		const char *lane = fresh(p, "lane");
		line(p, "for (int64_t %s = 0; %s < %d; ++%s)", lane, lane, LANES, lane);
		p->indent++;
		join(p, r, t, to, textf(p, "%s[%s]", s, lane));
		p->indent--;
	} else {
		line(p,
		     "%s += ((%s[0] + %s[4]) + (%s[2] + %s[6])) + ((%s[1] + %s[5]) + (%s[3] + "
		     "%s[7]));",
		     to, s, s, s, s, s, s, s, s);
	}
}

/* Element `at` of x, or of the array `terms` if there is one, joined with a lane */
static void join_lane(struct printer *p, enum reduction r, const struct value *x, const char *terms,
		      const char *lane, const char *at, const char **ix, uint32_t axis)
{
	p->indent++;
	ix[axis] = at;
	if (terms)
		join(p, r, x->type.dtype, lane, textf(p, "%s[%s]", terms, at));
	else
		join_element(p, r, x, lane, ix);
	p->indent--;
}

/* Elements of x, or of `terms`, joined with the lanes `sums`: whole rounds of LANES, and then the
 * rest. Where the number of elements is known only what there is of both is written. */
static void go_round(struct printer *p, enum reduction r, const struct value *x, const char *terms,
		     const char *sums, const char *len, const char **ix, uint32_t axis)
{
	const char *i = fresh(p, "i"), *lane = fresh(p, "lane");
	int64_t n = 0, rounds;
	bool known = is_number_text(len, &n);

	rounds = n - n % LANES;
	len = in_parens(p, len);
	if (!known)
		line(p, "int64_t %s = 0;", i);
	if (!known || rounds) {
		if (known)
			line(p, "for (int64_t %s = 0; %s < %lld; %s += %d)", i, i,
			     (long long)rounds, i, LANES);
		else
			line(p, "for (; %s + %d <= %s; %s += %d)", i, LANES, len, i, LANES);
		line(p, "\tfor (int64_t %s = 0; %s < %d; ++%s) {", lane, lane, LANES, lane);
		p->indent++;
		join_lane(p, r, x, terms, textf(p, "%s[%s]", sums, lane),
			  textf(p, "(%s + %s)", i, lane), ix, axis);
		p->indent--;
		line(p, "\t}");
	}
	if (known && n == rounds)
		return;
	if (known)
		line(p, "for (int64_t %s = %lld; %s < %s; ++%s) {", i, (long long)rounds, i, len,
		     i);
	else
		line(p, "for (; %s < %s; ++%s) {", i, len, i);
	lane = known ? plus(p, i, textf(p, "%lld", (long long)-rounds))
		     : textf(p, "%s %% %d", i, LANES);
	join_lane(p, r, x, terms, textf(p, "%s[%s]", sums, lane), i, ix, axis);
	line(p, "}");
}

/* Is an elementary function called for each element of v? Formulas are at most MAX_FORMULA deep. */
static bool calls_function(const struct printer *p, const struct value *v)
{
	if (v->data || held(p, v)->where != FORMULA)
		return false;
	const char *text = op_of(p, v->def)->of_float;
	if (v->def->onnx->id == ONNX_Pow ||
	    (text && strstr(text, "ptgc_") == text && op_of(p, v->def)->at == each_at))
		return true;
	for (uint32_t i = 0; i < v->def->nin; i++)
		if (v->def->in[i] && calls_function(p, v->def->in[i]))
			return true;
	return false;
}

/* The same of elements that take long: BLOCK of them at a time are computed by a loop that does
 * nothing else. That vectorises, those of the last round with the others. */
static void go_by_blocks(struct printer *p, enum reduction r, const struct value *x,
			 const char *sums, const char *len, const char **ix, uint32_t axis)
{
	const char *from = fresh(p, "from"), *terms = fresh(p, "terms"), *n = fresh(p, "n");
	const char *k = fresh(p, "k");
	uint32_t mark = p->once.len;
	int64_t number;
	bool one = is_number_text(len, &number) && number <= BLOCK;

	len = in_parens(p, len);
	if (one) {
		n = len;
		line(p, "%s %s[%s];", number_type(x->type.dtype), terms, number > 0 ? len : "1");
	} else {
		line(p, "for (int64_t %s = 0; %s < %s; %s += %d) {", from, from, len, from, BLOCK);
		p->indent++;
		line(p, "const int64_t %s = %s - %s < %d ? %s - %s : %d;", n, len, from, BLOCK, len,
		     from, BLOCK);
		line(p, "%s %s[%d];", number_type(x->type.dtype), terms, BLOCK);
	}
	line(p, "for (int64_t %s = 0; %s < %s; ++%s) {", k, k, n, k);
	p->indent++;
	ix[axis] = one ? k : textf(p, "(%s + %s)", from, k);
	line(p, "%s[%s] = %s;", terms, k, at(p, x, ix));
	p->once.len = mark;
	p->indent--;
	line(p, "}");
	go_round(p, r, x, terms, sums, n, ix, axis);
	if (one)
		return;
	p->indent--;
	line(p, "}");
}

/* Along the last axis, whose length is `len` */
static void in_lanes(struct printer *p, enum reduction r, const struct value *x, const char *sum,
		     const char *len, const char **ix, uint32_t axis)
{
	const char *sums = fresh(p, "sums"), *first = first_number(r, x->type.dtype), *all = first;

	for (uint32_t k = 1; strcmp(first, "0") && k < LANES; k++)
		all = textf(p, "%s, %s", all, first);
	line(p, PIECE_BEGIN);
	line(p, "%s %s[%d] = {%s};", number_type(x->type.dtype), sums, LANES, all);
	if (calls_function(p, x))
		go_by_blocks(p, r, x, sums, len, ix, axis);
	else
		go_round(p, r, x, NULL, sums, len, ix, axis);
	join_lanes(p, r, x->type.dtype, sum, sums);
	line(p, PIECE_END);
}

static const char *finished(struct printer *p, enum reduction r, enum dtype t, const char *acc,
			    const char *count)
{
	const char *f = t == DT_FLOAT64 ? "" : "f";

	if (r == MEAN)
		acc = textf(p, "%s / (%s)%s", acc, number_type(t), in_parens(p, count));
	if (r == NORM)
		acc = textf(p, "ptgc_sqrt%s(%s)", f, acc);
	return t == DT_FLOAT16 ? textf(p, "ptgc_f16_round(%s)", acc) : acc;
}

void reduce_put(struct printer *p, const struct node *n)
{
	const struct value *x = n->in[0], *y = n->out[0];
	struct held *h = held(p, y);
	enum reduction r = reduction_of(n);
	enum dtype t = x->type.dtype;
	bool gone[MAX_RANK], all = mark_reduced_axes(p, n, gone),
			     keeps = int_of_attr(n, "keepdims", 1);
	const char *ix[MAX_RANK], *to[MAX_RANK], *acc, *count = "1", *one[1], *used[1];
	uint32_t outer = 0, inner = 0, k = 0, last = UINT32_MAX;
	int64_t c;

	bool number = is_single(p->cx, &y->type) && !h->stored && !h->result;
	if (!number)
		make_array(p, y);
	for (uint32_t i = 0; i < x->type.rank; i++) {
		one[0] = length(p, x, i);
		ix[i] = "0";
		if (gone[i]) {
			count = times(p, count, one[0]);
			last = strcmp(one[0], "1") ? i : last;
		} else {
			outer += open_loops(p, one, 1, used);
			ix[i] = used[0];
		}
		if (!gone[i] || keeps)
			to[k++] = gone[i] ? "0" : ix[i];
	}
	acc = fresh(p, y->name && number ? y->name->s : "sum");
	line(p, "%s %s = %s;", number_type(t), acc, first_number(r, t));
	bool lanes = all && is_float(t) && r != PRODUCT && last < x->type.rank &&
		     last + 1u == x->type.rank &&
		     !(is_number_text(length(p, x, last), &c) && c < 2 * LANES);
	for (uint32_t i = 0; i < x->type.rank; i++) {
		if (!gone[i] || (lanes && i == last))
			continue;
		one[0] = length(p, x, i);
		inner += open_loops(p, one, 1, used);
		ix[i] = used[0];
	}
	if (lanes)
		in_lanes(p, r, x, acc, length(p, x, last), ix, last);
	else
		join_element(p, r, x, acc, ix);
	close_loops(p, inner);
	if (number) {
		const char *s = finished(p, r, t, acc, count);
		if (s != acc)
			line(p, "%s = %s;", acc, s);
		h->where = NUMBER;
		h->name = acc;
		return;
	}
	line(p, "%s[%s] = %s;", h->name, linear(p, h->dims, y->type.rank, to),
	     to_store(p, t, finished(p, r, t, acc, count)));
	close_loops(p, outer);
}

/* Fails where a line of x is empty and there is a result to find in it. Where there are as many
 * results as elements in a line, both cannot be: compilers warn of `n < 1 && n > 0`. */
static void need_elements(struct printer *p, const struct node *n, const char *len)
{
	const char *results = count_of(p, n->out[0]);

	if (!strcmp(len, results))
		return;
	line(p, "if (%s < 1 && %s > 0)", in_parens(p, len), in_parens(p, results));
	line(p, "\treturn %u;", failure(p, n, "there is no element"));
}

/* The first place of the greatest, or least, element; the last one if the node says so. NaN is none
 * of them, as ONNX Runtime has it. */
void arg_put(struct printer *p, const struct node *n)
{
	const struct value *x = n->in[0], *y = n->out[0];
	enum dtype t = x->type.dtype;
	bool gone[MAX_RANK], keeps = int_of_attr(n, "keepdims", 1);
	bool last = int_of_attr(n, "select_last_index", 0);
	const char *ix[MAX_RANK], *to[MAX_RANK], *one[1], *used[1];
	const char *sign = op_of(p, n)->of_int;
	uint32_t outer = 0, k = 0, axis = 0;

	make_array(p, y);
	mark_reduced_axes(p, n, gone);
	for (uint32_t i = 0; i < x->type.rank; i++) {
		one[0] = length(p, x, i);
		if (gone[i]) {
			axis = i;
			ix[i] = "0";
			if (!dim_ge(p->cx, x->type.dims[i], 1))
				need_elements(p, n, one[0]);
		} else {
			outer += open_loops(p, one, 1, used);
			ix[i] = used[0];
		}
		if (!gone[i] || keeps)
			to[k++] = gone[i] ? "0" : ix[i];
	}
	const char *best = fresh(p, "best"), *where = fresh(p, "where"), *i = fresh(p, "i");
	const char *len = length(p, x, axis), *now = fresh(p, "now");
	line(p, "%s %s = 0;", number_type(t), best);
	line(p, "int64_t %s = 0;", where);
	line(p, "for (int64_t %s = 0; %s < %s; ++%s) {", i, i, in_parens(p, len), i);
	p->indent++;
	uint32_t mark = p->once.len;
	ix[axis] = i;
	line(p, "const %s %s = %s;", number_type(t), now, at(p, x, ix));
	p->once.len = mark;
	line(p, "if (%s == 0 || %s %s%s %s) {", i, now, sign, last ? "=" : "", best);
	line(p, "\t%s = %s;", best, now);
	line(p, "\t%s = %s;", where, i);
	line(p, "}");
	p->indent--;
	line(p, "}");
	line(p, "%s[%s] = %s;", held(p, y)->name, linear(p, held(p, y)->dims, y->type.rank, to),
	     where);
	close_loops(p, outer);
}

/* Loops over the lines of x along the axis */
static uint32_t open_lines(struct printer *p, const struct value *x, uint32_t axis, const char **ix)
{
	uint32_t loops = 0;

	for (uint32_t i = 0; i < x->type.rank; i++) {
		const char *one[1] = {length(p, x, i)};
		if (i != axis)
			loops += open_loops(p, one, 1, &ix[i]);
	}
	return loops;
}

/* Both go along one axis: for the greatest element, for the terms exp(x - greatest), for their sum,
 * and for the results. y keeps the terms, unless it would round them. */
void softmax_put(struct printer *p, const struct node *n)
{
	const struct value *x = n->in[0], *y = n->out[0];
	enum dtype t = x->type.dtype;
	const char *f = t == DT_FLOAT64 ? "" : "f", *T = number_type(t);
	bool logs = op_of(p, n)->of_float[0], keeps = t != DT_FLOAT16;
	uint32_t axis = onnx_axis(n, -1), mark = p->once.len;
	const char *ix[MAX_RANK], *len = length(p, x, axis);
	const char *top = fresh(p, "top"), *sum = fresh(p, "sum"), *e;

	make_array(p, y);
	uint32_t outer = open_lines(p, x, axis, ix);
	line(p, "%s %s = %s;", T, top, first_number(GREATEST, t));
	in_lanes(p, GREATEST, x, top, len, ix, axis);
	line(p, "%s %s = 0;", T, sum);
	uint32_t inner = open_loops(p, &len, 1, &ix[axis]);
	e = textf(p, "ptgc_exp%s(%s - %s)", f, in_parens(p, at(p, x, ix)), top);
	if (keeps)
		put_number(p, y, ix, e);
	else
		line(p, "%s += %s;", sum, e);
	p->once.len = mark;
	close_loops(p, inner);
	if (keeps)
		in_lanes(p, SUM, y, sum, len, ix, axis);
	if (logs)
		line(p, "%s = ptgc_log%s(%s);", sum, f, sum);
	inner = open_loops(p, &len, 1, &ix[axis]);
	e = textf(p, "%s - %s", in_parens(p, at(p, x, ix)), top);
	if (logs)
		e = textf(p, "%s - %s", e, sum);
	else
		e = keeps ? textf(p, "%s / %s", at(p, y, ix), sum)
			  : textf(p, "ptgc_exp%s(%s) / %s", f, e, sum);
	put_number(p, y, ix, e);
	p->once.len = mark;
	close_loops(p, inner);
	close_loops(p, outer);
}

/* Each line along the axis, divided by its sum of magnitudes or by the root of that of its squares.
 * A line of zeros stays zero, as ONNX Runtime has it. */
void lp_normalization_put(struct printer *p, const struct node *n)
{
	const struct value *x = n->in[0], *y = n->out[0];
	enum dtype t = x->type.dtype;
	enum reduction r = int_of_attr(n, "p", 2) == 1 ? MAGNITUDES : NORM;
	uint32_t axis = onnx_axis(n, -1), mark = p->once.len;
	const char *ix[MAX_RANK], *len = length(p, x, axis), *norm = fresh(p, "norm");

	make_array(p, y);
	uint32_t outer = open_lines(p, x, axis, ix);
	line(p, "%s %s = 0;", number_type(t), norm);
	in_lanes(p, r, x, norm, len, ix, axis);
	const char *root = finished(p, r, t, norm, "1");
	if (root != norm)
		line(p, "%s = %s;", norm, root);
	uint32_t inner = open_loops(p, &len, 1, &ix[axis]);
	put_number(p, y, ix,
		   textf(p, "%s == 0 ? 0 : %s / %s", norm, in_parens(p, at(p, x, ix)), norm));
	p->once.len = mark;
	close_loops(p, inner);
	close_loops(p, outer);
}
