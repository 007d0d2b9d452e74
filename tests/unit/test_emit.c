/* Graphs built by hand, packed, and read back message by message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api.h"
#include "emit/emit.h"
#include "onnx/onnx.h"
#include "onnx.pb-c.h"

static const struct onnx_op onnx_add = {.domain = "", .name = "Add", .since = 14};
static const struct onnx_op onnx_mul = {.domain = "", .name = "Mul", .since = 14};
static const struct onnx_op onnx_identity = {.domain = "", .name = "Identity", .since = 16};
static const struct onnx_op onnx_if = {.domain = "", .name = "If", .since = 16};
static const struct onnx_op onnx_loop = {.domain = "", .name = "Loop", .since = 16};
static const struct onnx_op onnx_cos = {.domain = "", .name = "ConstantOfShape", .since = 9};
static const struct onnx_op onnx_gelu = {.domain = "com.microsoft", .name = "Gelu", .since = 1};

static struct value *value_of(struct ctx *cx, const char *name, enum dtype t, int rank, dim *dims)
{
	struct value *v = new (cx->arena, struct value);
	v->type = (struct type){(uint8_t)t, (uint8_t)rank, dims};
	v->name = name ? intern_str(cx, name) : NULL;
	v->id = cx->next_id++;
	return v;
}

static struct value *constant(struct ctx *cx, const char *name, enum dtype t, int rank,
			      const int64_t *shape, const void *data, bool splat)
{
	dim *dims = new_array(cx->arena, dim, 8);
	for (int i = 0; i < rank; i++)
		dims[i] = dim_const(cx, shape[i]);
	struct value *v = value_of(cx, name, t, rank, dims);
	struct tensor *data_of = tensor_new(cx, t, rank, shape);
	data_of->data = data;
	data_of->splat = splat;
	v->data = data_of;
	return v;
}

static struct block *block_of(struct ctx *cx, struct block *outer)
{
	struct block *b = new (cx->arena, struct block);
	b->outer = outer;
	b->depth = outer ? outer->depth + 1 : 0;
	return b;
}

static struct node *node_of(struct ctx *cx, struct block *b, const struct onnx_op *op, int nin,
			    struct value **in, int nout, struct value **out)
{
	struct node *n = new (cx->arena, struct node);
	n->onnx = op;
	n->nin = (uint16_t)nin;
	n->nout = (uint16_t)nout;
	n->in = new_array(cx->arena, struct value *, 8);
	n->out = new_array(cx->arena, struct value *, 8);
	for (int i = 0; i < nin; i++)
		n->in[i] = in[i];
	for (int i = 0; i < nout; i++) {
		n->out[i] = out[i];
		if (out[i])
			out[i]->def = n;
	}
	if (b->last)
		b->last->next = n;
	else
		b->first = n;
	b->last = n;
	b->nnodes++;
	return n;
}
#define VALUES(...)                                                                                \
	(struct value *[])                                                                         \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

static void attrs_of(struct ctx *cx, struct node *n, int count, const struct attr *attrs)
{
	n->attrs = new_array(cx->arena, struct attr, (size_t)count);
	memcpy(n->attrs, attrs, (size_t)count * sizeof(*attrs));
	n->nattrs = (uint16_t)count;
}

static struct graph *graph_of(struct ctx *cx, const char *name)
{
	struct graph *g = new (cx->arena, struct graph);
	g->name = intern_str(cx, name);
	g->block = block_of(cx, NULL);
	return g;
}

#define PUSH(list, v) (*vec_push(cx->arena, list) = (v))

/* y = (x + 1) * w, with w a state that becomes w + 1 */
static struct graph *small(struct ctx *cx)
{
	static const float one = 1;
	static const float w0[2] = {3, 4};
	struct graph *g = graph_of(cx, "small");
	dim *n2 = new_array(cx->arena, dim, 2);
	n2[0] = dim_name(cx, intern_str(cx, "n"));
	n2[1] = dim_const(cx, 2);
	struct value *x = value_of(cx, "x", DT_FLOAT32, 2, n2);
	struct value *w = value_of(cx, "w", DT_FLOAT32, 1, n2 + 1);
	struct value *c = constant(cx, NULL, DT_FLOAT32, 0, NULL, &one, false);
	struct value *t = value_of(cx, NULL, DT_FLOAT32, 2, n2);
	struct value *y = value_of(cx, "y", DT_FLOAT32, 2, n2);
	struct value *w1 = value_of(cx, "v1", DT_FLOAT32, 1, n2 + 1);
	PUSH(&g->block->params, x);
	PUSH(&g->block->results, y);
	struct state *s = vec_push(cx->arena, &g->states);
	s->param = w;
	s->init = constant(cx, "w", DT_FLOAT32, 1, (int64_t[]){2}, w0, false);
	s->next = w1;
	node_of(cx, g->block, &onnx_add, 2, VALUES(x, c), 1, VALUES(t));
	node_of(cx, g->block, &onnx_mul, 2, VALUES(t, w), 1, VALUES(y));
	node_of(cx, g->block, &onnx_add, 2, VALUES(w, c), 1, VALUES(w1));
	return g;
}

