/*
 * table.c: the op table. In: ops.def, one row for each op. Out: ops by name, their parsed
 * signatures, access to the properties of a node, and infer_node(), which sets the types and known
 * integers of a node's results by the rules of its row.
 * Must hold: the properties of a node are in the order of its op's signature (bind_props).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "syntax/syntax.h"
#include "onnx/onnx.h"
#include "ops/rules.h"

#define OP(id_, sig_, body, ...) [OP_##id_] = {.name = #id_, .sig = sig_, body, __VA_ARGS__},
#define ONNX(expression)         .onnx = expression
#define LIB(name)                .lib = name
#define LOWER(function)          .in_c = true
#define EXPAND(function)         .expanded = true
#define ON_PARTS                 .onnx = NULL
#define UNSUPPORTED(reason)      .unsupported = reason
#define GROUP(heading)
const struct op op_table[] = {
#include "ops/ops.def"
};
const uint32_t op_count = countof(op_table);
const struct op op_onnx = {.name = "onnx", .sig = "x~", .doc = "a node of ONNX", .nout = 255};
const struct op op_dim = {.name = "dim", .sig = ""};
const struct op op_loop = {.name = "loop", .sig = "", .in_c = true};
const struct op op_if = {.name = "if", .sig = "", .in_c = true};

/* The headings and the ops, in the order of ops.def. */
static const struct heading {
	const char *text;
	uint32_t op;
} headings[] = {
#define OP(id_, sig_, ...) {NULL, OP_##id_},
#define GROUP(heading)     {heading, 0},
#include "ops/ops.def"
};

const char *op_group(const struct op *op)
{
	const char *group = "";
	for (size_t i = 0; i < countof(headings); i++) {
		if (headings[i].text)
			group = headings[i].text;
		else if (&op_table[headings[i].op] == op)
			return group;
	}
	return "";
}

void ops_init(struct ctx *cx)
{
	cx->op_sigs = new_array(cx->arena, struct op_sig, op_count + 1);
	for (uint32_t i = 0; i < op_count; i++)
		intern_str(cx, op_table[i].name)->op = &op_table[i];
}

const struct op *op_named(struct ctx *cx, const char *name)
{
	return intern_str(cx, name)->op;
}

/* --- signatures: "x idx*; axis:axes=None, mode:a|b=a" --- */

static const char *const type_names[] = {
	[P_INT] = "int",       [P_BOOL] = "bool", [P_FLOAT] = "float", [P_STR] = "str",
	[P_DTYPE] = "dtype",   [P_AXES] = "axes", [P_INTS] = "ints",   [P_OP] = "op",
	[P_SLICES] = "slices", [P_ANY] = "any",
};

static enum prop_type type_of_word(const char *s, size_t len)
{
	if (memchr(s, '|', len))
		return P_ENUM;
	for (size_t i = 0; i < countof(type_names); i++)
		if (type_names[i] && strlen(type_names[i]) == len && !memcmp(s, type_names[i], len))
			return (enum prop_type)i;
	bug("ops.def: no property type '%.*s'", (int)len, s);
}

static struct cv cv_text(struct ctx *cx, const char *s, size_t len)
{
	struct astr *a = new (cx->arena, struct astr);
	a->s = arena_strdup(cx->arena, s, len);
	a->len = (uint32_t)len;
	return (struct cv){.kind = CV_STR, .u.str = a};
}

/* The value of a default in ops.def. */
static struct cv default_value(struct ctx *cx, enum prop_type type, const char *s, size_t len)
{
	char *text = arena_strdup(cx->arena, s, len);
	struct cv v = {.kind = CV_NONE};
	if (!strcmp(text, "None"))
		return v;
	switch (type) {
	case P_BOOL:
		return (struct cv){.kind = CV_BOOL, .u.b = !strcmp(text, "True")};
	case P_INT:
		return cv_int(strtol(text, NULL, 10), (struct span){0});
	case P_FLOAT:
		return (struct cv){.kind = CV_FLOAT, .u.f = literal_double(cx->arena, s, len)};
	case P_DTYPE:
		v = (struct cv){.kind = CV_DTYPE};
		v.u.dtype = strcmp(text, "floatX") ? dtype_named(text) : cx->floatx;
		return v;
	case P_AXES:
	case P_INTS:
		v = (struct cv){.kind = CV_LIST, .n = 1};
		v.u.items = new (cx->arena, struct cv);
		v.u.items[0] = cv_int(strtol(text, NULL, 10), (struct span){0});
		return v;
	case P_ENUM:
	case P_STR:
		return cv_text(cx, s, len);
	case P_OP:
	case P_SLICES:
	case P_ANY:
		break;
	}
	bug("ops.def: default '%s' of a property that can only have None", text);
}

