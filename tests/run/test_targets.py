"""--target=ort-web and --target=portable: what they refuse, and that models of them compute the same. That they run
elsewhere is seen in tests/runtimes."""

import subprocess

import numpy as np
import onnx
import pytensor
import pytensor.tensor as pt
import pytest
from harness import check_model
from ptg import PTGC, compile, nodes, run
from pytensor.tensor.fft import irfft, rfft

import ptgc
from ptgc import compile_onnx

rng = np.random.default_rng(0)
X = pt.matrix("x", dtype="float32")
N = {d: pt.vector("n", dtype=d) for d in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")}


def has_float64(model):
    def walk(g):
        yield from (v.type.tensor_type.elem_type for v in (*g.input, *g.output, *g.value_info))
        yield from (t.data_type for t in g.initializer)
        for node in g.node:
            for a in node.attribute:
                yield from walk(a.g) if a.type == a.GRAPH else [a.t.data_type] if a.type == a.TENSOR else [a.i] if a.name == "to" else []

    inferred = onnx.shape_inference.infer_shapes(onnx.load_from_string(model))
    return onnx.TensorProto.DOUBLE in walk(inferred.graph)


@pytest.mark.parametrize("opset", [13, 18, 20])
@pytest.mark.parametrize("math", ["exact", "standard", "native"])
def test_floats(opset, math):
    y = [X.sum(), X.mean(axis=0), pt.tanh(X), pt.special.softmax(X, axis=1), pt.gammaln(abs(X) + 1), pt.std(X), pt.sort(X, axis=1)]
    y += [X[1:, ::2], pt.cumsum(X, axis=1), pt.exp(X).sum(axis=1), pt.concatenate([X, X]), (X > 0).all(axis=0)]
    e = compile_onnx([X], y, target="portable", opset=opset, math=math)
    check_model(e.model)
    assert not has_float64(e.model)
    for shape in ((1, 1), (3, 4), (2, 700)):
        e.verify([np.random.default_rng(0).normal(size=shape).astype("float32")], rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", N)
def test_integers(dtype):
    n = N[dtype]
    y = [n & n, n | n, n.any(), n.all(), pt.eq(n, n[::-1]), pt.switch(n > 0, n, n[::-1]), n.astype("float32"), n.sum()]
    if dtype != "bool":
        y += [n + n, n * n, n // 3, n // n[::-1], n % 3, pt.maximum(n, n[::-1]), pt.lt(n, n[::-1])]
    e = compile_onnx([n], y, target="portable")
    check_model(e.model)
    assert not has_float64(e.model)
    top = np.iinfo(dtype).max if dtype != "bool" else 1
    for v in ([0, 1, 7 % (top + 1) if dtype != "int64" else 7, top], [1], []):
        e.verify([np.array(v).astype(dtype)])


@pytest.mark.parametrize("target", ["ort-web", "portable"])
@pytest.mark.parametrize("dtype", ["int8", "uint32"])
def test_where_has_fewer_dtypes(target, dtype):
    """ONNX Runtime Web 1.30 has Where for uint8, int32, int64 and floats alone"""
    n = N[dtype]
    model = onnx.load_from_string(compile_onnx([n], [pt.switch(n > 1, n, n + 1)], target=target).model)
    types = {i.name: i.type.tensor_type.elem_type for i in onnx.shape_inference.infer_shapes(model).graph.value_info}
    allowed = {getattr(onnx.TensorProto, t) for t in ("UINT8", "INT32", "INT64", "FLOAT", "DOUBLE")}
    assert all(types[node.input[1]] in allowed for node in model.graph.node if node.op_type == "Where")


@pytest.mark.parametrize("n", [1, 255, 256, 257, 10**6])
def test_open_sums_are_of_blocks(n):
    x = pt.vector("x", dtype="float32")
    y = compile_onnx([x], [x.sum(), x.mean()], target="portable")
    values = np.random.default_rng(1).uniform(0, 1, n).astype("float32")
    for got, want in zip(y(values), (values.sum(dtype="float64"), values.mean(dtype="float64"))):
        assert abs(got - want) <= 1e-6 * want
    assert y(values[:0])[0] == 0


def refused(*args):
    return subprocess.run([PTGC, "--target=portable", *args], capture_output=True, text=True)


def test_refusals(tmp_path):
    path = tmp_path / "m.ptg"
    path.write_text("ptg 1\ngraph main(x: float64[n]) -> (y: float64[n]) {\n  y = x * 2\n}\n")
    r = refused(str(path))
    assert r.returncode == 1 and "'x' is float64, which the target portable lacks; --float32, in Python float32=True" in r.stderr
    assert refused("--float32", str(path), "-o", str(tmp_path / "m.onnx")).returncode == 0
    r = refused("--float32", "--opset=21", str(path))
    assert r.returncode == 1 and "knows opsets up to 20, not 21" in r.stderr
    path.write_text("ptg 1\ngraph main(x: float32[n]) -> (y: int64[n]) {\n  y = Cast{int64}(Exp(Cast{float64}(x)))\n}\n")
    r = refused(str(path))
    assert r.returncode == 1 and "of float64, which the target portable lacks; --float32" in r.stderr
    path.write_text("ptg 1\ngraph main(a: uint64[k], b: uint64[k]) -> (y: uint64[k]) {\n  y = a // b\n}\n")
    r = refused(str(path))
    assert r.returncode == 1 and "the target portable has no operator Div for uint64 at opset 18" in r.stderr


@pytest.mark.parametrize("dtype", ["int64", "uint64", "uint32"])
def test_extremes_of_wide_integers(dtype):
    """as exact as elsewhere: numbers of 2^53 and more that differ by 1"""
    x = pt.matrix("x", dtype=dtype)
    y = [x.max(axis=1), x.min(axis=0), x.max(), x.argmax(axis=1), pt.max(x, axis=(0, 1), keepdims=True)]
    e = compile_onnx([x], y, target="portable")
    check_model(e.model)
    assert not has_float64(e.model)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    e.verify([np.array([[high - 1, high, high], [low + 2, low + 1, low + 2], [5, 5, high - 1]], dtype)])
    e.verify([np.array([[low + 1]], dtype)])


@pytest.mark.parametrize("opset", [13, 18, 20])
def test_transforms_in_float32(opset):
    """Lengths that are known, powers of two and primes, and those that only a run knows"""
    x, z = pt.matrix("x", dtype="float64"), pt.tensor("z", dtype="float64", shape=(None, 12))
    y = [rfft(x), irfft(rfft(x), is_odd=False), rfft(z)]
    e = compile_onnx([x, z], y, target="portable", float32=True, opset=opset)
    check_model(e.model)
    assert not has_float64(e.model)
    for n in (2, 8, 30, 254):
        e.verify([rng.normal(size=(2, n)), rng.normal(size=(3, 12))], rtol=2e-5, atol=2e-5 * n)


def test_more_in_float32():
    x, v = pt.tensor("x", dtype="float64", shape=(None, 4, 4)), pt.vector("v", dtype="float64")
    y = [pt.linalg.expm(x), pt.linalg.expm(x[0] * 3), pt.searchsorted(pt.sort(v), v), pt.prod(v, no_zeros_in_input=False)]
    e = compile_onnx([x, v], y, target="portable", float32=True)
    check_model(e.model)
    assert not has_float64(e.model)
    for n, k in ((1, 1), (3, 7)):
        e.verify([rng.normal(size=(n, 4, 4)), rng.normal(size=k)], rtol=1e-4, atol=1e-4)


def scans(graph, outer=()):
    """(what the body of each Scan reads from outside, constants apart, the sequences that it walks and does not read)"""
    constants = {t.name for t in graph.initializer} | {o for n in graph.node if n.op_type == "Constant" for o in n.output}
    for node in graph.node:
        for a in node.attribute:
            if a.type != a.GRAPH:
                continue
            yield from scans(a.g, {*outer, *constants})
            if node.op_type == "Scan":
                walked = next(b.i for b in node.attribute if b.name == "num_scan_inputs")
                own, read = reads(a.g)
                yield read - own - constants - {*outer}, {i.name for i in a.g.input[-walked:]} - read


def reads(graph):
    own = {v.name for v in [*graph.input, *graph.initializer]} | {o for n in graph.node for o in n.output}
    read = {i for n in graph.node for i in n.input if i}
    for node in graph.node:
        for a in node.attribute:
            if a.type == a.GRAPH:
                o, r = reads(a.g)
                own, read = own | o, read | r
    return own, read


@pytest.mark.parametrize("opset", [13, 18, 20])
def test_scans_of_openvino(opset):
    """Its Scan sees no values of outer blocks, and takes a sequence that no step reads for one of a single step."""
    x, a, w = pt.tensor("x", dtype="float64", shape=(5, 3)), pt.dscalar("a"), pt.dmatrix("w")

    def step(v, s, a, w):
        inner = pytensor.scan(lambda u, t: pt.tanh(t * a + u), sequences=[v], outputs_info=[s.sum()], return_updates=False)
        return pt.tanh(s * a + v @ w + inner[-1])

    s = pytensor.scan(step, sequences=[x], outputs_info=[x[0] * 0], non_sequences=[a, w], return_updates=False)
    t = pytensor.scan(lambda s, a: [s * s * a + a, s], outputs_info=[a, None], non_sequences=[a], n_steps=4, return_updates=False)
    e = compile_onnx([x, a, w], [s, s[-1], *t], target="portable", float32=True, opset=opset)
    check_model(e.model)
    graph = onnx.load_from_string(e.model).graph
    assert any(n.op_type == "Scan" for n in graph.node)
    assert all(not outside and not unread for outside, unread in scans(graph))
    e.verify([rng.normal(size=(5, 3)), np.array(0.5), rng.normal(size=(3, 3))], rtol=1e-5)
    e = compile_onnx([a], t, target="portable", float32=True, opset=opset)
    assert [n.op_type for n in onnx.load_from_string(e.model).graph.node if n.op_type in ("Scan", "Loop")] == ["Loop"]
    e.verify([np.array(0.25)], rtol=1e-6)


def test_names():
    assert ptgc.compile("ptg 1\ngraph m(x: float32[n]) -> (y: float32[n]) {\n  y = x\n}\n", target="ort-web")
    with pytest.raises(ValueError, match="ort-cpu, onnx, ort-web, portable"):
        ptgc.compile("ptg 1\n", target="web")
    text = "ptg 1\ngraph m(x: float32[n]) -> (y: float32[n]) {\n  y = Exp(x)\n}\n"
    assert nodes(compile(text, target="ort-web", math="standard")) == nodes(compile(text, math="standard"))
    assert run(compile(text, target="portable"), np.zeros(2, "float32")).tolist() == [1, 1]
