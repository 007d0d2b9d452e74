/*
 * model_text.c: ptgc dump: a binary ONNX model as text for people, close to ONNX's text syntax.
 * In: bytes, of any origin. Out: text; or a message (E_MODEL).
 * Holds: whatever the bytes are, memory stays near their size, no data is copied, and no more
 * than MAX_DEPTH graphs lie inside each other. Messages that hold graphs or data are walked in
 * place; the small ones (nodes, attributes, types) are unpacked by libprotobuf-c into a stack of
 * memory that is used again for the next.
 */
#include <stdio.h>
#include <string.h>

#include "emit/emit.h"
#include "onnx.pb-c.h"
#include "emit/internal.h"

#define MAX_DEPTH  100
#define MAX_SHOWN  8   /* elements of a tensor */
#define MAX_STRING 200 /* bytes of a string that is shown */

struct slice {
	const uint8_t *p, *end;
};

struct dump {
	struct ctx *cx;
	struct strbuf *b;
	int depth; /* graphs inside each other */
	int indent;
	bool failed;
	uint8_t *stack; /* of unpacked messages */
	size_t at, cap;
};

PRINTF(2, 3) static bool bad(struct dump *d, const char *fmt, ...)
{
	va_list ap;
	char words[200];
	va_start(ap, fmt);
	vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	if (!d->failed)
		error(d->cx, (struct span){0, 0}, E_MODEL, "this is no ONNX model: %s", words);
	d->failed = true;
	return false;
}

/* The wire format */

struct field {
	uint32_t number;
	uint8_t wire; /* 0 varint, 1 eight bytes, 2 bytes, 5 four bytes */
	uint64_t v;
	struct slice bytes;
};

static bool varint(struct slice *s, uint64_t *v)
{
	*v = 0;
	for (int shift = 0; shift < 64 && s->p < s->end; shift += 7) {
		uint8_t c = *s->p++;
		*v |= (uint64_t)(c & 0x7f) << shift;
		if (c < 0x80)
			return true;
	}
	return false;
}

static bool fixed(struct slice *s, int size, uint64_t *v)
{
	*v = 0;
	if (s->end - s->p < size)
		return false;
	for (int i = 0; i < size; i++)
		*v |= (uint64_t)*s->p++ << 8 * i;
	return true;
}

/* The next field; false at the end and (reported) where the bytes make no sense. */
static bool next(struct dump *d, struct slice *s, struct field *f)
{
	uint64_t tag;
	bool ok = false;
	if (s->p == s->end || d->failed)
		return false;
	if (!varint(s, &tag) || tag >> 3 == 0 || tag >> 3 > (1u << 29) - 1)
		return bad(d, "a field's tag is damaged");
	f->number = (uint32_t)(tag >> 3);
	f->wire = tag & 7;
	f->bytes = (struct slice){s->p, s->p};
	if (f->wire == 0)
		ok = varint(s, &f->v);
	else if (f->wire == 1 || f->wire == 5)
		ok = fixed(s, f->wire == 1 ? 8 : 4, &f->v);
	else if (f->wire == 2 && varint(s, &f->v) && f->v <= (uint64_t)(s->end - s->p)) {
		f->bytes = (struct slice){s->p, s->p + f->v};
		s->p += f->v;
		ok = true;
	}
	return ok || bad(d, "field %u is damaged or truncated", f->number);
}

static void *stack_alloc(void *data, size_t size)
{
	struct dump *d = data;
	size = (size + 15) & ~(size_t)15;
	if (size > d->cap - d->at) {
		/* too small: a larger one from now on; what lies in the old one stays where it is
		 */
		d->cap = 2 * d->cap + size;
		d->stack = arena_alloc(d->cx->arena, d->cap);
		d->at = 0;
	}
	d->at += size;
	return d->stack + d->at - size;
}

static void stack_free(void *data, void *p)
{
	(void)data;
	(void)p;
}

static void *unpack(struct dump *d, const ProtobufCMessageDescriptor *what, const uint8_t *p,
		    size_t len)
{
	ProtobufCAllocator a = {stack_alloc, stack_free, d};
	void *m = protobuf_c_message_unpack(what, &a, len, p);
	if (!m)
		bad(d, "a %s is damaged", what->short_name);
	return m;
}

