"""Random numbers, beside NumPy

`streams.py [--draws N | --calls N] [--kind Philox] [--write] [name ...]` compares the draws of each distribution, and
the state afterwards, with those of NumPy, which PyTensor's op calls. Times are nanoseconds of the processor a draw,
on one thread. All draws of a call have the same parameters. ONNX Runtime and NumPy take turns, and the fastest turn
counts. The last column is a call that draws one number, as a step of a loop does, in microseconds; 5 of them are what
a call of ONNX Runtime costs from Python.

`--calls N` instead makes N short calls of each sampler by rejection, for each of the lengths 1, 2, 3 and 100, one
after the other on a stream of PCG64. A model reads some more words than a call needs. So now and then one of the last
words begins a number that ends after them. C makes all N calls. ONNX Runtime, where a call takes a hundred times as
long, makes the 10,000 rarest of them again.
"""

# `make check-random` runs all of it with a million draws of each; --write puts the table into doc/random.md. It fails
# where the state that is left behind differs, where draws differ that NumPy computes without a logarithm or a power, and
# where others are further off than LIMIT.

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytensor
from pytensor.tensor.random import basic

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from ptgc import _lib, words_to_generator  # noqa: E402
from ptgc.native import MODEL, load_model  # noqa: E402

PTGC = os.environ.get("PTGC", ROOT / "build" / "ptgc")
LIMIT = 8  # ULP
# An arccos of numbers near 1; a difference of numbers near 1 for large normal ones; and 1 + c x for normal numbers x of the
# lower tail, of which gamma numbers are made
LOOSE = {"vonmises": 1 << 20, "wald": 64, **dict.fromkeys(["gamma", "invgamma", "gengamma", "t", "beta", "dirichlet"], 256)}
# What is added last, where that is more than the result: the error is in its units in the last place.
TERMS = {"normal": 1, "laplace": 1, "logistic": 1, "gumbel": 1, "cauchy": 1, "halfnormal": 1, "halfcauchy": 1, "t": 1,
         "vonmises": np.pi, "multivariate_normal": 2, "truncexpon": 1, "uniform": 1}
LENGTHS = 1, 2, 3, 100
# Of ROWS those by rejection: as many words are read as it takes
REJECTING = """normal halfnormal lognormal exponential gamma invgamma gengamma t beta wald vonmises integers binomial poisson geometric negative_binomial beta_binomial
hypergeometric dirichlet permutation choice_without_replacement""".split()
ZIGGURATS = "normal", "halfnormal", "lognormal", "exponential"  # have other nodes for a length that stands in the text
AGAIN = 10_000  # of the calls of a sampler and a length, as many are made again on ONNX Runtime
BEGIN = "| distribution | parameters |"
# name, parameters; behind "/" the part of the draws that is made, where NumPy is slow or a Loop makes them
ROWS = """
uniform -1 2.5
normal 0.5 2
halfnormal 0.5 2
lognormal 0.5 0.7
exponential 2
laplace 0.5 2
logistic 0.5 2
gumbel 0.5 2
cauchy 0.5 2
halfcauchy 0.5 2
pareto 3 1.5
triangular 0 1 3
truncexpon 2 0.5 3
weibull 1.5
gamma 2.5 1.5
gamma 0.5 1.5
invgamma 2.5 1.5
gengamma 2.5 1.5 2
t 5 0.5 2
beta 2.5 3.5
beta 0.5 0.4
wald 1.5 2
vonmises 0.5 3
bernoulli 0.3
categorical [0.2,0.3,0.5]
integers 0 1000
integers 0 1099511627776
binomial 10 0.3
binomial 1000 0.4
poisson 3
poisson 300
geometric 0.1
geometric 0.5
negative_binomial 5 0.3 /10
beta_binomial 10 2.5 3.5
hypergeometric 15 20 8
hypergeometric 15 20 10
hypergeometric 1500 2000 1000
multinomial 10 [0.2,0.3,0.5] /3
dirichlet [2.5,3.5,0.5] /3
multivariate_normal [0.5,1] [[2,0.5],[0.5,1]] /2
permutation [PERMUTED] /10
choice_without_replacement [PERMUTED] /100
"""
KINDS = {"PCG64": "rng", "PCG64DXSM": "rng_pcg64dxsm", "Philox": "rng_philox"}
OPS = {"t": basic.t, "gamma": basic._gamma, "beta_binomial": basic.betabinom, "dirichlet": basic.dirichlet}


