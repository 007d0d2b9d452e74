/*
 * einsum.c: lowers Einsum of floats (for integers see einsum_int.c) to ONNX's Einsum. The shape
 * rule has checked the subscripts. ONNX Runtime's kernel wants the same number of dims in each
 * "...", and ends the process for some equations with an axis of length 0. So operands with fewer
 * dims get axes of length 1, and an axis that may be empty gets one more element 0, which adds
 * nothing to sums and is cut off from the result.
 */
#include <string.h>

#include "lower/ops/lowerings.h"

struct term {
	const char *text; /* "i...j", up to a comma, an arrow or the end */
	uint32_t len;
	uint32_t letters,
		dots; /* the numbers of axes that are letters, and that "..." stands for */
};

/* Term k of the subscripts, of an operand of that rank. */
static struct term find_term(const char *text, uint32_t k, uint32_t rank)
{
	struct term t = {.text = text};

	for (; k; t.text++)
		k -= *t.text == ',';
	while (t.text[t.len] && t.text[t.len] != ',' && t.text[t.len] != '-')
		t.len++;
	for (uint32_t i = 0; i < t.len; i++)
		t.letters += t.text[i] != ' ' && t.text[i] != '.';
	t.dots = rank - t.letters;
	return t;
}

/* v with `dots` axes for "...", and one more element 0 along axes that may be empty. */
static struct value *prepare_operand(struct build *b, const struct term *t, struct value *v,
				     uint32_t dots)
{
	int64_t pads[2 * MAX_RANK] = {0}, axes[MAX_RANK];
	uint32_t axis = 0, added = 0, rank = v->type.rank;
	bool pad = false;

	for (uint32_t i = 0; i < rank; i++) {
		pads[rank + i] = !dim_ge(b->cx, v->type.dims[i], 1);
		pad |= pads[rank + i];
	}
	for (uint32_t i = 0; i < t->len && t->text[i] != '.'; i++)
		axis += t->text[i] != ' ';
	for (; t->dots + added < dots; added++)
		axes[added] = axis + added;
	if (pad)
		v = emit_(b, ONNX_Pad, v, const_ints(b, pads, 2 * rank));
	return unsqueeze(b, v, axes, memchr(t->text, '.', t->len) ? added : 0);
}

/* The result of type t without the elements that prepare_operand() added. */
static struct value *cut_result(struct build *b, struct value *v, const struct type *t)
{
	int64_t axes[MAX_RANK], starts[MAX_RANK] = {0};
	dim stops[MAX_RANK];
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->rank; i++)
		if (!dim_ge(b->cx, t->dims[i], 1)) {
			axes[n] = i;
			stops[n++] = t->dims[i];
		}
	if (n) {
		struct value *to = dims_vector(b, stops, n);
		v = slice(b, v, axes, n, const_ints(b, starts, n), to, NULL);
	}
	return with_dims(v, t->dims);
}

bool lower_einsum(struct build *b, struct node *n)
{
	struct value **in = new_array(b->cx->arena, struct value *, n->nin);
	struct term *terms = new_array(b->cx->arena, struct term, n->nin);
	const struct type *t = &n->out[0]->type;
	const char *text = prop_str(b->cx, n, "subscripts");
	uint32_t dots = 0;

	if (!is_float((enum dtype)t->dtype))
		return lower_integer_einsum(b, n);
	for (uint32_t i = 0; i < n->nin; i++) {
		terms[i] = find_term(text, i, n->in[i]->type.rank);
		dots = terms[i].dots > dots ? terms[i].dots : dots;
	}
	for (uint32_t i = 0; i < n->nin; i++)
		in[i] = prepare_operand(b, &terms[i], low(b, n->in[i]), dots);
	attr_str(b, "equation", text);
	set_lowered(b, n, 0, cut_result(b, emit(b, ONNX_Einsum, in, n->nin), t));
	return true;
}
