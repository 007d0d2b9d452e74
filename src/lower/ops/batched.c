/*
 * batched.c: Blockwise of an op that has a form for whole batches. In: a Blockwise node and its
 * core op. Out: PyTensor's ops on the batch, lowered as if the user had written them: the core op
 * along axes that are moved behind the batch, or x[i, idx] with a number i of the item beside its
 * indices.
 *
 *	Blockwise{core_op=Join{axis=0}}(x, y)                   Join{axis=1}(x, y)
 *	Blockwise{core_op=AdvancedSubtensor{0}}(x, idx)         x[[[0], [1], ...], idx]
 *
 * An input of which all items are equal by the type, as int64[1] for the sizes of a Split, is taken
 * out of the batch. What cannot be said so is left to the Loop of blockwise.c.
 */
#include <string.h>

#include "lower/ops/batched.h"
#include "ops/rules.h"

struct value *new_node(struct batched *m, enum op_id op, struct cv *props, struct value **in,
		       uint32_t nin)
{
	m->made = graph_node(m->b->cx, m->body, &op_table[op], props, in, nin, m->b->span);
	return m->made->out[0];
}

struct cv *new_cv(struct batched *m, struct cv v)
{
	return memcpy(new (m->b->cx->arena, struct cv), &v, sizeof(v));
}

struct cv *new_int(struct batched *m, int64_t i)
{
	return new_cv(m, cv_int(i, m->b->span));
}

struct cv *new_ints(struct batched *m, const int64_t *v, uint32_t n)
{
	return new_cv(m, cv_ints(m->b->cx->arena, v, n, m->b->span));
}

enum op_id core_id(const struct batched *m)
{
	return (enum op_id)(m->core->op - op_table);
}

struct value *of_each_item(struct batched *m, enum op_id op, struct cv *props,
			   const char *signature, struct value **in, uint32_t nin)
{
	struct cv *many = new_array(m->b->cx->arena, struct cv, 3);
	struct opref *core = new (m->b->cx->arena, struct opref);
	struct astr *text = new (m->b->cx->arena, struct astr);

	core->op = &op_table[op];
	core->props = props;
	*text = (struct astr){signature, (uint32_t)strlen(signature)};
	many[0] = (struct cv){.kind = CV_OP, .u.op = core};
	many[1] = (struct cv){.kind = CV_STR, .u.str = text};
	many[2] = (struct cv){.kind = CV_NONE};
	return new_node(m, OP_Blockwise, many, in, nin);
}

/* v with `count` new axes of length 1 before axis `at` */
struct value *with_axes(struct batched *m, struct value *v, uint32_t at, uint32_t count)
{
	int64_t axes[MAX_RANK];

	for (uint32_t i = 0; i < count; i++)
		axes[i] = at + i;
	return count ? new_node(m, OP_ExpandDims, new_ints(m, axes, count), &v, 1) : v;
}

/* The number of dims of the batch that input i has */
uint32_t own_rank(const struct batched *m, uint32_t i)
{
	return m->n->in[i]->type.rank - m->ranks[i];
}

/* What Allocs repeat along the first *own axes of v, those of a batch; NULL: the items may differ.
 * *own becomes how many of these axes it has, of length 1. */
static struct value *repeated(struct ctx *cx, struct value *v, uint32_t *own)
{
	uint32_t core = v->type.rank - *own;

	while (!dims_are_ones(cx, v->type.dims, *own)) {
		if (!is_call(v->def, OP_Alloc))
			return NULL;
		v = v->def->in[0];
		*own = v->type.rank > core ? v->type.rank - core : 0;
	}
	return v;
}

/* Input i without the batch; NULL: its items may differ */
struct value *one_for_all(struct batched *m, uint32_t i)
{
	struct build *b = m->b;
	struct value *v = m->n->in[i];
	int64_t axes[MAX_RANK];
	uint32_t own = own_rank(m, i);
	dim same = own && !m->ranks[i] ? equal_elements(b->cx, v) : DIM_NONE;

	if (same && dim_available(b, same)) {
		struct value *r = cast(b, dim_value(b, same), (enum dtype)v->type.dtype);
		return held_by(b, r, r->type, b->span);
	}
	struct value *in[MAX_RANK + 1], *item = repeated(b->cx, v, &own);
	if (!item)
		return NULL;
	for (uint32_t k = 0; k < own; k++)
		axes[k] = k;
	if (!m->ranks[i]) { /* lowered, as a check may read a length at once */
		if (!own)
			return item;
		struct value *r = squeeze(b, low(b, item), axes, own);
		return held_by(b, r, r->type, b->span);
	}
	in[0] = own ? new_node(m, OP_Squeeze, new_ints(m, axes, own), &item, 1) : item;
	if (item == v)
		return in[0];
	for (uint32_t k = 0; k < m->ranks[i]; k++)
		in[1 + k] = v->def->in[1 + own_rank(m, i) + k];
	return new_node(m, OP_Alloc, NULL, in, 1 + m->ranks[i]);
}

