"""Lengths that only a run knows, and those that constants alone decide: they are checked, cut, joined and
stretched as NumPy does it, and what onnx infers of them agrees with the model.
"""

import subprocess

import numpy as np
import onnx
import pytensor
import pytensor.tensor as pt
import pytest

import ptg
from harness import PYTHON
from opsets import SOME_OPSETS

OPSETS = (13, 15, 18, 26)

# Lengths that constants alone decide: ONNX Runtime computes them when it loads the model, which must
# not fail. (statement, does the run give x?)
CONSTANTS = [
    ("SpecifyShape(x, Sum(z))", False),
    ("SpecifyShape(x, Argmax{axis=None}(int64([1, 5, 2])))", False),
    ("SpecifyShape(x, Argmax{axis=None}(int64([1, 5, 2, 3, 9])))", True),
    ("x + 0 * Unique(int64([1, 2, 3, 4, 4]))", True),
    ("x + 0 * Nonzero(int64([1, 0, 3, 4, 4]))", True),
    ("SpecifyShape(x, Cast{int64}(Tan(float64(0)) + 3))", False),
    ("SpecifyShape(x, Cast{int64}(Tan(float64(0)) + 4))", True),
    ("SpecifyShape(x, Cast{int64}(Sqrt(float64(16))))", True),
]


@pytest.mark.parametrize("statement, right", CONSTANTS)
@pytest.mark.parametrize("opset", OPSETS)
def test_lengths_of_constants(statement, right, opset):
    text = f"graph g(x: float64[4], z: uint32[k, 0]) -> (y) {{\n  y = {statement}\n}}\n"
    model = ptg.compile(text, opset=opset)
    x, z = np.arange(4.0), np.ones((2, 0), "uint32")
    for level in ("all", "none"):
        given = {"x": x, "z": z}
        s = ptg.session(model, level)
        inputs = {i.name: given[i.name] for i in s.get_inputs()}
        if right:
            np.testing.assert_array_equal(s.run(None, inputs)[0], x)
        else:
            with pytest.raises(Exception, match="ONNXRuntimeError"):
                s.run(None, inputs)


# What gives n elements, n being computed in the run: {n} is not known to be anything.
COMPUTED = {
    "Alloc": "Alloc(float64(0), n)",
    "Alloc of two axes": "Sum{axis=0}(Alloc(float64(0), int64(2), n))",
    "Alloc of a vector": "Alloc(float64[1](0), n)",
    "AllocEmpty": "AllocEmpty{dtype=float64}(n)[:].set(float64(1))",
    "Eye": "Sum{axis=0}(Eye{dtype=float64}(int64(2), n, int8(0)))",
    "square Eye": "Sum{axis=0}(Eye{dtype=float64}(n, n, int8(0)))",
    "ARange": "ARange{dtype=float64}(int8(0), n, int8(1))",
    "ARange of int64": "ARange{dtype=int64}(int8(0), n, int8(1))",
    "Repeat": "Repeat{axis=0}(float64[1](1), ExpandDims{axis=0}(n))",
    "Reshape": "Reshape{ndim=1}(many[:n], MakeVector(n))",
    "slice": "many[:n]",
    "mask": "many[many < n]",
    "Pad": 'Pad{pad_mode="constant"}(float64([1]), MakeVector(int64(0), n - 1), float64(0))',
    "update": "Alloc(int64(0), n)[int64([0])].inc(int64(1))",
    "SplitDims": "Sum{axis=0}(SplitDims{axis=0}(float64([1, 2, 3, 4, 5, 6]), MakeVector(int64(2), n)))",
    "Second": "Second(Alloc(int8(0), n), float64(1))",
    "Switch": "Switch(bool(True), Alloc(float64(0), n), float64(1))",
    "Join": "Join{axis=0}(float64([1]), Alloc(float64(1), n - 1))",
    "Bartlett": "Bartlett(n)",
    "Unique": "Unique(ARange{dtype=int64}(int8(0), n, int8(1)))",
    "diagonal": "ExtractDiag{offset=0, axis1=0, axis2=1}(Alloc(float64(1), n, n))",
    "Dot": "Dot(Alloc(float64(1), n, int64(2)), float64([1, 2]))",
    "a part of complex numbers": "Real(Alloc(complex128(1), n))",
    "Convolve1d": "Convolve1d(Alloc(float64(1), n), float64([1]), bool(True))",
}


