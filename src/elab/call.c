/*
 * call.c: calls. In: the operands of an A_CALL or A_OPREF. Out: the results of the call.
 * The callee is looked up in this order: a built-in, a dtype, a property that is a fn, a fn of the
 * user, an op, a raw ONNX operator (a name with a dot), a fn of the library.
 */
#include <string.h>
#include <strings.h>

#include "elab/internal.h"
#include "target/target.h"

static int base64_digit(unsigned char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *p = c ? strchr(digits, c) : NULL;

	return p ? (int)(p - digits) : -1;
}

static struct cv call_bytes(struct elab *e, struct cv *args, uint32_t nargs, struct span s)
{
	if (nargs != 1 || args->kind != CV_STR) {
		elab_error(e, s, E_ARITY, "bytes(...) takes one string of base64");
		return poison(s);
	}
	const struct astr *in = args->u.str;
	struct astr *out = new (e->cx->arena, struct astr);
	char *p = arena_alloc(e->cx->arena, (size_t)in->len / 4 * 3 + 4);
	uint32_t bits = 0, nbits = 0, pad = 0;
	out->s = p;
	for (uint32_t i = 0; i < in->len; i++) {
		int d = base64_digit((unsigned char)in->s[i]);
		if (in->s[i] == '=' && i + 2 >= in->len) {
			pad++;
			continue;
		}
		if (d < 0 || pad) {
			elab_error(e, args->span, E_LITERAL, "byte %u of the string is not base64",
				   i + 1);
			return poison(s);
		}
		bits = bits << 6 | (uint32_t)d;
		nbits += 6;
		if (nbits >= 8) {
			nbits -= 8;
			*p++ = (char)(bits >> nbits);
		}
	}
	if ((in->len & 3) != 0 || (bits & ((1u << nbits) - 1))) {
		elab_error(e, args->span, E_LITERAL, "the base64 string is cut short");
		return poison(s);
	}
	out->len = (uint32_t)(p - out->s);
	return (struct cv){.kind = CV_BYTES, .span = s, .u.str = out};
}

static struct cv call_file(struct elab *e, struct cv *args, uint32_t nargs, struct span s)
{
	if (nargs < 1 || nargs > 2 || args[0].kind != CV_STR ||
	    (nargs == 2 && args[1].kind != CV_STR)) {
		elab_error(e, s, E_ARITY,
			   "file(...) takes a path and, for .safetensors, a tensor's name");
		return poison(s);
	}
	const char *path = file_name(e->cx, args[0].u.str, args[0].span);
	const char *name = nargs < 2 ? NULL : file_name(e->cx, args[1].u.str, args[1].span);
	if (!path || (nargs == 2 && !name))
		return poison(s);
	struct tensor *t = file_tensor(e->cx, e->file->source, s, path, name);

	return t ? cv_value(graph_constant(e->cx, t, node_span(e, s)), s) : poison(s);
}

/* dtype(x), rank(x): known at compile time. */
static struct cv call_query(struct elab *e, bool rank, struct cv *args, uint32_t nargs,
			    struct span s)
{
	if (nargs != 1) {
		elab_error(e, s, E_ARITY, "%s(...) takes one value but got %u",
			   rank ? "rank" : "dtype", nargs);
		return poison(s);
	}
	struct value *v = to_value(e, args, DT_NONE);
	if (!v || !v->type.dtype)
		return poison(s);
	if (rank)
		return cv_int(v->type.rank, s);
	return (struct cv){.kind = CV_DTYPE, .span = s, .u.dtype = v->type.dtype};
}

/* flag("name"): is -fname on? flag("float64"): does the target have float64? flag("float32"): is
 * --float32 given? flag("c"): is the target c? flag("bitwise"): does the opset have BitwiseAnd?
 * Known at compile time. */
static struct cv call_flag(struct elab *e, struct cv *args, uint32_t nargs, struct span s)
{
	const char *names[NUMERICS_COUNT], *name, *near;

