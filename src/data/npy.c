/*
 * npy.c: one array of NumPy's .npy format, versions 1 to 3.
 * In: the bytes of the file. Out: a tensor that points to them; arrays in Fortran order are copied
 * into C order. A header that is not as NumPy writes it is refused, with the reason.
 */
#include <string.h>

#include "data/data.h"

struct npy {
	struct ctx *cx;
	struct span span;
	const char *path;
	const char *p, *end; /* of the header's text */
	char descr[32];
	bool fortran;
	int rank;
	int64_t shape[MAX_RANK];
};

PRINTF(2, 3) static bool bad_npy(struct npy *n, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	const char *words = arena_vprintf(n->cx->arena, fmt, ap);
	va_end(ap);
	error(n->cx, n->span, E_FILE_FORMAT, "file \"%s\": %.*s", n->path,
	      shown_len(words, strlen(words), MAX_WORDS), words);
	return false;
}

static void skip(struct npy *n)
{
	while (n->p < n->end && (*n->p == ' ' || *n->p == '\t' || *n->p == '\n'))
		n->p++;
}

static bool next_is(struct npy *n, char c)
{
	skip(n);
	if (n->p == n->end || *n->p != c)
		return false;
	n->p++;
	return true;
}

static bool next_is_word(struct npy *n, const char *w)
{
	size_t len = strlen(w);
	skip(n);
	if ((size_t)(n->end - n->p) < len || memcmp(n->p, w, len))
		return false;
	n->p += len;
	return true;
}

static bool read_string(struct npy *n, char *to, size_t size)
{
	size_t len = 0;
	char quote;
	skip(n);
	if (n->p == n->end || (*n->p != '\'' && *n->p != '"'))
		return bad_npy(n, "the header is damaged: a string is missing");
	quote = *n->p++;
	while (n->p < n->end && *n->p != quote && *n->p != '\\' && *n->p > 0 && len + 1 < size)
		to[len++] = *n->p++;
	to[len] = 0;
	if (n->p == n->end || *n->p != quote)
		return bad_npy(n, "the header is damaged: \"%s...\" is not a name or dtype", to);
	n->p++;
	return true;
}

static bool read_shape(struct npy *n)
{
	if (!next_is(n, '('))
		return bad_npy(n, "the header is damaged: the shape is not a tuple");
	while (!next_is(n, ')')) {
		int64_t v = 0;
		if (next_is(n, '-'))
			return bad_npy(n, "the header has a negative dim");
		if (n->rank == MAX_RANK)
			return bad_npy(n, "the array has more than %d dims", MAX_RANK);
		if (n->p == n->end || *n->p < '0' || *n->p > '9')
			return bad_npy(n, "the header is damaged: a dim is not a number");
		for (; n->p < n->end && *n->p >= '0' && *n->p <= '9'; n->p++)
			if (__builtin_mul_overflow(v, 10, &v) ||
			    __builtin_add_overflow(v, *n->p - '0', &v))
				return bad_npy(n, "the header has a dim beyond 2^63");
		n->shape[n->rank++] = v;
		if (next_is(n, ','))
			continue;
		if (n->rank == 1) /* (3) is a number, not a tuple */
			return bad_npy(n, "the header is damaged: the shape is not a tuple");
		if (next_is(n, ')'))
			break;
		return bad_npy(n, "the header is damaged: the shape does not end");
	}
	return true;
}

/* {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), } */
static bool read_header(struct npy *n)
{
	unsigned seen = 0, bit;
	char key[32];
	if (!next_is(n, '{'))
		return bad_npy(n, "the header is damaged: it is not a dict");
	while (!next_is(n, '}')) {
		if (!read_string(n, key, sizeof(key)))
			return false;
		bit = !strcmp(key, "descr") ? 1 : !strcmp(key, "fortran_order") ? 2 : 4;
		if (bit == 4 && strcmp(key, "shape"))
			return bad_npy(n, "the header has an unknown key \"%s\"", key);
		if (seen & bit)
			return bad_npy(n, "the header has two keys \"%s\"", key);
		seen |= bit;
		if (!next_is(n, ':'))
			return bad_npy(n, "the header is damaged after \"%s\"", key);
		if (bit == 1 && next_is(n, '['))
			return bad_npy(n,
				       "the array is structured: arrays of plain numbers are read");
		if (bit == 1 && !read_string(n, n->descr, sizeof(n->descr)))
			return false;
		if (bit == 2) {
			n->fortran = next_is_word(n, "True");
			if (!n->fortran && !next_is_word(n, "False"))
				return bad_npy(
					n, "the header is damaged: fortran_order is not a bool");
		}
		if (bit == 4 && !read_shape(n))
			return false;
		if (next_is(n, ','))
			continue;
		if (next_is(n, '}'))
			break;
		return bad_npy(n, "the header is damaged after \"%s\"", key);
	}
	skip(n);
	if (seen != 7)
		return bad_npy(n,
			       "the header is incomplete: it needs descr, fortran_order and shape");
	return n->p == n->end || bad_npy(n, "the header has text after its end");
}

/* Finds the text of the header, and the data after it. */
static bool split(struct npy *n, const struct mapping *m, const uint8_t **data)
{
	const uint8_t *p = m->data;
	size_t len, at;
	if (m->len < 10 || memcmp(p, "\x93NUMPY", 6))
		return bad_npy(n, "this is not a .npy file");
	if (p[6] < 1 || p[6] > 3 || p[7])
		return bad_npy(n, "version %d.%d of the .npy format is unknown", p[6], p[7]);
	at = p[6] == 1 ? 10 : 12;
	if (m->len < at)
		return bad_npy(n, "the file is truncated in its header");
	len = p[8] | (size_t)p[9] << 8;
	if (p[6] > 1)
		len |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
	if (len > m->len - at)
		return bad_npy(n, "the file is truncated in its header");
	n->p = (const char *)p + at;
	n->end = n->p + len;
	*data = p + at + len;
	return true;
}