static const char *skip_blanks(const char *s)
{
	while (*s == ' ')
		s++;
	return s;
}

static const char *parse_inputs(struct ctx *cx, struct op_sig *sig, const char *s)
{
	vec(struct input_spec) in = {0};
	bool any = false;
	for (s = skip_blanks(s); *s && *s != ';'; s = skip_blanks(s)) {
		size_t len = strcspn(s, " ;?*+~[");
		struct input_spec *spec = vec_push(cx->arena, &in);
		spec->name = intern(cx, s, len);
		s += len;
		if (*s && strchr("?*+~", *s))
			spec->repeat = *s++;
		if (*s == '[') {
			spec->repeat = '[';
			s += 2;
		}
		sig->min += spec->repeat == 0 || spec->repeat == '+' || spec->repeat == '[';
		any |= spec->repeat && strchr("*+~", spec->repeat);
	}
	sig->inputs = in.at;
	sig->ninputs = in.len;
	sig->max = any ? UINT32_MAX : in.len;
	return *s ? s + 1 : s;
}

static void parse_props(struct ctx *cx, struct op_sig *sig, const char *s)
{
	vec(struct prop_spec) props = {0};
	for (s = skip_blanks(s); *s; s = skip_blanks(s)) {
		struct prop_spec *p = vec_push(cx->arena, &props);
		size_t len = strcspn(s, ":");
		p->name = intern(cx, s, len);
		s += len + (s[len] == ':');
		len = strcspn(s, "=,");
		p->type = type_of_word(s, len);
		if (p->type == P_ENUM)
			p->choices = arena_strdup(cx->arena, s, len);
		s += len;
		p->required = *s != '=';
		if (*s == '=') {
			len = strcspn(++s, ",");
			p->value = default_value(cx, p->type, s, len);
			s += len;
		}
		s += *s == ',';
	}
	sig->props = props.at;
	sig->nprops = props.len;
}

/* Ops outside of the table (raw nodes, blocks) share one signature: any inputs, no properties. */
const struct op_sig *op_sig(struct ctx *cx, const struct op *op)
{
	bool row = (uintptr_t)op >= (uintptr_t)op_table &&
		   (uintptr_t)op < (uintptr_t)(op_table + op_count);
	struct op_sig *sig = &cx->op_sigs[row ? (uint32_t)(op - op_table) : op_count];
	if (!sig->inputs && !sig->props && !sig->max)
		parse_props(cx, sig, parse_inputs(cx, sig, row ? op->sig : op_onnx.sig));
	return sig;
}

/* --- properties of a node --- */

bool op_has_axes(struct ctx *cx, const struct op *op)
{
	const struct op_sig *sig = op_sig(cx, op);

	for (uint32_t i = 0; i < sig->nprops; i++)
		if (sig->props[i].type == P_AXES)
			return true;
	return false;
}

const struct cv *prop(struct ctx *cx, const struct node *n, const char *name)
{
	const struct op_sig *sig = op_sig(cx, n->op);
	for (uint32_t i = 0; i < sig->nprops; i++)
		if (!strcmp(sig->props[i].name->s, name))
			return &n->props[i];
	bug("%s has no property '%s'", n->op->name, name);
}

static int64_t int_of(const struct cv *v)
{
	return v->neg ? (int64_t)(0 - v->u.i) : (int64_t)v->u.i;
}

int64_t prop_int(struct ctx *cx, const struct node *n, const char *name)
{
	const struct cv *v = prop(cx, n, name);
	if (v->kind != CV_INT)
		bug("%s: property '%s' is no integer", n->op->name, name);
	return int_of(v);
}

uint32_t prop_axis(struct ctx *cx, const struct node *n, const char *name)
{
	int64_t axis = prop_int(cx, n, name);

	return (uint32_t)from_front(axis, n->in[0]->type.rank);
}

bool prop_bool(struct ctx *cx, const struct node *n, const char *name)
{
	const struct cv *v = prop(cx, n, name);
	return v->kind == CV_BOOL && v->u.b;
}

