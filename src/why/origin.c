/*
 * origin.c: where the dtype and the sizes of a value come from.
 * In: a value of a graph, which may have errors elsewhere. Out: lines of text for `ptgc why`, in
 * which each size and the dtype are followed to where the user wrote them, or to the op that made
 * them. Holds: nothing is guessed. Where an op could have taken a number from several of its
 * arguments, the op and the types of its arguments are what is said.
 */
#include <string.h>

#include "ops/rules.h"
#include "typed/typed.h"
#include "why/internal.h"

#define MAX_STEPS 100000 /* of the way back */
#define MAX_TEXT  40     /* bytes of a literal */
#define MAX_TRIED 64     /* arguments of an op whose dtypes are tried */
#define MAX_ATOMS 4      /* names of a size that are explained, too */

struct owner { /* of the param of a block */
	const struct node *node;
	uint32_t index;
};
struct origins {
	struct ctx *cx;
	struct owner *owner; /* by value->id; node NULL: of the graph */
	struct strbuf *out;
	uint32_t here; /* the offset of the name that is asked for */
};

static void find_owners(struct origins *o, const struct block *main)
{
	for (struct walk w = {.root = main}; walk(&w, WALK_ENTER);)
		for (uint32_t i = 0; w.at.block != main && i < w.at.block->params.len; i++)
			o->owner[w.at.block->params.at[i]->id] =
				(struct owner){w.at.block->position.node, i};
}

struct origins *origins_new(struct ctx *cx, const struct block *main, const struct block *tried,
			    struct strbuf *out)
{
	struct origins *o = new (cx->arena, struct origins);

	o->cx = cx;
	o->out = out;
	o->owner = new_array(cx->arena, struct owner, cx->next_id + 1);
	find_owners(o, main);
	if (tried)
		find_owners(o, tried);
	return o;
}

void origins_of(struct origins *o, struct span at)
{
	uint32_t call;

	o->here = text_place(o->cx, at, &call).begin;
}

/* ---- what is said ---- */

/* ", line 3", with the file's name if it is not the main one */
static void say_line(struct origins *o, struct span s)
{
	uint32_t call;
	struct place at = source_place(o->cx, text_place(o->cx, s, &call).begin);

	if (!at.source || at.source->lib)
		return;
	if (at.source == o->cx->sources.at[0])
		sb_printf(o->out, ", line %u", at.line);
	else
		sb_printf(o->out, ", %s:%u", at.source->name, at.line);
}

static void say_text(struct origins *o, struct span s)
{
	uint32_t n;
	const char *text = users_text(o->cx, s, &n), *end = text ? memchr(text, '\n', n) : NULL;

	if (!text) {
		sb_str(o->out, "a constant");
		return;
	}
	uint32_t len = end ? (uint32_t)(end - text) : n;
	int shown = shown_len(text, len, MAX_TEXT);
	sb_printf(o->out, "%.*s%s", shown, text, (uint32_t)shown < n ? "..." : "");
}

/* Is v an input whose type stands where its name is asked for? */
static bool is_here(const struct origins *o, const struct value *v)
{
	return !v->def && !v->data && !o->owner[v->id].node && v->span.begin == o->here;
}

/* A value that nothing is computed from: "x: float32[n, 64], line 3", "[1, 2], line 5" */
static void say_value(struct origins *o, const struct value *v)
{
	if (is_here(o, v)) {
		sb_str(o->out, "written here");
		return;
	}
	if (v->def && v->def->op == &op_dim) {
		sb_str(o->out, "a size");
	} else if (v->def) {
		sb_str(o->out, v->def->op == &op_loop ? "a loop"
			       : v->def->op == &op_if ? "an if"
						      : call_label(o->cx, v->def));
	} else if (v->name) {
		sb_printf(o->out, "%s: %s", v->name->s, type_str(o->cx, v->type));
		if (v->data && v->data->name) {
			sb_str(o->out, " = ");
			say_text(o, v->span);
		}
	} else if (v->data) {
		say_text(o, v->span);
	} else if (o->owner[v->id].node) {
		sb_str(o->out, "a loop");
	} else {
		sb_str(o->out, type_str(o->cx, v->type));
	}
	say_line(o, v->def ? v->def->span : v->span);
}