/* Pieces */

static void line(struct dump *d)
{
	sb_add(d->b, "\n", 1);
	for (int i = 0; i < d->indent; i++)
		sb_str(d->b, "  ");
}

static void put_string(struct dump *d, const uint8_t *p, size_t len)
{
	static const char hex[] = "0123456789abcdef";
	sb_add(d->b, "\"", 1);
	for (size_t i = 0; i < len && i < MAX_STRING; i++) {
		char c = (char)p[i];
		if (c == '"' || c == '\\') {
			sb_add(d->b, "\\", 1);
			sb_add(d->b, &c, 1);
		} else if (p[i] < 32 || p[i] == 127) {
			char s[4] = {'\\', 'x', hex[p[i] >> 4], hex[p[i] & 15]};
			sb_add(d->b, s, 4);
		} else {
			sb_add(d->b, &c, 1);
		}
	}
	sb_str(d->b, len > MAX_STRING ? "...\"" : "\"");
}

static void put_name(struct dump *d, ProtobufCBinaryData name)
{
	bool control = false;
	for (size_t i = 0; i < name.len; i++)
		control |= name.data[i] < 32 || name.data[i] == 127;
	if (control || name.len > MAX_STRING)
		put_string(d, name.data, name.len);
	else
		text_name(d->b, (const char *)name.data, name.len);
}

static void put_dtype(struct dump *d, int64_t onnx)
{
	const char *name = onnx >= 0 && onnx < 100 ? text_dtype((int)onnx) : NULL;
	if (name)
		sb_str(d->b, name);
	else
		sb_printf(d->b, "dtype%lld", (long long)onnx);
}

static bool put_type(struct dump *d, ProtobufCBinaryData b)
{
	const Onnx__TypeProto *t = unpack(d, &onnx__type_proto__descriptor, b.data, b.len);
	if (!t)
		return false;
	if (!t->tensor_type) {
		sb_str(d->b, "(no tensor)");
		return true;
	}
	put_dtype(d, t->tensor_type->elem_type);
	const Onnx__TensorShapeProto *shape = t->tensor_type->shape;
	if (!shape) {
		sb_str(d->b, "[]");
		return true;
	}
	for (size_t i = 0; i < shape->n_dim; i++) {
		const Onnx__TensorShapeProto__Dimension *size = shape->dim[i];
		sb_str(d->b, i ? ", " : "[");
		if (size->has_dim_value)
			sb_printf(d->b, "%lld", (long long)size->dim_value);
		else if (size->has_dim_param && size->dim_param.len)
			put_name(d, size->dim_param);
		else
			sb_str(d->b, "?");
	}
	if (shape->n_dim)
		sb_str(d->b, "]");
	return true;
}

static bool put_value(struct dump *d, struct slice s)
{
	size_t mark = d->at;
	const Onnx__ValueInfoProto *v =
		unpack(d, &onnx__value_info_proto__descriptor, s.p, (size_t)(s.end - s.p));
	if (!v)
		return false;
	if (v->has_type && !put_type(d, v->type))
		return false;
	sb_str(d->b, v->has_type ? " " : "");
	put_name(d, v->name);
	d->at = mark;
	return true;
}

/* Tensors: walked in place, as their data may be large */

struct tensor_view {
	int64_t dims[MAX_RANK];
	uint32_t rank; /* may be more than MAX_RANK: then the rest is not kept */
	int64_t dtype;
	struct slice name, raw;
	struct slice typed; /* the packed *_data */
	uint32_t typed_field;
	struct slice strings[MAX_SHOWN];
	uint32_t nstrings;
	bool external;
	struct slice location;
};

static void view_dim(struct tensor_view *t, uint64_t v)
{
	if (t->rank < MAX_RANK)
		t->dims[t->rank] = (int64_t)v;
	t->rank++;
}

static bool view_external(struct dump *d, struct slice s, struct tensor_view *t)
{
	struct field f;
	bool location = false;
	struct slice value = {0};
	while (next(d, &s, &f)) {
		if (f.number == 1 && f.wire == 2)
			location = f.v == 8 && !memcmp(f.bytes.p, "location", 8);
		else if (f.number == 2 && f.wire == 2)
			value = f.bytes;
	}
	if (location)
		t->location = value;
	return !d->failed;
}

