"""Cheaper nodes for the same number (src/lower/algebra.c): the bits are PyTensor's at --math=exact, and within 2 ULP elsewhere."""

import numpy as np
import onnx
import pytest
import scipy.special

import ptg
from opsets import SOME_OPSETS

OPSETS = SOME_OPSETS
HARD = [0.0, -0.0, 1.0, -1.0, 0.1, -3.7, 1e-300, 5e-324, 1e300, -1e308, np.inf, -np.inf, np.nan, 2.5, -2.5, 123456.789]

# name: (what is written, the same in NumPy, which is what PyTensor computes, the operators at --math=standard)
FORMS = {
    "minus one": ("x * -1.0", lambda x, y: x * -1.0, "Neg"),
    "neg neg": ("Neg(Neg(x))", lambda x, y: np.negative(np.negative(x)), "Identity"),
    "plus neg": ("x + Neg(y)", lambda x, y: x + (-y), "Sub"),
    "neg plus": ("Neg(x) + y", lambda x, y: (-x) + y, "Sub"),
    "minus neg": ("x - Neg(y)", lambda x, y: x - (-y), "Add"),
    "neg minus number": ("Neg(x) - 2.5", lambda x, y: (-x) - 2.5, "Sub"),
    "neg of difference": ("Neg(x - y)", lambda x, y: -(x - y), "Sub"),
    "zero minus": ("0.0 - x", lambda x, y: 0.0 - x, "Neg"),
    "plus zero": ("x + 0.0", lambda x, y: x + 0.0, "Identity"),
    "neg times neg": ("Neg(x) * Neg(y)", lambda x, y: (-x) * (-y), "Mul"),
    "neg times number": ("Neg(x) * 0.3", lambda x, y: (-x) * 0.3, "Mul"),
    "neg of product": ("Neg(x * 0.3)", lambda x, y: -(x * 0.3), "Mul"),
    "neg by neg": ("Neg(x) / Neg(y)", lambda x, y: (-x) / (-y), "Div"),
    "neg by number": ("Neg(x) / 0.3", lambda x, y: (-x) / 0.3, "Div"),
    "number by neg": ("0.3 / Neg(x)", lambda x, y: 0.3 / (-x), "Div"),
    "by two": ("x / 2.0", lambda x, y: x / 2.0, "Mul"),
    "by 0.3": ("x / 0.3", lambda x, y: x / 0.3, "Div"),
    "abs of neg": ("Abs(Neg(x))", lambda x, y: abs(-x), "Abs"),
    "abs of exp": ("Abs(Exp(x))", lambda x, y: abs(np.exp(x)), "Exp"),
    "abs of difference": ("Abs(x - y) + Abs(y - x)", lambda x, y: abs(x - y) + abs(y - x), "Abs Add Sub"),
    "softplus of both": ("Softplus(x - y) + Softplus(y - x)", lambda x, y: np.logaddexp(0, x - y) + np.logaddexp(0, y - x), None),
    "sigmoid of both": ("Sigmoid(x) - Sigmoid(Neg(x))", lambda x, y: scipy.special.expit(x) - scipy.special.expit(-x), "Add Add Exp Exp Neg Reciprocal Reciprocal Sub"),
    "square": ("Pow(x, 2.0)", lambda x, y: x**2.0, "Mul"),
    "square of exp": ("Exp(x) * Exp(x + x)", lambda x, y: np.exp(x) * np.exp(x + x), "Exp Mul Mul"),
    "exp of twice": ("Exp(x) + Exp(2.0 * x)", lambda x, y: np.exp(x) + np.exp(2 * x), "Add Exp Mul"),
    "exp of neg": ("Exp(x) * Exp(x) - Exp(Neg(x))", lambda x, y: np.exp(x) * np.exp(x) - np.exp(-x), "Exp Mul Reciprocal Sub"),
    "neg of exp before": ("(Exp(Neg(x)) + y) * Exp(x)", lambda x, y: (np.exp(-x) + y) * np.exp(x), "Add Exp Mul Neg Reciprocal"),
    "exp of other": ("Exp(x) - Exp(x + y)", lambda x, y: np.exp(x) - np.exp(x + y), "Add Exp Exp Sub"),
    "first power": ("Pow(x, 1.0)", lambda x, y: x**1.0, "Identity"),
    "two factors": ("0.3 * (0.7 * x)", lambda x, y: 0.3 * (0.7 * x), "Mul"),
    "two terms": ("0.3 + (0.7 + x)", lambda x, y: 0.3 + (0.7 + x), "Add"),
    "terms that cancel": ("(x + 1.0) + -1.0", lambda x, y: (x + 1.0) + -1.0, "Add Add"),
    "a large term first": ("0.1 + (0.7 + x)", lambda x, y: 0.1 + (0.7 + x), "Add Add"),
    "a small term first": ("0.7 + (0.1 + x)", lambda x, y: 0.7 + (0.1 + x), "Add"),
    "terms of unlike size": ("(x + 1e20) + 1.0", lambda x, y: (x + 1e20) + 1.0, "Add Add"),
    "square of a product": ("-0.5 * Sqr(0.7 * x)", lambda x, y: -0.5 * (0.7 * x) ** 2, "Mul Mul"),
    "square of a small product": ("-0.5 * Sqr(0.2 * x)", lambda x, y: -0.5 * (0.2 * x) ** 2, "Mul Mul Mul"),
    "factor twice": ("(3.0 * x) * x + 2.0 * (x * x)", lambda x, y: (3.0 * x) * x + 2.0 * (x * x), "Add Mul Mul Mul"),
    "small factor twice": ("(0.2 * x) * x + 2.0 * (x * x)", lambda x, y: (0.2 * x) * x + 2.0 * (x * x), "Add Mul Mul Mul Mul"),
    "factor of quotient": ("0.3 * (0.7 / x)", lambda x, y: 0.3 * (0.7 / x), "Div"),
    "both one": ("Switch((x > 1.0) & (x > 1.0) | (x > 1.0), x, y)", lambda x, y: np.where(x > 1.0, x, y), "Greater Where"),
    "not": ("Switch(Invert(x > 1.0), x, y)", lambda x, y: np.where(~(x > 1.0), x, y), "Greater Where"),
    "one constant": ("Switch(x > 1.0, 0.5, Switch(y > 1.0, 0.5, x))", lambda x, y: np.where(x > 1.0, 0.5, np.where(y > 1.0, 0.5, x)), "Greater Greater Or Where"),
    "one constant behind": ("Switch(x > 1.0, Switch(y > 1.0, x, 0.5), 0.5)", lambda x, y: np.where(x > 1.0, np.where(y > 1.0, x, 0.5), 0.5), "And Greater Greater Where"),
    "one constant, other way": ("Switch(x > 1.0, Switch(y > 1.0, 0.5, x), 0.5)", lambda x, y: np.where(x > 1.0, np.where(y > 1.0, 0.5, x), 0.5), "And Greater Greater Not Where"),
    "one constant around": ("Switch(x > 1.0, 0.5, Switch(y > 1.0, x, 0.5))", lambda x, y: np.where(x > 1.0, 0.5, np.where(y > 1.0, x, 0.5)), "And Greater Greater Not Where"),
    "zero of a sum": ("Switch(Sum(y) > 1.0, 0.0, Switch(x > 1.0, Sum(x), 0.0))", lambda x, y: np.where(y.sum() > 1.0, 0.0, np.where(x > 1.0, x.sum(), 0.0)), None),
    "one or zero": ("Switch(x > 1.0, 1.0, 0.0) + y", lambda x, y: np.where(x > 1.0, 1.0, 0.0) + y, "Add Cast Greater"),
    "two constants": ("Switch(x > 1.0, 0.5, Switch(y > 1.0, 0.25, x))", lambda x, y: np.where(x > 1.0, 0.5, np.where(y > 1.0, 0.25, x)), "Greater Greater Where Where"),
    "at most infinity": ("Switch((x >= y) & (x <= inf), x, 1.0)", lambda x, y: np.where((x >= y) & (x <= np.inf), x, 1.0), None),
    "a range without an end": ("Switch((x >= -0.5) & (x <= inf), x, y)", lambda x, y: np.where((x >= -0.5) & (x <= np.inf), x, y), "GreaterOrEqual Where"),
    "a range without a start": ("Switch((-inf <= x) & (x < 0.1), x, y)", lambda x, y: np.where((-np.inf <= x) & (x < 0.1), x, y), "Less Where"),
    "a number": ("Switch((x <= inf) & (x == y), x, 2.0)", lambda x, y: np.where((x <= np.inf) & (x == y), x, 2.0), "Equal Where"),
    "below infinity": ("Switch((x >= -0.5) & (x < inf), x, y)", lambda x, y: np.where((x >= -0.5) & (x < np.inf), x, y), "And GreaterOrEqual Less Where"),
    "another is a number": ("Switch((x >= -0.5) & (y <= inf), x, 1.0)", lambda x, y: np.where((x >= -0.5) & (y <= np.inf), x, 1.0), "And GreaterOrEqual LessOrEqual Where"),
    "both reversed": ("x[::-1] * y[::-1]", lambda x, y: x[::-1] * y[::-1], "Mul Slice"),
    "reversed and numbers": ("x[::-1] * 2.0 + y[::-1]", lambda x, y: x[::-1] * 2.0 + y[::-1], None),
    "reversed and chosen": ("Switch(x[::-1] > 1.0, x[::-1], y[::-1])", lambda x, y: np.where(x[::-1] > 1.0, x[::-1], y[::-1]), "Greater Slice Slice Where"),
    "one reversed": ("x[::-1] * y", lambda x, y: x[::-1] * y, "Mul Slice"),
    "reversed twice": ("Exp(x[::-1][::-1])", lambda x, y: np.exp(x), "Exp"),
    "reversed, and but the last": ("Neg(x[::-1][-2::-1])", lambda x, y: -x[1:], "Neg Slice"),
    "stacked and reversed": ("Join{axis=0}(x[None], y[None], x[None])[::-1]", lambda x, y: np.stack([x, y, x]), "Concat Unsqueeze Unsqueeze"),
    "stacked and reversed, unlike": ("Join{axis=0}(x[None], y[None])[::-1]", lambda x, y: np.stack([y, x]), "Concat Unsqueeze Unsqueeze"),
    "joined and reversed": ("Join{axis=0}(x, y)[::-1]", lambda x, y: np.concatenate([x, y])[::-1], "Concat Slice"),
    "sum from the end": ("Cumsum{axis=0}(x[::-1])[::-1] * 1.0", lambda x, y: np.cumsum(x[::-1])[::-1], "CumSum"),
    "constants reversed": ("x + Sum{axes=[0]}(int64([1, 2, 4])[::-1] * int64([1, 2, 4]))", lambda x, y: x.astype("float64") + 12, None),
    "columns": ("Squeeze{axis=1}(Exp(ExpandDims{axis=1}(x)) * 2.0 + ExpandDims{axis=1}(y))", lambda x, y: (np.exp(x[:, None]) * 2.0 + y[:, None])[:, 0], "Add Exp Mul"),
    "columns and a matrix": ("Sum{axes=[1]}(ExpandDims{axis=1}(x) * ExpandDims{axis=1}(y) + ExpandDims{axis=0}(y))", lambda x, y: (x[:, None] * y[:, None] + y[None]).sum(1), None),
}  # fmt: skip


