/*
 * guard_node.c: the nodes of a guard. In: equations of lengths, and a value that is used. Out: the
 * value, made so that the run fails where one does not hold.
 *
 * A guard is Reshape(v, t) where t is 0 for each axis (0 keeps the length) if both sides are equal,
 * and -2 (which no Reshape takes) if not. Reshape moves no data. A v of rank 0 goes through a
 * Gather instead, at 0 or out of range. The node is called what must hold, as that is what the
 * runtime shows of a node that fails.
 */
#include <string.h>

#include "lower/check/guard.h"

#define MAX_NAMED 4  /* equations that the name of a check tells */
#define MAX_SIDE  80 /* bytes of each side */

/* What no Reshape takes: whoever reads the runtime's message knows the reason by it. */
#define DIFFERS (-2)
#define EMPTY   (-3)

/* "axis 1 of x", "n", "3", "k" of an integer */
static const char *side_text(struct build *b, dim d)
{
	struct dim_view v = dim_view_raw(b->cx, d);

	if (v.form == DIM_ATOM && !v.name && v.kind == SOURCE_SIZE && v.source && v.source->name)
		return arena_printf(b->cx->arena, "axis %u of %s", v.at, v.source->name->s);
	if (v.form == DIM_ATOM && !v.name && v.source && v.source->name)
		return v.source->name->s;
	const char *text = dim_str_raw(b->cx, d);
	return strcmp(text, "?") ? text : "a length";
}

struct side computed_side(struct build *b, dim d, struct value *v)
{
	struct dim_view w = dim_view_raw(b->cx, d);
	bool size = w.form == DIM_ATOM && w.kind == SOURCE_SIZE && w.source && !w.source->data;

	struct side s = {.v = v, .d = d, .text = side_text(b, d)};
	if (size) {
		s.of = w.source->low;
		s.from = w.source;
		s.axis = w.at;
	}
	return s;
}

/* The length of what is computed from constants alone: a model in which it is another one than what
 * stands beside it may be refused by ONNX Runtime as a whole. */
static bool is_decided(struct build *b, const struct side *x)
{
	bool open;

	return x->of && !x->of->data && x->of->def && from_constants(b, x->of, &open) && open;
}

void add_sides(struct build *b, struct sides *to, struct side x, struct side y, struct span s)
{
	if (x.v == y.v)
		return;
	if (x.v->data && y.v->data) {
		int64_t k, m;
		if (tensor_int(x.v->data, 0, &k) && tensor_int(y.v->data, 0, &m) && k != m)
			error(b->cx, s, E_SHAPE,
			      "the lengths %lld and %lld must be equal here", (long long)k,
			      (long long)m);
		return;
	}
	if (is_decided(b, &x) || is_decided(b, &y)) {
		error(b->cx, s, E_UNSUPPORTED,
		      "%s: constants alone decide that, but ptgc does not compute them; write "
		      "their values",
		      what_must_hold(b, &x, &y, 1));
		return;
	}
	*vec_push(b->cx->arena, &to->x) = x;
	*vec_push(b->cx->arena, &to->y) = y;
}

static struct value *full(struct build *b, int64_t k, uint32_t n)
{
	int64_t v[MAX_RANK] = {0};

	for (uint32_t i = 0; i < n; i++)
		v[i] = k;
	return const_ints(b, v, n);
}

/* 0 for each of v's axes where x equals y, something below -1 where not. (Of a Concat of one value
 * and constants ONNX Runtime would make a constant with a -1, and the check would be gone.) */
static struct value *shape_or_error(struct build *b, struct value *equal, uint32_t count,
				    uint32_t rank, int64_t error)
{
	if (count == 1 || count == rank)
		return emit_(b, ONNX_Where, equal, full(b, 0, rank), full(b, error, rank));
	struct value *t = emit_(b, ONNX_Where, equal, full(b, 0, 1), full(b, 1, 1));
	t = reduce(b, ONNX_ReduceMax, t, &(int){0}, 1, true);
	return emit_(b, ONNX_Mul, t, full(b, error, rank));
}

/* How many sides from s[0] on are consecutive axes of one value. */
static uint32_t run_of_axes(const struct side *s, uint32_t n)
{
	uint32_t k = 1;

	while (s[0].of && k < n && s[k].of == s[0].of && s[k].axis == s[0].axis + k)
		k++;
	return k;
}

static struct value *sizes(struct build *b, const struct side *s, uint32_t n)
{
	if (n == 1)
		return s[0].v;
	b->cse->shared->raw_dims = true;
	struct value *r = shape_slice(b, s[0].of, (int)s[0].axis, (int)(s[0].axis + n));
	b->cse->shared->raw_dims = false;
	return r;
}

