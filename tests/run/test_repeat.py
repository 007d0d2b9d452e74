"""Repeat by a number for all elements or one for each."""

import numpy as np
import pytensor.tensor as pt
import pytest

import ptg
from harness import ALL, Compiled, check, values, variable

pytestmark = pytest.mark.sampled


@pytest.mark.parametrize("dtype", ALL)
def test_repeat(dtype):
    if dtype == "uint64":  # PyTensor refuses it
        return
    for rank in (1, 2):
        for axis in range(rank):
            check(lambda x: pt.repeat(x, 3, axis), [(dtype, rank)], sizes=(0, 1, 7))
    for dynamic in (False, True):
        x, r = variable(dtype, (3, 4), dynamic, "x"), pt.vector("r", dtype="int64")
        c = Compiled([x, r], [pt.repeat(x, r, 1)])
        for v in ([1, 2, 0, 3], [0, 0, 0, 0], [1, 1, 1, 1], [5, 0, 0, 0]):
            c.run(values(dtype, (3, 4)), v)
        c.raises(values(dtype, (3, 4)), [1, 2, -1, 1])
        Compiled([x], [pt.repeat(x, [1, 2, 0, 3], 1), pt.repeat(x, np.array([2]), 1)]).run(values(dtype, (3, 4)))
    x, r = variable(dtype, (7,), True, "x"), pt.vector("r", dtype="int8")
    c = Compiled([x, r], [pt.repeat(x, r, 0)])
    c.run(values(dtype, (0,)), [])
    c.run(values(dtype, (2,)), [0, 1])
    x, r = variable(dtype, (7,), True, "x"), pt.tensor("r", shape=(1,), dtype="int64")
    c = Compiled([x, r], [pt.repeat(x, r, 0)])
    c.run(values(dtype, (3,)), [2])
    c.run(values(dtype, (3,)), [0])


@pytest.mark.parametrize("rows", [None, 3, 1, 0])
def test_one_repeat_for_all(rows):
    """A vector of repeats that turns out to have one element is stretched; one row for many repeats is not."""
    x, r = pt.tensor("x", dtype="float64", shape=(rows, 2)), pt.lvector("r")
    c = Compiled([x, r], [pt.repeat(x, r, axis=0)], (13, 18))
    for n in (0, 1, 3) if rows is None else (rows,):
        for repeats in ([2], [0], [2] * n):
            c.run(np.ones((n, 2)), repeats)
        c.raises(np.ones((n, 2)), [2, 0, 0, 0])
        c.raises(np.ones((n, 2)), [1, 0] if n != 1 else [])


def test_one_long_row():
    """Memory for the result, not for as many columns as the largest number says."""
    import time

    repeats = np.ones(20_000, "int64")
    repeats[7] = 20_000
    x = np.arange(20_000.0)
    start = time.perf_counter()
    got = ptg.run("graph g(x: float64[n], r: int64[n]) -> (y) { y = Repeat{axis=0}(x, r) }", x, repeats)
    assert np.array_equal(got, np.repeat(x, repeats)) and time.perf_counter() - start < 0.5
