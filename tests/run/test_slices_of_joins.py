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
