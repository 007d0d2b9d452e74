/*
 * missing_kernels.c: the legaliser. In: an ONNX node, typed but in no block, that the target has no
 * kernel for. Out: the same results made by nodes that it has, found through the rows of
 * missing_kernels.def, or an error that names the user's op, the dtype, the opset and the target.
 */
#include <string.h>

#include "lower/build.h"

struct legal {
	enum onnx_id op;
	uint32_t dtypes;
	enum dtype via;
	bool order;
	enum onnx_id as;
	const char *fn;
	struct value *(*lower)(struct build *b, struct node *n);
};

static void copy_attrs(struct build *b, const struct node *n)
{
	for (uint32_t i = 0; i < n->nattrs; i++) {
		const struct attr *a = &n->attrs[i];
		attr_int(b, a->name, 0);
		b->attrs[b->nattrs - 1] = *a;
	}
}

/* (c & x) | (~c & y) */
static struct value *where_bool(struct build *b, struct node *n)
{
	struct value *x = emit_(b, ONNX_And, n->in[0], n->in[1]);
	struct value *y = emit_(b, ONNX_And, emit_(b, ONNX_Not, n->in[0]), n->in[2]);

	return emit_(b, ONNX_Or, x, y);
}

/* Shifts in 32 bits; what a left shift moves out is cut off by the cast back. */
static struct value *bitshift_16(struct build *b, struct node *n)
{
	struct value *x = cast(b, n->in[0], DT_UINT32), *y = cast(b, n->in[1], DT_UINT32);

	copy_attrs(b, n);
	return cast(b, emit_(b, ONNX_BitShift, x, y), DT_UINT16);
}

static struct value *shift(struct build *b, const char *direction, struct value *x, uint32_t by)
{
	attr_str(b, "direction", direction);
	return emit_(b, ONNX_BitShift, x, const_int_of(b, (enum dtype)x->type.dtype, by));
}

/* x & 0xff: a mask of the lowest bits shifts the others out of an unsigned number, and is the
 * remainder of a signed one. Other masks go to a table of the library. */
static struct value *bitwise_and(struct build *b, struct node *n)
{
	bool first = n->in[0]->type.rank < n->in[1]->type.rank;
	struct value *x = n->in[first], *mask = n->in[!first], *out = NULL;
	enum dtype t = (enum dtype)x->type.dtype;
	bool is_signed = dtypes[t].kind == KIND_INT;
	int64_t m, bits = 0;

	if (!mask->type.rank && known_int(b->cx, mask, 0, &m) && m > 0 && m < INT64_MAX &&
	    !(m & (m + 1)) && dtype_holds_int(t, (uint64_t)m + is_signed, false)) {
		if (is_signed)
			return emit_(b, ONNX_Mod, x, const_int_of(b, t, m + 1));
		while (m >> bits)
			bits++;
		uint32_t others = (uint32_t)(8 * dtypes[t].size - bits);
		return shift(b, "RIGHT", shift(b, "LEFT", x, others), others);
	}
	/* The bytes of each number become a new first axis, so both get the same rank. */
	const int64_t shifts[] = {0, 8, 16, 24, 32, 40, 48, 56};
	int64_t axes[MAX_RANK];
	mask = pad_rank(b, mask, x->type.rank);
	for (uint32_t i = 0; i < MAX_RANK; i++)
		axes[i] = i + 1;
	struct value *k = cast(b, const_ints(b, shifts, countof(shifts)), DT_UINT64);
	struct value *in[] = {x, mask, x->type.rank ? unsqueeze(b, k, axes, x->type.rank) : k};
	call_fn(b, lib_fn(b->cx, "_Bitwise_and"), NULL, NULL, in, 3, &out, 1);
	return out;
}

/* ReduceL1; NULL: the axes are not known */
static struct value *sum_of_abs(struct build *b, struct node *n)
{
	int axes[MAX_RANK], count = onnx_reduced_axes(n, axes);

	return count < 0 ? NULL
			 : reduce(b, ONNX_ReduceSum, emit_(b, ONNX_Abs, n->in[0]), axes, count,
				  int_of_attr(n, "keepdims", 1));
}

/* ArgMax and ArgMin: the index of the first of TopK, which gives equal elements in order */
static struct value *arg_by_topk(struct build *b, struct node *n)
{
	struct value *in[] = {n->in[0], const_ints(b, (int64_t[]){1}, 1)}, *out[2];
	int64_t axis = int_of_attr(n, "axis", 0), keepdims = int_of_attr(n, "keepdims", 1);

	attr_int(b, "axis", axis);
	attr_int(b, "largest", is_onnx(n, ONNX_ArgMax));
	emit_n(b, ONNX_TopK, in, 2, out, 2);
	return keepdims ? out[1] : squeeze(b, out[1], &axis, 1);
}

/* Trilu, which opset 13 lacks, of floats */
static struct value *trilu_by_where(struct build *b, struct node *n)
{
	struct value *in[] = {n->in[0], n->nin > 1 ? n->in[1] : const_int(b, 0)}, *r;
	const char *name = int_of_attr(n, "upper", 1) ? "_Upper" : "_Lower";

	return call_fn(b, lib_fn(b->cx, name), NULL, NULL, in, 2, &r, 1) ? r : NULL;
}

static const struct legal rows[] = {
#define LEGAL(op_, dtypes_, ...) {.op = ONNX_##op_, .dtypes = dtypes_, __VA_ARGS__},
#include "lower/missing_kernels.def"
};

static const char *input_type_name(const struct onnx_op *op, uint32_t i)
{
	return op->in[i < op->nin ? i : op->nin - 1u].type;
}