struct value *same_for_all(struct build *b, struct value *x)
{
	uint32_t rank = x->type.rank;
	struct value *all = x, *none[2] = {x};
	dim *d = new_dims(b->cx, rank);

	if (!dim_ge(b->cx, x->type.dims[0], 1)) {
		memcpy(d, x->type.dims, rank * sizeof(dim));
		d[0] = dim_const(b->cx, 1);
		none[1] = filled_to(b, DT_INT64, dims_vector(b, d, rank), d, rank, 0);
		all = concat(b, 0, none, 2);
	}
	struct value *first = emit_(b, ONNX_Gather, all, const_int(b, 0));
	first = with_dims(first, x->type.dims + 1);
	return check(b, first, emit_(b, ONNX_Equal, x, first),
		     "lengths must be the same for all items of a batch");
}

/* Input i, lowered, as [items, core dims] */
struct value *flat_items(struct batched *m, uint32_t i)
{
	struct build *b = m->b;
	struct value *x = low(b, m->n->in[i]);
	uint32_t own = own_rank(m, i);
	dim *d = new_dims(b->cx, m->ranks[i] + 1);

	d[0] = dims_product(b->cx, x->type.dims, own);
	memcpy(d + 1, x->type.dims + own, m->ranks[i] * sizeof(dim));
	return reshape(b, x, d, m->ranks[i] + 1);
}

struct value *common_lengths(struct batched *m, uint32_t i)
{
	struct build *b = m->b;
	struct value *v = one_for_all(m, i);

	if (!v) {
		v = same_for_all(b, cast(b, flat_items(m, i), DT_INT64));
		v = held_by(b, v, v->type, b->span);
	}
	return v;
}

/* Input i with all dims of the batch, those that its type says to be 1 as they are */
struct value *padded(struct batched *m, uint32_t i)
{
	return with_axes(m, m->n->in[i], 0, m->rank - own_rank(m, i));
}

/* Input i with the whole batch */
struct value *whole_batch(struct batched *m, uint32_t i)
{
	struct build *b = m->b;
	struct value *v = m->n->in[i], *x = low(b, v);
	uint32_t rank = m->rank + m->ranks[i];
	dim *d = new_array(b->cx->arena, dim, rank + 1);

	memcpy(d, m->n->out[0]->type.dims, m->rank * sizeof(dim));
	memcpy(d + m->rank, v->type.dims + own_rank(m, i), m->ranks[i] * sizeof(dim));
	struct value *full = expand(b, pad_rank(b, x, rank), d, rank);
	return full == x ? v : held_by(b, with_dims(full, d), full->type, v->span);
}

/* The properties of the core op with its axes behind the batch. core: the rank of its first input
 */
struct cv *props_behind(struct batched *m, uint32_t core)
{
	const struct op_sig *sig = op_sig(m->b->cx, m->core->op);
	struct cv *p = new_array(m->b->cx->arena, struct cv, sig->nprops + 1);
	int64_t axes[MAX_RANK];

	for (uint32_t i = 0; i < sig->nprops; i++) {
		const char *name = sig->props[i].name->s;
		p[i] = m->core->props[i];
		if (sig->props[i].type == P_AXES) {
			uint32_t count = p[i].kind == CV_LIST ? p[i].n : core;
			for (uint32_t k = 0; k < count; k++) {
				const struct cv *a = p[i].kind == CV_LIST ? &p[i].u.items[k] : NULL;
				axes[k] = m->rank + (!a ? k : a->neg ? core - a->u.i : a->u.i);
			}
			p[i] = cv_ints(m->b->cx->arena, axes, count, m->b->span);
		} else if ((!strncmp(name, "axis", 4) || !strcmp(name, "start_axis")) &&
			   p[i].kind == CV_INT && !p[i].neg) {
			p[i].u.i += m->rank;
		}
	}
	return p;
}

/* The core op along axes behind the batch. The first `batched` inputs are arrays with a batch, the
 * others are lengths. */
