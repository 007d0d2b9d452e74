"""Conditions of Assert and CheckAndRaise that are made of others: each part that is false fails the run."""

import itertools

import numpy as np
import pytest

import ptg

OPSETS = (13, 15, 18, 21, 26)
VALUES = ("s", "x", "w", "Reshape(w, [-1])", "Reshape(x, [-1, 1])")
# conditions on x: float64[n] and w: float64[m, 2], and the same of arrays
CONDITIONS = {
    "All(x > 0)": lambda x, w: (x > 0).all(),
    "All(w > 0)": lambda x, w: (w > 0).all(),
    "And(All(x > 0), All(x < 9))": lambda x, w: (x > 0).all() and (x < 9).all(),
    "And(And(All(x > 0), All(w < 9)), All(w > 0))": lambda x, w: (x > 0).all() and (w < 9).all() and (w > 0).all(),
    "And(Sum(x) > 0, And(All(x > 0), s > 0))": lambda x, w: x.sum() > 0 and (x > 0).all(),
    "All(MakeVector(All(x > 0), All(w > 0), Sum(w) < 50))": lambda x, w: (x > 0).all() and (w > 0).all() and w.sum() < 50,
    "All(Join{axis=0}(x > 0, x < 9))": lambda x, w: (x > 0).all() and (x < 9).all(),
    "Invert(All(x < 0))": lambda x, w: not (x < 0).all(),
    "All(Any{axis=1}(w > 0))": lambda x, w: (w > 0).any(1).all(),
}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("cond", CONDITIONS)
def test_parts(cond, value):
    good = [np.array([1.0, 2, 3]), np.array([]), np.array([-1.0, 2, 3]), np.array([1.0, 2, 10]), np.array([-1.0, -2, -3])]
    pairs = [np.array([[1.0, 2], [3, 4]]), np.zeros((0, 2)), np.array([[1.0, 2], [3, -4]]), np.array([[1.0, 2], [3, 90]])]
    for dims in (("n", "m"), ("3", "2")):
        text = f"ptg 1\ngraph g(x: float64[{dims[0]}], w: float64[{dims[1]}, 2], s: float64[]) -> (y) {{\n  y = Assert{{msg='no'}}({value}, {cond}) + 1\n}}\n"
        for opset in OPSETS:
            model = ptg.compile(text, opset=opset)
            for x, w in itertools.product(good, pairs):
                if dims[0] == "3" and (len(x) != 3 or len(w) != 2):
                    continue
                v = {"s": np.array(1.0), "x": x, "w": w, VALUES[3]: w.reshape(-1), VALUES[4]: x.reshape(-1, 1)}[value]
                for level in ("all", "none") if opset in (13, 18) else ("all",):
                    if CONDITIONS[cond](x, w):
                        assert np.array_equal(ptg.run(model, x, w, np.array(1.0), level=level), v + 1)
                    else:
                        with pytest.raises(Exception, match="ONNXRuntimeError"):
                            ptg.run(model, x, w, np.array(1.0), level=level)
                            raise AssertionError(f"opset {opset}: {cond} passes with {x}, {w}")


def test_nodes():
    """A comparison, Where, ReduceSum, Reshape; and the sum of what is left."""
    text = "ptg 1\ngraph g(x: float64[n]) -> (y) {{\n  y = Assert(x, {}) + 1\n}}\n"
    assert ptg.nodes(ptg.compile(text.format("All(x > 0)"))) == 5
    assert ptg.nodes(ptg.compile(text.format("And(All(x > 0), All(x < 1))"))) == 7
    assert ptg.nodes(ptg.compile(text.format("All(MakeVector(All(x > 0), All(x < 1)))"))) == 7


PASSED_BY = {  # a way to the result that does not go through the value that is checked
    "another row of a join": "y = Join{axis=0}(T[None, :], b[None, :])[1]",
    "its shape": "y = Shape(T)",
    "the shape to fill": "y = Second(T, b)",
    "in a loop": "y = loop (i in 0:2, s: float64[3] = b) -> (s) {\n next s = 2 * Join{axis=0}(T[None, :], s[None, :])[1]\n}",
    "in a branch": "y = if b[0] > 0 {\n y = Join{axis=0}(T[None, :], b[None, :])[1]\n} else { y = a }",
    "in a branch of a loop": "y = loop (i in 0:2, s: float64[3] = b) -> ([s]) {\n r = if i > 0 {\n r = Second(T, s)\n} else { r = s }\n next s = r\n}",
}


@pytest.mark.parametrize("way", PASSED_BY)
def test_what_is_passed_by_is_checked(way):
    body = PASSED_BY[way].replace("T", 'Assert{msg="no"}(a, c)')
    for opset in (13, 18):
        model = ptg.compile(f"ptg 1\ngraph g(a: float64[3], b: float64[3], c: bool[]) -> (y) {{\n  {body}\n}}\n", opset=opset, options=("-Wno-unused",))
        ptg.run(model, np.ones(3), np.ones(3), True)
        with pytest.raises(Exception, match="assertion failed: no"):
            ptg.run(model, np.ones(3), np.ones(3), False)


def test_what_does_not_run_is_not_checked():
    model = ptg.compile('ptg 1\ngraph g(a: float64[3], c: bool[]) -> (y) {\n  y = if c {\n y = a\n} else { y = Second(Assert(a, c), 2 * a) }\n}\n')
    assert (ptg.run(model, np.ones(3), True) == 1).all()
