/*
 * print.c: the file and its header. In: the ONNX graph after all passes. Out: the texts.
 */
#include <stdio.h>
#include <string.h>

#include "c/ops.h"

#define LONG_LOOPS 1400 /* lines of functions: gcc -O3 takes a second for so many */
#define LONG_CODE  3000 /* lines of a run() without such functions */

#define D(id) (1u << DT_##id)
static const struct c_op c_ops[ONNX_COUNT] = {
#define C_OPERATOR(name, dtypes, at, put, shape, reads, view, f, i)                                \
	[ONNX_##name] = {at, put, shape, reads, view, f, i},
#include "target/kernels_c.def"
};

/* The atoms of the lengths of an input become sizes of the struct of inputs. */
static void bind_sizes(struct printer *p, struct interface *f, const struct value *v,
		       const char *name)
{
	for (uint32_t i = 0; i < v->type.rank; i++) {
		dim todo[64] = {v->type.dims[i]};
		for (uint32_t n = 1; n > 0;) {
			dim d = todo[--n];
			struct dim_view view = dim_view_as_made(p->cx, d);
			if (view.form == DIM_CONST)
				continue;
			if (view.form != DIM_ATOM) {
				for (uint32_t k = 0; k < view.nterms && n < 64; k++)
					todo[n++] = view.term[k];
				continue;
			}
			bool start = true;
			if (dim_text(p, d, true, &start))
				continue;
			const char *size =
				fresh(p, view.name ? view.name->s : textf(p, "%s_%u", name, i));
			*vec_push(p->cx->arena, &f->sizes) = (struct size){d, size};
			const char *of = view.name ? textf(p, "size %s", view.name->s)
						   : textf(p, "axis %u of %s", i, name);
			const char *equal = dim_str(p->cx, d);
			bool free = !strcmp(equal, dim_str_as_made(p->cx, d));
			sb_printf(&f->fields_in, "\tint64_t %s; /* %s%s%s */\n", size,
				  in_comment(p, of), free ? "" : ", which must be ",
				  free ? "" : in_comment(p, equal));
			bind_length(p, d, size, true);
		}
	}
}

/* The type of an input, with the sizes as the text names them: each has a field of its own, also
 * where it must be equal to another one. */
static const char *type_in_text(struct printer *p, struct type t)
{
	struct strbuf s = {.arena = p->cx->arena};

	sb_printf(&s, "%s[", dtypes[t.dtype].name);
	for (uint32_t i = 0; i < t.rank; i++)
		sb_printf(&s, "%s%s", i ? ", " : "", dim_str_as_made(p->cx, t.dims[i]));
	sb_str(&s, "]");
	return in_comment(p, s.s);
}

static void add_input(struct printer *p, struct interface *f, const struct value *v)
{
	for (uint32_t i = 0; i < f->in.len; i++)
		if (f->in.at[i].v == v)
			return;
	const char *text = v->name ? v->name->s : "x";
	const char *name = fresh(p, text);
	*vec_push(p->cx->arena, &f->in) = (struct field){.v = v, .name = name, .text = text};
}

static void inputs(struct printer *p, struct interface *f)
{
	const struct graph *g = p->g;

	for (uint32_t i = 0; i < g->block->params.len; i++)
		add_input(p, f, g->block->params.at[i]);
	for (uint32_t i = 0; i < g->states.len; i++)
		add_input(p, f, g->states.at[i].param);
	for (uint32_t i = 0; i < f->in.len; i++) {
		const struct value *v = f->in.at[i].v;
		const char *name = f->in.at[i].name, *type = memory_type(v->type.dtype);
		bind_sizes(p, f, v, name);
		set_lengths(p, v, NULL);
		sb_printf(&f->fields_in,
			  v->type.rank ? "\tconst %s *%s; /* %s */\n" : "\t%s %s; /* %s */\n", type,
			  name, type_in_text(p, v->type));
		struct held *h = held(p, v);
		h->name = name;
		h->where = v->type.rank ? MEMORY : NUMBER;
	}
}

/* Where the type of an output that the caller has room for shows a ?: which lengths these are */
static const char *lengths_said(struct printer *p, const struct value *v)
{
	struct strbuf s = {.arena = p->cx->arena};

	if (!strchr(type_str(p->cx, v->type), '?'))
		return "";
	for (uint32_t k = 0; k < v->type.rank; k++)
		sb_printf(&s, "%s%s", k ? ", " : "; its lengths are ",
			  dim_text(p, v->type.dims[k], false, NULL));
	return in_comment(p, s.s);
}

static void add_output(struct printer *p, struct interface *f, const struct value *v,
		       const char *other)
{
	const char *name, *type = memory_type(v->type.dtype);
	struct field *o;
	bool start = true;

	if (held(p, v)->given) /* one field is enough, as one output of ONNX is */
		return;
	held(p, v)->given = true;
	for (uint32_t k = 0; k < v->type.rank; k++)
		start &= dim_text(p, v->type.dims[k], false, NULL) != NULL;
	bool own = v->def && !held(p, v)->result;
	other = v->name && own ? v->name->s : other;
	name = fresh(p, other);
	o = vec_push(p->cx->arena, &f->out);
	*o = (struct field){.v = v, .name = name, .text = other};
	if (!v->type.rank) {
		sb_printf(&f->fields_out, "\t%s %s;", type, name);
	} else if (start) {
		sb_printf(&f->fields_out, "\t%s *%s;", type, name);
		if (own && !is_single(p->cx, &v->type)) {
			held(p, v)->result = true;
			held(p, v)->name = name;
		}
	} else {
		o->sizes = new_array(p->cx->arena, const char *, v->type.rank);
		for (uint32_t k = 0; k < v->type.rank; k++) {
			o->sizes[k] = fresh(p, textf(p, "%s_%u", name, k));
			sb_printf(&f->fields_out, "\tint64_t %s;\n", o->sizes[k]);
		}
		sb_printf(&f->fields_out, "\tconst %s *%s;", type, name);
		held(p, v)->stored = true;
	}
	sb_printf(&f->fields_out, " /* %s%s */\n", in_comment(p, type_str(p->cx, v->type)),
		  o->sizes ? "; the run sets it and its lengths; it lies in `work`"
			   : lengths_said(p, v));
}

static void outputs(struct printer *p, struct interface *f)
{
	const struct graph *g = p->g;

	for (uint32_t i = 0; i < g->block->results.len; i++)
		add_output(p, f, g->block->results.at[i],
			   g->block->results.at[i]->name ? g->block->results.at[i]->name->s
							 : "result");
	for (uint32_t i = 0; i < g->states.len; i++)
		if (g->states.at[i].next)
			add_output(p, f, g->states.at[i].next,
				   textf(p, "%s_next",
					 g->states.at[i].param->name
						 ? g->states.at[i].param->name->s
						 : "state"));
}

static void put_output(struct printer *p, const struct field *o)
{
	const struct value *v = o->v;
	const struct held *h = held(p, v);
	const char *ix[MAX_RANK], *dims[MAX_RANK];
	enum dtype t = v->type.dtype;
	uint32_t mark = p->once.len;

	p->statement++;
	if (!v->type.rank) {
		line(p, "out->%s = %s;", o->name, to_store(p, t, at(p, v, ix)));
		return;
	}
	if (h->result && h->where == MEMORY && h->name == o->name)
		return;
	for (uint32_t k = 0; k < v->type.rank; k++)
		if (!(dims[k] = dim_text(p, v->type.dims[k], false, NULL)))
			dims[k] = h->dims[k];
	if (o->sizes) {
		for (uint32_t k = 0; k < v->type.rank; k++)
			line(p, "out->%s = %s;", o->sizes[k], dims[k]);
		if (h->where != MEMORY)
			cannot(p, v->def, "has a result of open size that is no array");
		(void)at(p, v, dims); /* the array is in use up to here */
		line(p, "out->%s = %s;", o->name, h->name);
		return;
	}
	uint32_t loops = open_loops(p, dims, v->type.rank, ix);
	const char *s = to_store(p, t, at(p, v, ix));
	line(p, "out->%s[%s] = %s;", o->name, linear(p, dims, v->type.rank, ix), s);
	close_loops(p, loops);
	p->once.len = mark;
}

/* --- the texts --- */

static void print_header(struct printer *p, const struct interface *f, const char *work,
			 struct strbuf *to)
{
	const char *m = p->model;

	sb_printf(to, "/*\n * %s: made by ptgc " PTGC_VERSION ".\n", m);
	sb_printf(to,
		  " *\n"
		  " * %s_run() computes the outputs of the graph from its inputs. It allocates "
		  "nothing and keeps\n"
		  " * nothing: `work` is room for what lies between, aligned as malloc() aligns, "
		  "`bytes` long.\n"
		  " * Arrays are in C order. bool is one byte, 0 or 1; float16 is uint16_t, its "
		  "bits. Names of the\n"
		  " * text are kept; a name of C or C++ has a _ behind it, and a byte that is no "
		  "letter, digit or _\n"
		  " * is _ and two hexadecimal digits.\n"
		  " *\n"
		  " * Returns 0; or %s_MORE, if *need, which it sets, is more than `bytes`; or the "
		  "number of a\n"
		  " * check that did not hold, whose words %s_message() has. An output that has "
		  "its size beside it\n"
		  " * lies in `work`; all other arrays are the caller's. Inputs and outputs must "
		  "not overlap.\n"
		  " */\n",
		  m, m, m);
	sb_printf(to, "#ifndef PTGC_MODEL_%s\n#define PTGC_MODEL_%s\n\n", m, m);
	sb_str(to, "#include <stddef.h>\n#include <stdint.h>\n\n");
	sb_str(to, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
	sb_printf(to, "#define %s_MORE (-1)\n", m);
	if (work)
		sb_printf(to, "#define %s_WORK %s /* bytes of `work`, always */\n", m, work);
	declare_weights(p, to);
	sb_printf(to, "\nstruct %s_in {\n%s};\n", m,
		  f->fields_in.s ? f->fields_in.s : "\tchar unused; /* there are no inputs */\n");
	sb_printf(to, "struct %s_out {\n%s};\n\n", m,
		  f->fields_out.s ? f->fields_out.s
				  : "\tchar unused; /* there are no outputs */\n");
	sb_printf(
		to,
		"int %s_run(const struct %s_in *in, struct %s_out *out, void *work, size_t bytes,\n"
		"\tsize_t *need);\nconst char *%s_message(int number);\n\n",
		m, m, m, m);
	if (flag_is_on(p->cx, FLAG_ENTRY))
		declare_entry(p, to);
	sb_str(to, "#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}

static void print_messages(struct printer *p, struct strbuf *to)
{
	sb_printf(to, "\nconst char *%s_message(int number)\n{\n\tswitch (number) {\n", p->model);
	for (uint32_t i = 0; i < p->messages.at.len; i++) {
		sb_printf(to, "\tcase %u:\n\t\treturn \"", i + 1);
		add_quoted(to, p->messages.at.at[i]->s);
		sb_str(to, "\";\n");
	}
	sb_printf(to,
		  "\tcase %s_MORE:\n\t\treturn \"the workspace is too small\";\n"
		  "\tdefault:\n\t\treturn \"\";\n\t}\n}\n",
		  p->model);
}

/* With these four passes, -Og takes gcc 12 half of the time of -O1, and what it makes of a sampler
 * takes 1.0 to 1.25 of the time. */
#define LESS                                                                                       \
	"\"Og\", \"move-loop-invariants\", \"tree-sra\", \"ssa-phiopt\", \\\n\t\"if-conversion\""
#define NOTHING "\"O0\""

#define IF_GCC "#if defined __GNUC__ && !defined __clang__ && !defined PTGC_O3\n"

static void ask_gcc(struct strbuf *to, const char *request)
{
	sb_printf(to, IF_GCC "#pragma GCC optimize(%s)\n#endif\n", request);
}

static bool has_many_loops(const struct loops *l)
{
	return count_lines(l->functions[LIGHT]) + count_lines(l->functions[COLD]) > LONG_LOOPS;
}

/* gcc takes minutes for the passes that it has at -O3 alone where the code is that long, and gcc 12
 * may fail in one of them. A run() whose loops are functions has little left that gets faster. Of
 * many loops a few do nearly all of the work: these are left at -O3. Many of the others are run
 * only when the run begins or ends: no pass of the optimiser is worth its time for them, nor for a
 * run() that does little more than to call so many functions. */
static void print_code(struct strbuf *to, const struct loops *l, const char *calls,
		       const char *code)
{
	const char *heavy = l->functions[HEAVY], *light = l->functions[LIGHT],
		   *cold = l->functions[COLD];
	bool lengthy = *heavy || count_lines(code) > LONG_CODE;

	sb_str(to, heavy);
	if (!has_many_loops(l))
		sb_printf(to, "%s%s", light, cold);
	if (lengthy)
		sb_str(to, "/* what follows is long: -DPTGC_O3 leaves it at -O3 */\n");
	if (has_many_loops(l)) {
		ask_gcc(to, LESS);
		sb_printf(to, "%s%s" IF_GCC "#pragma GCC push_options\n#endif\n", calls, light);
		ask_gcc(to, NOTHING);
		sb_str(to, cold);
		if (!l->run_is_cold)
			sb_str(to, IF_GCC "#pragma GCC pop_options\n#endif\n");
	} else if (lengthy)
		ask_gcc(to, LESS);
	sb_str(to, code);
}

static bool is_read(struct printer *p, const char *name)
{
	return has_word(p, &p->read, name, strlen(name));
}

/* The lengths that have names and are read. The text of one may read those before it. */
static void print_known_lengths(struct printer *p, struct strbuf *to)
{
	bool *needed = new_array(p->cx->arena, bool, p->known.len);

	for (uint32_t i = p->known.len; i-- > 0;) {
		needed[i] = is_read(p, p->known.at[i].name);
		if (needed[i])
			add_names(p, &p->read, p->known.at[i].text);
	}
	for (uint32_t i = 0; i < p->known.len; i++)
		if (needed[i])
			sb_printf(to, "\tconst int64_t %s = %s;\n", p->known.at[i].name,
				  p->known.at[i].text);
}

static void print_file(struct printer *p, const struct interface *f, const char *checks,
		       struct strbuf *to, const struct strbuf *header)
{
	struct body body = read_body(p, p->out.s ? p->out.s : "");
	drop_unread_lines(p, &body);
	struct loops l = loops_as_functions(p, f, &body);
	const char *lines = placed(p, with_rooms(p, &body));
	struct strbuf run = {.arena = p->cx->arena}, lengths = run;

	print_known_lengths(p, &lengths);
	add_names(p, &p->read, checks);

	sb_printf(
		&run,
		"int %s_run(const struct %s_in *in, struct %s_out *out, void *work, size_t bytes,\n"
		"\tsize_t *need)\n{\n",
		p->model, p->model, p->model);
	size_t head = run.len;
	print_weights(p, lines, &run);
	for (uint32_t i = 0; i < f->sizes.len; i++)
		if (is_read(p, f->sizes.at[i].name))
			sb_printf(&run, "\tconst int64_t %s = in->%s;\n", f->sizes.at[i].name,
				  f->sizes.at[i].name);
	for (uint32_t i = 0; i < f->in.len; i++) {
		const struct value *v = f->in.at[i].v;
		const char *name = f->in.at[i].name, *type = memory_type(v->type.dtype);
		if (!is_read(p, name))
			continue;
		if (v->type.rank)
			sb_printf(&run, "\tconst %s *const %s = in->%s;\n", type, name, name);
		else if (v->type.dtype == DT_FLOAT16)
			sb_printf(&run, "\tconst float %s = ptgc_f16_get(in->%s);\n", name, name);
		else
			sb_printf(&run, "\tconst %s %s = in->%s%s;\n", number_type(v->type.dtype),
				  name, name, v->type.dtype == DT_BOOL ? " != 0" : "");
	}
	if (p->flags)
		sb_str(&run, "\tint bad = 0;\n");
	sb_str(&run, checks);
	sb_str(&run, lengths.s ? lengths.s : "");
	sb_str(&run, lines);
	if (p->flags)
		sb_str(&run, "\treturn bad;\n}\n");
	else
		sb_str(&run, "\treturn 0;\n}\n");
	bool reads = strstr(run.s + head, "in->") != NULL,
	     writes = strstr(run.s + head, "out->") != NULL;
	const char *code = textf(p, "%.*s%s%s%s%s", (int)head, run.s, reads ? "" : "\t(void)in;\n",
				 writes ? "" : "\t(void)out;\n", run.s + head,
				 flag_is_on(p->cx, FLAG_ENTRY) ? entry(p, f) : "");
	const char *texts[] = {l.functions[LIGHT], l.functions[COLD], code}, *calls = "";
	if (has_many_loops(&l)) {
		calls = set_apart(p, texts, countof(texts));
		l.functions[LIGHT] = texts[0];
		l.functions[COLD] = texts[1];
		code = texts[2];
	}
	sb_str(to, "/* Compile with -O3 -ffp-contract=off. */\n");
	if (header)
		sb_str(to, header->s);
	else
		sb_printf(to, "#include \"%s\"\n", p->cx->opt.header_name);
	sb_str(to, "\n#include <math.h>\n#include <stdbool.h>\n#include <string.h>\n\n");
	sb_printf(to, "#define PTGC_MORE (-1)\n");
	if (strstr(code, "PTGC_MOST"))
		sb_str(to, "#define PTGC_MOST (INT64_MAX / 64) /* elements of an array */\n");
	sb_str(to, "\n");
	const char *const all[] = {l.functions[HEAVY], calls, l.functions[LIGHT], l.functions[COLD],
				   code};
	print_library(p, all, countof(all), to);
	print_arrays(p, to);
	print_find_weights(p, to);
	print_code(to, &l, calls, code);
	print_messages(p, to);
}

/* Has no array of that type so many elements that sums and products of its lengths are no numbers,
 * or fewer than none? A size alone was looked at. */
static void check_elements(struct printer *p, const struct field *f, const char *what)
{
	const struct value *v = f->v;
	const char *dims[MAX_RANK];
	uint32_t open = 0;
	bool plain = true;

	for (uint32_t k = 0; k < v->type.rank; k++) {
		enum dim_form form = dim_view(p->cx, v->type.dims[k]).form;
		if (!(dims[k] = dim_text(p, v->type.dims[k], false, NULL)))
			return;
		open += form != DIM_CONST;
		plain &= form == DIM_CONST || form == DIM_ATOM;
	}
	if (!open || (open == 1 && plain))
		return;
	for (uint32_t k = 0; k < v->type.rank; k++)
		if (!plain && dim_view(p->cx, v->type.dims[k]).form != DIM_CONST &&
		    !dim_ge(p->cx, v->type.dims[k], 0))
			line(p, "if (%s < 0)\n\t\treturn %u;", in_parens(p, dims[k]),
			     message(p, v->span,
				     textf(p, "%s %s has a negative length", what, f->text)));
	if (open > 1)
		line(p, "if (%s > PTGC_MOST)\n\t\treturn %u;", room_for(p, dims, v->type.rank),
		     message(p, v->span, textf(p, "%s %s is larger than memory", what, f->text)));
}

/* Before all else: are the sizes that the caller gives those of arrays? */
static const char *check_sizes(struct printer *p, const struct interface *f)
{
	const char *more = textf(p, "%s", p->out.s ? p->out.s : ""); /* of inputs, of these sizes */
	p->out.len = 0;
	for (uint32_t i = 0; i < f->sizes.len; i++) {
		const char *name = f->sizes.at[i].name;
		line(p, "if (%s < 0 || %s > PTGC_MOST)\n\t\treturn %u;", name, name,
		     message(p, (struct span){0, 0}, textf(p, "no array has the size %s", name)));
	}
	sb_str(&p->out, more);
	for (uint32_t i = 0; i < f->in.len; i++)
		check_elements(p, &f->in.at[i], "the input");
	for (uint32_t i = 0; i < f->out.len; i++)
		check_elements(p, &f->out.at[i], "the output");
	const char *checks = textf(p, "%s", p->out.s ? p->out.s : "");
	p->out.len = 0;
	return checks;
}

/* What could not be checked by now will never be. */
static void refuse_waiting(struct printer *p)
{
	for (uint32_t i = 0; i < p->open_checks.len; i++) {
		const struct check *c = p->open_checks.at[i];
		if (c->a != c->b)
			cannot(p, NULL, "cannot check yet that %s", c->message);
	}
}

static void check_header_name(struct printer *p)
{
	const char *name = p->cx->opt.header_name;

	if (name && (strpbrk(name, "\"\\\n") || strstr(name, "??"))) {
		error(p->cx, (struct span){0, 0}, E_OPTION,
		      "no C can include a header with the name %s", name);
		stop(p->cx);
	}
}

void print_c(struct ctx *cx, const struct graph *g, struct strbuf *file, struct strbuf *header,
	     struct weights *weights)
{
	struct printer p = {
		.cx = cx, .g = g, .ops = c_ops, .indent = 1, .statement = 1, .weights = weights};
	struct interface f = {.fields_in = {.arena = cx->arena},
			      .fields_out = {.arena = cx->arena}};
	int64_t work = 0;

	p.of = new_array(cx->arena, struct held, cx->next_id + 1);
	p.out.arena = file->arena = header->arena = cx->arena;
	p.model = mangled(&p, cx->opt.model_name ? cx->opt.model_name
			      : g->name          ? g->name->s
						 : "graph");
	check_header_name(&p);
	take_names_of_file(&p);
	inputs(&p, &f);
	plan(&p);
	outputs(&p, &f);
	const char *checks = check_sizes(&p, &f);
	print_block(&p, g->block);
	refuse_waiting(&p);
	for (uint32_t i = 0; i < f.out.len; i++)
		put_output(&p, &f.out.at[i]);
	choose_weights(&p, &f);
	const char *start = placed(&p, "");
	const char *need = strstr(start, "*need = "), *end = need ? strchr(need, ';') : NULL;
	const char *size = end ? textf(&p, "%.*s", (int)(end - need - 8), need + 8) : "0";
	bool fixed = !p.dynamic && is_number_text(size, &work);
	print_header(&p, &f, fixed ? size : NULL, header);
	print_file(&p, &f, checks, file, cx->opt.header_name ? NULL : header);
}
