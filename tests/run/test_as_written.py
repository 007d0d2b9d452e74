"""Raw nodes stay as they are written: what ptgc rewrites, folds and defends of its own nodes, it leaves alone where the
user wrote the nodes. Each pattern of the tests of rewrites is compiled without rewrites, its nodes are written as raw
nodes, and that text, compiled with all rewrites on, must have node for node the same operators, attributes and edges.
"""

import numpy as np
import onnx
import ptgc
import pytest
import test_algebra
from files import TOP

from ptgc import _lib
from ptgc._text import quote

DTYPES = {onnx.helper.np_dtype_to_tensor_dtype(np.dtype(t)): t for t in (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64").split()}  # fmt: skip
OFF = [f"fno-{name}" for name in ("fold", "cse", "reassociate", "associative", "check-dims")] + ["Wno-unused"]
PLAIN = (onnx.AttributeProto.INT, onnx.AttributeProto.FLOAT, onnx.AttributeProto.STRING, onnx.AttributeProto.INTS,
         onnx.AttributeProto.FLOATS)  # fmt: skip
BY_HAND = {
    "relu": "y = onnx.Max(x, 0)",
    "reciprocal": "y = onnx.Div(1, x)",
    "transposes": "y = onnx.Transpose(onnx.Transpose(x))",
    "casts": 'y = onnx.Cast{to=11}(onnx.Cast{to=11}(x))',
    "identity": "y = onnx.Identity(onnx.Identity(x))",
    "zero": "y = onnx.Add(x, 0)",
    "one": "y = onnx.Mul(x, 1)",
    "negatives": "y = onnx.Add(x, onnx.Neg(x))",
    "repeated": "c = onnx.Less(x, 0)\n y = onnx.Cast{to=1}(onnx.And(c, c))",
    "gemm": "y = onnx.Add(onnx.MatMul(x, onnx.Transpose(x)), float32([1, 2, 3]))",
    "softmax": "e = onnx.Exp(x)\n y = onnx.Div(e, onnx.ReduceSum{keepdims=1}(e, [1]))",
    "constants": "y = onnx.Add(x, onnx.Exp(float32([1, 2, 3])))",
    "shape": "y = onnx.Reshape(x, onnx.Add(onnx.Shape(x), 0))",
    "negative axis": "y = onnx.ReduceMax{axes=[-1]}(x)",
    "split of concat": "a, b = onnx.Split{num_outputs=2}(onnx.Concat{axis=0}(x, x))\n y = onnx.Add(a, b)",
    "expand": "y = onnx.Slice(onnx.Expand(x, [4, 3, 3]), [0], [1], [0])",
    "unsqueeze": "y = onnx.Squeeze(onnx.Unsqueeze(x, [0]), [0])",
    "wrong kernel": 'y = onnx.Cast{to=1}(onnx.Max(onnx.Cast{to=7}(x), 3))',
    "infix": "y = -(1 / (x + 0)) * 1 + -x * (2 * (3 * x))",
}


def signature(graph):
    """Operators, attributes and edges, without names"""
    number = {"": None, **{i.name: ("input", k) for k, i in enumerate(graph.input)}}
    number |= {t.name: (str(onnx.numpy_helper.to_array(t).dtype), onnx.numpy_helper.to_array(t).tolist()) for t in graph.initializer}
    out = set()
    for n in graph.node:
        attributes = sorted((a.name, str(onnx.helper.get_attribute_value(a))) for a in n.attribute)
        mine = (n.op_type, str(attributes), str([number[i] for i in n.input]))
        out.add(mine)
        number |= {o: (hash(mine), k) for k, o in enumerate(n.output)}
    return out


def literal(array, dtype):
    number = lambda x: str(bool(x)) if dtype == "bool" else repr(float(x)) if "float" in dtype else str(int(x))  # noqa: E731
    flat = f"{dtype}([{', '.join(number(x) for x in array.ravel())}])" if array.ndim else f"{dtype}({number(array)})"
    return flat if array.ndim < 2 else f"Reshape({flat}, {list(array.shape)})"


def as_raw(model):
    """A text of raw nodes that are those of the model"""
    g, lines = model.graph, []
    name = lambda n: quote(n)  # noqa: E731
    typed = lambda i: f"{name(i.name)}: {DTYPES[i.type.tensor_type.elem_type]}[" + ", ".join(  # noqa: E731
        str(d.dim_value) if d.HasField("dim_value") else quote(d.dim_param) if d.dim_param.isidentifier() else "?"
        for d in i.type.tensor_type.shape.dim) + "]"  # fmt: skip
    constants = {t.name: literal(onnx.numpy_helper.to_array(t), DTYPES[t.data_type]) for t in g.initializer}
    for n in g.node:
        values = [(a, onnx.helper.get_attribute_value(a)) for a in n.attribute]
        if n.domain or any(a.type not in PLAIN for a, _ in values):
            return None
        put = lambda v: f'"{v.decode()}"' if isinstance(v, bytes) else str(list(v)) if not isinstance(v, (int, float)) else repr(v)  # noqa: E731
        attributes = ", ".join(f"{a.name}={put(v)}" for a, v in values)
        inputs = ", ".join("None" if not i else constants.get(i) or name(i) for i in n.input)
        lines.append(f"  {', '.join(name(o) for o in n.output)} = onnx.{n.op_type}{{{attributes}}}({inputs})")
    header = f"graph g({', '.join(map(typed, g.input))}) -> ({', '.join(name(o.name) for o in g.output)}) {{"
    return "\n".join(["ptg 1", header, *lines, "}", ""])


def check(model):
    text = as_raw(model)
    if text is None:
        return False
    opset = model.opset_import[0].version
    got = onnx.load_from_string(_lib.compile_text(text, opset=opset, flags=["Wno-unused", "fno-check-dims"]).model)
    assert signature(got.graph) == signature(model.graph), text
    return True


@pytest.mark.parametrize("form", test_algebra.FORMS)
def test_algebra_forms(form):
    text = f"graph g(x: float64[n], y: float64[n]) -> (z) {{\n  z = {test_algebra.FORMS[form][0]}\n}}\n"
    assert check(onnx.load_from_string(_lib.compile_text(text, opset=18, math="native", flags=OFF).model))


@pytest.mark.parametrize("form", BY_HAND)
@pytest.mark.parametrize("math", ("exact", "standard", "native"))
def test_by_hand(form, math):
    header = "ptg 1 infix=onnx" if form == "infix" else "ptg 1"
    opset = 17 if "axes=" in BY_HAND[form] else 18
    text = f"graph g(x: float32[3, 3]) -> (y) {{\n {BY_HAND[form]}\n}}\n"
    made = {word: onnx.load_from_string(_lib.compile_text(f"{header}{word}\n{text}", opset=opset, math=math).model)
            for word in ("", " optimise")}  # fmt: skip
    written = sum(map(text.count, ("onnx.", *(("/", "+", "*", "-", "2 *") if form == "infix" else ()))))
    nodes = [n.op_type for n in made[""].graph.node]
    if form != "infix":
        assert sorted(nodes) == sorted(w.split("(")[0].split("{")[0] for w in text.split("onnx.")[1:]), written
    else:
        assert sorted(nodes) == ["Add", "Add", "Div", "Mul", "Mul", "Mul", "Mul", "Neg", "Neg"]
    if math != "exact" and form in ("relu", "reciprocal", "transposes", "identity", "zero", "gemm", "constants"):
        assert signature(made[" optimise"].graph) != signature(made[""].graph)


GOLDENS = sorted(p for p in (TOP / "tests/op").glob("*.ptg"))


@pytest.mark.parametrize("path", GOLDENS, ids=lambda p: p.stem)
def test_goldens(path):
    """Models that rewrites did change are as good: what other rewrites would make of their nodes, none makes."""
    try:
        model = onnx.load_from_string(_lib.compile_text(path.read_text(), math="exact", flags=OFF).model)
        text = as_raw(model)
    except (ptgc.CompileError, KeyError):
        pytest.skip("needs options, or has complex numbers")
    if text is None:
        pytest.skip("has blocks")
    check(model)