static bool view_tensor(struct dump *d, struct slice s, struct tensor_view *t)
{
	struct field f;
	uint64_t v;
	*t = (struct tensor_view){0};
	while (next(d, &s, &f)) {
		if (f.number == 1 && f.wire == 0)
			view_dim(t, f.v);
		else if (f.number == 1 && f.wire == 2)
			while (f.bytes.p < f.bytes.end && varint(&f.bytes, &v))
				view_dim(t, v);
		else if (f.number == 2 && f.wire == 0)
			t->dtype = (int64_t)f.v;
		else if (f.number == 6 && f.wire == 2 && t->nstrings++ < MAX_SHOWN)
			t->strings[t->nstrings - 1] = f.bytes;
		else if (f.number == 8 && f.wire == 2)
			t->name = f.bytes;
		else if (f.number == 9 && f.wire == 2)
			t->raw = f.bytes;
		else if (f.number == 13 && f.wire == 2 && !view_external(d, f.bytes, t))
			return false;
		else if (f.number == 14 && f.wire == 0)
			t->external = f.v == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
		else if ((f.number == 4 || f.number == 5 || f.number == 7 || f.number == 10 ||
			  f.number == 11) &&
			 f.wire == 2) {
			t->typed = f.bytes;
			t->typed_field = f.number;
		}
	}
	return !d->failed;
}

static enum dtype dtype_by_onnx(int64_t onnx)
{
	for (enum dtype t = DT_NONE + 1; t < DT_COUNT; t++)
		if (dtypes[t].onnx == onnx)
			return t;
	return DT_NONE;
}

static uint32_t put_raw(struct dump *d, const struct tensor_view *t, enum dtype dt)
{
	uint64_t size = (uint64_t)(t->raw.end - t->raw.p), n = dtypes[dt].size, i;
	for (i = 0; i < MAX_SHOWN && (i + 1) * n <= size; i++) {
		sb_str(d->b, i ? ", " : "");
		text_element(d->b, dt, t->raw.p, i, false);
	}
	return size / n > i;
}

/* Elements of *_data: varints or fixed numbers; float16 as bits in int32_data. */
static bool put_typed(struct dump *d, const struct tensor_view *t, enum dtype dt)
{
	struct slice s = t->typed;
	uint64_t v;
	int size = t->typed_field == 4 ? 4 : t->typed_field == 10 ? 8 : 0;
	uint32_t i;
	for (i = 0; i < MAX_SHOWN && s.p < s.end; i++) {
		if (!(size ? fixed(&s, size, &v) : varint(&s, &v)))
			return bad(d, "a tensor's data is damaged");
		sb_str(d->b, i ? ", " : "");
		if (size)
			text_element(d->b, size == 4 ? DT_FLOAT32 : DT_FLOAT64, &v, 0, false);
		else if (dt == DT_FLOAT16 || t->typed_field == 11)
			text_element(d->b, dt == DT_FLOAT16 ? dt : DT_UINT64, &v, 0, false);
		else
			text_element(d->b, DT_INT64, &v, 0, false);
	}
	if (s.p < s.end)
		sb_str(d->b, ", ...");
	return true;
}

static bool put_data(struct dump *d, const struct tensor_view *t)
{
	enum dtype dt = dtype_by_onnx(t->dtype);
	bool ok = true;
	if (t->external) {
		sb_str(d->b, " in file ");
		put_string(d, t->location.p, (size_t)(t->location.end - t->location.p));
		return true;
	}
	sb_str(d->b, " = {");
	if (t->nstrings) {
		for (uint32_t i = 0; i < t->nstrings && i < MAX_SHOWN; i++) {
			sb_str(d->b, i ? ", " : "");
			put_string(d, t->strings[i].p,
				   (size_t)(t->strings[i].end - t->strings[i].p));
		}
		sb_str(d->b, t->nstrings > MAX_SHOWN ? ", ..." : "");
	} else if (t->typed_field) {
		ok = put_typed(d, t, dt);
	} else if (dtypes[dt].size) {
		sb_str(d->b, put_raw(d, t, dt) ? ", ..." : "");
	} else if (t->raw.p != t->raw.end) {
		sb_printf(d->b, "%llu bytes", (unsigned long long)(t->raw.end - t->raw.p));
	}
	sb_str(d->b, "}");
	return ok;
}

