"""Numbers of the hand: functions of literals are literals, and sizes take the float dtype of what they meet."""
import math
import subprocess

import mpmath
import numpy as np
import pytest

import ptg

FUNCTIONS = {
    "Sqrt": mpmath.sqrt, "Exp": mpmath.exp, "Exp2": lambda x: mpmath.power(2, x), "Expm1": mpmath.expm1,
    "Log": mpmath.log, "Log2": lambda x: mpmath.log(x, 2), "Log10": mpmath.log10, "Log1p": mpmath.log1p,
    "Log1mexp": lambda x: mpmath.log(-mpmath.expm1(x)), "Sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "Softplus": lambda x: mpmath.log1p(mpmath.exp(x)), "Reciprocal": lambda x: 1 / x,
    "Deg2rad": mpmath.radians, "Rad2deg": mpmath.degrees, "Sin": mpmath.sin, "Cos": mpmath.cos, "Tan": mpmath.tan,
    "Arcsin": mpmath.asin, "Arccos": mpmath.acos, "Arctan": mpmath.atan, "Sinh": mpmath.sinh, "Cosh": mpmath.cosh,
    "Tanh": mpmath.tanh, "Arcsinh": mpmath.asinh, "Arccosh": mpmath.acosh, "Arctanh": mpmath.atanh,
    "Erf": mpmath.erf, "Erfc": mpmath.erfc, "Erfcx": lambda x: mpmath.exp(x * x) * mpmath.erfc(x),
    "Gammaln": lambda x: mpmath.log(abs(mpmath.gamma(x))), "Gamma": mpmath.gamma,
}
BELOW = {"Log": 0, "Log2": 0, "Log10": 0, "Log1p": -1, "Sqrt": 0, "Arccosh": 1, "Arcsin": -1, "Arccos": -1, "Arctanh": -1}
ABOVE = {"Log1mexp": 0, "Arcsin": 1, "Arccos": 1, "Arctanh": 1}
VALUES = [0.5, 1, 2, 3, 5, 10, 100, 0.1, 1e-3, 1e-9, 1e-200, 1.0000001, 1.9999999, 0.25, 0.999, 2.5, 6.25, 26, 33.3, 300.5,
          12345.678, 1e15, 1e22, 1e300, 3.141592653589793, 1.5707963267948966, 6.02e23]


def literals(texts):
    """The values of number literals, as float64."""
    return ptg.run("graph g() -> (y) {\n  y = float64([" + ", ".join(texts) + "])\n}\n")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_literals(name):
    f, used = FUNCTIONS[name], []
    for v in VALUES + [-v for v in VALUES]:
        pole = name in ("Gamma", "Gammaln") and v <= 0 and v == int(v)
        if BELOW.get(name, -math.inf) < v < ABOVE.get(name, math.inf) and not pole:
            used.append(v)
    with mpmath.workprec(4000):
        for v, got in zip(used, literals([f"{name}({v!r})" for v in used]), strict=True):
            if abs(v) > 1e4 and name in ("Exp", "Exp2", "Expm1", "Sinh", "Cosh", "Erf", "Erfc", "Erfcx", "Gamma", "Gammaln",
                                         "Sigmoid", "Softplus", "Tanh", "Log1mexp"):
                continue  # mpmath takes long
            want = f(mpmath.mpf(v))
            near = float(want)
            if math.isinf(near) or near == 0:
                assert got == near, (name, v)
            else:
                assert abs(want - mpmath.mpf(float(got))) <= math.ulp(near), (name, v, got, near)


