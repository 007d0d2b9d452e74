/*
 * ptgc.h: libptgc compiles .ptg text (PyTensor graphs) to ONNX models.
 *
 *	struct ptgc_options opt = PTGC_OPTIONS_INIT;
 *	struct ptgc_result *r = ptgc_compile(text, strlen(text), &opt);
 *	size_t size;
 *	const void *model = ptgc_model(r, &size);
 *	if (model)
 *		use(model, size);
 *	else
 *		fputs(ptgc_messages(r, false), stderr);
 *	ptgc_free(r);
 *
 * The library has no globals, may be used from many threads at once, never prints and never exits.
 * Text is UTF-8. All strings that it returns live until ptgc_free().
 */
#ifndef PTGC_H
#define PTGC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#define PTGC_VERSION "0.2.0"

enum ptgc_target {
	PTGC_ORT_CPU,  /* ONNX Runtime's CPU kernels: of options.runtime and newer releases */
	PTGC_ONNX,     /* the specification alone */
	PTGC_ORT_WEB,  /* ONNX Runtime Web's kernels in WebAssembly */
	PTGC_PORTABLE, /* what ONNX Runtime from 1.17 on, ONNX Runtime Web and OpenVINO all run;
			  without float64 */
	PTGC_C, /* C: ptgc_model() is the text of a file, ptgc_header() that of its header. Options
		   that say something of ONNX models alone are refused: opset, ml_opset,
		   doc_string, model_version, meta */
};

/* What results promise beyond "the same function": rounding, NaN, signs of zero, checks of lengths.
 * Integers, bools, indexing and shapes are exact at all levels. */
enum ptgc_math {
	PTGC_STANDARD, /* each function in its own dtype, within 8 units in the last place */
	PTGC_EXACT,    /* as PyTensor computes, to the last places */
	PTGC_NATIVE,   /* ONNX's operators as they are: the smallest and fastest model */
};

enum ptgc_severity { PTGC_NOTE, PTGC_WARNING, PTGC_ERROR };

enum ptgc_status {
	PTGC_OK,       /* a model was made */
	PTGC_REJECTED, /* the input is wrong: see the diagnostics */
	PTGC_FAILED,   /* I/O failed, memory ran out, or an option is wrong */
};

/* A tensor that file("name") finds before any file. Data is in the machine's byte order, C order,
 * not copied: it must live as long as the result. */
struct ptgc_tensor {
	const char *name;
	const char *dtype; /* "float64", "int8", ... */
	int rank;
	const int64_t *shape; /* rank elements */
	const void *data;
};

struct ptgc_options {
	size_t size;           /* sizeof(struct ptgc_options): set by PTGC_OPTIONS_INIT */
	const char *file_name; /* in messages and in the nodes' metadata; "<text>" if NULL */
	const char *directory; /* file(...) and use are relative to it and stay below it; NULL: no
				  files */
	const char *const *allow; /* more folders that files may be in; NULL-terminated, or NULL */
	int opset;                /* one of ptgc_opsets(), 13 to 26; 0: the usual one, 18 */
	enum ptgc_target target;
	bool strip;             /* leave out the places in the .ptg file */
	const char *model_name; /* the graph's name if NULL */
	const char *doc_string;
	const char *const *flags; /* "Wno-unused", "fno-cse", "O0"; NULL-terminated, or NULL */
	const struct ptgc_tensor *tensors;
	size_t ntensors;
	uint64_t external_threshold; /* bytes from which a tensor goes to external data; 0: only if
					the model would pass 2 GB, or C would have 1 MB of them */
	const char *external_name; /* location that external tensors are said to be in; NULL: none,
				      and a model over 2 GB is refused. The last * in it becomes
				      the hash of what they hold, so that "m.onnx-*.data" can
				      not be taken for the weights of another version of m */
	uint64_t model_limit; /* bytes that a model may have before its tensors become external;
				 0: 2 GB, which is what protobuf can hold; for C 1 MB of tensors */
	enum ptgc_math math;
	int64_t model_version;   /* of the model itself, for those who keep several; 0: 1 */
	const char *const *meta; /* "key=value" texts for the model's metadata, which programs can
				    read; NULL-terminated, or NULL */
	bool state_inputs;       /* states are inputs without a default value; their first values
				    are in ptgc_state() */
	bool float32;            /* what is float64 in the text is float32 in the model */
	const char *const *expected; /* "dim=length" texts: about how long dims of that name will
					be. The model takes other lengths too, and computes the
					same, if slower; NULL-terminated, or NULL */
	int max_errors; /* how many errors, and how many warnings, ptgc_messages() shows, and after
			   how many mistakes in the grammar the text is no longer read; 0: 20;
			   -1: all */
	int runtime; /* of the target ort-cpu: the least release of ONNX Runtime that the model must
			run on, 20 for 1.20; 0: the usual one of ptgc_runtimes(), or the first that
			knows the opset */
	int ml_opset; /* version of the domain ai.onnx.ml, 1 to 5, for models that name operators of
			 it; 0: that of the text's header, or the newest that the target has */
	const char *header_name; /* of the target c: by which name the file includes ptgc_header();
				    NULL: it needs none, as it has the same text */
};
#ifdef __cplusplus
static inline struct ptgc_options ptgc_options_init(void)
{
	struct ptgc_options o = {};
	o.size = sizeof(o);
	return o;
}
#define PTGC_OPTIONS_INIT ptgc_options_init()
#else
#define PTGC_OPTIONS_INIT                                                                          \
	{                                                                                          \
		.size = sizeof(struct ptgc_options)                                                \
	}
