/*
 * repeats.c: what data that repeat make a graph compute twice. In: the typed graph, without complex
 * numbers. Out: the same function. Sum(f(k, p)) over the elements of a constant k, with parameters
 * p that are the same for all of them, is Sum(f(u, p) * c), where u are the different elements of
 * k, and c says how often each occurs: 60 counts as of Poisson's density are some 10 numbers.
 *
 * An axis is followed from a reduction over it, through all that it is computed from and all that
 * reads that, as long as an op computes each place along the axis from the same place of its
 * arguments; x[:, k] with a constant k is computed from the same x for all places. What is found is
 * a region. It ends at arguments that have length 1 along the axis, at constants, and at reductions
 * over the axis: all of its reductions are Sum, All, Any, Max and Min, or it stays as it was.
 * Places at which all constants of the region have the same elements are one place afterwards.
 * axes.c says how ops take axes; classes.c parts the places of a region.
 */
#include <string.h>

#include "target/target.h"
#include "typed/repeats.h"

#define MIN_LENGTH 4         /* of an axis that is worth the look */
#define MAX_BYTES  (1 << 24) /* of the constants of a region */
#define MAX_ALL    (1 << 28) /* of all regions, and of what is noted about their places */
#define SAMPLE     (1 << 14) /* places: if most of them differ, so do others */
#define MAX_ALIKE  16        /* constants that are compared with one */
#define MAX_MISSED 8         /* times that a value is looked at in vain, on average */

/* Is n a reduction over this axis of its argument that counts may be given to? */
static bool ends_at(struct repeats *r, const struct node *n, uint32_t axis)
{
	static const enum op_id ops[] = {OP_Sum, OP_All, OP_Any, OP_Max, OP_Min};
	const struct value *x = n->in[0];
	int axes[MAX_RANK];

	/* whether max(0, -0) is 0 or -0 depends on how many there are */
	if (!is_one_of(n->op, ops, r->cx->opt.signed_zeros ? 3 : countof(ops)))
		return false;
	enum dtype t = (enum dtype)x->type.dtype;
	bool wide = r->cx->opt.wide_sums && t != DT_FLOAT64; /* a product would round first */
	if (is_call(n, OP_Sum) &&
	    ((t != DT_FLOAT32 && t != DT_FLOAT64) || wide || n->out[0]->type.dtype != t))
		return false;
	int count = prop_axes(r->cx, n, "axes", x->type.rank, axes, true);
	return has_axis(axes, count, (int)axis);
}

/* ---- regions ---- */

/* v is read along this axis. Returns false where v keeps places from becoming one. */
static bool reach(struct repeats *r, uint32_t region, struct value *v, int axis)
{
	struct region *g = &r->regions.at[region - 1];
	struct spot *p = &r->place[v->id];
	int64_t length;

	if (axis == NO_AXIS || axis == COUNTED)
		return true;
	if (axis < 0 || !dim_is_const(r->cx, v->type.dims[axis], &length))
		return false;
	if (length == 1)
		return true;
	if (length != g->length || is_complex((enum dtype)v->type.dtype))
		return false;
	if (v->data) {
		*vec_push(r->cx->scratch, &r->constants) = (struct constant_use){v, (uint32_t)axis};
		return is_constant(v);
	}
	if (p->region)
		return p->region == region && p->axis == (uint32_t)axis;
	*p = (struct spot){region, (uint32_t)axis};
	*vec_push(r->cx->scratch, &r->todo) = v;
	return true;
}

/* n reads v, of the region, as argument i. */
static bool follow(struct repeats *r, uint32_t region, struct node *n, const struct value *v)
{
	struct region *g = &r->regions.at[region - 1];
	uint32_t axis = r->place[v->id].axis;

	if (ends_at(r, n, axis)) {
		g->nsums += is_call(n, OP_Sum);
		*vec_push(r->cx->scratch, &r->found) = (struct end){n, axis};
		return true;
	}
	for (uint32_t i = 0; i < n->nin; i++) {
		if (n->in[i] != v)
			continue;
		int a = 0, rank = n->nout ? n->out[0]->type.rank : 0;
		while (a < rank && axis_of(r->cx, n, i, a) != (int)axis)
			a++;
		if (a == rank || !reach(r, region, n->out[0], a))
			return false;
	}
	return true;
}

