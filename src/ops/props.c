/*
 * props.c: binds properties, {axis=0, keepdims=True}. In: an op and the properties of a call, as
 * names and compile-time values. Out: their values in the order of the op's signature, checked,
 * normalised (see bind_props in ops.h), with defaults filled in; NULL: an error was reported.
 */
#include <string.h>

#include "syntax/syntax.h"
#include "ops/ops.h"
#include "ops/rules.h"

/* Other spellings of properties: those of dprint, or of the arguments of PyTensor's functions. */
static const struct alias {
	const char *name, *other;
} aliases[] = {
	{"axes", "axis"},    {"axis", "axes"},        {"acc_dtype", "acc"}, {"order", "new_order"},
	{"n", "len_splits"}, {"axis1", "self.axis1"}, {"core_op", "core"},
};

struct binder {
	struct ctx *cx;
	const struct op *op;
	const struct op_sig *sig;
	struct cv *out;
	struct span *where; /* the span of each property; end 0: not given yet */
	struct span call;
	uint32_t next; /* the property of the next value without a name */
};

static const char *kind_name(const struct cv *v)
{
	switch ((enum cv_kind)v->kind) {
	case CV_POISON:
		return "an error";
	case CV_VALUE:
	case CV_DIM:
		return "a value that is only known at run time";
	case CV_INT:
		return "an integer";
	case CV_FLOAT:
	case CV_COMPLEX:
		return "a number";
	case CV_BOOL:
		return "a bool";
	case CV_STR:
	case CV_BYTES:
		return "a string";
	case CV_NONE:
		return "None";
	case CV_LIST:
	case CV_DATA:
		return "a list";
	case CV_TUPLE:
		return "a tuple";
	case CV_DTYPE:
		return "a dtype";
	case CV_SYM:
		return "a name";
	case CV_OP:
		return "an op";
	case CV_SLICE:
	case CV_ELLIPSIS:
		return "a slice";
	case CV_ARROW:
		return "an arrow";
	case CV_MULTI:
		return "several results";
	}
	return "?";
}

static const char *type_name(const struct binder *b, const struct prop_spec *p)
{
	switch (p->type) {
	case P_INT:
		return "an integer";
	case P_BOOL:
		return "True or False";
	case P_FLOAT:
		return "a number";
	case P_STR:
		return "a string";
	case P_DTYPE:
		return "a dtype";
	case P_AXES:
		return "an axis or a list of axes";
	case P_INTS:
		return "an integer or a list of integers";
	case P_ENUM:
		return arena_printf(b->cx->arena, "one of %s", p->choices);
	case P_OP:
		return "an op or a fn";
	case P_SLICES:
		return "slices such as start:stop, i";
	case P_ANY:
		break;
	}
	return "a value or a short list";
}

/* --- readers: bring a value to its normal form; false: it is of another kind --- */

static bool read_prop_int(struct ctx *cx, struct cv *v)
{
	int64_t k;
	if (v->kind == CV_DIM && dim_is_const(cx, v->u.d, &k)) {
		v->kind = CV_INT;
		v->neg = k < 0;
		v->u.i = k < 0 ? 0 - (uint64_t)k : (uint64_t)k;
	}
	return v->kind == CV_INT && v->u.i <= (uint64_t)INT64_MAX + v->neg;
}

struct cv cv_int(int64_t v, struct span s)
{
	uint64_t m = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

	return (struct cv){.kind = CV_INT, .neg = v < 0, .span = s, .u.i = m};
}

struct cv cv_ints(struct arena *a, const int64_t *v, uint32_t n, struct span s)
{
	struct cv r = {.kind = CV_LIST, .n = n, .span = s};

	r.u.items = new_array(a, struct cv, n + 1);
	for (uint32_t i = 0; i < n; i++)
		r.u.items[i] = cv_int(v[i], s);
	return r;
}

struct cv cv_full_slice(struct arena *a, struct span s)
{
	struct cv v = {.kind = CV_SLICE, .n = 3, .span = s};

	v.u.items = new_array(a, struct cv, 3);
	for (int i = 0; i < 3; i++)
		v.u.items[i].kind = CV_NONE;
	return v;
}

