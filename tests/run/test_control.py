"""Loops, ifs and states of the language, against NumPy; all opsets."""

import subprocess

import numpy as np
import onnx
import pytest

import ptg
from harness import ALL, OPSETS, compare
from opsets import SOME_OPSETS


def results(text, *inputs, opset, level="all"):
    model = ptg.compile("ptg 1\n" + text, opset=opset)
    session = ptg.session(model, level)
    return session.run(None, {i.name: np.asarray(x) for i, x in zip(session.get_inputs() + session.get_overridable_initializers(), inputs)})


def check(text, cases, reference, ulp=None, opsets=OPSETS):
    """cases: lists of inputs; reference gives the outputs for them."""
    for opset in opsets:
        for case in cases:
            want = reference(*case)
            want = want if isinstance(want, tuple) else (want,)
            for level in ("all", "none") if opset == 18 else ("all",):
                got = results(text, *case, opset=opset, level=level)
                assert len(got) == len(want)
                for k, (g, w) in enumerate(zip(got, want)):
                    compare(g, w, f"opset {opset}, result {k}\n{text}", ulp)


def f(*v):
    return np.array(v, "float64")


# --- loops ---


def test_walk():
    """Over the rows of an array: none, one, many."""
    text = """graph g(x: float64[n, 3]) -> (s, all) {
  s, all = loop (r in x, a: float64[3] = float64[3](0)) -> (a, [b]) {
    b = a + r
    next a = b
  }
}
"""
    check(text, [(np.zeros((0, 3)),), (np.ones((1, 3)),), (np.arange(15.0).reshape(5, 3),)], lambda x: (np.cumsum(np.vstack([np.zeros(3), x]), 0)[-1], np.cumsum(x, 0)))


def test_walk_symbolic_rows():
    """Stacked rows have their length even when there are none."""
    text = """graph g(x: float64[n, m], w: float64[m, k]) -> (hs, ys) {
  hs, ys = loop (r in x) -> ([h], [y]) {
    h = Tanh(r @ w)
    y = r * 2.0
  }
}
"""
    within = """graph g(x: float64[n, m]) -> (y) {
  s = loop (r in x, p: float64[m] = float64[m](1)) -> ([q]) {
    q = r * p
    next p = q
  }
  y = Exp(s)
}
"""
    check(within, [(np.ones((n, m)),) for n, m in ((2, 3), (0, 3), (3, 0))], np.exp)
    rng = np.random.default_rng(0)
    cases = [(rng.normal(size=(n, m)), rng.normal(size=(m, k))) for n, m, k in ((4, 3, 2), (0, 3, 2), (1, 1, 5), (3, 0, 2), (2, 3, 0), (0, 0, 0))]
    check(text, cases, lambda x, w: (np.tanh(x @ w), x * 2), {"float64": 8})


def test_count():
    text = """graph g(n: int64[]) -> (s, is) {
  s, is = loop (i in 0:n, a: int64[] = 0) -> (a, [i]) {
    next a = a + i * i
  }
}
"""
    check(text, [(np.array(k),) for k in (0, 1, 5, -3)], lambda n: (np.array(sum(i * i for i in range(n))), np.arange(max(n, 0))))


@pytest.mark.parametrize("header", ["2:9", "2:9:3", "9:2:-1", "9:2:-2", "0:0", "5:2", "-3:3", "3:-3:-2"])
def test_ranges(header):
    text = f"""graph g(x: int64[]) -> (is) {{
  is = loop (i in {header}) -> ([j]) {{
    j = i + x
  }}
}}
"""
    check(text, [(np.array(10),)], lambda x: np.array(range(*map(int, header.split(":"))), "int64") + 10)


def test_symbolic_ranges():
    text = """graph g(a: int64[], b: int64[], c: int64[]) -> (is) {
  is = loop (i in a:b:c) -> ([i]) {
  }
}
"""
    cases = [tuple(map(np.array, k)) for k in ((0, 5, 1), (0, 5, 2), (5, 0, 1), (5, 0, -2), (-4, 4, 3), (3, 3, -1), (-1, -8, -3))]
    check(text, cases, lambda a, b, c: np.array(range(a, b, c), "int64"))


