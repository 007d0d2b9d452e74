/*
 * safetensors.c: one tensor of a .safetensors file: 8 bytes of length, a JSON header, data.
 * In: the bytes of the file and a name. Out: a tensor that points to them.
 * Holds: the header is read once, as a whole. As the format demands, the tensors follow one another
 * without gap or overlap up to the end of the file. The only JSON that is read is that of the
 * format, an object of objects, so reading needs no recursion.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/data.h"

#define HEADER_MAX ((uint64_t)100 << 20) /* the format's own limit */

struct st_dtype;
struct st_entry {
	struct sym *name;
	char dtype_name[16];
	const struct st_dtype *type; /* NULL: a dtype that is not known */
	int rank;
	int64_t shape[8]; /* up to 8 dims; more in `more` */
	int64_t *more;
	uint64_t begin, end;
};
struct st_index {
	const uint8_t *data; /* the bytes that offsets count from */
	uint64_t size;
	uint32_t count;
	struct st_entry *by_place; /* as they lie in the file */
	struct st_entry **by_name; /* by the address of the name */
};

struct json {
	struct ctx *cx;
	struct span span;
	const char *path;
	const char *p, *end, *start;
	struct strbuf text; /* the string last read */
};

PRINTF(2, 3) static bool bad_header(struct json *j, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	const char *words = arena_vprintf(j->cx->arena, fmt, ap);
	va_end(ap);
	error(j->cx, j->span, E_FILE_FORMAT, "file \"%s\": %.*s", j->path,
	      shown_len(words, strlen(words), MAX_WORDS), words);
	return false;
}

/* A name from the file, as a message shows it. */
static const char *shown(struct json *j, const struct sym *name)
{
	char *s = arena_strdup(j->cx->arena, name->s, name->len);
	for (char *p = s; *p; p++)
		if ((unsigned char)*p < 32 || *p == 127)
			*p = '?';
	return s;
}

static bool damaged(struct json *j, const char *expected)
{
	return bad_header(j, "the header is damaged at byte %zu: expected %s",
			  (size_t)(j->p - j->start) + 8, expected);
}

static bool next_is(struct json *j, char c)
{
	while (j->p < j->end && (*j->p == ' ' || *j->p == '\t' || *j->p == '\n' || *j->p == '\r'))
		j->p++;
	if (j->p == j->end || *j->p != c)
		return false;
	j->p++;
	return true;
}

static bool expect(struct json *j, char c)
{
	char words[4] = {'\'', c, '\'', 0};
	return next_is(j, c) || damaged(j, words);
}

static bool hex4(struct json *j, uint32_t *v)
{
	*v = 0;
	if (j->end - j->p < 4)
		return damaged(j, "four hex digits");
	for (int i = 0; i < 4; i++, j->p++) {
		char c = *j->p;
		int d = c >= '0' && c <= '9'   ? c - '0'
			: c >= 'a' && c <= 'f' ? c - 'a' + 10
			: c >= 'A' && c <= 'F' ? c - 'A' + 10
					       : -1;
		if (d < 0)
			return damaged(j, "four hex digits");
		*v = *v << 4 | (uint32_t)d;
	}
	return true;
}

static bool unicode(struct json *j)
{
	uint32_t c, low;
	char utf8[4];
	if (!hex4(j, &c))
		return false;
	if (c >= 0xd800 && c < 0xdc00) {
		if (j->end - j->p < 2 || j->p[0] != '\\' || j->p[1] != 'u')
			return damaged(j, "the second half of a surrogate pair");
		j->p += 2;
		if (!hex4(j, &low))
			return false;
		if (low < 0xdc00 || low > 0xdfff)
			return damaged(j, "the second half of a surrogate pair");
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	} else if ((c >= 0xdc00 && c < 0xe000) || !c) {
		return damaged(j, "a character");
	}
	sb_add(&j->text, utf8, utf8_put(utf8, c));
	return true;
}