/* ---- the way back ---- */

static uint32_t result_index(const struct value *v)
{
	uint32_t i = 0;

	while (i < v->def->nout && v->def->out[i] != v)
		i++;
	return i;
}

static bool is_of_an_op(const struct value *v)
{
	const struct node *n = v->def;

	return n && n->op != &op_dim && n->op != &op_loop && n->op != &op_if;
}

/* The value that v is before it goes in or out of a block; NULL: v is none such. *axis changes if v
 * is a stack of values. */
static const struct value *other_side(struct origins *o, const struct value *v, int *axis)
{
	const struct owner *own = &o->owner[v->id];
	const struct node *n = v->def;

	if (!n && own->node && own->node->op == &op_loop && own->index > 1)
		return own->index < own->node->nin ? own->node->in[own->index] : NULL;
	if (!n || (n->op != &op_loop && n->op != &op_if))
		return NULL;
	uint32_t i = result_index(v), carried = n->blocks[0]->params.len - 2;
	if (n->op == &op_if)
		return i < n->blocks[0]->results.len ? n->blocks[0]->results.at[i] : NULL;
	if (i < carried)
		return n->in[2 + i];
	--*axis;
	return i + 1 < n->blocks[0]->results.len ? n->blocks[0]->results.at[i + 1] : NULL;
}

/* Has v the dtype of what it meets, as a number that the text writes, or a size? */
static bool is_weak(const struct value *v)
{
	while (v->def && v->def->op == &op_table[OP_Cast] && v->def->in[0])
		v = v->def->in[0];
	return v->def ? v->def->op == &op_dim : v->data && !v->data->name;
}

/* ---- dtypes ---- */

static enum dtype narrower(enum dtype t)
{
	switch (dtypes[t].kind) {
	case KIND_COMPLEX:
		return DT_FLOAT16;
	case KIND_FLOAT:
		return t == DT_FLOAT16 ? DT_INT8 : DT_FLOAT16;
	case KIND_INT:
	case KIND_UINT:
		return t == DT_INT8 ? DT_BOOL : DT_INT8;
	default:
		return t;
	}
}

/* n with arguments and results of its own, whose types may be changed */
static struct node *changeable(struct ctx *cx, const struct node *n)
{
	struct node *copy = new (cx->arena, struct node);

	*copy = *n;
	copy->in = new_array(cx->arena, struct value *, n->nin + 1u);
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i]) {
			copy->in[i] = new (cx->arena, struct value);
			*copy->in[i] = *n->in[i];
		}
	node_results(cx, copy, n->nout);
	return copy;
}

/* Result k of n, by the rules of its op; NULL: they refuse the arguments. */
static const struct value *result_by_rules(struct ctx *cx, struct node *n, uint32_t k)
{
	struct diag **tail = cx->diag_tail;
	uint32_t errors = cx->errors, refused = cx->refused, warnings = cx->warnings;
	enum dtype t = n->op->dtype(cx, n);
	bool ok = t != DT_NONE;

	n->out[0]->type.dtype = (uint8_t)t;
	if (ok && k) {
		dim_only_ask(cx, true);
		ok = n->op->shape(cx, n);
		dim_only_ask(cx, false);
	}
	*tail = NULL; /* what the rules say of such arguments is of no interest */
	cx->diag_tail = tail;
	cx->errors = errors;
	cx->refused = refused;
	cx->warnings = warnings;
	return ok ? n->out[k] : NULL;
}

/* The dtype of result k of n if all arguments but `kept` had narrower ones; kept n->nin: none.
 * DT_NONE: the op takes no such arguments */
