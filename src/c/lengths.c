/*
 * lengths.c: lengths of axes as C. In: dims, whose atoms are bound to texts where the walk meets
 * them: sizes of inputs before all else, sizes that the run finds where their node is printed. Out:
 * expressions, and checks of the equations that types rely on.
 */
#include <string.h>

#include "c/internal.h"

#define MAX_TERMS 64 /* of a form; one that has more has no text */

/* The text that d is bound to; NULL: none. *indent: the indent of the innermost line that binds
 * what a text is made of; 0: it is known when run() starts. */
static const char *bound_text(struct printer *p, dim d, uint32_t *indent)
{
	if (d >= p->length_texts.len || !p->length_texts.at[d].text)
		return NULL;
	const struct length_text *b = &p->length_texts.at[d];
	*indent = b->indent > *indent ? b->indent : *indent;
	return b->text;
}

/* The same length of the node that a node of the text was lowered to */
static const char *lowered_text(struct printer *p, const struct dim_view *atom, uint32_t *indent)
{
	const struct value *v = resolve(atom->source);

	if (!v || atom->kind != SOURCE_SIZE || atom->at >= v->type.rank)
		return NULL;
	dim d = v->type.dims[atom->at];
	return dim_view_as_made(p->cx, d).form == DIM_ATOM ? bound_text(p, d, indent) : NULL;
}

enum reading {
	AS_FOUND,   /* what the equations say of it */
	AS_MADE,    /* before any equation */
	TO_COMPARE, /* the same, and integers, given or computed, may be what it is made of */
};

/* An element of integers, of an input or kept by keep_integers(), cut to what a length can be;
 * NULL: the atom is none */
static const char *integer_text(struct printer *p, dim d, const struct dim_view *atom)
{
	const struct value *v = resolve(atom->source);

	for (uint32_t i = 0; i < p->kept_integers.len; i++)
		if (p->kept_integers.at[i].d == d)
			return p->kept_integers.at[i].name;
	if (!v || atom->kind != SOURCE_VALUE || v->def || held(p, v)->home != p->g->block ||
	    held(p, v)->where == UNSEEN || dtypes[v->type.dtype].kind != KIND_INT)
		return NULL;
	const char *name = held(p, v)->name;
	return textf(p, "ptgc_near_length(%s)",
		     v->type.rank ? textf(p, "%s[%u]", name, atom->at) : name);
}

/* How term i of a form is read. An integer is cut to what a length can be, so that sums of them do
 * not overflow. A number that was cut has another remainder: there, such an integer has no text. */
static enum reading reading_of_term(const struct dim_view *v, enum reading how, uint32_t i)
{
	bool far = v->form == DIM_SUM && (v->coef[i] > 1000 || v->coef[i] < -1000);

	return how == TO_COMPARE && (far || v->form == DIM_MOD) ? AS_MADE : how;
}

static const char *form_text(struct printer *p, dim d, enum reading how, uint32_t *indent,
			     int depth);

static bool term_texts(struct printer *p, const struct dim_view *v, enum reading how,
		       uint32_t *indent, int depth, const char **of)
{
	for (uint32_t i = 0; i < v->nterms; i++)
		if (!(of[i] = form_text(p, v->term[i], reading_of_term(v, how, i), indent,
					depth + 1)))
			return false;
	return true;
}

/* A product of lengths; or, where it is compared and is no such one, of integers, cut again */
static const char *product_text(struct printer *p, const struct dim_view *v, enum reading how,
				uint32_t *indent, int depth)
{
	const char *of[MAX_TERMS] = {NULL}, *all = NULL;

	if (term_texts(p, v, how == TO_COMPARE ? AS_MADE : how, indent, depth, of))
		return product(p, of, v->nterms);
	if (how != TO_COMPARE || !term_texts(p, v, how, indent, depth, of))
		return NULL;
	for (uint32_t i = 0; i < v->nterms; i++)
		all = all ? textf(p, "ptgc_near_length(ptgc_near_times(%s, %s))", all, of[i])
			  : of[i];
	return all;
}