static bool escape(struct json *j)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *at;
	if (j->p == j->end)
		return damaged(j, "an escape");
	if (*j->p == 'u') {
		j->p++;
		return unicode(j);
	}
	at = *j->p ? strchr(from, *j->p) : NULL;
	if (!at)
		return damaged(j, "an escape");
	j->p++;
	sb_add(&j->text, to + (at - from), 1);
	return true;
}

/* A string, decoded into j->text. */
static bool read_string(struct json *j)
{
	j->text.len = 0;
	if (!next_is(j, '"'))
		return damaged(j, "a string");
	for (;;) {
		const char *run = j->p;
		while (j->p < j->end && *j->p != '"' && *j->p != '\\' && (unsigned char)*j->p >= 32)
			j->p++;
		sb_add(&j->text, run, (size_t)(j->p - run));
		if (j->p == j->end || (unsigned char)*j->p < 32)
			return damaged(j, "'\"'");
		if (*j->p++ == '"')
			return true;
		if (!escape(j))
			return false;
	}
}

static bool read_number(struct json *j, uint64_t *v)
{
	*v = 0;
	(void)next_is(j, 0); /* skips blanks */
	if (j->p == j->end || *j->p < '0' || *j->p > '9')
		return damaged(j, "a number that is not negative");
	if (*j->p == '0' && j->p + 1 < j->end && j->p[1] >= '0' && j->p[1] <= '9')
		return damaged(j, "a number without leading zeros");
	for (; j->p < j->end && *j->p >= '0' && *j->p <= '9'; j->p++)
		if (__builtin_mul_overflow(*v, 10, v) ||
		    __builtin_add_overflow(*v, (uint64_t)(*j->p - '0'), v) || *v > INT64_MAX)
			return bad_header(j, "the header has a number beyond 2^63");
	return true;
}

static bool metadata(struct json *j)
{
	if (!expect(j, '{'))
		return false;
	if (next_is(j, '}'))
		return true;
	do {
		if (!read_string(j) || !expect(j, ':') || !read_string(j))
			return false;
	} while (next_is(j, ','));
	return expect(j, '}');
}

static bool read_shape(struct json *j, struct st_entry *e)
{
	uint64_t v;
	if (!expect(j, '['))
		return false;
	if (next_is(j, ']'))
		return true;
	do {
		if (!read_number(j, &v))
			return false;
		if (e->rank == MAX_RANK)
			return bad_header(j, "tensor \"%s\" has more than %d dims",
					  shown(j, e->name), MAX_RANK);
		if (e->rank == (int)countof(e->shape)) {
			e->more = new_array(j->cx->arena, int64_t, MAX_RANK);
			memcpy(e->more, e->shape, sizeof(e->shape));
		}
		(e->more ? e->more : e->shape)[e->rank++] = (int64_t)v;
	} while (next_is(j, ','));
	return expect(j, ']');
}

/* Small floats that PyTensor has not are read as float32, which holds all of their numbers. A
 * number is its bits' sign, exponent and mantissa, as IEEE 754 has them but for what is said here.
 */
enum small_float {
	AS_IT_IS,
	BF16,    /* 8 bits of exponent, 7 of mantissa: the upper half of a float32 */
	F8_E5M2, /* the upper half of a float16 */
	F8_E4M3, /* 4 and 3 bits; no infinities: the largest exponent counts, but 0x7f is NaN */
	F8_E8M0, /* an exponent alone, a power of two; 0xff is NaN */
};