@pytest.mark.parametrize("name", COMPUTED)
def test_computed_lengths(name):
    """A length that is computed is what it is, and not what stands beside it."""
    for declared in ("3", "?m"):
        text = (
            f"ptg 1\n\ngraph g(x: float64[{declared}], k: int32[2]) -> (y) {{\n"
            "  n = Max{axes=None}(Cast{int64}(k))\n  many = float64([0, 1, 2, 3, 4, 5, 6])\n"
            f"  y = {COMPUTED[name]} + x\n}}\n"
        )
        for opset in (13, 18):
            model = ptg.compile(text, opset=opset)
            for n in (1, 2, 3, 4):
                x, k = np.zeros(3), np.array([n, 0], "int32")
                if n == 3:
                    assert ptg.run(model, x, k).shape == (3,)
                    continue
                with pytest.raises(Exception):
                    ptg.run(model, x, k)


def test_computed_trips():
    for declared in ("3", "?m"):
        text = (
            f"ptg 1\n\ngraph g(x: float64[{declared}], k: int32[2]) -> (y) {{\n  n = Max{{axes=None}}(Cast{{int64}}(k))\n"
            "  s, hs = loop (i in 0:n, s: float64[] = float64(0)) -> (s, [s1]) {\n    s1 = s + 1\n    next s = s1\n  }\n"
            "  y = hs + x + s\n}\n"
        )
        for opset in SOME_OPSETS:
            model = ptg.compile(text, opset=opset)
            assert np.array_equal(ptg.run(model, np.zeros(3), np.array([3, 0], "int32")), [4, 5, 6])
            for n in (0, 1, 2, 4):
                with pytest.raises(Exception):
                    ptg.run(model, np.zeros(3), np.array([n, 0], "int32"))


@pytest.mark.parametrize("value", ["x + x", "x[0:1]", "SpecifyShape(x[0:1], int8(1), None)"])
def test_length_that_the_runtime_finds_out_is_zero(value):
    """It drops an Expand to 1s and 0s that it computed itself, and with it the 0."""
    for declared in ("1, 2", "m, 2", "m, n"):
        zero = "(int64([[0, 2], [0, 1]])[0])[0]"
        text = f"ptg 1\n\ngraph g(x: float64[{declared}]) -> (y) {{\n  y = (Alloc(x[0], 4, Shape(x)[1]))[:{zero}, :].set({value})\n}}\n"
        got = ptg.run(ptg.compile(text), np.ones((1, 2)))
        assert np.array_equal(got, np.ones((4, 2)))


TEXT = """graph g(x: float64[n, 7, 2], k: int64[]) -> (a, b) {
  s = Shape(x)
  a = s[:k:-1] + Shape(x)
  b = Alloc(0.0, Shape_i{i=0}(x), 7, 2) + x
}
"""


@pytest.mark.parametrize("opset", SOME_OPSETS)
def test_reversed_lengths(opset):
    x = np.ones((3, 7, 2))
    a, b = ptg.run(TEXT, x, -4, opset=opset)
    assert a.tolist() == [5, 14, 5] and np.array_equal(b, x)
    for k in (0, 1):  # 2 lengths; 1, which is stretched where a type says so alone
        with pytest.raises(Exception, match="must be 3|broadcast"):
            ptg.run(TEXT, x, k, opset=opset)


