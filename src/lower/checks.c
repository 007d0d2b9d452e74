/*
 * checks.c: records what must hold when the model runs; nodes are made of it after the rewrites, by
 * check/place.c. In: conditions that lowerings ask for, and the equations between dims that
 * inference assumed: ONNX Runtime compares no dim names, and broadcasts every length of 1 where
 * PyTensor stretches only those that are known to be 1. Out: block->checks. An equation holds in
 * the whole graph, wherever the statement stands that assumed it, so it is recorded in the
 * outermost block.
 */
#include <string.h>

#include "lower/build.h"

#define MAX_NAMED      4  /* equations that the name of a check tells */
#define MAX_SIDE       80 /* bytes of each side */
#define MAX_LOOSENED   64 /* values behind one length */
#define MAX_EXPRESSION 40 /* bytes of a value without a name that the name of a check tells */

bool holds_always(const struct value *cond)
{
	return all_are(constant_data(cond), 1, UINT64_MAX);
}

/* A constant that does not hold, as what a node makes: where its elements are known, onnx refuses
 * the model with its indices out of range, though the block with them may never run. */
static struct value *hidden(struct build *b, struct value *cond)
{
	const struct tensor *t = cond->data;
	struct tensor *opposite = tensor_new(b->cx, DT_BOOL, t->rank, t->shape);
	char *data = arena_alloc(b->cx->arena, t->count + 1);
	int64_t is = 0;

	for (uint64_t i = 0; i < stored_elements(t); i++)
		data[i] = tensor_int(t, i, &is) && !is;
	opposite->splat = t->splat;
	opposite->data = data;
	struct value *in = const_tensor(b, opposite);
	struct node *n = onnx_node(b, ONNX_Not, &in, 1, 1);
	n->out[0]->type = cond->type;
	append(b, n);
	return n->out[0];
}

static void record(struct build *b, struct value *on, struct value *cond, const char *message)
{
	if (cond->data && cond->data->data && cond->type.dtype == DT_BOOL)
		cond = hidden(b, cond);
	b->scope->shared->asserts = true;
	*vec_push(b->cx->arena, &b->block->checks) =
		(struct check){.cond = cond, .on = on, .message = message, .span = b->span};
}

struct value *check(struct build *b, struct value *v, struct value *cond, const char *message)
{
	if (holds_always(cond))
		return v;
	struct value *on = identity(b, v); /* the rewrites remove it */

	on->sign = v->sign;
	record(b, on, cond, message);
	return on;
}

void check_always(struct build *b, struct value *cond, const char *message)
{
	if (!holds_always(cond))
		record(b, NULL, cond, message);
}

struct value *check_nonempty(struct build *b, struct value *v, const int *axes, int n)
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
	struct value *zero = const_ints(b, &(int64_t){0}, 1);
	return check(b, v, emit_(b, ONNX_Greater, dims_vector(b, lengths, count), zero),
		     "the reduced axes must not be empty");
}

/* The mask whose hits d, as it was made, counts; NULL: it does not. Of an indexing by one mask,
 * numbers and slices of known lengths, that is the one length that only the result tells. */
static const struct value *counted_mask(struct build *b, dim d)
{
	struct dim_view v = dim_view_as_made(b->cx, d);
	const struct node *n = v.form == DIM_ATOM && v.kind == SOURCE_SIZE ? v.source->def : NULL;
	const struct value *mask = NULL;
	uint32_t open = 0;

	if (!is_call(n, OP_AdvancedSubtensor))
		return NULL;
	for (uint32_t i = 1; i < n->nin; i++)
		if (n->in[i]->type.rank && (mask || n->in[i]->type.dtype != DT_BOOL))
			return NULL;
		else if (n->in[i]->type.rank)
			mask = n->in[i];
	for (uint32_t i = 0; i < v.source->type.rank; i++) {
		struct dim_view own = dim_view_as_made(b->cx, v.source->type.dims[i]);
		open += own.form == DIM_ATOM && own.source == v.source;
	}
	return open == 1 && mask && !mask->data ? mask : NULL;
}

/* x[m] and y[m] are equally long. */
static bool counts_the_same(struct build *b, const struct equation *e)
{
	const struct value *mask = counted_mask(b, e->a);

	return mask && mask == counted_mask(b, e->b);
}

static bool is_input_size(const struct dim_view *v)
{
	return v->form == DIM_ATOM && v->kind == SOURCE_SIZE && v->source && !v->source->def;
}