	if (nargs != 1 || args[0].kind != CV_STR) {
		elab_error(e, s, E_ARITY,
			   "flag(...) takes the name of a flag, as in "
			   "flag(\"check-dims\")");
		return poison(s);
	}
	name = arena_strdup(e->cx->arena, args[0].u.str->s, args[0].u.str->len);
	for (size_t i = 0; i < NUMERICS_COUNT; i++) {
		names[i] = numerics[i].name;
		if (!strcmp(name, names[i]))
			return (struct cv){.kind = CV_BOOL,
					   .span = s,
					   .u.b = ((const bool *)&e->cx->opt)[numerics[i].at]};
	}
	if (!strcmp(name, "float64"))
		return (struct cv){
			.kind = CV_BOOL, .span = s, .u.b = e->cx->opt.target != PTGC_PORTABLE};
	if (!strcmp(name, "c"))
		return (struct cv){.kind = CV_BOOL, .span = s, .u.b = e->cx->opt.target == PTGC_C};
	if (!strcmp(name, "bitwise"))
		return (struct cv){.kind = CV_BOOL, .span = s, .u.b = e->cx->opt.opset >= 18};
	if (!strcmp(name, "float32"))
		return (struct cv){.kind = CV_BOOL, .span = s, .u.b = e->cx->opt.float32};
	near = did_you_mean(name, names, NUMERICS_COUNT);
	elab_error(e, args[0].span, E_OPTION, "there is no flag \"%s\" of numerics%s%s%s", name,
		   near ? ", did you mean \"" : "", near ? near : "", near ? "\"?" : "");
	return poison(s);
}

/*
 * native("Tan", x): is Tan(x) to be ONNX's operator as it is? -fnative-functions is on, and the
 * target has a kernel for the dtype of x; float16 is computed in float32 where it has none.
 */
static struct cv call_native(struct elab *e, struct cv *args, uint32_t nargs, struct span s)
{
	enum onnx_id id = ONNX_NONE;

	if (nargs == 2 && args[0].kind == CV_STR)
		id = onnx_named(arena_strdup(e->cx->arena, args[0].u.str->s, args[0].u.str->len));
	if (!id) {
		elab_error(e, s, E_ARITY,
			   "native(...) takes the name of an operator of ONNX and a value, as in "
			   "native(\"Tan\", x)");
		return poison(s);
	}
	struct value *v = to_value(e, &args[1], DT_NONE);
	if (!v || !v->type.dtype)
		return poison(s);
	enum dtype t = (enum dtype)v->type.dtype;
	if (t == DT_FLOAT16)
		t = DT_FLOAT32;
	bool native = e->cx->opt.native_functions && find_kernel(e->cx, id, t, 1);
	return (struct cv){.kind = CV_BOOL, .span = s, .u.b = native};
}

/*
 * nonnegative(x): is it certain, while compiling, that no element of x is below 0 or is -0? NaN may
 * be among them. Asked in the library of what the nodes before it gave.
 */
static struct cv call_nonnegative(struct elab *e, struct cv *args, uint32_t nargs, struct span s)
{
	if (nargs != 1) {
		elab_error(e, s, E_ARITY, "nonnegative(...) takes one value but got %u", nargs);
		return poison(s);
	}
	struct value *v = to_value(e, args, DT_NONE);
	if (!v || !v->type.dtype)
		return poison(s);
	return (struct cv){.kind = CV_BOOL,
			   .span = s,
			   .u.b = sign_of(v->lowered ? v->lowered : v) == SIGN_NON_NEGATIVE};
}

/* constant(n, 16): is the length n known while compiling, and at most 16? */
static struct cv call_constant(struct elab *e, struct cv *args, uint32_t nargs, struct span s)
{
	int64_t n, most;
	dim d[2];

