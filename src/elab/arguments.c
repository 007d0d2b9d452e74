/*
 * arguments.c: arguments of calls: those that are given by name, as in Sc(x, k=3), and those that
 * PyTensor's ops take in another form. In: an A_CALL or A_METHOD. Out: the arguments of a fn in the
 * order of its parameters; or a message that says what to write, as ops, ONNX's operators, dtypes
 * and built-ins take no names.
 */
#include <string.h>

#include "elab/internal.h"

void elab_children(struct elab *e, uint32_t at, uint32_t *out)
{
	const struct anode *nodes = e->file->nodes.at;
	uint32_t c = at;

	for (uint32_t k = nodes[at].n; k-- > 0;) {
		c--;
		out[k] = c;
		c -= nodes[c].size - 1;
	}
}

bool check_input_count(struct elab *e, uint32_t n, struct span s)
{
	if (n > UINT16_MAX)
		elab_error(e, s, E_LIMIT, "%u arguments: at most %d are possible", n, UINT16_MAX);
	return n <= UINT16_MAX;
}

#define MAX_CALL_TEXT 80 /* bytes of a call that a message writes anew */

/* The last argument of the call that has a name, or NULL */
static const struct anode *last_named(struct elab *e, uint32_t at)
{
	const struct anode *nodes = e->file->nodes.at, *n = &nodes[at];

	for (uint32_t k = n->nprops, c = at - 1; k < n->n; k++, c -= nodes[c].size)
		if (nodes[c].kind == A_NAMED)
			return &nodes[c];
	return NULL;
}

bool has_names(struct elab *e, uint32_t at)
{
	return last_named(e, at) != NULL;
}

/* ---- of fns ---- */

const char *params_text(struct elab *e, const struct fn *f)
{
	struct strbuf b = {.arena = e->cx->arena};

	for (uint32_t i = 0; i < f->nparams; i++)
		sb_printf(&b, "%s%s", i ? ", " : "", f->params[i].name->s);
	return b.s ? b.s : "none";
}

void report_arity(struct elab *e, const struct fn *f, uint32_t nargs, struct span s)
{
	uint32_t least = 0;

	while (least < f->nparams && !f->params[least].value.len)
		least++;
	elab_error(e, s, E_ARITY, "fn '%s' takes %s%u argument%s (%s) but got %u", f->name->s,
		   least == f->nparams ? "" : arena_printf(e->cx->arena, "%u to ", least),
		   f->nparams, f->nparams == 1 ? "" : "s", params_text(e, f), nargs);
}

static void report_unknown_argument(struct elab *e, const struct fn *f, const struct anode *n)
{
	const char **names = new_array(e->cx->arena, const char *, f->nparams + 1);

	for (uint32_t i = 0; i < f->ndecls; i++)
		if (f->decls[i].name == n->u.sym) {
			elab_error(e, n->at, E_CALL_PROPERTY,
				   "'%s' is a property of '%s', and properties are written in "
				   "braces: %s{%s=...}(%s)",
				   n->u.sym->s, f->name->s, f->name->s, n->u.sym->s,
				   params_text(e, f));
			return;
		}
	for (uint32_t i = 0; i < f->nparams; i++)
		names[i] = f->params[i].name->s;
	const char *near = did_you_mean(n->u.sym->s, names, f->nparams);
	elab_error(e, n->at, E_ARITY, "fn '%s' has no argument '%s'%s%s%s", f->name->s, n->u.sym->s,
		   near ? "; did you mean '" : "; its arguments: ", near ? near : params_text(e, f),
		   near ? "'?" : "");
}

/* Puts the argument of node n into out. given: which parameters have one; that of a call which is
 * only checked is poison. false: reported */
