/*
 * equal.c: compares lengths. In: pairs of lengths that must be equal. Out: the nodes that compare
 * them, in as few Equals as possible.
 */
#include "lower/check/internal.h"

static struct value *length_of(struct build *b, const struct side *s)
{
	return s->of ? shape_slice(b, s->of, (int)s->axis, (int)s->axis + 1) : dim_vector(b, s->d);
}

void add_sides(struct build *b, struct sides *to, struct side x, struct side y)
{
	x.v = length_of(b, &x);
	y.v = length_of(b, &y);
	if (x.v == y.v || (x.v->data && y.v->data))
		return;
	*vec_push(b->cx->arena, &to->x) = x;
	*vec_push(b->cx->arena, &to->y) = y;
}

/* How many sides from s[0] on are consecutive axes of one value. */
static uint32_t run_of_axes(const struct side *s, uint32_t n)
{
	uint32_t k = 1;

	while (s[0].of && k < n && s[k].of == s[0].of && s[k].axis == s[0].axis + k)
		k++;
	return k;
}

static struct value *run(struct build *b, const struct side *s, uint32_t n)
{
	return n == 1 ? s[0].v : shape_slice(b, s[0].of, (int)s[0].axis, (int)(s[0].axis + n));
}

static struct value *joined(struct build *b, const struct side *s, uint32_t n)
{
	struct value **part = new_array(b->cx->arena, struct value *, n);
	uint32_t count = 0;

	for (uint32_t i = 0, k; i < n; i += k) {
		k = run_of_axes(s + i, n - i);
		part[count++] = run(b, s + i, k);
	}
	return concat(b, 0, part, count);
}

uint32_t sides_equal(struct build *b, const struct sides *s, uint32_t rank, struct value **conds)
{
	const struct side *x = s->x.at, *y = s->y.at;
	uint32_t n = s->x.len, count = 0, length[MAX_EQUAL], at = 0;

	for (uint32_t k; at < n && count < MAX_EQUAL; at += k) {
		uint32_t kx = run_of_axes(x + at, n - at), ky = run_of_axes(y + at, n - at);
		k = kx < ky ? kx : ky;
		if (k != 1 && k != rank)
			break;
		length[count++] = k;
	}
	if (at < n) {
		struct value *all = joined(b, x, n);
		conds[0] = emit_(b, ONNX_Equal, all, joined(b, y, n));
		return 1;
	}
	at = 0;
	for (uint32_t i = 0; i < count; at += length[i++]) {
		struct value *part = run(b, x + at, length[i]);
		conds[i] = emit_(b, ONNX_Equal, part, run(b, y + at, length[i]));
	}
	return count;
}

/* As many pairs are subtracted one by one; more are joined, subtracted and split. */
#define MAX_APART 3

void differences(struct build *b, const struct sides *s, int64_t by, struct value **d)
{
	const struct side *x = s->x.at, *y = s->y.at;
	uint32_t n = s->x.len;
	struct value *times = const_ints(b, &by, 1);
	int64_t *ones = new_array(b->cx->arena, int64_t, n);

	if (n <= MAX_APART && (run_of_axes(x, n) < n || run_of_axes(y, n) < n)) {
		for (uint32_t i = 0; i < n; i++)
			d[i] = emit_(b, ONNX_Mul, emit_(b, ONNX_Sub, x[i].v, y[i].v), times);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		ones[i] = 1;
	struct value *all = joined(b, x, n);
	all = emit_(b, ONNX_Mul, emit_(b, ONNX_Sub, all, joined(b, y, n)), times);
	split(b, all, 0, const_ints(b, ones, n), d, n);
}
