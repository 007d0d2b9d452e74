"""Special functions, beside SciPy

`special.py [name ...]`: microseconds of one call in float64 on one thread, of random arguments. Orders and parameters
are positive and up to 10, x is up to 30, z of Hyp2f1 is from -3 to 1, and probabilities are from 0 to 1. ONNX
Runtime, C and SciPy take turns, and the fastest turn counts. C is the target c, compiled by the machine's compiler
and called as mode="NATIVE" calls it. Loops run until the slowest element is done. The counts of nodes include those
of bodies, most of which run only if an element needs them. The first rows are older functions, for comparison.
"""

import argparse
import os
import statistics
import time

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import numpy as np
import onnx
import onnxruntime as ort
import scipy.special as ss

import ptgc
from ptgc._lib import compile_text
from ptgc.native import load_model

SIZES = (1, 100, 10_000)
SIZE, X, PART, Z = (0, 10), (0, 30), (0, 1), (-3, 1)
CASES = {
    "Erfc": (ss.erfc, X), "Gammaln": (ss.gammaln, X), "Psi": (ss.psi, X), "I0": (ss.i0, X), "J1": (ss.j1, X),
    "Gammainc": (ss.gammainc, SIZE, X), "Gammaincc": (ss.gammaincc, SIZE, X),
    "Gammaincinv": (ss.gammaincinv, SIZE, PART), "Gammainccinv": (ss.gammainccinv, SIZE, PART),
    "Betainc": (ss.betainc, SIZE, SIZE, PART), "Betaincinv": (ss.betaincinv, SIZE, SIZE, PART),
    "Hyp2f1": (ss.hyp2f1, SIZE, SIZE, SIZE, Z), "Ive": (ss.ive, SIZE, X), "Kve": (ss.kve, SIZE, X), "Jv": (ss.jv, SIZE, X),
    "I0e": (ss.i0e, X), "I1e": (ss.i1e, X), "Owens_t": (ss.owens_t, (0, 3), SIZE), "Ndtri_exp": (ss.ndtri_exp, (-30, 0)),
}  # fmt: skip


def count(graph):
    return sum(1 + sum(count(a.g) for a in n.attribute if a.type == onnx.AttributeProto.GRAPH) for n in graph.node)


def fastest(functions, turns=60):
    """The least of many short turns of each, which fit between those of other processes: microseconds a call."""
    best, calls = [], []
    for f in functions:
        f()
        start = time.perf_counter()
        f()
        best.append(time.perf_counter() - start)
        calls.append(max(1, int(2e-4 / best[-1])))
    for _ in range(turns):
        for k, f in enumerate(functions):
            start = time.perf_counter()
            for _ in range(calls[k]):
                f()
            best[k] = min(best[k], (time.perf_counter() - start) / calls[k])
    return [b * 1e6 for b in best]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("names", nargs="*")
    names = p.parse_args().names or CASES
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    print("| function | nodes | " + " | ".join(f"{n:,}: ONNX | C | SciPy" for n in SIZES) + " |")
    print("|---|---:|" + "---:|---:|---:|" * len(SIZES))
    ratios = {n: [] for n in SIZES}
    for name in names:
        scipy, *ranges = CASES[name]
        args = "abcd"[: len(ranges)]
        text = f"graph model({', '.join(f'{v}: float64[n]' for v in args)}) -> (y) {{ y = {name}({', '.join(args)}) }}"
        model = ptgc.compile(text)
        native = load_model(compile_text(text, code=True, model_name="model", flags=["fentry"]))
        session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        cells = []
        for n in SIZES:
            rng = np.random.default_rng(0)
            values = [rng.uniform(*r, n) for r in ranges]
            feed = dict(zip(args, values))
            np.testing.assert_allclose(native.run(*values)[0], session.run(None, feed)[0], rtol=1e-6, atol=1e-300)
            took = fastest([lambda: session.run(None, feed), lambda: native.run(*values), lambda: scipy(*values)])
            ratios[n].append(took[1] / took[2])
            cells += [f"{t:,.1f}" for t in took]
        print(f"| {name} | {count(onnx.load_from_string(model).graph)} | " + " | ".join(cells) + " |", flush=True)
    means = ", ".join(f"{n:,} elements: {statistics.geometric_mean(r):.2f}, at most {max(r):.2f}" for n, r in ratios.items())
    print(f"\nC / SciPy, geometric mean: {means}.")


if __name__ == "__main__":
    main()
