"""mode="ONNX" beside PyTensor's own backends: time to a compiled function and time a call.

Usage: backends.py [mode ...]   (default ONNX NUMBA JAX; a mode that is not installed is left out)
The first line is what a call of ours costs over the bare session.run of the same model.
"""

import sys
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")


def best(f, rounds=5, n=1):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(n):
            f()
        times.append((time.perf_counter() - start) / n)
    return min(times)


def graphs():
    import pytensor
    import pytensor.tensor as pt

    rng = np.random.default_rng(0)
    x, w, b = pt.matrix("x"), pt.matrix("w"), pt.vector("b")
    loss = pt.special.softmax(pt.tanh(x @ w + b), axis=1).sum()
    yield "perceptron, gradient", [x, w, b], list(pytensor.grad(loss, [w, b])), [
        rng.normal(size=s) for s in ((100, 20), (20, 10), (10,))
    ]
    v = pt.vector("v")
    y = v
    for k in range(25):
        y = pt.exp(-((y * 0.5 + k) ** 2)) + pt.log1p(y**2)
    yield "chain of 50 and more", [v], [y], [rng.normal(size=1000)]
    mu, tau, z = pt.scalar("mu"), pt.scalar("tau"), pt.vector("z")
    logp = (-0.5 * ((rng.normal(size=8) - mu - pt.exp(tau) * z) / 10) ** 2).sum() - 0.5 * (z**2).sum() - pt.log1p(tau**2)
    yield "eight schools, gradient", [mu, tau, z], [logp, *pytensor.grad(logp, [mu, tau, z])], [
        np.array(0.1), np.array(0.2), rng.normal(size=8)
    ]  # fmt: skip


def measure(mode, inputs, outputs, values):
    import pytensor

    start = time.perf_counter()
    f = pytensor.function(inputs, outputs, mode=mode, trust_input=True)
    f(*values)
    return time.perf_counter() - start, best(lambda: f(*values), n=200), f


def main(modes):
    start = time.perf_counter()
    import pytensor  # noqa: F401

    middle = time.perf_counter()
    import ptgc  # noqa: F401

    print(f"import pytensor {middle - start:.2f}s, import ptgc {1e3 * (time.perf_counter() - middle):.0f} ms more")
    for name, inputs, outputs, values in graphs():
        print(name)
        for mode in modes:
            try:
                first, call, f = measure(mode, inputs, outputs, values)
            except ImportError as e:
                print(f"  {mode:6s} left out: {e}")
                continue
            line = f"  {mode:6s} to the first result {first:6.2f}s, a call {1e6 * call:7.1f} us"
            if mode == "ONNX":
                jit = f.vm.jit_fn
                feed = dict(zip(jit.inputs, values))
                bare = best(lambda: jit.session.run(None, feed), n=200)
                ours = best(lambda: jit(*values), n=200)
                line += f"; session.run {1e6 * bare:.1f} us, ours on top {1e6 * (ours - bare):.1f} us"
            print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or ["ONNX", "NUMBA", "JAX"])
