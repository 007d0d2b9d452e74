"""Running sums and products."""

import numpy as np
import pytensor.tensor as pt
import pytest

from harness import ALL, FLOATS, Compiled, check, values, variable


def refused(build, *words):
    """The graph must not compile, with a message that has these words."""
    with pytest.raises(AssertionError) as e:
        build()
    for w in words:
        assert w in str(e.value)


@pytest.mark.parametrize("dtype", ("int64", "uint64") + FLOATS)
def test_cum(dtype):
    """Every step is rounded, in the order of the elements: the bits are NumPy's."""

    def data(d, shape, seed):
        return values(d, shape, seed, -3, 3) if d != "uint64" else values(d, shape, seed)

    exact = dict(ulp=dict.fromkeys(FLOATS, 0))
    for rank in (1, 2, 3):
        for axis in range(rank):
            check(lambda x: (pt.cumsum(x, axis), pt.cumprod(x, axis)), [(dtype, rank)], data=data, **exact)
    check(lambda x: (pt.cumsum(x), pt.cumprod(x)), [(dtype, 2)], data=data, **exact)
    if dtype in FLOATS:
        x = variable(dtype, (300,), True, "x")
        Compiled([x], [pt.cumsum(x), pt.cumprod(x)]).run(values(dtype, (300,), 1, -1, 1.5), **exact)
        Compiled([x], [pt.cumsum(x[:1])]).run([-0.0], **exact)


def test_cum_special():
    for op in (pt.cumsum, pt.cumprod):
        x = pt.dvector("x")
        c = Compiled([x], [op(x)])
        c.run([1.0, -0.0, 2, np.inf, -1, -np.inf, 3, np.nan, 1])
        c.run([-0.0, -0.0])
        x = pt.lvector("x")
        c = Compiled([x], [op(x)])
        c.run([2**62, 2**62, 2**62, 3, -(2**63)])


@pytest.mark.parametrize("dtype", [d for d in ALL if d not in ("int64", "uint64", *FLOATS)])
def test_cum_lies(dtype):
    for op in (pt.cumsum, pt.cumprod):
        x = variable(dtype, (3,), True, "x")
        refused(lambda: Compiled([x], [op(x)], (18,)), "int64")
        Compiled([x], [op(x.astype("int64"))]).run(values(dtype, (9,)))
