"""Masks whose numbers of hits are known at run time only, alone and together with other index arrays."""

import numpy as np
import pytensor.tensor as pt
import pytest

from harness import ALL, check
from ptg import compile, run
from opsets import SOME_OPSETS

TWO = "ptg 1\ngraph g(x: float64[?, ?]) -> (y) { y = x[Gt(x[:, 0], 2), Gt(x[0], 2)] }\n"


def expected(x):
    return x[x[:, 0] > 2, x[0] > 2]


@pytest.mark.parametrize("opset", SOME_OPSETS)
def test_two_masks(opset):
    for x in (np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3) + 2, np.zeros((2, 3))):
        got = run(TWO, x, opset=opset)
        assert got.shape == expected(x).shape and np.array_equal(got, expected(x))


@pytest.mark.parametrize("opset", SOME_OPSETS)
def test_numbers_of_hits_that_do_not_fit(opset):
    for x in (np.arange(6.0).reshape(2, 3) + 3, np.arange(12.0).reshape(4, 3)):
        with pytest.raises(IndexError):
            expected(x)
        with pytest.raises(Exception, match="index arrays must broadcast together"):
            run(TWO, x, opset=opset)


@pytest.mark.parametrize("opset", SOME_OPSETS)
def test_what_one_mask_picks_is_equally_long(opset):
    """Without a check at run time: but for the lengths of the inputs there is no Reshape."""
    text = "ptg 1\ngraph g(x: float64[n], y: float64[n, 2], z: float64[2, n], m: bool[n]) -> (a, b, c) {\n"
    text += "  a = x[m] * y[m, 0] + x[m]\n  b = x[m] - z[1, m]\n  c = Dot(z[:, m], y[m])\n}\n"
    rng = np.random.default_rng(1)
    for n in (0, 1, 5):
        for m in (rng.random(n) > 0.5, np.zeros(n, bool), np.ones(n, bool)):
            x, y, z = rng.random(n), rng.random((n, 2)), rng.random((2, n))
            for got, want in zip(run(text, x, y, z, m, opset=opset), (x[m] * y[m, 0] + x[m], x[m] - z[1, m], z[:, m] @ y[m])):
                assert got.shape == want.shape and np.allclose(got, want, 1e-15, 1e-15)
    assert opset == 13 or b"Where" not in compile(text, opset=opset)  # there lengths of inputs take one


def test_other_sizes_beside_a_mask_are_checked():
    text = "ptg 1\ngraph g(x: float64[n, n], y: float64[n, n], m: bool[n], k: int64[], l: int64[]) -> (a) {\n"
    text += "  a = x[k:, m] + y[l:, m]\n}\n"
    x, m = np.arange(9.0).reshape(3, 3), np.array([True, False, True])
    assert np.array_equal(run(text, x, x, m, np.array(1), np.array(-2)), 2 * x[1:, m])
    with pytest.raises(Exception, match="must be"):
        run(text, x, x, m, np.array(1), np.array(2))
    two = "ptg 1\ngraph g(x: float64[n], m: bool[n], k: bool[n]) -> (a) { a = x[m] + x[k] }\n"
    with pytest.raises(Exception, match="must be"):
        run(two, x[0], m, ~m)


@pytest.mark.parametrize("dtype", ALL)
def test_nonzero(dtype):
    for rank in (1, 3):
        check(lambda x: pt.nonzero(x), [(dtype, rank)])