def values(dtype, n):
    """Pairs of hard numbers and others."""
    rng = np.random.default_rng(1)
    with np.errstate(over="ignore"):
        x = np.array([a for a in HARD for _ in HARD] + list(rng.normal(size=300)), dtype)
        y = np.array(list(HARD) * len(HARD) + list(rng.normal(size=300)), dtype)
    return x[:n], y[:n]


def text(form, dtype, static):
    n = "400" if static else "n"
    return f"graph g(x: {dtype}[{n}], y: {dtype}[{n}]) -> (z) {{ z = Cast{{dtype={dtype}}}({form}) }}"


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("name", FORMS)
def test_same_numbers(name, dtype):
    form, build, _ = FORMS[name]
    for n in (0, 1, 400):
        a, b = values(dtype, n)
        with np.errstate(all="ignore"):
            want = np.asarray(build(a, b), dtype)
        for math, opset in (("exact", 13), ("exact", 18), ("exact", 26), ("standard", 13), ("standard", 18), ("native", 26)):
            if n == 400 or opset == 18:
                got = ptg.run(text(form, dtype, n == 400), a, b, math=math, opset=opset, options=("-Wno-unused",))
                assert got.dtype == want.dtype and got.shape == want.shape
                rounded = any(f in form for f in ("Exp", "Sum", "Cumsum", "Sigmoid", "Softplus"))
                if math == "exact" and not rounded:
                    assert np.array_equal(got, want, equal_nan=True), opset
                    signs = ~np.isnan(want)
                    assert np.array_equal(np.signbit(got[signs]), np.signbit(want[signs])), opset
                elif math != "native":
                    near = np.finfo(dtype).eps * 4
                    least = near if rounded or "+" in form else 4 * np.finfo(dtype).smallest_subnormal
                    assert np.allclose(got, want, rtol=near, atol=least, equal_nan=True), (math, opset)