static bool set_argument(struct elab *e, const struct fn *f, const struct anode *n,
			 const struct cv *v, struct cv *out, bool *given)
{
	for (uint32_t i = 0; i < f->nparams; i++) {
		if (f->params[i].name != n->u.sym)
			continue;
		if (given[i]) {
			elab_error(e, n->at, E_ARITY, "argument '%s' of '%s' is given twice",
				   n->u.sym->s, f->name->s);
			return false;
		}
		out[i] = *v;
		given[i] = true;
		return true;
	}
	report_unknown_argument(e, f, n);
	return false;
}

struct cv *named_args(struct elab *e, const struct fn *f, uint32_t at, const struct cv *items)
{
	const struct anode *nodes = e->file->nodes.at, *n = &nodes[at];
	uint32_t *kids = new_array(e->cx->arena, uint32_t, n->n + 1);
	struct cv *out = new_array(e->cx->arena, struct cv, f->nparams + 1);
	bool *given = new_array(e->cx->arena, bool, f->nparams + 1);
	bool named = false;

	elab_children(e, at, kids);
	for (uint32_t i = n->nprops, k = 0; i < n->n; i++, k++) {
		const struct anode *a = &nodes[kids[i]];
		if (a->kind == A_NAMED) {
			named = true;
			if (!set_argument(e, f, a, &items[i], out, given))
				return NULL;
		} else if (named) {
			elab_error(e, a->span, E_ARITY,
				   "arguments without a name must come before those with a name");
			return NULL;
		} else if (k >= f->nparams) {
			report_arity(e, f, n->n - n->nprops, n->span);
			return NULL;
		} else {
			out[k] = items[i];
			given[k] = true;
		}
	}
	for (uint32_t i = 0; i < f->nparams; i++)
		if (!given[i] && !f->params[i].value.len) {
			elab_error(e, n->span, E_ARITY, "fn '%s' needs the argument '%s'",
				   f->name->s, f->params[i].name->s);
			return NULL;
		}
	return out;
}

/* ---- of what takes none ---- */

/* Sum for sum, np.sum and x.sum; NULL: the name is that of another thing */
static const struct op *meant_op(struct elab *e, const char *name)
{
	const char *dot = strrchr(name, '.'), *last = dot ? dot + 1 : name;
	char *own = arena_strdup(e->cx->arena, last, strlen(last));

	if (*own >= 'a' && *own <= 'z')
		*own = (char)(*own - ('a' - 'A'));
	else if (dot) /* com.microsoft.Gelu */
		return NULL;
	const struct op *op = intern_str(e->cx, own)->op;
	return op && op->shape ? op : NULL;
}

struct rewritten { /* the parts of Sum{axis=0}(x) */
	struct strbuf props, args;
};

static void add_text(struct elab *e, struct strbuf *b, struct span s)
{
	const struct source *source = source_of(e->cx, s);

	sb_str(b, b->len ? ", " : "");
	sb_add(b, source->text + (s.begin - source->base), s.end - s.begin);
}

/* What a call with names calls: an op, or an operator of ONNX; neither: one of another domain */
struct callee {
	const struct op *op;
	const struct onnx_op *onnx;
};

static bool is_input(struct elab *e, struct callee c, const struct sym *name)
{
	const struct op_sig *sig = c.op ? op_sig(e->cx, c.op) : NULL;

	for (uint32_t i = 0; sig && i < sig->ninputs; i++)
		if (sig->inputs[i].name == name)
			return true;
	for (uint32_t i = 0; c.onnx && i < c.onnx->nin; i++)
		if (!strcmp(c.onnx->in[i].name, name->s))
			return true;
	return false;
}

/* Sorts the arguments of a call: those with names into properties and inputs of op, which is NULL
 * for a raw node. Out: an argument that is neither, or NULL. */
static const struct anode *sort_args(struct elab *e, struct callee c, uint32_t at,
				     struct rewritten *r)
{
	const struct anode *nodes = e->file->nodes.at, *n = &nodes[at], *unknown = NULL;
	uint32_t *kids = new_array(e->cx->arena, uint32_t, n->n + 1);

