/*
 * rules.c: ops on complex numbers that are done in more ways than their row can say. In: a node
 * with a complex argument or result. Out: mostly other ops on complex numbers, which are split in
 * their turn.
 */
#include <math.h>
#include <string.h>

#include "complex/internal.h"
#include "ops/rules.h"

static struct value *made(struct split *p, struct block *body, const struct op *op,
			  struct cv *props, struct value **in, uint32_t nin)
{
	return graph_node(p->cx, body, op, props, in, nin, p->span)->out[0];
}

static struct value *unary(struct split *p, struct block *body, enum op_id op, struct value *x)
{
	return made(p, body, &op_table[op], NULL, &x, 1);
}

static struct value *binary(struct split *p, struct block *body, enum op_id op, struct value *x,
			    struct value *y)
{
	return made(p, body, &op_table[op], NULL, (struct value *[]){x, y}, 2);
}

/* Result 0 of n is r, which `body` computes. */
static bool replace(struct split *p, struct node *n, struct block *body, struct value *r)
{
	close_body(p, body);
	set_value(p, n->out[0], r);
	return true;
}

/* Of a complex first argument only the size is read, or whether it is 0: then neither part is. */
static bool first_argument(struct split *p, struct node *n)
{
	bool condition = is_call(n, OP_Switch) || is_call(n, OP_Nonzero);
	struct value *parts[2];

	if (!is_complex_value(n->in[0]))
		return false;
	for (uint32_t i = 0; i < 2; i++)
		parts[i] = part(p, n->in[0], i);
	if (condition)
		call_lib(p, "_Cistrue", NULL, parts, 2, parts, 1);
	n->in[0] = parts[0];
	if (is_complex_value(n->out[0]))
		return false;
	graph_append(p->block, n);
	return true;
}

/* The exponent, if it is one whole number of fewer than three digits */
static bool whole_exponent(struct split *p, struct value *v, int64_t *k)
{
	double x[2] = {0, 0};

	while (v->def && v->def->nin == 1 &&
	       (is_call(v->def, OP_ExpandDims) || is_call(v->def, OP_DimShuffle) ||
		(is_call(v->def, OP_Cast) && is_complex_value(v))))
		v = v->def->in[0];
	if (!v->data || !v->data->count || !is_uniform(v->data) || v->data->name)
		return false;
	for (uint32_t i = 0; i < (is_complex_value(v) ? 2u : 1u); i++)
		x[i] = tensor_float(is_complex_value(v) ? part(p, v, i)->data : v->data, 0);
	if (x[1] != 0 || !(x[0] > -100 && x[0] < 100))
		return false;
	*k = (int64_t)x[0];
	return *k && (double)*k == x[0];
}

/* A power that is known to be a small whole number, by a few products, in NumPy's order: 1 * x is
 * another x if a part is infinite. A zero gives +0 or NaN. */
static bool power(struct split *p, struct node *n)
{
	struct value *x = n->in[0], *square = x, *in[3];
	enum dtype t = (enum dtype)x->type.dtype;
	int64_t k;

	if (!whole_exponent(p, n->in[1], &k) || t != n->out[0]->type.dtype ||
	    !same_dims(p->cx, x->type, n->out[0]->type))
		return false;
	struct block *body = open_body(p);
	struct value *one = constant(p, t, 1, 0), *r = k > 0 && k < 4 ? NULL : one;
	double zero = k < 0 ? (double)NAN : 0;
	for (int64_t m = k < 0 ? -k : k; m; m /= 2) {
		if (m & 1)
			r = r ? binary(p, body, OP_Mul, r, square) : square;
		if (m > 1)
			square = binary(p, body, OP_Mul, square, square);
	}
	in[2] = k < 0 ? binary(p, body, OP_True_div, one, r) : r;
	in[1] = constant(p, t, zero, zero);
	in[0] = binary(p, body, OP_Eq, x, constant(p, t, 0, 0));
	return replace(p, n, body, made(p, body, &op_table[OP_Switch], NULL, in, 3));
}

/* log(exp(a) + exp(b) + ...) as PyTensor's graph: which turn of the logarithm comes out depends on
 * it. */
static bool log_add_exp(struct split *p, struct node *n)
{
	struct block *body = open_body(p);
	struct value **in = new_array(p->cx->arena, struct value *, n->nin), *max = n->in[0];

	for (uint32_t i = 1; i < n->nin; i++)
		max = binary(p, body, OP_Maximum, max, n->in[i]);
	struct value *infinite = unary(p, body, OP_Isinf, max), *zero = constant(p, DT_INT8, 0, 0);
	struct value *finite[] = {infinite, zero, max};
	max = made(p, body, &op_table[OP_Switch], NULL, finite, 3);
	for (uint32_t i = 0; i < n->nin; i++)
		in[i] = unary(p, body, OP_Exp, binary(p, body, OP_Sub, n->in[i], max));
	struct value *sum = made(p, body, &op_table[OP_Add], NULL, in, n->nin);
	return replace(p, n, body, binary(p, body, OP_Add, unary(p, body, OP_Log, sum), max));
}