@pytest.mark.parametrize("name", FORMS)
def test_nodes(name):
    form, _, operators = FORMS[name]
    if operators is not None:
        model = ptg.compile(text(form, "float64", True), math="standard", options=("-Wno-unused",))
        assert " ".join(sorted(n.op_type for n in onnx.load_model_from_string(model).graph.node)) == operators


SUMS = {
    "squares": ("x * x", lambda x: x * x, "ReduceSumSquare"),
    "a factor": ("0.3 * x", lambda x: 0.3 * x, "Mul ReduceSum"),
    "a small factor": ("0.2 * x", lambda x: 0.2 * x, "Mul ReduceSum"),
    "a small factor of squares": ("0.2 * (x * x)", lambda x: 0.2 * (x * x), "Mul Mul ReduceSum"),
    "neg": ("Neg(x)", lambda x: -x, "Neg ReduceSum"),
    "log densities": ("-0.9 + -0.5 * (x * x)", lambda x: -0.9 + -0.5 * (x * x), "Add Mul ReduceSumSquare"),
    "terms that may cancel": ("-0.9 + 0.5 * (x * x)", lambda x: -0.9 + 0.5 * (x * x), "Add Mul Mul ReduceSum"),
    "a row of constants": ("[[0.1, 0.2, 0.3, 0.4]] * x", lambda x: np.array([[0.1, 0.2, 0.3, 0.4]], x.dtype) * x, "Mul ReduceSum"),
    "a wide constant": ("[[0.1]] * Sum{axes=[1]}(x)", lambda x: 0.1 * x.sum(1)[None], None),
}  # fmt: skip