def test_several_sequences():
    text = """graph g(x: float64[n], y: int64[n, 2]) -> (s, t) {
  s, t = loop (a in x, b in y, i in 0:n, c: float64[2] = float64[2](0)) -> (c, [d]) {
    d = Cast{float64}(b) * a + Cast{float64}(i)
    next c = c + d
  }
}
"""

    def reference(x, y):
        d = y * x[:, None] + np.arange(len(x))[:, None]
        return d.sum(0), d.astype("float64")

    check(text, [(np.arange(float(n)), np.arange(2 * n).reshape(n, 2)) for n in (0, 1, 4)], reference)


def test_different_lengths():
    """The shortest sequence ends it, as PyTensor's scan."""
    text = """graph g(x: float64[n], y: float64[m]) -> (s) {
  s = loop (a in x, b in y) -> ([c]) {
    c = a * b
  }
}
"""
    cases = [(f(1, 2), f(3, 4)), (f(1, 2), f(3, 4, 5)), (f(1, 2, 3), f(3)), (f(), f(3))]
    check(text, cases, lambda x, y: x[: len(y)] * y[: len(x)])


def test_while():
    text = """graph g(a: float64[]) -> (x, k) {
  x, k = loop (i in 0:50, x = a, e: float64[] = inf, k: int64[] = 0) while e > 1e-12 -> (x, k) {
    x1 = 0.5 * (x + a / x)
    next e = Abs(x1 - x)
    next x = x1
    next k = k + 1
  }
}
"""

    def reference(a):
        x, e, k = a, np.inf, 0
        for _ in range(50):
            if not e > 1e-12:
                break
            x1 = 0.5 * (x + a / x)
            e, x, k = abs(x1 - x), x1, k + 1
        return np.float64(x), np.int64(k)

    check(text, [(np.array(v),) for v in (2.0, 1.0, 1e6, np.nan)], reference)


def test_while_without_a_step():
    text = """graph g(a: float64[], x: float64[n]) -> (b, c) {
  b, c = loop (i in 0:10, b = a) while b < 3.0 -> (b, [d]) {
    d = x * b
    next b = b + 1.0
  }
}
"""

    def reference(a, x):
        c = []
        for _ in range(10):
            if not a < 3:
                break
            c.append(x * a)
            a = a + 1
        return np.float64(a), np.array(c).reshape(len(c), len(x))

    check(text, [(np.array(v), x) for v in (5.0, 3.0, 2.5, -20.0) for x in (f(1, 2, 4), f())], reference)


def test_while_alone():
    """No sequence: only the condition ends it."""
    text = """graph g(a: int64[]) -> (k, m) {
  k, m = loop (k: int64[] = 0, m = a) while m > 1 -> (k, m) {
    next m = if m % 2 == 0 { r = m // 2 } else { r = 3 * m + 1 }
    next k = k + 1
  }
}
"""
    text = text.replace("next m = if m % 2 == 0 { r = m // 2 } else { r = 3 * m + 1 }", "r = if m % 2 == 0 { r = m // 2 } else { r = 3 * m + 1 }\n    next m = r")

    def reference(m):
        k = 0
        while m > 1:
            m, k = m // 2 if m % 2 == 0 else 3 * m + 1, k + 1
        return np.int64(k), np.int64(m)

    check(text, [(np.array(v),) for v in (27, 1, 0, 97)], reference)


def test_until():
    """The step that meets it is kept."""
    text = """graph g(x: float64[n], t: float64[]) -> (s, trace) {
  s, trace = loop (v in x, a: float64[] = 0) -> (a, [b]) {
    b = a + v
    next a = b
    until b > t
  }
}
"""

    def reference(x, t):
        a, trace = 0.0, []
        for v in x:
            a = a + v
            trace.append(a)
            if a > t:
                break
        return np.float64(a), f(*trace)

    check(text, [(f(*x), np.array(t)) for x in ((1, 2, 3, 4), (), (9,)) for t in (2.5, 0.0, 100.0)], reference)


