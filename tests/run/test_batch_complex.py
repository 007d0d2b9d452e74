"""Blockwise of ops on complex numbers: real and imaginary parts of the whole batch, without a loop"""

import itertools

import numpy as np
import pytensor.scalar as ps
import pytensor.tensor as pt
import pytest
from pytensor.tensor.basic import AllocDiag, ExtractDiag
from pytensor.tensor.fourier import Fourier
from pytensor.tensor.linalg.inverse import MatrixInverse
from pytensor.tensor.math import Dot
from pytensor.tensor.signal.conv import Convolve1d

from test_batch_lengths import BATCHES, LO, compare

pytestmark = pytest.mark.sampled

rng = np.random.default_rng(3)
Z, U = (rng.normal(size=(4, 3, 3)) + 1j * rng.normal(size=(4, 3, 3)) for _ in range(2))
ROW, ONE, R = Z[:, 0], U[:, 0, 0], rng.normal(size=(4, 3, 3))
AT = np.array([[0, 2, 0], [1, 1, 2], [2, -1, 0], [0, 0, 0]])
LENGTH = np.full(4, 5)

# name: (the op on an item, its inputs with a batch of 4, which of them move with the batch)
FORMS = {
    "Add": (lambda x, y: x + y, (Z, ROW), ("11", "10", "01")),
    "Mul": (lambda x, y: x * y, (Z, ONE), ("11", "10", "01")),
    "True_div by reals": (lambda x, y: x / y, (ROW, R), ("11", "10", "01")),
    "Pow": (lambda x, y: x**y, (Z, ONE), ("11", "10", "01")),
    "Exp": (lambda x: pt.exp(x), (Z,), ("1",)),
    "Abs": (lambda x: abs(x), (ROW,), ("1",)),
    "Switch": (lambda c, x, y: pt.switch(c, x, y), (R > 0, Z, ONE), ("111", "100", "010")),
    "Complex": (lambda x, y: pt.complex(x, y), (R, R[:, 0, 0]), ("11", "10", "01")),
    "Sum": (lambda x: x.sum(axis=1), (Z,), ("1",)),
    "Cumsum": (lambda x: pt.cumsum(x, axis=0), (Z,), ("1",)),
    "Join": (lambda x, y: pt.join(0, x, y), (Z, R), ("11", "10", "01")),
    "Reshape": (lambda x: x.reshape((-1,)), (Z,), ("1",)),
    "AllocDiag": (lambda x: AllocDiag(axis1=0, axis2=1, offset=1)(x), (ROW,), ("1",)),
    "ExtractDiag": (lambda x: ExtractDiag()(x), (Z,), ("1",)),
    "Alloc": (lambda x: pt.alloc(x, 2, 3), (ROW,), ("1",)),
    "x[a:b]": (lambda x, a, b: x[a:b], (Z, LO % 2, LO % 2 + 2), ("111", "100", "011")),
    "x[idx].inc(y)": (lambda x, y, i: x[i].inc(y), (Z, ROW, AT), ("111", "001")),
    "x[i].set(y)": (lambda x, y, i: x[i].set(y), (Z, R[:, 0], AT[:, 0]), ("111", "001", "010")),
    "Matmul": (lambda x, y: Dot()(x, y), (Z, R), ("11", "10", "01")),
    "Kron": (lambda x, y: pt.linalg.kron(x, y), (Z, U), ("11", "10")),
    "MatrixInverse": (lambda x: MatrixInverse()(x), (Z,), ("1",)),
    "Convolve1d": (lambda x, y: Convolve1d()(x, y, ps.as_scalar(np.bool_(True))), (ROW, U[:, 1]), ("11", "10", "01")),
    "Fourier": (lambda x: Fourier()(x, 3, 0), (Z,), ("1",)),
    "Fourier of reals": (lambda x, n: Fourier()(x, n, 1), (R, LENGTH), ("11", "10", "01")),
    "Fourier of another length": (lambda x, n: Fourier()(x, n, 1), (Z, LENGTH), ("11", "10", "01")),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_pairs_of_the_whole_batch(name):
    f, values, patterns = FORMS[name]
    for moves, (k, (batch, kind)) in itertools.product(patterns, enumerate(BATCHES)):
        opset = (26, 18, 13)[k % 3]
        if 0 in batch and name.startswith("Fourier"):  # PyTensor refuses batches of none
            continue
        compare(f, values, moves, batch, kind, opset, loops=name == "Pow" or ("inc" in name and opset < 16), tolerance=1e-12)
