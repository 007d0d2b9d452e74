"""x ** (a - 1) as x ** a / x (rewrites.py, local_power_less_one): the numbers that PyTensor's powers are."""

import itertools

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

N = 1024
BASES = 0.0, -0.0, 1.0, 0.3, 7.5, 1e-300, 5e-324, 1e300, np.inf, np.nan, -1.0, -2.5, -np.inf
EXPONENTS = 0.0, 1.0, 2.0, 0.5, -1.0, 3.7, 1e-20, 1e17, -1e17, np.inf, np.nan


def power_and_less(dtype, mode, plus):
    x, a = pt.tensor("x", dtype=dtype, shape=(N, None)), pt.tensor("a", dtype=dtype, shape=(1, None))
    one = np.asarray(1, dtype)
    return pytensor.function([x, a], [x**a, x ** (a + -one if plus else a - one)], mode=mode)


def is_decided(f):
    return any("IfElse" in type(n.op).__name__ for n in f.maker.fgraph.apply_nodes)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values(dtype):
    f, g = power_and_less(dtype, "ONNX", True), power_and_less(dtype, "FAST_COMPILE", True)
    assert is_decided(f)
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 20, size=(N, 3)).astype(dtype)
    a = rng.normal(size=(1, 3)).astype(dtype) * 3
    close = {"rtol": 1e-6 if dtype == "float32" else 1e-15, "atol": 0}
    with np.errstate(all="ignore"):
        for got, want in zip(f(x, a), g(x, a)):
            np.testing.assert_allclose(got, want, **close)
        for base, exponent in itertools.product(BASES, EXPONENTS):
            a[0, 1], x[5, 1] = exponent, base
            for value in (x, np.full_like(x, base)):
                for got, want in zip(f(value, a), g(value, a)):
                    np.testing.assert_allclose(got, want, **close, err_msg=f"{base} ** {exponent}")
    for n in (0, 1):
        for got, want in zip(f(x[:, :n], a[:, :n]), g(x[:, :n], a[:, :n])):
            np.testing.assert_allclose(got, want, **close)


def test_gradient_of_a_power():
    """The gradient has the second power, and an Assert around the first one stays."""
    x, a, ok = pt.matrix("x", shape=(N, 2)), pt.scalar("a"), pt.scalar("ok", dtype="bool")
    y = pt.as_tensor(x) ** pytensor.raise_op.Assert("a is right")(a, ok)
    f = pytensor.function([x, a, ok], [y, pytensor.grad(y.sum(), x)], mode="ONNX")
    value = np.random.default_rng(1).uniform(0, 2, size=(N, 2))
    got = f(value, 2.5, True)
    np.testing.assert_allclose(got[0], value**2.5, rtol=1e-14)
    np.testing.assert_allclose(got[1], 2.5 * value**1.5, rtol=1e-14)
    with pytest.raises(AssertionError, match="a is right"):
        f(value, 2.5, False)


def test_few_elements_stay():
    x, a = pt.vector("x", shape=(30,)), pt.scalar("a")
    f = pytensor.function([x, a], [x**a, x ** (a - 1)], mode="ONNX")
    assert not is_decided(f)


@pytest.mark.parametrize("dtype", ["int8", "int32", "float32"])
def test_exponents_of_other_dtypes(dtype):
    """a - 1 wraps in int8, and float32 rounds it: x ** (a - 1) is not x ** a / x then."""
    x, a = pt.matrix("x", shape=(N, None)), pt.matrix("a", dtype=dtype, shape=(1, None))
    y = [x**a, x ** (a - np.ones((), dtype))]
    value = np.random.default_rng(2).uniform(0.9, 1.1, size=(N, 3)) ** (1e-7 if dtype == "int32" else 1)
    least = 1e-3 if dtype == "float32" else np.iinfo(dtype).min
    for got, want in zip(*(pytensor.function([x, a], y, mode=m)
        (value, np.array([[least, 3, 7]], dtype)) for m in ("ONNX", "FAST_COMPILE"))):
        np.testing.assert_allclose(got, want, rtol=1e-12)
