/*
 * state.c: the first values of states as a .safetensors file, for models whose states are plain
 * inputs (--state=inputs). In: an ONNX graph. Out: bytes of a file with one tensor a state.
 */
#include "data/data.h"
#include "emit/emit.h"

#define ALIGNMENT 8

/* A name as JSON has it; names hold no control characters but those that a .ptg text may. */
static void json_name(struct strbuf *out, const char *s)
{
	sb_str(out, "\"");
	for (; *s; s++) {
		if ((unsigned char)*s < 32)
			sb_printf(out, "\\u%04x", (unsigned int)*s);
		else
			sb_printf(out, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
	}
	sb_str(out, "\"");
}

static void header_entry(struct strbuf *out, const char *name, const struct tensor *t, uint64_t at)
{
	json_name(out, name);
	sb_printf(out, ":{\"dtype\":\"%s\",\"shape\":[", safetensors_dtype(t->dtype));
	for (int i = 0; i < t->rank; i++)
		sb_printf(out, "%s%lld", i ? "," : "", (long long)t->shape[i]);
	sb_printf(out, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)at,
		  (unsigned long long)(at + tensor_size(t)));
}

bool emit_state(struct ctx *cx, const struct graph *g, struct sink *out)
{
	struct strbuf header = {.arena = cx->arena};
	uint8_t length[8];
	uint64_t at = 0;
	bool ok;

	sb_str(&header, "{");
	for (uint32_t i = 0; i < g->states.len; i++) {
		const struct tensor *t = g->states.at[i].init->data;
		sb_str(&header, i ? "," : "");
		header_entry(&header, g->states.at[i].param->name->s, t, at);
		at += tensor_size(t);
	}
	sb_str(&header, "}");
	while (header.len % ALIGNMENT)
		sb_str(&header, " ");
	for (int i = 0; i < 8; i++)
		length[i] = (uint8_t)((uint64_t)header.len >> 8 * i);
	ok = out->write(out, length, sizeof(length)) && out->write(out, header.s, header.len);
	for (uint32_t i = 0; i < g->states.len && ok; i++)
		ok = write_tensor(cx, out, g->states.at[i].init->data);
	return ok;
}
