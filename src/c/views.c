/*
 * views.c: operators whose elements are elements of their input at other places, or follow from
 * their place alone. In: an index for each axis of the result. Out: the element of the input there.
 * Nothing is copied, unless plan.c finds that elements would be computed again.
 */
#include <string.h>

#include "c/ops.h"

const char *same_at(struct printer *p, const struct node *n, uint32_t i, const char **ix)
{
	return operand(p, n, i, ix);
}

/* --- axes of length 1 come and go --- */

/* Which axis of the input is axis k of the result of a Squeeze or an Unsqueeze? -1: none */
static void axes_of_result(struct printer *p, const struct node *n, int *from)
{
	bool adds = n->onnx->id == ONNX_Unsqueeze;
	const struct value *x = n->in[0], *y = n->out[0];
	uint32_t rank = adds ? y->type.rank : x->type.rank, next = 0;
	int axes[MAX_RANK];
	bool named[MAX_RANK] = {false};
	int count = onnx_axes(n, rank, axes);

	if (count < 0)
		cannot(p, n, "needs axes that are known while compiling");
	for (int i = 0; i < count; i++)
		named[axes[i]] = true;
	for (uint32_t i = 0; !adds && !count && i < rank; i++)
		named[i] = dim_is(p->cx, x->type.dims[i], 1);
	for (uint32_t i = 0; i < rank; i++)
		if (adds)
			from[i] = named[i] ? -1 : (int)next++;
		else if (!named[i])
			from[next++] = (int)i;
}

const char *units_at(struct printer *p, const struct node *n, uint32_t i, const char **ix)
{
	int from[MAX_RANK];
	const char *own[MAX_RANK];

	(void)i;
	set_zeros(own, MAX_RANK);
	axes_of_result(p, n, from);
	for (uint32_t k = 0; k < n->out[0]->type.rank; k++)
		if (from[k] >= 0)
			own[from[k]] = ix[k];
	return at(p, n->in[0], own);
}

void units_shape(struct printer *p, const struct node *n)
{
	int from[MAX_RANK];
	const char *known[MAX_RANK];
	bool seen[MAX_RANK] = {false};

	axes_of_result(p, n, from);
	for (uint32_t k = 0; k < n->out[0]->type.rank; k++) {
		known[k] = from[k] < 0 ? "1" : length(p, n->in[0], (uint32_t)from[k]);
		if (from[k] >= 0)
			seen[from[k]] = true;
	}
	set_lengths(p, n->out[0], known);
	for (uint32_t k = 0; n->onnx->id == ONNX_Squeeze && k < n->in[0]->type.rank; k++)
		if (!seen[k])
			must_equal(p, length(p, n->in[0], k), "1", "the length is not 1");
}

/* --- Reshape: the input is an array, or only axes of length 1 come and go --- */

const char *reshape_at(struct printer *p, const struct node *n, uint32_t i, const char **ix)
{
	const struct value *x = n->in[0], *y = n->out[0];
	const char *own[MAX_RANK];
	uint32_t k = 0;

	(void)i;
	set_zeros(own, MAX_RANK);
	if (is_single(p->cx, &x->type) || (x->data && x->data->splat))
		return at(p, x, own);
	if (x->data)
		return loaded(p, x->type.dtype,
			      textf(p, "%s[%s]", constant_array(p, x),
				    linear(p, held(p, y)->dims, y->type.rank, ix)));
	if (!only_units(p, n)) {
		struct held as = *held(p, x); /* the array of x, read in the shape of y */
		if (as.where != MEMORY)
			bug("c: a Reshape reads no array");
		if (as.buffer)
			p->buffers.at[as.buffer - 1].to = p->statement;
		return loaded(
			p, x->type.dtype,
			textf(p, "%s[%s]", as.name, linear(p, held(p, y)->dims, y->type.rank, ix)));
	}
	for (uint32_t j = 0; j < x->type.rank; j++) {
		if (dim_is(p->cx, x->type.dims[j], 1))
			continue;
		while (dim_is(p->cx, y->type.dims[k], 1))
			k++;
		own[j] = ix[k++];
	}
	return at(p, x, own);
}

/* a * b, where one of them may be any number: a product of lengths that a run asks for must not be
 * that of an array because it wraps */
static const char *near_times(struct printer *p, const char *a, const char *b)
{
	bool far = strchr(a, '[') || strchr(b, '[');

	if (!far || !strcmp(a, "0") || !strcmp(b, "0") || !strcmp(a, "1") || !strcmp(b, "1"))
		return times(p, a, b);
	return textf(p, "ptgc_near_times(%s, %s)", a, b);
}

