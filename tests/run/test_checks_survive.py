"""What must fail still fails after each rewrite: a check stands on what the rewrite removes or merges."""

import subprocess

import numpy as np
import pytest

import ptg

ones = np.ones

yes, no, one, zero = np.array(True), np.array(False), np.int64(1), np.int64(0)

# rewrite: (parameters, statements, inputs that are right, inputs that are wrong)
CASES = {
    "identity": [
        ("x: float64[n, 2]", "y = Identity(Max{axis=0}(Identity(x)))", [(ones((3, 2)),)], [(ones((0, 2)),)]),
        ("x: float64[n], c: bool[]", "y = Identity(Assert(Identity(x), Identity(c)))", [(ones(3), yes)], [(ones(3), no)]),
        ("x: float64[n, 2], r: int64[k]", "y = Repeat{axis=0}(Identity(x), Identity(r))", [(ones((2, 2)), np.array([1, 2]))], [(ones((2, 2)), np.array([1, -2]))]),
    ],
    "cast": [
        ("x: float64[n], k: int8[]", "y = Assert(x, Cast{bool}(Cast{int64}(k)))", [(ones(3), np.int8(1))], [(ones(3), np.int8(0))]),
        ("x: int8[n], z: float64[k]", "y = Cast{float64}(Cast{int32}(Unique(x))) + z", [(np.array([1, 2, 2], "int8"), ones(2))], [(np.array([1, 2, 2], "int8"), ones(1)), (np.array([2, 2], "int8"), ones(2))]),
    ],
    "transpose": [
        ("x: float64[n, 2]", "y = Transpose(Transpose(Max{axis=0}(Transpose(Transpose(x)))))", [(ones((3, 2)),)], [(ones((0, 2)),)]),
        ("x: float64[], k: int64[]", "y = Transpose(Transpose(Alloc(x, k, 2))) + float64[3, 2](1)", [(np.array(1.0), np.int64(3))], [(np.array(1.0), one), (np.array(1.0), np.int64(2))]),
        ("x: float64[?n, ?k], z: float64[?j, ?m]", "y = Transpose(Transpose(x)) @ Transpose(Transpose(z))", [(ones((2, 3)), ones((3, 2)))], [(ones((2, 3)), ones((1, 2))), (ones((2, 1)), ones((3, 2)))]),
    ],
    "concat": [
        ("x: float64[?n, ?k], z: float64[?n, ?j]", "y = Join{axis=0}(Join{axis=0}(x, z), x)", [(ones((2, 3)), ones((2, 3)))], [(ones((2, 3)), ones((2, 1))), (ones((2, 1)), ones((2, 3)))]),
    ],
    "reshape": [
        ("x: float64[n]", "y = Reshape(Reshape(x, [-1, 2]), [-1])", [(ones(4),), (ones(0),)], [(ones(3),), (ones(1),)]),
        ("x: float64[n]", "y = Reshape(Reshape(x, [-1, 2]), [1, -1])", [(ones(4),)], [(ones(3),)]),
        ("x: float64[n, m]", "y = Reshape(Reshape(x, [3, -1]), [-1])", [(ones((3, 2)),), (ones((2, 6)),)], [(ones((2, 2)),)]),
        ("x: float64[4], c: bool[]", "y = Reshape(Assert(Reshape(x, [2, 2]), c), [4, 1])", [(ones(4), yes)], [(ones(4), no)]),
        ("x: float64[n, 2], z: float64[n]", "y = Reshape(Reshape(x[:1] + z[:2], [-1]), [2, 1])", [(ones((1, 2)), ones(1)), (ones((3, 2)), ones(3))][1:], [(ones((1, 2)), ones(1)), (ones((3, 2)), ones(2))]),
        ("x: float64[n], k: int64[]", "y = Reshape(x[:k].set(float64([7, 7])), [-1, 1])", [(ones(4), np.int64(2))], [(ones(4), np.int64(3)), (ones(4), one)]),
    ],
    "squeeze": [
        ("x: float64[n]", "y = Squeeze{axis=0}(ExpandDims{axis=0}(Reshape(x, [-1, 2])))", [(ones(4),)], [(ones(3),)]),
        ("x: float64[n]", "y = Reshape(x, [-1, 2])[:, 0]", [(ones(4),)], [(ones(3),)]),
        ("x: float64[n, m]", "u = ExpandDims{axis=0}(Reshape(x, [2, -1]))\n  y = Reshape(u, [-1])", [(ones((2, 3)),)], [(ones((3, 3)),)]),
        ("x: float64[?n, ?m]", "y = ExpandDims{axis=0}(Squeeze{axis=0}(x))", [(ones((1, 3)),)], [(ones((2, 3)),), (ones((0, 3)),)]),
    ],
    "keepdims": [
        ("x: float64[n, 3], s: float64[]", "y = Assert(x, All(MakeVector(All(x > 0), s > 0)))", [(ones((2, 3)), np.array(1.0))], [(-ones((2, 3)), np.array(1.0)), (ones((2, 3)), np.array(0.0))]),
        ("x: float64[n, 3]", "y = x - ExpandDims{axis=0}(Max{axis=0}(x))", [(ones((2, 3)),)], [(ones((0, 3)),)]),
        ("x: float64[?n, 3], z: float64[?k]", "y = ExpandDims{axis=1}(Sum{axis=1}(x) + z)", [(ones((2, 3)), ones(2))], [(ones((2, 3)), ones(1)), (ones((1, 3)), ones(2))]),
    ],
    "expand": [
        ("x: float64[1, 2], k: int64[]", "y = Squeeze{axis=0}(Alloc(x, k, int64(2)))", [(ones((1, 2)), one)], [(ones((1, 2)), np.int64(2)), (ones((1, 2)), zero)]),
        ("x: float64[?n], k: int64[]", "y = Alloc(x, k) + float64[3](0)", [(ones(3), np.int64(3))], [(ones(3), np.int64(2)), (ones(1), np.int64(2)), (ones(1), np.int64(3))]),
        ("x: float64[5, 1], k: int64[]", "y = Alloc(x, int64(5), k)[1:3] + float64[2, 3](0)", [(ones((5, 1)), np.int64(3))], [(ones((5, 1)), np.int64(2))]),
    ],
    "gemm": [
        ("x: float32[?n, ?k], w: float32[?j, ?m], b: float32[?p]", "y = x @ w + b", [(ones((2, 3), "f"), ones((3, 4), "f"), ones(4, "f"))],
         [(ones((2, 3), "f"), ones((1, 4), "f"), ones(4, "f")), (ones((2, 1), "f"), ones((3, 4), "f"), ones(4, "f")), (ones((2, 3), "f"), ones((3, 4), "f"), ones(1, "f")), (ones((2, 3), "f"), ones((3, 1), "f"), ones(4, "f"))]),
        ("x: float64[?, ?, ?], w: float64[?]", "y = (x @ w) * 0.1", [(ones((2, 3, 4)), ones(4))], [(ones((2, 3, 4)), ones(1)), (ones((2, 3, 1)), ones(4))]),
    ],
    "zero": [
        ("x: float64[n], c: bool[]", "y = Assert(x, c) + 0", [(ones(3), yes)], [(ones(3), no)]),
        ("x: float64[n], z: float64[n]", "y = (x + z) * (Sum(x) * 0 + 1)", [(ones(3), ones(3))], [(ones(3), ones(1)), (ones(1), ones(3))]),
    ],
    "negative": [
        ("x: float64[n], c: bool[]", "z = -Assert(x, c)\n  y = (x + z) * (Sum(z) * 0 + 1)", [(ones(3), yes)], [(ones(3), no)]),
        ("x: float64[n], z: float64[n]", "y = x + -z", [(ones(3), ones(3))], [(ones(3), ones(1)), (ones(1), ones(3))]),
    ],
    "reciprocal": [
        ("x: float64[n], c: bool[]", "y = 1 / Assert(x, c)", [(ones(3), yes)], [(ones(3), no)]),
        ("x: float64[n], z: float64[n]", "y = 1 / (x + z)", [(ones(3), ones(3))], [(ones(3), ones(1)), (ones(1), ones(3))]),
    ],
    "finite": [
        ("x: float64[n], s: float64[]", "y = Assert(x, Invert(Or(Isnan(s), Isinf(s))))", [(ones(3), np.array(1.0))], [(ones(3), np.array(np.nan)), (ones(3), np.array(-np.inf))]),
        ("x: float64[n], z: float64[n]", "y = Cast{float64}(Invert(Or(Isnan(x + z), Isinf(x + z))))", [(ones(3), ones(3))], [(ones(3), ones(1)), (ones(1), ones(3))]),
    ],
    "log": [
        ("x: float64[n], s: float64[k]", "y = Assert(x, All(Invert(Eq(Log(s), -inf))))", [(ones(3), ones(2))], [(ones(3), np.array([1.0, 0.0]))]),
        ("x: float64[n], z: float64[n]", "y = Cast{float64}(Eq(Log(x + z), -inf))", [(ones(3), ones(3))], [(ones(3), ones(1)), (ones(1), ones(3))]),
    ],
    "relu": [
        ("x: float64[n], z: float64[n]", "y = Maximum(x + z, 0)", [(ones(3), ones(3))], [(ones(3), ones(1)), (ones(1), ones(3))]),
    ],
    "sum-of-exp": [
        ("x: float64[?n, ?k], z: float64[?n, ?j]", "s = x + z\n  y = Exp(s - ExpandDims{axis=1}(LogSumExp{axis=1}(s)))", [(ones((2, 3)), ones((2, 3)))], [(ones((2, 3)), ones((2, 1))), (ones((2, 1)), ones((2, 3)))]),
    ],
    "split": [
        ("x: float64[?n, ?k], z: float64[?n, ?j]", "a, b = Split{axis=0, len_splits=2}(Join{axis=0}(x, z), MakeVector(Shape(x)[0], Shape(z)[0]))\n  y = a * 2", [(ones((2, 3)), ones((2, 3)))], [(ones((2, 3)), ones((2, 1))), (ones((2, 3)), ones((1, 3)))]),
    ],
    "dead": [
        ("x: float64[n]", "u = Unique(x)\n  d = u + float64[4](0)\n  y = u + 1", [(np.arange(4.0),)], [(ones(4),), (np.arange(3.0),)]),
        ("x: float64[n], c: bool[]", "d = Assert(x + 1, c)\n  y = x * 2", [(ones(3), yes)], [(ones(3), no)]),
        ("x: float64[n], c: bool[], b: bool[]", "y = if b {\n d = Assert(x + 1, c)\n y = x * 2 } else { y = x }", [(ones(3), yes, yes), (ones(3), no, no)], [(ones(3), no, yes)]),
        ("x: float64[?n, ?k], z: float64[?j, ?m]", "d = x @ z\n  y = Sum(x)", [(ones((2, 3)), ones((3, 2)))], [(ones((2, 3)), ones((1, 2))), (ones((2, 1)), ones((3, 2)))]),
    ],
    "splat": [
        ("c: bool[]", "y = Assert(float64[100, 100](1), c)", [(yes,)], [(no,)]),
        ("x: float64[?n]", "y = x[:-1] + float64[200](1)", [(ones(201),)], [(ones(2),), (ones(200),)]),
    ],
    "guard": [
        ("x: float64[], v: float64[n], z: float64[n]", "s = Exp(x)\n  y = Switch(s >= 0.0, (v + z) * s, -inf) - x", [(np.array(1.0), ones(3), ones(3))], [(np.array(1.0), ones(3), ones(1))]),
    ],
    "states": [
        ("x: float64[4], k: float64[]", "y = loop (v in x, s = 0.0, t = 0.0) -> (s) {\n next s = s + v\n next t = Assert(t, t < k) + v\n }", [(ones(4), np.array(9.0))], [(ones(4), np.array(3.0))]),
        ("x: float64[4], k: float64[]", "y, z = loop (v in x, s = 0.0, t = 0.0) -> (s, t) {\n next s = s + v\n next t = Assert(t, t < k) + v\n }", [(ones(4), np.array(9.0))], [(ones(4), np.array(3.0))]),
    ],
    "hoist": [
        ("x: float64[n], k: float64[]", "y = loop (v in x, s = 0.0) -> (s) { next s = s + v * Assert(k, k > 0) }", [(ones(3), np.array(1.0)), (ones(0), np.array(-1.0))], [(ones(3), np.array(-1.0))]),
        ("x: float64[3], k: float64[]", "y = loop (v in x, s = 0.0) -> (s) { next s = s + v * Assert(k, k > 0) }", [(ones(3), np.array(1.0))], [(ones(3), np.array(-1.0))]),
        ("x: float64[n], r: int64[k]", "y = loop (v in x, s = 0.0) -> (s) { next s = s + v * Sum(Repeat{axis=0}(float64([1, 2]), r)) }", [(ones(3), np.array([1, 2])), (ones(0), np.array([1, -2]))], [(ones(3), np.array([1, -2]))]),
        ("x: float64[n], z: float64[m]", "y = loop (v in x, s = 0.0) -> (s) { next s = s + v * Max(z) }", [(ones(3), ones(2)), (ones(0), ones(0))], [(ones(3), ones(0))]),
        ("x: float64[n], i: int64[]", "y = loop (v in x, s = 0.0) -> (s) { next s = s + v * float64([1, 2])[i] }", [(ones(3), one), (ones(0), np.int64(2))], [(ones(3), np.int64(2))]),
    ],
    "batch": [
        ("x: float64[n], z: float64[k]", "y = loop (i in 0:4, s = 0.0) -> (s) { next s = Sqrt(s + x[i] * z[i]) }", [(ones(4), ones(5))], [(ones(4), ones(3)), (ones(1), ones(4)), (ones(4), ones(1))]),
        ("x: float64[n], z: float64[k]", "y = loop (i in 0:3, s = 0.0) -> (s) { next s = Sqrt(s + x[i + 1] * z[i]) }", [(ones(4), ones(3))], [(ones(3), ones(3)), (ones(2), ones(3)), (ones(4), ones(1))]),
        ("x: float64[4]", "y = loop (v in x, s = 0.0) -> (s) { next s = s + Assert(Exp(v), v > 0) }", [(ones(4),)], [(ones(4) - np.arange(4),)]),
        # a check of an inner loop on what all steps of the outer one compute at once
        ("x: float64[n]", "y = loop (v in x, s = 0.0) -> (s) {\n    t = loop (i in 0:3, t = s) -> (t) { next t = Sin(t) + Assert(2 - v, v < 2.0) }\n    next s = t\n  }", [(ones(3),), (ones(0),)], [(ones(3) * 2,), (np.arange(3.0),)]),
        ("x: float64[n, 1]", "y = loop (v in x, s = float64[4](0)) -> (s) {\n    t = loop (i in 0:3, t = s) -> (t) { next t = Sin(t) + Assert(2 - v, All(Abs(v - 2) < inf)) }\n    next s = t\n  }", [(ones((3, 1)),)], [(ones((3, 1)) * np.inf,)]),
        ("x: float64[n], z: float64[m]", "y = loop (v in x, i in 0:9, s = 0.0) -> (s) { next s = s + v * z[i] }", [(ones(3), ones(3)), (ones(0), ones(0))], [(ones(3), ones(2))]),
    ],
    "push-out": [
        ("x: float64[4], k: float64[]", "y = loop (v in x, s = 0.0) -> ([t]) {\n t = Assert(Exp(s), s < k)\n next s = Sqrt(s + v)\n }", [(ones(4), np.array(9.0))], [(ones(4), np.array(1.1))]),
        ("x: float64[4], k: float64[]", "y = loop (v in x, s = 0.0, t = 0.0) -> (t) {\n next t = t + Assert(Exp(s), s < k)\n next s = Sqrt(s + v)\n }", [(ones(4), np.array(9.0))], [(ones(4), np.array(1.1))]),
    ],
    "scan": [
        ("x: float64[4], k: float64[]", "y = loop (v in x, s = 0.0) -> (s) { next s = Assert(s, s < k) + v }", [(ones(4), np.array(9.0))], [(ones(4), np.array(3.0))]),
        ("x: float64[n, m], z: float64[m, k]", "y = loop (i in 0:3, s = 0.0) -> (s) { next s = Sqrt(s + Sum(x[i] @ z)) }", [(ones((3, 2)), ones((2, 2)))], [(ones((2, 2)), ones((2, 2))), (ones((3, 2)), ones((1, 2))), (ones((1, 2)), ones((2, 2)))]),
    ],
    "linear": [
        ("x: float64[9], k: float64[]", "y = loop (v in x, s = 1.0, t = 1.0) -> (s) {\n next s = Assert(s, s < k) * v * 2 + t * 0.5 - t * v\n next t = t * 0.5 + s * 0.1 - s * v * 0.1 \n }", [(ones(9) * 0.1, np.array(9.0))], [(ones(9), np.array(2.0))]),
    ],
    "stretch": [
        ("x: float64[?n, 60, 3], z: float64[?m, 60, 1]", "y = x + z", [(ones((2, 60, 3)), ones((2, 60, 1)))], [(ones((2, 60, 3)), ones((3, 60, 1))), (ones((2, 60, 3)), ones((1, 60, 1)))]),
    ],
    "branch": [
        ("s: float64[], x: float64[?n], z: float64[?m]", "p = Switch(s > 0, x + z, Neg(x))\n  q = Switch(s > 0, Log(s) * 2.0, Exp(s))\n  y = p + q", [(np.array(k), ones(3), ones(3)) for k in (1.0, -1.0)], [(np.array(k), ones(3), ones(2)) for k in (1.0, -1.0)]),
        ("s: float64[], t: float64[]", "p = Switch(s > 0, Assert(t, t > 0) + 1.0, Exp(s))\n  q = Switch(s > 0, Log(s) * 2.0, Exp(s) + t)\n  y = p + q", [(np.array(k), np.array(1.0)) for k in (1.0, -1.0)], [(np.array(k), np.array(-1.0)) for k in (1.0, -1.0)]),
    ],
}  # fmt: skip


