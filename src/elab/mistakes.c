/*
 * mistakes.c: warnings about calls that are legal and hardly meant, and where a dtype comes from.
 * In: a node that a statement makes. Out: nothing but messages. Of what a fn calls only dtypes and
 * generators are looked at: a length that is 1 at one of its calls is another one at the next.
 */
#include "elab/internal.h"

enum { NEAR = 100 }; /* values that a warning looks back */

/* Is the value float64 because its numbers were stored so? Not one number: that was written so. */
static bool is_float64_tensor(const struct value *v)
{
	return v && v->data && v->type.rank && v->type.dtype == DT_FLOAT64;
}

/* Do all float inputs of the graph have the dtype float32? */
static bool takes_float32(const struct elab *e)
{
	bool found = false;

	for (uint32_t i = 0; i < e->graph->block->params.len; i++) {
		enum dtype t = e->graph->block->params.at[i]->type.dtype;
		if (t == DT_FLOAT64 || is_complex(t))
			return false;
		found |= t == DT_FLOAT32;
	}
	return found;
}

static void warn_float64(struct elab *e, const struct node *n, struct span s)
{
	const struct value *weight = NULL, *single = NULL;

	for (uint32_t i = 0; i < n->nin; i++) {
		weight = is_float64_tensor(n->in[i]) ? n->in[i] : weight;
		single = n->in[i] && n->in[i]->type.dtype == DT_FLOAT32 ? n->in[i] : single;
	}
	if (weight && single && n->nout == 1 && n->out[0]->type.dtype == DT_FLOAT64 &&
	    takes_float32(e))
		warn(e->cx, s, W_FLOAT64,
		     "%s and %s give float64, and so does what follows; for a float32 model "
		     "convert the "
		     "weight, Cast{float32}(...), or write it as float32([...])",
		     type_str(e->cx, single->type), type_str(e->cx, weight->type));
}

/* Is the place in a fn, another call of which had the same warning? */
static bool is_shown(struct elab *e, struct span s)
{
	if (e->frame->fn->is_graph)
		return false;
	for (uint32_t i = 0; i < e->warned.len; i++)
		if (e->warned.at[i].begin == s.begin)
			return true;
	*vec_push(e->cx->arena, &e->warned) = s;
	return false;
}

/* The first value on the way to v that has v's dtype, at most `steps` values back; none of what it
 * is made of has it. A number has the dtype of what it meets: other operands come first. */
static const struct value *first_of_dtype(const struct value *v, uint32_t steps)
{
	for (const struct value *next = v; next && steps; steps--) {
		v = next;
		next = NULL;
		for (uint32_t i = 0; v->def && i < v->def->nin && (!next || next->data); i++)
			if (v->def->in[i] && v->def->in[i]->type.dtype == v->type.dtype &&
			    (!next || !v->def->in[i]->data))
				next = v->def->in[i];
	}
	return v;
}

/* "s: float32[n, ?] = ...", where the axes of `open` change */
const char *carried_as(struct elab *e, const struct carried *c, enum dtype dtype, uint64_t open)
{
	struct strbuf b = {.arena = e->cx->arena};
	const struct type *t = &c->param->type;

	sb_printf(&b, "%s: %s[", c->name->s, dtypes[dtype].name);
	for (uint32_t k = 0; k < t->rank; k++)
		sb_printf(&b, "%s%s", k ? ", " : "",
			  open >> k & 1 ? "?" : dim_str(e->cx, t->dims[k]));
	sb_str(&b, "] = ...");
	return b.s;
}

/* The carried value of a loop around that v is, if its first value is a decimal without a type */
static struct carried *carried_decimal(struct elab *e, const struct value *v)
{
	for (struct loop_state *l = e->loop; l; l = l->outer)
		for (uint32_t i = 0; i < l->ncarried; i++)
			if (l->carried[i].decimal && l->carried[i].param == v)
				return &l->carried[i];
	return NULL;
}

/* s = 0.0 in the header of a loop is float64, and so is what float32 values become with it. */
static void warn_decimal(struct elab *e, const struct node *n, struct span s)
{
	const struct value *single = NULL, *wide = NULL;

	if (!e->loop || n->nout != 1 || n->out[0]->type.dtype != DT_FLOAT64)
		return;
	for (uint32_t i = 0; i < n->nin; i++) {
		enum dtype t = n->in[i] ? (enum dtype)n->in[i]->type.dtype : DT_NONE;
		single = t == DT_FLOAT32 ? n->in[i] : single;
		wide = t == DT_FLOAT64 ? n->in[i] : wide;
	}
	struct carried *c = single && wide ? carried_decimal(e, first_of_dtype(wide, NEAR)) : NULL;
	if (!c || !takes_float32(e))
		return;
	c->decimal = false; /* one message for each */
	if (!is_shown(e, s))
		warn(e->cx, s, W_FLOAT64,
		     "%s and %s give float64, and so does what follows; for a float32 model "
		     "write %s in the header of the loop",
		     type_str(e->cx, single->type), type_str(e->cx, wide->type),
		     carried_as(e, c, DT_FLOAT32, 0));
}

