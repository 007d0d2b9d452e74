"""Masks whose numbers of hits are known at run time only, together with other index arrays."""

import numpy as np
import pytest
from ptg import run

TWO = "ptg 1\ngraph g(x: float64[?, ?]) -> (y) { y = x[Gt(x[:, 0], 2), Gt(x[0], 2)] }\n"


def expected(x):
    return x[x[:, 0] > 2, x[0] > 2]


@pytest.mark.parametrize("opset", (13, 18, 26))
def test_two_masks(opset):
    for x in (np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3) + 2, np.zeros((2, 3))):
        got = run(TWO, x, opset=opset)
        assert got.shape == expected(x).shape and np.array_equal(got, expected(x))


@pytest.mark.parametrize("opset", (13, 18, 26))
def test_numbers_of_hits_that_do_not_fit(opset):
    for x in (np.arange(6.0).reshape(2, 3) + 3, np.arange(12.0).reshape(4, 3)):
        with pytest.raises(IndexError):
            expected(x)
        with pytest.raises(Exception, match="index arrays must broadcast together"):
            run(TWO, x, opset=opset)