struct cv cv_of_datum(const struct adatum *a, struct span s)
{
	struct cv v = {.span = s};
	switch (a->kind) {
	case A_INT:
		v.kind = CV_INT;
		v.u.i = a->u.integer;
		v.neg = (a->flags & AF_NEGATIVE) && a->u.integer;
		break;
	case A_TRUE:
	case A_FALSE:
		v.kind = CV_BOOL;
		v.u.b = a->kind == A_TRUE;
		break;
	default:
		v.kind = CV_FLOAT;
		v.u.f = a->u.real;
	}
	return v;
}

/* Tuples and folded lists of one level become lists. */
static void read_list(struct ctx *cx, struct cv *v)
{
	if (v->kind == CV_TUPLE)
		v->kind = CV_LIST;
	if (v->kind != CV_DATA || v->u.data->rank != 1)
		return;
	const struct adata *d = v->u.data;
	struct cv *items = new_array(cx->arena, struct cv, d->count);
	for (uint32_t i = 0; i < d->count; i++)
		items[i] = cv_of_datum(&d->at[i], v->span);
	*v = (struct cv){.kind = CV_LIST, .n = d->count, .span = v->span, .u.items = items};
}

static bool read_ints(struct ctx *cx, struct cv *v)
{
	if (read_prop_int(cx, v)) {
		struct cv *one = new (cx->arena, struct cv);
		*one = *v;
		*v = (struct cv){.kind = CV_LIST, .n = 1, .span = v->span, .u.items = one};
		return true;
	}
	read_list(cx, v);
	if (v->kind != CV_LIST)
		return false;
	struct cv *items = new_array(cx->arena, struct cv, v->n);
	for (uint32_t i = 0; i < v->n; i++) {
		items[i] = v->u.items[i];
		if (!read_prop_int(cx, &items[i]))
			return false;
	}
	v->u.items = items;
	return true;
}

static bool read_float(struct ctx *cx, struct cv *v)
{
	if (read_prop_int(cx, v)) {
		double m = (double)v->u.i;
		*v = (struct cv){.kind = CV_FLOAT, .span = v->span, .u.f = v->neg ? -m : m};
	}
	return v->kind == CV_FLOAT;
}

static bool set_str(struct ctx *cx, struct cv *v, const char *s, uint32_t len)
{
	struct astr *a = new (cx->arena, struct astr);
	*a = (struct astr){.s = s, .len = len};
	v->kind = CV_STR;
	v->u.str = a;
	return true;
}

/* A string of the source ends at its quote; the copy ends with 0. */
static bool read_str(struct ctx *cx, struct cv *v)
{
	if (v->kind == CV_SYM)
		return set_str(cx, v, v->u.sym->s, v->u.sym->len);
	if (v->kind != CV_STR)
		return false;
	return set_str(cx, v, arena_strdup(cx->arena, v->u.str->s, v->u.str->len), v->u.str->len);
}

static bool read_choice(struct ctx *cx, struct cv *v, const char *choices)
{
	if (!read_str(cx, v))
		return false;
	for (const char *s = choices; *s;) {
		size_t len = strcspn(s, "|");
		if (len == v->u.str->len && !memcmp(s, v->u.str->s, len))
			return true;
		s += len + (s[len] == '|');
	}
	return false;
}

static bool read_prop_dtype(struct ctx *cx, struct cv *v)
{
	if (v->kind == CV_DTYPE)
		return true;
	struct cv name = *v;
	if (!read_str(cx, &name))
		return false;
	const char *text = name.u.str->s;
	enum dtype t = strcmp(text, "floatX") ? dtype_named(text) : cx->floatx;
	v->kind = CV_DTYPE;
	v->u.dtype = t;
	return t != DT_NONE;
}

