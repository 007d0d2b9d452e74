"""Assert and CheckAndRaise: dtypes and sizes, conditions that are made of others, values that are not used, reshapes
beside the check. Each condition that is false fails the run.
"""

import itertools

import numpy as np
import onnx
import pytensor.tensor as pt
import pytest
from pytensor.raise_op import Assert, CheckAndRaise

import ptg
from harness import SIZES, Compiled, values, variable
from ptgc import _lib
from ptgc._printer import print_graph
from opsets import SOME_OPSETS

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
    "And(All(Alloc(bool(True), Shape(x)[0], 3)), All(x > 0))": lambda x, w: (x > 0).all(),
    "All(Join{axis=0}(Alloc(bool(True), Shape(w)[0]), x > 0))": lambda x, w: (x > 0).all(),
    "All(Alloc(bool(True), Shape(x)[0])) & All(Alloc(bool(True), Shape(w)[0]))": lambda x, w: True,
    "Or(All(Alloc(bool(False), Shape(x)[0])), All(x > 0))": lambda x, w: (x > 0).all(),
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


# Of reshapes in a row ONNX Runtime makes one, and drops what is in between: not so a check.
CHECK = np.array(True), np.array(False)

BESIDE_RESHAPES = {
    "a reshape before": ("a: float64[4], c: bool[]", "y = Assert(Reshape(a, [2, 2]), c)"),
    "a new axis before": ("a: float64[4], c: bool[]", "y = Exp(Assert(ExpandDims{axis=0}(a), c))"),
    "a reshape and an axis before": (
        "a: float64[4], c: bool[]", "y = Assert(ExpandDims{axis=0}(Reshape(a, [2, 2])), c)"),
    "a new axis after": ("a: float64[4], c: bool[]", "y = ExpandDims{axis=1}(Assert(a, c))"),
    "an axis dropped after": ("a: float64[1, 4], c: bool[]", "y = Squeeze{axis=0}(Assert(a, c))"),
    "the last axis dropped": ("a: float64[1, 4], c: bool[]", "y = Squeeze{axes=(0, 1)}(Assert(a[:, :1], c))"),
    "a reshape after": ("a: float64[4], c: bool[]", "y = Reshape(Assert(a, c), [2, 2])"),
    "on both sides": ("a: float64[4], c: bool[]", "y = Reshape(Assert(Reshape(a, [4, 1]), c), [2, 2])"),
    "two checks": ("a: float64[4], c: bool[]", "y = Assert(Assert(a, a[0] > 0), c)"),
    "two checks, the first fails": ("a: float64[4], c: bool[]", "y = Assert(Assert(a, c), a[0] > 0)"),
    "two conditions": ("a: float64[4], c: bool[]", "y = ExpandDims{axis=0}(Assert(a, a[0] > 0, c))"),
    "a factor of 1 after": ("a: float64[4], c: bool[]", "y = Reshape(Assert(a, c) * 1.0, [2, 2])"),
    "nothing added before": ("a: float64[4], c: bool[]", "y = Assert(Reshape(a, [2, 2]) + 0.0, c)"),
    "small integers": ("a: int8[4], c: bool[]", "y = Reshape(Assert(a, c), [2, 2])"),
    "lengths found at run time": (
        "a: float64[4], c: bool[]",
        "y = ExpandDims{axis=0}(a[a > Switch(c, float64(0), float64(1))] + float64([1, 2, 3, 4]))"),
    "several lengths": (
        "a: float64[4], c: bool[]",
        "m = a > Switch(c, float64(0), float64(1))\n  b = ExpandDims{axis=1}(a[m]) * ExpandDims{axis=0}(a[m])\n"
        "  y = ExpandDims{axis=0}(b + float64([[1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4]]))"),
    "in a loop": (
        "a: float64[4], c: bool[]",
        "y = loop (i in 0:2, s: float64[2, 2] = float64[2, 2](0)) -> (s) {\n"
        "    next s = s + Reshape(Assert(a, c), [2, 2])\n  }"),
}


