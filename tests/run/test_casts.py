"""Casts of casts: the runtime makes one Cast of two where it takes the first for harmless, which it is not always."""

import numpy as np
import pytensor.tensor as pt
import pytest

import ptg
from harness import ALL, FLOATS, Compiled
from opsets import SOME_OPSETS


def numbers(dtype):
    """Bit patterns, small numbers, and where rounding and ranges matter."""
    rng, d = np.random.default_rng(0), np.dtype(dtype)
    if d.kind == "b":
        return np.array([False, True])
    bits = rng.integers(0, 256, (400, d.itemsize), dtype="uint8").view(d).ravel()
    small = rng.integers(-300, 300, 200)
    if d.kind in "iu":
        i = np.iinfo(d)
        return np.concatenate([bits, small.astype(d), np.array([i.min, i.max, i.max - 1], d)])
    large = rng.normal(size=400) * 10.0 ** rng.integers(-6, 12, 400)
    corners = [np.nan, np.inf, -np.inf, 0, -0.0, 3e9, -3e9, 70000, 1e19]
    return np.concatenate([bits, small.astype(d), large.astype(d), np.array(corners, d)])


@pytest.mark.parametrize("first", ALL)
def test_chain(first):
    for middle in ALL:
        inputs = [pt.vector(f"x{i}", dtype=first) for i in range(len(ALL))]
        c = Compiled(inputs, [pt.cast(pt.cast(x, middle), last) for x, last in zip(inputs, ALL)], (18,))
        c.run(*[numbers(first)] * len(ALL), ulp={d: 0 for d in FLOATS})


@pytest.mark.parametrize("between", ["Identity", "alloc", "transpose", "slice"])
def test_nothing_between(between):
    """What the runtime removes does not keep the casts apart."""
    x = pt.matrix("x", dtype="float64")
    move = {
        "Identity": pt.tensor_copy, "transpose": lambda v: v.T, "slice": lambda v: v[0:],
        "alloc": lambda v: pt.alloc(v, *v.shape),
    }[between]  # fmt: skip
    out = [pt.cast(move(pt.cast(x, "int64")), "int32"), pt.eq(move(pt.cast(x, "float16")), move(pt.cast(x, "float16")).max())]
    c = Compiled([x], out, SOME_OPSETS)
    c.run(np.array([[3e9, 1.1, -5e9], [7.7, 2.2, 1e12]]))


def test_float64_to_float16_is_rounded_once():
    """Numbers near ties of float16, nearer than float32 tells; ends of the range; the sum that is cast at its end."""
    x = pt.vector("x")
    c, total = Compiled([x], [pt.cast(x, "float16")]), Compiled([x], [x.sum(dtype="float16", acc_dtype="float64")])
    ties = 1 + np.arange(1, 2048, 2) / 2**11
    tiny = [0, 2.0**-52, -(2.0**-52), 2.0**-40, -(2.0**-40)]
    for scale in (1, -1, 2.0**15, 2.0**-14, 2.0**-15, 2.0**-24, -(2.0**-25)):
        for e in tiny:
            c.run(ties * scale * (1 + e), ulp={"float16": 0})
            total.run([ties[5] * scale, ties[5] * scale * e], ulp={"float16": 0}, zero_sign=False)
    half = 2.0**-25
    ends = [0.0, -0.0, np.inf, -np.inf, np.nan, 65520 - 2.0**-37, 65520, -65520, 1e300, -1e300, 5e-324, half, half * (1 + 2.0**-52), -half, -half * (1 + 2.0**-52)]
    c.run(ends, ulp={"float16": 0})
    text = "ptg 1\n\ngraph g(x: float64[n]) -> (y) {\n  y = Cast{float16}(x)\n}\n"
    assert ptg.nodes(ptg.compile(text)) == 11
    assert ptg.nodes(ptg.compile(text, options=("-fexcess-precision",))) == 1
    assert ptg.nodes(ptg.compile(text, target="onnx")) == 1


def test_float64_constants_to_float16():
    v = 1 + 2.0**-11 + np.array([0, 1, -1]) * 2.0**-52
    for n in (1, 2000):  # one that is folded here, one that the runtime casts
        x, w = pt.vector("x", dtype="float16"), np.tile(v, n)
        Compiled([x], [x + pt.cast(pt.constant(w), "float16")]).run(np.zeros(3 * n), ulp={"float16": 0})
