/*
 * weights.c: the file of weights that a model as C gets from its caller. In: tensors. Out: their
 * places, and the bytes of the file. The check number at its end, which the C compares, tells a
 * file of other weights, one that was not read to its end, and a machine of another byte order.
 */
#include <string.h>

#include "data/data.h"

#define CHECK_SIZE 8u

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

uint64_t add_weight(struct ctx *cx, struct weights *w, const struct tensor *t)
{
	uint64_t place = round_up(w->bytes, WEIGHTS_ALIGNMENT);

	*vec_push(cx->arena, &w->at) = t;
	w->bytes = place + tensor_size(t);
	return place;
}

/* Zeros from `written` on up to the next multiple */
static bool write_zeros(struct sink *s, uint64_t *written, uint64_t to)
{
	static const uint8_t zeros[WEIGHTS_ALIGNMENT];
	uint64_t end = round_up(*written, to);
	size_t n = (size_t)(end - *written);

	*written = end;
	return !n || s->write(s, zeros, n);
}

static bool write_tensors(struct ctx *cx, struct sink *s, const struct weights *w)
{
	uint64_t written = 0;

	for (uint32_t i = 0; i < w->at.len; i++) {
		if (!write_zeros(s, &written, WEIGHTS_ALIGNMENT) ||
		    !write_tensor(cx, s, w->at.at[i]))
			return false;
		written += tensor_size(w->at.at[i]);
	}
	return write_zeros(s, &written, CHECK_SIZE);
}

void end_weights(struct ctx *cx, struct weights *w)
{
	struct hash_sink hash;

	hash_sink_init(&hash);
	write_tensors(cx, &hash.sink, w);
	w->check = hash_sink_end(&hash);
	w->bytes = round_up(w->bytes, CHECK_SIZE) + CHECK_SIZE;
}

bool write_weights(struct ctx *cx, struct sink *s, const struct weights *w)
{
	uint8_t check[CHECK_SIZE];

	for (uint32_t i = 0; i < CHECK_SIZE; i++)
		check[i] = (uint8_t)(w->check >> 8 * i);
	if (s->expect)
		s->expect(s, w->bytes);
	return write_tensors(cx, s, w) && s->write(s, check, sizeof(check));
}