/* Follows what v is computed from, and what reads v. */
static bool look_around(struct repeats *r, uint32_t region, struct value *v)
{
	struct node *n = v->def;
	int axis = (int)r->place[v->id].axis;

	if (!n || escapes(&r->uses, v) || v->known)
		return false;
	for (uint32_t i = 0; i < n->nin; i++) {
		int a = axis_of(r->cx, n, i, axis);
		if (a == REFUSED || !reach(r, region, n->in[i], a))
			return false;
	}
	for (uint32_t i = 0; i < n->nout; i++)
		if (!reach(r, region, n->out[i], axis))
			return false;
	for_uses(u, &r->uses, v) if (is_needed(r->needed, u->node) &&
				     !follow(r, region, u->node, v)) return false;
	return true;
}

/* ---- places that are one ---- */

static uint32_t hash_of_bytes(const uint8_t *bytes, size_t n)
{
	uint64_t h = 0;

	for (size_t i = 0; i < n; i++)
		h = (h ^ bytes[i]) * UINT64_C(0x9e3779b97f4a7c15) + (h >> 32);
	return (uint32_t)(h >> 32);
}

/* Are these elements among others that are looked at already? */
static bool is_used_before(const struct repeats *r, uint32_t use)
{
	const struct constant_use *u = &r->constants.at[use];

	for (uint32_t i = use > MAX_ALIKE ? use - MAX_ALIKE : 0; i < use; i++)
		if (r->constants.at[i].v->data->data == u->v->data->data &&
		    r->constants.at[i].v->data->count == u->v->data->count)
			return u->v->data->count ==
			       (uint64_t)r->regions.at[r->regions.len - 1].length;
	return u->v->data->splat;
}

/* Copies places first[0..n) along an axis of a constant of `length` places: to `to`, `stride` bytes
 * from one place to the next. All of a place lies together if `rows`. */
static size_t copy_places(uint8_t *to, const struct value *v, uint32_t axis, const int64_t *first,
			  int64_t n, size_t stride, bool rows)
{
	const struct tensor *t = v->data;
	size_t inner = dtypes[t->dtype].size, outer = 1;

	for (uint32_t i = 0; i < axis; i++)
		outer *= (size_t)t->shape[i];
	for (uint32_t i = axis + 1; i < t->rank; i++)
		inner *= (size_t)t->shape[i];
	for (size_t o = 0; o < outer && to; o++)
		for (int64_t j = 0; j < n; j++)
			memcpy(rows ? to + (size_t)j * stride + o * inner
				    : to + (o * (size_t)n + (size_t)j) * inner,
			       (const uint8_t *)t->data + (o * (size_t)t->shape[axis] +
							   (size_t)(first ? first[j] : j)) *
								  inner,
			       inner);
	return outer * inner;
}

static bool find_distinct(struct repeats *r, struct region *g)
{
	struct arena *a = r->cx->scratch;
	size_t size = 0, at = 0;
	int64_t n = g->length;
	struct hash_table found = {0};
	struct class *c = &g->class[0];

	for (uint32_t i = 0; i < r->constants.len; i++)
		if (!is_used_before(r, i))
			size += copy_places(NULL, r->constants.at[i].v, r->constants.at[i].axis,
					    NULL, n, 0, true);
	if (size > MAX_BYTES / (size_t)n || r->looked > MAX_ALL)
		return false;
	r->looked += (size + sizeof(*c->first) + sizeof(*c->count)) * (uint64_t)n;
	uint8_t *bytes = arena_alloc(a, size * (size_t)n + 1);
	for (uint32_t i = 0; i < r->constants.len; i++)
		if (!is_used_before(r, i))
			at += copy_places(bytes + at, r->constants.at[i].v, r->constants.at[i].axis,
					  NULL, n, size, true);
	c->first = new_array(a, int64_t, n);
	c->count = new_array(a, double, n);
	for (int64_t j = 0; j < n; j++) {
		const uint8_t *row = bytes + (size_t)j * size;
		struct probe p = {0};
		bool again = false, looks = j < SAMPLE || c->distinct < j / 4 * 3;
		p.hash = looks ? hash_of_bytes(row, size) : 0;
		while (looks && !again && hash_next(&found, &p))
			again = !memcmp(row, bytes + (size_t)c->first[p.number] * size, size);
		if (!again) {
			p.number = (uint32_t)c->distinct;
			if (looks)
				hash_add(a, &found, p.hash, p.number);
			c->first[c->distinct++] = j;
		}
		c->count[p.number]++;
	}
	g->nclasses = 1;
	return true;
}

