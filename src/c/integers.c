/*
 * integers.c: integers that say lengths. In: values whose elements are lengths, or give them. Out:
 * the elements as C, and variables for those that an equation waits for.
 */
#include "c/internal.h"

bool known_integers(struct printer *p, const struct value *v)
{
	const struct known *k = known_of(p->cx, (struct value *)v);

	if (!k)
		return false;
	for (uint32_t i = 0; i < k->n; i++)
		if (k->at[i] == DIM_NONE || !dim_text(p, k->at[i], false, NULL))
			return false;
	return true;
}

/* An element that is there is read, even if an equation says what it must be: the check of that
 * equation would otherwise compare a length with itself. */
const char *element(struct printer *p, const struct value *v, int64_t i)
{
	dim d = known_broadcast(p->cx, (struct value *)v, (uint32_t)i);
	const char *ix[1] = {number_text(p, i)}, *s;
	bool there = v->data || held(p, v)->where != UNSEEN;

	if (d != DIM_NONE && ((s = dim_text(p, d, true, NULL)) != NULL ||
			      (!there && (s = dim_text(p, d, false, NULL)) != NULL)))
		return s;
	if (!there)
		cannot(p, p->at, "needs integers that only the run knows before they are computed");
	return at(p, v, ix);
}

/* Is d an element of v that has no text yet? */
static bool is_new_element_of(struct printer *p, dim d, const struct value *v)
{
	struct dim_view w = dim_view_as_made(p->cx, d);

	return w.form == DIM_ATOM && w.source && w.kind == SOURCE_VALUE && resolve(w.source) == v &&
	       !compared_text(p, d);
}

/* Gives names to the elements of v that d is made of; false: there are none */
static bool keep_elements(struct printer *p, dim d, const struct value *v, int depth)
{
	struct dim_view w = dim_view_as_made(p->cx, d);
	bool kept = false;

	if (is_new_element_of(p, d, v)) {
		const char *ix[1] = {textf(p, "%u", w.at)}, *name = fresh(p, "n");
		line(p, "const int64_t %s = ptgc_near_length(%s);", name, at(p, v, ix));
		*vec_push(p->cx->arena, &p->kept_integers) = (struct kept_integer){d, name};
		p->learned = true;
		return true;
	}
	for (uint32_t i = 0; w.form != DIM_ATOM && i < w.nterms && depth < MAX_DEPTH_OF_DIM; i++)
		kept |= keep_elements(p, w.term[i], v, depth + 1);
	return kept;
}

/* An integer that n gives and that an equation waits for is a variable from here on: what it is
 * computed from may be gone when the other side of the equation is known. It is for that alone, as
 * it is cut to what a length can be. */
void keep_integers(struct printer *p, const struct node *n)
{
	const struct value *v = n->out[0];
	uint32_t mark = p->once.len;
	bool kept = false;

	if (v->type.rank > 1 || dtypes[v->type.dtype].kind != KIND_INT || v->data ||
	    held(p, v)->where == UNSEEN)
		return;
	for (uint32_t i = 0; i < 2 * p->open_checks.len; i++) {
		const struct check *c = p->open_checks.at[i / 2];
		kept |= keep_elements(p, i % 2 ? c->b : c->a, v, 0);
	}
	p->once.len = mark;
	if (kept)
		check_now(p);
}
