"""Each defence of src/ort: the numbers in ONNX Runtime, and that --target=onnx does without it."""
import numpy as np
import onnx
import pytest

import ptg

BIG = np.array([3_000_000_000, 1, -5], dtype="int64")
OTHER = np.array([1, 3_000_000_000, -4_000_000_000], dtype="int64")
ZEROS = np.array([-0.0, 0.0, 2.0])
EDGES = np.array([3.0, np.inf, 1e154])
HALF = np.array([1.0, 0.1, 2049.0], dtype="float16")

# name: (inputs, expression, their arrays, result, the operators of --target=onnx)
TABLE = {
    "largest of int64": ("x: int64[3], y: int64[3]", "Maximum(x, y)", (BIG, OTHER), np.maximum(BIG, OTHER), "Max"),
    "sign of int64": ("x: int64[3]", "Sign(x)", (BIG,), np.sign(BIG), "Sign"),
    "bounds of int64": ("x: int64[3]", "Clip(x, 0, 2)", (BIG,), np.clip(BIG, 0, 2), "Clip"),
    "steps of float16": ("x: float16[3]", "(x + 1) * x", (HALF,), (HALF + np.float16(1)) * HALF, "Add Mul"),
    "choice of -0": ("c: bool[3], x: float64[3], y: float64[3]", "Switch(c, x, y)",
                     (np.array([True, False, True]), ZEROS, -ZEROS), np.array([-0.0, -0.0, 2.0]), "Where"),
    "a sum with almost 0": ("x: float64[3]", "Log(Sqr(x) + 1e-300)", (ZEROS,), np.log(ZEROS**2 + 1e-300), "Add Log Mul"),
    "a difference with almost 0": ("x: float64[3]", "(Sqr(x) - 1e-300) * 1e300", (0 * ZEROS,), np.full(3, -1.0), "Mul Mul Sub"),
    "a product with almost 1": ("x: float64[3]", "Sqr(x) * 1.00000001", (EDGES,), EDGES**2 * 1.00000001, "Mul Mul"),
    "a quotient by almost 1": ("x: float64[3]", "Sqr(x) / [0.99999999]", (EDGES,), EDGES**2 / 0.99999999, "Div Mul"),
    "two casts": ("x: int32[2]", "Cast{int8}(Cast{float64}(x))", (np.array([-3, 100], dtype="int32"),),
                  np.array([-3, 100], dtype="int8"), "Cast Cast"),
    "a factor that float32 cannot hold": (
        "x: float64[2, 3], y: float64[3, 2]", "0.1 * Dot(x, y)", (np.ones((2, 3)), np.full((3, 2), 1 / 3)),
        0.1 * (np.ones((2, 3)) @ np.full((3, 2), 1 / 3)), "MatMul Mul"),
}


def text(name):
    given, expression = TABLE[name][:2]
    return f"ptg 1\n\ngraph g({given}) -> (r) {{\n  r = {expression}\n}}\n"


def operators(name, target):
    graph = onnx.load_model_from_string(ptg.compile(text(name), target=target)).graph
    return " ".join(sorted(n.op_type for n in graph.node))


@pytest.mark.parametrize("name", TABLE)
def test_numbers(name):
    _, _, given, wanted, _ = TABLE[name]
    got = ptg.run(text(name), *given)
    assert got.dtype == wanted.dtype
    assert got.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", TABLE)
def test_plain_for_onnx(name):
    assert operators(name, "onnx") == TABLE[name][4]
    assert operators(name, "ort-cpu") != TABLE[name][4]


def test_indices_that_count():
    """A Gather with a Range is no Slice, which would take what there is."""
    model = "ptg 1\n\ngraph g(x: float64[n], k: int64[]) -> (r) {\n  r = x[ARange{dtype=int64}(0, k, 1)]\n}\n"
    assert ptg.run(model, np.arange(3.0), np.int64(2)).tolist() == [0, 1]
    with pytest.raises(Exception, match="out of data bounds|indices element"):
        ptg.run(model, np.arange(3.0), np.int64(5))