	elab_children(e, at, kids);
	for (uint32_t i = 0; i < n->n; i++) {
		const struct anode *a = &nodes[kids[i]];
		if (n->kind == A_METHOD && a->span.begin < n->at.begin) {
			continue; /* the value before the dot, and its indices */
		} else if (i < n->nprops) {
			add_text(e, &r->props, a->span);
		} else if (a->kind != A_NAMED) {
			add_text(e, &r->args, a->span);
		} else if (is_input(e, c, a->u.sym)) {
			add_text(e, &r->args, nodes[kids[i] - 1].span);
		} else {
			add_text(e, &r->props, a->span);
			if (c.op && !unknown && !op_has_prop(e->cx, c.op, a->u.sym))
				unknown = a;
		}
	}
	return unknown;
}

/* What stands before the dot of a call that is meant as a method: x of x.sum(axis=0) */
static void add_base(struct elab *e, uint32_t at, struct strbuf *args)
{
	const struct anode *n = &e->file->nodes.at[at];
	const char *dot = strchr(n->u.sym->s, '.');
	uint32_t *kids = new_array(e->cx->arena, uint32_t, n->n + 1);

	elab_children(e, at, kids);
	bool paren = n->kind == A_METHOD && e->file->nodes.at[kids[0]].kind == A_PAREN;
	if (n->kind == A_METHOD)
		add_text(e, args, (struct span){n->span.begin + paren, n->at.begin - 1 - paren});
	else if (dot && find_value(e, intern(e->cx, n->u.sym->s, (size_t)(dot - n->u.sym->s))))
		add_text(e, args,
			 (struct span){n->at.begin, n->at.begin + (uint32_t)(dot - n->u.sym->s)});
}

static bool is_short(const struct strbuf *b)
{
	return b->len < MAX_CALL_TEXT && !(b->len && memchr(b->s, '\n', b->len));
}

bool refuse_names(struct elab *e, uint32_t at)
{
	const struct anode *n = &e->file->nodes.at[at];
	const char *name = n->u.sym->s, *dot = strrchr(name, '.');
	bool raw = !strncmp(name, "onnx.", 5);
	struct callee c = {0};
	struct rewritten r = {{.arena = e->cx->arena}, {.arena = e->cx->arena}};

	if (n->u.sym->dtype || is_builtin(name) || find_value(e, n->u.sym)) {
		elab_error(e, n->at, E_CALL_PROPERTY, "the arguments of '%s' have no names", name);
		return true;
	}
	if (raw)
		c.onnx = onnx_nearest(onnx_named(name + 5), e->cx->opt.opset);
	else
		c.op = meant_op(e, name);
	if (!c.op && !raw && (!dot || op_instead(e->cx, dot + 1, true)))
		return false;
	add_base(e, at, &r.args);
	const struct anode *unknown = sort_args(e, c, at, &r);
	if (unknown) {
		struct strbuf usage = {.arena = e->cx->arena};
		op_usage(&usage, c.op);
		elab_error(e, unknown->at, E_CALL_PROPERTY,
			   "%s has no argument or property '%s': write %s", c.op->name,
			   unknown->u.sym->s, usage.s);
		return true;
	}
	bool shown = is_short(&r.props) && is_short(&r.args);
	sb_str(&r.args, "");
	elab_error(e, last_named(e, at)->span, E_CALL_PROPERTY,
		   "arguments of ops have no names%s: write %s%s%s%s(%s)",
		   r.props.len ? "; properties are written in braces before them" : "",
		   c.op ? c.op->name : name, r.props.len ? "{" : "",
		   !r.props.len ? ""
		   : shown      ? r.props.s
				: "key=value",
		   r.props.len ? "}" : "", shown ? r.args.s : "...");
	return true;
}