def test_each_rewrite_has_cases():
    run = subprocess.run([ptg.PTGC, "--help"], capture_output=True, text=True)
    names = run.stdout.split("Rewrites: ")[1].split(" fold ")[0]
    assert names.split() == list(CASES)


ALL = [(name, i) for name, cases in CASES.items() for i in range(len(cases))]


@pytest.mark.parametrize("name, case", ALL)
def test_what_must_fail_fails(name, case):
    """With ONNX Runtime's own optimizations and without, with the rewrite and without."""
    params, statements, right, wrong = CASES[name][case]
    text = f"graph g({params}) -> (y) {{\n  {statements}\n}}\n"
    for opset in (13, 18):
        for options in (("-Wno-unused",), ("-Wno-unused", f"-fno-{name}")):
            model = ptg.compile(text, opset=opset, options=options)
            for level in ("all", "none"):
                for args in right:
                    ptg.run(model, *args, level=level)
                for args in wrong:
                    with pytest.raises(Exception, match="ONNXRuntimeError"):
                        ptg.run(model, *args, level=level)
                        raise AssertionError(f"opset {opset}, {options}, {level}: runs with {args}")


@pytest.mark.parametrize("opset", [14, 18, 26])
def test_reshape_to_no_elements_fails_for_some(opset):
    """That the result has no elements says nothing of x: it is not folded to an empty constant."""
    model = ptg.compile("graph g(x: int64[n]) -> (y) {\n  y = onnx.Reshape{allowzero=1}(x, int64([0]))\n}\n", opset=opset)
    for level in ("all", "none"):
        assert ptg.run(model, np.ones(0, "int64"), level=level).shape == (0,)
        with pytest.raises(Exception, match="ONNXRuntimeError"):
            ptg.run(model, np.ones(3, "int64"), level=level)
