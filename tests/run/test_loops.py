"""Rewrites of loops: what a loop computes stays, at 0 steps, 1 and more, and what a step costs goes down."""

import numpy as np
import onnx
import pytest

import ptg
from opsets import SOME_OPSETS

OFF = ("states", "hoist", "batch", "push-out", "scan", "linear")


def rows(*columns):
    return [np.array(c) for c in columns]


def linear(x, a, b):
    s, out = 0.0, []
    for v in x:
        s = a * b * s + np.exp(v) * a
        out.append(s)
    return s, np.array(out)


def two_equal(x, a):
    s, out = 1.0, []
    for v in x:
        s = np.sqrt(abs(s * a + v))
        out.append(s * 2 + v)
    return s, s, np.array(out)


def sums(x, w):
    s, t, total = 1.0, 0.0, np.float64(3)
    for v in x:
        total = total + s * v + w * v
        t = t + s
        s = np.sqrt(abs(s + v))
    return s, t, total


def counting(x, k):
    s, at = 0.0, []
    for i, v in enumerate(x):
        s = s * 0.5 + v * i + (i + k)
        at.append(i * 2)
    return s, np.array(at, "int64").reshape(-1)


def matrices(x, w, m):
    h, hs = np.zeros(3), []
    for v in x:
        h = np.exp(-abs(v @ w + m @ h + w.sum(0)))
        hs.append(h - h.sum())
    return h, np.array(hs).reshape(-1, 3)


def nested(x, a):
    s, out = 0.0, []
    for v in x:
        t, u = s, 0.0
        for y in a:
            t = np.sin(t + y * 2) + np.exp(v)
            u = u + t
        s = t * 0.5 + u
        out.append(s)
    return s, np.array(out)


def softmax_rows(x, a):
    s, out = np.zeros(2), []
    for v in x:
        e = np.exp(v - v.sum())
        s = s * a + e / e.sum()
        out.append(s.sum())
    return s, np.array(out)


def newton(x, a):
    s, k = a, 0
    for v in x:
        if not abs(s) > 1e-3:
            break
        s, k = s * 0.1 + np.exp(a) * 0 + v * 0, k + 1
    return s, np.int64(k)


