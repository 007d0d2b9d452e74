"""What ONNX Runtime fuses must not cost precision: float64 constants that float32 does not hold,
beside products, in normalizations and activations. Its optimizations are all on.
"""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from scipy import special

import ptg
from opsets import SOME_OPSETS

RNG = np.random.default_rng(0)
A, B, V, W = RNG.normal(size=(2, 3)), RNG.normal(size=(3, 4)), RNG.normal(size=3), RNG.normal(size=3)
A3, B3 = RNG.normal(size=(2, 2, 3)), RNG.normal(size=(2, 3, 4))
X, G, H = RNG.normal(size=(4, 8)), RNG.normal(size=8), RNG.normal(size=8)


def close(body, params, inputs, want, tol=1e-14, opsets=(13, 18, 21, 26)):
    """Static and symbolic dims. params: name -> dims."""
    for static in (False, True):
        head = ", ".join(
            f"{n}: float64[{', '.join(map(str, v.shape)) if static else dims}]" for (n, dims), v in zip(params.items(), inputs)
        )
        for opset in opsets:
            text = f"ptg 1\n\ngraph g({head}) -> (y) {{\n{body}\n}}\n"
            got = ptg.run(text, *inputs, opset=opset)
            assert got.shape == np.shape(want)
            error = np.abs(got - want) / (1 + np.abs(want))
            assert error.max(initial=0) <= tol, (opset, error.max(), text)


P = A @ B
FACTORS = {
    "float64(0.1) * Dot(a, b)": 0.1 * P,
    "Dot(float64(0.1) * a, b)": 0.1 * P,
    "Dot(a, float64(0.1) * b)": 0.1 * P,
    "Dot(a, b / float64(3))": P / 3,
    "Dot(a, b) / float64(3)": P / 3,
    "Dot(a, b) * float64(0.5)": P * 0.5,
    "Dot(a, b) * float64(1e40)": P * 1e40,
    "Dot(a, b) * float64(1e-50)": P * 1e-50,
    "Dot(a, b) / float64(1e300)": P / 1e300,
    "Transpose(Dot(a, b)) * float64(0.1)": P.T * 0.1,
    "Dot(a, b) * float64(0.5) * float64(0.1)": P * 0.5 * 0.1,
    "Dot(Transpose(b * float64(0.1)), Transpose(a))": P.T * 0.1,
    "Dot(a, b) * float64([[0.1]])": P * 0.1,
    "ExpandDims{axes=[0]}(Dot(a, b)) * float64(0.1)": P[None] * 0.1,
    "Dot(a, b) * float64(0.1) + 1": P * 0.1 + 1,
    "Neg(Dot(a, b)) * float64(0.1)": P * -0.1,
    "Dot(a, b) * float64(0.1) + Dot(a, b)": P * 0.1 + P,
    "Gemm(Dot(a, b), float64(0.1), a, b, float64(0.3))": 0.3 * P + 0.1 * P,
    "Gemm(float64[2, 4](1), float64(0.1), a, b, float64(0.3))": 0.3 + 0.1 * P,
    "Dot22Scalar(a, b, float64(0.1))": 0.1 * P,
    # the runtime computes these factors at load, and folds them then
    "Dot(a, b) * Exp(float64(0.3))": P * np.exp(0.3),
    "Dot(a, Exp(float64([[0.3]])) * b)": P * np.exp(0.3),
    "Dot(a, b) / ExpandDims{axes=(0, 1)}(Exp(Neg(float64(0.3))))": P * np.exp(0.3),
    "Dot(a, b) * Sum(float64([0.1, 0.2]))": P * (0.1 + 0.2),
}


@pytest.mark.parametrize("body", FACTORS)
def test_factor_beside_a_product(body):
    want = FACTORS[body]
    params = {"a": "2, k", "b": "k, 4"} if "[2, 4]" in body else {"a": "n, k", "b": "k, m"}
    close("y = " + body, params, (A, B), want, 1e-14 if np.abs(want).max() < 1e9 else 1)
    if np.abs(want).max() > 1e9:  # relative, where that is what counts
        assert np.allclose(ptg.run(f"ptg 1\ngraph g(a: float64[2, 3], b: float64[3, 4]) -> (y) {{\n y = {body}\n}}\n", A, B) / want, 1)


def test_factor_beside_other_products():
    close("y = float64(0.1) * (a @ b)", {"a": "p, n, k", "b": "p, k, m"}, (A3, B3), 0.1 * (A3 @ B3))
    close("y = float64(0.1) * BatchedDot(a, b)", {"a": "p, n, k", "b": "p, k, m"}, (A3, B3), 0.1 * (A3 @ B3))
    close("y = float64(0.1) * Dot(a, b)", {"a": "k", "b": "k, m"}, (V, B), 0.1 * (V @ B))
    close("y = float64(0.1) * Dot(a, b)", {"a": "k", "b": "k"}, (V, W), 0.1 * (V @ W))
    close("y = float64(0.1) * Dot(a, b)", {"a": "n, k", "b": "k"}, (A, V), 0.1 * (A @ V))
    close("y = float64(0.1) * Dot(a, b)", {"a": "n, k", "b": "k, m"}, (np.ones((2, 0)), np.ones((0, 4))), np.zeros((2, 4)))
    close("y = Dot(x, Transpose(x)) * float64(0.1) + float64(0.3)", {"x": "n, 8"}, (X,), X @ X.T * 0.1 + 0.3)


