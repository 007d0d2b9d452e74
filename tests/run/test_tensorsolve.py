"""TensorSolve and TensorInv against PyTensor."""
import numpy as np
import pytensor.tensor as pt
import pytest
from harness import Compiled
from opsets import SOME_OPSETS


@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize("axes", [None, (0,), (1, 0), (2, 0)])
def test_tensorsolve(axes, dynamic):
    rng = np.random.default_rng(1)
    moved = list(range(4))
    for k in axes or ():
        moved.remove(k)
        moved.append(k)
    square = rng.normal(size=(12, 12)).reshape(2, 6, 3, 4)
    a = np.transpose(square, np.argsort(moved))
    for dtypes in (("float64", "float64"), ("float32", "float64"), ("int32", "float64")):
        x = pt.tensor("x", dtype=dtypes[0], shape=(None,) * 4 if dynamic else a.shape)
        y = pt.tensor("y", dtype=dtypes[1], shape=(None, None) if dynamic else (2, 6))
        c = Compiled([x, y], [pt.linalg.tensorsolve(x, y, axes=axes)], opsets=SOME_OPSETS)
        c.run(np.round(a * 50) if dtypes[0] == "int32" else a, rng.normal(size=(2, 6)), atol=1e-13)  # LAPACK eliminates in another order


@pytest.mark.parametrize("dynamic", [True, False])
def test_tensorinv(dynamic):
    rng = np.random.default_rng(1)
    for shape, ind in (((2, 3, 6), 2), ((6, 3, 2), 1), ((4, 4), 1), ((2, 2, 2, 2), 2), ((1, 1, 1), 2)):
        x = pt.tensor("x", shape=tuple(None if dynamic and s != 1 else s for s in shape))
        Compiled([x], [pt.linalg.tensorinv(x, ind=ind)], opsets=SOME_OPSETS).run(rng.normal(size=shape), atol=2e-13)