def guarded(x, c, k):
    s = np.int64(0)
    for v in x:
        s = s + (v // k if c else v)
    return s


def equal_rows(x, a):
    s, out = 1.0, []
    for v in x:
        s = np.sqrt(abs(s + np.exp(v) * a))
        out.append(s)
    return np.array(out), np.array(out)


def adjoint(x, a):
    """Two numbers that depend on one another, as in a gradient; one step adds to a third."""
    p, q, r, out = 0.0, 1.0, 0.5, []
    for v in x:
        d = (q - p + v) * a
        r = r + d * v * np.cos(v)
        p, q = p + d * np.sin(v), d * np.cos(v) + q - q * a
        out.append(np.exp(q) if q < 0 else d)
    return p, q, r, np.array(out)


def vectors(x, w):
    """A vector that every step multiplies with another matrix."""
    h, out = np.array([1.0, -1.0, 0.5]), []
    for v in x:
        m = w * np.exp(v[0]) - v[1]
        h = (m @ h) / (1 + v[0] ** 2) + np.array([v[0], v[1], 0]) - (np.where(v[1] > 0, h, 0) * 0.5).sum()
        out.append(h.sum() * v[0])
    return h, np.array(out)


def scattered(x, w):
    """Adds to elements of a vector, as gradients of th[0], th[1] do."""
    g, s = np.ones(3), 1.0
    for v in x:
        g[2] += s * v
        g[0] += v
        g += s
        s = np.sqrt(abs(s + v))
    return g, s


def volatility(x, a):
    """A state that is read as its square alone, and is a root: its square is carried."""
    s, out = a - 1.0, []
    for v in x:
        s = np.sqrt(0.1 + np.exp(v) + abs(a) * s**2)
        out.append(s)
    return s, np.array(out)


def rootless(x, a):
    """A root of what may be negative stays: after that all is NaN."""
    s, out = 0.5, []
    for v in x:
        with np.errstate(invalid="ignore"):
            s = np.sqrt(v + a * s**2)
        out.append(s)
    return s, np.array(out)


def lanes(x, w):
    """A row of lanes of any number; a sum, a softmax that no state leads to, a last state that is read of all."""
    s, total, out = np.ones(x.shape[1]), np.zeros(x.shape[1]), []
    for v in x:
        e = np.exp(v[:, None] + w[:2, 0])
        f = (e / e.sum(1, keepdims=True))[:, 0]
        total = total + s * f
        s = s * 0.5 + np.sin(v)
        out.append(s)
    return total, (np.array(out)[-1] if out else np.ones(x.shape[1])), np.array(out).reshape(-1, x.shape[1])


def lags(x, a):
    p, q, out = 0.0, 0.0, []
    for v in x:
        p, q = v * a + q, p
        out.append(q)
    return p, np.array(out)


X = {n: np.random.default_rng(n).normal(size=n) for n in (0, 1, 2, 7)}
ROWS = {n: np.random.default_rng(n).normal(size=(n, 2)) for n in (0, 1, 2, 7)}
INTS = {n: np.arange(3, 3 + n) for n in (0, 1, 2, 7)}
W, M = np.random.default_rng(1).normal(size=(2, 3)), np.random.default_rng(2).normal(size=(3, 3))
LONG = X | {13: np.random.default_rng(13).normal(size=13)}
LONG_ROWS = ROWS | {13: np.random.default_rng(13).normal(size=(13, 2)) * 0.5}
A, B = np.float64(0.7), np.float64(-0.4)

# name: (dtype and axes of the sequence, other parameters, statements, results, function, sequences, other arguments)
LOOPS = {
    "linear": ("float64[{n}]", "a: float64[], b: float64[]",
        "y, z = loop (v in x, s = 0.0) -> (s, [t]) {\n    t = a * b * s + Exp(v) * a\n    next s = t\n  }", "y, z", linear, X, (A, B)),
    "two_equal": ("float64[{n}]", "a: float64[]",
        "y, z, o = loop (v in x, s = 1.0, t = 1.0, dead = 0.0) -> (s, t, [u]) {\n    p = Sqrt(Abs(s * a + v))\n    q = Sqrt(Abs(t * a + v))\n    u = p * 2 + v\n    next s = p\n    next t = q\n    next dead = dead + t\n  }",
        "y, z, o", two_equal, X, (A,)),
    "sums": ("float64[{n}]", "w: float64[]",
        "y, z, o = loop (v in x, s = 1.0, t = 0.0, total = 3.0) -> (s, t, total) {\n    next total = total + s * v + w * v\n    next t = t + s\n    next s = Sqrt(Abs(s + v))\n  }", "y, z, o", sums, X, (A,)),
    "counting": ("float64[{n}]", "k: int64[]",
        "y, z = loop (v in x, i in 0:1000, s = 0.0) -> (s, [j]) {\n    j = i * 2\n    next s = s * 0.5 + v * i + (i + k)\n  }", "y, z", counting, X, (np.int64(3),)),
    "matrices": ("float64[{n}, 2]", "w: float64[2, 3], m: float64[3, 3]",
        "y, z = loop (v in x, h = float64[3](0)) -> (h, [o]) {\n    g = Exp(-Abs(v @ w + m @ h + Sum{axis=0}(w)))\n    o = g - Sum(g)\n    next h = g\n  }", "y, z", matrices, ROWS, (W, M)),
    "nested": ("float64[{n}]", "a: float64[{k}]",
        "y, z = loop (v in x, s = 0.0) -> (s, [o]) {\n    t, u = loop (q in a, t = s, u = 0.0) -> (t, u) {\n      r = Sin(t + q * 2) + Exp(v)\n      next t = r\n      next u = u + r\n    }\n    o = t * 0.5 + u\n    next s = o\n  }",
        "y, z", nested, X, (X[2],)),
    "softmax_rows": ("float64[{n}, 2]", "a: float64[]",
        "y, z = loop (v in x, s = float64[2](0)) -> (s, [o]) {\n    e = Exp(v - Sum{axis=0}(v))\n    t = s * a + e / Sum{axis=0}(e)\n    o = Sum(t)\n    next s = t\n  }", "y, z", softmax_rows, ROWS, (A,)),
    "newton": ("float64[{n}]", "a: float64[]",
        "y, z = loop (v in x, s = a, k: int64[] = 0) while Abs(s) > 1e-3 -> (s, k) {\n    next s = s * 0.1 + Exp(a) * 0 + v * 0\n    next k = k + 1\n  }", "y, z", newton, X, (A,)),
    "guarded": ("int64[{n}]", "c: bool[], k: int64[]",
        "y = loop (v in x, s: int64[] = 0) -> (s) {\n    q = if c { q = v // k } else { q = v }\n    next s = s + q\n  }", "y", guarded, INTS, (np.array(True), np.int64(2))),
    "equal_rows": ("float64[{n}]", "a: float64[]",
        "y, z = loop (v in x, u in Exp(x) * a, s = 1.0, t = 1.0) -> ([p], [q]) {\n    p = Sqrt(Abs(s + Exp(v) * a))\n    q = Sqrt(Abs(t + u))\n    next s = p\n    next t = q\n  }", "y, z", equal_rows, X, (A,)),
    "adjoint": ("float64[{n}]", "a: float64[]",
        "y, z, w, o = loop (v in x, p = 0.0, q = 1.0, r = 0.5) -> (p, q, r, [u]) {\n    d = (q - p + v) * a\n    next r = r + d * v * Cos(v)\n    next p = p + d * Sin(v)\n    g = d * Cos(v) + q - q * a\n    next q = g\n    u = Switch(g < 0, Exp(g), d)\n  }",
        "y, z, w, o", adjoint, LONG, (A,)),
    "vectors": ("float64[{n}, 2]", "w: float64[3, 3]",
        "y, z = loop (v in x, h = float64([1, -1, 0.5])) -> (h, [o]) {\n    m = w * Exp(v[0]) - v[1]\n    g = (m @ h) / (1 + Sqr(v[0])) + Join{axis=0}(v, float64([0])) - Sum(Switch(v[1] > 0, h, 0) * 0.5)\n    o = Sum(g) * v[0]\n    next h = g\n  }",
        "y, z", vectors, LONG_ROWS, (M,)),
    "scattered": ("float64[{n}]", "w: float64[3, 3]",
        "y, z = loop (v in x, g = float64([1, 1, 1]), s = 1.0) -> (g, s) {\n    a = g[2].inc(s * v)\n    next g = (a[0].inc(v) + Alloc(0.0, 3)) + s\n    next s = Sqrt(Abs(s + v))\n  }",
        "y, z", scattered, LONG, (M,)),
    "volatility": ("float64[{n}]", "a: float64[]",
        "y, z = loop (v in x, s = a - 1.0) -> (s, [t]) {\n    t = Sqrt(0.1 + Exp(v) + Abs(a) * Sqr(s))\n    next s = t\n  }", "y, z", volatility, LONG, (A,)),
    "rootless": ("float64[{n}]", "a: float64[]",
        "y, z = loop (v in x, s = 0.5) -> (s, [t]) {\n    t = Sqrt(v + a * Sqr(s))\n    next s = t\n  }", "y, z", rootless, LONG, (A,)),
    "lanes": ("float64[{n}, p]", "w: float64[3, 3]",
        "first = Alloc(1.0, 1, p)\n  y, o = loop (v in x, s = Alloc(1.0, p), t = Alloc(0.0, p)) -> (t, [u]) {\n    f = Softmax{axis=1}(ExpandDims{axis=1}(v) + w[:2, 0])[:, 0]\n    next t = t + s * f\n    u = s * 0.5 + Sin(v)\n    next s = u\n  }\n  z = Join{axis=0}(first, o)[-1]",
        "y, z, o", lanes, LONG_ROWS, (M,)),
    "lags": ("float64[{n}]", "a: float64[]",
        "y, z = loop (v in x, p = 0.0, q = 0.0) -> (p, [o]) {\n    o = p * 1\n    next p = v * a + q\n    next q = p\n  }", "y, z", lags, X, (A,)),
}  # fmt: skip


def text(name, n):
    kind, params, body, results = LOOPS[name][:4]
    k = "k" if n == "n" else 2
    return f"graph g(x: {kind.format(n=n)}, {params.format(k=k)}) -> ({results}) {{\n  {body}\n}}\n"


def close(got, want):
    got = got if isinstance(got, list) else [got]
    want = want if isinstance(want, tuple) else (want,)
    for g, w in zip(got, want, strict=True):
        w = np.asarray(w)
        assert g.shape == w.shape and g.dtype == w.dtype
        np.testing.assert_allclose(g, w, 1e-12, 1e-13)


@pytest.mark.parametrize("opset", SOME_OPSETS)
@pytest.mark.parametrize("name", LOOPS)
def test_same_results(name, opset):
    """At an open length and at each length that the type says, with each rewrite switched off and with all."""
    function, sequences, others = LOOPS[name][4:]
    for off in [(), *[(f"-fno-{o}",) for o in OFF], tuple(f"-fno-{o}" for o in OFF)] if opset == 18 else [()]:
        for n, x in sequences.items():
            for length in ("n", n):
                for math in ("exact", "standard"):
                    model = ptg.compile(text(name, length), opset=opset, math=math, options=("-Wno-unused", *off))
                    close(ptg.run(model, x, *others), function(x, *others))


def body_of(model):
    """The only loop's operator, and the operators of its body."""
    loops = [n for n in onnx.load_model_from_string(model).graph.node if n.op_type in ("Loop", "Scan")]
    assert len(loops) == 1
    body = next(a.g for a in loops[0].attribute if a.name == "body")
    return loops[0].op_type, sorted(n.op_type for n in body.node)


@pytest.mark.parametrize("name, kind, ops", [
    ("linear", "Scan", "Add Identity Mul"),
    ("volatility", "Scan", "Add Mul Sqrt"),
    ("two_equal", "Scan", "Abs Add Identity Mul Sqrt"),
    ("equal_rows", "Scan", "Abs Add Identity Sqrt"),
    ("scattered", "Scan", "Abs Add Identity Sqrt"),
    ("sums", "Scan", "Abs Add Identity Sqrt"),
    ("counting", "Scan", "Add Add Mul"),
    ("matrices", "Scan", "Abs Add Add Exp MatMul Neg ReduceSum Sub"),
    ("softmax_rows", "Scan", "Add Mul ReduceSum"),
])  # fmt: skip
def test_what_a_step_computes(name, kind, ops):
    assert body_of(ptg.compile(text(name, 7), math="standard", options=("-Wno-unused",))) == (kind, ops.split())


def test_what_is_computed_before_a_loop():
    """Operators on elements of the sequence, unless all steps together leave the cache."""
    model = "graph g(xs: float64[{n}, {m}], s: float64[{m}]) -> (s1) {{\n s1 = loop (x in xs, s: float64[{m}] = s) -> (s) {{ next s = Sqrt(s + Exp(x)) }}\n}}\n"
    assert body_of(ptg.compile(model.format(n=100, m=50), math="standard")) == ("Scan", ["Add", "Sqrt"])
    assert body_of(ptg.compile(model.format(n=1000, m=4000), math="standard")) == ("Scan", ["Add", "Exp", "Sqrt"])


def test_linear_recurrences():
    """z' = z M + f is one node a step, and one that gives z back; not at standard, if it takes k (x - y) apart."""
    assert body_of(ptg.compile(text("adjoint", 13), math="native")) == ("Scan", ["Gemm", "Identity"])
    assert "Gemm" not in body_of(ptg.compile(text("adjoint", 13), math="standard"))[1]
    assert body_of(ptg.compile(text("linear", 8), math="standard"))[1] == ["Add", "Identity", "Mul"]
    for name in ("adjoint", "vectors"):
        model = ptg.compile(text(name, 13), math="exact")
        assert "Gemm" not in body_of(model)[1]


# What a step makes of the state s, and of u and v of the step and c of all steps; the same in NumPy
STEPS = {
    "both differ": ("s * u + v", lambda s, u, v, c: s * u + v),
    "one factor": ("s * c + v * u", lambda s, u, v, c: s * c + v * u),
    "one term": ("c - s * u * v", lambda s, u, v, c: c - s * u * v),
    "walk": ("s + u * v", lambda s, u, v, c: s + u * v),
    "no factor": ("v * u - s", lambda s, u, v, c: v * u - s),
    "no term": ("s * u / (2.0 + Abs(v))", lambda s, u, v, c: s * u / (2.0 + abs(v))),
    "smoothing": ("c * v + (1.0 - c) * s", lambda s, u, v, c: c * v + (1.0 - c) * s),
    "chosen": ("Switch(u > 0.0, s, v)", lambda s, u, v, c: np.where(u > 0, s, v)),
    "constants": ("0.5 * s + 1.0 + 0.0 * u * v * c", lambda s, u, v, c: 0.5 * s + 1.0),
}  # fmt: skip


def by_steps(step, u, v, first, c):
    s, before, after = first, [], []
    for p, q in zip(u, v, strict=True):
        before.append(s)
        s = step(s, p, q, c)
        after.append(s)
    return s, np.array(after), np.array(before)


def rounds(form, dtype, n, dims, **options):
    """A model of n steps of a state with these dims, with no loop outside of a branch"""
    state = ", ".join(dims)
    text = f"""graph g(us: {dtype}[{", ".join((str(n), *dims))}], vs: {dtype}[{", ".join((str(n), *dims))}], first: {dtype}[{state}], c: {dtype}[]) -> (last, all, before) {{
  last, all, before = loop (u in us, v in vs, s: {dtype}[{state}] = first) -> (s, [new], [s]) {{
    new = {form}
    next s = new
  }}
}}
"""
    model = ptg.compile(text, math="standard", **options)
    assert not {n.op_type for n in onnx.load_model_from_string(model).graph.node} & {"Loop", "Scan"}
    return model


@pytest.mark.parametrize("name", STEPS)
def test_rounds(name):
    form, step = STEPS[name]
    rng = np.random.default_rng(2)
    shapes = [((), ()), (("5",), (5,)), (("m",), (5,)), (("m",), (1,)), (("m",), (0,)), (("2", "m"), (2, 3))]
    for k, (dims, shape) in enumerate(shapes):
        for dtype, n, opset in (("float64", 59, SOME_OPSETS[k % 3]), ("float32", 24, 18), ("float64", 33, 18)):
            u, v = rng.uniform(-1, 1, (n, *shape)).astype(dtype), rng.normal(size=(n, *shape)).astype(dtype)
            first, c = rng.normal(size=shape).astype(dtype), np.array(0.3, dtype)
            got = ptg.run(rounds(form, dtype, n, dims, opset=opset), u, v, first, c)
            for g, w in zip(got, by_steps(step, u, v, first, c), strict=True):
                assert g.shape == w.shape and g.dtype == dtype
                np.testing.assert_allclose(g, w, *((1e-12, 1e-13) if dtype == "float64" else (2e-5, 2e-6)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("opset", SOME_OPSETS)
def test_states_that_forget_the_states_before(dtype, opset):
    """The coefficients of s' = v - 0.5 are 0 in all steps: a constant that once was read beyond its end."""
    text = f"graph g(vs: {dtype}[30], s0: {dtype}[]) -> (a, b) {{\n  a, b = loop (v in vs, s = s0) -> ([s], s) {{ next s = v - 0.5 }}\n}}"
    vs, s0 = np.linspace(-1, 1, 30).astype(dtype), np.array(3, dtype)
    want = np.append(s0, vs - np.array(0.5, dtype))
    for math in ("exact", "standard", "native"):
        a, b = ptg.run(ptg.compile(text, opset, math=math), vs, s0)
        np.testing.assert_array_equal(a, want[:-1])
        assert b == want[-1]


@pytest.mark.parametrize("off", ["-fhoist", "-fno-hoist"])
@pytest.mark.parametrize("next_s", ["Tanh(s) + v", "0.5 * s + v * v"])
def test_what_is_the_same_in_all_steps_is_stacked(next_s, off):
    """k mod j may fail and stays in a loop that may have no step; so does all with -fno-hoist. Both once had no axis of steps."""
    text = f"""graph g(x: float64[n], k: int64[], j: int64[], w: float64[2, 3]) -> (a, b, c, d) {{
  a, b, c, d = loop (v in x, s = 0.0) -> ([t], [u], [z], s) {{
    t = Mod(k, j)
    u = Neg(j)
    z = Transpose(w) @ w
    next s = {next_s}
  }}
}}
"""
    w = np.arange(6.0).reshape(2, 3)
    for n in (0, 1, 4):
        a, b, c, _ = ptg.run(ptg.compile(text, math="standard", options=(off,)), np.ones(n), np.int64(7), np.int64(4), w)
        for got, want in ((a, np.full(n, 3)), (b, np.full(n, -4)), (c, np.broadcast_to(w.T @ w, (n, 3, 3)))):
            np.testing.assert_array_equal(got, want, strict=True)


def test_no_steps_along_an_empty_constant():
    """What no step adds is not looked at as a number."""
    text = "graph g() -> (a, b) {\n  a, b = loop (v in float64[0](0.5), i in 0:59, s = -0.25) -> (s, [t]) {\n    t = 0.5 * (v * v - s)\n    next s = Sqrt(Abs(v) + 0.5 * Sqr(s))\n  }\n}"
    for math in ("exact", "standard", "native"):
        a, b = ptg.run(ptg.compile(text, math=math))
        assert a == -0.25 and b.shape == (0,)


def test_rounds_where_they_are_faster():
    """Many steps of a number are rounds; steps of a large state are not, as a round computes all of their elements."""
    form, step = STEPS["both differ"]
    rng = np.random.default_rng(3)
    u, v = rng.uniform(-1, 1, 20_000), rng.normal(size=20_000)
    got = ptg.run(rounds(form, "float64", 20_000, ()), u, v, np.array(0.0), np.array(0.3))
    for g, w in zip(got, by_steps(step, u, v, 0.0, 0.3), strict=True):
        np.testing.assert_allclose(g, w, 1e-11, 1e-12)
    with pytest.raises(AssertionError):
        rounds(form, "float64", 16, ("1000",))


@pytest.mark.parametrize("where", ["factors", "inputs"])
def test_rounds_that_overflow(where):
    """The product of factors overflows, but no state does: the model goes by steps."""
    u, v, first, c = np.full(59, 0.5), np.ones(59), np.array(0.0), np.array(0.3)
    u[:30] = 1e200
    v[:30] = 0
    if where == "inputs":
        v[40] = np.inf
        u[45] = np.nan
    form, step = STEPS["both differ"]
    got = ptg.run(rounds(form, "float64", 59, ()), u, v, first, c)
    for g, w in zip(got, by_steps(step, u, v, first, c), strict=True):
        np.testing.assert_allclose(g, w, 1e-12)


# What a step adds up of the state s, and of d and v: those of the step, or p and q of all steps; the axis it sums over
WAYS = {
    "rows added": ("LogSumExp{axes=(0,)}(s[:, None] + p) + v", "p v", 0),
    "both differ": ("v + LogSumExp{axes=(0,)}(d + s[:, None])", "d v", 0),
    "to the left": ("LogSumExp{axes=(1,)}(s[None, :] + d)", "d", 1),
    "one number": ("LogSumExp{axes=(1,)}(s + d) + q", "d q", 1),
}  # fmt: skip


def log_sum_exp(x, axis):
    most = np.clip(x.max(axis, keepdims=True), -np.finfo(x.dtype).max, np.finfo(x.dtype).max)
    return (np.log(np.exp(x - most).sum(axis, keepdims=True)) + most).sum(axis)


def ways(form, axis, dtype, w, n, opset, d, v, first, p, q):
    text = f"""graph g(ds: {dtype}[{n}, {w}, {w}], vs: {dtype}[{n}, {w}], first: {dtype}[{w}], p: {dtype}[{w}, {w}], q: {dtype}[]) -> (last, all, before) {{
  last, all, before = loop (d in ds, v in vs, s: {dtype}[{w}] = first) -> (s, [new], [s]) {{
    new = {form[0]}
    next s = new
  }}
}}
"""
    model = ptg.compile(text, math="standard", opset=opset, options=("-Wno-unused",))
    of = dict(p=p, q=q)

    def step(s, d, v, _):
        use = {"d": d, "v": v, **of}
        matrix = use[form[1].split()[0]]
        rest = [use[k] for k in form[1].split()[1:]]
        s = log_sum_exp((s[None, :] if axis else s[:, None]) + matrix, axis)
        return s + rest[0] if rest else s

    with np.errstate(all="ignore"):
        return model, ptg.run(model, d, v, first, p, q), by_steps(step, d, v, first, None)


def outermost(model):
    return [n.op_type for n in onnx.load_model_from_string(model).graph.node]


@pytest.mark.parametrize("name", WAYS)
def test_sums_of_ways(name):
    """A loop of LogSumExp takes rounds, also where some ways, or all, have the probability 0."""
    rng = np.random.default_rng(3)
    for w, n, dtype, opset in ((2, 59, "float64", 13), (3, 16, "float64", 18), (4, 33, "float64", 26), (2, 40, "float32", 18)):
        d, v, p = (10 * rng.normal(size=s).astype(dtype) for s in ((n, w, w), (n, w), (w, w)))
        first, q = rng.normal(size=w).astype(dtype), np.array(-0.3, dtype)
        for kind in ("finite", "no way", "dead end"):
            if kind == "no way":
                d[:, 0, 1] = p[1, 0] = first[0] = -np.inf
            elif kind == "dead end":
                d[n // 2] = v[n // 2] = -np.inf
            model, got, want = ways(WAYS[name], WAYS[name][2], dtype, w, n, opset, d, v, first, p, q)
            assert "If" in outermost(model)
            for g, x in zip(got, want, strict=True):
                assert g.shape == x.shape and g.dtype == dtype
                np.testing.assert_allclose(g, x, *((1e-12, 1e-11) if dtype == "float64" else (3e-6, 1e-4)))


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_sums_of_ways_that_are_infinite(name, value):
    """What is inf beside -inf goes step by step, as it was written."""
    rng = np.random.default_rng(4)
    for at in range(3):
        d, v, p, first, q = rng.normal(size=(20, 2, 2)), rng.normal(size=(20, 2)), rng.normal(size=(2, 2)), np.array([0.3, -np.inf]), np.array(0.1)
        d[3, 0, 1] = d[7, 0, 0] = -np.inf
        ((d[7], v[7], d[12])[at])[..., 1] = value
        _, got, want = ways(WAYS[name], WAYS[name][2], "float64", 2, 20, 18, d, v, first, p, q)
        for g, x in zip(got, want, strict=True):
            np.testing.assert_allclose(g, x, 1e-12)


def test_sums_of_ways_that_stay_loops():
    """Wide states, few or unknown steps, and other things that the state is read for."""
    form = WAYS["both differ"][0]
    for w, n, more in ((5, 30, ""), (2, 8, ""), (2, "n", ""), (2, 30, " + s")):
        text = f"graph g(ds: float64[{n}, {w}, {w}], vs: float64[{n}, {w}], first: float64[{w}]) -> (s) {{\n  s = loop (d in ds, v in vs, s: float64[{w}] = first) -> (s) {{ next s = {form}{more} }}\n}}\n"
        model = ptg.compile(text, math="standard")
        assert "If" not in outermost(model)
        rng = np.random.default_rng(5)
        n = n if isinstance(n, int) else 9
        d, v, s = rng.normal(size=(n, w, w)), rng.normal(size=(n, w)), rng.normal(size=w)
        step = lambda s, d, v, _: log_sum_exp(d + s[:, None], 0) + v + (s if more else 0)  # noqa: E731
        close(ptg.run(model, d, v, s), by_steps(step, d, v, s, None)[0])


def test_linear_recurrences_of_infinities():
    """A coefficient that is infinite does not reach a state that does not depend on it."""
    source = text("adjoint", 13)
    x = LONG[13].copy()
    x[5] = np.inf
    for math in ("exact", "standard"):
        got = ptg.run(ptg.compile(source, math=math), x, A)
        assert all(np.isnan(g).any() for g in got)
    source = "graph g(x: float64[13], w: float64[13]) -> (y, z) {\n  y, z = loop (v in x, u in w, p = 1.0, q = 1.0) -> (p, q) {\n    next p = p * v + p * 0.5 + 1\n    next q = q * u - q * u * u + q\n  }\n}\n"
    x[5], p, q = np.inf, 1.0, 1.0
    for v, u in zip(x, LONG[13]):
        p, q = p * v + p * 0.5 + 1, q * u - q * u * u + q
    for math in ("exact", "standard"):
        y, z = ptg.run(ptg.compile(source, math=math), x, LONG[13])
        assert (np.isinf(y) or np.isnan(y)) and abs(z - q) < 1e-12


# Two or three states that are multiplied by what is linear in them: what is new of each, and the nodes of four steps
PRODUCTS = {
    "epidemic": (["p - c * p * q * u", "q + c * p * q * u - d * q"], lambda p, q, u, c, d: [p - c * p * q * u, q + c * p * q * u - d * q]),
    "epidemic of constants": (["p - c * p * q", "q + c * (p * q) - d * q"], lambda p, q, u, c, d: [p - c * p * q, q + c * p * q - d * q]),
    "predators": (["p + 0.1 * p * (1.0 - p / 2.0 - q)", "-(d * q - q * c * p) + q"], lambda p, q, u, c, d: [p + 0.1 * p * (1 - p / 2 - q), -(d * q - q * c * p) + q]),
    "of itself": (["p * (1.1 - c * (p + q))", "q * q * 0.5 + d * q * p + 0.3 * q"], lambda p, q, u, c, d: [p * (1.1 - c * (p + q)), q * q * 0.5 + d * q * p + 0.3 * q]),
}  # fmt: skip


def products(form, dtype, n, dims, math="standard", **options):
    state = f"{dtype}[{dims}]"
    return ptg.compile(f"""graph g(us: {dtype}[{n}{dims and ", " + dims}], p: {state}, q: {state}, c: {dtype}[], d: {dtype}[]) -> (p1, q1, ps, qs, before, both) {{
  p1, q1, ps, qs, before, both = loop (u in us, p: {state} = p, q: {state} = q) -> (p, q, [p2], [q2], [p], [r]) {{
    p2 = {form[0]}
    q2 = {form[1]}
    r = p * q * c
    next p = p2
    next q = q2
  }}
}}
""", math=math, **options)


@pytest.mark.parametrize("math", ["standard", "native"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_states(name, math):
    """At standard, but where that takes products of sums apart"""
    form, step = PRODUCTS[name]
    rng = np.random.default_rng(4)
    for dtype, n, dims, opset in (("float64", 59, "", 13), ("float64", 60, "3", 18), ("float32", 9, "", 26), ("float64", 16, "1", 18), ("float32", 17, "4", 18), ("float64", "n", "", 18)):
        model = products(form, dtype, n, dims, math, opset=opset)
        if n != "n":
            assert ("Gemm" in body_of(model)[1]) == (math == "native" or "epidemic" in name)
        if n != "n" and "Gemm" in body_of(model)[1]:
            assert body_of(model)[1].count("Mul") == (1 if name == "epidemic" else 4)
        for length in (n,) if n != "n" else (0, 1, 7, 33):
            shape = tuple(int(k) for k in dims.split(",") if k)
            u, p, q = rng.uniform(0.5, 1, (length, *shape)), rng.uniform(0.2, 1, shape), rng.uniform(0.2, 1, shape)
            u, p, q, c, d = (np.asarray(x, dtype) for x in (u, p, q, 0.2, 0.1))
            got, want = ptg.run(model, u, p, q, c, d), [[], [], [], []]
            for v in u:
                p2, q2 = step(p, q, v, c, d)
                for to, x in zip(want, (p2, q2, p, p * q * c), strict=True):
                    to.append(x)
                p, q = np.asarray(p2, dtype), np.asarray(q2, dtype)
            want = [p, q, *(np.array(x, dtype).reshape(length, *shape) for x in want)]
            for g, w in zip(got, want, strict=True):
                assert g.shape == w.shape and g.dtype == dtype
                np.testing.assert_allclose(g, w, *((1e-12, 1e-13) if dtype == "float64" else (2e-5, 2e-6)))


def test_states_that_are_no_products():
    """A term that the state is no factor of, and a product of three states"""
    for form in (["p - c * p * q", "q + c * p * p - d * q"], ["p - c * p * q * p", "q - p * q"], ["p - Sqrt(q) * p", "q - p * q"]):
        assert "Gemm" not in body_of(products(form, "float64", 60, ""))[1]
    apart = products(["p * (1.1 - c * p)", "q * (d + p)"], "float64", 60, "")  # an infinite q does not reach p
    assert body_of(apart)[1].count("Mul") + body_of(apart)[1].count("Add") + body_of(apart)[1].count("Sub") == 5


def test_nothing_leaves_a_guard():
    """An integer division by 0 ends the process: neither a loop of no steps nor the other branch computes it."""
    for n in (0, 2):
        for length in ("n", n):
            source = f"graph g(x: int64[{length}], a: int64[], k: int64[]) -> (y) {{\n  y = loop (v in x, s: int64[] = 0) -> (s) {{\n    q = if k != 0 {{ q = s + onnx.Div(a, k) + onnx.Div(v, k) }} else {{ q = s + v }}\n    next s = q\n  }}\n}}\n"
            model = ptg.compile(source)
            assert ptg.run(model, INTS[n], 5, 0) == INTS[n].sum()
            assert ptg.run(model, INTS[n], 5, 2) == (INTS[n] // 2 + 2).sum()
    source = "graph g(x: int64[n], a: int64[], k: int64[]) -> (y) {\n  y = loop (v in x, s: int64[] = 0) -> (s) {\n    next s = s + v + onnx.Div(a, k)\n  }\n}\n"
    model = ptg.compile(source)
    assert ptg.run(model, INTS[0], 5, 0) == 0
    assert ptg.run(model, INTS[2], 5, 2) == 7 + 4


def test_states_that_begin_as_one_number():
    """Alloc of a number and of a vector of one begin alike; of another number they do not."""
    for other, equal in (("7.0", True), ("6.0", False)):
        source = f"graph g(x: float64[9], y: float64[n]) -> (a, b) {{\n  a, b = loop (v in x, p = Alloc(float64(7.0), Shape(y)[0]), q = Alloc(float64([{other}]), Shape(y)[0])) -> (p, q) {{\n    next p = Sqrt(p * p + v) + y\n    next q = Sqrt(q * q + v) + y\n  }}\n}}\n"
        model, x, y = ptg.compile(source, math="standard"), np.arange(9.0), np.array([0.5, 0.1])
        assert body_of(model)[1].count("Sqrt") == (1 if equal else 2)
        for got, s in zip(ptg.run(model, x, y), (np.full(2, 7.0), np.full(2, float(other)))):
            for v in x:
                s = np.sqrt(s * s + v) + y
            np.testing.assert_allclose(got, s, 1e-13)


def test_states_that_begin_alike_but_differ():
    source = "graph g(x: float64[5]) -> (a, b, c) {\n  a, b, c = loop (v in x, p = 0.0, q = 0.0, r = 0.0) -> (p, q, r) {\n    next p = p + v\n    next q = q + p\n    next r = r + q\n  }\n}\n"
    x, p, q, r = X[7][:5], 0.0, 0.0, 0.0
    for v in x:
        p, q, r = p + v, q + p, r + q
    close(ptg.run(source, x), (p, q, r))


def test_long_sequences_of_small_rows_take_no_memory():
    """Stacking what every step adds to a matrix would take 8 GB."""
    source = "graph g(x: float64[n], w: float64[1000, 1000]) -> (y) {\n  s = loop (v in x, s = float64[1000, 1000](0)) -> (s) { next s = s + w * v }\n  y = Sum(s)\n}\n"
    model = onnx.load_model_from_string(ptg.compile(source))
    assert any(n.op_type == "Loop" and len(n.output) == 1 for n in model.graph.node)


def test_named_results():
    """A stacked result that is an output keeps its name, also if it is computed outside."""
    source = "graph g(x: float64[3], a: float64[]) -> (p, q, r) {\n  p, q, r = loop (v in x, s = 0.0) -> ([e], [f], [h]) {\n    e = Exp(v)\n    f = a * 2\n    h = e\n  }\n}\n"
    got = ptg.run(ptg.compile(source, options=("-Wno-unused",)), X[7][:3], A)
    close(got, (np.exp(X[7][:3]), np.full(3, 1.4), np.exp(X[7][:3])))


def random_sum(rng, depth):
    """Sums and products of states, rows and what all steps share; they may share parts."""
    pick = lambda *of: of[rng.integers(len(of))]  # noqa: E731
    if not depth:
        return pick("s", "z", "s", "z", "t", "w")
    less = lambda: random_sum(rng, depth - 1 - rng.integers(0, depth))  # noqa: E731
    return pick(
        lambda: f"({less()} {pick('+', '-')} {less()})", lambda: f"({less()} {pick('+', '-')} {less()})",
        lambda: f"({less()} * {pick('a', 'b', 'u', 'v', '(a - u)')})", lambda: f"({pick('a', 'u', 'v')} * {less()})",
        lambda: f"(-{less()})", lambda: f"({less()} + {pick('o', 'u', 'a')})", lambda: f"({less()} * {pick('s', 't')})",
    )()  # fmt: skip


def sums_of_products(rng, dims, n):
    p = [f"{rng.uniform(-0.5, 0.5):.3f} * Tanh({random_sum(rng, 5)}) + " if rng.random() < 0.3 else "" for _ in range(2)]
    f, g, t, w = (random_sum(rng, k) for k in (5, 5, 2, 3))
    axes = f"[{n}, {dims}]" if dims else f"[{n}]"
    return f"""graph g(us: float64{axes}, vs: float64[{n}], a: float64[{dims}], b: float64[]) -> (y, x, c, d) {{
  os = Alloc(0.0, Shape(us)[0])
  y, x, c, d = loop (u in us, v in vs, o in {'os' if rng.random() < 0.5 else 'vs'}, s = a * 1, z = a + 1) -> (s, z, [e], [h]) {{
    t = {t.replace('t', 's').replace('w', 'z')}
    w = {w.replace('w', 's')}
    e = {p[0]}{f}
    h = {p[1]}{g}
    next s = e * 0.3 + 0 * a
    next z = h * 0.3 + 0 * a
  }}
}}
"""


@pytest.mark.parametrize("dims", ["", "p", "3"])
def test_factors_that_do_not_move(dims):
    """x * a - x * b * c is x * (a - b * c), where x depends on the states alone: src/rewrite/loop_terms.c."""
    rng = np.random.default_rng(len(dims) + ord((dims or "0")[0]))
    for i in range(14):
        n = ("n", 9, 1)[i % 3]
        text = sums_of_products(rng, dims, n)
        at, exact = (ptg.compile(text, math=m, options=("-Wno-unused", *o)) for m, o in (("standard", ()), ("exact", ("-fno-linear",))))
        for steps in (0, 1, 6) if n == "n" else (n,):
            p = () if not dims else (int(dims),) if dims.isdigit() else (int(rng.integers(0, 5)),)
            args = rng.uniform(-1, 1, (steps, *p)), rng.uniform(-1, 1, steps), rng.uniform(-1, 1, p), rng.uniform(-1, 1, ())
            for g, w in zip(ptg.run(at, *args), ptg.run(exact, *args), strict=True):
                assert g.shape == w.shape and g.dtype == w.dtype
                np.testing.assert_allclose(g, w, 1e-9, 1e-10, err_msg=text)


def test_steps_of_an_epidemic():
    """At many points: 4 products and sums for a value, 7 for its derivative."""
    text = """graph g(ks: float64[p], r: float64[p], us: float64[9, p], vs: float64[9, p]) -> (y, o, ds) {
  zeros = Alloc(0.0, 9, 1)
  y, o = loop (u in us, s = r * 2, i = r) -> (s, [i]) {
    new = ks * s * i
    next s = s - new
    next i = i + new - r * i
  }
  c, d, ds = loop (u in us, v in vs, z in zeros, ds = r, di = r) -> (ds, di, [dn]) {
    dn = (di - ds + u) * 0.5 * ks
    next di = dn * v + di + (-di) * r + z
    next ds = ds + dn * u + z
  }
}
"""
    scans = [n for n in onnx.load_model_from_string(ptg.compile(text, math="standard", options=("-Wno-unused",))).graph.node if n.op_type == "Scan"]
    bodies = [sorted(n.op_type for a in s.attribute if a.name == "body" for n in a.g.node if n.op_type != "Identity") for s in scans]
    assert bodies == ["Add Mul Mul Mul Sub".split(), "Add Add Add Mul Mul Mul Sub".split()]


# What a step leaves out is not multiplied by 0: dims of the states, their first values, and what is new of them
LEFT_OUT = {
    "reset": ("", ["Switch(v > 0.8, 0.0, s) * 0.9 + v"]),
    "reset in five nodes": ("", ["Switch(v > 0.8, u, s * v + 0.5 * s) * u + Sin(v)"]),
    "one of two": ("", ["Switch(v > 0.2, s, r) * 0.5 + u", "r * u + s * v - 0.1"]),
    "forgotten": ("", ["Sin(v) + u"]),
    "both forgotten": ("2", ["Sin(v) + u", "Cos(u)"]),
    "elements": ("3", ["s * u + 0.5 * s - s * v * 0.1 + u"]),
    "elements of two": ("2", ["s * u + 0.1 * r - v", "r * 0.5 + 0.1 * s * u + v"]),
    "each the other": ("", ["r * u + 0.1 * v - 0.2", "s * v + 0.3 * u + 0.1"]),
    "by a sum": ("2", ["Sum{axis=0}(r) * u * 0.3 + v", "0.5 * (s - 0.2 * r) + u"]),
    "elements times states": ("2", ["s - 0.1 * s * r * u", "r + 0.1 * s * r * u - 0.2 * r"]),
}  # fmt: skip


@pytest.mark.parametrize("n", ["n", 19])
@pytest.mark.parametrize("name", LEFT_OUT)
def test_left_out_is_not_multiplied(name, n):
    dims, new = LEFT_OUT[name]
    states, shape = "sr"[: len(new)], (int(dims),) if dims else ()
    t, ts = f"float64[{dims}]", f"float64[{n}{dims and ', ' + dims}]"
    text = f"""graph g(us: {ts}, vs: {ts}, {', '.join(f'{s}0: {t}' for s in states)}) -> ({', '.join(f'{s}, {s}s, {s}n' for s in states)}) {{
  {', '.join(f'{s}, {s}s, {s}n' for s in states)} = loop (u in us, v in vs, {', '.join(f'{s}: {t} = {s}0' for s in states)}) -> ({', '.join(f'{s}, [{s}], [{s}2]' for s in states)}) {{
""" + "".join(f"    {s}2 = {e}\n" for s, e in zip(states, new)) + "".join(f"    next {s} = {s}2\n" for s in states) + "  }\n}\n"  # fmt: skip
    rng = np.random.default_rng(8)
    plain = tuple(f"-fno-{r}" for r in ("states", "batch", "push-out", "scan", "linear", "associative"))
    for opset, math in ((13, "standard"), (18, "exact"), (26, "standard")):
        for special in (0.5, np.nan, np.inf):
            u, v, first = rng.uniform(size=(19, *shape)), rng.uniform(size=(19, *shape)), rng.uniform(size=(2, *shape))
            for x in (u, v, first):
                x[(3, 0)[: x.ndim] if x is not first else (0, 0)[: x.ndim]] = special
            args = u, v, *first[: len(states)]
            want = ptg.run(ptg.compile(text, opset=opset, options=plain), *args)
            for g, w in zip(ptg.run(ptg.compile(text, opset=opset, math=math), *args), want, strict=True):
                finite = np.isfinite(w)
                assert np.all(np.isfinite(g) == finite)
                np.testing.assert_allclose(g[finite], w[finite], 1e-10)


@pytest.mark.parametrize("first", ["y", "0.5"])
@pytest.mark.parametrize("kind", ["x in xs", "i in 0:n"])
def test_equal_states_that_never_change_are_all_results(kind, first):
    for block in ("", "if y > 0 {"):
        loop = f"""r, s, t, u = loop ({kind}, a: float64[] = {first}, b: float64[] = {first}, c: float64[] = {first}, d = 0.5) -> (a, b, c, d) {{
    same = b
    next b = same
    next d = Sin(d + 1.0)
  }}"""
        body = f"r, s, t, u = if y > 0 {{\n  {loop} }} else {{\n r = y\n s = y\n t = y\n u = y }}" if block else loop
        text = f"graph g(xs: float64[4], n: int64[], y: float64[]) -> (r, s, t, u) {{\n  {body}\n}}\n"
        for math in ("exact", "standard"):
            got = ptg.run(ptg.compile(text, math=math, options=("-Wno-unused",)), np.ones(4), np.array(4), np.array(0.5))
            d = 0.5
            for _ in range(4):
                d = np.sin(d + 1)
            np.testing.assert_allclose([float(g) for g in got], [0.5, 0.5, 0.5, d], 1e-12)


def test_stacked_behind_other_nodes_at_no_steps():
    """Rows that are stacked for a product behind a Sign have their lengths where there is no step."""
    model = ptg.compile("""graph g(s: float64[p, 3], x: float64[n]) -> (r, e, f) {
  r, e, f = loop (i in 0:Shape(x)[0], a: float64[p, 3] = s) -> (a, [c], [b]) {
    d = s[:, [0]]
    b = Sign(d)
    c = a * b
    next a = Tanh(d + a * x[i])
  }
}
""")
    s = np.array([[0.5, -1, 2], [-1, 3, 0]])
    for n in (0, 1, 3):
        a, rows_of = s, []
        for _ in range(n):
            rows_of.append(a * np.sign(s[:, :1]))
            a = np.tanh(s[:, :1] + a * 0.5)
        r, e, f = ptg.run(model, s, np.full(n, 0.5))
        np.testing.assert_allclose(r, a, rtol=1e-14)
        np.testing.assert_allclose(e, np.reshape(rows_of, (n, 2, 3)), rtol=1e-14)
        assert np.array_equal(f, np.broadcast_to(np.sign(s[:, :1]), (n, 2, 1)))