	if (nargs != 2) {
		elab_error(e, s, E_ARITY, "constant(...) takes a length and a number but got %u",
			   nargs);
		return poison(s);
	}
	for (int i = 0; i < 2; i++)
		if (!bound_dim(e, &args[i], &d[i]))
			return poison(s);
	return (struct cv){.kind = CV_BOOL,
			   .span = s,
			   .u.b = dim_is_const(e->cx, d[0], &n) &&
				  dim_is_const(e->cx, d[1], &most) && n <= most};
}

static bool is_word(const struct sym *s, const char *word)
{
	return !strcmp(s->s, word);
}

static bool call_builtin(struct elab *e, struct sym *name, struct cv *args, uint32_t nargs,
			 struct span s, struct cv *result)
{
	if (is_word(name, "file"))
		*result = call_file(e, args, nargs, s);
	else if (is_word(name, "bytes"))
		*result = call_bytes(e, args, nargs, s);
	else if (is_word(name, "flag"))
		*result = call_flag(e, args, nargs, s);
	else if (is_word(name, "native"))
		*result = call_native(e, args, nargs, s);
	else if (is_word(name, "nonnegative"))
		*result = call_nonnegative(e, args, nargs, s);
	else if (is_word(name, "constant"))
		*result = call_constant(e, args, nargs, s);
	else if (is_word(name, "rational"))
		*result = call_rational(e, args, nargs, s);
	else if (is_word(name, "dtype") || is_word(name, "rank"))
		*result = call_query(e, is_word(name, "rank"), args, nargs, s);
	else
		return false;
	return true;
}

/* max(n-1, 0) and min(n, d) of sizes and integers are sizes, as n+1 is. false: the name is another
 * one, or an argument is a tensor, for which there are Maximum and Max. */
static bool call_of_sizes(struct elab *e, struct sym *name, const struct cv *args, uint32_t nargs,
			  struct span s, struct cv *result)
{
	bool max = is_word(name, "max");
	dim d = DIM_NONE, next;

	if ((!max && !is_word(name, "min")) || nargs < 2)
		return false;
	for (uint32_t i = 0; i < nargs; i++) {
		if ((args[i].kind != CV_DIM && args[i].kind != CV_INT) ||
		    !cv_as_dim(e, &args[i], &next))
			return false;
		d = !i ? next : max ? dim_max(e->cx, d, next) : dim_min(e->cx, d, next);
	}
	*result = cv_dim(d, s);
	return true;
}

/* ---- properties ---- */

static struct prop_arg *prop_args(struct elab *e, uint32_t at, const struct cv *items)
{
	const struct anode *nodes = e->file->nodes.at;
	uint32_t n = nodes[at].nprops;

	if (!n)
		return &e->no_props;
	uint32_t *kids = new_array(e->cx->arena, uint32_t, nodes[at].n + 1);
	struct prop_arg *args = new_array(e->cx->arena, struct prop_arg, n + 1);

	elab_children(e, at, kids);
	for (uint32_t i = 0; i < n; i++) {
		const struct anode *p = &nodes[kids[i]];
		if (items[i].kind == CV_POISON)
			return NULL;
		args[i].name = p->kind == A_PROP ? p->u.sym : NULL;
		args[i].value = items[i];
		args[i].span = p->span;
	}
	return args;
}

/* Dtypes and built-ins take no properties. false: reported */
static bool check_no_props(struct elab *e, uint32_t at, const struct cv *items)
{
	const struct anode *n = &e->file->nodes.at[at];

	if (n->nprops)
		elab_error(e, prop_args(e, at, items)[0].span, E_PROPERTY,
			   "%s(...) takes no properties", n->u.sym->s);
	return !n->nprops;
}

static bool has_poison(const struct cv *items, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (items[i].kind == CV_POISON)
			return true;
	return false;
}

/* ---- ops and fns ---- */

