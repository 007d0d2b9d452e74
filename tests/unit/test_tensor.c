/* Elements, conversions as NumPy does them on x86-64, and data files, good and bad. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/data.h"

static void convert_doubles(enum dtype to, const double *from, const int64_t *want, int n)
{
	for (int i = 0; i < n; i++) {
		uint8_t out[8] = {0};
		int64_t v;
		struct tensor t = {.dtype = (uint8_t)to, .count = 1, .data = out};
		assert_true(tensor_convert(to, out, DT_FLOAT64, &from[i], 1));
		if (to == DT_UINT64) {
			memcpy(&v, out, 8);
			assert_int_equal(v, want[i]);
			continue;
		}
		assert_true(tensor_int(&t, 0, &v));
		assert_int_equal(v, want[i]);
	}
}

static void test_float_to_int(void **state)
{
	(void)state;
	const double v[] = {-1.7, 1.7, 300.5, -300.5, 3e9, 1e19, -1e19, NAN, INFINITY, -INFINITY};
	const int64_t m32 = INT32_MIN, m64 = INT64_MIN;
	convert_doubles(DT_INT8, v, (int64_t[]){-1, 1, 44, -44, 0, 0, 0, 0, 0, 0}, 10);
	convert_doubles(DT_UINT8, v, (int64_t[]){255, 1, 44, 212, 0, 0, 0, 0, 0, 0}, 10);
	convert_doubles(DT_UINT16, v, (int64_t[]){65535, 1, 300, 65236, 0, 0, 0, 0, 0, 0}, 10);
	convert_doubles(DT_INT32, v, (int64_t[]){-1, 1, 300, -300, m32, m32, m32, m32, m32, m32},
			10);
	convert_doubles(DT_UINT32, v,
			(int64_t[]){4294967295, 1, 300, 4294966996, 3000000000, 0, 0, 0, 0, 0}, 10);
	convert_doubles(DT_INT64, v,
			(int64_t[]){-1, 1, 300, -300, 3000000000, m64, m64, m64, m64, m64}, 10);
	convert_doubles(DT_UINT64, v,
			(int64_t[]){-1, 1, 300, -300, 3000000000, (int64_t)10000000000000000000u,
				    m64, m64, 0, m64},
			10);
	convert_doubles(DT_BOOL, v, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 10);
	convert_doubles(DT_BOOL, (double[]){0, -0.0, 0.5}, (int64_t[]){0, 0, 1}, 3);
}

static void test_rounding(void **state)
{
	(void)state;
	int64_t i = ((int64_t)1 << 24) + 1;
	float f;
	uint16_t h;
	double d = 1 + 0x1p-11 + 0x1p-40; /* above the tie: through float32 it would go down */
	assert_true(tensor_convert(DT_FLOAT32, &f, DT_INT64, &i, 1));
	assert_true(f == 0x1p24f);
	i = ((int64_t)1 << 62) + ((int64_t)1 << 38) + 1; /* the same for an int through double */
	assert_true(tensor_convert(DT_FLOAT32, &f, DT_INT64, &i, 1));
	assert_true(f == 0x1p62f + 0x1p39f);
	assert_true(tensor_convert(DT_FLOAT16, &h, DT_FLOAT64, &d, 1));
	assert_int_equal(h, 0x3c01);
	d = 65520;
	assert_true(tensor_convert(DT_FLOAT16, &h, DT_FLOAT64, &d, 1));
	assert_int_equal(h, 0x7c00);
	float c[2] = {1, 2};
	double c2[2];
	assert_true(tensor_convert(DT_COMPLEX128, c2, DT_COMPLEX64, c, 1));
	assert_true(c2[0] == 1 && c2[1] == 2);
	assert_false(tensor_convert(DT_FLOAT32, &f, DT_COMPLEX64, c, 1));
	assert_false(tensor_convert(DT_FLOAT32, &f, DT_BFLOAT16, &h, 1));
}

