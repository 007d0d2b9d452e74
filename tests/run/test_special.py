"""lib/elementwise and lib/special against mpmath by units in the last place, and NumPy's and SciPy's special values."""
import mpmath as mp
import numpy as np
import ptg
import pytest
import scipy.special as ss

N = 400


def rng():
    return np.random.default_rng(12345)


def uniform(a, b, n=N):
    return rng().uniform(a, b, n)


def powers(a, b, n=N):
    return 10.0 ** rng().uniform(a, b, n)


def both(x):
    return np.concatenate([x, -x])


def join(*xs):
    return np.concatenate(xs)


def near_multiples(count):
    """The float64 nearest to k pi/2"""
    mp.mp.prec = 200
    return np.array([float(k * mp.pi / 2) for k in range(1, count)])


def newton_erfinv(x):
    y = mp.mpf(float(ss.erfinv(float(x))))
    for _ in range(4):
        y -= (mp.erf(y) - x) * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
    return y


def newton_erfcinv(q):
    if q > 0.5:
        return newton_erfinv(1 - q)
    y = mp.mpf(float(ss.erfcinv(float(q))))
    for _ in range(5):
        e = mp.erfc(y)
        y += (mp.log(e) - mp.log(q)) * e * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
    return y


def log_gamma(x):
    return mp.loggamma(x).real if x > 0 else mp.log(abs(mp.gamma(x)))


