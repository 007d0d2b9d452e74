"""Complex numbers, which models hold as pairs: arithmetic, and ops that move elements."""

import numpy as np
import onnxruntime as ort
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor import scalar as ps
from pytensor.tensor.blas.gemm import _dot22, _dot22scalar, gemm_no_inplace
from pytensor.tensor.blas.gemv import gemv_no_inplace
from pytensor.tensor.elemwise import CAReduce, Elemwise
from pytensor.tensor.fourier import fft
from pytensor.tensor import special
from pytensor.tensor.math import Max, Min, ProdWithoutZeros, mul_without_zeros
from pytensor.tensor.signal.conv import convolve2d
from harness import COMPLEX, OPSETS, PYTHON, QUIET, Compiled, check, values
from ptgc import _lib
from ptgc.runtime import pairs
from opsets import SOME_OPSETS

pytestmark = pytest.mark.sampled

both = pytest.mark.parametrize("dtype", COMPLEX)

# Infinities, NaN, zeros of both signs, and numbers whose squares are out of range
PARTS = [0.0, -0.0, 1, -1, 0.6, -0.8, 3, -2.5, 1e-3, np.inf, -np.inf, np.nan]
FAR = {"complex64": [3e38, -2e-38, 1e-45], "complex128": [1.7e308, -3e-308, 5e-324, 1e200, -1e-170]}


# NumPy's products and sums of products are fused where the processor can do that: of products up to 81 eps is 1e-5
# and 2e-14 (here a product is 2e-7 and 1e-16 off); times the magnitude of what is made of several
ROUNDING = {"complex64": 1e-5, "complex128": 1e-14}


def corners(dtype, far=True):
    """Each part with each other."""
    parts = np.array(PARTS + FAR[dtype] * far, f"float{32 if dtype == 'complex64' else 64}")
    z = np.empty((len(parts), len(parts)), dtype)
    z.real, z.imag = parts[:, None], parts
    return z.ravel()


def two(dtype, far):
    z = corners(dtype, far)
    rng = np.random.default_rng(7)
    return np.concatenate([z, z, z]), np.concatenate([rng.permutation(z) for _ in range(3)])


def at_corners(build, dtype, arguments=1, far=True, **tolerance):
    data = two(dtype, far) if arguments > 1 else [corners(dtype, far)]
    arrays = iter(data)
    check(build, [(dtype, 1)] * arguments, sizes=(len(data[0]),), kinds=(False,), opsets=(18,),
          data=lambda *_: next(arrays), **tolerance)  # fmt: skip


def near_values(dtype, shape, seed):
    return values(dtype, shape, seed, low=-3, high=3)


ARITHMETIC = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
    "eq": pt.eq, "neq": pt.neq, "lt": pt.lt, "le": pt.le, "gt": pt.gt, "ge": pt.ge,
}  # fmt: skip


@both
@pytest.mark.parametrize("op", ARITHMETIC)
def test_arithmetic(op, dtype):
    real = "float32" if dtype == "complex64" else "float64"
    near = {"data": near_values, "atol": ROUNDING[dtype]} if op == "mul" else {}
    check(ARITHMETIC[op], [(dtype, 2), (dtype, 2)], **near)
    check(ARITHMETIC[op], [(dtype, 1), (real, 1)], opsets=(18,), sizes=(0, 1, 3), **near)
    check(lambda x, y: ARITHMETIC[op](y, x), [(dtype, 1), ("int8", 1)], opsets=(18,), sizes=(0, 1, 3), **near)
    at_corners(ARITHMETIC[op], dtype, 2, op != "mul", atol=near.get("atol", 0))


UNARY = {
    "neg": lambda x: -x, "sqr": pt.sqr, "reciprocal": pt.reciprocal, "abs": abs, "real": pt.real, "imag": pt.imag,
    "conj": pt.conj, "angle": pt.angle, "isnan": pt.isnan, "isinf": pt.isinf,
}  # fmt: skip


@both
@pytest.mark.parametrize("op", UNARY)
def test_unary(op, dtype):
    check(UNARY[op], [(dtype, 2)], sizes=(0, 1, 2))
    at_corners(UNARY[op], dtype, 1, op != "sqr", atol=ROUNDING[dtype] if op == "sqr" else 0)