void reshape_shape(struct printer *p, const struct node *n)
{
	const struct value *x = n->in[0], *y = n->out[0];
	const char *known[MAX_RANK], *all, *rest = "1";
	bool zero_stays = !int_of_attr(n, "allowzero", 0);
	int64_t c;
	int open = -1;
	const char *dims[MAX_RANK];

	for (uint32_t k = 0; k < x->type.rank; k++)
		dims[k] = length(p, x, k);
	all = product(p, dims, x->type.rank);
	for (uint32_t k = 0; k < y->type.rank; k++) {
		known[k] = dim_text(p, y->type.dims[k], false, NULL);
		if (known[k])
			continue;
		known[k] = element(p, n->in[1], k);
		if (is_number_text(known[k], &c) && c == 0 && zero_stays && k < x->type.rank)
			known[k] = dims[k];
		else if (is_number_text(known[k], &c) && c == -1)
			open = (int)k;
		else if (!is_number_text(known[k], &c))
			known[k] = zero_stays && k < x->type.rank
					   ? textf(p, "(%s == 0 ? %s : %s)", in_parens(p, known[k]),
						   dims[k], known[k])
					   : known[k];
	}
	for (int k = 0; k < (int)y->type.rank; k++)
		if (k != open)
			rest = near_times(p, rest, known[k]);
	if (open >= 0) {
		known[open] = textf(p, "ptgc_floor_div_i64(%s, ptgc_max_i64(%s, 1))", all, rest);
		if (dims_may_be_0(p->cx, y->type.dims, y->type.rank, (uint32_t)open))
			fail_if(p, "the other lengths do not say what -1 is", "%s == 0",
				in_parens(p, rest));
	}
	for (uint32_t k = 0; k < y->type.rank; k++) /* a -1 that only the run knows */
		if (open < 0 && strchr(known[k], '['))
			known[k] = textf(p, "ptgc_open_length(%s, %s, %s)", known[k], all, rest);
	set_lengths(p, y, known);
	if (!dims_same_product(p->cx, x->type.dims, x->type.rank, y->type.dims, y->type.rank))
		must_equal(p, all, room_for(p, held(p, y)->dims, y->type.rank),
			   "the number of elements is another one");
}

void flatten_shape(struct printer *p, const struct node *n)
{
	const struct value *x = n->in[0];
	uint32_t axis = onnx_axis(n, 1);
	const char *known[2] = {"1", "1"};

	for (uint32_t k = 0; k < x->type.rank; k++)
		known[k >= axis] = times(p, known[k >= axis], length(p, x, k));
	set_lengths(p, n->out[0], known);
}

/* --- other orders and parts --- */

const char *transpose_at(struct printer *p, const struct node *n, uint32_t i, const char **ix)
{
	const char *own[MAX_RANK];

	(void)i;
	for (uint32_t k = 0; k < n->in[0]->type.rank; k++)
		own[onnx_perm(n, k)] = ix[k];
	return at(p, n->in[0], own);
}

void transpose_shape(struct printer *p, const struct node *n)
{
	const char *known[MAX_RANK];

	for (uint32_t k = 0; k < n->in[0]->type.rank; k++)
		known[k] = length(p, n->in[0], onnx_perm(n, k));
	set_lengths(p, n->out[0], known);
}

const char *expand_at(struct printer *p, const struct node *n, uint32_t i, const char **ix)
{
	return operand(p, n, i, ix);
}

void expand_shape(struct printer *p, const struct node *n)
{
	const struct value *x = n->in[0], *y = n->out[0];
	const char *known[MAX_RANK], *to[MAX_RANK], *own; /* to: what is asked for */
	int64_t c, shape = 0;
	uint32_t more = y->type.rank - x->type.rank;

	if (n->in[1]->type.rank == 1 && dim_is_const(p->cx, n->in[1]->type.dims[0], &shape))
		shape = y->type.rank - shape;
	for (uint32_t k = 0; k < y->type.rank; k++) {
		const char *wanted = k < shape ? "1" : NULL;
		to[k] = "1";
		known[k] = dim_text(p, y->type.dims[k], false, NULL);
		own = k < more ? "1" : length(p, x, k - more);
		wanted = wanted ? wanted : element(p, n->in[1], k - (uint32_t)shape);
		to[k] = wanted;
		if (known[k])
			continue;
		if (is_number_text(own, &c) && c == 1)
			known[k] = wanted;
		else
			known[k] = textf(p, "(%s == 1 ? %s : %s)", in_parens(p, own), wanted, own);
	}
	set_lengths(p, y, known);
	for (uint32_t k = 0; k < y->type.rank; k++) {
		const char *both[] = {k < more ? "1" : length(p, x, k - more), to[k]};
		const char *is = held(p, y)->dims[k];
		for (int i = 0; i < 2; i++)
			if (strcmp(both[i], "1") && strcmp(both[i], is))
				fail_if(p, "lengths do not fit", "%s != 1 && %s != %s",
					in_parens(p, both[i]), in_parens(p, both[i]),
					in_parens(p, is));
	}
}