@pytest.mark.parametrize("name", SUMS)
def test_sums(name):
    form, build, operators = SUMS[name]
    for dtype in ("float64", "float32"):
        for axes in ("None", "[0]", "[1]", "[0, 1]"):
            along = eval(axes)
            for shape, dims in (((3, 4), "3, 4"), ((0, 4), "n, 4"), ((5, 4), "n, 4"), ((0, 4), "0, 4"), ((1, 4), "1, 4")):
                text = f"graph g(x: {dtype}[{dims}]) -> (y) {{ y = Cast{{dtype={dtype}}}(Sum{{axes={axes}}}({form})) }}"
                if "Sum" in form and axes != "None":
                    continue
                x = np.random.default_rng(2).normal(size=shape).astype(dtype)
                want = np.asarray(build(x), dtype).sum(None if along is None else tuple(along))
                for opset in OPSETS:
                    for math in ("standard", "exact"):
                        got = ptg.run(text, x, math=math, opset=opset)
                        assert got.shape == np.shape(want) and got.dtype == dtype
                        assert np.allclose(got, want, 1e-6 if dtype == "float32" else 1e-14, 1e-6 if dtype == "float32" else 1e-14)
            if operators and dtype == "float64" and dims[0] != "n":
                model = ptg.compile(text.replace("[1, 4]", "[3, 4]"), math="standard")
                assert " ".join(sorted(n.op_type for n in onnx.load_model_from_string(model).graph.node)) == operators


@pytest.mark.parametrize("dtype", ("int64", "int32", "int16", "uint8", "uint64"))
@pytest.mark.parametrize("divisor", (1, 2, 3, 100, 127, 255, -1, -3))
def test_floor_division_by_numbers(dtype, divisor):
    i = np.iinfo(dtype)
    if not i.min <= divisor <= i.max:
        return
    x = np.array([i.min, i.min + 1, i.max, i.max - 1, 0, 1, 2, 3, 5, 6, 7, *(range(-8, 0) if i.min else ())], dtype)
    text = f"graph g(x: {dtype}[n]) -> (y, z) {{\n y = Int_div(x, {dtype}({divisor}))\n z = Mod(x, {dtype}({divisor})) }}"
    for a in (x, x[:0], x[4:5]):
        with np.errstate(over="ignore"):
            want = a // a.dtype.type(divisor), a % a.dtype.type(divisor)
        for opset in OPSETS:
            for got, w in zip(ptg.run(text, a, opset=opset), want, strict=True):
                assert got.dtype == w.dtype and np.array_equal(got, w)


INDICES = {
    "Argmax{axes=[1]}(w)": 1, "Shape(w)": 1, "ARange{dtype=int64}(0, Shape(w)[1], 1)": 1, "Cast{dtype=int64}(k)": 2,
    "Mod(i, 5)": 2, "int64([7, 8, 9])": 0, "i": 5, "Reshape(Transpose(ARange{dtype=int64}(6, 0, -1)[:, None]), [-1])": None,
}  # fmt: skip


@pytest.mark.parametrize("index", INDICES)
def test_floor_division_of_indices(index):
    """What is never negative is divided by one node."""
    text = f"graph g(w: float64[n, m], k: uint8[m], i: int64[m]) -> (y) {{ j = {index}\n y = Int_div(j, 3) + 0 * Sum(i) }}"
    w, k, i = np.arange(12.0).reshape(3, 4), np.array([0, 1, 200, 255], "uint8"), np.array([-7, -6, 5, 9])
    want = {"Argmax": np.full(3, 3), "Shape": np.array([3, 4]), "ARange": np.arange(4), "Cast": k.astype("int64"), "Mod": i % 5,
            "int64": np.array([7, 8, 9]), "i": i, "Reshape": np.arange(6, 0, -1)}[index.split("{")[0].split("(")[0]] // 3  # fmt: skip
    for opset in OPSETS:
        assert np.array_equal(ptg.run(text, w, k, i, opset=opset, options=("-Wno-unused",)), want)
    if INDICES[index] is not None:
        model = onnx.load_model_from_string(ptg.compile(text, math="standard", options=("-Wno-unused",)))
        ops = [n.op_type for n in model.graph.node]
        assert ("Less" in ops) == (index == "i")


CONSTANTS = {
    "Exp(c)": np.exp, "Log(c)": np.log, "Sqrt(c)": np.sqrt, "Neg(c)": np.negative, "Abs(Neg(c))": lambda c: np.abs(-c),
    "1 / c": lambda c: 1 / c, "Floor(c * 1.7)": lambda c: np.floor(c * c.dtype.type(1.7)), "Ceil(c / 0.3)": lambda c: np.ceil(c / c.dtype.type(0.3)),
    "Roundhalftoeven(c * 0.5)": lambda c: np.round(c * c.dtype.type(0.5)), "Transpose(c)": np.transpose, "c[:, None] + c[0]": lambda c: c[:, None] + c[0],
    "c[1:, 0:3:2]": lambda c: c[1:, ::2], "c[5:]": lambda c: c[5:], "c[-9:9, -2:]": lambda c: c[:, -2:],
    "Reshape(c, [-1])": lambda c: c.reshape(-1), "Reshape(Transpose(c), [3, 2, 1]) * c[0][None, :2, None]": lambda c: c.T.reshape(3, 2, 1) * c[0][None, :2, None],
    "Cast{dtype=D}(Invert(c > 2.0))": lambda c: (~(c > 2)).astype(c.dtype),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ("float64", "float32"))