static bool put_tensor(struct dump *d, struct slice s)
{
	struct tensor_view t;
	if (!view_tensor(d, s, &t))
		return false;
	put_dtype(d, t.dtype);
	for (uint32_t i = 0; i < t.rank && i < MAX_RANK; i++)
		sb_printf(d->b, "%s%lld", i ? ", " : "[", (long long)t.dims[i]);
	sb_str(d->b, t.rank > MAX_RANK ? ", ...]" : t.rank ? "]" : "");
	if (t.name.p != t.name.end) {
		sb_str(d->b, " ");
		put_name(d, (ProtobufCBinaryData){(size_t)(t.name.end - t.name.p),
						  (uint8_t *)(uintptr_t)t.name.p});
	}
	return put_data(d, &t);
}

/* Nodes and graphs */

static bool put_graph(struct dump *d, struct slice s);

static struct slice slice_of(ProtobufCBinaryData b)
{
	return (struct slice){b.data, b.data + b.len};
}

static bool put_inner(struct dump *d, ProtobufCBinaryData b)
{
	bool ok;
	if (d->depth >= MAX_DEPTH)
		return bad(d, "more than %d graphs lie inside each other", MAX_DEPTH);
	d->depth++;
	ok = put_graph(d, slice_of(b));
	d->depth--;
	return ok;
}

static void comma(struct dump *d, size_t i)
{
	sb_str(d->b, i ? ", " : "");
}

static bool put_attr_value(struct dump *d, const Onnx__AttributeProto *a)
{
	bool list = a->n_floats || a->n_ints || a->n_strings || a->n_tensors || a->n_graphs;
	bool ok = true;
	if (list)
		sb_str(d->b, "[");
	for (size_t i = 0; i < a->n_floats; i++, comma(d, i < a->n_floats))
		text_float(d->b, a->floats[i], true);
	for (size_t i = 0; i < a->n_ints; i++, comma(d, i < a->n_ints))
		sb_printf(d->b, "%lld", (long long)a->ints[i]);
	for (size_t i = 0; i < a->n_strings; i++, comma(d, i < a->n_strings))
		put_string(d, a->strings[i].data, a->strings[i].len);
	for (size_t i = 0; i < a->n_tensors && ok; i++, comma(d, i < a->n_tensors))
		ok = put_tensor(d, slice_of(a->tensors[i]));
	for (size_t i = 0; i < a->n_graphs && ok; i++, comma(d, i < a->n_graphs))
		ok = put_inner(d, a->graphs[i]);
	if (list)
		sb_str(d->b, "]");
	else if (a->has_f)
		text_float(d->b, a->f, true);
	else if (a->has_i)
		sb_printf(d->b, "%lld", (long long)a->i);
	else if (a->has_s)
		put_string(d, a->s.data, a->s.len);
	else if (a->has_t)
		ok = put_tensor(d, slice_of(a->t));
	else if (a->has_g)
		ok = put_inner(d, a->g);
	else if (a->has_tp)
		ok = put_type(d, a->tp);
	else if (a->has_ref_attr_name)
		sb_str(d->b, "@"), put_name(d, a->ref_attr_name);
	else
		sb_str(d->b, "[]");
	return ok;
}

static bool put_attr(struct dump *d, ProtobufCBinaryData b)
{
	size_t mark = d->at;
	const Onnx__AttributeProto *a =
		unpack(d, &onnx__attribute_proto__descriptor, b.data, b.len);
	if (!a)
		return false;
	put_name(d, a->name);
	sb_str(d->b, " = ");
	if (!put_attr_value(d, a))
		return false;
	d->at = mark;
	return true;
}

static void put_names(struct dump *d, const ProtobufCBinaryData *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		comma(d, i);
		put_name(d, names[i]);
	}
}