static void test_elements(void **state)
{
	(void)state;
	uint8_t raw[17] = {0};
	int64_t v;
	uint64_t big = UINT64_MAX;
	struct tensor t = {.dtype = DT_INT32, .count = 3, .data = raw + 1}; /* unaligned */
	memcpy(raw + 1, (int32_t[]){-5, 6, 7}, 12);
	assert_true(tensor_int(&t, 0, &v));
	assert_int_equal(v, -5);
	assert_true(tensor_float(&t, 2) == 7);
	assert_false(tensor_int(&t, 3, &v));
	t.splat = true;
	assert_true(tensor_int(&t, 2, &v));
	assert_int_equal(v, -5);
	struct tensor u = {.dtype = DT_UINT64, .count = 1, .data = &big};
	assert_false(tensor_int(&u, 0, &v));
	struct tensor f = {.dtype = DT_FLOAT32, .count = 1, .data = raw};
	assert_false(tensor_int(&f, 0, &v));
}

/* Files */

struct dir {
	char path[40];
	struct ctx *cx;
	struct source *source;
	uint32_t reads; /* each at its own place: one place has one error */
};

static void dir_open(struct dir *d)
{
	strcpy(d->path, "/tmp/ptgc-data-XXXXXX");
	assert_non_null(mkdtemp(d->path));
	d->cx = ctx_new();
	assert_non_null(d->cx);
	assert_int_equal(setjmp(d->cx->oom), 0);
	d->source = source_add(d->cx, "a.ptg", d->path, "a = b + c + d + e + f + g\n", 26);
	d->reads = 0;
}

static void dir_close(struct dir *d, const char *const *names)
{
	char path[128];
	for (; *names; names++) {
		snprintf(path, sizeof(path), "%s/%s", d->path, *names);
		unlink(path);
	}
	assert_int_equal(rmdir(d->path), 0);
	ctx_free(d->cx);
}

static void write_file(struct dir *d, const char *name, const void *a, size_t na, const void *b,
		       size_t nb)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/%s", d->path, name);
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(a, 1, na, f), na);
	assert_int_equal(fwrite(b, 1, nb, f), nb);
	assert_int_equal(fclose(f), 0);
}

static void write_npy(struct dir *d, const char *header, const void *data, size_t size)
{
	char head[300] = "\x93NUMPY\x01";
	size_t len = strlen(header);
	head[8] = (char)len;
	memcpy(head + 10, header, len);
	write_file(d, "a.npy", head, len + 10, data, size);
}

static struct tensor *read_file(struct dir *d, const char *path, const char *name)
{
	uint32_t at = d->source->base + d->reads++;
	if (d->cx->unmap_files)
		d->cx->unmap_files(d->cx); /* so that a file written anew is read anew */
	return file_tensor(d->cx, d->source, (struct span){at, at + 1}, path, name);
}

static const struct diag *assert_refused(struct dir *d, const char *path, const char *name,
					 enum diag_code code)
{
	uint32_t before = d->cx->errors;
	assert_null(read_file(d, path, name));
	assert_int_equal(d->cx->errors, before + 1);
	struct diag *last = d->cx->diags;
	while (last->next)
		last = last->next;
	assert_int_equal(last->code, code);
	return last;
}

static void test_npy(void **state)
{
	(void)state;
	struct dir d;
	struct tensor *t;
	int32_t v[6] = {1, 2, 3, 4, 5, 6};
	int64_t x;
	swap_to_little_endian(DT_INT32, v, 6);
	dir_open(&d);
	write_npy(&d, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }\n", v, 24);
	t = read_file(&d, "a.npy", NULL);
	assert_non_null(t);
	assert_int_equal(t->rank, 2);
	assert_int_equal(t->shape[1], 3);
	assert_true(tensor_int(t, 5, &x) && x == 6);
	assert_int_equal(d.cx->depends.len, 1);
	write_npy(&d, "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }\n", v, 24);
	t = read_file(&d, "a.npy", NULL);
	assert_true(tensor_int(t, 1, &x) && x == 3);
	assert_true(tensor_int(t, 3, &x) && x == 2);
	write_npy(&d, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }\n", v, 23);
	assert_refused(&d, "a.npy", NULL, E_FILE_FORMAT);
	write_npy(&d, "{'descr': '<i4', 'fortran_order': False, 'shape': (-2, 3), }\n", v, 24);
	assert_refused(&d, "a.npy", NULL, E_FILE_FORMAT);
	write_npy(&d,
		  "{'descr': '<i4', 'fortran_order': False, "
		  "'shape': (4611686018427387904, 4), }\n",
		  v, 0);
	assert_refused(&d, "a.npy", NULL, E_FILE_FORMAT);
	write_npy(&d, "{'descr': '>i4', 'fortran_order': False, 'shape': (6,), }\n", v, 24);
	assert_refused(&d, "a.npy", NULL, E_FILE_DTYPE);
	write_npy(&d, "{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }\n", "\2", 1);
	assert_refused(&d, "a.npy", NULL, E_FILE_FORMAT);
	assert_refused(&d, "a.npy", "w", E_FILE_TENSOR);
	dir_close(&d, (const char *[]){"a.npy", NULL});
}