static bool along_axes(struct batched *m, uint32_t batched)
{
	struct node *n = m->n;
	struct value **in = new_array(m->b->cx->arena, struct value *, n->nin);

	for (uint32_t i = 0; i < n->nin; i++)
		in[i] = i < batched ? whole_batch(m, i) : common_lengths(m, i);
	new_node(m, core_id(m), props_behind(m, m->ranks[0]), in, n->nin);
	return true;
}

/* One array, and lengths, which must be the same for all items */
bool batch_along_axes(struct batched *m)
{
	return along_axes(m, 1);
}

bool batch_join(struct batched *m)
{
	return along_axes(m, m->n->nin);
}

/* What must hold for each item */
bool batch_assert(struct batched *m)
{
	struct value **in = new_array(m->b->cx->arena, struct value *, m->n->nin);
	struct cv *props = bind_props(m->b->cx, &op_table[OP_All], m->b->span, NULL, 0);

	in[0] = whole_batch(m, 0);
	for (uint32_t i = 1; i < m->n->nin; i++)
		in[i] = new_node(m, OP_All, props, m->n->in + i, 1);
	new_node(m, core_id(m), m->core->props, in, m->n->nin);
	return true;
}

/* Products of vectors by those of matrices of one row or column */
bool batch_dot(struct batched *m)
{
	struct value *in[2];
	int64_t axes[2];
	uint32_t count = 0, rank = m->rank;

	for (uint32_t i = 0; i < 2; i++)
		if (!m->ranks[i])
			return false;
	if (m->ranks[0] > 2 || m->ranks[1] > 2) /* stacks */
		rank += (m->ranks[0] > m->ranks[1] ? m->ranks[0] : m->ranks[1]) - 2;
	for (uint32_t i = 0; i < 2; i++) {
		in[i] = padded(m, i);
		if (m->ranks[i] == 1) {
			in[i] = with_axes(m, in[i], m->rank + i, 1);
			axes[count++] = rank + (i && m->ranks[0] > 1);
		}
		uint32_t has = m->ranks[i] == 1 ? 2 : m->ranks[i];
		in[i] = with_axes(m, in[i], m->rank, rank - m->rank + 2 - has);
	}
	struct value *r = new_node(m, OP_Matmul, NULL, in, 2);
	if (count == 2)
		axes[1] = rank + 1;
	if (count)
		new_node(m, OP_Squeeze, new_ints(m, axes, count), &r, 1);
	return true;
}

/* Einsum with dots for the batch before the letters of each operand and of the result */
bool batch_einsum(struct batched *m)
{
	struct ctx *cx = m->b->cx;
	const struct op_sig *sig = op_sig(cx, m->core->op);
	struct node core = {.op = m->core->op, .props = m->core->props};
	const char *s = prop_str(cx, &core, "subscripts");
	struct value **in = new_array(cx->arena, struct value *, m->n->nin);
	struct cv *props = new_array(cx->arena, struct cv, sig->nprops);
	struct astr *text = new (cx->arena, struct astr);
	char *to = arena_alloc(cx->arena, strlen(s) + 4 * (m->n->nin + 2u));

	if (!strchr(s, '>') || strchr(s, '.'))
		return false;
	text->s = to;
	for (bool begins = true; *s; s++) {
		if (begins && *s != '-')
			to = stpcpy(to, "...");
		begins = *s == ',' || *s == '>';
		*to++ = *s;
		if (*s == '>' && !s[1])
			to = stpcpy(to, "...");
	}
	text->len = (uint32_t)(to - text->s);
	*to = '\0';
	memcpy(props, m->core->props, sig->nprops * sizeof(*props));
	for (uint32_t i = 0; i < sig->nprops; i++)
		if (!strcmp(sig->props[i].name->s, "subscripts"))
			props[i].u.str = text;
	for (uint32_t i = 0; i < m->n->nin; i++)
		in[i] = padded(m, i);
	new_node(m, OP_Einsum, props, in, m->n->nin);
	return true;
}

/* The numbers of the choices go to the front, before the batch. */
bool batch_choose(struct batched *m)
{
	uint32_t own = m->ranks[1] - 1, rank = m->ranks[0];
	struct value *in[2];
	int64_t order[MAX_RANK] = {m->rank};

	for (uint32_t i = 0; i < 2; i++)
		in[i] = padded(m, i);

	rank = own > rank ? own : rank;
	for (uint32_t i = 0; i < m->rank + own; i++)
		order[i + 1] = i + (i >= m->rank);
	in[0] = with_axes(m, in[0], m->rank, rank - m->ranks[0]);
	in[1] = new_node(m, OP_Transpose, new_ints(m, order, m->rank + own + 1), in + 1, 1);
	in[1] = with_axes(m, in[1], m->rank + 1, rank - own);
	new_node(m, OP_Choose, m->core->props, in, 2);
	return true;
}

