"""What a printed graph reads like, and that it means the same: infix operators, literals without a dtype, operands
without what the language broadcasts by itself."""

import itertools

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

import ptgc

v, w, s = pt.dvector("v"), pt.dvector("w"), pt.dscalar("s")
f, h, k, u, b = pt.fvector("f"), pt.vector("h", dtype="float16"), pt.lvector("k"), pt.vector("u", dtype="uint64"), pt.bvector("b")
c = pt.vector("c", dtype="bool")
A, B, t = pt.dmatrix("A"), pt.dmatrix("B"), pt.dtensor3("t")


def body(out, *inputs):
    inputs = inputs or list(pytensor.graph.traversal.explicit_graph_inputs([out]))
    text = ptgc.to_ptg(inputs, out)
    assert ptgc.format(text) == text
    return text.split("{\n", 1)[1].strip().removesuffix("\n}").removeprefix("out = ")


def same(out, values=None):
    """The model of the text gives PyTensor's values, dtype and shape."""
    values = values or {}
    inputs = list(pytensor.graph.traversal.explicit_graph_inputs([out]))
    values = [np.asarray(values.get(i, [1, 2, 3]), i.type.dtype) for i in inputs]
    want = pytensor.function(inputs, out, mode="FAST_COMPILE")(*values)
    got = ptgc.load(ptgc.to_ptg(inputs, out), math="exact")(*values)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    "out, text",
    [
        (v - (w - s), "v - (w - s)"),
        ((v - w) - s, "v - w - s"),
        (v / (w * s), "v / (w * s)"),
        (v * w / s, "v * w / s"),
        ((v + w) * s, "(v + w) * s"),
        (-(v**2), "-v ** 2"),
        ((-v) ** 2, "(-v) ** 2"),
        (v ** (w**s), "v ** w ** s"),
        ((v**w) ** s, "(v ** w) ** s"),
        (v**-w, "v ** -w"),
        (v ** (w + 1), "v ** (w + 1)"),
        ((-0.5) ** v, "(-0.5) ** v"),
        (v * -0.5, "v * -0.5"),
        (pt.neg(pt.neg(v)), "-(-v)"),
        (-(v + w), "-(v + w)"),
        (~c & (v > 0), "~c & (v > 0)"),
        (~(c & (v > 0)), "~(c & (v > 0))"),
        (pt.eq(v > w, w > s), "(v > w) == (w > s)"),
        (pt.eq(c & c, c | c), "(c & c) == (c | c)"),
        (k // 2 % 3, "k // 2 % 3"),
        (k & (k ^ 1) | 2, "k & (k ^ 1) | 2"),
        (pt.exp(v + w)[1], "Exp(v + w)[1]"),
        ((v + w)[1:], "(v + w)[1:]"),
        (pt.add(v, w, s), "v + w + s"),
        (pt.mul(v, pt.add(w, s), 2.0), "v * (w + s) * 2"),
        (A @ v, "A @ v"),
        (v @ A @ w, "A.T @ v @ w"),
        (v @ w, "v @ w"),
        (t @ t, "t @ t"),
        (A.T @ B.T, "A.T @ B.T"),
        ((A @ B).T, "(A @ B).T"),
        (pt.dot(A, B), "A @ B"),
        (v.sum() / 2, "Sum(v) / 2"),
    ],
)
def test_operators(out, text):
    assert body(out) == text


@pytest.mark.parametrize(
    "out, text",
    [
        (v + 1, "v + 1"),
        (v * 0.1, "v * 0.1"),
        (v * np.float32(0.1), "v * 0.10000000149011612"),
        (f * np.float32(0.1), "f * 0.1"),
        (f * np.float64(0.1), "f * float64(0.1)"),
        (f + np.int32(1), "f + int32(1)"),
        (f + np.int16(1), "f + 1"),
        (f * np.float32(16777218), "f * 16777218.0"),
        (h + np.float16(0.1), "h + 0.1"),
        (h + np.int8(1), "h + 1"),
        (h + np.float32(0.5), "h + float32(0.5)"),
        (k + 1, "k + 1"),
        (k + np.int64(2**62), "k + 4611686018427387904"),
        (k * 0.5, "k * 0.5"),
        (k * np.float32(2), "k * 2.0"),
        (b + np.int16(1), "b + int16(1)"),
        (b * np.float32(0.5), "b * float32(0.5)"),
        (u + np.int8(1), "u + int8(1)"),
        (u + np.uint64(2**64 - 1), "u + 18446744073709551615"),
        (v > 0, "v > 0"),
        (pt.maximum(v, -np.inf), "Maximum(v, -inf)"),
        (pt.switch(v > 0, v, 0), "Switch(v > 0, v, 0)"),
        (pt.switch(v > 0, np.int8(1), np.int8(0)), "Switch(v > 0, int8(1), int8(0))"),
        (c | np.array(True), "c | True"),
        (v - np.array([1.0, 2, 3.5]), "v - [1, 2, 3.5]"),
        (v - np.array([2.0]), "v - 2"),
        (v - np.array([2.0, 2, 2, 2]), "v - [2, 2, 2, 2]"),
        (pt.dvector("x", shape=(4,)) - np.array([2.0, 2, 2, 2]), "x - 2"),
        (s - np.array([2.0]), "s - [2]"),
        (v + np.array([1, 2, 3]), "v + int64([1, 2, 3])"),
        (pt.constant(2.0) + pt.constant(3.0) + v, "float32(2) + float32(3) + v"),
        (pt.mul(pt.constant(2.0), pt.constant(3.0), v), "Mul(float32(2), float32(3), v)"),
        (pt.exp(pt.constant(2)) * v, "Exp(int8(2)) * v"),
    ],
)
def test_literals(out, text):
    assert body(out) == text


