"""mode="ONNX" beside PyTensor's own backends and jax2onnx: time to a compiled function, time a call

`backends.py [mode ...]`: by default ONNX NUMBA JAX; a mode that is not installed is left out. For ONNX there are two
more figures: what a call costs on top of the bare session.run of the same model, and the whole function beside a call
of an empty PyTensor function plus session.run. The fastest of many runs counts. The time from the rewritten graph to
a session that is ready is measured beside jax2onnx. Each runs in a process of its own: the first time, with the
imports that it needs, and the fastest of later times.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")

LATER = 15  # runs after the first one
BOUND = 50e-3  # seconds to a session, for a graph of 50 nodes


def best(*functions, rounds=9, n=1):
    """The fastest of the rounds of each function, which are called in turns: seconds a call."""
    times = [[] for _ in functions]
    for _ in range(rounds):
        for f, took in zip(functions, times):
            start = time.perf_counter()
            for _ in range(n):
                f()
            took.append((time.perf_counter() - start) / n)
    return [min(took) for took in times]


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
    yield "chain of 25 times 7", [v], [y], [rng.normal(size=1000)]
    y = v
    for k in range(25):
        y = pt.tanh(y) * (k + 0.5)
    yield "chain of 25 tanh, 25 products", [v], [y], [rng.normal(size=10)]
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
    return time.perf_counter() - start, best(lambda: f(*values), n=200)[0], f


def on_top(f, values):
    """session.run; our part of a call on top of it; the function over an empty one and session.run."""
    jit, vm = f.vm.jit_fn, f.vm
    feed = dict(zip(jit.inputs, values))

    def nothing():
        pass

    for name in ("allow_gc", "inputs", "jit_fn", "lazy", "outputs", "storage_map"):
        setattr(nothing, name, getattr(vm, name))
    def call():
        f(*values)

    rounds = []
    for _ in range(30):
        for container, value in zip(f.input_storage, values):  # a call of f clears them
            container.storage[0] = value
        rounds.append(best(lambda: jit.session.run(None, feed), vm, call, rounds=1, n=100))
        f.vm = nothing
        rounds[-1] += best(call, rounds=1, n=100)
        f.vm = vm
    bare, ours, whole, empty = map(min, zip(*rounds))
    return bare, ours - bare, whole / (empty + bare)


# ---- from the rewritten graph to a session that is ready ----


def our_way(inputs, outputs, values):
    """What makes a session, and how many nodes the graph has."""
    from pytensor.graph.fg import FunctionGraph

    import ptgc

    fgraph = FunctionGraph(inputs, outputs, clone=True)
    ptgc.ONNX.optimizer.rewrite(fgraph)
    linker = ptgc.ONNXLinker()
    return lambda: linker.fgraph_convert(fgraph), len(fgraph.apply_nodes)


def jax2onnx_way(inputs, outputs, values):
    """PyTensor -> JAX -> jax2onnx, as one would do without ptgc. The results must be PyTensor's."""
    import pytensor

    f = pytensor.function(inputs, outputs, mode="JAX", trust_input=True)
    expected = pytensor.function(inputs, outputs, mode="FAST_COMPILE")(*values)
    shown = []

    def run():
        import jax
        import onnxruntime
        from jax2onnx import to_onnx

        shapes = [jax.ShapeDtypeStruct(v.shape, v.dtype) for v in values]
        model = to_onnx(f.vm.jit_fn, shapes, enable_double_precision=True)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        if not shown:
            shown.append(session)

    def check():
        feed = dict(zip((i.name for i in shown[0].get_inputs()), values))
        for got, want in zip(shown[0].run(None, feed), expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-9)

    run.check = check
    return run, len(f.maker.fgraph.apply_nodes)


WAYS = {"ptgc": our_way, "jax2onnx": jax2onnx_way}


def clocked(f):
    wall, cpu = time.perf_counter(), time.process_time()
    f()
    return time.perf_counter() - wall, time.process_time() - cpu


def session_times(way, number):
    """In a process of its own: first and fastest later run by the wall clock and the processor's."""
    _, inputs, outputs, values = list(graphs())[number]
    run, nodes = WAYS[way](inputs, outputs, values)
    first = clocked(run)
    if hasattr(run, "check"):
        run.check()
    later = [clocked(run) for _ in range(LATER)]
    return nodes, first, (min(w for w, _ in later), min(c for _, c in later))


def show_session_times(number):
    """The rows of both ways, and their ratio."""
    later = {}
    for way in WAYS:
        done = subprocess.run([sys.executable, __file__, "--session", way, str(number)], capture_output=True, text=True)
        if done.returncode:  # what it cannot do is part of the comparison
            said = [line for line in done.stderr.splitlines() if "Error" in line] or ["it ended without a word"]
            print(f"  {way:8s} left out: {said[-1].strip()[:90]}")
            continue
        nodes, first, later[way] = json.loads(done.stdout.splitlines()[-1])
        within = ""
        if way == "ptgc" and nodes <= 50:
            within = f"  ({'within' if later[way][0] <= BOUND else 'over'} the {1e3 * BOUND:.0f} ms for 50 nodes)"
        print(
            f"  {way:8s} {nodes:3d} nodes, rewritten, to a ready session: first {1e3 * first[0]:7.1f} ms "
            f"(cpu {1e3 * first[1]:.1f}), later {1e3 * later[way][0]:6.1f} ms (cpu {1e3 * later[way][1]:.1f}){within}",
            flush=True,
        )
    if len(later) == 2:
        print(f"  {'':8s} ptgc / jax2onnx {later['ptgc'][0] / later['jax2onnx'][0]:.2f}")


IMPORTS = """
import time
start = time.perf_counter(), time.process_time()
import pytensor
middle = time.perf_counter(), time.process_time()
import ptgc
end = time.perf_counter(), time.process_time()
print(middle[0] - start[0], end[0] - middle[0], end[1] - middle[1])
"""


def show_import_times():
    runs = [subprocess.check_output([sys.executable, "-c", IMPORTS], text=True) for _ in range(7)]
    before, wall, cpu = (min(t) for t in zip(*(map(float, r.split()) for r in runs)))
    print(f"import pytensor {before:.2f}s, import ptgc {1e3 * wall:.0f} ms more (cpu {1e3 * cpu:.0f})")


def main(modes):
    show_import_times()
    import ptgc  # noqa: F401  adds the mode

    for number, (name, inputs, outputs, values) in enumerate(graphs()):
        print(name)
        for mode in modes:
            try:
                first, call, f = measure(mode, inputs, outputs, values)
            except ImportError as e:
                print(f"  {mode:8s} left out: {e}")
                continue
            print(f"  {mode:8s} to the first result {first:6.2f}s, a call {1e6 * call:7.1f} us", flush=True)
            if mode == "ONNX":
                bare, more, ratio = on_top(f, values)
                print(
                    f"  {'':8s} session.run {1e6 * bare:.1f} us, ours on top {1e6 * more:+.1f} us "
                    f"(bound {1 + 0.3 * len(inputs):.1f}), function over empty function + session.run {ratio:.2f}"
                )
        show_session_times(number)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--session"]:
        print(json.dumps(session_times(sys.argv[2], int(sys.argv[3]))))
    else:
        with tempfile.TemporaryDirectory() as cache:  # what earlier runs have kept is not measured
            os.environ["PTGC_CACHE"] = cache
            main(sys.argv[1:] or ["ONNX", "NUMBA", "JAX"])