/* The result is r with these dims in place of its first ones */
static bool reshaped(struct batched *m, struct value *r, const dim *first, uint32_t count)
{
	struct type t = m->n->out[0]->type;
	dim *d = new_dims(m->b->cx, t.rank);

	m->made = NULL;
	if (!lower_inlined(m->b, m->body, &r, 1, m->b->span, &r))
		return true;
	memcpy(d, first, count * sizeof(dim));
	memcpy(d + count, r->type.dims + r->type.rank - (t.rank - count),
	       (t.rank - count) * sizeof(dim));
	r = held_by(m->b, reshape(m->b, r, d, t.rank), t, m->b->span);
	m->body = block_new(m->b);
	new_node(m, OP_Identity, NULL, &r, 1);
	return true;
}

/* Products of each element of one item with each of the other */
bool batch_kron(struct batched *m)
{
	uint32_t core = m->ranks[m->ranks[1] > m->ranks[0]];
	struct value *in[2];

	if (m->rank + 2 * core > MAX_RANK)
		return false;
	for (uint32_t k = 0; k < 2; k++) {
		int64_t axes[MAX_RANK];
		for (uint32_t i = 0; i < core; i++)
			axes[i] = m->rank + 2 * i + 1 - k;
		in[k] = with_axes(m, padded(m, k), m->rank, core - m->ranks[k]);
		in[k] = new_node(m, OP_ExpandDims, new_ints(m, axes, core), in + k, 1);
	}
	struct type t = m->n->out[0]->type;
	return reshaped(m, new_node(m, OP_Mul, NULL, in, 2), t.dims, t.rank);
}

/* The inverses of the items as matrices */
bool batch_tensorinv(struct batched *m)
{
	struct ctx *cx = m->b->cx;
	struct value *x = low(m->b, whole_batch(m, 0));
	struct node core = {.op = m->core->op, .props = m->core->props};
	uint32_t rows = (uint32_t)prop_int(cx, &core, "ind");
	struct opref *inverse = new (cx->arena, struct opref);
	struct cv *props = new_array(cx->arena, struct cv, 3);
	dim *d = new_dims(cx, m->rank + 2);

	memcpy(d, x->type.dims, m->rank * sizeof(dim));
	d[m->rank] = dims_product(cx, x->type.dims + m->rank, rows);
	d[m->rank + 1] = dims_product(cx, x->type.dims + m->rank + rows, m->ranks[0] - rows);
	x = reshape(m->b, x, d, m->rank + 2);
	x = held_by(m->b, x, x->type, m->b->span);
	inverse->op = &op_table[OP_MatrixInverse];
	props[0] = (struct cv){.kind = CV_OP, .u.op = inverse};
	props[1] = props[2] = (struct cv){.kind = CV_NONE};
	struct type t = m->n->out[0]->type;
	return reshaped(m, new_node(m, OP_Blockwise, props, &x, 1), t.dims, t.rank);
}

/* Transforms along all axes but the first, which holds all items */
bool batch_fft(struct batched *m)
{
	struct build *b = m->b;
	uint32_t core = m->ranks[0];
	struct value *x = low(b, whole_batch(m, 0)), *in[2] = {NULL, common_lengths(m, 1)};
	const dim *first = x->type.dims;
	dim *d = new_dims(b->cx, core + 1);

	d[0] = dims_product(b->cx, x->type.dims, m->rank + 1);
	memcpy(d + 1, x->type.dims + m->rank + 1, (core - 1) * sizeof(dim));
	x = reshape(b, x, d, core);
	in[0] = held_by(b, x, x->type, b->span);
	return reshaped(m, new_node(m, core_id(m), m->core->props, in, 2), first, m->rank + 1);
}

/* One sorted vector for all values; else the body takes the batch. */
bool batch_search(struct batched *m)
{
	struct value *in[3];
	uint32_t nin = m->n->nin;

	in[0] = one_for_all(m, 0);
	in[1] = padded(m, 1);

	if (!in[0] || (nin > 2 && !(in[2] = one_for_all(m, 2))))
		return false;
	new_node(m, OP_SearchsortedOp, m->core->props, in, nin);
	return true;
}

/* Input i, lowered, with all dims of the batch */
static struct value *padded_low(struct batched *m, uint32_t i)
{
	return pad_rank(m->b, low(m->b, m->n->in[i]), m->rank + m->ranks[i]);
}