def test_until_and_while():
    text = """graph g(n: int64[], t: int64[]) -> (a, b) {
  a, b = loop (i in 0:n, a: int64[] = 1) while a < 1000 -> (a, [c]) {
    c = a * 3
    next a = c
    until c > t
  }
}
"""

    def reference(n, t):
        a, trace = 1, []
        for _ in range(n):
            if not a < 1000:
                break
            a = a * 3
            trace.append(a)
            if a > t:
                break
        return np.int64(a), np.array(trace, "int64")

    check(text, [(np.array(n), np.array(t)) for n in (0, 3, 50) for t in (0, 30, 10**6)], reference)


def test_carried_shape_changes():
    text = """graph g(x: float64[n], k: int64[]) -> (y) {
  y = loop (i in 0:k, a: float64[?] = x) -> (a) {
    next a = Join{axis=0}(a, a[:1])
  }
}
"""

    def reference(x, k):
        for _ in range(k):
            x = np.concatenate([x, x[:1]])
        return x

    check(text, [(f(*x), np.array(k)) for x in ((1, 2), (7,), ()) for k in (0, 1, 4)], reference)


def test_carried_shape_must_stay():
    """Dims that are declared are kept."""
    text = """graph g(x: float64[n], k: int64[]) -> (y) {
  y = loop (i in 0:k, a = x) -> (a) {
    next a = a[::-1] * 2.0
  }
}
"""

    def reference(x, k):
        for _ in range(k):
            x = x[::-1] * 2
        return x

    check(text, [(f(*x), np.array(k)) for x in ((1, 2, 3), ()) for k in (0, 1, 3)], reference)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"])
def test_dtypes(dtype):
    text = f"""graph g(x: {dtype}[n, 2]) -> (a, b) {{
  a, b = loop (r in x, a: {dtype}[2] = {dtype}[2](0)) -> (a, [c]) {{
    c = a + r
    next a = c
  }}
}}
"""
    x = np.array([[1, 0], [1, 1], [0, 1]]).astype(dtype)

    def reference(x):
        c = (np.logical_or.accumulate(x, 0) if dtype == "bool" else np.cumsum(x, 0, dtype=dtype)).reshape(-1, 2)
        return (c[-1] if len(c) else np.zeros(2, dtype)), c

    check(text, [(x,), (x[:1],), (x[:0],)], reference)


def test_nested():
    text = """graph g(x: float64[n, m]) -> (s, rows) {
  s, rows = loop (r in x, a: float64[] = 0) -> (a, [t]) {
    t, part = loop (v in r, b: float64[] = 0) -> (b, [c]) {
      c = b + v * a
      next b = c + 1.0
    }
    next a = a + t + Sum(part)
  }
}
"""

    def reference(x):
        a, ts = 0.0, []
        for r in x:
            b, part = 0.0, 0.0
            for v in r:
                c = b + v * a
                part, b = part + c, c + 1
            ts.append(b)
            a = a + b + part
        return np.float64(a), f(*ts)

    check(text, [(np.arange(float(n * m)).reshape(n, m) * 0.25,) for n, m in ((3, 4), (0, 4), (4, 0), (1, 1), (0, 0))], reference)


def test_nested_traces():
    """Stacks of stacks."""
    text = """graph g(x: float64[n, m], y: float64[k]) -> (t) {
  t = loop (r in x) -> ([t]) {
    t = loop (v in r) -> ([u]) {
      u = y * v
    }
  }
}
"""
    check(text, [(np.ones((n, m)) * 2, np.arange(float(k))) for n, m, k in ((2, 3, 4), (0, 3, 4), (2, 0, 4), (2, 3, 0), (0, 0, 0))], lambda x, y: x[:, :, None] * y)


def test_outer_values():
    """Bodies read what is outside; results may be outer values or the items themselves."""
    text = """graph g(x: float64[n], y: float64[m]) -> (a, b, c, d) {
  z = y * 2.0
  a, b, c, d = loop (v in x, w: float64[m] = z) -> (w, [v], [z], [w]) {
    next w = w + y
  }
}
"""

    def reference(x, y):
        n = len(x)
        return 2 * y + n * y, x, np.tile(2 * y, (n, 1)), np.array([2 * y + i * y for i in range(n)]).reshape(n, len(y))

    check(text, [(np.arange(float(n)), np.arange(float(m))) for n, m in ((3, 2), (0, 2), (1, 0), (0, 0))], reference)


