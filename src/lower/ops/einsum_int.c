/*
 * einsum_int.c: lowers Einsum of integers and bools, which ONNX Runtime's Einsum adds up in
 * float64. The shape rule has checked the subscripts. Out: products of the operands, one after the
 * other. Each product is one MatMul of int64 that sums over the letters which no later operand and
 * not the result needs, or one Mul if there are none. So integers wrap as in NumPy.
 */
#include <string.h>

#include "lower/ops/lowerings.h"

/* A value and the letters of its axes; the axes of "..." are numbered from 1, from the right. */
struct lettered {
	struct value *v;
	char at[2 * MAX_RANK];
};

struct einsum {
	struct build *b;
	struct node *n;
	struct lettered *in;
	dim length[128];        /* by letter */
	uint32_t last_use[128]; /* 1 + the last operand that has it; UINT32_MAX: the result has */
	char result[2 * MAX_RANK];
};

/* Does an operand after number `after`, or the result, have the letter c? */
static bool is_needed_after(const struct einsum *e, char c, uint32_t after)
{
	return e->last_use[(int)c] > after;
}

/* Reads the letters of one term, of an operand of that rank, into to[]; returns the text after it.
 */
static const char *read_letters(const char *s, uint32_t rank, char *to)
{
	uint32_t letters = 0, n = 0, dots;

	for (const char *p = s; *p && *p != ',' && *p != '-'; p++)
		letters += *p != ' ' && *p != '.';
	dots = rank - letters;
	for (; *s && *s != ',' && *s != '-'; s++) {
		if (*s == '.')
			for (s += 2; dots; dots--)
				to[n++] = (char)dots;
		else if (*s != ' ')
			to[n++] = *s;
	}
	to[n] = 0;
	return s;
}

static void read_subscripts(struct einsum *e)
{
	const char *s = prop_str(e->b->cx, e->n, "subscripts");

	for (uint32_t i = 0; i < e->n->nin; i++) {
		struct type t = e->n->in[i]->type;
		s = read_letters(s, t.rank, e->in[i].at);
		s += *s == ',';
		for (uint32_t k = 0; k < t.rank; k++) {
			int c = e->in[i].at[k];
			dim d = e->length[c];
			if (!d || dim_is(e->b->cx, d, 1))
				e->length[c] = t.dims[k];
			e->last_use[c] = i + 1;
		}
	}
	if (*s) {
		read_letters(s + 2, e->n->out[0]->type.rank, e->result);
	} else {
		uint32_t n = 0, count[128] = {0};
		for (uint32_t i = 0; i < e->n->nin; i++)
			for (const char *p = e->in[i].at; *p; p++)
				count[(int)*p]++;
		for (char c = MAX_RANK; c > 0; c--)
			if (count[(int)c])
				e->result[n++] = c;
		for (char c = 'A'; c <= 'z'; c++)
			if (count[(int)c] == 1)
				e->result[n++] = c;
	}
	for (const char *p = e->result; *p; p++)
		e->last_use[(int)*p] = UINT32_MAX;
}

/* Transposes x to the axes `to`; axes that x lacks have length 1. */
static void arrange_axes(struct einsum *e, struct lettered *x, const char *to)
{
	int64_t perm[2 * MAX_RANK], missing[2 * MAX_RANK];
	uint32_t k = 0, m = 0;

	for (uint32_t i = 0; to[i]; i++) {
		const char *p = strchr(x->at, to[i]);
		if (p)
			perm[k++] = p - x->at;
		else
			missing[m++] = i;
	}
	x->v = unsqueeze(e->b, transpose(e->b, x->v, perm), missing, m);
	strcpy(x->at, to);
}

/* Expands each axis of x to the length of its letter. */
static void expand_to_letters(struct einsum *e, struct lettered *x)
{
	dim *d = new_array(e->b->cx->arena, dim, strlen(x->at) + 1);

	for (uint32_t i = 0; x->at[i]; i++)
		d[i] = e->length[(int)x->at[i]];
	x->v = expand(e->b, x->v, d, (uint32_t)strlen(x->at));
}

/* Replaces the two axes of a letter that occurs twice by the diagonal. */
static bool take_diagonals(struct einsum *e, struct lettered *x)
{
	for (uint32_t i = 0; x->at[i]; i++) {
		const char *p = strchr(x->at + i + 1, x->at[i]);
		if (!p)
			continue;
		expand_to_letters(e, x);
		struct cv props[4] = {cv_int(0, e->b->span),
				      cv_int(i, e->b->span),
				      cv_int(p - x->at, e->b->span),
				      {.kind = CV_BOOL}};
		uint32_t j = (uint32_t)(p - x->at), n = (uint32_t)strlen(x->at);
		char c = x->at[i];
		struct value *in = held_by(e->b, x->v, x->v->type, e->b->span);
		if (!lower_as(e->b, &op_table[OP_ExtractDiag], props, &in, 1, &x->v, 1))
			return false;
		memmove(x->at + j, x->at + j + 1, n - j);
		memmove(x->at + i, x->at + i + 1, n - 1 - i);
		x->at[n - 2] = c;
		x->at[n - 1] = 0;
		i--;
	}
	return true;
}

/* The letters of a product: in both operands and needed later (batch), in one operand (left,
 * right), summed over. */
struct roles {
	char batch[2 * MAX_RANK], left[2 * MAX_RANK], right[2 * MAX_RANK], summed[2 * MAX_RANK];
};