/* Input i of a Slice, which says the axis or the step of slice k; `otherwise` where it is left out
 */
static const char *slice_input(struct printer *p, const struct node *n, uint32_t i, uint32_t k,
			       int64_t otherwise)
{
	return n->nin > i && n->in[i] ? element(p, n->in[i], k) : number_text(p, otherwise);
}

/* A step that only the run knows may be 0 there. */
static void check_step(struct printer *p, const struct node *n, uint32_t k, const char *step)
{
	dim d = known_at(p->cx, n->in[4], k);

	if (d != DIM_NONE && dim_ge(p->cx, d, 1))
		return;
	line(p, "if (%s == 0)", in_parens(p, step));
	line(p, "\treturn %u;", failure(p, n, "the step is 0"));
}

/* The first element and the step along each axis, as texts */
static void set_slice_axis(struct printer *p, const struct node *n, uint32_t axis, uint32_t i,
			   const char **known)
{
	struct held *h = held(p, n->out[0]);
	const char *len = length(p, n->in[0], axis), *step = slice_input(p, n, 4, i, 1);
	const char *from = element(p, n->in[1], i), *to = element(p, n->in[2], i);
	int64_t s, by = 0; /* 0: only the run knows the step */

	if (!is_number_text(step, &by))
		check_step(p, n, i, step);
	known[axis] = textf(p, "ptgc_slice_length(%s, %s, %s, %s)", from, to, len, step);
	h->step[axis] = step;
	if (is_number_text(from, &s) && by > 0 && s >= 0)
		h->first[axis] = from;
	else if (is_number_text(from, &s) && by < 0 && (s == -1 || s == INT64_MAX))
		h->first[axis] = plus(p, len, "-1");
	else if (is_number_text(from, &s) && by && s < 0 && s > INT32_MIN &&
		 dim_ge(p->cx, n->in[0]->type.dims[axis], -s))
		h->first[axis] = plus(p, len, from);
	else {
		h->first[axis] = fresh(p, "from");
		line(p, "const int64_t %s = ptgc_slice_start(%s, %s, %s);", h->first[axis], from,
		     len, step);
	}
}

void slice_shape(struct printer *p, const struct node *n)
{
	const struct value *x = n->in[0];
	struct held *h = held(p, n->out[0]);
	const char *known[MAX_RANK];
	int64_t axis, count;

	h->first = new_array(p->cx->arena, const char *, x->type.rank + 1u);
	h->step = new_array(p->cx->arena, const char *, x->type.rank + 1u);
	for (uint32_t k = 0; k < x->type.rank; k++) {
		known[k] = length(p, x, k);
		h->first[k] = "0";
		h->step[k] = "1";
	}
	if (!dim_is_const(p->cx, n->in[1]->type.dims[0], &count))
		cannot(p, n, "needs a number of slices that is known while compiling");
	for (uint32_t i = 0; i < count; i++) {
		if (!is_number_text(slice_input(p, n, 3, i, i), &axis))
			cannot(p, n, "needs axes that are known while compiling");
		set_slice_axis(p, n, (uint32_t)from_front(axis, x->type.rank), i, known);
	}
	set_lengths(p, n->out[0], known);
}

const char *slice_at(struct printer *p, const struct node *n, uint32_t i, const char **ix)
{
	const struct held *h = held(p, n->out[0]);
	const char *own[MAX_RANK];

	(void)i;
	for (uint32_t k = 0; k < n->in[0]->type.rank; k++) {
		if (!strcmp(h->step[k], "-1"))
			own[k] = !strcmp(ix[k], "0")
					 ? h->first[k]
					 : textf(p, "%s - %s", h->first[k], in_parens(p, ix[k]));
		else
			own[k] = plus(p, h->first[k], times(p, h->step[k], ix[k]));
	}
	return at(p, n->in[0], own);
}

