/*
 * model_text.c: a binary ONNX model as the text that onnx.parser reads: ptgc dump, --dump=onnx.
 * In: the bytes of a model, of any origin. Out: text; or a message (E_MODEL).
 * Left out: names, places and doc strings of nodes, and local functions. A constant of more than
 * MAX_ELEMENTS elements, or of a dtype whose elements are not whole bytes, is shown as external
 * data without a file, so that the text stays readable, for people and for the parser.
 * Holds: whatever the bytes are, they are read field by field where they lie, nothing is unpacked
 * or copied, and no more than MAX_DEPTH graphs lie inside each other.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "emit/internal.h"

#define MAX_DEPTH    100
#define MAX_ELEMENTS 256

/* The fields that are shown, by their numbers in proto/onnx.proto. */
/* clang-format off */
enum {
	MODEL_IR_VERSION = 1, MODEL_VERSION = 5, MODEL_GRAPH = 7, MODEL_OPSET_IMPORT = 8,
	MODEL_METADATA = 14, MODEL_FUNCTION = 25,
	OPSET_DOMAIN = 1, OPSET_VERSION = 2,
	ENTRY_KEY = 1, ENTRY_VALUE = 2,
	GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11,
	GRAPH_OUTPUT = 12, GRAPH_VALUE_INFO = 13,
	NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_OP_TYPE = 4, NODE_ATTRIBUTE = 5, NODE_DOMAIN = 7,
	ATTR_NAME = 1, ATTR_FLOAT = 2, ATTR_INT = 3, ATTR_STRING = 4, ATTR_TENSOR = 5,
	ATTR_GRAPH = 6, ATTR_FLOATS = 7, ATTR_INTS = 8, ATTR_STRINGS = 9, ATTR_TENSORS = 10,
	ATTR_GRAPHS = 11, ATTR_TYPE_PROTO = 14, ATTR_TYPE_PROTOS = 15, ATTR_TYPE = 20,
	ATTR_REFERENCE = 21,
	VALUE_NAME = 1, VALUE_TYPE = 2,
	TYPE_TENSOR = 1, TYPE_SEQUENCE = 4, TYPE_MAP = 5, TYPE_OPTIONAL = 9,
	TYPE_ELEMENT = 1, TYPE_SHAPE = 2, SHAPE_DIM = 1, DIM_SIZE = 1, DIM_NAME = 2,
	TENSOR_DIMS = 1, TENSOR_DTYPE = 2, TENSOR_FLOATS = 4, TENSOR_INT32S = 5,
	TENSOR_STRINGS = 6, TENSOR_INT64S = 7, TENSOR_NAME = 8, TENSOR_RAW_DATA = 9,
	TENSOR_DOUBLES = 10, TENSOR_UINT64S = 11, TENSOR_EXTERNAL = 13, TENSOR_LOCATION = 14,
};
/* clang-format on */

typedef struct {
	size_t len;
	const uint8_t *data;
} bytes; /* of the model, where they lie; what is read is cut off */

struct model_text {
	struct ctx *cx;
	struct strbuf *b;
	int depth; /* graphs around what is printed */
	bool full; /* with who wrote the model, and the files of external data */
	bool failed;
};

PRINTF(2, 3) static bool bad_model(struct model_text *d, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	const char *words = arena_vprintf(d->cx->arena, fmt, ap);
	va_end(ap);
	if (!d->failed)
		error(d->cx, (struct span){0, 0}, E_MODEL, "this is not an ONNX model: %.*s",
		      shown_len(words, strlen(words), MAX_WORDS), words);
	d->failed = true;
	return false;
}

/* The wire format */

enum wire { VARINT, FIXED64, BYTES, FIXED32 = 5 };
struct field {
	uint32_t number;
	enum wire wire;
	uint64_t v;
	bytes bytes;
};

static bool read_number(bytes *s, enum wire wire, uint64_t *v)
{
	bool last = false;
	int bits = wire == VARINT ? 7 : 8, end = wire == FIXED32 ? 32 : 64;
	*v = 0;
	for (int shift = 0; shift < end && !last; shift += bits) {
		if (!s->len)
			return false;
		uint64_t c = *s->data++;
		s->len--;
		last = wire == VARINT ? c < 0x80 : shift + bits == end;
		*v |= (wire == VARINT ? c & 0x7f : c) << shift;
	}
	return last;
}

