"""for, const, joined strings and files with names of their own: the numbers of NumPy."""
import numpy as np
import pytest

import ptg

x = np.linspace(-1, 1, 12).reshape(3, 4)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("dims", ["n, 4", "3, 4", "?, 4"])
def test_layers(dtype, dims):
    y, norms = ptg.run(f"""ptg 1
const widths = [5, 3, 2]
const scale = 0.25

graph g(x: {dtype}[{dims}]) -> (y: {dtype}, norms: {dtype}[3]) {{
  y, norms = for (i in 0:3, width in widths, h = x, before = 4) -> (h, [norm]) {{
    W = {dtype}[before, width](0.5) * (i + 1)
    norm = Sum(W * scale)
    if i < 2 {{ next h = Tanh(h @ W) }} else {{ next h = h @ W }}
    next before = width
  }}
}}
""", x.astype(dtype))
    h, before, want = x.astype(dtype), 4, []
    for i, width in enumerate([5, 3, 2]):
        W = np.full((before, width), 0.5 * (i + 1), dtype)
        want.append((W * dtype_of(0.25, dtype)).sum(dtype="float64"))
        h = np.tanh(h @ W) if i < 2 else h @ W
        before = width
    close = {"float16": 2e-2, "float32": 1e-5, "float64": 1e-12}[dtype]
    np.testing.assert_allclose(y, h, rtol=close, atol=close)
    np.testing.assert_allclose(norms, want, rtol=close)


def dtype_of(number, dtype):
    return np.array(number, dtype)


@pytest.mark.parametrize("start, stop, step", [(0, 0, 1), (0, 1, 1), (5, -1, -2), (-3, 4, 3), (3, 0, 1)])
def test_steps(start, stop, step):
    got = ptg.run(f"""ptg 1
graph g(x: float64[n]) -> (y) {{
  y = for (i in {start}:{stop}:{step}, y = x) -> (y) {{ next y = y * 2 + i }}
}}
""", x[0])
    want = x[0]
    for i in range(start, stop, step):
        want = want * 2 + i
    np.testing.assert_array_equal(got, want)


def test_empty_rows():
    got = ptg.run("""ptg 1
graph g(x: float32[n, 4]) -> (y) {
  y = for (k in [1, 2], y = x) -> (y) { next y = Join{axis=1}(y, x[:, :k]) }
}
""", np.zeros((0, 4), "float32"))
    assert got.shape == (0, 7)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "float16", "float32", "float64"])
def test_const_is_weak(dtype):
    v = np.arange(4).astype(dtype)
    got, element = ptg.run(f"""ptg 1
const k = 3
const w = [1, 2, 4, k]
graph g(x: {dtype}[4]) -> (y: {dtype}[4], z: {dtype}) {{
  y = x * w + k
  z = x * w[-2]
}}
""", v)
    np.testing.assert_array_equal(got, v * np.array([1, 2, 4, 3], dtype) + np.array(3, dtype))
    np.testing.assert_array_equal(element, v * np.array(4, dtype))