angles = join(both(uniform(0, 20)), both(uniform(0, 1e6)), both(powers(-10, 0)), near_multiples(400))
huge = both(powers(6, 300, 100))
# op: mpmath's function, NumPy's or SciPy's, points, bound in float64 (units in the last place), bits of mpmath.
# Bounds above 4 are below SciPy's own largest error on such points: Erfc 9e12 (its tail), Erfcx 480, Gammaln 40 (near
# its zeros more), Gamma 7.5, Tri_gamma 5.5, J0 61 and J1 70 (near their zeros).
OPS = {
    "Exp2": (lambda x: mp.mpf(2) ** x, np.exp2, both(uniform(0, 1000)), 1, 200),
    "Log": (mp.log, np.log, join(powers(-300, 300), uniform(0, 2)), 2, 200),
    "Log2": (lambda x: mp.log(x, 2), np.log2, join(powers(-300, 300), uniform(0, 2)), 3, 200),
    "Log10": (mp.log10, np.log10, join(powers(-300, 300), uniform(0, 2)), 3, 200),
    "Log1p": (mp.log1p, np.log1p, join(uniform(-1, 5), both(powers(-18, -1)), powers(0, 300)), 3, 200),
    "Expm1": (mp.expm1, np.expm1, join(uniform(-740, 709), both(uniform(0, 2)), both(powers(-18, 0))), 3, 200),
    "Log1mexp": (lambda x: mp.log(-mp.expm1(x)), None, -join(uniform(0, 740), powers(-15, 1), uniform(0.5, 1)), 4, 1200),
    "Softplus": (lambda x: mp.log1p(mp.exp(x)), lambda x: np.logaddexp(0, x), both(join(uniform(0, 40), uniform(0, 740))), 3, 1200),
    "Sigmoid": (lambda x: 1 / (1 + mp.exp(-x)), None, both(join(uniform(0, 40), uniform(0, 744))), 3, 200),
    "Sin": (mp.sin, np.sin, join(angles, huge), 4, 1200),
    "Cos": (mp.cos, np.cos, join(angles, huge), 4, 1200),
    "Tan": (mp.tan, np.tan, join(angles, huge), 4, 1200),
    "Arcsin": (mp.asin, np.arcsin, join(both(uniform(0, 1)), both(powers(-10, 0)), 1 - powers(-15, 0)), 3, 200),
    "Arccos": (mp.acos, np.arccos, join(both(uniform(0, 1)), both(powers(-10, 0)), both(1 - powers(-15, 0))), 3, 200),
    "Arctan": (mp.atan, np.arctan, join(both(uniform(0, 10)), both(powers(-10, 300)), both(uniform(0, 1))), 3, 200),
    "Sinh": (mp.sinh, np.sinh, both(join(uniform(0, 2), powers(-10, 0), uniform(0, 710.4))), 4, 200),
    "Cosh": (mp.cosh, np.cosh, both(join(uniform(0, 2), uniform(0, 710.4))), 4, 200),
    "Tanh": (mp.tanh, np.tanh, both(join(uniform(0, 2), powers(-10, 0), uniform(0, 20))), 4, 200),
    "Arcsinh": (mp.asinh, np.arcsinh, both(join(uniform(0, 10), powers(-10, 307))), 3, 200),
    "Arccosh": (mp.acosh, np.arccosh, 1 + join(uniform(0, 10), powers(-15, 307)), 3, 200),
    "Arctanh": (mp.atanh, np.arctanh, both(join(uniform(0, 1), powers(-10, 0), 1 - powers(-15, 0))), 4, 200),
    "Erf": (mp.erf, ss.erf, both(join(uniform(0, 4), powers(-10, 1))), 4, 200),
    "Erfc": (mp.erfc, ss.erfc, join(both(uniform(0, 6)), uniform(0, 27.2)), 7, 200),
    "Erfcx": (lambda x: mp.erfc(x) * mp.exp(x * x), ss.erfcx, join(uniform(-26.6, 6), uniform(0, 100), powers(-5, 3)), 7, 200),
    "Erfinv": (newton_erfinv, ss.erfinv, join(both(uniform(0, 1)), both(uniform(0.75, 1)), both(powers(-8, 0)), 1 - powers(-15, 0)), 4, 200),
    "Erfcinv": (newton_erfcinv, ss.erfcinv, join(uniform(0, 2, 2000), powers(-300, 0)), 4, 200),
    "Gammaln": (log_gamma, ss.gammaln, join(powers(-8, 8), uniform(0, 12), 1 + both(powers(-10, -1)), 2 + both(powers(-10, -1))), 5, 200),
    "Gamma": (mp.gamma, ss.gamma, join(uniform(0, 20), uniform(0, 171.6), powers(-10, 0), -uniform(0, 20), -uniform(0, 170)), 8, 200),
    "Psi": (mp.digamma, ss.psi, join(powers(-5, 6), uniform(0, 12)), 4, 200),
    "Tri_gamma": (lambda x: mp.polygamma(1, x), lambda x: ss.polygamma(1, x), join(powers(-5, 6), uniform(0, 12), -uniform(0, 20, 2000)), 5, 200),
    "I0e": (lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), ss.i0e, join(both(uniform(0, 20, 700)), powers(-5, 6)), 4, 200),
    "I0": (lambda x: mp.besseli(0, x), ss.i0, join(both(uniform(0, 20, 1500)), uniform(0, 709.7), powers(-5, 1)), 4, 200),
    "I1e": (lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), ss.i1e, join(both(uniform(0, 20, 700)), powers(-5, 6)), 4, 200),
    "I1": (lambda x: mp.besseli(1, x), ss.i1, join(both(uniform(0, 20, 1500)), uniform(0, 709.7), powers(-5, 1)), 4, 200),
    "J0": (lambda x: mp.besselj(0, x), ss.j0, both(uniform(0, 7)), 16, 200),
    "J1": (lambda x: mp.besselj(1, x), ss.j1, both(uniform(0, 7)), 16, 200),
}
# float32 kernels of ONNX Runtime that are used as they are; all else is rounded from float64
NATIVE = {"Exp2": 1, "Sinh": 2, "Cosh": 2, "Tan": 1.3, "Arcsinh": 2, "Arccosh": 2, "Arctanh": 2, "Erf": 1.2}
SPECIAL = [0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, np.inf, -np.inf, np.nan, 3, 4, 8, 100, 1000, -1000]
EXTREME = [5e-324, -5e-324, 1e-310, 1e308, -1e308]
# where SciPy is not right: op -> arguments
DIFFER = {
    "Gammaln": [-np.inf, 5e-324, -5e-324, 1e-310],  # tiny x: log(1/x), SciPy inf; -inf: inf as in C
    "Erfcinv": [5e-324, 1e-310],  # SciPy inf
    "I0": [1000, -1000, 1e308, -1e308],  # SciPy inf: right, but 1000 is inf - inf in its float32
    "I1": [1000, -1000, 1e308, -1e308],
    "J0": [1e308, -1e308],
    "J1": [1e308, -1e308],
}


