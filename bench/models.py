"""Log density and gradient of PyMC models: a call in the modes ONNX, JAX and NUMBA

`models.py [--ops] [--first] [model ...]`: by default all models of examples/pymc and some others, in one process on
one processor. All modes are called in turns, and the fastest turn counts. Results are read as NumPy arrays, and are
first compared with one another. The counts of nodes include those of bodies. PyTensor's nodes are those of the graph
after the rewrites of mode ONNX. `--ops` shows what takes the time in ONNX Runtime: microseconds a call, and nodes
run, of the six operators that take most. `--first` adds the time from pytensor.function to the first result.
"""

import os

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")

import argparse
import json
import logging
import statistics
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "pymc"))
warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import make  # noqa: E402
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import pymc as pm  # noqa: E402
import pytensor  # noqa: E402
import pytensor.tensor as pt  # noqa: E402
from pytensor.scan.op import Scan  # noqa: E402

import ptgc  # noqa: E402

MODES = "ONNX", "JAX", "NUMBA"
ROUNDS = 15
TURN = 4e-3  # seconds that a turn takes at least
PROFILED = 30  # calls
NODE, CALL = 0.25, 5  # microseconds that a small node and a call without nodes take
CONTROL = "Loop", "Scan", "If"


def large_logistic_regression():
    x, seen = np.random.default_rng(4).normal(size=(569, 30)), np.random.default_rng(5).integers(0, 2, 569)
    pm.Bernoulli("y", logit_p=pt.dot(x, pm.Normal("beta", 0, 1, shape=30)), observed=seen)


def wishart():
    sd = pm.HalfNormal("sd", 1, shape=3)
    pm.Wishart("y", nu=8, V=pt.diag(sd) + 0.1 * pt.outer(sd, sd), observed=np.cov(make.X.T) * 8)


def correlation():
    corr, sd = pm.LKJCorr("corr", n=4, eta=2), pm.HalfNormal("sd", 1, shape=4)
    seen = np.random.default_rng(2).normal(size=(make.N, 4))
    pm.MvNormal("y", np.zeros(4), cov=corr * pt.outer(sd, sd), observed=seen)


def kronecker_process():
    length, s = pm.Gamma("length", 2, 1, shape=2), pm.HalfNormal("s", 1)
    places = np.linspace(0, 1, 6)[:, None], np.linspace(0, 1, 5)[:, None]
    covs = [pm.gp.cov.ExpQuad(1, length[i])(p) for i, p in enumerate(places)]
    pm.KroneckerNormal("y", mu=np.zeros(30), covs=covs, sigma=s + 0.1, observed=make.Y[:30])


def categorical():
    p = pm.Dirichlet("p", np.ones((5, 4)))
    pm.Categorical("y", p=p[make.GROUP], observed=make.CLASSES)


def dirichlet_multinomial():
    seen = np.random.default_rng(3).multinomial(20, [0.2, 0.3, 0.5], size=12)
    pm.DirichletMultinomial("y", n=20, a=pm.HalfNormal("a", 5, shape=3), observed=seen)


def truncated():
    mu, s = pm.Normal("mu", 0, 1), pm.HalfNormal("s", 1)
    pm.TruncatedNormal("y", mu=mu, sigma=s, lower=-2, upper=3, observed=np.clip(make.Y, -1.9, 2.9))


def hurdle():
    pm.HurdleGamma("y", pm.Beta("psi", 1, 1), alpha=pm.HalfNormal("alpha", 2), beta=pm.HalfNormal("beta", 2),
                   observed=np.where(make.BINARY, np.abs(make.Y) + 0.1, 0))  # fmt: skip


MODELS = make.MODELS | {f.__name__: f for f in (
    large_logistic_regression, wishart, correlation, kronecker_process, categorical, dirichlet_multinomial,
    truncated, hurdle,
)}  # fmt: skip


def graph(name):
    """Inputs, outputs and values of the inputs."""
    with pm.Model() as model:
        MODELS[name]()
    start, shake = model.initial_point(), np.random.default_rng(1)
    values = [
        np.asarray(start[v.name] + 0.1 * shake.normal(size=np.shape(start[v.name]))) for v in model.value_vars
    ]
    return model.value_vars, [model.logp(), model.dlogp()], values


def onnx_nodes(graph):
    bodies = [a.g for n in graph.node for a in n.attribute if a.type == onnx.AttributeProto.GRAPH]
    return len(graph.node) + sum(map(onnx_nodes, bodies))


def pytensor_nodes(nodes):
    return sum(1 + (pytensor_nodes(n.op.fgraph.apply_nodes) if isinstance(n.op, Scan) else 0) for n in nodes)


def read(f, values):
    return [np.asarray(r) for r in f(*values)]


def time_turns(functions, values):
    """The fastest turn of each function, in seconds a call."""
    best, calls = {}, {}
    for mode, f in functions.items():
        start = time.perf_counter()
        for _ in range(5):
            read(f, values)
        best[mode] = (time.perf_counter() - start) / 5
        calls[mode] = max(1, min(200, int(TURN / best[mode])))
    for _ in range(ROUNDS):
        for mode, f in functions.items():
            start = time.perf_counter()
            for _ in range(calls[mode]):
                read(f, values)
            best[mode] = min(best[mode], (time.perf_counter() - start) / calls[mode])
    return best