static const char *form_text(struct printer *p, dim d, enum reading how, uint32_t *indent,
			     int depth)
{
	struct dim_view v = how == AS_FOUND ? dim_view(p->cx, d) : dim_view_as_made(p->cx, d);
	const char *of[MAX_TERMS] = {NULL}, *all;
	static const char *const functions[] = {[DIM_MAX] = "ptgc_max_i64",
						[DIM_MIN] = "ptgc_min_i64",
						[DIM_FLOORDIV] = "ptgc_floor_div_i64",
						[DIM_MOD] = "ptgc_mod_i64"};

	if (v.form == DIM_CONST)
		return number_text(p, v.constant);
	if (v.form == DIM_ATOM) {
		const char *s = how == AS_FOUND ? bound_text(p, dim_find(p->cx, d), indent) : NULL;
		s = s ? s : bound_text(p, d, indent);
		s = s ? s : lowered_text(p, &v, indent);
		return s || how != TO_COMPARE ? s : integer_text(p, d, &v);
	}
	if (how == AS_FOUND && (all = bound_text(p, dim_find(p->cx, d), indent)) != NULL)
		return all;
	if (depth > MAX_DEPTH_OF_DIM || v.nterms > countof(of))
		return NULL;
	if (v.form == DIM_PRODUCT)
		return product_text(p, &v, how, indent, depth);
	if (!term_texts(p, &v, how, indent, depth, of))
		return NULL;
	if (v.form == DIM_SUM) {
		all = NULL;
		for (uint32_t i = 0; i < v.nterms; i++) {
			if (all && v.coef[i] == -1)
				all = textf(p, "%s - %s", all, in_parens(p, of[i]));
			else if (all)
				all = plus(p, all, times(p, number_text(p, v.coef[i]), of[i]));
			else
				all = times(p, number_text(p, v.coef[i]), of[i]);
		}
		return plus(p, all ? all : "0", number_text(p, v.constant));
	}
	all = of[0];
	for (uint32_t i = 1; i < v.nterms; i++)
		all = textf(p, "%s(%s, %s)", functions[v.form], all, of[i]);
	return all;
}

/* What an equation says of a length may be read only later, as another input has the size in it:
 * until then the length is read as it is written. */
const char *dim_text(struct printer *p, dim d, bool as_made, bool *start)
{
	uint32_t indent = 0;
	const char *s = as_made ? NULL : form_text(p, d, AS_FOUND, &indent, 0);

	if (!s) {
		indent = 0;
		s = form_text(p, d, AS_MADE, &indent, 0);
	}
	if (start)
		*start &= !indent;
	return s;
}

const char *compared_text(struct printer *p, dim d)
{
	return form_text(p, d, TO_COMPARE, &(uint32_t){0}, 0);
}

static void bind(struct printer *p, dim d, const char *text, bool start)
{
	while (p->length_texts.len <= d)
		*vec_push(p->cx->arena, &p->length_texts) = (struct length_text){NULL, 0};
	if (p->length_texts.at[d].text)
		return;
	p->length_texts.at[d] = (struct length_text){text, start ? 0 : p->indent};
	p->learned = true;
}

void bind_length(struct printer *p, dim d, const char *text, bool start)
{
	dim found = dim_find(p->cx, d);

	if (dim_view_as_made(p->cx, d).form == DIM_ATOM)
		bind(p, d, text, start);
	if (dim_view(p->cx, found).form == DIM_ATOM)
		bind(p, found, text, start);
}

void unbind_length(struct printer *p, const char *text)
{
	for (uint32_t i = 0; i < p->length_texts.len; i++)
		if (p->length_texts.at[i].text == text)
			p->length_texts.at[i].text = NULL;
}

/* A length that takes several operators has a name from here on to the end of the block, if a part
 * of it is new in this block; or everywhere, if it is known when run() starts. Without that it is
 * computed wherever it is read: in each header of a loop. */
static const char *with_name(struct printer *p, dim d, const char *text)
{
	dim found = dim_find(p->cx, d);
	uint32_t indent = 0;

	if (!strchr(text, '(') || !p->block_indent)
		return text;
	const char *now = form_text(p, found, AS_FOUND, &indent, 0);
	if (!now || strcmp(now, text) ||
	    (indent && (indent != p->indent || indent != p->block_indent)))
		return text;
	const char *name = fresh(p, "n");
	if (indent)
		line(p, "const int64_t %s = %s;", name, text);
	else
		*vec_push(p->cx->arena, &p->known) = (struct named_length){name, text};
	bind(p, found, name, !indent);
	return name;
}

bool known_lengths(struct printer *p, const struct value *v)
{
	for (uint32_t i = 0; i < v->type.rank; i++)
		if (!dim_text(p, v->type.dims[i], false, NULL))
			return false;
	return true;
}

/* Is d an atom that nothing has bound as it is written? Then what the run computes is its text,
 * even if an equation says what it must be: a check compares the two. */
static bool is_new(struct printer *p, dim d)
{
	return dim_view_as_made(p->cx, d).form == DIM_ATOM && !bound_text(p, d, &(uint32_t){0});
}

static void fail_if_no_length(struct printer *p, const char *length)
{
	line(p, "if (%s < 0 || %s > PTGC_MOST)", in_parens(p, length), in_parens(p, length));
	line(p, "\treturn %u;",
	     message(p, p->at ? p->at->span : (struct span){0, 0},
		     "a length is negative, or beyond memory"));
}

/* A length that an integer of the run says may be negative: each is looked at once. */
static void check_length(struct printer *p, dim d)
{
	const char *text;

	if (!dim_may_be_negative(p->cx, d))
		return;
	for (uint32_t i = 0; i < p->checked_lengths.len; i++)
		if (p->checked_lengths.at[i] == d)
			return;
	if (!(text = dim_text(p, d, true, NULL)))
		return;
	*vec_push(p->cx->arena, &p->checked_lengths) = d;
	fail_if_no_length(p, text);
}