/* r = cond ? (r is x + x) : x, both branches naming their value r; then a Loop that adds x n times
 */
static struct graph *control(struct ctx *cx)
{
	struct graph *g = graph_of(cx, "control");
	dim *d = new_array(cx->arena, dim, 1);
	d[0] = dim_name(cx, intern_str(cx, "len"));
	struct value *x = value_of(cx, "x", DT_FLOAT64, 1, d);
	struct value *cond = value_of(cx, "cond", DT_BOOL, 0, NULL);
	struct value *count = value_of(cx, "count", DT_INT64, 0, NULL);
	struct value *r = value_of(cx, "r", DT_FLOAT64, 1, d);
	struct value *last = value_of(cx, "last", DT_FLOAT64, 1, d);
	struct block *then = block_of(cx, g->block), *otherwise = block_of(cx, g->block);
	struct value *a = value_of(cx, "r", DT_FLOAT64, 1, d);
	struct value *b = value_of(cx, "r", DT_FLOAT64, 1, d);
	node_of(cx, then, &onnx_add, 2, VALUES(x, x), 1, VALUES(a));
	node_of(cx, otherwise, &onnx_identity, 1, VALUES(x), 1, VALUES(b));
	PUSH(&then->results, a);
	PUSH(&otherwise->results, b);
	struct node *n = node_of(cx, g->block, &onnx_if, 1, VALUES(cond), 1, VALUES(r));
	attrs_of(cx, n, 2,
		 (struct attr[]){{.name = "then_branch", .kind = AT_GRAPH, .u.block = then},
				 {.name = "else_branch", .kind = AT_GRAPH, .u.block = otherwise}});
	struct block *body = block_of(cx, g->block);
	struct value *i = value_of(cx, NULL, DT_INT64, 0, NULL);
	struct value *go = value_of(cx, NULL, DT_BOOL, 0, NULL);
	struct value *s = value_of(cx, "s", DT_FLOAT64, 1, d);
	struct value *go1 = value_of(cx, NULL, DT_BOOL, 0, NULL);
	struct value *s1 = value_of(cx, "s1", DT_FLOAT64, 1, d);
	PUSH(&body->params, i);
	PUSH(&body->params, go);
	PUSH(&body->params, s);
	node_of(cx, body, &onnx_identity, 1, VALUES(go), 1, VALUES(go1));
	node_of(cx, body, &onnx_add, 2, VALUES(s, r), 1, VALUES(s1));
	PUSH(&body->results, go1);
	PUSH(&body->results, s1);
	n = node_of(cx, g->block, &onnx_loop, 3, VALUES(count, NULL, r), 1, VALUES(last));
	attrs_of(cx, n, 1, (struct attr[]){{.name = "body", .kind = AT_GRAPH, .u.block = body}});
	PUSH(&g->block->params, cond);
	PUSH(&g->block->params, x);
	PUSH(&g->block->params, count);
	PUSH(&g->block->results, r);
	PUSH(&g->block->results, last);
	return g;
}

