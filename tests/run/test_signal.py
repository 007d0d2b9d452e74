"""Convolutions, Fourier transforms, windows and borders."""

import numpy as np
import pytensor
import pytensor.tensor.fft as fft
import pytensor.tensor as pt
import pytest
from pytensor.tensor import fourier
from pytensor.tensor.signal.conv import Convolve1d, Convolve2d, convolve1d, convolve2d

from ptgc.testing import compare_onnx_and_py
from harness import ALL, INTS, OPSETS, UINTS, Compiled, values, variable
from opsets import SOME_OPSETS

pytestmark = pytest.mark.sampled

def small(dtype, shape, seed):
    return values(dtype, shape, seed, 0, 5)


@pytest.mark.parametrize("dtype", ALL)
def test_convolve1d(dtype):
    lengths = [(7, 3), (3, 7), (1, 1), (2, 2), (1, 4), (5, 5)] if dtype in ("float64", "int8") else [(7, 3)]
    for mode in ("full", "valid", "same"):
        for dynamic in (False, True):
            for n, k in lengths:
                x, y = variable(dtype, (n,), dynamic, "x"), variable(dtype, (k,), dynamic, "y")
                c = Compiled([x, y], [convolve1d(x, y, mode)], OPSETS if dtype == "float64" else (13, 26))
                c.run(small(dtype, (n,), 0), small(dtype, (k,), 1))
    x, y, full = variable(dtype, (7,), True, "x"), variable(dtype, (3,), True, "y"), pt.scalar("full", dtype="bool")
    c = Compiled([x, y, full], [Convolve1d()(x, y, pt.scalar_from_tensor(full))], (13, 18))
    for n, k in lengths:
        for f in (False, True):
            c.run(small(dtype, (n,), 0), small(dtype, (k,), 1), f)
    c.raises(small(dtype, (0,), 0), small(dtype, (3,), 0), True)
    c.raises(small(dtype, (3,), 0), small(dtype, (0,), 0), False)


def test_convolve_result_of_length_one():
    """The core op of a Blockwise says how long its result is: a 1 is stretched."""
    x, y = pt.tensor("x", shape=(1,)), pt.vector("y")
    out = pt.repeat(convolve1d(x, pt.constant([5.0]), "valid"), 1)
    assert out.type.shape == (1,)
    Compiled([x, y], [out + y]).run([7.0], [4, 5, 6])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_convolve2d_of_no_numbers(dtype):
    """SciPy multiplies the smaller one with a border of the larger one: inf there makes a NaN."""
    a = np.arange(1.0, 13).reshape(3, 4)
    for k in ([[np.inf, 0, 1]], [[0, 1], [np.nan, 2]], [[np.inf], [-np.inf]], [[np.inf, 1, 2, 3, 4, 5]] * 5, [[1, 2], [3, 4]]):
        for one, two in ((a, np.array(k)), (np.array(k), a)):
            for dynamic in (False, True):
                x, y, full = variable(dtype, one.shape, dynamic, "x"), variable(dtype, two.shape, dynamic, "y"), pt.scalar("f", dtype="bool")
                larger = two.size > one.size and not np.isfinite(one.sum() + two.sum())
                valid = Compiled([x, y], [convolve2d(x, y, "valid", method="direct")], (13, 18))
                whole = Compiled([x, y], [convolve2d(x, y, "full", method="direct")], (13, 18))
                either = Compiled([x, y, full], [Convolve2d("direct")(x, y, pt.scalar_from_tensor(full))], (13, 18))
                valid.run(one, two, zero_sign=False)
                either.run(one, two, False, zero_sign=False)
                for c, args in ((whole, (one, two)), (either, (one, two, True))):
                    if larger and (dynamic or c is either):
                        for session in c.sessions.values():
                            with pytest.raises(Exception, match="larger one"):
                                session.run(None, c.feed([np.asarray(v, i.dtype) for v, i in zip(args, (x, y, full))]))
                    else:
                        c.run(*args, zero_sign=False)


