/*
 * kernels.c: which operators the targets run, for which dtypes: ONNX Runtime's CPU provider
 * (kernels_ort.def), and where others run less (kernels_web.def, kernels_portable.def), all made by
 * tools/make_kernels.py. Target onnx takes whatever the specification allows.
 */
#include <string.h>

#include "target/target.h"

enum operator_row { /* as onnx_row() numbers the versions of operators */
#define ONNX_OP(name, since, ...) ROW_##name##_##since,
#include "onnx/operators.def"
};

#define D(id)         (1u << DT_##id)
#define MAX_VARIABLES 4 /* type variables of one operator */
#define ALL           0
struct kernel {
	uint16_t row;                   /* of onnx_table; sorted; alternatives follow each other */
	bool none;                      /* probed, and there is none */
	release_set releases;           /* that have it */
	uint32_t dtypes[MAX_VARIABLES]; /* for each type variable in the order of the constraints */
};
#define NO_KERNEL(name, since) {ROW_##name##_##since, true, 0, {0}},
static const struct kernel ort_kernels[] = {
#define KERNEL(name, since, first, last, ...)                                                      \
	{ROW_##name##_##since, false, RELEASES(first, last), {__VA_ARGS__}},
#include "target/kernels_ort.def"
};
/* Of the versions of operators for which these targets run less than ort-cpu, what they run */
#define KERNEL_OF_TARGET(name, since, ...)                                                         \
	{ROW_##name##_##since, false, ~(release_set)0, {__VA_ARGS__}},
enum {
#define PROBED(opset) WEB_PROBED = opset,
#include "target/kernels_web.def"
#define PROBED(opset) PORTABLE_PROBED = opset,
#include "target/kernels_portable.def"
};
static const struct kernel web_kernels[] = {
#define KERNEL                 KERNEL_OF_TARGET
#define NO_KERNEL(name, since) {ROW_##name##_##since, true, 0, {0}},
#include "target/kernels_web.def"
};
static const struct kernel portable_kernels[] = {
#define KERNEL                 KERNEL_OF_TARGET
#define NO_KERNEL(name, since) {ROW_##name##_##since, true, 0, {0}},
#include "target/kernels_portable.def"
};

/* The dtypes of the first input, or of the result where there is none, that C has the operator for
 */
static const uint32_t c_kernels[ONNX_COUNT] = {
#define C_OPERATOR(name, dtypes, ...) [ONNX_##name] = dtypes,
#include "target/kernels_c.def"
};

static bool c_exists(const struct onnx_op *op, const enum dtype *in, uint32_t nin,
		     const enum dtype *out, uint32_t nout)
{
	enum dtype t = nin && in[0] != DT_NONE ? in[0] : nout ? out[0] : DT_NONE;

	for (uint32_t i = 0; i < nin + nout; i++) {
		enum dtype one = i < nin ? in[i] : out[i - nin];
		if (one != DT_NONE && !is_discrete(one) && !is_float(one))
			return false;
	}
	return t == DT_NONE ? c_kernels[op->id] : c_kernels[op->id] >> t & 1;
}

/*
 * Adds the dtypes of values to the sets that the type variables stand for. false: a value has not
 * the fixed type of its place, or the specification does not allow its dtype there.
 */
static bool bind_dtypes(const struct onnx_op *op, const struct onnx_io *io, uint32_t nio,
			const enum dtype *t, uint32_t n, uint32_t *seen)
{
	for (uint32_t i = 0; i < n; i++) {
		if (t[i] == DT_NONE)
			continue;
		if (nio == 0)
			return false;
		const char *var = io[i < nio ? i : nio - 1].type;
		uint32_t k = 0;
		while (op->constraints[k].var && strcmp(op->constraints[k].var, var) != 0)
			k++;
		if (!op->constraints[k].var) {
			if (strcmp(dtypes[t[i]].name, var) != 0)
				return false;
			continue;
		}
		if (!(op->constraints[k].dtypes >> t[i] & 1))
			return false;
		seen[k] |= 1u << t[i];
	}
	return true;
}

static bool allowed(const struct onnx_op *op, const enum dtype *in, uint32_t nin,
		    const enum dtype *out, uint32_t nout, uint32_t *seen)
{
	if (!bind_dtypes(op, op->in, op->nin, in, nin, seen) ||
	    !bind_dtypes(op, op->out, op->nout, out, nout, seen))
		return false;
	if (onnx_has_blocks(op)) /* their values may have a dtype each */
		return true;
	for (uint32_t k = 0; op->constraints[k].var; k++)
		if (seen[k] & (seen[k] - 1))
			return false;
	return true;
}

/* The releases for which the table has a row that allows the dtypes seen; otherwise: what holds for
 * versions without a row */
static release_set look_up(const struct kernel *table, size_t n, const struct onnx_op *op,
			   const uint32_t *seen, release_set otherwise)
{
	uint32_t row = onnx_row(op);
	release_set releases = 0;
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (table[mid].row < row)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == n || table[lo].row != row)
		return otherwise;
	for (; lo < n && table[lo].row == row; lo++) {
		uint32_t missing = table[lo].none;
		for (uint32_t k = 0; op->constraints[k].var; k++)
			missing |= seen[k] & ~table[lo].dtypes[k];
		if (!missing)
			releases |= table[lo].releases;
	}
	return releases;
}

/* A version without a row was never probed: there is no kernel that anybody knows of. */
static release_set ort_releases(const struct onnx_op *op, const uint32_t *seen)
{
	return look_up(ort_kernels, countof(ort_kernels), op, seen, 0);
}

/* A table of what a target runs less than ort-cpu says nothing of versions that came later. */
static bool runs_too(const struct kernel *table, size_t n, int probed, const struct onnx_op *op,
		     const uint32_t *seen)
{
	return look_up(table, n, op, seen, op->since <= probed ? ~(release_set)0 : 0);
}

release_set kernel_releases(const struct onnx_op *op, const enum dtype *in, uint32_t nin,
			    const enum dtype *out, uint32_t nout)
{
	uint32_t seen[MAX_VARIABLES] = {0};

	if (onnx_row(op) == UINT32_MAX)
		return ~(release_set)0;
	return allowed(op, in, nin, out, nout, seen) ? ort_releases(op, seen) : 0;
}

bool kernel_exists(const struct ctx *cx, const struct onnx_op *op, const enum dtype *in,
		   uint32_t nin, const enum dtype *out, uint32_t nout)
{
	uint32_t seen[MAX_VARIABLES] = {0};
	enum ptgc_target target = cx->opt.target;

	if (op->id >= ONNX_OWN && target != PTGC_C)
		return false;
	if (op->id == ONNX_NONE)
		return target != PTGC_C;
	if (!allowed(op, in, nin, out, nout, seen))
		return false;
	if (target == PTGC_C)
		return c_exists(op, in, nin, out, nout);
	return (target == PTGC_ONNX || !(target_releases(cx) & ~ort_releases(op, seen))) &&
	       (target != PTGC_ORT_WEB ||
		runs_too(web_kernels, countof(web_kernels), WEB_PROBED, op, seen)) &&
	       (target != PTGC_PORTABLE ||
		runs_too(portable_kernels, countof(portable_kernels), PORTABLE_PROBED, op, seen));
}

bool has_kernel(const struct ctx *cx, enum onnx_id id, const enum dtype *in, uint32_t nin,
		const enum dtype *out, uint32_t nout)
{
	const struct onnx_op *op = onnx_find(id, cx->opt.opset);

	return op && kernel_exists(cx, op, in, nin, out, nout);
}

bool node_has_kernel(const struct ctx *cx, const struct node *n)
{
	enum dtype in[64], out[64];
	uint32_t nin = n->nin < countof(in) ? n->nin : countof(in);
	uint32_t nout = n->nout < countof(out) ? n->nout : countof(out);

	if (cx->opt.opset < n->onnx->since)
		return false;
	for (uint32_t i = 0; i < nin; i++)
		in[i] = n->in[i] ? n->in[i]->type.dtype : DT_NONE;
	for (uint32_t i = 0; i < nout; i++)
		out[i] = n->out[i]->type.dtype;
	return kernel_exists(cx, n->onnx, in, nin, out, nout);
}

const struct onnx_op *find_kernel(struct ctx *cx, enum onnx_id id, enum dtype t, uint32_t nin)
{
	const struct onnx_op *op = onnx_find(id, cx->opt.opset);
	enum dtype types[] = {t, t, t, t};

	if (nin > countof(types))
		bug("find_kernel() of %u inputs", nin);
	return op && kernel_exists(cx, op, types, nin, types, 1) ? op : NULL;
}

const struct onnx_op *find_function(struct ctx *cx, enum onnx_id id, enum dtype t, uint32_t nin)
{
	return cx->opt.target == PTGC_C ? find_kernel(cx, id, t, nin) : NULL;
}
