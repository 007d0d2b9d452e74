"""Random numbers of vectors of parameters, beside NumPy

`vectors.py [--draws N] [--opsets 18,26] [--turns N] [--no-c] [--write] [name ...]` prints the time of a draw in a vector of 1,000
different parameters: microseconds of the processor, on ONNX Runtime with one thread for each opset, in C, and in NumPy. The
fastest of some turns counts. All numbers and the states left behind are compared with NumPy's. A name is the beginning of a
row's; --write puts the table into doc/random.md.
"""
import argparse
import sys
import time
from pathlib import Path

import numpy as np
import onnxruntime as ort

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from ptgc import _lib  # noqa: E402
from ptgc.native import MODEL, load_model  # noqa: E402

G = np.random.Generator
BEGIN = "| us a draw of a vector | "


def within(*ranges):
    """Each parameter in one of these ranges"""
    return lambda g, n: np.choose(g.integers(len(ranges), size=n), [g.uniform(*r, n) for r in ranges])


def whole(*ranges):
    return lambda g, n: within(*ranges)(g, n).astype("int64")


def large_sample(g, n):
    return g.integers(10, 90, n)


def simplex(g, n):
    return g.dirichlet([2, 3, 5], n)


# name: the op, its parameters, NumPy's draw
ROWS = {
    "uniform": ("uniform_rv", [within((-2, -1)), within((1, 2))], G.uniform),
    "normal": ("normal_rv", [within((-1, 1)), within((1, 2))], G.normal),
    "exponential": ("exponential_rv", [within((1, 2))], G.exponential),
    "gamma, shapes < 1": ("gamma_rv", [within((0.05, 1)), within((1, 2))], G.gamma),
    "gamma, shapes > 1": ("gamma_rv", [within((1, 9)), within((1, 2))], G.gamma),
    "gamma, mixed": ("gamma_rv", [within((0.05, 1), (1, 9)), within((1, 2))], G.gamma),
    "invgamma, mixed": ("invgamma_rv", [within((0.5, 1), (1, 9)), within((1, 2))], lambda g, a, s: 1 / g.gamma(a, 1 / s)),
    "beta, shapes < 1": ("beta_rv", [within((0.05, 1)), within((0.05, 1))], G.beta),
    "beta, shapes > 1": ("beta_rv", [within((1, 9)), within((1, 9))], G.beta),
    "beta, mixed": ("beta_rv", [within((0.05, 1), (1, 9)), within((0.05, 1), (1, 9))], G.beta),
    "t": ("t_rv", [within((0.5, 2), (2, 30)), within((0, 0)), within((1, 1))], lambda g, a, m, s: g.standard_t(a)),
    "wald": ("wald_rv", [within((0.5, 2)), within((1, 2))], G.wald),
    "vonmises": ("vonmises_rv", [within((-1, 1)), within((0.1, 20))], G.vonmises),
    "bernoulli": ("bernoulli_rv", [within((0, 1))], None),
    "integers": ("integers_rv", [whole((0, 9)), whole((10, 1000))], G.integers),
    "integers, large": ("integers_rv", [whole((0, 9)), whole((1e10, 1e12))], G.integers),
    "integers, mixed": ("integers_rv", [whole((0, 9)), whole((10, 1000), (1e10, 1e12))], G.integers),
    "integers, some ranges of one": ("integers_rv", [whole((0, 9)), whole((10, 11), (10, 1000))], G.integers),
    "integers, ranges near 2^32": ("integers_rv", [whole((0, 9)), whole((2e9, 4e9))], G.integers),
    "integers, ranges near 2^63": ("integers_rv", [whole((-6e18, -5e18)), whole((2e18, 4e18))], G.integers),
    "integers, mixed and near 2^32 and 2^63": ("integers_rv", [whole((0, 9)), whole((2e9, 4e9), (2e18, 4e18))], G.integers),
    "geometric, p < 1/3": ("geometric_rv", [within((0.01, 0.33))], G.geometric),
    "geometric, p > 1/3": ("geometric_rv", [within((0.34, 1))], G.geometric),
    "geometric, mixed": ("geometric_rv", [within((0.01, 0.33), (0.34, 1))], G.geometric),
    "binomial, n p < 30": ("binomial_rv", [whole((1, 50)), within((0, 1))], G.binomial),
    "binomial, n p > 30": ("binomial_rv", [whole((400, 2000)), within((0.1, 0.9))], G.binomial),
    "binomial, mixed": ("binomial_rv", [whole((1, 50), (400, 2000)), within((0.1, 0.9))], G.binomial),
    "binomial, n > 1e9": ("binomial_rv", [whole((1e9, 1e12)), within((0.1, 0.9))], G.binomial),
    "poisson, means < 10": ("poisson_rv", [within((0, 10))], G.poisson),
    "poisson, means > 10": ("poisson_rv", [within((10, 900))], G.poisson),
    "poisson, mixed": ("poisson_rv", [within((0, 10), (10, 900))], G.poisson),
    "poisson, means to 1e10": ("poisson_rv", [within((1e7, 1e10))], G.poisson),
    "negative binomial, means < 10": ("negative_binomial_rv", [within((0.5, 5)), within((0.4, 0.9))], G.negative_binomial),
    "negative binomial, n < 1": ("negative_binomial_rv", [within((0.05, 1)), within((0.05, 0.9))], G.negative_binomial),
    "negative binomial, means > 10": ("negative_binomial_rv", [within((5, 50)), within((0.05, 0.2))], G.negative_binomial),
    "negative binomial, mixed": (
        "negative_binomial_rv", [within((0.05, 1), (1, 9), (10, 100)), within((0.05, 0.5), (0.5, 1))], G.negative_binomial),
    "beta-binomial, n < 30": (
        "beta_binomial_rv", [whole((1, 30)), within((0.5, 9)), within((0.5, 9))], lambda g, n, a, b: g.binomial(n, g.beta(a, b))),
    "beta-binomial, n > 400": (
        "beta_binomial_rv", [whole((400, 900)), within((2, 9)), within((2, 9))], lambda g, n, a, b: g.binomial(n, g.beta(a, b))),
    "beta-binomial, mixed": (
        "beta_binomial_rv", [whole((1, 30), (400, 900)), within((0.5, 9)), within((0.5, 9))],
        lambda g, n, a, b: g.binomial(n, g.beta(a, b))),
    "hypergeometric, samples < 10": ("hypergeometric_rv", [whole((5, 50)), whole((5, 50)), whole((1, 10))], G.hypergeometric),
    "hypergeometric, samples > 10": ("hypergeometric_rv", [whole((50, 500)), whole((50, 500)), large_sample], G.hypergeometric),
    "hypergeometric, mixed": (
        "hypergeometric_rv", [whole((15, 50)), whole((15, 50)), whole((0, 10), (10, 20))], G.hypergeometric),
    "hypergeometric, few of 10 and more": (
        "hypergeometric_rv", [whole((15, 50)), whole((15, 50)), whole(*[(0, 10)] * 19, (10, 20))], G.hypergeometric),
    "hypergeometric, few below 10": (
        "hypergeometric_rv", [whole((15, 500)), whole((15, 500)), whole(*[(10, 25)] * 19, (0, 10))], G.hypergeometric),
    "multinomial": ("multinomial_rv", [whole((1, 30)), simplex], G.multinomial),
    "multinomial, n > 400": ("multinomial_rv", [whole((400, 900)), simplex], G.multinomial),
    "dirichlet": ("dirichlet_rv", [lambda g, n: g.uniform(0.5, 5, (n, 3))], lambda g, a: np.array([g.dirichlet(x) for x in a])),
    "categorical": ("categorical_rv", [simplex], None),
}  # fmt: skip