/* Is the length of an input a number? Then its type says so in the model, and ONNX Runtime compares
 * that. C has no types with lengths. */
static bool is_declared(struct build *b, const struct equation *e)
{
	struct dim_view v = dim_view_as_made(b->cx, e->a), w = dim_view_as_made(b->cx, e->b);

	if (b->target == PTGC_C)
		return false;
	return (is_input_size(&v) && w.form == DIM_CONST) ||
	       (is_input_size(&w) && v.form == DIM_CONST);
}

/* Is d the length of axis j of p because a name in it was computed from that length? (In the type
 * float64[n+1] of p, n is the length less 1.) */
static bool is_solved_from(struct build *b, dim d, const struct value *p, uint32_t j)
{
	struct ctx *cx = b->cx;
	struct dim_view sum = dim_view_as_made(cx, d);

	for (uint32_t k = 0; sum.form == DIM_SUM && k < sum.nterms; k++) {
		struct dim_view n = dim_view_as_made(cx, sum.term[k]);
		if (n.form != DIM_ATOM || n.kind != SOURCE_VALUE || !n.source->def ||
		    n.source->def->op != &op_dim)
			continue;
		dim c = dim_const(cx, sum.coef[k]);
		dim others = dim_sub(cx, d, dim_mul(cx, c, sum.term[k]));
		dim is = dim_add(cx, others, dim_mul(cx, c, n.source->def->props[0].u.d));
		struct dim_view v = dim_view_as_made(cx, is);
		if (is_input_size(&v) && v.source == p && v.at == j)
			return true;
	}
	return false;
}

/* May the length of that axis of an input be another one? It is what something else says: the type
 * of b is float64[n], n being the length of a. */
static bool may_differ(struct build *b, const struct check *c)
{
	struct dim_view v = dim_view_as_made(b->cx, c->a);
	int64_t k;

	return !dim_is_const(b->cx, c->a, &k) && dim_available(b, c->a) &&
	       !(is_input_size(&v) && v.source == c->param && v.at == c->axis) &&
	       !is_solved_from(b, c->a, c->param, c->axis);
}

/* ---- the sides of an equation ---- */

#define NO_NAME "a length"

/* The node that makes the length of s, which has no name; NULL: none */
static const struct node *maker(struct build *b, const struct side *s)
{
	struct dim_view v = dim_view_as_made(b->cx, s->d);

	return v.form == DIM_ATOM && v.kind == SOURCE_SIZE && v.source ? v.source->def : NULL;
}

/* "x[m]" of a value without a name, as the text has it; NULL: it has no such words */
static const char *index_text(struct build *b, const struct node *n)
{
	uint32_t len;
	const char *text = users_text(b->cx, n->span, &len);

	if (!text || len > MAX_EXPRESSION)
		return NULL;
	return memchr(text, '[', len) && !memchr(text, '\n', len)
		       ? arena_strdup(b->cx->arena, text, len)
		       : NULL;
}

/* "axis 1 of x", "n", "3", "k" of an integer; NULL: it has no name */
static const char *given_name(struct build *b, const struct side *s)
{
	struct dim_view v = dim_view_as_made(b->cx, s->d);

	if (s->input)
		return arena_printf(b->cx->arena, "axis %u of %s", s->axis,
				    s->input->name ? s->input->name->s : "an input");
	if (v.form == DIM_ATOM && !v.name && v.kind == SOURCE_SIZE && v.source && v.source->name)
		return arena_printf(b->cx->arena, "axis %u of %s", v.at, v.source->name->s);
	if (v.form == DIM_ATOM && !v.name && v.source && v.source->name)
		return v.source->name->s;
	const char *text = dim_str_as_made(b->cx, s->d);
	return strcmp(text, "?") ? text : NULL;
}

/* The same, or "axis 0 of x[m]" */
static const char *side_name(struct build *b, const struct side *s)
{
	const char *given = given_name(b, s);
	const struct node *n = given ? NULL : maker(b, s);
	const char *index = n ? index_text(b, n) : NULL;

	return index ? arena_printf(b->cx->arena, "axis %u of %s", dim_view_as_made(b->cx, s->d).at,
				    index)
		     : given;
}

/* The same, or "a length of Unique in line 3" */
static const char *side_text(struct build *b, const struct side *s)
{
	const char *name = side_name(b, s);
	const struct node *n = maker(b, s);
	uint32_t call;

	if (name || !n)
		return name ? name : NO_NAME;
	struct place at = source_place(b->cx, text_place(b->cx, n->span, &call).begin);
	return at.source && !at.source->lib
		       ? arena_printf(b->cx->arena, NO_NAME " of %s in line %u",
				      n->onnx ? n->onnx->name : n->op->name, at.line)
		       : NO_NAME;
}

