"""int64 beside uint64: NumPy and PyTensor's Python mode compare them exactly, without a common dtype."""

import operator

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

import ptg
from opsets import SOME_OPSETS

SIGNED = np.array([-(2**63), -(2**53) - 1, -1, 0, 1, 2**53, 2**53 + 1, 2**63 - 1], "int64")
UNSIGNED = np.array([0, 1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1], "uint64")
OPS = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@pytest.mark.parametrize("opset", SOME_OPSETS)
@pytest.mark.parametrize("op", OPS)
def test_mixed(op, opset):
    s, u = (m.ravel() for m in np.meshgrid(SIGNED, UNSIGNED))
    a, b = pt.lvector("a"), pt.vector("b", dtype="uint64")
    call = {"==": pt.eq, "!=": pt.neq}.get(op, OPS[op])
    oracle = pytensor.function([a, b], [call(a, b), call(b, a)], mode=pytensor.compile.mode.Mode("py", None))
    model = ptg.compile(f"graph g(a: int64[n], b: uint64[n]) -> (x, y) {{\n  x = a {op} b\n  y = b {op} a\n}}", opset=opset)
    for got, want, exact in zip(ptg.run(model, s, u), oracle(s, u), (OPS[op](s, u), OPS[op](u, s)), strict=True):
        assert got.dtype == bool and np.array_equal(got, want) and np.array_equal(got, exact)


@pytest.mark.parametrize("value", [0, 2**53 + 1, 2**63, 2**64 - 1])
def test_with_a_constant(value):
    model = ptg.compile(f"graph g(a: int64[n]) -> (x, y) {{\n  x = a < uint64({value})\n  y = uint64({value}) == a\n}}")
    x, y = ptg.run(model, SIGNED)
    assert np.array_equal(x, SIGNED < np.uint64(value)) and np.array_equal(y, SIGNED == np.uint64(value))


@pytest.mark.parametrize("a, b, dtype", [
    ("1", "0.5", "float64"), ("1", "300", "int16"), ("True", "1", "int8"), ("True", "False", "bool"),
    ("0.5", "2.5", "float64"), ("1", "2", "int8"),
])
def test_branches_that_are_numbers(a, b, dtype):
    """Bare numbers of two branches have the dtype that PyTensor gives to constants that meet."""
    model = ptg.compile(f"graph g(c: bool[]) -> (y) {{ y = if c {{ y = {a} }} else {{ y = {b} }} }}")
    for c, want in ((True, a), (False, b)):
        got = ptg.run(model, np.array(c))
        assert got.dtype == dtype and got == eval(want)