static Onnx__ModelProto *model_of(const struct mem_sink *m)
{
	Onnx__ModelProto *p = onnx__model_proto__unpack(NULL, m->sink.written, m->data);
	assert_non_null(p);
	return p;
}

static Onnx__GraphProto *graph_in(const ProtobufCBinaryData *b)
{
	Onnx__GraphProto *p = onnx__graph_proto__unpack(NULL, b->len, b->data);
	assert_non_null(p);
	return p;
}

static void assert_text(ProtobufCBinaryData b, const char *s)
{
	assert_int_equal(b.len, strlen(s));
	assert_memory_equal(b.data, s, b.len);
}

static void assert_value(ProtobufCBinaryData b, const char *name, int dtype, int rank)
{
	Onnx__ValueInfoProto *v = onnx__value_info_proto__unpack(NULL, b.len, b.data);
	assert_non_null(v);
	assert_text(v->name, name);
	Onnx__TypeProto *t = onnx__type_proto__unpack(NULL, v->type.len, v->type.data);
	assert_non_null(t);
	assert_int_equal(t->tensor_type->elem_type, dtype);
	assert_int_equal(t->tensor_type->shape->n_dim, rank);
	onnx__type_proto__free_unpacked(t, NULL);
	onnx__value_info_proto__free_unpacked(v, NULL);
}

static struct ctx *setup(void)
{
	struct ctx *cx = ctx_new();
	assert_non_null(cx);
	assert_int_equal(setjmp(cx->oom), 0);
	dims_init(cx);
	return cx;
}

static void test_small(void **state)
{
	(void)state;
	struct ctx *cx = setup();
	struct mem_sink sink;
	mem_sink_init(&sink, cx->arena);
	assert_true(emit_model(cx, small(cx), &sink.sink, NULL));
	Onnx__ModelProto *m = model_of(&sink);
	assert_int_equal(m->ir_version, 8);
	assert_int_equal(m->n_opset_import, 1);
	assert_int_equal(m->opset_import[0]->version, 18);
	Onnx__GraphProto *g = graph_in(&m->graph);
	assert_text(g->name, "small");
	assert_int_equal(g->n_input, 2);
	assert_value(g->input[0], "x", 1, 2);
	assert_value(g->input[1], "w", 1, 1);
	assert_int_equal(g->n_output, 2);
	assert_value(g->output[0], "y", 1, 2);
	assert_value(g->output[1], "v1", 1, 1);
	assert_int_equal(g->n_node, 3);
	assert_int_equal(g->n_value_info, 1);
	/* v1 is the user's, so generated names have an underscore */
	assert_value(g->value_info[0], "v_2", 1, 2);
	assert_int_equal(g->n_initializer, 2);
	Onnx__TensorProto *t =
		onnx__tensor_proto__unpack(NULL, g->initializer[0].len, g->initializer[0].data);
	assert_text(t->name, "w");
	assert_int_equal(t->raw_data.len, 8);
	onnx__tensor_proto__free_unpacked(t, NULL);
	onnx__graph_proto__free_unpacked(g, NULL);
	onnx__model_proto__free_unpacked(m, NULL);
	ctx_free(cx);
}

static void test_deterministic(void **state)
{
	(void)state;
	struct ctx *a = setup(), *b = setup();
	struct mem_sink one, two;
	mem_sink_init(&one, a->arena);
	mem_sink_init(&two, b->arena);
	assert_true(emit_model(a, control(a), &one.sink, NULL));
	(void)small(b); /* other ids, same bytes */
	assert_true(emit_model(b, control(b), &two.sink, NULL));
	assert_int_equal(one.sink.written, two.sink.written);
	assert_memory_equal(one.data, two.data, one.sink.written);
	ctx_free(a);
	ctx_free(b);
}