static void write_st(struct dir *d, const char *header, size_t size)
{
	static const char zeros[64];
	char head[4000] = {0};
	size_t len = strlen(header);
	head[0] = (char)len;
	head[1] = (char)(len >> 8);
	memcpy(head + 8, header, len);
	write_file(d, "a.safetensors", head, len + 8, zeros, size);
}

static void test_safetensors(void **state)
{
	(void)state;
	struct dir d;
	struct tensor *t;
	dir_open(&d);
	write_st(&d,
		 "{\"__metadata__\":{\"format\":\"pt\"},"
		 "\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
		 "\"b\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[24,32]}}",
		 32);
	t = read_file(&d, "a.safetensors", "w");
	assert_non_null(t);
	assert_int_equal(t->dtype, DT_FLOAT32);
	assert_int_equal(t->count, 6);
	t = read_file(&d, "a.safetensors", "b");
	assert_non_null(t);
	assert_int_equal(t->rank, 0);
	assert_refused(&d, "a.safetensors", "W", E_FILE_TENSOR);
	assert_refused(&d, "a.safetensors", NULL, E_FILE_TENSOR);
	write_st(&d, "{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 9);
	assert_refused(&d, "a.safetensors", "w", E_FILE_FORMAT);
	write_st(&d, "{\"w\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", 8);
	assert_refused(&d, "a.safetensors", "w", E_FILE_FORMAT);
	write_st(&d,
		 "{\"v\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
		 "\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}",
		 12);
	assert_refused(&d, "a.safetensors", "w", E_FILE_FORMAT);
	write_st(&d, "{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}", 8);
	assert_refused(&d, "a.safetensors", "w", E_FILE_FORMAT);
	char header[3000]; /* a long name: the message has its beginning */
	snprintf(header, sizeof(header),
		 "{\"%02000d\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", 0);
	write_st(&d, header, 8);
	const struct diag *told = assert_refused(&d, "a.safetensors", "w", E_FILE_FORMAT);
	assert_non_null(strstr(told->text, "000000"));
	assert_in_range(strlen(told->text), 100, MAX_WORDS + 100);
	dir_close(&d, (const char *[]){"a.safetensors", NULL});
}

static void test_paths(void **state)
{
	(void)state;
	struct dir d;
	char link[64];
	dir_open(&d);
	snprintf(link, sizeof(link), "%s/link.npy", d.path);
	assert_int_equal(symlink("/dev/zero", link), 0);
	assert_refused(&d, "/dev/zero.npy", NULL, E_FILE_ABSOLUTE);
	assert_refused(&d, "../x.npy", NULL, E_FILE_OUTSIDE);
	assert_refused(&d, "link.npy", NULL, E_FILE_LINK);
	assert_refused(&d, "x.npy", NULL, E_FILE);
	d.cx->opt.allow_dirs = (const char *[]){"/", NULL};
	assert_refused(&d, "link.npy", NULL, E_FILE);
	d.source->dir = NULL;
	assert_refused(&d, "x.npy", NULL, E_FILE);
	dir_close(&d, (const char *[]){"link.npy", NULL});
}

static void test_table(void **state)
{
	(void)state;
	struct dir d;
	const float v[2] = {1, 2};
	const int64_t shape[] = {2}, negative[] = {-1};
	const struct ptgc_tensor table[] = {{"w", "float32", 1, shape, v},
					    {"a.safetensors:x", "float32", 1, shape, v},
					    {"bad", "float31", 1, shape, v},
					    {"neg", "float32", 1, negative, v},
					    {"bool", "bool", 1, shape, "\1\2"}};
	dir_open(&d);
	d.cx->tensors = table;
	d.cx->ntensors = countof(table);
	struct tensor *t = read_file(&d, "w", NULL);
	assert_non_null(t);
	assert_ptr_equal(t->data, v);
	assert_non_null(read_file(&d, "a.safetensors", "x"));
	assert_refused(&d, "bad", NULL, E_TABLE);
	assert_refused(&d, "neg", NULL, E_TABLE);
	assert_refused(&d, "bool", NULL, E_TABLE);
	assert_refused(&d, "other", NULL, E_FILE);
	dir_close(&d, (const char *[]){NULL});
}

/* the dtype, how many elements, and what they are */
static const struct tensor *some(struct dir *d, enum dtype t, int64_t n, double k)
{
	return tensor_filled(d->cx, t, 1, &n, k);
}

static void test_questions(void **state)
{
	(void)state;
	struct dir d;
	double k;
	int64_t i;
	const int64_t large = (INT64_C(1) << 53) + 1;

	dir_open(&d);
	struct tensor exact = {.dtype = DT_INT64, .count = 1, .data = &large};
	struct tensor pair = {.dtype = DT_COMPLEX64, .count = 1, .data = (float[]){1, 0}};
	struct tensor absent = {.dtype = DT_FLOAT32, .count = 1};
	assert_true(single_number(some(&d, DT_FLOAT16, 1, 2), &k) && k == 2);
	assert_true(single_number(some(&d, DT_FLOAT64, 1, -0.0), &k) && signbit(k));
	assert_true(single_number(some(&d, DT_FLOAT64, 1, NAN), &k) && isnan(k));
	assert_true(single_int(some(&d, DT_BOOL, 1, 1), &i) && i == 1);
	assert_false(single_int(some(&d, DT_FLOAT32, 1, 1), &i));
	assert_false(single_number(some(&d, DT_INT8, 3, 2), &k)); /* a splat */
	assert_true(uniform_number(some(&d, DT_INT8, 3, 2), &k) && k == 2);
	assert_true(uniform_int(some(&d, DT_INT8, 3, 2), &i) && i == 2);
	assert_false(uniform_number(some(&d, DT_FLOAT32, 0, 2), &k)); /* no element */
	assert_false(single_number(&exact, &k)); /* a double does not hold it */
	assert_true(single_int(&exact, &i) && i == large);
	assert_false(single_number(&pair, &k) || uniform_number(&absent, &k) ||
		     single_number(NULL, &k) || single_int(NULL, &i) || all_are(NULL, 0, 1));
	assert_true(all_are(tensor_ints(d.cx, (int64_t[]){7, 7}, 2), 7, 2));
	assert_false(all_are(tensor_ints(d.cx, (int64_t[]){7, 7}, 2), 7, 1)); /* too many */
	assert_false(all_are(tensor_ints(d.cx, (int64_t[]){7, 8}, 2), 7, 2));
	assert_true(all_are(some(&d, DT_FLOAT32, 9, -0.0), 0, 1));
	assert_false(all_are(some(&d, DT_FLOAT32, 9, NAN), NAN, 1));
	assert_true(all_are(tensor_ints(d.cx, NULL, 0), 7, 0)); /* none is another one */
	assert_true(tensor_equal(some(&d, DT_FLOAT32, 9, NAN), some(&d, DT_FLOAT32, 9, NAN)));
	assert_false(tensor_equal(some(&d, DT_FLOAT32, 9, 0), some(&d, DT_FLOAT32, 9, -0.0)));
	assert_false(
		tensor_equal(some(&d, DT_INT64, 1, 7), tensor_filled(d.cx, DT_INT64, 0, NULL, 7)));
	dir_close(&d, (const char *[]){NULL});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_float_to_int), cmocka_unit_test(test_rounding),
		cmocka_unit_test(test_elements),     cmocka_unit_test(test_npy),
		cmocka_unit_test(test_safetensors),  cmocka_unit_test(test_paths),
		cmocka_unit_test(test_table),        cmocka_unit_test(test_questions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
