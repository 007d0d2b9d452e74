"""keepdims=True of the reductions, written in .ptg, gives what PyTensor's keepdims=True gives, and takes no more nodes."""

import numpy as np
import onnx
import pytensor
import pytensor.tensor as pt
import pytest

import ptg
from harness import ALL, PYTHON, compare, pairs, values

OPS = {"Sum": pt.sum, "Prod": pt.prod, "Max": pt.max, "Min": pt.min, "Mean": pt.mean, "All": pt.all, "Any": pt.any,
       "Argmax": pt.argmax, "Argmin": pt.argmin}
AXES = [None, 0, 1, -1, -3, (0, 2), [1, 2], (0, 1, 2)]
SHAPES = [(2, 3, 4), (1, 3, 1), (2, 1, 0), (0, 2, 3)]
DYNAMIC = "n, m, k"


def written(axis):
    return "" if axis is None else f"axes={axis}, "


def graph(op, dtype, dims, axis):
    return f"graph g(x: {dtype}[{dims}]) -> (y) {{ y = {op}{{{written(axis)}keepdims=True}}(x) }}"


def pytensor_gives(op, x, axis):
    v = pt.tensor("x", dtype=x.dtype, shape=(None,) * x.ndim)
    return pytensor.function([v], OPS[op](v, axis=axis, keepdims=True), mode=PYTHON)(x)


def same(text, op, x, axis, opset, math="exact"):
    try:
        want = pytensor_gives(op, x, axis)
    except ValueError:  # no element, so no maximum
        with pytest.raises(Exception, match="PTG0505|Name:|reduc|empty|zero"):
            ptg.run(text, x, opset=opset, math=math)
        return
    compare(ptg.run(text, x, opset=opset, math=math), want, f"opset {opset} {text}", {"float16": 1, "float32": 4, "float64": 8})


def data(op, dtype, shape):
    """Values whose sums and products are exact, with ties"""
    if op in ("Sum", "Mean", "Prod"):
        return values(dtype, shape, low=0 if dtype[0] == "u" else -3, high=3).round() if dtype != "bool" else values(dtype, shape)
    if op == "Min" and dtype[0] == "i":  # PyTensor's is -max(-x), where the least number is its own negative
        return np.maximum(values(dtype, shape), -np.iinfo(dtype).max)
    return values(dtype, shape)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("op", OPS)
def test_as_pytensor(op, dtype):
    for k, axis in enumerate(AXES):
        for i in (k, k + 1):
            shape = SHAPES[i % len(SHAPES)]
            x = data(op, dtype, shape)
            open_dims = DYNAMIC if 1 not in shape else ", ".join("1" if s == 1 else "?" for s in shape)
            same(graph(op, dtype, open_dims, axis), op, x, axis, (13, 26)[i % 2])
        same(graph(op, dtype, ", ".join(map(str, shape)), axis), op, x, axis, (26, 13)[k % 2])


@pytest.mark.parametrize("op", OPS)
def test_of_a_number_and_of_no_axes(op):
    for axis in (None, ()):
        x = np.array(2.5)
        same(f"graph g(x: float64[]) -> (y) {{ y = {op}{{{written(axis)}keepdims=True}}(x) }}", op, x, axis, 18)
    if op not in ("Argmax", "Argmin"):
        same(graph(op, "float32", DYNAMIC, ()), op, values("float32", (2, 3, 4)), (), 18)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("op", ["Sum", "Prod", "Mean"])
def test_of_complex_numbers(op, dtype):
    x = (np.arange(12) - 4 + 1j * np.arange(12)[::-1]).reshape(3, 4).astype(dtype)
    for axis in (None, 0, -1):
        got = ptg.run(f"graph g(x: {dtype}[n, m]) -> (y) {{ y = {op}{{{written(axis)}keepdims=True}}(x) }}", pairs(x))
        np.testing.assert_allclose(got.view(dtype)[..., 0], pytensor_gives(op, x, axis), rtol=1e-5)


def test_it_broadcasts_and_is_static():
    """The axis has length 1 in the type, so it is stretched, in loops and conditions too."""
    text = """fn Center{axis: int}(x: F[...b]) -> (y: F[...b]) {
  y = (x - Mean{axis=axis, keepdims=True}(x)) / Sqrt(Mean{axis=axis, keepdims=True}((x - Mean{axis=axis, keepdims=True}(x)) ** 2))
}
graph g(x: float64[n, m]) -> (y, z: float64[n, 1], s) {
  y = Center{axis=1}(x)
  z = Max{axis=1, keepdims=True}(x)
  s = loop (i in 0:3, s: float64[n, m] = x) -> (s) { next s = s - Sum{axis=0, keepdims=True}(s) / 7 }
}"""
    x = np.random.default_rng(1).normal(size=(3, 5))
    s = x
    for _ in range(3):
        s = s - s.sum(0, keepdims=True) / 7
    for math in ("exact", "standard", "native"):
        got = ptg.run(text, x, math=math)
        for g, w in zip(got, ((x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True), x.max(1, keepdims=True), s)):
            np.testing.assert_allclose(g, w, rtol=1e-12)


@pytest.mark.parametrize("opset", [13, 26])
@pytest.mark.parametrize("op", OPS)
def test_no_node_is_added(op, opset):
    """Beside the model without keepdims: ONNX's own attribute does it. The maximum of all elements is gathered."""
    for axis in (None, 0, 1) if op in ("Sum", "Prod", "Mean", "All", "Any") else (0, 1):
        kept = graph(op, "float64", DYNAMIC, axis)
        plain = kept.replace("keepdims=True", "keepdims=False")
        models = [onnx.load_model_from_string(ptg.compile(t, opset=opset, math="standard")) for t in (kept, plain)]
        ops = [sorted(n.op_type for n in m.graph.node) for m in models]
        assert len(ops[0]) <= len(ops[1]), f"{kept}: {ops[0]}, without keepdims {ops[1]}"


def test_not_within_another_op():
    with pytest.raises(AssertionError, match="PTG0502.*keepdims=True can only be written in a call|keepdims=True can only be written in a call"):
        ptg.compile('graph g(x: float64[n, m]) -> (y) { y = Blockwise{Sum{axis=0, keepdims=True}, "(m)->(k)"}(x) }')
