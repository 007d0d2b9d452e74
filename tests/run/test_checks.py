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