/* May a length of the node at hand be negative, or one that no array has? Yes where integers are
 * read one by one, which may be lengths, but for Slice, which makes none longer; and for sums. */
static bool may_be_no_length(struct printer *p)
{
	const struct node *n = p->at;

	return !n || n->onnx->id == ONNX_Concat ||
	       (strchr(op_of(p, n)->reads, 'k') && n->onnx->id != ONNX_Slice);
}

/* Is `text` a length of what the node at hand reads, as a name or a number? It was checked there.
 */
static bool is_input_length(struct printer *p, const char *text)
{
	for (uint32_t i = 0; p->at && i < p->at->nin; i++) {
		const struct value *x = p->at->in[i];
		const char *const *dims = x && !x->data ? held(p, x)->dims : NULL;
		for (uint32_t k = 0; dims && k < x->type.rank; k++) /* none: nothing reads x */
			if (dims[k] == text)
				return true;
	}
	return false;
}

/* The name of a new length of v. What has a name keeps it: a variable that counted, or that a loop
 * has set, does not change while the length is in use. */
static const char *name_length(struct printer *p, const struct value *v, uint32_t axis,
			       const char *text)
{
	bool checked = may_be_no_length(p);

	if (!text[strspn(text, NAME_CHARS)] && (!checked || is_input_length(p, text)))
		return text;
	const char *name = fresh(p, v->name ? textf(p, "%s_%u", v->name->s, axis) : "n");
	line(p, "const int64_t %s = %s;", name, text);
	if (checked)
		fail_if_no_length(p, name);
	return name;
}

void set_lengths(struct printer *p, const struct value *v, const char *const *computed)
{
	struct held *h = held(p, v);
	int64_t c;

	h->dims = new_array(p->cx->arena, const char *, v->type.rank + 1u);
	h->start = true;
	for (uint32_t i = 0; i < v->type.rank; i++) {
		dim d = v->type.dims[i];
		bool start = true, constant = dim_is_const(p->cx, d, &c);
		const char *s = constant ? number_text(p, c) : dim_text(p, d, false, &start);
		if (computed && computed[i] && constant && is_new(p, d))
			bind_length(p, d, computed[i], false); /* a check compares it */
		else if (computed && computed[i] && s && !strcmp(computed[i], s) && is_new(p, d)) {
			/* what is computed is what an equation says already: no check, no name */
			check_length(p, dim_find(p->cx, d));
			bind_length(p, d, s, start);
		} else if (computed && computed[i] && !constant && (!s || is_new(p, d))) {
			const char *name = name_length(p, v, i, computed[i]);
			bind_length(p, d, name, false);
			s = s ? s : name;
			start = false;
		} else if (!constant)
			check_length(p, d);
		if (!s)
			cannot(p, p->at, "cannot say the length %s of axis %u of its result yet",
			       dim_str(p->cx, d), i);
		h->dims[i] = constant ? s : with_name(p, d, s);
		h->start &= start;
	}
	check_now(p);
}

const char *count_of(struct printer *p, const struct value *v)
{
	return product(p, held(p, v)->dims, v->type.rank);
}

const char *length(struct printer *p, const struct value *v, uint32_t axis)
{
	const char *s = dim_text(p, v->type.dims[axis], false, NULL);

	return s ? s : held(p, v)->dims[axis];
}

/* --- checks --- */

uint32_t failure(struct printer *p, const struct node *n, const char *what)
{
	return message(p, n->span, n->label ? n->label : textf(p, "%s: %s", n->onnx->name, what));
}

void must_equal(struct printer *p, const char *a, const char *b, const char *what)
{
	int64_t x, y;

	if (!strcmp(a, b))
		return;
	if (is_number_text(a, &x) && is_number_text(b, &y))
		cannot(p, p->at, "has lengths that do not fit: %s and %s", a, b);
	uint32_t number = p->at ? failure(p, p->at, what) : message(p, (struct span){0, 0}, what);
	line(p, "if (%s != %s)", in_parens(p, a), in_parens(p, b));
	line(p, "\treturn %u;", number);
}

/* The run ends where a condition holds: with a message that says what is wrong with the node */
void fail_if(struct printer *p, const char *what, const char *condition, ...)
{
	va_list args;

	va_start(args, condition);
	line(p, "if (%s)", arena_vprintf(p->cx->arena, condition, args));
	va_end(args);
	line(p, "\treturn %u;", failure(p, p->at, what));
}

void check_now(struct printer *p)
{
	uint32_t kept = 0;

	if (!p->learned)
		return;
	p->learned = false;
	for (uint32_t i = 0; i < p->open_checks.len; i++) {
		struct check *c = p->open_checks.at[i];
		const char *a = compared_text(p, c->a), *b = compared_text(p, c->b);
		if (!a || !b) {
			p->open_checks.at[kept++] = c;
			continue;
		}
		if (!strcmp(a, b))
			continue;
		line(p, "if (%s != %s)", in_parens(p, a), in_parens(p, b));
		line(p, "\treturn %u;", message(p, c->span, c->message));
	}
	p->open_checks.len = kept;
}