bool sides_have_names(struct build *b, const struct side *x, const struct side *y)
{
	const char *a = side_name(b, x), *c = side_name(b, y);

	return a && c && !strchr(a, '?') && !strchr(c, '?');
}

static void add_text(struct strbuf *b, const char *s)
{
	size_t n = strnlen(s, MAX_SIDE);

	while (n == MAX_SIDE && n && (s[n] & 0xC0) == 0x80) /* whole characters only */
		n--;
	sb_add(b, s, n);
}

const char *what_must_hold(struct build *b, const struct sides *s)
{
	struct strbuf text = {.arena = b->cx->arena};

	for (uint32_t i = 0; i < s->x.len && i < MAX_NAMED; i++) {
		const struct side *x = &s->x.at[i], *y = &s->y.at[i];
		const char *a = side_text(b, x), *c = side_text(b, y);
		bool named = given_name(b, x), other = given_name(b, y);
		bool turn = named && (!other || (!x->of && (y->of || (*a >= '0' && *a <= '9'))));
		sb_str(&text, i ? ", " : "");
		add_text(&text, turn ? c : a);
		sb_str(&text, " must be ");
		add_text(&text, turn ? a : c);
	}
	sb_str(&text, s->x.len > MAX_NAMED ? ", ..." : "");
	return text.s;
}

/* The words of a check in C; of ONNX they are made with the node that fails */
static const char *must_be_equal(struct build *b, const struct equation *e)
{
	struct sides s = {0};

	if (b->target != PTGC_C)
		return NULL;
	*vec_push(b->cx->arena, &s.x) = (struct side){.d = e->a};
	*vec_push(b->cx->arena, &s.y) = (struct side){.d = e->b};
	return what_must_hold(b, &s);
}

void record_lengths(struct build *b, const struct graph *from, struct graph *to)
{
	const struct block *k = from->block;
	const struct equation *e;
	uint32_t n = dim_equations(b->cx, &e);

	if (!b->cx->opt.check_dims || b->target == PTGC_ONNX)
		return;
	for (uint32_t i = 0; i < k->params.len; i++)
		for (uint32_t j = 0; j < k->params.at[i]->type.rank; j++) {
			struct value *p = k->params.at[i];
			dim d = p->type.dims[j];
			*vec_push(b->cx->arena, &to->block->checks) = (struct check){
				.param = p, .axis = j, .a = d, .b = d, .span = p->span};
		}
	for (uint32_t i = 0; i < n; i++)
		if (!is_declared(b, &e[i]) && !counts_the_same(b, &e[i])) {
			const char *message = must_be_equal(b, &e[i]);
			*vec_push(b->cx->arena, &to->block->checks) = (struct check){
				.a = e[i].a, .b = e[i].b, .span = e[i].span, .message = message};
		}
}

static struct side side_of(struct build *b, dim d)
{
	struct dim_view w = dim_view_as_made(b->cx, d);
	struct side s = {.d = d};

	if (w.form == DIM_ATOM && w.kind == SOURCE_SIZE && w.source && !w.source->data) {
		s.of = lowered_value(b, w.source);
		s.axis = w.at;
	}
	return s;
}

void sides_of(struct build *b, const struct check *c, struct side *x, struct side *y)
{
	*x = side_of(b, c->a);
	*y = side_of(b, c->b);
	if (!c->param)
		return;
	x->of = lowered_value(b, c->param);
	x->axis = c->axis;
	x->input = c->param;
}

/* A vector of single numbers: it may be a shape elsewhere, so its own length must be known. */
static bool is_counted(const struct value *v)
{
	bool vector = v->type.rank == 1 && v->type.dtype == DT_INT64;

	for (uint32_t i = 0; vector && computes(v->def, ONNX_Concat) && i < v->def->nin; i++)
		vector = v->def->in[i]->data || computes(v->def->in[i]->def, ONNX_Unsqueeze);
	return vector && (computes(v->def, ONNX_Concat) || computes(v->def, ONNX_Unsqueeze) ||
			  computes(v->def, ONNX_Shape));
}

