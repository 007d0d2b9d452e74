"""Lengths and indices that only the run knows, at their ends: C fails with a message where ONNX Runtime does, or gives
the same. Compiled under the address sanitizer, with a workspace and outputs that have no byte more than they need.

    bounds.py [-v] [NAME...]     only cases with NAME in their name
"""

import argparse
import re
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

import numpy as np
import onnxruntime as ort
from native import PTGC, environment
from same import QUIET, differences, models, outcome, to_c

FAR = 2**62  # a number that no array has room for


def f(*shape):
    return np.arange(1, 1 + int(np.prod(shape)), dtype=np.float64).reshape(shape)


def i(*values):
    return np.array(values, np.int64)


def branch(value):
    return "".join(f"    r{k} = {value} * {k}\n" for k in range(70))


INDICES = (0, 1, -1, 2, -2, 3, -3, -4, FAR, -FAR, -(2**63), 2**63 - 1)
LENGTHS = (0, 1, 2, 3)
# name: (parameters, statements, runs); y is the result
CASES = {
    "Expand": (
        "x: float64[?], to: int64[1]", "y = onnx.Expand(x, to)",
        [(f(n), i(k)) for n in LENGTHS for k in (0, 1, 2, 3, -1)],
    ),
    "Expand to more axes": (
        "x: float64[?, 3], to: int64[3]", "y = onnx.Expand(x, to)",
        [(f(n, 3), i(*k)) for n in LENGTHS for k in ((1, 1, 1), (2, n, 3), (2, 2, 3), (2, n, 2), (0, n, 3), (2, 1, 0))],
    ),
    "Alloc of a length that is computed": (
        "x: float64[?], c: bool[?], n: int64[2]", "y = Alloc(x[c], Sum(n))",
        [(f(3), np.array([True, False, True])[:k], i(*n)) for k in (2, 3) for n in ((1, 1), (0, 2), (1, 0), (2, 1), (-1, 1), (FAR, FAR), (FAR, 2))],
    ),
    "Alloc of a length that is chosen": (
        "x: float64[?], n: int64[2]", "y = Alloc(x[::-1], int64(2), Switch(n[0] > 0, n[1], 3))",
        [(f(k), i(*n)) for k in LENGTHS for n in ((1, 0), (1, 1), (1, 2), (0, 2), (1, -1), (1, FAR))],
    ),
    "Alloc of a length that only types need": (  # nothing reads the elements of its shape
        "x: int32[18]", "v = Reshape{ndim=1}(int32([[0, 1, 2, 3, 4, 5, 6, 7, 8], [1, 1, 1, 1, 1, 1, 1, 1, 1]]), int64([-1]))\n"
        "  y = Alloc(int32(0), Max(v) + 1)[v].inc(x)", [(np.arange(18, dtype=np.int32),)],
    ),
    "Unique of a length that is computed": (
        "s: int64[]", "x = ARange{dtype=int64}(s, int64(4), int64(1)) % 2\n  y, a, z, b = Unique{return_index=True, return_inverse=True, return_counts=True, axis=0}(x)",
        [(np.int64(k),) for k in (0, 1, 3, 4, 5)],
    ),
    "Split": (
        "x: float64[?], sizes: int64[2]", "a: float64[?], b: float64[?] = onnx.Split(x, sizes)\n  y = Join{axis=0}(b, a)",
        [(f(n), i(*s)) for n in LENGTHS for s in product((0, 1, 2, -1, FAR), repeat=2)],
    ),
    "Split of PyTensor": (
        "x: float64[?], sizes: int64[2]", "a, b = Split{n=2, axis=0}(x, sizes)\n  y = Join{axis=0}(b, a)",
        [(f(n), i(*s)) for n in LENGTHS for s in product((0, 1, 2, -1, FAR), repeat=2)],
    ),
    "Split of a batch": (
        "x: float64[?, ?], sizes: int64[?, 2]",
        'a, b = Blockwise{core_op=Split{axis=0, n=2}, signature="(i00),(i10)->(o00),(o10)"}(x, sizes)\n  y = Join{axis=1}(b, a)',
        [(f(n, m), i(*s * k).reshape(k, 2)) for n, m, k in product((0, 1, 3), (0, 2, 3), (0, 1, 3)) if k in (1, n)
         for s in product((0, 1, 2, -1, FAR), repeat=2)]
        + [(f(2, 2), i(1, 1, *s).reshape(2, 2)) for s in ((2, 0), (1, 2))],
    ),
    "Gather": (
        "x: float64[?, ?], at: int64[?]", "y = onnx.Gather(x, at)",
        [(f(n, m), i(*a)) for n, m in product(LENGTHS, (0, 2)) for a in ((), *((k,) for k in INDICES), (0, -1))],
    ),
    "GatherElements": (
        "x: float64[?, ?], at: int64[?, ?]", "y = onnx.GatherElements{axis=0}(x, at)",
        [(f(n, 2), i(*a).reshape(-1, w)) for n in LENGTHS for w in (1, 2, 3)
         for a in ((), (0,) * w, *((k,) * w for k in INDICES))],
    ),
    "GatherElements of no elements": (
        "x: float64[?, ?], at: int64[?, ?]", "y = onnx.GatherElements{axis=1}(x, at)",
        [(f(n, m), np.zeros((a, b), np.int64)) for n, m, a, b in product((0, 1, 2), repeat=4)],
    ),
    "GatherND": (
        "x: float64[?, ?], at: int64[?, 2]", "y = onnx.GatherND(x, at)",
        [(f(n, m), i(*a).reshape(-1, 2)) for n, m in product((0, 1, 3), repeat=2)
         for a in ((), *product((0, 1, -1, 3, -4, FAR), repeat=2))],
    ),
    "GatherND in a batch": (
        "x: float64[?, ?], at: int64[?, 1]", "y = onnx.GatherND{batch_dims=1}(x, at)",
        [(f(n, m), np.full((k, 1), a, np.int64)) for n, m, k in product((0, 1, 2, 3), (0, 3), (0, 1, 2, 3))
         if k == n or k > n > 1 for a in (0, -1, 3)],  # of fewer indices ONNX Runtime takes the first rows
    ),
    "GatherND of rows": (
        "x: float64[?, ?], at: int64[?, 1]", "y = onnx.GatherND(x, at)",
        [(f(n, m), i(a).reshape(1, 1)) for n, m in product((0, 1, 3), (0, 3)) for a in INDICES],
    ),
    "ScatterElements": (
        "x: float64[?, ?], at: int64[?, ?], v: float64[?, ?]", "y = onnx.ScatterElements{axis=0}(x, at, v)",
        [(f(n, 2), np.full((a, w), k, np.int64), f(a, w)) for n in LENGTHS for a in (0, 1, 2) for w in (1, 2, 3) for k in INDICES],
    ),
    "ScatterND": (
        "x: float64[?, ?], at: int64[?, 1], v: float64[?, ?]", "y = onnx.ScatterND(x, at, v)",
        [(f(n, m), i(*([k] * a)).reshape(-1, 1), f(a, w)) for n in LENGTHS for m, w in ((0, 0), (2, 2), (2, 1), (2, 3))
         for a in (0, 1, 2) for k in INDICES],
    ),
    "Conv": (
        "x: float32[?, ?, ?], w: float32[?, ?, ?], b: float32[?]", "y = onnx.Conv{pads=[1, 0], strides=[2]}(x, w, b)",
        [tuple(f(*s).astype("f") for s in ((a, c, n), (o, c2, k), (b,)))
         for a, c, n, o, c2, k, b in product((0, 1), (1, 2), (0, 1, 4), (0, 2), (1, 2), (1, 3, 7), (0, 1, 2))
         if n + 1 >= k],  # else ONNX Runtime fails, where C has a sum of no elements
    ),
    "Conv in groups": (
        "x: float32[?, 2*c, ?], w: float32[?, c, ?]", "y = onnx.Conv{group=2}(x, w)",
        [(f(1, 2 * c, n).astype("f"), f(o, c, 2).astype("f")) for c, n, o in product((1, 2), (2, 3), (0, 1, 2, 3, 4))],
    ),
    **{
        f"Pad {mode}": (
            "x: float64[?], pads: int64[2]", f'y = onnx.Pad{{mode="{mode}"}}(x, pads)',
            [(f(n), i(*b)) for n in LENGTHS for b in product((0, 1, 2, 3, 5, -1, -2, -4), repeat=2)
             if n or mode == "constant" or min(b) >= 0],
        )
        for mode in ("constant", "edge", "reflect")
    },
    "Pad far": ("x: float64[?], pads: int64[2]", "y = onnx.Pad(x, pads)", [(f(2), i(*b)) for b in ((FAR, FAR), (-FAR, 1), (-FAR, -FAR))]),
    "Tile": (
        "x: float64[?, ?], times: int64[2]", "y = onnx.Tile(x, times)",
        [(f(n, 2), i(*b)) for n in (0, 1, 2) for b in product((0, 1, 2, -1), repeat=2)],
    ),
    "Reshape": (
        "x: float64[?, ?], to: int64[2]", "y = onnx.Reshape(x, to)",
        [(f(n, m), i(*to)) for n, m in product((0, 1, 2, 3), repeat=2) for to in product((0, 1, 2, 3, -1, -2), repeat=2)],
    ),
    "Reshape that keeps zeros": (
        "x: float64[?, ?], to: int64[2]", "y = onnx.Reshape{allowzero=1}(x, to)",
        [(f(n, m), i(*to)) for n, m in product((0, 1, 2, 3), repeat=2) for to in product((0, 1, 2, 3, -1), repeat=2)
         if set(to) != {0, -1}],  # of which ONNX Runtime makes something, and NumPy nothing
    ),
    "Reshape far": (
        "x: float64[?, ?], to: int64[2]", "y = onnx.ReduceSum{keepdims=0}(onnx.Reshape{allowzero=1}(x, to), [0, 1])",
        [(f(n, m), i(*to)) for n, m in ((0, 3), (1, 1), (2, 2)) for to in product((1, 4, -1, -2, 2**32, FAR, -FAR, -(2**63), 2**63 - 1), repeat=2) if n or -1 not in to],
    ),
    "Slice": (
        "x: float64[?], a: int64[1], b: int64[1]", "y = onnx.Slice(x, a, b)",
        [(f(n), i(a), i(b)) for n in LENGTHS for a in INDICES for b in INDICES],
    ),
    "Slice back": (
        "x: float64[?], a: int64[1], b: int64[1]", "y = onnx.Slice(x, a, b, [0], [-2])",
        [(f(n), i(a), i(b)) for n in LENGTHS for a in INDICES for b in INDICES
         if b != INDICES[-1]],  # which ONNX Runtime takes for a bound that is left out
    ),
    "Range": (
        "a: int64[], b: int64[], c: int64[]", "y = onnx.Range(a, b, c)",
        [tuple(np.int64(k) for k in (a, b, c)) for a, b, c in product((0, 3, -3), (0, 4, -4), (1, 2, -1, -3, 0))],
    ),
    "ConstantOfShape": (
        "n: int64[2]", "y: float32[?, ?] = onnx.ConstantOfShape(n)", [(i(*n),) for n in product((0, 1, 3, -1), repeat=2)],
    ),
    "CumSum": (
        "x: float64[?, ?]", "y = onnx.CumSum(x, 1)", [(f(n, m),) for n, m in product((0, 1, 3), repeat=2)],
    ),
    "TopK": (
        "x: float64[?], k: int64[1]", "y, _ = onnx.TopK(x, k)", [(f(n), i(k)) for n in LENGTHS for k in (0, 1, 2, 4, -1)],
    ),
    "ArgMax": ("x: float64[?, ?]", "y = onnx.ArgMax{axis=1}(x)", [(f(n, m),) for n, m in product((0, 1, 3), repeat=2)]),
    "Compress": (
        "x: float64[?, ?], c: bool[?]", "y = onnx.Compress{axis=0}(x, c)",
        [(f(n, 2), np.ones(k, bool)) for n, k in product((0, 1, 3), (0, 1, 2, 3, 4))],
    ),
    "Trilu": (
        "x: float64[?, ?], k: int64[]", "y = onnx.Trilu(x, k)",
        [(f(n, m), np.int64(k)) for n, m in product((0, 1, 3), repeat=2) for k in (0, 1, -1, 9, -9, FAR)],
    ),
    "MatMul": (
        "x: float64[?, ?], w: float64[?, ?]", "z = onnx.MatMul(x, w)",
        [(f(n, m), f(k, 2)) for n, m, k in product((0, 1, 3), repeat=3)],
    ),
    "Einsum": (
        "x: float64[?, ?], w: float64[?, ?]", 'z = onnx.Einsum{equation="ij,jk->ik"}(x, w)',
        [(f(n, m), f(k, 2)) for n, m, k in product((0, 1, 3), repeat=3) if m == k or 1 not in (m, k)],
    ),
    "Where": (
        "x: float64[?], c: bool[?], w: float64[?]", "z = onnx.Where(c, x, w)",
        [(f(n), np.ones(m, bool), f(k)) for n, m, k in product((0, 1, 3), repeat=3)],
    ),
    "index and slice of PyTensor": (
        "x: float64[?], a: int64[], b: int64[]", "y = x[a:b]\n  z = x[a]", [(f(n), np.int64(a), np.int64(b)) for n in LENGTHS for a in INDICES for b in INDICES],
    ),
    "set at indices": (
        "x: float64[?], at: int64[?], v: float64[?]", "y = x[at].set(v)\n  z = x[at].inc(v)",
        [(f(n), i(*a), f(k)) for n in LENGTHS for a in ((), *((j,) for j in INDICES), (0, -1), (0, 9)) for k in (0, 1, 2)],
    ),
    "ARange of PyTensor": (
        "a: int64[], b: int64[]", "y = ARange(a, b, 1)", [(np.int64(a), np.int64(b)) for a, b in product((0, 3, -3), (0, 4, -4))],
    ),
    "If of 70 results": (
        "c: bool[], x: float64[?]",
        f"{', '.join(f'r{k}' for k in range(70))} = if c {{\n{branch('x[x > 1]')}  }} else {{\n{branch('x[x < 3]')}  }}\n  y = Join{{axis=0}}({', '.join(f'r{k}' for k in range(70))})",
        [(np.bool_(c), f(n)) for c in (0, 1) for n in (0, 1, 5)],
    ),
    "rows that a loop stacks": (
        "n: int64[], x: float64[?]", "s_, y = loop (k in ARange(0, n, 1), s = x[x > 1]) -> (s, [t]) {\n    t = s\n    next s = s + 1\n  }",
        [(np.int64(n), f(m)) for n in (0, 1, 5, -1) for m in (0, 1, 5)],
    ),
    "what a loop carries grows": (
        "n: int64[], x: float64[?]", "y = loop (k in ARange(0, n, 1), s = x) -> (s) {\n    next s = Join{axis=0}(s, x)\n  }",
        [(np.int64(n), f(m)) for n in (0, 1, 5, -1) for m in (0, 1, 5)],
    ),
    "Alloc": (
        "n: int64[], m: int64[]", "y = Alloc(float64(1), n, m)", [(np.int64(a), np.int64(b)) for a, b in product((0, 3, -3), repeat=2)],
    ),
}