@pytest.mark.parametrize("method", ["auto", "fft", "direct"])
def test_convolve2d_of_bools(method):
    """SciPy's direct method refuses them, and its other one takes a sum of 1e-17 for true."""
    x = variable("bool", (3, 3), True, "x")
    with pytest.raises(AssertionError, match="SciPy"):
        Compiled([x], [convolve2d(x, x, method=method)], (18,))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8"])
def test_convolve2d(dtype):
    shapes = [((7, 6), (3, 2)), ((3, 2), (7, 6)), ((1, 1), (1, 1)), ((4, 1), (2, 1))]
    for mode in ("full", "valid", "same"):
        for dynamic in (False, True):
            for a, b in shapes:
                x, y = variable(dtype, a, dynamic, "x"), variable(dtype, b, dynamic, "y")
                if mode == "same" and a < b:
                    continue
                c = Compiled([x, y], [convolve2d(x, y, mode, method="direct")], SOME_OPSETS)
                c.run(small(dtype, a, 0), small(dtype, b, 1))


def test_convolve_of_sizes_that_do_not_fit():
    """Longer on one axis only: no valid part. Nothing to convolve: an error, and no other status."""
    x, y = variable("float64", (7, 3), False, "x"), variable("float64", (2, 5), False, "y")
    with pytest.raises(AssertionError, match="no valid part"):
        Compiled([x, y], [convolve2d(x, y, "valid", method="direct")], (18,))
    Compiled([x, y], [convolve2d(x, y, "full", method="direct")], (18,)).run(values("float64", (7, 3)), values("float64", (2, 5)))
    x, y = variable("float64", (7, 3), True, "x"), variable("float64", (2, 5), True, "y")
    full = pt.scalar("full", dtype="bool")
    c = Compiled([x, y], [convolve2d(x, y, "valid", method="direct")])
    d = Compiled([x, y, full], [Convolve2d("direct")(x, y, pt.scalar_from_tensor(full))], SOME_OPSETS)
    for a, b, fits in (((7, 3), (2, 5), False), ((2, 5), (7, 3), False), ((7, 5), (2, 5), True), ((2, 3), (2, 5), True), ((4, 4), (4, 4), True)):
        args = [small("float64", a, 0), small("float64", b, 1)]
        d.run(*args, True)
        for f, more in ((c, []), (d, [False])):
            if fits:
                f.run(*args, *more)
            else:
                f.raises(*args, *more)
    for dtype in ("int8", "float64"):
        for mode in ("full", "valid"):
            for n, k in ((0, 0), (0, 3), (3, 0)):
                x, y = variable(dtype, (n,), False, "x"), variable(dtype, (k,), False, "y")
                with pytest.raises(AssertionError, match="must not be empty"):
                    Compiled([x, y], [convolve1d(x, y, mode)], (18,))


@pytest.mark.parametrize("dtype", ["bool", "float16"])
def test_what_scipy_does_not_convolve(dtype):
    x, y = pt.matrix("x", dtype=dtype), pt.matrix("y", dtype=dtype)
    with pytest.raises(AssertionError, match="PTG0505"):
        Compiled([x, y], [convolve2d(x, y, method="direct")], (18,))
    if dtype == "float16":
        Compiled([x, y], [convolve2d(x, y, method="fft")], (18,)).run(np.eye(3), np.eye(2))


MODES = ("constant", "edge", "linear_ramp", "maximum", "minimum", "mean", "reflect", "symmetric", "wrap")


@pytest.mark.parametrize("mode", MODES)
def test_pad(mode):
    shapes = {(7,): [2, (1, 0), (0, 0)], (3, 4): [((1, 2), (0, 1)), 1, ((0, 9), (8, 0))], (1, 2): [((3, 1), (2, 2))]}
    for dtype in ("float64", "float32", "int8"):
        for shape, pads in shapes.items():
            for dynamic in (False, True):
                x = variable(dtype, shape, dynamic, "x")
                c = Compiled([x], [pt.pad(x, w, mode=mode) for w in pads], OPSETS if dtype == "float64" else (18,))
                c.run(small(dtype, shape, 0), zero_sign=mode != "linear_ramp")
    for dtype in ALL:
        x = variable(dtype, (5,), True, "x")
        Compiled([x], [pt.pad(x, 3, mode=mode)], (13, 26)).run(small(dtype, (5,), 0), zero_sign=mode != "linear_ramp")