def test_factor_in_a_loop():
    body = "y = loop (i in 0:3, s: float64[n, n] = Dot(x, Transpose(x))) -> (s) {\n next s = Dot(s, s) * float64(0.001)\n}"
    want = X @ X.T
    for _ in range(3):
        want = want @ want * 0.001
    close(body, {"x": "n, 8"}, (X,), want, 1e-13)


SQUARES = ("Sqr(d)", "Pow(d, float64(2))", "d * d", "Pow(d, int8(2))")
MEAN = "ExpandDims{{axes=[1]}}(Mean{{axes=[1]}}({}))"


@pytest.mark.parametrize("square", SQUARES)
def test_normalizations(square):
    """LayerNormalization, SimplifiedLayerNormalization and others in ONNX Runtime have a float32 epsilon."""
    d = X - X.mean(-1, keepdims=True)
    layer = d / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5)
    body = f"m = {MEAN.format('x')}\nd = x - m\nv = {MEAN.format(square)}\ny = d / Sqrt(v + float64(0.00001)) * g + h"
    close(body, {"x": "n, 8", "g": "8", "h": "8"}, (X, G, H), layer * G + H)
    rms = X / np.sqrt((X * X).mean(-1, keepdims=True) + 1e-5)
    body = f"d = x\nv = {MEAN.format(square)}\ny = x / Sqrt(v + float64(0.00001)) * g"
    close(body, {"x": "n, 8", "g": "8"}, (X, G), rms * G)
    body = f"d = x\nv = {MEAN.format(square)}\ny = x * Reciprocal(Sqrt(v + float64(0.00001))) * g"
    close(body, {"x": "n, 8", "g": "8"}, (X, G), rms * G)


ACTIVATIONS = {
    "x * Sigmoid(float64(1.702) * x)": X * special.expit(1.702 * X),
    "x * Sigmoid(x)": X * special.expit(X),
    "Softmax{axes=[1]}(x * float64(0.1))": special.softmax(X * 0.1, axis=1),
    "Softmax{axes=[1]}(x / float64(3))": special.softmax(X / 3, axis=1),
    "Switch(x > 0, x, float64(0.1) * x)": np.where(X > 0, X, 0.1 * X),
    "Switch(x > 0, x, float64(0.1) * Expm1(x))": np.where(X > 0, X, 0.1 * np.expm1(X)),
    "Clip(x, float64(0.1), float64(0.7))": np.clip(X, 0.1, 0.7),
    "Minimum(Maximum(x, float64(0)), float64(0.7))": np.clip(X, 0, 0.7),
    "Clip(x * float64(0.1), float64(0.1), float64(0.7))": np.clip(X * 0.1, 0.1, 0.7),
    "Maximum(x, float64(0.1))": np.maximum(X, 0.1),
    "Maximum(x, float64(0)) * float64(0.1)": np.maximum(X, 0) * 0.1,
    "Pow(Abs(x), float64(2.1))": np.abs(X) ** 2.1,
    "Reciprocal(Sqrt(Abs(x)))": np.abs(X) ** -0.5,
    "x * float64(0.5) * (1 + Erf(x / float64(1.4142135623730951)))": X * 0.5 * (1 + special.erf(X / 2**0.5)),
    "x * float64(0.5) * (1 + Tanh(float64(0.7978845608028654) * (x + float64(0.044715) * x * x * x)))":
        X * 0.5 * (1 + np.tanh(0.7978845608028654 * (X + 0.044715 * X * X * X))),
    "(x + float64(0.1)) + float64(0.2)": X + 0.1 + 0.2,
    "(x * float64(0.1)) * float64(0.3)": X * 0.1 * 0.3,
    "x / Sqrt(float64(7))": X / 7**0.5,
    "Log1p(Exp(x * float64(0.1)))": np.log1p(np.exp(X * 0.1)),
}


@pytest.mark.parametrize("body", ACTIVATIONS)
def test_activations(body):
    close("y = " + body, {"x": "n, 8"}, (X,), ACTIVATIONS[body], 5e-15)


def test_reciprocals_keep_their_rounding():
    """ONNX Runtime makes x / y of (1 / y) * x, which rounds once less."""
    y = RNG.uniform(1, 2, 1000)
    x = RNG.normal(size=1000)
    for body in ("Reciprocal(b) * a", "(float64(1) / b) * a"):
        for opset in SOME_OPSETS:
            got = ptg.run(f"ptg 1\ngraph g(a: float64[n], b: float64[n]) -> (y) {{\n y = {body}\n}}\n", x, y, opset=opset)
            assert np.array_equal(got, (1 / y) * x), body