bool read_opref(struct ctx *cx, struct cv *v)
{
	if (v->kind == CV_OP)
		return true;
	if (v->kind != CV_SYM || (!v->u.sym->op && !v->fn))
		return false;
	struct opref *ref = new (cx->arena, struct opref);
	ref->name = v->u.sym;
	ref->fn = v->fn;
	ref->op = ref->fn ? NULL : v->u.sym->op;
	if (ref->op) {
		ref->props = bind_props(cx, ref->op, v->span, NULL, 0);
		if (!ref->props) {
			v->kind = CV_POISON;
			return true;
		}
	}
	v->kind = CV_OP;
	v->u.op = ref;
	return true;
}

/* One number of an index list: an integer is the number of an index input, a name stands for the
 * next index input. */
static bool read_input_number(struct ctx *cx, struct cv *v, uint32_t *next)
{
	if (read_prop_int(cx, v))
		return !v->neg;
	if (v->kind != CV_SYM && v->kind != CV_VALUE && v->kind != CV_DIM)
		return false;
	*v = (struct cv){.kind = CV_INT, .span = v->span, .u.i = (*next)++};
	return true;
}

static bool read_index_item(struct ctx *cx, struct cv *v, uint32_t *next)
{
	if (v->kind != CV_SLICE)
		return read_input_number(cx, v, next);
	struct cv *parts = new_array(cx->arena, struct cv, 3);
	memcpy(parts, v->u.items, 3 * sizeof(*parts));
	v->u.items = parts;
	for (int i = 0; i < 3; i++)
		if (parts[i].kind != CV_NONE && !read_input_number(cx, &parts[i], next))
			return false;
	return true;
}

static bool read_slices(struct ctx *cx, struct cv *v)
{
	read_list(cx, v);
	if (v->kind != CV_LIST)
		return false;
	uint32_t next = 0;
	struct cv *items = new_array(cx->arena, struct cv, v->n);
	for (uint32_t i = 0; i < v->n; i++) {
		items[i] = v->u.items[i];
		if (!read_index_item(cx, &items[i], &next))
			return false;
	}
	v->u.items = items;
	return true;
}

/* What a node keeps is copied: the syntax tree is freed before lowering. */
static bool read_any(struct ctx *cx, struct cv *v, int depth)
{
	read_prop_int(cx, v);
	read_list(cx, v);
	if (v->kind == CV_STR)
		return read_str(cx, v);
	if (v->kind != CV_LIST)
		return v->kind != CV_DATA && v->kind != CV_ARROW && v->kind != CV_SLICE;
	if (depth > 2)
		return false;
	struct cv *items = new_array(cx->arena, struct cv, v->n);
	for (uint32_t i = 0; i < v->n; i++) {
		items[i] = v->u.items[i];
		if (!read_any(cx, &items[i], depth + 1))
			return false;
	}
	v->u.items = items;
	return true;
}

static bool read_value(struct ctx *cx, const struct prop_spec *p, struct cv *v)
{
	if (v->kind == CV_NONE && !p->required && p->value.kind == CV_NONE)
		return true;
	switch (p->type) {
	case P_INT:
		return read_prop_int(cx, v);
	case P_BOOL:
		return v->kind == CV_BOOL;
	case P_FLOAT:
		return read_float(cx, v);
	case P_STR:
		return read_str(cx, v);
	case P_DTYPE:
		return read_prop_dtype(cx, v);
	case P_AXES:
	case P_INTS:
		return read_ints(cx, v);
	case P_ENUM:
		return read_choice(cx, v, p->choices);
	case P_OP:
		return read_opref(cx, v);
	case P_SLICES:
		return read_slices(cx, v);
	case P_ANY:
		return read_any(cx, v, 0);
	}
	return false;
}

/* --- binding --- */

#define MAX_ELEMENTS 65535 /* of a list that is a property */

static const char *describe(const struct binder *b, const struct cv *v)
{
	if (v->kind == CV_SYM)
		return arena_printf(b->cx->arena, "'%s'", v->u.sym->s);
	if (v->kind == CV_STR)
		return arena_printf(b->cx->arena, "\"%.*s%s\"",
				    shown_len(v->u.str->s, v->u.str->len, MAX_SHOWN), v->u.str->s,
				    v->u.str->len > MAX_SHOWN ? "..." : "");
	return kind_name(v);
}