double cost_in(struct repeats *r, const struct node *n, int64_t places)
{
	const struct type *t = &n->out[0]->type;
	struct call_cost c = cost_of_call(&r->costs, n);
	double elements = (double)places;

	for (uint32_t i = 0; i < t->rank; i++)
		if (i != r->place[n->out[0]->id].axis)
			elements *= (double)dim_expected(r->cx, t->dims[i], OPEN_LENGTH);
	return c.node + c.element * elements;
}

/* Do the places of g, whose values are r->todo, take longer than those that are not the same and
 * the products with their counts? */
static bool repeats_pay(struct repeats *r, const struct region *g)
{
	const struct class *c = &g->class[0];
	double gain = 0;

	for (uint32_t i = 0; i < r->todo.len && c->distinct < g->length; i++) {
		const struct node *n = r->todo.at[i]->def;
		gain += cost_in(r, n, g->length) - cost_in(r, n, c->distinct);
	}
	return gain > g->nsums * cost_of(ONNX_Mul, DT_FLOAT64, c->distinct);
}

/* Looks for the region of a reduction over an axis. */
static void find_region(struct repeats *r, struct node *end, uint32_t axis, int64_t length)
{
	uint32_t region = r->regions.len + 1, ends = r->found.len;
	struct region *g = vec_push(r->cx->scratch, &r->regions);
	bool ok;

	g->length = length;
	r->todo.len = r->constants.len = 0;
	ok = reach(r, region, end->in[0], (int)axis);
	for (uint32_t i = 0; ok && i < r->todo.len; i++)
		ok = look_around(r, region, r->todo.at[i]);
	g = &r->regions.at[region - 1];
	ok = ok && find_distinct(r, g);
	g->repeats = ok && repeats_pay(r, g);
	g->failed = !ok;
	if (ok)
		return;
	r->found.len = ends;
	for (uint32_t i = 0; i < r->todo.len; i++)
		r->place[r->todo.at[i]->id].region = 0;
	r->missed += r->todo.len;
}

/* The length of the longest axis that n is a reduction over; 0: none is worth the look */
static int64_t reduced_length(struct repeats *r, const struct node *n, uint32_t *axis)
{
	const struct type *t = n->nin == 1 ? &n->in[0]->type : NULL;
	int64_t length, longest = MIN_LENGTH - 1;

	for (uint32_t i = 0; t && i < t->rank && !n->in[0]->data; i++)
		if (dim_is_const(r->cx, t->dims[i], &length) && length > longest &&
		    ends_at(r, n, i)) {
			longest = length;
			*axis = i;
		}
	return longest < MIN_LENGTH ? 0 : longest;
}

static void find_regions(struct repeats *r, const struct block *b)
{
	for (struct node *n = b->first; n; n = n->next) {
		uint32_t axis;
		int64_t longest = reduced_length(r, n, &axis);
		if (longest && is_needed(r->needed, n) &&
		    r->missed <= MAX_MISSED * (uint64_t)r->nvalues &&
		    !r->place[n->in[0]->id].region)
			find_region(r, n, axis, longest);
	}
}

/* ---- the walk ---- */

static struct value *constant_of(struct repeats *r, enum dtype dtype, int rank,
				 const int64_t *shape, const void *data, bool splat,
				 struct span span)
{
	struct tensor *t = tensor_new(r->cx, dtype, rank, shape);

	t->data = data;
	t->splat = splat;
	return graph_constant(r->cx, t, span);
}