def test_unchanged_and_swapped():
    text = """graph g(x: float64[n], y: float64[n], k: int64[]) -> (a, b, c) {
  a, b, c = loop (i in 0:k, a = x, b = y, c = x) -> (a, b, c) {
    next a = b
    next b = a
    next c = c
  }
}
"""
    check(text, [(f(1, 2), f(3, 4), np.array(k)) for k in (0, 1, 2, 5)], lambda x, y, k: (y, x, x) if k % 2 else (x, y, x))


def test_constant_results():
    text = """graph g(k: int64[]) -> (a, b) {
  a, b = loop (i in 0:k, a: float64[2] = float64([1, 2])) -> (a, [c]) {
    c = float64([5, 6])
    next a = float64([3, 4])
  }
}
"""
    check(text, [(np.array(k),) for k in (0, 1, 3)], lambda k: (f(3, 4) if k else f(1, 2), np.tile(f(5, 6), (k, 1))))


def test_many_steps():
    text = """graph g(n: int64[]) -> (s) {
  s = loop (i in 0:n, a: int64[] = 0) -> (a) {
    next a = (a * 31 + i) % 1000003
  }
}
"""

    def reference(n):
        a = 0
        for i in range(n):
            a = (a * 31 + i) % 1000003
        return np.int64(a)

    check(text, [(np.array(10000),)], reference, opsets=SOME_OPSETS)


# --- if ---


def test_if():
    text = """graph g(x: float64[], y: float64[]) -> (z) {
  z = if y > 0 { z = x / y }
  else if y < 0 { z = -x / y } else { z = float64(nan) }
}
"""
    check(text, [tuple(map(np.float64, k)) for k in ((6, 3), (6, -3), (6, 0), (6, np.nan))], lambda x, y: x / abs(y) if y != 0 and y == y else np.float64(np.nan))


def test_if_several_results():
    text = """graph g(c: bool[], x: float64[n], i: int64[]) -> (a, b, d) {
  a, b, d = if c { a = x * 2.0
    b = i + 1
    d = x > 1.0
  } else {
    a = x
    b = int64(7)
    d = x < 1.0
  }
}
"""
    check(text, [(np.bool_(c), f(*x), np.int64(3)) for c in (True, False) for x in ((0, 1, 2), ())], lambda c, x, i: (x * 2, i + 1, x > 1) if c else (x, np.int64(7), x < 1))


def test_if_shapes_differ():
    text = """graph g(c: bool[], x: float64[n]) -> (a) {
  a: float64[?] = if c { a = x[1:] } else { a = Join{axis=0}(x, x) }
}
"""
    check(text, [(np.bool_(c), f(*x)) for c in (True, False) for x in ((0, 1, 2), (1,), ())], lambda c, x: x[1:] if c else np.concatenate([x, x]))


def test_if_is_lazy():
    """The branch that is not taken may be out of range."""
    text = """graph g(i: int64[], x: float64[n]) -> (a) {
  a = if i < Shape(x)[0] { a = x[i] } else { a = float64(-1) }
}
"""
    check(text, [(np.int64(i), f(4, 5)) for i in (0, 1, 2, 9)], lambda i, x: x[i] if i < len(x) else np.float64(-1))


def test_nested_ifs_and_loops():
    text = """graph g(x: float64[n], c: bool[]) -> (s) {
  s = loop (v in x, a: float64[] = 0) -> (a) {
    b = if v > 0 {
      b = if c { b = a + v } else {
        b = loop (i in 0:3, t = a) -> (t) {
          next t = t + v * Cast{float64}(i)
        }
      }
    } else { b = a }
    next a = b
  }
}
"""

    def reference(x, c):
        a = 0.0
        for v in x:
            if v > 0:
                a = a + v if c else a + 0 * v + v + 2 * v
        return np.float64(a)

    check(text, [(f(*x), np.bool_(c)) for x in ((1, -2, 3), (), (-1,)) for c in (True, False)], reference)