const char *method_instead(struct elab *e, uint32_t at)
{
	const struct anode *n = &e->file->nodes.at[at];
	const char *dot = strrchr(n->u.sym->s, '.'), *instead = NULL;

	if (n->kind != A_ATTRIBUTE)
		instead = meant_call(e, at);
	if (!instead)
		instead = op_instead(e->cx, dot ? dot + 1 : n->u.sym->s, true);
	return instead ? instead : "x.T, x[...].set(v) or x[...].inc(v), or call an op: Sum(x)";
}

/* ---- in another form ---- */

/* The text of the expressions from node a on to node b, as they are written */
static const char *text_between(struct elab *e, const struct anode *a, const struct anode *b)
{
	const struct source *source = source_of(e->cx, a->span);
	const char *from = source->text + (a->span.begin - source->base);
	uint32_t len = b->span.end - a->span.begin;

	return len < MAX_CALL_TEXT && !memchr(from, '\n', len)
		       ? arena_strdup(e->cx->arena, from, len)
		       : "...";
}

/* ---- of methods and modules ---- */

/* Cast{float64}(x) for x.astype("float64"); NULL: the dtype is not written */
static const char *cast_instead(struct elab *e, const char *base, const char *type)
{
	size_t quote = *type == '"' || *type == '\'', len = strlen(type);

	if (len < 2 * quote)
		return NULL;
	const char *name = arena_strdup(e->cx->arena, type + quote, len - 2 * quote);
	const char *dot = strrchr(name, '.'); /* np.float64 */
	name = dot ? dot + 1 : name;
	return dtype_named(name) ? arena_printf(e->cx->arena, "Cast{%s}(%s)", name, base) : NULL;
}

/* The shape of x.reshape(3, 4) or x.reshape((3, 4)) */
static const char *shape_list(struct elab *e, const struct anode *const *a, uint32_t n)
{
	const char *text = text_between(e, a[0], a[n - 1]);

	if (n == 1 && a[0]->kind == A_TUPLE && *text == '(')
		return arena_printf(e->cx->arena, "[%.*s]", (int)strlen(text) - 2, text + 1);
	return n > 1 || a[0]->kind == A_INT ? arena_printf(e->cx->arena, "[%s]", text) : text;
}

/* Is the last argument, which op does not take, an axis? */
static bool is_axis(struct elab *e, const struct op *op, const struct anode *last)
{
	const struct op_sig *sig = op_sig(e->cx, op);

	return last->kind == A_INT &&
	       (op_has_axes(e->cx, op) || (sig->nprops && !strcmp(sig->props[0].name->s, "axis")));
}

const char *meant_call(struct elab *e, uint32_t at)
{
	const struct anode *nodes = e->file->nodes.at, *n = &nodes[at];
	const char *dot = strrchr(n->u.sym->s, '.'), *name = dot ? dot + 1 : n->u.sym->s;
	const struct op *op = meant_op(e, n->u.sym->s);
	uint32_t *kids = new_array(e->cx->arena, uint32_t, n->n + 1), count = 0;
	const struct anode **a = new_array(e->cx->arena, const struct anode *, n->n + 1);
	struct strbuf args = {.arena = e->cx->arena};

	if (n->nprops)
		return NULL;
	add_base(e, at, &args);
	const char *base = args.s;
	elab_children(e, at, kids);
	for (uint32_t i = 0; i < n->n; i++)
		if (n->kind != A_METHOD || nodes[kids[i]].span.begin > n->at.begin)
			a[count++] = &nodes[kids[i]];
	if (base && count == 1 && !strcmp(name, "astype"))
		return cast_instead(e, base, text_between(e, a[0], a[0]));
	if (!op)
		return NULL;
	const struct op_sig *sig = op_sig(e->cx, op);
	uint32_t first = base != NULL; /* x.sum() has one argument more than it shows */
	if (base && count && op == &op_table[OP_Reshape])
		return arena_printf(e->cx->arena, "Reshape(%s, %s)", base, shape_list(e, a, count));
	bool axis = count && count + first == sig->max + 1 && is_axis(e, op, a[count - 1]);
	for (uint32_t i = 0; i < count - axis; i++)
		add_text(e, &args, a[i]->span);
	if (count - axis + first < sig->min || count - axis + first > sig->max || !is_short(&args))
		return NULL;
	return axis ? arena_printf(e->cx->arena, "%s{axis=%s}(%s)", op->name,
				   text_between(e, a[count - 1], a[count - 1]), args.s)
		    : arena_printf(e->cx->arena, "%s(%s)", op->name, args.s ? args.s : "");
}

