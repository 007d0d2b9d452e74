"""Short arrays of many points (src/ort/layout_graph.c): the same values with axis 0 behind all others."""

import numpy as np
import onnx
import pytest

import ptg
from opsets import SOME_OPSETS

W = 3  # elements of a row
PARAMS = {"s": "p, W", "v": "p, W", "d": "p, W, W", "z": "p", "c": "p, 1", "q": "W", "t": "W, W", "r": "1, W"}


def random_expressions(rng):
    """Expressions of [p], [p, W] and [p, W, W]"""
    pick = lambda *of: of[rng.integers(len(of))]  # noqa: E731

    def one(depth):
        if not depth:
            return pick("z", "z", "c[:, 0]")
        return pick(lambda: f"({one(depth - 1)} - {one(0)})", lambda: f"Sum{{axis=1}}({two(depth - 1)})", lambda: f"{two(depth - 1)}[:, {pick(0, 2)}]",
                    lambda: f"Max{{axis=1}}({two(depth - 1)})", lambda: f"Sum{{axes=[1, 2]}}({three(depth - 1)})")()  # fmt: skip

    def two(depth):
        if not depth:
            return pick("s", "v", "(s * q)", "(v + r)", "(s + c)", "(s - z[:, None])", "(v / c)")
        less = depth - 1
        return pick(
            lambda: f"({two(less)} {pick('+', '-', '*')} {two(0)} + v * 0.5)", lambda: f"Sum{{axis={pick(1, 2)}}}({three(less)})",
            lambda: f"LogSumExp{{axes=({pick(1, 2)},)}}({three(less)})", lambda: f"Max{{axis={pick(1, 2)}}}({three(less)})",
            lambda: f"Switch({two(0)} > {pick('q', 'v', 's')}, s, {two(less)})", lambda: f"({one(less)}[:, None] + s)",
            lambda: f"Join{{axis=1}}({two(less)}[:, 1:], {one(less)}[:, None])", lambda: f"Clip({two(less)} * s, -0.5, 0.5)",
            lambda: f"{three(less)}[:, {pick(0, 1)}]", lambda: f"Softmax{{axis=1}}({two(less)})",
            lambda: f"Join{{axis=1}}({two(less)}, s)[:, [4, 0, 2]]", lambda: f"{two(less)}[:, 1:].inc({one(less)}[:, None])",
        )()  # fmt: skip

    def three(depth):
        if not depth:
            return pick("(s[:, None] + d)", "(v[:, :, None] * d)", "(d - t)", "d")
        less = depth - 1
        return pick(
            lambda: f"({three(less)} + {two(less)}[:, None, :])", lambda: f"({pick('d', 't')} * {two(0)}[:, :, None] - {three(less)})",
            lambda: f"Transpose{{axes=[0, 2, 1]}}({three(less)})", lambda: f"Exp(-Abs({three(less)}))",
            lambda: f"Softmax{{axis={pick(1, 2)}}}({three(less)})", lambda: f"Reshape(Reshape({three(less)}, [Shape(d)[0], 9]) * 2, Shape(d))",
            lambda: f"Dot(Transpose{{axes=[1, 0]}}({two(less)}), {two(0)})[None] + {three(less)}",
            lambda: f"Transpose{{axes=[2, 0, 1]}}(Transpose{{axes=[1, 2, 0]}}({three(less)}) * 2)",
        )()  # fmt: skip

    return one(rng.integers(1, 4)), two(rng.integers(1, 4)), three(rng.integers(1, 4))


def text(expressions, dtype="float64"):
    params = ", ".join(f"{k}: {dtype}[{v.replace('W', str(W))}]" for k, v in PARAMS.items())
    return f"graph g({params}) -> (a, b, e) {{\n" + "".join(f"  {n} = {x}\n" for n, x in zip("abe", expressions)) + "}\n"


def arguments(rng, p, dtype="float64"):
    sizes = {"p": p, "W": W, "1": 1}
    return [rng.normal(size=[sizes[d.strip()] for d in v.split(",")]).astype(dtype) for v in PARAMS.values()]


def is_batch_last(model):
    """Has a value axis 0 behind others, but for inputs that are transposed?"""
    graph = onnx.shape_inference.infer_shapes(onnx.load_model_from_string(model)).graph
    made = {o for n in graph.node if n.op_type not in ("Transpose", "Reshape") for o in n.output}
    dims = [[d.dim_param for d in v.type.tensor_type.shape.dim] for v in graph.value_info if v.name in made]
    return any(len(d) > 1 and d[-1] == "p" for d in dims)