/* Sizes that a Split gets: none is below 0, where a later piece would begin in front of the array,
 * or longer than the array, and all together are as long as that. */
static void check_split_sizes(struct printer *p, const struct node *n, const char *all)
{
	const struct known *k = known_of(p->cx, n->in[1]);
	const char *sum = "0";
	dim total = dim_const(p->cx, 0);
	int64_t number;

	for (uint32_t i = 0; i < n->nout; i++) {
		const char *size = element(p, n->in[1], i);
		sum = plus(p, sum, size);
		bool is_known = k && k->at[i] != DIM_NONE;
		total = is_known && total != DIM_NONE ? dim_add(p->cx, total, k->at[i]) : DIM_NONE;
		if ((is_known && dim_ge(p->cx, k->at[i], 0)) ||
		    (is_number_text(size, &number) && number >= 0))
			continue;
		fail_if(p, "a size does not fit", "%s < 0 || %s > %s", in_parens(p, size),
			in_parens(p, size), in_parens(p, all));
	}
	if (total == DIM_NONE || !dim_eq(p->cx, total, n->in[0]->type.dims[onnx_axis(n, 0)]))
		must_equal(p, sum, all, "the sizes together are another length");
}

void split_shape(struct printer *p, const struct node *n)
{
	const struct value *x = n->in[0], *sizes = n->nin > 1 ? n->in[1] : NULL;
	uint32_t axis = onnx_axis(n, 0);
	const char *known[MAX_RANK];

	if (sizes)
		check_split_sizes(p, n, length(p, x, axis));
	for (uint32_t i = 0; i < n->nout; i++) {
		for (uint32_t k = 0; k < x->type.rank; k++)
			known[k] = k != axis ? length(p, x, k)
				   : sizes   ? element(p, sizes, i)
					     : NULL;
		set_lengths(p, n->out[i], known);
	}
}

const char *split_at(struct printer *p, const struct node *n, uint32_t i, const char **ix)
{
	const char *own[MAX_RANK], *before = "0";
	uint32_t axis = onnx_axis(n, 0);

	for (uint32_t k = 0; k < i; k++)
		before = plus(p, before, held(p, n->out[k])->dims[axis]);
	for (uint32_t k = 0; k < n->in[0]->type.rank; k++)
		own[k] = k == axis ? plus(p, before, ix[k]) : ix[k];
	return at(p, n->in[0], own);
}

const char *tile_at(struct printer *p, const struct node *n, uint32_t i, const char **ix)
{
	const char *own[MAX_RANK];

	for (i = 0; i < n->in[0]->type.rank; i++) {
		const char *len = length(p, n->in[0], i);
		own[i] = !strcmp(len, "1") ? "0"
			 : !strcmp(len, held(p, n->out[0])->dims[i])
				 ? ix[i]
				 : textf(p, "%s %% %s", in_parens(p, ix[i]), in_parens(p, len));
	}
	return at(p, n->in[0], own);
}

void tile_shape(struct printer *p, const struct node *n)
{
	const char *known[MAX_RANK];

	for (uint32_t k = 0; k < n->in[0]->type.rank; k++) {
		const char *copies = element(p, n->in[1], k), *len = length(p, n->in[0], k);
		int64_t number;
		bool is_number = is_number_text(copies, &number);
		if (!is_number && !dim_text(p, n->out[0]->type.dims[k], false, NULL))
			fail_if(p, "a number of copies is negative", "%s < 0",
				in_parens(p, copies));
		known[k] = is_number ? times(p, len, copies)
				     : textf(p, "ptgc_times(%s, %s)", len, copies);
	}
	set_lengths(p, n->out[0], known);
}

/* --- what follows from the place --- */

static const char *number_of(struct printer *p, const struct value *v)
{
	const char *none[1] = {"0"};

	return is_float(v->type.dtype) ? at(p, v, none) : element(p, v, 0);
}

const char *range_at(struct printer *p, const struct node *n, uint32_t i, const char **ix)
{
	enum dtype t = n->out[0]->type.dtype;
	const char *from = number_of(p, n->in[0]), *step = number_of(p, n->in[2]);

	(void)i;
	if (is_float(t))
		return textf(p, "%s + (%s)%s * %s", in_parens(p, from), number_type(t),
			     in_parens(p, ix[0]), in_parens(p, step));
	int64_t k;
	bool short_step = is_number_text(step, &k) && k <= INT16_MAX && k >= -INT16_MAX;
	if (t == DT_INT64 && strcmp(from, "0") && !short_step) /* a product may be too long */
		return textf(p, "(int64_t)((uint64_t)%s + (uint64_t)%s * (uint64_t)%s)",
			     in_parens(p, from), in_parens(p, ix[0]), in_parens(p, step));
	const char *all = plus(p, from, times(p, ix[0], step));
	return t == DT_INT64 ? all : textf(p, "(%s)(%s)", number_type(t), all);
}

