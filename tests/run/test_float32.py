"""--float32: the model computes in float32 what is float64 in the text. Truth is PyTensor in float64."""

import numpy as np
import onnx
import onnxruntime as ort
import pytensor
import pytensor.tensor as pt
import pytest
from harness import check_model
from ptg import compile, run
from pytensor.conditional.op import ifelse

from ptgc import compile_onnx
from opsets import SOME_OPSETS

DOUBLE = (onnx.TensorProto.DOUBLE, onnx.TensorProto.COMPLEX128)


def wide(model):
    """what is float64 in the interface and among the weights of a model; the library may use float64 inside"""
    g = onnx.load_from_string(model).graph
    found = [v.name for v in (*g.input, *g.output) if v.type.tensor_type.elem_type in DOUBLE]
    return found + [t.name for t in g.initializer if t.data_type in DOUBLE and t.name == "w"]


def graphs():
    x, n = pt.matrix("x"), pt.lvector("n")
    w = pytensor.shared(np.linspace(-1, 1, 12).reshape(3, 4), "w")
    z = pt.tensor("z", dtype="complex128", shape=(None,))
    yield "layer", [x], [pt.tanh(x @ w + 0.1), x.sum(), pt.gammaln(abs(x) + 0.5)]
    yield "integers", [n], [n / 2, n * 0.5, pt.sqrt(n), n.mean(), pt.lt(n, 1.5), pt.eq(n, n.astype("float64")), n.astype("float64") // 2]
    yield "sums", [x], [x.sum(axis=0, acc_dtype="float64"), x.mean(axis=1), pt.cumsum(x, axis=0), x.std(), pt.arange(0.0, 2.0, 0.5)]
    yield "linear algebra", [x], [pt.linalg.cholesky(x.T @ x + 2 * pt.eye(3)), pt.linalg.det(x.T @ x + pt.eye(3))]
    s = pytensor.scan(lambda v, a: a * 0.5 + v.sum(), sequences=[x], outputs_info=[pt.constant(1.0, dtype="float64")], return_updates=False)
    yield "loop", [x], [s]
    yield "complex", [z], [z * z, abs(z), pt.exp(z)]
    yield "branch", [x], [ifelse(x.sum() > 0, x, x[:1] * 0 + 1.5)]


@pytest.mark.parametrize("opset", SOME_OPSETS)
@pytest.mark.parametrize("name, inputs, outputs", graphs(), ids=[g[0] for g in graphs()])
def test_graphs(name, inputs, outputs, opset):
    e = compile_onnx(inputs, outputs, float32=True, opset=opset)
    check_model(e.model)
    assert not wide(e.model)
    rng = np.random.default_rng(0)
    for n in (0, 1, 5):
        if n == 0 and name in ("loop", "branch", "sums", "integers"):
            continue  # PyTensor has no mean of nothing
        values = {"x": rng.normal(size=(n, 3)), "n": np.arange(n), "z": rng.normal(size=n) + 1j * rng.normal(size=n)}
        errors = e.verify([values[i.name] for i in inputs], rtol=1e-5)
        assert set(errors) == set(e.outputs) and all(v <= 1e-5 for v in errors.values())


def test_verify_says_how_far_it_is_off():
    x = pt.vector("x")
    e = compile_onnx([x], [pt.exp(x)], float32=True, output_names=["y"])
    (error,) = e.verify([np.linspace(0, 9, 50)]).values()
    assert 1e-9 < error < 1e-6
    with pytest.raises(AssertionError, match="in float32, y is off by .* of its largest number"):
        e.verify([np.linspace(0, 9, 50)], rtol=1e-12)


def test_text():
    text = """ptg 1
graph main(x: float64[n], k: int64[]) -> (y: float64[n], w: float64[2], e: float64[n]) {
  y = x * 1e-3 + k * 0.5
  w = float64([1, 2]) / k
  e = onnx.Cast{to=11}(Cast{int32}(x))
}
"""
    model = compile(text, options=("--float32",))
    assert not wide(model)
    y, w, e = run(model, np.float32([1, 2]), np.int64(3))
    assert y.dtype == w.dtype == e.dtype == np.float32
    np.testing.assert_allclose(y, [1.501, 1.502], rtol=1e-6)
    np.testing.assert_allclose(w, [1 / 3, 2 / 3], rtol=1e-6)


def test_states_and_weights(tmp_path):
    np.save(tmp_path / "w.npy", np.linspace(0, 1, 5))
    (tmp_path / "m.ptg").write_text("""ptg 1
graph main(x: float64[5]) -> (y: float64[5]) {
  state s: float64[5] = float64[5](0)
  w = file("w.npy")
  y = x * w + s
  next s = y
}
""")
    import ptgc

    model = ptgc.compile(tmp_path / "m.ptg", float32=True)
    assert not wide(model)
    s = ort.InferenceSession(model)
    y, state = s.run(None, {"x": np.ones(5, "float32")})
    np.testing.assert_allclose(y, np.linspace(0, 1, 5), rtol=1e-6)
    assert state.dtype == np.float32


def test_a_number_that_float32_does_not_hold_is_refused():
    x = pt.vector("x")
    with pytest.raises(Exception, match="1e.300 does not fit into float32"):
        compile_onnx([x], [x * 1e300], float32=True)