static void test_inner_names(void **state)
{
	(void)state;
	struct ctx *cx = setup();
	struct mem_sink sink;
	mem_sink_init(&sink, cx->arena);
	assert_true(emit_model(cx, control(cx), &sink.sink, NULL));
	Onnx__ModelProto *m = model_of(&sink);
	Onnx__GraphProto *g = graph_in(&m->graph);
	Onnx__NodeProto *n = onnx__node_proto__unpack(NULL, g->node[0].len, g->node[0].data);
	assert_text(n->output[0], "r");
	Onnx__AttributeProto *a =
		onnx__attribute_proto__unpack(NULL, n->attribute[0].len, n->attribute[0].data);
	assert_text(a->name, "then_branch");
	Onnx__GraphProto *then = graph_in(&a->g);
	assert_value(then->output[0], "v1", 11, 1); /* not r: that is taken outside */
	onnx__graph_proto__free_unpacked(then, NULL);
	onnx__attribute_proto__free_unpacked(a, NULL);
	onnx__node_proto__free_unpacked(n, NULL);
	onnx__graph_proto__free_unpacked(g, NULL);
	onnx__model_proto__free_unpacked(m, NULL);
	ctx_free(cx);
}

/* all dtypes, splats, an empty tensor, all kinds of attributes */
static struct graph *weights(struct ctx *cx)
{
	static const uint8_t data[64] = {1, 1, 1, 1, 0, 0, 1};
	static const float half = 0.5f;
	struct graph *g = graph_of(cx, "weights");
	for (enum dtype t = DT_BOOL; t <= DT_FLOAT64; t++) {
		struct value *c = constant(cx, NULL, t, 1, (int64_t[]){4}, data, false);
		struct value *y = value_of(cx, dtypes[t].name, t, 1, c->type.dims);
		node_of(cx, g->block, &onnx_identity, 1, VALUES(c), 1, VALUES(y));
		PUSH(&g->block->results, y);
	}
	struct value *big = constant(cx, "big", DT_FLOAT32, 2, (int64_t[]){300, 100}, &half, true);
	struct value *none = constant(cx, "none", DT_FLOAT32, 2, (int64_t[]){0, 100}, NULL, false);
	const struct value *both[] = {big, none};
	for (int i = 0; i < 2; i++) {
		struct value *y =
			value_of(cx, i ? "nothing" : "much", DT_FLOAT32, 2, both[i]->type.dims);
		node_of(cx, g->block, &onnx_identity, 1, VALUES(i ? none : big), 1, VALUES(y));
		PUSH(&g->block->results, y);
	}
	static const int64_t three = 3;
	dim *d = new_array(cx->arena, dim, 1);
	d[0] = dim_const(cx, 3);
	struct value *shape = constant(cx, NULL, DT_INT64, 1, (int64_t[]){1}, &three, false);
	struct value *fill = value_of(cx, "fill", DT_FLOAT32, 1, d);
	struct value *gelu = value_of(cx, "gelu", DT_FLOAT32, 1, d);
	struct tensor *half_of = tensor_new(cx, DT_FLOAT32, 1, (int64_t[]){1});
	half_of->data = &half;
	struct node *n = node_of(cx, g->block, &onnx_cos, 1, VALUES(shape), 1, VALUES(fill));
	attrs_of(cx, n, 1, (struct attr[]){{.name = "value", .kind = AT_TENSOR, .u.t = half_of}});
	node_of(cx, g->block, &onnx_gelu, 1, VALUES(fill), 1, VALUES(gelu));
	PUSH(&g->block->results, gelu);
	return g;
}