/* The next field; false at the end and (reported) where the bytes make no sense. */
static bool next_field(struct model_text *d, bytes *s, struct field *f)
{
	uint64_t tag;
	if (!s->len || d->failed)
		return false;
	if (!read_number(s, VARINT, &tag) || tag >> 3 == 0 || tag >> 3 > (1u << 29) - 1)
		return bad_model(d, "a field's tag is damaged");
	*f = (struct field){.number = (uint32_t)(tag >> 3), .wire = tag & 7};
	bool known = f->wire <= BYTES || f->wire == FIXED32;
	if (!known || !read_number(s, f->wire == BYTES ? VARINT : f->wire, &f->v) ||
	    (f->wire == BYTES && f->v > s->len))
		return bad_model(d, "field %u is damaged or truncated", f->number);
	if (f->wire == BYTES) {
		f->bytes = (bytes){(size_t)f->v, s->data};
		s->data += f->v;
		s->len -= (size_t)f->v;
	}
	return true;
}

static bool next_of(struct model_text *d, bytes *s, uint32_t number, enum wire wire,
		    struct field *f)
{
	while (next_field(d, s, f))
		if (f->number == number && f->wire == wire)
			return true;
	return false;
}

/* A field that is not repeated: of several, the last one counts. */
static bool find_field(struct model_text *d, bytes message, uint32_t number, enum wire wire,
		       struct field *f)
{
	bool found = false;
	for (struct field next; next_of(d, &message, number, wire, &next); found = true)
		*f = next;
	return found;
}

static bytes bytes_of(struct model_text *d, bytes message, uint32_t number)
{
	struct field f;
	return find_field(d, message, number, BYTES, &f) ? f.bytes : (bytes){0, NULL};
}

static int64_t number_of(struct model_text *d, bytes message, uint32_t number)
{
	struct field f;
	return find_field(d, message, number, VARINT, &f) ? (int64_t)f.v : 0;
}

/* The numbers of a repeated field: all in one (packed), or one in each. */
static bool next_number(struct model_text *d, struct field *f, enum wire wire, uint64_t *v)
{
	if (f->wire != BYTES) {
		bool is_one = f->wire == wire;
		*v = f->v;
		f->wire = BYTES; /* and no more bytes */
		return is_one;
	}
	return f->bytes.len &&
	       (read_number(&f->bytes, wire, v) || bad_model(d, "a list of numbers is damaged"));
}

/* Pieces */

static void start_line(struct model_text *d)
{
	sb_str(d->b, "\n");
	for (int i = 0; i < d->depth; i++)
		sb_str(d->b, "   ");
}

static void comma(struct model_text *d, size_t *before)
{
	if ((*before)++)
		sb_str(d->b, ", ");
}

/* Control characters would reach the terminal: they are \x1b, which the parser takes as "x1b". */
static void print_escaped(struct model_text *d, bytes s)
{
	for (size_t i = 0; i < s.len; i++) {
		uint8_t c = s.data[i];
		if ((c < 32 && c != '\n' && c != '\t') || c == 127) {
			sb_printf(d->b, "\\x%02x", c);
			continue;
		}
		if (c == '"' || c == '\\')
			sb_add(d->b, "\\", 1);
		sb_add(d->b, (const char *)&s.data[i], 1);
	}
}

static void print_quoted(struct model_text *d, bytes s)
{
	sb_str(d->b, "\"");
	print_escaped(d, s);
	sb_str(d->b, "\"");
}