bool prop_is_none(struct ctx *cx, const struct node *n, const char *name)
{
	return prop(cx, n, name)->kind == CV_NONE;
}

enum dtype prop_dtype(struct ctx *cx, const struct node *n, const char *name)
{
	const struct cv *v = prop(cx, n, name);
	return v->kind == CV_DTYPE ? v->u.dtype : DT_NONE;
}

const char *prop_str(struct ctx *cx, const struct node *n, const char *name)
{
	const struct cv *v = prop(cx, n, name);
	return v->kind == CV_STR ? v->u.str->s : NULL;
}

static int compare_int(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* *axis = v counted from the front; seen[] marks the axes of the list so far. false: reported */
static bool add_axis(struct ctx *cx, const struct node *n, const struct cv *v, int rank,
		     bool seen[MAX_RANK], int *axis)
{
	int64_t a = int_of(v);
	struct span s = v->span.end > v->span.begin ? v->span : n->span;
	if (a < -rank || a >= rank) {
		error(cx, s, E_RANGE, "%s: axis %lld is out of range for %d dim%s", n->op->name,
		      (long long)a, rank, rank == 1 ? "" : "s");
		return false;
	}
	a = from_front(a, rank);
	if (seen[a]) {
		error(cx, s, E_RANGE, "%s: axis %d is given twice", n->op->name, (int)a);
		return false;
	}
	*axis = (int)a;
	return seen[a] = true;
}

int prop_axes(struct ctx *cx, const struct node *n, const char *name, int rank, int *axes,
	      bool sorted)
{
	const struct cv *v = prop(cx, n, name);
	bool seen[MAX_RANK] = {false};
	if (v->kind == CV_NONE) {
		for (int i = 0; i < rank; i++)
			axes[i] = i;
		return rank;
	}
	const struct cv *items = v->kind == CV_INT ? v : v->u.items;
	int count = v->kind == CV_INT ? 1 : (int)v->n;
	for (int i = 0; i < count; i++)
		if (!add_axis(cx, n, &items[i], rank, seen, &axes[i]))
			return -1;
	if (sorted)
		qsort(axes, (size_t)count, sizeof(*axes), compare_int);
	return count;
}

/* --- op_label: an op with its properties, as dprint shows it --- */

static void print_cv(struct ctx *cx, struct strbuf *b, const struct cv *v);

static void print_items(struct ctx *cx, struct strbuf *b, const struct cv *items, uint32_t n)
{
	for (uint32_t i = 0; i < n && i < 20; i++) {
		if (i)
			sb_str(b, ", ");
		print_cv(cx, b, &items[i]);
	}
	if (n > 20)
		sb_str(b, ", ...");
}

static void print_slice(struct strbuf *b, const struct cv *v)
{
	static const char *const parts[] = {"start", "stop", "step"};
	for (int i = 0; i < 3; i++) {
		if (i == 1 || (i == 2 && v->u.items[2].kind != CV_NONE))
			sb_str(b, ":");
		if (v->u.items[i].kind != CV_NONE)
			sb_str(b, parts[i]);
	}
}

static void print_cv(struct ctx *cx, struct strbuf *b, const struct cv *v)
{
	switch ((enum cv_kind)v->kind) {
	case CV_INT:
		sb_printf(b, "%s%llu", v->neg ? "-" : "", (unsigned long long)v->u.i);
		break;
	case CV_FLOAT:
		sb_printf(b, "%.17g", v->u.f);
		break;
	case CV_BOOL:
		sb_str(b, v->u.b ? "True" : "False");
		break;
	case CV_STR:
		sb_printf(b, "\"%.*s%s\"", shown_len(v->u.str->s, v->u.str->len, MAX_SHOWN),
			  v->u.str->s, v->u.str->len > MAX_SHOWN ? "..." : "");
		break;
	case CV_NONE:
		sb_str(b, "None");
		break;
	case CV_DTYPE:
		sb_str(b, dtypes[v->u.dtype].name);
		break;
	case CV_LIST:
		sb_str(b, "[");
		/* a list in a property is at most two deep: checked by bind_props */
		print_items(cx, b, v->u.items, v->n);
		sb_str(b, "]");
		break;
	case CV_OP:
		sb_str(b, v->u.op->name->s);
		break;
	case CV_SYM:
		sb_str(b, v->u.sym->s);
		break;
	case CV_SLICE:
		print_slice(b, v);
		break;
	default:
		sb_str(b, "..");
	}
}

static bool is_default(const struct prop_spec *p, const struct cv *v)
{
	if (p->required || p->value.kind != v->kind)
		return false;
	switch ((enum cv_kind)v->kind) {
	case CV_NONE:
		return true;
	case CV_INT:
		return p->value.u.i == v->u.i && p->value.neg == v->neg;
	case CV_BOOL:
		return p->value.u.b == v->u.b;
	case CV_DTYPE:
		return p->value.u.dtype == v->u.dtype;
	case CV_STR:
		return !strcmp(p->value.u.str->s, v->u.str->s);
	default:
		return false;
	}
}

/* "axis=0", "axes=[0, 2]", "float32", "start:stop, i" */
static void print_prop(struct ctx *cx, struct strbuf *b, const struct prop_spec *p,
		       const struct cv *v)
{
	if (p->type == P_SLICES) {
		for (uint32_t i = 0; i < v->n; i++) {
			sb_str(b, i ? ", " : "");
			if (v->u.items[i].kind == CV_INT)
				sb_str(b, "i");
			else
				print_cv(cx, b, &v->u.items[i]);
		}
	} else if (p->type == P_AXES && v->kind == CV_LIST && v->n == 1) {
		sb_str(b, "axis=");
		print_cv(cx, b, v->u.items);
	} else if (p->type == P_DTYPE && p->required) {
		print_cv(cx, b, v);
	} else {
		sb_printf(b, "%s=", p->name->s);
		print_cv(cx, b, v);
	}
}

const char *op_label(struct ctx *cx, const struct node *n)
{
	if (n->onnx)
		return arena_printf(cx->arena, "%s.%s", onnx_prefix(n->onnx), n->onnx->name);
	const struct op_sig *sig = op_sig(cx, n->op);
	struct strbuf b = {.arena = cx->arena};
	sb_str(&b, n->op->name);
	bool open = false;
	for (uint32_t i = 0; n->props && i < sig->nprops; i++) {
		if (is_default(&sig->props[i], &n->props[i]))
			continue;
		sb_str(&b, open ? ", " : "{");
		open = true;
		print_prop(cx, &b, &sig->props[i], &n->props[i]);
	}
	sb_str(&b, open ? "}" : "");
	return b.s;
}

const char *call_label(struct ctx *cx, const struct node *n)
{
	struct strbuf b = {.arena = cx->arena};
	const char *comma = "";

	uint32_t list = list_input(cx, n);
	sb_printf(&b, "%s(", op_label(cx, n));
	for (uint32_t i = 0; i < n->nin && i < 6; i++) {
		if (!n->in[i])
			continue;
		sb_printf(&b, "%s%s%s", comma, i == list ? "[" : "", type_str(cx, n->in[i]->type));
		comma = ", ";
	}
	sb_printf(&b, "%s%s)", n->nin > 6 ? ", ..." : "", list < n->nin ? "]" : "");
	return b.s;
}

/* --- inference --- */

static const char *input_list(struct ctx *cx, const struct op_sig *sig)
{
	struct strbuf b = {.arena = cx->arena};
	for (uint32_t i = 0; i < sig->ninputs; i++) {
		sb_printf(&b, "%s%s", i ? ", " : "", sig->inputs[i].name->s);
		if (sig->inputs[i].repeat)
			sb_str(&b, sig->inputs[i].repeat == '?'   ? "?"
				   : sig->inputs[i].repeat == '[' ? "[]"
								  : "...");
	}
	return b.s ? b.s : "none";
}

static const struct input_spec *find_input_spec(const struct op_sig *sig, uint32_t i)
{
	return &sig->inputs[i < sig->ninputs ? i : sig->ninputs - 1];
}

bool op_takes(struct ctx *cx, const struct op *op, uint32_t n, struct span s)
{
	const struct op_sig *sig = op_sig(cx, op);
	if (n >= sig->min && n <= sig->max)
		return true;
	uint32_t want = n < sig->min ? sig->min : sig->max;
	const char *how = sig->min == sig->max ? "" : n < sig->min ? "at least " : "at most ";
	error(cx, s, E_ARITY, "%s: expected %s%u argument%s (%s), got %u", op->name, how, want,
	      want == 1 ? "" : "s", input_list(cx, sig), n);
	return false;
}

bool takes_list(struct ctx *cx, const struct op *op)
{
	const struct op_sig *sig = op_sig(cx, op);

	return sig->ninputs && sig->inputs[sig->ninputs - 1].repeat == '[';
}

uint32_t list_input(struct ctx *cx, const struct node *n)
{
	const struct op_sig *sig = op_sig(cx, n->op);
	uint32_t k = sig->ninputs;
	bool list = k && sig->inputs[k - 1].repeat == '[' && n->nin > k && !n->in[k - 1];
	return list ? k : n->nin;
}

static bool check_arity(struct ctx *cx, const struct node *n)
{
	const struct op_sig *sig = op_sig(cx, n->op);
	uint32_t list = list_input(cx, n);
	if (!op_takes(cx, n->op, list, n->span))
		return false;
	for (uint32_t i = 0; i < n->nin; i++) {
		const struct input_spec *spec = find_input_spec(sig, i);
		if (n->in[i] || spec->repeat == '?' || spec->repeat == '~' ||
		    (i + 1 == list && list < n->nin))
			continue;
		if (i < list)
			error(cx, n->span, E_ARITY, "%s: argument %u (%s) cannot be None",
			      n->op->name, i + 1, spec->name->s);
		else
			error(cx, n->span, E_ARITY, "%s: item %u of argument %u (%s) is None",
			      n->op->name, i - list, list, spec->name->s);
		return false;
	}
	return true;
}

static bool reads_poison(const struct node *n)
{
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && n->in[i]->type.dtype == DT_NONE)
			return true;
	return false;
}