static void test_external(void **state)
{
	(void)state;
	struct ctx *cx = setup();
	struct mem_sink sink, data;
	mem_sink_init(&sink, cx->arena);
	mem_sink_init(&data, cx->arena);
	cx->opt.external_threshold = 1000;
	cx->opt.external_name = "weights*.bin";
	assert_true(emit_model(cx, weights(cx), &sink.sink, &data.sink));
	assert_int_equal(data.sink.written, 300 * 100 * 4);
	float v;
	memcpy(&v, data.data + 119996, 4);
	swap_to_little_endian(DT_FLOAT32, &v, 1);
	assert_true(v == 0.5f);
	Onnx__ModelProto *m = model_of(&sink);
	assert_int_equal(m->n_opset_import, 2);
	assert_text(m->opset_import[1]->domain, "com.microsoft");
	Onnx__GraphProto *g = graph_in(&m->graph);
	bool found = false;
	for (size_t i = 0; i < g->n_initializer; i++) {
		Onnx__TensorProto *t = onnx__tensor_proto__unpack(NULL, g->initializer[i].len,
								  g->initializer[i].data);
		if (t->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) {
			found = true;
			assert_text(t->name, "big");
			char name[64];
			struct hash_sink h;
			hash_sink_init(&h);
			assert_true(h.sink.write(&h.sink, data.data, data.sink.written));
			snprintf(name, sizeof(name), "weights%016llx.bin",
				 (unsigned long long)hash_sink_end(&h));
			assert_text(t->external_data[0]->value, name);
			assert_string_equal(cx->opt.external_name, name);
			assert_text(t->external_data[1]->value, "0");
			assert_text(t->external_data[2]->value, "120000");
		}
		onnx__tensor_proto__free_unpacked(t, NULL);
	}
	assert_true(found);
	onnx__graph_proto__free_unpacked(g, NULL);
	onnx__model_proto__free_unpacked(m, NULL);
	ctx_free(cx);
}

/* Two tensors of one file, of which the first begins at `offset`: where are they in the model? */
static void assert_padded(uint8_t *file, size_t offset, size_t first, size_t second)
{
	struct ctx *cx = setup();
	struct mapping m = {.data = file, .len = offset + first + second, .fd = -1};
	struct graph *g = graph_of(cx, "padded");
	struct mem_sink sink;
	const size_t at[] = {offset, offset + first}, size[] = {first, second};
	PUSH(&cx->mappings, &m);
	for (int i = 0; i < 2; i++)
		PUSH(&g->block->results,
		     constant(cx, i ? "b" : "a", DT_UINT8, 1, (int64_t[]){(int64_t)size[i]},
			      file + at[i], false));
	mem_sink_init(&sink, cx->arena);
	assert_true(emit_model(cx, g, &sink.sink, NULL));
	assert_int_equal(sink.sink.written % 4096, 0);
	assert_true(sink.sink.written < first + second + 20000);
	Onnx__ModelProto *model = model_of(&sink);
	Onnx__GraphProto *graph = graph_in(&model->graph);
	const uint8_t *from = sink.data;
	assert_int_equal(graph->n_initializer, 2);
	for (int i = 0; i < 2; i++) {
		ProtobufCBinaryData *b = &graph->initializer[i];
		Onnx__TensorProto *t = onnx__tensor_proto__unpack(NULL, b->len, b->data);
		assert_non_null(t);
		assert_int_equal(t->raw_data.len, size[i]);
		assert_memory_equal(t->raw_data.data, file + at[i], size[i]);
		while (memcmp(from, file + at[i], 64) || memcmp(from, file + at[i], size[i]))
			from++;
		if (size[i] >= 1 << 20)
			assert_int_equal((size_t)(from - sink.data) % 4096, at[i] % 4096);
		from += size[i];
		onnx__tensor_proto__free_unpacked(t, NULL);
	}
	onnx__graph_proto__free_unpacked(graph, NULL);
	onnx__model_proto__free_unpacked(model, NULL);
	cx->mappings.len = 0;
	ctx_free(cx);
}

