"""Operands that are stretched before they are broadcast (src/ort/stretch.c): the same values in all shapes."""

import numpy as np
import onnx
import pytest

import ptg
from opsets import SOME_OPSETS

SHAPES = [  # of two operands, and whether one is stretched
    ("n, 60, 3", "n, 60, 1", True), ("n, 60, 1", "n, 1, 3", True), ("1, 60, 1", "n, 1, 4", True),
    ("n, 60, 3", "n, 1, 3", True), ("n, 60, 3", "3", False), ("n, m, 2", "n, m, 1", True), ("n, 60, 5", "n, 60, 1", False),
    ("n, 60, 4, 1", "n, 60, 1, 4", False), ("n, 9, 2, 2", "n, 9, 1, 1", False), ("n, 60, 3", "", False),
    ("n, 20, 1, 1", "n, 1, 3, 1", True), ("m, 1, 60, 2", "n, 60, 1", True), ("n, 3", "n, 1", False), ("60, 3", "60, 1", False),
]  # fmt: skip
VALUES = {"x + y": np.add, "y - x": lambda x, y: y - x, "Maximum(x, y)": np.maximum, "Lt(x, y)": np.less,
          "Switch(x > 0, y, x)": lambda x, y: np.where(x > 0, y, x)}  # fmt: skip


def shape(text, sizes):
    return tuple(sizes[d.strip()] if d.strip() in sizes else int(d) for d in text.split(",") if d.strip())


@pytest.mark.parametrize("opset", SOME_OPSETS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("a, b, stretched", SHAPES)
def test_values(a, b, stretched, dtype, opset):
    outs = ", ".join(f"r{i}" for i in range(len(VALUES)))
    body = "\n".join(f"  r{i} = {text}" for i, text in enumerate(VALUES))
    text = f"graph g(x: {dtype}[{a}], y: {dtype}[{b}]) -> ({outs}) {{\n{body}\n}}\n"
    models = [ptg.compile(text, opset=opset, math="standard", options=o) for o in ((), ("-fno-stretch",))]
    assert (ptg.nodes(models[0]) > ptg.nodes(models[1])) == stretched
    rng = np.random.default_rng(0)
    for n, m in ((0, 3), (1, 1), (3, 0), (2, 5)):
        x, y = (rng.integers(-3, 4, shape(s, {"n": n, "m": m})).astype(dtype) for s in (a, b))
        for level in ("all", "none"):
            for got, want in zip(ptg.run(models[0], x, y, level=level), VALUES.values(), strict=True):
                np.testing.assert_array_equal(got, want(x, y))


def test_signs_of_zeros_stay_at_exact():
    """Where keeps them in some shapes only, which are left as they are."""
    text = "graph g(c: bool[n, 60, 1], x: float64[n, 60, 3]) -> (y) {\n  y = Switch(c, x, float64(0))\n}\n"
    c, x = np.arange(120).reshape(2, 60, 1) % 2 == 0, np.full((2, 60, 3), -0.0)
    y = ptg.run(text, c, x, math="exact")
    np.testing.assert_array_equal(np.signbit(y), np.broadcast_to(c, y.shape))


def test_in_loops_and_once():
    """A value is stretched once for all that read it, and not in a body if it is made outside."""
    text = "graph g(x: float64[n, 60, 3], y: float64[n, 60, 1]) -> (a, b) {\n  a = x - y\n  b = Exp(a) * y\n}\n"
    model = onnx.load_model_from_string(ptg.compile(text, math="standard"))
    assert [n.op_type for n in model.graph.node].count("Concat") == 1
    text = """graph g(x: float64[n, 60, 3], y: float64[n, 60, 1]) -> (s) {
  s = loop (i in 0:3, s: float64[n, 60, 3] = x) -> (s) {
    next s = Sin(s - y) * ExpandDims{axis=2}(Sum{axis=2}(s))
  }
}
"""
    rng = np.random.default_rng(1)
    for n in (0, 1, 20):
        x, y = rng.normal(size=(n, 60, 3)), rng.normal(size=(n, 60, 1))
        s = x
        for _ in range(3):
            s = np.sin(s - y) * s.sum(2, keepdims=True)
        np.testing.assert_allclose(ptg.run(text, x, y, math="standard"), s, rtol=1e-12)
