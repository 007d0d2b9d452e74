"""Random numbers, beside NumPy

`draws.py [name ...]`. Nanoseconds a draw, on one thread: all draws of a call have the same parameters. NumPy's are those of a
Generator on PCG64; the models draw the same numbers from the same words. ONNX Runtime and NumPy take turns, and the fastest turn
counts. The last column is a call that draws one number, as a step of a loop does, in microseconds: 5 of them are what a call of
ONNX Runtime costs from Python.
"""

import os
import sys
import time

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import numpy as np
import onnxruntime as ort

import ptgc

SIZE = 1_000_000
CASES = {  # op of .ptg: (parameters, NumPy's draws)
    "uniform": ("0.0, 1.0", lambda g, n: g.random(n)),
    "normal": ("0.0, 1.0", lambda g, n: g.standard_normal(n)),
    "exponential": ("1.0", lambda g, n: g.standard_exponential(n)),
    "gamma": ("2.5, 1.0", lambda g, n: g.standard_gamma(2.5, n)),
    "beta": ("2.5, 1.5", lambda g, n: g.beta(2.5, 1.5, n)),
    "t": ("4.0, 0.0, 1.0", lambda g, n: g.standard_t(4, n)),
    "gumbel": ("0.0, 1.0", lambda g, n: g.gumbel(0, 1, n)),
    "cauchy": ("0.0, 1.0", lambda g, n: g.standard_cauchy(n)),
    "weibull": ("1.5", lambda g, n: g.weibull(1.5, n)),
    "vonmises": ("0.0, 2.0", lambda g, n: g.vonmises(0, 2, n)),
    "wald": ("1.0, 2.0", lambda g, n: g.wald(1, 2, n)),
    "integers": ("0, 10", lambda g, n: g.integers(0, 10, n)),
    "bernoulli": ("0.3", lambda g, n: g.binomial(1, 0.3, n)),
    "binomial": ("20, 0.4", lambda g, n: g.binomial(20, 0.4, n)),
    "poisson": ("3.0", lambda g, n: g.poisson(3, n)),
    "geometric": ("0.2", lambda g, n: g.geometric(0.2, n)),
    "negative_binomial": ("5, 0.4", lambda g, n: g.negative_binomial(5, 0.4, n)),
    "hypergeometric": ("30, 20, 12", lambda g, n: g.hypergeometric(30, 20, 12, n)),
    "categorical": ("[0.2, 0.5, 0.3]", lambda g, n: g.random(n).searchsorted([0.2, 0.7])),
}


def words(generator):
    return ptgc.generator_to_words(generator)


def fastest(functions, turns):
    best = [float("inf")] * len(functions)
    for _ in range(turns):
        for k, f in enumerate(functions):
            start = time.perf_counter()
            f()
            best[k] = min(best[k], time.perf_counter() - start)
    return best


def main(names):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    print(f"| draws | ptgc, {SIZE:,} | NumPy | ratio | one draw, us |\n|---|---:|---:|---:|---:|")
    for name in names or CASES:
        parameters, draws = CASES[name]
        call = f"r2, x = {name}_rv(r, %s, {parameters})"
        text = f"graph many(r: rng, n: int64[1]) -> (r2, x) {{ {call % 'n'} }}", f"graph one(r: rng) -> (r2, x) {{ {call % '[]'} }}"
        try:
            many, one = (ort.InferenceSession(ptgc.compile(t), options) for t in text)
        except ptgc.CompileError as e:
            print(f"| {name} | {e.diagnostics[0].text} |")
            continue
        generator = np.random.default_rng(1)
        feed = {"r": words(generator)}
        all = {**feed, "n": np.array([SIZE])}
        ours, numpys = fastest([lambda: many.run(None, all), lambda: draws(np.random.default_rng(1), SIZE)], 5)
        (alone,) = fastest([lambda: one.run(None, feed)], 200)
        row = [f"{t / SIZE * 1e9:.1f}" for t in (ours, numpys)]
        print(f"| {name} | {' | '.join(row)} | {ours / numpys:.1f} | {alone * 1e6:.0f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