def test_conditions():
    """Any number is a condition: what is not 0 is true."""
    for dtype in ("int8", "int64", "float64", "float32", "uint8"):
        text = f"graph g(c: {dtype}[]) -> (a) {{\n  a = if c {{ a = int8(1) }} else {{ a = int8(2) }}\n}}\n"
        try:
            ptg.compile("ptg 1\n" + text)
        except AssertionError as e:
            assert "PTG" in str(e)
            continue
        check(text, [(np.array(v, dtype),) for v in (0, 1, 2)], lambda c: np.int8(1 if c else 2), opsets=(13, 18))


def test_fns_with_loops():
    text = """fn Power(x: F[n], k: int64[]) -> (y: F[n]) {
  y = loop (i in 0:k, y = x) -> (y) {
    next y = y * x
  }
}
graph g(x: float64[n], z: float32[m], k: int64[]) -> (a, b) {
  a = Power(Power(x, k), k)
  b = Power(z, k)
}
"""
    check(text, [(f(1, 2), np.array([3, 0.5], "float32"), np.array(k)) for k in (0, 1, 2)], lambda x, z, k: (x ** ((k + 1) ** 2), z ** np.float32(k + 1)))


# --- states ---


def names(text, opset=18):
    g = onnx.load_model_from_string(ptg.compile("ptg 1\n" + text, opset=opset)).graph
    return [i.name for i in g.input], [o.name for o in g.output], {i.name for i in g.initializer}


def test_state():
    text = """graph g(x: float64[3]) -> (y, x) {
  state w: float64[3] = float64([1, 2, 3])
  state k: int64[] = 0
  state u: float32[2] = float32([1, 2])
  y = Exp(w) * x
  next w = y
  next k = k + 1
}
"""
    inputs, outputs, initializers = names(text)
    assert inputs == ["x", "w", "k"] and outputs == ["y", "x", "w.next", "k.next"]
    assert initializers >= {"w", "k"}
    for opset in OPSETS:
        session = ptg.session(ptg.compile("ptg 1\n" + text, opset=opset))
        x = f(1, 0.5, -1)
        y, same, w, k = session.run(None, {"x": x})
        assert np.allclose(y, np.exp([1, 2, 3]) * x) and np.array_equal(same, x) and np.array_equal(w, y) and k == 1
        y2, _, w2, k2 = session.run(None, {"x": x, "w": x, "k": k})
        assert np.allclose(y2, np.exp(x) * x) and np.array_equal(w2, y2) and k2 == 2


def test_states_that_are_never_updated():
    """They are constants with a name, no inputs, also as outputs and where their length is named."""
    text = """graph g(x: float64[3]) -> (y, u, v) {
  state w: float64[n] = float64([1, 2, 3])
  state u: float64[3] = float64([4, 5, 6])
  y = w * x
  v = Shape(w)
}
"""
    inputs, outputs, initializers = names(text)
    assert inputs == ["x"] and outputs == ["y", "u", "v"] and "w" in initializers
    for opset in OPSETS:
        y, u, v = results(text, f(1, 0.5, -1), opset=opset)
        assert np.array_equal(y, [1, 1, -3]) and np.array_equal(u, [4, 5, 6]) and v == 3


def test_first_values_in_a_file(tmp_path):
    """--state=inputs: what ONNX Runtime is given first, of every dtype."""
    from safetensors.numpy import load_file

    text = "ptg 1\n\ngraph g() -> () {\n"
    for dtype in (*ALL, "complex64"):
        text += f"  state s_{dtype}: {dtype}[2, 1] = {dtype}([[0], [1]])\n  next s_{dtype} = s_{dtype}\n"
    text += "  state same: float64[100] = float64[100](0.5)\n  next same = same\n}\n"
    (tmp_path / "m.ptg").write_text(text)
    subprocess.run([ptg.PTGC, tmp_path / "m.ptg", "--state=inputs"], check=True)
    first = load_file(tmp_path / "m.state.safetensors")
    session = ptg.session((tmp_path / "m.onnx").read_bytes())
    assert [i.name for i in session.get_inputs()] == list(first) and len(first) == len(ALL) + 2
    for name, got in zip(first, session.run(None, first)):
        assert got.dtype == first[name].dtype and np.array_equal(got, first[name])
    assert (first["same"] == 0.5).all() and (first["s_int8"] == [[0], [1]]).all()


