/*
 * blame.c: a mistake in the type of a value shows where the value is read, each time. In: the
 * messages about what read it. Out: one message; the others are its notes, with their places and
 * words, so none is lost if they were mistakes of their own.
 */
#include <string.h>

#include "graph/graph.h"

#define MAX_READERS 5 /* that are noted */

struct blamed {
	const struct value *value;
	struct value **in; /* what the op read beside it */
	uint32_t nin;
	const void *op;
	struct diag *diag;
	uint32_t readers; /* noted so far */
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

/* Codes of messages about types: what is wrong may be what is read, not what reads it. */
static bool of_types(enum diag_code code)
{
	return code == E_DTYPE || code == E_SHAPE || code == E_RANK || code == E_RANGE ||
	       code == E_ANNOTATION;
}

/* Does a value that is not v have length d? */
static bool beside(struct ctx *cx, struct value **in, uint32_t nin, const struct value *v, dim d)
{
	for (uint32_t i = 0; i < nin; i++)
		if (in[i] && in[i] != v && has_dim(cx, in[i]->type, d))
			return true;
	return false;
}

/* Would another length of v please both? What both read beside it has one that v has not. */
static bool one_length(struct ctx *cx, const struct blamed *b, struct value **in, uint32_t nin)
{
	const struct value *v = b->value;

	for (uint32_t i = 0; i < nin; i++)
		for (uint32_t j = 0; in[i] && in[i] != v && j < in[i]->type.rank; j++) {
			dim d = in[i]->type.dims[j];
			if (!has_dim(cx, v->type, d) && beside(cx, b->in, b->nin, v, d))
				return true;
		}
	return false;
}

/* "Sum: axis 2 is out of range for float64[n, m]": what is said of the axis or the index */
static const char *said(const char *text)
{
	const char *colon = strstr(text, ": ");

	return colon ? colon : text;
}

/* Can one other type of b's value please both of its readers? */
static bool one_change(struct ctx *cx, const struct blamed *b, const struct diag *d,
		       struct value **in, uint32_t nin)
{
	if (d->code == E_RANGE)
		return !strcmp(said(b->diag->text), said(d->text));
	return d->code != E_SHAPE || one_length(cx, b, in, nin);
}

/* The type of one value was refused twice: where a parameter or a result is what both messages
 * name, or both say the same. */
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
			     one_change(cx, b, d, in, nin)))
				return b;
		}
	}
	return NULL;
}

void blame(struct ctx *cx, struct diag **tail, struct value **in, uint32_t nin, const void *op)
{
	struct diag *d = *tail;

	if (d->next || d->severity != PTGC_ERROR || !of_types(d->code))
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
	*tail = NULL; /* it is a note from now on */
	cx->diag_tail = tail;
	cx->errors--;
	if (!b->readers)
		note(cx, b->diag, b->value->span, "this is %s; its other uses do not fit either",
		     type_str(cx, b->value->type));
	if (b->readers++ < MAX_READERS)
		note(cx, b->diag, d->span, "%s", d->text);
}