/* A constant at the places of a class */
static struct value *gather(struct repeats *r, uint32_t region, uint32_t c, struct value *v,
			    uint32_t axis)
{
	const struct region *g = &r->regions.at[region - 1];
	const struct class *class = &g->class[c];
	const struct tensor *t = v->data;
	struct value **become = &r->become[v->id * MAX_CLASSES];
	struct spot *spot = &r->spot[v->id];
	int64_t shape[MAX_RANK];

	if (spot->region != region || spot->axis != axis)
		memset(become, 0, MAX_CLASSES * sizeof(*become));
	*spot = (struct spot){region, axis};
	if (become[c])
		return become[c];
	memcpy(shape, t->shape, t->rank * sizeof(*shape));
	shape[axis] = class->distinct;
	const void *data = t->data;
	if (!t->splat) {
		uint64_t count = t->count / (uint64_t)g->length * (uint64_t) class->distinct;
		uint8_t *to = arena_alloc(r->cx->arena, count * dtypes[t->dtype].size + 1);
		copy_places(to, v, axis, class->first, class->distinct, 0, false);
		data = to;
	}
	become[c] = constant_of(r, t->dtype, t->rank, shape, data, t->splat || !t->count, v->span);
	return become[c];
}

/* 0, 1, 2, ... in place of v, which has more of them */
static struct value *first_numbers(struct repeats *r, int64_t count, const struct value *v)
{
	const struct tensor *t = v->data;
	int64_t *x = new_array(r->cx->scratch, int64_t, count + 1), shape[MAX_RANK];
	void *to = arena_alloc(r->cx->arena, (size_t)count * dtypes[t->dtype].size + 1);

	for (int64_t i = 0; i < count; i++)
		x[i] = i;
	tensor_convert(t->dtype, to, DT_INT64, x, (uint64_t)count);
	for (uint32_t i = 0; i < t->rank; i++)
		shape[i] = t->shape[i] > 1 ? count : 1;
	return constant_of(r, t->dtype, t->rank, shape, to, false, v->span);
}

/* 0 in place of a value that is 0 throughout a class */
static struct value *zero_like(struct repeats *r, const struct value *v)
{
	int64_t shape[MAX_RANK];

	for (uint32_t i = 0; i < MAX_RANK; i++)
		shape[i] = 1;
	return constant_of(r, v->type.dtype, v->type.rank, shape, arena_alloc(r->cx->arena, 16),
			   false, v->span);
}

static bool is_zero_in(const struct repeats *r, const struct region *g, const struct value *v,
		       uint32_t c)
{
	return g->nclasses > 1 && r->state[v->id * MAX_CLASSES + c] == ZERO;
}

/* What n, of the class c of a region, reads as argument i */
static struct value *argument(struct repeats *r, struct spot p, uint32_t c, struct node *n,
			      uint32_t i)
{
	const struct region *g = &r->regions.at[p.region - 1];
	struct value *v = n->in[i];
	int64_t length;

	if (is_call(n, OP_Alloc) && i == p.axis + 1)
		return constant_of(r, DT_INT64, 0, NULL,
				   memcpy(new (r->cx->arena, int64_t), &g->class[c].distinct, 8),
				   false, v->span);
	if (r->place[v->id].region == p.region)
		return is_zero_in(r, g, v, c) ? zero_like(r, v)
					      : r->become[v->id * MAX_CLASSES + c];
	int a = axis_of(r->cx, n, i, (int)p.axis);
	if (a == COUNTED)
		return first_numbers(r, g->class[c].distinct, v);
	if (a < 0 || !v->data || !dim_is_const(r->cx, v->type.dims[a], &length) || length == 1)
		return v;
	return gather(r, p.region, c, v, (uint32_t)a);
}