@pytest.mark.parametrize("mode", ["constant", "edge", "linear_ramp", "maximum", "minimum", "mean"])
def test_pad_where_floatx_is_float32(mode):
    """x is put into zeros of floatX, whatever its dtype is: once those that float32 does not hold were refused."""
    values_of = {"constant": "constant_values", "linear_ramp": "end_values"}
    more = {values_of[mode]: ((1, 0.1), (2, 3))} if mode in values_of else {}
    with pytensor.config.change_flags(floatX="float32"):
        for dtype in ALL:
            x = variable(dtype, (2, 5), True, "x")
            c = Compiled([x], [pt.pad(x, ((1, 2), (0, 3)), mode=mode, **more)], (18,))
            c.run(values(dtype, (2, 5)), zero_sign=mode != "linear_ramp")


@pytest.mark.parametrize("mode", MODES)
def test_pad_dynamic_widths(mode):
    x, w = variable("float64", (3, 4), True, "x"), pt.tensor("w", shape=(2, 2), dtype="int64")
    c = Compiled([x, w], [pt.pad(x, w, mode=mode)], SOME_OPSETS)
    for v in ([[1, 2], [0, 1]], [[1, 1], [3, 1]]):
        c.run(small("float64", (3, 4), 0), v, zero_sign=mode != "linear_ramp")
    w = pt.tensor("w", shape=(), dtype="int8")
    c = Compiled([x, w], [pt.pad(x, w, mode=mode)], SOME_OPSETS)
    c.run(small("float64", (3, 4), 0), 2, zero_sign=mode != "linear_ramp")


def test_pad_values():
    for dynamic in (False, True):
        x, v = variable("float64", (3, 4), dynamic, "x"), pt.dmatrix("v")
        w = ((1, 2), (0, 3))
        out = []
        for value in ([[1, 2], [3, 4]], [5, 6], [[7]], 8, 0.5):
            out += [pt.pad(x, w, "constant", constant_values=value), pt.pad(x, w, "linear_ramp", end_values=value)]
        Compiled([x], out).run(values("float64", (3, 4)), zero_sign=False)
        out = [pt.pad(x, w, "constant", constant_values=v), pt.pad(x, w, "linear_ramp", end_values=v)]
        Compiled([x, v], out).run(small("float64", (3, 4), 0), [[1.0, 2.0], [3.0, 4.0]], zero_sign=False)
        out = [pt.pad(x, w, m, stat_length=n) for m in ("maximum", "minimum", "mean") for n in (1, 2, 9, [[1, 2], [3, 1]])]
        Compiled([x], out).run(values("float64", (3, 4)), zero_sign=False)


def test_pad_special():
    x = variable("float64", (2, 3), True, "x")
    v = np.array([[np.nan, 1, np.inf], [-np.inf, -0.0, 2]])
    for mode in ("constant", "edge", "maximum", "minimum", "reflect", "wrap"):
        Compiled([x], [pt.pad(x, 1, mode)]).run(v)
    y = pt.tensor("y", shape=(0, 3), dtype="float64")
    Compiled([y], [pt.pad(y, ((0, 1), (1, 1)))]).run(np.zeros((0, 3)))