def graph(op, dtype, dims="n"):
    return f"graph g(x: {dtype}[{dims}]) -> (y) {{\n  y = {op}(x)\n}}\n"


def ulps(got, want, dtype):
    """Distance in units of the last place of `want` (mpmath numbers), infinite where one is not finite."""
    tiny = np.finfo(dtype).tiny
    out = np.zeros(len(got))
    for i, (g, w) in enumerate(zip(got, want)):
        with np.errstate(over="ignore"):
            r = np.asarray(float(w)).astype(dtype)
        if not (np.isfinite(r) and np.isfinite(g)):
            out[i] = 0 if g == r else np.inf
            continue
        unit = np.spacing(np.maximum(np.abs(r), tiny).astype(dtype))
        out[i] = float(abs(mp.mpf(float(g)) - w) / mp.mpf(float(unit)))
    return out


def reference(op, xs):
    f, _, _, _, prec = OPS[op]
    mp.mp.prec = prec
    return [f(mp.mpf(float(x))) for x in xs]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("op", OPS)
def test_accuracy(op, dtype):
    with np.errstate(over="ignore"):
        x = OPS[op][2].astype(dtype)
    low = 1 if op == "Arccosh" else -1 if op in ("Log1p", "Arcsin", "Arccos", "Arctanh", "Erfinv") else -np.inf
    high = 1 if op in ("Arcsin", "Arccos", "Arctanh", "Erfinv") else 2 if op == "Erfcinv" else np.inf
    x = x[np.isfinite(x) & (x > low) & (x < high)]
    if op in ("Log", "Log2", "Log10", "Gammaln", "Psi", "Erfcinv"):
        x = x[x > 0]
    if op in ("Gamma", "Tri_gamma"):
        x = x[(x > 0) | (x != np.round(x))]
    if op == "Log1mexp":
        x = x[x < 0]
    got = ptg.run(graph(op, dtype), x)
    assert got.dtype == np.dtype(dtype)
    e = ulps(got, reference(op, x), dtype)
    bound = OPS[op][3] if dtype == "float64" else NATIVE.get(op, 0.6) if dtype == "float32" else 0.6
    i = int(np.argmax(e))
    assert e[i] <= bound, (op, dtype, x[i], got[i], e[i])


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("op", [op for op in OPS if OPS[op][1]])
def test_special_values(op, dtype):
    x = np.array(SPECIAL + (EXTREME if dtype == "float64" else [])).astype(dtype)
    got = ptg.run(graph(op, dtype), x)
    with np.errstate(all="ignore"):
        want = OPS[op][1](x.astype(np.float64)).astype(dtype)
    for a, g, w in zip(x, got, want):
        if any(a == d for d in DIFFER.get(op, [])):
            continue
        if np.isnan(w) or np.isinf(w):
            assert np.isnan(g) if np.isnan(w) else g == w, (op, a, g, w)
        elif w == 0:
            assert abs(g) <= 1e-307, (op, a, g, w)
            if a == 0 and op not in ("Erfinv", "Gammaln", "I1", "I1e"):  # SciPy drops the sign of these
                assert np.signbit(g) == np.signbit(w), (op, a, g, w)
        else:
            np.testing.assert_allclose(g, w, atol=1e-320, rtol={"float64": 3e-15, "float32": 5e-7, "float16": 2e-3}[dtype])