static const struct st_dtype {
	char name[8];
	uint8_t size; /* bytes in the file */
	uint8_t dtype, small;
} st_dtypes[] = {
	{"BOOL", 1, DT_BOOL, 0},
	{"U8", 1, DT_UINT8, 0},
	{"I8", 1, DT_INT8, 0},
	{"U16", 2, DT_UINT16, 0},
	{"I16", 2, DT_INT16, 0},
	{"F16", 2, DT_FLOAT16, 0},
	{"U32", 4, DT_UINT32, 0},
	{"I32", 4, DT_INT32, 0},
	{"F32", 4, DT_FLOAT32, 0},
	{"U64", 8, DT_UINT64, 0},
	{"I64", 8, DT_INT64, 0},
	{"F64", 8, DT_FLOAT64, 0},
	{"C64", 8, DT_COMPLEX64, 0},
	{"BF16", 2, DT_FLOAT32, BF16},
	{"F8_E5M2", 1, DT_FLOAT32, F8_E5M2},
	{"F8_E4M3", 1, DT_FLOAT32, F8_E4M3},
	{"F8_E8M0", 1, DT_FLOAT32, F8_E8M0},
};

const char *safetensors_dtype(enum dtype t)
{
	for (size_t i = 0; i < countof(st_dtypes); i++)
		if (st_dtypes[i].dtype == t && !st_dtypes[i].small)
			return st_dtypes[i].name;
	return t == DT_BFLOAT16 ? "BF16" : NULL;
}

static float widened(enum small_float kind, const uint8_t *p)
{
	uint32_t bits = (uint32_t)(p[0] | (kind == BF16 ? p[1] << 8 : 0)) << 16;
	float f;

	if (kind == F8_E5M2)
		return (float)half_to_double((uint16_t)(p[0] << 8));
	if (kind == F8_E8M0)
		return p[0] == 0xff ? NAN : ldexpf(1, p[0] - 127);
	if (kind == F8_E4M3) {
		int e = p[0] >> 3 & 15, m = p[0] & 7;
		f = e ? ldexpf((float)(8 + m), e - 10) : ldexpf((float)m, -9);
		f = e == 15 && m == 7 ? NAN : f;
		return p[0] & 0x80 ? -f : f;
	}
	memcpy(&f, &bits, sizeof(f));
	return f;
}

static const void *widen_all(struct ctx *cx, enum small_float kind, const uint8_t *from, uint64_t n)
{
	uint32_t step = kind == BF16 ? 2 : 1;
	float *to = arena_alloc(cx->arena, mul_size(cx->arena, n + 1, sizeof(float)));

	for (uint64_t i = 0; i < n; i++)
		to[i] = widened(kind, from + i * step);
	return to;
}

static void read_dtype(struct json *j, struct st_entry *e)
{
	snprintf(e->dtype_name, sizeof(e->dtype_name), "%.15s", j->text.s ? j->text.s : "");
	for (size_t i = 0; i < countof(st_dtypes); i++)
		if (!strcmp(st_dtypes[i].name, e->dtype_name))
			e->type = &st_dtypes[i];
}

/* Do dtype, shape and offsets say the same size? */
static bool check_size(struct json *j, const struct st_entry *e, uint64_t size)
{
	const int64_t *shape = e->more ? e->more : e->shape;
	uint64_t need = e->type ? e->type->size : 0;
	bool empty = false;
	if (e->begin > e->end || e->end > size)
		return bad_header(j,
				  "tensor \"%s\" lies outside the file: bytes %llu to %llu of %llu",
				  shown(j, e->name), (unsigned long long)e->begin,
				  (unsigned long long)e->end, (unsigned long long)size);
	if (!e->type) /* refused where it is asked for */
		return true;
	for (int i = 0; i < e->rank; i++) {
		if (!shape[i])
			empty = true;
		else if (__builtin_mul_overflow(need, (uint64_t)shape[i], &need))
			return bad_header(j, "tensor \"%s\" has an impossible shape",
					  shown(j, e->name));
	}
	if ((empty ? 0 : need) != e->end - e->begin)
		return bad_header(
			j, "tensor \"%s\": its shape and dtype take %llu bytes, its offsets %llu",
			shown(j, e->name), empty ? 0ull : (unsigned long long)need,
			(unsigned long long)(e->end - e->begin));
	return true;
}

