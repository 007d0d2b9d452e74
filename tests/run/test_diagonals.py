"""Diagonals that are read, filled or made a matrix of."""

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.tensor.basic import alloc_diag
from pytensor.tensor.extra_ops import FillDiagonal, FillDiagonalOffset

import ptg
from harness import ALL, OPSETS, SIZES, Compiled, check, values, variable

pytestmark = pytest.mark.sampled


@pytest.mark.parametrize("op", ["AllocDiag", "ExtractDiag"])
@pytest.mark.parametrize("offset", [-(2**63), -(2**31) - 1, 2**31, 2**63 - 1])
def test_diagonals_that_no_matrix_has(op, offset):
    """2^62 times a length of 4 would be 0."""
    with pytest.raises(AssertionError, match="the offset .* is more than NumPy takes"):
        ptg.compile(f"graph g(x: float64[n{', n' if op == 'ExtractDiag' else ''}]) -> (y) {{ y = {op}{{offset={offset}}}(x) }}")


@pytest.mark.parametrize("dtype", ALL)
def test_diagonals(dtype):
    shapes = [(0, 0), (1, 1), (2, 2), (7, 7), (2, 5), (5, 2), (0, 3), (3, 0), (1, 4)]
    some = dtype in ("float64", "bool")
    for k in (0, 1, -1, 2, -3, 9, -9) if some else (1, -1):
        for dynamic in (False, True):
            for shape in shapes if some else shapes[3:5]:
                x = variable(dtype, shape, dynamic, "x")
                Compiled([x], [pt.diagonal(x, k)], OPSETS if dtype == "bool" else (13, 26)).run(values(dtype, shape))
    for dynamic in (False, True):
        x = variable(dtype, (2, 3, 4), dynamic, "x")
        out = [pt.diagonal(x, k, a, b) for k in (0, 1, -1) for a, b in ((0, 1), (0, 2), (1, 2), (2, 0), (1, 0))]
        Compiled([x], out).run(values(dtype, (2, 3, 4)))
    for k in (0, 1, -1, 3, -3):
        check(lambda x: pt.diag(x, k), [(dtype, 1)], zero_sign=False, sizes=SIZES if k < 3 else (2,))
    check(lambda x: alloc_diag(x, offset=1, axis1=0, axis2=2), [(dtype, 2)], zero_sign=False)
    check(lambda x: alloc_diag(x, offset=-2, axis1=1, axis2=2), [(dtype, 2)], sizes=(2,), zero_sign=False)
    check(lambda x: alloc_diag(x, offset=0, axis1=0, axis2=1), [(dtype, 3)], sizes=(2,), zero_sign=False)


@pytest.mark.parametrize("dtype", ALL)
def test_fill_diagonal(dtype):
    shapes = [(0, 0), (1, 1), (7, 7), (2, 5), (5, 2), (0, 3), (3, 0)]
    shapes = shapes if dtype in ("float64", "bool") else shapes[3:4]
    for dynamic in (False, True):
        for shape in shapes:
            x, v, k = variable(dtype, shape, dynamic, "x"), pt.scalar("v", dtype=dtype), pt.scalar("k", dtype="int32")
            Compiled([x, v], [FillDiagonal()(x, v)]).run(values(dtype, shape), 1)
            if shape[1] == 0:
                continue
            c = Compiled([x, v, k], [FillDiagonalOffset()(x, v, k)], (13, 26))
            for offset in range(-8, 9):
                c.run(values(dtype, shape), 1, offset)
    x, v = pt.tensor("x", shape=(3, 3, 3), dtype=dtype), pt.scalar("v", dtype=dtype)
    Compiled([x, v], [FillDiagonal()(x, v)]).run(values(dtype, (3, 3, 3)), 1)
    x = pt.tensor("x", shape=(None, None, None), dtype=dtype)
    c = Compiled([x, v], [FillDiagonal()(x, v)], (13, 26))
    for size in (0, 1, 4):
        c.run(values(dtype, (size,) * 3), 1)
    c.raises(values(dtype, (3, 3, 2)), np.array(1, dtype))
    c.raises(values(dtype, (1, 2, 2)), np.array(1, dtype))