@pytest.mark.parametrize("form", CONSTANTS)
def test_constants_are_folded(form, dtype):
    """Also in the body of a loop; what a constant is made of is rounded as NumPy does, to 1 ULP."""
    c = np.array([[0.1, 0.2, 3.7], [1e-3, 5.0, 700.0 if dtype == "float64" else 80.0]], dtype)
    numbers = ", ".join(f"[{', '.join(map(repr, map(float, row)))}]" for row in c)
    with np.errstate(all="ignore"):
        want = CONSTANTS[form](c)
    for loop in (False, True):
        e = form.replace("=D", f"={dtype}")
        y = f"y = x + ({e})"
        if loop:
            y = f"z = loop (i in 0:2, s = x) -> (s) {{\n next s = s + 0 * Sum({e})\n}}\n y = z + ({e})"
        text = f"graph g(x: {dtype}[]) -> (y) {{\n c = {dtype}([{numbers}])\n {y}\n}}"
        for opset in OPSETS:
            for math in ("exact", "standard"):
                got = ptg.run(text, np.array(0, dtype), math=math, opset=opset)
                assert got.shape == want.shape and got.dtype == want.dtype
                assert np.allclose(got, want, 2 * np.finfo(dtype).eps, 0)
        if not loop:
            assert ptg.nodes(ptg.compile(text, math="standard")) == 1


POWERS = {  # dtype: base, exponent, are all found while compiling?
    "int64": [(2, 52, True), (-3, 7, True), (7, 0, True), (2, 62, False), (2, 63, False), (3, 40, False), (0, 0, False)],
    "int32": [(2, 30, True), (-2, 5, True), (2, 31, False)],
    "int8": [(2, 6, True), (-5, 3, True)],
    "uint8": [(2, 7, True), (2, 8, False)],
    "float64": [(2.0, 52.0, True), (-3.0, 3.0, True), (2.0, -1.0, False), (0.5, 2.0, False), (-0.0, 3.0, False), (np.inf, 2.0, False)],
    "float32": [(2.0, 23.0, True), (2.0, 24.0, False), (3.0, 16.0, False)],
}


@pytest.mark.parametrize("dtype", POWERS)
def test_powers_of_constants(dtype):
    """A power is folded where every step to it is an integer that the dtype has."""
    for base, exponent, folded in POWERS[dtype]:
        a, b = np.array(base, dtype), np.array(exponent, dtype)
        text = f"graph g(x: {dtype}[]) -> (y) {{ y = x + Pow({dtype}({base!r}), {dtype}({exponent!r})) }}"
        model = ptg.compile(text)
        assert not folded or ptg.nodes(model) == 1, (base, exponent)
        got = ptg.run(model, np.zeros((), dtype))
        assert got.dtype == dtype and got == a**b, (base, exponent)


def test_functions_of_no_elements():
    """An empty constant: only what is a function of each element in its dtype is folded."""
    for op, dtype in (("Isinf", bool), ("Isnan", bool), ("Exp", np.float32), ("Sign", np.float32), ("Sinh", np.float32)):
        got = ptg.run(f"graph g() -> (y) {{ y = {op}(float32[2, 0](0)) }}")
        assert got.shape == (2, 0) and got.dtype == dtype, op


@pytest.mark.parametrize("math", ["standard", "native"])
def test_a_sum_by_its_count_is_a_mean(math):
    """Sum(x) / Size(x) is ReduceMean, at standard where x is never empty: ONNX Runtime's mean of nothing is 0."""
    text = "ptg 1\n\ngraph g(x: float64[n, 1], y: float64[n]) -> (a, b, c) {\n"
    text += "  a = Sum(x[:, 0]) / Cast{float64}(Shape(x)[0])\n  b = Sum(y[:2]) / Cast{float64}(Shape(y)[0])\n"
    text += "  z = Join{axis=0}(y, float64([1]))\n  c = Sum(z) / Cast{float64}(Shape(z)[0])\n}\n"
    model = ptg.compile(text, math=math)
    ops = [n.op_type for n in onnx.load_from_string(model).graph.node]
    assert ops.count("ReduceMean") == (1 if math == "standard" else 2)
    for n in (0, 1, 5):
        y = np.arange(n) + 0.25
        a, b, c = ptg.run(model, y[:, None], y)
        with np.errstate(all="ignore"):
            assert math == "native" and not n or np.array_equal(a, y.mean() if n else np.nan, equal_nan=True)
            assert np.array_equal(b, np.float64(y[:2].sum()) / n, equal_nan=True)
        assert np.allclose(c, np.append(y, 1).mean(), rtol=1e-15)