#endif

struct ptgc_diagnostic {
	enum ptgc_severity severity;
	const char *code; /* "PTG0042"; "" for notes */
	const char *name; /* "unknown-op": what -W takes; "" for notes */
	const char *text;
	const char *file;        /* NULL: no place */
	unsigned line, column;   /* from 1, columns in bytes; 0: no place */
	unsigned length;         /* bytes underlined in that line */
	const char *source_line; /* without its newline; not 0-terminated: source_length bytes */
	size_t source_length;
};

struct ptgc_result;

/* Compiles text of len bytes. NULL only when there is no memory for the result itself.
 * Large files that it names are mapped: whoever makes one shorter meanwhile (instead of replacing
 * it) causes a SIGBUS, as with any mapping; ptgc, the command, ends with a message then. */
struct ptgc_result *ptgc_compile(const char *text, size_t len, const struct ptgc_options *options);
/* Compiles the file at path (directory defaults to its folder). */
struct ptgc_result *ptgc_compile_file(const char *path, const struct ptgc_options *options);
/* Formats text: ptgc_model() is then the canonical .ptg text. */
struct ptgc_result *ptgc_format(const char *text, size_t len, const struct ptgc_options *options);
/* Explains types: what `ptgc why` prints of the values that `where` asks for, which is what stands
 * behind the file's name there: "12" (line 12 of the text), "12:5" (the name in its column 5),
 * "logp" (a name), or "lib/act.ptg:4" (in a file that the text uses). ptgc_answer() is that text.
 * PTGC_OK: each of the values has a type, also if the text has errors elsewhere, which are among
 * the diagnostics. */
struct ptgc_result *ptgc_why(const char *text, size_t len, const char *where,
			     const struct ptgc_options *options);
void ptgc_free(struct ptgc_result *r);

enum ptgc_status ptgc_status(const struct ptgc_result *r);
static inline bool ptgc_ok(const struct ptgc_result *r)
{
	return r && ptgc_status(r) == PTGC_OK;
}
/* The bytes of the model; NULL if there is none. */
const void *ptgc_model(const struct ptgc_result *r, size_t *size);
/* Of the target c: the text of the header; NULL and 0 if there is none. */
const void *ptgc_header(const struct ptgc_result *r, size_t *size);
/* Of ptgc_why(): the text, 0-terminated; NULL if there is none. */
const char *ptgc_answer(const struct ptgc_result *r);
/* The bytes of the external data file; NULL and 0 if there is none. */
const void *ptgc_external(const struct ptgc_result *r, size_t *size);
/* Its name inside of the model: options.external_name, with the hash for a *; NULL if there is
 * none. */
const char *ptgc_external_name(const struct ptgc_result *r);
/* With options.state_inputs: the first values of the states, as a .safetensors file with a tensor
 * for each; NULL and 0 if there is no state. */
const void *ptgc_state(const struct ptgc_result *r, size_t *size);
/* The least release of ONNX Runtime that has the kernels of the model, and computes it right: 29 is
 * 1.29. 0: there is no model, or its target is the specification alone. */