def test_nested_lengths():
    """A length that is made of two parts of the one before, which is made of two: each part is looked at once."""
    joins = "".join(f"  v{i} = Join{{axis=0}}(v{i - 1}[:1], v{i - 1}[1:])\n" for i in range(1, 200))
    text = f"graph g(x: float64[n]) -> (o) {{\n  v0 = Exp(x)\n{joins}  o = v199 + x\n}}\n"
    run = subprocess.run([ptg.PTGC, "-", "-o", "-"], input=text.encode(), capture_output=True, timeout=60)
    assert run.returncode == 0, run.stderr.decode()
    x = np.arange(3.0)
    assert np.allclose(ptg.run(run.stdout, x), np.exp(x) + x, rtol=1e-15)


@pytest.mark.parametrize("opset", OPSETS)
def test_alloc_of_a_vector_at_a_computed_length(opset):
    """The two lengths must be equal: onnx.Expand alone takes a length of 1 for any."""
    text = "graph g(x: float64[?], k: int32[2]) -> (y) {\n  n = Max{axes=None}(Cast{int64}(k))\n  y = Alloc(x, 2, n)\n}\n"
    for level in ("all", "none"):
        for length in (0, 1, 2, 3):
            x = np.arange(float(length))
            for n in (0, 1, 2, 3):
                k = np.array([n, 0], "int32")
                if n == length:
                    assert np.array_equal(ptg.run(text, x, k, opset=opset, level=level), np.tile(x, (2, 1)))
                    continue
                with pytest.raises(Exception, match="must be|Expand"):
                    ptg.run(text, x, k, opset=opset, level=level)


def test_length_of_an_indexing_by_arrays():
    """Abs(Max(Switch(lengths == 1, -1, lengths))), with a check that all lengths are that one or 1. It is known, and
    the check is left out, where all are one length or 1."""
    x, i, j = pt.matrix("x"), pt.lvector("i"), pt.lvector("j")
    one = pt.tensor("one", shape=(1,), dtype="int64")
    for at, nodes in (((pt.arange(i.shape[0]), i), 0), ((i, i), 0), ((i, one), 0), ((i, j), 1)):
        f = pytensor.function([x, i, j, one], x[at].shape[0] + x[at].sum(), mode="ONNX", on_unused_input="ignore")
        checks = onnx.load_from_string(f.vm.jit_fn.model).graph.node
        assert ("broadcast" in " ".join(n.name for n in checks)) == bool(nodes)
        py = pytensor.function([x, i, j, one], x[at].shape[0] + x[at].sum(), mode=PYTHON, on_unused_input="ignore")
        for n in (0, 1, 3):
            a = np.arange(20.0).reshape(4, 5)
            args = a, np.arange(n) % 4, np.arange(n)[::-1].copy() % 4, np.array([2])
            assert np.array_equal(f(*args), py(*args))
        if nodes:
            with pytest.raises(Exception):
                f(a, np.arange(3), np.arange(2), np.array([2]))


def test_known_conditions_are_constants():
    """Comparisons of lengths that are proved, also of vectors, All and Any of them, and a Switch of equal branches."""
    text = """graph g(t: int64[n], u: int64[m]) -> (a, b, c, d, e) {
  k = Shape_i{i=0}(t)
  v = MakeVector{dtype=int64}(k, k + 1)
  a = All(v < ExpandDims{axis=0}(k + 2))
  b = Any(v > ExpandDims{axis=0}(k + 2))
  c = Switch(Eq(Shape(u), int64([1])), v >= k, bool([True]))
  d = All(v == v)
  e = All(v < Shape(u))
}
"""
    model = ptg.compile("ptg 1\n" + text)
    ops = sorted(n.op_type for n in onnx.load_from_string(model).graph.node)
    assert ops.count("Identity") == 4 and ops.count("Less") == 1
    for n, m in ((0, 0), (1, 1), (2, 9)):
        a, b, c, d, e = ptg.run(model, np.zeros(n, "int64"), np.zeros(m, "int64"))
        assert a and not b and c.tolist() == [True, True] and d and e == (n + 1 < m)