def test_special_literals():
    texts = {
        "Log(0)": -math.inf, "Log(-1)": math.nan, "Sqrt(-1)": math.nan, "Exp(-inf)": 0, "Exp(1e4)": math.inf, "Exp(-1e4)": 0,
        "Tanh(1e4)": 1, "Tanh(-inf)": -1, "Sin(inf)": math.nan, "Arctan(inf)": math.pi / 2, "Arctan(-1e300)": -math.pi / 2,
        "Arctan2(0, -1)": math.pi, "Arctan2(-0.0, -1)": -math.pi, "Arctan2(1, 0)": math.pi / 2, "Arctan2(-0.0, 1)": -0.0,
        "Arctan2(inf, -inf)": 3 * math.pi / 4, "Arctan2(3, -4)": math.atan2(3, -4), "Arctan2(1e-300, 1e300)": 0,
        "Arctan2(1e-10, -1e200)": math.pi, "Gamma(0.0)": math.inf, "Gamma(5)": 24, "Gamma(171)": float(math.factorial(170)),
        "Gamma(172)": math.inf, "Gamma(-1)": math.nan, "Gamma(-200.5)": -0.0, "Gammaln(0)": math.inf, "Gammaln(-inf)": math.inf,
        "Erf(-inf)": -1, "Erfc(-20)": 2, "Erfc(40)": 0, "Erfcx(-40)": math.inf, "Sigmoid(-1e4)": 0, "Softplus(-1e4)": 0,
        "Softplus(1e4)": 1e4, "Floor(-2.5)": -3, "Ceil(2.1)": 3, "Trunc(-2.9)": -2, "Roundhalftoeven(2.5)": 2,
        "Roundhalfawayfromzero(-2.5)": -3, "Roundhalfawayfromzero(0.49999999999999994)": 0, "Floor(7)": 7,
        "Maximum(1, nan)": math.nan, "Maximum(nan, 1)": math.nan, "Minimum(2, 1.5)": 1.5, "Sign(-2.5)": -1, "Sign(nan)": math.nan,
        "Sqr(1.5)": 2.25, "Abs(-0.0)": 0.0, "Reciprocal(4)": 0.25, "Log1mexp(0)": -math.inf, "Log1mexp(1)": math.nan,
        "Arccosh(0.5)": math.nan, "Arctanh(1)": math.inf, "Arcsin(2)": math.nan, "Log2(8)": 3, "Log10(1000)": 3,
        "Log10(1e-5)": -5, "Exp2(0.5)": math.sqrt(2), "Exp2(-1074)": 5e-324, "True_div(1, 4)": 0.25, "Add(1, 2, 0.5)": 3.5,
        "Log(2 * 3)": math.log(6), "2 ** 0.5": math.sqrt(2), "-Sqrt(Sqr(3) + Sqr(4))": -5,
    }
    for (text, want), got in zip(texts.items(), literals(texts), strict=True):
        assert got == want or (math.isnan(want) and math.isnan(got)), (text, got)
        assert math.isnan(want) or math.copysign(1, got) == math.copysign(1, want), text


def test_integer_functions_stay_integers():
    got = ptg.run("""graph g(k: int8[n]) -> (a, b, c, d, e, f) {
  a = k + Maximum(3, -100)
  b = k + Abs(-100)
  c = k + Sqr(100)
  d = k + ~5
  e = Minimum(18446744073709551615, 18446744073709551614)
  f = Sign(-9)
}
""", np.array([1, 2], np.int8))
    for g, (dtype, want) in zip(got, [("int8", [4, 5]), ("int8", [101, 102]), ("int16", [10001, 10002]), ("int8", [-5, -4]),
                                      ("uint64", 18446744073709551614), ("int8", -1)], strict=True):
        assert g.dtype == dtype
        np.testing.assert_array_equal(g, want)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("n", [0, 1, 5, 70_000])
@pytest.mark.parametrize("dynamic", [False, True])
def test_sizes_beside_floats(dtype, n, dynamic):
    """A size takes the dtype; beside float16 it is not rounded to inf."""
    t = np.dtype(dtype)
    x = np.linspace(-3, 3, n).astype(t)
    size = "n" if dynamic else n
    got = ptg.run(f"""fn Mean2(x: F[m], k: F) -> (y: F[m]) {{
  y = x / m + k
}}
fn Sizes(x: F[k], s: F) -> (a, c, d, e, f, h) {{
  a = x / k
  c = s < k
  d = Switch(x > 0, x, k / 4)
  e = x * Sqrt(k) + k / 2
  f = Mean2(x, k / 8)
  h = Maximum(x, k)
}}
graph g(x: {dtype}[{size}], s: {dtype}[]) -> (a, b: {dtype}[{size}], c, d, e, f, h) {{
  a, c, d, e, f, h = Sizes(x, s)
  b = x * Log(5) / Sqrt(2)
}}
""", x, t.type(1.5))
    wide = np.float64 if t == np.float64 else np.float32
    y = x.astype(wide)
    with np.errstate(all="ignore"):
        want = [
            (y / wide(n)).astype(t),
            (x * t.type(math.log(5))) / t.type(math.sqrt(2)),
            np.bool_(1.5 < n),
            np.where(x > 0, y, wide(n / 4)).astype(t),
            ((y * wide(math.sqrt(n))).astype(t).astype(wide) + wide(n / 2)).astype(t),
            ((y / wide(n)).astype(t) + t.type(n / 8)).astype(t),
            np.maximum(y, wide(n)).astype(t),
        ]
    for g, w in zip(got, want, strict=True):
        assert g.dtype == w.dtype
        np.testing.assert_allclose(g, w, rtol=1e-6 if t != np.float16 else 1e-3)