@pytest.mark.sampled
@pytest.mark.parametrize("opset", [13, 18, 21, 26])
@pytest.mark.parametrize("op", OPS)
def test_opsets_and_sizes(op, opset):
    for dtype in ("float64", "float32", "float16"):
        want = None
        for dims, sizes in (("n", (7, 1, 0)), ("7", (7,)), ("", (None,)), ("a, b", (6,))):
            model = ptg.compile(graph(op, dtype, dims), opset=opset)
            for n in sizes:
                x = np.linspace(0.1, 0.9, n or 1).astype(dtype)
                x = x[:n] if dims != "a, b" else x.reshape(2, 3)
                x = x.reshape(()) if dims == "" else -x if op == "Log1mexp" else x
                if op == "Arccosh":
                    x = x + 1
                if dims == "" and op == "Log1mexp":
                    x = -x
                got = ptg.run(model, x)
                assert got.shape == x.shape and got.dtype == x.dtype
                if dims == "n" and n == 7:
                    want = got
                if dims == "7":  # polynomials of few numbers are sums of powers
                    np.testing.assert_allclose(got, want, 8 * np.finfo(dtype).eps)


@pytest.mark.parametrize("op", ["Log1p", "Expm1", "Sin", "Tan", "Arctan", "Tanh", "Erfc", "Gamma", "Psi"])
def test_optimisation_levels_agree(op):
    x = OPS[op][2]
    model = ptg.compile(graph(op, "float64"))
    a, b = ptg.run(model, x), ptg.run(model, x, level="none")
    np.testing.assert_array_equal(a, b)


def test_exact_results():
    k = np.arange(-1000.0, 1000)
    np.testing.assert_array_equal(ptg.run(graph("Log2", "float64"), 2.0**k), k)
    d = np.arange(0, 23)
    np.testing.assert_array_equal(ptg.run(graph("Log10", "float64"), 10.0**d), d)
    i = np.arange(1.0, 19)
    np.testing.assert_array_equal(ptg.run(graph("Gamma", "float64"), i), ss.factorial(i - 1, exact=False))


def test_reflection_sides():
    """Near zeros of gammaln and psi at negative x only the absolute error is small, as in SciPy."""
    x = -uniform(0, 20)
    np.testing.assert_allclose(ptg.run(graph("Gammaln", "float64"), x), ss.gammaln(x), rtol=2e-14, atol=2e-14)
    np.testing.assert_allclose(ptg.run(graph("Psi", "float64"), x), ss.psi(x), rtol=2e-13, atol=2e-13)


def test_arctan2():
    edge = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-320, -1e308, 3])
    r = rng()
    for dtype, tol in (("float64", 1e-15), ("float32", 2e-7), ("float16", 1e-3)):
        y, x = (v.ravel().astype(dtype) for v in np.meshgrid(edge.astype(dtype), edge.astype(dtype)))
        y = join(y, r.normal(size=3000).astype(dtype))
        x = join(x, r.normal(size=3000).astype(dtype))
        got = ptg.run(f"graph g(y: {dtype}[n], x: {dtype}[n]) -> (r) {{\n  r = Arctan2(y, x)\n}}\n", y, x)
        want = np.arctan2(y.astype(np.float64), x.astype(np.float64)).astype(dtype)
        assert got.dtype == y.dtype
        np.testing.assert_allclose(got, want, rtol=tol)
        zero = want == 0
        np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(want[zero]))