/* Large tensors of files lie at the same place in a page as there, whatever has to be filled up:
 * also where the padding itself makes a length longer (2^21 is the first of 4 bytes). */
static void test_padding(void **state)
{
	(void)state;
	size_t size = (size_t)5 << 20;
	uint8_t *file = malloc(size);
	assert_non_null(file);
	for (size_t i = 0; i < size; i++)
		file[i] = (uint8_t)((i * 2654435761u) >> 13);
	for (size_t offset = 0; offset < 4400; offset = offset * 3 + 1)
		assert_padded(file, offset, 1 << 20, (1 << 20) + offset);
	for (size_t less = 0; less < 13000; less += 211) {
		assert_padded(file, 128, 1 << 20, (1 << 20) - less);
		assert_padded(file, less, 1 << 20, (1 << 21) - less);
	}
	free(file);
}

static void test_too_large(void **state)
{
	(void)state;
	static const float zero;
	struct ctx *cx = setup();
	struct mem_sink sink;
	mem_sink_init(&sink, cx->arena);
	struct graph *g = graph_of(cx, "huge");
	PUSH(&g->block->results,
	     constant(cx, "big", DT_FLOAT32, 2, (int64_t[]){1 << 20, 1024}, &zero, true));
	assert_false(emit_model(cx, g, &sink.sink, NULL));
	assert_int_equal(cx->errors, 1);
	assert_int_equal(cx->diags->code, E_TOO_LARGE);
	assert_int_equal(sink.sink.written, 0);
	ctx_free(cx);
}

/* `depth` Ifs inside each other */
static struct graph *nested(struct ctx *cx, int depth)
{
	struct graph *g = graph_of(cx, "nested");
	struct value *cond = value_of(cx, "cond", DT_BOOL, 0, NULL);
	PUSH(&g->block->params, cond);
	struct block *b = g->block;
	for (int i = 0; i <= depth; i++) {
		struct value *r = value_of(cx, i ? NULL : "r", DT_BOOL, 0, NULL);
		PUSH(&b->results, r);
		if (i == depth) {
			node_of(cx, b, &onnx_identity, 1, VALUES(cond), 1, VALUES(r));
			break;
		}
		struct node *n = node_of(cx, b, &onnx_if, 1, VALUES(cond), 1, VALUES(r));
		struct block *then = block_of(cx, b), *otherwise = block_of(cx, b);
		struct value *e = value_of(cx, NULL, DT_BOOL, 0, NULL);
		node_of(cx, otherwise, &onnx_identity, 1, VALUES(cond), 1, VALUES(e));
		PUSH(&otherwise->results, e);
		attrs_of(cx, n, 2,
			 (struct attr[]){
				 {.name = "then_branch", .kind = AT_GRAPH, .u.block = then},
				 {.name = "else_branch", .kind = AT_GRAPH, .u.block = otherwise}});
		b = then;
	}
	return g;
}

static void test_nesting(void **state)
{
	(void)state;
	struct ctx *cx = setup();
	struct mem_sink sink;
	mem_sink_init(&sink, cx->arena);
	assert_true(emit_model(cx, nested(cx, 31), &sink.sink, NULL));
	mem_sink_init(&sink, cx->arena);
	assert_false(emit_model(cx, nested(cx, 32), &sink.sink, NULL));
	assert_int_equal(cx->diags->code, E_LIMIT);
	ctx_free(cx);
}