static void loosen_axis(struct build *b, struct value *v, uint32_t axis)
{
	if (!v->def || axis >= v->type.rank || is_counted(v))
		return;
	dim *dims = new_array(b->cx->arena, dim, v->type.rank);
	memcpy(dims, v->type.dims, v->type.rank * sizeof(dim));
	dims[axis] = dim_fresh(b->cx, SOURCE_SIZE, v, axis);
	v->type.dims = dims;
}

/* Is that axis one that n, an Unsqueeze, adds? */
static bool adds_axis(const struct node *n, uint32_t axis)
{
	return computes(n, ONNX_Unsqueeze) &&
	       onnx_axis_bits(n, n->out[0]->type.rank) >> (axis & 63) & 1;
}

/* Does the operator alone say that length, as NonZero gives a row for each axis? No check can find
 * that it is another one, even if it is as long as one that a check compares. */
static bool is_certain(const struct value *v, uint32_t axis)
{
	const struct node *n = v->def;

	if (computes(n, ONNX_NonZero))
		return axis == 0;
	for (uint32_t i = 0; computes(n, ONNX_Concat) && i < n->nin; i++)
		if (!adds_axis(n->in[i]->def, axis))
			return false;
	return computes(n, ONNX_Concat) || adds_axis(n, axis);
}

/*
 * A value that is computed has the length of s. Its type must not say which one, as the check is
 * there to find that out: the rewrites and ONNX Runtime would answer from the type. Nor must types
 * of values that this one is computed from in the same statement.
 */
static void loosen(struct build *b, const struct side *s)
{
	struct value *v = s->of;
	vec(struct value *) todo = {0};

	if (!v || !v->def || s->axis >= v->type.rank)
		return;
	dim said = v->type.dims[s->axis];
	struct span at = v->def->span;
	loosen_axis(b, v, s->axis);
	*vec_push(b->cx->scratch, &todo) = v;
	for (uint32_t seen = 0; todo.len && seen < MAX_LOOSENED; seen++) {
		v = todo.at[--todo.len];
		for (uint32_t i = 0; i < v->type.rank; i++)
			if (dim_eq(b->cx, v->type.dims[i], said) && !is_certain(v, i))
				loosen_axis(b, v, i);
		for (uint32_t i = 0; i < v->def->nin; i++) {
			struct value *from = v->def->in[i];
			/* a vector of lengths keeps its own: that is a rank */
			if (from && from->def && !says_shape(v->def, i) &&
			    from->def->span.begin == at.begin && from->def->span.end == at.end)
				*vec_push(b->cx->scratch, &todo) = from;
		}
	}
}

static void loosen_sources(struct build *b, dim d)
{
	struct dim_walk w = {.round = 1};

	*vec_push(b->cx->scratch, &w.todo) = d;
	for (dim a; (a = next_atom(b, &w));) {
		struct side s = side_of(b, a);
		loosen(b, &s);
	}
}

/* The length of what is computed from constants alone: a model in which it is another one than the
 * other side may be refused by ONNX Runtime as a whole. */
static bool is_decided(struct build *b, const struct side *x)
{
	bool open;

	return x->of && !x->of->data && x->of->def && from_constants(b->cx, x->of, &open) && open;
}

/* Is d computed from constants and weights alone? *k: its value. Makes the nodes that compute it.
 */
static bool dim_folds(struct build *b, dim d, int64_t *k)
{
	struct dim_walk w = {.round = 1};

	*vec_push(b->cx->scratch, &w.todo) = d;
	for (dim a; (a = next_atom(b, &w));) {
		struct value *v = dim_view_as_made(b->cx, a).source;
		if (!v || !(v->data || (v->lowered && v->lowered->data)))
			return false;
	}
	struct value *v = dim_vector(b, d);
	return v->data && tensor_int(v->data, 0, k);
}

static bool sides_decided(struct build *b, const struct check *c)
{
	struct sides s = {{0}, {0}};
	struct side *x = vec_push(b->cx->arena, &s.x), *y = vec_push(b->cx->arena, &s.y);
	int64_t k, m;

	sides_of(b, c, x, y);
	if (!c->param && dim_folds(b, c->a, &k) && dim_folds(b, c->b, &m)) {
		if (k != m)
			error(b->cx, c->span, E_SHAPE,
			      "the lengths %lld and %lld must be equal here", (long long)k,
			      (long long)m);
		return true;
	}
	if (!is_decided(b, x) && !is_decided(b, y))
		return false;
	error(b->cx, c->span, E_UNSUPPORTED,
	      "%s: constants alone decide that, but ptgc does not compute them; write their "
	      "values",
	      what_must_hold(b, &s));
	return true;
}

/* ---- what is needed ---- */