static void copy_node(struct repeats *r, struct node *n, uint32_t c)
{
	const struct spot p = r->place[n->out[0]->id];
	const struct region *g = &r->regions.at[p.region - 1];
	struct value **in = new_array(r->cx->scratch, struct value *, n->nin + 1);
	uint32_t choice = choice_in(r, n, c);

	if (is_zero_in(r, g, n->out[0], c))
		return;
	if (choice) {
		struct cv *dtype = new (r->cx->arena, struct cv);
		*dtype = (struct cv){.kind = CV_DTYPE, .u.dtype = n->out[0]->type.dtype};
		in[0] = argument(r, p, c, n, choice);
		if (in[0]->type.dtype != n->out[0]->type.dtype)
			in[0] = graph_node(r->cx, r->block, &op_table[OP_Cast], dtype, in, 1,
					   n->span)
					->out[0];
		r->become[n->out[0]->id * MAX_CLASSES + c] = in[0];
		return;
	}
	for (uint32_t i = 0; i < n->nin; i++)
		in[i] = argument(r, p, c, n, i);
	struct node *copy = graph_node(r->cx, r->block, n->op, n->props, in, n->nin, n->span);
	for (uint32_t i = 0; i < n->nout; i++)
		r->become[n->out[i]->id * MAX_CLASSES + c] = copy->out[i];
}

/* How often each place of v occurs in a class, along the axis */
static struct value *counts(struct repeats *r, const struct class *c, const struct value *v,
			    uint32_t axis)
{
	enum dtype dtype = (enum dtype)v->type.dtype;
	uint8_t *to = arena_alloc(r->cx->arena, (size_t)c->distinct * 16);
	int64_t shape[MAX_RANK];

	tensor_convert(dtype, to, DT_FLOAT64, c->count, (uint64_t)c->distinct);
	for (uint32_t i = 0; i < MAX_RANK; i++)
		shape[i] = 1;
	shape[0] = c->distinct;
	return constant_of(r, dtype, v->type.rank - (int)axis, shape, to, false, v->span);
}

static bool has_repeats(const struct class *c)
{
	for (int64_t j = 0; j < c->distinct; j++)
		if (c->count[j] != 1)
			return true;
	return false;
}

/* The reduction of each class; all of them together are that of the region. */
static void end_region(struct repeats *r, const struct end *end)
{
	struct node *n = end->node;
	const struct value *v = n->in[0];
	const struct region *g = &r->regions.at[r->place[v->id].region - 1];
	struct value *in[2], *part[MAX_CLASSES];
	uint32_t nparts = 0;

	for (uint32_t c = 0; c < g->nclasses; c++)
		if (!is_zero_in(r, g, v, c)) {
			in[0] = r->become[v->id * MAX_CLASSES + c];
			if (is_call(n, OP_Sum) && has_repeats(&g->class[c])) {
				in[1] = counts(r, &g->class[c], in[0], end -> axis);
				in[0] = graph_node(r->cx, r->block, &op_table[OP_Mul], NULL, in, 2,
						   n->span)
						->out[0];
			}
			part[nparts++] = in[0];
		}
	for (uint32_t i = 0; i < nparts && nparts > 1; i++)
		part[i] =
			graph_node(r->cx, r->block, n->op, n->props, &part[i], 1, n->span)->out[0];
	const struct op *join = is_call(n, OP_Sum)   ? &op_table[OP_Add]
				: is_call(n, OP_All) ? &op_table[OP_And]
				: is_call(n, OP_Any) ? &op_table[OP_Or]
				: is_call(n, OP_Max) ? &op_table[OP_Maximum]
						     : &op_table[OP_Minimum];
	in[0] = part[0];
	for (uint32_t i = 1; i < nparts; i++) {
		in[1] = part[i];
		if (i + 1 < nparts)
			in[0] = graph_node(r->cx, r->block, join, NULL, in, 2, n->span)->out[0];
	}
	if (nparts > 1) {
		n->op = join;
		n->props = NULL;
	}
	n->nin = nparts > 1 ? 2 : 1;
	n->in = memcpy(new_array(r->cx->arena, struct value *, 2), in, n->nin * sizeof(*in));
}

static void rewrite_block(struct repeats *r, struct block *b)
{
	r->block = b;
	for (struct node *rest = take_nodes(b), *n; (n = next_taken(&rest)) != NULL;) {
		uint32_t region = n->nout ? r->place[n->out[0]->id].region : 0;
		const struct region *g = region ? &r->regions.at[region - 1] : NULL;
		for (uint32_t c = 0; g && !g->failed && c < g->nclasses && is_needed(r->needed, n);
		     c++)
			if (g->nclasses == 1 || r->live[n->out[0]->id * MAX_CLASSES + c])
				copy_node(r, n, c);
		const struct end *end = n->nout ? &r->ends[n->out[0]->id] : NULL;
		if (end && end->node && !r->regions.at[r->place[n->in[0]->id].region - 1].failed)
			end_region(r, end);
		graph_append(b, n);
	}
}

