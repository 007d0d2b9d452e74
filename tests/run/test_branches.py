"""Choices that one bool decides become ifs (src/ort/branches.c): the same results, with fewer nodes run."""

import numpy as np
import onnx
import pytest

import ptg

# name: (inputs, statements, results, the same in NumPy, is it an If at a length that is known?); c, s, t are numbers, x, y vectors
CHOICES = {
    "numbers": ("p = Switch(s > 0, Log(s) * t, 0.0)\n  q = Switch(s > 0, Sqrt(s) + t, 1.5)\n  r = Switch(s > 0, Exp(t) / s, 2.0)", "p, q, r",
                lambda s, t, x, y: (np.where(s > 0, np.log(s) * t, 0), np.where(s > 0, np.sqrt(s) + t, 1.5), np.where(s > 0, np.exp(t) / s, 2)), True),
    "vectors": ("p = Switch(s > t, x * s + y, 0.0)\n  q = Switch(s > t, Exp(x) - 1.0, y * 3.0 + x)", "p, q",
                lambda s, t, x, y: (np.where(s > t, x * s + y, 0), np.where(s > t, np.exp(x) - 1, y * 3 + x)), True),
    "both sides": ("p = Switch(s > t, Log(s) * Log(t) + 1.0, Exp(s) / (1.0 + Exp(t)))\n  q = Switch(s > t, s * s * t - 1.0, Sqr(s - t) * s)", "p, q",
                   lambda s, t, x, y: (np.where(s > t, np.log(s) * np.log(t) + 1, np.exp(s) / (1 + np.exp(t))), np.where(s > t, s * s * t - 1, (s - t) ** 2 * s)), True),
    "one from the other": ("p = Switch(s > t, Log(s) * t + 1.0, Exp(s))\n  q = Switch(s > t, p * p + 2.0, Exp(p) - s)\n  r = Switch(s > t, Log(t) * 3.0 - s, q)", "p, q, r",
                           lambda s, t, x, y: _chain(s, t), False),
    "two conditions": ("a = Switch(s > 0, Log(s) * t, 0.0)\n  b = Switch(t > 0, Log(t) * a, 0.0)\n  e = Switch(s > 0, Sqrt(s) * 2.0 + b, 1.0)\n  d = Switch(t > 0, Sqrt(t) - e, 7.0)\n  g = Switch(s > 0, Exp(s) - 1.0, Neg(t))", "a, b, e, d, g",
                       lambda s, t, x, y: _two(s, t), True),
    "kept outside": ("l = Log(s) * t\n  p = Switch(s > 0, l + 1.0, 0.0)\n  q = Switch(s > 0, l * 2.0, 1.0)\n  r = Switch(s > 0, x, y)", "p, q, r, l",
                     lambda s, t, x, y: (np.where(s > 0, np.log(s) * t + 1, 0), np.where(s > 0, np.log(s) * t * 2, 1), np.where(s > 0, x, y), np.log(s) * t), True),
    "the same value": ("p = Switch(s > 0, Log(s), t)\n  q = Switch(s > 0, Log(s), 2.0)\n  r = Switch(s > 0, Log(s) * 3.0, 4.0)", "p, q, r",
                       lambda s, t, x, y: (np.where(s > 0, np.log(s), t), np.where(s > 0, np.log(s), 2), np.where(s > 0, np.log(s) * 3, 4)), True),
    "minus zero": ("p = Switch(s > 0, x * 0.0, Neg(x * 0.0))\n  q = Switch(s > 0, Neg(y * 0.0), y * 0.0)\n  r = Switch(s > 0, Log(s), -0.0)", "p, q, r",
                   lambda s, t, x, y: (np.where(s > 0, x * 0.0, -(x * 0.0)), np.where(s > 0, -(y * 0.0), y * 0.0), np.where(s > 0, np.log(s), -0.0)), True),
    "elements": ("p = Switch(x > 0, Log(x) * t, 0.0)\n  q = Switch(x > 0, Sqrt(x) + t, 1.5)\n  r = Switch(x > 0, Exp(x) / s, 2.0)", "p, q, r",
                 lambda s, t, x, y: (np.where(x > 0, np.log(x) * t, 0), np.where(x > 0, np.sqrt(x) + t, 1.5), np.where(x > 0, np.exp(x) / s, 2)), False),
}  # fmt: skip


def _chain(s, t):
    p = np.where(s > t, np.log(s) * t + 1, np.exp(s))
    q = np.where(s > t, p * p + 2, np.exp(p) - s)
    return p, q, np.where(s > t, np.log(t) * 3 - s, q)


def _two(s, t):
    a = np.where(s > 0, np.log(s) * t, 0)
    b = np.where(t > 0, np.log(t) * a, 0)
    e = np.where(s > 0, np.sqrt(s) * 2 + b, 1)
    return a, b, e, np.where(t > 0, np.sqrt(t) - e, 7), np.where(s > 0, np.exp(s) - 1, -t)


def source(name, dims, dtype="float64"):
    body, results = CHOICES[name][:2]
    return f"graph g(s: {dtype}[], t: {dtype}[], x: {dtype}[{dims}], y: {dtype}[{dims}]) -> ({results}) {{\n  {body}\n}}\n"


def operators(model):
    return {n.op_type for n in onnx.load_model_from_string(model).graph.node}


