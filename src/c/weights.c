/*
 * weights.c: constants that are read as arrays: in the file of C, or in a file of weights, which
 * the caller maps and gives to run(). In: the arrays that the body reads. Out: their definitions,
 * and what finds them in the file.
 */
#include <string.h>

#include "c/internal.h"

/* Bytes of arrays as text: compilers take a second for so many. */
#define MOST_AS_TEXT ((uint64_t)1 << 20)
#define CHECK_SIZE   8 /* of the number at the end of the file */

static uint64_t least_size(const struct options *opt)
{
	return opt->external_threshold > EXTERNAL_MIN ? opt->external_threshold : EXTERNAL_MIN;
}

static bool are_external(const struct printer *p)
{
	const struct options *opt = &p->cx->opt;
	uint64_t limit = opt->model_limit ? opt->model_limit : MOST_AS_TEXT, sum = 0;

	for (uint32_t i = 0; i < p->constants.len; i++) {
		uint64_t size = tensor_size(p->constants.at[i].v->data);
		sum += size >= least_size(opt) ? size : 0;
	}
	return opt->external_name && (opt->external ? sum > 0 : sum > limit);
}

static void add_fields(struct printer *p, struct interface *f)
{
	sb_printf(&f->fields_in,
		  "\tconst void *%s; /* the file %s_WEIGHTS, mapped or read */\n"
		  "\tsize_t %s_bytes; /* its length, which must be %s_WEIGHTS_BYTES */\n",
		  p->weights_name, p->model, p->weights_name, p->model);
}

void choose_weights(struct printer *p, struct interface *f)
{
	struct options *opt = &p->cx->opt;
	struct weights *w = p->weights;

	if (!are_external(p))
		return;
	for (uint32_t i = 0; i < p->constants.len; i++) {
		struct constant *c = &p->constants.at[i];
		if (tensor_size(c->v->data) < least_size(opt))
			continue;
		c->external = true;
		c->place = add_weight(p->cx, w, c->v->data);
	}
	end_weights(p->cx, w);
	opt->external_name = name_with_hash(p->cx, opt->external_name, w->check);
	p->weights_name = fresh(p, "weights");
	add_word(p, &p->taken, textf(p, "%s_bytes", p->weights_name),
		 strlen(p->weights_name) + strlen("_bytes"));
	add_fields(p, f);
}

static void print_array(struct printer *p, const struct value *v, struct strbuf *to)
{
	const struct tensor *t = v->data;

	sb_printf(to, "static const %s %s[%llu] = {", memory_type(t->dtype), held(p, v)->name,
		  (unsigned long long)(t->count ? t->count : 1));
	for (uint64_t i = 0; i < t->count; i++) {
		sb_str(to, i % 8 ? " " : "\n\t");
		if (t->dtype == DT_FLOAT16)
			sb_printf(to, "%u", half_from_double(tensor_float(t, i)));
		else if (t->dtype == DT_BOOL)
			sb_str(to, *(const uint8_t *)tensor_element(t, i) ? "1" : "0");
		else
			put_literal(to, t, i);
		sb_str(to, ",");
	}
	sb_str(to, t->count ? "\n};\n" : "0};\n");
}

void print_arrays(struct printer *p, struct strbuf *to)
{
	bool some = false;

	for (uint32_t i = 0; i < p->constants.len; i++) {
		const char *name = held(p, p->constants.at[i].v)->name;
		if (p->constants.at[i].external || !has_word(p, &p->read, name, strlen(name)))
			continue;
		print_array(p, p->constants.at[i].v, to);
		some = true;
	}
	if (some)
		sb_str(to, "\n");
}

void declare_weights(struct printer *p, struct strbuf *to)
{
	if (!p->weights->bytes)
		return;
	sb_printf(
		to,
		"\n/* The file of weights. A call gets all its bytes, aligned as malloc() aligns. "
		"*/\n#define %s_WEIGHTS \"",
		p->model);
	add_quoted(to, p->cx->opt.external_name);
	sb_printf(to, "\"\n#define %s_WEIGHTS_BYTES %llu\n", p->model,
		  (unsigned long long)p->weights->bytes);
}

void print_find_weights(struct printer *p, struct strbuf *to)
{
	const char *m = p->model, *w = p->weights_name, *file = p->cx->opt.external_name;
	struct span nowhere = {0, 0};

	if (!p->weights->bytes)
		return;
	uint32_t none = message(p, nowhere,
				textf(p,
				      "%s and %s_bytes must be the file %s, aligned to 8 bytes, "
				      "and its length, %llu",
				      w, w, file, (unsigned long long)p->weights->bytes));
	uint32_t wrong =
		message(p, nowhere,
			textf(p,
			      "%s is another file than %s, or a part of it, or this machine is not "
			      "little endian",
			      w, file));
	sb_printf(to,
		  "#ifdef PTGC_LINKED /* the program has the bytes of the file, for calls without "
		  "%s */\n"
		  "extern const unsigned char %s_weights[%s_WEIGHTS_BYTES];\n"
		  "#endif\n\n",
		  w, m, m);
	sb_printf(to,
		  "/* Sets *at to the file of weights. Its last bytes are a number that no other "
		  "file has. */\n"
		  "static int %s_find_weights(const struct %s_in *in, const unsigned char **at)\n"
		  "{\n"
		  "\tsize_t bytes = in->%s_bytes;\n"
		  "\tuint64_t check;\n\n"
		  "\t*at = (const unsigned char *)in->%s;\n"
		  "#ifdef PTGC_LINKED\n"
		  "\tif (!*at) {\n"
		  "\t\t*at = %s_weights;\n"
		  "\t\tbytes = %s_WEIGHTS_BYTES;\n"
		  "\t}\n"
		  "#endif\n",
		  m, m, w, w, m, m);
	sb_printf(to,
		  "\tif (!*at || bytes != %s_WEIGHTS_BYTES || (uintptr_t)*at %% %d != 0)\n"
		  "\t\treturn %u;\n"
		  "\tmemcpy(&check, *at + (bytes - %d), %d);\n"
		  "\treturn check == UINT64_C(0x%0*llx) ? 0 : %u;\n"
		  "}\n\n",
		  m, CHECK_SIZE, none, CHECK_SIZE, CHECK_SIZE, HASH_DIGITS,
		  (unsigned long long)p->weights->check, wrong);
}

void print_weights(struct printer *p, const char *body, struct strbuf *to)
{
	const char *w = p->weights_name, *status = p->weights->bytes ? fresh(p, "status") : NULL;

	if (!status)
		return;
	sb_printf(to,
		  "\tconst unsigned char *%s;\n"
		  "\tconst int %s = %s_find_weights(in, &%s);\n"
		  "\tif (%s)\n\t\treturn %s;\n",
		  w, status, p->model, w, status, status);
	for (uint32_t i = 0; i < p->constants.len; i++) {
		const struct constant *c = &p->constants.at[i];
		const char *name = held(p, c->v)->name, *type = memory_type(c->v->data->dtype);
		if (c->external && mentions(body, name))
			sb_printf(to,
				  "\tconst %s *const %s = (const %s *)(const void *)(%s + %llu);\n",
				  type, name, type, w, (unsigned long long)c->place);
	}
}