static enum dtype dtype_with(struct ctx *cx, const struct node *n, uint32_t k, uint32_t kept)
{
	struct node *copy = changeable(cx, n);

	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && i != kept && !is_rng((enum dtype)n->in[i]->type.dtype))
			copy->in[i]->type.dtype =
				(uint8_t)narrower((enum dtype)n->in[i]->type.dtype);
	const struct value *v = result_by_rules(cx, copy, k);
	return v ? (enum dtype)v->type.dtype : DT_NONE;
}

/* The argument that the result has its dtype from; NULL: the op makes it, of itself or of the
 * dtypes of several. That is tried: an argument decides if the result has the dtype whatever the
 * others have, and has another one without it. */
static const struct value *dtype_argument(struct ctx *cx, const struct node *n, uint32_t k,
					  enum dtype t)
{
	if (!n->op->dtype || n->nin > MAX_TRIED || dtype_with(cx, n, k, n->nin) == t)
		return NULL;
	for (int weak = 0; weak < 2; weak++)
		for (uint32_t i = 0; i < n->nin; i++)
			if (n->in[i] && n->in[i]->type.dtype == t &&
			    is_weak(n->in[i]) == (weak != 0) && dtype_with(cx, n, k, i) == t)
				return n->in[i];
	return NULL;
}

/* The first argument that a wider one met, so that the result has the dtype of that; NULL: none */
static const struct value *widened(const struct node *n, enum dtype t)
{
	for (uint32_t i = 0; n->op->cast != CAST_NONE && i < n->nin; i++) {
		const struct value *v = n->in[i];
		if (v && v->type.dtype != t && !is_weak(v) && !(n->op->cast == CAST_REST && !i))
			return v;
	}
	return NULL;
}

void origin_of_dtype(struct origins *o, const struct value *v)
{
	enum dtype t = (enum dtype)v->type.dtype;
	const struct node *promotes = NULL;

	for (int steps = 0; steps < MAX_STEPS; steps++) {
		int axis = 0;
		const struct value *from = other_side(o, v, &axis);
		if (!from && v->def && v->def->onnx) {
			int i = onnx_input_like(v->def->onnx, result_index(v));
			from = i >= 0 && (uint32_t)i < v->def->nin ? v->def->in[i] : NULL;
		} else if (!from && is_of_an_op(v)) {
			from = dtype_argument(o->cx, v->def, result_index(v), t);
			if (from && widened(v->def, t))
				promotes = v->def;
		}
		if (!from || from->type.dtype != t)
			break;
		v = from;
	}
	sb_printf(o->out, "  %s: ", dtypes[t].name);
	say_value(o, v);
	if (promotes) {
		sb_printf(o->out, "; %s", promotes->op->name);
		say_line(o, promotes->span);
		sb_printf(o->out, ", makes %s %s", type_str(o->cx, widened(promotes, t)->type),
			  dtypes[t].name);
	}
	sb_str(o->out, "\n");
}

/* ---- sizes ---- */

static bool has_dim_along(struct ctx *cx, const struct value *v, int axis, dim d)
{
	return v && axis >= 0 && axis < v->type.rank && dim_eq(cx, v->type.dims[axis], d);
}

/* x[0, :, 1:]: the axis of x that axis a of the result is as a whole; -1: it is a part of one */
static int sliced_axis(const struct cv *list, int a)
{
	uint32_t k = 0;

	for (; k < list->n; k++) {
		const struct cv *c = &list->u.items[k];
		if (c->kind != CV_SLICE || a-- > 0)
			continue;
		for (uint32_t i = 0; i < 3; i++)
			if (c->u.items[i].kind != CV_NONE)
				return -1;
		return (int)k;
	}
	return (int)k + a;
}