/* Marks the results as poison: an error was reported. Returns false. */
static bool poison_results(struct node *n)
{
	for (uint32_t i = 0; i < n->nout; i++)
		if (n->out[i])
			n->out[i]->type = (struct type){.dtype = DT_NONE};
	return false;
}

/* A rule may set more dims than its inputs have. false: reported */
static bool check_result_ranks(struct ctx *cx, const struct node *n)
{
	for (uint32_t i = 0; i < n->nout; i++)
		if (n->out[i] && n->out[i]->type.rank > MAX_RANK) {
			error(cx, n->span, E_RANK, "%s: more than %d dims", op_label(cx, n),
			      MAX_RANK);
			return false;
		}
	return true;
}

/* np.tanh(x) and pt.exp(x) are read as ONNX nodes of the domains np and pt: the note says so if
 * there is an op of that name. */
static void report_missing_type(struct ctx *cx, const struct node *n, uint32_t result)
{
	struct diag *d = error(cx, n->span, E_NEEDS_TYPE,
			       "%s: the type of result %u cannot be inferred; write it: y: "
			       "dtype[dims] = ...",
			       op_label(cx, n), result + 1);

	const char *instead = n->onnx->domain[0] ? op_instead(cx, n->onnx->name, true) : NULL;
	if (instead)
		note(cx, d, (struct span){0, 0},
		     "this is a node of the ONNX domain '%s'; in .ptg, write %s", n->onnx->domain,
		     instead);
}

