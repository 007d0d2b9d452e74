/*
 * infer_linalg.c: rules of ONNX inference: matrix products, Einsum, Det, Fourier transforms. In and
 * out: see internal.h.
 */
#include <string.h>

#include "onnx/internal.h"

/* --- products --- */

static enum onnx_infer_result matmul(struct infer *f, struct type a, struct type b)
{
	struct type lead[2] = {a, b};
	dim *d = dims_alloc(f, MAX_RANK);
	uint32_t rank;

	if (!a.rank || !b.rank) {
		infer_error(f, E_RANK, "takes no scalars, got %s and %s", type_str(f->cx, a),
			    type_str(f->cx, b));
		return ONNX_ERROR;
	}
	if (!check_dims_match(f, a, b, a.dims[a.rank - 1], b.dims[b.rank > 1 ? b.rank - 2 : 0]))
		return ONNX_ERROR;
	lead[0].rank = a.rank > 2 ? a.rank - 2 : 0;
	lead[1].rank = b.rank > 2 ? b.rank - 2 : 0;
	rank = lead[0].rank > lead[1].rank ? lead[0].rank : lead[1].rank;
	if (!broadcast_types(f, lead, 2, d, rank))
		return ONNX_ERROR;
	if (a.rank > 1)
		d[rank++] = a.dims[a.rank - 2];
	if (b.rank > 1)
		d[rank++] = b.dims[b.rank - 1];
	return set_result(f, 0, rank, d);
}

enum onnx_infer_result onnx_matmul(struct infer *f)
{
	return matmul(f, input_type(f, 0), input_type(f, 1));
}

enum onnx_infer_result onnx_qmatmul(struct infer *f)
{
	return matmul(f, input_type(f, 0), input_type(f, 3));
}

enum onnx_infer_result onnx_gemm(struct infer *f)
{
	bool ta = int_attr(f, "transA"), tb = int_attr(f, "transB");
	dim *d = dims_alloc(f, 2);

	if (!check_input_rank(f, 0, 2, 2) || !check_input_rank(f, 1, 2, 2) ||
	    !check_input_rank(f, 2, 0, 2))
		return ONNX_ERROR;
	struct type a = input_type(f, 0), b = input_type(f, 1);
	if (!check_dims_match(f, a, b, a.dims[!ta], b.dims[tb]))
		return ONNX_ERROR;
	d[0] = a.dims[ta];
	d[1] = b.dims[!tb];
	for (uint32_t i = 0; input(f, 2) && i < input_type(f, 2).rank; i++) {
		struct type c = input_type(f, 2);
		dim x = c.dims[c.rank - 1 - i], y = d[1 - i];
		if (!dim_ne(f->cx, x, y) || dim_is(f->cx, x, 1))
			continue;
		infer_error(f, E_SHAPE, "C is %s, which does not broadcast to (%s, %s)",
			    type_str(f->cx, c), dim_str(f->cx, d[0]), dim_str(f->cx, d[1]));
		return ONNX_ERROR;
	}
	return set_result(f, 0, 2, d);
}

struct einsum {
	dim letter[128];     /* the dim that each letter stands for */
	uint32_t count[128]; /* how often each letter occurs in the operands */
	dim dots[MAX_RANK];  /* aligned on the right: dots[MAX_RANK - ndots ...] */
	uint32_t ndots;
};

/* Broadcasts *have, the dim of a letter so far, with the dim d of operand t. false: reported */
static bool bind_einsum_dim(struct infer *f, struct type t, dim *have, dim d)
{
	if (!*have) {
		*have = d;
		return true;
	}
	if (broadcast_dim(f, *have, d, 0, have))
		return true;
	infer_error(f, E_SHAPE, "%s does not fit the operands before it", type_str(f->cx, t));
	return false;
}

