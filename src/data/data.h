/* data.h: constant data, and the files that it comes from. */
#ifndef PTGC_DATA_DATA_H
#define PTGC_DATA_DATA_H

#include "base/base.h"

/* tensor.c: constant data. Points into the arena, a mapped file or the caller's memory. */
struct tensor {
	uint8_t dtype;
	uint8_t rank;
	bool splat; /* data holds one element that stands for all */
	int64_t *shape;
	uint64_t count;   /* elements */
	const void *data; /* little endian, C order, count (or 1) elements; may be unaligned */
	const char *name; /* of the caller's tensor or file, for messages; NULL if none */
};
/* its data is still NULL */
struct tensor *tensor_new(struct ctx *cx, enum dtype t, int rank, const int64_t *shape);
/* what its elements take; UINT64_MAX: more than anybody has */
uint64_t tensor_size(const struct tensor *t);
/* an element: of any integer dtype or bool; of any real one */
bool tensor_int(const struct tensor *t, uint64_t i, int64_t *v);
double tensor_float(const struct tensor *t, uint64_t i);
/* C's conversion, as NumPy's astype; false: complex */
bool tensor_convert(enum dtype to, void *dst, enum dtype from, const void *src, uint64_t n);
bool tensor_valid(const struct tensor *t); /* bools are 0 or 1 */

/* files.c: a path, or the name of a tensor in a file, as written; NULL: reported, it can be none */
const char *file_name(struct ctx *cx, const struct astr *s, struct span at);
/* a tensor of a .npy or .safetensors file (name: which one; NULL for .npy), mapped, or of
 * the caller's table. Reports its own errors; NULL then. */
struct tensor *file_tensor(struct ctx *cx, struct source *from, struct span s, const char *path,
			   const char *name);
/* The text of a file that is `use`d, found as file_tensor() finds its files.
 * NULL: reported, or it was read before. */
struct source *file_source(struct ctx *cx, struct source *from, struct span s, const char *path);
struct mapping {
	const struct sym *path; /* resolved */
	void *addr;             /* NULL: small, read into the arena */
	const uint8_t *data;
	size_t len;
	int fd;                 /* of a large file, for sinks to copy from; -1: closed */
	struct st_index *index; /* .safetensors: its header, once parsed */
};
/* npy.c, safetensors.c: the bytes of such a file as a tensor; NULL: reported */
struct tensor *npy_tensor(struct ctx *cx, struct span s, const char *path, const struct mapping *m);
struct tensor *safetensors_tensor(struct ctx *cx, struct span s, const char *path,
				  struct mapping *m, const char *name);

#endif
