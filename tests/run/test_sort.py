"""Sort, ArgSort, Unique and SearchSorted: every dtype, NaN, ties, axes without elements."""

import numpy as np
import pytensor.tensor as pt
import pytest

from harness import ALL, FLOATS, SIZES, Compiled, check, values, variable
from opsets import SOME_OPSETS

pytestmark = pytest.mark.sampled


def nan_data(d, shape, seed):
    v = values(d, shape, seed)
    if np.dtype(d).kind == "f" and v.size > 4:
        rng = np.random.default_rng(seed)
        v.ravel()[rng.integers(0, v.size, v.size)] = rng.choice([np.nan, np.inf, -np.inf, 1, 1, 2], v.size)
    return v


@pytest.mark.parametrize("dtype", ALL)
def test_sort(dtype):
    for rank in (1, 2, 3):
        for axis in range(rank):
            check(lambda x: (pt.sort(x, axis), pt.argsort(x, axis, kind="stable")), [(dtype, rank)], data=nan_data, zero_sign=False)
    check(lambda x: (pt.sort(x, None), pt.argsort(x, None, kind="mergesort")), [(dtype, 2)], data=nan_data, zero_sign=False)
    x = variable(dtype, (200,), True, "x")
    c = Compiled([x], [pt.sort(x), pt.argsort(x, kind="stable"), x[pt.argsort(x)]])
    for seed in range(5):
        c.run(nan_data(dtype, (200,), seed), zero_sign=False)


@pytest.mark.parametrize("dtype", ALL)
def test_unique(dtype):
    for rank in (1, 2):
        check(lambda x: pt.unique(x), [(dtype, rank)], data=nan_data, zero_sign=False)
        check(lambda x: pt.unique(x, True, True, True), [(dtype, rank)], data=nan_data, zero_sign=False)
        check(lambda x: pt.unique(x, False, True, False), [(dtype, rank)], data=nan_data, zero_sign=False)
    x = variable(dtype, (200,), True, "x")
    c = Compiled([x], list(pt.unique(x, True, True, True)))
    for seed in range(5):
        c.run(nan_data(dtype, (200,), seed), zero_sign=False)
    x = variable(dtype, (3, 3), True, "x")
    for axis in (0, 1):
        c = Compiled([x], list(pt.unique(x, True, True, True, axis=axis)))
        v = values(dtype, (5, 4))
        v[3] = v[1]
        v[:, 2] = v[:, 0]
        c.run(v, zero_sign=False)


@pytest.mark.parametrize("dtype", FLOATS)
def test_unique_slices_of_floats(dtype):
    """Slices with a NaN are all different; NaN comes last, of float16 first."""
    rng = np.random.default_rng(0)
    for rank, axis in ((1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)):
        x = variable(dtype, (2, 3, 4)[:rank], True, "x")
        c = Compiled([x], list(pt.unique(x, True, True, True, axis=axis)), (13, 18))
        for shape in ((2, 3, 2), (5, 3, 1), (6, 1, 2), (1, 1, 1)):
            for pool in ([0, 1, 2.5], [0, 1, np.nan], [np.nan, np.inf, -np.inf]):
                c.run(rng.choice(np.array(pool, dtype), shape[:rank]), zero_sign=False)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint16", "float64"])
@pytest.mark.parametrize("shape,axis", [((3, 0), 0), ((0, 3), 1), ((3, 2, 0), 1), ((0, 3), 0), ((4, 2), 0), ((2, 5), 1)])
def test_unique_slices_without_elements(dtype, shape, axis):
    """ONNX Runtime's Unique ends the process there."""
    v = np.arange(np.prod(shape)).reshape(shape).astype(dtype) // 3 if dtype != "bool" else np.ones(shape, bool)
    for dynamic in (False, True):
        x = variable(dtype, shape, dynamic, "x")
        c = Compiled([x], list(pt.unique(x, True, True, True, axis=axis)), SOME_OPSETS)
        c.run(v.astype(dtype), zero_sign=False)


@pytest.mark.parametrize("dtype", ALL)
def test_searchsorted(dtype):
    for other in sorted({dtype, "float64"}):
        for side in ("left", "right"):
            for rank in (0, 1, 2):
                x, v = variable(dtype, (3,), True, "x"), variable(other, (2, 3)[:rank], True, "v")
                s = pt.lvector("s")
                c = Compiled([x, v], [pt.searchsorted(x, v, side)], SOME_OPSETS)
                d = Compiled([x, v, s], [pt.searchsorted(x, v, side, s)], (18,)) if rank else c
                for n in SIZES:
                    u, w = nan_data(dtype, (n,), n), nan_data(other, (5, 4)[:rank], 3)
                    c.run(np.sort(u), w)
                    if rank:
                        d.run(u, w, np.argsort(u))