@pytest.mark.parametrize("value", ["w", "w + 0.0", "x", "float64([1, 2])", "y", "-w", "w[::-1]", "Identity(x)"])
def test_next_values_survive(value):
    """Whatever the next value is, and whatever rewrites do to it."""
    text = f"""graph g(x: float64[2]) -> (y) {{
  state w: float64[2] = float64([1, 2])
  y = x * 2.0
  next w = {value}
}}
"""
    assert names(text)[:2] == (["x", "w"], ["y", "w.next"])
    x, w = f(3, 5), f(7, 9)
    want = {"w": w, "w + 0.0": w, "x": x, "float64([1, 2])": f(1, 2), "y": x * 2, "-w": -w, "w[::-1]": w[::-1], "Identity(x)": x}[value]
    for opset in OPSETS:
        y, n = results(text, x, w, opset=opset)
        assert np.array_equal(y, x * 2) and np.array_equal(n, want)


def test_next_value_in_loop_and_shared():
    text = """graph g(n: int64[]) -> (s) {
  state a: int64[] = 1
  state b: int64[] = 2
  s, t = loop (i in 0:n, p = a, q = b) -> (p, q) {
    next p = q
    next q = p + q
  }
  next a = s
  next b = t
}
"""
    for opset in SOME_OPSETS:
        assert [int(v) for v in results(text, np.array(5), np.array(1), np.array(2), opset=opset)] == [13, 13, 21]


@pytest.mark.parametrize("dims", ["?", "?, ?"])
def test_states_that_are_checked(dims):
    """The check of a length is made on what is read of a state; its input stays what it is."""
    text = f"""graph g(x: float64[{dims.replace("?", "k", 1)}], y: float64[{dims.replace("?", "k", 1)}]) -> (z) {{
  state w: float64[{dims}] = float64([1, 2]{"" if dims == "?" else "[None]"})
  state v: float64[{dims}] = float64([1, 2]{"" if dims == "?" else "[None]"})
  z = x * w + v * y
  next w = w + x
  next v = y
}}
""".replace("float64([1, 2][None])", "float64([[1], [2]])")
    assert names(text)[:2] == (["x", "y", "w", "v"], ["z", "w.next", "v.next"])
    shape = (2,) if dims == "?" else (2, 1)
    a, b = np.full(shape, 3.0), np.full((1,) * len(shape), 3.0)
    for opset in SOME_OPSETS:
        session = ptg.session(ptg.compile("ptg 1\n" + text, opset=opset))
        z, w, v = session.run(None, {"x": a, "y": a})
        first = np.reshape([1.0, 2.0], shape)
        assert np.array_equal(z, 6 * first) and np.array_equal(w, first + 3) and np.array_equal(v, a)
        for wrong in ({"x": b, "y": a}, {"x": a, "y": b}, {"x": a, "y": a, "w": b}):
            with pytest.raises(Exception, match="must be"):
                session.run(None, wrong)


def test_only_states():
    text = """graph g() -> () {
  state a: float64[2] = float64([1, 2])
  next a = a * 2.0
}
"""
    assert names(text)[:2] == (["a"], ["a.next"])
    assert np.array_equal(ptg.session(ptg.compile("ptg 1\n" + text)).run(None, {})[0], f(2, 4))


INNER = """ptg 1

fn up(x: float64[n], k: float64) -> (y, s) {
  y = x * k
  s = Sum{axes=(0,)}(y)
}

fn down(x: float64[n], k: float64) -> (y, s) {
  y = x / k
  s = k
}

"""