/* From the last node to the first. Blocks nest as deep as loops and ifs of the input, which has a
 * limit: this may recurse. */
static void mark_needed(struct ctx *cx, struct block *k, bool sizes, bool *needed)
{
	struct node **all = new_array(cx->scratch, struct node *, k->nnodes + 1u);
	uint32_t len = 0, c = k->checks.len, kept = 0;

	for (uint32_t i = 0; i < k->results.len; i++)
		needed[k->results.at[i]->id] = true;
	for (uint32_t i = 0; i < c; i++)
		if (!k->checks.at[i].on && k->checks.at[i].cond)
			needed[k->checks.at[i].cond->id] = true;
	for (struct node *n = k->first; n; n = n->next)
		all[len++] = n;
	while (len-- > 0) {
		struct node *n = all[len];
		while (c && !k->checks.at[c - 1].on)
			c--;
		/* checks are in the order of the values that they are for */
		bool checked = c && k->checks.at[c - 1].on == n->out[0];
		c -= checked;
		if (n->dead || !is_needed(needed, n))
			continue;
		if (checked)
			needed[k->checks.at[c].cond->id] = true;
		for (uint32_t i = 0; i < n->nin; i++)
			if (n->in[i] && (sizes || needs_elements(n)))
				needed[n->in[i]->id] = true;
		for_bodies (inner, n)
			mark_needed(cx, inner, sizes, needed);
	}
	for (uint32_t i = 0; i < k->checks.len; i++)
		if (!k->checks.at[i].on || needed[k->checks.at[i].on->id])
			k->checks.at[kept++] = k->checks.at[i];
	k->checks.len = kept;
	for (uint32_t i = 0; i < kept; i++)
		k->checks.at[i].on = NULL;
}

const bool *drop_needless_checks(struct ctx *cx, struct block *k, bool sizes)
{
	bool *needed = new_array(cx->scratch, bool, cx->next_id);

	mark_needed(cx, k, sizes, needed);
	return needed;
}

static void keep_conditions(struct ctx *cx, struct graph *g)
{
	for (struct walk w = {.root = g->block}; walk(&w, WALK_ENTER);)
		for (uint32_t i = 0; i < w.at.block->checks.len; i++)
			if (w.at.block->checks.at[i].cond)
				*vec_push(cx->arena, &g->kept) = w.at.block->checks.at[i].cond;
}

/* The values that lengths are read from. */
static void keep_sources(struct build *b, struct graph *g)
{
	struct dim_walk w = {.round = 1};

	for (uint32_t i = 0; i < g->block->checks.len; i++) {
		*vec_push(b->cx->scratch, &w.todo) = g->block->checks.at[i].a;
		*vec_push(b->cx->scratch, &w.todo) = g->block->checks.at[i].b;
	}
	for (dim d; (d = next_atom(b, &w));) {
		struct value *source = dim_view_as_made(b->cx, d).source;
		struct value *v = source && !source->data ? lowered_value(b, source) : NULL;
		if (v)
			*vec_push(b->cx->arena, &g->kept) = v;
	}
}

/* Is a length in d that of a value which was not lowered? The core of Blockwise has such, where
 * there is a form for the batch: the nodes of that form fail where its equations do not hold. */
static bool is_of_core(struct build *b, dim d)
{
	struct dim_walk w = {.round = 1};

	*vec_push(b->cx->scratch, &w.todo) = d;
	for (dim a; (a = next_atom(b, &w));) {
		struct value *v = dim_view_as_made(b->cx, a).source;
		if (v && !v->data && !lowered_value(b, v))
			return true;
	}
	return false;
}

void finish_checks(struct build *b, struct graph *g)
{
	struct block *k = g->block;
	uint32_t kept = 0;

	b->scope->shared->dims_as_made = true;
	for (uint32_t i = 0; i < k->checks.len; i++) {
		struct check *c = &k->checks.at[i];
		if (!c->cond && ((c->param && !may_differ(b, c)) || sides_decided(b, c)))
			continue;
		if (!c->cond) {
			loosen_sources(b, c->a);
			loosen_sources(b, c->b);
			if (is_of_core(b, c->a) || is_of_core(b, c->b))
				continue;
		}
		k->checks.at[kept++] = *c;
	}
	k->checks.len = kept;
	g->checked = kept || b->scope->shared->asserts;
	if (!g->checked)
		return;
	drop_needless_checks(b->cx, k, true);
	keep_conditions(b->cx, g);
	keep_sources(b, g);
}
