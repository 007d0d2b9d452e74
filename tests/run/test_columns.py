"""Numbers beside columns get as many axes (src/ort/columns.c): the same values in all shapes."""

import numpy as np
import onnx
import pytest

import ptg
from opsets import SOME_OPSETS

VALUES = {"x + {k}": lambda x, k: x + k, "{k} - x": lambda x, k: k - x, "Maximum(x, {k})": np.maximum, "Lt(x, {k})": np.less,
          "Switch(x > 1, x, {k})": lambda x, k: np.where(x > 1, x, k), "Switch(x > 1, {k}, x)": lambda x, k: np.where(x > 1, k, x)}  # fmt: skip


def numbers(model):
    """The ranks of the numbers that elementwise nodes read."""
    g = onnx.load_model_from_string(model).graph
    ranks = {t.name: len(t.dims) for t in g.initializer if np.prod(t.dims) == 1}
    return {ranks[i] for n in g.node if n.op_type in ("Add", "Sub", "Max", "Less", "Greater", "Where") for i in n.input if i in ranks}


@pytest.mark.parametrize("opset", SOME_OPSETS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("dims, ranks", [("n, 1", {2}), ("n, 1, 1", {3}), ("n, 40, 1", {3}), ("n, 3", {0}), ("2, 1", {0}), ("1, 1", {0})])
def test_values(dims, ranks, dtype, opset):
    for k in (2, -1):
        body = "\n".join(f"  r{i} = {form.format(k=f'{dtype}({k})')}" for i, form in enumerate(VALUES))
        text = f"graph g(x: {dtype}[{dims}]) -> ({', '.join(f'r{i}' for i in range(len(VALUES)))}) {{\n{body}\n}}\n"
        model = ptg.compile(text, opset=opset, math="standard")
        assert numbers(model) == ranks
        for n in (0, 1, 50) if "n" in dims else (2,):
            x = np.random.default_rng(0).integers(-3, 4, [n if d == "n" else int(d) for d in dims.split(", ")]).astype(dtype)
            for level in ("all", "none"):
                for got, want in zip(ptg.run(model, x, level=level), VALUES.values(), strict=True):
                    np.testing.assert_array_equal(got, want(x, np.dtype(dtype).type(k)))


def test_signs_of_zeros_stay_at_exact():
    """Where keeps them in some shapes only, which are left as they are."""
    text = "graph g(c: bool[n, 1], x: float64[n, 1]) -> (y, z) {\n  y = Switch(c, x, float64(0))\n  z = Switch(c, float64(0), x)\n}\n"
    for n in (1, 50):
        c, x = np.arange(n).reshape(n, 1) % 2 == 0, np.full((n, 1), -0.0)
        y, z = ptg.run(text, c, x, math="exact")
        np.testing.assert_array_equal(np.signbit(y), c)
        np.testing.assert_array_equal(np.signbit(z), ~c)


def test_in_loops():
    text = """graph g(x: float64[n, 1]) -> (s) {
  s = loop (i in 0:3, s: float64[n, 1] = x) -> (s) {
    next s = s * 0.5 + 1.0
  }
}
"""
    for n in (0, 1, 50):
        x = np.ones((n, 1))
        np.testing.assert_allclose(ptg.run(text, x), ((x * 0.5 + 1) * 0.5 + 1) * 0.5 + 1)