REVERSED = {  # of a matrix x, a row y and a cube z
    "a row": ("x[:, ::-1] * y[::-1]", lambda x, y, z: x[:, ::-1] * y[::-1]),
    "a column": ("x[::-1] * y[None, ::-1]", lambda x, y, z: x[::-1] * y[None, ::-1]),
    "a constant": ("x[:, ::-1] - [1.0, 2.0, 3.0, 4.0]", lambda x, y, z: x[:, ::-1] - [1.0, 2.0, 3.0, 4.0]),
    "a sum of rows": ("Sum{axes=[0]}(x[:, ::-1] * y[::-1])", lambda x, y, z: (x[:, ::-1] * y[::-1]).sum(0)),
    "a largest of rows": ("Max{axes=[1]}(x[::-1] * x[::-1])", lambda x, y, z: (x[::-1] * x[::-1]).max(1)),
    "a sum in order": ("Sum{axes=[1]}(x[:, ::-1])", lambda x, y, z: x[:, ::-1].sum(1)),
    "both axes": ("x[::-1, ::-1] * x[::-1, ::-1]", lambda x, y, z: x[::-1, ::-1] ** 2),
    "both axes in turn": ("x[::-1][:, ::-1] * x[::-1]", lambda x, y, z: x[::-1][:, ::-1] * x[::-1]),
    "a cube": ("z[:, ::-1] * x[::-1]", lambda x, y, z: z[:, ::-1] * x[::-1]),
    "sums": ("Cumsum{axis=1}(z[:, ::-1])[:, -2::-1]", lambda x, y, z: np.cumsum(z[:, ::-1], 1)[:, -2::-1]),
}  # fmt: skip


@pytest.mark.parametrize("name", REVERSED)
def test_reversed(name):
    form, build = REVERSED[name]
    rng = np.random.default_rng(3)
    for dims, k in (("3, 4", 3), ("m, 4", 2), ("1, 4", 1), ("m, 4", 1), ("m, 4", 0)):
        x, y, z = rng.normal(size=(k, 4)), rng.normal(size=4), rng.normal(size=(2, k, 4))
        if not k and "Max" in form:
            continue
        for opset, math in ((13, "exact"), (18, "standard"), (26, "standard")):
            got = ptg.run(f"graph g(x: float64[{dims}], y: float64[4], z: float64[2, {dims}]) -> (r) {{ r = {form} }}", x, y, z, opset=opset, math=math, options=("-Wno-unused",))
            np.testing.assert_allclose(got, build(x, y, z), 1e-14)


ALONG = (np.arange(12.0).reshape(4, 3) - 5) / 4
UNLIKE = np.linspace(-1, 1, 720).reshape(60, 4, 3)
# name: (the product of x [n, k, 4] and y [n, k, 3], the same in NumPy, the axis, the operators where k is 60)
PRODUCTS = {
    "rows by columns": ("x[:, :, :, None] * y[:, :, None, :]", lambda x, y: x[..., None] * y[:, :, None], 1, "MatMul Transpose"),
    "columns by rows": ("y[:, :, None, :] * x[:, :, :, None]", lambda x, y: x[..., None] * y[:, :, None], 1, "MatMul Transpose"),
    "rows of y": ("x[:, :, None, :] * y[:, :, :, None]", lambda x, y: x[:, :, None] * y[..., None], 1, "MatMul Transpose"),
    "along the first axis": ("x[0, :, :, None] * y[0, :, None, :]", lambda x, y: x[0, :, :, None] * y[0, :, None], 0, None),
    "along the last axis": (
        "Transpose{axes=[0, 2, 1]}(x)[:, :, None, :] * Transpose{axes=[0, 2, 1]}(y)[:, None, :, :]",
        lambda x, y: np.einsum("nki,nkj->nijk", x, y), 3, "MatMul Transpose"),
    "along the rows": ("x[:, :, :, None] * y[:, :, None, :]", lambda x, y: x[..., None] * y[:, :, None], 2, "Mul ReduceSum Reshape Reshape Transpose Unsqueeze Unsqueeze"),
    "a constant": (f"(x[:, :, :, None] * y[:, :, None, :]) * {ALONG[None, None].tolist()}", lambda x, y: x[..., None] * y[:, :, None] * ALONG, 1, "MatMul Mul Transpose"),
    "a constant of fewer axes": (f"(x[:, :, :, None] * y[:, :, None, :]) * {ALONG.tolist()}", lambda x, y: x[..., None] * y[:, :, None] * ALONG, 1, "MatMul Mul Transpose"),
}  # fmt: skip


@pytest.mark.parametrize("name", PRODUCTS)
def test_sums_of_products(name):
    form, build, axis, operators = PRODUCTS[name]
    rng = np.random.default_rng(3)
    for dtype in ("float64", "float32"):
        for n, k, dims in ((2, 60, "n, 60"), (0, 60, "n, 60"), (1, 60, "1, 60"), (3, 1, "n, k"), (3, 0, "n, k"), (2, 2, "n, 2"), (3, 7, "n, k")):
            if n == 0 and "[0" in form:
                continue
            for keep in (True, False):
                total = f"Cast{{dtype={dtype}}}(Sum{{axes=[{axis}]}}({form}))"
                total = f"ExpandDims{{axis={axis}}}({total})" if keep else total
                text = f"graph g(x: {dtype}[{dims}, 4], y: {dtype}[{dims}, 3]) -> (z) {{ z = {total} }}"
                x, y = rng.normal(size=(n, k, 4)).astype(dtype), rng.normal(size=(n, k, 3)).astype(dtype)
                want = build(x.astype("float64"), y.astype("float64")).sum(axis, keepdims=keep)
                for opset in OPSETS if k == 60 else (18,):
                    got = ptg.run(text, x, y, math="standard", opset=opset)
                    assert got.shape == want.shape and got.dtype == dtype
                    np.testing.assert_allclose(got, want, rtol=1e-13 if dtype == "float64" else 1e-5, atol=1e-12 if dtype == "float64" else 1e-4)
                if operators and dims == "n, 60" and not keep and dtype == "float64":
                    model = ptg.compile(text, math="standard", options=("-fno-check-dims",))
                    assert " ".join(sorted(m.op_type for m in onnx.load_model_from_string(model).graph.node)) == operators