/* ---- in another form ---- */

/* Eye(3) is Eye(3, 3, 0), and ARange(n) is ARange(0, n, 1), as NumPy's defaults have it. NULL:
 * another op, or number of arguments */
static const char *all_arguments(struct elab *e, const struct op *op, const struct anode *const *a,
				 uint32_t n)
{
	struct arena *arena = e->cx->arena;
	const char *first = n ? text_between(e, a[0], a[0]) : "";

	if (n < 1 || n > 2)
		return NULL;
	if (op == &op_table[OP_Eye])
		return arena_printf(arena, "Eye(%s, %s, 0)", first,
				    n == 1 ? first : text_between(e, a[1], a[1]));
	if (op == &op_table[OP_ARange])
		return n == 1 ? arena_printf(arena, "ARange(0, %s, 1)", first)
			      : arena_printf(arena, "ARange(%s, 1)", text_between(e, a[0], a[1]));
	return NULL;
}

/* Softmax(x, 1) is Softmax{axis=1}(x): all arguments behind those that op takes are literals. NULL:
 * op has no axes, or other properties are given */
static const char *axes_in_braces(struct elab *e, const struct op *op, const struct anode *const *a,
				  uint32_t n, const struct anode *call)
{
	const struct op_sig *sig = op_sig(e->cx, op);
	uint32_t takes = sig->max;

	if (call->nprops || !sig->nprops || !takes)
		return NULL;
	bool axes = sig->props[0].type == P_AXES || !strcmp(sig->props[0].name->s, "axes");
	if ((!axes && strcmp(sig->props[0].name->s, "axis") != 0) || (!axes && n > takes + 1))
		return NULL;
	for (uint32_t i = takes; i < n; i++)
		if (a[i]->kind != A_INT)
			return NULL;
	const char *x = text_between(e, a[0], a[takes - 1]);
	const char *k = text_between(e, a[takes], a[n - 1]);
	return n == takes + 1 ? arena_printf(e->cx->arena, "%s{axis=%s}(%s)", op->name, k, x)
			      : arena_printf(e->cx->arena, "%s{axes=[%s]}(%s)", op->name, k, x);
}

/* range(1, n) in the header of a loop or for is 1:n. true: reported */
bool counts_by_call(struct elab *e, const struct aitem *it)
{
	uint32_t at = it->value.first + it->value.len - 1;
	const struct anode *nodes = e->file->nodes.at, *n = &nodes[at];
	uint32_t *kids = new_array(e->cx->arena, uint32_t, n->n + 1);
	struct strbuf b = {.arena = e->cx->arena};

	if (n->kind != A_CALL || strcmp(n->u.sym->s, "range") != 0 || n->nprops || !n->n ||
	    n->n > 3 || find_fn(e, n->u.sym))
		return false;
	elab_children(e, at, kids);
	sb_str(&b, n->n == 1 ? "0" : "");
	for (uint32_t i = 0; i < n->n; i++)
		sb_printf(&b, "%s%s", b.len ? ":" : "",
			  text_between(e, &nodes[kids[i]], &nodes[kids[i]]));
	elab_error(e, n->span, E_UNKNOWN_OP, "there is no 'range': write %s in %s", it->name->s,
		   b.s);
	return true;
}