static void test_text(void **state)
{
	(void)state;
	struct ctx *cx = setup();
	struct strbuf text = {.arena = cx->arena};
	cx->opt.strip = true;
	assert_true(dump_onnx_text(cx, small(cx), &text));
	assert_string_equal(text.s, "<\n   ir_version: 8,\n   opset_import: [\"\" : 18]\n>\n"
				    "small (float[n, 2] x, float[2] w) => "
				    "(float[n, 2] y, float[2] v1) <\n"
				    "   float[2] w = {3, 4},\n"
				    "   float v_1 = {1},\n"
				    "   float[n, 2] v_2\n"
				    "> {\n"
				    "   v_2 = Add (x, v_1)\n"
				    "   y = Mul (v_2, w)\n"
				    "   v1 = Add (w, v_1)\n"
				    "}\n");
	ctx_free(cx);
}

static void test_dump(void **state)
{
	(void)state;
	struct ctx *cx = setup();
	struct strbuf text = {.arena = cx->arena};
	struct mem_sink sink;
	mem_sink_init(&sink, cx->arena);
	assert_true(emit_model(cx, control(cx), &sink.sink, NULL));
	assert_true(dump_model(cx, sink.data, sink.sink.written, &text));
	assert_non_null(strstr(text.s, "\n      v1 = Add (x, x)\n"));
	/* no prefix of a model is one, but the empty graphs at places where a field ends */
	for (uint64_t n = 0; n < sink.sink.written; n++) {
		struct strbuf part = {.arena = cx->arena};
		assert_false(dump_model(cx, sink.data, n, &part));
	}
	ctx_free(cx);
}

/* Two sizes of one name: only the first may have it, as runtimes take equal names as equal. */
static void test_dim_names(void **state)
{
	(void)state;
	struct ctx *cx = setup();
	struct strbuf text = {.arena = cx->arena};
	struct graph *g = graph_of(cx, "g");
	dim *d = new_array(cx->arena, dim, 3);
	d[0] = dim_name(cx, intern_str(cx, "n"));
	d[1] = dim_add(cx, d[0], dim_const(cx, 1));
	d[2] = dim_name(cx, intern_str(cx, "n"));
	PUSH(&g->block->params, value_of(cx, "a", DT_FLOAT32, 2, d));
	PUSH(&g->block->params, value_of(cx, "b b", DT_FLOAT32, 1, d + 2));
	cx->opt.strip = true;
	assert_true(dump_onnx_text(cx, g, &text));
	assert_non_null(strstr(text.s, "g (float[n, \"n+1\"] a, float[?] \"b b\") => ()"));
	ctx_free(cx);
}

static void test_file_sink(void **state)
{
	(void)state;
	struct file_sink f;
	char dir[] = "/tmp/ptgc-sink-XXXXXX", path[64], link[64];
	struct stat st;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/out", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	assert_true(file_sink_open(&f, path));
	assert_true(f.sink.write(&f.sink, "abc", 3));
	assert_int_not_equal(stat(path, &st), 0); /* nothing there before commit */
	assert_true(file_sink_commit(&f));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 3);
	assert_true(file_sink_open(&f, path));
	assert_true(f.sink.write(&f.sink, "abcdef", 6));
	file_sink_abort(&f);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 3); /* the old file is still there */
	assert_int_equal(symlink("out", link), 0);
	assert_true(file_sink_open(&f, link));
	assert_true(f.sink.write(&f.sink, "abcdef", 6));
	assert_true(file_sink_commit(&f));
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 6);
	assert_false(file_sink_open(&f, dir));
	assert_int_equal(f.sink.error, EISDIR);
	snprintf(link, sizeof(link), "%s/missing/out", dir);
	assert_false(file_sink_open(&f, link));
	assert_int_equal(f.sink.error, ENOENT);
	unlink(path);
	snprintf(link, sizeof(link), "%s/link", dir);
	unlink(link);
	assert_int_equal(rmdir(dir), 0); /* so no temporary file is left */
}