/* What to write, for the axis that the call names: "Sum{axis=1}(x)" for reduce_sum{axis=1}(x) */
static const char *with_axis(struct elab *e, uint32_t at, const char *instead)
{
	static const char plain[] = "axis=0";
	const struct anode *nodes = e->file->nodes.at;
	uint32_t *kids = new_array(e->cx->arena, uint32_t, nodes[at].n + 1);
	const char *axis = NULL, *hit;
	struct strbuf b = {.arena = e->cx->arena};

	elab_children(e, at, kids);
	for (uint32_t i = 0; i < nodes[at].nprops; i++) {
		const struct anode *p = &nodes[kids[i]];
		if (p->kind != A_PROP || !p->u.sym || /* a bare value */
		    (strcmp(p->u.sym->s, "axis") != 0 && strcmp(p->u.sym->s, "axes") != 0 &&
		     strcmp(p->u.sym->s, "dim") != 0))
			continue;
		const struct source *src = source_of(e->cx, p->span);
		const char *text =
			arena_strdup(e->cx->arena, src->text + (p->span.begin - src->base),
				     p->span.end - p->span.begin);
		axis = strchr(text, '=') + 1;
	}
	if (!axis)
		return instead;
	for (; (hit = strstr(instead, plain)) != NULL; instead = hit + strlen(plain))
		sb_printf(&b, "%.*saxis=%s", (int)(hit - instead), instead,
			  axis + strspn(axis, " "));
	sb_str(&b, instead);
	return b.s;
}

/* Is it the op of `onnx / Gather(x, i)`, which is meant as onnx.Gather(x, i)? */
static bool stands_behind_onnx(struct elab *e, struct span s)
{
	const struct source *from = source_of(e->cx, s);
	uint32_t i = s.begin - from->base, end;

	for (end = i; i && strchr(" /*+-@%&|^<>=!,", from->text[i - 1]);)
		i--;
	return i >= 4 && i < end && !memcmp(from->text + i - 4, "onnx", 4) &&
	       (i == 4 || strchr(" (,\n", from->text[i - 5]));
}

/* The fn of the text whose name differs in the case of letters only; NULL: there is none */
static const char *fn_but_for_case(struct elab *e, const struct sym *name)
{
	for (uint32_t i = 0; i < e->used.len; i++)
		for (struct fn *f = e->used.at[i]->fns; f; f = f->next)
			if (f->file->module == e->file->module && !strcasecmp(f->name->s, name->s))
				return f->name->s;
	return NULL;
}