int ptgc_least_runtime(const struct ptgc_result *r);
/* Diagnostics in the order of their places; notes follow what they belong to. */
size_t ptgc_diagnostic_count(const struct ptgc_result *r);
struct ptgc_diagnostic ptgc_diagnostic(const struct ptgc_result *r, size_t i);
/* All diagnostics as the command prints them: file:line:col, source line, caret. */
const char *ptgc_messages(const struct ptgc_result *r, bool colour);

/* What --explain says about "PTG0042"; NULL if there is no such code. */
const char *ptgc_explain(const char *code);
/* Why there is an error, for callers that raise exceptions of their own. */
enum ptgc_cause {
	PTGC_MISTAKE,     /* the text, a file or an option is wrong */
	PTGC_UNSUPPORTED, /* ptgc or ONNX cannot say what the text means, or a limit is reached */
	PTGC_RAISES, /* PyTensor compiles such a graph and raises an error at each call: lengths
			that differ, an index out of range */
};
/* The cause of errors with this code ("PTG0503"); PTGC_MISTAKE if there is no such code. */
enum ptgc_cause ptgc_cause(const char *code);
const char *ptgc_version(void);

/* --- the language and what can be asked for: for programs that write .ptg text --- */

/* Names and texts of these functions are 0-terminated UTF-8. What they return lives for ever. */

/* The signature of an op, "x; axes:axes=None, dtype:dtype=None": inputs; properties with defaults.
 * NULL if there is no such op. `ready` (may be NULL) tells whether it can be compiled. */
const char *ptgc_op_signature(const char *name, bool *ready);
/* May the name stand anywhere in a text as it is? Otherwise it is written in backquotes, and each
 * backquote in it twice. True for "x1" and for letters of any
 * script; false for keywords ("if"), dtypes ("float64"),
 * "_", texts that are no name ("a b", "1a"), and NULL. */
bool ptgc_plain_name(const char *name);
/* Does name(...) call an op, or a function of the language such as file? A fn of this name would
 * hide it from the whole text. */
bool ptgc_op_name(const char *name);
/* The dtypes of the language from i = 0 on: "float64"; NULL after the last one. `onnx` (may be
 * NULL) gets its number in ONNX (TensorProto.DataType): 11. */
const char *ptgc_dtype(size_t i, int *onnx);
/* The name of a target from PTGC_ORT_CPU on: "ort-cpu"; NULL after the last one. */
const char *ptgc_target(size_t i);
/* The name of a level of numerics from PTGC_STANDARD on: "standard"; NULL after the last one. */
const char *ptgc_math(size_t i);
/* The opsets that there are models for: the least, the greatest, and the one that is taken if
 * options.opset is 0. Any of the pointers may be NULL. */
void ptgc_opsets(int *least, int *greatest, int *usual);
/* The releases of ONNX Runtime that models were made for and tried on, by minor numbers (29
 * is 1.29): the oldest, the newest, and the least one that models are for if options.runtime is 0.
 * Any of the pointers may be NULL. */
void ptgc_runtimes(int *least, int *greatest, int *usual);

/* --- generators of random numbers: inputs, outputs and states of a model of the type rng --- */

/* NumPy's bit generators. In a model a generator is a vector of uint64, in the order of NumPy's
 * bit_generator.state. PCG64 (rng) and PCG64DXSM (rng_pcg64dxsm): the upper and the lower half of
 * the state, those of the increment, has_uint32, uinteger. Philox (rng_philox): counter[4], key[2],
 * buffer[4], buffer_pos, has_uint32, uinteger. Of an array of generators each row is one.
 * The metadata of a model has "generator:r", with the name of the kind, for each of the name r. */
enum ptgc_generator { PTGC_PCG64, PTGC_PCG64DXSM, PTGC_PHILOX };
#define PTGC_MAX_GENERATOR_WORDS 13
/* The generator that NumPy makes of a seed: np.random.default_rng(seed), or PCG64DXSM(seed) or
 * Philox(seed). entropy: the seed in words of 32 bits, the lowest first, without zeros at the end
 * but for the seed 0, which is one word. spawn (nspawn words, 0: none): the generator is number
 * spawn[0] of those that its spawn() gives, or number spawn[1] of those that that one's gives, ...
 * Writes the words, and returns how many these are: 6, of Philox 13; 0 if there is no such kind. */
size_t ptgc_seed_generator(enum ptgc_generator kind, const uint32_t *entropy, size_t nentropy,
			   const uint32_t *spawn, size_t nspawn,
			   uint64_t words[PTGC_MAX_GENERATOR_WORDS]);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
