"""What is read from joined or padded tensors is one of them where the bounds say so, and right where they do not."""
import numpy as np
import onnx
import pytest

import ptg

BOUNDS = [":", ":2", "2:", "1:", ":n", "n:", "2:n + 2", "2:n + 3", "n + 2:", "0", "1", "-1", "n:2 * n", ":-1", "2::2", "::-1"]


def kinds(model):
    return [n.op_type for n in onnx.load_from_string(model).graph.node]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("index", BOUNDS)
def test_joined(index, axis):
    shape = ["n", "3"] if axis == 0 else ["3", "n"]
    head = ["2", "3"] if axis == 0 else ["3", "2"]
    text = f"""ptg 1

graph g(a: float64[{', '.join(head)}], b: float64[{', '.join(shape)}], c: float64[{', '.join(shape)}]) -> (y) {{
  n = Shape_i{{i={axis}}}(b)
  y = Join{{axis={axis}}}(a, b, c)[{':, ' * axis}{index}]
}}
"""
    model = ptg.compile(text)
    if index in (":2", "2:n + 2", "n + 2:"):
        assert not {"Concat", "Slice"} & set(kinds(model)), kinds(model)
    for n in (1, 2, 5):
        a, b, c = np.split(np.arange(6.0 + 6 * n).reshape((-1, 3) if axis == 0 else (3, -1)), [2, 2 + n], axis)
        want = np.concatenate([a, b, c], axis)
        at = eval(f"np.s_[{index}]", {"np": np, "n": n})
        want = want[(slice(None),) * axis + (at,)]
        got = ptg.run(model, a, b, c)
        np.testing.assert_array_equal(got, want)
        assert got.shape == want.shape


@pytest.mark.parametrize("index", ["1:", "0", ":1", "1:n + 1", "2:", "1", "-1", ":"])
def test_padded(index):
    text = f"""ptg 1

graph g(v: float64[n, 2]) -> (y) {{
  n = Shape_i{{i=0}}(v)
  y = Alloc(float64(0), n + 1, 2)[1:].set(v)[{index}]
}}
"""
    model = ptg.compile(text)
    if index in ("1:", "1:n + 1"):
        assert set(kinds(model)) <= {"Identity"}, kinds(model)
    for n in (1, 4):
        v = np.arange(1.0, 2 * n + 1).reshape(n, 2)
        want = np.zeros((n + 1, 2))
        want[1:] = v
        np.testing.assert_array_equal(ptg.run(model, v), eval(f"want[{index}]"))


@pytest.mark.parametrize("n", [0, 1, 4])
def test_items_behind_a_transpose(n):
    """An item of what was transposed, joined or expanded before is read without doing so."""
    text = """ptg 1

graph g(a: float64[n, 1, 2], b: float64[n, 5, 2], c: float64[]) -> (x, y, z, u, v, w) {
  joined = Join{axis=1}(a, b)
  turned = Transpose{axes=(1, 0, 2)}(joined)
  x = turned[0]
  y = turned[-1]
  z = Transpose{axes=(2, 1, 0)}(joined)[0]
  u = joined[:, 3]
  full = Alloc(float64([[1], [2], [3]]), 3, Shape_i{i=0}(a))
  v = full[1]
  w = full[:, -1:]
}
"""
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=(n, 1, 2)), rng.normal(size=(n, 5, 2))
    joined = np.concatenate([a, b], 1)
    full = np.broadcast_to([[1.0], [2], [3]], (3, n))
    want = [joined[:, 0], joined[:, -1], joined.T[0], joined[:, 3], full[1], full[:, -1:]]
    for got, w in zip(ptg.run(text, a, b, 1.0), want, strict=True):
        np.testing.assert_array_equal(got, w)
    model = ptg.compile(text.replace("(x, y, z, u, v, w)", "(x, y, v)"), options=("-Wno-unused",))
    assert not {"Concat", "Transpose"} & set(kinds(model))


def test_last_of_a_loop():
    """The last of the states that a loop stacks is the one that it carries; of none there is no last one."""
    text = """ptg 1

graph g(x: float64[{n}], a: float64[]) -> (y) {{
  o = loop (v in x, s = a) -> ([t]) {{
    t = Sin(s) + v
    next s = t
  }}
  y = o[-1]
}}
"""
    for n in (1, 3):
        s, x = 0.5, np.arange(1.0, n + 1)
        for v in x:
            s = np.sin(s) + v
        for length in ("n", n):
            np.testing.assert_allclose(ptg.run(text.format(n=length), x, 0.5), s, 1e-15)
    assert "Gather" not in kinds(ptg.compile(text.format(n=3)))
    with pytest.raises(Exception, match="out of|bounds|range"):
        ptg.run(text.format(n="n"), np.zeros(0), 0.5)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("lengths, index, cut", [
    ((1, 3, 1), "1:", False), ((1, 3, 1), ":-1", False), ((1, 3, 1), "1:-1", False), ((1, 3, 1), ":4", False),
    ((1, 3, 1), "-4:", False), ((1, 3, 1), "2:", True), ((1, 3, 1), ":-2", True), ((0, 3, 1), ":-1", False),
    ((2, 0, 1), ":-1", False), ((1, 3, 1), "1:1", True), ((1, 3, 1), "4:1", True), ((1, 3, 1), "-9:4", True),
    ((1, 3, 1), ":-9", True), ((1, 1, 1, 1, 1), "1:", True)])  # fmt: skip
def test_some_of_joined(lengths, index, cut, axis):
    """Those that are left are joined again, if they are few: the Concat of all may go."""
    names = "abcde"[: len(lengths)]
    for n in (0, 2):
        params = ", ".join(f"{x}: float64[{f'{k}, n' if axis == 0 else f'n, {k}'}]" for x, k in zip(names, lengths))
        text = f"ptg 1\n\ngraph g({params}) -> (y) {{\n  y = Exp(Join{{axis={axis}}}({', '.join(names)})[{':, ' * axis}{index}])\n}}\n"
        model = ptg.compile(text, options=("-Wno-unused",))
        parts = [np.random.default_rng(k).normal(size=(k, n) if axis == 0 else (n, k)) for k in lengths]
        want = np.exp(eval(f"np.concatenate(parts, axis)[{':, ' * axis}{index}]"))
        got = ptg.run(model, *parts)
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-14)
        assert ("Slice" in kinds(model)) == cut, kinds(model)