def test_sum_with_a_constant_of_all_axes():
    """It is taken out where it is the same all along the axis, and only there."""
    for constant, operators in ((np.broadcast_to(ALONG, (60, 4, 3)), "MatMul Mul Transpose"), (UNLIKE, "Mul Mul ReduceSum Unsqueeze Unsqueeze")):
        text = f"graph g(x: float64[n, 60, 4], y: float64[n, 60, 3]) -> (z) {{ z = Sum{{axes=[1]}}((x[:, :, :, None] * y[:, :, None, :]) * {constant[None].tolist()}) }}"
        x, y = np.random.default_rng(4).normal(size=(2, 60, 7))[..., :4], np.random.default_rng(5).normal(size=(2, 60, 3))
        got = ptg.run(text, x, y, math="standard")
        np.testing.assert_allclose(got, (x[..., None] * y[:, :, None] * constant).sum(1), rtol=1e-12, atol=1e-13)
        model = ptg.compile(text, math="standard", options=("-fno-check-dims",))
        assert " ".join(sorted(m.op_type for m in onnx.load_model_from_string(model).graph.node)) == operators


SLOPE = np.linspace(-1, 1, 40)
APART = "Mul Mul ReduceSum Squeeze Sub"
# name: (the terms, in x [n, 40] and u [n, 1], the same in NumPy, the operators where n is 20 at standard and native)
TERMS = {
    "x + u": ("x * y + u", lambda x, y, u: x * y + u, "Add Mul ReduceSum", "Add Mul Mul ReduceSum Squeeze"),
    "u + x": ("u + x * y", lambda x, y, u: x * y + u, "Add Mul ReduceSum", "Add Mul Mul ReduceSum Squeeze"),
    "x - u": ("x * y - u", lambda x, y, u: x * y - u, "Mul ReduceSum Sub", APART),
    "u - x": ("u - x * y", lambda x, y, u: u - x * y, "Mul ReduceSum Sub", APART),
    "a number for all": ("x * y - u[0, 0]", lambda x, y, u: x * y - (u[0, 0] if len(u) else 0), None, None),
    "squares": ("-0.5 * (y * y) - u", lambda x, y, u: -0.5 * y * y - u, "Mul Mul ReduceSum Sub", "Mul Mul ReduceSumSquare Squeeze Sub"),
    "of one sign": ("-0.5 * (y * y) - Exp(u)", lambda x, y, u: -0.5 * y * y - np.exp(u), *["Exp Mul Mul ReduceSumSquare Squeeze Sub"] * 2),
    "of one sign, added": ("y * y + Exp(u)", lambda x, y, u: y * y + np.exp(u), *["Add Exp Mul ReduceSumSquare Squeeze"] * 2),
    "of two signs": ("-0.5 * (y * y) + Exp(u)", lambda x, y, u: -0.5 * y * y + np.exp(u), "Add Exp Mul Mul ReduceSum", None),
    "what is not rounded": ("x - u", lambda x, y, u: x - u, *["ReduceSum Sub"] * 2),
    "a row of squares": ("-0.5 * (y * y) - u - " + str([SLOPE.tolist()]), lambda x, y, u: -0.5 * y * y - u - SLOPE, None, None),
    "a row": ("x * y - " + str([SLOPE.tolist()]), lambda x, y, u: x * y - SLOPE, *["Mul ReduceSum Sub"] * 2),
}  # fmt: skip