static enum dtype dtype_of(struct npy *n)
{
	static const struct {
		const char *descr;
		enum dtype dtype;
	} names[] = {{"b1", DT_BOOL},      {"i1", DT_INT8},       {"i2", DT_INT16},
		     {"i4", DT_INT32},     {"i8", DT_INT64},      {"u1", DT_UINT8},
		     {"u2", DT_UINT16},    {"u4", DT_UINT32},     {"u8", DT_UINT64},
		     {"f2", DT_FLOAT16},   {"f4", DT_FLOAT32},    {"f8", DT_FLOAT64},
		     {"c8", DT_COMPLEX64}, {"c16", DT_COMPLEX128}};
	char order = n->descr[0];
	const char *what = "a dtype that is not known here";
	if (order && strchr("<>=|", order))
		for (size_t i = 0; i < countof(names); i++) {
			enum dtype t = names[i].dtype;
			if (strcmp(n->descr + 1, names[i].descr))
				continue;
			if (order != '>' || dtypes[t].size == 1)
				return t;
			what = "big-endian numbers: save it as x.astype(x.dtype.newbyteorder('<'))";
		}
	if (n->descr[0] && strchr("OSUMmVa", n->descr[order == 'O' ? 0 : 1]))
		what = "no plain numbers";
	error(n->cx, n->span, E_FILE_DTYPE, "file \"%s\" holds %s (descr '%s')", n->path, what,
	      n->descr);
	return DT_NONE;
}

/* The bytes that an array of this shape has; false: reported, they do not fit 64 bits. */
static bool data_size(struct npy *n, enum dtype t, uint64_t *size)
{
	bool empty = false;
	*size = dtypes[t].size;
	for (int i = 0; i < n->rank; i++) {
		if (!n->shape[i])
			empty = true;
		else if (__builtin_mul_overflow(*size, (uint64_t)n->shape[i], size) ||
			 *size > INT64_MAX)
			return bad_npy(n,
				       "the header has an impossible shape: its product overflows");
	}
	if (empty)
		*size = 0;
	return true;
}

/* Copies one plane of the first and the last axis, in tiles that fit the cache. */
static void copy_plane(uint8_t *to, const uint8_t *from, size_t size, int64_t rows, int64_t cols,
		       int64_t to_row, int64_t from_col)
{
	const int64_t tile = 32;
	for (int64_t i0 = 0; i0 < rows; i0 += tile)
		for (int64_t j0 = 0; j0 < cols; j0 += tile)
			for (int64_t i = i0; i < rows && i < i0 + tile; i++)
				for (int64_t j = j0; j < cols && j < j0 + tile; j++)
					memcpy(to + (size_t)(i * to_row + j) * size,
					       from + (size_t)(i + j * from_col) * size, size);
}

/* Fortran order to C order: for each index of the middle axes, copies a plane of the outer two. */
static void *to_c_order(struct npy *n, const uint8_t *data, size_t elem, uint64_t size)
{
	uint8_t *out = arena_alloc(n->cx->arena, size);
	int last = n->rank - 1;
	int64_t in_stride[MAX_RANK], out_stride[MAX_RANK], at[MAX_RANK] = {0};
	in_stride[0] = out_stride[last] = 1;
	for (int i = 1; i < n->rank; i++) {
		in_stride[i] = in_stride[i - 1] * n->shape[i - 1];
		out_stride[last - i] = out_stride[n->rank - i] * n->shape[n->rank - i];
	}
	for (int k = 0; k >= 0;) {
		int64_t from = 0, to = 0;
		for (int i = 1; i < last; i++) {
			from += at[i] * in_stride[i];
			to += at[i] * out_stride[i];
		}
		copy_plane(out + (size_t)to * elem, data + (size_t)from * elem, elem, n->shape[0],
			   n->shape[last], out_stride[0], in_stride[last]);
		for (k = last - 1; k > 0; k--) {
			if (++at[k] < n->shape[k])
				break;
			at[k] = 0;
		}
		if (k <= 0)
			break;
	}
	return out;
}

struct tensor *npy_tensor(struct ctx *cx, struct span s, const char *path, const struct mapping *m)
{
	struct npy n = {.cx = cx, .span = s, .path = path};
	const uint8_t *data = NULL;
	uint64_t size, have;
	if (!split(&n, m, &data) || !read_header(&n))
		return NULL;
	enum dtype t = dtype_of(&n);
	if (t == DT_NONE || !data_size(&n, t, &size))
		return NULL;
	have = m->len - (uint64_t)(data - m->data);
	if (have != size) {
		bad_npy(&n, "the file is %s: its header promises %llu bytes of data, it has %llu",
			have < size ? "truncated" : "damaged", (unsigned long long)size,
			(unsigned long long)have);
		return NULL;
	}
	struct tensor *r = tensor_new(cx, t, n.rank, n.shape);
	r->name = path;
	r->data = data;
	if (n.fortran && n.rank > 1 && size)
		r->data = to_c_order(&n, data, dtypes[t].size, size);
	r->data = little_endian(cx, t, r->data, r->count);
	if (!tensor_valid(r)) {
		bad_npy(&n, "the file is damaged: it has bools that are neither 0 nor 1");
		return NULL;
	}
	return r;
}