def test_sizes_alone_and_beside_integers():
    x = np.zeros((7, 3), np.float32)
    k = np.array([1, 2], np.int32)
    got = ptg.run("""graph g(x: float32[n, m], k: int32[2], u: uint64[]) -> (a, b, c, d, e, f, h, i, j, l) {
  a = n
  b = k + n
  c = n / 2
  d = k * (n / 2)
  e = u + n
  f = x + int64(n)
  h = Sum{axis=0}(x) + Shape(x)[0]
  i = 2 ** n + n ** 2 - n // m
  j = [n, 4]
  l = [x[0, 0], n, 0.5]
}
""", x, k, np.uint64(3))
    want = [np.int64(7), k.astype(np.int64) + 7, np.float64(3.5), k * 3.5, np.float64(10), x.astype("f8") + 7,
            np.full(3, 7.0), np.int64(128 + 49 - 2), np.array([7, 4]), np.array([0, 7, 0.5], np.float32)]
    for g, w in zip(got, want, strict=True):
        assert g.dtype == w.dtype
        np.testing.assert_array_equal(g, w)


def test_sizes_in_blocks():
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    got = ptg.run("""graph g(x: float32[n, 2], c: bool[]) -> (a, b, d: float32[], e) {
  a = loop (r in x, s: float32[2] = float32[2](0)) -> (s) {
    next s = s + r / n + Sqrt(n)
  }
  b = if c { b = x[0, 0] } else { b = n }
  d = n / 8
  e = loop (i in 0:3, s: float32[] = n) -> (s) {
    next s = s * n
  }
}
""", x, np.bool_(False))
    want = [x.sum(0) / 4 + np.float32(8), np.float32(4), np.float32(0.5), np.float32(256)]
    for g, w in zip(got, want, strict=True):
        assert g.dtype == w.dtype
        np.testing.assert_allclose(g, w)


@pytest.mark.parametrize("target", ["portable", "ort-web", "onnx"])
def test_sizes_on_targets(target):
    x = np.arange(6, dtype=np.float32)
    got = ptg.run("""graph g(x: float32[n]) -> (a, b) {
  a = x / Sqrt(n) + Log(5)
  b = Sum(x) / n
}
""", x, target=target, math="standard")
    np.testing.assert_allclose(got[0], x / np.sqrt(np.float32(6)) + np.float32(np.log(5)), rtol=1e-6)
    assert got[0].dtype == got[1].dtype == np.float32 and got[1] == 2.5


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_computed_by_the_run(dtype):
    """What ptgc does not compute itself is computed in float64 and takes the dtype of what it meets."""
    from scipy import special
    x = np.linspace(0.5, 3, 4).astype(dtype)
    got = ptg.run(f"""graph g(x: {dtype}[n]) -> (a, b, c, d) {{
  a = x * I0(2)
  b = x + Psi(3)
  c = Polygamma(1, x) + Polygamma(2, 3)
  d = XLogY(x, n) + XLogY(n, x)
}}
""", x)
    want = [x * special.i0(2.0), x + special.psi(3.0), special.polygamma(1, x) + special.polygamma(2, 3.0),
            special.xlogy(x, 4) + special.xlogy(4, x)]
    for g, w in zip(got, want, strict=True):
        assert g.dtype == dtype
        np.testing.assert_allclose(g, w, rtol=1e-12 if dtype == "float64" else 1e-6)


HINTS = {
    "Gelu(x)": lambda x: 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    "silu(x)": lambda x: x / (1 + np.exp(-x)),
    "rsqrt(x)": lambda x: 1 / np.sqrt(x),
    "logit(x)": lambda x: np.log(x / (1 - x)),
    "Var{axis=0}(x)": lambda x: x.var(0),
    "Var{axis=1}(x)": lambda x: x.var(1),
    "variance{axis=-1}(x)": lambda x: x.var(-1),
    "Std{axis=[0, 1]}(x)": lambda x: x.std(),
    "std{axis=1}(x)": lambda x: x.std(1),
    "reduce_mean{axis=1}(x)": lambda x: x.mean(1),
}


@pytest.mark.parametrize("call", HINTS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_hints_are_right(call, dtype):
    """What a message proposes computes what was meant, in the dtype of x."""
    text = "graph g(x: {}[n, k]) -> (y) {{\n  y = {}\n}}\n"
    run = subprocess.run([ptg.PTGC, "-", "-o", "-"], input=text.format(dtype, call).encode(), capture_output=True)
    message = run.stderr.decode().splitlines()[0]
    proposed = message.split(": write ")[1].rsplit(" [PTG0500]", 1)[0]
    x = np.random.default_rng(1).uniform(0.05, 0.95, (50, 7)).astype(dtype)
    got, want = ptg.run(text.format(dtype, proposed), x), HINTS[call](x.astype(np.float64))
    assert got.dtype == dtype
    close = {"float16": 5e-3, "float32": 1e-6, "float64": 1e-13}[dtype]
    np.testing.assert_allclose(got, want, rtol=close, atol=close)