static uint32_t list_length(const struct cv *v)
{
	if (v->kind == CV_LIST || v->kind == CV_TUPLE)
		return v->n;
	return v->kind == CV_DATA ? v->u.data->count : 0;
}

static bool set_prop(struct binder *b, uint32_t i, struct cv v, struct span s)
{
	const struct prop_spec *p = &b->sig->props[i];
	if (v.kind == CV_POISON)
		return false;
	if (list_length(&v) > MAX_ELEMENTS) {
		error(b->cx, s, E_LIMIT,
		      "%s: property '%s': a list of %u elements: at most %d are possible",
		      b->op->name, p->name->s, list_length(&v), MAX_ELEMENTS);
		return false;
	}
	if (b->where[i].end) {
		error2(b->cx, s, b->where[i], E_PROPERTY, "%s: property '%s' is given twice",
		       b->op->name, p->name->s);
		return false;
	}
	b->where[i] = s.end ? s : (struct span){0, 1};
	b->out[i] = v;
	if (!read_value(b->cx, p, &b->out[i])) {
		const char *near =
			p->type == P_DTYPE && v.kind == CV_SYM ? near_dtype(v.u.sym->s) : NULL;
		error(b->cx, s, E_PROPERTY, "%s: property '%s': expected %s, got %s%s%s%s",
		      b->op->name, p->name->s, type_name(b, p), describe(b, &v),
		      near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
		return false;
	}
	return b->out[i].kind != CV_POISON;
}

static bool alias_of(const char *name, const char *written)
{
	for (size_t i = 0; i < countof(aliases); i++)
		if (!strcmp(aliases[i].name, name) && !strcmp(aliases[i].other, written))
			return true;
	return false;
}

/* The index of the property of that name or alias; nprops: there is none */
static uint32_t find_prop(const struct binder *b, const struct sym *name)
{
	for (uint32_t i = 0; i < b->sig->nprops; i++)
		if (b->sig->props[i].name == name)
			return i;
	for (uint32_t i = 0; i < b->sig->nprops; i++)
		if (alias_of(b->sig->props[i].name->s, name->s))
			return i;
	return b->sig->nprops;
}

bool op_has_prop(struct ctx *cx, const struct op *op, const struct sym *name)
{
	struct binder b = {.cx = cx, .op = op, .sig = op_sig(cx, op)};

	return find_prop(&b, name) < b.sig->nprops;
}

static bool report_unknown_prop(struct binder *b, const struct prop_arg *a)
{
	const char **names = new_array(b->cx->arena, const char *, b->sig->nprops + 1);
	for (uint32_t i = 0; i < b->sig->nprops; i++)
		names[i] = b->sig->props[i].name->s;
	bool axes = op_has_axes(b->cx, b->op);
	names[b->sig->nprops] = "axis"; /* of an op with axes the same as `axes` */
	const char *near = did_you_mean(a->name->s, names, b->sig->nprops + axes);
	if (axes && !strncmp(a->name->s, "dim", 3))
		near = "axis"; /* as PyTorch has it */
	struct strbuf list = {.arena = b->cx->arena};
	for (uint32_t i = 0; i < b->sig->nprops; i++)
		sb_printf(&list, "%s%s", i ? ", " : "", names[i]);
	struct diag *d = error(b->cx, a->span, E_PROPERTY, "%s has no property '%s'%s%s%s",
			       b->op->name, a->name->s, near ? "; did you mean '" : "",
			       near ? near : "", near ? "'?" : "");
	if (!near && !strcmp(a->name->s, "keepdims"))
		note(b->cx, d, (struct span){0, 0},
		     b->op->shape == sh_reduce
			     ? "ExpandDims{axis=...}(...) puts an axis of length 1 back"
			     : "keepdims=True is for reductions, such as Sum: %s removes no axis",
		     b->op->name);
	else if (!near && b->sig->nprops)
		note(b->cx, d, (struct span){0, 0}, "its properties: %s", list.s);
	return false;
}

/* A name alone sets a bool property, no_name clears it: {initial}, {no_inplace}. false: it does not
 * name such a property */
static bool bind_flag(struct binder *b, const struct prop_arg *a, bool *ok)
{
	if (a->value.kind != CV_SYM)
		return false;
	const char *s = a->value.u.sym->s;
	bool on = strncmp(s, "no_", 3) != 0;
	for (uint32_t i = 0; i < b->sig->nprops; i++) {
		if (b->sig->props[i].type != P_BOOL ||
		    strcmp(b->sig->props[i].name->s, on ? s : s + 3))
			continue;
		*ok = set_prop(b, i, (struct cv){.kind = CV_BOOL, .u.b = on}, a->span);
		return true;
	}
	return false;
}

static bool bind_bare(struct binder *b, const struct prop_arg *a)
{
	bool ok;
	if (bind_flag(b, a, &ok))
		return ok;
	if (b->next < b->sig->nprops)
		return set_prop(b, b->next++, a->value, a->span);
	error(b->cx, a->span, E_PROPERTY, "%s takes %s, got %s", b->op->name,
	      b->sig->nprops ? "no more properties" : "no properties", describe(b, &a->value));
	return false;
}

/* {start:stop, i}: all values without a name are the items of one list. */
static bool bind_slices(struct binder *b, const struct prop_arg *args, uint32_t n)
{
	struct cv list = {.kind = CV_LIST};
	list.u.items = new_array(b->cx->arena, struct cv, n);
	for (uint32_t i = 0; i < n; i++) {
		if (args[i].name)
			continue;
		list.u.items[list.n++] = args[i].value;
		list.span.end = args[i].span.end;
		if (list.n == 1)
			list.span.begin = args[i].span.begin;
	}
	return !list.n || set_prop(b, 0, list, list.span);
}

static bool fill_defaults(struct binder *b)
{
	bool ok = true;
	for (uint32_t i = 0; i < b->sig->nprops; i++) {
		const struct prop_spec *p = &b->sig->props[i];
		if (b->where[i].end)
			continue;
		if (p->required) {
			error(b->cx, b->call, E_PROPERTY, "%s needs the property '%s' (%s)",
			      b->op->name, p->name->s, type_name(b, p));
			ok = false;
		}
		b->out[i] = p->value;
		b->out[i].span = b->call;
	}
	return ok;
}

bool check_prop_names(struct ctx *cx, const struct op *op, const struct prop_arg *args, uint32_t n)
{
	struct binder b = {.cx = cx, .op = op, .sig = op_sig(cx, op)};
	bool ok = true;

	for (uint32_t i = 0; i < n; i++)
		if (args[i].name && find_prop(&b, args[i].name) == b.sig->nprops)
			ok = report_unknown_prop(&b, &args[i]);
	return ok;
}

struct cv *bind_props(struct ctx *cx, const struct op *op, struct span s,
		      const struct prop_arg *args, uint32_t n)
{
	static const struct cv no_props; /* shared by all calls without properties */
	struct binder b = {.cx = cx, .op = op, .sig = op_sig(cx, op), .call = s};
	if (!b.sig->nprops && !n)
		return (struct cv *)&no_props;
	b.out = new_array(cx->arena, struct cv, b.sig->nprops + 1);
	b.where = new_array(cx->arena, struct span, b.sig->nprops + 1);
	if (!op->shape && !op->expanded && op != &op_onnx) /* infer_node() refuses the op anyway */
		return b.out;
	bool slices = b.sig->nprops && b.sig->props[0].type == P_SLICES;
	bool ok = !slices || bind_slices(&b, args, n);
	for (uint32_t i = 0; i < n; i++) {
		if (!args[i].name) {
			/* after a mistake the values that follow may have no property */
			bool left = ok || b.next < b.sig->nprops;
			ok = (slices || (left && bind_bare(&b, &args[i]))) && ok;
			continue;
		}
		uint32_t at = find_prop(&b, args[i].name);
		if (at == b.sig->nprops)
			ok = report_unknown_prop(&b, &args[i]);
		else
			ok = set_prop(&b, at, args[i].value, args[i].span) && ok;
	}
	return ok && fill_defaults(&b) ? b.out : NULL;
}