@pytest.mark.parametrize("mode", [m for m in MODES if m not in ("constant", "mean")])
def test_pad_of_an_axis_without_elements(mode):
    """On one side only: PyTensor has nothing to make it of either. (See test_pad.py for the rest.)"""
    width = ((0, 0), (0, 2))
    c = Compiled([x := variable("float64", (3, 4), True, "x")], [pt.pad(x, width, mode=mode)])
    c.raises(np.zeros((3, 0)))
    x = variable("float64", (3, 0), False, "x")
    with pytest.raises(AssertionError, match="axis 1 is empty"):
        Compiled([x], [pt.pad(x, width, mode=mode)])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fft(dtype):
    # of norms up to 20: float64 to 1.1e-15 of it, NumPy to 0.8e-15; of float32 NumPy is 1e-7 off, here it is rounded once
    atol = 1e-14 if dtype == "float64" else 2e-6
    for shape in ((2, 1), (2, 2), (3, 7), (2, 8), (1, 6), (2, 3, 4), (2, 4, 5), (2, 3, 2, 6)):
        for dynamic in (False, True):
            x = variable(dtype, shape, dynamic, "x")
            c = Compiled([x], [fft.rfft(x), fft.rfft(x, norm="ortho"), fft.rfft_op(x, [k + 1 for k in shape[1:]])])
            c.run(values(dtype, shape, 0, -1, 1), atol=atol, zero_sign=False)
            half = (*shape[:-1], shape[-1] // 2 + 1, 2)
            y = variable(dtype, half, dynamic, "y")
            out = [fft.irfft(y, is_odd=True), fft.irfft_op(y, [k + 1 for k in shape[1:]]), fft.irfft_op(y, shape[1:])]
            c = Compiled([y], out if half[-2] == 1 else [*out, fft.irfft(y)])
            c.run(values(dtype, half, 0, -1, 1), atol=atol, zero_sign=False)
    x = variable(dtype, (3, 7), True, "x")
    c = Compiled([x], [pt.grad((fft.rfft(x) ** 2).sum(), x)])
    c.run(values(dtype, (3, 7), 0, -1, 1), atol=atol)


def exact_fft(x, n, axis):
    """NumPy's in long double, where that is more than double."""
    return np.fft.fft(np.asarray(x, "clongdouble"), n, axis)


@pytest.mark.parametrize("dynamic, opset, most", ((False, 18, 1.2e-15), (True, 18, 1.2e-15), (True, 13, 2e-15)))
def test_fft_of_any_length(dynamic, opset, most):
    """Close to the norm, where NumPy is within 0.8e-15; cut off and filled up, along any axis. DFT came with opset 17."""
    rng = np.random.default_rng(7)
    lengths = (*range(1, 41), 97, 1000, 1024, 5000, 100003) if dynamic else (1, 2, 3, 7, 8, 13, 17, 36, 1000, 5000)
    z = pt.tensor("z", dtype="complex128", shape=(None, None, None))
    n = pt.lscalar("n")
    dynamic_c = [Compiled([z, n], [fourier.fft(z, n, k)], (opset,)).sessions[opset] for k in range(3)]
    for length in lengths:
        for size in {length, max(1, length - 2), length + 3, 0} if length < 100 else {length}:
            for axis in range(3) if length < 40 else (1,):
                shape = [2, 1, 3][:axis] + [size] + [2, 3, 1][axis + 1 :]
                x = rng.normal(size=(*shape, 2)).view(complex)[..., 0]
                want = exact_fft(x, length, axis)
                pairs = np.stack([x.real, x.imag], -1)
                if dynamic:
                    s = dynamic_c[axis]
                    y = s.run(None, dict(zip((i.name for i in s.get_inputs()), (pairs, np.array(length)))))[0]
                else:
                    v = pt.tensor("z", dtype="complex128", shape=shape)
                    s = Compiled([v], [fourier.fft(v, length, axis)], (18,)).sessions[18]
                    y = s.run(None, {s.get_inputs()[0].name: pairs})[0]
                error = np.linalg.norm(y[..., 0] + 1j * y[..., 1] - want) / (np.linalg.norm(want) or 1)
                assert error < most, (length, size, axis, error)
    for length in (0, -1, -3):
        for s in dynamic_c:
            with pytest.raises(Exception, match="length|zero"):
                s.run(None, dict(zip((i.name for i in s.get_inputs()), (np.ones((2, 2, 2, 2)), np.array(length)))))


@pytest.mark.parametrize("dynamic", (False, True))
def test_rfft_of_any_length(dynamic):
    rng = np.random.default_rng(8)
    for n in (3, 9, 21, 1000, 1001):
        x = variable("float64", (3, n), dynamic, "x")
        h = variable("float64", (3, n // 2 + 1, 2), dynamic, "h")
        v = rng.normal(size=(3, n))
        want = exact_fft(v, None, 1)[:, : n // 2 + 1]
        back = np.fft.irfft(want, n) * n
        half = np.stack([want.real, want.imag], -1).astype(float)
        for i, o, value, e in (
            (x, fft.rfft(x), v, np.stack([want.real, want.imag], -1)),
            (h, fft.irfft_op(h, [n]), half, back),
            (h, fft.irfft(h, is_odd=bool(n % 2)) * n, half, back),
        ):
            s = Compiled([i], [o], (17, 18, 26)).sessions
            for session in s.values():
                y = session.run(None, {session.get_inputs()[0].name: value})[0]
                assert np.linalg.norm(y - e) / np.linalg.norm(e) < 1.2e-15


@pytest.mark.parametrize("n", (1, 2, 3, 8, 16, 17, 18, 64, 100))
def test_rfft_is_real_at_its_ends(n):
    """Not within rounding: the sign of an imaginary part that is none would turn the angle."""
    x = variable("float64", (3, n), False, "x")
    v = np.random.default_rng(n).normal(size=(3, n))
    for s in Compiled([x], [fft.rfft(x)], OPSETS).sessions.values():
        y = s.run(None, {s.get_inputs()[0].name: v})[0]
        assert not y[:, 0, 1].any() and (n % 2 or not y[:, -1, 1].any())


def test_length_that_irfft_computes_is_known():
    """2 (n - 1), put into the shape: a constant where n is. Of n = 0 PyTensor raises on every run."""
    x = pt.tensor("x", dtype="float64", shape=(3, 4, 2))
    c = Compiled([x], [fft.irfft(x)], OPSETS)
    c.run(values("float64", (3, 4, 2), 0, -1, 1), atol=2e-16, zero_sign=False)
    for session in c.sessions.values():
        assert session.get_outputs()[0].shape == [3, 6]
    for rows in (0, 3):
        x = pt.tensor("x", dtype="float64", shape=(rows, 0, 2))
        with pytest.raises(AssertionError, match="no transform to -2 numbers"):
            Compiled([x], [fft.irfft(x)], (13,))


def test_short_transforms_need_no_dft():
    x = pt.tensor("x", dtype="float64", shape=(None, 6))
    c = Compiled([x], [fft.rfft(x), fft.irfft_op(fft.rfft_op(x, [8]), [7])], OPSETS)
    for rows in (0, 1, 3):
        c.run(values("float64", (rows, 6), 0, -1, 1), atol=4e-15, zero_sign=False)


@pytest.mark.parametrize("boundary", ["wrap", "symm"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_gradients_of_borders(mode, boundary):
    """PyTensor computes the widths in a matrix that it fills element by element."""
    x, y = variable("float64", (3, 3), False, "x"), variable("float64", (4, 2), False, "y")
    if mode == "valid":
        y = variable("float64", (2, 2), False, "y")
    out = convolve2d(x, y, mode=mode, boundary=boundary)
    compare_onnx_and_py([x, y], pt.grad((out**2).sum(), [x, y]),
                        [small("float64", v.type.shape, 0) for v in (x, y)], rtol=1e-12, atol=1e-12)  # fmt: skip


@pytest.mark.parametrize("mode", ["constant", "edge", "linear_ramp", "maximum", "mean", "wrap", "symmetric", "reflect"])
def test_gradients_of_pad_as_written(mode):
    """Without PyTensor's rewrites the widths are a constant matrix, taken apart element by element."""
    x = variable("float64", (3, 4), False, "x")
    out = pt.grad((pt.pad(x, 1, mode=mode) ** 2).sum(), x)
    Compiled([x], [out], (18,)).run(small("float64", (3, 4), 0))


def test_ramps_to_positive_zero():
    """From a negative edge too the end is +0, which ONNX Runtime adds to nothing."""
    x = variable("float64", (3, 4), True, "x")
    Compiled([x], [1 / pt.pad(x, (2, 1), mode="linear_ramp")], (13, 26)).run(-np.ones((3, 4)))


INTEGERS = INTS + UINTS


def test_bartlett():
    for dtype in INTEGERS:
        m = pt.scalar("m", dtype=dtype)
        c = Compiled([m], [pt.bartlett(m)])
        for k in (0, 1, 2, 3, 7, 8):
            c.run(k)
    m = pt.lscalar("m")
    Compiled([m], [pt.bartlett(m)]).run(-3)