def compare(expressions, opset, dtype="float64"):
    options = ("-Wno-unused", "--expect=p=64")
    source = text(expressions, dtype)
    model, plain = (ptg.compile(source, opset=opset, math="standard", options=options + o) for o in ((), ("-fno-stretch",)))
    rng = np.random.default_rng(0)
    close = {"rtol": 1e-11, "atol": 1e-11} if dtype == "float64" else {"rtol": 2e-5, "atol": 2e-5}
    for p in (3, 1, 0, 70):
        args = arguments(rng, p, dtype)
        if p > 2:
            args[0][0, 1], args[1][1], args[1][2, 0] = np.nan, np.inf, -np.inf
        ptg.same_at_all_levels(model, ptg.run(plain, *args), args, source, **close)
    return is_batch_last(model)


@pytest.mark.parametrize("opset", SOME_OPSETS)
def test_random_expressions(opset):
    rng = np.random.default_rng(opset)
    batch_last = sum(compare(random_expressions(rng), opset, "float32" if i % 4 == 3 else "float64") for i in range(20))
    assert batch_last >= 9


EXPRESSIONS = {  # and whether they are batch-last
    "rows beside columns": ("z", "(s - Max{axis=1}(s)[:, None]) / c", "(d - s[:, None]) / v[:, :, None]", True),
    "lone exponential": ("z", "Exp(s)", "d", False),
    "products of matrices": ("z", "s", "d @ d", False),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_which_expressions(name):
    *expressions, batch_last = EXPRESSIONS[name]
    assert compare(expressions, 18) == batch_last
    plain = ptg.compile(text(expressions), math="standard", options=("-Wno-unused",))
    assert not is_batch_last(plain)  # nothing is known of how many points there will be


@pytest.mark.parametrize("opset", SOME_OPSETS)
def test_triangles(opset):
    """Factors of Cholesky, of which Trilu leaves a triangle: a mask does that to batch-last arrays."""
    source = """graph g(s: float64[p, 3], d: float64[p, 3, 3]) -> (a, b) {
  k = (d - s[:, None]) * 0.1 + float64([[5, 0, 0], [0, 6, 0], [0, 0, 7]])
  c = Blockwise{core_op=Cholesky, signature="(m,m)->(m,m)"}(k + Transpose{axes=[0, 2, 1]}(k))
  a = c / s[:, :, None]
  b = Sum{axis=2}(c * s[:, None]) + s
}
"""
    model = ptg.compile(source, opset, math="standard", options=("--expect=p=64",))
    kinds = [n.op_type for n in onnx.load_model_from_string(model).graph.node]
    assert is_batch_last(model) and "Trilu" not in kinds
    rng = np.random.default_rng(0)
    for p in (0, 1, 5, 70):
        s, d = rng.uniform(1, 2, size=(p, 3)), rng.normal(size=(p, 3, 3))
        if p > 1:
            s[1, 2] = np.inf  # nor is another point's matrix any that has a factor
        k = (d - s[:, None]) * 0.1 + np.diag([5.0, 6, 7])
        good = np.isfinite(s).all(1)
        c = np.full_like(k, np.nan)
        c[good] = np.linalg.cholesky((k + k.transpose(0, 2, 1))[good])
        a, b = ptg.run(model, s, d)
        np.testing.assert_allclose(a[good], (c / s[:, :, None])[good], rtol=1e-12)
        np.testing.assert_allclose(b[good], ((c * s[:, None]).sum(2) + s)[good], rtol=1e-12)
        assert np.isnan(a[~good]).any() == (p > 1) and not np.isnan(a[good]).any()


def test_checks_survive():
    """A check of what is batch-last, of points apart or of all, fails where it does not hold."""
    source = """graph g(s: float64[p, 3], d: float64[p, 3, 3]) -> (y) {
  e = (d - s[:, None]) / s[:, :, None]
  f = Assert{"rows"}(e, All(Sum{axis=2}(e) > -1000))
  y = Sum{axis=1}(f * s[:, None]) + s
}
"""
    model = ptg.compile(source, math="standard", options=("--expect=p=64",))
    assert is_batch_last(model)
    rng = np.random.default_rng(0)
    s, d = rng.uniform(1, 2, size=(5, 3)), rng.normal(size=(5, 3, 3))
    e = (d - s[:, None]) / s[:, :, None]
    np.testing.assert_allclose(ptg.run(model, s, d), (e * s[:, None]).sum(1) + s, rtol=1e-12)
    d[3, 1] = -1e6
    with pytest.raises(Exception, match="rows"):
        ptg.run(model, s, d)