static bool is_letter(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* In quotes, where the parser takes nothing else. */
static void print_name(struct model_text *d, bytes name)
{
	bool plain = name.len && is_letter(name.data[0]);
	for (size_t i = 0; i < name.len && plain; i++)
		plain = is_letter(name.data[i]) || (name.data[i] >= '0' && name.data[i] <= '9');
	if (plain)
		print_escaped(d, name);
	else
		print_quoted(d, name);
}

static void print_names(struct model_text *d, bytes message, uint32_t number)
{
	size_t n = 0;
	for (struct field f; next_of(d, &message, number, BYTES, &f);) {
		comma(d, &n);
		print_name(d, f.bytes);
	}
}

static void print_dtype(struct model_text *d, int64_t onnx)
{
	/* clang-format off */
	static const char *const names[] = {
		"dtype0", "float", "uint8", "int8", "uint16", "int16", "int32", "int64", "string",
		"bool", "float16", "double", "uint32", "uint64", "complex64", "complex128",
		"bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
		"uint4", "int4", "float4e2m1", "float8e8m0", "uint2", "int2"};
	/* clang-format on */
	if (onnx >= 0 && onnx < (int)countof(names))
		sb_str(d->b, names[onnx]);
	else
		sb_printf(d->b, "dtype%lld", (long long)onnx);
}

void put_float(struct strbuf *out, double v, bool single)
{
	if (isnan(v) || isinf(v))
		sb_str(out, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
	else
		sb_float(out, v, single);
}

static void print_number(struct model_text *d, enum dtype t, const uint8_t *p)
{
	uint8_t own[16];
	struct tensor one = {
		.dtype = (uint8_t)t, .count = 1, .data = memcpy(own, p, dtypes[t].size)};
	int64_t v;
	uint64_t u;
	swap_to_little_endian(t, own, 1);
	if (t == DT_UINT64) {
		memcpy(&u, own, sizeof(u));
		sb_printf(d->b, "%llu", (unsigned long long)u);
	} else if (tensor_int(&one, 0, &v)) {
		sb_printf(d->b, "%lld", (long long)v);
	} else {
		put_float(d->b, tensor_float(&one, 0), t == DT_FLOAT32);
	}
}

/* The numbers of a field that has them as `t`, behind `n` others. */
static void print_numbers(struct model_text *d, struct field f, enum dtype t, size_t *n)
{
	enum wire wire = t == DT_FLOAT32 ? FIXED32 : t == DT_FLOAT64 ? FIXED64 : VARINT;
	for (uint64_t v; next_number(d, &f, wire, &v);) {
		comma(d, n);
		swap_to_little_endian(DT_UINT64, &v, 1);
		print_number(d, t, (const uint8_t *)&v);
	}
}

/* Types and tensors */

static void print_type(struct model_text *d, bytes type)
{
	struct field tensor, shape, axis, f;
	size_t n = 0, around = 0;
	for (;; around++)
		if (find_field(d, type, TYPE_SEQUENCE, BYTES, &f)) {
			sb_str(d->b, "seq(");
			type = bytes_of(d, f.bytes, 1);
		} else if (find_field(d, type, TYPE_OPTIONAL, BYTES, &f)) {
			sb_str(d->b, "optional(");
			type = bytes_of(d, f.bytes, 1);
		} else if (find_field(d, type, TYPE_MAP, BYTES, &f)) {
			sb_str(d->b, "map(");
			print_dtype(d, number_of(d, f.bytes, 1));
			sb_str(d->b, ", ");
			type = bytes_of(d, f.bytes, 2);
		} else {
			break;
		}
	if (!find_field(d, type, TYPE_TENSOR, BYTES, &tensor)) {
		sb_str(d->b, "opaque()");
	} else {
		print_dtype(d, number_of(d, tensor.bytes, TYPE_ELEMENT));
		if (!find_field(d, tensor.bytes, TYPE_SHAPE, BYTES, &shape)) {
			sb_str(d->b, "[]"); /* of any rank */
			shape.bytes.len = 0;
		}
		while (next_of(d, &shape.bytes, SHAPE_DIM, BYTES, &axis)) {
			sb_str(d->b, n++ ? ", " : "[");
			if (find_field(d, axis.bytes, DIM_SIZE, VARINT, &f))
				sb_printf(d->b, "%lld", (long long)f.v);
			else if (find_field(d, axis.bytes, DIM_NAME, BYTES, &f) && f.bytes.len)
				print_name(d, f.bytes);
			else
				sb_str(d->b, "?");
		}
		sb_str(d->b, n ? "]" : "");
	}
	while (around--)
		sb_str(d->b, ")");
}

static void print_value(struct model_text *d, bytes value)
{
	struct field type;
	if (find_field(d, value, VALUE_TYPE, BYTES, &type)) {
		print_type(d, type.bytes);
		sb_str(d->b, " ");
	}
	print_name(d, bytes_of(d, value, VALUE_NAME));
}

/* "key": "value", ... in brackets */
static void print_entries(struct model_text *d, bytes message, uint32_t number)
{
	size_t n = 0;
	sb_str(d->b, "[");
	for (struct field f; next_of(d, &message, number, BYTES, &f);) {
		comma(d, &n);
		print_quoted(d, bytes_of(d, f.bytes, ENTRY_KEY));
		sb_str(d->b, ": ");
		print_quoted(d, bytes_of(d, f.bytes, ENTRY_VALUE));
	}
	sb_str(d->b, "]");
}

/* The dtype of the numbers that a tensor's text has for one of its elements. */
static enum dtype dtype_in_text(int64_t onnx)
{
	enum dtype t = DT_COUNT;
	while (--t != DT_NONE && dtypes[t].onnx != onnx)
		;
	return t == DT_FLOAT16 || t == DT_BFLOAT16 ? DT_UINT16  /* the bits */
	       : t == DT_COMPLEX64                 ? DT_FLOAT32 /* two of them */
	       : t == DT_COMPLEX128                ? DT_FLOAT64
						   : t;
}

static void print_elements(struct model_text *d, bytes tensor, enum dtype t)
{
	size_t n = 0;
	sb_str(d->b, "{");
	for (struct field f; next_field(d, &tensor, &f);) {
		if (f.number == TENSOR_FLOATS)
			print_numbers(d, f, DT_FLOAT32, &n);
		else if (f.number == TENSOR_DOUBLES)
			print_numbers(d, f, DT_FLOAT64, &n);
		else if (f.number == TENSOR_UINT64S)
			print_numbers(d, f, DT_UINT64, &n);
		else if (f.number == TENSOR_INT32S || f.number == TENSOR_INT64S)
			print_numbers(d, f, DT_INT64, &n);
		else if (f.number == TENSOR_STRINGS && f.wire == BYTES) {
			comma(d, &n);
			print_quoted(d, f.bytes);
		}
		for (size_t i = dtypes[t].size;
		     f.number == TENSOR_RAW_DATA && i && i <= f.bytes.len; i += dtypes[t].size) {
			comma(d, &n);
			print_number(d, t, f.bytes.data + i - dtypes[t].size);
		}
	}
	sb_str(d->b, "}");
}

static void print_tensor(struct model_text *d, bytes tensor)
{
	int64_t onnx = number_of(d, tensor, TENSOR_DTYPE);
	enum dtype t = dtype_in_text(onnx);
	bytes name = bytes_of(d, tensor, TENSOR_NAME), at = tensor;
	uint64_t count = 1, size;
	size_t rank = 0;
	print_dtype(d, onnx);
	for (struct field f; next_field(d, &at, &f);)
		while (f.number == TENSOR_DIMS && next_number(d, &f, VARINT, &size)) {
			sb_printf(d->b, "%s%lld", rank++ ? ", " : "[", (long long)size);
			if (__builtin_mul_overflow(count, size, &count))
				count = UINT64_MAX;
		}
	sb_str(d->b, rank ? "] " : " ");
	if (name.len) {
		print_name(d, name);
		sb_str(d->b, " = ");
	}
	if (d->full && number_of(d, tensor, TENSOR_LOCATION))
		print_entries(d, tensor, TENSOR_EXTERNAL);
	else if (count > MAX_ELEMENTS ||
		 (!dtypes[t].size && bytes_of(d, tensor, TENSOR_RAW_DATA).len))
		sb_printf(d->b, "[\"location\": \"%llu elements\"]", (unsigned long long)count);
	else
		print_elements(d, tensor, t);
}

/* Nodes and graphs */

static void print_graph(struct model_text *d, bytes graph);

static void print_reference(struct model_text *d, bytes name)
{
	sb_str(d->b, "@");
	print_name(d, name);
}

static void print_attr(struct model_text *d, bytes attr)
{
	/* clang-format off */
	static const char *const types[] = {
		"", "float", "int", "string", "tensor", "graph", "floats", "ints", "strings",
		"tensors", "graphs", "sparse_tensor", "sparse_tensors", "type_proto", "type_protos"};
	/* clang-format on */
	uint64_t number = (uint64_t)number_of(d, attr, ATTR_TYPE);
	const char *type = types[number < countof(types) ? number : 0];
	bool list = *type && type[strlen(type) - 1] == 's';
	size_t n = 0;
	print_name(d, bytes_of(d, attr, ATTR_NAME));
	sb_printf(d->b, "%s%s = %s", *type ? ": " : "", type, list ? "[" : "");
	for (struct field f; next_field(d, &attr, &f);) {
		void (*put)(struct model_text * d, bytes value) = NULL;
		if (f.number == ATTR_FLOAT || f.number == ATTR_FLOATS)
			print_numbers(d, f, DT_FLOAT32, &n);
		else if (f.number == ATTR_INT || f.number == ATTR_INTS)
			print_numbers(d, f, DT_INT64, &n);
		else if (f.number == ATTR_STRING || f.number == ATTR_STRINGS)
			put = print_quoted;
		else if (f.number == ATTR_TENSOR || f.number == ATTR_TENSORS)
			put = print_tensor;
		else if (f.number == ATTR_GRAPH || f.number == ATTR_GRAPHS)
			put = print_graph;
		else if (f.number == ATTR_TYPE_PROTO || f.number == ATTR_TYPE_PROTOS)
			put = print_type;
		else if (f.number == ATTR_REFERENCE)
			put = print_reference;
		if (put && f.wire == BYTES) {
			comma(d, &n);
			put(d, f.bytes);
		}
	}
	/* what is 0 or empty need not be written */
	sb_str(d->b, list ? "]" : n ? "" : !strcmp(type, "string") ? "\"\"" : "0");
}

static void print_attrs(struct model_text *d, bytes node)
{
	size_t n = 0;
	for (struct field f; next_of(d, &node, NODE_ATTRIBUTE, BYTES, &f);) {
		sb_str(d->b, n++ ? ", " : " <");
		print_attr(d, f.bytes);
	}
	sb_str(d->b, n ? ">" : "");
}

static void print_node(struct model_text *d, bytes node)
{
	bytes domain = bytes_of(d, node, NODE_DOMAIN), at = node;
	bool graphs = false; /* attributes that are graphs stand behind, as they are long */
	for (struct field f; next_of(d, &at, NODE_ATTRIBUTE, BYTES, &f);)
		graphs |= bytes_of(d, f.bytes, ATTR_GRAPH).len != 0;
	start_line(d);
	print_names(d, node, NODE_OUTPUT);
	sb_str(d->b, " = ");
	print_escaped(d, domain); /* names with dots, without quotes */
	sb_str(d->b, domain.len ? "." : "");
	print_name(d, bytes_of(d, node, NODE_OP_TYPE));
	if (!graphs)
		print_attrs(d, node);
	sb_str(d->b, " (");
	print_names(d, node, NODE_INPUT);
	sb_str(d->b, ")");
	if (graphs)
		print_attrs(d, node);
}

static void print_values(struct model_text *d, bytes graph, uint32_t number)
{
	size_t n = 0;
	sb_str(d->b, "(");
	for (struct field f; next_of(d, &graph, number, BYTES, &f);) {
		comma(d, &n);
		print_value(d, f.bytes);
	}
	sb_str(d->b, ")");
}

/* Constants, or types of what is neither input nor output: a line for each, behind `n` others. */
static void print_infos(struct model_text *d, bytes graph, uint32_t number,
			void (*put)(struct model_text *d, bytes info), size_t *n)
{
	for (struct field f; next_of(d, &graph, number, BYTES, &f);) {
		sb_str(d->b, (*n)++ ? "," : "<");
		start_line(d);
		put(d, f.bytes);
	}
}

static void print_graph(struct model_text *d, bytes graph)
{
	size_t n = 0;
	if (d->depth > MAX_DEPTH) {
		bad_model(d, "more than %d graphs lie inside each other", MAX_DEPTH);
		return;
	}
	print_name(d, bytes_of(d, graph, GRAPH_NAME));
	sb_str(d->b, " ");
	print_values(d, graph, GRAPH_INPUT);
	sb_str(d->b, " => ");
	print_values(d, graph, GRAPH_OUTPUT);
	sb_str(d->b, " ");
	d->depth++;
	print_infos(d, graph, GRAPH_INITIALIZER, print_tensor, &n);
	print_infos(d, graph, GRAPH_VALUE_INFO, print_value, &n);
	d->depth--;
	if (n) {
		start_line(d);
		sb_str(d->b, "> ");
	}
	sb_str(d->b, "{");
	d->depth++;
	for (struct field f; next_of(d, &graph, GRAPH_NODE, BYTES, &f);)
		print_node(d, f.bytes);
	d->depth--;
	start_line(d);
	sb_str(d->b, "}");
}

/* What stands before the graph: `<ir_version: 10, opset_import: ["" : 18]>`, and in full who wrote
 * the model. */
static void print_header(struct model_text *d, bytes model)
{
	static const struct {
		uint32_t number;
		const char *name;
	} texts[] = {
		{2, "producer_name"}, {3, "producer_version"}, {4, "domain"}, {6, "doc_string"}};
	size_t n = 0, functions = 0;
	bytes at = model;
	struct field f;
	sb_printf(d->b, "<\n   ir_version: %lld,\n   opset_import: [",
		  (long long)number_of(d, model, MODEL_IR_VERSION));
	while (next_of(d, &at, MODEL_OPSET_IMPORT, BYTES, &f)) {
		comma(d, &n);
		print_quoted(d, bytes_of(d, f.bytes, OPSET_DOMAIN));
		sb_printf(d->b, " : %lld", (long long)number_of(d, f.bytes, OPSET_VERSION));
	}
	sb_str(d->b, "]");
	for (size_t i = 0; d->full && i < countof(texts); i++)
		if (find_field(d, model, texts[i].number, BYTES, &f)) {
			sb_printf(d->b, ",\n   %s: ", texts[i].name);
			print_quoted(d, f.bytes);
		}
	if (d->full && find_field(d, model, MODEL_VERSION, VARINT, &f))
		sb_printf(d->b, ",\n   model_version: %lld", (long long)f.v);
	if (d->full && find_field(d, model, MODEL_METADATA, BYTES, &f)) {
		sb_str(d->b, ",\n   metadata_props: ");
		print_entries(d, model, MODEL_METADATA);
	}
	sb_str(d->b, "\n>\n");
	while (next_of(d, &model, MODEL_FUNCTION, BYTES, &f))
		functions++;
	if (functions)
		sb_printf(d->b, "# %zu local functions are not shown\n", functions);
}

static bool dump_bytes(struct model_text *d, bytes model)
{
	struct field graph;
	print_header(d, model);
	if (!find_field(d, model, MODEL_GRAPH, BYTES, &graph) && !d->failed)
		return bad_model(d, model.len ? "it has no graph" : "it is empty");
	print_graph(d, graph.bytes);
	sb_str(d->b, "\n");
	return !d->failed;
}

bool dump_model(struct ctx *cx, const void *data, size_t len, struct strbuf *out)
{
	struct model_text d = {.cx = cx, .b = out, .full = true};
	return dump_bytes(&d, (bytes){len, data});
}

static bool drop(struct sink *s, const void *data, size_t len)
{
	(void)data;
	s->written += len;
	return true;
}

bool dump_onnx_text(struct ctx *cx, const struct graph *g, struct strbuf *out)
{
	struct model_text d = {.cx = cx, .b = out};
	struct mem_sink model;
	struct sink external = {.write = drop}; /* of what is too large to be shown anyway */
	mem_sink_init(&model, cx->arena);
	cx->opt.external_name = "";
	cx->opt.external_threshold = MAX_ELEMENTS * 16 + 1;
	return emit_model(cx, g, &model.sink, &external) &&
	       dump_bytes(&d, (bytes){(size_t)model.sink.written, model.data});
}
