/*
 * products.c: sums of products that are no products of matrices: Einsum and Conv. In: elements of
 * the inputs. Out: loops over the elements of the result, and inside of them loops over what is
 * summed up.
 */
#include <ctype.h>
#include <string.h>

#include "c/ops.h"

/* `sum`, a variable of the result's dtype, plus the product of the factors */
static void add_product(struct printer *p, enum dtype t, const char *sum, const char **factors,
			uint32_t count)
{
	const char *all = in_parens(p, factors[0]), *T = number_type(t), *U = unsigned_type(t);

	if (is_float(t)) {
		for (uint32_t i = 1; i < count; i++)
			all = textf(p, "%s * %s", all, in_parens(p, factors[i]));
		line(p, "%s += %s;", sum, all);
		return;
	}
	all = textf(p, "(%s)%s", U, all);
	for (uint32_t i = 1; i < count; i++)
		all = textf(p, "%s * (%s)%s", all, U, in_parens(p, factors[i]));
	line(p, "%s = (%s)((%s)%s + %s);", sum, T, U, sum, all);
}

static void put_sum(struct printer *p, const struct value *y, const char **ix, const char *sum)
{
	enum dtype t = y->type.dtype;
	const char *s = t == DT_FLOAT16 ? textf(p, "ptgc_f16_round(%s)", sum) : sum;

	line(p, "%s[%s] = %s;", held(p, y)->name, linear(p, held(p, y)->dims, y->type.rank, ix),
	     to_store(p, t, s));
}

/* --- Einsum --- */

struct letters {                  /* of an equation */
	const char *in[64], *out; /* where those of each input, and of the result, begin */
	const char *length[128];  /* by letter */
};

static struct letters letters_of(struct printer *p, const struct node *n)
{
	const struct attr *a = find_attr(n, "equation");
	struct letters l = {.out = NULL};
	char *text = new_array(p->cx->arena, char, a->u.s.len + 2u);
	uint32_t count = 0, k = 0;

	for (uint32_t i = 0; i < a->u.s.len; i++)
		if (a->u.s.s[i] != ' ')
			text[k++] = a->u.s.s[i];
	l.out = strstr(text, "->");
	if (strchr(text, '.') || !l.out || n->nin > countof(l.in))
		cannot(p, n, "needs a letter for each axis, and -> with those of the result");
	l.in[count++] = text;
	for (const char *s = text; s < l.out; s++)
		if (*s == ',' && count < n->nin)
			l.in[count++] = s + 1;
	l.out += 2;
	if (count != n->nin)
		cannot(p, n, "has an equation of %u inputs", count);
	for (uint32_t i = 0; i < n->nin; i++)
		for (k = 0; k < n->in[i]->type.rank; k++) {
			unsigned char c = (unsigned char)l.in[i][k];
			const char *len = length(p, n->in[i], k);
			if (!isalpha(c))
				cannot(p, n, "has an equation that does not fit its inputs");
			if (!l.length[c] || !strcmp(l.length[c], "1"))
				l.length[c] = len;
			else if (strcmp(len, "1"))
				must_equal(p, len, l.length[c], "lengths do not fit");
		}
	return l;
}

void einsum_shape(struct printer *p, const struct node *n)
{
	struct letters l = letters_of(p, n);
	const char *known[MAX_RANK];

	for (uint32_t k = 0; k < n->out[0]->type.rank; k++)
		known[k] = l.length[(unsigned char)l.out[k]];
	set_lengths(p, n->out[0], known);
}

void einsum_put(struct printer *p, const struct node *n)
{
	struct letters l = letters_of(p, n);
	const struct value *y = n->out[0];
	const char *index[128] = {NULL}, *ix[MAX_RANK], *own[MAX_RANK], *factors[64], *one[1];
	uint32_t mark = p->once.len, inner = 0;

	make_array(p, y);
	uint32_t loops = open_loops(p, held(p, y)->dims, y->type.rank, ix);
	for (uint32_t k = 0; k < y->type.rank; k++)
		index[(unsigned char)l.out[k]] = ix[k];
	const char *sum = fresh(p, "sum");
	line(p, "%s %s = 0;", number_type(y->type.dtype), sum);
	for (int c = 0; c < 128; c++) {
		one[0] = l.length[c];
		if (l.length[c] && !index[c])
			inner += open_loops(p, one, 1, &index[c]);
	}
	for (uint32_t i = 0; i < n->nin; i++) {
		for (uint32_t k = 0; k < n->in[i]->type.rank; k++)
			own[k] = strcmp(length(p, n->in[i], k), "1")
					 ? index[(unsigned char)l.in[i][k]]
					 : "0";
		factors[i] = at(p, n->in[i], own);
	}
	add_product(p, y->type.dtype, sum, factors, n->nin);
	close_loops(p, inner);
	put_sum(p, y, ix, sum);
	close_loops(p, loops);
	p->once.len = mark;
}

/* --- Conv --- */

