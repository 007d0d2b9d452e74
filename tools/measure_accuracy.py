#!/usr/bin/env python3
"""Measures how far elementwise functions are off at each level of --math, and writes the table of
doc/accuracy.md into it: what stands between its comments "measured", "several", "whole" and "portable" is replaced.

    measure_accuracy.py                        one in 61 of all float32 numbers: half an hour
    measure_accuracy.py --step 9973 Tanh Log   prints the rows of some functions, measured coarsely
    measure_accuracy.py --several [Jv ...]     functions of two and more arguments alone: some minutes
    measure_accuracy.py --whole                whole expressions that cancel alone: a minute
    measure_accuracy.py --portable             what --target=portable computes in float32 alone: seconds

float32 and float16 are compared with NumPy and SciPy in float64, float64 with mpmath.
"""
import argparse
import sys
from pathlib import Path

import mpmath as mp
import numpy as np

TOP = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOP / "tests" / "run"))
sys.path.insert(0, str(TOP / "python"))

import ptg  # noqa: E402
import test_special  # noqa: E402
import whole  # noqa: E402
from truth import FUNCTIONS, PORTABLE, SEVERAL, TWO, errors, graph, portable_errors, truth  # noqa: E402

LEVELS = ("exact", "standard", "native")
LEAST = 1e-36  # smaller float32 results do not count
ENOUGH = 8  # where more units are off, the absolute error is shown
BLOCK = 1 << 20
PAIRS = 1 << 23  # of random arguments
POINTS = 400  # of functions of several arguments, in float64


