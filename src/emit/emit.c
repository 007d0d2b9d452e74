/*
 * emit.c: an ONNX graph as the bytes of a model, and tensors as external data. In: a lowered,
 * verified graph. Out: a ModelProto in `out`; large tensors in `external`. Decides nothing but
 * where tensors lie. protobuf writes the length of a message before its content, so the model is
 * packed backwards: chunks are filled from their ends, from the last field to the first, in one
 * pass. Large tensors are not copied into chunks but written from where they are; if the system
 * can copy from file to file, ptgc does not even read them.
 */
#include <string.h>

#include "emit/internal.h"
#include "onnx.pb-c.h"

#define CHUNK     ((size_t)60 << 10) /* small enough to be cut from the chunks of the arena */
#define INLINE    4096u              /* tensors up to this are copied into the chunks */
#define ALIGNMENT 4096u              /* of external tensors, so that they can be mapped */
#define PADDED    ((size_t)1 << 20)  /* and aligned, so that it can copy whole pages */
#define PAGE      4096u
#define MODEL_MAX ((uint64_t)INT32_MAX) /* protobuf's limit */

/* A piece of the output: bytes of a chunk, or the data of a tensor. */
struct piece {
	const uint8_t *data;
	size_t len;
	const struct tensor *tensor;
	struct piece *next;
};
struct emit {
	struct ctx *cx;
	struct onnx_model *m;
	const char *location;      /* the name of the external file */
	struct piece *pieces;      /* the newest is the first */
	uint8_t *begin, *at, *end; /* the chunk being filled; [at, end) is in no piece yet */
	uint64_t total;
	bool padded;             /* a tensor is aligned: pad the model to whole pages */
	ProtobufCBinaryData *io; /* names of a node */
	uint32_t cio;
	struct place_text place;
};

static void end_piece(struct emit *e)
{
	if (e->at == e->end)
		return;
	struct piece *p = new (e->cx->arena, struct piece);
	*p = (struct piece){e->at, (size_t)(e->end - e->at), NULL, e->pieces};
	e->pieces = p;
	e->end = e->at;
}

/* Makes room for n bytes before all that was packed so far. */
static uint8_t *room_before(struct emit *e, size_t n)
{
	if ((size_t)(e->at - e->begin) < n || !e->at) {
		size_t size = n > CHUNK ? n : CHUNK;
		end_piece(e);
		e->begin = arena_alloc(e->cx->arena, size);
		e->at = e->end = e->begin + size;
	}
	e->at -= n;
	e->total += n;
	return e->at;
}

static void pack_bytes(struct emit *e, const void *data, size_t n)
{
	if (n)
		memcpy(room_before(e, n), data, n);
}

static void pack_varint(struct emit *e, uint64_t v)
{
	uint8_t buf[10];
	size_t n = 0;
	do
		buf[n++] = (uint8_t)(v & 0x7f) | (v > 0x7f ? 0x80 : 0);
	while (v >>= 7);
	pack_bytes(e, buf, n);
}

static unsigned varint_size(uint64_t v)
{
	unsigned n = 1;
	while (v >>= 7)
		n++;
	return n;
}

/* Writes tag and length of a field; its content is all that was packed since `mark`. */
static void pack_head(struct emit *e, unsigned field, uint64_t mark)
{
	pack_varint(e, e->total - mark);
	pack_varint(e, field << 3 | 2);
}

/* Packs a doc_string of spaces that takes n bytes with tag and length. No string takes 1 or 130
 * bytes; then it takes a page more. */
static void pack_padding(struct emit *e, unsigned field, size_t n)
{
	uint64_t mark = e->total;
	if (!n)
		return;
	if (n == 1 || n == 130)
		n += PAGE;
	n -= n < 130 ? 2 : 3; /* tag and length */
	memset(room_before(e, n), ' ', n);
	pack_head(e, field, mark);
}

static void pack_message(struct emit *e, const ProtobufCMessage *m)
{
	size_t n = protobuf_c_message_get_packed_size(m);
	protobuf_c_message_pack(m, room_before(e, n));
}

static ProtobufCBinaryData bytes(const char *s, size_t len)
{
	return (ProtobufCBinaryData){len, (uint8_t *)(uintptr_t)s};
}

