/*
 * chains.c: draws from PyMC's eight schools by Hamiltonian Monte Carlo, as run.py does: 64 chains,
 * one call of the model a leapfrog step, beside a few chains one after the other. Usage: chains
 * chains.onnx
 */
#define _POSIX_C_SOURCE 200809L
#include "../ort.h"
#include "../summary.h"

enum { CHAINS = 64, ALONE = 4, WARMUP = 500, DRAWS = 1000, STEPS = 10, SIZE = 10 };

/* ---- random numbers: xoshiro256++ ---- */

struct rng {
	uint64_t s[4];
};

static uint64_t next(struct rng *r)
{
	uint64_t *s = r->s, sum = s[0] + s[3], t = s[1] << 17;
	uint64_t result = (sum << 23 | sum >> 41) + s[0];

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = s[3] << 45 | s[3] >> 19;
	return result;
}

static double uniform(struct rng *r)
{
	return ((double)(next(r) >> 11) + 0.5) * 0x1p-53;
}

static double normal(struct rng *r)
{
	return sqrt(-2 * log(uniform(r))) * cos(6.283185307179586 * uniform(r));
}

/* ---- the model: tensors lie in the arrays of the struct, so a call copies nothing ---- */

struct model {
	OrtSession *session;
	OrtValue *in, *out[2];
	int chains;
	double q[CHAINS][SIZE], logp[CHAINS], grad[CHAINS][SIZE];
};

static OrtValue *tensor(OrtMemoryInfo *memory, double *data, int rows, int rank)
{
	int64_t shape[2] = {rows, SIZE};
	OrtValue *v;

	must(ort->CreateTensorWithDataAsOrtValue(
		memory, data, sizeof(double) * (size_t)rows * (rank > 1 ? SIZE : 1), shape,
		(size_t)rank, ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, &v));
	return v;
}

static void bind(struct model *m, OrtMemoryInfo *memory, OrtSession *session, int chains)
{
	m->session = session;
	m->chains = chains;
	m->in = tensor(memory, m->q[0], chains, 2);
	m->out[0] = tensor(memory, m->logp, chains, 1);
	m->out[1] = tensor(memory, m->grad[0], chains, 2);
}

static void call(struct model *m)
{
	const OrtValue *in = m->in;

	must(ort->Run(m->session, NULL, (const char *[]){"q"}, &in, 1,
		      (const char *[]){"logp", "dlogp"}, 2, m->out));
}

/* ---- Hamiltonian Monte Carlo ---- */

/* Writes draw i of chain c to kept[c][i]. Returns the seconds without the warmup. */
static double sample(struct model *m, struct rng *r, double (*kept)[DRAWS][SIZE])
{
	static double q[CHAINS][SIZE], grad[CHAINS][SIZE], logp[CHAINS], p[CHAINS][SIZE],
		kinetic[CHAINS];
	double size = 0.1, start = 0;
	size_t rows = (size_t)m->chains;

	for (int c = 0; c < m->chains; c++)
		for (int k = 0; k < SIZE; k++)
			m->q[c][k] = 2 * uniform(r) - 1;
	call(m);
	memcpy(q, m->q, rows * sizeof(*q));
	memcpy(grad, m->grad, rows * sizeof(*grad));
	memcpy(logp, m->logp, rows * sizeof(*logp));
	for (int i = 0; i < WARMUP + DRAWS; i++) {
		if (i == WARMUP)
			start = seconds();
		double h = size * (0.8 + 0.4 * uniform(r)), accepted = 0;
		for (int c = 0; c < m->chains; c++) {
			kinetic[c] = 0;
			for (int k = 0; k < SIZE; k++) {
				double p0 = normal(r);
				kinetic[c] += p0 * p0 / 2;
				p[c][k] = p0 + h / 2 * grad[c][k];
			}
		}
		memcpy(m->q, q, rows * sizeof(*q));
		for (int step = 0; step < STEPS; step++) {
			double last = step + 1 < STEPS ? h : h / 2;
			for (int c = 0; c < m->chains; c++)
				for (int k = 0; k < SIZE; k++)
					m->q[c][k] += h * p[c][k];
			call(m);
			for (int c = 0; c < m->chains; c++)
				for (int k = 0; k < SIZE; k++)
					p[c][k] += last * m->grad[c][k];
		}
		for (int c = 0; c < m->chains; c++) {
			double gain = m->logp[c] - logp[c] + kinetic[c];
			for (int k = 0; k < SIZE; k++)
				gain -= p[c][k] * p[c][k] / 2;
			double accept = isnan(gain) ? 0 : exp(fmin(0, gain));
			accepted += accept / m->chains;
			if (uniform(r) < accept) {
				memcpy(q[c], m->q[c], sizeof(*q));
				memcpy(grad[c], m->grad[c], sizeof(*grad));
				logp[c] = m->logp[c];
			}
			if (i >= WARMUP)
				memcpy(kept[c][i - WARMUP], q[c], sizeof(*q));
		}
		if (i < WARMUP) /* towards 4 of 5 proposals accepted, by all chains together */
			size *= exp((accepted - 0.8) / sqrt(i + 1));
	}
	return seconds() - start;
}

static double report(const char *what, double (*kept)[DRAWS][SIZE], int chains, double time)
{
	static double x[CHAINS][DRAWS];
	double worst = 0, least = INFINITY;

	for (int k = 0; k < SIZE; k++) {
		for (int c = 0; c < chains; c++)
			for (int i = 0; i < DRAWS; i++)
				x[c][i] = kept[c][i][k];
		struct summary s = summarise(x[0], (size_t)chains, DRAWS);
		least = fmin(least, s.effective);
		worst = fmax(worst, s.rhat);
	}
	printf("%-28s %6d draws  R-hat %.3f  effective %6.0f, %7.0f a second\n", what,
	       chains * DRAWS, worst, least, least / time);
	return least / time;
}

int main(int argc, char **argv)
{
	static double kept[CHAINS][DRAWS][SIZE];
	static struct model many, one;
	struct rng r = {{1, 2, 3, 4}};
	OrtEnv *env;
	OrtMemoryInfo *memory;

	if (argc != 2)
		return fputs("usage: chains chains.onnx\n", stderr), 2;
	OrtSession *session = open_session(argv[1], &env);
	must(ort->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));
	bind(&many, memory, session, CHAINS);
	bind(&one, memory, session, 1);

	double rate = report("64 chains in one call", kept, CHAINS, sample(&many, &r, kept)),
	       time = 0;
	for (int c = 0; c < ALONE; c++)
		time += sample(&one, &r, kept + c);
	double alone = report("4 chains, one after another", kept, ALONE, time);
	printf("%.0f times the effective draws a second\n", rate / alone);
	ort->ReleaseSession(session);
	ort->ReleaseEnv(env);
	return rate > alone ? 0 : 1;
}
