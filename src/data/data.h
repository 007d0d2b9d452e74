/* data.h: constant tensors, and the files that they come from. */
#ifndef PTGC_DATA_DATA_H
#define PTGC_DATA_DATA_H

#include "base/base.h"

/* tensor.c: a constant tensor. `data` is in the arena, a mapped file or the caller's memory. */
struct tensor {
	uint8_t dtype;
	uint8_t rank;
	bool splat; /* data holds one element that stands for all */
	int64_t *shape;
	uint64_t count;   /* elements */
	const void *data; /* the machine's byte order, C order, count (or 1) elements; may be
			     unaligned */
	const char *name; /* of the caller's tensor or file, for messages; NULL if none */
};
/* with NULL as data */
struct tensor *tensor_new(struct ctx *cx, enum dtype t, int rank, const int64_t *shape);
/* bytes of its elements; UINT64_MAX: more than fit into memory */
uint64_t tensor_size(const struct tensor *t);
/* element i as it lies in the data */
const void *tensor_element(const struct tensor *t, uint64_t i);
/* one element; false: not an integer or bool (tensor_int), not a real number */
bool tensor_int(const struct tensor *t, uint64_t i, int64_t *v);
double tensor_float(const struct tensor *t, uint64_t i);
/* C's conversion, as NumPy's astype; false: complex */
bool tensor_convert(enum dtype to, void *dst, enum dtype from, const void *src, uint64_t n);
bool tensor_valid(const struct tensor *t); /* bools are 0 or 1 */
/* elements, and bytes, that `data` holds */
static inline uint64_t stored_elements(const struct tensor *t)
{
	return t->splat && t->count ? 1 : t->count;
}
/* Does it hold no two elements? Of no element at all: yes. */
static inline bool is_uniform(const struct tensor *t)
{
	return stored_elements(t) < 2;
}
static inline uint64_t stored_bytes(const struct tensor *t)
{
	return stored_elements(t) * dtypes[t->dtype].size;
}
void store_low(void *p, uint64_t v,
	       size_t size); /* the low bytes of v, as an integer of that size */
/* Files and models are little endian. n elements of dtype t in place, from or to the machine's byte
 * order; and a copy of them, or `from` itself if the machine is little endian, too. */
void swap_to_little_endian(enum dtype t, void *elements, uint64_t n);
const void *little_endian(struct ctx *cx, enum dtype t, const void *from, uint64_t n);

/*
 * constant.c: what a constant is as a number. NULL, a tensor without data and one of other dtypes
 * than real numbers, integers and bools are no number. Numbers are compared as numbers: 0 is -0,
 * too, and NaN is none. Of a value v, ask about constant_data(v), or, where what a weight holds may
 * decide, too, about v->data.
 *
 * Has t exactly one element, on any number of axes? *k: its value, exactly
 */
bool single_number(const struct tensor *t, double *k);
bool single_int(const struct tensor *t, int64_t *k); /* the same, an integer or a bool */
/* Has t one element, or more that are stored as one? *k: the value of each, exactly */
bool uniform_number(const struct tensor *t, double *k);
bool uniform_int(const struct tensor *t, int64_t *k);
bool is_plus_zero(const struct tensor *t); /* the same, of 0 and not of -0 */
/* Is each element k, and are `most` or fewer stored? Of no element at all: yes. */
bool all_are(const struct tensor *t, double k, uint64_t most);
/* Have they one dtype, one shape, and the same bits? A splat is none that is written out. */
bool tensor_equal(const struct tensor *a, const struct tensor *b);
/* The same, where that is quick: of more bytes than `most`, each only equals itself. NULL equals
 * nothing. */
bool quickly_equal(const struct tensor *a, const struct tensor *b, uint64_t most);
/* each element k, as C converts it; and int64[n] */
const struct tensor *tensor_filled(struct ctx *cx, enum dtype t, int rank, const int64_t *shape,
				   double k);
const struct tensor *tensor_ints(struct ctx *cx, const int64_t *v, uint32_t n);

/* seed.c: the state of the generator of this kind that NumPy makes of an integer, given as words of
 * 32 bits, the lowest first. spawn: the generator is number spawn[0] of those that NumPy's spawn()
 * gives, or number spawn[1] of what that one's spawn() gives, ...; nspawn 0: it is none of them. */