def words(g):
    s = g.bit_generator.state
    if s["bit_generator"] == "Philox":
        of, rest = s["state"], [s["buffer_pos"], s["has_uint32"], s["uinteger"]]
        return np.array([*of["counter"], *of["key"], *s["buffer"], *rest], np.uint64)
    low, at, step = 2**64 - 1, s["state"]["state"], s["state"]["inc"]
    return np.array([at >> 64, at & low, step >> 64, step & low, s["has_uint32"], s["uinteger"]], np.uint64)


def session(text):
    made = subprocess.run([PTGC, "-", "-o", "-"], input=text.encode(), capture_output=True)
    if made.returncode:
        raise RuntimeError(made.stderr.decode().splitlines()[0])
    so = ort.SessionOptions()
    so.intra_op_num_threads = 1
    so.log_severity_level = 3
    return ort.InferenceSession(made.stdout, so, providers=["CPUExecutionProvider"])


def fastest(functions, turns):
    """The least time of the processor that each takes, in turns"""
    best = [float("inf")] * len(functions)
    for _ in range(turns):
        for k, f in enumerate(functions):
            start = time.process_time()
            f()
            best[k] = min(best[k], time.process_time() - start)
    return best


def oracle(name, params, n):
    if name == "permutation":
        return lambda g: g.permutation(params[0])
    if name == "choice_without_replacement":
        return lambda g: g.choice(params[0], n, replace=False)
    op = OPS.get(name) or getattr(basic, name)
    return lambda g: op.rng_fn(g, *params, (n,))


def text_of(name, params, kind, size="[n]"):
    """A model that draws n numbers"""
    typed = [f"p{i}: {p.dtype}[{', '.join(map(str, p.shape))}]" for i, p in enumerate(params)]
    names = ", ".join(f"p{i}" for i in range(len(params)))
    sig = ""
    if name == "permutation":
        size = "None"
    if name == "choice_without_replacement":
        size, sig, names = "None", '{"(a0),(1)->(s0)"}', f"{names}, {size}"
    return f"""graph g(r: {KINDS[kind]}, n: int64[], {', '.join(typed)}) -> (next, x) {{
      next, x = {name}_rv{sig}(r, {size}, {names})
    }}"""


def ulps(x, y, term):
    """Differences in units in the last place of the larger numbers, or of what was added to get them"""
    return np.abs(x - y) / np.spacing(np.maximum(np.maximum(np.abs(x), np.abs(y)), float(term)))


def far_off(name, x, y, times=1):
    """Are draws that NumPy computes without a logarithm or a power different, or others by more than their limit?"""
    if x.shape != y.shape or x.dtype.kind != "f":
        return not np.array_equal(x, y)
    off = x != y
    return bool((ulps(x[off], y[off], TERMS.get(name, 0)) > LOOSE.get(name, LIMIT) * times).any())