/* {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]} */
static bool read_entry(struct json *j, struct st_entry *e)
{
	unsigned seen = 0;
	if (!expect(j, '{'))
		return false;
	do {
		if (!read_string(j))
			return false;
		const char *key = j->text.s ? j->text.s : "";
		unsigned bit = !strcmp(key, "dtype")          ? 1
			       : !strcmp(key, "shape")        ? 2
			       : !strcmp(key, "data_offsets") ? 4
							      : 0;
		if (!bit || (seen & bit))
			return bad_header(j, "tensor \"%s\" has %s key \"%.100s\"",
					  shown(j, e->name), bit ? "twice the" : "an unknown", key);
		seen |= bit;
		if (!expect(j, ':'))
			return false;
		if (bit == 1) {
			if (!read_string(j))
				return false;
			read_dtype(j, e);
		} else if (bit == 2 ? !read_shape(j, e)
				    : !(expect(j, '[') && read_number(j, &e->begin) &&
					expect(j, ',') && read_number(j, &e->end) &&
					expect(j, ']'))) {
			return false;
		}
	} while (next_is(j, ','));
	if (!expect(j, '}'))
		return false;
	return seen == 7 || bad_header(j, "tensor \"%s\" lacks its dtype, shape or data_offsets",
				       shown(j, e->name));
}