def words(g):
    s = g.bit_generator.state
    low, at, step = 2**64 - 1, s["state"]["state"], s["state"]["inc"]
    return np.array([at >> 64, at & low, step >> 64, step & low, s["has_uint32"], s["uinteger"]], np.uint64)


def text_of(op, arguments):
    names = [f"a{k}" for k in range(len(arguments))]
    header = ", ".join(f"{name}: {v.dtype}[{', '.join(['n', *map(str, v.shape[1:])])}]" for name, v in zip(names, arguments))
    return f"ptg 1\ngraph g(r: rng, {header}) -> (next: rng, x) {{\n  next, x = {op}(r, None, {', '.join(names)})\n}}"


def on_onnx_runtime(text, opset):
    so = ort.SessionOptions()
    so.intra_op_num_threads = 1
    so.log_severity_level = 3
    session = ort.InferenceSession(_lib.compile_text(text, opset=opset).model, so, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    return lambda *values: session.run(None, dict(zip(names, values)))


def in_c(text):
    made = _lib.compile_text(text, code=True, model_name=MODEL, flags=["Wno-unused", "fentry"])
    return load_model(made, ("-O2",)).run


def fastest(f, turns):
    best = float("inf")
    for _ in range(turns):
        start = time.process_time()
        f()
        best = min(best, time.process_time() - start)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--opsets", default="18")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--no-c", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    opsets = [int(o) for o in args.opsets.split(",")]
    wrong = 0
    table = [BEGIN + " | ".join(f"opset {o}" for o in opsets) + " | C | NumPy |", "| --- " * (len(opsets) + 3) + "|"]
    print(*table, sep="\n")
    for name, (op, parameters, numpys) in ROWS.items():
        if args.names and not any(name.startswith(n) for n in args.names):
            continue
        g = np.random.default_rng(1)
        arguments = [p(g, args.draws) for p in parameters]
        text = text_of(op, arguments)
        r = np.random.default_rng(2)
        before = words(r)
        cells, said = [], ""
        runs = [on_onnx_runtime(text, o) for o in opsets] + ([] if args.no_c else [in_c(text)])
        expected = numpys(r, *arguments) if numpys else None
        for run in runs:
            after, x = run(before, *arguments)
            if numpys and not (np.array_equal(after, words(r)) and np.allclose(x, expected, rtol=1e-9)):
                said, wrong = " (WRONG)", 1
            cells.append(fastest(lambda run=run: run(before, *arguments), args.turns) / args.draws * 1e6)
        if args.no_c:
            cells.append(float("nan"))
        cells.append(fastest(lambda: numpys(r, *arguments), 5) / args.draws * 1e6 if numpys else float("nan"))
        table.append(f"| {name}{said} | " + " | ".join("-" if c != c else f"{c:.2f}" for c in cells) + " |")
        print(table[-1], flush=True)
    if args.write and not wrong:
        page = ROOT / "doc" / "random.md"
        lines = page.read_text().splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith(BEGIN))
        behind = next(i for i in range(at, len(lines)) if not lines[i].startswith("|"))
        page.write_text("\n".join([*lines[:at], *table, *lines[behind:]]) + "\n")
    sys.exit(wrong)


if __name__ == "__main__":
    main()