MOVES = {
    "transpose": lambda x: x.T, "expand": lambda x: x[:, None], "reshape": lambda x: x.reshape((-1,)),
    "flip": lambda x: x[::-1, ::-1], "slice": lambda x: x[1:, :-1], "shape": lambda x: x.shape,
    "advanced": lambda x: x[x.shape[0] // 2 - pt.arange(x.shape[0]) // 2 - 1], "mask": lambda x: x[pt.eq(x, x)],
    "join": lambda x: pt.join(1, x, pt.real(x), x), "split": lambda x: pt.split(x, [x.shape[0] - 1, 1], n_splits=2),
    "repeat": lambda x: pt.repeat(x, 2, axis=0), "tile": lambda x: pt.tile(x, (2, 1)), "roll": lambda x: pt.roll(x, 1, 0),
    "switch": lambda x: pt.switch(pt.gt(pt.real(x), 0), x, pt.imag(x)), "second": lambda x: pt.second(x, 2 + 1j),
    "zeros": pt.zeros_like, "alloc": lambda x: pt.alloc(x, 2, x.shape[0], x.shape[1]), "diag": lambda x: pt.diagonal(x),
    "set": lambda x: x[:, 0].set(1 - 2j), "inc": lambda x: x[1:].inc(x[:-1]), "set real": lambda x: x[0].set(pt.real(x)[0]),
    "inc real": lambda x: x[:1].inc(pt.real(x)[:1]), "set advanced": lambda x: x[pt.arange(x.shape[0])].set(x[::-1]),
    "inc advanced": lambda x: x[pt.arange(x.shape[0]) // 2].inc(x), "stack": lambda x: pt.stack([x[0, 0], pt.real(x)[0, 0]]),
    "eye": lambda x: pt.eye(x.shape[0], 3, 1, dtype="complex64") + x[0, 0], "second real": lambda x: pt.second(x, 1.5),
    "cast": lambda x: pt.cast(x, "complex128"), "cast back": lambda x: pt.cast(x, "complex64"),
    "from bool": lambda x: pt.cast(pt.isnan(x), "complex64"), "outer": lambda x: pt.real(x)[:, :1] - x[0],
    "fill": lambda x: pt.fill_diagonal(x, 2),
}  # fmt: skip


@both
@pytest.mark.parametrize("op", MOVES)
def test_moves(op, dtype):
    def data(dtype, shape, seed):
        return values(dtype, (shape[0], 3), seed)

    def build(x):
        return MOVES[op](pt.specify_shape(x, (None, 3)))

    check(build, [(dtype, 2)], data=data, sizes=(2, 4), kinds=(True,), opsets=SOME_OPSETS)
    check(MOVES[op], [(dtype, 2)], sizes=(2, 3), kinds=(False,), opsets=SOME_OPSETS)


SUMS = {
    "sum": lambda x: x.sum(), "sum 0": lambda x: x.sum(axis=0), "sum 128": lambda x: pt.sum(x, dtype="complex128"),
    "mean": lambda x: x.mean(axis=1), "cumsum": lambda x: pt.cumsum(x, axis=0), "dot": lambda x: pt.dot(x, x.T),
    "matvec": lambda x: pt.dot(x, 1 + x[:1].sum(axis=0)), "mixed": lambda x: pt.dot(pt.real(x), x.T), "mixed 2": lambda x: pt.dot(x, pt.real(x).T),
    "matmul": lambda x: pt.matmul(pt.stack([x, x]), x.T), "three": lambda x: pt.add(x, pt.real(x), x, 2),
    "product of three": lambda x: pt.mul(pt.real(x), 3, x, x), "angle": lambda x: pt.sum(pt.angle(x * x)),
}  # fmt: skip


@both
@pytest.mark.parametrize("op", SUMS)
def test_sums(op, dtype):
    for n in (None, 0, 1, 2, 6):
        x = pt.tensor("x", dtype=dtype, shape=(n, 3))
        c = Compiled([x], [SUMS[op](x)], OPSETS if n is None else (18,))
        for size in (0, 2, 6) if n is None else (n,):
            c.run(near_values(dtype, (size, 3), size), atol=20 * ROUNDING[dtype])


FUNCTIONS = {
    "exp": pt.exp, "exp2": pt.exp2, "expm1": pt.expm1, "log": pt.log, "log2": pt.log2, "log10": pt.log10, "log1p": pt.log1p,
    "sqrt": pt.sqrt, "sin": pt.sin, "cos": pt.cos, "tan": pt.tan, "sinh": pt.sinh, "cosh": pt.cosh, "tanh": pt.tanh,
    "sign": pt.sign, "arcsin": pt.arcsin, "arccos": pt.arccos, "arctan": pt.arctan, "arcsinh": pt.arcsinh,
    "arccosh": pt.arccosh, "arctanh": pt.arctanh,
}  # fmt: skip


@both
@pytest.mark.parametrize("op", FUNCTIONS)
def test_functions(op, dtype):
    check(FUNCTIONS[op], [(dtype, 2)], sizes=(0, 1, 4), data=near_values, atol=ROUNDING[dtype])
    tiny = ROUNDING[dtype] if op == "expm1" else {"complex64": 1e-44, "complex128": 1e-322}[dtype]
    at_corners(FUNCTIONS[op], dtype, atol=tiny, ulp={"float32": 8, "float64": 8})


def close(got, want, limit):
    """Infinities and NaN in the same parts; else near by what the number is in size."""
    size = np.where(np.isfinite(np.abs(want)), np.abs(want), 1)
    for part in ("real", "imag"):
        g, w = getattr(got, part), getattr(want, part)
        with np.errstate(invalid="ignore"):
            far = ~((g == w) | (np.isnan(g) & np.isnan(w)) | (np.abs(g - w) <= limit * size))
        assert not far.any(), (np.argwhere(far)[0], got[far][0], want[far][0])


def powers(c, limit, *args):
    for session in c.sessions.values():
        feed = {i.name: pairs(a) for i, a in zip(session.get_inputs(), args)}
        got = session.run(None, feed)[0]
        want = c.python(*args)[0]
        close(np.ascontiguousarray(got).view(want.dtype)[..., 0], want, limit)


# NumPy's and ours are exp(y log(x)): the digits that y log(x) has before its point are lost to both
LOST = {"complex64": 3e-5, "complex128": 3e-14}


@both
@pytest.mark.parametrize("k", [-2, -1, 1, 2, 3, 4, 7, 99])
def test_whole_powers(k, dtype):
    """NumPy's own products: the signs of zeros are its too."""
    x = pt.vector("x", dtype=dtype)
    c = Compiled([x], [pt.power(x, np.int8(k))])
    for size in (0, 1, 9):
        powers(c, 10 * LOST[dtype], near_values(dtype, (size,), size))
    powers(c, 100 * LOST[dtype], corners(dtype))
    if 0 < k < 4:
        at_corners(lambda x: pt.power(x, np.int8(k)), dtype, far=False, ulp={"float32": 8, "float64": 8}, atol=10 * ROUNDING[dtype])


@both
def test_powers(dtype):
    x, y = pt.vector("x", dtype=dtype), pt.vector("y", dtype=dtype)
    for exponent in (0, 0.5, -1.5, 1j):
        c = Compiled([x], [pt.power(x, exponent)], (18,))
        powers(c, LOST[dtype], near_values(dtype, (200,), 3))
        powers(c, 10 * LOST[dtype], corners(dtype, False))
    c = Compiled([x, y], [pt.power(x, y)])
    bases, exponents = near_values(dtype, (2000,), 3), near_values(dtype, (2000,), 4)
    exponents[::2] = np.round(exponents[::2].real * 5)
    powers(c, 5 * LOST[dtype], bases, exponents)
    powers(c, 10 * LOST[dtype], *two(dtype, False))
    powers(c, 0, np.empty(0, dtype), np.empty(0, dtype))
    real = "float32" if dtype == "complex64" else "float64"
    check(lambda x, y: pt.power(2 + pt.abs(x), y), [(real, 2), (dtype, 2)], sizes=(0, 1, 3), data=near_values, opsets=(18,),
          atol=1e3 * ROUNDING[dtype])  # fmt: skip


@both
@pytest.mark.parametrize("op", ["maximum", "minimum"])
def test_larger_and_smaller(op, dtype):
    at_corners(getattr(pt, op), dtype, 2)
    check(getattr(pt, op), [(dtype, 2), ("int8", 2)], sizes=(0, 1, 3))


PRODUCTS = {
    "kron": lambda x: pt.linalg.kron(x, x[:2]), "block": lambda x: pt.linalg.block_diag(x, pt.real(x), x[0:1]),
    "inverse": lambda x: pt.linalg.inv(x[:, :3].T @ x[:, :3] + 20 * pt.eye(3)),
    "convolve": lambda x: pt.signal.convolve1d(x[0], x[:, 0] + 1), "valid": lambda x: pt.signal.convolve1d(x[0], x[0, 1:], mode="valid"),
    "fft": lambda x: fft(pt.cast(x, "complex128"), None, 1), "fft 0": lambda x: fft(pt.cast(x, "complex128"), 5, 0),
    "fft real": lambda x: fft(pt.cast(pt.real(x), "float64"), x.shape[0] + 1, 1), "dot22": lambda x: _dot22(x, x.T),
    "dot22scalar": lambda x: _dot22scalar(x, x.T, x[0, 0]), 
    "gemm": lambda x: gemm_no_inplace(x, x[0, 0], x, pt.tile(x[:1], (3, 1)), x[0, 1]),
    "gemv": lambda x: gemv_no_inplace(x[:, 0], x[0, 0], x, x[0], x[0, 1]),
    "gemv without": lambda x: gemv_no_inplace(x[:, 0] / 0, x[0, 0], x, x[0], pt.zeros_like(x[0, 0])),
}  # fmt: skip


@both
@pytest.mark.parametrize("op", PRODUCTS)
def test_products(op, dtype):
    for n in (None, 1, 4):
        x = pt.tensor("x", dtype=dtype, shape=(n, 3))
        c = Compiled([x], [PRODUCTS[op](x)], OPSETS if n is None else (18,))
        for size in (3, 6) if n is None else (n,):
            c.run(near_values(dtype, (size, 3), size), atol=100 * ROUNDING[dtype], zero_sign="fft" not in op)


def reduced(op, axis):
    if op == "min":  # pt.min has no way to build it
        return lambda x: Min(axis=axis if axis is None or isinstance(axis, tuple) else (axis,))(x)
    return lambda x: getattr(pt, op)(x, axis=axis)


@both
@pytest.mark.parametrize("op", ["prod", "max", "min"])
def test_products_and_extremes(op, dtype):
    near = {"data": near_values, "atol": 1e4 * ROUNDING[dtype]} if op == "prod" else {}
    for axis in (None, 0, 1, (0, 1)):
        sizes = (1, 2, 3) if op != "prod" else (0, 1, 2, 3)
        check(reduced(op, axis), [(dtype, 2)], sizes=sizes, opsets=SOME_OPSETS, **near)
    check(reduced(op, 1), [(dtype, 3)], sizes=(2,), opsets=(18,), **near)
    if op == "prod":
        check(lambda x: pt.prod(x, dtype="complex128"), [(dtype, 1)], sizes=(0, 3), opsets=(18,), **near)
        check(lambda x: pt.prod(x, dtype=dtype), [("int8", 2)], sizes=(0, 1, 3), opsets=(18,), **near)
        return
    at_corners(lambda x: reduced(op, 0)(pt.stack([x, x[::-1], x.conj()])), dtype)
    x = pt.matrix("x", dtype=dtype)
    c = Compiled([x], [reduced(op, 0)(x)], (18,))
    with pytest.raises(Exception):
        c.run(np.empty((0, 2), dtype))


@both
def test_where_the_maximum_is(dtype):
    for axis in (None, 0, 1):
        check(lambda x: pt.argmax(x, axis=axis), [(dtype, 2)], sizes=(1, 2, 3), opsets=SOME_OPSETS)
        check(lambda x: pt.argmax(pt.concatenate([x.real + 0j, x.conj().imag + 1j, x.real + 0j], axis=1), axis=axis),
              [(dtype, 2)], sizes=(1, 3), opsets=(18,))  # fmt: skip
    at_corners(lambda x: pt.argmax(pt.stack([x, x[::-1], x.conj()]), axis=0), dtype)
    x = pt.matrix("x", dtype=dtype)
    Compiled([x], [pt.argmax(x, axis=0)], (18,)).raises(np.empty((0, 2), dtype))


@both
@pytest.mark.parametrize("mode", ["reflect", "symmetric", "wrap"])
def test_borders(mode, dtype):
    check(lambda x: pt.pad(x, ((1, 2), (0, 3)), mode=mode), [(dtype, 2)], sizes=(2, 3, 5), opsets=SOME_OPSETS)
    x, w = pt.vector("x", dtype=dtype), pt.tensor("w", shape=(1, 2), dtype="int64")
    c = Compiled([x, w], [pt.pad(x, w, mode=mode)], (18,))
    c.run(values(dtype, (4,)), [[3, 2]])


@both
@pytest.mark.parametrize("mode", ["constant", "edge", "linear_ramp", "maximum", "minimum", "mean"])
def test_borders_that_pytensor_makes_of_real_parts(mode, dtype):
    """It puts x into zeros of floatX; NumPy warns there that imaginary parts are lost."""
    x = pt.vector("x", dtype=dtype)
    with pytest.warns(np.exceptions.ComplexWarning):
        assert pytensor.function([x], pt.pad(x, 1, mode=mode), mode=PYTHON)(values(dtype, (3,))).dtype == "float64"
    with pytest.raises(AssertionError, match=f"loses the imaginary part of argument 1, {dtype}.*: take its real part"):
        Compiled([x], [pt.pad(x, 1, mode=mode)], (18,))


GRAPHS = {  # ops that PyTensor writes as graphs of others, and products of what is not 0
    "xlogy": special.xlogy,
    "xlogy, real x": lambda x, y: special.xlogy(x.real, y),
    "xlogy, real y": lambda x, y: special.xlogy(x, y.real),
    "xlog1py": special.xlog1py,
    "logaddexp": special.logaddexp,
    "logaddexp of three": lambda x, y: special.logaddexp(x, y, 3 * x.conj()),
    "logaddexp of two dtypes": lambda x, y: special.logaddexp(pt.cast(x.real, "float32"), y),
    "mul_without_zeros": Elemwise(mul_without_zeros),
}
ALONG = {
    "logsumexp": lambda x, axis: special.logsumexp(x, axis=axis),
    "logsumexp, kept": lambda x, axis: special.logsumexp(x, axis=axis, keepdims=True),
    "softmax": lambda x, axis: special.softmax(x, axis=axis),
    "log_softmax": lambda x, axis: special.log_softmax(x, axis=axis),
    "prod": lambda x, axis: ProdWithoutZeros(axis=axis)(x),
    **{f"CAReduce of {op}": lambda x, axis, op=op: CAReduce(op, axis=axis)(x) for op in (ps.add, ps.mul, ps.maximum, ps.minimum)},
}


def some_zeros(dtype, shape, seed):
    v = near_values(dtype, shape, seed).copy()
    v[np.random.default_rng(seed).random(shape) < 0.2] = 0
    return v


@both
@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_of_elementwise_ops(name, dtype):
    data = near_values if "real x" in name else some_zeros  # a real number times -inf + 0j is NumPy's: its imaginary part is NaN
    check(GRAPHS[name], [(dtype, 2)] * 2, sizes=(0, 1, 4), data=data, opsets=SOME_OPSETS, atol=ROUNDING[dtype], zero_sign=False)


@both
@pytest.mark.parametrize("name", ALONG)
def test_graphs_along_axes(name, dtype):
    """Which turn of a logarithm comes out is as in PyTensor: the greatest number is taken off first."""
    for axis in (0, 1, None):
        axes = (0, 1) if axis is None and "logsumexp" not in name and "softmax" not in name else axis
        check(lambda x: ALONG[name](10 * x, axes), [(dtype, 2)], sizes=(1, 4), data=some_zeros, opsets=SOME_OPSETS, atol=ROUNDING[dtype] * 1e5, zero_sign=False)


@both
def test_sums_of_no_exponentials(dtype):
    """-inf, as the greatest of nothing is there; Softmax has none, as in PyTensor."""
    x = pt.matrix("x", dtype=dtype)
    c = Compiled([x], [special.logsumexp(x, axis=0), pt.max(x, axis=0, initial=-np.inf)])
    c.run(np.zeros((0, 3), dtype))
    c.run(np.array([[-np.inf, 1], [complex(-np.inf, -2), 2j]], dtype), atol=ROUNDING[dtype])
    Compiled([x], [special.softmax(x, axis=0)], (18,)).raises(np.zeros((0, 3), dtype))


@both
def test_complex_conditions(dtype):
    check(lambda x, y: pt.switch(x, y, 1j), [(dtype, 2), (dtype, 2)], sizes=(0, 1, 4), opsets=SOME_OPSETS)
    check(lambda x, y: pt.switch(x, y, 1), [(dtype, 2), ("float32", 2)], sizes=(1, 4), opsets=(18,))
    at_corners(lambda x: pt.switch(x, x.conj(), x[::-1]), dtype)


@both
def test_running_products(dtype):
    check(lambda x: pt.cumprod(x, axis=0), [(dtype, 2)], sizes=(0, 1, 4), data=near_values, atol=1e3 * ROUNDING[dtype])
    check(lambda x: pt.cumprod(x, axis=1), [(dtype, 3)], sizes=(2,), opsets=(18,), data=near_values, atol=ROUNDING[dtype] * 100)
    check(lambda x: pt.cumprod(x), [(dtype, 2)], sizes=(0, 2), opsets=(18,), data=near_values, atol=ROUNDING[dtype] * 1e3)


@both
def test_sorting(dtype):
    def few(dtype, shape, seed):
        """Many that are equal in one part."""
        rng = np.random.default_rng(seed)
        parts = np.array([0.0, -0.0, 1, -1, 2, np.nan, np.inf, -np.inf], f"float{np.dtype(dtype).itemsize * 4}")
        return rng.choice(parts, (*shape, 2)).view(dtype)[..., 0]

    for axis in (0, 1, -1, None):
        check(lambda x: pt.sort(x, axis=axis), [(dtype, 2)], sizes=(0, 1, 2, 7), data=few, opsets=SOME_OPSETS, zero_sign=False)
        check(lambda x: pt.argsort(x, axis=axis, kind="stable"), [(dtype, 2)], sizes=(0, 1, 2, 7), data=few, opsets=(18,))
    at_corners(lambda x: pt.argsort(x, kind="stable"), dtype)
    at_corners(lambda x: pt.sort(x, kind="stable"), dtype)
    check(lambda x: pt.nonzero(x), [(dtype, 2)], sizes=(0, 1, 4), data=few)
    at_corners(lambda x: pt.nonzero(x), dtype)


def few_numbers(dtype, shape, seed):
    rng = np.random.default_rng(seed)
    parts = np.array([0, 0, 1, -1, 2, np.nan], f"float{np.dtype(dtype).itemsize * 4}")
    return rng.choice(parts, (*shape, 2)).view(dtype)[..., 0]


@both
@pytest.mark.parametrize("asked", ["", "return_index", "return_inverse", "return_counts", "return_index return_inverse return_counts"])
def test_distinct(asked, dtype):
    """All NaN are one: the first in the array where numbers alone are asked for, else the first in order."""
    asked = dict.fromkeys(asked.split(), True)
    check(lambda x: pt.unique(x, **asked), [(dtype, 1)], sizes=(0, 1, 2, 30), data=few_numbers, opsets=(13, 18), zero_sign=False)
    check(lambda x: pt.unique(x, **asked), [(dtype, 2)], sizes=(0, 1, 5), data=few_numbers, opsets=(18,), zero_sign=False)
    for axis in (0, 1):
        check(lambda x: pt.unique(x, axis=axis, **asked), [(dtype, 2)], sizes=(0, 1, 2, 6), data=few_numbers, opsets=(13, 18), zero_sign=False)


@both
@pytest.mark.parametrize("side", ["left", "right"])
def test_searched(side, dtype):
    def data(t, shape, seed):
        return few_numbers(t, shape, seed) if t in COMPLEX else values(t, shape, seed)

    for other in (dtype, "float32", "complex64"):
        for v in (0, 1, 2):
            check(lambda x, v: pt.searchsorted(pt.sort(x), v, side=side), [(dtype, 1), (other, v)], sizes=(0, 1, 6), data=data, opsets=(18,))
        check(lambda x, v: pt.searchsorted(x, v, side=side, sorter=pt.argsort(x)), [(other, 1), (dtype, 1)], sizes=(0, 1, 6), data=data, opsets=(13, 18))


@both
@pytest.mark.parametrize("mode", ["full", "valid"])
def test_convolutions(mode, dtype):
    real = "float32" if dtype == "complex64" else "float64"
    for other in (dtype, real):
        for method in ("auto", "direct", "fft"):
            x, y = pt.matrix("x", dtype=dtype), pt.matrix("y", dtype=other)
            c = Compiled([x, y], [convolve2d(x, y, mode=mode, method=method)], (13, 18) if method == "auto" else (18,))
            c.run(near_values(dtype, (5, 4), 1), near_values(other, (2, 3), 2), atol=200 * ROUNDING[dtype], zero_sign=False)


@both
@pytest.mark.parametrize("subscripts", ["ij->ji", "ii", "ij,jk->ik", "ij,ij->", "i,j,k->kij", "ij,jk,kl,lm->im"])
def test_einsum_by_hand(subscripts, dtype):
    """Live graphs have inner graphs in its place."""
    rng = np.random.default_rng(3)
    terms = subscripts.split("->")[0].split(",")
    for real in (None, 0):
        kinds = [dtype.replace("complex64", "float32").replace("complex128", "float64") if k == real else dtype
                 for k in range(len(terms))]  # fmt: skip
        if dtype not in kinds:
            continue
        shapes = ", ".join(f"x{k}: {t}[{', '.join(term)}]" for k, (t, term) in enumerate(zip(kinds, terms)))
        names = ", ".join(f"x{k}" for k in range(len(terms)))
        text = f'graph main({shapes}) -> (y) {{\n  y = Einsum{{"{subscripts}"}}({names})\n}}\n'
        data = [near_values(t, (3,) * len(term), int(rng.integers(99))) for t, term in zip(kinds, terms)]
        model = _lib.compile_text(text, opset=18).model
        session = ort.InferenceSession(model, QUIET, providers=["CPUExecutionProvider"])
        got = session.run(None, {i.name: pairs(a) if a.dtype.kind == "c" else a for i, a in zip(session.get_inputs(), data)})[0]
        want = np.einsum(subscripts, *data)
        assert np.allclose(got[..., 0] + 1j * got[..., 1], want, rtol=0, atol=1e4 * ROUNDING[dtype])


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod"])
@pytest.mark.parametrize("real", ["float64", "float32", "int64", "int8", "bool"])
@both
def test_real_reduced_to_complex(dtype, real, reduce):
    """The imaginary part of what real numbers give is +0."""
    for axis in (None, 1, (0, 1)):
        check(lambda x, axis=axis: getattr(pt, reduce)(x, axis=axis, dtype=dtype), [(real, 2)], sizes=(0, 1, 3),
              opsets=(18,), atol=1e-6 if "float" in real else 0)  # fmt: skip


@pytest.mark.parametrize("dtype", COMPLEX)
def test_extremes_from_an_initial_number(dtype):
    """It is one of the numbers: of those with an infinite real part it may be the larger one."""
    x = pt.matrix("x", dtype=dtype)
    c = Compiled([x], [op(axis=axis, initial=True)(x) for op in (Max, Min) for axis in ((0,), (1,), None, ())], (13, 18))
    inf = np.inf
    for a in ([[complex(-inf, -1), complex(-inf, 1)], [complex(-inf, -1), complex(inf, -2)]], np.zeros((0, 3)), np.zeros((2, 0)), [[complex(np.nan, 1), 2]]):
        c.run(np.array(a, dtype), zero_sign=False)