/* Number k of a list of integers */
static int64_t listed(const struct node *n, const char *name, uint32_t k, int64_t otherwise)
{
	uint32_t count;
	const int64_t *list = ints_of_attr(n, name, &count);

	return list && k < count ? list[k] : otherwise;
}

static const char *number(struct printer *p, int64_t i)
{
	return textf(p, "%lld", (long long)i);
}

void conv_shape(struct printer *p, const struct node *n)
{
	const struct value *x = n->in[0], *w = n->in[1];
	const struct attr *pad = find_attr(n, "auto_pad");
	const char *known[MAX_RANK] = {length(p, x, 0), length(p, w, 0)};
	uint32_t axes = x->type.rank - 2u;

	if (pad && strncmp(pad->u.s.s, "NOTSET", 6) && strncmp(pad->u.s.s, "VALID", 5))
		cannot(p, n, "needs the attribute pads in place of auto_pad");
	int64_t group = int_of_attr(n, "group", 1), count;
	if (!dim_eq(p->cx, dim_mul(p->cx, w->type.dims[1], dim_const(p->cx, group)),
		    x->type.dims[1]))
		must_equal(p, times(p, length(p, w, 1), number(p, group)), length(p, x, 1),
			   "the numbers of channels do not fit");
	for (uint32_t k = 0; k < axes; k++) {
		int64_t step = listed(n, "strides", k, 1), far = listed(n, "dilations", k, 1);
		int64_t more = listed(n, "pads", k, 0) + listed(n, "pads", axes + k, 0);
		const char *taken = times(p, number(p, far), plus(p, length(p, w, k + 2), "-1"));
		const char *free =
			textf(p, "%s - %s", plus(p, length(p, x, k + 2), number(p, more)),
			      in_parens(p, plus(p, taken, "1")));
		known[k + 2] = textf(p, "ptgc_floor_div_i64(%s, %s) + 1", free, number(p, step));
		if (!dim_text(p, n->out[0]->type.dims[k + 2], false, NULL))
			continue;
		fail_if(p, "the array is shorter than what it is folded with", "%s < 0",
			in_parens(p, known[k + 2]));
	}
	set_lengths(p, n->out[0], known);
	if (group != 1 && !(is_number_text(known[1], &count) && count % group == 0))
		fail_if(p, "the number of results is none of groups", "%s %% %lld != 0",
			in_parens(p, known[1]), (long long)group);
	if (n->nin > 2 && n->in[2])
		must_equal(p, length(p, n->in[2], 0), known[1],
			   "the numbers of results do not fit");
}

void conv_put(struct printer *p, const struct node *n)
{
	const struct value *x = n->in[0], *w = n->in[1], *y = n->out[0];
	int64_t group = int_of_attr(n, "group", 1);
	const char *ix[MAX_RANK], *of[MAX_RANK], *own[MAX_RANK], *inside = NULL;
	const char *one[1] = {length(p, w, 1)}, *sum = fresh(p, "sum");
	uint32_t mark = p->once.len, axes = x->type.rank - 2u;

	make_array(p, y);
	uint32_t loops = open_loops(p, held(p, y)->dims, y->type.rank, ix);
	line(p, "%s %s = %s;", number_type(y->type.dtype), sum,
	     n->nin > 2 && n->in[2] ? at(p, n->in[2], &ix[1]) : "0");
	of[0] = ix[1];
	uint32_t inner = open_loops(p, one, 1, &of[1]);
	const char *first =
		group == 1 ? "0"
			   : textf(p, "%s / (%s / %lld) * %s", ix[1], in_parens(p, length(p, w, 0)),
				   (long long)group, in_parens(p, length(p, w, 1)));
	own[0] = ix[0];
	own[1] = plus(p, first, of[1]);
	for (uint32_t k = 0; k < axes; k++) {
		const char *len = length(p, x, k + 2), *place;
		one[0] = length(p, w, k + 2);
		inner += open_loops(p, one, 1, &of[k + 2]);
		place = plus(p, times(p, number(p, listed(n, "strides", k, 1)), ix[k + 2]),
			     times(p, number(p, listed(n, "dilations", k, 1)), of[k + 2]));
		place = plus(p, place, number(p, -listed(n, "pads", k, 0)));
		own[k + 2] = place;
		if (!listed(n, "pads", k, 0) && !listed(n, "pads", axes + k, 0))
			continue;
		own[k + 2] = fresh(p, "from");
		line(p, "const int64_t %s = %s;", own[k + 2], place);
		place = textf(p, "%s >= 0 && %s < %s", own[k + 2], own[k + 2], in_parens(p, len));
		inside = inside ? textf(p, "%s && %s", inside, place) : place;
	}
	if (inside) {
		line(p, "if (%s) {", inside);
		p->indent++;
	}
	const char *element = at(p, x, own), *weight = at(p, w, of);
	const char *factors[2] = {element, weight};
	add_product(p, y->type.dtype, sum, factors, 2);
	if (inside) {
		p->indent--;
		line(p, "}");
	}
	close_loops(p, inner);
	put_sum(p, y, ix, sum);
	close_loops(p, loops);
	p->once.len = mark;
}
