/*
 * raw.c: raw ONNX nodes, onnx.Gelu{approximate="tanh"}(x) or com.microsoft.X(...). Properties
 * become attributes of the kinds in the operator's schema; weak literals take the dtype that the
 * schema gives their input. Operators of other domains but ai.onnx.ml have no schema. Of what
 * is not ONNX's own the user writes the result types.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "elab/internal.h"
#include "onnx/onnx.h"
#include "target/target.h"

static struct cv report_attr(struct elab *e, const struct cv *v, const char *name, const char *what)
{
	bool large = v->kind == CV_FLOAT && fabs(v->u.f) > FLT_MAX;
	elab_error(e, v->span, E_PROPERTY, "attribute '%s': expected %s but got %s", name, what,
		   large ? "one that float32 does not hold" : cv_kind_name(v));
	return poison(v->span);
}

static bool attr_integer(struct elab *e, const struct cv *v, int64_t *i)
{
	dim d;

	if (v->kind == CV_BOOL)
		*i = v->u.b;
	else if (v->kind == CV_DTYPE)
		*i = dtypes[v->u.dtype].onnx;
	else if (!cv_as_dim(e, v, &d) || !dim_is_const(e->cx, d, i))
		return false;
	return true;
}

static bool attr_real(const struct cv *v, float *f)
{
	if (v->kind == CV_INT)
		*f = v->neg ? -(float)v->u.i : (float)v->u.i;
	else if (v->kind == CV_FLOAT)
		*f = (float)v->u.f;
	else
		return false;
	return !isinf(*f) || v->kind == CV_INT || isinf(v->u.f);
}

/* Element i of a list or tuple. */
static struct cv list_item(const struct cv *v, uint32_t i)
{
	return v->kind == CV_DATA ? cv_of_datum(&v->u.data->at[i], v->span) : v->u.items[i];
}

static bool attr_list_length(const struct cv *v, uint32_t *n)
{
	if (v->kind == CV_DATA && v->u.data->rank == 1)
		*n = v->u.data->count;
	else if (v->kind == CV_LIST || v->kind == CV_TUPLE)
		*n = v->n;
	else
		return false;
	return true;
}

static bool attr_list(struct elab *e, struct attr *a, const struct cv *v)
{
	struct arena *ar = e->cx->arena;
	uint32_t n;

	if (!attr_list_length(v, &n))
		return false;
	int64_t *ints = new_array(ar, int64_t, n + 1);
	float *floats = new_array(ar, float, n + 1);
	struct astr *strs = new_array(ar, struct astr, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		struct cv x = list_item(v, i);
		bool ok = a->kind == AT_INTS     ? attr_integer(e, &x, &ints[i])
			  : a->kind == AT_FLOATS ? attr_real(&x, &floats[i])
						 : x.kind == CV_STR;
		if (!ok)
			return false;
		if (a->kind == AT_STRS)
			strs[i] = *x.u.str;
	}
	a->n = n;
	if (a->kind == AT_INTS)
		a->u.ints = ints;
	else if (a->kind == AT_FLOATS)
		a->u.floats = floats;
	else
		a->u.strs = strs;
	return true;
}

static bool attr_tensor(struct elab *e, struct attr *a, const struct cv *v)
{
	struct value *x = v->kind == CV_VALUE || cv_is_weak(v) || v->kind == CV_BOOL
				  ? to_value(e, v, DT_NONE)
				  : NULL;

	if (!x || !x->data)
		return false;
	a->u.t = x->data;
	return true;
}

/* The kind of an attribute without a schema, from its value. */
static uint8_t guess_kind(const struct cv *v)
{
	uint32_t n;

	switch (v->kind) {
	case CV_INT:
	case CV_BOOL:
	case CV_DTYPE:
	case CV_DIM:
		return AT_INT;
	case CV_FLOAT:
		return AT_FLOAT;
	case CV_STR:
	case CV_SYM:
		return AT_STR;
	case CV_VALUE:
		return AT_TENSOR;
	default:
		if (!attr_list_length(v, &n) || !n)
			return AT_INTS;
		struct cv x = list_item(v, 0);
		return x.kind == CV_FLOAT ? AT_FLOATS : x.kind == CV_STR ? AT_STRS : AT_INTS;
	}
}