/* Binds the letters [s, end) of one operand to the dims of t. false: reported */
static bool bind_einsum_operand(struct infer *f, struct einsum *e, struct type t, const char *s,
				const char *end)
{
	uint32_t letters = 0, at = 0;

	for (const char *p = s; p < end; p++)
		letters += *p != ' ' && *p != '.';
	bool dots = memchr(s, '.', (size_t)(end - s)) != NULL;
	if (letters > t.rank || (!dots && letters != t.rank)) {
		infer_error(f, E_RANK, "'%.*s' does not fit %s", (int)(end - s), s,
			    type_str(f->cx, t));
		return false;
	}
	for (const char *p = s; p < end; p++) {
		uint32_t n = t.rank - letters;
		if (*p == ' ')
			continue;
		if (*p == '.') {
			for (uint32_t i = 0; i < n; i++)
				if (!bind_einsum_dim(f, t, &e->dots[MAX_RANK - n + i],
						     t.dims[at + i]))
					return false;
			e->ndots = n > e->ndots ? n : e->ndots;
			at += n;
			p += 2;
			continue;
		}
		unsigned char c = (unsigned char)*p;
		if (!bind_einsum_dim(f, t, &e->letter[c], t.dims[at++]))
			return false;
		e->count[c]++;
	}
	return true;
}

/* Has each operand, and the result, at most one "..." and no other dots? false: reported */
static bool check_einsum_dots(struct infer *f, const char *s, const char *end)
{
	uint32_t n = 0;

	for (const char *p = s; p < end; p++) {
		n = *p == ',' || *p == '-' ? 0 : n;
		if (*p != '.')
			continue;
		if (end - p < 3 || p[1] != '.' || p[2] != '.' || n++) {
			infer_error(f, E_PROPERTY,
				    "an operand and the result have one '...' each "
				    "at most, and no other dots");
			return false;
		}
		p += 2;
	}
	return true;
}

static enum onnx_infer_result einsum_result(struct infer *f, struct einsum *e, const char *s,
					    const char *end)
{
	dim *d = dims_alloc(f, MAX_RANK + 128);
	uint32_t rank = 0;

	for (const char *p = s; p < end; p++) {
		if (*p == ' ')
			continue;
		if (*p == '.') {
			for (uint32_t i = MAX_RANK - e->ndots; i < MAX_RANK; i++)
				d[rank++] = e->dots[i];
			p += 2;
			continue;
		}
		if (rank >= MAX_RANK || !e->letter[(unsigned char)*p]) {
			infer_error(f, E_PROPERTY, "'%c' of the result is in no operand", *p);
			return ONNX_ERROR;
		}
		d[rank++] = e->letter[(unsigned char)*p];
	}
	return set_result(f, 0, rank, d);
}

/* Without "->" the result has the ellipsis, then the letters that occur once, sorted. */
static enum onnx_infer_result implicit_einsum_result(struct infer *f, struct einsum *e)
{
	char text[3 + 128];
	size_t n = 0;

	if (e->ndots)
		n = 3, memcpy(text, "...", 3);
	for (int c = 'A'; c <= 'z'; c++)
		if (e->count[c] == 1)
			text[n++] = (char)c;
	return einsum_result(f, e, text, text + n);
}

enum onnx_infer_result onnx_einsum(struct infer *f)
{
	const struct attr *a = find_attr(f->n, "equation");
	struct einsum *e = new (f->cx->arena, struct einsum);

	if (!a || a->kind != AT_STR)
		return ONNX_NO_RULE;
	const char *s = a->u.s.s, *end = s + a->u.s.len, *arrow = end;
	for (const char *p = s; p < end; p++) {
		if (p + 1 < end && p[0] == '-' && p[1] == '>' && arrow == end)
			arrow = p++;
		else if (!(*p >= 'a' && *p <= 'z') && !(*p >= 'A' && *p <= 'Z') && *p != '.' &&
			 *p != ',' && *p != ' ') {
			infer_error(f, E_PROPERTY, "'%c' has no meaning in an equation", *p);
			return ONNX_ERROR;
		}
	}
	if (!check_einsum_dots(f, s, end))
		return ONNX_ERROR;
	for (uint32_t i = 0; i < f->n->nin; i++) {
		const char *comma = memchr(s, ',', (size_t)(arrow - s));
		if ((comma == NULL) != (i + 1 == f->n->nin)) {
			infer_error(f, E_ARITY, "the equation does not name %u operands",
				    f->n->nin);
			return ONNX_ERROR;
		}
		if (!bind_einsum_operand(f, e, input_type(f, i), s, comma ? comma : arrow))
			return ONNX_ERROR;
		s = comma ? comma + 1 : arrow;
	}
	return arrow == end ? implicit_einsum_result(f, e) : einsum_result(f, e, arrow + 2, end);
}