static bool infer_onnx(struct ctx *cx, struct node *n)
{
	switch (onnx_infer(cx, n)) {
	case ONNX_INFERRED:
		return true;
	case ONNX_ERROR:
		return poison_results(n);
	case ONNX_NO_RULE:
		break;
	}
	for (uint32_t i = 0; i < n->nout; i++) {
		if (!n->out[i] || n->out[i]->type.dtype != DT_NONE)
			continue;
		report_missing_type(cx, n, i);
		return poison_results(n);
	}
	return true;
}

/* Reports that the op is not converted. */
static bool refuse(struct ctx *cx, struct node *n)
{
	const char *instead = op_instead(cx, n->op->name, false);
	struct diag *d =
		error(cx, n->span, E_UNSUPPORTED, "%s: cannot be converted: %s", n->op->name,
		      n->op->expanded ? "it runs a fn, and cannot be a part of another op"
				      : n->op->unsupported);

	if (instead)
		note(cx, d, (struct span){0, 0}, "write %s", instead);
	return poison_results(n);
}

uint32_t op_results(struct ctx *cx, struct node *n)
{
	if (n->op->nout != 255)
		return n->op->nout ? n->op->nout : 1;
	if (reads_poison(n) || n->op == &op_onnx)
		return 0;
	if (!n->op->results) {
		refuse(cx, n);
		return 0;
	}
	return check_arity(cx, n) ? n->op->results(cx, n) : 0;
}