def text_of(params, statements):
    results = [r for r in ("y", "z") if re.search(rf"\b{r}\b[^=\n]* = ", statements)]
    return f"ptg 1\ngraph g({params}) -> ({', '.join(results)}) {{\n  {statements}\n}}\n"


def run(name, folder):
    """Prints each run, and behind "wrong:" how it differs."""
    params, statements, runs = CASES[name]
    path = Path(folder, "g.ptg")
    path.write_text(text_of(params, statements))
    code = to_c(path, "--math=exact", "-Wno-unused")
    made = subprocess.run([PTGC, "--strip", "--math=exact", "-Wno-unused", "-o", "-", path], capture_output=True, check=True)
    model, _ = models(code, folder, "address")
    session = ort.InferenceSession(made.stdout, QUIET)
    names, fields = [o.name for o in session.get_outputs()], [f[0] for f in model.outputs if f[4]]
    for arrays in runs:
        own = dict(zip([f[0] for f in model.inputs if f[4]], map(np.asarray, arrays), strict=True))
        try:
            want = dict(zip(names, session.run(None, dict(zip([i.name for i in session.get_inputs()], own.values())))))
        except Exception as e:
            want = e
        known = isinstance(want, dict)
        lengths = {f: want[n].shape if known else (100000,) for f, n in zip(fields, names)}
        said = f"{[a.shape if a.size > 4 or not a.size else a.tolist() for a in own.values()]}"
        print(said, flush=True)  # what crashes is the last line
        for why in differences(model, outcome(model, own, lengths), want, names):
            print(f"wrong: {said}: {why}", flush=True)


def one(name):
    with tempfile.TemporaryDirectory() as folder:
        r = subprocess.run([sys.executable, __file__, "--one", name, folder], capture_output=True, text=True,
                           env=environment("address"))
    found = [s.removeprefix("wrong: ") for s in r.stdout.splitlines() if s.startswith("wrong: ")]
    if r.returncode:
        at = next((s for s in r.stderr.splitlines() if "ERROR: " in s or "runtime error: " in s), r.stderr[-900:])
        found.insert(0, f"{(r.stdout.splitlines() or ['?'])[-1]}: {at}")
    return found


def main():
    args = argparse.ArgumentParser()
    args.add_argument("names", nargs="*")
    args.add_argument("-v", action="store_true")
    args.add_argument("--one", nargs=2)
    a = args.parse_args()
    if a.one:
        run(*a.one)
        return 0
    names = [n for n in CASES if not a.names or any(s in n for s in a.names)]
    failed = 0
    for name in names:
        found = one(name)
        failed += bool(found)
        for line in found if a.v else found[:3]:
            print(f"{name}: {line}")
        if len(found) > 3 and not a.v:
            print(f"{name}: {len(found)} in all")
    print(f"{len(names) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