enum onnx_infer_result onnx_det(struct infer *f)
{
	struct type t = input_type(f, 0);

	if (!check_input_rank(f, 0, 2, MAX_RANK) ||
	    !check_dims_match(f, t, t, t.dims[t.rank - 2], t.dims[t.rank - 1]))
		return ONNX_ERROR;
	return set_result(f, 0, t.rank - 2, t.dims);
}

/* --- transforms --- */

static dim half_plus_one(struct infer *f, dim n)
{
	return dim_plus(f->cx, dim_over(f->cx, n, 2), 1);
}

enum onnx_infer_result onnx_dft(struct infer *f)
{
	struct type x = input_type(f, 0);
	const struct known *length = input_known(f, 1);
	bool old = f->op->since < 20, half = int_attr(f, "onesided"), back = int_attr(f, "inverse");
	int64_t axis = old ? int_attr(f, "axis") : -2;
	uint32_t a;

	if (!check_input_rank(f, 0, 2, MAX_RANK))
		return ONNX_ERROR;
	if (!old && input(f, 2) && !input_const(f, 2, 0, &axis))
		return ONNX_NO_RULE;
	if (!resolve_axis(f, axis, x.rank, &a))
		return ONNX_ERROR;
	if (a + 1u == x.rank) {
		infer_error(f, E_RANGE, "axis %lld is that of the real and imaginary parts",
			    (long long)axis);
		return ONNX_ERROR;
	}
	dim parts = const_dim(f, half && !back ? 1 : 2);
	if (half && dim_ne(f->cx, x.dims[x.rank - 1], parts)) {
		infer_error(f, E_SHAPE, "the last dim of %s must be %s %s", type_str(f->cx, x),
			    dim_str(f->cx, parts),
			    back ? "to go back to real numbers" : "where onesided=1: real numbers");
		return ONNX_ERROR;
	}
	dim *d = dims_copy(f, x);
	if (half && back)
		d[a] = dim_plus(f->cx, dim_add(f->cx, d[a], d[a]), -2);
	if (input(f, 1))
		d[a] = length && length->n == 1 ? length->at[0] : DIM_NONE;
	d[a] = !d[a] ? unknown_dim(f, 0, a) : half && !back ? half_plus_one(f, d[a]) : d[a];
	d[x.rank - 1] = const_dim(f, half && back ? 1 : 2);
	return set_result(f, 0, x.rank, d);
}

enum onnx_infer_result onnx_stft(struct infer *f)
{
	struct type x = input_type(f, 0);
	const struct known *step = input_known(f, 1), *length = input_known(f, 3);
	dim size = DIM_NONE;

	if (!check_input_rank(f, 0, 2, 3) || !check_input_rank(f, 2, 1, 1))
		return ONNX_ERROR;
	if (input(f, 3))
		size = length && length->n == 1 ? length->at[0] : DIM_NONE;
	if (size && dim_le(f->cx, size, 0)) {
		infer_error(f, E_RANGE, "frame_length is %s", dim_str(f->cx, size));
		return ONNX_ERROR;
	}
	if (!input(f, 3) && input(f, 2))
		size = input_type(f, 2).dims[0];
	dim *d = dims_alloc(f, 4);
	d[0] = x.dims[0];
	bool fixed = size && step && step->n == 1 && dim_ge(f->cx, step->at[0], 1) &&
		     dim_ge(f->cx, dim_sub(f->cx, x.dims[1], size), 0);
	d[1] = fixed ? dim_plus(f->cx,
				dim_floordiv(f->cx, dim_sub(f->cx, x.dims[1], size), step->at[0]),
				1)
		     : unknown_dim(f, 0, 1);
	d[2] = !size                     ? unknown_dim(f, 0, 2)
	       : int_attr(f, "onesided") ? half_plus_one(f, size)
					 : size;
	d[3] = const_dim(f, 2);
	return set_result(f, 0, 4, d);
}