def test_bessel_beyond_the_first_zeros():
    x = join(uniform(7, 100), powers(2, 6))
    for op, f in (("J0", ss.j0), ("J1", ss.j1)):
        np.testing.assert_allclose(ptg.run(graph(op, "float64"), x), f(x), rtol=0, atol=4e-15)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_polygamma(dtype):
    x = np.array([0.5, 3, 20, -0.5, -3.5, 1e3, 1e-3, 7.25, np.inf, -2, 0, np.nan]).astype(dtype)
    for n in (0, 1, 2, 3, 7):
        text = f"graph g(x: {dtype}[k]) -> (y) {{\n  y = Polygamma(int64({n}), x)\n}}\n"
        want = ss.polygamma(n, x.astype(float))
        np.testing.assert_allclose(ptg.run(text, x), want, rtol=2e-15 if dtype == "float64" else 1e-6)
    text = f"graph g(n: int8[a], x: {dtype}[a]) -> (y) {{\n  y = Polygamma(n, x)\n}}\n"
    n = np.array([0, 1, 2, 3, 4, 5, -1, 0, 1, 2, 3, 4], np.int8)
    np.testing.assert_allclose(ptg.run(text, n, x), ss.polygamma(n, x.astype(float)), rtol=2e-15 if dtype == "float64" else 1e-6)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_two_arguments(dtype):
    edge = np.array([0, -0.0, 1, -1, 2, 0.5, np.inf, -np.inf, np.nan, -100, 11], dtype)
    a, b = (v.ravel() for v in np.meshgrid(edge, edge))
    v, w = a.astype(float), b.astype(float)
    with np.errstate(all="ignore"):
        m = np.maximum(v, w)
        s = np.where(np.isinf(m), 0, m)
        want = {
            "XLogY": np.where(v == 0, 0, v * np.log(w)),
            "XLog1PY": np.where(v == 0, 0, v * np.log1p(w)),
            "LogAddExp": np.log(np.exp(v - s) + np.exp(w - s)) + s,
        }
        for op, r in want.items():
            text = f"graph g(a: {dtype}[n], b: {dtype}[n]) -> (y) {{\n  y = {op}(a, b)\n}}\n"
            got = ptg.run(text, a, b)
            assert got.dtype == a.dtype or (op, dtype) == ("LogAddExp", "float16")
            np.testing.assert_allclose(got, r.astype(dtype), rtol={"float64": 1e-15, "float32": 3e-7, "float16": 2e-3}[dtype])


def test_incomplete_gamma():
    """Never farther off than SciPy at its worst, on either side of the transition at x = k."""
    r = rng()
    k = join(10 ** r.uniform(-3, 2, 60), 10 ** r.uniform(1, 3, 20), 10 ** r.uniform(-8, 0, 20))
    x = k * np.exp(r.normal(size=100) * np.where(k < 10, 1.5, 3 / np.sqrt(k)))
    x[80:] = 10 ** r.uniform(-5, 1, 20)
    mp.mp.prec = 120
    for op, ends in (("Gammainc", lambda a, z: (0, z)), ("Gammaincc", lambda a, z: (z, mp.inf))):
        text = f"graph g(k: float64[n], x: float64[n]) -> (y) {{\n  y = {op}(k, x)\n}}\n"
        want = [mp.gammainc(mp.mpf(float(a)), *ends(a, mp.mpf(float(z))), regularized=True) for a, z in zip(k, x)]
        assert np.max(ulps(ptg.run(text, k, x), want, "float64")) <= 300
        edge = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 5])
        a, z = (v.ravel() for v in np.meshgrid(edge, edge))
        np.testing.assert_allclose(ptg.run(text, a, z), getattr(ss, op.lower())(a, z), rtol=1e-14)
        text = text.replace("float64", "float32")
        got = ptg.run(text, k.astype(np.float32), x.astype(np.float32))
        exact = getattr(ss, op.lower())(k.astype(np.float32).astype(float), x.astype(np.float32).astype(float))
        np.testing.assert_allclose(got, exact, rtol=2e-7, atol=1e-38)
    for shape in ((), (0,), (1,), (7,), (2, 3), (0, 2)):
        for op in ("Gammainc", "Gammaincc"):
            for dims in (", ".join(map(str, shape)), ", ".join("nm"[: len(shape)])):
                text = f"graph g(k: float64[{dims}], x: float64[{dims}]) -> (y) {{\n  y = {op}(k, x)\n}}\n"
                assert ptg.run(text, np.ones(shape), np.ones(shape)).shape == shape