static ProtobufCBinaryData text(const char *s)
{
	return bytes(s, strlen(s));
}

static ProtobufCBinaryData astr_bytes(struct astr s)
{
	return bytes(s.s, s.len);
}

/* Types */

/* io: an input or output, whose type has no dims but those that the user named or fixed. */
static ProtobufCBinaryData type_bytes(struct emit *e, uint32_t index, bool io)
{
	struct onnx_type *t = &e->m->types.at[index];
	/* one more for the axis of real and imaginary parts */
	Onnx__TensorShapeProto__Dimension dims[MAX_RANK + 1], *refs[MAX_RANK + 1];
	Onnx__TensorShapeProto shape = ONNX__TENSOR_SHAPE_PROTO__INIT;
	Onnx__TypeProto__Tensor tensor = ONNX__TYPE_PROTO__TENSOR__INIT;
	Onnx__TypeProto type = ONNX__TYPE_PROTO__INIT;
	if (t->packed[io].s)
		return astr_bytes(t->packed[io]);
	for (uint32_t i = 0; i < t->rank; i++) {
		onnx__tensor_shape_proto__dimension__init(&dims[i]);
		refs[i] = &dims[i];
		dims[i].has_dim_value = t->at[i].known;
		dims[i].dim_value = t->at[i].value;
		dims[i].has_dim_param = !t->at[i].known && !(io && t->at[i].made);
		dims[i].dim_param = astr_bytes(t->at[i].name);
	}
	shape.n_dim = t->rank;
	shape.dim = refs;
	tensor.has_elem_type = true;
	tensor.elem_type = dtypes[t->dtype].onnx;
	tensor.shape = &shape;
	type.tensor_type = &tensor;
	size_t n = protobuf_c_message_get_packed_size(&type.base);
	uint8_t *p = arena_alloc(e->cx->arena, n);
	protobuf_c_message_pack(&type.base, p);
	t->packed[io] = (struct astr){(const char *)p, (uint32_t)n};
	return astr_bytes(t->packed[io]);
}

static void pack_value_info(struct emit *e, unsigned field, const struct value *v)
{
	const struct onnx_value *o = onnx_value(e->m, v);
	Onnx__ValueInfoProto info = ONNX__VALUE_INFO_PROTO__INIT;
	uint64_t mark = e->total;
	info.has_name = true;
	info.name = astr_bytes(o->name);
	info.has_type = true;
	info.type = type_bytes(e, o->type, field != 13);
	pack_message(e, &info.base);
	pack_head(e, field, mark);
}

/* Tensors */

/* The padding after the data of a large tensor of a file that makes the data begin at the same
 * offset in a page as in its file, if the size of the model is a multiple of a page. Then the
 * system copies whole pages, in two thirds of the time. */
static size_t padding(struct emit *e, const struct tensor *t)
{
	uint64_t size = tensor_size(t);
	const struct mapping *m = t->splat || size < PADDED ? NULL : mapping_of(e->cx, t->data);
	if (!m)
		return 0;
	e->padded = true;
	return -(e->total + size + ((uintptr_t)t->data - (uintptr_t)m->data)) % PAGE;
}

/* Packs the data of a tensor: copies a small one, else adds a piece that points to the data. */
static void pack_data(struct emit *e, const struct tensor *t)
{
	uint64_t size = tensor_size(t);
	if (size <= INLINE) {
		uint8_t *to = room_before(e, (size_t)size);
		if (t->splat)
			expand_splat(t, to, (size_t)size);
		else if (size)
			memcpy(to, bytes_of_tensor(e->cx, t), (size_t)size);
		return;
	}
	end_piece(e);
	struct piece *p = new (e->cx->arena, struct piece);
	const void *data = t->splat ? NULL : bytes_of_tensor(e->cx, t);
	*p = (struct piece){data, (size_t)size, t->splat ? t : NULL, e->pieces};
	e->pieces = p;
	e->total += size;
}

/* Strings: data is an array of struct astr. */
static void pack_strings(struct emit *e, const struct tensor *t)
{
	const struct astr *s = t->data;
	for (uint64_t i = t->count; i-- > 0;) {
		uint64_t mark = e->total;
		const struct astr *one = &s[t->splat ? 0 : i];
		pack_bytes(e, one->s, one->len);
		pack_head(e, 6, mark);
	}
}