static bool set_attr(struct elab *e, struct attr *a, const struct cv *v)
{
	switch (a->kind) {
	case AT_INT:
		return attr_integer(e, v, &a->u.i);
	case AT_FLOAT:
		return attr_real(v, &a->u.f);
	case AT_STR:
		if (v->kind == CV_SYM)
			a->u.s = (struct astr){v->u.sym->s, v->u.sym->len};
		else if (v->kind == CV_STR)
			a->u.s = *v->u.str;
		else
			return false;
		return true;
	case AT_TENSOR:
		return attr_tensor(e, a, v);
	case AT_INTS:
	case AT_FLOATS:
	case AT_STRS:
		return attr_list(e, a, v);
	default:
		return false;
	}
}

static void unknown_attr(struct elab *e, const struct onnx_op *op, struct sym *name, struct span s)
{
	vec(const char *) names = {0};

	for (const struct onnx_attr_spec *a = op->attrs; a && a->kind; a++)
		*vec_push(e->cx->arena, &names) = a->name;
	const char *near = did_you_mean(name->s, names.at, names.len);
	struct diag *d = elab_error(
		e, s, E_PROPERTY, "%s.%s (%s %d) has no attribute '%s'%s%s%s", onnx_prefix(op),
		op->name, op->id ? "opset" : "version", op->id ? e->cx->opt.opset : op->since,
		name->s, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	struct strbuf list = {.arena = e->cx->arena};

	for (uint32_t i = 0; i < names.len; i++)
		sb_printf(&list, "%s%s", i ? ", " : "", names.at[i]);
	if (!near)
		note(e->cx, d, (struct span){0, 0}, names.len ? "it has %s" : "it has none%s",
		     names.len ? list.s : "");
}

#define MAX_ATTRS 1000

static bool raw_attrs(struct elab *e, struct node *n, bool schema, uint32_t at,
		      const struct cv *items)
{
	static const char *const kinds[] = {
		[AT_INT] = "an integer",
		[AT_FLOAT] = "a number",
		[AT_STR] = "a string",
		[AT_TENSOR] = "a constant tensor",
		[AT_INTS] = "a list of integers",
		[AT_FLOATS] = "a list of numbers",
		[AT_STRS] = "a list of strings",
		[AT_GRAPH] = "a graph",
	};
	const struct anode *nodes = e->file->nodes.at;
	uint32_t *kids = new_array(e->cx->arena, uint32_t, nodes[at].n + 1);

	elab_children(e, at, kids);
	if (nodes[at].nprops > MAX_ATTRS) {
		elab_error(e, nodes[at].at, E_LIMIT, "%u attributes: at most %d are possible",
			   nodes[at].nprops, MAX_ATTRS);
		return false;
	}
	n->attrs = new_array(e->cx->arena, struct attr, nodes[at].nprops + 1u + MAX_WRITTEN);
	for (uint32_t i = 0; i < nodes[at].nprops; i++) {
		const struct anode *p = &nodes[kids[i]];
		struct attr *a = &n->attrs[n->nattrs];
		if (!p->u.sym) {
			elab_error(e, p->span, E_PROPERTY,
				   "attributes of ONNX nodes are written name=value");
			return false;
		}
		if (items[i].kind == CV_NONE) /* the attribute is left out */
			continue;
		a->name = p->u.sym->s;
		a->kind = guess_kind(&items[i]);
		if (schema) {
			const struct onnx_attr_spec *spec = onnx_attr(n->onnx, a->name);
			if (!spec) {
				unknown_attr(e, n->onnx, p->u.sym, p->span);
				return false;
			}
			a->kind = spec->kind;
		}
		for (uint32_t k = 0; k < n->nattrs; k++)
			if (!strcmp(n->attrs[k].name, a->name)) {
				elab_error(e, p->span, E_PROPERTY, "attribute '%s' is given twice",
					   a->name);
				return false;
			}
		if (!set_attr(e, a, &items[i])) {
			report_attr(e, &items[i], a->name, kinds[a->kind]);
			return false;
		}
		const char *why = schema ? onnx_attr_wrong(e->cx, n->onnx, a) : NULL;
		if (why) {
			elab_error(e, p->span, E_PROPERTY, "%s.%s: attribute '%s' %s",
				   onnx_prefix(n->onnx), n->onnx->name, a->name, why);
			return false;
		}
		n->nattrs++;
	}
	const char *lacks = schema ? onnx_attrs_finish(e->cx, n) : NULL;
	if (lacks)
		elab_error(e, nodes[at].at, E_PROPERTY, "%s.%s %s", onnx_prefix(n->onnx),
			   n->onnx->name, lacks);
	return !lacks;
}

static const struct onnx_io *input_spec(const struct onnx_op *op, uint32_t i)
{
	if (!op->nin)
		return NULL;
	if (i < op->nin)
		return &op->in[i];
	char r = op->in[op->nin - 1].repeat;
	return r == '*' || r == '+' ? &op->in[op->nin - 1] : NULL;
}

/* The dtype that the schema gives input i, a literal: a fixed type, or that of another input. */
static enum dtype schema_dtype(const struct onnx_op *op, uint32_t i, const struct cv *args,
			       uint32_t nargs)
{
	const struct onnx_io *spec = input_spec(op, i);

	if (!spec)
		return DT_NONE;
	if (dtype_named(spec->type))
		return dtype_named(spec->type);
	for (uint32_t k = 0; k < nargs; k++) {
		const struct onnx_io *other = input_spec(op, k);
		if (other && !strcmp(other->type, spec->type) && args[k].kind == CV_VALUE)
			return args[k].u.v->type.dtype;
	}
	uint32_t set = 0;
	for (const struct onnx_constraint *c = op->constraints; c && c->var; c++)
		if (!strcmp(c->var, spec->type))
			set = c->dtypes;
	/* Pow(2, x): the two inputs have different type variables, but 2 takes the dtype of x */
	for (uint32_t k = 0; k < nargs; k++) {
		enum dtype t =
			args[k].kind == CV_VALUE ? (enum dtype)args[k].u.v->type.dtype : DT_BOOL;
		if (t != DT_BOOL && set >> t & 1)
			return t;
	}
	/* Where(c, 1, 0.5): both have one dtype */
	for (uint32_t k = 0; k < nargs; k++) {
		const struct onnx_io *other = input_spec(op, k);
		if (args[k].kind == CV_FLOAT && other && !strcmp(other->type, spec->type))
			return DT_FLOAT64;
	}
	return set >> DT_INT64 & 1 ? DT_INT64 : DT_NONE;
}

bool is_strings(const struct cv *v)
{
	for (uint32_t i = 0; v->kind == CV_LIST && i < v->n; i++)
		if (v->u.items[i].kind != CV_STR)
			return false;
	return v->kind == CV_STR || (v->kind == CV_LIST && v->n);
}

struct value *string_constant(struct elab *e, const struct cv *v, struct span s)
{
	struct attr *a = new (e->cx->arena, struct attr);

	a->name = v->kind == CV_STR ? "value_string" : "value_strings";
	a->kind = v->kind == CV_STR ? AT_STR : AT_STRS;
	if (!set_attr(e, a, v))
		bug("a list of strings is no attribute of strings");
	return append_onnx(e, ONNX_Constant, NULL, 0, a, s);
}

/* Does the schema let input i be of strings? */
static bool takes_strings(const struct onnx_op *op, uint32_t i)
{
	const struct onnx_io *spec = input_spec(op, i);

	for (const struct onnx_constraint *c = op->constraints; spec && c && c->var; c++)
		if (!strcmp(c->var, spec->type))
			return c->dtypes >> DT_STRING & 1;
	return false;
}

/* Reports that the operator takes no strings as input i, if a later opset lets it. */
static bool report_strings(struct elab *e, const struct onnx_op *op, uint32_t i, struct span s)
{
	int opset = e->cx->opt.opset;

	for (int later = opset + 1; op->id && later <= MAX_OPSET; later++) {
		const struct onnx_op *o = onnx_find(op->id, later);
		if (!o || !takes_strings(o, i))
			continue;
		elab_error(e, s, E_UNSUPPORTED,
			   "onnx.%s takes strings from opset %d on; this is opset %d", op->name,
			   later, opset);
		return true;
	}
	return false;
}

static bool raw_inputs(struct elab *e, struct node *n, bool schema, struct cv *args, uint32_t nargs,
		       struct span s)
{
	const struct onnx_op *op = n->onnx;

	if (!check_input_count(e, nargs, s))
		return false;
	n->in = new_array(e->cx->arena, struct value *, nargs + 1);
	n->nin = (uint16_t)nargs;
	if (schema) {
		uint32_t min = 0;
		for (uint32_t i = 0; i < op->nin; i++)
			min += !op->in[i].repeat || op->in[i].repeat == '+';
		if (nargs < min || (nargs && !input_spec(op, nargs - 1))) {
			uint32_t want = nargs < min ? min : op->nin;
			elab_error(e, s, E_ARITY, "%s.%s takes %s%u input%s but got %u",
				   onnx_prefix(op), op->name,
				   min == op->nin ? ""
				   : nargs < min  ? "at least "
						  : "at most ",
				   want, want == 1 ? "" : "s", nargs);
			return false;
		}
	}
	for (uint32_t i = 0; i < nargs; i++) {
		if (args[i].kind == CV_NONE)
			continue;
		enum dtype want = DT_NONE;
		if (is_strings(&args[i]) && (!schema || takes_strings(op, i))) {
			n->in[i] = string_constant(e, &args[i], args[i].span);
			continue;
		}
		if (is_strings(&args[i]) && report_strings(e, op, i, args[i].span))
			return false;
		bool size = args[i].kind == CV_DIM || args[i].kind == CV_VALUE; /* stays int64 */
		if (schema && cv_is_weak(&args[i]) && !(size && cv_is_int(&args[i]))) {
			want = schema_dtype(op, i, args, nargs);
			if (args[i].kind == CV_FLOAT && is_discrete(want))
				want = DT_NONE;
		}
		n->in[i] = to_value(e, &args[i], want);
		if (!n->in[i])
			return false;
	}
	while (n->nin && !n->in[n->nin - 1])
		n->nin--;
	return true;
}

/* The number of results: that of the targets, if the call is the whole right side of a statement.
 */
static uint32_t count_results(struct elab *e, uint32_t at)
{
	return e->root == at && e->root_file == e->file ? e->nroot : 1;
}

/* x.sum(1) looks like an operator of the domain x. true: x is a value, which was reported */
static bool is_method(struct elab *e, uint32_t at)
{
	const struct anode *n = &e->file->nodes.at[at];
	const char *name = n->u.sym->s;
	size_t len = strcspn(name, ".");

	const struct binding *b = find_value(e, intern(e->cx, name, len));

	if (!b || b->missing)
		return false;
	const char *instead = method_instead(e, at);
	elab_error(e, n->at, E_UNKNOWN_OP, "'%.*s' is a value, which has no method '%s': write %s",
		   (int)len, name, strrchr(name, '.') + 1, instead);
	return true;
}

/* np.exp(x) looks like an operator of the domain np, whose names begin with capitals as ONNX's do.
 * true: reported */
static bool is_of_module(struct elab *e, uint32_t at)
{
	const struct anode *n = &e->file->nodes.at[at];
	const char *name = n->u.sym->s, *dot = strrchr(name, '.');

	if (dot[1] < 'a' || dot[1] > 'z')
		return false;
	const char *instead = dtype_named(dot + 1) ? arena_printf(e->cx->arena, "%s(...)", dot + 1)
						   : meant_call(e, at);
	if (!instead)
		instead = op_instead(e->cx, dot + 1, true);
	if (instead)
		elab_error(e, n->at, E_UNKNOWN_OP, "there is no '%s': write %s", name, instead);
	return instead != NULL;
}

/* The operator of ai.onnx.ml in the version that the model names. Its result types are written. */
static const struct onnx_op *ml_op(struct elab *e, const char *name, struct span s)
{
	uint8_t version = (uint8_t)ml_version(e->cx);
	const struct onnx_op *found = onnx_ml_nearest(name, version);
	const char *names[MAX_ML_NAMES];

	if (found && found->since <= version && version <= found->until) {
		struct onnx_op *op = new (e->cx->arena, struct onnx_op);
		*op = *found;
		op->since = op->until = version;
		return op;
	}
	if (found) {
		bool late = version < found->since;
		elab_error(e, s, E_UNSUPPORTED,
			   "ai.onnx.ml.%s %s version %d of its domain; this is version %d: "
			   "--opset=ai.onnx.ml:%d chooses one that has it",
			   name, late ? "needs" : "ended with", late ? found->since : found->until,
			   version, late ? found->since : found->until);
		return NULL;
	}
	const char *near = did_you_mean(name, names, onnx_ml_names(names));
	elab_error(e, s, E_UNKNOWN_OP, "ai.onnx.ml has no operator '%s'%s%s%s", name,
		   near ? "; did you mean 'ai.onnx.ml." : "", near ? near : "", near ? "'?" : "");
	return NULL;
}

/* Of other domains nothing is known: a model names version 1. */
static const struct onnx_op *foreign_op(struct elab *e, const char *name, struct span s)
{
	const char *dot = strrchr(name, '.');

	const char *domain = arena_strdup(e->cx->arena, name, (size_t)(dot - name));
	const char *near = e->wanted ? NULL : near_alias(e, domain);
	if (near) {
		elab_error(e, s, E_UNKNOWN_OP, "no file is called '%s' here; did you mean '%s%s'?",
			   domain, near, dot);
		return NULL;
	}
	struct onnx_op *op = new (e->cx->arena, struct onnx_op);

	op->domain = domain;
	op->name = dot + 1;
	op->since = op->until = 1;
	return op;
}

static const struct onnx_op *find_operator(struct elab *e, const char *name, struct span s,
					   bool *schema)
{
	size_t ml = strlen(ML_DOMAIN ".");
	if (!strncmp(name, ML_DOMAIN ".", ml) && !strchr(name + ml, '.')) {
		*schema = true;
		return ml_op(e, name + ml, s);
	}
	size_t own = strlen(C_DOMAIN ".");
	if (e->frame->library && !strncmp(name, C_DOMAIN ".", own)) {
		*schema = true;
		return onnx_nearest(onnx_own_named(name + own), 0);
	}
	*schema = !strncmp(name, "onnx.", 5) && !strchr(name + 5, '.');
	if (!*schema)
		return foreign_op(e, name, s);
	int opset = e->cx->opt.opset;
	const struct onnx_op *op = onnx_nearest(onnx_named(name + 5), opset);
	/* the legaliser may replace an operator of the library that this opset lacks */
	if (op && ((op->since <= opset && opset <= op->until) || e->frame->library))
		return op;
	if (op && opset < op->since) {
		elab_error(e, s, E_UNSUPPORTED, "onnx.%s needs opset %d; this is opset %d",
			   op->name, op->since, opset);
		return NULL;
	}
	if (op) {
		elab_error(e, s, E_UNSUPPORTED, "onnx.%s ended with opset %d; this is opset %d",
			   op->name, op->until, opset);
		return NULL;
	}
	const char *const *names;
	size_t n = onnx_names(&names);
	const char *near = did_you_mean(name + 5, names, n);
	elab_error(e, s, E_UNKNOWN_OP, "ONNX has no operator '%s'%s%s%s", name + 5,
		   near ? "; did you mean 'onnx." : "", near ? near : "", near ? "'?" : "");
	return NULL;
}

void check_attr_names(struct elab *e, uint32_t at)
{
	const struct anode *n = &e->file->nodes.at[at];
	const char *name = n->u.sym->s;
	bool schema, own = !strncmp(name, "onnx.", 5) && !strchr(name + 5, '.');
	/* an operator that another opset has may stand in a branch that this one does not take */
	bool known = own && onnx_named(name + 5);
	if (!own && is_method(e, at))
		return;
	const struct onnx_op *op = known ? onnx_nearest(onnx_named(name + 5), e->cx->opt.opset)
					 : find_operator(e, name, n->at, &schema);
	uint32_t *kids = new_array(e->cx->arena, uint32_t, n->n + 1);

	elab_children(e, at, kids);
	for (uint32_t i = 0; op && op->constraints && i < n->nprops; i++) {
		const struct anode *p = &e->file->nodes.at[kids[i]];
		if (p->u.sym && p->kind == A_PROP && !onnx_attr(op, p->u.sym->s))
			unknown_attr(e, op, p->u.sym, p->span);
	}
}

static struct node *new_raw_node(struct elab *e, const struct onnx_op *op, struct span s)
{
	struct node *n = node_new(e->cx, &op_onnx, node_span(e, s));

	n->onnx = op;
	n->lenient = e->frame->library;
	n->by_hand = !e->frame->library;
	n->as_written = n->by_hand && !e->file->optimise;
	return n;
}

struct cv call_onnx(struct elab *e, uint32_t at, struct cv *items)
{
	const struct anode *a = &e->file->nodes.at[at];
	struct span s = a->at;
	bool schema;
	if (is_method(e, at))
		return poison(a->span);
	const struct onnx_op *op = find_operator(e, a->u.sym->s, s, &schema);
	uint32_t count = count_results(e, at);
	bool typed = e->wanted && count == e->nroot && e->root == at;

	if (!op || (!schema && !typed && is_of_module(e, at)))
		return poison(a->span);
	if (schema && count > op->nout && !(op->nout && op->out[op->nout - 1].repeat == '*') &&
	    !(op->nout && op->out[op->nout - 1].repeat == '+')) {
		elab_error(e, s, E_ARITY, "%s.%s has %u results but there are %u names on the left",
			   onnx_prefix(op), op->name, op->nout, count);
		return poison(a->span);
	}
	uint32_t results = count; /* and results without a target that the operator must have */
	while (schema && results < op->nout && !op->out[results].repeat)
		results++;
	struct node *n = new_raw_node(e, op, s);
	uint32_t nargs = a->n - a->nprops;
	struct cv *args = items + a->nprops;
	if (!raw_attrs(e, n, schema, at, items))
		return poison(a->span);
	/* In the library, axes are an input at all opsets: ReduceMax(x, [1]). */
	if (n->lenient && nargs == 2 && op->nin == 1 && onnx_lengths(op) == ONNX_REDUCED_LENGTHS) {
		struct attr *axes = &n->attrs[n->nattrs++];
		*axes = (struct attr){.name = "axes", .kind = AT_INTS};
		if (!set_attr(e, axes, &args[1]))
			bug("axes of onnx.%s: no list of integers", op->name);
		nargs = 1;
	}
	if (!raw_inputs(e, n, schema, args, nargs, s))
		return poison(a->span);
	node_results(e->cx, n, results);
	for (uint32_t i = 0; i < count && typed; i++)
		n->out[i]->type = e->wanted[i];
	graph_append(e->block, n);
	if (e->wanted_wrong && e->root == at)
		return poison(a->span);
	if (!infer_node(e->cx, n))
		return poison(a->span);
	struct cv result = node_result(e, n, a->span);
	if (results == count)
		return result;
	result.n = count;
	return count == 1 ? result.u.items[0] : result;
}

struct cv call_onnx_operator(struct elab *e, const char *name, struct cv *args, uint32_t nargs,
			     const struct anode *a)
{
	bool schema;
	const struct onnx_op *op = find_operator(e, name, a->at, &schema);
	struct node *n = op ? new_raw_node(e, op, a->at) : NULL;

	if (!n || !raw_inputs(e, n, true, args, nargs, a->at))
		return poison(a->span);
	if (a->op == OPR_MOD && is_float((enum dtype)n->in[0]->type.dtype)) {
		/* ONNX has no other remainder of floats */
		n->attrs = new (e->cx->arena, struct attr);
		*n->attrs = (struct attr){.name = "fmod", .kind = AT_INT, .u.i = 1};
		n->nattrs = 1;
	}
	node_results(e->cx, n, 1);
	graph_append(e->block, n);
	return infer_node(e->cx, n) ? node_result(e, n, a->span) : poison(a->span);
}

struct value *append_onnx(struct elab *e, enum onnx_id op, struct value **in, uint32_t nin,
			  struct attr *attr, struct span s)
{
	return graph_onnx(e->cx, e->block, onnx_find(op, e->cx->opt.opset), attr, in, nin,
			  node_span(e, s))
		->out[0];
}
