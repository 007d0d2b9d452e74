"""mode="ONNX" beside PyTensor's own backends and jax2onnx: time to a compiled function, time a call.

Usage: backends.py [mode ...]   (default ONNX NUMBA JAX; a mode that is not installed is left out)
For ONNX also: from the rewritten graph to a ready session; what a call costs on top of the bare
session.run of the same model; and the whole function beside a call of PyTensor's with nothing in
it plus session.run. The fastest of many runs counts.
"""

import sys
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")


def best(f, rounds=9, n=1):
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
    y = v
    for _ in range(50):
        y = pt.tanh(y)
    yield "chain of 50 tanh", [v], [y], [rng.normal(size=10)]
    mu, tau, z = pt.scalar("mu"), pt.scalar("tau"), pt.vector("z")
    logp = (-0.5 * ((rng.normal(size=8) - mu - pt.exp(tau) * z) / 10) ** 2).sum() - 0.5 * (z**2).sum() - pt.log1p(tau**2)
    yield "eight schools, gradient", [mu, tau, z], [logp, *pytensor.grad(logp, [mu, tau, z])], [
        np.array(0.1), np.array(0.2), rng.normal(size=8)
    ]  # fmt: skip
    many = [pt.vector(f"x{k}") for k in range(20)]
    yield "20 inputs", many, [sum(many[1:], many[0])], [np.ones(3)] * 20


def measure(mode, inputs, outputs, values):
    import pytensor

    start = time.perf_counter()
    f = pytensor.function(inputs, outputs, mode=mode, trust_input=True)
    f(*values)
    return time.perf_counter() - start, best(lambda: f(*values), n=200), f


def to_session(inputs, outputs):
    """From the rewritten graph to a session that is ready, in seconds."""
    from pytensor.graph.fg import FunctionGraph

    import ptgc

    fgraph = FunctionGraph(inputs, outputs, clone=True)
    ptgc.ONNX.optimizer.rewrite(fgraph)
    linker = ptgc.ONNXLinker()
    return best(lambda: linker.fgraph_convert(fgraph))


def on_top(f, values):
    """session.run; our part of a call on top of it; the function over an empty one and session.run."""
    jit, vm = f.vm.jit_fn, f.vm
    feed = dict(zip(jit.inputs, values))
    bare = best(lambda: jit.session.run(None, feed), n=200)
    for container, value in zip(f.input_storage, values):
        container.storage[0] = value
    ours = best(vm, n=200)
    whole = best(lambda: f(*values), n=200)

    def nothing():
        pass

    for name in ("allow_gc", "inputs", "jit_fn", "lazy", "outputs", "storage_map"):
        setattr(nothing, name, getattr(vm, name))
    f.vm = nothing
    empty = best(lambda: f(*values), n=200)
    f.vm = vm
    return bare, ours - bare, whole / (empty + bare)


def jax2onnx_way(inputs, outputs, values):
    """PyTensor -> JAX -> jax2onnx, as one would do without ptgc: seconds to a session."""
    import jax
    import onnxruntime
    import pytensor
    from jax2onnx import to_onnx

    start = time.perf_counter()
    f = pytensor.function(inputs, outputs, mode="JAX", trust_input=True).vm.jit_fn
    shapes = [jax.ShapeDtypeStruct(v.shape, v.dtype) for v in values]
    model = to_onnx(f, shapes, enable_double_precision=True)
    onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return time.perf_counter() - start


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
                print(f"  {mode:8s} left out: {e}")
                continue
            print(f"  {mode:8s} to the first result {first:6.2f}s, a call {1e6 * call:7.1f} us", flush=True)
            if mode == "ONNX":
                print(f"  {'':8s} rewritten graph to session {1e3 * to_session(inputs, outputs):.1f} ms", flush=True)
                bare, more, ratio = on_top(f, values)
                print(
                    f"  {'':8s} session.run {1e6 * bare:.1f} us, ours on top {1e6 * more:+.1f} us "
                    f"(bound {1 + 0.3 * len(inputs):.1f}), function over empty function + session.run {ratio:.2f}"
                )
        try:
            print(f"  jax2onnx to a session {jax2onnx_way(inputs, outputs, values):6.2f}s", flush=True)
        except Exception as e:  # what it cannot do is part of the comparison
            print(f"  jax2onnx left out: {type(e).__name__}: {str(e).splitlines()[0][:80] if str(e) else ''}")


if __name__ == "__main__":
    main(sys.argv[1:] or ["ONNX", "NUMBA", "JAX"])
