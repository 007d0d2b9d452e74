/*
 * bytes.c: tensors as bytes of a file. In: tensors. Out: their elements in a sink, little endian,
 * in C order. Large ones that are files themselves are copied by the system, if it can.
 */
#include <string.h>

#include "data/data.h"

#define COPIED ((size_t)1 << 18) /* the system copies larger tensors from their files */

const struct mapping *mapping_of(const struct ctx *cx, const uint8_t *data)
{
	for (uint32_t i = 0; i < cx->mappings.len; i++) {
		const struct mapping *m = cx->mappings.at[i];
		if ((uintptr_t)data - (uintptr_t)m->data < m->len)
			return m;
	}
	return NULL;
}

const void *bytes_of_tensor(struct ctx *cx, const struct tensor *t)
{
	return little_endian(cx, (enum dtype)t->dtype, t->data, stored_elements(t));
}

void expand_splat(const struct tensor *t, uint8_t *to, size_t size)
{
	size_t n = dtypes[t->dtype].size;
	for (size_t i = 0; i < size; i += n)
		memcpy(to + i, t->data, n);
	swap_to_little_endian((enum dtype)t->dtype, to, size / n);
}

static bool write_splat(struct sink *s, const struct tensor *t, uint64_t size)
{
	uint8_t buf[16384]; /* a multiple of all element sizes */
	expand_splat(t, buf, size < sizeof(buf) ? (size_t)size : sizeof(buf));
	for (uint64_t n; size; size -= n) {
		n = size < sizeof(buf) ? size : sizeof(buf);
		if (!s->write(s, buf, (size_t)n))
			return false;
	}
	return true;
}

bool write_bytes(const struct ctx *cx, struct sink *s, const uint8_t *data, size_t len)
{
	const struct mapping *m = s->copy && len >= COPIED ? mapping_of(cx, data) : NULL;
	size_t n = m && m->fd >= 0 ? s->copy(s, m->fd, (uint64_t)(data - m->data), len) : 0;
	return s->write(s, data + n, len - n);
}

bool write_tensor(struct ctx *cx, struct sink *s, const struct tensor *t)
{
	uint64_t size = tensor_size(t);

	return t->splat ? write_splat(s, t, size)
			: write_bytes(cx, s, bytes_of_tensor(cx, t), (size_t)size);
}