static void report_unknown_op(struct elab *e, uint32_t at)
{
	struct sym *name = e->file->nodes.at[at].u.sym;
	struct span s = e->file->nodes.at[at].at;
	vec(const char *) names = {0};
	const char *dot = strrchr(name->s, '.');

	if (e->frame->library)
		bug("fn '%s' of the library names '%s', which is neither an op nor a fn",
		    e->frame->fn->name->s, name->s);
	if (e->fns_missing && !dot) /* a file that could not be read may define it */
		return;
	if (stands_behind_onnx(e, s)) {
		bind_missing(e, intern_str(e->cx, "onnx"), s);
		elab_error(e, s, E_UNKNOWN_OP, "unknown op '%s'; did you mean 'onnx.%s'?", name->s,
			   name->s);
		return;
	}
	if (dot && (!strcmp(dot, ".set") || !strcmp(dot, ".inc"))) {
		elab_error(e, s, E_UNKNOWN_OP, "index first: %.*s[...]%s(v)", (int)(dot - name->s),
			   name->s, dot);
		return;
	}
	if (find_value(e, name)) {
		elab_error(e, s, E_UNKNOWN_OP,
			   "'%s' is a value, not an op: write %s[0] for an element, and %s * (...) "
			   "for a product",
			   name->s, name->s, name->s);
		return;
	}
	if (e->in_dim && (is_word(name, "max") || is_word(name, "min"))) {
		elab_error(e, s, E_ARITY, "%s takes two sizes or more: %s(n, 1)", name->s, name->s);
		return;
	}
	const struct anode *n = &e->file->nodes.at[at];
	bool max = is_word(name, "max");
	if ((max || is_word(name, "min")) && n->n - n->nprops > 1) {
		elab_error(e, s, E_EXPRESSION,
			   "%s takes sizes, and integers known at compile time: of tensors write "
			   "%s(x, y)",
			   name->s, max ? "Maximum" : "Minimum");
		return;
	}
	bool hint = e->cx->errors < MAX_HINTS;
	const char *instead = hint ? aliased_name(e, name) : NULL;
	const char *own = hint ? fn_but_for_case(e, name) : NULL;
	if (own) {
		elab_error(e, s, E_UNKNOWN_OP, "unknown op '%s'; did you mean '%s'?", name->s, own);
		return;
	}
	if (hint && !instead)
		instead = op_instead(e->cx, dot ? dot + 1 : name->s, false);
	if (instead) {
		elab_error(e, s, E_UNKNOWN_OP, "unknown op '%s': write %s", name->s,
			   with_axis(e, at, instead));
		return;
	}
	const char *dtype = near_dtype(name->s);
	if (dtype && !did_you_mean(name->s, &dtype, 1)) { /* f32(0.5) */
		elab_error(e, s, E_UNKNOWN_OP, "unknown op '%s': write %s(...)", name->s, dtype);
		return;
	}
	for (uint32_t i = 0; hint && i < op_count; i++)
		*vec_push(e->cx->arena, &names) = op_table[i].name;
	for (uint32_t i = 0; hint && i < e->used.len; i++)
		for (struct fn *f = e->used.at[i]->fns; f; f = f->next)
			if (f->file->module == e->file->module)
				*vec_push(e->cx->arena, &names) = f->name->s;
	for (enum dtype t = DT_NONE + 1; t < DT_COUNT; t++)
		*vec_push(e->cx->arena, &names) = dtypes[t].name;
	for (uint32_t i = 0; name->s[0] >= 'a' && builtins[i]; i++) /* not Tile -> file */
		*vec_push(e->cx->arena, &names) = builtins[i];
	const char *near = did_you_mean(name->s, names.at, names.len);
	struct diag *d = near ? elab_error(e, s, E_UNKNOWN_OP,
					   "unknown op '%s'; did you mean '%s'?", name->s, near)
			      : elab_error(e, s, E_UNKNOWN_OP, "unknown op '%s'", name->s);
	if (!near)
		note(e->cx, d, (struct span){0, 0}, "'ptgc --ops' lists all ops");
}

static bool is_callable(struct elab *e, struct sym *name)
{
	return find_fn(e, name) || name->op || name->dtype || is_builtin(name->s) ||
	       is_word(name, "max") || is_word(name, "min") || /* of sizes */
	       strchr(name->s, '.') || find_value(e, name) || lib_fn(e->cx, name->s);
}

static struct cv call_fn(struct elab *e, struct fn *f, uint32_t at, struct cv *items, struct span s)
{
	const struct anode *n = &e->file->nodes.at[at];
	struct prop_arg *props = prop_args(e, at, items);
	struct cv *results = new_array(e->cx->arena, struct cv, f->nresults + 1);
	struct cv *given = props ? given_props(e, f, props, n->nprops) : NULL;
	struct cv *args = items + n->nprops;
	uint32_t nargs = n->n - n->nprops;

	if (given && has_names(e, at)) {
		args = named_args(e, f, at, items);
		nargs = f->nparams;
	}
	if (!given || !args || !expand_call(e, f, s, given, args, nargs, results))
		return poison(n->span);
	if (f->nresults == 1) {
		results[0].span = s;
		return results[0];
	}
	return (struct cv){.kind = CV_MULTI, .n = f->nresults, .span = s, .u.items = results};
}