#define MAX_STATE_WORDS 13
uint32_t state_words(enum dtype kind); /* how many uint64 a generator has */
/* NumPy's name of the bit generator, and what lib/random/words.ptg calls it */
struct generator_kind {
	const char *name, *lib_name;
};
const struct generator_kind *generator_kind(enum dtype kind);
void seed_words(enum dtype kind, const uint32_t *entropy, size_t n, const uint32_t *spawn,
		size_t nspawn, uint64_t words[MAX_STATE_WORDS]);

/* files.c: an argument of file(...) as a string. NULL: reported, nothing can have this name. */
const char *file_name(struct ctx *cx, const struct astr *s, struct span at);
/* The tensor of a .npy file, a tensor of a .safetensors file by its name, or one of the caller's
 * table. NULL: reported. */
struct tensor *file_tensor(struct ctx *cx, struct source *from, struct span s, const char *path,
			   const char *name);
/* The text of a file that is `use`d; paths are those of file_tensor(). NULL: reported, or the file
 * was read before. */
struct source *file_source(struct ctx *cx, struct source *from, struct span s, const char *path);
struct mapping {
	const struct sym *path; /* resolved */
	void *addr;             /* NULL: small, read into the arena */
	const uint8_t *data;
	size_t len;
	int fd;                 /* of a large file, for sinks to copy from; -1: closed */
	struct st_index *index; /* .safetensors: its header, once parsed */
	struct source *source;  /* of a text that is used; NULL: it is no text */
	bool text;              /* it was read as one */
};
/* npy.c, safetensors.c: the bytes of such a file as a tensor; NULL: reported */
struct tensor *npy_tensor(struct ctx *cx, struct span s, const char *path, const struct mapping *m);
const char *safetensors_dtype(enum dtype t); /* "F64"; NULL: the format has no such dtype */
struct tensor *safetensors_tensor(struct ctx *cx, struct span s, const char *path,
				  struct mapping *m, const char *name);

/* --- bytes.c: tensors as bytes of a file, and where these go --- */
struct sink { /* sticky error: after a failed write all others do nothing */
	bool (*write)(struct sink *s, const void *data, size_t len);
	int error; /* errno */
	uint64_t written;
	void (*expect)(struct sink *s, uint64_t size); /* optional: the size of what follows */
	/* Optional: copies bytes of a file without reading them into memory. Returns how many; the
	 * caller writes the rest. */
	size_t (*copy)(struct sink *s, int fd, uint64_t offset, size_t len);
};
/* The file that the bytes are of; NULL: they are of none */
const struct mapping *mapping_of(const struct ctx *cx, const uint8_t *data);
/* The elements that a tensor holds, little endian */
const void *bytes_of_tensor(struct ctx *cx, const struct tensor *t);
void expand_splat(const struct tensor *t, uint8_t *to, size_t size);
bool write_tensor(struct ctx *cx, struct sink *s, const struct tensor *t); /* all its elements */
/* Those of a large open file go from the file to the sink, if the system can. */
bool write_bytes(const struct ctx *cx, struct sink *s, const uint8_t *data, size_t len);

/* weights.c: the weights of a model that is C, whether the user gave them or they are constants of
 * the graph (is_weight() says which of the two), as one file: tensors, each at a multiple of
 * WEIGHTS_ALIGNMENT, and after them zeros and the check number, which is a hash of all before it.
 * Its last 8 bytes are that number. */
#define WEIGHTS_ALIGNMENT 64u
#define EXTERNAL_MIN      1024u /* bytes of a tensor: smaller ones stay in the model */
struct weights {
	vec(const struct tensor *) at;
	uint64_t bytes; /* of the file */
	uint64_t check;
};
uint64_t add_weight(struct ctx *cx, struct weights *w, const struct tensor *t); /* its place */
void end_weights(struct ctx *cx, struct weights *w); /* finds the check number */
bool write_weights(struct ctx *cx, struct sink *s, const struct weights *w);

/* hash_sink.c: the hash of all bytes that are written (XXH64, which the tool xxhsum has too) */
#define HASH_DIGITS 16 /* as hexadecimal text */
struct hash_sink {
	struct sink sink;
	uint64_t lanes[4];
	uint8_t rest[32]; /* bytes that fill no block yet: sink.written % 32 of them */
};
void hash_sink_init(struct hash_sink *h);
uint64_t hash_sink_end(const struct hash_sink *h);
/* name, with the hash in the place of its last *; a name without a * as it is */
const char *name_with_hash(struct ctx *cx, const char *name, uint64_t hash);

#endif
