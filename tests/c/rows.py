"""Products of one matrix that C computes in one loop over blocks of rows: the bits are those of two loops.

In: texts in which X and Z are one matrix, as C under the sanitizers of native.py. A second form of each has Z as an input
of its own: then ptgc cannot know that they are one, and there is no such loop.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from native import Native, compiled, to_c

ROWS = 0, 1, 7, 255, 256, 257, 512, 1000
COLUMNS = 0, 1, 3, 16, 41, 300
LOOP = " += PTGC_BLOCK) {"
# name, inputs, outputs, statements, how many such loops
CASES = [
    ("regression", "b: float64[k], y: float64[n], s: float64[]", "p, db, ds",
     "r = (Dot(X, b) - y) / s\n  p = -0.5 * Sum(Sqr(r))\n  db = -Dot(Z.T, r / s)\n  ds = Sum(Sqr(r)) / s", 1),
    ("product alone", "b: float64[k]", "db", "db = Dot(Z.T, Dot(X, b))", 1),
    ("logistic", "b: float64[k], y: bool[n]", "p, db",
     "e = Dot(X, b)\n  p = Sum(Switch(y, -Softplus(-e), -Softplus(e)))\n  db = Dot(Z.T, Cast{dtype=\"float64\"}(y) - Sigmoid(e))", 1),
    ("two predictors", "b: float64[k], c: float64[k], y: float64[n]", "db, dc",
     "m = Dot(X, b)\n  s = Exp(0.01 * Dot(X, c))\n  z = (y - m) / s\n  db = Dot(Z.T, z / s)\n  dc = Dot(Z.T, z * z - 1)", 1),
    ("float32", "b: float32[k], y: float32[n]", "db", "r = Dot(X, b) - y\n  db = Dot(Z.T, Switch(r > 0, r, Exp(r)))", 1),
    ("rows as results", "b: float64[k], y: float64[n]", "r, q, db, t",
     "r = Dot(X, b) - y\n  q = r > 0.1\n  db = Dot(Z.T, Switch(q, r, 0.5 * r))\n  t = Sum(r) + Sum(db)", 1),
    ("columns", "c: float64[n], y: float64[k]", "dc", "dc = Dot(Z, Tanh(Dot(X.T, c) - y))", 1),
    ("what is between", "b: float64[k], y: float64[n], c: float64[n]", "db, m, u",
     "e = Dot(X, b)\n  m = Sum(e * 2 + Sum(c))\n  w = Cumsum{axis=0}(c)\n  u = SortOp{axis=0}(e - w)\n  db = Dot(Z.T, (e - y) * w)", 1),
    ("a check of what is between", "b: float64[k], y: float64[n]", "db",
     "e = Dot(X, b)\n  db = Dot(Z.T, Assert{msg=\"no number\"}(e - y, All(e < 1e300)))", 1),
    ("a mean of all rows", "b: float64[k]", "db", "e = Dot(X, b)\n  db = Dot(Z.T, e - Mean(e))", 0),
    ("two gradients", "b: float64[k], y: float64[n]", "db, dc",
     "db = Dot(Z.T, Dot(X, b) - y)\n  dc = Dot(Z.T, Exp(0.001 * Dot(X, db)))", 2),
    ("in a loop", "b: float64[k], y: float64[n]", "c",
     "c = Scan{fn=step, n_sit_sot=1}(3, b[None], X, Z, y)[-1]", 1),
]
STATIC = "static lengths", "b: float64[64], y: float64[1000], j: int16[1000]", "p, db", (
    "e = Dot(X, b)\n  q = e > y\n  g = Cast{dtype=\"float32\"}(e)\n  h = Switch(q, Exp(-Abs(e)), y)\n"
    "  p = Sum(h) + Sum(Cast{dtype=\"float64\"}(g)) + Sum(Switch(q, y, 1))\n  db = Dot(Z.T, Switch(q, h * e, h - j))")
STATIC_CASES = [(*STATIC, "1000, 64", 1), ("few rows", STATIC[1].replace("1000", "256"), *STATIC[2:], "256, 64", 0)]


FN = """fn step(b: float64[k], X: float64[n, k], Z: float64[n, k], y: float64[n]) -> (next: float64[k]) {
  next = b - 0.0001 * Dot(Z.T, Dot(X, b) - y)
}
"""


def loops_of(code):
    return code.count(LOOP) - code.count("k" + LOOP)  # that of product.h


def model_of(text, loops, folder):
    """None: it has not so many loops"""
    path = Path(folder, "g.ptg")
    path.write_text("ptg 1\n" + text)
    code = to_c(path, "-Wno-unused", "--math=exact")
    if loops_of(code) != loops:
        print(f"{loops_of(code)} loops over rows, not {loops}:\n{text}")
        return None
    return Native(code, compiled(code, folder=folder))


def both(case, folder):
    """The model with one matrix, and that with two; None: not as many loops as the case says"""
    _, inputs, outputs, statements, dims, loops = case
    dtype = "float32" if "float32[k]" in inputs else "float64"
    text = f"graph g(X: {dtype}[{dims}], Z: {dtype}[{dims}], {inputs}) -> ({outputs}) {{\n  {statements}\n}}\n"
    text = FN * ("fn=step" in statements) + text
    one = text.replace(f"Z: {dtype}[{dims}], ", "").replace("X, Z, y)", "X, y)").replace("Z", "X")
    made = model_of(one, loops, folder), model_of(text, 0, folder)
    return made if all(made) else None


def constants(folder):
    """How many of three checks hold: the matrix and its transpose are two constants, as PyTensor makes them of one."""
    rng = np.random.default_rng(1)
    x, b, y = rng.normal(size=(1000, 64)), rng.normal(size=64), rng.normal(size=1000)
    other = x.T.copy()
    other[-1, -1] += 1
    for name, v in ("x", x), ("z", x.T.copy()), ("other", other):
        np.save(Path(folder, f"{name}.npy"), v)
    text = 'graph g(X: float64[1000, 64], b: float64[64], y: float64[1000]) -> (db) {\n  db = Dot(file("z.npy"), Dot(X, b) - y)\n}\n'
    one = text.replace("X: float64[1000, 64], ", "").replace("X", 'file("x.npy")')
    models = model_of(one, 1, folder), model_of(text, 0, folder)
    passed = model_of(one.replace("z.npy", "other.npy"), 0, folder) is not None
    if all(models):
        got, want = (m({"b": b, "y": y, "X": x}, {"db": (64,)})["db"] for m in models)
        passed += np.array_equal(got.view(np.uint64), want.view(np.uint64))
        Path(folder, "g.ptg").write_text("ptg 1\n" + one)
        passed += to_c(Path(folder, "g.ptg")).count("static const double") == 1
    return passed


def same(models, rows, columns):
    rng, names = np.random.default_rng(rows + columns), {"n": rows, "k": columns}
    arrays = {}
    for name, _, _, _, dtype, dims in models[1].inputs:
        if dtype:
            shape = [names[d] if d in names else int(d) for d in dims]
            v = rng.normal(size=shape)
            arrays[name] = (v > 0) if dtype == "bool" else (v * 3).astype(dtype)
    arrays["Z"] = arrays["X"]
    lengths = {name: [names[d] if d in names else int(d) for d in dims] for name, _, _, _, dtype, dims in models[1].outputs if dtype}
    got, want = (m(arrays, lengths) for m in models)
    return all(np.array_equal(got[k].ravel().view(np.uint8), want[k].ravel().view(np.uint8)) for k in want)


def main(names):
    passed = failed = 0
    cases = [(*c[:4], "n, k", c[4]) for c in CASES] + STATIC_CASES
    for case in cases:
        if names and case[0] not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            models = both(case, folder)
            sizes = [(n, k) for n in ROWS for k in COLUMNS] if case[4] == "n, k" else [(0, 0)]
            for size in sizes:
                right = models is not None and same(models, *size)
                passed, failed = passed + right, failed + (not right)
                if models and not right:
                    print(f"{case[0]}: {size}: other bits")
    if not names:
        with tempfile.TemporaryDirectory() as folder:
            right = constants(folder)
        passed, failed = passed + right, failed + 3 - right
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