static bool looks_at(const struct elab *e, const struct node *n)
{
	return e->frame->fn && !e->frame->library && n->nout && n->out[0]->type.dtype;
}

/* Has the result the common dtype of the inputs? */
static bool promotes(const struct op *op)
{
	return op->cast != CAST_NONE || op == &op_table[OP_Join];
}

/* float32 becomes float64 by integers. Sizes take the dtype of floats; what is here is tensors. */
void warn_integers(struct elab *e, const struct node *n, struct span s)
{
	const struct value *ints = NULL, *single = NULL;

	if (!looks_at(e, n) || n->out[0]->type.dtype != DT_FLOAT64)
		return;
	for (uint32_t i = n->op->cast == CAST_REST; i < n->nin; i++) {
		enum dtype t = n->in[i] ? (enum dtype)n->in[i]->type.dtype : DT_NONE;
		/* int64(2) is meant so, and a bare 2 has the dtype of the result already */
		if (n->in[i] && n->in[i]->data && !n->in[i]->type.rank)
			continue;
		if (t == DT_FLOAT64)
			return;
		single = t == DT_FLOAT32 ? n->in[i] : single;
		ints = is_int(t) && dtype_upcast(t, DT_FLOAT32) == DT_FLOAT64 ? n->in[i] : ints;
	}
	if (ints && ints->def && ints->def->op == &op_dim && e->frame->fn->is_graph)
		return; /* int64(n): so it is meant */
	if (ints && single && takes_float32(e) && !is_shown(e, s))
		warn(e->cx, s, W_INTEGERS,
		     "%s and %s give float64, and so does what follows; for a float32 model "
		     "convert the integers: Cast{float32}(...)",
		     type_str(e->cx, single->type), type_str(e->cx, ints->type));
}

static bool reduces(const struct op *op)
{
	switch (op - op_table) {
	case OP_Sum:
	case OP_Prod:
	case OP_Mean:
	case OP_Max:
	case OP_Min:
	case OP_Argmax:
	case OP_LogSumExp:
	case OP_Softmax:
	case OP_LogSoftmax:
		return true;
	default:
		return false;
	}
}

/* Does the op make axes of length 1 by intent? */
static bool makes_ones(const struct op *op)
{
	switch (op - op_table) {
	case OP_Subtensor:
	case OP_AdvancedSubtensor:
	case OP_ExpandDims:
	case OP_DimShuffle:
	case OP_Reshape:
	case OP_Alloc:
		return true;
	default:
		return false;
	}
}

static void warn_length_one(struct elab *e, const struct node *n, struct span s)
{
	const struct value *x = n->nin ? n->in[0] : NULL;
	int axes[MAX_RANK];

	if (!x || (x->def && makes_ones(x->def->op)) || !reduces(n->op) ||
	    prop_is_none(e->cx, n, "axes"))
		return;
	int count = prop_axes(e->cx, n, "axes", x->type.rank, axes, true);
	for (int i = 0; i < count; i++)
		if (!dim_says_one(e->cx, x->type.dims[axes[i]]))
			return;
	if (count > 0)
		warn(e->cx, s, W_LENGTH_ONE, "%s along axis %d of %s: its length is 1", n->op->name,
		     axes[0], type_str(e->cx, x->type));
}

/* Is b the block `inside`, or around it? */
static bool is_around(const struct block *b, const struct block *inside)
{
	while (inside && inside != b)
		inside = inside->outer;
	return inside != NULL;
}

/* Can both blocks be run, one after the other? Two branches of an if cannot. */
static bool may_both_run(const struct block *a, const struct block *b)
{
	return is_around(a, b) || is_around(b, a);
}

/* Does the loop whose body this is find the generator as it was before the loop? */
static bool is_of_outside(const struct elab *e, const struct value *generator)
{
	const struct block *body = e->loop ? e->loop->block : NULL;

	return body && generator->id < body->params.at[0]->id; /* ids grow */
}

/* Draws that take one generator do not give independent numbers: `_, x = normal_rv(r, ...)` and
 * `_, y = normal_rv(r, ...)`, or the first one in each step of a loop that does not carry r. */
