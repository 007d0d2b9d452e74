"""Ops that put matrices together, against PyTensor, at all opsets."""

import pytest
from pytensor.tensor.linalg import BlockDiagonal

from harness import check


@pytest.mark.parametrize("dtypes", [("float32", "float32"), ("int32", "float32", "float64"), ("int8", "int64")])
def test_block_diagonal(dtypes):
    check(lambda *x: BlockDiagonal(n_inputs=len(x))(*x), [(t, 2) for t in dtypes], sizes=(0, 1, 3))
