"""Special functions, beside SciPy

`special.py [name ...]`. Microseconds of one call in float64 on one thread, of random arguments: positive orders and
parameters up to 10, x up to 30, z of Hyp2f1 from -3 to 1, probabilities from 0 to 1. ONNX Runtime and SciPy take turns, and the
fastest turn counts. Loops run until the slowest element is done. The nodes count with those of bodies, most of which run
only where an element needs them; the first rows are neighbours that were there before.
"""

import argparse
import os
import time

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import numpy as np
import onnx
import onnxruntime as ort
import scipy.special as ss

import ptgc

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


def fastest(functions, turns=9):
    best = [float("inf")] * len(functions)
    for turn in range(turns):
        for k, f in enumerate(functions):
            start = time.perf_counter()
            f()
            if turn:
                best[k] = min(best[k], time.perf_counter() - start)
    return [b * 1e6 for b in best]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("names", nargs="*")
    names = p.parse_args().names or CASES
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    print("| function | nodes | " + " | ".join(f"{n:,}: ptgc | SciPy" for n in SIZES) + " |")
    print("|---|---:|" + "---:|---:|" * len(SIZES))
    for name in names:
        scipy, *ranges = CASES[name]
        args = "abcd"[: len(ranges)]
        model = ptgc.compile(f"graph g({', '.join(f'{v}: float64[n]' for v in args)}) -> (y) {{ y = {name}({', '.join(args)}) }}")
        model = model if isinstance(model, bytes) else model.model
        session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        cells = []
        for n in SIZES:
            rng = np.random.default_rng(0)
            values = [rng.uniform(*r, n) for r in ranges]
            feed = dict(zip(args, values))
            cells += [f"{t:,.0f}" for t in fastest([lambda: session.run(None, feed), lambda: scipy(*values)])]
        print(f"| {name} | {count(onnx.load_from_string(model).graph)} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
