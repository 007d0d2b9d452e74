"""Many points in one call

`points.py [model ...]`: log densities and gradients of the models of models.py at 1, 4, 64 and 512 points in one call
(`compile_onnx(..., batch="points")`, and C by `compile_native` of the same), in microseconds a point. Beside them are
Numba, which takes one point a call, and JAX's vmap of the same points. All run in one process on one processor, in
turns, and the fastest turn counts. At 64 points each result is compared with Numba's. "loops" counts the loops that
are left, with loops inside others.
"""

import sys
import time

import models
import numpy as np
import onnx
import pytensor

import ptgc

BATCHES = 1, 4, 64, 512
COMPARED = 64
BESIDE = ("ONNX", "NUMBA", 1), ("ONNX", "JAX", COMPARED), ("C", "NUMBA", 1), ("C", "JAX", COMPARED)
ROUNDS = 9
TURN = 4e-3  # seconds that a turn takes at least
BUDGET = 3.0  # seconds for all turns of a function


def loops(graph):
    bodies = [a.g for n in graph.node for a in n.attribute if a.type == onnx.AttributeProto.GRAPH]
    return sum(n.op_type in ("Loop", "Scan") for n in graph.node) + sum(map(loops, bodies))


def points(values, n):
    """n points around the values of the inputs."""
    shake = np.random.default_rng(n)
    return [np.asarray(v + 0.1 * shake.normal(size=(n, *np.shape(v)))) for v in values]


def onnx_function(inputs, outputs):
    e = ptgc.compile_onnx(inputs, outputs, batch="points")
    session = e.session({"intra_op_num_threads": 1})
    return lambda *values: session.run(None, dict(zip(e.inputs, values))), loops(onnx.load_from_string(e.model).graph)


def c_function(inputs, outputs):
    return ptgc.compile_native(inputs, outputs, batch="points")


def jax_function(inputs, outputs):
    import jax

    f = pytensor.function(inputs, outputs, mode="JAX", trust_input=True)
    return jax.jit(jax.vmap(f.vm.jit_fn))


def time_turns(calls):
    """The fastest turn of each of {key: (function, values)}, in seconds a call."""
    best, repeat = {}, {}
    for key, (f, values) in calls.items():
        models.read(f, values)
        start = time.perf_counter()
        models.read(f, values)
        best[key] = time.perf_counter() - start
        repeat[key] = max(1, min(200, int(TURN / best[key])))
    for turn in range(ROUNDS):
        for key, (f, values) in calls.items():
            if turn * repeat[key] * best[key] > BUDGET:
                continue
            start = time.perf_counter()
            for _ in range(repeat[key]):
                models.read(f, values)
            best[key] = min(best[key], (time.perf_counter() - start) / repeat[key])
    return best


def measure(name):
    """The microseconds a point of {("NUMBA", 1), ("ONNX", n), ("C", n), ("JAX", n)}, and the loops that are left."""
    inputs, outputs, values = models.graph(name)
    numba = pytensor.function(inputs, outputs, mode="NUMBA", trust_input=True)
    ours, left = onnx_function(inputs, outputs)
    calls = {("NUMBA", 1): (numba, values)}
    calls |= {("ONNX", n): (ours, points(values, n)) for n in BATCHES}
    at = points(values, COMPARED)
    want = [np.stack(r) for r in zip(*[models.read(numba, [np.asarray(v[k]) for v in at]) for k in range(COMPARED)])]
    check(name, "ONNX", models.read(ours, at), want)
    try:
        c = c_function(inputs, outputs)
        check(name, "C", models.read(c, at), want)
        calls |= {("C", n): (c, points(values, n)) for n in BATCHES}
    except (ptgc.CompileError, ptgc.UnsupportedError) as e:
        print(f"{name}: C left out: {str(e).splitlines()[0][:80]}")
    try:
        jax = jax_function(inputs, outputs)
        check(name, "JAX", models.read(jax, at), want)
        calls |= {("JAX", n): (jax, points(values, n)) for n in BATCHES}
    except Exception as e:  # what JAX cannot do is part of the comparison
        print(f"{name}: JAX left out: {type(e).__name__}: {str(e).splitlines()[0][:80]}")
    return {key: 1e6 * t / key[1] for key, t in time_turns(calls).items()}, left


def check(name, mode, got, want):
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-6, atol=1e-8, err_msg=f"{name}: {mode} differs")


def main(names):
    head = ["model", "Numba, 1", *(f"ONNX, {n}" for n in BATCHES), *(f"C, {n}" for n in BATCHES), *(f"JAX, {n}" for n in BATCHES)]
    head += [f"{a}, {COMPARED} / {b}" for a, b, _ in BESIDE] + ["loops"]
    print("| " + " | ".join(head) + " |")
    print("|---" + "|---:" * (len(head) - 1) + "|")
    beside = {key: [] for key in BESIDE}
    for name in names:
        took, left = measure(name)
        columns = [("NUMBA", 1), *((mode, n) for mode in ("ONNX", "C", "JAX") for n in BATCHES)]
        cells = [f"{name:25s}"] + [f"{took[c]:8.2f}" if c in took else "       -" for c in columns]
        for key in BESIDE:
            ours, theirs = (key[0], COMPARED), key[1:]
            ratio = took[ours] / took[theirs] if ours in took and theirs in took else None
            beside[key] += [ratio] if ratio else []
            cells.append(f"{ratio:6.2f}" if ratio else "     -")
        print("| " + " | ".join([*cells, str(left)]) + " |", flush=True)
    means = (f"{a} / {b}, {n} {models.geometric_mean(r):.2f} ({len(r)} models)" for (a, b, n), r in beside.items())
    print(f"\nGeometric means at {COMPARED} points: {'; '.join(means)}.")


if __name__ == "__main__":
    main(sys.argv[1:] or models.MODELS)