@pytest.mark.parametrize("case", BESIDE_RESHAPES)
@pytest.mark.parametrize("opset", [13, 18, 23, 26])
def test_guard_beside_reshapes(case, opset):
    params, body = BESIDE_RESHAPES[case]
    model = ptg.compile(f"ptg 1\n\ngraph g({params}) -> (y) {{\n  {body}\n}}\n", opset=opset)
    a = np.ones((1, 4) if "[1, 4]" in params else 4, "int8" if "int8" in params else "float64")
    for level in ("none", "all"):
        assert ptg.run(model, a, CHECK[0], level=level).size in (1, 4, 16)
        with pytest.raises(Exception, match="ONNXRuntimeError"):
            ptg.run(model, a, CHECK[1], level=level)
            raise AssertionError("runs")


def test_assert():
    for dtype, rank in (("float64", 2), ("float32", 0), ("int64", 1), ("bool", 1)):
        x, c = variable(dtype, (2,) * rank, True, "x"), pt.scalar("c", dtype="bool")
        f = Compiled([x, c], [Assert("no")(x, c)])
        for size in SIZES:
            f.run(values(dtype, (size,) * rank), True)
        f.raises(values(dtype, (2,) * rank), False)
    x = pt.vector("x")
    f = Compiled([x], [CheckAndRaise(ValueError, "neg")(x, pt.all(x >= 0), x.sum() < 9)])
    f.run([1.0, 2.0])
    f.run([])
    f.raises([-1.0])
    f.raises([8.0, 2.0])
    n = pt.scalar("n", dtype="int64")
    f = Compiled([x, n], [pt.zeros(Assert("n")(n, n > 1)) + x])
    f.run([1.0, 2.0], 2)
    f.raises([1.0], 1)


def test_assert_on_sizes():
    x, y = pt.vector("x"), pt.vector("y")
    size = Assert("long")(x.shape[0], pt.ge(y.shape[0], 2))
    f = Compiled([x, y], [pt.arange(size), x * 2])
    f.run([1.0, 2.0], [1.0, 2.0])
    f.raises([1.0, 2.0], [1.0])


def test_assert_for_the_specification():
    """ONNX itself has nothing that fails on purpose: the check is left out, with a warning."""
    x = variable("float64", (3,), True, "x")
    c = Compiled([x], [Assert("no")(x, pt.all(x > 0))], (18,), target="onnx")
    graph = print_graph(c.inputs, c.outputs)
    r = _lib.compile_text(graph.text, tensors=graph.tensors, opset=18, target="onnx", flags=[])
    assert any("left out" in str(d) for d in r.warnings)


def test_checks_of_constants():
    """A check of constants that holds takes no node; one that does not fails the run, or is refused."""
    text = "graph g() -> (y) {{ y = RavelMultiIndex{{mode='raise', order='F'}}(int64([1, 2, {}]), int64([2, 1, 1]), int64([3, 4])) }}".format
    want = np.ravel_multi_index(([1, 2, 1], [2, 1, 1]), (3, 4), order="F")
    for opset in OPSETS:
        assert np.array_equal(ptg.run(text(1), opset=opset), want)
        with pytest.raises(Exception, match="ONNXRuntimeError|error:"):
            ptg.run(text(3), opset=opset)
            raise AssertionError("an index out of range passes")


@pytest.mark.parametrize("opset", SOME_OPSETS)
def test_checks_that_say_the_same(opset):
    """One node fails for both, as of two distributions whose sigma is positive."""
    source = """graph g(x: float64[], y: float64[n]) -> (z) {
  z = Assert{msg="positive"}(x, x > 0) + Assert{msg="positive"}(y, All(y > 0))
}
"""
    model = ptg.compile(source, opset=opset)
    names = [n.name for n in onnx.load_model_from_string(model).graph.node]
    assert sum("positive" in name for name in names) == 1
    for n in (0, 1, 3):
        assert np.array_equal(ptg.run(model, np.float64(2), np.ones(n)), np.full(n, 3.0))
        with pytest.raises(Exception, match="positive"):
            ptg.run(model, np.float64(-1), np.ones(n))
    for bad in (-1, 0, np.nan):
        with pytest.raises(Exception, match="positive"):
            ptg.run(model, np.float64(2), np.array([1.0, bad, 1.0]))
