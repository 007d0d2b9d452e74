"""What PyTensor raises for some values only: the model's run must fail for exactly these."""
import numpy as np
import ptg
import pytensor.tensor as pt
import pytest
from harness import Compiled

OPSETS = (13, 18, 26)
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
    assert f"the exponent {'-1' if '-1' in exponent else '-2' if exponent == '-2' else '-7'}" in str(e.value)


@pytest.mark.parametrize("dtype, exponent", [("uint8", "e"), ("bool", "e"), ("int64", "int64([1, 0, 2])"), ("int8", "Cast{int32}(e > 0)")])
def test_powers_that_cannot_be_negative_are_not_checked(dtype, exponent):
    assert b"must not be negative" not in ptg.compile(GRAPH(dtype, exponent))
    assert b"must not be negative" in ptg.compile(GRAPH("int8", "e"))


def test_the_size_of_an_axis_is_no_negative_power():
    text = "graph g(x: int64[n]) -> (y) { y = Pow(x, Shape_i{i=0}(x)) }"
    assert b"must not be negative" not in ptg.compile(text)
    assert ptg.run(text, [2, 3]).tolist() == [4, 9]
    assert b"must not be negative" in ptg.compile(text.replace("x))", "x) - 3)"))


def test_a_length_that_a_zero_leaves_open():
    """NumPy works out no -1 beside a 0. Sizes are another matter: their product is known to fit."""
    x, k = pt.matrix("x"), pt.lscalar("k")
    c = Compiled([x, k], [x.reshape((k, -1)), x.reshape((-1, k, 1))], OPSETS)
    for shape in ((0, 3), (3, 0), (0, 0)):
        c.run(np.zeros(shape), 1)
        c.run(np.zeros(shape), 5)
        c.raises(np.zeros(shape), np.array(0))
    c.run(np.zeros((2, 3)), 2)
    c.raises(np.zeros((2, 3)), np.array(0))
    c.raises(np.zeros((2, 3)), np.array(4))
    c = Compiled([x], [x.reshape((x.shape[0], -1))], OPSETS)
    assert all(s.run(None, {"x": np.zeros((0, 3))})[0].shape == (0, 3) for s in c.sessions.values())


SINGULAR = [[[1, 2], [2, 4]], [[0, 0], [0, 0]], [[1, 0], [1, 0]]]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_singular_matrices(dtype):
    """NumPy's raise. PyTensor's own Solve gives NaN."""
    x = pt.tensor("x", dtype=dtype, shape=(None, None))
    t, z = pt.tensor("t", dtype=dtype, shape=(None, None, None)), pt.tensor("z", dtype=dtype, shape=(2, 1, 2))
    b = pt.tensor("b", dtype=dtype, shape=(2, 1))
    inverse, many = Compiled([x], [pt.linalg.inv(x)], OPSETS), Compiled([t], [pt.linalg.inv(t)], OPSETS)
    w = pt.tensor("w", dtype=dtype, shape=(2, 1, 2, 1))
    folded, solve = Compiled([z], [pt.linalg.tensorinv(z)], OPSETS), Compiled([w, b], [pt.linalg.tensorsolve(w, b)], OPSETS)
    good = np.array([[2, 1], [1, 3]], dtype)
    inverse.run(good)
    inverse.run(np.zeros((0, 0)))
    many.run([good, good.T + 1])
    folded.run(good[:, None])
    solve.run(good[:, None, :, None], [[1], [2]])
    for bad in np.array(SINGULAR, dtype):
        inverse.raises(bad)
        many.raises(np.array([good, bad]))
        folded.raises(bad[:, None])
        solve.raises(bad[:, None, :, None], np.ones((2, 1), dtype))
    big = np.random.default_rng(0).normal(size=(60, 60)).astype(dtype)
    big[7] = 0
    inverse.raises(big)
