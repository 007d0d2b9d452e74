"""How far whole expressions are off, sums included: random expressions of operands of mixed magnitude beside rational arithmetic.

What a text rounds bounds its error: each operation adds the size of its result if that has to be rounded, and a sum the sizes of
all that it adds, whose order is free. At standard no rewrite may add more (doc/accuracy.md)."""

import os
import random
from fractions import Fraction

import numpy as np
import pytest

import ptg
from whole import WHOLE, errors

N, K = 4, 130  # enough elements for what pays for large arrays alone
# Largest error, in units of the bound: half an eps times what is rounded. A sum of K numbers rounds log2(K) times or more.
ALLOWED = 8
fraction = np.frompyfunc(Fraction, 1, 1)


class Value:
    """An exact number for each element, and the sizes of all that was rounded on the way to it"""

    def __init__(self, text, exact, error, dtype):
        self.text, self.exact, self.error, self.dtype = text, exact, error, dtype

    def rounded(self, text, exact, error):
        """The result of one operation, which rounds what the dtype does not hold"""
        inexact = np.array([Fraction(float(self.dtype(float(v)))) != v for v in exact.ravel()]).reshape(exact.shape)
        return Value(text, exact, error + np.where(inexact, abs(exact), Fraction(0)), self.dtype)

    def __add__(self, y):
        return self.rounded(f"({self.text} + {y.text})", self.exact + y.exact, self.error + y.error)

    def __sub__(self, y):
        return self.rounded(f"({self.text} - {y.text})", self.exact - y.exact, self.error + y.error)

    def __mul__(self, y):
        return self.rounded(f"({self.text} * {y.text})", self.exact * y.exact, self.error * abs(y.exact) + abs(self.exact) * y.error)

    def __truediv__(self, y):  # by a number that is exact
        return self.rounded(f"({self.text} / {y.text})", self.exact / y.exact, self.error / abs(y.exact))

    def __neg__(self):
        return Value(f"Neg({self.text})", -self.exact, self.error, self.dtype)

    def sqr(self):
        return self.rounded(f"Sqr({self.text})", self.exact**2, 2 * self.error * abs(self.exact))

    def sum(self, axis):
        """Along an axis, which is kept with length 1"""
        exact, error = self.exact.sum(axis, keepdims=True), (self.error + abs(self.exact)).sum(axis, keepdims=True)
        return self.rounded(f"ExpandDims{{axis={axis}}}(Sum{{axes=[{axis}]}}({self.text}))", exact, error)


def short(rng, shape, dtype):
    """Numbers of mixed magnitude with few bits, of which many a product is exact, near one another or not"""
    x = rng.integers(1, 64, shape) * 2.0 ** rng.integers(-12, 13, shape)
    if rng.random() < 0.5:
        x = 4096 + rng.integers(-3, 4, shape)
    if rng.random() < 0.3:
        x = rng.normal(size=shape)
    return (x * rng.choice([-1, 1] if rng.random() < 0.5 else [1], shape)).astype(dtype)


class Expressions:
    def __init__(self, seed, dtype):
        self.random, self.rng, self.dtype = random.Random(seed), np.random.default_rng(seed), dtype
        shapes = {"x": (N, K), "y": (N, K), "u": (N, 1), "w": (1, K), "s": (1, 1)}
        self.inputs = {name: short(self.rng, shape, dtype) for name, shape in shapes.items()}
        if seed % 2:  # products of x and y are near u, w and s, and exact
            near = {np.float32: 4000, np.float64: 90_000_000}[dtype]
            for name, shape in shapes.items():
                x = self.rng.integers(-3, 4, shape)
                self.inputs[name] = (near + x if name in "xy" else near**2 + 1000.0 * x).astype(dtype)

    def number(self):
        k = self.dtype(self.random.choice([2, -0.5, 3, 0.1, -0.001, 1000, -7, 0.25, 1.5, 1e-5, -1, 2.5, -0.3]))
        text = f"{self.dtype.__name__}({float(k)!r})"
        return Value(text, fraction(np.full((1, 1), float(k))), fraction(np.zeros((1, 1))), self.dtype)

    def leaf(self, names="xxxyyuuws"):
        name = self.random.choice(names)
        x = self.inputs[name].astype("float64")
        return Value(name, fraction(x), fraction(np.zeros(x.shape)), self.dtype)

    def tree(self, depth):
        if depth == 0 or self.random.random() < 0.1:
            return self.leaf()
        kind = self.random.choice("++--****k/nqsccc")
        if kind == "c":
            x, y = self.leaf("xy"), self.leaf("uws")
            x = x.sqr() if self.random.random() < 0.5 else x * self.leaf("xy")
            x = self.random.choice([x, x, self.number() * x, -x])
            return self.random.choice([x + y, x - y, y - x])
        x = self.tree(depth - 1)
        if kind in "+-*":
            y = self.tree(self.random.randrange(depth)) if self.random.random() < 0.7 else self.number()
            x, y = (x, y) if self.random.random() < 0.5 else (y, x)
            return x + y if kind == "+" else x - y if kind == "-" else x * y
        if kind == "k":
            return self.number() * x
        return x / self.number() if kind == "/" else -x if kind == "n" else x.sqr() if kind == "q" else x.sum(self.random.randrange(2))

    def graph(self):
        """Three results, of which each is a sum of a tree along one axis or both"""
        results = []
        for _ in range(3):
            x = self.tree(self.random.randrange(1, 5))
            for axis in self.random.choice([[0], [1], [0, 1]]):
                x = x.sum(axis)
            results.append(x)
        name = self.dtype.__name__
        shapes = ", ".join(f"{n}: {name}[{', '.join(map(str, x.shape))}]" for n, x in self.inputs.items())
        body = "\n".join(f"  r{i} = {r.text} * {name}(1)" for i, r in enumerate(results))
        return f"ptg 1\n\ngraph g({shapes}) -> (r0, r1, r2) {{\n{body}\n}}\n", results