@pytest.mark.parametrize("name", TERMS)
def test_terms_of_sums(name):
    """What all terms have is added once where it cannot cancel, and at native; there the error is that of the terms."""
    form, build, *operators = TERMS[name]
    for dtype in ("float64", "float32"):
        for n, dims in ((0, "n"), (1, "1"), (20, "20"), (20, "n")):
            for axes, along in (("[1]", (1,)), ("None", None)):
                args = f"x: {dtype}[{dims}, 40], y: {dtype}[{dims}, 40], u: {dtype}[{dims}, 1]"
                text = f"graph g({args}) -> (z) {{ z = Cast{{dtype={dtype}}}(Sum{{axes={axes}}}({form})) }}"
                x, u = np.random.default_rng(6).normal(size=(n, 40)).astype(dtype), np.random.default_rng(7).normal(size=(n, 1)).astype(dtype)
                if n == 0 and "[0, 0]" in form:
                    continue
                for y in (np.ones_like(x), -x, u / np.where(x == 0, 1, x) + np.finfo(dtype).eps):
                    wide = build(*(v.astype("longdouble") for v in (x, y, u)))
                    error = 64 * np.finfo(dtype).eps * (np.abs(x * y).sum() + 40 * np.abs(u).sum() + np.abs(y * y).sum() + n * np.abs(SLOPE).sum() + 40 * np.exp(u).sum())
                    for opset, math in zip(OPSETS, ("standard", "native", "standard")):
                        got = ptg.run(text, x, y, u, math=math, opset=opset, options=("-Wno-unused",))
                        assert got.dtype == dtype and got.shape == wide.sum(along).shape
                        assert np.all(np.abs(got - wide.sum(along)) <= error), (opset, dims)
        for math, wanted in zip(("standard", "native"), operators):
            if wanted is None:
                continue
            text = f"graph g(x: {dtype}[20, 40], y: {dtype}[20, 40], u: {dtype}[20, 1]) -> (z) {{ z = Cast{{dtype={dtype}}}(Sum{{axes=[1]}}({form})) }}"
            model = ptg.compile(text, math=math, options=("-Wno-unused",))
            assert " ".join(sorted(m.op_type for m in onnx.load_model_from_string(model).graph.node)) == wanted



def test_sums_of_many_terms():
    """They are taken apart to some depth."""
    n = 200
    terms = "\n".join(f"  x{i + 1} = x{i} {'+-'[i % 2]} u * {i}.5" for i in range(n))
    text = f"graph g(x: float64[2, 3], u: float64[2, 1]) -> (z) {{\n  x0 = x * x\n{terms}\n  z = Sum{{axes=[1]}}(x{n})\n}}\n"
    x, u = np.arange(6.0).reshape(2, 3), np.array([[1.0], [0.5]])
    want = (x * x).sum(1) + 3 * u[:, 0] * sum((i + 0.5) * (1 - 2 * (i % 2)) for i in range(n))
    np.testing.assert_allclose(ptg.run(text, x, u, math="standard"), want, rtol=1e-9)


PICKS = {  # what is picked, and how often GatherND is run
    "difference": ("x[:, i, k] - y[:, i, k]", 1),
    "other order": ("y[:, i, k] - x[:, i, k]", 2),
    "other places": ("x[:, i, k] - y[:, i, l]", 2),
    "sum": ("x[:, i, k] + y[:, i, k]", 2),
    "with another": ("x[:, i, k] - z[:, i, k]", 2),
}


@pytest.mark.parametrize("name", PICKS)
@pytest.mark.parametrize("math", ["exact", "standard"])
def test_picked_from_a_difference(name, math):
    """x[:, i, k] - y[:, i, k] is (x - y)[:, i, k] if there is x - y."""
    form, gathers = PICKS[name]
    i, k, l = "int64([0, 1, 2])", "int64([3, 0, 3])", "int64([1, 0, 2])"
    head = "graph g(x: float64[n, 3, 4], y: float64[n, 3, 4], z: float64[n, 3, 4]) -> (d, r) {\n"
    body = f"  i = {i}\n  k = {k}\n  l = {l}\n  d = x - y\n  r = {form}\n}}"
    for opset in OPSETS:
        model = ptg.compile("ptg 1\n" + head + body, opset=opset, math=math, options=("-Wno-unused",))
        nodes = onnx.load_from_string(model).graph.node  # one more may be of a check of lengths
        assert sum(n.op_type == "GatherND" and "must be" not in n.name for n in nodes) == gathers
        for n in 0, 1, 5:
            x, y, z = np.random.default_rng(n).normal(size=(3, n, 3, 4))
            if n:
                x[0, 1, 0], x[0, 2, 3] = np.nan, np.inf
            i_, k_, l_ = np.arange(3), np.array([3, 0, 3]), np.array([1, 0, 2])
            want = eval(form, {"x": x, "y": y, "z": z, "i": i_, "k": k_, "l": l_})
            d, r = ptg.run(model, x, y, z)
            np.testing.assert_array_equal(r, want)
            np.testing.assert_array_equal(d, x - y)


@pytest.mark.parametrize("level", ["-O0", "-O1"])
def test_an_index_out_of_range_still_fails(level):
    """What is picked from a difference that is there keeps the duty to fail: a Slice would be shorter in silence."""
    body = "  d = x - y\n  i = ARange(0, k, 1)\n  r = ExpandDims{axis=0}(x[i]) - ExpandDims{axis=0}(y[i])\n"
    text = "ptg 1\ngraph g(x: float64[n], y: float64[n], k: int64[]) -> (d, r) {\n" + body + "}\n"
    model = ptg.compile(text, options=(level,))
    x, y = np.arange(4.0), np.array([2.0, 0.5, -1, 7])
    np.testing.assert_array_equal(ptg.run(model, x, y, np.array(3))[1], (x - y)[None, :3])
    with pytest.raises(Exception, match="out of data bounds"):
        ptg.run(model, x[:2], y[:2], np.array(4))
