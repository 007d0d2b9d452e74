"""Convolutions, Fourier transforms and borders."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.tensor.signal.conv import Convolve1d, Convolve2d, convolve1d, convolve2d

from harness import ALL, FLOATS, OPSETS, Compiled, values, variable

LOOSE = {"float16": 40, "float32": 200, "float64": 200}


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
                c.run(small(dtype, (n,), 0), small(dtype, (k,), 1), ulp=LOOSE)
    x, y, full = variable(dtype, (7,), True, "x"), variable(dtype, (3,), True, "y"), pt.scalar("full", dtype="bool")
    c = Compiled([x, y, full], [Convolve1d()(x, y, pt.scalar_from_tensor(full))], (13, 18))
    for n, k in lengths:
        for f in (False, True):
            c.run(small(dtype, (n,), 0), small(dtype, (k,), 1), f, ulp=LOOSE)
    c.raises(small(dtype, (0,), 0), small(dtype, (3,), 0), True)
    c.raises(small(dtype, (3,), 0), small(dtype, (0,), 0), False)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8"])
def test_convolve2d(dtype):
    shapes = [((7, 6), (3, 2)), ((3, 2), (7, 6)), ((1, 1), (1, 1)), ((4, 1), (2, 1))]
    for mode in ("full", "valid", "same"):
        for dynamic in (False, True):
            for a, b in shapes:
                x, y = variable(dtype, a, dynamic, "x"), variable(dtype, b, dynamic, "y")
                if mode == "same" and a < b:
                    continue
                c = Compiled([x, y], [convolve2d(x, y, mode, method="direct")], (13, 18, 26))
                c.run(small(dtype, a, 0), small(dtype, b, 1), ulp=LOOSE)