static struct cv call_op_node(struct elab *e, const struct op *op, uint32_t at, struct cv *items,
			      struct span s)
{
	const struct anode *n = &e->file->nodes.at[at];
	struct prop_arg *args = prop_args(e, at, items);

	if (!args || misplaced_arguments(e, op, at, items))
		return poison(s);
	struct cv *props = bind_props(e->cx, op, s, args, n->nprops);
	if (!props)
		return poison(s);
	struct cv r = function_of_literals(e, op, items + n->nprops, n->n - n->nprops, n->span);
	return r.kind != CV_NONE ? r
				 : call_op(e, op, props, items + n->nprops, n->n - n->nprops, s);
}

/* The fn of the library or of a property that a call with names of arguments calls; NULL: none */
static struct fn *called_fn(struct elab *e, const struct anode *n)
{
	struct sym *name = n->u.sym;

	if (n->flags & AF_QUOTED || is_builtin(name->s) || name->op || strchr(name->s, '.'))
		return NULL;
	struct binding *b = find_value(e, name);
	if (b)
		return b->kind == CV_OP ? b->u.cv->u.op->fn : NULL;
	return lib_fn(e->cx, name->s);
}

/* A call whose arguments or properties are not known: their names and number */
static void check_call(struct elab *e, uint32_t at, struct cv *items)
{
	const struct anode *n = &e->file->nodes.at[at];
	struct sym *name = n->u.sym;
	uint32_t nargs = n->n - n->nprops, *kids = new_array(e->cx->arena, uint32_t, n->n + 1);
	struct prop_arg *props = new_array(e->cx->arena, struct prop_arg, n->nprops + 1u);

	if (n->flags & AF_QUOTED || name->dtype || find_value(e, name))
		return;
	elab_children(e, at, kids);
	for (uint32_t i = 0; i < n->nprops; i++) {
		const struct anode *p = &e->file->nodes.at[kids[i]];
		props[i].name = p->kind == A_PROP ? p->u.sym : NULL;
		props[i].span = p->span;
	}
	struct fn *f;
	if (find_through_alias(e, n, &f) && !f)
		return;
	if (!f)
		f = find_fn(e, name);
	if (!f && !name->op)
		f = lib_fn(e->cx, name->s);
	if (has_names(e, at) && !f) {
		refuse_names(e, at);
	} else if (f) {
		if (!check_recursion(e, f, n->span) || !given_props(e, f, props, n->nprops))
			return;
		if (has_names(e, at))
			named_args(e, f, at, items);
		else
			check_arity(e, f, nargs, n->span);
	} else if (name->op) {
		if (check_prop_names(e->cx, name->op, props, n->nprops) &&
		    !takes_list(e->cx, name->op))
			op_takes(e->cx, name->op, nargs, n->at);
	} else if (strchr(name->s, '.')) {
		check_attr_names(e, at);
	}
}

struct cv eval_call(struct elab *e, uint32_t at, struct cv *items)
{
	const struct anode *n = &e->file->nodes.at[at];
	struct sym *name = n->u.sym;
	struct cv *args = items + n->nprops, result;
	uint32_t nargs = n->n - n->nprops;
	bool quoted = n->flags & AF_QUOTED;