static void append_letter(char *to, char c)
{
	size_t n = strlen(to);

	to[n] = c;
	to[n + 1] = 0;
}

/* x as [batch..., rows, columns], where rows and columns are groups of axes that are merged. */
static struct value *group_axes(struct einsum *e, struct lettered *x, const char *batch,
				const char *rows, const char *columns)
{
	char to[6 * MAX_RANK];
	uint32_t n = (uint32_t)strlen(batch), k = (uint32_t)strlen(rows);

	strcat(strcat(strcpy(to, batch), rows), columns);
	arrange_axes(e, x, to);
	for (const char *p = columns; *p; p++)
		if (!dim_eq(e->b->cx, x->v->type.dims[n + k + (uint32_t)(p - columns)],
			    e->length[(int)*p]))
			expand_to_letters(e, x);
	dim *d = new_array(e->b->cx->arena, dim, n + 2);
	memcpy(d, x->v->type.dims, n * sizeof(dim));
	d[n] = dims_product(e->b->cx, x->v->type.dims + n, k);
	d[n + 1] = dims_product(e->b->cx, x->v->type.dims + n + k, (uint32_t)strlen(columns));
	return reshape(e->b, x->v, d, n + 2);
}

/* Sums x over the letters that are not in `keep` and not needed later, by a product with ones. */
static void sum_out(struct einsum *e, struct lettered *x, uint32_t after, const char *keep)
{
	char stay[2 * MAX_RANK] = "", go[2 * MAX_RANK] = "";

	for (const char *p = x->at; *p; p++)
		append_letter(is_needed_after(e, *p, after) || strchr(keep, *p) ? stay : go, *p);
	if (!*go)
		return;
	struct value *m = group_axes(e, x, "", stay, go);
	dim *d = new_array(e->b->cx->arena, dim, strlen(stay) + 2);
	d[0] = m->type.dims[1];
	d[1] = dim_const(e->b->cx, 1);
	dim *shape = new_array(e->b->cx->arena, dim, strlen(stay) + 1);
	memcpy(shape, x->v->type.dims, strlen(stay) * sizeof(dim));
	m = matmul(e->b, m, expand(e->b, const_int(e->b, 1), d, 2));
	x->v = reshape(e->b, m, shape, (uint32_t)strlen(stay));
	strcpy(x->at, stay);
}

/* x = x * y. after: the number of the last operand in the product */
static bool multiply_operands(struct einsum *e, struct lettered *x, struct lettered *y,
			      uint32_t after)
{
	struct roles r = {"", "", "", ""};
	char to[6 * MAX_RANK];

	sum_out(e, x, after, y->at);
	sum_out(e, y, after, x->at);
	for (const char *p = x->at; *p; p++)
		append_letter(!strchr(y->at, *p)              ? r.left
			      : is_needed_after(e, *p, after) ? r.batch
							      : r.summed,
			      *p);
	for (const char *p = y->at; *p; p++)
		if (!strchr(x->at, *p))
			append_letter(r.right, *p);
	strcat(strcat(strcpy(to, r.batch), r.left), r.right);
	if (strlen(to) + 2 > MAX_RANK) {
		unsupported(e->b, "the product of the first %u operands has %u dims", after,
			    (uint32_t)strlen(to));
		return false;
	}
	if (!*r.summed) {
		arrange_axes(e, x, to);
		arrange_axes(e, y, to);
		x->v = emit_(e->b, ONNX_Mul, x->v, y->v);
		return true;
	}
	uint32_t n = (uint32_t)strlen(r.batch), k = (uint32_t)strlen(to);
	struct value *a = group_axes(e, x, r.batch, r.left, r.summed), *b;
	dim *d = new_array(e->b->cx->arena, dim, k + 1);
	memcpy(d + n, x->v->type.dims + n, strlen(r.left) * sizeof(dim));
	b = group_axes(e, y, r.batch, r.right, r.summed);
	memcpy(d + n + strlen(r.left), y->v->type.dims + n, strlen(r.right) * sizeof(dim));
	int64_t perm[MAX_RANK];
	for (uint32_t i = 0; i < n + 2; i++)
		perm[i] = i < n ? i : 2 * n + 1 - i;
	a = matmul(e->b, a, transpose(e->b, b, perm));
	memcpy(d, a->type.dims, n * sizeof(dim));
	x->v = reshape(e->b, a, d, k);
	strcpy(x->at, to);
	return true;
}

bool lower_integer_einsum(struct build *b, struct node *n)
{
	struct einsum *e = new (b->cx->arena, struct einsum);
	struct type t = n->out[0]->type;
	struct lettered *x;

	e->b = b;
	e->n = n;
	e->in = new_array(b->cx->arena, struct lettered, n->nin);
	read_subscripts(e);
	for (uint32_t i = 0; i < n->nin; i++) {
		e->in[i].v = cast(b, low(b, n->in[i]), DT_INT64);
		if (!take_diagonals(e, &e->in[i]))
			return false;
	}
	x = &e->in[0];
	for (uint32_t i = 1; i < n->nin; i++)
		if (!multiply_operands(e, x, &e->in[i], i + 1))
			return false;
	sum_out(e, x, n->nin, "");
	arrange_axes(e, x, e->result);
	expand_to_letters(e, x);
	set_lowered(b, n, 0, with_dims(cast(b, x->v, (enum dtype)t.dtype), t.dims));
	return true;
}