/* Bytes of a file, at any place; what cannot be copied is left to be written. */
static void test_copy(void **state)
{
	char from[] = "/tmp/ptgc-from-XXXXXX", to[] = "/tmp/ptgc-to-XXXXXX", buf[16] = "";
	struct file_sink f;
	int in = mkstemp(from), out = mkstemp(to), ends[2];
	(void)state;
	assert_true(in >= 0 && out >= 0);
	assert_int_equal(write(in, "0123456789", 10), 10);
	assert_true(file_sink_open(&f, to));
	assert_true(f.sink.write(&f.sink, "ab", 2));
	size_t n = f.sink.copy(&f.sink, in, 3, 4);
	assert_true(n <= 4); /* 0 on a file system that has no such thing */
	assert_int_equal(f.sink.written, 2 + n);
	assert_true(f.sink.write(&f.sink, &"3456"[n], 4 - n));
	n = f.sink.copy(&f.sink, in, 8, 100); /* the file ends before */
	assert_true(n <= 2);
	assert_true(file_sink_commit(&f));
	close(out);
	out = open(to, O_RDONLY);
	assert_int_equal(read(out, buf, sizeof(buf)), 6 + n);
	assert_memory_equal(buf, n ? "ab345689" : "ab3456", 6 + n);
	assert_int_equal(pipe(ends), 0);
	file_sink_fd(&f, ends[1]);
	assert_int_equal(f.sink.copy(&f.sink, in, 0, 4), 0);
	assert_int_equal(f.sink.error, 0);
	f.sink.error = ENOSPC;
	assert_int_equal(f.sink.copy(&f.sink, in, 0, 4), 0);
	file_sink_abort(&f);
	close(ends[0]);
	close(ends[1]);
	close(in);
	close(out);
	unlink(from);
	unlink(to);
}

static uint64_t hash_of(const char *text, size_t piece)
{
	struct hash_sink h;
	size_t len = strlen(text), at = 0;
	hash_sink_init(&h);
	for (; at < len; at += piece)
		h.sink.write(&h.sink, text + at, len - at < piece ? len - at : piece);
	return hash_sink_end(&h);
}

/* What xxhsum -H1 says; and the same in pieces of any length, and of a file. */
static void test_hash(void **state)
{
	static const char text[] = "Nobody inspects the spammish repetition";
	char from[] = "/tmp/ptgc-hash-XXXXXX";
	struct hash_sink h;
	int fd = mkstemp(from);
	(void)state;
	assert_true(hash_of("", 1) == 0xef46db3751d8e999);
	assert_true(hash_of("a", 1) == 0xd24ec4f1a98c6e5b);
	assert_true(hash_of("abc", 9) == 0x44bc2cf5ad770999);
	for (size_t piece = 1; piece < 50; piece++)
		assert_true(hash_of(text, piece) == 0xfbcea83c8a378bf1);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	hash_sink_init(&h);
	assert_true(h.sink.write(&h.sink, text, 5));
	assert_int_equal(h.sink.copy(&h.sink, fd, 5, 1000), strlen(text) - 5);
	assert_true(hash_sink_end(&h) == 0xfbcea83c8a378bf1);
	close(fd);
	unlink(from);
}

static void test_full_device(void **state)
{
	(void)state;
	struct file_sink f;
	int fd = open("/dev/full", O_WRONLY);
	assert_true(fd >= 0);
	close(fd);
	assert_true(file_sink_open(&f, "/dev/full"));
	assert_true(f.direct);
	assert_false(f.sink.write(&f.sink, "abc", 3));
	assert_int_equal(f.sink.error, ENOSPC);
	assert_false(f.sink.write(&f.sink, "abc", 3));
	assert_false(file_sink_commit(&f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),       cmocka_unit_test(test_deterministic),
		cmocka_unit_test(test_inner_names), cmocka_unit_test(test_external),
		cmocka_unit_test(test_padding),     cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_nesting),     cmocka_unit_test(test_text),
		cmocka_unit_test(test_dump),        cmocka_unit_test(test_dim_names),
		cmocka_unit_test(test_file_sink),   cmocka_unit_test(test_copy),
		cmocka_unit_test(test_full_device), cmocka_unit_test(test_hash),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
