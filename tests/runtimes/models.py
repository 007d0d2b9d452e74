"""The models of the suite: graphs of PyTensor, and the examples of this repository.

GRAPHS: name -> (inputs, outputs, feeds). A feed has a value for each input; one that PyTensor refuses must fail in
the runtime too. EXAMPLES: name -> (.ptg file, feeds by the inputs' names).
"""

from pathlib import Path

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.conditional.op import ifelse
from pytensor.scan.utils import until
from pytensor.tensor.fft import irfft, rfft
from pytensor.tensor.random.op import default_rng
from pytensor.tensor.signal import convolve1d, convolve2d

ROOT = Path(__file__).resolve().parents[2]
GRAPHS = {}


def rng(seed=0):
    return np.random.default_rng(seed)


def normal(*shape, dtype="float64", seed=0):
    return rng(seed).normal(size=shape).astype(dtype)


def definite(n, dtype="float64"):
    a = normal(n, n, seed=n)
    return (a @ a.T + n * np.eye(n)).astype(dtype)


def model(f):
    """Enters the graph that f builds, under f's name."""
    GRAPHS[f.__name__.replace("_", "-")] = f
    return f


def var(name, dtype, *shape):
    return pt.tensor(name, dtype=dtype, shape=shape)


# --- elementwise, dtypes ---


@model
def dense():
    """a layer of a network, float32, any number of rows"""
    x = var("x", "float32", None, 4)
    w, b = pt.constant(normal(4, 3, dtype="float32")), pt.constant(normal(3, dtype="float32"))
    return [x], [pt.special.softmax(pt.tanh(x @ w + b), axis=-1)], [[normal(n, 4, dtype="float32")] for n in (0, 1, 5)]


@model
def activations():
    x = var("x", "float32", None)
    y = [pt.sigmoid(x), pt.softplus(x), pt.switch(x > 0, x, 0.1 * pt.expm1(x)), x * pt.erf(x), pt.log1p(pt.exp(-abs(x)))]
    return [x], y, [[np.linspace(30, -30, n).astype("float32")] for n in (0, 1, 61)]


@model
def functions():
    """of float64, most without a kernel of their own"""
    x = var("x", "float64", None)
    y = [pt.sin(x), pt.tan(x), pt.arctan(x), pt.sinh(x), pt.arcsinh(x), pt.tanh(x), pt.erf(x), pt.exp2(x), pt.cosh(x)]
    return [x], y, [[np.linspace(-6, 6, n)] for n in (0, 1, 50)]


@model
def special():
    x = var("x", "float64", None)
    return [x], [pt.gammaln(x), pt.psi(x), pt.erfcx(x), pt.gamma(x), pt.erfinv(x / 20)], [
        [np.linspace(0.1, 19, n)] for n in (0, 1, 40)
    ]  # fmt: skip


@model
def special_single():
    x = var("x", "float32", None)
    return [x], [pt.gammaln(x), pt.psi(x), pt.erfcinv(x / 10), pt.i0(x), pt.erfc(x)], [
        [np.linspace(0.1, 19, n).astype("float32")] for n in (0, 1, 40)
    ]  # fmt: skip


@model
def incomplete():
    """distribution functions, their inverses and gradients"""
    a, x = var("a", "float64", None), var("x", "float64", None)
    y = [pt.gammainc(a, x), pt.gammaincc(a, x), pt.betainc(a, a + 1, x / 20), pt.gammaincinv(a, x / 20), pt.betaincinv(a, 2.5, x / 20)]
    y += [pytensor.grad(pt.gammainc(a, x).sum(), a), pytensor.grad(pt.betainc(a, a + 1, x / 20).sum(), x)]
    return [a, x], y, [[np.linspace(0.3, 9, n), np.linspace(0.1, 19, n)] for n in (1, 40)]


@model
def bessel():
    v, x = var("v", "float64", None), var("x", "float64", None)
    return [v, x], [pt.ive(v, x), pt.kve(v, x), pt.jv(v, x)], [[np.linspace(0, 12, n), np.linspace(0.1, 50, n)] for n in (1, 40)]