/* x with axes in another order */
static struct value *permuted(struct split *p, struct block *body, struct value *x, const int *perm)
{
	struct cv *props = new (p->cx->arena, struct cv);
	bool same = true;

	for (int i = 0; i < x->type.rank; i++)
		same &= perm[i] == i;
	*props = int_list(p, perm, x->type.rank);
	return same ? x : made(p, body, &op_table[OP_Transpose], props, &x, 1);
}

/* Max{axes=[1, 2]}(x) is Max{axes=[0]} of x with these axes in front, merged into one: fns of the
 * library go along the first axis. What is not reduced to one row is turned back. */
static bool along_first(struct split *p, struct node *n)
{
	const struct op_sig *sig = op_sig(p->cx, n->op);
	struct value *x = n->in[0];
	int axes[MAX_RANK], perm[MAX_RANK] = {0}, back[MAX_RANK], rank = x->type.rank, k = 1,
			    at = 0;
	bool reduces = !is_call(n, OP_Cumprod) && !is_call(n, OP_Unique);

	if (!has_complex_input(n)) {
		each_part(p, n);
		return true;
	}
	if (reduces)
		k = prop_axes(p->cx, n, "axes", rank, axes, true);
	else
		axes[0] = (int)prop_axis(p->cx, n, "axis");
	if (k < 0 || (k == 1 && axes[0] == 0))
		return false;
	for (int i = 0, j = 0, rest = k; i < rank; i++)
		perm[j < k && axes[j] == i ? j++ : rest++] = i;
	for (int i = 0; i < rank; i++)
		back[perm[i]] = i;
	struct block *body = open_body(p);
	x = permuted(p, body, x, perm);
	struct cv *merged = new_array(p->cx->arena, struct cv, 2);
	merged[0] = cv_int(0, p->span);
	merged[1] = cv_int(k, p->span);
	if (k != 1)
		x = made(p, body, &op_table[OP_JoinDims], merged, &x, 1);
	struct cv *props = new_array(p->cx->arena, struct cv, sig->nprops + 1);
	memcpy(props, n->props, sig->nprops * sizeof(*props));
	for (uint32_t i = 0; i < sig->nprops; i++)
		if (!strcmp(sig->props[i].name->s, reduces ? "axes" : "axis"))
			props[i] = reduces ? int_list(p, &at, 1) : merged[0];
	struct node *r = graph_node(p->cx, body, n->op, props, &x, 1, p->span);
	x = reduces ? r->out[0] : permuted(p, body, r->out[0], back);
	replace(p, n, body, x);
	for (uint32_t i = 1; i < n->nout; i++)
		set_value(p, n->out[i], r->out[i]);
	return true;
}

static bool unique(struct split *p, struct node *n)
{
	static const char *const names[] = {"return_index", "return_inverse", "return_counts"};
	struct value *in[2], *r[5];
	bool flat = prop_is_none(p->cx, n, "axis") || n->in[0]->type.rank == 1;
	uint32_t k = 1;

	if (!flat && along_first(p, n))
		return true;
	for (uint32_t i = 0; i < 2; i++)
		in[i] = part(p, n->in[0], i);
	const char *name = !flat ? "_Cunique_rows" : n->nout == 1 ? "_Cunique_alone" : "_Cunique";
	if (!call_lib(p, name, NULL, in, 2, r, flat && n->nout == 1 ? 2 : 5))
		return false;
	set_parts(p, n->out[0], r[0], r[1]);
	for (uint32_t i = 0; i < 3; i++)
		if (prop_bool(p->cx, n, names[i]))
			set_value(p, n->out[k++], r[2 + i]);
	return true;
}

static bool ca_reduce(struct split *p, struct node *n)
{
	struct cv *props;
	const struct op *op = careduce_as(p->cx, n, &props);
	struct block *body = open_body(p);

	if (!op)
		return refuse(p, n, "reductions by this op are not converted");
	return replace(p, n, body, made(p, body, op, props, n->in, 1));
}

/* Each complex operand doubles the products. */
#define MAX_FACTORS 5

/* Products are linear in each operand: in the real and in the imaginary part of the first one that
 * is complex, with the others as they are. */
static bool einsum(struct split *p, struct node *n)
{
	struct block *body = open_body(p);
	struct value **in = new_array(p->cx->arena, struct value *, n->nin), *r[2];
	uint32_t at = n->nin, factors = 0;

	for (uint32_t i = n->nin; i-- > 0;)
		if (is_complex_value(n->in[i])) {
			at = i;
			factors++;
		}
	if (factors > MAX_FACTORS)
		return refuse(p, n,
			      "more than %d complex operands are not converted: write it in steps",
			      MAX_FACTORS);
	memcpy(in, n->in, n->nin * sizeof(*in));
	for (uint32_t k = 0; k < 2; k++) {
		in[at] = part(p, n->in[at], k);
		r[k] = made(p, body, n->op, n->props, in, n->nin);
	}
	close_body(p, body);
	if (factors > 1) {
		struct value *re1 = part(p, r[1], 0), *im0 = part(p, r[0], 1);
		struct value *im = binary(p, p->block, OP_Add, im0, re1);
		struct value *im1 = part(p, r[1], 1), *re0 = part(p, r[0], 0);
		r[0] = binary(p, p->block, OP_Sub, re0, im1);
		r[1] = im;
	}
	set_parts(p, n->out[0], r[0], r[1]);
	return true;
}