/* Where a tensor lies in the external file. */
struct place_out {
	uint64_t offset;
	bool external;
};

static void set_external(struct emit *e, Onnx__TensorProto *m, const struct tensor *t,
			 const struct place_out *p)
{
	struct arena *a = e->cx->arena;
	Onnx__StringStringEntryProto *entries = new_array(a, Onnx__StringStringEntryProto, 3);
	Onnx__StringStringEntryProto **refs = new_array(a, Onnx__StringStringEntryProto *, 3);
	const char *keys[] = {"location", "offset", "length"};
	const char *values[] = {e->location, arena_printf(a, "%llu", (unsigned long long)p->offset),
				arena_printf(a, "%llu", (unsigned long long)tensor_size(t))};
	for (int i = 0; i < 3; i++) {
		onnx__string_string_entry_proto__init(&entries[i]);
		entries[i].has_key = entries[i].has_value = true;
		entries[i].key = text(keys[i]);
		entries[i].value = text(values[i]);
		refs[i] = &entries[i];
	}
	m->n_external_data = 3;
	m->external_data = refs;
	m->has_data_location = true;
	m->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
}

/* Packs the content of a TensorProto. */
static void pack_tensor(struct emit *e, const struct tensor *t, struct astr name,
			const struct place_out *p)
{
	Onnx__TensorProto m = ONNX__TENSOR_PROTO__INIT;
	if (p && p->external) {
		set_external(e, &m, t, p);
	} else if (t->dtype == DT_STRING) {
		pack_strings(e, t);
	} else {
		pack_padding(e, 12, padding(e, t));
		uint64_t mark = e->total;
		pack_data(e, t);
		pack_head(e, 9, mark);
	}
	m.n_dims = t->rank;
	m.dims = t->shape;
	m.has_data_type = true;
	m.data_type = dtypes[t->dtype].onnx;
	m.has_name = name.len != 0;
	m.name = astr_bytes(name);
	pack_message(e, &m.base);
}

/* Nodes */

static void pack_graph(struct emit *e, const struct block *b);

static void set_strings(struct emit *e, Onnx__AttributeProto *m, const struct attr *a)
{
	m->n_strings = a->n;
	m->strings = new_array(e->cx->arena, ProtobufCBinaryData, a->n ? a->n : 1);
	for (uint32_t i = 0; i < a->n; i++)
		m->strings[i] = astr_bytes(a->u.strs[i]);
}

