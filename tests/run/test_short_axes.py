"""Nodes along short last axes (src/ort/short_axes.c, stretch.c): the same values for any number of rows."""

import numpy as np
import onnx
import pytest

import ptg
from opsets import SOME_OPSETS

TAKEN = (np.arange(60) * 7 % 5 - 2).tolist()
CASES = {  # dims of x, body, NumPy, the operators that show it
    "pad": ("n, 60, 3", "y = Alloc(Cast{%s}(0), Shape(x)[0], 60, 5)[:, :, 1:4].inc(x)",
            lambda x: np.pad(x, ((0, 0), (0, 0), (1, 1))), {"Pad": 1, "Transpose": 2}),
    "pad behind": ("n, m, 2", "y = Alloc(Cast{%s}(0), Shape(x)[0], Shape(x)[1], 4)[:, :, :2].inc(x)",
                   lambda x: np.pad(x, ((0, 0), (0, 0), (0, 2))), {"Pad": 1, "Transpose": 2}),
    "sum": ("n, 60, 3", "y = Sum{axis=1}(x * 2)", lambda x: (x * 2).sum(1), {"ReduceSum": 1, "Transpose": 1}),
    "sum of open length": ("n, m, 4", "y = Sum{axis=1}(x * 2)", lambda x: (x * 2).sum(1), {"ReduceSum": 1, "Transpose": 1}),
    "sum of a transpose": ("n, 3, 60", "y = Sum{axis=1}(Transpose{axes=[0, 2, 1]}(x))", lambda x: x.sum(2), {"ReduceSum": 1}),
    "short sum": ("n, 4, 4", "y = Sum{axis=1}(x * 2)", lambda x: (x * 2).sum(1), {"ReduceSum": 1, "Transpose": 1}),
    "short sum with its axis": ("n, m, 3, 2", "y = x - ExpandDims{axis=2}(Sum{axis=2}(x * 2))", lambda x: x - (x * 2).sum(2, keepdims=True),
                                {"ReduceSum": 1, "Transpose": 2}),
    "elements": ("n, 5", f"y = x[:, {TAKEN}]", lambda x: x[:, TAKEN], {"Gather": 1, "Transpose": 2}),
    "elements of rows": ("2, n, 5", f"y = Neg(x[:, :, {TAKEN}])", lambda x: -x[:, :, TAKEN], {"Gather": 1, "Transpose": 2}),
    "elements of few rows": ("n, 3, 5", f"y = x[:, :, {TAKEN}]", lambda x: x[:, :, TAKEN], {"Gather": 1, "Transpose": 0}),
    "few elements": ("n, 5", "y = x[:, [3, 1, -1]]", lambda x: x[:, [3, 1, -1]], {"Gather": 1, "Transpose": 0}),
    "rows": ("5, n", f"y = x[{TAKEN}]", lambda x: x[TAKEN], {"Gather": 1, "Transpose": 0}),
    "few short sums": ("9, 4, 4", "y = Sum{axis=1}(x * 2)", lambda x: (x * 2).sum(1), {"ReduceSum": 1, "Transpose": 0}),
    "few": ("60, 3", "y = Sum{axis=0}(x * 2)", lambda x: (x * 2).sum(0), {"ReduceSum": 1, "Transpose": 0}),
    "stretched to open length": ("60, n, 4", "y = Cast{%s}(Reshape{ndim=3}(ARange(0, 240, 1), [60, 1, 4])) - x * 2",
                                 lambda x: np.arange(240).reshape(60, 1, 4).astype(x.dtype) - x * 2, {"Expand": 1}),
    "product": ("n, 3", "y = Transpose(Dot(Cast{%s}([[1, 2, 3], [4, 5, 6]]), Transpose(x))) + 1",
                lambda x: x @ np.array([[1, 4], [2, 5], [3, 6]]).astype(x.dtype) + 1, {"Transpose": 0}),
}  # fmt: skip


@pytest.mark.parametrize("opset", SOME_OPSETS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("name", CASES)
def test_values(name, dtype, opset):
    dims, body, want, counts = CASES[name]
    body = body % dtype if "%s" in body else body
    text = f"graph g(x: {dtype}[{dims}]) -> (y) {{\n  {body}\n}}\n"
    model = ptg.compile(text, opset=opset, math="standard")
    found = [n.op_type for n in onnx.load_model_from_string(model).graph.node]
    if dtype == "float64":
        assert {op: found.count(op) for op in counts} == counts, found
    rng = np.random.default_rng(0)
    for n, m in ((1, 1), (3, 40), (70, 7), (0, 3), (2, 0)):
        shape = [{"n": n, "m": m}.get(d.strip()) or (int(d) if d.strip().isdigit() else 0) for d in dims.split(",")]
        x = rng.integers(-9, 10, shape).astype(dtype)
        for level in ("all", "none"):
            got = ptg.run(model, x, level=level)
            assert got.dtype == want(x).dtype and got.shape == want(x).shape
            np.testing.assert_allclose(got, want(x), rtol=1e-12 if dtype == "float64" else 1e-5)
