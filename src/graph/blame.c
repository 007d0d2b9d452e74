/*
 * blame.c: a wrong type of a value leads to an error at each op that reads the value. In: an error
 * and the values that its op reads. Out: one error for each such value. The errors of other readers
 * become notes of it, with their spans and texts: they may be mistakes of their own.
 */
#include <string.h>

#include "graph/graph.h"

#define MAX_READERS 5 /* notes of an error */

struct blamed {
	const struct value *value;
	struct value **in; /* all inputs of the op with the error */
	uint32_t nin;
	const void *op;
	struct diag *diag;
	uint32_t readers; /* other readers, which are notes of diag */
};
struct blames {
	vec(struct blamed) list;
};

static bool has_dim(struct ctx *cx, struct type t, dim d)
{
	for (uint32_t i = 0; i < t.rank; i++)
		if (dim_eq(cx, t.dims[i], d))
			return true;
	return false;
}

/* Is the error about types? Then the input may be wrong, and not the op. */
static bool is_about_types(enum diag_code code)
{
	return code == E_DTYPE || code == E_SHAPE || code == E_RANK || code == E_RANGE ||
	       code == E_ANNOTATION;
}

/* Has an input other than v an axis of length d? */
static bool other_has_dim(struct ctx *cx, struct value **in, uint32_t nin, const struct value *v,
			  dim d)
{
	for (uint32_t i = 0; i < nin; i++)
		if (in[i] && in[i] != v && has_dim(cx, in[i]->type, d))
			return true;
	return false;
}

/* Have the other inputs of both ops an axis of one length that no axis of v has? Then v may have a
 * wrong length: v of float64[3] in v + a and v + b, with a and b of float64[4]. */
static bool share_length(struct ctx *cx, const struct blamed *b, struct value **in, uint32_t nin)
{
	const struct value *v = b->value;

	for (uint32_t i = 0; i < nin; i++)
		for (uint32_t j = 0; in[i] && in[i] != v && j < in[i]->type.rank; j++) {
			dim d = in[i]->type.dims[j];
			if (!has_dim(cx, v->type, d) && other_has_dim(cx, b->in, b->nin, v, d))
				return true;
		}
	return false;
}

/* A message without the name of its op: "Sum: axis 2 is out of range" -> ": axis 2 is out of range"
 */
static const char *after_op_name(const char *text)
{
	const char *colon = strstr(text, ": ");

	return colon ? colon : text;
}

/* May both errors vanish with one change of the type of b's value? */
static bool have_common_fix(struct ctx *cx, const struct blamed *b, const struct diag *d,
			    struct value **in, uint32_t nin)
{
	if (d->code == E_RANGE)
		return !strcmp(after_op_name(b->diag->text), after_op_name(d->text));
	return d->code != E_SHAPE || share_length(cx, b, in, nin);
}

/* The earlier error that d has the same cause as; NULL: there is none. Both are about the type of
 * one value: both texts name the type, or they are the same. */
static struct blamed *same_cause(struct ctx *cx, const struct diag *d, struct value **in,
				 uint32_t nin, const void *op)
{
	for (uint32_t k = 0; k < cx->blames->list.len; k++) {
		struct blamed *b = &cx->blames->list.at[k];
		if (b->diag->code != d->code || (b->value->def && b->op != op))
			continue;
		for (uint32_t i = 0; i < nin; i++) {
			if (in[i] != b->value)
				continue;
			const char *type = type_str(cx, b->value->type);
			if ((b->op == op && !strcmp(b->diag->text, d->text)) ||
			    (strstr(b->diag->text, type) && strstr(d->text, type) &&
			     have_common_fix(cx, b, d, in, nin)))
				return b;
		}
	}
	return NULL;
}

void blame(struct ctx *cx, struct diag **tail, struct value **in, uint32_t nin, const void *op)
{
	struct diag *d = *tail;

	if (d->next || d->severity != PTGC_ERROR || !is_about_types(d->code))
		return;
	if (!cx->blames)
		cx->blames = new (cx->arena, struct blames);
	struct blamed *b = same_cause(cx, d, in, nin, op);
	if (!b) {
		struct value **kept = new_array(cx->arena, struct value *, nin);
		memcpy(kept, in, nin * sizeof(struct value *));
		for (uint32_t i = 0; i < nin; i++)
			if (in[i] && !in[i]->data)
				*vec_push(cx->arena, &cx->blames->list) =
					(struct blamed){in[i], kept, nin, op, d, 0};
		return;
	}
	*tail = NULL; /* d becomes a note of b */
	cx->diag_tail = tail;
	cx->errors--;
	if (!b->readers)
		note(cx, b->diag, b->value->span, "this is %s; its other uses do not fit either",
		     type_str(cx, b->value->type));
	if (b->readers++ < MAX_READERS)
		note(cx, b->diag, d->span, "%s", d->text);
}