/* Generators of random numbers go into few ops: into the first inputs of a node, which then are all
 * generators of one kind. false: reported */
static bool check_generators(struct ctx *cx, struct node *n)
{
	for (uint32_t i = 0; i < n->nin; i++) {
		enum dtype t = n->in[i] ? (enum dtype)n->in[i]->type.dtype : DT_NONE;
		enum dtype first = n->in[0] ? (enum dtype)n->in[0]->type.dtype : DT_NONE;
		bool other = i < n->op->generators && is_rng(first) != is_rng(t);
		if (!is_rng(t) && !other)
			continue;
		if (i < n->op->generators && t == first)
			continue;
		if (i < n->op->generators && n->op->generators > 1)
			error(cx, n->span, E_DTYPE, "%s: %s and %s are not generators of one kind",
			      op_label(cx, n), type_str(cx, n->in[0]->type),
			      type_str(cx, n->in[i]->type));
		else
			error(cx, n->span, E_DTYPE,
			      "%s does not take a generator (%s): draws are made from it, as in "
			      "r2, x = normal_rv(r, None, 0.0, 1.0)",
			      op_label(cx, n), type_str(cx, n->in[i]->type));
		return false;
	}
	return true;
}

static bool infer(struct ctx *cx, struct node *n)
{
	if (reads_poison(n) || !check_generators(cx, n))
		return poison_results(n);
	if (n->op == &op_onnx)
		return infer_onnx(cx, n);
	if (!n->op->shape)
		return refuse(cx, n);
	if (!check_arity(cx, n))
		return poison_results(n);
	if (n->op->dtype) {
		enum dtype t = n->op->dtype(cx, n);
		if (t == DT_NONE)
			return poison_results(n);
		n->out[0]->type.dtype = (uint8_t)(n->op->dtype == ty_prop ? t : narrowed(cx, n, t));
	}
	if (!n->op->shape(cx, n) || !check_result_ranks(cx, n))
		return poison_results(n);
	if (n->op->known)
		set_results_known(cx, n);
	return true;
}

bool infer_node(struct ctx *cx, struct node *n)
{
	struct diag **tail = cx->diag_tail;
	const char *asked = dim_asks(cx, n->op == &op_onnx ? n->onnx->name : n->op->name);
	bool ok = infer(cx, n);

	dim_asks(cx, asked);
	explain_promise(cx, ok ? NULL : *tail, n->in, n->op->shape == sh_broadcast ? n->nin : 0);
	if (!ok && *tail)
		blame(cx, tail, n->in, n->nin, n->op == &op_onnx ? (const void *)n->onnx : n->op);
	return ok;
}

struct node *graph_onnx(struct ctx *cx, struct block *b, const struct onnx_op *op,
			struct attr *attr, struct value **in, uint32_t nin, struct span s)
{
	struct node *n = node_new(cx, &op_onnx, s);

	n->onnx = op;
	n->lenient = true;
	n->attrs = attr;
	n->nattrs = attr != NULL;
	node_inputs(cx, n, in, nin);
	node_results(cx, n, 1);
	graph_append(b, n);
	infer_node(cx, n);
	return n;
}

struct node *graph_node(struct ctx *cx, struct block *b, const struct op *op, struct cv *props,
			struct value **in, uint32_t nin, struct span s)
{
	struct node *n = node_new(cx, op, s);

	n->props = props;
	if (nin > UINT16_MAX) {
		error(cx, s, E_LIMIT, "%s: more than %d inputs", op->name, UINT16_MAX);
		nin = 0;
	}
	node_inputs(cx, n, in, nin);
	uint32_t count = op == &op_dim ? 1 : op_results(cx, n);
	if (count)
		node_results(cx, n, count);
	if (op == &op_dim) {
		n->out[0]->type.dtype = DT_INT64;
		n->out[0]->known = arena_alloc(cx->arena, sizeof(struct known) + sizeof(dim));
		n->out[0]->known->n = 1;
		n->out[0]->known->at[0] = props->u.d;
	} else if (count) {
		infer_node(cx, n);
	}
	graph_append(b, n);
	return n;
}