def test_incomplete_gamma_of_large_k():
    """Around x = k no series may need steps without end."""
    text = "graph g(k: float64[n], x: float64[n]) -> (p, q) {\n  p = Gammainc(k, x)\n  q = Gammaincc(k, x)\n}\n"
    k = 2.0 ** np.repeat([20, 24, 32, 40, 52, 63], 9)
    steps = np.tile([-37, -20, -3, -0.5, 0, 1, 3, 20, 37], 6)
    x = k + steps * np.sqrt(k)
    p, q = ptg.run(text, k, x)
    near = np.abs(steps) <= 3  # SciPy has few digits of what is farther off
    np.testing.assert_allclose(p[near], ss.gammainc(k, x)[near], rtol=2e-14)
    np.testing.assert_allclose(q[near], ss.gammaincc(k, x)[near], rtol=2e-14)
    for a, z, got in zip(k[~near].tolist(), x[~near].tolist(), np.where(x < k, p, q)[~near].tolist()):
        with mp.workprec(300):
            side, a, z = (-1 if z < a else 1), mp.mpf(a), mp.mpf(z)
            ends = [i / abs(z - a) for i in (0, 1, 3, 8, 20, 45)]
            rest = mp.quad(lambda v: mp.exp((a - 1) * mp.log1p(side * v) - side * z * v), ends)
            want = mp.exp(a * mp.log(z) - z - mp.loggamma(a)) * rest
        assert abs(got / want - 1) < 4e-13, (a, z)
    k, x = np.array([1e6, 1e9, 1e300, 1e300, 1e6, 1e6, 1e300, 2.0**64]), np.array([0, 1, 1, 1e300, 1e300, 2e6, np.inf, 2.0**63])
    p, q = ptg.run(text, k, x)
    np.testing.assert_allclose(p, ss.gammainc(k, x), rtol=1e-14)
    np.testing.assert_allclose(q, ss.gammaincc(k, x), rtol=1e-14)


def test_incomplete_gamma_far_below_k():
    k = np.array([30, 30, 30, 100, 160, 165, 165, 165, 200, 1000, 10, 12, 150, 3, 9, 9.5])
    x = np.array([0.001, 0.5, 5, 1, 80, 20, 98, 99, 50, 400, 1e-20, 7.1, 4, 1e200, 1e5, 900])
    got = ptg.run("graph g(k: float64[n], x: float64[n]) -> (y) {\n  y = Gammainc(k, x)\n}\n", k, x)
    with mp.workprec(200):
        want = [mp.gammainc(mp.mpf(a), 0, mp.mpf(z), regularized=True) if z < 1e5 else mp.mpf(1) for a, z in zip(k.tolist(), x.tolist())]
        off = [float(abs(g / w - 1)) for g, w in zip(got.tolist(), want)]
    assert max(off[:8]) < 4e-15 and max(off[8:]) < 5e-14, off


@pytest.mark.parametrize("opset", [13, 18, 21, 26])
def test_loops_at_opsets(opset):
    k, x = np.array([0.5, 3, 200]), np.array([1, 2, 210.0])
    for op, f in (("Gammainc", ss.gammainc), ("Gammaincc", ss.gammaincc)):
        text = f"graph g(k: float64[n], x: float64[n]) -> (y) {{\n  y = {op}(k, x)\n}}\n"
        np.testing.assert_allclose(ptg.run(text, k, x, opset=opset), f(k, x), rtol=1e-13)
    text = "graph g(n: int64[], x: float64[n]) -> (y) {\n  y = Polygamma(n, x)\n}\n".replace("[n]", "[a]")
    np.testing.assert_allclose(ptg.run(text, np.int64(2), x, opset=opset), ss.polygamma(2, x), rtol=1e-14)