/* A number that a constant mask chooses gets axes of length 1, so that all arguments of the Switch
 * have its axes: see chosen_state() in classes.c. */
static void widen_numbers(struct ctx *cx, const struct block *b)
{
	int64_t ones[MAX_RANK];

	for (int i = 0; i < MAX_RANK; i++)
		ones[i] = 1;
	for (struct node *n = b->first; n; n = n->next) {
		if (!is_call(n, OP_Switch) || !constant_data(n->in[0]))
			continue;
		for (uint32_t i = 1; i < 3; i++) {
			const struct value *v = n->in[i];
			int rank = n->out[0]->type.rank;
			if (!v->data || v->data->count != 1 || v->type.rank >= rank)
				continue;
			struct tensor *t = tensor_new(cx, (enum dtype)v->type.dtype, rank, ones);
			t->data = v->data->data;
			n->in[i] = graph_constant(cx, t, v->span);
		}
	}
}

/* The constant that v is, as x + 1 of a constant x with integers; NULL: none */
static struct value *constant_of_known(struct ctx *cx, struct value *v)
{
	int count = v->known && !v->data && v->type.rank ? known_count(cx, &v->type) : 0;
	int64_t x[MAX_KNOWN], shape = count;

	if (count < MIN_LENGTH)
		return NULL;
	for (int i = 0; i < count; i++) {
		dim d = known_broadcast(cx, v, (uint32_t)i);
		if (d == DIM_NONE || !dim_is_const(cx, d, &x[i]))
			return NULL;
	}
	enum dtype t = (enum dtype)v->type.dtype;
	struct tensor *data = tensor_new(cx, t, 1, &shape);
	void *to = arena_alloc(cx->arena, (size_t)count * dtypes[t].size);
	tensor_convert(t, to, DT_INT64, x, (uint64_t)count);
	data->data = to;
	return graph_constant(cx, data, v->span);
}

/* Integers that are known are constants, whose places are compared. */
static void fold_known(struct ctx *cx, const struct block *b)
{
	struct value **found = new_array(cx->scratch, struct value *, cx->next_id), *v;

	for (struct node *n = b->first; n; n = n->next) {
		for (uint32_t i = 0; i < n->nin; i++)
			if (n->in[i] && (v = found[n->in[i]->id]))
				n->in[i] = v;
		for (uint32_t i = 0; i < n->nout; i++)
			found[n->out[i]->id] = constant_of_known(cx, n->out[i]);
	}
}

void join_repeats(struct ctx *cx, struct graph *g)
{
	struct repeats r = {.cx = cx, .costs = {.cx = cx}, .nvalues = cx->next_id};
	struct arena *a = cx->scratch;

	const struct node *n = g->block->first;
	for (uint32_t axis; n && !reduced_length(&r, n, &axis);)
		n = n->next;
	if (!n)
		return;
	fold_known(cx, g->block);
	widen_numbers(cx, g->block);
	r.nvalues = cx->next_id;
	r.needed = needed_values(cx, g);
	r.place = new_array(a, struct spot, r.nvalues);
	r.uses = find_uses(cx, g);
	find_regions(&r, g->block);
	if (!r.found.len)
		return;
	r.become = new_array(a, struct value *, (size_t)r.nvalues * MAX_CLASSES);
	r.state = new_array(a, uint8_t, (size_t)r.nvalues * MAX_CLASSES);
	r.live = new_array(a, bool, (size_t)r.nvalues *MAX_CLASSES);
	r.spot = new_array(a, struct spot, r.nvalues);
	r.ends = new_array(a, struct end, r.nvalues);
	for (uint32_t i = 0; i < r.found.len; i++)
		r.ends[r.found.at[i].node->out[0]->id] = r.found.at[i];
	part_regions(&r, g->block);
	rewrite_block(&r, g->block);
}