TRANSPOSED = {
    "Transpose{axes=(1, 0)}(a) @ v": lambda a, v: a.T @ v,
    "Squeeze{axes=(1,)}(Dot(Transpose{axes=(1, 0)}(a), ExpandDims{axes=(1,)}(v)))": lambda a, v: a.T @ v,
    "Dot(a.T, v)": lambda a, v: a.T @ v,
    "onnx.MatMul(onnx.Transpose(a), v)": lambda a, v: a.T @ v,
    "onnx.MatMul(onnx.Identity(onnx.Transpose(a)), v)": lambda a, v: a.T @ v,
    "Exp(Transpose{axes=(1, 0)}(a) @ v)": lambda a, v: np.exp(a.T @ v),
    "v @ a": lambda a, v: v @ a,
    "2.5 * (Transpose{axes=(1, 0)}(a) @ v)": lambda a, v: 2.5 * (a.T @ v),
}


@pytest.mark.parametrize("dims", ["3, 2", "n, m", "n, 2", "3, m"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("body", TRANSPOSED)
def test_transposed_matrix_times_vector(body, dtype, dims):
    """ONNX Runtime fuses the Transpose, and is wrong then."""
    text = body.replace("Dot(a.T, v)", "Dot(DimShuffle{order=[1, 0]}(a), v)")
    rng = np.random.default_rng(1)
    for opset in SOME_OPSETS:
        model = ptg.compile(f"ptg 1 optimise\n\ngraph g(a: {dtype}[{dims}], v: {dtype}[{dims.split(',')[0]}]) -> (y) {{\n  y = {text}\n}}\n", opset=opset)
        a, v = rng.normal(size=(3, 2)).astype(dtype), rng.normal(size=3).astype(dtype)
        np.testing.assert_allclose(ptg.run(model, a, v), TRANSPOSED[body](a, v), rtol=1e-5 if dtype == "float32" else 1e-12)


def test_stack_of_transposed_matrices_times_vector():
    model = ptg.compile("ptg 1\n\ngraph g(a: float64[4, 3, 2], v: float64[3]) -> (y) {\n  y = Transpose{axes=(0, 2, 1)}(a) @ v\n}\n")
    a, v = np.random.default_rng(1).normal(size=(4, 3, 2)), np.array([1.0, 2.0, 4.0])
    np.testing.assert_allclose(ptg.run(model, a, v), a.swapaxes(1, 2) @ v, rtol=1e-12)


@pytest.mark.parametrize("math", ["exact", "standard", "native"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_clip_of_relu(dtype, math):
    """ONNX Runtime makes one Clip of both, and does not load a model where they are of float64."""
    for relu in (f"Maximum(x, {dtype}(0))", "onnx.Relu(x)"):
        for opset in SOME_OPSETS:
            header = "ptg 1 optimise" if dtype == "float16" else "ptg 1"  # there is no Relu of float16
            text = f"{header}\ngraph g(x: {dtype}[n]) -> (y) {{\n  y = Clip({relu}, {dtype}(-1), {dtype}(2))\n}}\n"
            got = ptg.run(text, np.array([-3, 0.5, 3], dtype), opset=opset, math=math)
            assert got.tolist() == [0, 0.5, 2]


NOT_FUSED = {
    "v @ c.T": (V, B.T.copy(), V @ B),
    "c.T @ v": (V, B, B.T @ V),
    "Transpose{axes=[0, 2, 1]}(v) @ c": (np.swapaxes(A3, 1, 2).copy(), B3, A3 @ B3),
    "v @ Transpose{axes=[0, 2, 1]}(c)": (A3, np.swapaxes(B3, 1, 2).copy(), A3 @ B3),
    "v @ (c.T)": (A3, B.T.copy(), A3 @ B),
}


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("expression", NOT_FUSED)
def test_releases_without_a_fused_kernel(expression, static, tmp_path):
    """Releases before 1.27 load no product of float64 that is fused with a Transpose. The newest one fuses the same."""
    *inputs, want = NOT_FUSED[expression]
    head = ", ".join(f"{n}: float64[{', '.join(str(d) if static else '?' for d in x.shape)}]" for n, x in zip("vc", inputs))
    model = ptg.compile(f"ptg 1\n\ngraph g({head}) -> (y) {{ y = {expression} }}\n", options=("--target=ort-cpu:1.20",))
    options = ort.SessionOptions()
    options.optimized_model_filepath, options.log_severity_level = str(tmp_path / "m.onnx"), 4
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, dict(zip("vc", inputs)))[0], want, 1e-13)
    assert "FusedMatMul" not in {n.op_type for n in onnx.load(tmp_path / "m.onnx").graph.node}