static bool put_node(struct dump *d, struct slice s)
{
	size_t mark = d->at;
	const Onnx__NodeProto *n =
		unpack(d, &onnx__node_proto__descriptor, s.p, (size_t)(s.end - s.p));
	if (!n)
		return false;
	line(d);
	put_names(d, n->output, n->n_output);
	sb_str(d->b, n->n_output ? " = " : "= ");
	if (n->domain.len) {
		/* a domain is names with dots: quotes only where it is not */
		for (size_t i = 0; i < n->domain.len && i < MAX_STRING; i++) {
			char c = (char)n->domain.data[i];
			sb_add(d->b, n->domain.data[i] < 32 ? "?" : &c, 1);
		}
		sb_str(d->b, ".");
	}
	put_name(d, n->op_type);
	sb_str(d->b, "(");
	put_names(d, n->input, n->n_input);
	sb_str(d->b, ")");
	for (size_t i = 0; i < n->n_attribute; i++) {
		sb_str(d->b, i ? ", " : " <");
		if (!put_attr(d, n->attribute[i]))
			return false;
	}
	sb_str(d->b, n->n_attribute ? ">" : "");
	d->at = mark;
	return true;
}

/* All fields of one number: a list of values in parentheses. */
static bool put_values(struct dump *d, struct slice s, uint32_t number)
{
	struct field f;
	size_t i = 0;
	sb_str(d->b, "(");
	while (next(d, &s, &f)) {
		if (f.number != number || f.wire != 2)
			continue;
		comma(d, i++);
		if (!put_value(d, f.bytes))
			return false;
	}
	sb_str(d->b, ")");
	return !d->failed;
}

static bool put_graph(struct dump *d, struct slice s)
{
	struct slice at = s;
	struct field f;
	while (next(d, &at, &f))
		if (f.number == 2 && f.wire == 2)
			put_name(d, (ProtobufCBinaryData){(size_t)f.v,
							  (uint8_t *)(uintptr_t)f.bytes.p});
	sb_str(d->b, " ");
	if (d->failed || !put_values(d, s, 11))
		return false;
	sb_str(d->b, " => ");
	if (!put_values(d, s, 12))
		return false;
	sb_str(d->b, " {");
	d->indent++;
	for (at = s; next(d, &at, &f);)
		if (f.number == 5 && f.wire == 2) {
			line(d);
			if (!put_tensor(d, f.bytes))
				return false;
		}
	for (at = s; next(d, &at, &f);)
		if (f.number == 1 && f.wire == 2 && !put_node(d, f.bytes))
			return false;
	d->indent--;
	line(d);
	sb_str(d->b, "}");
	return !d->failed;
}

static bool put_import(struct dump *d, struct slice s)
{
	const Onnx__OperatorSetIdProto *o =
		unpack(d, &onnx__operator_set_id_proto__descriptor, s.p, (size_t)(s.end - s.p));
	if (!o)
		return false;
	sb_str(d->b, "# opset ");
	put_string(d, o->domain.data, o->domain.len);
	sb_printf(d->b, " %lld\n", (long long)o->version);
	return true;
}

static bool put_model(struct dump *d, struct slice s)
{
	struct slice graph = {0};
	struct field f;
	uint32_t functions = 0;
	while (next(d, &s, &f)) {
		if (f.number == 1 && f.wire == 0)
			sb_printf(d->b, "# ir %lld\n", (long long)f.v);
		if (f.wire != 2)
			continue;
		if (f.number == 8 && !put_import(d, f.bytes))
			return false;
		if (f.number == 2 || f.number == 3 || f.number == 6) {
			sb_str(d->b, f.number == 2   ? "# producer "
				     : f.number == 3 ? "# producer version "
						     : "# doc ");
			put_string(d, f.bytes.p, (size_t)f.v);
			sb_str(d->b, "\n");
		}
		if (f.number == 7)
			graph = f.bytes;
		functions += f.number == 25;
	}
	if (d->failed)
		return false;
	if (!graph.p)
		return bad(d, "it has no graph");
	if (functions)
		sb_printf(d->b, "# %u local functions are not shown\n", functions);
	return put_graph(d, graph);
}

bool dump_model(struct ctx *cx, const void *data, size_t len, struct strbuf *out)
{
	struct dump d = {.cx = cx, .b = out};
	const uint8_t *p = data;
	if (!len)
		return bad(&d, "it is empty");
	if (!put_model(&d, (struct slice){p, p + len}))
		return false;
	sb_str(out, "\n");
	return true;
}