SHORTER = {"Gammaln": 10, "Psi": 10, "Tri_gamma": 25}  # nodes that an argument saves which is never negative
NEVER_NEGATIVE = ["Abs(x)", "Exp(x)", "Sqr(x)", "Exp(x) + Sigmoid(x)", "Softplus(x)", "Cast{float64}(Cast{uint8}(Abs(x)))", "ExpandDims{axis=0}(Exp(x))"]


@pytest.mark.parametrize("argument", NEVER_NEGATIVE)
@pytest.mark.parametrize("op", SHORTER)
def test_never_negative(op, argument):
    """Arguments of which it is certain that they are not below 0 take fewer nodes, also beside one another."""
    text = f"graph g(x: float64[n]) -> (a, y) {{\n a = {argument}\n y = {op}(a)\n}}\n"
    plain = ptg.compile(f"graph g(x: float64[n]) -> (a, y) {{\n a = {argument}\n y = {op}(x)\n}}\n")
    model = ptg.compile(text)
    assert ptg.nodes(model) <= ptg.nodes(plain) - SHORTER[op]
    points = [v for v in SPECIAL + EXTREME if np.isfinite(v) or "uint8" not in argument]
    for x in (np.array(points), np.array([0.75]), np.zeros(0)):
        with np.errstate(all="ignore"):
            a, y = ptg.run(model, x)
            assert not np.any(np.signbit(a) & ~np.isnan(a))
            want = OPS[op][1](a)
        if op == "Gammaln":
            want = np.where((a > 0) & (a < 1e-300), -np.log(a), want)  # SciPy inf
        np.testing.assert_allclose(y, want, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("op", SHORTER)
def test_accuracy_never_negative(op):
    x = OPS[op][2]
    x = x[x > 0]
    got = ptg.run(f"graph g(x: float64[n]) -> (y) {{ y = {op}(Abs(x)) }}", x)
    e = ulps(got, reference(op, x), "float64")
    assert e.max() <= OPS[op][3], x[np.argmax(e)]


def test_gammaln_and_psi_share_nodes():
    one = sum(ptg.nodes(ptg.compile(f"graph g(x: float64[n]) -> (y) {{ y = {op}(Exp(x)) }}")) for op in ("Gammaln", "Psi"))
    both = ptg.nodes(ptg.compile("graph g(x: float64[n]) -> (y, z) { y = Gammaln(Exp(x))\n z = Psi(Exp(x)) }"))
    assert both <= one - 7


def test_erfc_and_erfcx_share_nodes():
    one = sum(ptg.nodes(ptg.compile(f"graph g(x: float64[n]) -> (y) {{ y = {op}(x) }}")) for op in ("Erfc", "Erfcx"))
    both = ptg.nodes(ptg.compile("graph g(x: float64[n]) -> (y, z) { y = Erfc(x)\n z = Erfcx(x) }"))
    assert both <= one - 50


def test_erfc_of_float32_near_1():
    """Within one unit: log(1 - erfc(x)), the distribution function of a half normal, has no other digits."""
    x = np.geomspace(1e-8, 0.5, 20_000).astype(np.float32)
    x = np.concatenate([x, -x])
    got = ptg.run("graph g(x: float32[n]) -> (y) { y = Erfc(x) }", x, math="standard")
    assert np.max(np.abs(got - ss.erfc(x.astype(float))) / np.spacing(np.float32(0.5))) <= 2
    inner = np.abs(x) < 1e-4
    assert np.max(np.abs(got - ss.erfc(x.astype(float)))[inner]) <= np.spacing(np.float32(1)) / 2 * 1.01