static const char *output_type_name(const struct onnx_op *op, uint32_t i)
{
	return op->out[i < op->nout ? i : op->nout - 1u].type;
}

/* The type variable that a row is about, and the first input of that type. */
static const char *key_type(const struct node *n, uint32_t *at)
{
	*at = 0;
	if (!n->nin || !n->nout)
		return NULL;
	const char *t = output_type_name(n->onnx, 0);
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && !strcmp(input_type_name(n->onnx, i), t)) {
			*at = i;
			return t;
		}
	return n->in[0] ? input_type_name(n->onnx, 0) : NULL;
}

/* uint64 <-> int64 in the same order: the top bit is flipped, by an addition that wraps */
static struct value *flip(struct build *b, struct value *v)
{
	return emit_(b, ONNX_Add, v, const_int(b, INT64_MIN));
}

/* Are n's result types inferred on other inputs, and not what the user wrote? */
static bool has_rule(struct build *b, const struct node *n, struct value **in)
{
	struct node trial = *n;

	trial.in = in;
	trial.out = new_array(b->cx->arena, struct value *, n->nout + 1u);
	return onnx_infer(b->cx, &trial) != ONNX_NO_RULE;
}

static bool legal_via(struct build *b, const struct legal *row, struct node *n, const char *key,
		      struct value **out)
{
	struct value **in = new_array(b->cx->arena, struct value *, n->nin);
	struct value **r = new_array(b->cx->arena, struct value *, n->nout);
	enum dtype back = DT_NONE;

	for (uint32_t i = 0; i < n->nin; i++) {
		in[i] = n->in[i];
		if (!in[i] || strcmp(input_type_name(n->onnx, i), key))
			continue;
		back = (enum dtype)in[i]->type.dtype;
		in[i] = cast(b, in[i], row->via);
		if (row->order)
			in[i] = flip(b, in[i]);
	}
	if (!has_rule(b, n, in))
		return false;
	copy_attrs(b, n);
	emit_n(b, n->onnx->id, in, n->nin, r, n->nout);
	for (uint32_t i = 0; i < n->nout; i++) {
		out[i] = r[i];
		if (strcmp(output_type_name(n->onnx, i), key))
			continue;
		out[i] = cast(b, row->order ? flip(b, r[i]) : r[i], back);
	}
	return true;
}

static void legal_as(struct build *b, enum onnx_id op, struct node *n, struct value **out)
{
	struct value *r = n->in[0];

	for (uint32_t i = 1; i < n->nin; i++)
		r = emit_(b, op, r, n->in[i]);
	out[0] = r;
}

static const char *const target_labels[] = {
	[PTGC_ORT_CPU] = "ONNX Runtime's CPU target",
	[PTGC_ONNX] = "the ONNX specification",
	[PTGC_ORT_WEB] = "the target ort-web",
	[PTGC_PORTABLE] = "the target portable",
	[PTGC_C] = "the target c",
};

static bool illegal(struct build *b, struct node *n, enum dtype t)
{
	const struct node *at = b->scope->shared->at;

	if (b->target == PTGC_PORTABLE && at && at->op->draw) {
		unsupported(b, "draws have NumPy's bits, for which the target portable lacks "
			       "float64 and operators on uint64; make the numbers an input of the "
			       "graph, drawn by the program that runs the model");
		return false;
	}
	for (uint32_t i = 0; i < n->nin + n->nout; i++) {
		struct value *v = i < n->nin ? n->in[i] : n->out[i - n->nin];
		if (b->target != PTGC_PORTABLE || !v || v->type.dtype != DT_FLOAT64)
			continue;
		unsupported(
			b, "ONNX %s of float64, which the target portable lacks%s", n->onnx->name,
			b->cx->narrow ? ""
				      : "; --float32, in Python float32=True, computes in float32");
		return false;
	}
	if (b->opset < n->onnx->since)
		unsupported(b, "the operator %s needs opset %d; this is opset %d", n->onnx->name,
			    n->onnx->since, b->opset);
	else
		unsupported(b, "%s has no operator %s for %s at opset %d", target_labels[b->target],
			    n->onnx->name, t ? dtypes[t].name : "these types", b->opset);
	return false;
}

bool legalise(struct build *b, struct node *n, struct value **out)
{
	/* float32 holds every float16: computed there, rounded once */
	static const struct legal half = {.via = DT_FLOAT32};
	uint32_t at;
	const char *key = key_type(n, &at);
	enum dtype t = key ? (enum dtype)n->in[at]->type.dtype : DT_NONE;
	const struct legal *row = NULL;

	for (size_t i = 0; i < countof(rows) && key; i++)
		if (computes(n, rows[i].op) && rows[i].dtypes & 1u << t)
			row = &rows[i];
	if (!row && t == DT_FLOAT16)
		row = &half;
	if (!row)
		return illegal(b, n, t);
	if (n->as_written) {
		unsupported(b,
			    "a raw node stays as it is, and %s has no operator %s for %s at opset "
			    "%d; 'ptg 1 optimise' allows other nodes",
			    target_labels[b->target], n->onnx->name, dtypes[t].name, b->opset);
		return false;
	}
	if (row->lower) {
		out[0] = row->lower(b, n);
	} else if (row->as) {
		legal_as(b, row->as, n, out);
	} else if (row->fn) {
		struct fn *f = lib_fn(b->cx, row->fn);
		if (!f)
			return illegal(b, n, t);
		return call_fn(b, f, NULL, NULL, n->in, n->nin, out, n->nout);
	} else if (!legal_via(b, row, n, key, out)) {
		return illegal(b, n, t);
	}
	return true;
}
