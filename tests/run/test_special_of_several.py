"""Special functions of two and more arguments against mpmath and SciPy: accuracy, edges, gradients, opsets."""
import itertools
from dataclasses import dataclass
from typing import Callable

import mpmath as mp
import numpy as np
import ptg
import pytensor
import pytensor.tensor as pt
import pytest
import scipy.special as ss
from harness import Compiled
from test_special import ulps
from truth import betainc, betaincinv, gammainccinv, gammaincinv, ive, kve, ndtri_exp, owens_t
from opsets import SOME_OPSETS

from ptgc._lib import compile_text
from ptgc.native import load_model

inf, nan = np.inf, np.nan


def points(seed, *ranges):
    """Random numbers, 10 to a power where the range has a third item"""
    rng = np.random.default_rng(seed)
    return [10.0 ** rng.uniform(a, b, 60) if more else rng.uniform(a, b, 60) for a, b, *more in ranges]


@dataclass
class Function:
    args: str
    scipy: Callable
    truth: Callable  # of mpmath numbers
    points: list
    bound: float  # units in the last place of float64
    edges: list  # values of each argument, of which all combinations are tried
    skip: Callable = lambda *args: False  # combinations at which SciPy is not right
    rtol: float = 1e-13  # at the edges


def beta_points():
    a, b, u = points(1, (-1.5, 2, 10), (-1.5, 2, 10), (-1.5, 1.5))
    u = u * np.sqrt(1 / a + 1 / b)
    return [a, b, 1 / (1 + np.exp(-u) * b / a)]


PROBABILITIES = [(-1, 2, 10), (0, 1)]


def no_sign(a, b, c, z):
    """SciPy: NaN beside a pole is infinite; polynomials in a pole; infinities beyond a pole have signs"""
    pole = c <= 0 and c == round(c)
    return (z != z or pole) and (a != a or b != b or z != z) or pole and (z > 1 or b == c or max(a, b) < 0 or z < 0 and min(a, b) < 0) or b < c == -1.5 == a and z == 1


def at_zero(k, x):
    return k == 0 and not 0 <= x <= 1  # SciPy is not NaN at -0


SIZES = [0, -0.0, 1, 0.5, 3, -1, inf, -inf, nan, 1e10]
PARTS = [0, -0.0, 1, -1, 2, nan, inf, -inf, 0.3, 0.999]
PARAMETERS = [0, -0.0, 1, -1, 2, -3, 2.5, -1.5]
REALS = [0, -0.0, 1, 0.5, 3, -1, -0.5, -3, inf, -inf, nan, 30, 60, 1e-300]
FUNCTIONS = {
    "Betainc": Function("abx", ss.betainc, betainc, beta_points(), 60, [SIZES, SIZES, PARTS]),
    "Gammaincinv": Function("kx", ss.gammaincinv, gammaincinv, points(2, *PROBABILITIES), 40, [SIZES, PARTS], at_zero),
    "Gammainccinv": Function("kx", ss.gammainccinv, gammainccinv, points(3, *PROBABILITIES), 40, [SIZES, PARTS], at_zero),
    # SciPy has values of infinite a and b for a few
    "Betaincinv": Function(
        "abp", ss.betaincinv, betaincinv, points(4, PROBABILITIES[0], *PROBABILITIES), 40, [SIZES, SIZES, PARTS],
        lambda a, b, p: max(a, b) == inf and min(a, b) == 1,
    ),
    "Owens_t": Function("ha", ss.owens_t, owens_t, points(5, (-4, 4), (-3, 2, 10)), 60, [[*REALS[:-3], 40, 1e-300]] * 2),
    "Ndtri_exp": Function("x", ss.ndtri_exp, ndtri_exp, [-points(6, (-4, 3, 10))[0]], 6, [[*PARTS, -1, -700, -1e308, -1e-300, -5e-324]]),
    "Kve": Function("vx", ss.kve, kve, points(7, (-12, 12), (-2, 2, 10)), 100, [REALS, REALS], lambda v, x: v != v, rtol=1e-12),
    "Ive": Function(
        "vx", ss.ive, ive, points(8, (0, 12), (-2, 2, 10)), 60, [REALS, REALS],
        lambda v, x: v < -1 and abs(x) == 1e-300, rtol=1e-12,
    ),
    "Hyp2f1": Function(
        "abcz", ss.hyp2f1, mp.hyp2f1, points(10, (-3, 5), (-3, 5), (0.1, 8), (-4, 1)), 200,
        [PARAMETERS, PARAMETERS, [*PARAMETERS, 0.25], [0, -0.0, 0.5, -0.5, -3, 1, -1, 2, 0.9, nan]], no_sign, rtol=1e-10,
    ),
    # of infinite orders SciPy has a few values
    "Jv": Function(
        "vx", ss.jv, mp.besselj, points(9, (-12, 12), (-2, 1.5, 10)), 300, [REALS, REALS], lambda v, x: abs(v) == inf, rtol=1e-12
    ),
}