/* The same for a raw node */
static int raw_axis(const struct node *n, uint32_t i, int a)
{
	int rank = n->out[0]->type.rank;

	switch (onnx_lengths(n->onnx)) {
	case ONNX_BROADCAST_LENGTHS:
		return a - (rank - n->in[i]->type.rank);
	case ONNX_FIRST_LENGTHS:
		return i ? -1 : a;
	default:
		break;
	}
	if (!computes(n, ONNX_Transpose) || i)
		return -1;
	return (int)onnx_perm(n, (uint32_t)a);
}

/* Axis a of the result of n is which axis of argument i, for ops that axis_of() refuses? Negative:
 * it is not known to be one. */
static int moved_axis(struct ctx *cx, struct node *n, uint32_t i, int a)
{
	int rank = n->out[0]->type.rank, order[MAX_RANK];
	bool product = is_call(n, OP_Matmul) || is_call(n, OP_Dot) || computes(n, ONNX_MatMul);

	if (product && n->in[i]->type.rank > 1)
		return (a + 1 == rank) == (i == 1) ? a - (rank - n->in[i]->type.rank) : -1;
	if (n->onnx)
		return raw_axis(n, i, a);
	if (i)
		return -1;
	if (n->op->shape == sh_first || n->op->shape == sh_along || n->op->shape == sh_along_axes)
		return a;
	if (is_call(n, OP_Subtensor))
		return sliced_axis(prop(cx, n, "idx_list"), a);
	if (is_call(n, OP_DimShuffle))
		return dimshuffle_order(cx, n, order) == rank ? order[a] : -1;
	if (is_call(n, OP_MatrixTranspose))
		return a + 2 < rank ? a : 2 * rank - 3 - a;
	if (is_call(n, OP_Transpose) && prop_is_none(cx, n, "axes"))
		return rank - 1 - a;
	if (is_call(n, OP_Transpose) && prop_axes(cx, n, "axes", rank, order, false) == rank)
		return order[a];
	return -1;
}

/* The argument that axis *axis of result k is an axis of, and that axis, for k > 0, of which ops
 * have no rule that says so: the length of each axis is changed, one at a time, and the rule for
 * types is asked again. NULL: none */
static const struct value *changed_argument(struct ctx *cx, const struct node *n, uint32_t k,
					    int *axis, dim d)
{
	struct sym *other = intern(cx, "?", 1);

	for (uint32_t i = 0; i < n->nin && n->op->dtype && n->op->shape; i++)
		for (int a = 0; n->in[i] && a < n->in[i]->type.rank; a++) {
			if (!has_dim_along(cx, n->in[i], a, d))
				continue;
			struct node *copy = changeable(cx, n);
			struct type *t = &copy->in[i]->type;
			dim *dims = new_array(cx->arena, dim, t->rank), changed;
			memcpy(dims, t->dims, t->rank * sizeof(*dims));
			dims[a] = changed = dim_name(cx, other);
			t->dims = dims;
			const struct value *v = result_by_rules(cx, copy, k);
			if (!has_dim_along(cx, v, *axis, changed))
				continue;
			*axis = a;
			return n->in[i];
		}
	return NULL;
}

/* The argument that axis *axis of the result, of length d, is an axis of, and that axis; NULL: the
 * op makes it, or nothing is known. */
static const struct value *length_argument(struct ctx *cx, struct node *n, int *axis, dim d)
{
	for (uint32_t i = 0; i < n->nin; i++) {
		int a = n->in[i] ? axis_of(cx, n, i, *axis) : REFUSED;
		if (n->in[i] && a == REFUSED)
			a = moved_axis(cx, n, i, *axis);
		if (!has_dim_along(cx, n->in[i], a, d))
			continue;
		*axis = a;
		return n->in[i];
	}
	return NULL;
}

/* Where the length d of an axis of v comes from: v goes back as far as it is the same axis. */
static const struct value *length_origin(struct origins *o, const struct value *v, int *axis, dim d)
{
	for (int steps = 0; steps < MAX_STEPS; steps++) {
		int at = *axis;
		const struct value *from = other_side(o, v, &at);
		if (!from && is_of_an_op(v) && v->def->out[0] == v)
			from = length_argument(o->cx, v->def, &at, d);
		else if (!from && is_of_an_op(v) && !v->def->onnx)
			from = changed_argument(o->cx, v->def, result_index(v), &at, d);
		if (!has_dim_along(o->cx, from, at, d))
			break;
		v = from;
		*axis = at;
	}
	return v;
}

