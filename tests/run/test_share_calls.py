"""Calls of one library function on small arrays are joined: same results, fewer nodes, in any order of calls."""

import numpy as np
import onnxruntime as ort
import ptg
import pytest
import scipy.special as ss
from ptg import nodes
from opsets import SOME_OPSETS

OFF = ("-fno-share-calls",)


def both(text, *inputs, opset=18, saves=True):
    """The results of the model with joined calls; the nodes of both models are counted."""
    joined, apart = ptg.compile(text, opset), ptg.compile(text, opset, options=OFF)
    assert nodes(joined) < nodes(apart) - 20 if saves else nodes(joined) == nodes(apart)
    got, want = ptg.run(joined, *inputs), ptg.run(apart, *inputs)
    got, want = (r if isinstance(r, list) else [r] for r in (got, want))
    for g, w in zip(got, want, strict=True):
        assert g.dtype == w.dtype and g.shape == w.shape
        np.testing.assert_allclose(g, w, rtol=2e-3 if g.dtype == np.float16 else 1e-6 if g.dtype == np.float32 else 1e-12)  # a kernel may round otherwise beside other elements
    return got


@pytest.mark.parametrize("opset", SOME_OPSETS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_mixed_ranks(dtype, opset):
    text = f"""graph g(a: {dtype}[], b: {dtype}[3], c: {dtype}[2, 2], d: {dtype}[1], e: {dtype}[1, 1]) -> (p, q, r, s, t) {{
      p = Gammaln(a)
      q = Gammaln(b)
      r = Gammaln(c)
      s = Gammaln(d)
      t = Gammaln(e)
    }}"""
    x = [np.asarray(v, dtype) for v in (0.5, [1.5, -0.25, np.nan], [[3, 40], [0, np.inf]], [7.25], [[2.5]])]
    for v, y in zip(x, both(text, *x, opset=opset)):
        np.testing.assert_allclose(y, ss.gammaln(v.astype(float)).astype(dtype), rtol=1e-3 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize("op, f", [("Psi", ss.psi), ("Erfc", ss.erfc), ("Erfcx", ss.erfcx), ("Gamma", ss.gamma), ("Tri_gamma", lambda x: ss.polygamma(1, x)), ("Erfcinv", ss.erfcinv)])
def test_scalars(op, f):
    text = f"graph g(a: float64[], b: float64[], c: float64[]) -> (y, z) {{ y = {op}(a) + {op}(b) * {op}(c)\n z = {op}(a) }}"
    y, z = both(text, 0.5, 1.25, 1.75)
    np.testing.assert_allclose([y, z], [f(0.5) + f(1.25) * f(1.75), f(0.5)], rtol=1e-14)


def test_dependent_calls():
    """Gammaln(Gammaln(a)) is of another level; calls that the text has in another order than their levels."""
    text = """graph g(a: float64[], b: float64[2]) -> (r, s, t) {
      u = Gammaln(a)
      v = Gammaln(u + 3)
      r = v * Psi(v + 1)
      w = Gammaln(b)
      s = Gammaln(w + 3) + Psi(w + 5)
      t = Psi(b) + Gammaln(Psi(a) + 10)
    }"""
    a, b = 4.5, np.array([0.25, 7])
    v, w = ss.gammaln(ss.gammaln(a) + 3), ss.gammaln(b)
    r, s, t = both(text, a, b)
    np.testing.assert_allclose(r, v * ss.psi(v + 1), rtol=1e-13)
    np.testing.assert_allclose(s, ss.gammaln(w + 3) + ss.psi(w + 5), rtol=1e-13)
    np.testing.assert_allclose(t, ss.psi(b) + ss.gammaln(ss.psi(a) + 10), rtol=1e-13)


def test_two_ops_in_turn():
    """Joining the calls of one op makes calls of another one dependent that were not."""
    text = """graph g(a: float64[], b: float64[]) -> (r, s) {
      r = Gammaln(Psi(a) + 5)
      s = Psi(Gammaln(b) + 5)
    }"""
    r, s = both(text, 2.5, 3.5)
    text = """graph g(a: float64[], b: float64[], c: float64[]) -> (r, s, t) {
      r = Gammaln(Psi(a) + 5)
      s = Psi(Gammaln(b) + 5)
      t = Psi(c) + Gammaln(c)
    }"""
    r, s, t = both(text, 2.5, 3.5, 4.5)
    np.testing.assert_allclose(r, ss.gammaln(ss.psi(2.5) + 5), rtol=1e-14)
    np.testing.assert_allclose(s, ss.psi(ss.gammaln(3.5) + 5), rtol=1e-14)
    np.testing.assert_allclose(t, ss.psi(4.5) + ss.gammaln(4.5), rtol=1e-14)


def test_loops_and_ifs():
    text = """graph g(xs: float64[n, 2], a: float64[], b: float64[]) -> (r, h) {
      ga = Gammaln(a)
      r, p = loop (x in xs, s = float64(0)) -> (s, [d]) {
        d = Gammaln(x) + Gammaln(s + 1) + ga
        next s = s + Sum{axis=0}(d) + Gammaln(b + 1)
      }
      gb = Gammaln(b)
      h = if a > 1 { h = Gammaln(a + 1) + Gammaln(b + gb) } else { h = ga * gb }
    }"""
    xs, b = np.array([[0.5, 1.5], [2.25, 0.75], [9.5, 1.0]]), 2.75
    for n in (3, 1, 0):
        for a in (0.5, 3.5):
            r, h = both(text, xs[:n], a, b)
            s = 0.0
            for x in xs[:n]:
                s = s + np.sum(ss.gammaln(x) + ss.gammaln(s + 1) + ss.gammaln(a)) + ss.gammaln(b + 1)
            np.testing.assert_allclose(r, s, rtol=1e-12)
            gb = ss.gammaln(b)
            np.testing.assert_allclose(h, ss.gammaln(a + 1) + ss.gammaln(b + gb) if a > 1 else ss.gammaln(a) * gb, rtol=1e-12)


@pytest.mark.parametrize("opset", SOME_OPSETS)
def test_open_lengths(opset):
    text = """graph g(a: float64[n], b: float64[n], c: float64[m, k], d: float64[], e: float64[3], f: float64[1, n]) -> (p, q, r, s, t, u) {
      p = Gammaln(a)
      q = Gammaln(b)
      r = Gammaln(c)
      s = Gammaln(d)
      t = Gammaln(e)
      u = Gammaln(f)
    }"""
    rng = np.random.default_rng(2)
    for n, m, k in ((3, 2, 4), (1, 1, 1), (0, 2, 0), (0, 0, 3), (5, 0, 2), (700, 1, 30)):
        x = [rng.uniform(0.1, 9, s) for s in ((n,), (n,), (m, k), (), (3,), (1, n))]
        for v, y in zip(x, both(text, *x, opset=opset)):
            np.testing.assert_allclose(y, ss.gammaln(v), rtol=1e-12, atol=1e-15)


def test_computed_lengths():
    """Of what a mask picks, of a slice, of rows of a loop that gets shorter."""
    text = """graph g(x: float64[n], k: int64[]) -> (p, q, r) {
      y = x[x > 2]
      p = Gammaln(y)
      q = Gammaln(x[k:])
      r = loop (i in 0:3, s: float64[?] = x) -> (s) {
        next s = (Gammaln(s) + Gammaln(s + 1))[1:]
      }
    }"""
    for x in ([1.5, 2.5, 3.5, 4.25], [5.0, 6, 7], [1.0], []):
        x = np.array(x)
        for k in (0, 1, 4):
            p, q, r = both(text, x, k)
            np.testing.assert_allclose(p, ss.gammaln(x[x > 2]), rtol=1e-13)
            np.testing.assert_allclose(q, ss.gammaln(x[k:]), rtol=1e-13, atol=1e-15)
            s = x
            for _ in range(3):
                s = (ss.gammaln(s) + ss.gammaln(s + 1))[1:]
            np.testing.assert_allclose(r, s, rtol=1e-9, atol=1e-12)


def test_not_joined():
    """Large and empty arrays, constants, and calls that nothing needs."""
    for dims in ("5000", "0"):
        text = f"graph g(a: float64[{dims}], b: float64[{dims}]) -> (y) {{ y = Gammaln(a) + Gammaln(b) }}"
        x = np.linspace(0.5, 2, int(dims))
        (y,) = both(text, x, x, saves=False)
        np.testing.assert_allclose(y, 2 * ss.gammaln(x), rtol=1e-13, atol=1e-15)
    both("graph g(a: float64[]) -> (y) { y = Gammaln(a) + Gammaln(float64(2.5) * 3) }", 1.5, saves=False)
    text = "graph g(a: float64[], b: float64[]) -> (y) { y = Gammaln(a)\n z = Gammaln(b) }"
    assert nodes(ptg.compile(text, options=("-Wno-unused",))) == nodes(ptg.compile("graph g(a: float64[]) -> (y) { y = Gammaln(a) }"))


def test_same_call_twice():
    text = "graph g(a: float64[], b: float64[2]) -> (y, z) { y = Gammaln(a) + Gammaln(b)\n z = Gammaln(a) * 2 }"
    y, z = both(text, 1.5, np.array([0.5, 4.5]))
    np.testing.assert_allclose(z, 2 * ss.gammaln(1.5))


def test_asserts_of_joined_calls():
    """An argument that is checked fails as it does alone."""
    text = """graph g(a: float64[], b: float64[2]) -> (y, z) {
      y = Gammaln(Assert{msg="a is negative"}(a, a > 0))
      z = Gammaln(b)
    }"""
    model = ptg.compile(text)
    np.testing.assert_allclose(ptg.run(model, 1.5, np.array([0.5, 4.5]))[1], ss.gammaln([0.5, 4.5]), rtol=1e-14)
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.InvalidArgument, match="a is negative"):
        ptg.run(model, -1.5, np.array([0.5, 4.5]))


def test_a_number_of_steps_from_a_call():
    """The steps are known only behind the joined call, though no value leads from there to the loop."""
    text = """graph g(a: float64[], b: float64[]) -> (y, z) {
      c = Gammaln(a)
      y = loop (i in 0:Cast{int64}(c), s = b) -> (s) { next s = s + 1 }
      z = c + Gammaln(b)
    }"""
    y, z = both(text, 5.0, 2.5)
    np.testing.assert_allclose([y, z], [5.5, np.log(24) + ss.gammaln(2.5)], rtol=1e-14)


def test_states():
    text = "graph g(a: float64[]) -> (y) { state w: float64[2] = float64([1.5, 2.5])\n y = Gammaln(a)\n next w = Gammaln(w + a) }"
    y, w = both(text, 1.25)
    np.testing.assert_allclose(w, ss.gammaln([2.75, 3.75]), rtol=1e-14)


def test_many():
    """200 scalars: one call."""
    args = ", ".join(f"x{i}: float64[]" for i in range(200))
    text = f"graph g({args}) -> (y) {{ y = {' + '.join(f'Gammaln(x{i})' for i in range(200))} }}"
    x = np.random.default_rng(1).uniform(0.1, 9, 200)
    model = ptg.compile(text)
    assert nodes(model) < 1000
    np.testing.assert_allclose(ptg.run(model, *x), ss.gammaln(x).sum(), rtol=1e-13)


@pytest.mark.parametrize("view, back", [("ExpandDims{axis=1}", "Squeeze{axis=1}"), ("ExpandDims{axis=0}", "Squeeze{axis=0}")])
def test_axes_of_length_one_are_no_other_argument(view, back):
    """What Gammaln and Psi have in common is computed once for x and a view of x with more axes."""
    text = f"""graph g(x: float64[20]) -> (y, z) {{
      y = Gammaln({view}(x))
      z = Psi({back}({view}(x))) * Gammaln({back}({view}(x)))
    }}"""
    x = np.linspace(0.1, 9, 20)
    y, z = both(text, x)
    np.testing.assert_allclose(y.ravel(), ss.gammaln(x), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(z, ss.psi(x) * ss.gammaln(x), rtol=1e-12, atol=1e-14)


def test_axes_of_matrices_stay():
    text = """graph g(x: float64[1, 3, 3]) -> (w, v) {
      w, _ = Eigh(Squeeze{axis=0}(x))
      v, _ = Eigh(2 * Squeeze{axis=0}(x))
    }"""
    x = np.diag([1.0, 2, 4])[None] + 0.1
    w, v = ptg.run(text, x)
    np.testing.assert_allclose(w, np.linalg.eigvalsh(x[0]), rtol=1e-12)
    np.testing.assert_allclose(v, 2 * np.linalg.eigvalsh(x[0]), rtol=1e-12)