/* The op with a right side of more columns, for each of the `lead` dims of the batch that are left
 */
static bool solve_all(struct batched *m, struct value *a, struct value *y, uint32_t lead,
		      struct value **out)
{
	struct ctx *cx = m->b->cx;
	const struct op_sig *sig = op_sig(cx, m->core->op);
	struct value *held_a = held_by(m->b, a, a->type, m->b->span);
	struct value *in[2] = {held_a, held_by(m->b, y, y->type, m->b->span)};
	struct cv *props = new_array(cx->arena, struct cv, sig->nprops);
	struct opref *core = new (cx->arena, struct opref);
	struct astr *signature = new (cx->arena, struct astr);

	memcpy(props, m->core->props, sig->nprops * sizeof(*props));
	for (uint32_t i = 0; i < sig->nprops; i++)
		if (!strcmp(sig->props[i].name->s, "b_ndim"))
			props[i].u.i = 2;
	if (!lead)
		return lower_as(m->b, m->core->op, props, in, 2, out, 1);
	*core = *m->core;
	core->props = props;
	*signature = (struct astr){"(m,m),(m,n)->(m,n)", 18};
	struct cv *many = new_array(cx->arena, struct cv, 3);
	many[0] = (struct cv){.kind = CV_OP, .u.op = core};
	many[1] = (struct cv){.kind = CV_STR, .u.str = signature};
	many[2] = (struct cv){.kind = CV_NONE};
	return lower_as(m->b, &op_table[OP_Blockwise], many, in, 2, out, 1);
}

/* Right sides of one matrix, as in (m,m),(m)->(m) of [b, 1, m, m] and [1, k, m], become columns of
 * one right side: [b, m, m] and [1, m, k]. */
bool batch_solve(struct batched *m)
{
	struct build *b = m->b;
	uint32_t rank = m->rank, lead = 0, columns = 0, more = m->ranks[1];
	int64_t order[MAX_RANK], back[MAX_RANK], drop[MAX_RANK];

	if (m->ranks[0] != 2 || !more || more > 2)
		return false;
	struct value *a = padded_low(m, 0), *y = padded_low(m, 1), *r;
	const dim *v = y->type.dims;
	for (uint32_t i = 0; i < rank; i++) {
		bool shared = dim_is(b->cx, a->type.dims[i], 1);
		if (shared && !dim_is(b->cx, v[i], 1))
			drop[columns++] = i;
		else
			order[lead++] = i;
	}
	if (!columns)
		return false;
	for (uint32_t i = 0; i < more; i++)
		order[lead + i] = rank + i;
	memcpy(order + lead + more, drop, columns * sizeof(*drop));
	for (uint32_t i = 0; i < rank + more; i++)
		back[order[i]] = i;
	y = transpose(b, y, order);
	dim *flat = new_dims(b->cx, lead + 2), *full = new_dims(b->cx, rank + more);
	memcpy(flat, y->type.dims, (lead + 1) * sizeof(dim));
	flat[lead + 1] = dims_product(b->cx, y->type.dims + lead + 1, more - 1 + columns);
	for (uint32_t i = 0; i < rank + more; i++)
		full[i] = m->n->out[0]->type.dims[order[i]];
	y = reshape(b, y, flat, lead + 2);
	if (!solve_all(m, squeeze(b, a, drop, columns), y, lead, &r))
		return true; /* m->made is NULL: reported */
	r = transpose(b, reshape(b, r, full, rank + more), back);
	r = held_by(b, r, r->type, b->span);
	new_node(m, OP_Identity, NULL, &r, 1);
	return true;
}

bool lower_by_batched_op(struct build *b, struct node *n, const struct opref *core,
			 const uint32_t *ranks, uint32_t rank, bool *ok)
{
	batch_fn_t *form = lowerings[core->op - op_table].batched;
	struct batched m = {b, n, core, ranks, rank, block_new(b), NULL};
	struct value **out = new_array(b->cx->arena, struct value *, n->nout);
	uint32_t errors = b->cx->errors;

	if (!form || !form(&m))
		return false;
	*ok = m.made && errors == b->cx->errors;
	if (!*ok)
		b->scope->shared->failed = true;
	*ok = *ok && lower_inlined(b, m.body, m.made->out, n->nout, b->span, out);
	for (uint32_t i = 0; *ok && i < n->nout; i++)
		set_lowered(b, n, i, with_dims(out[i], n->out[i]->type.dims));
	return true;
}