def time_by_op(inputs, outputs, values, call):
    """[(op, microseconds a call, nodes run)], the slowest first.

    The profiler's own time for a node is some ten times that of a small node. It is taken as such that half of
    the nodes cost NODE or less. Loops get what the nodes leave of the time of a call.
    """
    with tempfile.TemporaryDirectory() as folder:
        options = {"enable_profiling": True, "profile_file_prefix": f"{folder}/p"}
        f = pytensor.function(inputs, outputs, mode=ptgc.onnx_mode(session_options=options), trust_input=True)
        for _ in range(PROFILED):
            f(*values)
        events = json.loads(Path(f.vm.jit_fn.session.end_profiling()).read_text())
    events = [e for e in events if e.get("cat") == "Node" and e["name"].endswith("_kernel_time")]
    events.sort(key=lambda e: (e["ts"], -e["dur"]))
    ops = [e["args"]["op_name"] for e in events[: len(events) // PROFILED]]
    runs = np.array([e["dur"] for e in events]).reshape(PROFILED, len(ops))
    cost = np.sort(runs, axis=0)[: PROFILED // 2].mean(axis=0)
    leaf = np.array([op not in CONTROL for op in ops])
    cost = np.where(leaf, np.maximum(cost - np.median(cost[leaf]) + NODE, 0), 0)
    took, nodes = Counter(), Counter(ops)
    for op, us in zip(ops, cost):
        took[op] += us
    if not leaf.all():
        took[next(op for op in ops if op in CONTROL)] = max(1e6 * call - CALL - cost.sum(), 0)
    return [(op, us, nodes[op]) for op, us in took.most_common()]


def measure(name, modes, ops):
    inputs, outputs, values = graph(name)
    functions, first, results = {}, {}, {}
    for mode in modes:
        start = time.perf_counter()
        try:
            functions[mode] = pytensor.function(inputs, outputs, mode=mode, trust_input=True)
            results[mode] = read(functions[mode], values)
        except Exception as e:  # what a mode cannot do is part of the comparison
            functions.pop(mode, None)
            print(f"{name}: {mode} left out: {type(e).__name__}: {str(e).splitlines()[0][:80]}")
        first[mode] = time.perf_counter() - start
    for mode, got in results.items():
        for a, b in zip(got, results["ONNX"]):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9, err_msg=f"{name}: {mode} differs")
    f = functions["ONNX"]
    ours = onnx_nodes(onnx.load_from_string(f.vm.jit_fn.model).graph)
    theirs = pytensor_nodes(f.maker.fgraph.apply_nodes)
    took = time_turns(functions, values)
    by_op = time_by_op(inputs, outputs, values, took["ONNX"]) if ops else []
    return {"took": took, "first": first, "nodes": ours, "source": theirs, "ops": by_op}


def geometric_mean(values):
    return statistics.geometric_mean(values) if values else float("nan")


def main(names, ops, first):
    others = MODES[1:]
    head = ["model", *(f"{m}, us" for m in MODES), *(f"/ {m}" for m in others), "ONNX nodes", "PyTensor's", "ratio"]
    print("| " + " | ".join(head + ["what takes the time: us, nodes run"] * ops) + " |")
    print("|---" + "|---:" * (len(head) - 1) + "|---" * ops + "|")
    rows = []
    for name in names:
        row = measure(name, MODES, ops)
        rows.append(row)
        took = row["took"]
        cells = [f"{name:22s}"] + [f"{1e6 * took[m]:7.1f}" if m in took else "      -" for m in MODES]
        cells += [f"{took['ONNX'] / took[m]:5.2f}" if m in took else "    -" for m in others]
        cells += [f"{row['nodes']:4d}", f"{row['source']:4d}", f"{row['nodes'] / row['source']:4.1f}"]
        if ops:
            cells.append(", ".join(f"{op} {us:.1f} ({n})" for op, us, n in row["ops"][:6]))
        print("| " + " | ".join(cells) + " |", flush=True)
    means = {m: geometric_mean([r["took"]["ONNX"] / r["took"][m] for r in rows if m in r["took"]]) for m in others}
    nodes = geometric_mean([r["nodes"] / r["source"] for r in rows])
    print(f"\nGeometric means: ONNX / JAX {means['JAX']:.2f}, ONNX / NUMBA {means['NUMBA']:.2f}; nodes {nodes:.2f}.")
    if first:
        total = {m: sum(r["first"][m] for r in rows) for m in MODES}
        print("From pytensor.function to the first result, all models: "
              + ", ".join(f"{m} {t:.1f} s" for m, t in total.items())
              + f"; ONNX / JAX {total['ONNX'] / total['JAX']:.2f}.")  # fmt: skip


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--ops", action="store_true")
    options.add_argument("--first", action="store_true")
    options.add_argument("models", nargs="*")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as cache:  # what earlier runs have kept is not measured
        os.environ["PTGC_CACHE"] = cache
        main(given.models or MODELS, given.ops, given.first)