/* "axis 1 of W: float32[3, 4], line 2", or what made an axis of v so long */
static void say_axis(struct origins *o, const struct value *v, int axis)
{
	const struct owner *own = &o->owner[v->id];

	if (v->def)
		sb_str(o->out, "made by ");
	else if (own->node && own->node->op == &op_loop)
		sb_str(o->out, "changes in ");
	else if (!is_here(o, v))
		sb_printf(o->out, "axis %d of ", axis);
	say_value(o, v);
}

/* Where an atom is found when the model runs */
static void say_atom(struct origins *o, const struct dim_view *w)
{
	if (!w->source) {
		sb_str(o->out, "a size that nothing says yet");
	} else if (w->kind == SOURCE_SIZE) {
		int axis = (int)w->at;
		const struct value *v = w->source;
		if (!v->def && axis < v->type.rank)
			v = length_origin(o, v, &axis, v->type.dims[axis]);
		say_axis(o, v, axis);
		if (v->def)
			sb_str(o->out, ", a size that only a run knows");
	} else {
		sb_str(o->out, w->source->type.rank ? "an element of " : "the integer ");
		say_value(o, w->source);
	}
}

/* The atoms of d, each once. MAX_WEIGHT of dims bounds the recursion. */
static void add_atoms(struct origins *o, dim d, dim *atoms, uint32_t *n)
{
	struct dim_view w = dim_view(o->cx, d);

	if (w.form == DIM_ATOM) {
		for (uint32_t i = 0; i < *n; i++)
			if (atoms[i] == dim_find(o->cx, d))
				return;
		if (*n < MAX_ATOMS)
			atoms[(*n)++] = dim_find(o->cx, d);
		return;
	}
	for (uint32_t i = 0; i < w.nterms && w.form != DIM_CONST; i++)
		add_atoms(o, w.term[i], atoms, n);
}

/* An equation made d, as the text writes it, what it is. */
static void say_equation(struct origins *o, dim d)
{
	struct span s;

	if (!strcmp(dim_str(o->cx, d), dim_str_as_made(o->cx, d)) ||
	    !dim_equation_span(o->cx, d, &s))
		return;
	sb_printf(o->out, "; %s is %s", dim_str_as_made(o->cx, d), dim_str(o->cx, d));
	sb_str(o->out, " by an equation");
	say_line(o, s);
}

void origin_of_length(struct origins *o, const struct value *v, uint32_t k)
{
	dim d = v->type.dims[k];
	struct dim_view w = dim_view(o->cx, d);
	int axis = (int)k;

	sb_printf(o->out, "  %s: ", dim_str(o->cx, d));
	if (w.form == DIM_ATOM)
		say_atom(o, &w);
	else {
		const struct value *from = length_origin(o, v, &axis, d);
		say_axis(o, from, axis);
		if (!from->def && has_dim_along(o->cx, from, axis, d) && from->type.dims[axis] != d)
			say_equation(o, from->type.dims[axis]);
	}
	say_equation(o, d);
	sb_str(o->out, "\n");
	if (w.form != DIM_ATOM)
		origin_of_size(o, d);
}

void origin_of_size(struct origins *o, dim d)
{
	dim atoms[MAX_ATOMS];
	uint32_t n = 0;

	add_atoms(o, d, atoms, &n);
	for (uint32_t i = 0; i < n; i++) {
		struct dim_view w = dim_view(o->cx, atoms[i]);
		sb_printf(o->out, "    %s: ", dim_str(o->cx, atoms[i]));
		say_atom(o, &w);
		sb_str(o->out, "\n");
	}
}