def ratio(got, value, dtype):
    """The largest error in units of the bound"""
    error = abs(fraction(got.astype("float64")) - value.exact)
    tiny = Fraction(float(np.finfo(dtype).smallest_subnormal)) * 1000
    return float((error / (value.error * Fraction(float(np.finfo(dtype).eps)) / 2 + tiny)).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda t: t.__name__)
@pytest.mark.parametrize("math", ["exact", "standard"])
def test_random_expressions(math, dtype):
    for seed in range(int(os.environ.get("PTGC_EXAMPLES", 24))):
        e = Expressions(seed, dtype)
        text, results = e.graph()
        for got, want in zip(ptg.run(text, *e.inputs.values(), math=math, options=("-Wno-unused",)), results):
            assert ratio(got, want, dtype) <= ALLOWED, (seed, want.text)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", WHOLE)
def test_whole_expressions(name, dtype):
    """Those of doc/accuracy.md"""
    assert max(errors(name, dtype, ("exact", "standard"))) <= ALLOWED


BIG = np.finfo("float64").max / 4
F = (4000 + np.arange(1000) % 3).astype("float32")
# name: (text, arguments, the result, what native gives if it is something else)
CANCEL = {
    "squares": ("graph g(f: float32[1000], u: float32[]) -> (z) { z = Sum(f * f - u) }", (F, np.float32(16e6)), 7993665, 8002560),
    "squares, turned": ("graph g(f: float32[1000], u: float32[]) -> (z) { z = Sum(u - Sqr(f)) }", (F, np.float32(16e6)), -7993665, -8002560),
    "an overflow": ("graph g(y: float64[1000], u: float64[]) -> (z) { z = Sum(Exp(y) + u) }", (np.full(1000, 709.0), np.float64(-1e308)), -np.inf, np.nan),
    "a small factor": ("graph g(x: float64[9]) -> (z) { z = Sum(0.01 * x) }", (np.full(9, BIG),), 0.09 * BIG, np.inf),
    "a row of small factors": ("graph g(x: float64[9, 3]) -> (z) { z = Sum{axes=[0]}(x * [0.01, 0.02, 0.1])[0] }", (np.full((9, 3), BIG),), 0.09 * BIG, np.inf),
    "a square of a small product": ("graph g(x: float64[9]) -> (z) { z = Sum(-0.5 * Sqr(0.01 * x)) }", (np.full(9, 1e155),), -4.5e306, -np.inf),
    "a small factor of a square": ("graph g(x: float64[]) -> (z) { z = (0.01 * x) * x }", (np.float64(1e155),), 1e308, np.inf),
    "a large term first": ("graph g(x: float64[]) -> (z) { z = (x + 1e6) + 1e-6 }", (np.float64(-1e6),), 1e-6, 1.00000761449337e-6),
    "a loop that stays where it is": (
        "graph g(a: float64[], b: float64[]) -> (y) { y = loop (i in 0:200, x = 1.0) -> (x) { next x = a * x + b } }",
        (np.float64(-1.5), np.float64(2.5)), 1, 0),
    "a loop with factors for each step": (
        "graph g(a: float64[200], b: float64[]) -> (y) { y = loop (p in a, x = 1.0) -> (x) { next x = p * x + b } }",
        (np.full(200, -1.5), np.float64(2.5)), 1, 0),
    "differences of states": (
        """graph g(e: float64[50], k: float64[], first: float64[], c: float64[]) -> (v) {
  v = loop (p in e, x = first, v = 0.0) -> (v) {
    d = x - c
    h = v - k * d + p
    next v = h * 0.5 + v * 0.5
    next x = x + h * 0.5
  }
}""", (np.zeros(50), np.float64(0.125), np.float64(2.0**50 + 1), np.float64(2.0**50)), -0.1171875, -0.515625),
    "terms of a loop that cancel": (
        "graph g(a: float64[60], b: float64[60]) -> (y) { y = loop (p in a, q in b, x = 0.0) -> (x) { next x = (x + p) + q } }",
        (np.full(60, 1e308), np.full(60, -1e308)), 0, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", CANCEL)
def test_no_larger_terms(name):
    """At standard no rewrite adds larger numbers than the text does; -flarge-terms, which is native's, allows it."""
    text, args, want, native = CANCEL[name]
    for math in ("exact", "standard"):
        np.testing.assert_allclose(ptg.run(text, *args, math=math), want, rtol=1e-13)
    for math, flags in (("native", ()), ("standard", ("-flarge-terms",))):
        np.testing.assert_allclose(ptg.run(text, *args, math=math, options=flags), native, rtol=1e-6)
    np.testing.assert_allclose(ptg.run(text, *args, math="native", options=("-fno-large-terms",)), want, rtol=1e-13)