	if (has_poison(items, n->n)) {
		all_defined(e, args, nargs);
		if (!is_callable(e, name))
			report_unknown_op(e, at);
		else if (e->checking)
			check_call(e, at, items);
		return poison(n->span);
	}
	struct fn *user; /* none of the user's is seen in the library */
	if (find_through_alias(e, n, &user) && !user)
		return poison(n->span);
	if (!user)
		user = find_fn(e, name);
	if (has_names(e, at) && !user && !called_fn(e, n)) {
		if (!refuse_names(e, at))
			report_unknown_op(e, at);
		return poison(n->span);
	}
	if (!quoted && !user && is_builtin(name->s) && !check_no_props(e, at, items))
		return poison(n->span);
	if (!quoted && !user && call_builtin(e, name, args, nargs, n->span, &result))
		return result;
	if (!quoted && !user && !n->nprops && call_of_sizes(e, name, args, nargs, n->span, &result))
		return result;
	if (!all_defined(e, args, nargs)) {
		if (!is_callable(e, name))
			report_unknown_op(e, at);
		return poison(n->span);
	}
	struct binding *b = quoted || name->op ? NULL : find_value(e, name);
	if (!quoted && (name->dtype || (b && b->kind == CV_DTYPE))) {
		if (b)
			b->used = true;
		if (!check_no_props(e, at, items))
			return poison(n->span);
		return elab_construct(e, name->dtype ? name->dtype : b->u.cv->u.dtype, NULL, 0,
				      false, args, nargs, n->span);
	}
	if (b && b->kind == CV_OP) { /* a property of kind fn */
		if (!check_no_props(e, at, items))
			return poison(n->span);
		b->used = true;
		if (has_names(e, at) && !b->u.cv->u.op->fn) {
			refuse_names(e, at);
			return poison(n->span);
		}
		if (has_names(e, at)) {
			args = named_args(e, b->u.cv->u.op->fn, at, items);
			nargs = b->u.cv->u.op->fn->nparams;
		}
		return args ? call_ref(e, b->u.cv, args, nargs, n->span) : poison(n->span);
	}
	if (user)
		return call_fn(e, user, at, items, n->span);
	if (name->op)
		return call_op_node(e, name->op, at, items, n->at);
	if (strchr(name->s, '.')) {
		const char *dot = strrchr(name->s, '.');
		if (strcmp(dot, ".set") && strcmp(dot, ".inc"))
			return call_onnx(e, at, items);
	}
	const char *of = e->frame->library ? NULL : lib_of(name->s);
	struct fn *f = lib_fn(e->cx, name->s);
	if (f && (!of || uses_library(e, of)))
		return call_fn(e, f, at, items, n->span);
	const char *qualified = f ? aliased_name(e, name) : NULL;
	if (f && !qualified) {
		if (!e->fns_missing)
			elab_error(e, n->at, E_UNKNOWN_OP,
				   "'%s' is part of a library: write use <%s> above the graph",
				   name->s, of);
		return poison(n->span);
	}
	report_unknown_op(e, at);
	return poison(n->span);
}

/* Cholesky{lower=True} as a property. */
struct cv eval_opref(struct elab *e, uint32_t at, struct cv *items)
{
	const struct anode *n = &e->file->nodes.at[at];
	struct sym *name = n->u.sym;
	struct prop_arg *args = prop_args(e, at, items);
	struct binding *b = name->op ? NULL : find_value(e, name);

	if (!args)
		return poison(n->span);
	if (b && b->kind == CV_POISON)
		return poison(n->span);
	if (b && b->kind == CV_OP) { /* a property of kind fn: it has its own properties */
		b->used = true;
		return check_no_props(e, at, items) ? *b->u.cv : poison(n->span);
	}
	struct opref *r = new (e->cx->arena, struct opref);
	r->name = name;
	/* as in eval_call() */
	bool aliased = find_through_alias(e, n, &r->fn);
	if (aliased && !r->fn)
		return poison(n->span);
	if (!aliased)
		r->fn = !e->frame->library ? find_fn(e, name)
			: !name->op        ? lib_fn(e->cx, name->s)
					   : NULL;
	r->op = r->fn ? NULL : name->op;
	if (!r->fn && !r->op) {
		report_unknown_op(e, at);
		return poison(n->span);
	}
	r->props = r->fn ? given_props(e, r->fn, args, n->nprops)
			 : bind_props(e->cx, r->op, n->at, args, n->nprops);
	if (!r->props)
		return poison(n->span);
	return (struct cv){.kind = CV_OP, .span = n->span, .u.op = r};
}