/* The transform takes and gives both parts along one more axis, as ONNX's DFT does. */
static bool fourier(struct split *p, struct node *n)
{
	enum dtype given = (enum dtype)n->in[0]->type.dtype;

	if (!p->cx->narrow && (given == DT_COMPLEX64 || given == DT_FLOAT32 || given == DT_FLOAT16))
		return refuse(p, n,
			      "PyTensor's type says complex128, but it computes complex64: write "
			      "Cast{complex128}(x) inside it");
	if (is_complex(given))
		n->in[0] = whole(p, n->in[0]);
	struct type t = whole_type(p->cx, n->out[0]->type);
	struct value *r = graph_value(p->cx, t, p->span);
	add_node(p, n->op, n->props, n->in, n->nin, &r, 1);
	set_whole(p, n->out[0], r);
	return true;
}

/* An elementwise op of items is that of the batch, with axes of length 1 between the batch and
 * items of fewer dims. */
static struct value *of_whole_batch(struct split *p, struct block *body, const struct node *n,
				    const struct node *core)
{
	struct value **in = new_array(p->cx->arena, struct value *, n->nin);
	int rank = 0, axes[MAX_RANK];

	for (uint32_t i = 0; i < n->nin; i++)
		rank = core->in[i]->type.rank > rank ? core->in[i]->type.rank : rank;
	for (uint32_t i = 0; i < n->nin; i++) {
		int own = n->in[i]->type.rank - core->in[i]->type.rank;
		int more = own ? rank - core->in[i]->type.rank : 0;
		struct cv *props = new (p->cx->arena, struct cv);
		for (int k = 0; k < more; k++)
			axes[k] = own + k;
		*props = int_list(p, axes, more);
		in[i] = n->in[i];
		if (more)
			in[i] = made(p, body, &op_table[OP_ExpandDims], props, in + i, 1);
	}
	return made(p, body, core->op, core->props, in, n->nin);
}

/* A product of matrices is one of stacks of them, an elementwise op one of the batch; any other op
 * gets a block that does one item of the batch. */
static bool blockwise(struct split *p, struct node *n)
{
	const struct node *core = blockwise_core(p->cx, n);
	struct block *body = open_body(p);
	const struct op *op = core->op;

	if ((op == &op_table[OP_Dot] || op == &op_table[OP_Matmul] || op == &op_table[OP_Dot22]) &&
	    core->in[0]->type.rank == 2 && core->in[1]->type.rank == 2)
		return replace(p, n, body, binary(p, body, OP_Matmul, n->in[0], n->in[1]));
	if (op->shape == sh_broadcast && core->nout == 1)
		return replace(p, n, body, of_whole_batch(p, body, n, core));
	struct value **in = new_array(p->cx->arena, struct value *, n->nin + 1u);
	for (uint32_t i = 0; i < n->nin; i++) {
		struct value *x = core->in[i];
		bool batch = x != n->in[i] && !x->def && !x->data;
		in[i] = graph_value(p->cx, x->type, p->span);
		*vec_push(p->cx->arena, &body->params) = in[i];
		if (!batch) /* a number that is known, as a mode, stays so */
			in[i] = x;
	}
	struct node *r = graph_node(p->cx, body, op, core->props, in, n->nin, p->span);
	for (uint32_t i = 0; i < r->nout; i++)
		*vec_push(p->cx->arena, &body->results) = r->out[i];
	n->blocks = new_array(p->cx->arena, struct block *, 2);
	n->blocks[0] = body;
	p->inside++;
	split_block(p, body);
	p->inside--;
	split_control(p, n);
	return true;
}

bool split_by_rule(struct split *p, struct node *n)
{
	static const struct {
		enum op_id op;
		bool (*rule)(struct split *p, struct node *n);
	} rules[] = {
		{OP_Switch, first_argument}, {OP_Nonzero, first_argument},
		{OP_Shape, first_argument},  {OP_Shape_i, first_argument},
		{OP_Second, first_argument}, {OP_Pow, power},
		{OP_LogAddExp, log_add_exp}, {OP_Prod, along_first},
		{OP_Max, along_first},       {OP_Min, along_first},
		{OP_Argmax, along_first},    {OP_Cumprod, along_first},
		{OP_Unique, unique},         {OP_CAReduce, ca_reduce},
		{OP_Einsum, einsum},         {OP_Fourier, fourier},
		{OP_Blockwise, blockwise},
	};

	for (size_t i = 0; i < countof(rules); i++)
		if (n->op == &op_table[rules[i].op])
			return rules[i].rule(p, n);
	return false;
}
