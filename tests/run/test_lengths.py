"""Vectors of lengths that are cut at places which only a run knows: onnx's inference of what is in
them must agree with the model, and a check of one statement leaves the lengths of another alone."""
import subprocess

import numpy as np
import pytest

import ptg

TEXT = """graph g(x: float64[n, 7, 2], k: int64[]) -> (a, b) {
  s = Shape(x)
  a = s[:k:-1] + Shape(x)
  b = Alloc(0.0, Shape_i{i=0}(x), 7, 2) + x
}
"""


@pytest.mark.parametrize("opset", (13, 18, 26))
def test_reversed_lengths(opset):
    x = np.ones((3, 7, 2))
    a, b = ptg.run(TEXT, x, -4, opset=opset)
    assert a.tolist() == [5, 14, 5] and np.array_equal(b, x)
    for k in (0, 1):  # 2 lengths; 1, which is stretched where a type says so alone
        with pytest.raises(Exception, match="must be 3|broadcast"):
            ptg.run(TEXT, x, k, opset=opset)


SPLIT = "graph g(x: float64[n, 0], p: int64[], q: int64[]) -> (y) { y = SplitDims{axis=0}(x, MakeVector{dtype=int64}(p, q)) }"


@pytest.mark.parametrize("opset", (13, 18))
def test_split_beside_an_empty_axis(opset):
    for shape in ((2, 3), (0, 0), (0, 5)):
        n = shape[0] * shape[1]
        assert ptg.run(SPLIT, np.ones((n, 0)), *shape, opset=opset).shape == (*shape, 0)


def test_nested_lengths():
    """A length that is made of two parts of the one before, which is made of two: each part is looked at once."""
    joins = "".join(f"  v{i} = Join{{axis=0}}(v{i - 1}[:1], v{i - 1}[1:])\n" for i in range(1, 200))
    text = f"graph g(x: float64[n]) -> (o) {{\n  v0 = Exp(x)\n{joins}  o = v199 + x\n}}\n"
    run = subprocess.run([ptg.PTGC, "-", "-o", "-"], input=text.encode(), capture_output=True, timeout=60)
    assert run.returncode == 0, run.stderr.decode()
    x = np.arange(3.0)
    assert np.allclose(ptg.run(run.stdout, x), np.exp(x) + x, rtol=1e-15)


@pytest.mark.parametrize("opset", (13, 18))
@pytest.mark.parametrize("parts", ((2, 3), (2, -1), (-2, 3), (0, 5), (0, -1), (), (-1, -1)))
@pytest.mark.parametrize("n, m", ((6, 3), (7, 3), (0, 3), (6, 0), (1, 2)))
def test_split_as_numpy_reshapes(n, m, parts, opset):
    """Lengths that are known and those that only a run knows; a model that is made can be loaded."""
    shape = ", ".join(map(str, parts))
    text = "graph g(x: float64[%s]) -> (y) {{ y = SplitDims{{axis=0}}(x, int64([{}])) }}".format(shape)
    x = np.ones((n, m))
    for dims in (f"{n}, {m}", f"n, {m}"):
        try:
            want = x.reshape((*parts, m)).shape
        except ValueError:
            with pytest.raises(Exception, match="reshaped|negative lengths|Reshape|must"):
                ptg.run(text % dims, x, opset=opset)
        else:
            assert ptg.run(text % dims, x, opset=opset).shape == want


@pytest.mark.parametrize("opset", (13, 18))
def test_any_negative_length_is_to_be_found(opset):
    for dims in ("6", "n"):
        text = f"graph g(x: float64[{dims}]) -> (y) {{ y = Reshape(x, int64([3, -2])) }}"
        assert ptg.run(text, np.ones(6), opset=opset).shape == np.ones(6).reshape(3, -2).shape