class Calls:
    """A model that makes a call for each generator of an array. How many numbers a call draws is an input of the model, or
    stands in its text."""

    def __init__(self, line, kind, size="[n]"):
        self.line = line
        self.name, _, _, self.params = read(line.partition(" /")[0], 300)
        text = text_of(self.name, self.params, kind, size)
        text = text.replace(f"r: {KINDS[kind]}", f"rs: {KINDS[kind]}[calls]", 1)
        self.compile(text.replace("next, x = ", "next, x = loop (r in rs) -> ([after], [y]) {\n after, y = ", 1) + "}")

    def compile(self, text):
        self.session = session(text)

    def results(self, feeds):
        return self.session.run(None, {i.name: feeds[i.name] for i in self.session.get_inputs()})

    def check(self, before, after, draws, n, times=1):
        """The first of the words before calls that does not give the draws and the words after it, or None"""
        left, x = self.results({"rs": before, "n": np.array(n), **{f"p{i}": p for i, p in enumerate(self.params)}})
        wrong = (left != after).any(axis=1)
        if far_off(self.name, x, draws, times):
            wrong |= [far_off(self.name, v, y, times) for v, y in zip(x, draws)]
        return before[np.argmax(wrong)] if wrong.any() else None

    def calls_of_numpy(self, g, n, calls):
        """So many calls, one behind the other on the stream of g: the words before, between and after them, and the draws"""
        draw, states, draws = oracle(self.name, self.params, n), [words(g)], []
        for _ in range(calls):
            draws.append(draw(g))
            states.append(words(g))
        return np.array(states), np.array(draws)

    def in_turn(self, g, n, calls):
        """Checks so many calls, one behind the other on the stream of g."""
        states, draws = self.calls_of_numpy(g, n, calls)
        return self.check(states[:-1], states[1:], draws, n)

    def apart(self, generators, n, times=256):
        """Checks a call of each generator. Limits are wide: in streams that are made, terms cancel as they never do else."""
        draw, before = oracle(self.name, self.params, n), np.array([words(g) for g in generators])
        draws = np.array([draw(g) for g in generators])
        return self.check(before, np.array([words(g) for g in generators]), draws, n, times)


class CallsInC(Calls):
    """The same as C: the library's text is the same, and a call takes a tenth to a hundredth of the time."""

    def compile(self, text):
        made = _lib.compile_text(text, code=True, model_name=MODEL, math="standard", flags=["Wno-unused", "fentry"])
        self.model = load_model(made, ("-O1",))

    def results(self, feeds):
        return self.model.run(*feeds.values())


def halves_read(before, after):
    """How many halves of words calls have read, by the words of PCG64 before and after each. The low k bits of its state
    have a period of 2^k: those of both states tell the number of steps bit by bit."""
    at, step, factor = before[:, 1].copy(), before[:, 3].copy(), np.array([0x4385DF649FCCF645], np.uint64)  # arrays overflow in silence
    steps, bit = np.zeros_like(at), np.uint64(1)
    while (at != after[:, 1]).any():
        other = ((at ^ after[:, 1]) & bit) != 0
        at[other] = at[other] * factor + step[other]
        steps[other] |= bit
        step *= factor + np.uint64(1)
        factor *= factor
        bit <<= np.uint64(1)
    return 2 * steps.astype(np.int64) + before[:, 4].astype(np.int64) - after[:, 4].astype(np.int64)


def rarest(reads, least, greatest, count):
    """The places of so many calls: a twentieth with the least numbers, as much with the greatest ones, then those that have
    read as many words as few others have"""
    _, kind, times = np.unique(reads, return_inverse=True, return_counts=True)
    part = count // 20
    order = np.concatenate([np.argsort(least)[:part], np.argsort(-greatest)[:part], np.argsort(times[kind], kind="stable")])
    _, first = np.unique(order, return_index=True)
    return order[np.sort(first)[:count]]


def read(line, draws):
    """A line of ROWS: name and parameters, how many draws are made, and the parameters as arrays"""
    line, _, part = line.partition(" /")
    name, *given = line.split()
    n = draws // int(part or 1)
    params = [np.asarray(np.arange(n if name == "permutation" else draws) if p == "[PERMUTED]" else eval(p)) for p in given]
    return name, given, n, params


def row(line, draws, kind):
    """The cells of a row of the table; and is all as promised?"""
    name, given, n, params = read(line, draws)
    run, draw = session(text_of(name, params, kind)), oracle(name, params, n)

    def generator():
        return np.random.Generator(getattr(np.random, kind)(5))

    r = words(generator())
    feeds = {"r": r, "n": np.array(n), **{f"p{i}": p for i, p in enumerate(params)}}
    feeds = {i.name: feeds[i.name] for i in run.get_inputs()}
    after, x = run.run(None, feeds)
    g = generator()
    y = np.asarray(draw(g))
    ours, theirs = fastest([lambda: run.run(None, feeds), lambda: draw(generator())], 3)
    alone = "-"
    if "[PERMUTED]" not in given:
        one = session(text_of(name, params, kind, "[]"))
        one_feed = {i.name: feeds[i.name] for i in one.get_inputs()}
        alone = f"{fastest([lambda: [one.run(None, one_feed) for _ in range(20)]], 5)[0] / 20 * 1e6:.0f}"
    off = x != y
    state = np.array_equal(after, words(g))
    ok = state and not far_off(name, x, y)
    differ = "none"
    if off.any():
        far = ulps(x, y, TERMS.get(name, 0)).max()
        differ = f"1 in {round(off.size / off.sum()):,}, by at most {far:.0f} ULP"
    count = max(y.size, 1)
    cells = [f"`{name}_rv`", " ".join(given).replace("[PERMUTED]", f"{params[0].size:,} items"), differ,
             "yes" if state else "no", f"{ours / count * 1e9:.0f}", f"{theirs / count * 1e9:.0f}", f"{ours / theirs:.1f}", alone]
    return cells, ok


