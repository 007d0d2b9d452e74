"""Discrete distributions, permutations and choices of the library: the draws are NumPy's, and so is the state left behind."""

import os

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode
from pytensor.graph.replace import vectorize_graph

import ptg
import ptgc  # noqa: F401  registers the mode

MANY = int(os.environ.get("PTGC_DRAWS", 10000))  # `make check-random`: a million
SIZES = ((), (0,), (1,))


def words(g):
    """The state of a PCG64 generator as the model takes it"""
    s = g.bit_generator.state
    halves = [w for n in (s["state"]["state"], s["state"]["inc"]) for w in (n >> 64, n & (2**64 - 1))]
    return np.array([*halves, s["has_uint32"], s["uinteger"]], np.uint64)


def check(fn, params, numpy_draw, shape=(), seed=1, buffered=False, rtol=0, **options):
    """fn{...}(state, shape, params...) against numpy_draw(generator)"""
    params = [np.asarray(p) for p in params]
    g = np.random.default_rng(seed)
    if buffered:
        g.integers(0, 100, dtype=np.uint32)
    types = "".join(f", p{i}: {p.dtype}[{', '.join('1' if n == 1 else '?' for n in p.shape)}]" for i, p in enumerate(params))
    names = "".join(f", p{i}" for i in range(len(params)))
    text = f"""ptg 1
graph draws(s: uint64[6], size: int64[{len(shape)}]{types}) -> (next, x) {{
  next, x = {fn}(s, size + 0{names})
}}
"""
    state, x = ptg.run(text, words(g), np.array(shape, np.int64), *params, **options)
    want = np.asarray(numpy_draw(g))
    assert x.shape == want.shape
    assert x.dtype == want.dtype
    np.testing.assert_allclose(x, want, rtol=rtol, atol=0)
    np.testing.assert_array_equal(state, words(g))


@pytest.mark.parametrize("p", (0.0, 0.2, 0.5, 0.7, 1.0))
def test_bernoulli(p):
    for shape in (*SIZES, (MANY,)):
        check("Bernoulli_rv", [p], lambda g: g.binomial(1, p, shape), shape)


def test_bernoulli_of_a_vector():
    p = np.array([0, 0.2, 0.5, 0.7, 1, 0, 0.3])
    check("Bernoulli_rv", [p], lambda g: g.binomial(1, p, (1000, 7)), (1000, 7))


def categorical(g, p, size):
    u = g.uniform(size=size)
    return np.vectorize(np.searchsorted, otypes=[int], signature="(n),()->()")(p.cumsum(axis=-1), u)