@pytest.mark.parametrize("name", CHOICES)
def test_same_results(name):
    _, _, function, is_if = CHOICES[name]
    rng = np.random.default_rng(1)
    for dims, n, opset, math in (("5", 5, 18, "standard"), ("1", 1, 13, "exact"), ("0", 0, 26, "standard"), ("n", 3, 18, "standard"), ("n", 1, 18, "exact")):
        text = source(name, dims)
        model = ptg.compile(text, opset=opset, math=math)
        if dims == "5":
            assert ("If" in operators(model)) == is_if
            assert "If" not in operators(ptg.compile(text, options=("-fno-branch",)))
            assert "If" not in operators(ptg.compile(text, target="onnx"))
        for s, t in ((0.7, 0.3), (0.3, 0.7), (-1.0, 2.0), (1.0, -2.0), (0.0, -0.0), (np.nan, 1.0), (1.0, np.nan), (np.inf, -np.inf)):
            x, y = rng.normal(size=n), rng.normal(size=n)
            got = ptg.run(model, np.array(s), np.array(t), x, y)
            with np.errstate(all="ignore"):
                want = function(np.array(s), np.array(t), x, y)
            for g, w in zip(got, want, strict=True):
                assert g.shape == np.shape(w)
                np.testing.assert_allclose(g, w, 1e-14)
                if math == "exact":
                    signs = ~np.isnan(w)
                    assert np.array_equal(np.signbit(g[signs]), np.signbit(np.asarray(w)[signs]))


def test_float32():
    for name in ("numbers", "vectors", "both sides"):
        model = ptg.compile(source(name, "5", "float32"), math="standard")
        s, t, x, y = np.float32(0.7), np.float32(0.3), *np.random.default_rng(2).normal(size=(2, 5)).astype(np.float32)
        for g, w in zip(ptg.run(model, np.array(s), np.array(t), x, y), CHOICES[name][2](s, t, x, y), strict=True):
            assert g.dtype == np.float32
            np.testing.assert_allclose(g, w, 2e-6)


def test_checks_stay():
    """What may fail is computed whichever side is taken."""
    text = """graph g(s: float64[], t: float64[], x: float64[?n], y: float64[?m]) -> (p, q, r) {
  a = Assert{msg="t is to be positive"}(t, t > 0)
  p = Switch(s > 0, Log(s) * a + 1.0, Exp(s))
  q = Switch(s > 0, x + y, Neg(x))
  r = Switch(s > 0, Sqrt(s) * a - 1.0, s * 2.0)
}
"""
    model = ptg.compile(text)
    x = np.arange(3.0)
    for s in (0.5, -0.5):
        p, q, r = ptg.run(model, np.array(s), np.array(2.0), x, x)
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(p, np.where(s > 0, np.log(s) * 2 + 1, np.exp(s)))
        np.testing.assert_allclose(q, np.where(s > 0, x + x, -x))
        with pytest.raises(Exception, match="t is to be positive"):
            ptg.run(model, np.array(s), np.array(-2.0), x, x)
        with pytest.raises(Exception):
            ptg.run(model, np.array(s), np.array(2.0), x, np.arange(4.0))


def test_loops_and_ifs_read_what_was_chosen():
    text = """graph g(s: float64[], t: float64[], x: float64[5]) -> (p, y, z) {
  p = Switch(s > t, Log(s) * t + 1.0, Exp(s))
  q = Switch(s > t, s * s * t - 1.0, Sqr(s - t) * s)
  y = loop (v in x, a = 0.0) -> (a) { next a = Sin(a * q + v) + p }
  z = if s > 1 { z = y * q } else { z = Exp(p) }
  k = Switch(s > t, Log(t) * y + 1.0, Exp(y) * 2.0)
}
"""
    text = text.replace("-> (p, y, z)", "-> (p, y, z, k)")
    x = np.random.default_rng(3).normal(size=5)
    for s, t in ((0.7, 0.3), (0.3, 0.7), (1.7, 0.3)):
        got = ptg.run(ptg.compile(text), np.array(s), np.array(t), x)
        p = np.log(s) * t + 1 if s > t else np.exp(s)
        q = s * s * t - 1 if s > t else (s - t) ** 2 * s
        y = 0.0
        for v in x:
            y = np.sin(y * q + v) + p
        want = p, y, y * q if s > 1 else np.exp(p), np.log(t) * y + 1 if s > t else np.exp(y) * 2
        np.testing.assert_allclose([float(g) for g in got], want, 1e-12)


def test_many_choices_compile_fast():
    """No more than a fixed number of ifs: each looks at all nodes."""
    lines = [f"  a{k} = Switch(s > {k}.5, Log(a{k - 1}) * t + 1.0, Exp(a{k - 1}) - t * Sin(a{k - 1}) / (2.0 + Cos(t)))" for k in range(1, 3000)]
    text = "graph g(s: float64[], t: float64[]) -> (a2999) {\n  a0 = s\n" + "\n".join(lines) + "\n}\n"
    ptg.compile(text)


def test_numbers_do_not_become_large_constants():
    text = "graph g(c: bool[], x: float64[200, 60]) -> (p, q, r) {\n" + "\n".join(
        f"  {r} = Switch(c, {k}, Exp(Sin(Cos(Tanh(x * {k + 2}.0)))))" for k, r in enumerate("pqr")) + "\n}\n"
    model = ptg.compile(text)
    assert len(model) < 20_000
    x = np.random.default_rng(4).normal(size=(200, 60))
    for c in (True, False):
        for k, got in enumerate(ptg.run(model, np.array(c), x)):
            np.testing.assert_allclose(got, np.full(x.shape, k) if c else np.exp(np.sin(np.cos(np.tanh(x * (k + 2))))), 1e-12)
