"""Integers to negative powers: NumPy raises, so the run of the model fails, or the model is refused."""

import numpy as np
import pytensor.tensor as pt
import pytest

import ptg
from harness import Compiled
from opsets import SOME_OPSETS

OPSETS = SOME_OPSETS

SIGNED = ("int8", "int16", "int32", "int64")


@pytest.mark.parametrize("base", ["bool", "uint8", *SIGNED])
@pytest.mark.parametrize("exponent", SIGNED)
def test_integers_to_negative_powers(base, exponent):
    x, e = pt.vector("x", dtype=base), pt.vector("e", dtype=exponent)
    c = Compiled([x, e], [x**e], OPSETS)
    low = int(np.iinfo(exponent).min)
    c.run([0, 1, 1, 0, 1], [0, 0, 1, 5, 7])
    c.run([], [])
    for a, k in [([1, 1], [0, -1]), ([0], [-1]), ([1], [low]), ([1, 0, 1], [-3, 2, 1])]:
        c.raises(np.array(a, base), np.array(k, exponent))


@pytest.mark.parametrize("base, exponent", [((), (3,)), ((3,), ()), ((3, 1), (4,)), ((2, 3), (3,)), ((), ())])
def test_negative_powers_that_are_broadcast(base, exponent):
    """An exponent that meets no base raises nothing."""
    x = pt.tensor("x", dtype="int32", shape=tuple(None if s != 1 else 1 for s in base))
    e = pt.tensor("e", dtype="int8", shape=tuple(None if s != 1 else 1 for s in exponent))
    c = Compiled([x, e], [x**e], OPSETS)
    c.run(np.full(base, -3, "int32"), np.full(exponent, 3, "int8"))
    c.raises(np.full(base, 1, "int32"), np.full(exponent, -1, "int8"))
    if 3 in base:
        c.run(np.zeros([0 if s == 3 else s for s in base][: len(base)], "int32") if base != (2, 3) else np.zeros((0, 3), "int32"),
              np.full(exponent, -1, "int8"))


def test_negative_powers_of_parts():
    x, e = pt.vector("x", dtype="int64"), pt.vector("e", dtype="int64")
    c = Compiled([x, e], [(x[:2] ** e[:2]).sum(), x**2 + abs(e)], OPSETS)
    c.run([2, 3, 4], [1, 2, -1])
    c.raises(np.array([2, 3, 4]), np.array([1, -2, 1]))


GRAPH = "graph g(x: int32[3], e: {}[3]) -> (y) {{ y = Pow(x, {}) }}".format


@pytest.mark.parametrize("exponent", ["int8(-1)", "-2", "int64([1, -7, 2])"])
def test_constant_negative_powers_are_refused(exponent):
    with pytest.raises(AssertionError, match="PTG0505") as e:
        ptg.compile(GRAPH("int8", exponent))
    assert f"the exponent is {'-1' if '-1' in exponent else '-2' if exponent == '-2' else '-7'}" in str(e.value)


@pytest.mark.parametrize("dtype, exponent", [("uint8", "e"), ("bool", "e"), ("int64", "int64([1, 0, 2])"), ("int8", "Cast{int32}(e > 0)")])
def test_powers_that_cannot_be_negative_are_not_checked(dtype, exponent):
    assert b"must not be negative" not in ptg.compile(GRAPH(dtype, exponent))
    assert b"must not be negative" in ptg.compile(GRAPH("int8", "e"))


def test_the_size_of_an_axis_is_no_negative_power():
    text = "graph g(x: int64[n]) -> (y) { y = Pow(x, Shape_i{i=0}(x)) }"
    assert b"must not be negative" not in ptg.compile(text)
    assert ptg.run(text, [2, 3]).tolist() == [4, 9]
    assert b"must not be negative" in ptg.compile(text.replace("x))", "x) - 3)"))