static void warn_drawn_twice(struct elab *e, const struct node *n, struct span s)
{
	const struct value *r = n->op->draw && n->nin ? n->in[0] : NULL;
	const struct drawn *other = NULL;

	if (!r)
		return;
	for (uint32_t i = 0; i < e->drawn.len && !other; i++)
		if (e->drawn.at[i].generator == r && may_both_run(e->drawn.at[i].block, e->block))
			other = &e->drawn.at[i];
	bool again = is_of_outside(e, r);
	if (!other)
		*vec_push(e->cx->arena, &e->drawn) = (struct drawn){r, e->block, s};
	if ((!other && !again) || is_shown(e, s))
		return;
	struct diag *w =
		warn(e->cx, s, W_DRAWN_TWICE,
		     again ? "each step of the loop takes the same generator, so the "
			     "numbers repeat: carry it, (s: rng = r), and 'next s' the one "
			     "that the draw gives"
			   : "another draw takes this generator too, so its numbers are "
			     "not independent: draw from the one that it gives");
	if (!again)
		note(e->cx, w, other->span, "the other draw");
}

void warn_mistakes(struct elab *e, const struct node *n, struct span s)
{
	if (!looks_at(e, n))
		return;
	warn_drawn_twice(e, n, s);
	if (promotes(n->op))
		warn_integers(e, n, s);
	warn_decimal(e, n, s);
	if (!e->frame->fn->is_graph)
		return;
	warn_float64(e, n, s);
	warn_length_one(e, n, s);
}

/* ---- where dtypes come from ---- */

/* The place of v among the values that would be float64 if sizes were int64; NULL: it is none of
 * them. Ids grow in the order of the list. */
static struct narrower *narrower_of(const struct elab *e, const struct value *v)
{
	uint32_t from = 0, to = e->narrower.len;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;
		if (e->narrower.at[middle].value->id < v->id)
			from = middle + 1;
		else
			to = middle;
	}
	bool is = from < e->narrower.len && e->narrower.at[from].value == v;
	return is ? &e->narrower.at[from] : NULL;
}

const char *size_text(struct elab *e, const struct cv *v)
{
	const struct node *n = v->kind == CV_VALUE ? v->u.v->def : NULL;

	while (n && n->op != &op_dim) {
		const struct node *next = NULL;
		for (uint32_t i = 0; i < n->nin && !next; i++)
			next = n->in[i] ? n->in[i]->def : NULL;
		n = next;
	}
	if (v->kind == CV_DIM)
		return dim_str(e->cx, v->u.d);
	const struct known *k = n && n->op == &op_dim ? known_of(e->cx, n->out[0]) : NULL;
	return k && k->n == 1 ? dim_str(e->cx, k->at[0]) : "n";
}

void note_narrower(struct elab *e, const struct op *op, struct value **in, uint32_t nin,
		   const char *size, const struct value *r)
{
	enum dtype t = (enum dtype)r->type.dtype;

	if ((!size && !e->narrower.len) || e->frame->library || is_call(r->def, OP_Cast) ||
	    (t != DT_FLOAT32 && t != DT_FLOAT16))
		return;
	for (uint32_t i = 0; i < nin && !size && op != &op_table[OP_Second]; i++) {
		const struct narrower *b =
			in[i] && in[i]->type.dtype == t ? narrower_of(e, in[i]) : NULL;
		size = b ? b->size : NULL;
	}
	if (size)
		*vec_push(e->cx->arena, &e->narrower) = (struct narrower){r, size};
}

void type_is_written(struct elab *e, const struct value *v)
{
	struct narrower *b = narrower_of(e, v);

	if (b)
		b->size = NULL;
}

void warn_old_dtype(struct elab *e, const struct param *r, const struct value *v)
{
	const char *quote = is_plain_name(r->name->s) ? "" : "`";
	const struct narrower *b = r->type.len ? NULL : narrower_of(e, v);

	if (b && b->size)
		warn(e->cx, v->span, W_OLD_DTYPE,
		     "'%s' is %s, and was float64 when sizes beside floats were int64: write its "
		     "type, -> (%s%s%s: %s), or int64(%s) for the size %s",
		     r->name->s, type_str(e->cx, v->type), quote, r->name->s, quote,
		     dtypes[v->type.dtype].name, b->size, b->size);
}

bool report_made_dtype(struct elab *e, const struct param *r, const struct value *v)
{
	enum dtype want = written_dtype(e, r->type);
	const struct value *first;

	if (!want || want == v->type.dtype || !v->def || e->frame->library)
		return false;
	first = first_of_dtype(v, UINT32_MAX);
	struct diag *d =
		elab_error(e, v->span, E_ANNOTATION, "result '%s': expected %s but this is %s",
			   r->name->s, dtypes[want].name, type_str(e->cx, v->type));
	if (first != v)
		note(e->cx, d, first->span, "%s comes in here%s%s", dtypes[v->type.dtype].name,
		     first->def ? ": " : "", first->def ? call_label(e->cx, first->def) : "");
	else if (v->def->nin)
		note(e->cx, d, (struct span){0, 0}, "%s gives it", call_label(e->cx, v->def));
	note(e->cx, d, r->span, "%s is written here", dtypes[want].name);
	return true;
}
