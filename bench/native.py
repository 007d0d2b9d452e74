"""C beside ONNX Runtime, Numba and JAX

`native.py [--peers] [--posteriordb PATH] [--first] [model ...]`: log densities and gradients of examples/pymc, in
microseconds a call. "bare" is the C function by itself, without Python, and session.run() of ONNX Runtime for the same
text. `--peers` adds what pytensor.function gives for the same model by the modes NATIVE, NUMBA and JAX, as Python calls
it; the call itself takes some 2 us of that. PATH is a checkout of posteriordb: ten of its posteriors, each fifth by
name, are rows too. The least of many turns counts. "spread" is how much longer the median turn of C took. All run in
one thread. Results are compared first. `--first` says how long it takes from pytensor.function to the first result for
all models of models.py, each mode in a process of its own: with an empty cache, then with a full one.
"""

import argparse
import ctypes as C
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import numpy as np
import onnxruntime as ort

TOP = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOP / "tests" / "c"))
from native import PTGC, Native, compiled, to_c  # noqa: E402
from same import arrays_for  # noqa: E402

FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
PEERS = "NATIVE", "NUMBA", "JAX"
TURNS, TURN = 200, 300  # how many turns, of how many microseconds: short ones fit between those of other processes
LOOP = """
int bench_%(name)s(const struct %(name)s_in *in, struct %(name)s_out *out, void *work, size_t bytes, int n);
int bench_%(name)s(const struct %(name)s_in *in, struct %(name)s_out *out, void *work, size_t bytes, int n)
{
	int status = 0;
	size_t need;
	for (int i = 0; i < n; ++i)
		status |= %(name)s_run(in, out, work, bytes, &need);
	return status;
}
"""


def turns(call):
    """Microseconds of one of the n that call(n) makes, in the least of many turns; the median turn beside it"""
    t = time.perf_counter()
    call(10)
    n = max(1, int(10 * TURN / ((time.perf_counter() - t) * 1e6)))
    times = []
    for _ in range(TURNS):
        t = time.perf_counter()
        call(n)
        times.append((time.perf_counter() - t) / n)
    return min(times) * 1e6, statistics.median(times) / min(times)


def measure(path):
    code = to_c(path, "--strip")
    name = Native.name_of(code)
    t = time.perf_counter()
    library = compiled(code + LOOP % {"name": name}, FLAGS)
    cc = time.perf_counter() - t
    model = Native(code, library)
    onnx = subprocess.run([PTGC, "--strip", "-o", "-", str(path)], capture_output=True, check=True).stdout
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(onnx, options)
    arrays = arrays_for(session, model.inputs, 3, 1)
    saved = np.load(path.with_suffix(".npz"))
    arrays |= {k[3:]: saved[k] for k in saved if k.startswith("in_")}  # the example's point
    want = session.run(None, arrays)
    fields = [f for f in model.outputs if f[4]]
    lengths = {f[0]: w.shape for f, w in zip(fields, want, strict=True)}
    call, keep = model.prepared(dict(zip([f[0] for f in model.inputs if f[4]], arrays.values(), strict=True)), lengths)
    got = model(dict(zip([f[0] for f in model.inputs if f[4]], arrays.values(), strict=True)), lengths)
    for k in ("logp", "dlogp"):
        np.testing.assert_allclose(got[k], saved[k], rtol=1e-9, atol=1e-9 * np.max(np.abs(saved[k])))
    run = getattr(model.dll, f"bench_{name}")
    assert run(*call, C.c_int(100)) == 0
    c, spread = turns(lambda k: run(*call, C.c_int(k)))
    o, _ = turns(lambda k: [session.run(None, arrays) for _ in range(k)])
    del keep
    return {"C": c, "ONNX Runtime": o, "cc, s": cc, "spread": spread}


def posterior(full_name, root, folder):
    """Inputs, outputs and values of a model of posteriordb; the folder gets its text and point, as examples/pymc has them."""
    import posteriordb
    import pytensor

    import ptgc

    model = posteriordb.Posterior(root, full_name).model()
    inputs, outputs = posteriordb.gradient(model)
    start, shake = model.initial_point(), np.random.default_rng(1)
    values = [np.asarray(start[v.name] + 0.1 * shake.normal(size=np.shape(start[v.name]))) for v in inputs]
    name = full_name.replace("-", "_")
    text = ptgc.save_ptg(folder / f"{name}.ptg", inputs, outputs, name=name)
    logp, dlogp = pytensor.function(inputs, outputs, mode="FAST_COMPILE")(*values)
    np.savez(folder / f"{name}.npz", logp=logp, dlogp=dlogp, **{f"in_{n}": v for n, v in zip(text.inputs, values)})
    return folder / f"{name}.ptg", (inputs, outputs, values)