def arithmetic(dtype):
    def build():
        x, y = var("x", dtype, None), var("y", dtype, None)
        info = np.iinfo(dtype)
        a = np.array([info.min, info.max, 0, 1, 5, 7, 100, 3], dtype)
        b = np.array([3, 2, 5, 7, 3, 2, 9, 1], dtype)
        z = [x + y, x - y, x * y, x // y, x % y, pt.maximum(x, y), pt.eq(x, y), pt.lt(x, y), pt.switch(x > y, x, y), x.sum(), x.max()]
        return [x, y], z, [[a, b], [a[:1], b[:1]]]

    return build


for _d in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
    GRAPHS[_d] = arithmetic(_d)


@model
def bools():
    x, y = var("x", "bool", None), var("y", "bool", None)
    t = np.array([True, False, True, False]), np.array([True, True, False, False])
    return [x, y], [x & y, x | y, x ^ y, ~x, x.any(), y.all(), x.sum(), pt.switch(x, y, ~y)], [t, [v[:0] for v in t]]


@model
def float16():
    x, y = var("x", "float16", None, 3), var("y", "float16", 3)
    return [x, y], [x + y, x * y, pt.exp(x), x.sum(axis=1), x @ y, pt.switch(x > 0, x, y)], [
        [normal(n, 3, dtype="float16"), normal(3, dtype="float16", seed=1)] for n in (0, 1, 4)
    ]  # fmt: skip


@model
def casts():
    x = var("x", "float64", None)
    y = [x.astype(d) for d in ("float32", "float16", "int64", "int32", "int8", "bool")]
    return [x], [*y, abs(x).astype("uint8")], [[np.array([0.0, 1.5, -2.5, 100.25, 3.99])]]


@model
def bits():
    x, y = var("x", "int64", None), var("y", "int64", None)
    return [x, y], [x & y, x | y, x ^ y, ~x], [[np.array([0, -1, 2**62, 12345]), np.array([1, 7, -9, 255])]]


# --- shapes, reductions, indexing ---


@model
def reductions():
    x = var("x", "float64", None, None)
    y = [x.sum(axis=0), x.prod(axis=1), x.mean(axis=0), x.var(axis=1), pt.cumsum(x, axis=1), abs(x).sum(), pt.logsumexp(x, axis=1)]
    return [x], y, [[normal(*s)] for s in ((0, 3), (1, 1), (4, 5))]


@model
def reductions_single():
    x = var("x", "float32", None, None)
    y = [x.sum(axis=0), x.max(axis=1), x.argmax(axis=1), x.mean(), pt.cumsum(x, axis=1), (x**2).sum(axis=1), x.std(axis=0)]
    return [x], y, [[normal(*s, dtype="float32")] for s in ((1, 1), (4, 5), (3, 2000))]


@model
def shapes():
    x = var("x", "float32", None, None)
    y = [x.T, x.reshape((-1,)), x.dimshuffle(1, "x", 0), pt.concatenate([x, x], axis=0), pt.stack([x, -x]), x[None] * 2, x.shape,
         pt.tile(x, (2, 1)), pt.repeat(x, 2, axis=0), pt.diag(x[:, 0]), pt.roll(x, 1, axis=0), pt.join(1, x, x)]  # fmt: skip
    return [x], y, [[normal(n, 3, dtype="float32")] for n in (0, 1, 4)]


@model
def slices():
    x, i = var("x", "float64", None), var("i", "int64")
    return [x, i], [x[i:], x[:i], x[::-1], x[::2], x[-2:0:-1], x[i::-1], x[1:i]], [
        [normal(n), np.array(k)] for n, k in ((0, 0), (1, 0), (6, 3), (6, -2), (6, 100))
    ]  # fmt: skip


@model
def gather():
    x, i, j = var("x", "float64", None, None), var("i", "int64", None), var("j", "int64", None)
    y = [x[i], x[i, j], pt.take_along_axis(x, i[:, None], axis=1), x[:, j], x[0, i], x[x[:, 0] > 0]]
    good = [[normal(4, 4), np.array([0, 3, -1, 2]), np.array([1, 1, -4, 0])], [normal(1, 1), np.array([0]), np.array([-1])]]
    return [x, i, j], y, [*good, [normal(4, 4), np.array([0, 3, 9, 2]), np.array([1, 1, 1, 0])]]


@model
def scatter():
    x, i, v = var("x", "float64", None), var("i", "int64", None), var("v", "float64", None)
    y = [pt.set_subtensor(x[i], v), pt.inc_subtensor(x[i], v), pt.set_subtensor(x[1:4], 7.0), pt.inc_subtensor(x[::2], 1.0)]
    return [x, i, v], y, [[normal(7), np.array([0, 5, -1]), normal(3, seed=1)], [normal(7), np.array([2, 2, 2]), normal(3)]]


@model
def sort():
    x = var("x", "float64", None, None)
    return [x], [pt.sort(x, axis=1), pt.argsort(x, axis=0), x.argmin(axis=0), pt.sort(x.ravel())], [
        [normal(*s)] for s in ((1, 1), (5, 4))
    ]  # fmt: skip


@model
def masks():
    x = var("x", "float32", None, None)
    return [x], [pt.tril(x), pt.triu(x, 1), pt.eye(3, dtype="float32") + x[:3, :3], pt.nonzero(x > 0)[0], (x > 0).nonzero()[1]], [
        [normal(n, n, dtype="float32")] for n in (3, 6)
    ]  # fmt: skip


@model
def unique():
    x = var("x", "int64", None)
    return [x], [pt.unique(x), pt.bincount(abs(x), minlength=9), pt.searchsorted(pt.sort(x), 3)], [[np.array([3, 1, 3, 5, -1])]]


@model
def lengths_differ():
    """x + y of lengths that differ is an error, of lengths 1 also"""
    x, y = var("x", "float32", None), var("y", "float32", None)
    return [x, y], [x + y], [[normal(n, dtype="float32"), normal(m, dtype="float32")] for n, m in ((3, 3), (0, 0), (3, 1), (3, 2))]


@model
def asserts():
    x = var("x", "float64", None)
    checked = pytensor.raise_op.Assert("all must be positive")(x, (x > 0).all())
    return [x], [pt.log(checked)], [[np.array([1.0, 2.0])], [np.array([1.0, -2.0])]]


# --- linear algebra ---


@model
def products():
    a, b = var("a", "float32", None, None, 3), var("b", "float32", 3, None)
    y = [a @ b, pt.tensordot(a, b, axes=[[2], [0]]), pt.einsum("ijk,kl->il", a, b), a[0] @ b, pt.outer(a[0, :, 0], b[0])]
    return [a, b], y, [[normal(n, 2, 3, dtype="float32"), normal(3, m, dtype="float32")] for n, m in ((1, 1), (2, 4))]


@model
def cholesky():
    a, b = var("a", "float64", None, None), var("b", "float64", None)
    c = pt.linalg.cholesky(a)
    return [a, b], [c, pt.linalg.solve_triangular(c, b, lower=True), pt.log(pt.diag(c)).sum()], [
        [definite(n), normal(n)] for n in (1, 3, 20)
    ]  # fmt: skip


@model
def cholesky_single():
    a, b = var("a", "float32", None, None), var("b", "float32", None)
    c = pt.linalg.cholesky(a)
    return [a, b], [c, pt.linalg.solve_triangular(c, b, lower=True)], [
        [definite(n, "float32"), normal(n, dtype="float32")] for n in (1, 3, 20)
    ]  # fmt: skip


@model
def solve():
    a, b = var("a", "float64", None, None), var("b", "float64", None, 2)
    return [a, b], [pt.linalg.solve(a, b), pt.linalg.inv(a), pt.linalg.det(a), pt.linalg.slogdet(a)[1]], [
        [definite(n), normal(n, 2)] for n in (1, 4, 9)
    ]  # fmt: skip


@model
def eigenvalues():
    a = var("a", "float64", None, None)
    return [a], [pt.linalg.eigvalsh(a, None)], [[definite(n)] for n in (1, 2, 8)]


@model
def singular_values():
    a = var("a", "float64", 5, 3)
    return [a], [pt.linalg.svd(a, compute_uv=False), pt.linalg.pinv(a)], [[normal(5, 3)]]


@model
def decompositions():
    a = var("a", "float64", 4, 4)
    return [a], [*pt.linalg.qr(a), pt.linalg.expm(a / 4)], [[normal(4, 4)]]


# --- signals, networks, loops ---


@model
def convolution():
    x, y = var("x", "float32", None), var("y", "float32", None)
    return [x, y], [convolve1d(x, y, mode="full"), convolve1d(x, y, mode="valid")], [
        [normal(n, dtype="float32"), normal(3, dtype="float32")] for n in (3, 12)
    ]  # fmt: skip


@model
def convolution_2d():
    x, y = var("x", "float32", None, None), var("y", "float32", 3, 3)
    return [x, y], [convolve2d(x, y, mode="same")], [[normal(8, 6, dtype="float32"), normal(3, 3, dtype="float32")]]


@model
def fourier():
    x = var("x", "float32", None, None)
    z = rfft(x)
    return [x], [z, irfft(z, is_odd=False)], [[normal(2, n, dtype="float32")] for n in (2, 8, 12)]


@model
def complex_numbers():
    z, w = var("z", "complex128", None), var("w", "complex128", None)
    a, b = normal(4) + 1j * normal(4, seed=1), normal(4, seed=2) + 1j * normal(4, seed=3)
    return [z, w], [z * w, z / w, pt.exp(z), abs(z), pt.conj(z), pt.angle(w), z.sum()], [[a, b], [a[:1], b[:1]]]


@model
def attention():
    q, k, v = (var(n, "float32", None, None, 8) for n in "qkv")
    weights = pt.special.softmax(q @ k.dimshuffle(0, 2, 1) / np.float32(8**0.5), axis=-1)
    return [q, k, v], [weights @ v], [[normal(b, t, 8, dtype="float32", seed=s) for s in range(3)] for b, t in ((1, 1), (2, 5))]


@model
def gru():
    x, h0 = var("x", "float32", None, None, 3), var("h", "float32", None, 4)
    w = [pt.constant(normal(n, 4, dtype="float32", seed=s)) for s, n in enumerate((3, 3, 3, 4, 4, 4))]

    def step(x, h):
        z, r = pt.sigmoid(x @ w[0] + h @ w[3]), pt.sigmoid(x @ w[1] + h @ w[4])
        return z * h + (1 - z) * pt.tanh(x @ w[2] + (r * h) @ w[5])

    h = pytensor.scan(step, sequences=[x], outputs_info=[h0], return_updates=False)
    return [x, h0], [h, h[-1]], [[normal(t, b, 3, dtype="float32"), normal(b, 4, dtype="float32")] for t, b in ((1, 1), (6, 2))]


@model
def cumulative_loop():
    x, n = var("x", "float64", None), var("n", "int64")
    s = pytensor.scan(lambda v, s, p: [s * 0.5 + v, s - p], sequences=[x], outputs_info=[np.float64(0), np.float64(1)],
                      return_updates=False)  # fmt: skip
    p = pytensor.scan(lambda s, a: s * a % 1000003, outputs_info=[pt.constant(1, dtype="int64")], non_sequences=[n],
                      n_steps=n, return_updates=False)  # fmt: skip
    return [x, n], [*s, p], [[normal(t), np.array(k)] for t, k in ((1, 1), (7, 5))]


@model
def while_loop():
    x = var("x", "float64")
    y = pytensor.scan(lambda s, x: (0.5 * (s + x / s), until(abs(s * s - x) < 1e-4 * x)),
                      outputs_info=[x], non_sequences=[x], n_steps=50, return_updates=False)  # fmt: skip
    return [x], [y[-1], y.shape], [[np.array(2.0)], [np.array(1.0)], [np.array(900.0)]]


@model
def branches():
    x, c = var("x", "float32", None), var("c", "bool")
    y = ifelse(c, pt.exp(x), x[:1].sum() + x)
    return [x, c], [y], [[normal(3, dtype="float32"), np.array(c)] for c in (True, False)]


@model
def network_64():
    """logp and gradient of a regression, float64"""
    w, x = var("w", "float64", 3), pt.constant(normal(20, 3))
    y = pt.constant((normal(20) > 0).astype("int64"))
    z = x @ w
    logp = (y * z - pt.softplus(z)).sum() - (w**2).sum() / 2
    return [w], [logp, pytensor.grad(logp, w)], [[normal(3)]]


@model
def random_numbers():
    """NumPy's uniform and normal numbers, choices and permutations, from a seed"""
    seed = var("seed", "int64")
    r = default_rng(seed)
    r, u = pt.random.uniform(-1, 1, size=(1000,), rng=r).owner.outputs
    r, p = pt.random.permutation(np.arange(20), rng=r).owner.outputs
    r, k = pt.random.categorical([0.2, 0.5, 0.3], size=(50,), rng=r).owner.outputs
    r, z = pt.random.normal(size=(300,), rng=r).owner.outputs
    return [seed], [u, p, k, z], [[np.array(seed)] for seed in (0, 12345678901)]


# --- examples ---


def digits():
    return {"x": np.load(ROOT / "examples/digits/test-images.npy")[:20]}


def kalman():
    y = 900 + 100 * normal(30)
    y[5:9] = np.nan
    return {"volume": y, "noise": np.array(15099.0), "drift": np.array(1469.1)}


def kmeans():
    rows = normal(60, 2) + np.repeat(np.arange(3.0), 20)[:, None] * 4
    return {"rows": rows, "first": rows[[0, 20, 40]]}


def logistic():
    x = normal(50, 3)
    return {"X": x, "y": (x[:, 0] + normal(50, seed=1) > 0).astype("float64"), "ridge": np.array(0.1)}


def edges():
    return {"picture": np.load(ROOT / "examples/edges/temple.npy")[:40, :50]}


def eight_schools():
    return {"mu": np.array(4.0), "tau_log__": np.array(1.5), "z": normal(8)}


EXAMPLES = {f.__name__: (ROOT / f"examples/{f.__name__}/{f.__name__}.ptg", f)
            for f in (digits, kalman, kmeans, logistic, edges, eight_schools)}  # fmt: skip


def of_pymc(name):
    saved = np.load(ROOT / f"examples/pymc/{name}.npz")
    return {k[3:]: saved[k] for k in saved if k.startswith("in_")}


for _p in sorted((ROOT / "examples/pymc").glob("*.ptg")):
    EXAMPLES[f"pymc-{_p.stem}"] = (_p, lambda name=_p.stem: of_pymc(name))