def test_literals_keep_values_and_dtypes():
    numbers = [1, -3, 0.1, np.float32(0.1), np.float64(2), np.int8(2), np.int16(300), np.int32(7), np.int64(7), np.uint8(200)]
    for x, a in itertools.product((v, f, h, k, b, c), numbers):
        for op in (pt.add, pt.mul, pt.true_div, pt.gt, pt.maximum, lambda x, y: pt.switch(x > 1, x, y)):
            try:
                out = op(x, a)
            except (TypeError, NotImplementedError):
                continue
            same(out)


@pytest.mark.parametrize(
    "out, text",
    [
        (v * s, "v * s"),
        (A * v + s, "A * v + s"),
        (A * v[None, :] * pt.exp(s)[None, None], "A * v * Exp(s)"),
        (A * v[:, None], "A * ExpandDims{axis=1}(v)"),
        (v[None, :] * w[None, :], "v * ExpandDims{axis=0}(w)"),
        (v * pt.alloc(s, v.shape[0]), "v * Alloc(s, Shape(v)[0])"),
        (pt.dvector("x", shape=(4,)) * pt.alloc(s, 4), "x * s"),
        (v * pt.second(v, s), "v * s"),
        (v * pt.second(w, s), "v * Second(w, s)"),
        (v * pt.alloc(w, 1), "v * Alloc(w, int8(1))"),
        (pt.exp(pt.dmatrix("x", shape=(1, 1)).dimshuffle("x")), 'Exp(DimShuffle{order=["x"]}(x))'),
        (pt.exp(s[None]), "Exp([s])"),
    ],
)
def test_broadcasting(out, text):
    assert body(out) == text


def test_vectors_of_squeezed_matrices_are_no_rows():
    x = pt.dmatrix("x", shape=(3, 1))
    row, column = x.dimshuffle("x", 0), x.T.dimshuffle(1, "x")
    for out in ((row @ x).dimshuffle(), (row @ x).dimshuffle(0), (row @ column).dimshuffle(1), (v[None] @ x).dimshuffle()):
        same(out, {x: [[1], [2], [3]]})


def test_what_broadcasting_needs_stays():
    for out, values in (
        (v[None, :] * w[None, :], {}),
        (v[None, :] + s[None, None], {s: 3}),
        (A * pt.alloc(s, 2, 3), {A: np.ones((2, 3)), s: 4}),
        (pt.second(A, v) * 2, {A: np.ones((2, 3))}),
        (v * pt.second(v, s) + pt.second(v, s), {s: 3}),
        (s[None] - np.array([2.0]), {s: 1}),
    ):
        same(out, values)


def test_long_sums_are_broken_in_parentheses():
    terms = [pt.dvector(f"a_rather_long_name_{n}") for n in range(8)]
    text = ptgc.to_ptg(terms, pt.add(*terms))
    assert ptgc.format(text) == text and max(map(len, text.splitlines())) <= 100


def test_the_text_is_a_fixed_point():
    out = pt.exp(v * 2 - 1) @ A.T + pt.switch(v > 0, v, -np.inf).sum()
    text = ptgc.to_ptg([v, A], out)
    assert ptgc.format(text) == text and ptgc.compile(text) == ptgc.compile(ptgc.format(text))


def test_promotion_is_written():
    """Integers that make float64 of float32 are cast in the text, so that it compiles without a warning."""
    x, k = pt.matrix("x", dtype="float32"), pt.lvector("k")
    outputs = [x * k, x / x.shape[0], pt.switch(x > 0, x, k), pt.maximum(k, x[0]), x * k.astype("float64"), x < k]
    text = ptgc.to_ptg([x, k], outputs)
    assert text.count("Cast{float64}(") == 5
    assert "x * Cast{float64}(k)" in text and "x < k" in text
    model = ptgc.load(text)
    assert not [w for w in model.warnings if "float64" in str(w)]
    a, b = np.arange(6, dtype="float32").reshape(2, 3), np.array([2, 2**40 + 1, -1])
    want, have = pytensor.function([x, k], outputs)(a, b), model(a, b)
    for u, v in zip(want, have, strict=True):
        assert u.dtype == v.dtype
        np.testing.assert_allclose(u, v, rtol=1e-6)


@pytest.mark.parametrize("op", [pt.mul, pt.add])
@pytest.mark.parametrize("dtypes", list(itertools.product(["bool", "uint8", "int64", "float32"], repeat=3)))
def test_promotion_is_from_the_left(op, dtypes):
    """a * b * x of integers a and b and a float x: a * b is an integer, which wraps, and whose 0 has no sign."""
    given = [pt.vector(name, dtype=dtype) for name, dtype in zip("abc", dtypes, strict=True)]
    most = {"bool": True, "uint8": 200, "int64": 2**62 + 1, "float32": -3e38}
    values = [np.array([most[dtype], 0, 1], dtype) for dtype in dtypes]
    out = op(*given)
    text = ptgc.to_ptg(given, out)
    model = ptgc.load(text, math="exact")
    assert not [w for w in model.warnings if "float64" in str(w)]
    with np.errstate(over="ignore"):
        want = pytensor.function(given, out, mode=pytensor.compile.mode.Mode("py", None))(*values)
    got = model(*values)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(want))

