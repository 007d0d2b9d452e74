"""Reshape, SplitDims and JoinDims: lengths that are given, computed or left to be found (-1), axes of length 0,
and shapes that do not fit, which fail the run.
"""

import numpy as np
import pytensor.tensor as pt
import pytest

import ptg
from harness import Compiled, check, values, variable
from opsets import SOME_OPSETS

OPSETS = SOME_OPSETS


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


@pytest.mark.parametrize("reshape", ("Reshape", "onnx.Reshape{allowzero=0}", "onnx.Reshape{allowzero=1}"))
@pytest.mark.parametrize("to", ((0, -1), (-1, 0), (3, -1), (-1, 3), (0, 0, -1), (-1,)))
@pytest.mark.parametrize("shape", ((0, 3), (2, 0), (0, 0), (2, 3)))
def test_minus_one_beside_known_zeros(reshape, to, shape):
    """Other than NumPy's, a 0 of ONNX's copies a length. A length 0 leaves -1 open for both. ONNX Runtime finds it then where
    allowzero is set, which ONNX forbids.
    """
    x = np.zeros(shape)
    text = f"graph g(x: float64[{shape[0]}, {shape[1]}]) -> (y) {{ y = {reshape}(x, {list(to)}) }}"
    try:
        want = x.reshape([shape[i] if k == 0 and "allowzero=0" in reshape else k for i, k in enumerate(to)]).shape
    except ValueError:
        with pytest.raises(AssertionError, match="cannot be reshaped|does not divide"):
            ptg.compile(text)
    else:
        assert ptg.run(text, x).shape == want


@pytest.mark.parametrize("opset", (13, 18, 26))
@pytest.mark.parametrize("given, to, want", (
    ("n, 4, k", "-1, k", lambda n, k: (4 * n, k)),
    ("n, 4, k", "k, -1", lambda n, k: (k, 4 * n)),
    ("2 * n, k", "n, -1", lambda n, k: (n, 2 * k)),
    ("2 * n, k", "-1, k, n", lambda n, k: (2, k, n)),
    ("n, k", "k, -1", lambda n, k: (k, n)),
    ("n, 3, k", "k, n, -1", lambda n, k: (k, n, 3)),
))  # fmt: skip
def test_minus_one_beside_sizes(given, to, want, opset):
    """Types say the length for -1, whichever of the others is 0. ONNX Runtime divides what is not 0, which may be
    another one: (0, 4, 0) to [-1, k] had 4 rows."""
    text = f"graph g(x: float64[{given}], a: float64[n], b: float64[k]) -> (y) {{ y = Reshape(x, MakeVector({to})) }}"
    of = {"n": 0, "k": 0}
    for of["n"] in (0, 1, 3):
        for of["k"] in (0, 1, 2):
            shape = tuple(eval(part, {}, of) for part in given.split(","))
            x = np.arange(np.prod(shape), dtype=float).reshape(shape)
            got = ptg.run(text, x, np.zeros(of["n"]), np.zeros(of["k"]), opset=opset)
            assert got.shape == want(**of), (shape, got.shape)
            assert np.array_equal(got.ravel(), x.ravel())


@pytest.mark.parametrize("x", ("int64([0, 1])", "Shape(w)", "[0.5, 1.5]"))
def test_known_elements_in_a_length_that_is_given(x):
    """The elements are known, but only the run knows whether they are as many as it asks for."""
    text = f"graph g(w: float64[n, 3], k: int64[]) -> (y) {{ y = Reshape{{ndim=1}}({x}, MakeVector{{dtype=int64}}(k)) }}"
    for k in (2, -1):
        assert ptg.run(text, np.ones((4, 3)), k).shape == (2,)
    for k in (0, 1, 3):
        with pytest.raises(Exception, match="reshape"):
            ptg.run(text, np.ones((4, 3)), k)


SPLIT = "graph g(x: float64[n, 0], p: int64[], q: int64[]) -> (y) { y = SplitDims{axis=0}(x, MakeVector{dtype=int64}(p, q)) }"


@pytest.mark.parametrize("opset", (13, 18))
def test_split_beside_an_empty_axis(opset):
    for shape in ((2, 3), (0, 0), (0, 5)):
        n = shape[0] * shape[1]
        assert ptg.run(SPLIT, np.ones((n, 0)), *shape, opset=opset).shape == (*shape, 0)


@pytest.mark.parametrize("opset", (13, 18))
@pytest.mark.parametrize("parts", ((2, 3), (2, -1), (-2, 3), (0, 5), (0, -1), (), (-1, -1)))
@pytest.mark.parametrize("n, m", ((6, 3), (7, 3), (0, 3), (6, 0), (1, 2)))
def test_split_as_numpy_reshapes(n, m, parts, opset):
    """Lengths that are known and those that only a run knows; a model that is made can be loaded."""
    shape = ", ".join(map(str, parts))
    text = "graph g(x: float64[%s]) -> (y) {{ y = SplitDims{{axis=0}}(x, int64([{}])) }}".format(shape)
    x = np.ones((n, m))
    for dims in (f"{n}, {m}", f"n, {m}"):
        try:
            want = x.reshape((*parts, m)).shape
        except ValueError:
            with pytest.raises(Exception, match="reshaped|negative lengths|Reshape|must"):
                ptg.run(text % dims, x, opset=opset)
        else:
            assert ptg.run(text % dims, x, opset=opset).shape == want


@pytest.mark.parametrize("opset", (13, 18))
def test_any_negative_length_is_to_be_found(opset):
    for dims in ("6", "n"):
        text = f"graph g(x: float64[{dims}]) -> (y) {{ y = Reshape(x, int64([3, -2])) }}"
        assert ptg.run(text, np.ones(6), opset=opset).shape == np.ones(6).reshape(3, -2).shape


@pytest.mark.parametrize("dtype", ("float64", "int8", "bool"))
def test_join_split_dims(dtype):
    for start in range(4):
        for n in range(4 - start):
            check(lambda x: pt.join_dims(x, start, n), [(dtype, 3)], sizes=(1, 2, 7))
    for dynamic in (False, True):
        x, s = variable(dtype, (6, 4, 6), dynamic, "x"), pt.lvector("s")
        out = [pt.split_dims(x, (2, 3), 0), pt.split_dims(x, (3, 1, 2), 2), pt.split_dims(x, (-1, 2), 1)]
        c = Compiled([x], out)
        c.run(values(dtype, (6, 4, 6)))
        y = variable(dtype, (6, 1), dynamic, "y")
        c = Compiled([y], [pt.split_dims(y, (), 1)])
        c.run(values(dtype, (6, 1)))
        s = pt.tensor("s", shape=(2,), dtype="int64")
        c = Compiled([x, s], [pt.split_dims(x, s, 2)])
        for v in ([2, 3], [-1, 3], [6, 1]):
            c.run(values(dtype, (6, 4, 6)), v)
        c.raises(values(dtype, (6, 4, 6)), [4, 2])
    x = variable(dtype, (0, 4), True, "x")
    Compiled([x], [pt.split_dims(x, (0, 3), 0), pt.split_dims(x, (2, 2), 1)]).run(values(dtype, (0, 4)))