def measure_peers(name, graph):
    """{mode: microseconds of a call} of the log density and gradient of a graph; what a mode cannot do is left out"""
    import models
    import pytensor

    inputs, outputs, values = graph
    took, results = {}, {}
    for mode in PEERS:
        try:
            f = pytensor.function(inputs, outputs, mode=mode, trust_input=True)
            results[mode] = models.read(f, values)
        except Exception as e:  # what a mode cannot do is part of the comparison
            print(f"{name}: {mode} left out: {type(e).__name__}: {str(e).splitlines()[0][:80]}", file=sys.stderr)
            continue
        for got, want in zip(results[mode], results["NATIVE"], strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-9, err_msg=f"{name}: {mode} differs")
        took[mode], _ = turns(lambda k, f=f: [models.read(f, values) for _ in range(k)])
    return took


def processor():
    with open("/proc/cpuinfo") as f:
        return next((line.partition(":")[2].strip() for line in f if line.startswith("model name")), "unknown")


RATIOS = ("C", "ONNX Runtime"), ("C", "NUMBA"), ("NATIVE", "NUMBA"), ("NATIVE", "JAX")


def rows(names, peers, root, folder):
    """(name, {what: microseconds}) of each model"""
    for path in sorted((TOP / "examples" / "pymc").glob("*.ptg")):
        if names and path.stem not in names:
            continue
        took = measure(path)
        if peers:
            import models

            took |= measure_peers(path.stem, models.graph(path.stem))
        yield path.stem, took
    if not root:
        return
    import posteriordb

    for name in posteriordb.names(root)[::5]:
        if names and name not in names:
            continue
        path, graph = posterior(name, root, Path(folder))
        yield name, measure(path) | (measure_peers(name, graph) if peers else {})


def main(names, peers, root):
    columns = ["C", "ONNX Runtime", *(PEERS if peers else ())]
    shown = [r for r in RATIOS if r[0] in columns and r[1] in columns]
    print(f"Processor: {processor()}\n")
    print("| " + " | ".join(["model", "C, bare", "ONNX Runtime, bare", *columns[2:], *(f"{a} / {b}" for a, b in shown), "spread", "cc, s"]) + " |")
    print("|---" + "|---:" * (len(columns) + len(shown) + 2) + "|")
    all_ratios = {r: [] for r in shown}
    with tempfile.TemporaryDirectory() as folder:
        for name, took in rows(names, peers, root, folder):
            ratios = {(a, b): took[a] / took[b] for a, b in shown if b in took}
            for r, value in ratios.items():
                all_ratios[r].append(value)
            cells = [f"{took[c]:.2f}" if c in took else "-" for c in columns]
            cells += [f"{ratios[r]:.3f}" if r in ratios else "-" for r in shown]
            print("| " + " | ".join([name, *cells, f"{100 * (took['spread'] - 1):.0f} %", f"{took['cc, s']:.1f}"]) + " |", flush=True)
    means = (f"{a} / {b} {statistics.geometric_mean(r):.3f}, at most {max(r):.2f}" for (a, b), r in all_ratios.items() if r)
    print(f"\nGeometric means: {'; '.join(means)}.")


def first_results(mode, names):
    """Seconds from pytensor.function to the first result, of all models that the mode can do; and how many these are"""
    import models
    import pytensor

    took, count = 0.0, 0
    for name in names or models.MODELS:
        inputs, outputs, values = models.graph(name)
        begin = time.perf_counter()
        try:
            models.read(pytensor.function(inputs, outputs, mode=mode, trust_input=True), values)
        except Exception as e:  # what a mode cannot do is part of the comparison
            print(f"{name}: {mode} left out: {type(e).__name__}: {str(e).splitlines()[0][:80]}", file=sys.stderr)
            continue
        took, count = took + time.perf_counter() - begin, count + 1
    print(f"{took:.1f} s ({count} models)")


def compare_first(names):
    def by(mode, cache):
        flags = f"{os.environ.get('PYTENSOR_FLAGS', '')},base_compiledir={cache}".lstrip(",")  # Numba's code lies there
        mine = [sys.executable, __file__, "--first-of", mode, *names]
        environment = os.environ | {"PTGC_CACHE": cache, "PYTENSOR_FLAGS": flags}
        return subprocess.run(mine, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()[-1]

    times = []
    for mode in ("NATIVE", "ONNX", *PEERS[1:]):
        with tempfile.TemporaryDirectory() as cache:
            times.append(f"{mode} {by(mode, cache)}, with a full cache {by(mode, cache)}")
    print(f"\nFrom pytensor.function to the first result, all models: {'; '.join(times)}.")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--peers", action="store_true")
    p.add_argument("--posteriordb", type=Path)
    p.add_argument("--first", action="store_true")
    p.add_argument("--first-of", help=argparse.SUPPRESS)
    p.add_argument("models", nargs="*")
    given = p.parse_args()
    if given.first_of:
        first_results(given.first_of, given.models)
    else:
        main(given.models, given.peers, given.posteriordb)
        if given.first:
            compare_first(given.models)