def graph(op, dtype, dims="n"):
    args = FUNCTIONS[op].args
    return f"graph g({', '.join(f'{v}: {dtype}[{dims}]' for v in args)}) -> (y) {{\n  y = {op}({', '.join(args)})\n}}\n"


@pytest.mark.parametrize("op", FUNCTIONS)
def test_accuracy(op):
    f = FUNCTIONS[op]
    with mp.workprec(200):
        want = [f.truth(*(mp.mpf(float(v)) for v in p)) for p in zip(*f.points)]
        e = ulps(ptg.run(graph(op, "float64"), *f.points), want, "float64")
    i = int(np.argmax(e))
    assert e[i] <= f.bound, (op, [float(v[i]) for v in f.points], e[i])
    single = [v.astype(np.float32) for v in f.points]
    wide = f.scipy(*(v.astype(float) for v in single))
    for math in ("exact", "standard"):
        got = ptg.run(graph(op, "float32"), *single, math=math)
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, wide, rtol=2e-7, atol=1e-38)


def as_c(text, *args):
    return load_model(compile_text(text, code=True, model_name="model", flags=["fentry"])).run(*args)[0]


@pytest.mark.parametrize("run", [ptg.run, as_c])
@pytest.mark.parametrize("op", FUNCTIONS)
def test_edges(op, run):
    f = FUNCTIONS[op]
    args = np.array([c for c in itertools.product(*f.edges) if not f.skip(*c)], float).T
    with np.errstate(all="ignore"):
        want = f.scipy(*args)
    got = run(graph(op, "float64"), *args)
    bad = ~np.isclose(got, want, rtol=f.rtol, atol=1e-300, equal_nan=True)
    assert not bad.any(), [(op, *args[:, i].tolist(), got[i], want[i]) for i in np.flatnonzero(bad)[:10]]


@pytest.mark.parametrize("op", FUNCTIONS)
def test_opsets(op):
    p = [v[:9] for v in FUNCTIONS[op].points]
    a, b, c = (ptg.run(graph(op, "float64"), *p, opset=opset) for opset in SOME_OPSETS)
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(c, b)


@pytest.mark.parametrize("op", FUNCTIONS)
def test_as_pytensor(op):
    """Of arrays and numbers that are broadcast, of integers, and of no elements"""
    f = FUNCTIONS[op]
    types = [pt.matrix, pt.row, pt.scalar, pt.vector][: len(f.args)]
    for dtypes in (("float64",) * 4, ("float16", "int8", "float32", "float32"), ("int64", "float32", "bool", "uint8")):
        x = [t(dtype=d) for t, d in zip(types, dtypes)]
        c = Compiled(x, [getattr(pt, op.lower())(*x)], opsets=(18,), math="standard")
        for n in (0, 1, 5):
            shapes = ((3, n), (1, n), (), (n,))
            p = [np.resize(v if d[0] == "f" else np.round(v), s).astype(d) for v, d, s in zip(f.points, dtypes, shapes)]
            c.run(*p, ulp={"float16": 1, "float32": 600, "float64": 600})  # as far off as SciPy is