def blocks(op, dtype, step):
    """Lists of arguments: one in `step` of all float32 numbers, or all float16 numbers; or random pairs."""
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}")
    _, low, high = FUNCTIONS[op]
    if op in TWO:
        rng = np.random.default_rng(0)
        for start in range(0, PAIRS * 61 // step, BLOCK):
            args = [rng.integers(0, np.iinfo(bits).max, BLOCK, bits).view(dtype) for _ in "xy"]
            if start % (2 * BLOCK):  # of like size
                args = [(rng.normal(size=BLOCK) * rng.choice([1, 10, 100], BLOCK)).astype(dtype) for _ in "xy"]
            keep = (args[0] != 0) & (args[1] != 0)  # whose signs are not promised
            yield [x[keep] for x in args]
        return
    step = step if dtype == "float32" else 1
    for start in range(0, 1 << (8 * bits.itemsize), BLOCK * step):
        end = min(1 << (8 * bits.itemsize), start + BLOCK * step)
        x = np.arange(start, end, step, dtype=np.uint64).astype(bits).view(dtype)
        with np.errstate(invalid="ignore"):  # signalling NaN
            wide = x.astype(np.float64)
        x = x[((wide >= low) & (wide <= high)) | np.isnan(x)]
        if len(x):
            yield [x]


class Worst:
    def __init__(self):
        self.ulp = self.absolute = 0.0
        self.at = self.at_absolute = self.wrong = None

    def add(self, args, got, want, dtype):
        ulp, absolute = errors(got, want, dtype)
        place = lambda i: ", ".join(f"{float(a[i]):.6g}" for a in args)  # noqa: E731
        wrong = np.isinf(ulp)
        if wrong.any() and self.wrong is None:
            self.wrong = f"{float(got[wrong.argmax()])} at {place(int(wrong.argmax()))}"
        skip = wrong | (np.abs(want) < LEAST) if dtype != "float16" else wrong
        ulp[skip] = absolute[skip] = 0
        absolute[ulp <= ENOUGH] = 0
        for name, error in (("ulp", ulp), ("absolute", absolute)):
            i = int(error.argmax())
            if error[i] > getattr(self, name):
                setattr(self, name, float(error[i]))
                setattr(self, "at" if name == "ulp" else "at_absolute", place(i))

    def __str__(self):
        text = f"{self.ulp:.2g} at {self.at}" if self.ulp else "0"
        if self.ulp > ENOUGH:
            text = f"{self.absolute:.2g} absolute at {self.at_absolute}"
        return text + (f"; {self.wrong}" if self.wrong else "")


def models(op, dtype):
    """level -> model, and the first level whose model is the same"""
    made = {level: ptg.compile(graph(op, dtype), math=level) for level in LEVELS}
    return made, {level: next(a for a in LEVELS if made[a] == made[level]) for level in LEVELS}


def measure(op, dtype, step):
    made, same = models(op, dtype)
    worst = {level: Worst() for level in set(same.values())}
    if dtype == "float64":
        x = test_special.OPS[op][2]
        want = test_special.reference(op, x)
        for level, w in worst.items():
            e = test_special.ulps(ptg.run(made[level], x), want, dtype)
            i = int(np.argmax(e))
            w.ulp, w.at = float(e[i]), f"{x[i]:.6g}"
            if w.ulp > ENOUGH:
                absolute = np.array([float(abs(g - v)) for g, v in zip(ptg.run(made[level], x), want)])
                absolute[e <= ENOUGH] = 0
                w.absolute, w.at_absolute = float(absolute.max()), f"{x[absolute.argmax()]:.6g}"
    else:
        for args in blocks(op, dtype, step):
            want = truth(op, *args)
            for level, w in worst.items():
                w.add(args, ptg.run(made[level], *args), want, dtype)
    return [str(worst[same[level]]) for level in LEVELS]


def units(op, scipy, true, args):
    """Half of the errors, 99 % of them and the largest one in units in the last place, here and in SciPy"""
    names = "abcd"[: len(args)]
    text = f"graph g({', '.join(f'{v}: float64[n]' for v in names)}) -> (r) {{ r = {op}({', '.join(names)}) }}"
    args = [np.asarray(a, float) for a in args]
    with mp.workprec(140):
        want = [true(*map(mp.mpf, map(float, p))) for p in zip(*args)]
        seen = np.array([1e-290 < abs(w) < 1e290 for w in want])  # where float64 has all of its digits
        cells = []
        for got in (ptg.run(text, *args, math="standard"), scipy and scipy(*args)):
            if got is None:
                cells.append("–")
                continue
            e = [float(abs(mp.mpf(float(g)) - w)) / np.spacing(abs(float(w))) for g, w, s in zip(got, want, seen) if s]
            e = np.nan_to_num(np.array(e), nan=np.inf)
            cells.append(", ".join("NaN" if v > 1e300 else f"{v:.2g}" if v < 1e4 else f"{v:.0e}" for v in np.quantile(e, [0.5, 0.99, 1], method="lower")))
    return " | ".join(cells)


def measure_several(ops):
    rows = ["| op | arguments | here | SciPy |", "| --- | --- | --- | --- |"]
    for op in ops or SEVERAL:
        scipy, true, ranges = SEVERAL[op]
        for k, (where, draw) in enumerate(ranges.items()):
            rows.append(f"| {op} | {where} | {units(op, scipy, true, draw(np.random.default_rng(k), POINTS))} |")
            print(rows[-1], flush=True)
    return rows


def measure_portable():
    rows = ["| op | arguments | units in the last place | absolute, or relative if that is less |", "| --- | --- | --- | --- |"]
    for op, (_, ranges) in PORTABLE.items():
        for where in ranges:
            ulp, least = portable_errors(op, where, 50000)
            cells = [f"{v:.2g}" if v < 1e4 else f"{v:.0e}" for v in np.quantile(ulp, [0.5, 0.99, 1], method="lower")]
            rows.append(f"| {op} | {where} | {', '.join(cells)} | {least.max():.1e} |")
    return rows


def measure_whole():
    rows = ["| expression | dtype | PyTensor | exact | standard | native |", "| --- | --- | --- | --- | --- | --- |"]
    for name in whole.WHOLE:
        for dtype in ("float32", "float64"):
            rows.append(f"| `{name}` | {dtype} | " + " | ".join(f"{e:.2g}" for e in whole.errors(name, dtype, LEVELS)) + " |")
            print(rows[-1], flush=True)
    return rows


def write(mark, rows):
    """Puts rows between the comment `mark` of doc/accuracy.md and the comment "end" after that."""
    page = TOP / "doc" / "accuracy.md"
    begin, end = f"<!-- {mark} -->\n", "<!-- end -->\n"
    before, _, rest = page.read_text().partition(begin)
    page.write_text(before + begin + "\n" + "\n".join(rows) + "\n\n" + end + rest.partition(end)[2])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--step", type=int, default=61)
    p.add_argument("--several", action="store_true")
    p.add_argument("--portable", action="store_true")
    p.add_argument("--whole", action="store_true")
    p.add_argument("ops", nargs="*")
    a = p.parse_args()
    if a.whole or not a.ops:
        write("whole", measure_whole())
        if a.whole:
            return
    if a.portable or not a.ops:
        write("portable", measure_portable())
        if a.portable:
            return
    if a.several or not a.ops:
        rows = measure_several(a.ops)
        if not a.ops:
            write("several", rows)
        if a.several:
            return
    rows = ["| op | dtype | exact | standard | native |", "| --- | --- | --- | --- | --- |"]
    for op in a.ops or FUNCTIONS:
        for dtype in ("float16", "float32", "float64"):
            if dtype == "float64" and op not in test_special.OPS:
                continue
            rows.append(f"| {op} | {dtype} | " + " | ".join(measure(op, dtype, a.step)) + " |")
            print(rows[-1], flush=True)
    if a.ops:
        return
    write("measured", rows)


if __name__ == "__main__":
    main()