def test_categorical():
    r = np.random.default_rng(5)
    for p in (r.dirichlet(np.ones(5)), r.dirichlet(np.ones(300)), np.array([0.2, 0.3])):
        for shape in (*SIZES, (MANY // 10,)):
            check("Categorical_rv", [p], lambda g: categorical(g, p, shape), shape)
    p = r.dirichlet(np.ones(5), size=7)
    for shape in ((7,), (100, 7), (0, 7)):
        check("Categorical_rv", [p], lambda g: categorical(g, p, shape), shape)
    p = p.astype(np.float32)
    check("Categorical_rv", [p], lambda g: categorical(g, p, (100, 7)), (100, 7))


R = pt.random
BINOMIALS = ((10, 0.3), (10, 0.8), (0, 0.4), (5, 0.0), (5, 1.0), (100, 0.3), (61, 0.5), (100, 0.7), (1000, 0.3), (10**6, 0.3), (10**12, 0.9))


@pytest.mark.parametrize("n, p", BINOMIALS)
def test_binomial(n, p):
    for shape in (*SIZES, (MANY,)):
        check("Binomial_rv", [np.int64(n), p], lambda g: g.binomial(n, p, shape), shape)


def test_binomial_of_vectors():
    n, p = np.array([10, 0, 20, 5]), np.array([0.1, 0.7, 1, 0])
    check("Binomial_rv", [n, p], lambda g: g.binomial(n, p, (100, 4)), (100, 4))
    check("Binomial_rv", [n, 0.3], lambda g: g.binomial(n, 0.3, (4,)), (4,))
    many, half = np.array([300, 1000, 10**6, 200]), np.array([0.3, 0.5, 0.001, 0.7])
    check("Binomial_rv", [many, half], lambda g: g.binomial(many, half, (50, 4)), (50, 4))
    n = np.array([10, 0, 200, 5])
    check("Binomial_rv", [n, p], lambda g: g.binomial(n, p, (10, 4)), (10, 4))


@pytest.mark.parametrize("lam", (0.0, 0.1, 3.0, 9.9, 10.0, 11.5, 50.0, 1e4, 1e9, 1e15, 1e18))
def test_poisson(lam):
    for shape in (*SIZES, (MANY,)):
        check("Poisson_rv", [lam], lambda g: g.poisson(lam, shape), shape)


def test_poisson_of_a_vector():
    lam = np.array([0, 0.3, 5, 12, 1000.0])
    for shape in ((5,), (20, 5), (0, 5)):
        check("Poisson_rv", [lam], lambda g: g.poisson(lam, shape), shape)
    for n in (1, 64, 65, 700):
        for low, high in ((10, 60), (0, 9.9), (0, 30)):
            lam = np.random.default_rng(n).uniform(low, high, n)
            check("Poisson_rv", [lam], lambda g: g.poisson(lam), (n,))


@pytest.mark.parametrize("n, p", ((3.0, 0.5), (0.5, 0.1), (20.0, 0.2), (1.0, 1.0), (1000.0, 0.01)))
def test_negative_binomial(n, p):
    for shape in (*SIZES, (MANY // 10,)):
        check("Negative_binomial_rv", [n, p], lambda g: g.negative_binomial(n, p, shape), shape)


def beta_binomial(g, n, a, b, shape):
    return g.binomial(n, g.beta(a, b, shape), shape)


def test_beta_binomial():
    for n, a, b in ((10, 2.0, 3.0), (10, 0.5, 0.5), (0, 1.0, 1.0), (100, 5.0, 1.0)):
        for shape in (*SIZES, (200,)):
            check("Beta_binomial_rv", [np.int64(n), a, b], lambda g: np.asarray(beta_binomial(g, n, a, b, shape)), shape)


@pytest.mark.parametrize("p", (1.0, 0.5, 1 / 3, 0.3, 1e-9))
def test_geometric(p):
    for shape in (*SIZES, (MANY,)):
        check("Geometric_rv", [p], lambda g: g.geometric(p, shape), shape)


def test_geometric_of_vectors():
    for p in (np.array([0.4, 0.9]), np.array([0.01, 0.2]), np.array([0.1, 0.5])):
        check("Geometric_rv", [p], lambda g: g.geometric(p, (20, 2)), (20, 2))


HYPERGEOMETRICS = ((5, 5, 3), (5, 5, 8), (0, 5, 3), (5, 5, 10), (100, 30, 9), (100, 30, 125), (15, 5, 10), (100, 200, 40),
                   (300, 20, 200), (10**8, 10**8, 1000))


@pytest.mark.parametrize("args", HYPERGEOMETRICS)
def test_hypergeometric(args):
    for shape in (*SIZES, (MANY // 10,)):
        check("Hypergeometric_rv", np.int64(args), lambda g: g.hypergeometric(*args, shape), shape, buffered=len(shape) == 1)


def test_hypergeometric_of_vectors():
    good = np.array([10, 0, 100])
    check("Hypergeometric_rv", [good, np.int64(20), np.int64(12)], lambda g: g.hypergeometric(good, 20, 12, (5, 3)), (5, 3))


MULTINOMIALS = ((10, (0.2, 0.3, 0.5)), (0, (0.2, 0.8)), (100, (0.1, 0.1, 0.2, 0.3, 0.3)), (1, (0.5, 0.25, 0.25, 0)),
                (3, (0, 0, 1)), (7, (1,)), (1000, (0.2, 0.3, 0.5)), (3, (0.2, 0, 0, 0.8)))


@pytest.mark.parametrize("n, p", MULTINOMIALS)
def test_multinomial(n, p):
    p = np.array(p, float)
    for shape in (*SIZES, (MANY // 100,)):
        check("Multinomial_rv", [np.int64(n), p], lambda g: g.multinomial(n, p, shape), shape)


def test_multinomial_of_batches():
    n, p = np.array([3, 100]), np.array([[0.2, 0.8], [0.5, 0.5]])
    check("Multinomial_rv", [n, p], lambda g: g.multinomial(n, p, (4, 2)), (4, 2))
    check("Multinomial_rv", [np.int64(9), p], lambda g: g.multinomial(9, p, (0, 2)), (0, 2))


@pytest.mark.parametrize("buffered", (False, True))
def test_permutation(buffered):
    for n in (0, 1, 2, 3, 17, 64, 65, MANY):
        check("Permutation_rv{core=0}", [np.int64(n)], lambda g: g.permutation(n), buffered=buffered)
    for shape in ((0,), (1,), (300,), (30, 4), (5, 0)):
        x = np.random.default_rng(3).random(shape)
        check(f"Permutation_rv{{core={x.ndim}}}", [x], lambda g: g.permutation(x), buffered=buffered)


@pytest.mark.parametrize("opset", (13, 26))
def test_opsets(opset):
    o = dict(opset=opset)
    check("Bernoulli_rv", [0.3], lambda g: g.binomial(1, 0.3, 100), (100,), **o)
    check("Categorical_rv", [np.full(4, 0.25)], lambda g: categorical(g, np.full(4, 0.25), 100), (100,), **o)
    check("Binomial_rv", [np.int64(100), 0.4], lambda g: g.binomial(100, 0.4, 100), (100,), **o)
    for lam in (3.0, 30.0):
        check("Poisson_rv", [lam], lambda g: g.poisson(lam, 100), (100,), **o)
    check("Geometric_rv", [0.4], lambda g: g.geometric(0.4, 100), (100,), **o)
    check("Hypergeometric_rv", np.int64([5, 6, 4]), lambda g: g.hypergeometric(5, 6, 4, 100), (100,), **o)
    check("Multinomial_rv", [np.int64(5), np.full(4, 0.25)], lambda g: g.multinomial(5, np.full(4, 0.25), 9), (9,), **o)
    check("Choice_rv{core=0}", [np.int64(50), np.array([20])], lambda g: g.choice(50, 20, replace=False), **o)
    check("Permutation_rv{core=0}", [np.int64(100)], lambda g: g.permutation(100), buffered=True, **o)


CHOICES = ((1, 1), (5, 0), (5, 1), (5, 3), (50, 50), (3000, 2900), (10001, 201), (20000, 400), (20000, 401), (MANY, MANY))


@pytest.mark.parametrize("buffered", (False, True))
def test_choice(buffered):
    for n, m in CHOICES:
        o = dict(buffered=buffered)
        many = np.array([m])
        check("Choice_rv{core=0}", [np.int64(n), many], lambda g: g.choice(n, m, replace=False), **o)
        if n < 9999:
            p = np.random.default_rng(7).dirichlet(np.ones(n))
            check("Choice_by_rv{core=0}", [np.int64(n), p, many], lambda g: g.choice(n, m, replace=False, p=p), **o)


def test_choice_of_large_populations():
    """Words of 64 bits for numbers of 2^32 and more"""
    for n, m in ((2**32 - 1, 10), (2**32, 5), (2**32 + 10, 20), (2**40, 1000), (2**62, 50)):
        check("Choice_rv{core=0}", [np.int64(n), np.array([m])], lambda g: g.choice(n, m, replace=False), buffered=True)


@pytest.mark.parametrize("method", ("cholesky", "svd", "eigh"))
def test_multivariate_normal(method):
    r = np.random.default_rng(3)
    a = r.normal(size=(2, 3, 3))
    cov, mean = a @ a.transpose(0, 2, 1), r.normal(size=(4, 2, 3))
    for m, c, shape in ((mean[0, 0], cov[0], ()), (mean, cov, (4, 2)), (mean, cov[0], (4, 2))):
        build = lambda g, m, c: R.multivariate_normal(m, c, size=shape, rng=g, method=method)  # noqa: E731
        in_modes(build, m, c, close=method == "cholesky")
    draws = R.multivariate_normal(mean[0, 0], cov[0], size=(20_000,), rng=pytensor.shared(r), method=method)
    x = pytensor.function([], draws, mode="ONNX")()
    np.testing.assert_allclose(x.mean(0), mean[0, 0], atol=5 * np.sqrt(cov[0].max() / 20_000))
    np.testing.assert_allclose(np.cov(x.T), cov[0], atol=8 * cov[0].max() / np.sqrt(20_000))


DIRICHLETS = ((1, 1, 1), (2, 2), (0.5, 1, 3), (0.05, 0.02, 0.01), (0.05, 0, 0), (0, 0, 0), (3,), (0, 1, 2), range(1, 60))


@pytest.mark.parametrize("a", DIRICHLETS)
def test_dirichlet(a):
    """The words are NumPy's. Powers and logarithms may differ in the last bit."""
    a = np.array(a, float)
    for shape in (*SIZES, (MANY // 20,)):
        check("Dirichlet_rv", [a], lambda g: g.dirichlet(a, shape), shape, rtol=1e-14)


def in_modes(build, *arguments, close=None):
    """Draws and generators of two calls, in ONNX mode and in Python mode"""
    found = []
    for mode in ("ONNX", Mode("py", "fast_run")):
        g = np.random.default_rng(11)
        g.integers(10, size=3, dtype="uint32")
        shared = pytensor.shared(g)
        inputs = [pt.tensor(dtype=np.asarray(a).dtype, shape=(None,) * np.ndim(a)) for a in arguments]
        draw = build(shared, *inputs)
        f = pytensor.function(inputs, draw, updates={shared: draw.owner.outputs[0]}, mode=mode)
        found.append(([f(*arguments) for _ in range(2)], words(shared.get_value())))
    (got, left), (want, left_by_python) = found
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        if close is None:
            np.testing.assert_array_equal(a, b)
        elif close:
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(left, left_by_python)


PV = np.array([0.1, 0.5, 0.9])
DRAWS = [
    (lambda g, p: R.bernoulli(p, size=(4, 3), rng=g), PV),
    (lambda g, p: R.bernoulli(p[0], size=(4, 3), dtype="bool", rng=g), PV),
    (lambda g, n, p: R.binomial(n, p, size=(4, 3), rng=g), np.array([[10], [0], [30], [2]]), PV),
    (lambda g, n: R.binomial(n, 0.5, size=(n, 3), rng=g), np.array(70)),
    (lambda g, m: R.poisson(m, rng=g), np.array([0.5, 20])),
    (lambda g, p: R.categorical(p, size=(3, 2), rng=g), np.array([[0.2, 0.8], [0.7, 0.3]], np.float32)),
    (lambda g, p: R.geometric(p, size=(2, 3), rng=g), PV),
    (lambda g, p: R.betabinom(7, p[0], 2.5, size=(2, 3), rng=g), PV),
    (lambda g, a: R.dirichlet(a, size=(3, 2), rng=g), np.array([[2.0, 3.0, 4.0], [2.0, 2.0, 2.0]])),
    (lambda g, n, p: R.multinomial(n, p, rng=g), np.array([9, 100]), np.array([0.2, 0.5, 0.3])),
    (lambda g, x: R.permutation(x, size=(2, 3), rng=g), np.arange(7)),
    (lambda g, n: R.permutation(n, rng=g), np.array(9)),
    (lambda g, n, m: R.choice(n, size=(m, 2), replace=False, rng=g), np.array(100), np.array(7)),
    (lambda g, x, p: R.choice(x, size=(2, 2), replace=False, p=p, rng=g), np.arange(5), np.array([0.1, 0.4, 0.2, 0.2, 0.1])),
    (lambda g, x: vectorized(R.choice(pt.lvector(), size=3, replace=False, rng=g), x), np.arange(12).reshape(2, 6)),
]
# ONNX Runtime 1.31 fails to load branches and loops of constants; one function each, as a crash hides the others
CONSTANT = [
    lambda g: R.poisson(np.array([1.0, 20.0]), rng=g),
    lambda g: R.binomial(np.array([10, 1000]), 0.3, size=(5, 2), rng=g),
    lambda g: R.multinomial(np.array([1000, 5]), np.array([0.3, 0.7]), rng=g),
    lambda g: R.dirichlet(np.ones(3), size=5, rng=g),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("build", CONSTANT)
def test_constant_parameters(build):
    in_modes(build, close=True)


def vectorized(draw, x):
    """The choice of each row of x"""
    return vectorize_graph(draw, {draw.owner.inputs[2]: x})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("build, arguments", [(b, a) for b, *a in DRAWS])
def test_in_pytensor(build, arguments):
    in_modes(build, *arguments)


def test_bad_parameters():
    for fn, params, message in (
        ("Bernoulli_rv", [np.array([0.5, 1.5])], "Domain error in arguments"),
        ("Binomial_rv", [np.int64(3), np.nan], "p < 0, p > 1 or p is NaN"),
        ("Binomial_rv", [np.int64(-3), 0.5], "n < 0"),
        ("Poisson_rv", [-1.0], "lam < 0 or lam is NaN"),
        ("Poisson_rv", [1e19], "lam value too large"),
    ):
        with pytest.raises(Exception, match=message):
            check(fn, params, lambda g: 0, (2,))