static int by_place(const void *a, const void *b)
{
	const struct st_entry *x = a, *y = b;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static int by_name(const void *a, const void *b)
{
	const struct st_entry *x = *(struct st_entry *const *)a, *y = *(struct st_entry *const *)b;
	return x->name < y->name ? -1 : x->name > y->name;
}

static bool check_layout(struct json *j, struct st_index *x)
{
	uint64_t at = 0;
	if (x->count)
		qsort(x->by_place, x->count, sizeof(*x->by_place), by_place);
	for (uint32_t i = 0; i < x->count; i++) {
		const struct st_entry *e = &x->by_place[i];
		if (e->begin < at)
			return bad_header(j, "tensors \"%s\" and \"%s\" overlap",
					  shown(j, x->by_place[i - 1].name), shown(j, e->name));
		if (e->begin > at)
			return bad_header(j, "there is a gap before tensor \"%s\"",
					  shown(j, e->name));
		at = e->end;
		x->by_name[i] = &x->by_place[i];
	}
	if (at != x->size)
		return bad_header(j, "the file has %llu bytes that belong to no tensor",
				  (unsigned long long)(x->size - at));
	if (x->count)
		qsort(x->by_name, x->count, sizeof(*x->by_name), by_name);
	for (uint32_t i = 1; i < x->count; i++)
		if (x->by_name[i]->name == x->by_name[i - 1]->name)
			return bad_header(j, "two tensors are called \"%s\"",
					  shown(j, x->by_name[i]->name));
	return true;
}

static bool read_entries(struct json *j, struct st_index *x)
{
	vec(struct st_entry) entries = {0};
	bool meta = false;
	if (!expect(j, '{'))
		return false;
	while (!next_is(j, '}')) {
		if ((entries.len || meta) && !expect(j, ','))
			return false;
		if (!read_string(j) || !expect(j, ':'))
			return false;
		struct sym *name = intern(j->cx, j->text.s ? j->text.s : "", j->text.len);
		if (!strcmp(name->s, "__metadata__")) {
			if (meta)
				return bad_header(j, "there are two __metadata__");
			meta = true;
			if (!metadata(j))
				return false;
			continue;
		}
		struct st_entry *e = vec_push(j->cx->arena, &entries);
		e->name = name;
		if (!read_entry(j, e) || !check_size(j, e, x->size))
			return false;
	}
	while (j->p < j->end && (*j->p == ' ' || *j->p == '\n'))
		j->p++;
	if (j->p != j->end)
		return damaged(j, "the header's end");
	x->count = entries.len;
	x->by_place = entries.at;
	x->by_name = new_array(j->cx->arena, struct st_entry *, entries.len + 1u);
	return check_layout(j, x);
}

static struct st_index *read_index(struct json *j, const struct mapping *m)
{
	struct st_index *x = new (j->cx->arena, struct st_index);
	uint64_t len = 0;
	if (m->len < 10) {
		bad_header(j, "this is not a .safetensors file");
		return NULL;
	}
	for (int i = 0; i < 8; i++)
		len |= (uint64_t)m->data[i] << 8 * i;
	if (len > HEADER_MAX || len > m->len - 8 || len < 2 || m->data[8] != '{') {
		bad_header(j, len <= HEADER_MAX && len >= 2 && m->data[8] == '{'
				      ? "the file is truncated in its header"
				      : "this is not a .safetensors file");
		return NULL;
	}
	j->start = j->p = (const char *)m->data + 8;
	j->end = j->p + len;
	j->text.arena = j->cx->arena;
	x->data = m->data + 8 + len;
	x->size = m->len - 8 - len;
	return read_entries(j, x) ? x : NULL;
}

static const struct st_entry *find(const struct st_index *x, const struct sym *name)
{
	uint32_t low = 0, high = x->count;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		if (x->by_name[mid]->name == name)
			return x->by_name[mid];
		if (x->by_name[mid]->name < name)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

static void report_names(struct json *j, const struct st_index *x, const char *name)
{
	const char **names = new_array(j->cx->arena, const char *, x->count + 1u);
	const char *near;
	struct strbuf list = {.arena = j->cx->arena};
	struct diag *d;
	for (uint32_t i = 0; i < x->count; i++) {
		names[i] = shown(j, x->by_place[i].name);
		if (i < 12)
			sb_printf(&list, "%s\"%s\"", i ? ", " : "", names[i]);
	}
	if (x->count > 12)
		sb_printf(&list, " and %u more", x->count - 12);
	near = name ? did_you_mean(name, names, x->count) : NULL;
	if (!name)
		d = error(
			j->cx, j->span, E_FILE_TENSOR,
			"file \"%s\" holds tensors by name: say which, as in file(\"%s\", \"%s\")",
			j->path, j->path, x->count ? names[0] : "name");
	else
		d = error(j->cx, j->span, E_FILE_TENSOR, "file \"%s\" has no tensor \"%s\"%s%s%s",
			  j->path, name, near ? "; did you mean \"" : "", near ? near : "",
			  near ? "\"?" : "");
	note(j->cx, d, (struct span){0, 0}, x->count ? "it has %s" : "it has none%s",
	     x->count ? list.s : "");
}

struct tensor *safetensors_tensor(struct ctx *cx, struct span s, const char *path,
				  struct mapping *m, const char *name)
{
	struct json j = {.cx = cx, .span = s, .path = path};
	const struct st_entry *e;
	if (!m->index)
		m->index = read_index(&j, m);
	if (!m->index)
		return NULL;
	e = name ? find(m->index, intern_str(cx, name)) : NULL;
	if (!e) {
		report_names(&j, m->index, name);
		return NULL;
	}
	if (!e->type) {
		error(cx, s, E_FILE_DTYPE,
		      "tensor \"%s\" of file \"%s\" has the dtype %s, which .ptg does not have",
		      name, path, e->dtype_name);
		return NULL;
	}
	struct tensor *r = tensor_new(cx, e->type->dtype, e->rank, e->more ? e->more : e->shape);
	r->data = m->index->data + e->begin;
	if (e->type->small)
		r->data = widen_all(cx, e->type->small, r->data, r->count);
	else
		r->data = little_endian(cx, e->type->dtype, r->data, r->count);
	r->name = e->name->s;
	if (!tensor_valid(r)) {
		bad_header(&j, "tensor \"%s\" has bools that are neither 0 nor 1", name);
		return NULL;
	}
	return r;
}