def gradients(op, wrt, rtol=1e-11):
    """Compares the gradient that PyTensor makes of the arguments `wrt`, in Python and here."""
    f = FUNCTIONS[op]
    x = [pt.vector(v) for v in f.args]
    grads = pytensor.grad(getattr(pt, op.lower())(*x).sum(), [x[i] for i in wrt])
    c = Compiled(x, grads, opsets=(18,), math="standard")
    p = [v[:40] for v in f.points]
    want = c.python(*p)
    for got, w in zip(c.sessions[18].run(None, c.feed(p)), want):
        np.testing.assert_allclose(got, w, rtol=rtol, atol=1e-290)


GRADIENTS = {"Betainc": [2], "Betaincinv": [2], "Gammaincinv": [1], "Gammainccinv": [1], "Owens_t": [0, 1], "Ndtri_exp": [0], "Kve": [1], "Ive": [1], "Jv": [1], "Hyp2f1": [3]}  # arguments whose gradients need no ScalarLoop


@pytest.mark.parametrize("op", GRADIENTS)
def test_gradient(op):
    gradients(op, GRADIENTS[op], 1e-9 if op == "Hyp2f1" else 1e-11)  # as far off as SciPy is


def test_jv_by_absolute_error():
    """Near the order, far beyond, and below: in units of the size of the wave where x is larger than the order"""
    rng = np.random.default_rng(10)
    v, a, n = 10 ** rng.uniform(-1, 2.7, 60), rng.choice([-1, 1], 60), rng.integers(0, 5, 60)
    v = np.r_[v, v, n, -n, -np.minimum(v, 40)]
    x = np.r_[v[:60] * (1 + a * 10 ** rng.uniform(-9, -0.1, 60)), v[:60] * rng.uniform(0.1, 4, 60), 10 ** rng.uniform(0, 4, 180)]
    with mp.workprec(200):
        want = np.array([float(mp.besselj(*p, maxprec=100000)) for p in zip(v, x)])
    wave = np.sqrt(2 / np.pi / (np.sqrt(abs(x - v) * abs(x + v)) + x ** (2 / 3)))
    size = np.where(x > abs(v), np.maximum(wave, abs(want)), abs(want))
    e = abs(ptg.run(graph("Jv", "float64"), v, x) - want) / size
    i = int(np.argmax(e))
    assert e[i] < 1e-13, (v[i], x[i], want[i], e[i])


def test_jv_near_negative_integers():
    """There J is a small part of Y and a small J."""
    v, x = np.meshgrid([-15 + 7e-15, -12 + 1e-13, -19 - 1e-9, -2 + 1e-6, -60 + 1e-10], [0.01, 1.9, 6.6])
    with mp.workprec(400):
        want = [float(mp.besselj(*p)) for p in zip(v.ravel(), x.ravel())]
    np.testing.assert_allclose(ptg.run(graph("Jv", "float64"), v.ravel(), x.ravel()), want, rtol=1e-11)


def test_gradients_of_j0_and_j1():
    """The derivative of J1 has Jv."""
    x = pt.vector("x")
    first = pytensor.grad(pt.j1(x).sum(), x)
    c = Compiled([x], [first, pytensor.grad(pytensor.grad(pt.j0(x).sum(), x).sum(), x)])
    for p in ([], [0.0], [-3.5, 0.1, 12, 100, 1e4, -1e-5]):
        for session in c.sessions.values():
            got = session.run(None, c.feed([np.array(p)]))
            for g, w in zip(got, (1, -1)):
                np.testing.assert_allclose(g, w * ss.jvp(1, np.array(p)), rtol=1e-12, atol=1e-16)