static struct value *joined(struct build *b, const struct side *s, uint32_t n)
{
	struct value **part = new_array(b->cx->arena, struct value *, n);
	uint32_t count = 0;

	for (uint32_t i = 0, k; i < n; i += k) {
		k = run_of_axes(s + i, n - i);
		part[count++] = sizes(b, s + i, k);
	}
	return concat(b, 0, part, count);
}

/* Bools, of which each must be true: `rank` or one of them if that is not dearer. */
static struct value *all_equal(struct build *b, const struct side *x, const struct side *y,
			       uint32_t n, uint32_t rank, uint32_t *count)
{
	struct value *equal[3] = {NULL}, *r;
	uint32_t parts = 0;

	*count = 1;
	for (uint32_t i = 0, k; i < n; i += k) {
		uint32_t kx = run_of_axes(x + i, n - i), ky = run_of_axes(y + i, n - i);
		k = kx < ky ? kx : ky;
		if (parts == countof(equal) || (k != 1 && k != rank)) {
			*count = n;
			return emit_(b, ONNX_Equal, joined(b, x, n), joined(b, y, n));
		}
		equal[parts++] = emit_(b, ONNX_Equal, sizes(b, x + i, k), sizes(b, y + i, k));
		*count = k > *count ? k : *count;
	}
	r = equal[0];
	for (uint32_t i = 1; i < parts; i++)
		r = emit_(b, ONNX_And, r, equal[i]);
	return r;
}

static void add_text(struct strbuf *b, const char *s)
{
	size_t n = strnlen(s, MAX_SIDE);

	while (n == MAX_SIDE && n && (s[n] & 0xC0) == 0x80) /* whole characters only */
		n--;
	sb_add(b, s, n);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

const char *what_must_hold(struct build *b, const struct side *x, const struct side *y, uint32_t n)
{
	struct strbuf s = {.arena = b->cx->arena};

	for (uint32_t i = 0; i < n && i < MAX_NAMED; i++) {
		bool turn = !x[i].of && (y[i].of || is_digit(*x[i].text));
		sb_str(&s, i ? ", " : "");
		add_text(&s, turn ? y[i].text : x[i].text);
		sb_str(&s, " must be ");
		add_text(&s, turn ? x[i].text : y[i].text);
	}
	sb_str(&s, n > MAX_NAMED ? ", ..." : "");
	return s.s;
}

/* v by a Gather of all of it, at 0 or out of range */
static struct value *gathered(struct build *b, struct value *v, struct value *equal, uint32_t count)
{
	const dim *dims = v->type.dims;
	struct value *r = emit_(b, ONNX_Where, equal, full(b, 0, 1), full(b, 1, 1));

	r = scalar_of(b, count == 1 ? r : reduce(b, ONNX_ReduceMax, r, &(int){0}, 1, true));
	return with_dims(emit_(b, ONNX_Gather, unsqueeze(b, v, &(int64_t){0}, 1), r), dims);
}

struct value *guard_equal(struct build *b, struct value *v, const struct sides *s)
{
	uint32_t count, n = s->x.len;
	const dim *dims = v->type.dims;
	bool open;
	struct value *r;

	if (!n)
		return v;
	const char *label = what_must_hold(b, s->x.at, s->y.at, n);
	struct value *equal = all_equal(b, s->x.at, s->y.at, n, v->type.rank, &count);
	b->cse->shared->small_ints = true;
	if (v->type.rank && !from_constants(b, equal, &open)) {
		r = emit_(b, ONNX_Reshape, v,
			  shape_or_error(b, equal, count, v->type.rank, DIFFERS));
		b->cse->shared->small_ints = false;
		return labelled(b, with_dims(r, dims), label);
	}
	r = gathered(b, v, equal, count);
	b->cse->shared->small_ints = false;
	return labelled(b, r, label);
}

/* v, or a failing run where one of these axes has length 0 */
struct value *guard_nonempty(struct build *b, struct value *v, const int *axes, int n)
{
	dim lengths[MAX_RANK];
	uint32_t count = 0;

	if (!b->cx->opt.check_dims || b->target == PTGC_ONNX)
		return v;
	for (int i = 0; i < n; i++)
		if (!dim_ge(b->cx, v->type.dims[axes[i]], 1))
			lengths[count++] = v->type.dims[axes[i]];
	if (!count)
		return v;
	struct value *some = emit_(b, ONNX_Greater, dims_vector(b, lengths, count), full(b, 0, 1));
	b->cse->shared->small_ints = true;
	struct value *shape = shape_or_error(b, some, count, v->type.rank, EMPTY);
	b->cse->shared->small_ints = false;
	const dim *dims = v->type.dims;
	return labelled(b, with_dims(emit_(b, ONNX_Reshape, v, shape), dims),
			"what is reduced must not be empty");
}