static void pack_attr(struct emit *e, const struct attr *a)
{
	static const uint8_t types[] = {
		[AT_INT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT,
		[AT_FLOAT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT,
		[AT_STR] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING,
		[AT_TENSOR] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR,
		[AT_INTS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS,
		[AT_FLOATS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS,
		[AT_STRS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS,
		[AT_GRAPH] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH,
	};
	Onnx__AttributeProto m = ONNX__ATTRIBUTE_PROTO__INIT;
	uint64_t mark = e->total;
	switch ((enum attr_kind)a->kind) {
	case AT_INT:
		m.has_i = true;
		m.i = a->u.i;
		break;
	case AT_FLOAT:
		m.has_f = true;
		m.f = a->u.f;
		break;
	case AT_STR:
		m.has_s = true;
		m.s = astr_bytes(a->u.s);
		break;
	case AT_TENSOR:
		pack_tensor(e, a->u.t, (struct astr){"", 0}, NULL);
		pack_head(e, 5, mark);
		break;
	case AT_INTS:
		m.n_ints = a->n;
		m.ints = (int64_t *)(uintptr_t)a->u.ints;
		break;
	case AT_FLOATS:
		m.n_floats = a->n;
		m.floats = (float *)(uintptr_t)a->u.floats;
		break;
	case AT_STRS:
		set_strings(e, &m, a);
		break;
	case AT_GRAPH: /* MAX_GRAPH_DEPTH bounds this recursion */
		pack_graph(e, a->u.block);
		pack_head(e, 6, mark);
		break;
	}
	m.has_name = true;
	m.name = text(a->name);
	m.has_type = true;
	m.type = (Onnx__AttributeProto__AttributeType)types[a->kind];
	pack_message(e, &m.base);
	pack_head(e, 5, mark);
}

static void pack_place(struct emit *e, struct span s)
{
	Onnx__StringStringEntryProto m = ONNX__STRING_STRING_ENTRY_PROTO__INIT;
	uint64_t mark = e->total;
	onnx_place(e->cx, &e->place, s);
	if (!e->place.len)
		return;
	m.has_key = m.has_value = true;
	m.key = text("ptg");
	m.value = bytes(e->place.text, e->place.len);
	pack_message(e, &m.base);
	pack_head(e, 9, mark);
}

static struct astr node_name(const struct onnx_model *m, const struct node *n)
{
	if (n->label)
		return (struct astr){n->label, (uint32_t)strlen(n->label)};
	for (uint32_t i = 0; i < n->nout; i++)
		if (n->out[i])
			return onnx_value(m, n->out[i])->name;
	return (struct astr){"", 0};
}

static void set_names(struct emit *e, Onnx__NodeProto *m, const struct node *n)
{
	uint32_t count = (uint32_t)n->nin + n->nout;
	if (count > e->cio) {
		e->cio = count > 16 ? count * 2 : 16;
		e->io = new_array(e->cx->arena, ProtobufCBinaryData, e->cio);
	}
	for (uint32_t i = 0; i < n->nin; i++)
		e->io[i] = astr_bytes(onnx_value(e->m, n->in[i])->name);
	for (uint32_t i = 0; i < n->nout; i++)
		e->io[n->nin + i] = astr_bytes(onnx_value(e->m, n->out[i])->name);
	m->n_input = n->nin;
	m->input = e->io;
	m->n_output = n->nout;
	m->output = e->io + n->nin;
}

static void pack_node(struct emit *e, const struct node *n)
{
	Onnx__NodeProto m = ONNX__NODE_PROTO__INIT;
	struct astr name = node_name(e->m, n);
	uint64_t mark = e->total;
	pack_place(e, n->span);
	for (uint32_t i = n->nattrs; i-- > 0;)
		pack_attr(e, &n->attrs[i]);
	set_names(e, &m, n);
	m.has_name = name.len != 0;
	m.name = astr_bytes(name);
	m.has_op_type = true;
	m.op_type = text(n->onnx->name);
	m.has_domain = n->onnx->domain[0] != 0;
	m.domain = text(n->onnx->domain);
	pack_message(e, &m.base);
	pack_head(e, 1, mark);
}

static void pack_nodes(struct emit *e, const struct block *b)
{
	const struct node **nodes = new_array(e->cx->scratch, const struct node *, b->nnodes + 1u);
	uint32_t n = 0;
	for (const struct node *p = b->first; p && n <= b->nnodes; p = p->next)
		if (!p->dead)
			nodes[n++] = p;
	if (n > b->nnodes)
		bug("emit: a block of %u nodes has more", b->nnodes);
	for (uint32_t i = n; i-- > 0;)
		for (uint32_t k = nodes[i]->nout; k-- > 0;) {
			const struct value *v = nodes[i]->out[k];
			if (v && v->type.dtype != DT_NONE && !onnx_value(e->m, v)->output)
				pack_value_info(e, 13, v);
		}
	for (uint32_t i = n; i-- > 0;)
		pack_node(e, nodes[i]);
}

/* Packs the content of a graph. An inner graph uses values of outer ones by their names. */
static void pack_graph(struct emit *e, const struct block *b)
{
	uint64_t mark;
	for (uint32_t i = b->results.len; i-- > 0;)
		pack_value_info(e, 12, b->results.at[i]);
	for (uint32_t i = b->params.len; i-- > 0;)
		pack_value_info(e, 11, b->params.at[i]);
	mark = e->total;
	pack_bytes(e, "body", 4);
	pack_head(e, 2, mark);
	pack_nodes(e, b);
}

static void pack_main_graph(struct emit *e)
{
	const struct onnx_model *m = e->m;
	const char *name = onnx_graph_name(m);
	uint64_t mark;
	for (uint32_t i = m->outputs.len; i-- > 0;)
		pack_value_info(e, 12, m->outputs.at[i]);
	for (uint32_t i = m->inputs.len; i-- > 0;)
		pack_value_info(e, 11, m->inputs.at[i]);
	mark = e->total;
	pack_bytes(e, name, strlen(name));
	pack_head(e, 2, mark);
	pack_nodes(e, m->graph->block);
}

/* Initializers */

/* The size of the model if tensors of `threshold` bytes and more are external; 0: none is. */
static uint64_t model_size(const struct emit *e, uint64_t threshold)
{
	uint64_t size = e->total + 4096;
	for (uint32_t i = 0; i < e->m->inits.len; i++) {
		const struct tensor *t = e->m->inits.at[i].data;
		uint64_t n = tensor_size(t), head = 256 + 10u * t->rank;
		head += n < PADDED ? 0 : 2 * PAGE;
		if (threshold && n >= threshold)
			n = e->cx->opt.external_name ? strlen(e->cx->opt.external_name) : 0;
		head += onnx_value(e->m, e->m->inits.at[i].value)->name.len;
		if (n > MODEL_MAX - head || (size += n + head) > MODEL_MAX)
			return UINT64_MAX;
	}
	return size;
}

/* Finds the size from which on tensors are external, 0: none. false: reported. */
static bool find_threshold(struct emit *e, bool external, uint64_t *threshold)
{
	const struct options *opt = &e->cx->opt;
	external = external && opt->external_name;
	*threshold = external ? opt->external_threshold : 0;
	if (external && (opt->external || *threshold) && *threshold < EXTERNAL_MIN)
		*threshold = EXTERNAL_MIN;
	bool lower = opt->model_limit && opt->model_limit < MODEL_MAX;
	uint64_t limit = lower ? opt->model_limit : MODEL_MAX;
	if (model_size(e, *threshold) <= limit)
		return true;
	if (external) {
		*threshold = EXTERNAL_MIN;
		if (model_size(e, *threshold) <= MODEL_MAX)
			return true;
	}
	const char *size =
		lower ? arena_printf(e->cx->arena, "%llu bytes", (unsigned long long)limit)
		      : "2 GB";
	error(e->cx, (struct span){0, 0}, E_TOO_LARGE,
	      external ? "the model is larger than 2 GB even with its tensors in an external file"
		       : "the model is larger than %s: its tensors must go to an external file, "
			 "and there is none",
	      size);
	return false;
}

/* Decides which tensors are external, and where. */
static void place_inits(struct emit *e, uint64_t threshold, struct place_out *at)
{
	const struct onnx_model *m = e->m;
	uint64_t offset = 0;
	for (uint32_t i = 0; i < m->inits.len; i++) {
		const struct tensor *t = m->inits.at[i].data;
		at[i].external = threshold && t->dtype != DT_STRING && tensor_size(t) >= threshold;
		if (!at[i].external)
			continue;
		at[i].offset = (offset + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
		offset = at[i].offset + tensor_size(t);
	}
}

static void pack_inits(struct emit *e, const struct place_out *at)
{
	const struct onnx_model *m = e->m;
	for (uint32_t i = m->inits.len; i-- > 0;) {
		uint64_t mark = e->total;
		pack_tensor(e, m->inits.at[i].data, onnx_value(m, m->inits.at[i].value)->name,
			    &at[i]);
		pack_head(e, 5, mark);
	}
}

/* Pads the model to a multiple of a page; `first` is the size of what comes before the graph. The
 * padding may add a byte to the length of the graph. */
static void pad_graph(struct emit *e, size_t first)
{
	unsigned bytes = varint_size(e->total + 2 * PAGE);
	size_t n = -(e->total + 1 + bytes + first) % PAGE;
	if (varint_size(e->total + n) != bytes)
		n += 2 * PAGE;
	pack_padding(e, 10, n);
}

static void set_metadata(struct emit *e, Onnx__ModelProto *model)
{
	const char *const *meta = e->cx->opt.meta;
	Onnx__StringStringEntryProto *entries;

	while (meta && meta[model->n_metadata_props])
		model->n_metadata_props++;
	entries = new_array(e->cx->arena, Onnx__StringStringEntryProto, model->n_metadata_props);
	model->metadata_props =
		new_array(e->cx->arena, Onnx__StringStringEntryProto *, model->n_metadata_props);
	for (size_t i = 0; i < model->n_metadata_props; i++) {
		const char *value = strchr(meta[i], '='); /* the caller has looked */
		onnx__string_string_entry_proto__init(&entries[i]);
		entries[i].has_key = entries[i].has_value = true;
		entries[i].key.data = (uint8_t *)meta[i];
		entries[i].key.len = (size_t)(value - meta[i]);
		entries[i].value = text(value + 1);
		model->metadata_props[i] = &entries[i];
	}
}

/* Packs tag and length of the graph, and the fields of the model before it. */
static void pack_model_head(struct emit *e)
{
	const struct onnx_model *m = e->m;
	const struct options *opt = &e->cx->opt;
	struct arena *a = e->cx->arena;
	Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
	Onnx__OperatorSetIdProto *sets = new_array(a, Onnx__OperatorSetIdProto, m->imports.len);
	model.opset_import = new_array(a, Onnx__OperatorSetIdProto *, m->imports.len);
	model.n_opset_import = m->imports.len;
	for (uint32_t i = 0; i < m->imports.len; i++) {
		onnx__operator_set_id_proto__init(&sets[i]);
		sets[i].has_domain = sets[i].has_version = true;
		sets[i].domain = text(m->imports.at[i].domain);
		sets[i].version = m->imports.at[i].version;
		model.opset_import[i] = &sets[i];
	}
	model.has_ir_version = true;
	model.ir_version = m->ir_version;
	model.has_producer_name = model.has_producer_version = true;
	model.producer_name = text("ptgc");
	model.producer_version = text(PTGC_VERSION);
	model.has_model_version = true;
	model.model_version = opt->model_version;
	set_metadata(e, &model);
	model.has_doc_string = opt->doc_string != NULL;
	model.doc_string = text(opt->doc_string ? opt->doc_string : "");
	if (e->padded)
		pad_graph(e, protobuf_c_message_get_packed_size(&model.base));
	pack_head(e, 7, 0);
	pack_message(e, &model.base);
}

/* Writing */

static bool write_external(struct emit *e, struct sink *s, const struct place_out *at)
{
	static const uint8_t zeros[ALIGNMENT];
	uint64_t written = 0;
	for (uint32_t i = 0; i < e->m->inits.len; i++) {
		const struct tensor *t = e->m->inits.at[i].data;
		uint64_t size = tensor_size(t);
		if (!at[i].external)
			continue;
		if (at[i].offset > written && !s->write(s, zeros, (size_t)(at[i].offset - written)))
			return false;
		if (!write_tensor(e->cx, s, t))
			return false;
		written = at[i].offset + size;
	}
	return true;
}

static bool write_model(struct emit *e, struct sink *s)
{
	if (s->expect)
		s->expect(s, e->total);
	for (const struct piece *p = e->pieces; p; p = p->next)
		if (p->tensor ? !write_tensor(e->cx, s, p->tensor)
			      : !write_bytes(e->cx, s, p->data, p->len))
			return false;
	return true;
}

/* The name of the external file: for a * the hash of what will be in it, so that a model finds its
 * own weights under this name or none. */
static const char *external_name(struct emit *e, const struct place_out *at)
{
	const char *name = e->cx->opt.external_name;
	struct hash_sink hash;
	if (!strchr(name, '*'))
		return name;
	hash_sink_init(&hash);
	write_external(e, &hash.sink, at);
	return name_with_hash(e->cx, name, hash_sink_end(&hash));
}

static void report_depth(struct ctx *cx, const struct node *n)
{
	error(cx, n->span, E_LIMIT,
	      "loops and ifs nest more than %d deep, which no reader of ONNX files takes",
	      MAX_GRAPH_DEPTH);
}

bool emit_model(struct ctx *cx, const struct graph *g, struct sink *out, struct sink *external)
{
	struct emit e = {.cx = cx, .m = onnx_model(cx, g)};
	uint64_t threshold;
	if (e.m->too_deep) {
		report_depth(cx, e.m->too_deep);
		return false;
	}
	pack_main_graph(&e);
	if (!find_threshold(&e, external != NULL, &threshold))
		return false;
	struct place_out *at = new_array(cx->arena, struct place_out, e.m->inits.len + 1u);
	place_inits(&e, threshold, at);
	if (threshold)
		cx->opt.external_name = e.location = external_name(&e, at);
	pack_inits(&e, at);
	pack_model_head(&e);
	end_piece(&e);
	return (!threshold || write_external(&e, external, at)) && write_model(&e, out);
}