def call_row(line, calls):
    """So many calls of a line of ROWS in C, of each length, and the rarest on ONNX Runtime; is all as promised?"""
    sizes = [("[n]", LENGTHS), *((f"[{n}]", (n,)) for n in LENGTHS if line.split()[0] in ZIGGURATS)]
    for size, lengths in sizes:
        in_c, model = CallsInC(line, "PCG64", size), Calls(line, "PCG64", size)
        for n in lengths:
            wrong = calls_of_length(in_c, model, n, calls)
            if wrong:
                print(f"failed: {line}, size {size}: {wrong}", flush=True)
                return False
    return True


def calls_of_length(in_c, model, n, calls):
    """What is wrong, or None"""
    g, before, reads, least, greatest = np.random.default_rng(5), [], [], [], []
    for done in range(0, calls, 2500):
        states, draws = in_c.calls_of_numpy(g, n, min(calls - done, 2500))
        wrong = in_c.check(states[:-1], states[1:], draws, n)
        if wrong is not None:
            return f"in C, {n} numbers of the words {wrong.tolist()}"
        before.append(states[:-1])
        reads.append(halves_read(states[:-1], states[1:]))
        least.append(draws.reshape(len(draws), -1).min(axis=1))
        greatest.append(draws.reshape(len(draws), -1).max(axis=1))
    before, reads = np.concatenate(before), np.concatenate(reads)
    again = before[rarest(reads, np.concatenate(least), np.concatenate(greatest), AGAIN)]
    wrong = model.apart([words_to_generator(w) for w in again], n, 1)
    if wrong is not None:
        return f"on ONNX Runtime, {n} numbers of the words {wrong.tolist()}"
    print(f"{in_c.line}: {len(before):,} calls of {n} read {reads.min() / 2:g} to {reads.max() / 2:g} words; "
          f"{len(again):,} on ONNX Runtime", flush=True)
    return None


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--draws", type=int, default=1_000_000)
    args.add_argument("--calls", type=int)
    args.add_argument("--kind", choices=KINDS, default="PCG64")
    args.add_argument("--write", action="store_true")
    args.add_argument("names", nargs="*")
    args = args.parse_args()
    pytensor.config.floatX = "float64"
    if args.calls:
        rows = [line for line in ROWS.strip().splitlines() if line.split()[0] in (args.names or REJECTING)]
        with ProcessPoolExecutor() as processes:
            return not all(list(processes.map(partial(call_row, calls=args.calls), rows)))
    failed, lines = 0, [f"{BEGIN} differ from NumPy's | same state | ns a draw | NumPy, ns | ratio | one draw, us |", "| --- " * 8 + "|"]
    for line in ROWS.strip().splitlines():
        if args.names and line.split()[0] not in args.names:
            continue
        try:
            cells, ok = row(line, args.draws, args.kind)
        except (RuntimeError, ort.capi.onnxruntime_pybind11_state.Fail) as e:
            print(f"failed: {line}: {e}")
            failed += 1
            continue
        failed += not ok
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1] + ("" if ok else " failed"), flush=True)
    if args.write:
        page = ROOT / "doc" / "random.md"
        before, _, rest = page.read_text().partition(BEGIN)
        _, _, after = rest.partition("\n\n")
        page.write_text(before + "\n".join(lines) + "\n" + (("\n" + after) if after else ""))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