@pytest.mark.parametrize("opset", SOME_OPSETS)
def test_ops_that_hold_graphs(opset):
    text = INNER + """graph g(c: bool[], i: int8[], x: float64[n], y: float64[m], k: float64[]) -> (a, b, p, q, u, s, v, t) {
  a = IfElse(c, x, y)
  b = IfElse(i, 1, 2.5)
  p, q = IfElse{n_outs=2}(c, x, k, x + 1, 0.0)
  u, s = LazyIfElse{true_branch=up, false_branch=down}(c, x, k)
  v, t = OpFromGraph{fn=up}(x, k)
}
"""
    model = ptg.compile(text, opset=opset)
    x, y, k = np.array([1.0, -2.0, 4.0]), np.array([7.0]), np.float64(4)
    for c in (True, False):
        for i in (0, 1, -3):
            want = [x if c else y, 1.0 if i else 2.5, x if c else x + 1, k if c else 0.0, x * k if c else x / k,
                    (x * k).sum() if c else k, x * k, (x * k).sum()]
            got = ptg.run(model, np.bool_(c), np.int8(i), x, y, k)
            for g, w in zip(got, want, strict=True):
                np.testing.assert_array_equal(g, w)
                assert g.dtype == np.float64


def test_ops_of_several_results_as_branches():
    text = """ptg 1
graph g(c: bool[], x: float64[n, n]) -> (q, r, a, b) {
  q, r = LazyIfElse{true_branch=QR, false_branch=QR{mode="full"}}(c, x)
  a, b = OpFromGraph{fn=QR}(x)
}
"""
    x = np.array([[2.0, 1.0], [1.0, 3.0]])
    want = np.linalg.qr(x)
    for c in (True, False):
        for got, w in zip(ptg.run(ptg.compile(text), np.bool_(c), x), (*want, *want), strict=True):
            np.testing.assert_allclose(got, w, rtol=1e-14)


def test_fused_ops_are_the_fns_that_they_hold():
    text = """ptg 1
fn gate(x, y) -> (a, b) {
  a = Tanh(x) * y
  b = a + Exp(y)
}
fn sums(x, y) -> (b, s) {
  a, b = Composite{fn=gate}(x, y)
  s = Sum{axes=(0,)}(a)
}
graph g(x: float64[n, m], y: float64[n, m]) -> (b, s, z) {
  b, s = FusedElemwise{fn=sums}(x, y)
  z = Elemwise{Add}(x, y, 1)
}
"""
    x, y = np.array([[0.5, -1.0], [2.0, 0.0]]), np.array([[1.0, 2.0], [-3.0, 0.25]])
    b, s, z = ptg.run(ptg.compile(text), x, y)
    a = np.tanh(x) * y
    np.testing.assert_allclose(b, a + np.exp(y), rtol=1e-15)
    np.testing.assert_allclose(s, a.sum(0), rtol=1e-15)
    np.testing.assert_array_equal(z, x + y + 1)


def test_properties_of_a_fn_that_is_passed():
    text = """fn step{k: float = 1, f: fn = Exp}(s: float64) -> (r) {
  r = f(s) * k
}
fn Twice{g: fn}(x: float64) -> (r) {
  r = OpFromGraph{fn=g{}}(g(x))
}
graph main(s: float64[], n: int64[]) -> (scalar, scan, call, twice, both) {
  scalar = ScalarLoop{fn=step{k=0.1}}(n, s)
  scan = Scan{fn=step{k=2, f=Sin}, n_sit_sot=1}(n, Alloc(s, n + 1))
  call = OpFromGraph{fn=step{5, Abs}}(s)
  twice = Twice{g=step{k=7, f=Cos}}(s)
  both = step{k=-1}(s) + step(s)
}"""

    def again(f, s, n):
        for _ in range(n):
            s = f(s)
        return s

    def reference(s, n):
        rows = [again(lambda x: 2 * np.sin(x), s, i) for i in range(n + 1)]
        twice = again(lambda x: 7 * np.cos(x), s, 2)
        return again(lambda x: 0.1 * np.exp(x), s, n), np.array(rows), 5 * abs(s), twice, np.zeros(())

    check(text, [(np.float64(s), np.int64(n)) for s in (0.3, -1.2) for n in (0, 1, 4)], reference, {"float64": 16})