void range_shape(struct printer *p, const struct node *n)
{
	bool real = is_float(n->out[0]->type.dtype);
	const char *known[1];

	known[0] = dim_text(p, n->out[0]->type.dims[0], false, NULL);
	if (!known[0]) {
		const char *from = number_of(p, n->in[0]), *to = number_of(p, n->in[1]);
		known[0] = textf(p, "ptgc_range_%s(%s, %s, %s)", real ? "f64" : "i64", from, to,
				 number_of(p, n->in[2]));
	}
	const char *step = number_of(p, n->in[2]);
	int64_t k;
	if (!(is_number_text(step, &k) && k) && !n->in[2]->data) {
		line(p, "if (%s == 0)", in_parens(p, step));
		line(p, "\treturn %u;", failure(p, n, "the step is 0"));
	}
	set_lengths(p, n->out[0], known);
}

const char *fill_at(struct printer *p, const struct node *n, uint32_t i, const char **ix)
{
	const struct attr *a = find_attr(n, "value");

	(void)i;
	(void)ix;
	return a ? literal(p, a->u.t, 0) : "0.0f";
}

void fill_shape(struct printer *p, const struct node *n)
{
	const char *known[MAX_RANK];

	for (uint32_t k = 0; k < n->out[0]->type.rank; k++) {
		known[k] = dim_text(p, n->out[0]->type.dims[k], false, NULL);
		if (!known[k])
			known[k] = element(p, n->in[0], k);
	}
	set_lengths(p, n->out[0], known);
}

const char *eye_at(struct printer *p, const struct node *n, uint32_t i, const char **ix)
{
	const char *k = number_text(p, int_of_attr(n, "k", 0));

	(void)i;
	return textf(p, "(%s)(%s - %s == %s)", number_type(n->out[0]->type.dtype),
		     in_parens(p, ix[1]), in_parens(p, ix[0]), k);
}

const char *trilu_at(struct printer *p, const struct node *n, uint32_t i, const char **ix)
{
	const struct value *x = n->in[0];
	bool upper = int_of_attr(n, "upper", 1);
	const char *k = n->nin > 1 && n->in[1] ? element(p, n->in[1], 0) : "0";
	const char *row = ix[x->type.rank - 2u], *column = ix[x->type.rank - 1u];

	return textf(p, "%s - %s %s %s ? %s : (%s)0", in_parens(p, column), in_parens(p, row),
		     upper ? ">=" : "<=", in_parens(p, k), in_parens(p, operand(p, n, i, ix)),
		     number_type(x->type.dtype));
}

static uint32_t first_of_shape(const struct node *n)
{
	int64_t rank = n->in[0]->type.rank, first = from_front(int_of_attr(n, "start", 0), rank);

	return (uint32_t)(first < 0 ? 0 : first > rank ? rank : first);
}

const char *shape_at(struct printer *p, const struct node *n, uint32_t i, const char **ix)
{
	uint32_t first = first_of_shape(n), last = n->in[0]->type.rank;
	int64_t k;

	(void)i;
	if (is_number_text(ix[0], &k))
		return length(p, n->in[0], first + (uint32_t)k);
	if (first == last)
		return "0"; /* of no element */
	const char *all = length(p, n->in[0], --last);
	while (last-- > first)
		all = textf(p, "%s == %u ? %s : %s", in_parens(p, ix[0]), last - first,
			    length(p, n->in[0], last), in_parens(p, all));
	return all;
}

void shape_put(struct printer *p, const struct node *n)
{
	const struct value *y = n->out[0];
	int64_t count = 0;

	set_lengths(p, y, NULL);
	make_array(p, y);
	dim_is_const(p->cx, y->type.dims[0], &count);
	for (uint32_t k = 0; k < count; k++)
		line(p, "%s[%u] = %s;", held(p, y)->name, k,
		     length(p, n->in[0], first_of_shape(n) + k));
}

const char *size_at(struct printer *p, const struct node *n, uint32_t i, const char **ix)
{
	const char *all = "1";

	(void)ix;
	for (i = 0; i < n->in[0]->type.rank; i++)
		all = times(p, all, length(p, n->in[0], i));
	return all;
}