/* Join(0, x, y) is Join{axis=0}(x, y), and Cast(x, float32) is Cast{float32}(x). */
static const char *property_in_call(struct elab *e, const struct op *op,
				    const struct anode *const *a, uint32_t n,
				    const struct anode *call, const struct cv *args)
{
	if (op == &op_table[OP_Join] && n > 2 && !call->nprops && args[0].kind == CV_INT)
		return arena_printf(e->cx->arena, "Join{axis=%s}(%s)", text_between(e, a[0], a[0]),
				    text_between(e, a[1], a[n - 1]));
	if (op == &op_table[OP_Cast] && n == 2 && args[1].kind == CV_DTYPE)
		return arena_printf(e->cx->arena, "Cast{%s}(%s)", dtypes[args[1].u.dtype].name,
				    text_between(e, a[0], a[0]));
	return NULL;
}

/* Join{axis=1}([x, y]) is Join{axis=1}(x, y). */
static const char *joined(struct elab *e, const struct op *op, const struct anode *a, uint32_t at,
			  const struct cv *v)
{
	const struct anode *n = &e->file->nodes.at[at];
	struct rewritten r = {{.arena = e->cx->arena}, {.arena = e->cx->arena}};
	struct callee c = {.op = op};
	bool list = v->kind == CV_LIST || v->kind == CV_TUPLE;

	if (op != &op_table[OP_Join] || !list || !v->n || a->span.end < a->span.begin + 2)
		return NULL;
	sort_args(e, c, at, &r);
	const struct source *source = source_of(e->cx, a->span);
	int len = (int)(a->span.end - a->span.begin) - 2;
	return is_short(&r.props) && is_short(&r.args)
		       ? arena_printf(e->cx->arena, "Join{%s}(%.*s)",
				      n->nprops ? r.props.s : "axis=0", len,
				      source->text + (a->span.begin + 1 - source->base))
		       : "Join{axis=0}(x, y)";
}

bool misplaced_arguments(struct elab *e, const struct op *op, uint32_t at, const struct cv *items)
{
	const struct anode *nodes = e->file->nodes.at, *n = &nodes[at];
	const struct op_sig *sig = op_sig(e->cx, op);
	uint32_t nargs = n->n - n->nprops;
	const char *why = "", *instead = NULL;

	bool takes = op == &op_table[OP_Join] || op == &op_table[OP_Cast];
	if (e->frame->library || (nargs >= sig->min && nargs <= sig->max && nargs != 1 && !takes))
		return false;
	uint32_t *kids = new_array(e->cx->scratch, uint32_t, n->n + 1);
	const struct anode **a = new_array(e->cx->scratch, const struct anode *, nargs + 1);
	elab_children(e, at, kids);
	for (uint32_t i = 0; i < nargs; i++)
		a[i] = &nodes[kids[n->nprops + i]];
	if (nargs == 1 && (instead = joined(e, op, a[0], at, &items[n->nprops]))) {
		why = "the tensors are separate arguments";
	} else if ((instead = property_in_call(e, op, a, nargs, n, items + n->nprops))) {
		why = op == &op_table[OP_Join] ? "an axis is a property" : "a dtype is a property";
	} else if (nargs < sig->min && (instead = all_arguments(e, op, a, nargs))) {
		why = "every argument must be written";
	} else if (nargs > sig->max && op == &op_table[OP_Reshape]) {
		why = "a shape is one list";
		instead =
			arena_printf(e->cx->arena, "Reshape(%s, [%s])", text_between(e, a[0], a[0]),
				     text_between(e, a[1], a[nargs - 1]));
	} else if (nargs > sig->max && (instead = axes_in_braces(e, op, a, nargs, n))) {
		why = "an axis is a property";
	}
	if (instead)
		elab_error(e, n->at, E_ARITY, "%s: %s: write %s", op->name, why, instead);
	return instead != NULL;
}
